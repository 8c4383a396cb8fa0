//! One walk over all boards and hands for one seat: values upwards, reaches downwards.

use rayon::prelude::*;

use super::evaluate::{CHUNK, Evaluator};
use super::regret::{Step, probability};
use super::seat::{Part, Seat, divide};
use crate::cfr::layout::{Node, Number};

/// What the walked seat does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Plays its current strategy, and updates regrets and averages.
    Learn,
    /// Computes and stores its best response.
    Answer,
}

/// How the other seat plays.
pub(super) enum Opponent<'a, T> {
    /// Plays the strategy of its regrets.
    Regrets(&'a Seat<T>),
    /// Plays a best response.
    Answer(&'a [T]),
}

/// A walk of the game for one seat.
pub(super) struct Pass<'a, T> {
    pub evaluator: &'a Evaluator,
    /// The walked seat.
    pub seat: usize,
    pub role: Role,
    pub step: Step,
    pub opponent: Opponent<'a, T>,
}

/// Position of a walk: a betting subtree on a board.
#[derive(Clone, Copy)]
struct At {
    street: usize,
    board: usize,
    entry: usize,
}

impl<T: Number> Pass<'_, T> {
    /// Walks the game and returns the values of the seat's hands at the root; the seat writes to `part`.
    pub fn run(&self, part: Part<T>) -> Vec<f64> {
        let game = &self.evaluator.game;
        let mut parts = part.by_street(game, self.seat);
        // With the scale in it values are chips times probabilities, as the regrets have to be.
        let other: Vec<f64> = game.weights[1 - self.seat].iter().map(|weight| weight * game.scale).collect();
        self.deal(0, 0, 0, &mut parts, [&game.weights[self.seat], &other])
    }

    /// Values at the end of a street, from the boards after `parent`. `reach` holds the walked seat's reach and the other's.
    fn deal(&self, street: usize, parent: usize, entry: usize, parts: &mut [Part<T>], reach: [&[f64]; 2]) -> Vec<f64> {
        let game = &self.evaluator.game;
        let boards = &game.streets[street].boards;
        let first = boards.partition_point(|board| (board.parent as usize) < parent);
        let end = boards.partition_point(|board| board.parent as usize <= parent);
        let n_hands = game.hands[self.seat].len();
        let mut divided = divide(game, self.seat, street, first..end, parts);
        let sum = |(chunk, parts): (usize, &mut [Vec<Part<T>>])| {
            let mut sum = vec![0.0; n_hands];
            for (at, parts) in parts.iter_mut().enumerate() {
                let number = first + chunk * CHUNK + at;
                let board = &boards[number];
                let possible = |seat: usize, reach: &[f64], chance: f64| -> Vec<f64> {
                    let open =
                        |(&reach, &hand): (&f64, &u64)| if hand & board.cards == 0 { reach * chance } else { 0.0 };
                    reach.iter().zip(&game.hands[seat]).map(open).collect()
                };
                // The other's reach carries the probability of the cards, so that regrets below are weighed with it.
                let own = possible(self.seat, reach[0], 1.0);
                let other = possible(1 - self.seat, reach[1], board.weight);
                let values = self.node(At { street, board: number, entry }, 0, parts, [&own, &other]);
                for &member in &board.members {
                    for (sum, &image) in sum.iter_mut().zip(&game.permutations[member as usize][self.seat]) {
                        *sum += values[image as usize];
                    }
                }
            }
            sum
        };
        let sums: Vec<Vec<f64>> = divided.par_chunks_mut(CHUNK).enumerate().map(sum).collect();
        sums.into_iter().fold(vec![0.0; n_hands], |mut total, sum| {
            total.iter_mut().zip(sum).for_each(|(total, sum)| *total += sum);
            total
        })
    }

    fn node(&self, at: At, node: usize, parts: &mut [Part<T>], reach: [&[f64]; 2]) -> Vec<f64> {
        let game = &self.evaluator.game;
        match &game.streets[at.street].entries[at.entry].nodes[node] {
            Node::Exit { entry } => self.deal(at.street + 1, at.board, *entry as usize, &mut parts[1..], reach),
            Node::Decision { seat, children, slot, locked, .. } => {
                let given = if *locked { game.lock(at.street, at.entry, node) } else { None };
                let n_actions = children.len();
                if *seat != self.seat {
                    let strategy = match given {
                        Some(lock) => lock.strategy.clone(),
                        None => self.of_opponent(at, *slot, n_actions),
                    };
                    let mut sum = vec![0.0; game.hands[self.seat].len()];
                    for (&child, played) in children.iter().zip(&strategy) {
                        let other = product(reach[1], played);
                        add(&mut sum, &self.node(at, child as usize, parts, [reach[0], &other]));
                    }
                    return sum;
                }
                let n_hands = game.hands[self.seat].len();
                // Row of the first action in the part of this board.
                let row = *slot as usize * n_hands..(*slot as usize + n_actions) * n_hands;
                let strategy = match (given, self.role) {
                    (Some(lock), _) => lock.strategy.clone(),
                    (None, Role::Answer) => vec![vec![1.0; n_hands]; n_actions],
                    (None, Role::Learn) => {
                        let [regrets, _, last] = &parts[0].written;
                        matched(&self.step, &regrets[row.clone()], last.get(row.clone()), n_hands)
                    }
                };
                let values: Vec<Vec<f64>> = children
                    .iter()
                    .zip(&strategy)
                    .map(|(&child, played)| {
                        self.node(at, child as usize, parts, [&product(reach[0], played), reach[1]])
                    })
                    .collect();
                let [regrets, averages, last] = &mut parts[0].written;
                if self.role == Role::Answer {
                    return answer(&mut regrets[row], given.is_some().then_some(&strategy[..]), &values);
                }
                let mut sum = vec![0.0; n_hands];
                for (values, played) in values.iter().zip(&strategy) {
                    add(&mut sum, &product(values, played));
                }
                if given.is_some() {
                    return sum;
                }
                for (action, (values, played)) in values.iter().zip(&strategy).enumerate() {
                    for hand in 0..n_hands {
                        let index = row.start + action * n_hands + hand;
                        let gain = values[hand] - sum[hand];
                        regrets[index] = T::rounded(self.step.regret(regrets[index].widened(), gain));
                        let weight = self.step.weight * reach[0][hand] * played[hand];
                        averages[index] = T::rounded(averages[index].widened() + weight);
                        if let Some(last) = last.get_mut(index) {
                            *last = T::rounded(gain);
                        }
                    }
                }
                sum
            }
            end => self.evaluator.end(end, self.seat, at.street, at.board, reach[1]),
        }
    }

    /// The other seat's strategy: `[action][hand]`.
    fn of_opponent(&self, at: At, slot: u32, n_actions: usize) -> Vec<Vec<f64>> {
        let (game, seat) = (&self.evaluator.game, 1 - self.seat);
        let n_hands = game.hands[seat].len();
        let first = game.offset(seat, at.street, at.board, slot);
        let row = first..first + n_actions * n_hands;
        match &self.opponent {
            Opponent::Regrets(tables) => {
                matched(&self.step, &tables.regrets[row.clone()], tables.predictions.get(row), n_hands)
            }
            Opponent::Answer(answers) => answers[row]
                .chunks(n_hands.max(1))
                .map(|vector| vector.iter().map(|&value| value.widened()).collect())
                .collect(),
        }
    }
}

/// Regret matching for every hand: `[action][hand]`.
fn matched<T: Number>(step: &Step, regrets: &[T], last: Option<&[T]>, n_hands: usize) -> Vec<Vec<f64>> {
    let last_of = |at: usize| last.map_or(0.0, |last| last[at].widened());
    let positive = |at: usize| step.matched(regrets[at].widened(), last_of(at));
    let mut sums = vec![0.0; n_hands];
    for at in 0..regrets.len() {
        sums[at % n_hands] += positive(at);
    }
    let n_actions = regrets.len() / n_hands.max(1);
    let of_hand =
        |action: usize, hand: usize| probability(positive(action * n_hands + hand), sums[hand], n_actions as u32);
    (0..n_actions).map(|action| (0..n_hands).map(|hand| of_hand(action, hand)).collect()).collect()
}

/// Writes the best action of every hand, or the `given` strategy, and returns the resulting values. Among equal actions it takes the first.
fn answer<T: Number>(answers: &mut [T], given: Option<&[Vec<f64>]>, values: &[Vec<f64>]) -> Vec<f64> {
    let n_hands = values.first().map_or(0, Vec::len);
    let best_of = |hand: usize| {
        (1..values.len()).fold(0, |best, at| if values[at][hand] > values[best][hand] { at } else { best })
    };
    let mut sum = vec![0.0; n_hands];
    for (hand, sum) in sum.iter_mut().enumerate() {
        let best = best_of(hand);
        for (action, values) in values.iter().enumerate() {
            let part = given.map_or(f64::from(u8::from(action == best)), |given| given[action][hand]);
            answers[action * n_hands + hand] = T::rounded(part);
            *sum += part * values[hand];
        }
    }
    sum
}

fn product(one: &[f64], other: &[f64]) -> Vec<f64> {
    one.iter().zip(other).map(|(one, other)| one * other).collect()
}

fn add(sum: &mut [f64], values: &[f64]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}
