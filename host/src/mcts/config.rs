//! Options of a search, checked when it is built.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use warpplay_gpu::mcts::KernelSet;
use warpplay_gpu::mcts::game::{MAX_ACTIONS, MAX_BOARD_SIDE, MAX_EXTRA_INFO_BYTES, MAX_PLAYOUT_WORDS};

use super::blocks::BlockSizes;
use super::report::Options;
use super::search::Search;
use crate::{Device, Error, Result};

/// Most trees of a search.
pub const MAX_TREES: u32 = 512;
/// Most playouts of a child in one step.
pub const MAX_PLAYOUTS: u32 = 512;
/// Most nodes of one tree, as in the paper's program.
pub const MAX_TREE_SIZE: u64 = 1 << 24;

/// Steps beyond the limit that the trees keep room for.
const PROFILE_ROOM: u64 = 64;

/// Which children are played out, and how blocks are given to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// One child, drawn at random; exactly as many blocks as children.
    OcpThrifty,
    /// One child, drawn at random; a block for every tree and action.
    OcpProdigal,
    /// All children; exactly as many blocks as children.
    AcpThrifty,
    /// All children; a block for every tree and action.
    AcpProdigal,
}

impl Variant {
    /// All four, in the paper's order.
    pub const ALL: [Self; 4] = [Self::OcpThrifty, Self::OcpProdigal, Self::AcpThrifty, Self::AcpProdigal];

    /// Whether all children of the expanded leaf are played out.
    pub const fn plays_all_children(self) -> bool {
        matches!(self, Self::AcpThrifty | Self::AcpProdigal)
    }

    /// Whether the host sizes the launches by the children really expanded.
    pub const fn is_thrifty(self) -> bool {
        matches!(self, Self::OcpThrifty | Self::AcpThrifty)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::OcpThrifty => "ocp_thrifty",
            Self::OcpProdigal => "ocp_prodigal",
            Self::AcpThrifty => "acp_thrifty",
            Self::AcpProdigal => "acp_prodigal",
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Variant {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|variant| variant.name() == text)
            .ok_or_else(|| Error::option("variant", text, "ocp_thrifty, ocp_prodigal, acp_thrifty or acp_prodigal"))
    }
}

/// How a prodigal search is launched on a device. Statistics are the same.
///
/// While `tracing` listens at level debug, every search is [`Execution::Stages`] and waits for each kernel to note its time, so it is much slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// Two kernels a step, many steps in one CUDA graph: the fast form.
    #[default]
    Graph,
    /// A kernel for each stage, as in the paper, many steps in one CUDA graph.
    StageGraph,
    /// A kernel for each stage, launched one by one.
    Stages,
}

/// Options of a [`Search`]; made by [`Search::builder`].
#[derive(Clone, Debug)]
pub struct SearchBuilder<G> {
    pub(super) options: Options,
    pub(super) execution: Execution,
    pub(super) blocks: Option<BlockSizes>,
    pub(super) threads: Option<usize>,
    pub(super) profile_steps: Option<u32>,
    pub(super) action_name: Option<fn(u32) -> String>,
    game: PhantomData<fn() -> G>,
}

impl<G: KernelSet> SearchBuilder<G> {
    pub(super) fn new() -> Self {
        Self {
            options: Options::default(),
            execution: Execution::Graph,
            blocks: None,
            threads: None,
            profile_steps: None,
            action_name: None,
            game: PhantomData,
        }
    }

    /// All options at once, as a report records them.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Which children are played out and how; default [`Variant::AcpProdigal`].
    pub fn variant(mut self, variant: Variant) -> Self {
        self.options.variant = variant;
        self
    }

    /// Independent trees T, 1 to 512; default 8.
    pub fn n_trees(mut self, n_trees: u32) -> Self {
        self.options.n_trees = n_trees;
        self
    }

    /// Playouts m of a child in one step, a power of two from 1 to 512; default 128.
    pub fn n_playouts(mut self, n_playouts: u32) -> Self {
        self.options.n_playouts = n_playouts;
        self
    }

    /// Ends the search after so many steps; default none.
    pub fn steps(mut self, steps: u64) -> Self {
        self.options.steps = Some(steps);
        self
    }

    /// Ends the search after so many seconds; default 5. With a step limit too, whichever comes first.
    pub fn seconds(mut self, seconds: f64) -> Self {
        self.options.seconds = Some(seconds);
        self
    }

    /// No time limit.
    pub fn no_seconds(mut self) -> Self {
        self.options.seconds = None;
        self
    }

    /// Exploration constant C of the upper confidence bound, finite and not negative; default 2.
    pub fn ucb_c(mut self, ucb_c: f32) -> Self {
        self.options.ucb_c = ucb_c;
        self
    }

    /// What a draw is worth, 0 to 1; default 0.5. The paper's program counts 0.
    pub fn draw_value(mut self, draw_value: f32) -> Self {
        self.options.draw_value = draw_value;
        self
    }

    /// Device memory in GiB; default 2. The size of the trees follows from it.
    pub fn device_memory_gb(mut self, device_memory_gb: f64) -> Self {
        self.options.device_memory_gb = device_memory_gb;
        self
    }

    /// Seed of all random streams; default 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// How prodigal variants are launched; default [`Execution::Graph`].
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Threads per block of each stage; default [`BlockSizes::listing_1`].
    pub fn block_sizes(mut self, blocks: BlockSizes) -> Self {
        self.blocks = Some(blocks);
        self
    }

    /// Threads of the CPU back end, 1 to 1024; default all cores, 1 is the sequential form. Other back ends do not look at it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Steps of the profiling run that measures the stages after a search on a device; default 32 on a GPU and 1 under `simt`; 0 leaves it out.
    pub fn profile_steps(mut self, steps: u32) -> Self {
        self.profile_steps = Some(steps);
        self
    }

    /// Names of the actions in reports, such as `Connect4::action_name`; default the index counted from 0, which is not what a player types.
    pub fn action_names(mut self, name: fn(u32) -> String) -> Self {
        self.action_name = Some(name);
        self
    }

    /// Nodes that each tree can hold, as far as memory and limits allow: what the device memory leaves, at most 2²⁴, and no more than the steps can use.
    ///
    /// # Errors
    /// [`Error::Option`] as [`build`](Self::build).
    pub fn capacity(&self) -> Result<u32> {
        let options = &self.options;
        check_options::<G>(options)?;
        let budget = (options.device_memory_gb * (1u64 << 30) as f64) as u64;
        let layout = Layout::of::<G>(options);
        let for_nodes = budget.saturating_sub(layout.fixed_bytes + options.n_trees as u64 * layout.tree_bytes);
        let by_memory = for_nodes / (options.n_trees as u64 * layout.node_bytes);
        let least = 1 + G::MAX_ACTIONS as u64;
        if by_memory < least {
            let needed = layout.fixed_bytes + options.n_trees as u64 * (layout.tree_bytes + least * layout.node_bytes);
            return Err(Error::option(
                "device_memory_gb",
                options.device_memory_gb,
                format!("at least {:.6} for these trees and playouts", needed as f64 / (1u64 << 30) as f64 + 1e-6),
            ));
        }
        // The profiling run after the search needs room too: a tree that cannot grow plays one node instead of all children.
        let by_steps = options.steps.map_or(u64::MAX, |steps| {
            let steps = steps.saturating_add(PROFILE_ROOM);
            steps.saturating_mul(G::MAX_ACTIONS as u64).saturating_add(1)
        });
        Ok(by_memory.min(by_steps).min(MAX_TREE_SIZE).max(least) as u32)
    }

    /// Bytes of device memory that [`build`](Self::build) will take.
    ///
    /// # Errors
    /// [`Error::Option`] as [`build`](Self::build).
    pub fn memory_bytes(&self) -> Result<u64> {
        let capacity = self.capacity()? as u64;
        let layout = Layout::of::<G>(&self.options);
        Ok(layout.fixed_bytes + self.options.n_trees as u64 * (layout.tree_bytes + capacity * layout.node_bytes))
    }

    /// Checks the options and takes the memory.
    ///
    /// # Errors
    /// [`Error::Option`] names the first option that is not allowed; [`Error::OutOfMemory`] if the device has too little;
    /// [`Error::PtxMissing`], [`Error::MissingKernel`] and others if the kernels cannot be loaded.
    pub fn build(self, device: &Device) -> Result<Search<G>> {
        Search::new(self, device)
    }
}

/// Bytes of the device arrays.
struct Layout {
    fixed_bytes: u64,
    tree_bytes: u64,
    node_bytes: u64,
}

impl Layout {
    fn of<G: KernelSet>(options: &Options) -> Self {
        use warpplay_gpu::mcts::reduce::RootAction;
        use warpplay_gpu::mcts::rng::STREAM_BITS;
        use warpplay_gpu::mcts::tree::{NodeLink, NodeStats, PATH_STRIDE, PlayoutCounts, TreeHead};
        let n_actions = G::MAX_ACTIONS as usize;
        let per_action = size_of::<u16>() + size_of::<PlayoutCounts>() + size_of::<[u16; 2]>();
        let tree = size_of::<TreeHead>()
            + PATH_STRIDE as usize * size_of::<u32>()
            + n_actions * per_action
            + size_of::<PlayoutCounts>()
            + (lanes_per_tree::<G>(options) as usize + 1) * 16;
        let fixed = n_actions * (size_of::<u16>() + size_of::<RootAction>())
            + size_of::<RootAction>()
            + size_of::<G>()
            + STREAM_BITS as usize * 16;
        Self {
            fixed_bytes: fixed as u64,
            tree_bytes: tree as u64,
            node_bytes: (size_of::<NodeStats>() + size_of::<NodeLink>() + size_of::<G>()) as u64,
        }
    }
}

/// Playout streams of one tree.
pub(super) fn lanes_per_tree<G: KernelSet>(options: &Options) -> u32 {
    let children = if options.variant.plays_all_children() { G::MAX_ACTIONS } else { 1 };
    children * options.n_playouts
}

/// Checks everything that does not depend on the device.
pub(super) fn check_options<G: KernelSet>(options: &Options) -> Result<()> {
    if !(1..=MAX_TREES).contains(&options.n_trees) {
        return Err(Error::option("n_trees", options.n_trees, format!("1 to {MAX_TREES}")));
    }
    if !options.n_playouts.is_power_of_two() || options.n_playouts > MAX_PLAYOUTS {
        return Err(Error::option("n_playouts", options.n_playouts, format!("a power of two, 1 to {MAX_PLAYOUTS}")));
    }
    if options.steps == Some(0) {
        return Err(Error::option("steps", 0, "at least 1, or no limit"));
    }
    if let Some(seconds) = options.seconds
        && !(seconds.is_finite() && seconds > 0.0)
    {
        return Err(Error::option("seconds", seconds, "a finite number above 0, or no limit"));
    }
    if options.steps.is_none() && options.seconds.is_none() {
        return Err(Error::option("steps", "none", "a limit of steps, of seconds, or both"));
    }
    if !(options.ucb_c.is_finite() && options.ucb_c >= 0.0) {
        return Err(Error::option("ucb_c", options.ucb_c, "a finite number, 0 or more"));
    }
    if !(0.0..=1.0).contains(&options.draw_value) {
        return Err(Error::option("draw_value", options.draw_value, "0 to 1"));
    }
    if !(options.device_memory_gb.is_finite() && options.device_memory_gb > 0.0) {
        return Err(Error::option("device_memory_gb", options.device_memory_gb, "a finite number above 0"));
    }
    check_game::<G>()
}

/// Checks the limits of the game itself.
pub(super) fn check_game<G: KernelSet>() -> Result<()> {
    if !(1..=MAX_ACTIONS).contains(&G::MAX_ACTIONS) {
        return Err(Error::option("max actions of the game", G::MAX_ACTIONS, format!("1 to {MAX_ACTIONS}")));
    }
    let (rows, columns) = G::BOARD;
    if !(1..=MAX_BOARD_SIDE).contains(&rows) || !(1..=MAX_BOARD_SIDE).contains(&columns) {
        return Err(Error::option(
            "board of the game",
            format!("{rows} x {columns}"),
            format!("1 x 1 to {MAX_BOARD_SIDE} x {MAX_BOARD_SIDE}"),
        ));
    }
    if G::EXTRA_INFO_BYTES > MAX_EXTRA_INFO_BYTES {
        return Err(Error::option(
            "extra info bytes of the game",
            G::EXTRA_INFO_BYTES,
            format!("0 to {MAX_EXTRA_INFO_BYTES}"),
        ));
    }
    if G::PLAYOUT_WORDS > MAX_PLAYOUT_WORDS {
        return Err(Error::option("playout words of the game", G::PLAYOUT_WORDS, format!("0 to {MAX_PLAYOUT_WORDS}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::mcts::{Connect4, position_after};

    fn small() -> SearchBuilder<Connect4> {
        Search::builder().n_trees(1).n_playouts(2).steps(3).no_seconds()
    }

    #[test]
    fn any_limit_of_time_can_be_met() {
        let position = position_after("44").expect("legal");
        for seconds in [f64::MAX, 1.9e19, 1e308, f64::MIN_POSITIVE, 5e-324] {
            let mut search = small().seconds(seconds).build(&Device::cpu()).expect("finite and above 0");
            let report = search.run(&position).expect("playable");
            assert_eq!(report.performance.steps, if seconds > 1.0 { 3 } else { 1 }, "{seconds}");
        }
        let mut search = small().seconds(f64::MAX).steps(u64::MAX).build(&Device::cpu()).expect("no limit in effect");
        let report = search.run_with(&position, &mut |_| ControlFlow::Break(())).expect("playable");
        assert_eq!(report.performance.steps, 1);
    }

    #[test]
    fn absurd_options_are_errors_that_name_them() {
        let cases: [(&str, SearchBuilder<Connect4>); 15] = [
            ("n_trees", small().n_trees(0)),
            ("n_trees", small().n_trees(u32::MAX)),
            ("n_playouts", small().n_playouts(0)),
            ("n_playouts", small().n_playouts(1 << 31)),
            ("steps", small().steps(0)),
            ("seconds", small().seconds(f64::NAN)),
            ("seconds", small().seconds(-0.0)),
            ("seconds", small().seconds(f64::INFINITY)),
            ("ucb_c", small().ucb_c(f32::NAN)),
            ("ucb_c", small().ucb_c(f32::NEG_INFINITY)),
            ("draw_value", small().draw_value(f32::NAN)),
            ("draw_value", small().draw_value(1.5)),
            ("device_memory_gb", small().device_memory_gb(f64::NAN)),
            ("device_memory_gb", small().device_memory_gb(1e-300)),
            ("threads", small().threads(usize::MAX)),
        ];
        for (option, builder) in cases {
            // Asked one by one: none of them may stumble over what the others would have refused.
            let answers = [builder.capacity().err(), builder.memory_bytes().err(), builder.build(&Device::cpu()).err()];
            let named = |error: &Error| matches!(error, Error::Option { name, .. } if *name == option);
            let n_named = answers.iter().flatten().filter(|error| named(error)).count();
            assert_eq!(n_named, if option == "threads" { 1 } else { 3 }, "{option}: {answers:?}");
        }
    }

    #[test]
    fn memory_without_bound_is_used_as_far_as_the_limits_go() {
        let builder = small().n_trees(MAX_TREES).steps(u64::MAX).device_memory_gb(f64::MAX);
        assert_eq!(builder.capacity().expect("finite"), MAX_TREE_SIZE as u32);
        assert!(builder.memory_bytes().expect("finite") > 1 << 38);
        let error = builder.build(&Device::simt()).err().expect("more than this machine has");
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    }

    #[test]
    fn absurd_block_sizes_are_errors() {
        for blocks in [BlockSizes::smallest::<Connect4>(u32::MAX), BlockSizes::listing_1::<Connect4>(u32::MAX)] {
            assert!(blocks.check::<Connect4>(u32::MAX >> 1).is_err());
        }
        let zero = BlockSizes { step: 0, ..BlockSizes::listing_1::<Connect4>(1) };
        assert!(small().block_sizes(zero).build(&Device::simt()).is_err());
    }

    #[test]
    fn options_of_a_file_are_checked_like_others() {
        let text = serde_json::to_string(&Options::default()).expect("plain");
        let with = |from: &str, to: &str| {
            assert!(text.contains(from), "{text}");
            serde_json::from_str::<Options>(&text.replace(from, to))
        };
        let no_options =
            [("8", "-8"), ("8", "1e99"), ("5.0", "1e400"), ("_c\":2.0", "_c\":1e300"), ("acp", "ask"), ("8", "null")];
        for (from, to) in no_options {
            assert!(with(from, to).is_err(), "{to}");
        }
        for (from, to) in [("5.0", "null"), ("5.0", "-1"), ("_c\":2.0", "_c\":-1")] {
            let options = with(from, to).expect("numbers of the right kind");
            assert!(Search::<Connect4>::builder().options(options).build(&Device::cpu()).is_err(), "{to}");
        }
    }
}
