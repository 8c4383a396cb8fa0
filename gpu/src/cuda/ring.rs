//! A ring of slots in shared memory that one warp fills from global memory while others work on what is there (`sm_90` on).
//!
//! A stage is a piece of global memory that one instruction copies (a bulk copy). A slot has two barrier objects: *full* counts the bytes that arrive, *empty* the
//! groups of threads that are done with it.
//!
//! ```text
//! one thread            fill(stage) for every stage, in order
//! the others            wait(stage), use the slot, release(stage) once a group
//! ```
//!
//! Under `simt` the threads that fill and those that use walk in step: a stage is a barrier of the block, so every thread of the block must go through all
//! stages, either filling or using, and a ring has two slots at least.

use super::memory::Vec4;
use super::shared::Shared;

/// The block's barrier under `simt`, with the same source location for all callers; does nothing on the device.
#[device_inline]
pub fn sync_simt() {
    #[cfg(not(target_arch = "nvptx64"))]
    crate::simt::hooks::sync_threads();
}

/// A ring of slots in shared memory.
#[derive(Clone, Copy)]
pub struct Ring {
    slots: Shared<Vec4>,
    full: Shared<u64>,
    empty: Shared<u64>,
    n_slots: u32,
    stage_vectors: u32,
}

impl Ring {
    /// Makes a ring of `n_slots` slots of `stage_vectors` vectors each; `objects` holds two words per slot.
    #[device_inline]
    pub fn new(slots: Shared<Vec4>, objects: Shared<u64>, n_slots: u32, stage_vectors: u32) -> Self {
        // SAFETY: part of `objects`, whose length the caller vouches for with every use of an object below.
        let part = |first| unsafe { Shared::from_address(objects.base() + 8 * first, n_slots) };
        Self { slots, full: part(0), empty: part(n_slots), n_slots, stage_vectors }
    }

    /// Initialises the objects; `groups` groups of threads release every stage. One thread of the block calls it, before a barrier.
    #[device_inline]
    pub fn open(self, groups: u32) {
        let mut slot = 0;
        while slot < self.n_slots {
            #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
            // SAFETY: words of shared memory (bounds checked) that have no other use.
            unsafe {
                core::arch::asm!("mbarrier.init.shared::cta.b64 [{0}], 1; mbarrier.init.shared::cta.b64 [{1}], {2};",
                    in(reg32) self.full.address_of(slot), in(reg32) self.empty.address_of(slot), in(reg32) groups, options(nostack, preserves_flags))
            };
            #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
            super::trap();
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = groups;
                self.full.set(slot, 0);
                self.empty.set(slot, 0);
            }
            slot += 1;
        }
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        // SAFETY: a fence touches no memory.
        unsafe {
            core::arch::asm!("fence.mbarrier_init.release.cluster;", options(nostack, preserves_flags))
        };
    }

    /// Slot and round of a stage, counted from 0 for the whole launch.
    #[device_inline]
    fn slot_and_round(self, stage: u32) -> (u32, u32) {
        (stage % self.n_slots, stage / self.n_slots)
    }

    /// Shared address of a stage's slot.
    #[device_inline]
    pub fn address_of(self, stage: u32) -> u32 {
        self.slots.base() + self.slot_and_round(stage).0 * self.stage_vectors * 16
    }

    /// Fetches stage `stage`, `vectors` vectors from `from` on, as soon as its slot is free. One thread of the block calls it.
    ///
    /// # Safety
    /// `from` holds the vectors, no more than a slot has, and nobody writes them.
    #[device_inline]
    #[track_caller]
    pub unsafe fn fill(self, stage: u32, from: *const Vec4, vectors: u32) {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        {
            let (slot, round) = self.slot_and_round(stage);
            let bytes = vectors * 16;
            // SAFETY: the slot is below the number of slots; the caller vouches for the source.
            unsafe {
                let (full, empty) = (self.full.address_of_unchecked(slot), self.empty.address_of_unchecked(slot));
                wait_parity(empty, (round & 1) ^ 1);
                core::arch::asm!(
                    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{0}], {1};",
                    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{2}], [{3}], {1}, [{0}];",
                    in(reg32) full, in(reg32) bytes, in(reg32) self.address_of(stage), in(reg64) from, options(nostack, preserves_flags)
                );
            }
        }
        #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
        {
            let _ = (stage, from, vectors);
            super::trap()
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let first = self.slot_and_round(stage).0 * self.stage_vectors;
            for at in 0..vectors {
                // SAFETY: the caller vouches for the source.
                self.slots.set(first + at, unsafe { super::memory::load(from, at as usize) });
            }
        }
    }

    /// Waits until the slot of stage `stage` is free, and announces as many bytes as a slot has; returns its shared address and the barrier object that counts them, for copies of rectangles
    /// ([`MapAt::copy`](super::tensor_map::MapAt::copy)). One thread of the block calls it, or threads that take stages in turn, no more than the ring has slots.
    #[device_inline]
    pub fn expect(self, stage: u32) -> (u32, u32) {
        let to = self.address_of(stage);
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        // SAFETY: the slot is below the number of slots.
        let object = unsafe {
            let (slot, round) = self.slot_and_round(stage);
            let (full, empty) = (self.full.address_of_unchecked(slot), self.empty.address_of_unchecked(slot));
            wait_parity(empty, (round & 1) ^ 1);
            let bytes = self.stage_vectors * 16;
            core::arch::asm!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{0}], {1};", in(reg32) full, in(reg32) bytes, options(nostack, preserves_flags));
            full
        };
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90")))]
        let object = 0;
        (to, object)
    }

    /// Waits until stage `stage` has arrived.
    #[device_inline]
    pub fn wait(self, stage: u32) {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        {
            let (slot, round) = self.slot_and_round(stage);
            // SAFETY: the slot is below the number of slots.
            unsafe { wait_parity(self.full.address_of_unchecked(slot), round & 1) };
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = stage;
            sync_simt();
        }
    }

    /// Signals that this thread's group has finished with stage `stage`; one thread of the group calls it.
    #[device_inline]
    pub fn release(self, stage: u32) {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        {
            let (slot, _) = self.slot_and_round(stage);
            // SAFETY: the slot is below the number of slots.
            unsafe {
                core::arch::asm!("mbarrier.arrive.shared::cta.b64 _, [{0}];", in(reg32) self.empty.address_of_unchecked(slot), options(nostack, preserves_flags))
            };
        }
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90")))]
        let _ = stage;
    }

    /// Called by the warp of the filling thread in place of [`wait`](Ring::wait), after [`fill`](Ring::fill).
    #[device_inline]
    pub fn pass(self) {
        self.pass_over(1);
    }

    /// The same for `stages` stages that follow each other.
    #[device_inline]
    pub fn pass_over(self, stages: u32) {
        #[cfg(not(target_arch = "nvptx64"))]
        for _ in 0..stages {
            sync_simt();
        }
        #[cfg(target_arch = "nvptx64")]
        let _ = stages;
    }
}

#[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
#[device_inline]
unsafe fn wait_parity(object: u32, parity: u32) {
    let mut done = 0u32;
    while done == 0 {
        // SAFETY: the caller passes a barrier object.
        unsafe {
            core::arch::asm!("{{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [{1}], {2}; selp.u32 {0}, 1, 0, p; }}",
                out(reg32) done, in(reg32) object, in(reg32) parity, options(nostack, preserves_flags))
        };
    }
}
