//! Multilayer perceptrons: trained and used on the GPU, on the CPU thread by thread, and on the CPU in the plain form.
//!
//! A perceptron classifies images, such as handwritten digits, after it has been trained on labelled ones. [`Trainer`] trains one, from MNIST's files or any set in
//! their format, [`Sweep`] many of one shape side by side, and [`Classifier`] uses the weights.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//! use warpplay::Device;
//! use warpplay::mlp::{Classifier, Dataset, Options, Trainer};
//!
//! let train = Arc::new(Dataset::drawn_digits(1, 2000)?);
//! let test = Arc::new(Dataset::drawn_digits(2, 500)?);
//! let options = Options { hidden: vec![64], epochs: 5, learning_rate: 0.1, ..Options::default() };
//! let mut trainer = Trainer::builder(&train).options(options).test(&test).build(&Device::cpu())?;
//! let report = trainer.run(|_| ControlFlow::Continue(()))?;
//! assert!(report.epochs[4].test_accuracy > Some(0.8));
//!
//! let mut classifier = Classifier::builder(&trainer.network()?).build(&Device::cpu())?;
//! let classes = classifier.predict(&test.images()[..784 * 3])?;
//! assert_eq!(classes.len(), 3);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! # The algorithm
//!
//! A network is a row of layers, each a matrix `W` and a bias `b`; between two layers, negative values become 0 (ReLU). The last layer gives a number
//! for each class, a logit, and softmax makes probabilities of them. Training takes the samples in a random order, some (a batch) at a time, and
//! moves all weights against the gradient of the batch's loss: one *step*. When all samples were taken once, an *epoch* is done. For a batch of `B`
//! samples:
//!
//! ```text
//! pixels    x = byte / 255
//! forward   z = x W + b,  h = max(z, 0), which is the next layer's x       the last z are the logits
//! loss      of a sample: log Σ exp(z) - z[label]                           p = exp(z) / Σ exp(z)
//! backward  dz = (p - onehot) / B  at the end          Reduction::Mean; a short last batch has its own B
//!           dz =  p - onehot                           Reduction::Sum
//!           dz = (dz' W'ᵀ  where z > 0, else 0)        before that, from the next layer's dz' and W'
//!           dW = xᵀ dz,  db = column sums of dz
//! update    W -= rate dW,  b -= rate db                or another Optimizer, all from the weights before the step
//! ```
//!
//! With targets in place of labels ([`Loss`]), the last `z` are the answer: the loss of a sample is `mean over outputs of ρ(z - t)`, and `dz = ρ'(z - t) / outputs / B` at the end.
//!
//! The reported loss of an epoch is the mean over its samples, each before the update by its own batch. A hidden unit that is 0 on every training
//! sample is *dead*: it has no gradient and learns no more; reports count such units. Whether a batch's gradients are averaged or summed is the whole
//! difference between the two accuracies that the paper reports: `docs/papers/mnist_mlp.md`.
//!
//! # Data layout
//!
//! | what | layout |
//! | --- | --- |
//! | images | `[n, rows, cols]` bytes, 0 background to 255 ink; they stay bytes on the device |
//! | features in place of images | `[n, n_features]` f32, taken as they are |
//! | labels | `[n]` bytes |
//! | targets of a regression | `[n, n_targets]` f32 |
//! | `W` of a [`Layer`] | `[n_inputs, n_outputs]` f32, row-major |
//! | logits, probabilities | `[n, n_classes]` f32 |
//! | confusion matrix | `[true class][predicted class]` |
//!
//! First weights and every epoch's order are functions of the seed alone, in 64-bit integers: the same on every back end, whatever trains.
//!
//! # Engines
//!
//! | [`Engine`] | what trains | what it can do |
//! | --- | --- | --- |
//! | `epoch` | one launch an epoch; 2 to 32 blocks of 16 units of each hidden layer keep the weights from the pixels in registers | one or two hidden layers of up to 512 units each, 16 to 944 pixels (848 with two hidden layers), a multiple of 16, up to 16 classes, batches up to 256, every optimiser (an epsilon of at least 1e-12), no activation but `relu`, no loss but `cross_entropy`, no features but bytes, no layer norm, no batch norm, no dropout, no label smoothing, no clipping; tf32, bf16 and f16 alike by numbers of 11 bits; compute capability 9.0, or 8.0 and newer with 163 KiB of shared memory a block and 32 multiprocessors (an A100: as many pixels) |
//! | `layers` | a few kernels a layer, replayed as a CUDA graph | everything but f64; tf32, bf16 and f16 from compute capability 8.0 on |
//! | `cpu` | the plain implementation on all cores, `warpplay_cpu_ref::mlp`; what [`Device::cpu`](crate::Device::cpu) does | everything but tf32, bf16 and f16; [`Residence::Host`] is not needed there |
//!
//! `auto`, the default, is `epoch` on a GPU of compute capability 9.0 where all of its row holds, else `layers`: elsewhere nobody has measured which is faster; on the CPU it is `cpu`. A choice that cannot do what is asked is an
//! error, never replaced by another. The report names what trained. Only `dispatch.rs` chooses.
//!
//! `epoch` multiplies halves of f32 numbers (in tf32, bf16 and f16 one of them), with scales that it finds at the beginning of an epoch. Where weights grow beyond them before its end (64-fold,
//! roughly), or a unit's weights are not between 2⁻³² and 2³², `layers` does the epoch again from the weights before it; reports count such epochs ([`Report::repeated_epochs`]). Sets and images are classified likewise.
//!
//! `layers` multiplies by [`tile`](crate::tile). From compute capability 8.0 on (and under `simt`) numbers in f32 are three of bfloat16, in tf32 two, whose products are at least as exact as those of TF32; before, f32 is multiplied as it is.
//! [`Device::with_capability`](crate::Device::with_capability) chooses on a newer GPU what an older one would.
//!
//! Sums are made in another order by each engine, so the last bits differ: in f32 the losses of all epochs agree within 1e-4 of their value. One
//! engine on one device gives the same bits every time, and a training that is stopped, written as a [`Checkpoint`]
//! and resumed by the same engine ends with the same bits as one that was not.
//!
//! # Where to go on
//!
//! | to | see |
//! | --- | --- |
//! | read MNIST or another set, in IDX, `.npy` or CSV, or draw digits; numbers in place of pixels, standardised or not | [`Dataset`], [`CsvFormat`], [`Scaling`] |
//! | choose network, optimiser, schedule, precision | [`Options`] |
//! | train, stop early, evaluate, go on later | [`Trainer`], [`Checkpoint`] |
//! | use weights, read and write safetensors, write ONNX | [`Classifier`], [`Network`], [`OnnxFormat`] |
//! | train many seeds and learning rates at once | [`Sweep`] |
//! | train a network of convolutions | [`mod@conv`] |
//! | know how much memory it takes | [`TrainerBuilder::memory_needed`] |
//! | the published kernels, and the paper's tables beside ours | crate `warpplay_papers`, `mnist_mlp` |
//! | all of it from the command line | `warpplay mlp` |
//!
//! Kernels: [`warpplay_gpu::mlp`]; plain form: [`warpplay_cpu_ref::mlp`].
//!
//! # Paper
//! Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification"; optimisers as PyTorch defines them.

mod checkpoint;
mod classifier;
pub mod conv;
mod csv_file;
mod dataset;
mod digits;
mod dispatch;
mod engines;
mod evaluation;
mod features;
mod idx;
mod image;
mod inputs;
mod network;
mod npy;
mod onnx;
mod options;
mod report;
mod sample_files;
mod scaling;
mod source;
mod state;
mod sweep;
mod trainer;
mod weight_file;

pub use crate::Precision;
pub use checkpoint::{Checkpoint, TrainerState};
pub use classifier::{Classifier, ClassifierBuilder, Prediction};
pub use csv_file::CsvFormat;
pub use dataset::{Dataset, Split};
pub use evaluation::Classified;
pub use features::Features;
pub use image::{read_image, read_image_sized};
pub use inputs::Inputs;
pub use network::{BatchNorm, Layer, LayerNorm, Network, WeightLayout};
pub use onnx::OnnxFormat;
pub use options::{
    Activation, EarlyStopping, Engine, Init, Loss, MAX_CLASSES, MAX_HIDDEN_LAYERS, MAX_WIDTH, Optimizer, Options,
    Reduction, Residence, Schedule,
};
pub use report::{EpochReport, Evaluation, Report, SCHEMA, StoppedBy, SweepEpoch, SweepModel, SweepReport};
pub use sample_files::{read_features, read_pixels};
pub use scaling::Scaling;
pub use sweep::{MAX_MODELS, Sweep, SweepBuilder};
pub use trainer::{Trainer, TrainerBuilder};
