#![allow(clippy::excessive_precision, reason = "digits as printed")]

//! Fig. 6: what the paper's program printed of one search of Gomoku.
//!
//! The text at hand was read by a machine from a small print, so single digits may be misread; the tests of this file hold the numbers to each other and name those that
//! can only be misread.

/// A line of the figure's actions.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    /// Index.
    pub index: u32,
    /// Name.
    pub name: &'static str,
    /// Playouts through it.
    pub n: u64,
    /// Of these, won.
    pub n_wins: u64,
    /// Value.
    pub q: f64,
    /// Upper confidence bound.
    pub ucb: f64,
}

/// Exploration constant of the search.
pub const UCB_C: f64 = 2.0;
/// Playouts m and trees T.
pub const SHAPE: (u64, u64) = (256, 4);
/// Playouts of all trees: `n_root` of the best action and `playouts`.
pub const N_ROOT: u64 = 531_590_912;
/// Steps.
pub const STEPS: u64 = 3520;
/// Steps a second.
pub const STEPS_PER_SECOND: f64 = 117.324_774_709_486_49;
/// Playouts a second, as read.
pub const PLAYOUTS_PER_SECOND: f64 = 17_718_604.542_068_43;
/// Milliseconds of the search, and of its steps.
pub const MS: (f64, f64) = (30_002.188_444_137_573, 30_000.971_794_128_418);
/// Milliseconds of the reduction over trees.
pub const REDUCE_OVER_TREES_MS: f64 = 0.151_157_379_150_390_62;
/// Mean milliseconds of a step, as read.
pub const MEAN_LOOP_MS: f64 = 8.652_003_356_064_65;
/// Mean milliseconds of selection, expansion, playouts and backup, as read.
pub const MEAN_STAGE_MS: [f64; 4] =
    [0.109_309_770_844_199_45, 0.291_663_564_374_452_07, 7.889_155_975_796_959, 0.292_741_188_806_288_44];
/// Mean depth of the trees' nodes, and the largest.
pub const DEPTH: (f64, u32) = (4.535_414_011_879_959_5, 8);
/// Mean and largest number of nodes of a tree.
pub const SIZE: (f64, u64) = (519_109.5, 522_097);
/// The best action.
pub const BEST: Action = Action {
    index: 142,
    name: "H10",
    n: 429_235_200,
    n_wins: 233_188_003,
    q: 0.543_263_933_153_665,
    ucb: 0.543_696_633_523_603_2,
};
/// The first and the last three of the other actions, as read; all have been visited equally often.
pub const OTHERS: [Action; 6] = [
    other(0, "A1", 134_121, 0.433_700_460_471_854_3, 0.448_210_708_484_889_4),
    other(1, "B1", 132_368, 0.427_999_534_354_304_66, 0.447_120_144_730_939_3),
    other(2, "C1", 130_400, 0.421_668_046_357_615_9, 0.437_788_656_734_250_55),
    other(222, "M15", 132_997, 0.430_065_837_127_483_4, 0.446_186_447_504_118_07),
    other(223, "M15", 130_356, 0.421_625_765_729_476_83, 0.437_646_376_105_111_5),
    other(224, "O15", 130_319, 0.421_406_120_653_973_54, 0.437_567_310_306_082),
];

const fn other(index: u32, name: &'static str, n_wins: u64, q: f64, ucb: f64) -> Action {
    Action { index, name, n: 309_248, n_wins, q, ucb }
}

/// Legal actions of the position, as the counts give them: see the tests of this file.
pub const ROOT_ACTIONS: u32 = 152;

#[cfg(test)]
mod tests {
    use super::*;

    fn q(action: &Action) -> f64 {
        action.n_wins as f64 / action.n as f64
    }

    /// Equation (8): sums over all trees, and `n_root` is the playouts of all trees.
    fn ucb(action: &Action) -> f64 {
        q(action) + UCB_C * ((N_ROOT as f64).ln() / action.n as f64).sqrt()
    }

    #[test]
    fn the_best_actions_value_and_bound_follow_from_its_counts() {
        assert!((q(&BEST) - BEST.q).abs() < 1e-15);
        // The program computes in single precision.
        assert!((ucb(&BEST) - BEST.ucb).abs() < 1e-7, "{}", ucb(&BEST));
        // The root of a single tree would give another bound: it is the sum over the trees that is used.
        let of_one_tree = BEST.q + UCB_C * ((N_ROOT as f64 / 4.0).ln() / BEST.n as f64).sqrt();
        assert!((of_one_tree - BEST.ucb).abs() > 1e-5);
    }

    #[test]
    fn the_other_lines_follow_from_their_counts_but_for_digits_misread() {
        // Names: rows of 15, letter and number.
        let name = |index: u32| format!("{}{}", char::from(b'A' + (index % 15) as u8), index / 15 + 1);
        assert_eq!(name(BEST.index), BEST.name);
        let wrong_names: Vec<u32> = OTHERS.iter().filter(|of| name(of.index) != of.name).map(|of| of.index).collect();
        assert_eq!(wrong_names, [223], "N15 read as M15");
        let wrong_q: Vec<u32> = OTHERS.iter().filter(|of| (q(of) - of.q).abs() > 1e-9).map(|of| of.index).collect();
        // B1: 132358 wins give the value to all digits; N15: the wins give 0.42152576572847683, two digits of which were misread.
        assert_eq!(wrong_q, [1, 223]);
        assert!(
            (132_358.0 / 309_248.0 - OTHERS[1].q).abs() < 1e-9
                && (q(&OTHERS[4]) - 0.421_525_765_728_476_83).abs() < 1e-15
        );
        let wrong_ucb: Vec<u32> =
            OTHERS.iter().filter(|of| (ucb(of) - of.ucb).abs() > 1e-6).map(|of| of.index).collect();
        assert_eq!(wrong_ucb, [0, 1, 224], "single digits dropped or doubled");
    }

    #[test]
    fn steps_playouts_and_sizes_agree() {
        let (m, trees) = SHAPE;
        assert_eq!((N_ROOT % m, BEST.n % (m * trees), OTHERS[0].n % (m * trees)), (0, 0, 0), "whole batches");
        assert!((STEPS as f64 / MS.0 * 1e3 - STEPS_PER_SECOND).abs() < 1e-9);
        let nodes = SIZE.0 * trees as f64;
        assert_eq!(nodes.fract(), 0.0, "a mean of four whole numbers");
        // Each node but the roots got one batch when it was made; what is left are batches of leaves that were played out themselves: 93 of 14,080.
        let again = N_ROOT / m - (nodes as u64 - trees);
        assert_eq!(again, 93);
        // The other leaves grew by 148.45 children each.
        let children = (nodes - trees as f64) / (STEPS * trees - again) as f64;
        assert!((children - 148.45).abs() < 0.01, "{children}");
        // An action that was selected twice in each tree has 1 + (b - 1) + (b - 2) batches a tree: b = 152 at the root, so 73 stones stand on the board.
        let b = u64::from(ROOT_ACTIONS);
        assert_eq!(OTHERS[0].n, m * trees * (1 + (b - 1) + (b - 2)));
    }

    #[test]
    fn playouts_a_second_and_stage_times_hold_two_misread_digits() {
        let rate = N_ROOT as f64 / MS.0 * 1e3;
        assert!((rate - 17_718_404.542_068_43).abs() < 1e-3, "{rate}: 17718404 was read as 17718604");
        assert!((PLAYOUTS_PER_SECOND - rate - 200.0).abs() < 1e-3);
        let mean_loop = MS.1 / STEPS as f64;
        assert!((mean_loop - 8.523_003_350_604_6).abs() < 1e-6, "8.52300335… was read as {MEAN_LOOP_MS}");
        // As read, the stages take longer than the step they are parts of, by what one digit of the playouts' time (7.829 for 7.889) explains.
        let sum: f64 = MEAN_STAGE_MS.iter().sum();
        assert!(sum > mean_loop && (0.0..1e-3).contains(&(mean_loop - (sum - 0.06))));
        assert!(MS.0 - MS.1 > REDUCE_OVER_TREES_MS, "the reductions follow the loop");
        assert!(DEPTH.0 < f64::from(DEPTH.1) && SIZE.0 <= SIZE.1 as f64);
    }

    #[test]
    fn counts_of_31_bits_would_overflow_in_two_minutes() {
        let seconds = f64::from(i32::MAX) / (N_ROOT as f64 / MS.0 * 1e3);
        assert!((120.0..122.0).contains(&seconds), "{seconds}");
    }
}
