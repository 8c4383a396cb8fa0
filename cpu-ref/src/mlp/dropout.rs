//! Dropout of hidden units (Srivastava et al. 2014), in the inverted form: kept units are scaled, and an evaluation is of the network as it is.

use super::{Numbers, Real};

/// Stream of the first hidden layer's masks; hidden layer `l` (from 0) has stream `MASKS + l`.
const MASKS: u32 = 32;

/// Which units are dropped: a function of seed, update, layer, row and unit alone.
///
/// Update `u` (from 0) has the key `r(u + 1)` of its layer's stream, see [`Numbers`]; unit `i` of row `r` of the batch has the low half (even `i`) or the high half (odd) of element
/// `r ceil(n / 2) + i / 2 + 1` of the numbers with this key, for `n` units, and is dropped where it is below `rate` 2^32, rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The probability of each unit, [0, 1).
    pub rate: f64,
    /// Seed of the masks.
    pub seed: u32,
}

impl Dropout {
    /// What the outputs of rows `first_row` and following of hidden layer `layer` are multiplied with in update `update`, both from 0: 0, or `1 / (1 - rate)`. `factors` is `[rows, n_units]`.
    ///
    /// # Panics
    /// If there are no units.
    pub fn factors<T: Real>(&self, layer: usize, update: u64, first_row: usize, n_units: usize, factors: &mut [T]) {
        let numbers = Numbers::with_key(Numbers::new(self.seed, MASKS + layer as u32).at(update.wrapping_add(1)));
        let threshold = (self.rate * 2f64.powi(32)).round() as u64;
        let kept = T::rounded(1.0 / (1.0 - self.rate));
        let pairs = n_units.div_ceil(2);
        for (row, factors) in (first_row..).zip(factors.chunks_exact_mut(n_units)) {
            for (unit, factor) in factors.iter_mut().enumerate() {
                let number = numbers.at((row * pairs + unit / 2) as u64 + 1);
                let half = if unit % 2 == 0 { number & 0xFFFF_FFFF } else { number >> 32 };
                *factor = if half < threshold { T::zero() } else { kept };
            }
        }
    }
}
