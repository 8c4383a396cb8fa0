//! Training: one launch is one epoch of one network, or of many side by side, a cluster each.

use crate::cuda::mma::{f16, load_matrix_x4, load_matrix_x4_transposed, permute, split_f16};
use crate::cuda::sync::{sync_cluster, sync_threads, sync_warp};
use crate::cuda::thread::{block_idx_x, block_rank_in_cluster, lane, thread_idx_x, warp_index};
use crate::cuda::warp::{ALL, shuffle_xor};
use crate::cuda::{kernel, math, memory};

use super::forward::{
    Hidden, Sizes, Tiles, Weights, for_each_weight, partial_logits, softmax, store_w2, sum_logits, tile_word,
};
use super::{BATCH, CLASSES, GROUP, HIDDEN, SCALE, THREADS, TILE_STRIDE, cluster_blocks, n_values, order, unroll};

/// One epoch of `n_models` networks of one shape on one training set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EpochTask {
    /// `[n_samples, n_inputs]`, aligned to 16 bytes.
    pub images: *const u8,
    /// `[n_samples]`, below `n_classes`.
    pub labels: *const u8,
    /// `[n_models, n_values]`: see [`n_values`]; updated.
    pub values: *mut f32,
    /// `[n_models]`.
    pub seeds: *const u32,
    /// `[n_models, n_steps]`.
    pub learning_rates: *const f32,
    /// `[n_models, n_samples]`: the order of the epoch, written here; then the losses' order too.
    pub order: *mut u32,
    /// `[n_models, n_samples]`: scratch.
    pub slots: *mut u32,
    /// `[n_models, n_counters(n_samples)]`: scratch.
    pub counters: *mut u32,
    /// `[n_models, n_samples]`: loss of each sample before its update, in the epoch's order.
    pub losses: *mut f32,
    /// `[n_models, n_steps]`: sum of the losses of each step.
    pub step_losses: *mut f32,
    /// Samples.
    pub n_samples: u32,
    /// Pixels: a multiple of [`INPUT_MULTIPLE`](super::INPUT_MULTIPLE), at most [`MAX_INPUTS`](super::MAX_INPUTS).
    pub n_inputs: u32,
    /// Hidden units.
    pub n_hidden: u32,
    /// Classes, at most [`CLASSES`].
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

/// Trains every network for the rest of an epoch.
///
/// # Safety
/// Launched with [`shape`](super::shape)`(n_models, n_inputs, n_hidden)`. The arrays are as [`EpochTask`] says and do not overlap.
#[kernel(max_threads = 256, min_blocks = 1)]
pub unsafe fn mlp_epoch_train(task: EpochTask) {
    let EpochTask { n_samples, n_inputs, n_hidden, n_classes, batch, .. } = task;
    let blocks = cluster_blocks(n_hidden);
    let model = (block_idx_x() / blocks) as usize;
    let sizes = Sizes { n_inputs, n_hidden, n_classes, blocks, rank: block_rank_in_cluster() };
    let tiles = Tiles::new(n_inputs);
    let n_steps = n_samples.div_ceil(batch);
    // SAFETY: one model's part of each array.
    let (values, order, losses) = unsafe {
        (
            task.values.add(model * n_values(n_inputs, n_hidden, n_classes)),
            task.order.add(model * n_samples as usize),
            task.losses.add(model * n_samples as usize),
        )
    };
    // SAFETY: this cluster's own part; the scratch is used by nothing else now.
    unsafe {
        order::make(
            memory::load(task.seeds, model),
            task.epoch,
            n_samples,
            order,
            task.slots.add(model * n_samples as usize),
            task.counters.add(model * order::n_counters(n_samples)),
            blocks,
            tiles.scratch(),
        );
    }
    let rows_of = |step: u32| (n_samples - step * batch).min(batch);
    // SAFETY: a step's rows are below n_samples.
    let sample_of = |step: u32, row: u32| unsafe { memory::load(order, (step * batch + row) as usize) };
    let prefetch = |step: u32| {
        if step < n_steps {
            // SAFETY: the order holds samples of the set; the buffer's last readers are behind a barrier.
            unsafe { tiles.copy_batch(step % 2, task.images, n_inputs, rows_of(step), |row| sample_of(step, row)) };
        }
    };

    let warp = warp_index();
    let (g, t) = (lane() / 4, lane() % 4);
    let mut weights: Weights = [[[0.0; 4]; 4]; 4];
    // SAFETY: numbers below n_values.
    for_each_weight(&mut weights, &sizes, |weight, number| *weight = unsafe { memory::load(values, number) });
    // Warps 4 and 5 keep W2 and b2, eight classes each.
    let class_tile = warp.wrapping_sub(4);
    let mut w2 = [0f32; 4];
    let mut b2 = [0f32; 2];
    if class_tile < 2 {
        let class = class_tile * 8 + 2 * t;
        // SAFETY: numbers below n_values.
        let load = |number: Option<usize>| number.map_or(0.0, |number| unsafe { memory::load(values, number) });
        unroll!(C in [0, 1, 2, 3] {
            w2[C] = load(sizes.second_layer(g + 8 * (C as u32 / 2), class + C as u32 % 2));
        });
        unroll!(C in [0, 1] {
            b2[C] = load(sizes.second_layer(HIDDEN, class + C as u32));
        });
        store_w2(&tiles, class_tile, w2);
        if g == 0 {
            tiles.b2().set(class, b2[0]);
            tiles.b2().set(class + 1, b2[1]);
        }
    }
    tiles.clear_pixels(n_inputs);
    // The tiles of gradients have columns for classes that are not there.
    unroll!(PART in [0, 1] {
        let mut word = thread_idx_x();
        while word < BATCH * TILE_STRIDE {
            tiles.dz2(PART).set(word, 0);
            word += THREADS;
        }
    });
    // Zeros are written before copies and other blocks' gradients land on them.
    sync_cluster();
    prefetch(task.from_step);

    let mut step = task.from_step;
    while step < n_steps {
        let rows = rows_of(step);
        memory::async_wait_all();
        // This batch is there, and everybody is done with the one before, whose place the next one takes.
        sync_threads();
        prefetch(step + 1);
        // SAFETY: a rate for every step.
        let learning_rate = unsafe { memory::load(task.learning_rates, model * n_steps as usize + step as usize) };
        let divisor = if task.mean == 1 { rows as f32 } else { 1.0 };
        let rate = learning_rate / divisor;

        let hidden = partial_logits(&tiles, step % 2, 0, &sizes, &weights, true);
        // Partial logits have arrived.
        sync_cluster();
        // SAFETY: rows below the batch's are samples of the set.
        unsafe { loss_gradient(&task, &tiles, &sizes, rows, losses, step, |row| sample_of(step, row)) };
        // Gradients of the logits have arrived; the tile `h` is complete.
        sync_cluster();
        if warp < 4 {
            hidden_gradient(&tiles, &hidden);
        } else if class_tile < 2 {
            second_layer_step(&tiles, class_tile, rate, &mut w2, &mut b2);
        }
        // The tile dz1 is complete, and W2 is no longer read.
        sync_threads();
        if class_tile < 2 {
            store_w2(&tiles, class_tile, w2);
            if g == 0 {
                tiles.b2().set(class_tile * 8 + 2 * t, b2[0]);
                tiles.b2().set(class_tile * 8 + 2 * t + 1, b2[1]);
            }
        }
        first_layer_step(&tiles, step % 2, &sizes, rate, &mut weights);
        step += 1;
    }

    // SAFETY: numbers below n_values; every weight has one owner, b2 the block of rank 0.
    for_each_weight(&mut weights, &sizes, |weight, number| unsafe { memory::store(values, number, *weight) });
    if class_tile < 2 {
        let class = class_tile * 8 + 2 * t;
        let store = |number: Option<usize>, value: f32| {
            if let Some(number) = number {
                // SAFETY: as above.
                unsafe { memory::store(values, number, value) };
            }
        };
        unroll!(C in [0, 1, 2, 3] {
            store(sizes.second_layer(g + 8 * (C as u32 / 2), class + C as u32 % 2), w2[C]);
        });
        if sizes.rank == 0 && g == 0 {
            unroll!(C in [0, 1] {
                store(sizes.second_layer(HIDDEN, class + C as u32), b2[C]);
            });
        }
    }
    // All losses are written.
    sync_cluster();
    let mut step = task.from_step + sizes.rank * THREADS + thread_idx_x();
    while step < n_steps {
        let mut sum = 0f32;
        let mut row = 0;
        while row < rows_of(step) {
            // SAFETY: places of this step.
            sum += unsafe { memory::load(losses, (step * batch + row) as usize) };
            row += 1;
        }
        // SAFETY: one thread a step.
        unsafe { memory::store(task.step_losses, model * n_steps as usize + step as usize, sum) };
        step += blocks * THREADS;
    }
}

/// Sums the logits of this block's samples, writes their losses, and sends `(p - onehot) SCALE`, split, to all blocks; 0 for rows that the batch lacks.
///
/// Sixteen lanes have a sample. Where a block has fewer than sixteen samples several do the same one, and share the blocks to send to.
///
/// # Safety
/// `losses` and the labels of `task` hold the samples of rows below `rows`.
#[inline(always)]
unsafe fn loss_gradient(
    task: &EpochTask,
    tiles: &Tiles,
    sizes: &Sizes,
    rows: u32,
    losses: *mut f32,
    step: u32,
    sample_of: impl Fn(u32) -> u32,
) {
    let per_block = sizes.samples_per_block();
    let (half_warp, class) = (thread_idx_x() / 16, thread_idx_x() % 16);
    let n_half_warps = THREADS / 16;
    let n_sets = if per_block < n_half_warps { n_half_warps >> sizes.log_samples() } else { 1 };
    let set = if per_block < n_half_warps { half_warp >> sizes.log_samples() } else { 0 };
    let mut sample = half_warp & (per_block.min(n_half_warps) - 1);
    while sample < per_block {
        let row = sizes.rank * per_block + sample;
        let there = row < rows;
        // SAFETY: the caller vouches for the rows that are there.
        let label = if there { unsafe { memory::load(task.labels, sample_of(row) as usize) as u32 } } else { CLASSES };
        let z = sum_logits(tiles, 0, sizes, sample, class);
        let (power, sum, log_sum) = softmax(z);
        let hot = class == label;
        if hot && set == 0 {
            // SAFETY: one lane has the label's class.
            unsafe { memory::store(losses, (step * task.batch + row) as usize, log_sum - z) };
        }
        let p = power / sum - if hot { 1.0 } else { 0.0 };
        let mine = if there && class < sizes.n_classes { p * SCALE } else { 0.0 };
        let other = shuffle_xor(ALL, mine, 1);
        // Even lanes send the large parts of the pair, odd lanes the small ones.
        let odd = class % 2 == 1;
        let parts = if odd { split_f16(other, mine) } else { split_f16(mine, other) };
        let at = tile_word(row, class / 2);
        let mut block = set;
        while block < sizes.blocks {
            if odd {
                tiles.dz2(1).set_in_cluster(block, at, parts[1]);
            } else {
                tiles.dz2(0).set_in_cluster(block, at, parts[0]);
            }
            block += n_sets;
        }
        sample += n_half_warps;
    }
}

/// `dz1 = dz2 W2ᵀ where h > 0`, times [`SCALE`], split into its tile: one of the first four warps, its row tile.
#[inline(always)]
fn hidden_gradient(tiles: &Tiles, hidden: &Hidden) {
    let warp = warp_index();
    let (g, t) = (lane() / 4, lane() % 4);
    let (matrix, in_matrix) = (lane() / 8, lane() % 8);
    // A: rows are samples. B: columns are hidden units, the rows of the tile, so it is loaded as it lies.
    let a_from = tile_word(warp * 16 + matrix % 2 * 8 + in_matrix, matrix / 2 * 4);
    let b_from = tile_word(matrix / 2 * 8 + in_matrix, matrix % 2 * 4);
    sync_warp(ALL);
    // SAFETY: the whole warp runs this; every lane's row lies in the tiles, written before a barrier.
    let (a, b) = unsafe {
        (
            [load_matrix_x4(tiles.dz2(0).address_of(a_from)), load_matrix_x4(tiles.dz2(1).address_of(a_from))],
            [load_matrix_x4(tiles.w2(0).address_of(b_from)), load_matrix_x4(tiles.w2(1).address_of(b_from))],
        )
    };
    unroll!(U in [0, 1] {
        let b = [[b[0][2 * U], b[0][2 * U + 1]], [b[1][2 * U], b[1][2 * U + 1]]];
        // SAFETY: as above.
        let (main, rest) = unsafe {
            let rest = f16([0.0; 4], a[1], b[0]);
            (f16([0.0; 4], a[0], b[0]), f16(rest, a[0], b[1]))
        };
        let mut dz1 = [0f32; 4];
        unroll!(C in [0, 1, 2, 3] {
            let gradient = (main[C] + rest[C]) * (1.0 / SCALE);
            dz1[C] = if hidden.h[U][C] > 0.0 { gradient } else { 0.0 };
        });
        let upper = split_f16(dz1[0], dz1[1]);
        let lower = split_f16(dz1[2], dz1[3]);
        let row = warp * 16 + g;
        unroll!(PART in [0, 1] {
            tiles.dz1(PART).set(tile_word(row, U as u32 * 4 + t), upper[PART]);
            tiles.dz1(PART).set(tile_word(row + 8, U as u32 * 4 + t), lower[PART]);
        });
    });
}

/// `W2 -= rate hᵀ dz2`, `b2 -= rate` times the column sums of dz2, for the eight classes of one warp.
#[inline(always)]
fn second_layer_step(tiles: &Tiles, class_tile: u32, rate: f32, w2: &mut [f32; 4], b2: &mut [f32; 2]) {
    /// 1.0 twice in half precision.
    const ONES: u32 = 0x3C00_3C00;
    let (matrix, in_matrix) = (lane() / 8, lane() % 8);
    let (mut main, mut rest, mut column_sums) = ([0f32; 4], [0f32; 4], [0f32; 4]);
    sync_warp(ALL);
    unroll!(K in [0, 1, 2, 3] {
        // A = hᵀ and B = dz2: both tiles have samples as rows, so both are loaded transposed.
        let a_from = tile_word(K as u32 * 16 + matrix / 2 * 8 + in_matrix, matrix % 2 * 4);
        let b_from = tile_word(K as u32 * 16 + matrix % 2 * 8 + in_matrix, class_tile * 4);
        // SAFETY: the whole warp runs this; every lane's row lies in the tiles, written before a barrier.
        unsafe {
            let a_large = load_matrix_x4_transposed(tiles.h(0).address_of(a_from));
            let a_small = load_matrix_x4_transposed(tiles.h(1).address_of(a_from));
            let [b0, b1, ..] = load_matrix_x4_transposed(tiles.dz2(0).address_of(b_from));
            let [c0, c1, ..] = load_matrix_x4_transposed(tiles.dz2(1).address_of(b_from));
            main = f16(main, a_large, [b0, b1]);
            rest = f16(rest, a_small, [b0, b1]);
            rest = f16(rest, a_large, [c0, c1]);
            column_sums = f16(column_sums, [ONES; 4], [b0, b1]);
            column_sums = f16(column_sums, [ONES; 4], [c0, c1]);
        }
    });
    let factor = -rate * (1.0 / SCALE);
    unroll!(C in [0, 1, 2, 3] {
        w2[C] = math::fma(factor, main[C] + rest[C], w2[C]);
    });
    unroll!(C in [0, 1] {
        b2[C] = math::fma(factor, column_sums[C], b2[C]);
    });
}

/// `W1 -= rate xᵀ dz1` for this warp's pixels; the gradient is made transposed, `[16 units, 32 pixels]` a group.
#[inline(always)]
fn first_layer_step(tiles: &Tiles, buffer: u32, sizes: &Sizes, rate: f32, weights: &mut Weights) {
    let (g, t) = (lane() / 4, lane() % 4);
    let (matrix, in_matrix) = (lane() / 8, lane() % 8);
    let row_words = super::row_bytes(sizes.n_inputs) / 4;
    let pixels = tiles.pixels::<u32>(buffer);
    // The sum over samples may take them in any order that A and B share: column 2t of A is sample t, 2t + 1 is t + 4, 2t + 8 is t + 8, 2t + 9 is t + 12, so
    // that a lane's four samples are four rows that lie in different banks.
    let sample = matrix / 2 * 8 + in_matrix / 2 + in_matrix % 2 * 4;
    let mut a = [[[0u32; 4]; 2]; 4];
    sync_warp(ALL);
    unroll!(K in [0, 1, 2, 3] {
        let from = tile_word(K as u32 * 16 + sample, matrix % 2 * 4);
        // SAFETY: the whole warp runs this; every lane's row lies in the tile, written before a barrier.
        unsafe {
            a[K][0] = load_matrix_x4_transposed(tiles.dz1(0).address_of(from));
            a[K][1] = load_matrix_x4_transposed(tiles.dz1(1).address_of(from));
        }
    });
    let factor = -rate * (1.0 / (255.0 * SCALE));
    unroll!(I in [0, 1, 2, 3] {
        if let Some(group) = sizes.group(I as u32) {
            let mut gradient = [[0f32; 4]; 4];
            sync_warp(ALL);
            unroll!(K in [0, 1, 2, 3] {
                let at = (K as u32 * 16 + t) * row_words + group * (GROUP / 4) + g;
                // SAFETY: rows K * 16 + t + 12 below BATCH; a group lies inside a row.
                let rows = unsafe {
                    [
                        pixels.get_unchecked(at),
                        pixels.get_unchecked(at + 4 * row_words),
                        pixels.get_unchecked(at + 8 * row_words),
                        pixels.get_unchecked(at + 12 * row_words),
                    ]
                };
                // Bytes j of two samples side by side, for j = 0, 1 and 2, 3.
                let low = [permute(rows[0], rows[1], 0x5140), permute(rows[0], rows[1], 0x7362)];
                let high = [permute(rows[2], rows[3], 0x5140), permute(rows[2], rows[3], 0x7362)];
                unroll!(PAIR in [0, 1] {
                    let low = crate::cuda::mma::bytes_to_f16(low[PAIR]);
                    let high = crate::cuda::mma::bytes_to_f16(high[PAIR]);
                    unroll!(J in [0, 1] {
                        // SAFETY: the whole warp runs this: `group` is the same for all lanes.
                        unsafe {
                            let d = &mut gradient[2 * PAIR + J];
                            *d = f16(*d, a[K][0], [low[J], high[J]]);
                            *d = f16(*d, a[K][1], [low[J], high[J]]);
                        }
                    });
                });
            });
            unroll!(J in [0, 1, 2, 3] {
                unroll!(C in [0, 1, 2, 3] {
                    weights[I][J][C] = math::fma(factor, gradient[J][C], weights[I][J][C]);
                });
            });
        }
    });
}
