//! Which engine trains and classifies: the one file that chooses.

use super::engines::epoch;
use super::engines::{Setup, Train, cpu, layers};
use super::options::{Engine, Options, Precision, Residence};
use crate::{Backend, Device, Error, Memory, Result};

/// Returns the engine that the options name, or the fastest for [`Engine::Auto`].
///
/// The CPU back end has [`Engine::Cpu`] only. On a device that runs kernels, [`Engine::Auto`] is [`Engine::Epoch`] if [`epoch::fits`] accepts it and [`epoch::is_faster`], else [`Engine::Layers`].
///
/// # Errors
/// [`Error::Option`] or [`Error::Shape`] for anything that the engine or the device does not support.
pub(super) fn choose(device: &Device, setup: &Setup) -> Result<Engine> {
    let Options { engine, precision, stream, .. } = setup.options;
    if device.backend() == Backend::Cpu {
        if !matches!(precision, Precision::F32 | Precision::F64) {
            return Err(Error::option("precision", precision, "f32 or f64 on the cpu back end"));
        }
        if !matches!(engine, Engine::Auto | Engine::Cpu) {
            return Err(Error::option("engine", engine, "auto or cpu on the cpu back end, which runs no kernels"));
        }
        if stream == Residence::Host {
            let allowed = "device on the cpu back end, whose data is in host memory anyway";
            return Err(Error::option("stream", stream, allowed));
        }
        return Ok(Engine::Cpu);
    }
    if !matches!(precision, Precision::F32 | Precision::Tf32 | Precision::Bf16 | Precision::F16) {
        let allowed = "f32, tf32, bf16 or f16 where kernels run; f64 on the cpu";
        return Err(Error::option("precision", precision, allowed));
    }
    if setup.features && stream == Residence::Host {
        return Err(Error::option("stream", stream, "device with features in f32"));
    }
    match engine {
        Engine::Layers => Ok(Engine::Layers),
        Engine::Epoch => epoch::fits(device, setup).map(|()| Engine::Epoch),
        Engine::Auto if epoch::fits(device, setup).is_ok() && epoch::is_faster(device, setup) => Ok(Engine::Epoch),
        Engine::Auto => Ok(Engine::Layers),
        Engine::Cpu => {
            let allowed = "auto, epoch or layers where kernels run; cpu on the cpu back end";
            Err(Error::option("engine", engine, allowed))
        }
    }
}

/// Opens the engine.
///
/// # Errors
/// As [`choose`]; errors of the device.
pub(super) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Train>> {
    match choose(device, &setup)? {
        Engine::Epoch => epoch::open(device, setup),
        Engine::Layers | Engine::Auto => layers::open(device, setup),
        Engine::Cpu => cpu::open(device, setup),
    }
}

/// Memory that the engine takes with sets of these numbers of samples loaded in addition to the training set.
///
/// # Errors
/// As [`choose`].
pub(super) fn memory_needed(device: &Device, setup: &Setup, sets: &[usize]) -> Result<Memory> {
    match choose(device, setup)? {
        Engine::Epoch => epoch::memory_needed(device, setup, sets, 1),
        Engine::Layers | Engine::Auto => layers::memory_needed(device, setup, sets),
        Engine::Cpu => Ok(cpu::memory_needed(setup, sets)),
    }
}

/// Memory of many models that are trained at the same time; if they are trained one after the other, that of one model.
///
/// # Errors
/// As [`choose`].
pub(super) fn memory_of_many(device: &Device, setup: &Setup, sets: &[usize], n_models: u32) -> Result<Memory> {
    match choose(device, setup)? {
        Engine::Epoch => epoch::memory_needed(device, setup, sets, n_models),
        _ => memory_needed(device, setup, sets),
    }
}
