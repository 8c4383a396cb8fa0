//! Fig. 6: the printout of one search of Gomoku.

use warpplay::mcts::{Game, Gomoku, Notation, Variant};

use super::options::{Options, Purpose, shrunk};
use super::published::printout as published;
use super::searches::{playouts_per_second, search, steps_per_second};
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table};

/// A position with as many stones as that of Fig. 6 in which nobody has five, nor makes five with the next stone: random legal moves. The board of the figure cannot be
/// read from the text, but its best action has a value of 0.54: no win at once, which would turn most steps into a look at a finished game.
fn position() -> (Gomoku, Vec<u32>) {
    let mut seed = 0;
    loop {
        if let Some(found) = random_position(seed).filter(|(position, _)| is_quiet(position)) {
            return found;
        }
        seed += 1;
    }
}

/// A position after as many random legal moves as Fig. 6 has stones; `None` where the game is over before.
fn random_position(seed: u64) -> Option<(Gomoku, Vec<u32>)> {
    let stones = Gomoku::MAX_ACTIONS - published::ROOT_ACTIONS;
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
}

/// All positions one move later.
fn children(position: &Gomoku) -> impl Iterator<Item = (u32, Gomoku)> {
    (0..Gomoku::MAX_ACTIONS).filter(|&action| position.is_legal(action)).map(|action| {
        let mut child = *position;
        child.apply(action);
        (action, child)
    })
}

/// Whether neither a move nor a reply ends the game: a reply makes five exactly where the opponent could have made it without the move.
fn is_quiet(position: &Gomoku) -> bool {
    let goes_on = |(action, child): &(u32, Gomoku)| !child.outcome_after(*action).is_over();
    children(position).all(|child| goes_on(&child) && children(&child.1).all(|reply| goes_on(&reply)))
}

/// Fig. 6.
pub(super) fn sheet(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let quick = run.quick();
    let (position, moves) = position();
    let [n_trees, n_playouts] = shrunk([4, 256], quick);
    let limits = options.size(Purpose::Gomoku, quick).limits;
    let mut search_options = options.search(Variant::AcpProdigal, n_trees, n_playouts, limits);
    if options.memory_gb.is_none() && !quick {
        search_options.device_memory_gb = published::DEVICE_MEMORY_GB;
    }
    run.expect(1);
    let (result, timed) = search(run, "Fig. 6 quiet position", &position, &search_options, true)?;
    let (m, trees) = published::SHAPE;
    let mut table = Table::new(format!(
        "a search of Gomoku by acp_prodigal: published (T = {trees}, m = {m}, 30 s, A100) and ours (T = {n_trees}, m = {n_playouts}, {})",
        limits.text()
    ))
    .column("")
    .column("published")
    .column("as read")
    .column("ours");
    let stages = published::MEAN_STAGE_MS;
    let steps = result.steps as f64;
    let ms = &timed.ms;
    let rows: [(&str, Cell, Cell); 23] = [
        ("steps", published::STEPS.into(), result.steps.into()),
        ("steps a second", published::STEPS_PER_SECOND.into(), steps_per_second(&result, &timed).into()),
        ("playouts", published::N_ROOT.into(), result.playouts.into()),
        ("playouts a second", published::PLAYOUTS_PER_SECOND.into(), playouts_per_second(&result, &timed).into()),
        (
            "new nodes of a step and tree",
            ((published::SIZE.0 - 1.0) / published::STEPS as f64).into(),
            result.new_nodes().into(),
        ),
        ("total, ms", published::MS.0.into(), ms.total.into()),
        ("loop, ms", published::MS.1.into(), ms.loop_.into()),
        ("mean step, ms", published::MEAN_STEP_MS.into(), (ms.loop_ / steps).into()),
        ("mean select, ms", stages[0].into(), ms.mean_select.into()),
        ("mean expand, ms", stages[1].into(), ms.mean_expand.into()),
        ("mean playout, ms", stages[2].into(), ms.mean_playout.into()),
        ("mean backup, ms", stages[3].into(), ms.mean_backup.into()),
        ("reduce over trees, ms", published::REDUCE_OVER_TREES_MS.into(), ms.reduce_over_trees.into()),
        ("reduce over actions, ms", Cell::Empty, ms.reduce_over_actions.into()),
        ("mean depth", published::DEPTH.0.into(), result.trees.mean_depth.into()),
        ("max depth", published::DEPTH.1.into(), result.trees.max_depth.into()),
        ("mean size", published::SIZE.0.into(), result.trees.mean_size.into()),
        ("max size", published::SIZE.1.into(), result.trees.max_size.into()),
        ("trees", trees.into(), result.trees.count.into()),
        ("best action", published::BEST.name.into(), result.best.name.clone().into()),
        ("its n", published::BEST.n.into(), result.best.n.into()),
        ("its q", published::BEST.q.into(), result.best.q.map(f64::from).into()),
        ("its ucb", published::BEST.ucb.into(), result.best.ucb.map(f64::from).into()),
    ];
    for (name, theirs, ours) in rows {
        let misread = published::MISREAD.iter().find(|misread| misread.what == name);
        table.row([name.into(), theirs, misread.map(|misread| misread.as_read).into(), ours]);
    }
    let mut corrected = Table::new("numbers that the text at hand has wrong")
        .column("number")
        .column("as read")
        .column("follows")
        .column("from");
    for misread in &published::MISREAD {
        corrected.row([misread.what.into(), misread.as_read.into(), misread.follows.into(), misread.from.into()]);
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
    let mut ranked: Vec<_> = result.actions.iter().collect();
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
        .table(corrected)
        .table(actions)
        .note(format!("Ours searches the position after {moves}, in which neither side makes five with its next stone."))
        .note(format!("Stage times of ours: {}; engine {}.", timed.stage_times_from, timed.engine))
        .note("`published` has the numbers that fit together; `as read` has those of the text at hand, which was read by a machine from a small print, where they are others.")
        .left_out("The published position: the board cannot be read from the text. Ours has as many stones (73), which the published counts give."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stones of one player that stand in a line of exactly five, looked for square by square.
    fn has_five(stones: &[[u32; 15]; 2], player: usize) -> bool {
        let at =
            |y: i32, x: i32| (0..15).contains(&y) && (0..15).contains(&x) && stones[player][y as usize] >> x & 1 == 1;
        let lines =
            (0..225).flat_map(|square| [(0, 1), (1, 0), (1, 1), (1, -1)].map(|step| (square / 15, square % 15, step)));
        lines.into_iter().any(|(y, x, (dy, dx))| {
            !at(y - dy, x - dx) && (0..5).all(|n| at(y + n * dy, x + n * dx)) && !at(y + 5 * dy, x + 5 * dx)
        })
    }

    #[test]
    fn no_stone_of_either_side_ends_the_searched_position() {
        let (position, moves) = position();
        assert_eq!(moves.len(), 73);
        let free = (0..Gomoku::MAX_ACTIONS).filter(|&action| position.is_legal(action)).collect::<Vec<_>>();
        assert_eq!(free.len(), published::ROOT_ACTIONS as usize);
        for player in 0..2 {
            assert!(!has_five(position.rows(), player), "five of player {player}");
            for square in &free {
                let mut stones = *position.rows();
                stones[player][*square as usize / 15] |= 1 << (square % 15);
                assert!(!has_five(&stones, player), "player {player} makes five with {}", Gomoku::action_name(*square));
            }
        }
    }

    #[test]
    fn a_position_with_five_at_once_is_not_quiet() {
        // The first has a win at once by k13: what the search of it measures is finished leaves.
        let (position, _) = random_position(0).expect("a position that goes on");
        assert!(!is_quiet(&position));
        let won = children(&position).find(|(action, child)| child.outcome_after(*action).is_over());
        assert_eq!(won.map(|(action, _)| Gomoku::action_name(action)), Some("k13".to_string()));
        assert!(random_position(1).is_none_or(|(position, _)| !is_quiet(&position)));
    }
}
