//! Columns that grow parent by parent.

use warpplay_gpu::shogi::difference;

use crate::shogi::Shard;
use crate::shogi::board::{Board, Change, List, Move, Rules};

/// A shard under construction.
#[derive(Debug)]
pub(in crate::shogi) struct Parents {
    pieces: Vec<[u16; 40]>,
    sides: Vec<u8>,
    plies: Vec<u16>,
    games: Vec<u64>,
    first_child: Vec<u32>,
    played: Vec<u16>,
    differences: Vec<u64>,
    first_change: Vec<u32>,
    changes: Vec<u32>,
}

impl Default for Parents {
    fn default() -> Self {
        Self {
            pieces: Vec::new(),
            sides: Vec::new(),
            plies: Vec::new(),
            games: Vec::new(),
            first_child: vec![0],
            played: Vec::new(),
            differences: Vec::new(),
            first_change: vec![0],
            changes: Vec::new(),
        }
    }
}

impl Parents {
    /// Allocates memory for parents with the usual number of children.
    pub fn with_capacity(parents: usize) -> Self {
        let children = parents * 80;
        let with_zero = |n| {
            let mut first = Vec::with_capacity(n + 1);
            first.push(0);
            first
        };
        Self {
            pieces: Vec::with_capacity(parents),
            sides: Vec::with_capacity(parents),
            plies: Vec::with_capacity(parents),
            games: Vec::with_capacity(parents),
            first_child: with_zero(parents),
            played: Vec::with_capacity(parents),
            differences: Vec::with_capacity(children),
            first_change: with_zero(children),
            changes: Vec::with_capacity(children + children / 4),
        }
    }

    /// Adds a position of a game and the move that was played; `moves` is scratch memory for the legal moves. `None` if the move is not legal, or the list does not match
    /// the board.
    pub fn add_played(
        &mut self,
        board: &Board,
        list: &List,
        (game, ply): (u64, u16),
        played: Move,
        moves: &mut Vec<Move>,
    ) -> Option<Change> {
        let side = board.side();
        board.legal_moves(moves);
        let number = moves.binary_search(&played).ok()?;
        let change = list.change(side, played)?;
        self.add_parent(list.numbers(), side as u8, (game, ply), number as u16 + 1);
        self.add_child(change.words(), 0);
        for &legal in moves.iter() {
            let child = list.change(side, legal)?;
            self.add_child(child.words(), difference::from_sum(child.material.wrapping_sub(change.material)));
        }
        self.end_parent();
        Some(change)
    }

    /// Begins a parent, whose children follow.
    pub fn add_parent(&mut self, pieces: &[u16; 40], side: u8, (game, ply): (u64, u16), played: u16) {
        self.pieces.push(*pieces);
        self.sides.push(side);
        self.plies.push(ply);
        self.games.push(game);
        self.played.push(played);
    }

    /// Adds a child.
    pub fn add_child(&mut self, changes: &[u32], difference: u64) {
        self.changes.extend_from_slice(changes);
        self.first_change.push(self.changes.len() as u32);
        self.differences.push(difference);
    }

    /// Ends the parent.
    pub fn end_parent(&mut self) {
        self.first_child.push(self.differences.len() as u32);
    }

    /// Changes so far.
    pub fn n_changes(&self) -> usize {
        self.changes.len()
    }

    /// Joins several parts into one shard.
    pub fn joined(parts: Vec<Self>) -> Shard {
        let mut parts = parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        let rest: Vec<Self> = parts.collect();
        let sum = |len: fn(&Self) -> usize| rest.iter().map(len).sum::<usize>();
        all.pieces.reserve_exact(sum(|part| part.pieces.len()));
        all.differences.reserve_exact(sum(|part| part.differences.len()));
        all.first_change.reserve_exact(sum(|part| part.differences.len()));
        all.changes.reserve_exact(sum(|part| part.changes.len()));
        for part in rest {
            let (children, changes) = (all.differences.len() as u32, all.changes.len() as u32);
            all.pieces.extend_from_slice(&part.pieces);
            all.sides.extend_from_slice(&part.sides);
            all.plies.extend_from_slice(&part.plies);
            all.games.extend_from_slice(&part.games);
            all.played.extend_from_slice(&part.played);
            all.differences.extend_from_slice(&part.differences);
            all.changes.extend_from_slice(&part.changes);
            all.first_child.extend(part.first_child.iter().skip(1).map(|first| first + children));
            all.first_change.extend(part.first_change.iter().skip(1).map(|first| first + changes));
        }
        all.into_shard()
    }

    /// The columns as a shard.
    pub fn into_shard(self) -> Shard {
        Shard {
            pieces: self.pieces.into(),
            sides: self.sides.into(),
            plies: self.plies.into(),
            games: self.games.into(),
            first_child: self.first_child.into(),
            played: self.played.into(),
            differences: self.differences.into(),
            first_change: self.first_change.into(),
            changes: self.changes.into(),
        }
    }
}

/// The parents of a shard for which `wanted` holds.
pub(super) fn filtered(shard: &Shard, wanted: impl Fn(usize) -> bool) -> Shard {
    let mut parents = Parents::default();
    for parent in (0..shard.n_parents()).filter(|&parent| wanted(parent)) {
        let at = (shard.games[parent], shard.plies[parent]);
        parents.add_parent(&shard.pieces[parent], shard.sides[parent], at, shard.played[parent]);
        for child in shard.children(parent) {
            parents.add_child(shard.changes_of(child), shard.differences[child]);
        }
        parents.end_parent();
    }
    parents.into_shard()
}
