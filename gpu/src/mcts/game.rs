//! What the search must know of a game: the trait [`Game`], and what its functions speak of.
//!
//! Any game of two players, and any puzzle of one, can be searched on the GPU once its positions implement [`Game`]: a plain value of bits, with functions that say which
//! actions are legal, play one, and tell the outcome. The same code runs on the device, under `simt` and on the CPU. `docs/adding-a-game.md` builds a crate around it.
//!
//! ```
//! use bytemuck::{Pod, Zeroable};
//! use warpplay_gpu::mcts::{Game, Outcome, Player};
//!
//! /// Players take 1 to 3 of the stones in turn; who takes the last one wins.
//! #[repr(C)]
//! #[derive(Clone, Copy, Pod, Zeroable)]
//! struct Nim {
//!     stones: u32,
//!     to_move: u32,
//! }
//!
//! impl Game for Nim {
//!     const NAME: &'static str = "nim";
//!     const MAX_ACTIONS: u32 = 3;
//!     const BOARD: (u32, u32) = (1, 1);
//!     const EXTRA_INFO_BYTES: u32 = 4;
//!
//!     fn to_move(&self) -> Player {
//!         Player::from_index(self.to_move)
//!     }
//!     fn is_legal(&self, action: u32) -> bool {
//!         action < 3 && action < self.stones
//!     }
//!     fn apply(&mut self, action: u32) {
//!         (self.stones, self.to_move) = (self.stones - action - 1, 1 - self.to_move);
//!     }
//!     fn outcome(&self) -> Outcome {
//!         match self.stones {
//!             0 => Outcome::Win(self.to_move().other()),
//!             _ => Outcome::Ongoing,
//!         }
//!     }
//! }
//!
//! let mut position = Nim { stones: 4, to_move: 0 };
//! position.apply(2); // leaves one, which the other takes
//! assert_eq!((position.n_playout_actions(), position.nth_playout_action(0)), (1, 0));
//! position.apply(0);
//! assert_eq!(position.outcome(), Outcome::Win(Player::Second));
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Game`] | the rules: the value is a position |
//! | [`Player`], [`Outcome`] | who moves, and how a position stands |
//! | [`Draw`], [`Scratch`], [`Playout`] | what a playout of a game's own gets and gives |

use bytemuck::Pod;

/// Largest number of actions of a game.
pub const MAX_ACTIONS: u32 = 512;
/// Largest number of rows, and of columns, of a game's board.
pub const MAX_BOARD_SIDE: u32 = 32;
/// Most bytes of a game's information beside the board.
pub const MAX_EXTRA_INFO_BYTES: u32 = 4096;
/// Most words of scratch memory that a playout may ask for.
pub const MAX_PLAYOUT_WORDS: u32 = 256;

/// One of the two players. A one-player problem only ever has [`Player::First`] to move; failing is a win of the other.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Player {
    /// The player who moves first in the starting position.
    First = 0,
    /// The opponent.
    Second = 1,
}

impl Player {
    /// The opponent.
    #[device_inline]
    pub const fn other(self) -> Self {
        match self {
            Player::First => Player::Second,
            Player::Second => Player::First,
        }
    }

    /// 0 or 1.
    #[device_inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The player of an index: even is the first, odd the second.
    #[device_inline]
    pub const fn from_index(index: u32) -> Self {
        if index & 1 == 0 { Player::First } else { Player::Second }
    }
}

/// How a position stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The game goes on.
    Ongoing,
    /// It ended without a winner.
    Draw,
    /// It ended and this player has won.
    Win(Player),
}

impl Outcome {
    /// Two bits: 0 goes on, 1 draw, 2 and 3 the winner.
    #[device_inline]
    pub const fn code(self) -> u32 {
        match self {
            Outcome::Ongoing => 0,
            Outcome::Draw => 1,
            Outcome::Win(Player::First) => 2,
            Outcome::Win(Player::Second) => 3,
        }
    }

    /// The outcome of a two-bit [code](Outcome::code).
    #[device_inline]
    pub const fn from_code(code: u32) -> Self {
        match code & 3 {
            0 => Outcome::Ongoing,
            1 => Outcome::Draw,
            2 => Outcome::Win(Player::First),
            _ => Outcome::Win(Player::Second),
        }
    }

    /// Whether the game is over.
    #[device_inline]
    pub const fn is_over(self) -> bool {
        !matches!(self, Outcome::Ongoing)
    }
}

/// Where a playout gets its random numbers.
pub trait Draw {
    /// A number from 0 to `n - 1`, each equally likely; `n` is at least 1. Takes at least one number of the stream, also when `n` is 1.
    fn below(&mut self, n: u32) -> u32;
}

/// [`Game::PLAYOUT_WORDS`] words of fast memory that belong to one playout: shared memory on the GPU. Their first content is not defined.
pub trait Scratch {
    /// Reads word `word`.
    fn get(&self, word: u32) -> u32;
    /// Writes word `word`.
    fn set(&mut self, word: u32, value: u32);
}

/// How a playout ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playout {
    /// Draw or winner; never [`Outcome::Ongoing`].
    pub outcome: Outcome,
    /// Actions played.
    pub plies: u32,
}

/// A game, or any problem of repeated choice, as the search sees it. The value is a position.
///
/// The paper's five functions are [`is_legal`](Game::is_legal), [`apply`](Game::apply), [`outcome_after`](Game::outcome_after),
/// and for playouts [`n_playout_actions`](Game::n_playout_actions) with [`nth_playout_action`](Game::nth_playout_action).
/// The same code runs on the GPU, under `simt` and on the CPU back end, so it must be plain: no allocation, no floating point whose
/// bits may differ, no state outside the value. A position with a player to move and no outcome must have a legal action.
///
/// # Source
/// Klęsk, "MCTS-NC", SoftwareX, section 2.3 (the five device functions).
pub trait Game: Pod + Send + Sync {
    /// Short name, as in `--game NAME` and in reports.
    const NAME: &'static str;
    /// Number of actions B; an action is a number below it. At most [`MAX_ACTIONS`].
    const MAX_ACTIONS: u32;
    /// Rows and columns of the board, at most [`MAX_BOARD_SIDE`] each; block sizes follow from it.
    const BOARD: (u32, u32);
    /// Bytes of information beside the board, at most [`MAX_EXTRA_INFO_BYTES`]; block sizes follow from it.
    const EXTRA_INFO_BYTES: u32 = 0;
    /// Words of [`Scratch`] memory a playout uses, at most [`MAX_PLAYOUT_WORDS`].
    const PLAYOUT_WORDS: u32 = 0;

    /// Whose turn it is.
    fn to_move(&self) -> Player;

    /// Whether `action` may be played. False for every action at or above [`MAX_ACTIONS`](Game::MAX_ACTIONS).
    fn is_legal(&self, action: u32) -> bool;

    /// Plays a legal action.
    fn apply(&mut self, action: u32);

    /// How the position stands, found from the whole of it.
    fn outcome(&self) -> Outcome;

    /// How the position stands just after `action` was applied; the same answer as [`outcome`](Game::outcome), and usually cheaper.
    #[device_inline]
    fn outcome_after(&self, action: u32) -> Outcome {
        let _ = action;
        self.outcome()
    }

    /// Number of legal actions.
    #[device_inline]
    fn n_playout_actions(&self) -> u32 {
        let mut n = 0;
        let mut action = 0;
        while action < Self::MAX_ACTIONS {
            n += self.is_legal(action) as u32;
            action += 1;
        }
        n
    }

    /// The `n`-th legal action, counted from 0, in ascending order.
    #[device_inline]
    fn nth_playout_action(&self, n: u32) -> u32 {
        let mut left = n;
        let mut action = 0;
        while action < Self::MAX_ACTIONS {
            if self.is_legal(action) {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
            action += 1;
        }
        action
    }

    /// Plays uniformly random actions to the end from a position that is not over.
    ///
    /// A faster form must end with the same outcome and take the same numbers of the stream, or it is the game's own definition of a
    /// playout, on every back end alike. A position without a legal action counts as a draw.
    #[device_inline]
    fn playout(self, draw: &mut impl Draw, scratch: &mut impl Scratch) -> Playout {
        let _ = scratch;
        let mut position = self;
        let mut plies = 0;
        loop {
            let n = position.n_playout_actions();
            if n == 0 {
                return Playout { outcome: Outcome::Draw, plies };
            }
            let action = position.nth_playout_action(draw.below(n));
            position.apply(action);
            plies += 1;
            let outcome = position.outcome_after(action);
            if outcome.is_over() {
                return Playout { outcome, plies };
            }
        }
    }
}
