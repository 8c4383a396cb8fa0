//! Ctrl-C: the work stops at the next chance and keeps what it has; a second one, or one before there is anything to keep, ends the program at once.

use std::io::{self, BufRead, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How many pieces of work run that have nothing to keep.
static WITHOUT_RESULTS: AtomicU32 = AtomicU32::new(0);

/// What is done before a signal ends the program.
static BEFORE_END: Mutex<Option<fn()>> = Mutex::new(None);

/// Exit code of a program that Ctrl-C ends at once: 128 + SIGINT, as shells report it.
const ENDED_BY_SIGNAL: i32 = 130;

/// A second signal so soon after the first is the same one: some senders signal the process and then its group.
const SAME_SIGNAL: Duration = Duration::from_millis(300);

/// Time between two looks at the flag while nothing is typed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// From now on Ctrl-C (and SIGTERM, SIGHUP) sets a flag, which the work looks at; within [`without_results`], and where a second one comes later, it ends the program with exit code 130.
///
/// # Errors
/// The operating system refuses the handler, or its thread.
pub fn catch_interrupts() -> anyhow::Result<()> {
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || {
        if let Some(first) = first {
            if first.elapsed() > SAME_SIGNAL {
                end(None);
            }
            return;
        }
        first = Some(Instant::now());
        INTERRUPTED.store(true, Ordering::SeqCst);
        if WITHOUT_RESULTS.load(Ordering::SeqCst) > 0 {
            end_without_results();
        }
        say("stopping and saving the results so far (press again to end at once)".into());
    })
    .map_err(|error| match error {
        ctrlc::Error::System(error) => anyhow!("Ctrl-C cannot be caught, by a thread of its own: {error}"),
        other => anyhow!("Ctrl-C cannot be caught: {other}"),
    })
}

/// Ends the program after Ctrl-C where no work is finished: no file is written.
pub fn end_without_results() -> ! {
    end(Some("stopped before there was anything to save".into()))
}

fn end(line: Option<String>) -> ! {
    let work = *BEFORE_END.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(work) = work {
        work();
    }
    if let Some(line) = line {
        say(line);
    }
    std::process::exit(ENDED_BY_SIGNAL)
}

/// From now on a signal that ends the program does this first: what a command has changed in the terminal would stay.
pub fn before_end(work: Option<fn()>) {
    *BEFORE_END.lock().unwrap_or_else(PoisonError::into_inner) = work;
}

/// Writes a line to stderr, from a thread of its own and for a moment only: a terminal or pipe that takes nothing must not delay the end.
fn say(line: String) {
    const MOMENT: Duration = Duration::from_millis(200);
    let (done, is_done) = mpsc::channel();
    let write = move || {
        // Nothing more can be done if stderr is closed.
        let _ = writeln!(io::stderr(), "\n{line}");
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(write).is_ok() {
        let _ = is_done.recv_timeout(MOMENT);
    }
}

/// Runs what cannot be stopped in its middle and leaves nothing behind, such as reading a file or building a game: Ctrl-C meanwhile ends the program at once.
pub fn without_results<R>(work: impl FnOnce() -> R) -> R {
    ended_at_once(|| {
        if interrupted() {
            end_without_results();
        }
        work()
    })
}

/// Runs what may wait without end, such as for the reader of a pipe: Ctrl-C meanwhile ends the program at once. One that came before does not.
pub fn ended_at_once<R>(work: impl FnOnce() -> R) -> R {
    WITHOUT_RESULTS.fetch_add(1, Ordering::SeqCst);
    let done = work();
    WITHOUT_RESULTS.fetch_sub(1, Ordering::SeqCst);
    done
}

/// Time after Ctrl-C in which work may still end whose results so far are written.
const GRACE: Duration = Duration::from_millis(700);

/// Runs the last piece of work, when all results before it are written: it has a moment after Ctrl-C, then the program ends with exit code 130 and says what is `written`.
pub fn with_results_written<R>(written: &str, work: impl FnOnce() -> R) -> R {
    thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        // Without this thread the work goes on to its end, which a second Ctrl-C still brings at once.
        let _ = thread::Builder::new().spawn_scoped(scope, move || {
            let mut asked: Option<Instant> = None;
            while is_done.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if interrupted() && asked.get_or_insert_with(Instant::now).elapsed() > GRACE {
                    end(Some(written.to_string()));
                }
            }
        });
        let _done = done;
        work()
    })
}

/// Whether the user has asked to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// A `watch` that stops the work after Ctrl-C.
pub fn until_interrupted() -> ControlFlow<()> {
    if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The lines that the user types, read by a thread of their own, so that Ctrl-C is heard while it waits.
pub struct Input {
    lines: Receiver<io::Result<String>>,
}

impl Input {
    /// Starts to read stdin.
    ///
    /// # Errors
    /// The system starts no other thread.
    pub fn new() -> anyhow::Result<Self> {
        // Room for nothing: a line is taken from stdin only shortly before it is asked for.
        let (sender, lines) = mpsc::sync_channel(0);
        let read = move || {
            let mut bytes = Vec::new();
            loop {
                bytes.clear();
                let line = match io::stdin().lock().read_until(b'\n', &mut bytes) {
                    Ok(0) => break,
                    Ok(_) => Ok(String::from_utf8_lossy(&bytes).trim().to_string()),
                    Err(error) => Err(error),
                };
                let failed = line.is_err();
                if sender.send(line).is_err() || failed {
                    break;
                }
            }
        };
        thread::Builder::new().spawn(read).context("stdin: a thread for it cannot be started")?;
        Ok(Self { lines })
    }

    /// The next line, without white space around it; `None` at the end of the input and after Ctrl-C.
    ///
    /// # Errors
    /// As the operating system says. Bytes that are not UTF-8 are replaced.
    pub fn next_line(&self) -> io::Result<Option<String>> {
        loop {
            if interrupted() {
                return Ok(None);
            }
            match self.lines.recv_timeout(LOOK_EVERY) {
                Ok(line) => return line.map(Some),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }
}
