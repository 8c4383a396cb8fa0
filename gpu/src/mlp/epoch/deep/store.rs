//! Where `W2`, and what the optimiser remembers of it and of the output layer, lie during an epoch.

use crate::cuda::memory;
use crate::unroll::unroll;

use super::super::optimizer::{self, Optimizer};
use super::{Deep, SECOND_THREADS, SECOND_WARPS};
use crate::cuda::thread::thread_idx_x;

/// Threads with a share of the output layer: 16 units, eight pairs of classes.
const OUTPUT_THREADS: usize = 128;

/// Values of a block in one array: quads of `[tile][quad of the lane's 8][thread of the eight warps]`, then `[2][thread of the last four warps]`.
const fn block_values(blocks: u32) -> usize {
    (blocks / SECOND_WARPS * 8 * SECOND_THREADS) as usize + 8 * OUTPUT_THREADS
}

/// Arrays: the weights, the moments, the sums of a step's parts.
const fn n_arrays(n_moments: u32) -> usize {
    n_moments as usize + 2
}

/// Values of a network's state that one with one hidden layer has not.
pub(in super::super) const fn n_state_values(blocks: u32, n_moments: u32) -> usize {
    blocks as usize * n_arrays(n_moments) * block_values(blocks)
}

/// A lane's share of a tile of `W2` of 16 units of each layer: value 4n + 2j + e is unit 8n + g of the second layer, unit 8j + 2t + e of the first.
pub(super) type Tile = [f32; 8];
/// The unit of the first layer, among the block's, of value `value` of a tile in the lanes with column pair `t`.
#[device_inline]
pub(super) const fn first_unit(value: usize, t: u32) -> u32 {
    value as u32 / 2 % 2 * 8 + 2 * t + value as u32 % 2
}

/// A lane's share of the output layer: a unit's `W3` of two classes, its `b2`, and `b3` of the two classes.
pub(super) type Share = [f32; 5];

/// A thread's part of the arrays.
#[derive(Clone, Copy)]
pub(super) struct Store {
    /// The block's first value.
    block: *mut f32,
    /// Values of an array.
    array: usize,
    thread: usize,
}

impl Store {
    /// The array of the weights.
    pub const WEIGHTS: usize = 0;
    /// The array of the optimiser's first moment.
    pub const MOMENTS: usize = 1;

    /// The array of the sums of the parts of a step.
    #[device_inline]
    pub const fn sums<O: Optimizer>() -> usize {
        Self::MOMENTS + O::MOMENTS
    }

    /// The thread's part of a network's `state`.
    ///
    /// # Safety
    /// `state` has as many values as the network has with two hidden layers.
    #[device_inline]
    pub unsafe fn new<O: Optimizer>(state: *mut f32, deep: &Deep) -> Self {
        let (blocks, moments) = (deep.sizes.blocks, O::MOMENTS as u32);
        let before = optimizer::n_state_values(blocks, moments)
            + deep.sizes.rank as usize * n_arrays(moments) * block_values(blocks);
        // SAFETY: each block has all arrays behind the first layer's state, as the caller says.
        Self { block: unsafe { state.add(before) }, array: block_values(blocks), thread: thread_idx_x() as usize }
    }

    /// Where quad `quad` of the thread's tile begins.
    #[device_inline]
    const fn of_tile(&self, array: usize, tile: u32, quad: usize) -> usize {
        array * self.array + ((2 * tile as usize + quad) * SECOND_THREADS as usize + self.thread) * 4
    }

    /// Where quad `quad` of the thread's share of the output layer begins.
    #[device_inline]
    const fn of_share(&self, array: usize, quad: usize) -> usize {
        (array + 1) * self.array - 8 * OUTPUT_THREADS
            + (quad * OUTPUT_THREADS + self.thread - SECOND_THREADS as usize) * 4
    }

    /// A tile of an array.
    ///
    /// # Safety
    /// The thread is one of the first eight warps'; array and tile are there; it was stored.
    #[device_inline]
    pub unsafe fn tile(&self, array: usize, tile: u32) -> Tile {
        // SAFETY: the quads are the thread's, at multiples of 16 bytes.
        let ([a, b, c, d], [e, f, g, h]) = unsafe {
            (
                memory::load_quad(self.block, self.of_tile(array, tile, 0)),
                memory::load_quad(self.block, self.of_tile(array, tile, 1)),
            )
        };
        [a, b, c, d, e, f, g, h]
    }

    /// Stores what [`tile`](Self::tile) loads.
    ///
    /// # Safety
    /// As for loading, but it need not have been stored.
    #[device_inline]
    pub unsafe fn set_tile(&self, array: usize, tile: u32, [a, b, c, d, e, f, g, h]: Tile) {
        // SAFETY: as for loading; nobody else has the quads.
        unsafe {
            memory::store_quad(self.block, self.of_tile(array, tile, 0), [a, b, c, d]);
            memory::store_quad(self.block, self.of_tile(array, tile, 1), [e, f, g, h]);
        }
    }

    /// The share of an array.
    ///
    /// # Safety
    /// The thread is one of the last four warps'; the array is there; it was stored.
    #[device_inline]
    pub unsafe fn share(&self, array: usize) -> Share {
        // SAFETY: the quads are the thread's, at multiples of 16 bytes.
        let ([a, b, c, d], [e, ..]) = unsafe {
            (
                memory::load_quad(self.block, self.of_share(array, 0)),
                memory::load_quad(self.block, self.of_share(array, 1)),
            )
        };
        [a, b, c, d, e]
    }

    /// Stores what [`share`](Self::share) loads.
    ///
    /// # Safety
    /// As for loading, but it need not have been stored.
    #[device_inline]
    pub unsafe fn set_share(&self, array: usize, [a, b, c, d, e]: Share) {
        // SAFETY: as for loading; nobody else has the quads.
        unsafe {
            memory::store_quad(self.block, self.of_share(array, 0), [a, b, c, d]);
            memory::store_quad(self.block, self.of_share(array, 1), [e, 0.0, 0.0, 0.0]);
        }
    }

    /// The moments of a tile.
    ///
    /// # Safety
    /// As [`tile`](Self::tile).
    #[device_inline]
    pub unsafe fn tile_moments<O: Optimizer>(&self, tile: u32) -> [Tile; 2] {
        let mut found = [Tile::default(); 2];
        unroll!(ARRAY in [0, 1] {
            if ARRAY < O::MOMENTS {
                // SAFETY: as the caller says.
                found[ARRAY] = unsafe { self.tile(Self::MOMENTS + ARRAY, tile) };
            }
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quads_of_a_block_do_not_overlap() {
        for blocks in [16, 32] {
            let mut taken = vec![false; 2 * block_values(blocks)];
            let mut take = |at: usize| {
                assert!(at.is_multiple_of(4));
                for word in &mut taken[at..at + 4] {
                    assert!(!core::mem::replace(word, true), "{at}");
                }
            };
            for (array, thread) in [0, 1].into_iter().flat_map(|array| (0..384).map(move |thread| (array, thread))) {
                let store = Store { block: core::ptr::null_mut(), array: block_values(blocks), thread };
                for quad in 0..2 {
                    match thread < SECOND_THREADS as usize {
                        true => (0..blocks / SECOND_WARPS).for_each(|tile| take(store.of_tile(array, tile, quad))),
                        false => take(store.of_share(array, quad)),
                    }
                }
            }
            assert!(taken.into_iter().all(|is_taken| is_taken));
        }
    }
}
