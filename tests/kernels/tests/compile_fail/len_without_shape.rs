//! A length that no launch would check.
use warpplay_gpu::cuda::{kernel, memory, thread};

/// # Safety
/// `values` holds `n` values.
#[kernel]
pub unsafe fn fill(#[len(n)] values: *mut f32, n: u32) {
    let Some(i) = thread::index_1d_below(n) else { return };
    // SAFETY: i < n, and no other thread has this i.
    unsafe { memory::store(values, i as usize, 1.0) };
}

fn main() {}
