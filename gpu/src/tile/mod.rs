//! Products of matrices, at the speed of tensor cores: `C = epilogue(A B)`.
//!
//! A block computes a tile of C at a time. Slabs of A and B, 128 bytes deep (64 in [`mma`]), come through a ring in shared memory; sums stay in registers until a tile is
//! complete, and go through the epilogue to global memory.
//!
//! | module | kernels | for |
//! |---|---|---|
//! | [`wgmma`] | `tile_wgmma_{bf16,f16,tf32}_{256,192,128,64}`, `…_128_high`, `…_64_single`: columns of a tile; `…_{128,64}_shared`: blocks share the depth; `…_a`, `…_b`, `…_ab`: operands that lie depth by depth; `tile_wgmma_e4m3_{128_high,128,64_single}` | `sm_90a` |
//! | [`group`] | `tile_wgmma_{bf16,f16}_128_ab_group`, `…_64_single_ab_group`: several products; `tile_wgmma_bf16_{128,64_single}_ab_group_update`: an optimiser updates their C | `sm_90a` |
//! | [`gradients`] | `tile_wgmma_{bf16,f16}_{256,192,128,64_single}_ab_update`, `tile_wgmma_tf32_{128,64_single}_update`: C holds parameters, which an optimiser updates by the product | `sm_90a` |
//! | [`logits`] | `tile_wgmma_{bf16,f16}_64_{single,shared}_b_softmax`: logits, loss and its gradient | `sm_90a` |
//! | [`moments`] | `tile_wgmma_{bf16,f16}_{256,128_high,128,64_single}_moments`: moments of the columns of C as well | `sm_90a` |
//! | [`mma`] | `tile_mma_{bf16,f16,tf32}_{256,128,64}`: columns of a tile; `…_a`, `…_b`, `…_ab`; `tile_mma_{bf16,f16}_64_b_softmax`: logits, loss and its gradient; `tile_mma_{bf16,f16,tf32}_{128,64}_{rows,bytes}`: rows of A gathered, A of bytes; `tile_mma_{bf16,f16}_{128,64}_ab_update`, `tile_mma_tf32_{128,64}_update` | `sm_80` on |
//! | [`plain`] | `tile_plain_{128,64}`: rows and columns of a tile; `…_a`, `…_b`, `…_ab`; operands of single precision; `…_rows`, `…_bytes`; `…_update`, `…_ab_update` | `sm_75` on |
//!
//! [`task`] is what a launch works on, [`images`] how A may be images, [`epilogue`] what becomes of its sums; [`softmax`] and [`update`] are such.
//!
//! # Layout
//! A is `[m][a_stride]`, of which `k` values a row are used, and B is `[n][b_stride]`: the columns of B lie one after the other, as weights `[outputs][inputs]` do. Or an operand lies depth by depth, `[k][stride]`; there are kernels for that where it has 16 bits, and in `plain`. C is `[m][c_stride]`.
//!
//! # Convolutions
//! The rows of A may be the pixels of images, channels last, and the columns of B filters `[side][side][channels]`: see [`images`]. The kernels are the same, those whose operands do not lie depth by depth.
//!
//! # Numbers in parts
//! A number may be the sum of up to three of 16 bits, whose matrices lie one behind the other. Products of all pairs of parts that matter are added up, small ones first ([`task::n_pairs`]).
//!
//! # Divisions of the depth
//! The depth may be divided. Each division has a C of its own, which others add up in a fixed order.
//!
//! # Precision
//! Products of the operands are exact, sums are of single precision; a tensor core cuts the sum of a few products off where it would have to round it. TF32 reads operands of single precision and drops their last 13
//! bits. Of e4m3 a tensor core keeps 14 bits of a sum of products, so those of a slab are added up in single precision. [`plain`] multiplies single precision as it is, and rounds each addition once.
//!
//! # Same bits
//! A value of C is the sum of the same products in the same order, wherever its tile is computed and however large it is. Where a cluster shares the depth (`…_shared`) each of its blocks has such a sum, and they are added up in the order of the blocks.

pub mod epilogue;
#[cfg(feature = "tile-wgmma")]
pub mod gradients;
#[cfg(feature = "tile-wgmma")]
pub mod group;
pub mod images;
#[cfg(feature = "tile-wgmma")]
pub mod logits;
#[cfg(feature = "tile-mma")]
pub mod mma;
#[cfg(feature = "tile-wgmma")]
pub mod moments;
#[cfg(feature = "tile-plain")]
pub mod plain;
pub mod rows;
mod slab;
pub mod softmax;
pub mod task;
pub mod update;
#[cfg(feature = "tile-wgmma")]
pub mod wgmma;
mod work;

#[cfg(feature = "tile-wgmma")]
crate::kernel_set! {
    /// The products by warpgroups.
    wgmma::tile_wgmma_bf16_256,
    wgmma::tile_wgmma_bf16_192,
    wgmma::tile_wgmma_bf16_128,
    wgmma::tile_wgmma_bf16_128_high,
    wgmma::tile_wgmma_bf16_64,
    wgmma::tile_wgmma_bf16_64_single,
    wgmma::tile_wgmma_bf16_256_b,
    wgmma::tile_wgmma_bf16_128_b,
    wgmma::tile_wgmma_bf16_64_single_b,
    wgmma::tile_wgmma_bf16_256_ab,
    wgmma::tile_wgmma_bf16_192_ab,
    wgmma::tile_wgmma_bf16_128_ab,
    wgmma::tile_wgmma_bf16_64_single_ab,
    wgmma::tile_wgmma_bf16_256_a,
    wgmma::tile_wgmma_bf16_128_a,
    wgmma::tile_wgmma_bf16_64_single_a,
    wgmma::tile_wgmma_f16_256,
    wgmma::tile_wgmma_f16_192,
    wgmma::tile_wgmma_f16_128,
    wgmma::tile_wgmma_f16_128_high,
    wgmma::tile_wgmma_f16_64,
    wgmma::tile_wgmma_f16_64_single,
    wgmma::tile_wgmma_f16_256_b,
    wgmma::tile_wgmma_f16_128_b,
    wgmma::tile_wgmma_f16_64_single_b,
    wgmma::tile_wgmma_f16_256_ab,
    wgmma::tile_wgmma_f16_192_ab,
    wgmma::tile_wgmma_f16_128_ab,
    wgmma::tile_wgmma_f16_64_single_ab,
    wgmma::tile_wgmma_f16_256_a,
    wgmma::tile_wgmma_f16_128_a,
    wgmma::tile_wgmma_f16_64_single_a,
    wgmma::tile_wgmma_tf32_256,
    wgmma::tile_wgmma_tf32_192,
    wgmma::tile_wgmma_tf32_128,
    wgmma::tile_wgmma_tf32_128_high,
    wgmma::tile_wgmma_tf32_64,
    wgmma::tile_wgmma_tf32_64_single,
    wgmma::tile_wgmma_bf16_64_shared,
    wgmma::tile_wgmma_bf16_64_shared_b,
    wgmma::tile_wgmma_bf16_64_shared_ab,
    wgmma::tile_wgmma_bf16_64_shared_a,
    wgmma::tile_wgmma_f16_64_shared,
    wgmma::tile_wgmma_f16_64_shared_b,
    wgmma::tile_wgmma_f16_64_shared_ab,
    wgmma::tile_wgmma_f16_64_shared_a,
    wgmma::tile_wgmma_tf32_64_shared,
    wgmma::tile_wgmma_bf16_128_shared,
    wgmma::tile_wgmma_bf16_128_shared_b,
    wgmma::tile_wgmma_bf16_128_shared_ab,
    wgmma::tile_wgmma_bf16_128_shared_a,
    wgmma::tile_wgmma_f16_128_shared,
    wgmma::tile_wgmma_f16_128_shared_b,
    wgmma::tile_wgmma_f16_128_shared_ab,
    wgmma::tile_wgmma_f16_128_shared_a,
    wgmma::tile_wgmma_tf32_128_shared,
    wgmma::tile_wgmma_e4m3_128_high,
    wgmma::tile_wgmma_e4m3_128,
    wgmma::tile_wgmma_e4m3_64_single,
    group::tile_wgmma_bf16_128_ab_group,
    group::tile_wgmma_bf16_64_single_ab_group,
    group::tile_wgmma_f16_128_ab_group,
    group::tile_wgmma_f16_64_single_ab_group,
    group::tile_wgmma_bf16_128_ab_group_update,
    group::tile_wgmma_bf16_64_single_ab_group_update,
    gradients::tile_wgmma_bf16_256_ab_update,
    gradients::tile_wgmma_bf16_192_ab_update,
    gradients::tile_wgmma_bf16_128_ab_update,
    gradients::tile_wgmma_bf16_64_single_ab_update,
    gradients::tile_wgmma_f16_256_ab_update,
    gradients::tile_wgmma_f16_192_ab_update,
    gradients::tile_wgmma_f16_128_ab_update,
    gradients::tile_wgmma_f16_64_single_ab_update,
    gradients::tile_wgmma_tf32_128_update,
    gradients::tile_wgmma_tf32_64_single_update,
    logits::tile_wgmma_bf16_64_single_b_softmax,
    logits::tile_wgmma_bf16_64_shared_b_softmax,
    logits::tile_wgmma_f16_64_single_b_softmax,
    logits::tile_wgmma_f16_64_shared_b_softmax,
    moments::tile_wgmma_bf16_256_moments,
    moments::tile_wgmma_bf16_128_high_moments,
    moments::tile_wgmma_bf16_128_moments,
    moments::tile_wgmma_bf16_64_single_moments,
    moments::tile_wgmma_f16_256_moments,
    moments::tile_wgmma_f16_128_high_moments,
    moments::tile_wgmma_f16_128_moments,
    moments::tile_wgmma_f16_64_single_moments,
}
