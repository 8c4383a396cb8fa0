//! A game without a pattern: legal actions, whose turn it is and how it ends all come from a hash of the moves.

use bytemuck::{Pod, Zeroable};
use warpplay_gpu::mcts::{Game, Outcome, Player};

/// Number of actions: more than a warp, no multiple of one.
const ACTIONS: u32 = 43;
/// The game is drawn after so many actions.
const LONGEST: u32 = 24;

/// A position. One to 43 actions are legal, the same player may move twice in a row, and the one who moves may lose by it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Hashed {
    /// Hash of all moves.
    pub hash: u64,
    /// Actions played.
    pub plies: u32,
    /// Makes the size a multiple of 8.
    pub reserved: u32,
}

/// The finaliser of splitmix64.
#[inline(always)]
const fn mixed(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

impl Hashed {
    /// The game of this number.
    pub const fn new(number: u64) -> Self {
        Self { hash: mixed(number.wrapping_add(0x9e37_79b9_7f4a_7c15)), plies: 0, reserved: 0 }
    }

    /// One bit for each legal action.
    #[inline(always)]
    const fn legal(&self) -> u64 {
        let all = (1 << ACTIONS) - 1;
        // A quarter of the actions on average, and one always.
        let first = mixed(self.hash ^ 0x5555);
        ((first & mixed(first)) | 1 << ((self.hash >> 8) % ACTIONS as u64)) & all
    }
}

impl Game for Hashed {
    const NAME: &'static str = "hashed";
    const MAX_ACTIONS: u32 = ACTIONS;
    const BOARD: (u32, u32) = (3, 5);
    const EXTRA_INFO_BYTES: u32 = 64;

    #[inline(always)]
    fn to_move(&self) -> Player {
        Player::from_index((self.hash >> 7) as u32)
    }

    #[inline(always)]
    fn is_legal(&self, action: u32) -> bool {
        action < ACTIONS && self.legal() >> action & 1 == 1
    }

    #[inline(always)]
    fn apply(&mut self, action: u32) {
        self.hash = mixed(self.hash.wrapping_add((action as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        self.plies += 1;
    }

    #[inline(always)]
    fn outcome(&self) -> Outcome {
        match self.hash >> 40 & 15 {
            _ if self.plies == 0 => Outcome::Ongoing,
            0 => Outcome::Win(Player::First),
            1 => Outcome::Win(Player::Second),
            2 => Outcome::Draw,
            _ if self.plies >= LONGEST => Outcome::Draw,
            _ => Outcome::Ongoing,
        }
    }
}

warpplay_gpu::mcts_kernels!(kernels, Hashed, "hashed", crate::ptx::GAMES);
