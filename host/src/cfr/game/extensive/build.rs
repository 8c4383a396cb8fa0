//! From rules to a tree, and what is checked on the way.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::tree::{InformationSet, Tree};
use super::{Game, Turn};
use crate::runtime::host_machine;
use crate::{Error, Result};

/// Most seats of a game.
const MAX_PLAYERS: usize = 32;
/// Maximum number of histories: nodes are 32-bit numbers, and one is reserved.
const MAX_NODES: u128 = u32::MAX as u128 - 1;
/// Host memory per history while a tree is built, in bytes: its arrays, its state, its share of the sets. Goofspiel takes 106, liar's dice 87.
const NODE_BYTES: u128 = 128;
/// Tolerance of the sum of chance probabilities: the rounding of some thousands of terms.
const ROUNDING: f64 = 1e-9;

/// A set while the tree is built, numbered in the order in which sets are met.
struct Met {
    set: InformationSet,
    /// The seat's previous set and its action there; `None` for the first.
    before: Option<(u32, u32)>,
}

impl Tree {
    /// Builds the explicit tree of a game.
    ///
    /// # Errors
    /// [`Error::Shape`] if the game breaks a rule of [`Game`]: no players, probabilities that do not add up to 1, payoffs that are not finite or not one per seat, histories
    /// of one set with different actions, on different levels, or with different pasts of the seat (no perfect recall); [`Error::OutOfMemory`] or [`Error::Shape`], with the
    /// size, if the tree does not fit.
    pub fn build<G: Game + ?Sized>(game: &G) -> Result<Self> {
        Self::build_as(game, Self::most_that_fit(), true)
    }

    /// The same without perfect recall: histories of one set may have different pasts of the seat.
    ///
    /// # Errors
    /// As [`build`](Self::build), but for perfect recall.
    pub(in crate::cfr) fn build_forgetful<G: Game + ?Sized>(game: &G) -> Result<Self> {
        Self::build_as(game, Self::most_that_fit(), false)
    }

    /// The same with at most `most` histories.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_within<G: Game + ?Sized>(game: &G, most: usize) -> Result<Self> {
        Self::build_as(game, most as u128, true)
    }

    /// Histories for which this machine has memory now.
    pub(in crate::cfr) fn most_that_fit() -> u128 {
        MAX_NODES.min(u128::from(host_machine::memory().free) / NODE_BYTES)
    }

    fn build_as<G: Game + ?Sized>(game: &G, most: u128, recalls: bool) -> Result<Self> {
        let n_players = game.n_players();
        if n_players == 0 || n_players > MAX_PLAYERS {
            return Err(Error::shape(format!("players of {}", game.name()), format!("1 to {MAX_PLAYERS}"), n_players));
        }
        let most = most.min(MAX_NODES);
        let n_histories = count(game, most);
        if n_histories > most {
            let exact = game.n_histories().is_some();
            let got = if exact { n_histories.to_string() } else { format!("more than {most}") };
            let expected =
                format!("at most {most} histories, {}", crate::runtime::error::bytes((most * NODE_BYTES) as u64));
            return Err(Error::shape(format!("tree of {}", game.name()), expected, got));
        }
        Builder::new(game, n_histories as usize, recalls).build()
    }
}

/// Histories of a game, counted no further than one beyond `most`.
fn count<G: Game + ?Sized>(game: &G, most: u128) -> u128 {
    if let Some(n) = game.n_histories() {
        return n;
    }
    let mut n = 0;
    let mut open = vec![game.root()];
    while let Some(state) = open.pop() {
        n += 1;
        if n > most {
            break;
        }
        let n_children = match game.turn(&state) {
            Turn::Chance(parts) => parts.len(),
            Turn::Decision { n_actions, .. } => n_actions,
            Turn::End(_) => 0,
        };
        open.extend((0..n_children).map(|action| game.next(&state, action)));
    }
    n
}

struct Builder<'a, G: Game + ?Sized> {
    game: &'a G,
    /// Whether perfect recall is demanded.
    recalls: bool,
    tree: Tree,
    met: Vec<Met>,
    /// Edges of decisions hold (set in the order met, action) until rows are known; edges of chance hold the number of their probability.
    edges: Vec<Edge>,
    outcome_of_bits: HashMap<u64, u32>,
}

#[derive(Clone, Copy)]
enum Edge {
    Root,
    Action(u32, u32),
    Outcome(u32),
}

impl<'a, G: Game + ?Sized> Builder<'a, G> {
    fn new(game: &'a G, n_nodes: usize, recalls: bool) -> Self {
        let tree = Tree {
            name: game.name(),
            n_players: game.n_players(),
            levels: vec![0],
            parents: Vec::with_capacity(n_nodes),
            rows: Vec::new(),
            first: Vec::with_capacity(n_nodes + 1),
            end_or_set: Vec::with_capacity(n_nodes),
            payoffs: Vec::new(),
            outcomes: Vec::new(),
            sets: Vec::new(),
            members: Vec::new(),
            set_members: Vec::new(),
            set_rows: Vec::new(),
            seat_sets: Vec::new(),
            set_of_key: HashMap::new(),
        };
        let edges = Vec::with_capacity(n_nodes);
        Self { game, recalls, tree, met: Vec::new(), edges, outcome_of_bits: HashMap::new() }
    }

    fn wrong(&self, what: &str, expected: impl ToString, got: impl ToString) -> Error {
        Error::shape(format!("{what} of {}", self.tree.name), expected, got)
    }

    fn build(mut self) -> Result<Tree> {
        let mut level = vec![self.game.root()];
        self.tree.parents.push(0);
        self.edges.push(Edge::Root);
        while !level.is_empty() {
            let mut below = Vec::new();
            let start = self.tree.parents.len() - level.len();
            for (at, state) in level.into_iter().enumerate() {
                self.add((start + at) as u32, &state, &mut below)?;
            }
            self.tree.levels.push(self.tree.first.len() as u32);
            level = below;
        }
        let n_nodes = self.tree.parents.len() as u32;
        self.tree.first.push(n_nodes);
        self.number_sets();
        Ok(self.tree)
    }

    /// Adds a history of the level to the arrays, and its children to the list of the next level.
    fn add(&mut self, node: u32, state: &G::State, below: &mut Vec<G::State>) -> Result<()> {
        self.tree.first.push(self.tree.parents.len() as u32);
        match self.game.turn(state) {
            Turn::End(payoffs) => {
                if payoffs.len() != self.tree.n_players || payoffs.iter().any(|payoff| !payoff.is_finite()) {
                    let expected = format!("a finite number for each of {} seats", self.tree.n_players);
                    return Err(self.wrong("payoffs at an end", expected, format!("{payoffs:?}")));
                }
                self.tree.end_or_set.push(self.tree.n_ends() as u32);
                self.tree.payoffs.extend(payoffs);
            }
            Turn::Chance(parts) => {
                let sum: f64 = parts.iter().sum();
                let possible = parts.iter().all(|&part| part > 0.0) && (sum - 1.0).abs() <= ROUNDING;
                if !possible {
                    return Err(self.wrong("probabilities of chance", "above 0, together 1", format!("{parts:?}")));
                }
                self.tree.end_or_set.push(0);
                for (outcome, part) in parts.into_iter().enumerate() {
                    let next = self.outcome_of_bits.len() as u32;
                    let number = *self.outcome_of_bits.entry(part.to_bits()).or_insert(next);
                    if number == next {
                        self.tree.outcomes.push(part);
                    }
                    self.tree.parents.push(node);
                    self.edges.push(Edge::Outcome(number));
                    below.push(self.game.next(state, outcome));
                }
            }
            Turn::Decision { seat, n_actions } => {
                let set = self.set(node, state, seat, n_actions)?;
                self.tree.end_or_set.push(set);
                for action in 0..n_actions {
                    self.tree.parents.push(node);
                    self.edges.push(Edge::Action(set, action as u32));
                    below.push(self.game.next(state, action));
                }
            }
        }
        Ok(())
    }

    /// A seat's last set and action before a history.
    fn last_action(&self, mut node: u32, seat: usize) -> Option<(u32, u32)> {
        loop {
            match self.edges[node as usize] {
                Edge::Root => return None,
                Edge::Action(set, action) if self.met[set as usize].set.seat == seat => return Some((set, action)),
                Edge::Action(..) | Edge::Outcome(_) => node = self.tree.parents[node as usize],
            }
        }
    }

    /// The set of a history, numbered as met; checks that it agrees with earlier histories of the set.
    fn set(&mut self, node: u32, state: &G::State, seat: usize, n_actions: usize) -> Result<u32> {
        if seat >= self.tree.n_players {
            return Err(self.wrong("seat that acts", format!("below {}", self.tree.n_players), seat));
        }
        if n_actions == 0 {
            return Err(self.wrong("actions of a decision", "at least 1", 0));
        }
        let level = self.tree.n_levels() as u32;
        let before = if self.recalls { self.last_action(node, seat) } else { None };
        let key = self.game.key(state);
        let next = self.met.len() as u32;
        let entry = self.tree.set_of_key.entry((seat, key.clone()));
        let number = match entry {
            Entry::Vacant(vacant) => {
                vacant.insert(next);
                let actions = (0..n_actions).map(|action| self.game.action_name(state, action)).collect();
                let set = InformationSet { seat, key, actions, level, offset: 0 };
                self.met.push(Met { set, before });
                return Ok(next);
            }
            Entry::Occupied(occupied) => *occupied.get(),
        };
        let met = &self.met[number as usize];
        let what = format!("information set {} of seat {seat}", met.set.key);
        if met.set.actions.len() != n_actions {
            let expected = format!("{} actions, as before", met.set.actions.len());
            return Err(self.wrong(&what, expected, n_actions));
        }
        if met.set.level != level {
            let expected =
                format!("histories of {} actions and events (pad with events of one outcome)", met.set.level);
            return Err(self.wrong(&what, expected, level));
        }
        if met.before != before {
            let past_of = |past: Option<(u32, u32)>| match past {
                None => "none".to_string(),
                Some((set, action)) => {
                    let set = &self.met[set as usize].set;
                    format!("{} at {}", set.actions[action as usize], set.key)
                }
            };
            let expected = format!("perfect recall: last own action {}", past_of(met.before));
            return Err(self.wrong(&what, expected, past_of(before)));
        }
        Ok(number)
    }

    /// Orders the sets by seat and level, and gives rows to their actions and to the outcomes of chance.
    fn number_sets(&mut self) {
        let tree = &mut self.tree;
        let mut order: Vec<u32> = (0..self.met.len() as u32).collect();
        // Stable: within a level as met.
        order.sort_by_key(|&met| (self.met[met as usize].set.seat, self.met[met as usize].set.level));
        let mut new_number = vec![0; order.len()];
        let mut row = 0;
        tree.set_rows.push(0);
        tree.seat_sets = vec![0; tree.n_players + 1];
        let mut seat_rows = vec![0usize; tree.n_players];
        for (number, &met) in order.iter().enumerate() {
            new_number[met as usize] = number as u32;
            let set = &mut self.met[met as usize].set;
            set.offset = seat_rows[set.seat];
            seat_rows[set.seat] += set.actions.len();
            row += set.actions.len() as u32;
            tree.set_rows.push(row);
            tree.seat_sets[set.seat + 1] += 1;
        }
        for seat in 0..tree.n_players {
            tree.seat_sets[seat + 1] += tree.seat_sets[seat];
        }
        let mut sets: Vec<Option<InformationSet>> = self.met.drain(..).map(|met| Some(met.set)).collect();
        tree.sets = order.iter().filter_map(|&met| sets[met as usize].take()).collect();
        tree.set_of_key.values_mut().for_each(|set| *set = new_number[*set as usize]);
        let row_of = |edge: &Edge| match *edge {
            Edge::Root => 0,
            Edge::Action(set, action) => tree.set_rows[new_number[set as usize] as usize] + action,
            Edge::Outcome(number) => row + number,
        };
        tree.rows = self.edges.iter().map(row_of).collect();
        // Histories of each set, in their order.
        let n_nodes = tree.parents.len();
        let mut counts = vec![0u32; tree.sets.len() + 1];
        let decisions: Vec<u32> = (0..n_nodes as u32).filter(|&node| decides(tree, node as usize, row)).collect();
        for &node in &decisions {
            let set = &mut tree.end_or_set[node as usize];
            *set = new_number[*set as usize];
            counts[*set as usize + 1] += 1;
        }
        for set in 0..tree.sets.len() {
            counts[set + 1] += counts[set];
        }
        tree.set_members = counts.clone();
        tree.members = vec![0; decisions.len()];
        for &node in &decisions {
            let next = &mut counts[tree.end_or_set[node as usize] as usize];
            tree.members[*next as usize] = node;
            *next += 1;
        }
    }
}

/// Whether a seat acts at a node; the first `n_rows` rows are actions.
fn decides(tree: &Tree, node: usize, n_rows: u32) -> bool {
    let children = tree.children(node);
    !children.is_empty() && tree.rows[children.start] < n_rows
}
