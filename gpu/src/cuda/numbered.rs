//! Values sent through global memory with the number of their round beside them, between blocks that run at the same time (a cooperative launch).
//!
//! A slot is 16 bytes: two words, each with the round behind it in the same 8 bytes, which are stored and loaded in one piece. So who reads the number has the word too, without a fence or a
//! counter: the reader loads until both numbers are there. Nothing else is ordered by it. It takes half of the bytes, which for a few kilobytes is little beside the latency of a barrier.
//!
//! Under `simt` the stores are plain ones, [`Numbered::meet`] is a barrier of the grid, and a number that is not there behind it is a fault.
//!
//! ```
//! use warpplay_gpu::cuda::numbered::{Numbered, SLOT_WORDS};
//! use warpplay_gpu::cuda::{kernel, memory, thread};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Each block, of one thread, sends its number to the next, and writes what it gets.
//! ///
//! /// # Safety
//! /// The launch is cooperative; `slots` has a slot for each block, 0 before it, and `found` a word.
//! #[kernel]
//! pub unsafe fn pass_on(slots: *mut u64, found: *mut u32) {
//!     let (own, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
//!     // SAFETY: a slot and a word for each block, written by one of them; all blocks run at the same time, and round 1 is the only one.
//!     unsafe {
//!         let slots = Numbered::new(slots);
//!         slots.send((own + 1) % blocks, [own as u32, 7], 1);
//!         Numbered::meet();
//!         let [before, _] = slots.receive(own, 1);
//!         memory::store(found, own, before);
//!     }
//! }
//!
//! let (mut slots, mut found) = ([0u64; 3 * SLOT_WORDS], [0u32; 3]);
//! let _slots = register(slots.as_mut_ptr() as usize, size_of_val(&slots));
//! let _found = register(found.as_mut_ptr() as usize, size_of_val(&found));
//! let params = (slots.as_mut_ptr(), found.as_mut_ptr());
//! // SAFETY: three blocks of a cooperative launch, a slot and a word each.
//! unsafe { simt::launch(pass_on, LaunchShape::new(3, 1).cooperative(), params, &simt::Options::default()) }.expect("no rule is broken");
//! assert_eq!(found, [2, 0, 1]);
//! ```

use crate::unroll::unroll;

/// An array of slots in global memory.
#[derive(Clone, Copy)]
pub struct Numbered {
    /// Two words of 8 bytes for each slot: a value, and the round in the upper half.
    slots: *mut u64,
}

/// Words of 8 bytes that a slot has.
pub const SLOT_WORDS: usize = 2;

impl Numbered {
    /// Makes the array at `slots`.
    ///
    /// # Safety
    /// The array is valid global memory, aligned to 16 bytes; nobody accesses it otherwise, but to set all of it to 0 before a barrier. The round 0 is never waited for.
    #[device_inline]
    pub const unsafe fn new(slots: *mut u64) -> Self {
        Self { slots }
    }

    /// Writes the values of round `round` into a slot.
    ///
    /// # Safety
    /// The slot is there, no other thread writes it in this round, and whoever waits for the round before has ended its wait.
    #[device_inline]
    #[track_caller]
    pub unsafe fn send(self, slot: usize, values: [u32; 2], round: u32) {
        let word = |value: u32| u64::from(value) | u64::from(round) << 32;
        // SAFETY: the slot is there, as the caller says; each half is stored in one piece.
        unsafe {
            let at = self.slots.add(SLOT_WORDS * slot);
            #[cfg(target_arch = "nvptx64")]
            core::arch::asm!("st.relaxed.gpu.global.v2.b64 [{0}], {{{1}, {2}}};", in(reg64) at, in(reg64) word(values[0]), in(reg64) word(values[1]), options(nostack, preserves_flags));
            #[cfg(not(target_arch = "nvptx64"))]
            for (half, value) in values.into_iter().enumerate() {
                super::memory::store(at, half, word(value));
            }
        }
    }

    /// The words of 8 bytes of a slot as they are now.
    ///
    /// # Safety
    /// The slot is there.
    #[device_inline]
    #[track_caller]
    unsafe fn look(self, slot: usize) -> [u64; 2] {
        // SAFETY: the slot is there, as the caller says; each half is loaded in one piece, and anew each time, since the assembly is not `pure`.
        unsafe {
            let at = self.slots.add(SLOT_WORDS * slot);
            #[cfg(target_arch = "nvptx64")]
            {
                let (first, second);
                core::arch::asm!("ld.relaxed.gpu.global.v2.b64 {{{0}, {1}}}, [{2}];", out(reg64) first, out(reg64) second, in(reg64) at, options(nostack, preserves_flags));
                [first, second]
            }
            #[cfg(not(target_arch = "nvptx64"))]
            [super::memory::load(at, 0), super::memory::load(at, 1)]
        }
    }

    /// Waits for the values of round `round` in a slot.
    ///
    /// # Safety
    /// The slot is there, and a thread of a block that runs sends its values of this round. Under `simt`, all threads of the grid have met since.
    #[device_inline]
    #[track_caller]
    pub unsafe fn receive(self, slot: usize, round: u32) -> [u32; 2] {
        let is_there = |words: [u64; 2]| (words[0] >> 32) as u32 == round && (words[1] >> 32) as u32 == round;
        #[cfg(target_arch = "nvptx64")]
        loop {
            // SAFETY: the slot is there, as the caller says.
            let words = unsafe { self.look(slot) };
            if is_there(words) {
                return words.map(|word| word as u32);
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            // SAFETY: as above.
            let words = unsafe { self.look(slot) };
            assert!(is_there(words), "slot {slot} has another round than {round}");
            words.map(|word| word as u32)
        }
    }

    /// The same for eight slots, `first` and what `offsets` say behind it, which are asked for together.
    ///
    /// # Safety
    /// As [`receive`](Self::receive), for each slot.
    #[device_inline]
    #[track_caller]
    pub unsafe fn receive_eight(self, first: usize, offsets: [usize; 8], round: u32) -> [[u32; 2]; 8] {
        #[cfg(target_arch = "nvptx64")]
        loop {
            let (mut found, mut missing) = ([[0u32; 2]; 8], 0);
            unroll!(AT in [0, 1, 2, 3, 4, 5, 6, 7] {
                // SAFETY: the slots are there, as the caller says.
                let [low, high] = unsafe { self.look(first + offsets[AT]) };
                found[AT] = [low as u32, high as u32];
                missing |= ((low >> 32) as u32 ^ round) | ((high >> 32) as u32 ^ round);
            });
            if missing == 0 {
                return found;
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let mut found = [[0u32; 2]; 8];
            unroll!(AT in [0, 1, 2, 3, 4, 5, 6, 7] {
                // SAFETY: as above.
                found[AT] = unsafe { self.receive(first + offsets[AT], round) };
            });
            found
        }
    }

    /// What stands for the senders' progress under `simt`: a barrier of the grid, which all of its threads call between sending and receiving. On a GPU it does nothing.
    #[device_inline]
    #[track_caller]
    pub fn meet() {
        #[cfg(not(target_arch = "nvptx64"))]
        crate::simt::hooks::sync_grid();
    }
}
