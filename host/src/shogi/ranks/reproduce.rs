//! The source's learning divided over ranks.

use std::ops::{ControlFlow, Range};

use super::{Ranks, agree, sum_wide};
use crate::named::named;
use crate::shogi::objective::check_values;
use crate::shogi::{Objective, Row, Values};
use crate::{Error, Result};

named! {
    /// How the source's learning is divided over ranks.
    Split, "split":
        /// Each rank has all data and evaluates a share of the twelve changed values; the results are gathered. The source's way.
        Features = "features",
        /// Each rank has a share of the data and evaluates all thirteen; the sums are added.
        Data = "data",
}

/// Values that are learnt, and their changes to be evaluated.
const LEARNT: usize = 12;
const ONE: f64 = warpplay_gpu::shogi::fixed::ONE;

/// Something that evaluates the source's objective.
pub trait Reproducible {
    /// `Σ T` in multiples of 2⁻³⁶ over this rank's children: first for `values`, then for each value of `features` (0 to 12) raised by Δ.
    ///
    /// # Errors
    /// Those of the back end.
    fn sums(&mut self, values: &Values, features: Range<usize>) -> Result<Vec<i128>>;

    /// This rank's children.
    fn children(&self) -> u64;
}

/// The share of `rank` among `size` (1 or more) of the twelve values. Shares differ by one at most; more than twelve ranks leave some without.
pub const fn share_of_features(rank: usize, size: usize) -> Range<usize> {
    let size = if size == 0 { 1 } else { size };
    LEARNT * rank / size..LEARNT * (rank + 1) / size
}

/// What `ranks` ranks can gain at most with [`Split::Features`]: `(L + 1) / (L/P + 1)`, since each evaluates the objective at the present values too. `L/P` is rounded
/// up, as the largest share decides.
pub fn ideal_speed_up(ranks: usize) -> f64 {
    (LEARNT + 1) as f64 / (LEARNT.div_ceil(ranks.max(1)) + 1) as f64
}

/// The source's learning by all ranks together: `iterations + 1` rows on every rank, the same bits whatever the number of ranks and the split. `watch` is asked with
/// every new row; where it answers `Break` on any rank, that row is the last.
///
/// The source's all-gather wrote past its array where the ranks do not divide twelve. Here shares may be uneven, or empty.
///
/// # Errors
/// [`Error::Option`] for values that are no numbers or too large; [`Error::Shape`] without children; [`Error::Rank`] if another rank failed; those of the back end.
pub fn reproduce(
    work: &mut dyn Reproducible,
    ranks: &dyn Ranks,
    split: Split,
    objective: &Objective,
    init: &Values,
    iterations: u32,
    mut watch: impl FnMut(&Row) -> ControlFlow<()>,
) -> Result<Vec<Row>> {
    objective.check()?;
    check_values(init)?;
    let mut children = [i128::from(work.children())];
    if split == Split::Data {
        sum_wide(ranks, &mut children)?;
    }
    let [children] = children;
    if children == 0 {
        return Err(Error::shape("children", "1 or more", 0));
    }
    let mut values = *init;
    let mut h = objective.h;
    let mut rows = Vec::new();
    for iteration in 0..=iterations {
        let mean = |sum: i128| sum as f64 / ONE / children as f64;
        let mine = match split {
            Split::Features => share_of_features(ranks.rank(), ranks.size()),
            Split::Data => 0..LEARNT,
        };
        let mut sums = agree(ranks, work.sums(&values, mine))?;
        if split == Split::Data {
            sum_wide(ranks, &mut sums)?;
        }
        let (&at_values, changed) = sums.split_first().ok_or_else(|| wrong_length(1, 0))?;
        // Whole numbers are subtracted, so that nothing is lost.
        let mut differences: Vec<f64> = changed.iter().map(|&sum| mean(sum - at_values)).collect();
        if split == Split::Features {
            differences = ranks.gather(&differences)?;
        }
        let differences: Values =
            differences.try_into().map_err(|found: Vec<f64>| wrong_length(LEARNT, found.len()))?;
        let j = mean(at_values);
        let row = Row { iteration, j, values, h, differences };
        let mut stop = [i64::from(watch(&row).is_break())];
        rows.push(row);
        ranks.sum(&mut stop)?;
        if stop != [0] {
            break;
        }
        for (value, difference) in values.iter_mut().zip(differences) {
            *value -= if difference > 0.0 { h } else { -h };
        }
        h *= objective.factor;
    }
    Ok(rows)
}

fn wrong_length(expected: usize, found: usize) -> Error {
    Error::shape("sums of the ranks", expected, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_the_features() {
        for size in 1..40 {
            let shares: Vec<_> = (0..size).map(|rank| share_of_features(rank, size)).collect();
            assert!(shares.iter().cloned().flatten().eq(0..LEARNT), "{size}");
            let (least, most) = (LEARNT / size, LEARNT.div_ceil(size));
            assert!(shares.iter().all(|share| (least..=most).contains(&share.len())), "{size}");
        }
    }

    #[test]
    fn ideal_speed_ups_are_the_sources() {
        // 13 / (12/P + 1) where P divides 12: 1, 13/7, 13/5, 13/4.
        assert_eq!([1, 2, 3, 4].map(ideal_speed_up), [1.0, 13.0 / 7.0, 13.0 / 5.0, 13.0 / 4.0]);
        assert_eq!([5, 12, 40].map(ideal_speed_up), [13.0 / 4.0, 6.5, 6.5]);
    }
}
