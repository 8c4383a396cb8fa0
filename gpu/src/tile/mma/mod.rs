//! Products by warps: slabs of both operands come through a ring in shared memory by asynchronous copies, and each warp multiplies its square of the tile (`sm_80` on).
//!
//! ```text
//! a stage, rows of 64 bytes of the depth     A [ROWS][4] vectors of 16 bytes,  B [COLUMNS][4];    vector (row, v) lies at v ^ (row / 2) % 4
//! an operand that lies depth by depth        [32 depths][ROWS / 8] vectors;                       vector (depth, v) lies at v ^ depth % 8
//! a warp                                     64 × 64 of the tile (32 × 32 of the small one): products of 16 × 8
//! ```
//!
//! So the eight rows that a warp loads at a time lie in different banks, and so do those that it writes. While a stage is multiplied, the next ones are on their way, and the operands of the next product come from shared memory. There is one barrier a stage: behind
//! it the next stage is complete, and the last one may be written again. A block has one tile of C; two blocks of 128 × 128 share a multiprocessor, and a block of 128 × 256 has one for itself.

pub mod gradients;
pub mod logits;
pub mod product;
pub mod rows;
mod stages;

crate::kernel_set! {
    /// The products by warps.
    product::tile_mma_bf16_256,
    product::tile_mma_bf16_128,
    product::tile_mma_bf16_64,
    product::tile_mma_bf16_256_b,
    product::tile_mma_bf16_128_b,
    product::tile_mma_bf16_64_b,
    product::tile_mma_bf16_256_ab,
    product::tile_mma_bf16_128_ab,
    product::tile_mma_bf16_64_ab,
    product::tile_mma_bf16_256_a,
    product::tile_mma_bf16_128_a,
    product::tile_mma_bf16_64_a,
    product::tile_mma_f16_256,
    product::tile_mma_f16_128,
    product::tile_mma_f16_64,
    product::tile_mma_f16_256_b,
    product::tile_mma_f16_128_b,
    product::tile_mma_f16_64_b,
    product::tile_mma_f16_256_ab,
    product::tile_mma_f16_128_ab,
    product::tile_mma_f16_64_ab,
    product::tile_mma_f16_256_a,
    product::tile_mma_f16_128_a,
    product::tile_mma_f16_64_a,
    product::tile_mma_tf32_256,
    product::tile_mma_tf32_128,
    product::tile_mma_tf32_64,
    logits::tile_mma_bf16_64_b_softmax,
    logits::tile_mma_f16_64_b_softmax,
    gradients::tile_mma_bf16_128_ab_update,
    gradients::tile_mma_bf16_64_ab_update,
    gradients::tile_mma_f16_128_ab_update,
    gradients::tile_mma_f16_64_ab_update,
    gradients::tile_mma_tf32_128_update,
    gradients::tile_mma_tf32_64_update,
    rows::tile_mma_bf16_128_rows,
    rows::tile_mma_bf16_64_rows,
    rows::tile_mma_f16_128_rows,
    rows::tile_mma_f16_64_rows,
    rows::tile_mma_tf32_128_rows,
    rows::tile_mma_tf32_64_rows,
    rows::tile_mma_bf16_128_bytes,
    rows::tile_mma_bf16_64_bytes,
    rows::tile_mma_f16_128_bytes,
    rows::tile_mma_f16_64_bytes,
    rows::tile_mma_tf32_128_bytes,
    rows::tile_mma_tf32_64_bytes,
}
