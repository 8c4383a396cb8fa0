//! Barriers and fences: a thread waits until others have come as far as it.
//!
//! What one thread writes, another may read only behind a barrier that both have reached. [`sync_threads`] is the block's; others are those of a warp, a cluster and a grid. All
//! threads that a barrier is for must reach it at the same place in the source; `simt` reports a barrier that some of them miss.
//!
//! ```
//! use warpplay_gpu::cuda::{kernel, memory, shared_array, sync, thread};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Each thread writes what its neighbour has.
//! ///
//! /// # Safety
//! /// Launched as one block of 32 threads; `seen` holds a value for each.
//! #[kernel]
//! pub unsafe fn look_right(seen: *mut u32) {
//!     let own = thread::thread_idx_x();
//!     let shown = shared_array![u32; 32];
//!     shown.set(own, 10 * own);
//!     sync::sync_threads(); // now every value is there
//!     // SAFETY: own < 32, and no other thread has it.
//!     unsafe { memory::store(seen, own as usize, shown.get((own + 1) % 32)) };
//! }
//!
//! let mut seen = [0u32; 32];
//! let _registered = register(seen.as_mut_ptr() as usize, size_of_val(&seen));
//! // SAFETY: one block of 32 threads, a value each.
//! unsafe { simt::launch(look_right, LaunchShape::new(1, 32), (seen.as_mut_ptr(),), &simt::Options::default()) }.expect("no rule is broken");
//! assert_eq!((seen[0], seen[31]), (10, 0));
//! ```
//!
//! | function | who waits |
//! | --- | --- |
//! | [`sync_threads`] | all threads of the block |
//! | [`sync_some`] | some warps of it, by a numbered barrier |
//! | [`sync_warp`], [`whole_warp`] | lanes of the warp; the whole of it, as a [`WholeWarp`] for what needs one |
//! | [`warp_step`] | nobody on the device; where the lanes of a warp go on together, for counts of bank conflicts |
//! | [`sync_cluster`] | all threads of the cluster |
//! | [`sync_grid`] | all threads of a cooperative launch |
//! | [`follow`] | all threads of the launch, for the launches before it |
//! | [`fence_grid`] | nobody: orders the thread's writes before its later ones, for the grid |
//!
//! Barriers of threads go through LLVM's intrinsics, never through `asm!`: the compiler must know that they are convergent
//! (see `docs/safety.md`).

#[cfg(not(target_arch = "nvptx64"))]
use crate::simt::hooks;

#[cfg(target_arch = "nvptx64")]
mod nvvm {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.bar.warp.sync"]
        pub fn bar_warp_sync(mask: i32);
        #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.count"]
        pub fn barrier_of(barrier: i32, threads: i32);
        #[link_name = "llvm.nvvm.membar.gl"]
        pub fn membar_gl();
        #[cfg(target_feature = "sm_90")]
        #[link_name = "llvm.nvvm.barrier.cluster.arrive.aligned"]
        pub fn cluster_arrive();
        #[cfg(target_feature = "sm_90")]
        #[link_name = "llvm.nvvm.barrier.cluster.wait.aligned"]
        pub fn cluster_wait();
    }
}

/// Waits until every thread of the block is here, and orders their memory accesses.
///
/// Every thread of the block must call it, the same number of times.
#[device_inline]
#[track_caller]
pub fn sync_threads() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier touches no memory; the documentation requires all threads to arrive, and a violation stalls or faults.
    unsafe {
        core::arch::nvptx::_syncthreads()
    };
    #[cfg(not(target_arch = "nvptx64"))]
    hooks::sync_threads();
}

/// Waits until `threads` threads of the block, a multiple of 32, are at barrier `barrier` (1 to 15), and orders their memory accesses.
///
/// Whole warps must call it, always the same ones between two barriers of the block. Under `simt` every thread of the block must take part: those that do not wait on the
/// device call [`sync_simt`](super::ring::sync_simt) instead.
#[device_inline]
pub fn sync_some(barrier: u32, threads: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as `sync_threads`, for those threads.
    unsafe {
        nvvm::barrier_of(barrier as i32, threads as i32)
    };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (barrier, threads);
        super::ring::sync_simt();
    }
}

/// Waits until every lane of `mask` is here, and orders their memory accesses.
#[device_inline]
#[track_caller]
pub fn sync_warp(mask: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as `sync_threads`, for the lanes of `mask`.
    unsafe {
        nvvm::bar_warp_sync(mask as i32)
    };
    #[cfg(not(target_arch = "nvptx64"))]
    hooks::sync_warp(mask);
}

/// A token which shows that all 32 lanes of the warp reached one point of the program together. Products of tensor cores require it.
///
/// It proves nothing about code that only some of the lanes run: using it there gives meaningless results, or waits for ever.
#[derive(Debug)]
pub struct WholeWarp(core::marker::PhantomData<*mut ()>);

impl WholeWarp {
    /// The token without a wait.
    ///
    /// # Safety
    /// All 32 lanes of the warp are here together, and run what the token is lent to together.
    #[device_inline]
    pub const unsafe fn assume() -> Self {
        Self(core::marker::PhantomData)
    }
}

/// Waits until all 32 lanes of the warp are here ([`sync_warp`]), for their next collective operation.
#[device_inline]
#[track_caller]
pub fn whole_warp() -> WholeWarp {
    sync_warp(super::warp::ALL);
    WholeWarp(core::marker::PhantomData)
}

/// A mark that all lanes of the warp pass equally often, such as the start of a loop iteration. It has no effect on the device or on a kernel's results; if [bank conflicts
/// are counted](crate::simt::banks), accesses before and after it are different requests.
#[device_inline]
pub fn warp_step() {
    #[cfg(not(target_arch = "nvptx64"))]
    hooks::warp_step();
}

/// Waits until every thread of the cluster is here, and orders their memory accesses. Architectures before `sm_90` trap.
#[device_inline]
#[track_caller]
pub fn sync_cluster() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
    // SAFETY: as `sync_threads`, for the cluster.
    unsafe {
        nvvm::cluster_arrive();
        nvvm::cluster_wait();
    };
    #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
    super::trap();
    #[cfg(not(target_arch = "nvptx64"))]
    hooks::sync_cluster();
}

/// Lets the next launch start where its shape overlaps ([`LaunchShape::overlapping`](crate::launch::LaunchShape::overlapping)), and waits until the launches before this one have ended and what they wrote can be seen.
///
/// A kernel whose shape overlaps calls it with all threads before it reads or writes memory that other launches use. Before `sm_90`, and under `simt`, launches do not overlap.
#[device_inline]
pub fn follow() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
    // SAFETY: both only order launches; memory is not accessed across them.
    unsafe {
        core::arch::asm!("griddepcontrol.launch_dependents; griddepcontrol.wait;", options(nostack, preserves_flags))
    };
}

/// Makes this thread's earlier writes to global memory visible to the grid before its later ones.
#[device_inline]
pub fn fence_grid() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a fence touches no memory.
    unsafe {
        nvvm::membar_gl()
    };
}

/// Waits until every block of a cooperative launch is here, and orders their accesses to global memory.
///
/// `arrivals` counts blocks: one `u32` of global memory, 0 at the launch, used by nothing else. Every block adds one and waits for the
/// round to be complete; the counter is never reset, so it serves 2³² / blocks barriers.
///
/// # Safety
/// The launch is cooperative, `arrivals` is valid for the grid, and every thread of the grid calls this the same number of times.
#[device_inline]
#[track_caller]
pub unsafe fn sync_grid(arrivals: *mut u32) {
    #[cfg(target_arch = "nvptx64")]
    {
        use core::sync::atomic::{AtomicU32, Ordering};

        use super::thread;

        sync_threads();
        if thread::thread_idx_x() == 0 && thread::thread_idx_y() == 0 && thread::thread_idx_z() == 0 {
            // SAFETY: the caller vouches for `arrivals`.
            let arrivals = unsafe { AtomicU32::from_ptr(arrivals) };
            let blocks = thread::grid_dim_x() * thread::grid_dim_y() * thread::grid_dim_z();
            fence_grid();
            let before = arrivals.fetch_add(1, Ordering::Relaxed);
            // The round is over when the counter has passed the next multiple of the number of blocks.
            let target = (before / blocks + 1) * blocks;
            while (arrivals.load(Ordering::Relaxed).wrapping_sub(target) as i32) < 0 {}
            fence_grid();
        }
        sync_threads();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = arrivals;
        hooks::sync_grid();
    }
}
