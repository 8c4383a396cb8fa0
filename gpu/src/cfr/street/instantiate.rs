//! The kernels for each way to store numbers, and for two kinds of passes.

#[cfg(not(target_arch = "nvptx64"))]
use super::{
    layout::{Pass, Task},
    numbers::{F32, I16},
    pass::{Passes, Where},
};

/// The kernels, handed to a macro of [`kernel`](crate::kernel) after what is given to it. `min_blocks = 1`: without it `ptxas` may take so few
/// registers that a multiprocessor has room for a second block, and spill a kilobyte.
macro_rules! list {
    ($then:ident $given:tt $numbers:ty, $plain:literal, $suffix:literal) => {
        crate::$then! { $given
            /// A pass down a street that is not the last: averages of the traverser; reach of both seats for the next street.
            ///
            /// * Launch: [`shape`](crate::cfr::street::shape), a block or more a board and entry, games along y, up to 384 threads.
            /// * Reads: `streets`, `programs`, `ops`, `boards`; `reach` of the street before; `regrets`, or what the pass plays by.
            /// * Writes: `averages` of the traverser; `reach` for the next street.
            /// * Shared: dynamic: vectors of hands in the slots that the programs address, and the sums of the evaluations.
            /// * Cost: operations of the block's programs × ⌈hands / threads of all its blocks⌉ steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::vector::pass::Pass::values`.
            /// * Source: Zinkevich et al. 2007; Johanson et al. 2011 (public tree); the partition is ours.
            #[kernel(
                suffix = $suffix,
                shape = |n_subtrees: u32, stride: u32| crate::cfr::street::shape(n_subtrees, at.n_parts, at.n_games, stride, at.n_shared),
                max_threads = MAX_THREADS,
                min_blocks = 1,
                require = stride > 0 && at.n_parts > 0
            )]
            pub unsafe fn cfr_street_down(task: Task, at: Where, pass: Pass) {
                go_down::<$numbers, $plain>(&task, at, if $plain { learning(pass.traverser) } else { pass })
            }

            /// A pass up a street that is not the last: values, and what the traverser learns.
            ///
            /// * Launch: [`shape`](crate::cfr::street::shape), a block or more a board and entry, games along y, up to 384 threads.
            /// * Reads: as the pass down; `records`, `evals`; `reach`, where [`cfr_street_return`](crate::cfr::street::returns::cfr_street_return) has put the next street's values.
            /// * Writes: `values`; `regrets`, `last` and `kept` of the traverser; `utilities`.
            /// * Shared: dynamic: vectors of hands in the slots that the programs address, and the sums of the evaluations.
            /// * Cost: operations of the block's programs × ⌈hands / threads⌉ steps a thread downwards, ⌈hands / threads of all its blocks⌉ upwards, three barriers a segment.
            /// * Twin: `warpplay_cpu_ref::cfr::vector::pass::Pass::values`.
            /// * Source: Zinkevich et al. 2007; Johanson et al. 2011 (prefix sums at the showdown); the partition is ours.
            #[kernel(
                suffix = $suffix,
                shape = |n_subtrees: u32, stride: u32| crate::cfr::street::shape(n_subtrees, at.n_parts, at.n_games, stride, at.n_shared),
                max_threads = MAX_THREADS,
                min_blocks = 1,
                require = stride > 0 && at.n_parts > 0
            )]
            pub unsafe fn cfr_street_up(task: Task, at: Where, pass: Pass) {
                go_up_once::<$numbers, $plain, false>(&task, at, pass)
            }

            /// A pass down and up the last street.
            ///
            /// * Launch: [`shape`](crate::cfr::street::shape), a block a board and entry, games along y, up to 384 threads.
            /// * Reads: as the passes down and up, but nothing of a next street; `steps`, `inverse_priors`.
            /// * Writes: `values`; `regrets`, `last`, `kept` of the traverser; `averages`: of the opponent in plain passes, of the traverser in others; `utilities`. With `mode::AVERAGE` only `averages` of the opponent.
            /// * Shared: dynamic: vectors of hands in the slots that the programs address, and the sums of the evaluations.
            /// * Cost: operations of the block's programs × ⌈hands / threads⌉ steps a thread, three barriers a segment.
            /// * Twin: `warpplay_cpu_ref::cfr::vector::pass::Pass::values`.
            /// * Source: Zinkevich et al. 2007; Johanson et al. 2011 (prefix sums at the showdown); the partition is ours.
            #[kernel(
                suffix = $suffix,
                shape = |n_subtrees: u32, stride: u32| crate::cfr::street::shape(n_subtrees, at.n_parts, at.n_games, stride, at.n_shared),
                max_threads = MAX_THREADS,
                min_blocks = 1,
                require = stride > 0 && at.n_parts > 0
            )]
            pub unsafe fn cfr_street_last(task: Task, at: Where, pass: Pass) {
                go_up_once::<$numbers, $plain, true>(&task, at, pass)
            }

            /// Iterations of games of one street, whose boards know nothing of each other.
            ///
            /// * Launch: [`shape`](crate::cfr::street::shape), a block a board and entry, games along y, up to 384 threads.
            /// * Reads: as the pass of a last street; `steps`, and one more after the last.
            /// * Writes: `averages`, `regrets` and `last` of both seats; `utilities`.
            /// * Shared: dynamic: vectors of hands in the slots that the programs address, and the sums of the evaluations.
            /// * Cost: iterations × passes × operations of the block's programs × ⌈hands / threads⌉ steps a thread, three barriers a segment.
            /// * Twin: `warpplay_cpu_ref::cfr::vector::solver::Solver::iterate`.
            /// * Source: Zinkevich et al. 2007; Johanson et al. 2011 (prefix sums at the showdown); the partition is ours.
            #[kernel(
                suffix = $suffix,
                shape = |n_subtrees: u32, stride: u32| crate::cfr::street::shape(n_subtrees, at.n_parts, at.n_games, stride, at.n_shared),
                max_threads = MAX_THREADS,
                min_blocks = 1,
                require = stride > 0 && at.n_parts > 0
            )]
            pub unsafe fn cfr_street_solve(task: Task, at: Where, passes: Passes) {
                solve::<$numbers, $plain>(&task, at, &passes)
            }
        }
    };
}

list! { kernel_family {
    /// The kernels of a storage precision; for any passes, or for those that [`is_plain`](Pass::is_plain) says.
    pub trait StreetKernels: Sized {}
    /// The kernels of a storage precision and kind of passes, looked up.
    pub struct PassKernels;
    for F32, I16, Any<F32>, Any<I16>
} (), true, "" }

/// A storage precision, for any passes.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Any<N>(core::marker::PhantomData<N>);

/// Names that the instances need.
mod names {
    pub(super) use crate::cfr::street::MAX_THREADS;
    pub(super) use crate::cfr::street::layout::{Pass, Task};
    pub(super) use crate::cfr::street::numbers::{F32, I16};
    pub(super) use crate::cfr::street::pass::{Passes, Where, go_down, go_up_once, learning, solve};
}

list! { kernel_instance {
    /// The kernels that store `f32`, for plain passes.
    pub mod single for F32: StreetKernels {}
    use super::names::*;
} F32, true, "f32" }

list! { kernel_instance {
    /// The kernels that store 16-bit numbers, for plain passes.
    pub mod short for I16: StreetKernels {}
    use super::names::*;
} I16, true, "i16" }

list! { kernel_instance {
    /// The kernels that store `f32`, for any passes.
    pub mod any_single for Any<F32>: StreetKernels {}
    use super::names::*;
} F32, false, "any_f32" }

list! { kernel_instance {
    /// The kernels that store 16-bit numbers, for any passes.
    pub mod any_short for Any<I16>: StreetKernels {}
    use super::names::*;
} I16, false, "any_i16" }
