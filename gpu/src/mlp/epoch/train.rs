//! Training: one launch is one epoch of one network, or of many side by side, a cluster each; of a network of more units than a cluster has, and on devices without clusters, it is a cooperative one.

use crate::cuda::math::opaque;
use crate::cuda::sync::sync_threads;
use crate::cuda::thread::{strided, thread_idx_x, warp_index};
use crate::cuda::{DeviceArgs, atomic, kernel, memory};

use super::backward::{Prefetched, backward};
#[cfg(feature = "mlp-epoch")]
use super::exchange::Cluster;
use super::exchange::{Exchange, Grid, Mail, Round};
use super::forward::{finish_logits, partial_logits};
use super::halves::halves;
use super::network::{Values, W2_WARP, load_network, store_network};
use super::optimizer::{
    Adam, Decay, Momentum, Optimizer, Rule, Sgd, State, Step, n_state_values as n_own_state_values,
};
use super::scale::{RANGE_WORDS, Table};
use super::tiles::{Sizes, Tiles, warp_indices};
use super::{
    BATCH, Four, MOST_BATCH, THREADS, are_blocks_of, is_cluster, n_mail_words, n_state_values, n_values, order,
};
use crate::unroll::unroll;

/// One epoch of `n_models` networks of one shape on one training set.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Networks.
    n_models: u32
)]
#[require((1..=MOST_BATCH).contains(&batch) && n_classes <= super::CLASSES && n_inputs.is_multiple_of(super::INPUT_MULTIPLE) && n_inputs <= super::MOST_INPUTS)]
#[require(from_step <= n_samples.div_ceil(batch))]
#[require(n_hidden <= super::MOST_HIDDEN && n_second <= super::MOST_HIDDEN && are_blocks_of([n_hidden, n_second], blocks))]
#[require(mail.is_none() == is_cluster(n_second, blocks) && arrivals.is_none() == is_cluster(n_second, blocks))]
#[require(first_model < n_models && (first_model == 0 || !is_cluster(n_second, blocks)))]
pub struct EpochTask {
    /// `[n_samples, n_inputs]`, aligned to 16 bytes.
    #[len(n_samples * n_inputs)]
    pub images: *const u8,
    /// `[n_samples]`, below `n_classes`.
    #[len(n_samples)]
    pub labels: *const u8,
    /// `[n_models, 1 + n_moments, n_values]`: see [`n_values`]; the network, then what the optimiser remembers of each value. Updated.
    #[len(n_models * (1 + n_moments) * n_values(n_inputs, [n_hidden, n_second], n_classes))]
    pub values: *mut f32,
    /// `[n_models]`.
    #[len(n_models)]
    pub seeds: *const u32,
    /// `[n_models, n_steps, n_rates]`: the learning rate. With Adam four numbers: the rate over `1 - beta1^t`, `1 / √(1 - beta2^t)`, what a weight is multiplied by before (decoupled decay), 0; aligned to 16
    /// bytes.
    #[len(n_models * n_samples.div_ceil(batch) * n_rates)]
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
    /// Units of the first hidden layer.
    pub n_hidden: u32,
    /// Classes, at most [`CLASSES`](super::CLASSES).
    pub n_classes: u32,
    /// Samples of a batch, at most [`MOST_BATCH`], by a kernel without parts [`BATCH`].
    pub batch: u32,
    /// First step to do.
    pub from_step: u32,
    /// The epoch, from 0.
    pub epoch: u32,
    /// 1 for the mean of a batch's gradients, 0 for their sum.
    pub mean: u32,
    /// Arrays that the kernel's optimiser remembers: 0 (SGD, with decay or without), 1 (momentum) or 2 (Adam).
    pub n_moments: u32,
    /// Numbers of a step in `learning_rates`: 1, or 4 with Adam.
    pub n_rates: u32,
    /// `[n_models, n_state_values(n_second, blocks, n_moments)]`: scratch, aligned to 16 bytes; null where there are none.
    #[len(n_models * n_state_values(n_second, blocks, n_moments))]
    #[nullable]
    pub state: *mut f32,
    /// The optimiser's constants; not read by plain SGD.
    pub rule: Rule,
    /// Number of the launch's first network; where its blocks are no cluster, of the only one.
    pub first_model: u32,
    /// `[n_mail_words(n_second, blocks)]`: scratch for what the blocks send each other, aligned to 16 bytes; null where they are a cluster.
    #[len(n_mail_words(n_second, blocks))]
    #[nullable]
    pub mail: *mut u64,
    /// Counter of the blocks at a barrier, 0 before the launch; null where they are a cluster.
    #[len(1)]
    #[nullable]
    pub arrivals: *mut u32,
    /// Units of the second hidden layer; 0 where there is none.
    pub n_second: u32,
    /// Blocks of a network: [`n_blocks`](super::n_blocks), but of the kernels of the module `mlp_epoch_mma` with one hidden layer [`MOST_BLOCKS`](super::MOST_BLOCKS).
    pub blocks: u32,
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $kernel:ident, $optimizer:ty, $exchange:ty, $halves:literal;)+) => {$(
        $(#[$doc])*
        ///
        /// Trains every network for the rest of an epoch: its order, then all its steps. The name says the optimiser; `_decay` and `_parts` take batches of more than 64 samples, `_short` multiplies numbers of 11 bits, and `_grid` has more units than a cluster has. Those with `mma` behind `epoch` need neither clusters nor warpgroups; they and `_grid` take batches of any size up to [`MOST_BATCH`] with moments.
        ///
        /// * Launch: [`shape`](super::shape), a cluster of 2 to 16 blocks a network, or, in a kernel whose name has `_grid` or `_mma`, a cooperative launch of 32 blocks for one network; 16 hidden units and 384 threads a block.
        /// * Reads: `images`, `labels`, `seeds`, `learning_rates`.
        /// * Writes: `values`, `order`, `losses`, `step_losses`, `range`; `slots`, `counters`, `state`, `mail` and `arrivals` are scratch.
        /// * Shared: dynamic: two batches of pixels, the operands of W₁, tiles of h, dz₂ and W₂, partial logits; 218,992 bytes for 784 pixels. In a kernel with `_mma` one batch of pixels; 155,504 bytes.
        /// * Cost: 4 × pixels × hidden + 6 × hidden × classes operations a sample by tensor cores, in ⌈samples / batch⌉ steps one after the other; each step loads and stores `state`.
        /// * Twin: `warpplay_cpu_ref::mlp::training::Training::epoch`.
        /// * Source: Ha and Beqaj, section 1.1; the partition into blocks is ours. Optimisers: PyTorch's definitions.
        ///
        /// # Safety
        /// `n_models` are those of the arrays. The arrays are as [`EpochTask`] says and do not overlap;
        #[kernel(
            shape = |n_models: u32| super::shape(n_models, task.n_inputs, task.n_second, task.blocks, <$exchange>::PIXEL_BUFFERS),
            max_threads = 384,
            min_blocks = 1,
            require = task.batch <= most_batch::<$optimizer>()
                && task.n_second == 0
                && <$exchange>::CLUSTER == is_cluster(task.n_second, task.blocks)
                && (task.n_moments, task.n_rates) == (<$optimizer>::MOMENTS as u32, <$optimizer>::RATES as u32)
        )]
        pub unsafe fn $kernel(task: EpochTask) {
            // SAFETY: the contract of the function is the kernel's.
            unsafe { train::<$optimizer, $exchange, $halves>(task) }
        }
    )+};
}

#[cfg(feature = "mlp-epoch")]
kernels! {
    /// Plain SGD, batches of at most 64 samples.
    mlp_epoch_train, Sgd, Cluster, 2;
    /// Plain SGD, batches of at most 64 samples, in one half.
    mlp_epoch_train_short, Sgd, Cluster, 1;
    /// SGD with weight decay or larger batches.
    mlp_epoch_train_decay, Decay, Cluster, 2;
    /// SGD with weight decay or larger batches, in one half.
    mlp_epoch_train_decay_short, Decay, Cluster, 1;
    /// SGD with momentum, also Nesterov's, batches of at most 64 samples.
    mlp_epoch_train_momentum, Momentum<false>, Cluster, 2;
    /// SGD with momentum, also Nesterov's, batches of at most 64 samples, in one half.
    mlp_epoch_train_momentum_short, Momentum<false>, Cluster, 1;
    /// SGD with momentum, also Nesterov's, larger batches.
    mlp_epoch_train_momentum_parts, Momentum<true>, Cluster, 2;
    /// SGD with momentum, also Nesterov's, larger batches, in one half.
    mlp_epoch_train_momentum_parts_short, Momentum<true>, Cluster, 1;
    /// Adam, AdamW or RMSprop, batches of at most 64 samples.
    mlp_epoch_train_adam, Adam<false>, Cluster, 2;
    /// Adam, AdamW or RMSprop, batches of at most 64 samples, in one half.
    mlp_epoch_train_adam_short, Adam<false>, Cluster, 1;
    /// Adam, AdamW or RMSprop, larger batches.
    mlp_epoch_train_adam_parts, Adam<true>, Cluster, 2;
    /// Adam, AdamW or RMSprop, larger batches, in one half.
    mlp_epoch_train_adam_parts_short, Adam<true>, Cluster, 1;
    /// Plain SGD, batches of at most 64 samples, more units than a cluster has.
    mlp_epoch_train_grid, Sgd, Grid<2>, 2;
    /// Plain SGD, batches of at most 64 samples, more units than a cluster has, in one half.
    mlp_epoch_train_grid_short, Sgd, Grid<2>, 1;
    /// SGD with weight decay or larger batches, more units than a cluster has.
    mlp_epoch_train_decay_grid, Decay, Grid<2>, 2;
    /// SGD with weight decay or larger batches, more units than a cluster has, in one half.
    mlp_epoch_train_decay_grid_short, Decay, Grid<2>, 1;
    /// SGD with momentum, also Nesterov's, more units than a cluster has.
    mlp_epoch_train_momentum_grid, Momentum<true>, Grid<2>, 2;
    /// SGD with momentum, also Nesterov's, more units than a cluster has, in one half.
    mlp_epoch_train_momentum_grid_short, Momentum<true>, Grid<2>, 1;
    /// Adam, AdamW or RMSprop, more units than a cluster has.
    mlp_epoch_train_adam_grid, Adam<true>, Grid<2>, 2;
    /// Adam, AdamW or RMSprop, more units than a cluster has, in one half.
    mlp_epoch_train_adam_grid_short, Adam<true>, Grid<2>, 1;
}

#[cfg(feature = "mlp-epoch-mma")]
kernels! {
    /// Plain SGD, batches of at most 64 samples, without warpgroups and clusters.
    mlp_epoch_mma_train, Sgd, Grid<1>, 2;
    /// Plain SGD, batches of at most 64 samples, without warpgroups and clusters, in one half.
    mlp_epoch_mma_train_short, Sgd, Grid<1>, 1;
    /// SGD with weight decay or larger batches, without warpgroups and clusters.
    mlp_epoch_mma_train_decay, Decay, Grid<1>, 2;
    /// SGD with weight decay or larger batches, without warpgroups and clusters, in one half.
    mlp_epoch_mma_train_decay_short, Decay, Grid<1>, 1;
    /// SGD with momentum, also Nesterov's, without warpgroups and clusters.
    mlp_epoch_mma_train_momentum, Momentum<true>, Grid<1>, 2;
    /// SGD with momentum, also Nesterov's, without warpgroups and clusters, in one half.
    mlp_epoch_mma_train_momentum_short, Momentum<true>, Grid<1>, 1;
    /// Adam, AdamW or RMSprop, without warpgroups and clusters.
    mlp_epoch_mma_train_adam, Adam<true>, Grid<1>, 2;
    /// Adam, AdamW or RMSprop, without warpgroups and clusters, in one half.
    mlp_epoch_mma_train_adam_short, Adam<true>, Grid<1>, 1;
}

/// Most samples of a batch of an optimiser's kernel.
#[cfg(not(target_arch = "nvptx64"))]
pub(super) const fn most_batch<O: Optimizer>() -> u32 {
    if O::PARTS { MOST_BATCH } else { BATCH }
}

/// The kernels' body.
///
/// # Safety
/// As the kernels say.
#[device_inline]
unsafe fn train<O: Optimizer, X: Exchange, const HALVES: usize>(task: EpochTask) {
    let EpochTask { n_samples, n_inputs, n_hidden, n_classes, blocks, .. } = task;
    let model = task.first_model + X::network(blocks);
    let sizes = Sizes { n_inputs, n_hidden, n_classes, blocks, rank: X::rank(), warp: warp_indices() };
    let tiles = Tiles::<HALVES>::new(n_inputs, false, X::PIXEL_BUFFERS);
    // SAFETY: the launch has a cluster for each model, or all of its blocks for one, and the arrays have a part for each model; the scratch in shared memory is used by nothing else until the order is there. All
    // threads of the launch come here.
    unsafe {
        let run = Run::<X>::new::<O, HALVES>(&task, &tiles, &sizes, model);
        let arrays = order::Arrays {
            order: run.order,
            slots: task.slots.add(run.model * n_samples as usize),
            counters: task.counters.add(run.model * order::n_counters(n_samples)),
        };
        order::make(
            memory::load(task.seeds, run.model),
            task.epoch,
            n_samples,
            arrays,
            (run.exchange, blocks),
            tiles.scratch(),
        );
        tiles.clear(n_inputs, X::PIXEL_BUFFERS);
        let warp = warp_index();
        let mut network = run.begin::<O, HALVES>(&tiles, &sizes);
        let class_tile = warp.wrapping_sub(W2_WARP);
        let mut part = Part::first(task.from_step);
        if X::PIXEL_BUFFERS == 2 {
            run.prefetch::<O, HALVES>(&tiles, part);
        }
        while part.step < run.n_steps {
            let tiles = tiles.renewed();
            if O::PLAIN {
                run.step::<O, HALVES>(&tiles, &sizes, part, (warp, class_tile), &mut network);
            } else {
                // Made anew: kept over the loop it would take registers that there are not.
                let run = Run::<X>::new::<O, HALVES>(&task, &tiles, &sizes, opaque(model));
                run.step::<O, HALVES>(&tiles, &sizes, part, (warp, class_tile), &mut network);
            }
            part = part.next::<O>(task.batch);
        }
        let model = if O::PLAIN { model } else { opaque(model) };
        Run::<X>::new::<O, HALVES>(&task, &tiles, &sizes, model).end::<O, HALVES>(&tiles, &sizes, &mut network);
    }
}

/// The samples of a step that are multiplied at once, at most [`BATCH`]: all of them where the kernel is one without parts, else every step has as many parts as a whole batch, of which the last may be empty.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub step: u32,
    /// Its number in the step.
    pub number: u32,
    /// Its number in the launch.
    pub round: u32,
}

impl Part {
    /// The first one of a launch.
    #[device_inline]
    pub fn first(step: u32) -> Self {
        Self { step, number: 0, round: 0 }
    }

    /// The one behind it.
    #[device_inline]
    pub fn next<O: Optimizer>(self, batch: u32) -> Self {
        let Self { step, number, round } = self;
        if self.is_last::<O>(batch) {
            Self { step: step + 1, number: 0, round: round + 1 }
        } else {
            Self { step, number: number + 1, round: round + 1 }
        }
    }

    /// Whether it is the last one of its step.
    #[device_inline]
    pub fn is_last<O: Optimizer>(&self, batch: u32) -> bool {
        !O::PARTS || (self.number + 1) * BATCH >= batch
    }

    /// Which of two buffers it has.
    #[device_inline]
    pub fn buffer<O: Optimizer>(&self) -> u32 {
        if O::PARTS { self.round % 2 } else { self.step % 2 }
    }
}

/// A network's part of the task: its model's part of each array.
pub(super) struct Run<'a, X> {
    pub task: &'a EpochTask,
    pub model: usize,
    pub values: *mut f32,
    pub order: *mut u32,
    pub losses: *mut f32,
    pub range: *mut u32,
    pub n_steps: u32,
    /// Threads below [`BATCH`] look after a row each.
    pub row: u32,
    // A block sends the next partial logits when all gradients of this step are there, so when all blocks have ended their round of logits; and the next
    // gradients when all those partial logits are there, so when all blocks have ended their round of gradients. In global memory too: a thread has what it waits for before its block's barrier, and only behind that barrier the
    // block sends what lets others write the slot anew.
    pub exchange: X,
    /// What the optimiser remembers.
    pub state: State,
}

impl<'a, X: Exchange> Run<'a, X> {
    /// The part of `model`.
    ///
    /// # Safety
    /// The arrays are as the task says, and have a part for the model.
    #[device_inline]
    pub unsafe fn new<O: Optimizer, const HALVES: usize>(
        task: &'a EpochTask,
        tiles: &Tiles<HALVES>,
        sizes: &Sizes,
        model: u32,
    ) -> Self {
        let EpochTask { n_samples, n_inputs, n_hidden, n_classes, batch, blocks, .. } = *task;
        let model = model as usize;
        // SAFETY: each array has a part for each model, as the caller says.
        unsafe {
            let state = task.state.wrapping_add(model * n_own_state_values(blocks, O::MOMENTS as u32));
            Self {
                task,
                model,
                values: task.values.add(model * (1 + O::MOMENTS) * n_values(n_inputs, [n_hidden, 0], n_classes)),
                order: task.order.add(model * n_samples as usize),
                losses: task.losses.add(model * n_samples as usize),
                range: task.range.add(model * RANGE_WORDS),
                n_steps: n_samples.div_ceil(batch),
                row: tiles.me.thread(),
                exchange: X::new(tiles, Mail { words: task.mail, arrivals: task.arrivals }),
                state: State::new::<O>(state, sizes.rank, tiles.me.thread()),
            }
        }
    }

    /// Values of a network.
    #[device_inline]
    const fn n_values(&self) -> usize {
        n_values(self.task.n_inputs, [self.task.n_hidden, 0], self.task.n_classes)
    }

    /// What a part's step is made with.
    ///
    /// # Safety
    /// The step is below `n_steps`.
    #[device_inline]
    pub unsafe fn step_of<O: Optimizer>(&self, part: Part) -> Step {
        let at = self.model * self.n_steps as usize + part.step as usize;
        let divisor = if self.task.mean == 1 { self.rows_of_step(part.step) as f32 } else { 1.0 };
        let mut rule = self.task.rule;
        let (is_first, is_last) = (!O::PARTS || part.number == 0, part.is_last::<O>(self.task.batch));
        if O::MOMENTS == 0 && !is_first {
            // The weights have decayed.
            rule.decay = 0.0;
        }
        // SAFETY: there are as many numbers for each step as the optimiser has, four of them aligned.
        unsafe {
            if O::PLAIN {
                let rate = memory::load(self.task.learning_rates, at) / divisor;
                return Step { rate, share: 1.0, inverse_root: 1.0, kept: 1.0, rule, is_first, is_last };
            }
            let share = 1.0 / divisor;
            if O::RATES == 1 {
                let rate = memory::load(self.task.learning_rates, at);
                return Step { rate, share, inverse_root: 1.0, kept: 1.0, rule, is_first, is_last };
            }
            let [rate, inverse_root, kept, _] = memory::load_quad(self.task.learning_rates, at * O::RATES);
            Step { rate, share, inverse_root, kept, rule, is_first, is_last }
        }
    }

    /// Samples of a step's batch.
    #[inline]
    pub fn rows_of_step(&self, step: u32) -> u32 {
        (self.task.n_samples - step * self.task.batch).min(self.task.batch)
    }

    /// Samples of a part.
    #[inline]
    pub fn rows_of<O: Optimizer>(&self, part: Part) -> u32 {
        let rows = self.rows_of_step(part.step);
        if O::PARTS { rows.saturating_sub(part.number * BATCH).min(BATCH) } else { rows }
    }

    /// Offset of a part's first sample in the epoch's order.
    #[inline]
    pub fn first_of<O: Optimizer>(&self, part: Part) -> u32 {
        let first = part.step * self.task.batch;
        if O::PARTS { first + part.number * BATCH } else { first }
    }

    /// Whether this thread looks after a row.
    #[device_inline]
    pub fn looks_after_row(&self) -> bool {
        self.row < BATCH
    }

    /// The sample of this thread's row in a part, or the first one where there is none.
    ///
    /// # Safety
    /// The order is there.
    #[inline]
    pub unsafe fn sample_of<O: Optimizer>(&self, part: Part) -> u32 {
        let there = self.looks_after_row() && part.step < self.n_steps && self.row < self.rows_of::<O>(part);
        // SAFETY: the row is one of the step's batch, so the index is below `n_samples`.
        if there { unsafe { memory::load(self.order, (self.first_of::<O>(part) + self.row) as usize) } } else { 0 }
    }

    /// The label of a sample, for threads that look after a row.
    ///
    /// # Safety
    /// `sample` is below `n_samples`.
    #[inline]
    pub unsafe fn label_of(&self, sample: u32) -> u8 {
        // SAFETY: the task has a label for each sample.
        if self.looks_after_row() { unsafe { memory::load(self.task.labels, sample as usize) } } else { 0 }
    }

    /// Asks for the pixels of a part, if there is one.
    ///
    /// # Safety
    /// The part's samples are in their list in shared memory; all have read what the buffer held before.
    #[inline]
    pub unsafe fn prefetch<O: Optimizer, const HALVES: usize>(&self, tiles: &Tiles<HALVES>, part: Part) {
        if part.step < self.n_steps {
            let samples = tiles.samples(part.buffer::<O>());
            let Self { task, .. } = *self;
            // SAFETY: the list has BATCH rows, of which it is asked for no others; its samples are those of the set, whose images the task has.
            unsafe {
                tiles.copy_batch(
                    X::pixels(part.buffer::<O>()),
                    task.images,
                    task.n_inputs,
                    self.rows_of::<O>(part),
                    |row| samples.get_unchecked(row),
                );
            }
        }
    }

    /// Lists the samples of the first two parts, and the labels of the first.
    ///
    /// # Safety
    /// The order is there.
    #[device_inline]
    pub unsafe fn list_first<O: Optimizer, const HALVES: usize>(&self, tiles: &Tiles<HALVES>) {
        let (part, row) = (Part::first(self.task.from_step), self.row);
        let next = part.next::<O>(self.task.batch);
        if self.looks_after_row() {
            // SAFETY: the order's elements are samples, and so is 0.
            unsafe {
                let (first, second) = (self.sample_of::<O>(part), self.sample_of::<O>(next));
                tiles.samples(part.buffer::<O>()).set(row, first);
                tiles.samples(next.buffer::<O>()).set(row, second);
                tiles.labels(part.buffer::<O>()).set(row, self.label_of(first) as u32);
            }
        }
    }

    /// Lists the samples of the first two parts, opens the mailboxes and loads the network.
    ///
    /// # Safety
    /// All threads of the network's blocks call it; shared memory is cleared, and the order is there.
    #[device_inline]
    unsafe fn begin<O: Optimizer, const HALVES: usize>(&self, tiles: &Tiles<HALVES>, sizes: &Sizes) -> Values {
        // SAFETY: `values` and `range` are the model's, as whoever made `self` says; behind the network's values are those that the optimiser remembers.
        unsafe {
            self.list_first::<O, HALVES>(tiles);
            self.exchange.open();
            self.state.bring::<O>(sizes, self.values.add(self.n_values()), self.n_values());
            // Its barrier is also the one before which everything is set up: the first copy is told where to go after it, and other blocks' values arrive.
            load_network(self.exchange, tiles, sizes, self.values, self.range)
        }
    }

    /// One part of a step: its samples forward and backward, and behind the last part the network's change.
    ///
    /// # Safety
    /// All threads of the network's blocks call it for each part in turn, after [`begin`](Self::begin).
    #[device_inline]
    unsafe fn step<O: Optimizer, const HALVES: usize>(
        &self,
        tiles: &Tiles<HALVES>,
        sizes: &Sizes,
        part: Part,
        (warp, class_tile): (u32, u32),
        network: &mut Values,
    ) {
        let Self { task, row, exchange, .. } = *self;
        let rows = self.rows_of::<O>(part);
        let next = part.next::<O>(task.batch);
        let (buffer, next_buffer) = (part.buffer::<O>(), next.buffer::<O>());
        if X::PIXEL_BUFFERS == 1 {
            // Everybody is done with the samples before, whose slot these take.
            sync_threads();
            // SAFETY: the part's samples are in their list since a barrier ago.
            unsafe { self.prefetch::<O, HALVES>(tiles, part) };
        }
        memory::async_wait_all();
        // These samples are there, and everybody is done with those before.
        sync_threads();
        // SAFETY: lists in shared memory hold samples; the step is below `n_steps`, and its rows have losses behind those of the steps before it. A buffer's last readers are behind a
        // barrier when it is filled.
        unsafe {
            // What the parts after this need is asked for now and put away later.
            let next_label =
                self.label_of(if self.looks_after_row() { tiles.samples(next_buffer).get(row) } else { 0 });
            let sample_after = self.sample_of::<O>(next.next::<O>(task.batch));
            // By Adam without parts, 3 % faster so; the others are faster where it is asked for below.
            let with = (O::MOMENTS == 2 && !O::PARTS).then(|| self.step_of::<O>(part));

            if thread_idx_x() == 0 {
                exchange.expect(LOGITS, sizes.logit_bytes());
                exchange.expect(GRADIENTS, HALVES as u32 * GRADIENT_BYTES);
            }
            let number = if O::PARTS { part.round } else { part.step - task.from_step };
            let logits = Round { buffer, mailbox: LOGITS, number };
            let gradients = Round { mailbox: GRADIENTS, ..logits };
            let hidden = partial_logits(exchange, tiles, sizes, logits, true);
            // The next samples are asked for while the first warpgroup works and all wait. Their slot is that of those before these.
            if X::PIXEL_BUFFERS == 2 {
                self.prefetch::<O, HALVES>(tiles, next);
            }
            exchange.wait_for_logits(tiles, sizes, logits);
            if tiles.me.thread() < X::FINISHERS {
                // Of a part without samples it may lie behind the losses; nothing is written then.
                let losses = self.losses.wrapping_add(self.first_of::<O>(part) as usize);
                loss_gradient(exchange, tiles, sizes, gradients, rows, losses);
            }
            if self.looks_after_row() {
                tiles.labels(next_buffer).set(row, next_label as u32);
                // The list of these samples was read a part ago, or, with one batch of pixels, before the barrier behind its copy.
                tiles.samples(buffer).set(row, sample_after);
            }
            // On its way while all wait.
            let with = with.unwrap_or_else(|| self.step_of::<O>(part));
            let early =
                Prefetched::load::<O, HALVES>((&self.state, tiles, sizes), &with, class_tile, X::pixels(buffer));
            exchange.wait_for_gradients(tiles, sizes, gradients);
            backward::<O, HALVES>(
                tiles,
                sizes,
                X::pixels(buffer),
                &with,
                (warp, class_tile),
                &hidden,
                network,
                (&self.state, early),
            );
        }
    }

    /// Writes the network back, adds up the losses of each step, and says where a number was not finite.
    ///
    /// # Safety
    /// All threads of the network's blocks call it after the last step.
    #[device_inline]
    unsafe fn end<O: Optimizer, const HALVES: usize>(
        &self,
        tiles: &Tiles<HALVES>,
        sizes: &Sizes,
        network: &mut Values,
    ) {
        // SAFETY: the values are the model's. Behind the barrier of all blocks all losses are written, and only atomics write to `range`.
        unsafe {
            let mut finite = store_network(tiles, sizes, network, self.values);
            self.state.take::<O>(sizes, self.values.add(self.n_values()), self.n_values());
            // All losses are written.
            self.exchange.sync();
            finite &= self.sum_losses(sizes);
            if !finite {
                atomic::max_u32(self.range, 1);
            }
        }
    }

    /// Adds up the losses of each step that the thread looks after; whether they are finite.
    ///
    /// # Safety
    /// All losses were written before a barrier of all blocks, whose threads all call it.
    #[device_inline]
    pub unsafe fn sum_losses(&self, sizes: &Sizes) -> bool {
        let Self { task, n_steps, .. } = *self;
        let mut finite = true;
        let first = task.from_step + sizes.rank * THREADS + thread_idx_x();
        for step in strided(first, n_steps, sizes.blocks * THREADS) {
            let mut sum = 0f32;
            // SAFETY: `batch` losses a step but for the last; a step's sum is written by one thread.
            unsafe {
                for row in 0..self.rows_of_step(step) {
                    sum += memory::load(self.losses, (step * task.batch + row) as usize);
                }
                memory::store(task.step_losses, self.model * n_steps as usize + step as usize, sum);
            }
            finite &= sum.is_finite();
        }
        finite
    }
}

/// Mailboxes of a cluster.
const LOGITS: u32 = 0;
const GRADIENTS: u32 = 1;

/// Bytes of gradients that a block gets in a round: a part of 64 rows of 16 classes.
const GRADIENT_BYTES: u32 = BATCH * 32;

/// Sums the logits of this block's samples, writes their losses, and sends `p - onehot`, scaled and split, to all blocks; 0 for rows that the batch lacks.
///
/// Four lanes have a sample, and every block of a cluster has four lanes that send the sample to it: 64 / blocks samples, blocks, four lanes are
/// [`Exchange::FINISHERS`].
///
/// # Safety
/// `losses` has a slot for each of the step's `rows`.
#[device_inline]
unsafe fn loss_gradient<X: Exchange, const HALVES: usize>(
    exchange: X,
    tiles: &Tiles<HALVES>,
    sizes: &Sizes,
    round: Round,
    rows: u32,
    losses: *mut f32,
) {
    let slot = tiles.me.thread() / 4;
    let (target, sample) = (slot >> sizes.log_samples(), slot & (sizes.samples_per_block() - 1));
    let row = (sizes.rank << sizes.log_samples()) + sample;
    let there = row < rows;
    // SAFETY: `row` is below BATCH, and has a slot of the losses where it is there; one lane has the label's class. The pairs are those of a row of the tile; `target` is below the
    // number of blocks, and has ended the round before, since its partial logits of this one are here.
    unsafe {
        let label = tiles.labels(round.buffer).get_unchecked(row);
        let logits = finish_logits::<X, HALVES>(tiles, round.buffer, sizes, sample);
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
        let low = halves::<HALVES>(gradient[0], gradient[1]);
        let high = halves::<HALVES>(gradient[2], gradient[3]);
        unroll!(PART in [0, 1] {
            if PART < HALVES {
                // Two words, four classes.
                exchange.send_gradient(tiles, sizes, round, target, row, quad, PART, [low[PART], high[PART]]);
            }
        });
    }
}
