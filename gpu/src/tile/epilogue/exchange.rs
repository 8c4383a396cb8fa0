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

/// Bytes of shared memory of a warp whose block is in a cluster: all `2 R` columns of the tile are exchanged at once.
pub const fn warp_bytes_in_cluster<const R: usize>() -> u32 {
    R as u32 * 2 / COLUMNS * WARP_BYTES
}

/// The cluster's barrier, with the same source location for all callers.
#[device_inline]
pub fn meet() {
    // The barrier wants whole warps.
    sync_warp(warp::ALL);
    sync_cluster();
}

/// Chunks of 32 columns of the tile from column `column` on that are in C, of `2 R` columns.
#[device_inline]
pub(super) const fn n_chunks<const R: usize>(task: &ProductTask, column: u32) -> u32 {
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
    /// The warp's own memory, `WARP_BYTES` from here on; in a cluster [`warp_bytes_in_cluster`].
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
#[device_inline]
pub(super) const fn at_of_quad(lane: Lane) -> u32 {
    lane.row * STRIDE + lane.column
}

/// The sums `d` of columns `CHUNK * 32` to the next 32 into the exchange, where `chunk` is it.
///
/// # Safety
/// The exchange is the warp's own, and nobody reads it.
#[device_inline]
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

/// The turns of a warp of a block: which is its first, how many all blocks have, and how far it is to its next. A turn is a chunk of columns of all rows; in a cluster (`N` of 1) a quarter of the rows of a chunk, and its blocks take turns.
#[device_inline]
pub(super) fn turns<const R: usize, const N: usize>(task: &ProductTask, part: &Part) -> (u32, u32, u32) {
    let chunks = n_chunks::<R>(task, part.column);
    if N == 1 { (thread::block_rank_in_cluster(), 4 * chunks, task.cluster) } else { (0, chunks, 1) }
}

/// All sums `d` of a warp into the exchange, for the blocks of the cluster, which [`meet`].
///
/// # Safety
/// The exchange has [`warp_bytes_in_cluster`], is the warp's own, and nobody reads it.
#[device_inline]
#[track_caller]
pub(super) unsafe fn put_for_cluster<const R: usize>(d: &[f32; R], exchange: u32) {
    unroll!(CHUNK in [0, 1, 2, 3, 4, 5, 6, 7] {
        if CHUNK * 16 < R {
            // SAFETY: as the caller vouches; each chunk has its own part.
            unsafe { put_sums(d, CHUNK as u32, exchange + CHUNK as u32 * WARP_BYTES) };
        }
    });
    meet();
}

/// The sums of a lane's quad in a chunk of columns; in a cluster (`N` of 1) those of all `blocks`, added up in their order.
///
/// # Safety
/// All have written theirs, and do not go on before this is read; a cluster's blocks are there until all [`meet`] again.
#[device_inline]
#[track_caller]
pub(super) unsafe fn sums_of<const N: usize>(part: &Part, chunk: u32, blocks: u32, lane: Lane) -> [f32; 4] {
    if N > 1 {
        // SAFETY: inside the exchange, whose rows are multiples of four values.
        return unsafe {
            Shared::<f32>::from_address(part.exchange, WARP_BYTES / 4).get_quad_unchecked(at_of_quad(lane))
        };
    }
    let address = part.exchange + chunk * WARP_BYTES;
    let mut sums = [0.0; 4];
    let mut first = 0;
    while first < blocks {
        // Several are on their way at a time.
        let mut quads = [[0.0; 4]; 4];
        unroll!(BLOCK in [0, 1, 2, 3] {
            if first + (BLOCK as u32) < blocks {
                // SAFETY: inside the exchange of a block of the cluster, as the caller vouches.
                unsafe {
                    let theirs = Shared::<Vec4>::from_address(address, WARP_BYTES / 16);
                    let quad = theirs.get_in_cluster_unchecked(first + BLOCK as u32, at_of_quad(lane) / 4);
                    quads[BLOCK] = quad.0.map(f32::from_bits);
                }
            }
        });
        unroll!(BLOCK in [0, 1, 2, 3] {
            unroll!(C in [0, 1, 2, 3] {
                sums[C] += quads[BLOCK][C];
            });
        });
        first += 4;
    }
    sums
}
