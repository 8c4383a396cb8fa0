//! Training: one launch is one epoch of one network, or of many side by side, a cluster each.

use crate::cuda::mailbox::Mailbox;
use crate::cuda::mma::{bytes_to_tiny_f16, f16, load_matrix_x4, load_matrix_x4_transposed, permute, split_f16_apart};
use crate::cuda::sync::{sync_cluster, sync_threads, whole_warp};
use crate::cuda::thread::{block_idx_x, block_rank_in_cluster, strided, thread_idx_x, warp_index};
use crate::cuda::warp::{ALL, shuffle};
use crate::cuda::{DeviceArgs, atomic, kernel, math, memory, wgmma};

use super::forward::{
    Hidden, Sizes, Tiles, Weights, finish_logits, operand, partial_logits, store_w1, store_w2, tile_word, warp_indices,
};
use super::network::{Values, W2_WARP, load_network, store_network};
use super::scale::{DZ1_BY_PRODUCT, RANGE_WORDS, SECOND, Table};
use super::{BATCH, Four, GROUP, OPERAND_BYTES, PIXEL, THREADS, WARPGROUPS, cluster_blocks, n_values, order};
use crate::unroll::unroll;

/// One epoch of `n_models` networks of one shape on one training set.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Networks.
    n_models: u32
)]
#[require((1..=BATCH).contains(&batch) && n_classes <= super::CLASSES && n_inputs.is_multiple_of(super::INPUT_MULTIPLE))]
#[require(from_step <= n_samples.div_ceil(batch))]
pub struct EpochTask {
    /// `[n_samples, n_inputs]`, aligned to 16 bytes.
    #[len(n_samples * n_inputs)]
    pub images: *const u8,
    /// `[n_samples]`, below `n_classes`.
    #[len(n_samples)]
    pub labels: *const u8,
    /// `[n_models, n_values]`: see [`n_values`]; updated.
    #[len(n_models * n_values(n_inputs, n_hidden, n_classes))]
    pub values: *mut f32,
    /// `[n_models]`.
    #[len(n_models)]
    pub seeds: *const u32,
    /// `[n_models, n_steps]`.
    #[len(n_models * n_samples.div_ceil(batch))]
    pub learning_rates: *const f32,
    /// `[n_models, n_samples]`: the order of the epoch, written here; then the losses' order too.
    #[len(n_models * n_samples)]
    pub order: *mut u32,
    /// `[n_models, n_samples]`: scratch.
    #[len(n_models * n_samples)]
    pub slots: *mut u32,
    /// `[n_models, n_counters(n_samples)]`: scratch.
    #[len(n_models * order::n_counters(n_samples))]
    pub counters: *mut u32,
    /// `[n_models, n_samples]`: loss of each sample before its update, in the epoch's order.
    #[len(n_models * n_samples)]
    pub losses: *mut f32,
    /// `[n_models, n_steps]`: sum of the losses of each step.
    #[len(n_models * n_samples.div_ceil(batch))]
    pub step_losses: *mut f32,
    /// `[n_models, RANGE_WORDS]`, 0 before the launch: the first word becomes 1 where a number left the range of the model's scales, so that its values and losses are worth nothing. See
    /// [`RANGE_WORDS`].
    #[len(n_models * RANGE_WORDS)]
    pub range: *mut u32,
    /// Samples.
    pub n_samples: u32,
    /// Pixels: a multiple of [`INPUT_MULTIPLE`](super::INPUT_MULTIPLE), at most [`max_inputs`](super::max_inputs) of the device.
    pub n_inputs: u32,
    /// Hidden units.
    pub n_hidden: u32,
    /// Classes, at most [`CLASSES`](super::CLASSES).
    pub n_classes: u32,
    /// Samples of a batch, at most [`BATCH`].
    pub batch: u32,
    /// First step to do.
    pub from_step: u32,
    /// The epoch, from 0.
    pub epoch: u32,
    /// 1 for the mean of a batch's gradients, 0 for their sum.
    pub mean: u32,
}

/// Trains every network for the rest of an epoch: its order, then all its steps.
///
/// * Launch: [`shape`](super::shape), a cluster of 2 to 16 blocks a network, 16 hidden units and 384 threads a block.
/// * Reads: `images`, `labels`, `seeds`, `learning_rates`.
/// * Writes: `values`, `order`, `losses`, `step_losses`, `range`; `slots` and `counters` are scratch.
/// * Shared: dynamic: two batches of pixels, the operands of W₁, tiles of h, dz₂ and W₂, partial logits; 202,608 bytes for 784 pixels.
/// * Cost: 4 × pixels × hidden + 6 × hidden × classes operations a sample by tensor cores, in ⌈samples / batch⌉ steps one after the other.
/// * Twin: `warpplay_cpu_ref::mlp::training::Training::epoch`.
/// * Source: Ha and Beqaj, section 1.1; the partition into blocks is ours.
///
/// # Safety
/// `n_models` are those of the arrays. The arrays are as [`EpochTask`] says and do not overlap.
#[kernel(
    shape = |n_models: u32| super::shape(n_models, task.n_inputs, task.n_hidden),
    max_threads = 384,
    min_blocks = 1
)]
pub unsafe fn mlp_epoch_train(task: EpochTask) {
    let EpochTask { n_samples, n_inputs, n_hidden, n_classes, batch, .. } = task;
    let blocks = cluster_blocks(n_hidden);
    let model = (block_idx_x() / blocks) as usize;
    let sizes = Sizes { n_inputs, n_hidden, n_classes, blocks, rank: block_rank_in_cluster(), warp: warp_indices() };
    let tiles = Tiles::new(n_inputs);
    let n_steps = n_samples.div_ceil(batch);
    // SAFETY: the launch has a cluster for each model, so a cluster is a model's, and the arrays have a part for each model; the scratch in shared memory is used by nothing else until the order is there. All
    // threads of the cluster come here.
    unsafe {
        let (values, order, losses, range) = (
            task.values.add(model * n_values(n_inputs, n_hidden, n_classes)),
            task.order.add(model * n_samples as usize),
            task.losses.add(model * n_samples as usize),
            task.range.add(model * RANGE_WORDS),
        );
        let arrays = order::Arrays {
            order,
            slots: task.slots.add(model * n_samples as usize),
            counters: task.counters.add(model * order::n_counters(n_samples)),
        };
        order::make(memory::load(task.seeds, model), task.epoch, n_samples, arrays, blocks, tiles.scratch());
        let row = thread_idx_x();
        let (logit_mail, gradient_mail) = (tiles.mail(0), tiles.mail(1));
        let run = Run { task: &task, model, values, order, losses, range, n_steps, row, logit_mail, gradient_mail };
        tiles.clear(n_inputs);
        let warp = warp_index();
        let mut network = run.begin(&tiles, &sizes);
        let class_tile = warp.wrapping_sub(W2_WARP);
        run.prefetch(&tiles, task.from_step);
        for step in task.from_step..n_steps {
            run.step(&tiles.renewed(), &sizes, step, (warp, class_tile), &mut network);
        }
        run.end(&tiles, &sizes, &mut network);
    }
}

/// A cluster's part of the task: its model's part of each array.
struct Run<'a> {
    task: &'a EpochTask,
    model: usize,
    values: *mut f32,
    order: *mut u32,
    losses: *mut f32,
    range: *mut u32,
    n_steps: u32,
    /// Threads below [`BATCH`] look after a row each.
    row: u32,
    // A block sends the next partial logits when all gradients of this step are there, so when all blocks have ended their round of logits; and the next
    // gradients when all those partial logits are there, so when all blocks have ended their round of gradients.
    logit_mail: Mailbox,
    gradient_mail: Mailbox,
}

impl Run<'_> {
    /// Samples of a step's batch.
    #[inline]
    fn rows_of(&self, step: u32) -> u32 {
        (self.task.n_samples - step * self.task.batch).min(self.task.batch)
    }

    /// Whether this thread looks after a row.
    #[inline(always)]
    fn looks_after_row(&self) -> bool {
        self.row < BATCH
    }

    /// The sample of this thread's row in step `step`, or the first one where there is none.
    ///
    /// # Safety
    /// The order is there.
    #[inline]
    unsafe fn sample_of(&self, step: u32) -> u32 {
        let there = self.looks_after_row() && step < self.n_steps && self.row < self.rows_of(step);
        // SAFETY: the row is one of the step's batch, so the index is below `n_samples`.
        if there { unsafe { memory::load(self.order, (step * self.task.batch + self.row) as usize) } } else { 0 }
    }

    /// The label of a sample, for threads that look after a row.
    ///
    /// # Safety
    /// `sample` is below `n_samples`.
    #[inline]
    unsafe fn label_of(&self, sample: u32) -> u8 {
        // SAFETY: the task has a label for each sample.
        if self.looks_after_row() { unsafe { memory::load(self.task.labels, sample as usize) } } else { 0 }
    }

    /// Asks for the pixels of step `step`, if there is one.
    ///
    /// # Safety
    /// The step's samples are in their list in shared memory; all have read what the buffer held before.
    #[inline]
    unsafe fn prefetch(&self, tiles: &Tiles, step: u32) {
        if step < self.n_steps {
            let samples = tiles.samples(step % 2);
            let Self { task, .. } = *self;
            // SAFETY: the list has BATCH rows, of which it is asked for no others; its samples are those of the set, whose images the task has.
            unsafe {
                tiles.copy_batch(step % 2, task.images, task.n_inputs, self.rows_of(step), |row| {
                    samples.get_unchecked(row)
                });
            }
        }
    }

    /// Lists the samples of the first two steps, opens the mailboxes and loads the network.
    ///
    /// # Safety
    /// All threads of the cluster call it; shared memory is cleared, and the order is there.
    #[inline(always)]
    unsafe fn begin(&self, tiles: &Tiles, sizes: &Sizes) -> Values {
        let (from_step, row) = (self.task.from_step, self.row);
        // SAFETY: the order's elements are samples, and so is 0. `values` and `range` are the model's, as whoever made `self` says.
        unsafe {
            if self.looks_after_row() {
                let (first, second) = (self.sample_of(from_step), self.sample_of(from_step + 1));
                tiles.samples(from_step % 2).set(row, first);
                tiles.samples((from_step + 1) % 2).set(row, second);
                tiles.labels(from_step % 2).set(row, self.label_of(first) as u32);
            }
            if thread_idx_x() == 0 {
                self.logit_mail.open();
                self.gradient_mail.open();
            }
            // Its cluster barrier is also the one before which everything is set up: the first copy is told where to go after it, and other blocks' values arrive.
            load_network(tiles, sizes, self.values, self.range)
        }
    }

    /// One step: the batch forward and backward, and the network's change.
    ///
    /// # Safety
    /// All threads of the cluster call it for each step in turn, after [`begin`](Self::begin).
    #[inline(always)]
    unsafe fn step(
        &self,
        tiles: &Tiles,
        sizes: &Sizes,
        step: u32,
        (warp, class_tile): (u32, u32),
        network: &mut Values,
    ) {
        let Self { task, row, logit_mail, gradient_mail, .. } = *self;
        let rows = self.rows_of(step);
        memory::async_wait_all();
        // This batch is there, and everybody is done with the one before.
        sync_threads();
        // SAFETY: lists in shared memory hold samples; the step is below `n_steps`, and its rows have losses behind those of the steps before it. A buffer's last readers are behind a
        // barrier when it is filled.
        unsafe {
            // What the steps after this need is asked for now and put away later.
            let next_label =
                self.label_of(if self.looks_after_row() { tiles.samples((step + 1) % 2).get(row) } else { 0 });
            let sample_after = self.sample_of(step + 2);
            let learning_rate = memory::load(task.learning_rates, self.model * self.n_steps as usize + step as usize);
            let divisor = if task.mean == 1 { rows as f32 } else { 1.0 };
            let rate = learning_rate / divisor;

            if thread_idx_x() == 0 {
                logit_mail.expect(sizes.logit_bytes());
                gradient_mail.expect(GRADIENT_BYTES);
            }
            let round = step - task.from_step;
            let hidden = partial_logits(tiles, step % 2, step % 2, logit_mail, sizes, true);
            // The next batch is asked for while the first warpgroup works and all wait. Its slot is that of the batch before this one.
            self.prefetch(tiles, step + 1);
            logit_mail.wait(round);
            if tiles.me.thread() < SLOTS {
                loss_gradient(
                    tiles,
                    gradient_mail,
                    sizes,
                    rows,
                    step % 2,
                    self.losses.add((step * task.batch) as usize),
                );
            }
            if self.looks_after_row() {
                tiles.labels((step + 1) % 2).set(row, next_label as u32);
                // The list of this step was read a step ago.
                tiles.samples(step % 2).set(row, sample_after);
            }
            gradient_mail.wait(round);
            backward(tiles, sizes, step % 2, rate, (warp, class_tile), &hidden, network);
        }
    }

    /// Writes the network back, adds up the losses of each step, and says where a number was not finite.
    ///
    /// # Safety
    /// All threads of the cluster call it after the last step.
    #[inline(always)]
    unsafe fn end(&self, tiles: &Tiles, sizes: &Sizes, network: &mut Values) {
        let Self { task, n_steps, .. } = *self;
        // SAFETY: the values are the model's. Behind the cluster's barrier all losses are written, `batch` a step but for the last; a step's sum is written by one thread, and only atomics
        // write to `range`.
        unsafe {
            let mut finite = store_network(tiles, sizes, network, self.values);
            // All losses are written.
            sync_cluster();
            let first = task.from_step + sizes.rank * THREADS + thread_idx_x();
            for step in strided(first, n_steps, sizes.blocks * THREADS) {
                let mut sum = 0f32;
                for row in 0..self.rows_of(step) {
                    sum += memory::load(self.losses, (step * task.batch + row) as usize);
                }
                finite &= sum.is_finite();
                memory::store(task.step_losses, self.model * n_steps as usize + step as usize, sum);
            }
            if !finite {
                atomic::max_u32(self.range, 1);
            }
        }
    }
}

/// A step's way back: changes the network by the gradients of the logits, which are in their tile.
///
/// # Safety
/// All threads of the block call it, each with its warp and class tile; `buffer` is the batch's.
#[inline(always)]
unsafe fn backward(
    tiles: &Tiles,
    sizes: &Sizes,
    buffer: u32,
    rate: f32,
    (warp, class_tile): (u32, u32),
    hidden: &Hidden,
    network: &mut Values,
) {
    let Values { w1: weights, w2, b2 } = network;
    // The tile `h` is complete.
    sync_threads();
    if warp < 4 {
        hidden_gradient(tiles, hidden);
    } else if class_tile < 2 {
        second_layer_step(tiles, class_tile, rate, w2, b2);
    }
    // The tile dz1 is complete, and W2 is no longer read.
    sync_threads();
    // The same condition in plain sight would put a barrier into each arm.
    if math::opaque(class_tile) < 2 {
        store_w2(tiles, class_tile, *w2);
        if tiles.me.g() == 0 {
            tiles.set_b2(class_tile * 8 + 2 * tiles.me.t(), *b2);
        }
    }
    first_layer_step(tiles, buffer, sizes, rate, weights);
}

/// Threads that finish logits: four for each sample and each block to send to.
const SLOTS: u32 = 4 * BATCH;

/// Bytes of gradients that a block gets in a round: both parts of 64 rows of 16 classes.
const GRADIENT_BYTES: u32 = BATCH * 2 * 32;

/// Sums the logits of this block's samples, writes their losses, and sends `p - onehot`, scaled and split, to all blocks; 0 for rows that the batch lacks.
///
/// Four lanes have a sample, and every block of the cluster has four lanes that send the sample to it: 64 / blocks samples, blocks, four lanes are
/// [`SLOTS`].
///
/// # Safety
/// `losses` has a slot for each of the step's `rows`.
#[inline(always)]
unsafe fn loss_gradient(
    tiles: &Tiles,
    gradient_mail: Mailbox,
    sizes: &Sizes,
    rows: u32,
    buffer: u32,
    losses: *mut f32,
) {
    let slot = tiles.me.thread() / 4;
    let (target, sample) = (slot >> sizes.log_samples(), slot & (sizes.samples_per_block() - 1));
    let row = (sizes.rank << sizes.log_samples()) + sample;
    let there = row < rows;
    // SAFETY: `row` is below BATCH, and has a slot of the losses where it is there; one lane has the label's class. The pairs are those of a row of the tile; `target` is below the
    // number of blocks, and has ended the round before, since its partial logits of this one are here.
    unsafe {
        let label = tiles.labels(buffer).get_unchecked(row);
        let logits = finish_logits(tiles, buffer, sizes, sample);
        let quad = tiles.me.lane() % 4;
        let share = 1.0 / logits.sum;
        let Four(scale) = tiles.scales().four(Table::Gradient, quad);
        let mut gradient = [0f32; 4];
        unroll!(C in [0, 1, 2, 3] {
            let hot = quad * 4 + C as u32 == label;
            if hot && there && target == 0 {
                memory::store(losses, row as usize, logits.log_sum - logits.z[C]);
            }
            let p = logits.powers[C] * share;
            // A row that is not there may hold anything, also what is no number.
            gradient[C] = if there { (p - if hot { 1.0 } else { 0.0 }) * scale[C] } else { 0.0 };
        });
        let low = split_f16_apart(gradient[0], gradient[1]);
        let high = split_f16_apart(gradient[2], gradient[3]);
        // Two words, four classes.
        let at = tile_word(row, 0) / 2 + quad;
        unroll!(PART in [0, 1] {
            let words = low[PART] as u64 | (high[PART] as u64) << 32;
            gradient_mail.send(tiles.dz2_pairs(PART), target, at, words);
        });
    }
}

/// `dz1 = dz2 W2ᵀ where h > 0`, scaled, split into its operand: one of the first four warps, its 16 samples. Rows 2g and 2g + 1 of the operand are samples
/// g and g + 8.
#[inline(always)]
fn hidden_gradient(tiles: &Tiles, hidden: &Hidden) {
    let warp = tiles.me.warp();
    let (matrix, in_matrix) = (tiles.me.lane() / 8, tiles.me.lane() % 8);
    // A: rows are samples. B: columns are hidden units, the rows of the tile, so it is loaded as it lies.
    let a_from = tile_word(warp * 16 + matrix % 2 * 8 + in_matrix, matrix / 2 * 4);
    let b_from = tile_word(matrix / 2 * 8 + in_matrix, matrix % 2 * 4);
    let whole = whole_warp();
    // SAFETY: the whole warp runs this, one of the first four, which have an operand each; every lane's row lies in the tiles, written before a barrier.
    unsafe {
        let (a, b) = (
            [
                load_matrix_x4(tiles.dz2(0).address_of_unchecked(a_from)),
                load_matrix_x4(tiles.dz2(1).address_of_unchecked(a_from)),
            ],
            [
                load_matrix_x4(tiles.w2(0).address_of_unchecked(b_from)),
                load_matrix_x4(tiles.w2(1).address_of_unchecked(b_from)),
            ],
        );
        unroll!(U in [0, 1] {
            let b = [[b[0][2 * U], b[0][2 * U + 1]], [b[1][2 * U], b[1][2 * U + 1]]];
            let (main, rest) = {
                let rest = f16(&whole, [0.0; 4], a[1], b[0]);
                (f16(&whole, [0.0; 4], a[0], b[0]), f16(&whole, rest, a[0], b[1]))
            };
            let mut dz1 = [0f32; 4];
            unroll!(C in [0, 1, 2, 3] {
                let gradient = math::fma(SECOND, rest[C], main[C]) * DZ1_BY_PRODUCT;
                dz1[C] = if hidden.h[U][C] > 0.0 { gradient } else { 0.0 };
            });
            unroll!(E in [0, 1] {
                tiles.set_dz1(warp, U as u32, E as u32, split_f16_apart(dz1[E], dz1[2 + E]));
            });
        });
        wgmma::publish();
    }
}

/// `W2 -= rate hᵀ dz2`, `b2 -= rate` times the column sums of dz2, for the eight classes of one warp.
#[inline(always)]
fn second_layer_step(tiles: &Tiles, class_tile: u32, rate: f32, w2: &mut [f32; 4], b2: &mut [f32; 2]) {
    /// 1.0 twice in half precision, and [`SECOND`].
    const ONES: u32 = 0x3C00_3C00;
    const SECONDS: u32 = 0x1000_1000;
    let (matrix, in_matrix) = (tiles.me.lane() / 8, tiles.me.lane() % 8);
    let (mut main, mut rest, mut column_sums) = ([0f32; 4], [0f32; 4], [0f32; 4]);
    let whole = whole_warp();
    unroll!(K in [0, 1, 2, 3] {
        // A = hᵀ and B = dz2: both tiles have samples as rows, so both are loaded transposed.
        let a_from = tile_word(K as u32 * 16 + matrix / 2 * 8 + in_matrix, matrix % 2 * 4);
        let b_from = tile_word(K as u32 * 16 + matrix % 2 * 8 + in_matrix, class_tile * 4);
        // SAFETY: the whole warp runs this; every lane's row lies in the tiles, written before a barrier.
        unsafe {
            let a_large = load_matrix_x4_transposed(tiles.h(0).address_of_unchecked(a_from));
            let a_small = load_matrix_x4_transposed(tiles.h(1).address_of_unchecked(a_from));
            let [b0, b1, ..] = load_matrix_x4_transposed(tiles.dz2(0).address_of_unchecked(b_from));
            let [c0, c1, ..] = load_matrix_x4_transposed(tiles.dz2(1).address_of_unchecked(b_from));
            main = f16(&whole, main, a_large, [b0, b1]);
            rest = f16(&whole, rest, a_small, [b0, b1]);
            rest = f16(&whole, rest, a_large, [c0, c1]);
            column_sums = f16(&whole, column_sums, [ONES; 4], [b0, b1]);
            column_sums = f16(&whole, column_sums, [SECONDS; 4], [c0, c1]);
        }
    });
    let scales = tiles.scales();
    let class = class_tile * 8 + 2 * tiles.me.t();
    let of_class = scales.pair(Table::SecondStepClass, class);
    let unscale = scales.pair(Table::Logit, class);
    unroll!(U in [0, 1] {
        let of_unit = scales.get(Table::SecondStep, tiles.me.g() + 8 * U as u32);
        unroll!(E in [0, 1] {
            let gradient = math::fma(SECOND, rest[2 * U + E], main[2 * U + E]);
            w2[2 * U + E] = math::fma(-rate * (of_unit * of_class[E]), gradient, w2[2 * U + E]);
        });
    });
    unroll!(C in [0, 1] {
        // 1 / scale of dz2.
        b2[C] = math::fma(-rate * (of_class[C] * unscale[C]), column_sums[C], b2[C]);
    });
}

/// `W1 -= rate xᵀ dz1` for the warpgroup's pixels, and the new parts of `W1`.
#[inline(always)]
fn first_layer_step(tiles: &Tiles, buffer: u32, sizes: &Sizes, rate: f32, weights: &mut Weights) {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let row_words = super::row_bytes(sizes.n_inputs) / 4;
    let pixels = tiles.pixels::<u32>(buffer);
    let first_word = math::opaque(t * row_words + 2 * (g % 4) + g / 4);
    // The compiler must see that it is the same for all lanes: else it moves each product's operand to a uniform register by itself.
    let dz1 = shuffle(ALL, tiles.dz1(), 0);
    // SAFETY: whether there is a quartet is the same for the whole block; the operands were published before a barrier.
    let (whole, dz1) = unsafe { (wgmma::WholeGroup::assume(), operand(dz1)) };
    let factor = -rate * (1.0 / (255.0 * PIXEL));
    let scales = tiles.scales();
    // The lane's words of 16 rows of its group in a quartet.
    let load = |number: u32| {
        let group = (number * WARPGROUPS + sizes.warp.0) * 4 + sizes.warp.1;
        let mut words = [[0u32; 4]; 4];
        if group < sizes.n_groups() {
            unroll!(K in [0, 1, 2, 3] {
                unroll!(R in [0, 1, 2, 3] {
                    // SAFETY: rows K * 16 + t + 12 below BATCH; a group lies inside a row.
                    words[K][R] = unsafe { pixels.get_unchecked(first_word + (K as u32 * 16 + R as u32 * 4) * row_words + group * (GROUP / 4)) };
                });
            });
        }
        words
    };
    unroll!(I in [0, 1, 2] {
        if let Some(first) = sizes.quartet(I as u32) {
            let mut gradient = [[0f32; 16]; 2];
            let words = load(I as u32);
            unroll!(K in [0, 1, 2, 3] {
                let rows = words[K];
                // Samples t and t + 8, then t + 4 and t + 12: bytes 0 of both and bytes 1 of both are rows g and g + 8 of the first product, bytes 2
                // and 3 of the second.
                let low = [permute(rows[0], rows[2], 0x5140), permute(rows[0], rows[2], 0x7362)];
                let high = [permute(rows[1], rows[3], 0x5140), permute(rows[1], rows[3], 0x7362)];
                let low = [bytes_to_tiny_f16(low[0]), bytes_to_tiny_f16(low[1])];
                let high = [bytes_to_tiny_f16(high[0]), bytes_to_tiny_f16(high[1])];
                unroll!(TILE in [0, 1] {
                    let a = [low[TILE][0], low[TILE][1], high[TILE][0], high[TILE][1]];
                    gradient[TILE] = wgmma::f16_n32(&whole, gradient[TILE], a, dz1.offset(K as u32 * OPERAND_BYTES));
                });
            });
            let gradient = wgmma::finish(&whole, gradient);
            // Loaded anew for each quartet: kept over all of it they would take registers that there are not.
            let factors = [0, 8].map(|first| scales.pair(Table::FirstStep, first + 2 * t).map(|scale| factor * scale));
            unroll!(TILE in [0, 1] {
                let gradient = &gradient[TILE];
                unroll!(W in [0, 1, 2, 3, 4, 5, 6, 7] {
                    // Columns 0 to 15 are of the large parts, 16 to 31 of the small ones. Weight 4u + 2r + e lies where the product leaves row g + 8r and
                    // column 8u + 2t + e.
                    let sum = math::fma(SECOND, gradient[8 + W], gradient[W]);
                    weights[I][TILE][W] = math::fma(factors[W / 4][W % 2], sum, weights[I][TILE][W]);
                });
                store_w1(tiles, sizes, first, TILE as u32, &weights[I][TILE]);
            });
        }
    });
    wgmma::publish();
}
