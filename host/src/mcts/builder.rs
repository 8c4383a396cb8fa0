//! How a search is built.

use std::marker::PhantomData;

use warpplay_gpu::mcts::KernelSet;

use super::blocks::BlockSizes;
use super::options::{Engine, Options, Variant};
use super::search::Search;
use super::{dispatch, layout};
#[cfg(doc)]
use crate::Error;
use crate::runtime::setters::setters;
use crate::{Device, Memory, Result};

impl<G: KernelSet> Search<G> {
    /// Makes a builder with the default options.
    pub fn builder() -> SearchBuilder<G> {
        SearchBuilder {
            options: Options::default(),
            blocks: None,
            profile_steps: None,
            action_name: None,
            game: PhantomData,
        }
    }
}

/// Options of a [`Search`]; made by [`Search::builder`].
#[derive(Clone, Debug)]
pub struct SearchBuilder<G> {
    options: Options,
    blocks: Option<BlockSizes>,
    profile_steps: Option<u32>,
    action_name: Option<fn(u32) -> String>,
    game: PhantomData<fn() -> G>,
}

impl<G: KernelSet> SearchBuilder<G> {
    /// The options so far, for the heading of a journal.
    #[cfg(feature = "azero")]
    pub(crate) fn to_json(&self) -> serde_json::Value {
        // The seed is another one at each move, and the result does not depend on threads.
        crate::runtime::journal::options(&self.options, &["seed", "threads"])
    }

    /// All options at once, as a report records them.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    setters! {
        /// Which children are played out and how; default [`Variant::AcpProdigal`].
        variant: Variant,
        /// Independent trees T, 1 to 512; default 8.
        n_trees: u32,
        /// Playouts m of a child in one step, a power of two from 1 to 512; default 128.
        n_playouts: u32,
        /// Ends the search after this many steps; default no limit.
        steps: u64 = Some(steps),
        /// Ends the search after this many seconds; default 5. With a step limit too, the first limit reached ends it.
        seconds: f64 = Some(seconds),
        /// Exploration constant C of the upper confidence bound, finite and not negative; default 2.
        ucb_c: f32,
        /// What a draw is worth, 0 to 1; default 0.5. The paper's program counts 0.
        draw_value: f32,
        /// Device memory in GiB; default 2. The size of the trees follows from it.
        device_memory_gb: f64,
        /// Seed of all random streams; default 0.
        seed: u64,
        /// What runs the search; default [`Engine::Auto`].
        engine: Engine,
        /// Threads of the CPU back end, 1 to 1024; default all cores, 1 is the sequential form. Other back ends ignore it.
        threads: impl Into<Option<usize>> = threads.into(),
    }

    /// No time limit.
    pub fn no_seconds(mut self) -> Self {
        self.options.seconds = None;
        self
    }

    /// Threads per block of each stage; default [`BlockSizes::listing_1`].
    pub fn block_sizes(mut self, blocks: BlockSizes) -> Self {
        self.blocks = Some(blocks);
        self
    }

    /// Steps of the profiling run that measures the stages after a search on a device; default 32 on a GPU and 1 under `simt`; 0 skips the run.
    pub fn profile_steps(mut self, steps: u32) -> Self {
        self.profile_steps = Some(steps);
        self
    }

    /// Names of the actions in reports, such as `Connect4::action_name`; default the index from 0, which is not the notation that a player types.
    pub fn action_names(mut self, name: fn(u32) -> String) -> Self {
        self.action_name = Some(name);
        self
    }

    /// The number of nodes that each tree can hold: as many as fit into the device memory, at most 2²⁴, and no more than the steps can use.
    ///
    /// # Errors
    /// [`Error::Option`] as [`build`](Self::build).
    pub fn capacity(&self) -> Result<u32> {
        layout::capacity::<G>(&self.options)
    }

    /// Memory that the search takes on this device. On the CPU back end trees grow as they fill; there it is the most that they can take on the host.
    ///
    /// # Errors
    /// [`Error::Option`] as [`build`](Self::build).
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        dispatch::choose(&self.options, device.backend())?;
        layout::memory_needed::<G>(&self.options, device.backend())
    }

    /// Checks the options and allocates the memory.
    ///
    /// # Errors
    /// [`Error::Option`] names the first option that is not allowed; [`Error::OutOfMemory`] if the device has too little;
    /// [`Error::PtxMissing`], [`Error::MissingKernel`] and others if the kernels cannot be loaded.
    pub fn build(self, device: &Device) -> Result<Search<G>> {
        let options = &self.options;
        let capacity = layout::capacity::<G>(options)?;
        let memory = layout::memory_needed::<G>(options, device.backend())?;
        let blocks = self.blocks.unwrap_or_else(|| BlockSizes::listing_1::<G>(options.n_trees));
        blocks.check::<G>(options.n_trees)?;
        tracing::info!(game = G::NAME, device = %device.backend(), %memory, tree_capacity = capacity, ?options);
        let (engine, runner) = dispatch::open(device, options, &memory, capacity, blocks)?;
        let action_name = self.action_name.unwrap_or(|action| action.to_string());
        Ok(Search::new(self.options, device, engine, memory, self.profile_steps, action_name, runner))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::mcts::options::{MAX_TREE_SIZE, MAX_TREES};
    use crate::mcts::{Connect4, position_after};
    use crate::{Error, Progress};

    fn small() -> SearchBuilder<Connect4> {
        Search::builder().n_trees(1).n_playouts(2).steps(3).no_seconds()
    }

    #[test]
    fn any_limit_of_time_can_be_met() {
        let position = position_after("44").expect("legal");
        for seconds in [f64::MAX, 1.9e19, 1e308, f64::MIN_POSITIVE, 5e-324] {
            let mut search = small().seconds(seconds).build(&Device::cpu()).expect("finite and above 0");
            let report = search.run(&position, Progress::go_on).expect("playable");
            assert_eq!(report.performance.steps, if seconds > 1.0 { 3 } else { 1 }, "{seconds}");
        }
        let mut search = small().seconds(f64::MAX).steps(u64::MAX).build(&Device::cpu()).expect("no limit in effect");
        let report = search.run(&position, |_| ControlFlow::Break(())).expect("playable");
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
            let answers = [
                builder.capacity().err(),
                builder.memory_needed(&Device::cpu()).err(),
                builder.build(&Device::cpu()).err(),
            ];
            let named = |error: &Error| matches!(error, Error::Option { name, .. } if *name == option);
            let n_named = answers.iter().flatten().filter(|error| named(error)).count();
            assert_eq!(n_named, 3, "{option}: {answers:?}");
        }
    }

    #[test]
    fn memory_without_bound_is_used_as_far_as_the_limits_go() {
        let builder = small().n_trees(MAX_TREES).steps(u64::MAX).device_memory_gb(f64::MAX);
        assert_eq!(builder.capacity().expect("finite"), MAX_TREE_SIZE as u32);
        assert!(builder.memory_needed(&Device::simt()).expect("finite").device() > 1 << 38);
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
