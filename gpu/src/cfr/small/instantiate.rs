//! The kernels in single and in double precision.

#[cfg(not(target_arch = "nvptx64"))]
use super::Task;
#[cfg(not(target_arch = "nvptx64"))]
use crate::cfr::regret::Real;

/// The kernels, handed to a macro of [`kernel`](crate::kernel) behind what is given to it.
macro_rules! list {
    ($then:ident $given:tt $real:ty, $suffix:literal) => {
        crate::$then! { $given
            /// Runs `task.n_iterations` iterations of every game. The bits are the same however iterations are split over launches.
            ///
            /// * Launch: [`shape`](crate::cfr::small::shape), a block a game, up to 512 threads.
            /// * Reads: `games`, `chunks`, `words`, `reals`, `state`, `utilities`, `steps`; `boards` and `hands`, where something is drawn.
            /// * Writes: `state`, `utilities`.
            /// * Shared: dynamic: a whole game: values, reaches, both seats' tables, and the plan.
            /// * Cost: in an iteration, for each seat: ⌈items / threads⌉ steps of each phase, and 3 barriers + one for each own decision in a row.
            /// * Twin: `warpplay_cpu_ref::cfr::vector::solver::Solver::iterate`.
            /// * Source: Zinkevich et al. 2007; Johanson et al. 2011 (public tree); Johanson et al. 2012 (sampling); a game in a block is ours.
            #[kernel(
                suffix = $suffix,
                shape = |n_games: u32, largest_phase: u32, shared_bytes: u32| crate::cfr::small::shape(n_games, largest_phase, shared_bytes),
                max_threads = MAX_THREADS,
                min_blocks = 1
            )]
            pub unsafe fn cfr_small_solve(task: Task<$real>) {
                solve(task)
            }
        }
    };
}

list! { kernel_family {
    /// The kernels of a precision.
    pub trait SmallKernels: Real {}
    /// The kernels of a precision, looked up.
    pub struct RealKernels;
    for f32, f64
} Self, "" }

/// Names that the instances need.
mod names {
    pub(super) use crate::cfr::small::{MAX_THREADS, Task, solve};
}

list! { kernel_instance {
    /// The kernels in single precision.
    pub mod single for f32: SmallKernels {}
    use super::names::*;
} f32, "f32" }

list! { kernel_instance {
    /// The kernels in double precision.
    pub mod double for f64: SmallKernels {}
    use super::names::*;
} f64, "f64" }
