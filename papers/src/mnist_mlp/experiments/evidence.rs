//! What the trainings of the run's journal say of the paper's claims.

use warpplay::Backend;
use warpplay::mlp::Reduction;

use super::collapses::SEEDS;
use super::lab::{Lab, epochs};
use super::matmul::known_squares;
use super::training::{Trained, Way};
use super::vary::of_batch;
use crate::experiment::Stop;
use crate::mnist_mlp::checks::Evidence;
use crate::mnist_mlp::published;
use crate::mnist_mlp::{Forms, Options};

/// What is measured, in words; `None` where none of its trainings was made.
pub(super) fn found(lab: &mut Lab<'_, '_>, evidence: Evidence) -> Result<Option<String>, Stop> {
    let parts = match evidence {
        Evidence::Losses => {
            let options = lab.main();
            last_losses(lab, [("CPU", Way::CpuAll), ("paper's kernels", Way::Published)], &options)?
        }
        Evidence::Plateau => plateau(lab)?,
        Evidence::Rounding => {
            let mean = lab.main();
            let sum = Options { reduction: Reduction::Sum, ..mean.clone() };
            accuracies(
                lab,
                &[
                    ("f64".into(), Way::CpuDouble, mean.clone()),
                    ("f32".into(), Way::CpuAll, mean.clone()),
                    ("paper's kernels, atomic additions".into(), Way::Published, mean),
                    ("f32, gradients summed".into(), Way::CpuAll, sum),
                ],
            )?
        }
        Evidence::Batches => {
            let base = lab.base();
            let longest = if lab.run.device().backend() == Backend::Cpu { Way::CpuAll } else { Way::Fast };
            let mut all = Vec::new();
            for row in &published::BATCHES {
                let [options, longer] = of_batch(&base, row);
                let batch = options.batch;
                all.push((format!("batch {batch} in f32"), Way::CpuAll, options.clone()));
                all.push((format!("batch {batch} in f64"), Way::CpuDouble, options));
                all.push((format!("batch {batch}, {}", epochs(longer.epochs)), longest, longer));
            }
            accuracies(lab, &all)?
        }
        Evidence::Collapses => collapses(lab)?,
        Evidence::Rates => {
            let base = lab.base();
            let of =
                |rate| (format!("averaged at {rate}"), Way::CpuAll, Options { learning_rate: rate, ..base.clone() });
            accuracies(lab, &published::RATES.map(|row| of(row.value)))?
        }
        Evidence::LargeRate => {
            let base = lab.base();
            let [_, small, large] = published::RATES.map(|row| row.value);
            let mut parts = Vec::new();
            for learning_rate in [small, large] {
                let options = Options { learning_rate, ..base.clone() };
                let Some(run) = lab.known(Way::Published, &options)? else { continue };
                parts.push(format!("paper's kernels at {learning_rate}: {}", end(&run)));
            }
            parts
        }
        Evidence::Robust => {
            let base = lab.base();
            let mut parts = Vec::new();
            for collapse in &published::COLLAPSES {
                let (batch, learning_rate) = (collapse.batch, collapse.rate);
                let options = Options { batch, learning_rate, ..base.clone() };
                let Some(run) = lab.known(Way::CpuDouble, &options)? else { continue };
                parts.push(format!("averaged in f64, batch {batch}, rate {learning_rate}: {}", end(&run)));
            }
            parts
        }
        Evidence::Width => width(lab)?,
        Evidence::Squares => {
            let gains = known_squares(lab)?.into_iter();
            gains.map(|(side, gain)| format!("square, {side}: tiles of 16 {gain:.2} times as fast as plain")).collect()
        }
        Evidence::Sides => {
            let base = lab.base();
            let mut parts = Vec::new();
            for side in published::THREADS_2D.map(|row| row.value as u32) {
                let options = Options { forms: Forms { tile: side, ..base.forms }, ..base.clone() };
                let seconds = lab.known(Way::Published, &options)?.and_then(|run| run.seconds());
                parts.extend(seconds.map(|seconds| format!("paper's kernels, {side} x {side}: {seconds:.3} s")));
            }
            parts
        }
    };
    Ok((!parts.is_empty()).then(|| parts.join("; ")))
}

/// How much faster the published kernels are than the CPU program, for each number of hidden units, and the power with which this grows.
fn width(lab: &mut Lab<'_, '_>) -> Result<Vec<String>, Stop> {
    let base = lab.base();
    let mut found = Vec::new();
    for units in published::HIDDEN.map(|row| lab.hidden(row.value as u32)) {
        let mean = Options { hidden: vec![units], ..base.clone() };
        let sum = Options { reduction: Reduction::Sum, ..mean.clone() };
        let cpu = lab.known(Way::Cpu, &sum)?.and_then(|run| run.seconds());
        let paper = lab.known(Way::Published, &mean)?.and_then(|run| run.seconds());
        found.extend(cpu.zip(paper).map(|(cpu, paper)| (units, cpu / paper)));
    }
    let mut parts: Vec<String> = found
        .iter()
        .map(|(units, faster)| format!("paper's kernels over the CPU program, {units} units: {faster:.1} times"))
        .collect();
    if let [first, .., last] = found[..] {
        let power = (last.1 / first.1).ln() / (f64::from(last.0) / f64::from(first.0)).ln();
        parts.push(format!("this grows with the power {power:.2}"));
    }
    Ok(parts)
}

/// How a training ended.
fn end(run: &Trained) -> String {
    if let Some(reason) = &run.outcome.diverged {
        return reason.clone();
    }
    let number = |value: Option<f64>, digits: usize| value.map_or("none".into(), |value| format!("{value:.digits$}"));
    let (loss, accuracy) = (number(run.outcome.loss(), 4), number(run.outcome.accuracy(), 2));
    format!("loss {loss}, {accuracy} %, {} of {} units dead", run.outcome.dead_units, run.outcome.units)
}

/// The accuracies of those trainings that were made.
fn accuracies(lab: &mut Lab<'_, '_>, all: &[(String, Way, Options)]) -> Result<Vec<String>, Stop> {
    let mut parts = Vec::new();
    for (name, way, options) in all {
        let accuracy = lab.known(*way, options)?.and_then(|run| run.outcome.accuracy());
        parts.extend(accuracy.map(|accuracy| format!("{name}: {accuracy:.2} %")));
    }
    Ok(parts)
}

/// The losses of the last epoch.
fn last_losses(lab: &mut Lab<'_, '_>, ways: [(&str, Way); 2], options: &Options) -> Result<Vec<String>, Stop> {
    let mut parts = Vec::new();
    for (name, way) in ways {
        let loss = lab.known(way, options)?.and_then(|run| run.outcome.loss());
        parts.extend(loss.map(|loss| format!("{name}: loss {loss:.6} of the last epoch")));
    }
    Ok(parts)
}

/// How far the loss of the published kernels falls in the first and in the last epoch of the main experiment.
fn plateau(lab: &mut Lab<'_, '_>) -> Result<Vec<String>, Stop> {
    let options = lab.main();
    let Some(run) = lab.known(Way::Published, &options)? else { return Ok(Vec::new()) };
    let [first, second, .., before, last] = run.outcome.losses[..] else { return Ok(Vec::new()) };
    let falls = |from: f64, to: f64| 100.0 * (1.0 - to / from);
    Ok(vec![format!(
        "paper's kernels: the loss falls by {:.1} % in the second epoch, and by {:.1} % in the last",
        falls(first, second),
        falls(before, last)
    )])
}

/// How many summed trainings answer one class.
fn collapses(lab: &mut Lab<'_, '_>) -> Result<Vec<String>, Stop> {
    let base = lab.base();
    let mut parts = Vec::new();
    for collapse in &published::COLLAPSES {
        let (batch, learning_rate) = (collapse.batch, collapse.rate);
        let (mut n, mut one_class, mut finite) = (0, 0, 0);
        for seed in 1..=SEEDS {
            let options = Options { batch, learning_rate, reduction: Reduction::Sum, seed, ..base.clone() };
            let Some(run) = lab.known(Way::CpuAll, &options)? else { continue };
            n += 1;
            one_class += u32::from(run.outcome.favourite().is_some_and(|(_, share)| share == 100.0));
            finite += u32::from(run.outcome.diverged.is_none());
        }
        if n > 0 {
            parts.push(format!(
                "summed, batch {batch}, rate {learning_rate}: of {n} seeds {one_class} end with one class for every image, {finite} with finite losses"
            ));
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use warpplay::Device;
    use warpplay::mlp::Dataset;

    use super::*;
    use crate::experiment::{Journal, Run, Step};

    #[test]
    fn a_claim_is_held_against_the_trainings_that_were_made() -> Result<(), Stop> {
        let sets = [Arc::new(Dataset::drawn_digits(1, 80)?), Arc::new(Dataset::drawn_digits(2, 40)?)];
        let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
        let mut run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
        let mut lab = Lab::new(sets, None, 1, &mut run)?;
        assert_eq!(found(&mut lab, Evidence::Rates)?, None);
        let base = lab.base();
        let mut expected = Vec::new();
        for rate in published::RATES.map(|row| row.value) {
            let options = Options { learning_rate: rate, ..base.clone() };
            let trained = lab.train(Way::CpuAll, &options)?.expect("the CPU needs no kernels");
            expected.push(format!("averaged at {rate}: {:.2} %", trained.outcome.accuracy().expect("an epoch")));
        }
        assert_eq!(found(&mut lab, Evidence::Rates)?, Some(expected.join("; ")));
        let options = Options { reduction: Reduction::Sum, batch: 64, learning_rate: 0.1, ..base };
        let trained = lab.train(Way::CpuAll, &options)?.expect("the CPU needs no kernels");
        let one = u32::from(trained.outcome.favourite().is_some_and(|(_, share)| share == 100.0));
        let text = format!("summed, batch 64, rate 0.1: of 1 seeds {one} end with one class for every image");
        assert!(found(&mut lab, Evidence::Collapses)?.is_some_and(|found| found.starts_with(&text)));
        assert_eq!(found(&mut lab, Evidence::LargeRate)?, None);
        Ok(())
    }
}
