//! Modules of kernels, and the kernels in them.

mod function;
mod image;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_void};
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, Weak};

use warpplay_gpu::ptx::{PtxImage, PtxSet};

use crate::runtime::context::Context;
use crate::runtime::device::Device;
use crate::runtime::driver::{self, Handle, jit_option};
use crate::runtime::error::{Error, Result, kills_context};
use crate::runtime::info::Backend;
use image::{can_overlap, choose_image, declared_version, entries, with_entry_alone};

pub(crate) use function::Entry;
pub use function::{Function, FunctionInfo};

/// A set of kernels loaded on a device.
///
/// On a GPU, the newest image that the device can run is passed to the driver, which compiles it (the first time; the driver
/// caches the result on disk); a set that is loaded already is shared. On [`Backend::Simt`] nothing is loaded, since the kernels are functions of the program.
#[derive(Clone)]
pub struct Module {
    inner: Arc<Loaded>,
}

struct Loaded {
    device: Device,
    set: PtxSet,
    code: Code,
}

/// What a module's functions are found in.
enum Code {
    /// Functions of the program.
    Simt,
    /// A module of the driver.
    Whole(Arc<CudaModule>),
    /// A module of the driver for each kernel; the set has the device's image alone, whose text is unpacked for the first.
    Lazy(Arc<Context>, OnceLock<Cow<'static, str>>),
}

impl Loaded {
    /// What the driver loaded for this kernel; `None` where kernels are functions of the program.
    fn code_of(&self, kernel: &'static str) -> Result<Option<Arc<CudaModule>>> {
        let missing = || Error::MissingKernel { kernel: kernel.to_string(), module: self.set.name.to_string() };
        match &self.code {
            Code::Simt => {
                // Without images there is nothing to look it up in.
                let may_have = self.set.images.is_empty() || kernels_of(&self.set)?.contains(kernel);
                if may_have { Ok(None) } else { Err(missing()) }
            }
            Code::Whole(module) => Ok(Some(Arc::clone(module))),
            Code::Lazy(context, text) => shared(context, &self.set, Some(kernel), || {
                let image = &self.set.images[0];
                let whole = match text.get() {
                    Some(text) => text,
                    None => {
                        let unpacked = text_of(&self.set, image)?;
                        text.get_or_init(|| unpacked)
                    }
                };
                let text = with_entry_alone(whole, kernel).ok_or_else(missing)?;
                load_ptx(context, (&self.set, Some(kernel)), image, &text)
            })
            .map(Some),
        }
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

/// Names of kernels.
type Names = Arc<HashSet<String>>;

/// Names of the kernels in any image of a set; a process unpacks the images for them once.
fn kernels_of(set: &PtxSet) -> Result<Names> {
    static KNOWN: LazyLock<Mutex<HashMap<(usize, usize), Names>>> = LazyLock::new(Mutex::default);
    // Images are there as long as the program, so that no others come to their address.
    let key = (set.images.as_ptr().addr(), set.images.len());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(names) = known.get(&key) {
        return Ok(Arc::clone(names));
    }
    let mut names = HashSet::new();
    for image in set.images {
        names.extend(entries(&text_of(set, image)?).map(str::to_string));
    }
    Ok(Arc::clone(known.entry(key).or_insert(Arc::new(names))))
}

/// What the driver loaded; modules of one set share it.
pub(crate) struct CudaModule {
    handle: Handle,
    set: PtxSet,
    /// Its one kernel, or `None` for all of the set.
    kernel: Option<&'static str>,
    context: Arc<Context>,
    /// Whether launches of its kernels can overlap.
    overlaps: bool,
}

impl Drop for CudaModule {
    fn drop(&mut self) {
        // The code of a dead context goes with the context.
        if self.context.enter().is_ok() {
            // SAFETY: made by `cuModuleLoadDataEx`, unloaded once; functions and graphs hold a reference, so none is left.
            unsafe { driver::cuModuleUnload(self.handle) };
        }
    }
}

impl Module {
    /// Loads `set` on `device`: on a GPU, all of its kernels are compiled now.
    ///
    /// # Errors
    /// * [`Error::PtxMissing`] on a GPU, if the set holds no image: it says why and what to do;
    /// * [`Error::PtxArch`] if no image runs on this device;
    /// * [`Error::PtxVersion`] if the driver is too old for the image;
    /// * [`Error::Module`] with the compiler's words if the driver refuses the PTX;
    /// * [`Error::Unsupported`] on [`Backend::Cpu`].
    pub fn load(device: &Device, set: &PtxSet) -> Result<Self> {
        Self::with_code(device, set, |context| {
            let load = || {
                let image = image_for(context, set)?;
                load_ptx(context, (set, None), image, &text_of(set, image)?)
            };
            Ok((Code::Whole(shared(context, set, None, load)?), *set))
        })
    }

    /// A set whose kernels the driver compiles one at a time, each when [`function`](Self::function) first asks for it: for a large set of which a program uses few. It expects entries that do not
    /// share variables that a kernel writes.
    ///
    /// # Errors
    /// As [`load`](Self::load), but the driver reads no PTX yet: [`Error::PtxVersion`] and [`Error::Module`] come from [`function`](Self::function).
    pub fn lazy(device: &Device, set: &PtxSet) -> Result<Self> {
        Self::with_code(device, set, |context| {
            let images = std::slice::from_ref(image_for(context, set)?);
            Ok((Code::Lazy(Arc::clone(context), OnceLock::new()), PtxSet { images, ..*set }))
        })
    }

    fn with_code(
        device: &Device,
        set: &PtxSet,
        on_gpu: impl FnOnce(&Arc<Context>) -> Result<(Code, PtxSet)>,
    ) -> Result<Self> {
        let (code, set) = match device.context() {
            Some(context) => on_gpu(context)?,
            None if device.backend() == Backend::Cpu => return Err(no_kernels("a module")),
            None => (Code::Simt, *set),
        };
        Ok(Self { inner: Arc::new(Loaded { device: device.clone(), set, code }) })
    }

    /// Name of the set it was loaded from.
    pub fn name(&self) -> &'static str {
        self.inner.set.name
    }

    /// The device it was loaded on.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({} on {})", self.name(), self.device())
    }
}

/// The kernels that may have caused a launch's failure: those being launched and, since the driver may report an earlier
/// failure, those already queued.
pub(crate) fn suspects(queued: &[&'static str], launched: &[&'static str]) -> String {
    let mut names = Vec::new();
    let earlier = if kills_context(driver::last_code()) { queued } else { &[] };
    for name in earlier.iter().chain(launched) {
        add_name(&mut names, name);
    }
    names.join(", ")
}

/// Adds a name unless it is already in the list.
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
        remedy: "kernels run on cuda and simt; on cpu the engines work without them".to_string(),
    }
}

/// The set, or one kernel of it, as it is loaded on the device, or loads it.
fn shared(
    context: &Arc<Context>,
    set: &PtxSet,
    kernel: Option<&'static str>,
    load: impl FnOnce() -> Result<CudaModule>,
) -> Result<Arc<CudaModule>> {
    let found = || {
        let mut modules = context.modules();
        modules.retain(|module| module.strong_count() > 0);
        let is_it = |module: &Arc<CudaModule>| module.kernel == kernel && module.set == *set;
        modules.iter().filter_map(Weak::upgrade).filter_map(|module| module.downcast().ok()).find(is_it)
    };
    if let Some(module) = found() {
        context.enter()?;
        return Ok(module);
    }
    // Without the lock: others may load other sets meanwhile.
    let module = Arc::new(load()?);
    let weak: Weak<CudaModule> = Arc::downgrade(&module);
    context.modules().push(weak);
    Ok(module)
}

/// The image of `set` that the device should run.
fn image_for(context: &Context, set: &PtxSet) -> Result<&'static PtxImage> {
    let name = set.name;
    if set.images.is_empty() {
        let reason = set.missing.unwrap_or("the set was built without architectures");
        return Err(Error::PtxMissing { module: name.to_string(), reason: reason.to_string() });
    }
    let capability = context.info().compute_capability.unwrap_or((0, 0));
    choose_image(set.images, capability).ok_or_else(|| {
        let built_for: Vec<_> = set.images.iter().map(|image| image.arch).collect();
        Error::PtxArch { module: name.to_string(), built_for: built_for.join(", "), capability }
    })
}

/// Passes an image's text, or the text of one of its kernels, to the driver.
fn load_ptx(
    context: &Arc<Context>,
    (set, kernel): (&PtxSet, Option<&'static str>),
    image: &PtxImage,
    text: &str,
) -> Result<CudaModule> {
    let name = match kernel {
        Some(kernel) => format!("{}, kernel {kernel}", set.name),
        None => set.name.to_string(),
    };
    let newest = driver::version().map(driver::ptx_version);
    let needs = declared_version(text);
    let too_new = || {
        let text = |version: Option<(u32, u32)>| match version {
            Some((major, minor)) => format!("{major}.{minor}"),
            None => "an unknown version".to_string(),
        };
        Error::PtxVersion { module: name.to_string(), needs: text(needs), driver: text(newest) }
    };
    let text = CString::new(text).map_err(|_| Error::Module {
        module: name.to_string(),
        code: 0,
        name: "not loaded".to_string(),
        log: "the PTX text holds a zero byte".to_string(),
    })?;

    context.enter()?;
    const LOG_BYTES: usize = 8192;
    let mut log = vec![0u8; LOG_BYTES];
    let mut options = [jit_option::ERROR_LOG_BUFFER, jit_option::ERROR_LOG_BUFFER_BYTES];
    // The driver takes option values of pointer size by value.
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES)];
    let mut handle = Handle::NULL;
    // SAFETY: the text ends with a zero; the log has the length given; both outlive the call; two options, two values.
    let code = unsafe {
        driver::cuModuleLoadDataEx(&mut handle, text.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
    };
    match code {
        0 => Ok(CudaModule { handle, set: *set, kernel, context: Arc::clone(context), overlaps: can_overlap(image) }),
        driver::UNSUPPORTED_PTX_VERSION => Err(too_new()),
        // Older drivers answer the same with "invalid PTX".
        driver::INVALID_PTX if needs > newest => Err(too_new()),
        code => {
            let length = log.iter().position(|&byte| byte == 0).unwrap_or(LOG_BYTES);
            let log = String::from_utf8_lossy(&log[..length]);
            let log = if log.trim().is_empty() { "its compiler gave no message" } else { log.trim() };
            Err(Error::Module { module: name.to_string(), code, name: driver::code_name(code), log: log.to_string() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::test_kernels::{self, fill};

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
        assert!(error.to_string().contains("not supported by the back end cpu"), "{error}");
    }

    #[test]
    fn modules_and_functions_move_between_threads() {
        fn check<T: Send + Sync>() {}
        check::<Module>();
        check::<Function<fill>>();
    }
}
