//! How a warp exchanges its sums through shared memory: so whole lines of C are written.

use crate::cuda::memory::Vec4;
use crate::cuda::shared::Shared;
use crate::cuda::sync::{sync_cluster, sync_warp};
use crate::cuda::{thread, warp};
use crate::tile::task::ProductTask;
use crate::unroll::unroll;

/// Rows of a warp.
pub const ROWS: u32 = 16;
/// Columns that are exchanged at a time.
pub(super) const COLUMNS: u32 = 32;
/// Values from a row to the next in shared memory: so four rows that are written at a time lie in different banks.
pub(super) const STRIDE: u32 = COLUMNS + 8;
/// Bytes of shared memory of a warp; a multiple of 16.
pub const WARP_BYTES: u32 = ROWS * STRIDE * 4;
const _: () = assert!(4 * 4 * thread::WARP == ROWS * COLUMNS);

/// The cluster's barrier, with the same source location for all callers.
#[inline(always)]
pub fn meet() {
    // The barrier wants whole warps.
    sync_warp(warp::ALL);
    sync_cluster();
}

/// Times that 32 columns of the tile from column `column` on are exchanged, of `2 R` columns. In a cluster all threads [`meet`] twice each time.
#[inline(always)]
pub const fn n_exchanges<const R: usize>(task: &ProductTask, column: u32) -> u32 {
    let (all, there) = (R as u32 * 2 / COLUMNS, (task.n - column).div_ceil(COLUMNS));
    if there < all { there } else { all }
}

/// A warp's part of a tile.
#[derive(Clone, Copy)]
pub struct Part {
    /// First row of the warp.
    pub row: u32,
    /// First column of the tile.
    pub column: u32,
    /// Division of the depth.
    pub division: u32,
    /// The warp's own memory, `WARP_BYTES` from here on.
    pub exchange: u32,
    /// Where the bias of the tile's columns lies in shared memory.
    pub bias: u32,
}

/// Where the lane's quads are in a chunk of columns: row `row + 4 i`, and four columns from `column` on.
#[derive(Clone, Copy)]
pub(super) struct Lane {
    pub row: u32,
    pub column: u32,
}

/// Where a lane's first quad is in the exchange.
#[inline(always)]
pub(super) const fn at_of_quad(lane: Lane) -> u32 {
    lane.row * STRIDE + lane.column
}

/// The sums `d` of columns `CHUNK * 32` to the next 32 into the exchange, where `chunk` is it.
///
/// # Safety
/// The exchange is the warp's own, and nobody reads it.
#[inline(always)]
#[track_caller]
pub(super) unsafe fn put_sums<const R: usize>(d: &[f32; R], chunk: u32, exchange: u32) {
    let (g, t) = (thread::lane() / 4, thread::lane() % 4);
    // The lane's first address, so that the others are at known offsets.
    let own = exchange + 4 * (g * STRIDE + 2 * t);
    unroll!(CHUNK in [0, 1, 2, 3, 4, 5, 6, 7] {
        if CHUNK * 16 < R && chunk == CHUNK as u32 {
            unroll!(BLOCK in [0, 1, 2, 3] {
                unroll!(HALF in [0, 1] {
                    let from = CHUNK * 16 + BLOCK * 4 + HALF * 2;
                    let both = u64::from(d[from % R].to_bits()) | u64::from(d[(from + 1) % R].to_bits()) << 32;
                    let at = own + 32 * (HALF as u32 * STRIDE + BLOCK as u32);
                    // SAFETY: inside the exchange; two at an even index are aligned together.
                    unsafe { Shared::<u64>::from_address(at, 1).set_unchecked(0, both) };
                });
            });
        }
    });
}

/// The sums of a lane's quad, from the exchange that begins at `address`; in a cluster those of all blocks, in their order.
///
/// # Safety
/// All have written theirs, and do not go on before this is read.
#[inline(always)]
#[track_caller]
pub(super) unsafe fn exchanged(in_cluster: bool, address: u32, lane: Lane) -> [f32; 4] {
    // SAFETY: inside the exchange, whose rows are multiples of four values; a cluster's blocks are there until all meet again.
    unsafe {
        if !in_cluster {
            return Shared::<f32>::from_address(address, WARP_BYTES / 4).get_quad_unchecked(at_of_quad(lane));
        }
        let theirs = Shared::<Vec4>::from_address(address, WARP_BYTES / 16);
        let mut sums = [0.0; 4];
        unroll!(BLOCK in [0, 1, 2, 3] {
            let quad = theirs.get_in_cluster_unchecked(BLOCK as u32, at_of_quad(lane) / 4).0.map(f32::from_bits);
            unroll!(C in [0, 1, 2, 3] {
                sums[C] += quad[C];
            });
        });
        sums
    }
}
