//! What the text claims beside its tables, and the settings of the tournaments on the empty board.

use warpplay::mcts::contest::wilson_percent;
use warpplay::mcts::{Connect4, Gomoku, Variant};

use super::matches::scores;
use super::options::{Experiment, Options, counted, shrunk};
use super::published::tournaments::TABLE_2;
use super::published::{
    EIGHT_TREES_COST_PERCENT, GAMES, GRID_PLAYOUTS, GRID_TREES, GameId, PRODIGAL_STEPS, TOURNAMENTS,
};
use super::searches::{playouts_per_second, search, steps_per_second};
use super::tournament;
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table, statistics};

/// Section 4.1: steps of prodigal and thrifty searches, of many trees and one; and who wins.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let quick = run.quick();
    let limits = options.size(Experiment::Search, quick).limits;
    let (trees, playouts): (&[u32], &[u32]) = if quick { (&[1, 8], &[1, 2]) } else { (&GRID_TREES, &GRID_PLAYOUTS) };
    run.expect((trees.len() * playouts.len() * Variant::ALL.len()) as u64);
    let mut table = Table::new(format!("steps a second on the empty board of Connect 4, {} each", limits.text()));
    table = table.column("m").column("T");
    for variant in Variant::ALL {
        table = table.digits(variant.to_string(), 1);
    }
    table = table.digits("ocp, prodigal / thrifty", 3).digits("acp, prodigal / thrifty", 3);
    let mut rates = Vec::new();
    for &m in playouts {
        for &n_trees in trees {
            let mut of = Vec::new();
            for &variant in Variant::ALL {
                let key = format!("claims {variant} m {m} T {n_trees}");
                let search_options = options.search(variant, n_trees, m, limits);
                let (result, timed) = search(run, &key, &Connect4::new(), &search_options, false)?;
                of.push((variant, n_trees, steps_per_second(&result, &timed)));
            }
            let rate = |variant| of.iter().find(|rate| rate.0 == variant).map_or(f64::NAN, |rate| rate.2);
            let mut row: Vec<Cell> = vec![m.into(), n_trees.into()];
            row.extend(of.iter().map(|rate| Cell::from(rate.2)));
            row.push((rate(Variant::OcpProdigal) / rate(Variant::OcpThrifty)).into());
            row.push((rate(Variant::AcpProdigal) / rate(Variant::AcpThrifty)).into());
            table.row(row);
            rates.extend(of);
        }
    }
    let mean = |wanted: &dyn Fn(Variant, u32) -> bool| {
        let of: Vec<f64> = rates.iter().filter(|rate| wanted(rate.0, rate.1)).map(|rate| rate.2).collect();
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
    let mut sheet = Sheet::new(item).table(claims).table(table);
    if let (Some(ours), Some(cell)) = (direct.b.interval_percent, cell) {
        sheet = sheet.note(direct_note(ours, games.len() as u64, cell.score));
    }
    sheet = sheet.note("`its tables` is what the steps of Table 2 give: 6.2 / 4.5 and 5.4 / 3.9.");
    if run.device().backend() == warpplay::Backend::Cpu {
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

/// The settings of Tables 2 and 3 on the empty board.
pub(super) fn speed(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let quick = run.quick();
    run.expect(TOURNAMENTS.len() as u64);
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
    for head in ["mean depth", "max depth"] {
        table = table.digits(format!("{head}, published"), 2).digits(format!("{head}, ours"), 2);
    }
    table = table.column("full trees").column("engine");
    for published in &TOURNAMENTS {
        let [n_trees, n_playouts] = shrunk([published.n_trees, published.n_playouts], quick);
        let mut limits = options.size(Experiment::Search, quick).limits;
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
        for (theirs, ours) in [
            (published.steps_per_second(), steps_per_second(&result, &timed)),
            (published.playouts_per_second(), playouts_per_second(&result, &timed)),
        ] {
            row.extend([theirs.into(), ours.into(), (ours / theirs).into()]);
        }
        row.extend([published.mean_depth.into(), result.trees.mean_depth.into()]);
        row.extend([published.max_depth.into(), result.trees.max_depth.into()]);
        row.extend([result.trees.full.into(), timed.engine.to_string().into()]);
        table.row(row);
    }
    Ok(Sheet::new(item).table(table))
}

#[cfg(test)]
mod tests {
    use super::*;

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
