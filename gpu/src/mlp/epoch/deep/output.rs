//! The output layer's weights, and the biases of the second layer: each block has those of 16 units, in its last four warps, and sends them to all before the next step.

use crate::cuda::math::fma;
use crate::cuda::warp::{ALL, shuffle, shuffle_xor};
use crate::unroll::unroll;

use super::super::optimizer::{Optimizer, Step};
use super::super::tiles::Tiles;
use super::super::{BATCH, HIDDEN};
use super::mail::Post;
use super::store::{Share, Store};
use super::{Deep, PAIRS, SECOND_THREADS};

/// Threads of the last four warps: 16 units, eight pairs of classes.
const THREADS: u32 = HIDDEN * PAIRS;

/// The unit of the thread, of the layer, and its pair of classes.
#[device_inline]
pub(super) fn place<const HALVES: usize>(tiles: &Tiles<HALVES>, deep: &Deep) -> (u32, u32) {
    let own = tiles.me.thread() - SECOND_THREADS;
    (deep.sizes.rank * HIDDEN + own / PAIRS, own % PAIRS)
}

/// Whether the thread has `b3` of its pair of classes.
#[device_inline]
pub(super) fn has_third_bias<const HALVES: usize>(tiles: &Tiles<HALVES>, deep: &Deep) -> bool {
    place(tiles, deep).0 == 0
}

/// Sends the thread's share to all blocks.
///
/// # Safety
/// The whole warp calls it, one of the last four; the mail says when `round` may be sent.
#[device_inline]
pub(super) unsafe fn send_output<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    post: &Post,
    share: Share,
    round: u32,
) {
    let (unit, pair) = place(tiles, deep);
    let [low, high, bias, third_low, third_high] = share.map(f32::to_bits);
    let next = shuffle_xor(ALL, bias, PAIRS);
    let slots = post.slots();
    // SAFETY: unit and pair are those of the layer, and no other thread has them.
    unsafe {
        if pair < deep.pairs() {
            slots.send(post.output(unit, pair), [low, high], round);
            if has_third_bias(tiles, deep) {
                slots.send(post.third_bias(pair), [third_low, third_high], round);
            }
        }
        if pair == 0 && unit % 2 == 0 {
            slots.send(post.second_bias(unit / 2), [bias, next], round);
        }
    }
}

/// Puts the gradients of classes of all samples into shared memory. A barrier must follow before they are read.
///
/// # Safety
/// All threads of the last four warps call it; all blocks send gradients of classes of `round`.
#[device_inline]
pub(super) unsafe fn receive_class_gradients<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    post: &Post,
    round: u32,
) {
    let own = tiles.me.thread() - SECOND_THREADS;
    let of_classes = tiles.class_gradients(deep.sizes.n_inputs);
    unroll!(I in [0, 1, 2, 3] {
        let slot = own + I as u32 * THREADS;
        let (sample, pair) = (slot / PAIRS, slot % PAIRS);
        let words = match pair < deep.pairs() {
            // SAFETY: the sample's block sends the pairs of all classes that there are.
            true => unsafe { post.slots().receive(post.class_gradient(sample, pair), round) },
            false => [0; 2],
        };
        // SAFETY: samples below BATCH, pairs below PAIRS.
        unsafe { of_classes.set_unchecked(slot, u64::from(words[0]) | u64::from(words[1]) << 32) };
    });
    const _: () = assert!(4 * THREADS == BATCH * PAIRS && BATCH == 8 * PAIRS);
}

/// Changes the thread's share by the gradients of `round`, and sends it as the output layer of `next`. Before the last part of a step, adds the gradients to those of the parts before.
///
/// # Safety
/// All threads of the last four warps call it behind a barrier after [`receive_class_gradients`]; all blocks send values of `round`. The share was stored, and its moments.
#[device_inline]
pub(super) unsafe fn output_step<O: Optimizer, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    post: &Post,
    store: &Store,
    with: &impl Fn() -> Step,
    (round, next): (u32, u32),
) {
    let (unit, pair) = place(tiles, deep);
    let of_classes = tiles.class_gradients(deep.sizes.n_inputs);
    // Eight samples of 16 units are 128 slots.
    const OFFSETS: [usize; 8] = [0, 128, 256, 384, 512, 640, 768, 896];
    // SAFETY: the unit's samples are sent by all blocks.
    let values = unsafe { post.slots().receive_eight(post.value(unit, pair), OFFSETS, round) };
    let mut sums = Share::default();
    unroll!(EIGHT in [0, 1, 2, 3, 4, 5, 6, 7] {
        sums[2] += f32::from_bits(values[EIGHT][1]);
        unroll!(S in [0, 1, 2, 3, 4, 5, 6, 7] {
            let h = f32::from_bits(shuffle(ALL, values[EIGHT][0], (tiles.me.lane() & !7) + S as u32));
            // SAFETY: samples below BATCH.
            let gradients = unsafe { of_classes.get_unchecked((EIGHT as u32 * 8 + S as u32) * PAIRS + pair) };
            let (low, high) = (f32::from_bits(gradients as u32), f32::from_bits((gradients >> 32) as u32));
            sums[0] = fma(h, low, sums[0]);
            sums[1] = fma(h, high, sums[1]);
            sums[3] += low;
            sums[4] += high;
        });
    });
    let with = with();
    unroll!(STEP in [1, 2, 4] {
        sums[2] += shuffle_xor(ALL, sums[2], STEP as u32);
    });
    // SAFETY: the share is the thread's, and behind the first part the sums are those of the part before; the next round is sent once, by the last part.
    unsafe {
        if O::PARTS && !with.is_first {
            let before = store.share(Store::sums::<O>());
            unroll!(V in [0, 1, 2, 3, 4] {
                sums[V] += before[V];
            });
        }
        if !with.is_last {
            store.set_share(Store::sums::<O>(), sums);
            return;
        }
        let mut share = store.share(Store::WEIGHTS);
        let mut moments = [Share::default(); 2];
        unroll!(ARRAY in [0, 1] {
            if ARRAY < O::MOMENTS {
                moments[ARRAY] = store.share(Store::MOMENTS + ARRAY);
            }
        });
        unroll!(V in [0, 1, 2, 3, 4] {
            share[V] = if O::PLAIN {
                fma(-with.rate, sums[V], share[V])
            } else {
                let [first, second] = &mut moments;
                O::stepped(&with, &with.factors(1.0, 1.0), share[V], sums[V], [&mut first[V], &mut second[V]])
            };
        });
        unroll!(ARRAY in [0, 1] {
            if ARRAY < O::MOMENTS {
                store.set_share(Store::MOMENTS + ARRAY, moments[ARRAY]);
            }
        });
        store.set_share(Store::WEIGHTS, share);
        send_output(tiles, deep, post, share, next);
    }
}
