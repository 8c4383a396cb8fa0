//! The tests of `tile`, a module for each subject.

mod beside;
mod case;
mod convolution;
mod e4m3;
mod engines;
mod filter_gradient;
mod ladder;
mod moments;
mod numbers;
mod product;
mod rate;
mod rows;
mod update;
