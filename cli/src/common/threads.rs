//! The threads of all parallel work, started before it begins.

use std::env;
use std::ffi::{OsStr, OsString};
use std::thread;

use anyhow::Result;
use rayon::ThreadPoolBuilder;

use super::Usage;

/// The environment variable that says how many threads there are.
const VARIABLE: &str = "RAYON_NUM_THREADS";
/// Most threads, as of `--threads`.
const MAX_THREADS: usize = 1024;

/// Starts the threads that all parallel work of the process shares: `given` by an option, else as many as the environment says, else one for each core. Work that began without
/// them would start them by itself, and panic where the system refuses.
///
/// # Errors
/// [`Usage`] for a variable with a number that is not allowed, and where the system starts no such number of threads.
pub fn start_threads(given: Option<usize>) -> Result<()> {
    let asked = env::var_os(VARIABLE).filter(|text| !text.is_empty());
    let (n, origin) = match (given, &asked) {
        (Some(n), _) => (n, format!("option threads: {n}")),
        (None, Some(text)) => (number(text)?, format!("{VARIABLE}: {}", text.display())),
        (None, None) => {
            let n_cores = thread::available_parallelism().map_or(1, usize::from);
            (0, format!("{VARIABLE}: unset, which means {n_cores},"))
        }
    };
    let built = ThreadPoolBuilder::new().num_threads(n).build_global();
    let allowed = "as many as this machine can start";
    built.map_err(|error| Usage(format!("{origin} is not allowed ({allowed}: {error})")).into())
}

/// The number of threads in the variable; 0 stands for one for each core.
fn number(text: &OsString) -> Result<usize, Usage> {
    let n = OsStr::to_str(text).and_then(|text| text.parse().ok()).filter(|&n| n <= MAX_THREADS);
    n.ok_or_else(|| Usage(format!("{VARIABLE}: {} is not allowed (0 for all cores, to {MAX_THREADS})", text.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads_that_no_machine_starts_are_refused() {
        for good in ["0", "1", "1024"] {
            assert_eq!(number(&good.into()).expect(good).to_string(), good);
        }
        for wrong in ["1025", "65535", "99999999999999999999", "-1", "many", "1.5"] {
            let error = number(&wrong.into()).expect_err(wrong).to_string();
            assert_eq!(error, format!("RAYON_NUM_THREADS: {wrong} is not allowed (0 for all cores, to 1024)"));
        }
    }
}
