//! Threads of the host, where a caller says how many.

use std::thread::{Builder, Scope, ScopedJoinHandle};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Error, Result};

/// Maximum number of threads of a pool: thousands of threads would spend more time searching for work than working.
pub(crate) const MAX_THREADS: usize = 1024;

/// Checks the number of threads that a caller asks for; `None` leaves the choice to the library.
///
/// # Errors
/// [`Error::Option`] names `threads` unless it is 1 to [`MAX_THREADS`].
pub(crate) fn check(threads: Option<usize>) -> Result<()> {
    match threads {
        Some(n) if !(1..=MAX_THREADS).contains(&n) => Err(Error::option("threads", n, format!("1 to {MAX_THREADS}"))),
        _ => Ok(()),
    }
}

/// The threads that run a task.
pub(crate) enum Threads {
    /// The threads of the caller's pool, by default one of all cores.
    All,
    /// The caller's thread alone, for a sequential program.
    One,
    /// A separate pool.
    Own(ThreadPool),
}

impl Threads {
    /// For work that also has a sequential program, chosen by 1.
    ///
    /// # Errors
    /// As [`pooled`](Self::pooled).
    pub fn new(n: Option<usize>) -> Result<Self> {
        match n {
            Some(1) => Ok(Self::One),
            n => Self::pooled(n),
        }
    }

    /// For work that is always parallel; 1 gives a pool of one thread.
    ///
    /// # Errors
    /// [`Error::Option`] names `threads` unless `n` is 1 to [`MAX_THREADS`] and the system starts so many.
    pub fn pooled(n: Option<usize>) -> Result<Self> {
        Ok(n.map(pool).transpose()?.map_or(Self::All, Self::Own))
    }

    /// Whether the sequential program was chosen.
    pub fn is_one(&self) -> bool {
        matches!(self, Self::One)
    }

    /// Does the work in the separate pool, if there is one, otherwise on the caller's thread.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self {
            Self::All | Self::One => work(),
            Self::Own(pool) => pool.install(work),
        }
    }

    /// Does the work from a thread of the pool, where distributing work costs least; `One` does it on the caller's thread.
    pub fn run_inside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self {
            Self::All => rayon::scope(|_| work()),
            _ => self.run(work),
        }
    }
}

fn pool(n: usize) -> Result<ThreadPool> {
    check(Some(n))?;
    let built = ThreadPoolBuilder::new().num_threads(n).build();
    built.map_err(|error| Error::option("threads", n, format!("as many as this machine can start: {error}")))
}

/// Starts a thread of its own for some work.
///
/// # Errors
/// [`Error::Option`] names `threads` if the system starts no other one.
pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    let started = Builder::new().spawn_scoped(scope, work);
    started.map_err(|error| Error::option("threads", "1 more", format!("as many as this machine can start: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_starts_is_refused() {
        assert_eq!(pool(2).unwrap().current_num_threads(), 2);
        for n in [0, MAX_THREADS + 1, usize::MAX] {
            let text = pool(n).unwrap_err().to_string();
            assert!(text.contains("threads") && text.contains("1 to 1024"), "{text}");
        }
    }

    #[test]
    fn work_is_done_by_as_many_as_are_asked_for() {
        for n in [1, 3] {
            assert_eq!(Threads::pooled(Some(n)).unwrap().run(rayon::current_num_threads), n);
        }
        let here = std::thread::current().id();
        assert_eq!(Threads::new(Some(1)).unwrap().run_inside(|| std::thread::current().id()), here);
        assert_eq!(Threads::new(None).unwrap().run(|| std::thread::current().id()), here);
        assert!(Threads::new(None).unwrap().run_inside(rayon::current_thread_index).is_some());
    }
}
