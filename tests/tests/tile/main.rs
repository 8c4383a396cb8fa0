//! The tests of `tile`, a module for each subject.

mod convolution;
mod filter_gradient;
mod numbers;
mod product;
