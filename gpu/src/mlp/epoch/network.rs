//! A network from memory into registers and operands, with the scales of `scale`, and back.

use crate::cuda::math::opaque;
use crate::cuda::sync::{sync_cluster, sync_threads};
use crate::cuda::view::{Atomic, Exclusive, Reads};
use crate::cuda::warp::{ALL, shuffle_xor};
use crate::cuda::{atomic, wgmma};

use super::forward::{Sizes, Tiles, Weights, for_each_weight, store_w1, store_w2};
use super::scale::{Table, W1_BY_HIDDEN, power, unit_exponent};
use super::{CLASSES, HIDDEN, unroll};

/// What a thread has of a network, scaled; `b2` is not.
#[derive(Clone, Copy)]
pub(super) struct Values {
    /// Its share of `W1`.
    pub w1: Weights,
    /// Its share of `W2`, in the two warps from [`W2_WARP`] on: units g, g + 8 and classes 2t, 2t + 1 of the warp's eight.
    pub w2: [f32; 4],
    /// Its share of `b2`.
    pub b2: [f32; 2],
}

/// The warp that has the first eight classes of `W2` and `b2`; the next has the others.
pub(super) const W2_WARP: u32 = 4;

/// Loads a network, finds its scales, and writes its operands. A barrier must follow before they are read.
///
/// All threads of the cluster call it, shared memory being cleared. `values` are those of the network; `range` has [`RANGE_WORDS`](super::scale::RANGE_WORDS) words, 0 before the launch, that only
/// clusters with this network write.
#[inline(always)]
pub(super) fn load_network(tiles: &Tiles, sizes: &Sizes, values: impl Reads<Item = f32>, range: Atomic<u32>) -> Values {
    let mut w1: Weights = [[[0.0; 8]; 2]; 3];
    // SAFETY: the numbers of `Sizes` are those of the network's values.
    for_each_weight(&mut w1, sizes, |weight, number| *weight = unsafe { values.read_unchecked(number) });
    scale_first_layer(tiles, &mut w1);
    unroll!(I in [0, 1, 2] {
        if let Some(first) = sizes.quartet(I as u32) {
            unroll!(TILE in [0, 1] {
                store_w1(tiles, sizes, first, TILE as u32, &w1[I][TILE]);
            });
        }
    });
    wgmma::publish();
    let class_tile = tiles.me.warp().wrapping_sub(W2_WARP);
    let (mut w2, b2) = load_second_layer(tiles, sizes, values, range);
    // The classes' largest weights of all blocks are in.
    sync_cluster();
    make_scales(tiles, range);
    // The tables are there.
    sync_threads();
    // The same condition in plain sight would put a barrier into each arm.
    if opaque(class_tile) < 2 {
        let (scales, class) = (tiles.scales(), class_tile % 2 * 8 + 2 * tiles.me.t());
        unroll!(C in [0, 1, 2, 3] {
            let unit = tiles.me.g() + 8 * (C as u32 / 2);
            w2[C] *= 1.0 / (scales.get(Table::Unit, unit) * scales.get(Table::Logit, class + C as u32 % 2));
        });
        store_w2(tiles, class_tile, w2);
        if tiles.me.g() == 0 {
            tiles.set_b2(class, b2);
        }
    }
    Values { w1, w2, b2 }
}

/// Finds the largest weight of each unit of the block, which stays in the scratch, and scales the thread's share of `W1` by it.
#[inline(always)]
fn scale_first_layer(tiles: &Tiles, w1: &mut Weights) {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let largest_weights = tiles.scratch();
    // Bits of floats without their sign are in the order of the floats, what is no number last.
    unroll!(U in [0, 1] {
        unroll!(E in [0, 1] {
            let mut most = 0;
            unroll!(I in [0, 1, 2] {
                unroll!(TILE in [0, 1] {
                    unroll!(R in [0, 1] {
                        most = w1[I][TILE][4 * U + 2 * R + E].abs().to_bits().max(most);
                    });
                });
            });
            let most = over_rows(most);
            if g == 0 {
                atomic::shared_max_u32(largest_weights, U as u32 * 8 + 2 * t + E as u32, most);
            }
        });
    });
    // Every warp's share is in before anybody scales by it.
    sync_threads();
    unroll!(U in [0, 1] {
        unroll!(E in [0, 1] {
            let unit = unit_exponent(largest_weights.get(U as u32 * 8 + 2 * t + E as u32));
            let scale = W1_BY_HIDDEN * power(unit);
            unroll!(I in [0, 1, 2] {
                unroll!(TILE in [0, 1] {
                    unroll!(R in [0, 1] {
                        w1[I][TILE][4 * U + 2 * R + E] *= scale;
                    });
                });
            });
        });
    });
}

/// The thread's share of `W2` and `b2`, unscaled; the largest weights of its classes go to the cluster's range.
#[inline(always)]
fn load_second_layer(
    tiles: &Tiles,
    sizes: &Sizes,
    values: impl Reads<Item = f32>,
    range: Atomic<u32>,
) -> ([f32; 4], [f32; 2]) {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let largest_weights = tiles.scratch();
    let class_tile = tiles.me.warp().wrapping_sub(W2_WARP);
    let class = class_tile % 2 * 8 + 2 * t;
    let (mut w2, mut b2) = ([0f32; 4], [0f32; 2]);
    if class_tile < 2 {
        // SAFETY: the numbers of `Sizes` are those of the network's values.
        let load = |number: Option<usize>| number.map_or(0.0, |number| unsafe { values.read_unchecked(number) });
        unroll!(C in [0, 1, 2, 3] {
            let unit = g + 8 * (C as u32 / 2);
            w2[C] = load(sizes.second_layer(unit, class + C as u32 % 2));
        });
        unroll!(C in [0, 1] {
            b2[C] = load(sizes.second_layer(HIDDEN, class + C as u32));
            let by_unit = |weight: f32, unit: u32| (weight * power(-unit_exponent(largest_weights.get(unit)))).abs().to_bits();
            let most = over_rows(by_unit(w2[C], g).max(by_unit(w2[2 + C], g + 8)));
            if g == 0 {
                range.max(1 + (class + C as u32) as usize, most);
            }
        });
    }
    (w2, b2)
}

/// The tables of the block's units and of all classes, a unit and class a thread. Other clusters with this network add to the range what this one has added already.
#[inline(always)]
fn make_scales(tiles: &Tiles, range: Atomic<u32>) {
    let number = tiles.me.thread();
    if number < CLASSES {
        let mut largest = 0;
        for class in 0..CLASSES {
            largest = range.get(1 + class as usize).max(largest);
        }
        let own = range.get(1 + number as usize);
        tiles.scales().make(number, tiles.scratch().get(number), own, largest);
    }
}

/// The largest over the eight lanes with the same columns.
#[inline(always)]
fn over_rows(value: u32) -> u32 {
    let mut most = value;
    unroll!(STEP in [4, 8, 16] {
        most = shuffle_xor(ALL, most, STEP as u32).max(most);
    });
    most
}

/// Writes a network back, unscaled; whether all of it is finite. Every weight has one owner, `b2` the block of rank 0.
#[inline(always)]
pub(super) fn store_network(tiles: &Tiles, sizes: &Sizes, network: &mut Values, values: Exclusive<f32>) -> bool {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let scales = tiles.scales();
    let mut finite = true;
    let mut store = |number: usize, value: f32| {
        finite &= value.is_finite();
        // SAFETY: the numbers of `Sizes` are those of the network's values.
        unsafe { values.set_unchecked(number, value) };
    };
    unroll!(U in [0, 1] {
        let scale = scales.pair(Table::Unit, U as u32 * 8 + 2 * t);
        unroll!(E in [0, 1] {
            let scale = 1.0 / (W1_BY_HIDDEN * scale[E]);
            unroll!(I in [0, 1, 2] {
                unroll!(TILE in [0, 1] {
                    unroll!(R in [0, 1] {
                        network.w1[I][TILE][4 * U + 2 * R + E] *= scale;
                    });
                });
            });
        });
    });
    for_each_weight(&mut network.w1, sizes, |weight, number| store(number, *weight));
    let class_tile = tiles.me.warp().wrapping_sub(W2_WARP);
    let class = class_tile % 2 * 8 + 2 * t;
    if class_tile < 2 {
        unroll!(C in [0, 1, 2, 3] {
            let (unit, class) = (g + 8 * (C as u32 / 2), class + C as u32 % 2);
            if let Some(number) = sizes.second_layer(unit, class) {
                store(number, network.w2[C] * (scales.get(Table::Unit, unit) * scales.get(Table::Logit, class)));
            }
        });
        if sizes.rank == 0 && g == 0 {
            unroll!(C in [0, 1] {
                if let Some(number) = sizes.second_layer(HIDDEN, class + C as u32) {
                    store(number, network.b2[C]);
                }
            });
        }
    }
    finite
}
