//! Lights Out 5 × 5: a one-player puzzle for warpplay's tree search.
//!
//! Pressing a lamp switches it and its neighbours above, below, left and right. All lamps must be dark before the presses run out.
//! Pressing a lamp twice undoes the first press, and the order of presses does not matter, so each lamp may be pressed once.
//!
//! A problem need not be a game to be searched: here it is always the first player's turn, a solved puzzle is that player's win, and
//! running out of presses a win of the second. A solvable pattern of this size needs at most [`MOST_PRESSES`] presses; a quarter of all
//! patterns is solvable (Anderson and Feil, "Turning Lights Out with Linear Algebra", Mathematics Magazine 71, 1998).
//!
//! ```text
//! lamp  bit                   pressing c3
//!  5  20 21 22 23 24           . . . . .
//!  4  15 16 17 18 19           . . * . .
//!  3  10 11 12 13 14           . * * * .
//!  2   5  6  7  8  9           . . * . .
//!  1   0  1  2  3  4           . . . . .
//!      a  b  c  d  e
//! ```
//!
//! The whole crate is compiled twice: for the host, and by `build.rs` for the GPU.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

use bytemuck::{Pod, Zeroable};
use warpplay_gpu::mcts::{Game, Outcome, Player};

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests;
#[cfg(not(target_arch = "nvptx64"))]
mod text;

/// The search kernels of Lights Out as PTX, from this crate's build script.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: warpplay_gpu::ptx::PtxSet = include!(concat!(env!("OUT_DIR"), "/lights_out.rs"));

warpplay_gpu::mcts_kernels!(kernels, LightsOut, "lights_out", crate::PTX);

/// Rows, and columns, of lamps.
pub const SIZE: u32 = 5;
/// Number of lamps.
pub const LAMPS: u32 = SIZE * SIZE;
/// Presses that are enough for every pattern that can be solved at all.
pub const MOST_PRESSES: u32 = 15;
/// All lamps.
const ALL: u32 = (1 << LAMPS) - 1;
/// The lamps of column a.
const COLUMN_A: u32 = 0x108421;
/// The lamps of column e.
const COLUMN_E: u32 = COLUMN_A << (SIZE - 1);

/// A state of the puzzle. An action is a lamp, `row * 5 + column`; a1 is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct LightsOut {
    /// Lamps that are lit, a bit each.
    lit: u32,
    /// Lamps that were pressed.
    pressed: u32,
    /// Presses that are left.
    presses_left: u32,
}

/// Why there is no such puzzle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PuzzleError {
    /// The pattern has bits above the 25 lamps.
    Pattern {
        /// The pattern as it was given.
        lit: u32,
    },
    /// There must be 1 to 25 presses.
    Presses {
        /// The presses as they were given.
        presses: u32,
    },
    /// There is no such lamp.
    Lamp {
        /// The lamp as it was given.
        lamp: u32,
    },
}

impl core::fmt::Display for PuzzleError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Pattern { lit } => write!(f, "pattern {lit:#x} has bits above lamp 24 (allowed: 0 to {ALL:#x})"),
            Self::Presses { presses } => write!(f, "{presses} presses (allowed: 1 to {LAMPS})"),
            Self::Lamp { lamp } => write!(f, "lamp {lamp} (allowed: 0 to {})", LAMPS - 1),
        }
    }
}

impl core::error::Error for PuzzleError {}

/// The lamps that pressing `lamp`, below [`LAMPS`], switches.
#[inline(always)]
const fn switched_by(lamp: u32) -> u32 {
    let it = 1 << lamp;
    it | (it & !COLUMN_A) >> 1 | (it & !COLUMN_E) << 1 | it >> SIZE | (it << SIZE & ALL)
}

impl LightsOut {
    /// The puzzle of any pattern: bit `lamp` of `lit` for each lamp that is lit, and the presses in which all must be dark.
    ///
    /// Whether the pattern can be solved is not looked at; if it cannot, every line of play ends in a win of the second player.
    ///
    /// # Errors
    /// [`PuzzleError::Pattern`] or [`PuzzleError::Presses`] for numbers out of range.
    ///
    /// # Examples
    /// ```
    /// use warpplay_example_lights_out::LightsOut;
    /// use warpplay_gpu::mcts::{Game, Outcome, Player};
    ///
    /// let mut puzzle = LightsOut::new(0b00001_00011, 4)?; // a2, b1 and a1
    /// puzzle.apply(0); // pressing a1 switches just these three
    /// assert_eq!(puzzle.outcome(), Outcome::Win(Player::First));
    /// # Ok::<(), warpplay_example_lights_out::PuzzleError>(())
    /// ```
    #[allow(clippy::inconsistent_digit_grouping, reason = "a group is a row of lamps")]
    pub const fn new(lit: u32, presses: u32) -> Result<Self, PuzzleError> {
        if lit > ALL {
            return Err(PuzzleError::Pattern { lit });
        }
        if presses == 0 || presses > LAMPS {
            return Err(PuzzleError::Presses { presses });
        }
        Ok(Self { lit, pressed: 0, presses_left: presses })
    }

    /// The pattern that pressing these lamps makes out of darkness, to be solved in [`MOST_PRESSES`] presses. It can be solved by pressing
    /// the same lamps again, each that is named an odd number of times.
    ///
    /// # Errors
    /// [`PuzzleError::Lamp`] for the first that is no lamp.
    pub const fn from_presses(lamps: &[u32]) -> Result<Self, PuzzleError> {
        let (mut lit, mut at) = (0, 0);
        while at < lamps.len() {
            if lamps[at] >= LAMPS {
                return Err(PuzzleError::Lamp { lamp: lamps[at] });
            }
            lit ^= switched_by(lamps[at]);
            at += 1;
        }
        Self::new(lit, MOST_PRESSES)
    }

    /// Lamps that are lit, bit `lamp` each.
    pub const fn lit(&self) -> u32 {
        self.lit
    }

    /// Lamps that were pressed, bit `lamp` each.
    pub const fn pressed(&self) -> u32 {
        self.pressed
    }

    /// Presses that are left.
    pub const fn presses_left(&self) -> u32 {
        self.presses_left
    }
}

impl Game for LightsOut {
    const NAME: &'static str = "lights_out";
    const MAX_ACTIONS: u32 = LAMPS;
    const BOARD: (u32, u32) = (SIZE, SIZE);

    /// Always the first player's turn.
    #[inline(always)]
    fn to_move(&self) -> Player {
        Player::First
    }

    #[inline(always)]
    fn is_legal(&self, action: u32) -> bool {
        action < LAMPS && self.pressed >> action & 1 == 0
    }

    #[inline(always)]
    fn apply(&mut self, action: u32) {
        self.lit ^= switched_by(action);
        self.pressed |= 1 << action;
        self.presses_left -= 1;
    }

    #[inline(always)]
    fn outcome(&self) -> Outcome {
        if self.lit == 0 {
            Outcome::Win(Player::First)
        } else if self.presses_left == 0 {
            Outcome::Win(Player::Second)
        } else {
            Outcome::Ongoing
        }
    }

    // `outcome_after`, `nth_playout_action` and `playout` are the trait's own: a puzzle this small needs no faster ones.

    #[inline(always)]
    fn n_playout_actions(&self) -> u32 {
        LAMPS - self.pressed.count_ones()
    }
}
