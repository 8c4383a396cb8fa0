//! Deals of all cards, from the generator of the reference vectors.

use super::cards::{CardSet, colex_rank, set_of};
use super::game_file::GameDef;
use crate::Result;

/// The linear congruential generator of the deals (Knuth's multiplier for 64 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Lcg(pub u64);

impl Lcg {
    /// Factor of the state.
    pub const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
    /// Increment of the state.
    pub const INCREMENT: u64 = 1_442_695_040_888_963_407;

    /// The next number of 31 bits.
    pub fn next_u31(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(Self::MULTIPLIER).wrapping_add(Self::INCREMENT);
        (self.0 >> 33) as u32
    }
}

/// An endless sequence of deals of a game: each takes a fresh deck and swaps card `i` with a random card from `i` on, for as many cards as are needed.
#[derive(Clone, Debug)]
pub struct Deals {
    lcg: Lcg,
    n_cards: u32,
    n_players: usize,
    n_hole: usize,
    n_board: usize,
}

/// The cards of one hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deal {
    /// All cards in the order in which they were drawn: the private cards seat by seat, then the board.
    pub cards: Vec<u8>,
    /// Private cards, by seat.
    pub hole: Vec<CardSet>,
    /// The whole board.
    pub board: CardSet,
}

impl Deals {
    /// Starts the deals of a game from a seed; the generator continues from deal to deal.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) if the rules cannot be played.
    pub fn new(rules: &GameDef, seed: u64) -> Result<Self> {
        rules.check()?;
        Ok(Self {
            lcg: Lcg(seed),
            n_cards: rules.deck.n_cards(),
            n_players: rules.n_players,
            n_hole: rules.n_hole_cards,
            n_board: rules.n_board_cards.iter().sum(),
        })
    }

    /// State of the generator before the next deal; [`Deals::new`] with it as seed continues from here.
    pub fn state(&self) -> u64 {
        self.lcg.0
    }

    /// The next deal.
    pub fn deal(&mut self) -> Deal {
        let mut deck: Vec<u8> = (0..self.n_cards as u8).collect();
        let needed = self.n_players * self.n_hole + self.n_board;
        for i in 0..needed {
            let other = i + (self.lcg.next_u31() % (self.n_cards - i as u32)) as usize;
            deck.swap(i, other);
        }
        deck.truncate(needed);
        let (hole, board) = deck.split_at(self.n_players * self.n_hole);
        let (hole, board) = (hole.chunks(self.n_hole).map(set_of).collect(), set_of(board));
        Deal { cards: deck, hole, board }
    }
}

impl Deal {
    /// The paper's bucket of a seat: the number of its cards and the board as one unordered set, in colexicographic order.
    pub fn thesis_bucket(&self, seat: usize) -> Option<u64> {
        self.hole.get(seat).map(|hole| colex_rank(hole | self.board))
    }
}
