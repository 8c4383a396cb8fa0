//! Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification", repeated.
//!
//! The paper trains a perceptron of 784-256-10 on MNIST by SGD (batch 64, rate 0.01, 10 epochs), a kernel an operation, on a Tesla T4, and compares with a program on the CPU.
//! [`kernels`] are its kernels in all the forms that it compares, [`Program`] launches them one after the other, [`experiments`] makes its tables beside ours.
//!
//! ```text
//! gather ─ matmul ─ bias ─ ReLU ─ matmul ─ bias ─ loss
//!                                             └─ softmax gradient ─ matmul, column sums ─ matmul ─ ReLU' ─ matmul, column sums ─ updates
//! ```
//!
//! | to find out | read |
//! | --- | --- |
//! | how one kernel is launched | [`Kernels`] |
//! | how they train | [`Program`], [`Options`] |
//! | what a training step launches, and what each costs | [`profile`] |
//! | which forms there are | [`Forms`] |
//! | the tables | [`experiments`], `warpplay papers mnist_mlp experiments` |
//!
//! # What was found
//!
//! - **The two accuracies are of two programs.** The paper reports 93.86 % on the GPU and 97.93 % on the CPU. The gradient of a batch is averaged on the one and summed on the
//!   other; with that one switch ([`Reduction`](warpplay::mlp::Reduction)) one program gives 94.15 % and 98.23 %. `docs/mlp-accuracy-gap.md` has the experiment, and what the gap
//!   does not come from: the order and type of the sums, the form of the softmax, single precision.
//! - **The collapse at batch 256 and rate 0.1** is that of a rate of 25.6: every hidden unit is dead after the first steps.
//! - **The work of a step is 52 MFLOP**: the paper counts the forward pass alone. The first layer's weights take 803 KB.
//! - **The atomic column sums** are the one form whose last bits differ from run to run; the others give the same bits every time.
//! - The kernels are far from the device's limits because a step is twenty launches of small work: `warpplay::mlp` trains an epoch in one launch instead.

#[cfg(all(feature = "mnist_mlp", not(target_arch = "nvptx64")))]
pub mod experiments;
pub mod kernels;
#[cfg(all(feature = "mnist_mlp", not(target_arch = "nvptx64")))]
mod program;

#[cfg(all(feature = "mnist_mlp", not(target_arch = "nvptx64")))]
pub use program::{
    Accumulate, ColumnSums, Extent, Forms, Kernels, Launch, Matmul, OperationTime, Options, Position, Product, Program,
    Report, SoftmaxForm, profile,
};
