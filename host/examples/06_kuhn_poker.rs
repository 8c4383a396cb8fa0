//! Lesson 6: solve a game of poker, and ask the strategy what to do.

use std::ops::ControlFlow;

use warpplay::cfr::{Algorithm, GameDef, Solver};
use warpplay::{Device, Precision};

fn main() -> warpplay::Result<()> {
    // Kuhn poker: three cards, everybody antes 1, one bet of 1. `GameDef::read` takes the file of another game.
    let builder =
        Solver::builder(GameDef::kuhn()).algorithm(Algorithm::CfrPlus).precision(Precision::F64).iterations(1000);
    let mut solver = builder.build(&Device::cpu())?;
    let report = solver.run(|_| ControlFlow::Continue(()))?;

    // The king (4c of this deck's 2, 3, 4) calls a bet.
    let answer = solver.strategy()?.query("r", "", "4c")?;
    for choice in &answer.choices {
        println!("{} {:.4}", choice.action, choice.probability);
    }
    // Nobody can win much against this strategy; the game is worth -1/18 to the first seat.
    let point = report.trajectory.last().expect("a run measures at its end");
    assert!(point.nash_conv < 0.001 && (point.value[0] + 1.0 / 18.0).abs() < 0.001);
    Ok(())
}
