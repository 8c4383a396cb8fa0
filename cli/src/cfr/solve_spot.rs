//! `solve-spot`: hold'em spots.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use indicatif::BinaryBytes;
use serde::Serialize;
use warpplay::cfr::spot::{HandReport, SpotSolverBuilder, SpotTarget, Streets};
use warpplay::cfr::{Options, Plan, SolvedSpot, Spot, SpotReport, SpotRun, SpotSolver, solve_spots};
use warpplay::{AtomicFile, Backend, Device, Error, Memory, Precision};

use crate::cfr::args::{FormFlag, SolveSpotArgs};
use crate::common::plot::{self, Axis, Line, Panel};
use crate::common::table::{Table, count, seconds, significant, thousands};
use crate::common::{self, OutputFile, Usage};

/// The plot's name in a folder.
const PLOT: &str = "solve-spot.svg";

/// What is written: one spot's report, or `spots` with a report for each name.
#[derive(Serialize)]
struct Facts<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<&'a SpotReport>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    spots: BTreeMap<&'a str, &'a SpotReport>,
    device_name: String,
}

/// A spot to solve.
struct Asked {
    name: String,
    spot: Spot,
    /// The file, and the name in it if it has several.
    origin: String,
}

/// The spots of the files, those that were asked for.
fn spots(args: &SolveSpotArgs) -> Result<Vec<Asked>> {
    let mut spots: Vec<Asked> = Vec::new();
    let mut files: Vec<&Path> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for path in &args.spots {
        for (name, spot) in Spot::read_all(path)? {
            if !args.spot.is_empty() && !args.spot.contains(&name) {
                others.push(name);
                continue;
            }
            if let Some(at) = spots.iter().position(|other| other.name == name) {
                let [first, second] = [files[at].display(), path.display()];
                let text = format!("{first} and {second}: both have a spot {name}, expected names of their own");
                return Err(Usage(text).into());
            }
            let is_alone = path.file_stem().is_some_and(|stem| *stem == *name);
            let origin = path.display().to_string() + &if is_alone { String::new() } else { format!(": spot {name}") };
            spots.push(Asked { name, spot, origin });
            files.push(path);
        }
    }
    if let Some(missing) = args.spot.iter().find(|&name| spots.iter().all(|of| of.name != *name)) {
        others.extend(spots.into_iter().map(|spot| spot.name));
        others.sort();
        return Err(Usage(format!("option spot: '{missing}' is not allowed ({})", others.join(", "))).into());
    }
    Ok(spots)
}

/// The file of a solved spot to go on from, which is no journal.
fn solved_before(args: &SolveSpotArgs) -> Result<Option<&PathBuf>> {
    match &args.journal.resume {
        Some(path) if common::without_results(|| SolvedSpot::is_saved_at(path))? => Ok(Some(path)),
        Some(_) if args.spots.is_empty() => {
            let text = "SPOT.json is needed beside --resume, unless that is a file of --save".to_string();
            Err(Usage(text).into())
        }
        _ => Ok(None),
    }
}

/// A solved spot, by its name.
type Named<'a> = (&'a str, SpotReport);

/// Runs the command.
pub fn run(args: &SolveSpotArgs) -> Result<()> {
    args.output.start_log();
    let before = solved_before(args)?;
    let mut spots = spots(args)?;
    let mut iterations = args.report.iterations();
    let mut resumed = None;
    if let Some(path) = before {
        let builder = common::without_results(|| SpotSolver::resume(path))?;
        iterations = args.report.iterations.unwrap_or(builder.settled()?.iterations);
        if spots.iter().any(|of| of.spot != *builder.spot()) {
            let text = format!("{}: has another spot than SPOT.json, which is not needed beside it", path.display());
            return Err(Usage(text).into());
        }
        let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        spots = vec![Asked { name, spot: builder.spot().clone(), origin: path.display().to_string() }];
        resumed = Some(builder);
    }
    let stops = args.report.stops(iterations)?;
    let is_journaled = resumed.is_none() && args.journal.target().is_some();
    check_save(args, spots.len(), is_journaled)?;
    let (json, plot) = files(args, resumed.is_some())?;
    let devices = args.device.iter().map(|name| Device::parse(name)).collect::<Result<Vec<_>, _>>()?;
    let device = devices.first().context("no device")?;
    let mut options = Options { iterations, ..args.solve.spot_options() };
    if let Some(FormFlag::Engine(engine)) = args.form {
        options.engine = engine;
    }
    let run = SpotRun { options, measure_at: stops, target: args.target, journal: args.journal.target() };
    let Solves { reports, n_whole, ended, failed } = match &spots[..] {
        [asked] if !is_journaled => solve_alone(args, asked, resumed, run, device)?,
        _ => solve_several(args, &spots, &run, &devices)?,
    };
    if let Some(plot) = plot {
        plot.write(&plot::svg(&[panel(&reports)]))?;
    }
    if let Some(json) = json {
        let only = reports.first().filter(|_| spots.len() == 1).map(|(_, report)| report);
        let several = reports.iter().filter(|_| only.is_none()).map(|(name, report)| (*name, report));
        let facts = Facts { report: only, spots: several.collect(), device_name: device.name() };
        json.write_json(&common::Record::new("cfr solve-spot", facts))?;
    }
    if !args.output.quiet {
        for (name, report) in &reports {
            common::print(text(name, report, args.top.top))?;
        }
        if let Some(ended) = ended {
            common::print(format!("\n{ended}\n"))?;
        } else if n_whole < spots.len() {
            let go_on = args.journal.go_on();
            common::print(format!("\nended early: {n_whole} of {} spots{go_on}\n", spots.len()))?;
        }
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// Refuses `--save` and its form where nothing, or more than a file can hold, would be saved.
fn check_save(args: &SolveSpotArgs, n_spots: usize, is_journaled: bool) -> Result<()> {
    if args.save.is_some() && (n_spots != 1 || args.device.len() != 1 || is_journaled) {
        let text = format!(
            "--save: {} on {}{}, expected one spot on one device, without a journal",
            count(n_spots as u64, "spot"),
            count(args.device.len() as u64, "device"),
            if is_journaled { ", with a journal" } else { "" }
        );
        return Err(Usage(text).into());
    }
    if let (Some(FormFlag::Saved(_)), None) = (args.form, &args.save) {
        return Err(Usage("--form: nothing is saved, expected --save FILE.spot".into()).into());
    }
    Ok(())
}

/// The files of the report and the plot, once it is known that nothing is written over and all of them can be written.
fn files(args: &SolveSpotArgs, is_resumed: bool) -> Result<(Option<OutputFile>, Option<OutputFile>)> {
    let [resume, checkpoint] = args.journal.paths();
    let read = args.spots.iter().map(|path| ("SPOT.json", Some(path.as_path()))).chain([resume]);
    let plots = &args.report.plots;
    let plot = plots.path(PLOT);
    let written = [
        ("--json", args.output.json.as_deref()),
        ("--plots", plots.plots.as_deref()),
        ("--plots", plot.as_deref()),
        ("--save", args.save.as_deref()),
        checkpoint,
    ];
    common::expect_apart(&read.collect::<Vec<_>>(), &written, &[("--save", "--resume")])?;
    let json = args.output.json_file()?;
    let before = args.journal.resume.as_deref().filter(|_| is_resumed);
    if let Some(path) = &args.save {
        expect_new(path, before)?;
        // No device or pipe: its writer needs a file.
        AtomicFile::create(path)?;
    }
    Ok((json, OutputFile::prepare_option(plots.file(PLOT)?.as_deref())?))
}

/// What was solved.
struct Solves<'a> {
    /// The reports of the spots that were begun.
    reports: Vec<Named<'a>>,
    /// How many are finished.
    n_whole: usize,
    /// How a single one ended early.
    ended: Option<String>,
    /// Why its results could not be saved.
    failed: Option<Error>,
}

/// Solves a single spot, which can be saved and resumed.
fn solve_alone<'a>(
    args: &SolveSpotArgs,
    asked: &'a Asked,
    resumed: Option<SpotSolverBuilder>,
    run: SpotRun,
    device: &Device,
) -> Result<Solves<'a>> {
    let is_resumed = resumed.is_some();
    let iterations = run.options.iterations;
    let builder = match resumed {
        Some(builder) => match args.form {
            Some(FormFlag::Engine(engine)) => args.solve.ask_spot(builder).engine(engine),
            _ => args.solve.ask_spot(builder),
        },
        None => SpotSolver::builder(&asked.spot).options(run.options),
    };
    let mut builder = builder.iterations(iterations).measure_at(run.measure_at.into_iter().filter(|&at| at > 0));
    if let Some(target) = run.target {
        builder = builder.target(target);
    }
    if let Some(path) = &args.save {
        builder = builder.checkpoint(path);
    }
    if let Some(time) = args.checkpoint_every {
        builder = builder.checkpoint_every(time);
    }
    if let Some(FormFlag::Saved(form)) = args.form {
        builder = builder.form(form);
    }
    let Solved { report, ended, failed } = solve_one(args, asked, builder, is_resumed, device)?;
    check(asked, &report)?;
    let n_whole = usize::from(ended.is_none());
    Ok(Solves { reports: vec![(asked.name.as_str(), report)], n_whole, ended, failed })
}

/// Solves several spots, or one with a journal, on all devices.
fn solve_several<'a>(
    args: &SolveSpotArgs,
    spots: &'a [Asked],
    run: &SpotRun,
    devices: &[Device],
) -> Result<Solves<'a>> {
    let device = devices.first().context("no device")?;
    // Wrong spots, and those that do not fit, are found before any is solved.
    for Asked { name, spot, origin } in spots {
        let builder = SpotSolver::builder(spot).options(run.options);
        let plan = common::without_results(|| builder.plan(device)).with_context(|| origin.clone())?;
        args.output.print(format!("{name}: {}\n", shown(&plan, device, args)))?;
        common::without_results(|| expect_fits(&builder, &plan, false, device)).with_context(|| origin.clone())?;
    }
    let bar = args.output.bar(spots.len() as u64);
    let list: Vec<Spot> = spots.iter().map(|of| of.spot.clone()).collect();
    let solved = solve_spots(devices, &list, run, |n| {
        bar.set_position(n as u64);
        common::until_interrupted()
    })?;
    bar.finish_and_clear();
    let (mut reports, mut n_whole) = (Vec::new(), 0);
    for (asked, report) in spots.iter().zip(solved) {
        let name = &asked.name;
        if common::interrupted() && matches!(report, Err(Error::Order { .. })) {
            args.output.print(format!("{name}: not begun\n"))?;
            continue;
        }
        let report = report.with_context(|| asked.origin.clone())?;
        n_whole += usize::from(run.is_finished(&report, &asked.spot));
        say_missed(asked, args.target, &report);
        check(asked, &report)?;
        reports.push((name.as_str(), report));
    }
    if common::interrupted() && reports.is_empty() {
        common::end_without_results();
    }
    Ok(Solves { reports, n_whole, ended: None, failed: None })
}

/// The exploitability of all spots by iteration.
fn panel(reports: &[Named<'_>]) -> Panel {
    let points = |report: &SpotReport| report.trajectory.iter().map(|(&at, &chips)| [at as f64, chips]).collect();
    let lines = reports.iter().map(|(name, report)| Line::new(*name, points(report))).collect();
    let n_icm = reports.iter().filter(|(_, report)| report.icm_base.is_some()).count();
    let y = match n_icm {
        0 => "exploitability, chips",
        n if n == reports.len() => "exploitability, prizes",
        _ => "exploitability, chips or prizes",
    };
    Panel::lines("Spots of hold'em: exploitability by iteration", Axis::log("iteration"), Axis::log(y), lines)
}

fn check(asked: &Asked, report: &SpotReport) -> Result<()> {
    report.check(&asked.spot).map_err(|reason| anyhow!("check failed: {}: {reason}", asked.name))
}

/// Refuses a file that is there already, which may be hours of work, unless the solve goes on from it.
fn expect_new(path: &Path, resumed: Option<&Path>) -> Result<()> {
    let is = |other: &Path| path.canonicalize().is_ok_and(|path| other.canonicalize().is_ok_and(|other| path == other));
    if !path.is_file() || resumed.is_some_and(is) {
        return Ok(());
    }
    let is_spot = resumed.is_none() && SolvedSpot::is_saved_at(path).unwrap_or(false);
    let reason = match is_spot {
        true => format!("exists already: go on with --resume {}, or name a new file", quoted(path)),
        false => "exists already: name a new file".to_string(),
    };
    Err(Error::file(path, None, reason).into())
}

fn quoted(path: &Path) -> String {
    common::quoted(&path.display().to_string())
}

/// What a solve takes, in short; with `--verbose` all of it.
fn shown(plan: &Plan, device: &Device, args: &SolveSpotArgs) -> String {
    if args.output.verbose > 0 {
        return plan.to_string();
    }
    let memory = plan.memory_needed();
    let host = format!("{}", BinaryBytes(memory.host()));
    let memory = match memory.device() {
        0 => host,
        bytes => format!("{} on the device, {host} on the host", BinaryBytes(bytes)),
    };
    format!("engine {} on {device}, memory {memory}", plan.engine())
}

/// Says that a spot ended by its iterations before it reached its target.
fn say_missed(asked: &Asked, target: Option<SpotTarget>, report: &SpotReport) {
    let (Some(target), Some(chips)) = (target, report.exploitability()) else { return };
    if report.iterations >= report.options.iterations && chips > target.chips(asked.spot.pot) {
        let (unit, iterations) = (unit(&asked.spot), count(report.iterations, "iteration"));
        let chips = significant(chips);
        let name = &asked.name;
        common::say(format_args!(
            "{name}: target {target} not reached: exploitability {chips} {unit} after {iterations} (--iterations)"
        ));
    }
}

fn unit(spot: &Spot) -> &'static str {
    if spot.icm.is_some() { "prize units" } else { "chips" }
}

/// The command line that goes on from a file.
fn go_on(args: &SolveSpotArgs, path: &Path, target: Option<SpotTarget>) -> String {
    let path = quoted(path);
    let mut line = format!("warpplay cfr solve-spot --resume {path} --save {path}");
    let mut add = |flag: &str, value: Option<String>| {
        if let Some(value) = value {
            line += &format!(" {flag} {}", common::quoted(&value));
        }
    };
    add("--target", target.map(|target| target.to_string()));
    add("--checkpoint-every", args.checkpoint_every.map(|time| format!("{}s", time.as_secs_f64())));
    add(
        "--form",
        match args.form {
            Some(FormFlag::Saved(form)) => Some(form.to_string()),
            _ => None,
        },
    );
    add("--device", args.device.first().filter(|device| *device != "auto").cloned());
    add("--threads", args.solve.threads.threads.map(|threads| threads.to_string()));
    add("--json", args.output.json.as_ref().map(|path| path.display().to_string()));
    line
}

/// A spot that was solved alone.
struct Solved {
    report: SpotReport,
    /// What to say of a solve that is not finished.
    ended: Option<String>,
    /// Why the file of `--save` does not have it.
    failed: Option<Error>,
}

/// Solves one spot. Says what it will take before it takes it.
fn solve_one(
    args: &SolveSpotArgs,
    asked: &Asked,
    builder: SpotSolverBuilder,
    is_resumed: bool,
    device: &Device,
) -> Result<Solved> {
    let named = || asked.origin.clone();
    let unit = unit(builder.spot());
    let plan = common::without_results(|| builder.plan(device)).with_context(named)?;
    args.output.print(format!("{}: {}\n", asked.name, shown(&plan, device, args)))?;
    common::without_results(|| expect_fits(&builder, &plan, is_resumed, device)).with_context(named)?;
    let mut solver = common::without_results(|| builder.build_plan(device, plan)).with_context(named)?;
    if let (true, None, Some(before)) = (is_resumed, &args.save, &args.journal.resume) {
        let path = quoted(before);
        args.output
            .note(format_args!("nothing is saved without --save: --save {path} writes the solve back to its file"));
    }
    if is_resumed && solver.is_finished() {
        let more = match solver.target().filter(|_| solver.is_target_reached()) {
            Some(target) => format!("the target {target} is reached already: --target names a closer one"),
            None => "all iterations are done already: --iterations names more".to_string(),
        };
        args.output.note(format_args!("{}: {more}", asked.origin));
    }
    let target = solver.target();
    // How many iterations a target takes is not known.
    let (bar, aim) = match target {
        Some(target) => {
            let chips = significant(target.chips(solver.spot().pot));
            (args.output.counter("iterations"), format!(", target {chips} {unit}"))
        }
        None => (args.output.bar(solver.options().iterations), String::new()),
    };
    if target.is_some() {
        bar.set_message(format!("exploitability not measured yet{aim}"));
    }
    let run = solver.run(|progress| {
        bar.set_position(progress.steps);
        if let Some(value) = progress.latest {
            bar.set_message(format!("exploitability {} {unit}{aim}", significant(value)));
        }
        common::until_interrupted()
    });
    bar.finish_and_clear();
    let failed = match run {
        Ok(_) => None,
        // The results are there all the same.
        Err(error @ Error::File { .. }) if args.save.is_some() => Some(error),
        Err(error) => return Err(error.into()),
    };
    let saved = args.save.as_deref().filter(|_| failed.is_none());
    let ended = (!solver.is_finished()).then(|| {
        let (done, of) = (thousands(solver.iterations()), count(solver.options().iterations, "iteration"));
        let chips = solver.trajectory().get(&solver.iterations());
        let chips =
            chips.map_or(String::new(), |chips| format!(", exploitability {} {unit}{aim}", significant(*chips)));
        let kept = match (saved, &args.save) {
            (Some(path), _) => format!("saved in {}; go on with:\n  {}", path.display(), go_on(args, path, target)),
            (None, Some(path)) => format!("not saved: {} could not be written", path.display()),
            (None, None) => "nothing is saved: --save FILE.spot saves a solve".to_string(),
        };
        format!("ended early: {done} of {of} done{chips}; {kept}")
    });
    let report = match (saved, &ended) {
        (Some(_), Some(ended)) => {
            let written = format!("stopped before the values of hands were found; {ended}");
            common::with_results_written(&written, || solver.report())?
        }
        (Some(path), None) => {
            let written =
                format!("stopped before the values of hands were found; {} has the whole solve", path.display());
            common::with_results_written(&written, || solver.report())?
        }
        (None, _) => solver.report()?,
    };
    say_missed(asked, target, &report);
    Ok(Solved { report, ended, failed })
}

/// Refuses what does not fit, with what would.
pub(super) fn expect_fits(builder: &SpotSolverBuilder, plan: &Plan, is_resumed: bool, device: &Device) -> Result<()> {
    let Err(error) = device.expect_memory(plan.memory_needed()) else { return Ok(()) };
    if !matches!(error, Error::OutOfMemory { .. }) {
        return Err(error.into());
    }
    let fits = |memory: &Memory| device.expect_memory(memory).is_ok();
    Err(anyhow!("{error}; {}", advice(builder, plan, is_resumed, device, fits)?))
}

/// What to do about a solve that does not fit: one that is resumed keeps the spot and the options of its file.
fn advice(
    builder: &SpotSolverBuilder,
    plan: &Plan,
    is_resumed: bool,
    device: &Device,
    fits: impl Fn(&Memory) -> bool,
) -> Result<String> {
    let (spot, options) = (builder.spot(), builder.settled()?);
    let short = Options { precision: Precision::I16, ..options };
    let few = Streets { flop: Some(1), turn: Some(1), river: Some(1) };
    let few = Spot { max_raises: Some(few), ..spot.clone() };
    let one = Spot { bet_sizes: None, raise_sizes: None, bet_fraction_of_pot: Some(0.5), ..few.clone() };
    let mut ways = vec![
        ("the same options", spot, options),
        ("--precision f32", spot, Options { precision: Precision::F32, ..options }),
        ("--precision i16", spot, short),
        ("\"max_raises\" of 1", &few, options),
        ("--precision i16 and \"max_raises\" of 1", &few, short),
        ("one bet of half the pot a street", &one, options),
        ("--precision i16 and one bet of half the pot a street", &one, short),
    ];
    ways.retain(|(_, _, of)| match of.precision {
        Precision::F32 => options.precision != Precision::I16,
        Precision::I16 => device.backend() != Backend::Cpu,
        _ => true,
    });
    let way = ways.iter().find_map(|(way, spot, options)| {
        let memory = SpotSolver::builder(spot).options(*options).memory_needed(device).ok()?;
        let is_smaller = memory != *plan.memory_needed() && fits(&memory);
        is_smaller.then(|| format!("{way}: {memory}"))
    });
    let way = way.unwrap_or_else(|| "fewer sizes, fewer raises or narrower ranges".to_string());
    Ok(match is_resumed {
        false => format!("it would fit with {way}"),
        true => format!(
            "a resumed solve keeps the spot and the options of its file: free memory, or use a device with more; solved from its beginning, without --resume, it would fit with {way}"
        ),
    })
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
        let value = if report.icm_base.is_some() { "value, prizes" } else { "value, chips" };
        text += &Table::new(&["hand", value, "equity", "first decision"]).words_at(3).rows(&rows);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;

    #[test]
    fn a_resumed_solve_is_not_told_to_change_what_it_keeps() {
        let spot = Spot::parse(
            r#"{"pot": 10, "effective_stack": 30, "bet_fraction_of_pot": 1, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c", "ranges": ["AA,KK", "QQ,AKs"]}"#,
        )
        .expect("a spot");
        let folder = tempfile::tempdir().expect("a folder");
        let (path, device) = (folder.path().join("a.spot"), Device::cpu());
        let new = SpotSolver::builder(&spot).iterations(2);
        let plan = new.plan(&device).expect("a plan");
        let most = plan.memory_needed().host();
        let said = |builder: &SpotSolverBuilder, is_resumed, most: u64| {
            let plan = builder.plan(&device).expect("a plan");
            advice(builder, &plan, is_resumed, &device, |memory| memory.host() <= most).expect("an advice")
        };
        // All that needs less than it does, or nothing.
        assert!(said(&new, false, most - 1).starts_with("it would fit with \"max_raises\" of 1: "));
        assert_eq!(said(&new, false, 0), "it would fit with fewer sizes, fewer raises or narrower ranges");
        let mut solver = new.checkpoint(&path).build(&device).expect("a solver");
        solver.run(|_| ControlFlow::Continue(())).expect("solved");
        let resumed = SpotSolver::resume(&path).expect("a file");
        // A new solve does not hold the tables of the file.
        let text = said(&resumed, true, most);
        assert!(
            text.starts_with("a resumed solve keeps the spot and the options of its file: free memory, "),
            "{text}"
        );
        assert!(text.contains("without --resume, it would fit with the same options: "), "{text}");
    }
}
