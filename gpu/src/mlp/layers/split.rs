//! The first layer's products in single precision by tensor cores: pixels are whole numbers, exact in bfloat16, and the other operand is the sum of three
//! bfloat16 values, as exact as `f32` itself.
//!
//! ```text
//! shared, two of each, so that one is filled while the other is read:
//!   first   [WORDS][ROWS + 8]         pixels, two of neighbouring depths a word
//!   second  [3][WORDS][COLS + 8]      the large, middle and small parts of the other operand
//! ```
//!
//! Tensor cores round towards zero when they add. So only the products of one tile of depths are added there, and the tiles' sums as ordinary floats.
//! Kernels and arguments are those of [`product`](super::product); needs `sm_80`.

use super::product::{LayerProduct, Output};
use super::tensor::{
    ACROSS, Bf16, DOWN, Format, PIXEL, STRIDE, Share, TENSOR, THREADS, TILE, WARP_COLS, WARP_ROWS, WARPS_ACROSS, WORDS,
    own_quad, put_tile, set_words, store,
};
use super::view::Matrix;
use crate::cuda::shared::{self, Shared};
use crate::cuda::{kernel, mma, sync, thread};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Parts of an operand.
const PARTS: u32 = 3;
/// Quads of a thread.
const QUADS: usize = 2;
/// Products along the depth of a tile.
const STEPS: usize = (WORDS / 8) as usize;
const _: () = assert!(STEPS == 2 && PARTS == 3 && DOWN == 2 && ACROSS == 4);
/// Bytes of shared memory.
const SHARED_BYTES: u32 = 2 * (1 + PARTS) * TILE * size_of::<u32>() as u32;

/// Launch shape for a result of `n_rows` x `n_cols`, in `n_parts` parts of the depth.
pub const fn shape(n_rows: u32, n_cols: u32, n_parts: u32) -> LaunchShape {
    TENSOR.shape(n_rows, n_cols, n_parts).with_shared(SHARED_BYTES)
}

/// Two floats, each as a sum of three bfloat16 values: the words of the large, middle and small parts. What is lost is below 2⁻²⁴ of the value.
#[inline(always)]
fn split(low: f32, high: f32) -> [u32; PARTS as usize] {
    let rest = |value: [f32; 2], word: u32| {
        [value[0] - f32::from_bits(word << 16), value[1] - f32::from_bits(word & 0xFFFF_0000)]
    };
    let value = [low, high];
    let large = mma::pack_bf16(value[0], value[1]);
    let value = rest(value, large);
    let middle = mma::pack_bf16(value[0], value[1]);
    let value = rest(value, middle);
    [large, middle, mma::pack_bf16(value[0], value[1])]
}

/// Splits a thread's quads and puts their parts into the three tiles that begin at word `from`.
#[inline(always)]
#[track_caller]
fn put_parts<M: Matrix>(tile: Shared<u32>, from: u32, quads: [[f32; 4]; QUADS]) {
    let mut i = 0;
    while i < QUADS {
        let (col, depth) = own_quad::<Bf16, M>(i as u32);
        let at = depth / Bf16::PER_WORD * STRIDE + col;
        let high = quads[i + 1];
        let words = [
            split(quads[i][0], high[0]),
            split(quads[i][1], high[1]),
            split(quads[i][2], high[2]),
            split(quads[i][3], high[3]),
        ];
        let mut part = 0;
        while part < PARTS as usize {
            let of_part = [words[0][part], words[1][part], words[2][part], words[3][part]];
            // SAFETY: four columns of a part's tile.
            unsafe { set_words(tile, from + part as u32 * TILE + at, of_part) };
            part += 1;
        }
        i += 2;
    }
}

/// Adds the product of the tiles that begin at `from_a` and `from_b` to a warp's sums.
///
/// # Safety
/// Every thread of the block calls it; the tiles are whole.
#[inline(always)]
#[track_caller]
unsafe fn multiply(
    tile_a: Shared<u32>,
    tile_b: Shared<u32>,
    from_a: u32,
    from_b: u32,
    sums: &mut [[[f32; 4]; ACROSS]; DOWN],
) {
    let (g, t) = (thread::lane() / 4, thread::lane() % 4);
    let at_a = from_a + t * STRIDE + thread::warp_index() / WARPS_ACROSS * WARP_ROWS + g;
    let at_b = from_b + t * STRIDE + thread::warp_index() % WARPS_ACROSS * WARP_COLS + g;
    // SAFETY: words of the tiles: rows, parts and steps are below theirs.
    unsafe {
        let mut left = [[[0u32; 4]; DOWN]; STEPS];
        let mut step = 0;
        while step < STEPS {
            let mut i = 0;
            while i < DOWN {
                let at = at_a + step as u32 * 8 * STRIDE + 16 * i as u32;
                left[step][i] = [
                    tile_a.get_unchecked(at),
                    tile_a.get_unchecked(at + 8),
                    tile_a.get_unchecked(at + 4 * STRIDE),
                    tile_a.get_unchecked(at + 4 * STRIDE + 8),
                ];
                i += 1;
            }
            step += 1;
        }
        unroll!(J in [0, 1, 2, 3] {
            let mut of_tile = [[0.0f32; 4]; DOWN];
            unroll!(STEP in [0, 1] {
                // The small parts first.
                unroll!(PART in [2, 1, 0] {
                    let at = at_b + PART as u32 * TILE + STEP as u32 * 8 * STRIDE + 8 * J as u32;
                    let right = [tile_b.get_unchecked(at), tile_b.get_unchecked(at + 4 * STRIDE)];
                    let warp = sync::whole_warp();
                    unroll!(I in [0, 1] {
                        of_tile[I] = Bf16::product(&warp, of_tile[I], left[STEP][I], right);
                    });
                });
            });
            unroll!(I in [0, 1] {
                let (sum, add): (&mut [f32; 4], [f32; 4]) = (&mut sums[I][J], of_tile[I]);
                *sum = [sum[0] + add[0], sum[1] + add[1], sum[2] + add[2], sum[3] + add[3]];
            });
        });
    }
}

/// The block's tile of the product, depths `from` to `to`.
///
/// # Safety
/// Every thread of a block of `THREADS` calls it with the same `from` and `to`, with the shared memory of [`shape`]; operands and output describe valid
/// memory; the second operand's lines are depths.
#[inline(always)]
#[track_caller]
unsafe fn product<A: Matrix, B: Matrix, O: Output>(a: A, b: B, out: O, from: u32, to: u32) {
    let tile_a = shared::dynamic::<u32>(0, 2 * TILE);
    let tile_b = shared::dynamic::<u32>(2 * TILE * size_of::<u32>() as u32, 2 * PARTS * TILE);
    let (first_row, first_col) = (thread::block_idx_y() * TENSOR.rows, thread::block_idx_x() * TENSOR.cols);
    let deep = TENSOR.depth;
    let mut sums = [[[0.0f32; 4]; ACROSS]; DOWN];
    // SAFETY: operands and output describe valid memory, as the caller says; the quads of each tile are fetched by lines of its own depth. The arrays hold two tiles of each part, and
    // tiles are whole behind a barrier that every thread of the block passes.
    unsafe {
        let share_a = Share::<Bf16, A, QUADS>::new(a, first_row);
        let share_b = Share::<Bf16, B, QUADS>::new(b, first_col);
        let (mut lines_a, mut lines_b) = (share_a.lines(from), share_b.lines(from));
        let (mut quads_a, mut quads_b) = ([[0.0; 4]; QUADS], [[0.0; 4]; QUADS]);
        // Reads the tile at a depth, if it is one of the product's, and the lines of the next.
        macro_rules! fetch {
            ($depth:expr) => {
                let depth: u32 = $depth;
                if depth < to {
                    (quads_a, quads_b) = (share_a.fetch(&lines_a, depth), share_b.fetch(&lines_b, depth));
                    (lines_a, lines_b) = (share_a.lines(depth + deep), share_b.lines(depth + deep));
                }
            };
        }
        fetch!(from);
        put_tile::<Bf16, A, QUADS>(tile_a, 0, quads_a);
        put_parts::<B>(tile_b, 0, quads_b);
        // The first tiles must be whole.
        sync::sync_threads();
        let mut depth = from;
        let mut half = 0;
        while depth < to {
            fetch!(depth + deep);
            multiply(tile_a, tile_b, half * TILE, half * PARTS * TILE, &mut sums);
            half = 1 - half;
            depth += deep;
            if depth < to {
                put_tile::<Bf16, A, QUADS>(tile_a, half * TILE, quads_a);
                put_parts::<B>(tile_b, half * PARTS * TILE, quads_b);
            }
            // The next tiles must be whole, and the present ones read by all.
            sync::sync_threads();
        }
        store(&sums, first_row, first_col, out);
    }
}

/// Outputs of the first layer from the images, with bias, and with ReLU where another layer follows.
///
/// * Launch: [`shape`] (128 × 128, 512 threads) for `batch` × `n_outputs`, one part.
/// * Reads: `images` of the step's samples, `parameters`.
/// * Writes: `result` `[batch, n_outputs]`.
/// * Shared: 69,632 bytes, dynamic: two tiles of the pixels and of the three parts of the weights.
/// * Cost: 3 × 2 × samples × outputs × pixels operations by tensor cores.
/// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`.
/// * Source: Ha and Beqaj, section 1.1 (forward); the split into three parts is ours.
///
/// # Safety
/// `layer` describes valid memory.
#[kernel(shape = shape(layer.rows.batch, layer.n_outputs, 1), max_threads = THREADS)]
pub unsafe fn mlp_layers_forward_images_split(layer: LayerProduct) {
    // SAFETY: launched with `shape`, which has the tiles' threads and shared memory, and `layer` describes valid memory: all that a product asks for.
    unsafe {
        let offset = layer.rows.offset();
        let n_rows = layer.rows.count(offset);
        let out = layer.activated(n_rows, PIXEL);
        product(layer.images::<true, false, false>(offset), layer.weights::<false>(), out, 0, layer.n_inputs);
    }
}

/// Gradient of the first layer's weights and bias, in parts; the last row is the bias.
///
/// * Launch: [`shape`] (128 × 128, 512 threads) for `n_inputs + 1` × `n_outputs`, a part of the batch for each z of the grid.
/// * Reads: `images` of the step's samples, `output_gradient`.
/// * Writes: `result`, a part each; `overflow`.
/// * Shared: 69,632 bytes, dynamic: two tiles of the pixels and of the three parts of the gradient.
/// * Cost: 3 × 2 × (pixels + 1) × outputs × samples operations by tensor cores.
/// * Twin: `warpplay_cpu_ref::mlp::network::Network::backward`.
/// * Source: Ha and Beqaj, section 1.1 (∂L/∂W₁); the split into three parts is ours.
///
/// # Safety
/// `layer` describes valid memory.
#[kernel(shape = shape(layer.n_inputs + 1, layer.n_outputs, layer.n_parts()), max_threads = THREADS)]
pub unsafe fn mlp_layers_gradient_images_split(layer: LayerProduct) {
    // SAFETY: launched with `shape`, which has the tiles' threads and shared memory, and `layer` describes valid memory: all that a product asks for.
    unsafe {
        let offset = layer.rows.offset();
        let n_rows = layer.rows.count(offset);
        let (out, from, to) = layer.own_part(n_rows, PIXEL);
        product(layer.images::<false, true, false>(offset), layer.output_gradient::<false>(n_rows), out, from, to);
    }
}
