//! The epilogues that kernels have, as types.

use super::exchange::Part;
use super::update::write_updated;
use super::{write, write_with_moments};
use crate::tile::softmax::Softmax;
use crate::tile::task::{Format, ProductTask};
use crate::tile::update::Update;

/// What becomes of the sums of a kernel's tiles.
pub trait Ending: Copy {
    /// How often the threads of a warpgroup meet in it.
    const MEETINGS: u32 = 0;

    /// The sums of a warp into C. `barrier` is one for a warpgroup's 128 threads, which are all here, where they [meet](Self::MEETINGS).
    ///
    /// # Safety
    /// As [`write`](fn@super::write); and what the epilogue asks for.
    unsafe fn write<F: Format, const R: usize, const N: usize>(
        self,
        task: &ProductTask,
        d: &[f32; R],
        part: Part,
        barrier: u32,
    );
}

/// Nothing but what a [`ProductTask`] says.
#[derive(Clone, Copy)]
pub struct Alone;

impl Ending for Alone {
    #[device_inline]
    #[track_caller]
    unsafe fn write<F: Format, const R: usize, const N: usize>(
        self,
        task: &ProductTask,
        d: &[f32; R],
        part: Part,
        _: u32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { write::<F, R, N, false>(task, &Softmax::NONE, d, part) }
    }
}

/// [Softmax](crate::tile::softmax) and its gradient.
impl Ending for &Softmax {
    #[device_inline]
    #[track_caller]
    unsafe fn write<F: Format, const R: usize, const N: usize>(
        self,
        task: &ProductTask,
        d: &[f32; R],
        part: Part,
        _: u32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { write::<F, R, N, true>(task, self, d, part) }
    }
}

/// Moments of the columns of C as well: see [`write_with_moments`].
#[derive(Clone, Copy)]
pub struct WithMoments;

impl Ending for WithMoments {
    const MEETINGS: u32 = 2;

    #[device_inline]
    #[track_caller]
    unsafe fn write<F: Format, const R: usize, const N: usize>(
        self,
        task: &ProductTask,
        d: &[f32; R],
        part: Part,
        barrier: u32,
    ) {
        const { assert!(N != 1) };
        // SAFETY: the caller's promise.
        unsafe { write_with_moments::<F, R>(task, d, part, barrier) }
    }
}

/// Updates C, whose values are parameters, by an [optimiser](crate::tile::update). `AHEAD`: whether there are registers to read them early.
#[derive(Clone, Copy)]
pub struct Updating<'a, const AHEAD: bool>(pub &'a Update);

impl<const AHEAD: bool> Ending for Updating<'_, AHEAD> {
    #[device_inline]
    #[track_caller]
    unsafe fn write<F: Format, const R: usize, const N: usize>(
        self,
        task: &ProductTask,
        d: &[f32; R],
        part: Part,
        _: u32,
    ) {
        const { assert!(N != 1) };
        // SAFETY: the caller's promise.
        unsafe { write_updated::<F, R, AHEAD>(task, self.0, d, part) }
    }
}
