//! Where the time of a step goes.

use serde_json::json;
use warpplay::Backend;
use warpplay::mcts::{Report, Variant};

use crate::measure::{Bench, Config, Measured, Repeats};
use crate::output::Table;
use crate::published::GameId;

/// Steps that are measured stage by stage after each search on a GPU.
const PROFILE_STEPS: u32 = 32;

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let gpu = bench.has_gpu();
    let clock = if gpu { "device time after the search" } else { "wall time in the search" };
    let mut table = Table::new(
        &format!(
            "STAGES on {}, microseconds a step ({clock}; each smallest and median of the repeats; step: wall time of the whole search)",
            bench.device
        ),
        3,
        &["game", "variant", "T, m", "select", "expand", "playout", "backup", "stages", "step"],
    );
    let (repeats, seconds) = if bench.quick { (3, 0.05) } else { (5, 0.3) };
    let mut sizes: Vec<(GameId, Variant, u32, u32)> = Vec::new();
    for game in [GameId::Connect4, GameId::Gomoku] {
        sizes.extend(Variant::ALL.iter().map(|&variant| (game, variant, 8, 256)));
        sizes.push((game, Variant::AcpProdigal, 64, 256));
    }
    sizes.push((GameId::Connect4, Variant::AcpProdigal, 512, 512));
    for (game, variant, n_trees, n_playouts) in sizes {
        // Both forms are one on the CPU.
        if bench.backend() == Backend::Cpu && variant.is_thrifty() {
            continue;
        }
        let profile_steps = if bench.backend() == Backend::Simt { 1 } else { PROFILE_STEPS };
        let config = Config { profile_steps, ..Config::new(game, variant, n_trees, n_playouts, seconds) };
        let name = [game.name().to_string(), variant.to_string(), config.trees_playouts()];
        if let Some(reason) = bench.too_long(&config, &bench.device) {
            table.row(name.into_iter().chain([reason]).collect());
            continue;
        }
        // A step of many playouts takes longer than the seconds given, and repeats of it say nothing new on a CPU.
        let repeats = if !gpu && config.first_step() > 20_000 { 1 } else { repeats };
        match bench.search(&Config { repeats, ..config }) {
            Ok(Measured { reports, .. }) => {
                let cells = [
                    ("select", times(&reports, |report| report.performance.ms.mean_select)),
                    ("expand", times(&reports, |report| report.performance.ms.mean_expand)),
                    ("playout", times(&reports, |report| report.performance.ms.mean_playout)),
                    ("backup", times(&reports, |report| report.performance.ms.mean_backup)),
                    ("stages", times(&reports, stages)),
                    ("step", times(&reports, |r| Some(r.performance.ms.loop_ / r.performance.steps as f64))),
                ];
                let mut line = json!({
                    "section": "stages", "game": game.name(), "variant": variant, "trees": n_trees, "playouts": n_playouts,
                    "device": bench.device.to_string(), "from": reports[0].performance.stage_times_from,
                });
                for (name, repeats) in &cells {
                    line[format!("{name}_ms")] = json!(repeats);
                }
                bench.output.json(&line)?;
                let cells = cells.map(|(_, ms)| ms.map_or_else(|| "-".to_string(), |ms| ms.text(1e-3)));
                table.row(name.into_iter().chain(cells).collect());
            }
            Err(error) => {
                let cell = bench.output.failed(&error);
                table.row(name.into_iter().chain([cell]).collect());
            }
        }
    }
    if gpu {
        table.note("The stages are launched one by one here; prodigal searches join all but the playouts in one kernel of a graph, so that a step can take less than its stages.".to_string());
    }
    table.print(&mut bench.output)
}

fn stages(report: &Report) -> Option<f64> {
    let ms = &report.performance.ms;
    Some(ms.mean_select? + ms.mean_expand? + ms.mean_playout? + ms.mean_backup?)
}

fn times(reports: &[Report], of: impl Fn(&Report) -> Option<f64>) -> Option<Repeats> {
    Repeats::of(reports.iter().filter_map(of).collect())
}
