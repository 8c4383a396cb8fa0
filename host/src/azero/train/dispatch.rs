//! Chooses the engine that trains; nothing else does.

use super::engines::{Setup, Train, cpu, device};
use super::{Engine, Options, Samples};
use crate::azero::NetworkShape;
use crate::{Backend, Device, Error, Memory, Precision, Result, tile};

/// Resolves [`Engine::Auto`].
///
/// # Errors
/// [`Error::Option`] for an engine or a precision that this device does not have.
pub(in crate::azero) fn choose(device: &Device, options: &Options) -> Result<Engine> {
    let engine = chosen(device, options.engine)?;
    match options.precision {
        Precision::F32 => Ok(engine),
        precision if engine == Engine::Cpu => Err(Error::option("precision", precision, "f32 on the cpu back end")),
        precision if tile::Engine::convolves(device, precision)? => Ok(engine),
        precision => {
            let allowed = format!("f32 on {}; tf32 and bf16 on GPUs of compute capability 9.0", device.name());
            Err(Error::option("precision", precision, allowed))
        }
    }
}

fn chosen(device: &Device, engine: Engine) -> Result<Engine> {
    let own = match device.backend() {
        Backend::Cpu => Engine::Cpu,
        _ => Engine::Device,
    };
    match engine {
        Engine::Auto => Ok(own),
        engine if engine == own => Ok(own),
        engine => Err(Error::option("engine", engine, format!("auto, {own} on {}", device.backend()))),
    }
}

/// Opens the engine that was chosen.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has too little memory; [`Error::Shape`](crate::Error::Shape) for a network or a batch that its kernels do
/// not support.
pub(super) fn open(device: &Device, engine: Engine, setup: Setup) -> Result<Box<dyn Train>> {
    match engine {
        Engine::Cpu => cpu::open(setup),
        _ => device::open(device, setup),
    }
}

/// Memory of a training, without the networks on the host.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for a network or a batch that its kernels do not support; errors of the device.
pub(super) fn memory(
    (device, engine): (&Device, Engine),
    shape: NetworkShape,
    samples: &Samples,
    options: &Options,
) -> Result<Memory> {
    match engine {
        Engine::Cpu => Ok(cpu::memory(shape, options.batch)),
        _ => device::memory(device, shape, samples, options),
    }
}

/// Number of steps that run before the caller's `watch` is called; 1 on the CPU, where the caller may stop after every step.
pub(super) fn steps_at_once(engine: Engine) -> u32 {
    match engine {
        Engine::Cpu => 1,
        _ => device::STEPS_AT_ONCE as u32,
    }
}
