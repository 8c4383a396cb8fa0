//! The sums of a convolution, by warpgroups: 64 outputs, the squares of all boards of the block, stage after stage of weights as they come.

use crate::cuda::ring::Ring;
use crate::cuda::wgmma::{self, Tiles};

/// A format of one part, whose stages are three steps.
pub trait Short {
    /// Starts the three products of a stage: `a` are the tiles of the first step's weights, `b` those of all three steps' activations.
    ///
    /// # Safety
    /// As [`short`].
    unsafe fn multiply<const R: usize>(d: &mut [f32; R], a: Tiles, b: [Tiles; 3], add: u32);
}

/// A format of two parts, whose stages are one step.
pub trait Parts {
    /// Starts the large products of a step: `d` of first parts.
    ///
    /// # Safety
    /// As [`short`].
    unsafe fn large<const R: usize>(d: &mut [f32; R], a: Tiles, b: Tiles, add: u32);

    /// Starts its small ones, of a first part and a second; `b_part` bytes further are the second parts of the activations.
    ///
    /// # Safety
    /// As [`short`].
    unsafe fn small<const R: usize>(d: &mut [f32; R], a: Tiles, b: Tiles, b_part: u32, add: u32);
}

/// Where the operands of a convolution's stages are.
#[derive(Clone, Copy)]
pub struct Operands {
    /// The weights.
    pub ring: Ring,
    /// The convolution's first stage.
    pub first: u32,
    /// Its stages.
    pub stages: u32,
    /// Bytes from a step's weights to those of this warpgroup.
    pub group: u32,
    /// The activations: the first row of the boards, x = 0, for the tap above and left of it.
    pub b: Tiles,
    /// Bytes from a chunk's array to the next.
    pub chunk: u32,
    /// Bytes from a part to the next.
    pub part: u32,
    /// Bytes from a tap to the one below.
    pub tap_row: u32,
    /// Steps of a tap, a power of two.
    pub tap_steps: u32,
}

impl Operands {
    /// The weights of stage `at`, once they are there.
    #[inline(always)]
    fn weights(self, at: u32) -> Tiles {
        self.ring.wait(self.first + at);
        Tiles::new(self.ring.address_of(self.first + at) + self.group, 1024, 128)
    }

    /// The activations of a step.
    #[inline(always)]
    fn activations(self, step: u32) -> Tiles {
        let (tap, pair) = (step >> self.tap_steps.trailing_zeros(), step & (self.tap_steps - 1));
        self.b.offset(pair * 2 * self.chunk + tap / 3 * self.tap_row + tap % 3 * 16)
    }

    /// Says that the warpgroup is done with stage `at`.
    #[inline(always)]
    fn release(self, at: u32, member: u32) {
        if member == 0 {
            self.ring.release(self.first + at);
        }
    }
}

/// Sums that stay in the tensor core from the first stage to the last.
///
/// # Safety
/// As [`wgmma::f16_n256`]: all threads of the warpgroup come here, and the activations are complete; `R` is 128, 64 or 32.
#[inline(always)]
pub unsafe fn short<F: Short, const R: usize>(d: &mut [f32; R], operands: Operands, member: u32) {
    let mut at = 0;
    while at < operands.stages {
        let (a, step) = (operands.weights(at), 3 * at);
        let b = [operands.activations(step), operands.activations(step + 1), operands.activations(step + 2)];
        // SAFETY: the caller's promise; the stage's weights are there.
        unsafe { F::multiply::<R>(d, a, b, (at > 0) as u32) };
        if at > 0 {
            // SAFETY: all threads of the warpgroup come here.
            unsafe { wgmma::wait::<1>() };
            operands.release(at - 1, member);
        }
        at += 1;
    }
    // SAFETY: as above.
    unsafe { complete::<R, 0>(d) };
    operands.release(operands.stages - 1, member);
}

/// Sums of split numbers. A tensor core cuts its sums off, and loses more the larger they have become. So sums of large products leave it after two stages and are added up outside, rounded, while it
/// works on the small products. These are 2⁻¹¹ as large, and so is what it loses of their sums, which stay in it.
///
/// # Safety
/// As [`short`]; there are at least two stages.
#[inline(always)]
pub unsafe fn split<F: Parts, const R: usize>(d: &mut [f32; R], operands: Operands, member: u32) {
    debug_assert!(operands.stages > 1, "a last odd stage releases the one before");
    let (mut small, mut total) = ([0.0; R], [0.0; R]);
    let mut at = 0;
    // Two stages a turn: `ptxas` lets products overlap where no condition stands between their start and what reads them.
    while at + 1 < operands.stages {
        // SAFETY: the caller's promise. All threads of the warpgroup come here.
        unsafe {
            start_split::<F, R>(d, &mut small, operands, at, 0);
            wgmma::wait::<2>();
            if at > 0 {
                operands.release(at - 1, member);
            }
            start_split::<F, R>(d, &mut small, operands, at + 1, 1);
            complete::<R, 1>(d);
        }
        operands.release(at, member);
        add(&mut total, d);
        at += 2;
    }
    if at < operands.stages {
        // SAFETY: as above.
        unsafe {
            start_split::<F, R>(d, &mut small, operands, at, 0);
            complete::<R, 1>(d);
        }
        operands.release(at - 1, member);
        add(&mut total, d);
    }
    // SAFETY: as above.
    unsafe { complete::<R, 0>(&mut small) };
    operands.release(operands.stages - 1, member);
    add(&mut total, &small);
    *d = total;
}

/// Starts the products of stage `at`, once its weights are there; the large ones replace `d` where `keep` is 0.
///
/// # Safety
/// As [`short`]; `at` is one of the stages.
#[inline(always)]
unsafe fn start_split<F: Parts, const R: usize>(
    d: &mut [f32; R],
    small: &mut [f32; R],
    operands: Operands,
    at: u32,
    keep: u32,
) {
    let (a, b) = (operands.weights(at), operands.activations(at));
    // SAFETY: the caller's promise.
    unsafe {
        F::large::<R>(d, a, b, keep);
        F::small::<R>(small, a, b, operands.part, (at > 0) as u32);
    }
}

/// Waits until at most `PENDING` of the newest groups of products still run; `d` are results of the others.
///
/// # Safety
/// All threads of the warpgroup come here; `R` is 128, 64 or 32.
#[inline(always)]
unsafe fn complete<const R: usize, const PENDING: u32>(d: &mut [f32; R]) {
    let d: *mut [f32; R] = d;
    // SAFETY: the array has the length of the form that is chosen; all threads of the warpgroup come here.
    unsafe {
        match R {
            128 => wgmma::complete_n256::<PENDING>(&mut *d.cast()),
            64 => wgmma::complete_n128::<PENDING>(&mut *d.cast()),
            _ => wgmma::complete_n64::<PENDING>(&mut *d.cast()),
        }
    }
}

/// Calls a body for the 16 pairs of storage rows that a fragment has at most, by constant numbers: arrays of registers are indexed by constants only.
macro_rules! for_each_pair {
    (|$pair:ident| $body:block) => {
        for_each_pair!(@ $pair, $body, [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15])
    };
    (@ $pair:ident, $body:block, [$($at:literal)*]) => {
        $({
            const $pair: usize = $at;
            $body
        })*
    };
}
pub(super) use for_each_pair;

#[inline(always)]
fn add<const R: usize>(total: &mut [f32; R], d: &[f32; R]) {
    for_each_pair!(|PAIR| {
        if PAIR * 8 < R {
            total[PAIR * 8] += d[PAIR * 8];
            total[PAIR * 8 + 1] += d[PAIR * 8 + 1];
            total[PAIR * 8 + 2] += d[PAIR * 8 + 2];
            total[PAIR * 8 + 3] += d[PAIR * 8 + 3];
            total[PAIR * 8 + 4] += d[PAIR * 8 + 4];
            total[PAIR * 8 + 5] += d[PAIR * 8 + 5];
            total[PAIR * 8 + 6] += d[PAIR * 8 + 6];
            total[PAIR * 8 + 7] += d[PAIR * 8 + 7];
        }
    });
}
