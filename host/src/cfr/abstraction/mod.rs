//! Abstraction of cards: private and public cards put together in buckets, so that large games become small ones.
//!
//! Hold'em has more information sets than any memory holds. Hands that are alike can share one strategy: a *bucket*. [`Abstraction::build`] finds the buckets of every betting
//! round by a [`Recipe`]; a [`Solver`](super::Solver) solves a [`Problem`](super::Problem) with them, by sampled deals
//! ([`Sampling::Chance`](super::Sampling::Chance)), or by all deals of a game whose tree fits in memory. The second is for every algorithm, and with
//! [`Algorithm::CfrBr`](super::Algorithm::CfrBr) finds the least exploitable strategy that the buckets allow.
//!
//! ```
//! use warpplay::Device;
//! use warpplay::cfr::abstraction::{Abstraction, Method, Recipe};
//! use warpplay::cfr::game::set_of;
//! use warpplay::cfr::GameDef;
//!
//! // One card each out of 2, 3, 4 and 5, and no board.
//! let game = GameDef::parse(
//!     "GAMEDEF\nnumPlayers = 2\nnumRounds = 1\nblind = 1 1\nraiseSize = 1\nmaxRaises = 1\nnumSuits = 1\nnumRanks = 4\n\
//!      numHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n",
//! )?;
//! let recipe = Recipe { rounds: vec![(Method::Strength, 2)], ..Recipe::default() };
//! let buckets = Abstraction::build(&Device::cpu(), &game, &recipe)?;
//!
//! // The lower half beats one of three other cards at most, the upper half two or three.
//! let of: Vec<_> = (0..4).map(|card| buckets.bucket(0, set_of(&[card]), 0)).collect();
//! assert_eq!(of, [Some(0), Some(0), Some(1), Some(1)]);
//! let strengths = buckets.rounds[0].strengths();
//! assert!((strengths[0] - 1.0 / 6.0).abs() < 1e-12 && (strengths[1] - 5.0 / 6.0).abs() < 1e-12);
//!
//! // Solved in these buckets, the lower hands are played alike; the best responses of the measurement know all cards.
//! use warpplay::cfr::{Problem, Sampling, Solver};
//! let problem = Problem::abstracted(game, buckets)?;
//! let mut solver = Solver::builder(problem).sampling(Sampling::Chance).batch(32).iterations(100).build(&Device::cpu())?;
//! assert!(solver.run(|_| std::ops::ControlFlow::Continue(()))?.trajectory[0].nash_conv > 0.0);
//! let strategy = solver.strategy()?;
//! assert_eq!(strategy.query("", "", "2c")?.choices, strategy.query("", "", "3c")?.choices);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Recipe`], [`Method`] | how buckets are made: method and number of buckets by round, run-outs, seed |
//! | [`Abstraction`], [`RoundBuckets`] | the buckets of all rounds, and of one; saved and loaded |
//! | [`Classes`] | the hands that are told apart before anything is put together |
//!
//! # Methods
//!
//! A *class* is what a player holds with what lies on the board, the names of suits and the order of public cards forgotten. [`Abstraction`] gives each class of a
//! round its bucket, by one of four [`Method`]s. Strength is the chance to win, half the chance to tie added, against one opponent whose cards are drawn
//! uniformly, on the whole board.
//!
//! | method | what is put together | loses |
//! | --- | --- | --- |
//! | `lossless` | nothing: a bucket is a class | which public card came when, and what suits were called |
//! | `strength` | classes whose expected strength lies in the same part of all deals (percentiles) | how the strength will turn out |
//! | `histogram` | classes whose strengths after the last card are distributed alike: k-means under the earth mover's distance | less |
//! | `even` | on the whole board, hands whose strength lies in the same of N equal parts from 0 to 1 | which hands they beat |
//!
//! `even` needs no table of classes, of which the river of hold'em has 123 million: a hand's strength is counted when it is dealt. It is for rounds without cards to come.
//!
//! Strengths are sums of whole numbers and k-means works in whole numbers, so every device gives the same buckets.
//!
//! # Data layout
//!
//! ```text
//! hole, board          sets of cards, bit = card          → Classes::class    class 0..n_classes, by board, then by private cards
//! of_class             [n_classes] u32                    → bucket 0..n_buckets, the weakest first
//! strengths            [n_buckets] f64                    mean strength, 0 to 1, ascending
//! ```

mod buckets;
mod classes;
mod cluster;
mod even;
mod file;
#[allow(unsafe_code)]
mod kernels;
mod strength;

pub use buckets::{Abstraction, RoundBuckets};
pub use classes::Classes;
pub(in crate::cfr) use file::Head;

use std::str::FromStr;

use crate::cfr::game::Buckets;
use crate::cfr::game::cards::CardSet;
use crate::cfr::game::game_file::GameDef;
use crate::runtime::named::named;
use crate::{Device, Error, Result};

named! {
    /// How classes are merged.
    Method, "method":
    /// Not at all.
    Lossless = "lossless",
    /// By percentiles of expected strength.
    Strength = "strength",
    /// By k-means of histograms of strength.
    Histogram = "histogram",
    /// By equal parts of strength on the whole board, counted when a hand is dealt.
    Even = "even",
}

/// How to make an abstraction.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Method and number of buckets, by round; lossless rounds ignore the number. There are fewer buckets if classes cannot be distinguished.
    pub rounds: Vec<(Method, u32)>,
    /// Number of run-outs to draw, the same for every board; `None` for all.
    pub runouts: Option<u32>,
    /// Bins of a histogram, 1 to 256.
    pub bins: u32,
    /// Most rounds of k-means.
    pub iterations: u32,
    /// Seed of run-outs and of the first centres.
    pub seed: u64,
}

impl Default for Recipe {
    fn default() -> Self {
        Self { rounds: Vec::new(), runouts: None, bins: 50, iterations: 100, seed: 1 }
    }
}

/// Methods and numbers of buckets by round, as `lossless,strength:50,histogram:200`; `ehs` (expected hand strength) is another name of `strength`.
impl FromStr for Recipe {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let of_round = |part: &str| {
            let part = part.trim();
            let wrong = || {
                Error::option(
                    "abstraction",
                    format!("'{part}'"),
                    "lossless, strength:N, histogram:N or, on the whole board, even:N for each round, N buckets",
                )
            };
            let (method, n) = part.split_once(':').map_or((part, None), |(method, n)| (method, Some(n)));
            let method = if method == "ehs" { Method::Strength } else { method.parse().map_err(|_| wrong())? };
            let n = n.map(|n| n.parse().map_err(|_| wrong())).transpose()?;
            match (method, n) {
                (Method::Lossless, None) => Ok((method, 0)),
                (Method::Strength | Method::Histogram | Method::Even, Some(n)) => Ok((method, n)),
                _ => Err(wrong()),
            }
        };
        Ok(Self { rounds: text.split(',').map(of_round).collect::<Result<_>>()?, ..Self::default() })
    }
}

impl Recipe {
    /// Checks that the recipe can be used for a game.
    ///
    /// # Errors
    /// [`Error::Option`] with what is allowed.
    pub fn check(&self, rules: &GameDef) -> Result<()> {
        rules.check()?;
        if self.rounds.len() != rules.n_rounds {
            let allowed = format!("{}, one a betting round of the game", rules.n_rounds);
            return Err(Error::option("rounds", self.rounds.len(), allowed));
        }
        for (round, &(method, n_buckets)) in self.rounds.iter().enumerate() {
            if method != Method::Lossless && n_buckets == 0 {
                return Err(Error::option("buckets", n_buckets, format!("1 or more with {method}")));
            }
            if method == Method::Even && rules.board_cards_by(round) < rules.board_cards_by(rules.n_rounds - 1) {
                let allowed = "another method: even is for rounds after the last card of the board";
                return Err(Error::option("abstraction", format!("{method} in round {}", round + 1), allowed));
            }
        }
        if !(1..=warpplay_gpu::cfr::abstraction::cluster::MAX_BINS).contains(&self.bins) {
            return Err(Error::option("bins", self.bins, "1 to 256"));
        }
        if self.runouts == Some(0) {
            return Err(Error::option("runouts", 0, "1 or more, or all"));
        }
        Ok(())
    }

    /// The numbers of buckets that it asks for, as far as they are known before the buckets are found: N, or the classes that there are at least, where these are fewer or nothing is
    /// merged.
    ///
    /// # Errors
    /// As [`Abstraction::build`], except what only the buckets tell.
    pub(in crate::cfr) fn asked(&self, rules: &GameDef) -> Result<Asked> {
        self.check(rules)?;
        let of_round = |(round, &(method, n)): (usize, &(Method, u32))| {
            let n_board = rules.board_cards_by(round);
            if method == Method::Even {
                return Ok(even::Even::new(rules.deck, rules.n_hole_cards, n_board, n).n_buckets);
            }
            let classes = Classes::at_least(rules.deck, rules.n_hole_cards, n_board)? as u32;
            if method == Method::Lossless {
                return Ok(classes);
            }
            let left = rules.deck.n_cards() - n_board as u32;
            strength::check_runouts(left, rules.board_cards_by(rules.n_rounds - 1) - n_board)?;
            Ok(classes.min(n))
        };
        Ok(Asked(self.rounds.iter().enumerate().map(of_round).collect::<Result<_>>()?))
    }
}

/// Numbers of buckets by round, without the buckets.
pub(in crate::cfr) struct Asked(Vec<u32>);

impl Buckets for Asked {
    fn n_buckets(&self, round: usize) -> u32 {
        self.0.get(round).copied().unwrap_or(0)
    }

    /// No hand has one yet.
    fn bucket(&self, _: usize, _: CardSet, _: CardSet) -> u32 {
        0
    }
}

impl Abstraction {
    /// Makes the buckets of a game; `device` computes strengths and k-means.
    ///
    /// # Errors
    /// [`Error::Option`] if the recipe does not suit the game or a round has too many classes; [`Error::OutOfMemory`] if the device has too little memory; errors of the device.
    pub fn build(device: &Device, rules: &GameDef, recipe: &Recipe) -> Result<Self> {
        let rounds =
            (0..rules.n_rounds).map(|round| Self::build_round(device, rules, recipe, round)).collect::<Result<_>>()?;
        Ok(Self { rounds, recipe: recipe.clone() })
    }

    /// Makes the buckets of one round.
    ///
    /// # Errors
    /// As [`Abstraction::build`]; [`Error::Option`] if there is no such round.
    pub fn build_round(device: &Device, rules: &GameDef, recipe: &Recipe, round: usize) -> Result<RoundBuckets> {
        recipe.check(rules)?;
        let Some(&(method, n_buckets)) = recipe.rounds.get(round) else {
            return Err(Error::option("round", round, format!("0 to {}", rules.n_rounds - 1)));
        };
        let n_board = rules.board_cards_by(round);
        if method == Method::Even {
            return Ok(RoundBuckets::even(even::Even::new(rules.deck, rules.n_hole_cards, n_board, n_buckets)));
        }
        let classes = Classes::new(rules.deck, rules.n_hole_cards, n_board)?;
        if method == Method::Lossless {
            return Ok(RoundBuckets::lossless(classes));
        }
        let bins = if method == Method::Histogram { recipe.bins } else { 1 };
        let strengths = strength::strengths(device, rules, round, &classes, recipe, bins)?;
        let expected = strengths.expected();
        let weights: Vec<u32> = (0..classes.len()).map(|class| classes.weight(class)).collect();
        // More buckets than deals would stay empty.
        let n_deals: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        let n_buckets = n_buckets.min(u32::try_from(n_deals).unwrap_or(u32::MAX));
        let of_class = match method {
            Method::Histogram => cluster::cluster(device, &strengths.cumulative(), &weights, bins, n_buckets, recipe)?,
            Method::Strength | Method::Lossless | Method::Even => buckets::percentiles(&expected, &weights, n_buckets),
        };
        Ok(RoundBuckets::new(classes, of_class, &expected))
    }
}
