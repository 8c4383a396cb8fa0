//! The sums of a convolution, by warpgroups: 64 outputs, the squares of all boards of the block, stage after stage of weights as they come.

use crate::cuda::ring::Ring;
use crate::cuda::wgmma::{self, Tiles, WholeGroup};

/// A format of one part, whose stages are three steps.
pub trait Short {
    /// Starts the three products of a stage: `a` are the tiles of the first step's weights, `b` those of all three steps' activations.
    fn multiply<const R: usize>(whole: &WholeGroup, d: &mut [f32; R], a: Tiles, b: [Tiles; 3], add: u32);
}

/// A format of two parts, whose stages are one step.
pub trait Parts {
    /// Starts the large products of a step: `d` of first parts.
    fn large<const R: usize>(whole: &WholeGroup, d: &mut [f32; R], a: Tiles, b: Tiles, add: u32);

    /// Starts its small ones, of a first part and a second; `b_part` bytes further are the second parts of the activations.
    fn small<const R: usize>(whole: &WholeGroup, d: &mut [f32; R], a: Tiles, b: Tiles, b_part: u32, add: u32);
}

/// Distances in the array of activations, and steps of a tap.
#[derive(Clone, Copy)]
pub struct Strides {
    /// Bytes from a chunk's array to the next.
    pub chunk: u32,
    /// Bytes from a part to the next.
    pub part: u32,
    /// Bytes from a tap to the one below.
    pub tap_row: u32,
    /// Steps of a tap, a power of two.
    pub tap_steps: u32,
}

/// Where the operands of a convolution's stages are.
#[derive(Clone, Copy)]
pub struct Operands {
    ring: Ring,
    first: u32,
    stages: u32,
    group: u32,
    b: Tiles,
    strides: Strides,
}

impl Operands {
    /// Operands of `stages` stages, whose weights come as stages `first` to `first + stages` of the ring; a warpgroup's are `group` bytes behind a step's. `b` are the activations:
    /// the first row of the boards, x = 0, for the tap above and left of it.
    ///
    /// # Safety
    /// A stage of the ring holds the weights of the warpgroup from there on. The activations of all taps and steps, as `strides` says, are shared memory of the block; they are
    /// complete, published, and followed by a barrier. `stages` is at least 1, and at least 2 for a format of two parts.
    #[device_inline]
    pub unsafe fn new(ring: Ring, first: u32, stages: u32, group: u32, b: Tiles, strides: Strides) -> Self {
        Self { ring, first, stages, group, b, strides }
    }

    /// The weights of stage `at`, once they are there.
    #[device_inline]
    fn weights(self, at: u32) -> Tiles {
        self.ring.wait(self.first + at);
        // SAFETY: the warpgroup's weights in a slot of the ring, as `new` asks; the stage is there, and copies of the ring need no publishing.
        unsafe { Tiles::new(self.ring.address_of(self.first + at) + self.group, 1024, 128) }
    }

    /// The activations of a step.
    #[device_inline]
    fn activations(self, step: u32) -> Tiles {
        let (tap, pair) = (step >> self.strides.tap_steps.trailing_zeros(), step & (self.strides.tap_steps - 1));
        self.b.offset(pair * 2 * self.strides.chunk + tap / 3 * self.strides.tap_row + tap % 3 * 16)
    }

    /// Says that the warpgroup is done with stage `at`.
    #[device_inline]
    fn release(self, at: u32, member: u32) {
        if member == 0 {
            self.ring.release(self.first + at);
        }
    }
}

/// Sums that stay in the tensor core from the first stage to the last. `R` is 128, 64 or 32.
#[device_inline]
pub fn short<F: Short, const R: usize>(whole: &WholeGroup, d: &mut [f32; R], operands: Operands, member: u32) {
    let mut at = 0;
    while at < operands.stages {
        let (a, step) = (operands.weights(at), 3 * at);
        let b = [operands.activations(step), operands.activations(step + 1), operands.activations(step + 2)];
        F::multiply::<R>(whole, d, a, b, (at > 0) as u32);
        if at > 0 {
            wgmma::wait::<1>(whole);
            operands.release(at - 1, member);
        }
        at += 1;
    }
    complete::<R, 0>(whole, d);
    operands.release(operands.stages - 1, member);
}

/// Sums of split numbers. A tensor core cuts its sums off, and loses more the larger they have become. So sums of large products leave it after two stages and are added up outside, rounded, while it
/// works on the small products. These are 2⁻¹¹ as large, and so is what it loses of their sums, which stay in it. There are at least two stages.
#[device_inline]
pub fn split<F: Parts, const R: usize>(whole: &WholeGroup, d: &mut [f32; R], operands: Operands, member: u32) {
    debug_assert!(operands.stages > 1, "a last odd stage releases the one before");
    let (mut small, mut total) = ([0.0; R], [0.0; R]);
    let mut at = 0;
    // Two stages a turn: `ptxas` lets products overlap where no condition stands between their start and what reads them.
    while at + 1 < operands.stages {
        start_split::<F, R>(whole, d, &mut small, operands, at, 0);
        wgmma::wait::<2>(whole);
        if at > 0 {
            operands.release(at - 1, member);
        }
        start_split::<F, R>(whole, d, &mut small, operands, at + 1, 1);
        complete::<R, 1>(whole, d);
        operands.release(at, member);
        add(&mut total, d);
        at += 2;
    }
    if at < operands.stages {
        start_split::<F, R>(whole, d, &mut small, operands, at, 0);
        complete::<R, 1>(whole, d);
        operands.release(at - 1, member);
        add(&mut total, d);
    }
    complete::<R, 0>(whole, &mut small);
    operands.release(operands.stages - 1, member);
    add(&mut total, &small);
    *d = total;
}

/// Starts the products of stage `at`, once its weights are there; the large ones replace `d` where `keep` is 0.
#[device_inline]
fn start_split<F: Parts, const R: usize>(
    whole: &WholeGroup,
    d: &mut [f32; R],
    small: &mut [f32; R],
    operands: Operands,
    at: u32,
    keep: u32,
) {
    let (a, b) = (operands.weights(at), operands.activations(at));
    F::large::<R>(whole, d, a, b, keep);
    F::small::<R>(whole, small, a, b, operands.strides.part, (at > 0) as u32);
}

/// Calls the form of a function for as many registers as the array has: 128, 64 or 32.
macro_rules! by_registers {
    ($d:expr, $n256:expr, $n128:expr, $n64:expr) => {{
        let d: &mut [f32] = $d;
        debug_assert!(matches!(d.len(), 128 | 64 | 32));
        // One of the lengths is that of the array; the compiler knows which.
        if let Ok(d) = <&mut [f32; 128]>::try_from(&mut *d) {
            $n256(d)
        } else if let Ok(d) = <&mut [f32; 64]>::try_from(&mut *d) {
            $n128(d)
        } else if let Ok(d) = <&mut [f32; 32]>::try_from(&mut *d) {
            $n64(d)
        }
    }};
}
pub(super) use by_registers;

/// Waits until at most `PENDING` of the newest groups of products still run; `d` are results of the others.
#[device_inline]
fn complete<const R: usize, const PENDING: u32>(whole: &WholeGroup, d: &mut [f32; R]) {
    by_registers!(
        d,
        |d| wgmma::complete_n256::<PENDING>(whole, d),
        |d| wgmma::complete_n128::<PENDING>(whole, d),
        |d| wgmma::complete_n64::<PENDING>(whole, d)
    );
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

#[device_inline]
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
