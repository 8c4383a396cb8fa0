//! One seed gives the same bits on every run, and on two GPUs of a kind.

use warpplay::mlp::{Engine, Optimizer, Options, Precision};
use warpplay_tests::backends::{alike, for_each_device};
use warpplay_tests::mlp::{images, train};
use warpplay_tests::tolerance::same;

/// Networks that an epoch in one launch takes; some that its layers take, in every precision, large enough for products of several tiles whose gradients update, or are divided.
#[test]
fn a_seed_gives_the_same_bits_on_every_run_and_on_two_gpus() {
    let set = images(700, 12, 12, 10);
    let cases = [
        (Engine::Epoch, vec![32], 64, Precision::F32, "sgd"),
        (Engine::Epoch, vec![20], 16, Precision::F32, "adam"),
        (Engine::Layers, vec![150, 140], 128, Precision::F32, "adam"),
        (Engine::Layers, vec![150], 700, Precision::Tf32, "nesterov"),
        (Engine::Layers, vec![150, 140], 128, Precision::Bf16, "sgd"),
        (Engine::Layers, vec![150], 350, Precision::F16, "adamw"),
    ];
    for_each_device(|device| {
        for (engine, hidden, batch, precision, optimizer) in &cases {
            let options = Options {
                hidden: hidden.clone(),
                batch: *batch,
                epochs: 1,
                learning_rate: 0.003,
                seed: 3,
                engine: *engine,
                precision: *precision,
                optimizer: Optimizer::from_name(optimizer)?,
                ..Options::default()
            };
            let trained: Vec<_> =
                alike(device).iter().map(|device| train(device, &options, &set)).collect::<Result<_, _>>()?;
            for (losses, network) in &trained[1..] {
                same("losses", losses, &trained[0].0);
                assert_eq!(network, &trained[0].1, "{engine} {hidden:?} in {precision} by {optimizer} on {device}");
            }
        }
        Ok(())
    });
}
