#![allow(clippy::excessive_precision, reason = "digits as printed")]

//! Fig. 6: what the paper's program printed of one search of Gomoku.
//!
//! The text at hand was read by a machine from a small print, so some digits are wrong. The constants are the numbers that the rest of the figure confirms, or gives;
//! [`MISREAD`] has those that the text has otherwise. [`OTHERS`] are as read. The tests of this file name every misread number and show what follows from the others.

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
/// GiB for the trees, `device_memory`.
pub const DEVICE_MEMORY_GB: f64 = 16.0;
/// Playouts of all trees: `n_root` of the best action and of four other lines.
pub const N_ROOT: u64 = 531_590_912;
/// Steps.
pub const STEPS: u64 = 3520;
/// Steps a second.
pub const STEPS_PER_SECOND: f64 = 117.324_774_709_486_49;
/// Milliseconds of the search, and of its steps.
pub const MS: (f64, f64) = (30_002.188_444_137_573, 30_000.971_794_128_418);
/// Playouts a second, from the playouts and the time.
pub const PLAYOUTS_PER_SECOND: f64 = N_ROOT as f64 / MS.0 * 1e3;
/// Mean milliseconds of a step, from the time of all steps and their number.
pub const MEAN_STEP_MS: f64 = MS.1 / STEPS as f64;
/// Mean milliseconds of selection, expansion, playouts and backup. The third is the largest number that differs in one digit from the one read and with which the
/// stages are no longer than the step.
pub const MEAN_STAGE_MS: [f64; 4] =
    [0.109_309_770_844_199_45, 0.291_663_564_374_452_07, 7.829_155_975_796_959, 0.292_741_188_806_288_44];
/// Milliseconds of the reduction over trees.
pub const REDUCE_OVER_TREES_MS: f64 = 0.151_157_379_150_390_62;
/// Mean depth of the trees' nodes, and the largest.
pub const DEPTH: (f64, u32) = (4.535_414_011_879_959_5, 8);
/// Mean and largest number of nodes of a tree.
pub const SIZE: (f64, u64) = (519_109.5, 522_097);
/// The best action, as in the line `best`; the list of actions has the same numbers, and the name read as `HiO`.
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
    other(224, "015", 130_319, 0.421_406_120_653_973_54, 0.437_567_310_306_082),
];

/// What the lines of [`OTHERS`] must be where they were misread; empty where they were not.
pub const OTHERS_FOLLOW: [&str; 6] =
    ["ucb 0.449821", "wins 132358, ucb 0.444120", "", "", "N15, q 0.421526", "O15, ucb 0.437527"];

const fn other(index: u32, name: &'static str, n_wins: u64, q: f64, ucb: f64) -> Action {
    Action { index, name, n: 309_248, n_wins, q, ucb }
}

/// Legal actions of the position, as the counts give them: see the tests of this file.
pub const ROOT_ACTIONS: u32 = 152;

/// A number that the text at hand has wrong.
#[derive(Clone, Copy, Debug)]
pub struct Misread {
    /// What it is: a row of the item `figure6`, where it has one.
    pub what: &'static str,
    /// The number in the text.
    pub as_read: f64,
    /// The number that follows from the others.
    pub follows: f64,
    /// How it follows.
    pub from: &'static str,
}

/// Every misread number of the figure but the wins, values and bounds of single actions, which are in [`OTHERS`].
pub const MISREAD: [Misread; 5] = [
    Misread {
        what: "n_root of A1, B1, C1",
        as_read: 531_500_912.0,
        follows: N_ROOT as f64,
        from: "the other five lines; a multiple of m",
    },
    Misread {
        what: "playouts",
        as_read: 53_150_912.0,
        follows: N_ROOT as f64,
        from: "n_root of the best action; a digit is missing",
    },
    Misread {
        what: "playouts a second",
        as_read: 17_718_604.542_068_43,
        follows: PLAYOUTS_PER_SECOND,
        from: "playouts / total time",
    },
    Misread {
        what: "mean step, ms",
        as_read: 8.652_003_356_064_65,
        follows: MEAN_STEP_MS,
        from: "time of the loop / steps",
    },
    Misread {
        what: "mean playout, ms",
        as_read: 7.889_155_975_796_959,
        follows: MEAN_STAGE_MS[2],
        from: "largest with one other digit with which the stages fit into the step",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn q(action: &Action) -> f64 {
        action.n_wins as f64 / action.n as f64
    }

    /// Equation (8): sums over all trees, and `n_root` is the playouts of all trees.
    fn width(action: &Action) -> f64 {
        UCB_C * ((N_ROOT as f64).ln() / action.n as f64).sqrt()
    }

    fn ucb(action: &Action) -> f64 {
        q(action) + width(action)
    }

    fn misread(what: &str) -> Misread {
        MISREAD.into_iter().find(|misread| misread.what == what).expect("a misread number")
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
        assert_eq!(wrong_names, [223, 224], "N15 read as M15, O15 as 015");
        let wrong_q: Vec<u32> = OTHERS.iter().filter(|of| (q(of) - of.q).abs() > 1e-9).map(|of| of.index).collect();
        // B1: 132358 wins give the value to all digits; N15: the wins give 0.42152576572847683, two digits of which were misread.
        assert_eq!(wrong_q, [1, 223]);
        assert!(
            (132_358.0 / 309_248.0 - OTHERS[1].q).abs() < 1e-9
                && (q(&OTHERS[4]) - 0.421_525_765_728_476_83).abs() < 1e-15
        );
        let wrong_ucb: Vec<u32> =
            OTHERS.iter().filter(|of| (ucb(of) - of.ucb).abs() > 1e-6).map(|of| of.index).collect();
        assert_eq!(wrong_ucb, [0, 1, 224]);
        // A1 lost a 9, B1 has a 7 for a 4, O15 lost a 2. The values of these three are as printed, so the bounds follow from them.
        let bounds = [(0, 0.449_821_070_848_488_94), (1, 0.444_120_144_730_939_3), (224, 0.437_526_731_030_608_2)];
        for (index, bound) in bounds {
            let of = OTHERS.iter().find(|of| of.index == index).expect("a line");
            assert!((of.q + width(of) - bound).abs() < 1e-9, "{index}: {}", of.q + width(of));
        }
        // The same, in the words of the page.
        let [a1, b1, _, _, n15, o15] = &OTHERS;
        let bound = |of: &Action| format!("ucb {:.6}", of.q + width(of));
        let follow = [
            bound(a1),
            format!("wins {:.0}, {}", b1.q * b1.n as f64, bound(b1)),
            String::new(),
            String::new(),
            format!("{}, q {:.6}", name(n15.index), q(n15)),
            format!("{}, {}", name(o15.index), bound(o15)),
        ];
        assert_eq!(OTHERS_FOLLOW, follow.each_ref().map(String::as_str));
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
    fn counts_of_playouts_are_misread_in_four_places() {
        let (m, _) = SHAPE;
        // `n_root` of A1, B1 and C1: one digit other than in the other five lines, and no whole batches of playouts.
        let of_lines = misread("n_root of A1, B1, C1").as_read as u64;
        let (read, right) = (of_lines.to_string(), N_ROOT.to_string());
        assert_eq!(read.len(), right.len());
        assert_eq!(read.chars().zip(right.chars()).filter(|(read, right)| read != right).count(), 1);
        assert!(!of_lines.is_multiple_of(m) && N_ROOT.is_multiple_of(m));
        // `playouts`: the first 9 of `n_root` is missing, and the rate printed behind it is ten times as high.
        let playouts = misread("playouts").as_read;
        let mut without_a_digit = right;
        without_a_digit.remove(4);
        assert_eq!((playouts as u64).to_string(), without_a_digit);
        assert!((misread("playouts a second").as_read / (playouts / MS.0 * 1e3) - 10.0).abs() < 0.01);
    }

    #[test]
    fn a_rate_and_two_times_are_misread() {
        // 17718404 was read as 17718604: steps a second and playouts a step give the rate too.
        let rate = STEPS_PER_SECOND * N_ROOT as f64 / STEPS as f64;
        let as_read = misread("playouts a second").as_read;
        assert!((PLAYOUTS_PER_SECOND - rate).abs() < 1e-3, "{rate}");
        assert!((as_read - rate - 200.0).abs() < 1e-3);
        // 8.523003350604665 was read as 8.65200335606465: with that the loop would be longer than the search.
        assert!((MEAN_STEP_MS - 8.523_003_350_604_665).abs() < 1e-12, "{MEAN_STEP_MS}");
        assert!(misread("mean step, ms").as_read * STEPS as f64 > MS.0);
        // The stages are parts of the step. As read they are longer; of all numbers with one other digit 7.829 is the largest that fits.
        let as_read = misread("mean playout, ms").as_read;
        let rest = MEAN_STAGE_MS[0] + MEAN_STAGE_MS[1] + MEAN_STAGE_MS[3];
        assert!(rest + as_read > MEAN_STEP_MS);
        let text = as_read.to_string();
        let digits = text.as_str();
        let fits = (0..digits.len())
            .filter(|&at| digits.as_bytes()[at] != b'.')
            .flat_map(|at| (0..10).map(move |digit| format!("{}{digit}{}", &digits[..at], &digits[at + 1..])))
            .map(|other| other.parse::<f64>().expect("a number"))
            .filter(|ms| rest + ms <= MEAN_STEP_MS)
            .fold(0.0, f64::max);
        assert_eq!(fits, MEAN_STAGE_MS[2]);
        assert!(MS.0 - MS.1 > REDUCE_OVER_TREES_MS, "the reductions follow the loop");
        assert!(DEPTH.0 < f64::from(DEPTH.1) && SIZE.0 <= SIZE.1 as f64);
    }

    #[test]
    fn counts_of_31_bits_overflow_after_eight_minutes() {
        // The counts of 31 bits are those of a tree; `n_root` and its rate are of all.
        let (_, trees) = SHAPE;
        let seconds = f64::from(i32::MAX) * trees as f64 / PLAYOUTS_PER_SECOND;
        assert!((484.0..486.0).contains(&seconds), "{seconds}");
    }
}
