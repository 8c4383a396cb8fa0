//! What must hold of every search, whatever was searched.

use anyhow::{Result, ensure};
use warpplay::mcts::contest::GameRecord;
use warpplay::mcts::{ActionReport, Report};

/// Checks a report.
///
/// # Errors
/// The first thing that does not hold: a fault of the program, not of its user.
pub fn report(report: &Report) -> Result<()> {
    let (best, trees) = (&report.best, &report.performance.trees);
    ensure!(report.performance.steps > 0, "check failed: no step was made");
    ensure!(
        report.performance.playouts == best.n_root,
        "check failed: {} playouts, but the roots count {}",
        report.performance.playouts,
        best.n_root
    );
    let n: u64 = report.actions.iter().map(|action| action.n).sum();
    // Where memory is too small even for the root's children, the root itself is played out.
    let root_was_expanded = trees.max_size > 1;
    ensure!(
        n == best.n_root || (n == 0 && !root_was_expanded),
        "check failed: the actions' visits sum to {n}, not to those of the root, {}",
        best.n_root
    );
    for action in &report.actions {
        ensure!(
            action.n_root == best.n_root,
            "check failed: action {} counts {} visits of the root, another {}",
            action.name,
            action.n_root,
            best.n_root
        );
        ensure!(
            action.wins + action.draws <= action.n,
            "check failed: action {} has {} wins and {} draws of {} visits",
            action.name,
            action.wins,
            action.draws,
            action.n
        );
        ensure!(
            rank(action) <= rank(best),
            "check failed: action {} is better than {}, which was chosen",
            action.name,
            best.name
        );
    }
    ensure!(report.actions.contains(best), "check failed: the best action {} is not in the list", best.name);
    Ok(())
}

/// Checks what was found in a game.
///
/// # Errors
/// As [`report`].
pub fn game(game: &GameRecord) -> Result<()> {
    for found in &game.moves {
        ensure!(
            // A journal may hold any numbers.
            found.wins.saturating_add(found.draws) <= found.n && found.n <= found.playouts,
            "check failed: move {} of {} has {} wins and {} draws of {} visits, {} playouts in all",
            found.name,
            found.side,
            found.wins,
            found.draws,
            found.n,
            found.playouts
        );
    }
    Ok(())
}

/// The final rule: a proven win, then visits, then wins, then the lowest action.
pub fn rank(action: &ActionReport) -> impl Ord + use<> {
    (action.win_flag, action.n, action.wins, std::cmp::Reverse(action.index))
}
