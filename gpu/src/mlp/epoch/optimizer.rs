//! Optimisers: how a weight follows the sum that a product gives, and where what they remember lies.
//!
//! Plain SGD has a kernel of its own, without what is here. The others see a weight `w` in its scale, `s w`, and make the gradient `g` of the sum; what they remember is
//! not scaled, so that it is the same for all epochs. It lies in global memory during an epoch, in an order in which the lanes of a warp have 16 bytes each, one behind
//! the other: [`State`].

use crate::cuda::math::{fma, recip_approx_ftz, sqrt_approx_ftz};
use crate::cuda::memory;

use super::forward::for_each_weight;
use super::network::{W2_WARP, for_each_second};
use super::tiles::{Sizes, Weights};
use super::{THREADS, TILES};
use crate::unroll::unroll;

/// Constants of an optimiser. Plain SGD has none.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rule {
    /// Momentum, or beta1 of Adam.
    pub a: f32,
    /// 1 - beta1.
    pub rest_a: f32,
    /// beta2 of Adam.
    pub b: f32,
    /// 1 - beta2.
    pub rest_b: f32,
    /// Added to the root: at least [`LEAST_EPSILON`].
    pub epsilon: f32,
    /// Added to the gradient as `decay * w`.
    pub decay: f32,
    /// 1 for Nesterov's momentum, else 0.
    pub nesterov: u32,
}

/// Least epsilon. A mean square below the normal numbers counts as 0: its root is below 1.1e-19, a ten millionth of this, and with Adam's correction `1 / √(1 - beta2^t)` below 3.5e-18 for the usual beta2 of 0.999.
pub const LEAST_EPSILON: f32 = 1e-12;

/// What a step is made with.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// The learning rate; of Adam, with the first moment's correction.
    pub rate: f32,
    /// 1 over the number by which the gradients' sum is divided.
    pub share: f32,
    /// Adam: 1 / √(1 - beta2^t).
    pub inverse_root: f32,
    /// Factor of the weight, by decoupled decay.
    pub kept: f32,
    /// The optimiser.
    pub rule: Rule,
    /// Whether this is the first part of the step's samples.
    pub is_first: bool,
    /// Whether it is the last one.
    pub is_last: bool,
}

/// Factors of the weights with one scale.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    gradient: f32,
    decay: f32,
    rate: f32,
}

impl Step {
    /// Factors for weights that are `scale` times what they stand for, a power of two, where `change` makes of a sum the gradient, in that scale.
    #[device_inline]
    pub fn factors(&self, change: f32, scale: f32) -> Factors {
        let inverse = inverse_power(scale);
        Factors { gradient: self.share * change * inverse, decay: self.rule.decay * inverse, rate: self.rate * scale }
    }
}

/// `1 / power`, of a power of two from 2⁻¹²⁶ to 2¹²⁶.
#[device_inline]
pub(super) fn inverse_power(power: f32) -> f32 {
    f32::from_bits(0x7F00_0000u32.wrapping_sub(power.to_bits()))
}

/// An optimiser, as a type: each has a kernel of its own.
pub(super) trait Optimizer {
    /// Whether weights only follow `rate` times the sum.
    const PLAIN: bool = false;
    /// Whether a step may have several parts.
    const PARTS: bool;
    /// Arrays of the network's shape that it remembers.
    const MOMENTS: usize;
    /// Arrays of its state: those, and the sums of a step's parts.
    const ARRAYS: usize = n_state_arrays(Self::MOMENTS as u32);
    /// Numbers of a step in the array of learning rates.
    const RATES: usize = 1;

    /// The new weight, scaled; `moments` are what is remembered of it.
    fn stepped(step: &Step, factors: &Factors, weight: f32, sum: f32, moments: [&mut f32; 2]) -> f32;
}

/// `w -= lr g`.
pub(super) enum Sgd {}
/// `w -= lr (g + decay w)`.
pub(super) enum Decay {}
/// `v = a v + g`, then `w -= lr v`, or Nesterov's `w -= lr (g + a v)`.
pub(super) enum Momentum<const PARTS: bool> {}
/// Adam and AdamW; RMSprop is Adam whose `a` is 0, without corrections.
pub(super) enum Adam<const PARTS: bool> {}

/// `g + decay w`.
#[device_inline]
fn gradient(factors: &Factors, weight: f32, sum: f32) -> f32 {
    fma(factors.decay, weight, factors.gradient * sum)
}

impl Optimizer for Sgd {
    const PLAIN: bool = true;
    const PARTS: bool = false;
    const MOMENTS: usize = 0;

    #[device_inline]
    fn stepped(_: &Step, factors: &Factors, weight: f32, sum: f32, _: [&mut f32; 2]) -> f32 {
        fma(-factors.rate * factors.gradient, sum, weight)
    }
}

impl Optimizer for Decay {
    const PARTS: bool = true;
    const MOMENTS: usize = 0;

    #[device_inline]
    fn stepped(_: &Step, factors: &Factors, weight: f32, sum: f32, _: [&mut f32; 2]) -> f32 {
        fma(-factors.rate, gradient(factors, weight, sum), weight)
    }
}

impl<const PARTS: bool> Optimizer for Momentum<PARTS> {
    const PARTS: bool = PARTS;
    const MOMENTS: usize = 1;

    #[device_inline]
    fn stepped(step: &Step, factors: &Factors, weight: f32, sum: f32, [velocity, _]: [&mut f32; 2]) -> f32 {
        let gradient = gradient(factors, weight, sum);
        *velocity = fma(step.rule.a, *velocity, gradient);
        let along = if step.rule.nesterov == 1 { fma(step.rule.a, *velocity, gradient) } else { *velocity };
        fma(-factors.rate, along, weight)
    }
}

impl<const PARTS: bool> Optimizer for Adam<PARTS> {
    const PARTS: bool = PARTS;
    const MOMENTS: usize = 2;
    const RATES: usize = 4;

    #[device_inline]
    fn stepped(step: &Step, factors: &Factors, weight: f32, sum: f32, [mean, square]: [&mut f32; 2]) -> f32 {
        let rule = &step.rule;
        let gradient = gradient(factors, weight, sum);
        *mean = fma(rule.a, *mean, rule.rest_a * gradient);
        *square = fma(rule.rest_b * gradient, gradient, rule.b * *square);
        let root = fma(sqrt_approx_ftz(*square), step.inverse_root, rule.epsilon);
        fma(step.kept, weight, -factors.rate * *mean * recip_approx_ftz(root))
    }
}

/// Values of a block in one array of the state: quads of `[tile][quad of the lane's 8][thread]`, then `[2][thread of the two warps with W2]`, of `W2` and of `b2`.
const BLOCK_VALUES: usize = (TILES * 8 * THREADS) as usize + 2 * SECOND_VALUES;
/// Values that the two warps with `W2` have in a quad each.
const SECOND_VALUES: usize = 4 * 64;

/// Arrays of a state: one for each moment, and one for the sums of a step's parts where there are moments.
const fn n_state_arrays(n_moments: u32) -> usize {
    if n_moments == 0 { 0 } else { n_moments as usize + 1 }
}

/// Values of a network's state during an epoch, but for what `deep` adds.
pub(super) const fn n_state_values(blocks: u32, n_moments: u32) -> usize {
    blocks as usize * n_state_arrays(n_moments) * BLOCK_VALUES
}

/// What is remembered of a lane's weights in a tile: `[array]`, as the weights.
pub(super) type TileMoments = [[f32; 8]; 2];
/// What is remembered of a lane's `W2` and `b2`: `[array]`, units and classes as in `Values`, then the two biases.
pub(super) type SecondMoments = [[f32; 6]; 2];

/// A thread's part of what optimiser `O` remembers during an epoch.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// The thread's first quad.
    own: *mut f32,
}

impl State {
    /// The part of `thread` of the block `rank` of a network with `state`.
    ///
    /// # Safety
    /// `state` has [`n_state_values`] of the network.
    #[device_inline]
    pub unsafe fn new<O: Optimizer>(state: *mut f32, rank: u32, thread: u32) -> Self {
        if O::MOMENTS == 0 {
            return Self { own: state };
        }
        // SAFETY: the state has BLOCK_VALUES for each block and array, of which a thread's first quad is one.
        Self { own: unsafe { state.add(rank as usize * O::ARRAYS * BLOCK_VALUES + 4 * thread as usize) } }
    }

    /// Where quad `quad` of a tile's two begins.
    #[device_inline]
    const fn first(array: usize, tile: usize, quad: usize) -> usize {
        array * BLOCK_VALUES + (tile * 2 + quad) * 4 * THREADS as usize
    }

    /// Where quad `quad` of `W2` and `b2` begins; the first thread with one is that of [`W2_WARP`].
    #[device_inline]
    const fn second(array: usize, quad: usize) -> usize {
        array * BLOCK_VALUES + (TILES * 8 * THREADS - 4 * 32 * W2_WARP) as usize + quad * SECOND_VALUES
    }

    /// A tile of an array, as the weights.
    ///
    /// # Safety
    /// `array` and `tile` are there; the tile was stored.
    #[device_inline]
    pub unsafe fn load_tile(&self, array: usize, tile: usize) -> [f32; 8] {
        // SAFETY: the quads are the thread's, of an array and a tile that there are, at multiples of 16 bytes.
        let ([a, b, c, d], [e, f, g, h]) = unsafe {
            (
                memory::load_quad(self.own, Self::first(array, tile, 0)),
                memory::load_quad(self.own, Self::first(array, tile, 1)),
            )
        };
        [a, b, c, d, e, f, g, h]
    }

    /// Stores what [`load_tile`](Self::load_tile) loads.
    ///
    /// # Safety
    /// `array` and `tile` are there.
    #[device_inline]
    pub unsafe fn store_tile(&self, array: usize, tile: usize, [a, b, c, d, e, f, g, h]: [f32; 8]) {
        // SAFETY: as for loading; nobody else has the quads.
        unsafe {
            memory::store_quad(self.own, Self::first(array, tile, 0), [a, b, c, d]);
            memory::store_quad(self.own, Self::first(array, tile, 1), [e, f, g, h]);
        }
    }

    /// The thread's share of `W2` (four values) and `b2` in an array.
    ///
    /// # Safety
    /// The thread is one of the two warps' from [`W2_WARP`] on; `array` is there; the share was stored.
    #[device_inline]
    pub unsafe fn load_second(&self, array: usize) -> [f32; 6] {
        // SAFETY: the two quads are the thread's, at multiples of 16 bytes.
        let ([a, b, c, d], [e, f, ..]) = unsafe {
            (memory::load_quad(self.own, Self::second(array, 0)), memory::load_quad(self.own, Self::second(array, 1)))
        };
        [a, b, c, d, e, f]
    }

    /// Stores what [`load_second`](Self::load_second) loads.
    ///
    /// # Safety
    /// As for loading, but it need not have been stored.
    #[device_inline]
    pub unsafe fn store_second(&self, array: usize, [a, b, c, d, e, f]: [f32; 6]) {
        // SAFETY: as for loading; nobody else has the quads.
        unsafe {
            memory::store_quad(self.own, Self::second(array, 0), [a, b, c, d]);
            memory::store_quad(self.own, Self::second(array, 1), [e, f, 0.0, 0.0]);
        }
    }

    /// Brings what is remembered of a network into the order of an epoch.
    ///
    /// # Safety
    /// `moments` has an array of the network's `n_values` for each moment.
    #[device_inline]
    pub unsafe fn bring<O: Optimizer>(&self, sizes: &Sizes, moments: *const f32, n_values: usize) {
        unroll!(ARRAY in [0, 1] {
            if ARRAY < O::MOMENTS {
                // SAFETY: numbers are below `n_values`; the quads are the thread's.
                unsafe {
                    let from = moments.add(ARRAY * n_values);
                    self.bring_first(ARRAY, sizes, from);
                    let mut second = [0f32; 6];
                    if for_each_second(sizes, |value, number| second[value] = memory::load(from, number)) {
                        self.store_second(ARRAY, second);
                    }
                }
            }
        });
    }

    /// The part of [`bring`](Self::bring) that is `W1`'s, of one array.
    ///
    /// # Safety
    /// `from` has the network's values; the optimiser has the array.
    #[device_inline]
    pub unsafe fn bring_first(&self, array: usize, sizes: &Sizes, from: *const f32) {
        let mut all: Weights = Default::default();
        // SAFETY: numbers are below those of the values; the quads are the thread's.
        unsafe {
            for_each_weight(&mut all, sizes, |value, number| *value = memory::load(from, number));
            unroll!(TILE in [0, 1, 2, 3, 4] {
                self.store_tile(array, TILE, all[TILE]);
            });
        }
    }

    /// Takes it back to the network's order.
    ///
    /// # Safety
    /// As for [`bring`](Self::bring), after it; nobody else writes there.
    #[device_inline]
    pub unsafe fn take<O: Optimizer>(&self, sizes: &Sizes, moments: *mut f32, n_values: usize) {
        unroll!(ARRAY in [0, 1] {
            if ARRAY < O::MOMENTS {
                // SAFETY: numbers are below `n_values`, and every value has one owner but for those of `b2`, whose owner is the block of rank 0; the quads are the thread's.
                unsafe {
                    let to = moments.add(ARRAY * n_values);
                    self.take_first(ARRAY, sizes, to);
                    let second = self.own;
                    for_each_second(sizes, |value, number| {
                        let at = Self::second(ARRAY, value / 4) + value % 4;
                        // One block has each bias, and one row of lanes.
                        if value < 4 || sizes.rank == 0 && crate::cuda::thread::lane() / 4 == 0 {
                            memory::store(to, number, memory::load(second, at));
                        }
                    });
                }
            }
        });
    }

    /// The part of [`take`](Self::take) that is `W1`'s, of one array.
    ///
    /// # Safety
    /// As for [`bring_first`](Self::bring_first), after it; nobody else writes there.
    #[device_inline]
    pub unsafe fn take_first(&self, array: usize, sizes: &Sizes, to: *mut f32) {
        let mut all: Weights = Default::default();
        // SAFETY: numbers are below those of the values, each with one owner; the quads are the thread's.
        unsafe {
            unroll!(TILE in [0, 1, 2, 3, 4] {
                all[TILE] = self.load_tile(array, TILE);
            });
            for_each_weight(&mut all, sizes, |value, number| memory::store(to, number, *value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quads_of_a_block_do_not_overlap() {
        let mut taken = vec![false; 2 * BLOCK_VALUES];
        let mut take = |at: usize| {
            assert!(at.is_multiple_of(4));
            for word in &mut taken[at..at + 4] {
                assert!(!core::mem::replace(word, true), "{at}");
            }
        };
        for array in 0..2 {
            for thread in 0..THREADS as usize {
                for tile in 0..TILES as usize {
                    (0..2).for_each(|quad| take(State::first(array, tile, quad) + 4 * thread));
                }
                if (W2_WARP as usize..W2_WARP as usize + 2).contains(&(thread / 32)) {
                    (0..2).for_each(|quad| take(State::second(array, quad) + 4 * thread));
                }
            }
        }
        assert!(taken.into_iter().all(|is_taken| is_taken));
    }

    #[test]
    fn powers_are_inverted_exactly() {
        for exponent in -126..=126 {
            let power = f32::from_bits(((exponent + 127) as u32) << 23);
            assert_eq!(inverse_power(power) * power, 1.0, "2^{exponent}");
        }
    }
}
