//! Deals by the reference's explicit generator.

use crate::cfr::poker::{Rules, strength};

/// Deals hand after hand from one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dealer {
    /// The generator's state.
    pub state: u64,
}

/// One deal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dealt {
    /// Cards in the order in which they were dealt: every seat's hole cards, then the board.
    pub cards: Vec<u8>,
    /// Bucket of each seat, `[round][seat]`.
    pub buckets: Vec<Vec<usize>>,
    /// Strength of each seat with the whole board; the largest wins.
    pub strengths: Vec<u32>,
}

/// Rank of an unordered set of cards among all sets of its size: Σ C(cₖ, k + 1) over its cards c₀ < c₁ < ….
pub fn bucket(cards: u64) -> usize {
    let (mut rest, mut rank, mut size) = (cards, 0, 0);
    while rest != 0 {
        size += 1;
        rank += choose(rest.trailing_zeros() as usize, size);
        rest &= rest - 1;
    }
    rank
}

/// Number of ways to choose `k` of `n`.
pub(super) fn choose(n: usize, k: usize) -> usize {
    if k > n { 0 } else { (0..k).fold(1, |product, i| product * (n - i) / (i + 1)) }
}

impl Dealer {
    /// A stream from a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next deal: a new deck, shuffled as far as cards are needed.
    pub fn deal(&mut self, rules: &Rules) -> Dealt {
        let n_cards = rules.deck.n_cards();
        let mut deck: Vec<u8> = (0..n_cards as u8).collect();
        let n_dealt = rules.n_dealt();
        for at in 0..n_dealt {
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            deck.swap(at, at + (self.state >> 33) as usize % (n_cards - at));
        }
        deck.truncate(n_dealt);
        let set = |cards: &[u8]| cards.iter().fold(0_u64, |set, card| set | 1 << card);
        let (private, board) = deck.split_at(rules.n_players() * rules.n_hole_cards);
        let hole: Vec<u64> = private.chunks(rules.n_hole_cards).map(set).collect();
        let mut n_shown = 0;
        let shown = rules.n_board_cards.iter().map(|n| {
            n_shown += n;
            set(&board[..n_shown])
        });
        let buckets = shown.map(|shown| hole.iter().map(|hole| bucket(hole | shown)).collect()).collect();
        let strengths = hole.iter().map(|hole| strength(hole | set(board), rules.deck)).collect();
        Dealt { buckets, strengths, cards: deck }
    }
}
