//! The device against the plain implementation on the CPU, and the vanilla player, in one run.

use std::time::{Duration, Instant};

use serde_json::json;
use warpplay::mcts::{Adapted, Connect4, Notation, Variant};
use warpplay::{Backend, Device};
use warpplay_cpu_ref::mcts::Game;
use warpplay_cpu_ref::mcts::games::connect4::Connect4 as PlainConnect4;
use warpplay_cpu_ref::mcts::vanilla::Vanilla;

use crate::measure::{Bench, Config};
use crate::output::{Table, maybe, number};
use crate::published::{GameId, VANILLA_STEPS};

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new(
        "DEVICES, the same search on each (wall time)",
        4,
        &["game", "variant", "T, m", "device", "steps/s", "playouts/s", "to 1 thread", "to all"],
    );
    let cpu = Device::cpu();
    let all = format!("cpu, {} threads", rayon::current_num_threads());
    let mut runs = vec![(cpu.clone(), Some(1), "cpu, 1 thread".to_string()), (cpu, None, all)];
    if bench.backend() != Backend::Cpu {
        runs.push((bench.device.clone(), None, bench.device.to_string()));
    }
    let sizes = [
        (GameId::Connect4, Variant::AcpProdigal, 8, 256),
        (GameId::Connect4, Variant::OcpProdigal, 8, 256),
        (GameId::Connect4, Variant::AcpProdigal, 512, 512),
        (GameId::Gomoku, Variant::OcpProdigal, 8, 256),
        (GameId::Gomoku, Variant::AcpProdigal, 8, 256),
    ];
    for (game, variant, n_trees, n_playouts) in sizes {
        // Playouts a second of the CPU with one thread and with all.
        let mut cpu = [None; 2];
        for (index, (device, threads, device_name)) in runs.iter().enumerate() {
            let config =
                Config { threads: *threads, ..Config::new(game, variant, n_trees, n_playouts, bench.seconds.min(1.0)) };
            let name = [game.name().to_string(), variant.to_string(), config.trees_playouts(), device_name.clone()];
            if let Some(reason) = bench.too_long(&config, device) {
                table.row(name.into_iter().chain([reason]).collect());
                continue;
            }
            match bench.search_on(device, &config) {
                Ok(measured) => {
                    let playouts = measured.playouts_per_second();
                    if let Some(own) = cpu.get_mut(index) {
                        *own = Some(playouts);
                    }
                    let [to_one, to_all] = cpu.map(|other| other.map(|other| playouts / other));
                    bench.output.json(&json!({
                        "section": "devices", "game": game.name(), "variant": variant, "trees": n_trees, "playouts": n_playouts,
                        "device": device_name, "device_name": device.name(), "steps_per_second": measured.steps_per_second(),
                        "playouts_per_second": playouts, "to_one_thread": to_one, "to_all_threads": to_all,
                    }))?;
                    let cells = [number(measured.steps_per_second()), number(playouts), maybe(to_one), maybe(to_all)];
                    table.row(name.into_iter().chain(cells).collect());
                }
                Err(error) => {
                    let cell = bench.output.failed(&error);
                    table.row(name.into_iter().chain([cell]).collect());
                }
            }
        }
    }
    table.print(&mut bench.output)?;
    vanilla(bench)
}

/// The paper's reference player: one thread, one playout a step.
fn vanilla(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new(
        "VANILLA, Connect 4 from the empty board, one thread (theirs: Python)",
        1,
        &["rules", "steps/s", "theirs", "ratio", "plies/s"],
    );
    let seconds = bench.seconds.min(1.0);
    let rows = [
        ("plain arrays", timed(Vanilla::new(PlainConnect4::new(6, 7), 2.0, 0.5, 0), seconds)),
        ("the kernels' bitboards", timed(Vanilla::new(Adapted(Connect4::start()), 2.0, 0.5, 0), seconds)),
    ];
    for (rules, (steps, plies)) in rows {
        bench.output.json(&json!({
            "section": "vanilla", "rules": rules, "steps_per_second": steps, "plies_per_second": plies,
            "theirs": VANILLA_STEPS,
        }))?;
        table.row(vec![
            rules.to_string(),
            number(steps),
            number(VANILLA_STEPS),
            number(steps / VANILLA_STEPS),
            number(plies),
        ]);
    }
    table.print(&mut bench.output)
}

/// Steps and plies a second.
fn timed<G: Game>(mut player: Vanilla<G>, seconds: f64) -> (f64, f64) {
    // The first steps touch memory for the first time.
    player.run(Some(2_000), None, &|| false);
    let plies = player.plies();
    let start = Instant::now();
    let steps = player.run(None, Some(Duration::from_secs_f64(seconds)), &|| false);
    let seconds = start.elapsed().as_secs_f64();
    (steps as f64 / seconds, (player.plies() - plies) as f64 / seconds)
}
