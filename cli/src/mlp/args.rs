//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use warpplay::mlp::{Execution, Precision};

use crate::common::{DeviceFlag, OutputFlags};
use crate::mlp::data::DataFlags;
use crate::mlp::experiments::Section;
use crate::mlp::train_flags::TrainFlags;

/// Multilayer perceptrons on MNIST, on the GPU, and on the CPU where there is none
#[derive(Parser, Debug)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Train a network
    Train(Box<TrainArgs>),
    /// Count how many images of a set a network classifies rightly
    Evaluate(EvaluateArgs),
    /// Classify one image
    Predict(PredictArgs),
    /// Repeat the experiments of the source: their tables beside ours
    Experiments(ExperimentsArgs),
    /// Train many models side by side: seeds and learning rates
    Sweep(Box<SweepArgs>),
}

#[derive(clap::Args, Debug)]
pub struct TrainArgs {
    #[command(flatten)]
    pub data: DataFlags,
    #[command(flatten)]
    pub training: TrainFlags,
    #[command(flatten)]
    pub device: DeviceFlag,

    /// Threads of the device cpu; 1 is the sequential program; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threads: Option<usize>,

    /// First weights from this safetensors file, weights or a checkpoint, instead of drawn ones
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub start: Option<PathBuf>,

    /// Write the weights to this file at the end
    #[arg(long, value_name = "OUT.safetensors")]
    pub weights: Option<PathBuf>,

    /// Name and turn the tensors of --weights as PyTorch does: 0.weight, 0.bias, 2.weight, … [out, in]
    #[arg(long, requires = "weights")]
    pub pytorch: bool,

    /// Write the training's state to this file at the end, on Ctrl-C and before a loss that is not finite; Ctrl-C without
    /// it writes mlp_mnist.checkpoint in the present folder, or 2-mlp_mnist.checkpoint and so on where that is taken
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,

    /// Write it after every N epochs too
    #[arg(long, value_name = "N", requires = "checkpoint", value_parser = clap::value_parser!(u32).range(1..))]
    pub checkpoint_every: Option<u32>,

    /// Go on from this checkpoint, with the same --data (or --drawn); options that are not given are those of the checkpoint;
    /// a larger --epochs goes on with a finished training
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,

    /// Draw loss and accuracy of the epochs to this file
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputFlags,
}

/// How a network classifies.
#[derive(clap::Args, Clone, Debug)]
pub struct ClassifyFlags {
    /// The network: tensors W1, b1, … [in, out], or *.weight, *.bias [out, in] (PyTorch)
    #[arg(long, value_name = "FILE.safetensors")]
    pub weights: PathBuf,

    /// Arithmetic of the products: fp32, tf32, bf16, fp16, fp64 (cpu only)
    #[arg(long, value_name = "P", default_value_t = Precision::F32)]
    pub precision: Precision,

    /// Which kernels: auto, epoch, layers, paper, plain (cpu)
    #[arg(long, value_name = "E", default_value_t = Execution::Auto)]
    pub execution: Execution,

    /// Samples classified at once
    #[arg(long, value_name = "N", default_value_t = 256, allow_negative_numbers = true)]
    pub evaluate_batch: u32,
}

#[derive(clap::Args, Debug)]
pub struct EvaluateArgs {
    #[command(flatten)]
    pub data: DataFlags,
    #[command(flatten)]
    pub classify: ClassifyFlags,

    /// Evaluate on the training set instead of the test set
    #[arg(long)]
    pub on_training_set: bool,

    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct PredictArgs {
    #[command(flatten)]
    pub classify: ClassifyFlags,

    /// The image: a PNG file of as many pixels as the network has inputs
    #[arg(long, value_name = "FILE.png", required_unless_present = "images", conflicts_with = "images")]
    pub image: Option<PathBuf>,

    /// The image: one of an IDX file, plain or with gzip
    #[arg(long, value_name = "FILE.idx")]
    pub images: Option<PathBuf>,

    /// Which one, from 0
    #[arg(long, value_name = "N", default_value_t = 0, requires = "images")]
    pub index: usize,

    /// The image is dark on light; MNIST is light on dark
    #[arg(long)]
    pub invert: bool,

    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct ExperimentsArgs {
    #[command(flatten)]
    pub data: DataFlags,
    #[command(flatten)]
    pub device: DeviceFlag,

    /// Epochs of each training [default: 10, the source's; with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub epochs: Option<u32>,

    /// Only these experiments, with commas between
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<Section>,

    /// Trainings of each form whose spread from run to run is asked for
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..))]
    pub repeats: u32,

    /// The first 2048 training and 512 test samples, one epoch: shows that everything runs, its figures mean little
    #[arg(long)]
    pub quick: bool,

    /// Draw accuracy, time and losses of each table to this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct SweepArgs {
    #[command(flatten)]
    pub data: DataFlags,
    #[command(flatten)]
    pub training: TrainFlags,
    #[command(flatten)]
    pub device: DeviceFlag,

    /// Models: the first N of every rate with every seed [default: rates times seeds]
    #[arg(long, value_name = "N", conflicts_with = "seeds", value_parser = clap::value_parser!(u32).range(1..))]
    pub models: Option<u32>,

    /// Learning rates, with commas between [default: that of --lr]
    #[arg(long, value_name = "RATES", value_delimiter = ',')]
    pub lrs: Vec<f64>,

    /// Seeds for each rate, from --seed on [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub seeds: Option<u32>,

    /// Train one model alone too, and say how many more there are a second side by side
    #[arg(long)]
    pub compare: bool,

    /// Lines of the table, the best models; 0 prints all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub rows: usize,

    #[command(flatten)]
    pub output: OutputFlags,
}
