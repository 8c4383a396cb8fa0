//! A step's way back: gradients of the hidden values and of both layers, and the weights' change.

use crate::cuda::mma::{bytes_to_tiny_f16, f16, load_matrix_x4, load_matrix_x4_transposed, permute};
use crate::cuda::sync::{sync_threads, whole_warp};
use crate::cuda::warp::{ALL, shuffle};
use crate::cuda::{math, wgmma};

use super::forward::{Hidden, operand, store_w1, store_w2};
use super::halves::{each_half, halves, multiplied, product};
use super::network::Values;
use super::optimizer::{Optimizer, SecondMoments, State, Step, TileMoments, inverse_power};
use super::scale::{DZ1_BY_PRODUCT, SECOND, Table, W1_BY_HIDDEN};
use super::tiles::{Sizes, Tiles, Weights, row_word, tile_word};
use super::{OPERAND_BYTES, PIXEL, QUARTETS, TILE_ROW_STEP, TILES};
use crate::unroll::unroll;

/// What is loaded while all wait for the gradients: the optimiser's memory of the weights that change first; without moments, the first pixels.
#[derive(Clone, Copy)]
pub(super) struct Prefetched {
    /// Of the first tile, see [`pixel_words`].
    words: [[u32; 4]; 4],
    /// Of the first tile, see [`tile_state`].
    first: TileMoments,
    /// Of `W2` and `b2`, in the two warps that have them.
    second: SecondMoments,
    /// Sums of the parts before this one, there.
    second_sums: [f32; 6],
}

impl Prefetched {
    /// Loads it.
    ///
    /// # Safety
    /// The thread's state was stored; `class_tile` is the warp's, `buffer` the batch's.
    #[device_inline]
    pub unsafe fn load<O: Optimizer, const HALVES: usize>(
        (state, tiles, sizes): (&State, &Tiles<HALVES>, &Sizes),
        with: &Step,
        class_tile: u32,
        buffer: u32,
    ) -> Self {
        let words = if O::MOMENTS == 0 { pixel_words(tiles, sizes, buffer, 0) } else { Default::default() };
        let mut found = Self { words, first: Default::default(), second: Default::default(), second_sums: [0.0; 6] };
        if O::MOMENTS > 0 {
            // SAFETY: the state was stored, as the caller says; the warps with class tiles 0 and 1 have `W2`, and behind the first part of a step the sums are those of the part before.
            unsafe {
                if sizes.quartet(0).is_some() {
                    found.first = tile_state::<O>(state, with, 0);
                }
                if class_tile < 2 {
                    unroll!(ARRAY in [0, 1] {
                        if ARRAY < O::MOMENTS && with.is_last {
                            found.second[ARRAY] = state.load_second(ARRAY);
                        }
                    });
                    if !with.is_first {
                        found.second_sums = state.load_second(O::MOMENTS);
                    }
                }
            }
        }
        found
    }
}

/// What a tile's update needs: in the last part of a step its moments, in those before the sums of the parts that were.
///
/// # Safety
/// `tile` is one of the thread's, whose state was stored.
#[device_inline]
unsafe fn tile_state<O: Optimizer>(state: &State, with: &Step, tile: usize) -> TileMoments {
    let mut found = TileMoments::default();
    // SAFETY: the arrays are the moments, and behind them the sums, which the part before has stored.
    unsafe {
        if with.is_last {
            unroll!(ARRAY in [0, 1] {
                if ARRAY < O::MOMENTS {
                    found[ARRAY] = state.load_tile(ARRAY, tile);
                }
            });
        } else if !with.is_first {
            found[0] = state.load_tile(O::MOMENTS, tile);
        }
    }
    found
}

/// Changes the network by the gradients of the logits, which are in their tile.
///
/// # Safety
/// All threads of the block call it, each with its warp and class tile; `buffer` is the batch's.
#[device_inline]
#[expect(clippy::too_many_arguments, reason = "all of them differ from step to step")]
pub(super) unsafe fn backward<O: Optimizer, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    sizes: &Sizes,
    buffer: u32,
    with: &Step,
    (warp, class_tile): (u32, u32),
    hidden: &Hidden,
    network: &mut Values,
    (state, mut early): (&State, Prefetched),
) {
    let Values { w1: weights, w2, b2 } = network;
    // The tile `h` is complete, and so is that of the gradients, which other threads may have taken from global memory.
    sync_threads();
    if warp < 4 {
        hidden_gradient(tiles, hidden);
    } else if class_tile < 2 {
        // SAFETY: the two warps with a class tile are those that have `W2`.
        unsafe { second_layer_step::<O, HALVES>(tiles, class_tile, with, w2, b2, (state, &mut early)) };
    }
    // The tile dz1 is complete, and W2 is no longer read.
    sync_threads();
    // The same condition in plain sight would put a barrier into each arm.
    if math::opaque(class_tile) < 2 && with.is_last {
        store_w2(tiles, class_tile, *w2);
        if tiles.me.g() == 0 {
            tiles.set_b2(class_tile * 8 + 2 * tiles.me.t(), *b2);
        }
    }
    first_layer_step::<O, HALVES>(tiles, buffer, sizes, with, weights, (state, early));
}

/// `dz1 = dz2 W2ᵀ where h > 0`, scaled, split into its operand: one of the first four warps, its 16 samples. Rows 2g and 2g + 1 of the operand are samples
/// g and g + 8.
#[device_inline]
fn hidden_gradient<const HALVES: usize>(tiles: &Tiles<HALVES>, hidden: &Hidden) {
    let warp = tiles.me.warp();
    let (matrix, in_matrix) = (tiles.me.lane() / 8, tiles.me.lane() % 8);
    // A: rows are samples. B: columns are hidden units, the rows of the tile, so it is loaded as it lies.
    let a_from = tile_word(warp * 16 + matrix % 2 * 8 + in_matrix, matrix / 2 * 4);
    let b_from = tile_word(matrix / 2 * 8 + in_matrix, matrix % 2 * 4);
    let whole = whole_warp();
    // SAFETY: the whole warp runs this, one of the first four, which have an operand each; every lane's row lies in the tiles, written before a barrier.
    unsafe {
        let a = each_half::<HALVES, _>(|part| load_matrix_x4(tiles.dz2(part).address_of_unchecked(a_from)));
        let b = each_half::<HALVES, _>(|part| load_matrix_x4(tiles.w2(part).address_of_unchecked(b_from)));
        unroll!(U in [0, 1] {
            let b = [[b[0][2 * U], b[0][2 * U + 1]], [b[1][2 * U], b[1][2 * U + 1]]];
            let product = product::<HALVES>(&whole, a, b);
            let mut dz1 = [0f32; 4];
            unroll!(C in [0, 1, 2, 3] {
                let gradient = product[C] * DZ1_BY_PRODUCT;
                dz1[C] = if hidden.h[U][C] > 0.0 { gradient } else { 0.0 };
            });
            unroll!(E in [0, 1] {
                tiles.set_dz1(warp, U as u32, E as u32, halves::<HALVES>(dz1[E], dz1[2 + E]));
            });
        });
        wgmma::publish();
    }
}

/// `W2 -= rate hᵀ dz2`, `b2 -= rate` times the column sums of dz2, or the optimiser's step along them, for the eight classes of one warp.
///
/// # Safety
/// The thread has a share of `W2`, whose state this is.
#[device_inline]
unsafe fn second_layer_step<O: Optimizer, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    class_tile: u32,
    with: &Step,
    w2: &mut [f32; 4],
    b2: &mut [f32; 2],
    (state, found): (&State, &mut Prefetched),
) {
    /// 1.0 twice in half precision, and [`SECOND`].
    const ONES: u32 = 0x3C00_3C00;
    const SECONDS: u32 = 0x1000_1000;
    let (matrix, in_matrix) = (tiles.me.lane() / 8, tiles.me.lane() % 8);
    let [a, b, c, d, e, f] = found.second_sums;
    let (mut main, mut rest, mut column_sums) = ([a, b, c, d], [0f32; 4], [e, f, 0.0, 0.0]);
    let whole = whole_warp();
    unroll!(K in [0, 1, 2, 3] {
        // A = hᵀ and B = dz2: both tiles have samples as rows, so both are loaded transposed.
        let a_from = tile_word(K as u32 * 16 + matrix / 2 * 8 + in_matrix, matrix % 2 * 4);
        let b_from = tile_word(K as u32 * 16 + matrix % 2 * 8 + in_matrix, class_tile * 4);
        // SAFETY: the whole warp runs this; every lane's row lies in the tiles, written before a barrier.
        unsafe {
            let [a_large, a_small] = each_half::<HALVES, _>(|part| load_matrix_x4_transposed(tiles.h(part).address_of_unchecked(a_from)));
            let [[b0, b1, ..], [c0, c1, ..]] = each_half::<HALVES, _>(|part| load_matrix_x4_transposed(tiles.dz2(part).address_of_unchecked(b_from)));
            main = f16(&whole, main, a_large, [b0, b1]);
            column_sums = f16(&whole, column_sums, [ONES; 4], [b0, b1]);
            if HALVES == 2 {
                rest = f16(&whole, rest, a_small, [b0, b1]);
                rest = f16(&whole, rest, a_large, [c0, c1]);
                column_sums = f16(&whole, column_sums, [SECONDS; 4], [c0, c1]);
            }
        }
    });
    let sum = |value: usize| if HALVES == 2 { math::fma(SECOND, rest[value], main[value]) } else { main[value] };
    if O::MOMENTS > 0 && !with.is_last {
        let sums = [sum(0), sum(1), sum(2), sum(3), column_sums[0], column_sums[1]];
        // SAFETY: the share is the thread's, as the caller says.
        unsafe { state.store_second(O::MOMENTS, sums) };
        return;
    }
    let moments = &mut found.second;
    let scales = tiles.scales();
    let class = class_tile * 8 + 2 * tiles.me.t();
    let of_class = scales.pair(Table::SecondStepClass, class);
    let unscale = scales.pair(Table::Logit, class);
    unroll!(U in [0, 1] {
        let of_unit = scales.get(Table::SecondStep, tiles.me.g() + 8 * U as u32);
        unroll!(E in [0, 1] {
            let sum = sum(2 * U + E);
            let change = of_unit * of_class[E];
            w2[2 * U + E] = if O::PLAIN {
                math::fma(-with.rate * change, sum, w2[2 * U + E])
            } else {
                let scale = inverse_power(scales.get(Table::Unit, tiles.me.g() + 8 * U as u32) * unscale[E]);
                let [first, second] = moments;
                O::stepped(with, &with.factors(change, scale), w2[2 * U + E], sum, [&mut first[2 * U + E], &mut second[2 * U + E]])
            };
        });
    });
    unroll!(C in [0, 1] {
        // 1 / scale of dz2.
        let change = of_class[C] * unscale[C];
        b2[C] = if O::PLAIN {
            math::fma(-with.rate * change, column_sums[C], b2[C])
        } else {
            let [first, second] = moments;
            O::stepped(with, &with.factors(change, 1.0), b2[C], column_sums[C], [&mut first[4 + C], &mut second[4 + C]])
        };
    });
    unroll!(ARRAY in [0, 1] {
        if ARRAY < O::MOMENTS {
            // SAFETY: the share is the thread's, as the caller says.
            unsafe { state.store_second(ARRAY, moments[ARRAY]) };
        }
    });
}

/// Closes a round of products, and waits for the one before it; `words` are returned, so that no operands are made of them before.
#[device_inline]
fn wait_for_round(whole: &wgmma::WholeGroup, words: [u32; 4]) -> [u32; 4] {
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let [low, high] = wgmma::keep_pending::<1>(whole, [pair(words[0], words[1]), pair(words[2], words[3])]);
    [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
}

/// `W1 -= rate xᵀ dz1` for the warpgroup's pixels, and the new parts of `W1`.
#[device_inline]
pub(super) fn first_layer_step<O: Optimizer, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    buffer: u32,
    sizes: &Sizes,
    with: &Step,
    weights: &mut Weights,
    (state, early): (&State, Prefetched),
) {
    // The compiler must see that it is the same for all lanes: else it moves each product's operand to a uniform register by itself.
    let dz1_address = shuffle(ALL, tiles.dz1(), 0);
    // SAFETY: whether there is a quartet is the same for the whole warpgroup; the operands were published before a barrier.
    let (whole, dz1) = unsafe { (wgmma::WholeGroup::assume(), operand(dz1_address)) };
    let (mut moments, mut words) = (early.first, early.words);
    let at = Quartets { tiles, sizes, with, state, whole: &whole, dz1 };
    // SAFETY: the quartets are there, with their states; each one's products are waited for before its weights change.
    unsafe {
        unroll!(I in [0, 1] {
            if sizes.quartet(I as u32).is_some() {
                if O::MOMENTS > 0 {
                    words = pixel_words(tiles, sizes, buffer, 2 * I as u32);
                }
                let sums = at.start::<O>(I, words);
                // The next tile's are on their way while these products run; with moments there are no registers for them.
                if O::MOMENTS == 0 {
                    words = pixel_words(tiles, sizes, buffer, 2 * I as u32 + 2);
                }
                at.change::<O>(I, &wgmma::finish(&whole, sums), weights, &mut moments);
            }
        });
    }
    const REST: usize = 2 * QUARTETS as usize;
    // The same for the whole warp.
    if let Some((_, tile)) = sizes.tile(REST as u32) {
        if O::MOMENTS > 0 {
            words = pixel_words(tiles, sizes, buffer, REST as u32);
        }
        // SAFETY: the tile is there.
        let mut gradient = unsafe { sums_before::<O>(state, with, REST) };
        let (matrix, in_matrix) = (tiles.me.lane() / 8, tiles.me.lane() % 8);
        // Two tiles of 8 columns, both halves of the depth of each.
        let from = dz1_address + matrix % 2 * TILE_ROW_STEP + matrix / 2 * 128 + in_matrix * 16;
        let whole = whole_warp();
        unroll!(K in [0, 1, 2, 3] {
            let a = pixel_rows(words[K], tile);
            // SAFETY: the whole warp runs this; every lane's row of 16 bytes lies in one of the four operands, written before a barrier, whose small parts are 256 bytes behind the large ones.
            let b = unsafe { each_half::<HALVES, _>(|part| load_matrix_x4(from + K as u32 * OPERAND_BYTES + 256 * part as u32)) };
            unroll!(PART in [0, 1] {
                if PART < HALVES {
                    unroll!(U in [0, 1] {
                        let at = 8 * PART + 4 * U;
                        let [c0, c1, c2, c3] = f16(&whole, [gradient[at], gradient[at + 1], gradient[at + 2], gradient[at + 3]], a, [b[PART][2 * U], b[PART][2 * U + 1]]);
                        gradient[at] = c0;
                        gradient[at + 1] = c1;
                        gradient[at + 2] = c2;
                        gradient[at + 3] = c3;
                    });
                }
            });
        });
        // SAFETY: as above.
        unsafe {
            change_tile::<O, HALVES>(tiles, sizes, with, REST, &gradient, &mut weights[REST], (state, &mut moments))
        };
    }
    wgmma::publish();
}

/// What the sums of tile `number` begin with: in the last part of a step, those of the parts before it.
///
/// # Safety
/// The tile is one of the thread's, whose sums the part before has stored.
#[device_inline]
unsafe fn sums_before<O: Optimizer>(state: &State, with: &Step, number: usize) -> [f32; 16] {
    if O::MOMENTS == 0 || !with.is_last || with.is_first {
        return [0.0; 16];
    }
    // SAFETY: as the caller says.
    let [a, b, c, d, e, f, g, h] = unsafe { state.load_tile(O::MOMENTS, number) };
    [a, b, c, d, e, f, g, h, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
}

/// What the products of a warpgroup's quartets take.
struct Quartets<'a, const HALVES: usize> {
    tiles: &'a Tiles<HALVES>,
    sizes: &'a Sizes,
    with: &'a Step,
    state: &'a State,
    whole: &'a wgmma::WholeGroup,
    dz1: wgmma::Tiles,
}

impl<const HALVES: usize> Quartets<'_, HALVES> {
    /// Starts the products of quartet `number` by the pixels `words`: the sums of its two tiles.
    ///
    /// # Safety
    /// The quartet is there.
    #[device_inline]
    unsafe fn start<O: Optimizer>(&self, number: usize, words: [[u32; 4]; 4]) -> [[f32; 16]; 2] {
        // SAFETY: both tiles are there.
        let mut sums = unsafe {
            [
                sums_before::<O>(self.state, self.with, 2 * number),
                sums_before::<O>(self.state, self.with, 2 * number + 1),
            ]
        };
        unroll!(K in [0, 1, 2, 3] {
            // With moments on their way, there are registers for the operands of two rounds only.
            let rows = if O::MOMENTS > 0 && K != 0 { wait_for_round(self.whole, words[K]) } else { words[K] };
            unroll!(TILE in [0, 1] {
                sums[TILE] = multiplied::<HALVES>(self.whole, sums[TILE], pixel_rows(rows, TILE as u32), self.dz1.offset(K as u32 * OPERAND_BYTES));
            });
        });
        sums
    }

    /// Changes the weights of quartet `number` by its sums.
    ///
    /// # Safety
    /// The quartet is there; as [`change_tile`].
    #[device_inline]
    unsafe fn change<O: Optimizer>(
        &self,
        number: usize,
        sums: &[[f32; 16]; 2],
        weights: &mut Weights,
        moments: &mut TileMoments,
    ) {
        let Self { tiles, sizes, with, state, .. } = *self;
        unroll!(TILE in [0, 1] {
            // SAFETY: as the caller says.
            unsafe { change_tile::<O, HALVES>(tiles, sizes, with, 2 * number + TILE, &sums[TILE], &mut weights[2 * number + TILE], (state, moments)) };
        });
    }
}

/// The lane's words of all samples in the group of its tile `number`, `[samples / 16]` of samples t, t + 4, t + 8 and t + 12 of the sixteen; 0 where there is no such group.
#[device_inline]
fn pixel_words<const HALVES: usize>(tiles: &Tiles<HALVES>, sizes: &Sizes, buffer: u32, number: u32) -> [[u32; 4]; 4] {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let pixels = tiles.pixels::<u32>(buffer);
    let mut words = [[0u32; 4]; 4];
    if let Some((group, _)) = sizes.tile(number).filter(|(group, _)| *group < sizes.n_groups()) {
        let first_word = row_word(group, t) + 2 * (g % 4) + g / 4;
        unroll!(K in [0, 1, 2, 3] {
            unroll!(R in [0, 1, 2, 3] {
                // SAFETY: rows K * 16 + t + 12 below BATCH; a group lies inside a row.
                words[K][R] = unsafe { pixels.get_unchecked(first_word + row_word(0, K as u32 * 16 + R as u32 * 4)) };
            });
        });
    }
    words
}

/// Rows g and g + 8 of tile `tile` of xᵀ as operand, from the lane's words of samples t, t + 4, t + 8 and t + 12: bytes 0 and 1 of each word are of the first tile, bytes 2 and 3 of the second. The order of
/// the samples is that of dz1's operand.
#[device_inline]
fn pixel_rows(rows: [u32; 4], tile: u32) -> [u32; 4] {
    let bytes = if tile == 0 { 0x5140 } else { 0x7362 };
    let low = bytes_to_tiny_f16(permute(rows[0], rows[2], bytes));
    let high = bytes_to_tiny_f16(permute(rows[1], rows[3], bytes));
    [low[0], low[1], high[0], high[1]]
}

/// Changes the lane's weights in its tile `number` by the sums of the products: columns 0 to 15 are of the large parts, 16 to 31 of the small ones, if there are any. Weight 4u + 2r + e lies where the product
/// leaves row g + 8r and column 8u + 2t + e.
///
/// # Safety
/// The tile is one of the warp's, `moments` are its state, and that of the next tile was stored.
#[device_inline]
unsafe fn change_tile<O: Optimizer, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    sizes: &Sizes,
    with: &Step,
    number: usize,
    gradient: &[f32; 16],
    weights: &mut [f32; 8],
    (state, moments): (&State, &mut TileMoments),
) {
    /// From the sum to the gradient, but for the unit's scales.
    const CHANGE: f32 = 1.0 / (255.0 * PIXEL);
    let t = tiles.me.t();
    let scales = tiles.scales();
    let mut own = *moments;
    // Those of the next tile are on their way while this one changes: of more tiles there are no registers for them.
    if O::MOMENTS > 0 && number + 1 < TILES as usize && sizes.tile(number as u32 + 1).is_some() {
        // SAFETY: the tile is there, and was stored a step ago or when the epoch began.
        *moments = unsafe { tile_state::<O>(state, with, number + 1) };
    }
    let sum = |weight: usize| {
        if HALVES == 2 { math::fma(SECOND, gradient[8 + weight], gradient[weight]) } else { gradient[weight] }
    };
    if O::MOMENTS > 0 && !with.is_last {
        unroll!(W in [0, 1, 2, 3, 4, 5, 6, 7] {
            own[0][W] += sum(W);
        });
        // SAFETY: the tile is one of the thread's.
        unsafe { state.store_tile(O::MOMENTS, number, own[0]) };
        return;
    }
    // Loaded anew for each tile: kept over all of them they would take registers that there are not.
    let factors =
        [0, 8].map(|first| scales.pair(Table::FirstStep, first + 2 * t).map(|scale| -with.rate * CHANGE * scale));
    unroll!(W in [0, 1, 2, 3, 4, 5, 6, 7] {
        weights[W] = if O::PLAIN {
            math::fma(factors[W / 4][W % 2], sum(W), weights[W])
        } else {
            let unit = W as u32 / 4 * 8 + 2 * t + W as u32 % 2;
            let change = CHANGE * scales.get(Table::FirstStep, unit);
            let factors = with.factors(change, W1_BY_HIDDEN * scales.get(Table::Unit, unit));
            let [first, second] = &mut own;
            O::stepped(with, &factors, weights[W], sum(W), [&mut first[W], &mut second[W]])
        };
    });
    unroll!(ARRAY in [0, 1] {
        if ARRAY < O::MOMENTS {
            // SAFETY: the tile is one of the thread's.
            unsafe { state.store_tile(ARRAY, number, own[ARRAY]) };
        }
    });
    if with.is_last
        && let Some((group, tile)) = sizes.tile(number as u32)
    {
        store_w1(tiles, sizes, group, tile, weights);
    }
}
