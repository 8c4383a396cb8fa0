//! Section 5, question 1: how many playouts a step, given the time?

use warpplay::mcts::{Connect4, Variant};

use super::matches::{play_match, reached_cells, score_cells, scores};
use super::options::{Experiment, Options, counted, shrunk};
use crate::experiment::{Axis, Cell, Chart, Figure, Item, Line, Run, Sheet, Stop, Table};

/// Playouts that are tried.
const PLAYOUTS: [u32; 5] = [2, 8, 32, 128, 512];

/// m against steps by equal time, against one and the same opponent.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let quick = run.quick();
    let size = options.size(Experiment::Connect4, quick);
    let playouts = if quick { &PLAYOUTS[..2] } else { &PLAYOUTS[..] };
    let [n_trees, n_playouts] = shrunk([4, 64], quick);
    let opponent = options.player(Variant::AcpProdigal, n_trees, n_playouts, size.limits);
    run.expect(2 * playouts.len() as u64 * u64::from(size.games));
    let mut table = Table::new(format!(
        "Connect 4, T = {n_trees}, {} a move for both, {} each, against acp_prodigal with m = {n_playouts}",
        size.limits.text(),
        counted(size.games.into(), "game", "games")
    ))
    .column("variant")
    .column("m");
    for (head, digits) in
        [("score, %", 1), ("low", 1), ("high", 1), ("playouts", 0), ("steps", 0), ("mean depth", 2), ("max depth", 2)]
    {
        table = table.digits(head, digits);
    }
    let mut lines = Vec::new();
    let mut best = Vec::new();
    for variant in [Variant::OcpProdigal, Variant::AcpProdigal] {
        let (mut points, mut band) = (Vec::new(), Vec::new());
        for &m in playouts {
            let players = [options.player(variant, n_trees, m, size.limits), opponent.clone()];
            let key = format!("question 1 {variant} m {m}");
            let score = scores(&play_match::<Connect4>(run, &key, &players, size.games, options.seed)?).a;
            let mut row: Vec<Cell> = vec![variant.to_string().into(), m.into()];
            row.extend(score_cells(&score));
            row.extend(reached_cells(&score));
            table.row(row);
            if let (Some(percent), Some(interval)) = (score.score_percent, score.interval_percent) {
                points.push([f64::from(m), percent]);
                band.push(interval);
            }
        }
        let most = points.iter().copied().max_by(|a, b| a[1].total_cmp(&b[1]));
        if let Some([m, percent]) = most {
            // Those that this many games cannot tell from the best.
            let level: Vec<String> = points
                .iter()
                .zip(&band)
                .filter(|(_, interval)| interval[1] >= percent)
                .map(|(point, _)| point[0].to_string())
                .collect();
            best.push(format!(
                "{variant}: best with m = {m} ({percent:.1} %); its score lies within the interval of m = {}.",
                level.join(", ")
            ));
        }
        lines.push(Line { name: variant.to_string(), points, band, published: false });
    }
    let figure = Figure {
        file: item.name.into(),
        title: format!("score against playouts a step, by equal {}", size.limits.kind()),
        x: Axis::log("playouts, m"),
        y: Axis::linear("score, %"),
        chart: Chart::Lines(lines),
    };
    let sheet = best.into_iter().fold(Sheet::new(item).table(table).figure(figure), Sheet::note);
    let sheet =
        if options.steps.is_some() { sheet.left_out("Equal time: --steps limits every search.") } else { sheet };
    Ok(sheet.left_out("A published answer: the paper asks the question."))
}
