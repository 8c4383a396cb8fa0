//! One step of an optimiser, all in `f32`, every product and sum rounded by itself.

use rayon::prelude::*;

use crate::shogi::ONE;

/// How weights move along the gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimizer {
    /// `w −= rate · sign(g)`.
    Sign,
    /// `w −= rate · g`.
    Gd,
    /// `m = β₁ m + g`, `w −= rate · m`.
    Momentum,
    /// `s += g²`, `w −= rate · g / (√s + ε)`.
    AdaGrad,
    /// Kingma and Ba, 2015.
    Adam,
}

impl Optimizer {
    /// Arrays of memory, each as long as the weights.
    pub const fn n_memory(self) -> usize {
        match self {
            Self::Sign | Self::Gd => 0,
            Self::Momentum | Self::AdaGrad => 1,
            Self::Adam => 2,
        }
    }
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// By which rule.
    pub optimizer: Optimizer,
    /// From 1.
    pub step: u32,
    /// Learning rate.
    pub rate: f32,
    /// Weight of Σ|w|.
    pub l1: f32,
    /// Weight of Σw²/2.
    pub l2: f32,
    /// β₁ of momentum and Adam.
    pub beta1: f32,
    /// β₂ of Adam.
    pub beta2: f32,
    /// ε of AdaGrad and Adam.
    pub epsilon: f32,
}

impl Update {
    /// 1 − β₁ᵗ and 1 − β₂ᵗ: the powers in `f64` by `libm::pow`, rounded to `f32` after the subtraction.
    pub fn corrections(&self) -> (f32, f32) {
        let correction = |beta: f32| (1.0 - libm::pow(f64::from(beta), f64::from(self.step))) as f32;
        (correction(self.beta1), correction(self.beta2))
    }

    /// A weight and its memory after the step; `gradient` with penalties not yet added. `memory` has the optimiser's arrays, others are not touched.
    fn step(&self, weight: f32, gradient: f32, memory: [&mut f32; 2], corrections: (f32, f32)) -> f32 {
        let mut g = gradient;
        g += self.l2 * weight;
        g += self.l1 * sign(weight);
        let [first, second] = memory;
        let down = match self.optimizer {
            Optimizer::Sign => self.rate * sign(g),
            Optimizer::Gd => self.rate * g,
            Optimizer::Momentum => {
                *first = self.beta1 * *first + g;
                self.rate * *first
            }
            Optimizer::AdaGrad => {
                *first += g * g;
                self.rate * g / (first.sqrt() + self.epsilon)
            }
            Optimizer::Adam => {
                *first = self.beta1 * *first + (1.0 - self.beta1) * g;
                *second = self.beta2 * *second + (1.0 - self.beta2) * g * g;
                self.rate * (*first / corrections.0) / ((*second / corrections.1).sqrt() + self.epsilon)
            }
        };
        rounded(weight - down)
    }
}

/// −1, 0 or 1.
fn sign(x: f32) -> f32 {
    f32::from(i8::from(x > 0.0) - i8::from(x < 0.0))
}

/// The nearest multiple of 2⁻³⁰, of two as near the even one.
pub fn rounded(weight: f32) -> f32 {
    const UNITS: f32 = (1u32 << 30) as f32;
    (weight * UNITS).round_ties_even() / UNITS
}

/// Moves all weights but weight 0, the pawn's, by the gradient (in multiples of 2⁻³⁶) divided by `children`. `memory` has the arrays that the optimiser needs.
///
/// # Panics
/// If arrays are missing or of another length than the weights.
pub fn update(update: &Update, weights: &mut [f32], gradient: &[i64], children: u64, memory: &mut [Vec<f32>]) {
    check(update, weights, gradient, memory);
    let mut rows: [&mut [f32]; 2] = [&mut [], &mut []];
    for (row, memory) in rows.iter_mut().zip(memory) {
        *row = memory;
    }
    part(update, 0, weights, gradient, children, rows);
}

/// [`update`] under rayon: the same bits.
///
/// # Panics
/// As [`update`].
pub fn par_update(update: &Update, weights: &mut [f32], gradient: &[i64], children: u64, memory: &mut [Vec<f32>]) {
    const PART: usize = 1 << 16;
    check(update, weights, gradient, memory);
    let parts = weights.par_chunks_mut(PART).zip(gradient.par_chunks(PART)).enumerate();
    match memory {
        [] => parts.for_each(|(n, (w, g))| part(update, n * PART, w, g, children, [&mut [], &mut []])),
        [m] => parts
            .zip(m.par_chunks_mut(PART))
            .for_each(|((n, (w, g)), m)| part(update, n * PART, w, g, children, [m, &mut []])),
        [m, v, ..] => parts
            .zip(m.par_chunks_mut(PART).zip(v.par_chunks_mut(PART)))
            .for_each(|((n, (w, g)), (m, v))| part(update, n * PART, w, g, children, [m, v])),
    }
}

fn check(update: &Update, weights: &[f32], gradient: &[i64], memory: &[Vec<f32>]) {
    assert_eq!(weights.len(), gradient.len(), "the gradient belongs to other weights");
    assert!(memory.len() >= update.optimizer.n_memory(), "{:?} needs more memory", update.optimizer);
    assert!(memory.iter().all(|array| array.len() == weights.len()), "the memory belongs to other weights");
}

/// Weights `first` and on.
fn part(
    update: &Update,
    first: usize,
    weights: &mut [f32],
    gradient: &[i64],
    children: u64,
    [one, two]: [&mut [f32]; 2],
) {
    let corrections = update.corrections();
    let (mut no_first, mut no_second) = (0.0, 0.0);
    for index in usize::from(first == 0)..weights.len() {
        let g = (gradient[index] as f64 / ONE / children as f64) as f32;
        let memory = [one.get_mut(index).unwrap_or(&mut no_first), two.get_mut(index).unwrap_or(&mut no_second)];
        weights[index] = update.step(weights[index], g, memory, corrections);
    }
}

/// Multiplies all weights but weight 0, and rounds.
pub fn scale(weights: &mut [f32], factor: f32) {
    for weight in weights.iter_mut().skip(1) {
        *weight = rounded(*weight * factor);
    }
}

/// [`scale`] under rayon.
pub fn par_scale(weights: &mut [f32], factor: f32) {
    weights.par_iter_mut().skip(1).with_min_len(1 << 14).for_each(|weight| *weight = rounded(*weight * factor));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(optimizer: Optimizer) -> Update {
        Update { optimizer, step: 1, rate: 0.5, l1: 0.0, l2: 0.0, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }

    /// Four weights, of which the third has gradient 0, after one step.
    fn after(update_: &Update, memory: &mut [Vec<f32>]) -> Vec<f32> {
        let mut weights = vec![1.0, 2.0, 3.0, -4.0];
        let gradient = [ONE as i64, 2 * ONE as i64, 0, -(ONE as i64)];
        update(update_, &mut weights, &gradient, 2, memory);
        weights
    }

    #[test]
    fn every_rule_by_hand() {
        assert_eq!(after(&plain(Optimizer::Sign), &mut []), [1.0, 1.5, 3.0, -3.5]);
        assert_eq!(after(&plain(Optimizer::Gd), &mut []), [1.0, 1.5, 3.0, -3.75]);
        let mut memory = vec![vec![0.0, 1.0, 0.0, 0.0]];
        assert_eq!(after(&plain(Optimizer::Momentum), &mut memory), [1.0, rounded(2.0 - 0.5 * 1.9), 3.0, -3.75]);
        assert_eq!(memory[0], [0.0, 1.9, 0.0, -0.5]);
        // A first step is one of the learning rate, whatever the gradient.
        let mut memory = vec![vec![0.0; 4]];
        let close = |w: Vec<f32>| w.iter().zip([1.0, 1.5, 3.0, -3.5]).all(|(w, expected)| (w - expected).abs() < 1e-5);
        assert!(close(after(&plain(Optimizer::AdaGrad), &mut memory)));
        assert_eq!(memory[0], [0.0, 1.0, 0.0, 0.25]);
        assert!(close(after(&plain(Optimizer::Adam), &mut [vec![0.0; 4], vec![0.0; 4]])));
        let penalties = Update { l1: 0.25, l2: 0.5, ..plain(Optimizer::Gd) };
        assert_eq!(after(&penalties, &mut []), [1.0, 2.0 - 0.5 * 2.25, 3.0 - 0.5 * 1.75, -4.0 + 0.5 * 2.75]);
    }

    #[test]
    fn threads_do_not_matter() {
        let n = 200_001;
        let weights: Vec<f32> = (0..n).map(|i| rounded((i as f32 * 0.37).sin() * 3.0)).collect();
        let gradient: Vec<i64> = (0..n).map(|i| (i as i64 * 7_919 % 1_000_003 - 500_000) << 20).collect();
        for optimizer in [Optimizer::Sign, Optimizer::Gd, Optimizer::Momentum, Optimizer::AdaGrad, Optimizer::Adam] {
            let step = Update { step: 3, l1: 1e-4, l2: 1e-3, ..plain(optimizer) };
            let memory = vec![vec![0.125; n]; optimizer.n_memory()];
            let (mut w1, mut m1, mut w2, mut m2) = (weights.clone(), memory.clone(), weights.clone(), memory);
            update(&step, &mut w1, &gradient, 77, &mut m1);
            par_update(&step, &mut w2, &gradient, 77, &mut m2);
            assert!(w1 == w2 && m1 == m2 && w1 != weights && w1[0] == weights[0]);
            scale(&mut w1, 0.9);
            par_scale(&mut w2, 0.9);
            assert_eq!(w1, w2);
        }
    }
}
