//! The tests of `azero`, a module for each subject.

mod cli;
mod endurance;
mod evaluator;
mod files;
mod fused;
mod layers;
mod learn;
mod memory;
mod old_files;
mod player;
mod precision;
mod reference;
mod rules;
mod sum_filters;
mod train;
mod train_short;
