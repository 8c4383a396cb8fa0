//! Poker with its cards, as a tree.

use super::{Betting, Rules, payoffs, strength};
use crate::cfr::tree::{Game, Turn};

/// A poker game as an explicit tree: chance deals single cards, uniformly over those left, the first seat's private cards first.
///
/// Information sets are keyed `seat:hole:board:betting`, for example `1:2d:3c:cc/r`: cards as [`Deck::name`](super::Deck::name) writes them, the private ones and those of
/// one round in ascending order; suits are distinguished.
#[derive(Clone, Debug)]
pub struct Poker {
    rules: Rules,
}

/// What has happened in a hand of [`Poker`].
#[derive(Clone, Debug)]
pub struct Deal {
    /// Cards in the order in which they were dealt: every seat's private cards, then the board.
    pub cards: Vec<u8>,
    /// The betting.
    pub betting: Betting,
}

impl Poker {
    /// The game of these rules.
    ///
    /// # Panics
    /// If the deck has not enough cards for a deal.
    pub fn new(rules: Rules) -> Self {
        assert!(rules.n_dealt() <= rules.deck.n_cards(), "the deck has not enough cards for a deal");
        Self { rules }
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Number of cards that must be dealt before the betting continues, or before the showdown.
    fn n_needed(&self, betting: &Betting) -> usize {
        let private = self.rules.n_players() * self.rules.n_hole_cards;
        let shown = betting.turn.is_none() && betting.n_left() > 1;
        let rounds = if shown { self.rules.n_rounds() } else { betting.round + 1 };
        private + self.rules.n_board_cards[..rounds].iter().sum::<usize>()
    }

    /// A seat's private cards.
    pub fn hole<'a>(&self, state: &'a Deal, seat: usize) -> &'a [u8] {
        let n = self.rules.n_hole_cards;
        &state.cards[seat * n..(seat + 1) * n]
    }

    /// The public cards.
    pub fn board<'a>(&self, state: &'a Deal) -> &'a [u8] {
        &state.cards[self.rules.n_players() * self.rules.n_hole_cards..]
    }

    fn names(&self, cards: &[u8]) -> String {
        let mut cards = cards.to_vec();
        cards.sort_unstable();
        cards.iter().map(|&card| self.rules.deck.name(card)).collect()
    }

    fn winnings(&self, state: &Deal) -> Vec<f64> {
        let n_players = self.rules.n_players();
        let mut strengths = vec![0; n_players];
        if state.betting.n_left() > 1 {
            for (seat, strength_of) in strengths.iter_mut().enumerate() {
                let cards = self.hole(state, seat).iter().chain(self.board(state));
                *strength_of = strength(cards.fold(0, |set, card| set | 1 << card), self.rules.deck);
            }
        }
        payoffs(&state.betting.contributed, &state.betting.folded, &strengths)
    }
}

impl Game for Poker {
    type State = Deal;
    type Key = String;

    fn n_players(&self) -> usize {
        self.rules.n_players()
    }

    fn root(&self) -> Deal {
        Deal { cards: Vec::new(), betting: Betting::new(&self.rules) }
    }

    fn turn(&self, state: &Deal) -> Turn {
        let all_folded = state.betting.turn.is_none() && state.betting.n_left() == 1;
        if !all_folded && state.cards.len() < self.n_needed(&state.betting) {
            let left = self.rules.deck.n_cards() - state.cards.len();
            return Turn::Chance(vec![1.0 / left as f64; left]);
        }
        match state.betting.turn {
            Some(seat) => Turn::Player { seat, n_actions: state.betting.actions(&self.rules).len() },
            None => Turn::End(self.winnings(state)),
        }
    }

    fn after(&self, state: &Deal, action: usize) -> Deal {
        let mut next = state.clone();
        if let Turn::Chance(_) = self.turn(state) {
            let mut left = (0..self.rules.deck.n_cards() as u8).filter(|card| !state.cards.contains(card));
            next.cards.extend(left.nth(action));
        } else {
            next.betting = state.betting.after(&self.rules, state.betting.actions(&self.rules)[action]);
        }
        next
    }

    fn key(&self, state: &Deal) -> String {
        let seat = state.betting.turn.unwrap_or_default();
        let mut board = String::new();
        let mut rest = self.board(state);
        for &n in &self.rules.n_board_cards {
            let (round, later) = rest.split_at(n.min(rest.len()));
            board += &self.names(round);
            rest = later;
        }
        format!("{seat}:{}:{board}:{}", self.names(self.hole(state, seat)), state.betting.history)
    }
}
