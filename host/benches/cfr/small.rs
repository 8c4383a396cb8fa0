//! Leduc: one game, many games, the reference, and the crate `cfr`.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use warpplay::cfr::engines::SmallBatch;
use warpplay::cfr::layout::VectorGame;
use warpplay::cfr::{BettingTree, GameDef, Options};
use warpplay::{Backend, Device, Precision, Result};

use crate::games::LEDUC;
use crate::measure::{Bench, HEADERS, Timed, moved_bytes};
use crate::output::{Table, number};
use crate::peer;

pub fn leduc(bench: &mut Bench) -> anyhow::Result<()> {
    let mut table = Table::new("LEDUC, CFR+ alternating (wall time)", 3, &HEADERS);
    let game = GameDef::parse(LEDUC)?;
    let device = bench.device.clone();
    if device.backend() != Backend::Cpu {
        for precision in [Precision::F32, Precision::F64] {
            let options = Options { precision, ..bench.options(&device) };
            let timed = bench.solve(&device, &game, options);
            bench.row(&mut table, "leduc", &format!("one game, {precision}"), &device, timed)?;
        }
    }
    if device.backend() != Backend::Cpu {
        // Enough for several blocks on every multiprocessor.
        let n_games = if device.backend() == Backend::Cuda { 2048 } else { 2 };
        let timed = many(bench, &device, &game, n_games);
        bench.row(&mut table, "leduc", &format!("{n_games} games, f32"), &device, timed)?;
    }
    for (name, threads) in bench.cpus() {
        let cpu = Device::cpu();
        let options = Options { threads, ..bench.options(&cpu) };
        let timed = bench.solve(&cpu, &game, options);
        bench.row(&mut table, "leduc", name, &cpu, timed)?;
    }
    crate_cfr(bench, &mut table, &game)?;
    table.print(&mut bench.output)
}

/// Many games at once, a block each; a second: iterations of all of them together.
fn many(bench: &Bench, device: &Device, game: &GameDef, n_games: usize) -> Result<Timed> {
    let options = bench.options(device);
    let vector = Arc::new(VectorGame::from_game(game, &BettingTree::new(game)?, true)?);
    let infoset_actions = (n_games * (vector.table_len(0) + vector.table_len(1))) as u64;
    let mut batch = SmallBatch::new(device, &vec![vector; n_games], &options)?;
    let (seconds, n) = bench.clock(|n| batch.run(n))?;
    Ok(Timed {
        seconds,
        units: n_games as f64,
        engine: "small".into(),
        infoset_actions,
        bytes: batch.memory_needed().device(),
        moved: infoset_actions as f64 * moved_bytes(&options),
        n,
    })
}

/// The crate counts an iteration for both players at once, from the same strategies.
fn crate_cfr(bench: &mut Bench, table: &mut Table, game: &GameDef) -> anyhow::Result<()> {
    let tree = peer::tree(&Arc::new(BettingTree::new(game)?))?;
    let mut n = 100u64;
    let (seconds, value) = loop {
        let start = Instant::now();
        let value = peer::solve(&tree, n)?;
        let seconds = start.elapsed().as_secs_f64();
        if seconds >= 0.5 * bench.seconds {
            break (seconds / n as f64, value);
        }
        n *= 2;
    };
    bench.output.json(&json!({
        "section": "leduc", "what": "crate cfr", "device": "cpu", "seconds_per_iteration": seconds, "iterations": n, "value": value,
    }))?;
    table.row(vec![
        "crate cfr 0.6, 1 thread".into(),
        "cpu".into(),
        "its own".into(),
        number(seconds * 1e6),
        number(1.0 / seconds),
        format!("value {value:+.4} after {n} iterations"),
    ]);
    Ok(())
}
