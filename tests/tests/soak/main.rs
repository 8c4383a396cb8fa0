//! What is done to files: programs are killed while they write them, what reads them is given mutants, and two programs write the same one; and what a command takes at most.
//!
//! A few rounds of each here, on Linux: `/proc` and `ulimit -v` say and bound what a reader takes. `cargo xtask soak` runs many, and puts the sums into `docs/reliability.md`.

#![cfg(target_os = "linux")]

mod kills;
mod limits;
mod mutants;
mod rounds;
mod writers;
