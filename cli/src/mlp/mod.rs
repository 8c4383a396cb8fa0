//! Multilayer perceptrons and networks of convolutions from the command line: train on MNIST or any set in IDX, `.npy` or CSV files, evaluate, predict one image, train many models
//! at once, write a network as ONNX. The paper's tables beside ours are `warpplay papers mnist_mlp`.
//!
//! ```text
//! warpplay mlp train --data DIR --json run.json --save-weights net.safetensors
//! warpplay mlp train --train-set train.csv --test-set test.csv --label-column class
//! warpplay mlp evaluate --data DIR --weights net.safetensors
//! warpplay mlp predict --weights net.safetensors --image digit.png --invert
//! warpplay mlp convert --weights net.safetensors --save-onnx net.onnx
//! warpplay mlp sweep --data DIR --models 64 --learning-rates 0.003,0.01,0.03
//! warpplay mlp train-conv --data DIR --save-weights conv.safetensors
//! warpplay mlp evaluate-conv --data DIR --weights conv.safetensors
//! warpplay mlp predict-conv --weights conv.safetensors --image digit.png --invert
//! ```
//!
//! A good result: `train` with its defaults on MNIST (784-256-10, batch 64, SGD at 0.01, averaged gradients, He-uniform weights of seed 1) ends after
//! 10 epochs with 94.15 % of the test set and a loss that falls from 0.836 to 0.216; `--learning-rate 0.1 --epochs 5` ends with 97.2 %. Without `--data` a set of
//! drawn digits is made, which is easier; its figures cannot be compared with those of MNIST. After every training the program checks what must hold
//! whatever was trained: losses are finite, accuracies lie in 0 to 1, the confusion matrix sums to the test set and its diagonal to the rightly
//! classified. A training that breaks this is an error.
//!
//! Exit codes: 0 done, also when Ctrl-C ended it early, with the result so far and a checkpoint; 2 a wrong command line or an option that is not
//! allowed; 130 ended at once by Ctrl-C; 1 everything else, with one line on stderr.
//!
//! # Paper
//! Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification".

mod args;
pub mod chart;
pub mod check;
mod conv;
mod convert;
pub mod data;
mod evaluate;
mod image_flags;
mod picture;
mod predict;
mod predict_samples;
mod sweep;
mod table;
mod train;
mod train_flags;

pub use args::Args;
use args::Command;

use crate::common::flags::named_as_typed;

/// Options of the library whose flag has another name.
const FLAGS: &[(&str, &str)] = &[
    ("batch_norm", "batch-norm"),
    ("checkpoint_every", "checkpoint-every"),
    ("clip_norm", "clip-norm"),
    ("early_stopping", "patience"),
    ("evaluate_batch", "evaluate-batch"),
    ("held_out", "held-out"),
    ("image_size", "image-size"),
    ("label", "label-column"),
    ("label_smoothing", "label-smoothing"),
    ("layer_norm", "layer-norm"),
    ("learning_rate", "learning-rate"),
    ("min_delta", "min-delta"),
    ("schedule every", "step-every"),
    ("schedule factor", "step-factor"),
    ("schedule minimum", "cosine-minimum"),
    ("weight_decay", "l2"),
];

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<()> {
    let done = match args.command {
        Command::Train(args) => train::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Experiments(args) => Err(crate::common::Usage(format!(
            "experiments is now: warpplay papers mnist_mlp experiments {} (feature papers)",
            args.rest.join(" ")
        ))
        .into()),
        Command::Sweep(args) => sweep::run(&args),
        Command::TrainConv(args) => conv::train(&args),
        Command::EvaluateConv(args) => conv::evaluate(&args),
        Command::PredictConv(args) => predict::run_conv(&args),
    };
    done.map_err(|error| named_as_typed(error, FLAGS))
}
