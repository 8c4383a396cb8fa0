//! Poker by the rules of an ACPC game definition: betting, ranking of hands, and the game with its cards as a tree.
//!
//! Cards are numbered `rank · n_suits + suit`, the lowest rank first. Seats are numbered from 0.
//!
//! # Source
//! The rules of the Annual Computer Poker Competition's reference dealer, as its game definition files describe them.

mod betting;
mod game;
mod ranking;
mod showdown;

pub use betting::{Action, Betting};
pub use game::{Deal, Poker};
pub use ranking::{Deck, strength};
pub use showdown::payoffs;

/// The rules of a poker game: the values of a game definition file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Any raise from the minimum to all-in, instead of fixed sizes.
    pub no_limit: bool,
    /// Chips of each seat; `None` for unlimited stacks.
    pub stacks: Option<Vec<u32>>,
    /// Chips that each seat puts in before the first action; as many as there are seats.
    pub blinds: Vec<u32>,
    /// Chips that a raise adds, by round; empty in no-limit.
    pub raise_sizes: Vec<u32>,
    /// Seat that acts first, by round.
    pub first_players: Vec<usize>,
    /// Most raises of a round, by round.
    pub max_raises: Vec<u32>,
    /// The deck.
    pub deck: Deck,
    /// Private cards of a player.
    pub n_hole_cards: usize,
    /// Cards turned up at the start of each round; as many as there are rounds.
    pub n_board_cards: Vec<usize>,
    /// Sizes of no-limit raises, by round; empty for every whole number of chips.
    pub bet_sizes: Vec<Vec<Bet>>,
}

/// A size of a raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bet {
    /// Thousandths of the pot after a call, rounded to whole chips, halves up.
    Pot(u32),
    /// Chips beyond the highest bet.
    Chips(u32),
    /// All that the seat has.
    AllIn,
}

impl Rules {
    /// Seats.
    pub fn n_players(&self) -> usize {
        self.blinds.len()
    }

    /// Betting rounds.
    pub fn n_rounds(&self) -> usize {
        self.n_board_cards.len()
    }

    /// Maximum number of chips that a seat can put in.
    pub fn stack(&self, seat: usize) -> u32 {
        self.stacks.as_ref().map_or(u32::MAX, |stacks| stacks[seat])
    }

    /// Cards that one deal needs, private and public.
    pub fn n_dealt(&self) -> usize {
        self.n_players() * self.n_hole_cards + self.n_board_cards.iter().sum::<usize>()
    }

    /// Kuhn poker for 2 or more players: one card each of `players + 1`, an ante and one bet of 1.
    pub fn kuhn(players: usize) -> Self {
        Self {
            no_limit: false,
            stacks: None,
            blinds: vec![1; players],
            raise_sizes: vec![1],
            first_players: vec![0],
            max_raises: vec![1],
            deck: Deck { n_suits: 1, n_ranks: players as u8 + 1 },
            n_hole_cards: 1,
            n_board_cards: vec![0],
            bet_sizes: Vec::new(),
        }
    }

    /// Leduc hold'em for 2 or more players: two suits of `players + 1` ranks, a private and a public card, raises of 2 and 4.
    pub fn leduc(players: usize) -> Self {
        Self {
            no_limit: false,
            stacks: None,
            blinds: vec![1; players],
            raise_sizes: vec![2, 4],
            first_players: vec![0, 0],
            max_raises: vec![2, 2],
            deck: Deck { n_suits: 2, n_ranks: players as u8 + 1 },
            n_hole_cards: 1,
            n_board_cards: vec![0, 1],
            bet_sizes: Vec::new(),
        }
    }
}
