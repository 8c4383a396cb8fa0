//! How the blocks of a network send each other partial logits and gradients of logits: within a cluster, or through global memory.
//!
//! A cluster has at most 16 blocks. A network of more units, and one without clusters, has a cooperative launch of its own, whose blocks all run at the same time; what a mailbox of a [`Cluster`] brings into a block's shared memory, the
//! block's threads of a [`Grid`] take from global memory.

use crate::cuda::mailbox::Mailbox;
use crate::cuda::memory;
use crate::cuda::numbered::{Numbered, SLOT_WORDS};
use crate::cuda::sync::{sync_cluster, sync_grid, sync_threads};
use crate::cuda::thread::{block_idx_x, block_rank_in_cluster, grid_dim_x, strided, thread_idx_x};

use super::tiles::{Sizes, Tiles, tile_word};
use super::{BATCH, CLASSES, THREADS, is_cluster};
use crate::unroll::unroll;

/// Global memory of a [`Grid`]; null for a [`Cluster`].
#[derive(Clone, Copy)]
pub(super) struct Mail {
    /// [`n_mail_words`], aligned to 16 bytes.
    pub words: *mut u64,
    /// The counter of the grid's barriers.
    pub arrivals: *mut u32,
}

/// One of the two buffers of a batch, the mailbox that counts what is sent to it, and the number of the mailbox's round, from 0.
#[derive(Clone, Copy)]
pub(super) struct Round {
    pub buffer: u32,
    pub mailbox: u32,
    pub number: u32,
}

/// Messages between the blocks of a network.
pub(super) trait Exchange: Copy {
    /// Whether it is that of a cluster.
    const CLUSTER: bool;
    /// Batches of pixels in shared memory: two, so that one is on its way while the other is multiplied, or one, in the second slot.
    const PIXEL_BUFFERS: u32;
    /// Threads that finish the logits of a block's samples, whole warps: four for a sample, times the blocks to which its gradients are sent, or the [`SHARES`](Self::SHARES).
    const FINISHERS: u32;
    /// Parts of a warp that share the blocks whose partial logits are added up; each has all samples of the block.
    const SHARES: u32;

    /// That of this block.
    ///
    /// # Safety
    /// The launch is of this form, and has this memory.
    unsafe fn new<const HALVES: usize>(tiles: &Tiles<HALVES>, mail: Mail) -> Self;

    /// The number of the launch's network that this block belongs to, of so many blocks each.
    fn network(blocks: u32) -> u32;

    /// The block's number among those of its network.
    fn rank() -> u32;

    /// The slot of the pixels of a batch that has one of two buffers.
    #[device_inline]
    fn pixels(buffer: u32) -> u32 {
        if Self::PIXEL_BUFFERS == 2 { buffer } else { 1 }
    }

    /// Prepares it; a barrier of all blocks must follow before anything is sent.
    ///
    /// # Safety
    /// All threads call it, and nothing is on its way.
    unsafe fn open(&self);

    /// Waits for all threads of the network's blocks, and orders their accesses to global memory.
    ///
    /// # Safety
    /// All threads of the network's blocks call it.
    unsafe fn sync(&self);

    /// Announces `bytes` to a mailbox; one thread of the block calls it, once a round.
    fn expect(&self, mailbox: u32, bytes: u32);

    /// Sends the partial logits of classes `class` (even) and `class + 1` to the block that owns the sample.
    ///
    /// # Safety
    /// `sample` is below [`BATCH`], `class` below [`CLASSES`]; the owner has ended the mailbox's round before, and read what lies in the buffer.
    unsafe fn send_logits<const HALVES: usize>(
        &self,
        tiles: &Tiles<HALVES>,
        sizes: &Sizes,
        round: Round,
        sample: u32,
        class: u32,
        logits: [f32; 2],
    );

    /// Waits until the partial logits of this block's samples are in their buffer, where all threads see them. All threads of the network's blocks call it.
    ///
    /// # Safety
    /// All blocks send them; what lay in the buffer was read before a barrier.
    unsafe fn wait_for_logits<const HALVES: usize>(&self, tiles: &Tiles<HALVES>, sizes: &Sizes, round: Round);

    /// Sends one half of the gradients of a sample's classes `4 quad` to `4 quad + 3` to the block `target`.
    ///
    /// # Safety
    /// `sample` is below [`BATCH`], `quad` below 4, `half` below `HALVES`, `target` a block. In a cluster four lanes of each block call it for every `target`, with the same words for each, else it is enough to call it for `target` 0; all blocks have ended the mailbox's round before,
    /// and read what lies in the tile.
    #[expect(clippy::too_many_arguments, reason = "they say which words, and where to")]
    unsafe fn send_gradient<const HALVES: usize>(
        &self,
        tiles: &Tiles<HALVES>,
        sizes: &Sizes,
        round: Round,
        target: u32,
        sample: u32,
        quad: u32,
        half: usize,
        words: [u32; 2],
    );

    /// Waits until the gradients of all samples are in their tile; a barrier of the block must follow before other threads read them. All threads of the network's blocks call it.
    ///
    /// # Safety
    /// All blocks send them; what lay in the tile was read before a barrier.
    unsafe fn wait_for_gradients<const HALVES: usize>(&self, tiles: &Tiles<HALVES>, sizes: &Sizes, round: Round);
}

/// The blocks are a cluster: what is sent goes to the other block's shared memory.
#[derive(Clone, Copy)]
pub(super) struct Cluster {
    mailboxes: [Mailbox; 2],
}

impl Cluster {
    #[device_inline]
    fn mailbox(&self, number: u32) -> Mailbox {
        if number == 0 { self.mailboxes[0] } else { self.mailboxes[1] }
    }
}

impl Exchange for Cluster {
    const CLUSTER: bool = true;
    const PIXEL_BUFFERS: u32 = 2;
    const FINISHERS: u32 = 4 * BATCH;
    const SHARES: u32 = 1;

    #[device_inline]
    unsafe fn new<const HALVES: usize>(tiles: &Tiles<HALVES>, _: Mail) -> Self {
        Self { mailboxes: [tiles.mail(0), tiles.mail(1)] }
    }

    #[device_inline]
    fn network(blocks: u32) -> u32 {
        block_idx_x() / blocks
    }

    #[device_inline]
    fn rank() -> u32 {
        block_rank_in_cluster()
    }

    #[device_inline]
    unsafe fn open(&self) {
        if thread_idx_x() == 0 {
            self.mailboxes[0].open();
            self.mailboxes[1].open();
        }
    }

    #[device_inline]
    #[track_caller]
    unsafe fn sync(&self) {
        sync_cluster();
    }

    #[device_inline]
    fn expect(&self, mailbox: u32, bytes: u32) {
        self.mailbox(mailbox).expect(bytes);
    }

    #[device_inline]
    unsafe fn send_logits<const HALVES: usize>(
        &self,
        tiles: &Tiles<HALVES>,
        sizes: &Sizes,
        round: Round,
        sample: u32,
        class: u32,
        logits: [f32; 2],
    ) {
        let per_block = sizes.samples_per_block();
        let at = ((sizes.rank * per_block + (sample & (per_block - 1))) * CLASSES + class) / 2;
        let pair = logits[0].to_bits() as u64 | (logits[1].to_bits() as u64) << 32;
        // SAFETY: the sample is below BATCH, so its block is one of the cluster's, and the index is below blocks * samples * CLASSES / 2; that the block has ended the round before is the caller's to say.
        unsafe {
            self.mailbox(round.mailbox).send(tiles.logit_pairs(round.buffer), sample >> sizes.log_samples(), at, pair);
        };
    }

    #[device_inline]
    #[track_caller]
    unsafe fn wait_for_logits<const HALVES: usize>(&self, _: &Tiles<HALVES>, _: &Sizes, round: Round) {
        self.mailbox(round.mailbox).wait(round.number);
    }

    #[device_inline]
    unsafe fn send_gradient<const HALVES: usize>(
        &self,
        tiles: &Tiles<HALVES>,
        _: &Sizes,
        round: Round,
        target: u32,
        sample: u32,
        quad: u32,
        half: usize,
        words: [u32; 2],
    ) {
        // SAFETY: the pairs are those of a row of the tile; for target and round the caller vouches.
        unsafe {
            self.mailbox(round.mailbox).send(
                tiles.dz2_pairs(half),
                target,
                tile_word(sample, 0) / 2 + quad,
                words[0] as u64 | (words[1] as u64) << 32,
            );
        }
    }

    #[device_inline]
    #[track_caller]
    unsafe fn wait_for_gradients<const HALVES: usize>(&self, _: &Tiles<HALVES>, _: &Sizes, round: Round) {
        self.mailbox(round.mailbox).wait(round.number);
    }
}

/// The blocks are a cooperative launch: what is sent goes through global memory, each value with the number of its round.
#[derive(Clone, Copy)]
pub(super) struct Grid<const PIXEL_BUFFERS: u32> {
    mail: Mail,
}

/// Slots of the gradients of a buffer: `[half, quad of classes, sample]`.
const GRADIENT_SLOTS: u32 = 2 * (CLASSES / 4) * BATCH;
/// Slots of the partial logits that a block gets in a buffer: `[pair of classes, block and sample]`.
const LOGIT_SLOTS: u32 = CLASSES / 2 * BATCH;

/// Words of the mail of a cooperative launch: the gradients for all blocks in two buffers, then each block's partial logits in two buffers. None where the blocks are a cluster.
pub(super) const fn n_grid_words(blocks: u32) -> usize {
    if is_cluster(0, blocks) { 0 } else { SLOT_WORDS * 2 * (GRADIENT_SLOTS + blocks * LOGIT_SLOTS) as usize }
}

impl<const PIXEL_BUFFERS: u32> Grid<PIXEL_BUFFERS> {
    /// The slots of all blocks.
    #[device_inline]
    fn slots(&self) -> Numbered {
        // SAFETY: `new` has been told that the memory is there; only this module accesses it, which sets it to 0 before a barrier, and numbers rounds from 1.
        unsafe { Numbered::new(self.mail.words) }
    }

    /// Where a sample's gradients lie.
    #[device_inline]
    const fn gradient(buffer: u32, half: u32, quad: u32, sample: u32) -> usize {
        (buffer * GRADIENT_SLOTS + (half * (CLASSES / 4) + quad) * BATCH + sample) as usize
    }

    /// Where a block's `number`-th partial logits of a pair of classes lie.
    #[device_inline]
    const fn logits(block: u32, buffer: u32, pair: u32, number: u32) -> usize {
        (2 * GRADIENT_SLOTS + (block * 2 + buffer) * LOGIT_SLOTS + pair * BATCH + number) as usize
    }
}

impl<const PIXEL_BUFFERS: u32> Exchange for Grid<PIXEL_BUFFERS> {
    const CLUSTER: bool = false;
    const PIXEL_BUFFERS: u32 = PIXEL_BUFFERS;
    // Two samples of four lanes, four times, so that 32 blocks are added up eight at a time.
    const FINISHERS: u32 = 32;
    const SHARES: u32 = 4;

    #[device_inline]
    unsafe fn new<const HALVES: usize>(_: &Tiles<HALVES>, mail: Mail) -> Self {
        Self { mail }
    }

    #[device_inline]
    fn network(_: u32) -> u32 {
        0
    }

    #[device_inline]
    fn rank() -> u32 {
        block_idx_x()
    }

    #[device_inline]
    unsafe fn open(&self) {
        let first = block_idx_x() * THREADS + thread_idx_x();
        let n_words = SLOT_WORDS as u32 * 2 * (GRADIENT_SLOTS + grid_dim_x() * LOGIT_SLOTS);
        for pair in strided(first, n_words / 2, grid_dim_x() * THREADS) {
            // SAFETY: the words are those of the mail, an even number, each set by one thread.
            unsafe { memory::store_quad(self.mail.words.cast(), 4 * pair as usize, [0.0; 4]) };
        }
    }

    #[device_inline]
    #[track_caller]
    unsafe fn sync(&self) {
        // SAFETY: the launch is cooperative and all its threads call this, as `new` and the caller say.
        unsafe { sync_grid(self.mail.arrivals) };
    }

    #[device_inline]
    fn expect(&self, _: u32, _: u32) {}

    #[device_inline]
    unsafe fn send_logits<const HALVES: usize>(
        &self,
        _: &Tiles<HALVES>,
        sizes: &Sizes,
        round: Round,
        sample: u32,
        class: u32,
        logits: [f32; 2],
    ) {
        let per_block = sizes.samples_per_block();
        let number = sizes.rank * per_block + (sample & (per_block - 1));
        let slot = Self::logits(sample >> sizes.log_samples(), round.buffer, class / 2, number);
        // SAFETY: the sample is below BATCH, so its block is one of the launch's; what the slot held was read, as the caller says.
        unsafe { self.slots().send(slot, logits.map(f32::to_bits), round.number + 1) };
    }

    #[device_inline]
    #[track_caller]
    unsafe fn wait_for_logits<const HALVES: usize>(&self, tiles: &Tiles<HALVES>, sizes: &Sizes, round: Round) {
        Numbered::meet();
        let pairs = tiles.logit_pairs(round.buffer);
        for slot in strided(tiles.me.thread(), sizes.n_classes.div_ceil(2) * BATCH, THREADS) {
            let (pair, number) = (slot / BATCH, slot % BATCH);
            // SAFETY: every block sends the pairs of all classes that there are.
            let [low, high] =
                unsafe { self.slots().receive(Self::logits(sizes.rank, round.buffer, pair, number), round.number + 1) };
            pairs.set(number * (CLASSES / 2) + pair, low as u64 | (high as u64) << 32);
        }
        // Other threads sum them.
        sync_threads();
    }

    #[device_inline]
    unsafe fn send_gradient<const HALVES: usize>(
        &self,
        _: &Tiles<HALVES>,
        sizes: &Sizes,
        round: Round,
        target: u32,
        sample: u32,
        quad: u32,
        half: usize,
        words: [u32; 2],
    ) {
        // One for all blocks; classes that are not there stay 0 in the tile.
        if target == 0 && 4 * quad < sizes.n_classes {
            // SAFETY: the slot is the sample's; what it held was read, as the caller says.
            unsafe {
                self.slots().send(Self::gradient(round.buffer, half as u32, quad, sample), words, round.number + 1);
            }
        }
    }

    #[device_inline]
    #[track_caller]
    unsafe fn wait_for_gradients<const HALVES: usize>(&self, tiles: &Tiles<HALVES>, sizes: &Sizes, round: Round) {
        Numbered::meet();
        let of_half = sizes.n_classes.div_ceil(4) * BATCH;
        unroll!(HALF in [0, 1] {
            if HALF < HALVES {
                let pairs = tiles.dz2_pairs(HALF);
                for slot in strided(tiles.me.thread(), of_half, THREADS) {
                    let (quad, sample) = (slot / BATCH, slot % BATCH);
                    // SAFETY: the samples' owners send the quads of all classes that there are.
                    let [low, high] = unsafe {
                        self.slots().receive(Self::gradient(round.buffer, HALF as u32, quad, sample), round.number + 1)
                    };
                    pairs.set(tile_word(sample, 0) / 2 + quad, low as u64 | (high as u64) << 32);
                }
            }
        });
    }
}
