//! How many products a warp's tensor cores make from registers: the peak that kernels with `mma.sync` are measured by.

use warpplay_gpu::cuda::{kernel, memory, mma, sync, thread};

/// Accumulators of a warp: as many products as are under way at a time.
pub const ACCUMULATORS: usize = 8;
/// Products of an accumulator in one run through the loop.
pub const UNROLLED: usize = 4;
/// Warps of a block.
pub const WARPS: u32 = 8;

macro_rules! rates {
    ($($(#[$doc:meta])* $name:ident, $product:path;)*) => {$(
        $(#[$doc])*
        ///
        /// Each accumulator is multiplied `UNROLLED n` times by fragments whose words are all `a` and all `b`. `out` gets the sum of a thread's accumulators.
        ///
        /// * Launch: any number of blocks of [`WARPS`] warps.
        ///
        /// # Safety
        /// `out` has a value a thread.
        #[kernel(max_threads = 256)]
        pub unsafe fn $name(out: *mut f32, n: u32, a: u32, b: u32) {
            let mut sums = [[0.0f32; 4]; ACCUMULATORS];
            let mut at = 0;
            while at < n {
                let warp = sync::whole_warp();
                for _ in 0..UNROLLED {
                    for sum in &mut sums {
                        *sum = $product(&warp, *sum, [a; 4], [b; 2]);
                    }
                }
                at += 1;
            }
            let mut sum = 0.0;
            for [first, second, third, fourth] in sums {
                sum += first + second + third + fourth;
            }
            // SAFETY: a value a thread.
            unsafe { memory::store(out, thread::index_1d() as usize, sum) };
        }
    )*};
}

rates! {
    /// In half precision.
    test_rate_f16, mma::f16;
    /// In bfloat16.
    test_rate_bf16, mma::bf16;
    /// In TF32.
    test_rate_tf32, mma::tf32;
}
