//! A whole epoch in one launch: some blocks shuffle the samples, keep the weights of a network with one hidden layer in registers, and exchange
//! 640 logits a step. Up to 16 blocks are a cluster and send them through distributed shared memory; 32 are a cooperative launch and send them through global memory (`exchange`). Networks with two hidden layers: module `deep`.
//!
//! # Work partition
//! Each block has [`HIDDEN`] = 16 hidden units: their column of `W1`, their rows of `W2`. A step of 64 samples is
//!
//! ```text
//!   x [64, inputs] u8 in shared memory, the next batch on its way (cp.async)
//!   z1 = x W1          each of three warpgroups has a third of the pixels
//!   partial logits = relu(z1) W2                       -> to the block that owns the sample        (mailbox)
//!   sum over blocks, softmax, loss, dz2 = p - onehot   -> to all blocks                            (mailbox)
//!   dz1 = dz2 W2ᵀ where z1 > 0;  W2 -= f hᵀ dz2 (two other warps)
//!   W1 -= f xᵀ dz1     each warpgroup its pixels
//! ```
//!
//! Pixels come in groups of 32, eight words, and four groups are a quartet. Warpgroup `k` has the quartets k and k + 3; of xᵀ dz1 its warp `q` makes the rows of group `q`
//! of each quartet: word 2 (g % 4) + g / 4 of the group is lane (g, t)'s (`g = lane / 4`, `t = lane % 4`), the first two bytes as rows g and g + 8 of one
//! product, the last two of another. There the lane keeps the weights too, as f32; their half-precision parts go to shared memory as operand of x W1,
//! where lane (g, t) finds the pixels of column 2t … in words 2t and 2t + 1. The first bias is the weight of one more pixel that is always 255. Six quartets are 24 groups, and 784 pixels with
//! the bias are 25: a product of a warpgroup for the last one would be three quarters zeros. So what is beyond the quartets is multiplied by single warps, half a group each.
//!
//! # Without clusters
//! The kernels of the module `mlp_epoch_mma`, for compute capability 8.0 and newer, are those of the cooperative launches, with one or two hidden layers: each warp multiplies its 16 rows of a product of a warpgroup alone ([`by_warp`](crate::cuda::wgmma::by_warp)). With one hidden layer
//! they always have 32 blocks. One batch of pixels lies in shared memory, of which an A100 has 163 KiB a block, and the next is asked for when all have read it.
//!
//! # Optimisers
//! Each kernel has one, see `optimizer`. What Adam and momentum remember of a weight is read and written once a step by the thread that has the weight, in global memory: with the weights, registers do not hold it, and
//! with two batches of pixels, shared memory does not. The first values are asked for while all blocks wait for the gradients of the logits, and those of each tile of weights while the one before it changes.
//!
//! A batch of more than 64 samples is made in parts. Without moments each part moves the weights by its share, but only the last writes their operands, so that all parts see the weights before the step. With them the
//! products' sums are added up beside the moments, and the last part moves the weights.
//!
//! # Precision
//! Pixels 0 to 255 are exact in half precision. Weights, hidden values and gradients are multiplied by a power of two of their hidden unit or class, and split into two
//! half-precision parts; weights in f32 and sums in f32 keep what single precision keeps. The module `scale` has the powers, the bounds, and what happens where they do not do.
//! The kernels whose names end in `_short` take the first part alone, 11 bits as TF32 has, three more than bfloat16: half of the products, and of what is written for them; a number far below the largest of its kind keeps fewer bits.

mod backward;
mod classify;
mod deep;
#[cfg_attr(not(feature = "mlp-epoch"), allow(dead_code, reason = "the other kernels have no clusters"))]
mod exchange;
mod forward;
mod halves;
mod network;
mod optimizer;
mod order;
mod scale;
#[cfg_attr(not(feature = "mlp-epoch"), allow(dead_code, reason = "the other kernels have no clusters"))]
mod tiles;
mod train;

pub use classify::ClassifyTask;
#[cfg(feature = "mlp-epoch")]
pub use classify::{
    mlp_epoch_classify, mlp_epoch_classify_grid, mlp_epoch_classify_grid_short, mlp_epoch_classify_short,
};
#[cfg(feature = "mlp-epoch-mma")]
pub use classify::{mlp_epoch_mma_classify, mlp_epoch_mma_classify_short};
#[cfg(feature = "mlp-epoch")]
pub use deep::{
    mlp_epoch_classify_deep, mlp_epoch_classify_deep_short, mlp_epoch_train_adam_deep, mlp_epoch_train_adam_deep_short,
    mlp_epoch_train_decay_deep, mlp_epoch_train_decay_deep_short, mlp_epoch_train_deep, mlp_epoch_train_deep_short,
    mlp_epoch_train_momentum_deep, mlp_epoch_train_momentum_deep_short,
};
#[cfg(feature = "mlp-epoch-mma")]
pub use deep::{
    mlp_epoch_mma_classify_deep, mlp_epoch_mma_classify_deep_short, mlp_epoch_mma_train_adam_deep,
    mlp_epoch_mma_train_adam_deep_short, mlp_epoch_mma_train_decay_deep, mlp_epoch_mma_train_decay_deep_short,
    mlp_epoch_mma_train_deep, mlp_epoch_mma_train_deep_short, mlp_epoch_mma_train_momentum_deep,
    mlp_epoch_mma_train_momentum_deep_short,
};
pub use optimizer::{LEAST_EPSILON, Rule};
pub use order::n_counters;
pub use scale::{MOST, RANGE_WORDS};
pub use train::EpochTask;
#[cfg(feature = "mlp-epoch-mma")]
pub use train::{
    mlp_epoch_mma_train, mlp_epoch_mma_train_adam, mlp_epoch_mma_train_adam_short, mlp_epoch_mma_train_decay,
    mlp_epoch_mma_train_decay_short, mlp_epoch_mma_train_momentum, mlp_epoch_mma_train_momentum_short,
    mlp_epoch_mma_train_short,
};
#[cfg(feature = "mlp-epoch")]
pub use train::{
    mlp_epoch_train, mlp_epoch_train_adam, mlp_epoch_train_adam_grid, mlp_epoch_train_adam_grid_short,
    mlp_epoch_train_adam_parts, mlp_epoch_train_adam_parts_short, mlp_epoch_train_adam_short, mlp_epoch_train_decay,
    mlp_epoch_train_decay_grid, mlp_epoch_train_decay_grid_short, mlp_epoch_train_decay_short, mlp_epoch_train_grid,
    mlp_epoch_train_grid_short, mlp_epoch_train_momentum, mlp_epoch_train_momentum_grid,
    mlp_epoch_train_momentum_grid_short, mlp_epoch_train_momentum_parts, mlp_epoch_train_momentum_parts_short,
    mlp_epoch_train_momentum_short, mlp_epoch_train_short,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use {classify::ClassifyTaskArgs, train::EpochTaskArgs};

#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::{KernelInfo, info};
use crate::launch::LaunchShape;

/// All kernels of the module `mlp_epoch`.
#[cfg(all(not(target_arch = "nvptx64"), feature = "mlp-epoch"))]
pub const KERNELS: [KernelInfo; 34] = [
    info::<mlp_epoch_train>(),
    info::<mlp_epoch_train_decay>(),
    info::<mlp_epoch_train_momentum>(),
    info::<mlp_epoch_train_momentum_parts>(),
    info::<mlp_epoch_train_adam>(),
    info::<mlp_epoch_train_adam_parts>(),
    info::<mlp_epoch_classify>(),
    info::<mlp_epoch_train_short>(),
    info::<mlp_epoch_train_decay_short>(),
    info::<mlp_epoch_train_momentum_short>(),
    info::<mlp_epoch_train_momentum_parts_short>(),
    info::<mlp_epoch_train_adam_short>(),
    info::<mlp_epoch_train_adam_parts_short>(),
    info::<mlp_epoch_classify_short>(),
    info::<mlp_epoch_train_grid>(),
    info::<mlp_epoch_train_grid_short>(),
    info::<mlp_epoch_train_decay_grid>(),
    info::<mlp_epoch_train_momentum_grid>(),
    info::<mlp_epoch_train_adam_grid>(),
    info::<mlp_epoch_classify_grid>(),
    info::<mlp_epoch_train_decay_grid_short>(),
    info::<mlp_epoch_train_momentum_grid_short>(),
    info::<mlp_epoch_train_adam_grid_short>(),
    info::<mlp_epoch_classify_grid_short>(),
    info::<mlp_epoch_train_deep>(),
    info::<mlp_epoch_train_deep_short>(),
    info::<mlp_epoch_train_decay_deep>(),
    info::<mlp_epoch_train_decay_deep_short>(),
    info::<mlp_epoch_train_momentum_deep>(),
    info::<mlp_epoch_train_momentum_deep_short>(),
    info::<mlp_epoch_train_adam_deep>(),
    info::<mlp_epoch_train_adam_deep_short>(),
    info::<mlp_epoch_classify_deep>(),
    info::<mlp_epoch_classify_deep_short>(),
];

/// All kernels of the module `mlp_epoch_mma`.
#[cfg(all(not(target_arch = "nvptx64"), feature = "mlp-epoch-mma"))]
pub const MMA_KERNELS: [KernelInfo; 20] = [
    info::<mlp_epoch_mma_train>(),
    info::<mlp_epoch_mma_train_decay>(),
    info::<mlp_epoch_mma_train_momentum>(),
    info::<mlp_epoch_mma_train_adam>(),
    info::<mlp_epoch_mma_classify>(),
    info::<mlp_epoch_mma_train_short>(),
    info::<mlp_epoch_mma_train_decay_short>(),
    info::<mlp_epoch_mma_train_momentum_short>(),
    info::<mlp_epoch_mma_train_adam_short>(),
    info::<mlp_epoch_mma_classify_short>(),
    info::<mlp_epoch_mma_train_deep>(),
    info::<mlp_epoch_mma_train_decay_deep>(),
    info::<mlp_epoch_mma_train_momentum_deep>(),
    info::<mlp_epoch_mma_train_adam_deep>(),
    info::<mlp_epoch_mma_classify_deep>(),
    info::<mlp_epoch_mma_train_deep_short>(),
    info::<mlp_epoch_mma_train_decay_deep_short>(),
    info::<mlp_epoch_mma_train_momentum_deep_short>(),
    info::<mlp_epoch_mma_train_adam_deep_short>(),
    info::<mlp_epoch_mma_classify_deep_short>(),
];

/// Hidden units of a block.
pub const HIDDEN: u32 = 16;
/// Warpgroups of a block, among which the pixels are shared.
pub const WARPGROUPS: u32 = 3;
/// Threads of a block.
pub const THREADS: u32 = 128 * WARPGROUPS;
/// Warps of a block.
pub const WARPS: u32 = THREADS / 32;
/// Samples that are multiplied at once: rows of the shared tiles.
pub const BATCH: u32 = 64;
/// Most samples of a batch, whose gradients are added up [`BATCH`] at a time.
pub const MOST_BATCH: u32 = 4 * BATCH;
/// Most classes: columns of the logits' tile.
pub const CLASSES: u32 = 16;
/// Pixels of a group.
pub const GROUP: u32 = 32;
/// Quartets of groups that a warpgroup can have.
pub const QUARTETS: u32 = 2;
/// Tiles of weights that a lane can have: two of each quartet, and one of the groups beyond the quartets.
const TILES: u32 = 2 * QUARTETS + 1;
/// Groups of all quartets.
const QUARTET_GROUPS: u32 = QUARTETS * WARPGROUPS * 4;
/// Most groups: each warp can have half of one beyond the quartets.
const MOST_GROUPS: u32 = QUARTET_GROUPS + WARPS / 2;
/// Most pixels: with the bias they fill the groups.
pub const MOST_INPUTS: u32 = MOST_GROUPS * GROUP - INPUT_MULTIPLE;
/// Pixels are copied 16 at a time.
pub const INPUT_MULTIPLE: u32 = 16;
/// What a pixel of 1 is as an operand: bytes are taken as subnormal half-precision numbers as they are.
const PIXEL: f32 = 1.0 / 16_777_216.0;
/// Words of a row of a 16-column half-precision tile: 48 bytes, so that eight rows lie in different banks.
const TILE_STRIDE: u32 = 12;

/// Most blocks of a cluster.
const MOST_CLUSTER: u32 = 16;
/// Most blocks of a network, those of a cooperative launch; of the kernels of the module `mlp_epoch_mma` that have one hidden layer always.
pub const MOST_BLOCKS: u32 = 2 * MOST_CLUSTER;
/// Most hidden units.
pub const MOST_HIDDEN: u32 = MOST_BLOCKS * HIDDEN;

/// Whether so many blocks of a network, with `n_second` units in a second hidden layer or 0 without one, are a cluster, and not a cooperative launch.
pub const fn is_cluster(n_second: u32, blocks: u32) -> bool {
    n_second == 0 && blocks <= MOST_CLUSTER
}

/// Whether so many blocks are right for a network, `hidden` as for [`n_blocks`].
const fn are_blocks_of(hidden: [u32; 2], blocks: u32) -> bool {
    blocks == n_blocks(hidden) || hidden[1] == 0 && blocks == MOST_BLOCKS
}

/// Blocks of a network that has `hidden[0]` units in its first hidden layer and `hidden[1]` in its second, or 0 where there is no second: a power of two, at least two, and 16 or 32 with a second. Kernels of the module `mlp_epoch_mma` with one hidden layer have [`MOST_BLOCKS`] instead.
pub const fn n_blocks([first, second]: [u32; 2]) -> u32 {
    if second > 0 {
        return if first <= MOST_CLUSTER * HIDDEN && second <= MOST_CLUSTER * HIDDEN {
            MOST_CLUSTER
        } else {
            MOST_BLOCKS
        };
    }
    let blocks = first.div_ceil(HIDDEN).next_power_of_two();
    // What is sent within a launch without clusters is an illegal instruction.
    if blocks < 2 { 2 } else { blocks }
}

/// Values of one network, `hidden` as for [`n_blocks`]: `W1 [n_inputs, hidden[0]]`, `b1`, then `W2` and `b2` of the next layer, and so on, one behind the other.
pub const fn n_values(n_inputs: u32, hidden: [u32; 2], n_classes: u32) -> usize {
    let (inputs, classes) = (n_inputs as usize, n_classes as usize);
    let [first, second] = [hidden[0] as usize, hidden[1] as usize];
    let behind = if second == 0 { (first + 1) * classes } else { (first + 1) * second + (second + 1) * classes };
    (inputs + 1) * first + behind
}

/// Words of 8 bytes that the blocks of a network send each other, `n_second` as for [`is_cluster`]: none where they are a cluster.
pub const fn n_mail_words(n_second: u32, blocks: u32) -> usize {
    if n_second == 0 { exchange::n_grid_words(blocks) } else { deep::n_mail_words(blocks) }
}

/// Values of a network's state during an epoch, `n_second` as for [`is_cluster`]: with two hidden layers there are some without moments too.
pub const fn n_state_values(n_second: u32, blocks: u32, n_moments: u32) -> usize {
    let own = optimizer::n_state_values(blocks, n_moments);
    if n_second == 0 { own } else { own + deep::n_state_values(blocks, n_moments) }
}

/// Groups of 32 that hold the pixels and the bias.
const fn n_groups(n_inputs: u32) -> u32 {
    (n_inputs + 1).div_ceil(GROUP)
}

/// Bytes between the tiles of an operand of [`wgmma`](crate::cuda::wgmma): rows 0 to 7 and 8 to 15 in different banks.
const TILE_ROW_STEP: u32 = 528;
/// Bytes of such an operand: 16 rows, 32 columns.
const OPERAND_BYTES: u32 = TILE_ROW_STEP + 512;

/// Groups that the warpgroups share evenly; those beyond the pixels are 0.
const fn even_groups(n_inputs: u32) -> u32 {
    n_groups(n_inputs).next_multiple_of(WARPGROUPS)
}

/// Bytes of a row of pixels in shared memory, for any number of them: an odd number of groups, so that four rows lie in different banks.
const ROW_BYTES: u32 = (MOST_GROUPS | 1) * GROUP;
/// Bytes of a batch of pixels in shared memory.
const PIXEL_BYTES: u32 = BATCH * ROW_BYTES;

/// Bytes of a tile of `rows` rows and 16 columns in half precision.
const fn tile_bytes(rows: u32) -> u32 {
    rows * TILE_STRIDE * 4
}

/// Bytes of the partial logits.
const LOGIT_BYTES: u32 = BATCH * CLASSES * 4;

/// Tables of scales: see [`Table`](scale::Table).
const TABLES: u32 = 6;
/// Their bytes.
const TABLE_BYTES: u32 = TABLES * 4 * CLASSES;

/// Four floats that one instruction moves.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Four([f32; 4]);

/// Where the parts of dynamic shared memory begin, in bytes; batches of pixels first. Where a kernel has one batch, the first [`PIXEL_BYTES`] do not exist.
mod layout {
    use super::{BATCH, CLASSES, HIDDEN, LOGIT_BYTES, OPERAND_BYTES, PIXEL_BYTES, TABLE_BYTES, WARPGROUPS, tile_bytes};

    /// Two batches of pixels, `[BATCH, ROW_BYTES]` u8 each.
    pub const PIXELS: u32 = 0;
    /// dz1's parts as operands, one for each 16 samples.
    pub const DZ1: u32 = PIXELS + 2 * PIXEL_BYTES;
    /// The other warpgroups' sums of z1, `[WARPGROUPS - 1, 2, 128 threads]` of 4 f32.
    pub const SUMS: u32 = DZ1 + 4 * OPERAND_BYTES;
    /// Partial logits of this block's samples, `[blocks, samples, CLASSES]` f32; two of them, so that a block may be a step ahead.
    pub const LOGITS: u32 = SUMS + (WARPGROUPS - 1) * 2 * 128 * 16;
    /// Tiles of half-precision parts, `[rows, 16]`, the large parts, then the small ones: h, dz2 of 64 rows, W2 of 16.
    pub const H: u32 = LOGITS + 2 * LOGIT_BYTES;
    pub const DZ2: u32 = H + 2 * tile_bytes(BATCH);
    pub const W2: u32 = DZ2 + 2 * tile_bytes(BATCH);
    /// `b2`, `[CLASSES]` f32.
    pub const B2: u32 = W2 + 2 * tile_bytes(HIDDEN);
    /// Sample numbers, then labels, `[BATCH]` u32, of two batches.
    pub const SAMPLES: u32 = B2 + CLASSES * 4;
    /// Two mailboxes of 8 bytes.
    pub const MAIL: u32 = SAMPLES + 4 * BATCH * 4;
    /// Tables of scales.
    pub const SCALES: u32 = MAIL + 16;
    /// `W1`'s parts as operands, two for each group: `[2 even_groups]`.
    pub const W1: u32 = SCALES + TABLE_BYTES;
}

/// Where the shared memory of one hidden layer ends, from the beginning of the layout.
const fn end_of_layout(n_inputs: u32) -> u32 {
    layout::W1 + 2 * even_groups(n_inputs) * OPERAND_BYTES
}

/// Bytes of the layout that a kernel with `pixel_buffers` (1 or 2) batches of pixels has not: those of the first batch, or none.
const fn bytes_left_out(pixel_buffers: u32) -> u32 {
    (2 - pixel_buffers) * PIXEL_BYTES
}

/// Bytes of dynamic shared memory, with two hidden layers if `deep`, and `pixel_buffers` (1 or 2) batches of pixels.
const fn shared_bytes(n_inputs: u32, deep: bool, pixel_buffers: u32) -> u32 {
    let more = if deep { deep::MORE_BYTES } else { 0 };
    end_of_layout(n_inputs) + more - bytes_left_out(pixel_buffers)
}

/// Most pixels of a network with `n_hidden_layers` (1 or 2) whose blocks have `bytes` of shared memory, in kernels with `pixel_buffers` (1 or 2) batches of pixels: with the 227 KiB of compute capability 9.0 and two batches, 944 and 848; never more than 944, since there are as many groups for the pixels and the bias.
pub const fn max_inputs(bytes: u32, n_hidden_layers: u32, pixel_buffers: u32) -> u32 {
    let mut most = MOST_INPUTS;
    while most > 0 && bytes < shared_bytes(most, n_hidden_layers == 2, pixel_buffers) {
        most -= INPUT_MULTIPLE;
    }
    most
}

/// Launch shape of the kernels that train as many networks, or classify with as many clusters; for one network where its blocks are no cluster. `n_second` is as for [`is_cluster`]. The kernels of the module `mlp_epoch` have two `pixel_buffers`, those of `mlp_epoch_mma` one.
pub const fn shape(n_clusters: u32, n_inputs: u32, n_second: u32, blocks: u32, pixel_buffers: u32) -> LaunchShape {
    let bytes = shared_bytes(n_inputs, n_second > 0, pixel_buffers);
    if !is_cluster(n_second, blocks) {
        return LaunchShape::new(blocks, THREADS).cooperative().with_shared(bytes);
    }
    LaunchShape::new(n_clusters * blocks, THREADS).with_cluster(blocks).with_shared(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_pixels_as_shared_memory_holds() {
        for bytes in [0, 60_000, 175_000, 200_000, 227 * 1024, 228 * 1024, 1 << 20] {
            for (layers, buffers) in [(1, 2), (2, 2), (1, 1), (2, 1)] {
                let most = max_inputs(bytes, layers, buffers);
                let needed = |n_inputs| shared_bytes(n_inputs, layers == 2, buffers);
                assert!(most.is_multiple_of(INPUT_MULTIPLE));
                assert!(most == 0 || needed(most) <= bytes, "{most} in {bytes}");
                assert!(most == 944 || needed(most + INPUT_MULTIPLE) > bytes, "{most} in {bytes}");
            }
        }
        let of_two = |layers| max_inputs(227 * 1024, layers, 2);
        assert_eq!((of_two(1), of_two(2)), (944, 848));
        assert!((16..944).contains(&max_inputs(200_000, 1, 2)));
        assert_eq!(
            (max_inputs(163 * 1024, 1, 1), max_inputs(163 * 1024, 2, 1), max_inputs(99 * 1024, 1, 1)),
            (944, 848, 0)
        );
        assert_eq!((shared_bytes(784, false, 2), shared_bytes(784, true, 2)), (218_992, 229_248));
        assert_eq!((shared_bytes(784, false, 1), shared_bytes(784, true, 1)), (155_504, 165_760));
        assert!(n_groups(MOST_INPUTS) == MOST_GROUPS && n_groups(MOST_INPUTS + INPUT_MULTIPLE) > MOST_GROUPS);
    }
}
