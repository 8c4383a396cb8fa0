//! Values and exact best responses of given strategies.

use rayon::prelude::*;

use super::game::{Game, Kind, Node};
use super::public::{Decision, Public, Tables, add_board, normalise_hands, on_board, product};
use super::terminal::Terminals;

/// A decision on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionPoint {
    /// The betting node.
    pub node: usize,
    /// The board among those of the node's round; [`Game::dealt`] tells its cards.
    pub board: usize,
    /// The seat that acts.
    pub seat: usize,
    /// Number of actions.
    pub n_actions: usize,
}

/// Strategies of both seats.
pub trait Strategies: Sync {
    /// Writes the probabilities at a decision point, `[action][hand]`.
    fn fill(&self, point: DecisionPoint, probabilities: &mut [f64]);
}

/// Strategies by a function of decision point and hand; uniform if it returns `None`.
#[derive(Clone, Copy, Debug)]
pub struct ByHand<F>(pub F);

impl<F: Fn(DecisionPoint, usize) -> Option<Vec<f64>> + Sync> Strategies for ByHand<F> {
    fn fill(&self, point: DecisionPoint, probabilities: &mut [f64]) {
        let n_hands = probabilities.len() / point.n_actions;
        for hand in 0..n_hands {
            let given = (self.0)(point, hand);
            for action in 0..point.n_actions {
                probabilities[action * n_hands + hand] =
                    given.as_ref().map_or(1.0 / point.n_actions as f64, |given| given[action]);
            }
        }
    }
}

/// How a seat plays at its decisions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// Plays its strategy.
    Plays,
    /// Plays the best action, or the strategy that is given to the hand.
    Responds,
}

/// A walk that evaluates one seat's hands.
pub(super) struct Walk<'a, S: ?Sized> {
    pub game: &'a Game,
    pub terminals: &'a Terminals,
    pub parallel: bool,
    pub seat: usize,
    pub own: Own,
    pub strategies: &'a S,
}

/// Reads a decision's strategy `[action][hand]`.
pub(super) trait Source: Sync {
    fn strategy(&self, game: &Game, decision: &Decision) -> Vec<f64>;
}

impl<S: Strategies + ?Sized> Source for &S {
    fn strategy(&self, game: &Game, decision: &Decision) -> Vec<f64> {
        let n_actions = decision.children.len();
        let mut probabilities = vec![0.0; n_actions * game.hands[decision.seat].len()];
        let point = DecisionPoint { node: decision.node, board: decision.board, seat: decision.seat, n_actions };
        self.fill(point, &mut probabilities);
        probabilities
    }
}

/// The averages in the decisions' tables.
pub(super) struct Averages;

impl Source for Averages {
    fn strategy(&self, game: &Game, decision: &Decision) -> Vec<f64> {
        let mut weights = decision.tables.averages.clone();
        normalise_hands(&mut weights, game.hands[decision.seat].len());
        weights
    }
}

impl<S: Source> Walk<'_, S> {
    /// Counterfactual values of the seat's hands; `reach` is the opponent's, `chance` the boards' weights so far times the game's scale.
    pub fn values(&self, public: &Public, reach: &[f64], chance: f64) -> Vec<f64> {
        let (game, seat) = (self.game, self.seat);
        match public {
            Public::Deal { round, boards } => {
                let of_board = |(board, public): &(usize, Public)| {
                    let chance = chance * game.rounds[*round][*board].weight;
                    self.values(public, &on_board(game, *round, *board, 1 - seat, reach), chance)
                };
                let values: Vec<Vec<f64>> = if self.parallel {
                    boards.par_iter().map(of_board).collect()
                } else {
                    boards.iter().map(of_board).collect()
                };
                let mut sum = vec![0.0; game.hands[seat].len()];
                for ((board, _), values) in boards.iter().zip(&values) {
                    add_board(game, *round, *board, seat, values, &mut sum);
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
            Public::Decision(decision) => self.decision(decision, reach, chance),
        }
    }

    fn decision(&self, decision: &Decision, reach: &[f64], chance: f64) -> Vec<f64> {
        let n_hands = self.game.hands[self.seat].len();
        if decision.seat != self.seat {
            let strategy = self.strategies.strategy(self.game, decision);
            let mut sum = vec![0.0; n_hands];
            for (child, probabilities) in decision.children.iter().zip(strategy.chunks_exact(reach.len())) {
                let values = self.values(child, &product(reach, probabilities), chance);
                sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            return sum;
        }
        let strategy = self.strategies.strategy(self.game, decision);
        let (mut sum, mut best) = (vec![0.0; n_hands], vec![f64::NEG_INFINITY; n_hands]);
        for (child, probabilities) in decision.children.iter().zip(strategy.chunks_exact(n_hands)) {
            for (hand, value) in self.values(child, reach, chance).into_iter().enumerate() {
                sum[hand] += probabilities[hand] * value;
                best[hand] = best[hand].max(value);
            }
        }
        if self.own == Own::Responds {
            let learns = (0..n_hands).filter(|&hand| !decision.locked.get(hand).is_some_and(|&locked| locked));
            learns.for_each(|hand| sum[hand] = best[hand]);
        }
        sum
    }
}

/// Evaluates strategies of a game, in total or by hand.
#[derive(Clone, Debug)]
pub struct Evaluator<'a> {
    game: &'a Game,
    terminals: Terminals,
    public: Public,
    /// Whether boards are processed in parallel by rayon, in the caller's thread pool.
    pub parallel: bool,
}

impl<'a> Evaluator<'a> {
    /// Makes an evaluator of a game.
    pub fn new(game: &'a Game) -> Self {
        let public = Public::new(game, &|_| Tables::default());
        Self { game, terminals: Terminals::new(game), public, parallel: false }
    }

    fn walk(&self, strategies: &(impl Strategies + ?Sized), seat: usize, own: Own) -> Vec<f64> {
        let (game, terminals, parallel) = (self.game, &self.terminals, self.parallel);
        Walk { game, terminals, parallel, seat, own, strategies: &strategies }.values(
            &self.public,
            &game.weights[1 - seat],
            game.scale,
        )
    }

    /// Counterfactual value of each hand of a seat: chips, weighted with the opponent's hands and [`Game::scale`].
    pub fn hand_values(&self, strategies: &(impl Strategies + ?Sized), seat: usize) -> Vec<f64> {
        self.walk(strategies, seat, Own::Plays)
    }

    /// Expected winnings of each hand of a seat, given that it was dealt; NaN if the opponent has no compatible hand.
    pub fn hand_winnings(&self, strategies: &(impl Strategies + ?Sized), seat: usize) -> Vec<f64> {
        given_hand(self.game, &self.terminals, seat, self.hand_values(strategies, seat))
    }

    /// Expected winnings by seat.
    pub fn values(&self, strategies: &(impl Strategies + ?Sized)) -> [f64; 2] {
        [0, 1].map(|seat| weighted(self.game, seat, &self.walk(strategies, seat, Own::Plays)))
    }

    /// The winnings of each seat with its best response to the other's strategy. Locked nodes are played as given.
    pub fn best_responses(&self, strategies: &(impl Strategies + ?Sized)) -> [f64; 2] {
        [0, 1].map(|seat| weighted(self.game, seat, &self.walk(strategies, seat, Own::Responds)))
    }

    /// Σ over seats of (best response − value).
    pub fn nash_conv(&self, strategies: &(impl Strategies + ?Sized)) -> f64 {
        let (best, values) = (self.best_responses(strategies), self.values(strategies));
        (best[0] - values[0]) + (best[1] - values[1])
    }
}

/// Σ of weight times value.
pub(super) fn weighted(game: &Game, seat: usize, values: &[f64]) -> f64 {
    game.weights[seat].iter().zip(values).map(|(weight, value)| weight * value).sum()
}

/// Converts counterfactual values to the winnings of a dealt hand.
pub(super) fn given_hand(game: &Game, terminals: &Terminals, seat: usize, mut values: Vec<f64>) -> Vec<f64> {
    let masses = terminals.blockers.free(seat, &game.weights[1 - seat]);
    values.iter_mut().zip(masses).for_each(|(value, mass)| *value /= mass * game.scale);
    values
}

impl Game {
    /// The share of the pot that each hand of a seat wins if nobody bets: its equity against the other's hands. NaN if the opponent has no compatible hand.
    pub fn equity(&self, seat: usize) -> Vec<f64> {
        let game = self.shown_at_once();
        Evaluator::new(&game).hand_winnings(&ByHand(|_, _| None), seat)
    }

    /// The same over all hands, by seat; the two add up to 1.
    pub fn equities(&self) -> [f64; 2] {
        let game = self.shown_at_once();
        Evaluator::new(&game).values(&ByHand(|_, _| None))
    }

    fn shown_at_once(&self) -> Self {
        let kind = Kind::Showdown { win: [1.0; 2], lose: [0.0; 2], tie: [0.5; 2] };
        Self { nodes: vec![Node { round: 0, kind }], ..self.clone() }
    }
}
