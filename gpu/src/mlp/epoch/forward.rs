//! What training and classification share: the way from a batch's pixels to its logits.

use crate::cuda::math::{self, fma, opaque};
use crate::cuda::mma::{bytes_to_tiny_f16, load_matrix_x4_transposed};
use crate::cuda::sync::{sync_threads, whole_warp};
use crate::cuda::thread::lane;
use crate::cuda::warp::{ALL, shuffle_xor};
use crate::cuda::wgmma;

use super::exchange::{Exchange, Round};
use super::halves::{each_half, halves, multiplied, near_halves, product};
use super::scale::{Table, W1_BY_HIDDEN};
use super::tiles::{Sizes, Tiles, Weights, row_word, tile_word};
use super::{CLASSES, Four, GROUP, OPERAND_BYTES, PIXEL, TILE_ROW_STEP, WARPGROUPS};
use crate::unroll::unroll;

/// Calls `f(weight, number)` for each of the lane's weights of the first layer that the network has.
#[device_inline]
pub(super) fn for_each_weight(weights: &mut Weights, sizes: &Sizes, mut f: impl FnMut(&mut f32, usize)) {
    let (g, t) = (lane() / 4, lane() % 4);
    unroll!(NUMBER in [0, 1, 2, 3, 4] {
        if let Some((group, tile)) = sizes.tile(NUMBER as u32) {
            let word = group * GROUP + 4 * (2 * (g % 4) + g / 4);
            unroll!(W in [0, 1, 2, 3, 4, 5, 6, 7] {
                let pixel = word + 2 * tile + W as u32 / 2 % 2;
                if let Some(number) = sizes.first_layer(pixel, W as u32 / 4 * 8 + 2 * t + W as u32 % 2) {
                    f(&mut weights[NUMBER][W], number);
                }
            });
        }
    });
}

/// Writes the parts of one of the lane's tiles of weights as operand of x W1.
#[device_inline]
pub(super) fn store_w1<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    sizes: &Sizes,
    group: u32,
    tile: u32,
    weights: &[f32; 8],
) {
    if group < sizes.n_groups() {
        unroll!(U in [0, 1] {
            unroll!(E in [0, 1] {
                // SAFETY: two operands for each group.
                unsafe { tiles.set_w1(group * 2 + tile, U as u32, E as u32, near_halves::<HALVES>(weights[4 * U + E], weights[4 * U + 2 + E])) };
            });
        });
    }
}

/// Splits `W2`'s share of this block, scaled, into its tiles. One warp a class tile: lane (g, t) has units g, g + 8 and classes 2t, 2t + 1 of it.
#[device_inline]
pub(super) fn store_w2<const HALVES: usize>(tiles: &Tiles<HALVES>, class_tile: u32, w2: [f32; 4]) {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let word = class_tile * 4 + t;
    let upper = halves::<HALVES>(w2[0], w2[1]);
    let lower = halves::<HALVES>(w2[2], w2[3]);
    unroll!(PART in [0, 1] {
        if PART < HALVES {
            // SAFETY: 16 rows, two class tiles of four words.
            unsafe {
                tiles.w2(PART).set_unchecked(tile_word(g, word), upper[PART]);
                tiles.w2(PART).set_unchecked(tile_word(g + 8, word), lower[PART]);
            }
        }
    });
}

/// The operand at `address`.
///
/// # Safety
/// It and those behind it that are multiplied are operands in the block's memory, published and followed by a barrier.
#[device_inline]
pub(super) unsafe fn operand(address: u32) -> wgmma::Tiles {
    // SAFETY: the operand is in the block's memory, published and behind a barrier, as is asked for; it was written with these strides by `set_operand`.
    unsafe { wgmma::Tiles::new(address, TILE_ROW_STEP, 128) }
}

/// The warpgroup's sums of `x W1` over its pixels, scaled as `W1` and times 255 [`PIXEL`]: `[unit tile]`, rows 16q + g (first two) and 16q + g + 8 for warp `q` of the group.
#[device_inline]
pub(super) fn sums_of_warpgroup<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    buffer: u32,
    sizes: &Sizes,
) -> [[f32; 4]; 2] {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let pixels = tiles.pixels::<u64>(buffer);
    let upper = opaque(row_word(sizes.warp.0, sizes.warp.1 * 16 + g) / 2 + t);
    let lower = upper + row_word(0, 8) / 2;
    // SAFETY: the whole warpgroup comes here and goes all rounds; the operands were published before a barrier.
    let (whole, w1) = unsafe { (wgmma::WholeGroup::assume(), operand(tiles.w1(sizes.warp.0))) };
    let mut sums = [0f32; 16];
    // All warpgroups go the same number of rounds: a condition that differs between warps would make the products run one by one. A group that is not
    // there has pixels and weights 0.
    let rounds = sizes.n_groups().div_ceil(WARPGROUPS);
    // SAFETY: rows below BATCH; a row has room for the groups of all rounds.
    let load = |round: u32| unsafe {
        let at = round * WARPGROUPS * (GROUP / 8);
        [pixels.get_unchecked(upper + at), pixels.get_unchecked(lower + at)]
    };
    // Starts a round's products from its words; the operands' registers are in use until the round has been waited for.
    let multiply = |sums: [f32; 16], [upper, lower]: [u64; 2], round: u32| {
        let (a0, a2) = (bytes_to_tiny_f16(upper as u32), bytes_to_tiny_f16((upper >> 32) as u32));
        let (a1, a3) = (bytes_to_tiny_f16(lower as u32), bytes_to_tiny_f16((lower >> 32) as u32));
        let mut sums = sums;
        unroll!(TILE in [0, 1] {
            let a = [a0[TILE], a1[TILE], a2[TILE], a3[TILE]];
            sums = multiplied::<HALVES>(&whole, sums, a, w1.offset((round * 2 * WARPGROUPS + TILE as u32) * OPERAND_BYTES));
        });
        sums
    };
    let mut round = 0;
    let (mut even, mut odd) = (load(0), load(1.min(rounds - 1)));
    // Two rounds with registers of their own: while one's products run, the other's operands are made. The words of the next two are asked for early; the
    // last ones ask for what is there.
    while round + 1 < rounds {
        sums = multiply(sums, even, round);
        even = load((round + 2).min(rounds - 1));
        // The odd round before this one is over.
        odd = wgmma::keep_pending::<1>(&whole, odd);
        sums = multiply(sums, odd, round + 1);
        odd = load((round + 3).min(rounds - 1));
        // The even round is over.
        even = wgmma::keep_pending::<1>(&whole, even);
        round += 2;
    }
    if round < rounds {
        sums = multiply(sums, even, round);
    }
    let [sums] = wgmma::finish(&whole, [sums]);
    // Columns 0 to 15 are of the large parts, 16 to 31 of the small ones.
    let mut z1 = [[0f32; 4]; 2];
    unroll!(U in [0, 1] {
        unroll!(C in [0, 1, 2, 3] {
            let large = sums[4 * U + C];
            z1[U][C] = if HALVES == 2 { large + sums[8 + 4 * U + C] } else { large };
        });
    });
    z1
}

/// What a warp that finishes a row tile keeps of the forward pass.
#[derive(Clone, Copy, Default)]
pub(super) struct Hidden {
    /// `relu(z1)`, scaled: `[unit tile]`, rows g (first two) and g + 8, units 2t, 2t + 1.
    pub h: [[f32; 4]; 2],
}

impl Hidden {
    /// A bit for each value that is positive: value C of unit tile U is bit 4 U + C.
    #[device_inline]
    pub fn positive(&self) -> u32 {
        let mut bits = 0;
        unroll!(U in [0, 1] {
            unroll!(C in [0, 1, 2, 3] {
                bits |= u32::from(self.h[U][C] > 0.0) << (4 * U + C);
            });
        });
        bits
    }

    /// The values as words of two [`halves`]: rows g and g + 8 of the first unit tile, then of the second.
    #[device_inline]
    fn words<const HALVES: usize>(self) -> [[u32; 2]; 4] {
        let h = self.h;
        [
            halves::<HALVES>(h[0][0], h[0][1]),
            halves::<HALVES>(h[0][2], h[0][3]),
            halves::<HALVES>(h[1][0], h[1][1]),
            halves::<HALVES>(h[1][2], h[1][3]),
        ]
    }
}

/// Partial logits of the batch in the round's buffer, scaled, sent to the blocks that own the samples. The first four warps get their row
/// tile's hidden values, which also go to the tile `h` if `keep`.
///
/// All threads of the network's blocks call it. The tiles `w2` are ready before the barrier inside.
#[device_inline]
pub(super) fn partial_logits<X: Exchange, const HALVES: usize>(
    exchange: X,
    tiles: &Tiles<HALVES>,
    sizes: &Sizes,
    round: Round,
    keep: bool,
) -> Hidden {
    let warp = tiles.me.warp();
    let z1 = sums_of_warpgroup(tiles, X::pixels(round.buffer), sizes);
    if warp >= 4 {
        leave_sums(tiles, sizes, z1);
    }
    // The other warpgroups' sums must be there before the first adds them.
    sync_threads();
    let mut hidden = Hidden::default();
    if warp < 4 {
        hidden = first_layer(tiles, z1);
        let words = hidden.words::<HALVES>();
        if keep {
            put_hidden(tiles, words);
        }
        let logits = second_layer(tiles, words);
        send_logits(exchange, tiles, sizes, round, logits);
    }
    hidden
}

/// Leaves the sums of a warpgroup that is not the first for the first.
#[device_inline]
pub(super) fn leave_sums<const HALVES: usize>(tiles: &Tiles<HALVES>, sizes: &Sizes, z1: [[f32; 4]; 2]) {
    unroll!(U in [0, 1] {
        let at = (sizes.warp.0 * 2 - 2 + U as u32) * 128 + tiles.me.thread() % 128;
        // SAFETY: there are two times 128 slots for each warpgroup but the first.
        unsafe { tiles.sums().set_unchecked(at, Four(z1[U])) };
    });
}

/// The hidden values of the first warpgroup: its sums and those that the others have left, unscaled and rectified.
#[device_inline]
pub(super) fn first_layer<const HALVES: usize>(tiles: &Tiles<HALVES>, mut z1: [[f32; 4]; 2]) -> Hidden {
    unroll!(OTHER in [0, 1] {
        unroll!(U in [0, 1] {
            let Four(more) = tiles.sums().get((2 * OTHER as u32 + U as u32) * 128 + tiles.me.thread() % 128);
            unroll!(C in [0, 1, 2, 3] {
                z1[U][C] += more[C];
            });
        });
    });
    let mut hidden = Hidden::default();
    unroll!(U in [0, 1] {
        unroll!(C in [0, 1, 2, 3] {
            let value = z1[U][C] * (1.0 / (255.0 * W1_BY_HIDDEN * PIXEL));
            // Not `max`: a NaN must go through. So must, of one half, a weight that is minus infinity: of two, the second half is plus infinity, and their sum no number.
            let none = if HALVES == 2 { 0.0 } else { value * 0.0 };
            hidden.h[U][C] = if value <= 0.0 { none } else { value };
        });
    });
    hidden
}

/// Puts the words of the hidden values of one of the first four warps into the tile `h`.
#[device_inline]
pub(super) fn put_hidden<const HALVES: usize>(tiles: &Tiles<HALVES>, words: [[u32; 2]; 4]) {
    let (row, t) = (tiles.me.warp() * 16 + tiles.me.g(), tiles.me.t());
    unroll!(PART in [0, 1] {
        if PART < HALVES {
            let tile = tiles.h(PART);
            tile.set(tile_word(row, t), words[0][PART]);
            tile.set(tile_word(row + 8, t), words[1][PART]);
            tile.set(tile_word(row, 4 + t), words[2][PART]);
            tile.set(tile_word(row + 8, 4 + t), words[3][PART]);
        }
    });
}

/// A warp's partial logits from the words of its hidden values, scaled: `[class tile]`, rows g (first two) and g + 8, classes 2t, 2t + 1. The whole warp calls it.
#[device_inline]
fn second_layer<const HALVES: usize>(tiles: &Tiles<HALVES>, words: [[u32; 2]; 4]) -> [[f32; 4]; 2] {
    let a = |part: usize| [words[0][part], words[1][part], words[2][part], words[3][part]];
    // Operand B of both class tiles: rows are hidden units, so the tile is loaded transposed.
    let from = tile_word((tiles.me.lane() / 8 % 2) * 8 + tiles.me.lane() % 8, (tiles.me.lane() / 16) * 4);
    let mut logits = [[0f32; 4]; 2];
    let whole = whole_warp();
    // SAFETY: the whole warp runs this; every lane's row is one of the tile's 16, whose first or second four words it names.
    let b =
        each_half::<HALVES, _>(|part| unsafe { load_matrix_x4_transposed(tiles.w2(part).address_of_unchecked(from)) });
    unroll!(N in [0, 1] {
        logits[N] = product::<HALVES>(&whole, [a(0), a(1)], [[b[0][2 * N], b[0][2 * N + 1]], [b[1][2 * N], b[1][2 * N + 1]]]);
    });
    logits
}

/// Sends the partial logits of one of the first four warps to the blocks that own the samples.
#[device_inline]
fn send_logits<X: Exchange, const HALVES: usize>(
    exchange: X,
    tiles: &Tiles<HALVES>,
    sizes: &Sizes,
    round: Round,
    logits: [[f32; 4]; 2],
) {
    let (row, t) = (tiles.me.warp() * 16 + tiles.me.g(), tiles.me.t());
    unroll!(N in [0, 1] {
        let class = N as u32 * 8 + 2 * t;
        if class < sizes.n_classes {
            unroll!(HALF in [0, 1] {
                let sample = row + 8 * HALF as u32;
                // SAFETY: sample and class are below BATCH and CLASSES. The kernels say why the block has ended the round before.
                unsafe { exchange.send_logits(tiles, sizes, round, sample, class, [logits[N][2 * HALF], logits[N][2 * HALF + 1]]) };
            });
        }
    });
}

/// What a lane knows of its sample. Four lanes have a sample, each four classes: lane `q` of the four has 4q … 4q + 3.
#[derive(Clone, Copy)]
pub(super) struct Logits {
    /// The logits; minus infinity for classes that are not there.
    pub z: [f32; 4],
    /// `exp(z - max)`.
    pub powers: [f32; 4],
    /// Their sum over all classes.
    pub sum: f32,
    /// `ln(sum) + max`: the loss is this minus the label's logit.
    pub log_sum: f32,
}

/// The values of a sample's four lanes combined, on each of them.
#[device_inline]
fn over_four(value: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let value = combine(value, shuffle_xor(ALL, value, 1));
    combine(value, shuffle_xor(ALL, value, 2))
}

/// Sums the partial logits of the block's sample `sample` over the blocks, in an order that depends on nothing, and takes the softmax. All lanes of a warp call it, four for a
/// sample, which is that of lane / 4 modulo the samples of a block.
#[device_inline]
pub(super) fn finish_logits<X: Exchange, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    logit_buffer: u32,
    sizes: &Sizes,
    sample: u32,
) -> Logits {
    let quad = tiles.me.lane() % 4;
    let logits = tiles.logit_quads(logit_buffer);
    let mut z = [0f32; 4];
    // SAFETY: there are blocks * samples * CLASSES values in the logits, CLASSES in the biases.
    unsafe {
        let part_of =
            |block: u32| logits.get_unchecked(((block << sizes.log_samples()) + sample) * (CLASSES / 4) + quad);
        // The lanes of a share have a part of the blocks.
        let (mut block, end) = match X::SHARES {
            1 => (0, sizes.blocks),
            _ => {
                let share = tiles.me.lane() / (32 / X::SHARES);
                (share * (sizes.blocks / X::SHARES), (share + 1) * (sizes.blocks / X::SHARES))
            }
        };
        // Eight at a time where there are as many, so that they are waited for once.
        while block + 8 <= end {
            let mut parts = [Four([0.0; 4]); 8];
            unroll!(B in [0, 1, 2, 3, 4, 5, 6, 7] {
                parts[B] = part_of(block + B as u32);
            });
            unroll!(B in [0, 1, 2, 3, 4, 5, 6, 7] {
                unroll!(C in [0, 1, 2, 3] {
                    z[C] += parts[B].0[C];
                });
            });
            block += 8;
        }
        while block < end {
            let Four(part) = part_of(block);
            unroll!(C in [0, 1, 2, 3] {
                z[C] += part[C];
            });
            block += 1;
        }
        if X::SHARES == 4 {
            unroll!(STEP in [8, 16] {
                unroll!(C in [0, 1, 2, 3] {
                    z[C] += shuffle_xor(ALL, z[C], STEP as u32);
                });
            });
        }
        let (Four(bias), Four(unscale)) = (tiles.b2().get_unchecked(quad), tiles.scales().four(Table::Logit, quad));
        unroll!(C in [0, 1, 2, 3] {
            let logit = fma(unscale[C], z[C], bias[C]);
            z[C] = if quad * 4 + (C as u32) < sizes.n_classes { logit } else { f32::NEG_INFINITY };
        });
        // A NaN must win, so that it is seen.
        let larger = |a: f32, b: f32| if b > a || b.is_nan() { b } else { a };
        let most = over_four(larger(larger(z[0], z[1]), larger(z[2], z[3])), larger);
        let mut powers = [0f32; 4];
        unroll!(C in [0, 1, 2, 3] {
            // 2^-22 of error here and in the logarithm, below what the logits' own rounding makes of them.
            powers[C] = math::exp2_approx((z[C] - most) * core::f32::consts::LOG2_E);
        });
        let sum = over_four((powers[0] + powers[1]) + (powers[2] + powers[3]), |a, b| a + b);
        Logits { z, powers, sum, log_sum: math::log2_approx(sum) * core::f32::consts::LN_2 + most }
    }
}
