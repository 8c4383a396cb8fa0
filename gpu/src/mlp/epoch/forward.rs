//! What training and classification share: weights in registers, a batch's pixels, partial logits.

use crate::cuda::mma::{bytes_to_f16, f16, load_matrix_x4_transposed, split_f16};
use crate::cuda::shared::{self, Shared};
use crate::cuda::sync::{sync_threads, sync_warp};
use crate::cuda::thread::{lane, warp_index};
use crate::cuda::warp::ALL;
use crate::cuda::{math, memory};

use super::{
    BATCH, CLASSES, GROUP, GROUPS_PER_WARP, HIDDEN, LOGIT_BYTES, Layout, SCALE, TILE_STRIDE, WARPS, n_groups,
    row_bytes, tile_bytes, unroll,
};

/// Four floats that one instruction moves.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(super) struct Four(pub [f32; 4]);

/// A lane's share of a group's weights: `[j][c]` is pixel 8t + j (c even) or 8t + 4 + j (c odd) of hidden unit g (c < 2) or g + 8.
pub(super) type GroupWeights = [[f32; 4]; 4];

/// A lane's share of `W1`.
pub(super) type Weights = [GroupWeights; GROUPS_PER_WARP as usize];

/// Sizes of the network, and this block's place in it.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub n_inputs: u32,
    pub n_hidden: u32,
    pub n_classes: u32,
    /// Blocks of the cluster.
    pub blocks: u32,
    /// This block's rank in it.
    pub rank: u32,
}

impl Sizes {
    /// log2 of the samples whose logits a block finishes; the number of blocks is a power of two.
    #[inline(always)]
    pub fn log_samples(&self) -> u32 {
        BATCH.trailing_zeros() - self.blocks.trailing_zeros()
    }

    /// Samples whose logits a block finishes.
    #[inline(always)]
    pub fn samples_per_block(&self) -> u32 {
        1 << self.log_samples()
    }

    /// Number of the weight of `pixel` (the bias behind the last) and this block's hidden unit `unit` among a network's values, if there is one.
    #[inline(always)]
    fn first_layer(&self, pixel: u32, unit: u32) -> Option<usize> {
        let unit = self.rank * HIDDEN + unit;
        (pixel <= self.n_inputs && unit < self.n_hidden)
            .then_some(pixel as usize * self.n_hidden as usize + unit as usize)
    }

    /// The same for the second layer; `HIDDEN` as unit means the bias.
    #[inline(always)]
    pub fn second_layer(&self, unit: u32, class: u32) -> Option<usize> {
        let first = (self.n_inputs as usize + 1) * self.n_hidden as usize;
        let row = if unit == HIDDEN { self.n_hidden } else { self.rank * HIDDEN + unit };
        let there = class < self.n_classes && (unit == HIDDEN || row < self.n_hidden);
        there.then_some(first + row as usize * self.n_classes as usize + class as usize)
    }

    /// Whether this warp has a group of number `group` of its own; which group that is.
    #[inline(always)]
    pub fn group(&self, number: u32) -> Option<u32> {
        let group = number * WARPS + warp_index();
        (group < n_groups(self.n_inputs)).then_some(group)
    }
}

/// Calls `f(weight, number)` for each of the lane's weights of the first layer that the network has.
#[inline(always)]
pub(super) fn for_each_weight(weights: &mut Weights, sizes: &Sizes, mut f: impl FnMut(&mut f32, usize)) {
    let (g, t) = (lane() / 4, lane() % 4);
    unroll!(I in [0, 1, 2, 3] {
        if let Some(group) = sizes.group(I as u32) {
            unroll!(J in [0, 1, 2, 3] {
                unroll!(C in [0, 1, 2, 3] {
                    let pixel = group * GROUP + 8 * t + 4 * (C as u32 % 2) + J as u32;
                    let unit = g + 8 * (C as u32 / 2);
                    if let Some(number) = sizes.first_layer(pixel, unit) {
                        f(&mut weights[I][J][C], number);
                    }
                });
            });
        }
    });
}

/// Shared memory of the block, by name.
#[derive(Clone, Copy)]
pub(super) struct Tiles {
    layout: Layout,
    row_bytes: u32,
}

impl Tiles {
    #[inline(always)]
    pub fn new(n_inputs: u32) -> Self {
        Self { layout: Layout::new(n_inputs), row_bytes: row_bytes(n_inputs) }
    }

    /// One batch of pixels as values of `T`.
    #[inline(always)]
    pub fn pixels<T: Copy>(&self, buffer: u32) -> Shared<T> {
        shared::dynamic(buffer * self.layout.pixel_bytes, self.layout.pixel_bytes / size_of::<T>() as u32)
    }

    #[inline(always)]
    fn sums(&self) -> Shared<Four> {
        shared::dynamic(self.layout.sums, 4 * WARPS * 2 * 32)
    }

    /// Scratch for reductions, where the partial sums lie later.
    #[inline(always)]
    pub fn scratch(&self) -> Shared<u32> {
        shared::dynamic(self.layout.sums, 32)
    }

    /// Partial logits, pairs of classes in 8 bytes: `[blocks, samples, CLASSES / 2]`.
    #[inline(always)]
    pub fn logit_pairs(&self, buffer: u32) -> Shared<u64> {
        shared::dynamic(self.layout.logits + buffer * LOGIT_BYTES, BATCH * CLASSES / 2)
    }

    /// Partial logits, `[blocks, samples, CLASSES]`.
    #[inline(always)]
    pub fn logits(&self, buffer: u32) -> Shared<f32> {
        shared::dynamic(self.layout.logits + buffer * LOGIT_BYTES, BATCH * CLASSES)
    }

    /// The large (0) or small (1) parts of a tile of `rows` rows, in words of two columns.
    #[inline(always)]
    fn tile(&self, at: u32, part: usize, rows: u32) -> Shared<u32> {
        shared::dynamic(at + part as u32 * tile_bytes(rows), rows * TILE_STRIDE)
    }

    #[inline(always)]
    pub fn h(&self, part: usize) -> Shared<u32> {
        self.tile(self.layout.h, part, BATCH)
    }

    #[inline(always)]
    pub fn dz2(&self, part: usize) -> Shared<u32> {
        self.tile(self.layout.dz2, part, BATCH)
    }

    #[inline(always)]
    pub fn dz1(&self, part: usize) -> Shared<u32> {
        self.tile(self.layout.dz1, part, BATCH)
    }

    #[inline(always)]
    pub fn w2(&self, part: usize) -> Shared<u32> {
        self.tile(self.layout.w2, part, HIDDEN)
    }

    #[inline(always)]
    pub fn b2(&self) -> Shared<f32> {
        shared::dynamic(self.layout.b2, CLASSES)
    }

    /// Fills both batches with zeros, and the bias pixel of every row with 255. Ends without a barrier.
    #[inline(always)]
    pub fn clear_pixels(&self, n_inputs: u32) {
        let words = BATCH * self.row_bytes / 4;
        let bias_word = n_inputs / 4;
        let mut buffer = 0;
        while buffer < 2 {
            let pixels = self.pixels::<u32>(buffer);
            let mut word = crate::cuda::thread::thread_idx_x();
            while word < words {
                pixels.set(word, if word % (self.row_bytes / 4) == bias_word { 255 } else { 0 });
                word += super::THREADS;
            }
            buffer += 1;
        }
    }

    /// Starts the copy of a batch: row `r` is image `sample_of(r)`, for `r < rows`. Each warp copies every eighth row.
    ///
    /// # Safety
    /// `images` holds those images of `n_inputs` bytes, a multiple of 16, aligned to 16; nobody reads the buffer until the copies are waited for.
    #[inline(always)]
    pub unsafe fn copy_batch(
        &self,
        buffer: u32,
        images: *const u8,
        n_inputs: u32,
        rows: u32,
        sample_of: impl Fn(u32) -> u32,
    ) {
        let pixels = self.pixels::<memory::Vec4>(buffer);
        let pieces = n_inputs / 16;
        let mut row = warp_index();
        while row < rows {
            // SAFETY: the caller vouches for the image; pieces below n_inputs / 16.
            let image = unsafe { images.add(sample_of(row) as usize * n_inputs as usize) }.cast::<memory::Vec4>();
            let mut piece = lane();
            while piece < pieces {
                // SAFETY: as above; n_inputs is a multiple of 16, so the address is aligned.
                unsafe { memory::copy_async(pixels, row * (self.row_bytes / 16) + piece, image.add(piece as usize)) };
                piece += 32;
            }
            row += WARPS;
        }
    }
}

/// Splits `W2`'s share of this block into its tiles: element `(unit, class)` as `value` says. One warp: lane (g, t) has units g, g + 8 and classes
/// 8 nt + 2t, + 1.
#[inline(always)]
pub(super) fn store_w2(tiles: &Tiles, class_tile: u32, w2: [f32; 4]) {
    let (g, t) = (lane() / 4, lane() % 4);
    let word = class_tile * 4 + t;
    let upper = split_f16(w2[0] * SCALE, w2[1] * SCALE);
    let lower = split_f16(w2[2] * SCALE, w2[3] * SCALE);
    unroll!(PART in [0, 1] {
        tiles.w2(PART).set(g * TILE_STRIDE + word, upper[PART]);
        tiles.w2(PART).set((g + 8) * TILE_STRIDE + word, lower[PART]);
    });
}

/// This warp's partial sums of `x W1`, times [`SCALE`] and 255: `[row tile][unit tile]`, as the tensor core leaves them.
#[inline(always)]
fn partial_z1(tiles: &Tiles, buffer: u32, sizes: &Sizes, weights: &Weights) -> [[[f32; 4]; 2]; 4] {
    let (g, t) = (lane() / 4, lane() % 4);
    let pixels = tiles.pixels::<u64>(buffer);
    let row_pairs = tiles.row_bytes / 8;
    let mut sums = [[[0f32; 4]; 2]; 4];
    unroll!(I in [0, 1, 2, 3] {
        if let Some(group) = sizes.group(I as u32) {
            let w = &weights[I];
            // b[k step][unit tile][part]: the words of operand B.
            let mut b = [[[[0u32; 2]; 2]; 2]; 2];
            unroll!(K in [0, 1] {
                unroll!(U in [0, 1] {
                    let low = split_f16(w[0][2 * U + K] * SCALE, w[1][2 * U + K] * SCALE);
                    let high = split_f16(w[2][2 * U + K] * SCALE, w[3][2 * U + K] * SCALE);
                    b[K][U] = [[low[0], high[0]], [low[1], high[1]]];
                });
            });
            let at = group * (GROUP / 8) + t;
            // The products below are in straight line with this.
            sync_warp(ALL);
            unroll!(M in [0, 1, 2, 3] {
                // SAFETY: rows below BATCH; a group lies inside a row.
                let (upper, lower) = unsafe {
                    let row = M as u32 * 16 + g;
                    (pixels.get_unchecked(row * row_pairs + at), pixels.get_unchecked((row + 8) * row_pairs + at))
                };
                unroll!(K in [0, 1] {
                    let upper = bytes_to_f16((upper >> (32 * K)) as u32);
                    let lower = bytes_to_f16((lower >> (32 * K)) as u32);
                    let a = [upper[0], lower[0], upper[1], lower[1]];
                    unroll!(U in [0, 1] {
                        // SAFETY: the whole warp runs this: `group` is the same for all lanes.
                        unsafe {
                            sums[M][U] = f16(sums[M][U], a, b[K][U][0]);
                            sums[M][U] = f16(sums[M][U], a, b[K][U][1]);
                        }
                    });
                });
            });
        }
    });
    sums
}

/// What a warp that finishes a row tile keeps of the forward pass.
#[derive(Clone, Copy, Default)]
pub(super) struct Hidden {
    /// `relu(z1)`: `[unit tile]`, rows g (first two) and g + 8, units 2t, 2t + 1.
    pub h: [[f32; 4]; 2],
}

/// Partial logits of the batch in `buffer`, written to the blocks that own the samples; there after the cluster's barrier. The first four warps get
/// their row tile's hidden values, which also go to the tile `h` if `keep`.
///
/// All threads of the cluster call it. The tiles `w2` are ready before the barrier inside.
#[inline(always)]
pub(super) fn partial_logits(
    tiles: &Tiles,
    buffer: u32,
    logit_buffer: u32,
    sizes: &Sizes,
    weights: &Weights,
    keep: bool,
) -> Hidden {
    let warp = warp_index();
    let (g, t) = (lane() / 4, lane() % 4);
    let partial = partial_z1(tiles, buffer, sizes, weights);
    let sums = tiles.sums();
    let place = |row_tile: u32, warp: u32, unit_tile: u32| ((row_tile * WARPS + warp) * 2 + unit_tile) * 32 + lane();
    unroll!(M in [0, 1, 2, 3] {
        unroll!(U in [0, 1] {
            // SAFETY: four row tiles, eight warps, two unit tiles, 32 lanes.
            unsafe { sums.set_unchecked(place(M as u32, warp, U as u32), Four(partial[M][U])) };
        });
    });
    // All warps' sums must be there before four of them add up.
    sync_threads();
    let mut hidden = Hidden::default();
    if warp < 4 {
        let mut z1 = [[0f32; 4]; 2];
        unroll!(W in [0, 1, 2, 3, 4, 5, 6, 7] {
            unroll!(U in [0, 1] {
                // SAFETY: as above; this warp is below four.
                let Four(more) = unsafe { sums.get_unchecked(place(warp, W as u32, U as u32)) };
                unroll!(C in [0, 1, 2, 3] {
                    z1[U][C] += more[C];
                });
            });
        });
        unroll!(U in [0, 1] {
            unroll!(C in [0, 1, 2, 3] {
                let value = z1[U][C] * (1.0 / (255.0 * SCALE));
                // Not `max`: a NaN must go through.
                hidden.h[U][C] = if value <= 0.0 { 0.0 } else { value };
            });
        });
        let h = &hidden.h;
        let words = [
            split_f16(h[0][0], h[0][1]),
            split_f16(h[0][2], h[0][3]),
            split_f16(h[1][0], h[1][1]),
            split_f16(h[1][2], h[1][3]),
        ];
        let row = warp * 16 + g;
        if keep {
            unroll!(PART in [0, 1] {
                let tile = tiles.h(PART);
                tile.set(row * TILE_STRIDE + t, words[0][PART]);
                tile.set((row + 8) * TILE_STRIDE + t, words[1][PART]);
                tile.set(row * TILE_STRIDE + 4 + t, words[2][PART]);
                tile.set((row + 8) * TILE_STRIDE + 4 + t, words[3][PART]);
            });
        }
        let a = |part: usize| [words[0][part], words[1][part], words[2][part], words[3][part]];
        // Operand B of both class tiles: rows are hidden units, so the tile is loaded transposed.
        let from = tile_word((lane() / 8 % 2) * 8 + lane() % 8, (lane() / 16) * 4);
        let mut logits = [[0f32; 4]; 2];
        sync_warp(ALL);
        // SAFETY: the whole warp runs this; every lane's row lies in the tile, written before a barrier.
        unsafe {
            let large = load_matrix_x4_transposed(tiles.w2(0).address_of(from));
            let small = load_matrix_x4_transposed(tiles.w2(1).address_of(from));
            unroll!(N in [0, 1] {
                let main = f16([0.0; 4], a(0), [large[2 * N], large[2 * N + 1]]);
                let rest = f16([0.0; 4], a(1), [large[2 * N], large[2 * N + 1]]);
                let rest = f16(rest, a(0), [small[2 * N], small[2 * N + 1]]);
                unroll!(C in [0, 1, 2, 3] {
                    logits[N][C] = (main[C] + rest[C]) * (1.0 / SCALE);
                });
            });
        }
        let per_block = sizes.samples_per_block();
        let pairs = tiles.logit_pairs(logit_buffer);
        unroll!(N in [0, 1] {
            let class = N as u32 * 8 + 2 * t;
            if class < sizes.n_classes {
                unroll!(HALF in [0, 1] {
                    let sample = row + 8 * HALF as u32;
                    let at = ((sizes.rank * per_block + (sample & (per_block - 1))) * CLASSES + class) / 2;
                    let pair = logits[N][2 * HALF].to_bits() as u64 | (logits[N][2 * HALF + 1].to_bits() as u64) << 32;
                    pairs.set_in_cluster(sample >> sizes.log_samples(), at, pair);
                });
            }
        });
    }
    hidden
}

/// Number of the word of a 16-column tile at `row`, word `word` of it.
#[inline(always)]
pub(super) fn tile_word(row: u32, word: u32) -> u32 {
    row * TILE_STRIDE + word
}

/// The logit of the block's sample `sample` and class `class`, summed over the blocks in order; minus infinity for classes that are not there.
#[inline(always)]
pub(super) fn sum_logits(tiles: &Tiles, logit_buffer: u32, sizes: &Sizes, sample: u32, class: u32) -> f32 {
    if class >= sizes.n_classes {
        return f32::NEG_INFINITY;
    }
    let logits = tiles.logits(logit_buffer);
    let per_block = sizes.samples_per_block();
    let mut sum = tiles.b2().get(class);
    let mut block = 0;
    while block < sizes.blocks {
        sum += logits.get((block * per_block + sample) * CLASSES + class);
        block += 1;
    }
    sum
}

/// Softmax over the 16 lanes that have a sample's classes: the lane's power `exp(z - max)`, their sum, and `ln(sum) + max`.
#[inline(always)]
pub(super) fn softmax(z: f32) -> (f32, f32, f32) {
    use crate::cuda::warp::shuffle_xor;
    let mut most = z;
    unroll!(STEP in [8, 4, 2, 1] {
        let other = shuffle_xor(ALL, most, STEP as u32);
        // A NaN must win, so that it is seen.
        most = if other > most || other.is_nan() { other } else { most };
    });
    // 2^-22 of error in the power and in the logarithm, below what the logits' own rounding makes of them. A class that is not there has power 0.
    let power = math::exp2_approx((z - most) * core::f32::consts::LOG2_E);
    let mut sum = power;
    unroll!(STEP in [8, 4, 2, 1] {
        sum += shuffle_xor(ALL, sum, STEP as u32);
    });
    (power, sum, math::log2_approx(sum) * core::f32::consts::LN_2 + most)
}
