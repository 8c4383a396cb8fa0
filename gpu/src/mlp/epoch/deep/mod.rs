//! Networks with two hidden layers of up to 512 units each: an epoch in one cooperative launch of 16 or 32 blocks.
//!
//! # Work partition
//! Each block has [`HIDDEN`] = 16 units of the first hidden layer: their column of `W1`, as with one hidden layer, and their rows of `W2`. It has 16 units of the second too: their `b2` and their rows of `W3`; block 0 has `b3`.
//! And it looks after `64 / blocks` samples of a step's 64:
//!
//! ```text
//!   x [64, inputs] u8 in shared memory, the next batch on its way
//!   h1 = relu(x W1)                          16 units of 64 samples, as with one hidden layer
//!   partial z2 = h1 W2                       -> to the block that looks after the sample    (sums)
//!   z2 summed over blocks, h2, logits, loss, dz3 = p - onehot, dh2 = dz3 W3ᵀ, dz2           for the block's samples, in single precision
//!   dz2 -> to all blocks  (gradients);  h2, dz2 -> to the block that has the unit (values);  dz3 -> to all  (classes)
//!   dz1 = dz2 W2ᵀ where h1 > 0;  W2 -= f h1ᵀ dz2                     by the first eight warps
//!   W3 -= f h2ᵀ dz3, b2, b3  -> to all blocks, for the next step  (output)   by the last four
//!   W1 -= f xᵀ dz1                           as with one hidden layer
//! ```
//!
//! What is sent goes through global memory. Each number of values, classes and output layer has that of its round beside it ([`Numbered`](crate::cuda::numbered::Numbered)), as gradients of one half have. Sums, and gradients of two halves, have a bit of it ([`Marked`](crate::cuda::marked::Marked)):
//! of 256 units each block reads 64 KiB of either a step.
//!
//! `W2` and what the optimiser remembers lie in global memory, each value with the thread that changes it: two tiles of 16 × 16 for each of eight warps, four with 32 blocks. So with plain SGD too there is a state.
//!
//! # Precision
//! As with one hidden layer: module `scale`. `W2`, hidden values and the gradients of the second layer are split as `W1` is, `a₁ + a₂` without a factor; they lie high enough in half precision (`network`). The output layer, all biases and all of a block's
//! own samples are in single precision.

mod classify;
mod head;
mod mail;
mod network;
mod output;
mod second;
mod store;
mod train;

use crate::cuda::kernel;
use crate::cuda::math::opaque;
use crate::cuda::shared::Shared;
use crate::cuda::sync::WholeWarp;

use super::classify::ClassifyTask;
use super::optimizer::{Adam, Decay, Momentum, Optimizer, Sgd};
use super::tiles::{Sizes, Tiles};
use super::train::EpochTask;
use super::{BATCH, CLASSES, Four, HIDDEN};
pub(super) use mail::n_mail_words;
pub(super) use store::n_state_values;

/// Warps that have `W2`.
const SECOND_WARPS: u32 = 8;
/// Their threads.
const SECOND_THREADS: u32 = 32 * SECOND_WARPS;
/// Values of all of a block's samples in the second hidden layer: 4 times 256 units, or 2 times 512.
const OWN_VALUES: u32 = 1024;
/// Pairs of classes.
const PAIRS: u32 = CLASSES / 2;
/// Most units of the second hidden layer.
const MOST_UNITS: u32 = super::MOST_HIDDEN;

/// Bytes of dynamic shared memory that a network with one hidden layer has not.
pub(super) const MORE_BYTES: u32 = 4 * MOST_UNITS + 4 * OWN_VALUES + 4 * BATCH * CLASSES + 16;

/// Sizes of a network with two hidden layers, and this block's rank in it.
#[derive(Clone, Copy)]
struct Deep {
    /// Pixels, the first hidden layer and the classes.
    pub sizes: Sizes,
    /// Units of the second hidden layer.
    pub n_second: u32,
}

impl Deep {
    /// The same, but what follows from it is to be computed anew: kept over a loop, it would take more registers than there are.
    #[device_inline]
    fn renewed(&self) -> Self {
        let (rank, blocks) = (opaque(self.sizes.rank), opaque(self.sizes.blocks));
        Self { sizes: Sizes { rank, blocks, ..self.sizes }, n_second: self.n_second }
    }

    /// Units of the second layer, with those that are not there: 16 a block.
    #[device_inline]
    fn units(&self) -> u32 {
        HIDDEN * self.sizes.blocks
    }

    /// Tiles of 16 units that each of the eight warps has.
    #[device_inline]
    fn tiles_per_warp(&self) -> u32 {
        self.sizes.blocks / SECOND_WARPS
    }

    /// Number of the first value behind the first layer's.
    #[device_inline]
    fn behind_first(&self) -> usize {
        (self.sizes.n_inputs as usize + 1) * self.sizes.n_hidden as usize
    }

    /// Number of the first value behind the second layer's.
    #[device_inline]
    fn behind_second(&self) -> usize {
        self.behind_first() + (self.sizes.n_hidden as usize + 1) * self.n_second as usize
    }

    /// Number of `W2` of this block's unit `unit` of the first layer and unit `to` of the second among a network's values, if there is one.
    #[device_inline]
    fn second(&self, unit: u32, to: u32) -> Option<usize> {
        let row = self.sizes.rank * HIDDEN + unit;
        (row < self.sizes.n_hidden && to < self.n_second)
            .then_some(self.behind_first() + row as usize * self.n_second as usize + to as usize)
    }

    /// The same for `b2` of unit `unit` of the second layer.
    #[device_inline]
    fn second_bias(&self, unit: u32) -> Option<usize> {
        let row = self.sizes.n_hidden as usize;
        (unit < self.n_second).then_some(self.behind_first() + row * self.n_second as usize + unit as usize)
    }

    /// The same for `W3` of unit `unit` of the second layer.
    #[device_inline]
    fn third(&self, unit: u32, class: u32) -> Option<usize> {
        (unit < self.n_second && class < self.sizes.n_classes)
            .then_some(self.behind_second() + unit as usize * self.sizes.n_classes as usize + class as usize)
    }

    /// The same for `b3`.
    #[device_inline]
    fn third_bias(&self, class: u32) -> Option<usize> {
        let row = self.n_second as usize;
        (class < self.sizes.n_classes)
            .then_some(self.behind_second() + row * self.sizes.n_classes as usize + class as usize)
    }

    /// Pairs of classes that there are.
    #[device_inline]
    fn pairs(&self) -> u32 {
        self.sizes.n_classes.div_ceil(2)
    }
}

impl<const HALVES: usize> Tiles<HALVES> {
    /// `h2` of the block's samples, `[units, samples]` f32.
    #[device_inline]
    fn second_values(&self) -> Shared<f32> {
        self.part(super::layout::DZ2, OWN_VALUES)
    }

    /// Each warp's share of the logits of the block's samples, `[SECOND_WARPS, samples, CLASSES]` f32.
    #[device_inline]
    fn logit_shares(&self) -> Shared<f32> {
        self.part(super::layout::DZ2 + 4 * OWN_VALUES, SECOND_WARPS * 4 * CLASSES)
    }

    /// dz3 of the block's samples, `[samples, CLASSES]` f32.
    #[device_inline]
    fn own_class_gradients(&self) -> Shared<f32> {
        self.part(super::layout::DZ2 + 4 * OWN_VALUES + 4 * SECOND_WARPS * 4 * CLASSES, 4 * CLASSES)
    }

    /// Sums of dz1 by four warps, `[4, row tile, unit tile, 32 lanes]`.
    #[device_inline]
    fn dz1_sums(&self) -> Shared<Four> {
        self.part(super::layout::SUMS, 4 * 8 * 32)
    }

    /// 1 / τ of each unit of the second layer, f32.
    #[device_inline]
    fn unscales(&self, n_inputs: u32) -> Shared<f32> {
        self.part(super::end_of_layout(n_inputs), MOST_UNITS)
    }

    /// dz2 of the block's samples, `[units, samples]` f32.
    #[device_inline]
    fn second_gradients(&self, n_inputs: u32) -> Shared<f32> {
        self.part(super::end_of_layout(n_inputs) + 4 * MOST_UNITS, OWN_VALUES)
    }

    /// Numbers of the step: the first four of [`Step`](super::optimizer::Step).
    #[device_inline]
    fn step_numbers(&self, n_inputs: u32) -> Shared<Four> {
        self.part(super::end_of_layout(n_inputs) + MORE_BYTES - 16, 1)
    }

    /// dz3 of all samples, pairs of f32: `[BATCH, PAIRS]`.
    #[device_inline]
    fn class_gradients(&self, n_inputs: u32) -> Shared<u64> {
        self.part(super::end_of_layout(n_inputs) + 4 * MOST_UNITS + 4 * OWN_VALUES, BATCH * PAIRS)
    }
}

const _: () = {
    use super::layout::{B2, DZ2, H, SUMS};
    assert!(
        DZ2 + 4 * OWN_VALUES + 4 * (SECOND_WARPS + 1) * 4 * CLASSES <= B2,
        "the samples' values lie where one hidden layer has dz2 and W2"
    );
    assert!(SUMS + 4 * 8 * 32 * 16 <= H, "the sums of dz1 lie where the partial logits do");
};

/// `c + a b` of operands in two halves that are not scaled apart.
#[device_inline]
fn add_product<const HALVES: usize>(whole: &WholeWarp, c: [f32; 4], a: &[[u32; 4]; 2], b: &[[u32; 2]; 2]) -> [f32; 4] {
    let c = crate::cuda::mma::f16(whole, c, a[0], b[0]);
    if HALVES == 1 {
        return c;
    }
    let c = crate::cuda::mma::f16(whole, c, a[1], b[0]);
    crate::cuda::mma::f16(whole, c, a[0], b[1])
}

macro_rules! train_kernels {
    ($($(#[$doc:meta])* $kernel:ident, $optimizer:ty, $pixel_buffers:literal, $halves:literal;)+) => {$(
        $(#[$doc])*
        ///
        /// Trains one network with two hidden layers for the rest of an epoch: its order, then all its steps. The name says the optimiser; `_short` multiplies numbers of 11 bits; `_mma` needs no warpgroups.
        ///
        /// * Launch: [`shape`](super::shape), a cooperative launch of 16 blocks, or of 32 where a layer has more than 256 units; 384 threads a block.
        /// * Reads: `images`, `labels`, `seeds`, `learning_rates`.
        /// * Writes: `values`, `order`, `losses`, `step_losses`, `range`; `slots`, `counters`, `state`, `mail` and `arrivals` are scratch.
        /// * Shared: dynamic: two batches of pixels, the operands of W₁, the tile of h₁, values of the block's samples; 229,248 bytes for 784 pixels. In a kernel with `_mma` one batch of pixels; 165,760 bytes.
        /// * Cost: 4 × pixels × hidden₁ + 6 × hidden₁ × hidden₂ operations a sample by tensor cores, and 6 × hidden₂ × classes in single precision, in ⌈samples / batch⌉ steps one after the other; each step loads and stores `state`.
        /// * Twin: `warpplay_cpu_ref::mlp::training::Training::epoch`.
        /// * Source: Ha and Beqaj, section 1.1, with one layer more; the partition into blocks is ours. Optimisers: PyTorch's definitions.
        ///
        /// # Safety
        /// `n_models` are those of the arrays. The arrays are as [`EpochTask`] says and do not overlap;
        #[kernel(
            shape = |n_models: u32| super::shape(n_models, task.n_inputs, task.n_second, task.blocks, $pixel_buffers),
            max_threads = 384,
            min_blocks = 1,
            require = task.batch <= super::train::most_batch::<$optimizer>()
                && task.n_second > 0
                && (task.n_moments, task.n_rates) == (<$optimizer>::MOMENTS as u32, <$optimizer>::RATES as u32)
        )]
        pub unsafe fn $kernel(task: EpochTask) {
            // SAFETY: the contract of the function is the kernel's.
            unsafe { train::train::<$optimizer, $pixel_buffers, $halves>(task) }
        }
    )+};
}

#[cfg(feature = "mlp-epoch")]
train_kernels! {
    /// Plain SGD, batches of at most 64 samples.
    mlp_epoch_train_deep, Sgd, 2, 2;
    /// Plain SGD, batches of at most 64 samples, in one half.
    mlp_epoch_train_deep_short, Sgd, 2, 1;
    /// SGD with weight decay or larger batches.
    mlp_epoch_train_decay_deep, Decay, 2, 2;
    /// SGD with weight decay or larger batches, in one half.
    mlp_epoch_train_decay_deep_short, Decay, 2, 1;
    /// SGD with momentum, also Nesterov's.
    mlp_epoch_train_momentum_deep, Momentum<true>, 2, 2;
    /// SGD with momentum, also Nesterov's, in one half.
    mlp_epoch_train_momentum_deep_short, Momentum<true>, 2, 1;
    /// Adam, AdamW or RMSprop.
    mlp_epoch_train_adam_deep, Adam<true>, 2, 2;
    /// Adam, AdamW or RMSprop, in one half.
    mlp_epoch_train_adam_deep_short, Adam<true>, 2, 1;
}

#[cfg(feature = "mlp-epoch-mma")]
train_kernels! {
    /// Plain SGD, batches of at most 64 samples, without warpgroups.
    mlp_epoch_mma_train_deep, Sgd, 1, 2;
    /// Plain SGD, batches of at most 64 samples, without warpgroups, in one half.
    mlp_epoch_mma_train_deep_short, Sgd, 1, 1;
    /// SGD with weight decay or larger batches, without warpgroups.
    mlp_epoch_mma_train_decay_deep, Decay, 1, 2;
    /// SGD with weight decay or larger batches, without warpgroups, in one half.
    mlp_epoch_mma_train_decay_deep_short, Decay, 1, 1;
    /// SGD with momentum, also Nesterov's, without warpgroups.
    mlp_epoch_mma_train_momentum_deep, Momentum<true>, 1, 2;
    /// SGD with momentum, also Nesterov's, without warpgroups, in one half.
    mlp_epoch_mma_train_momentum_deep_short, Momentum<true>, 1, 1;
    /// Adam, AdamW or RMSprop, without warpgroups.
    mlp_epoch_mma_train_adam_deep, Adam<true>, 1, 2;
    /// Adam, AdamW or RMSprop, without warpgroups, in one half.
    mlp_epoch_mma_train_adam_deep_short, Adam<true>, 1, 1;
}

macro_rules! classify_kernels {
    ($($(#[$doc:meta])* $kernel:ident, $pixel_buffers:literal, $halves:literal;)+) => {$(
        $(#[$doc])*
        ///
        /// Classifies images by one network with two hidden layers.
        ///
        /// * Launch: [`shape`](super::shape), a cooperative launch of 16 or 32 blocks, 384 threads a block.
        /// * Reads: `images`, `labels`, `values`.
        /// * Writes: `logits`, `classes`, `losses`, `active`, where they are wanted; `range`; `mail` and `arrivals` are scratch.
        /// * Shared: dynamic, as the kernels that train.
        /// * Cost: 2 × pixels × hidden₁ + 2 × hidden₁ × hidden₂ operations a sample by tensor cores.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`, `warpplay_cpu_ref::mlp::network::Network::losses`,
        ///   `warpplay_cpu_ref::mlp::network::Network::classes`.
        /// * Source: Ha and Beqaj, section 1.1 (forward, loss), with one layer more; the partition into blocks is ours.
        ///
        /// # Safety
        /// `n_models` are those of the arrays. The arrays are as [`ClassifyTask`] says and do not overlap.
        #[kernel(
            shape = |n_models: u32| super::shape(n_models, task.n_inputs, task.n_second, task.blocks, $pixel_buffers),
            max_threads = 384,
            min_blocks = 1,
            require = task.n_second > 0
        )]
        pub unsafe fn $kernel(task: ClassifyTask) {
            // SAFETY: the contract of the function is the kernel's.
            unsafe { classify::classify::<$pixel_buffers, $halves>(task) }
        }
    )+};
}

#[cfg(feature = "mlp-epoch")]
classify_kernels! {
    /// As single precision does.
    mlp_epoch_classify_deep, 2, 2;
    /// By numbers of 11 bits.
    mlp_epoch_classify_deep_short, 2, 1;
}

#[cfg(feature = "mlp-epoch-mma")]
classify_kernels! {
    /// As single precision does, without warpgroups.
    mlp_epoch_mma_classify_deep, 1, 2;
    /// By numbers of 11 bits, without warpgroups.
    mlp_epoch_mma_classify_deep_short, 1, 1;
}
