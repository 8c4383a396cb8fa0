//! The last layer of a network that classifies: its product, with [`softmax`](super::softmax) as epilogue.

use super::softmax::{CLUSTER, MAX_CLASSES, Softmax};
use super::task::{Bf16, F16, ProductTask};
use super::wgmma::{ALONE, SHARED, product, shape};
use crate::cuda::kernel;

macro_rules! softmaxes {
    ($($(#[$doc:meta])* $name:ident, $format:ty, $quads:ident;)*) => {
        $(
            $(#[$doc])*
            ///
            /// Logits, their loss and its gradient, which is C; B lies depth by depth.
            ///
            /// * Launch: as the product of these tiles.
            /// * Reads: `a`, `b` through their maps; `bias`; `classes`, `scale`.
            /// * Writes: `c_short`; `losses`.
            /// * Shared: as the product.
            /// * Cost: that of the product, and an exponential for each value of C.
            /// * Twin: `warpplay_cpu_ref::mlp::pieces::smoothed_gradient`, `warpplay_cpu_ref::mlp::pieces::smoothed_losses`.
            /// * Source: Ha and Beqaj, section 1.1 (loss, ∂L/∂z₂) and section 1.3, kernels 3 and 4; smoothing as PyTorch defines it.
            ///
            /// # Safety
            /// As a product of these tiles with `c_short`; `softmax` is as it says for C, and its `blocks` are `task.cluster`.
            #[kernel(
                shape = |multiprocessors: u32| shape::<32, 1, 1, $quads>([task.m, task.n, 1], task.cluster, multiprocessors),
                max_threads = 256,
                min_blocks = 1,
                require = task.rows.is_null() && task.moments.is_null() && task.n <= MAX_CLASSES && task.division >= task.k && task.cluster == if $quads == SHARED { CLUSTER } else { 1 }
            )]
            pub unsafe fn $name(task: ProductTask, softmax: Softmax) {
                // SAFETY: launched with this shape, and the rest is as the kernel asks.
                unsafe { product::<$format, _, 32, 1, 1, false, true, $quads, _>(&task, &softmax) }
            }
        )*
    };
}

softmaxes! {
    /// bfloat16, tiles of 64 × 64.
    tile_wgmma_bf16_64_single_b_softmax, Bf16, ALONE;
    /// bfloat16, tiles of 64 × 64, whose depth blocks share.
    tile_wgmma_bf16_64_shared_b_softmax, Bf16, SHARED;
    /// Half precision, tiles of 64 × 64.
    tile_wgmma_f16_64_single_b_softmax, F16, ALONE;
    /// Half precision, tiles of 64 × 64, whose depth blocks share.
    tile_wgmma_f16_64_shared_b_softmax, F16, SHARED;
}
