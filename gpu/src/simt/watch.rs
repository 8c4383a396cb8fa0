//! Launches that can be stopped: a kernel that takes a moment on a GPU may take minutes here.
//!
//! [`asking`] runs launches whose kernels ask a closure, between their blocks, whether to go on. The engines of the crate `warpplay` pass their caller's `watch` to it.
//!
//! ```
//! use warpplay_gpu::cuda::kernel;
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, FaultKind, watch};
//!
//! /// Does nothing.
//! ///
//! /// # Safety
//! /// None.
//! #[kernel]
//! pub unsafe fn idle() {}
//!
//! // SAFETY: the kernel touches no memory.
//! let launch = || unsafe { simt::launch(idle, LaunchShape::new(1 << 30, 1), (), &simt::Options::default()) };
//! let result = watch::asking(&mut || false, launch);
//! assert!(matches!(result.unwrap_err().kind, FaultKind::Stopped));
//! ```

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Time between two calls of `go_on`, each of which may cost a lock or a line on the terminal.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// The callback of the caller of [`asking`], which decides whether to continue.
type Question = *mut (dyn FnMut() -> bool + 'static);

/// The callback of an OS thread, and its results so far.
struct Asked {
    question: Question,
    last: Instant,
    is_stopped: bool,
    panic: Option<Box<dyn Any + Send>>,
}

thread_local! {
    /// The callback for launches of this OS thread; `None` while it is being called.
    static ASKED: Cell<Option<Asked>> = const { Cell::new(None) };
}

/// Runs `launches`. The kernels that it launches from this thread call `go_on` between their blocks, about fifty times a second; once it has returned `false` it is not
/// called again, and the launch and all that follow it end with [`FaultKind::Stopped`](super::FaultKind::Stopped), and buffers hold what was written before.
///
/// ```
/// use warpplay_gpu::simt::watch;
/// let launched = watch::asking(&mut || true, || "what the launches come to");
/// assert_eq!(launched, "what the launches come to");
/// ```
pub fn asking<R>(go_on: &mut dyn FnMut() -> bool, launches: impl FnOnce() -> R) -> R {
    /// Restores the callback of an outer call, also when `launches` unwinds.
    struct Outer(Option<Asked>);
    impl Drop for Outer {
        fn drop(&mut self) {
            ASKED.set(self.0.take());
        }
    }
    // SAFETY: only the lifetime changes. The pointer is used by this thread alone, in `is_wanted`, and for no longer than `_outer` lives, within which `go_on` is borrowed and nobody
    // else can call it.
    let question = unsafe { std::mem::transmute::<*mut (dyn FnMut() -> bool + '_), Question>(go_on) };
    let asked = Asked { question, last: Instant::now(), is_stopped: false, panic: None };
    let _outer = Outer(ASKED.replace(Some(asked)));
    let result = launches();
    if let Some(panic) = ASKED.take().and_then(|asked| asked.panic) {
        resume_unwind(panic);
    }
    result
}

/// Whether launches of this thread continue.
pub(super) fn is_wanted() -> bool {
    // Taken, so that what the answer itself launches does not ask.
    let Some(mut asked) = ASKED.take() else { return true };
    if !asked.is_stopped && asked.last.elapsed() >= ASK_EVERY {
        let question = asked.question;
        // SAFETY: `asking` is in progress, since only it sets the callback and removes it at its end; there is no other use of the closure meanwhile.
        let answer = catch_unwind(AssertUnwindSafe(|| unsafe { (*question)() }));
        // A panic goes on where the launches end: here it would be one of the simulator.
        (asked.is_stopped, asked.panic) = match answer {
            Ok(goes_on) => (!goes_on, None),
            Err(panic) => (true, Some(panic)),
        };
        asked.last = Instant::now();
    }
    let is_wanted = !asked.is_stopped;
    ASKED.set(Some(asked));
    is_wanted
}
