//! `warpplay mlp` with data in CSV and `.npy` files.

use std::fmt::Write;
use std::fs;

use warpplay::mlp::{Dataset, Inputs, Layer, Network, OnnxFormat, Split, WeightLayout};
use warpplay_tests::npy::npy;
use warpplay_tests::programs::{self, Scratch};

fn new_scratch() -> Scratch {
    Scratch::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")), "mlp")
}

/// A set as CSV with its labels in the last column, which is called `class`.
fn to_csv(set: &Dataset) -> String {
    let pixels = set.n_inputs();
    let mut text: String = (0..pixels).map(|at| format!("p{at},")).collect();
    text += "class\n";
    for (image, label) in set.images().chunks_exact(pixels as usize).zip(set.labels()) {
        image.iter().for_each(|pixel| write!(text, "{pixel},").expect("a string"));
        writeln!(text, "{label}").expect("a string");
    }
    text
}

/// The same samples in every format give the same training, to the last bit.
#[test]
fn the_format_of_the_data_is_no_matter() {
    let scratch = new_scratch();
    let sets =
        [("train", Split::Train, Dataset::drawn_digits(1, 60)), ("test", Split::Test, Dataset::drawn_digits(2, 20))];
    for (name, split, set) in sets {
        let set = set.expect("digits");
        fs::write(scratch.path(&format!("{name}.csv")), to_csv(&set)).expect("a file");
        let n = set.len();
        fs::write(scratch.path(&format!("{name}-images.npy")), npy("|u1", &format!("({n}, 28, 28)"), set.images()))
            .expect("a file");
        fs::write(scratch.path(&format!("{name}-labels.npy")), npy("|u1", &format!("({n},)"), set.labels()))
            .expect("a file");
        fs::create_dir_all(scratch.path("idx")).expect("a folder");
        set.save(scratch.path("idx"), split).expect("two files");
    }
    let of_npy = "--train-set train-images.npy --train-labels train-labels.npy --test-set test-images.npy --test-labels test-labels.npy";
    let of_csv = "--train-set train.csv --test-set test.csv --label-column class";
    let mut networks = Vec::new();
    for data in ["--drawn 60 --drawn-test 20", "--data .", "--data idx", of_npy, of_csv] {
        let line = format!("train --device cpu --threads 1 --hidden 4 --batch 16 --epochs 2 --save-weights net {data}");
        let shown = scratch.ok(&line);
        assert_eq!(shown.contains("drawn digits"), data.starts_with("--drawn"), "{shown}");
        networks.push(fs::read(scratch.path("net")).expect("weights"));
    }
    assert!(networks.iter().all(|network| *network == networks[0]));
    // One set is enough to evaluate on.
    let shown = scratch.ok("evaluate --device cpu --weights net --test-set test.csv --label-column class --header yes");
    assert!(shown.contains("test.csv"), "{shown}");
    // The network in other forms.
    let shown = scratch.ok("convert --weights net --save-onnx net.onnx --image-size 28x28 --softmax --save-weights torch --pytorch --json converted.json");
    assert!(shown.contains("net.onnx: a network 784-4-10"), "{shown}");
    assert_eq!(scratch.json("converted.json")["save_onnx"], "net.onnx");
    let whole = |name: &str| Network::load(scratch.path(name)).expect("weights");
    assert_eq!(whole("torch"), whole("net"));
    whole("net")
        .save_onnx(
            scratch.path("library.onnx"),
            &OnnxFormat { image_size: Some((28, 28)), softmax: true, features: false },
        )
        .expect("a file");
    assert_eq!(
        fs::read(scratch.path("library.onnx")).expect("a file"),
        fs::read(scratch.path("net.onnx")).expect("a file")
    );
    scratch.ok("predict --device cpu --weights net --images test-images.npy --index 3");
    scratch.ok(&format!("sweep --device cpu --threads 1 --hidden 4 --batch 16 --epochs 1 --models 2 {of_csv}"));
    for (line, text) in [
        ("train --train-set train.csv", "--train-set and --test-set are given together"),
        ("train --test-set test.csv", "--train-set and --test-set are given together"),
        ("train --drawn 60 --train-labels a", "--train-labels is only for the images of --train-set"),
        ("evaluate --weights net --data . --test-labels a", "--test-labels is only for the images of --test-set"),
        (
            "convert --weights net --save-onnx x.onnx --image-size 28x27",
            "option image-size: 28x27 is not allowed (rows and columns of 784 pixels",
        ),
        ("convert --weights net --save-onnx net", "--save-onnx and --weights name the same file"),
        ("train --label-column class", "--label-column is only for CSV files, named by --train-set or --test-set"),
        (
            "train --train-set train-images.npy --train-labels a --test-set test-images.npy --test-labels b --header no",
            "--header is only for CSV files",
        ),
        (
            "train --header no --label-column class --train-set train.csv --test-set test.csv",
            "option label-column: class is not allowed (none without a header",
        ),
        (
            "evaluate --weights net --train-set train.csv",
            "--test-set is needed, the set to evaluate on (without --on-training-set)",
        ),
        (
            "evaluate --weights net --test-set test.csv --on-training-set",
            "--train-set is needed, the set to evaluate on (--on-training-set)",
        ),
        (
            "train --train-set train.csv --test-set test.csv --label-column class --save-weights test.csv",
            "--save-weights and --test-set name the same file",
        ),
        ("train --data . --save-weights train-labels.npy", "a file in the folder of --data, which is read"),
    ] {
        let error = scratch.fails(2, line);
        assert!(error.contains(text), "{line}: {error}");
    }
    let error = scratch.misused("train --data . --train-set train.csv --test-set test.csv");
    assert!(error.contains("'--data <DIR>' cannot be used with"), "{error}");
    fs::write(scratch.path("bad.csv"), "label,a\n0,1\n300,1\n").expect("a file");
    let error = scratch.fails(1, "train --train-set bad.csv --test-set bad.csv");
    assert!(
        error.contains("bad.csv, line 3: the label in column 1 (\"label\") is \"300\", a whole number of 0 to 255"),
        "{error}"
    );
    let error = scratch.fails(1, "train --train-set train-images.npy --test-set test-images.npy");
    assert!(error.contains("train-images.npy: is an .npy file, not CSV: its labels are expected"), "{error}");
}

/// The function of two features of `features.rs`, which one step learns; its loss is then 0 but for roundings. The first are Unix times, of which single precision makes one number.
#[test]
fn regressions_on_features_are_trained_and_evaluated() {
    let scratch = new_scratch();
    fs::write(
        scratch.path("set.csv"),
        "a,y,b\n1700000003,1.5,-10\n1700000007,-0.5,-10\n1700000003,7.5,-4\n1700000007,5.5,-4\n",
    )
    .expect("a file");
    let singles = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let features = [[3.0, -10.0], [7.0, -10.0], [3.0, -4.0], [7.0, -4.0]].map(|[a, b]: [f64; 2]| [1.7e9 + a, b]);
    let features: Vec<u8> = features.as_flattened().iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(scratch.path("x.npy"), npy("<f8", "(4, 2)", &features)).expect("a file");
    fs::write(scratch.path("y.npy"), npy("<f4", "(4,)", &singles(&[1.5, -0.5, 7.5, 5.5]))).expect("a file");
    let bound = (24.0 * 8.0 * f64::from(f32::EPSILON)).powi(2);
    for data in [
        "--train-set set.csv --test-set set.csv --label-column y",
        "--train-set x.npy --train-labels y.npy --test-set x.npy --test-labels y.npy",
    ] {
        let shared = format!("--device cpu --loss mse --features standardised {data}");
        let shown = scratch.ok(&format!(
            "train --hidden none --batch 4 --epochs 2 --learning-rate 0.5 --save-weights net --json run.json {shared}"
        ));
        assert!(shown.contains("test loss") && !shown.contains("right"), "{shown}");
        let report = &scratch.json("run.json")["report"];
        assert!(report["epochs"][1]["loss"].as_f64().is_some_and(|loss| loss <= bound), "{report}");
        assert!(report["epochs"][1]["test_accuracy"].is_null(), "{report}");
        let shown = scratch.ok(&format!("evaluate --weights net --json found.json {shared}"));
        assert!(!shown.contains("predicted"), "{shown}");
        let found = &scratch.json("found.json")["report"];
        assert!(found["loss"].as_f64().is_some_and(|loss| loss <= bound), "{found}");
    }
    // The weight file says which loss and which scaling.
    for set in ["--test-set set.csv --label-column y", "--test-set x.npy --test-labels y.npy"] {
        scratch.ok(&format!("evaluate --device cpu --weights net --json found.json {set}"));
        let found = &scratch.json("found.json")["report"];
        assert!(found["loss"].as_f64().is_some_and(|loss| loss <= bound), "{found}");
    }
    for samples in ["set.csv --label-column y", "x.npy"] {
        let shown = scratch.ok(&format!("predict --device cpu --weights net --json said.json --samples {samples}"));
        assert!(shown.trim_start().starts_with("sample  target 0"), "{shown}");
        let said = scratch.json("said.json");
        let outputs = said["outputs"].as_array().expect("outputs");
        assert_eq!(outputs.len(), 4);
        // Each square is a part of the mean.
        for (found, target) in outputs.iter().zip([1.5, -0.5, 7.5, 5.5]) {
            assert!(found[0].as_f64().is_some_and(|found| (found - target).powi(2) <= 4.0 * bound), "{said}");
        }
    }
    scratch.ok("train --device cpu --loss mse --features raw --hidden none --batch 4 --epochs 1 --learning-rate 1e-30 --save-weights raw --train-set set.csv --test-set set.csv --label-column y");
    let shown = scratch.ok(
        "sweep --device cpu --loss huber --features raw --hidden none --batch 4 --epochs 1 --learning-rates 0,1e-30 --seeds 1 --train-set set.csv --test-set set.csv --label-column y",
    );
    assert!(shown.contains("test loss"), "{shown}");
    scratch.ok("convert --weights net --save-onnx net.onnx");
    // What goes on takes what the network took: its loss, its scaling, also of other data, and so does what goes on from that.
    fs::write(
        scratch.path("more.csv"),
        "a,y,b\n1700000005,1.5,-10\n1700000009,-0.5,-10\n1700000003,7.5,-4\n1700000007,5.5,-4\n",
    )
    .expect("a file");
    let more = "--device cpu --hidden none --batch 4 --train-set more.csv --test-set more.csv --label-column y";
    scratch.ok(&format!("train {more} --start net --epochs 1 --checkpoint state --save-weights next"));
    let [before, after] = ["net", "next"].map(|name| Network::load(scratch.path(name)).expect("weights"));
    assert_eq!((after.loss(), after.inputs()), (before.loss(), before.inputs()));
    scratch.ok(&format!("train {more} --resume state --epochs 2 --save-weights next"));
    assert_eq!(Network::load(scratch.path("next")).expect("weights").inputs(), before.inputs());
    scratch.ok("evaluate --device cpu --weights raw --test-set set.csv --label-column y");
    for (line, text) in [
        ("train --loss mse", "loss mse needs samples with targets, named by --train-set and --test-set"),
        ("train --features raw", "features come from files alone, named by --train-set or --test-set"),
        (
            "evaluate --weights raw --features standardised --test-set set.csv --label-column y",
            "--features standardised needs --train-set, whose means and deviations it takes",
        ),
        (
            "train --loss mse --held-out . --features raw --batch 4 --train-set set.csv --test-set set.csv --label-column y",
            "--held-out is a share or a number of samples with --loss mse",
        ),
        ("predict --weights net --samples x.npy --label-column y", "option label-column: y is not allowed"),
        (
            "predict --weights net --samples x.npy --header yes",
            "option header: true is not allowed (only for CSV files)",
        ),
        ("predict --weights net --samples x.npy --json x.npy", "--json and --samples name the same file"),
        ("predict --weights net --image digit.png", "net: the network takes features, which --samples is for"),
        ("evaluate --weights net", "loss mse needs samples with targets, named by --train-set and --test-set"),
    ] {
        let error = scratch.fails(2, line);
        assert!(error.contains(text), "{line}: {error}");
    }
    let error = scratch.fails(1, "predict --device cpu --weights net --samples set.csv");
    assert!(error.contains("set.csv: holds samples of 3 features, 2 are expected"), "{error}");
    for line in [
        "--samples x.npy --image digit.png",
        "--samples x.npy --images x.npy",
        "--image digit.png --header yes",
        "--image digit.png --label-column y",
        "--image digit.png --features raw",
        "--image digit.png --loss mse",
        "--samples x.npy --index 1",
        "--samples x.npy --invert",
        "",
    ] {
        scratch.misused(&format!("predict --weights net {line}"));
    }
}

/// The logits are the features; the probabilities those of the softmax, each of a few roundings.
#[test]
fn classes_of_samples_are_predicted() {
    let scratch = new_scratch();
    let layer = Layer { n_inputs: 2, n_outputs: 2, weights: vec![1.0, 0.0, 0.0, 1.0], bias: vec![0.0; 2] };
    let network = Network::new(vec![layer]).expect("a network");
    let network = network.with_inputs(Inputs::Features(None)).expect("two inputs");
    network.save(scratch.path("net"), WeightLayout::InOut).expect("a file");
    fs::write(scratch.path("new.csv"), "a,b\n1,0\n-2,3\n").expect("a file");
    let shown = scratch.ok("predict --device cpu --weights net --json said.json --samples new.csv");
    assert_eq!(shown.lines().count(), 3, "{shown}");
    let said = scratch.json("said.json");
    assert_eq!(said["classes"], serde_json::json!([0, 1]));
    for (row, difference) in [(0, 1.0f64), (1, -5.0)] {
        let found = said["probabilities"][row][0].as_f64().expect("a number");
        let expected = 1.0 / (1.0 + (-difference).exp());
        assert!((found / expected - 1.0).abs() <= 8.0 * f64::from(f32::EPSILON), "{found} {expected}");
    }
    assert!(said["outputs"].is_null());
    // Of a file that does not say it, as of another program, its user does.
    network
        .with_inputs(Inputs::Pixels)
        .expect("pixels")
        .save(scratch.path("other"), WeightLayout::InOut)
        .expect("a file");
    scratch.ok("predict --device cpu --weights other --features raw --json raw.json --samples new.csv");
    assert_eq!(scratch.json("raw.json")["probabilities"], said["probabilities"]);
    scratch.ok("predict --device cpu --weights other --features raw --loss mse --json raw.json --samples new.csv");
    assert_eq!(scratch.json("raw.json")["outputs"], serde_json::json!([[1.0, 0.0], [-2.0, 3.0]]));
    let error = scratch.fails(1, "predict --device cpu --weights other --samples new.csv");
    assert!(error.contains("the pixel in column 1 (\"a\") is \"-2\", a whole number of 0 to 255"), "{error}");
}

/// Pixels in a CSV file: what `predict` says is what `evaluate` counts.
#[test]
fn predictions_and_evaluations_agree() {
    let scratch = new_scratch();
    let set = Dataset::drawn_digits(2, 40).expect("digits");
    fs::write(scratch.path("test.csv"), to_csv(&set)).expect("a file");
    scratch.ok("train --device cpu --hidden 8 --batch 16 --epochs 2 --learning-rate 0.1 --drawn 200 --drawn-test 20 --save-weights net");
    scratch.ok("evaluate --device cpu --weights net --test-set test.csv --label-column class --json found.json");
    scratch.ok("predict --device cpu --weights net --samples test.csv --label-column class --json said.json");
    let (found, said) = (scratch.json("found.json"), scratch.json("said.json"));
    let classes = said["classes"].as_array().expect("classes");
    let right = classes.iter().zip(set.labels()).filter(|(class, label)| class.as_u64() == Some(u64::from(**label)));
    assert_eq!(found["report"]["correct"], right.count());
}
