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
//! | [`heads`] | both heads, in single precision |

pub mod board;
pub mod conv;
pub mod heads;

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
        info::<heads::azero_layers_planes>(),
        info::<heads::azero_layers_heads_one>(),
        info::<heads::azero_layers_heads_many>(),
    ]
}
