//! `fit`: the values of twelve kinds of pieces.

use std::ops::ControlFlow;

use anyhow::Result;
use serde::Serialize;
use warpplay::Progress;
use warpplay::shogi::Row;
use warpplay::shogi::dataset::Facts;
use warpplay::shogi::material::{FitReport, Material, Options};

use crate::common::table::{count, facts, seconds, thousands};
use crate::common::{self, OutputFile, plot};
use crate::shogi::args::FitArgs;
use crate::shogi::data::{Data, Measured};
use crate::shogi::table::{of_values, progress, progress_head};
use crate::shogi::{chart, check};

/// The plot's name in a folder.
const PLOT: &str = "values.svg";

/// What is written.
#[derive(Serialize)]
struct Found<'a> {
    parents: u64,
    children: u64,
    distinct_vectors: u64,
    /// Share of children with no difference of material to the played move.
    zero_share: f64,
    trajectory: &'a [Row],
    report: &'a FitReport,
    /// What it was learnt from, as `inspect` says it.
    data: &'a Facts,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out: Option<Measured>,
    device: &'a str,
    device_name: &'a str,
}

/// Runs the command.
pub fn run(args: &FitArgs) -> Result<()> {
    args.output.start_log();
    let defaults = Options::default();
    let options = Options {
        engine: args.engine.engine.unwrap_or(defaults.engine),
        objective: args.rule.objective()?,
        init: args.rule.init(),
        iterations: args.iterations,
        repeat: args.repeat.repeat,
        threads: args.threads.threads,
    };
    options.check()?;
    let plot = args.plots.path(PLOT);
    let held_out = args.held_out.path();
    let source = &args.source;
    let read = [("--records", source.records.as_deref()), ("--data", source.data.as_deref()), ("--held-out", held_out)];
    let written = [
        ("--json", args.output.json.as_deref()),
        ("--plots", args.plots.plots.as_deref().filter(|path| !path.is_dir())),
        ("--plots", plot.as_deref()),
    ];
    common::expect_apart(&read, &written, &[])?;
    let json = args.output.json_file()?;
    let plot = OutputFile::prepare_option(args.plots.file(PLOT)?.as_deref())?;
    let device = args.device.open()?;
    let (data, held_out) = Data::divided(source, args.held_out.held_out.as_ref(), &args.output)?;
    let says = !args.output.quiet;
    if says {
        data.say_skipped();
        let held_out = held_out.as_ref().map(|held_out| held_out.held_out_text(&data)).unwrap_or_default();
        common::print(data.text() + &held_out + "\n" + &progress_head())?;
    }
    let objective = options.objective;
    let mut material = Material::builder(&data.dataset).options(options).build(&device)?;
    let mut shown = Ok(());
    let report = material.run(|state: &Progress<Row>| {
        if let Some(row) = state.latest.as_ref().filter(|_| says) {
            shown = common::print(progress(row));
        }
        if shown.is_err() || common::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    shown?;
    check::trajectory(&report.rows)?;
    let held_out = held_out.map(|data| Measured::measure(&data, objective, &report.rows)).transpose()?;
    if let Some(plot) = plot {
        plot.write(&plot::svg(&[chart::convergence("Values of the pieces by iteration", &report.rows)]))?;
    }
    if let (true, Some(last)) = (says, report.rows.last()) {
        let n = count(last.iteration.into(), "iteration");
        let (children, time) = (thousands(report.children), seconds(report.seconds));
        let (first, last_j) = (report.rows.first().map_or(last.j, |row| row.j), last.j);
        let facts = facts([
            ("fitted", format!("{n} over {children} children in {time}, ended by {}", report.stopped_by)),
            ("engine", format!("{} on {}", report.engine, report.device_name)),
            ("objective J", format!("{first:.9} at first, {last_j:.9} at the end")),
        ]);
        common::print(format!("\n{}\n{facts}", of_values(&[("value, pawns".to_string(), last.values)])))?;
        if let Some(Measured { j, .. }) = &held_out {
            common::print(format!("  held out     J {:.6} at first, {:.6} at the end\n", j[0], j[j.len() - 1]))?;
        }
    }
    if let Some(json) = json {
        let found = Found {
            parents: data.facts.parents * u64::from(args.repeat.repeat),
            children: report.children,
            distinct_vectors: data.facts.distinct_vectors,
            zero_share: data.facts.zero_share,
            trajectory: &report.rows,
            report: &report,
            data: &data.facts,
            held_out,
            device: &report.device,
            device_name: &report.device_name,
        };
        json.write_json(&common::Record::new("shogi fit", found))?;
    }
    Ok(())
}
