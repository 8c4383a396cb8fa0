//! Mean and largest error after every block.

use serde_json::json;
use warpplay::azero::{BlockOutput, Engine, Evaluation, Evaluator};
use warpplay::{Device, Precision, Result};

use crate::measure::Bench;
use crate::output::Table;

/// The absolute part of the paper's verdict.
const ATOL: f64 = 1e-5;
/// The verdict's part of the expected value's size.
const RTOL: f64 = 1e-8;

/// How far some numbers are from the expected ones.
#[derive(Clone, Copy, serde::Serialize)]
struct Errors {
    mean: f64,
    largest: f64,
    within: bool,
}

impl Errors {
    /// Number by number; what is no number is an infinite error.
    fn between(found: &[f64], expected: &[f64]) -> Self {
        let mut errors = Self { mean: 0.0, largest: 0.0, within: found.len() == expected.len() };
        for (&found, &expected) in found.iter().zip(expected) {
            let error = (found - expected).abs();
            let error = if error.is_nan() { f64::INFINITY } else { error };
            errors.mean += error;
            errors.largest = errors.largest.max(error);
            errors.within &= error <= ATOL + RTOL * expected.abs();
        }
        errors.mean /= found.len().max(1) as f64;
        errors
    }
}

/// What one program found.
struct Found {
    blocks: Vec<BlockOutput>,
    evaluation: Evaluation,
}

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let headers = ["precision", "engine", "after", "mean error", "largest", "verdict"];
    let mut table = Table::new("ERRORS after every block, against double precision", 3, &headers);
    let n = if bench.quick || bench.device.backend() == warpplay::Backend::Simt { 1 } else { 64 };
    let expected = plain(bench, Precision::F64, n)?;
    let mut programs = vec![("cpu-ref".to_string(), Precision::F32, plain(bench, Precision::F32, n))];
    if bench.has_kernels() {
        for precision in Bench::PRECISIONS {
            for engine in [Engine::Fused, Engine::Layers] {
                bench.output.progress(&format!("errors of {precision} {engine}"));
                programs.push((engine.to_string(), precision, kernels(bench, precision, engine, n)));
            }
        }
    }
    for (name, precision, found) in programs {
        match found {
            Ok(found) => rows(bench, &mut table, &name, precision, &found, &expected)?,
            Err(error) => {
                let cell = bench.refused(&error);
                table.row(vec![precision.to_string(), name, cell]);
            }
        }
    }
    table.note(format!(
        "Verdict of the paper: every error at most {ATOL:e} + {RTOL:e} of the expected value's size. {n} positions."
    ));
    table.print(&mut bench.output)
}

fn evaluated(evaluator: &mut Evaluator, bench: &Bench, n: usize) -> Result<Found> {
    let (observations, masks) = bench.positions.first(n);
    Ok(Found { blocks: evaluator.blocks(&observations)?, evaluation: evaluator.evaluate(&observations, &masks)? })
}

fn plain(bench: &Bench, precision: Precision, n: usize) -> Result<Found> {
    let mut evaluator = Evaluator::builder(&bench.network).precision(precision).max_batch(n).build(&Device::cpu())?;
    evaluated(&mut evaluator, bench, n)
}

fn kernels(bench: &Bench, precision: Precision, engine: Engine, n: usize) -> Result<Found> {
    evaluated(&mut bench.evaluator(&bench.network, precision, engine, n)?, bench, n)
}

fn rows(
    bench: &mut Bench,
    table: &mut Table,
    name: &str,
    precision: Precision,
    found: &Found,
    expected: &Found,
) -> anyhow::Result<()> {
    let widened = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
    let mut all: Vec<(String, Errors)> = Vec::new();
    for block in &found.blocks {
        let Some(expected) = expected.blocks.iter().find(|expected| expected.name == block.name) else { continue };
        all.push((block.name.clone(), Errors::between(&widened(&block.values), &widened(&expected.values))));
    }
    let (found, expected) = (&found.evaluation, &expected.evaluation);
    for (name, found, expected) in [
        ("value", &found.values, &expected.values),
        ("policy logits", &found.policy_logits, &expected.policy_logits),
        ("policy", &found.policies, &expected.policies),
    ] {
        all.push((name.to_string(), Errors::between(found, expected)));
    }
    for (after, errors) in all {
        bench.output.json(&json!({
            "section": "errors", "precision": precision, "engine": name, "after": after, "errors": errors, "device": bench.device.to_string(),
        }))?;
        let verdict = if errors.within { "within" } else { "not within" };
        table.row(vec![
            precision.to_string(),
            name.to_string(),
            after,
            format!("{:.1e}", errors.mean),
            format!("{:.1e}", errors.largest),
            verdict.to_string(),
        ]);
    }
    Ok(())
}
