//! The plainest program: recursion over streets, boards and nodes with `f64` vectors, every pair of hands looked at.

use crate::cfr::game::ranking::Ranking;
use crate::cfr::layout::{Node, VectorGame};
use crate::cfr::options::{Algorithm, Options, Updates};

/// Where strategies come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum From {
    Regrets,
    Averages,
    Kept,
}

/// What the traverser does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    Learn,
    Best,
    Value,
}

pub struct Naive<'a> {
    pub game: &'a VectorGame,
    pub options: Options,
    pub regrets: [Vec<f64>; 2],
    pub averages: [Vec<f64>; 2],
    pub last: [Vec<f64>; 2],
    kept: [Vec<f64>; 2],
    pub utilities: [f64; 2],
    t: u64,
}

struct Turn {
    q: usize,
    mode: Mode,
    opponent: From,
    keeps: bool,
}

impl<'a> Naive<'a> {
    pub fn new(game: &'a VectorGame, options: Options) -> Self {
        let tables = || [0, 1].map(|seat| vec![0.0; game.table_len(seat)]);
        let mut averages = tables();
        for (seat, averages) in averages.iter_mut().enumerate() {
            for (offset, vector) in game.locked_vectors(seat) {
                averages[offset..offset + vector.len()].copy_from_slice(vector);
            }
        }
        Self { game, options, regrets: tables(), averages, last: tables(), kept: tables(), utilities: [0.0; 2], t: 0 }
    }

    pub fn run(&mut self, n: u32) {
        for _ in 0..n {
            self.t += 1;
            let learn = |q, opponent, keeps| Turn { q, mode: Mode::Learn, opponent, keeps };
            let best = |q| Turn { q, mode: Mode::Best, opponent: From::Regrets, keeps: true };
            let turns = match (self.options.algorithm, self.options.updates) {
                (Algorithm::CfrBr, _) => {
                    vec![best(1), learn(0, From::Kept, false), best(0), learn(1, From::Kept, false)]
                }
                (_, Updates::Alternating) => vec![learn(0, From::Regrets, false), learn(1, From::Regrets, false)],
                (_, Updates::Simultaneous) => vec![learn(0, From::Regrets, true), learn(1, From::Kept, false)],
            };
            for turn in turns {
                let total = self.root(&turn);
                if turn.mode == Mode::Learn {
                    self.utilities[turn.q] += total;
                }
            }
        }
    }

    pub fn measure(&mut self, q: usize, mode: Mode) -> f64 {
        self.root(&Turn { q, mode, opponent: From::Averages, keeps: false })
    }

    fn root(&mut self, turn: &Turn) -> f64 {
        let game = self.game;
        let p = 1 - turn.q;
        let mut total = 0.0;
        for (number, board) in game.streets[0].boards.iter().enumerate() {
            let reach: Vec<f64> = (game.weights[p].iter().zip(&game.hands[p]))
                .map(|(w, hand)| if hand & board.cards == 0 { w * game.scale * board.weight } else { 0.0 })
                .collect();
            let own = vec![1.0; game.hands[turn.q].len()];
            let values = self.node(turn, 0, number, 0, 0, &own, &reach);
            let sum: f64 = values.iter().zip(&game.weights[turn.q]).map(|(v, w)| v * w).sum();
            total += sum * board.members.len() as f64;
        }
        total
    }

    fn strategy(&self, seat: usize, offset: usize, n: usize, hand: usize, from: From) -> Vec<f64> {
        let hands = self.game.hands[seat].len();
        let step = self.options.step(self.t.max(1));
        let at = |a: usize| offset + a * hands + hand;
        let weights: Vec<f64> = (0..n)
            .map(|a| match from {
                From::Regrets => {
                    (self.regrets[seat][at(a)] + if step.predicts { self.last[seat][at(a)] } else { 0.0 }).max(0.0)
                }
                From::Averages => self.averages[seat][at(a)],
                From::Kept => self.kept[seat][at(a)],
            })
            .collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| if sum > 0.0 { w / sum } else { 1.0 / n as f64 }).collect()
    }

    #[allow(clippy::too_many_arguments)]
    fn node(
        &mut self,
        turn: &Turn,
        street: usize,
        board: usize,
        entry: usize,
        node: usize,
        own: &[f64],
        reach: &[f64],
    ) -> Vec<f64> {
        let game = self.game;
        let (q, p) = (turn.q, 1 - turn.q);
        let cards = game.streets[street].boards[board].cards;
        let possible = |hand: u64| hand & cards == 0;
        let n_hands = game.hands[q].len();
        match &game.streets[street].entries[entry].nodes[node] {
            Node::Fold { payoff } => (game.hands[q].iter())
                .map(|&hand| {
                    let met =
                        game.hands[p].iter().zip(reach).filter(|(other, _)| **other & hand == 0 && possible(hand));
                    payoff[q] * met.map(|(_, r)| r).sum::<f64>()
                })
                .collect(),
            Node::Showdown { win, lose, tie } => {
                let ranking = Ranking::new(game.deck);
                let strength = |hand: u64| if possible(hand) { ranking.strength(hand | cards) } else { 0 };
                let others: Vec<u32> = game.hands[p].iter().map(|&hand| strength(hand)).collect();
                (game.hands[q].iter())
                    .map(|&hand| {
                        let s = strength(hand);
                        let met = game.hands[p].iter().zip(reach).zip(&others);
                        met.filter(|((other, _), _)| **other & hand == 0 && possible(hand) && possible(**other))
                            .map(|((_, r), &o)| {
                                r * if s > o {
                                    win[q]
                                } else if s < o {
                                    lose[q]
                                } else {
                                    tie[q]
                                }
                            })
                            .sum()
                    })
                    .collect()
            }
            Node::Exit { entry: next } => {
                let mut sums = vec![0.0; n_hands];
                for child in 0..game.streets[street + 1].boards.len() {
                    let of = &game.streets[street + 1].boards[child];
                    if of.parent as usize != board {
                        continue;
                    }
                    let reach: Vec<f64> = (reach.iter().zip(&game.hands[p]))
                        .map(|(r, hand)| if hand & of.cards == 0 { r * of.weight } else { 0.0 })
                        .collect();
                    let values = self.node(turn, street + 1, child, *next as usize, 0, own, &reach);
                    for &member in &of.members {
                        for (sum, &hand) in sums.iter_mut().zip(&game.permutations[member as usize][q]) {
                            *sum += values[hand as usize];
                        }
                    }
                }
                sums
            }
            Node::Decision { seat, children, slot, locked, .. } => {
                let offset = game.offset(*seat, street, board, *slot);
                let n = children.len();
                let hands = game.hands[*seat].len();
                let from = match (locked, *seat == p, turn.mode) {
                    (true, ..) => From::Averages,
                    (_, true, _) => turn.opponent,
                    (_, _, Mode::Learn) => From::Regrets,
                    _ => From::Averages,
                };
                let strategies: Vec<Vec<f64>> =
                    (0..hands).map(|hand| self.strategy(*seat, offset, n, hand, from)).collect();
                let mut of_actions = Vec::new();
                for (a, &child) in children.iter().enumerate() {
                    let scaled = |v: &[f64]| -> Vec<f64> { v.iter().zip(&strategies).map(|(r, s)| r * s[a]).collect() };
                    let values = if *seat == p {
                        self.node(turn, street, board, entry, child as usize, own, &scaled(reach))
                    } else {
                        self.node(turn, street, board, entry, child as usize, &scaled(own), reach)
                    };
                    of_actions.push(values);
                }
                if *seat == p {
                    return (0..n_hands).map(|hand| of_actions.iter().map(|values| values[hand]).sum()).collect();
                }
                let step = self.options.step(self.t.max(1));
                let mut values = vec![0.0; n_hands];
                for hand in 0..n_hands {
                    let best = (0..n).fold(0, |b, a| if of_actions[a][hand] > of_actions[b][hand] { a } else { b });
                    values[hand] = match turn.mode {
                        Mode::Best if !locked => of_actions[best][hand],
                        _ => (0..n).map(|a| strategies[hand][a] * of_actions[a][hand]).sum(),
                    };
                    if !possible(game.hands[q][hand]) {
                        continue;
                    }
                    for a in 0..n {
                        let at = offset + a * hands + hand;
                        if turn.keeps {
                            let played =
                                if turn.mode == Mode::Best { f64::from(a == best) } else { strategies[hand][a] };
                            self.kept[q][at] = played;
                        }
                        if turn.mode == Mode::Learn && !locked {
                            let gain = of_actions[a][hand] - values[hand];
                            let sum = self.regrets[q][at] + gain;
                            self.regrets[q][at] = sum * if sum >= 0.0 { step.positive } else { step.negative };
                            self.last[q][at] = gain;
                            self.averages[q][at] += step.weight * own[hand] * strategies[hand][a];
                        }
                    }
                }
                values
            }
        }
    }
}
