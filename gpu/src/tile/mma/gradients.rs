//! Gradients of a layer's weights, which an optimiser [updates](crate::tile::update) at once.

use super::product::{Block, product};
use crate::cuda::kernel;
use crate::tile::epilogue::Updating;
use crate::tile::rows::AS_THEY_LIE;
use crate::tile::task::{Bf16, F16, ProductTask, Tf32, activation};
use crate::tile::update::Update;

macro_rules! updates {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $size:literal, $lines:literal x $sums:literal, $stages:literal, $blocks:literal, [$a:literal, $b:literal];)*) => {
        $(
            $(#[$doc])*
            ///
            /// A product of matrices that is the gradient of C, which an optimiser updates.
            ///
            /// * Launch: a block for each tile of C; a warp for each 64 × 64 of a tile (32 × 32 of a tile of 64 × 64).
            /// * Reads: `a`, `b`; `rates`, `step`.
            /// * Writes: `c`, `c_short`; `first`, `second`.
            /// * Shared: as the product of these tiles.
            /// * Cost: that of the product; a quad of each array read and written for four sums.
            /// * Twin: `warpplay_cpu_ref::tile::product` and `warpplay_cpu_ref::mlp::optimizer::Update::apply`.
            /// * Source: PyTorch's definitions of SGD, Adam, AdamW and RMSprop.
            ///
            /// # Safety
            /// As a product of these tiles with `c`; `update` is as [it](Update) says for C.
            #[kernel(
                shape = const { Block::of::<$size, $size, $lines, $stages>() }.shape(task.m, task.n, 1),
                max_threads = 128,
                min_blocks = $blocks,
                require = task.rows.is_null() && task.moments.is_null() && task.division >= task.k && task.side == 1 && task.overflow.is_null() && !task.c.is_null() && task.bias.is_null() && task.mask.is_null() && task.residual.is_null() && task.residual_short.is_null() && task.activation == activation::NONE && task.c_stride.is_multiple_of(4) && task.c_first.is_multiple_of(4)
            )]
            pub unsafe fn $name(task: ProductTask, update: Update) {
                // SAFETY: launched with this shape, and the rest is as the kernel asks.
                unsafe { product::<$format, $size, $size, $lines, $sums, $stages, 128, $a, $b, AS_THEY_LIE, _>(&task, Updating::<'_, { $lines < 4 }>(&update)) }
            }
        )*
    };
}

updates! {
    /// bfloat16, tiles of 128 × 128, A and B depth by depth.
    tile_mma_bf16_128_ab_update, Bf16, 128, 4 x 32, 3, 2, [true, true];
    /// bfloat16, tiles of 64 × 64, A and B depth by depth.
    tile_mma_bf16_64_ab_update, Bf16, 64, 2 x 16, 4, 3, [true, true];
    /// Half precision, tiles of 128 × 128, A and B depth by depth.
    tile_mma_f16_128_ab_update, F16, 128, 4 x 32, 3, 2, [true, true];
    /// Half precision, tiles of 64 × 64, A and B depth by depth.
    tile_mma_f16_64_ab_update, F16, 64, 2 x 16, 4, 3, [true, true];
    /// TF32, tiles of 128 × 128.
    tile_mma_tf32_128_update, Tf32, 128, 4 x 32, 3, 2, [false, false];
    /// TF32, tiles of 64 × 64.
    tile_mma_tf32_64_update, Tf32, 64, 2 x 16, 4, 3, [false, false];
}
