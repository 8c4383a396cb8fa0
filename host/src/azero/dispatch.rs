//! Chooses the engine that evaluates; nothing else does.

use super::engines::{Evaluate, cpu, fused, layers};
use super::folded::FoldedNetwork;
use super::{Engine, Network, resident};
use crate::{Backend, Device, Error, Memory, Precision, Result, Stream};

/// The setup of an evaluation whose options have been checked individually.
pub(super) struct Setup<'a> {
    pub network: &'a Network,
    pub precision: Precision,
    pub engine: Engine,
    /// Maximum number of positions of a call.
    pub capacity: usize,
}

impl Setup<'_> {
    /// Checks that the device offers the precision and the engine.
    ///
    /// # Errors
    /// [`Error::Option`] for a precision or an engine that the back end does not have.
    pub fn check(&self, device: &Device) -> Result<()> {
        let (precision, engine) = (self.precision, self.engine);
        if device.backend() == Backend::Cpu {
            if !matches!(precision, Precision::F32 | Precision::F64) {
                return Err(Error::option("precision", precision, "f32 or f64 on the cpu back end"));
            }
            if !matches!(engine, Engine::Auto | Engine::Cpu) {
                let allowed = "auto or cpu on the cpu back end, which runs no kernels";
                return Err(Error::option("engine", engine, allowed));
            }
            return Ok(());
        }
        if matches!(precision, Precision::F64 | Precision::E4m3 | Precision::I16) {
            let allowed = "f32, tf32, bf16 or f16 where kernels run; f64 on the cpu";
            return Err(Error::option("precision", precision, allowed));
        }
        if engine == Engine::Cpu {
            let allowed = "auto, fused or layers where kernels run; cpu on the cpu back end";
            return Err(Error::option("engine", engine, allowed));
        }
        Ok(())
    }

    /// Resolves [`Engine::Auto`] for this device; returns any other engine unchanged.
    pub fn chosen(&self, device: &Device) -> Engine {
        match self.engine {
            Engine::Auto if device.backend() == Backend::Cpu => Engine::Cpu,
            // Thread by thread on the CPU tensor cores are slower than plain arithmetic.
            Engine::Auto if device.backend() == Backend::Simt => Engine::Layers,
            Engine::Auto => match fused::fits(device, self.network.shape(), self.precision) {
                Ok(()) => Engine::Fused,
                Err(_) => Engine::Layers,
            },
            named => named,
        }
    }

    /// Memory that the evaluation needs with the engine `chosen`.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn memory(&self, device: &Device, chosen: Engine) -> Result<Memory> {
        let (shape, precision, capacity) = (self.network.shape(), self.precision, self.capacity);
        let engine = match (chosen, precision) {
            (Engine::Cpu, Precision::F64) => return Ok(cpu::memory(shape, size_of::<f64>(), capacity)),
            (Engine::Cpu, _) => return Ok(cpu::memory(shape, size_of::<f32>(), capacity)),
            (Engine::Fused, _) => fused::memory(device, shape, precision, capacity)?,
            _ => layers::memory(device, shape, precision, capacity)?,
        };
        Ok(resident::memory(engine, shape, capacity))
    }

    /// Opens an engine with kernels.
    ///
    /// # Errors
    /// [`Error::Option`] or [`Error::Unsupported`] if it cannot evaluate this shape in this precision; [`Error::OutOfMemory`]; errors of the driver.
    pub fn open(&self, device: &Device, stream: &Stream, chosen: Engine) -> Result<Box<dyn Evaluate>> {
        let folded = FoldedNetwork::new(self.network);
        if chosen == Engine::Fused {
            fused::fits(device, folded.shape, self.precision)?;
            return fused::build(device, stream, folded, self.precision, self.capacity);
        }
        layers::build(device, stream, &folded, self.precision, self.capacity)
    }
}
