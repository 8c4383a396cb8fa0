//! Atomic operations.

use bytemuck::{Pod, Zeroable};
use warpplay_gpu::cuda::{atomic, kernel, memory, shared_array, sync, thread};

/// Targets of [`test_atomics`] in global memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Targets {
    /// Sum modulo 2⁶⁴.
    pub add_u64: u64,
    /// Largest.
    pub max_u64: u64,
    /// Smallest.
    pub min_u64: u64,
    /// Added to by compare-and-exchange.
    pub cas_u64: u64,
    /// Sum modulo 2³².
    pub add_u32: u32,
    /// Sum of signed numbers.
    pub add_i32: i32,
    /// Sum of floats.
    pub add_f32: f32,
    /// Largest.
    pub max_u32: u32,
    /// Smallest.
    pub min_u32: u32,
    /// Largest, signed.
    pub max_i32: i32,
    /// Smallest, signed.
    pub min_i32: i32,
    /// The last value put there.
    pub exchange_u32: u32,
    /// Sum of all values that were exchanged out.
    pub exchanged: u32,
    /// Added to by compare-and-exchange.
    pub cas_u32: u32,
}

/// Every atomic of global memory with one value a thread.
///
/// * Launch: any shape.
///
/// # Safety
/// `targets` holds one value; `values` an entry a thread.
#[kernel]
pub unsafe fn test_atomics(values: *const u32, targets: *mut Targets) {
    let index = thread::index_1d() as usize;
    // SAFETY: an entry for each thread; the fields of the one target are only touched atomically.
    unsafe {
        let value = memory::load(values, index);
        let wide = value as u64 * 0x1_0000_0001;
        atomic::add_u64(&raw mut (*targets).add_u64, wide);
        atomic::max_u64(&raw mut (*targets).max_u64, wide);
        atomic::min_u64(&raw mut (*targets).min_u64, wide);
        atomic::add_u32(&raw mut (*targets).add_u32, value);
        atomic::add_i32(&raw mut (*targets).add_i32, -((value % 1000) as i32));
        atomic::add_f32(&raw mut (*targets).add_f32, (value % 64) as f32);
        atomic::max_u32(&raw mut (*targets).max_u32, value);
        atomic::min_u32(&raw mut (*targets).min_u32, value);
        atomic::max_i32(&raw mut (*targets).max_i32, value as i32);
        atomic::min_i32(&raw mut (*targets).min_i32, value as i32);
        let out = atomic::exchange_u32(&raw mut (*targets).exchange_u32, value);
        atomic::add_u32(&raw mut (*targets).exchanged, out);

        let at = &raw mut (*targets).cas_u32;
        let mut seen = atomic::add_u32(at, 0);
        loop {
            let was = atomic::compare_exchange_u32(at, seen, seen.wrapping_add(value));
            if was == seen {
                break;
            }
            seen = was;
        }
        let at = &raw mut (*targets).cas_u64;
        let mut seen = atomic::add_u64(at, 0);
        loop {
            let was = atomic::compare_exchange_u64(at, seen, seen.wrapping_add(wide));
            if was == seen {
                break;
            }
            seen = was;
        }
    }
}

/// Every atomic of shared memory. Each thread draws a ticket; `tickets` gets the threads by ticket; `out` sum, largest and smallest.
///
/// * Launch: one block.
///
/// # Safety
/// One block; `values` and `tickets` have an entry a thread, `out` one.
#[kernel]
pub unsafe fn test_shared_atomics(values: *const u32, tickets: *mut u32, out: *mut [u32; 3]) {
    let cells = shared_array![u32; 4];
    let me = thread::thread_idx_x();
    if me == 0 {
        cells.set(0, 0);
        cells.set(1, 0);
        cells.set(2, 0);
        cells.set(3, u32::MAX);
    }
    // The cells must be set before anyone adds.
    sync::sync_threads();
    // SAFETY: an entry for each thread; tickets differ, so each entry is written once.
    unsafe {
        let value = memory::load(values, me as usize);
        let ticket = atomic::shared_add_u32(cells, 0, 1);
        memory::store(tickets, ticket as usize, me);
        atomic::shared_add_u32(cells, 1, value);
        atomic::shared_max_u32(cells, 2, value);
        atomic::shared_min_u32(cells, 3, value);
    }
    // All must have added before one reads.
    sync::sync_threads();
    if me == 0 {
        // SAFETY: one entry, one thread.
        unsafe { memory::store(out, 0, [cells.get(1), cells.get(2), cells.get(3)]) };
    }
}
