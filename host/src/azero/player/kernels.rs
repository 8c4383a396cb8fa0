//! The search's kernels of one game, resolved, with a safe function for each; and the device arrays they work on.

use std::ptr;

use warpplay_gpu::azero::search::begin;
use warpplay_gpu::azero::search::expand::{Evaluations, uses};
use warpplay_gpu::azero::search::finish::{self, Found, FoundAction};
use warpplay_gpu::azero::search::step::{self, Observations};
use warpplay_gpu::azero::search::tree::{Head, Leaf, MAX_LEAVES, MAX_PATH, Node, Task, Trees};
use warpplay_gpu::azero::search::{SearchKernels, playouts};

use super::options::{Noise, SearchOptions};
use crate::azero::{Inputs, ObservationLayout, Outputs, ValueOf};
use crate::{Buffer, Device, Error, Function, Memory, Module, Pinned, Result, Stream};

/// Everything the trees keep on their device, for `n_trees` of them.
pub(super) struct Arrays<G> {
    nodes: Buffer<Node>,
    positions: Buffer<G>,
    heads: Buffer<Head>,
    leaves: Buffer<Leaf>,
    leaf_positions: Buffer<G>,
    paths: Buffer<u32>,
    roots: Buffer<G>,
    tasks: Buffer<Task>,
    found: Buffer<Found>,
    actions: Buffer<FoundAction>,
    /// Values of playouts, `[n_trees, max_leaves]`; empty without them.
    values: Buffer<f32>,
    host_roots: Pinned<G>,
    host_tasks: Pinned<Task>,
    host_found: Pinned<Found>,
    host_actions: Pinned<FoundAction>,
    capacity: u32,
    n_positions: u32,
    max_leaves: u32,
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
        Ok(Self {
            nodes: stream.alloc(trees * capacity as usize)?,
            positions: stream.alloc(trees * n_positions as usize)?,
            heads: stream.alloc(trees)?,
            leaves: stream.alloc(leaves)?,
            leaf_positions: stream.alloc(leaves)?,
            paths: stream.alloc(leaves * MAX_PATH as usize)?,
            roots: stream.alloc(trees)?,
            tasks: stream.alloc(trees)?,
            found: stream.alloc(trees)?,
            actions: stream.alloc(n_actions)?,
            values: stream.alloc(if playouts { leaves } else { 0 })?,
            host_roots: stream.pinned(trees)?,
            host_tasks: stream.pinned(trees)?,
            host_found: stream.pinned(trees)?,
            host_actions: stream.pinned(n_actions)?,
            capacity,
            n_positions,
            max_leaves,
            n_trees,
        })
    }

    fn view(&mut self) -> Trees<G> {
        Trees {
            nodes: self.nodes.as_mut_ptr(),
            positions: self.positions.as_mut_ptr(),
            heads: self.heads.as_mut_ptr(),
            leaves: self.leaves.as_mut_ptr(),
            leaf_positions: self.leaf_positions.as_mut_ptr(),
            paths: self.paths.as_mut_ptr(),
            roots: self.roots.as_ptr(),
            tasks: self.tasks.as_ptr(),
            capacity: self.capacity,
            n_positions: self.n_positions,
            max_leaves: self.max_leaves,
            reserved: 0,
        }
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
        stream.write_pinned(&mut self.roots, 0, &self.host_roots, n)?;
        stream.write_pinned(&mut self.tasks, 0, &self.host_tasks, n)
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
    fn observations(&mut self, row_stride: u32) -> Observations {
        match self {
            Self::Network(inputs, _, layout, _) => Observations {
                observations: inputs.observations.as_mut_ptr(),
                masks: inputs.masks.as_mut_ptr(),
                layout: warpplay_gpu::azero::observation::Layout::from(*layout) as u32,
                row_stride,
            },
            _ => Observations { observations: ptr::null_mut(), masks: ptr::null_mut(), layout: 0, row_stride },
        }
    }

    fn evaluations(&self, playouts: &Buffer<f32>, row_stride: u32) -> Evaluations {
        match self {
            Self::Network(_, outputs, _, value_of) => Evaluations {
                values: outputs.values.as_ptr(),
                logits: outputs.policy_logits.as_ptr(),
                uses: uses::VALUES | uses::LOGITS | if *value_of == ValueOf::Mover { uses::OF_MOVER } else { 0 },
                row_stride,
            },
            Self::Uniform => Evaluations { values: ptr::null(), logits: ptr::null(), uses: 0, row_stride },
            Self::Playouts => {
                Evaluations { values: playouts.as_ptr(), logits: ptr::null(), uses: uses::VALUES, row_stride }
            }
        }
    }

    /// Checks that there is a row for each leaf of `n_trees` trees.
    fn check<G: SearchKernels>(&self, n_rows: u32) -> Result<()> {
        let Self::Network(inputs, outputs, ..) = self else { return Ok(()) };
        let n = n_rows as usize;
        let cells = (G::PLANES * G::BOARD.0 * G::BOARD.1) as usize;
        let actions = G::MAX_ACTIONS as usize;
        for (name, len, each) in [
            ("observations", inputs.observations.len(), cells),
            ("masks", inputs.masks.len(), actions),
            ("values", outputs.values.len(), 1),
            ("policy logits", outputs.policy_logits.len(), actions),
        ] {
            if len < n * each {
                return Err(Error::shape(name, format!("at least {} values", n * each), len));
            }
        }
        Ok(())
    }
}

/// The kernels, looked up when the search is opened.
pub(super) struct Kernels<G: SearchKernels> {
    begin: Function<G::Begin>,
    noise: Function<G::Noise>,
    step: Function<G::Step>,
    playouts: Function<G::Playouts>,
    finish: Function<G::Finish>,
}

impl<G: SearchKernels> Kernels<G> {
    pub fn load(device: &Device) -> Result<Self> {
        let module = Module::load(device, G::PTX)?;
        Ok(Self {
            begin: module.function(Default::default())?,
            noise: module.function(Default::default())?,
            step: module.function(Default::default())?,
            playouts: module.function(Default::default())?,
            finish: module.function(Default::default())?,
        })
    }

    /// Roots that wait for their evaluation, one row a tree.
    pub fn begin(&self, stream: &Stream, arrays: &mut Arrays<G>, rows: &mut Rows<'_>, n_trees: u32) -> Result<()> {
        rows.check::<G>(n_trees)?;
        let n_trees = n_trees.min(arrays.n_trees);
        let out = rows.observations(1);
        let arguments = (arrays.view(), out);
        // SAFETY: a warp a tree, of which there is room for as many; positions and tasks were written; a row for each tree was checked.
        unsafe { stream.launch(&self.begin, begin::shape(n_trees), arguments) }
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
        let n_trees = n_trees.min(arrays.n_trees);
        let (read_stride, n_leaves) = (read_stride.min(arrays.max_leaves), n_leaves.min(arrays.max_leaves));
        let most = read_stride.max(n_leaves).min(MAX_LEAVES);
        rows.check::<G>(n_trees * most)?;
        let evaluations = rows.evaluations(&arrays.values, read_stride);
        let arguments = (arrays.view(), evaluations, rows.observations(n_leaves), c_puct, n_leaves);
        // SAFETY: a block a tree with a warp for each leaf, of those that wait and of those to be selected; every tree was begun; rows were checked.
        unsafe { stream.launch(&self.step, step::shape(n_trees, most), arguments) }
    }

    /// Noise in the roots' priors, after the step that expanded them.
    pub fn noise(&self, stream: &Stream, arrays: &mut Arrays<G>, noise: Noise, n_trees: u32) -> Result<()> {
        let shape = begin::shape(n_trees.min(arrays.n_trees));
        // SAFETY: a warp a tree; the caller has expanded the roots; were they not, they would have no children to change.
        unsafe { stream.launch(&self.noise, shape, (arrays.view(), noise.alpha, noise.epsilon)) }
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
        let (n_trees, row_stride) = (n_trees.min(arrays.n_trees), row_stride.min(arrays.max_leaves));
        arrays.values.expect_len("values of playouts", (arrays.n_trees * arrays.max_leaves) as usize)?;
        let shape = playouts::shape::<G>(n_trees, row_stride, n);
        let view = arrays.view();
        // SAFETY: a block for each row; leaves that wait have been selected; the values' length was checked; options keep `n` below 2¹⁶.
        unsafe { stream.launch(&self.playouts, shape, (view, &mut arrays.values, row_stride, n)) }
    }

    /// What the searches found.
    pub fn finish(&self, stream: &Stream, arrays: &mut Arrays<G>, n_trees: u32) -> Result<()> {
        let n_trees = n_trees.min(arrays.n_trees);
        let view = arrays.view();
        let arguments = (view, &mut arrays.found, &mut arrays.actions, n_trees);
        // SAFETY: a thread a tree; the roots were expanded and all values have arrived; the results have room for every tree.
        unsafe { stream.launch(&self.finish, finish::shape(n_trees), arguments) }
    }
}
