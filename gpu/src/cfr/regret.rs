//! Regret matching and its updates, in single or double precision: what every kernel of the family does with a set's regrets.

use core::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

mod sealed {
    /// Of [`Real`](super::Real)'s types alone.
    pub trait Sealed {}
}

/// `f32` or `f64`.
pub trait Real:
    sealed::Sealed
    + Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + SubAssign
    + Mul<Output = Self>
    + MulAssign
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The nearest number of the type.
    fn from_f64(value: f64) -> Self;
    /// A small whole number.
    fn from_u32(value: u32) -> Self;
    /// The same in double precision.
    fn to_f64(self) -> f64;
    /// The larger of the two.
    #[device_inline]
    fn larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
    /// The positive part.
    #[device_inline]
    fn positive(self) -> Self {
        self.larger(Self::ZERO)
    }
}

macro_rules! real {
    ($type:ty) => {
        impl sealed::Sealed for $type {}
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[device_inline]
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            #[device_inline]
            fn from_u32(value: u32) -> Self {
                value as $type
            }
            #[device_inline]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    };
}
real!(f32);
real!(f64);

/// What one iteration does with cumulative regrets and averages. The host computes it for each iteration.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step<T> {
    /// Factor of cumulative regrets that are ≥ 0 after this iteration's were added.
    pub positive: T,
    /// Factor of negative ones; 0 is CFR+.
    pub negative: T,
    /// Weight of this iteration's strategy in the average.
    pub weight: T,
    /// 1 where the next strategy is matched from `max(cumulative + last, 0)`, else 0.
    pub predicts: T,
}

// SAFETY: four values of one type.
unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for Step<T> {}
// SAFETY: as above, so no padding.
unsafe impl<T: bytemuck::Pod> bytemuck::Pod for Step<T> {}

impl<T: Real> Step<T> {
    /// A cumulative regret after this iteration's `gain` was added.
    #[device_inline]
    pub fn regret(&self, cumulative: T, gain: T) -> T {
        let sum = cumulative + gain;
        if sum >= T::ZERO { sum * self.positive } else { sum * self.negative }
    }

    /// What the next strategy is matched from: the cumulative regret, and, where the step predicts, the last one once more.
    #[device_inline]
    pub fn matched(&self, cumulative: T, last: T) -> T {
        (cumulative + self.predicts * last).positive()
    }
}

/// Probability of an action with positive part `positive` of `n_actions` whose positive parts add up to `sum`: uniform where nothing is positive.
#[device_inline]
pub fn probability<T: Real>(positive: T, sum: T, n_actions: u32) -> T {
    if sum > T::ZERO { positive / sum } else { T::ONE / T::from_u32(n_actions) }
}
