//! Klęsk, "MCTS-NC: A thorough GPU parallelization of Monte Carlo Tree Search implemented in Python via numba.cuda", SoftwareX.
//!
//! The paper runs the whole of Monte Carlo tree search on the GPU: T independent trees, m playouts of an expanded child, and four variants: one child or all
//! children are played out (`ocp`, `acp`), with as many blocks as children or a block for every tree and action (`thrifty`, `prodigal`).
//!
//! The four variants are what [`warpplay::mcts`] offers, so this folder has no kernels. Where its parts are:
//!
//! | of the paper | in `warpplay` |
//! | --- | --- |
//! | Algorithms 1 and 2, the stages | `gpu/src/mcts/`: `reset`, `select`, `expand`, `playout`, `backup`, `reduce`; [`Engine::Stages`](warpplay::mcts::Engine) launches them one by one |
//! | Listing 1, threads a block | [`BlockSizes::listing_1`](warpplay::mcts::BlockSizes::listing_1) |
//! | variants | [`Variant`](warpplay::mcts::Variant) |
//! | Table C.4, parameters | [`Options`](warpplay::mcts::Options); a draw is worth 0 there, half here unless it is told |
//! | Fig. 6, the printout | [`Report`](warpplay::mcts::Report) |
//! | the five functions of a game | [`Game`](warpplay::mcts::Game) |
//! | "vanilla", the single-thread player | `cpu-ref/src/mcts/vanilla.rs` |
//! | equations (6) to (9), bounds | `tests/tests/mcts/strength.rs` measures the spread |
//!
//! # What was found
//! - Three barriers are missing in the published kernels: before the ranks of the children are counted, between two levels of the arg-max, and before the path is
//!   copied. `tests/tests/mcts/faults.rs` has a test for each, which sees the race when the barrier is taken out.
//! - The child drawn for a playout can be one that does not exist, counts overflow 31 bits, and a tree that is full shares children with its neighbour; the same file.
//! - [`Engine::Graph`](warpplay::mcts::Engine), two kernels a step in one CUDA graph, is the form that is not in the paper: the same statistics, faster.
//! - Section 4.1 gives a prodigal search 1.46 times the steps of a thrifty one, and says that 8 trees cost 5 % of the steps of 1: the bench `mcts --only choices` measures both.
//!
//! [`published`] holds the tables. [`measure`] searches with their settings: `warpplay papers mctsnc`. The published figures are means over the positions of
//! whole games on an A100; ours are of one search of the empty board.

mod options;
pub mod published;
mod report;

use std::ops::ControlFlow;
use std::time::Instant;

use warpplay::mcts::{Connect4, Gomoku, KernelSet, Notation, Options as SearchOptions, Search};
use warpplay::{Backend, Device, Progress, Result};

pub use options::Options;
use published::{GameId, TOURNAMENTS};
pub use report::{Measured, Report, Row};

/// Searches the empty board with the settings of each row of [`TOURNAMENTS`]. `watch` is told how far it is in rows, with each row that is done; when it
/// answers `Break`, the report holds the rows done so far.
///
/// # Errors
/// As [`Options::check`] and [`Search::run`].
pub fn measure(
    device: &Device,
    options: &Options,
    mut watch: impl FnMut(&Progress<Row>) -> ControlFlow<()> + Send,
) -> Result<Report> {
    options.check()?;
    let memory_gb = match (options.memory_gb, device.backend()) {
        (Some(memory_gb), _) => memory_gb,
        (None, Backend::Cuda) => (device.memory()?.free as f64 / f64::from(1 << 30) * 0.7).min(16.0),
        (None, _) => 2.0,
    };
    let start = Instant::now();
    let mut rows: Vec<Row> = Vec::new();
    for published in &TOURNAMENTS {
        let steps = rows.len() as u64;
        let mut tell = |steps, latest| {
            let n_steps = Some(TOURNAMENTS.len() as u64);
            watch(&Progress { steps, n_steps, elapsed: start.elapsed(), time_limit: None, latest })
        };
        let mut stopped = false;
        let search_options = options.of(published, memory_gb);
        let while_it_searches = |_: &Progress| {
            let answer = tell(steps, None);
            stopped |= answer.is_break();
            answer
        };
        let ours = match published.game {
            GameId::Connect4 => search::<Connect4>(device, search_options, while_it_searches)?,
            GameId::Gomoku => search::<Gomoku>(device, search_options, while_it_searches)?,
        };
        if stopped {
            break;
        }
        let row = Row { published: *published, ours };
        rows.push(row.clone());
        if tell(steps + 1, Some(row)).is_break() {
            break;
        }
    }
    Ok(Report {
        device: device.to_string(),
        device_name: device.name(),
        seed: options.seed,
        options: options.clone(),
        seconds: start.elapsed().as_secs_f64(),
        rows,
    })
}

/// One search of the empty board.
fn search<G: KernelSet + Notation>(
    device: &Device,
    options: SearchOptions,
    watch: impl FnMut(&Progress) -> ControlFlow<()> + Send,
) -> Result<Measured> {
    let mut search = Search::<G>::builder().options(options).profile_steps(0).build(device)?;
    // A few steps first bring up the clocks of a GPU. On a CPU a step of Gomoku takes seconds, and there is nothing to gain.
    if device.backend() == Backend::Cuda {
        search.run(&G::start(), |_| ControlFlow::Break(()))?;
    }
    let report = search.run(&G::start(), watch)?;
    Ok(Measured {
        engine: report.engine,
        steps_per_second: report.performance.steps_per_second,
        playouts_per_second: report.performance.playouts_per_second,
        mean_depth: report.performance.trees.mean_depth,
        max_depth: report.performance.trees.max_depth,
        seconds: report.seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_counts_agree_with_the_settings() {
        for row in &TOURNAMENTS {
            // One child is played out by T m playouts a step; all children by at most that for each action.
            let one = row.steps * f64::from(row.n_trees * row.n_playouts);
            let most = match row.game {
                GameId::Connect4 => 7.0,
                GameId::Gomoku => 225.0,
            };
            match row.variant.plays_all_children() {
                false => assert!((row.playouts / one - 1.0).abs() < 0.03, "{row:?}"),
                true => assert!(row.playouts > one && row.playouts < most * one, "{row:?}"),
            }
        }
        let gomoku = TOURNAMENTS[7];
        assert!((published::FIGURE_6.1 / gomoku.playouts_per_second() - 1.0).abs() < 0.3, "one search and the mean");
    }

    #[test]
    fn every_row_is_measured_until_it_is_stopped() {
        let options = Options { seconds: Some(1e-3), ..Options::default() };
        let mut seen = 0;
        let report = measure(&Device::cpu(), &options, |progress| {
            seen += usize::from(progress.latest.is_some());
            if seen == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let report = report.expect("small");
        assert_eq!(report.rows.len(), 4);
        assert!(
            report.rows.iter().all(|row| row.ours.steps_per_second > 0.0 && row.published.game == GameId::Connect4)
        );
        let text = report.to_string();
        assert!(text.contains("acp_prodigal") && text.contains("published") && text.lines().count() >= 6, "{text}");
        let wrong = Options { seconds: Some(-1.0), ..options };
        assert!(measure(&Device::cpu(), &wrong, Progress::go_on).is_err());
    }
}
