//! Section 5.5: sequences a level decide, buckets do not.

use std::sync::Arc;

use warpplay::Backend;
use warpplay::cfr::GameDef;

use super::measure::{deals_to_touch, milliseconds, obstacle};
use super::thesis::Thesis;
use crate::cfr_thesis::options::{Options, Program};
use crate::cfr_thesis::plan::Plan;
use crate::cfr_thesis::published::Variant;
use crate::cfr_thesis::sweep::{Point, bucket_game, crossover, sweep_game};
use crate::experiment::statistics::{least, median, most};
use crate::experiment::{Axis, Cell, Chart, Figure, Item, Line, Run, Sheet, Stop, Table, text};

/// A game laid out, milliseconds of programs on it, `None` where one does not run here, and the reasons.
type Times = (Arc<Plan>, Vec<Option<f64>>, Vec<String>);

/// Times programs on a game, on tables that have been used before.
fn times(
    thesis: &Thesis,
    key: &str,
    game: &GameDef,
    programs: &[Program],
    n: u32,
    run: &mut Run<'_>,
) -> Result<Times, Stop> {
    let plan = Arc::new(Plan::of(game)?);
    let (mut ms, mut reasons) = (Vec::new(), Vec::new());
    for &program in programs {
        let options = Options { program, ..thesis.settings.options };
        let key = format!("{key} {program}");
        if let Some(reason) = obstacle(&key, &plan, &options, run)? {
            ms.push(None);
            reasons.push(reason);
            continue;
        }
        let before = n.div_ceil(10).max(deals_to_touch(program, plan.n_buckets));
        let sizes = (before, n, thesis.repeats(run.quick()));
        let (_, values) = milliseconds(&key, &plan, &options, sizes, run)?;
        ms.push(Some(median(&values)));
    }
    Ok((plan, ms, reasons))
}

/// The programs that are compared: those of the CPU, then that of the GPU.
const PROGRAMS: [Program; 3] = [Program::Recursive, Program::Iterative, Program::Levels];

/// Raises of games of two players, beside those of all: section 6.1 expects the GPU to win there where they are many.
const MANY_RAISES: [u32; 2] = [16, 64];

/// A game of two players, and a program of the CPU.
struct TwoPlayers {
    raises: u32,
    /// Sequences of the level that has most of them.
    widest: u32,
    /// How many times as long the program of the GPU takes as that of the CPU.
    slower: f64,
}

/// What games of two players say of section 6.1.
fn of_two_players(games: &[TwoPlayers]) -> Option<String> {
    let raises = games.iter().map(|game| game.raises).max()?;
    let widest = games.iter().map(|game| game.widest).max()?;
    let slower: Vec<f64> = games.iter().map(|game| game.slower).collect();
    let always = if least(&slower) > 1.0 { "is" } else { "is not" };
    Some(format!(
        "Section 6.1 expects the GPU to win with two players too, if the maximum of raises is large. Here, with up to {raises} raises, no level has more than {widest} sequences, and \
         \"iterative, GPU\" {always} the slower program at every point of two players: it takes {:.1} to {:.1} times as long as a program of the CPU.",
        least(&slower),
        most(&slower)
    ))
}

/// Where the program of the GPU becomes the faster one.
fn of_crossover(points: &[Point]) -> String {
    match crossover(points) {
        [Some(slower), Some(faster)] => format!(
            "\"iterative, GPU\" becomes the faster program between {slower:.1} sequences a level, the last point where it is slower, and {faster:.1}: from there on it is faster at every point."
        ),
        [None, Some(_)] => "\"iterative, GPU\" is the faster program at every point.".into(),
        [_, None] => "\"iterative, GPU\" is not the faster program at the point of the most sequences a level.".into(),
    }
}

/// Players × raises, with 13 buckets.
pub fn sweep(thesis: &Thesis, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let (players, raises, many, n): (&[usize], &[u32], &[u32], u32) = match run.quick() {
        true => (&[2, 3], &[1, 2], &[], 5),
        false => (&[2, 3, 4, 5, 6], &[1, 2, 3, 4], &MANY_RAISES, 50),
    };
    let mut table = Table::new("13 buckets; ms an iteration, median")
        .column("players")
        .column("raises")
        .column("sequences")
        .digits("sequences a level", 1)
        .column(PROGRAMS[0].label())
        .column(PROGRAMS[1].label())
        .column(PROGRAMS[2].label())
        .digits("recursive / iterative, GPU", 2)
        .digits("iterative, CPU / iterative, GPU", 2);
    // Of the programs of the CPU, each against that of the GPU.
    let mut points: [Vec<Point>; 2] = Default::default();
    let (mut of_two, mut left_out) = (Vec::new(), Vec::new());
    for &players in players {
        let more = if players == 2 { many } else { &[] };
        for &raises in raises.iter().chain(more) {
            let game = sweep_game(players, raises, 13)?;
            let key = format!("sweep {players} {raises}");
            let (plan, ms, reasons) = times(thesis, &key, &game, &PROGRAMS, n, run)?;
            let sequences = plan.sequences.sequences.len();
            let per_level = sequences as f64 / plan.sequences.levels.len() as f64;
            let both = [ms[0].zip(ms[2]), ms[1].zip(ms[2])];
            let [recursive, iterative] = both.map(|both| Cell::from(both.map(|(cpu, gpu)| cpu / gpu)));
            table.row([
                players.into(),
                raises.into(),
                sequences.into(),
                per_level.into(),
                ms[0].into(),
                ms[1].into(),
                ms[2].into(),
                recursive,
                iterative,
            ]);
            for (points, both) in points.iter_mut().zip(both) {
                points.extend(both.map(|(cpu_ms, gpu_ms)| Point { per_level, cpu_ms, gpu_ms }));
            }
            if players == 2 {
                let widest = plan.sequences.levels.iter().map(|level| level.end - level.start).max().unwrap_or(0);
                let of = |(cpu, gpu): (f64, f64)| TwoPlayers { raises, widest, slower: gpu / cpu };
                of_two.extend(both.into_iter().flatten().map(of));
            }
            left_out.extend(reasons);
        }
    }
    left_out.dedup();
    let mut sheet = Sheet::new(item).table(table);
    let line = |(program, points): (&Program, &Vec<Point>)| {
        let mut ratios: Vec<[f64; 2]> =
            points.iter().map(|point| [point.per_level, point.cpu_ms / point.gpu_ms]).collect();
        ratios.sort_by(|a, b| a[0].total_cmp(&b[0]));
        Line { name: program.label().into(), points: ratios, ..Line::default() }
    };
    let lines: Vec<Line> = PROGRAMS.iter().zip(&points).map(line).filter(|line| !line.points.is_empty()).collect();
    if !lines.is_empty() {
        sheet = sheet.figure(Figure {
            file: item.name.into(),
            title: "How many times as long the programs of the CPU take as the iterative one of the GPU".into(),
            x: Axis::log("sequences a level"),
            y: Axis::log("CPU / GPU"),
            chart: Chart::Lines(lines),
        });
        if run.device().backend() == Backend::Cuda {
            for (program, points) in PROGRAMS.iter().zip(&points) {
                sheet = sheet.note(format!("Against \"{}\", {}", program.label(), of_crossover(points)));
            }
            if let Some(said) = of_two_players(&of_two) {
                sheet = sheet.note(said);
            }
        }
    }
    sheet.left_out.extend(left_out);
    Ok(sheet.note("Printed of the GPU's program: with 1.33 sequences a level (variants A and B) slower than both programs of the CPU; with 1,013.6 (C) faster than the recursive and slower than the iterative one; with 20,553 (D) faster than both."))
}

/// The betting of A and B with 630 to 8,347,680 buckets.
pub fn buckets(thesis: &Thesis, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
    let (boards, n): (&[usize], u32) = if run.quick() { (&[0, 2], 50) } else { (&[0, 1, 2, 3, 4, 5], 2_000) };
    let mut table = Table::new("4 sequences, used tables; µs an iteration, median")
        .column("cards of the board")
        .column("buckets")
        .digits(PROGRAMS[0].label(), 3)
        .digits(PROGRAMS[1].label(), 3)
        .digits(PROGRAMS[2].label(), 3);
    let mut lines: Vec<Line> =
        PROGRAMS.map(|program| Line { name: program.label().into(), ..Line::default() }).to_vec();
    let (mut left_out, mut most_buckets) = (Vec::new(), 0);
    for &board in boards {
        let game = bucket_game(board)?;
        let (plan, ms, reasons) = times(thesis, &format!("buckets {board}"), &game, &PROGRAMS, n, run)?;
        let us = |at: usize| ms[at].map(|ms| ms * 1e3);
        most_buckets = most_buckets.max(plan.n_buckets);
        table.row([board.into(), plan.n_buckets.into(), us(0).into(), us(1).into(), us(2).into()]);
        for (line, us) in lines.iter_mut().zip([us(0), us(1), us(2)]) {
            line.points.extend(us.map(|us| [f64::from(plan.n_buckets), us]));
        }
        left_out.extend(reasons);
    }
    left_out.dedup();
    lines.retain(|line| !line.points.is_empty());
    let mut published = Table::new("printed, runs of 10,000 iterations; µs an iteration")
        .column("variant")
        .column("buckets")
        .digits(PROGRAMS[0].label(), 3)
        .digits(PROGRAMS[1].label(), 3)
        .digits(PROGRAMS[2].label(), 3);
    for variant in [Variant::A, Variant::B] {
        let us = |program| variant.times(program).map(|times| times.last().milliseconds() * 1e3);
        let [recursive, iterative, gpu] = PROGRAMS.map(|program| Cell::from(us(program)));
        published.row([variant.letter().into(), variant.counts().buckets.into(), recursive, iterative, gpu]);
    }
    let mut notes = Vec::new();
    for line in &lines {
        let (Some([fewest, least_us]), Some([most, most_us])) = (line.points.first(), line.points.last()) else {
            continue;
        };
        notes.push(format!(
            "{}: {:.2} times as long with {} buckets as with {}.",
            line.name,
            most_us / least_us,
            text::number(*most, None),
            text::number(*fewest, None)
        ));
    }
    notes.push(format!(
        "Before the clock starts the programs of the CPU play at least eight times as many deals as the rows of a sequence have pages of 4 KB, with {} buckets {}: all but 0.03 % of the pages \
         have been touched. Items table10 and table11 have these programs on new tables too.",
        text::number(f64::from(most_buckets), None),
        text::number(f64::from(deals_to_touch(Program::Recursive, most_buckets)), None)
    ));
    let mut sheet = Sheet::new(item).table(table).table(published).figure(Figure {
        file: item.name.into(),
        title: "Times by the number of buckets".into(),
        x: Axis::log("buckets"),
        y: Axis::log("µs an iteration"),
        chart: Chart::Lines(lines),
    });
    sheet.left_out.extend(left_out);
    Ok(notes.into_iter().fold(sheet, Sheet::note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_the_crossover_follows_the_points() {
        let point = |per_level, gpu_ms| Point { per_level, cpu_ms: 1.0, gpu_ms };
        let of = |points: &[Point]| of_crossover(points);
        // In no order: a slower point among faster ones moves it behind itself.
        let between = of(&[point(300.0, 0.5), point(4.0, 9.0), point(200.0, 1.5), point(100.0, 0.5)]);
        let expected = "becomes the faster program between 200.0 sequences a level, the last point where it is slower, and 300.0: ";
        assert!(between.contains(expected), "{between}");
        assert!(of(&[point(4.0, 0.5)]).ends_with("is the faster program at every point."));
        let never = of(&[point(100.0, 0.5), point(300.0, 1.0)]);
        assert!(never.contains("is not the faster program at the point of the most"), "{never}");
    }

    #[test]
    fn what_is_said_of_two_players_follows_the_record() {
        let of = |slower: &[f64]| {
            let game = |(&slower, raises): (&f64, u32)| TwoPlayers { raises, widest: 2, slower };
            of_two_players(&slower.iter().zip(1..).map(game).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), None);
        let slower = of(&[70.0, 12.5, 30.0]).expect("games");
        assert!(slower.contains("up to 3 raises, no level has more than 2 sequences"), "{slower}");
        assert!(slower.contains("is the slower program") && slower.contains("12.5 to 70.0 times"), "{slower}");
        let even = of(&[70.0, 0.9]).expect("games");
        assert!(even.contains("is not the slower program at every point"), "{even}");
    }
}
