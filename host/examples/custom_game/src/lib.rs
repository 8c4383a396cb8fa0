//! Hex 11 × 11: a user's own game for warpplay's tree search.
//!
//! The players fill a slanted board of hexagons in turn. The first, `X`, wins by a chain of stones from row 1 to row 11, the second, `O`, by a
//! chain from column a to column k. A full board holds exactly one such chain, so there is no draw. The swap rule is not played: the second
//! player may not take over the first stone.
//!
//! ```text
//!   a b c d ...       A square touches six others: its two neighbours in the row, and
//! 1 . 2 3 .           (row - 1, column), (row - 1, column + 1), above: 2 3
//!  2 1 * 4 .          (row + 1, column - 1), (row + 1, column), below: 6 5
//!   3 6 5 . .
//! ```
//!
//! The whole crate is compiled twice: for the host, and by `build.rs` for the GPU. `docs/adding-a-game.md` goes through it step by step.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

use bytemuck::{Pod, Zeroable};
use warpplay_gpu::mcts::{Draw, Game, Outcome, Player, Playout, Scratch};

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests;
#[cfg(not(target_arch = "nvptx64"))]
mod text;

/// The search kernels of Hex as PTX, from this crate's build script.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: warpplay_gpu::ptx::PtxSet = include!(concat!(env!("OUT_DIR"), "/hex.rs"));

warpplay_gpu::mcts_kernels!(kernels, Hex, "hex", crate::PTX);

/// Rows, and columns, of the board.
pub const SIZE: usize = 11;
const SQUARES: u32 = (SIZE * SIZE) as u32;
/// All squares of one row.
const ROW: u32 = (1 << SIZE) - 1;
/// The bit of column a.
const FIRST_COLUMN: u32 = 1;
/// The bit of column k.
const LAST_COLUMN: u32 = 1 << (SIZE - 1);
/// Where the second player's stones begin in a row's word.
const SECOND: u32 = 16;

/// A position of Hex. An action is a square, `row * 11 + column`; a1 is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Hex {
    /// Stones by row: bit x is the first player's in column x, bit 16 + x the second's.
    rows: [u32; SIZE],
    /// Stones on the board.
    n_stones: u32,
}

/// One player's stones by row, bit x for column x.
type Stones = [u32; SIZE];

/// All stones of `row` that are joined to `seeds` inside the row; `seeds` are some of the stones.
#[inline(always)]
const fn spread(row: u32, seeds: u32) -> u32 {
    // The sum carries from a run's lowest seed to the run's end: every stone from there on changes, or was a seed itself.
    const fn upwards(row: u32, seeds: u32) -> u32 {
        seeds | (row & !(row + seeds))
    }
    let up = upwards(row, seeds) << SECOND;
    // Down is up in the mirror; both words are below 2^16, so the mirror image is as well.
    upwards((row << SECOND).reverse_bits(), up.reverse_bits()).reverse_bits() >> SECOND
}

/// All stones that are joined to `seeds`, some of the stones: sweeps down and up over the rows, a whole row at a time, until nothing is added.
#[inline(always)]
fn flood(stones: &Stones, seeds: Stones) -> Stones {
    let mut reached = seeds;
    loop {
        let before = reached;
        reached[0] = spread(stones[0], reached[0]);
        let mut y = 1;
        while y < SIZE {
            // A square touches the same column of the row below, and the column before.
            let from_above = reached[y - 1] | reached[y - 1] >> 1;
            reached[y] = spread(stones[y], reached[y] | stones[y] & from_above);
            y += 1;
        }
        let mut y = SIZE - 1;
        while y > 0 {
            y -= 1;
            let from_below = reached[y + 1] | reached[y + 1] << 1;
            reached[y] = spread(stones[y], reached[y] | stones[y] & from_below);
        }
        // Without a branch for each row: the words lie in registers.
        let mut added = 0;
        let mut y = 0;
        while y < SIZE {
            added |= reached[y] ^ before[y];
            y += 1;
        }
        if added == 0 {
            return reached;
        }
    }
}

/// Whether the first player's stones join row 1 and row 11.
#[inline(always)]
fn first_wins(stones: &Stones) -> bool {
    let mut seeds = [0; SIZE];
    seeds[0] = stones[0];
    flood(stones, seeds)[SIZE - 1] != 0
}

/// The stones of every row in one word.
#[inline(always)]
fn any_row(stones: &Stones) -> u32 {
    let mut all = 0;
    let mut y = 0;
    while y < SIZE {
        all |= stones[y];
        y += 1;
    }
    all
}

/// Position of the `n`-th set bit of a word below 2^16, counted from 0; the word has more than `n`.
#[inline(always)]
const fn nth_set_bit(word: u32, n: u32) -> u32 {
    let (mut left, mut at, mut width) = (n, 0, 8);
    while width > 0 {
        let below = (word >> at & ((1 << width) - 1)).count_ones();
        if left >= below {
            left -= below;
            at += width;
        }
        width /= 2;
    }
    at
}

impl Hex {
    /// The empty board.
    pub const fn new() -> Self {
        Self { rows: [0; SIZE], n_stones: 0 }
    }

    /// A player's stones by row: bit x of row y.
    #[inline(always)]
    pub fn stones(&self, player: Player) -> [u32; SIZE] {
        let shift = SECOND * player.index() as u32;
        let mut stones = [0; SIZE];
        let mut y = 0;
        while y < SIZE {
            stones[y] = self.rows[y] >> shift & ROW;
            y += 1;
        }
        stones
    }
}

impl Game for Hex {
    const NAME: &'static str = "hex";
    const MAX_ACTIONS: u32 = SQUARES;
    const BOARD: (u32, u32) = (SIZE as u32, SIZE as u32);
    const PLAYOUT_WORDS: u32 = SIZE as u32;

    #[inline(always)]
    fn to_move(&self) -> Player {
        Player::from_index(self.n_stones)
    }

    #[inline(always)]
    fn is_legal(&self, action: u32) -> bool {
        let (row, column) = (action / SIZE as u32, action % SIZE as u32);
        // Every row is looked at, here and in `apply`: a position in registers has no addresses to index.
        let (mut free, mut y) = (0, 0);
        while y < SIZE {
            free |= if y as u32 == row { !(self.rows[y] | self.rows[y] >> SECOND) & ROW } else { 0 };
            y += 1;
        }
        free >> column & 1 == 1
    }

    #[inline(always)]
    fn apply(&mut self, action: u32) {
        let (row, column) = (action / SIZE as u32, action % SIZE as u32);
        let stone = 1 << (column + SECOND * (self.n_stones & 1));
        let mut y = 0;
        while y < SIZE {
            self.rows[y] |= if y as u32 == row { stone } else { 0 };
            y += 1;
        }
        self.n_stones += 1;
    }

    #[inline(always)]
    fn outcome(&self) -> Outcome {
        if first_wins(&self.stones(Player::First)) {
            return Outcome::Win(Player::First);
        }
        let stones = self.stones(Player::Second);
        let mut seeds = stones;
        let mut y = 0;
        while y < SIZE {
            seeds[y] &= FIRST_COLUMN;
            y += 1;
        }
        if any_row(&flood(&stones, seeds)) & LAST_COLUMN != 0 { Outcome::Win(Player::Second) } else { Outcome::Ongoing }
    }

    /// Only the chain of the last stone can have become a winning one.
    #[inline(always)]
    fn outcome_after(&self, action: u32) -> Outcome {
        let mover = self.to_move().other();
        let (row, column) = (action / SIZE as u32, action % SIZE as u32);
        let mut seeds = [0; SIZE];
        let mut y = 0;
        while y < SIZE {
            seeds[y] = if y as u32 == row { 1 << column } else { 0 };
            y += 1;
        }
        let chain = flood(&self.stones(mover), seeds);
        let wins = match mover {
            Player::First => chain[0] != 0 && chain[SIZE - 1] != 0,
            Player::Second => {
                let columns = any_row(&chain);
                columns & FIRST_COLUMN != 0 && columns & LAST_COLUMN != 0
            }
        };
        if wins { Outcome::Win(mover) } else { Outcome::Ongoing }
    }

    #[inline(always)]
    fn n_playout_actions(&self) -> u32 {
        SQUARES - self.n_stones
    }

    /// Fills the board at random and looks for the chain once, at the end.
    ///
    /// This is Hex's own definition of a playout: it goes on after a win, so it draws more numbers and counts more plies than the plain one.
    /// The winner is the same: a chain stays, and the opponent cannot cross it. Each ply draws a number below the count of free squares
    /// and takes that square in ascending order.
    ///
    /// The board lies in scratch memory, a word a row; counts of free squares by row lie in two words, a byte a row, whose prefix
    /// sums (one multiplication) lead to the row of the n-th free square.
    #[inline(always)]
    fn playout(self, draw: &mut impl Draw, scratch: &mut impl Scratch) -> Playout {
        /// One in each byte: multiplied by it, a byte becomes the sum of all bytes up to it. Sums stay below 128.
        const ONES: u64 = 0x0101_0101_0101_0101;
        /// The highest bit of each byte.
        const HIGH_BITS: u64 = 0x80 * ONES;
        /// Rows that share a word of counts.
        const GROUP: usize = 8;

        let mut free = [0u64; 2];
        let mut y = 0;
        while y < SIZE {
            let row = self.rows[y];
            scratch.set(y as u32, row);
            free[y / GROUP] |= ((!(row | row >> SECOND) & ROW).count_ones() as u64) << (8 * (y % GROUP));
            y += 1;
        }

        let mut n_stones = self.n_stones;
        while n_stones < SQUARES {
            let mut n = draw.below(SQUARES - n_stones);
            let mut up_to = free[0].wrapping_mul(ONES);
            let in_group_0 = (up_to >> 56) as u32;
            let group_1 = n >= in_group_0;
            if group_1 {
                n -= in_group_0;
                up_to = free[1].wrapping_mul(ONES);
            }
            // Rows whose prefix sum is at most n lie before the square: there the difference leaves the high bit set.
            let row_in_group = (((n as u64 * ONES) | HIGH_BITS).wrapping_sub(up_to) & HIGH_BITS).count_ones();
            let before = ((up_to << 8) >> (8 * row_in_group)) as u32 & 0xff;
            let taken = 1 << (8 * row_in_group);
            free[0] -= if group_1 { 0 } else { taken };
            free[1] -= if group_1 { taken } else { 0 };

            let y = row_in_group + if group_1 { GROUP as u32 } else { 0 };
            let row = scratch.get(y);
            let column = nth_set_bit(!(row | row >> SECOND) & ROW, n - before);
            scratch.set(y, row | 1 << (column + SECOND * (n_stones & 1)));
            n_stones += 1;
        }

        let mut stones = [0; SIZE];
        let mut y = 0;
        while y < SIZE {
            stones[y] = scratch.get(y as u32) & ROW;
            y += 1;
        }
        let winner = if first_wins(&stones) { Player::First } else { Player::Second };
        Playout { outcome: Outcome::Win(winner), plies: SQUARES - self.n_stones }
    }
}
