//! Whether the sums of a gradient fit into the 64 bits that they are kept in.
//!
//! A sum is Σ slope (f(c) − f(0)) over the siblings `c` of all parents; `f` is the count of the weight's feature for the side that moved minus that for the other side.
//! With `n` siblings whose T are `j` on average, Σ slope = a Σ T (1 − T) ≤ a n j (1 − j), since T (1 − T) is concave. So a sum is at most a n j (1 − j) times the most that
//! `f` of two children of a parent can differ by.

use super::loss::Totals;
use super::selection::Selection;
use crate::{Error, Result};

/// The unit of the sums.
const ONE: f64 = warpplay_gpu::shogi::fixed::ONE;
/// The largest value that 64 bits hold in this unit, 2²⁷.
const MOST: f64 = (1u64 << 63) as f64 / ONE;
/// The largest difference of a feature between two positions: 18 pawns of each side. Features of squares or kings occur once for each side.
const MOST_FEATURES: u32 = 36;

/// Upper bound of Σ slope, including a rounding of half a unit for each sibling.
fn slopes(totals: &Totals, a: f64) -> f64 {
    let n = totals.children.saturating_sub(totals.parents) as f64;
    if n == 0.0 {
        return 0.0;
    }
    // Child 0 of each parent costs a half.
    let j = ((totals.loss as f64 / ONE - 0.5 * totals.parents as f64) / n).clamp(0.0, 1.0);
    n * (a * j * (1.0 - j) + 1.0 / ONE)
}

/// Whether every sum of the gradient fits for any positions.
fn always_fits(totals: &Totals, a: f64) -> bool {
    slopes(totals, a) * f64::from(MOST_FEATURES) < MOST
}

/// Checks that every sum of the gradient over `parts`, which has these totals, fits. If the general bound is exceeded, the bound uses the number of changes from a parent to
/// its children.
///
/// # Errors
/// [`Error::Shape`] for so many children that a sum may not fit.
pub(super) fn check(totals: &Totals, a: f64, parts: &[Selection<'_>]) -> Result<()> {
    if always_fits(totals, a) {
        return Ok(());
    }
    let most_changes = parts.iter().map(|part| part.shard.first_change.largest_step()).max().unwrap_or(0);
    // A slot that changes takes a piece away from one side and may give it to the other; both children differ from their parent.
    let differ = most_changes.saturating_mul(4).clamp(2, MOST_FEATURES);
    let most = slopes(totals, a) * f64::from(differ);
    if most < MOST {
        return Ok(());
    }
    let fits = (totals.children as f64 * MOST / most) as u64;
    let allowed = format!(
        "at most about {fits}, so that sums fit into 64 bits: use mini-batches (`batch`) or a smaller slope `a`"
    );
    Err(Error::shape("children that a gradient is summed over", allowed, totals.children))
}

#[cfg(test)]
mod tests {
    use warpplay_gpu::shogi::piece::{BOARD, SQUARES};

    use super::*;
    use crate::Device;
    use crate::shogi::features::FeatureSet;
    use crate::shogi::loss::Loss;
    use crate::shogi::shard::Shard;
    use crate::shogi::sparse::Sparse;

    const SIBLINGS: u32 = 65_000;
    const LANCE: u32 = 1;

    /// A position with one lance: White's after the move that was played, Black's after all others.
    fn one_lance() -> Shard {
        let number = |side: u32| BOARD + (LANCE * 2 + side) * SQUARES;
        Shard {
            pieces: vec![[0; 40]].into(),
            sides: vec![0].into(),
            plies: vec![0].into(),
            games: vec![0].into(),
            first_child: vec![0, SIBLINGS + 1].into(),
            played: vec![1].into(),
            differences: vec![0; SIBLINGS as usize + 1].into(),
            first_change: (0..=SIBLINGS + 1).collect(),
            changes: (0..=SIBLINGS).map(|child| number(u32::from(child == 0))).collect(),
        }
    }

    /// All weights are 0, so every T is a half and every slope is 64 / 4. Lances differ by 2 and may differ by 4 where one slot changes, so that 2²⁷ / (16 · 4) siblings are
    /// the bound, 32.3 times these, and the sum is half of what fits there.
    #[test]
    fn sums_that_may_not_fit_are_refused() -> Result<()> {
        let shard = one_lance();
        let loss = Loss { a: 64.0, ..Loss::default() };
        let mut sparse = Sparse::builder(FeatureSet::Material).build(&Device::cpu())?;
        let totals = sparse.pass(&vec![&shard; 32], &loss, true)?;
        assert!(!always_fits(&totals, loss.a) && always_fits(&sparse.pass(&[&shard; 3], &loss, false)?, loss.a));
        sparse.pass(&vec![&shard; 32], &loss, true)?;
        let sum = 32 * i64::from(SIBLINGS) * 16 * 2 * ONE as i64;
        assert_eq!(sparse.gradient()?[LANCE as usize].abs(), sum);
        let error = sparse.pass(&vec![&shard; 33], &loss, true).unwrap_err().to_string();
        let expected = "children that a gradient is summed over: expected at most about 2097";
        assert!(error.starts_with(expected) && error.contains("mini-batches"), "{error}");
        // What computes no gradient sums no slopes.
        assert_eq!(sparse.pass(&vec![&shard; 33], &loss, false)?.children, 33 * u64::from(SIBLINGS + 1));
        Ok(())
    }
}
