//! Section 5, question 1: how many playouts a step, given the time?

use warpplay::mcts::{Connect4, Variant};

use super::matches::{play_match, reached_cells, score_cells, scores};
use super::options::{Options, Purpose, counted, shrunk};
use crate::experiment::{Axis, Cell, Chart, Figure, Item, Line, Run, Sheet, Stop, Table};

/// Playouts that are tried.
const PLAYOUTS: [u32; 5] = [2, 8, 32, 128, 512];

/// m against steps by equal time, against one and the same opponent.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let quick = run.quick();
    let size = options.size(Purpose::Connect4, quick);
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
        best.extend(most(&points, &band).map(|what| format!("{variant}: {what}")));
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

/// The m with the highest score, and those that this many games cannot tell from them; `None` without a score.
fn most(points: &[[f64; 2]], intervals: &[[f64; 2]]) -> Option<String> {
    let most = points.iter().map(|point| point[1]).max_by(f64::total_cmp)?;
    let those = |is: &dyn Fn(f64, [f64; 2]) -> bool| {
        let of = points.iter().zip(intervals).filter(|(point, interval)| is(point[1], **interval));
        of.map(|(point, _)| point[0].to_string()).collect::<Vec<_>>().join(", ")
    };
    Some(format!(
        "most with m = {} ({most:.1} %); this score lies within the interval of m = {}.",
        those(&|score, _| score == most),
        those(&|_, interval| interval[1] >= most)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_have_the_highest_score_are_named() {
        let points = [[2.0, 0.0], [8.0, 66.7], [32.0, 50.0], [128.0, 66.7]];
        let intervals = [[0.0, 39.0], [30.0, 90.3], [18.8, 81.2], [30.0, 90.3]];
        let expected = "most with m = 8, 128 (66.7 %); this score lies within the interval of m = 8, 32, 128.";
        assert_eq!(most(&points, &intervals).as_deref(), Some(expected));
        assert_eq!(most(&[], &[]), None);
    }
}
