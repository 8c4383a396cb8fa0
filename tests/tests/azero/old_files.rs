//! Files that version 0.1 wrote: they are read, and what goes on from them gives the same bits as it gave there on the CPU, and the same losses by kernels, which add in another order now.

use std::fs;
use std::ops::ControlFlow;

use warpplay::azero::learn::{LearnOptions, LearnReport, Learner};
use warpplay::azero::player::{MatchOptions, SearchOptions};
use warpplay::azero::train::{Checkpoint, Options, Trainer};
use warpplay::azero::{GameRecord, Network, NetworkShape, ObservationLayout, ValueOf, read_records};
use warpplay::{Device, Precision};
use warpplay_tests::azero::{SMALL_SHAPE, ten_samples};
use warpplay_tests::golden;
use warpplay_tests::tolerance::{Tolerance, close};

fn network() -> Network {
    let network = Network::seeded(SMALL_SHAPE, 7).expect("the shape is allowed");
    network.with_meaning(ObservationLayout::Egocentric, ValueOf::Mover)
}

#[test]
fn weights_are_read() {
    let found = Network::load(golden::path("azero/v0.1/weights.safetensors")).expect("it is read");
    assert_eq!(found, network());
    assert_eq!((found.observation(), found.value_of()), (ObservationLayout::Egocentric, ValueOf::Mover));
}

/// A training of version 0.1 gone on with on a device, and where that version came to.
fn gone_on(name: &str, device: &Device) -> (Trainer, Checkpoint) {
    let path = |what: &str| golden::path(&format!("azero/v0.1/training-{name}{what}.safetensors"));
    let checkpoint = Checkpoint::load(path("")).expect("it is read");
    let expected = Checkpoint::load(path("-end")).expect("it is read");
    assert!(checkpoint.updates() < expected.updates() && expected.updates() == 16, "{name}");
    let options = checkpoint.options().clone();
    assert_eq!(
        options,
        Options { batch: 2, epochs: 4, learning_rate: 0.01, validation: 0.2, seed: 5, ..options.clone() }
    );
    let builder = Trainer::builder(checkpoint.network(), &ten_samples()).options(options).resume(checkpoint.clone());
    let mut trainer = builder.build(device).expect("it fits");
    let report = trainer.run(|_| ControlFlow::Continue(())).expect("it goes on");
    assert_eq!(report.updates, 16);
    (trainer, expected)
}

#[test]
fn a_training_goes_on_with_the_same_bits_on_the_cpu() {
    let (mut trainer, expected) = gone_on("cpu", &Device::cpu());
    assert_eq!(trainer.network().expect("a network"), *expected.network());
    let numbers = |checkpoint: &Checkpoint| -> Vec<_> {
        checkpoint.epochs().iter().map(|epoch| (epoch.train, epoch.validation, epoch.l2_loss)).collect()
    };
    assert_eq!(numbers(&trainer.checkpoint().expect("a checkpoint")), numbers(&expected));
}

/// Sums are single precision in another order. Adam turns roundings of a gradient near 0 into whole steps of a weight, so losses of the networks are compared: within 1e-4, as those of perceptrons are.
#[test]
fn trainings_go_on_as_well_by_kernels() {
    let older = Device::simt().with_capability(8, 9).expect("a capability");
    for device in [Device::simt(), older] {
        goes_on_as_well(&device);
    }
}

fn goes_on_as_well(device: &Device) {
    let (mut trainer, expected) = gone_on("simt", device);
    let samples = ten_samples();
    let losses = |network: &Network| {
        let trainer = Trainer::builder(network, &samples).batch(2).build(&Device::cpu());
        let losses = trainer.expect("it fits").evaluate(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).expect("losses");
        [losses.policy_loss, losses.value_loss]
    };
    close(
        "losses",
        &losses(&trainer.network().expect("a network")),
        &losses(expected.network()),
        Tolerance { abs: 0.0, rel: 1e-4 },
    );
}

#[test]
fn games_are_read() {
    let records: Vec<GameRecord> = read_records(&golden::path("azero/v0.1/games.jsonl")).expect("they are read");
    assert_eq!((records.len(), records[0].seed, records[0].actions.len()), (1, 3, 87));
    records[0].replay().expect("by the rules");
}

/// The options that `learn` had.
fn options() -> LearnOptions {
    let base = LearnOptions::default();
    LearnOptions {
        iterations: 2,
        games: 2,
        parallel: 2,
        search: SearchOptions { simulations: 2, ..base.search },
        train: Options { batch: 16, epochs: 1, ..base.train },
        gate: MatchOptions { games: 2, ..base.gate },
        gate_search: SearchOptions { simulations: 2, ..base.gate_search },
        precision: Some(Precision::F32),
        shape: NetworkShape { width: 1, depth: 0, ..base.shape },
        seed: 4,
        ..base
    }
}

#[test]
fn a_run_of_learning_goes_on_with_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |iterations| {
        let builder = Learner::builder(folder.path()).options(LearnOptions { iterations, ..options() });
        builder.build(&Device::cpu()).expect("a learner")
    };
    let old = |name: &str| fs::read_to_string(golden::path(&format!("azero/v0.1/{name}"))).expect("a golden file");
    let new = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a file of the run");
    open(1).run(|_| ControlFlow::Continue(())).expect("an iteration");
    assert_eq!(new("games-0001.jsonl"), old("learn-games-0001.jsonl"));
    // The old report beside the same networks.
    fs::write(folder.path().join("learn.json"), old("learn.json")).expect("written");
    let report: LearnReport = serde_json::from_str(&old("learn.json")).expect("it is read");
    let mut learner = open(2);
    assert_eq!(learner.report().iterations, report.iterations);
    assert!(learner.run(|_| ControlFlow::Continue(())).expect("another iteration").is_done());
    assert_eq!(new("games-0002.jsonl"), old("learn-games-0002.jsonl"));
}
