//! A driver's library that stands for one that is old, damaged or the toolkit's stub: it shows one GPU, opens it, gives memory that is none, and compiles nothing.
//!
//! Built by the tests of `driver.rs` with `rustc --crate-type cdylib`, as `libcuda.so.1`. `FAKE_DRIVER_INIT` is what `cuInit` answers; with `--cfg without_context` an entry is missing.
#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

/// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`.
const UNSUPPORTED_PTX_VERSION: c_int = 222;
/// `CUDA_ERROR_INVALID_VALUE`.
const INVALID_VALUE: c_int = 1;
/// CUDA 11.4, whose compiler takes PTX up to 7.4.
const VERSION: c_int = 11040;
const MEMORY: usize = 8 << 30;

/// Writes what a call answers with.
///
/// # Safety
/// `to` is valid for a write.
unsafe fn put<T>(to: *mut T, value: T) -> c_int {
    // SAFETY: the caller's.
    unsafe { to.write(value) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> c_int {
    std::env::var("FAKE_DRIVER_INIT").map_or(0, |code| code.parse().expect("a number"))
}

/// # Safety
/// Of this and of all below: as the driver's function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    // SAFETY: the caller's, as in all below.
    unsafe { put(version, VERSION) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    unsafe { put(count, 1) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int {
    unsafe { put(device, ordinal) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, _len: c_int, _device: c_int) -> c_int {
    let text = c"A GPU of old";
    unsafe { name.copy_from_nonoverlapping(text.as_ptr(), text.count_bytes() + 1) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) -> c_int {
    unsafe { put(bytes, MEMORY) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _device: c_int) -> c_int {
    let answer = match attribute {
        // Threads of a block, its sides and those of a grid.
        1..=3 => 1024,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65_535,
        // Shared memory of a block, of a multiprocessor, of a block that asks for it.
        8 => 48 << 10,
        81 => 228 << 10,
        97 => 227 << 10,
        16 => 132,
        38 => 50 << 20,
        39 => 2048,
        // The capability of an H200.
        75 => 9,
        76 => 0,
        82 => 65_536,
        95 => 1,
        // What came later is not known.
        _ => return INVALID_VALUE,
    };
    unsafe { put(value, answer) }
}

#[cfg(not(without_context))]
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, _device: c_int) -> c_int {
    unsafe { put(context, std::ptr::dangling_mut()) }
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: c_int) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(_context: *mut c_void) -> c_int {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreate(stream: *mut *mut c_void, _flags: c_uint) -> c_int {
    unsafe { put(stream, std::ptr::dangling_mut()) }
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(_stream: *mut c_void) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(_stream: *mut c_void) -> c_int {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int {
    unsafe { put(free, MEMORY) + put(total, MEMORY) }
}

/// Addresses that nobody follows.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> c_int {
    static NEXT: AtomicU64 = AtomicU64::new(1 << 40);
    unsafe { put(address, NEXT.fetch_add((bytes as u64).next_multiple_of(256), Ordering::Relaxed)) }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(_address: u64) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoDAsync_v2(_to: u64, _from: *const c_void, _bytes: usize, _stream: *mut c_void) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8Async(_to: u64, _value: u8, _bytes: usize, _stream: *mut c_void) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadData(_module: *mut *mut c_void, _image: *const c_void) -> c_int {
    UNSUPPORTED_PTX_VERSION
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadDataEx(
    _module: *mut *mut c_void,
    _image: *const c_void,
    _n_options: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
) -> c_int {
    UNSUPPORTED_PTX_VERSION
}
