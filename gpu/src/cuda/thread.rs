//! Who am I: indices of the current thread, its block and its grid.
//!
//! All threads of a launch run the same function, and each finds its part of the work by its indices. [`own_index_below`] and [`index_1d_below`] are the one bounds guard: a
//! grid has whole blocks, so the last one has threads too many. [`strided`] is for threads that take several items.
//!
//! ```
//! use warpplay_gpu::cuda::{kernel, memory, thread};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Writes for each of ten items which of the four threads has taken it.
//! ///
//! /// # Safety
//! /// Launched as one block; `taken_by` holds ten values.
//! #[kernel]
//! pub unsafe fn share_out(taken_by: *mut u32) {
//!     let own = thread::thread_idx_x();
//!     for item in thread::strided(own, 10, thread::block_dim_x()) {
//!         // SAFETY: item < 10, and no other thread takes it.
//!         unsafe { memory::store(taken_by, item as usize, own) };
//!     }
//! }
//!
//! let mut taken_by = [9u32; 10];
//! let _registered = register(taken_by.as_mut_ptr() as usize, size_of_val(&taken_by));
//! // SAFETY: one block, and ten values.
//! unsafe { simt::launch(share_out, LaunchShape::new(1, 4), (taken_by.as_mut_ptr(),), &simt::Options::default()) }.expect("no rule is broken");
//! assert_eq!(taken_by, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]);
//! ```
//!
//! ```text
//! grid    blocks    block_idx_x() 0 .. grid_dim_x()
//! block   threads   thread_idx_x() 0 .. block_dim_x()             global index:  block_idx_x() · block_dim_x() + thread_idx_x()  =  index_1d()
//! warp    32 lanes  lane() = thread_idx_x() % 32, warp_index() = thread_idx_x() / 32, in blocks that extend along x
//! ```
//!
//! | function | what it gives |
//! | --- | --- |
//! | [`own_index_below`], [`OwnIndex`] | the thread's index in the grid, as a proof that no other thread has it |
//! | [`index_1d_below`], [`index_1d`] | the same as a number |
//! | [`thread_idx_x`], [`block_idx_x`], [`block_dim_x`], [`grid_dim_x`], and along y and z | index and size in blocks and grid |
//! | [`lane`], [`warp_index`], [`WARP`] | index in its warp, and which warp |
//! | [`block_rank_in_cluster`] | which block of its cluster |
//! | [`strided`] | a thread's items of a range |

use core::marker::PhantomData;

#[cfg(target_arch = "nvptx64")]
use core::arch::nvptx as ptx;

#[cfg(not(target_arch = "nvptx64"))]
use crate::simt::hooks;

/// Threads of a warp.
pub const WARP: u32 = 32;

/// The index of a thread that no other thread of the launch has. Only [`own_index_below`] makes it, and it cannot be copied to another thread.
#[derive(Debug)]
pub struct OwnIndex(u32, PhantomData<*mut ()>);

impl OwnIndex {
    /// The index as a number.
    #[device_inline]
    pub fn get(&self) -> u32 {
        self.0
    }
}

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident, $intrinsic:ident, $hook:ident[$axis:literal];)*) => {$(
        $(#[$doc])*
        #[device_inline]
        pub fn $name() -> u32 {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: reads a special register.
            unsafe {
                ptx::$intrinsic() as u32
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                hooks::$hook()[$axis]
            }
        }
    )*};
}

index! {
    /// Index of the thread in its block along x.
    thread_idx_x, _thread_idx_x, thread_idx[0];
    /// Index of the thread in its block along y.
    thread_idx_y, _thread_idx_y, thread_idx[1];
    /// Index of the thread in its block along z.
    thread_idx_z, _thread_idx_z, thread_idx[2];
    /// Index of the block in the grid along x.
    block_idx_x, _block_idx_x, block_idx[0];
    /// Index of the block in the grid along y.
    block_idx_y, _block_idx_y, block_idx[1];
    /// Index of the block in the grid along z.
    block_idx_z, _block_idx_z, block_idx[2];
    /// Threads of a block along x.
    block_dim_x, _block_dim_x, block_dim[0];
    /// Threads of a block along y.
    block_dim_y, _block_dim_y, block_dim[1];
    /// Threads of a block along z.
    block_dim_z, _block_dim_z, block_dim[2];
    /// Blocks of the grid along x.
    grid_dim_x, _grid_dim_x, grid_dim[0];
    /// Blocks of the grid along y.
    grid_dim_y, _grid_dim_y, grid_dim[1];
    /// Blocks of the grid along z.
    grid_dim_z, _grid_dim_z, grid_dim[2];
}

/// Rank of the block in its cluster, from 0; 0 without clusters.
#[device_inline]
pub fn block_rank_in_cluster() -> u32 {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
    {
        let rank: u32;
        // SAFETY: reads a special register.
        unsafe {
            core::arch::asm!("mov.u32 {0}, %cluster_ctarank;", out(reg32) rank, options(pure, nomem, nostack, preserves_flags))
        };
        rank
    }
    #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
    {
        0
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        hooks::cluster_shape().0
    }
}

/// Index of the thread in a one-dimensional grid.
#[device_inline]
pub fn index_1d() -> u64 {
    block_idx_x() as u64 * block_dim_x() as u64 + thread_idx_x() as u64
}

/// Index of the thread in a one-dimensional grid if it is below `n`: the one guard of every linear kernel.
#[device_inline]
pub fn index_1d_below(n: u32) -> Option<u32> {
    let index = index_1d();
    (index < n as u64).then_some(index as u32)
}

/// The same for a safe kernel, which uses it to write: threads with a y or z index above 0 get none, so that no two threads have the same index.
#[device_inline]
pub fn own_index_below(n: u32) -> Option<OwnIndex> {
    let is_on_first_line = (block_idx_y() | block_idx_z() | thread_idx_y() | thread_idx_z()) == 0;
    index_1d_below(n).filter(|_| is_on_first_line).map(|index| OwnIndex(index, PhantomData))
}

/// Position of the thread in its warp, for blocks that extend along x.
#[device_inline]
pub fn lane() -> u32 {
    thread_idx_x() % WARP
}

/// Index of the thread's warp in its block, for blocks that extend along x.
#[device_inline]
pub fn warp_index() -> u32 {
    thread_idx_x() / WARP
}

/// The numbers from `first` below `end`, `step` apart: one thread's part of a range, or tiles that all threads process together.
///
/// Each iteration costs one addition and one comparison, unlike `Range::step_by`, which first counts its steps by a division. `step` must not be 0, and `end + step` must
/// fit the type.
///
/// A loop over it, or over a range, compiles to the instructions of a counting `while` loop, but the compiler may unroll it differently, so that registers and speed differ
/// in either direction. Loops of kernels are therefore `for` loops, except where measurements showed a slower kernel or `cargo xtask ptx` shows more spilled registers;
/// those are `while` loops.
///
/// ```
/// use warpplay_gpu::cuda::thread::strided;
/// assert!(strided(3u32, 10, 4).eq([3, 7]));
/// assert!(strided(10u32, 10, 4).eq([]));
/// ```
#[device_inline]
pub fn strided<T>(first: T, end: T, step: T) -> Strided<T> {
    Strided { next: first, end, step }
}

/// The iterator of [`strided`].
#[derive(Clone, Debug)]
pub struct Strided<T> {
    next: T,
    end: T,
    step: T,
}

impl<T: Copy + PartialOrd + core::ops::AddAssign> Iterator for Strided<T> {
    type Item = T;

    #[device_inline]
    fn next(&mut self) -> Option<T> {
        if self.next < self.end {
            let item = self.next;
            self.next += self.step;
            Some(item)
        } else {
            None
        }
    }
}
