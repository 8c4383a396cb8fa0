//! A betting tree partitioned into pieces for the warps, and the operations of each piece.

use warpplay_gpu::cfr::walk::op::{NO_ACTION, Op, kind};
use warpplay_gpu::cuda::memory::Vec4;

use crate::cfr::game::sequences::{ACTIONS, Child, Sequences};
use crate::{Error, Result};

/// Number of pieces that occupies a large GPU several times over; a larger tree gets larger pieces.
const ENOUGH: usize = 8192;
/// Bounds of the number of sequences of a piece: small pieces repeat much of the path from the root, and large ones take long.
const SIZES: (usize, usize) = (12, 64);
/// Maximum depth of a piece in sequences, which bounds its shared memory.
const DEPTH: u32 = 10;

/// Pieces that are walked at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    /// First piece.
    pub first: u32,
    /// Number of pieces.
    pub n: u32,
    /// Maximum depth in sequences.
    pub depth: u32,
}

/// All pieces of a game.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    /// Operations of all pieces, and one more.
    pub ops: Vec<Vec4>,
    /// First operation of each piece; the piece with the root is the last.
    pub starts: Vec<u32>,
    /// Stages in the order in which they are walked.
    pub stages: Vec<Stage>,
    /// Row of bucket 0 of each sequence, and at the end the number of rows.
    pub rows: Vec<u32>,
}

impl Pieces {
    /// Divides a tree into pieces; `n_buckets` is the number of buckets of each round.
    ///
    /// # Errors
    /// [`Error::Option`] if there are 2³² sets or operations, or more.
    pub fn of(game: &Sequences, n_buckets: &[u32]) -> Result<Self> {
        let (mut rows, mut n) = (Vec::with_capacity(game.sequences.len() + 1), 0u32);
        for sequence in &game.sequences {
            rows.push(n);
            n = n.checked_add(n_buckets[sequence.round as usize]).ok_or_else(|| {
                let sets: u64 = game.sequences.iter().map(|s| u64::from(n_buckets[s.round as usize])).sum();
                Error::option("buckets", format!("{sets} sets of sequence and bucket"), "fewer than 4294967296")
            })?;
        }
        rows.push(n);
        let partition = Partition::of(game);
        let mut pieces = Self { ops: Vec::new(), starts: Vec::new(), stages: partition.stages.clone(), rows };
        for &root in &partition.roots {
            pieces.starts.push(n_ops(&pieces.ops)?);
            let mut writer = Writer { game, partition: &partition, rows: &pieces.rows, ops: &mut pieces.ops };
            writer.path(root);
            writer.sequence(root, None);
            writer.ops.push(Op { kind: kind::STOP, ..Op::default() }.packed());
        }
        // The walk reads one operation ahead.
        pieces.ops.push(Op { kind: kind::STOP, ..Op::default() }.packed());
        n_ops(&pieces.ops)?;
        Ok(pieces)
    }
}

/// The number of operations, as the kernels have it.
fn n_ops(ops: &[Vec4]) -> Result<u32> {
    let too_many = |_| Error::option("betting tree", format!("{} operations", ops.len()), "fewer than 4294967296");
    u32::try_from(ops.len()).map_err(too_many)
}

/// The assignment of sequences to pieces.
struct Partition {
    /// The parent of each sequence, and the action that leads to it; `None` at the root.
    parent: Vec<Option<(u32, u32)>>,
    /// The first sequence of each piece.
    roots: Vec<u32>,
    /// Piece of each sequence.
    piece: Vec<u32>,
    stages: Vec<Stage>,
}

impl Partition {
    const NONE: u32 = u32::MAX;

    /// Divides the tree stage by stage into the largest remaining subtrees within the limit.
    fn of(game: &Sequences) -> Self {
        let n = game.sequences.len();
        let mut parent = vec![None; n];
        for (at, sequence) in game.sequences.iter().enumerate() {
            for (action, child) in sequence.children.iter().enumerate() {
                if let Some(Child::Sequence(child)) = child {
                    parent[*child as usize] = Some((at as u32, action as u32));
                }
            }
        }
        let mut partition = Self { parent, roots: Vec::new(), piece: vec![Self::NONE; n], stages: Vec::new() };
        let mut left = n;
        while left > 0 {
            left -= partition.stage((left / ENOUGH).clamp(SIZES.0, SIZES.1));
        }
        partition
    }

    /// Divides off one stage of pieces of at most `most` sequences; returns the number of sequences in them.
    fn stage(&mut self, most: usize) -> usize {
        let n = self.piece.len();
        let (mut sizes, mut depths) = (vec![0usize; n], vec![0u32; n]);
        for at in (0..n).rev().filter(|&at| self.piece[at] == Self::NONE) {
            // Children come later, so theirs are complete.
            (sizes[at], depths[at]) = (sizes[at] + 1, depths[at] + 1);
            if let Some((parent, _)) = self.parent[at] {
                sizes[parent as usize] += sizes[at];
                depths[parent as usize] = depths[parent as usize].max(depths[at]);
            }
        }
        let fits = |at: usize| sizes[at] <= most && depths[at] <= DEPTH;
        let is_root = |at: usize| fits(at) && self.parent[at].is_none_or(|(parent, _)| !fits(parent as usize));
        let free = |at: &usize| self.piece[*at] == Self::NONE;
        let mut roots: Vec<u32> = (0..n).filter(free).filter(|&at| is_root(at)).map(|at| at as u32).collect();
        // The longest first, so that none starts when the others are nearly done.
        roots.sort_by_key(|&root| std::cmp::Reverse(sizes[root as usize]));
        let first = self.roots.len() as u32;
        let depth = roots.iter().map(|&root| depths[root as usize]).max().unwrap_or(0);
        let partition: usize = roots.iter().map(|&root| sizes[root as usize]).sum();
        self.stages.push(Stage { first, n: roots.len() as u32, depth });
        for (piece, &root) in (first..).zip(&roots) {
            self.piece[root as usize] = piece;
        }
        for at in 0..n {
            if self.piece[at] == Self::NONE
                && let Some((parent, _)) = self.parent[at]
                && self.piece[parent as usize] >= first
            {
                self.piece[at] = self.piece[parent as usize];
            }
        }
        self.roots.append(&mut roots);
        partition
    }
}

/// Writes one piece's operations.
struct Writer<'a> {
    game: &'a Sequences,
    partition: &'a Partition,
    rows: &'a [u32],
    ops: &'a mut Vec<Vec4>,
}

impl Writer<'_> {
    /// The operand that ENTER, EXIT and PATH share for a sequence.
    fn of(&self, at: u32) -> Op {
        let sequence = &self.game.sequences[at as usize];
        let allowed = (0..ACTIONS).filter(|&action| sequence.children[action].is_some());
        Op {
            seat: sequence.seat,
            allowed: allowed.fold(0, |set, action| set | 1 << action),
            slot: sequence.seat * self.game.n_rounds as u32 + sequence.round,
            index: self.rows[at as usize],
            action: NO_ACTION,
            ..Op::default()
        }
    }

    /// Writes the path from the game's root to a piece.
    fn path(&mut self, root: u32) {
        let mut path = Vec::new();
        let mut at = root;
        while let Some((parent, action)) = self.partition.parent[at as usize] {
            path.push(Op { kind: kind::PATH, action, ..self.of(parent) }.packed());
            at = parent;
        }
        path.reverse();
        self.ops.append(&mut path);
    }

    /// Writes a sequence and its descendants within the piece; `parent` is the seat that acted before it within the piece, its action and the cost.
    fn sequence(&mut self, at: u32, parent: Option<(u32, u32, f64)>) {
        let (seat, action, cost) = parent.unwrap_or((0, NO_ACTION, 0.0));
        let own = Op { action, before: seat, cost: cost as f32, ..self.of(at) };
        self.ops.push(Op { kind: kind::ENTER, ..own }.packed());
        let sequence = &self.game.sequences[at as usize];
        for (action, child) in (0u32..).zip(&sequence.children) {
            let cost = sequence.costs[action as usize];
            let op = Op { action, seat: sequence.seat, cost: cost as f32, ..Op::default() };
            match *child {
                None => {}
                Some(Child::Sequence(child))
                    if self.partition.piece[child as usize] == self.partition.piece[at as usize] =>
                {
                    self.sequence(child, Some((sequence.seat, action, cost)));
                }
                Some(Child::Sequence(child)) => {
                    self.ops.push(Op { kind: kind::LEAF, index: self.partition.piece[child as usize], ..op }.packed());
                }
                Some(Child::End(end)) => {
                    let pots = &self.game.ends[end as usize].pots;
                    for (number, pot) in pots.iter().enumerate() {
                        let (first, last) = (number == 0, number + 1 == pots.len());
                        let (index, pot) = (pot.eligible, pot.chips as f32);
                        self.ops.push(Op { kind: kind::END, index, pot, first, last, ..op }.packed());
                    }
                }
            }
        }
        self.ops.push(Op { kind: kind::EXIT, ..own }.packed());
    }
}
