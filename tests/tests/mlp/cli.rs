//! `warpplay mlp` as others use it: its JSON, its exit codes, its one-line errors, checkpoints and Ctrl-C.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use std::time::{Duration, Instant};

use serde_json::Value;
use warpplay::mlp::{Checkpoint, Dataset, Layer, Network, Split, WeightLayout};
use warpplay_tests::backends::kernel_devices;
use warpplay_tests::journals::{Journaled, refused_without_journal};
use warpplay_tests::programs::{self, Scratch, has, interrupt};

/// The program `warpplay`.
fn program() -> &'static Path {
    programs::warpplay(env!("CARGO_TARGET_TMPDIR"))
}

/// A folder for runs of the program.
fn new_scratch() -> Scratch {
    Scratch::new(program(), "mlp")
}

/// A tiny set, a tiny network, the plain program.
const TINY: &str = "--device cpu --threads 1 --drawn 220 --drawn-test 60 --hidden 16 --batch 32 --lr 0.1";

/// All that a training computes, without its times.
fn course(written: &Value) -> Vec<(Value, Value, Value)> {
    let epochs = written["report"]["epochs"].as_array().expect("a list");
    epochs.iter().map(|epoch| (epoch["epoch"].clone(), epoch["loss"].clone(), epoch["test_accuracy"].clone())).collect()
}

#[test]
fn the_json_of_train_has_the_fields_that_others_rely_on() {
    let scratch = new_scratch();
    // Every flag of the agreed command line.
    let line = "train --hidden 24,12 --batch 32 --lr 0.1 --epochs 3 --optimizer sgd --reduction mean --init he_uniform --seed 1 \
                --device cpu --precision fp32 --drawn 220 --drawn-test 60 --json run.json --plot run.svg --checkpoint run.checkpoint";
    let shown = scratch.ok(line);
    assert!(shown.contains("drawn digits"), "{shown}");
    let written = scratch.json("run.json");
    has(&written, &["schema", "kind", "version", "program", "test", "report"]);
    let report = &written["report"];
    has(report, &["schema", "version", "epochs", "dead_units", "device", "options", "data", "engine"]);
    assert_eq!(
        (&report["schema"], &report["device"], &report["data"]),
        (&1.into(), &"cpu".into(), &"drawn digits, seed 1".into())
    );
    assert_eq!(report["sizes"], serde_json::json!([784, 24, 12, 10]));
    has(&report["options"], &["hidden", "batch", "epochs", "learning_rate", "optimizer", "reduction", "init", "seed"]);
    assert_eq!(report["options"]["hidden"], serde_json::json!([24, 12]));
    assert!(report["dead_units"].as_u64() <= Some(36));
    let epochs = report["epochs"].as_array().expect("a list");
    assert_eq!(epochs.len(), 3);
    for (epoch, number) in epochs.iter().zip(1..) {
        has(epoch, &["epoch", "loss", "test_accuracy", "seconds", "samples_per_second"]);
        assert_eq!(epoch["epoch"], number);
        let accuracy = epoch["test_accuracy"].as_f64().expect("a fraction");
        assert!((0.0..=1.0).contains(&accuracy));
        // 60 test samples.
        assert!((accuracy * 60.0 - (accuracy * 60.0).round()).abs() < 1e-9, "{accuracy}");
        assert!(epoch["seconds"].as_f64() > Some(0.0));
    }
    assert!(epochs[2]["loss"].as_f64() < epochs[0]["loss"].as_f64(), "{epochs:?}");
    assert_eq!(epochs[2]["test_accuracy"], written["test"]["accuracy"]);
    assert!(fs::read_to_string(scratch.path("run.svg")).expect("a picture").starts_with("<svg"));
    assert_eq!(scratch.names(), ["run.checkpoint", "run.json", "run.svg"], "nothing else is left");
}

#[test]
fn epochs_that_were_done_again_are_told() {
    let scratch = new_scratch();
    // A rate that makes weights grow out of the scales of the beginning.
    let line =
        "--device simt --engine epoch --drawn 64 --drawn-test 16 --hidden 4 --batch 32 --epochs 1 --json run.json";
    let shown = scratch.ok(&format!("train {line} --lr 300"));
    assert!(shown.contains("repeated    1 of 1 epochs by engine layers"), "{shown}");
    let written = scratch.json("run.json");
    assert_eq!(written["report"]["repeated_epochs"], 1);
    assert_eq!(written["report"]["epochs"][0]["repeated"], true);
    assert_eq!(written["report"]["engine"], "epoch");
    let shown = scratch.ok(&format!("sweep {line} --models 1 --lrs 300"));
    assert!(shown.contains("again   1 epochs by engine layers"), "{shown}");
    assert_eq!(scratch.json("run.json")["report"]["models"][0]["repeated_epochs"], 1);
    let shown = scratch.ok(&format!("train {line} --lr 0.01"));
    assert!(!shown.contains("repeated"), "{shown}");
}

#[test]
fn the_same_command_gives_the_same_course_and_another_seed_another() {
    let scratch = new_scratch();
    let train = |more: &str| {
        scratch.ok(&format!("train {TINY} --epochs 2 --quiet --json run.json {more}"));
        course(&scratch.json("run.json"))
    };
    let first = train("");
    scratch.ok(&format!("train {} --epochs 2 --json run.json", TINY.replace("--threads 1", "--threads 2")));
    assert_eq!(course(&scratch.json("run.json")), first, "the number of threads changes nothing");
    assert_ne!(train("--seed 2"), first);
    for other in [
        "--reduction sum --lr 0.003",
        "--optimizer nesterov",
        "--optimizer sgd --momentum 0.5",
        "--optimizer adamw --lr 0.01 --weight-decay 0.1 --beta1 0.8",
        "--optimizer rmsprop --lr 0.001 --alpha 0.9",
        "--schedule cosine --warmup 3",
        "--schedule step --step-every 1 --step-factor 0.5",
        "--init xavier_normal",
        "--held-out 20 --patience 5",
    ] {
        // A flag is given once.
        let tiny = if other.contains("--lr") { TINY.replace("--lr 0.1", "") } else { TINY.to_string() };
        scratch.ok(&format!("train {tiny} --epochs 2 --quiet --json run.json {other}"));
        assert_ne!(course(&scratch.json("run.json")), first, "{other}");
    }
    assert_eq!(train("--optimizer sgd --momentum 0"), first, "no momentum is plain SGD");
}

#[test]
fn devices_that_run_kernels_follow_the_cpu() {
    let scratch = new_scratch();
    let train = |device: &str| {
        let line = "train --drawn 50 --drawn-test 20 --hidden 12 --batch 16 --lr 0.1 --epochs 2 --json run.json --save-weights net.safetensors";
        scratch.ok(&format!("{line} --device {device}"));
        scratch.json("run.json")
    };
    let cpu = train("cpu");
    for device in kernel_devices() {
        let device = device.backend().to_string();
        let found = train(&device);
        assert_eq!(found["report"]["device"], device.as_str());
        for (epoch, reference) in [0, 1].map(|at| (&found["report"]["epochs"][at], &cpu["report"]["epochs"][at])) {
            let loss = |epoch: &Value| epoch["loss"].as_f64().expect("a number");
            assert!((loss(epoch) - loss(reference)).abs() <= 1e-4 * loss(reference), "{device}: {epoch} {reference}");
        }
        let evaluate = "evaluate --drawn-test 20 --weights net.safetensors --json found.json";
        scratch.ok(&format!("{evaluate} --device {device}"));
        let kernels = scratch.json("found.json");
        scratch.ok(&format!("{evaluate} --device cpu"));
        assert_eq!(kernels["report"]["confusion"], scratch.json("found.json")["report"]["confusion"], "{device}");
    }
}

#[test]
fn weights_are_evaluated_as_they_were_trained_in_both_layouts() {
    let scratch = new_scratch();
    for layout in ["", "--activation gelu", "--pytorch"] {
        scratch.ok(&format!("train {TINY} --epochs 3 --json run.json --save-weights net.safetensors {layout}"));
        let shown = scratch.ok("evaluate --device cpu --drawn-test 60 --weights net.safetensors --json found.json");
        let (report, written) = (scratch.json("run.json"), scratch.json("found.json"));
        has(&written, &["schema", "kind", "data", "weights", "report"]);
        let found = &written["report"];
        has(found, &["schema", "correct", "total", "confusion", "accuracy", "device"]);
        assert_eq!(found["total"], 60);
        for field in ["correct", "confusion", "accuracy"] {
            assert_eq!(found[field], report["test"][field], "{layout} {field}");
        }
        let rows: Vec<Vec<u64>> = serde_json::from_value(found["confusion"].clone()).expect("a matrix");
        assert!(rows.len() == 10 && rows.iter().all(|row| row.len() == 10));
        // Rows are the true classes: drawn digits come in tens of each.
        assert!(rows.iter().all(|row| row.iter().sum::<u64>() == 6), "{rows:?}");
        let diagonal: u64 = (0..10).map(|class| rows[class][class]).sum();
        assert_eq!(found["correct"].as_u64(), Some(diagonal));
        assert!(shown.contains("true 9") && shown.contains("predicted"), "{shown}");
    }
    let names = fs::read(scratch.path("net.safetensors")).expect("written");
    assert!(String::from_utf8_lossy(&names[..400]).contains("0.weight"));
    // A training can begin with them.
    scratch.ok(&format!("train {TINY} --epochs 1 --json on.json --start net.safetensors"));
    let (on, run) = (scratch.json("on.json"), scratch.json("run.json"));
    assert!(on["report"]["epochs"][0]["loss"].as_f64() < run["report"]["epochs"][0]["loss"].as_f64());
}

/// `train --start` takes the network's shape from its file, and `evaluate` refuses outputs that are no numbers, as `predict` does.
#[test]
fn a_weight_file_says_its_shape_and_outputs_that_are_not_finite_are_an_error() {
    let scratch = new_scratch();
    let layer = |n_inputs: u32, n_outputs: u32, weight: f32| {
        let (weights, bias) = (vec![weight; (n_inputs * n_outputs) as usize], vec![0.1; n_outputs as usize]);
        Layer { n_inputs, n_outputs, weights, bias }
    };
    for (name, weight) in [("net", 0.01), ("huge", 3e38)] {
        let network = Network::new(vec![layer(784, 4, weight), layer(4, 10, weight)]).expect("a network");
        network.save(scratch.path(name), WeightLayout::InOut).expect("saved");
    }
    let data = "--device cpu --drawn 64 --drawn-test 16";
    scratch.ok(&format!("train {data} --epochs 1 --start net --json run.json"));
    assert_eq!(scratch.json("run.json")["report"]["options"]["hidden"], serde_json::json!([4]));
    let said = scratch.fails(1, &format!("train {data} --epochs 1 --start net --hidden 5"));
    assert!(said.contains("[784, 5, 10]"), "{said}");
    let said = scratch.fails(1, "evaluate --device cpu --drawn-test 16 --weights huge --json out.json");
    assert!(said.contains("huge: the network's loss for") && said.contains("not finite"), "{said}");
    assert!(!scratch.names().contains(&"out.json".to_string()));
}

/// A grey PNG file.
fn write_png(path: &Path, pixels: &[u8], side: u32) {
    let file = fs::File::create(path).expect("a file");
    let mut encoder = png::Encoder::new(file, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels)).expect("written");
}

#[test]
fn one_image_is_classified_from_png_and_idx_alike() {
    let scratch = new_scratch();
    scratch.ok(&format!("train {TINY} --epochs 4 --quiet --save-weights net.safetensors"));
    let digits = Dataset::drawn_digits(3, 10).expect("digits");
    digits.save(scratch.folder(), Split::Test).expect("written");
    let image = digits.image(4).expect("there are ten");
    write_png(&scratch.path("digit.png"), image, 28);
    write_png(&scratch.path("dark.png"), &image.iter().map(|pixel| 255 - pixel).collect::<Vec<_>>(), 28);
    let predict = |what: &str| {
        let shown = scratch.ok(&format!("predict --device cpu --weights net.safetensors --json found.json {what}"));
        (scratch.json("found.json"), shown)
    };
    let (png, shown) = predict("--image digit.png");
    has(&png, &["schema", "class", "probabilities", "image", "device"]);
    let probabilities: Vec<f64> = serde_json::from_value(png["probabilities"].clone()).expect("a list");
    assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-5);
    let likeliest = (0..10).max_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b])).expect("ten");
    assert_eq!(png["class"], likeliest);
    assert!(shown.lines().count() > 28 && shown.contains('#'), "the image is drawn: {shown}");
    assert!(shown.ends_with(&format!("class {likeliest}\n")), "{shown}");
    for same in ["--images t10k-images-idx3-ubyte --index 4", "--image dark.png --invert"] {
        assert_eq!(predict(same).0["probabilities"], png["probabilities"], "{same}");
    }
    assert_ne!(predict("--images t10k-images-idx3-ubyte").0["probabilities"], png["probabilities"]);
    let said =
        scratch.fails(2, "predict --device cpu --weights net.safetensors --images t10k-images-idx3-ubyte --index 10");
    assert!(said.contains("10"), "{said}");
    scratch.misused("predict --device cpu --weights net.safetensors");
    scratch.misused("predict --device cpu --weights net.safetensors --image digit.png --images t10k-images-idx3-ubyte");
    write_png(&scratch.path("small.png"), &[0; 100], 10);
    let said = scratch.fails(1, "predict --device cpu --weights net.safetensors --image small.png");
    assert!(said.contains("small.png"), "{said}");
}

#[test]
fn any_set_of_the_format_can_be_trained_on() {
    let scratch = new_scratch();
    // 6 x 7 pixels, three classes, a number of samples that no batch divides.
    let set = |n: usize| {
        let labels: Vec<u8> = (0..n).map(|at| (at % 3) as u8).collect();
        let images =
            labels.iter().flat_map(|&label| (0..42).map(move |at| if at % 3 == usize::from(label) { 200 } else { 9 }));
        Dataset::new(images.collect(), labels, 6, 7, 3, "stripes").expect("a set")
    };
    set(101).save(scratch.folder(), Split::Train).expect("written");
    set(31).save(scratch.folder(), Split::Test).expect("written");
    scratch.ok("train --data . --device cpu --hidden none --batch 7 --lr 0.5 --epochs 3 --json run.json --save-weights net.safetensors");
    let report = scratch.json("run.json")["report"].clone();
    assert_eq!(report["sizes"], serde_json::json!([42, 3]));
    assert_eq!(report["epochs"][2]["test_accuracy"], 1.0, "stripes are told apart");
    scratch.ok("evaluate --data . --device cpu --weights net.safetensors --json found.json");
    assert_eq!(scratch.json("found.json")["report"]["correct"], 31);
    scratch.ok("evaluate --data . --on-training-set --device cpu --weights net.safetensors --json found.json");
    assert_eq!(scratch.json("found.json")["report"]["correct"], 101);
}

#[test]
fn a_resumed_training_is_the_uninterrupted_one_bit_for_bit() {
    let scratch = new_scratch();
    for options in ["", "--optimizer adam --lr 0.01 --schedule step --warmup 5 --validation 30"] {
        let tiny = if options.contains("--lr") { TINY.replace("--lr 0.1", "") } else { TINY.to_string() };
        scratch.ok(&format!("train {tiny} {options} --epochs 5 --json whole.json --save-weights whole.safetensors"));
        scratch.ok(&format!("train {tiny} {options} --epochs 2 --json part.json --checkpoint c --checkpoint-every 1"));
        assert_eq!(course(&scratch.json("part.json")), course(&scratch.json("whole.json"))[..2]);
        // What is not given comes from the checkpoint.
        scratch.ok("train --resume c --epochs 5 --device cpu --drawn 220 --drawn-test 60 --json rest.json --save-weights rest.safetensors");
        let (whole, rest) = (scratch.json("whole.json"), scratch.json("rest.json"));
        assert_eq!(course(&rest), course(&whole), "{options}");
        assert_eq!(rest["report"]["options"], whole["report"]["options"]);
        assert_eq!(rest["test"]["loss"], whole["test"]["loss"]);
        let weights = |name: &str| Network::load(scratch.path(name)).expect("weights");
        assert_eq!(weights("rest.safetensors"), weights("whole.safetensors"));
    }
    let said = scratch.fails(1, "train --resume c --hidden 17 --device cpu --drawn 220 --drawn-test 60");
    assert!(said.contains("784, 17, 10"), "{said}");
    let said = scratch.fails(1, "train --resume c --device cpu --drawn 230 --drawn-test 60");
    assert!(said.contains("checkpoint"), "{said}");
}

#[test]
fn a_checkpoint_takes_the_place_of_no_other_file() {
    let scratch = new_scratch();
    let tiny = "train --hidden 4 --epochs 1 --device cpu --drawn 70 --drawn-test 10 --quiet";
    scratch.write("notes.txt", b"mine");
    let said = scratch.fails(1, &format!("{tiny} --checkpoint notes.txt"));
    assert!(said.contains("notes.txt: a file that holds something else is there already"), "{said}");
    assert_eq!(scratch.text("notes.txt"), "mine");
    // An empty file, and an older checkpoint.
    scratch.write("c", b"");
    for _ in 0..2 {
        scratch.ok(&format!("{tiny} --checkpoint c"));
        Checkpoint::load(scratch.path("c")).expect("a checkpoint");
    }
}

#[test]
fn an_interrupt_writes_a_checkpoint_that_can_be_gone_on_from() {
    let scratch = new_scratch();
    let tiny = "--device cpu --threads 1 --drawn 220 --drawn-test 60 --hidden 16 --batch 4 --lr 0.05";
    let child = scratch
        .command(&format!("train {tiny} --epochs 1000000 --json part.json --checkpoint c --checkpoint-every 1"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    interrupt(child, &scratch.path("c"));
    let part = scratch.json("part.json");
    assert_eq!(part["report"]["stopped_by"], "request");
    let checkpoint = Checkpoint::load(scratch.path("c")).expect("a checkpoint");
    let done = checkpoint.epochs().len();
    assert!(done >= 1);
    assert_eq!(course(&part).len(), done, "the report is as far as the checkpoint");
    // On to the end of the epoch after the one that was interrupted, and the same without a stop.
    let epochs = done + 2;
    scratch
        .ok(&format!("train --resume c --epochs {epochs} --device cpu --drawn 220 --drawn-test 60 --json rest.json"));
    scratch.ok(&format!("train {tiny} --epochs {epochs} --json whole.json"));
    assert_eq!(course(&scratch.json("rest.json")), course(&scratch.json("whole.json")));
}

#[test]
fn an_interrupt_without_a_checkpoint_flag_says_where_the_state_went() {
    let scratch = new_scratch();
    let mut child = scratch
        .command(&format!("train {TINY} --epochs 1000000"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map(|line| line.expect("UTF-8"));
    assert!(lines.any(|line| line.trim_start().starts_with("2 ")), "the line of epoch 2");
    programs::signal(&child, "INT");
    // The pipe is read to its end, so that the program is not held up.
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(rest.iter().any(|line| line.contains("--resume mlp.checkpoint")), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("on request")), "{rest:?}");
    assert!(Checkpoint::load(scratch.path("mlp.checkpoint")).expect("a checkpoint").epochs().len() >= 2);
}

#[test]
fn a_loss_that_is_no_number_ends_the_training_and_keeps_the_last_good_state() {
    let scratch = new_scratch();
    let tiny = TINY.replace("--lr 0.1", "--lr 1e30");
    let said = scratch.fails(1, &format!("train {tiny} --epochs 3 --checkpoint c --json run.json"));
    assert!(said.contains("epoch 1, step") && said.contains(" c"), "{said}");
    let checkpoint = Checkpoint::load(scratch.path("c")).expect("a checkpoint");
    assert_eq!((checkpoint.epochs().len(), checkpoint.updates()), (0, 0));
    assert!(!scratch.path("run.json").exists(), "no result is claimed");
}

#[test]
fn wrong_use_ends_with_2_and_everything_else_with_1() {
    let scratch = new_scratch();
    let train = |more: &str| format!("train --device cpu --drawn 220 --drawn-test 60 --epochs 1 {more}");
    for (wrong, named) in [
        ("--batch 0", "batch"),
        ("--batch 221", "batch"),
        ("--hidden 0", "hidden"),
        ("--hidden 20000", "hidden"),
        ("--lr -1", "option learning-rate: -1"),
        ("--lr nan", "option learning-rate"),
        ("--optimizer lbfgs", "optimizer"),
        ("--optimizer momentum --momentum 1", "momentum"),
        ("--optimizer adam --momentum 0.9", "momentum"),
        ("--optimizer sgd --beta1 0.9", "beta1"),
        ("--schedule linear", "schedule"),
        ("--step-every 2", "step"),
        ("--schedule step --step-factor 0", "option step-factor"),
        ("--schedule step --step-every 0", "option step-every"),
        ("--schedule cosine --cosine-minimum 2", "option cosine-minimum"),
        ("--l2 -1", "option l2: -1"),
        ("--evaluate-batch 0", "option evaluate-batch"),
        ("--held-out 20 --patience 3 --min-delta -1", "option min-delta: -1"),
        ("--patience 3", "option patience: 3"),
        ("--held-out 220", "option held-out"),
        ("--validation 220", "option held-out"),
        ("--precision bf16", "precision"),
        ("--engine layers", "engine"),
        ("--execution epoch", "engine"),
        ("--precision i16", "precision"),
        ("--stream host", "stream"),
        ("--threads 0", "threads"),
        ("--threads 100000000", "threads"),
        ("--lr 1e39", "option learning-rate"),
        ("--drawn 0", "option drawn: 0"),
        ("--drawn-test 0", "option drawn-test: 0"),
    ] {
        let line = if wrong.starts_with("--drawn") { "train --device cpu ".to_string() + wrong } else { train(wrong) };
        let said = scratch.fails(2, &line);
        assert!(said.contains(named), "{wrong}: {said}");
    }
    for wrong in [
        "--precision float",
        "--init zeros",
        "--reduction max",
        "--hidden 3,x",
        "--seed -1",
        "--seed 18446744073709551616",
        "--engine paper",
        "--block 128",
        "--held-out 1.5",
        "--checkpoint-every 1",
        "--checkpoint c --checkpoint-every s",
        "--checkpoint c --checkpoint-every 0",
        "--checkpoint c --checkpoint-every -1s",
        "--checkpoint c --checkpoint-every 1d",
        "--checkpoint c --checkpoint-every nan",
        "--checkpoint c --checkpoint-every 1e400h",
        "--pytorch",
        "--nonsense",
        "--data x",
    ] {
        scratch.misused(&train(wrong));
    }
    for line in [
        "train --drawn -1",
        "train --drawn-test -1",
        "sweep --models -1",
        "sweep --seeds -1",
        "predict --weights x --images y --index -1",
    ] {
        let said = scratch.misused(line);
        assert!(said.contains("invalid value '-1' for '--"), "{line}: {said}");
    }
    // In the sweep it is the library that refuses it.
    let said = scratch.fails(2, "sweep --device cpu --drawn 60 --drawn-test 20 --learning-rates -1,0.1");
    assert!(said.contains("option learning-rate: -1"), "{said}");
    scratch.misused("");
    scratch.misused("guess");
    scratch.fails(2, "train --device gpu");
    scratch.fails(1, "train --device cuda:4096");
    scratch.ok("--help");
    scratch.ok("train --help");
    assert_eq!(scratch.names(), [""; 0], "nothing is written by any of them");
}

#[test]
fn bad_files_are_named() {
    let scratch = new_scratch();
    let named = |line: &str, names: &[&str]| {
        let said = scratch.fails(1, line);
        assert!(names.iter().all(|name| said.contains(name)), "{line}: {said}");
    };
    named("train --device cpu --data nowhere", &["nowhere", "no such folder"]);
    named("evaluate --device cpu --weights nowhere.safetensors", &["nowhere.safetensors"]);
    named("train --device cpu --resume nowhere.checkpoint", &["nowhere.checkpoint"]);

    let digits = Dataset::drawn_digits(1, 40).expect("digits");
    digits.save(scratch.folder(), Split::Train).expect("written");
    digits.save(scratch.folder(), Split::Test).expect("written");
    let images = scratch.path("train-images-idx3-ubyte");
    let good = fs::read(&images).expect("written");
    let mut wrong = good.clone();
    wrong[3] = 7;
    fs::write(&images, &wrong).expect("written");
    named("train --device cpu --data . --batch 8", &["train-images-idx3-ubyte", "magic"]);
    fs::write(&images, &good[..good.len() - 1]).expect("written");
    named("train --device cpu --data . --batch 8", &["train-images-idx3-ubyte"]);
    fs::write(&images, &good).expect("written");
    let said = scratch.fails(2, "train --device cpu --data . --batch 41");
    assert!(said.contains("batch: 41") && said.contains("40"), "{said}");

    // Files that cannot be written are found before the training.
    fs::write(scratch.path("plain"), "").expect("written");
    let wrong = [
        ("checkpoint", "no/such/file"),
        ("save-weights", "no/such/file"),
        ("json", "no/such/file"),
        ("plots", "plain/folder"),
    ];
    for (flag, path) in wrong {
        let start = Instant::now();
        named(&format!("train --device cpu --epochs 100000 --{flag} {path}"), &[path]);
        assert!(start.elapsed() < Duration::from_secs(20), "--{flag} is checked first");
    }
    fs::create_dir(scratch.path("folder")).expect("made");
    named("train --device cpu --checkpoint folder", &["folder"]);

    // A damaged checkpoint is refused, and left as it is.
    scratch.ok(&format!("train {TINY} --epochs 1 --quiet --checkpoint c"));
    let mut bytes = fs::read(scratch.path("c")).expect("written");
    let at = bytes.len() - 5;
    bytes[at] ^= 1;
    fs::write(scratch.path("c"), &bytes).expect("written");
    named("train --device cpu --drawn 220 --drawn-test 60 --resume c", &["error: c: "]);
    assert_eq!(fs::read(scratch.path("c")).expect("there"), bytes);
}

#[test]
fn models_side_by_side_are_those_trained_alone() {
    let scratch = new_scratch();
    // Wherever kernels run; the first is the interpreter where there is no GPU.
    let device = kernel_devices()[0].backend().to_string();
    let base = format!("--device {device} --drawn 24 --drawn-test 20 --hidden 12 --batch 16 --epochs 2");
    let shown = scratch.ok(&format!("sweep {base} --models 3 --lrs 0.05,0.1 --json all.json --compare"));
    let all = scratch.json("all.json");
    has(&all, &["best", "one_at_a_time", "report"]);
    has(&all["report"], &["models", "seconds", "models_per_second"]);
    let models = all["report"]["models"].as_array().expect("a list");
    let settings: Vec<_> =
        models.iter().map(|model| (model["seed"].as_u64(), model["learning_rate"].as_f64())).collect();
    assert_eq!(settings, [(Some(1), Some(0.05)), (Some(1), Some(0.1)), (Some(2), Some(0.05))]);
    for model in models {
        let (seed, rate) = (&model["seed"], &model["learning_rate"]);
        scratch.ok(&format!("train {base} --seed {seed} --lr {rate} --json one.json"));
        let one = scratch.json("one.json");
        let losses = |report: &Value| [0, 1].map(|at| report["epochs"][at]["loss"].as_f64().expect("a number"));
        for (many, alone) in losses(model).into_iter().zip(losses(&one["report"])) {
            assert!((many - alone).abs() <= 1e-4 * alone, "{many} {alone}");
        }
        assert_eq!(model["test_accuracy"], one["test"]["accuracy"]);
    }
    let best = all["best"].as_u64().expect("an index") as usize;
    let accuracy = |at: usize| models[at]["test_accuracy"].as_f64();
    assert!((0..3).all(|at| accuracy(at) <= accuracy(best)));
    assert!(shown.contains("best") && shown.contains("a second"), "{shown}");
    scratch.misused("sweep --models 0");
    scratch.misused("sweep --models 4 --seeds 2");
}

#[test]
fn a_sweep_survives_its_diverged_models_and_counts_before_it_makes_lists() {
    let scratch = new_scratch();
    let base = "sweep --device cpu --drawn 64 --drawn-test 16 --hidden 16 --batch 32 --epochs 2";
    scratch.ok(&format!("{base} --models 2 --lrs 1e30,0.1 --compare --json some.json"));
    let some = scratch.json("some.json");
    assert_eq!((&some["best"], &some["report"]["models"][0]["diverged"]), (&Value::from(1), &Value::from(1)));
    assert!(some["one_at_a_time"].as_f64().is_some_and(|rate| rate > 0.0), "{some}");
    let shown = scratch.ok(&format!("{base} --models 1 --lrs 1e30 --compare --json none.json"));
    let none = scratch.json("none.json");
    assert!(none["best"].is_null() && none["one_at_a_time"].is_null(), "{none}");
    assert!(shown.contains("best    none"), "{shown}");
    for too_many in ["--models 4097", "--models 0", "--seeds 4294967295"] {
        let said = scratch.misused(&format!("{base} {too_many}"));
        assert!(said.contains("is not in 1..=4096"), "{said}");
    }
    let said = scratch.fails(2, &format!("{base} --seeds 2049 --lrs 0.1,0.2"));
    assert!(said.contains("option seeds: 2049 is not allowed (at most 4096 models, and there are 2"), "{said}");
}

#[test]
fn no_output_is_written_over_another() {
    let scratch = new_scratch();
    scratch.ok(&format!("train {TINY} --epochs 1 --checkpoint c --save-weights w"));
    let kept = fs::read(scratch.path("c")).expect("a checkpoint");
    for (files, named) in [
        ("--json x --checkpoint x", "--checkpoint and --json"),
        ("--save-weights ./x --checkpoint x", "--checkpoint and --save-weights"),
        ("--json x --plot x", "--plots and --json"),
        ("--resume c --json c", "--json and --resume"),
        ("--json ./training.svg --plots .", "--plots and --json"),
        ("--resume c --save-weights c", "--save-weights and --resume"),
        ("--start w --checkpoint w", "--checkpoint and --start"),
    ] {
        let said = scratch.fails(2, &format!("train {TINY} --epochs 2 {files}"));
        assert!(said.contains(named), "{files}: {said}");
    }
    assert_eq!(fs::read(scratch.path("c")).expect("a checkpoint"), kept);
    assert_eq!(scratch.names(), ["c", "w"]);
    scratch.ok(&format!("train {TINY} --epochs 2 --resume c --checkpoint c --json /dev/null --plot /dev/null"));
    scratch.ok(&format!("train {TINY} --epochs 1 --start w --save-weights w"));
    // A folder of plots that is not there yet.
    scratch.fails(2, &format!("train {TINY} --epochs 1 --save-weights new/training.svg --plots new"));
    // The old name of --save-weights is that of a file to read elsewhere.
    let weights = fs::read(scratch.path("w")).expect("weights");
    let said = scratch.misused(&format!("train {TINY} --epochs 1 --weights w"));
    assert!(said.contains("--save-weights FILE writes the weights"), "{said}");
    assert_eq!(fs::read(scratch.path("w")).expect("weights"), weights);
    // Said before the training, not after it.
    for flag in ["--checkpoint", "--save-weights"] {
        let said = scratch.fails(1, &format!("train {TINY} --epochs 1 --json r.json {flag} /dev/null"));
        assert!(said.contains("/dev/null: cannot be written: it is a device"), "{said}");
    }
    assert_eq!(scratch.names(), ["c", "w"]);
}

#[test]
fn samples_are_held_out_by_number_share_and_folder() {
    let scratch = new_scratch();
    let held = |how: &str| {
        scratch.ok(&format!("train {TINY} --epochs 2 --json run.json --held-out {how}"));
        let written = scratch.json("run.json");
        (course(&written), written["report"].clone())
    };
    let ((number_course, number), (share_course, share)) = (held("22"), held("0.1"));
    assert_eq!((&number["n_train"], &number["options"]["held_out"]), (&198.into(), &22.into()));
    assert_eq!((share_course, &share["options"]), (number_course, &number["options"]));
    fs::create_dir(scratch.path("set")).expect("made");
    Dataset::drawn_digits(4, 30).and_then(|set| set.save(scratch.path("set"), Split::Test)).expect("written");
    let (_, folder) = held("set --patience 5");
    assert_eq!((&folder["n_train"], &folder["options"]["held_out"]), (&220.into(), &0.into()));
    assert!(folder["epochs"][1]["validation_loss"].as_f64() > Some(0.0));
    scratch.misused("train --device cpu --held-out 1.5");
    scratch.fails(1, "train --device cpu --held-out nowhere");
}

#[test]
fn a_sweep_that_was_cut_off_goes_on_with_its_journal() {
    let scratch = new_scratch();
    Journaled {
        scratch: &scratch,
        // One of the rates diverges.
        line: "sweep --device cpu --threads 1 --drawn 60 --drawn-test 20 --hidden 8 --batch 8 --epochs 2 --learning-rates 0.1,1e30,0.2 --models 4 --seed 1",
        other: ("--drawn 60", "--drawn 70", "was made with option data "),
        n_pieces: 4,
        file: None,
        repeats: true,
    }
    .check();
    let more = "sweep --device cpu --drawn 60 --drawn-test 20 --hidden 8 --batch 8 --epochs 2 --learning-rates 0.1,1e30,0.2 --models 6 --seed 1 --quiet";
    scratch.ok(&format!("{more} --resume journal --json more.json"));
    scratch.ok(&format!("{more} --json all.json"));
    let models = |name: &str| scratch.json(name)["report"]["models"].clone();
    assert_eq!(models("more.json"), models("all.json"), "more models of the same sweep");
}

#[test]
fn a_sweep_that_is_refused_leaves_no_journal() {
    let scratch = new_scratch();
    let base = "sweep --threads 1 --drawn 60 --drawn-test 20 --hidden 8 --epochs 1 --models 2";
    for device in ["cpu", "simt"] {
        let line = format!("{base} --device {device} --batch 61");
        refused_without_journal(
            &scratch,
            2,
            &line,
            "option batch: 61 is not allowed (at most the 60 training samples)",
        );
    }
    for (wrong, told) in [
        ("--device cpu --batch 8 --precision bf16", "option precision: bf16"),
        ("--device cpu --batch 8 --engine layers", "option engine: layers"),
        ("--device cpu --batch 8 --learning-rates 0.1,-1", "option learning-rate: -1"),
        ("--device simt --batch 8 --precision f64", "option precision: f64"),
    ] {
        refused_without_journal(&scratch, 2, &format!("{base} {wrong}"), told);
    }
}
