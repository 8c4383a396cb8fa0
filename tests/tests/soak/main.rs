//! What is done to files: programs are killed while they write them, what reads them is given mutants, and two programs write the same one.
//!
//! A few rounds of each here. `cargo xtask soak` runs many, and puts the sums into `docs/reliability.md`.

mod kills;
mod mutants;
mod rounds;
mod writers;
