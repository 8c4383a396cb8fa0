//! Connect 4: stones fall into columns, four in a line win.
//!
//! ```text
//! row 1   E E E . . . E E E     The board with three rings of EDGE cells around it (those
//! row 0   E E E . . . E E E     below and above not drawn), row by row; row 0 is the bottom.
//!         E E E E E E E E E     An action is a column, from 0.
//! ```

use super::super::game::{Game, GameResult};
use super::super::rng::Stream;
use super::{EDGE, EMPTY, line};

/// Stones in a line that win.
const LINE: usize = 4;

/// Width of the border: the distance that a line through a cell of the board can reach.
const RING: usize = LINE - 1;

/// A position of Connect 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connect4 {
    rows: usize,
    columns: usize,
    /// `[rows + 2·RING, columns + 2·RING]`
    cells: Box<[u8]>,
    /// Stones in each column.
    heights: Box<[usize]>,
    n_stones: usize,
    to_move: u8,
}

impl Connect4 {
    /// The empty board of `rows` × `columns`, player 0 to move. The usual board is 6 × 7.
    ///
    /// Any size works; a board without cells is a draw.
    ///
    /// # Panics
    /// If the board has more cells than a vector can hold.
    pub fn new(rows: usize, columns: usize) -> Self {
        let with_ring = |n: usize| n.saturating_add(2 * RING);
        let mut cells = vec![EDGE; with_ring(rows).saturating_mul(with_ring(columns))].into_boxed_slice();
        for row in cells.chunks_mut(columns + 2 * RING).skip(RING).take(rows) {
            row[RING..RING + columns].fill(EMPTY);
        }
        Self { rows, columns, cells, heights: vec![0; columns].into_boxed_slice(), n_stones: 0, to_move: 0 }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The player whose stone stands in a cell, row 0 being the bottom; `None` for an empty cell or one that is not on the board.
    pub fn stone(&self, row: usize, column: usize) -> Option<usize> {
        let on_board = row < self.rows && column < self.columns;
        (on_board && self.cells[self.cell(row, column)] != EMPTY)
            .then(|| usize::from(self.cells[self.cell(row, column)] - 1))
    }

    #[inline]
    fn cell(&self, row: usize, column: usize) -> usize {
        (row + RING) * self.stride() + column + RING
    }

    #[inline]
    fn stride(&self) -> usize {
        self.columns + 2 * RING
    }

    /// Whether `stone` in cell `at` (present or hypothetical) is part of a line of four.
    #[inline]
    fn makes_line(&self, at: usize, stone: u8) -> bool {
        let cells = &self.cells;
        let up = self.stride();
        // Always the same twenty-one looks and no branch: which cell breaks a line is too random to be predicted.
        let is = |steps: usize, step: usize| cells[at.wrapping_add(steps.wrapping_mul(step))] == stone;
        let run = |step: usize| {
            let one = is(1, step);
            let two = one & is(2, step);
            let three = two & is(3, step);
            u8::from(one) + u8::from(two) + u8::from(three)
        };
        let line = |step: usize| run(step) + run(step.wrapping_neg()) >= 3;
        // Three others and this one are four. Nothing stands above the last stone of a column.
        line(1) | line(up + 1) | line(up - 1) | (run(up.wrapping_neg()) >= 3)
    }

    /// The result once `stone`, the `n_stones`-th, stands in cell `at`.
    #[inline]
    fn result_with(&self, at: usize, stone: u8, n_stones: usize) -> Option<GameResult> {
        if n_stones >= 2 * LINE - 1 && self.makes_line(at, stone) {
            Some(GameResult::Win(usize::from(stone - 1)))
        } else if n_stones == self.rows * self.columns {
            Some(GameResult::Draw)
        } else {
            None
        }
    }
}

impl Game for Connect4 {
    fn max_actions(&self) -> usize {
        self.columns
    }

    fn to_move(&self) -> usize {
        usize::from(self.to_move)
    }

    #[inline]
    fn is_legal(&self, action: usize) -> bool {
        action < self.columns && self.heights[action] < self.rows
    }

    /// Drops a stone into column `action`. An illegal action changes nothing.
    #[inline]
    fn apply(&mut self, action: usize) {
        if self.is_legal(action) {
            let cell = self.cell(self.heights[action], action);
            self.cells[cell] = self.to_move + 1;
            self.heights[action] += 1;
            self.n_stones += 1;
            self.to_move = 1 - self.to_move;
        }
    }

    #[inline]
    fn result_after(&self, action: usize) -> Option<GameResult> {
        let row = self.heights.get(action)?.checked_sub(1)?;
        let at = self.cell(row, action);
        self.result_with(at, self.cells[at], self.n_stones)
    }

    fn result(&self) -> Option<GameResult> {
        for row in 0..self.rows {
            for column in 0..self.columns {
                let at = self.cell(row, column);
                let stone = self.cells[at];
                if stone != EMPTY
                    && [1, self.stride(), self.stride() + 1, self.stride() - 1]
                        .iter()
                        .any(|&step| line(&self.cells, at, step, stone) >= LINE)
                {
                    return Some(GameResult::Win(usize::from(stone - 1)));
                }
            }
        }
        (self.n_stones == self.rows * self.columns).then_some(GameResult::Draw)
    }

    fn result_of(&self, action: usize) -> Option<GameResult> {
        if !self.is_legal(action) {
            return None;
        }
        self.result_with(self.cell(self.heights[action], action), self.to_move + 1, self.n_stones + 1)
    }

    /// The default playout, without lists of legal actions.
    fn playout(&self, rng: &mut Stream) -> (GameResult, u32) {
        let mut position = self.clone();
        let mut n_open = (0..self.columns).filter(|&column| self.is_legal(column)).count();
        let mut plies = 0;
        while n_open > 0 {
            let mut column = rng.below(n_open as u32) as usize;
            if n_open < self.columns {
                // The k-th open column: pass every full one on the way.
                let mut candidate = 0;
                loop {
                    if position.heights[candidate] < self.rows {
                        if column == 0 {
                            break;
                        }
                        column -= 1;
                    }
                    candidate += 1;
                }
                column = candidate;
            }
            position.apply(column);
            plies += 1;
            if let Some(result) = position.result_after(column) {
                return (result, plies);
            }
            n_open -= usize::from(position.heights[column] == self.rows);
        }
        (GameResult::Draw, plies)
    }
}
