//! What a search is told: what positions are worth, what is searched, how deep.

use warpplay_gpu::shogi::piece::{NUMBERS, PIECES, parts};

use crate::runtime::named::named;
use crate::shogi::evaluator::Evaluator;
use crate::{Error, Result};

/// Deepest search, in half-moves.
pub(in crate::shogi) const DEEPEST: u32 = 32;

/// Evaluates positions in a search.
pub trait QuietEvaluator: Sync {
    /// The value of a list of pieces ([`warpplay_gpu::shogi::piece`]) in pawns, positive if Black is better.
    fn evaluate(&self, list: &[u16; 40]) -> f64;
}

/// Material alone: a value for each of the 13 kinds, a piece in hand at its full value.
#[derive(Clone, Debug)]
pub struct MaterialValues {
    /// By the number of a piece; White's are negative.
    table: Vec<f64>,
}

impl MaterialValues {
    /// Takes the values of P L N S G B R +P +L +N +S +B +R.
    ///
    /// # Errors
    /// [`Error::Option`] for a value that is not finite.
    pub fn new(values: &[f64; 13]) -> Result<Self> {
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(Error::option("values", value, "finite numbers"));
        }
        let worth = |number| match parts(number) {
            Some((kind, 0, _)) => values[kind as usize],
            Some((kind, _, _)) => -values[kind as usize],
            None => 0.0,
        };
        Ok(Self { table: (0..NUMBERS).map(worth).collect() })
    }
}

impl QuietEvaluator for MaterialValues {
    fn evaluate(&self, list: &[u16; 40]) -> f64 {
        list.iter().take(PIECES as usize).filter_map(|&number| self.table.get(usize::from(number))).sum()
    }
}

impl QuietEvaluator for Evaluator {
    fn evaluate(&self, list: &[u16; 40]) -> f64 {
        self.evaluate_sound(list)
    }
}

named! {
    /// Which promotions without capture are searched; promotions with capture always are.
    Promotions, "promotions":
        /// Only pawns, as in playing programs: bishops and rooks can promote on so many squares that their lines would far outnumber all others.
        Pawns = "pawns",
        /// All promotions.
        All = "all",
}

/// Options of a quiescence search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Maximum number of half-moves of a line, 1 to 32.
    pub depth: u32,
    /// Which promotions without capture are searched.
    pub promotions: Promotions,
    /// Threads; `None` for all cores. The result does not depend on it.
    pub threads: Option<usize>,
}

impl Options {
    /// Default number of half-moves of a line.
    pub const DEPTH: u32 = 6;
}

impl Default for Options {
    /// Six half-moves, promotions of pawns, all cores.
    fn default() -> Self {
        Self { depth: Self::DEPTH, promotions: Promotions::Pawns, threads: None }
    }
}
