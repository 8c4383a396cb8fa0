//! All that the paper measured and printed, each with its location, to stand beside what is measured here.
//!
//! Locations are sections and tables; the sections begin on pages 3, 4, 6 (MPI), 11 (CUDA), 20 (results) and 24.

use serde::Serialize;

/// Values that are changed one by one in an update, L (section 2).
pub const LEARNT: u32 = 12;

/// What the learning is run with (section 5, and under Tables 2 and 6).
pub mod conditions {
    /// Games.
    pub const GAMES: u32 = 2000;
    /// First half-move of a parent, and the one after the last: 40 to 79.
    pub const PLIES: (u32, u32) = (40, 80);
    /// Parents are told as "just under" so many.
    pub const PARENTS_BELOW: u64 = 80_000;
    /// Positions that are evaluated in each pass, K.
    pub const CHILDREN: u64 = 6_315_907;
    /// Updates of Tables 2 and 6.
    pub const ITERATIONS: u32 = 50;
    /// Updates of Figures 1 and 2 and of Table 7.
    pub const FIGURE_ITERATIONS: u32 = 100;
    /// Slope of the sigmoid.
    pub const A: f64 = 3.0;
    /// First step of the values, in pawns.
    pub const H: f64 = 0.3;
    /// What an update leaves of the step.
    pub const FACTOR: f64 = 0.97;
    /// Difference by which the signs are found.
    pub const DELTA: f64 = 0.05;
    /// `FACTOR` to the power of `FIGURE_ITERATIONS`, as printed.
    pub const FACTOR_AFTER_FIGURE: f64 = 0.048;
    /// First values of Figures 1 and 2, in pawns.
    pub const FIRST_VALUES: [f64; 2] = [3.0, 5.0];
    /// Legal moves of a position on average (section 2).
    pub const LEGAL_MOVES: f64 = 80.0;
}

/// A row of Table 2 (section 3): the program under MPI on a Xeon E5430 of 2.66 GHz.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Processes {
    /// Processes.
    pub processes: u32,
    /// Seconds of the whole job.
    pub seconds: f64,
    /// Against one, as printed.
    pub speed_up: f64,
}

/// Table 2.
pub const TABLE2: [Processes; 4] = [
    Processes { processes: 1, seconds: 1313.7, speed_up: 1.00 },
    Processes { processes: 2, seconds: 709.4, speed_up: 1.85 },
    Processes { processes: 3, seconds: 507.2, speed_up: 2.59 },
    Processes { processes: 4, seconds: 407.6, speed_up: 3.22 },
];
/// The ceiling of four processes (section 3, under Table 2).
pub const CEILING_OF_FOUR: f64 = 3.25;
/// Evaluations a second of one process, in millions (section 3, under Table 2).
pub const MILLION_EVALUATIONS_A_SECOND: f64 = 3.1;

/// Seconds of the whole job on one core, of the program that checks the GPU's (section 4, Table 6).
pub const CPU_SECONDS: f64 = 1456.6;
/// Seconds of it on the GPU (Table 6).
pub const GPU_SECONDS: f64 = 125.0;
/// Their ratio as printed (Table 6); "about 12" in the text and the summary.
pub const GPU_RATIO: f64 = 11.66;
/// The ratio in words (under Table 6, and section 6).
pub const ABOUT: f64 = 12.0;
/// The paper's CPU.
pub const CPU: &str = "Xeon E5430, one core";
/// The paper's GPU: 216 cores, 896 MB.
pub const GPU: &str = "GeForce GTX 260";
/// Evaluations of positions of the whole job: `L + 1` passes an update.
pub const EVALUATIONS: f64 = conditions::CHILDREN as f64 * conditions::ITERATIONS as f64 * (LEARNT as f64 + 1.0);

/// Names of the kinds as Table 7 has them, the pawn first.
pub const KINDS: [&str; 13] = ["歩", "香", "桂", "銀", "金", "角", "飛", "と", "成香", "成桂", "成銀", "馬", "龍"];
/// Table 7 (section 5): the values after 100 updates, where a pawn is 100; from 300, and from 500.
pub const TABLE7: [[u32; 13]; 2] = [
    [100, 190, 201, 221, 227, 267, 289, 481, 354, 336, 339, 394, 424],
    [100, 195, 208, 230, 239, 285, 321, 493, 362, 344, 343, 413, 459],
];

/// A progress line (section 4, after Table 5): J, then the values of lance to promoted rook, as printed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The objective.
    pub j: f64,
    /// L N S G B R +P +L +N +S +B +R.
    pub values: [f64; 12],
}

const fn line(j: f64, values: [f64; 12]) -> Line {
    Line { j, values }
}

/// The eleven progress lines of a run on 100 games, half-moves 40 to 59 (section 4, after Table 5).
pub const PROGRESS: [Line; 11] = [
    line(0.376548, [3.00, 3.00, 3.00, 3.00, 3.00, 3.00, 3.00, 3.00, 3.00, 3.00, 3.00, 3.00]),
    line(0.375239, [2.70, 3.30, 3.30, 2.70, 2.70, 2.70, 3.30, 3.30, 2.70, 2.70, 3.30, 3.30]),
    line(0.374835, [2.41, 3.59, 3.59, 2.41, 2.41, 2.41, 3.59, 3.59, 2.41, 2.41, 3.59, 3.59]),
    line(0.374846, [2.13, 3.87, 3.87, 2.13, 2.13, 2.13, 3.87, 3.87, 2.13, 2.13, 3.87, 3.87]),
    line(0.374677, [2.40, 4.15, 3.60, 1.85, 2.40, 2.40, 4.15, 4.15, 1.85, 2.40, 3.60, 3.60]),
    line(0.374675, [2.67, 4.41, 3.33, 2.12, 2.13, 2.13, 4.41, 4.41, 1.59, 2.13, 3.33, 3.87]),
    line(0.374624, [2.41, 4.67, 3.59, 2.38, 2.39, 2.39, 4.67, 4.67, 1.84, 1.88, 3.59, 3.61]),
    line(0.374699, [2.66, 4.42, 3.34, 2.13, 2.14, 2.14, 4.92, 4.42, 2.09, 2.13, 3.84, 3.86]),
    line(0.374605, [2.42, 4.66, 3.10, 2.37, 2.39, 2.39, 5.16, 4.66, 1.85, 1.88, 3.60, 3.61]),
    line(0.374605, [2.65, 4.90, 2.86, 2.13, 2.15, 2.62, 4.93, 4.43, 2.09, 1.65, 3.83, 3.85]),
    line(0.374602, [2.88, 4.67, 2.64, 2.36, 2.38, 2.39, 5.16, 4.66, 2.32, 1.88, 3.61, 4.08]),
];
/// What that run was on, and its time.
pub mod progress_run {
    /// Games.
    pub const GAMES: u32 = 100;
    /// First half-move, and the one after the last.
    pub const PLIES: (u32, u32) = (40, 60);
    /// Positions.
    pub const CHILDREN: u64 = 126_417;
    /// Memory that the program says it takes, in MB.
    pub const MEGABYTES: f64 = 22.0;
    /// Seconds.
    pub const SECONDS: f64 = 5.023;
}

/// Memory of a position and all that belongs to it (section 4, under equation 6).
pub mod memory {
    /// Squares and counts of hands.
    pub const USED: u64 = 95;
    /// The same, filled up for coalesced reading.
    pub const BYTES: u64 = 96;
    /// With the played child's number, the side and the value, 4 bytes each.
    pub const WHOLE: u64 = 108;
    /// Memory that is taken to be there.
    pub const AVAILABLE: u64 = 900_000_000;
    /// Positions that fit, in millions as printed.
    pub const MILLION_POSITIONS: f64 = 8.33;
    /// Parents that this is said to stand for.
    pub const PARENTS: u64 = 100_000;
}

/// The most blocks along one dimension of a grid on the paper's GPU: compute capability 1.3 (NVIDIA, CUDA Programming Guide 2.2, appendix A.1.1).
pub const MOST_BLOCKS: u64 = 65_535;

/// The speed-up that the paper calls ideal: of the objective and `LEARNT` changed ones, the objective is computed by every process.
pub fn ideal(ranks: u32) -> f64 {
    let changed = f64::from(LEARNT);
    (changed + 1.0) / (changed / f64::from(ranks) + 1.0)
}

/// The step of the values before update `update`, from 0.
pub fn step_at(update: u32) -> f64 {
    conditions::H * conditions::FACTOR.powi(update as i32)
}

/// Where the progress lines do not follow `v ∓ h` with `h` = 0.3 · 0.97ᵏ: line, value (from 0), what it should be, what is printed. The signs are those of the printed differences; all
/// updates are added up unrounded, and compared as rounded to two places.
pub fn progress_faults(lines: &[Line]) -> Vec<(usize, usize, f64, f64)> {
    let mut faults = Vec::new();
    for value in 0..LEARNT as usize {
        let mut exact = lines.first().map_or(0.0, |line| line.values[value]);
        for (update, pair) in (0..).zip(lines.windows(2)) {
            let (before, after) = (pair[0].values[value], pair[1].values[value]);
            exact += if after > before { step_at(update) } else { -step_at(update) };
            // Half a unit of the last digit, and the rounding of a sum of a few numbers in binary.
            if (exact - after).abs() > 0.005 + 1e-9 {
                faults.push((update as usize + 1, value, exact, after));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shogi_bonanza::kernels::sum;

    #[test]
    fn ideals_are_those_of_the_formula() {
        assert_eq!((ideal(1), ideal(4), ideal(12)), (1.0, CEILING_OF_FOUR, 6.5));
        // No value can be divided: the largest share decides.
        assert!(ideal(5) > crate::shogi_bonanza::ideal_speed_up(5));
        // No measured speed-up is above its ceiling; all are within two per cent of it.
        for row in TABLE2 {
            let ceiling = ideal(row.processes);
            assert!(row.speed_up <= ceiling && row.speed_up > 0.98 * ceiling, "{row:?}");
        }
    }

    /// Whether a printed ratio can come of two printed numbers, each rounded to a digit.
    fn can_be(printed: f64, places: f64, above: f64, below: f64, digit: f64) -> bool {
        let (low, high) =
            ((above - digit / 2.0) / (below + digit / 2.0), (above + digit / 2.0) / (below - digit / 2.0));
        printed + places / 2.0 >= low && printed - places / 2.0 <= high
    }

    #[test]
    fn printed_numbers_agree_with_each_other() {
        for row in TABLE2 {
            assert!((TABLE2[0].seconds / row.seconds - row.speed_up).abs() < 0.005, "{row:?}");
        }
        // The ratio of the printed times is 11.65; 11.66 can come of the times before they were rounded.
        assert!((CPU_SECONDS / GPU_SECONDS - 11.65).abs() < 0.005);
        assert!((CPU_SECONDS / GPU_SECONDS - GPU_RATIO).abs() > 0.005);
        assert!(can_be(GPU_RATIO, 0.01, CPU_SECONDS, GPU_SECONDS, 0.1));
        assert!(!can_be(11.67, 0.01, CPU_SECONDS, GPU_SECONDS, 0.1));
        // Evaluations a second of one process, and 0.97^100.
        assert!((EVALUATIONS / TABLE2[0].seconds / 1e6 - MILLION_EVALUATIONS_A_SECOND).abs() < 0.05);
        let factor = conditions::FACTOR.powi(conditions::FIGURE_ITERATIONS as i32);
        assert!((factor - conditions::FACTOR_AFTER_FIGURE).abs() < 0.0005);
        // Memory: 8.33 million positions, and with 81 children a parent (equation 6) a hundred thousand parents.
        assert_eq!(memory::WHOLE, memory::BYTES + 4 + 4 + 4);
        let positions = memory::AVAILABLE / memory::WHOLE;
        assert!((positions as f64 / 1e6 - memory::MILLION_POSITIONS).abs() < 0.005);
        let parents = positions as f64 / (conditions::LEGAL_MOVES + 1.0);
        assert!((parents / memory::PARENTS as f64 - 1.0).abs() < 0.05, "{parents}");
        // 2000 games of 40 half-moves are 80,000 parents; fewer than that with 80 moves and the played one each.
        let (first, end) = conditions::PLIES;
        assert_eq!(u64::from(conditions::GAMES * (end - first)), conditions::PARENTS_BELOW);
        let parents = conditions::CHILDREN as f64 / (conditions::LEGAL_MOVES + 1.0);
        assert!(parents < conditions::PARENTS_BELOW as f64 && parents > 0.97 * conditions::PARENTS_BELOW as f64);
    }

    /// Iterations · N · 80 · L leaves out the present values, and the played move that is there twice.
    #[test]
    fn the_work_is_more_than_is_said() {
        let per_update = conditions::PARENTS_BELOW as f64 * conditions::LEGAL_MOVES * f64::from(LEARNT);
        let said = f64::from(conditions::ITERATIONS) * per_update;
        assert_eq!((said, (EVALUATIONS / 1e6).round()), (3.84e9, 4105.0));
        assert!(said < EVALUATIONS);
    }

    /// The lines stand under the call of the CUDA program, but their rate is near that of one core, and their memory is not 108 bytes a position.
    #[test]
    fn the_progress_lines_fit_the_rate_of_one_core() {
        let (gpu, cpu) = (EVALUATIONS / GPU_SECONDS, EVALUATIONS / CPU_SECONDS);
        let rate = progress_run::CHILDREN as f64 * 13.0 * 11.0 / progress_run::SECONDS;
        assert!(rate < gpu / 9.0 && rate < 1.3 * cpu && rate > cpu, "{rate}, {gpu}, {cpu}");
        let bytes = progress_run::MEGABYTES * 1e6 / progress_run::CHILDREN as f64;
        assert!(bytes > 1.5 * memory::WHOLE as f64, "{bytes}");
    }

    #[test]
    fn progress_lines_follow_the_step() {
        assert_eq!(progress_faults(&PROGRESS), []);
        // One digit changed is found.
        let mut lines = PROGRESS;
        lines[4].values[3] += 0.01;
        let faults = progress_faults(&lines);
        assert!(faults.len() == 1 && (faults[0].0, faults[0].1) == (4, 3), "{faults:?}");
        // Every step is one of the sequence, to the rounding of two places.
        for (update, pair) in (0..).zip(PROGRESS.windows(2)) {
            for value in 0..12 {
                let step = (pair[1].values[value] - pair[0].values[value]).abs();
                assert!((step - step_at(update)).abs() <= 0.01 + 1e-9, "{update}, {value}: {step}");
            }
        }
    }

    /// "Nearly the same": the values from 500 are up to 11 per cent above those from 300.
    #[test]
    fn the_two_columns_of_table_7_differ() {
        let ratio = |at: usize| f64::from(TABLE7[1][at]) / f64::from(TABLE7[0][at]);
        assert_eq!(TABLE7[0].len(), KINDS.len());
        let largest = (0..13).map(ratio).fold(0.0, f64::max);
        assert!(largest == ratio(6) && (1.11..1.12).contains(&largest), "{largest}");
        assert!((1..13).all(|at| ratio(at) > 1.0));
        // The last step is far smaller than that: 1.5 hundredths of a pawn.
        assert_eq!(format!("{:.1}", 100.0 * step_at(conditions::FIGURE_ITERATIONS - 1)), "1.5");
    }

    /// Table 3 launches as many blocks along x as there are positions, which that GPU does not do; Table 4 reads two dimensions.
    #[test]
    fn the_grid_of_table_3_is_too_long() {
        const { assert!(conditions::CHILDREN > MOST_BLOCKS && progress_run::CHILDREN > MOST_BLOCKS) };
        assert!(conditions::CHILDREN.div_ceil(u64::from(sum::BLOCK)) <= MOST_BLOCKS);
        const { assert!(conditions::CHILDREN <= MOST_BLOCKS * MOST_BLOCKS) };
    }

    /// What an MPI_Allgather of ⌈L / P⌉ values from each of P processes writes, beyond the twelve that there is room for.
    #[test]
    fn the_all_gather_writes_past_its_array() {
        let written = |processes: u32| processes * LEARNT.div_ceil(processes);
        let beyond: Vec<_> = (1..=8).filter(|&processes| written(processes) > LEARNT).collect();
        assert_eq!(beyond, [5, 7, 8]);
        assert_eq!((written(5), written(7), written(8)), (15, 14, 16));
    }
}
