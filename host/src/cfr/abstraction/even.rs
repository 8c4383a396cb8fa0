//! Buckets of strength on whole boards, found when the cards are dealt: hold'em has more classes of seven cards than fit into a table.

use crate::cfr::game::cards::{CardSet, Deck, choose, subsets};
use crate::cfr::game::ranking::Ranking;

/// Equal parts of the strengths from 0 to 1.
#[derive(Clone, Debug)]
pub(super) struct Even {
    pub deck: Deck,
    pub n_hole: usize,
    pub n_board: usize,
    pub n_buckets: u32,
    ranking: Ranking,
}

/// The ranking is the deck's.
impl PartialEq for Even {
    fn eq(&self, other: &Self) -> bool {
        let of = |even: &Self| (even.deck, even.n_hole, even.n_board, even.n_buckets);
        of(self) == of(other)
    }
}

impl Even {
    /// Of at most `n` buckets: not more than there are strengths.
    pub fn new(deck: Deck, n_hole: usize, n_board: usize, n: u32) -> Self {
        let mut even = Self { deck, n_hole, n_board, n_buckets: n, ranking: Ranking::new(deck) };
        even.n_buckets = n.min(u32::try_from(even.most() + 1).unwrap_or(u32::MAX));
        even
    }

    /// Twice the number of hands of an opponent: what a hand gets that beats all of them.
    fn most(&self) -> u64 {
        let known = (self.n_board + self.n_hole) as u32;
        2 * choose(self.deck.n_cards().saturating_sub(known), self.n_hole as u32)
    }

    /// The bucket of a hand that wins `twice / most` against a hand drawn uniformly; the last one's part has its end.
    fn part(&self, twice: u64) -> u32 {
        let n = u64::from(self.n_buckets);
        (twice * n / self.most().max(1)).min(n.saturating_sub(1)) as u32
    }

    /// The buckets of hands on a board; a hand that the board blocks has none.
    pub fn buckets(&self, holes: &[CardSet], board: CardSet) -> Vec<Option<u32>> {
        let fits = |hole: CardSet| {
            hole.count_ones() as usize == self.n_hole && hole & board == 0 && (hole | board) & !self.deck.all() == 0
        };
        if board.count_ones() as usize != self.n_board {
            return vec![None; holes.len()];
        }
        let all = subsets(self.deck.all() & !board, self.n_hole);
        let others: Vec<(CardSet, u32)> = all.map(|hole| (hole, self.ranking.strength(hole | board))).collect();
        let bucket = |&hole: &CardSet| {
            let own = self.ranking.strength(hole | board);
            let won = |&(other, strength): &(CardSet, u32)| {
                let twice = u64::from(own > strength) + u64::from(own >= strength);
                if other & hole == 0 { twice } else { 0 }
            };
            fits(hole).then(|| self.part(others.iter().map(won).sum()))
        };
        holes.iter().map(bucket).collect()
    }
}
