//! `subgame`: hold'em spots.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use warpplay::Device;
use warpplay::cfr::spot::HandReport;
use warpplay::cfr::{Options, Solver, Spot, SpotReport, SpotRun, solve_spots};

use crate::cfr::args::SubgameArgs;
use crate::common::plot::{self, Axis, Line, Panel};
use crate::common::table::{Table, count, seconds};
use crate::common::{self, OutputFile, Usage};

/// The plot's name in a folder.
const PLOT: &str = "subgame.svg";

/// What is written: one spot's report, or `spots` with a report for each name.
#[derive(Serialize)]
struct Facts<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<&'a SpotReport>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    spots: BTreeMap<&'a str, &'a SpotReport>,
    device_name: String,
}

/// Runs the command.
pub fn run(args: &SubgameArgs) -> Result<()> {
    args.output.start_log();
    let stops = args.report.stops(args.report.iterations())?;
    let mut spots: Vec<(String, Spot)> = Vec::new();
    let mut files: Vec<&Path> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for path in &args.spots {
        for (name, spot) in Spot::read_all(path)? {
            if !args.spot.is_empty() && !args.spot.contains(&name) {
                others.push(name);
                continue;
            }
            if let Some(at) = spots.iter().position(|(other, _)| *other == name) {
                let [first, second] = [files[at].display(), path.display()];
                let text = format!("{first} and {second}: both have a spot {name}, expected names of their own");
                return Err(Usage(text).into());
            }
            spots.push((name, spot));
            files.push(path);
        }
    }
    if let Some(missing) = args.spot.iter().find(|&name| spots.iter().all(|(of, _)| of != name)) {
        others.extend(spots.into_iter().map(|(name, _)| name));
        others.sort();
        return Err(Usage(format!("option spot: '{missing}' is not allowed ({})", others.join(", "))).into());
    }
    let [resume, checkpoint] = args.journal.paths();
    let read = args.spots.iter().map(|path| ("SPOT.json", Some(path.as_path()))).chain([resume]);
    let plots = &args.report.plots;
    let plot = plots.path(PLOT);
    let written = [
        ("--json", args.output.json.as_deref()),
        ("--plots", plots.plots.as_deref()),
        ("--plots", plot.as_deref()),
        checkpoint,
    ];
    common::expect_apart(&read.collect::<Vec<_>>(), &written, &[])?;
    let json = args.output.json_file()?;
    let plot = OutputFile::prepare_option(plots.file(PLOT)?.as_deref())?;
    let devices = args.device.iter().map(|name| Device::parse(name)).collect::<Result<Vec<_>, _>>()?;
    let device = devices.first().context("no device")?;
    let options = Options { iterations: args.report.iterations(), ..args.solve.options() };
    // Wrong spots, and those that do not fit, are found before any is solved.
    for (name, spot) in &spots {
        let plan = common::without_results(|| Solver::builder(spot).options(options).plan(device));
        let plan = plan.with_context(|| name.clone())?;
        args.output.print(format!("{name}: {plan}\n"))?;
        device.expect_memory(plan.memory_needed()).with_context(|| name.clone())?;
    }
    let bar = args.output.bar(spots.len() as u64);
    let run = SpotRun { options, measure_at: stops, journal: args.journal.target() };
    let list: Vec<Spot> = spots.iter().map(|(_, spot)| spot.clone()).collect();
    let solved = solve_spots(&devices, &list, &run, |n| {
        bar.set_position(n as u64);
        common::until_interrupted()
    })?;
    bar.finish_and_clear();
    let mut reports = Vec::new();
    for ((name, spot), report) in spots.iter().zip(solved) {
        if common::interrupted() && matches!(report, Err(warpplay::Error::Order { .. })) {
            args.output.print(format!("{name}: not begun\n"))?;
            continue;
        }
        let report = report.with_context(|| name.clone())?;
        report.check(spot).map_err(|reason| anyhow!("check failed: {name}: {reason}"))?;
        reports.push((name.as_str(), report));
    }
    if common::interrupted() && reports.is_empty() {
        common::end_without_results();
    }
    if let Some(plot) = plot {
        let points = |report: &SpotReport| report.trajectory.iter().map(|(&at, &chips)| [at as f64, chips]).collect();
        let lines = reports.iter().map(|(name, report)| Line::new(*name, points(report))).collect();
        let n_icm = reports.iter().filter(|(_, report)| report.icm_base.is_some()).count();
        let y = match n_icm {
            0 => "exploitability, chips",
            n if n == reports.len() => "exploitability, prizes",
            _ => "exploitability, chips or prizes",
        };
        let (x, y) = (Axis::log("iteration"), Axis::log(y));
        let panel = Panel::lines("Spots of hold'em: exploitability by iteration", x, y, lines);
        plot.write(&plot::svg(&[panel]))?;
    }
    if let Some(json) = json {
        let only = reports.first().filter(|_| spots.len() == 1).map(|(_, report)| report);
        let several = reports.iter().filter(|_| only.is_none()).map(|(name, report)| (*name, report));
        let facts = Facts { report: only, spots: several.collect(), device_name: device.name() };
        json.write_json(&common::Record::new("cfr subgame", facts))?;
    }
    if !args.output.quiet {
        for (name, report) in &reports {
            common::print(text(name, report, args.top.top))?;
        }
        let n_whole = reports.iter().filter(|(_, report)| report.iterations == options.iterations).count();
        if n_whole < spots.len() {
            common::print(format!("\nended early: {n_whole} of {} spots{}\n", spots.len(), args.journal.go_on()))?;
        }
    }
    Ok(())
}

/// A solved spot in some lines.
fn text(name: &str, report: &SpotReport, top: usize) -> String {
    let SpotReport { iterations, seconds: time, device, .. } = report;
    let mut text = format!("\n{name}: {} in {} on {device}\n", count(*iterations, "iteration"), seconds(*time));
    for line in report.to_string().lines() {
        text += &format!("  {line}\n");
    }
    for seat in 0..2 {
        let mut list: Vec<&HandReport> = report.by_hand[seat].iter().collect();
        list.sort_by(|a, b| b.ev.total_cmp(&a.ev));
        let shown = if top == 0 { list.len() } else { top.min(list.len()) };
        text += &format!("\n  seat {seat}: the {} of the highest expected value\n", count(shown as u64, "hand"));
        let row = |hand: &&HandReport| {
            let first = hand.strategy.iter().next().map(|(history, probabilities)| {
                let actions = report.actions.get(history).map(Vec::as_slice).unwrap_or_default();
                let parts = actions.iter().zip(probabilities).map(|(action, part)| format!("{action} {part:.3}"));
                format!("after '{history}': {}", parts.collect::<Vec<_>>().join("  "))
            });
            let [ev, equity] = [hand.ev, hand.equity].map(|value| format!("{value:.3}"));
            vec![hand.hand.to_string(), ev, equity, first.unwrap_or_default()]
        };
        let rows: Vec<Vec<String>> = list[..shown].iter().map(row).collect();
        text += &Table::new(&["hand", "value, chips", "equity", "first decision"]).words_at(3).rows(&rows);
    }
    text
}
