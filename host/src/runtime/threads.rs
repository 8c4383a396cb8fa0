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

/// `n` threads of their own.
///
/// # Errors
/// [`Error::Option`] names `threads` unless `n` is 1 to [`MAX_THREADS`] and the system starts so many.
pub(crate) fn pool(n: usize) -> Result<ThreadPool> {
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
}
