//! A game for warpplay's tree search: tic-tac-toe, to be changed into your own.
//!
//! The whole crate is compiled twice: for the host, and by `build.rs` for the GPU, where there is `core` alone.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

use bytemuck::{Pod, Zeroable};
use warpplay_gpu::mcts::{Game, Outcome, Player};

#[cfg(not(target_arch = "nvptx64"))]
mod text;

/// The search kernels of the game as PTX, from this crate's build script.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: warpplay_gpu::ptx::PtxSet = include!(concat!(env!("OUT_DIR"), "/my_game.rs"));

warpplay_gpu::mcts_kernels!(kernels, MyGame, "my_game", crate::PTX);

/// Rows, and columns, of squares.
pub const SIZE: u32 = 3;
/// Number of squares.
pub const SQUARES: u32 = SIZE * SIZE;
/// The lines of three, a bit a square.
const LINES: [u32; 8] = [0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124];

/// A position: plain words without padding, since it is copied into every node of every tree. Everything that matters for the rest of the game is in it.
///
/// An action is a square, `row * 3 + column`; a1 is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct MyGame {
    /// Squares of the first player and of the second, a bit each.
    stones: [u32; 2],
}

impl MyGame {
    /// The squares of a player, a bit each.
    pub const fn stones(&self, player: Player) -> u32 {
        match player {
            Player::First => self.stones[0],
            Player::Second => self.stones[1],
        }
    }

    /// The squares that are taken.
    #[inline(always)]
    const fn taken(&self) -> u32 {
        self.stones[0] | self.stones[1]
    }
}

/// Whether some stones have a line of three.
#[inline(always)]
fn has_line(stones: u32) -> bool {
    let mut found = false;
    for line in LINES {
        found |= stones & line == line;
    }
    found
}

impl Game for MyGame {
    const NAME: &'static str = "my_game";
    const MAX_ACTIONS: u32 = SQUARES;
    const BOARD: (u32, u32) = (SIZE, SIZE);

    #[inline(always)]
    fn to_move(&self) -> Player {
        Player::from_index(self.taken().count_ones())
    }

    /// False for all numbers that are no square.
    #[inline(always)]
    fn is_legal(&self, action: u32) -> bool {
        action < SQUARES && self.taken() >> action & 1 == 0
    }

    #[inline(always)]
    fn apply(&mut self, action: u32) {
        match self.to_move() {
            Player::First => self.stones[0] |= 1 << action,
            Player::Second => self.stones[1] |= 1 << action,
        }
    }

    #[inline(always)]
    fn outcome(&self) -> Outcome {
        if has_line(self.stones[0]) {
            Outcome::Win(Player::First)
        } else if has_line(self.stones[1]) {
            Outcome::Win(Player::Second)
        } else if self.taken().count_ones() == SQUARES {
            Outcome::Draw
        } else {
            Outcome::Ongoing
        }
    }

    /// The trait asks `is_legal` of every action; one instruction knows it here.
    #[inline(always)]
    fn n_playout_actions(&self) -> u32 {
        SQUARES - self.taken().count_ones()
    }
}
