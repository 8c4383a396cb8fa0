//! One parameter varied, the others the paper's: batch, blocks, hidden units, learning rate.

use warpplay::Result;

use super::Section;
use super::lab::{Lab, Run, Way};
use super::published::Figures;
use super::record::{Setting, Table, or_dash, percent, seconds};
use crate::mnist_mlp::Options;

struct Parameter {
    name: &'static str,
    title: &'static str,
    values: &'static [f64],
    /// Only the paper's kernels have it.
    is_of_paper: bool,
    set: fn(&mut Options, f64),
}

fn parameter(section: Section) -> Option<Parameter> {
    let of = |name, title, values, is_of_paper, set| Some(Parameter { name, title, values, is_of_paper, set });
    match section {
        Section::Batch => of("batch", "Batch size", &[32.0, 64.0, 128.0, 256.0], false, |to, x| to.batch = x as u32),
        Section::Block => of(
            "block",
            "Threads of a one-dimensional block (the paper's kernels)",
            &[128.0, 256.0, 512.0],
            true,
            |to, x| to.forms.block = x as u32,
        ),
        Section::Tile => of(
            "tile",
            "Side of a two-dimensional block and tile (the paper's kernels)",
            &[8.0, 16.0, 32.0],
            true,
            |to, x| to.forms.tile = x as u32,
        ),
        Section::Hidden => {
            of("hidden", "Hidden units", &[128.0, 256.0, 512.0, 1024.0], false, |to, x| to.hidden = vec![x as u32])
        }
        Section::Lr => of("lr", "Learning rate", &[0.001, 0.01, 0.1], false, |to, x| to.learning_rate = x),
        _ => None,
    }
}

/// The table of a parameter; `None` where nothing could be run.
pub(super) fn table(lab: &mut Lab<'_>, section: Section) -> Result<Option<Table>> {
    let Some(parameter) = parameter(section) else { return Ok(None) };
    let mut table = Table::new(
        parameter.name,
        parameter.title,
        &[
            parameter.name,
            "CPU 1 thread, s",
            "accuracy",
            "dead",
            "paper's kernels, s",
            "accuracy",
            "speed-up",
            "ours, s",
            "accuracy",
            "speed-up",
        ],
    );
    table.parameter = Some(parameter.name);
    if parameter.is_of_paper && lab.kernels_for(parameter.title).is_none() {
        return Ok(None);
    }
    for &value in parameter.values {
        let mut options = lab.base();
        // What only the paper's kernels have makes no other training of the CPU.
        let base = options.clone();
        (parameter.set)(&mut options, value);
        let elsewhere = if parameter.is_of_paper { &base } else { &options };
        let cpu = lab.run(Way::Cpu, elsewhere)?;
        let paper = lab.run(Way::Paper, &options)?;
        let fast = lab.run(Way::Fast, elsewhere)?;
        let accuracy = |run: &Option<Run>| percent(run.as_ref().and_then(Run::accuracy));
        let time = |run: &Option<Run>| run.as_ref().and_then(Run::whole_seconds);
        let speed_up = |run: &Option<Run>| Some(time(&cpu)? / time(run)?);
        let shown = |run: &Option<Run>| match run {
            Some(Run { diverged: Some(_), .. }) => "diverged".to_string(),
            _ => or_dash(time(run), seconds),
        };
        table.rows.push(vec![
            value.to_string(),
            shown(&cpu),
            accuracy(&cpu),
            or_dash(cpu.as_ref(), |run| run.dead_units.to_string()),
            shown(&paper),
            accuracy(&paper),
            or_dash(speed_up(&paper), |x| format!("{x:.1}x")),
            shown(&fast),
            accuracy(&fast),
            or_dash(speed_up(&fast), |x| format!("{x:.1}x")),
        ]);
        for run in [cpu, paper, fast].into_iter().flatten() {
            let of_parameter = !parameter.is_of_paper || run.way == Way::Paper;
            if of_parameter {
                table.runs.push(Setting { label: format!("{} {value}", parameter.name), value: Some(value), run });
            }
        }
    }
    if section == Section::Batch {
        let figures = Figures::default();
        table.notes.push(format!(
            "published at 64 ({}, {} epochs): CPU {} s, {:.2} %; GPU {} s, {:.2} %; {}x. The other cells of the paper's tables are not known here.",
            figures.device,
            figures.epochs,
            figures.cpu_seconds,
            100.0 * figures.cpu_accuracy,
            figures.gpu_seconds,
            100.0 * figures.gpu_accuracy,
            figures.speed_up
        ));
    }
    Ok(Some(table))
}
