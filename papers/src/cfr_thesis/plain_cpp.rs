//! Times of a plain C++ program on one core: others' figures, for the peers of this paper and for the bench `cfr`, which reads this file by its path.

/// Milliseconds of a sampled deal of variants C and D: the least and the largest.
pub const MILLISECONDS: [[f64; 2]; 2] = [[3.9, 5.8], [57.0, 91.0]];

/// How they were measured.
pub const SOURCE: &str = "measured once beside this library, in 2026, and not part of this run; program, compiler and processor were not recorded: an order of magnitude only";
