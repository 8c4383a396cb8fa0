//! `cargo xtask stub-driver`: a library in the place of the driver's, so that programs with `cust` can be linked and started on a machine without the CUDA toolkit.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// The functions of the driver that `cust` 0.3.2 names as symbols.
const NAMES: &str = "\
cuGetErrorString cuInit cuDriverGetVersion cuDeviceGet cuDeviceGetCount cuDeviceGetName cuDeviceTotalMem_v2 \
cuDeviceGetAttribute cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxSetFlags_v2 \
cuDevicePrimaryCtxReset_v2 cuCtxCreate_v2 cuCtxDestroy_v2 cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuCtxSetCurrent \
cuCtxGetCurrent cuCtxGetDevice cuCtxGetFlags cuCtxSynchronize cuCtxSetLimit cuCtxGetLimit cuCtxGetCacheConfig \
cuCtxSetCacheConfig cuCtxGetSharedMemConfig cuCtxSetSharedMemConfig cuCtxGetApiVersion \
cuCtxGetStreamPriorityRange cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleUnload cuModuleGetFunction \
cuModuleGetGlobal_v2 cuLinkCreate_v2 cuLinkAddData_v2 cuLinkComplete cuLinkDestroy cuMemGetInfo_v2 cuMemAlloc_v2 \
cuMemFree_v2 cuMemAllocHost_v2 cuMemFreeHost cuMemAllocManaged cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemcpyDtoD_v2 \
cuMemcpyHtoA_v2 cuMemcpyAtoH_v2 cuMemcpy2D_v2 cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 \
cuMemsetD8_v2 cuMemsetD16_v2 cuMemsetD32_v2 cuMemsetD8Async cuMemsetD16Async cuMemsetD32Async cuArrayDestroy \
cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuMemFreeAsync cuMemAllocAsync cuMemPrefetchAsync cuMemAdvise \
cuStreamCreateWithPriority cuStreamGetPriority cuStreamGetFlags cuStreamWaitEvent cuStreamSynchronize \
cuStreamDestroy_v2 cuEventCreate cuEventRecord cuEventQuery cuEventSynchronize cuEventDestroy_v2 \
cuEventElapsedTime cuImportExternalMemory cuExternalMemoryGetMappedBuffer cuDestroyExternalMemory \
cuFuncGetAttribute cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuLaunchKernel cuLaunchHostFunc cuGraphCreate \
cuGraphAddKernelNode cuGraphKernelNodeGetParams cuGraphNodeGetType cuGraphGetNodes cuGraphGetEdges cuGraphDestroy \
cuGraphDebugDotPrint cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxPotentialBlockSize \
cuOccupancyAvailableDynamicSMemPerBlock cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc \
cuSurfObjectCreate cuSurfObjectDestroy cuSurfObjectGetResourceDesc";

/// What the driver's functions answer in the toolkit's own stub library, `CUDA_ERROR_STUB_LIBRARY`.
const CODE: i32 = 34;

/// Makes the library; the folder for `CUDA_LIBRARY_PATH`, whose `lib64` is one for `LD_LIBRARY_PATH`.
pub fn make() -> Result<PathBuf> {
    let folder = process::target_dir().join("stub-driver");
    let libraries = folder.join("lib64");
    fs::create_dir_all(&libraries).with_context(|| format!("cannot make {}", libraries.display()))?;
    let source = folder.join("stub.rs");
    let functions = NAMES
        .split_whitespace()
        .map(|name| format!("#[unsafe(no_mangle)]\npub extern \"C\" fn {name}() -> i32 {{\n    {CODE}\n}}\n"));
    let text = format!("#![allow(non_snake_case)]\n{}", functions.collect::<String>());
    fs::write(&source, text).with_context(|| format!("cannot write {}", source.display()))?;
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "-C", "link-arg=-Wl,-soname,libcuda.so.1", "-o"]);
    process::run(rustc.arg(libraries.join("libcuda.so")).arg(&source))?;
    // The name that a program which was linked with it asks for.
    fs::copy(libraries.join("libcuda.so"), libraries.join("libcuda.so.1")).context("libcuda.so.1")?;
    Ok(folder)
}
