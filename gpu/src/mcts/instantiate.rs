//! Kernels of one game: [`mcts_kernels!`](crate::mcts_kernels) instantiates them, [`KernelSet`] names them to the host.

#[cfg(not(target_arch = "nvptx64"))]
use super::game::Game;
#[cfg(not(target_arch = "nvptx64"))]
use super::reduce::RootAction;
#[cfg(not(target_arch = "nvptx64"))]
use super::rng::Stream;
#[cfg(not(target_arch = "nvptx64"))]
use super::tree::{PlayoutCounts, Trees};
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::{Kernel, KernelInfo};
#[cfg(not(target_arch = "nvptx64"))]
use crate::ptx::PtxSet;

/// All kernels of a game and the PTX that holds them. Implemented by [`mcts_kernels!`](crate::mcts_kernels) alone.
#[cfg(not(target_arch = "nvptx64"))]
pub trait KernelSet: Game {
    /// [`seed_streams`](super::rng::seed_streams)
    type SeedStreams: Kernel<Params = (*mut Stream, u32, u64, u64, *const [u64; 2])> + Default;
    /// [`reset`](super::reset::reset)
    type Reset: Kernel<Params = (Trees<Self>, *const Self)> + Default;
    /// [`select`](super::select::select)
    type Select: Kernel<Params = (Trees<Self>, f32, f32)> + Default;
    /// [`expand_1`](super::expand::expand_1): one child, thrifty
    type Expand1OcpThrifty: Kernel<Params = (Trees<Self>,)> + Default;
    /// [`expand_1`](super::expand::expand_1): one child, prodigal
    type Expand1OcpProdigal: Kernel<Params = (Trees<Self>,)> + Default;
    /// [`expand_1`](super::expand::expand_1): all children, thrifty
    type Expand1AcpThrifty: Kernel<Params = (Trees<Self>,)> + Default;
    /// [`expand_1`](super::expand::expand_1): all children, prodigal
    type Expand1AcpProdigal: Kernel<Params = (Trees<Self>,)> + Default;
    /// [`expand_2_thrifty`](super::expand::expand_2_thrifty)
    type Expand2Thrifty: Kernel<Params = (Trees<Self>, *const [u16; 2])> + Default;
    /// [`expand_2_prodigal`](super::expand::expand_2_prodigal)
    type Expand2Prodigal: Kernel<Params = (Trees<Self>,)> + Default;
    /// [`memorize_root_actions`](super::expand::memorize_root_actions)
    type MemorizeRootActions: Kernel<Params = (Trees<Self>, *mut u16)> + Default;
    /// [`playout_ocp`](super::playout::playout_ocp)
    type PlayoutOcp: Kernel<Params = (Trees<Self>,)> + Default;
    /// [`playout_acp_thrifty`](super::playout::playout_acp_thrifty)
    type PlayoutAcpThrifty: Kernel<Params = (Trees<Self>, *const [u16; 2])> + Default;
    /// [`playout_acp_prodigal`](super::playout::playout_acp_prodigal)
    type PlayoutAcpProdigal: Kernel<Params = (Trees<Self>,)> + Default;
    /// [`backup_ocp`](super::backup::backup_ocp)
    type BackupOcp: Kernel<Params = (Trees<Self>,)> + Default;
    /// [`backup_1_acp`](super::backup::backup_1_acp): thrifty
    type Backup1AcpThrifty: Kernel<Params = (Trees<Self>, *mut PlayoutCounts)> + Default;
    /// [`backup_1_acp`](super::backup::backup_1_acp): prodigal
    type Backup1AcpProdigal: Kernel<Params = (Trees<Self>, *mut PlayoutCounts)> + Default;
    /// [`backup_2_acp`](super::backup::backup_2_acp)
    type Backup2Acp: Kernel<Params = (Trees<Self>, *const PlayoutCounts)> + Default;
    /// [`reduce_over_trees`](super::reduce::reduce_over_trees): thrifty
    type ReduceOverTreesThrifty: Kernel<Params = (Trees<Self>, *const u16, *mut RootAction)> + Default;
    /// [`reduce_over_trees`](super::reduce::reduce_over_trees): prodigal
    type ReduceOverTreesProdigal: Kernel<Params = (Trees<Self>, *const u16, *mut RootAction)> + Default;
    /// [`reduce_over_actions`](super::reduce::reduce_over_actions)
    type ReduceOverActions: Kernel<Params = (*const RootAction, *mut RootAction, u32)> + Default;
    /// [`step`](super::step::step): one child
    type StepOcp: Kernel<Params = (Trees<Self>, f32, f32)> + Default;
    /// [`step`](super::step::step): all children
    type StepAcp: Kernel<Params = (Trees<Self>, f32, f32)> + Default;
    /// [`play_ocp`](super::step::play_ocp)
    type PlayOcp: Kernel<Params = (Trees<Self>,)> + Default;
    /// [`play_acp`](super::step::play_acp)
    type PlayAcp: Kernel<Params = (Trees<Self>,)> + Default;
    /// [`raw_playouts`](super::playout::raw_playouts)
    type RawPlayouts: Kernel<Params = (*const Self, *mut Stream, *mut u64, u32)> + Default;
    /// [`raw_restart`](super::playout::raw_restart)
    type RawRestart: Kernel<Params = (*const Self, *mut Stream, *mut u64, u32)> + Default;
    /// [`draw_below`](super::playout::draw_below)
    type DrawBelow: Kernel<Params = (*mut Stream, *mut u32, u32, u32)> + Default;

    /// The module that holds the kernels.
    const PTX: &'static PtxSet;

    /// Descriptions of all kernels.
    fn kernels() -> [KernelInfo; 27] {
        use crate::kernel::info;
        [
            info::<Self::SeedStreams>(),
            info::<Self::Reset>(),
            info::<Self::Select>(),
            info::<Self::Expand1OcpThrifty>(),
            info::<Self::Expand1OcpProdigal>(),
            info::<Self::Expand1AcpThrifty>(),
            info::<Self::Expand1AcpProdigal>(),
            info::<Self::Expand2Thrifty>(),
            info::<Self::Expand2Prodigal>(),
            info::<Self::MemorizeRootActions>(),
            info::<Self::PlayoutOcp>(),
            info::<Self::PlayoutAcpThrifty>(),
            info::<Self::PlayoutAcpProdigal>(),
            info::<Self::BackupOcp>(),
            info::<Self::Backup1AcpThrifty>(),
            info::<Self::Backup1AcpProdigal>(),
            info::<Self::Backup2Acp>(),
            info::<Self::ReduceOverTreesThrifty>(),
            info::<Self::ReduceOverTreesProdigal>(),
            info::<Self::ReduceOverActions>(),
            info::<Self::StepOcp>(),
            info::<Self::StepAcp>(),
            info::<Self::PlayOcp>(),
            info::<Self::PlayAcp>(),
            info::<Self::RawPlayouts>(),
            info::<Self::RawRestart>(),
            info::<Self::DrawBelow>(),
        ]
    }
}

/// Instantiates all search kernels of a game, in a module of their own, and implements [`KernelSet`](crate::mcts::KernelSet) for it.
///
/// `mcts_kernels!(module, Game, "suffix", PTX)`: the entry names end in `_suffix`, which must differ between the games of one PTX module;
/// `PTX` is the path of a `PtxSet` constant that holds them (only read on the host).
#[macro_export]
macro_rules! mcts_kernels {
    ($module:ident, $game:ty, $suffix:literal, $ptx:path) => {
        #[doc = concat!("Search kernels of `", stringify!($game), "`.")]
        pub mod $module {
            #[allow(unused_imports, reason = "names that the game's type may need")]
            use super::*;
            use $crate::cuda::{kernel, shared_array};
            use $crate::mcts::expand::{self, Blocks, Children};
            use $crate::mcts::reduce::{self, RootAction};
            use $crate::mcts::rng::{self, Stream};
            use $crate::mcts::tree::{PlayoutCounts, Trees};
            use $crate::mcts::{backup, playout, reset, select, step};

            $crate::mcts_kernel_items!($game, $suffix);
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl $crate::mcts::KernelSet for $game {
            type SeedStreams = $module::mcts_seed_streams;
            type Reset = $module::mcts_reset;
            type Select = $module::mcts_select;
            type Expand1OcpThrifty = $module::mcts_expand_1_ocp_thrifty;
            type Expand1OcpProdigal = $module::mcts_expand_1_ocp_prodigal;
            type Expand1AcpThrifty = $module::mcts_expand_1_acp_thrifty;
            type Expand1AcpProdigal = $module::mcts_expand_1_acp_prodigal;
            type Expand2Thrifty = $module::mcts_expand_2_thrifty;
            type Expand2Prodigal = $module::mcts_expand_2_prodigal;
            type MemorizeRootActions = $module::mcts_memorize_root_actions;
            type PlayoutOcp = $module::mcts_playout_ocp;
            type PlayoutAcpThrifty = $module::mcts_playout_acp_thrifty;
            type PlayoutAcpProdigal = $module::mcts_playout_acp_prodigal;
            type BackupOcp = $module::mcts_backup_ocp;
            type Backup1AcpThrifty = $module::mcts_backup_1_acp_thrifty;
            type Backup1AcpProdigal = $module::mcts_backup_1_acp_prodigal;
            type Backup2Acp = $module::mcts_backup_2_acp;
            type ReduceOverTreesThrifty = $module::mcts_reduce_over_trees_thrifty;
            type ReduceOverTreesProdigal = $module::mcts_reduce_over_trees_prodigal;
            type ReduceOverActions = $module::mcts_reduce_over_actions;
            type StepOcp = $module::mcts_step_ocp;
            type StepAcp = $module::mcts_step_acp;
            type PlayOcp = $module::mcts_play_ocp;
            type PlayAcp = $module::mcts_play_acp;
            type RawPlayouts = $module::mcts_raw_playouts;
            type RawRestart = $module::mcts_raw_restart;
            type DrawBelow = $module::mcts_draw_below;
            const PTX: &'static $crate::ptx::PtxSet = &$ptx;
        }
    };
}

/// The kernels that [`mcts_kernels!`](crate::mcts_kernels) writes.
#[doc(hidden)]
#[macro_export]
macro_rules! mcts_kernel_items {
    ($game:ty, $suffix:literal) => {
        /// # Safety
        /// As [`rng::seed_streams`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_seed_streams(streams: *mut Stream, n: u32, base_0: u64, base_1: u64, polynomials: *const [u64; 2]) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { rng::seed_streams(streams, n, [base_0, base_1], polynomials) }
        }

        /// # Safety
        /// As [`reset::reset`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_reset(trees: Trees<$game>, root: *const $game) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { reset::reset(trees, root) }
        }

        /// # Safety
        /// As [`select::select`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_select(trees: Trees<$game>, ucb_c: f32, draw_value: f32) {
            let scratch = select::Scratch { bounds: shared_array![f32; 32], children: shared_array![u32; 32] };
            // SAFETY: the kernel's contract is that of the function.
            unsafe { select::select(trees, ucb_c, draw_value, scratch) }
        }

        /// # Safety
        /// As [`expand::expand_1`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_expand_1_ocp_thrifty(trees: Trees<$game>) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { expand::expand_1(trees, Blocks::Thrifty, Children::One, shared_array![u32; 32]) }
        }

        /// # Safety
        /// As [`expand::expand_1`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_expand_1_ocp_prodigal(trees: Trees<$game>) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { expand::expand_1(trees, Blocks::Prodigal, Children::One, shared_array![u32; 32]) }
        }

        /// # Safety
        /// As [`expand::expand_1`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_expand_1_acp_thrifty(trees: Trees<$game>) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { expand::expand_1(trees, Blocks::Thrifty, Children::All, shared_array![u32; 32]) }
        }

        /// # Safety
        /// As [`expand::expand_1`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_expand_1_acp_prodigal(trees: Trees<$game>) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { expand::expand_1(trees, Blocks::Prodigal, Children::All, shared_array![u32; 32]) }
        }

        /// # Safety
        /// As [`expand::expand_2_thrifty`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_expand_2_thrifty(trees: Trees<$game>, children: *const [u16; 2]) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { expand::expand_2_thrifty(trees, children) }
        }

        /// # Safety
        /// As [`expand::expand_2_prodigal`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_expand_2_prodigal(trees: Trees<$game>) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { expand::expand_2_prodigal(trees) }
        }

        /// # Safety
        /// As [`expand::memorize_root_actions`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_memorize_root_actions(trees: Trees<$game>, root_actions: *mut u16) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { expand::memorize_root_actions(trees, root_actions) }
        }

        /// # Safety
        /// As [`playout::playout_ocp`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_playout_ocp(trees: Trees<$game>) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { playout::playout_ocp(trees, shared_array![u32; 32]) }
        }

        /// # Safety
        /// As [`playout::playout_acp_thrifty`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_playout_acp_thrifty(trees: Trees<$game>, children: *const [u16; 2]) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { playout::playout_acp_thrifty(trees, children, shared_array![u32; 32]) }
        }

        /// # Safety
        /// As [`playout::playout_acp_prodigal`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_playout_acp_prodigal(trees: Trees<$game>) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { playout::playout_acp_prodigal(trees, shared_array![u32; 32]) }
        }

        /// # Safety
        /// As [`backup::backup_ocp`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_backup_ocp(trees: Trees<$game>) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { backup::backup_ocp(trees) }
        }

        /// # Safety
        /// As [`backup::backup_1_acp`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_backup_1_acp_thrifty(trees: Trees<$game>, sums: *mut PlayoutCounts) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { backup::backup_1_acp(trees, sums, Blocks::Thrifty, shared_array![u64; 32]) }
        }

        /// # Safety
        /// As [`backup::backup_1_acp`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_backup_1_acp_prodigal(trees: Trees<$game>, sums: *mut PlayoutCounts) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { backup::backup_1_acp(trees, sums, Blocks::Prodigal, shared_array![u64; 32]) }
        }

        /// # Safety
        /// As [`backup::backup_2_acp`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_backup_2_acp(trees: Trees<$game>, sums: *const PlayoutCounts) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { backup::backup_2_acp(trees, sums) }
        }

        /// # Safety
        /// As [`reduce::reduce_over_trees`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_reduce_over_trees_thrifty(trees: Trees<$game>, root_actions: *const u16, totals: *mut RootAction) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { reduce::reduce_over_trees(trees, root_actions, totals, Blocks::Thrifty, shared_array![u64; 32]) }
        }

        /// # Safety
        /// As [`reduce::reduce_over_trees`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_reduce_over_trees_prodigal(trees: Trees<$game>, root_actions: *const u16, totals: *mut RootAction) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { reduce::reduce_over_trees(trees, root_actions, totals, Blocks::Prodigal, shared_array![u64; 32]) }
        }

        /// # Safety
        /// As [`reduce::reduce_over_actions`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_reduce_over_actions(totals: *const RootAction, best: *mut RootAction, n_totals: u32) {
            let scratch = reduce::Scratch {
                keys: shared_array![u32; 32],
                n: shared_array![u64; 32],
                wins: shared_array![u64; 32],
                entries: shared_array![u32; 32],
            };
            // SAFETY: the kernel's contract is that of the function.
            unsafe { reduce::reduce_over_actions(totals, best, n_totals, scratch) }
        }

        /// # Safety
        /// As [`step::step`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_step_ocp(trees: Trees<$game>, ucb_c: f32, draw_value: f32) {
            let scratch = step::Scratch {
                sums: shared_array![u64; 32],
                counts: shared_array![u32; 32],
                select: select::Scratch { bounds: shared_array![f32; 32], children: shared_array![u32; 32] },
            };
            // SAFETY: the kernel's contract is that of the function.
            unsafe { step::step(trees, ucb_c, draw_value, Children::One, scratch) }
        }

        /// # Safety
        /// As [`step::step`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_step_acp(trees: Trees<$game>, ucb_c: f32, draw_value: f32) {
            let scratch = step::Scratch {
                sums: shared_array![u64; 32],
                counts: shared_array![u32; 32],
                select: select::Scratch { bounds: shared_array![f32; 32], children: shared_array![u32; 32] },
            };
            // SAFETY: the kernel's contract is that of the function.
            unsafe { step::step(trees, ucb_c, draw_value, Children::All, scratch) }
        }

        /// # Safety
        /// As [`step::play_ocp`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_play_ocp(trees: Trees<$game>) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { step::play_ocp(trees, shared_array![u32; 32]) }
        }

        /// # Safety
        /// As [`step::play_acp`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_play_acp(trees: Trees<$game>) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { step::play_acp(trees, shared_array![u32; 32]) }
        }

        /// # Safety
        /// As [`playout::raw_playouts`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_raw_playouts(root: *const $game, streams: *mut Stream, totals: *mut u64, n_games: u32) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { playout::raw_playouts(root, streams, totals, n_games, shared_array![u64; 32]) }
        }

        /// # Safety
        /// As [`playout::raw_restart`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_raw_restart(root: *const $game, streams: *mut Stream, totals: *mut u64, n_games: u32) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { playout::raw_restart(root, streams, totals, n_games, shared_array![u64; 32]) }
        }

        /// # Safety
        /// As [`playout::draw_below`].
        #[kernel(suffix = $suffix)]
        pub unsafe fn mcts_draw_below(streams: *mut Stream, numbers: *mut u32, n: u32, bound: u32) {
            // SAFETY: the kernel's contract is that of the function.
            unsafe { playout::draw_below(streams, numbers, n, bound) }
        }
    };
}
