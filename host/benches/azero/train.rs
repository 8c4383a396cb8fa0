//! Steps of a training: positions a second in every precision, of the default network and of one that is twice as wide and deep.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use warpplay::azero::checkers::{N_ACTIONS, N_OBSERVATION};
use warpplay::azero::train::{MAX_EPOCHS, Samples, Trainer};
use warpplay::azero::{Network, NetworkShape};
use warpplay::{Backend, Error, Precision, Result};

use crate::measure::{Bench, Times};
use crate::output::{Table, number};

/// Positions of a step on a GPU, and steps of an epoch: all that are queued at once.
const BATCH: usize = 1024;
const STEPS: usize = 64;

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let names: Vec<String> = bench.peers.iter().map(|peer| peer.name.clone()).collect();
    let mut headers = vec!["network", "precision", "batch", "us a step, min", "median", "positions/s"];
    headers.extend(names.iter().flat_map(|name| [name.as_str(), "ratio"]));
    let mut table = Table::new("TRAIN, steps of a training", 2, &headers);
    let on_gpu = bench.device.backend() == Backend::Cuda;
    let (batch, steps) = if on_gpu { (BATCH, STEPS) } else { (2, 1) };
    let precisions: &[Precision] = match bench.has_kernels() {
        true => &[Precision::F32, Precision::Tf32, Precision::Bf16],
        false => &[Precision::F32],
    };
    let default = NetworkShape::default();
    // Thread by thread a step of the large one takes minutes.
    let shapes = [default, NetworkShape { width: 2 * default.width, depth: 2 * default.depth, ..default }];
    for shape in &shapes[..if on_gpu { 2 } else { 1 }] {
        let network = Network::seeded(*shape, 27)?;
        let samples = samples(bench, &network, batch * steps)?;
        let name = format!("{} channels x {} blocks", shape.width, shape.depth);
        for &precision in precisions {
            bench.output.progress(&format!("training of {name} in {precision}"));
            let mut row = vec![name.clone(), precision.to_string(), batch.to_string()];
            let mut own = None;
            match times(bench, &network, &samples, (batch, steps), precision) {
                Ok(seconds) => {
                    let rate = batch as f64 / seconds.median;
                    own = Some(rate);
                    bench.output.json(&json!({
                        "section": "train", "shape": shape, "precision": precision, "batch": batch, "seconds": seconds, "positions_per_second": rate,
                        "device": bench.device.to_string(),
                    }))?;
                    let us = |seconds: f64| number(seconds * 1e6);
                    row.extend([us(seconds.min), us(seconds.median), number(rate)]);
                }
                Err(error) => row.push(bench.refused(&error)),
            }
            row.resize(6, String::from("-"));
            for peer in &mut bench.peers {
                let setting = json!({ "shape": shape, "precision": precision, "batch": batch });
                match peer.seconds(&setting)? {
                    Ok(seconds) => {
                        let theirs = batch as f64 / seconds;
                        let ratio = own.map(|own| own / theirs);
                        bench.output.json(&json!({
                            "section": "train", "shape": shape, "precision": precision, "batch": batch, "peer": peer.name, "positions_per_second": theirs, "ratio": ratio,
                        }))?;
                        row.extend([number(theirs), ratio.map_or_else(|| "-".into(), number)]);
                    }
                    Err(why) => row.extend([bench.output.failed(&why), "-".into()]),
                }
            }
            table.row(row);
        }
    }
    table.note(
        "Wall time of epochs, with the order of positions from the host and the report of each step to it.".into(),
    );
    if !names.is_empty() {
        table.note("The peer's column is its positions/s; the ratio is ours divided by it.".into());
    }
    table.print(&mut bench.output)
}

/// The bench's positions, each with one visited action and an even result, `n` in all.
fn samples(bench: &Bench, network: &Network, n: usize) -> Result<Arc<Samples>> {
    let mut samples = Samples::new(network.shape(), network.observation(), network.value_of())?;
    let (observations, masks) = (&bench.positions.observations, &bench.positions.masks);
    let positions = observations.chunks_exact(N_OBSERVATION).zip(masks.chunks_exact(N_ACTIONS)).cycle();
    for (number, (observation, legal)) in positions.take(n).enumerate() {
        let action = legal.iter().position(|&legal| legal != 0).unwrap_or(0) as u32;
        samples.push(number as u64, observation, legal, &[(action, 1)], 0.0)?;
    }
    Ok(Arc::new(samples))
}

/// Wall seconds of a step, of epochs of `steps` steps one after the other; the first is not timed.
fn times(
    bench: &Bench,
    network: &Network,
    samples: &Arc<Samples>,
    (batch, steps): (usize, usize),
    precision: Precision,
) -> Result<Times> {
    let builder = Trainer::builder(network, samples).batch(batch as u32).epochs(1).precision(precision);
    let mut trainer = builder.build(&bench.device)?;
    trainer.run(|_| ControlFlow::Continue(()))?;
    let (begun, mut times) = (Instant::now(), Vec::new());
    // A median; thread by thread an epoch takes a while.
    let least = if bench.device.backend() == Backend::Cuda { 3 } else { 1 };
    for epochs in 2..=MAX_EPOCHS {
        trainer.set_limit(epochs)?;
        let call = Instant::now();
        trainer.run(|_| ControlFlow::Continue(()))?;
        times.push(call.elapsed().as_secs_f64() / steps as f64);
        if times.len() >= least && begun.elapsed().as_secs_f64() > bench.seconds {
            break;
        }
    }
    Times::of(times).ok_or_else(|| Error::option("seconds", bench.seconds, "enough for an epoch"))
}
