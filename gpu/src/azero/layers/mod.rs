//! The network, a kernel a layer: any board, width, depth and heads.
//!
//! ```text
//! an evaluation   conv of the observations -> two convs a block -> planes of both heads -> outputs of both heads
//! ```
//!
//! Bias, residual and rectifier are part of each convolution. No atomics, no order that depends on the batch: a position has the same bits alone and among
//! others.
//!
//! | module | kernels |
//! |---|---|
//! | [`conv`] | convolutions in single precision |
//! | [`board`] | the same on boards of 8×8 |
//! | [`tensor`] | the same by tensor cores, in TF32, bfloat16 and half precision |
//! | [`heads`] | both heads, in single precision |
//!
//! In bfloat16 and half precision on `sm_90a` the convolutions are those of the module `tile`, whose layout of activations is the same.

pub mod board;
pub mod conv;
pub mod heads;
pub mod tensor;

crate::kernel_set! {
    /// The kernels that evaluate layer by layer.
    conv::azero_layers_conv_large,
    conv::azero_layers_conv_small,
    board::azero_layers_conv_board_pair,
    board::azero_layers_conv_board_single,
    board::azero_layers_conv_board_narrow,
    board::azero_layers_conv_row,
    tensor::azero_layers_conv_tf32_large,
    tensor::azero_layers_conv_tf32_small,
    tensor::azero_layers_pack_tf32,
    tensor::azero_layers_conv_bf16_large,
    tensor::azero_layers_conv_bf16_small,
    tensor::azero_layers_pack_bf16,
    tensor::azero_layers_conv_fp16_large,
    tensor::azero_layers_conv_fp16_small,
    tensor::azero_layers_pack_fp16,
    heads::azero_layers_planes_tf32,
    heads::azero_layers_planes_bf16,
    heads::azero_layers_planes_fp16,
    heads::azero_layers_planes,
    heads::azero_layers_heads_one,
    heads::azero_layers_heads_many,
}
