//! The CUDA driver's entry points, bound when they are first used.
//!
//! `cust` names the driver's functions as symbols for the linker; linked the usual way, a program could neither be
//! built without the CUDA toolkit nor started without the driver. Here each of these symbols is a small function of
//! our own: it looks its namesake up in `libcuda.so.1` once, and passes the call on. Where there is no driver it
//! answers [`NO_DEVICE`], and the library reports that as an ordinary error.
//!
//! * [`linked!`](self) entries are the ones that `cust` refers to: exported under their own names.
//! * [`own!`](self) entries are newer than `cust` (launches with clusters, graphs, capture) and stay inside this crate.
//!
//! Every entry returns the driver's result code. The enum that `cust` reads it as knows the codes of CUDA 11.4 only,
//! so a newer code is passed on as [`UNKNOWN`]; the code as the driver gave it is kept for [`last_code`].
//!
//! Handles are untyped pointers and enums are integers here: same size and calling convention as the driver's header.

mod types;

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ushort, c_void};
use std::sync::OnceLock;

use libloading::Library;

pub(crate) use types::{
    AccessPolicyWindow, CAPTURE_MODE_RELAXED, Handle, LIMIT_PERSISTING_L2_CACHE_SIZE, LaunchAttribute, LaunchConfig,
    MEM_HOST_ALLOC_PORTABLE, STREAM_ACCESS_POLICY_WINDOW, StreamAttribute, device_attribute, function_attribute,
    jit_option,
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
/// `CUDA_ERROR_UNKNOWN`.
pub(crate) const UNKNOWN: c_int = 999;

/// Names under which the driver is looked for, in order.
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

/// What the loader says of a library, without the name it repeats.
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

    /// The address, or the code that the call is answered with.
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

/// Keeps a failure for [`last_code`] and gives the code in the range that `cust` knows.
fn returned(code: c_int) -> c_int {
    if code != 0 {
        LAST_CODE.set(code);
    }
    if known_to_cust(code) { code } else { UNKNOWN }
}

/// Whether `cust_raw` has a name for the code: it reads the result as an enum, which must not hold any other value.
const fn known_to_cust(code: c_int) -> bool {
    matches!(code,
        0..=8 | 34 | 100..=102 | 200..=202 | 205..=224 | 300..=304 | 400 | 401 | 500 | 600
        | 700..=705 | 708..=720 | 800..=809 | 900..=911 | 999)
}

/// The body that all entries share.
macro_rules! forward {
    ($name:ident($($argument:ident: $type:ty),*)) => {{
        static ENTRY: Entry = Entry::new(stringify!($name));
        match ENTRY.address() {
            Ok(address) => {
                // SAFETY: the address is that of the driver's function of this name, whose C signature this is.
                let function = unsafe {
                    std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> c_int>(address)
                };
                // SAFETY: the caller keeps the contract of the driver's function; the arguments pass unchanged.
                returned(unsafe { function($($argument),*) })
            }
            Err(code) => returned(code),
        }
    }};
}

/// Entries that `cust` refers to by name.
macro_rules! linked {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => { $(
        #[doc = concat!("`", stringify!($name), "` of the driver.")]
        ///
        /// # Safety
        /// The contract of the driver's function.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            forward!($name($($argument: $type),*))
        }
    )* };
}

/// Entries that only this crate calls.
macro_rules! own {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => { $(
        #[doc = concat!("`", stringify!($name), "` of the driver.")]
        ///
        /// # Safety
        /// The contract of the driver's function.
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub(crate) unsafe fn $name($($argument: $type),*) -> c_int {
            forward!($name($($argument: $type),*))
        }
    )* };
}

linked! {
    fn cuGetErrorString(error: c_int, p_str: *mut *const c_char);
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(driver_version: *mut c_int);
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, len: c_int, dev: c_int);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: c_int);
    fn cuDeviceGetAttribute(pi: *mut c_int, attrib: c_int, dev: c_int);
    fn cuDevicePrimaryCtxRetain(pctx: *mut Handle, dev: c_int);
    fn cuDevicePrimaryCtxRelease_v2(dev: c_int);
    fn cuDevicePrimaryCtxSetFlags_v2(dev: c_int, flags: c_uint);
    fn cuDevicePrimaryCtxReset_v2(dev: c_int);
    fn cuCtxCreate_v2(pctx: *mut Handle, flags: c_uint, dev: c_int);
    fn cuCtxDestroy_v2(ctx: Handle);
    fn cuCtxPushCurrent_v2(ctx: Handle);
    fn cuCtxPopCurrent_v2(pctx: *mut Handle);
    fn cuCtxSetCurrent(ctx: Handle);
    fn cuCtxGetCurrent(pctx: *mut Handle);
    fn cuCtxGetDevice(device: *mut c_int);
    fn cuCtxGetFlags(flags: *mut c_uint);
    fn cuCtxSynchronize();
    fn cuCtxSetLimit(limit: c_int, value: usize);
    fn cuCtxGetLimit(pvalue: *mut usize, limit: c_int);
    fn cuCtxGetCacheConfig(pconfig: *mut c_int);
    fn cuCtxSetCacheConfig(config: c_int);
    fn cuCtxGetSharedMemConfig(p_config: *mut c_int);
    fn cuCtxSetSharedMemConfig(config: c_int);
    fn cuCtxGetApiVersion(ctx: Handle, version: *mut c_uint);
    fn cuCtxGetStreamPriorityRange(least_priority: *mut c_int, greatest_priority: *mut c_int);
    fn cuModuleLoad(module: *mut Handle, fname: *const c_char);
    fn cuModuleLoadData(module: *mut Handle, image: *const c_void);
    fn cuModuleLoadDataEx(module: *mut Handle, image: *const c_void, num_options: c_uint, options: *mut c_int, option_values: *mut *mut c_void);
    fn cuModuleUnload(hmod: Handle);
    fn cuModuleGetFunction(hfunc: *mut Handle, hmod: Handle, name: *const c_char);
    fn cuModuleGetGlobal_v2(dptr: *mut u64, bytes: *mut usize, hmod: Handle, name: *const c_char);
    fn cuLinkCreate_v2(num_options: c_uint, options: *mut c_int, option_values: *mut *mut c_void, state_out: *mut Handle);
    fn cuLinkAddData_v2(state: Handle, kind: c_int, data: *mut c_void, size: usize, name: *const c_char, num_options: c_uint, options: *mut c_int, option_values: *mut *mut c_void);
    fn cuLinkComplete(state: Handle, cubin_out: *mut *mut c_void, size_out: *mut usize);
    fn cuLinkDestroy(state: Handle);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAlloc_v2(dptr: *mut u64, bytesize: usize);
    fn cuMemFree_v2(dptr: u64);
    fn cuMemAllocHost_v2(pp: *mut *mut c_void, bytesize: usize);
    fn cuMemFreeHost(p: *mut c_void);
    fn cuMemAllocManaged(dptr: *mut u64, bytesize: usize, flags: c_uint);
    fn cuMemcpyHtoD_v2(dst_device: u64, src_host: *const c_void, byte_count: usize);
    fn cuMemcpyDtoH_v2(dst_host: *mut c_void, src_device: u64, byte_count: usize);
    fn cuMemcpyDtoD_v2(dst_device: u64, src_device: u64, byte_count: usize);
    fn cuMemcpyHtoA_v2(dst_array: Handle, dst_offset: usize, src_host: *const c_void, byte_count: usize);
    fn cuMemcpyAtoH_v2(dst_host: *mut c_void, src_array: Handle, src_offset: usize, byte_count: usize);
    fn cuMemcpy2D_v2(p_copy: *const c_void);
    fn cuMemcpyHtoDAsync_v2(dst_device: u64, src_host: *const c_void, byte_count: usize, h_stream: Handle);
    fn cuMemcpyDtoHAsync_v2(dst_host: *mut c_void, src_device: u64, byte_count: usize, h_stream: Handle);
    fn cuMemcpyDtoDAsync_v2(dst_device: u64, src_device: u64, byte_count: usize, h_stream: Handle);
    fn cuMemsetD8_v2(dst_device: u64, uc: c_uchar, n: usize);
    fn cuMemsetD16_v2(dst_device: u64, us: c_ushort, n: usize);
    fn cuMemsetD32_v2(dst_device: u64, ui: c_uint, n: usize);
    fn cuMemsetD8Async(dst_device: u64, uc: c_uchar, n: usize, h_stream: Handle);
    fn cuMemsetD16Async(dst_device: u64, us: c_ushort, n: usize, h_stream: Handle);
    fn cuMemsetD32Async(dst_device: u64, ui: c_uint, n: usize, h_stream: Handle);
    fn cuArrayDestroy(h_array: Handle);
    fn cuArray3DCreate_v2(p_handle: *mut Handle, p_allocate_array: *const c_void);
    fn cuArray3DGetDescriptor_v2(p_array_descriptor: *mut c_void, h_array: Handle);
    fn cuMemFreeAsync(dptr: u64, h_stream: Handle);
    fn cuMemAllocAsync(dptr: *mut u64, bytesize: usize, h_stream: Handle);
    fn cuMemPrefetchAsync(dev_ptr: u64, count: usize, dst_device: c_int, h_stream: Handle);
    fn cuMemAdvise(dev_ptr: u64, count: usize, advice: c_int, device: c_int);
    fn cuStreamCreateWithPriority(ph_stream: *mut Handle, flags: c_uint, priority: c_int);
    fn cuStreamGetPriority(h_stream: Handle, priority: *mut c_int);
    fn cuStreamGetFlags(h_stream: Handle, flags: *mut c_uint);
    fn cuStreamWaitEvent(h_stream: Handle, h_event: Handle, flags: c_uint);
    fn cuStreamSynchronize(h_stream: Handle);
    fn cuStreamDestroy_v2(h_stream: Handle);
    fn cuEventCreate(ph_event: *mut Handle, flags: c_uint);
    fn cuEventRecord(h_event: Handle, h_stream: Handle);
    fn cuEventQuery(h_event: Handle);
    fn cuEventSynchronize(h_event: Handle);
    fn cuEventDestroy_v2(h_event: Handle);
    fn cuEventElapsedTime(p_milliseconds: *mut f32, h_start: Handle, h_end: Handle);
    fn cuImportExternalMemory(ext_mem_out: *mut Handle, mem_handle_desc: *const c_void);
    fn cuExternalMemoryGetMappedBuffer(dev_ptr: *mut u64, ext_mem: Handle, buffer_desc: *const c_void);
    fn cuDestroyExternalMemory(ext_mem: Handle);
    fn cuFuncGetAttribute(pi: *mut c_int, attrib: c_int, hfunc: Handle);
    fn cuFuncSetCacheConfig(hfunc: Handle, config: c_int);
    fn cuFuncSetSharedMemConfig(hfunc: Handle, config: c_int);
    fn cuLaunchKernel(f: Handle, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint, block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, h_stream: Handle, kernel_params: *mut *mut c_void, extra: *mut *mut c_void);
    fn cuLaunchHostFunc(h_stream: Handle, function: *const c_void, user_data: *mut c_void);
    fn cuGraphCreate(ph_graph: *mut Handle, flags: c_uint);
    fn cuGraphAddKernelNode(ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize, node_params: *const c_void);
    fn cuGraphKernelNodeGetParams(h_node: Handle, node_params: *mut c_void);
    fn cuGraphNodeGetType(h_node: Handle, kind: *mut c_int);
    fn cuGraphGetNodes(h_graph: Handle, nodes: *mut Handle, num_nodes: *mut usize);
    fn cuGraphGetEdges(h_graph: Handle, from: *mut Handle, to: *mut Handle, num_edges: *mut usize);
    fn cuGraphDestroy(h_graph: Handle);
    fn cuGraphDebugDotPrint(h_graph: Handle, path: *const c_char, flags: c_uint);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(num_blocks: *mut c_int, func: Handle, block_size: c_int, dynamic_smem_size: usize);
    fn cuOccupancyMaxPotentialBlockSize(min_grid_size: *mut c_int, block_size: *mut c_int, func: Handle, block_size_to_dynamic_smem_size: *const c_void, dynamic_smem_size: usize, block_size_limit: c_int);
    fn cuOccupancyAvailableDynamicSMemPerBlock(dynamic_smem_size: *mut usize, func: Handle, num_blocks: c_int, block_size: c_int);
    fn cuTexObjectCreate(p_tex_object: *mut u64, p_res_desc: *const c_void, p_tex_desc: *const c_void, p_res_view_desc: *const c_void);
    fn cuTexObjectDestroy(tex_object: u64);
    fn cuTexObjectGetResourceDesc(p_res_desc: *mut c_void, tex_object: u64);
    fn cuSurfObjectCreate(p_surf_object: *mut u64, p_res_desc: *const c_void);
    fn cuSurfObjectDestroy(surf_object: u64);
    fn cuSurfObjectGetResourceDesc(p_res_desc: *mut c_void, surf_object: u64);
}

own! {
    fn cuGetErrorName(error: c_int, name: *mut *const c_char);
    fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int);
    fn cuLaunchCooperativeKernel(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: Handle, parameters: *mut *mut c_void);
    fn cuLaunchKernelEx(config: *const LaunchConfig, function: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    fn cuOccupancyMaxActiveClusters(clusters: *mut c_int, function: Handle, config: *const LaunchConfig);
    fn cuStreamBeginCapture_v2(stream: Handle, mode: c_int);
    fn cuStreamEndCapture(stream: Handle, graph: *mut Handle);
    fn cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, flags: u64);
    fn cuGraphLaunch(executable: Handle, stream: Handle);
    fn cuGraphExecDestroy(executable: Handle);
    fn cuStreamSetAttribute(stream: Handle, attribute: c_int, value: *const StreamAttribute);
    fn cuCtxResetPersistingL2Cache();
}

#[cfg(feature = "shogi")]
own! {
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

/// Initialises the driver once for the process; the code if that fails.
pub(crate) fn initialise() -> Result<(), c_int> {
    static RESULT: OnceLock<Result<(), c_int>> = OnceLock::new();
    *RESULT.get_or_init(|| cust::init(cust::CudaFlags::empty()).map_err(|_| last_code()))
}

/// The CUDA version that the driver offers, as (major, minor); `None` without a driver.
pub(crate) fn version() -> Option<(u32, u32)> {
    let version = cust::CudaApiVersion::get().ok()?;
    Some((version.major() as u32, version.minor() as u32))
}

/// The newest PTX version that a driver of this CUDA version compiles.
///
/// Source: the table "PTX ISA version, CUDA release" of NVIDIA's PTX reference. A driver newer than the table gets
/// the newest version of the table, so it is a lower bound there.
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
    fn codes_that_cust_does_not_know_become_unknown() {
        assert_eq!(returned(0), 0);
        assert_eq!(returned(700), 700);
        assert_eq!(returned(912), UNKNOWN);
        assert_eq!(last_code(), 912);
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
            assert_eq!(unsafe { cuCtxSynchronize() }, NO_DEVICE);
            assert_eq!(initialise(), Err(NO_DEVICE));
            assert_eq!(code_name(NO_DEVICE), "CUDA_ERROR_NO_DEVICE");
        }
    }
}
