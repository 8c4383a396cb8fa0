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

pub mod board;
pub mod conv;
pub mod heads;
pub mod tensor;

/// Descriptions of all kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<crate::kernel::KernelInfo> {
    use crate::kernel::info;
    vec![
        info::<conv::azero_layers_conv_large>(),
        info::<conv::azero_layers_conv_small>(),
        info::<board::azero_layers_conv_board_pair>(),
        info::<board::azero_layers_conv_board_single>(),
        info::<board::azero_layers_conv_board_narrow>(),
        info::<board::azero_layers_conv_row>(),
        info::<tensor::azero_layers_conv_tf32_large>(),
        info::<tensor::azero_layers_conv_tf32_small>(),
        info::<tensor::azero_layers_pack_tf32>(),
        info::<tensor::azero_layers_conv_bf16_large>(),
        info::<tensor::azero_layers_conv_bf16_small>(),
        info::<tensor::azero_layers_pack_bf16>(),
        info::<tensor::azero_layers_conv_fp16_large>(),
        info::<tensor::azero_layers_conv_fp16_small>(),
        info::<tensor::azero_layers_pack_fp16>(),
        info::<heads::azero_layers_planes_tf32>(),
        info::<heads::azero_layers_planes_bf16>(),
        info::<heads::azero_layers_planes_fp16>(),
        info::<heads::azero_layers_planes>(),
        info::<heads::azero_layers_heads_one>(),
        info::<heads::azero_layers_heads_many>(),
    ]
}
