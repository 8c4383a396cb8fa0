//! The last layer of a network that classifies: its product, with [`softmax`](crate::tile::softmax) as epilogue.

use super::product::{Block, product};
use crate::cuda::kernel;
use crate::tile::rows::AS_THEY_LIE;
use crate::tile::softmax::{MAX_CLASSES, Softmax};
use crate::tile::task::{Bf16, F16, ProductTask};

macro_rules! softmaxes {
    ($($(#[$doc:meta])* $name:ident, $format:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// Logits, their loss and its gradient, which is C; B lies depth by depth.
            ///
            /// * Launch: as the product of these tiles.
            /// * Reads: `a`, `b`, `bias`; `classes`, `scale`.
            /// * Writes: `c_short`; `losses`.
            /// * Shared: as the product.
            /// * Cost: that of the product, and an exponential for each value of C.
            /// * Twin: `warpplay_cpu_ref::mlp::pieces::softmax_cross_entropy_gradient`, `warpplay_cpu_ref::mlp::pieces::losses`.
            /// * Source: Ha and Beqaj, section 1.1 (loss, ∂L/∂z₂) and section 1.3, kernels 3 and 4.
            ///
            /// # Safety
            /// As a product of these tiles with `c_short`; `softmax` is as it says for C.
            #[kernel(
                shape = const { Block::of::<64, 64, 2, 4>() }.shape(task.m, task.n, 1),
                max_threads = 128,
                min_blocks = 3,
                require = task.rows.is_null() && task.moments.is_null() && task.n <= MAX_CLASSES && task.division >= task.k
            )]
            pub unsafe fn $name(task: ProductTask, softmax: Softmax) {
                // SAFETY: launched with this shape, and the rest is as the kernel asks.
                unsafe { product::<$format, 64, 64, 2, 16, 4, 128, false, true, AS_THEY_LIE, _>(&task, &softmax) }
            }
        )*
    };
}

softmaxes! {
    /// bfloat16, tiles of 64 × 64.
    tile_mma_bf16_64_b_softmax, Bf16;
    /// Half precision, tiles of 64 × 64.
    tile_mma_f16_64_b_softmax, F16;
}
