//! The device layer: what a kernel may ask of the hardware.
//!
//! A kernel names threads, shares memory, waits and adds through these functions, one hardware notion a module. Each has two bodies: on the device it is an instruction or an LLVM
//! intrinsic, on the host it has the same meaning for the current thread of [`simt`](crate::simt), which checks it.
//!
//! ```
//! use warpplay_gpu::cuda::{block, kernel, memory, shared_array, thread};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Writes the sum of the squares of the threads' indices: a block of 64.
//! ///
//! /// # Safety
//! /// Launched as one block of 64 threads; `sum` holds a value.
//! #[kernel]
//! pub unsafe fn sum_of_squares(sum: *mut u32) {
//!     let own = thread::thread_idx_x();
//!     let total = block::sum(own * own, shared_array![u32; 2]); // a value for each of two warps
//!     if own == 0 {
//!         // SAFETY: the one value, and one thread writes it.
//!         unsafe { memory::store(sum, 0, total) };
//!     }
//! }
//!
//! let mut sum = [0u32];
//! let _registered = register(sum.as_mut_ptr() as usize, size_of_val(&sum));
//! // SAFETY: one block of 64 threads, and room for a value.
//! unsafe { simt::launch(sum_of_squares, LaunchShape::new(1, 64), (sum.as_mut_ptr(),), &simt::Options::default()) }.expect("no rule is broken");
//! assert_eq!(sum, [(0..64).map(|i| i * i).sum()]);
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`thread`] | indices of threads, blocks, lanes; the one bounds guard; a thread's part of a range |
//! | [`sync`] | barriers of a block, a warp, a cluster, a grid; fences |
//! | [`shared`] | shared memory, static ([`shared_array!`]) and dynamic |
//! | [`warp`] | shuffles, votes, matches and reductions of a warp |
//! | [`block`] | reductions of a block: sum, maximum, arg-max |
//! | [`atomic`] | atomic operations on global and shared memory |
//! | [`view`] | global memory for safe kernels: slices, an element a thread |
//! | [`memory`] | checked loads and stores, 16-byte vectors, `cp.async` |
//! | [`math`] | exact and approximate arithmetic |
//! | [`mma`] | tensor cores: products of a warp, their number formats |
//! | [`wgmma`] | tensor cores driven by four warps, second operand from shared memory |
//! | [`mailbox`] | values sent to other blocks of a cluster, counted at the receiver |
//! | [`marked`] | values sent through global memory whose lowest bit says the round |
//! | [`numbered`] | values sent through global memory with their round's number beside them |
//! | [`ring`] | blocks of memory copied into shared memory ahead of their use, for a cluster at once |
//! | [`tensor_map`] | rectangles of a matrix, copied into shared memory by one instruction |
//! | [`time`] | the nanosecond clock |

pub mod atomic;
pub mod block;
pub mod mailbox;
pub mod marked;
pub mod math;
pub mod memory;
pub mod mma;
pub mod numbered;
pub mod ring;
pub mod shared;
pub mod sync;
pub mod tensor_map;
pub mod thread;
pub mod time;
mod vec4;
pub mod view;
pub mod warp;
pub mod wgmma;

#[doc(hidden)]
pub use warpplay_gpu_macros::kernel_type;
pub use warpplay_gpu_macros::{DeviceArgs, device_inline, kernel, shared_array};

/// Ends the kernel with a fault that the host sees as a failed launch. The context is then unusable.
#[device_inline]
pub fn trap() -> ! {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: `trap` only ends the grid.
    unsafe {
        core::arch::nvptx::trap()
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::simt::hooks::trap()
}
