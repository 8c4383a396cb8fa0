//! What a block does with its own samples: the second hidden layer, the logits, and, in training, their gradients; in single precision.

use crate::cuda::math::{self, fma};
use crate::cuda::warp::{ALL, shuffle_xor};
use crate::unroll::unroll;

use super::super::halves::near_halves;
use super::super::scale::{Table, W2_BY_SCALES};
use super::super::tiles::Tiles;
use super::super::{CLASSES, HIDDEN};
use super::mail::{Post, bit_of_gradients, mark_of_sums};
use super::{Deep, PAIRS, SECOND_THREADS, SECOND_WARPS};

/// Offsets of slots that are eight apart.
const EIGHTS: [usize; 8] = [0, 8, 16, 24, 32, 40, 48, 56];

/// Whether each of a thread's four values of the second layer is positive: a quad of units of a sample.
pub(super) type Positive = [bool; 4];

/// The units of a thread's quad, and the number of its sample among the block's: one of the first eight warps.
#[device_inline]
pub(super) fn item<const HALVES: usize>(tiles: &Tiles<HALVES>, deep: &Deep) -> ([u32; 4], u32) {
    let (t, at) = (tiles.me.thread() % 4, tiles.me.thread() / 4);
    let first = (at >> deep.sizes.log_samples()) * HIDDEN + 2 * t;
    ([first, first + 1, first + 8, first + 9], at & (deep.sizes.samples_per_block() - 1))
}

/// A thread's pairs of weights of the output layer: of `32 / SAMPLES` units, the classes `2 (lane % 8)` and the next; eight units with four samples a block, sixteen with two.
pub(super) type Weights = [[f32; 2]; 16];

/// What a thread needs of the layers behind `W2`.
#[derive(Default)]
pub(super) struct Output {
    /// `W3`.
    pub weights: Weights,
    /// `b2` of the thread's quad of units.
    second_bias: [f32; 4],
    /// `b3` of class `lane % 16`, in the warps that have a sample.
    third_bias: f32,
}

/// Receives the output layer and the biases of `round`: the first eight warps.
///
/// # Safety
/// All threads of the first eight warps call it; the blocks have `SAMPLES` samples each, and all send the output layer of `round`.
#[device_inline]
pub(super) unsafe fn receive_output<const SAMPLES: usize, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    post: &Post,
    round: u32,
) -> Output {
    let slots = post.slots();
    let (pair, first_unit) = (tiles.me.lane() % 8, first_value(tiles) / SAMPLES as u32);
    let mut weights = Weights::default();
    // SAFETY: the units' owners send the pairs of all classes that there are, eight slots a unit, and all biases.
    unsafe {
        if pair < deep.pairs() {
            unroll!(EIGHT in [0, 1] {
                if EIGHT * 8 * SAMPLES < 32 {
                    let words = slots.receive_eight(post.output(first_unit + 8 * EIGHT as u32, pair), EIGHTS, round);
                    unroll!(U in [0, 1, 2, 3, 4, 5, 6, 7] {
                        weights[8 * EIGHT + U] = [f32::from_bits(words[U][0]), f32::from_bits(words[U][1])];
                    });
                }
            });
        }
        let ([first, _, third, _], _) = item(tiles, deep);
        let [a, b] = slots.receive(post.second_bias(first / 2), round).map(f32::from_bits);
        let [c, d] = slots.receive(post.second_bias(third / 2), round).map(f32::from_bits);
        let class = tiles.me.lane() % CLASSES;
        let mut third_bias = 0.0;
        if tiles.me.warp() < SAMPLES as u32 && class < deep.sizes.n_classes {
            let [even, odd] = slots.receive(post.third_bias(class / 2), round).map(f32::from_bits);
            third_bias = if class.is_multiple_of(2) { even } else { odd };
        }
        Output { weights, second_bias: [a, b, c, d], third_bias }
    }
}

/// Adds up the sums of z2 over the blocks, and leaves the hidden values in shared memory: the first eight warps, a quad of units of a sample each. A barrier must follow before others read them.
///
/// # Safety
/// All threads of the first eight warps call it; all blocks send their sums of `round`.
#[device_inline]
pub(super) unsafe fn second_values<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    post: &Post,
    round: u32,
    output: &Output,
) -> Positive {
    const OFFSETS: [usize; 8] = {
        let each = SECOND_THREADS as usize;
        [0, each, 2 * each, 3 * each, 4 * each, 5 * each, 6 * each, 7 * each]
    };
    let ((buffer, bit), (units, sample)) = (mark_of_sums(round), item(tiles, deep));
    let mut z = [0f32; 4];
    let mut block = 0;
    // Eight at a time, in an order that depends on nothing.
    while block < deep.sizes.blocks {
        // SAFETY: the blocks are those of the launch, and all send.
        let shares =
            unsafe { post.marked().receive_eight(post.sums_from(buffer, block, tiles.me.thread()), OFFSETS, bit) };
        unroll!(B in [0, 1, 2, 3, 4, 5, 6, 7] {
            unroll!(V in [0, 1, 2, 3] {
                z[V] += f32::from_bits(shares[B][V / 2][V % 2]);
            });
        });
        block += 8;
    }
    let samples = deep.sizes.samples_per_block();
    let unscales = tiles.unscales(deep.sizes.n_inputs);
    let mut positive = Positive::default();
    // SAFETY: units are below those of all blocks, and the values are the block's.
    unsafe {
        unroll!(V in [0, 1, 2, 3] {
            let value = fma(z[V], unscales.get_unchecked(units[V]) * (1.0 / W2_BY_SCALES), output.second_bias[V]);
            // Not `max`: a NaN must go through, and minus infinity become one.
            let value = if value <= 0.0 { value * 0.0 } else { value };
            positive[V] = value > 0.0;
            tiles.second_values().set_unchecked(units[V] * samples + sample, value);
        });
    }
    positive
}

/// First of the 32 values that the lanes with this one's `lane / 8` look after, of units and samples: `[units, samples]`.
#[device_inline]
fn first_value<const HALVES: usize>(tiles: &Tiles<HALVES>) -> u32 {
    (tiles.me.warp() * 4 + tiles.me.lane() / 8) * 32
}

/// Each warp's share of the logits, to shared memory: the first eight warps. A barrier must follow before others read them.
///
/// # Safety
/// All threads of the first eight warps call it behind a barrier after [`second_values`]; the blocks have `SAMPLES` samples each.
#[device_inline]
pub(super) unsafe fn logit_shares<const SAMPLES: usize, const HALVES: usize>(tiles: &Tiles<HALVES>, weights: &Weights) {
    let (pair, first) = (tiles.me.lane() % 8, first_value(tiles));
    let values = tiles.second_values();
    let mut logits = [[0f32; 2]; 4];
    unroll!(V in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31] {
        // SAFETY: 32 groups of lanes with 32 values each.
        let h = unsafe { values.get_unchecked(first + V as u32) };
        let [low, high] = weights[V / SAMPLES];
        logits[V % SAMPLES] = [fma(h, low, logits[V % SAMPLES][0]), fma(h, high, logits[V % SAMPLES][1])];
    });
    let shares = tiles.logit_shares();
    unroll!(S in [0, 1, 2, 3] {
        if S < SAMPLES {
            unroll!(E in [0, 1] {
                let mut sum = logits[S][E];
                unroll!(STEP in [8, 16] {
                    sum += shuffle_xor(ALL, sum, STEP as u32);
                });
                if tiles.me.lane() < 8 {
                    let class = 2 * pair + E as u32;
                    // SAFETY: eight warps, four samples at most, all classes.
                    unsafe { shares.set_unchecked((tiles.me.warp() * 4 + S as u32) * CLASSES + class, sum) };
                }
            });
        }
    });
}

/// What a lane knows of its warp's sample: of class `lane % 16`.
#[derive(Clone, Copy)]
pub(super) struct Logit {
    /// The logit; minus infinity for a class that is not there.
    pub z: f32,
    /// Its probability.
    pub p: f32,
    /// The loss is this minus the label's logit.
    pub log_sum: f32,
}

/// The logits of the block's sample whose number the warp has, and their softmax.
///
/// # Safety
/// The whole warp calls it, one of as many as the block has samples, behind a barrier after [`logit_shares`].
#[device_inline]
pub(super) unsafe fn softmax<const HALVES: usize>(tiles: &Tiles<HALVES>, deep: &Deep, output: &Output) -> Logit {
    let class = tiles.me.lane() % CLASSES;
    let there = class < deep.sizes.n_classes;
    let mut z = 0f32;
    unroll!(W in [0, 1, 2, 3, 4, 5, 6, 7] {
        // SAFETY: the sample is one of the block's; eight warps have left their shares.
        z += unsafe { tiles.logit_shares().get_unchecked((W as u32 * 4 + tiles.me.warp()) * CLASSES + class) };
    });
    const _: () = assert!(SECOND_WARPS == 8);
    z = if there { z + output.third_bias } else { f32::NEG_INFINITY };
    // A NaN must win, so that it is seen.
    let larger = |a: f32, b: f32| if b > a || b.is_nan() { b } else { a };
    let mut most = z;
    unroll!(STEP in [1, 2, 4, 8] {
        most = larger(most, shuffle_xor(ALL, most, STEP as u32));
    });
    let power = math::exp2_approx((z - most) * core::f32::consts::LOG2_E);
    let mut sum = power;
    unroll!(STEP in [1, 2, 4, 8] {
        sum += shuffle_xor(ALL, sum, STEP as u32);
    });
    Logit { z, p: power * (1.0 / sum), log_sum: math::log2_approx(sum) * core::f32::consts::LN_2 + most }
}

/// Keeps dz3 of the warp's sample, and sends it to all blocks.
///
/// # Safety
/// As [`softmax`], whose lanes these are; the mail says when `round` may be sent.
#[device_inline]
pub(super) unsafe fn send_class_gradient<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    post: &Post,
    round: u32,
    gradient: f32,
) {
    let (lane, own) = (tiles.me.lane(), tiles.me.warp());
    let next = shuffle_xor(ALL, gradient, 1);
    if lane < CLASSES {
        let sample = deep.sizes.rank * deep.sizes.samples_per_block() + own;
        // SAFETY: the sample is one of the block's, the classes are below CLASSES.
        unsafe {
            tiles.own_class_gradients().set_unchecked(own * CLASSES + lane, gradient);
            if lane % 2 == 0 && lane < deep.sizes.n_classes {
                post.slots().send(post.class_gradient(sample, lane / 2), [gradient.to_bits(), next.to_bits()], round);
            }
        }
    }
}

/// Adds up values over the eight lanes with this one's `lane / 8`, so that lane `p` of them gets the sums `4p` to `4p + 3`.
#[device_inline]
fn sums_of_eight<const HALVES: usize>(tiles: &Tiles<HALVES>, values: [f32; 32]) -> [f32; 4] {
    let p = tiles.me.lane() % 8;
    let pick = |upper: bool, low: f32, high: f32| if upper { (high, low) } else { (low, high) };
    let (mut sixteen, mut eight, mut four) = ([0f32; 16], [0f32; 8], [0f32; 4]);
    unroll!(V in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] {
        let (kept, given) = pick(p & 4 != 0, values[V], values[16 + V]);
        sixteen[V] = kept + shuffle_xor(ALL, given, 4);
    });
    unroll!(V in [0, 1, 2, 3, 4, 5, 6, 7] {
        let (kept, given) = pick(p & 2 != 0, sixteen[V], sixteen[8 + V]);
        eight[V] = kept + shuffle_xor(ALL, given, 2);
    });
    unroll!(V in [0, 1, 2, 3] {
        let (kept, given) = pick(p & 1 != 0, eight[V], eight[4 + V]);
        four[V] = kept + shuffle_xor(ALL, given, 1);
    });
    four
}

/// The gradients of the second hidden layer of the block's samples: to shared memory, and with the hidden values to the blocks that have the units. The first eight warps; a barrier must follow before others read them.
///
/// # Safety
/// All threads of the first eight warps call it behind a barrier after [`send_class_gradient`], with the weights of [`receive_output`]; the mail says when `round` may be sent.
#[device_inline]
pub(super) unsafe fn second_gradients<const SAMPLES: usize, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    post: &Post,
    round: u32,
    weights: &Weights,
) {
    let (pair, first) = (tiles.me.lane() % 8, first_value(tiles));
    let classes = tiles.own_class_gradients();
    let mut of_classes = [[0f32; 2]; 4];
    unroll!(S in [0, 1, 2, 3] {
        if S < SAMPLES {
            // SAFETY: the block's samples, all classes.
            of_classes[S] = unsafe { [classes.get_unchecked(S as u32 * CLASSES + 2 * pair), classes.get_unchecked(S as u32 * CLASSES + 2 * pair + 1)] };
        }
    });
    let mut shares = [0f32; 32];
    unroll!(V in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31] {
        let [low, high] = weights[V / SAMPLES];
        let [of_low, of_high] = of_classes[V % SAMPLES];
        shares[V] = fma(high, of_high, low * of_low);
    });
    let sums = sums_of_eight(tiles, shares);
    let first_sample = deep.sizes.rank * SAMPLES as u32;
    let gradients = tiles.second_gradients(deep.sizes.n_inputs);
    let slots = post.slots();
    // SAFETY: 32 groups of lanes have 32 values each, of units and samples that there are.
    unsafe {
        unroll!(V in [0, 1, 2, 3] {
            let at = first + 4 * pair + V as u32;
            let h = tiles.second_values().get_unchecked(at);
            let gradient = if h > 0.0 { sums[V] } else { 0.0 };
            let (unit, sample) = (at / SAMPLES as u32, at % SAMPLES as u32);
            slots.send(post.value(unit, first_sample + sample), [h.to_bits(), gradient.to_bits()], round);
            gradients.set_unchecked(at, gradient);
        });
    }
}

/// Sends the gradients of the second hidden layer of the block's samples to all blocks: the first eight warps, a quad of units a lane.
///
/// # Safety
/// All threads of the first eight warps call it behind a barrier after [`second_gradients`]; the mail says when `round` may be sent.
#[device_inline]
pub(super) unsafe fn send_gradients<const SAMPLES: usize, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    post: &Post,
    round: u32,
) {
    let gradients = tiles.second_gradients(deep.sizes.n_inputs);
    let unscales = tiles.unscales(deep.sizes.n_inputs);
    // A warp's 128 values are a quad a lane.
    let lane = tiles.me.lane();
    let (t, own) = (lane % 4, lane / 4 % SAMPLES as u32);
    let tile = tiles.me.warp() * (8 / SAMPLES as u32) + lane / (4 * SAMPLES as u32);
    // SAFETY: units and samples are those of the block, and no other lane has them.
    unsafe {
        let common = tiles.scales().get(Table::Gradient, 0);
        let unit = tile * HIDDEN + 2 * t;
        let scaled =
            |unit: u32| gradients.get_unchecked(unit * SAMPLES as u32 + own) * (common * unscales.get_unchecked(unit));
        let upper = near_halves::<HALVES>(scaled(unit), scaled(unit + 1));
        let lower = near_halves::<HALVES>(scaled(unit + 8), scaled(unit + 9));
        let slot = post.gradient(tile, deep.sizes.rank * SAMPLES as u32 + own, t);
        if HALVES == 2 {
            post.marked().send(slot, [[upper[1], upper[0]], [lower[1], lower[0]]], bit_of_gradients(round));
        } else {
            post.slots().send(slot, [upper[0], lower[0]], round);
        }
    }
}

const _: () = assert!(PAIRS == 8 && HIDDEN == 16, "eight lanes have the pairs of classes");
