//! Learning from recorded games, and the loop of self-play, training and gate matches.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use warpplay::azero::learn::{LearnEvent, LearnOptions, Learner};
use warpplay::azero::player::{Estimator, MatchOptions, SearchOptions, SelfPlay};
use warpplay::azero::train::{Options, Samples, Trainer, initial};
use warpplay::azero::{GameRecord, Network, NetworkShape, ObservationLayout, ValueOf, read_records, write_records};
use warpplay::{Device, Precision};
use warpplay_tests::backends::gpu;

/// Games of the search without a network.
fn games(n: u64) -> Vec<GameRecord> {
    let options = SearchOptions { simulations: 8, seed: 5, ..SearchOptions::self_play() };
    let builder = SelfPlay::builder(Estimator::Uniform).search(options).games(n);
    let mut records = Vec::new();
    let report = builder.build(&Device::cpu()).expect("self-play").run(|progress| {
        records.extend(progress.latest.clone());
        ControlFlow::Continue(())
    });
    assert_eq!(report.expect("games").played.games, n);
    records
}

#[test]
fn positions_of_records_are_those_of_the_games() {
    let records = games(4);
    let n: usize = records.iter().map(|record| record.actions.len()).sum();
    for (observation, value_of) in
        [(ObservationLayout::Default, ValueOf::First), (ObservationLayout::Egocentric, ValueOf::Mover)]
    {
        let samples = Samples::from_records(&records, observation, value_of).expect("positions");
        assert_eq!(samples.len(), n);
        assert_eq!((samples.observation(), samples.value_of()), (observation, value_of));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("games.jsonl");
    write_records(&path, &records).expect("written");
    let again = Samples::read(&[path], ObservationLayout::Legacy, ValueOf::Mover).expect("positions");
    assert_eq!(again, Samples::from_records(&records, ObservationLayout::Legacy, ValueOf::Mover).expect("positions"));
}

#[test]
fn records_that_cannot_be_are_refused() {
    let records = games(2);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("games.jsonl");
    let refused = |text: &[u8], expected: &[&str]| {
        std::fs::write(&path, text).expect("written");
        let error =
            Samples::read(std::slice::from_ref(&path), ObservationLayout::Egocentric, ValueOf::Mover).unwrap_err();
        let error = error.to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    };
    refused(b"", &["games.jsonl", "holds no games"]);
    write_records(&path, &records).expect("written");
    let good = std::fs::read(&path).expect("bytes");
    refused(&good[..good.len() - 40], &["games.jsonl, line 2", "not a game record"]);
    let changed = |change: &dyn Fn(&mut GameRecord)| {
        let mut records = records.clone();
        change(&mut records[1]);
        write_records(&path, &records).expect("written");
        std::fs::read(&path).expect("bytes")
    };
    let bytes = changed(&|record| record.actions[3] = 0);
    refused(&bytes, &["line 2", "ply 3", "action 0"]);
    let bytes = changed(&|record| record.visits[5][0][0] = 511);
    refused(&bytes, &["line 2", "ply 5", "511"]);
    let bytes = changed(&|record| record.returns = [record.returns[1] + 1, 0]);
    refused(&bytes, &["line 2", "returns"]);
    let error = Samples::from_records(&[], ObservationLayout::Default, ValueOf::First).unwrap_err().to_string();
    assert_eq!(error, "positions to learn from: expected at least one, got 0");
}

#[test]
fn games_teach_a_network_what_was_played() {
    let records = games(6);
    let samples = Samples::from_records(&records, ObservationLayout::Egocentric, ValueOf::Mover).expect("positions");
    let visits: Vec<&Vec<[u32; 2]>> = records.iter().flat_map(|record| &record.visits).collect();
    let of_position = |visits: &&Vec<[u32; 2]>| {
        let all: f64 = visits.iter().map(|[_, n]| f64::from(*n)).sum();
        let parts = visits.iter().filter(|[_, n]| *n > 0).map(|[_, n]| f64::from(*n) / all);
        -parts.map(|part| part * part.ln()).sum::<f64>()
    };
    let entropy = visits.iter().map(of_position).sum::<f64>() / visits.len() as f64;
    let shape = NetworkShape { width: 8, depth: 1, value_hidden: 8, ..NetworkShape::default() };
    let network = initial(shape, 1).expect("a network").with_meaning(ObservationLayout::Egocentric, ValueOf::Mover);
    let builder = Trainer::builder(&network, &Arc::new(samples)).batch(64).epochs(8).learning_rate(0.01);
    let mut trainer = builder.build(&Device::cpu()).expect("a trainer");
    trainer.run(|_| ControlFlow::Continue(())).expect("a training");
    let (first, last) = (&trainer.epochs()[0].train, &trainer.epochs()[7].train);
    // What the gradient leads down. Visits are not of one action each: a cross-entropy is at least their own.
    assert!(last.policy_loss < first.policy_loss && last.value_loss < first.value_loss, "{first:?} {last:?}");
    assert!(last.accuracy > first.accuracy && last.policy_loss >= entropy - 1e-6, "{first:?} {last:?}, {entropy}");
}

/// A run so small that nothing is learned.
fn small() -> LearnOptions {
    let search = SearchOptions { simulations: 6, leaves: 2, ..SearchOptions::self_play() };
    LearnOptions {
        iterations: 2,
        games: 3,
        parallel: 2,
        window: 2,
        search,
        train: Options { batch: 32, epochs: 2, ..Options::default() },
        gate: MatchOptions { games: 2, parallel: 2, ..MatchOptions::default() },
        gate_search: SearchOptions { noise: None, temperature_plies: 0, ..search },
        precision: Some(Precision::F32),
        shape: NetworkShape { width: 4, depth: 0, value_hidden: 4, ..NetworkShape::default() },
        ..LearnOptions::default()
    }
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_run_that_was_stopped_again_and_again_ends_as_one_that_was_not() {
    let folders = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let device = Device::cpu();
    let mut whole = Learner::builder(folders[0].path()).options(small()).build(&device).expect("a learner");
    assert!(whole.run(|_| ControlFlow::Continue(())).expect("a run").is_done());
    let mut runs = 0;
    let stopped = loop {
        let mut learner = Learner::builder(folders[1].path()).options(small()).build(&device).expect("a learner");
        let mut events = 0;
        let report = learner.run(|progress| {
            events += u32::from(progress.latest.is_some());
            if events < 7 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        runs += 1;
        assert!(runs < 50, "it does not come to an end");
        if report.expect("a run").is_done() {
            break learner;
        }
    };
    assert!(runs > 3, "{runs}");
    for name in ["initial.safetensors", "network-0001.safetensors", "network-0002.safetensors", "games-0002.jsonl"] {
        assert!(bytes(folders[0].path(), name) == bytes(folders[1].path(), name), "{name}");
    }
    for (whole, stopped) in whole.report().iterations.iter().zip(&stopped.report().iterations) {
        assert_eq!((whole.accepted, whole.gate.by_colour), (stopped.accepted, stopped.gate.by_colour));
        assert_eq!(whole.accepted, whole.gate.results().score() > 0.55);
    }
    assert_eq!(whole.best().expect("a network"), stopped.best().expect("a network"));
    assert_eq!(read_records(&folders[0].path().join("games-0001.jsonl")).expect("games").len(), 3);
    assert_eq!(whole.match_with_initial(|_| ControlFlow::Continue(())).expect("a match").results().games(), 2);
    let trained = Network::load(folders[0].path().join("training-0002.safetensors")).expect("a weight file");
    assert_eq!(trained, whole.network(2).expect("a network"));
}

#[test]
fn a_folder_of_another_run_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = Device::cpu();
    drop(Learner::builder(folder.path()).options(small()).build(&device).expect("a learner"));
    let open = |options: LearnOptions| {
        Learner::builder(folder.path()).options(options).build(&device).map(|learner| learner.report().best())
    };
    assert_eq!(open(LearnOptions { iterations: 9, ..small() }).expect("more of the same"), 0);
    let error = open(LearnOptions { games: 4, seed: 2, ..small() }).unwrap_err().to_string();
    assert!(error.contains("games 4, there 3; seed 2, there 1"), "{error}");
    for (options, expected) in [
        (LearnOptions { iterations: 0, ..small() }, "option iterations: 0 is not allowed (1 to 100000)"),
        (LearnOptions { threshold: 1.5, ..small() }, "option threshold: 1.5 is not allowed (0 to 1)"),
        (LearnOptions { window: 0, ..small() }, "option window: 0 is not allowed (at least 1)"),
    ] {
        assert_eq!(open(options).unwrap_err().to_string(), expected);
    }
    let other = initial(NetworkShape::default(), 1).expect("a network");
    let error =
        Learner::builder(folder.path()).options(small()).network(&other).build(&device).unwrap_err().to_string();
    assert!(error.contains("initial network"), "{error}");
    std::fs::write(folder.path().join("learn.json"), "{").expect("written");
    let error = open(small()).unwrap_err().to_string();
    assert!(error.contains("learn.json") && error.contains("not a report of learning"), "{error}");
}

#[test]
fn a_gate_match_can_be_stopped_and_is_played_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = Device::cpu();
    let open = || {
        let options = LearnOptions { iterations: 1, ..small() };
        Learner::builder(folder.path()).options(options).build(&device).expect("a learner")
    };
    // The network is there when the training is done.
    let is_trained = || folder.path().join("network-0001.safetensors").exists();
    let mut learner = open();
    let report = learner.run(|_| if is_trained() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
    assert!(is_trained());
    assert!(report.expect("a run").iterations.is_empty(), "a match that was stopped is none");
    let report = learner.match_with_initial(|_| ControlFlow::Break(())).expect("a match");
    assert_eq!(report.results().games(), 0);
    drop(learner);
    assert!(open().run(|_| ControlFlow::Continue(())).expect("a run").is_done());
}

#[test]
fn a_folder_is_used_by_one_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Learner::builder(folder.path()).options(small()).build(&Device::cpu());
    let first = open().expect("a learner");
    let error = open().expect_err("it is in use").to_string();
    assert!(
        error.contains("is being written by another process: wait until it ends, or use another folder"),
        "{error}"
    );
    drop(first);
    open().expect("nobody uses it");
}

#[test]
fn a_start_that_fails_leaves_nothing() {
    let outer = tempfile::tempdir().expect("a folder");
    let folder = outer.path().join("a/run");
    let open = |options: LearnOptions| Learner::builder(&folder).options(options).build(&Device::cpu()).map(drop);
    let shape = NetworkShape { rows: 6, ..small().shape };
    for (options, expected) in [
        (LearnOptions { parallel: 0, ..small() }, "option parallel: 0 is not allowed (1 to 65536)"),
        (LearnOptions { shape, ..small() }, "network for checkers: expected 5 planes of 8 x 8, 512 actions"),
        (
            LearnOptions { train: Options { batch: 3001, ..small().train }, ..small() },
            "option batch: 3001 is not allowed (at most 3000, the positions that 3 games can have)",
        ),
    ] {
        let error = open(options).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(!outer.path().join("a").exists(), "{expected}");
    }
    open(small()).expect("a learner");
    // Nothing depends on the training's options yet.
    open(LearnOptions { train: Options { batch: 16, ..small().train }, ..small() }).expect("a learner");
    let error = open(LearnOptions { parallel: 3, ..small() }).unwrap_err().to_string();
    assert!(error.contains("parallel 3, there 2"), "{error}");
}

/// Minutes on a GPU.
#[test]
#[ignore = "takes minutes"]
fn a_short_run_beats_the_initial_network() {
    let Some(device) = gpu() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let options = LearnOptions { iterations: 8, ..LearnOptions::default() };
    let mut learner = Learner::builder(folder.path()).options(options).build(&device).expect("a learner");
    learner
        .run(|progress| {
            if let Some(LearnEvent::Iteration(report)) = &progress.latest {
                let last = report.training.last().expect("an epoch");
                println!(
                    "iteration {}: {:.0} s, {} plies; policy {:.3} value {:.3} accuracy {:.3}, {:.0} positions/s; gate {}{}",
                    report.iteration,
                    report.seconds,
                    report.self_play.plies,
                    last.train.policy_loss,
                    last.train.value_loss,
                    last.train.accuracy,
                    last.positions_per_second,
                    report.gate,
                    if report.accepted { ", accepted" } else { "" }
                );
            }
            ControlFlow::Continue(())
        })
        .expect("a run");
    let report = learner.match_with_initial(|_| ControlFlow::Continue(())).expect("a match");
    println!("{report}");
    // Games of two that are alike come to this with a chance of one in a million (Hoeffding).
    let results = report.results();
    let chance = (1e6f64.ln() / (2.0 * results.games() as f64)).sqrt();
    assert!(results.score() > 0.5 + chance, "{report}");
}
