//! The tests of the publications: published kernels against the plain references, programs, tables.

mod cfr_thesis;
mod checkers_conv;
mod mctsnc;
mod mnist_mlp;
mod outputs;
mod shogi_bonanza;
mod slots;
