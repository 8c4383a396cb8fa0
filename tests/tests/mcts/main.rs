//! The tests of `mcts`, a module for each subject.

mod agree;
mod cli;
mod faults;
mod old_files;
mod reports;
mod rules;
mod strength;
