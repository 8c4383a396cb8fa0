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

/// Options of a [`Run`](super::Run).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// The program.
    pub program: Program,
    /// Threads of a block of the GPU: 32, 64, 128 or 256. The dissertation's: 64.
    pub block: u32,
    /// Threads of the iterative program. The dissertation's: 8.
    pub threads: usize,
    /// Seed of the deals.
    pub seed: u64,
    /// Arithmetic on the GPU, `f32` or `f64`; programs on the CPU are in `f64`.
    pub precision: Precision,
    /// Staging in shared memory: a sequence's reaches are read once and its utilities written once; without it every use goes to global memory.
    pub shared: bool,
    /// The deal in constant memory, where the parameters of a launch lie; without it in global memory. The program `graph` keeps its deals in global memory.
    pub constant: bool,
    /// A thread for each sequence of a level; without it one thread goes through all of them.
    pub flattened: bool,
    /// Sequences numbered level by level; without it depth first, as a recursive program meets them, and a list tells each level's.
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
            shared: true,
            constant: true,
            flattened: true,
            renumbered: true,
        }
    }
}

impl Options {
    /// # Errors
    /// [`Error::Option`] for a value that is not allowed.
    pub(super) fn check(&self) -> Result<()> {
        if ![32, 64, 128, 256].contains(&self.block) {
            return Err(Error::option("block", self.block, "32, 64, 128 or 256"));
        }
        if !(1..=1024).contains(&self.threads) {
            return Err(Error::option("threads", self.threads, "1 to 1024"));
        }
        if !matches!(self.precision, Precision::F32 | Precision::F64) {
            return Err(Error::option("precision", self.precision, "f32 or f64 where deals are sampled one by one"));
        }
        Ok(())
    }
}
