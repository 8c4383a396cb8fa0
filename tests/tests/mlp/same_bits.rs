//! One seed gives the same bits on every run, and on two GPUs of a kind.

use warpplay::mlp::{Engine, Optimizer, Options, Precision};
use warpplay_tests::backends::{alike, for_each_device};
use warpplay_tests::mlp::{images, train};
use warpplay_tests::tolerance::same;

/// Networks that an epoch in one launch takes; some that its layers take, in every precision; one of more than half a million parameters, which the products of their gradients update.
#[test]
fn a_seed_gives_the_same_bits_on_every_run_and_on_two_gpus() {
    let [many, few] = [200, 40].map(|n| images(n, 12, 12, 10));
    let cases = [
        (&many, Engine::Epoch, vec![32], 64, Precision::F32, "sgd"),
        (&many, Engine::Epoch, vec![20], 16, Precision::F32, "adam"),
        (&many, Engine::Epoch, vec![20], 128, Precision::Bf16, "momentum"),
        (&few, Engine::Epoch, vec![300], 20, Precision::F32, "adam"),
        (&few, Engine::Epoch, vec![40, 30], 20, Precision::F32, "adam"),
        (&many, Engine::Epoch, vec![32, 24], 64, Precision::Bf16, "sgd"),
        (&many, Engine::Layers, vec![150, 140], 128, Precision::F32, "adam"),
        (&many, Engine::Layers, vec![150], 200, Precision::Tf32, "nesterov"),
        (&many, Engine::Layers, vec![150, 140], 128, Precision::Bf16, "sgd"),
        (&many, Engine::Layers, vec![150], 100, Precision::F16, "adamw"),
        (&few, Engine::Layers, vec![700, 660], 20, Precision::Bf16, "sgd"),
    ];
    for_each_device(|device| {
        for (set, engine, hidden, batch, precision, optimizer) in &cases {
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
                alike(device).iter().map(|device| train(device, &options, set)).collect::<Result<_, _>>()?;
            for (losses, network) in &trained[1..] {
                same("losses", losses, &trained[0].0);
                assert_eq!(network, &trained[0].1, "{engine} {hidden:?} in {precision} by {optimizer} on {device}");
            }
        }
        Ok(())
    });
}
