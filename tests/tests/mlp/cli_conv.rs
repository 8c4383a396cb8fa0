//! `warpplay mlp train-conv`, `evaluate-conv` and `predict-conv` as others use them: JSON, exit codes, one-line errors.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use warpplay::mlp::conv::ConvNetwork;
use warpplay::mlp::{Dataset, Split};
use warpplay_tests::programs::{self, Scratch, has};

fn new_scratch() -> Scratch {
    Scratch::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")), "mlp")
}

/// A tiny set, a tiny network, the plain program.
const TINY: &str = "--device cpu --threads 1 --drawn 120 --drawn-test 40 --blocks 8/8 --batch 16";

fn losses(written: &Value) -> Vec<f64> {
    let epochs = written["report"]["epochs"].as_array().expect("a list");
    epochs.iter().map(|epoch| epoch["loss"].as_f64().expect("a number")).collect()
}

#[test]
fn a_network_is_trained_evaluated_and_used() {
    let scratch = new_scratch();
    let line = "--epochs 3 --learning-rate 0.05 --warmup 0.2 --momentum 0.8 --l2 0.001 --seed 4 --json run.json --plots run.svg --save-weights conv.safetensors";
    let shown = scratch.ok(&format!("train-conv {TINY} {line}"));
    assert!(shown.contains("convolutions 8/8") && shown.contains("drawn digits"), "{shown}");
    let run = scratch.json("run.json");
    assert_eq!((&run["kind"], &run["program"]), (&"train-conv".into(), &"warpplay mlp".into()));
    let report = &run["report"];
    has(
        report,
        &["schema", "version", "epochs", "device", "seed", "image_size", "n_parameters", "stopped_by", "options"],
    );
    assert_eq!(report["options"]["blocks"], json!([[8], [8]]));
    for (option, value) in [("batch", 16.0), ("epochs", 3.0), ("warmup", 0.2), ("seed", 4.0)] {
        assert_eq!(report["options"][option].as_f64(), Some(value), "{option}");
    }
    let course = losses(&run);
    assert!(course.len() == 3 && course[2] < course[0], "{course:?}");
    assert!(fs::read_to_string(scratch.path("run.svg")).expect("a picture").starts_with("<svg"));

    let evaluate = "evaluate-conv --device cpu --drawn-test 40 --weights conv.safetensors --json found.json";
    let shown = scratch.ok(evaluate);
    assert!(shown.contains("true 9"), "{shown}");
    let found = scratch.json("found.json");
    assert_eq!((&found["blocks"], &found["image_size"]), (&json!([[8], [8]]), &json!([28, 28])));
    for field in ["correct", "confusion", "accuracy", "loss"] {
        assert_eq!(found["report"][field], run["test"][field], "{field}");
    }

    Dataset::drawn_digits(3, 10).and_then(|set| set.save(scratch.folder(), Split::Test)).expect("written");
    let predict =
        "predict-conv --device cpu --weights conv.safetensors --images t10k-images-idx3-ubyte --json one.json";
    let shown = scratch.ok(&format!("{predict} --index 4"));
    let one = scratch.json("one.json");
    has(&one, &["class", "probabilities", "image", "index", "device"]);
    let probabilities: Vec<f64> = serde_json::from_value(one["probabilities"].clone()).expect("a list");
    assert!(probabilities.len() == 10 && (probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-5);
    assert!(shown.ends_with(&format!("class {}\n", one["class"])), "{shown}");

    // A training can begin with them, and its blocks are those of the file.
    let tiny = TINY.replace("--blocks 8/8", "");
    scratch.ok(&format!("train-conv {tiny} --epochs 1 --seed 4 --start conv.safetensors --json on.json"));
    assert!(losses(&scratch.json("on.json"))[0] < course[0]);
    // The same command gives the same weights.
    scratch.ok(&format!("train-conv {TINY} {}", line.replace("conv.safetensors", "again.safetensors")));
    let weights = |name: &str| ConvNetwork::load(scratch.path(name)).expect("weights");
    assert_eq!(weights("again.safetensors"), weights("conv.safetensors"));
}

/// Images of 4 x 6 pixels in three classes, of which one has its own columns bright.
fn stripes(n: usize) -> Dataset {
    let labels: Vec<u8> = (0..n).map(|at| (at % 3) as u8).collect();
    let pixels = |label: u8| (0..24).map(move |at| if at % 6 / 2 == usize::from(label) { 200 } else { 9 });
    Dataset::new(labels.iter().flat_map(|&label| pixels(label)).collect(), labels, 4, 6, 3, "stripes").expect("a set")
}

fn write_csv(path: &Path, set: &Dataset) {
    let line = |(image, label): (&[u8], &u8)| {
        std::iter::once(label).chain(image).map(u8::to_string).collect::<Vec<_>>().join(",") + "\n"
    };
    let lines: String = set.images().chunks(24).zip(set.labels()).map(line).collect();
    fs::write(path, lines).expect("written");
}

#[test]
fn files_have_images_that_are_not_square() {
    let scratch = new_scratch();
    let (train, test) = (stripes(60), stripes(15));
    train.save(scratch.folder(), Split::Train).expect("written");
    test.save(scratch.folder(), Split::Test).expect("written");
    write_csv(&scratch.path("train.csv"), &train);
    write_csv(&scratch.path("test.csv"), &test);
    let line =
        "train-conv --device cpu --blocks 8 --batch 10 --epochs 6 --save-weights conv.safetensors --json run.json";
    let course = |data: &str| {
        scratch.ok(&format!("{line} {data}"));
        losses(&scratch.json("run.json"))
    };
    let csv = "--train-set train.csv --test-set test.csv --header no";
    let folder = course("--data .");
    assert_eq!(course(&format!("{csv} --image-size 4x6")), folder);
    assert_eq!(scratch.json("run.json")["test"]["accuracy"], 1.0, "stripes are told apart");
    scratch
        .ok("evaluate-conv --device cpu --test-set test.csv --header no --weights conv.safetensors --json found.json");
    assert_eq!(scratch.json("found.json")["report"]["correct"], 15);
    // A row of pixels has no second row.
    let said = scratch.fails(1, &format!("{line} {csv}"));
    assert!(said.contains("multiples of 2") && said.contains("1 x 24"), "{said}");
    // As many pixels in another shape.
    fs::create_dir(scratch.path("turned")).expect("made");
    let turned = Dataset::new(test.images().to_vec(), test.labels().to_vec(), 6, 4, 3, "turned").expect("a set");
    turned.save(scratch.path("turned"), Split::Test).expect("written");
    let images = "predict-conv --device cpu --weights conv.safetensors --images turned/t10k-images-idx3-ubyte";
    let said = scratch.fails(1, images);
    assert!(said.contains("6 x 4") && said.contains("4 x 6"), "{said}");
}

#[test]
fn what_is_not_allowed_is_named() {
    let scratch = new_scratch();
    for (wrong, named) in [
        ("--blocks 8/9", "option blocks: 9"),
        ("--batch 0", "option batch: 0"),
        ("--epochs 0", "option epochs: 0"),
        ("--lr -1", "option learning-rate: -1"),
        ("--warmup 2", "option warmup: 2"),
        ("--momentum 1", "option momentum: 1"),
        ("--l2 -1", "option l2: -1"),
        ("--threads 0", "option threads: 0"),
        ("--drawn 0", "option drawn: 0"),
        ("--json x --save-weights x", "--save-weights and --json"),
        ("--train-set x", "--train-set and --test-set"),
        ("--drawn 20 --image-size 99x1", "--image-size is only for CSV files"),
    ] {
        let said = scratch.fails(2, &format!("train-conv --device cpu {wrong}"));
        assert!(said.contains(named), "{wrong}: {said}");
    }
    for wrong in ["--blocks 8,x", "--blocks 8//8", "--image-size 28", "--hidden 8", "--seed -1"] {
        scratch.misused(&format!("train-conv --device cpu {wrong}"));
    }
    // Images of 28 pixels are not halved three times.
    let said = scratch.fails(1, "train-conv --device cpu --drawn 20 --drawn-test 10 --blocks 8/8/8");
    assert!(said.contains("multiples of 8") && said.contains("28 x 28"), "{said}");
    for (line, named) in [
        ("train-conv --device cpu --start nowhere.safetensors", "nowhere.safetensors"),
        ("train-conv --device cpu --save-weights no/such/file", "no/such/file"),
        ("evaluate-conv --device cpu --weights nowhere.safetensors", "nowhere.safetensors"),
        ("predict-conv --device cpu --weights nowhere.safetensors --image x.png", "nowhere.safetensors"),
    ] {
        let said = scratch.fails(1, line);
        assert!(said.contains(named), "{line}: {said}");
    }
    scratch.misused("predict-conv --device cpu --weights x");
    assert_eq!(scratch.names(), [""; 0], "nothing is written by any of them");
}
