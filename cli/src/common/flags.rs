//! Flags that mean the same in every command. What is not given is as the library's `Options::default()` says, or as in the checkpoint that is gone on from.

use std::convert::Infallible;
use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use warpplay::journal::Target;
use warpplay::{Device, Precision};

use super::{Usage, expect_replaceable};

/// An error about an option with the value as it was typed, where the option's type holds another: `1e60` is infinite in single precision, and 0.99999999999 is 1. The value is
/// searched in the flag with the option's name, in its comma-separated values, and as `NAME=VALUE` in a player's text. An infinite value is searched in all arguments, since its flag may have another
/// name (`--lr`).
pub fn value_as_typed(mut error: anyhow::Error, words: &[OsString]) -> anyhow::Error {
    let number = |text: &str| text.parse::<f64>().ok();
    if let Some(warpplay::Error::Option { name, value, .. }) = error.downcast_mut::<warpplay::Error>()
        && let Some(held) = number(value)
    {
        let is_held = |typed: f64| typed == held || typed as f32 == held as f32 || (typed.is_nan() && held.is_nan());
        let flag = format!("--{}", name.replace(['_', ' '], "-"));
        let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
        let nexts = words.iter().skip(1).copied().chain([""]);
        let named = words.iter().zip(nexts).flat_map(|(&word, next)| {
            let of_flag = if word == flag { Some(next) } else { value_after(word, &flag) };
            let of_player = word.split(',').filter_map(|part| value_after(part.trim(), name));
            of_flag.into_iter().flat_map(|values| values.split(',')).chain(of_player)
        });
        let infinite = words.iter().filter(|_| held.is_infinite()).flat_map(|word| word.split([',', '=']));
        let mut typed = named.chain(infinite).map(str::trim);
        if let Some(typed) = typed.find(|typed| number(typed).is_some_and(is_held)) {
            *value = typed.to_string();
        }
    }
    error
}

/// The value of `NAME=VALUE`.
fn value_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix(name)?.strip_prefix('=')
}

/// An error about an option under the name of its flag, where the library has another: `flags` lists both.
pub fn named_as_typed(mut error: anyhow::Error, flags: &[(&str, &'static str)]) -> anyhow::Error {
    if let Some(warpplay::Error::Option { name, .. }) = error.downcast_mut::<warpplay::Error>()
        && let Some((_, flag)) = flags.iter().find(|(option, _)| *option == *name)
    {
        *name = *flag;
    }
    error
}

/// What to run on.
#[derive(Args, Clone, Debug)]
pub struct DeviceFlag {
    /// Device: auto (the first GPU, else cpu), cuda, cuda:1 and so on, cpu, simt (the kernels' source on the CPU, slow, with checks)
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
}

impl DeviceFlag {
    /// Opens it.
    ///
    /// # Errors
    /// As [`Device::parse`].
    pub fn open(&self) -> warpplay::Result<Device> {
        Device::parse(&self.device)
    }
}

/// Which implementation runs; `E` is the family's `Engine`.
#[derive(Args, Clone, Debug)]
pub struct EngineFlag<E>
where
    E: FromStr + Clone + Send + Sync + 'static,
    E::Err: Into<Box<dyn Error + Send + Sync>> + Error + Send + Sync + 'static,
{
    /// Implementation; auto chooses the fastest that supports the job [default: auto]
    #[arg(long, value_name = "ENGINE", aliases = ["execution", "form", "program"])]
    pub engine: Option<E>,
}

/// Arithmetic.
#[derive(Args, Clone, Debug)]
pub struct PrecisionFlag {
    /// Arithmetic: f32, f64, tf32, bf16, f16, i16; not every engine supports every one [default: f32]
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<Precision>,
}

/// The seed of all random streams.
#[derive(Args, Clone, Debug)]
pub struct SeedFlag {
    /// Seed of all random numbers: the same seed gives the same results
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
}

/// Threads of the CPU.
#[derive(Args, Clone, Debug)]
pub struct ThreadsFlag {
    /// Threads of the CPU back end; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threads: Option<usize>,
}

/// Where the state of long work is kept, and what it goes on from.
#[derive(Args, Clone, Debug)]
pub struct CheckpointFlags {
    /// Write the whole state to this file at the end, also after Ctrl-C, and at the interval of --checkpoint-every
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,

    /// Time between two checkpoints during the run: 30s, 5m, 1h; a number alone means seconds [default: 5m]
    #[arg(long, value_name = "TIME", requires = "checkpoint", value_parser = duration, allow_negative_numbers = true)]
    pub checkpoint_every: Option<Duration>,

    /// Continue from this checkpoint; options that are not given are taken from the checkpoint
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
}

impl CheckpointFlags {
    /// Refuses a checkpoint in the place of a file that is none, as `is_one` says; the one that is resumed is known to be one.
    ///
    /// # Errors
    /// As [`expect_replaceable`].
    pub fn expect_replaceable(&self, is_one: impl FnOnce(&Path) -> bool) -> anyhow::Result<()> {
        match &self.checkpoint {
            Some(path) if self.resume.as_ref() != Some(path) => expect_replaceable(path, is_one),
            _ => Ok(()),
        }
    }
}

/// Where the finished pieces of long work are kept, and what it goes on with.
#[derive(Args, Clone, Debug)]
pub struct JournalFlags {
    /// Write each piece of work (a game, a model, a spot, a measurement) to this new file as soon as it is finished
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,

    /// Continue a run that was stopped or killed from its --checkpoint file, without repeating the pieces in it; needs the options of that run, except names of files
    #[arg(long, value_name = "FILE", conflicts_with = "checkpoint")]
    pub resume: Option<PathBuf>,
}

impl JournalFlags {
    /// The journal, if one is kept.
    pub fn target(&self) -> Option<Target> {
        let new = self.checkpoint.clone().map(Target::New);
        new.or_else(|| self.resume.clone().map(Target::GoOn))
    }

    /// The option that names the journal, and its file: an earlier run's is read, and nothing else may be written there either.
    pub fn paths(&self) -> [(&'static str, Option<&Path>); 2] {
        [("--resume", self.resume.as_deref()), ("--checkpoint", self.checkpoint.as_deref())]
    }

    /// What to do about a run that ended early, behind a line that says so; nothing without a journal.
    pub fn go_on(&self) -> String {
        let kept = self.checkpoint.as_ref().or(self.resume.as_ref());
        kept.map_or(String::new(), |path| format!("; continue with --resume {}", path.display()))
    }
}

/// Where plots go.
#[derive(Args, Clone, Debug)]
pub struct PlotsFlag {
    /// Draw the results as SVG: a folder, or FILE.svg if there is only one plot
    #[arg(long, value_name = "PATH", alias = "plot")]
    pub plots: Option<PathBuf>,
}

impl PlotsFlag {
    /// Where the only plot goes: the path itself if it is FILE.svg or a file that is there, else `name` in that folder.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        let path = self.plots.as_ref()?;
        let is_file = path.extension().is_some_and(|end| end == "svg") || (path.exists() && !path.is_dir());
        Some(if is_file { path.clone() } else { path.join(name) })
    }

    /// The [`path`](Self::path) of the only plot, with its folder made.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn file(&self, name: &str) -> anyhow::Result<Option<PathBuf>> {
        let path = self.path(name);
        if path != self.plots
            && let Some(folder) = &self.plots
        {
            fs::create_dir_all(folder).with_context(|| format!("{}: the folder cannot be made", folder.display()))?;
        }
        Ok(path)
    }
}

/// Where weights come from and go to.
#[derive(Args, Clone, Debug)]
pub struct WeightFiles {
    /// Initial weights, instead of random ones: a safetensors file as written by --save-weights
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub start: Option<PathBuf>,

    /// Write the weights to this safetensors file at the end
    #[arg(long, value_name = "FILE")]
    pub save_weights: Option<PathBuf>,

    // The old name of --save-weights. Other commands read a file under it, which would be written over here.
    #[arg(long, value_name = "FILE", hide = true, value_parser = refuse_weights)]
    weights: Option<Infallible>,
}

fn refuse_weights(_: &str) -> Result<Infallible, String> {
    Err("--weights is not an option here: --save-weights FILE writes the weights, --start FILE begins with those of a file"
        .into())
}

/// How much of a table is shown; `N` lines where nothing is said.
#[derive(Args, Clone, Debug)]
pub struct TopFlag<const N: usize> {
    /// Rows of the table, the best first; 0 shows all
    #[arg(long, value_name = "N", alias = "rows", default_value = Self::DEFAULT, allow_negative_numbers = true)]
    pub top: usize,
}

impl<const N: usize> TopFlag<N> {
    // clap keeps one text for all `N` of a `default_value_t`.
    const DEFAULT: &str = match N {
        5 => "5",
        10 => "10",
        20 => "20",
        _ => panic!("a default that has no text here"),
    };
}

/// What is not learnt from, and measured on.
#[derive(Clone, Debug, PartialEq)]
pub enum HeldOut {
    /// A share, above 0 and below 1.
    Share(f64),
    /// So many; 0 for none.
    Number(u64),
    /// What lies there.
    Path(PathBuf),
}

impl FromStr for HeldOut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty, expected a share, a number or, where the help says so, a path".into());
        }
        if let Ok(n) = text.parse() {
            return Ok(Self::Number(n));
        }
        match text.parse::<f64>() {
            Ok(0.0) => Ok(Self::Number(0)),
            Ok(share) if share > 0.0 && share < 1.0 => Ok(Self::Share(share)),
            Ok(_) => {
                Err("a share above 0 and below 1, or a whole number, or, where the help says so, a path (./1.5 for one like a number)"
                    .into())
            }
            Err(_) => Ok(Self::Path(text.into())),
        }
    }
}

impl fmt::Display for HeldOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{share}"),
            Self::Number(n) => write!(f, "{n}"),
            Self::Path(path) => write!(f, "{path:?}"),
        }
    }
}

impl HeldOut {
    /// The path, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            _ => None,
        }
    }

    /// The error of a form or value that a command does not take.
    pub fn refused(&self, allowed: impl fmt::Display) -> Usage {
        Usage(format!("option held-out: {self} is not allowed ({allowed})"))
    }
}

/// What is given to a command that has moved.
#[derive(Args, Clone, Debug)]
pub struct MovedArgs {
    /// What follows it there
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<String>,
}

/// A time as `90`, `90s`, `500ms`, `5m` or `2h`.
///
/// # Errors
/// Says what is allowed.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.char_indices().next_back() {
        _ if text.ends_with("ms") => (&text[..text.len() - 2], 1e-3),
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|n| n * unit).filter(|&s| s > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "a time from 1 ns to 1e19 s, as 30s, 500ms, 5m or 1h, is allowed".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_shown_as_it_was_typed() {
        let shown = |words: &str, name: &'static str, value: &str| {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            let error = anyhow::Error::from(warpplay::Error::option(name, value, "less")).context("a player");
            format!("{:#}", value_as_typed(error, &words))
        };
        for (words, name, value, expected) in [
            ("x --ucb-c 1e60 --json f", "ucb_c", "inf", "1e60"),
            ("x --momentum=0.999999999999", "momentum", "1", "0.999999999999"),
            ("x --seconds 1e-400", "seconds", "0", "1e-400"),
            ("x --noise-alpha 0", "noise alpha", "0", "0"),
            ("x --exploration nan", "exploration", "NaN", "nan"),
            ("x --discounts 1,-1e400,1e400", "discounts", "inf", "1e400"),
            ("x --discounts=1e400,0,2", "discounts", "inf", "1e400"),
            ("x --a acp_prodigal,ucb_c=2,seconds=1 --b vanilla,ucb_c=1e60", "ucb_c", "inf", "1e60"),
            ("x --learning-rates 0.1,1e400", "learning-rate", "inf", "1e400"),
            ("x --lr=1e400", "learning-rate", "inf", "1e400"),
            ("x --a=uniform,temperature=1e-60", "temperature", "0", "1e-60"),
            // Not of this option, or not its value.
            ("x --momentum 0.5", "beta1", "1", "1"),
            ("x --models 3", "models", "10", "10"),
            ("x --a acp_prodigal,seconds=1e-60", "ucb_c", "0", "0"),
            ("x --device gpu", "device", "gpu", "gpu"),
            ("x --ucb-c", "ucb_c", "2", "2"),
        ] {
            let said = shown(words, name, value);
            assert_eq!(said, format!("a player: option {name}: {expected} is not allowed (less)"), "{words}");
        }
    }

    #[test]
    fn a_time_is_above_0() {
        assert_eq!(duration("0.5m"), Ok(Duration::from_secs(30)));
        for wrong in ["", "0", "-1", "s", "1e-13", "1e30", "inf", "nan"] {
            assert!(duration(wrong).is_err_and(|error| error.contains("from 1 ns")), "{wrong}");
        }
    }
}
