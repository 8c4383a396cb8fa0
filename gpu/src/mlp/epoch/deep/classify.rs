//! Classification: logits, classes and losses of any number of images, a batch at a time by all blocks.

use crate::cuda::numbered::Numbered;
use crate::cuda::sync::sync_threads;
use crate::cuda::warp::{ALL, shuffle_xor};
use crate::cuda::{atomic, memory};
use crate::unroll::unroll;

use super::super::classify::{ClassifyTask, mark_active, note_active};
use super::super::exchange::{Exchange, Grid, Mail};
use super::super::optimizer::Sgd;
use super::super::scale::RANGE_WORDS;
use super::super::tiles::{Sizes, Tiles, warp_indices};
use super::super::{BATCH, CLASSES, n_values};
use super::head::{Output, Positive, item, logit_shares, receive_output, second_values, softmax};
use super::mail::Post;
use super::network::load;
use super::output::send_output;
use super::second::send_sums;
use super::store::Store;
use super::train::first_values;
use super::{Deep, SECOND_WARPS};

/// The round of the output layer, which is sent once.
const OUTPUT: u32 = 1;

/// The kernels' body.
///
/// # Safety
/// As the kernels say.
#[device_inline]
pub(super) unsafe fn classify<const PIXEL_BUFFERS: u32, const HALVES: usize>(task: ClassifyTask) {
    let ClassifyTask { n_samples, n_inputs, n_hidden, n_classes, n_second, blocks, .. } = task;
    let model = task.first_model as usize;
    let sizes =
        Sizes { n_inputs, n_hidden, n_classes, blocks, rank: Grid::<PIXEL_BUFFERS>::rank(), warp: warp_indices() };
    let deep = Deep { sizes, n_second };
    let tiles = Tiles::<HALVES>::new(n_inputs, true, PIXEL_BUFFERS);
    let n_batches = n_samples.div_ceil(BATCH);
    // SAFETY: all blocks are the model's, which has a part of every array; shared memory is cleared before the network is loaded, and a buffer's last
    // readers are behind a barrier when it is filled. Batches have images below `n_samples`; units are those of the layers, and only atomics write to `active`. What is sent is overwritten when all have read it, as the mail says.
    unsafe {
        let (values, range) = (
            task.values.add(model * task.n_arrays as usize * n_values(n_inputs, [n_hidden, n_second], n_classes)),
            task.range.add(model * RANGE_WORDS),
        );
        let prefetch = |batch: u32, buffer: u32| {
            if batch < n_batches {
                let rows = (n_samples - batch * BATCH).min(BATCH);
                tiles.copy_batch(Grid::<PIXEL_BUFFERS>::pixels(buffer), task.images, n_inputs, rows, |row| {
                    batch * BATCH + row
                });
            }
        };
        tiles.clear(n_inputs, PIXEL_BUFFERS);
        let warp = tiles.me.warp();
        let post = Post::new(Mail { words: task.mail, arrivals: task.arrivals }, blocks);
        let store = Store::new::<Sgd>(task.state, &deep);
        post.open();
        post.sync();
        load(&tiles, &deep, &post, &store, values);
        if warp >= SECOND_WARPS {
            send_output(&tiles, &deep, &post, store.share(Store::WEIGHTS), OUTPUT);
        }
        if PIXEL_BUFFERS == 2 {
            prefetch(0, 0);
        }
        let (mut active, mut second_active) = ([[0f32; 2]; 2], Positive::default());
        let mut batch = 0;
        while batch < n_batches {
            let tiles = tiles.renewed();
            let (buffer, round) = (batch % 2, 1 + batch);
            if PIXEL_BUFFERS == 1 {
                // Everybody is done with the batch before, whose slot this one takes.
                sync_threads();
                prefetch(batch, buffer);
            }
            memory::async_wait_all();
            // This batch is there, and everybody is done with the one before, whose slot the next one may take.
            sync_threads();
            if PIXEL_BUFFERS == 2 {
                prefetch(batch + 1, 1 - buffer);
            }
            let hidden = first_values(&tiles, &sizes, Grid::<PIXEL_BUFFERS>::pixels(buffer));
            if warp < 4 {
                note_active(&hidden, batch * BATCH + warp * 16 + tiles.me.g(), n_samples, &mut active);
            }
            // The tile `h` is complete.
            sync_threads();
            if warp < SECOND_WARPS {
                send_sums(&tiles, &deep, &post, &store, round);
            }
            Numbered::meet();
            let answers = Answers { task: &task, tiles: &tiles, deep: &deep, post: &post, range, round };
            match sizes.samples_per_block() {
                4 => answers.give::<4>(batch * BATCH, &mut second_active),
                _ => answers.give::<2>(batch * BATCH, &mut second_active),
            }
            batch += 1;
        }
        if !task.active.is_null() {
            let to = task.active.add(model * (n_hidden + n_second) as usize);
            if warp < 4 {
                mark_active(to, &sizes, tiles.me.t(), &active);
            }
            if warp < SECOND_WARPS {
                let (units, _) = item(&tiles, &deep);
                unroll!(V in [0, 1, 2, 3] {
                    if second_active[V] && units[V] < n_second {
                        atomic::max_u32(to.add((n_hidden + units[V]) as usize), 1);
                    }
                });
            }
        }
    }
}

/// What a batch's samples of a block are answered with.
struct Answers<'a, const HALVES: usize> {
    task: &'a ClassifyTask,
    tiles: &'a Tiles<HALVES>,
    deep: &'a Deep,
    post: &'a Post,
    range: *mut u32,
    round: u32,
}

impl<const HALVES: usize> Answers<'_, HALVES> {
    /// Writes what is asked for about the block's `SAMPLES` samples of the batch whose first is `first`.
    ///
    /// # Safety
    /// All threads of the block call it; all blocks send sums and output layer. The arrays of the task are as it says.
    #[device_inline]
    unsafe fn give<const SAMPLES: usize>(&self, first: u32, active: &mut Positive) {
        let Self { task, tiles, deep, post, range, round } = *self;
        let (warp, lane) = (tiles.me.warp(), tiles.me.lane());
        let own = first + deep.sizes.rank * SAMPLES as u32;
        // SAFETY: between the phases are barriers; arrays are as the task says, where they are not null, samples below `n_samples`; each slot is written by one lane, and only atomics write to `range`.
        unsafe {
            let mut received = Output::default();
            if warp < SECOND_WARPS {
                received = receive_output::<SAMPLES, HALVES>(tiles, deep, post, OUTPUT);
                let positive = second_values(tiles, deep, post, round, &received);
                let there = own + item(tiles, deep).1 < task.n_samples;
                unroll!(V in [0, 1, 2, 3] {
                    active[V] |= there && positive[V];
                });
            }
            // The hidden values are there.
            sync_threads();
            if warp < SECOND_WARPS {
                logit_shares::<SAMPLES, HALVES>(tiles, &received.weights);
            }
            // The shares of the logits are there.
            sync_threads();
            if warp >= SAMPLES as u32 {
                return;
            }
            let logit = softmax(tiles, deep, &received);
            let class = lane % CLASSES;
            let mut best = (logit.z, class);
            unroll!(STEP in [1, 2, 4, 8] {
                let other = (shuffle_xor(ALL, best.0, STEP as u32), shuffle_xor(ALL, best.1, STEP as u32));
                if other.0 > best.0 || (other.0 == best.0 && other.1 < best.1) {
                    best = other;
                }
            });
            let number = own + warp;
            if number >= task.n_samples || lane >= deep.sizes.n_classes {
                return;
            }
            // With a logit that is not finite it is not either.
            if !logit.log_sum.is_finite() && class == 0 {
                atomic::max_u32(range, 1);
            }
            let at = task.first_model as usize * task.n_samples as usize + number as usize;
            if !task.classes.is_null() && class == 0 {
                memory::store(task.classes, at, best.1);
            }
            if !task.logits.is_null() {
                memory::store(task.logits, at * deep.sizes.n_classes as usize + class as usize, logit.z);
            }
            if !task.losses.is_null() && class == memory::load(task.labels, number as usize) as u32 {
                memory::store(task.losses, at, logit.log_sum - logit.z);
            }
        }
    }
}
