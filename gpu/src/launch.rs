//! Launch shapes: how many blocks of how many threads run a kernel.

/// Grid, block and shared memory of one launch.
///
/// The only thing besides the arguments that a launch needs; each kernel's module computes its own.
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
}

impl LaunchShape {
    /// `blocks` blocks of `threads` threads, both along x.
    pub const fn new(blocks: u32, threads: u32) -> Self {
        Self::grid_2d(blocks, 1, threads)
    }

    /// `x` × `y` blocks of `threads` threads along x.
    pub const fn grid_2d(x: u32, y: u32, threads: u32) -> Self {
        Self { grid: [x, y, 1], block: [threads, 1, 1], shared_bytes: 0, cluster: 1, cooperative: false }
    }

    /// The fewest blocks of `threads` threads that give each of `n` items a thread (one block when `n` is 0).
    pub const fn linear(n: u32, threads: u32) -> Self {
        let blocks = n.div_ceil(threads);
        Self::new(if blocks == 0 { 1 } else { blocks }, threads)
    }

    /// The same with `bytes` of dynamic shared memory a block.
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

    /// Blocks in all.
    pub const fn n_blocks(&self) -> u64 {
        self.grid[0] as u64 * self.grid[1] as u64 * self.grid[2] as u64
    }

    /// Threads of one block.
    pub const fn n_threads(&self) -> u32 {
        self.block[0] * self.block[1] * self.block[2]
    }
}
