//! The CUDA driver's entry points, bound when they are first used.
//!
//! A program that names the driver's functions as symbols for the linker can neither be built without the CUDA toolkit nor started without the driver. Here each entry is
//! a small function of our own that looks its namesake up in `libcuda.so.1` once, and passes the call on. No symbol of the driver is defined or wanted, so that whatever else
//! in the process uses it, linked or loaded, is not disturbed. Where there is no driver an entry answers [`NO_DEVICE`], where it lacks the entry [`NOT_FOUND`], and the
//! library reports both as ordinary errors.
//!
//! Every entry returns the driver's result code as an integer: newer drivers have codes that no list here knows. The last one of a thread that was not 0 is kept for [`last_code`].
//!
//! Enums are integers here: same size and calling convention as the driver's header.

mod types;

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use std::sync::OnceLock;

use libloading::Library;

pub(crate) use types::{
    AccessPolicyWindow, CAPTURE_MODE_RELAXED, Copy2D, DEFAULT, Handle, LIMIT_PERSISTING_L2_CACHE_SIZE, LaunchAttribute,
    LaunchConfig, MEM_HOST_ALLOC_PORTABLE, STREAM_ACCESS_POLICY_WINDOW, StreamAttribute, device_attribute,
    function_attribute, jit_option,
};

#[cfg(feature = "shogi")]
pub(crate) use types::{IPC_LAZY_PEER_ACCESS, IpcHandle};

/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) const OUT_OF_MEMORY: c_int = 2;
/// `CUDA_ERROR_STUB_LIBRARY`: the toolkit's stand-in was found in place of the driver.
pub(crate) const STUB_LIBRARY: c_int = 34;
/// `CUDA_ERROR_NO_DEVICE`: also our answer where there is no driver.
pub(crate) const NO_DEVICE: c_int = 100;
/// `CUDA_ERROR_INVALID_PTX`.
pub(crate) const INVALID_PTX: c_int = 218;
/// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`.
pub(crate) const UNSUPPORTED_PTX_VERSION: c_int = 222;
/// `CUDA_ERROR_NOT_FOUND`: also our answer where the driver is too old to have the entry point.
pub(crate) const NOT_FOUND: c_int = 500;

/// File names of the driver's library, tried in order.
pub(crate) const LIBRARY_NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    // The third is where the Windows subsystem for Linux keeps it.
    &["libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1"]
};

/// The driver's library, or why it could not be loaded.
///
/// It is loaded once and never unloaded: the addresses taken from it must stay valid.
fn library() -> Result<&'static Library, &'static str> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| {
            // The names tried, with the reason that they failed for.
            let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
            for name in LIBRARY_NAMES {
                // SAFETY: loading the NVIDIA driver runs its initialisers, which every CUDA program relies on.
                let error = match unsafe { Library::new(*name) } {
                    Ok(library) => return Ok(library),
                    Err(error) => reason(name, &error),
                };
                match reasons.iter_mut().find(|(reason, _)| *reason == error) {
                    Some((_, names)) => names.push(name),
                    None => reasons.push((error, vec![name])),
                }
            }
            let texts = reasons.into_iter().map(|(reason, names)| format!("{}: {reason}", names.join(", ")));
            Err(texts.collect::<Vec<_>>().join("; "))
        })
        .as_ref()
        .map_err(String::as_str)
}

/// The loader's message about a library, without the name that it repeats.
fn reason(name: &str, error: &libloading::Error) -> String {
    let source = std::error::Error::source(error).map(|source| source.to_string());
    let text = source.unwrap_or_else(|| error.to_string());
    text.strip_prefix(name).map_or(text.as_str(), |rest| rest.trim_start_matches([':', ' '])).to_string()
}

/// Why the driver could not be loaded; `None` where it was.
pub(crate) fn load_failure() -> Option<&'static str> {
    library().err()
}

/// One entry point and the address found for it.
struct Entry {
    name: &'static str,
    address: OnceLock<Result<usize, c_int>>,
}

impl Entry {
    const fn new(name: &'static str) -> Self {
        Self { name, address: OnceLock::new() }
    }

    /// The address, or the code that a call returns in its place.
    fn address(&self) -> Result<usize, c_int> {
        *self.address.get_or_init(|| {
            let library = library().map_err(|_| NO_DEVICE)?;
            // SAFETY: the symbol is only taken as an address here; the caller gives it the driver's signature.
            let symbol = unsafe { library.get::<*const c_void>(self.name.as_bytes()) };
            symbol.map(|symbol| *symbol as usize).map_err(|_| NOT_FOUND)
        })
    }
}

thread_local! {
    static LAST_CODE: Cell<c_int> = const { Cell::new(0) };
}

/// The code of this thread's last call that did not succeed, as the driver gave it.
pub(crate) fn last_code() -> c_int {
    LAST_CODE.get()
}

/// Keeps a failure for [`last_code`].
fn returned(code: c_int) -> c_int {
    if code != 0 {
        LAST_CODE.set(code);
    }
    code
}

/// Functions of the driver with their C signatures.
macro_rules! entries {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => { $(
        #[doc = concat!("`", stringify!($name), "` of the driver.")]
        ///
        /// # Safety
        /// The contract of the driver's function.
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub(crate) unsafe fn $name($($argument: $type),*) -> c_int {
            static ENTRY: Entry = Entry::new(stringify!($name));
            match ENTRY.address() {
                Ok(address) => {
                    // SAFETY: the address is that of the driver's function of this name, whose C signature this is.
                    let function = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> c_int>(address) };
                    // SAFETY: the caller keeps the contract of the driver's function; the arguments pass unchanged.
                    returned(unsafe { function($($argument),*) })
                }
                Err(code) => returned(code),
            }
        }
    )* };
}

entries! {
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuGetErrorName(error: c_int, name: *mut *const c_char);

    fn cuDeviceGet(device: *mut c_int, ordinal: c_int);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: c_int);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int);
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int);
    fn cuDevicePrimaryCtxRelease_v2(device: c_int);
    fn cuCtxSetCurrent(context: Handle);
    fn cuCtxGetDevice(device: *mut c_int);
    fn cuCtxSetLimit(limit: c_int, value: usize);
    fn cuCtxResetPersistingL2Cache();

    fn cuModuleLoadDataEx(module: *mut Handle, image: *const c_void, n_options: c_uint, options: *mut c_int, values: *mut *mut c_void);
    fn cuModuleUnload(module: Handle);
    fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char);
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle);
    fn cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, function: Handle, threads: c_int, dynamic_shared_bytes: usize);
    fn cuOccupancyMaxActiveClusters(clusters: *mut c_int, function: Handle, config: *const LaunchConfig);

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize);
    fn cuMemFree_v2(address: u64);
    fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemFreeHost(address: *mut c_void);
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: Handle);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: Handle);
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle);
    fn cuMemcpy2DAsync_v2(copy: *const Copy2D, stream: Handle);
    fn cuMemsetD8Async(address: u64, value: c_uchar, bytes: usize, stream: Handle);

    fn cuStreamCreate(stream: *mut Handle, flags: c_uint);
    fn cuStreamSynchronize(stream: Handle);
    fn cuStreamDestroy_v2(stream: Handle);
    fn cuStreamSetAttribute(stream: Handle, attribute: c_int, value: *const StreamAttribute);
    fn cuStreamBeginCapture_v2(stream: Handle, mode: c_int);
    fn cuStreamEndCapture(stream: Handle, graph: *mut Handle);
    fn cuEventCreate(event: *mut Handle, flags: c_uint);
    fn cuEventRecord(event: Handle, stream: Handle);
    fn cuEventSynchronize(event: Handle);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle);
    fn cuEventDestroy_v2(event: Handle);

    fn cuLaunchKernel(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    fn cuLaunchCooperativeKernel(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: Handle, parameters: *mut *mut c_void);
    fn cuLaunchKernelEx(config: *const LaunchConfig, function: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    fn cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, flags: u64);
    fn cuGraphLaunch(executable: Handle, stream: Handle);
    fn cuGraphExecDestroy(executable: Handle);
    fn cuGraphDestroy(graph: Handle);
}

#[cfg(feature = "tile")]
entries! {
    fn cuTensorMapEncodeTiled(map: *mut c_void, values: c_int, rank: c_uint, address: u64, sizes: *const u64, strides: *const u64, rectangle: *const u32, steps: *const u32, interleave: c_int, swizzle: c_int, promotion: c_int, outside: c_int);
    fn cuTensorMapEncodeIm2col(map: *mut c_void, values: c_int, rank: c_uint, address: u64, sizes: *const u64, strides: *const u64, lower: *const c_int, upper: *const c_int, channels: c_uint, pixels: c_uint, steps: *const u32, interleave: c_int, swizzle: c_int, promotion: c_int, outside: c_int);
}

#[cfg(feature = "shogi")]
entries! {
    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int);
    fn cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, address: u64);
    fn cuIpcGetMemHandle(handle: *mut IpcHandle, address: u64);
    fn cuIpcOpenMemHandle_v2(address: *mut u64, handle: IpcHandle, flags: c_uint);
    fn cuIpcCloseMemHandle(address: u64);
}

/// The driver's name of a result code, as `CUDA_ERROR_ILLEGAL_ADDRESS`.
pub(crate) fn code_name(code: c_int) -> String {
    let mut name = std::ptr::null();
    let before = last_code();
    // SAFETY: the driver writes the address of a constant string of its own.
    let status = unsafe { cuGetErrorName(code, &mut name) };
    LAST_CODE.set(before);
    if status == 0 && !name.is_null() {
        // SAFETY: the driver's string ends with a zero and lives as long as the library, which is never unloaded.
        return unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    }
    match code {
        NO_DEVICE => "CUDA_ERROR_NO_DEVICE".into(),
        NOT_FOUND => "CUDA_ERROR_NOT_FOUND".into(),
        _ => format!("CUDA error {code}"),
    }
}

/// Initialises the driver once for the process; returns the driver's code if that fails.
pub(crate) fn initialise() -> Result<(), c_int> {
    static RESULT: OnceLock<Result<(), c_int>> = OnceLock::new();
    *RESULT.get_or_init(|| {
        // SAFETY: 0 is the only allowed value of the flags.
        match unsafe { cuInit(0) } {
            0 => Ok(()),
            code => Err(code),
        }
    })
}

/// The CUDA version that the driver offers, as (major, minor); `None` without a driver.
pub(crate) fn version() -> Option<(u32, u32)> {
    let mut version = 0;
    // SAFETY: the driver writes one number.
    let code = unsafe { cuDriverGetVersion(&mut version) };
    // 12040 is 12.4.
    u32::try_from(version).ok().filter(|_| code == 0).map(|version| (version / 1000, version % 1000 / 10))
}

/// The newest PTX version that a driver of this CUDA version compiles.
///
/// Source: the table "PTX ISA version, CUDA release" of NVIDIA's PTX reference. For a driver newer than the table this is the
/// newest version of the table, a lower bound.
pub(crate) fn ptx_version(cuda: (u32, u32)) -> (u32, u32) {
    match cuda {
        (13, 0) => (9, 0),
        (13.., _) => (9, 1),
        (12, 9..) => (8, 8),
        (12, 8) => (8, 7),
        (12, 7) => (8, 6),
        (12, 5..=6) => (8, 5),
        (12, minor) => (8, minor),
        (11, minor) => (7, minor.min(8)),
        (10, 2..) => (6, 5),
        (10, 1) => (6, 4),
        (10, 0) => (6, 3),
        _ => (6, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_kept_as_the_driver_gives_them() {
        assert_eq!(returned(912), 912);
        assert_eq!((returned(0), last_code()), (0, 912));
    }

    #[test]
    fn ptx_versions_follow_the_table() {
        assert_eq!(ptx_version((11, 4)), (7, 4));
        assert_eq!(ptx_version((12, 4)), (8, 4));
        assert_eq!(ptx_version((12, 6)), (8, 5));
        assert_eq!(ptx_version((13, 0)), (9, 0));
    }

    #[test]
    fn without_a_driver_every_entry_answers_no_device() {
        if let Some(reason) = load_failure() {
            assert!(reason.contains("libcuda.so.1"), "{reason}");
            // SAFETY: no driver, so nothing is called.
            assert_eq!(unsafe { cuCtxSetCurrent(Handle::NULL) }, NO_DEVICE);
            assert_eq!(initialise(), Err(NO_DEVICE));
            assert_eq!(code_name(NO_DEVICE), "CUDA_ERROR_NO_DEVICE");
        }
    }
}
