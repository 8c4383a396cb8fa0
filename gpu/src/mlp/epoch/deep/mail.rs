//! What the blocks send each other: where each value lies.

use crate::cuda::marked::Marked;
use crate::cuda::memory;
use crate::cuda::numbered::{Numbered, SLOT_WORDS};
use crate::cuda::sync::sync_grid;
use crate::cuda::thread::{block_idx_x, strided, thread_idx_x};

use super::super::exchange::Mail;
use super::super::{BATCH, HIDDEN, THREADS};
use super::{PAIRS, SECOND_THREADS};

/// Slots of the sums of z2 of one buffer: for each block that looks after samples, from each block, 256 quads of units of a sample: [`Post::quad`].
const fn n_sums(blocks: u32) -> u32 {
    blocks * blocks * SECOND_THREADS
}

/// Slots of dz2, a quad of units of a sample each: `[tile of 16 units, BATCH, 4]`.
const fn n_gradients(blocks: u32) -> u32 {
    BATCH * blocks * HIDDEN / 4
}

/// Slots of h2 and dz2 in single precision, `[block, BATCH, HIDDEN]`.
const fn n_values(blocks: u32) -> u32 {
    BATCH * blocks * HIDDEN
}

/// Slots of dz3, pairs of classes: `[BATCH, PAIRS]`.
const N_CLASSES: u32 = BATCH * PAIRS;

/// Slots of the output layer: pairs of classes of `W3` `[unit, PAIRS]`, pairs of units of `b2`, pairs of classes of `b3`.
const fn n_output(blocks: u32) -> u32 {
    blocks * HIDDEN * PAIRS + blocks * HIDDEN / 2 + PAIRS
}

/// All slots, the sums in two buffers.
const fn n_slots(blocks: u32) -> u32 {
    2 * n_sums(blocks) + n_gradients(blocks) + n_values(blocks) + N_CLASSES + n_output(blocks)
}

/// Words of 8 bytes of a launch's mail: all slots, and a word of 4 bytes for each unit of the second layer.
pub(in super::super) const fn n_mail_words(blocks: u32) -> usize {
    SLOT_WORDS * n_slots(blocks) as usize + (blocks * HIDDEN / 2) as usize
}

/// The mail of a launch.
///
/// What is sent is overwritten a part or two later, when all have read it. Who sends sums has got the gradients of the part before, which each block sends when it has read the sums of that part. Gradients, values and classes are sent
/// by a block that has the sums of this part of all blocks, which they send when they have read those of the part before. And the output layer's weights are sent by a block that has the gradients of classes from all blocks, which
/// they send when they have read the weights. In each case a barrier of the block lies between its threads' reading and what it sends. Classification sends sums alone, in two buffers: who sends those of a batch
/// has those of the batch before from all blocks, which have read the ones before these.
///
/// Sums, and gradients of two halves, have a bit of their round and no number: they are the most, and a number beside each would take as much time again.
#[derive(Clone, Copy)]
pub(super) struct Post {
    mail: Mail,
    /// Blocks of the launch.
    blocks: u32,
    /// The number of this block.
    rank: u32,
}

/// The bit of the gradients of a round, which have one buffer.
pub(super) const fn bit_of_gradients(round: u32) -> u32 {
    round & 1
}

/// Buffer and bit of the sums of a round, from 1.
pub(super) const fn mark_of_sums(round: u32) -> (u32, u32) {
    (round & 1, ((round - 1) / 2 + 1) & 1)
}

impl Post {
    /// That of this block.
    ///
    /// # Safety
    /// `mail` has [`n_mail_words`] of this many blocks, aligned to 16 bytes, and a counter of barriers.
    #[device_inline]
    pub unsafe fn new(mail: Mail, blocks: u32) -> Self {
        Self { mail, blocks, rank: block_idx_x() }
    }

    /// The slots.
    #[device_inline]
    pub fn slots(&self) -> Numbered {
        // SAFETY: `new` has been told that the memory is there; only this module names slots, `open` sets them to 0 before a barrier, and rounds are numbered from 1.
        unsafe { Numbered::new(self.mail.words) }
    }

    /// The same, whose values have a bit of their round.
    #[device_inline]
    pub fn marked(&self) -> Marked {
        // SAFETY: as above; a slot is accessed in one of the two ways.
        unsafe { Marked::new(self.mail.words) }
    }

    /// Sets all of it to 0; a barrier of all blocks must follow.
    ///
    /// # Safety
    /// All threads call it, and nothing is on its way.
    #[device_inline]
    pub unsafe fn open(&self) {
        let first = block_idx_x() * THREADS + thread_idx_x();
        for pair in strided(first, n_mail_words(self.blocks) as u32 / 2, self.blocks * THREADS) {
            // SAFETY: the words are those of the mail, an even number, each set by one thread.
            unsafe { memory::store_quad(self.mail.words.cast(), 4 * pair as usize, [0.0; 4]) };
        }
    }

    /// Waits for all threads of all blocks, and orders their accesses to global memory.
    ///
    /// # Safety
    /// All threads call it.
    #[device_inline]
    #[track_caller]
    pub unsafe fn sync(&self) {
        // SAFETY: the launch is cooperative and all its threads call this, as `new` and the caller say.
        unsafe { sync_grid(self.mail.arrivals) };
    }

    /// The largest scaled weight into each unit of the second layer, as bits: `[units]`.
    #[device_inline]
    pub fn largest(&self) -> *mut u32 {
        self.mail.words.wrapping_add(SLOT_WORDS * n_slots(self.blocks) as usize).cast()
    }

    /// Number of a quad of units of a sample among those of a block that looks after `1 << log_samples` samples: `[tile, sample, quad]`. Quad `t` of a tile has its units 2t, 2t + 1, 2t + 8 and 2t + 9.
    #[device_inline]
    pub const fn quad(log_samples: u32, tile: u32, sample: u32, t: u32) -> u32 {
        ((tile << log_samples) + sample) * 4 + t
    }

    /// Where the sums for quad `quad` of block `to` lie that come from block `from`.
    #[device_inline]
    fn sums(&self, buffer: u32, to: u32, from: u32, quad: u32) -> usize {
        (buffer * n_sums(self.blocks) + (to * self.blocks + from) * SECOND_THREADS + quad) as usize
    }

    /// Where this block's sums of a quad of units and a sample go.
    #[device_inline]
    pub fn sums_to(&self, buffer: u32, sample: u32, tile: u32, t: u32) -> usize {
        let log_samples = BATCH.trailing_zeros() - self.blocks.trailing_zeros();
        let own = sample & ((1 << log_samples) - 1);
        self.sums(buffer, sample >> log_samples, self.rank, Self::quad(log_samples, tile, own, t))
    }

    /// Where the sums for a quad of this block lie.
    #[device_inline]
    pub fn sums_from(&self, buffer: u32, block: u32, quad: u32) -> usize {
        self.sums(buffer, self.rank, block, quad)
    }

    /// Where dz2 of a quad of units lies.
    #[device_inline]
    pub fn gradient(&self, tile: u32, sample: u32, t: u32) -> usize {
        (2 * n_sums(self.blocks) + (tile * BATCH + sample) * 4 + t) as usize
    }

    /// Where h2 and dz2 of a unit lie.
    #[device_inline]
    pub fn value(&self, unit: u32, sample: u32) -> usize {
        let before = 2 * n_sums(self.blocks) + n_gradients(self.blocks);
        (before + (unit / HIDDEN * BATCH + sample) * HIDDEN + unit % HIDDEN) as usize
    }

    /// Where dz3 of a pair of classes lies.
    #[device_inline]
    pub fn class_gradient(&self, sample: u32, pair: u32) -> usize {
        let before = 2 * n_sums(self.blocks) + n_gradients(self.blocks) + n_values(self.blocks);
        (before + sample * PAIRS + pair) as usize
    }

    /// Where `W3` of a unit and a pair of classes lies.
    #[device_inline]
    pub fn output(&self, unit: u32, pair: u32) -> usize {
        let before = 2 * n_sums(self.blocks) + n_gradients(self.blocks) + n_values(self.blocks) + N_CLASSES;
        (before + unit * PAIRS + pair) as usize
    }

    /// Where `b2` of a pair of units lies.
    #[device_inline]
    pub fn second_bias(&self, pair: u32) -> usize {
        self.output(self.blocks * HIDDEN, 0) + pair as usize
    }

    /// Where `b3` of a pair of classes lies.
    #[device_inline]
    pub fn third_bias(&self, pair: u32) -> usize {
        self.second_bias(self.blocks * HIDDEN / 2) + pair as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bit_of_a_slot_is_another_in_each_round_and_first_1() {
        let (mut sums, mut gradients) = ([0; 2], 0);
        for round in 1..100 {
            let (buffer, bit) = mark_of_sums(round);
            assert!(bit == 1 - sums[buffer as usize] && bit <= 1, "round {round}");
            sums[buffer as usize] = bit;
            assert_eq!(bit_of_gradients(round), 1 - gradients, "round {round}");
            gradients = bit_of_gradients(round);
        }
        assert_ne!(mark_of_sums(1).0, mark_of_sums(2).0);
    }
}
