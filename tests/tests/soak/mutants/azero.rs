//! Networks, games, positions, checkpoints and the report of learning.

use std::fs;

use warpplay::Device;
use warpplay::azero::learn::{LearnOptions, Learner};
use warpplay::azero::train::{Checkpoint, Samples, Trainer};
use warpplay::azero::{
    Evaluator, Network, NetworkShape, ObservationLayout, Positions, ValueOf, checkers, read_records,
};
use warpplay_tests::azero::ten_samples;
use warpplay_tests::programs::{Scratch, warpplay};

use super::change::Form;
use super::mcts::journal;
use super::{Named, Parser, checksums, golden, mutants, text};

/// Loads a network and makes it ready to evaluate.
fn network(seeds: &[&str], form: Form) -> Parser {
    Parser::new(golden(seeds), form, |path| {
        let network = Network::load(path).map_err(text)?;
        network.visit(|name, _, values| assert!(values.iter().all(|value| value.is_finite()), "{name}"));
        drop(Evaluator::builder(&network).max_batch(1).build(&Device::cpu()));
        Ok(())
    })
}

mutants!(weights, "azero: weights", |_| network(
    &["azero/v0.1/weights.safetensors", "azero/libtorch_module.safetensors"],
    Form::Tensors
));
mutants!(torch_module, "azero: libtorch archive", |_| network(&["azero/libtorch_module.pt"], Form::Bytes));
mutants!(torch_state, "azero: PyTorch checkpoint", |_| network(&["azero/state_dict.pt"], Form::Bytes));

// Where the entries of an archive have no checksum that is looked at, their pickles are reached by changes of bytes: these lie in the pickle.
mutants!(pickle, "azero: pickle in an archive", |_| {
    let (name, bytes) = golden(&["azero/state_dict.pt"]).remove(0);
    let start = bytes.windows(2).position(|window| window == b"\x80\x02").expect("a pickle");
    let (before, rest) = (bytes[..start].to_vec(), bytes[start..].to_vec());
    let end = rest.windows(2).position(|window| window == b"PK").unwrap_or(rest.len());
    let behind = rest[end..].to_vec();
    Parser::new(vec![(name, rest[..end].to_vec())], Form::Bytes, move |path| {
        // Of the old length, so that the archive stays one.
        let mut pickle = fs::read(path).map_err(text)?;
        pickle.resize(end, 0);
        fs::write(path, [&before[..], &pickle, &behind].concat()).map_err(text)?;
        Network::load(path).map(drop).map_err(text)
    })
});

mutants!(games, "azero: games", |_| {
    Parser::new(golden(&["azero/v0.1/games.jsonl"]), Form::Text, |path| {
        let games = read_records(path).map_err(text)?;
        assert!(games.iter().all(|game| game.replay().is_ok()));
        Samples::read(&[path.to_path_buf()], ObservationLayout::Egocentric, ValueOf::Mover).map(drop).map_err(text)
    })
});

mutants!(openspiel_games, "azero: games of OpenSpiel", |_| {
    let (name, bytes) = golden(&["azero/checkers_games.jsonl"]).remove(0);
    let few = bytes.split_inclusive(|&byte| byte == b'\n').take(2).flatten().copied().collect();
    Parser::new(vec![(name, few)], Form::Text, |path| checkers::replay(path).map(drop).map_err(text))
});

mutants!(positions, "azero: positions", |_| {
    Parser::new(golden(&["commands/inputs.safetensors"]), Form::Tensors, |path| {
        Positions::load(path, NetworkShape::default()).map(drop).map_err(text)
    })
});

mutants!(checkpoint, "azero: checkpoint", |_| {
    let (samples, device) = (ten_samples(), Device::cpu());
    let seeds = golden(&["azero/v0.1/training-cpu.safetensors", "azero/v0.1/training-simt-end.safetensors"]);
    let parser = Parser::new(seeds, Form::Tensors, move |path| {
        let checkpoint = Checkpoint::load(path).map_err(text)?;
        let network = checkpoint.network().clone();
        drop(Trainer::builder(&network, &samples).resume(checkpoint).build(&device));
        Ok(())
    });
    parser.repairing(checksums::state)
});

// The report of a run's folder, which says how far it is and with which options.
mutants!(report_of_learning, "azero: report of learning", |folder| {
    let folder = folder.to_path_buf();
    let options: LearnOptions = {
        let report: serde_json::Value =
            serde_json::from_str(&warpplay_tests::golden::text("azero/v0.1/learn.json")).expect("JSON");
        serde_json::from_value(report["options"].clone()).expect("options")
    };
    let initial = ("initial.safetensors".to_string(), golden(&["azero/v0.1/weights.safetensors"]).remove(0).1);
    let parser = Parser::new(golden(&["azero/v0.1/learn.json"]), Form::Text, move |_| {
        let learner = Learner::builder(&folder).options(options.clone()).build(&Device::cpu()).map_err(text)?;
        // A network of an iteration that the folder does not hold is told.
        drop(learner.best());
        Ok(())
    });
    parser.beside(vec![initial]).naming(Named::Folder)
});

mutants!(journal_of_games, "azero: journal of self-play", 20, |_| {
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "azero");
    journal(
        &scratch,
        "azero",
        "selfplay --uniform --games 2 --simulations 2 --threads 1 --device cpu --seed 1 --checkpoint journal",
    )
});

mutants!(journal_of_a_match, "azero: journal of a match", 20, |_| {
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "azero");
    journal(
        &scratch,
        "azero",
        "match --a uniform,simulations=4 --b random --games 4 --device cpu --seed 1 --checkpoint journal",
    )
});
