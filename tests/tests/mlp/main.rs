//! The tests of `mlp`, a module for each subject.

mod activations;
mod cli;
mod cli_data;
mod clipping;
mod conv;
mod data_files;
mod epoch;
mod files;
mod layers;
mod memory;
mod old_files;
mod reference;
mod scales;
mod short_formats;
mod smoothing;
