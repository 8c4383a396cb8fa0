//! What the dissertation prints: its tables, and the figures that its text claims, as printed, with their places.

mod times;

pub use times::TIMES;
use warpplay::cfr::GameDef;
use warpplay::{Error, Result};

use super::options::Program;

/// A game of the dissertation (chapter 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Variant {
    /// Two players, one card each of four.
    A,
    /// Two players, two cards each of 36, and five on the board.
    B,
    /// Five players, two cards each of 24, and one on the board.
    C,
    /// Eight players, one card each of eight.
    D,
}

impl Variant {
    /// All four.
    pub const ALL: [Self; 4] = [Self::A, Self::B, Self::C, Self::D];

    /// `a`, `b`, `c` or `d`.
    pub fn letter(self) -> &'static str {
        ["a", "b", "c", "d"][self as usize]
    }

    /// The game of a letter.
    ///
    /// # Errors
    /// [`Error::Option`] names `games`.
    pub fn parse(letter: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|variant| variant.letter().eq_ignore_ascii_case(letter));
        found.ok_or_else(|| Error::option("games", letter, "a, b, c or d"))
    }

    /// Its definition. The dissertation's own files are not published as text; these are the rules of its prose that give the counts of its Table 2.
    pub fn definition(self) -> &'static str {
        match self {
            Self::A => include_str!("../games/variant_a.game"),
            Self::B => include_str!("../games/variant_b.game"),
            Self::C => include_str!("../games/variant_c.game"),
            Self::D => include_str!("../games/variant_d.game"),
        }
    }

    /// The same, read.
    ///
    /// # Errors
    /// None: the definition is part of the program.
    pub fn game(self) -> Result<GameDef> {
        GameDef::parse(self.definition())
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

/// A column of Table 2 (p. 35).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeCounts {
    /// Number of sequences.
    pub sequences: u64,
    /// Number of buckets.
    pub buckets: u64,
    /// Number of information sets.
    pub information_sets: u64,
    /// Number of levels.
    pub levels: u64,
    /// Average number of sequences per level.
    pub per_level: f64,
}

/// Table 2, p. 35, by game.
pub const TABLE2: [TreeCounts; 4] = [
    TreeCounts { sequences: 4, buckets: 4, information_sets: 16, levels: 3, per_level: 1.333333 },
    TreeCounts { sequences: 4, buckets: 8_347_680, information_sets: 33_390_720, levels: 3, per_level: 1.333333 },
    TreeCounts { sequences: 21_285, buckets: 2_024, information_sets: 43_080_840, levels: 21, per_level: 1013.571 },
    TreeCounts { sequences: 616_592, buckets: 8, information_sets: 4_932_736, levels: 30, per_level: 20553.07 },
];

/// A table of memory: 3 to 6. KB as printed; programs in the order recursive, iterative, GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryUse {
    /// Its number.
    pub table: u8,
    /// Its page.
    pub page: u32,
    /// KB; of the GPU's program, on the device.
    pub kb: [f64; 3],
    /// Difference from the recursive program in percent.
    pub percent: [f64; 3],
}

/// Tables 3 to 6, by game.
pub const MEMORY: [MemoryUse; 4] = [
    MemoryUse { table: 3, page: 36, kb: [1_348.0, 1_600.0, 64_172.0], percent: [0.0, 18.69, 4660.53] },
    MemoryUse { table: 4, page: 38, kb: [1_879_876.0, 1_880_064.0, 865_783.0], percent: [0.0, 0.01, -53.94] },
    MemoryUse { table: 5, page: 39, kb: [1_016_252.0, 1_071_296.0, 1_155_530.0], percent: [0.0, 5.42, 13.71] },
    MemoryUse { table: 6, page: 41, kb: [206_552.0, 1_689_908.0, 1_772_470.0], percent: [0.0, 718.15, 758.12] },
];

/// A line of Tables 7 to 18, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Iterations of a run.
    pub iterations: u32,
    /// The five measurements.
    pub seconds: [f64; 5],
    /// The average, as printed.
    pub average: f64,
    /// The standard deviation, as printed.
    pub deviation: f64,
}

impl Measured {
    /// Milliseconds an iteration, by the printed average.
    pub fn milliseconds(&self) -> f64 {
        self.average * 1e3 / f64::from(self.iterations)
    }
}

/// One of Tables 7 to 18.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Its number.
    pub table: u8,
    /// Its page.
    pub page: u32,
    /// The game.
    pub variant: Variant,
    /// The program; that of the GPU is [`Program::Levels`].
    pub program: Program,
    /// Its lines.
    pub rows: [Measured; 10],
}

impl Times {
    /// The line of the most iterations.
    pub fn last(&self) -> &Measured {
        &self.rows[9]
    }
}

/// A ratio of times that the text claims: how many times as long `slow` takes as `fast`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Where.
    pub place: &'static str,
    /// The game.
    pub variant: Variant,
    /// The program that is said to take longer.
    pub slow: Program,
    /// The program that is said to be faster.
    pub fast: Program,
    /// The ratio, as printed.
    pub ratio: f64,
    /// How many digits behind the point are printed.
    pub digits: u32,
}

const fn claim(place: &'static str, variant: Variant, slow: Program, fast: Program, ratio: f64, digits: u32) -> Claim {
    Claim { place, variant, slow, fast, ratio, digits }
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

impl Claim {
    /// The ratio by the printed averages.
    pub fn printed(&self) -> Option<f64> {
        let of = |program| self.variant.times(program).map(|times| times.last().average);
        Some(of(self.slow)? / of(self.fast)?)
    }

    /// The ratio by the means of all five measurements.
    pub fn of_all_five(&self) -> Option<f64> {
        let of = |program| self.variant.times(program).map(|times| times.last().seconds.iter().sum::<f64>() / 5.0);
        Some(of(self.slow)? / of(self.fast)?)
    }
}
