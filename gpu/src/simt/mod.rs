//! Runs kernels on the CPU, thread by thread, and reports what a GPU would not forgive.
//!
//! A kernel that misses a barrier or writes beside its buffer may hang on a GPU, or give wrong numbers somewhere else. Here the same source runs without a GPU, and the
//! launch ends with the location of the mistake. It is what `Device::simt()` of the crate `warpplay` runs kernels on.
//!
//! Every thread of a block is a coroutine with a stack of its own. It runs until it comes to a barrier or a warp
//! collective; then the next thread runs, in the order of their indices, until the barrier lets them all go on. Blocks are
//! spread over rayon's threads. The blocks of a cluster, and all blocks of a cooperative launch, live at once on one OS
//! thread.
//!
//! ```text
//! launch -> grid   groups of blocks, taken by OS threads
//!           block  one group: scheduler, and what the hooks see
//!           fibre  coroutines and their stacks, kept between launches
//!           barrier, shared, memory   who waits for whom; shared memory and its shadow; registered buffers
//!           cell, global              what a shadow remembers; the shadow of global memory
//!           banks  turns that shared memory takes to answer, where they are counted
//!           watch  whether a launch goes on, where somebody asks to be asked
//! kernel -> hooks -> block
//! ```
//!
//! A launch ends with a [`Fault`] that names kernel, block, thread and source location when
//! - a barrier or warp collective is not reached by all its threads, or by some at another source location;
//! - an access is not wholly inside a registered buffer ([`memory::register`]) or a declared shared array;
//! - shared memory is read that nobody wrote;
//! - two threads touch the same shared byte with no barrier between, not both only read and not both are atomic
//!   ([`Options::check_races`]);
//! - two threads touch the same global byte without order, not both only read and not both are atomic ([`Options::check_global_races`]);
//! - a thread panics or traps;
//! - its caller stops it ([`watch::asking`]).
//!
//! | item | what it is |
//! | --- | --- |
//! | [`launch`], [`Options`] | runs a kernel; which checks are made, by how many threads |
//! | [`Fault`], [`FaultKind`] | the mistake, with kernel, block, thread and source location |
//! | [`Access`], [`Space`], [`Nearest`], [`UnorderedPair`], [`Wait`], [`Elsewhere`], [`SourceLocation`] | parts of a fault |
//! | [`memory`] | buffers that kernels may touch |
//! | [`banks`] | bank conflicts of shared memory, counted |
//! | [`watch`] | launches that can be stopped |
//! | [`hooks`] | what the device layer calls |
//!
//! # Limits
//! A thread that spins until another one writes something waits for ever, since threads are switched at barriers only. A
//! thread has a stack of 128 KiB; one that overflows it ends the process by its guard page.
//!
//! # Examples
//! ```
//! use warpplay_gpu::kernel::{Kernel, LaunchBounds, ParamDesc};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, FaultKind, Options, hooks};
//!
//! #[derive(Clone, Copy)]
//! struct Lopsided;
//! impl Kernel for Lopsided {
//!     type Params = ();
//!     const NAME: &'static str = "lopsided";
//!     const PARAMS: &'static [ParamDesc] = &[];
//!     const BOUNDS: LaunchBounds = LaunchBounds { max_threads: 0, min_blocks: 0 };
//!     unsafe fn call((): ()) {
//!         if hooks::thread_idx()[0] > 0 {
//!             hooks::sync_threads();
//!         }
//!     }
//! }
//!
//! // SAFETY: the kernel touches no memory.
//! let result = unsafe { simt::launch(Lopsided, LaunchShape::new(1, 64), (), &Options::default()) };
//! let fault = result.unwrap_err();
//! assert!(matches!(fault.kind, FaultKind::DivergentBarrier { .. }));
//! assert!(fault.to_string().contains("thread (0, 0, 0) has returned from the kernel"));
//! ```

pub mod banks;
mod barrier;
mod block;
mod cell;
mod fibre;
mod global;
mod grid;
pub mod hooks;
pub mod memory;
mod report;
mod shared;
#[cfg(test)]
mod tests;
pub mod watch;

pub use report::{Access, Elsewhere, Fault, FaultKind, Nearest, SourceLocation, Space, UnorderedPair, Wait};

use std::sync::OnceLock;

use crate::kernel::Kernel;
use crate::launch::LaunchShape;

/// Maximum number of threads that exist at once: those of a cooperative grid or a cluster. Each needs a stack, and the
/// operating system limits the number of mappings.
pub const MAX_RESIDENT_THREADS: u32 = 16_384;

/// How a launch is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether to detect races on shared memory; default true. Shared memory is faster without it.
    pub check_races: bool,
    /// Whether to detect races on global memory, too; default true only if the environment has `WARPPLAY_SIMT_RACES=global`, since it takes time and 24 times the accessed memory.
    pub check_global_races: bool,
    /// Whether the device has products of warpgroups, as compute capability 9.0 has; default true. Without, each warp multiplies alone, as in images for other devices.
    pub warpgroups: bool,
    /// Maximum number of OS threads that run blocks, including the calling one; `None` for as many as rayon has. With 1,
    /// blocks run one after the other in the order of their index.
    pub threads: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self { check_races: true, check_global_races: global_races(), warpgroups: true, threads: None }
    }
}

/// Whether the environment enables the detection of races on global memory.
fn global_races() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| std::env::var_os("WARPPLAY_SIMT_RACES").is_some_and(|races| races == "global"))
}

/// Parameters on their way to the threads that run blocks.
struct Params<P>(P);

// SAFETY: parameters are plain values (`Copy`). Where they hold pointers, the caller of `launch` vouches for them for every
// thread of the grid.
unsafe impl<P: Copy> Send for Params<P> {}
// SAFETY: as above.
unsafe impl<P: Copy> Sync for Params<P> {}

impl<P: Copy> Params<P> {
    fn get(&self) -> P {
        self.0
    }
}

/// Runs a kernel on the CPU and returns when all its blocks have ended.
///
/// # Errors
/// The first [`Fault`], by block. A refused launch ([`FaultKind::Shape`]) has run nothing; after any other fault buffers
/// hold what was written before it.
///
/// # Safety
/// The kernel's own contract: `params` must be what it expects, and pointers among them must be good for its accesses,
/// from any thread, until `launch` returns. Accesses through [`hooks`] are checked; others are not.
pub unsafe fn launch<K: Kernel>(
    kernel: K,
    shape: LaunchShape,
    params: K::Params,
    options: &Options,
) -> Result<(), Fault> {
    let _ = kernel;
    check(&shape, K::BOUNDS.max_threads).map_err(|message| Fault {
        kernel: K::NAME,
        block: [0; 3],
        thread: [0; 3],
        kind: FaultKind::Shape { message },
    })?;
    block::install_panic_hook();
    let params = Params(params);
    let plan = block::Plan {
        kernel: K::NAME,
        shape,
        sizes: barrier::Sizes {
            block: shape.n_threads(),
            cluster: shape.cluster,
            group: if shape.cooperative { shape.n_blocks() as u32 } else { shape.cluster },
        },
        check_races: options.check_races || options.check_global_races,
        global: options.check_global_races.then(global::Global::default),
        banks: banks::counters(),
        warpgroups: options.warpgroups,
        buffers: memory::snapshot(),
        // SAFETY: the caller keeps the kernel's contract, and `body` is called by simulated threads only.
        body: Box::new(move || unsafe { K::call(params.get()) }),
    };
    grid::run(plan, options.threads)
}

/// Checks a shape against what devices allow.
fn check(shape: &LaunchShape, max_threads: u32) -> Result<(), String> {
    if block::is_inside() {
        return Err("a kernel cannot launch kernels".to_owned());
    }
    let triple = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    let within = |size: [u32; 3], most: [u32; 3]| (size.iter().zip(most)).all(|(&n, most)| (1..=most).contains(&n));
    if !within(shape.grid, [i32::MAX as u32, 65_535, 65_535]) {
        return Err(format!(
            "grid {} is not possible (1 to 2147483647 blocks in x, 1 to 65535 in y and z)",
            triple(shape.grid)
        ));
    }
    if !within(shape.block, [1024, 1024, 64]) || shape.n_threads() > 1024 {
        return Err(format!("block {} is not possible (1 to 1024 threads, at most 64 in z)", triple(shape.block)));
    }
    let n_threads = shape.n_threads();
    if max_threads != 0 && n_threads > max_threads {
        return Err(format!("blocks of {n_threads} threads exceed the kernel's launch bounds (at most {max_threads})"));
    }
    if shape.shared_bytes > shared::LIMIT {
        return Err(format!(
            "{} bytes of dynamic shared memory are too many (at most {})",
            shape.shared_bytes,
            shared::LIMIT
        ));
    }
    if !(1..=16).contains(&shape.cluster) || !shape.grid[0].is_multiple_of(shape.cluster) {
        return Err(format!(
            "clusters of {} blocks do not fit a grid of {} blocks in x (1 to 16, a divisor of the grid's x)",
            shape.cluster, shape.grid[0]
        ));
    }
    // Grids of nearly 2^63 blocks are within the limits above.
    let resident = if shape.cooperative {
        shape.n_blocks().checked_mul(u64::from(n_threads))
    } else {
        Some(u64::from(shape.cluster) * u64::from(n_threads))
    };
    if resident.is_none_or(|n| n > u64::from(MAX_RESIDENT_THREADS)) {
        return Err(format!(
            "{} blocks of {n_threads} threads are too many to live at once on the CPU (at most {MAX_RESIDENT_THREADS} threads)",
            if shape.cooperative { shape.n_blocks() } else { u64::from(shape.cluster) }
        ));
    }
    Ok(())
}
