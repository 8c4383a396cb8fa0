//! The second layer's products: sums forward, and gradients of `W2` and of the first hidden layer.

use crate::cuda::math::{self, opaque};
use crate::cuda::mma::{load_matrix_x4, load_matrix_x4_transposed, transpose_matrix};
use crate::cuda::sync::{sync_threads, whole_warp};
use crate::cuda::wgmma;
use crate::unroll::unroll;

use super::super::forward::Hidden;
use super::super::halves::{each_half, halves, near_halves};
use super::super::optimizer::{Optimizer, Step, inverse_power};
use super::super::scale::{DZ1_BY_PRODUCT, Table, W2_BY_SCALES};
use super::super::tiles::{Tiles, tile_word};
use super::super::{Four, HIDDEN};
use super::mail::{Post, bit_of_gradients, mark_of_sums};
use super::store::{Store, Tile, first_unit};
use super::{Deep, SECOND_WARPS, add_product};

/// Puts the hidden values of one of the first four warps into the tile `h`, split as `W1` is.
#[device_inline]
pub(super) fn put_first_values<const HALVES: usize>(tiles: &Tiles<HALVES>, hidden: &Hidden) {
    let h = hidden.h;
    super::super::forward::put_hidden(
        tiles,
        [
            near_halves::<HALVES>(h[0][0], h[0][1]),
            near_halves::<HALVES>(h[0][2], h[0][3]),
            near_halves::<HALVES>(h[1][0], h[1][1]),
            near_halves::<HALVES>(h[1][2], h[1][3]),
        ],
    );
}

/// Sends the block's share of z2, scaled, of all samples to the blocks that look after them: one of the first eight warps, the units of its tiles.
///
/// # Safety
/// The whole warp calls it, behind a barrier after the tile `h` was written; the warp's tiles were stored. The mail says when `round` may be sent.
#[device_inline]
pub(super) unsafe fn send_sums<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    post: &Post,
    store: &Store,
    round: u32,
) {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let (matrix, in_matrix) = (tiles.me.lane() / 8, tiles.me.lane() % 8);
    let whole = whole_warp();
    let mut h = [[[0u32; 4]; 2]; 4];
    unroll!(R in [0, 1, 2, 3] {
        let from = tile_word(R as u32 * 16 + matrix % 2 * 8 + in_matrix, matrix / 2 * 4);
        // SAFETY: the whole warp runs this; every lane's row lies in the tile, written before a barrier.
        h[R] = each_half::<HALVES, _>(|part| unsafe { load_matrix_x4(tiles.h(part).address_of_unchecked(from)) });
    });
    let (slots, (buffer, bit)) = (post.marked(), mark_of_sums(round));
    let per_warp = deep.tiles_per_warp();
    // SAFETY: the tiles are the warp's, samples are below BATCH; for the round the caller vouches.
    unsafe {
        let mut next = store.tile(Store::WEIGHTS, 0);
        for number in 0..per_warp {
            let weights = next;
            if number + 1 < per_warp {
                next = store.tile(Store::WEIGHTS, number + 1);
            }
            let tile = tiles.me.warp() * per_warp + number;
            let mut b = [[[0u32; 2]; 2]; 2];
            unroll!(N in [0, 1] {
                let low = near_halves::<HALVES>(weights[4 * N], weights[4 * N + 1]);
                let high = near_halves::<HALVES>(weights[4 * N + 2], weights[4 * N + 3]);
                b[N] = [[low[0], high[0]], [low[1], high[1]]];
            });
            unroll!(R in [0, 1, 2, 3] {
                let sums = [0, 1].map(|n| add_product::<HALVES>(&whole, [0.0; 4], &h[R], &b[n]).map(f32::to_bits));
                let sample = R as u32 * 16 + g;
                let upper = [[sums[0][0], sums[0][1]], [sums[1][0], sums[1][1]]];
                let lower = [[sums[0][2], sums[0][3]], [sums[1][2], sums[1][3]]];
                slots.send(post.sums_to(buffer, sample, tile, t), upper, bit);
                slots.send(post.sums_to(buffer, sample + 8, tile, t), lower, bit);
            });
        }
    }
}

/// The products with the gradients of the second layer, by one of the first eight warps for the units of its tiles: changes `W2`, and gives the warp's share of dz1 of all samples, scaled: `[row tile, unit tile]`.
///
/// # Safety
/// The whole warp calls it, the tile `h` being complete and the warp's tiles stored; all blocks send the gradients of `round`.
#[device_inline]
pub(super) unsafe fn second_step<O: Optimizer, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    post: &Post,
    store: &Store,
    with: &impl Fn() -> Step,
    round: u32,
) -> [[[f32; 4]; 2]; 4] {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let (matrix, in_matrix) = (tiles.me.lane() / 8, tiles.me.lane() % 8);
    let whole = whole_warp();
    let per_warp = deep.tiles_per_warp();
    let mut dz1 = [[[0f32; 4]; 2]; 4];
    for number in 0..per_warp {
        let tile = tiles.me.warp() * per_warp + number;
        // SAFETY: the tile is the warp's, and was stored.
        let weights = unsafe { store.tile(Store::WEIGHTS, number) };
        // Rows are units of the second layer, columns those of the first: transposed, they are operand of dz2 W2ᵀ.
        let mut w2 = [[[0u32; 2]; 2]; 2];
        unroll!(J in [0, 1] {
            unroll!(N in [0, 1] {
                let words = near_halves::<HALVES>(weights[4 * N + 2 * J], weights[4 * N + 2 * J + 1]);
                unroll!(PART in [0, 1] {
                    if PART < HALVES {
                        w2[J][PART][N] = transpose_matrix(&whole, words[PART]);
                    }
                });
            });
        });
        let mut sums = [[0f32; 4]; 2];
        // Lane (g, t) has samples 8i + g and quad t.
        let words = gradients::<HALVES>(post, post.gradient(tile, g, t), round);
        // Lanes may have waited differently long.
        let whole = whole_warp();
        unroll!(ROWS in [0, 1, 2, 3] {
            let [[u0, u1], [u2, u3]] = words[2 * ROWS];
            let [[l0, l1], [l2, l3]] = words[2 * ROWS + 1];
            let dz2 = [[u1, l1, u3, l3], [u0, l0, u2, l2]];
            unroll!(J in [0, 1] {
                dz1[ROWS][J] = add_product::<HALVES>(&whole, dz1[ROWS][J], &dz2, &w2[J]);
            });
            let mut transposed = [[0u32; 4]; 2];
            unroll!(PART in [0, 1] {
                if PART < HALVES {
                    let of = dz2[PART];
                    transposed[PART] = [
                        transpose_matrix(&whole, of[0]),
                        transpose_matrix(&whole, of[2]),
                        transpose_matrix(&whole, of[1]),
                        transpose_matrix(&whole, of[3]),
                    ];
                }
            });
            let from = tile_word(ROWS as u32 * 16 + matrix % 2 * 8 + in_matrix, matrix / 2 * 4);
            // SAFETY: the whole warp runs this; every lane's row lies in the tile, written before a barrier.
            let h = each_half::<HALVES, _>(|part| unsafe { load_matrix_x4_transposed(tiles.h(part).address_of_unchecked(from)) });
            unroll!(J in [0, 1] {
                sums[J] = add_product::<HALVES>(&whole, sums[J], &transposed, &[[h[0][2 * J], h[0][2 * J + 1]], [h[1][2 * J], h[1][2 * J + 1]]]);
            });
        });
        // SAFETY: the tile is the warp's, and was stored.
        unsafe { change_tile::<O, HALVES>(tiles, deep, store, with, (opaque(number), tile), sums) };
    }
    dz1
}

/// The words of dz2 in eight slots from `first` on, each eight samples behind the one before: of both halves of the tile the small part, then the large one.
#[device_inline]
fn gradients<const HALVES: usize>(post: &Post, first: usize, round: u32) -> [[[u32; 2]; 2]; 8] {
    const OFFSETS: [usize; 8] = [0, 32, 64, 96, 128, 160, 192, 224];
    // SAFETY: a tile has 4 slots for each of 64 samples, and all are sent.
    unsafe {
        if HALVES == 2 {
            return post.marked().receive_eight(first, OFFSETS, bit_of_gradients(round));
        }
        let words = post.slots().receive_eight(first, OFFSETS, round);
        let mut found = [[[0u32; 2]; 2]; 8];
        unroll!(AT in [0, 1, 2, 3, 4, 5, 6, 7] {
            found[AT] = [[0, words[AT][0]], [0, words[AT][1]]];
        });
        found
    }
}

/// Changes a tile of `W2` by its sums: rows g (first two) and g + 8, columns 2t, 2t + 1 of two unit tiles of the first layer. Before the last part of a step, adds them to those of the parts before.
///
/// # Safety
/// The tile is one of the warp's, its `number` among them and in the layer, and was stored.
#[device_inline]
unsafe fn change_tile<O: Optimizer, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    store: &Store,
    with: &impl Fn() -> Step,
    (number, tile): (u32, u32),
    of_products: [[f32; 4]; 2],
) {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let with = with();
    let mut sums = Tile::default();
    unroll!(V in [0, 1, 2, 3, 4, 5, 6, 7] {
        sums[V] = of_products[V / 2 % 2][2 * (V / 4) + V % 2];
    });
    // SAFETY: the tile is the thread's, and behind the first part the sums are those of the part before.
    unsafe {
        if O::PARTS && !with.is_first {
            let before = store.tile(Store::sums::<O>(), number);
            unroll!(V in [0, 1, 2, 3, 4, 5, 6, 7] {
                sums[V] += before[V];
            });
        }
        if !with.is_last {
            store.set_tile(Store::sums::<O>(), number, sums);
            return;
        }
        let mut weights = store.tile(Store::WEIGHTS, number);
        let mut moments = store.tile_moments::<O>(number);
        let scales = tiles.scales();
        let unscales = tiles.unscales(deep.sizes.n_inputs);
        // From the sum to the change: the scales of both layers' units, and what is common.
        let common = scales.get(Table::SecondStepClass, 0);
        unroll!(N in [0, 1] {
            let unscale = unscales.get_unchecked(tile * HIDDEN + N as u32 * 8 + g);
            let of_second = common * inverse_power(unscale) * inverse_power(unscale);
            unroll!(J in [0, 1] {
                unroll!(E in [0, 1] {
                    const V: usize = 4 * N + 2 * J + E;
                    let unit = first_unit(V, t);
                    let change = scales.get(Table::SecondStep, unit) * of_second;
                    weights[V] = if O::PLAIN {
                        math::fma(-with.rate * change, sums[V], weights[V])
                    } else {
                        let scale = W2_BY_SCALES * inverse_power(scales.get(Table::Unit, unit) * unscale);
                        let [first, second] = &mut moments;
                        O::stepped(&with, &with.factors(change, scale), weights[V], sums[V], [&mut first[V], &mut second[V]])
                    };
                });
            });
        });
        store.set_tile(Store::WEIGHTS, number, weights);
        unroll!(ARRAY in [0, 1] {
            if ARRAY < O::MOMENTS {
                store.set_tile(Store::MOMENTS + ARRAY, number, moments[ARRAY]);
            }
        });
    }
}

/// Adds up the eight warps' shares of dz1, and makes the operand of `xᵀ dz1` where the hidden values of the first four warps are positive, as the bits of [`Hidden::positive`] say. All threads of the block call it; a barrier must follow.
#[device_inline]
pub(super) fn first_gradient<const HALVES: usize>(tiles: &Tiles<HALVES>, positive: u32, mut dz1: [[[f32; 4]; 2]; 4]) {
    /// Warps that add up the shares.
    const HALF: u32 = SECOND_WARPS / 2;
    let (warp, lane) = (tiles.me.warp(), tiles.me.lane());
    let sums = tiles.dz1_sums();
    let at = |warp: u32, row: u32, unit: u32| ((warp * 4 + row) * 2 + unit) * 32 + lane;
    if (HALF..SECOND_WARPS).contains(&warp) {
        unroll!(R in [0, 1, 2, 3] {
            unroll!(J in [0, 1] {
                // SAFETY: four warps' sums of eight fragments.
                unsafe { sums.set_unchecked(at(warp - HALF, R as u32, J as u32), Four(dz1[R][J])) };
            });
        });
    }
    sync_threads();
    if warp < HALF {
        unroll!(R in [0, 1, 2, 3] {
            unroll!(J in [0, 1] {
                // SAFETY: as above; the lane reads and writes its own.
                unsafe {
                    let at = at(warp, R as u32, J as u32);
                    let Four(other) = sums.get_unchecked(at);
                    unroll!(C in [0, 1, 2, 3] {
                        dz1[R][J][C] += other[C];
                    });
                    sums.set_unchecked(at, Four(dz1[R][J]));
                }
            });
        });
    }
    sync_threads();
    if warp < HALF {
        unroll!(J in [0, 1] {
            let mut sum = [0f32; 4];
            unroll!(W in [0, 1, 2, 3] {
                // SAFETY: as above; written before a barrier.
                let Four(share) = unsafe { sums.get_unchecked(at(W as u32, warp, J as u32)) };
                unroll!(C in [0, 1, 2, 3] {
                    sum[C] += share[C];
                });
            });
            unroll!(C in [0, 1, 2, 3] {
                let gradient = sum[C] * DZ1_BY_PRODUCT;
                sum[C] = if positive >> (4 * J + C) & 1 == 1 { gradient } else { 0.0 };
            });
            unroll!(E in [0, 1] {
                // SAFETY: one of four warps, which have an operand each.
                unsafe { tiles.set_dz1(warp, J as u32, E as u32, halves::<HALVES>(sum[E], sum[2 + E])) };
            });
        });
        wgmma::publish();
    }
}
