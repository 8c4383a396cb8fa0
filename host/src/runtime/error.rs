//! The library's one error type.

use std::path::{Path, PathBuf};

use warpplay_gpu::simt::Fault;

use crate::runtime::precision::Precision;

/// The result type of the library's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, grouped by what the caller can do about it.
///
/// The text says what failed, where, and what to do next. [`source`](std::error::Error::source) returns the underlying error
/// of another crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such CUDA device, or no driver. Use [`Device::auto`](crate::Device::auto) to go on without one.
    #[error("no CUDA device: {reason}")]
    NoDevice {
        /// What was tried, what happened, and the remedy.
        reason: String,
    },

    /// The driver refused a call, or a kernel failed while it ran.
    #[error("{call} failed{}: {name} ({code}){}", of_kernels(kernel), driver_hint(*code))]
    Driver {
        /// Entry point of the driver that reported the failure.
        call: &'static str,
        /// The kernel, or the kernels queued since the last synchronisation: one of them failed.
        kernel: Option<String>,
        /// The driver's result code.
        code: i32,
        /// The driver's name of the code.
        name: String,
    },

    /// A kernel failed earlier and made the device's context unusable: every later call on the device returns this error, and
    /// so does opening the device again while the program runs. Other GPUs and back ends keep working.
    #[error("the context of {device} is dead since {cause}: restart the program to use this GPU again")]
    ContextDead {
        /// The device, as `cuda:0`.
        device: String,
        /// The failure that ended the context.
        cause: String,
    },

    /// The driver is older than a module's PTX.
    #[error(
        "driver supports PTX up to {driver}, module {module} needs {needs}: update the driver or build the module for an older PTX version"
    )]
    PtxVersion {
        /// Name of the module.
        module: String,
        /// PTX version of the module, as `8.0`.
        needs: String,
        /// Newest PTX version of the driver.
        driver: String,
    },

    /// None of a module's images runs on this device.
    #[error(
        "module {module} was built for {built_for}, the device is sm_{}{}: build it for that or an older architecture",
        capability.0, capability.1
    )]
    PtxArch {
        /// Name of the module.
        module: String,
        /// Architectures it was built for.
        built_for: String,
        /// Compute capability of the device.
        capability: (u32, u32),
    },

    /// A module holds no PTX: it was built without a device compiler.
    #[error("module {module} has no PTX: {reason}")]
    PtxMissing {
        /// Name of the module.
        module: String,
        /// Why, and the remedy.
        reason: String,
    },

    /// The driver's compiler refused a module's PTX.
    #[error(
        "the driver could not compile module {module}: {name} ({code}): {log}: update the driver or build the module again"
    )]
    Module {
        /// Name of the module.
        module: String,
        /// The driver's result code.
        code: i32,
        /// The driver's name of the code.
        name: String,
        /// The compiler's log.
        log: String,
    },

    /// A module has no such entry point.
    #[error(
        "module {module} has no kernel {kernel}: build the module from the sources of this program, with the features that the kernel needs"
    )]
    MissingKernel {
        /// Entry name of the kernel.
        kernel: String,
        /// Name of the module.
        module: String,
    },

    /// A length or a launch shape differs from the expected one.
    #[error("{what}: expected {expected}, got {got}")]
    Shape {
        /// The buffer or the kernel.
        what: String,
        /// What was expected.
        expected: String,
        /// What it was.
        got: String,
    },

    /// An option has a value that is not allowed.
    #[error("option {name}: {} is not allowed ({allowed})", if value.is_empty() { "''" } else { value.as_str() })]
    Option {
        /// The option's name.
        name: &'static str,
        /// The value as given.
        value: String,
        /// The allowed values.
        allowed: String,
    },

    /// The device, or the host, has less free memory than is needed.
    #[error(
        "{device} has {} of memory free, {} needed: ask for less or free other buffers",
        bytes(*free), bytes(*needed)
    )]
    OutOfMemory {
        /// The device, as `cuda:0`; or the host.
        device: String,
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        free: u64,
    },

    /// A file cannot be read or written, or its content is not as expected.
    #[error("{}{}: {reason}", shown(path), at_line(*line))]
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1, where it is known.
        line: Option<u64>,
        /// What is wrong, and what is expected.
        reason: String,
    },

    /// An object of one device was passed to another.
    #[error("{what} belongs to {belongs_to}, not to {device}: make it on the device that uses it")]
    Device {
        /// The buffer, module, event or graph.
        what: String,
        /// The device it was made on.
        belongs_to: String,
        /// The device that was to use it.
        device: String,
    },

    /// A back end does not offer this.
    #[error("{what} is not supported by the back end {backend}: {remedy}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// The back end's name.
        backend: String,
        /// What to use instead.
        remedy: String,
    },

    /// Something that needs the device's answer was called while the stream records a graph.
    #[error("{call} inside a capture: a capture records launches and zeroing only, call it before or after")]
    Capture {
        /// The call.
        call: &'static str,
    },

    /// A string of moves cannot be played.
    #[error("moves of {game}: {reason}")]
    Moves {
        /// Name of the game.
        game: &'static str,
        /// The first character or move that is wrong, and what is allowed there.
        reason: String,
    },

    /// The position to be searched is the end of its game.
    #[error("position of {game} is finished ({outcome}): search a position in which a player can move")]
    Finished {
        /// Name of the game.
        game: &'static str,
        /// How it ended.
        outcome: String,
    },

    /// Functions were called in an order that is not allowed.
    #[error("{what}: {reason}")]
    Order {
        /// The object.
        what: &'static str,
        /// What is missing, and what to call first.
        reason: String,
    },

    /// The loss of a training became infinite or NaN. The trainer has returned to its state before the epoch, which can be saved.
    #[error(
        "loss is not finite in epoch {epoch}, step {step} of {steps}: use a smaller learning rate; the state before this epoch is kept"
    )]
    Diverged {
        /// The epoch, from 1.
        epoch: u32,
        /// The step in it, from 1.
        step: u32,
        /// Steps of an epoch.
        steps: u32,
    },

    /// A network computed an infinity or NaN from finite inputs: a narrow precision overflowed, or the weights are too large.
    #[error(
        "{what} of position {position} is {value} in {precision}: use a wider precision, or weights that are trained"
    )]
    NotFinite {
        /// Which result.
        what: String,
        /// The position, from 0.
        position: usize,
        /// What it was.
        value: f64,
        /// The arithmetic that was used.
        precision: Precision,
    },

    /// Another rank of the group failed, or has different data.
    #[error("rank {rank} of {size}: {reason}")]
    Rank {
        /// Which, from 0.
        rank: usize,
        /// Ranks of the group.
        size: usize,
        /// Its error, or what differs.
        reason: String,
    },

    /// A kernel broke a rule while it ran on the CPU, thread by thread.
    #[error("{0}")]
    Simt(#[source] Box<Fault>),
}

/// Characters of the longest number that an error writes out: the digits of a 64-bit integer and a sign.
const LONGEST_NUMBER: usize = 21;

impl Error {
    /// An [`Error::Option`].
    pub fn option(name: &'static str, value: impl ToString, allowed: impl Into<String>) -> Self {
        let value = value.to_string();
        let value = match value.parse::<f64>() {
            Ok(number) if number.to_string() == value => shown_number(number),
            _ => value,
        };
        Self::Option { name, value, allowed: allowed.into() }
    }

    /// An [`Error::Shape`].
    pub fn shape(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Self::Shape { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }

    /// An [`Error::File`].
    pub fn file(path: impl Into<PathBuf>, line: Option<u64>, reason: impl ToString) -> Self {
        Self::File { path: path.into(), line, reason: reason.to_string() }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Simt(Box::new(fault))
    }
}

/// A number as an error shows it: with an exponent where it has many digits. Written out it has up to 309 before its point, or as many zeros behind it.
pub(crate) fn shown_number(number: f64) -> String {
    let text = number.to_string();
    if text.len() > LONGEST_NUMBER { format!("{number:e}") } else { text }
}

fn of_kernels(kernel: &Option<String>) -> String {
    match kernel {
        Some(kernel) => format!(" for {kernel}"),
        None => String::new(),
    }
}

/// A path as errors show it; an empty path is shown visibly.
fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { "''".to_string() } else { path.display().to_string() }
}

fn at_line(line: Option<u64>) -> String {
    match line {
        Some(line) => format!(", line {line}"),
        None => String::new(),
    }
}

/// Whether a code means that the context is unusable.
///
/// The codes that NVIDIA's reference describes with "leaves the process in an inconsistent state", and the ones for
/// memory and link errors that cannot be corrected.
pub(crate) const fn kills_context(code: i32) -> bool {
    matches!(code, 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719)
}

/// Advice on a driver's code; empty if there is none.
fn driver_hint(code: i32) -> &'static str {
    match code {
        2 => ": the device has too little memory free, ask for less or free other buffers",
        46 => ": another program holds the device for itself, wait for it or use another device",
        500 => ": the driver may be too old, update it",
        701 => ": the block needs more registers or shared memory than a multiprocessor has, use fewer threads",
        _ if kills_context(code) => ": the context is dead, restart the program to use this GPU again",
        720 => ": a cooperative grid must fit on the device at once, use fewer blocks",
        802 | 803 => ": the driver's parts do not agree, restart the machine or reinstall the driver",
        _ => "",
    }
}

/// Bytes in the largest binary unit that gives at least 1.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} bytes") } else { format!("{value:.2} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_where_and_what_next() {
        let error = Error::option("n_playouts", 100, "a power of two, 1 to 512");
        assert_eq!(error.to_string(), "option n_playouts: 100 is not allowed (a power of two, 1 to 512)");
        let error = Error::Driver {
            call: "cuStreamSynchronize",
            kernel: Some("mcts_select, mcts_backup".into()),
            code: 719,
            name: "CUDA_ERROR_LAUNCH_FAILED".into(),
        };
        assert!(error.to_string().starts_with(
            "cuStreamSynchronize failed for mcts_select, mcts_backup: CUDA_ERROR_LAUNCH_FAILED (719): the context is dead"
        ));
        let error = Error::OutOfMemory { device: "cuda:0".into(), needed: 3 << 30, free: 512 };
        assert_eq!(
            error.to_string(),
            "cuda:0 has 512 bytes of memory free, 3.00 GiB needed: ask for less or free other buffers"
        );
        let error = Error::file("game.txt", Some(3), "a move is missing");
        assert_eq!(error.to_string(), "game.txt, line 3: a move is missing");
        assert_eq!(Error::file("", None, "cannot be read").to_string(), "'': cannot be read");
        let large = Error::option("a", 1e300, "at most 1");
        assert_eq!(large.to_string(), "option a: 1e300 is not allowed (at most 1)");
        assert!(Error::option("n", u64::MAX, "at most 1").to_string().contains("18446744073709551615"));
        assert_eq!(Error::option("device", "", "cpu").to_string(), "option device: '' is not allowed (cpu)");
    }

    #[test]
    fn errors_can_cross_threads() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Error>();
    }
}
