//! Lesson 2: stop a search while it runs; write its report; repeat it from the report, bit for bit.

use std::ops::ControlFlow;

use warpplay::mcts::{Connect4, Options, Report, Search};
use warpplay::{Device, Progress};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options { n_trees: 2, n_playouts: 16, seconds: Some(60.0), seed: 7, ..Options::default() };
    let mut search = Search::<Connect4>::builder().options(options).build(&Device::cpu())?;

    // `watch` sees the progress after each batch of steps, and says whether to go on.
    let enough = |progress: &Progress| match progress.steps {
        0..100 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let report = search.run(&Connect4::new(), enough)?;

    // A report is plain data. Its options with the steps that were made repeat the search, on any device.
    let stored: Report = serde_json::from_str(&serde_json::to_string(&report)?)?;
    let options = Options { steps: Some(stored.performance.steps), seconds: None, ..stored.options };
    let mut search = Search::<Connect4>::builder().options(options).build(&Device::simt())?;
    let repeated = search.run(&Connect4::new(), Progress::go_on)?;

    println!("{} on {}, {} on {}", report.best.name, report.device, repeated.best.name, repeated.device);
    assert_eq!(repeated.actions, report.actions, "the same statistics on another device");
    Ok(())
}
