//! Where a block works: its street, board and entry, and how each seat's rows lie there.

use super::layout::{BEGINS, Board, Eval, Link, NONE, Op, Pass, Program, ROW, SeatTables, Segment, Street, Task, flag};
use super::numbers::Numbers;
use super::tables::{Cell, Tables};
use crate::cuda::memory::{GlobalNumber, Vec4};
use crate::cuda::shared::{self, Shared};
use crate::cuda::{math, memory, thread};

/// What the threads of a block know of where they work. Whoever made it has vouched for the task, so that what the host's programs name is there: operations, operands, slots of
/// shared memory, rows of the board and entry. That these files ask for nothing else is for a reader to check: an index is a number to the compiler.
#[derive(Clone, Copy)]
pub(super) struct BlockView<'a> {
    task: &'a Task,
    pub street: &'a Street,
    /// The next street, where there is one; else the same again, and never used.
    pub next: &'a Street,
    /// What is known of the board.
    pub on: &'a Board,
    pub board: u32,
    pub entry: u32,
    /// Which of the blocks that share the subtree's hands this is, and how many there are.
    part: [u32; 2],
    shared: Shared<f32>,
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
    table: usize,
    /// First of the board's values in the arrays of hands.
    hands: usize,
}

impl Side {
    /// The cell of hand `hand`, below `padded`, in row `row` of an operation.
    #[device_inline]
    pub const fn cell(&self, row: u32, hand: u32) -> Cell {
        // SAFETY: rows are those that the host's operations name, and hands the thread's own.
        unsafe { Cell::new(self.table + row as usize * self.stride as usize + hand as usize) }
    }
}

impl<'a> BlockView<'a> {
    /// Whether block (x, y) has a subtree, one of game number y, where `n_parts` blocks after each other share one: games of a batch can have fewer than others.
    /// Asked apart from [`find`](Self::find): an `Option` of the view would keep the task in local memory.
    ///
    /// # Safety
    /// As `find`.
    #[device_inline]
    #[track_caller]
    pub unsafe fn has_subtree(task: &Task, street: u32, n_parts: u32) -> bool {
        // SAFETY: every game has a street of this number.
        let here = unsafe { &memory::row(task.streets, street + thread::block_idx_y(), 1)[0] };
        thread::block_idx_x() / n_parts < here.n_boards * here.n_entries
    }

    /// The view of block (x, y), which [has a subtree](Self::has_subtree).
    ///
    /// # Safety
    /// `task` is what the host has made: what its streets, boards and programs name is there, with tables of last regrets and kept strategies where a step or pass uses them, in the precision
    /// that is asked for; `street` is the first of the streets of one number of `n_games` games; the block [has a subtree](Self::has_subtree). The programs' slots are below `n_shared`. What a block writes is of its own hands, and no other block uses it meanwhile.
    #[device_inline]
    #[track_caller]
    pub unsafe fn find(task: &'a Task, street: u32, n_games: u32, n_shared: u32, n_parts: u32) -> Self {
        let game = thread::block_idx_y();
        let (at, part) = (thread::block_idx_x() / n_parts, thread::block_idx_x() % n_parts);
        // SAFETY: every game has a street of this number; after the last streets there is one more, which no operation uses; the board is one of the street's, as `at` is below boards times
        // entries. No kernel writes streets or boards.
        unsafe {
            let here = &memory::row(task.streets, street + game, 1)[0];
            let (board, entry) = (at / here.n_entries, at % here.n_entries);
            let next = &*task.streets.add((street + game + n_games) as usize);
            let on = &memory::row(task.boards.add(here.boards as usize), board, 1)[0];
            let part = [part, n_parts];
            Self { task, street: here, next, on, board, entry, part, shared: shared::dynamic(0, n_shared) }
        }
    }

    /// Whether a thread of a grid of a thread a hand, blocks of `threads`, has an exit to the next street: a board of the street and an entry of the next one.
    ///
    /// # Safety
    /// As [`find`](Self::find); `street` is not the last one.
    #[device_inline]
    #[track_caller]
    pub unsafe fn has_exit(task: &Task, street: u32, n_games: u32, threads: u32) -> bool {
        // SAFETY: every game has a street of this number and one after it.
        unsafe {
            let here = &memory::row(task.streets, street + thread::block_idx_y(), 1)[0];
            let next = &memory::row(task.streets, street + thread::block_idx_y() + n_games, 1)[0];
            thread::block_idx_x() / next.hand_stride.div_ceil(threads) < here.n_boards * next.n_entries
        }
    }

    /// The view of an exit, which [is there](Self::has_exit): its board, with the next street's entry as the entry; the first value of the row that the reach of `seat` has there, and the thread's
    /// hand as the game numbers it.
    ///
    /// # Safety
    /// As `has_exit`, which is true.
    #[device_inline]
    #[track_caller]
    pub unsafe fn find_exit(task: &'a Task, street: u32, n_games: u32, threads: u32, seat: u32) -> (Self, usize, u32) {
        let game = thread::block_idx_y();
        // SAFETY: as in `find`: both streets are there, and the board is one of the first one's.
        unsafe {
            let here = &memory::row(task.streets, street + game, 1)[0];
            let next = &memory::row(task.streets, street + game + n_games, 1)[0];
            let blocks = next.hand_stride.div_ceil(threads);
            let (exit, part) = (thread::block_idx_x() / blocks, thread::block_idx_x() % blocks);
            let (board, entry) = (exit / next.n_entries, exit % next.n_entries);
            let on = &memory::row(task.boards.add(here.boards as usize), board, 1)[0];
            let view = Self { task, street: here, next, on, board, entry, part: [0, 1], shared: shared::dynamic(0, 0) };
            (view, view.next_reach_row(seat, entry), part * threads + thread::thread_idx_x())
        }
    }

    /// The thread's first hand: one after the other in the threads of the block, or, with `PARTS`, of all blocks that share the subtree.
    #[device_inline]
    pub fn first_hand<const PARTS: bool>(&self) -> u32 {
        let first = if PARTS { self.part[0] * thread::block_dim_x() } else { 0 };
        first + thread::thread_idx_x()
    }

    /// From one of the thread's hands to its next.
    #[device_inline]
    pub fn hands_apart<const PARTS: bool>(&self) -> u32 {
        if PARTS { self.part[1] * thread::block_dim_x() } else { thread::block_dim_x() }
    }

    /// A seat on this board.
    #[device_inline]
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
    #[device_inline]
    pub fn tables(&self, side: &Side) -> Tables {
        // Chosen, not indexed: an index would send the kernel's parameters to local memory.
        let tables: SeatTables = if math::opaque(side.seat) == 0 { self.task.first } else { self.task.second };
        // SAFETY: the task's, whose rows hold `stride` values for each action of a set, as whoever made the view has vouched.
        unsafe { Tables::new(tables) }
    }

    /// Prefetches the block's `rows` of a seat's regrets, and with `averages` of its averages, into the second-level cache. Called by all threads of the block.
    #[device_inline]
    #[track_caller]
    pub fn prefetch<N: Numbers>(&self, side: &Side, rows: [u32; 2], averages: bool) {
        let tables = self.tables(side);
        let first = side.cell(rows[0], 0).number() * N::BYTES;
        let len = rows[1] as usize * side.stride as usize * N::BYTES;
        let mut at = thread::thread_idx_x() as usize * memory::LINE;
        while at < len {
            // SAFETY: the rows are the subtree's, in the tables.
            unsafe {
                memory::prefetch(tables.regrets().cells().add(first + at));
                if averages {
                    memory::prefetch(tables.averages().cells().add(first + at));
                }
            }
            at += thread::block_dim_x() as usize * memory::LINE;
        }
    }

    /// The program of a traverser, 0 or 1.
    #[device_inline]
    #[track_caller]
    pub fn program(&self, traverser: u32) -> &'a Program {
        ReadView(self.task.programs).row(self.street.programs + self.entry * 2 + traverser)
    }

    /// First value of the row that brings the reach of `seat` to this block.
    #[device_inline]
    pub fn reach_row(&self, seat: u32) -> usize {
        let row = self.on.parent as usize * self.street.n_entries as usize + self.entry as usize;
        self.street.reach[seat as usize] as usize + row * self.street.hand_stride as usize
    }

    /// First value of the row that brings the reach of `seat` to entry `entry` of the next street.
    #[device_inline]
    pub fn next_reach_row(&self, seat: u32, entry: u32) -> usize {
        let row = self.board as usize * self.next.n_entries as usize + entry as usize;
        self.next.reach[seat as usize] as usize + row * self.next.hand_stride as usize
    }

    /// First value of the row of this block's root values for `seat`.
    #[device_inline]
    pub fn value_row(&self, seat: u32) -> usize {
        let row = self.board as usize * self.street.n_entries as usize + self.entry as usize;
        self.street.values[seat as usize] as usize + row * self.street.hand_stride as usize
    }

    /// Reads shared memory.
    #[device_inline]
    #[track_caller]
    pub fn get(&self, at: u32) -> f32 {
        // SAFETY: offsets come from the host's programs, which fit in the block's shared memory; `simt` looks.
        unsafe { self.shared.get_unchecked(at) }
    }

    /// Writes shared memory.
    #[device_inline]
    #[track_caller]
    pub fn set(&self, at: u32, value: f32) {
        // SAFETY: as `get`.
        unsafe { self.shared.set_unchecked(at, value) }
    }

    /// Writes a value, or adds it.
    #[device_inline]
    #[track_caller]
    pub fn put(&self, at: u32, value: f32, add: bool) {
        let value = if add { self.get(at) + value } else { value };
        self.set(at, value);
    }

    /// Operation `at` of a program's range. A copy: after a store the compiler would read each field again.
    #[device_inline]
    #[track_caller]
    pub fn op(&self, at: u32) -> Op {
        // SAFETY: as `ReadView`; an operation is four aligned vectors of 16 bytes.
        let quads =
            [0, 1, 2, 3].map(|i| unsafe { memory::load_vec4(self.task.ops.add(at as usize).cast::<Vec4>().add(i)) }.0);
        bytemuck::cast(quads)
    }

    /// Operands of operations, slots, to be asked for many.
    #[device_inline]
    pub fn operands(&self) -> ReadView<u32> {
        ReadView(self.task.operands)
    }

    /// Operand `at` of an operation: a slot.
    #[device_inline]
    #[track_caller]
    pub fn operand(&self, at: u32) -> u32 {
        ReadView(self.task.operands).get(at as usize)
    }

    /// Numbers that the game gives some hands of a side.
    #[device_inline]
    #[track_caller]
    pub fn numbers<const T: usize>(&self, side: &Side, hands: [u32; T]) -> [usize; T] {
        hands.map(|hand| self.number(side, hand))
    }

    /// Number that the game gives hand `hand` of a side, one of its `n`.
    #[device_inline]
    #[track_caller]
    pub fn number(&self, side: &Side, hand: u32) -> usize {
        ReadView(self.task.hands).get(side.hands + hand as usize) as usize
    }

    /// Importance of the block's board: 1 unless boards are sampled.
    #[device_inline]
    #[track_caller]
    pub fn board_factor(&self, pass: &Pass) -> f32 {
        if pass.sampled & 1 == 0 {
            return 1.0;
        }
        ReadView(self.task.board_factors).get(self.street.boards as usize + self.board as usize)
    }

    /// Importance of a hand that was drawn, 0 for others; where hands are sampled.
    #[device_inline]
    #[track_caller]
    pub fn hand_factor(&self, side: &Side, hand: u32) -> f32 {
        let first = self.street.masks[side.seat as usize] as usize;
        ReadView(self.task.hand_factors).get(first + self.number(side, hand))
    }

    /// Importance of a board of the next street, where boards are sampled.
    #[device_inline]
    #[track_caller]
    pub fn next_board_factor(&self, board: u32) -> f32 {
        ReadView(self.task.board_factors).get(self.next.boards as usize + board as usize)
    }

    /// Segment `at` of a program's range.
    #[device_inline]
    #[track_caller]
    pub fn segment(&self, at: u32) -> &'a Segment {
        ReadView(self.task.segments).row(at)
    }

    /// Evaluations of segments.
    #[device_inline]
    pub fn evals(&self) -> ReadView<Eval> {
        ReadView(self.task.evals)
    }

    /// Where the prefix sums of a card's hands begin and end, without the one value more of each card; the difference is the number of hands with the card.
    #[device_inline]
    #[track_caller]
    pub fn hands_with(&self, side: &Side, card: u32) -> (u32, u32) {
        let table = (self.street.boards as usize + self.board as usize) * 2 + side.seat as usize;
        let begins = ReadView(self.task.begins).from(table * BEGINS as usize + card as usize);
        (begins.get(0) as u32, begins.get(1) as u32)
    }

    /// Hands of a side by card, as (row, card).
    #[device_inline]
    #[track_caller]
    pub fn lists(&self, side: &Side) -> ReadView<u16> {
        let row = self.board as usize * self.street.n_list_rows as usize;
        ReadView(self.task.lists).from(self.street.lists[side.seat as usize] as usize + row * BEGINS as usize)
    }

    /// What is known of hand `hand` of a side, one of its `n`.
    #[device_inline]
    #[track_caller]
    pub fn record(&self, side: &Side, hand: u32) -> [u32; 4] {
        // SAFETY: a record for each hand of the board, an aligned vector of 16 bytes.
        unsafe { memory::load_vec4(self.task.records.add(side.hands + hand as usize)) }.0
    }

    /// 1 / prior of hand `hand` of a side (weight × scale of the game × probability of the board), on the last street.
    #[device_inline]
    #[track_caller]
    pub fn inverse_prior(&self, side: &Side, hand: u32) -> f32 {
        let row = self.board as usize * side.stride as usize;
        ReadView(self.task.inverse_priors)
            .get(self.street.inverse_priors[side.seat as usize] as usize + row + hand as usize)
    }

    /// First row of what is given at an operation's node on this board; [`NONE`] where all hands learn.
    #[device_inline]
    #[track_caller]
    pub fn given_row(&self, op: &Op) -> u32 {
        if op.flags & flag::LOCKED == 0 {
            return NONE;
        }
        ReadView(self.task.given_rows).get((op.given + self.board) as usize)
    }

    /// Probability that is given to hand `hand` of a side, one of its `n`, in row `row`; negative where the hand learns.
    #[device_inline]
    #[track_caller]
    pub fn given(&self, side: &Side, row: u32, hand: u32) -> f32 {
        ReadView(self.task.given).get(row as usize * self.street.hand_stride as usize + self.number(side, hand))
    }

    /// Links between boards.
    #[device_inline]
    pub fn links(&self) -> ReadView<Link> {
        ReadView(self.task.links)
    }

    /// Maps between hands.
    #[device_inline]
    pub fn permutations(&self) -> ReadView<u16> {
        ReadView(self.task.permutations)
    }

    /// Values between streets.
    #[device_inline]
    pub fn values(&self) -> ReadView<f32> {
        ReadView(self.task.values)
    }

    /// The same, to write those of the block's own hands in its subtree's row.
    #[device_inline]
    pub fn own_values(&self) -> WriteView<f32> {
        WriteView(self.task.values)
    }

    /// Reach between streets.
    #[device_inline]
    pub fn reach(&self) -> ReadView<f32> {
        ReadView(self.task.reach)
    }

    /// The same, to write those of the block's own hands in the rows that its subtree hands on.
    #[device_inline]
    pub fn own_reach(&self) -> WriteView<f32> {
        WriteView(self.task.reach)
    }

    /// Adds to the utility of hand `hand`, where `first` is the side's first one.
    #[device_inline]
    #[track_caller]
    pub fn add_utility(&self, first: usize, hand: u32, value: f32) {
        let sums = self.task.utilities.wrapping_add(first);
        WriteView(sums).set(hand as usize, ReadView(sums.cast_const()).get(hand as usize) + value as f64);
    }
}

/// An array of the task. Only a block's view has one, and what is read of it is what the host's programs, boards and streets name: whoever made the view has vouched that it is there.
#[derive(Clone, Copy)]
pub(super) struct ReadView<T>(*const T);

impl<T> ReadView<T> {
    /// Value `at`.
    #[device_inline]
    #[track_caller]
    pub fn get(self, at: usize) -> T
    where
        T: GlobalNumber,
    {
        // SAFETY: the value is named by the host's tables, so it is there, as the maker of the view has vouched.
        unsafe { memory::load_global(self.0, at) }
    }

    /// The values from `first` on.
    #[device_inline]
    fn from(self, first: usize) -> Self {
        // SAFETY: `first` is the start of rows that the host's streets and boards name, so it is within the array or at its end: `BlockView::find` and `find_exit` have this of their callers.
        Self(unsafe { self.0.add(first) })
    }

    /// Value `at` where it is.
    #[device_inline]
    #[track_caller]
    pub fn row<'a>(self, at: u32) -> &'a T {
        // SAFETY: `at` is a number of the host's tables, so the value is there, as the callers of `BlockView::find` and `find_exit` guarantee. Only programs, segments, evaluations and links are
        // read by reference, and no kernel writes those.
        unsafe { &memory::row(self.0, at, 1)[0] }
    }
}

/// An array of the task of which the block writes values of its own hands: whoever made the view has vouched that they are there and that no other block uses them meanwhile.
#[derive(Clone, Copy)]
pub(super) struct WriteView<T>(*mut T);

impl<T: GlobalNumber> WriteView<T> {
    /// Replaces value `at`.
    #[device_inline]
    #[track_caller]
    pub fn set(self, at: usize, value: T) {
        // SAFETY: the value is of one of the block's own hands, which no other block uses meanwhile, as the maker of the view has vouched.
        unsafe { memory::store_global(self.0, at, value) };
    }
}
