//! How often a hand wins if all chips go in before the flop: exact, over all boards.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::N_CLASSES;
use crate::cfr::game::cards::{CardSet, Deck, choose, subsets};
use crate::cfr::game::{Ranking, suits};
use crate::cfr::spot::grid;
use crate::{Error, Result};

/// Cards of a board.
const BOARD: usize = 5;
/// Wins of each class against each, in little-endian `u32`: what [`Equities::compute`] gives for all ranks.
static WINS: &[u8] = include_bytes!("wins.bin");

/// Chances of winning between [classes](super::N_CLASSES) of hands, over all pairs of their hands that share no card and all boards of five cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equities {
    /// `[class][class of the other]`: pairs of hands times boards in which the first wins.
    wins: Vec<u64>,
    /// Boards for a pair of hands.
    n_boards: u64,
}

impl Equities {
    /// Those of the full deck, which are stored with the library.
    pub fn get() -> &'static Self {
        static EQUITIES: OnceLock<Equities> = OnceLock::new();
        EQUITIES.get_or_init(|| {
            let (words, _) = WINS.as_chunks::<4>();
            let wins = words.iter().map(|&word| u64::from(u32::from_le_bytes(word))).collect();
            Self { wins, n_boards: choose(u32::from(Deck::FULL.n_cards() as u8) - 4, BOARD as u32) }
        })
    }

    /// Those of the cards of the `n_ranks` lowest ranks, from every board, on all cores.
    ///
    /// # Errors
    /// [`Error::Option`] unless `n_ranks` is 3 to 13: two hands and a board need nine cards.
    pub fn compute(n_ranks: usize) -> Result<Self> {
        if !(3..=grid::SIDE).contains(&n_ranks) {
            return Err(Error::option("n_ranks", n_ranks, format!("3 to {}", grid::SIDE)));
        }
        let n_cards = 4 * n_ranks;
        let all: CardSet = (1 << n_cards) - 1;
        // One board of each class that differs by the names of suits only, with the size of its class.
        let maps = suits::all(Deck::FULL);
        let size = |board: CardSet| suits::size_if_highest(Deck::FULL, &maps, board);
        let boards: Vec<(CardSet, u64)> =
            subsets(all, BOARD).filter_map(|board| Some((board, size(board)? as u64))).collect();
        let hands: Vec<Hand> =
            subsets(all, 2).map(|cards| Hand { cards, class: grid::cell_of(cards), strength: 0 }).collect();
        let ranking = Ranking::new(Deck::FULL);
        let wins = boards
            .par_chunks(64)
            .fold(Sums::new, |mut sums, boards| {
                boards.iter().for_each(|&(board, n)| sums.add(&ranking, &hands, board, n));
                sums
            })
            .map(|sums| sums.wins)
            .reduce(
                || vec![0; N_CLASSES * N_CLASSES],
                |mut all, wins| {
                    all.iter_mut().zip(wins).for_each(|(all, wins)| *all += wins);
                    all
                },
            );
        Ok(Self { wins, n_boards: choose(n_cards as u32 - 4, BOARD as u32) })
    }

    /// Pairs of a hand of class `a` and one of class `b` that share no card.
    pub fn pairs(a: usize, b: usize) -> u64 {
        if a.max(b) >= N_CLASSES {
            return 0;
        }
        let disjoint = |hand: CardSet| grid::combos(b).filter(|other| other & hand == 0).count() as u64;
        grid::combos(a).map(disjoint).sum()
    }

    /// Chance that a hand of class `a` wins against one of class `b`, half the chance of a tie added; 0 for numbers of no class.
    pub fn equity(&self, a: usize, b: usize) -> f64 {
        let n = Self::pairs(a, b) * self.n_boards;
        if n == 0 {
            return 0.0;
        }
        let [won, lost] = [self.wins(a, b), self.wins(b, a)];
        0.5 + 0.5 * (won as f64 - lost as f64) / n as f64
    }

    /// Pairs of hands times boards in which class `a` wins against class `b`; 0 for numbers of no class.
    pub fn wins(&self, a: usize, b: usize) -> u64 {
        if a.max(b) < N_CLASSES { self.wins.get(a * N_CLASSES + b).copied().unwrap_or(0) } else { 0 }
    }

    /// Boards of five cards for a pair of hands.
    pub fn n_boards(&self) -> u64 {
        self.n_boards
    }
}

/// A hand, with its strength on a board.
#[derive(Clone, Copy)]
struct Hand {
    cards: CardSet,
    class: usize,
    strength: u32,
}

/// Sums over boards, and what is used again for the next one.
struct Sums {
    wins: Vec<u64>,
    on_board: Vec<Hand>,
}

impl Sums {
    fn new() -> Self {
        Self { wins: vec![0; N_CLASSES * N_CLASSES], on_board: Vec::new() }
    }

    /// Adds a board that stands for `n`.
    fn add(&mut self, ranking: &Ranking, hands: &[Hand], board: CardSet, n: u64) {
        let possible = hands.iter().filter(|hand| hand.cards & board == 0);
        self.on_board.clear();
        self.on_board.extend(possible.map(|hand| Hand { strength: ranking.strength(hand.cards | board), ..*hand }));
        self.on_board.sort_unstable_by_key(|hand| hand.strength);
        // Weaker hands of each class, whatever cards they have.
        let mut weaker = [0; N_CLASSES];
        for equal in self.on_board.chunk_by(|a, b| a.strength == b.strength) {
            for hand in equal {
                let row = &mut self.wins[hand.class * N_CLASSES..][..N_CLASSES];
                row.iter_mut().zip(&weaker).for_each(|(wins, weaker)| *wins += weaker);
            }
            equal.iter().for_each(|hand| weaker[hand.class] += n);
        }
        // Less those that share a card: different hands share one at most.
        let mut with_card: [Vec<Hand>; 52] = std::array::from_fn(|_| Vec::with_capacity(52));
        for hand in &self.on_board {
            for card in [hand.cards.trailing_zeros(), CardSet::BITS - 1 - hand.cards.leading_zeros()] {
                let others = &mut with_card[card as usize];
                let end = others.partition_point(|other| other.strength < hand.strength);
                others[..end].iter().for_each(|other| self.wins[hand.class * N_CLASSES + other.class] -= n);
                others.push(*hand);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use warpplay_cpu_ref::cfr::poker;

    use super::*;
    use crate::cfr::preflop::{class_number, n_hands};

    fn strength(cards: CardSet) -> u32 {
        poker::strength(cards, poker::Deck::FULL)
    }

    /// Boards on which the first hand wins, by the reference's ranks.
    fn boards_won(hand: CardSet, other: CardSet, n_cards: usize) -> u64 {
        let left = ((1 << n_cards) - 1) & !(hand | other);
        let boards: Vec<CardSet> = subsets(left, BOARD).collect();
        boards.par_iter().filter(|&board| strength(board | hand) > strength(board | other)).count() as u64
    }

    #[test]
    fn few_ranks_are_as_counted_one_by_one() {
        let n_cards = 12;
        let found = Equities::compute(3).expect("three ranks");
        for wrong in [0, 2, 14] {
            let error = Equities::compute(wrong).expect_err("no such deck").to_string();
            assert_eq!(error, format!("option n_ranks: {wrong} is not allowed (3 to 13)"));
        }
        let mut wins = vec![0; N_CLASSES * N_CLASSES];
        let hands: Vec<CardSet> = subsets((1 << n_cards) - 1, 2).collect();
        for &hand in &hands {
            for &other in hands.iter().filter(|&other| other & hand == 0) {
                wins[grid::cell_of(hand) * N_CLASSES + grid::cell_of(other)] += boards_won(hand, other, n_cards);
            }
        }
        assert_eq!(found, Equities { wins, n_boards: 56 });
    }

    #[test]
    fn what_is_stored_is_exact() {
        let stored = Equities::get();
        assert_eq!((stored.wins.len(), stored.n_boards), (N_CLASSES * N_CLASSES, 1_712_304));
        let number = |name: &str| class_number(name).expect("a class");
        let set = |text: &str| crate::cfr::game::cards::set_of(&Deck::FULL.cards(text).expect("cards"));
        // By how many suits the hands have in common, and the pairs of hands that have so many.
        for (a, b, parts) in [
            ("AKs", "AKs", &[("AhKh", "AdKd", 12)][..]),
            ("AA", "KK", &[("AhAd", "KhKd", 6), ("AhAd", "KhKc", 24), ("AhAd", "KsKc", 6)]),
            ("72s", "33", &[("7h2h", "3h3d", 12), ("7h2h", "3c3d", 12)]),
        ] {
            let n: u64 = parts.iter().map(|part| part.2).sum();
            assert_eq!(n, Equities::pairs(number(a), number(b)), "{a} {b}");
            for (first, second, of) in [(a, b, 0), (b, a, 1)] {
                let won = |part: &(&str, &str, u64)| {
                    let hands = [set(part.0), set(part.1)];
                    part.2 * boards_won(hands[of], hands[1 - of], 52)
                };
                assert_eq!(
                    stored.wins(number(first), number(second)),
                    parts.iter().map(won).sum::<u64>(),
                    "{first} {second}"
                );
            }
        }
        // All hands and pairs are there, and nobody wins more than there is.
        assert_eq!((0..N_CLASSES).map(n_hands).sum::<usize>(), 1326);
        let pairs: u64 = (0..N_CLASSES).flat_map(|a| (0..N_CLASSES).map(move |b| Equities::pairs(a, b))).sum();
        assert_eq!(pairs, 1326 * 1225);
        for a in 0..N_CLASSES {
            for b in 0..N_CLASSES {
                assert!(stored.wins(a, b) + stored.wins(b, a) <= Equities::pairs(a, b) * stored.n_boards);
            }
        }
    }

    /// With `WARPPLAY_WINS=FILE` it also writes the table: `cargo test -p warpplay --lib -- --ignored what_is_stored_is_what`.
    #[test]
    #[ignore = "goes through all boards; run it after a change of what is stored"]
    fn what_is_stored_is_what_is_computed() {
        let computed = Equities::compute(13).expect("all ranks");
        if let Some(path) = std::env::var_os("WARPPLAY_WINS") {
            let bytes: Vec<u8> = computed.wins.iter().flat_map(|&wins| (wins as u32).to_le_bytes()).collect();
            std::fs::write(path, bytes).expect("written");
        }
        assert_eq!(&computed, Equities::get());
    }
}
