//! Kernels of a module.

use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::sync::{Arc, OnceLock};

use warpplay_gpu::kernel::{Kernel, Load};
use warpplay_gpu::launch::LaunchShape;

use super::{CudaModule, Loaded, Module, suspects};
use crate::runtime::context::Context;
use crate::runtime::device::Device;
use crate::runtime::driver::{self, Handle, LaunchAttribute, LaunchConfig, function_attribute};
use crate::runtime::error::{Error, Result};

/// Most shared memory, dynamic and static, that a block can use without opting in, in bytes.
const SHARED_WITHOUT_ASKING: u32 = 48 * 1024;

impl Module {
    /// The module's kernel of this type.
    ///
    /// # Errors
    /// [`Error::MissingKernel`] if there is no entry of its name; of a [lazy](Self::lazy) module, [`Error::PtxVersion`] and [`Error::Module`]. On [`Backend::Simt`](crate::Backend::Simt) the images, if there are any, are searched too, so that a
    /// missing kernel fails the same way on every back end.
    pub fn function<K: Kernel>(&self, kernel: K) -> Result<Function<K>> {
        Ok(Function { kernel, entry: Entry::find(&self.inner, K::NAME, K::BOUNDS.max_threads)? })
    }
}

impl Load for Module {
    type Function<K: Kernel> = Function<K>;
    type Error = Error;

    fn function<K: Kernel>(&self, kernel: K) -> Result<Function<K>> {
        self.function(kernel)
    }
}

/// What the driver reports about a compiled kernel. On [`Backend::Simt`](crate::Backend::Simt) all fields except `max_threads` are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Most threads of a block.
    pub max_threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory that the kernel declares itself, in bytes a block.
    pub static_shared_bytes: u32,
    /// Local memory (spilled registers and arrays) in bytes a thread.
    pub local_bytes: u32,
}

impl FunctionInfo {
    fn of(context: &Context, handle: Handle) -> Result<Self> {
        let get = |attribute: c_int| -> Result<u32> {
            let mut value = 0;
            // SAFETY: `value` is written before the call returns; the handle belongs to this context.
            let code = unsafe { driver::cuFuncGetAttribute(&mut value, attribute, handle) };
            context.check("cuFuncGetAttribute", code)?;
            Ok(value.max(0) as u32)
        };
        Ok(Self {
            max_threads: get(function_attribute::MAX_THREADS_PER_BLOCK)?,
            registers: get(function_attribute::REGISTERS)?,
            static_shared_bytes: get(function_attribute::STATIC_SHARED_BYTES)?,
            local_bytes: get(function_attribute::LOCAL_BYTES)?,
        })
    }

    fn on_the_cpu(max_threads: u32) -> Self {
        Self {
            max_threads: match max_threads {
                0 => crate::runtime::info::Limits::SIMT.max_threads,
                n => n,
            },
            registers: 0,
            static_shared_bytes: 0,
            local_bytes: 0,
        }
    }
}

/// A kernel of a loaded module, ready to be launched with [`Stream::launch`](crate::Stream::launch).
pub struct Function<K: Kernel> {
    kernel: K,
    entry: Entry,
}

impl<K: Kernel> Function<K> {
    /// The kernel's descriptor.
    pub fn kernel(&self) -> K {
        self.kernel
    }

    /// Entry name of the kernel.
    pub fn name(&self) -> &'static str {
        K::NAME
    }

    /// The device it was loaded on.
    pub fn device(&self) -> &Device {
        self.entry.device()
    }

    /// The resources that the compiled kernel uses.
    pub fn info(&self) -> FunctionInfo {
        self.entry.info
    }

    /// Blocks of this shape that a multiprocessor holds at once; 1 on [`Backend::Simt`](crate::Backend::Simt).
    ///
    /// # Errors
    /// [`Error::Shape`] if the shape breaks a limit; [`Error::Driver`] if the driver does not answer.
    pub fn occupancy(&self, shape: &LaunchShape) -> Result<u32> {
        self.entry.occupancy(shape)
    }

    /// Clusters of this shape that the device holds at once; 1 on [`Backend::Simt`](crate::Backend::Simt).
    ///
    /// # Errors
    /// As [`occupancy`](Self::occupancy).
    pub fn max_active_clusters(&self, shape: &LaunchShape) -> Result<u32> {
        self.entry.max_active_clusters(shape)
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }
}

/// The part of a [`Function`] that does not depend on the kernel's type, so that it is compiled once rather than for every kernel.
pub(crate) struct Entry {
    name: &'static str,
    device: Device,
    /// Keeps the handle valid.
    code: Option<Arc<CudaModule>>,
    handle: Handle,
    info: FunctionInfo,
    asked_for_shared: OnceLock<()>,
    asked_for_clusters: OnceLock<()>,
}

impl Entry {
    /// The entry of this name; `max_threads` is the kernel's own bound, 0 for none.
    fn find(module: &Arc<Loaded>, name: &'static str, max_threads: u32) -> Result<Self> {
        let missing = || Error::MissingKernel { kernel: name.to_string(), module: module.set.name.to_string() };
        let code = module.code_of(name)?;
        let (handle, info) = match &code {
            Some(loaded) => {
                loaded.context.enter()?;
                // A name with a zero byte is no entry's.
                let text = CString::new(name).map_err(|_| missing())?;
                let mut handle = Handle::NULL;
                // SAFETY: `handle` is written before the call returns; the module belongs to this context; the name ends with a zero.
                match unsafe { driver::cuModuleGetFunction(&mut handle, loaded.handle, text.as_ptr()) } {
                    0 => (handle, FunctionInfo::of(&loaded.context, handle)?),
                    driver::NOT_FOUND => return Err(missing()),
                    _ => return Err(loaded.context.failure("cuModuleGetFunction", Some(name.to_string()))),
                }
            }
            None => (Handle::NULL, FunctionInfo::on_the_cpu(max_threads)),
        };
        Ok(Self {
            name,
            device: module.device.clone(),
            code,
            handle,
            info,
            asked_for_shared: OnceLock::new(),
            asked_for_clusters: OnceLock::new(),
        })
    }

    /// Entry name of the kernel.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    fn occupancy(&self, shape: &LaunchShape) -> Result<u32> {
        self.check_limits(shape)?;
        let Some(context) = self.device.context() else {
            return Ok(1);
        };
        context.enter()?;
        self.prepare(context, shape)?;
        self.blocks_per_multiprocessor(context, shape)
    }

    fn max_active_clusters(&self, shape: &LaunchShape) -> Result<u32> {
        self.check_limits(shape)?;
        let Some(context) = self.device.context() else {
            return Ok(1);
        };
        context.enter()?;
        self.prepare(context, shape)?;
        let attributes = [LaunchAttribute::cluster(shape.cluster)];
        let config = config(shape, Handle::NULL, &attributes);
        let mut clusters = 0;
        // SAFETY: `clusters` is written before the call returns; the configuration and its attributes outlive it.
        let code = unsafe { driver::cuOccupancyMaxActiveClusters(&mut clusters, self.handle, &config) };
        context.check("cuOccupancyMaxActiveClusters", code)?;
        Ok(clusters.max(0) as u32)
    }

    /// What a graph keeps as long as it may launch the kernel.
    pub(crate) fn code(&self) -> Option<&Arc<CudaModule>> {
        self.code.as_ref()
    }

    /// Checks the shape against the device's limits and the kernel's.
    pub(crate) fn check_limits(&self, shape: &LaunchShape) -> Result<()> {
        self.device.limits().check(self.name, shape, self.info.max_threads, self.info.static_shared_bytes)
    }

    fn blocks_per_multiprocessor(&self, context: &Context, shape: &LaunchShape) -> Result<u32> {
        let mut blocks = 0;
        // SAFETY: `blocks` is written before the call returns; the handle belongs to this context.
        let code = unsafe {
            driver::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.handle,
                shape.n_threads() as c_int,
                shape.shared_bytes as usize,
            )
        };
        context.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        Ok(blocks.max(0) as u32)
    }

    /// Sets the attributes that the shape needs beyond the defaults, the first time.
    fn prepare(&self, context: &Context, shape: &LaunchShape) -> Result<()> {
        let set = |attribute: c_int, value: u32| {
            // SAFETY: the handle belongs to this context, which is current.
            let code = unsafe { driver::cuFuncSetAttribute(self.handle, attribute, value as c_int) };
            if code == 0 { Ok(()) } else { Err(context.failure("cuFuncSetAttribute", Some(self.name.to_string()))) }
        };
        let shared = shape.shared_bytes.saturating_add(self.info.static_shared_bytes);
        if shared > SHARED_WITHOUT_ASKING && self.asked_for_shared.get().is_none() {
            let most = context.limits().max_shared_bytes - self.info.static_shared_bytes;
            set(function_attribute::MAX_DYNAMIC_SHARED_BYTES, most)?;
            let _ = self.asked_for_shared.set(());
        }
        // Up to 8 blocks a cluster every device with clusters runs; more is asked for.
        if shape.cluster > 8 && self.asked_for_clusters.get().is_none() {
            set(function_attribute::NON_PORTABLE_CLUSTER_SIZE, 1)?;
            let _ = self.asked_for_clusters.set(());
        }
        Ok(())
    }

    /// Passes the launch to the driver. The shape has been checked; `queued` names the kernels that the stream has not waited
    /// for.
    ///
    /// # Safety
    /// `context` is current, `stream` is one of its streams, `addresses` point to the kernel's parameters, and the
    /// kernel's own contract holds.
    pub(crate) unsafe fn launch_cuda(
        &self,
        context: &Context,
        stream: Handle,
        shape: &LaunchShape,
        addresses: &mut [*mut c_void],
        queued: &[&'static str],
    ) -> Result<()> {
        self.prepare(context, shape)?;
        if shape.cooperative {
            let resident = u64::from(self.blocks_per_multiprocessor(context, shape)?)
                * u64::from(context.info().n_multiprocessors);
            if shape.n_blocks() > resident {
                return Err(Error::shape(
                    format!("kernel {}: blocks of a cooperative launch", self.name),
                    format!("at most {resident}, which the device holds at once"),
                    shape.n_blocks(),
                ));
            }
        }
        let [gx, gy, gz] = shape.grid;
        let [bx, by, bz] = shape.block;
        let parameters = addresses.as_mut_ptr();
        let overlapping = shape.overlapping && self.code.as_ref().is_some_and(|module| module.overlaps);
        let (call, code) = if shape.cluster > 1 || overlapping {
            let mut attributes = Vec::new();
            if shape.cluster > 1 {
                attributes.push(LaunchAttribute::cluster(shape.cluster));
            }
            if shape.cooperative {
                attributes.push(LaunchAttribute::cooperative());
            }
            if overlapping {
                attributes.push(LaunchAttribute::overlapping());
            }
            let config = config(shape, stream, &attributes);
            // SAFETY: the caller keeps this function's contract; the configuration and its attributes outlive the call.
            let code = unsafe { driver::cuLaunchKernelEx(&config, self.handle, parameters, std::ptr::null_mut()) };
            ("cuLaunchKernelEx", code)
        } else if shape.cooperative {
            // SAFETY: the caller keeps this function's contract.
            let code = unsafe {
                driver::cuLaunchCooperativeKernel(
                    self.handle,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    shape.shared_bytes,
                    stream,
                    parameters,
                )
            };
            ("cuLaunchCooperativeKernel", code)
        } else {
            // SAFETY: the caller keeps this function's contract.
            let code = unsafe {
                driver::cuLaunchKernel(
                    self.handle,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    shape.shared_bytes,
                    stream,
                    parameters,
                    std::ptr::null_mut(),
                )
            };
            ("cuLaunchKernel", code)
        };
        if code == 0 { Ok(()) } else { Err(context.failure(call, Some(suspects(queued, &[self.name])))) }
    }
}

fn config(shape: &LaunchShape, stream: Handle, attributes: &[LaunchAttribute]) -> LaunchConfig {
    LaunchConfig {
        grid: shape.grid,
        block: shape.block,
        shared_bytes: shape.shared_bytes,
        stream,
        attributes: attributes.as_ptr(),
        n_attributes: attributes.len() as u32,
    }
}

impl<K: Kernel> fmt::Debug for Function<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} on {})", K::NAME, self.device())
    }
}
