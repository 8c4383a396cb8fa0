//! Data sets, pictures, weights and checkpoints of perceptrons.

use std::path::Path;
use std::sync::Arc;

use warpplay::Device;
use warpplay::mlp::{Checkpoint, Classifier, CsvFormat, Dataset, Network, Trainer, WeightLayout, read_image};
use warpplay_tests::golden as folder;
use warpplay_tests::npy::npy;
use warpplay_tests::programs::{Scratch, warpplay};

use super::change::{Form, packed};
use super::mcts::journal;
use super::{Parser, checksums, golden, mutants, text};

const CHECKPOINTS: [&str; 8] = [
    "mlp/v0.1/cpu_f32.checkpoint",
    "mlp/v0.1/cpu_f64.checkpoint",
    "mlp/v0.1/cpu_f64_rms.checkpoint",
    "mlp/v0.1/layers_f32.checkpoint",
    "mlp/v0.1/layers_tf32.checkpoint",
    "mlp/v0.1/layers_bf16.checkpoint",
    "mlp/v0.1/layers_fp16.checkpoint",
    "mlp/v0.1/epoch_f32.checkpoint",
];

mutants!(weights, "mlp: weights", |_| {
    Parser::new(
        golden(&["mlp/v0.1/cpu_f32.after.safetensors", "mlp/v0.1/pytorch.safetensors"]),
        Form::Tensors,
        |path| {
            let network = Network::load(path).map_err(text)?;
            let values = network.layers().iter().flat_map(|layer| layer.weights.iter().chain(&layer.bias));
            assert!(values.into_iter().all(|value| value.is_finite()), "a weight that is no number");
            drop(Classifier::builder(&network).build(&Device::cpu()));
            Ok(())
        },
    )
});

mutants!(checkpoint, "mlp: checkpoint", |_| {
    let (train, test) = Dataset::load_dir(folder::path("mlp/v0.1")).expect("a data set");
    let (train, test) = (Arc::new(train), Arc::new(test));
    let parser = Parser::new(golden(&CHECKPOINTS), Form::Tensors, move |path| {
        let checkpoint = Checkpoint::load(path).map_err(text)?;
        // What cannot be gone on from is told.
        drop(Trainer::builder(&train).test(&test).resume(checkpoint).build(&Device::cpu()));
        Ok(())
    });
    parser.repairing(checksums::state)
});

/// The images or the labels are mutants; the others are whole.
fn idx(is_packed: bool, images: bool) -> Parser {
    let names = ["mlp/v0.1/train-images-idx3-ubyte", "mlp/v0.1/train-labels-idx1-ubyte"];
    let mut seeds = golden(&names[usize::from(!images)..][..1]);
    if is_packed {
        seeds.iter_mut().for_each(|(_, bytes)| *bytes = packed(bytes));
    }
    let whole = folder::path(names[usize::from(images)]);
    Parser::new(seeds, if is_packed { Form::Packed } else { Form::Bytes }, move |path| {
        let (a, b): (&Path, &Path) = if images { (path, &whole) } else { (&whole, path) };
        sound(&Dataset::load(a, b, None).map_err(text)?)
    })
}

/// A set that was read holds what it says.
fn sound(set: &Dataset) -> Result<(), String> {
    assert!(set.labels().iter().all(|&label| (u32::from(label)) < set.n_classes()), "a label beyond the classes");
    assert!(set.image(set.len() - 1).is_some_and(|image| image.len() == set.n_inputs() as usize));
    Ok(())
}

mutants!(images, "mlp: images (IDX)", |_| idx(false, true));
mutants!(labels, "mlp: labels (IDX)", |_| idx(false, false));
mutants!(packed_images, "mlp: images (IDX, gzip)", |_| idx(true, true));

/// What numpy writes for the samples of 0.1: images or labels are mutants, the others are whole.
fn arrays(images: bool) -> Parser {
    let (set, _) = Dataset::load_dir(folder::path("mlp/v0.1")).expect("a data set");
    let (n, (rows, cols)) = (set.len(), set.image_size());
    let single: Vec<u8> = set.images().iter().flat_map(|&byte| (f32::from(byte) / 255.0).to_le_bytes()).collect();
    let wide: Vec<u8> = set.labels().iter().flat_map(|&label| i64::from(label).to_be_bytes()).collect();
    let seeds = match images {
        true => vec![
            ("bytes.npy".to_string(), npy("|u1", &format!("({n}, {rows}, {cols})"), set.images())),
            ("floats.npy".to_string(), npy("<f4", &format!("({n}, {rows}, {cols})"), &single)),
        ],
        false => vec![
            ("bytes.npy".to_string(), npy("|u1", &format!("({n},)"), set.labels())),
            ("wide.npy".to_string(), npy(">i8", &format!("({n},)"), &wide)),
        ],
    };
    let whole =
        folder::path(["mlp/v0.1/train-images-idx3-ubyte", "mlp/v0.1/train-labels-idx1-ubyte"][usize::from(images)]);
    Parser::new(seeds, Form::Bytes, move |path| {
        let (a, b): (&Path, &Path) = if images { (path, &whole) } else { (&whole, path) };
        sound(&Dataset::load(a, b, None).map_err(text)?)
    })
}

mutants!(npy_images, "mlp: images (.npy)", |_| arrays(true));
mutants!(npy_labels, "mlp: labels (.npy)", |_| arrays(false));

mutants!(csv, "mlp: samples (CSV)", |_| {
    let header = "\"a\",\"class\",\"b\",\"c\"\r\n".to_string();
    let lines: String = (0..40).map(|at| format!("{},{},{}.0,\"{}\"\r\n", at * 6, at % 10, at, 255 - at)).collect();
    let seeds = vec![("set.csv".to_string(), (header + &lines).into_bytes())];
    let format = CsvFormat { label: Some("class".into()), ..CsvFormat::default() };
    Parser::new(seeds, Form::Text, move |path| sound(&Dataset::load_csv(path, &format, None).map_err(text)?))
});

mutants!(picture, "mlp: picture (PNG)", |_| {
    Parser::new(golden(&["commands/digit.png"]), Form::Png, |path| {
        read_image(path, 0, 784, false).map(|pixels| assert_eq!(pixels.len(), 784)).map_err(text)
    })
});

mutants!(weights_written_here, "mlp: weights that are written again", |folder| {
    let again = folder.join("again");
    Parser::new(golden(&["mlp/v0.1/pytorch.safetensors"]), Form::Tensors, move |path| {
        let network = Network::load(path).map_err(text)?;
        network.save(&again, WeightLayout::InOut).map_err(text)?;
        assert!(Network::load(&again).is_ok_and(|found| found == network));
        Ok(())
    })
});

mutants!(journal_of_a_sweep, "mlp: journal of a sweep", 20, |_| {
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "mlp");
    journal(
        &scratch,
        "mlp",
        "sweep --device cpu --threads 1 --drawn 60 --drawn-test 20 --hidden 4 --batch 8 --models 3 --epochs 2 --checkpoint journal",
    )
});
