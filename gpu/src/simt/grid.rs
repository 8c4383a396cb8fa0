//! Spreads the groups of blocks of one launch over OS threads.
//!
//! The calling thread takes groups itself and rayon's threads help. It never waits for a helper to *begin*, nor for any
//! other job of the pool, so that launches from inside rayon's threads, and under locks, cannot block one another.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::block::{Plan, Workspace};
use super::report::{Fault, FaultKind};
use super::watch;

/// Launches with fewer threads than this run on the calling thread alone: waking another one takes longer.
const ALONE: u64 = 64;

/// Number of helpers of all launches that were requested and have not ended.
static HELPERS: AtomicUsize = AtomicUsize::new(0);

/// A running launch.
struct Launch {
    plan: Plan,
    /// The next group that no thread has taken.
    next: AtomicU64,
    /// Groups from this one on need not run: it or an earlier one had a fault, or the caller has stopped the launch.
    end: AtomicU64,
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Default)]
struct Progress {
    /// Threads that run groups.
    active: usize,
    /// The fault of the lowest group.
    fault: Option<(u64, Fault)>,
    /// Whether a thread has panicked; an error of `simt` itself.
    broken: bool,
    /// Whether the caller has stopped the launch.
    stopped: bool,
}

/// Runs all blocks of a launch with at most `threads` OS threads.
pub(super) fn run(plan: Plan, threads: Option<usize>) -> Result<(), Fault> {
    let n_groups = plan.shape.n_blocks() / u64::from(plan.sizes.group);
    let n_threads = (plan.shape.n_blocks()).saturating_mul(u64::from(plan.sizes.block));
    let kernel = plan.kernel;
    let wanted = match threads {
        _ if n_groups == 1 || n_threads < ALONE => 1,
        Some(threads) => threads.max(1),
        None => rayon::current_num_threads(),
    };
    let launch = Arc::new(Launch {
        plan,
        next: AtomicU64::new(0),
        end: AtomicU64::new(n_groups),
        progress: Mutex::default(),
        changed: Condvar::new(),
    });
    let helpers = (wanted as u64).min(n_groups) - 1;
    for _ in 0..helpers {
        // Jobs that a busy pool does not get to pile up; more than two for each of its threads help nobody.
        if HELPERS.fetch_add(1, Ordering::Relaxed) >= 2 * rayon::current_num_threads() {
            HELPERS.fetch_sub(1, Ordering::Relaxed);
            break;
        }
        let launch = Arc::clone(&launch);
        rayon::spawn(move || {
            launch.work();
            HELPERS.fetch_sub(1, Ordering::Relaxed);
        });
    }
    launch.work();
    let mut progress = launch
        .changed
        .wait_while(launch.lock(), |progress| progress.active > 0)
        .unwrap_or_else(PoisonError::into_inner);
    if let Some((_, fault)) = progress.fault.take() {
        return Err(fault);
    }
    let whole = |kind| Err(Fault { kernel, block: [0; 3], thread: [0; 3], kind });
    if progress.broken {
        return whole(FaultKind::Trap { message: "the simulator panicked outside the kernel".to_owned() });
    }
    if progress.stopped { whole(FaultKind::Stopped) } else { Ok(()) }
}

impl Launch {
    fn lock(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exhausted(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.end.load(Ordering::Relaxed)
    }

    /// Takes part in the launch until no group is left.
    fn work(&self) {
        {
            let mut progress = self.lock();
            // Checked under the lock: whoever is counted here is waited for. A helper that comes after the end must
            // not begin, since the launch may have returned.
            if self.exhausted() {
                return;
            }
            progress.active += 1;
        }
        let whole = panic::catch_unwind(AssertUnwindSafe(|| self.run_groups())).is_ok();
        let mut progress = self.lock();
        progress.active -= 1;
        progress.broken |= !whole;
        drop(progress);
        self.changed.notify_all();
    }

    fn run_groups(&self) {
        let mut workspace = Workspace::take();
        while !self.exhausted() {
            if !watch::is_wanted() {
                self.end.store(0, Ordering::Relaxed);
                self.lock().stopped = true;
                break;
            }
            let group = self.next.fetch_add(1, Ordering::Relaxed);
            // Groups below a faulty one still run, so that the report is that of the lowest.
            if group >= self.end.load(Ordering::Relaxed) {
                break;
            }
            let first_block = group * u64::from(self.plan.sizes.group);
            if let Err(fault) = workspace.run(&self.plan, first_block) {
                self.end.fetch_min(group, Ordering::Relaxed);
                let mut progress = self.lock();
                if progress.fault.as_ref().is_none_or(|(at, _)| group < *at) {
                    progress.fault = Some((group, fault));
                }
            }
        }
        workspace.put();
    }
}
