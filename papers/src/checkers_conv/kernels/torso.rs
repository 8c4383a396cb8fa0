//! Torso convolution: channels to channels, 3×3, by [`tiles`](super::tiles).
//!
//! | form | board | filters | staged | sums | published as |
//! |---|---|---|---|---|---|
//! | *global banked* | `[256][32]` | `[36][32]` | by channels | in global memory | the paper's |
//! | *shared banked* | `[256][32]` | `[36][32]` | by channels | in shared memory | the paper's other design, Figure 5 |
//! | *… plain* | `[128][64]` | `[128][9]` | by channels | as above | |
//! | *repository 1* | `[256][32]` | in global memory | by values | in global memory | the repository's first kernel |
//! | *repository 2* | `[256][32]` | `[1152]` | by values | in global memory | its V2, which it launches |
//! | *repository 3* | in global memory | `[1152]` | by values | in global memory | its V3 |
//!
//! The repository's kernels are 1024 threads.

use super::tiles::{BANKED, BOARDS, CHANNELS, PLAIN, UNSTAGED, tile_kernels};
use super::{CELLS, TAPS};

pub use super::tiles::shape;

/// Values of the staged filters.
const WEIGHTS: u32 = CHANNELS * TAPS;

tile_kernels! {
    /// Torso convolution, a bank a channel, added up in global memory: `out` must be 0 before. The paper's.
    azero_paper_torso_global_banked, TAPS, BANKED, BANKED, false { boards: BOARDS, weights: WEIGHTS }
    /// Torso convolution, the order of memory kept, added up in global memory: `out` must be 0 before.
    azero_paper_torso_global_plain, TAPS, PLAIN, PLAIN, false { boards: BOARDS, weights: WEIGHTS }
    /// Torso convolution, a bank a channel, added up in shared memory: the paper's other design.
    azero_paper_torso_shared_banked, TAPS, BANKED, BANKED, false { boards: BOARDS, weights: WEIGHTS, sums: CELLS }
    /// Torso convolution, the order of memory kept, added up in shared memory.
    azero_paper_torso_shared_plain, TAPS, PLAIN, PLAIN, false { boards: BOARDS, weights: WEIGHTS, sums: CELLS }
    /// Torso convolution with filters in global memory: `out` must be 0 before. The repository's first.
    azero_paper_torso_repository_1, TAPS, BANKED, UNSTAGED, true { boards: BOARDS }
    /// Torso convolution with filters in the order of memory: `out` must be 0 before. The repository's V2.
    azero_paper_torso_repository_2, TAPS, BANKED, PLAIN, true { boards: BOARDS, weights: WEIGHTS }
    /// Torso convolution with boards in global memory: `out` must be 0 before. The repository's V3.
    azero_paper_torso_repository_3, TAPS, UNSTAGED, PLAIN, true { weights: WEIGHTS }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::super::tiles::{BANKS, offset};
    use super::*;

    #[test]
    fn the_sources_arrays_hold_every_value_once() {
        assert_eq!((BOARDS, WEIGHTS), (256 * 32, 36 * 32));
        // The paper's 36.5 kB are KiB: 37,376 bytes.
        assert_eq!((BOARDS + WEIGHTS) * 4, 37_376);
        assert_eq!(37_376.0 / 1024.0, 36.5);
        let mut boards = vec![false; BOARDS as usize];
        for channel in 0..CHANNELS {
            for square in 0..CELLS {
                let offset = offset::<BANKED, CELLS>(channel, square);
                assert_eq!(offset % BANKS, channel % BANKS);
                assert!(!std::mem::replace(&mut boards[offset as usize], true));
            }
        }
    }
}
