//! The tests of `mlp`, a module for each subject.

mod activations;
mod batch_norm;
mod cli;
mod cli_conv;
mod cli_data;
mod clipping;
mod conv;
mod conv_classifier;
mod data_files;
mod dropout;
mod epoch;
mod epoch_short;
mod features;
mod files;
mod layer_norm;
mod layers;
mod memory;
mod old_files;
mod pool;
mod reference;
mod regression;
mod same_bits;
mod scales;
mod scaling;
mod short_formats;
mod smoothing;
