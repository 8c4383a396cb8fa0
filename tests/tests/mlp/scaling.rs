//! What standardises features: applied, composed, given to the network that is trained, kept in its file, and what is refused.

use std::collections::HashMap;
use std::sync::Arc;

use warpplay::mlp::{
    Checkpoint, Classifier, CsvFormat, Dataset, Inputs, Loss, Network, Options, Scaling, Trainer, WeightLayout,
    read_features, read_pixels,
};
use warpplay::{Device, Error, Progress};
use warpplay_tests::Checked;
use warpplay_tests::folder::Folder;
use warpplay_tests::npy::npy;
use warpplay_tests::tolerance::{Tolerance, close};

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
    let standardised = |scaling: &Scaling| Inputs::Features(Some(scaling.clone()));
    assert_eq!((once.features(), once.inputs()), (Some(&[0.5, -2.0, 0.0, 7.0][..]), standardised(&first)));
    let twice = once.scaled(&second)?;
    let both = scaling([2.0, -2.0], [0.5, 32.0]);
    assert_eq!(twice.inputs(), standardised(&both));
    assert_eq!(twice.features(), Some(&both.scaled(&[2.0, -6.0, 1.0, 30.0])?[..]));
    let (head, tail) = twice.split(1)?;
    assert_eq!([head.inputs(), tail.inputs()], [standardised(&both), standardised(&both)]);
    assert_eq!(set().inputs(), Inputs::Features(None));
    assert_eq!(Dataset::drawn_digits(1, 1)?.inputs(), Inputs::Pixels);
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
        let of_features = scaling.scaled(&[0.0, 0.0]).err();
        let of_network = network()?.with_inputs(Inputs::Features(Some(scaling.clone()))).err();
        for error in [set().scaled(&scaling).err(), of_network, of_features] {
            assert_eq!(error.expect("no scaling").to_string(), text);
        }
    }
    let short = Scaling { mean: vec![0.0], deviation: vec![1.0, 1.0] };
    for error in [set().scaled(&short).err(), network()?.with_inputs(Inputs::Features(Some(short.clone()))).err()] {
        assert_eq!(error.expect("one mean").to_string(), "means of the scaling: expected 2, got 1");
    }
    let none = Scaling { mean: Vec::new(), deviation: Vec::new() };
    for (scaling, features, text) in [
        (&short, &[1.0, 2.0][..], "deviations of the scaling: expected 1, got 2"),
        (&none, &[], "means of the scaling: expected at least 1, got 0"),
        (&scaling([0.0; 2], [1.0; 2]), &[1.0], "features: expected a multiple of 2, got 1"),
    ] {
        assert_eq!(scaling.scaled(features).expect_err(text).to_string(), text);
    }
    let error = scaling([0.0; 2], [1.0, 2f64.powi(-1000)]).scaled(&[0.0, 1.0]).expect_err("beyond single precision");
    assert_eq!(
        error.to_string(),
        format!(
            "standardised feature 1 of sample 0: expected a number of at most 3.4028235e38 in size, got {:?}",
            2f64.powi(1000)
        )
    );
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
    assert_eq!((network.loss(), network.inputs()), (Loss::Huber, &Inputs::Features(Some(own.clone()))));
    for layout in [WeightLayout::InOut, WeightLayout::PyTorch] {
        let path = folder.path("net.safetensors");
        network.save(&path, layout)?;
        assert_eq!(Network::load(&path)?, network);
    }
    // A checkpoint is a file of weights too.
    let path = folder.path("training.checkpoint");
    trainer.checkpoint()?.save(&path)?;
    assert_eq!(Network::load(&path)?, network);
    assert_eq!(Checkpoint::load(&path)?.network()?, network);
    let raw = Arc::new(set());
    let mut plain = Trainer::builder(&raw).options(options.clone()).build(&Device::cpu())?;
    assert_eq!(plain.network()?.inputs(), &Inputs::Features(None));
    assert_eq!(Network::initial(&[2, 1], warpplay::mlp::Init::HeNormal, 1)?.inputs(), &Inputs::Pixels);

    // It is evaluated with its loss, on features, without being told.
    let mut classifier = Classifier::builder(&network).build(&Device::cpu())?;
    assert!(classifier.evaluate(&scaled)?.loss.is_finite());
    // What goes on from it, and what it is tested on, is standardised as it was.
    let from = |train: &Arc<Dataset>| Trainer::builder(train).options(options.clone()).network(network.clone());
    assert!(from(&scaled).check().is_ok());
    let error = from(&raw).check().expect_err("raw").to_string();
    let expected =
        "inputs of two samples: expected standardised features, the given network's, got features as they are";
    assert_eq!(error, expected);
    let other = Arc::new(raw.scaled(&scaling([0.0; 2], [1.0; 2]))?);
    let error = from(&other).check().expect_err("others").to_string();
    assert!(error.ends_with("got those of other means and deviations"), "{error}");
    assert!(matches!(classifier.evaluate(&other), Err(Error::Shape { .. })));
    assert!(matches!(trainer.evaluate(&raw), Err(Error::Shape { .. })));
    let error = from(&scaled).test(&raw).check().expect_err("a raw test set").to_string();
    assert_eq!(error, "scaling of two samples: expected that of two samples, got none");
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
        ("warpplay.loss", "quadratic", "metadata warpplay.loss: option loss: quadratic is not allowed"),
        ("warpplay.inputs", "colours", r#"metadata warpplay.inputs: "colours", expected "features""#),
        ("warpplay.scaling", "{", "EOF while parsing"),
        ("warpplay.scaling", r#"{"mean": [0, "1"], "deviation": [1, 1]}"#, r#"expected {"mean": [numbers]"#),
        ("warpplay.scaling", r#"{"mean": [0, 0]}"#, r#"expected {"mean": [numbers]"#),
        ("warpplay.scaling", r#"{"mean": [0], "deviation": [1]}"#, "means of the scaling: expected 2, got 1"),
        ("warpplay.scaling", r#"{"mean": [0, 0], "deviation": [1, 0]}"#, "deviation 1 of the scaling"),
    ] {
        let mut metadata = HashMap::from([(key.to_string(), value.to_string())]);
        let tensors = || [("W1", view(&[2, 1])), ("b1", view(&[1]))];
        if key == "warpplay.scaling" {
            let path =
                folder.write("weights", &safetensors::serialize(tensors(), Some(metadata.clone())).expect("memory"));
            let error = Network::load(&path).expect_err(value).to_string();
            assert!(error.contains("metadata warpplay.scaling: expected with warpplay.inputs alone"), "{error}");
            metadata.insert("warpplay.inputs".to_string(), "features".to_string());
        }
        let path = folder.write("weights", &safetensors::serialize(tensors(), Some(metadata)).expect("memory"));
        let error = Network::load(&path).expect_err(value).to_string();
        assert!(error.starts_with(&path.display().to_string()), "{error}");
        assert!(error.contains(&format!("metadata {key}: ")) && error.contains(text), "{error}");
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
    let doubles: Vec<u8> = [0.1, 1_700_000_001.0f64].iter().flat_map(|value| value.to_be_bytes()).collect();
    let array_of_doubles = folder.write("doubles.npy", &npy(">f8", "(1, 2)", &doubles));
    assert_eq!(read_features(&array_of_doubles, &format(None, None), 2)?, [0.1, 1_700_000_001.0]);
    let beyond = folder.write("beyond.npy", &npy("<f8", "(2, 1)", &[0.0, -1e39].map(f64::to_le_bytes).concat()));
    for (path, label, n, text) in [
        (&beyond, None, 1, "feature 0 of sample 1 is -1e39, a number of at most 3.4028235e38 in size is expected"),
        (
            &folder.write("beyond.csv", b"a\n1e39\n"),
            None,
            1,
            r#"line 2: the feature in column 1 ("a") is "1e39", a number of at most 3.4028235e38 in size is expected"#,
        ),
        (
            &csv,
            None,
            3,
            r#"new.csv, line 3: the feature in column 2 ("y") is "no number", a finite number is expected"#,
        ),
        (&csv, Some("y"), 3, "new.csv: holds samples of 2 features, 3 are expected"),
        (&csv, Some("z"), 2, r#"the header has no column "z""#),
        (&array, None, 4, "new.npy: holds samples of 2 features, 4 are expected"),
        (&array, Some("y"), 2, "option label: y is not allowed (none of a file that is not CSV)"),
        (&folder.write("empty.csv", b""), None, 2, "holds no samples"),
        (
            &folder.write("idx", &[0, 0, 8, 3, 0, 0, 0, 1]),
            None,
            2,
            "is an IDX file of bytes, expected features: CSV or .npy",
        ),
    ] {
        let error = read_features(path, &format(label, None), n).expect_err(text).to_string();
        assert!(error.contains(text), "{error}");
    }
    let header = read_features(&array, &format(None, Some(true)), 2).expect_err("an array has no header").to_string();
    assert_eq!(header, "option header: true is not allowed (only for CSV files)");
    let unnamed = read_features(&csv, &format(Some("y"), Some(false)), 2).expect_err("no header").to_string();
    assert!(unnamed.contains("none without a header, which names the columns"), "{unnamed}");

    let pixels = folder.write("pixels.csv", b"a,b,class\n0,255,x\n7,1,y\n");
    assert_eq!(read_pixels(&pixels, &format(Some("class"), None), 2)?, [0, 255, 7, 1]);
    let images = folder.write("images.npy", &npy("|u1", "(2, 1, 2)", &[0, 255, 7, 1]));
    assert_eq!(read_pixels(&images, &format(None, None), 2)?, [0, 255, 7, 1]);
    for (path, label, text) in [
        (&pixels, None, "the pixel in column 3 (\"class\") is \"x\", a whole number of 0 to 255 is expected"),
        (&images, Some("class"), "option label: class is not allowed"),
        (&folder.write("three.csv", b"1,2,3\n"), None, "three.csv: holds samples of 3 pixels, 2 are expected"),
    ] {
        let error = read_pixels(path, &format(label, None), 2).expect_err(text).to_string();
        assert!(error.contains(text), "{error}");
    }
    Ok(())
}

/// Moments two seconds apart, of which single precision makes one, and prices with cents: as they are in a file they are standardised, in a training set, its parts, a test set and samples without labels.
#[test]
fn features_are_standardised_with_all_their_digits() -> Checked {
    let folder = Folder::new();
    let text = "seconds,price,y\n1700000001,16777216.25,0\n1700000003,16777216.75,1\n1700000005,16777217.25,0\n";
    let csv = folder.write("moments.csv", text.as_bytes());
    let format = CsvFormat { label: Some("y".into()), ..CsvFormat::default() };
    let numbers =
        [[1_700_000_001.0, 16_777_216.25], [1_700_000_003.0, 16_777_216.75], [1_700_000_005.0, 16_777_217.25]];
    let array = folder.write(
        "moments.npy",
        &npy(
            "<f8",
            "(3, 2)",
            &numbers.as_flattened().iter().flat_map(|value: &f64| value.to_le_bytes()).collect::<Vec<u8>>(),
        ),
    );
    let labels = folder.write("labels.npy", &npy("|u1", "(3,)", &[0, 1, 0]));
    let targets = folder.write("targets.npy", &npy("<f4", "(3,)", &[0; 12]));
    let sets = [
        Dataset::load_csv_features(&csv, &format, None)?,
        Dataset::load_csv_features_with_targets(&csv, &format)?,
        Dataset::load_features(&array, &labels, None)?,
        Dataset::load_features_with_targets(&array, &targets)?,
        Dataset::of_features(numbers.concat(), vec![0, 1, 0], 2, 2, "made")?,
    ];
    // Sums of a mean and quotients by 3 are rounded, each by half of the last digit of 1.7e9.
    let rounding = Tolerance { abs: 4.0 * 1.7e9 * f64::EPSILON, rel: 0.0 };
    let deviation = (8.0f64 / 3.0).sqrt();
    for set in &sets {
        assert_eq!(set.features().expect("features")[..2], [1.7e9, 16_777_216.0]);
        let scaling = set.scaling()?;
        close("means", &scaling.mean, &[1_700_000_003.0, 16_777_216.75], rounding);
        close("deviations", &scaling.deviation, &[deviation, deviation / 4.0], rounding);
        // By powers of two: exact.
        let simple = Scaling { mean: vec![1_700_000_000.0, 16_777_216.0], deviation: vec![2.0, 0.5] };
        assert_eq!(set.scaled(&simple)?.features(), Some(&[0.5, 0.5, 1.5, 1.5, 2.5, 2.5][..]));
        let (first, last) = set.split(1)?;
        assert_eq!(first.scaled(&simple)?.features(), Some(&[0.5, 0.5, 1.5, 1.5][..]));
        assert_eq!(last.scaled(&simple)?.features(), Some(&[2.5, 2.5][..]));
        assert_eq!(simple.scaled(&read_features(&array, &CsvFormat::default(), 2)?)?, [0.5, 0.5, 1.5, 1.5, 2.5, 2.5]);
    }
    Ok(())
}

/// A hundred thousand moments a millisecond apart: the mean is that of the first and the last, the variance of whole numbers 0 to n - 1 is (n² - 1) / 12. Of a column that is constant but for the last digit, or whose squares are too small for a number, the deviation is 1.
#[test]
fn means_and_deviations_keep_digits_and_rounding_is_no_deviation() -> Checked {
    let n = 100_000;
    let column = |of: &dyn Fn(usize) -> f64| -> warpplay::Result<Scaling> {
        Dataset::of_features((0..n).map(of).collect::<Vec<f64>>(), vec![0; n], 1, 2, "made")?.scaling()
    };
    let found = column(&|at| 1.7e9 + at as f64 / 1024.0)?;
    // Numbers near 1.7e9 have steps of 2.4e-7.
    let step = 1.7e9 * f64::EPSILON;
    close("mean", &found.mean, &[1.7e9 + (n - 1) as f64 / 2048.0], Tolerance { abs: step, rel: 0.0 });
    let expected = (((n * n) as f64 - 1.0) / 12.0).sqrt() / 1024.0;
    // Each of n squares and their sums is rounded once.
    close("deviation", &found.deviation, &[expected], Tolerance { abs: 0.0, rel: 2.0 * n as f64 * f64::EPSILON });
    assert_eq!(column(&|at| if at == 7 { 0.1 + 0.2 } else { 0.3 })?.deviation, [1.0]);
    assert_eq!(column(&|at| if at == 7 { 1e-200 } else { 0.0 })?.deviation, [1.0]);
    assert_eq!(column(&|_| 5.0)?, Scaling { mean: vec![5.0], deviation: vec![1.0] });
    Ok(())
}
