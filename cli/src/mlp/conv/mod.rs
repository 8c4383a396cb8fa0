//! Networks of convolutions: their flags.

mod evaluate;
mod train;

use std::path::PathBuf;

use clap::ArgGroup;
use warpplay::mlp::conv::ConvOptions;

use crate::common::flags::{PlotsFlag, SeedFlag, ThreadsFlag};
use crate::common::{DeviceFlag, OutputFlags};
use crate::mlp::data::DataFlags;
use crate::mlp::image_flags::{ImageFlags, image_size};

pub use evaluate::run as evaluate;
pub use train::run as train;

/// What is not given is as in [`ConvOptions::default`].
#[derive(clap::Args, Clone, Debug)]
pub struct ConvFlags {
    /// Channels of each convolution, separated by commas, blocks by /; multiples of 8. Rows and columns of images are multiples of 2 to the power of the number of blocks [default: 32,32/64,64]
    #[arg(long, value_name = "CHANNELS", value_parser = blocks, allow_negative_numbers = true)]
    pub blocks: Option<Blocks>,

    /// Samples in each batch; the whole training set if it has fewer [default: 128]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub batch: Option<u32>,

    /// Epochs [default: 4]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub epochs: Option<u32>,

    /// Highest learning rate, at the end of the warm-up; it falls to 0 as a cosine [default: 0.05]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, aliases = ["lr", "rate"])]
    pub learning_rate: Option<f64>,

    /// Share of all updates in which the learning rate rises, 0 to 1 [default: 0.15]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub warmup: Option<f64>,

    /// Momentum, from 0 to below 1 [default: 0.9]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub momentum: Option<f32>,

    /// L2 decay of weights, not of biases [default: 0.0005]
    #[arg(long, value_name = "W", allow_negative_numbers = true, alias = "weight-decay")]
    pub l2: Option<f32>,

    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub threads: ThreadsFlag,
}

/// Channels of each convolution of each block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks(Vec<Vec<u32>>);

fn blocks(text: &str) -> Result<Blocks, String> {
    let block = |block: &str| block.split(',').map(|channels| channels.trim().parse()).collect::<Result<Vec<u32>, _>>();
    let blocks = text.split('/').map(block).collect::<Result<_, _>>().map(Blocks);
    blocks.map_err(|_| "allowed are channels separated by commas, blocks by /, such as 32,32/64,64".into())
}

impl ConvFlags {
    /// `base` with what was given.
    ///
    /// # Errors
    /// An option that is not allowed.
    pub fn options(&self, base: ConvOptions) -> warpplay::Result<ConvOptions> {
        let options = ConvOptions {
            blocks: self.blocks.clone().map_or(base.blocks, |Blocks(blocks)| blocks),
            batch: self.batch.unwrap_or(base.batch),
            epochs: self.epochs.unwrap_or(base.epochs),
            learning_rate: self.learning_rate.unwrap_or(base.learning_rate),
            warmup: self.warmup.unwrap_or(base.warmup),
            momentum: self.momentum.unwrap_or(base.momentum),
            weight_decay: self.l2.unwrap_or(base.weight_decay),
            seed: self.seed.seed.unwrap_or(base.seed),
            threads: self.threads.threads.or(base.threads),
        };
        options.check()?;
        Ok(options)
    }
}

#[derive(clap::Args, Debug)]
pub struct TrainConvArgs {
    #[command(flatten)]
    pub data: DataFlags,

    /// Rows and columns of the images of CSV files, such as 28x28
    #[arg(long, value_name = "ROWSxCOLS", value_parser = image_size, requires = "train_set")]
    pub image_size: Option<(u32, u32)>,

    #[command(flatten)]
    pub training: ConvFlags,
    #[command(flatten)]
    pub device: DeviceFlag,

    /// Initial weights, instead of random ones: a safetensors file as written by --save-weights, whose blocks are taken
    #[arg(long, value_name = "FILE", conflicts_with = "blocks")]
    pub start: Option<PathBuf>,

    /// Write the weights to this safetensors file at the end
    #[arg(long, value_name = "FILE")]
    pub save_weights: Option<PathBuf>,

    #[command(flatten)]
    pub plots: PlotsFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// How a network classifies.
#[derive(clap::Args, Clone, Debug)]
pub struct ConvClassifyFlags {
    /// The network, as train-conv writes it
    #[arg(long, value_name = "FILE.safetensors")]
    pub weights: PathBuf,

    #[command(flatten)]
    pub threads: ThreadsFlag,
}

#[derive(clap::Args, Debug)]
pub struct EvaluateConvArgs {
    #[command(flatten)]
    pub data: DataFlags,
    #[command(flatten)]
    pub classify: ConvClassifyFlags,

    /// Samples evaluated at once [default: 128]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub batch: Option<u32>,

    /// Evaluate on the training set instead of the test set
    #[arg(long)]
    pub on_training_set: bool,

    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
#[command(group = ArgGroup::new("input").required(true).args(["image", "images"]))]
pub struct PredictConvArgs {
    #[command(flatten)]
    pub classify: ConvClassifyFlags,
    #[command(flatten)]
    pub image: ImageFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}
