//! What the paper prints: its tables, and the figures that its text claims, as printed, with their locations.

mod times;
mod types;

pub use self::times::TIMES;
pub use self::types::{Claim, Measured, MemoryUse, Parameters, Times, TreeCounts, Variant};
use super::options::Program;
use crate::experiment::statistics::mean;

/// Parameters of the games, sections 5.1 to 5.4, pp. 36 to 41.
pub const PARAMETERS: [Parameters; 4] = [
    Parameters {
        players: 2,
        rounds: 1,
        cards: 4,
        suits_and_ranks: Some([1, 4]),
        hole_cards: 1,
        board_cards: 0,
        raises: None,
    },
    Parameters { players: 2, rounds: 1, cards: 36, suits_and_ranks: None, hole_cards: 2, board_cards: 5, raises: None },
    Parameters {
        players: 5,
        rounds: 1,
        cards: 24,
        suits_and_ranks: Some([4, 6]),
        hole_cards: 2,
        board_cards: 1,
        raises: Some(5),
    },
    Parameters {
        players: 8,
        rounds: 1,
        cards: 8,
        suits_and_ranks: Some([1, 8]),
        hole_cards: 1,
        board_cards: 0,
        raises: Some(3),
    },
];

/// Table 2, p. 35, by game.
pub const TABLE2: [TreeCounts; 4] = [
    TreeCounts { sequences: 4, buckets: 4, information_sets: 16, levels: 3, per_level: 1.333333 },
    TreeCounts { sequences: 4, buckets: 8_347_680, information_sets: 33_390_720, levels: 3, per_level: 1.333333 },
    TreeCounts { sequences: 21_285, buckets: 2_024, information_sets: 43_080_840, levels: 21, per_level: 1013.571 },
    TreeCounts { sequences: 616_592, buckets: 8, information_sets: 4_932_736, levels: 30, per_level: 20553.07 },
];

/// Tables 3 to 6, pp. 36 to 41, by game.
pub const MEMORY: [MemoryUse; 4] = [
    MemoryUse { table: 3, kb: [1_348.0, 1_600.0, 64_172.0], percent: [0.0, 18.69, 4660.53] },
    MemoryUse { table: 4, kb: [1_879_876.0, 1_880_064.0, 865_783.0], percent: [0.0, 0.01, -53.94] },
    MemoryUse { table: 5, kb: [1_016_252.0, 1_071_296.0, 1_155_530.0], percent: [0.0, 5.42, 13.71] },
    MemoryUse { table: 6, kb: [206_552.0, 1_689_908.0, 1_772_470.0], percent: [0.0, 718.15, 758.12] },
];

const fn claim(
    location: &'static str,
    variant: Variant,
    slow: Program,
    fast: Program,
    ratio: f64,
    digits: u32,
) -> Claim {
    Claim { location, variant, slow, fast, ratio, digits }
}

/// All ratios of chapters 5 and 6, after the most iterations of each game.
pub const CLAIMS: [Claim; 12] = [
    claim("5.1.2, p. 36", Variant::A, Program::Levels, Program::Recursive, 239.06, 2),
    claim("5.1.2, p. 36", Variant::A, Program::Iterative, Program::Recursive, 2.99, 2),
    claim("5.2.2, p. 38", Variant::B, Program::Levels, Program::Recursive, 78.85, 2),
    claim("5.2.2, p. 38", Variant::B, Program::Iterative, Program::Recursive, 1.70, 2),
    claim("5.3.2, p. 40", Variant::C, Program::Recursive, Program::Levels, 1.06, 2),
    claim("5.3.2, p. 40", Variant::C, Program::Recursive, Program::Iterative, 2.61, 2),
    claim("5.4.2, p. 41", Variant::D, Program::Recursive, Program::Levels, 6.13, 2),
    claim("5.4.2, p. 41", Variant::D, Program::Recursive, Program::Iterative, 3.6, 1),
    claim("5.5, p. 42", Variant::A, Program::Levels, Program::Recursive, 2.99, 2),
    claim("5.5, p. 42", Variant::B, Program::Levels, Program::Recursive, 1.70, 2),
    claim("6.1, p. 46", Variant::D, Program::Recursive, Program::Levels, 6.13, 2),
    claim("6.1, p. 46", Variant::D, Program::Iterative, Program::Levels, 3.6, 1),
];

impl Variant {
    /// What sections 5.1 to 5.4 say of it.
    pub fn parameters(self) -> &'static Parameters {
        &PARAMETERS[self as usize]
    }

    /// Its column of Table 2.
    pub fn counts(self) -> &'static TreeCounts {
        &TABLE2[self as usize]
    }

    /// Its table of memory: 3 to 6.
    pub fn memory(self) -> &'static MemoryUse {
        &MEMORY[self as usize]
    }

    /// Its times with a program.
    pub fn times(self, program: Program) -> Option<&'static Times> {
        TIMES.iter().find(|times| times.variant == self && times.program == program)
    }
}

impl Claim {
    /// The ratio by the printed averages.
    pub fn printed(&self) -> Option<f64> {
        let of = |program| self.variant.times(program).map(|times| times.last().average);
        Some(of(self.slow)? / of(self.fast)?)
    }

    /// The ratio by the means of all five measurements.
    pub fn of_all_five(&self) -> Option<f64> {
        let of = |program| self.variant.times(program).map(|times| mean(&times.last().seconds));
        Some(of(self.slow)? / of(self.fast)?)
    }
}
