//! Matrix products by tensor cores: operands rounded to a short format on their way into shared memory, sums in single precision.
//!
//! ```text
//! shared, two of each, so that one is filled while the other is read:
//!   first   [WORDS][ROWS + 8]      word (depth, row); a word is one TF32 value, or two 16-bit values of neighbouring depths
//!   second  [WORDS][COLS + 8]      word (depth, column)
//! a warp    32 rows x 32 columns: 2 x 4 products of 16 x 8
//! ```
//!
//! The 8 spreads a warp's operands (4 depths of 8 rows) over all 32 banks. Pixels are taken as whole numbers, exact in every format, and 1/255 is applied to
//! the sums. Kernels, arguments and layout are those of [`product`](super::product); needs `sm_80`.

use core::marker::PhantomData;

use super::product::{LayerProduct, Output, Tiles};
use super::view::{Line, Matrix, NO_LINE};
use crate::cuda::memory::Vec4;
use crate::cuda::shared::Shared;
use crate::cuda::sync::WholeWarp;
use crate::cuda::{kernel, mma, shared_array, sync, thread, warp};
use crate::unroll::unroll;

/// Tiles of 16-bit formats. Those of TF32 are half as deep, which parts of this depth suit as well.
pub const TENSOR: Tiles = Tiles { rows: ROWS, cols: COLS, depth: 2 * WORDS, threads: THREADS };

const ROWS: u32 = 128;
const COLS: u32 = 128;
/// Words of a row or column in shared memory at once.
pub(super) const WORDS: u32 = 16;
pub(super) const THREADS: u32 = 512;
/// Words from one depth's line to the next.
pub(super) const STRIDE: u32 = ROWS + 8;
/// Words of a tile, and of the two that take turns.
pub(super) const TILE: u32 = WORDS * STRIDE;
const BOTH: usize = 2 * TILE as usize;
/// Warps side by side along the columns; rows and columns of a warp.
pub(super) const WARPS_ACROSS: u32 = 4;
pub(super) const WARP_ROWS: u32 = 32;
pub(super) const WARP_COLS: u32 = 32;
/// Products of a warp along rows and columns.
pub(super) const DOWN: usize = 2;
pub(super) const ACROSS: usize = 4;

const _: () = assert!(ROWS == COLS && WARP_ROWS as usize == 16 * DOWN && WARP_COLS as usize == 8 * ACROSS);
const _: () = assert!(ROWS / WARP_ROWS * WARPS_ACROSS * thread::WARP == THREADS && COLS == WARPS_ACROSS * WARP_COLS);

/// 1/255, for sums of whole pixels.
pub(super) const PIXEL: f32 = 1.0 / 255.0;

/// A format of operands.
pub trait Format {
    /// Depths of a word.
    const PER_WORD: u32;
    /// The word of one or two values, the lower depth first.
    fn pack(low: f32, high: f32) -> u32;
    /// The warp's product of 16 x 8 words by 8 x 8.
    fn product(warp: &WholeWarp, c: [f32; 4], a: [u32; 4], b: [u32; 2]) -> [f32; 4];
}

/// 10 bits of fraction.
pub enum Tf32 {}
/// 7 bits of fraction, the range of `f32`.
pub enum Bf16 {}
/// 10 bits of fraction, up to 65,504.
pub enum Fp16 {}

macro_rules! formats {
    ($($name:ident, $per_word:literal, $pack:expr, $product:ident;)*) => {$(
        impl Format for $name {
            const PER_WORD: u32 = $per_word;

            #[inline(always)]
            fn pack(low: f32, high: f32) -> u32 {
                let pack: fn(f32, f32) -> u32 = $pack;
                pack(low, high)
            }

            #[inline(always)]
            #[track_caller]
            fn product(warp: &WholeWarp, c: [f32; 4], a: [u32; 4], b: [u32; 2]) -> [f32; 4] {
                mma::$product(warp, c, a, b)
            }
        }
    )*};
}

formats! {
    Tf32, 1, |low, _| mma::round_tf32(low), tf32;
    Bf16, 2, mma::pack_bf16, bf16;
    Fp16, 2, mma::pack_f16, f16;
}

/// Which quad a thread moves in its turn `i`: (row or column, depth) within the tile.
#[inline(always)]
pub(super) fn own_quad<F: Format, M: Matrix>(i: u32) -> (u32, u32) {
    let me = thread::thread_idx_x();
    if M::ALONG_DEPTH {
        let at = me + i * THREADS;
        (at % ROWS, at / ROWS * 4)
    } else {
        // As many turns as a word has depths bring them.
        let at = me + i / F::PER_WORD * THREADS;
        (at % (ROWS / 4) * 4, at / (ROWS / 4) * F::PER_WORD + i % F::PER_WORD)
    }
}

/// What a thread brings of an operand: `QUADS` quads of each tile.
pub(super) struct Share<F: Format, M: Matrix, const QUADS: usize> {
    matrix: M,
    /// First row or column of the tiles, a multiple of 4.
    first: u32,
    /// The thread's line where lines run along the depth.
    own: Line,
    format: PhantomData<F>,
}

impl<F: Format, M: Matrix, const QUADS: usize> Share<F, M, QUADS> {
    /// The share of the tiles from row or column `first` on.
    ///
    /// # Safety
    /// The matrix describes valid memory; `first` is a multiple of 4.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn new(matrix: M, first: u32) -> Self {
        // SAFETY: the matrix describes valid memory, as the caller says; it answers for any line, inside or not.
        let own = if M::ALONG_DEPTH { unsafe { matrix.line(first + thread::thread_idx_x() % ROWS) } } else { NO_LINE };
        Self { matrix, first, own, format: PhantomData }
    }

    /// The lines of the thread's quads of the tile at a depth.
    #[inline(always)]
    #[track_caller]
    pub(super) fn lines(&self, depth: u32) -> [Line; QUADS] {
        let mut lines = [self.own; QUADS];
        if !M::ALONG_DEPTH {
            let mut i = 0;
            while i < QUADS {
                // SAFETY: the matrix describes valid memory, as `new` asks; it answers for any line, inside or not.
                lines[i] = unsafe { self.matrix.line(depth + own_quad::<F, M>(i as u32).1) };
                i += 1;
            }
        }
        lines
    }

    /// Reads the thread's quads of the tile at a depth.
    ///
    /// # Safety
    /// The lines are this share's [`lines`](Self::lines) of the depth, which is a multiple of 4.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn fetch(&self, lines: &[Line; QUADS], depth: u32) -> [[f32; 4]; QUADS] {
        let mut quads = [[0.0; 4]; QUADS];
        let mut i = 0;
        while i < QUADS {
            let (row, at) = own_quad::<F, M>(i as u32);
            let inner = if M::ALONG_DEPTH { depth + at } else { self.first + row };
            // SAFETY: the lines came from this matrix, which describes valid memory; depths and rows of a quad begin at a multiple of 4.
            quads[i] = unsafe { self.matrix.quad(lines[i], inner) };
            i += 1;
        }
        quads
    }
}

/// Rounds a thread's quads and puts them into the tile that begins at word `from`.
///
/// # Safety
/// The shared array has a tile from there on, at a multiple of 4 words.
#[inline(always)]
#[track_caller]
pub(super) unsafe fn put_tile<F: Format, M: Matrix, const QUADS: usize>(
    tile: Shared<u32>,
    from: u32,
    quads: [[f32; 4]; QUADS],
) {
    // SAFETY: a quad of a thread is four rows or columns below ROWS and four depths of one tile, so its words are the tile's; where four are written at once, row, stride and `from` are
    // multiples of 4.
    unsafe {
        let mut i = 0;
        while i < QUADS {
            let quad = quads[i];
            if M::ALONG_DEPTH {
                let (row, depth) = own_quad::<F, M>(i as u32);
                let at = from + depth / F::PER_WORD * STRIDE + row;
                if F::PER_WORD == 1 {
                    tile.set_unchecked(at, F::pack(quad[0], 0.0));
                    tile.set_unchecked(at + STRIDE, F::pack(quad[1], 0.0));
                    tile.set_unchecked(at + 2 * STRIDE, F::pack(quad[2], 0.0));
                    tile.set_unchecked(at + 3 * STRIDE, F::pack(quad[3], 0.0));
                } else {
                    tile.set_unchecked(at, F::pack(quad[0], quad[1]));
                    tile.set_unchecked(at + STRIDE, F::pack(quad[2], quad[3]));
                }
                i += 1;
            } else if F::PER_WORD == 1 {
                let (row, depth) = own_quad::<F, M>(i as u32);
                set_words(tile, from + depth * STRIDE + row, quad.map(|value| F::pack(value, 0.0)));
                i += 1;
            } else {
                let (row, depth) = own_quad::<F, M>(i as u32);
                let high = quads[i + 1];
                let words = [
                    F::pack(quad[0], high[0]),
                    F::pack(quad[1], high[1]),
                    F::pack(quad[2], high[2]),
                    F::pack(quad[3], high[3]),
                ];
                set_words(tile, from + depth / 2 * STRIDE + row, words);
                i += 2;
            }
        }
    }
}

/// Four neighbouring words of a tile at once.
///
/// # Safety
/// `at` is a multiple of 4, and `at + 4` at most the array's length.
#[inline(always)]
#[track_caller]
pub(super) unsafe fn set_words(tile: Shared<u32>, at: u32, words: [u32; 4]) {
    // SAFETY: shared arrays are aligned to 16 bytes, and `at / 4` is one of the array's whole quads, as the caller says.
    unsafe { Shared::<Vec4>::from_address(tile.address_of(0), tile.len() / 4).set_unchecked(at / 4, Vec4(words)) };
}

/// Adds the product of the tiles that begin at word `from` to a warp's sums.
///
/// # Safety
/// Every thread of the block calls it; the tiles are whole.
#[inline(always)]
#[track_caller]
unsafe fn multiply<F: Format>(
    tile_a: Shared<u32>,
    tile_b: Shared<u32>,
    from: u32,
    sums: &mut [[[f32; 4]; ACROSS]; DOWN],
) {
    let (g, t) = (thread::lane() / 4, thread::lane() % 4);
    let at_a = from + t * STRIDE + thread::warp_index() / WARPS_ACROSS * WARP_ROWS + g;
    let at_b = from + t * STRIDE + thread::warp_index() % WARPS_ACROSS * WARP_COLS + g;
    let mut word = 0;
    while word < WORDS {
        let mut left = [[0u32; 4]; DOWN];
        let mut right = [[0u32; 2]; ACROSS];
        // SAFETY: rows and columns are below those of the warp's 32 by 32, and depths below WORDS: words of the tiles.
        unsafe {
            let mut i = 0;
            while i < DOWN {
                let at = at_a + word * STRIDE + 16 * i as u32;
                left[i] = [
                    tile_a.get_unchecked(at),
                    tile_a.get_unchecked(at + 8),
                    tile_a.get_unchecked(at + 4 * STRIDE),
                    tile_a.get_unchecked(at + 4 * STRIDE + 8),
                ];
                i += 1;
            }
            let mut j = 0;
            while j < ACROSS {
                let at = at_b + word * STRIDE + 8 * j as u32;
                right[j] = [tile_b.get_unchecked(at), tile_b.get_unchecked(at + 4 * STRIDE)];
                j += 1;
            }
        }
        let warp = sync::whole_warp();
        let mut i = 0;
        while i < DOWN {
            let mut j = 0;
            while j < ACROSS {
                sums[i][j] = F::product(&warp, sums[i][j], left[i], right[j]);
                j += 1;
            }
            i += 1;
        }
        word += 8;
    }
}

/// Gives a warp's sums to the output; the block's tile begins at `first_row` and `first_col`.
///
/// # Safety
/// All threads of the block call it, once for each tile; `out` describes valid memory.
#[inline(always)]
#[track_caller]
pub(super) unsafe fn store<O: Output>(sums: &[[[f32; 4]; ACROSS]; DOWN], first_row: u32, first_col: u32, out: O) {
    let (g, t) = (thread::lane() / 4, thread::lane() % 4);
    // A lane has two columns of two rows; with its neighbour's it gets four columns of one.
    let odd = t % 2 == 1;
    let row = first_row + thread::warp_index() / WARPS_ACROSS * WARP_ROWS + g + if odd { 8 } else { 0 };
    let col = first_col + thread::warp_index() % WARPS_ACROSS * WARP_COLS + t / 2 * 4;
    unroll!(I in [0, 1] {
        unroll!(J in [0, 1, 2, 3] {
            let c: [f32; 4] = sums[I][J];
            let (give, keep) = if odd { ([c[0], c[1]], [c[2], c[3]]) } else { ([c[2], c[3]], [c[0], c[1]]) };
            let low = warp::shuffle_xor(warp::ALL, give[0], 1);
            let high = warp::shuffle_xor(warp::ALL, give[1], 1);
            let quad = if odd { [low, high, keep[0], keep[1]] } else { [keep[0], keep[1], low, high] };
            // SAFETY: each quad of the tile is one lane's.
            unsafe { out.put(row + 16 * I as u32, col + 8 * J as u32, quad) };
        });
    });
}

/// The block's tile of the product, depths `from` to `to`.
///
/// # Safety
/// Every thread of a block of `THREADS` calls it with the same `from` and `to`; operands and output describe valid memory; the shared arrays hold two
/// tiles each; `QUADS` is the depths of a word.
#[inline(always)]
#[track_caller]
unsafe fn product<F: Format, A: Matrix, B: Matrix, O: Output, const QUADS: usize>(
    a: A,
    b: B,
    out: O,
    from: u32,
    to: u32,
    tile_a: Shared<u32>,
    tile_b: Shared<u32>,
) {
    let (first_row, first_col) = (thread::block_idx_y() * ROWS, thread::block_idx_x() * COLS);
    let mut sums = [[[0.0f32; 4]; ACROSS]; DOWN];
    // SAFETY: operands and output describe valid memory, as the caller says; the quads of each tile are fetched by lines of its own depth. The arrays hold two tiles each, and tiles are
    // whole behind a barrier that every thread of the block passes.
    unsafe {
        let (share_a, share_b) = (Share::<F, A, QUADS>::new(a, first_row), Share::<F, B, QUADS>::new(b, first_col));
        let (mut depth, deep) = (from, WORDS * F::PER_WORD);
        // Three tiles are on their way: one in shared memory, two in registers, of which the second is still being read; and the lines of a fourth are.
        let (mut even_a, mut even_b) = ([[0.0; 4]; QUADS], [[0.0; 4]; QUADS]);
        let (mut odd_a, mut odd_b) = ([[0.0; 4]; QUADS], [[0.0; 4]; QUADS]);
        let (mut lines_a, mut lines_b) = (share_a.lines(from), share_b.lines(from));
        // Reads the tile at a depth, if it is one of the product's, and the lines of the next.
        macro_rules! fetch {
            ($quads_a:ident, $quads_b:ident, $depth:expr) => {
                let depth: u32 = $depth;
                if depth < to {
                    ($quads_a, $quads_b) = (share_a.fetch(&lines_a, depth), share_b.fetch(&lines_b, depth));
                    (lines_a, lines_b) = (share_a.lines(depth + deep), share_b.lines(depth + deep));
                }
            };
        }
        fetch!(even_a, even_b, from);
        put_tile::<F, A, QUADS>(tile_a, 0, even_a);
        put_tile::<F, B, QUADS>(tile_b, 0, even_b);
        fetch!(odd_a, odd_b, from + deep);
        // The first tiles must be whole.
        sync::sync_threads();
        // One turn: the tile in half `$half` of the shared memory is multiplied, the tile two further on read, the next one put into the other half.
        macro_rules! turn {
            ($half:literal, $next_a:ident, $next_b:ident, $after_a:ident, $after_b:ident) => {
                fetch!($after_a, $after_b, depth + 2 * deep);
                multiply::<F>(tile_a, tile_b, $half * TILE, &mut sums);
                if depth + deep < to {
                    put_tile::<F, A, QUADS>(tile_a, (1 - $half) * TILE, $next_a);
                    put_tile::<F, B, QUADS>(tile_b, (1 - $half) * TILE, $next_b);
                }
                // The next tile must be whole, and the present one read by all.
                sync::sync_threads();
                depth += deep;
            };
        }
        while depth < to {
            turn!(0, odd_a, odd_b, even_a, even_b);
            // Past the end there is nothing to multiply, and nothing is: the operands of a second turn would be stale.
            if depth < to {
                turn!(1, even_a, even_b, odd_a, odd_b);
            }
        }
        store(&sums, first_row, first_col, out);
    }
}

macro_rules! kernels {
    ($format:ident, $quads:literal, $forward_images:ident, $forward:ident, $backward:ident, $gradient_images:ident, $gradient:ident) => {
        const _: () = assert!($quads * THREADS * 4 == ROWS * WORDS * <$format as Format>::PER_WORD);

        /// Outputs of the first layer from the images, with bias, and with ReLU where another layer follows.
        ///
        /// * Launch: [`Tiles::shape`] of [`TENSOR`] (128 × 128, 512 threads) for `batch` × `n_outputs`, one part.
        /// * Reads: `images` of the step's samples, `parameters`.
        /// * Writes: `result` `[batch, n_outputs]`.
        /// * Shared: 34,816 bytes: two tiles of each operand.
        /// * Cost: 2 × samples × outputs × pixels operations by tensor cores.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`.
        /// * Source: Ha and Beqaj, section 1.1 (forward) and section 1.3, kernel 2 (the tile); the tensor cores are ours.
        ///
        /// # Safety
        /// `layer` describes valid memory.
        #[kernel(shape = TENSOR.shape(layer.rows.batch, layer.n_outputs, 1), max_threads = THREADS)]
        pub unsafe fn $forward_images(layer: LayerProduct) {
            // SAFETY: blocks have THREADS threads, `layer` describes valid memory, as the kernel asks, and the arrays hold two tiles each; QUADS is the format's.
            unsafe {
                let offset = layer.rows.offset();
                let n_rows = layer.rows.count(offset);
                product::<$format, _, _, _, $quads>(
                    layer.images::<true, false, false>(offset), layer.weights::<false>(), layer.activated(n_rows, PIXEL), 0, layer.n_inputs,
                    shared_array![u32; BOTH], shared_array![u32; BOTH],
                );
            }
        }

        /// Outputs of a later layer, with bias, and with ReLU where another layer follows.
        ///
        /// * Launch: [`Tiles::shape`] of [`TENSOR`] (128 × 128, 512 threads) for `batch` × `n_outputs`, one part.
        /// * Reads: `inputs`, `parameters`.
        /// * Writes: `result` `[batch, n_outputs]`.
        /// * Shared: 34,816 bytes: two tiles of each operand.
        /// * Cost: 2 × samples × outputs × inputs operations by tensor cores.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`.
        /// * Source: Ha and Beqaj, section 1.1 (forward) and section 1.3, kernel 2 (the tile); the tensor cores are ours.
        ///
        /// # Safety
        /// As the first layer's.
        #[kernel(shape = TENSOR.shape(layer.rows.batch, layer.n_outputs, 1), max_threads = THREADS)]
        pub unsafe fn $forward(layer: LayerProduct) {
            // SAFETY: blocks have THREADS threads, `layer` describes valid memory, as the kernel asks, and the arrays hold two tiles each; QUADS is the format's.
            unsafe {
                let n_rows = layer.rows.count(layer.rows.offset());
                product::<$format, _, _, _, $quads>(
                    layer.inputs::<true, false>(n_rows), layer.weights::<false>(), layer.activated(n_rows, 1.0), 0, layer.n_inputs,
                    shared_array![u32; BOTH], shared_array![u32; BOTH],
                );
            }
        }

        /// Gradient of a layer's inputs before their ReLU: 0 where they are 0.
        ///
        /// * Launch: [`Tiles::shape`] of [`TENSOR`] (128 × 128, 512 threads) for `batch` × `n_inputs`, one part.
        /// * Reads: `output_gradient`, `parameters`, `inputs`.
        /// * Writes: `result` `[batch, n_inputs]`.
        /// * Shared: 34,816 bytes: two tiles of each operand.
        /// * Cost: 2 × samples × inputs × outputs operations by tensor cores.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::backward`.
        /// * Source: Ha and Beqaj, section 1.1 (∂L/∂h, ReLU masking) and section 1.3, kernel 5; the tensor cores are ours.
        ///
        /// # Safety
        /// `layer` describes valid memory.
        #[kernel(shape = TENSOR.shape(layer.rows.batch, layer.n_inputs, 1), max_threads = THREADS)]
        pub unsafe fn $backward(layer: LayerProduct) {
            // SAFETY: blocks have THREADS threads, `layer` describes valid memory, as the kernel asks, and the arrays hold two tiles each; QUADS is the format's.
            unsafe {
                let n_rows = layer.rows.count(layer.rows.offset());
                product::<$format, _, _, _, $quads>(
                    layer.output_gradient::<true>(n_rows), layer.weights::<true>(), layer.masked(n_rows), 0, layer.n_outputs,
                    shared_array![u32; BOTH], shared_array![u32; BOTH],
                );
            }
        }

        /// Gradient of the first layer's weights and bias, in parts; the last row is the bias.
        ///
        /// * Launch: [`Tiles::shape`] of [`TENSOR`] (128 × 128, 512 threads) for `n_inputs + 1` × `n_outputs`, a part of the batch for each z of the grid.
        /// * Reads: `images` of the step's samples, `output_gradient`.
        /// * Writes: `result`, a part each; `overflow`.
        /// * Shared: 34,816 bytes: two tiles of each operand.
        /// * Cost: 2 × (pixels + 1) × outputs × samples operations by tensor cores.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::backward`.
        /// * Source: Ha and Beqaj, section 1.1 (∂L/∂W₁) and section 1.3, kernels 5 and 6; the tensor cores are ours.
        ///
        /// # Safety
        /// `layer` describes valid memory.
        #[kernel(shape = TENSOR.shape(layer.n_inputs + 1, layer.n_outputs, layer.n_parts()), max_threads = THREADS)]
        pub unsafe fn $gradient_images(layer: LayerProduct) {
            // SAFETY: blocks have THREADS threads, `layer` describes valid memory, as the kernel asks, and the arrays hold two tiles each; QUADS is the format's.
            unsafe {
                let offset = layer.rows.offset();
                let n_rows = layer.rows.count(offset);
                let (out, from, to) = layer.own_part(n_rows, PIXEL);
                product::<$format, _, _, _, $quads>(
                    layer.images::<false, true, false>(offset), layer.output_gradient::<false>(n_rows), out, from, to,
                    shared_array![u32; BOTH], shared_array![u32; BOTH],
                );
            }
        }

        /// Gradient of a later layer's weights and bias, in parts; the last row is the bias.
        ///
        /// * Launch: [`Tiles::shape`] of [`TENSOR`] (128 × 128, 512 threads) for `n_inputs + 1` × `n_outputs`, a part of the batch for each z of the grid.
        /// * Reads: `inputs`, `output_gradient`.
        /// * Writes: `result`, a part each; `overflow`.
        /// * Shared: 34,816 bytes: two tiles of each operand.
        /// * Cost: 2 × (inputs + 1) × outputs × samples operations by tensor cores.
        /// * Twin: `warpplay_cpu_ref::mlp::network::Network::backward`.
        /// * Source: Ha and Beqaj, section 1.1 (∂L/∂W₂) and section 1.3, kernels 5 and 6; the tensor cores are ours.
        ///
        /// # Safety
        /// As the first layer's.
        #[kernel(shape = TENSOR.shape(layer.n_inputs + 1, layer.n_outputs, layer.n_parts()), max_threads = THREADS)]
        pub unsafe fn $gradient(layer: LayerProduct) {
            // SAFETY: blocks have THREADS threads, `layer` describes valid memory, as the kernel asks, and the arrays hold two tiles each; QUADS is the format's.
            unsafe {
                let n_rows = layer.rows.count(layer.rows.offset());
                let (out, from, to) = layer.own_part(n_rows, 1.0);
                product::<$format, _, _, _, $quads>(
                    layer.inputs::<false, true>(n_rows), layer.output_gradient::<false>(n_rows), out, from, to,
                    shared_array![u32; BOTH], shared_array![u32; BOTH],
                );
            }
        }
    };
}

kernels!(
    Tf32,
    1,
    mlp_layers_forward_images_tf32,
    mlp_layers_forward_tf32,
    mlp_layers_backward_tf32,
    mlp_layers_gradient_images_tf32,
    mlp_layers_gradient_tf32
);
kernels!(
    Bf16,
    2,
    mlp_layers_forward_images_bf16,
    mlp_layers_forward_bf16,
    mlp_layers_backward_bf16,
    mlp_layers_gradient_images_bf16,
    mlp_layers_gradient_bf16
);
kernels!(
    Fp16,
    2,
    mlp_layers_forward_images_fp16,
    mlp_layers_forward_fp16,
    mlp_layers_backward_fp16,
    mlp_layers_gradient_images_fp16,
    mlp_layers_gradient_fp16
);
