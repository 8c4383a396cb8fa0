//! Games of self-play, all searches on the device, with the network and without: what of the time is the network's.

use std::ops::ControlFlow;

use serde_json::json;
use warpplay::azero::player::{Estimator, SearchOptions, SelfPlay, SelfPlayReport};
use warpplay::azero::{Engine, EvaluatorOptions};
use warpplay::{Backend, Precision, Result};

use crate::measure::Bench;
use crate::output::{Table, number, percent};

/// Simulations of an action.
const SIMULATIONS: u32 = 64;
/// Games side by side.
const PARALLEL: u32 = 256;
/// Games where the network is evaluated by the CPU, which would take hours for a thousand.
const CPU_GAMES: usize = 2;

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let games = match bench.device.backend() {
        Backend::Cuda => bench.games,
        Backend::Cpu => bench.games.min(CPU_GAMES),
        Backend::Simt => {
            return bench.output.text("\nSELF-PLAY is left out: the simulator would take a day for a game.\n");
        }
    };
    let precisions: &[Precision] =
        if bench.has_kernels() { &[Precision::F32, Precision::Bf16] } else { &[Precision::F32] };
    let headers = ["leaves by", "games", "actions", "s", "actions/s", "simulations/s", "network alone/s", "network"];
    let title = format!("SELF-PLAY, {SIMULATIONS} simulations an action, {PARALLEL} games side by side (wall time)");
    let mut table = Table::new(&title, 1, &headers);
    for precision in precisions.iter().copied().map(Some).chain([None]) {
        let name =
            precision.map_or("uniform priors, no network".to_string(), |precision| format!("network, {precision}"));
        bench.output.progress(&name);
        match measure(bench, precision, games) {
            Ok((report, alone)) => {
                let played = report.played;
                let simulations = (played.plies * u64::from(SIMULATIONS)) as f64;
                bench.output.json(&json!({
                    "section": "selfplay", "precision": precision, "report": report, "network_alone_per_second": alone,
                    "device": bench.device.to_string(),
                }))?;
                table.row(vec![
                    name,
                    played.games.to_string(),
                    played.plies.to_string(),
                    number(played.seconds),
                    number(played.plies as f64 / played.seconds),
                    number(simulations / played.seconds),
                    alone.map_or("-".into(), number),
                    alone.map_or("-".into(), |alone| percent(simulations / alone / played.seconds)),
                ]);
            }
            Err(error) => {
                let cell = bench.refused(&error);
                table.row(vec![name, cell]);
            }
        }
    }
    table.note(
        "Network alone: positions a second of a full batch of leaves, calls back to back. Network: the time that so many evaluations as there were simulations take then, of the games' time; the last \
         batches of a run are not full, and ends of games need no evaluation. Without a network the games are others."
            .into(),
    );
    table.print(&mut bench.output)
}

/// Plays the games; and the positions a second of the network at the size of their batches.
fn measure(bench: &Bench, precision: Option<Precision>, games: usize) -> Result<(SelfPlayReport, Option<f64>)> {
    let search = SearchOptions { simulations: SIMULATIONS, seed: 27, ..SearchOptions::self_play() };
    let estimator = match precision {
        Some(precision) => Estimator::network(bench.network.clone(), "network")
            .with_options(EvaluatorOptions { precision, ..EvaluatorOptions::default() }),
        None => Estimator::Uniform,
    };
    let parallel = PARALLEL.min(games as u32);
    let builder = SelfPlay::builder(estimator).search(search).games(games as u64).parallel(parallel);
    let report = builder.build(&bench.device)?.run(|_| ControlFlow::Continue(()))?;
    let batch = (parallel * search.leaves) as usize;
    let alone = match precision.filter(|_| bench.has_kernels()) {
        Some(precision) => {
            let times = bench.ready(&bench.network, precision, Engine::Auto, batch)?.times(bench.seconds)?;
            Some(batch as f64 / times.median)
        }
        None => None,
    };
    Ok((report, alone))
}
