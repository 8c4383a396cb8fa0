//! Processes that measure together: rank 0 tells the others what.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::Instant;

use warpplay::shogi::ranks::{Ranks, Threads};
use warpplay::shogi::{Row, Shard, Values};
use warpplay::{Device, Error, Result};

use super::super::job::{Job, Options};
use super::super::part::part;
use super::super::program::Program;
use super::super::reproduce::{Split, reproduce};
use super::{Repetition, data};

/// What is measured: so many ranks, so many updates, of the first so many parents (0 for all).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Order {
    pub ranks: u32,
    pub iterations: u32,
    pub parents: u32,
}

impl Order {
    fn to_bytes(self) -> Vec<u8> {
        [self.ranks, self.iterations, self.parents].iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// `None` for the end.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [ranks, iterations, parents] = *bytes.as_chunks().0 else { return None };
        let [ranks, iterations, parents] = [ranks, iterations, parents].map(u32::from_le_bytes);
        Some(Self { ranks, iterations, parents })
    }
}

impl Repetition<'_> {
    /// The work of every rank but 0, whose [`dismiss`](Self::dismiss) ends it: measures what rank 0 measures.
    ///
    /// # Errors
    /// Those of the measurements; [`Error::Rank`] if another rank failed.
    pub fn serve(&self) -> Result<()> {
        while let Some(order) = self.hear(&[])? {
            // Rank 0 ends it for all.
            self.together(order, &|| false)?;
        }
        Ok(())
    }

    /// Ends the work of the other ranks, if there are any; called by rank 0 after its last item, whatever came of it.
    ///
    /// # Errors
    /// [`Error::Rank`] if one failed.
    pub fn dismiss(&self) -> Result<()> {
        if self.group.size() > 1 {
            self.hear(&[])?;
        }
        Ok(())
    }

    /// What rank 0 says.
    fn hear(&self, own: &[u8]) -> Result<Option<Order>> {
        Ok(self.group.gather_bytes(own)?.first().and_then(|bytes| Order::from_bytes(bytes)))
    }

    /// The paper's learning on so many ranks, each with a share of the changed values: the last values, the same on every rank, and the time of the slowest. `None` where `stop` ended it.
    pub(super) fn learnt_by(&self, order: Order, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<(Values, f64)>> {
        if self.group.size() > 1 {
            self.hear(&order.to_bytes())?;
            return self.together(order, stop);
        }
        let (part, options) = (self.first(order.parents)?, self.job(order.iterations));
        let shards: Vec<&Shard> = part.iter().map(|shard| &**shard).collect();
        // Each rank has all positions, as the paper's processes have, and finds room for its own alone.
        Device::cpu().expect_memory(&Program::memory_of(&shards, options.repeat, order.ranks))?;
        let ends = Threads::run(order.ranks as usize, |ranks| as_rank(ranks, &shards, &options, stop))?;
        ends.into_iter().collect::<Option<Vec<_>>>().map(joined).transpose()
    }

    /// The first so many parents, or all.
    pub(super) fn first(&self, parents: u32) -> Result<Vec<Cow<'_, Shard>>> {
        match parents {
            0 => Ok(self.shards.iter().map(|&shard| Cow::Borrowed(shard)).collect()),
            n => Ok(vec![Cow::Owned(data::first(&self.shards, n as usize)?)]),
        }
    }

    /// One measurement by all processes; those beyond its number of ranks wait.
    fn together(&self, order: Order, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<(Values, f64)>> {
        let first = self.first(order.parents)?;
        let shards: Vec<&Shard> = first.iter().map(|shard| &**shard).collect();
        let part = Part { group: self.group, size: order.ranks as usize };
        // Where it was ended, it was on all ranks.
        let Some((values, seconds)) = as_rank(&part, &shards, &self.job(order.iterations), stop)? else {
            return Ok(None);
        };
        let mut numbers = values.to_vec();
        numbers.push(seconds);
        let all = self.group.gather(&numbers)?;
        let ends = all.as_chunks::<13>().0.iter().map(|end| (std::array::from_fn(|at| end[at]), end[12]));
        joined(ends.take(order.ranks as usize).collect()).map(Some)
    }
}

/// The ranks' values, which must be the same, and the longest time.
fn joined(ends: Vec<(Values, f64)>) -> Result<(Values, f64)> {
    let Some(&(values, _)) = ends.first() else { return Err(Error::option("ranks", 0, "1 or more")) };
    if let Some(rank) = ends.iter().position(|(others, _)| *others != values) {
        let reason = "it has learnt other values than rank 0".into();
        return Err(Error::Rank { rank, size: ends.len(), reason });
    }
    Ok((values, ends.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max)))
}

/// A rank's part of the learning, which shares the changed values: the last values, the same on every rank, and its time from when all are ready. `None`, on every rank, where `stop`
/// ended it on one.
fn as_rank(
    ranks: &dyn Ranks,
    shards: &[&Shard],
    job: &Options,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<(Values, f64)>> {
    let split = Split::Features;
    let mut work = part(ranks, split, shards, |shards| Job::new(&Device::cpu(), shards, job))?;
    let start = Instant::now();
    let watch = |_: Option<&Row>| if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let rows = reproduce(&mut *work, ranks, split, &job.objective, &job.init, job.iterations, watch)?;
    let seconds = start.elapsed().as_secs_f64();
    let last = rows.last().filter(|_| job.is_whole(&rows));
    Ok(last.map(|row| (row.values, seconds)))
}

/// The first ranks of a group, as a group; the others wait, and take part in every exchange with nothing.
struct Part<'a> {
    group: &'a dyn Ranks,
    size: usize,
}

impl Ranks for Part<'_> {
    fn rank(&self) -> usize {
        self.group.rank()
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum(&self, values: &mut [i64]) -> Result<()> {
        self.group.sum(values)
    }

    fn gather(&self, values: &[f64]) -> Result<Vec<f64>> {
        self.group.gather(values)
    }

    fn gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.group.gather_bytes(bytes)
    }

    fn abort(&self, reason: &str) {
        self.group.abort(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_come_back() {
        let order = Order { ranks: 3, iterations: 50, parents: 9 };
        assert_eq!(Order::from_bytes(&order.to_bytes()), Some(order));
        assert_eq!(Order::from_bytes(&[]), None);
        assert!(joined(vec![([1.0; 12], 1.0), ([2.0; 12], 2.0)]).is_err() && joined(vec![]).is_err());
        assert_eq!(joined(vec![([1.0; 12], 1.0), ([1.0; 12], 2.0)]).unwrap(), ([1.0; 12], 2.0));
    }
}
