//! Two-player games from rules.

use super::game::{Game, Kind, Node};
use crate::cfr::poker::{Betting, Rules, payoffs};

impl Game {
    /// The game of these rules, on all boards and with all hands.
    ///
    /// # Panics
    /// If it is not for two players, or the deck has not enough cards.
    pub fn poker(rules: &Rules) -> Self {
        assert_eq!(rules.n_players(), 2, "players in vector form");
        let mut nodes = Vec::new();
        add(rules, &Betting::new(rules), &mut nodes);
        let hands = Self::all_hands(rules.deck, rules.n_hole_cards, 0);
        let weights = vec![1.0; hands.len()];
        let (hands, weights) = ([hands.clone(), hands], [weights.clone(), weights]);
        Self::new(rules.deck, rules.n_hole_cards, 0, &rules.n_board_cards, hands, weights, nodes)
    }
}

/// Adds a state of the betting and its descendants, depth first; returns its number.
fn add(rules: &Rules, betting: &Betting, nodes: &mut Vec<Node>) -> usize {
    let won = |strengths: [u32; 2]| {
        let won = payoffs(&betting.contributed, &betting.folded, &strengths);
        [won[0], won[1]]
    };
    let kind = match betting.turn {
        Some(seat) => Kind::Decision { seat, children: Vec::new(), locked: false },
        None if betting.n_left() == 1 => Kind::Fold { payoff: won([0, 0]) },
        None => {
            let (first, second) = (won([1, 0]), won([0, 1]));
            Kind::Showdown { win: [first[0], second[1]], lose: [second[0], first[1]], tie: won([0, 0]) }
        }
    };
    let node = nodes.len();
    nodes.push(Node { round: betting.round, kind });
    let after = betting.actions(rules).into_iter().map(|action| add(rules, &betting.after(rules, action), nodes));
    let after: Vec<usize> = after.collect();
    if let Kind::Decision { children, .. } = &mut nodes[node].kind {
        *children = after;
    }
    node
}
