//! Fig. 6: the printout of one search of Gomoku.

use warpplay::mcts::{Game, Gomoku, Notation, Variant};

use super::options::{Experiment, Options, shrunk};
use super::published::printout as published;
use super::searches::{playouts_per_second, search, steps_per_second};
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table};

/// A position with as many stones as that of Fig. 6 and nobody's five: random legal moves. The board of the figure cannot be read from the text.
fn position() -> (Gomoku, Vec<u32>) {
    let stones = Gomoku::MAX_ACTIONS - published::ROOT_ACTIONS;
    (0u64..)
        .find_map(|seed| {
            let (mut position, mut moves) = (Gomoku::new(), Vec::new());
            let mut state = seed;
            while moves.len() < stones as usize {
                // Knuth's linear congruential generator; its upper bits choose.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let action = (state >> 33) as u32 % Gomoku::MAX_ACTIONS;
                if position.is_legal(action) {
                    position.apply(action);
                    moves.push(action);
                }
                if position.outcome().is_over() {
                    return None;
                }
            }
            Some((position, moves))
        })
        .unwrap_or_default()
}

/// Fig. 6.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let quick = run.quick();
    let (position, moves) = position();
    let [n_trees, n_playouts] = shrunk([4, 256], quick);
    let limits = options.size(Experiment::Gomoku, quick).limits;
    let search_options = options.search(Variant::AcpProdigal, n_trees, n_playouts, limits);
    run.expect(1);
    let (found, timed) = search(run, "Fig. 6 search", &position, &search_options, true)?;
    let (m, trees) = published::SHAPE;
    let mut table = Table::new(format!(
        "a search of Gomoku by acp_prodigal: published (T = {trees}, m = {m}, 30 s, A100) and ours (T = {n_trees}, m = {n_playouts}, {})",
        limits.text()
    ))
    .column("")
    .column("published")
    .column("ours");
    let stages = published::MEAN_STAGE_MS;
    let steps = found.steps as f64;
    let ms = &timed.ms;
    let rows: [(&str, Cell, Cell); 23] = [
        ("steps", published::STEPS.into(), found.steps.into()),
        ("steps a second", published::STEPS_PER_SECOND.into(), steps_per_second(&found, &timed).into()),
        ("playouts (n_root)", published::N_ROOT.into(), found.playouts.into()),
        ("playouts a second", published::PLAYOUTS_PER_SECOND.into(), playouts_per_second(&found, &timed).into()),
        (
            "children of an expansion",
            ((published::SIZE.0 - 1.0) / published::STEPS as f64).into(),
            found.branching().into(),
        ),
        ("total, ms", published::MS.0.into(), ms.total.into()),
        ("loop, ms", published::MS.1.into(), ms.loop_.into()),
        ("mean step, ms", (published::MS.1 / published::STEPS as f64).into(), (ms.loop_ / steps).into()),
        ("mean select, ms", stages[0].into(), ms.mean_select.into()),
        ("mean expand, ms", stages[1].into(), ms.mean_expand.into()),
        ("mean playout, ms", stages[2].into(), ms.mean_playout.into()),
        ("mean backup, ms", stages[3].into(), ms.mean_backup.into()),
        ("reduce over trees, ms", published::REDUCE_OVER_TREES_MS.into(), ms.reduce_over_trees.into()),
        ("reduce over actions, ms", Cell::Empty, ms.reduce_over_actions.into()),
        ("mean depth", published::DEPTH.0.into(), found.trees.mean_depth.into()),
        ("max depth", published::DEPTH.1.into(), found.trees.max_depth.into()),
        ("mean size", published::SIZE.0.into(), found.trees.mean_size.into()),
        ("max size", published::SIZE.1.into(), found.trees.max_size.into()),
        ("trees", trees.into(), found.trees.count.into()),
        ("best action", published::BEST.name.into(), found.best.name.clone().into()),
        ("its n", published::BEST.n.into(), found.best.n.into()),
        ("its q", published::BEST.q.into(), found.best.q.map(f64::from).into()),
        ("its ucb", published::BEST.ucb.into(), found.best.ucb.map(f64::from).into()),
    ];
    for (name, theirs, ours) in rows {
        table.row([name.into(), theirs, ours]);
    }
    let mut actions =
        Table::new("actions with most playouts").column("action").column("index").column("n").column("wins");
    actions = actions.digits("q", 6).digits("ucb", 6);
    let best = &published::BEST;
    actions.row([
        format!("{} (published)", best.name).into(),
        best.index.into(),
        best.n.into(),
        best.n_wins.into(),
        best.q.into(),
        best.ucb.into(),
    ]);
    let mut ranked: Vec<_> = found.actions.iter().collect();
    ranked.sort_by_key(|action| std::cmp::Reverse((action.n, action.wins)));
    for action in ranked.into_iter().take(6) {
        actions.row([
            action.name.clone().into(),
            action.index.into(),
            action.n.into(),
            action.wins.into(),
            action.q.map(f64::from).into(),
            action.ucb.map(f64::from).into(),
        ]);
    }
    let moves: String = moves.iter().map(|&action| Gomoku::action_name(action)).collect();
    Ok(Sheet::new(item)
        .table(table)
        .table(actions)
        .note(format!("Ours searches the position after {moves}."))
        .note(format!("Stage times of ours: {}; engine {}.", timed.stage_times_from, timed.engine))
        .note("Playouts a second and mean step as published follow from its other numbers; the text prints 17,718,604.5 and 8.652 ms, a digit of each misread.")
        .left_out("The published position: the board cannot be read from the text. Ours has as many stones (73), which the published counts give."))
}
