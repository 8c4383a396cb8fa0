//! Inputs in single precision, as [`tile::plain`](crate::tile) reads them: `[capacity][line]`, the number behind the last of a row is 1.

use super::parts::{BLOCK, Gather, gather_shape};
use crate::cuda::{kernel, memory, sync, thread};

/// The samples of a step in single precision, before each step.
///
/// * Launch: [`gather_shape`], a thread eight pixels, blocks of 256.
/// * Reads: `images` of the step's samples.
/// * Writes: `inputs`, as those of `gather`, which are not.
/// * Shared: none.
/// * Cost: a byte read and four written a pixel.
/// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`, the inputs of its first layer.
/// * Source: our own.
///
/// # Safety
/// Everything `gather` points to is valid, and its images are there.
#[kernel(shape = gather_shape(gather.rows.batch, gather.line).overlapping(), max_threads = BLOCK)]
pub unsafe fn mlp_layers_gather_single(
    gather: Gather,
    #[len(gather.rows.batch as usize * gather.line as usize)] inputs: *mut f32,
) {
    sync::follow();
    let number = thread::block_idx_x() * BLOCK + thread::thread_idx_x();
    if number < gather.n_eights() {
        let (row, column) = (number / (gather.line / 8), number % (gather.line / 8) * 8);
        // SAFETY: the row is one of the batch and, where it is read, a sample of the step; its eight inputs are this thread's.
        unsafe {
            let offset = gather.rows.offset();
            let is_there = row < gather.rows.count(offset);
            let sample = if is_there { gather.rows.sample(offset, row) as usize } else { 0 };
            let bytes = gather.bytes(is_there, sample, column);
            let at = row as usize * gather.line as usize + column as usize;
            let quad = |first: u32| [0, 1, 2, 3].map(|at| gather.value(is_there, bytes, column, first + at));
            memory::store_quad(inputs, at, quad(0));
            memory::store_quad(inputs, at + 4, quad(4));
        }
    }
}
