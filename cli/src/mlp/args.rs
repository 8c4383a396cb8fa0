//! The command line.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Parser, Subcommand};
use warpplay::mlp::{Activation, Engine, Loss, MAX_MODELS};

use crate::common::flags::{
    CheckpointFlags, EngineFlag, JournalFlags, MovedArgs, PlotsFlag, PrecisionFlag, ThreadsFlag, TopFlag, WeightFiles,
};
use crate::common::{DeviceFlag, OutputFlags};
use crate::mlp::conv::{EvaluateConvArgs, PredictConvArgs, TrainConvArgs};
use crate::mlp::data::{Header, SampleFlags};
use crate::mlp::image_flags::{ImageFlags, image_size};
use crate::mlp::train_flags::{EvaluateFlag, TrainFlags};

/// Multilayer perceptrons and networks of convolutions on MNIST or any samples, on the GPU, or on the CPU if there is no GPU
#[derive(Parser, Debug)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

impl Args {
    /// The line that a command has become, after `warpplay papers`; `None` for a command that is here.
    pub fn moved(&self) -> Option<Vec<String>> {
        match &self.command {
            Command::Experiments(args) => {
                Some(["mnist_mlp", "experiments"].into_iter().map(str::to_string).chain(args.rest.clone()).collect())
            }
            _ => None,
        }
    }
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Train a network
    #[command(after_help = examples!["mlp train --data DIR --json run.json --save-weights net.safetensors", "mlp train --drawn 2000 --epochs 5 --learning-rate 0.1 --plots training.svg", "mlp train --train-set train.csv --test-set test.csv --label-column class"])]
    Train(Box<TrainArgs>),
    /// Measure the accuracy of a network on a data set
    #[command(after_help = examples!["mlp evaluate --data DIR --weights net.safetensors"])]
    Evaluate(EvaluateArgs),
    /// Classify one image, or say what the network makes of samples
    #[command(after_help = examples!["mlp predict --weights net.safetensors --image digit.png --invert", "mlp predict --weights net.safetensors --samples new.csv"])]
    Predict(PredictArgs),
    /// Write a network in another form: ONNX, or safetensors with other names
    #[command(after_help = examples!["mlp convert --weights net.safetensors --save-onnx net.onnx --image-size 28x28 --softmax", "mlp convert --weights net.safetensors --save-weights torch.safetensors --pytorch"])]
    Convert(ConvertArgs),
    /// Now `warpplay papers mnist_mlp experiments`
    #[command(hide = true, disable_help_flag = true)]
    Experiments(MovedArgs),
    /// Train many models at the same time, with different seeds and learning rates
    #[command(after_help = examples!["mlp sweep --data DIR --models 64 --learning-rates 0.003,0.01,0.03"])]
    Sweep(Box<SweepArgs>),
    /// Train a network of convolutions
    #[command(after_help = examples!["mlp train-conv --data DIR --save-weights conv.safetensors", "mlp train-conv --drawn 500 --blocks 8/8 --epochs 2 --device cpu"])]
    TrainConv(Box<TrainConvArgs>),
    /// Measure the accuracy of a network of convolutions on a data set
    #[command(after_help = examples!["mlp evaluate-conv --data DIR --weights conv.safetensors"])]
    EvaluateConv(EvaluateConvArgs),
    /// Classify one image with a network of convolutions
    #[command(after_help = examples!["mlp predict-conv --weights conv.safetensors --image digit.png --invert"])]
    PredictConv(PredictConvArgs),
}

#[derive(clap::Args, Debug)]
pub struct TrainArgs {
    #[command(flatten)]
    pub data: SampleFlags,
    #[command(flatten)]
    pub training: TrainFlags,
    #[command(flatten)]
    pub device: DeviceFlag,

    #[command(flatten)]
    pub threads: ThreadsFlag,

    #[command(flatten)]
    pub weights: WeightFiles,

    /// Name and transpose the tensors of --save-weights as PyTorch does: 0.weight, 0.bias, 2.weight, … [out, in]
    #[arg(long, requires = "save_weights")]
    pub pytorch: bool,

    #[command(flatten)]
    pub checkpoint: CheckpointFlags,
    #[command(flatten)]
    pub plots: PlotsFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// How a network classifies.
#[derive(clap::Args, Clone, Debug)]
pub struct ClassifyFlags {
    /// The network: tensors W1, b1, … [in, out], or *.weight, *.bias [out, in] (PyTorch)
    #[arg(long, value_name = "FILE.safetensors")]
    pub weights: PathBuf,

    /// Activation of the hidden layers: relu, tanh, sigmoid, gelu [default: the file's, else relu]
    #[arg(long, value_name = "NAME")]
    pub activation: Option<Activation>,

    #[command(flatten)]
    pub precision: PrecisionFlag,
    #[command(flatten)]
    pub engine: EngineFlag<Engine>,
    #[command(flatten)]
    pub threads: ThreadsFlag,
    #[command(flatten)]
    pub evaluate: EvaluateFlag,
}

#[derive(clap::Args, Debug)]
pub struct EvaluateArgs {
    #[command(flatten)]
    pub data: SampleFlags,
    #[command(flatten)]
    pub classify: ClassifyFlags,

    /// Loss: cross_entropy for labels; mse, huber for targets [default: the weight file's, else cross_entropy]
    #[arg(long, value_name = "NAME")]
    pub loss: Option<Loss>,

    /// Evaluate on the training set instead of the test set
    #[arg(long)]
    pub on_training_set: bool,

    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
#[command(group = ArgGroup::new("input").required(true).args(["image", "images", "samples"]))]
pub struct PredictArgs {
    #[command(flatten)]
    pub classify: ClassifyFlags,

    #[command(flatten)]
    pub image: ImageFlags,

    /// Samples in place of an image: a CSV file, an .npy file [n, inputs], or images (IDX); of pixels, or of features as in the training, standardised if they were there
    #[arg(long, value_name = "FILE", conflicts_with_all = ["index", "invert"])]
    pub samples: Option<PathBuf>,

    /// The numbers of --samples are features, raw or as they were standardised before, and no pixels, of which the weight file says nothing [default: what the weight file says, else pixels]
    #[arg(long, value_name = "HOW", value_parser = PossibleValuesParser::new(["raw"]), conflicts_with_all = ["image", "images"])]
    pub features: Option<String>,

    /// Loss of the training, for a weight file that does not say it: cross_entropy gives classes; mse, huber outputs [default: the weight file's, else cross_entropy]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["image", "images"])]
    pub loss: Option<Loss>,

    /// Column of the CSV file of --samples that has labels or targets, by its name in the header, and is passed over
    #[arg(long, value_name = "NAME", conflicts_with_all = ["image", "images"])]
    pub label_column: Option<String>,

    /// Whether the first line of the CSV file of --samples is a header
    #[arg(long, value_name = "WHETHER", value_enum, default_value_t, conflicts_with_all = ["image", "images"])]
    pub header: Header,

    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct ConvertArgs {
    /// The network: tensors W1, b1, … [in, out], or *.weight, *.bias [out, in] (PyTorch)
    #[arg(long, value_name = "FILE.safetensors")]
    pub weights: PathBuf,

    /// Activation of the hidden layers: relu, tanh, sigmoid, gelu [default: the file's, else relu]
    #[arg(long, value_name = "NAME")]
    pub activation: Option<Activation>,

    /// Write an ONNX file, which takes images of bytes, or features, and gives logits
    #[arg(long, value_name = "FILE.onnx", required_unless_present = "save_weights")]
    pub save_onnx: Option<PathBuf>,

    /// Rows and columns of an image, for an input [n, rows, cols] of --save-onnx [default: none, for an input of rows of pixels]
    #[arg(long, value_name = "ROWSxCOLS", requires = "save_onnx", value_parser = image_size)]
    pub image_size: Option<(u32, u32)>,

    /// The network takes features in f32 [n, features], not images of bytes, in --save-onnx, which a weight file of ours says itself
    #[arg(long, requires = "save_onnx", conflicts_with = "image_size")]
    pub features: bool,

    /// Give probabilities beside the logits in --save-onnx
    #[arg(long, requires = "save_onnx")]
    pub softmax: bool,

    /// Write a safetensors file
    #[arg(long, value_name = "FILE.safetensors")]
    pub save_weights: Option<PathBuf>,

    /// Name and transpose the tensors of --save-weights as PyTorch does: 0.weight, 0.bias, 2.weight, … [out, in]
    #[arg(long, requires = "save_weights")]
    pub pytorch: bool,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct SweepArgs {
    #[command(flatten)]
    pub data: SampleFlags,
    #[command(flatten)]
    pub training: TrainFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub threads: ThreadsFlag,

    /// Train only the first N combinations of rates and seeds [default: rates times seeds]
    #[arg(long, value_name = "N", conflicts_with = "seeds", value_parser = clap::value_parser!(u32).range(1..=MAX_MODELS as i64), allow_negative_numbers = true)]
    pub models: Option<u32>,

    /// Learning rates, separated by commas [default: that of --learning-rate]
    #[arg(long, value_name = "RATES", value_delimiter = ',', alias = "lrs", allow_hyphen_values = true)]
    pub learning_rates: Vec<f64>,

    /// Number of seeds for each rate, beginning with --seed [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_MODELS as i64), allow_negative_numbers = true)]
    pub seeds: Option<u32>,

    /// Also train one model alone, and print the speed-up of training many at the same time
    #[arg(long)]
    pub compare: bool,

    #[command(flatten)]
    pub journal: JournalFlags,
    #[command(flatten)]
    pub top: TopFlag<20>,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::defaults::{Case, hold};
    use crate::common::negative::take_negative_numbers;
    use crate::mlp::sweep::models;
    use warpplay::mlp::Options;

    #[test]
    fn helps_tell_the_defaults() {
        let beside = &[
            ("--momentum", "--optimizer momentum"),
            ("--beta1", "--optimizer adam"),
            ("--beta2", "--optimizer adamw"),
            ("--alpha", "--optimizer rmsprop"),
            ("--epsilon", "--optimizer rmsprop"),
            ("--step-every", "--schedule step"),
            ("--step-factor", "--schedule step"),
            ("--cosine-minimum", "--schedule cosine"),
            ("--min-delta", "--held-out 9 --patience 3"),
        ];
        let case = |command, needs| Case { command, needs, beside };
        let cases = [
            case("train", ""),
            case("sweep", ""),
            case("evaluate", "--weights x"),
            case("predict", "--weights x --image y"),
            Case { beside: &[], ..case("train-conv", "") },
            case("evaluate-conv", "--weights x"),
        ];
        let prose = [
            ("--threads", "all cores: as many as there are"),
            ("--patience", "never"),
            ("--clip-norm", "never"),
            ("--checkpoint-every", "a constant of the library that is not public"),
            ("--models", "rates times seeds"),
            ("--learning-rates", "that of --learning-rate"),
            ("evaluate --activation", "the file's, else relu"),
            ("evaluate --loss", "the weight file's, else cross_entropy"),
            ("predict --loss", "the same"),
            ("predict --features", "what the weight file says, else pixels"),
            ("predict --activation", "the same"),
            ("convert --activation", "the same"),
            ("--label-column", "the first"),
            ("--image-size", "none, for an input of rows of pixels"),
        ];
        hold::<Args>(&cases, &prose, |args| {
            let text = |error: anyhow::Error| format!("{error:#}");
            let train = |flags: &TrainFlags| flags.options(Options::default()).map_err(text);
            Ok(match &args.command {
                Command::Train(args) => format!("{:?}", train(&args.training)?),
                Command::Sweep(args) => {
                    let options = train(&args.training)?;
                    format!("{options:?} {:?}", models(args, &options).map_err(text)?)
                }
                Command::Evaluate(args) => format!("{:?}", args.classify.options().map_err(|e| e.to_string())?),
                Command::Predict(args) => format!("{:?}", args.classify.options().map_err(|e| e.to_string())?),
                Command::TrainConv(args) => {
                    format!("{:?}", args.training.options(Default::default()).map_err(|e| e.to_string())?)
                }
                Command::EvaluateConv(args) => format!("{:?}", args.options().map_err(|e| e.to_string())?),
                Command::Convert(_) | Command::Experiments(_) | Command::PredictConv(_) => {
                    return Err("no options".into());
                }
            })
        });
    }

    /// A negative number is refused as a value, and not taken for a flag.
    #[test]
    fn numbers_may_be_negative_as_far_as_to_say_what_is_allowed() {
        let n_checked = take_negative_numbers::<Args>();
        assert!(n_checked > 15, "{n_checked} flags take numbers");
    }
}
