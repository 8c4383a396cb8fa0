//! One spot on many boards.

use std::ops::ControlFlow;

use super::aggregate::{Aggregate, BoardRow, BoardValues, pairs};
use super::boards::Boards;
use super::file::Spot;
use super::report::{SpotReport, check_values};
use super::run::SpotRun;
use super::solve::{Kept, solve_each};
use super::solver::SpotSolver;
use super::texture::Texture;
use crate::cfr::game::cards::{CardSet, Deck, set_of};
use crate::{Device, Result};

/// Tolerance of the sum of frequencies.
const TOLERANCE: f64 = 1e-6;

impl Kept for BoardValues {
    const COMMAND: &'static str = "cfr boards";
    const ENDS_AT_ERROR: bool = true;

    fn of(report: SpotReport) -> Result<Self> {
        Self::of(&report)
    }

    fn of_solver(solver: &mut SpotSolver) -> Result<Self> {
        solver.board_values()
    }

    fn check(&self, spot: &Spot) -> std::result::Result<(), String> {
        check_values(self.ev, self.equity, spot)?;
        for decision in &self.decisions {
            let sum: f64 = decision.frequencies.iter().sum();
            let is_played = decision.reach > 0.0;
            if decision.frequencies.len() != decision.actions.len() || (is_played && (sum - 1.0).abs() > TOLERANCE) {
                return Err(format!("frequencies after '{}' sum to {sum}", decision.history));
            }
        }
        Ok(())
    }

    fn end(&self) -> (u64, Option<f64>, f64) {
        (self.iterations, self.exploitability, self.seconds)
    }
}

/// Solves a spot on each of the boards: each device takes the next board as soon as it is free. Of each board only its values and the frequencies of the first decisions are kept, in memory
/// and in the journal of `run`; whatever the number of boards, a device has the tables of one flop or turn at a time. Rivers are solved as [`solve_spots`](super::solve_spots) says.
///
/// ```
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::cfr::Options;
/// use warpplay::cfr::spot::{Boards, Spot, SpotRun, solve_boards};
///
/// let spot = Spot::parse(
///     r#"{"pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c", "ranges": ["AA,65s", "QQ"]}"#,
/// )?;
/// let boards = Boards::parse("all", &spot)?;
/// let options = Options { iterations: 100, ..Options::SPOT };
/// let run = SpotRun { options, ..SpotRun::default() };
/// let solved = solve_boards(&[Device::cpu()], &spot, &boards, &run, |_| ControlFlow::Continue(()))?;
/// assert_eq!((solved.rows.len(), boards.weight()), (48, 48.0));
/// let mean = solved.mean().expect("boards");
/// assert!((mean.ev[0] + mean.ev[1] - 100.0).abs() < 0.1);
/// # Ok::<(), warpplay::Error>(())
/// ```
///
/// `watch` is called with the number of finished boards, as in `solve_spots`. If it returns `Break`, boards in progress count as not solved.
///
/// # Errors
/// As [`solve_spots`](super::solve_spots); the first board that fails ends the work, with its error.
pub fn solve_boards(
    devices: &[Device],
    spot: &Spot,
    boards: &Boards,
    run: &SpotRun,
    watch: impl Fn(usize) -> ControlFlow<()> + Sync,
) -> Result<Aggregate> {
    let ranges = [spot.range(0, 0)?, spot.range(1, 0)?];
    let mut aggregate = Aggregate { pot: spot.pot, rows: Vec::new(), blocked: Vec::new(), left: Vec::new() };
    let (mut spots, mut taken) = (Vec::new(), Vec::new());
    for board in boards {
        let cards: CardSet = set_of(&Deck::FULL.cards(&board.cards)?);
        let beside = |hands: &[(CardSet, f64)]| -> Vec<(CardSet, f64)> {
            hands.iter().copied().filter(|(hand, _)| hand & cards == 0).collect()
        };
        let pairs = pairs(&beside(&ranges[0]), &beside(&ranges[1]));
        if pairs > 0.0 {
            spots.push(spot.on(&board.cards)?);
            taken.push((board, cards, pairs));
        } else {
            aggregate.blocked.push(board.cards.clone());
        }
    }
    let n_blocked = aggregate.blocked.len();
    let solved = solve_each::<BoardValues>(devices, &spots, run, |n| watch(n_blocked + n))?;
    for ((&(board, cards, pairs), spot), values) in taken.iter().zip(&spots).zip(solved) {
        match values {
            Ok(values) if run.is_end(values.iterations, values.exploitability, spot) => {
                let texture = Texture::of_cards(cards);
                let (board, weight) = (board.cards.clone(), board.weight);
                aggregate.rows.push(BoardRow { board, weight, pairs, texture, values });
            }
            // What fails ends the work, so this one was stopped.
            _ => aggregate.left.push(board.cards.clone()),
        }
    }
    Ok(aggregate)
}
