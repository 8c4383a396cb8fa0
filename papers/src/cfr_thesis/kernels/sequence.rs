//! Sequences, ends and deals as the kernels see them, and everything that one phase works on.

use warpplay_gpu::cfr::beats::MAX_PLAYERS;
use warpplay_gpu::cfr::regret::{self, Real};
use warpplay_gpu::cuda::DeviceArgs;
use warpplay_gpu::cuda::memory::{self, Vec4};

/// Actions of a limit game: fold, call, raise.
pub const ACTIONS: usize = 3;

/// What an action leads to: a sequence by its number, an end by its number with [`child::END`], or nothing.
pub mod child {
    /// Set where the number is that of an end.
    pub const END: u32 = 1 << 31;
    /// The action is not allowed.
    pub const NONE: u32 = u32::MAX;
}

/// A node of the betting tree where somebody acts.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Sequence {
    /// What fold, call and raise lead to; see [`child`].
    pub children: [u32; ACTIONS],
    /// Who acts.
    pub seat: u32,
}

/// A node of the betting tree where the hand is over.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct End {
    /// Chips in the pot.
    pub pot: f32,
    /// Seats that have not folded: bit `seat`.
    pub eligible: u32,
}

/// One deal of the cards.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Deal {
    /// Bucket of each seat.
    pub buckets: [u32; MAX_PLAYERS],
    /// Who beats whom; see [`beats`](warpplay_gpu::cfr::beats).
    pub beats: [u32; MAX_PLAYERS],
}

const _: () = assert!(size_of::<Sequence>() == 16 && size_of::<End>() == 8 && size_of::<Deal>() == 8 * MAX_PLAYERS);

impl Deal {
    /// Bucket of a seat. Every index is known to the compiler, so that a deal among a kernel's parameters stays where it is.
    #[inline(always)]
    pub fn bucket(&self, seat: u32) -> u32 {
        let (mut bucket, mut other) = (self.buckets[0], 1);
        while other < MAX_PLAYERS {
            if seat == other as u32 {
                bucket = self.buckets[other];
            }
            other += 1;
        }
        bucket
    }

    /// Word of a seat, likewise.
    #[inline(always)]
    pub fn beats(&self, seat: u32) -> u32 {
        let (mut word, mut other) = (self.beats[0], 1);
        while other < MAX_PLAYERS {
            if seat == other as u32 {
                word = self.beats[other];
            }
            other += 1;
        }
        word
    }
}

/// Which of the ways to do a phase are taken; bits of [`Phase::ways`].
pub mod way {
    /// The deal is among the kernel's parameters, which lie in constant memory; else it is read from global memory.
    pub const CONSTANT: u32 = 1;
    /// A list tells the sequences of a level; else they have consecutive numbers.
    pub const LISTED: u32 = 2;
    /// The list is read through the path of read-only data (`ld.global.nc`): the texture cache that the paper's texture was read through.
    pub const READ_ONLY: u32 = 4;
}

/// Reads element `index` of an array of words that no thread of the launch writes.
///
/// # Safety
/// As [`memory::load`], and nobody writes the array until the launch ends.
#[inline(always)]
#[track_caller]
unsafe fn load_read_only(base: *const u32, index: usize) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let value: u32;
        // SAFETY: the caller vouches for the element.
        unsafe {
            core::arch::asm!("ld.global.nc.b32 {0}, [{1}];", out(reg32) value, in(reg64) base.add(index), options(nostack, preserves_flags, readonly))
        };
        value
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller vouches for the element.
    unsafe {
        memory::load(base, index)
    }
}

/// What a phase works on. `T` is `f32` or `f64`.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Buckets of a sequence.
    n_buckets: u32,
    /// Deals on the device.
    n_deals: u32
)]
#[require(n_players as usize <= MAX_PLAYERS && first.saturating_add(n) <= n_sequences)]
pub struct Phase<T> {
    /// All sequences, `[n_sequences]`.
    #[len(n_sequences)]
    pub sequences: *const Sequence,
    /// All ends.
    #[len(n_ends)]
    pub ends: *const End,
    /// Chips that each seat has put in at each end, `[n_players][n_ends]`.
    #[len(n_players * n_ends)]
    pub stakes: *const T,
    /// Cumulative regrets: action `a` of bucket `b` at sequence `s` at `s · sequence_stride + b · bucket_stride + a`.
    #[len(n_sequences * n_buckets * ACTIONS)]
    pub regrets: *mut T,
    /// Sums of strategies, likewise.
    #[len(n_sequences * n_buckets * ACTIONS)]
    pub averages: *mut T,
    /// Strategies of this deal, `[n_sequences][ACTIONS]`.
    #[len(n_sequences * ACTIONS)]
    pub strategies: *mut T,
    /// Each seat's own reach of each sequence, `[n_players][n_sequences]`; 1 at the root.
    #[len(n_players * n_sequences)]
    pub reaches: *mut T,
    /// Each seat's utility of each sequence, `[n_players][n_sequences]`.
    #[len(n_players * n_sequences)]
    pub utilities: *mut T,
    /// Sum of the root's utilities over all iterations, `[n_players]`.
    #[len(n_players)]
    pub sums: *mut f64,
    /// The paper's sequencesPerLevel: numbers of sequences, level by level, or of this level alone; read with [`way::LISTED`].
    #[len(if ways & way::LISTED == 0 { 0 } else { first + n })]
    pub order: *const u32,
    /// Deals of the iterations to come.
    #[len(n_deals)]
    pub deals: *const Deal,
    /// Which of them is next.
    #[len(1)]
    pub next: *mut u32,
    /// See [`regrets`](Self::regrets).
    pub sequence_stride: u64,
    /// See [`regrets`](Self::regrets).
    pub bucket_stride: u64,
    /// Sequences in all.
    pub n_sequences: u32,
    /// Ends in all.
    pub n_ends: u32,
    /// Seats.
    pub n_players: u32,
    /// First sequence of the level: its number, or its index in `order`, as [`way::LISTED`] says.
    pub first: u32,
    /// Sequences of the level.
    pub n: u32,
    /// Bits of [`way`].
    pub ways: u32,
    /// The deal, with [`way::CONSTANT`].
    pub deal: Deal,
}

const _: () = assert!(size_of::<Phase<f32>>() == 14 * 8 + 6 * 4 + size_of::<Deal>());

impl<T: Real> Phase<T> {
    /// Whether a way is taken.
    #[inline(always)]
    pub fn is(&self, way: u32) -> bool {
        self.ways & way != 0
    }

    /// Number of the level's sequence at `index`.
    ///
    /// # Safety
    /// `index < n`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn sequence_at(&self, index: u32) -> u32 {
        let at = self.first + index;
        // SAFETY: the caller's promise; no kernel writes the list.
        unsafe {
            match (self.is(way::LISTED), self.is(way::READ_ONLY)) {
                (false, _) => at,
                (true, false) => memory::load(self.order, at as usize),
                (true, true) => load_read_only(self.order, at as usize),
            }
        }
    }

    /// A sequence, by one load.
    ///
    /// # Safety
    /// `sequence < n_sequences`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn sequence(&self, sequence: u32) -> Sequence {
        // SAFETY: the caller's promise; a sequence is 16 aligned bytes.
        let [fold, call, raise, seat] =
            unsafe { memory::load_vec4(self.sequences.add(sequence as usize).cast::<Vec4>()) }.0;
        Sequence { children: [fold, call, raise], seat }
    }

    /// This iteration's deal in global memory.
    ///
    /// # Safety
    /// `deals` has an entry for the iteration that `next` counts.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn deal_at(&self) -> *const Deal {
        // SAFETY: the caller's promise.
        unsafe { self.deals.add(memory::load(self.next, 0) as usize) }
    }

    /// Bucket of a seat in this iteration's deal.
    ///
    /// # Safety
    /// As [`deal_at`](Self::deal_at), and `seat` is one.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn bucket(&self, seat: u32) -> u32 {
        if self.is(way::CONSTANT) {
            return self.deal.bucket(seat);
        }
        // SAFETY: the caller's promise; buckets stand first in a deal.
        unsafe { memory::load(self.deal_at().cast::<u32>(), seat as usize) }
    }

    /// Word of a seat in this iteration's deal.
    ///
    /// # Safety
    /// As [`bucket`](Self::bucket).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn beats(&self, seat: u32) -> u32 {
        if self.is(way::CONSTANT) {
            return self.deal.beats(seat);
        }
        // SAFETY: the caller's promise; words stand behind the buckets.
        unsafe { memory::load(self.deal_at().cast::<u32>(), MAX_PLAYERS + seat as usize) }
    }

    /// Offset of the first action of a set in both tables.
    #[inline(always)]
    pub fn row(&self, sequence: u32, bucket: u32) -> usize {
        (sequence as u64 * self.sequence_stride + bucket as u64 * self.bucket_stride) as usize
    }

    /// Offset of a seat and sequence in `reaches` and `utilities`.
    #[inline(always)]
    pub fn offset(&self, seat: u32, sequence: u32) -> usize {
        seat as usize * self.n_sequences as usize + sequence as usize
    }
}

/// Strategy matched from the regrets of a set; 0 for actions that are not allowed.
#[inline(always)]
pub fn matched<T: Real>(regrets: [T; ACTIONS], children: [u32; ACTIONS]) -> [T; ACTIONS] {
    let (mut n, mut sum, mut action) = (0, T::ZERO, 0);
    while action < ACTIONS {
        if children[action] != child::NONE {
            sum += regrets[action].positive();
            n += 1;
        }
        action += 1;
    }
    let mut strategy = [T::ZERO; ACTIONS];
    action = 0;
    while action < ACTIONS {
        if children[action] != child::NONE {
            strategy[action] = regret::probability(regrets[action].positive(), sum, n);
        }
        action += 1;
    }
    strategy
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn strategies_are_of_the_allowed_actions() {
        assert_eq!(matched([0.0, 0.0, 0.0], [child::NONE, 1, 2]), [0.0, 0.5, 0.5]);
        assert_eq!(matched([9.0, 3.0, 1.0], [child::NONE, 1, 2]), [0.0, 0.75, 0.25]);
        assert_eq!(matched([2.0f64, -1.0, 2.0], [child::END, child::END | 1, 7]), [0.5, 0.0, 0.5]);
    }

    #[test]
    fn a_deal_is_read_by_seat() {
        let mut deal = Deal::default();
        for seat in 0..MAX_PLAYERS {
            deal.buckets[seat] = 10 + seat as u32;
            deal.beats[seat] = 90 + seat as u32;
        }
        for seat in 0..MAX_PLAYERS as u32 {
            assert_eq!((deal.bucket(seat), deal.beats(seat)), (10 + seat, 90 + seat));
        }
    }
}
