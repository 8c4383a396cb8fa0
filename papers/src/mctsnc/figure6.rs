//! Fig. 6: the printout of one search of Gomoku.

use warpplay::mcts::{Game, Gomoku, Notation, Variant};

use super::options::{Options, Purpose, shrunk};
use super::published::printout as published;
use super::searches::{playouts_per_second, search, steps_per_second};
use crate::experiment::{Cell, Item, Run, Sheet, Stop, Table};

/// Squares of the board's side.
const SIDE: i32 = 15;
/// Draws for one move until a position is given up.
const DRAWS: u32 = 10_000;

/// A position with as many stones as that of Fig. 6 in which nobody is near to five: random legal moves, none of which makes three of five squares in a row where the other
/// has none. The board of the figure cannot be read from the text, but 93 of 14,080 selected leaves made no children, so few of the searched lines ended the game.
fn position() -> (Gomoku, Vec<u32>) {
    let mut seed = 0;
    loop {
        if let Some(found) = random_position(seed) {
            return found;
        }
        seed += 1;
    }
}

/// The position of a seed; `None` where no move was found that may be made.
fn random_position(seed: u64) -> Option<(Gomoku, Vec<u32>)> {
    let stones = Gomoku::MAX_ACTIONS - published::ROOT_ACTIONS;
    let (mut position, mut moves) = (Gomoku::new(), Vec::new());
    let mut state = seed;
    while moves.len() < stones as usize {
        let (action, next) = (0..DRAWS).find_map(|_| {
            // Knuth's linear congruential generator; its upper bits choose.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let action = (state >> 33) as u32 % Gomoku::MAX_ACTIONS;
            if !position.is_legal(action) {
                return None;
            }
            let mut next = position;
            next.apply(action);
            is_quiet(&next).then_some((action, next))
        })?;
        position = next;
        moves.push(action);
    }
    Some((position, moves))
}

/// Whether no five squares in a row hold three stones of one player and none of the other.
fn is_quiet(position: &Gomoku) -> bool {
    let stones = position.rows();
    let lines = (0..SIDE * SIDE)
        .flat_map(|square| [(0, 1), (1, 0), (1, 1), (1, -1)].map(|step| (square / SIDE, square % SIDE, step)))
        .filter(|(y, x, (dy, dx))| (0..SIDE).contains(&(y + 4 * dy)) && (0..SIDE).contains(&(x + 4 * dx)));
    for (y, x, (dy, dx)) in lines {
        let count =
            |player: usize| (0..5).filter(|n| stones[player][(y + n * dy) as usize] >> (x + n * dx) & 1 == 1).count();
        if matches!((count(0), count(1)), (3.., 0) | (0, 3..)) {
            return false;
        }
    }
    true
}

/// Of the leaves that a search with all children selected, those that made none, in per cent. A new node gets one batch of playouts, and so does such a leaf; so they are
/// the batches beyond the new nodes.
fn leaves_without_children(playouts: u64, n_playouts: u64, mean_size: f64, n_trees: u64, steps: u64) -> f64 {
    let batches = playouts as f64 / n_playouts as f64;
    (batches - (mean_size - 1.0) * n_trees as f64) / (steps * n_trees) as f64 * 100.0
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
    let (result, timed) = search(run, "Fig. 6 position far from five", &position, &search_options, true)?;
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
    let rows: [(&str, Cell, Cell); 24] = [
        ("steps", published::STEPS.into(), result.steps.into()),
        ("steps a second", published::STEPS_PER_SECOND.into(), steps_per_second(&result, &timed).into()),
        ("playouts", published::N_ROOT.into(), result.playouts.into()),
        ("playouts a second", published::PLAYOUTS_PER_SECOND.into(), playouts_per_second(&result, &timed).into()),
        (
            "new nodes of a step and tree",
            ((published::SIZE.0 - 1.0) / published::STEPS as f64).into(),
            result.new_nodes().into(),
        ),
        (
            "selected leaves without children, %",
            leaves_without_children(published::N_ROOT, m, published::SIZE.0, trees, published::STEPS).into(),
            leaves_without_children(
                result.playouts,
                u64::from(n_playouts),
                result.trees.mean_size,
                u64::from(result.trees.count),
                result.steps,
            )
            .into(),
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
    let mut others = Table::new("published lines of other actions, as read, and what follows from the others where a number or name is another one")
        .column("action")
        .column("index")
        .column("n")
        .column("wins");
    others = others.digits("q", 6).digits("ucb", 6).column("follows");
    for (line, follows) in published::OTHERS.iter().zip(published::OTHERS_FOLLOW) {
        others.row([
            line.name.into(),
            line.index.into(),
            line.n.into(),
            line.n_wins.into(),
            line.q.into(),
            line.ucb.into(),
            follows.into(),
        ]);
    }
    let moves: String = moves.iter().map(|&action| Gomoku::action_name(action)).collect();
    Ok(Sheet::new(item)
        .table(table)
        .table(corrected)
        .table(actions)
        .table(others)
        .note(format!("Ours searches the position after {moves}: no five squares in a row hold three stones of one player and none of the other, so nobody is near to five."))
        .note(format!("Stage times of ours: {}; engine {}.", timed.stage_times_from, timed.engine))
        .note("`published` has the numbers that fit together; `as read` has those of the text at hand, which was read by a machine from a small print, where they are others.")
        .left_out("The published position: the board cannot be read from the text. Ours has as many stones (73), which the published counts give."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_near_to_five_in_the_searched_position() {
        let (position, moves) = position();
        assert_eq!(moves.len(), 73);
        let free = (0..Gomoku::MAX_ACTIONS).filter(|&action| position.is_legal(action)).count();
        assert_eq!(free, published::ROOT_ACTIONS as usize);
        // Counted another way: every line of the board as a text, in which no window of five has three of one sign and none of the other.
        let sign = |y: i32, x: i32| match position.rows().map(|rows| rows[y as usize] >> x & 1) {
            [1, _] => 'a',
            [_, 1] => 'b',
            _ => '.',
        };
        let squares = || (0..15).flat_map(|y| (0..15).map(move |x| (y, x)));
        let line = |on: &dyn Fn(i32, i32) -> bool| {
            squares().filter(|&(y, x)| on(y, x)).map(|(y, x)| sign(y, x)).collect::<String>()
        };
        let mut lines = Vec::new();
        for at in 0..29 {
            lines.push(line(&|y, x| y == at && x >= 0));
            lines.push(line(&|_, x| x == at));
            lines.push(line(&|y, x| y + x == at));
            lines.push(line(&|y, x| y - x + 14 == at));
        }
        assert_eq!(lines.iter().map(String::len).sum::<usize>(), 4 * 225);
        let stones: usize = lines.iter().map(|line| line.matches(['a', 'b']).count()).sum();
        assert_eq!(stones, 4 * 73);
        for line in &lines {
            for window in line.as_bytes().windows(5) {
                let count = |stone: u8| window.iter().filter(|&&there| there == stone).count();
                assert!(count(b'a') < 3 || count(b'b') > 0, "{line}");
                assert!(count(b'b') < 3 || count(b'a') > 0, "{line}");
            }
        }
    }

    #[test]
    fn a_position_with_three_of_five_is_not_quiet() {
        let mut position = Gomoku::new();
        // a1, a15, b1, b15, c1: the first player has three of the squares a1 to e1.
        for (number, action) in [0, 210, 1, 211, 2].into_iter().enumerate() {
            assert!(is_quiet(&position), "{number}");
            position.apply(action);
        }
        assert!(!is_quiet(&position));
    }

    #[test]
    fn leaves_without_children_are_the_batches_beyond_the_new_nodes() {
        // 93 of 14,080, as `published::printout` counts them in whole numbers.
        let (m, n_trees) = published::SHAPE;
        let share = leaves_without_children(published::N_ROOT, m, published::SIZE.0, n_trees, published::STEPS);
        assert!((share - 93.0 / 14_080.0 * 100.0).abs() < 1e-9, "{share}");
    }
}
