//! The search's kernels for a game.

#[cfg(not(target_arch = "nvptx64"))]
use super::{
    expand::Evaluations,
    finish::{Found, FoundAction},
    step::Observations,
    tree::{Searched, Trees},
};
#[cfg(not(target_arch = "nvptx64"))]
use crate::ptx::PtxSet;

/// Instantiates the search's kernels for a game that is [`Searched`](crate::azero::search::Searched), in a module of their own.
///
/// `azero_search_kernels!(module, Game, "suffix", PTX)`: as `mcts_kernels!`.
#[macro_export]
macro_rules! azero_search_kernels {
    ($module:ident, $game:ty, $suffix:literal, $ptx:path) => {
        $crate::azero_search_kernel_list! { kernel_instance {
            #[doc = concat!("Kernels of the search of `", stringify!($game), "`.")]
            pub mod $module for $game: $crate::azero::search::SearchKernels {
                const PTX: &'static $crate::ptx::PtxSet = &$ptx;
            }
            #[allow(unused_imports, reason = "names that the game's type may need")]
            use super::*;
            use $crate::azero::search::expand::Evaluations;
            use $crate::azero::search::finish::{self, Found, FoundAction};
            use $crate::azero::search::step::{self, Observations};
            use $crate::azero::search::tree::Trees;
            use $crate::azero::search::{begin, playouts};
            use $crate::cuda::shared_array;
        } $game, $suffix }
    };
}

crate::azero_search_kernel_list! { kernel_family {
    /// The kernels of a game's search, and where they are. Implemented by [`azero_search_kernels!`](crate::azero_search_kernels).
    pub trait SearchKernels: Searched {
        /// The module that holds the kernels.
        const PTX: &'static PtxSet;
    }
    /// The kernels of a game's search, looked up.
    pub struct Kernels;
} Self, "" }

/// The kernels, handed to a macro of [`kernel`](crate::kernel) behind what is given to it.
#[doc(hidden)]
#[macro_export]
macro_rules! azero_search_kernel_list {
    ($then:ident $given:tt $game:ty, $suffix:literal) => {
        $crate::$then! { $given
            /// Makes every tree a root that waits for its evaluation, and writes its observation.
            ///
            /// * Launch: [`begin::shape`], a warp a tree.
            /// * Reads: `roots`, `tasks`.
            /// * Writes: node 0 in `nodes`, `heads`, the first of `leaves`, `leaf_positions` and `paths`; `observations` and `masks` of `out`.
            /// * Shared: none.
            /// * Cost: an observation, by the lanes of a warp.
            /// * Twin: `warpplay_cpu_ref::azero::search::tree::Tree::new`.
            /// * Source: Silver et al. 2018.
            #[kernel(suffix = $suffix, shape = |n_trees: u32| begin::shape(n_trees), max_threads = 32)]
            pub unsafe fn azero_search_begin(trees: Trees<$game>, out: Observations) {
                begin::begin(trees, out)
            }

            /// Mixes Dirichlet noise into the priors of the roots' children.
            ///
            /// * Launch: [`begin::shape`], a warp a tree.
            /// * Reads: `tasks`, `nodes` of the root's children.
            /// * Writes: priors of these `nodes`.
            /// * Shared: none.
            /// * Cost: 2 × ⌈children / 32⌉ gamma numbers a lane.
            /// * Twin: `warpplay_cpu_ref::azero::search::tree::Tree::add_noise`, `warpplay_cpu_ref::azero::search::random::gamma`.
            /// * Source: Silver et al. 2018; OpenSpiel.
            #[kernel(suffix = $suffix, shape = |n_trees: u32| begin::shape(n_trees), max_threads = 32)]
            pub unsafe fn azero_search_noise(trees: Trees<$game>, alpha: f64, epsilon: f32) {
                begin::add_noise(trees, alpha, epsilon)
            }

            /// One step of every tree: the last step's leaves are expanded, their values go up, new leaves are selected, their observations written.
            ///
            /// * Launch: [`step::shape`], a block a tree, a warp a leaf.
            /// * Reads: `values` and `logits` of `evaluations`; `leaves`, `leaf_positions`, `paths`, `nodes`, `positions`, `heads`.
            /// * Writes: `nodes`, `positions`, `leaves`, `leaf_positions`, `paths`, `heads`; `observations` and `masks` of `out`.
            /// * Shared: 128 bytes: value and faults of each leaf.
            /// * Cost: leaves × (⌈path / 32⌉ + depth × ⌈children / 32⌉) steps of one warp; expansion and observation of a leaf a warp.
            /// * Twin: `warpplay_cpu_ref::azero::search::tree::Tree::receive`, `warpplay_cpu_ref::azero::search::tree::Tree::select`.
            /// * Source: Silver et al. 2018; OpenSpiel's `PUCTValue`.
            #[kernel(
                suffix = $suffix,
                shape = |n_trees: u32, n_warps: u32| step::shape(n_trees, n_warps),
                max_threads = 512
            )]
            pub unsafe fn azero_search_step(
                trees: Trees<$game>,
                evaluations: Evaluations,
                out: Observations,
                c_puct: f32,
                n_leaves: u32,
            ) {
                let scratch = step::Scratch { values: shared_array![f32; 16], faults: shared_array![u32; 16] };
                step::step(trees, evaluations, out, c_puct, n_leaves, scratch)
            }

            /// Plays random games from every leaf that waits; the mean result for the first player is the leaf's value.
            ///
            /// * Launch: [`playouts::shape`], a block a leaf, up to 128 threads.
            /// * Reads: `heads`, `leaves`, `leaf_positions`, `tasks`.
            /// * Writes: `values`.
            /// * Shared: 128 bytes: a sum of each warp; dynamic: the words that a playout of the game asks for, of each thread.
            /// * Cost: ⌈playouts / threads⌉ games + log threads steps a thread.
            /// * Twin: `warpplay_cpu_ref::azero::search::evaluate::playouts`.
            /// * Source: our own: the playouts of tree search in the place of the network.
            #[kernel(
                suffix = $suffix,
                shape = |n_trees: u32| playouts::shape::<$game>(n_trees, row_stride, n_playouts),
                max_threads = 128,
                require = n_playouts < 1 << 16
            )]
            pub unsafe fn azero_search_playouts(
                trees: Trees<$game>,
                #[len(n_trees * row_stride)] values: *mut f32,
                row_stride: u32,
                n_playouts: u32,
            ) {
                playouts::playouts(trees, values, row_stride, n_playouts, shared_array![u32; 32])
            }

            /// Writes what each search found, and chooses a move: the most visited, or one drawn by visits and temperature.
            ///
            /// * Launch: [`finish::shape`], a thread a tree, blocks of 64.
            /// * Reads: `tasks`, `heads`, `nodes` of the root and its children.
            /// * Writes: `found`, `actions`.
            /// * Shared: none.
            /// * Cost: 3 × children steps a thread.
            /// * Twin: `warpplay_cpu_ref::azero::search::tree::Tree::found`, `warpplay_cpu_ref::azero::search::tree::Tree::choose`.
            /// * Source: Silver et al. 2018.
            #[kernel(suffix = $suffix, shape = finish::shape(n_trees), max_threads = 64)]
            pub unsafe fn azero_search_finish(
                trees: Trees<$game>,
                #[len(n_trees)] found: *mut Found,
                #[len(n_trees * <$game as $crate::azero::search::Searched>::MAX_LEGAL)] actions: *mut FoundAction,
                n_trees: u32,
            ) {
                finish::finish(trees, found, actions, n_trees)
            }
        }
    };
}
