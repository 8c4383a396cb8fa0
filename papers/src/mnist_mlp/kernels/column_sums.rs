//! Sums of a matrix's columns: the gradients of the biases.
//!
//! | kernel | work | order of the sum |
//! |---|---|---|
//! | *tree* | a block a column; each thread adds up every `block`-th row, then halves in shared memory | fixed |
//! | *warp* | a warp a column; each lane adds up every 32nd row, then shuffles | fixed |
//! | *atomic* | a thread a value, added to its column's sum | as the threads come: the last bits change from run to run |
//! | *atomic_thread* | a block a column; each thread adds up every `block`-th row, then adds its partial sum to the column's | as the threads come |
//! | *atomic_block* | the same, but the block adds up its partial sums, and one thread adds the result to the column's | fixed, for a column has one block |
//!
//! *atomic_thread* is the published kernel to the letter (section 1.3, kernel 6): with 256 threads and 64 rows, 192 threads add a sum of no rows. *atomic_block* is how the
//! same text reads if one atomic addition a block is meant; *atomic* has no stride loop.
//!
//! Those that end in `_f64` add up in double precision and round once at the end.
//!
//! The atomic ones add to what is there.

use warpplay_gpu::cuda::shared::Shared;
use warpplay_gpu::cuda::sync::sync_threads;
use warpplay_gpu::cuda::thread::WARP;
use warpplay_gpu::cuda::{atomic, block, kernel, memory, shared_array, thread, warp};
use warpplay_gpu::launch::LaunchShape;

/// Most threads of a block of the tree kernels; a power of two, since the reduction halves it.
pub const MAX_BLOCK: u32 = 512;
const MAX_BLOCK_LEN: usize = MAX_BLOCK as usize;

/// Most warps of a block: values of scratch memory.
const WARPS: usize = block::MAX_WARPS as usize;

/// Launch shape of the kernels that give a column a block; `block` is a power of two up to [`MAX_BLOCK`].
pub const fn shape_tree(n_columns: u32, block: u32) -> LaunchShape {
    LaunchShape::new(n_columns, block)
}

/// Launch shape of the warp kernels; `block` is a multiple of 32.
pub const fn shape_warp(n_columns: u32, block: u32) -> LaunchShape {
    let columns_per_block = block / WARP;
    LaunchShape::new(n_columns.div_ceil(if columns_per_block == 0 { 1 } else { columns_per_block }), block)
}

/// Launch shape of [`mlp_paper_column_sums_atomic`] for `n` values.
pub const fn shape_atomic(n: u32, block: u32) -> LaunchShape {
    LaunchShape::linear(n, block)
}

/// A type in which columns are added up.
trait Sum: warp::Word + core::ops::Add<Output = Self> + Default {
    fn of(value: f32) -> Self;
    fn rounded(self) -> f32;
}

impl Sum for f32 {
    #[inline(always)]
    fn of(value: f32) -> Self {
        value
    }
    #[inline(always)]
    fn rounded(self) -> f32 {
        self
    }
}

impl Sum for f64 {
    #[inline(always)]
    fn of(value: f32) -> Self {
        value as f64
    }
    #[inline(always)]
    fn rounded(self) -> f32 {
        self as f32
    }
}

/// Sum of the rows `first`, `first + step`, … of a column.
///
/// # Safety
/// `values` holds `n_rows * n_columns` values; `column < n_columns`.
#[inline(always)]
unsafe fn partial_sum<S: Sum>(
    values: *const f32,
    n_rows: u32,
    n_columns: u32,
    column: u32,
    first: u32,
    step: u32,
) -> S {
    let mut sum = S::default();
    let mut row = first;
    while row < n_rows {
        // SAFETY: row < n_rows, column < n_columns.
        let value = unsafe { memory::load(values, row as usize * n_columns as usize + column as usize) };
        sum = sum + S::of(value);
        row += step;
    }
    sum
}

/// One column by one block. `scratch` has a value a thread.
///
/// # Safety
/// As [`mlp_paper_column_sums_tree`].
#[inline(always)]
unsafe fn tree<S: Sum>(values: *const f32, sums: *mut f32, n_rows: u32, n_columns: u32, scratch: Shared<S>) {
    let (me, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let column = thread::block_idx_x();
    // SAFETY: one block a column.
    scratch.set(me, unsafe { partial_sum(values, n_rows, n_columns, column, me, threads) });
    let mut half = threads / 2;
    while half > 0 {
        // The values of the step before must be there.
        sync_threads();
        if me < half {
            scratch.set(me, scratch.get(me) + scratch.get(me + half));
        }
        half /= 2;
    }
    if me == 0 {
        // SAFETY: one block a column, one thread of it. That thread has written the value that it reads.
        unsafe { memory::store(sums, column as usize, scratch.get(0).rounded()) };
    }
}

/// One column by one warp.
///
/// # Safety
/// As [`mlp_paper_column_sums_warp`].
#[inline(always)]
unsafe fn by_warp<S: Sum>(values: *const f32, sums: *mut f32, n_rows: u32, n_columns: u32) {
    let column = thread::block_idx_x() * (thread::block_dim_x() / WARP) + thread::warp_index();
    let lane = thread::lane();
    // A warp without a column has no rows, but takes part in the shuffles.
    let rows = if column < n_columns { n_rows } else { 0 };
    // SAFETY: column < n_columns where there are rows.
    let sum = warp::reduce_sum(unsafe { partial_sum::<S>(values, rows, n_columns, column, lane, WARP) });
    if lane == 0 && column < n_columns {
        // SAFETY: one warp a column, one lane of it.
        unsafe { memory::store(sums, column as usize, sum.rounded()) };
    }
}

/// Column sums by a tree in shared memory.
///
/// * Launch: [`shape_tree`], a block a column, a power of two up to 512 threads.
/// * Reads: `values` `[n_rows, n_columns]`.
/// * Writes: `sums`.
/// * Shared: 2,048 bytes: a sum of each thread.
/// * Cost: ⌈rows / block⌉ + log block steps a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::column_sums`.
/// * Source: Ha and Beqaj, section 1.2 (tree reduction, as section 2.2, decision 3 suggests).
///
/// # Safety
/// Launched with [`shape_tree`]. `values` holds `n_rows * n_columns` values, `sums` `n_columns`; they do not overlap; `n_rows` is at most 2³¹.
#[kernel(max_threads = MAX_BLOCK)]
pub unsafe fn mlp_paper_column_sums_tree(values: *const f32, sums: *mut f32, n_rows: u32, n_columns: u32) {
    // SAFETY: the same contract.
    unsafe { tree(values, sums, n_rows, n_columns, shared_array![f32; MAX_BLOCK_LEN]) }
}

/// Column sums by a tree in shared memory, in double precision.
///
/// * Launch: [`shape_tree`], a block a column, a power of two up to 512 threads.
/// * Reads: `values` `[n_rows, n_columns]`.
/// * Writes: `sums`.
/// * Shared: 4,096 bytes: a sum of each thread.
/// * Cost: ⌈rows / block⌉ + log block steps a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::column_sums`.
/// * Source: our own: the same in double precision.
///
/// # Safety
/// As [`mlp_paper_column_sums_tree`].
#[kernel(max_threads = MAX_BLOCK)]
pub unsafe fn mlp_paper_column_sums_tree_f64(values: *const f32, sums: *mut f32, n_rows: u32, n_columns: u32) {
    // SAFETY: the same contract.
    unsafe { tree(values, sums, n_rows, n_columns, shared_array![f64; MAX_BLOCK_LEN]) }
}

/// Column sums by warp shuffles.
///
/// * Launch: [`shape_warp`], a warp a column.
/// * Reads: `values` `[n_rows, n_columns]`.
/// * Writes: `sums`.
/// * Shared: none.
/// * Cost: ⌈rows / 32⌉ + 5 steps a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::column_sums`.
/// * Source: our own.
///
/// # Safety
/// Launched with [`shape_warp`]. `values` holds `n_rows * n_columns` values, `sums` `n_columns`; they do not overlap; `n_rows` is at most 2³¹.
#[kernel]
pub unsafe fn mlp_paper_column_sums_warp(values: *const f32, sums: *mut f32, n_rows: u32, n_columns: u32) {
    // SAFETY: the same contract.
    unsafe { by_warp::<f32>(values, sums, n_rows, n_columns) }
}

/// Column sums by warp shuffles, in double precision.
///
/// * Launch: [`shape_warp`], a warp a column.
/// * Reads: `values` `[n_rows, n_columns]`.
/// * Writes: `sums`.
/// * Shared: none.
/// * Cost: ⌈rows / 32⌉ + 5 steps a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::column_sums`.
/// * Source: our own.
///
/// # Safety
/// As [`mlp_paper_column_sums_warp`].
#[kernel]
pub unsafe fn mlp_paper_column_sums_warp_f64(values: *const f32, sums: *mut f32, n_rows: u32, n_columns: u32) {
    // SAFETY: the same contract.
    unsafe { by_warp::<f64>(values, sums, n_rows, n_columns) }
}

/// Adds every column to its sum by atomic additions. Whoever wants the sums themselves sets them to 0 before; the update of the weights does
/// (`mlp_paper_sgd`).
///
/// * Launch: [`shape_atomic`], a thread a value.
/// * Reads: `values` `[n_rows, n_columns]`.
/// * Writes: `sums`, added to atomically: the last bits change from run to run.
/// * Shared: none.
/// * Cost: one atomic addition a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::column_sums`.
/// * Source: Ha and Beqaj, section 1.3, kernel 6 without its stride loop.
///
/// # Safety
/// Launched with [`shape_atomic`]`(n_rows * n_columns, …)`. `values` holds that many values, `sums` `n_columns`; they do not overlap; `n_columns >=
/// 1`.
#[kernel]
pub unsafe fn mlp_paper_column_sums_atomic(values: *const f32, sums: *mut f32, n_rows: u32, n_columns: u32) {
    let Some(at) = thread::index_1d_below(n_rows * n_columns) else { return };
    // SAFETY: at < n_rows * n_columns, its remainder < n_columns; the sums are only added to.
    unsafe {
        let value = memory::load(values, at as usize);
        atomic::add_f32(sums.add((at % n_columns) as usize), value);
    }
}

/// Adds every column to its sum: a block a column, an atomic addition a thread.
///
/// * Launch: [`shape_tree`], a block a column, a power of two up to 512 threads.
/// * Reads: `values` `[n_rows, n_columns]`.
/// * Writes: `sums`, added to atomically: the last bits change from run to run.
/// * Shared: none.
/// * Cost: ⌈rows / block⌉ loads and one atomic addition a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::column_sums`.
/// * Source: Ha and Beqaj, section 1.3, kernel 6, to the letter.
///
/// # Safety
/// Launched with [`shape_tree`]. `values` holds `n_rows * n_columns` values, `sums` `n_columns`; they do not overlap; `n_rows` is at most 2³¹.
#[kernel(max_threads = MAX_BLOCK)]
pub unsafe fn mlp_paper_column_sums_atomic_thread(values: *const f32, sums: *mut f32, n_rows: u32, n_columns: u32) {
    let column = thread::block_idx_x();
    // SAFETY: one block a column, so column < n_columns; the sums are only added to.
    unsafe {
        let sum = partial_sum(values, n_rows, n_columns, column, thread::thread_idx_x(), thread::block_dim_x());
        atomic::add_f32(sums.add(column as usize), sum);
    }
}

/// Adds every column to its sum: a block a column, which adds up its threads' partial sums first; one atomic addition a block.
///
/// * Launch: [`shape_tree`], a block a column, a power of two up to 512 threads, whole warps.
/// * Reads: `values` `[n_rows, n_columns]`.
/// * Writes: `sums`, added to atomically, once a block.
/// * Shared: 128 bytes: a sum of each warp.
/// * Cost: ⌈rows / block⌉ + log block steps a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::column_sums`.
/// * Source: Ha and Beqaj, section 1.3, kernel 6, if one addition a block is meant.
///
/// # Safety
/// As [`mlp_paper_column_sums_atomic_thread`], `block` a multiple of 32.
#[kernel(max_threads = MAX_BLOCK)]
pub unsafe fn mlp_paper_column_sums_atomic_block(values: *const f32, sums: *mut f32, n_rows: u32, n_columns: u32) {
    let scratch = shared_array![f32; WARPS];
    let column = thread::block_idx_x();
    // SAFETY: one block a column, so column < n_columns.
    let mine = unsafe { partial_sum(values, n_rows, n_columns, column, thread::thread_idx_x(), thread::block_dim_x()) };
    let sum = block::sum(mine, scratch);
    if thread::thread_idx_x() == 0 {
        // SAFETY: column < n_columns; the sums are only added to.
        unsafe { atomic::add_f32(sums.add(column as usize), sum) };
    }
}
