//! `solve-boards`: a hold'em spot on many boards.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::cfr::spot::{BoardGroup, BoardMean, SpotTarget, Texture};
use warpplay::cfr::{Aggregate, Boards, Options, SolvedSpot, Spot, SpotRun, SpotSolver, solve_boards};
use warpplay::journal::Target;
use warpplay::ranks::{self, Ranks};
use warpplay::{Device, Error, input_file};

use crate::cfr::args::SolveBoardsArgs;
use crate::cfr::kinds::{self, Kind};
use crate::cfr::saved;
use crate::cfr::solve_spot::expect_fits;
use crate::common::table::{Table, count, fixed, seconds, significant, thousands};
use crate::common::{self, OutputFile, Usage, group, interrupted};

/// Maximum size of a file of boards, well above all flops with weights.
const MAX_BYTES: u64 = 1 << 20;

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    spot: &'a Spot,
    options: &'a Options,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<SpotTarget>,
    device_name: String,
    mean: Option<BoardMean>,
    groups: Vec<BoardGroup>,
    report: &'a Aggregate,
}

/// Runs the command.
pub fn run(args: &SolveBoardsArgs) -> Result<()> {
    args.output.start_log();
    group::join("solve-boards", |ranks| in_group(args, ranks))
}

fn in_group(args: &SolveBoardsArgs, ranks: &dyn Ranks) -> Result<()> {
    let (leads, size) = (ranks.rank() == 0, ranks.size());
    let journal = args.journal.target().map(|target| of_rank(target, ranks.rank()));
    check_files(args)?;
    let prepare = |path: &Option<PathBuf>| OutputFile::prepare_option(path.as_deref().filter(|_| leads));
    let (json, csv, html) = (prepare(&args.output.json)?, prepare(&args.csv)?, prepare(&args.html)?);
    let says = leads && !args.output.quiet;

    let (name, spot) = common::without_results(|| spot(args))?;
    let list = if Path::new(&args.boards).is_file() {
        input_file::read_short_text(Path::new(&args.boards), MAX_BYTES)?
    } else {
        args.boards.clone()
    };
    let boards = common::without_results(|| Boards::parse(&list, &spot)).map_err(|error| of_file(error, args))?;
    let share = boards.share(ranks.rank(), size);
    let devices = args.device.iter().map(|name| ranks::device(ranks, name)).collect::<Result<Vec<_>, _>>()?;
    let options = args.options();
    // Plain data, which always has a JSON form.
    let same = serde_json::to_string(&(&spot, &options, &args.target)).unwrap_or_default();
    ranks::expect_same(ranks, "set of spot, options and boards", &format!("{same} on {list}"))?;
    say_plan(args, says, &spot, &share, options, &devices)?;

    let run = SpotRun { options, target: args.target, journal, ..SpotRun::default() };
    let bar = if leads { args.output.bar(share.len() as u64) } else { indicatif::ProgressBar::hidden() };
    let (began, before, done) = (Instant::now(), AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
    let solved = solve_boards(&devices, &spot, &share, &run, |n| {
        // What the journal has, and what cannot be held, took no time.
        before.fetch_min(n, Ordering::Relaxed);
        done.fetch_max(n, Ordering::Relaxed);
        bar.set_position(n as u64);
        common::until_interrupted()
    })?;
    bar.finish_and_clear();
    let done = done.into_inner().max(solved.rows.len() + solved.blocked.len());
    let mut n_new = [done.saturating_sub(before.into_inner()) as i64];
    ranks.sum(&mut n_new)?;
    let solved = solved.gather(&boards, ranks)?;
    let time = began.elapsed().as_secs_f64();
    if interrupted() && solved.rows.is_empty() {
        common::end_without_results();
    }
    if !leads {
        return Ok(());
    }
    if let Some(csv) = csv {
        csv.write(&solved.csv())?;
    }
    if let Some(html) = html {
        html.write(&solved.html(&format!("{name}: {}", count(solved.rows.len() as u64, "board"))))?;
    }
    let (mean, groups) = (solved.mean(), solved.groups());
    let text = text(&solved, mean.as_ref(), &groups);
    if let Some(json) = json {
        let device_name = devices.first().map(Device::name).unwrap_or_default();
        let facts =
            Facts { spot: &spot, options: &options, target: args.target, device_name, mean, groups, report: &solved };
        json.write_json(&common::Record::new("cfr solve-boards", facts))?;
    }
    if !says {
        return Ok(());
    }
    common::print(text)?;
    let n_new = n_new[0].max(0) as u64;
    if n_new > 0 && time > 0.0 {
        let an_hour = significant((n_new as f64 * 3600.0 / time).round());
        common::print(format!("\n{} in {}: {an_hour} an hour\n", count(n_new, "board"), seconds(time)))?;
    }
    if !solved.is_finished() {
        let n_done = boards.len() - solved.left.len();
        common::print(format!("\nended early: {n_done} of {} boards{}\n", boards.len(), args.journal.go_on()))?;
    }
    Ok(())
}

/// That no file is written over another.
fn check_files(args: &SolveBoardsArgs) -> Result<()> {
    let [resume, checkpoint] = args.journal.paths();
    let boards = Some(Path::new(&args.boards)).filter(|path| path.is_file());
    let read = [("SPOT.json", args.spot.as_deref()), ("--from", args.from.as_deref()), ("--boards", boards), resume];
    let written = [
        ("--json", args.output.json.as_deref()),
        ("--csv", args.csv.as_deref()),
        ("--html", args.html.as_deref()),
        checkpoint,
    ];
    common::expect_apart(&read, &written, &[])
}

/// The spot with its name: that of the file, or what follows a line of a solved one.
fn spot(args: &SolveBoardsArgs) -> Result<(String, Spot)> {
    let stem = |path: &Path| path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if let Some(path) = &args.spot {
        kinds::expect(path, &[Kind::SpotJson])?;
        return Ok((stem(path), Spot::read(path)?));
    }
    let Some(path) = &args.from else {
        return Err(Usage("SPOT.json is needed, or --from FILE.spot with --line".into()).into());
    };
    let line = args.line.as_deref().unwrap_or_default();
    kinds::expect(path, &[Kind::Spot])?;
    let solved = SolvedSpot::open(path)?;
    // Without its `/` the node is the one where the card is dealt.
    let spot = saved::after("--line", solved.at(line.trim_end_matches('/'), &args.board))?.spot()?;
    Ok((format!("{} {line}", stem(path)), spot))
}

/// The journal of a rank: rank 0 has the file itself, others one beside it.
fn of_rank(target: Target, rank: usize) -> Target {
    let beside = |path: PathBuf| {
        let mut name = path.into_os_string();
        name.push(format!(".{rank}"));
        PathBuf::from(name)
    };
    match target {
        target if rank == 0 => target,
        Target::New(path) => Target::New(beside(path)),
        Target::GoOn(path) => match beside(path) {
            // Stopped before this rank began its own.
            path if !path.exists() => Target::New(path),
            path => Target::GoOn(path),
        },
    }
}

/// The file that the spot is from.
fn source(args: &SolveBoardsArgs) -> String {
    let file = args.spot.as_ref().or(args.from.as_ref());
    file.map_or_else(String::new, |path| path.display().to_string())
}

/// An error about the spot, with its file; `--boards` is named by its own.
fn of_file(error: Error, args: &SolveBoardsArgs) -> anyhow::Error {
    match error {
        // No card has a dot or a slash; a dot may stand in a weight, after a colon.
        Error::Option { name: "boards", .. }
            if args.boards.contains(['/', '\\']) || (args.boards.contains('.') && !args.boards.contains(':')) =>
        {
            if Path::new(&args.boards).exists() {
                return error.into();
            }
            Error::file(&args.boards, None, "there is no such file, which --boards names").into()
        }
        Error::Option { name: "boards", .. } => error.into(),
        other => anyhow::Error::from(other).context(source(args)),
    }
}

/// Says what a board will take, and refuses what does not fit.
fn say_plan(
    args: &SolveBoardsArgs,
    says: bool,
    spot: &Spot,
    boards: &Boards,
    options: Options,
    devices: &[Device],
) -> Result<()> {
    let mut candidates: Vec<&str> = boards.iter().map(|board| &*board.cards).collect();
    // Boards with other suits and ranks have the most boards to come that differ, and the largest tables.
    candidates
        .sort_by_key(|board| Texture::of(board).ok().map(|texture| (texture.suits as usize, texture.pairing as usize)));
    for board in candidates {
        let builder = SpotSolver::builder(&spot.on(board)?).options(options).target(args.target);
        for (number, device) in devices.iter().enumerate() {
            let named = || format!("{}, {board}", source(args));
            let plan = match common::without_results(|| builder.plan(device)) {
                // The ranges cannot be held beside this board.
                Err(Error::Option { name: "ranges", .. }) => break,
                plan => plan.with_context(named)?,
            };
            if says && number == 0 {
                common::print(format!("{}, as {board}: {plan}\n", count(boards.len() as u64, "board")))?;
            }
            common::without_results(|| expect_fits(&builder, &plan, false, device)).with_context(named)?;
            if number + 1 == devices.len() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The means, as a table by texture.
fn text(solved: &Aggregate, mean: Option<&BoardMean>, groups: &[BoardGroup]) -> String {
    let mut text = String::new();
    let Some(mean) = mean else { return "no board was solved\n".to_string() };
    let first = mean.decisions.iter().find(|decision| decision.history.is_empty());
    let actions: Vec<&str> = first.map(|first| first.actions.iter().map(String::as_str).collect()).unwrap_or_default();
    let percents: Vec<String> = actions.iter().map(|action| format!("{action} %")).collect();
    let mut heads = vec!["feature", "value", "boards", "stand for", "probability %", "ev 0", "ev 1", "equity 0 %"];
    heads.extend(percents.iter().map(String::as_str));
    let line = |feature: &str, value: &str, mean: &BoardMean| {
        let percent = |part: f64| fixed(100.0 * part, 2);
        let mut cells = vec![
            feature.to_string(),
            value.to_string(),
            thousands(mean.boards as u64),
            significant(mean.weight),
            percent(mean.probability),
            fixed(mean.ev[0], 3),
            fixed(mean.ev[1], 3),
            percent(mean.equity[0]),
        ];
        let first = mean.decisions.iter().find(|decision| decision.history.is_empty());
        cells.extend(actions.iter().map(|action| {
            let at = first.and_then(|first| Some((first, first.actions.iter().position(|name| name == action)?)));
            fixed(at.and_then(|(first, at)| first.frequencies.get(at)).map(|part| 100.0 * part), 2)
        }));
        cells
    };
    let all = line("all", "", mean);
    let rows: Vec<Vec<String>> =
        [all].into_iter().chain(groups.iter().map(|group| line(&group.feature, &group.value, &group.mean))).collect();
    text += &Table::new(&heads).words(2).rows(&rows);
    if let Some(chips) = solved.worst_exploitability() {
        let _ = writeln!(text, "\nexploitability: at most {} on a board", significant(chips));
    }
    if !solved.blocked.is_empty() {
        let _ = writeln!(
            text,
            "{} left out: the ranges cannot be held beside them",
            count(solved.blocked.len() as u64, "board")
        );
    }
    text
}
