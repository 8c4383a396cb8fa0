//! Ranks that are threads of one process.

use std::any::Any;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;

use super::Ranks;
use crate::runtime::threads;
use crate::{Error, Result};

/// One rank of a group of threads.
///
/// ```
/// use warpplay::ranks::{Ranks, Threads};
///
/// let sums = Threads::run(3, |ranks| {
///     let mut values = [ranks.rank() as i64, 1];
///     ranks.sum(&mut values)?;
///     Ok(values)
/// })?;
/// assert_eq!(sums, [[3, 3]; 3]);
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    group: Arc<Group>,
}

#[derive(Debug)]
struct Group {
    size: usize,
    state: Mutex<State>,
    turned: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Number of exchanges done.
    round: u64,
    /// The parts received in the current exchange.
    parts: Vec<Option<Arc<Part>>>,
    /// The parts of the last exchange. The next exchange cannot end and replace them before every rank has fetched them and called again.
    last: Vec<Arc<Part>>,
    /// The first rank that failed or left, and why.
    failed: Option<(usize, String)>,
}

/// The part of a rank in an exchange.
enum Part {
    Sum(Vec<i64>),
    Gather(Vec<f64>),
    Bytes(Vec<u8>),
    Lent(Arc<dyn Any + Send + Sync>),
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Part {
    fn name(&self) -> &'static str {
        match self {
            Self::Sum(_) => "sum",
            Self::Gather(_) => "gather",
            Self::Bytes(_) => "gather_bytes",
            Self::Lent(_) => "lend",
        }
    }
}

impl Threads {
    /// Makes the ranks of a new group, one for each thread.
    ///
    /// # Errors
    /// [`Error::Option`] for no ranks.
    pub fn group(size: usize) -> Result<Vec<Self>> {
        if size == 0 {
            return Err(Error::option("ranks", size, "1 or more"));
        }
        let state = Mutex::new(State { parts: vec![None; size], ..State::default() });
        let group = Arc::new(Group { size, state, turned: Condvar::new() });
        Ok((0..size).map(|rank| Self { rank, group: Arc::clone(&group) }).collect())
    }

    /// Runs `work` as every rank of a new group, each in its own thread, waits for all, and returns the results rank by rank.
    ///
    /// # Errors
    /// [`Error::Option`] for no ranks, and for more threads than the system starts; the error of the rank that failed first, which ends the others.
    ///
    /// # Panics
    /// If `work` does, after all ranks have ended.
    pub fn run<T: Send>(size: usize, work: impl Fn(&Threads) -> Result<T> + Sync) -> Result<Vec<T>> {
        let ranks = Self::group(size)?;
        let Some(group) = ranks.first().map(|rank| Arc::clone(&rank.group)) else { return Ok(vec![]) };
        let work = &work;
        let ends: Vec<_> = std::thread::scope(|scope| {
            let one = |ranks: Threads| {
                threads::spawn(scope, move || {
                    let end = work(&ranks);
                    if let Err(error) = &end {
                        ranks.abort(&error.to_string());
                    }
                    end
                })
            };
            let threads: Vec<_> = ranks.into_iter().map(one).collect();
            // The rank of one that was not started is dropped, which ends the others.
            threads
                .into_iter()
                .map(|thread| thread.map_or_else(|error| Ok(Err(error)), ScopedJoinHandle::join))
                .collect()
        });
        let first = lock(&group.state).failed.as_ref().map(|(rank, _)| *rank);
        let (mut answers, mut errors) = (Vec::with_capacity(size), Vec::new());
        for (rank, end) in ends.into_iter().enumerate() {
            match end {
                Ok(Ok(answer)) => answers.push(answer),
                Ok(Err(error)) => {
                    let told = matches!(error, Error::Rank { .. });
                    errors.push(((told, Some(rank) != first), error));
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        // A rank's own error before what others were told of it; of these, the one that came first.
        match errors.into_iter().min_by_key(|(order, _)| *order) {
            Some((_, error)) => Err(error),
            None => Ok(answers),
        }
    }

    /// Contributes one part and waits for those of all ranks.
    fn exchange(&self, part: Part) -> Result<Vec<Arc<Part>>> {
        let mut state = lock(&self.group.state);
        self.expect_no_failure(&state)?;
        let name = part.name();
        let round = state.round;
        if let Some(slot) = state.parts.get_mut(self.rank) {
            *slot = Some(Arc::new(part));
        }
        if state.parts.iter().all(Option::is_some) {
            state.last = state.parts.iter_mut().filter_map(Option::take).collect();
            state.round += 1;
            self.group.turned.notify_all();
        }
        while state.round == round {
            self.expect_no_failure(&state)?;
            state = self.group.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match state.last.iter().position(|part| part.name() != name) {
            Some(rank) => Err(self.error(rank, format!("called {}, this rank called {name}", state.last[rank].name()))),
            None => Ok(state.last.clone()),
        }
    }

    fn expect_no_failure(&self, state: &State) -> Result<()> {
        match &state.failed {
            Some((rank, reason)) => Err(self.error(*rank, reason.clone())),
            None => Ok(()),
        }
    }

    fn error(&self, rank: usize, reason: String) -> Error {
        Error::Rank { rank, size: self.group.size, reason }
    }

    fn fail(&self, reason: &str) {
        let mut state = lock(&self.group.state);
        if state.failed.is_none() {
            state.failed = Some((self.rank, reason.to_string()));
        }
        self.group.turned.notify_all();
    }
}

/// Locks the state. It is consistent at every point between lock and unlock, so a poisoned lock can be used.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Threads {
    /// Any rank that waits for this one from now on gets an error.
    fn drop(&mut self) {
        self.fail("it has ended");
    }
}

impl Ranks for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.group.size
    }

    fn sum(&self, values: &mut [i64]) -> Result<()> {
        let parts = self.exchange(Part::Sum(values.to_vec()))?;
        values.fill(0);
        for (rank, part) in parts.iter().enumerate() {
            let Part::Sum(others) = &**part else { continue };
            if others.len() != values.len() {
                return Err(self.error(rank, format!("sums {} values, this rank {}", others.len(), values.len())));
            }
            for (value, other) in values.iter_mut().zip(others) {
                *value = value.wrapping_add(*other);
            }
        }
        Ok(())
    }

    fn gather(&self, values: &[f64]) -> Result<Vec<f64>> {
        let parts = self.exchange(Part::Gather(values.to_vec()))?;
        let values = |part: &Arc<Part>| if let Part::Gather(values) = &**part { values.clone() } else { vec![] };
        Ok(parts.iter().flat_map(values).collect())
    }

    fn gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let parts = self.exchange(Part::Bytes(bytes.to_vec()))?;
        let bytes = |part: &Arc<Part>| if let Part::Bytes(bytes) = &**part { bytes.clone() } else { vec![] };
        Ok(parts.iter().map(bytes).collect())
    }

    fn lend(&self, value: Arc<dyn Any + Send + Sync>) -> Result<Option<Vec<Arc<dyn Any + Send + Sync>>>> {
        let parts = self.exchange(Part::Lent(value))?;
        let value = |part: &Arc<Part>| if let Part::Lent(value) = &**part { Some(Arc::clone(value)) } else { None };
        Ok(parts.iter().map(value).collect())
    }

    fn abort(&self, reason: &str) {
        self.fail(reason);
    }
}
