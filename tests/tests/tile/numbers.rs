//! Numbers of operands.

use warpplay::tile::{Engine, F8E4M3, Operand, bf16, f16};
use warpplay_tests::random::Random;

/// A number of an operand or a result.
pub trait Number: Operand {
    fn of(value: f32) -> Self;
    /// The number.
    fn exact(self) -> f64;
    /// What a sum of `k` products is off by at most, as a share of the sum of their sizes: each step of it in single precision may cut off two units in the last place.
    fn cut_off(k: f64) -> f64 {
        k * 2f64.powi(-22)
    }
    /// The number that an engine multiplies.
    fn multiplied(self, _: Option<Engine>) -> f64 {
        self.exact()
    }
}

impl Number for bf16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn exact(self) -> f64 {
        self.to_f64()
    }
}

impl Number for f16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn exact(self) -> f64 {
        self.to_f64()
    }
}

impl Number for F8E4M3 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn exact(self) -> f64 {
        self.to_f64()
    }

    /// Of a slab of 128 products 32 are added at a time to what is there; each of these 33 terms is cut off behind the 14th bit of the largest, which is at most the sum of the slab's sizes. Sums of slabs, no more than products, are added in single precision.
    fn cut_off(k: f64) -> f64 {
        4.0 * 33.0 * 2f64.powi(-13) + k * 2f64.powi(-22)
    }
}

impl Number for f32 {
    fn of(value: f32) -> Self {
        value
    }

    fn exact(self) -> f64 {
        self.into()
    }

    /// As TF32, or as it is.
    fn multiplied(self, engine: Option<Engine>) -> f64 {
        if engine == Some(Engine::Plain) { self.into() } else { Self::from_bits(self.to_bits() & !0x1FFF).into() }
    }
}

/// Numbers from -1 to 1 as they are multiplied, `used` of each of `lines` lines, and as they lie in parts, `stride` apart, among numbers that must not count.
pub fn operand<T: Number>(
    random: &mut Random,
    lines: usize,
    [used, stride]: [u32; 2],
    parts: u32,
) -> (Vec<f64>, Vec<T>) {
    let (used, stride) = (used as usize, stride as usize);
    let mut numbers = Vec::with_capacity(lines * used);
    let mut lie = vec![T::of(1e4); parts as usize * lines * stride];
    for line in 0..lines {
        for at in 0..used {
            let (mut left, mut number) = (2.0 * random.unit() - 1.0, 0.0);
            for part in 0..parts as usize {
                let value = T::of(left);
                left -= value.multiplied(None) as f32;
                number += value.multiplied(None);
                lie[(part * lines + line) * stride + at] = value;
            }
            numbers.push(number);
        }
    }
    (numbers, lie)
}

/// What numbers in parts cost.
pub struct Parts {
    pairs: f64,
    left_out: f64,
}

impl Parts {
    /// With two parts three pairs are added up and what others would add is less than `2⁻¹⁴` of the sizes; with three parts six, and `2⁻²²`, see the module.
    pub fn of(parts: [u32; 2]) -> Self {
        let most = parts.into_iter().max().unwrap_or(1) as usize;
        Self { pairs: [1.0, 3.0, 6.0][most - 1], left_out: [0.0, 2f64.powi(-14), 2f64.powi(-22)][most - 1] }
    }

    /// What a sum of `products` products of numbers of `T` is off by at most, as a share of the sum of their sizes.
    pub fn bound<T: Number>(&self, products: f64) -> f64 {
        self.pairs * T::cut_off(products) + self.left_out
    }
}
