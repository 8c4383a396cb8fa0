//! Charts of a table: accuracy and time against the parameter, losses of its trainings.

use std::path::Path;

use anyhow::Result;
use warpplay_papers::mnist_mlp::experiments::{Run, Table, Way};

use crate::common::OutputFile;
use crate::common::chart::{Line, Panel, panels};

/// Most lines of a chart that can still be told apart.
const MAX_LINES: usize = 16;

/// Draws what there is to draw of a table into a folder.
pub fn draw(folder: &Path, table: &Table) -> Result<()> {
    if let Some(parameter) = table.parameter.filter(|_| !table.runs.is_empty()) {
        let accuracy = against(table, |run| run.accuracy().map(|share| 100.0 * share));
        let seconds = against(table, Run::whole_seconds);
        let charts = [
            Panel { title: &table.title, x: parameter, y: "right, %", lines: accuracy },
            Panel { title: "time of training", x: parameter, y: "s", lines: seconds },
        ];
        write(folder, &table.name, &panels(&charts)?)?;
    }
    let measured = evaluations(table);
    if !measured.is_empty() {
        let panel = Panel { title: &table.title, x: "samples evaluated at once", y: "µs a sample", lines: measured };
        write(folder, &table.name, &panels(&[panel])?)?;
    }
    if !table.runs.is_empty() {
        let lines = table.runs.iter().take(MAX_LINES).map(|setting| Line {
            name: format!("{}, {}", setting.label, setting.run.way.name()),
            points: (1..).map(f64::from).zip(setting.run.losses.iter().copied()).collect(),
        });
        let panel = Panel { title: "loss", x: "epoch", y: "loss", lines: lines.collect() };
        write(folder, &format!("{}-losses", table.name), &panels(&[panel])?)?;
    }
    Ok(())
}

/// A line for each way.
fn against(table: &Table, value: fn(&Run) -> Option<f64>) -> Vec<Line> {
    let lines = [Way::Cpu, Way::Paper, Way::Fast].map(|way| Line {
        name: way.name().to_string(),
        points: table
            .runs
            .iter()
            .filter(|setting| setting.run.way == way)
            .filter_map(|setting| Some((setting.value?, value(&setting.run)?)))
            .collect(),
    });
    lines.into()
}

/// Time a sample of each way, where the table is one of evaluations.
fn evaluations(table: &Table) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for value in &table.values {
        let number = |field: &str| value.get(field).and_then(serde_json::Value::as_f64);
        let (Some(batch), Some(micros)) = (number("evaluate_batch"), number("microseconds_a_sample")) else { continue };
        let way = value["way"].as_str().unwrap_or_default();
        match lines.iter_mut().find(|line| line.name == way) {
            Some(line) => line.points.push((batch, micros)),
            None => lines.push(Line { name: way.to_string(), points: vec![(batch, micros)] }),
        }
    }
    lines
}

fn write(folder: &Path, name: &str, svg: &str) -> Result<()> {
    OutputFile::prepare(&folder.join(format!("{name}.svg")))?.write(svg)
}
