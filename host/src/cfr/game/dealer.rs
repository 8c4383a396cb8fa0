//! Deals of the cards, one after the other from a seed, and what engines that sample deals want to know of them.

use warpplay_gpu::cfr::beats::{self, MAX_PLAYERS};

use super::cards::{CardSet, choose, set_of};
use super::deal::Deals;
use super::game_file::GameDef;
use super::ranking::Ranking;
use crate::Result;

/// Buckets of hands; all hands of a bucket are played alike.
pub trait Buckets: Send + Sync {
    /// Buckets of a betting round.
    fn n_buckets(&self, round: usize) -> u32;

    /// Bucket of the hole cards with the board as of the round; below [`n_buckets`](Self::n_buckets); a larger number counts as the last bucket.
    fn bucket(&self, round: usize, hole: CardSet, board: CardSet) -> u32;
}

/// The paper's buckets: one for each **unordered set** of a player's hole cards and the board, numbered by Σ C(cₖ, k + 1) over its cards c₀ < c₁ < ….
#[derive(Clone, Debug)]
pub struct Unordered {
    counts: Vec<u32>,
    /// C(card, k + 1) by card and k.
    binomials: Vec<[u32; Self::MOST]>,
}

impl Unordered {
    /// Most cards of a set.
    const MOST: usize = 8;

    /// The buckets of a game; `None` if a set has more than 8 cards or there are 2³² sets or more.
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

impl Buckets for Unordered {
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
pub struct Cards {
    /// Hole cards, by seat.
    pub holes: Vec<CardSet>,
    /// The board as of each round.
    pub boards: Vec<CardSet>,
}

/// Deals from a seed, with the results of showdowns.
#[derive(Clone, Debug)]
pub struct Dealer {
    deals: Deals,
    n_board_cards: Vec<usize>,
    ranking: Ranking,
}

impl Dealer {
    /// The deals of a seed.
    ///
    /// # Errors
    /// As [`Deals::new`].
    pub fn new(game: &GameDef, seed: u64) -> Result<Self> {
        Ok(Self {
            deals: Deals::new(game, seed)?,
            n_board_cards: game.n_board_cards.clone(),
            ranking: Ranking::new(game.deck),
        })
    }

    /// State of the generator; a dealer made with it as seed continues from here.
    pub fn state(&self) -> u64 {
        self.deals.state()
    }

    /// The next deal.
    #[allow(clippy::should_implement_trait, reason = "there is always another")]
    pub fn next(&mut self) -> Cards {
        let deal = self.deals.deal();
        let mut board = deal.cards[deal.cards.len() - self.n_board_cards.iter().sum::<usize>()..].iter();
        let mut shown = 0;
        let boards = self.n_board_cards.iter().map(|&more| {
            shown |= set_of(&board.by_ref().take(more).copied().collect::<Vec<u8>>());
            shown
        });
        Cards { boards: boards.collect(), holes: deal.hole }
    }

    /// Which seats beat which at the showdown; see [`beats`].
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
