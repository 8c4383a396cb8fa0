//! The public tree: betting nodes on boards, each decision with its tables.

use std::iter::StepBy;
use std::ops::Range;

use super::game::{Game, Kind};

/// A node of the public tree.
#[derive(Clone, Debug)]
pub(super) enum Public {
    /// Cards are dealt: the boards of `round` under one parent.
    Deal {
        round: usize,
        boards: Vec<(usize, Public)>,
    },
    Decision(Box<Decision>),
    Fold {
        round: usize,
        board: usize,
        payoff: [f64; 2],
    },
    Showdown {
        board: usize,
        win: [f64; 2],
        lose: [f64; 2],
        tie: [f64; 2],
    },
}

/// A decision on a board.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub node: usize,
    pub board: usize,
    pub seat: usize,
    /// By hand, whether its strategy is given, which the averages hold; empty at nodes that are not locked.
    pub locked: Vec<bool>,
    pub children: Vec<Public>,
    pub tables: Tables,
}

/// Vectors `[action][hand]`.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    pub regrets: Vec<f64>,
    pub averages: Vec<f64>,
    /// The last iteration's regrets, if the algorithm predicts.
    pub last: Vec<f64>,
    /// The action of a best response by hand, for CFR-BR.
    pub best: Vec<u32>,
}

impl Decision {
    /// Writes the strategies that are given to hands, `[action][hand]`, over others.
    pub fn give(&self, strategy: &mut [f64]) {
        let n_hands = self.locked.len();
        let locked = (0..n_hands).filter(|&hand| self.locked[hand]);
        for hand in locked {
            let cells = hand_cells(hand, strategy.len(), n_hands);
            let sum: f64 = cells.clone().map(|at| self.tables.averages[at]).sum();
            let uniform = 1.0 / cells.len() as f64;
            for at in cells {
                strategy[at] = if sum > 0.0 { self.tables.averages[at] / sum } else { uniform };
            }
        }
    }
}

/// Indices of a hand's values among `len` values `[action][hand]`.
pub(super) fn hand_cells(hand: usize, len: usize, n_hands: usize) -> StepBy<Range<usize>> {
    (hand..len).step_by(n_hands)
}

impl Public {
    /// The public tree of a game: `tables` makes each decision's.
    pub fn new(game: &Game, tables: &(impl Fn(usize) -> Tables + Sync)) -> Self {
        let boards = (0..game.rounds[0].len()).map(|board| (board, Self::on(game, 0, 0, board, tables))).collect();
        Self::Deal { round: 0, boards }
    }

    /// Betting node `node` on a board of `round`.
    fn on(game: &Game, node: usize, round: usize, board: usize, tables: &(impl Fn(usize) -> Tables + Sync)) -> Self {
        let shown = matches!(game.nodes[node].kind, Kind::Showdown { .. }) && round + 1 < game.rounds.len();
        if game.nodes[node].round > round || shown {
            let next = &game.rounds[round + 1];
            let first = next.partition_point(|child| child.parent < board);
            let n = next[first..].partition_point(|child| child.parent == board);
            let boards = (first..first + n).map(|child| (child, Self::on(game, node, round + 1, child, tables)));
            return Self::Deal { round: round + 1, boards: boards.collect() };
        }
        match &game.nodes[node].kind {
            Kind::Decision { seat, children, locked } => Self::Decision(Box::new(Decision {
                node,
                board,
                seat: *seat,
                locked: vec![true; if *locked { game.hands[*seat].len() } else { 0 }],
                children: children.iter().map(|&child| Self::on(game, child, round, board, tables)).collect(),
                tables: tables(node),
            })),
            Kind::Fold { payoff } => Self::Fold { round, board, payoff: *payoff },
            Kind::Showdown { win, lose, tie } => Self::Showdown { board, win: *win, lose: *lose, tie: *tie },
        }
    }

    /// Calls `visit` for every decision.
    pub fn visit(&self, visit: &mut impl FnMut(&Decision)) {
        match self {
            Self::Deal { boards, .. } => boards.iter().for_each(|(_, public)| public.visit(visit)),
            Self::Decision(decision) => {
                visit(decision);
                decision.children.iter().for_each(|child| child.visit(visit));
            }
            Self::Fold { .. } | Self::Showdown { .. } => {}
        }
    }

    /// As [`visit`](Self::visit), with mutable decisions.
    pub fn visit_mut(&mut self, visit: &mut impl FnMut(&mut Decision)) {
        match self {
            Self::Deal { boards, .. } => boards.iter_mut().for_each(|(_, public)| public.visit_mut(visit)),
            Self::Decision(decision) => {
                visit(decision);
                decision.children.iter_mut().for_each(|child| child.visit_mut(visit));
            }
            Self::Fold { .. } | Self::Showdown { .. } => {}
        }
    }
}

/// Reach of hands of `seat` on a board: 0 where it blocks them.
pub(super) fn on_board(game: &Game, round: usize, board: usize, seat: usize, reach: &[f64]) -> Vec<f64> {
    let cards = game.rounds[round][board].cards;
    let hands = reach.iter().zip(&game.hands[seat]);
    hands.map(|(&reach, hand)| if hand & cards == 0 { reach } else { 0.0 }).collect()
}

/// Adds a board's values to those of its parent: all members of its class, in their order. Hands that a member blocks get nothing, for their image is blocked on the
/// representative. The values already include the board's weight.
pub(super) fn add_board(game: &Game, round: usize, board: usize, seat: usize, values: &[f64], sum: &mut [f64]) {
    for &member in &game.rounds[round][board].members {
        if member == 0 {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        } else {
            let images = &game.permutations[member][seat];
            sum.iter_mut().zip(images).for_each(|(sum, &image)| *sum += values[image as usize]);
        }
    }
}

/// `a · b`, element by element.
pub(super) fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a * b).collect()
}

/// Makes every hand's weights `[action][hand]` probabilities: uniform if they are all 0.
pub(super) fn normalise_hands(weights: &mut [f64], n_hands: usize) {
    let n_actions = weights.len() / n_hands;
    let mut sums = vec![0.0; n_hands];
    for action in weights.chunks_exact(n_hands) {
        sums.iter_mut().zip(action).for_each(|(sum, weight)| *sum += weight);
    }
    let uniform = 1.0 / n_actions as f64;
    for action in weights.chunks_exact_mut(n_hands) {
        for (weight, &sum) in action.iter_mut().zip(&sums) {
            *weight = if sum > 0.0 { *weight / sum } else { uniform };
        }
    }
}
