//! Threads of the host, where a caller says how many.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Error, Result};

/// Most threads of a pool: thousands would look for work more than they work.
pub(crate) const MAX_THREADS: usize = 1024;

/// Threads that a caller asks for; `None` leaves the choice.
///
/// # Errors
/// [`Error::Option`] names `threads` unless they are 1 to [`MAX_THREADS`].
pub(crate) fn check(threads: Option<usize>) -> Result<()> {
    match threads {
        Some(n) if !(1..=MAX_THREADS).contains(&n) => Err(Error::option("threads", n, format!("1 to {MAX_THREADS}"))),
        _ => Ok(()),
    }
}

/// The threads of a piece of work.
pub(crate) enum Threads {
    /// Those of the caller's pool, by default one of all cores.
    All,
    /// The caller's alone, for a sequential program.
    One,
    /// A pool of their own.
    Own(ThreadPool),
}

impl Threads {
    /// For work that has a sequential program too, which 1 asks for.
    ///
    /// # Errors
    /// As [`pooled`](Self::pooled).
    pub fn new(n: Option<usize>) -> Result<Self> {
        match n {
            Some(1) => Ok(Self::One),
            n => Self::pooled(n),
        }
    }

    /// For work that is parallel in any case: 1 is a pool of one.
    ///
    /// # Errors
    /// [`Error::Option`] names `threads` unless `n` is 1 to [`MAX_THREADS`] and the system starts so many.
    pub fn pooled(n: Option<usize>) -> Result<Self> {
        Ok(n.map(pool).transpose()?.map_or(Self::All, Self::Own))
    }

    /// Whether the sequential program is asked for.
    pub fn is_one(&self) -> bool {
        matches!(self, Self::One)
    }

    /// Does the work: in a pool of its own, or as the caller would.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self {
            Self::All | Self::One => work(),
            Self::Own(pool) => pool.install(work),
        }
    }

    /// Does it from a thread of a pool, where handing out work costs least; `One` does it on the caller's.
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
