//! Gradients of a layer's weights, which an optimiser [updates](crate::tile::update) at once.

use super::product::{shape, slab, sums, threads};
use crate::cuda::shared::dynamic;
use crate::cuda::{kernel, thread};
use crate::tile::epilogue::update_quad;
use crate::tile::rows::AS_THEY_LIE;
use crate::tile::task::{ProductTask, activation};
use crate::tile::update::Update;
use crate::unroll::unroll;

/// Quads of sums that a lane puts into shared memory at a time, of its 16: so the code for one of them is there once.
const AT_ONCE: u32 = 4;

/// See the module.
///
/// # Safety
/// Launched with `shape`; the task's arrays and those of `update` have the lengths they say.
#[device_inline]
unsafe fn product<const SIZE: u32, const QUADS: usize, const A: bool, const B: bool>(
    task: &ProductTask,
    update: &Update,
) {
    const { assert!(4 * AT_ONCE * threads::<SIZE>() <= 4 * slab::<SIZE>()) };
    // SAFETY: the caller's promise.
    let (d, at, _) = unsafe { sums::<SIZE, QUADS, A, B, AS_THEY_LIE>(task) };
    // SAFETY: as the kernel asks.
    let (factor, rate) = unsafe { (task.whole_factor(), update.rate()) };
    let (shared, own) = (dynamic::<f32>(0, 4 * slab::<SIZE>()), 4 * thread::thread_idx_x());
    let mut first = 0;
    while first < 16 {
        unroll!(G in [0, 1, 2, 3] {
            unroll!(Q in [0, 1, 2, 3] {
                if first == 4 * G as u32 {
                    let (i, j) = ((4 * G + Q) / 2, (4 * G + Q) % 2);
                    let quad = [d[i][4 * j], d[i][4 * j + 1], d[i][4 * j + 2], d[i][4 * j + 3]];
                    // SAFETY: the lane's own part of what nobody else reads any more.
                    unsafe { shared.set_quad_unchecked(own + Q as u32 * 4 * threads::<SIZE>(), quad) };
                }
            });
        });
        let mut number = first;
        while number < first + AT_ONCE {
            // SAFETY: what the lane has put there; each value of C is one lane's, which the task has.
            unsafe {
                let quad = shared.get_quad_unchecked(own + (number - first) * 4 * threads::<SIZE>());
                update_quad(task, update, &rate, at.quad(number / 2, number % 2), quad.map(|sum| sum * factor));
            }
            number += 1;
        }
        first += AT_ONCE;
    }
}

macro_rules! updates {
    ($($(#[$doc:meta])* $name:ident, $size:literal, $quads:literal, $threads:literal, $blocks:literal, [$a:literal, $b:literal];)*) => {
        $(
            $(#[$doc])*
            ///
            /// A product of matrices that is the gradient of C, which an optimiser updates, by ordinary arithmetic.
            ///
            /// * Launch: as the product of these tiles.
            /// * Reads: `a`, `b`; `rates`, `step`.
            /// * Writes: `c`; `first`, `second`.
            /// * Shared: as the product; in the end four quads a thread.
            /// * Cost: that of the product; a quad of each array read and written for four sums.
            /// * Twin: `warpplay_cpu_ref::tile::product` and `warpplay_cpu_ref::mlp::optimizer::Update::apply`.
            /// * Source: PyTorch's definitions of SGD, Adam, AdamW and RMSprop.
            ///
            /// # Safety
            /// As a product of these tiles; `update` is as [it](Update) says for C.
            #[kernel(
                shape = shape::<$size>(task.m, task.n, 1),
                max_threads = $threads,
                min_blocks = $blocks,
                require = task.moments.is_null() && task.rows.is_null() && task.a_parts == 1 && task.b_parts == 1 && task.division >= task.k && task.side == 1 && task.overflow.is_null() && !task.c.is_null() && task.bias.is_null() && task.mask.is_null() && task.residual.is_null() && task.residual_short.is_null() && task.activation == activation::NONE && task.c_short.is_null() && task.c_stride.is_multiple_of(4) && task.c_first.is_multiple_of(4)
            )]
            pub unsafe fn $name(task: ProductTask, update: Update) {
                // SAFETY: launched with this shape, and the task is as the kernel asks.
                unsafe { product::<$size, $quads, $a, $b>(&task, &update) }
            }
        )*
    };
}

updates! {
    /// Single precision, tiles of 128 × 128.
    tile_plain_128_update, 128, 1, 256, 2, [false, false];
    /// Single precision, tiles of 128 × 128, A and B depth by depth.
    tile_plain_128_ab_update, 128, 1, 256, 2, [true, true];
    /// Single precision, tiles of 64 × 64.
    tile_plain_64_update, 64, 2, 64, 6, [false, false];
    /// Single precision, tiles of 64 × 64, A and B depth by depth.
    tile_plain_64_ab_update, 64, 2, 64, 6, [true, true];
}
