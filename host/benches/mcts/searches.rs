//! Whole searches of the empty board, beside MCTS-NC.

use serde_json::json;

use crate::measure::{Bench, Config, Measured};
use crate::output::{Table, number, percent};
use crate::published::{Published, SEARCHES};

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new(
        &format!(
            "SEARCHES of the empty board, {} s each, on {} (theirs: MCTS-NC on an H200)",
            bench.seconds, bench.device
        ),
        3,
        &[
            "game",
            "variant",
            "T, m",
            "steps/s",
            "theirs",
            "ratio",
            "playouts/s",
            "theirs",
            "ratio",
            "mean depth",
            "max",
            "GiB",
            "full",
        ],
    );
    for published in &SEARCHES {
        let config =
            Config::new(published.game, published.variant, published.n_trees, published.n_playouts, bench.seconds);
        let name = [published.game.name().to_string(), published.variant.to_string(), config.trees_playouts()];
        if let Some(reason) = bench.too_long(&config, &bench.device) {
            table.row(name.into_iter().chain([reason]).collect());
            continue;
        }
        match bench.search(&config) {
            Ok(measured) => {
                bench.output.json(&line(published, &measured))?;
                table.row(name.into_iter().chain(cells(published, &measured)).collect());
            }
            Err(error) => {
                let cell = bench.output.failed(&error);
                table.row(name.into_iter().chain([cell]).collect());
            }
        }
    }
    table.note("Depth of all nodes of all trees; GiB of memory set aside; full: of the largest tree.".to_string());
    table.print(&mut bench.output)
}

fn full(measured: &Measured) -> f64 {
    measured.performance().trees.max_size as f64 / f64::from(measured.capacity)
}

fn cells(published: &Published, measured: &Measured) -> Vec<String> {
    let against = |x: f64, theirs: f64| [number(x), number(theirs), number(x / theirs)];
    let trees = &measured.performance().trees;
    let steps = against(measured.steps_per_second(), published.steps_per_second);
    let playouts = against(measured.playouts_per_second(), published.playouts_per_second);
    let rest = [
        number(trees.mean_depth),
        trees.max_depth.to_string(),
        number(measured.memory_bytes as f64 / f64::from(1 << 30)),
        percent(full(measured)),
    ];
    steps.into_iter().chain(playouts).chain(rest).collect()
}

fn line(published: &Published, measured: &Measured) -> serde_json::Value {
    json!({
        "section": "searches", "game": published.game.name(), "variant": published.variant, "trees": published.n_trees,
        "playouts": published.n_playouts, "device": measured.reports[0].device, "device_name": measured.reports[0].device_name,
        "theirs": {"steps_per_second": published.steps_per_second, "playouts_per_second": published.playouts_per_second},
        "memory_bytes": measured.memory_bytes, "share_of_capacity": full(measured),
        "stopped_by": measured.reports[0].stopped_by, "performance": measured.performance(),
    })
}
