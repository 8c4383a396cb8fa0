//! The tests of `tile`, a module for each subject.

mod convolution;
mod numbers;
mod product;
