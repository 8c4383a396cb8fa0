//! The network with all convolutions in one launch: 8×8 boards, 128 channels, tensor cores, activations in shared memory from the first block to the last
//! (`sm_90a`).
//!
//! | module | kernels | for |
//! |---|---|---|
//! | [`tower`] | `azero_fused_tower_{fp16,bf16,tf32,fp32}_{1,2,4}`: the boards of a block | batches |
//! | [`single`] | `azero_fused_single_{fp16,bf16,tf32,fp32}` | one position, or a few: all in one launch |
//! | [`heads`] | `azero_fused_heads_{1,16}`: the positions of a block | what follows the tower |
//!
//! # Layout of activations
//! A board is padded to `10 × 9` squares: a row above and below, and a column that serves as the right edge of one row and the left edge of the next. Squares of the
//! edge are 0 and stay so, which makes each tap of a convolution a fixed address offset. A square has 16 bytes, a *chunk*: 8 channels of half precision or 4 of TF32; all
//! squares of these channels come first, then those of the next. Rows of the boards of a block alternate: row `y` of board `b` is storage row `(y + 1) · boards + b`, so
//! that all their rows are evenly spaced, as `wgmma` wants the tiles of an operand.
//!
//! # Precision
//! [`mod@format`] says how numbers are held, and what `fp32` loses. It splits activations and weights into two half-precision parts, three products standing for one: 22 bits of each
//! operand, sums of 16 to 32 large products in the tensor core and of these in f32. The host scales both by powers of two, to where the parts have all their bits; a sum is multiplied by
//! another that takes it to the scale of its output. Activations beyond 65,504 of what is stored become infinite in `fp16` and `fp32`, and their position's results NaN.
//!
//! # Source
//! The network: OpenSpiel's residual network for AlphaZero. The work partition is ours.

pub mod format;
pub mod heads;
pub mod single;
pub mod sums;
pub mod tower;

#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::KernelInfo;

/// Channels of every block.
pub const WIDTH: u32 = 128;
/// Rows and columns of the board.
pub const SIDE: u32 = 8;
/// Squares of the board.
pub const CELLS: u32 = SIDE * SIDE;
/// Most planes of an observation: the input convolution multiplies so many, the rest being 0.
pub const PLANES: u32 = 16;
/// Most channels of both heads' 1×1 convolutions together.
pub const FILTERS: u32 = 4;
/// Squares of a row of a padded board.
const PADDED_WIDTH: u32 = SIDE + 1;

/// Squares of `boards` padded boards, with the last one's right edge.
pub const fn padded_squares(boards: u32) -> u32 {
    (SIDE + 2) * PADDED_WIDTH * boards + 1
}

/// Descriptions of all kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<KernelInfo> {
    [single::kernels(), tower::kernels(), heads::kernels()].concat()
}
