//! Classification: logits, classes and losses of any number of images, a batch a cluster at a time.

use crate::cuda::sync::{sync_cluster, sync_threads};
use crate::cuda::thread::{block_idx_x, block_rank_in_cluster, lane, thread_idx_x, warp_index};
use crate::cuda::view::{Atomic, Exclusive, Grid, Nullable, Slice};
use crate::cuda::warp::{ALL, shuffle_xor};
use crate::cuda::wgmma::WholeGroup;
use crate::cuda::{DeviceArgs, kernel, memory};

use super::forward::{Hidden, Sizes, Tiles, finish_logits, partial_logits, warp_indices};
use super::network::load_network;
use super::scale::RANGE_WORDS;
use super::{BATCH, HIDDEN, cluster_blocks, n_values, unroll};

/// One network on one set of images.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Networks.
    n_models: u32
)]
#[require(n_classes <= super::CLASSES && n_inputs.is_multiple_of(super::INPUT_MULTIPLE) && clusters_per_model >= 1)]
#[require(losses.is_none() || !labels.is_none())]
#[views]
pub struct ClassifyTask {
    /// `[n_samples, n_inputs]`, aligned to 16 bytes.
    #[shape(n_samples, n_inputs)]
    #[quads]
    pub images: *const u8,
    /// `[n_samples]`, below `n_classes`; null where `losses` is.
    #[len(n_samples)]
    #[nullable]
    pub labels: *const u8,
    /// As in [`EpochTask`](super::EpochTask), `[n_models, n_values]`.
    #[len(n_models * n_values(n_inputs, n_hidden, n_classes))]
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
    /// `[n_models, n_hidden]`: set to 1 where a sample makes the unit positive; or null.
    #[len(n_models * n_hidden)]
    #[nullable]
    pub active: *mut u32,
    /// As in [`EpochTask`](super::EpochTask): the first word becomes 1 where a sample's logits are worth nothing.
    #[len(n_models * RANGE_WORDS)]
    pub range: *mut u32,
    /// Samples.
    pub n_samples: u32,
    /// Pixels, as in [`EpochTask`](super::EpochTask).
    pub n_inputs: u32,
    /// Hidden units.
    pub n_hidden: u32,
    /// Classes.
    pub n_classes: u32,
    /// Clusters that share a model's batches.
    pub clusters_per_model: u32,
}

/// Classifies the images: logits, classes, losses and active units, as far as they are wanted.
///
/// * Launch: [`shape`](super::shape), `n_models` × `clusters_per_model` clusters of 2 to 16 blocks of 384 threads.
/// * Reads: `images`, `labels`, `values`.
/// * Writes: `logits`, `classes`, `losses`, `active`, where they are wanted; `range`.
/// * Shared: dynamic: two batches of pixels, the operands of W₁, tiles of h, dz₂ and W₂, partial logits; 202,608 bytes for 784 pixels.
/// * Cost: 2 × pixels × hidden + 2 × hidden × classes operations a sample by tensor cores.
/// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`, `warpplay_cpu_ref::mlp::network::Network::losses`,
///   `warpplay_cpu_ref::mlp::network::Network::classes`.
/// * Source: Ha and Beqaj, section 1.1 (forward, loss); the partition into blocks is ours.
///
/// # Safety
/// Launched with [`shape`](super::shape)`(n_models * clusters_per_model, n_inputs, n_hidden)`. The arrays are as [`ClassifyTask`] says and do not overlap.
#[kernel(max_threads = 384, min_blocks = 1)]
pub unsafe fn mlp_epoch_classify(task: ClassifyTask) {
    let ClassifyTask { n_samples, n_inputs, n_hidden, n_classes, .. } = task;
    let blocks = cluster_blocks(n_hidden);
    let cluster = block_idx_x() / blocks;
    let model = (cluster / task.clusters_per_model) as usize;
    let sizes = Sizes { n_inputs, n_hidden, n_classes, blocks, rank: block_rank_in_cluster(), warp: warp_indices() };
    let tiles = Tiles::new(n_inputs);
    let n_batches = n_samples.div_ceil(BATCH);
    let first = cluster % task.clusters_per_model;
    // SAFETY: the arrays are as the task says, with a part for each model. A sample is one cluster's, and of its outputs each element one lane's; units and words change by atomics alone. Whether a warp
    // multiplies by its warpgroup depends on sizes alone.
    let (model, images, whole) = unsafe { (Model::of(&task, model), task.views().images, WholeGroup::assume()) };
    let prefetch = |batch: u32, buffer: u32| {
        if batch < n_batches {
            let rows = (n_samples - batch * BATCH).min(BATCH);
            // SAFETY: images below n_samples, of whole vectors; the buffer's last readers are behind a barrier.
            unsafe { tiles.copy_batch(buffer, images, rows, |row| batch * BATCH + row) };
        }
    };

    tiles.clear(n_inputs);
    let warp = warp_index();
    let (g, t) = (lane() / 4, lane() % 4);
    if thread_idx_x() == 0 {
        tiles.mail(0).open();
        tiles.mail(1).open();
    }
    // Past its cluster barrier every block has begun, and is ready for other blocks' values.
    load_network(&tiles, &sizes, model.values, model.range);
    prefetch(first, 0);

    let mut active: Active = [[0.0; 2]; 2];
    let (mut batch, mut round, mut buffer) = (first, 0, 0);
    while batch < n_batches {
        let tiles = tiles.renewed();
        memory::async_wait_all();
        // This batch is there, and everybody is done with the one before, whose slot the next one takes.
        sync_threads();
        prefetch(batch + task.clusters_per_model, 1 - buffer);
        if thread_idx_x() == 0 {
            tiles.mail(buffer).expect(sizes.logit_bytes());
        }
        let hidden = partial_logits(&whole, &tiles, buffer, buffer, tiles.mail(buffer), &sizes, false);
        if warp < 4 {
            note_active(&mut active, &hidden, batch * BATCH + warp * 16 + g, n_samples);
        }
        // The other buffer and the other mailbox take the next partial logits: a block that is ahead sends them while this one's round goes on, but
        // those after them only when all blocks have ended this round.
        tiles.mail(buffer).wait(round / 2);
        answer(&model, &tiles, &sizes, n_samples, batch, buffer);
        batch += task.clusters_per_model;
        round += 1;
        buffer = 1 - buffer;
    }
    if warp < 4 {
        mark_active(&model, &active, sizes.rank * HIDDEN + 2 * t, n_hidden);
    }
    // No block leaves while another may still write to its shared memory.
    sync_cluster();
}

/// Which of the lane's units were ever positive: `[unit tile][unit 2t, 2t + 1]`, 1 or 0.
type Active = [[f32; 2]; 2];

/// Notes units that rows `row` and `row + 8` make positive, if there are such samples.
#[inline(always)]
fn note_active(active: &mut Active, hidden: &Hidden, row: u32, n_samples: u32) {
    unroll!(U in [0, 1] {
        unroll!(C in [0, 1, 2, 3] {
            let row = row + 8 * (C as u32 / 2);
            let value = if row < n_samples { hidden.h[U][C] } else { 0.0 };
            active[U][C % 2] = if value > 0.0 { 1.0 } else { active[U][C % 2] };
        });
    });
}

/// Marks the units that were ever positive, from unit `first` on, where that is asked for.
#[inline(always)]
fn mark_active(model: &Model, active: &Active, first: u32, n_hidden: u32) {
    let Some(marks) = model.active.get() else { return };
    unroll!(U in [0, 1] {
        unroll!(C in [0, 1] {
            let unit = first + U as u32 * 8 + C as u32;
            if active[U][C] > 0.0 && unit < n_hidden {
                marks.max(unit as usize, 1);
            }
        });
    });
}

/// A model's part of each array; what is not asked for is not there.
struct Model {
    labels: Nullable<Slice<u8>>,
    values: Slice<f32>,
    logits: Nullable<Grid<Exclusive<f32>, 2>>,
    classes: Nullable<Grid<Exclusive<u32>, 1>>,
    losses: Nullable<Grid<Exclusive<f32>, 1>>,
    active: Nullable<Atomic<u32>>,
    range: Atomic<u32>,
}

impl Model {
    /// Of model `model`.
    ///
    /// # Safety
    /// The arrays are as the task says, and have a part of that model. An element of its logits, classes and losses is used by one thread.
    #[inline(always)]
    unsafe fn of(task: &ClassifyTask, model: usize) -> Self {
        let ClassifyTask { n_samples, n_inputs, n_hidden, n_classes, .. } = *task;
        let (samples, units) = (n_samples as usize, n_hidden as usize);
        let n_values = n_values(n_inputs, n_hidden, n_classes);
        // SAFETY: the caller's promise; each length is that of a model's part, and what is made of a null pointer is not there.
        unsafe {
            let n_logits = samples * n_classes as usize;
            let logits = Exclusive::of(task.logits.wrapping_add(model * n_logits), n_logits);
            let classes = Exclusive::of(task.classes.wrapping_add(model * samples), samples);
            let losses = Exclusive::of(task.losses.wrapping_add(model * samples), samples);
            let active = Atomic::of(task.active.wrapping_add(model * units), units);
            Self {
                labels: task.views().labels,
                values: Slice::of(task.values.add(model * n_values), n_values),
                logits: Nullable::of(!task.logits.is_null(), Grid::of(logits, [n_samples, n_classes])),
                classes: Nullable::of(!task.classes.is_null(), Grid::of(classes, [n_samples])),
                losses: Nullable::of(!task.losses.is_null(), Grid::of(losses, [n_samples])),
                active: Nullable::of(!task.active.is_null(), active),
                range: Atomic::of(task.range.add(model * RANGE_WORDS), RANGE_WORDS),
            }
        }
    }
}

/// Writes what is asked for about this block's samples of a batch; four lanes a sample.
#[inline(always)]
fn answer(model: &Model, tiles: &Tiles, sizes: &Sizes, n_samples: u32, batch: u32, buffer: u32) {
    let per_block = sizes.samples_per_block();
    let slot = tiles.me.thread() / 4;
    // Lanes without a sample of their own do another one's sums, since all must call it.
    let sample = slot & (per_block - 1);
    let number = batch * BATCH + (sizes.rank << sizes.log_samples()) + sample;
    let there = slot < per_block && number < n_samples;
    let logits = finish_logits(tiles, buffer, sizes, sample);
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
    if there {
        // With a logit that is not finite it is not either.
        if !logits.log_sum.is_finite() && first_class == 0 {
            model.range.max(0, 1);
        }
        if let Some(classes) = model.classes.get()
            && first_class == 0
        {
            classes.set([number], best.1);
        }
        unroll!(C in [0, 1, 2, 3] {
            let class = first_class + C as u32;
            if let Some(values) = model.logits.get()
                && class < sizes.n_classes
            {
                values.set([number, class], logits.z[C]);
            }
            if let (Some(losses), Some(labels)) = (model.losses.get(), model.labels.get())
                && class == labels.get(number as usize) as u32
            {
                losses.set([number], logits.log_sum - logits.z[C]);
            }
        });
    }
}
