//! Files of version 0.1 (`tests/golden/shogi/v0.1`): each is read, and goes on with the bits that version 0.1 went on with.

use std::ops::ControlFlow;
use std::path::Path;

use serde_json::Value;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::learner::{Checkpoint, Engine, LearnReport, LearnRow, Learner, Weights, rust_constant, table};
use warpplay::shogi::material::{Histogram, Material};
use warpplay::shogi::{FeatureSet, Row, Window, records};
use warpplay::{Device, Progress};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::golden;

const CHECKPOINTS: [&str; 10] = [
    "material_sign",
    "material_sgd",
    "material_momentum",
    "material_adagrad",
    "material_adam",
    "material_lbfgs",
    "material_hand_adam",
    "piece_square_sign",
    "held_out_adam",
    "simt_adam",
];

/// What the files were made of.
fn games() -> Dataset {
    let records = records::read(&golden::path("shogi/six.usi"), Progress::go_on).expect("the games can be read");
    let window = |start, end, step| Window { start, end, step };
    Dataset::builder().games(window(0, 2, 1)).plies(window(40, 52, 4)).build(&records).expect("there are such games")
}

fn json(name: &str) -> Value {
    serde_json::from_str(&golden::text(&format!("shogi/v0.1/{name}"))).expect("JSON")
}

fn path(name: &str) -> std::path::PathBuf {
    golden::path(&format!("shogi/v0.1/{name}"))
}

/// FNV-1a, as `continued.json` has it.
fn fnv(bytes: &[u8]) -> String {
    let add = |sum: u64, &byte: &u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    format!("{:016x}", bytes.iter().fold(0xCBF2_9CE4_8422_2325, add))
}

fn numbers(value: &Value) -> Vec<Option<f64>> {
    value.as_array().expect("a list").iter().map(Value::as_f64).collect()
}

#[test]
fn checkpoints_go_on_with_the_same_bits() {
    let (all, continued) = (games(), json("continued.json"));
    let (train, held_out) = all.split(0.5).expect("two games");
    for_each_device(|device| {
        for name in CHECKPOINTS {
            let checkpoint = Checkpoint::load(path(&format!("{name}.ckpt")))?;
            assert_eq!((checkpoint.iteration(), checkpoint.rows().len()), (2, 3), "{name}");
            let builder = match name {
                "held_out_adam" => Learner::builder(&train).held_out(&held_out),
                _ => Learner::builder(&all),
            };
            let mut learner = builder.resume(checkpoint).iterations(4).build(device)?;
            let report = learner.run(|_| ControlFlow::Continue(()))?;
            let expected = &continued[name];
            let of = |number: &dyn Fn(&LearnRow) -> Option<f64>| report.rows.iter().map(number).collect::<Vec<_>>();
            assert_eq!(of(&|row| Some(row.train.j)), numbers(&expected["j"]), "{name}");
            assert_eq!(of(&|row| row.held_out.map(|held_out| held_out.j)), numbers(&expected["held_out"]), "{name}");
            let last: Vec<Option<f64>> = report.rows[4].values.iter().copied().map(Some).collect();
            assert_eq!(last, numbers(&expected["values"]), "{name}");
            let weights = learner.weights()?;
            // The program keeps the best of a course with games held out.
            let weights = learner.best_weights()?.unwrap_or(weights);
            let bytes: Vec<u8> = weights.values().iter().flat_map(|weight| weight.to_le_bytes()).collect();
            assert_eq!(fnv(&bytes), expected["weights_fnv"].as_str().unwrap(), "{name}");
            assert_eq!(report.data_fingerprint, expected["fingerprint"].as_str().unwrap(), "{name}");
        }
        Ok(())
    });
}

#[test]
fn weights_reports_and_data_sets_are_read() -> Result<(), Box<dyn std::error::Error>> {
    for (name, features) in [("material_hand", FeatureSet::MaterialHand), ("piece_square", FeatureSet::PieceSquare)] {
        let file = path(&format!("{name}.safetensors"));
        let weights = Weights::load(&file)?;
        assert_eq!(weights.features(), features);
        // Written again, it is the same file.
        let folder = tempfile::tempdir()?;
        weights.save(folder.path().join("again"))?;
        assert!(std::fs::read(folder.path().join("again"))? == std::fs::read(&file)?, "{name}");
    }
    let report: LearnReport = serde_json::from_value(json("learn.json")["report"].clone())?;
    assert_eq!((report.rows.len(), report.options.learning_rate, report.version.as_str()), (5, None, "0.1.0"));
    assert_eq!((report.rows[4].learning_rate, report.engine), (0.05, Engine::Auto));
    let set = Dataset::open(&path("dataset"))?;
    assert_eq!((set.n_parents(), set.shards().len()), (2, 1));
    let folder = tempfile::tempdir()?;
    set.save(folder.path())?;
    let shard = "shard-531e64135e15ef83.wps";
    assert!(std::fs::read(folder.path().join(shard))? == std::fs::read(path("dataset").join(shard))?);
    Ok(())
}

#[test]
fn the_fit_and_the_exports_are_what_they_were() -> Result<(), Box<dyn std::error::Error>> {
    let all = games();
    let expected: Vec<Row> = serde_json::from_value(json("reproduce.json")["trajectory"].clone())?;
    for_each_device(|device| {
        let report = Material::builder(&all).iterations(2).build(device)?.run(|_| ControlFlow::Continue(()))?;
        assert_eq!(report.rows, expected);
        Ok(())
    });
    assert_eq!(Histogram::from_shards(&all.views()).fit(Default::default(), [3.0; 12], 2)?, expected);
    let mut learner = Learner::builder(&all).iterations(2).build(&Device::cpu())?;
    learner.run(|_| ControlFlow::Continue(()))?;
    let values = learner.weights()?.material();
    let text = |name: &str| std::fs::read_to_string(Path::new(&path(name)));
    assert_eq!((table(&values, None), rust_constant(&values, None)), (text("values.txt")?, text("values.rs")?));
    Ok(())
}
