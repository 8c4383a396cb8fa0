//! A game in vector form as the reference has it: the same boards, hands and numbering of tables.

use std::sync::Arc;

use warpplay_cpu_ref::cfr::{poker, vector};

use crate::cfr::engines::explicit::reference_options;
use crate::cfr::layout::{Given, Lock, Node, VectorGame};
use crate::cfr::options::Options;

/// The reference's solve of a game; locked nodes play what is given.
pub fn solver(game: &VectorGame, options: &Options) -> vector::Solver {
    let plain = self::game(game);
    let n_rounds = plain.rounds.len();
    let decisions: Vec<usize> = (0..plain.nodes.len()).filter(|&node| plain.decision(node).is_some()).collect();
    let boards: Vec<usize> = (0..n_rounds).map(|round| plain.rounds[round].len()).collect();
    let rounds: Vec<usize> = plain.nodes.iter().map(|node| node.round).collect();
    let starts = starts(game);
    let mut solver = vector::Solver::new(Arc::new(plain), reference_options(options));
    solver.gadget = game.gadget.as_ref().map(|gadget| vector::Gadget::new(gadget.seat, gadget.alternatives.clone()));
    for lock in &game.locks {
        let node = starts[lock.street][lock.entry] + lock.node;
        assert!(decisions.contains(&node) && rounds[node] == lock.street);
        for board in 0..boards[lock.street] {
            let (n_hands, n_actions) = sizes(game, lock);
            let learns = Given { hands: vec![false; n_hands], strategy: vec![vec![0.0; n_hands]; n_actions] };
            let given = lock.on(board).unwrap_or(&learns);
            let of_hand = |(&part, &is_given): (&f64, &bool)| if is_given { part } else { f64::NAN };
            let strategy: Vec<f64> =
                given.strategy.iter().flat_map(|vector| vector.iter().zip(&given.hands).map(of_hand)).collect();
            solver.lock(node, board, &strategy);
        }
    }
    solver
}

/// Hands and actions of the seat at a locked node.
fn sizes(game: &VectorGame, lock: &Lock) -> (usize, usize) {
    match &game.streets[lock.street].entries[lock.entry].nodes[lock.node] {
        Node::Decision { seat, children, .. } => (game.hands[*seat].len(), children.len()),
        _ => panic!("a decision"),
    }
}

/// The reference's sums of a seat's strategies as the engines have them. It weighs them with the hand's weight in the range, which the engines leave out; given
/// strategies are the same in both.
pub fn averages(game: &VectorGame, seat: usize, sums: &[f64]) -> Vec<f64> {
    let weights = &game.weights[seat];
    let mut averages: Vec<f64> = sums.iter().enumerate().map(|(at, sum)| sum / weights[at % weights.len()]).collect();
    for (first, given) in game.given_rows(seat) {
        for hand in given.numbers() {
            for at in (first + hand..).step_by(weights.len()).take(given.strategy.len()) {
                averages[at] = sums[at];
            }
        }
    }
    averages
}

/// Number of the first node of each entry, by street, where all nodes stand one after the other.
fn starts(game: &VectorGame) -> Vec<Vec<usize>> {
    let mut next = 0;
    let of_street = |street: &crate::cfr::layout::Street| {
        let start = |entry: &crate::cfr::layout::Entry| {
            let first = next;
            next += entry.nodes.len();
            first
        };
        street.entries.iter().map(start).collect()
    };
    game.streets.iter().map(of_street).collect()
}

fn game(game: &VectorGame) -> vector::Game {
    let starts = starts(game);
    // An exit stands for the root of its entry, which may be an exit again.
    let resolved = |mut street: usize, mut entry: usize, mut node: usize| {
        while let Node::Exit { entry: next } = &game.streets[street].entries[entry].nodes[node] {
            (street, entry, node) = (street + 1, *next as usize, 0);
        }
        starts[street][entry] + node
    };
    let mut nodes = Vec::new();
    for (round, street) in game.streets.iter().enumerate() {
        for (number, entry) in street.entries.iter().enumerate() {
            nodes.extend(entry.nodes.iter().map(|node| {
                let kind = match node {
                    Node::Decision { seat, children, locked, .. } => vector::Kind::Decision {
                        seat: *seat,
                        children: children.iter().map(|&child| resolved(round, number, child as usize)).collect(),
                        locked: *locked,
                    },
                    // Nobody comes here.
                    Node::Exit { .. } => vector::Kind::Fold { payoff: [0.0; 2] },
                    Node::Fold { payoff } => vector::Kind::Fold { payoff: *payoff },
                    Node::Showdown { win, lose, tie } => vector::Kind::Showdown { win: *win, lose: *lose, tie: *tie },
                };
                vector::Node { round, kind }
            }));
        }
    }
    let board = |board: &crate::cfr::layout::Board| vector::Board {
        cards: board.cards,
        parent: board.parent as usize,
        weight: board.weight,
        members: board.members.iter().map(|&member| member as usize).collect(),
    };
    vector::Game {
        deck: poker::Deck { n_suits: game.deck.n_suits, n_ranks: game.deck.n_ranks },
        n_hole: game.n_hole,
        hands: game.hands.clone(),
        weights: game.weights.clone(),
        scale: game.scale,
        nodes,
        rounds: game.streets.iter().map(|street| street.boards.iter().map(board).collect()).collect(),
        permutations: game.permutations.clone(),
    }
}
