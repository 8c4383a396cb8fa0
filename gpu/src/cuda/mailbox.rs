//! Values sent to other blocks of a cluster, with a receipt: the receiver waits for a number of bytes, not for the senders (`sm_90` on).
//!
//! A [`Mailbox`] is a barrier object in shared memory that counts bytes. A round goes: the receiver says how much it [`expect`](Mailbox::expect)s, the senders
//! [`send`](Mailbox::send), the receiver's threads [`wait`](Mailbox::wait). It spares the senders the wait for their stores' acknowledgement that a cluster barrier has.
//!
//! Under `simt` a wait is a cluster barrier: every thread of the cluster must wait once a round.

use super::memory::Vec4;
use super::shared::Shared;

/// A barrier object that counts the bytes that arrive at this block.
#[derive(Clone, Copy)]
pub struct Mailbox {
    object: Shared<u64>,
}

impl Mailbox {
    /// Makes a mailbox in its own shared word, at the same address in every block.
    #[device_inline]
    pub fn new(object: Shared<u64>) -> Self {
        Self { object }
    }

    /// Initialises the object; one thread of the block calls it, and a cluster barrier must follow before anything is sent.
    #[device_inline]
    pub fn open(self) {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        // SAFETY: the object is a word of shared memory (bounds checked) that has no other use.
        unsafe {
            core::arch::asm!("mbarrier.init.shared::cta.b64 [{0}], 1; fence.mbarrier_init.release.cluster;", in(reg32) self.object.address_of(0), options(nostack, preserves_flags))
        };
        #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
        super::trap();
        #[cfg(not(target_arch = "nvptx64"))]
        self.object.set(0, 0);
    }

    /// Announces a round of `bytes` bytes; one thread of the block calls it once per round, before it waits.
    #[device_inline]
    pub fn expect(self, bytes: u32) {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        // SAFETY: the object was opened.
        unsafe {
            core::arch::asm!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{0}], {1};", in(reg32) self.object.address_of_unchecked(0), in(reg32) bytes, options(nostack, preserves_flags))
        };
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90")))]
        let _ = bytes;
    }

    /// Writes 8 bytes into `array` of the block with `rank` in the cluster, and counts them in that block's mailbox.
    ///
    /// # Safety
    /// `index` is below the length, and the cluster has that rank. (`simt` looks at both.) The receiver has ended the round before.
    #[device_inline]
    #[track_caller]
    pub unsafe fn send(self, array: Shared<u64>, rank: u32, index: u32, value: u64) {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        // SAFETY: the caller vouches for index and rank; arrays lie at the same address in every block of a cluster.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b32 to, box; mapa.shared::cluster.u32 to, {0}, {2}; mapa.shared::cluster.u32 box, {1}, {2};",
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [to], {3}, [box]; }}",
                in(reg32) array.address_of_unchecked(index), in(reg32) self.object.address_of_unchecked(0), in(reg32) rank, in(reg64) value,
                options(nostack, preserves_flags)
            )
        };
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90")))]
        // SAFETY: the caller keeps this function's contract.
        unsafe {
            array.set_in_cluster_unchecked(rank, index, value)
        };
    }

    /// As [`send`](Mailbox::send), 16 bytes.
    ///
    /// # Safety
    /// As [`send`](Mailbox::send).
    #[device_inline]
    #[track_caller]
    pub unsafe fn send_vec4(self, array: Shared<Vec4>, rank: u32, index: u32, value: Vec4) {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        // SAFETY: as in `send`.
        unsafe {
            let v = value.0;
            core::arch::asm!(
                "{{ .reg .b32 to, box; mapa.shared::cluster.u32 to, {0}, {2}; mapa.shared::cluster.u32 box, {1}, {2};",
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [to], {{{3}, {4}, {5}, {6}}}, [box]; }}",
                in(reg32) array.address_of_unchecked(index), in(reg32) self.object.address_of_unchecked(0), in(reg32) rank,
                in(reg32) v[0], in(reg32) v[1], in(reg32) v[2], in(reg32) v[3], options(nostack, preserves_flags)
            )
        };
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90")))]
        // SAFETY: the caller keeps this function's contract.
        unsafe {
            array.set_in_cluster_unchecked(rank, index, value)
        };
    }

    /// Waits for the end of the round; `round` counts the mailbox's rounds from 0. All threads of the block call it.
    #[device_inline]
    #[track_caller]
    pub fn wait(self, round: u32) {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        {
            let parity = round & 1;
            let mut done = 0u32;
            while done == 0 {
                // SAFETY: the object was opened.
                unsafe {
                    core::arch::asm!(
                        "{{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [{1}], {2}; selp.u32 {0}, 1, 0, p; }}",
                        out(reg32) done, in(reg32) self.object.address_of_unchecked(0), in(reg32) parity, options(nostack, preserves_flags)
                    )
                };
            }
        }
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90")))]
        {
            let _ = round;
            super::sync::sync_cluster();
        }
    }
}
