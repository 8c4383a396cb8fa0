//! Which kernels multiply.

use warpplay_gpu::tile::task::ProductTaskArgs;

use crate::runtime::named::named;
use crate::{Device, Error, Precision, Result, Stream};

/// Launches one of the kernels on so many multiprocessors.
pub(super) type Launch = Box<dyn Fn(&Stream, u32, ProductTaskArgs<'_>) -> Result<()> + Send + Sync>;

named! {
    /// Which kernels multiply. Where nothing else is said, it is the first of these that the device has for the operands.
    Engine, "engine":
    /// By warpgroups, which the copy engine supplies with operands: bf16, f16, TF32 and e4m3 on compute capability 9.0.
    Wgmma = "wgmma",
    /// By warps, with asynchronous copies: bf16, f16 and TF32 from compute capability 8.0 on.
    Mma = "mma",
    /// Without tensor cores: f32 operands, which are multiplied as they are, from compute capability 7.5 on.
    Plain = "plain",
}

impl Engine {
    /// Whether it multiplies in a precision on devices of a capability; without one, on the newest.
    fn has(self, precision: Precision, capability: Option<(u32, u32)>) -> bool {
        let is_short = matches!(precision, Precision::Bf16 | Precision::F16 | Precision::Tf32);
        match self {
            Self::Wgmma => (is_short || precision == Precision::E4m3) && capability.is_none_or(|own| own == (9, 0)),
            Self::Mma => is_short && capability.is_none_or(|own| own >= (8, 0)),
            Self::Plain => precision == Precision::F32 && capability.is_none_or(|own| own >= (7, 5)),
        }
    }

    /// Whether a device has convolutions in a precision: they are [`Wgmma`](Self::Wgmma)'s.
    pub(crate) fn convolves(device: &Device, precision: Precision) -> Result<bool> {
        Ok(Self::Wgmma.has(precision, device.info()?.compute_capability))
    }

    /// The engine for a precision on a device, or the one that is asked for.
    ///
    /// # Errors
    /// [`Error::Option`] if that one is not there; [`Error::Unsupported`] if none is; errors of the device.
    pub(super) fn choose(device: &Device, precision: Precision, asked: Option<Self>) -> Result<Self> {
        let capability = device.info()?.compute_capability;
        let mut engines = Self::ALL.iter().copied().filter(|engine| engine.has(precision, capability));
        match asked {
            None => engines.next().ok_or_else(|| Error::Unsupported {
                what: format!("a product in {precision}"),
                backend: device.name(),
                remedy: match precision {
                    Precision::F32 => "it needs a GPU of compute capability 7.5 or newer".into(),
                    Precision::E4m3 => "it needs a GPU of compute capability 9.0".into(),
                    _ => "it needs a GPU of compute capability 8.0 or newer; f32 needs 7.5".into(),
                },
            }),
            Some(asked) if engines.clone().any(|engine| engine == asked) => Ok(asked),
            Some(asked) => {
                let names = engines.map(Self::name).collect::<Vec<_>>().join(", ");
                let names = if names.is_empty() { "none".to_string() } else { names };
                let capability =
                    capability.map_or_else(String::new, |(major, minor)| format!(" of capability {major}.{minor}"));
                Err(Error::option("engine", asked, format!("{names} in {precision} on {}{capability}", device.name())))
            }
        }
    }

    /// The precision in which f32 operands are multiplied where nothing is said: TF32, or f32 for [`Engine::Plain`] and on devices whose tensor cores do not have TF32.
    pub(super) fn precision_of_single(device: &Device, asked: Option<Self>) -> Result<Precision> {
        let capability = device.info()?.compute_capability;
        let has_tf32 = Self::Mma.has(Precision::Tf32, capability) || Self::Wgmma.has(Precision::Tf32, capability);
        Ok(if has_tf32 && asked != Some(Self::Plain) { Precision::Tf32 } else { Precision::F32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_their_engines() -> Result<()> {
        let (bf16, f32) = (Precision::Bf16, Precision::F32);
        let simt = Device::simt();
        assert_eq!(Engine::choose(&simt, bf16, None)?, Engine::Wgmma);
        assert_eq!(Engine::choose(&simt, bf16, Some(Engine::Mma))?, Engine::Mma);
        assert_eq!(Engine::choose(&simt, f32, None)?, Engine::Plain);
        assert_eq!(Engine::choose(&simt, Precision::E4m3, None)?, Engine::Wgmma);
        assert_eq!(Engine::precision_of_single(&simt, None)?, Precision::Tf32);
        for newer in [(8, 0), (8, 9), (10, 0), (12, 0)] {
            let device = simt.with_capability(newer.0, newer.1)?;
            assert_eq!(Engine::choose(&device, bf16, None)?, Engine::Mma);
            let said = Engine::choose(&device, bf16, Some(Engine::Wgmma)).expect_err("refused").to_string();
            assert!(said.contains("option engine: wgmma is not allowed (mma in bf16 on "), "{said}");
        }
        let said =
            Engine::choose(&simt.with_capability(8, 9)?, Precision::E4m3, None).expect_err("refused").to_string();
        assert!(said.contains("a product in e4m3") && said.contains("capability 9.0"), "{said}");
        let turing = simt.with_capability(7, 5)?;
        assert_eq!(Engine::choose(&turing, f32, None)?, Engine::Plain);
        assert_eq!(Engine::precision_of_single(&turing, None)?, f32);
        let said = Engine::choose(&turing, bf16, None).expect_err("refused").to_string();
        assert!(said.contains("a product in bf16") && said.contains("8.0 or newer"), "{said}");
        let said = Engine::choose(&turing, f32, Some(Engine::Mma)).expect_err("refused").to_string();
        assert!(said.contains("option engine: mma is not allowed (plain in f32 on "), "{said}");
        Ok(())
    }
}
