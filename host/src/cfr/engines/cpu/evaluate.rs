//! Values of given strategies for every hand, in double precision on the host: what reports say of each hand.

use std::sync::Arc;

use rayon::prelude::*;

use super::ends::{Hands, Scratch, is_small, pair_by_pair};
use super::program::{Fold, Showdown};
use crate::cfr::layout::{Node, Removal, Shown, Values, VectorGame, showdown};

/// Number of boards whose values are added in sequence before the sums are combined: fixed, so that the bits do not depend on the number of threads.
const CHUNK: usize = 4;

/// How a seat plays in an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cfr) enum Play {
    /// The average strategy; uniform in sets that were never reached.
    Average,
    /// Only checks and calls: the share of hands won at the showdown, ties counting half. The betting tree does not matter.
    Equity,
}

/// Where an evaluation finds the average strategies.
pub(in crate::cfr) trait Averages: Sync {
    /// The strategy of a node on a board, `[action][hand]`; uniform where it was never reached.
    fn strategy(
        &self,
        game: &VectorGame,
        seat: usize,
        street: usize,
        board: usize,
        slot: u32,
        n_actions: usize,
    ) -> Vec<Vec<f64>>;
}

/// Tables by seat.
impl Averages for [&Values; 2] {
    fn strategy(
        &self,
        game: &VectorGame,
        seat: usize,
        street: usize,
        board: usize,
        slot: u32,
        n_actions: usize,
    ) -> Vec<Vec<f64>> {
        game.average(self[seat], seat, street, board, slot, n_actions)
    }
}

/// A game prepared for evaluations.
pub(in crate::cfr) struct Evaluator {
    pub game: Arc<VectorGame>,
    pub removal: Removal,
    pub shown: Vec<Shown>,
}

/// A node of the betting on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cfr) struct At {
    pub street: usize,
    /// The board: a representative of its class.
    pub board: usize,
    pub entry: usize,
    pub node: usize,
}

/// Gets the nodes of a walk's street: number of the node, the other seat's reach there, and the values of the seat's hands.
pub(in crate::cfr) type Seen<'a> = dyn FnMut(usize, &[f64], &[f64]) + 'a;

/// One evaluation: the values that are constant during the walk.
struct Pass<'a> {
    seat: usize,
    play: Play,
    averages: &'a dyn Averages,
}

impl Evaluator {
    pub fn new(game: Arc<VectorGame>) -> Self {
        Self { removal: Removal::new(&game), shown: game.shown(), game }
    }

    /// Counterfactual values of each hand of `seat` at the root: Σ over the other's hands of weight · value, including the probabilities of chance.
    pub fn values(&self, seat: usize, play: Play, averages: &dyn Averages) -> Vec<f64> {
        let pass = Pass { seat, play, averages };
        self.deal(&pass, 0, 0, 0, &self.game.weights[1 - seat])
    }

    /// The same at a node; `reach` is the other's there.
    pub fn values_at(&self, at: At, seat: usize, averages: &dyn Averages, reach: &[f64]) -> Vec<f64> {
        self.each_value_at(at, seat, averages, reach, &mut |_, _, _| {})
    }

    /// The same; `seen` gets this node and every node that actions lead to on its street, each after those that follow it.
    pub fn each_value_at(
        &self,
        at: At,
        seat: usize,
        averages: &dyn Averages,
        reach: &[f64],
        seen: &mut Seen<'_>,
    ) -> Vec<f64> {
        self.node(&Pass { seat, play: Play::Average, averages }, at, reach, seen)
    }

    /// Share of the hands that each hand of `seat` wins if nobody bets any more, as counterfactual values.
    pub fn shares_at(&self, at: At, seat: usize, reach: &[f64]) -> Vec<f64> {
        self.equity(seat, at.street, at.board, reach)
    }

    /// Weight of the other's hands compatible with each hand of `seat`, which converts its counterfactual value into an expectation.
    pub fn beside(&self, seat: usize) -> Vec<f64> {
        self.against(seat, &self.game.weights[1 - seat], 0)
    }

    /// Expected value over all deals, from the values of the hands.
    pub fn total(&self, seat: usize, values: &[f64]) -> f64 {
        self.game.scale * self.game.weights[seat].iter().zip(values).map(|(weight, value)| weight * value).sum::<f64>()
    }

    /// Weight of the opponent's hands compatible with each hand of `seat`; 0 for a hand that `board` blocks.
    pub fn against(&self, seat: usize, reach: &[f64], board: u64) -> Vec<f64> {
        let mut sums = self.removal.sums();
        for (hand, &weight) in reach.iter().enumerate() {
            self.removal.add(&mut sums, 1 - seat, hand, weight);
        }
        let beside = |(hand, &cards): (usize, &u64)| {
            if cards & board == 0 { self.removal.beside(&sums, seat, hand) } else { 0.0 }
        };
        self.game.hands[seat].iter().enumerate().map(beside).collect()
    }

    /// Values of each hand of `seat` at a node where the hand is over; `reach` is the opponent's.
    pub fn end(&self, node: &Node, seat: usize, street: usize, board: usize, reach: &[f64]) -> Vec<f64> {
        let cards = self.game.streets[street].boards[board].cards;
        if is_small(&self.game) {
            // For the exact ties of small games.
            let mut values = [vec![0.0; self.game.hands[seat].len()]];
            let (showdown, fold) = match node {
                Node::Fold { payoff } => (None, Some(Fold { reach: 0, payoff: payoff[seat], value: 0 })),
                Node::Showdown { win, lose, tie } => {
                    (Some(Showdown { reach: 0, win: win[seat], lose: lose[seat], tie: tie[seat], value: 0 }), None)
                }
                Node::Decision { .. } | Node::Exit { .. } => (None, None),
            };
            let is_last = street + 1 == self.game.streets.len();
            let on = Hands { game: &self.game, seat, cards, shown: is_last.then(|| &self.shown[board]) };
            let ends = (showdown.as_slice(), fold.as_slice());
            pair_by_pair(on, ends, &[reach.to_vec()], &mut values, &mut Scratch::default());
            let [values] = values;
            return values;
        }
        let mut values = self.against(seat, reach, cards);
        match node {
            Node::Fold { payoff } => values.iter_mut().for_each(|value| *value *= payoff[seat]),
            Node::Showdown { win, lose, tie } => {
                let [win, lose, tie] = [win, lose, tie].map(|payoff| payoff[seat]);
                showdown(&self.removal, &self.shown[board], seat, reach, |hand, weaker, equal| {
                    values[hand] = win * weaker + tie * equal + lose * (values[hand] - weaker - equal);
                });
            }
            Node::Decision { .. } | Node::Exit { .. } => {}
        }
        values
    }

    /// Values at the end of a street, from the boards of street `street` after `parent`. `reach` is the opponent's.
    fn deal(&self, pass: &Pass, street: usize, parent: usize, entry: usize, reach: &[f64]) -> Vec<f64> {
        let boards = &self.game.streets[street].boards;
        let first = boards.partition_point(|board| (board.parent as usize) < parent);
        let end = boards.partition_point(|board| board.parent as usize <= parent);
        let n_hands = self.game.hands[pass.seat].len();
        let add = |into: &mut Vec<f64>, number: usize| {
            let board = &boards[number];
            let possible = |(&reach, &hand): (&f64, &u64)| if hand & board.cards == 0 { reach } else { 0.0 };
            let reach: Vec<f64> = reach.iter().zip(&self.game.hands[1 - pass.seat]).map(possible).collect();
            let values = match pass.play {
                Play::Equity => self.equity(pass.seat, street, number, &reach),
                Play::Average => {
                    self.node(pass, At { street, board: number, entry, node: 0 }, &reach, &mut |_, _, _| {})
                }
            };
            for &member in &board.members {
                let images = &self.game.permutations[member as usize][pass.seat];
                for (sum, &image) in into.iter_mut().zip(images) {
                    *sum += board.weight * values[image as usize];
                }
            }
        };
        let chunk = |start: usize| {
            let mut sum = vec![0.0; n_hands];
            (start..end.min(start + CHUNK)).for_each(|number| add(&mut sum, number));
            sum
        };
        let sums: Vec<Vec<f64>> = (first..end).into_par_iter().step_by(CHUNK).map(chunk).collect();
        sums.into_iter().fold(vec![0.0; n_hands], |mut total, sum| {
            total.iter_mut().zip(sum).for_each(|(total, sum)| *total += sum);
            total
        })
    }

    fn equity(&self, seat: usize, street: usize, board: usize, reach: &[f64]) -> Vec<f64> {
        if street + 1 < self.game.streets.len() {
            let none = Values::default();
            let pass = Pass { seat, play: Play::Equity, averages: &[&none; 2] };
            return self.deal(&pass, street + 1, board, 0, reach);
        }
        let mut values = vec![0.0; self.game.hands[seat].len()];
        showdown(&self.removal, &self.shown[board], seat, reach, |hand, weaker, equal| {
            values[hand] = weaker + 0.5 * equal
        });
        values
    }

    fn node(&self, pass: &Pass, at: At, reach: &[f64], seen: &mut Seen<'_>) -> Vec<f64> {
        let At { street, board, entry, node } = at;
        let values = match &self.game.streets[street].entries[entry].nodes[node] {
            Node::Exit { entry } => self.deal(pass, street + 1, board, *entry as usize, reach),
            end @ (Node::Fold { .. } | Node::Showdown { .. }) => self.end(end, pass.seat, street, board, reach),
            Node::Decision { seat, children, slot, .. } => {
                let mut below =
                    |child: u32, reach: &[f64]| self.node(pass, At { node: child as usize, ..at }, reach, seen);
                let strategy = pass.averages.strategy(&self.game, *seat, street, board, *slot, children.len());
                let mut sum = vec![0.0; self.game.hands[pass.seat].len()];
                for (&child, played) in children.iter().zip(&strategy) {
                    if *seat == pass.seat {
                        let values = below(child, reach);
                        sum.iter_mut()
                            .zip(values.iter().zip(played))
                            .for_each(|(sum, (value, part))| *sum += part * value);
                    } else {
                        let reach: Vec<f64> = reach.iter().zip(played).map(|(reach, part)| reach * part).collect();
                        let values = below(child, &reach);
                        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                    }
                }
                sum
            }
        };
        seen(node, reach, &values);
        values
    }
}

impl VectorGame {
    /// The normalised average of a node on a board, from the seat's table: `[action][hand]`, uniform if it was never reached.
    pub(in crate::cfr) fn average(
        &self,
        averages: &Values,
        seat: usize,
        street: usize,
        board: usize,
        slot: u32,
        n_actions: usize,
    ) -> Vec<Vec<f64>> {
        let first = self.offset(seat, street, board, slot);
        self.normalised(seat, n_actions, |at| averages.get(first + at))
    }

    /// The strategy of weighted sums: `sums` has those of action `a` from `a` times the number of hands on. Uniform where all are 0.
    pub(in crate::cfr) fn normalised(
        &self,
        seat: usize,
        n_actions: usize,
        sums: impl Fn(usize) -> f64,
    ) -> Vec<Vec<f64>> {
        let n_hands = self.hands[seat].len();
        let mut strategy: Vec<Vec<f64>> =
            (0..n_actions).map(|action| (0..n_hands).map(|hand| sums(action * n_hands + hand)).collect()).collect();
        let mut totals = vec![0.0; n_hands];
        for vector in &strategy {
            totals.iter_mut().zip(vector).for_each(|(total, sum)| *total += sum);
        }
        for vector in &mut strategy {
            for (part, &total) in vector.iter_mut().zip(&totals) {
                *part = if total > 0.0 { *part / total } else { 1.0 / n_actions as f64 };
            }
        }
        strategy
    }
}
