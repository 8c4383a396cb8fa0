//! Matrix product: `c = op(a) op(b)`, where `op` transposes or not.
//!
//! One thread an element of `c`, in square blocks: x counts columns, y rows, so that neighbours along x read neighbours of `b` and write neighbours
//! of
//! `c`. The grid's x counts blocks of rows and its y blocks of columns, since only the grid's x may be large.
//!
//! *Plain* reads both operands from global memory: `2 k` loads an element. *Tiled* brings a tile of each into shared memory first, so that a value
//! is loaded
//! once a block instead of once a thread; its number is the tile's side. Both add up in the order of k by fused multiply-adds, so both have the same
//! bits. Those
//! that end in `_f64` add up in double precision and round once at the end.
//!
//! All matrices are row-major.

use warpplay_gpu::cuda::shared::Shared;
use warpplay_gpu::cuda::sync::sync_threads;
use warpplay_gpu::cuda::{kernel, math, memory, shared_array, thread};
use warpplay_gpu::launch::LaunchShape;

/// Bit of `transpose`: `a` is stored `[k, m]`.
pub const TRANSPOSE_A: u32 = 1;
/// Bit of `transpose`: `b` is stored `[n, k]`.
pub const TRANSPOSE_B: u32 = 2;

/// Sides of blocks and tiles that the family uses.
pub const SIDES: [u32; 3] = [8, 16, 32];
/// Threads of the largest block.
pub const MAX_THREADS: u32 = 32 * 32;

/// Launch shape for `c` of `m` rows and `n` columns in blocks of `side` by `side`; the side of a tiled product is that of its tiles.
pub const fn shape(m: u32, n: u32, side: u32) -> LaunchShape {
    let mut shape = LaunchShape::new(m.div_ceil(side), side);
    shape.grid[1] = n.div_ceil(side);
    shape.block[1] = side;
    shape
}

/// A type in which products are added up.
trait Sum: Copy {
    const ZERO: Self;
    fn add_product(self, a: f32, b: f32) -> Self;
    fn rounded(self) -> f32;
}

impl Sum for f32 {
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn add_product(self, a: f32, b: f32) -> Self {
        math::fma(a, b, self)
    }
    #[inline(always)]
    fn rounded(self) -> f32 {
        self
    }
}

impl Sum for f64 {
    const ZERO: Self = 0.0;
    /// The product of two singles is exact in double precision.
    #[inline(always)]
    fn add_product(self, a: f32, b: f32) -> Self {
        self + a as f64 * b as f64
    }
    #[inline(always)]
    fn rounded(self) -> f32 {
        self as f32
    }
}

/// Operands of one product.
#[derive(Clone, Copy)]
struct Product {
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    transpose: u32,
}

/// The plain product.
///
/// # Safety
/// As [`mlp_paper_matmul_plain`].
#[inline(always)]
unsafe fn plain<S: Sum>(product: Product) {
    let Product { a, b, c, m, n, k, transpose } = product;
    let row = thread::block_idx_x() * thread::block_dim_y() + thread::thread_idx_y();
    let column = thread::block_idx_y() * thread::block_dim_x() + thread::thread_idx_x();
    if row >= m || column >= n {
        return;
    }
    let (row, column, m, n, depth) = (row as usize, column as usize, m as usize, n as usize, k as usize);
    // Where the element's row of a and column of b begin, and how far apart their values are.
    let (a_first, a_stride) = if transpose & TRANSPOSE_A == 0 { (row * depth, 1) } else { (row, m) };
    let (b_first, b_stride) = if transpose & TRANSPOSE_B == 0 { (column, n) } else { (column * depth, 1) };
    let mut sum = S::ZERO;
    let mut at = 0;
    while at < depth {
        // SAFETY: row < m, column < n, at < k: both elements are inside their matrices.
        let (a, b) = unsafe { (memory::load(a, a_first + at * a_stride), memory::load(b, b_first + at * b_stride)) };
        sum = sum.add_product(a, b);
        at += 1;
    }
    // SAFETY: row < m, column < n; no other thread has this element.
    unsafe { memory::store(c, row * n + column, sum.rounded()) };
}

/// The product by tiles of `SIDE` by `SIDE` values.
///
/// Shared memory, each tile with rows of `SIDE + 1` values:
///
/// ```text
/// a_tile[i][p] = op(a)[first row of the block + i][start + p]
/// b_tile[p][j] = op(b)[start + p][first column of the block + j]
/// ```
///
/// Each thread loads one value of each tile, neighbours along x from neighbouring addresses; for a transposed operand that means that a
/// thread writes
/// its value to the mirrored offset, down a column of the tile. The odd row length puts the values of a column in different banks. What lies beyond
/// the
/// matrices is 0.
///
/// # Safety
/// As [`mlp_paper_matmul_tiled_8`]; both tiles have `SIDE * (SIDE + 1)` values.
#[inline(always)]
unsafe fn tiled<S: Sum, const SIDE: u32>(product: Product, a_tile: Shared<f32>, b_tile: Shared<f32>) {
    let Product { a, b, c, m, n, k, transpose } = product;
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = (thread::block_idx_x() * SIDE, thread::block_idx_y() * SIDE);
    let stride = SIDE + 1;
    let (straight, mirrored) = (y * stride + x, x * stride + y);
    let mut sum = S::ZERO;
    let mut start = 0;
    while start < k {
        // (major, minor) are row and column of the stored matrix.
        let (major, minor, majors, minors, offset) = if transpose & TRANSPOSE_A == 0 {
            (first_row + y, start + x, m, k, straight)
        } else {
            (start + y, first_row + x, k, m, mirrored)
        };
        // SAFETY: inside the matrix, where it is loaded.
        let value = unsafe { load_or_zero(a, major, minor, majors, minors) };
        a_tile.set(offset, value);
        let (major, minor, majors, minors, offset) = if transpose & TRANSPOSE_B == 0 {
            (start + y, first_column + x, k, n, straight)
        } else {
            (first_column + y, start + x, n, k, mirrored)
        };
        // SAFETY: inside the matrix, where it is loaded.
        let value = unsafe { load_or_zero(b, major, minor, majors, minors) };
        b_tile.set(offset, value);
        // Both tiles must be complete before anybody reads them.
        sync_threads();
        let mut at = 0;
        while at < SIDE {
            // SAFETY: x, y and at are below SIDE, so both offsets are inside the tiles.
            let (a, b) = unsafe { (a_tile.get_unchecked(y * stride + at), b_tile.get_unchecked(at * stride + x)) };
            sum = sum.add_product(a, b);
            at += 1;
        }
        // All have read: the tiles may be written again.
        sync_threads();
        start += SIDE;
    }
    let (row, column) = (first_row + y, first_column + x);
    if row < m && column < n {
        // SAFETY: inside c; no other thread has this element.
        unsafe { memory::store(c, row as usize * n as usize + column as usize, sum.rounded()) };
    }
}

/// An element of a row-major matrix, 0 outside.
///
/// # Safety
/// The matrix holds `majors * minors` values.
#[inline(always)]
#[track_caller]
unsafe fn load_or_zero(matrix: *const f32, major: u32, minor: u32, majors: u32, minors: u32) -> f32 {
    if major < majors && minor < minors {
        // SAFETY: checked.
        unsafe { memory::load(matrix, major as usize * minors as usize + minor as usize) }
    } else {
        0.0
    }
}

/// `c = op(a) op(b)`, operands from global memory.
///
/// * Launch: [`shape`], square blocks of 8, 16 or 32 threads a side, a thread an element.
/// * Reads: `a` `[m, k]`, or `[k, m]` where bit [`TRANSPOSE_A`] of `transpose` is set; `b` `[k, n]`, or `[n, k]` where [`TRANSPOSE_B`] is.
/// * Writes: `c` `[m, n]`.
/// * Shared: none.
/// * Cost: 2 × k operations and 2 × k loads a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::matmul`.
/// * Source: Ha and Beqaj, section 1.3, kernels 1 and 5.
///
/// # Safety
/// Launched with [`shape`]`(m, n, side)`, `side` one of [`SIDES`]. `a` holds `m * k` values, `b` `k * n`, `c` `m * n`; `c` overlaps neither; no
/// dimension is above 2³¹ - 32.
#[kernel(max_threads = MAX_THREADS)]
pub unsafe fn mlp_paper_matmul_plain(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    transpose: u32,
) {
    // SAFETY: the same contract.
    unsafe { plain::<f32>(Product { a, b, c, m, n, k, transpose }) }
}

/// `c = op(a) op(b)`, operands from global memory, sums in double precision.
///
/// * Launch: [`shape`], square blocks of 8, 16 or 32 threads a side, a thread an element.
/// * Reads: `a` `[m, k]`, or `[k, m]` where bit [`TRANSPOSE_A`] of `transpose` is set; `b` `[k, n]`, or `[n, k]` where [`TRANSPOSE_B`] is.
/// * Writes: `c` `[m, n]`.
/// * Shared: none.
/// * Cost: 2 × k operations and 2 × k loads a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::matmul`.
/// * Source: Ha and Beqaj, section 1.3, kernels 1 and 5; double precision is ours.
///
/// # Safety
/// As [`mlp_paper_matmul_plain`].
#[kernel(max_threads = MAX_THREADS)]
pub unsafe fn mlp_paper_matmul_plain_f64(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    transpose: u32,
) {
    // SAFETY: the same contract.
    unsafe { plain::<f64>(Product { a, b, c, m, n, k, transpose }) }
}

macro_rules! tiled {
    ($($(#[$doc:meta])* $name:ident, $sum:ty, $side:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// `c = op(a) op(b)` by tiles in shared memory. The name says their side, and whether sums are in double precision.
        ///
        /// * Launch: [`shape`], square blocks of the tile's side, a thread an element.
        /// * Reads: `a` `[m, k]`, or `[k, m]` where bit [`TRANSPOSE_A`] of `transpose` is set; `b` `[k, n]`, or `[n, k]` where [`TRANSPOSE_B`] is.
        /// * Writes: `c` `[m, n]`.
        /// * Shared: two tiles of side × (side + 1) values: 576, 2,176 or 8,448 bytes.
        /// * Cost: 2 × k operations and 2 × k / side loads a thread.
        /// * Twin: `warpplay_cpu_ref::mlp::pieces::matmul`.
        /// * Source: Ha and Beqaj, section 1.3, kernels 2 and 5; sums in double precision are ours.
        ///
        /// # Safety
        /// Launched with [`shape`]`(m, n, side)` of the tile's side. `a` holds `m * k` values, `b` `k * n`, `c` `m * n`; `c` overlaps neither; no
        /// dimension is above 2³¹ - 32.
        #[kernel(max_threads = $side * $side)]
        pub unsafe fn $name(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32, transpose: u32) {
            let a_tile = shared_array![f32; $side * ($side + 1)];
            let b_tile = shared_array![f32; $side * ($side + 1)];
            // SAFETY: the same contract; the tiles have the length.
            unsafe { tiled::<$sum, $side>(Product { a, b, c, m, n, k, transpose }, a_tile, b_tile) }
        }
    )*};
}

tiled! {
    /// `c = op(a) op(b)` by tiles of 8 by 8.
    mlp_paper_matmul_tiled_8, f32, 8;
    /// `c = op(a) op(b)` by tiles of 16 by 16.
    mlp_paper_matmul_tiled_16, f32, 16;
    /// `c = op(a) op(b)` by tiles of 32 by 32.
    mlp_paper_matmul_tiled_32, f32, 32;
    /// [`mlp_paper_matmul_tiled_8`] with sums in double precision.
    mlp_paper_matmul_tiled_8_f64, f64, 8;
    /// [`mlp_paper_matmul_tiled_16`] with sums in double precision.
    mlp_paper_matmul_tiled_16_f64, f64, 16;
    /// [`mlp_paper_matmul_tiled_32`] with sums in double precision.
    mlp_paper_matmul_tiled_32_f64, f64, 32;
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_a_thread() {
        let shape = shape(33, 10, 8);
        assert_eq!((shape.grid, shape.block), ([5, 2, 1], [8, 8, 1]));
    }
}
