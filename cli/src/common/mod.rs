//! What the commands of all families share: flags, logging, Ctrl-C, progress bars, tables, charts, files and exit codes.

#[cfg(test)]
pub mod defaults;
mod files;
pub mod flags;
#[cfg(any(feature = "cfr", feature = "shogi"))]
pub mod group;
mod interrupt;
#[cfg(test)]
pub mod negative;
mod parse;
pub mod plot;
mod record;
pub mod style;
pub mod table;
mod threads;

use std::error::Error;
use std::fmt;
use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

pub use files::{OutputFile, expect_apart, expect_replaceable, to_json_line, to_json_text};
pub use flags::DeviceFlag;
pub use interrupt::{
    Input, before_end, catch_interrupts, end_without_results, interrupted, until_interrupted, with_results_written,
    without_results,
};
pub use parse::{number, once_each, parse};
pub use record::{Record, Reported, SCHEMA};
pub use threads::start_threads;

/// Where results go, and how much is said.
#[derive(Args, Clone, Debug)]
pub struct OutputFlags {
    /// Write the result to this file, completely or not at all; after Ctrl-C, the result so far (a second Ctrl-C ends the program at once)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Print errors only
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Log to stderr: -v logs a report of each search, -vv each kernel with its grid, block and time (kernels are then launched one by one)
    #[arg(long, short, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

impl OutputFlags {
    /// Starts the log on stderr.
    pub fn start_log(&self) {
        let level = match (self.quiet, self.verbose) {
            (true, _) => tracing_subscriber::filter::LevelFilter::ERROR,
            (false, 0) => tracing_subscriber::filter::LevelFilter::WARN,
            (false, 1) => tracing_subscriber::filter::LevelFilter::INFO,
            (false, _) => tracing_subscriber::filter::LevelFilter::DEBUG,
        };
        // It can be started once only; a second start changes nothing.
        let _ = tracing_subscriber::fmt()
            .with_writer(io::stderr)
            .with_ansi(io::stderr().is_terminal() && !style::is_refused())
            .with_max_level(level)
            .with_target(false)
            .without_time()
            .try_init();
    }

    /// Prints to stdout, unless told to be quiet.
    ///
    /// # Errors
    /// As [`print()`].
    pub fn print(&self, text: impl fmt::Display) -> anyhow::Result<()> {
        if self.quiet { Ok(()) } else { print(text) }
    }

    /// A progress bar of `n` units on stderr, or a hidden one: when told to be quiet, beside a log, and where stderr is
    /// no terminal.
    pub fn bar(&self, n: u64) -> ProgressBar {
        if self.quiet || self.verbose > 0 {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("[{elapsed_precise}] {wide_bar} {percent} %{left}  {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key("left", |state: &ProgressState, text: &mut dyn fmt::Write| {
                // Before the first unit nothing is known.
                if state.pos() > 0 {
                    // Nothing more can be done about a text that takes nothing.
                    let _ = write!(text, ", {:#} left", HumanDuration(state.eta()));
                }
            });
        ProgressBar::with_draw_target(Some(n), ProgressDrawTarget::stderr()).with_style(style)
    }

    /// As [`bar`](Self::bar), of work whose end is not known: it counts `unit`, and shows its message.
    pub fn counter(&self, unit: &str) -> ProgressBar {
        if self.quiet || self.verbose > 0 {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template(&format!("[{{elapsed_precise}}] {{pos}} {unit}  {{wide_msg}}"))
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style)
    }

    /// Prints a line to stderr, unless told to be quiet.
    pub fn note(&self, line: impl fmt::Display) {
        if !self.quiet {
            say(line);
        }
    }
}

/// Prints to stdout. Where the reader has gone nothing is printed, and the work goes on: its files are still wanted.
///
/// # Errors
/// As the operating system says.
pub fn print(text: impl fmt::Display) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.context("stdout"),
    }
}

/// Prints a line to stderr, whatever was told.
pub fn say(line: impl fmt::Display) {
    // Nothing more can be done if stderr is closed.
    let _ = writeln!(io::stderr(), "{line}");
}

/// A word as a shell reads it: in quotes where it needs them.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._-+,:/%@=\\".contains(c) && (c != '\\' || cfg!(windows));
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false if cfg!(windows) => format!("\"{word}\""),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// A wrong use of the command line that is found after parsing.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Usage {}

/// The end of the program: 0; 2 for options that are not allowed; 1 for everything else, with one line on stderr.
pub fn exit(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    let is = |test: fn(&(dyn Error + 'static)) -> bool| error.chain().any(test);
    let text = format!("{error:#}");
    let mut line = String::from("error:");
    for part in text.lines().map(str::trim).filter(|part| !part.is_empty()) {
        // A text of several lines, such as a compiler's log, becomes one.
        line.push(' ');
        for character in part.chars() {
            // What the user gave may hold anything; a terminal must not obey it.
            match character.is_control() {
                true => line.extend(character.escape_default()),
                false => line.push(character),
            }
        }
    }
    // Nothing more can be done if stderr is closed too.
    let _ = writeln!(io::stderr(), "{line}");
    let usage = |cause: &(dyn Error + 'static)| {
        cause.is::<Usage>() || matches!(cause.downcast_ref(), Some(warpplay::Error::Option { .. }))
    };
    ExitCode::from(if is(usage) { 2 } else { 1 })
}
