//! Launches recorded once and replayed as one.

use std::fmt;
use std::sync::Arc;

use crate::runtime::buffer::Allocation;
use crate::runtime::context::Context;
use crate::runtime::device::Device;
use crate::runtime::driver::{self, Handle};
use crate::runtime::error::Result;
use crate::runtime::module::CudaModule;

/// A sequence of launches recorded by [`Stream::capture`](crate::Stream::capture).
///
/// [`Stream::launch_graph`](crate::Stream::launch_graph) replays it with the arguments of the recording, at the cost of one launch. It keeps alive the modules of its
/// kernels and the buffers passed as arguments or within `SArgs`, but not memory behind raw pointers in a structure passed by value.
pub struct Graph {
    pub(crate) device: Device,
    pub(crate) replay: Replay,
    /// Names of the kernels, each once, in the order of their first launch.
    pub(crate) kernels: Vec<&'static str>,
    pub(crate) n_launches: usize,
    #[allow(dead_code)]
    pub(crate) kept: Vec<Arc<Allocation>>,
    #[allow(dead_code)]
    pub(crate) modules: Vec<Arc<CudaModule>>,
}

/// One recorded operation on the CPU.
pub(crate) type Operation = Box<dyn Fn() -> Result<()> + Send>;

pub(crate) enum Replay {
    Cuda(CudaGraph),
    Host(Vec<Operation>),
}

/// An executable graph of the driver.
pub(crate) struct CudaGraph {
    pub(crate) handle: Handle,
    context: Arc<Context>,
}

impl CudaGraph {
    /// Makes a captured graph executable, and destroys the captured one. The context is current.
    pub(crate) fn new(context: &Arc<Context>, captured: Handle) -> Result<Self> {
        let mut handle = Handle::NULL;
        // SAFETY: the driver has just returned `captured`; `handle` is written before the call returns.
        let code = unsafe { driver::cuGraphInstantiateWithFlags(&mut handle, captured, 0) };
        let made = context.check("cuGraphInstantiate", code);
        // SAFETY: the captured graph has no other owner.
        unsafe { driver::cuGraphDestroy(captured) };
        made?;
        Ok(Self { handle, context: Arc::clone(context) })
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        // The graphs of a dead context go with the context.
        if self.context.enter().is_ok() {
            // SAFETY: made by `cuGraphInstantiateWithFlags`, destroyed once.
            unsafe { driver::cuGraphExecDestroy(self.handle) };
        }
    }
}

impl Graph {
    /// Number of recorded launches.
    pub fn n_launches(&self) -> usize {
        self.n_launches
    }

    /// Names of the kernels, each once, in the order of their first launch.
    pub fn kernels(&self) -> &[&'static str] {
        &self.kernels
    }

    /// The device it was recorded on.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} launches on {})", self.n_launches, self.device)
    }
}
