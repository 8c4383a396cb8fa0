//! The deviating programs: the one that deviates in nothing against the plain program, and rules against what must follow from them.

use std::collections::BTreeSet;

use warpplay::Error;
use warpplay::mlp::{Dataset, Reduction};
use warpplay_cpu_ref::mlp::{Init, Network, Pass, Sequential, pieces};
use warpplay_papers::mnist_mlp::Options;
use warpplay_papers::mnist_mlp::hypotheses::{
    self, Arrive, Epoch, Grid, Mask, Rules, Samples, Scale, Settings, Short, Softmax, Start, Visits,
};
use warpplay_tests::Checked;
use warpplay_tests::tolerance::{Tolerance, close};

use super::{CLASSES, N_SAMPLES, plain_training, small, small_set};

const SETTINGS: Settings = Settings { hidden: 9, batch: 5, epochs: 3, rate: 0.1, seed: 7 };

fn train(rules: Rules, settings: Settings, set: &Dataset) -> Vec<Epoch> {
    hypotheses::train(&rules, &settings, &Samples::of(set), &Samples::of(set), &mut || false)
}

fn losses(found: &[Epoch]) -> Vec<f64> {
    found.iter().map(|epoch| epoch.loss).collect()
}

/// Single precision in another order of summation.
const ROUNDINGS: Tolerance = Tolerance { abs: 0.0, rel: 1e-5 };

#[test]
fn what_deviates_in_nothing_is_the_plain_training() -> Checked {
    let set = small_set(N_SAMPLES, 1)?;
    for (scale, reduction) in [(Scale::Mean, Reduction::Mean), (Scale::Sum, Reduction::Sum)] {
        let found = train(Rules { scale: [scale; 4], ..Rules::default() }, SETTINGS, &set);
        let options = Options { reduction, epochs: SETTINGS.epochs, ..small(&[9]) };
        let (expected, plain) = plain_training(&options, &set);
        close("losses", &losses(&found), &expected, ROUNDINGS);
        let mut pass = Pass::default();
        plain.network.forward::<Sequential>(set.images(), &mut pass);
        let n_correct = pieces::n_correct(&pass.z[1], set.labels(), CLASSES as usize);
        assert_eq!(found[2].accuracy, n_correct as f64 / N_SAMPLES as f64);
    }
    Ok(())
}

#[test]
fn rules_that_must_agree_agree() -> Checked {
    // 20 samples in batches of 5: none is short. 64 samples of 4 classes: 256 gradients, a whole block.
    let (whole, block) = (small_set(20, 2)?, small_set(64, 3)?);
    let text = Rules::default();
    let agree = |what: &str, a: &[Epoch], b: &[Epoch]| close(what, &losses(a), &losses(b), ROUNDINGS);
    let mean = train(text, SETTINGS, &whole);
    let rate = |rate| Settings { rate, ..SETTINGS };
    agree("sum at a 5th", &train(Rules { scale: [Scale::Sum; 4], ..text }, rate(0.02), &whole), &mean);
    agree("twice at 5 times", &train(Rules { scale: [Scale::Twice; 4], ..text }, rate(0.5), &whole), &mean);
    agree("no short batch", &train(Rules { short: Short::Stale, ..text }, SETTINGS, &whole), &mean);
    agree("no short batch", &train(Rules { short: Short::Dropped, ..text }, SETTINGS, &whole), &mean);
    agree("He-uniform, once", &train(Rules { start: Start::Scaled(1.0), ..text }, SETTINGS, &whole), &mean);
    agree("all are reached", &train(Rules { reach: 15 * 9, ..text }, SETTINGS, &whole), &mean);
    let one = Settings { batch: 1, epochs: 1, ..SETTINGS };
    agree("one row is all", &train(Rules { arrive: Arrive::Last, ..text }, one, &whole), &train(text, one, &whole));
    let large = Settings { batch: 64, ..SETTINGS };
    agree("a whole block", &train(Rules { grid: Grid::DownZero, ..text }, large, &block), &train(text, large, &block));
    // Where nothing is updated, the loss is that of the first weights.
    let frozen = train(Rules { scale: [Scale::Frozen; 4], ..text }, SETTINGS, &whole);
    let network = Network::<f32>::drawn(&[15, 9, 4], Init::HeUniform, SETTINGS.seed);
    let mut pass = Pass::default();
    network.forward::<Sequential>(whole.images(), &mut pass);
    network.losses(whole.labels(), &mut pass);
    close("frozen", &losses(&frozen), &[pass.loss_sum() / 20.0; 3], ROUNDINGS);
    Ok(())
}

#[test]
fn samples_of_a_dropped_batch_are_not_in_the_mean_loss() -> Checked {
    // 23 samples in batches of 5: the last 3 are left out, as in a set that has not got them.
    let set = small_set(23, 4)?;
    let n_bytes = 20 * set.n_inputs() as usize;
    let (images, labels) = (set.images()[..n_bytes].to_vec(), set.labels()[..20].to_vec());
    let without = Dataset::new(images, labels, 3, 5, CLASSES, "the first 20")?;
    let rules = Rules { short: Short::Dropped, visits: Visits::File, ..Rules::default() };
    assert_eq!(losses(&train(rules, SETTINGS, &set)), losses(&train(rules, SETTINGS, &without)));
    Ok(())
}

/// A dead unit's gradient passes where the mask is missing, and softmax of softmax is nearer to equal shares: both by hand, on one sample and one unit.
#[test]
fn masks_and_softmax_follow_by_hand() -> Result<(), Error> {
    // One pixel at 255, one hidden unit, two classes: z1 = w1, W2 = (a, b).
    let set = Dataset::new(vec![255], vec![1], 1, 1, 2, "one pixel")?;
    let settings = Settings { hidden: 1, batch: 1, epochs: 2, rate: 0.5, seed: 3 };
    for rules in [
        Rules { start: Start::Uniform(-1.0, -0.5), ..Rules::default() },
        Rules { start: Start::Uniform(-1.0, -0.5), mask: Mask::None, ..Rules::default() },
        Rules { start: Start::Uniform(0.5, 1.0), softmax: Softmax::Twice, ..Rules::default() },
        Rules { start: Start::Uniform(0.5, 1.0), mask: Mask::Gradient, ..Rules::default() },
        Rules { start: Start::Uniform(0.5, 1.0), late: true, ..Rules::default() },
    ] {
        // The same two steps with f64 scalars. He-uniform draws within sqrt(6) for fan-in 1, and the rule maps that to its interval.
        let Start::Uniform(low, high) = rules.start else { unreachable!("all are") };
        let drawn = Network::<f32>::drawn(&[1, 1, 2], Init::HeUniform, 3);
        let bound = 6f64.sqrt();
        let placed = |w: f32| f64::from(low) + f64::from(high - low) * (f64::from(w) / bound + 1.0) / 2.0;
        let mut w1 = placed(drawn.layers()[0].weights[0]);
        let mut w2: Vec<f64> = drawn.layers()[1].weights.iter().map(|&w| placed(w)).collect();
        let (mut b1, mut b2) = (0.0, [0.0, 0.0]);
        let mut expected = Vec::new();
        for _ in 0..2 {
            let z1: f64 = w1 + b1;
            let h = z1.max(0.0);
            let z2 = [h * w2[0] + b2[0], h * w2[1] + b2[1]];
            let softmax = |z: [f64; 2]| [1.0 / (1.0 + (z[1] - z[0]).exp()), 1.0 / (1.0 + (z[0] - z[1]).exp())];
            let p = softmax(z2);
            expected.push(-p[1].ln());
            let p = if rules.softmax == Softmax::Twice { softmax(p) } else { p };
            let dz2 = [p[0], p[1] - 1.0];
            let updated = [w2[0] - 0.5 * h * dz2[0], w2[1] - 0.5 * h * dz2[1]];
            let used = if rules.late { updated.to_vec() } else { w2.clone() };
            let dh = dz2[0] * used[0] + dz2[1] * used[1];
            let dz1 = match rules.mask {
                Mask::Unit if z1 <= 0.0 => 0.0,
                Mask::Gradient => dh.max(0.0),
                _ => dh,
            };
            w2 = updated.to_vec();
            b2 = [b2[0] - 0.5 * dz2[0], b2[1] - 0.5 * dz2[1]];
            w1 -= 0.5 * dz1;
            b1 -= 0.5 * dz1;
        }
        close(&format!("{rules:?}"), &losses(&train(rules, settings, &set)), &expected, ROUNDINGS);
    }
    Ok(())
}

#[test]
fn every_hypothesis_is_a_program_of_its_own() -> Checked {
    let list = hypotheses::list();
    let names: BTreeSet<&str> = list.iter().map(|each| each.name).collect();
    assert_eq!(names.len(), list.len(), "names are unique");
    assert_eq!(list[0].rules, Rules::default());
    // 70 samples in batches of 64: the last is short, and 256 gradients are a block.
    let set = small_set(70, 5)?;
    let mut seen: Vec<(&str, Vec<f64>)> = Vec::new();
    for each in &list {
        let settings = Settings { hidden: 40, batch: 64, epochs: each.epochs.unwrap_or(5), rate: 0.1, seed: each.seed };
        // 600 gradients of 64 rows need 2.3 blocks.
        let classes = Dataset::new(
            set.images().to_vec(),
            (0..70).map(|at| (at * 7 % 10) as u8).collect(),
            3,
            5,
            10,
            "drawn pixels of 10 classes",
        )?;
        let found = losses(&train(each.rules, settings, &classes));
        assert!(!found.is_empty() && found[0].is_finite(), "{}: {found:?}", each.name);
        for (name, before) in &seen {
            assert!(*before != found, "{} and {name} are the same program", each.name);
        }
        seen.push((each.name, found));
    }
    assert_eq!(hypotheses::distance(&[1.0, 5.0], &[2.0, 3.0]), 2.0);
    Ok(())
}
