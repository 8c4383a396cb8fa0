//! The kernels in single and in double precision, for some numbers of seats.

#[cfg(not(target_arch = "nvptx64"))]
use super::walk::Walk;
#[cfg(not(target_arch = "nvptx64"))]
use crate::cfr::regret::Real;

/// The kernels, handed to a macro of [`kernel`](crate::kernel) behind what is given to it.
macro_rules! list {
    ($then:ident $given:tt $real:ty, $suffix:literal) => {
        seats! { $then $given $real, $suffix; 2 cfr_walk_2, 3 cfr_walk_3, 5 cfr_walk_5, 8 cfr_walk_8, 10 cfr_walk_10 }
    };
}

/// The same kernel for each number of seats.
macro_rules! seats {
    ($then:ident $given:tt $real:ty, $suffix:literal; $($n_players:literal $name:ident),+) => {
        crate::$then! { $given $(
            /// Walks the pieces of a stage; for games of at most as many seats as the name says.
            ///
            /// * Launch: [`shape`](crate::cfr::walk::walk::shape), a warp a piece of the stage.
            /// * Reads: `ops`, `pieces`, `buckets`, `links`, `beats`, `changes`, `regrets`; `values` of earlier pieces.
            /// * Writes: `regrets` and `averages` of the piece's sequences, `values` of the piece; at the root `sums` and `next`.
            /// * Shared: dynamic: reach, strategy and values of the sequences above the one at hand, for each lane.
            /// * Cost: operations of the piece, the same for 32 deals.
            /// * Twin: `warpplay_cpu_ref::cfr::sampled::recursive::Walk::values`.
            /// * Source: Reis 2015, sections 3.1.3 and 4.2 (depth first, one deal); 32 deals side by side are ours.
            #[kernel(
                suffix = $suffix,
                shape = |n_pieces: u32| crate::cfr::walk::walk::shape(n_pieces, task.depth, $n_players, size_of::<$real>() as u32),
                max_threads = 32,
                require = task.n_players <= $n_players
            )]
            pub unsafe fn $name(task: Walk<$real>) {
                const { assert!($n_players <= MAX_PLAYERS) };
                walk::<$real, $n_players>(task)
            }
        )+ }
    };
}

list! { kernel_family {
    /// The kernels of a precision.
    pub trait WalkKernels: Real {}
    /// The kernels of a precision, looked up.
    pub struct RealKernels;
    for f32, f64
} Self, "" }

/// Names that the instances need.
mod names {
    pub(super) use crate::cfr::beats::MAX_PLAYERS;
    pub(super) use crate::cfr::walk::walk::{Walk, walk};
}

list! { kernel_instance {
    /// The kernels in single precision.
    pub mod single for f32: WalkKernels {}
    use super::names::*;
} f32, "f32" }

list! { kernel_instance {
    /// The kernels in double precision.
    pub mod double for f64: WalkKernels {}
    use super::names::*;
} f64, "f64" }
