//! What the printed tables are made of.

use warpplay::cfr::GameDef;
use warpplay::{Error, Result};

use crate::cfr_thesis::options::Program;

/// A game of the paper (chapter 5).
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
    /// [`Error::Option`] names `game`.
    pub fn parse(letter: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|variant| variant.letter().eq_ignore_ascii_case(letter));
        found.ok_or_else(|| Error::option("game", letter, "a, b, c or d"))
    }

    /// Its definition. The paper's own files are not published as text; these are the rules of its prose that give the counts of its Table 2.
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
}

/// What the text says of a game (sections 5.1 to 5.4); `None` where it says nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Players.
    pub players: u32,
    /// Rounds of betting.
    pub rounds: u32,
    /// Cards of the deck.
    pub cards: u32,
    /// Its suits, and its ranks.
    pub suits_and_ranks: Option<[u32; 2]>,
    /// Cards that a player holds.
    pub hole_cards: u32,
    /// Cards of the board.
    pub board_cards: u32,
    /// Most raises of a player.
    pub raises: Option<u32>,
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

/// A table of memory: 3 to 6. KB as printed; programs in the order recursive, iterative, GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryUse {
    /// Its number.
    pub table: u8,
    /// KB; of the GPU's program, on the device.
    pub kb: [f64; 3],
    /// Difference from the recursive program in percent.
    pub percent: [f64; 3],
}

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
    pub location: &'static str,
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
