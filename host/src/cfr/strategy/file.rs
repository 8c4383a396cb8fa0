//! A strategy's file.
//!
//! ```text
//! safetensors   __metadata__   warpplay_cfr_strategy: the problem, the options of the solve, how the tables are laid out
//!               strategy.0, …  probabilities by seat, in the layout's order: F32, or U16 in steps of 1/65535; 0 in sets never reached
//!               buckets.0, …   with strengths.0, …: the tensors of an abstraction, where there is one
//! ```

use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::Strategy;
use crate::cfr::dispatch;
use crate::cfr::layout::{Layout, LayoutKind};
use crate::cfr::options::Options;
use crate::cfr::problem::{Problem, Stored};
use crate::runtime::sealed::Kind;
use crate::runtime::tensors::{self, Tensor};
use crate::{Error, Result};

const KIND: Kind = Kind { key: "warpplay_cfr_strategy", name: "strategy", version: 1 };

/// Steps of a probability in the compact form.
const STEPS: f32 = 65535.0;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    problem: Stored,
    kind: LayoutKind,
    layout: u64,
    isomorphism: bool,
    options: Options,
    iteration: u64,
}

impl Strategy {
    /// Writes the strategy exactly, with 4 bytes per probability, to a new file beside `path`, syncs that file, and then renames it to `path`.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written; an existing file is unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let tensor = |seat: usize, values: &[f32]| {
            Tensor::single(format!("strategy.{seat}"), vec![values.len()], values.iter().copied())
        };
        self.write(path.as_ref(), tensor)
    }

    /// Writes the strategy in half the space, with each probability rounded to a multiple of 1/65535.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    pub fn save_compact(&self, path: impl AsRef<Path>) -> Result<()> {
        let tensor = |seat: usize, values: &[f32]| {
            let steps = values.iter().map(|value| (value * STEPS).round() as u16);
            Tensor::short(format!("strategy.{seat}"), vec![values.len()], steps)
        };
        self.write(path.as_ref(), tensor)
    }

    fn write(&self, path: &Path, tensor: impl Fn(usize, &[f32]) -> Tensor) -> Result<()> {
        let tensors = self.probabilities.iter().enumerate().map(|(seat, values)| tensor(seat, values));
        let tensors = tensors.chain(self.problem.tensors());
        let head = Head {
            problem: self.problem.stored(),
            kind: self.layout.kind(),
            layout: self.layout.fingerprint(),
            isomorphism: self.options.isomorphism,
            options: self.options,
            iteration: self.iteration,
        };
        KIND.write(path, &head, &tensors.collect::<Vec<_>>())
    }

    /// Reads a strategy, lays the game out again and checks everything. The tree of [`LiarsDice`](crate::cfr::game::LiarsDice) or [`Goofspiel`](crate::cfr::game::Goofspiel) is built again; for other
    /// trees see [`load_for`](Self::load_for).
    ///
    /// # Errors
    /// [`Error::File`] for a tree of another game, or one that does not fit; if the file is not a strategy, has another version of the format, is damaged in any byte, or holds values that are not probabilities.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        KIND.read(path, |head: Head, file| {
            let wrong = |reason: String| Error::file(path, None, reason);
            let buckets = head.problem.buckets(path, file)?;
            let problem = head.problem.with(buckets.as_ref()).map_err(|error| wrong(error.to_string()))?;
            let problem = problem.ok_or_else(|| {
                wrong("the strategy of a tree of another game than liars_dice and goofspiel: Strategy::load_for takes the tree".into())
            })?;
            let layout = dispatch::layout_of(&problem, head.kind, head.isomorphism);
            let layout = layout.map_err(|error| match error {
                // The rules are the file's, not the caller's.
                Error::Option { .. } | Error::Shape { .. } => wrong(error.to_string()),
                error => error,
            })?;
            read(path, head, problem, layout, file)
        })
    }
}

impl Strategy {
    /// As [`load`](Self::load), for a tree of one's own game, or a problem that the caller already has.
    ///
    /// # Errors
    /// As [`load`](Self::load); [`Error::File`] also if the strategy belongs to another problem.
    pub fn load_for(path: impl AsRef<Path>, problem: impl Into<Problem>) -> Result<Self> {
        let (path, problem) = (path.as_ref(), problem.into());
        KIND.read(path, |head: Head, file| {
            if head.problem != problem.stored() {
                let expected = problem.describe();
                return Err(Error::file(
                    path,
                    None,
                    format!("the strategy of another game, expected one of {expected}"),
                ));
            }
            let layout = dispatch::layout_of(&problem, head.kind, head.isomorphism)?;
            read(path, head, problem, layout, file)
        })
    }
}

fn read(path: &Path, head: Head, problem: Problem, layout: Layout, file: &SafeTensors<'_>) -> Result<Strategy> {
    let wrong = |reason: String| Error::file(path, None, reason);
    if layout.fingerprint() != head.layout {
        return Err(wrong("the strategy was made for a game with another layout".into()));
    }
    let mut probabilities = Vec::new();
    for seat in 0..layout.n_players() {
        let (name, expected) = (format!("strategy.{seat}"), layout.table_len(seat));
        let view = tensors::find(path, file, &name)?;
        let values: Vec<f32> = match view.dtype() {
            Dtype::F32 => tensors::singles(&view),
            Dtype::U16 => {
                view.data().as_chunks().0.iter().map(|&bytes| f32::from(u16::from_le_bytes(bytes)) / STEPS).collect()
            }
            other => return Err(wrong(format!("tensor {name} is of type {other}, expected F32 or U16"))),
        };
        if values.len() != expected {
            return Err(wrong(format!("tensor {name} has {} values, expected {expected}", values.len())));
        }
        check(&layout, seat, &values).map_err(|reason| wrong(format!("tensor {name}: {reason}")))?;
        probabilities.push(values);
    }
    let Head { isomorphism, options, iteration, .. } = head;
    // Older files have it beside the options only.
    let options = Options { isomorphism, ..options };
    Ok(Strategy { problem, layout, options, iteration, probabilities })
}

/// Checks that every row is 0, or sums to 1 without negative values.
fn check(layout: &Layout, seat: usize, values: &[f32]) -> Result<(), String> {
    if let Some(at) = values.iter().position(|value| !(0.0..=1.0).contains(value)) {
        return Err(format!("element {at} is {}, expected a probability", values[at]));
    }
    let mut wrong = None;
    layout.each_row(seat, |row| {
        let total: f64 = row.indices().map(|at| f64::from(values[at])).sum();
        // A step of the compact form for each action.
        if wrong.is_none() && total != 0.0 && (total - 1.0).abs() > 2e-5 * row.n_actions as f64 {
            wrong = Some(format!("the probabilities at element {} sum to {total}, expected 1", row.start));
        }
    });
    wrong.map_or(Ok(()), Err)
}
