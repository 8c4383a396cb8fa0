//! Which engine evaluates: the one place where [`Execution`] is decided.

use super::engine::Engine;
use super::folded::FoldedNetwork;
use super::{Execution, Network, fused, layers};
use crate::{Backend, Device, Error, Precision, Result, Stream};

/// What an evaluation is to be, once its options are known to be allowed by themselves.
pub(super) struct Setup<'a> {
    pub network: &'a Network,
    pub precision: Precision,
    pub execution: Execution,
    /// Most positions of a call.
    pub capacity: usize,
}

impl Setup<'_> {
    /// Whether a device can evaluate so at all.
    ///
    /// # Errors
    /// [`Error::Option`] for a precision or an execution that its back end does not have.
    pub fn check(&self, device: &Device) -> Result<()> {
        let (precision, execution) = (self.precision, self.execution);
        if device.backend() == Backend::Cpu {
            if !matches!(precision, Precision::F32 | Precision::F64) {
                return Err(Error::option("precision", precision, "fp32 or fp64 on the cpu back end"));
            }
            if !matches!(execution, Execution::Auto | Execution::Plain) {
                let allowed = "auto or plain on the cpu back end, which runs no kernels";
                return Err(Error::option("execution", execution, allowed));
            }
            return Ok(());
        }
        if precision == Precision::F64 {
            let allowed = "fp32, tf32, bf16 or fp16 where kernels run; fp64 on the cpu";
            return Err(Error::option("precision", precision, allowed));
        }
        if execution == Execution::Plain {
            let allowed = "auto, fused or layers where kernels run; plain on the cpu";
            return Err(Error::option("execution", execution, allowed));
        }
        Ok(())
    }

    /// The execution that [`Execution::Auto`] stands for on this device; another stands for itself.
    pub fn chosen(&self, device: &Device) -> Execution {
        match self.execution {
            Execution::Auto if device.backend() == Backend::Cpu => Execution::Plain,
            // Thread by thread on the CPU tensor cores are slower than plain arithmetic.
            Execution::Auto if device.backend() == Backend::Simt => Execution::Layers,
            Execution::Auto => match fused::fits(device, self.network.shape(), self.precision) {
                Ok(()) => Execution::Fused,
                Err(_) => Execution::Layers,
            },
            named => named,
        }
    }

    /// The engine of an execution with kernels.
    ///
    /// # Errors
    /// [`Error::Option`] or [`Error::Unsupported`] where it does not evaluate this shape in this precision; [`Error::OutOfMemory`]; what the driver says.
    pub fn open(&self, device: &Device, stream: &Stream, chosen: Execution) -> Result<Box<dyn Engine>> {
        let folded = FoldedNetwork::new(self.network);
        if chosen == Execution::Fused {
            fused::fits(device, folded.shape, self.precision)?;
            return fused::build(device, stream, &folded, self.precision, self.capacity);
        }
        layers::build(device, stream, &folded, self.precision, self.capacity)
    }
}
