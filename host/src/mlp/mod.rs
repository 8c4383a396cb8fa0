//! Multilayer perceptrons: trained and used on the GPU, on the CPU thread by thread, and on the CPU in the plain form.
//!
//! # Source
//! Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification".

mod atomic_file;
mod checkpoint;
mod classifier;
mod cpu;
mod dataset;
mod digits;
mod engine;
mod epoch;
mod fnv;
mod idx;
mod image;
mod layers;
mod network;
mod options;
pub mod paper;
mod report;
mod tensors;
mod trainer;
mod weight_file;

pub use checkpoint::Checkpoint;
pub use classifier::{Classifier, Prediction};
pub use dataset::{Dataset, Split};
pub use image::read_image;
pub use network::{Layer, Network, WeightLayout};
pub use options::{
    Accumulate, ColumnSums, EarlyStopping, Execution, Init, MAX_CLASSES, MAX_HIDDEN_LAYERS, MAX_WIDTH, Optimizer,
    Options, PaperMatmul, PaperOptions, Precision, Reduction, Residence, Schedule, SoftmaxForm,
};
pub use report::{EpochReport, Evaluation, SCHEMA, StoppedBy, TrainReport};
pub use trainer::{TrainEvent, Trainer, TrainerBuilder};
