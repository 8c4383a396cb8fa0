//! Poker with one hole card each, one suit and no board, for up to eight players and eight cards, over **all** deals in every iteration.
//!
//! A pass of one seat: terminals over all deals by a recurrence over sets of holders ([`terminals`]), values level by level upwards with regrets, averages and the
//! next strategy at the seat's own nodes, and the seat's new reaches ([`nodes`]).
//!
//! The recurrence over subsets is that of permanents. Ryser (1963) has the inclusion and exclusion; this is the plain sum, since all terms are positive and nothing may
//! cancel.

pub mod layout;
pub mod nodes;
pub mod terminals;

use layout::Tables;

use crate::cuda::kernel;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::{KernelInfo, info};

macro_rules! kernels {
    ($($type:ty: $terminals:ident, $strategy:ident, $reach:ident, $values:ident, $finish:ident;)*) => {$(
        /// Values of all terminals for `seat`.
        ///
        /// * Launch: [`terminals::shape`], two threads a terminal, blocks of 128.
        /// * Reads: `terminals`, `rows`, `payoffs`, `reach`.
        /// * Writes: `values` of the terminals.
        /// * Shared: dynamic: 128 numbers a thread; 65,536 bytes in f32, 131,072 in f64.
        /// * Cost: 448 + 64 products a thread.
        /// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Pass::value`, `warpplay_cpu_ref::cfr::poker::showdown::payoffs`.
        /// * Source: our own: a recurrence over sets of holders, as for permanents (Ryser 1963 has the inclusion and exclusion).
        ///
        /// # Safety
        /// Launched with [`terminals::shape`]; the tables are complete, with the other seats' reaches.
        #[kernel(max_threads = terminals::BLOCK, min_blocks = 1)]
        pub unsafe fn $terminals(tables: Tables<$type>, seat: u32) {
            // SAFETY: the contract.
            unsafe { terminals::terminals(tables, seat) }
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
        ///
        /// # Safety
        /// Launched with [`nodes::shape`]; the tables are complete, last regrets too where `predicts` is 1.
        #[kernel(max_threads = nodes::BLOCK)]
        pub unsafe fn $strategy(tables: Tables<$type>, from: u32, n: u32, averages: u32, predicts: u32) {
            // SAFETY: the contract.
            unsafe { nodes::strategy(tables, from, n, averages, predicts) }
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
        ///
        /// # Safety
        /// Launched with [`nodes::shape`]; the tables are complete, with the seat's strategies.
        #[kernel(max_threads = nodes::BLOCK)]
        pub unsafe fn $reach(tables: Tables<$type>, from: u32, n: u32) {
            // SAFETY: the contract.
            unsafe { nodes::reach(tables, from, n) }
        }

        /// Values of the `n` nodes from `first` on, which are of one level, for `seat`; `what` is one of [`layout::mode`].
        ///
        /// * Launch: [`nodes::shape`], a thread a node and card, blocks of 256.
        /// * Reads: `nodes`, `values` of the children, `strategy`, `reach`, `steps`.
        /// * Writes: `values`; at the seat's own nodes `regrets`, `last`, `averages` and `strategy`, as `what` says.
        /// * Shared: none.
        /// * Cost: 1 to 4 × children steps a thread.
        /// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Solver::pass`, `warpplay_cpu_ref::cfr::tree::best_response::BestResponse::best_action`.
        /// * Source: Zinkevich et al. 2007.
        ///
        /// # Safety
        /// Launched with [`nodes::shape`]; the values of terminals and of the level below are there, last regrets too where `predicts` is 1.
        #[kernel(max_threads = nodes::BLOCK)]
        pub unsafe fn $values(tables: Tables<$type>, first: u32, n: u32, seat: u32, what: u32, predicts: u32) {
            // SAFETY: the contract.
            unsafe { nodes::values(tables, first, n, seat, what, predicts) }
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
        ///
        /// # Safety
        /// Launched with [`nodes::finish_shape`]; the root's value is there, and `sum` is one of the sums.
        #[kernel]
        pub unsafe fn $finish(tables: Tables<$type>, sum: u32, replaces: u32, advances: u32) {
            // SAFETY: the contract.
            unsafe { nodes::finish(tables, sum, replaces, advances) }
        }
    )*

        /// All kernels of the module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub fn kernels() -> Vec<KernelInfo> {
            vec![$(info::<$terminals>(), info::<$strategy>(), info::<$reach>(), info::<$values>(), info::<$finish>()),*]
        }
    };
}

kernels! {
    f32: cfr_subset_terminals_f32, cfr_subset_strategy_f32, cfr_subset_reach_f32, cfr_subset_values_f32, cfr_subset_finish_f32;
    f64: cfr_subset_terminals_f64, cfr_subset_strategy_f64, cfr_subset_reach_f64, cfr_subset_values_f64, cfr_subset_finish_f64;
}
