//! Records, positions, data sets, weights and checkpoints of shogi.

use std::fs;

use warpplay::shogi::board::{Board, Rules, check_moves};
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::learner::{Checkpoint, Learner, Weights};
use warpplay::shogi::material::Material;
use warpplay::shogi::{Evaluator, records};
use warpplay::{Device, Progress};
use warpplay_tests::golden as folder;
use warpplay_tests::learning::first_games;

use super::change::{Form, packed};
use super::{Named, Parser, checksums, golden, mutants, seed, text};

/// A record that no parser accepts.
const REFUSED: &str = "jkf_7mai.ki2u";

/// Records of these endings.
fn of_endings(endings: &[&str]) -> Parser {
    let entries =
        fs::read_dir(folder::path("shogi/raw")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|end| endings.iter().any(|ending| end == *ending)))
        .filter(|path| !path.ends_with(REFUSED))
        .collect();
    paths.sort();
    Parser::new(paths.iter().map(|path| seed(path)).collect(), Form::Text, |path| {
        records::read(path, Progress::go_on).map(drop).map_err(text)
    })
}

mutants!(csa, "shogi: records (CSA)", |_| of_endings(&["csa"]));
mutants!(kif, "shogi: records (KIF)", |_| of_endings(&["kif", "kifu"]));
mutants!(ki2, "shogi: records (KI2)", |_| of_endings(&["ki2", "ki2u"]));

mutants!(usi, "shogi: records (USI)", |_| {
    Parser::new(golden(&["shogi/six.usi"]), Form::Text, |path| {
        records::read(path, Progress::go_on).map(drop).map_err(text)
    })
});

mutants!(packed_usi, "shogi: records (USI, gzip)", |_| {
    let seeds = vec![("six.usi.gz".to_string(), packed(folder::text("shogi/six.usi").as_bytes()))];
    Parser::new(seeds, Form::Packed, |path| records::read(path, Progress::go_on).map(drop).map_err(text))
});

mutants!(positions, "shogi: positions with their moves", |_| {
    let text_of = folder::text("shogi/moves.jsonl");
    let few: String = text_of.split_inclusive('\n').take(4).collect();
    Parser::new(vec![("moves.jsonl".into(), few.into_bytes())], Form::Text, |path| {
        check_moves(path).map(drop).map_err(text)
    })
});

mutants!(sfen, "shogi: position (SFEN, text)", |_| {
    let text_of = folder::text("shogi/moves.jsonl");
    let position = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).expect("JSON")["sfen"].as_str().expect("a text").to_string()
    };
    let seeds = text_of.lines().take(20).map(|line| ("position".to_string(), position(line).into_bytes())).collect();
    Parser::new(seeds, Form::Text, |path| {
        let read = fs::read(path).map_err(text)?;
        let board = Board::from_sfen(&String::from_utf8_lossy(&read)).map_err(text)?;
        board.legal_moves(&mut Vec::new());
        assert!(Board::from_sfen(&board.sfen()).is_ok(), "{}", board.sfen());
        Ok(())
    })
    .naming(Named::Nothing)
});

mutants!(weights, "shogi: weights", |_| {
    let seeds = golden(&["shogi/v0.1/material_hand.safetensors", "shogi/v0.1/piece_square.safetensors"]);
    Parser::new(seeds, Form::Tensors, |path| {
        let weights = Weights::load(path).map_err(text)?;
        assert!(weights.values().iter().all(|value| value.is_finite()));
        let evaluator =
            Evaluator::new(weights.features(), weights.values().to_vec()).expect("as many as the features have");
        assert!(evaluator.evaluate_position(&Board::start()).is_ok());
        Ok(())
    })
});

mutants!(checkpoint, "shogi: checkpoint", |_| {
    let names = [
        "material_sign",
        "material_momentum",
        "material_adam",
        "material_lbfgs",
        "material_hand_adam",
        "piece_square_sign",
        "held_out_adam",
    ];
    let names: Vec<String> = names.iter().map(|name| format!("shogi/v0.1/{name}.ckpt")).collect();
    let set = Dataset::builder().build(&first_games(2)).expect("a data set");
    let parser =
        Parser::new(golden(&names.iter().map(String::as_str).collect::<Vec<_>>()), Form::Tensors, move |path| {
            let checkpoint = Checkpoint::load(path).map_err(text)?;
            drop(checkpoint.weights());
            drop(Learner::builder(&set).resume(checkpoint).build(&Device::cpu()));
            Ok(())
        });
    parser.repairing(checksums::state)
});

const MANIFEST: &str = "shogi/v0.1/dataset/dataset.json";
const SHARD: &str = "shogi/v0.1/dataset/shard-531e64135e15ef83.wps";

/// A set of one shard: one of its two files is a mutant.
fn set(mutant: &str, form: Form, other: &str) -> Parser {
    let parser = Parser::new(golden(&[mutant]), form, |path| {
        let set = Dataset::open(path.parent().expect("a folder")).map_err(text)?;
        assert!(Material::builder(&set).build(&Device::cpu()).is_ok(), "what is read can be learnt from");
        Ok(())
    });
    parser.beside(golden(&[other])).repairing(checksums::dataset)
}

mutants!(shard, "shogi: shard of a data set", |_| set(SHARD, Form::Bytes, MANIFEST));
mutants!(manifest, "shogi: list of a data set", |_| set(MANIFEST, Form::Text, SHARD));
