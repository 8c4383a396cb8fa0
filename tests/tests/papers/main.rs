//! The tests of the publications: published kernels against the plain references, programs, tables.

mod cfr_thesis;
mod mctsnc;
mod mnist_mlp;
