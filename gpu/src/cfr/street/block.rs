//! Where a block works: its street, board and entry, and how each seat's rows lie there.

use super::layout::{Board, Op, Pass, Program, ROW, SeatTables, Street, Task};
use crate::cuda::shared::{self, Shared};
use crate::cuda::{math, memory, thread};

/// What the threads of a block know of where they work. Whoever made it has vouched for the task, so that what the host's programs name is there: operations, operands, slots of
/// shared memory, rows of the board and entry.
#[derive(Clone, Copy)]
pub(super) struct BlockView<'a> {
    pub task: &'a Task,
    pub street: &'a Street,
    /// The next street, where there is one; else the same again, and never used.
    pub next: &'a Street,
    /// What is known of the board.
    pub on: &'a Board,
    pub board: u32,
    pub entry: u32,
    pub shared: Shared<f32>,
}

/// A seat on a block's board.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub seat: u32,
    /// Hands that the board leaves possible.
    pub n: u32,
    /// The same, padded to whole warps.
    pub padded: u32,
    pub stride: u32,
    /// First value of the board's rows in the seat's tables.
    pub table: usize,
    /// First of the board's values in the arrays of hands.
    pub hands: usize,
}

impl<'a> BlockView<'a> {
    /// The view of block (x, y), which has board and entry number x of game number y. `None` for blocks beyond a game's own number.
    ///
    /// # Safety
    /// `task` is what the host has made; `street` is the first of the streets of one number of `n_games` games.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn find(task: &'a Task, street: u32, n_games: u32, n_shared: u32) -> Option<Self> {
        let game = thread::block_idx_y();
        // SAFETY: every game has a street of this number.
        let here = unsafe { &memory::row(task.streets, street + game, 1)[0] };
        let at = thread::block_idx_x();
        if at >= here.n_boards * here.n_entries {
            return None;
        }
        let (board, entry) = (at / here.n_entries, at % here.n_entries);
        // SAFETY: behind the last streets there is one more, which no operation uses; the board is one of the street's.
        let (next, on) = unsafe {
            let next = &*task.streets.add((street + game + n_games) as usize);
            (next, &memory::row(task.boards.add(here.boards as usize), board, 1)[0])
        };
        Some(Self { task, street: here, next, on, board, entry, shared: shared::dynamic(0, n_shared) })
    }

    /// A seat on this board.
    #[inline(always)]
    pub fn side(&self, seat: u32) -> Side {
        let s = seat as usize;
        let stride = self.street.stride[s];
        let n = self.on.n_hands[s];
        let first = self.board as usize * stride as usize;
        Side {
            seat,
            n,
            padded: n.div_ceil(ROW) * ROW,
            stride,
            table: self.street.tables[s] as usize + first * self.street.n_slots[s] as usize,
            hands: self.street.hands[s] as usize + first,
        }
    }

    /// A seat's tables. Asked for anew by each operation: pointers that are kept all the time take the registers that the arithmetic needs.
    #[inline(always)]
    pub fn tables(&self, side: &Side) -> SeatTables {
        // Chosen, not indexed: an index would send the kernel's parameters to local memory.
        if math::opaque(side.seat) == 0 { self.task.first } else { self.task.second }
    }

    /// The program of a traverser, 0 or 1.
    #[inline(always)]
    #[track_caller]
    pub fn program(&self, traverser: u32) -> &'a Program {
        // SAFETY: every entry has a program for each traverser.
        unsafe { &memory::row(self.task.programs, self.street.programs + self.entry * 2 + traverser, 1)[0] }
    }

    /// First value of the row that brings the reach of `seat` to this block.
    #[inline(always)]
    pub fn reach_row(&self, seat: u32) -> usize {
        let row = self.on.parent as usize * self.street.n_entries as usize + self.entry as usize;
        self.street.reach[seat as usize] as usize + row * self.street.hand_stride as usize
    }

    /// First value of the row that brings the reach of `seat` to entry `entry` of the next street.
    #[inline(always)]
    pub fn next_reach_row(&self, seat: u32, entry: u32) -> usize {
        let row = self.board as usize * self.next.n_entries as usize + entry as usize;
        self.next.reach[seat as usize] as usize + row * self.next.hand_stride as usize
    }

    /// First value of the row of this block's root values for `seat`.
    #[inline(always)]
    pub fn value_row(&self, seat: u32) -> usize {
        let row = self.board as usize * self.street.n_entries as usize + self.entry as usize;
        self.street.values[seat as usize] as usize + row * self.street.hand_stride as usize
    }

    /// Reads shared memory.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, at: u32) -> f32 {
        // SAFETY: offsets come from the host's programs, which fit in the block's shared memory; `simt` looks.
        unsafe { self.shared.get_unchecked(at) }
    }

    /// Writes shared memory.
    #[inline(always)]
    #[track_caller]
    pub fn set(&self, at: u32, value: f32) {
        // SAFETY: as `get`.
        unsafe { self.shared.set_unchecked(at, value) }
    }

    /// Writes a value, or adds it.
    #[inline(always)]
    #[track_caller]
    pub fn put(&self, at: u32, value: f32, add: bool) {
        let value = if add { self.get(at) + value } else { value };
        self.set(at, value);
    }

    /// Operation `at` of a program's range. A copy: behind a store the compiler would read each field again.
    #[inline(always)]
    #[track_caller]
    pub fn op(&self, at: u32) -> Op {
        // SAFETY: ranges of programs and segments lie among the operations.
        unsafe { memory::load(self.task.ops, at as usize) }
    }

    /// Operand `at` of an operation: a slot.
    #[inline(always)]
    #[track_caller]
    pub fn operand(&self, at: u32) -> u32 {
        // SAFETY: operands of operations lie among the operands.
        unsafe { memory::load(self.task.operands, at as usize) }
    }

    /// Number that the game gives hand `hand` of a side, one of its `n`.
    #[inline(always)]
    #[track_caller]
    pub fn number(&self, side: &Side, hand: u32) -> usize {
        // SAFETY: a number for each hand of the board.
        unsafe { memory::load(self.task.hands, side.hands + hand as usize) as usize }
    }

    /// Importance of the block's board: 1 unless boards are sampled.
    #[inline(always)]
    #[track_caller]
    pub fn board_factor(&self, pass: &Pass) -> f32 {
        if pass.sampled & 1 == 0 {
            return 1.0;
        }
        // SAFETY: a factor for each board.
        unsafe { memory::load(self.task.board_factors, self.street.boards as usize + self.board as usize) }
    }

    /// Importance of a hand that was drawn, 0 for others; where hands are sampled.
    #[inline(always)]
    #[track_caller]
    pub fn hand_factor(&self, side: &Side, hand: u32) -> f32 {
        let first = self.street.masks[side.seat as usize] as usize;
        // SAFETY: a factor for each hand of the game.
        unsafe { memory::load(self.task.hand_factors, first + self.number(side, hand)) }
    }
}
