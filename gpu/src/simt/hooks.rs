//! What the device layer calls on the host: the simulated thread's view of its launch.
//!
//! A function of [`cuda`](crate::cuda) has two bodies, and the host's asks here: which thread am I, is this address mine, wait with the others. Who writes a new device
//! function needs these; a kernel does not call them itself.
//!
//! ```
//! use warpplay_gpu::cuda::kernel;
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, FaultKind, hooks};
//!
//! /// Ends in thread 5.
//! ///
//! /// # Safety
//! /// None: it touches no memory.
//! #[kernel]
//! pub unsafe fn stumble() {
//!     if hooks::thread_idx() == [5, 0, 0] {
//!         hooks::trap();
//!     }
//! }
//!
//! // SAFETY: the kernel touches no memory.
//! let fault = unsafe { simt::launch(stumble, LaunchShape::new(1, 32), (), &simt::Options::default()) }.unwrap_err();
//! assert_eq!(fault.thread, [5, 0, 0]);
//! assert!(matches!(fault.kind, FaultKind::Trap { .. }));
//! ```
//!
//! | hooks | what for |
//! | --- | --- |
//! | [`thread_idx`], [`block_idx`], [`block_dim`], [`grid_dim`], [`lane`], [`cluster_shape`] | indices and sizes |
//! | [`sync_threads`], [`sync_warp`], [`sync_cluster`], [`sync_grid`], [`warp_step`] | barriers |
//! | [`collective`] | values of all lanes of a warp |
//! | [`check_global`] | an access to global memory, before it is made |
//! | [`shared_static`], [`shared_dynamic`], [`shared_read`], [`shared_write`], [`shared_update`] | shared memory, and that of other blocks of the cluster |
//! | [`trap`], [`globaltimer`] | the end of a thread; the clock |
//!
//! Every function here belongs inside a launch.
//!
//! # Panics
//! All functions but [`globaltimer`] panic when they are called outside a launch. Inside one, a broken rule ends the
//! calling simulated thread by unwinding and the launch returns the [`Fault`](super::Fault). While a thread unwinds, its
//! destructors may call hooks; these then do nothing.

use std::panic::Location;
use std::sync::OnceLock;
use std::time::Instant;

use super::barrier::Values;
use super::block::current;
use super::report::{Access, FaultKind, Wait};

/// Index of the thread in its block.
#[inline]
pub fn thread_idx() -> [u32; 3] {
    current().cursor.get().thread_idx
}

/// Index of the block in the grid.
#[inline]
pub fn block_idx() -> [u32; 3] {
    current().cursor.get().block_idx
}

/// Threads of a block in x, y, z.
#[inline]
pub fn block_dim() -> [u32; 3] {
    current().plan().shape.block
}

/// Blocks of the grid in x, y, z.
#[inline]
pub fn grid_dim() -> [u32; 3] {
    current().plan().shape.grid
}

/// Lane in the warp: the thread's number in its block, x first, modulo 32.
#[inline]
pub fn lane() -> u32 {
    current().cursor.get().in_block % 32
}

/// Waits for all threads of the block.
#[track_caller]
pub fn sync_threads() {
    current().barrier(Wait::Block, Location::caller());
}

/// Waits for the lanes of `mask`; lanes that a last, partial warp does not have are ignored.
#[track_caller]
pub fn sync_warp(mask: u32) {
    gather(mask, &[0], |_| ());
}

/// Informs the count of bank conflicts that all lanes of the warp pass here equally often; it does not wait.
pub fn warp_step() {
    current().warp_step();
}

/// Waits for all threads of the grid; cooperative launches only.
#[track_caller]
pub fn sync_grid() {
    let runner = current();
    if runner.plan().shape.cooperative {
        runner.barrier(Wait::Grid, Location::caller());
    } else {
        let message = format!("sync_grid at {} needs a cooperative launch", Location::caller());
        runner.fail(FaultKind::Shape { message });
    }
}

/// Waits for all threads of the cluster; without clusters each block is one.
#[track_caller]
pub fn sync_cluster() {
    current().barrier(Wait::Cluster, Location::caller());
}

/// Rank of the block in its cluster, and the number of blocks of a cluster.
pub fn cluster_shape() -> (u32, u32) {
    let runner = current();
    let cluster = runner.plan().sizes.cluster;
    (runner.cursor.get().block % cluster, cluster)
}

/// Whether the launch is one of a device with products of warpgroups.
pub(crate) fn has_warpgroups() -> bool {
    current().plan().warpgroups
}

/// Each lane of `mask` deposits a value and receives the values of all lanes, by lane; 0 for lanes outside the mask.
///
/// Votes and matches are built on it.
#[track_caller]
pub fn collective(mask: u32, value: u64) -> [u64; 32] {
    gather(mask, &[value], |lanes| lanes[0]).unwrap_or([0; 32])
}

/// As [`collective`], of several values at once, of which the lane takes what it needs; `None` while the thread is stopped.
#[track_caller]
pub(crate) fn gather<R>(mask: u32, values: &[u64], take: impl FnOnce(&[[u64; 32]]) -> R) -> Option<R> {
    current().collective(mask, values, Location::caller(), |_, _| {}, |all| take(&all.deposited))
}

/// As [`gather`], but one lane computes for all of them: `compute` gets what all have deposited, and makes `own.len()` results for each lane, one lane behind the other. `own` becomes those of this lane.
#[track_caller]
pub(crate) fn compute_together(
    mask: u32,
    values: &[u64],
    own: &mut [u64],
    compute: impl FnOnce(&[[u64; 32]], &mut [u64]),
) {
    let (runner, n) = (current(), own.len());
    let at = n * lane() as usize;
    let compute_all = |deposited: &[[u64; 32]], computed: &mut Vec<u64>| {
        computed.resize(32 * n, 0);
        compute(deposited, computed);
    };
    let take = |all: &Values| own.copy_from_slice(&all.computed[at..at + n]);
    runner.collective(mask, values, Location::caller(), compute_all, take);
}

/// Checks that `bytes` bytes at `address` lie in one registered buffer and, if enabled, that no other thread accesses them without order.
#[inline]
#[track_caller]
pub fn check_global(address: usize, bytes: usize, access: Access) {
    current().check_global(address, bytes, access, Location::caller());
}

/// Checks that the byte at `address` lies in a registered buffer. A prefetch reads no value, so it needs no order with writes.
#[inline]
#[track_caller]
pub fn check_prefetch(address: usize) {
    current().check_global_bounds(address, 1, false, Location::caller());
}

/// Address of the static shared array `name` of `bytes` bytes; the same in every block of a cluster.
#[track_caller]
pub fn shared_static(name: &'static str, bytes: u32) -> u32 {
    current().declare(name, bytes, Location::caller())
}

/// Address and size in bytes of the dynamic shared memory.
#[track_caller]
pub fn shared_dynamic() -> (u32, u32) {
    current().dynamic()
}

/// Reads shared memory of the block.
#[track_caller]
pub fn shared_read(address: u32, out: &mut [u8]) {
    let runner = current();
    let owner = runner.cursor.get().block;
    let location = Location::caller();
    runner.shared(owner, address, out.len(), Access::Read, location, |bytes| {
        out.copy_from_slice(bytes);
    });
}

/// Writes shared memory of the block.
#[track_caller]
pub fn shared_write(address: u32, bytes: &[u8]) {
    let runner = current();
    let owner = runner.cursor.get().block;
    let location = Location::caller();
    runner.shared(owner, address, bytes.len(), Access::Write, location, |to| {
        to.copy_from_slice(bytes);
    });
}

/// Updates shared memory of the block atomically. Updates race with plain accesses, but not with one another.
///
/// `f` receives the bytes and must not call hooks; it is not called if the access is refused.
#[track_caller]
pub fn shared_update(address: u32, bytes: u32, f: &mut dyn FnMut(&mut [u8])) {
    let runner = current();
    let owner = runner.cursor.get().block;
    let location = Location::caller();
    runner.shared(owner, address, bytes as usize, Access::Update, location, f);
}

/// Reads shared memory of the block with `rank` in the cluster.
#[track_caller]
pub fn cluster_shared_read(rank: u32, address: u32, out: &mut [u8]) {
    let runner = current();
    let location = Location::caller();
    if let Some(owner) = runner.cluster_block(rank, location) {
        runner.shared(owner, address, out.len(), Access::Read, location, |bytes| {
            out.copy_from_slice(bytes);
        });
    }
}

/// Writes shared memory of the block with `rank` in the cluster.
#[track_caller]
pub fn cluster_shared_write(rank: u32, address: u32, bytes: &[u8]) {
    let runner = current();
    let location = Location::caller();
    if let Some(owner) = runner.cluster_block(rank, location) {
        runner.shared(owner, address, bytes.len(), Access::Write, location, |to| {
            to.copy_from_slice(bytes);
        });
    }
}

/// Nanoseconds since some moment before the first call; never decreases.
pub fn globaltimer() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Ends the launch with [`FaultKind::Trap`].
#[track_caller]
pub fn trap() -> ! {
    let message = format!("trap, at {}", Location::caller());
    current().fail(FaultKind::Trap { message });
    // Reached only in a destructor of a thread that unwinds already; there is nothing to return to.
    panic!("trap while a simulated thread unwinds")
}
