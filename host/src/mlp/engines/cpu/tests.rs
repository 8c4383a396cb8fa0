//! The CPU engine: interrupted, kept, diverging, wrong.

use super::*;
use crate::mlp::dispatch;

/// 50 images of 3 x 4 pixels without meaning, 3 classes; batches of 16, the last of 2.
fn setup(optimizer: Optimizer, precision: Precision, threads: Option<usize>) -> Setup {
    let numbers = reference::Numbers::new(2, 1000);
    let images = (0..600).map(|i| (numbers.at(i) >> 56) as u8).collect();
    let labels = (0..50).map(|i| (numbers.at(1000 + i) % 3) as u8).collect();
    let train = Dataset::new(images, labels, 3, 4, 3, "noise").unwrap();
    let options = Options {
        hidden: vec![9, 8],
        batch: 16,
        optimizer,
        precision,
        evaluate_batch: 7,
        weight_decay: 0.01,
        threads,
        ..Options::default()
    };
    Setup { sizes: options.sizes(12, 3), options, features: false, train: Some(Arc::new(train)) }
}

fn opened(setup: Setup) -> Box<dyn Train> {
    let sizes: Vec<usize> = setup.sizes.iter().map(|&size| size as usize).collect();
    let mut engine = open(&Device::cpu(), setup).unwrap();
    let drawn = reference::Network::<f32>::drawn(&sizes, reference::Init::HeUniform, 4);
    engine.set_state(&TrainState { layers: values(drawn.layers()), ..TrainState::default() }).unwrap();
    engine
}

fn plan(epoch: u32, from_step: u32) -> EpochPlan<'static> {
    EpochPlan {
        epoch,
        seed: 1,
        from_step,
        loss_before: 0.0,
        learning_rates: &[0.02, 0.03, 0.01, 0.05],
        updates: 4 * u64::from(epoch),
    }
}

const OPTIMIZERS: [Optimizer; 3] = [
    Optimizer::Sgd,
    Optimizer::RmsProp { alpha: 0.99, epsilon: 1e-8 },
    Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
];

#[test]
fn training_interrupted_at_any_step_goes_on_to_the_same_bits() {
    for (optimizer, precision) in OPTIMIZERS.into_iter().zip([Precision::F32, Precision::F64, Precision::F32]) {
        let mut whole = opened(setup(optimizer, precision, Some(1)));
        let mut losses = Vec::new();
        let mut epoch = |number| {
            whole.train(&plan(number, 0), &mut |_, loss| {
                losses.push(loss);
                true
            })
        };
        assert_eq!(epoch(0).unwrap().next_step, 4);
        let expected_loss = epoch(1).unwrap().loss_sum;
        // Batches of 16, 16, 16 and 2 samples.
        let sum: f64 = losses[4..].iter().zip([16.0, 16.0, 16.0, 2.0]).map(|(loss, n)| loss * n).sum();
        assert!((sum - expected_loss).abs() < 1e-12 * sum, "{sum} {expected_loss}");
        let expected = whole.state().unwrap();
        for stop in 0..4 {
            let mut first = opened(setup(optimizer, precision, Some(2)));
            first.train(&plan(0, 0), &mut |_, _| true).unwrap();
            let outcome = first.train(&plan(1, 0), &mut |step, _| step < stop).unwrap();
            assert_eq!(outcome.next_step, stop + 1);
            let mut second = opened(setup(optimizer, precision, None));
            second.set_state(&first.state().unwrap()).unwrap();
            let rest = EpochPlan { loss_before: outcome.loss_sum, ..plan(1, stop + 1) };
            let rest = second.train(&rest, &mut |_, _| true).unwrap();
            assert_eq!(rest.next_step, 4);
            assert_eq!(rest.loss_sum, expected_loss, "the same bits");
            assert_eq!(second.state().unwrap(), expected, "{} stopped after step {stop}", optimizer.name());
        }
    }
}

#[test]
fn kept_state_comes_back() {
    let mut engine = opened(setup(OPTIMIZERS[2], Precision::F32, None));
    assert_eq!(engine.restore().unwrap_err().to_string(), Error::shape("kept state", "one", "none").to_string());
    engine.train(&plan(0, 0), &mut |_, _| true).unwrap();
    let before = engine.state().unwrap();
    engine.keep().unwrap();
    engine.train(&plan(1, 0), &mut |_, _| true).unwrap();
    assert_ne!(engine.state().unwrap(), before);
    engine.restore().unwrap();
    assert_eq!(engine.state().unwrap(), before);
}

#[test]
fn loss_that_is_no_number_is_reported_with_its_step() {
    let mut engine = opened(setup(Optimizer::Sgd, Precision::F32, None));
    let rates = [1e30, 1.0, 1.0, 1.0];
    let plan = EpochPlan { learning_rates: &rates, ..plan(0, 0) };
    let bad = engine.train(&plan, &mut |_, _| true).unwrap().bad_step.expect("diverges");
    assert!((1..4).contains(&bad), "{bad}");
}

#[test]
fn classes_losses_and_active_units_are_those_of_the_logits() {
    let setup = setup(Optimizer::Sgd, Precision::F32, Some(3));
    let set = setup.train.clone().unwrap();
    let mut engine = opened(setup);
    // A unit that nothing reaches: its bias is far below what its weights can add.
    let mut state = engine.state().unwrap();
    state.layers[1].bias[5] = -1e6;
    engine.set_state(&state).unwrap();
    let id = engine.load(&set).unwrap();
    let found = engine.classify(id).unwrap();
    let logits = engine.logits(set.images()).unwrap();
    assert_eq!((found.classes.len(), logits.len()), (50, 150));
    let mut loss = 0.0;
    for ((z, &class), &label) in logits.chunks(3).zip(&found.classes).zip(set.labels()) {
        assert!(z.iter().all(|&other| other <= z[class as usize]));
        let sum: f64 = z.iter().map(|&z| f64::from(z).exp()).sum();
        loss += sum.ln() - f64::from(z[usize::from(label)]);
    }
    assert!((found.loss_sum - loss).abs() < 1e-5 * loss, "{} {loss}", found.loss_sum);
    assert_eq!(found.active.iter().map(Vec::len).collect::<Vec<_>>(), [9, 8]);
    assert!(!found.active[1][5]);
    assert!(found.active[0].iter().any(|&active| active));
    let text = engine.logits(&[0; 13]).unwrap_err().to_string();
    assert_eq!(text, Error::shape("images", "a multiple of 12 bytes", 13).to_string());
}

#[test]
fn state_of_another_shape_is_refused() {
    let mut engine = opened(setup(OPTIMIZERS[2], Precision::F32, None));
    let before = engine.state().unwrap();
    for change in [
        |state: &mut TrainState| state.layers.truncate(2),
        |state: &mut TrainState| state.layers[1].weights.truncate(71),
        |state: &mut TrainState| state.moments.truncate(1),
        |state: &mut TrainState| state.moments[1][2].bias.truncate(2),
    ] {
        let mut state = before.clone();
        change(&mut state);
        assert!(matches!(engine.set_state(&state), Err(Error::Shape { .. })));
        assert_eq!(engine.state().unwrap(), before);
    }
}

#[test]
fn the_cpu_engine_and_the_cpu_belong_together() {
    for (device, engine, name) in [
        (Device::cpu(), Engine::Auto, None),
        (Device::cpu(), Engine::Cpu, None),
        (Device::cpu(), Engine::Layers, Some("layers")),
        (Device::simt(), Engine::Cpu, Some("cpu")),
    ] {
        let mut setup = setup(Optimizer::Sgd, Precision::F32, None);
        setup.options.engine = engine;
        match (dispatch::open(&device, setup), name) {
            (Ok(engine), None) => assert_eq!(engine.engine(), Engine::Cpu),
            (Err(error), Some(name)) => {
                let text = error.to_string();
                assert!(text.starts_with(&format!("option engine: {name} is not allowed")), "{text}");
                assert!(text.contains("cpu"), "{text}");
            }
            (found, _) => panic!("{engine} on {}: {:?}", device.backend(), found.err()),
        }
    }
}

#[test]
fn constants_are_as_written() {
    assert_eq!(as_written(0.9), 0.9);
    assert_eq!(as_written(1e-8), 1e-8);
}
