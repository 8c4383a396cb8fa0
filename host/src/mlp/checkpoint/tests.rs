//! Checkpoints: exact, complete, and never believed unchecked.

use std::collections::BTreeMap;
use std::path::Path;

use warpplay_gpu::mlp::random;

use super::*;
use crate::mlp::{Activation, EarlyStopping, Engine, Loss, Optimizer, Reduction, Residence, Scaling};
use crate::runtime::sealed::reseal;

const PATH: &str = "training.ckpt";

/// A training of 5-3-2 in batches of 4 from 10 samples: three steps an epoch, two epochs and a step done.
fn checkpoint(optimizer: Optimizer, precision: Precision) -> TrainerState {
    let key = random::key(3, 5);
    let mut at = 0;
    let mut values = |n: usize| -> Vec<f64> {
        let value = |_| {
            at += 1;
            let value = (random::element(key, at) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            if precision == Precision::F64 { value } else { f64::from(value as f32) }
        };
        (0..n).map(value).collect()
    };
    let mut layers = || {
        [(15, 3), (6, 2)]
            .map(|(n, n_out)| LayerValues { weights: values(n), bias: values(n_out), ..LayerValues::default() })
            .to_vec()
    };
    let report = |epoch| EpochReport {
        epoch,
        loss: 0.1 + 0.2,
        test_accuracy: Some(0.25),
        // A test loss may overflow where the training's does not.
        test_loss: Some(f64::INFINITY),
        validation_accuracy: None,
        validation_loss: Some(1.0 / 3.0),
        learning_rate: 0.01,
        seconds: 1e-3,
        evaluation_seconds: 0.0,
        samples_per_second: f64::INFINITY,
        transfer_share: None,
        repeated: epoch == 2,
    };
    TrainerState {
        inputs: Inputs::Features(Some(Scaling { mean: vec![0.1; 5], deviation: vec![1.0 / 3.0; 5] })),
        options: Options {
            hidden: vec![3],
            batch: 4,
            optimizer,
            precision,
            learning_rate: 0.1,
            weight_decay: 0.3,
            held_out: 2,
            ..Options::default()
        },
        sizes: vec![5, 3, 2],
        n_train: 10,
        data_checksum: u64::MAX - 4,
        epochs: vec![report(1), report(2)],
        step: 1,
        loss_sum: 0.1 * 3.0,
        seconds: 1.5e-9,
        updates: 7,
        best_loss: Some(f64::INFINITY),
        epochs_since_best: 2,
        state: TrainState {
            layers: layers(),
            moments: (0..optimizer.n_moments()).map(|_| layers()).collect(),
            loss_scale: (precision == Precision::F16).then_some((65536.0, 12)),
        },
    }
}

fn bytes_of(checkpoint: &TrainerState) -> Vec<u8> {
    checkpoint.to_bytes(Path::new(PATH)).unwrap()
}

fn read(bytes: &[u8]) -> Result<TrainerState> {
    TrainerState::from_bytes(Path::new(PATH), &mut bytes.to_vec())
}

/// Writes a checkpoint without the checks of writing.
fn text_of(checkpoint: &TrainerState, from: &str, to: &str) -> String {
    let bytes = bytes_of(checkpoint);
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let header = String::from_utf8(bytes[8..8 + length].to_vec()).unwrap();
    assert!(header.contains(from), "{from} is not in {header}");
    let header = header.replacen(from, to, 1);
    let mut changed = (header.len() as u64).to_le_bytes().to_vec();
    changed.extend(header.as_bytes());
    changed.extend(&bytes[8 + length..]);
    reseal(&mut changed);
    read(&changed).unwrap_err().to_string()
}

#[test]
fn every_bit_comes_back() {
    for name in Optimizer::NAMES {
        let optimizer = Optimizer::from_name(name).unwrap();
        for precision in [Precision::F32, Precision::F16, Precision::F64] {
            let written = checkpoint(optimizer, precision);
            let bytes = bytes_of(&written);
            assert_eq!(bytes, bytes_of(&written), "the same checkpoint, the same bytes");
            let found = read(&bytes).unwrap();
            assert_eq!(found, written, "{name} {precision}");
            assert_eq!(found.epochs[0].loss.to_bits(), (0.1_f64 + 0.2).to_bits());
            assert_eq!(bytes_of(&found), bytes);
        }
    }
    let mut written = checkpoint(Optimizer::Sgd, Precision::F32);
    written.best_loss = Some(f64::NAN);
    written.state.layers[0].weights[0] = -0.0;
    let found = read(&bytes_of(&written)).unwrap();
    assert!(found.best_loss.unwrap().is_nan() && found.state.layers[0].weights[0].is_sign_negative());
}

/// The kernels take the root of a running variance.
#[test]
fn variances_below_0_are_refused() {
    let mut written = checkpoint(Optimizer::Sgd, Precision::F32);
    written.options.batch_norm = true;
    let layer = &mut written.state.layers[0];
    (layer.gain, layer.shift, layer.mean) = (vec![1.0; 3], vec![0.0; 3], vec![0.5; 3]);
    layer.variance = vec![1.0, 0.0, 2.0];
    assert_eq!(read(&bytes_of(&written)).unwrap(), written);
    written.state.layers[0].variance[1] = -0.5;
    let text = read(&bytes_of(&written)).unwrap_err().to_string();
    assert_eq!(text, "training.ckpt: tensor variance1, element 1 is -0.5, expected at least 0");
}

#[test]
fn files_are_weight_files_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(PATH);
    let written = checkpoint(Optimizer::from_name("adam").unwrap(), Precision::F32);
    crate::Checkpoint(written.clone()).save(&path).unwrap();
    crate::Checkpoint(written.clone()).save(&path).unwrap();
    assert_eq!(Checkpoint::load(&path).unwrap().0, written);
    assert_eq!(Network::load(&path).unwrap(), written.network().unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left in the folder");
}

/// A state that went wrong does not replace the last good file.
#[test]
fn values_that_are_no_numbers_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(PATH);
    let good = checkpoint(Optimizer::Momentum { momentum: 0.9 }, Precision::F32);
    crate::Checkpoint(good.clone()).save(&path).unwrap();
    let mut bad = good.clone();
    bad.state.layers[1].weights[4] = f64::INFINITY;
    let text = crate::Checkpoint(bad).save(&path).unwrap_err().to_string();
    assert!(text.ends_with("cannot be written: tensor W2, element 4 is inf, expected a finite number"), "{text}");
    let mut bad = good.clone();
    bad.state.moments[0][0].bias[1] = f64::NAN;
    let text = crate::Checkpoint(bad).save(&path).unwrap_err().to_string();
    assert!(text.ends_with("cannot be written: tensor moment1.b1, element 1 is NaN, expected a number"), "{text}");
    let mut bad = good.clone();
    bad.state.layers[0].weights.pop();
    let text = crate::Checkpoint(bad).save(&path).unwrap_err().to_string();
    assert!(text.ends_with("tensor W1 has 14 values, expected [5, 3]"), "{text}");
    let mut bad = good.clone();
    bad.state.layers[0].weights[2] = 0.1;
    let text = crate::Checkpoint(bad).save(&path).unwrap_err().to_string();
    assert!(text.ends_with("tensor W1, element 2 is 0.1, not exact in single precision"), "{text}");
    assert_eq!(Checkpoint::load(&path).unwrap().0, good);
}

#[test]
fn every_damaged_byte_is_found() {
    let bytes = bytes_of(&checkpoint(Optimizer::Momentum { momentum: 0.9 }, Precision::F32));
    for at in 0..bytes.len() {
        for flip in [1, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            assert!(read(&damaged).is_err(), "byte {at} xor {flip}");
        }
        assert!(read(&bytes[..at]).is_err(), "the first {at} bytes");
    }
    let mut long = bytes.clone();
    long.push(0);
    let text = read(&long).unwrap_err().to_string();
    assert!(text.starts_with("training.ckpt: damaged checkpoint of mlp: its checksum is "), "{text}");
}

/// Damage that a careful hand covered up with a right checksum: any answer is fine but a panic or a checkpoint that could not be written.
#[test]
fn no_bytes_make_it_panic() {
    let bytes = bytes_of(&checkpoint(Optimizer::from_name("adamw").unwrap(), Precision::F32));
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let key = random::key(1, 9);
    let mut read_anyway = 0;
    for round in 0..4000_u64 {
        let mut damaged = bytes.clone();
        for change in 0..1 + round % 3 {
            let draw = random::element(key, 8 * round + change + 1);
            // Most changes go to the header, many of them digits.
            let end = if draw & 7 == 0 { damaged.len() } else { 8 + length };
            let at = (draw >> 8) as usize % end;
            damaged[at] = if draw & 8 == 0 { b'0' + (draw >> 40) as u8 % 10 } else { (draw >> 40) as u8 };
        }
        if round % 5 == 0 {
            let draw = random::element(key, 8 * round + 7);
            damaged.truncate(draw as usize % damaged.len());
        }
        reseal(&mut damaged);
        if let Ok(found) = read(&damaged) {
            bytes_of(&found);
            read_anyway += 1;
        }
    }
    assert!(read_anyway > 0, "no change reached the checks after the checksum");
}

#[test]
fn other_files_are_refused() {
    let text = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert_eq!(text(b""), "training.ckpt: the file is empty, expected a checkpoint of mlp");
    assert!(text(b"no tensors at all").starts_with("training.ckpt: not a safetensors file, or a damaged one: "));
    let tensors = [Tensor::single("W1".into(), vec![1], [1.0].into_iter())];
    let weights = tensors::to_bytes(Path::new(PATH), &tensors, "format", "pt").unwrap();
    let expected =
        "training.ckpt: not a checkpoint of mlp: the metadata warpplay_checkpoint with a checksum is missing";
    assert_eq!(text(&weights), expected);
    // Another family's is told by the name of its metadata.
    let other = Kind { key: "warpplay_cfr_checkpoint", ..TrainerState::KIND };
    let bytes = other.to_bytes(Path::new(PATH), &(), &[], BTreeMap::new()).unwrap();
    let expected =
        "not a checkpoint of mlp: the metadata warpplay_checkpoint is missing, the file has warpplay_cfr_checkpoint";
    assert_eq!(text(&bytes), format!("training.ckpt: {expected}"));
}

#[test]
fn every_field_is_checked() {
    let base = checkpoint(Optimizer::Momentum { momentum: 0.9 }, Precision::F32);
    let cases = [
        (r#"\"version\":2"#, r#"\"version\":1"#, "checkpoint of mlp of format version 1, expected 2"),
        (r#"\"sizes\":[5,3,2]"#, r#"\"sizes\":[]"#, "sizes is empty"),
        (
            r#"\"sizes\":[5,3,2]"#,
            r#"\"sizes\":[5,4,2]"#,
            "sizes is [5, 4, 2], expected [5, 3, 2] from the option hidden",
        ),
        (r#"\"sizes\":[5,3,2]"#, r#"\"sizes\":[5,3,257]"#, "expected 1 to 16384 inputs and 1 to 256 classes"),
        (r#"\"sizes\":[5,3,2]"#, r#"\"sizes\":[6,3,2]"#, "tensor W1 is F32 [5, 3], expected F32 [6, 3]"),
        (r#"\"n_train\":10"#, r#"\"n_train\":3"#, "n_train is 3, expected a batch of 4 to 4294967295"),
        (r#"\"updates\":7"#, r#"\"updates\":8"#, "updates is 8, expected 7 from epochs and steps"),
        (r#"\"step\":1"#, r#"\"step\":3"#, "step is 3, expected below 3, the steps of an epoch"),
        (
            r#"\"epochs_since_best\":2"#,
            r#"\"epochs_since_best\":3"#,
            "epochs_since_best is 3, expected at most 2, the epochs done",
        ),
        (r#"\"n_moments\":1"#, r#"\"n_moments\":0"#, "n_moments is 0, expected 1 with momentum"),
        (r#"\"n_moments\":1"#, r#"\"n_moments\":4000000000"#, "n_moments is 4000000000, expected 1 with momentum"),
        (r#"\"loss_scale\":null"#, r#"\"loss_scale\":[2.0,1]"#, "loss_scale is 2, expected none with f32"),
        (r#"\"batch\":4"#, r#"\"batch\":0"#, "option batch: 0 is not allowed (at least 1)"),
        (r#"\"precision\":\"f32\""#, r#"\"precision\":\"fp64\""#, "tensor W1 is F32 [5, 3], expected F64 [5, 3]"),
        (r#"\"epoch\":2"#, r#"\"epoch\":1"#, "epoch is 1, expected 2"),
        (r#"\"loss_sum\":"#, r#"\"loss_sums\":"#, "metadata warpplay_checkpoint: unknown field `loss_sums`"),
        (r#"\"step\":1"#, r#"\"step\":-1"#, "metadata warpplay_checkpoint: invalid value: integer `-1`"),
        (
            r#"\"engine\":\"auto\""#,
            r#"\"engine\":\"paper\""#,
            "the engine paper left this library: version 0.1 reads it",
        ),
        (r#""moment1.b2""#, r#""moment1.b3""#, "tensor moment1.b2 is missing"),
    ];
    for (from, to, expected) in cases {
        let text = text_of(&base, from, to);
        assert!(text.starts_with("training.ckpt: ") && text.contains(expected), "{to}: {text}");
    }
    let sum = format!(r#"\"loss_sum\":{}"#, base.loss_sum.to_bits());
    let text = text_of(&base, &sum, &format!(r#"\"loss_sum\":{}"#, f64::NAN.to_bits()));
    assert!(text.contains("loss_sum is NaN, expected a finite number"), "{text}");
    let half = checkpoint(Optimizer::Sgd, Precision::F16);
    let text = text_of(&half, r#"\"loss_scale\":[65536.0,12]"#, r#"\"loss_scale\":[0.0,12]"#);
    assert!(text.contains("loss_scale is 0, expected a finite number above 0"), "{text}");
}

#[test]
fn a_training_goes_on_only_with_what_it_had() {
    let set = |labels: Vec<u8>| Dataset::new(vec![1; 50], labels, 1, 5, 2, "pairs").unwrap();
    let train = set(vec![0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    let mut old = checkpoint(Optimizer::Momentum { momentum: 0.9 }, Precision::F32);
    old.data_checksum = train.checksum();
    let fits = |options: &Options| old.check_options(options, &old.sizes);
    let with = |change: &dyn Fn(&mut Options)| {
        let mut options = old.options.clone();
        change(&mut options);
        fits(&options)
    };
    fits(&old.options).unwrap();
    old.check_data(&train, train.checksum()).unwrap();
    let asked = Options { batch: 5, epochs: 99, ..Options::default() };
    assert_eq!(old.merged(&asked, &["epochs"]), Options { epochs: 99, ..old.options.clone() });
    assert_eq!(old.merged(&asked, &["batch"]).batch, 5);
    with(&|options| {
        options.epochs = 99;
        options.early_stopping = Some(EarlyStopping { patience: 1, min_delta: 0.0 });
        options.stream = Residence::Host;
        options.evaluate_batch = 1;
        options.engine = Engine::Layers;
        options.threads = Some(3);
    })
    .unwrap();
    type Change = &'static dyn Fn(&mut Options);
    let cases: [(Change, &str); 17] = [
        (&|options| options.batch = 5, "option batch: 5 is not allowed (4, as in the checkpoint)"),
        (
            &|options| options.learning_rate = 0.2,
            "option learning_rate: 0.2 is not allowed (0.1, as in the checkpoint)",
        ),
        (
            &|options| options.optimizer = Optimizer::Sgd,
            "option optimizer: {name:sgd} is not allowed ({name:momentum,momentum:0.9}, as",
        ),
        (&|options| options.weight_decay = 0.0, "option weight_decay: 0.0 is not allowed (0.3, as in the checkpoint)"),
        (
            &|options| options.label_smoothing = 0.2,
            "option label_smoothing: 0.2 is not allowed (0.0, as in the checkpoint)",
        ),
        (
            &|options| options.activation = Activation::Tanh,
            "option activation: tanh is not allowed (relu, as in the checkpoint)",
        ),
        (&|options| options.dropout = 0.5, "option dropout: 0.5 is not allowed (0.0, as in the checkpoint)"),
        (&|options| options.layer_norm = true, "option layer_norm: true is not allowed (false, as in the checkpoint)"),
        (
            &|options| options.loss = Loss::Huber,
            "option loss: huber is not allowed (cross_entropy, as in the checkpoint)",
        ),
        (&|options| options.clip_norm = Some(0.5), "option clip_norm: 0.5 is not allowed (none, as in the checkpoint)"),
        (
            &|options| options.schedule = crate::mlp::Schedule::Cosine { minimum: 0.5 },
            "option schedule: {name:cosine,minimum:0.5} is not",
        ),
        (&|options| options.warmup = 9, "option warmup: 9 is not allowed (0, as in the checkpoint)"),
        (
            &|options| options.reduction = Reduction::Sum,
            "option reduction: sum is not allowed (mean, as in the checkpoint)",
        ),
        (
            &|options| options.init = crate::mlp::Init::HeNormal,
            "option init: he_normal is not allowed (he_uniform, as in the checkpoint)",
        ),
        (&|options| options.seed = 2, "option seed: 2 is not allowed (1, as in the checkpoint)"),
        (
            &|options| options.precision = Precision::F64,
            "option precision: f64 is not allowed (f32, as in the checkpoint)",
        ),
        (&|options| options.held_out = 3, "option held_out: 3 is not allowed (2, as in the checkpoint)"),
    ];
    for (change, expected) in cases {
        let text = with(change).unwrap_err().to_string();
        assert!(text.starts_with(expected), "{text}");
    }
    let error = old.check_options(&old.options, &[5, 4, 2]).unwrap_err();
    assert!(matches!(error, Error::Shape { .. }));
    assert_eq!(error.to_string(), "widths of the layers: expected [5, 3, 2], as in the checkpoint, got [5, 4, 2]");
    let other = set(vec![1, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    let text = old.check_data(&other, other.checksum()).unwrap_err().to_string();
    assert!(
        text.starts_with("training set pairs is not the checkpoint's: expected 10 samples with checksum "),
        "{text}"
    );
}
