//! The published kernels, one by one: each does one thing, and a training step is a sequence of launches.
//!
//! | kernels | file |
//! |---|---|
//! | `mlp_paper_gather`, `…_gather_labels` | [`input`] |
//! | `mlp_paper_matmul_plain`, `…_tiled_8`, `…_tiled_16`, `…_tiled_32`, each also `…_f64` | [`matmul`] |
//! | `mlp_paper_bias_add`, `…_relu`, `…_relu_backward`, `…_units_active` | [`activation`] |
//! | `mlp_paper_softmax`, `…_softmax_gradient_fused`, `…_softmax_gradient` | [`softmax`] |
//! | `mlp_paper_loss`, `…_loss_sum`, `…_loss_atomic` | [`loss`] |
//! | `mlp_paper_column_sums_tree`, `…_warp`, each also `…_f64`, and `…_atomic`, `…_atomic_thread`, `…_atomic_block` | [`column_sums`] |
//! | `mlp_paper_sgd` | [`sgd`] |
//! | `mlp_paper_accuracy` | [`accuracy`] |
//!
//! Each kernel's launch, memory, cost, twin and place in the paper stand at its declaration, and in the tables of `docs/kernels.md`.
//!
//! All shapes are allowed, and no kernel touches anything behind its buffers. All but `…_column_sums_atomic`, `…_atomic_thread` and
//! `…_loss_atomic` give the same bits every time.
//!
//! Paper: Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification".

pub mod accuracy;
pub mod activation;
pub mod column_sums;
pub mod input;
pub mod loss;
pub mod matmul;
pub mod sgd;
pub mod softmax;

warpplay_gpu::kernel_set! {
    /// All kernels of the module `mnist_mlp`.
    input::mlp_paper_gather,
    input::mlp_paper_gather_labels,
    matmul::mlp_paper_matmul_plain,
    matmul::mlp_paper_matmul_plain_f64,
    matmul::mlp_paper_matmul_tiled_8,
    matmul::mlp_paper_matmul_tiled_16,
    matmul::mlp_paper_matmul_tiled_32,
    matmul::mlp_paper_matmul_tiled_8_f64,
    matmul::mlp_paper_matmul_tiled_16_f64,
    matmul::mlp_paper_matmul_tiled_32_f64,
    activation::mlp_paper_bias_add,
    activation::mlp_paper_relu,
    activation::mlp_paper_relu_backward,
    activation::mlp_paper_units_active,
    softmax::mlp_paper_softmax,
    softmax::mlp_paper_softmax_gradient_fused,
    softmax::mlp_paper_softmax_gradient,
    loss::mlp_paper_loss,
    loss::mlp_paper_loss_sum,
    loss::mlp_paper_loss_atomic,
    column_sums::mlp_paper_column_sums_tree,
    column_sums::mlp_paper_column_sums_tree_f64,
    column_sums::mlp_paper_column_sums_warp,
    column_sums::mlp_paper_column_sums_warp_f64,
    column_sums::mlp_paper_column_sums_atomic,
    column_sums::mlp_paper_column_sums_atomic_thread,
    column_sums::mlp_paper_column_sums_atomic_block,
    sgd::mlp_paper_sgd,
    accuracy::mlp_paper_accuracy,
}
