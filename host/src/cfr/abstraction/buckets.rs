//! From classes to buckets.

use std::fmt;

use super::even::Even;
use super::{Classes, Method, Recipe};
use crate::cfr::game::Buckets;
use crate::cfr::game::cards::{CardSet, Deck};
use crate::cfr::game::game_file::GameDef;
use crate::{Error, Result};

/// The buckets of all rounds of a game. Its text is how each round's were made: `lossless,histogram:8`.
#[derive(Clone, Debug, PartialEq)]
pub struct Abstraction {
    /// By betting round.
    pub rounds: Vec<RoundBuckets>,
    pub(super) recipe: Recipe,
}

/// The buckets of one betting round.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundBuckets {
    pub(super) found: Found,
    pub(super) strengths: Vec<f64>,
    pub(super) n_buckets: u32,
}

/// Where a hand's bucket is found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    /// In a table of all classes.
    Classes { classes: Classes, of_class: Vec<u32> },
    /// By its strength on the board.
    Even(Even),
}

impl Abstraction {
    /// The bucket of private cards and of all public cards in a round; `None` for impossible cards.
    pub fn bucket(&self, round: usize, hole: CardSet, board: CardSet) -> Option<u32> {
        self.rounds.get(round)?.bucket(hole, board)
    }

    /// The buckets of many hands on one board, as [`bucket`](Self::bucket), which is slower for methods that rank all hands of a board.
    pub fn buckets(&self, round: usize, holes: &[CardSet], board: CardSet) -> Vec<Option<u32>> {
        match self.rounds.get(round).map(|round| (round, &round.found)) {
            Some((_, Found::Even(even))) => even.buckets(holes, board),
            Some((round, Found::Classes { .. })) => holes.iter().map(|&hole| round.bucket(hole, board)).collect(),
            None => vec![None; holes.len()],
        }
    }

    /// How it was made.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Checks that the buckets are of a game's cards.
    pub(in crate::cfr) fn check_fits(&self, game: &GameDef) -> Result<()> {
        let text = |cards: &[(Deck, usize, usize)]| {
            let Some(&(Deck { n_suits, n_ranks }, n_hole, _)) = cards.first() else { return "no rounds".to_string() };
            let boards: Vec<usize> = cards.iter().map(|&(.., board)| board).collect();
            format!("{n_suits} suits of {n_ranks} ranks, {n_hole} private cards, boards of {boards:?}")
        };
        let of_game: Vec<_> =
            (0..game.n_rounds).map(|round| (game.deck, game.n_hole_cards, game.board_cards_by(round))).collect();
        let own: Vec<_> = self.rounds.iter().map(|round| (round.deck(), round.n_hole(), round.n_board())).collect();
        match own == of_game {
            true => Ok(()),
            false => Err(Error::option("abstraction", text(&own), text(&of_game))),
        }
    }
}

impl fmt::Display for Abstraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (round, (method, _))) in self.rounds.iter().zip(&self.recipe.rounds).enumerate() {
            f.write_str(if at == 0 { "" } else { "," })?;
            match method {
                Method::Lossless => write!(f, "{method}")?,
                Method::Strength | Method::Histogram | Method::Even => write!(f, "{method}:{}", round.n_buckets)?,
            }
        }
        Ok(())
    }
}

/// The buckets for the sampled traversals of `walk`.
impl Buckets for Abstraction {
    fn n_buckets(&self, round: usize) -> u32 {
        self.rounds.get(round).map_or(0, RoundBuckets::n_buckets)
    }

    /// For impossible cards the result is not a bucket; dealt cards always have one.
    fn bucket(&self, round: usize, hole: CardSet, board: CardSet) -> u32 {
        Abstraction::bucket(self, round, hole, board).unwrap_or(u32::MAX)
    }
}

impl RoundBuckets {
    /// A bucket for each class.
    pub(super) fn lossless(classes: Classes) -> Self {
        let n = classes.len() as u32;
        let found = Found::Classes { classes, of_class: (0..n).collect() };
        Self { found, strengths: Vec::new(), n_buckets: n }
    }

    /// Equal parts of the strengths on whole boards.
    pub(super) fn even(even: Even) -> Self {
        Self { n_buckets: even.n_buckets, found: Found::Even(even), strengths: Vec::new() }
    }

    /// Renumbers buckets by mean strength, the weakest first, and omits empty ones.
    pub(super) fn new(classes: Classes, mut of_class: Vec<u32>, expected: &[f64]) -> Self {
        let n = of_class.iter().max().map_or(0, |&most| most as usize + 1);
        let mut totals = vec![(0.0, 0.0); n];
        for (class, (&bucket, &strength)) in of_class.iter().zip(expected).enumerate() {
            let weight = f64::from(classes.weight(class));
            let total = &mut totals[bucket as usize];
            (total.0, total.1) = (total.0 + weight * strength, total.1 + weight);
        }
        let mut order: Vec<(f64, usize)> = totals
            .iter()
            .enumerate()
            .filter(|(_, total)| total.1 > 0.0)
            .map(|(bucket, total)| (total.0 / total.1, bucket))
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut number = vec![0; n];
        for (new, &(_, old)) in order.iter().enumerate() {
            number[old] = new as u32;
        }
        of_class.iter_mut().for_each(|bucket| *bucket = number[*bucket as usize]);
        let strengths: Vec<f64> = order.into_iter().map(|(strength, _)| strength).collect();
        Self { found: Found::Classes { classes, of_class }, n_buckets: strengths.len() as u32, strengths }
    }

    /// Number of buckets.
    pub fn n_buckets(&self) -> u32 {
        self.n_buckets
    }

    /// The classes that are merged into buckets; none where buckets are found hand by hand ([`Method::Even`]).
    pub fn classes(&self) -> Option<&Classes> {
        match &self.found {
            Found::Classes { classes, .. } => Some(classes),
            Found::Even(_) => None,
        }
    }

    /// The bucket of each class; empty without classes.
    pub fn of_class(&self) -> &[u32] {
        match &self.found {
            Found::Classes { of_class, .. } => of_class,
            Found::Even(_) => &[],
        }
    }

    /// Mean strength of each bucket over all deals, ascending; empty where they were not needed: nothing was merged, or each hand is looked at when it is dealt.
    pub fn strengths(&self) -> &[f64] {
        &self.strengths
    }

    /// The bucket of private cards and of all public cards; `None` for impossible cards.
    pub fn bucket(&self, hole: CardSet, board: CardSet) -> Option<u32> {
        match &self.found {
            Found::Classes { classes, of_class } => of_class.get(classes.class(hole, board)?).copied(),
            Found::Even(even) => even.buckets(&[hole], board).pop().flatten(),
        }
    }

    pub(super) fn deck(&self) -> Deck {
        match &self.found {
            Found::Classes { classes, .. } => classes.deck(),
            Found::Even(even) => even.deck,
        }
    }

    /// Private cards of a hand.
    pub(super) fn n_hole(&self) -> usize {
        match &self.found {
            Found::Classes { classes, .. } => classes.n_hole(),
            Found::Even(even) => even.n_hole,
        }
    }

    /// Cards of a board.
    pub(super) fn n_board(&self) -> usize {
        match &self.found {
            Found::Classes { classes, .. } => classes.n_board(),
            Found::Even(even) => even.n_board,
        }
    }
}

/// Divides the classes by strength into parts of equal weight; classes of equal strength stay together.
pub(super) fn percentiles(expected: &[f64], weights: &[u32], n_buckets: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..expected.len() as u32).collect();
    let strength = |class: u32| expected[class as usize];
    order.sort_by(|&a, &b| strength(a).total_cmp(&strength(b)).then(a.cmp(&b)));
    let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    let mut buckets = vec![0; expected.len()];
    let mut below = 0u64;
    for equal in order.chunk_by(|&a, &b| strength(a) == strength(b)) {
        let weight: u64 = equal.iter().map(|&class| u64::from(weights[class as usize])).sum();
        // Where the middle of those of equal strength lies.
        let middle = 2 * below + weight;
        let bucket = (u128::from(middle) * u128::from(n_buckets) / u128::from(2 * total.max(1)))
            .min(u128::from(n_buckets - 1)) as u32;
        equal.iter().for_each(|&class| buckets[class as usize] = bucket);
        below += weight;
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_equal_weight() {
        let expected: Vec<f64> = (0..100).map(|class| f64::from(class * 37 % 100)).collect();
        let buckets = percentiles(&expected, &[3; 100], 4);
        for (strength, bucket) in expected.iter().zip(&buckets) {
            assert_eq!(*bucket, *strength as u32 / 25);
        }
        // What is equally strong stays together, and one heavy class may leave a bucket empty.
        assert_eq!(percentiles(&[0.5, 0.1, 0.5, 0.9], &[1, 1, 1, 1], 4), [2, 0, 2, 3]);
        assert_eq!(percentiles(&[0.5, 0.1, 0.9], &[20, 1, 1], 3), [1, 0, 2]);
    }
}
