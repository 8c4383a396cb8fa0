//! Classification: logits, classes and losses of any number of images, a batch at a time by a cluster, or by all blocks of a cooperative launch.

use crate::cuda::sync::sync_threads;
use crate::cuda::thread::{lane, thread_idx_x, warp_index};
use crate::cuda::warp::{ALL, shuffle_xor};
use crate::cuda::{DeviceArgs, atomic, kernel, memory};

#[cfg(feature = "mlp-epoch")]
use super::exchange::Cluster;
use super::exchange::{Exchange, Grid, Mail, Round};
use super::forward::{Hidden, finish_logits, partial_logits};
use super::network::load_network;
use super::scale::RANGE_WORDS;
use super::tiles::{Sizes, Tiles, warp_indices};
use super::{BATCH, HIDDEN, are_blocks_of, is_cluster, n_mail_words, n_state_values, n_values};
use crate::unroll::unroll;

/// One network on one set of images.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Networks.
    n_models: u32
)]
#[require(n_classes <= super::CLASSES && n_inputs.is_multiple_of(super::INPUT_MULTIPLE) && n_inputs <= super::MOST_INPUTS && clusters_per_model >= 1)]
#[require(losses.is_none() || !labels.is_none())]
#[require(n_hidden <= super::MOST_HIDDEN && n_second <= super::MOST_HIDDEN && are_blocks_of([n_hidden, n_second], blocks))]
#[require(mail.is_none() == is_cluster(n_second, blocks) && arrivals.is_none() == is_cluster(n_second, blocks))]
#[require(first_model < n_models && (first_model == 0 && is_cluster(n_second, blocks) || clusters_per_model == 1 && !is_cluster(n_second, blocks)))]
pub struct ClassifyTask {
    /// `[n_samples, n_inputs]`, aligned to 16 bytes.
    #[len(n_samples * n_inputs)]
    pub images: *const u8,
    /// `[n_samples]`, below `n_classes`; null where `losses` is.
    #[len(n_samples)]
    #[nullable]
    pub labels: *const u8,
    /// As in [`EpochTask`](super::EpochTask), `[n_models, n_arrays, n_values]`, the networks first.
    #[len(n_models * n_arrays * n_values(n_inputs, [n_hidden, n_second], n_classes))]
    pub values: *const f32,
    /// `[n_models, n_samples, n_classes]`, or null.
    #[len(n_models * n_samples * n_classes)]
    #[nullable]
    pub logits: *mut f32,
    /// `[n_models, n_samples]`: the likeliest class, the lowest of equals; or null.
    #[len(n_models * n_samples)]
    #[nullable]
    pub classes: *mut u32,
    /// `[n_models, n_samples]`, or null.
    #[len(n_models * n_samples)]
    #[nullable]
    pub losses: *mut f32,
    /// `[n_models, n_hidden + n_second]`, first layer first: set to 1 where a sample makes the unit positive; or null.
    #[len(n_models * (n_hidden + n_second))]
    #[nullable]
    pub active: *mut u32,
    /// As in [`EpochTask`](super::EpochTask): the first word becomes 1 where a sample's logits are worth nothing.
    #[len(n_models * RANGE_WORDS)]
    pub range: *mut u32,
    /// Samples.
    pub n_samples: u32,
    /// Pixels, as in [`EpochTask`](super::EpochTask).
    pub n_inputs: u32,
    /// Units of the first hidden layer.
    pub n_hidden: u32,
    /// Classes.
    pub n_classes: u32,
    /// Clusters that share a model's batches.
    pub clusters_per_model: u32,
    /// Arrays of values of a model: 1, and one for each that an optimiser remembers.
    pub n_arrays: u32,
    /// As in [`EpochTask`](super::EpochTask).
    pub first_model: u32,
    /// As in [`EpochTask`](super::EpochTask).
    #[len(n_mail_words(n_second, blocks))]
    #[nullable]
    pub mail: *mut u64,
    /// As in [`EpochTask`](super::EpochTask).
    #[len(1)]
    #[nullable]
    pub arrivals: *mut u32,
    /// As in [`EpochTask`](super::EpochTask).
    pub n_second: u32,
    /// `[n_state_values(n_second, blocks, 0)]`: scratch, aligned to 16 bytes; null with one hidden layer.
    #[len(n_state_values(n_second, blocks, 0))]
    #[nullable]
    pub state: *mut f32,
    /// As in [`EpochTask`](super::EpochTask).
    pub blocks: u32,
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $kernel:ident, $exchange:ty, $halves:literal;)+) => {$(
        $(#[$doc])*
        ///
        /// Classifies the images: logits, classes, losses and active units, as far as they are wanted.
        ///
        /// * Launch: [`shape`](super::shape), 384 threads a block: `n_models` × `clusters_per_model` clusters of 2 to 16 blocks, or, in a kernel whose name has `_grid` or `_mma`, a cooperative launch of 32 blocks for one network.
        /// * Reads: `images`, `labels`, `values`.
        /// * Writes: `logits`, `classes`, `losses`, `active`, where they are wanted; `range`; `mail` and `arrivals` are scratch.
        /// * Shared: dynamic: two batches of pixels, the operands of W₁, tiles of h, dz₂ and W₂, partial logits; 218,992 bytes for 784 pixels. In a kernel with `_mma` one batch of pixels; 155,504 bytes.
        /// * Cost: 2 × pixels × hidden + 2 × hidden × classes operations a sample by tensor cores.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`, `warpplay_cpu_ref::mlp::network::Network::losses`,
        ///   `warpplay_cpu_ref::mlp::network::Network::classes`.
        /// * Source: Ha and Beqaj, section 1.1 (forward, loss); the partition into blocks is ours.
        ///
        /// # Safety
        /// `n_models` are those of the arrays. The arrays are as [`ClassifyTask`] says and do not overlap.
        #[kernel(
            shape = |n_models: u32| super::shape(n_models * task.clusters_per_model, task.n_inputs, task.n_second, task.blocks, <$exchange>::PIXEL_BUFFERS),
            max_threads = 384,
            min_blocks = 1,
            require = task.n_second == 0 && <$exchange>::CLUSTER == is_cluster(task.n_second, task.blocks)
        )]
        pub unsafe fn $kernel(task: ClassifyTask) {
            // SAFETY: the contract of the function is the kernel's.
            unsafe { classify::<$exchange, $halves>(task) }
        }
    )+};
}

#[cfg(feature = "mlp-epoch")]
kernels! {
    /// As single precision does.
    mlp_epoch_classify, Cluster, 2;
    /// By numbers of 11 bits.
    mlp_epoch_classify_short, Cluster, 1;
    /// As single precision does, more units than a cluster has.
    mlp_epoch_classify_grid, Grid<2>, 2;
    /// By numbers of 11 bits, more units than a cluster has.
    mlp_epoch_classify_grid_short, Grid<2>, 1;
}

#[cfg(feature = "mlp-epoch-mma")]
kernels! {
    /// As single precision does, without warpgroups and clusters.
    mlp_epoch_mma_classify, Grid<1>, 2;
    /// By numbers of 11 bits, without warpgroups and clusters.
    mlp_epoch_mma_classify_short, Grid<1>, 1;
}

/// The kernels' body.
///
/// # Safety
/// As the kernels say.
#[device_inline]
unsafe fn classify<X: Exchange, const HALVES: usize>(task: ClassifyTask) {
    let ClassifyTask { n_samples, n_inputs, n_hidden, n_classes, blocks, .. } = task;
    let network = X::network(blocks);
    let model = (task.first_model + network / task.clusters_per_model) as usize;
    let sizes = Sizes { n_inputs, n_hidden, n_classes, blocks, rank: X::rank(), warp: warp_indices() };
    let tiles = Tiles::<HALVES>::new(n_inputs, false, X::PIXEL_BUFFERS);
    let n_batches = n_samples.div_ceil(BATCH);
    let first = network % task.clusters_per_model;
    // SAFETY: the launch has `clusters_per_model` clusters for each model, or all of its blocks for one, so they are the models', whose part each has of every array; shared memory is cleared before the network is loaded, and a buffer's last
    // readers are behind a barrier when it is filled. Batches have images below `n_samples`; units are below `n_hidden`, and only atomics write to `active`.
    unsafe {
        let (values, range) = (
            task.values.add(model * task.n_arrays as usize * n_values(n_inputs, [n_hidden, 0], n_classes)),
            task.range.add(model * RANGE_WORDS),
        );
        let prefetch = |batch: u32, buffer: u32| {
            if batch < n_batches {
                let rows = (n_samples - batch * BATCH).min(BATCH);
                tiles.copy_batch(X::pixels(buffer), task.images, n_inputs, rows, |row| batch * BATCH + row);
            }
        };

        tiles.clear(n_inputs, X::PIXEL_BUFFERS);
        let (warp, g, t) = (warp_index(), lane() / 4, lane() % 4);
        let mail = Mail { words: task.mail, arrivals: task.arrivals };
        let exchange = X::new(&tiles, mail);
        exchange.open();
        // Past its barrier every block has begun, and is ready for other blocks' values.
        load_network(exchange, &tiles, &sizes, values, range);
        if X::PIXEL_BUFFERS == 2 {
            prefetch(first, 0);
        }

        let mut active = [[0f32; 2]; 2];
        let (mut batch, mut round, mut buffer) = (first, 0, 0);
        while batch < n_batches {
            let tiles = tiles.renewed();
            if X::PIXEL_BUFFERS == 1 {
                // Everybody is done with the batch before, whose slot this one takes.
                sync_threads();
                prefetch(batch, buffer);
            }
            memory::async_wait_all();
            // This batch is there, and everybody is done with the one before, whose slot the next one may take.
            sync_threads();
            if X::PIXEL_BUFFERS == 2 {
                prefetch(batch + task.clusters_per_model, 1 - buffer);
            }
            // The next partial logits go to the other buffer and the other mailbox, those after them come only when all blocks have ended this round.
            let (exchange, of_buffer) = (X::new(&tiles, mail), Round { buffer, mailbox: buffer, number: round / 2 });
            if thread_idx_x() == 0 {
                exchange.expect(buffer, sizes.logit_bytes());
            }
            let hidden = partial_logits(exchange, &tiles, &sizes, of_buffer, false);
            if warp < 4 {
                note_active(&hidden, batch * BATCH + warp * 16 + g, n_samples, &mut active);
            }
            exchange.wait_for_logits(&tiles, &sizes, of_buffer);
            answer::<X, HALVES>(&task, &tiles, &sizes, model, batch, buffer, range);
            batch += task.clusters_per_model;
            round += 1;
            buffer = 1 - buffer;
        }
        if !task.active.is_null() && warp < 4 {
            mark_active(task.active.add(model * n_hidden as usize), &sizes, t, &active);
        }
        // No block of a cluster leaves while another may still write to its shared memory.
        exchange.sync();
    }
}

/// Sets a unit to 1 where one of the lane's two samples, `first` and `first + 8`, makes it positive; samples from `n_samples` on do not count.
#[device_inline]
pub(super) fn note_active(hidden: &Hidden, first: u32, n_samples: u32, active: &mut [[f32; 2]; 2]) {
    unroll!(U in [0, 1] {
        unroll!(C in [0, 1, 2, 3] {
            let sample = first + 8 * (C as u32 / 2);
            let value = if sample < n_samples { hidden.h[U][C] } else { 0.0 };
            active[U][C % 2] = if value > 0.0 { 1.0 } else { active[U][C % 2] };
        });
    });
}

/// Marks the units that were active in a lane's samples, by a lane of one of the first four warps, which has column pair `t`.
///
/// # Safety
/// `to` has a word for each unit of the layer.
#[device_inline]
pub(super) unsafe fn mark_active(to: *mut u32, sizes: &Sizes, t: u32, active: &[[f32; 2]; 2]) {
    unroll!(U in [0, 1] {
        unroll!(C in [0, 1] {
            let unit = sizes.rank * HIDDEN + U as u32 * 8 + 2 * t + C as u32;
            if active[U][C] > 0.0 && unit < sizes.n_hidden {
                // SAFETY: the array has a word for each of `n_hidden` units; only atomics write there.
                unsafe { atomic::max_u32(to.add(unit as usize), 1) };
            }
        });
    });
}

/// Writes what is asked for about this block's samples of a batch; four lanes a sample.
///
/// # Safety
/// The arrays of `task` are as it says.
#[device_inline]
unsafe fn answer<X: Exchange, const HALVES: usize>(
    task: &ClassifyTask,
    tiles: &Tiles<HALVES>,
    sizes: &Sizes,
    model: usize,
    batch: u32,
    buffer: u32,
    range: *mut u32,
) {
    let per_block = sizes.samples_per_block();
    let slot = tiles.me.thread() / 4;
    // Lanes without a sample of their own do another one's sums, since all must call it.
    let sample = slot & (per_block - 1);
    let number = batch * BATCH + (sizes.rank << sizes.log_samples()) + sample;
    let there = slot < per_block && number < task.n_samples;
    let logits = finish_logits::<X, HALVES>(tiles, buffer, sizes, sample);
    let first_class = tiles.me.lane() % 4 * 4;
    let mut best = (logits.z[0], first_class);
    unroll!(C in [1, 2, 3] {
        best = if logits.z[C] > best.0 { (logits.z[C], first_class + C as u32) } else { best };
    });
    unroll!(STEP in [1, 2] {
        let other = (shuffle_xor(ALL, best.0, STEP as u32), shuffle_xor(ALL, best.1, STEP as u32));
        if other.0 > best.0 || (other.0 == best.0 && other.1 < best.1) {
            best = other;
        }
    });
    // SAFETY: the arrays are as the task says, where they are not null, samples below `n_samples`; each slot is written by one lane, and only atomics write to `range`.
    unsafe {
        if there {
            // With a logit that is not finite it is not either.
            if !logits.log_sum.is_finite() && first_class == 0 {
                atomic::max_u32(range, 1);
            }
            let at = model * task.n_samples as usize + number as usize;
            if !task.classes.is_null() && first_class == 0 {
                memory::store(task.classes, at, best.1);
            }
            unroll!(C in [0, 1, 2, 3] {
                let class = first_class + C as u32;
                if !task.logits.is_null() && class < sizes.n_classes {
                    memory::store(task.logits, at * sizes.n_classes as usize + class as usize, logits.z[C]);
                }
                if !task.losses.is_null() && class == memory::load(task.labels, number as usize) as u32 {
                    memory::store(task.losses, at, logits.log_sum - logits.z[C]);
                }
            });
        }
    }
}
