//! The tests of `tile`, a module for each subject.

mod beside;
mod case;
mod convolution;
mod engines;
mod filter_gradient;
mod ladder;
mod numbers;
mod product;
mod rate;
