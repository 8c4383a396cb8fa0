//! Training: one launch is one epoch of one network.

use crate::cuda::math::opaque;
use crate::cuda::numbered::Numbered;
use crate::cuda::sync::sync_threads;
use crate::cuda::{atomic, memory};

use super::super::backward::{Prefetched, first_layer_step};
use super::super::exchange::{Exchange, Grid, Mail};
use super::super::forward::{Hidden, first_layer, leave_sums, sums_of_warpgroup};
use super::super::optimizer::{Optimizer, State, Step};
use super::super::tiles::{Sizes, Tiles, Weights, warp_indices};
use super::super::train::{EpochTask, Part, Run};
use super::super::{Four, n_state_values, n_values, order};
use super::head::{
    Output, logit_shares, receive_output, second_gradients, second_values, send_class_gradient, send_gradients, softmax,
};
use super::mail::Post;
use super::network::{bring, load, save, take};
use super::output::{output_step, receive_class_gradients, send_output};
use super::second::{first_gradient, put_first_values, second_step, send_sums};
use super::store::Store;
use super::{Deep, SECOND_WARPS};

/// The kernels' body.
///
/// # Safety
/// As the kernels say.
#[device_inline]
pub(super) unsafe fn train<O: Optimizer, const PIXEL_BUFFERS: u32, const HALVES: usize>(task: EpochTask) {
    let EpochTask { n_samples, n_inputs, n_hidden, n_classes, n_second, blocks, .. } = task;
    let sizes =
        Sizes { n_inputs, n_hidden, n_classes, blocks, rank: Grid::<PIXEL_BUFFERS>::rank(), warp: warp_indices() };
    let deep = Deep { sizes, n_second };
    let tiles = Tiles::<HALVES>::new(n_inputs, true, PIXEL_BUFFERS);
    // SAFETY: all blocks are the model's, and the arrays have a part for it; the scratch in shared memory is used by nothing else until the order is there. All threads of the launch come here.
    unsafe {
        let training = Training::<PIXEL_BUFFERS>::new::<O, HALVES>(&task, &tiles, &deep, task.first_model);
        let model = task.first_model as usize;
        let arrays = order::Arrays {
            order: training.run.order,
            slots: task.slots.add(model * n_samples as usize),
            counters: task.counters.add(model * order::n_counters(n_samples)),
        };
        let exchange = training.run.exchange;
        order::make(
            memory::load(task.seeds, model),
            task.epoch,
            n_samples,
            arrays,
            (exchange, blocks),
            tiles.scratch(),
        );
        tiles.clear(n_inputs, PIXEL_BUFFERS);
        let mut w1 = training.begin::<O, HALVES>(&tiles, &deep);
        let mut part = Part::first(task.from_step);
        if PIXEL_BUFFERS == 2 {
            training.run.prefetch::<O, HALVES>(&tiles, part);
        }
        let n_steps = training.run.n_steps;
        while part.step < n_steps {
            let (tiles, deep) = (tiles.renewed(), deep.renewed());
            // Made anew: kept over the loop it would take registers that there are not.
            let training = Training::<PIXEL_BUFFERS>::new::<O, HALVES>(&task, &tiles, &deep, opaque(task.first_model));
            training.step::<O, HALVES>(&tiles, &deep, part, &mut w1);
            part = part.next::<O>(task.batch);
        }
        Training::<PIXEL_BUFFERS>::new::<O, HALVES>(&task, &tiles, &deep, opaque(task.first_model))
            .end::<O, HALVES>(&tiles, &deep, &mut w1);
    }
}

/// A network's part of the task, and of the memory that two hidden layers need.
struct Training<'a, const PIXEL_BUFFERS: u32> {
    run: Run<'a, Grid<PIXEL_BUFFERS>>,
    post: Post,
    store: Store,
}

impl<'a, const PIXEL_BUFFERS: u32> Training<'a, PIXEL_BUFFERS> {
    /// The part of the launch's model.
    ///
    /// # Safety
    /// The arrays are as the task says, and have a part for the model.
    #[device_inline]
    unsafe fn new<O: Optimizer, const HALVES: usize>(
        task: &'a EpochTask,
        tiles: &Tiles<HALVES>,
        deep: &Deep,
        model: u32,
    ) -> Self {
        // SAFETY: each array has a part for each model, as the caller says.
        unsafe {
            let (model, hidden) = (model as usize, [task.n_hidden, task.n_second]);
            let values = task.values.add(model * (1 + O::MOMENTS) * n_values(task.n_inputs, hidden, task.n_classes));
            let state = task.state.add(model * n_state_values(task.n_second, task.blocks, O::MOMENTS as u32));
            let run = Run::new::<O, HALVES>(task, tiles, &deep.sizes, model as u32);
            let run = Run { values, state: State::new::<O>(state, deep.sizes.rank, tiles.me.thread()), ..run };
            let post = Post::new(Mail { words: task.mail, arrivals: task.arrivals }, deep.sizes.blocks);
            Self { run, post, store: Store::new::<O>(state, deep) }
        }
    }

    /// Values of a network.
    #[device_inline]
    const fn n_values(&self) -> usize {
        let task = self.run.task;
        n_values(task.n_inputs, [task.n_hidden, task.n_second], task.n_classes)
    }

    /// Lists the samples of the first two parts, loads the network, and sends the output layer of the first step.
    ///
    /// # Safety
    /// All threads of the launch call it; shared memory is cleared, and the order is there.
    #[device_inline]
    unsafe fn begin<O: Optimizer, const HALVES: usize>(&self, tiles: &Tiles<HALVES>, deep: &Deep) -> Weights {
        let Self { run, post, store } = self;
        // SAFETY: `values` are the model's; behind the network's are those that the optimiser remembers. The mail is 0 behind the barrier.
        unsafe {
            run.list_first::<O, HALVES>(tiles);
            post.open();
            bring::<O, HALVES>(tiles, deep, (&run.state, store), run.values.add(self.n_values()), self.n_values());
            post.sync();
            let w1 = load(tiles, deep, post, store, run.values);
            if tiles.me.warp() >= SECOND_WARPS {
                send_output(tiles, deep, post, store.share(Store::WEIGHTS), 1);
            }
            w1
        }
    }

    /// One part of a step: its samples forward and backward, and behind the last part the network's change.
    ///
    /// # Safety
    /// All threads of the launch call it for each part in turn, after [`begin`](Self::begin).
    #[device_inline]
    unsafe fn step<O: Optimizer, const HALVES: usize>(
        &self,
        tiles: &Tiles<HALVES>,
        deep: &Deep,
        part: Part,
        w1: &mut Weights,
    ) {
        let Self { run, post, store } = self;
        let (task, row, warp) = (run.task, run.row, tiles.me.warp());
        let rows = run.rows_of::<O>(part);
        let next = part.next::<O>(task.batch);
        let (buffer, next_buffer) = (part.buffer::<O>(), next.buffer::<O>());
        let round = 1 + if O::PARTS { part.round } else { part.step - task.from_step };
        let output = 1 + part.step - task.from_step;
        let pixels = Grid::<PIXEL_BUFFERS>::pixels(buffer);
        if PIXEL_BUFFERS == 1 {
            // Everybody is done with the samples before, whose slot these take.
            sync_threads();
            // SAFETY: the part's samples are in their list since a barrier ago.
            unsafe { run.prefetch::<O, HALVES>(tiles, part) };
        }
        memory::async_wait_all();
        // These samples are there, and everybody is done with those before.
        sync_threads();
        // SAFETY: lists in shared memory hold samples; the step is below `n_steps`, and its rows have losses behind those of the steps before it. A buffer's last readers are behind a
        // barrier when it is filled. What is sent is overwritten when all have read it, as the mail says.
        unsafe {
            let next_label = run.label_of(if run.looks_after_row() { tiles.samples(next_buffer).get(row) } else { 0 });
            let sample_after = run.sample_of::<O>(next.next::<O>(task.batch));
            if tiles.me.thread() == 0 {
                let Step { rate, share, inverse_root, kept, .. } = run.step_of::<O>(part);
                tiles.step_numbers(task.n_inputs).set_unchecked(0, Four([rate, share, inverse_root, kept]));
            }
            let positive = first_values(tiles, &deep.sizes, pixels).positive();
            // The tile `h` is complete.
            sync_threads();
            if warp < SECOND_WARPS {
                send_sums(tiles, deep, post, store, round);
            }
            if PIXEL_BUFFERS == 2 {
                run.prefetch::<O, HALVES>(tiles, next);
            }
            Numbered::meet();
            // Of a part without samples they may lie behind the losses; nothing is written then.
            let losses = run.losses.wrapping_add(run.first_of::<O>(part) as usize);
            let own = OwnSamples { tiles, deep, post, buffer, rows, losses, rounds: (round, output) };
            match deep.sizes.samples_per_block() {
                4 => own.learn::<4>(),
                _ => own.learn::<2>(),
            }
            if run.looks_after_row() {
                tiles.labels(next_buffer).set(row, next_label as u32);
                // The list of these samples was read a part ago, or, with one batch of pixels, before the barrier behind its copy.
                tiles.samples(buffer).set(row, sample_after);
            }
            Numbered::meet();
            // Read anew where they are needed: kept, they would take registers that there are not.
            let with = || {
                let Four([rate, share, inverse_root, kept]) = tiles.step_numbers(task.n_inputs).get_unchecked(0);
                let (is_first, is_last) = (!O::PARTS || part.number == 0, part.is_last::<O>(task.batch));
                Step { rate, share, inverse_root, kept, rule: task.rule, is_first, is_last }
            };
            if warp >= SECOND_WARPS {
                receive_class_gradients(tiles, deep, post, round);
            }
            // The gradients of classes are there.
            sync_threads();
            let mut dz1 = [[[0f32; 4]; 2]; 4];
            if warp < SECOND_WARPS {
                dz1 = second_step::<O, HALVES>(tiles, deep, post, store, &with, round);
            } else {
                output_step::<O, HALVES>(tiles, deep, post, store, &with, (round, output + 1));
            }
            first_gradient(tiles, positive, dz1);
            // The operand dz1 is complete.
            sync_threads();
            let mut with = with();
            if O::MOMENTS == 0 && !with.is_first {
                // `W1` has no sums of the parts, and has decayed in the first.
                with.rule.decay = 0.0;
            }
            // Without class tiles: the layers behind have changed.
            let early = Prefetched::load::<O, HALVES>((&run.state, tiles, &deep.sizes), &with, u32::MAX, pixels);
            first_layer_step::<O, HALVES>(tiles, pixels, &deep.sizes, &with, w1, (&run.state, early));
        }
    }

    /// Writes the network back, adds up the losses of each step, and says where a number was not finite.
    ///
    /// # Safety
    /// All threads of the launch call it after the last step.
    #[device_inline]
    unsafe fn end<O: Optimizer, const HALVES: usize>(&self, tiles: &Tiles<HALVES>, deep: &Deep, w1: &mut Weights) {
        let Self { run, post, store } = self;
        // SAFETY: the values are the model's. Behind the barrier of all blocks all losses are written, and only atomics write to `range`.
        unsafe {
            let mut finite = save(tiles, deep, store, w1, run.values);
            take::<O, HALVES>(tiles, deep, (&run.state, store), run.values.add(self.n_values()), self.n_values());
            // All losses are written.
            post.sync();
            finite &= run.sum_losses(&deep.sizes);
            if !finite {
                atomic::max_u32(run.range, 1);
            }
        }
    }
}

/// The hidden values of the first layer in the tile `h`; the first four warps keep those of their row tiles. A barrier must follow before the tile is read. All threads of the block call it.
#[device_inline]
pub(super) fn first_values<const HALVES: usize>(tiles: &Tiles<HALVES>, sizes: &Sizes, buffer: u32) -> Hidden {
    let z1 = sums_of_warpgroup(tiles, buffer, sizes);
    if tiles.me.warp() >= 4 {
        leave_sums(tiles, sizes, z1);
    }
    // The other warpgroups' sums must be there before the first adds them.
    sync_threads();
    let mut hidden = Hidden::default();
    if tiles.me.warp() < 4 {
        hidden = first_layer(tiles, z1);
        put_first_values(tiles, &hidden);
    }
    hidden
}

/// What a part's samples of a block are looked after with.
struct OwnSamples<'a, const HALVES: usize> {
    tiles: &'a Tiles<HALVES>,
    deep: &'a Deep,
    post: &'a Post,
    buffer: u32,
    /// Samples of the part.
    rows: u32,
    /// Their losses.
    losses: *mut f32,
    /// Of this part's messages, and of the output layer.
    rounds: (u32, u32),
}

impl<const HALVES: usize> OwnSamples<'_, HALVES> {
    /// From the sums of z2 of the block's `SAMPLES` samples to their gradients, which are sent; writes their losses.
    ///
    /// # Safety
    /// All threads of the block call it; all blocks send sums and output layer. `losses` has a slot for each of the rows.
    #[device_inline]
    unsafe fn learn<const SAMPLES: usize>(&self) {
        let Self { tiles, deep, post, buffer, rows, losses, rounds: (round, output) } = *self;
        let (warp, lane) = (tiles.me.warp(), tiles.me.lane());
        // SAFETY: between the phases are barriers; the row is below BATCH, and has a loss where it is there.
        unsafe {
            let mut received = Output::default();
            if warp < SECOND_WARPS {
                // Sent long ago, it is asked for before the sums are waited for.
                received = receive_output::<SAMPLES, HALVES>(tiles, deep, post, output);
                second_values(tiles, deep, post, round, &received);
            }
            // The hidden values are there.
            sync_threads();
            if warp < SECOND_WARPS {
                logit_shares::<SAMPLES, HALVES>(tiles, &received.weights);
            }
            // The shares of the logits are there.
            sync_threads();
            if warp < SAMPLES as u32 {
                let row = deep.sizes.rank * SAMPLES as u32 + warp;
                let there = row < rows;
                let logit = softmax(tiles, deep, &received);
                let hot = lane == tiles.labels(buffer).get_unchecked(row);
                if hot && there {
                    memory::store(losses, row as usize, logit.log_sum - logit.z);
                }
                // A row that is not there may hold anything, also what is no number.
                let gradient = if there { logit.p - if hot { 1.0 } else { 0.0 } } else { 0.0 };
                send_class_gradient(tiles, deep, post, round, gradient);
            }
            // The gradients of the logits are there.
            sync_threads();
            if warp < SECOND_WARPS {
                second_gradients::<SAMPLES, HALVES>(tiles, deep, post, round, &received.weights);
            }
            // Those of the second layer too.
            sync_threads();
            if warp < SECOND_WARPS {
                send_gradients::<SAMPLES, HALVES>(tiles, deep, post, round);
            }
        }
    }
}
