//! Gradients of a layer's weights, which an optimiser [updates](super::update) at once.

use super::epilogue::Updating;
use super::task::{Bf16, F16, ProductTask, Tf32, activation};
use super::update::Update;
use super::wgmma::{ALONE, product, shape};
use crate::cuda::kernel;

macro_rules! updates {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $sums:literal, $groups:literal, [$a:literal, $b:literal];)*) => {
        $(
            $(#[$doc])*
            ///
            /// A product of matrices that is the gradient of C, which an optimiser updates.
            ///
            /// * Launch: as the product of these tiles.
            /// * Reads: `a`, `b` through their maps; `rates`, `step`.
            /// * Writes: `c`, `c_short`; `first`, `second`.
            /// * Shared: as the product.
            /// * Cost: that of the product; a quad of each array read and written for four sums.
            /// * Twin: `warpplay_cpu_ref::tile::product` and `warpplay_cpu_ref::mlp::optimizer::Update::apply`.
            /// * Source: PyTorch's definitions of SGD, Adam, AdamW and RMSprop.
            ///
            /// # Safety
            /// As a product of these tiles with `c`; `update` is as [it](Update) says for C.
            #[kernel(
                shape = |multiprocessors: u32| shape::<$sums, $groups, 1, ALONE>([task.m, task.n, 1], 1, multiprocessors),
                max_threads = 128 * ($groups + 1),
                min_blocks = 1,
                require = task.rows.is_null() && task.moments.is_null() && task.division >= task.k && task.side == 1 && task.cluster == 1 && task.overflow.is_null() && !task.c.is_null() && task.bias.is_null() && task.mask.is_null() && task.residual.is_null() && task.residual_short.is_null() && task.activation == activation::NONE && task.c_stride.is_multiple_of(4) && task.c_first.is_multiple_of(4)
            )]
            pub unsafe fn $name(task: ProductTask, update: Update) {
                // SAFETY: launched with this shape, and the rest is as the kernel asks.
                unsafe { product::<$format, _, $sums, $groups, 1, $a, $b, ALONE, _>(&task, Updating::<'_, { $sums <= 64 }>(&update)) }
            }
        )*
    };
}

updates! {
    /// bfloat16, tiles of 128 × 256, A and B depth by depth.
    tile_wgmma_bf16_256_ab_update, Bf16, 128, 2, [true, true];
    /// bfloat16, tiles of 128 × 192, A and B depth by depth.
    tile_wgmma_bf16_192_ab_update, Bf16, 96, 2, [true, true];
    /// bfloat16, tiles of 128 × 128, A and B depth by depth.
    tile_wgmma_bf16_128_ab_update, Bf16, 64, 2, [true, true];
    /// bfloat16, tiles of 64 × 64, A and B depth by depth.
    tile_wgmma_bf16_64_single_ab_update, Bf16, 32, 1, [true, true];
    /// Half precision, tiles of 128 × 256, A and B depth by depth.
    tile_wgmma_f16_256_ab_update, F16, 128, 2, [true, true];
    /// Half precision, tiles of 128 × 192, A and B depth by depth.
    tile_wgmma_f16_192_ab_update, F16, 96, 2, [true, true];
    /// Half precision, tiles of 128 × 128, A and B depth by depth.
    tile_wgmma_f16_128_ab_update, F16, 64, 2, [true, true];
    /// Half precision, tiles of 64 × 64, A and B depth by depth.
    tile_wgmma_f16_64_single_ab_update, F16, 32, 1, [true, true];
    /// TF32, tiles of 128 × 128.
    tile_wgmma_tf32_128_update, Tf32, 64, 2, [false, false];
    /// TF32, tiles of 64 × 64.
    tile_wgmma_tf32_64_single_update, Tf32, 32, 1, [false, false];
}
