//! Launches of kernels.

use std::ffi::c_void;
use std::sync::Arc;

use warpplay_gpu::kernel::{Kernel, SafeKernel, ShapedKernel};
use warpplay_gpu::launch::LaunchShape;
use warpplay_gpu::simt;

use super::{CudaStream, Stream};
use crate::runtime::buffer::Allocation;
use crate::runtime::error::{Error, Result};
use crate::runtime::graph::Operation;
use crate::runtime::launch::{Binding, IntoParams, MAX_PARAMS, refused};
use crate::runtime::module::{Entry, Function, add_name};

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

impl Stream {
    /// Launches a kernel.
    ///
    /// `arguments` is a tuple with one argument for each parameter of the kernel: `&Buffer<T>` for `*const T`,
    /// `&mut Buffer<T>` for `*mut T`, `SArgs` for a structure `S` with `#[derive(DeviceArgs)]`, any other value as itself. Another type or number does not compile.
    ///
    /// ```
    /// use warpplay::{Device, LaunchShape, Module, PtxSet};
    /// use warpplay_gpu::cuda::{kernel, memory, thread};
    ///
    /// /// `sum[i] = a[i] + b` for every i below n.
    /// ///
    /// /// # Safety
    /// /// One-dimensional launch; both buffers hold `n` values.
    /// #[kernel]
    /// pub unsafe fn add(sum: *mut f32, a: *const f32, b: f32, n: u32) {
    ///     let Some(i) = thread::index_1d_below(n) else { return };
    ///     // SAFETY: i < n, and no other thread has this i.
    ///     unsafe { memory::store(sum, i as usize, memory::load(a, i as usize) + b) };
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
    /// [`Error::Shape`] if the shape breaks a limit of the device or the kernel, or a structure's array is shorter than it says, before the driver is called;
    /// [`Error::Device`] for a function or buffer of another device; [`Error::Driver`] with the kernel's name if the
    /// driver refuses; [`Error::Simt`] if the kernel broke a rule on [`Backend::Simt`](crate::Backend::Simt). On a GPU a failure while the
    /// kernel runs is reported later, by the call that waits.
    ///
    /// # Safety
    /// The kernel's own contract: its shape, the lengths of its buffers, what its other parameters may be. Memory
    /// behind pointers in a structure that is given as it is, and not as `SArgs`, lives until the stream has been synchronised. Inside a
    /// [`capture`](Self::capture) all this holds for every replay of the graph, until the graph is dropped; in
    /// particular nothing else uses the memory at the same time as a replay.
    pub unsafe fn launch<K: Kernel, A: IntoParams<K::Params>>(
        &self,
        function: &Function<K>,
        shape: LaunchShape,
        arguments: A,
    ) -> Result<()> {
        self.begin(function.entry(), &shape)?;
        let mut binding = self.binding();
        let params = arguments.into_params(&mut binding);
        let kept = binding.finish(K::NAME)?;
        // SAFETY: `begin` has accepted the shape; the kernel's contract is the caller's promise.
        unsafe { self.start(function, shape, params, A::addresses, kept) }
    }

    /// Launches a safe kernel: its declaration says the shape, and the lengths that are checked here.
    ///
    /// `arguments` are as in [`launch`](Self::launch): `&Buffer<T>` for `Slice<T>`, `&mut Buffer<T>` for `Disjoint<T>`.
    ///
    /// ```
    /// use warpplay::{Device, LaunchShape, Module, PtxSet};
    /// use warpplay_gpu::cuda::view::{Disjoint, Slice};
    /// use warpplay_gpu::cuda::{kernel, thread};
    ///
    /// /// `sum[i] = a[i] + b` for every i below n.
    /// #[kernel(shape = LaunchShape::linear(n, 256))]
    /// pub fn add(#[len(n as usize)] mut sum: Disjoint<f32>, #[len(n as usize)] a: Slice<f32>, b: f32, n: u32) {
    ///     let Some(i) = thread::own_index_below(n) else { return };
    ///     sum.set(&i, a.get(i.get() as usize) + b);
    /// }
    ///
    /// const KERNELS: PtxSet = PtxSet { name: "example", images: &[], missing: Some("this is an example") };
    ///
    /// let device = Device::simt();
    /// let stream = device.stream()?;
    /// let add_function = Module::load(&device, &KERNELS)?.function(add)?;
    /// let a = stream.upload(&[1.0f32, 2.0, 3.0])?;
    /// let mut sum = stream.alloc::<f32>(3)?;
    /// stream.run(&add_function, (&mut sum, &a, 0.5, 3))?;
    /// assert_eq!(stream.read(&sum)?, [1.5, 2.5, 3.5]);
    /// let error = stream.run(&add_function, (&mut sum, &a, 0.5, 4)).unwrap_err();
    /// assert_eq!(error.to_string(), "add: sum: expected at least 4 values, got 3 values");
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    ///
    /// Work of other streams on the same buffers is ordered by the caller, with [`Event`](crate::Event)s, as for every launch; without that its values are any, but nothing else is harmed.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is shorter than the kernel says, for a condition of it that does not hold, and else those of [`launch`](Self::launch).
    pub fn run<K, A>(&self, function: &Function<K>, arguments: A) -> Result<()>
    where
        K: SafeKernel<Launch = (), Params: IntoParams<K::Params>>,
        A: IntoParams<K::Views>,
    {
        self.run_with(function, (), arguments).map(drop)
    }

    /// Launches a safe kernel whose shape depends on more than its parameters: `launch` is a tuple of that, as `(block,)`. Returns the shape.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with<K, A>(&self, function: &Function<K>, launch: K::Launch, arguments: A) -> Result<LaunchShape>
    where
        K: SafeKernel<Params: IntoParams<K::Params>>,
        A: IntoParams<K::Views>,
    {
        // SAFETY: a safe kernel has no contract beside its declaration, which this checks; that it waits for the launch before, nobody has promised.
        unsafe { self.run_declared(function, launch, arguments, false) }
    }

    /// Launches an `unsafe` kernel that declares its shape. The shape is computed from the arguments; lengths and conditions that the declaration has are checked, the rest of the kernel's contract is
    /// the caller's.
    ///
    /// `arguments` are as in [`launch`](Self::launch), but a pointer whose length is declared takes a buffer or a [`view`](crate::Buffer::view) and no address.
    ///
    /// ```
    /// use warpplay::{Device, LaunchShape, Module, PtxSet};
    /// use warpplay_gpu::cuda::{kernel, memory, thread};
    ///
    /// /// `to[i] = from[rows[i]]` for every i below n.
    /// ///
    /// /// # Safety
    /// /// Every row is below `n_rows`.
    /// #[kernel(shape = LaunchShape::linear(n, 256))]
    /// pub unsafe fn take(
    ///     #[len(n)] to: *mut f32,
    ///     #[len(n_rows)] from: *const f32,
    ///     #[len(n)] rows: *const u32,
    ///     n: u32,
    ///     n_rows: u32,
    /// ) {
    ///     let Some(i) = thread::index_1d_below(n) else { return };
    ///     // SAFETY: i < n, and no other thread has this i; the row is below `n_rows`.
    ///     unsafe { memory::store(to, i as usize, memory::load(from, memory::load(rows, i as usize) as usize)) };
    /// }
    ///
    /// const KERNELS: PtxSet = PtxSet { name: "example", images: &[], missing: Some("this is an example") };
    ///
    /// let device = Device::simt();
    /// let stream = device.stream()?;
    /// let take_function = Module::load(&device, &KERNELS)?.function(take)?;
    /// let (from, rows) = (stream.upload(&[1.0f32, 2.0, 3.0])?, stream.upload(&[2u32, 0])?);
    /// let mut to = stream.alloc::<f32>(2)?;
    /// // SAFETY: rows 2 and 0 are below 3.
    /// unsafe { stream.run_unchecked(&take_function, (&mut to, &from, &rows, 2, 3))? };
    /// assert_eq!(stream.read(&to)?, [3.0, 1.0]);
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Safety
    /// As [`launch`](Self::launch), but for the shape and for what the declaration checks.
    pub unsafe fn run_unchecked<K, A>(&self, function: &Function<K>, arguments: A) -> Result<()>
    where
        K: ShapedKernel<Launch = (), Params: IntoParams<K::Params>>,
        A: IntoParams<K::Views>,
    {
        // SAFETY: the caller's promise.
        unsafe { self.run_unchecked_with(function, (), arguments) }
    }

    /// Launches an `unsafe` kernel whose shape depends on more than its parameters: `launch` is a tuple of that, as `(block,)`.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Safety
    /// As [`run_unchecked`](Self::run_unchecked).
    pub unsafe fn run_unchecked_with<K, A>(&self, function: &Function<K>, launch: K::Launch, arguments: A) -> Result<()>
    where
        K: ShapedKernel<Params: IntoParams<K::Params>>,
        A: IntoParams<K::Views>,
    {
        // SAFETY: the caller's promise.
        unsafe { self.run_declared(function, launch, arguments, true).map(drop) }
    }

    /// Launches a kernel as it declares, and returns the shape. `may_overlap`: whether a shape that overlaps does.
    ///
    /// # Safety
    /// As [`run_unchecked`](Self::run_unchecked).
    pub(crate) unsafe fn run_declared<K, A>(
        &self,
        function: &Function<K>,
        launch: K::Launch,
        arguments: A,
        may_overlap: bool,
    ) -> Result<LaunchShape>
    where
        K: ShapedKernel<Params: IntoParams<K::Params>>,
        A: IntoParams<K::Views>,
    {
        let mut binding = self.binding();
        let views = arguments.into_params(&mut binding);
        let kept = binding.finish(K::NAME)?;
        let (mut shape, params) = K::prepare(views, launch).map_err(|refusal| refused(K::NAME, refusal))?;
        shape.overlapping &= may_overlap;
        self.begin(function.entry(), &shape)?;
        let addresses = <K::Params as IntoParams<K::Params>>::addresses;
        // SAFETY: `begin` has accepted the shape, and `prepare` what is declared; the rest is the caller's promise.
        unsafe { self.start(function, shape, params, addresses, kept)? };
        Ok(shape)
    }

    /// Starts or records a launch.
    ///
    /// # Safety
    /// [`begin`](Self::begin) has accepted function and shape; the kernel's contract holds, in a capture for every replay; `addresses` gives those of the parameters.
    unsafe fn start<K: Kernel>(
        &self,
        function: &Function<K>,
        shape: LaunchShape,
        mut params: K::Params,
        addresses: fn(&mut K::Params) -> [*mut c_void; MAX_PARAMS],
        kept: Option<Vec<Arc<Allocation>>>,
    ) -> Result<()> {
        let entry = function.entry();
        if let Some(cuda) = &self.cuda {
            // SAFETY: `begin` has accepted entry and shape, and `cuda` is of `self`; the addresses are those of `params`, which outlives the call; the
            // kernel's contract is the caller's promise.
            return unsafe { self.launch_cuda(cuda, entry, &shape, &mut addresses(&mut params), kept) };
        }
        let kernel = function.kernel();
        let params = Recorded(params);
        let options = simt::Options { warpgroups: self.device.has_warpgroups(), ..simt::Options::default() };
        let run = move || {
            // SAFETY: the caller's promise.
            let result = unsafe { simt::launch(kernel, shape, params.get(), &options) };
            result.map_err(Error::from)
        };
        match kept {
            Some(kept) => {
                self.note(entry, Some(kept), Some(Box::new(run)));
                Ok(())
            }
            None => run(),
        }
    }

    // What follows does not depend on the kernel's type: compiled once and not for every kernel.

    /// Checks device and shape of a launch.
    fn begin(&self, entry: &Entry, shape: &LaunchShape) -> Result<()> {
        self.device.expect_same(entry.name(), entry.device())?;
        entry.check_limits(shape)
    }

    /// What arguments are bound with.
    fn binding(&self) -> Binding<'_> {
        Binding::new(&self.device, self.is_capturing())
    }

    /// Hands a launch to the driver.
    ///
    /// # Safety
    /// [`begin`](Self::begin) has accepted entry and shape; `cuda` is this stream's; `addresses` are those of the kernel's parameters, and the kernel's own
    /// contract holds.
    unsafe fn launch_cuda(
        &self,
        cuda: &CudaStream,
        entry: &Entry,
        shape: &LaunchShape,
        addresses: &mut [*mut c_void],
        kept: Option<Vec<Arc<Allocation>>>,
    ) -> Result<()> {
        cuda.context.enter()?;
        // SAFETY: the context is current; the stream is of it, and the entry too, since `begin` wants both on one device; the rest is the caller's promise.
        unsafe { entry.launch_cuda(&cuda.context, cuda.handle, shape, addresses, &self.state.borrow().queued)? };
        self.note(entry, kept, None);
        Ok(())
    }

    /// Remembers a launch: for the graph that is being recorded, with the memory that it must keep, or among those that nobody has waited for.
    fn note(&self, entry: &Entry, kept: Option<Vec<Arc<Allocation>>>, operation: Option<Operation>) {
        let mut state = self.state.borrow_mut();
        match (&mut state.recording, kept) {
            (Some(recording), Some(kept)) => {
                add_name(&mut recording.kernels, entry.name());
                recording.n_launches += 1;
                recording.kept.extend(kept);
                recording.modules.extend(entry.code().cloned());
                recording.operations.extend(operation);
            }
            _ => add_name(&mut state.queued, entry.name()),
        }
    }
}
