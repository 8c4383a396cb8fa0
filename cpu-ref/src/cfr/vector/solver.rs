//! Counterfactual regret minimisation in vector form.

use std::sync::Arc;

use super::evaluate::{Averages, Own, Walk, given_hand, weighted};
use super::gadget::{self, Gadget};
use super::game::Game;
use super::pass::Pass;
use super::public::{Decision, Public, Tables, normalise_hands};
use super::sampling::{Draw, Sampling};
use super::terminal::Terminals;
use crate::cfr::random::Random;
use crate::cfr::{Algorithm, Options, Updates};

/// The complete state of a solve between two iterations. Tables are by seat, laid out as by [`Game::offset`].
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
    /// Sums over the iterations of the expected winnings of the strategies used, or estimates with sampling.
    pub utilities: [f64; 2],
    /// State of the random generator.
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
    /// The choice before the first decision of a subgame that is re-solved; with alternating updates. It is no part of [`State`].
    pub gadget: Option<Gadget>,
    /// What is drawn at random in an iteration.
    pub sampling: Sampling,
    /// Whether boards are processed in parallel by rayon, in the caller's thread pool.
    pub parallel: bool,
}

impl Solver {
    /// Starts a solve; all strategies are uniform, including locked ones until they are given.
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
            gadget: None,
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

    /// Restarts the random generator.
    pub fn seed(&mut self, seed: u64) {
        self.random = Random(seed);
    }

    /// Runs `n` more iterations.
    ///
    /// # Panics
    /// If hands are drawn with simultaneous updates, or anything is drawn in CFR-BR: a draw serves one seat's pass.
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
        if let Some(gadget) = self.gadget.as_ref().filter(|gadget| gadget.seat != seat) {
            for (hand, reach) in reach[gadget.seat].iter_mut().enumerate() {
                *reach *= gadget.plays_on(hand);
            }
        }
        let (options, step) = (&self.options, self.options.step(self.iteration));
        let pass = Pass { game, terminals: &self.terminals, options, step, parallel: self.parallel, learns, draw };
        if options.algorithm == Algorithm::CfrBr {
            pass.respond(&mut self.public, 1 - seat, &reach[seat], game.scale);
        }
        let values = pass.values(&mut self.public, [&reach[0], &reach[1]], game.scale);
        for seat in (0..2).filter(|&seat| learns[seat]) {
            self.utilities[seat] += pass.draw.winnings(&game.weights[seat], &values[seat]);
        }
        if let Some(gadget) = self.gadget.as_mut().filter(|gadget| learns[gadget.seat]) {
            gadget::learn(gadget, &values[gadget.seat], &step);
        }
    }

    /// Gives the strategy of a locked node on a board: probabilities or weights `[action][hand]`, NaN for hands that learn.
    ///
    /// # Panics
    /// If there is no such node on such a board, or lengths differ.
    pub fn lock(&mut self, node: usize, board: usize, strategy: &[f64]) {
        let mut found = false;
        self.public.visit_mut(&mut |decision: &mut Decision| {
            if (decision.node, decision.board) == (node, board) {
                let number = |&weight: &f64| if weight.is_nan() { 0.0 } else { weight };
                decision.tables.averages = strategy.iter().map(number).collect();
                let n_hands = decision.locked.len();
                decision.locked = strategy[..n_hands].iter().map(|weight| !weight.is_nan()).collect();
                found = true;
            }
        });
        assert!(found, "node {node} on board {board}");
    }

    /// The state of the solve.
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

    /// Restores `state`, which a solve of the same game returned; the solve then continues with the same bits as if it had never stopped.
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

    /// The winnings of each seat with its best response to the other's average strategy. Locked nodes are played as given.
    pub fn best_responses(&self) -> [f64; 2] {
        [0, 1].map(|seat| weighted(&self.game, seat, &self.walk(seat, Own::Responds)))
    }

    /// What the best response of the seat with the choice of the gadget wins beyond ending with every hand; 0 without a gadget.
    pub fn gadget_gain(&self) -> f64 {
        let Some(gadget) = &self.gadget else { return 0.0 };
        let best = self.walk(gadget.seat, Own::Responds);
        let gains = best.iter().zip(&gadget.alternatives).map(|(best, end)| (best - end).max(0.0));
        gains.zip(&self.game.weights[gadget.seat]).map(|(gain, weight)| gain * weight).sum()
    }

    /// Σ over seats of (best response − value).
    pub fn nash_conv(&self) -> f64 {
        let (best, values) = (self.best_responses(), self.values());
        (best[0] - values[0]) + (best[1] - values[1])
    }

    /// Expected winnings of each hand of a seat, given that it was dealt, when both play the average strategies; NaN if the
    /// opponent has no compatible hand.
    pub fn hand_winnings(&self, seat: usize) -> Vec<f64> {
        given_hand(&self.game, &self.terminals, seat, self.walk(seat, Own::Plays))
    }

    /// The average strategy `[action][hand]` of a decision node on a board; `None` if there is no such node.
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
