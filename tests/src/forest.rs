//! Trees grown kernel by kernel, so that every node can be read: what the engine does inside, with the arrays open.

use warpplay::mcts::{Game, KernelSet, Outcome, Player, Variant};
use warpplay::{Buffer, Device, InOut, LaunchShape, Module, Result, Stream};
use warpplay_cpu_ref::mcts as reference;
use warpplay_gpu::kernel::Kernel;
use warpplay_gpu::mcts::playout;
use warpplay_gpu::mcts::rng;
use warpplay_gpu::mcts::tree::{NodeLink, NodeStats, PATH_STRIDE, PlayoutCounts, TreeHead, TreesArgs};

/// Shared memory that every device gives a block without being asked.
const SHARED_BYTES: u32 = 48 * 1024;

/// A node in plain terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Playouts, wins of the mover, draws.
    pub n: u64,
    /// Of these, won by the player who moved into the node.
    pub wins: u64,
    /// Of these, drawn.
    pub draws: u64,
    /// Index of the first child; 0 without children.
    pub first_child: u32,
    /// Number of children.
    pub n_children: u32,
    /// The action that led here.
    pub action: u32,
    /// Index of the parent.
    pub parent: u32,
    /// Distance from the root.
    pub depth: u32,
    /// Who moved here.
    pub mover: Player,
    /// How the position stands.
    pub outcome: Outcome,
}

/// All nodes of one tree.
pub struct Tree<G> {
    /// The nodes, the root first.
    pub nodes: Vec<Node>,
    /// Their positions.
    pub states: Vec<G>,
}

/// Options of a forest.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The variant.
    pub variant: Variant,
    /// Trees.
    pub n_trees: u32,
    /// Playouts of a child in a step.
    pub n_playouts: u32,
    /// Nodes that a tree can hold.
    pub capacity: u32,
    /// Exploration constant.
    pub ucb_c: f32,
    /// Worth of a draw.
    pub draw_value: f32,
    /// Seed of all streams.
    pub seed: u64,
    /// Most threads of the blocks that work on a whole tree: whole warps; kernels that need a thread an action get that many.
    pub block: u32,
}

impl Shape {
    /// A small search of a variant.
    pub const fn new(variant: Variant) -> Self {
        Self { variant, n_trees: 2, n_playouts: 4, capacity: 4096, ucb_c: 2.0, draw_value: 0.5, seed: 1, block: 256 }
    }

    /// The same as the reference takes it.
    pub const fn reference(&self) -> reference::Params {
        reference::Params {
            variant: if self.variant.plays_all_children() { reference::Variant::Acp } else { reference::Variant::Ocp },
            n_trees: self.n_trees as usize,
            n_playouts: self.n_playouts as usize,
            max_tree_nodes: self.capacity as usize,
            ucb_c: self.ucb_c,
            draw_value: self.draw_value,
            seed: self.seed,
            max_depth: warpplay_gpu::mcts::tree::MAX_DEPTH as usize,
        }
    }
}

/// T trees on a device.
pub struct Forest<G: KernelSet> {
    launcher: Launcher,
    trees: Arrays<G>,
    sums: Buffer<PlayoutCounts>,
}

/// What launches the kernels of a game.
struct Launcher {
    stream: Stream,
    module: Module,
}

impl Launcher {
    fn launch<K: Kernel + Default>(
        &self,
        shape: LaunchShape,
        arguments: impl warpplay::IntoParams<K::Params>,
    ) -> Result<()> {
        let function = self.module.function(K::default())?;
        // SAFETY: the callers below launch the search's kernels in its order, with the shapes they ask for.
        unsafe { self.stream.launch(&function, shape, arguments) }
    }
}

/// The arrays of the trees.
struct Arrays<G> {
    shape: Shape,
    n_lanes: u32,
    stats: Buffer<NodeStats>,
    states: Buffer<G>,
    links: Buffer<NodeLink>,
    heads: Buffer<TreeHead>,
    paths: Buffer<u32>,
    expanded: Buffer<u16>,
    outcomes: Buffer<PlayoutCounts>,
    playout_streams: Buffer<[u64; 2]>,
    expansion_streams: Buffer<[u64; 2]>,
}

impl<G: KernelSet> Arrays<G> {
    fn args(&mut self) -> TreesArgs<'_, G> {
        TreesArgs {
            stats: self.stats.view_mut(),
            states: self.states.view_mut(),
            links: self.links.view_mut(),
            heads: self.heads.view_mut(),
            paths: self.paths.view_mut(),
            expanded: self.expanded.view_mut(),
            outcomes: self.outcomes.view_mut(),
            playout_streams: self.playout_streams.view_mut().into(),
            expansion_streams: self.expansion_streams.view_mut().into(),
            capacity: self.shape.capacity,
            n_trees: self.shape.n_trees,
            n_playouts: self.shape.n_playouts,
            reserved: 0,
            n_actions: G::MAX_ACTIONS,
            n_lanes: self.n_lanes,
        }
    }
}

impl<G: KernelSet> Forest<G> {
    /// Single-node trees of `position`.
    ///
    /// # Errors
    /// As the library says.
    pub fn new(device: &Device, shape: Shape, position: &G) -> Result<Self> {
        let stream = device.stream()?;
        let n_trees = shape.n_trees as usize;
        let (nodes, actions) = (n_trees * shape.capacity as usize, n_trees * G::MAX_ACTIONS as usize);
        let n_lanes = if shape.variant.plays_all_children() { G::MAX_ACTIONS } else { 1 } * shape.n_playouts;
        let sums = stream.alloc(n_trees)?;
        let mut trees = Arrays {
            shape,
            n_lanes,
            stats: stream.alloc(nodes)?,
            states: stream.alloc(nodes)?,
            links: stream.alloc(nodes)?,
            heads: stream.alloc(n_trees)?,
            paths: stream.alloc(n_trees * PATH_STRIDE as usize)?,
            expanded: stream.alloc(actions)?,
            outcomes: stream.alloc(actions)?,
            playout_streams: stream.alloc(n_trees * n_lanes as usize)?,
            expansion_streams: stream.alloc(n_trees)?,
        };
        let polynomials = stream.upload(&rng::jump_polynomials())?;
        let root = stream.upload(std::slice::from_ref(position))?;
        let launcher = Launcher { stream, module: Module::load(device, G::PTX)? };
        for (base, streams) in [
            (rng::playout_base(shape.seed), &mut trees.playout_streams),
            (rng::expansion_base(shape.seed), &mut trees.expansion_streams),
        ] {
            let n = streams.len() as u32;
            let arguments = (InOut::from(streams.view_mut()), n, base[0], base[1], &polynomials);
            launcher.launch::<G::mcts_seed_streams>(LaunchShape::linear(n, rng::BLOCK), arguments)?;
        }
        launcher.launch::<G::mcts_reset>(LaunchShape::new(shape.n_trees, 32), (trees.args(), &root))?;
        launcher.stream.synchronize()?;
        Ok(Self { launcher, trees, sums })
    }

    /// One block a tree.
    fn tree_blocks(&self) -> LaunchShape {
        LaunchShape::new(self.trees.shape.n_trees, self.trees.shape.block)
    }

    /// One block a tree with a thread an action.
    fn action_blocks(&self) -> LaunchShape {
        LaunchShape::new(self.trees.shape.n_trees, self.trees.shape.block.max(G::MAX_ACTIONS.next_multiple_of(32)))
    }

    fn playout_shape(&self, x: u32, y: u32) -> LaunchShape {
        let threads = playout::block_size::<G>(self.trees.shape.n_playouts, SHARED_BYTES);
        LaunchShape::grid_2d(x, y, threads).with_shared(playout::shared_bytes::<G>(threads))
    }

    /// One step, a kernel for each stage.
    ///
    /// # Errors
    /// As the library says.
    pub fn step(&mut self) -> Result<()> {
        let Shape { ucb_c, draw_value, variant, n_trees, .. } = self.trees.shape;
        self.launcher.launch::<G::mcts_select>(self.tree_blocks(), (self.trees.args(), ucb_c, draw_value))?;
        let shape = self.action_blocks();
        match variant {
            Variant::OcpThrifty => self.launcher.launch::<G::mcts_expand_1_ocp_thrifty>(shape, (self.trees.args(),))?,
            Variant::OcpProdigal => {
                self.launcher.launch::<G::mcts_expand_1_ocp_prodigal>(shape, (self.trees.args(),))?
            }
            Variant::AcpThrifty => self.launcher.launch::<G::mcts_expand_1_acp_thrifty>(shape, (self.trees.args(),))?,
            Variant::AcpProdigal => {
                self.launcher.launch::<G::mcts_expand_1_acp_prodigal>(shape, (self.trees.args(),))?
            }
        }
        if !variant.is_thrifty() {
            let shape = LaunchShape::grid_2d(n_trees, G::MAX_ACTIONS, 32);
            self.launcher.launch::<G::mcts_expand_2_prodigal>(shape, (self.trees.args(),))?;
            self.play()?;
            return self.backup();
        }
        let heads = self.launcher.stream.read(&self.trees.heads)?;
        let list: Vec<[u16; 2]> = (0u16..)
            .zip(&heads)
            .flat_map(|(tree, head)| (0..head.n_expanded.max(1) as u16).map(move |rank| [tree, rank]))
            .collect();
        let children = self.launcher.stream.upload(&list)?;
        let n = list.len() as u32;
        self.launcher.launch::<G::mcts_expand_2_thrifty>(LaunchShape::new(n, 32), (self.trees.args(), &children))?;
        if variant.plays_all_children() {
            self.launcher
                .launch::<G::mcts_playout_acp_thrifty>(self.playout_shape(n, 1), (self.trees.args(), &children))?;
        } else {
            self.play()?;
        }
        self.backup()
    }

    /// Playouts of all variants but `acp_thrifty`.
    fn play(&mut self) -> Result<()> {
        let n_trees = self.trees.shape.n_trees;
        if self.trees.shape.variant.plays_all_children() {
            self.launcher.launch::<G::mcts_playout_acp_prodigal>(
                self.playout_shape(n_trees, G::MAX_ACTIONS),
                (self.trees.args(),),
            )
        } else {
            self.launcher.launch::<G::mcts_playout_ocp>(self.playout_shape(n_trees, 1), (self.trees.args(),))
        }
    }

    /// Backup of the playouts under way.
    ///
    /// # Errors
    /// As the library says.
    pub fn backup(&mut self) -> Result<()> {
        let shape = self.tree_blocks();
        match self.trees.shape.variant {
            Variant::OcpThrifty | Variant::OcpProdigal => {
                self.launcher.launch::<G::mcts_backup_ocp>(shape, (self.trees.args(),))?
            }
            Variant::AcpThrifty => {
                self.launcher.launch::<G::mcts_backup_1_acp_thrifty>(shape, (self.trees.args(), &mut self.sums))?
            }
            Variant::AcpProdigal => {
                self.launcher.launch::<G::mcts_backup_1_acp_prodigal>(shape, (self.trees.args(), &mut self.sums))?
            }
        }
        if self.trees.shape.variant.plays_all_children() {
            self.launcher.launch::<G::mcts_backup_2_acp>(shape, (self.trees.args(), &self.sums))?;
        }
        self.launcher.stream.synchronize()
    }

    /// One step in the fast form of the prodigal variants, its backup left to the next one or to [`backup`](Self::backup).
    ///
    /// # Errors
    /// As the library says.
    pub fn fused_step(&mut self) -> Result<()> {
        let n_trees = self.trees.shape.n_trees;
        let Shape { ucb_c, draw_value, .. } = self.trees.shape;
        if self.trees.shape.variant.plays_all_children() {
            self.launcher.launch::<G::mcts_step_acp>(self.action_blocks(), (self.trees.args(), ucb_c, draw_value))?;
            self.launcher.launch::<G::mcts_play_acp>(self.playout_shape(n_trees, G::MAX_ACTIONS), (self.trees.args(),))
        } else {
            self.launcher.launch::<G::mcts_step_ocp>(self.action_blocks(), (self.trees.args(), ucb_c, draw_value))?;
            let threads = self.playout_shape(n_trees, 1).block[0];
            self.launcher.launch::<G::mcts_play_ocp>(
                self.playout_shape(n_trees, 1 + G::MAX_ACTIONS.div_ceil(threads)),
                (self.trees.args(),),
            )
        }
    }

    /// Replaces the trees by those of a reference search of the same shape and position. Streams stay as they are.
    ///
    /// # Errors
    /// As the library says.
    pub fn load<H: reference::Game>(&mut self, root: &G, search: &reference::Search<H>) -> Result<()> {
        for tree in 0..self.trees.shape.n_trees as usize {
            let nodes = search.tree(tree).unwrap_or_default();
            let (mut stats, mut links, mut states) =
                (Vec::new(), vec![NodeLink::default(); nodes.len()], vec![*root; nodes.len()]);
            let mut head = TreeHead { size: nodes.len() as u32, ..TreeHead::default() };
            for (index, node) in nodes.iter().enumerate() {
                let info = NodeStats::new(outcome_of(node.result()), Player::from_index(u32::from(node.mover))).info;
                let (first_child, info) = (node.first_child, info | node.n_children);
                stats.push(NodeStats { n: node.n, wins: node.wins, draws: node.draws, first_child, info });
                head.depth_sum += u64::from(node.depth);
                head.max_depth = head.max_depth.max(u32::from(node.depth));
                for child in node.children() {
                    let action = nodes[child].action;
                    links[child] = NodeLink { parent: index as u32, action: action as u16, depth: nodes[child].depth };
                    states[child] = states[index];
                    states[child].apply(action);
                }
            }
            let at = tree * self.trees.shape.capacity as usize;
            self.launcher.stream.write(&mut self.trees.stats, at, &stats)?;
            self.launcher.stream.write(&mut self.trees.links, at, &links)?;
            self.launcher.stream.write(&mut self.trees.states, at, &states)?;
            self.launcher.stream.write(&mut self.trees.heads, tree, &[head])?;
        }
        Ok(())
    }

    /// Adds `n` won playouts to each of the root's children in tree `tree`, and all of them to the root, as if they had been made.
    ///
    /// # Errors
    /// As the library says.
    pub fn add_playouts(&mut self, tree: usize, n: u64) -> Result<()> {
        let at = tree * self.trees.shape.capacity as usize;
        let mut root = [NodeStats::default()];
        self.launcher.stream.read_into(&self.trees.stats, at, &mut root)?;
        let mut children = vec![NodeStats::default(); root[0].n_children() as usize];
        let first = at + root[0].first_child as usize;
        self.launcher.stream.read_into(&self.trees.stats, first, &mut children)?;
        for child in &mut children {
            child.n += n;
            child.wins += n;
        }
        root[0].n += n * children.len() as u64;
        self.launcher.stream.write(&mut self.trees.stats, first, &children)?;
        self.launcher.stream.write(&mut self.trees.stats, at, &root)
    }

    /// Heads of the trees: sizes, and what the last step did.
    ///
    /// # Errors
    /// As the library says.
    pub fn heads(&self) -> Result<Vec<TreeHead>> {
        self.launcher.stream.read(&self.trees.heads)
    }

    /// The nodes on the last selected path of a tree.
    ///
    /// # Errors
    /// As the library says.
    pub fn path(&self, tree: usize) -> Result<Vec<u32>> {
        let mut path = vec![0; self.heads()?[tree].path_length as usize];
        self.launcher.stream.read_into(&self.trees.paths, tree * PATH_STRIDE as usize, &mut path)?;
        Ok(path)
    }

    /// Reads a tree.
    ///
    /// # Errors
    /// As the library says.
    pub fn tree(&self, tree: usize) -> Result<Tree<G>> {
        let size = self.heads()?[tree].size as usize;
        let at = tree * self.trees.shape.capacity as usize;
        let mut stats = vec![NodeStats::default(); size];
        let mut links = vec![NodeLink::default(); size];
        let mut states = vec![G::zeroed(); size];
        self.launcher.stream.read_into(&self.trees.stats, at, &mut stats)?;
        self.launcher.stream.read_into(&self.trees.links, at, &mut links)?;
        self.launcher.stream.read_into(&self.trees.states, at, &mut states)?;
        let nodes = stats.iter().zip(&links).map(|(stats, link)| Node {
            n: stats.n,
            wins: stats.wins,
            draws: stats.draws,
            first_child: stats.first_child,
            n_children: stats.n_children(),
            action: u32::from(link.action),
            parent: link.parent,
            depth: u32::from(link.depth),
            mover: stats.mover(),
            outcome: stats.outcome(),
        });
        Ok(Tree { nodes: nodes.collect(), states })
    }
}

fn outcome_of(result: Option<reference::GameResult>) -> Outcome {
    match result {
        None => Outcome::Ongoing,
        Some(reference::GameResult::Draw) => Outcome::Draw,
        Some(reference::GameResult::Win(player)) => Outcome::Win(Player::from_index(player as u32)),
    }
}

/// The nodes of a reference tree in the same terms.
pub fn nodes_of<H: reference::Game>(search: &reference::Search<H>, tree: usize) -> Vec<Node> {
    let nodes = search.tree(tree).unwrap_or_default();
    let mut parents = vec![0; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        parents[node.children()].fill(index as u32);
    }
    nodes
        .iter()
        .zip(parents)
        .map(|(node, parent)| Node {
            n: node.n,
            wins: node.wins,
            draws: node.draws,
            first_child: if node.n_children > 0 { node.first_child } else { 0 },
            n_children: node.n_children,
            action: node.action,
            parent,
            depth: u32::from(node.depth),
            mover: Player::from_index(u32::from(node.mover)),
            outcome: outcome_of(node.result()),
        })
        .collect()
}

/// Compares every tree with the reference's and checks it for itself.
///
/// # Errors
/// As the library says.
///
/// # Panics
/// If they differ.
#[track_caller]
pub fn compare<G: KernelSet + Game + PartialEq + std::fmt::Debug, H: reference::Game>(
    forest: &Forest<G>,
    search: &reference::Search<H>,
) -> Result<()> {
    for tree in 0..forest.trees.shape.n_trees as usize {
        let grown = forest.tree(tree)?;
        let what = format!("{} of {}, tree {tree}", forest.trees.shape.variant, G::NAME);
        crate::tolerance::same(&what, &grown.nodes, &nodes_of(search, tree));
        crate::invariants::check_tree(&grown, forest.trees.shape.capacity, u64::from(forest.trees.shape.n_playouts));
    }
    Ok(())
}
