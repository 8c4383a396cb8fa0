//! The kernels in single and in double precision.

#[cfg(not(target_arch = "nvptx64"))]
use super::layout::Tables;
#[cfg(not(target_arch = "nvptx64"))]
use crate::cfr::regret::Real;

/// The kernels, handed to a macro of [`kernel`](crate::kernel) behind what is given to it.
macro_rules! list {
    ($then:ident $given:tt $real:ty, $suffix:literal) => {
        crate::$then! { $given
            /// Values of all terminals for `seat`.
            ///
            /// * Launch: [`terminals::shape`], two threads a terminal, blocks of 128.
            /// * Reads: `terminals`, `rows`, `payoffs`, `reach`.
            /// * Writes: `values` of the terminals.
            /// * Shared: dynamic: 128 numbers a thread; 65,536 bytes in f32, 131,072 in f64.
            /// * Cost: 448 + 64 products a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Pass::value`, `warpplay_cpu_ref::cfr::poker::showdown::payoffs`.
            /// * Source: our own: a recurrence over sets of holders, as for permanents (Ryser 1963 has the inclusion and exclusion).
            #[kernel(
                suffix = $suffix,
                shape = terminals::shape(tables.n_terminals, size_of::<$real>() as u32),
                max_threads = terminals::BLOCK,
                min_blocks = 1
            )]
            pub unsafe fn cfr_subset_terminals(tables: Tables<$real>, seat: u32) {
                terminals::terminals(tables, seat)
            }

            /// Strategies of `n` nodes from index `from` of the seats' lists on: from regrets, or from averages where `averages` is 1.
            ///
            /// * Launch: [`nodes::shape`], a thread a node and card, blocks of 256.
            /// * Reads: `own`, `nodes`; `regrets` and `last`, or `averages`.
            /// * Writes: `strategy`.
            /// * Shared: none.
            /// * Cost: 2 × actions steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Solver::renew`, `warpplay_cpu_ref::cfr::tree::profile::Profile::from_weights`.
            /// * Source: Zinkevich et al. 2007 (regret matching).
            #[kernel(suffix = $suffix, shape = nodes::shape(n), max_threads = nodes::BLOCK)]
            pub unsafe fn cfr_subset_strategy(tables: Tables<$real>, from: u32, n: u32, averages: u32, predicts: u32) {
                nodes::strategy(tables, from, n, averages, predicts)
            }

            /// Reaches after the actions of a seat's `n` nodes, the first of which has index `from` in the lists.
            ///
            /// * Launch: [`nodes::shape`], a thread a node and card, blocks of 256.
            /// * Reads: `own`, `nodes`, `strategy`.
            /// * Writes: `reach`.
            /// * Shared: none.
            /// * Cost: own decisions before + actions steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Pass::value`.
            /// * Source: Zinkevich et al. 2007.
            #[kernel(suffix = $suffix, shape = nodes::shape(n), max_threads = nodes::BLOCK)]
            pub unsafe fn cfr_subset_reach(tables: Tables<$real>, from: u32, n: u32) {
                nodes::reach(tables, from, n)
            }

            /// Values of the `n` nodes from `first` on, which are of one level, for `seat`; `what` is one of [`mode`](crate::cfr::subset::layout::mode).
            ///
            /// * Launch: [`nodes::shape`], a thread a node and card, blocks of 256.
            /// * Reads: `nodes`, `values` of the children, `strategy`, `reach`, `steps`.
            /// * Writes: `values`; at the seat's own nodes `regrets`, `last`, `averages` and `strategy`, as `what` says.
            /// * Shared: none.
            /// * Cost: 1 to 4 × children steps a thread.
            /// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Solver::pass`, `warpplay_cpu_ref::cfr::tree::best_response::BestResponse::best_action`.
            /// * Source: Zinkevich et al. 2007.
            #[kernel(suffix = $suffix, shape = nodes::shape(n), max_threads = nodes::BLOCK)]
            pub unsafe fn cfr_subset_values(tables: Tables<$real>, first: u32, n: u32, seat: u32, what: u32, predicts: u32) {
                nodes::values(tables, first, n, seat, what, predicts)
            }

            /// Adds the root's value to number `sum` of the sums, or stores it there where `replaces` is 1; counts an iteration where `advances` is 1.
            ///
            /// * Launch: [`nodes::finish_shape`], one thread.
            /// * Reads: `values` of the root, `sums`.
            /// * Writes: `sums`, `step`.
            /// * Shared: none.
            /// * Cost: a step a card.
            /// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Solver::pass`.
            /// * Source: Zinkevich et al. 2007.
            #[kernel(suffix = $suffix, shape = nodes::finish_shape())]
            pub unsafe fn cfr_subset_finish(tables: Tables<$real>, sum: u32, replaces: u32, advances: u32) {
                nodes::finish(tables, sum, replaces, advances)
            }
        }
    };
}

list! { kernel_family {
    /// The kernels of a precision.
    pub trait SubsetKernels: Real {}
    /// The kernels of a precision, looked up.
    pub struct Kernels;
    for f32, f64
} Self, "" }

/// Names that the instances need.
mod names {
    pub(super) use crate::cfr::subset::layout::Tables;
    pub(super) use crate::cfr::subset::{nodes, terminals};
}

list! { kernel_instance {
    /// The kernels in single precision.
    pub mod single for f32: SubsetKernels {}
    use super::names::*;
} f32, "f32" }

list! { kernel_instance {
    /// The kernels in double precision.
    pub mod double for f64: SubsetKernels {}
    use super::names::*;
} f64, "f64" }
