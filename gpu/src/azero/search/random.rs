//! Random streams by counter: a search of one position has a key, and every draw in it a stream of its own.
//!
//! ```text
//! key              from (seed, game, ply) by three rounds of SplitMix64's finaliser
//! state of stream  the finaliser of key + (2c + 1)·γ and of key + (2c + 2)·γ,  c = purpose · 2⁴⁰ + index
//! ```
//!
//! So what is drawn depends neither on the index of a tree in its batch nor on the number of threads. The generator is xoroshiro128+.
//!
//! Source  Steele, Lea, Flood, "Fast splittable pseudorandom number generators"; Marsaglia and Tsang, "A simple method for generating gamma variables".

use crate::mcts::rng::Stream;
use crate::split_mix::{GAMMA, element, mix};

/// What a stream is for.
#[repr(u64)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Noise of the root's priors; the index is the child's rank.
    Noise = 0,
    /// Choosing the move; index 0.
    Choice = 1,
    /// Playouts; the index is simulation · playouts + playout.
    Playout = 2,
}

/// The key of a game's position.
pub const fn key(seed: u64, game: u64, ply: u64) -> u64 {
    let key = mix(seed.wrapping_add(GAMMA));
    let key = element(key, game);
    element(key, ply)
}

/// Stream `index` of a purpose; `index` is below 2⁴⁰.
#[device_inline]
pub fn stream(key: u64, purpose: Purpose, index: u64) -> Stream {
    let counter = ((purpose as u64) << 40 | index).wrapping_mul(2);
    let low = element(key, counter);
    let high = element(key, counter + 1);
    // The generator stands still in the state 0.
    Stream::from_state([low | (low | high == 0) as u64, high])
}

/// A number in [0, 1) of 24 bits.
#[device_inline]
pub fn unit_f32(stream: &mut Stream) -> f32 {
    (stream.next_u64() >> 40) as f32 * (1.0 / 16_777_216.0)
}

/// A number in [0, 1) of 53 bits.
#[device_inline]
fn unit_f64(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// A standard normal number by Marsaglia's polar method.
#[device_inline]
fn normal(stream: &mut Stream) -> f64 {
    loop {
        let u = 2.0 * unit_f64(stream) - 1.0;
        let v = 2.0 * unit_f64(stream) - 1.0;
        let s = u * u + v * v;
        if s < 1.0 && s > 0.0 {
            return u * libm::sqrt(-2.0 * libm::log(s) / s);
        }
    }
}

/// A gamma number of shape `alpha` > 0 and scale 1: Marsaglia and Tsang's method, and below shape 1 the number of shape `alpha + 1` times
/// `U^(1 / alpha)`.
#[device_inline]
pub fn gamma(stream: &mut Stream, alpha: f64) -> f64 {
    let boosted = alpha < 1.0;
    let shape = if boosted { alpha + 1.0 } else { alpha };
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    let value = loop {
        let x = normal(stream);
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        let u = 1.0 - unit_f64(stream);
        if libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            break d * v;
        }
    };
    if boosted { value * libm::pow(1.0 - unit_f64(stream), 1.0 / alpha) } else { value }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn gamma_numbers_have_their_mean_and_variance() {
        for alpha in [0.3, 1.0, 2.5] {
            let n = 40_000;
            let numbers: Vec<f64> = (0..n).map(|i| gamma(&mut stream(7, Purpose::Noise, i), alpha)).collect();
            let mean = numbers.iter().sum::<f64>() / n as f64;
            let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
            // Five standard errors.
            assert!((mean - alpha).abs() < 5.0 * (alpha / n as f64).sqrt(), "mean {mean} for {alpha}");
            let error = ((6.0 * alpha + 2.0 * alpha * alpha) / n as f64).sqrt();
            assert!((variance - alpha).abs() < 5.0 * error, "variance {variance} for {alpha}");
        }
    }

    #[test]
    fn keys_differ_by_seed_game_and_ply() {
        let mut keys: Vec<u64> =
            (0..8).flat_map(|seed| (0..8).flat_map(move |game| (0..8).map(move |ply| key(seed, game, ply)))).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 512);
    }
}
