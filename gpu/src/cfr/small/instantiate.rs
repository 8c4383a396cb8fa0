//! The kernels of this crate's own module.

use super::{MAX_THREADS, Task, measure, solve};
use crate::cuda::kernel;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::{KernelInfo, info};

macro_rules! kernels {
    ($($type:ident: $solve:ident;)*) => {$(
        /// Runs `task.n_iterations` iterations of every game. The bits are the same however iterations are split over launches.
        ///
        /// * Launch: [`shape`](super::shape), a block a game, up to 512 threads.
        /// * Reads: `games`, `chunks`, `words`, `reals`, `state`, `utilities`, `steps`; `boards` and `hands`, where something is drawn.
        /// * Writes: `state`, `utilities`.
        /// * Shared: dynamic: a whole game: values, reaches, both seats' tables, and the plan.
        /// * Cost: in an iteration, for each seat: ⌈items / threads⌉ steps of each phase, and 3 barriers + one for each own decision in a row.
        /// * Twin: `warpplay_cpu_ref::cfr::vector::solver::Solver::iterate`.
        /// * Source: Zinkevich et al. 2007; Johanson et al. 2011 (public tree); Johanson et al. 2012 (sampling); a game in a block is ours.
        ///
        /// # Safety
        /// Launched with [`shape`](super::shape) for the games and their shared memory; all arrays hold what the games and the plan say, and `steps` one for each
        /// iteration, at least one.
        #[kernel(max_threads = MAX_THREADS, min_blocks = 1)]
        pub unsafe fn $solve(task: Task<$type>) {
            // SAFETY: the contract.
            unsafe { solve(task) }
        }
    )*};
}

kernels! {
    f32: cfr_small_solve_f32;
    f64: cfr_small_solve_f64;
}

/// Values and best responses against the averages, in chips: `utilities` gets `[game, seat, value or best response]`. In double precision whatever was solved
/// in: a best response's gain is a small difference.
///
/// * Launch: [`shape`](super::shape), a block a game, up to 512 threads.
/// * Reads: `games`, `chunks`, `words`, `reals`, `state`.
/// * Writes: `utilities`.
/// * Shared: dynamic: a whole game: values, reaches, both seats' tables, and the plan.
/// * Cost: four passes: for each seat its value and its best response.
/// * Twin: `warpplay_cpu_ref::cfr::vector::solver::Solver::values`, `warpplay_cpu_ref::cfr::vector::solver::Solver::best_responses`.
/// * Source: Johanson et al. 2011; a game in a block is ours.
///
/// # Safety
/// As the kernels that solve; `utilities` has twice as many values.
#[kernel(max_threads = MAX_THREADS, min_blocks = 1)]
pub unsafe fn cfr_small_measure_f64(task: Task<f64>) {
    // SAFETY: the contract.
    unsafe { measure(task) }
}

/// All kernels of the module.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<KernelInfo> {
    vec![info::<cfr_small_solve_f32>(), info::<cfr_small_solve_f64>(), info::<cfr_small_measure_f64>()]
}
