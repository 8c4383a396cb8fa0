//! A network with two hidden layers from memory into registers, operands and the state, with its scales, and back.
//!
//! Scales are those of the module `scale`, with the units `k` of the second layer in the place of the classes. What is split into halves is, at the beginning of a launch,
//!
//! ```text
//!   W1[., j] 2⁸ η           2⁹ to 2¹⁰ at most; this makes η
//!   h1[j] η                 below 2¹²
//!   W2[j, k] 2⁸ τ / η       2⁹ to 2¹⁰ at most over all j; this makes τ
//!   dz2[k] γ / τ            2⁹: γ is made from the largest of W3's values by τ, since |dz2[k]| ≤ 2 max |W3[k, .]|; a unit whose W3 is less than 2⁻⁶ counts as that
//!   dz1[j] 2⁻⁷ γ / η        as with one hidden layer
//! ```
//!
//! `h1`, `W2` and `dz2` are split as `W1` is, and of two gradients that are sent together the first loses at most one unit of its small half, 2⁻²¹ of the gradient, or 2⁻²⁴; of two sums of z2, 2⁻²³ of a block's share. So with `c = (8 + n) 2⁻²³`
//!
//! ```text
//!   |error of Σ a b|    ≤ c Σ |a| |b|  +  2⁻²³ Σ (|a| + |b|)            of two halves, scaled
//!   |error of Σ a b|    ≤ 2.001 (2⁻¹¹ + 2⁻²³ n) Σ |a| |b|  +  2⁻²⁴ Σ (|a| + |b|)  +  2⁻⁵⁰ n      of one half
//! ```
//!
//! The second terms matter where a number is far below the 2⁹ that the largest of its kind has.
//!
//! A weight that grows past 2⁶ times the largest of the beginning (`W1`, `W2`), or 2⁷ times (`W3`, from 2⁻⁶ on), may leave the range, as the module `scale` says.

use crate::cuda::sync::sync_threads;
use crate::cuda::thread::strided;
use crate::cuda::warp::{ALL, shuffle_xor};
use crate::cuda::{atomic, memory};
use crate::unroll::unroll;

use super::super::network::{for_each_first, load_first};
use super::super::optimizer::{self, Optimizer};
use super::super::scale::{
    Table, W2_BY_SCALES, least_output, power, second_gradient_scale, second_unscale, unit_exponent,
};
use super::super::tiles::{Tiles, Weights};
use super::super::{HIDDEN, THREADS};
use super::mail::Post;
use super::output::{has_third_bias, place};
use super::store::{Share, Store, Tile, first_unit};
use super::{Deep, SECOND_WARPS};

/// Words of [`Tiles::scratch`] behind the largest weights of the block's units: the largest of all of `W2`, and that of `W3`, scaled.
const LARGEST_SECOND: u32 = HIDDEN;
const LARGEST_OUTPUT: u32 = HIDDEN + 1;

/// Calls `f(value, number)` for the lane's values of tile `number` of its warp, one of the first eight, as far as the network has them.
#[device_inline]
fn for_each_of_tile<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    number: u32,
    mut f: impl FnMut(usize, usize),
) {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let first = (tiles.me.warp() * deep.tiles_per_warp() + number) * HIDDEN;
    unroll!(V in [0, 1, 2, 3, 4, 5, 6, 7] {
        let unit = first_unit(V, t);
        if let Some(number) = deep.second(unit, first + V as u32 / 4 * 8 + g) {
            f(V, number);
        }
    });
}

/// Calls `f(value, number)` for the thread's share of the output layer, one of the last four warps', as far as the network has it.
#[device_inline]
fn for_each_of_share<const HALVES: usize>(tiles: &Tiles<HALVES>, deep: &Deep, mut f: impl FnMut(usize, usize)) {
    let (unit, pair) = place(tiles, deep);
    unroll!(E in [0, 1] {
        if let Some(number) = deep.third(unit, 2 * pair + E as u32) {
            f(E, number);
        }
        if has_third_bias(tiles, deep) && let Some(number) = deep.third_bias(2 * pair + E as u32) {
            f(3 + E, number);
        }
    });
    if let Some(number) = deep.second_bias(unit) {
        f(2, number);
    }
}

/// Loads a network, finds its scales, writes the operands of `W1`, the tiles of `W2` and the shares of the output layer; the thread's share of `W1`, scaled. A barrier must follow before the operands are read.
///
/// # Safety
/// All threads of all blocks call it, shared memory being cleared, and the mail too, before a barrier of all blocks. `values` are those of the network.
#[device_inline]
pub(super) unsafe fn load<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    post: &Post,
    store: &Store,
    values: *const f32,
) -> Weights {
    let (g, t, warp) = (tiles.me.g(), tiles.me.t(), tiles.me.warp());
    let scratch = tiles.scratch();
    let unscales = tiles.unscales(deep.sizes.n_inputs);
    let scales = tiles.scales();
    // SAFETY: numbers of values are those of the network; units are below those of all blocks, and only atomics write the largest weights before the barrier. Tiles are the warp's.
    unsafe {
        let w1 = load_first(tiles, &deep.sizes, values);
        if warp < SECOND_WARPS {
            for number in 0..deep.tiles_per_warp() {
                let mut weights = Tile::default();
                for_each_of_tile(tiles, deep, number, |value, at| weights[value] = memory::load(values, at));
                store.set_tile(Store::WEIGHTS, number, weights);
                let first = (warp * deep.tiles_per_warp() + number) * HIDDEN;
                unroll!(N in [0, 1] {
                    let mut most = 0;
                    unroll!(V in [0, 1, 2, 3] {
                        let unit = first_unit(V, t);
                        let by_unit = weights[4 * N + V] * power(-unit_exponent(scratch.get(unit)));
                        most = by_unit.abs().to_bits().max(most);
                    });
                    unroll!(STEP in [1, 2] {
                        most = shuffle_xor(ALL, most, STEP as u32).max(most);
                    });
                    if t == 0 {
                        atomic::max_u32(post.largest().add((first + N as u32 * 8 + g) as usize), most);
                    }
                });
            }
        } else {
            let mut share = Share::default();
            for_each_of_share(tiles, deep, |value, at| share[value] = memory::load(values, at));
            store.set_share(Store::WEIGHTS, share);
        }
        // The units' largest weights of all blocks are in.
        post.sync();
        let largest = |unit: u32| memory::load(post.largest(), unit as usize);
        for unit in strided(tiles.me.thread(), deep.units(), THREADS) {
            atomic::shared_max_u32(scratch, LARGEST_SECOND, largest(unit));
        }
        sync_threads();
        let largest_second = scratch.get(LARGEST_SECOND);
        for unit in strided(tiles.me.thread(), deep.units(), THREADS) {
            let unscale = second_unscale(largest(unit), largest_second);
            unscales.set_unchecked(unit, unscale);
            let mut most = least_output();
            for class in 0..deep.sizes.n_classes {
                if let Some(number) = deep.third(unit, class) {
                    most = most.max(memory::load(values, number).abs());
                }
            }
            atomic::shared_max_u32(scratch, LARGEST_OUTPUT, (most * unscale).to_bits());
        }
        sync_threads();
        if tiles.me.thread() < HIDDEN {
            let gradient = second_gradient_scale(scratch.get(LARGEST_OUTPUT));
            scales.make_deep(tiles.me.thread(), scratch.get(tiles.me.thread()), gradient);
        }
        // The tables are there.
        sync_threads();
        if warp < SECOND_WARPS {
            for number in 0..deep.tiles_per_warp() {
                let mut weights = store.tile(Store::WEIGHTS, number);
                for_each_scale(tiles, deep, number, |value, scale| weights[value] *= 1.0 / scale);
                store.set_tile(Store::WEIGHTS, number, weights);
            }
        }
        w1
    }
}

/// Calls `f(value, scale)` for the values of a tile: what a scaled weight is multiplied by to unscale it.
///
/// # Safety
/// The tables are there, and the tile is the warp's.
#[device_inline]
unsafe fn for_each_scale<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    number: u32,
    mut f: impl FnMut(usize, f32),
) {
    let (g, t) = (tiles.me.g(), tiles.me.t());
    let first = (tiles.me.warp() * deep.tiles_per_warp() + number) * HIDDEN;
    let unscales = tiles.unscales(deep.sizes.n_inputs);
    unroll!(V in [0, 1, 2, 3, 4, 5, 6, 7] {
        let unit = first_unit(V, t);
        // SAFETY: units are below those of all blocks.
        let unscale = unsafe { unscales.get_unchecked(first + V as u32 / 4 * 8 + g) };
        f(V, tiles.scales().get(Table::Unit, unit) * unscale * (1.0 / W2_BY_SCALES));
    });
}

/// Brings what the optimiser remembers into the order of an epoch.
///
/// # Safety
/// `moments` has an array of the network's `n_values` for each moment.
#[device_inline]
pub(super) unsafe fn bring<O: Optimizer, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    (first, store): (&optimizer::State, &Store),
    moments: *const f32,
    n_values: usize,
) {
    unroll!(ARRAY in [0, 1] {
        if ARRAY < O::MOMENTS {
            // SAFETY: numbers are below `n_values`; tiles and share are the thread's.
            unsafe {
                let from = moments.add(ARRAY * n_values);
                first.bring_first(ARRAY, &deep.sizes, from);
                if tiles.me.warp() < SECOND_WARPS {
                    for number in 0..deep.tiles_per_warp() {
                        let mut tile = Tile::default();
                        for_each_of_tile(tiles, deep, number, |value, at| tile[value] = memory::load(from, at));
                        store.set_tile(Store::MOMENTS + ARRAY, number, tile);
                    }
                } else {
                    let mut share = Share::default();
                    for_each_of_share(tiles, deep, |value, at| share[value] = memory::load(from, at));
                    store.set_share(Store::MOMENTS + ARRAY, share);
                }
            }
        }
    });
}

/// Takes it back to the network's order.
///
/// # Safety
/// As for [`bring`], after it; nobody else writes there.
#[device_inline]
pub(super) unsafe fn take<O: Optimizer, const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    (first, store): (&optimizer::State, &Store),
    moments: *mut f32,
    n_values: usize,
) {
    unroll!(ARRAY in [0, 1] {
        if ARRAY < O::MOMENTS {
            // SAFETY: as for `bring`; every value has one owner but for `b2`, which a unit's lanes have alike.
            unsafe {
                let to = moments.add(ARRAY * n_values);
                first.take_first(ARRAY, &deep.sizes, to);
                if tiles.me.warp() < SECOND_WARPS {
                    for number in 0..deep.tiles_per_warp() {
                        let tile = store.tile(Store::MOMENTS + ARRAY, number);
                        for_each_of_tile(tiles, deep, number, |value, at| memory::store(to, at, tile[value]));
                    }
                } else {
                    let share = store.share(Store::MOMENTS + ARRAY);
                    for_each_own(tiles, deep, |value, at| memory::store(to, at, share[value]));
                }
            }
        }
    });
}

/// As [`for_each_of_share`], but a unit's `b2` by one lane only.
#[device_inline]
fn for_each_own<const HALVES: usize>(tiles: &Tiles<HALVES>, deep: &Deep, mut f: impl FnMut(usize, usize)) {
    let is_first = place(tiles, deep).1 == 0;
    for_each_of_share(tiles, deep, |value, number| {
        if value != 2 || is_first {
            f(value, number);
        }
    });
}

/// Writes a network back, unscaled; whether all of it is finite.
///
/// # Safety
/// As [`load`], whose scales these are.
#[device_inline]
pub(super) unsafe fn save<const HALVES: usize>(
    tiles: &Tiles<HALVES>,
    deep: &Deep,
    store: &Store,
    w1: &mut Weights,
    values: *mut f32,
) -> bool {
    let mut finite = true;
    let mut write = |number: usize, value: f32| {
        finite &= value.is_finite();
        // SAFETY: numbers are those of the network's values, each with one owner.
        unsafe { memory::store(values, number, value) };
    };
    for_each_first(tiles, &deep.sizes, w1, &mut write);
    if tiles.me.warp() < SECOND_WARPS {
        for number in 0..deep.tiles_per_warp() {
            // SAFETY: the tile is the warp's, and was stored; the tables are there.
            unsafe {
                let mut weights = store.tile(Store::WEIGHTS, number);
                for_each_scale(tiles, deep, number, |value, scale| weights[value] *= scale);
                for_each_of_tile(tiles, deep, number, |value, at| write(at, weights[value]));
            }
        }
    } else {
        // SAFETY: the share was stored.
        let share = unsafe { store.share(Store::WEIGHTS) };
        for_each_own(tiles, deep, |value, at| write(at, share[value]));
    }
    finite
}
