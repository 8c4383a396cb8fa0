//! Training of the residual network: kernels against the plain program, resuming, bad input.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::azero::train::{Checkpoint, Options, Samples, StepReport, StoppedBy, TrainEvent, Trainer};
use warpplay::azero::{Network, NetworkShape, ObservationLayout, ValueOf};
use warpplay::{Device, Error};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::tolerance::{Tolerance, close};

/// SplitMix64, for positions without meaning.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// `n` positions of `n / 4` games.
fn positions(shape: NetworkShape, n: u64, seed: u64) -> Arc<Samples> {
    let mut numbers = Numbers(seed);
    let mut samples = Samples::new(shape, ObservationLayout::Default, ValueOf::First).expect("a shape");
    for sample in 0..n {
        let observation: Vec<f32> = (0..shape.n_observation()).map(|_| numbers.below(2) as f32).collect();
        let mut legal: Vec<u8> = (0..shape.actions).map(|_| u8::from(numbers.below(4) == 0)).collect();
        legal[numbers.below(shape.actions.into()) as usize] = 1;
        let visits: Vec<(u32, u32)> = (0..shape.actions)
            .filter(|&action| legal[action as usize] != 0)
            .map(|action| (action, 1 + numbers.below(50) as u32))
            .collect();
        let value = numbers.below(3) as f64 - 1.0;
        samples.push(sample / 4, &observation, &legal, &visits, value).expect("a position");
    }
    Arc::new(samples)
}

/// Odd sizes everywhere: nothing fills a quad or a tile.
fn odd_shape() -> NetworkShape {
    NetworkShape {
        rows: 3,
        columns: 5,
        planes: 5,
        width: 6,
        depth: 2,
        value_filters: 3,
        value_hidden: 7,
        policy_filters: 2,
        actions: 37,
    }
}

/// All tensors of a network, one after the other, with the place of each.
fn flat(network: &Network) -> (Vec<f64>, Vec<(String, usize)>) {
    let (mut values, mut places) = (Vec::new(), Vec::new());
    network.visit(|name, _, tensor| {
        places.push((name.to_string(), tensor.len()));
        values.extend(tensor.iter().map(|&value| f64::from(value)));
    });
    (values, places)
}

/// Compares two networks tensor by tensor, each within a share of its largest value: what is summed cancels.
fn compare(what: &str, got: &Network, expected: &Network, share: f64, least: f64) {
    let ((got, places), (expected, _)) = (flat(got), flat(expected));
    let mut at = 0;
    for (name, n) in places {
        let (got, expected) = (&got[at..at + n], &expected[at..at + n]);
        let largest = expected.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        close(&format!("{what}: {name}"), got, expected, Tolerance { abs: least + share * largest, rel: 0.0 });
        at += n;
    }
}

/// Kernels and plain program sum in different orders, in single precision: a few parts in a million of the largest value of a tensor.
const GRADIENT_SHARE: f64 = 2e-5;

fn gradients_agree(shape: NetworkShape, batch: u32, samples: &Arc<Samples>) {
    let network = Network::seeded(shape, 3).expect("a network");
    let order: Vec<u32> = (0..batch).rev().collect();
    let builder = Trainer::builder().network(network).batch(batch);
    let mut plain = builder.clone().build(&Device::cpu(), samples).expect("a trainer");
    let expected = plain.gradient(&order).expect("a gradient");
    for_each_device(|device| {
        let mut trainer = builder.clone().build(device, samples)?;
        let before = trainer.network()?;
        let found = trainer.gradient(&order)?;
        compare("gradient", &found, &expected, GRADIENT_SHARE, 1e-7);
        assert_eq!(trainer.gradient(&order)?, found, "the same bits again");
        assert_eq!(trainer.network()?, before, "nothing changed");
        // A part of a batch, whose statistics are its own.
        let few = &order[..batch as usize / 2];
        compare("gradient of few", &trainer.gradient(few)?, &plain_gradient(&builder, samples, few), GRADIENT_SHARE, 1e-7);
        Ok(())
    });
}

fn plain_gradient(builder: &warpplay::azero::train::TrainerBuilder, samples: &Arc<Samples>, order: &[u32]) -> Network {
    let mut plain = builder.clone().build(&Device::cpu(), samples).expect("a trainer");
    plain.gradient(order).expect("a gradient")
}

#[test]
fn gradients_of_odd_shapes_agree_with_the_plain_program() {
    let shape = odd_shape();
    gradients_agree(shape, 9, &positions(shape, 9, 1));
    let shape = NetworkShape { rows: 1, columns: 1, depth: 0, value_filters: 1, policy_filters: 5, ..shape };
    gradients_agree(shape, 40, &positions(shape, 40, 2));
    let shape = NetworkShape { rows: 9, columns: 2, planes: 1, width: 33, depth: 1, ..shape };
    gradients_agree(shape, 6, &positions(shape, 6, 3));
}

#[test]
fn gradients_of_large_tiles_agree_with_the_plain_program() {
    let shape = NetworkShape { width: 72, depth: 1, actions: 100, value_hidden: 12, ..NetworkShape::default() };
    gradients_agree(shape, 8, &positions(shape, 8, 4));
}
