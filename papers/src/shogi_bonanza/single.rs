//! Values of single positions, some at a time.

use warpplay::shogi::material::Positions;
use warpplay::shogi::{Values, check_values};
use warpplay::{Backend, Device, Error, Result, Stream};
use warpplay_cpu_ref::shogi::material;
use warpplay_gpu::shogi::layout::BYTES;

use super::launch::{Kernels, PositionArrays};

/// Evaluates positions by their material, as the paper's first kernel does: each call copies positions to the device, evaluates them and copies their values back.
///
/// A position takes a GPU as long alone as some dozens together; from which batch on it is faster than a core, the benchmark tells.
pub struct PositionEvaluator {
    on: On,
    batch: usize,
}

enum On {
    Cpu,
    Device(Box<OnDevice>),
}

struct OnDevice {
    kernels: Kernels,
    positions: PositionArrays,
    stream: Stream,
}

impl PositionEvaluator {
    /// For up to `batch` positions a call.
    ///
    /// # Errors
    /// [`Error::Option`] for a batch of 0 or of 2³¹ and more; [`Error::OutOfMemory`] where it does not fit; those of the driver.
    pub fn new(device: &Device, batch: usize) -> Result<Self> {
        if batch == 0 || batch >= 1 << 31 {
            return Err(Error::option("batch", batch, "1 to 2147483647"));
        }
        let on = match device.backend() {
            Backend::Cpu => On::Cpu,
            Backend::Cuda | Backend::Simt => {
                let stream = device.stream()?;
                let positions = PositionArrays::new(&stream, BYTES as usize, batch)?;
                On::Device(Box::new(OnDevice { kernels: Kernels::load(device)?, positions, stream }))
            }
        };
        Ok(Self { on, batch })
    }

    /// The bytes of a list of pieces ([`warpplay_gpu::shogi::piece`]), as [`evaluate`](Self::evaluate) takes them.
    pub fn position(pieces: &[u16; 40]) -> [u8; BYTES as usize] {
        Positions::of_list(pieces)
    }

    /// The value of each position, positive where Black has more; the pawn's is 1.
    ///
    /// * `positions`: 96 bytes each ([`warpplay_gpu::shogi::layout`]), at most a batch of them
    /// * `f`: a slot for each
    ///
    /// # Errors
    /// [`Error::Shape`] for more positions than a batch, or another number of slots; [`Error::Option`] for values that are no numbers or too large, or a code that means
    /// nothing; those of the driver.
    pub fn evaluate(&mut self, positions: &[[u8; BYTES as usize]], values: &Values, f: &mut [f64]) -> Result<()> {
        check_values("values", values)?;
        if positions.len() > self.batch {
            return Err(Error::shape("positions", format!("at most {}", self.batch), positions.len()));
        }
        if f.len() != positions.len() {
            return Err(Error::shape("values of positions", positions.len(), f.len()));
        }
        let codes = material::MATERIAL_OF_CODE.len() as u8;
        if let Some(code) =
            positions.iter().flat_map(|position| &position[..material::HAND]).find(|&&code| code >= codes)
        {
            return Err(Error::option("positions", code, "codes of squares below 29"));
        }
        match &mut self.on {
            On::Cpu => {
                for (value, position) in f.iter_mut().zip(positions) {
                    *value = material::evaluate(position, values);
                }
            }
            On::Device(device) => {
                let OnDevice { kernels, positions: arrays, stream } = &mut **device;
                if positions.is_empty() {
                    return Ok(());
                }
                arrays.write(stream, positions.as_flattened())?;
                kernels.evaluate(stream, arrays, positions.len(), values)?;
                arrays.read(stream, f)?;
            }
        }
        Ok(())
    }
}
