//! The search kernels of one game, resolved, with a safe function for each stage; and the device arrays they work on.

use std::time::Instant;

use warpplay_gpu::kernel::ShapedKernel;
use warpplay_gpu::mcts::reduce::RootAction;
use warpplay_gpu::mcts::tree::{NodeLink, NodeStats, PATH_STRIDE, PlayoutCounts, TreeHead, TreesArgs};
use warpplay_gpu::mcts::{self, Game, KernelSet, rng};

use crate::mcts::blocks::BlockSizes;
use crate::mcts::layout::lanes_per_tree;
use crate::mcts::options::Options;
use crate::runtime::launch::views;
use crate::{Buffer, Device, Function, InOut, IntoParams, Module, Pinned, Result, Stream};

/// The trees.
struct TreeArrays<G> {
    stats: Buffer<NodeStats>,
    states: Buffer<G>,
    links: Buffer<NodeLink>,
    heads: Buffer<TreeHead>,
    paths: Buffer<u32>,
    expanded: Buffer<u16>,
    outcomes: Buffer<PlayoutCounts>,
    playout_streams: Buffer<[u64; 2]>,
    expansion_streams: Buffer<[u64; 2]>,
    capacity: u32,
    n_trees: u32,
    n_playouts: u32,
    n_lanes: u32,
}

impl<G: Game> TreeArrays<G> {
    fn args(&mut self) -> TreesArgs<'_, G> {
        views! { TreesArgs {
            self writes stats, states, links, heads, paths, expanded, outcomes;
            self has capacity, n_trees, n_playouts, n_lanes;
            playout_streams: self.playout_streams.view_mut().into(),
            expansion_streams: self.expansion_streams.view_mut().into(),
            reserved: 0,
            n_actions: G::MAX_ACTIONS,
        } }
    }
}

/// Everything a search keeps on its device.
pub(in crate::mcts) struct Arrays<G> {
    trees: TreeArrays<G>,
    sums: Buffer<PlayoutCounts>,
    polynomials: Buffer<[u64; 2]>,
    root: Buffer<G>,
    children: Buffer<[u16; 2]>,
    root_actions: Buffer<u16>,
    totals: Buffer<RootAction>,
    best: Buffer<RootAction>,
    host_heads: Pinned<TreeHead>,
    host_children: Pinned<[u16; 2]>,
}

impl<G: Game> Arrays<G> {
    /// Takes the memory for trees of `capacity` nodes.
    pub fn new(stream: &Stream, options: &Options, capacity: u32) -> Result<Self>
    where
        G: KernelSet,
    {
        let n_trees = options.n_trees as usize;
        let nodes = n_trees * capacity as usize;
        let actions = n_trees * G::MAX_ACTIONS as usize;
        let n_lanes = lanes_per_tree::<G>(options);
        let trees = TreeArrays {
            stats: stream.alloc(nodes)?,
            states: stream.alloc(nodes)?,
            links: stream.alloc(nodes)?,
            heads: stream.alloc(n_trees)?,
            paths: stream.alloc(n_trees * PATH_STRIDE as usize)?,
            expanded: stream.alloc(actions)?,
            outcomes: stream.alloc(actions)?,
            playout_streams: stream.alloc(n_trees * n_lanes as usize)?,
            expansion_streams: stream.alloc(n_trees)?,
            capacity,
            n_trees: options.n_trees,
            n_playouts: options.n_playouts,
            n_lanes,
        };
        Ok(Self {
            trees,
            sums: stream.alloc(n_trees)?,
            polynomials: stream.upload(&rng::jump_polynomials())?,
            root: stream.alloc(1)?,
            children: stream.alloc(actions)?,
            root_actions: stream.alloc(G::MAX_ACTIONS as usize)?,
            totals: stream.alloc(G::MAX_ACTIONS as usize)?,
            best: stream.alloc(1)?,
            host_heads: stream.pinned(n_trees)?,
            host_children: stream.pinned(actions)?,
        })
    }

    /// Copies the trees' heads to the host and waits for them.
    pub fn read_heads(&mut self, stream: &Stream) -> Result<&[TreeHead]> {
        stream.read_pinned(&self.trees.heads, 0, &mut self.host_heads, self.trees.n_trees as usize)?;
        stream.synchronize()?;
        self.host_heads.as_slice()
    }

    /// Lists (tree, rank) of every child that the step made, a single entry for a tree that did not grow, and queues the list's copy to the device.
    /// Returns its length.
    pub fn list_children(&mut self, stream: &Stream) -> Result<u32> {
        stream.read_pinned(&self.trees.heads, 0, &mut self.host_heads, self.trees.n_trees as usize)?;
        stream.synchronize()?;
        let list = self.host_children.as_mut_slice()?;
        let mut n = 0;
        for (tree, head) in self.host_heads.as_slice()?.iter().enumerate() {
            for rank in 0..head.n_expanded.max(1) {
                list[n] = [tree as u16, rank as u16];
                n += 1;
            }
        }
        stream.write_pinned(&mut self.children, 0, &self.host_children, n)?;
        Ok(n as u32)
    }

    /// Number of the root's children, waited for. The root is the first node of the first tree.
    pub fn root_children(&self, stream: &Stream) -> Result<u32> {
        let mut root = [NodeStats::default()];
        stream.read_into(&self.trees.stats, 0, &mut root)?;
        Ok(root[0].n_children())
    }

    /// The sums over the trees, by action or by rank, waited for.
    pub fn read_totals(&self, stream: &Stream) -> Result<Vec<RootAction>> {
        stream.read(&self.totals)
    }

    /// The best action, waited for.
    pub fn read_best(&self, stream: &Stream) -> Result<RootAction> {
        Ok(stream.read(&self.best)?.first().copied().unwrap_or_default())
    }
}

/// The kernels, looked up when the family is opened.
pub(in crate::mcts) struct Kernels<G: KernelSet> {
    blocks: BlockSizes,
    /// Shared memory that a block may have.
    max_shared_bytes: u32,
    /// Whether each kernel is traced and waited for.
    pub trace: bool,
    set: mcts::Kernels<Module, G>,
}

/// A game's whole module, loaded: a kernel that is missing is found here, at the door.
pub(in crate::mcts) fn load<G: KernelSet>(device: &Device, blocks: BlockSizes) -> Result<Kernels<G>> {
    let module = Module::load(device, G::PTX)?;
    Ok(Kernels {
        blocks,
        max_shared_bytes: device.info()?.max_shared_per_block,
        trace: false,
        set: mcts::Kernels::load(&module)?,
    })
}

impl<G: KernelSet> Kernels<G> {
    /// Launches one kernel; where tracing is on, waits for it and notes grid, block and time.
    ///
    /// # Safety
    /// As [`Stream::run_unchecked_with`].
    unsafe fn launch<K, A>(
        &self,
        stream: &Stream,
        function: &Function<K>,
        launch: K::Launch,
        arguments: A,
    ) -> Result<()>
    where
        K: ShapedKernel<Params: IntoParams<K::Params>>,
        A: IntoParams<K::Views>,
    {
        if !self.trace {
            // SAFETY: the caller's promise.
            return unsafe { stream.run_unchecked_with(function, launch, arguments) };
        }
        stream.synchronize()?;
        let start = Instant::now();
        // SAFETY: the caller's promise.
        let shape = unsafe { stream.run_declared(function, launch, arguments, true)? };
        stream.synchronize()?;
        let (ms, grid, block) = (start.elapsed().as_secs_f64() * 1e3, shape.grid, shape.block[0]);
        tracing::debug!(kernel = K::NAME, ?grid, block, ms);
        Ok(())
    }

    /// Sets all streams to their beginning and every tree to its root.
    pub fn reset(&self, stream: &Stream, arrays: &mut Arrays<G>, position: &G, seed: u64) -> Result<()> {
        let Arrays { trees, polynomials, .. } = arrays;
        self.seed(stream, &mut trees.playout_streams, polynomials, rng::playout_base(seed))?;
        self.seed(stream, &mut trees.expansion_streams, polynomials, rng::expansion_base(seed))?;
        stream.write(&mut arrays.root, 0, std::slice::from_ref(position))?;
        let threads = (self.blocks.reset,);
        // SAFETY: nothing else works on the trees; the root is a position.
        unsafe { self.launch(stream, &self.set.mcts_reset, threads, (arrays.trees.args(), &arrays.root)) }
    }

    /// Sets streams to jumps from `base`.
    fn seed(
        &self,
        stream: &Stream,
        streams: &mut Buffer<[u64; 2]>,
        polynomials: &Buffer<[u64; 2]>,
        base: [u64; 2],
    ) -> Result<()> {
        let n = streams.len() as u32;
        let arguments = (InOut::from(streams.view_mut()), n, base[0], base[1], polynomials);
        // SAFETY: the polynomials are those of the family; a seed's state is never zero.
        unsafe { self.launch(stream, &self.set.mcts_seed_streams, (), arguments) }
    }

    /// Selection.
    pub fn select(&self, stream: &Stream, arrays: &mut Arrays<G>, options: &Options) -> Result<()> {
        let threads = (self.blocks.select,);
        let arguments = (arrays.trees.args(), options.ucb_c, options.draw_value);
        // SAFETY: the reset made the trees.
        unsafe { self.launch(stream, &self.set.mcts_select, threads, arguments) }
    }

    /// Expansion, step 1.
    pub fn expand_1(&self, stream: &Stream, arrays: &mut Arrays<G>, options: &Options) -> Result<()> {
        use crate::mcts::Variant::{AcpProdigal, AcpThrifty, OcpProdigal, OcpThrifty};
        let threads = (self.blocks.expand_1,);
        let trees = arrays.trees.args();
        // SAFETY: a leaf has been selected.
        unsafe {
            match options.variant {
                OcpThrifty => self.launch(stream, &self.set.mcts_expand_1_ocp_thrifty, threads, (trees,)),
                OcpProdigal => self.launch(stream, &self.set.mcts_expand_1_ocp_prodigal, threads, (trees,)),
                AcpThrifty => self.launch(stream, &self.set.mcts_expand_1_acp_thrifty, threads, (trees,)),
                AcpProdigal => self.launch(stream, &self.set.mcts_expand_1_acp_prodigal, threads, (trees,)),
            }
        }
    }

    /// Expansion, step 2; `n_listed` entries of the list of children where the variant is thrifty.
    pub fn expand_2(&self, stream: &Stream, arrays: &mut Arrays<G>, options: &Options, n_listed: u32) -> Result<()> {
        let threads = self.blocks.expand_2;
        let trees = arrays.trees.args();
        // SAFETY: step 1 is done, by the same variant; where it is thrifty, the list was made from this step's heads.
        unsafe {
            if options.variant.is_thrifty() {
                let arguments = (trees, &arrays.children);
                self.launch(stream, &self.set.mcts_expand_2_thrifty, (n_listed, threads), arguments)
            } else {
                self.launch(stream, &self.set.mcts_expand_2_prodigal, (threads,), (trees,))
            }
        }
    }

    /// Notes the root's actions; after the first expansion.
    pub fn memorize_root_actions(&self, stream: &Stream, arrays: &mut Arrays<G>) -> Result<()> {
        let threads = (self.blocks.reduce_over_actions,);
        let arguments = (arrays.trees.args(), &mut arrays.root_actions);
        // SAFETY: the first step is done.
        unsafe { self.launch(stream, &self.set.mcts_memorize_root_actions, threads, arguments) }
    }

    /// Playouts; `n_listed` entries of the list of children where the variant is thrifty.
    pub fn playout(&self, stream: &Stream, arrays: &mut Arrays<G>, options: &Options, n_listed: u32) -> Result<()> {
        let most = self.max_shared_bytes;
        let trees = arrays.trees.args();
        // SAFETY: expansion is done, by the same variant; the list, if any, was made from this step's heads; the streams are as many as the variant has lanes.
        unsafe {
            if !options.variant.plays_all_children() {
                self.launch(stream, &self.set.mcts_playout_ocp, (most,), (trees,))
            } else if options.variant.is_thrifty() {
                let arguments = (trees, &arrays.children);
                self.launch(stream, &self.set.mcts_playout_acp_thrifty, (n_listed, most), arguments)
            } else {
                self.launch(stream, &self.set.mcts_playout_acp_prodigal, (most,), (trees,))
            }
        }
    }

    /// Backup, all of it.
    pub fn backup(&self, stream: &Stream, arrays: &mut Arrays<G>, options: &Options) -> Result<()> {
        let (first, second) = ((self.blocks.backup_1,), (self.blocks.backup_2,));
        let Arrays { trees, sums, .. } = arrays;
        // SAFETY: the playouts of this step are done; the second half reads what the first wrote.
        unsafe {
            if !options.variant.plays_all_children() {
                return self.launch(stream, &self.set.mcts_backup_ocp, second, (trees.args(),));
            }
            if options.variant.is_thrifty() {
                self.launch(stream, &self.set.mcts_backup_1_acp_thrifty, first, (trees.args(), &mut *sums))?;
            } else {
                self.launch(stream, &self.set.mcts_backup_1_acp_prodigal, first, (trees.args(), &mut *sums))?;
            }
            self.launch(stream, &self.set.mcts_backup_2_acp, second, (trees.args(), &*sums))
        }
    }

    /// Backup of the last step, selection and expansion, step 1, in one kernel (prodigal variants).
    pub fn step(&self, stream: &Stream, arrays: &mut Arrays<G>, options: &Options) -> Result<()> {
        let threads = (self.blocks.step,);
        let arguments = (arrays.trees.args(), options.ucb_c, options.draw_value);
        // SAFETY: the last step's playouts are in the arrays.
        unsafe {
            if options.variant.plays_all_children() {
                self.launch(stream, &self.set.mcts_step_acp, threads, arguments)
            } else {
                self.launch(stream, &self.set.mcts_step_ocp, threads, arguments)
            }
        }
    }

    /// Expansion, step 2, and playouts in one kernel (prodigal variants, after [`step`](Self::step)).
    pub fn play(&self, stream: &Stream, arrays: &mut Arrays<G>, options: &Options) -> Result<()> {
        let most = (self.max_shared_bytes,);
        let trees = arrays.trees.args();
        // SAFETY: the step's other half is done; the streams are as many as the variant has lanes.
        unsafe {
            if options.variant.plays_all_children() {
                self.launch(stream, &self.set.mcts_play_acp, most, (trees,))
            } else {
                self.launch(stream, &self.set.mcts_play_ocp, most, (trees,))
            }
        }
    }

    /// Sums over the trees. Returns how many entries of the totals hold actions.
    pub fn reduce_over_trees(
        &self,
        stream: &Stream,
        arrays: &mut Arrays<G>,
        options: &Options,
        n_root_actions: u32,
    ) -> Result<u32> {
        let n = if options.variant.is_thrifty() { n_root_actions } else { G::MAX_ACTIONS };
        let launch = (n, self.blocks.reduce_over_trees);
        let arguments = (arrays.trees.args(), &arrays.root_actions, &mut arrays.totals);
        // SAFETY: as many as the root has children (thrifty) or as there are actions, which were noted.
        unsafe {
            if options.variant.is_thrifty() {
                self.launch(stream, &self.set.mcts_reduce_over_trees_thrifty, launch, arguments)?;
            } else {
                self.launch(stream, &self.set.mcts_reduce_over_trees_prodigal, launch, arguments)?;
            }
        }
        Ok(n)
    }

    /// The best of the first `n_totals` entries of the totals.
    pub fn reduce_over_actions(&self, stream: &Stream, arrays: &mut Arrays<G>, n_totals: u32) -> Result<()> {
        let threads = (self.blocks.reduce_over_actions,);
        let arguments = (&arrays.totals, &mut arrays.best, n_totals);
        // SAFETY: the kernel's declaration has all lengths, and whole warps.
        unsafe { self.launch(stream, &self.set.mcts_reduce_over_actions, threads, arguments) }
    }
}

/// Raw playouts from one position, for [`RawPlayouts`](crate::mcts::RawPlayouts).
pub(in crate::mcts) struct RawArrays<G> {
    root: Buffer<G>,
    streams: Buffer<[u64; 2]>,
    polynomials: Buffer<[u64; 2]>,
    /// Wins of the first player, of the second, draws, plies.
    pub totals: Buffer<u64>,
}

impl<G: KernelSet> RawArrays<G> {
    /// Takes memory for `n_threads` threads and seeds their streams.
    pub fn new(stream: &Stream, kernels: &Kernels<G>, position: &G, n_threads: u32, seed: u64) -> Result<Self> {
        let mut arrays = Self {
            root: stream.upload(std::slice::from_ref(position))?,
            streams: stream.alloc(n_threads as usize)?,
            polynomials: stream.upload(&rng::jump_polynomials())?,
            totals: stream.alloc(4)?,
        };
        kernels.seed(stream, &mut arrays.streams, &arrays.polynomials, rng::playout_base(seed))?;
        Ok(arrays)
    }

    /// Every thread plays `n_games` games, without waiting for its neighbours where `restart` is set.
    pub fn launch(
        &mut self,
        stream: &Stream,
        kernels: &Kernels<G>,
        threads: u32,
        n_games: u32,
        restart: bool,
    ) -> Result<()> {
        // A launch of 0 threads is refused by the kernel's condition.
        let launch = ((self.streams.len() as u32).checked_div(threads).unwrap_or(0), threads);
        let arguments = (&self.root, InOut::from(self.streams.view_mut()), &mut self.totals, n_games);
        // SAFETY: the position is not over.
        unsafe {
            if restart {
                kernels.launch(stream, &kernels.set.mcts_raw_restart, launch, arguments)
            } else {
                kernels.launch(stream, &kernels.set.mcts_raw_playouts, launch, arguments)
            }
        }
    }
}
