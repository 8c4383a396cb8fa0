//! Counterfactual regret minimisation in vector form.

use std::sync::Arc;

use rayon::prelude::*;

use super::evaluate::{Averages, Own, Walk, given_hand, weighted};
use super::game::Game;
use super::public::{Decision, Public, Tables, add_board, normalise_hands, on_board, product};
use super::sampling::{Draw, Sampling};
use super::terminal::Terminals;
use crate::cfr::pieces::discounted;
use crate::cfr::random::Random;
use crate::cfr::{Algorithm, Options, Step, Updates};

/// All that a solve remembers between two iterations. Tables by seat, laid out as [`Game::offset`] tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Iterations done.
    pub iteration: u64,
    /// Cumulative regrets.
    pub regrets: [Vec<f64>; 2],
    /// Weighted sums of the strategies used.
    pub averages: [Vec<f64>; 2],
    /// Regrets of the last iteration; empty unless the algorithm predicts.
    pub last: [Vec<f64>; 2],
    /// Sums over the iterations of the expected winnings of the strategies used, estimates where something is drawn.
    pub utilities: [f64; 2],
    /// The generator of what is drawn.
    pub random: u64,
}

/// A solve in progress.
#[derive(Clone, Debug)]
pub struct Solver {
    game: Arc<Game>,
    options: Options,
    terminals: Terminals,
    public: Public,
    iteration: u64,
    utilities: [f64; 2],
    random: Random,
    /// What is drawn at random in an iteration.
    pub sampling: Sampling,
    /// Whether boards are dealt with under rayon, in the pool that the caller installed.
    pub parallel: bool,
}

/// What a pass needs to know.
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
type Both = [Vec<f64>; 2];

/// The current strategy `[action][hand]`.
fn current(options: &Options, decision: &Decision, n_hands: usize) -> Vec<f64> {
    let tables = &decision.tables;
    let mut strategy: Vec<f64> = if decision.locked {
        tables.averages.clone()
    } else if options.predicts() {
        tables.regrets.iter().zip(&tables.last).map(|(regret, last)| (regret + last).max(0.0)).collect()
    } else {
        tables.regrets.iter().map(|regret| regret.max(0.0)).collect()
    };
    normalise_hands(&mut strategy, n_hands);
    strategy
}

impl Pass<'_> {
    fn zeros(&self) -> Both {
        [0, 1].map(|seat| if self.learns[seat] { vec![0.0; self.game.hands[seat].len()] } else { Vec::new() })
    }

    /// Counterfactual values of the seats that learn, after which their tables below have been updated. `chance` is the boards' weights so far
    /// times the game's scale.
    fn values(&self, public: &mut Public, reach: [&[f64]; 2], chance: f64) -> Both {
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

    /// The board that was drawn among those that can come, or all of them.
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
        if self.learns[seat] && !decision.locked {
            self.learn(&mut decision.tables, &strategy, &of_actions, &sums[seat], reach[seat]);
        }
        sums
    }

    fn strategy(&self, decision: &Decision, n_hands: usize) -> Vec<f64> {
        let responds = self.options.algorithm == Algorithm::CfrBr && !self.learns[decision.seat] && !decision.locked;
        if !responds {
            return current(self.options, decision, n_hands);
        }
        let mut strategy = vec![0.0; decision.children.len() * n_hands];
        for (hand, &action) in decision.tables.best.iter().enumerate() {
            strategy[action as usize * n_hands + hand] = 1.0;
        }
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

    /// Finds the best actions of `seat` against the other's current strategy and notes them; `reach` is the other's.
    fn respond(&self, public: &mut Public, seat: usize, reach: &[f64], chance: f64) -> Vec<f64> {
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
        if decision.locked {
            let strategy = current(self.options, decision, n_hands);
            let mut sum = vec![0.0; n_hands];
            for (child, probabilities) in decision.children.iter_mut().zip(strategy.chunks_exact(n_hands)) {
                let values = self.respond(child, seat, reach, chance);
                sum.iter_mut().zip(product(&values, probabilities)).for_each(|(sum, value)| *sum += value);
            }
            return sum;
        }
        let mut best = vec![f64::NEG_INFINITY; n_hands];
        decision.tables.best = vec![0; n_hands];
        for (action, child) in decision.children.iter_mut().enumerate() {
            let values = self.respond(child, seat, reach, chance);
            for ((best, noted), value) in best.iter_mut().zip(&mut decision.tables.best).zip(values) {
                if value > *best {
                    (*best, *noted) = (value, action as u32);
                }
            }
        }
        best
    }
}

impl Solver {
    /// A solve that has done nothing yet; all strategies are uniform, locked ones too until they are given.
    pub fn new(game: Arc<Game>, options: Options) -> Self {
        let tables = |node: usize| {
            let (seat, n_actions) = game.decision(node).unwrap_or_default();
            let zeros = vec![0.0; n_actions * game.hands[seat].len()];
            let last = if options.predicts() { zeros.clone() } else { Vec::new() };
            Tables { regrets: zeros.clone(), averages: zeros, last, best: Vec::new() }
        };
        let (public, terminals) = (Public::new(&game, &tables), Terminals::new(&game));
        Self {
            game,
            options,
            terminals,
            public,
            iteration: 0,
            utilities: [0.0; 2],
            parallel: false,
            sampling: Sampling::None,
            random: Random(1),
        }
    }

    /// The game.
    pub fn game(&self) -> &Arc<Game> {
        &self.game
    }

    /// Iterations done.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// Sums over the iterations of the expected winnings of the strategies used, by seat.
    pub fn utilities(&self) -> [f64; 2] {
        self.utilities
    }

    /// Starts the generator of what is drawn anew.
    pub fn seed(&mut self, seed: u64) {
        self.random = Random(seed);
    }

    /// Does `n` more iterations.
    ///
    /// # Panics
    /// If hands are drawn and both seats are to be updated at once, or something is drawn in CFR-BR: a draw is for one seat's pass.
    pub fn iterate(&mut self, n: u64) {
        let both = self.options.updates == Updates::Simultaneous && self.options.algorithm != Algorithm::CfrBr;
        let hands = !matches!(self.sampling, Sampling::None | Sampling::PublicChance);
        assert!(!(hands && both), "{:?} sampling needs alternating updates", self.sampling);
        let responds = self.options.algorithm == Algorithm::CfrBr;
        assert!(!responds || self.sampling == Sampling::None, "CFR-BR draws nothing");
        for _ in 0..n {
            self.iteration += 1;
            // Against a best response it makes no difference whether the other seat has been renewed: it does not play its strategy.
            if both {
                self.pass([true, true]);
            } else {
                self.pass([true, false]);
                self.pass([false, true]);
            }
        }
    }

    fn pass(&mut self, learns: [bool; 2]) {
        let game = &self.game;
        let seat = usize::from(learns[1]);
        let draw = Draw::new(game, self.sampling, seat, &mut self.random);
        let mut reach = game.weights.clone();
        reach[1 - seat] = draw.reach(&game.weights[1 - seat]);
        let (options, step) = (&self.options, self.options.step(self.iteration));
        let pass = Pass { game, terminals: &self.terminals, options, step, parallel: self.parallel, learns, draw };
        if options.algorithm == Algorithm::CfrBr {
            pass.respond(&mut self.public, 1 - seat, &reach[seat], game.scale);
        }
        let values = pass.values(&mut self.public, [&reach[0], &reach[1]], game.scale);
        for seat in (0..2).filter(|&seat| learns[seat]) {
            self.utilities[seat] += pass.draw.winnings(&game.weights[seat], &values[seat]);
        }
    }

    /// Gives the strategy of a locked node on a board: probabilities or weights `[action][hand]`.
    ///
    /// # Panics
    /// If there is no such node on such a board, or lengths differ.
    pub fn lock(&mut self, node: usize, board: usize, strategy: &[f64]) {
        let mut found = false;
        self.public.visit_mut(&mut |decision: &mut Decision| {
            if (decision.node, decision.board) == (node, board) {
                decision.tables.averages.copy_from_slice(strategy);
                found = true;
            }
        });
        assert!(found, "node {node} on board {board}");
    }

    /// What the solve remembers.
    pub fn state(&self) -> State {
        let tables = || [0, 1].map(|seat| vec![0.0; self.game.table_len(seat)]);
        let last = if self.options.predicts() { tables() } else { Default::default() };
        let mut state = State {
            iteration: self.iteration,
            regrets: tables(),
            averages: tables(),
            last,
            utilities: self.utilities,
            random: self.random.0,
        };
        let strides = self.game.strides();
        self.public.visit(&mut |decision: &Decision| {
            let (tables, seat) = (&decision.tables, decision.seat);
            let at = strides[decision.node].0 + decision.board * strides[decision.node].1;
            let row = at..at + tables.regrets.len();
            state.regrets[seat][row.clone()].copy_from_slice(&tables.regrets);
            state.averages[seat][row.clone()].copy_from_slice(&tables.averages);
            if !tables.last.is_empty() {
                state.last[seat][row].copy_from_slice(&tables.last);
            }
        });
        state
    }

    /// Goes on from `state`, which a solve of the same game gave: the same bits as if it had never stopped.
    ///
    /// # Panics
    /// If tables have another size.
    pub fn set_state(&mut self, state: &State) {
        let strides = self.game.strides();
        self.iteration = state.iteration;
        self.utilities = state.utilities;
        self.random = Random(state.random);
        self.public.visit_mut(&mut |decision: &mut Decision| {
            let (tables, seat) = (&mut decision.tables, decision.seat);
            let at = strides[decision.node].0 + decision.board * strides[decision.node].1;
            let row = at..at + tables.regrets.len();
            tables.regrets.copy_from_slice(&state.regrets[seat][row.clone()]);
            tables.averages.copy_from_slice(&state.averages[seat][row.clone()]);
            if !tables.last.is_empty() {
                tables.last.copy_from_slice(&state.last[seat][row]);
            }
        });
    }

    fn walk(&self, seat: usize, own: Own) -> Vec<f64> {
        let (game, terminals) = (&*self.game, &self.terminals);
        Walk { game, terminals, parallel: self.parallel, seat, own, strategies: &Averages }.values(
            &self.public,
            &game.weights[1 - seat],
            game.scale,
        )
    }

    /// Expected winnings by seat when both play the average strategies.
    pub fn values(&self) -> [f64; 2] {
        [0, 1].map(|seat| weighted(&self.game, seat, &self.walk(seat, Own::Plays)))
    }

    /// What each seat wins with its best strategy against the other's average. Locked nodes are played as given.
    pub fn best_responses(&self) -> [f64; 2] {
        [0, 1].map(|seat| weighted(&self.game, seat, &self.walk(seat, Own::Responds)))
    }

    /// Σ over seats of (best response − value).
    pub fn nash_conv(&self) -> f64 {
        let (best, values) = (self.best_responses(), self.values());
        (best[0] - values[0]) + (best[1] - values[1])
    }

    /// Expected winnings of each hand of a seat, given that it was dealt, when both play the average strategies; NaN where the
    /// opponent can have no hand beside it.
    pub fn hand_winnings(&self, seat: usize) -> Vec<f64> {
        given_hand(&self.game, &self.terminals, seat, self.walk(seat, Own::Plays))
    }

    /// The average strategy `[action][hand]` of a decision node on a board; `None` if there is no such place.
    pub fn average(&self, node: usize, board: usize) -> Option<Vec<f64>> {
        let mut found = None;
        self.public.visit(&mut |decision: &Decision| {
            if (decision.node, decision.board) == (node, board) {
                let mut weights = decision.tables.averages.clone();
                normalise_hands(&mut weights, self.game.hands[decision.seat].len());
                found = Some(weights);
            }
        });
        found
    }

    /// Σ of the positive cumulative regrets of all sets.
    pub fn positive_regret(&self) -> f64 {
        let mut sum = 0.0;
        self.public.visit(&mut |decision: &Decision| {
            sum += decision.tables.regrets.iter().map(|regret| regret.max(0.0)).sum::<f64>();
        });
        sum
    }
}
