//! A network from memory into registers and operands, with the scales of `scale`, and back.

use crate::cuda::math::opaque;
use crate::cuda::shared::Shared;
use crate::cuda::sync::sync_threads;
use crate::cuda::thread::{lane, warp_index};
use crate::cuda::warp::{ALL, shuffle_xor};
use crate::cuda::{atomic, memory, wgmma};

use super::exchange::Exchange;
use super::forward::{for_each_weight, store_w1, store_w2};
use super::scale::{Scales, Table, W1_BY_HIDDEN, power, unit_exponent};
use super::tiles::{Sizes, Tiles, Weights};
use super::{CLASSES, HIDDEN};
use crate::unroll::unroll;

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

/// Calls `f(value, number)` for what the lane has of `W2` (values 0 to 3) and `b2` (4 and 5), as far as the network has it; whether the lane's warp has any.
#[device_inline]
pub(super) fn for_each_second(sizes: &Sizes, mut f: impl FnMut(usize, usize)) -> bool {
    let (g, t) = (lane() / 4, lane() % 4);
    let class_tile = warp_index().wrapping_sub(W2_WARP);
    if class_tile >= 2 {
        return false;
    }
    let class = class_tile * 8 + 2 * t;
    unroll!(C in [0, 1, 2, 3, 4, 5] {
        let unit = if C < 4 { g + 8 * (C as u32 / 2) } else { HIDDEN };
        if let Some(number) = sizes.second_layer(unit, class + C as u32 % 2) {
            f(C, number);
        }
    });
    true
}

/// Loads a network, finds its scales, and writes its operands. A barrier must follow before they are read.
///
/// # Safety
/// All threads of the network's blocks call it, shared memory being cleared. `values` are those of the network; `range` has [`RANGE_WORDS`](super::scale::RANGE_WORDS) words, 0 before the launch, that
/// only blocks with this network write.
#[device_inline]
pub(super) unsafe fn load_network<X: Exchange, const HALVES: usize>(
    exchange: X,
    tiles: &Tiles<HALVES>,
    sizes: &Sizes,
    values: *const f32,
    range: *mut u32,
) -> Values {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let scales = tiles.scales();
    let largest_weights = tiles.scratch();
    // SAFETY: numbers of weights are below `n_values`; words of `range` are below RANGE_WORDS, and only atomics write there before the barrier of all blocks.
    // Behind it other clusters with this network add what this one has added already.
    unsafe {
        let w1 = load_first(tiles, sizes, values);
        let class_tile = tiles.me.warp().wrapping_sub(W2_WARP);
        let class = class_tile % 2 * 8 + 2 * t;
        let mut w2 = [0f32; 4];
        let mut b2 = [0f32; 2];
        if class_tile < 2 {
            let load = |number: Option<usize>| number.map_or(0.0, |number| memory::load(values, number));
            unroll!(C in [0, 1, 2, 3] {
                let unit = g + 8 * (C as u32 / 2);
                w2[C] = load(sizes.second_layer(unit, class + C as u32 % 2));
            });
            unroll!(C in [0, 1] {
                b2[C] = load(sizes.second_layer(HIDDEN, class + C as u32));
                let by_unit = |weight: f32, unit: u32| (weight * power(-unit_exponent(largest_weights.get(unit)))).abs().to_bits();
                let most = over_rows(by_unit(w2[C], g).max(by_unit(w2[2 + C], g + 8)));
                if g == 0 {
                    atomic::max_u32(range.add(1 + (class + C as u32) as usize), most);
                }
            });
        }
        // The classes' largest weights of all blocks are in.
        exchange.sync();
        if tiles.me.thread() < CLASSES {
            make_tables(scales, largest_weights, tiles.me.thread(), range);
        }
        // The tables are there.
        sync_threads();
        // The same condition in plain sight would put a barrier into each arm.
        if opaque(class_tile) < 2 {
            scale_second_layer(&mut w2, scales, g, class);
            store_w2(tiles, class_tile, w2);
            if g == 0 {
                tiles.set_b2(class, b2);
            }
        }
        Values { w1, w2, b2 }
    }
}

/// Loads the block's share of `W1`, scales it by its units' largest weights, which it leaves as bits in [`Tiles::scratch`], and writes its operand. A barrier must follow before that is read.
///
/// # Safety
/// All threads of the block call it, shared memory being cleared. `values` are those of the network.
#[device_inline]
pub(super) unsafe fn load_first<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    sizes: &Sizes,
    values: *const f32,
) -> Weights {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let largest_weights = tiles.scratch();
    let mut w1 = Weights::default();
    // SAFETY: numbers of weights are below `n_values`.
    for_each_weight(&mut w1, sizes, |weight, number| *weight = unsafe { memory::load(values, number) });
    find_largest(&w1, largest_weights, g, t);
    // Every warp's share is in before anybody scales by it.
    sync_threads();
    scale_weights(&mut w1, largest_weights, t);
    unroll!(NUMBER in [0, 1, 2, 3, 4] {
        if let Some((group, tile)) = sizes.tile(NUMBER as u32) {
            store_w1(tiles, sizes, group, tile, &w1[NUMBER]);
        }
    });
    wgmma::publish();
    w1
}

/// Finds the largest weight of each unit, as bits without sign: those of floats are in the order of the floats, what is no number last.
#[device_inline]
fn find_largest(w1: &Weights, largest_weights: Shared<u32>, g: u32, t: u32) {
    unroll!(U in [0, 1] {
        unroll!(E in [0, 1] {
            let mut most = 0;
            unroll!(NUMBER in [0, 1, 2, 3, 4] {
                unroll!(R in [0, 1] {
                    most = w1[NUMBER][4 * U + 2 * R + E].abs().to_bits().max(most);
                });
            });
            let most = over_rows(most);
            if g == 0 {
                atomic::shared_max_u32(largest_weights, U as u32 * 8 + 2 * t + E as u32, most);
            }
        });
    });
}

/// Scales the lane's share of `W1` by what its units' largest weights ask for.
#[device_inline]
fn scale_weights(w1: &mut Weights, largest_weights: Shared<u32>, t: u32) {
    unroll!(U in [0, 1] {
        unroll!(E in [0, 1] {
            let unit = unit_exponent(largest_weights.get(U as u32 * 8 + 2 * t + E as u32));
            let scale = W1_BY_HIDDEN * power(unit);
            unroll!(NUMBER in [0, 1, 2, 3, 4] {
                unroll!(R in [0, 1] {
                    w1[NUMBER][4 * U + 2 * R + E] *= scale;
                });
            });
        });
    });
}

/// Makes the tables of unit and class `number`.
///
/// # Safety
/// `number` is below [`CLASSES`]; `range` has [`RANGE_WORDS`](super::scale::RANGE_WORDS) words, all of whose writers have been waited for, or write what is there.
#[device_inline]
unsafe fn make_tables(scales: Scales, largest_weights: Shared<u32>, number: u32, range: *const u32) {
    // SAFETY: words 1 to CLASSES, which are below RANGE_WORDS, as `number` is below CLASSES.
    let (own, largest) = unsafe {
        let mut largest = 0;
        for class in 0..CLASSES {
            largest = memory::load(range, 1 + class as usize).max(largest);
        }
        (memory::load(range, 1 + number as usize), largest)
    };
    scales.make(number, largest_weights.get(number), own, largest);
}

/// Scales the lane's share of `W2`.
#[device_inline]
fn scale_second_layer(w2: &mut [f32; 4], scales: Scales, g: u32, class: u32) {
    unroll!(C in [0, 1, 2, 3] {
        let unit = g + 8 * (C as u32 / 2);
        w2[C] *= 1.0 / (scales.get(Table::Unit, unit) * scales.get(Table::Logit, class + C as u32 % 2));
    });
}

/// The largest over the eight lanes with the same columns.
#[device_inline]
fn over_rows(value: u32) -> u32 {
    let mut most = value;
    unroll!(STEP in [4, 8, 16] {
        most = shuffle_xor(ALL, most, STEP as u32).max(most);
    });
    most
}

/// Calls `f(number, value)` for the block's share of `W1`, which it unscales.
#[device_inline]
pub(super) fn for_each_first<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    sizes: &Sizes,
    w1: &mut Weights,
    f: &mut impl FnMut(usize, f32),
) {
    let (scales, t) = (tiles.scales(), tiles.me.t());
    unroll!(U in [0, 1] {
        let scale = scales.pair(Table::Unit, U as u32 * 8 + 2 * t);
        unroll!(E in [0, 1] {
            let scale = 1.0 / (W1_BY_HIDDEN * scale[E]);
            unroll!(NUMBER in [0, 1, 2, 3, 4] {
                unroll!(R in [0, 1] {
                    w1[NUMBER][4 * U + 2 * R + E] *= scale;
                });
            });
        });
    });
    for_each_weight(w1, sizes, |weight, number| f(number, *weight));
}

/// Writes a network back, unscaled; whether all of it is finite.
///
/// # Safety
/// As [`load_network`], whose scales these are.
#[device_inline]
pub(super) unsafe fn store_network<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    sizes: &Sizes,
    network: &mut Values,
    values: *mut f32,
) -> bool {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let scales = tiles.scales();
    let mut finite = true;
    let mut store = |number: usize, value: f32| {
        finite &= value.is_finite();
        // SAFETY: numbers below n_values; every weight has one owner, b2 the block of rank 0.
        unsafe { memory::store(values, number, value) };
    };
    for_each_first(tiles, sizes, &mut network.w1, &mut store);
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
