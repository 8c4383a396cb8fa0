//! Who am I, and the one guard of linear kernels.

use warpplay_gpu::cuda::view::{Disjoint, Slice};
use warpplay_gpu::cuda::{DeviceArgs, kernel, memory, thread, time};
use warpplay_gpu::launch::LaunchShape;

/// Writes all indices and sizes of each thread, blocks and threads numbered with x fastest.
///
/// * Launch: any shape.
///
/// # Safety
/// `out` has an entry for each thread of the grid.
#[kernel]
pub unsafe fn test_indices(out: *mut [u32; 12]) {
    let block = thread::block_idx_x()
        + thread::grid_dim_x() * (thread::block_idx_y() + thread::grid_dim_y() * thread::block_idx_z());
    let in_block = thread::thread_idx_x()
        + thread::block_dim_x() * (thread::thread_idx_y() + thread::block_dim_y() * thread::thread_idx_z());
    let threads = thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z();
    let all = [
        thread::thread_idx_x(),
        thread::thread_idx_y(),
        thread::thread_idx_z(),
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::block_idx_z(),
        thread::block_dim_x(),
        thread::block_dim_y(),
        thread::block_dim_z(),
        thread::grid_dim_x(),
        thread::grid_dim_y(),
        thread::grid_dim_z(),
    ];
    // SAFETY: an entry for each thread.
    unsafe { memory::store(out, block as usize * threads as usize + in_block as usize, all) };
}

/// Adds `1 + 1000 * lane + 100000 * warp` to each of `n` entries, once.
///
/// * Launch: any shape along x.
///
/// # Safety
/// `marks` holds at least `n` values.
#[kernel]
pub unsafe fn test_mark_below(marks: *mut u32, n: u32) {
    let Some(index) = thread::index_1d_below(n) else { return };
    // SAFETY: index < n, and no other thread has it.
    unsafe {
        let was = memory::load(marks, index as usize);
        memory::store(marks, index as usize, was + 1 + 1000 * thread::lane() + 100_000 * thread::warp_index());
    }
}

/// Adds each thread's value of `summands` to its own of `sums`, in `x` × `y` blocks: those off the first line have none.
///
/// * Launch: `x` × `y` blocks of 64 threads.
#[kernel(shape = LaunchShape::grid_2d(x, y, 64))]
pub fn test_add(
    #[len(n as usize)] mut sums: Disjoint<u32>,
    #[len(read as usize)] summands: Slice<u32>,
    n: u32,
    read: u32,
    x: u32,
    y: u32,
) {
    let Some(own) = thread::own_index_below(n) else { return };
    sums.set(&own, sums.get(&own) + summands.get(own.get() as usize));
}

/// Arrays of [`test_scale`].
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[require(n_columns >= 1)]
pub struct Scale {
    /// `[n_rows, n_columns]`.
    #[len(n_rows * n_columns)]
    pub values: *mut f32,
    /// `[n_rows]`.
    #[len(n_rows)]
    pub factors: *const f32,
    /// `[n_rows * n_columns]`, or null: what the values were.
    #[len(n_rows * n_columns)]
    #[nullable]
    pub before: *mut f32,
    /// Rows.
    pub n_rows: u32,
    /// Values of a row.
    pub n_columns: u32,
}

/// Multiplies each row by its factor.
///
/// * Launch: a thread a value, blocks of `block` threads.
#[kernel(shape = |block: u32| LaunchShape::linear(task.n_rows * task.n_columns, block), require = block.is_power_of_two())]
pub fn test_scale(#[args] task: Scale) {
    let Some(at) = thread::index_1d_below(task.n_rows * task.n_columns) else { return };
    let (at, row) = (at as usize, (at / task.n_columns) as usize);
    // SAFETY: the launch has checked the lengths, and no other thread has this index.
    unsafe {
        let value = memory::load(task.values, at);
        if !task.before.is_null() {
            memory::store(task.before, at, value);
        }
        memory::store(task.values, at, value * memory::load(task.factors, row));
    }
}

/// Two readings of the clock, one after the other.
///
/// * Launch: one thread.
///
/// # Safety
/// `out` holds one pair; one thread.
#[kernel]
pub unsafe fn test_clock(out: *mut [u64; 2]) {
    let first = time::globaltimer();
    let second = time::globaltimer();
    // SAFETY: one pair, one thread.
    unsafe { memory::store(out, 0, [first, second]) };
}
