//! Which program, and how.

use warpplay::{Error, Precision, Result};

use crate::named::named;

named! {
    /// The programs.
    Program:
    /// The paper's plain program: recursive, one thread.
    Recursive = "recursive",
    /// The paper's program for the CPU: level by level, several threads.
    Iterative = "iterative",
    /// The paper's program for the GPU: level by level, in two phases.
    Levels = "levels",
    /// Ours for one deal at a time: the same phases in a graph.
    Graph = "graph",
}

impl Program {
    /// What tables, figures and notes call it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Recursive => "recursive",
            Self::Iterative => "iterative, CPU",
            Self::Levels => "iterative, GPU",
            Self::Graph => "graph, GPU",
        }
    }
}

named! {
    /// Where the kernels keep regrets, averages and utilities of a sequence while they work on it.
    Rows:
    /// Copied to shared memory at the beginning of a kernel and back at its end: the paper's way (section 4.3.2, figure 21).
    Shared = "shared",
    /// Every use is one of global memory.
    Global = "global",
    /// Rows in registers, where compilers keep small arrays by themselves; utilities in shared memory.
    Registers = "registers",
}

named! {
    /// How a thread finds its sequence: the paper's array sequencesPerLevel.
    Lists:
    /// From the list of its level by loads of read-only data, which go through the texture cache: what stands for the paper's texture on current cards.
    ReadOnly = "read-only",
    /// From the same list by ordinary loads.
    Global = "global",
    /// From the number of the level's first sequence, without a list; only where sequences are numbered level by level.
    Computed = "computed",
}

/// Threads of a block that the kernels take.
pub const BLOCK_SIZES: [u32; 4] = [32, 64, 128, 256];

/// [`BLOCK_SIZES`] as a text for errors and help: `32, 64, 128 or 256`.
pub fn block_sizes() -> String {
    let [sizes @ .., last] = BLOCK_SIZES.map(|size| size.to_string());
    format!("{} or {last}", sizes.join(", "))
}

/// Options of a [`Run`](super::Run). The defaults are the paper's.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// The program.
    pub program: Program,
    /// Threads of a block of the GPU, one of [`BLOCK_SIZES`]. The paper found 64 to be best (section 2.3.1).
    pub block: u32,
    /// Threads of the iterative program. The paper's: 8.
    pub threads: usize,
    /// Seed of the deals.
    pub seed: u64,
    /// Arithmetic on the GPU, `f32` or `f64`; programs on the CPU are in `f64`.
    pub precision: Precision,
    /// Where regrets, averages and utilities are while they are worked on. The program `graph` keeps rows in registers.
    pub rows: Rows,
    /// What is small and only read in constant memory, where the parameters of a launch lie: the deal; without it in global memory. The program `graph` keeps its
    /// deals in global memory.
    pub constant: bool,
    /// How a thread finds its sequence. The program `graph` computes it.
    pub lists: Lists,
    /// The lists of all levels flattened into one array, which one copy brings to the device; without it an array a level, and a copy for each.
    pub flattened: bool,
    /// Sequences numbered level by level (figure 19); without it depth first, as a recursive program meets them.
    pub renumbered: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            program: Program::Levels,
            block: 64,
            threads: 8,
            seed: 1,
            precision: Precision::F32,
            rows: Rows::Shared,
            constant: true,
            lists: Lists::ReadOnly,
            flattened: true,
            renumbered: true,
        }
    }
}

impl Options {
    /// # Errors
    /// [`Error::Option`] for a value that is not allowed.
    pub(super) fn check(&self) -> Result<()> {
        if !BLOCK_SIZES.contains(&self.block) {
            return Err(Error::option("block", self.block, block_sizes()));
        }
        if !(1..=1024).contains(&self.threads) {
            return Err(Error::option("threads", self.threads, "1 to 1024"));
        }
        if !matches!(self.precision, Precision::F32 | Precision::F64) {
            return Err(Error::option("precision", self.precision, "f32 or f64 where deals are sampled one by one"));
        }
        if self.lists == Lists::Computed && !self.renumbered {
            return Err(Error::option("lists", self.lists, "another where sequences are not numbered level by level"));
        }
        Ok(())
    }
}
