//! The paper's learning divided over ranks.

use std::ops::{ControlFlow, Range};

use warpplay::shogi::material::Evaluation;
use warpplay::shogi::ranks::{Ranks, agree, sum_wide};
use warpplay::shogi::{Objective, Row, Values, check_values};
use warpplay::{Error, Result};

use super::published;
use crate::named::named;

/// Values that are learnt.
const LEARNT: usize = published::LEARNT as usize;

named! {
    /// How the paper's learning is divided over ranks.
    Split, "split":
    /// Each rank has all data and evaluates a share of the twelve changed values; the results are gathered. The paper's way.
    Features = "features",
    /// Each rank has a share of the data and evaluates all thirteen; the sums are added.
    Data = "data",
}

/// Something that evaluates the paper's objective.
pub trait Reproducible {
    /// `Σ T` in multiples of 2⁻³⁶ over this rank's children: first for `values`, then for each value of `features` (0 to 12) raised by Δ.
    ///
    /// # Errors
    /// Those of the back end.
    fn sums(&mut self, values: &Values, features: Range<usize>) -> Result<Vec<i128>>;

    /// The same, asking `go_on` before each sum that is made by itself; `None` where it answers `Break`. Without a definition of its own all sums are one piece.
    ///
    /// # Errors
    /// As [`sums`](Self::sums).
    fn sums_while(
        &mut self,
        values: &Values,
        features: Range<usize>,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Vec<i128>>> {
        if go_on().is_break() {
            return Ok(None);
        }
        self.sums(values, features).map(Some)
    }

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

/// The paper's learning by all ranks together: `iterations + 1` rows on every rank, the same bits whatever the number of ranks and the split. `watch` is asked with
/// every new row, and with `None` before each sum over all positions; where it answers `Break` on any rank, the last row that is whole is the last.
///
/// The paper's all-gather wrote past its array where the ranks do not divide twelve. Here shares may be uneven, or empty.
///
/// # Errors
/// [`Error::Option`](warpplay::Error::Option) for values that are no numbers or too large; [`Error::Shape`](warpplay::Error::Shape) without children;
/// [`Error::Rank`](warpplay::Error::Rank) if another rank failed; those of the back end.
pub fn reproduce(
    work: &mut dyn Reproducible,
    ranks: &dyn Ranks,
    split: Split,
    objective: &Objective,
    init: &Values,
    iterations: u32,
    mut watch: impl FnMut(Option<&Row>) -> ControlFlow<()>,
) -> Result<Vec<Row>> {
    objective.check()?;
    check_values("init", init)?;
    let children = joined(ranks, split, vec![work.children().into()])?;
    let children = children.first().and_then(|&sum| u64::try_from(sum).ok()).unwrap_or(u64::MAX);
    if children == 0 {
        return Err(Error::shape("children", "1 or more", 0));
    }
    let mut values = *init;
    let mut h = objective.h;
    let mut rows = Vec::new();
    for iteration in 0..=iterations {
        let mine = match split {
            Split::Features => share_of_features(ranks.rank(), ranks.size()),
            Split::Data => 0..LEARNT,
        };
        let sums = agree(ranks, work.sums_while(&values, mine, &mut || watch(None)))?;
        let mut ended = [i64::from(sums.is_none())];
        ranks.sum(&mut ended)?;
        let Some(sums) = sums.filter(|_| ended == [0]) else { break };
        let joined = joined(ranks, split, sums)?;
        let n = joined.len();
        let sums = joined.try_into().map_err(|_| Error::shape("sums of an evaluation", LEARNT + 1, n))?;
        let evaluation = Evaluation { sums, children };
        let row = evaluation.row(iteration, values, h);
        let mut stop = [i64::from(watch(Some(&row)).is_break())];
        rows.push(row);
        ranks.sum(&mut stop)?;
        if stop != [0] {
            break;
        }
        evaluation.step(&mut values, h);
        h *= objective.factor;
    }
    Ok(rows)
}

/// All ranks' numbers in one: added up where the data are divided; else those of rank 0 with what the others have after their first, which is the same on all that work.
fn joined(ranks: &dyn Ranks, split: Split, mut mine: Vec<i128>) -> Result<Vec<i128>> {
    if split == Split::Data {
        sum_wide(ranks, &mut mine)?;
        return Ok(mine);
    }
    let bytes: Vec<u8> = mine.iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut all = Vec::new();
    for (rank, bytes) in ranks.gather_bytes(&bytes)?.iter().enumerate() {
        let numbers = bytes.as_chunks().0.iter().map(|&bytes| i128::from_le_bytes(bytes));
        all.extend(numbers.skip(usize::from(rank > 0)));
    }
    Ok(all)
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
    fn ideal_speed_ups_are_the_papers() {
        // 13 / (12/P + 1) where P divides 12: 1, 13/7, 13/5, 13/4.
        assert_eq!([1, 2, 3, 4].map(ideal_speed_up), [1.0, 13.0 / 7.0, 13.0 / 5.0, 13.0 / 4.0]);
        assert_eq!([5, 12, 40].map(ideal_speed_up), [13.0 / 4.0, 6.5, 6.5]);
    }
}
