//! Values sent through global memory whose lowest bit says the round, between blocks that run at the same time (a cooperative launch).
//!
//! A slot is 16 bytes: two pairs of words, each stored and loaded in one piece of 8 bytes. The lowest bit of a pair's first word is another in each round that uses the slot, so who reads it has the pair too, without a fence or
//! a counter: the reader loads until both bits are right. So a value loses its last bit, which for a sum in single precision is 2⁻²³ of it, where [`Numbered`](super::numbered::Numbered) takes as many bytes again as the values.
//! Slots are 0 before the first round, which has bit 1. A reader may not be two rounds of a slot behind.
//!
//! Under `simt` the stores are plain ones, [`Numbered::meet`](super::numbered::Numbered::meet) is a barrier of the grid, and a bit that is not right behind it is a fault.
//!
//! ```
//! use warpplay_gpu::cuda::marked::Marked;
//! use warpplay_gpu::cuda::numbered::Numbered;
//! use warpplay_gpu::cuda::{kernel, memory, thread};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Each block, of one thread, sends eight slots to the next, and writes the sum of what it gets.
//! ///
//! /// # Safety
//! /// The launch is cooperative; `slots` has eight for each block, 0 before it, and `found` a word.
//! #[kernel]
//! pub unsafe fn pass_on(slots: *mut u64, found: *mut u32) {
//!     let (own, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
//!     // SAFETY: eight slots and a word for each block, written by one of them; all blocks run at the same time, and this round is the only one.
//!     unsafe {
//!         let slots = Marked::new(slots);
//!         for slot in 0..8 {
//!             slots.send((own + 1) % blocks * 8 + slot, [[2, 1], [4, own as u32]], 1);
//!         }
//!         Numbered::meet();
//!         let sum = slots.receive_eight(own * 8, [0, 1, 2, 3, 4, 5, 6, 7], 1).iter().flatten().flatten().sum();
//!         memory::store(found, own, sum);
//!     }
//! }
//!
//! let (mut slots, mut found) = ([0u64; 3 * 8 * 2], [0u32; 3]);
//! let _slots = register(slots.as_mut_ptr() as usize, size_of_val(&slots));
//! let _found = register(found.as_mut_ptr() as usize, size_of_val(&found));
//! let params = (slots.as_mut_ptr(), found.as_mut_ptr());
//! // SAFETY: three blocks of a cooperative launch, eight slots and a word each.
//! unsafe { simt::launch(pass_on, LaunchShape::new(3, 1).cooperative(), params, &simt::Options::default()) }.expect("no rule is broken");
//! // The lowest bit of the first word of each pair is lost.
//! assert_eq!(found, [2 + 1 + 4 + 2, 2 + 1 + 4, 2 + 1 + 4 + 1].map(|slot| 8 * slot));
//! ```

use crate::unroll::unroll;

/// An array of slots in global memory, of [`SLOT_WORDS`](super::numbered::SLOT_WORDS) words of 8 bytes each.
#[derive(Clone, Copy)]
pub struct Marked {
    slots: *mut u64,
}

impl Marked {
    /// Makes the array at `slots`.
    ///
    /// # Safety
    /// The array is valid global memory, aligned to 16 bytes; nobody accesses it otherwise, but to set all of it to 0 before a barrier.
    #[device_inline]
    pub const unsafe fn new(slots: *mut u64) -> Self {
        Self { slots }
    }

    /// Writes two pairs of words into a slot, the lowest bit of each pair's first word being `bit`, 0 or 1.
    ///
    /// # Safety
    /// The slot is there, no other thread writes it in this round, the round before had the other bit, and whoever waits for that has ended its wait.
    #[device_inline]
    #[track_caller]
    pub unsafe fn send(self, slot: usize, pairs: [[u32; 2]; 2], bit: u32) {
        let word = |[first, second]: [u32; 2]| u64::from(first & !1 | bit) | u64::from(second) << 32;
        // SAFETY: the slot is there, as the caller says; each pair is stored in one piece.
        unsafe {
            let at = self.slots.add(super::numbered::SLOT_WORDS * slot);
            #[cfg(target_arch = "nvptx64")]
            core::arch::asm!("st.relaxed.gpu.global.v2.b64 [{0}], {{{1}, {2}}};", in(reg64) at, in(reg64) word(pairs[0]), in(reg64) word(pairs[1]), options(nostack, preserves_flags));
            #[cfg(not(target_arch = "nvptx64"))]
            for (half, pair) in pairs.into_iter().enumerate() {
                super::memory::store(at, half, word(pair));
            }
        }
    }

    /// Waits for the values of a round with this bit in eight slots, `first` and what `offsets` say behind it, which are asked for together. The bit that is returned is 0, so that a value of 0 stays 0.
    ///
    /// # Safety
    /// The slots are there, and threads of blocks that run send their values of this round. Under `simt`, all threads of the grid have met since.
    #[device_inline]
    #[track_caller]
    pub unsafe fn receive_eight(self, first: usize, offsets: [usize; 8], bit: u32) -> [[[u32; 2]; 2]; 8] {
        #[cfg(target_arch = "nvptx64")]
        loop {
            let (mut found, mut wrong) = ([[[0u32; 2]; 2]; 8], 0);
            unroll!(AT in [0, 1, 2, 3, 4, 5, 6, 7] {
                // SAFETY: the slots are there, as the caller says; loaded anew each time, since the assembly is not `pure`.
                unsafe {
                    let at = self.slots.add(super::numbered::SLOT_WORDS * (first + offsets[AT]));
                    let (low, high): (u64, u64);
                    core::arch::asm!("ld.relaxed.gpu.global.v2.b64 {{{0}, {1}}}, [{2}];", out(reg64) low, out(reg64) high, in(reg64) at, options(nostack, preserves_flags));
                    wrong |= (low as u32 ^ bit) | (high as u32 ^ bit);
                    found[AT] = [low, high].map(|pair| [pair as u32, (pair >> 32) as u32]);
                }
            });
            if wrong & 1 == 0 {
                unroll!(AT in [0, 1, 2, 3, 4, 5, 6, 7] {
                    found[AT][0][0] &= !1;
                    found[AT][1][0] &= !1;
                });
                return found;
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let mut found = [[[0u32; 2]; 2]; 8];
            unroll!(AT in [0, 1, 2, 3, 4, 5, 6, 7] {
                // SAFETY: as above.
                let pairs = unsafe {
                    let at = self.slots.add(super::numbered::SLOT_WORDS * (first + offsets[AT]));
                    [super::memory::load(at, 0), super::memory::load(at, 1)]
                };
                assert!(pairs.iter().all(|pair: &u64| pair & 1 == u64::from(bit)), "slot {} has not bit {bit}", first + offsets[AT]);
                found[AT] = pairs.map(|pair| [pair as u32 & !1, (pair >> 32) as u32]);
            });
            found
        }
    }
}
