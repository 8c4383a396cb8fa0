//! Streams: work for a device, done in order.

mod capture;
mod copies;
mod kernels;
mod l2;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::runtime::buffer::Allocation;
use crate::runtime::context::Context;
use crate::runtime::device::Device;
use crate::runtime::driver::{self, Handle};
use crate::runtime::error::{Error, Result, kills_context};
use crate::runtime::event::Event;
use crate::runtime::graph::Operation;
use crate::runtime::info::Backend;
use crate::runtime::module::{CudaModule, no_kernels};

pub use l2::{L2Span, L2Window};

/// A queue of work on one device: allocations, copies and launches happen in the order of the calls.
///
/// Launches return at once; [`read`](Self::read) and [`synchronize`](Self::synchronize) wait and report failures since the
/// last wait, with the names of the queued kernels. On [`Backend::Simt`] all work is done when a call returns. The work of
/// two streams is unordered, unless one waits for the other through `synchronize`.
///
/// A stream may move between threads; every call makes the device current.
pub struct Stream {
    device: Device,
    cuda: Option<CudaStream>,
    /// No other stream of the process has this number.
    number: u64,
    state: RefCell<State>,
}

struct CudaStream {
    handle: Handle,
    context: Arc<Context>,
}

impl CudaStream {
    fn new(context: &Arc<Context>) -> Result<Self> {
        context.enter()?;
        let mut handle = Handle::NULL;
        // SAFETY: `handle` is written before the call returns.
        let code = unsafe { driver::cuStreamCreate(&mut handle, driver::DEFAULT) };
        context.check("cuStreamCreate", code)?;
        Ok(Self { handle, context: Arc::clone(context) })
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        // The streams of a dead context go with the context.
        if self.context.enter().is_ok() {
            // SAFETY: made by `cuStreamCreate`, destroyed once; the driver first completes the queued work.
            unsafe { driver::cuStreamDestroy_v2(self.handle) };
        }
    }
}

#[derive(Default)]
struct State {
    /// Kernels queued since the last synchronisation, each name once.
    queued: Vec<&'static str>,
    recording: Option<Recording>,
}

/// What a capture has seen so far.
#[derive(Default)]
struct Recording {
    kernels: Vec<&'static str>,
    n_launches: usize,
    kept: Vec<Arc<Allocation>>,
    modules: Vec<Arc<CudaModule>>,
    operations: Vec<Operation>,
}

impl Device {
    /// Creates a stream.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on [`Backend::Cpu`], where no kernels run; [`Error::Driver`] if the driver refuses.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self)
    }
}

impl Stream {
    pub(crate) fn new(device: &Device) -> Result<Self> {
        if device.backend() == Backend::Cpu {
            return Err(no_kernels("a stream"));
        }
        Ok(Self::with(device, device.context().map(CudaStream::new).transpose()?))
    }

    /// Takes over a stream of the driver, which is destroyed when the returned one is dropped.
    #[cfg(feature = "cust")]
    pub(crate) fn of_handle(device: &Device, context: &Arc<Context>, handle: Handle) -> Self {
        Self::with(device, Some(CudaStream { handle, context: Arc::clone(context) }))
    }

    /// The driver's stream, if the device is a GPU.
    #[cfg(feature = "cust")]
    pub(crate) fn handle(&self) -> Option<Handle> {
        self.cuda.as_ref().map(|cuda| cuda.handle)
    }

    /// The driver's stream (`CUstream`) as an address, for another library that orders its work with this stream; `None` unless the device is a GPU. The address is valid as
    /// long as this value lives.
    pub fn as_raw(&self) -> Option<std::num::NonZeroUsize> {
        self.cuda.as_ref().and_then(|cuda| std::num::NonZeroUsize::new(cuda.handle.0.addr()))
    }

    fn with(device: &Device, cuda: Option<CudaStream>) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Self { device: device.clone(), cuda, number, state: RefCell::default() }
    }

    /// The device that does the work.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until everything queued is done.
    ///
    /// # Errors
    /// [`Error::Driver`] if a kernel failed, with the names of the kernels queued since the last wait, one of which failed.
    /// After a trap or an invalid address the context is dead, and the text says so. [`Error::Capture`] inside a capture.
    pub fn synchronize(&self) -> Result<()> {
        self.outside_capture("Stream::synchronize")?;
        let Some(cuda) = &self.cuda else {
            return Ok(());
        };
        cuda.context.enter()?;
        // SAFETY: the stream belongs to this context, which is current.
        let result = self.check(cuda, "cuStreamSynchronize", unsafe { driver::cuStreamSynchronize(cuda.handle) });
        self.state.borrow_mut().queued.clear();
        result
    }

    /// Creates an event, which [`record`](Self::record) sets.
    ///
    /// # Errors
    /// [`Error::Driver`] or [`Error::ContextDead`] if the driver refuses.
    pub fn event(&self) -> Result<Event> {
        Event::new(&self.device)
    }

    /// Sets the event after all queued work.
    ///
    /// # Errors
    /// [`Error::Device`] for an event of another device; [`Error::Capture`] inside a capture; [`Error::Driver`] or
    /// [`Error::ContextDead`] if the driver refuses.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.outside_capture("Stream::record")?;
        self.device.expect_same("event", event.device())?;
        event.record(self.cuda.as_ref().map(|cuda| cuda.handle))
    }

    /// Whether launches are being recorded.
    pub(crate) fn is_capturing(&self) -> bool {
        self.state.borrow().recording.is_some()
    }

    fn outside_capture(&self, call: &'static str) -> Result<()> {
        if self.state.borrow().recording.is_some() {
            return Err(Error::Capture { call });
        }
        Ok(())
    }

    fn check(&self, cuda: &CudaStream, call: &'static str, code: i32) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.failure(cuda, call)) }
    }

    /// The driver's last failure; if a kernel may be the cause, with the names of the queued kernels.
    fn failure(&self, cuda: &CudaStream, call: &'static str) -> Error {
        let queued = &self.state.borrow().queued;
        let kernels = (kills_context(driver::last_code()) && !queued.is_empty()).then(|| queued.join(", "));
        cuda.context.failure(call, kernels)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream(on {})", self.device)
    }
}
