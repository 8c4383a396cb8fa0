//! A long thin game: one legal action in each position, for thousands of plies.

use bytemuck::{Pod, Zeroable};
use warpplay_gpu::mcts::{Game, Outcome, Player};

/// A position; the action of ply p is `p % 2`, and the second player wins at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Thin {
    /// Actions played.
    pub plies: u32,
    /// Actions of a whole game.
    pub length: u32,
}

impl Thin {
    /// The start of a game of `length` actions.
    pub const fn new(length: u32) -> Self {
        Self { plies: 0, length }
    }
}

impl Game for Thin {
    const NAME: &'static str = "thin";
    const MAX_ACTIONS: u32 = 2;
    const BOARD: (u32, u32) = (1, 2);

    #[inline(always)]
    fn to_move(&self) -> Player {
        Player::from_index(self.plies)
    }

    #[inline(always)]
    fn is_legal(&self, action: u32) -> bool {
        action == self.plies % 2 && self.plies < self.length
    }

    #[inline(always)]
    fn apply(&mut self, _action: u32) {
        self.plies += 1;
    }

    #[inline(always)]
    fn outcome(&self) -> Outcome {
        if self.plies >= self.length { Outcome::Win(Player::Second) } else { Outcome::Ongoing }
    }
}

warpplay_gpu::mcts_kernels!(kernels, Thin, "thin", crate::ptx::GAMES);
