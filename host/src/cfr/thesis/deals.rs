//! Deals of the cards, one after the other from a seed, and what the programs want to know of them.

use warpplay_gpu::cfr::beats::{self, MAX_PLAYERS};

use crate::cfr::cards::{CardSet, choose};
use crate::cfr::{GameDef, Ranking};

/// Which bucket of a round a player's cards are in.
pub(in crate::cfr) trait Bucketing: Send + Sync {
    /// Buckets of a round.
    fn n_buckets(&self, round: usize) -> u32;
    /// The bucket of the hole cards and the board as of the round.
    fn bucket(&self, round: usize, hole: CardSet, board: CardSet) -> u32;
}

/// The source's buckets: one for each **unordered set** of a player's hole cards and the board, numbered by Σ C(cₖ, k + 1) over its cards c₀ < c₁ < ….
pub(in crate::cfr) struct Unordered {
    counts: Vec<u32>,
    /// C(card, k + 1) by card and k.
    binomials: Vec<[u32; Self::MOST]>,
}

impl Unordered {
    /// Most cards of a set.
    const MOST: usize = 8;

    /// The buckets of a game; `None` where a set has more cards than [`Self::MOST`] or there are 2³² sets or more.
    pub fn new(game: &GameDef) -> Option<Self> {
        let n_cards = game.deck.n_cards();
        let (mut counts, mut n) = (Vec::new(), game.n_hole_cards);
        for &board in &game.n_board_cards {
            n += board;
            counts.push(u32::try_from(choose(n_cards, n as u32)).ok()?);
        }
        (n <= Self::MOST).then(|| Self {
            counts,
            binomials: (0..n_cards).map(|card| std::array::from_fn(|k| choose(card, k as u32 + 1) as u32)).collect(),
        })
    }
}

impl Bucketing for Unordered {
    fn n_buckets(&self, round: usize) -> u32 {
        self.counts[round]
    }

    fn bucket(&self, _: usize, hole: CardSet, board: CardSet) -> u32 {
        let (mut cards, mut bucket, mut k) = (hole | board, 0, 0);
        while cards != 0 {
            bucket += self.binomials[cards.trailing_zeros() as usize][k];
            cards &= cards - 1;
            k += 1;
        }
        bucket
    }
}

/// One deal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cfr) struct Cards {
    /// Hole cards, by seat.
    pub holes: Vec<CardSet>,
    /// The board as of each round.
    pub boards: Vec<CardSet>,
}

/// Deals from a seed: a linear congruential generator shuffles as many cards as are needed to the front of a fresh deck, and runs on from deal to deal.
#[derive(Clone, Debug)]
pub(in crate::cfr) struct Dealer {
    state: u64,
    n_players: usize,
    n_hole_cards: usize,
    n_board_cards: Vec<usize>,
    n_cards: usize,
    ranking: Ranking,
}

impl Dealer {
    /// The deals of a seed.
    pub fn new(game: &GameDef, seed: u64) -> Self {
        Self {
            state: seed,
            n_players: game.n_players,
            n_hole_cards: game.n_hole_cards,
            n_board_cards: game.n_board_cards.clone(),
            n_cards: game.deck.n_cards() as usize,
            ranking: Ranking::new(game.deck),
        }
    }

    /// Where the generator is; a dealer made with it as seed goes on from here.
    pub fn state(&self) -> u64 {
        self.state
    }

    /// The next deal.
    pub fn next(&mut self) -> Cards {
        let mut deck: [u8; 64] = std::array::from_fn(|card| card as u8);
        let needed = self.n_players * self.n_hole_cards + self.n_board_cards.iter().sum::<usize>();
        for place in 0..needed.min(self.n_cards) {
            self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            deck.swap(place, place + (self.state >> 33) as usize % (self.n_cards - place));
        }
        let set = |cards: &[u8]| cards.iter().fold(0, |set, &card| set | 1u64 << card);
        let (holes, board) = deck[..needed].split_at(self.n_players * self.n_hole_cards);
        let mut n = 0;
        let boards = self.n_board_cards.iter().map(|&more| {
            n += more;
            set(&board[..n])
        });
        Cards { boards: boards.collect(), holes: holes.chunks(self.n_hole_cards).map(set).collect() }
    }

    /// Who beats whom at the showdown; see [`beats`].
    pub fn beats(&self, cards: &Cards) -> [u32; MAX_PLAYERS] {
        let board = cards.boards.last().copied().unwrap_or(0);
        let mut strengths = [0; MAX_PLAYERS];
        for (strength, hole) in strengths.iter_mut().zip(&cards.holes) {
            *strength = self.ranking.strength(hole | board);
        }
        let strengths = &strengths[..cards.holes.len().min(MAX_PLAYERS)];
        let seats = |is: &dyn Fn(u32) -> bool| {
            strengths.iter().enumerate().filter(|(_, other)| is(**other)).fold(0, |set, (seat, _)| set | 1 << seat)
        };
        let mut words = [0; MAX_PLAYERS];
        for (word, &own) in words.iter_mut().zip(strengths) {
            *word = beats::word(seats(&|other| other > own), seats(&|other| other == own));
        }
        words
    }
}
