//! Streams: work for a device, done in order.

mod l2;

use std::cell::RefCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;
use warpplay_gpu::kernel::Kernel;
use warpplay_gpu::launch::LaunchShape;
use warpplay_gpu::simt;

use crate::runtime::buffer::{Allocation, Buffer};
use crate::runtime::context::Context;
use crate::runtime::device::Device;
use crate::runtime::driver::{self, Handle};
use crate::runtime::error::{Error, Result, kills_context};
use crate::runtime::event::Event;
use crate::runtime::graph::{CudaGraph, Graph, Operation, Replay};
use crate::runtime::info::Backend;
use crate::runtime::launch::{Binding, IntoParams};
use crate::runtime::module::{Function, Loaded, add_name, no_kernels, suspects};
use crate::runtime::pinned::Pinned;

pub use l2::{L2Span, L2Window};

/// A queue of work on one device: allocations, copies and launches happen in the order of the calls.
///
/// Launches return at once; [`read`](Self::read) and [`synchronize`](Self::synchronize) wait, and report what failed
/// in between, with the names of the kernels that were queued. On [`Backend::Simt`] everything is done when a call
/// returns. Work of two streams has no order, unless one waits for the other through `synchronize`.
///
/// A stream may move between threads; the device is made current in every call.
pub struct Stream {
    device: Device,
    cuda: Option<CudaStream>,
    /// No other stream of the process has this number.
    number: u64,
    state: RefCell<State>,
}

struct CudaStream {
    inner: ManuallyDrop<cust::stream::Stream>,
    context: Arc<Context>,
}

impl CudaStream {
    fn handle(&self) -> Handle {
        self.inner.as_inner() as Handle
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        // The streams of a dead context go with the context.
        if self.context.enter().is_ok() {
            // SAFETY: dropped once, here; the field is not used after.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
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
    modules: Vec<Arc<Loaded>>,
    operations: Vec<Operation>,
}

/// A kernel's parameters on their way to a recorded launch.
struct Recorded<P>(P);

// SAFETY: parameters are plain values; the pointers among them are addresses for the kernel, whose contract the
// caller of `launch` has promised for every replay, on whichever thread it runs.
unsafe impl<P> Send for Recorded<P> {}

impl<P: Copy> Recorded<P> {
    /// A method, so that closures take the whole and not the field, which is not `Send`.
    fn get(&self) -> P {
        self.0
    }
}

impl Device {
    /// A new stream of work.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on [`Backend::Cpu`], where no kernels run; [`Error::Driver`] if the driver refuses.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self)
    }
}

impl Stream {
    pub(crate) fn new(device: &Device) -> Result<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        if device.backend() == Backend::Cpu {
            return Err(no_kernels("a stream"));
        }
        let cuda = match device.context() {
            Some(context) => {
                context.enter()?;
                let stream = cust::stream::Stream::new(cust::stream::StreamFlags::DEFAULT, None);
                Some(CudaStream {
                    inner: ManuallyDrop::new(context.check_cust("cuStreamCreate", stream)?),
                    context: Arc::clone(context),
                })
            }
            None => None,
        };
        Ok(Self {
            device: device.clone(),
            cuda,
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            state: RefCell::default(),
        })
    }

    /// The device that does the work.
    pub fn device(&self) -> &Device {
        &self.device
    }

    // ---- memory ----

    /// A new buffer of `len` values, all bytes zero. `len` may be 0.
    ///
    /// It is zeroed in this stream's order: before another stream uses it, [`synchronize`](Self::synchronize).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with both numbers if the device has not that much free, asked before the driver is;
    /// [`Error::Capture`] inside a capture; [`Error::Driver`] or [`Error::ContextDead`] if the driver refuses.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        self.outside_capture("Stream::alloc")?;
        let allocation = Allocation::new(&self.device, len, size_of::<T>())?;
        if let Some(cuda) = &self.cuda {
            self.zero_cuda(cuda, &allocation)?;
        }
        Ok(Buffer::from_allocation(allocation, len))
    }

    /// A new buffer that holds a copy of `values`.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>> {
        self.outside_capture("Stream::upload")?;
        let allocation = Allocation::new(&self.device, values.len(), size_of::<T>())?;
        let mut buffer = Buffer::from_allocation(allocation, values.len());
        self.write(&mut buffer, 0, values)?;
        Ok(buffer)
    }

    /// Copies `values` to the buffer, the first to position `offset`. `values` may be changed as soon as this returns.
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not fit; [`Error::Device`] for a buffer of another device; [`Error::Capture`] inside
    /// a capture; [`Error::Driver`] or [`Error::ContextDead`] if something queued before has failed.
    pub fn write<T: Pod>(&self, buffer: &mut Buffer<T>, offset: usize, values: &[T]) -> Result<()> {
        self.before_copy("Stream::write", buffer, offset, values.len())?;
        let bytes: &[u8] = bytemuck::cast_slice(values);
        if bytes.is_empty() {
            return Ok(());
        }
        let at = offset * size_of::<T>();
        match &self.cuda {
            None => {
                if let Some(block) = buffer.allocation().host() {
                    block.write(at, bytes);
                }
                Ok(())
            }
            Some(cuda) => {
                cuda.context.enter()?;
                // SAFETY: the range lies inside the buffer; the memory is pageable, so the driver has copied it to
                // its own before it returns.
                let code = unsafe {
                    driver::cuMemcpyHtoDAsync_v2(
                        buffer.as_ptr() as u64 + at as u64,
                        bytes.as_ptr().cast(),
                        bytes.len(),
                        cuda.handle(),
                    )
                };
                self.check(cuda, "cuMemcpyHtoDAsync", code)
            }
        }
    }

    /// All values of the buffer, once everything queued before is done.
    ///
    /// # Errors
    /// [`Error::Device`] for a buffer of another device; [`Error::Capture`] inside a capture; [`Error::Driver`] if a
    /// kernel queued before has failed, with the names of those that were queued.
    pub fn read<T: Pod>(&self, buffer: &Buffer<T>) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); buffer.len()];
        self.read_into(buffer, 0, &mut values)?;
        Ok(values)
    }

    /// As many values as `values` holds, from position `offset` on, once everything queued before is done.
    ///
    /// # Errors
    /// [`Error::Shape`] if the buffer ends before; as [`read`](Self::read).
    pub fn read_into<T: Pod>(&self, buffer: &Buffer<T>, offset: usize, values: &mut [T]) -> Result<()> {
        self.before_copy("Stream::read", buffer, offset, values.len())?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        let at = offset * size_of::<T>();
        match &self.cuda {
            None => {
                if let Some(block) = buffer.allocation().host()
                    && !bytes.is_empty()
                {
                    block.read(at, bytes);
                }
                Ok(())
            }
            Some(cuda) => {
                cuda.context.enter()?;
                if !bytes.is_empty() {
                    // SAFETY: the range lies inside the buffer; `bytes` is borrowed until the stream has been waited
                    // for below.
                    let code = unsafe {
                        driver::cuMemcpyDtoHAsync_v2(
                            bytes.as_mut_ptr().cast(),
                            buffer.as_ptr() as u64 + at as u64,
                            bytes.len(),
                            cuda.handle(),
                        )
                    };
                    self.check(cuda, "cuMemcpyDtoHAsync", code)?;
                }
                self.synchronize()
            }
        }
    }

    /// Copies `n` values from `source`, position `from` on, to `target`, position `to` on, without the host.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn copy<T: Pod>(
        &self,
        target: &mut Buffer<T>,
        to: usize,
        source: &Buffer<T>,
        from: usize,
        n: usize,
    ) -> Result<()> {
        self.before_copy("Stream::copy", target, to, n)?;
        self.before_copy("Stream::copy", source, from, n)?;
        let bytes = n * size_of::<T>();
        let (to, from) = (to * size_of::<T>(), from * size_of::<T>());
        if bytes == 0 {
            return Ok(());
        }
        match &self.cuda {
            None => {
                if let (Some(target), Some(source)) = (target.allocation().host(), source.allocation().host()) {
                    // By way of a copy, so that only one of the two is held at a time.
                    let mut copy = vec![0; bytes];
                    source.read(from, &mut copy);
                    target.write(to, &copy);
                }
                Ok(())
            }
            Some(cuda) => {
                cuda.context.enter()?;
                // SAFETY: both ranges lie inside their buffers, which are two, since one is borrowed mutably.
                let code = unsafe {
                    driver::cuMemcpyDtoDAsync_v2(
                        target.as_ptr() as u64 + to as u64,
                        source.as_ptr() as u64 + from as u64,
                        bytes,
                        cuda.handle(),
                    )
                };
                self.check(cuda, "cuMemcpyDtoDAsync", code)
            }
        }
    }

    /// Sets every byte of the buffer to 0. May be recorded in a capture.
    ///
    /// # Errors
    /// [`Error::Device`] for a buffer of another device; [`Error::Driver`] or [`Error::ContextDead`] if something
    /// queued before has failed.
    pub fn zero<T: Pod>(&self, buffer: &mut Buffer<T>) -> Result<()> {
        self.device.expect_same("buffer", buffer.device())?;
        let allocation = buffer.allocation();
        let mut state = self.state.borrow_mut();
        if let Some(recording) = &mut state.recording {
            recording.kept.push(Arc::clone(allocation));
            if self.cuda.is_none() {
                let allocation = Arc::clone(allocation);
                recording.operations.push(Box::new(move || {
                    zero_host(&allocation);
                    Ok(())
                }));
                return Ok(());
            }
        }
        drop(state);
        match &self.cuda {
            Some(cuda) => self.zero_cuda(cuda, allocation),
            None => {
                zero_host(allocation);
                Ok(())
            }
        }
    }

    fn zero_cuda(&self, cuda: &CudaStream, allocation: &Allocation) -> Result<()> {
        if allocation.bytes() == 0 {
            return Ok(());
        }
        cuda.context.enter()?;
        // SAFETY: the allocation's own bytes.
        let code =
            unsafe { driver::cuMemsetD8Async(allocation.address() as u64, 0, allocation.bytes(), cuda.handle()) };
        self.check(cuda, "cuMemsetD8Async", code)
    }

    /// Page-locked host memory for `len` values, all bytes zero, for copies that do not wait.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the host has not that much; [`Error::Capture`] inside a capture.
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<Pinned<T>> {
        self.outside_capture("Stream::pinned")?;
        Pinned::new(&self.device, len)
    }

    /// Queues a copy of the first `n` values of `source` to the buffer, the first to position `offset`.
    ///
    /// # Errors
    /// As [`write`](Self::write); [`Error::Shape`] also if `source` has fewer values.
    pub fn write_pinned<T: Pod>(
        &self,
        buffer: &mut Buffer<T>,
        offset: usize,
        source: &Pinned<T>,
        n: usize,
    ) -> Result<()> {
        self.before_copy("Stream::write_pinned", buffer, offset, n)?;
        self.before_pinned("Stream::write_pinned", source, n)?;
        let bytes = n * size_of::<T>();
        let at = offset * size_of::<T>();
        match &self.cuda {
            _ if bytes == 0 => Ok(()),
            None => self.write(buffer, offset, &source.as_slice()?[..n]),
            Some(cuda) => {
                cuda.context.enter()?;
                source.queue_copy(self.number, &cuda.inner, || {
                    // SAFETY: the range lies inside the buffer; the pinned memory waits for this copy before anybody
                    // changes or frees it.
                    let code = unsafe {
                        driver::cuMemcpyHtoDAsync_v2(
                            buffer.as_ptr() as u64 + at as u64,
                            source.address().cast(),
                            bytes,
                            cuda.handle(),
                        )
                    };
                    self.check(cuda, "cuMemcpyHtoDAsync", code)
                })
            }
        }
    }

    /// Queues a copy of `n` values of the buffer, from position `offset` on, to the first `n` of `target`.
    ///
    /// # Errors
    /// As [`write_pinned`](Self::write_pinned).
    pub fn read_pinned<T: Pod>(
        &self,
        buffer: &Buffer<T>,
        offset: usize,
        target: &mut Pinned<T>,
        n: usize,
    ) -> Result<()> {
        self.before_copy("Stream::read_pinned", buffer, offset, n)?;
        self.before_pinned("Stream::read_pinned", target, n)?;
        let bytes = n * size_of::<T>();
        let at = offset * size_of::<T>();
        match &self.cuda {
            _ if bytes == 0 => Ok(()),
            None => self.read_into(buffer, offset, &mut target.as_mut_slice()?[..n]),
            Some(cuda) => {
                cuda.context.enter()?;
                target.queue_copy(self.number, &cuda.inner, || {
                    // SAFETY: the range lies inside the buffer; the pinned memory waits for this copy before anybody
                    // looks at it or frees it.
                    let code = unsafe {
                        driver::cuMemcpyDtoHAsync_v2(
                            target.address().cast(),
                            buffer.as_ptr() as u64 + at as u64,
                            bytes,
                            cuda.handle(),
                        )
                    };
                    self.check(cuda, "cuMemcpyDtoHAsync", code)
                })
            }
        }
    }

    // ---- kernels ----

    /// Launches a kernel.
    ///
    /// `arguments` is a tuple with one argument for each parameter of the kernel: `&Buffer<T>` for `*const T`,
    /// `&mut Buffer<T>` for `*mut T`, any other value as itself. Another type or number does not compile.
    ///
    /// ```
    /// use warpplay::{Device, LaunchShape, Module, PtxSet};
    /// use warpplay_gpu::cuda::{kernel, thread};
    ///
    /// /// `sum[i] = a[i] + b` for every i below n.
    /// ///
    /// /// # Safety
    /// /// One-dimensional launch; both buffers hold `n` values.
    /// #[kernel]
    /// pub unsafe fn add(sum: *mut f32, a: *const f32, b: f32, n: u32) {
    ///     let Some(i) = thread::index_1d_below(n) else { return };
    ///     // SAFETY: i < n, and no other thread has this i.
    ///     unsafe { *sum.add(i as usize) = *a.add(i as usize) + b };
    /// }
    ///
    /// // A build script with `warpplay-gpu-builder` writes this for a crate of kernels; on simt it may be empty.
    /// const KERNELS: PtxSet = PtxSet { name: "example", images: &[], missing: Some("this is an example") };
    ///
    /// let device = Device::simt();
    /// let stream = device.stream()?;
    /// // Not called `add` itself: that name is the kernel's descriptor.
    /// let add_function = Module::load(&device, &KERNELS)?.function(add)?;
    /// let a = stream.upload(&[1.0f32, 2.0, 3.0])?;
    /// let mut sum = stream.alloc::<f32>(3)?;
    /// // SAFETY: both buffers hold 3 values.
    /// unsafe { stream.launch(&add_function, LaunchShape::linear(3, 32), (&mut sum, &a, 0.5, 3))? };
    /// assert_eq!(stream.read(&sum)?, [1.5, 2.5, 3.5]);
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if the shape breaks a limit of the device or the kernel, before the driver is called;
    /// [`Error::Device`] for a function or buffer of another device; [`Error::Driver`] with the kernel's name if the
    /// driver refuses; [`Error::Simt`] if the kernel broke a rule on [`Backend::Simt`]. On a GPU a failure while the
    /// kernel runs is reported later, by the call that waits.
    ///
    /// # Safety
    /// The kernel's own contract: its shape, the lengths of its buffers, what its other parameters may be. Memory
    /// behind pointers inside struct arguments lives until the stream has been synchronised. Inside a
    /// [`capture`](Self::capture) all this holds for every replay of the graph, until the graph is dropped; in
    /// particular nothing else uses the memory at the same time as a replay.
    pub unsafe fn launch<K: Kernel, A: IntoParams<K::Params>>(
        &self,
        function: &Function<K>,
        shape: LaunchShape,
        arguments: A,
    ) -> Result<()> {
        self.device.expect_same(K::NAME, function.device())?;
        function.check_limits(&shape)?;
        let mut state = self.state.borrow_mut();
        let mut binding = Binding { device: &self.device, kept: state.recording.as_ref().map(|_| Vec::new()) };
        let mut params = arguments.into_params(&mut binding)?;
        let kept = binding.kept.take();

        match &self.cuda {
            Some(cuda) => {
                cuda.context.enter()?;
                let mut addresses = A::addresses(&mut params);
                // SAFETY: the context is current and the stream is of it; the addresses are those of `params`, which
                // outlives the call; the kernel's contract is the caller's promise.
                unsafe {
                    function.launch_cuda(&cuda.context, cuda.handle(), &shape, &mut addresses, &state.queued)?;
                }
            }
            None => {
                let kernel = function.kernel();
                let params = Recorded(params);
                let run = move || {
                    // SAFETY: the caller's promise.
                    let result = unsafe { simt::launch(kernel, shape, params.get(), &simt::Options::default()) };
                    result.map_err(Error::from)
                };
                match &mut state.recording {
                    Some(recording) => recording.operations.push(Box::new(run)),
                    None => {
                        // A kernel on the CPU cannot reach this stream, but its panics' handlers might.
                        drop(state);
                        return run();
                    }
                }
            }
        }

        match (&mut state.recording, kept) {
            (Some(recording), Some(kept)) => {
                add_name(&mut recording.kernels, K::NAME);
                recording.n_launches += 1;
                recording.kept.extend(kept);
                recording.modules.push(Arc::clone(function.loaded()));
            }
            _ => add_name(&mut state.queued, K::NAME),
        }
        Ok(())
    }

    /// Waits until everything queued is done.
    ///
    /// # Errors
    /// [`Error::Driver`] if a kernel failed, with the names of those queued since the last wait: one of them it was.
    /// After a trap or a wrong address the context is dead, and the text says so. [`Error::Capture`] inside a capture.
    pub fn synchronize(&self) -> Result<()> {
        self.outside_capture("Stream::synchronize")?;
        let Some(cuda) = &self.cuda else {
            return Ok(());
        };
        cuda.context.enter()?;
        let result = cuda.inner.synchronize();
        let result = result.map_err(|_| self.failure(cuda, "cuStreamSynchronize"));
        self.state.borrow_mut().queued.clear();
        result
    }

    /// Records what `record` launches on this stream, without running it.
    ///
    /// Launches and [`zero`](Self::zero) are recorded with their arguments; everything that needs an answer from the
    /// device, or memory, is [`Error::Capture`] inside. If `record` fails the recording is thrown away and the stream
    /// is as before.
    ///
    /// # Errors
    /// What `record` returns; [`Error::Capture`] inside another capture; [`Error::Driver`] if the driver cannot make
    /// a graph of it.
    pub fn capture(&self, record: impl FnOnce(&Stream) -> Result<()>) -> Result<Graph> {
        self.outside_capture("Stream::capture")?;
        if let Some(cuda) = &self.cuda {
            cuda.context.enter()?;
            // SAFETY: the stream is of the current context and does not capture yet.
            let code = unsafe { driver::cuStreamBeginCapture_v2(cuda.handle(), driver::CAPTURE_MODE_RELAXED) };
            self.check(cuda, "cuStreamBeginCapture", code)?;
        }
        self.state.borrow_mut().recording = Some(Recording::default());

        // Ends the capture on the way out of a panic too, so that the stream stays usable.
        let mut open = OpenCapture { stream: self, ended: false };
        let recorded = record(self);
        let (recording, captured) = open.end();
        drop(open);
        if let Err(error) = recorded {
            // The error of the cause matters, not what the driver says of the broken capture.
            if let (Some(cuda), Ok(handle)) = (&self.cuda, captured) {
                destroy_captured(cuda, handle);
            }
            return Err(error);
        }
        let replay = match &self.cuda {
            Some(cuda) => {
                cuda.context.enter()?;
                Replay::Cuda(CudaGraph::new(&cuda.context, captured?)?)
            }
            None => Replay::Host(recording.operations),
        };
        Ok(Graph {
            device: self.device.clone(),
            replay,
            kernels: recording.kernels,
            n_launches: recording.n_launches,
            kept: recording.kept,
            modules: recording.modules,
        })
    }

    /// Ends a capture: what was recorded, and the driver's graph.
    fn end_capture(&self) -> (Recording, Result<Handle>) {
        let recording = self.state.borrow_mut().recording.take().unwrap_or_default();
        let mut graph = std::ptr::null_mut();
        let captured = match &self.cuda {
            None => Ok(graph),
            Some(cuda) => cuda.context.enter().and_then(|()| {
                // SAFETY: the stream captures, begun on this thread; `graph` is written before the call returns.
                let code = unsafe { driver::cuStreamEndCapture(cuda.handle(), &mut graph) };
                self.check(cuda, "cuStreamEndCapture", code)?;
                Ok(graph)
            }),
        };
        (recording, captured)
    }

    /// Runs a recorded graph once, in this stream's order.
    ///
    /// # Errors
    /// [`Error::Device`] for a graph of another device; [`Error::Capture`] inside a capture; otherwise as
    /// [`launch`](Self::launch).
    pub fn launch_graph(&self, graph: &Graph) -> Result<()> {
        self.outside_capture("Stream::launch_graph")?;
        self.device.expect_same("graph", graph.device())?;
        match (&graph.replay, &self.cuda) {
            (Replay::Cuda(executable), Some(cuda)) => {
                cuda.context.enter()?;
                // SAFETY: graph and stream are of the current context; the contracts of the kernels were promised
                // for every replay when they were recorded.
                let code = unsafe { driver::cuGraphLaunch(executable.handle, cuda.handle()) };
                let mut state = self.state.borrow_mut();
                if code != 0 {
                    let kernels = suspects(&state.queued, &graph.kernels);
                    return Err(cuda.context.failure("cuGraphLaunch", Some(kernels)));
                }
                for name in &graph.kernels {
                    add_name(&mut state.queued, name);
                }
                Ok(())
            }
            (Replay::Host(operations), _) => operations.iter().try_for_each(|operation| operation()),
            // Excluded by the check of devices above.
            (Replay::Cuda(_), None) => Ok(()),
        }
    }

    // ---- time ----

    /// A new event, to be set with [`record`](Self::record).
    ///
    /// # Errors
    /// [`Error::Driver`] or [`Error::ContextDead`] if the driver refuses.
    pub fn event(&self) -> Result<Event> {
        Event::new(&self.device)
    }

    /// Sets the event at the end of what is queued.
    ///
    /// # Errors
    /// [`Error::Device`] for an event of another device; [`Error::Capture`] inside a capture; [`Error::Driver`] or
    /// [`Error::ContextDead`] if the driver refuses.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.outside_capture("Stream::record")?;
        self.device.expect_same("event", event.device())?;
        event.record(self.cuda.as_ref().map(|cuda| &*cuda.inner))
    }

    // ---- checks ----

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

    fn before_copy<T>(&self, call: &'static str, buffer: &Buffer<T>, offset: usize, n: usize) -> Result<()> {
        self.outside_capture(call)?;
        self.device.expect_same("buffer", buffer.device())?;
        if offset.checked_add(n).is_some_and(|end| end <= buffer.len()) {
            return Ok(());
        }
        Err(Error::shape(
            format!("{call} from position {offset}"),
            format!("at most {} values", buffer.len().saturating_sub(offset)),
            format!("{n} values"),
        ))
    }

    fn before_pinned<T>(&self, call: &'static str, pinned: &Pinned<T>, n: usize) -> Result<()> {
        self.device.expect_same("pinned memory", pinned.device())?;
        if n <= pinned.len() {
            return Ok(());
        }
        Err(Error::shape(
            format!("{call} of pinned memory"),
            format!("at most {} values", pinned.len()),
            format!("{n} values"),
        ))
    }

    fn check(&self, cuda: &CudaStream, call: &'static str, code: i32) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.failure(cuda, call)) }
    }

    /// The driver's last failure; if a kernel may be its cause, with the names of those queued.
    fn failure(&self, cuda: &CudaStream, call: &'static str) -> Error {
        let queued = &self.state.borrow().queued;
        let kernels = (kills_context(driver::last_code()) && !queued.is_empty()).then(|| queued.join(", "));
        cuda.context.failure(call, kernels)
    }
}

fn zero_host(allocation: &Allocation) {
    if let Some(block) = allocation.host() {
        block.zero();
    }
}

/// Throws a captured graph away; null where the driver made none.
fn destroy_captured(cuda: &CudaStream, handle: Handle) {
    if !handle.is_null() && cuda.context.enter().is_ok() {
        // SAFETY: the graph came from `cuStreamEndCapture`, and nobody else has it.
        unsafe { driver::cuGraphDestroy(handle) };
    }
}

/// A capture under way.
struct OpenCapture<'a> {
    stream: &'a Stream,
    ended: bool,
}

impl OpenCapture<'_> {
    fn end(&mut self) -> (Recording, Result<Handle>) {
        self.ended = true;
        self.stream.end_capture()
    }
}

impl Drop for OpenCapture<'_> {
    fn drop(&mut self) {
        if !self.ended
            && let (_, Ok(handle)) = self.stream.end_capture()
            && let Some(cuda) = &self.stream.cuda
        {
            destroy_captured(cuda, handle);
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream(on {})", self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::module::Module;
    use crate::runtime::test_kernels::{self as kernels, SET, devices};

    /// Values that straddle warps and blocks of 64.
    const LENGTHS: [usize; 8] = [0, 1, 31, 32, 33, 63, 65, 1000];

    fn shape(n: usize) -> LaunchShape {
        LaunchShape::linear(n as u32, 64)
    }

    #[test]
    fn memory_goes_there_and_back() {
        for device in devices() {
            let stream = device.stream().expect("a device with kernels");
            let before = device.allocations();
            for n in LENGTHS {
                let values: Vec<u16> = (0..n as u16).map(|i| i.wrapping_mul(40503)).collect();
                let mut buffer = stream.upload(&values).expect("small");
                assert_eq!(buffer.len(), n);
                assert_eq!(stream.read(&buffer).expect("same device"), values);
                let half = n / 2;
                let mut part = vec![0; n - half];
                stream.read_into(&buffer, half, &mut part).expect("in range");
                assert_eq!(part, values[half..]);
                stream.write(&mut buffer, half, &vec![7; n - half]).expect("in range");
                let mut other = stream.alloc::<u16>(n + 3).expect("small");
                stream.copy(&mut other, 3, &buffer, 0, n).expect("in range");
                let other = stream.read(&other).expect("same device");
                assert_eq!(other[..3], [0; 3]);
                assert_eq!(other[3..3 + half], values[..half]);
                assert!(other[3 + half..].iter().all(|&value| value == 7));
                stream.zero(&mut buffer).expect("same device");
                assert_eq!(stream.read(&buffer).expect("same device"), vec![0; n]);
            }
            // The empty buffer of the first length is no allocation.
            assert_eq!(device.allocations() - before, 2 * LENGTHS.len() as u64 - 1);
        }
    }

    #[test]
    fn ranges_are_checked() {
        for device in devices() {
            let stream = device.stream().expect("a device with kernels");
            let mut buffer = stream.alloc::<u32>(4).expect("small");
            let error = stream.write(&mut buffer, 3, &[1, 2]).expect_err("too long");
            assert_eq!(error.to_string(), "Stream::write from position 3: expected at most 1 values, got 2 values");
            assert!(stream.write(&mut buffer, usize::MAX, &[1]).is_err());
            assert!(stream.read_into(&buffer, 5, &mut []).is_err());
            let pinned = stream.pinned::<u32>(1).expect("small");
            let error = stream.write_pinned(&mut buffer, 0, &pinned, 2).expect_err("too long");
            assert!(error.to_string().contains("pinned memory"), "{error}");
        }
    }

    #[test]
    fn pinned_copies_arrive_in_order() {
        for device in devices() {
            let (first, second) = (device.stream().expect("d"), device.stream().expect("d"));
            let n = 100_000;
            let mut staging = first.pinned::<u32>(n).expect("small");
            let mut buffer = first.alloc::<u32>(n).expect("small");
            for round in 0..4u32 {
                let values = staging.as_mut_slice().expect("no failure");
                for (i, value) in (0..).zip(values.iter_mut()) {
                    *value = i * 3 + round;
                }
                first.write_pinned(&mut buffer, 0, &staging, n).expect("in range");
                staging.as_mut_slice().expect("no failure").fill(0);
                // The copy has ended, so another stream sees it.
                second.read_pinned(&buffer, 0, &mut staging, n).expect("in range");
                let values = staging.as_slice().expect("no failure");
                assert!((0..).zip(values).all(|(i, &value)| value == i * 3 + round));
            }
        }
    }

    #[test]
    fn kernels_run_in_order() {
        for device in devices() {
            let stream = device.stream().expect("a device with kernels");
            let module = Module::load(&device, &SET).expect("the driver compiles it");
            let fill = module.function(kernels::fill).expect("in the module");
            let scale_add = module.function(kernels::scale_add).expect("in the module");
            assert_eq!(scale_add.info().max_threads, 128);
            assert!(fill.occupancy(&shape(1000)).expect("an ordinary shape") >= 1);
            for n in LENGTHS {
                let mut values = stream.alloc::<u32>(n).expect("small");
                let mut addend = stream.alloc::<u32>(n).expect("small");
                // SAFETY: both buffers hold n values.
                unsafe {
                    stream.launch(&fill, shape(n), (&mut values, n as u32, 5)).expect("launch");
                    stream.launch(&fill, shape(n), (&mut addend, n as u32, 2)).expect("launch");
                    stream.launch(&scale_add, shape(n), (&mut values, &addend, n as u32, 10)).expect("launch");
                }
                stream.synchronize().expect("no failure");
                assert_eq!(stream.read(&values).expect("same device"), vec![52; n]);
            }
        }
    }

    #[test]
    fn a_wrong_shape_names_the_kernel() {
        for device in devices() {
            let stream = device.stream().expect("a device with kernels");
            let module = Module::load(&device, &SET).expect("the driver compiles it");
            let scale_add = module.function(kernels::scale_add).expect("in the module");
            let mut values = stream.alloc::<u32>(1).expect("small");
            let addend = stream.alloc::<u32>(1).expect("small");
            let shape = LaunchShape::new(1, 129);
            // SAFETY: both buffers hold one value.
            let result = unsafe { stream.launch(&scale_add, shape, (&mut values, &addend, 1, 1)) };
            assert_eq!(
                result.expect_err("too many threads").to_string(),
                "kernel scale_add: threads of a block: expected 1 to 128, got 129"
            );
        }
    }

    #[test]
    fn graphs_replay_their_launches() {
        for device in devices() {
            let stream = device.stream().expect("a device with kernels");
            let module = Module::load(&device, &SET).expect("the driver compiles it");
            let fill = module.function(kernels::fill).expect("in the module");
            let scale_add = module.function(kernels::scale_add).expect("in the module");
            let n = 77;
            let mut values = stream.alloc::<u32>(n).expect("small");
            let mut addend = stream.upload(&vec![9u32; n]).expect("small");
            let graph = stream
                .capture(|stream| {
                    // SAFETY: both buffers hold n values, and outlive the graph.
                    unsafe {
                        stream.launch(&scale_add, shape(n), (&mut values, &addend, n as u32, 3))?;
                        stream.zero(&mut addend)?;
                        stream.launch(&fill, shape(n), (&mut addend, n as u32, 1))
                    }
                })
                .expect("only launches");
            assert_eq!((graph.n_launches(), graph.kernels()), (2, &["scale_add", "fill"][..]));
            assert_eq!(stream.read(&values).expect("nothing ran"), vec![0; n]);
            // 3 * 0 + 9, 3 * 9 + 1, 3 * 28 + 1
            for expected in [9, 28, 85] {
                stream.launch_graph(&graph).expect("same device");
                assert_eq!(stream.read(&values).expect("no failure"), vec![expected; n]);
            }
            // On another stream of the device, with the buffers gone from here.
            drop((values, addend));
            let other = device.stream().expect("a device with kernels");
            other.launch_graph(&graph).expect("same device");
            other.synchronize().expect("the graph keeps its buffers");
        }
    }

    #[test]
    fn a_capture_refuses_what_needs_an_answer_and_ends_cleanly() {
        for device in devices() {
            let stream = device.stream().expect("a device with kernels");
            let buffer = stream.upload(&[1u8, 2]).expect("small");
            let event = stream.event().expect("an event");
            type Call<'a> = &'a dyn Fn(&Stream) -> Result<()>;
            let refusals: [(&str, Call<'_>); 5] = [
                ("Stream::read", &|stream| stream.read(&buffer).map(drop)),
                ("Stream::alloc", &|stream| stream.alloc::<u8>(1).map(drop)),
                ("Stream::synchronize", &|stream| stream.synchronize()),
                ("Stream::record", &|stream| stream.record(&event)),
                ("Stream::capture", &|stream| stream.capture(|_| Ok(())).map(drop)),
            ];
            for (call, refused) in refusals {
                let error = stream.capture(refused).expect_err("not in a capture");
                assert!(matches!(error, Error::Capture { call: named } if named == call), "{error}");
                // The stream is as before.
                assert_eq!(stream.read(&buffer).expect("no capture"), [1, 2]);
            }
            let unwound =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stream.capture(|_| panic!("in the closure"))));
            assert!(unwound.is_err());
            assert_eq!(stream.read(&buffer).expect("no capture"), [1, 2]);
            let empty = stream.capture(|_| Ok(())).expect("an empty graph");
            stream.launch_graph(&empty).expect("does nothing");
            stream.synchronize().expect("no failure");
        }
    }

    #[test]
    fn events_measure_time() {
        for device in devices() {
            let stream = device.stream().expect("a device with kernels");
            let (start, end) = (stream.event().expect("e"), stream.event().expect("e"));
            let mut buffer = stream.alloc::<u64>(1 << 20).expect("8 MiB");
            stream.record(&start).expect("no capture");
            stream.zero(&mut buffer).expect("same device");
            stream.record(&end).expect("no capture");
            let ms = Event::elapsed_ms(&start, &end).expect("both recorded");
            assert!(ms > 0.0 && ms < 10_000.0, "{ms} ms");
        }
    }

    #[test]
    fn an_engine_can_move_to_another_thread() {
        for device in devices() {
            let stream = device.stream().expect("a device with kernels");
            let buffer = stream.upload(&[1u32, 2, 3]).expect("small");
            let read = std::thread::spawn(move || stream.read(&buffer));
            assert_eq!(read.join().expect("no panic").expect("no failure"), [1, 2, 3]);
        }
    }

    #[test]
    fn more_memory_than_there_is_is_refused_before_the_driver_is_asked() {
        for device in devices() {
            let stream = device.stream().expect("a device with kernels");
            let memory = device.memory().expect("it answers");
            let error = stream.alloc::<u8>(memory.total as usize + 1).expect_err("more than all");
            let Error::OutOfMemory { needed, free, .. } = error else { panic!("another error: {error}") };
            assert_eq!(needed, memory.total + 1);
            assert!(free <= memory.total);
            stream.alloc::<u8>(1).expect("the device is as before");
        }
    }

    #[test]
    fn a_fault_on_the_cpu_names_the_kernel() {
        let device = Device::simt();
        let stream = device.stream().expect("simt");
        let module = Module::load(&device, &SET).expect("nothing to load");
        let fill = module.function(kernels::fill).expect("in the module");
        let mut values = stream.alloc::<u32>(4).expect("small");
        // SAFETY: broken on purpose: `fill` asks before it writes, and the back end stops it there.
        let result = unsafe { stream.launch(&fill, shape(5), (&mut values, 5, 1)) };
        let error = result.expect_err("the fifth value is outside");
        assert!(matches!(error, Error::Simt(_)));
        assert!(error.to_string().contains("fill"), "{error}");
    }
}
