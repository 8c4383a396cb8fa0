//! Products whose rows of A are gathered, of numbers or of bytes.

use super::product::{Block, product};
use crate::cuda::kernel;
use crate::tile::epilogue::Alone;
use crate::tile::rows::{BYTES, GATHERED};
use crate::tile::task::{Bf16, F16, ProductTask, Tf32};

macro_rules! products {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $rows:literal x $columns:literal, $lines:literal x $sums:literal, $stages:literal, $blocks:literal, $gathered:ident;)*) => {
        $(
            $(#[$doc])*
            ///
            /// A product of matrices, with an epilogue.
            ///
            /// * Launch: a block for each tile of C and division of the depth; a warp for each 64 × 64 of a tile (32 × 32 of a tile of 64 × 64).
            /// * Reads: `rows`, `a`, `b`, `bias`, `residual` or `residual_short`, `mask`.
            /// * Writes: `c` or `c_short`; `overflow`.
            /// * Shared: as the product of these tiles.
            /// * Cost: 2 m n k operations by tensor cores for each pair of parts.
            /// * Twin: `warpplay_cpu_ref::tile::product`, of `warpplay_cpu_ref::tile::gathered`.
            /// * Source: our own.
            ///
            /// # Safety
            /// As a product of these tiles; where A is of bytes it has one part.
            #[kernel(
                shape = const { Block::of::<$rows, $columns, $lines, $stages>() }.shape(task.m, task.n, task.k.div_ceil(task.division)),
                max_threads = 128,
                min_blocks = $blocks,
                require = task.moments.is_null() && ($gathered != BYTES || task.a_parts == 1)
            )]
            pub unsafe fn $name(task: ProductTask) {
                // SAFETY: launched with this shape, and the task is as the kernel asks.
                unsafe { product::<$format, $rows, $columns, $lines, $sums, $stages, 128, false, false, $gathered, _>(&task, Alone) }
            }
        )*
    };
}

products! {
    /// bfloat16, tiles of 128 × 128.
    tile_mma_bf16_128_rows, Bf16, 128 x 128, 4 x 32, 3, 2, GATHERED;
    /// bfloat16, tiles of 64 × 64.
    tile_mma_bf16_64_rows, Bf16, 64 x 64, 2 x 16, 4, 3, GATHERED;
    /// Half precision, tiles of 128 × 128.
    tile_mma_f16_128_rows, F16, 128 x 128, 4 x 32, 3, 2, GATHERED;
    /// Half precision, tiles of 64 × 64.
    tile_mma_f16_64_rows, F16, 64 x 64, 2 x 16, 4, 3, GATHERED;
    /// TF32, tiles of 128 × 128.
    tile_mma_tf32_128_rows, Tf32, 128 x 128, 4 x 32, 3, 2, GATHERED;
    /// TF32, tiles of 64 × 64.
    tile_mma_tf32_64_rows, Tf32, 64 x 64, 2 x 16, 4, 3, GATHERED;
    /// A of bytes, as bfloat16, tiles of 128 × 128.
    tile_mma_bf16_128_bytes, Bf16, 128 x 128, 4 x 32, 3, 2, BYTES;
    /// A of bytes, as bfloat16, tiles of 64 × 64.
    tile_mma_bf16_64_bytes, Bf16, 64 x 64, 2 x 16, 4, 3, BYTES;
    /// A of bytes, as half precision, tiles of 128 × 128.
    tile_mma_f16_128_bytes, F16, 128 x 128, 4 x 32, 3, 2, BYTES;
    /// A of bytes, as half precision, tiles of 64 × 64.
    tile_mma_f16_64_bytes, F16, 64 x 64, 2 x 16, 4, 3, BYTES;
    /// A of bytes, as TF32, tiles of 128 × 128.
    tile_mma_tf32_128_bytes, Tf32, 128 x 128, 4 x 32, 3, 2, BYTES;
    /// A of bytes, as TF32, tiles of 64 × 64.
    tile_mma_tf32_64_bytes, Tf32, 64 x 64, 2 x 16, 4, 3, BYTES;
}
