//! Launch shapes: how many blocks of how many threads run a kernel.
//!
//! A launch needs a [`LaunchShape`] besides its arguments. Each kernel's module computes its own in one function, so that host, tests and benches cannot disagree.
//!
//! ```
//! use warpplay_gpu::launch::LaunchShape;
//!
//! let shape = LaunchShape::linear(1000, 128); // a thread for each of 1,000 items
//! assert_eq!((shape.n_blocks(), shape.n_threads()), (8, 128));
//! let tiled = LaunchShape::grid_2d(16, 4, 256).with_shared(16 * 1024).with_cluster(2);
//! assert_eq!((tiled.grid, tiled.shared_bytes, tiled.cluster), ([16, 4, 1], 16384, 2));
//! ```

/// Grid, block and shared memory of one launch.
///
/// A launch needs only the shape and the arguments; each kernel's module computes its own shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchShape {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Blocks of a cluster along x; 1 means no clusters.
    pub cluster: u32,
    /// Whether all blocks are resident at once, so that the grid can synchronise.
    pub cooperative: bool,
    /// Whether blocks may start before the launch before has ended (programmatic dependent launch, `sm_90` on). It is part of an unsafe launch's contract that the kernel calls [`follow`](crate::cuda::sync::follow) first; launches of safe kernels do not overlap.
    pub overlapping: bool,
}

/// Most blocks of a launch that overlaps with the one before: those that a large GPU runs at a time.
pub const MOST_OVERLAPPING: u64 = 1024;

impl LaunchShape {
    /// `blocks` blocks of `threads` threads, both along x.
    pub const fn new(blocks: u32, threads: u32) -> Self {
        Self::grid_2d(blocks, 1, threads)
    }

    /// `x` × `y` blocks of `threads` threads along x.
    pub const fn grid_2d(x: u32, y: u32, threads: u32) -> Self {
        Self {
            grid: [x, y, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
            cluster: 1,
            cooperative: false,
            overlapping: false,
        }
    }

    /// The fewest blocks of `threads` threads that give each of `n` items a thread (one block when `n` is 0). Blocks of 0 threads are refused by the
    /// launch.
    pub const fn linear(n: u32, threads: u32) -> Self {
        let blocks = if threads == 0 { 1 } else { n.div_ceil(threads) };
        Self::new(if blocks == 0 { 1 } else { blocks }, threads)
    }

    /// The same with `bytes` of dynamic shared memory per block.
    pub const fn with_shared(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// The same with clusters of `blocks` blocks along x.
    pub const fn with_cluster(mut self, blocks: u32) -> Self {
        self.cluster = blocks;
        self
    }

    /// The same as a cooperative launch.
    pub const fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// The same as a launch that may start before the one before has ended, if it is a short one, of at most [`MOST_OVERLAPPING`] blocks: a long one does not notice its start, and is slowed down by blocks that wait.
    pub const fn overlapping(mut self) -> Self {
        self.overlapping = self.n_blocks() <= MOST_OVERLAPPING;
        self
    }

    /// Total number of blocks; saturates for a shape that no device accepts.
    pub const fn n_blocks(&self) -> u64 {
        (self.grid[0] as u64 * self.grid[1] as u64).saturating_mul(self.grid[2] as u64)
    }

    /// Number of threads of one block; saturates for a shape that no device accepts.
    pub const fn n_threads(&self) -> u32 {
        self.block[0].saturating_mul(self.block[1]).saturating_mul(self.block[2])
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn impossible_shapes_are_shapes_still() {
        assert_eq!(LaunchShape::linear(5, 0).block, [0, 1, 1]);
        assert_eq!(LaunchShape::linear(0, 64).grid, [1, 1, 1]);
        assert_eq!(LaunchShape::linear(u32::MAX, 1).grid, [u32::MAX, 1, 1]);
        let most = LaunchShape { grid: [u32::MAX; 3], block: [u32::MAX; 3], ..LaunchShape::new(1, 1) };
        assert_eq!((most.n_blocks(), most.n_threads()), (u64::MAX, u32::MAX));
    }

    #[test]
    fn short_launches_overlap() {
        assert!(
            LaunchShape::new(1024, 64).overlapping().overlapping
                && !LaunchShape::new(1025, 64).overlapping().overlapping
        );
    }
}
