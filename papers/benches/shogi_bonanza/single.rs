//! Single positions, by batch: from which one on a device is faster than a core.

use serde_json::json;
use warpplay::{Device, Result};
use warpplay_papers::shogi_bonanza::PositionEvaluator;

use crate::measure::Bench;
use crate::output::{Table, maybe, number};

/// Values as learning finds them.
const VALUES: [f64; 12] = [3.0, 3.5, 5.0, 5.5, 8.0, 10.0, 4.0, 4.5, 5.0, 5.5, 11.0, 12.0];

pub fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    const HEADERS: [&str; 5] = ["batch", "one core us", "device us", "device / one core", "positions/s"];
    let mut table = Table::new("SINGLE POSITIONS, copies to the device and back among the times", 1, &HEADERS);
    let mut positions = Vec::new();
    let lists = bench.whole.shards().iter().flat_map(|shard| shard.pieces.iter());
    let most = if bench.quick { 1 << 8 } else { 1 << 20 };
    for list in lists.cycle().take(most) {
        positions.push(PositionEvaluator::position(list));
    }
    let device = bench.kernels();
    let mut even = None;
    for batch in (0..).map(|power| 1 << (2 * power)).take_while(|&batch| batch <= most) {
        bench.output.progress(&format!("batch of {batch}"));
        let one = |device: &Device| -> Result<f64> {
            let mut evaluator = PositionEvaluator::new(device, batch)?;
            let mut values = vec![0.0; batch];
            bench.clock(true, || evaluator.evaluate(&positions[..batch], &VALUES, &mut values))
        };
        let measured = one(&Device::cpu()).and_then(|core| {
            let on_device = device.as_ref().map(&one).transpose()?;
            if even.is_none() && on_device.is_some_and(|seconds| seconds < core) {
                even = Some(batch);
            }
            let rate = batch as f64 / on_device.unwrap_or(core);
            let cells = vec![
                number(core * 1e6),
                maybe(on_device.map(|seconds| seconds * 1e6)),
                maybe(on_device.map(|seconds| core / seconds)),
                number(rate),
            ];
            Ok((cells, json!({ "one_core_s": core, "device_s": on_device, "positions_per_s": rate })))
        });
        bench.row(&mut table, "single", &[("batch", &batch.to_string())], measured)?;
    }
    match even {
        Some(batch) => table.note(format!("the device is faster than one core from batches of {batch} on")),
        None if device.is_some() => table.note("the device is faster than one core in none of these batches".into()),
        None => {}
    }
    bench.output.json(&json!({ "section": "single", "break_even_batch": even }))?;
    table.print(&mut bench.output)
}
