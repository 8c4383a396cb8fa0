//! Kernels of one game: [`mcts_kernels!`](crate::mcts_kernels) instantiates them, [`KernelSet`] names them to the host.

#[cfg(not(target_arch = "nvptx64"))]
use super::{
    game::Game,
    reduce::RootAction,
    rng::Stream,
    tree::{PlayoutCounts, Trees},
};
#[cfg(not(target_arch = "nvptx64"))]
use crate::ptx::PtxSet;

/// Instantiates all search kernels of a game, in a module of their own, and implements [`KernelSet`](crate::mcts::KernelSet) for it.
///
/// `mcts_kernels!(module, Game, "suffix", PTX)`: the entry names end in `_suffix`, which must differ between the games of one PTX module;
/// `PTX` is the path of a `PtxSet` constant that holds them (only read on the host).
#[macro_export]
macro_rules! mcts_kernels {
    ($module:ident, $game:ty, $suffix:literal, $ptx:path) => {
        $crate::mcts_kernel_list! { kernel_instance {
            #[doc = concat!("Search kernels of `", stringify!($game), "`.")]
            pub mod $module for $game: $crate::mcts::KernelSet {
                const PTX: &'static $crate::ptx::PtxSet = &$ptx;
            }
            #[allow(unused_imports, reason = "names that the game's type may need")]
            use super::*;
            use $crate::cuda::shared_array;
            use $crate::mcts::expand::{self, Blocks, Children};
            use $crate::mcts::reduce::{self, RootAction};
            use $crate::mcts::rng::{self, Stream};
            use $crate::mcts::tree::{PlayoutCounts, Trees};
            use $crate::mcts::{backup, playout, reset, select, step};
        } $game, $suffix }
    };
}

crate::mcts_kernel_list! { kernel_family {
    /// All kernels of a game and the PTX that holds them. Implemented by [`mcts_kernels!`](crate::mcts_kernels) alone.
    pub trait KernelSet: Game {
        /// The module that holds the kernels.
        const PTX: &'static PtxSet;
    }
    /// The kernels of a game, looked up.
    pub struct Kernels;
} Self, "" }

/// The kernels, handed to a macro of [`kernel`](crate::kernel) behind what is given to it.
#[doc(hidden)]
#[macro_export]
macro_rules! mcts_kernel_list {
    ($then:ident $given:tt $game:ty, $suffix:literal) => {
        $crate::$then! { $given
            /// Sets up the random streams: number k is the generator of the seed after k jumps of 2⁶⁴ steps.
            ///
            /// * Launch: [`rng::shape`], a thread a stream, blocks of 128.
            /// * Reads: `polynomials`, a pair of words for each of [`rng::STREAM_BITS`] binary digits.
            /// * Writes: `streams`.
            /// * Shared: none.
            /// * Cost: 128 generator steps for each digit of the stream's number that is 1, of at most 27.
            /// * Twin: `warpplay_cpu_ref::mcts::rng::Streams::playout`, `warpplay_cpu_ref::mcts::rng::Streams::expansion`.
            /// * Source: Blackman and Vigna, section 10 (jumps).
            #[kernel(suffix = $suffix, shape = rng::shape(n))]
            pub unsafe fn mcts_seed_streams(
                #[len(n)] streams: *mut Stream,
                n: u32,
                base_0: u64,
                base_1: u64,
                #[len(rng::STREAM_BITS)] polynomials: *const [u64; 2],
            ) {
                rng::seed_streams(streams, n, [base_0, base_1], polynomials)
            }

            /// Makes every tree a single root that holds the searched position.
            ///
            /// * Launch: [`reset::shape`], a block a tree; the paper's `tpb_r`: a thread a square.
            /// * Reads: `root`.
            /// * Writes: node 0 of each tree in `states`, `links` and `stats`; `heads`.
            /// * Shared: none.
            /// * Cost: ⌈words of a position / threads⌉ copies a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::tree::Tree::new`.
            /// * Source: Klęsk, MCTS-NC, section 2.6, Algorithms 1 and 2 and Table 1: `_reset`.
            #[kernel(suffix = $suffix, shape = |threads: u32| reset::shape(trees.n_trees, threads))]
            pub unsafe fn mcts_reset(trees: Trees<$game>, #[len(1)] root: *const $game) {
                reset::reset(trees, root)
            }

            /// Selects a leaf in each tree: from the root always to the child with the largest upper confidence bound, the lowest action of equals.
            ///
            /// * Launch: [`select::shape`], a block a tree; the paper's `tpb_s`: 512 threads.
            /// * Reads: `stats`, 32 bytes a child of each node on the way.
            /// * Writes: `paths`; leaf and depth in `heads`.
            /// * Shared: 256 bytes: best bound and child of each warp.
            /// * Cost: depth × (⌈B / threads⌉ + log threads) steps a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::select`, `warpplay_cpu_ref::mcts::tree::best_child`.
            /// * Source: Klęsk, MCTS-NC, equation (6) and section 2.6, Listing 2: `_select`.
            #[kernel(
                suffix = $suffix,
                shape = |threads: u32| select::shape(trees.n_trees, threads),
                require = threads > 0 && threads.is_multiple_of(32)
            )]
            pub unsafe fn mcts_select(trees: Trees<$game>, ucb_c: f32, draw_value: f32) {
                let scratch = select::Scratch { bounds: shared_array![f32; 32], children: shared_array![u32; 32] };
                select::select(trees, ucb_c, draw_value, scratch)
            }

            /// First half of expansion, one child to be played: lists the legal actions of the leaf by rank, makes room for their children, and draws
            /// the one. The list is for a host that launches a block each.
            ///
            /// * Launch: [`expand::shape_1`], a block a tree, at least a thread an action; the paper's `tpb_e1`: the larger of squares and actions.
            /// * Reads: `heads`, `stats` and `states` of the leaf; `expansion_streams`.
            /// * Writes: `expanded`, `links` of the children, `stats` of the leaf, `heads`; `expansion_streams`.
            /// * Shared: 128 bytes: a count of each warp.
            /// * Cost: a legality test, and log B steps of a prefix sum.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::expand`, `warpplay_cpu_ref::mcts::tree::Tree::add_children`.
            /// * Source: Klęsk, MCTS-NC, section 2.6 and Table 1: `_expand_1_ocp_thrifty`.
            #[kernel(
                suffix = $suffix,
                shape = |threads: u32| expand::shape_1(trees.n_trees, threads),
                require = threads.is_multiple_of(32) && threads >= <$game as $crate::mcts::Game>::MAX_ACTIONS
            )]
            pub unsafe fn mcts_expand_1_ocp_thrifty(trees: Trees<$game>) {
                expand::expand_1(trees, Blocks::Thrifty, Children::One, shared_array![u32; 32])
            }

            /// First half of expansion, one child to be played: notes the rank of each legal action of the leaf, makes room for the children, and draws
            /// the one. The ranks are for blocks of every action.
            ///
            /// * Launch: [`expand::shape_1`], a block a tree, at least a thread an action; the paper's `tpb_e1`: the larger of squares and actions.
            /// * Reads: `heads`, `stats` and `states` of the leaf; `expansion_streams`.
            /// * Writes: `expanded`, `links` of the children, `stats` of the leaf, `heads`; `expansion_streams`.
            /// * Shared: 128 bytes: a count of each warp.
            /// * Cost: a legality test, and log B steps of a prefix sum.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::expand`, `warpplay_cpu_ref::mcts::tree::Tree::add_children`.
            /// * Source: Klęsk, MCTS-NC, section 2.6 and Table 1: `_expand_1_ocp_prodigal`.
            #[kernel(
                suffix = $suffix,
                shape = |threads: u32| expand::shape_1(trees.n_trees, threads),
                require = threads.is_multiple_of(32) && threads >= <$game as $crate::mcts::Game>::MAX_ACTIONS
            )]
            pub unsafe fn mcts_expand_1_ocp_prodigal(trees: Trees<$game>) {
                expand::expand_1(trees, Blocks::Prodigal, Children::One, shared_array![u32; 32])
            }

            /// First half of expansion, all children to be played: lists the legal actions of the leaf by rank, and makes room for their children.
            /// The list is for a host that launches a block each.
            ///
            /// * Launch: [`expand::shape_1`], a block a tree, at least a thread an action; the paper's `tpb_e1`: the larger of squares and actions.
            /// * Reads: `heads`, `stats` and `states` of the leaf.
            /// * Writes: `expanded`, `links` of the children, `stats` of the leaf, `heads`.
            /// * Shared: 128 bytes: a count of each warp.
            /// * Cost: a legality test, and log B steps of a prefix sum.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::expand`, `warpplay_cpu_ref::mcts::tree::Tree::add_children`.
            /// * Source: Klęsk, MCTS-NC, section 2.6 and Table 1: `_expand_1_acp_thrifty`.
            #[kernel(
                suffix = $suffix,
                shape = |threads: u32| expand::shape_1(trees.n_trees, threads),
                require = threads.is_multiple_of(32) && threads >= <$game as $crate::mcts::Game>::MAX_ACTIONS
            )]
            pub unsafe fn mcts_expand_1_acp_thrifty(trees: Trees<$game>) {
                expand::expand_1(trees, Blocks::Thrifty, Children::All, shared_array![u32; 32])
            }

            /// First half of expansion, all children to be played: notes the rank of each legal action of the leaf, and makes room for the children.
            /// The ranks are for blocks of every action.
            ///
            /// * Launch: [`expand::shape_1`], a block a tree, at least a thread an action; the paper's `tpb_e1`: the larger of squares and actions.
            /// * Reads: `heads`, `stats` and `states` of the leaf.
            /// * Writes: `expanded`, `links` of the children, `stats` of the leaf, `heads`.
            /// * Shared: 128 bytes: a count of each warp.
            /// * Cost: a legality test, and log B steps of a prefix sum.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::expand`, `warpplay_cpu_ref::mcts::tree::Tree::add_children`.
            /// * Source: Klęsk, MCTS-NC, section 2.6 and Table 1: `_expand_1_acp_prodigal`.
            #[kernel(
                suffix = $suffix,
                shape = |threads: u32| expand::shape_1(trees.n_trees, threads),
                require = threads.is_multiple_of(32) && threads >= <$game as $crate::mcts::Game>::MAX_ACTIONS
            )]
            pub unsafe fn mcts_expand_1_acp_prodigal(trees: Trees<$game>) {
                expand::expand_1(trees, Blocks::Prodigal, Children::All, shared_array![u32; 32])
            }

            /// Second half of expansion: the positions of the children that are listed, and whether the game ends there.
            ///
            /// * Launch: [`expand::shape_2_thrifty`], a block an entry of the list; the paper's `tpb_e2`: a thread a square.
            /// * Reads: `children`, `heads`, `expanded`, `states` of the parent.
            /// * Writes: `states` and `stats` of the child.
            /// * Shared: none.
            /// * Cost: size of a position, by one thread of the block.
            /// * Twin: `warpplay_cpu_ref::mcts::tree::Tree::add_children`.
            /// * Source: Klęsk, MCTS-NC, section 2.6, Algorithm 1: `_expand_2_thrifty`.
            #[kernel(
                suffix = $suffix,
                shape = |n_children: u32, threads: u32| expand::shape_2_thrifty(n_children, threads)
            )]
            pub unsafe fn mcts_expand_2_thrifty(trees: Trees<$game>, #[len(n_children)] children: *const [u16; 2]) {
                expand::expand_2_thrifty(trees, children)
            }

            /// Second half of expansion: the positions of the children of every action, and whether the game ends there. Blocks of actions without a child end at once.
            ///
            /// * Launch: [`expand::shape_2_prodigal`], a block for each tree and action; the paper's `tpb_e2`: a thread a square.
            /// * Reads: `heads`, `expanded`, `states` of the parent.
            /// * Writes: `states` and `stats` of the child.
            /// * Shared: none.
            /// * Cost: size of a position, by one thread of the block.
            /// * Twin: `warpplay_cpu_ref::mcts::tree::Tree::add_children`.
            /// * Source: Klęsk, MCTS-NC, section 2.6, Algorithm 2: `_expand_2_prodigal`.
            #[kernel(
                suffix = $suffix,
                shape = |threads: u32| expand::shape_2_prodigal::<$game>(trees.n_trees, threads)
            )]
            pub unsafe fn mcts_expand_2_prodigal(trees: Trees<$game>) {
                expand::expand_2_prodigal(trees)
            }

            /// Notes once which actions the first step expanded at the root, with the rank of each.
            ///
            /// * Launch: [`expand::shape_memorize`], a thread an action.
            /// * Reads: `stats` of the first tree's root and `links` of its children.
            /// * Writes: `root_actions`.
            /// * Shared: none.
            /// * Cost: B reads a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::statistics::Statistics::new`.
            /// * Source: Klęsk, MCTS-NC, section 2.6, Algorithms 1 and 2: `_memorize_root_actions_expanded`.
            #[kernel(suffix = $suffix, shape = |threads: u32| expand::shape_memorize::<$game>(threads))]
            pub unsafe fn mcts_memorize_root_actions(
                trees: Trees<$game>,
                #[len(<$game as $crate::mcts::Game>::MAX_ACTIONS)] root_actions: *mut u16,
            ) {
                expand::memorize_root_actions(trees, root_actions)
            }

            /// Plays m random games in each tree from the child that was drawn, or from the leaf where there is none, and adds up who won.
            ///
            /// * Launch: [`playout::shape_ocp`], a block a tree, a thread a playout.
            /// * Reads: `heads`, `stats` and `states` of the node, `playout_streams`.
            /// * Writes: `outcomes`, `playout_streams`.
            /// * Shared: 128 bytes: a sum of each warp; dynamic: the words that a playout of the game asks for, of each thread.
            /// * Cost: plies of the longest game + log m steps a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::playouts`, `warpplay_cpu_ref::mcts::seq::known_result`.
            /// * Source: Klęsk, MCTS-NC, section 2.6, Algorithm 1: `_playout_ocp`.
            #[kernel(
                suffix = $suffix,
                shape = |max_shared_bytes: u32| playout::shape_ocp::<$game>(trees.n_trees, trees.n_playouts, max_shared_bytes)
            )]
            pub unsafe fn mcts_playout_ocp(trees: Trees<$game>) {
                playout::playout_ocp(trees, shared_array![u32; 32])
            }

            /// Plays m random games from each child that is listed, and adds up who won.
            ///
            /// * Launch: [`playout::shape_acp_thrifty`], a block an entry of the list, a thread a playout.
            /// * Reads: `children`, `heads`, `expanded`, `stats` and `states` of the node, `playout_streams`.
            /// * Writes: `outcomes`, `playout_streams`.
            /// * Shared: 128 bytes: a sum of each warp; dynamic: the words that a playout of the game asks for, of each thread.
            /// * Cost: plies of the longest game + log m steps a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::playouts`, `warpplay_cpu_ref::mcts::seq::known_result`.
            /// * Source: Klęsk, MCTS-NC, section 2.6 and Table 1: `_playout_acp_thrifty`.
            #[kernel(
                suffix = $suffix,
                shape = |n_children: u32, max_shared_bytes: u32| playout::shape_acp_thrifty::<$game>(n_children, trees.n_playouts, max_shared_bytes)
            )]
            pub unsafe fn mcts_playout_acp_thrifty(trees: Trees<$game>, #[len(n_children)] children: *const [u16; 2]) {
                playout::playout_acp_thrifty(trees, children, shared_array![u32; 32])
            }

            /// Plays m random games from every child, and adds up who won. Blocks of actions without a child end at once.
            ///
            /// * Launch: [`playout::shape_acp_prodigal`], a block for each tree and action, a thread a playout.
            /// * Reads: `heads`, `expanded`, `stats` and `states` of the node, `playout_streams`.
            /// * Writes: `outcomes`, `playout_streams`.
            /// * Shared: 128 bytes: a sum of each warp; dynamic: the words that a playout of the game asks for, of each thread.
            /// * Cost: plies of the longest game + log m steps a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::playouts`, `warpplay_cpu_ref::mcts::seq::known_result`.
            /// * Source: Klęsk, MCTS-NC, section 2.6, Algorithm 2: `_playout_acp_prodigal`.
            #[kernel(
                suffix = $suffix,
                shape = |max_shared_bytes: u32| playout::shape_acp_prodigal::<$game>(trees.n_trees, trees.n_playouts, max_shared_bytes)
            )]
            pub unsafe fn mcts_playout_acp_prodigal(trees: Trees<$game>) {
                playout::playout_acp_prodigal(trees, shared_array![u32; 32])
            }

            /// Adds a step's playouts of one child to it and to every node of the path.
            ///
            /// * Launch: [`backup::shape`], a block a tree; the paper's `tpb_b2`: 512 threads.
            /// * Reads: `outcomes`, `heads`, `paths`.
            /// * Writes: `stats` of the path and of the child.
            /// * Shared: none.
            /// * Cost: ⌈path / threads⌉ nodes a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::backup`.
            /// * Source: Klęsk, MCTS-NC, section 2.6, Algorithm 1: `_backup_ocp`.
            #[kernel(suffix = $suffix, shape = |threads: u32| backup::shape(trees.n_trees, threads))]
            pub unsafe fn mcts_backup_ocp(trees: Trees<$game>) {
                backup::backup_ocp(trees)
            }

            /// First half of the backup of all children, listed by rank: adds to each child its own playouts, and adds these up for the path.
            ///
            /// * Launch: [`backup::shape`], a block a tree; the paper's `tpb_b1`: a thread an action.
            /// * Reads: `heads`, `expanded`, `outcomes`.
            /// * Writes: `stats` of the children; `sums`, one a tree.
            /// * Shared: 256 bytes: a sum of each warp.
            /// * Cost: ⌈B / threads⌉ children and log B steps a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::backup`.
            /// * Source: Klęsk, MCTS-NC, section 2.6 and Table 1: `_backup_1_acp_thrifty`.
            #[kernel(
                suffix = $suffix,
                shape = |threads: u32| backup::shape(trees.n_trees, threads),
                require = threads > 0 && threads.is_multiple_of(32)
            )]
            pub unsafe fn mcts_backup_1_acp_thrifty(
                trees: Trees<$game>,
                #[len(trees.n_trees)] sums: *mut PlayoutCounts,
            ) {
                backup::backup_1_acp(trees, sums, Blocks::Thrifty, shared_array![u64; 32])
            }

            /// First half of the backup of all children, noted by action: adds to each child its own playouts, and adds these up for the path.
            ///
            /// * Launch: [`backup::shape`], a block a tree; the paper's `tpb_b1`: a thread an action.
            /// * Reads: `heads`, `expanded`, `outcomes`.
            /// * Writes: `stats` of the children; `sums`, one a tree.
            /// * Shared: 256 bytes: a sum of each warp.
            /// * Cost: ⌈B / threads⌉ children and log B steps a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::backup`.
            /// * Source: Klęsk, MCTS-NC, section 2.6, Algorithm 2: `_backup_1_acp_prodigal`.
            #[kernel(
                suffix = $suffix,
                shape = |threads: u32| backup::shape(trees.n_trees, threads),
                require = threads > 0 && threads.is_multiple_of(32)
            )]
            pub unsafe fn mcts_backup_1_acp_prodigal(
                trees: Trees<$game>,
                #[len(trees.n_trees)] sums: *mut PlayoutCounts,
            ) {
                backup::backup_1_acp(trees, sums, Blocks::Prodigal, shared_array![u64; 32])
            }

            /// Second half of the backup of all children: adds their sum to every node of the path.
            ///
            /// * Launch: [`backup::shape`], a block a tree; the paper's `tpb_b2`: 512 threads.
            /// * Reads: `sums`, `heads`, `paths`.
            /// * Writes: `stats` of the path.
            /// * Shared: none.
            /// * Cost: ⌈path / threads⌉ nodes a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::backup`.
            /// * Source: Klęsk, MCTS-NC, section 2.6, Algorithm 2: `_backup_2_acp`.
            #[kernel(suffix = $suffix, shape = |threads: u32| backup::shape(trees.n_trees, threads))]
            pub unsafe fn mcts_backup_2_acp(trees: Trees<$game>, #[len(trees.n_trees)] sums: *const PlayoutCounts) {
                backup::backup_2_acp(trees, sums)
            }

            /// Sums up what all trees found out about one child of the root.
            ///
            /// * Launch: [`reduce::shape_over_trees`], a block a child of the root; the paper's `tpb_rot`: a thread a tree.
            /// * Reads: `stats` of the roots and of the child in every tree, `links` of the first tree.
            /// * Writes: `totals`, one a block.
            /// * Shared: 256 bytes: a sum of each warp.
            /// * Cost: four sums of log T steps.
            /// * Twin: `warpplay_cpu_ref::mcts::statistics::Statistics::new`.
            /// * Source: Klęsk, MCTS-NC, equation (8) and section 2.6, Algorithm 1: `_reduce_over_trees_thrifty`.
            #[kernel(
                suffix = $suffix,
                shape = |n_totals: u32, threads: u32| reduce::shape_over_trees(n_totals, threads),
                require = threads > 0 && threads.is_multiple_of(32) && threads >= trees.n_trees
            )]
            pub unsafe fn mcts_reduce_over_trees_thrifty(
                trees: Trees<$game>,
                #[len(<$game as $crate::mcts::Game>::MAX_ACTIONS)] root_actions: *const u16,
                #[len(n_totals)] totals: *mut RootAction,
            ) {
                reduce::reduce_over_trees(trees, root_actions, totals, Blocks::Thrifty, shared_array![u64; 32])
            }

            /// Sums up what all trees found out about one action of the root, if it is legal.
            ///
            /// * Launch: [`reduce::shape_over_trees`], a block an action; the paper's `tpb_rot`: a thread a tree.
            /// * Reads: `stats` of the roots and of the child in every tree, `root_actions`, `links` of the first tree.
            /// * Writes: `totals`, one a block.
            /// * Shared: 256 bytes: a sum of each warp.
            /// * Cost: four sums of log T steps.
            /// * Twin: `warpplay_cpu_ref::mcts::statistics::Statistics::new`.
            /// * Source: Klęsk, MCTS-NC, equation (8) and section 2.6, Algorithm 2: `_reduce_over_trees_prodigal`.
            #[kernel(
                suffix = $suffix,
                shape = |n_totals: u32, threads: u32| reduce::shape_over_trees(n_totals, threads),
                require = threads > 0 && threads.is_multiple_of(32) && threads >= trees.n_trees
            )]
            pub unsafe fn mcts_reduce_over_trees_prodigal(
                trees: Trees<$game>,
                #[len(<$game as $crate::mcts::Game>::MAX_ACTIONS)] root_actions: *const u16,
                #[len(n_totals)] totals: *mut RootAction,
            ) {
                reduce::reduce_over_trees(trees, root_actions, totals, Blocks::Prodigal, shared_array![u64; 32])
            }

            /// Finds the best action of the root: a proven win, else most playouts, then most wins, then the lowest.
            ///
            /// * Launch: [`reduce::shape_over_actions`], one block; the paper's `tpb_roa`: a thread an action.
            /// * Reads: `totals`.
            /// * Writes: `best`.
            /// * Shared: 768 bytes: a candidate of each warp.
            /// * Cost: ⌈B / threads⌉ + log B steps a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::statistics::Statistics::new`.
            /// * Source: Klęsk, MCTS-NC, section 2.6, Algorithms 1 and 2: `_reduce_over_actions_thrifty` and `…_prodigal`, which here are one.
            #[kernel(
                suffix = $suffix,
                shape = |threads: u32| reduce::shape_over_actions(threads),
                require = threads > 0 && threads.is_multiple_of(32)
            )]
            pub unsafe fn mcts_reduce_over_actions(
                #[len(n_totals)] totals: *const RootAction,
                #[len(1)] best: *mut RootAction,
                n_totals: u32,
            ) {
                let scratch = reduce::Scratch {
                    keys: shared_array![u32; 32],
                    n: shared_array![u64; 32],
                    wins: shared_array![u64; 32],
                    entries: shared_array![u32; 32],
                };
                reduce::reduce_over_actions(totals, best, n_totals, scratch)
            }

            /// All of a step that concerns one tree: backup of the last step's playouts, selection, first half of expansion; one child is drawn for the
            /// playouts.
            ///
            /// * Launch: [`step::shape`], a block a tree, a thread an action, whole warps.
            /// * Reads: `outcomes`, `paths`, `heads`, `stats`, `states` of the leaf, `expansion_streams`.
            /// * Writes: `stats`, `paths`, `expanded`, `links`, `heads`, `expansion_streams`.
            /// * Shared: 640 bytes: those of the stages.
            /// * Cost: sum of the stages: ⌈path / threads⌉ + depth × (⌈B / threads⌉ + log threads) + log B steps a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::step`.
            /// * Source: our own: the paper's stages (section 2.6) without the launches between them.
            #[kernel(
                suffix = $suffix,
                shape = |threads: u32| step::shape(trees.n_trees, threads),
                require = threads.is_multiple_of(32) && threads >= <$game as $crate::mcts::Game>::MAX_ACTIONS
            )]
            pub unsafe fn mcts_step_ocp(trees: Trees<$game>, ucb_c: f32, draw_value: f32) {
                let scratch = step::Scratch {
                    sums: shared_array![u64; 32],
                    counts: shared_array![u32; 32],
                    select: select::Scratch { bounds: shared_array![f32; 32], children: shared_array![u32; 32] },
                };
                step::step(trees, ucb_c, draw_value, Children::One, scratch)
            }

            /// All of a step that concerns one tree: backup of the last step's playouts, selection, first half of expansion; all children are played.
            ///
            /// * Launch: [`step::shape`], a block a tree, a thread an action, whole warps.
            /// * Reads: `outcomes`, `paths`, `heads`, `stats`, `states` of the leaf.
            /// * Writes: `stats`, `paths`, `expanded`, `links`, `heads`.
            /// * Shared: 640 bytes: those of the stages.
            /// * Cost: sum of the stages: ⌈path / threads⌉ + depth × (⌈B / threads⌉ + log threads) + log B steps a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::step`.
            /// * Source: our own: the paper's stages (section 2.6) without the launches between them.
            #[kernel(
                suffix = $suffix,
                shape = |threads: u32| step::shape(trees.n_trees, threads),
                require = threads.is_multiple_of(32) && threads >= <$game as $crate::mcts::Game>::MAX_ACTIONS
            )]
            pub unsafe fn mcts_step_acp(trees: Trees<$game>, ucb_c: f32, draw_value: f32) {
                let scratch = step::Scratch {
                    sums: shared_array![u64; 32],
                    counts: shared_array![u32; 32],
                    select: select::Scratch { bounds: shared_array![f32; 32], children: shared_array![u32; 32] },
                };
                step::step(trees, ucb_c, draw_value, Children::All, scratch)
            }

            /// All of a step that concerns one child: its position and m playouts of it; further blocks make the other children.
            ///
            /// * Launch: [`step::shape_play_ocp`], 1 + ⌈B / threads⌉ blocks a tree, a thread a playout.
            /// * Reads: `heads`, `expanded`, `links` and `states` of the leaf, `playout_streams`.
            /// * Writes: `states` and `stats` of the children, `outcomes`, `playout_streams`.
            /// * Shared: 128 bytes: a sum of each warp; dynamic: the words that a playout of the game asks for, of each thread.
            /// * Cost: size of a position + plies of the longest game + log m steps a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::playouts`, `warpplay_cpu_ref::mcts::tree::Tree::add_children`.
            /// * Source: our own: the paper's stages (section 2.6) without the launches between them.
            #[kernel(
                suffix = $suffix,
                shape = |max_shared_bytes: u32| step::shape_play_ocp::<$game>(trees.n_trees, trees.n_playouts, max_shared_bytes)
            )]
            pub unsafe fn mcts_play_ocp(trees: Trees<$game>) {
                step::play_ocp(trees, shared_array![u32; 32])
            }

            /// All of a step that concerns one child: its position and m playouts of it. Blocks of actions without a child end at once.
            ///
            /// * Launch: [`step::shape_play_acp`], a block for each tree and action, a thread a playout.
            /// * Reads: `heads`, `expanded`, `states` of the leaf, `playout_streams`.
            /// * Writes: `states` and `stats` of the child, `outcomes`, `playout_streams`.
            /// * Shared: 128 bytes: a sum of each warp; dynamic: the words that a playout of the game asks for, of each thread.
            /// * Cost: size of a position + plies of the longest game + log m steps a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::seq::playouts`, `warpplay_cpu_ref::mcts::tree::Tree::add_children`.
            /// * Source: our own: the paper's stages (section 2.6) without the launches between them.
            #[kernel(
                suffix = $suffix,
                shape = |max_shared_bytes: u32| step::shape_play_acp::<$game>(trees.n_trees, trees.n_playouts, max_shared_bytes)
            )]
            pub unsafe fn mcts_play_acp(trees: Trees<$game>) {
                step::play_acp(trees, shared_array![u32; 32])
            }

            /// Plays random games from one position, as the stage of playouts does: what a device can do at most. For measuring.
            ///
            /// * Launch: [`playout::shape_raw`], any blocks of whole warps; a thread plays its games one after the other.
            /// * Reads: `root`, `streams`.
            /// * Writes: `streams`; wins of both players, draws and plies, added atomically to `totals`.
            /// * Shared: 256 bytes: a sum of each warp; dynamic: the words that a playout of the game asks for, of each thread.
            /// * Cost: games × plies of the longest of a warp.
            /// * Twin: `warpplay_cpu_ref::mcts::game::Game::playout`.
            /// * Source: our own: a measure for the paper's section 4.1, where playouts are most of the work.
            #[kernel(
                suffix = $suffix,
                shape = |n_blocks: u32, threads: u32| playout::shape_raw::<$game>(n_blocks, threads),
                require = threads > 0 && threads.is_multiple_of(32)
            )]
            pub unsafe fn mcts_raw_playouts(
                #[len(1)] root: *const $game,
                #[len(n_blocks * threads)] streams: *mut Stream,
                #[len(4)] totals: *mut u64,
                n_games: u32,
            ) {
                playout::raw_playouts(root, streams, totals, n_games, shared_array![u64; 32])
            }

            /// Plays random games from one position without waiting: a lane whose game is over begins its next one at once. For measuring.
            ///
            /// * Launch: [`playout::shape_raw_restart`], any blocks of whole warps; a thread plays its games one after the other.
            /// * Reads: `root`, `streams`.
            /// * Writes: `streams`; wins of both players, draws and plies, added atomically to `totals`.
            /// * Shared: 256 bytes: a sum of each warp.
            /// * Cost: plies of all games of a thread.
            /// * Twin: `warpplay_cpu_ref::mcts::game::Game::playout`.
            /// * Source: our own: a measure for the paper's section 4.1, where playouts are most of the work.
            #[kernel(
                suffix = $suffix,
                shape = |n_blocks: u32, threads: u32| playout::shape_raw_restart(n_blocks, threads),
                require = threads > 0 && threads.is_multiple_of(32)
            )]
            pub unsafe fn mcts_raw_restart(
                #[len(1)] root: *const $game,
                #[len(n_blocks * threads)] streams: *mut Stream,
                #[len(4)] totals: *mut u64,
                n_games: u32,
            ) {
                playout::raw_restart(root, streams, totals, n_games, shared_array![u64; 32])
            }

            /// Draws one bounded number from each stream. For tests of the streams.
            ///
            /// * Launch: [`rng::shape`], a thread a stream, blocks of 128.
            /// * Reads: `streams`.
            /// * Writes: `numbers`, `streams`.
            /// * Shared: none.
            /// * Cost: one draw, with rejections.
            /// * Twin: `warpplay_cpu_ref::mcts::rng::Stream::below`.
            /// * Source: Lemire, algorithm 5.
            #[kernel(suffix = $suffix, shape = rng::shape(n), require = bound > 0)]
            pub unsafe fn mcts_draw_below(
                #[len(n)] streams: *mut Stream,
                #[len(n)] numbers: *mut u32,
                n: u32,
                bound: u32,
            ) {
                playout::draw_below(streams, numbers, n, bound)
            }
        }
    };
}
