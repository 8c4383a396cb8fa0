//! Classes of private and public cards that differ by names of suits only.

use rayon::prelude::*;

use crate::cfr::game::cards::{CardSet, Deck, choose, colex_rank, subsets};
use crate::cfr::game::suits::{self, SuitMap};
use crate::{Error, Result};

/// Maximum number of boards that are examined, and of hands that are stored over all boards.
const MOST: u64 = 1 << 28;

fn too_many(what: &str, n: u64) -> Error {
    Error::option("abstraction", format!("{n} {what}"), format!("at most {MOST}: use fewer board cards"))
}

/// All ways to name the suits.
#[derive(Clone, Debug, PartialEq)]
struct Suits {
    deck: Deck,
    permutations: Vec<SuitMap>,
}

impl Suits {
    fn new(deck: Deck) -> Self {
        Self { deck, permutations: suits::all(deck) }
    }

    fn rename(&self, cards: CardSet, permutation: SuitMap) -> CardSet {
        suits::rename(self.deck, permutation, cards)
    }

    /// The least image of a set, and the permutations that give it.
    fn least(&self, cards: CardSet) -> (CardSet, Vec<SuitMap>) {
        let mut least = CardSet::MAX;
        let mut by = Vec::new();
        for &permutation in &self.permutations {
            let image = self.rename(cards, permutation);
            if image < least {
                least = image;
                by.clear();
            }
            if image == least {
                by.push(permutation);
            }
        }
        (least, by)
    }

    /// The least image of `cards` by some permutations.
    fn least_by(&self, cards: CardSet, by: &[SuitMap]) -> CardSet {
        by.iter().map(|&permutation| self.rename(cards, permutation)).min().unwrap_or(cards)
    }
}

/// Classes of private cards on a board of a given size. A class represents all its images under suit permutations; classes are numbered by board, then by private cards.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    deck: Deck,
    n_hole: usize,
    n_board: usize,
    suits: Suits,
    /// Boards that represent their classes, ascending.
    boards: Vec<CardSet>,
    /// Number of deals of each board's class.
    board_weights: Vec<u8>,
    /// Number of the first class of each board, and the number of classes.
    starts: Vec<u32>,
    /// Position of each class's private cards among all sets of as many cards.
    holes: Vec<u16>,
    /// Number of hands on the board that belong to the class.
    hole_weights: Vec<u8>,
}

impl Classes {
    /// Finds the classes of `n_hole` private and `n_board` public cards.
    ///
    /// # Errors
    /// [`Error::Option`] for an invalid deck, a number of private cards other than 1 to 3, more cards than the deck has, or more than 2²⁸ classes.
    pub fn new(deck: Deck, n_hole: usize, n_board: usize) -> Result<Self> {
        Self::at_least(deck, n_hole, n_board)?;
        let suits = Suits::new(deck);
        let names = suits.permutations.len();
        let n_cards = deck.n_cards();
        let hands = choose(n_cards - n_board as u32, n_hole as u32);
        let mut least: Vec<(CardSet, usize)> = Vec::new();
        let mut rest = subsets(deck.all(), n_board);
        loop {
            // In parts, so that not all boards are in memory at once.
            let part: Vec<CardSet> = rest.by_ref().take(1 << 20).collect();
            if part.is_empty() {
                break;
            }
            let kept = part.into_par_iter().filter_map(|board| {
                let (image, by) = suits.least(board);
                (image == board).then_some((board, by.len()))
            });
            least.par_extend(kept);
        }
        let most = least.len() as u64 * hands;
        if most > MOST {
            return Err(too_many("hands on all boards", most));
        }
        let per_board: Vec<Vec<(u16, u8)>> = least
            .par_iter()
            .map(|&(board, _)| {
                let by = suits.least(board).1;
                let hands = subsets(deck.all() & !board, n_hole);
                hands
                    .filter(|&hole| suits.least_by(hole, &by) == hole)
                    .map(|hole| {
                        // An orbit has as many members as the group has cosets of what leaves the hand as it is.
                        let fixed = by.iter().filter(|&&permutation| suits.rename(hole, permutation) == hole).count();
                        (colex_rank(hole) as u16, (by.len() / fixed.max(1)) as u8)
                    })
                    .collect()
            })
            .collect();
        let mut starts = vec![0];
        for classes in &per_board {
            starts.push(starts.last().copied().unwrap_or(0) + classes.len() as u32);
        }
        let (holes, hole_weights) = per_board.into_iter().flatten().unzip();
        let board_weights = least.iter().map(|&(_, fixed)| (names / fixed.max(1)) as u8).collect();
        let boards = least.into_iter().map(|(board, _)| board).collect();
        Ok(Self { deck, n_hole, n_board, suits, boards, board_weights, starts, holes, hole_weights })
    }

    /// The deck.
    pub(super) fn deck(&self) -> Deck {
        self.deck
    }

    /// Private cards of a hand.
    pub(super) fn n_hole(&self) -> usize {
        self.n_hole
    }

    /// Cards of a board.
    pub(super) fn n_board(&self) -> usize {
        self.n_board
    }

    /// A number of classes that there are at least, found without listing them.
    ///
    /// # Errors
    /// As [`Classes::new`], as far as this number tells.
    pub(super) fn at_least(deck: Deck, n_hole: usize, n_board: usize) -> Result<u64> {
        deck.check()?;
        if !(1..=3).contains(&n_hole) {
            return Err(Error::option("hole cards", n_hole, "1 to 3"));
        }
        let n_cards = deck.n_cards();
        if n_hole > n_cards as usize || n_board > n_cards as usize - n_hole {
            return Err(Error::option(
                "board cards",
                n_board,
                format!("at most {} in a deck of {n_cards}", (n_cards as usize).saturating_sub(n_hole)),
            ));
        }
        let all_boards = choose(n_cards, n_board as u32);
        if all_boards > MOST {
            return Err(too_many("boards", all_boards));
        }
        // A class stands for as many deals as there are permutations at most.
        let names = (1..=u128::from(deck.n_suits)).product::<u128>();
        let hands = choose(n_cards - n_board as u32, n_hole as u32);
        let least = (u128::from(all_boards) * u128::from(hands)).div_ceil(names) as u64;
        match least > MOST {
            true => Err(too_many("hands on all boards, or more", least)),
            false => Ok(least),
        }
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.holes.len()
    }

    /// Whether there are none; there is always one.
    pub fn is_empty(&self) -> bool {
        self.holes.is_empty()
    }

    /// Number of pairs of private cards and board that a class represents, 1 to 24; 0 for a class that does not exist.
    pub fn weight(&self, class: usize) -> u32 {
        let board = self.starts.partition_point(|&start| start as usize <= class).saturating_sub(1);
        match (self.hole_weights.get(class), self.board_weights.get(board)) {
            (Some(&hole), Some(&board)) => u32::from(hole) * u32::from(board),
            _ => 0,
        }
    }

    /// The class of private cards and a board; `None` if their number differs from that of the classes, they overlap, or they are not cards of the deck.
    pub fn class(&self, hole: CardSet, board: CardSet) -> Option<usize> {
        let fits = hole.count_ones() as usize == self.n_hole
            && board.count_ones() as usize == self.n_board
            && hole & board == 0
            && (hole | board) & !self.deck.all() == 0;
        if !fits {
            return None;
        }
        let (least, by) = self.suits.least(board);
        let index = self.boards.binary_search(&least).ok()?;
        let hole = colex_rank(self.suits.least_by(hole, &by)) as u16;
        let (from, to) = (self.starts[index] as usize, self.starts[index + 1] as usize);
        self.holes[from..to].binary_search(&hole).ok().map(|class| from + class)
    }

    /// The boards that represent their classes.
    pub(super) fn boards(&self) -> &[CardSet] {
        &self.boards
    }

    /// The classes of a board: the number of the first, and the private cards of each as their position among all sets.
    pub(super) fn on_board(&self, board: usize) -> (usize, &[u16]) {
        let (from, to) = (self.starts[board] as usize, self.starts[board + 1] as usize);
        (from, &self.holes[from..to])
    }
}
