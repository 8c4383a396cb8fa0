//! The tree as kernels see it.
//!
//! Nodes are numbered breadth-first, so levels and the children of a node are consecutive, and the children of node `h` are `first[h] .. first[h + 1]`.
//! Every edge has a *row*: the index of its probability in a table of probabilities, which holds the sets' actions, seat by seat, and then the outcomes of
//! chance. The edge into node `h` has row `rows[h]`.
//!
//! ```text
//! nodes      0 (root) | level 1 | level 2 | …                  children of h:  first[h] .. first[h + 1];  parent of h:  parents[h]
//! rows       seat 0's sets | seat 1's sets | … | chance        of set s:  set_rows[s] .. set_rows[s + 1], a row an action
//! members    nodes where somebody acts, set by set             of set s:  members[set_members[s] .. set_members[s + 1]]
//! seats[i]   where seat i's members, sets and rows begin and end
//! ```

use crate::cuda::warp::{self, Word};
use crate::cuda::{DeviceArgs, memory, thread};

use super::super::regret::Real;

/// Threads of a block, for all kernels here.
pub const BLOCK: u32 = 128;

/// What belongs to a seat: ranges of histories, information sets and rows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeatRange {
    /// First of the seat's histories in `members`.
    pub members: u32,
    /// One behind the last.
    pub members_end: u32,
    /// First information set.
    pub sets: u32,
    /// One behind the last.
    pub sets_end: u32,
    /// First row.
    pub rows: u32,
    /// One behind the last.
    pub rows_end: u32,
}

// SAFETY: six words, no padding, all bit patterns allowed.
unsafe impl bytemuck::Zeroable for SeatRange {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for SeatRange {}

const _: () = assert!(size_of::<SeatRange>() == 24);

/// A seat of a tree; only the tree's view names one.
#[derive(Clone, Copy)]
pub struct Seat(SeatRange);

impl Seat {
    /// What belongs to it.
    #[device_inline]
    pub const fn range(&self) -> &SeatRange {
        &self.0
    }

    /// Whether the seat acts on the edge with this row.
    #[device_inline]
    pub const fn acts(&self, Row(row): Row) -> bool {
        row >= self.0.rows && row < self.0.rows_end
    }

    /// The edge, if the seat acts there.
    #[device_inline]
    pub const fn own(&self, edge: Edge) -> Option<OwnEdge> {
        if self.acts(edge.row) { Some(OwnEdge(edge)) } else { None }
    }
}

/// The arrays of a tree on the device, as a launch gives them. Kernels look nodes and rows up in the [`Tree`] that their entry makes of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Histories where somebody acts.
    n_decisions: u32
)]
pub struct TreeView {
    /// `[n_nodes]` The node before; of the root 0.
    #[len(n_nodes)]
    pub parents: *const u32,
    /// `[n_nodes]` Row of the edge into the node; of the root not used.
    #[len(n_nodes)]
    pub rows: *const u32,
    /// `[n_nodes + 1]` First child; a node without children has none of its own.
    #[len(n_nodes + 1)]
    pub first: *const u32,
    /// `[n_decisions]` Nodes where somebody acts, set by set.
    #[len(n_decisions)]
    pub members: *const u32,
    /// `[n_sets + 1]` Index of a set's first history in `members`.
    #[len(n_sets + 1)]
    pub set_members: *const u32,
    /// `[n_sets + 1]` First row of a set.
    #[len(n_sets + 1)]
    pub set_rows: *const u32,
    /// `[n_seats]` What belongs to each seat.
    #[len(n_seats)]
    pub seats: *const SeatRange,
    /// Nodes.
    pub n_nodes: u32,
    /// Information sets.
    pub n_sets: u32,
    /// Seats.
    pub n_seats: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<TreeView>() == 72);

/// A node of a tree; only the tree's view names one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Node(u32);

impl Node {
    /// The root.
    pub const ROOT: Self = Self(0);

    /// Its number, below that of the tree's nodes.
    #[device_inline]
    pub const fn number(self) -> usize {
        self.0 as usize
    }
}

/// A node with children.
#[derive(Clone, Copy)]
pub struct Parent(Node);

impl Parent {
    /// The node.
    #[device_inline]
    pub const fn node(self) -> Node {
        self.0
    }
}

/// A row of a tree's probabilities; only the tree's view names one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Row(u32);

impl Row {
    /// Its number: rows of sets come first.
    #[device_inline]
    pub const fn number(self) -> usize {
        self.0 as usize
    }
}

/// The row of a set's action; only a [`Seat`] names one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SetRow(u32);

impl SetRow {
    /// The row.
    #[device_inline]
    pub const fn row(self) -> Row {
        Row(self.0)
    }
}

/// Rows of a set's actions; only a [`Seat`] names them.
#[derive(Clone, Copy)]
pub struct SetRows {
    first: u32,
    end: u32,
}

impl SetRows {
    /// One after the other.
    #[device_inline]
    pub fn each(self) -> impl Iterator<Item = SetRow> {
        (self.first..self.end).map(SetRow)
    }
}

/// The edge into a node; only the tree's view names one.
#[derive(Clone, Copy)]
pub struct Edge {
    /// The node before.
    pub parent: Parent,
    row: Row,
}

impl Edge {
    /// Its row.
    #[device_inline]
    pub const fn row(self) -> Row {
        self.row
    }
}

/// An edge where a seat acts; only a [`Seat`] names one.
#[derive(Clone, Copy)]
pub struct OwnEdge(Edge);

impl OwnEdge {
    /// Its row.
    #[device_inline]
    pub const fn row(self) -> SetRow {
        SetRow(self.0.row.0)
    }
}

/// Children of a node where a seat acts; only the tree's view names them.
#[derive(Clone, Copy)]
pub struct OwnChildren(Children);

impl OwnChildren {
    /// The children.
    #[device_inline]
    pub const fn children(self) -> Children {
        self.0
    }
}

/// Children of a node, at least one.
#[derive(Clone, Copy)]
pub struct Children {
    first: u32,
    end: u32,
}

impl Children {
    /// The first.
    #[device_inline]
    pub const fn first(self) -> Node {
        Node(self.first)
    }

    /// How many.
    #[device_inline]
    #[allow(clippy::len_without_is_empty, reason = "there is one")]
    pub const fn len(self) -> u32 {
        self.end - self.first
    }

    /// Number `at` of them; the last one where there are no more.
    #[device_inline]
    pub const fn at(self, at: u32) -> Node {
        Node(self.first + if at < self.len() { at } else { self.len() - 1 })
    }

    /// The child behind one of them.
    #[device_inline]
    pub const fn after(self, child: Node) -> Option<Node> {
        if child.0 + 1 < self.end { Some(Node(child.0 + 1)) } else { None }
    }

    /// One after the other.
    #[device_inline]
    pub fn each(self) -> impl Iterator<Item = Node> {
        (self.first..self.end).map(Node)
    }
}

/// A tree as a kernel works on it: whoever makes it has vouched for the arrays, and what its nodes, rows and seats name is there.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Tree(TreeView);

impl Tree {
    /// The tree of these arrays.
    ///
    /// # Safety
    /// The arrays are a parameter of the kernel, which works on no other tree, and are those of one with a root: children, parents, rows, members and seats name nodes and rows of it, the rows of a node's
    /// children are neighbours, and nobody writes them while the kernel runs.
    #[device_inline]
    pub const unsafe fn new(view: TreeView) -> Self {
        Self(view)
    }

    /// The same where the arrays are, in the kernel's parameter.
    ///
    /// # Safety
    /// As [`new`](Self::new).
    #[device_inline]
    pub const unsafe fn of(view: &TreeView) -> &Self {
        // SAFETY: nothing but a view, of which the caller vouches that it is one of a tree.
        unsafe { &*(&raw const *view).cast::<Self>() }
    }

    /// Nodes.
    #[device_inline]
    pub const fn n_nodes(&self) -> u32 {
        self.0.n_nodes
    }

    /// Children of a node, where it has any.
    #[device_inline]
    #[track_caller]
    pub fn children(&self, node: Node) -> Option<Children> {
        let (first, end) = self.range(node);
        if first < end { Some(Children { first, end }) } else { None }
    }

    /// The edge into a node, where it is not the root.
    #[device_inline]
    #[track_caller]
    pub fn edge(&self, node: Node) -> Option<Edge> {
        if node == Node::ROOT {
            return None;
        }
        let parent = self.before(node);
        Some(Edge { parent: Parent(parent), row: self.row(node) })
    }

    /// The node before one that is not the root, and the root before itself.
    #[device_inline]
    #[track_caller]
    pub fn before(&self, node: Node) -> Node {
        // SAFETY: a value for each node.
        Node(unsafe { memory::load(self.0.parents, node.number()) })
    }

    /// The children of a node before others.
    #[device_inline]
    #[track_caller]
    pub fn children_of(&self, Parent(node): Parent) -> Children {
        let (first, end) = self.range(node);
        Children { first, end }
    }

    /// The children of the node before an edge where a seat acts.
    #[device_inline]
    #[track_caller]
    pub fn own_children(&self, OwnEdge(edge): OwnEdge) -> OwnChildren {
        OwnChildren(self.children_of(edge.parent))
    }

    /// Children of a node, if the seat acts there: their rows are all of one set, or all of chance.
    #[device_inline]
    #[track_caller]
    pub fn own(&self, seat: &Seat, children: Children) -> Option<OwnChildren> {
        if seat.acts(self.row(children.first())) { Some(OwnChildren(children)) } else { None }
    }

    /// Rows of the actions of a node where a seat acts, which are neighbours.
    #[device_inline]
    #[track_caller]
    pub fn set_rows(&self, OwnChildren(children): OwnChildren) -> SetRows {
        let Row(first) = self.row(children.first());
        SetRows { first, end: first + children.len() }
    }

    /// Numbers of a node's children, as (first, one behind the last).
    #[device_inline]
    #[track_caller]
    fn range(&self, node: Node) -> (u32, u32) {
        // SAFETY: `first` has one value more than there are nodes.
        unsafe { (memory::load(self.0.first, node.number()), memory::load(self.0.first, node.number() + 1)) }
    }

    /// Row of the edge into a node that is not the root.
    #[device_inline]
    #[track_caller]
    pub fn row(&self, node: Node) -> Row {
        // SAFETY: a value for each node.
        Row(unsafe { memory::load(self.0.rows, node.number()) })
    }

    /// Node number `number`.
    ///
    /// # Safety
    /// There is one.
    #[device_inline]
    pub const unsafe fn node(&self, number: u32) -> Node {
        Node(number)
    }

    /// History `index` of `members`.
    ///
    /// # Safety
    /// There is one.
    #[device_inline]
    #[track_caller]
    pub unsafe fn member(&self, index: u32) -> Node {
        // SAFETY: the number is one of the set's members, as the caller says, and members are nodes.
        Node(unsafe { memory::load(self.0.members, index as usize) })
    }

    /// What belongs to a seat.
    ///
    /// # Safety
    /// `seat` is one of the game.
    #[device_inline]
    #[track_caller]
    pub unsafe fn seat(&self, seat: u32) -> Seat {
        // SAFETY: there is a range for each seat of the game, of which `seat` is one, as the caller says.
        Seat(unsafe { memory::load(self.0.seats, seat as usize) })
    }

    /// Rows of a set, as (first, one behind the last).
    ///
    /// # Safety
    /// `set` is one of the game.
    #[device_inline]
    #[track_caller]
    pub unsafe fn rows_of_set(&self, set: u32) -> (u32, u32) {
        // SAFETY: `set_rows` has one value more than there are sets.
        unsafe { (memory::load(self.0.set_rows, set as usize), memory::load(self.0.set_rows, set as usize + 1)) }
    }

    /// Indices of a set's histories in `members`, as (first, one behind the last).
    ///
    /// # Safety
    /// `set` is one of the game.
    #[device_inline]
    #[track_caller]
    pub unsafe fn members_of_set(&self, set: u32) -> (u32, u32) {
        // SAFETY: `set_members` has one value more than there are sets.
        unsafe { (memory::load(self.0.set_members, set as usize), memory::load(self.0.set_members, set as usize + 1)) }
    }
}

/// The threads that work on one information set together: 1, 2, 4, 8, 16 or 32 neighbours of a warp.
#[derive(Clone, Copy)]
pub struct Group {
    /// Threads of a group.
    pub size: u32,
    /// The thread's rank in its group.
    pub rank: u32,
    /// Number of the group in the grid, along x.
    pub index: u32,
    mask: u32,
}

impl Group {
    /// The group of the current thread. `size` is the same for the whole grid.
    #[device_inline]
    pub fn of_thread(size: u32) -> Self {
        let rank = thread::lane() & (size - 1);
        let mask = if size == thread::WARP { u32::MAX } else { ((1 << size) - 1) << (thread::lane() - rank) };
        let index = (thread::block_idx_x() * BLOCK + thread::thread_idx_x()) / size;
        Self { size, rank, index, mask }
    }

    /// Sum over the group, on each of its threads, in a fixed order. All of them call it.
    #[device_inline]
    #[track_caller]
    pub fn sum<T: Real + Word>(&self, value: T) -> T {
        let mut sum = value;
        let mut distance = self.size / 2;
        while distance > 0 {
            sum += warp::shuffle_xor(self.mask, sum, distance);
            distance /= 2;
        }
        sum
    }
}
