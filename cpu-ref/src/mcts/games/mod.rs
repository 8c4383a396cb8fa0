//! The games that come with the library, their rules written plainly on arrays.
//!
//! | game | actions | end |
//! | --- | --- | --- |
//! | [`checkers`] | a piece's square, direction, step or jump | who cannot move has lost; 40 actions without a capture |
//! | [`connect4`] | columns from the left, from 0 | four in a line, or the board is full |
//! | [`gomoku`] | squares, row by row from `a1` | five in a line, or the board is full |

pub mod checkers;
pub mod connect4;
pub mod gomoku;

/// Content of an empty cell. A stone of player `p` is `p + 1`.
const EMPTY: u8 = 0;

/// Content of the cells around the board. No line of stones runs through them, so lines need no test for the board's end.
const EDGE: u8 = 3;

/// Number of `stone`s that follow `at` without a gap in the direction `step` (an index difference, modulo 2^64).
#[inline]
fn run(cells: &[u8], at: usize, step: usize, stone: u8) -> usize {
    let mut length = 0;
    let mut next = at.wrapping_add(step);
    while cells[next] == stone {
        length += 1;
        next = next.wrapping_add(step);
    }
    length
}

/// Number of `stone`s in the unbroken line through `at`, where one stands, in the direction `step` and its opposite.
#[inline]
fn line(cells: &[u8], at: usize, step: usize, stone: u8) -> usize {
    1 + run(cells, at, step, stone) + run(cells, at, step.wrapping_neg(), stone)
}
