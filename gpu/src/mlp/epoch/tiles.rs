//! A block's shared memory by name, the sizes of its network, and who has which weights.

use crate::cuda::mailbox::Mailbox;
use crate::cuda::math::opaque;
use crate::cuda::memory;
use crate::cuda::shared::{self, Shared};
use crate::cuda::sync::sync_threads;
use crate::cuda::thread::{strided, thread_idx_x, warp_index};
use crate::cuda::warp::{ALL, shuffle};

use super::scale::Scales;
use super::{
    BATCH, CLASSES, Four, GROUP, HIDDEN, LOGIT_BYTES, OPERAND_BYTES, PIXEL_BYTES, QUARTET_GROUPS, QUARTETS, ROW_BYTES,
    TABLE_BYTES, THREADS, TILE_ROW_STEP, TILE_STRIDE, TILES, WARPGROUPS, WARPS, bytes_left_out, end_of_layout, layout,
    n_groups, shared_bytes, tile_bytes,
};
use crate::unroll::unroll;

/// A lane's share of `W1`, scaled: `[number][4 u + 2 r + e]` is hidden unit 8u + 2t + e and byte `2 tile + r` of the lane's word, where [`Sizes::tile`] has the tile and the word's group.
pub(super) type Weights = [[f32; 8]; TILES as usize];

/// The warp's indices: warpgroup, and warp in it.
#[device_inline]
pub(super) fn warp_indices() -> (u32, u32) {
    // The compiler must see that it is the same for all lanes: products in code that it takes for divergent run one by one.
    let warp = shuffle(ALL, warp_index(), 0);
    (warp / 4, warp % 4)
}

/// Sizes of the network, and this block's rank in it.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub n_inputs: u32,
    pub n_hidden: u32,
    pub n_classes: u32,
    /// Blocks of the network.
    pub blocks: u32,
    /// This block's number among them.
    pub rank: u32,
    /// This warp's warpgroup, and its number in it: [`warp_indices`].
    pub warp: (u32, u32),
}

impl Sizes {
    /// log2 of the samples whose logits a block finishes; the number of blocks is a power of two.
    #[device_inline]
    pub fn log_samples(&self) -> u32 {
        BATCH.trailing_zeros() - self.blocks.trailing_zeros()
    }

    /// Bytes of partial logits that a block gets in a round: pairs of classes of 8 bytes for its samples, from every block.
    #[device_inline]
    pub fn logit_bytes(&self) -> u32 {
        BATCH * self.n_classes.div_ceil(2) * 8
    }

    /// Samples whose logits a block finishes.
    #[device_inline]
    pub fn samples_per_block(&self) -> u32 {
        1 << self.log_samples()
    }

    /// Number of the weight of `pixel` (the bias behind the last) and this block's hidden unit `unit` among a network's values, if there is one.
    #[device_inline]
    pub fn first_layer(&self, pixel: u32, unit: u32) -> Option<usize> {
        let unit = self.rank * HIDDEN + unit;
        (pixel <= self.n_inputs && unit < self.n_hidden)
            .then_some(pixel as usize * self.n_hidden as usize + unit as usize)
    }

    /// The same for the second layer; `HIDDEN` as unit means the bias.
    #[device_inline]
    pub fn second_layer(&self, unit: u32, class: u32) -> Option<usize> {
        let first = (self.n_inputs as usize + 1) * self.n_hidden as usize;
        let row = if unit == HIDDEN { self.n_hidden } else { self.rank * HIDDEN + unit };
        let there = class < self.n_classes && (unit == HIDDEN || row < self.n_hidden);
        there.then_some(first + row as usize * self.n_classes as usize + class as usize)
    }

    /// Groups of 32 pixels.
    #[device_inline]
    pub fn n_groups(&self) -> u32 {
        n_groups(self.n_inputs)
    }

    /// The first group of the warpgroup's quartet `number`, if there is one.
    #[device_inline]
    pub fn quartet(&self, number: u32) -> Option<u32> {
        let first = (number * WARPGROUPS + self.warp.0) * 4;
        (first < self.n_groups()).then_some(first)
    }

    /// Group and tile of the warp's tile `number`, if there is one: two tiles of its group of each quartet (where the last groups of a quartet may be missing), then half of a group beyond all quartets. The last
    /// warps have the first of these, since the first ones have other things to do.
    #[device_inline]
    pub fn tile(&self, number: u32) -> Option<(u32, u32)> {
        if number < 2 * QUARTETS {
            return self.quartet(number / 2).map(|first| (first + self.warp.1, number % 2));
        }
        let half = WARPS - 1 - (4 * self.warp.0 + self.warp.1);
        let group = QUARTET_GROUPS + half / 2;
        (group < self.n_groups()).then_some((group, half % 2))
    }
}

/// The thread's number in the block, and what follows from it.
#[derive(Clone, Copy)]
pub(super) struct Me {
    thread: u32,
}

impl Me {
    /// Number in the block.
    #[device_inline]
    pub fn thread(self) -> u32 {
        self.thread
    }

    /// Warp in the block.
    #[device_inline]
    pub fn warp(self) -> u32 {
        self.thread / 32
    }

    /// Lane in the warp.
    #[device_inline]
    pub fn lane(self) -> u32 {
        self.thread % 32
    }

    /// Row of the lane in a fragment.
    #[device_inline]
    pub fn g(self) -> u32 {
        self.lane() / 4
    }

    /// Pair of columns of the lane in a fragment.
    #[device_inline]
    pub fn t(self) -> u32 {
        self.thread % 4
    }
}

/// Shared memory of the block, by name; and who looks at it. Operands are written as `HALVES` half-precision parts: see [`halves`].
#[derive(Clone, Copy)]
pub(super) struct Tiles<const HALVES: usize> {
    /// Shared address of offset 0 of the layout. With one batch of pixels it lies [`PIXEL_BYTES`] before the memory.
    base: u32,
    /// The thread.
    pub me: Me,
}

impl<const HALVES: usize> Tiles<HALVES> {
    /// That of a launch with as much of it as [`shared_bytes`] says.
    #[device_inline]
    pub fn new(n_inputs: u32, deep: bool, pixel_buffers: u32) -> Self {
        // The one check that the launch has all of it.
        let dynamic = shared::dynamic::<memory::Vec4>(0, shared_bytes(n_inputs, deep, pixel_buffers) / 16);
        Self { base: dynamic.base().wrapping_sub(bytes_left_out(pixel_buffers)), me: Me { thread: thread_idx_x() } }
    }

    /// The same, but addresses are to be made anew: kept over a loop, all of them would take more registers than there are.
    #[device_inline]
    pub fn renewed(&self) -> Self {
        Self { base: opaque(self.base), me: Me { thread: opaque(self.me.thread) } }
    }

    /// `len` values from byte `offset` on.
    #[device_inline]
    pub fn part<T: Copy>(&self, offset: u32, len: u32) -> Shared<T> {
        // SAFETY: callers name parts of the layout that the kernel has, whose offsets are multiples of 16 (8 for the second mailbox), and `new` has seen that it is all there.
        unsafe { Shared::from_address(self.base.wrapping_add(offset), len) }
    }

    /// One batch of pixels as values of `T`.
    #[device_inline]
    pub fn pixels<T: Copy>(&self, buffer: u32) -> Shared<T> {
        self.part(layout::PIXELS + buffer * PIXEL_BYTES, PIXEL_BYTES / size_of::<T>() as u32)
    }

    #[device_inline]
    pub fn sums(&self) -> Shared<Four> {
        self.part(layout::SUMS, (WARPGROUPS - 1) * 2 * 128)
    }

    /// Writes one word of operand `number` at `base` for each part: rows 2g, 2g + 1 of column `8 u + 2t + e`, large, and, of two, 16 columns on, small.
    ///
    /// # Safety
    /// The operand lies in the block's shared memory.
    #[device_inline]
    unsafe fn set_operand(&self, base: u32, n_operands: u32, number: u32, u: u32, e: u32, words: [u32; 2]) {
        let (g, t) = (self.me.g(), self.me.t());
        let operands = self.part::<u32>(base, n_operands * (OPERAND_BYTES / 4));
        let at = number * (OPERAND_BYTES / 4) + g / 4 * (TILE_ROW_STEP / 4) + u * 32 + (2 * t + e) * 4 + g % 4;
        // SAFETY: operand `number` lies in the block's shared memory, as the caller says; rows are below 16 and columns below 32, so both words are inside it.
        unsafe {
            operands.set_unchecked(at, words[0]);
            if HALVES == 2 {
                operands.set_unchecked(at + 64, words[1]);
            }
        }
    }

    /// # Safety
    /// `number` is below twice the groups.
    #[device_inline]
    pub unsafe fn set_w1(&self, number: u32, u: u32, e: u32, words: [u32; 2]) {
        // SAFETY: operands of `W1` are the last part of the layout, two for each group, and `number` is one of them.
        unsafe { self.set_operand(layout::W1, number + 1, number, u, e, words) };
    }

    /// # Safety
    /// `number` is below four.
    #[device_inline]
    pub unsafe fn set_dz1(&self, number: u32, u: u32, e: u32, words: [u32; 2]) {
        // SAFETY: there are four operands of dz1, of which `number` is one.
        unsafe { self.set_operand(layout::DZ1, 4, number, u, e, words) };
    }

    /// Address of `W1`'s operands of `group`.
    #[device_inline]
    pub fn w1(&self, group: u32) -> u32 {
        self.base.wrapping_add(layout::W1) + group * 2 * OPERAND_BYTES
    }

    /// Address of dz1's operands.
    #[device_inline]
    pub fn dz1(&self) -> u32 {
        self.base.wrapping_add(layout::DZ1)
    }

    /// One of the two mailboxes.
    #[device_inline]
    pub fn mail(&self, number: u32) -> Mailbox {
        Mailbox::new(self.part(layout::MAIL + 8 * number, 1))
    }

    /// Scratch for reductions, where the partial sums lie later.
    #[device_inline]
    pub fn scratch(&self) -> Shared<u32> {
        self.part(layout::SUMS, 32)
    }

    /// Partial logits, pairs of classes in 8 bytes: `[blocks, samples, CLASSES / 2]`.
    #[device_inline]
    pub fn logit_pairs(&self, buffer: u32) -> Shared<u64> {
        self.part(layout::LOGITS + buffer * LOGIT_BYTES, BATCH * CLASSES / 2)
    }

    /// The same by fours: `[blocks, samples, CLASSES / 4]`.
    #[device_inline]
    pub fn logit_quads(&self, buffer: u32) -> Shared<Four> {
        self.part(layout::LOGITS + buffer * LOGIT_BYTES, BATCH * CLASSES / 4)
    }

    /// The large (0) or small (1) parts of a tile of `rows` rows, in words of two columns.
    #[device_inline]
    fn tile(&self, at: u32, part: usize, rows: u32) -> Shared<u32> {
        self.part(at + part as u32 * tile_bytes(rows), rows * TILE_STRIDE)
    }

    #[device_inline]
    pub fn h(&self, part: usize) -> Shared<u32> {
        self.tile(layout::H, part, BATCH)
    }

    #[device_inline]
    pub fn dz2(&self, part: usize) -> Shared<u32> {
        self.tile(layout::DZ2, part, BATCH)
    }

    /// The same by pairs of words.
    #[device_inline]
    pub fn dz2_pairs(&self, part: usize) -> Shared<u64> {
        self.part(layout::DZ2 + part as u32 * tile_bytes(BATCH), BATCH * TILE_STRIDE / 2)
    }

    #[device_inline]
    pub fn w2(&self, part: usize) -> Shared<u32> {
        self.tile(layout::W2, part, HIDDEN)
    }

    /// `b2`, by fours.
    #[device_inline]
    pub fn b2(&self) -> Shared<Four> {
        self.part(layout::B2, CLASSES / 4)
    }

    /// Writes `b2` of classes `class` (even) and `class + 1`.
    #[device_inline]
    pub fn set_b2(&self, class: u32, values: [f32; 2]) {
        let pair = values[0].to_bits() as u64 | (values[1].to_bits() as u64) << 32;
        self.part::<u64>(layout::B2, CLASSES / 2).set(class / 2, pair);
    }

    /// The scales and what follows from them.
    #[device_inline]
    pub fn scales(&self) -> Scales {
        Scales(self.part(layout::SCALES, TABLE_BYTES / 4))
    }

    /// Sample numbers of a batch's rows, for two batches.
    #[device_inline]
    pub fn samples(&self, buffer: u32) -> Shared<u32> {
        self.part(layout::SAMPLES + buffer * BATCH * 4, BATCH)
    }

    /// Labels of a batch's rows, for two batches.
    #[device_inline]
    pub fn labels(&self, buffer: u32) -> Shared<u32> {
        self.part(layout::SAMPLES + (2 + buffer) * BATCH * 4, BATCH)
    }

    /// Fills the layout, with so many batches of pixels, with zeros, and the bias pixel of every row with 255. Ends with a barrier.
    #[device_inline]
    pub fn clear(&self, n_inputs: u32, pixel_buffers: u32) {
        let first = bytes_left_out(pixel_buffers);
        let all = self.part::<u32>(first, (end_of_layout(n_inputs) - first) / 4);
        for word in strided(self.me.thread(), all.len(), THREADS) {
            all.set(word, 0);
        }
        // Zeros are there before anything else is put there.
        sync_threads();
        if self.me.thread() < pixel_buffers * BATCH {
            let (buffer, row) = (self.me.thread() / BATCH + 2 - pixel_buffers, self.me.thread() % BATCH);
            self.pixels::<u32>(buffer).set(row_word(0, row) + n_inputs / 4, 255);
        }
        sync_threads();
    }

    /// Starts the copy of a batch: row `r` is image `sample_of(r)`, for `r < rows` (it is asked for all 64). The last
    /// warpgroup's warps copy, every fourth row each; the others have other things to do.
    ///
    /// # Safety
    /// `rows` is at most [`BATCH`]. `images` holds those images of `n_inputs` bytes, a multiple of 16 up to [`MOST_INPUTS`](super::MOST_INPUTS), aligned to 16; nobody reads the buffer
    /// until the copies are waited for.
    #[device_inline]
    pub unsafe fn copy_batch(
        &self,
        buffer: u32,
        images: *const u8,
        n_inputs: u32,
        rows: u32,
        sample_of: impl Fn(u32) -> u32,
    ) {
        /// The first warp that copies.
        const FIRST: u32 = WARPS - 4;
        const _: () = assert!(2 * 8 * (WARPS - FIRST) == BATCH, "two times eight rows a warp are all");
        let pixels = self.pixels::<memory::Vec4>(buffer);
        let pieces = n_inputs / 16;
        if self.me.warp() < FIRST {
            return;
        }
        let first = self.me.warp() - FIRST;
        for half in 0..2 {
            // Numbers first, so that they are waited for once.
            let mut samples = [0u32; 8];
            unroll!(R in [0, 1, 2, 3, 4, 5, 6, 7] {
                samples[R] = sample_of((half * 8 + R as u32) * (WARPS - FIRST) + first);
            });
            unroll!(R in [0, 1, 2, 3, 4, 5, 6, 7] {
                let row = (half * 8 + R as u32) * (WARPS - FIRST) + first;
                if row < rows {
                    let to = row_word(0, row) / 4;
                    // SAFETY: the image is one of those that `images` holds, as the caller says; `n_inputs` is a multiple of 16, so its address is aligned, and a row of the buffer holds all pieces.
                    unsafe {
                        let image = images.add(samples[R] as usize * n_inputs as usize).cast::<memory::Vec4>();
                        unroll!(HALF in [0, 1] {
                            let piece = HALF as u32 * 32 + self.me.lane();
                            if piece < pieces {
                                memory::copy_async_unchecked(pixels, to + piece, image.add(piece as usize));
                            }
                        });
                    }
                }
            });
        }
    }
}

/// Number of the first word of a sample's pixels of a group, among those of a batch.
#[device_inline]
pub(super) fn row_word(group: u32, row: u32) -> u32 {
    row * (ROW_BYTES / 4) + group * (GROUP / 4)
}

/// Number of the word of a 16-column tile at `row`, word `word` of it.
#[device_inline]
pub(super) fn tile_word(row: u32, word: u32) -> u32 {
    row * TILE_STRIDE + word
}
