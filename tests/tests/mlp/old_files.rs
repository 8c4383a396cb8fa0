//! Files that version 0.1 wrote are read, and gone on from with the same bits; by the engine `epoch` with the same precision. `golden/mlp/v0.1/README.md` says how they were made.

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
    // The products of version 0.1 are those of compute capability 8.0.
    let older = Device::simt().with_capability(8, 0)?;
    for (name, device, engine, precision) in [
        ("cpu_f32", Device::cpu(), Engine::Cpu, Precision::F32),
        ("cpu_f64", Device::cpu(), Engine::Cpu, Precision::F64),
        ("cpu_f64_rms", Device::cpu(), Engine::Cpu, Precision::F64),
        ("layers_f32", older.clone(), Engine::Layers, Precision::F32),
        ("layers_tf32", older.clone(), Engine::Layers, Precision::Tf32),
        ("layers_bf16", older.clone(), Engine::Layers, Precision::Bf16),
        ("layers_fp16", older, Engine::Layers, Precision::F16),
    ] {
        let checkpoint = Checkpoint::load(path(&format!("{name}.checkpoint")))?;
        assert_eq!((checkpoint.epochs().len(), checkpoint.options().precision), (2, precision), "{name}");
        let builder = Trainer::builder(&train).epochs(4).test(&test).resume(checkpoint);
        let mut trainer = builder.build(&device)?;
        assert_eq!(trainer.engine(), engine, "{name}");
        let report = trainer.run(|_| ControlFlow::Continue(()))?;
        assert_eq!(report.epochs.len(), 4, "{name}");
        let expected = Network::load(path(&format!("{name}.after.safetensors")))?;
        assert_eq!(trainer.network()?, expected, "{name}: every bit");
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
