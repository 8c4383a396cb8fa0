//! Lesson 7: learn an evaluation of shogi positions from the moves that were played.

use std::ops::ControlFlow;

use warpplay::Device;
use warpplay::shogi::{Window, dataset::Dataset, learner::Learner, records::Records};

fn main() -> warpplay::Result<()> {
    // One short game. Each position's children are the moves that could have been played in it.
    let records = Records::from_bytes("game.usi".as_ref(), b"7g7f 3c3d 8h2b+ 3a2b");
    let set = Dataset::builder().plies(Window { start: 0, end: 4, step: 1 }).build(&records)?;

    let mut learner = Learner::builder(&set).iterations(5).build(&Device::cpu())?;
    let report = learner.run(|_| ControlFlow::Continue(()))?;

    // J falls as the played moves come to be worth more than the others.
    for row in &report.rows {
        println!("J {:.6}", row.train.j);
    }
    assert!(report.rows[5].train.j < report.rows[0].train.j);
    Ok(())
}
