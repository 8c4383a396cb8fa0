//! What standardises features: applied, composed, given to the network that is trained, kept in its file, and what is refused.

use std::collections::HashMap;
use std::sync::Arc;

use warpplay::mlp::{CsvFormat, Dataset, Loss, Network, Options, Scaling, Trainer, WeightLayout, read_features};
use warpplay::{Device, Error, Progress};
use warpplay_tests::Checked;
use warpplay_tests::folder::Folder;
use warpplay_tests::npy::npy;

fn set() -> Dataset {
    Dataset::of_features_with_targets(vec![2.0, -6.0, 1.0, 30.0], vec![0.5, -1.0], 2, 1, "two samples").expect("a set")
}

fn scaling(mean: [f64; 2], deviation: [f64; 2]) -> Scaling {
    Scaling { mean: mean.to_vec(), deviation: deviation.to_vec() }
}

/// Sums and powers of two, so nothing is rounded.
#[test]
fn two_scalings_are_one() -> Checked {
    let (first, second) = (scaling([1.0, 2.0], [2.0, 4.0]), scaling([0.5, -1.0], [0.25, 8.0]));
    let once = set().scaled(&first)?;
    assert_eq!((once.features(), once.applied_scaling()), (Some(&[0.5, -2.0, 0.0, 7.0][..]), Some(&first)));
    let twice = once.scaled(&second)?;
    let both = scaling([2.0, -2.0], [0.5, 32.0]);
    assert_eq!(twice.applied_scaling(), Some(&both));
    assert_eq!(twice.features(), Some(&both.scaled(&[2.0, -6.0, 1.0, 30.0])?[..]));
    let (head, tail) = twice.split(1)?;
    assert_eq!([head.applied_scaling(), tail.applied_scaling()], [Some(&both); 2]);
    assert_eq!(set().applied_scaling(), None);
    Ok(())
}

#[test]
fn scalings_that_do_not_fit_are_refused() -> Checked {
    let network = || Network::initial(&[2, 1], warpplay::mlp::Init::HeNormal, 1);
    for (mean, deviation, text) in [
        ([0.0, 0.0], [1.0, 0.0], "deviation 1 of the scaling: expected a finite number above 0, got 0"),
        ([0.0, 0.0], [-1.0, 1.0], "deviation 0 of the scaling: expected a finite number above 0, got -1"),
        ([0.0, 0.0], [1.0, f64::NAN], "deviation 1 of the scaling: expected a finite number above 0, got NaN"),
        ([f64::INFINITY, 0.0], [1.0, 1.0], "mean 0 of the scaling: expected a finite number, got inf"),
    ] {
        let scaling = scaling(mean, deviation);
        for error in [set().scaled(&scaling).err(), network()?.with_scaling(scaling).err()] {
            assert_eq!(error.expect("no scaling").to_string(), text);
        }
    }
    let short = Scaling { mean: vec![0.0], deviation: vec![1.0, 1.0] };
    for error in [set().scaled(&short).err(), network()?.with_scaling(short.clone()).err()] {
        assert_eq!(error.expect("one mean").to_string(), "means of the scaling: expected 2, got 1");
    }
    assert!(matches!(short.scaled(&[1.0, 2.0]), Err(Error::Shape { .. })));
    assert!(matches!(scaling([0.0; 2], [1.0; 2]).scaled(&[1.0]), Err(Error::Shape { .. })));
    let error = scaling([0.0; 2], [1.0, 1e-300]).scaled(&[0.0, 1.0]).expect_err("beyond single precision");
    assert_eq!(error.to_string(), "feature 1 of sample 0: expected a finite number, got inf");
    // Each is allowed, and the two as one are not.
    let once = set().scaled(&scaling([0.0; 2], [1e200; 2]))?;
    assert!(matches!(once.scaled(&scaling([0.0; 2], [1e200; 2])), Err(Error::Shape { .. })));
    Ok(())
}

/// Thirds and tenths, whose decimal form in the file must give every bit again.
#[test]
fn networks_keep_loss_and_scaling_in_their_files() -> Checked {
    let folder = Folder::new();
    let own = scaling([0.1, -1.0 / 3.0], [1e-7, 1e9 / 3.0]);
    let scaled = Arc::new(set().scaled(&own)?);
    let options = Options { loss: Loss::Huber, hidden: vec![3], batch: 2, epochs: 1, ..Options::default() };
    let mut trainer = Trainer::builder(&scaled).options(options.clone()).build(&Device::cpu())?;
    trainer.run(Progress::go_on)?;
    let network = trainer.network()?;
    assert_eq!((network.loss(), network.scaling()), (Loss::Huber, Some(&own)));
    for layout in [WeightLayout::InOut, WeightLayout::PyTorch] {
        let path = folder.path("net.safetensors");
        network.save(&path, layout)?;
        assert_eq!(Network::load(&path)?, network);
    }
    let mut plain = Trainer::builder(&Arc::new(set())).options(options).build(&Device::cpu())?;
    assert_eq!(plain.network()?.scaling(), None);
    Ok(())
}

#[test]
fn descriptions_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    let bytes = [0u8; 8];
    let view = |shape: &[usize]| {
        safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.to_vec(), &bytes[..4 * shape[0]])
            .expect("shape and bytes agree")
    };
    for (key, value, text) in [
        ("loss_function", "quadratic", "metadata loss_function: option loss: quadratic is not allowed"),
        ("scaling", "{", "metadata scaling: EOF while parsing"),
        ("scaling", r#"{"mean": [0, "1"], "deviation": [1, 1]}"#, r#"metadata scaling: expected {"mean": [numbers]"#),
        ("scaling", r#"{"mean": [0, 0]}"#, r#"metadata scaling: expected {"mean": [numbers]"#),
        ("scaling", r#"{"mean": [0], "deviation": [1]}"#, "metadata scaling: means of the scaling: expected 2, got 1"),
        ("scaling", r#"{"mean": [0, 0], "deviation": [1, 0]}"#, "metadata scaling: deviation 1 of the scaling"),
    ] {
        let metadata = HashMap::from([(key.to_string(), value.to_string())]);
        let tensors = [("W1", view(&[2, 1])), ("b1", view(&[1]))];
        let path = folder.write("weights", &safetensors::serialize(tensors, Some(metadata)).expect("memory"));
        let error = Network::load(&path).expect_err(value).to_string();
        assert!(error.starts_with(&path.display().to_string()) && error.contains(text), "{error}");
    }
}

#[test]
fn samples_without_labels_are_read() -> Checked {
    let folder = Folder::new();
    let format = |label: Option<&str>, header| CsvFormat { label: label.map(String::from), header, image_size: None };
    let csv = folder.write("new.csv", b"a,y,b\n1,7,-2.5\n3,no number,1e3\n");
    assert_eq!(read_features(&csv, &format(Some("y"), None), 2)?, [1.0, -2.5, 3.0, 1e3]);
    let one = folder.write("one.csv", b"4\n5\n");
    assert_eq!(read_features(&one, &format(None, Some(false)), 1)?, [4.0, 5.0]);
    assert_eq!(read_features(&one, &format(None, Some(true)), 1)?, [5.0]);
    let singles: Vec<u8> = [1.5f32, -2.0, 0.25, 8.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let array = folder.write("new.npy", &npy("<f4", "(2, 2)", &singles));
    assert_eq!(read_features(&array, &format(None, None), 2)?, [1.5, -2.0, 0.25, 8.0]);
    for (path, label, n, text) in [
        (
            &csv,
            None,
            3,
            r#"new.csv, line 3: the feature in column 2 ("y") is "no number", a finite number is expected"#,
        ),
        (&csv, Some("y"), 3, "new.csv: holds samples of 2 features, 3 are expected, the network's inputs"),
        (&csv, Some("z"), 2, r#"the header has no column "z""#),
        (&array, None, 4, "new.npy: holds samples of 2 features, 4 are expected"),
        (&array, Some("y"), 2, "option label-column: y is not allowed (none for an .npy file"),
    ] {
        let error = read_features(path, &format(label, None), n).expect_err(text).to_string();
        assert!(error.contains(text), "{error}");
    }
    Ok(())
}
