//! Modules of kernels, and the kernels in them.

use std::borrow::Cow;
use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::{Arc, OnceLock};

use warpplay_gpu::kernel::Kernel;
use warpplay_gpu::launch::LaunchShape;
use warpplay_gpu::ptx::{PtxImage, PtxSet};

use crate::runtime::context::Context;
use crate::runtime::device::Device;
use crate::runtime::driver::{self, Handle, LaunchAttribute, LaunchConfig, function_attribute, jit_option};
use crate::runtime::error::{Error, Result, kills_context};
use crate::runtime::info::Backend;

/// Dynamic and static shared memory that a block may have without asking, in bytes.
const SHARED_WITHOUT_ASKING: u32 = 48 * 1024;

/// A set of kernels loaded on a device.
///
/// On a GPU the newest image that the device runs is handed to the driver, which compiles it (the first time; it keeps
/// the result on disk). On [`Backend::Simt`] nothing is loaded: the kernels are functions of the program.
#[derive(Clone)]
pub struct Module {
    inner: Arc<Loaded>,
}

/// What the module's functions and the graphs made of them keep alive.
pub(crate) struct Loaded {
    device: Device,
    set: PtxSet,
    cuda: Option<CudaModule>,
    /// The images' texts, where a program without a GPU asks for their entries.
    texts: OnceLock<Vec<Cow<'static, str>>>,
}

impl Loaded {
    /// Whether an image has this entry; so it is taken where there are none.
    fn may_have(&self, name: &str) -> Result<bool> {
        let texts = match self.texts.get() {
            Some(texts) => texts,
            None => {
                let texts = self.set.images.iter().map(|image| text_of(&self.set, image));
                let texts = texts.collect::<Result<Vec<_>>>()?;
                self.texts.get_or_init(|| texts)
            }
        };
        Ok(texts.is_empty() || texts.iter().any(|text| has_entry(text, name)))
    }
}

/// The text of an image.
fn text_of(set: &PtxSet, image: &PtxImage) -> Result<Cow<'static, str>> {
    image.text().map_err(|error| Error::Module {
        module: set.name.to_string(),
        code: 0,
        name: "not loaded".to_string(),
        log: format!("its PTX for {} cannot be unpacked: {error}", image.arch),
    })
}

struct CudaModule {
    inner: ManuallyDrop<cust::module::Module>,
    context: Arc<Context>,
}

impl Drop for CudaModule {
    fn drop(&mut self) {
        // The code of a dead context goes with the context.
        if self.context.enter().is_ok() {
            // SAFETY: dropped once, here; the field is not used after.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
        }
    }
}

impl Module {
    /// Loads `set` on `device`.
    ///
    /// # Errors
    /// * [`Error::PtxMissing`] on a GPU, if the set holds no image: it says why and what to do;
    /// * [`Error::PtxArch`] if no image runs on this device;
    /// * [`Error::PtxVersion`] if the driver is too old for the image;
    /// * [`Error::Module`] with the compiler's words if the driver refuses the PTX;
    /// * [`Error::Unsupported`] on [`Backend::Cpu`].
    pub fn load(device: &Device, set: &PtxSet) -> Result<Self> {
        let cuda = match device.context() {
            Some(context) => Some(load_ptx(context, set)?),
            None if device.backend() == Backend::Cpu => return Err(no_kernels("a module")),
            None => None,
        };
        Ok(Self { inner: Arc::new(Loaded { device: device.clone(), set: *set, cuda, texts: OnceLock::new() }) })
    }

    /// Name of the set it was loaded from.
    pub fn name(&self) -> &'static str {
        self.inner.set.name
    }

    /// The device it was loaded on.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The module's kernel of this type.
    ///
    /// # Errors
    /// [`Error::MissingKernel`] if there is no entry of its name. On [`Backend::Simt`] the images are asked too, if
    /// there are any, so that a program without its kernel fails the same way on every back end.
    pub fn function<K: Kernel>(&self, kernel: K) -> Result<Function<K>> {
        let missing = || Error::MissingKernel { kernel: K::NAME.to_string(), module: self.name().to_string() };
        let (handle, info) = match &self.inner.cuda {
            Some(module) => {
                module.context.enter()?;
                let handle = match module.inner.get_function(K::NAME) {
                    Ok(function) => function.to_raw() as Handle,
                    Err(_) if driver::last_code() == driver::NOT_FOUND => return Err(missing()),
                    Err(_) => {
                        return Err(module.context.failure("cuModuleGetFunction", Some(K::NAME.to_string())));
                    }
                };
                (handle, FunctionInfo::of(&module.context, handle)?)
            }
            None => {
                if !self.inner.may_have(K::NAME)? {
                    return Err(missing());
                }
                (std::ptr::null_mut(), FunctionInfo::on_the_cpu(K::BOUNDS.max_threads))
            }
        };
        Ok(Function {
            kernel,
            module: Arc::clone(&self.inner),
            handle: SharedHandle(handle),
            info,
            asked_for_shared: OnceLock::new(),
            asked_for_clusters: OnceLock::new(),
        })
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({} on {})", self.name(), self.device())
    }
}

/// The kernels that a launch's failure may be about: those being launched and, if the driver reports what happened
/// before, those queued already.
pub(crate) fn suspects(queued: &[&'static str], launched: &[&'static str]) -> String {
    let mut names = Vec::new();
    let earlier = if kills_context(driver::last_code()) { queued } else { &[] };
    for name in earlier.iter().chain(launched) {
        add_name(&mut names, name);
    }
    names.join(", ")
}

/// Adds a name that is not there yet.
pub(crate) fn add_name(names: &mut Vec<&'static str>, name: &'static str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// [`Error::Unsupported`] for the back end without kernels.
pub(crate) fn no_kernels(what: &str) -> Error {
    Error::Unsupported {
        what: what.to_string(),
        backend: Backend::Cpu.to_string(),
        remedy: "kernels run on cuda and simt; the engines answer on cpu without them".to_string(),
    }
}

/// An architecture's number and whether it is for exactly that one (`sm_90a`).
fn parse_arch(arch: &str) -> Option<((u32, u32), bool)> {
    let digits = arch.strip_prefix("sm_").or_else(|| arch.strip_prefix("compute_"))?;
    let (digits, exact) = match digits.strip_suffix('a') {
        Some(digits) => (digits, true),
        None => (digits, false),
    };
    let number: u32 = digits.parse().ok()?;
    Some(((number / 10, number % 10), exact))
}

/// The image for the newest architecture that a device of this compute capability runs.
fn choose_image(images: &[PtxImage], capability: (u32, u32)) -> Option<&PtxImage> {
    let runs = |image: &&PtxImage| match parse_arch(image.arch) {
        Some((arch, true)) => arch == capability,
        Some((arch, false)) => arch <= capability,
        None => false,
    };
    images.iter().filter(runs).max_by_key(|image| parse_arch(image.arch))
}

/// The PTX version that a text declares.
fn declared_version(ptx: &str) -> Option<(u32, u32)> {
    let line = ptx.lines().find_map(|line| line.trim().strip_prefix(".version"))?;
    let (major, minor) = line.split_whitespace().next()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether a PTX text has an entry of exactly this name.
fn has_entry(ptx: &str, name: &str) -> bool {
    ptx.match_indices(".entry").any(|(at, word)| {
        let rest = ptx[at + word.len()..].trim_start();
        rest.strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_$".contains(c)))
    })
}

fn load_ptx(context: &Arc<Context>, set: &PtxSet) -> Result<CudaModule> {
    let name = set.name;
    if set.images.is_empty() {
        let reason = set.missing.unwrap_or("the set was built without architectures");
        return Err(Error::PtxMissing { module: name.to_string(), reason: reason.to_string() });
    }
    let capability = context.info().compute_capability.unwrap_or((0, 0));
    let Some(image) = choose_image(set.images, capability) else {
        let built_for: Vec<_> = set.images.iter().map(|image| image.arch).collect();
        return Err(Error::PtxArch { module: name.to_string(), built_for: built_for.join(", "), capability });
    };
    let newest = driver::version().map(driver::ptx_version);
    let text = text_of(set, image)?;
    let needs = declared_version(&text);
    let too_new = || {
        let text = |version: Option<(u32, u32)>| match version {
            Some((major, minor)) => format!("{major}.{minor}"),
            None => "an unknown version".to_string(),
        };
        Error::PtxVersion { module: name.to_string(), needs: text(needs), driver: text(newest) }
    };
    let refused = |log: String| {
        let code = driver::last_code();
        Error::Module { module: name.to_string(), code, name: driver::code_name(code), log }
    };
    let text = CString::new(text.as_ref()).map_err(|_| Error::Module {
        module: name.to_string(),
        code: 0,
        name: "not loaded".to_string(),
        log: "the PTX text holds a zero byte".to_string(),
    })?;

    context.enter()?;
    match cust::module::Module::from_ptx_cstr(&text, &[]) {
        Ok(inner) => Ok(CudaModule { inner: ManuallyDrop::new(inner), context: Arc::clone(context) }),
        Err(_) if driver::last_code() == driver::UNSUPPORTED_PTX_VERSION => Err(too_new()),
        // Older drivers answer the same with "invalid PTX".
        Err(_) if driver::last_code() == driver::INVALID_PTX && needs > newest => Err(too_new()),
        Err(_) => {
            // `cust` does not pass the compiler's log on: ask again, for the log alone.
            let log = compiler_log(&text);
            Err(refused(log))
        }
    }
}

/// What the driver's compiler says of a text that it refused.
fn compiler_log(text: &CString) -> String {
    const BYTES: usize = 8192;
    let before = driver::last_code();
    let mut log = vec![0u8; BYTES];
    let mut options = [jit_option::ERROR_LOG_BUFFER, jit_option::ERROR_LOG_BUFFER_BYTES];
    // The driver takes option values of pointer size by value.
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(BYTES)];
    let mut module: Handle = std::ptr::null_mut();
    // SAFETY: the text ends with a zero; the log has the length given; both outlive the call; two options, two values.
    let code = unsafe {
        driver::cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
    };
    if code == 0 {
        // SAFETY: the module was loaded just now and is known to nobody else.
        unsafe { driver::cuModuleUnload(module) };
        return format!("refused with code {before} at first, accepted when tried again");
    }
    let length = log.iter().position(|&byte| byte == 0).unwrap_or(BYTES);
    let text = String::from_utf8_lossy(&log[..length]);
    if text.trim().is_empty() { "its compiler says no more".to_string() } else { text.trim().to_string() }
}

/// A driver handle that threads may share.
#[derive(Clone, Copy)]
struct SharedHandle(Handle);

// SAFETY: a function's handle may be used from any thread in whose current context it was loaded; every use enters
// that context first.
unsafe impl Send for SharedHandle {}
// SAFETY: as above; the driver's functions that take it may be called at the same time.
unsafe impl Sync for SharedHandle {}

/// What the driver says of a compiled kernel. On [`Backend::Simt`] all but `max_threads` is 0.
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
            // SAFETY: `value` is written before the call returns; the handle is of this context.
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
    module: Arc<Loaded>,
    handle: SharedHandle,
    info: FunctionInfo,
    asked_for_shared: OnceLock<()>,
    asked_for_clusters: OnceLock<()>,
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
        &self.module.device
    }

    /// What the compiled kernel uses.
    pub fn info(&self) -> FunctionInfo {
        self.info
    }

    /// Blocks of this shape that a multiprocessor holds at once; 1 on [`Backend::Simt`].
    ///
    /// # Errors
    /// [`Error::Shape`] if the shape breaks a limit; [`Error::Driver`] if the driver does not answer.
    pub fn occupancy(&self, shape: &LaunchShape) -> Result<u32> {
        self.check_limits(shape)?;
        let Some(context) = self.module.device.context() else {
            return Ok(1);
        };
        context.enter()?;
        self.prepare(context, shape)?;
        self.blocks_per_multiprocessor(context, shape)
    }

    /// Clusters of this shape that the device holds at once; 1 on [`Backend::Simt`].
    ///
    /// # Errors
    /// As [`occupancy`](Self::occupancy).
    pub fn max_active_clusters(&self, shape: &LaunchShape) -> Result<u32> {
        self.check_limits(shape)?;
        let Some(context) = self.module.device.context() else {
            return Ok(1);
        };
        context.enter()?;
        self.prepare(context, shape)?;
        let attributes = [LaunchAttribute::cluster(shape.cluster)];
        let config = config(shape, std::ptr::null_mut(), &attributes);
        let mut clusters = 0;
        // SAFETY: `clusters` is written before the call returns; the configuration and its attributes outlive it.
        let code = unsafe { driver::cuOccupancyMaxActiveClusters(&mut clusters, self.handle.0, &config) };
        context.check("cuOccupancyMaxActiveClusters", code)?;
        Ok(clusters.max(0) as u32)
    }

    pub(crate) fn loaded(&self) -> &Arc<Loaded> {
        &self.module
    }

    /// Checks the shape against the device's limits and the kernel's.
    pub(crate) fn check_limits(&self, shape: &LaunchShape) -> Result<()> {
        self.module.device.limits().check(K::NAME, shape, self.info.max_threads, self.info.static_shared_bytes)
    }

    fn blocks_per_multiprocessor(&self, context: &Context, shape: &LaunchShape) -> Result<u32> {
        let mut blocks = 0;
        // SAFETY: `blocks` is written before the call returns; the handle is of this context.
        let code = unsafe {
            driver::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.handle.0,
                shape.n_threads() as c_int,
                shape.shared_bytes as usize,
            )
        };
        context.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        Ok(blocks.max(0) as u32)
    }

    /// Asks the driver for what the shape needs beyond the ordinary, the first time.
    fn prepare(&self, context: &Context, shape: &LaunchShape) -> Result<()> {
        let set = |attribute: c_int, value: u32| {
            // SAFETY: the handle is of this context, which is current.
            let code = unsafe { driver::cuFuncSetAttribute(self.handle.0, attribute, value as c_int) };
            if code == 0 { Ok(()) } else { Err(context.failure("cuFuncSetAttribute", Some(K::NAME.to_string()))) }
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

    /// Hands the launch to the driver. The shape has been checked; `queued` are the kernels that the stream has not
    /// waited for.
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
                    format!("kernel {}: blocks of a cooperative launch", K::NAME),
                    format!("at most {resident}, which the device holds at once"),
                    shape.n_blocks(),
                ));
            }
        }
        let [gx, gy, gz] = shape.grid;
        let [bx, by, bz] = shape.block;
        let parameters = addresses.as_mut_ptr();
        let (call, code) = if shape.cluster > 1 {
            let mut attributes = vec![LaunchAttribute::cluster(shape.cluster)];
            if shape.cooperative {
                attributes.push(LaunchAttribute::cooperative());
            }
            let config = config(shape, stream, &attributes);
            // SAFETY: the caller's promise; the configuration and its attributes outlive the call.
            let code = unsafe { driver::cuLaunchKernelEx(&config, self.handle.0, parameters, std::ptr::null_mut()) };
            ("cuLaunchKernelEx", code)
        } else if shape.cooperative {
            // SAFETY: the caller's promise.
            let code = unsafe {
                driver::cuLaunchCooperativeKernel(
                    self.handle.0,
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
            // SAFETY: the caller's promise.
            let code = unsafe {
                driver::cuLaunchKernel(
                    self.handle.0,
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
        if code == 0 { Ok(()) } else { Err(context.failure(call, Some(suspects(queued, &[K::NAME])))) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::test_kernels::{self, fill};

    const fn image(arch: &'static str) -> PtxImage {
        PtxImage::plain(arch, "")
    }

    fn chosen(archs: &[&'static str], capability: (u32, u32)) -> Option<&'static str> {
        let images: Vec<_> = archs.iter().copied().map(image).collect();
        choose_image(&images, capability).map(|image| image.arch)
    }

    #[test]
    fn the_newest_image_that_runs_is_chosen() {
        let all = ["sm_75", "sm_80", "sm_90", "sm_90a"];
        assert_eq!(chosen(&all, (7, 0)), None);
        assert_eq!(chosen(&all, (7, 5)), Some("sm_75"));
        assert_eq!(chosen(&all, (8, 9)), Some("sm_80"));
        assert_eq!(chosen(&all, (9, 0)), Some("sm_90a"));
        assert_eq!(chosen(&all, (10, 0)), Some("sm_90"));
        assert_eq!(chosen(&["sm_120", "sm_75"], (12, 0)), Some("sm_120"));
        assert_eq!(chosen(&["other"], (9, 0)), None);
    }

    #[test]
    fn versions_and_entries_are_read_from_the_text() {
        assert_eq!(declared_version("// c\n.version 8.3\n.target sm_75"), Some((8, 3)));
        assert_eq!(declared_version(".target sm_75"), None);
        assert!(has_entry(test_kernels::PTX, "fill"));
        assert!(!has_entry(test_kernels::PTX, "fil"));
        assert!(!has_entry(".visible .entry fill_all(", "fill"));
    }

    #[test]
    fn a_missing_kernel_is_named_with_its_module() {
        const OTHER: PtxSet =
            PtxSet { name: "other", images: &[PtxImage::plain("sm_75", ".visible .entry another(")], missing: None };
        let module = Module::load(&Device::simt(), &OTHER).expect("nothing to load");
        let error = module.function(fill).expect_err("not there");
        assert!(error.to_string().starts_with("module other has no kernel fill"), "{error}");
    }

    #[test]
    fn modules_are_refused_where_no_kernels_run() {
        let error = Module::load(&Device::cpu(), &test_kernels::SET).expect_err("no kernels");
        assert!(error.to_string().contains("not offered by the back end cpu"), "{error}");
    }

    #[test]
    fn modules_and_functions_move_between_threads() {
        fn check<T: Send + Sync>() {}
        check::<Module>();
        check::<Function<fill>>();
    }
}
