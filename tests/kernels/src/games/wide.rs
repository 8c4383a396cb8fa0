//! As many actions as a game may have, and two plies.

use bytemuck::{Pod, Zeroable};
use warpplay_gpu::mcts::game::MAX_ACTIONS;
use warpplay_gpu::mcts::{Game, Outcome, Player};

/// A position: the actions played, 1 added to each; 0 where none was. All actions are legal; the larger one wins, equal ones draw.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Wide {
    /// The first and the second player's action.
    pub played: [u32; 2],
}

impl Game for Wide {
    const NAME: &'static str = "wide";
    const MAX_ACTIONS: u32 = MAX_ACTIONS;
    const BOARD: (u32, u32) = (32, 32);
    const EXTRA_INFO_BYTES: u32 = 4096;

    #[inline(always)]
    fn to_move(&self) -> Player {
        if self.played[0] == 0 { Player::First } else { Player::Second }
    }

    #[inline(always)]
    fn is_legal(&self, action: u32) -> bool {
        action < MAX_ACTIONS && self.played[1] == 0
    }

    #[inline(always)]
    fn apply(&mut self, action: u32) {
        if self.played[0] == 0 {
            self.played[0] = action + 1;
        } else {
            self.played[1] = action + 1;
        }
    }

    #[inline(always)]
    fn outcome(&self) -> Outcome {
        let [first, second] = self.played;
        if second == 0 {
            Outcome::Ongoing
        } else if first > second {
            Outcome::Win(Player::First)
        } else if second > first {
            Outcome::Win(Player::Second)
        } else {
            Outcome::Draw
        }
    }

    #[inline(always)]
    fn n_playout_actions(&self) -> u32 {
        if self.played[1] == 0 { MAX_ACTIONS } else { 0 }
    }

    #[inline(always)]
    fn nth_playout_action(&self, n: u32) -> u32 {
        n
    }
}

warpplay_gpu::mcts_kernels!(kernels, Wide, "wide", crate::ptx::GAMES);
