//! The paper's job divided over ranks, which are threads here: what MPI adds is measured by `cargo xtask run shogi --ranks N`.

use std::ops::ControlFlow;
use std::time::Instant;

use serde_json::json;
use warpplay::shogi::material::Engine;
use warpplay::shogi::ranks::{Ranks, Threads};
use warpplay::shogi::{Objective, Row, Shard};
use warpplay::{Device, Result};
use warpplay_papers::shogi_bonanza::{Job, Options, PaperEngine, Split, ideal_speed_up, part, reproduce};

use crate::measure::{Bench, n_children};
use crate::output::{Table, number};

/// Groups, as the paper's and those that do not divide twelve.
const SIZES: [usize; 5] = [1, 2, 3, 4, 5];

pub fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    const HEADERS: [&str; 6] = ["split", "ranks", "ms an iteration", "M positions/s", "speed-up", "ideal"];
    let mut table = Table::new("RANKS of one core each, differences in f64", 1, &HEADERS);
    for split in [Split::Features, Split::Data] {
        let mut one = None;
        for size in SIZES {
            bench.output.progress(&format!("{size} ranks, split {split}"));
            let measured = job(&bench.job(), split, size).map(|seconds| {
                let one = *one.get_or_insert(seconds);
                let ideal = if split == Split::Features { ideal_speed_up(size) } else { size as f64 };
                // An iteration evaluates every position thirteen times.
                let rate = 13.0 * n_children(&bench.job()) as f64 / seconds;
                let cells = [seconds * 1e3, rate / 1e6, one / seconds, ideal].map(number).to_vec();
                let (speed_up, positions) = (one / seconds, "positions_per_second");
                (cells, json!({ "seconds": seconds, positions: rate, "speed_up": speed_up, "ideal": ideal }))
            });
            let names = [("split", split.to_string()), ("ranks", size.to_string())];
            let names = names.each_ref().map(|(name, value)| (*name, value.as_str()));
            bench.row(&mut table, "ranks", &names, measured)?;
        }
    }
    table.note(format!("there are {} threads: more ranks share them", rayon::current_num_threads()));
    table.print(&mut bench.output)
}

/// Seconds of an iteration.
fn job(shards: &[&Shard], split: Split, size: usize) -> Result<f64> {
    let options =
        Options { engine: PaperEngine::Warpplay(Engine::Plain), threads: Some(1), split, ..Options::default() };
    let times = Threads::run(size, |ranks| {
        let mut work = part(ranks, split, shards, |shards| Job::new(&Device::cpu(), shards, &options))?;
        ranks.gather(&[])?;
        let start = Instant::now();
        // One row is one iteration's evaluations.
        let go_on = |_: Option<&Row>| ControlFlow::Continue(());
        reproduce(&mut *work, ranks, split, &Objective::default(), &[3.0; 12], 0, go_on)?;
        Ok(start.elapsed().as_secs_f64())
    })?;
    Ok(times.into_iter().fold(0.0, f64::max))
}
