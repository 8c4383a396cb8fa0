//! The search's kernels of one game, resolved, with a safe function for each; and the device arrays they work on.

use warpplay_gpu::azero::observation::{Layout, n_observation};
use warpplay_gpu::azero::search::expand::{EvaluationsArgs, uses};
use warpplay_gpu::azero::search::finish::{Found, FoundAction};
use warpplay_gpu::azero::search::step::ObservationsArgs;
use warpplay_gpu::azero::search::tree::{Head, Leaf, MAX_LEAVES, MAX_PATH, Node, Task, TreesArgs};
use warpplay_gpu::azero::search::{self, SearchKernels};

use super::options::{Noise, SearchOptions};
use crate::azero::{Inputs, ObservationLayout, Outputs, ValueOf};
use crate::runtime::launch::views;
use crate::{Buffer, Device, In, InOut, Memory, Module, Pinned, Result, Stream};

/// The trees.
struct TreeArrays<G> {
    nodes: Buffer<Node>,
    positions: Buffer<G>,
    heads: Buffer<Head>,
    leaves: Buffer<Leaf>,
    leaf_positions: Buffer<G>,
    paths: Buffer<u32>,
    roots: Buffer<G>,
    tasks: Buffer<Task>,
    capacity: u32,
    n_positions: u32,
    max_leaves: u32,
}

impl<G> TreeArrays<G> {
    /// The first `n_trees` trees.
    fn args(&mut self, n_trees: u32) -> TreesArgs<'_, G> {
        views! { TreesArgs {
            self reads roots, tasks;
            self writes nodes, positions, heads, leaves, leaf_positions, paths;
            self has capacity, n_positions, max_leaves;
            reserved: 0,
            n_trees,
        } }
    }
}

/// Everything the trees keep on their device, for `n_trees` of them.
pub(super) struct Arrays<G> {
    trees: TreeArrays<G>,
    found: Buffer<Found>,
    actions: Buffer<FoundAction>,
    /// Values of playouts, `[n_trees, max_leaves]`; empty without them.
    values: Buffer<f32>,
    host_roots: Pinned<G>,
    host_tasks: Pinned<Task>,
    host_found: Pinned<Found>,
    host_actions: Pinned<FoundAction>,
    /// Trees there is room for.
    pub n_trees: u32,
}

impl<G: SearchKernels> Arrays<G> {
    /// Adds what [`Arrays::new`] takes.
    pub fn memory(others: Memory, options: &SearchOptions, n_trees: u32, playouts: bool) -> Memory {
        let (n_trees, position) = (u64::from(n_trees), size_of::<G>());
        let nodes = u64::from(options.capacity::<G>()) * size_of::<Node>() as u64;
        let answer = size_of::<Found>() + G::MAX_LEGAL as usize * size_of::<FoundAction>();
        let copied = (position + size_of::<Task>() + answer) as u64;
        let tree = (u64::from(options.simulations) + 1) * position as u64 + size_of::<Head>() as u64 + copied;
        let value = if playouts { size_of::<f32>() } else { 0 };
        let leaf = size_of::<Leaf>() + position + MAX_PATH as usize * size_of::<u32>() + value;
        others
            .on_device("nodes", n_trees * nodes)
            .on_device("trees", n_trees * tree)
            .on_device("leaves", n_trees * u64::from(options.leaves) * leaf as u64)
            .on_host("copies of trees", n_trees * copied)
    }

    /// Takes the memory.
    pub fn new(stream: &Stream, options: &SearchOptions, n_trees: u32, playouts: bool) -> Result<Self> {
        let (capacity, max_leaves) = (options.capacity::<G>(), options.leaves);
        let n_positions = options.simulations + 1;
        let trees = n_trees as usize;
        let leaves = trees * max_leaves as usize;
        let n_actions = trees * G::MAX_LEGAL as usize;
        let tree_arrays = TreeArrays {
            nodes: stream.alloc(trees * capacity as usize)?,
            positions: stream.alloc(trees * n_positions as usize)?,
            heads: stream.alloc(trees)?,
            leaves: stream.alloc(leaves)?,
            leaf_positions: stream.alloc(leaves)?,
            paths: stream.alloc(leaves * MAX_PATH as usize)?,
            roots: stream.alloc(trees)?,
            tasks: stream.alloc(trees)?,
            capacity,
            n_positions,
            max_leaves,
        };
        Ok(Self {
            trees: tree_arrays,
            found: stream.alloc(trees)?,
            actions: stream.alloc(n_actions)?,
            values: stream.alloc(if playouts { leaves } else { 0 })?,
            host_roots: stream.pinned(trees)?,
            host_tasks: stream.pinned(trees)?,
            host_found: stream.pinned(trees)?,
            host_actions: stream.pinned(n_actions)?,
            n_trees,
        })
    }

    /// Queues the copy of positions and their tasks; the rest of `n` trees repeats the first position, with no simulations.
    pub fn write(&mut self, stream: &Stream, positions: &[(G, Task)], n: usize) -> Result<()> {
        let Some(&(first, task)) = positions.first() else { return Ok(()) };
        let idle = (first, Task { simulations: 0, ..task });
        let padded = positions.iter().copied().chain(std::iter::repeat(idle)).take(n);
        let roots = self.host_roots.as_mut_slice()?;
        let tasks = self.host_tasks.as_mut_slice()?;
        for ((position, task), (to, task_to)) in padded.zip(roots.iter_mut().zip(tasks.iter_mut())) {
            (*to, *task_to) = (position, task);
        }
        stream.write_pinned(&mut self.trees.roots, 0, &self.host_roots, n)?;
        stream.write_pinned(&mut self.trees.tasks, 0, &self.host_tasks, n)
    }

    /// What the first `n` searches found, waited for; actions `[n, MAX_LEGAL]`.
    pub fn read(&mut self, stream: &Stream, n: usize) -> Result<(&[Found], &[FoundAction])> {
        let n_actions = n * G::MAX_LEGAL as usize;
        stream.read_pinned(&self.found, 0, &mut self.host_found, n)?;
        stream.read_pinned(&self.actions, 0, &mut self.host_actions, n_actions)?;
        stream.synchronize()?;
        Ok((&self.host_found.as_slice()?[..n], &self.host_actions.as_slice()?[..n_actions]))
    }
}

/// What evaluates the leaves, as kernels see it.
pub(super) enum Rows<'a> {
    /// Inputs and outputs of a network, what its observations show, whose value it gives.
    Network(&'a mut Inputs, &'a Outputs, ObservationLayout, ValueOf),
    /// Nothing: value 0, equal priors.
    Uniform,
    /// Values by playouts, equal priors.
    Playouts,
}

impl Rows<'_> {
    /// What a step of `n_trees` trees reads, `read_stride` rows a tree, and where it writes, `write_stride` rows a tree.
    fn args<'a, G: SearchKernels>(
        &'a mut self,
        playouts: &'a Buffer<f32>,
        n_trees: u32,
        (read_stride, write_stride): (u32, u32),
    ) -> (EvaluationsArgs<'a>, ObservationsArgs<'a>) {
        let max_actions = G::MAX_ACTIONS;
        let (values, logits, uses, observations, masks, layout) = match self {
            Self::Network(inputs, outputs, layout, value_of) => {
                let of_mover = if *value_of == ValueOf::Mover { uses::OF_MOVER } else { 0 };
                let uses = uses::VALUES | uses::LOGITS | of_mover;
                let (observations, masks) = (inputs.observations.view_mut(), inputs.masks.view_mut());
                (outputs.values.view(), outputs.policy_logits.view(), uses, observations, masks, Layout::from(*layout))
            }
            Self::Uniform => (In::none(), In::none(), 0, InOut::none(), InOut::none(), Layout::Default),
            Self::Playouts => {
                (playouts.view(), In::none(), uses::VALUES, InOut::none(), InOut::none(), Layout::Default)
            }
        };
        let evaluations = EvaluationsArgs { values, logits, uses, row_stride: read_stride, n_trees, max_actions };
        let (layout, n_observation) = (layout as u32, n_observation::<G>());
        let row_stride = write_stride;
        let observations =
            ObservationsArgs { observations, masks, layout, row_stride, n_trees, n_observation, max_actions };
        (evaluations, observations)
    }
}

/// The kernels, looked up when the search is opened.
pub(super) struct Kernels<G: SearchKernels> {
    set: search::Kernels<Module, G>,
}

impl<G: SearchKernels> Kernels<G> {
    pub fn load(device: &Device) -> Result<Self> {
        Ok(Self { set: search::Kernels::load(&Module::load(device, G::PTX)?)? })
    }

    /// Roots that wait for their evaluation, one row a tree.
    pub fn begin(&self, stream: &Stream, arrays: &mut Arrays<G>, rows: &mut Rows<'_>, n_trees: u32) -> Result<()> {
        let (_, observations) = rows.args::<G>(&arrays.values, n_trees, (0, 1));
        let arguments = (arrays.trees.args(n_trees), observations);
        // SAFETY: the arrays hold so many trees, whose positions and tasks were written.
        unsafe { stream.run_unchecked_with(&self.set.azero_search_begin, (n_trees,), arguments) }
    }

    /// One step: takes the evaluations of the leaves that wait, `read_stride` rows a tree, and selects up to `n_leaves` new ones in as many rows a tree.
    pub fn step(
        &self,
        stream: &Stream,
        arrays: &mut Arrays<G>,
        rows: &mut Rows<'_>,
        c_puct: f32,
        n_trees: u32,
        (read_stride, n_leaves): (u32, u32),
    ) -> Result<()> {
        let n_leaves = n_leaves.min(arrays.trees.max_leaves);
        let launch = (n_trees, read_stride.max(n_leaves).min(MAX_LEAVES));
        let (evaluations, observations) = rows.args::<G>(&arrays.values, n_trees, (read_stride, n_leaves));
        let arguments = (arrays.trees.args(n_trees), evaluations, observations, c_puct, n_leaves);
        // SAFETY: a warp for each leaf, of those that wait, at most `read_stride`, and of those to be selected; every tree was begun.
        unsafe { stream.run_unchecked_with(&self.set.azero_search_step, launch, arguments) }
    }

    /// Noise in the roots' priors, after the step that expanded them.
    pub fn noise(&self, stream: &Stream, arrays: &mut Arrays<G>, noise: Noise, n_trees: u32) -> Result<()> {
        let arguments = (arrays.trees.args(n_trees), noise.alpha, noise.epsilon);
        // SAFETY: the caller has expanded the roots; were they not, they would have no children to change.
        unsafe { stream.run_unchecked_with(&self.set.azero_search_noise, (n_trees,), arguments) }
    }

    /// Values by playouts for the leaves that wait, `row_stride` rows a tree.
    pub fn playouts(
        &self,
        stream: &Stream,
        arrays: &mut Arrays<G>,
        n: u32,
        n_trees: u32,
        row_stride: u32,
    ) -> Result<()> {
        let arguments = (arrays.trees.args(n_trees), &mut arrays.values, row_stride, n);
        // SAFETY: a block for each row; leaves that wait have been selected.
        unsafe { stream.run_unchecked_with(&self.set.azero_search_playouts, (n_trees,), arguments) }
    }

    /// What the searches found.
    pub fn finish(&self, stream: &Stream, arrays: &mut Arrays<G>, n_trees: u32) -> Result<()> {
        let arguments = (arrays.trees.args(n_trees), &mut arrays.found, &mut arrays.actions, n_trees);
        // SAFETY: the roots were expanded and all values have arrived.
        unsafe { stream.run_unchecked(&self.set.azero_search_finish, arguments) }
    }
}
