//! What the two programs do differently: who works on the parts.

use rayon::prelude::*;

/// How the parts of an array are processed: [`Sequential`] or [`Parallel`]. The division into parts depends on shapes only, so both give the same bits.
pub trait Program {
    /// Calls `work(number, part)` for each `length` values of `values`; the last part may be shorter.
    fn parts<T: Send>(values: &mut [T], length: usize, work: impl Fn(usize, &mut [T]) + Sync + Send);
}

/// One part after the other, on the caller's thread.
#[derive(Clone, Copy, Debug)]
pub enum Sequential {}

/// Parts distributed by rayon over the caller's thread pool, if there is one, else over all cores.
#[derive(Clone, Copy, Debug)]
pub enum Parallel {}

impl Program for Sequential {
    fn parts<T: Send>(values: &mut [T], length: usize, work: impl Fn(usize, &mut [T]) + Sync + Send) {
        values.chunks_mut(length).enumerate().for_each(|(number, part)| work(number, part));
    }
}

impl Program for Parallel {
    fn parts<T: Send>(values: &mut [T], length: usize, work: impl Fn(usize, &mut [T]) + Sync + Send) {
        values.par_chunks_mut(length).enumerate().for_each(|(number, part)| work(number, part));
    }
}
