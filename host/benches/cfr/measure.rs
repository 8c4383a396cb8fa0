//! What the sections share: a solver timed, and its row.

use std::ops::ControlFlow;
use std::time::Instant;

use serde_json::json;
use warpplay::cfr::{Algorithm, Options, Problem, Sampling, Solver};
use warpplay::{Backend, Device, Error, Precision, Result};

use crate::output::{Output, Table, maybe, number, percent};
use crate::published::COPY;

/// Columns of every table.
pub const HEADERS: [&str; 9] = [
    "what",
    "device",
    "engine",
    "us an iteration",
    "a second",
    "infoset-actions",
    "bytes each",
    "moved",
    "of 4.27 TB/s",
];

pub struct Bench {
    pub device: Device,
    pub seconds: f64,
    pub quick: bool,
    pub output: Output,
}

/// One row.
pub struct Timed {
    /// Seconds of an iteration.
    pub seconds: f64,
    /// Deals, boards, games done in one.
    pub units: f64,
    pub engine: String,
    pub infoset_actions: u64,
    /// Bytes taken on the device.
    pub bytes: u64,
    /// Bytes that an iteration must move.
    pub moved: f64,
    pub n: u64,
}

/// Bytes that an iteration of alternating updates has to move for an infoset-action: regrets and averages read and written at the seat's own pass, regrets
/// read once more at the other's.
pub fn moved_bytes(options: &Options) -> f64 {
    let value = match options.precision {
        Precision::F64 => 8.0,
        Precision::I16 => 2.0,
        _ => 4.0,
    };
    value * if options.algorithm == Algorithm::PcfrPlus { 8.0 } else { 5.0 }
}

impl Bench {
    /// CFR+ with the device's usual arithmetic.
    pub fn options(&self, device: &Device) -> Options {
        let precision = if device.backend() == Backend::Cpu { Precision::F64 } else { Precision::F32 };
        Options { algorithm: Algorithm::CfrPlus, precision, ..Options::default() }
    }

    /// Seconds of an iteration and how many were timed: two to warm up, then as many as fit.
    ///
    /// # Errors
    /// As `run` says.
    pub fn clock(&self, mut run: impl FnMut(u32) -> Result<()>) -> Result<(f64, u64)> {
        // The first is a launch of everything for the first time.
        run(2)?;
        let (start, mut n) = (Instant::now(), 0u64);
        let mut part = 1;
        loop {
            run(part)?;
            n += u64::from(part);
            let elapsed = start.elapsed().as_secs_f64();
            if elapsed >= self.seconds {
                return Ok((elapsed / n as f64, n));
            }
            // Half of what is left, so that the clock is looked at some times only.
            part = (0.5 * (self.seconds - elapsed) * n as f64 / elapsed.max(1e-9)).clamp(1.0, 1e6) as u32;
        }
    }

    /// Times a solve.
    ///
    /// # Errors
    /// As the solver says.
    pub fn solve(&self, device: &Device, problem: impl Into<Problem>, options: Options) -> Result<Timed> {
        let problem = problem.into();
        self.output.progress(&format!(
            "{} {} {} on {device}",
            problem.describe(),
            options.algorithm,
            options.precision
        ));
        let mut solver = Solver::builder(problem).options(options).measure_at([]).build(device)?;
        let (seconds, n) = self.clock(|n| {
            solver.set_limit(solver.iterations() + u64::from(n))?;
            solver.run(|_| ControlFlow::Continue(())).map(|_| ())
        })?;
        let report = solver.report();
        let sampled = options.sampling != Sampling::None;
        Ok(Timed {
            seconds,
            units: options.batch.into(),
            engine: report.engine.to_string(),
            infoset_actions: report.infoset_actions,
            bytes: report.bytes,
            moved: if sampled { f64::NAN } else { report.infoset_actions as f64 * moved_bytes(&options) },
            n,
        })
    }

    /// Writes a row, or why there is none.
    ///
    /// # Errors
    /// The file of JSON lines cannot be written.
    pub fn row(
        &mut self,
        table: &mut Table,
        section: &str,
        what: &str,
        device: &Device,
        timed: Result<Timed>,
    ) -> anyhow::Result<()> {
        let timed = match timed {
            Ok(timed) => timed,
            Err(error) => {
                let cell = match &error {
                    Error::Option { .. } | Error::Unsupported { .. } | Error::OutOfMemory { .. } => {
                        format!("not offered: {error}")
                    }
                    _ => self.output.failed(&error),
                };
                self.output
                    .json(&json!({"section": section, "what": what, "device": device.to_string(), "error": cell}))?;
                table.row(vec![what.to_string(), device.to_string(), cell]);
                return Ok(());
            }
        };
        let Timed { seconds, units, ref engine, infoset_actions, bytes, moved, n } = timed;
        let share = moved / seconds / COPY;
        let bytes_each = bytes as f64 / infoset_actions as f64;
        self.output.json(&json!({
            "section": section, "what": what, "device": device.to_string(), "engine": engine, "seconds_per_iteration": seconds,
            "units_per_second": units / seconds, "iterations": n, "infoset_actions": infoset_actions, "bytes": bytes,
            "bytes_per_infoset_action": finite(bytes_each), "moved_bytes": finite(moved), "share_of_copy": finite(share),
        }))?;
        table.row(vec![
            what.to_string(),
            device.to_string(),
            engine.clone(),
            number(seconds * 1e6),
            number(units / seconds),
            infoset_actions.to_string(),
            maybe(finite(bytes_each)),
            maybe(finite(moved / infoset_actions as f64)),
            percent(share),
        ]);
        Ok(())
    }

    /// One thread and all cores of the CPU back end, for the row beside.
    pub fn cpus(&self) -> [(&'static str, Option<usize>); 2] {
        [("cpu-ref, 1 thread", Some(1)), ("cpu-ref, all cores", None)]
    }
}

/// A whole number, with commas between thousands.
pub fn whole(n: u64) -> String {
    let digits = n.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    parts.join(",")
}

/// A number that JSON can hold.
fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}
