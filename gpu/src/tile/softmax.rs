//! An epilogue: the rows of C are logits, and become the gradient of their cross-entropy.
//!
//! A row has at most [`MAX_CLASSES`] columns, which lie in the lanes of a quarter of a warp, four each.

use super::task::ProductTask;
use crate::cuda::memory::{load, store};
use crate::cuda::{DeviceArgs, math, thread, warp};
use crate::unroll::unroll;

/// Most columns of C: those that a warp exchanges at a time.
pub const MAX_CLASSES: u32 = 32;

/// Blocks that share the depth of logits, where it is shared: each has a quarter of the rows of a warp.
pub const CLUSTER: u32 = 4;

/// What becomes of logits: `gradient = (softmax - target) / divisor * scale`, where `divisor` is the number of samples with `mean`, else 1, and
/// `target = label` in the column of the row's class, plus `even` in every column: 1 and 0, or, where labels are smoothed by `s`, `1 - s` and `s / n`.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Rows of C.
    m: u32,
    /// Blocks that share the depth.
    blocks: u32
)]
pub struct Softmax {
    /// `[m + 1]` The class of each row, a number below `n`, or a larger one where the row is no sample: its gradient is 0, and it has no loss. Then the number of samples.
    #[len(m + 1)]
    pub classes: *const u32,
    /// Bits of the scale; null for 1.
    #[len(1)]
    #[nullable]
    pub scale: *const u32,
    /// Sums of losses, which together are that of all rows; see [`n_losses`].
    #[len(n_losses(m, blocks))]
    pub losses: *mut f32,
    /// 1 for the gradient of the mean loss, 0 for that of the sum.
    pub mean: u32,
    /// What the target has in the column of the row's class alone.
    pub label: f32,
    /// What it has in every column, at least 0.
    pub even: f32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Softmax>() == 40);

impl Softmax {
    /// For kernels that take no softmax.
    pub const NONE: Self = Self {
        classes: core::ptr::null(),
        scale: core::ptr::null(),
        losses: core::ptr::null_mut(),
        mean: 0,
        label: 1.0,
        even: 0.0,
        reserved: 0,
    };
}

/// Sums of losses of `m` rows: one for each warp of each block that shares the depth.
pub const fn n_losses(m: u32, blocks: u32) -> u32 {
    4 * m.div_ceil(64) * blocks
}

/// Combines the values of the eight lanes that have a row.
#[device_inline]
fn of_row(value: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let value = combine(value, warp::shuffle_xor(warp::ALL, value, 1));
    let value = combine(value, warp::shuffle_xor(warp::ALL, value, 2));
    combine(value, warp::shuffle_xor(warp::ALL, value, 4))
}

/// What the rows of a warp need, read while their sums are exchanged.
#[derive(Clone, Copy)]
pub struct Known {
    /// Of row `lane` of the warp, in the first lanes.
    class: u32,
    /// What a row's gradient is multiplied with.
    factor: f32,
}

impl Softmax {
    /// Reads what a warp's rows need, from row `row` of C on.
    ///
    /// # Safety
    /// All lanes are here; the arrays are as the type says for the task's rows.
    #[device_inline]
    #[track_caller]
    pub unsafe fn known(&self, task: &ProductTask, row: u32) -> Known {
        let row = row + thread::lane();
        // SAFETY: rows are below `m`; the rest as the caller vouches.
        unsafe {
            let class = if row < task.m { load(self.classes, row as usize) } else { u32::MAX };
            let scale = if self.scale.is_null() { 1.0 } else { f32::from_bits(load(self.scale, 0)) };
            let divisor = if self.mean != 0 { load(self.classes, task.m as usize) as f32 } else { 1.0 };
            Known { class, factor: scale / divisor }
        }
    }

    /// Stores the loss of a warp's rows, of those that this block has of a cluster's.
    ///
    /// # Safety
    /// As [`known`](Self::known).
    #[device_inline]
    #[track_caller]
    pub unsafe fn store_loss(&self, first_row: u32, [blocks, rank]: [u32; 2], loss: f32) {
        let loss = warp::reduce_sum(loss);
        if thread::lane() == 0 {
            // SAFETY: each warp of each block has one.
            unsafe { store(self.losses, (first_row / 16 * blocks + rank) as usize, loss) };
        }
    }
}

/// Turns a quad of logits, of row `row` of a warp's and four columns of C from `column` on, into their gradient; returns the row's loss in the first of its eight lanes, 0 in the others. All lanes of the warp are here.
#[device_inline]
#[track_caller]
pub fn gradient(
    softmax: &Softmax,
    known: Known,
    task: &ProductTask,
    [row, column]: [u32; 2],
    quad: &mut [f32; 4],
) -> f32 {
    let class = warp::shuffle(warp::ALL, known.class, row);
    let is_there = class < task.n;
    let mut most = f32::NEG_INFINITY;
    unroll!(C in [0, 1, 2, 3] {
        if column + (C as u32) < task.n && quad[C] > most {
            most = quad[C];
        }
    });
    let most = of_row(most, |a, b| if b > a { b } else { a });
    let (mut powers, mut sum, mut of_class) = ([0.0; 4], 0.0, 0.0);
    unroll!(C in [0, 1, 2, 3] {
        let at = column + C as u32;
        powers[C] = if at < task.n { math::exp(quad[C] - most) } else { 0.0 };
        sum += powers[C];
        of_class += if at == class { quad[C] } else { 0.0 };
    });
    let (sum, mut of_target) = (of_row(sum, |a, b| a + b), of_row(of_class, |a, b| a + b));
    if softmax.even > 0.0 {
        let mut of_all = 0.0;
        unroll!(C in [0, 1, 2, 3] {
            of_all += if column + (C as u32) < task.n { quad[C] } else { 0.0 };
        });
        of_target = softmax.label * of_target + softmax.even * of_row(of_all, |a, b| a + b);
    }
    let of_sum = 1.0 / sum;
    unroll!(C in [0, 1, 2, 3] {
        let target = if column + (C as u32) == class { softmax.label + softmax.even } else { softmax.even };
        quad[C] = if is_there { (powers[C] * of_sum - target) * known.factor } else { 0.0 };
    });
    if is_there && thread::lane().is_multiple_of(8) { math::ln(sum) + most - of_target } else { 0.0 }
}
