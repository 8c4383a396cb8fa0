//! Arithmetic on vectors of hands, compiled for the wider registers of newer processors too. Their sums keep their order, so the bits are the same on every processor.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use crate::cfr::layout::Number;

/// A number type that the engine computes in.
pub(super) trait Real:
    Number
    + PartialOrd
    + AddAssign
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
}

impl Real for f32 {}
impl Real for f64 {}

/// Functions of a number type to compute in and, after a semicolon, one of tables, each also compiled for AVX2, which is taken where the processor has it.
macro_rules! wide {
    ($($(#[$about:meta])* pub fn $name:ident<T $(; $table:ident)? $(, const $n:ident: usize)?>($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $($(#[$about])*
        #[allow(unsafe_code)]
        pub fn $name<T: Real $(, $table: Real)? $(, const $n: usize)?>($($argument: $type),*) {
            #[inline(always)]
            fn plain<T: Real $(, $table: Real)? $(, const $n: usize)?>($($argument: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2<T: Real $(, $table: Real)? $(, const $n: usize)?>($($argument: $type),*) {
                plain::<T $(, $table)? $(, $n)?>($($argument),*);
            }

            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the function requires AVX2, which the processor has, and nothing else.
                return unsafe { avx2::<T $(, $table)? $(, $n)?>($($argument),*) };
            }
            plain::<T $(, $table)? $(, $n)?>($($argument),*);
        })*
    };
}
pub(super) use wide;

/// A number of a table, to compute with.
#[inline(always)]
fn read<T: Real, S: Real>(number: S) -> T {
    T::rounded(number.widened())
}

/// A number for a table.
#[inline(always)]
fn write<T: Real, S: Real>(number: T) -> S {
    S::rounded(number.widened())
}

wide! {
    /// Regret matching: `strategy[action][hand]` from regrets and, unless it is empty, `predicts` times the last ones; uniform where no regret is positive. Averages, which are not negative, are
    /// normalised by it. `sums` is scratch of the number of
    /// hands.
    pub fn matched<T; S>(strategy: &mut [T], regrets: &[S], last: &[S], predicts: T, sums: &mut [T]) {
        let (n, zero) = (sums.len(), T::default());
        if n == 0 {
            return;
        }
        sums.fill(zero);
        let uniform = T::rounded(1.0 / (regrets.len() / n) as f64);
        // Not `max`, which may give either zero.
        let positive = |sum: T| if sum > zero { sum } else { zero };
        for (action, (strategy, regrets)) in strategy.chunks_exact_mut(n).zip(regrets.chunks_exact(n)).enumerate() {
            match last.get(action * n..(action + 1) * n) {
                Some(last) => {
                    for (strategy, (&regret, &last)) in strategy.iter_mut().zip(regrets.iter().zip(last)) {
                        *strategy = positive(read::<T, S>(regret) + predicts * read::<T, S>(last));
                    }
                }
                None => {
                    strategy.iter_mut().zip(regrets).for_each(|(strategy, &regret)| *strategy = positive(read(regret)));
                }
            }
            sums.iter_mut().zip(&*strategy).for_each(|(sum, &part)| *sum += part);
        }
        for strategy in strategy.chunks_exact_mut(n) {
            for (part, &sum) in strategy.iter_mut().zip(&*sums) {
                *part = if sum > zero { *part / sum } else { uniform };
            }
        }
    }

    /// `product = one · other`.
    pub fn multiply<T>(product: &mut [T], one: &[T], other: &[T]) {
        for (product, (&one, &other)) in product.iter_mut().zip(one.iter().zip(other)) {
            *product = one * other;
        }
    }

    /// `sum += one · other`.
    pub fn add_product<T>(sum: &mut [T], one: &[T], other: &[T]) {
        for (sum, (&one, &other)) in sum.iter_mut().zip(one.iter().zip(other)) {
            *sum += one * other;
        }
    }

    /// `averages += weight · reach · played`.
    pub fn add_averages<T; S>(averages: &mut [S], weight: T, reach: &[T], played: &[T]) {
        for (average, (&reach, &played)) in averages.iter_mut().zip(reach.iter().zip(played)) {
            *average = write(read::<T, S>(*average) + weight * reach * played);
        }
    }

    /// `sum += values`.
    pub fn add<T>(sum: &mut [T], values: &[T]) {
        for (sum, &value) in sum.iter_mut().zip(values) {
            *sum += value;
        }
    }

    /// `largest = max(largest, values)`.
    pub fn raise<T>(largest: &mut [T], values: &[T]) {
        for (largest, &value) in largest.iter_mut().zip(values) {
            *largest = if value > *largest { value } else { *largest };
        }
    }

    /// `regrets += values - mean`, times one factor if the sum is at least 0 and another if not.
    pub fn learn<T; S>(regrets: &mut [S], values: &[T], mean: &[T], factors: [T; 2]) {
        let zero = T::default();
        for (regret, (&value, &mean)) in regrets.iter_mut().zip(values.iter().zip(mean)) {
            let sum = read::<T, S>(*regret) + (value - mean);
            *regret = write(sum * if sum >= zero { factors[0] } else { factors[1] });
        }
    }

    /// `difference = one - other`.
    pub fn subtract<T; S>(difference: &mut [S], one: &[T], other: &[T]) {
        for (difference, (&one, &other)) in difference.iter_mut().zip(one.iter().zip(other)) {
            *difference = write(one - other);
        }
    }
}
