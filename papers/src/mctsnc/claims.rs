//! What the text claims beside its tables, and the settings of the tournaments on the empty board, on the run's device and by the CPU reference.

use warpplay::mcts::contest::wilson_percent;
use warpplay::mcts::{Connect4, Gomoku, Options as SearchOptions, Variant};
use warpplay::{Backend, Device};

use super::matches::scores;
use super::options::{Limits, Options, Purpose, counted, shrunk};
use super::published::tournaments::TABLE_2;
use super::published::{
    EIGHT_TREES_COST_PERCENT, GAMES, GRID_PLAYOUTS, GRID_TREES, GameId, PRODIGAL_STEPS, Published, TOURNAMENTS,
};
use super::searches::{playouts_per_second, search, search_on, steps_per_second};
use super::tournament;
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table, statistics};

/// A search of the empty board of Connect 4.
struct Measured {
    variant: Variant,
    m: u32,
    n_trees: u32,
    steps: f64,
    playouts: f64,
    mean_depth: f64,
    max_depth: f64,
}

/// m or T of a search.
type Setting = fn(&Measured) -> u32;

/// What a search reaches.
type Value = fn(&Measured) -> f64;

/// m and T.
const SETTINGS: [(&str, Setting); 2] = [("m", |of| of.m), ("T", |of| of.n_trees)];

/// What is said to grow or to fall with them.
const VALUES: [(&str, Value); 4] = [
    ("mean depth", |of| of.mean_depth),
    ("max depth", |of| of.max_depth),
    ("steps/s", |of| of.steps),
    ("playouts/s", |of| of.playouts),
];

/// A value at the largest of a setting for one at the least, of means over the other setting.
fn growth(measured: &[Measured], variant: Variant, setting: Setting, value: Value) -> f64 {
    let of: Vec<(u32, f64)> =
        measured.iter().filter(|of| of.variant == variant).map(|of| (setting(of), value(of))).collect();
    let mean = |end: Option<u32>| {
        let values: Vec<f64> = of.iter().filter(|(at, _)| Some(*at) == end).map(|(_, value)| *value).collect();
        statistics::mean(&values)
    };
    let settings = || of.iter().map(|(at, _)| *at);
    mean(settings().max()) / mean(settings().min())
}

/// What section 4.1 says in words of Figs. 3 and 4, and what the searches say of it.
fn in_words(measured: &[Measured], folds: [u32; 2]) -> Table {
    let [(_, m), (_, n_trees)] = SETTINGS;
    let [(_, mean_depth), (_, max_depth), (_, steps), (_, playouts)] = VALUES;
    let growths = |variants: &[Variant], setting: Setting, value: Value| -> Vec<f64> {
        variants.iter().map(|&variant| growth(measured, variant, setting, value)).collect()
    };
    let grows = |value: Value| {
        let n = |setting: Setting| growths(Variant::ALL, setting, value).iter().filter(|&&times| times > 1.0).count();
        format!("grows with m in {} of {} variants, with T in {}", n(m), Variant::ALL.len(), n(n_trees))
    };
    let times = |variants: &[Variant], value: Value| {
        let range = |setting: Setting| {
            let of = growths(variants, setting, value);
            format!("{:.2} to {:.2}", statistics::least(&of), statistics::most(&of))
        };
        format!("times {} by {} times the m, {} by {} times the T", range(m), folds[0], range(n_trees), folds[1])
    };
    // Fig. 4 has these two.
    let prodigal = [Variant::OcpProdigal, Variant::AcpProdigal];
    let mut table = Table::new("claims in words, and what the searches of the empty board below show")
        .column("claim")
        .column("location")
        .column("ours");
    for (claim, figure, ours) in [
        ("every variant outplays the vanilla player", "Fig. 3", "item figure3".to_string()),
        ("scores improve with m and with T", "Fig. 3", "item figure3".into()),
        ("all children score higher than one child", "Fig. 3", "item figure3".into()),
        ("the mean depth grows with m and with T", "Fig. 3", grows(mean_depth)),
        ("the largest depth grows with m and with T", "Fig. 3", grows(max_depth)),
        ("steps fall only slightly with m and T", "Fig. 3", times(Variant::ALL, steps)),
        (
            "the limits of the GPU's throughput are reached",
            "Fig. 4",
            format!("playouts/s of prodigal searches {}", times(&prodigal, playouts)),
        ),
        ("ACP makes over three orders of magnitude more playouts/s than vanilla", "Fig. 4", "item figure4".into()),
    ] {
        table.row([claim.into(), format!("section 4.1, {figure}").into(), ours.into()]);
    }
    table
}

/// The factors behind [`in_words`].
fn factors(measured: &[Measured], settings: [&[u32]; 2]) -> Table {
    let mut table = Table::new("a value at the largest m or T for one at the least, of means over the other")
        .column("variant")
        .column("setting")
        .column("from")
        .column("to");
    for (head, _) in VALUES {
        table = table.digits(head, 3);
    }
    for &variant in Variant::ALL {
        for ((name, setting), of) in SETTINGS.into_iter().zip(settings) {
            let mut row: Vec<Cell> = vec![variant.to_string().into(), name.into()];
            row.extend([Cell::from(of.iter().min().copied()), of.iter().max().copied().into()]);
            row.extend(VALUES.map(|(_, value)| Cell::from(growth(measured, variant, setting, value))));
            table.row(row);
        }
    }
    table
}

/// Section 4.1: steps of prodigal and thrifty searches, of many trees and one; and who wins.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let quick = run.quick();
    let limits = options.size(Purpose::Search, quick).limits;
    let (trees, playouts): (&[u32], &[u32]) = if quick { (&[1, 8], &[1, 2]) } else { (&GRID_TREES, &GRID_PLAYOUTS) };
    run.expect((trees.len() * playouts.len() * Variant::ALL.len()) as u64);
    let mut table = Table::new(format!("steps a second on the empty board of Connect 4, {} each", limits.text()));
    table = table.column("m").column("T");
    for variant in Variant::ALL {
        table = table.digits(variant.to_string(), 1);
    }
    table = table.digits("ocp, prodigal / thrifty", 3).digits("acp, prodigal / thrifty", 3);
    let mut measured = Vec::new();
    for &m in playouts {
        for &n_trees in trees {
            let mut of = Vec::new();
            for &variant in Variant::ALL {
                let key = format!("claims {variant} m {m} T {n_trees}");
                let search_options = options.search(variant, n_trees, m, limits);
                let (result, timed) = search(run, &key, &Connect4::new(), &search_options, false)?;
                of.push(Measured {
                    variant,
                    m,
                    n_trees,
                    steps: steps_per_second(&result, &timed),
                    playouts: playouts_per_second(&result, &timed),
                    mean_depth: result.trees.mean_depth,
                    max_depth: f64::from(result.trees.max_depth),
                });
            }
            let rate = |variant| of.iter().find(|of| of.variant == variant).map_or(f64::NAN, |of| of.steps);
            let mut row: Vec<Cell> = vec![m.into(), n_trees.into()];
            row.extend(of.iter().map(|of| Cell::from(of.steps)));
            row.push((rate(Variant::OcpProdigal) / rate(Variant::OcpThrifty)).into());
            row.push((rate(Variant::AcpProdigal) / rate(Variant::AcpThrifty)).into());
            table.row(row);
            measured.extend(of);
        }
    }
    let mean = |wanted: &dyn Fn(Variant, u32) -> bool| {
        let of: Vec<f64> = measured.iter().filter(|of| wanted(of.variant, of.n_trees)).map(|of| of.steps).collect();
        statistics::mean(&of)
    };
    let prodigal = mean(&|variant, _| !variant.is_thrifty()) / mean(&|variant, _| variant.is_thrifty());
    let cost = 100.0 * (1.0 - mean(&|_, n_trees| n_trees == 8) / mean(&|_, n_trees| n_trees == 1));
    let games = tournament::direct::<Connect4>(run, options, &TABLE_2, [2, 4])?;
    let direct = scores(&games);

    let mut claims = Table::new("claims")
        .column("claim")
        .column("location")
        .digits("published", 2)
        .digits("its tables", 2)
        .digits("ours", 2);
    let tables = |prodigal, thrifty| TABLE_2.reached(prodigal)[1] / TABLE_2.reached(thrifty)[1];
    claims.row([
        "steps of a prodigal search for one of a thrifty".into(),
        "section 4.1".into(),
        PRODIGAL_STEPS.into(),
        ((tables(2, 1) + tables(4, 3)) / 2.0).into(),
        prodigal.into(),
    ]);
    claims.row([
        "steps that 8 trees cost against 1, %".into(),
        "section 4.1".into(),
        EIGHT_TREES_COST_PERCENT.into(),
        Cell::Empty,
        cost.into(),
    ]);
    let cell = TABLE_2.cells[4][2];
    claims.row([
        "ACP-PRODIGAL against OCP-PRODIGAL, %".into(),
        "section 4.1, Table 2".into(),
        cell.map(|cell| cell.score).into(),
        cell.map(|cell| cell.score).into(),
        direct.b.score_percent.into(),
    ]);
    let fold = |of: &[u32]| of.iter().max().zip(of.iter().min()).map_or(1, |(most, least)| most / least);
    let mut sheet = Sheet::new(item)
        .table(claims)
        .table(in_words(&measured, [fold(playouts), fold(trees)]))
        .table(factors(&measured, [playouts, trees]))
        .table(table);
    if let (Some(ours), Some(cell)) = (direct.b.interval_percent, cell) {
        sheet = sheet.note(direct_note(ours, games.len() as u64, cell.score));
    }
    sheet = sheet.note("`its tables` is the mean of what the steps of Table 2 give: 6.2 / 4.5, of C with m = 256 and B with 128, and 5.4 / 3.9, of E and D with 256 both.");
    if run.device().backend() == Backend::Cpu {
        sheet = sheet.left_out(
            "Prodigal against thrifty on the CPU: both are the same search there, so their ratio is 1 but for chance.",
        );
    }
    Ok(sheet)
}

/// What the direct match says about ACP-PRODIGAL against OCP-PRODIGAL: the 95 % interval of our score over `games`, and of the published score in percent.
fn direct_note(ours: [f64; 2], games: u64, published: f64) -> String {
    let words = |[low, high]: [f64; 2]| {
        let verdict = match (low > 50.0, high < 50.0) {
            (true, _) => "is above 50 %",
            (_, true) => "is below 50 %",
            _ => "holds 50 %",
        };
        format!("{low:.1} to {high:.1} %, which {verdict}")
    };
    // A hundred games: there is an interval.
    let theirs = wilson_percent(published, GAMES.into()).unwrap_or_default();
    format!(
        "ACP-PRODIGAL against OCP-PRODIGAL, 95 % intervals: ours over {} {}; the published {published:.1} % over {GAMES} games {}.",
        counted(games, "game", "games"),
        words(ours),
        words(theirs)
    )
}

/// Seconds of a search by the CPU reference. It ends with the step in which they pass, and in Gomoku a step of all children takes a core about as long.
const CPU_SECONDS: f64 = 1.0;

/// Steps and playouts a second of the plain CPU reference on the empty board, with so many threads; `None` for all. The thrifty and the prodigal form are one search there, so they
/// are one measurement.
fn on_the_cpu(
    run: &mut Run<'_>,
    options: &Options,
    published: &Published,
    threads: Option<usize>,
) -> Result<[f64; 2], Stop> {
    let quick = run.quick();
    let [n_trees, n_playouts] = shrunk([published.n_trees, published.n_playouts], quick);
    let limits = Limits { steps: options.steps, seconds: Some(if quick { 5e-4 } else { CPU_SECONDS }) };
    let search_options = SearchOptions { threads, ..options.search(published.variant, n_trees, n_playouts, limits) };
    let children = if published.variant.plays_all_children() { "acp" } else { "ocp" };
    let by = if threads.is_some() { "one thread" } else { "all threads" };
    let key = |game: &str| format!("speed cpu {game} {children} m {n_playouts}, {by}");
    let device = Device::cpu();
    let (result, timed) = match published.game {
        GameId::Connect4 => search_on(run, &device, &key("connect4"), &Connect4::new(), &search_options, false)?,
        GameId::Gomoku => search_on(run, &device, &key("gomoku"), &Gomoku::new(), &search_options, false)?,
    };
    Ok([steps_per_second(&result, &timed), playouts_per_second(&result, &timed)])
}

/// The searches of [`TOURNAMENTS`] by the CPU reference; `rates` are steps and playouts a second of the run's device.
fn cpu_table(run: &mut Run<'_>, options: &Options, rates: &[[f64; 2]]) -> Result<Table, Stop> {
    let quick = run.quick();
    let mut table = Table::new(format!(
        "the same searches by the plain CPU reference, at most {} s and the step begun: with one thread, and with all ({})",
        if quick { 5e-4 } else { CPU_SECONDS },
        run.cpu_threads()
    ))
    .column("game")
    .column("variant")
    .column("T, m");
    for (head, digits) in [("steps/s", 2), ("playouts/s", 0)] {
        table = table
            .digits(format!("{head}, one thread"), digits)
            .digits(format!("{head}, all threads"), digits)
            .digits(format!("{head}, all / one"), 2)
            .digits(format!("{head}, device / all"), 2);
    }
    // On the CPU the device of the run is these threads.
    let is_cpu = run.device().backend() == Backend::Cpu;
    for (published, rates) in TOURNAMENTS.iter().zip(rates) {
        let one = on_the_cpu(run, options, published, Some(1))?;
        let all = on_the_cpu(run, options, published, None)?;
        let game = match published.game {
            GameId::Connect4 => "connect4",
            GameId::Gomoku => "gomoku",
        };
        let [n_trees, n_playouts] = shrunk([published.n_trees, published.n_playouts], quick);
        let mut row: Vec<Cell> =
            vec![game.into(), published.variant.to_string().into(), format!("{n_trees}, {n_playouts}").into()];
        for ((one, all), device) in one.into_iter().zip(all).zip(rates) {
            row.extend([one.into(), all.into(), (all / one).into(), (!is_cpu).then(|| device / all).into()]);
        }
        table.row(row);
    }
    Ok(table)
}

/// What full trees mean for the rates.
fn full_note(full: &[String]) -> String {
    format!(
        "Trees were full in {}. A leaf that is refused its children is played out itself: m playouts and no new nodes, where one with room makes b nodes and, if all children are played, b m playouts. \
         Such steps are short, so the ratio of steps/s does not compare like with like; with all children played, that of playouts/s compares work. `refused` is the share of such leaves; more \
         --memory leaves fewer.",
        full.join(", ")
    )
}

/// The settings of Tables 2 and 3 on the empty board.
pub(super) fn speed(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let quick = run.quick();
    // On the device, and twice by the CPU reference.
    run.expect(3 * TOURNAMENTS.len() as u64);
    let mut table = Table::new("a search of the empty board (ours) beside the means over the games (published)");
    for head in ["game", "variant", "T, m", "limit"] {
        table = table.column(head);
    }
    for head in ["steps/s", "playouts/s"] {
        table = table
            .digits(format!("{head}, published"), 1)
            .digits(format!("{head}, ours"), 1)
            .digits(format!("{head}, ratio"), 2);
    }
    table = table.digits("playouts of a step / T m, published", 2).digits("playouts of a step / T m, ours", 2);
    for head in ["mean depth", "max depth"] {
        table = table.digits(format!("{head}, published"), 2).digits(format!("{head}, ours"), 2);
    }
    table = table.column("full trees").digits("refused, %", 1).column("engine");
    let (mut rates, mut full) = (Vec::new(), Vec::new());
    for published in &TOURNAMENTS {
        let [n_trees, n_playouts] = shrunk([published.n_trees, published.n_playouts], quick);
        let mut limits = options.size(Purpose::Search, quick).limits;
        // Without a limit of the caller's, the paper's time: the rates of longer searches differ little, their depths do.
        if !quick && options.seconds.is_none() && options.steps.is_none() {
            limits.seconds = Some(published.seconds);
        }
        let search_options = options.search(published.variant, n_trees, n_playouts, limits);
        let (game, key) = match published.game {
            GameId::Connect4 => ("connect4", format!("speed connect4 {}", published.variant)),
            GameId::Gomoku => ("gomoku", format!("speed gomoku {}", published.variant)),
        };
        let (result, timed) = match published.game {
            GameId::Connect4 => search(run, &key, &Connect4::new(), &search_options, false)?,
            GameId::Gomoku => search(run, &key, &Gomoku::new(), &search_options, false)?,
        };
        let mut row: Vec<Cell> = vec![
            game.into(),
            published.variant.to_string().into(),
            format!("{n_trees}, {n_playouts}").into(),
            limits.text().into(),
        ];
        let reached = [steps_per_second(&result, &timed), playouts_per_second(&result, &timed)];
        for (theirs, ours) in [published.steps_per_second(), published.playouts_per_second()].into_iter().zip(reached) {
            row.extend([theirs.into(), ours.into(), (ours / theirs).into()]);
        }
        let batches = |playouts: f64, steps: f64, [n_trees, m]: [u32; 2]| playouts / steps / f64::from(n_trees * m);
        let theirs = batches(published.playouts, published.steps, [published.n_trees, published.n_playouts]);
        let ours = batches(result.playouts as f64, result.steps as f64, [n_trees, n_playouts]);
        row.extend([Cell::from(theirs), ours.into()]);
        rates.push(reached);
        if result.trees.full > 0 {
            full.push(format!("{game} {}", published.variant));
        }
        row.extend([published.mean_depth.into(), result.trees.mean_depth.into()]);
        row.extend([published.max_depth.into(), result.trees.max_depth.into()]);
        let refused = 100.0 * result.trees.refused as f64 / (result.steps * u64::from(n_trees)) as f64;
        row.extend([result.trees.full.into(), refused.into(), timed.engine.to_string().into()]);
        table.row(row);
    }
    let mut sheet = Sheet::new(item).table(table).table(cpu_table(run, options, &rates)?);
    if !full.is_empty() {
        sheet = sheet.note(full_note(&full));
    }
    Ok(sheet.note(
        "`playouts of a step / T m`: 1 where one child is played out; where all are, the mean number of children, a leaf without them counted as 1. Published: the mean over the games.",
    )
    .note("The CPU reference's thrifty and prodigal searches are the same one. Its trees are those of a short search: smaller than the device's, and not full where those are; playouts/s then compares work."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches of all variants with m and T of 1 and 4, whose values are products of powers of both.
    fn measured(depth_by_trees: f64) -> Vec<Measured> {
        let settings = [(1, 1), (1, 4), (4, 1), (4, 4)];
        let of = |variant, (m, n_trees): (u32, u32)| {
            let [by_m, by_t] = [m, n_trees].map(f64::from);
            Measured {
                variant,
                m,
                n_trees,
                steps: 1.0 / by_m.sqrt(),
                playouts: by_m * by_t.sqrt(),
                mean_depth: by_m.sqrt() * by_t.powf(depth_by_trees),
                max_depth: by_m * by_t,
            }
        };
        Variant::ALL.iter().flat_map(|&variant| settings.map(|at| of(variant, at))).collect()
    }

    #[test]
    fn growth_is_from_the_least_to_the_largest_setting() {
        let [(_, m), (_, n_trees)] = SETTINGS;
        let found = VALUES
            .map(|(_, value)| [m, n_trees].map(|setting| growth(&measured(-0.5), Variant::AcpThrifty, setting, value)));
        let expected = [[2.0, 0.5], [4.0, 4.0], [0.5, 1.0], [4.0, 2.0]];
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
        }
    }

    #[test]
    fn claims_in_words_are_judged_by_the_searches() {
        let ours = |depth_by_trees: f64, row: usize| match &in_words(&measured(depth_by_trees), [4, 4]).rows[row][2] {
            Cell::Text(text) => text.clone(),
            other => panic!("no words: {other:?}"),
        };
        assert_eq!(ours(-0.5, 3), "grows with m in 4 of 4 variants, with T in 0");
        assert_eq!(ours(0.5, 3), "grows with m in 4 of 4 variants, with T in 4");
        assert_eq!(ours(0.5, 5), "times 0.50 to 0.50 by 4 times the m, 1.00 to 1.00 by 4 times the T");
        assert_eq!(
            ours(0.5, 6),
            "playouts/s of prodigal searches times 4.00 to 4.00 by 4 times the m, 2.00 to 2.00 by 4 times the T"
        );
        let settings: [&[u32]; 2] = [&[1, 4], &[1, 4]];
        let table = factors(&measured(0.5), settings);
        assert_eq!(table.rows.len(), 2 * Variant::ALL.len());
        assert_eq!(table.rows[0][2..4], [Cell::Number(1.0), Cell::Number(4.0)]);
    }

    #[test]
    fn the_note_on_the_direct_match_follows_from_both_intervals() {
        // Wilson's interval of 56.5 % of 100 games is 46.7 to 65.8 %, of 84 % 75.6 to 89.9 %, of 16 % its mirror image.
        let cases = [
            (
                [40.0, 70.0],
                6,
                56.5,
                "over 6 games 40.0 to 70.0 %, which holds 50 %",
                "46.7 to 65.8 %, which holds 50 %",
            ),
            (
                [51.0, 90.0],
                1,
                84.0,
                "over 1 game 51.0 to 90.0 %, which is above",
                "75.6 to 89.9 %, which is above 50 %",
            ),
            ([5.0, 49.0], 9, 16.0, "over 9 games 5.0 to 49.0 %, which is below", "10.1 to 24.4 %, which is below 50 %"),
        ];
        for (ours, games, published, of_ours, of_published) in cases {
            let note = direct_note(ours, games, published);
            assert!(note.contains(of_ours), "{note}");
            assert!(note.ends_with(&format!("{published:.1} % over 100 games {of_published}.")), "{note}");
        }
    }
}
