//! The second-level cache's window over the weights, on and off.

use serde_json::json;
use warpplay::azero::Engine;
use warpplay::{Backend, L2Window, Precision, Result};

use crate::measure::{Bench, Times};
use crate::output::{Table, number, percent};

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    if bench.device.backend() != Backend::Cuda {
        return bench.output.text("\nL2 is left out: it needs a GPU.\n");
    }
    let headers = ["precision", "engine", "batch", "us off", "us on", "on to off", "kept MB", "window MB", "hit share"];
    let mut table = Table::new("L2 window over the weights (device time, median)", 2, &headers);
    let batches: Vec<usize> =
        bench.batches.iter().copied().filter(|batch| [1, 8, 128, 1024, 8192].contains(batch)).collect();
    for precision in Bench::PRECISIONS {
        for engine in [Engine::Fused, Engine::Layers] {
            for &batch in &batches {
                bench.output.progress(&format!("L2, {precision} {engine} batch {batch}"));
                let name = [precision.to_string(), engine.to_string(), batch.to_string()];
                match both(bench, precision, engine, batch) {
                    Ok(Some((off, on, window))) => {
                        bench.output.json(&json!({
                            "section": "l2", "precision": precision, "engine": engine, "batch": batch, "off_seconds": off, "on_seconds": on,
                            "window": window, "device": bench.device.to_string(),
                        }))?;
                        let mb = |bytes: usize| number(bytes as f64 / 1e6);
                        let cells = [
                            number(off.median * 1e6),
                            number(on.median * 1e6),
                            percent(on.median / off.median),
                            mb(window.kept_bytes),
                            mb(window.window_bytes),
                            percent(window.hit_ratio.into()),
                        ];
                        table.row(name.into_iter().chain(cells).collect());
                    }
                    Ok(None) => {
                        table.row(name.into_iter().chain(["weights have no window".to_string()]).collect());
                        break;
                    }
                    Err(error) => {
                        let cell = bench.refused(&error);
                        table.row(name.into_iter().chain([cell]).collect());
                        break;
                    }
                }
            }
        }
    }
    table.print(&mut bench.output)
}

/// Times without and with the window; none for an engine that does not say where its weights are.
fn both(bench: &Bench, precision: Precision, engine: Engine, batch: usize) -> Result<Option<(Times, Times, L2Window)>> {
    let off = bench.ready(&bench.network, precision, engine, batch)?.times(bench.seconds)?;
    // An evaluator of its own: recorded launches keep the window that they were recorded with.
    let mut ready = bench.ready(&bench.network, precision, engine, batch)?;
    let Some(span) = ready.evaluator.weights() else { return Ok(None) };
    let window = ready.stream.keep_in_l2(&span)?;
    let on = ready.times(bench.seconds);
    ready.stream.synchronize()?;
    ready.stream.release_l2()?;
    Ok(Some((off, on?, window)))
}
