//! An epilogue: C holds the parameters of a layer, and what a product makes is their gradient, which an optimiser follows.
//!
//! So the gradient is neither written nor read: a parameter is read, changed and written where its sum is.

use super::task::ProductTask;
use crate::cuda::DeviceArgs;
use crate::cuda::math;
use crate::cuda::memory::load;
use crate::unroll::unroll;

/// Which optimiser.
pub mod kind {
    /// `w -= lr g`.
    pub const SGD: u32 = 0;
    /// `v = a v + g; w -= lr v`.
    pub const MOMENTUM: u32 = 1;
    /// `v = a v + g; w -= lr (g + a v)`.
    pub const NESTEROV: u32 = 2;
    /// Adam, betas a and b.
    pub const ADAM: u32 = 3;
    /// The same with decoupled weight decay.
    pub const ADAM_W: u32 = 4;
    /// `s = a s + (1 - a) g²; w -= lr g / (√s + epsilon)`.
    pub const RMSPROP: u32 = 5;
}

/// An optimiser and its constants.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// One of [`kind`].
    pub kind: u32,
    /// Momentum, beta1 or alpha.
    pub a: f32,
    /// beta2.
    pub b: f32,
    /// Added to the root.
    pub epsilon: f32,
    /// Weight decay.
    pub decay: f32,
}

/// What differs from step to step.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Rate {
    /// Learning rate.
    pub rate: f32,
    /// Adam: learning rate / (1 - beta1^t).
    pub step_size: f32,
    /// Adam: √(1 - beta2^t).
    pub root: f32,
    /// 0.
    pub reserved: f32,
}

/// One parameter's step: returns the new weight; `first` and `second` are what the optimiser remembers of it.
#[device_inline]
pub fn stepped(rule: &Rule, rate: &Rate, weight: f32, gradient: f32, first: &mut f32, second: &mut f32) -> f32 {
    if rule.kind == kind::ADAM || rule.kind == kind::ADAM_W {
        let (weight, gradient) = if rule.kind == kind::ADAM_W {
            (weight - rate.rate * rule.decay * weight, gradient)
        } else {
            (weight, gradient + rule.decay * weight)
        };
        *first = rule.a * *first + (1.0 - rule.a) * gradient;
        *second = rule.b * *second + (1.0 - rule.b) * gradient * gradient;
        return weight - rate.step_size * *first / (math::sqrt(*second) / rate.root + rule.epsilon);
    }
    let gradient = gradient + rule.decay * weight;
    if rule.kind == kind::SGD {
        return weight - rate.rate * gradient;
    }
    if rule.kind == kind::RMSPROP {
        *first = rule.a * *first + (1.0 - rule.a) * gradient * gradient;
        return weight - rate.rate * gradient / (math::sqrt(*first) + rule.epsilon);
    }
    *first = rule.a * *first + gradient;
    let along = if rule.kind == kind::NESTEROV { gradient + rule.a * *first } else { *first };
    weight - rate.rate * along
}

const _: () = assert!(size_of::<Rate>() == 16 && size_of::<Rule>() == 20);

/// What an optimiser remembers, and how it goes on. The sums of a product, multiplied with its factor, are the gradient of C.
///
/// C, `first` and `second` begin at multiples of 16 bytes. Value `i` of C belongs to value `c_first + i` of what is remembered ([`ProductTask::c_first`]), of which there are as many as that needs; `c_first` and the values from a row of C to the next are multiples of 4.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Values of all C of the launch, as far as an optimiser remembers something of them.
    n_values: usize
)]
#[require(n_state <= 2 && n_rates >= 1)]
pub struct Update {
    /// What the optimiser remembers of the values of C, in their order: mean or momentum, or the only one there is; null without.
    #[len(if n_state > 0 { n_values } else { 0 })]
    pub first: *mut f32,
    /// The mean square of Adam; null without.
    #[len(if n_state > 1 { n_values } else { 0 })]
    pub second: *mut f32,
    /// Rates, of which one is taken.
    #[len(n_rates)]
    pub rates: *const Rate,
    /// `[1]` The number of the rate, the last one for a larger number; null for the first.
    #[len(1)]
    #[nullable]
    pub step: *const u32,
    /// The optimiser.
    pub rule: Rule,
    /// Arrays that the optimiser remembers, 0 to 2.
    pub n_state: u32,
    /// Rates.
    pub n_rates: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Update>() == 64);

/// Four parameters, and what the optimiser remembers of them.
pub type Quads = [[f32; 4]; 3];

impl Update {
    /// The step's rate.
    ///
    /// # Safety
    /// It is there.
    #[device_inline]
    #[track_caller]
    pub unsafe fn rate(&self) -> Rate {
        // SAFETY: as the caller vouches.
        unsafe {
            let step = if self.step.is_null() { 0 } else { load(self.step, 0) };
            load(self.rates, (if step < self.n_rates { step } else { self.n_rates - 1 }) as usize)
        }
    }

    /// Four parameters' step, of which those from number `n` on stay as they are. `STATE`: arrays that the optimiser remembers, so that each such case is code of its own.
    #[device_inline]
    pub fn stepped<const STATE: usize>(&self, rate: &Rate, quads: &mut Quads, gradients: [f32; 4], n: u32) {
        let kind = match (STATE, self.rule.kind) {
            (0, _) => kind::SGD,
            (2, kind::ADAM_W) => kind::ADAM_W,
            (2, _) => kind::ADAM,
            (_, kind::RMSPROP) => kind::RMSPROP,
            (_, kind::NESTEROV) => kind::NESTEROV,
            _ => kind::MOMENTUM,
        };
        let rule = Rule { kind, ..self.rule };
        unroll!(C in [0, 1, 2, 3] {
            let [weight, mut first, mut second] = [quads[0][C], quads[1][C], quads[2][C]];
            let weight = stepped(&rule, rate, weight, gradients[C], &mut first, &mut second);
            if (C as u32) < n {
                (quads[0][C], quads[1][C], quads[2][C]) = (weight, first, second);
            }
        });
    }
}

/// Index of value `at` of C among those of which the optimiser remembers something.
#[device_inline]
pub(super) const fn number_of(task: &ProductTask, at: usize) -> usize {
    task.c_first as usize + at
}
