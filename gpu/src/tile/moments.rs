//! Products and convolutions whose columns' moments are wanted as well: for a norm of what they make, which then need not be read for it, and for column sums.

use super::epilogue::WithMoments;
use super::task::{Bf16, F16, ProductTask};
use super::wgmma::{ALONE, product, shape, shape_of};
use crate::cuda::kernel;

macro_rules! products {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $sums:literal, $groups:literal * $high:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// A product of matrices, with an epilogue, and moments of the columns of each 64 rows of C.
            ///
            /// * Launch: as the product of these tiles.
            /// * Reads: `a`, `b` through their maps; `bias`.
            /// * Writes: `c` or `c_short`; `moments`.
            /// * Shared: as the product.
            /// * Cost: that of the product, and four operations for each value of C.
            /// * Twin: `warpplay_cpu_ref::tile::product`, `warpplay_cpu_ref::tile::convolution`, `warpplay_cpu_ref::tile::moments`.
            /// * Source: Chan, Golub and LeVeque 1983, equations 2.1 (parts put together).
            ///
            /// # Safety
            /// As a product of these tiles; C begins at a multiple of 16 bytes.
            #[kernel(
                shape = |multiprocessors: u32| shape_of(shape::<$sums, $groups, $high, ALONE>([task.m, task.n, 1], 1, multiprocessors), task.side),
                max_threads = 128 * ($groups + 1),
                min_blocks = 1,
                require = task.rows.is_null() && !task.moments.is_null() && task.c_parts == 1 && task.division >= task.k && task.residual.is_null() && task.residual_short.is_null() && task.mask.is_null() && task.overflow.is_null()
                    && (task.n | task.c_stride).is_multiple_of(if task.c.is_null() { 8 } else { 4 })
            )]
            pub unsafe fn $name(task: ProductTask) {
                // SAFETY: launched with this shape, and the maps are as the kernel asks.
                unsafe { product::<$format, _, $sums, $groups, $high, false, false, ALONE, _>(&task, WithMoments) }
            }
        )*
    };
}

products! {
    /// bfloat16, tiles of 128 × 256.
    tile_wgmma_bf16_256_moments, Bf16, 128, 2 * 1;
    /// bfloat16, tiles of 256 × 128.
    tile_wgmma_bf16_128_high_moments, Bf16, 64, 2 * 2;
    /// bfloat16, tiles of 128 × 128.
    tile_wgmma_bf16_128_moments, Bf16, 64, 2 * 1;
    /// bfloat16, tiles of 64 × 64.
    tile_wgmma_bf16_64_single_moments, Bf16, 32, 1 * 1;
    /// Half precision, tiles of 128 × 256.
    tile_wgmma_f16_256_moments, F16, 128, 2 * 1;
    /// Half precision, tiles of 256 × 128.
    tile_wgmma_f16_128_high_moments, F16, 64, 2 * 2;
    /// Half precision, tiles of 128 × 128.
    tile_wgmma_f16_128_moments, F16, 64, 2 * 1;
    /// Half precision, tiles of 64 × 64.
    tile_wgmma_f16_64_single_moments, F16, 32, 1 * 1;
}
