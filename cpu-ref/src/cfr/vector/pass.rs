//! One iteration of counterfactual regret minimisation in vector form, for one seat or for both.

use rayon::prelude::*;

use super::game::Game;
use super::public::{Decision, Public, Tables, add_board, hand_cells, normalise_hands, on_board, product};
use super::sampling::Draw;
use super::terminal::Terminals;
use crate::cfr::pieces::discounted;
use crate::cfr::{Algorithm, Options, Step};

/// The parameters of a pass.
pub(super) struct Pass<'a> {
    pub game: &'a Game,
    pub terminals: &'a Terminals,
    pub options: &'a Options,
    pub step: Step,
    pub parallel: bool,
    /// Seats that learn.
    pub learns: [bool; 2],
    pub draw: Draw,
}

/// A pair of vectors over the hands of both seats; values of a seat that does not learn are empty.
pub(super) type Both = [Vec<f64>; 2];

/// The current strategy `[action][hand]`.
fn current(options: &Options, decision: &Decision, n_hands: usize) -> Vec<f64> {
    let tables = &decision.tables;
    let mut strategy: Vec<f64> = if options.predicts() {
        tables.regrets.iter().zip(&tables.last).map(|(regret, last)| (regret + last).max(0.0)).collect()
    } else {
        tables.regrets.iter().map(|regret| regret.max(0.0)).collect()
    };
    normalise_hands(&mut strategy, n_hands);
    decision.give(&mut strategy);
    strategy
}

impl Pass<'_> {
    fn zeros(&self) -> Both {
        [0, 1].map(|seat| if self.learns[seat] { vec![0.0; self.game.hands[seat].len()] } else { Vec::new() })
    }

    /// Counterfactual values of the seats that learn, after which their tables below have been updated. `chance` is the boards' weights so far
    /// times the game's scale.
    pub fn values(&self, public: &mut Public, reach: [&[f64]; 2], chance: f64) -> Both {
        let game = self.game;
        match public {
            Public::Deal { round, boards } => {
                let round = *round;
                let of_all = if self.draw.boards.is_some() { boards.len() as f64 } else { 1.0 };
                let of_board = |(board, public): &mut (usize, Public)| {
                    let reach = [0, 1].map(|seat| on_board(game, round, *board, seat, reach[seat]));
                    self.values(public, [&reach[0], &reach[1]], chance * game.rounds[round][*board].weight * of_all)
                };
                let boards = self.drawn(round, boards);
                let values: Vec<Both> = if self.parallel {
                    boards.par_iter_mut().map(of_board).collect()
                } else {
                    boards.iter_mut().map(of_board).collect()
                };
                let mut sums = self.zeros();
                for ((board, _), values) in boards.iter().zip(&values) {
                    for seat in (0..2).filter(|&seat| self.learns[seat]) {
                        add_board(game, round, *board, seat, &values[seat], &mut sums[seat]);
                    }
                }
                sums
            }
            Public::Fold { round, board, payoff } => {
                let cards = game.rounds[*round][*board].cards;
                self.both(|seat| self.terminals.fold(game, cards, seat, chance * payoff[seat], reach[1 - seat]))
            }
            Public::Showdown { board, win, lose, tie } => self.both(|seat| {
                let payoffs = [win[seat], lose[seat], tie[seat]].map(|payoff| chance * payoff);
                self.terminals.showdown(game, *board, seat, payoffs, reach[1 - seat])
            }),
            Public::Decision(decision) => self.decision(decision, reach, chance),
        }
    }

    /// The drawn board among the possible ones, or all of them.
    fn drawn<'b>(&self, round: usize, boards: &'b mut [(usize, Public)]) -> &'b mut [(usize, Public)] {
        match &self.draw.boards {
            None => boards,
            Some(drawn) => {
                let at = drawn[round] - boards[0].0; // consecutive
                &mut boards[at..=at]
            }
        }
    }

    fn both(&self, values: impl Fn(usize) -> Vec<f64>) -> Both {
        [0, 1].map(|seat| if self.learns[seat] { values(seat) } else { Vec::new() })
    }

    fn decision(&self, decision: &mut Decision, reach: [&[f64]; 2], chance: f64) -> Both {
        let (seat, n_hands) = (decision.seat, reach[decision.seat].len());
        let strategy = self.strategy(decision, n_hands);
        let mut sums = self.zeros();
        let mut of_actions = Vec::with_capacity(if self.learns[seat] { strategy.len() } else { 0 });
        for (child, probabilities) in decision.children.iter_mut().zip(strategy.chunks_exact(n_hands)) {
            let reached = product(reach[seat], probabilities);
            let below = if seat == 0 { [&reached[..], reach[1]] } else { [reach[0], &reached[..]] };
            let values = self.values(child, below, chance);
            if self.learns[1 - seat] {
                sums[1 - seat].iter_mut().zip(&values[1 - seat]).for_each(|(sum, value)| *sum += value);
            }
            if self.learns[seat] {
                for ((sum, value), probability) in sums[seat].iter_mut().zip(&values[seat]).zip(probabilities) {
                    *sum += probability * value;
                }
                of_actions.extend_from_slice(&values[seat]);
            }
        }
        if self.learns[seat] {
            let given = decision.tables.averages.clone();
            self.learn(&mut decision.tables, &strategy, &of_actions, &sums[seat], reach[seat]);
            let tables = &mut decision.tables;
            for hand in (0..decision.locked.len()).filter(|&hand| decision.locked[hand]) {
                for at in hand_cells(hand, given.len(), n_hands) {
                    (tables.regrets[at], tables.averages[at]) = (0.0, given[at]);
                    tables.last.iter_mut().skip(at).take(1).for_each(|last| *last = 0.0);
                }
            }
        }
        sums
    }

    fn strategy(&self, decision: &Decision, n_hands: usize) -> Vec<f64> {
        let responds = self.options.algorithm == Algorithm::CfrBr && !self.learns[decision.seat];
        if !responds {
            return current(self.options, decision, n_hands);
        }
        let mut strategy = vec![0.0; decision.children.len() * n_hands];
        for (hand, &action) in decision.tables.best.iter().enumerate() {
            strategy[action as usize * n_hands + hand] = 1.0;
        }
        decision.give(&mut strategy);
        strategy
    }

    /// Adds an iteration to the tables of a decision.
    fn learn(&self, tables: &mut Tables, strategy: &[f64], of_actions: &[f64], values: &[f64], reach: &[f64]) {
        let n_hands = values.len();
        let (step, hands) = (self.step, self.draw.hands(n_hands));
        let (values, reach) = (&values[hands.clone()], &reach[hands.clone()]);
        let actions = strategy.chunks_exact(n_hands).zip(of_actions.chunks_exact(n_hands));
        for (action, (probabilities, of_action)) in actions.enumerate() {
            let (probabilities, of_action) = (&probabilities[hands.clone()], &of_action[hands.clone()]);
            let row = action * n_hands + hands.start..action * n_hands + hands.end;
            let regrets = tables.regrets[row.clone()].iter_mut();
            for ((regret, of_action), value) in regrets.zip(of_action).zip(values) {
                *regret = discounted(step, *regret, of_action - value);
            }
            let averages = tables.averages[row.clone()].iter_mut();
            for ((average, probability), reach) in averages.zip(probabilities).zip(reach) {
                *average += step.weight * reach * probability;
            }
            if self.options.predicts() {
                let last = tables.last[row].iter_mut();
                last.zip(of_action).zip(values).for_each(|((last, of_action), value)| *last = of_action - value);
            }
        }
    }

    /// Finds and stores the best actions of `seat` against the other's current strategy; `reach` is the other's.
    pub fn respond(&self, public: &mut Public, seat: usize, reach: &[f64], chance: f64) -> Vec<f64> {
        let game = self.game;
        match public {
            Public::Deal { round, boards } => {
                let round = *round;
                let of_board = |(board, public): &mut (usize, Public)| {
                    let chance = chance * game.rounds[round][*board].weight;
                    self.respond(public, seat, &on_board(game, round, *board, 1 - seat, reach), chance)
                };
                let values: Vec<Vec<f64>> = if self.parallel {
                    boards.par_iter_mut().map(of_board).collect()
                } else {
                    boards.iter_mut().map(of_board).collect()
                };
                let mut sum = vec![0.0; game.hands[seat].len()];
                for ((board, _), values) in boards.iter().zip(&values) {
                    add_board(game, round, *board, seat, values, &mut sum);
                }
                sum
            }
            Public::Fold { round, board, payoff } => {
                self.terminals.fold(game, game.rounds[*round][*board].cards, seat, chance * payoff[seat], reach)
            }
            Public::Showdown { board, win, lose, tie } => {
                let payoffs = [win[seat], lose[seat], tie[seat]].map(|payoff| chance * payoff);
                self.terminals.showdown(game, *board, seat, payoffs, reach)
            }
            Public::Decision(decision) if decision.seat == seat => self.best_actions(decision, reach, chance),
            Public::Decision(decision) => {
                let strategy = current(self.options, decision, reach.len());
                let mut sum = vec![0.0; game.hands[seat].len()];
                for (child, probabilities) in decision.children.iter_mut().zip(strategy.chunks_exact(reach.len())) {
                    let values = self.respond(child, seat, &product(reach, probabilities), chance);
                    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
                sum
            }
        }
    }

    fn best_actions(&self, decision: &mut Decision, reach: &[f64], chance: f64) -> Vec<f64> {
        let (seat, n_hands) = (decision.seat, self.game.hands[decision.seat].len());
        let mut given = vec![0.0; decision.children.len() * n_hands];
        decision.give(&mut given);
        let mut played = vec![0.0; n_hands];
        let mut best = vec![f64::NEG_INFINITY; n_hands];
        decision.tables.best = vec![0; n_hands];
        for (action, child) in decision.children.iter_mut().enumerate() {
            let values = self.respond(child, seat, reach, chance);
            let of_action = product(&values, &given[action * n_hands..][..n_hands]);
            played.iter_mut().zip(of_action).for_each(|(sum, value)| *sum += value);
            for ((best, noted), value) in best.iter_mut().zip(&mut decision.tables.best).zip(values) {
                if value > *best {
                    (*best, *noted) = (value, action as u32);
                }
            }
        }
        let locked = (0..decision.locked.len()).filter(|&hand| decision.locked[hand]);
        locked.for_each(|hand| best[hand] = played[hand]);
        best
    }
}
