//! The network with all convolutions in one launch, on the reference network. Every form of its kernels is held to the plain network in `host/src/azero/fused`.

use warpplay::azero::{Engine, Evaluator};
use warpplay::{Backend, Precision};
use warpplay_tests::azero::{FP32, all_positions, bounds, elsewhere, four_positions, reference_network};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::tolerance::{Tolerance, close};

const SHORT: [Precision; 3] = [Precision::Tf32, Precision::F16, Precision::Bf16];

#[test]
fn logits_are_within_the_guide_of_every_precision() {
    for_each_device(|device| {
        let positions = match device.backend() {
            // Thread by thread on the CPU a position takes seconds.
            Backend::Simt => four_positions(),
            _ => all_positions().unwrap_or_else(four_positions),
        };
        // One position alone takes another way than many.
        let batches: &[usize] = if device.backend() == Backend::Simt { &[1] } else { &[1, 4, positions.n] };
        let precisions: &[Precision] = if device.backend() == Backend::Simt {
            &[Precision::F32, Precision::F16]
        } else {
            &[Precision::F32, SHORT[0], SHORT[1], SHORT[2]]
        };
        for &precision in precisions {
            let network = reference_network();
            let builder = Evaluator::builder(&network).precision(precision).engine(Engine::Fused).max_batch(64);
            let mut evaluator = builder.build(device)?;
            for &n in batches {
                let (observations, masks) = positions.first(n);
                let found = evaluator.evaluate(observations, masks)?;
                let mut within = bounds(precision);
                if precision != Precision::F32 {
                    // As far as `docs/performance-journal.md` says: no further than the others' logits.
                    within[1] = Tolerance { abs: elsewhere(precision)[1], rel: 0.0 };
                }
                positions.check(&format!("{precision}, {n} positions"), &found, n, within);
            }
        }
        Ok(())
    });
}

#[test]
fn every_block_of_the_reference_network_is_within_1e_5_in_single_precision() {
    for_each_device(|device| {
        let Some(positions) = all_positions() else { return Ok(()) };
        let n = if device.backend() == Backend::Simt { 1 } else { 4 };
        let network = reference_network();
        let builder = Evaluator::builder(&network).engine(Engine::Fused).max_batch(n);
        let (observations, _) = positions.first(n);
        for block in builder.build(device)?.blocks(observations)? {
            // The reference has whole blocks but for the later blocks' middles and the heads.
            if block.name.contains("head") || (block.name.ends_with("_mid") && block.name != "torso_0_mid") {
                continue;
            }
            let found: Vec<f64> = block.values.iter().map(|&value| value.into()).collect();
            close(&block.name, &found, &positions.block(&block.name)[..found.len()], FP32);
        }
        Ok(())
    });
}
