//! Random numbers of a search: named by a key, a purpose and an index, so that no order of computation changes them.
//!
//! With `f` SplitMix64's finaliser and `γ` its increment, all modulo 2⁶⁴:
//!
//! ```text
//! key       k = f(seed + γ);  k = f(k + (game + 1)·γ);  k = f(k + (ply + 1)·γ)
//! stream    xoroshiro128+ from s0 = f(k + (2c + 1)·γ), s1 = f(k + (2c + 2)·γ),  c = purpose·2⁴⁰ + index
//! ```
//!
//! Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014; Marsaglia and Tsang, "A simple method for generating gamma
//! variables", 2000; Marsaglia's polar method for normal numbers.

use crate::mcts::Stream;
use crate::split_mix::{INCREMENT, finalize};

/// Purpose of the noise at the root; the index is a child's rank.
pub(super) const NOISE: u64 = 0;
/// Purpose of the choice of the move.
pub(super) const CHOICE: u64 = 1;
/// Purpose of playouts; the index counts simulations and playouts in them.
pub(super) const PLAYOUT: u64 = 2;

/// The key of the search of one position of one game.
pub fn key(seed: u64, game: u64, ply: u64) -> u64 {
    let start = finalize(seed.wrapping_add(INCREMENT));
    [game, ply]
        .iter()
        .fold(start, |key, &number| finalize(key.wrapping_add(number.wrapping_add(1).wrapping_mul(INCREMENT))))
}

/// Stream `index` of a purpose.
pub(super) fn stream(key: u64, purpose: u64, index: u64) -> Stream {
    let twice = 2 * ((purpose << 40) + index);
    let word = |step: u64| finalize(key.wrapping_add((twice + step).wrapping_mul(INCREMENT)));
    match [word(1), word(2)] {
        // The one state that a generator cannot leave.
        [0, 0] => Stream::from_state([1, 0]),
        state => Stream::from_state(state),
    }
}

/// A number in [0, 1), a multiple of 2⁻²⁴.
pub(super) fn unit_f32(stream: &mut Stream) -> f32 {
    (stream.next_u64() >> 40) as f32 / (1u32 << 24) as f32
}

/// A number in [0, 1), a multiple of 2⁻⁵³.
fn unit_f64(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn normal(stream: &mut Stream) -> f64 {
    loop {
        let x = 2.0 * unit_f64(stream) - 1.0;
        let y = 2.0 * unit_f64(stream) - 1.0;
        let square = x * x + y * y;
        if 0.0 < square && square < 1.0 {
            return x * libm::sqrt(-2.0 * libm::log(square) / square);
        }
    }
}

/// A gamma number of scale 1 and shape at least 1.
fn gamma_from_1(stream: &mut Stream, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(stream);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let u = 1.0 - unit_f64(stream);
        if libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// A gamma number of scale 1.
pub(super) fn gamma(stream: &mut Stream, shape: f64) -> f64 {
    if shape >= 1.0 {
        return gamma_from_1(stream, shape);
    }
    let larger = gamma_from_1(stream, shape + 1.0);
    larger * libm::pow(1.0 - unit_f64(stream), 1.0 / shape)
}
