//! Files that version 0.1 wrote are read, and gone on from with the same bits; by the engines `epoch` and `layers` with the same precision. `golden/mlp/v0.1/README.md` says how they were made.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use warpplay::mlp::{
    Checkpoint, Classifier, Dataset, Engine, Evaluation, Network, Options, Report, Split, SweepReport, Trainer,
};
use warpplay::{Device, Precision};
use warpplay_cpu_ref::mlp as reference;
use warpplay_tests::Checked;
use warpplay_tests::mlp::{in_double, values};
use warpplay_tests::tolerance::{Tolerance, close};

fn path(name: &str) -> PathBuf {
    warpplay_tests::golden::path("mlp/v0.1").join(name)
}

fn sets() -> (Arc<Dataset>, Arc<Dataset>) {
    let (train, test) = Dataset::load_dir(path("")).expect("the data set");
    (Arc::new(train), Arc::new(test))
}

fn json<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let text = std::fs::read_to_string(path(name)).expect("a golden file");
    // The sweeps of version 0.1 name their version twice.
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn checkpoints_go_on_to_the_weights_that_version_0_1_came_to() -> Checked {
    let (train, test) = sets();
    for (name, precision) in [("cpu_f32", Precision::F32), ("cpu_f64", Precision::F64), ("cpu_f64_rms", Precision::F64)]
    {
        let (found, expected) = gone_on(name, &Device::cpu(), Engine::Cpu, precision, &train, &test)?;
        assert_eq!(found, expected, "{name}: every bit");
    }
    Ok(())
}

/// The network that a checkpoint's training comes to, and the one that version 0.1 came to.
fn gone_on(
    name: &str,
    device: &Device,
    engine: Engine,
    precision: Precision,
    train: &Arc<Dataset>,
    test: &Arc<Dataset>,
) -> warpplay::Result<(Network, Network)> {
    let checkpoint = Checkpoint::load(path(&format!("{name}.checkpoint")))?;
    assert_eq!((checkpoint.epochs().len(), checkpoint.options().precision), (2, precision), "{name}");
    let mut trainer = Trainer::builder(train).epochs(4).test(test).resume(checkpoint).build(device)?;
    assert_eq!(trainer.engine(), engine, "{name}");
    let report = trainer.run(|_| ControlFlow::Continue(()))?;
    assert_eq!(report.epochs.len(), 4, "{name}");
    Ok((trainer.network()?, Network::load(path(&format!("{name}.after.safetensors")))?))
}

/// The engine `layers` adds up in another order than version 0.1, and rounds other operands. Steps of an adaptive optimiser turn roundings of a gradient near 0 into whole steps of a weight, so losses of
/// the networks are compared, as everywhere where formats are: within 1e-4 in single precision, which the module `mlp` promises, else within two roundings of a product's operands, and a layer more.
#[test]
fn checkpoints_of_the_engine_layers_go_on_as_well_as_version_0_1_did() -> Checked {
    let (train, test) = sets();
    let simt = Device::simt();
    for (name, precision, rel) in [
        ("layers_f32", Precision::F32, 1e-4),
        ("layers_tf32", Precision::Tf32, 2e-3),
        ("layers_bf16", Precision::Bf16, 1.6e-2),
        ("layers_fp16", Precision::F16, 2e-3),
    ] {
        let turing = (precision == Precision::F32).then(|| simt.with_capability(7, 5)).transpose()?;
        for device in [simt.clone(), simt.with_capability(8, 0)?].into_iter().chain(turing) {
            let (found, expected) = gone_on(name, &device, Engine::Layers, precision, &train, &test)?;
            let loss = |network: &Network| -> warpplay::Result<f64> {
                Ok(Classifier::builder(network).build(&Device::cpu())?.evaluate(&train)?.loss)
            };
            close(&format!("{name} on {device}"), &[loss(&found)?], &[loss(&expected)?], Tolerance { abs: 0.0, rel });
        }
    }
    Ok(())
}

/// The engine `epoch` splits numbers into halves with scales that version 0.1 had not: both are single precision, which the same epochs in double precision say.
#[test]
fn a_checkpoint_of_the_engine_epoch_goes_on_as_well_as_version_0_1_did() -> Checked {
    let (train, test) = sets();
    let checkpoint = Checkpoint::load(path("epoch_f32.checkpoint"))?;
    let first = checkpoint.network()?;
    let mut trainer = Trainer::builder(&train).epochs(4).test(&test).resume(checkpoint).build(&Device::simt())?;
    assert_eq!(trainer.engine(), Engine::Epoch);
    trainer.run(|_| ControlFlow::Continue(()))?;
    let Options { seed, batch, learning_rate, .. } = *trainer.options();
    let mut training = reference::Training::new(in_double(&first), reference::Settings::default());
    for epoch in [2, 3] {
        let order = reference::epoch_order(seed as u32, epoch, train.len());
        training.epoch::<reference::Sequential>(train.images(), train.labels(), &order, batch as usize, learning_rate);
    }
    let layers = training.network.layers().iter();
    let expected: Vec<f64> = layers.flat_map(|layer| layer.weights.iter().chain(&layer.bias)).copied().collect();
    // 12 steps, in each of which a weight below 1 is rounded to 2^-24, and its gradient, a mean of products below 1 with sums of at most 16 terms, is wrong by (4 + 16) 2^-23 at
    // most in each of two products before it, times the rate 0.1.
    let single = Tolerance { abs: 12.0 * (0.5 + 0.1 * 2.0 * 20.0) * 2f64.powi(-23), rel: 0.0 };
    close("now", &values(&trainer.network()?), &expected, single);
    let old = Network::load(path("epoch_f32.after.safetensors"))?;
    close("version 0.1", &values(&old), &expected, single);
    Ok(())
}

#[test]
fn a_checkpoint_of_the_published_kernels_is_refused_with_the_version_that_reads_it() {
    let error = Checkpoint::load(path("paper.checkpoint")).expect_err("an engine that left").to_string();
    assert!(error.contains("paper.checkpoint: ") && error.contains("version 0.1 reads it"), "{error}");
    // Its weights are weights.
    assert!(Network::load(path("paper.checkpoint")).is_ok());
}

#[test]
fn weights_and_reports_of_version_0_1_are_read() -> Checked {
    let (_, test) = sets();
    let network = Network::load(path("cpu_f32.after.safetensors"))?;
    assert_eq!(Network::load(path("pytorch.safetensors"))?, network);
    let report: Report = json("report.json");
    assert_eq!((report.engine, report.epochs.len()), (Engine::Cpu, 4));
    let old: Evaluation = json("evaluation.json");
    let found = Classifier::builder(&network).build(&Device::cpu())?.evaluate(&test)?;
    assert_eq!((found.correct, &found.confusion, found.loss), (old.correct, &old.confusion, old.loss));
    let sweep: SweepReport = json("sweep.json");
    assert_eq!((sweep.engine, sweep.models.len()), (Engine::Cpu, 4));
    let one = Dataset::load_split(path(""), Split::Test, Some(3))?;
    assert_eq!(one.len(), test.len());
    Ok(())
}
