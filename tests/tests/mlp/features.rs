//! Features in f32 in place of pixels: every engine against the plain program, sets that are read and standardised, and what is refused.

use std::sync::Arc;

use warpplay::mlp::{
    Activation, Classifier, CsvFormat, Dataset, Engine, Layer, Loss, Network, OnnxFormat, Optimizer, Options,
    Precision, Residence, Trainer,
};
use warpplay::{Device, Error, Progress};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_architecture, for_each_architecture_of_f32};
use warpplay_tests::folder::Folder;
use warpplay_tests::mlp::{Twin, images, resumed, swept, train};
use warpplay_tests::npy::npy;
use warpplay_tests::rounding::{SINGLE, loss_bound, output_bound};
use warpplay_tests::tolerance::{Tolerance, close};

/// Numbers of -2 to 2 with 24 bits, which depend on the class; with `n_targets`, targets of -3 to 3 in place of classes.
fn set(n: usize, n_features: u32, n_targets: Option<u32>) -> Arc<Dataset> {
    let classes = images(n, 1, n_features, 4);
    let features: Vec<f32> = classes.images().iter().map(|&pixel| f32::from(pixel) / 63.7 - 2.0).collect();
    let target = |at: u32| ((at * 37 + 11) % 61) as f32 / 10.0 - 3.0;
    let made = match n_targets {
        Some(n_targets) => {
            let targets = (0..n as u32 * n_targets).map(target).collect();
            Dataset::of_features_with_targets(features, targets, n_features, n_targets, "numbers")
        }
        None => Dataset::of_features(features, classes.labels().to_vec(), n_features, 4, "numbers"),
    };
    Arc::new(made.expect("a set"))
}

fn options(hidden: &[u32], batch: u32) -> Options {
    Options { hidden: hidden.to_vec(), batch, epochs: 2, learning_rate: 0.05, seed: 3, ..Options::default() }
}

/// Widths below, at and above quads, eights and a tile; no hidden layer, one and several; a last batch that is short; classes and targets.
#[test]
fn epochs_on_features_equal_the_plain_programs() {
    let momentum = Optimizer::Momentum { momentum: 0.9 };
    for (n, n_features, n_targets, hidden, batch, optimizer, activation) in [
        (60, 13, None, &[9][..], 7, Optimizer::Sgd, Activation::Relu),
        (40, 8, Some(3), &[17, 12], 40, momentum, Activation::Tanh),
        (30, 71, None, &[], 8, momentum, Activation::Relu),
        (24, 1, Some(1), &[6], 24, Optimizer::Sgd, Activation::Relu),
    ] {
        let set = set(n, n_features, n_targets);
        let loss = if n_targets.is_some() { Loss::Huber } else { Loss::CrossEntropy };
        let options = Options { optimizer, activation, loss, ..options(hidden, batch) };
        let twin = Twin::of(&options, &set);
        for_each_architecture_of_f32(|device| {
            let (found, weights) = train(device, &options, &set)?;
            twin.check(&format!("{n_features} features, {hidden:?}, {loss} on {device}"), &found, &weights);
            Ok(())
        });
    }
}

/// Quotients of bytes and 255 are what the plain program makes of the bytes.
#[test]
fn pixels_are_features_of_0_to_1() -> Checked {
    let pixels = images(50, 3, 5, 4);
    let quotients: Vec<f32> = pixels.images().iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
    let numbers = Arc::new(Dataset::of_features(quotients, pixels.labels().to_vec(), 15, 4, "quotients")?);
    let options = options(&[9], 8);
    let (losses, network) = train(&Device::cpu(), &options, &pixels)?;
    let (found, of_numbers) = train(&Device::cpu(), &options, &numbers)?;
    assert_eq!((found, of_numbers.layers()), (losses, network.layers()));
    let twin = Twin::of(&options, &pixels);
    for_each_architecture_of_f32(|device| {
        let (found, weights) = train(device, &options, &numbers)?;
        twin.check(&format!("quotients on {device}"), &found, &weights);
        Ok(())
    });
    Ok(())
}

/// TF32 cuts off what its 11 significant bits do not hold, the others round.
#[test]
fn short_formats_have_features() {
    let set = set(32, 15, None);
    let options = Options { epochs: 1, learning_rate: 0.0, ..options(&[11, 6], 32) };
    let first = |device: &Device, precision| -> warpplay::Result<(f64, Network)> {
        let (losses, network) = train(device, &Options { precision, ..options.clone() }, &set)?;
        Ok((losses[0], network))
    };
    let (exact, network) = first(&Device::cpu(), Precision::F64).expect("cpu");
    for_each_architecture(|device| {
        for (precision, bits) in [(Precision::Tf32, 10), (Precision::F16, 11), (Precision::Bf16, 8)] {
            let bound = loss_bound(&network, &set, &options, 1.0 / f64::from(1 << bits));
            let bound = Tolerance { abs: bound, rel: 0.0 };
            close(&format!("{precision} on {device}"), &[first(device, precision)?.0], &[exact], bound);
        }
        Ok(())
    });
}

/// All signs of two features, which are then standardised: with the bias, the columns of the inputs are orthogonal, and `XᵀX / 4` is the identity. From any weights, one step at the rate of the loss's factor ends at the optimum, where
/// the loss is 0 but for the rounding of numbers up to 8 and their products, some 24 of them at most.
#[test]
fn a_linear_function_of_standardised_features_is_learnt_in_a_step() -> Checked {
    let features = vec![3.0, -10.0, 7.0, -10.0, 3.0, -4.0, 7.0, -4.0];
    let raw = Dataset::of_features_with_targets(features, vec![1.5, -0.5, 7.5, 5.5], 2, 1, "a linear function")?;
    let scaling = raw.scaling()?;
    assert_eq!((&scaling.mean[..], &scaling.deviation[..]), (&[5.0, -7.0][..], &[2.0, 3.0][..]));
    let set = Arc::new(raw.scaled(&scaling)?);
    assert_eq!(set.features(), Some(&[-1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0][..]));
    let check = |device: &Device| -> Checked {
        let options = Options { loss: Loss::MeanSquaredError, epochs: 2, learning_rate: 0.5, ..options(&[], 4) };
        let mut trainer = Trainer::builder(&set).options(options).build(device)?;
        let report = trainer.run(Progress::go_on)?;
        let bound = (24.0 * 8.0 * f64::from(f32::EPSILON)).powi(2);
        assert!(report.epochs[1].loss <= bound, "{} on {device}", report.epochs[1].loss);
        let found: Vec<f64> = warpplay_tests::mlp::values(&trainer.network()?);
        close("weights", &found, &[-1.0, 3.0, 3.5], Tolerance { abs: bound.sqrt(), rel: 0.0 });
        Ok(())
    };
    check(&Device::cpu())?;
    for_each_architecture_of_f32(check);
    Ok(())
}

/// More samples than are taken at once; both within the bound of exact arithmetic.
#[test]
fn outputs_and_evaluations_are_those_of_the_cpu() {
    let set = set(2100, 13, None);
    let network = Network::initial(&[13, 9, 4], warpplay::mlp::Init::HeUniform, 1).expect("a network");
    let built = |device: &Device| Classifier::builder(&network).features(true).build(device);
    let mut cpu = built(&Device::cpu()).expect("cpu");
    let features = set.features().expect("features");
    let widened = |values: Vec<f32>| values.into_iter().map(f64::from).collect::<Vec<f64>>();
    let expected = widened(cpu.outputs(features).expect("cpu"));
    let loss = cpu.evaluate(&set).expect("cpu").loss;
    let options = options(&[9], 8);
    let of_outputs = 2.0 * output_bound(&network, &set, &options, SINGLE);
    let of_loss = 2.0 * loss_bound(&network, &set, &options, SINGLE);
    for_each_architecture_of_f32(|device| {
        let mut classifier = built(device)?;
        assert_eq!(classifier.engine(), Engine::Layers);
        let bound = Tolerance { abs: of_outputs, rel: 0.0 };
        close("outputs", &widened(classifier.outputs(features)?), &expected, bound);
        close("loss", &[classifier.evaluate(&set)?.loss], &[loss], Tolerance { abs: of_loss, rel: 0.0 });
        Ok(())
    });
}

#[test]
fn a_resumed_training_goes_on_with_its_features() {
    let set = set(70, 6, None);
    for_each_architecture(|device| {
        for precision in [Precision::F32, Precision::F16] {
            resumed(device, &Options { precision, ..options(&[5], 4) }, &set)?;
        }
        Ok(())
    });
}

#[test]
fn a_sweep_takes_features_and_samples_are_held_out() -> Checked {
    let set = set(40, 16, None);
    for device in [Device::cpu(), Device::simt()] {
        swept(&device, &options(&[6], 8), &set)?;
        let held = Options { held_out: 10, ..options(&[6], 8) };
        let report = Trainer::builder(&set).options(held).build(&device)?.run(Progress::go_on)?;
        assert!(report.n_train == 30 && report.epochs[1].validation_loss.is_some_and(f64::is_finite));
    }
    Ok(())
}

/// What does not take features says so.
#[test]
fn features_and_images_are_told_apart() -> Checked {
    let (numbers, pixels) = (set(20, 16, None), images(20, 4, 4, 4));
    let built = |options: Options| Trainer::builder(&numbers).options(options).build(&Device::simt());
    assert_eq!(built(options(&[9], 8))?.engine(), Engine::Layers);
    let text = |error: Error| error.to_string();
    let error = text(built(Options { engine: Engine::Epoch, ..options(&[9], 8) }).expect_err("no features"));
    assert_eq!(error, "option engine: epoch is not allowed (auto or layers with features in f32)");
    let error = text(built(Options { stream: Residence::Host, ..options(&[9], 8) }).expect_err("no copies"));
    assert_eq!(error, "option stream: host is not allowed (device with features in f32)");
    let tested = Trainer::builder(&numbers).options(options(&[9], 8)).test(&pixels).build(&Device::cpu());
    assert!(text(tested.expect_err("images")).contains("expected features in f32, got images of bytes"));
    let network = Network::initial(&[16, 9, 4], warpplay::mlp::Init::HeUniform, 1)?;
    for device in [Device::cpu(), Device::simt()] {
        let mut of_images = Classifier::builder(&network).build(&device)?;
        assert!(text(of_images.evaluate(&numbers).expect_err("features")).contains("got features in f32"));
        let error = text(of_images.outputs(&[0.0; 16]).expect_err("features"));
        assert_eq!(error, "option features: false is not allowed (true for numbers in place of images)");
        let mut of_numbers = Classifier::builder(&network).features(true).build(&device)?;
        assert!(text(of_numbers.evaluate(&pixels).expect_err("images")).contains("got images of bytes"));
        let error = text(of_numbers.logits(&[0; 16]).expect_err("images"));
        assert_eq!(error, "option features: true is not allowed (false for images of bytes)");
        assert!(matches!(of_numbers.outputs(&[0.0; 15]), Err(Error::Shape { .. })));
        let error = text(of_numbers.outputs(&[f32::NAN; 16]).expect_err("no number"));
        assert_eq!(error, "feature 0: expected a finite number, got NaN");
    }
    assert!(matches!(numbers.expect_fits(&[16, 9, 4]), Err(Error::Shape { .. })));
    assert!(matches!(numbers.save(Folder::new().path(""), warpplay::mlp::Split::Test), Err(Error::Shape { .. })));
    Ok(())
}

/// Half precision holds numbers up to 65,504; a set with others is refused where it is given, before and after it is standardised alike.
#[test]
fn features_beyond_half_precision_are_refused() -> Checked {
    let made = |last: f32, n_features| {
        let n = 2 * n_features as usize;
        let features: Vec<f32> = (1..n).map(|at| at as f32).chain([last]).collect();
        Ok::<_, Error>(Arc::new(Dataset::of_features(features, vec![0, 1], n_features, 2, "made")?))
    };
    let (within, beyond) = (made(65_504.0, 3)?, made(-65_520.0, 3)?);
    let device = Device::simt();
    let built = |set: &Arc<Dataset>, test: &Arc<Dataset>, precision| {
        Trainer::builder(set).options(Options { precision, ..options(&[4], 2) }).test(test).build(&device)
    };
    let text = "feature 2 of sample 1 of made: expected -65504 to 65504 with precision f16, got -65520";
    for (set, test) in [(&beyond, &within), (&within, &beyond)] {
        assert_eq!(built(set, test, Precision::F16).expect_err("beyond").to_string(), text);
        assert!(built(set, test, Precision::Bf16).is_ok());
    }
    let mut trainer = built(&within, &within, Precision::F16)?;
    trainer.evaluate(&within)?;
    assert_eq!(trainer.evaluate(&beyond).expect_err("beyond").to_string(), text);
    let standardised = Arc::new(beyond.scaled(&beyond.scaling()?)?);
    assert!(built(&standardised, &standardised, Precision::F16).is_ok());
    let sweep = warpplay::mlp::Sweep::builder(&within).test(&beyond).model(1, 0.1);
    let sweep = sweep.options(Options { precision: Precision::F16, ..options(&[4], 2) }).build(&device);
    assert_eq!(sweep.expect_err("beyond").to_string(), text);
    let network = Network::initial(&[3, 4, 2], warpplay::mlp::Init::HeUniform, 1)?;
    let mut classifier = Classifier::builder(&network).features(true).precision(Precision::F16).build(&device)?;
    assert_eq!(classifier.evaluate(&beyond).expect_err("beyond").to_string(), text);
    let error = classifier.outputs(&[0.0, 1e5, 0.0]).expect_err("beyond").to_string();
    assert_eq!(error, "feature 1: expected -65504 to 65504 with precision f16, got 100000");
    Ok(())
}

#[test]
fn too_many_features_are_named_so() -> Checked {
    let set = Arc::new(Dataset::of_features(vec![0.0; 16_385], vec![0], 16_385, 2, "made")?);
    let error = Trainer::builder(&set).batch(1).build(&Device::cpu()).expect_err("too many").to_string();
    assert_eq!(error, "made: expected at most 16384 features, 256 classes, got 16385 features, 2 classes");
    let (three, two) = (set_of(3)?, set_of(2)?);
    let error = Trainer::builder(&three).batch(1).test(&two).build(&Device::cpu()).expect_err("other features");
    assert_eq!(error.to_string(), "features of a sample of made: expected 3, the network's inputs, got 2");
    Ok(())
}

fn set_of(n_features: u32) -> warpplay::Result<Arc<Dataset>> {
    Ok(Arc::new(Dataset::of_features(vec![0.0; n_features as usize], vec![0], n_features, 2, "made")?))
}

#[test]
fn features_are_finite_and_as_many_as_samples() -> Checked {
    let made =
        |features: &[f32], labels: &[u8], n| Dataset::of_features(features.to_vec(), labels.to_vec(), n, 2, "made");
    for (features, labels, n) in [(&[1.0, 2.0, 3.0][..], &[0, 1][..], 2), (&[], &[], 2), (&[], &[0], 0)] {
        assert!(matches!(made(features, labels, n), Err(Error::Shape { .. })), "{features:?} {labels:?} {n}");
    }
    let error = made(&[0.0, 1.0, 2.0, f32::INFINITY], &[0, 1], 2).expect_err("no number").to_string();
    assert_eq!(error, "feature 1 of sample 1: expected a finite number, got inf");
    assert!(matches!(made(&[0.0, 1.0], &[0, 2], 1), Err(Error::Option { .. })));
    let error = Dataset::of_features_with_targets(vec![0.0; 3], vec![0.0; 2], 2, 1, "made").expect_err("3 numbers");
    assert!(matches!(error, Error::Shape { .. }));
    let set = made(&[1.0, 5.0, 3.0, 5.0, 8.0, 5.0], &[0, 1, 1], 2)?;
    assert_eq!((set.len(), set.n_inputs(), set.images(), set.image(0)), (3, 2, &[][..], None));
    let (first, last) = set.split(1)?;
    assert_eq!((first.features(), last.features()), (Some(&[1.0, 5.0, 3.0, 5.0][..]), Some(&[8.0, 5.0][..])));
    assert_ne!(first.checksum(), set.checksum());
    // A mean of 4, and squares of 9, 1 and 16; a feature that is the same everywhere becomes 0.
    let scaling = set.scaling()?;
    close("means", &scaling.mean, &[4.0, 5.0], Tolerance { abs: 1e-12, rel: 0.0 });
    close("deviations", &scaling.deviation, &[(26.0f64 / 3.0).sqrt(), 1.0], Tolerance { abs: 1e-12, rel: 0.0 });
    assert!(matches!(images(3, 1, 2, 2).scaling(), Err(Error::Shape { .. })));
    assert!(matches!(set.scaled(&made(&[1.0], &[0], 1)?.scaling()?), Err(Error::Shape { .. })));
    Ok(())
}

#[test]
fn files_of_features_are_read() -> Checked {
    let folder = Folder::new();
    let singles = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let labels = folder.write("labels.npy", &npy("|u1", "(2,)", &[1, 0]));
    let targets = folder.write("targets.npy", &npy("<f4", "(2, 1)", &singles(&[0.5, -7.0])));
    let doubles: Vec<u8> = [0.1, -2.5, 3.0, 1e20].iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
    let expected = [0.1f32, -2.5, 3.0, 1e20];
    for bytes in [npy("<f4", "(2, 2)", &singles(&expected)), npy("<f8", "(2, 1, 2)", &doubles)] {
        let path = folder.write("features.npy", &bytes);
        let set = Dataset::load_features(&path, &labels, None)?;
        assert_eq!((set.features(), set.labels(), set.n_classes()), (Some(&expected[..]), &[1, 0][..], 2));
        let set = Dataset::load_features_with_targets(&path, &targets)?;
        assert_eq!((set.features(), set.targets()), (Some(&expected[..]), Some(&[0.5, -7.0][..])));
    }
    for (bytes, text) in [
        (npy("|u1", "(2, 2)", &[0; 4]), "features have values of type \"|u1\", float32 or float64 is expected"),
        (npy("<f4", "(4,)", &[0; 16]), "features have the shape [4], [n, n_features] is expected"),
        (npy("<f4", "(2, 0)", &[]), "features have the shape [2, 0]"),
        (npy("<f4", "(3, 1)", &[0; 12]), "labels for the 3 samples of"),
        (npy("<f4", "(2, 1)", &singles(&[0.0, f32::NAN])), "feature 0 of sample 1 is NaN, a finite number is expected"),
    ] {
        let path = folder.write("features.npy", &bytes);
        let error = Dataset::load_features(&path, &labels, None).expect_err(text);
        assert!(matches!(error, Error::File { .. }) && error.to_string().contains(text), "{error}");
    }
    let format = CsvFormat { label: Some("y".into()), ..CsvFormat::default() };
    let path = folder.write("set.csv", b"a,y,b\n0.5,1,-2e3\n7,0,.25\n");
    let set = Dataset::load_csv_features(&path, &format, None)?;
    assert_eq!((set.features(), set.labels()), (Some(&[0.5, -2e3, 7.0, 0.25][..]), &[1, 0][..]));
    let set = Dataset::load_csv_features_with_targets(&path, &format)?;
    assert_eq!((set.features(), set.targets()), (Some(&[0.5, -2e3, 7.0, 0.25][..]), Some(&[1.0, 0.0][..])));
    // The same columns in another order.
    let turned = folder.write("turned.csv", b"b,a,y\n-2e3,0.5,1\n.25,7,0\n");
    let turned = Arc::new(Dataset::load_csv_features_with_targets(&turned, &format)?);
    let options = Options { loss: Loss::MeanSquaredError, batch: 1, ..Options::default() };
    let error = Trainer::builder(&Arc::new(set)).options(options).test(&turned).build(&Device::cpu());
    let error = error.map(drop).expect_err("other columns").to_string();
    assert!(error.starts_with("2 columns of ") && error.contains("number 1: expected \"a\" as in "), "{error}");
    assert!(error.ends_with("got \"b\""), "{error}");
    let path = folder.write("set.csv", b"a,y,b\n0.5,1,inf\n");
    let error = Dataset::load_csv_features(&path, &format, None).expect_err("no number").to_string();
    assert!(
        error.ends_with("line 2: the feature in column 3 (\"b\") is \"inf\", a finite number is expected"),
        "{error}"
    );
    Ok(())
}

#[test]
fn onnx_files_take_features() -> Checked {
    let layer = Layer { n_inputs: 2, n_outputs: 1, weights: vec![0.5; 2], bias: vec![0.0] };
    let (network, folder) = (Network::new(vec![layer])?, Folder::new());
    let path = folder.path("net.onnx");
    network.save_onnx(&path, &OnnxFormat { features: true, ..OnnxFormat::default() })?;
    let bytes = std::fs::read(&path).expect("a file");
    let has = |name: &str| bytes.windows(name.len()).any(|part| part == name.as_bytes());
    assert!(has("features") && has("Gemm") && !has("images") && !has("Div"));
    let sized = OnnxFormat { features: true, image_size: Some((1, 2)), ..OnnxFormat::default() };
    let error = network.save_onnx(&path, &sized).expect_err("a size").to_string();
    assert_eq!(error, "option image_size: 1x2 is not allowed (none with features)");
    Ok(())
}
