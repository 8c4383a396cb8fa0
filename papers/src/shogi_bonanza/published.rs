//! What the paper measured, to stand beside what is measured here.
//!
//! 6.3 million positions after all legal moves, 50 updates, 13 evaluations an update: 1,457 s on one core, 125 s on a GeForce GTX 260 (11.7 times), 3.22 times with MPI on
//! four processes.

use serde::Serialize;

/// Values that are changed one by one in an update.
pub const LEARNT: u32 = 12;

/// Seconds of the paper's whole job on one core.
pub const CPU_SECONDS: f64 = 1457.0;
/// Seconds of it on its GPU.
pub const GPU_SECONDS: f64 = 125.0;
/// Its GPU.
pub const GPU: &str = "GeForce GTX 260";
/// Evaluations of positions of the whole job.
pub const EVALUATIONS: f64 = 6.3e6 * 50.0 * 13.0;
/// Processes of its best run with MPI, and how many times faster than one.
pub const MPI: (u32, f64) = (4, 3.22);

/// The speed-up that the paper calls ideal: of the objective and `LEARNT` changed ones, the objective is computed by every process.
pub fn ideal(ranks: u32) -> f64 {
    let changed = f64::from(LEARNT);
    (changed + 1.0) / (changed / f64::from(ranks) + 1.0)
}

/// One line of Table 6.
#[derive(Clone, Debug, Serialize)]
pub struct Time {
    /// What ran.
    pub engine: String,
    /// Where.
    pub device: String,
    /// Threads of the CPU, 0 on a GPU.
    pub threads: usize,
    /// Updates that were measured.
    pub iterations: u32,
    /// Evaluations of a position that they stand for.
    pub evaluations: f64,
    /// Time.
    pub seconds: f64,
}

impl Time {
    /// Positions a second.
    pub fn rate(&self) -> f64 {
        self.evaluations / self.seconds.max(1e-12)
    }
}

/// One line of Table 2.
#[derive(Clone, Debug, Serialize)]
pub struct RankTime {
    /// Processes, or threads that act as such.
    pub ranks: u32,
    /// Time.
    pub seconds: f64,
    /// Against one.
    pub speed_up: f64,
    /// (L + 1) / (L / P + 1).
    pub ideal: f64,
    /// The same with whole values.
    pub ideal_of_whole: f64,
    /// Positions a second.
    pub rate: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ideals_are_those_of_the_formula() {
        assert_eq!((ideal(1), ideal(4), ideal(12)), (1.0, 3.25, 6.5));
        // No value can be divided: the largest share decides.
        assert!(ideal(5) > crate::shogi_bonanza::ideal_speed_up(5));
    }
}
