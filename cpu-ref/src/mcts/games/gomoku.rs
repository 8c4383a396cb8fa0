//! Gomoku: five stones in a line win.
//!
//! The board has one ring of EDGE cells around it, row by row. Action = row · size + column, both from 0: `a1` is 0, `b1` is 1.

use super::super::game::{Game, GameResult};
use super::super::rng::Stream;
use super::{EDGE, EMPTY, line};

/// Stones in a line that win.
const LINE: usize = 5;

/// A position of Gomoku.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gomoku {
    size: usize,
    exact: bool,
    /// `[size + 2, size + 2]`
    cells: Box<[u8]>,
    n_stones: usize,
    to_move: u8,
}

impl Gomoku {
    /// The empty board of `size` × `size`, player 0 to move. The usual board is 15 × 15.
    ///
    /// * `exact`: only a line of exactly five wins; otherwise (free-style) five or more.
    ///
    /// Any size works; a board without cells is a draw.
    ///
    /// # Panics
    /// If the board has more cells than a vector can hold.
    pub fn new(size: usize, exact: bool) -> Self {
        let mut cells = vec![EDGE; size.saturating_add(2).saturating_pow(2)].into_boxed_slice();
        for row in cells.chunks_mut(size + 2).skip(1).take(size) {
            row[1..=size].fill(EMPTY);
        }
        Self { size, exact, cells, n_stones: 0, to_move: 0 }
    }

    /// Number of rows and of columns of the board.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The player whose stone stands on square `action`; `None` for an empty square or one that is not on the board.
    pub fn stone(&self, action: usize) -> Option<usize> {
        let on_board = action < self.size * self.size;
        (on_board && self.cells[self.cell(action)] != EMPTY).then(|| usize::from(self.cells[self.cell(action)] - 1))
    }

    #[inline]
    fn cell(&self, action: usize) -> usize {
        (action / self.size + 1) * self.stride() + action % self.size + 1
    }

    #[inline]
    fn stride(&self) -> usize {
        self.size + 2
    }

    /// Whether `stone` in cell `at` (present or hypothetical) is part of a line that wins.
    #[inline]
    fn makes_line(&self, at: usize, stone: u8) -> bool {
        let up = self.stride();
        [1, up, up + 1, up - 1].iter().any(|&step| {
            let length = line(&self.cells, at, step, stone);
            length == LINE || length > LINE && !self.exact
        })
    }

    /// The result once `stone`, the `n_stones`-th, stands in cell `at`.
    #[inline]
    fn result_with(&self, at: usize, stone: u8, n_stones: usize) -> Option<GameResult> {
        if n_stones >= 2 * LINE - 1 && self.makes_line(at, stone) {
            Some(GameResult::Win(usize::from(stone - 1)))
        } else if n_stones == self.size * self.size {
            Some(GameResult::Draw)
        } else {
            None
        }
    }
}

impl Game for Gomoku {
    fn max_actions(&self) -> usize {
        self.size * self.size
    }

    fn to_move(&self) -> usize {
        usize::from(self.to_move)
    }

    #[inline]
    fn is_legal(&self, action: usize) -> bool {
        action < self.size * self.size && self.cells[self.cell(action)] == EMPTY
    }

    /// Puts a stone on square `action`. An illegal action changes nothing.
    #[inline]
    fn apply(&mut self, action: usize) {
        if self.is_legal(action) {
            let cell = self.cell(action);
            self.cells[cell] = self.to_move + 1;
            self.n_stones += 1;
            self.to_move = 1 - self.to_move;
        }
    }

    #[inline]
    fn result_after(&self, action: usize) -> Option<GameResult> {
        let stone = self.stone(action)? as u8 + 1;
        self.result_with(self.cell(action), stone, self.n_stones)
    }

    fn result(&self) -> Option<GameResult> {
        for action in 0..self.size * self.size {
            if let Some(player) = self.stone(action)
                && self.makes_line(self.cell(action), player as u8 + 1)
            {
                return Some(GameResult::Win(player));
            }
        }
        (self.n_stones == self.size * self.size).then_some(GameResult::Draw)
    }

    fn result_of(&self, action: usize) -> Option<GameResult> {
        if !self.is_legal(action) {
            return None;
        }
        self.result_with(self.cell(action), self.to_move + 1, self.n_stones + 1)
    }

    /// The default playout with a list of cells in place of actions, kept ascending by removing each played one.
    fn playout(&self, rng: &mut Stream) -> (GameResult, u32) {
        let mut position = self.clone();
        let mut free: Vec<u32> =
            (0u32..).zip(&self.cells).filter(|(_, content)| **content == EMPTY).map(|(cell, _)| cell).collect();
        let mut plies = 0;
        while !free.is_empty() {
            let cell = free.remove(rng.below(free.len() as u32) as usize) as usize;
            let stone = position.to_move + 1;
            position.cells[cell] = stone;
            position.n_stones += 1;
            position.to_move = 1 - position.to_move;
            plies += 1;
            if let Some(result) = position.result_with(cell, stone, position.n_stones) {
                return (result, plies);
            }
        }
        (GameResult::Draw, plies)
    }
}
