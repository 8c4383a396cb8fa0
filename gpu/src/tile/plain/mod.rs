//! Products of single precision without tensor cores, for any GPU (`sm_75` on).
//!
//! ```text
//! shared, two of each, so that one is filled while the other is read:   A [8 depths][SIZE + 4],  B [8 depths][SIZE + 4]
//! a warp      64 rows × 32 columns of the tile; a lane 8 × 8 of them: quads of rows 32 apart, quads of columns 16 apart
//! ```
//!
//! The 4 lets lanes that bring rows, two quads of depths each, write to different banks. The next slab is on its way in registers while the present one is multiplied, and there is one barrier a slab. A value of C is the sum of its products in the order of the depth, each added with one rounding.

pub mod gradients;
pub mod product;

crate::kernel_set! {
    /// The products without tensor cores.
    product::tile_plain_128,
    product::tile_plain_128_b,
    product::tile_plain_128_ab,
    product::tile_plain_128_a,
    product::tile_plain_64,
    product::tile_plain_64_b,
    product::tile_plain_64_ab,
    product::tile_plain_64_a,
    product::tile_plain_128_rows,
    product::tile_plain_64_rows,
    product::tile_plain_128_bytes,
    product::tile_plain_64_bytes,
    gradients::tile_plain_128_update,
    gradients::tile_plain_128_ab_update,
    gradients::tile_plain_64_update,
    gradients::tile_plain_64_ab_update,
}
