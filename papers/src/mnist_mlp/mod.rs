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
//! | the tables and figures, published and ours | [`experiments`], `warpplay papers mnist_mlp` |
//! | every published number | [`published`] |
//! | what is wrong in it | [`checks`], `docs/papers/mnist_mlp.md` |
//! | what may explain its table of learning rates | [`hypotheses`] |
//!
//! # What was found
//!
//! - **The two accuracies are of two programs.** The gradient of a batch is averaged on the GPU and summed on the CPU; with that one switch
//!   ([`Reduction`](warpplay::mlp::Reduction)) one program comes within half a point of both accuracies. The order and type of the sums, the form of the softmax and single precision change hundredths
//!   of a point.
//! - **Both collapses are of the CPU program**, at batch 256 and rate 0.01, and at batch 64 and rate 0.1: summed, these are rates of 2.56 and 6.4. All or nearly all hidden units
//!   die, and one class is the answer: 10.28 % and 9.82 % are the shares of the classes 7 and 4 in MNIST's test set.
//! - **Its table of learning rates is not that of an averaged gradient.** Some deviations come near its accuracies (the first layer not updated, the second summed), and then miss
//!   the losses of its main experiment, which has the same setting.
//! - **The work of a step is 52 MFLOP**: the paper counts the forward pass alone. The first layer's weights take 803 KB, more than its total.
//! - **The tiled product is not used** by its program.
//!
//! Each stands with its evidence in `docs/papers/mnist_mlp.md`.

#[cfg(all(feature = "mnist_mlp", not(target_arch = "nvptx64")))]
pub mod checks;
#[cfg(all(feature = "mnist_mlp", not(target_arch = "nvptx64")))]
pub mod experiments;
#[cfg(all(feature = "mnist_mlp", not(target_arch = "nvptx64")))]
pub mod hypotheses;
pub mod kernels;
#[cfg(all(feature = "mnist_mlp", not(target_arch = "nvptx64")))]
mod program;
#[cfg(all(feature = "mnist_mlp", not(target_arch = "nvptx64")))]
pub mod published;

#[cfg(all(feature = "mnist_mlp", not(target_arch = "nvptx64")))]
pub use program::{
    Accumulate, ColumnSums, DeviceBytes, Divide, Extent, Forms, Kernels, Launch, LossForm, Matmul, OperationTime,
    Options, Position, Product, Program, Report, SoftmaxForm, Traffic, profile, profile_product,
};
