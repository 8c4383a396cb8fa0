//! Children of a position: the played move's first, then those of all legal moves.

use super::position::kind_and_side;
use super::{KING, Move, Position};
use crate::shogi::KINDS;
use crate::shogi::material::pack;

/// The children of a parent.
#[derive(Clone, Debug)]
pub struct Children {
    /// The positions: child 0, then the others.
    pub positions: Vec<Position>,
    /// Index of the played move's child among those of the legal moves, from 1.
    pub played: usize,
    /// The difference of material of each to child 0, from the view of the side that moved.
    pub differences: Vec<u64>,
}

/// For each kind, the number of Black's pieces minus White's; those in hand are unpromoted.
pub fn material(position: &Position) -> [i32; KINDS] {
    let mut counts = [0; KINDS];
    for &code in &position.board {
        if let Some((kind, side)) = kind_and_side(code).filter(|&(kind, _)| kind != KING) {
            counts[kind] += 1 - 2 * side as i32;
        }
    }
    for (count, (&black, &white)) in counts.iter_mut().zip(position.hands[0].iter().zip(&position.hands[1])) {
        *count += i32::from(black) - i32::from(white);
    }
    counts
}

/// The children of a position; `None` if the move is not legal.
pub fn children(position: &Position, played: Move) -> Option<Children> {
    let moves = position.legal_moves();
    let index = moves.iter().position(|&(mv, _)| mv == played)?;
    let mut positions = vec![moves[index].1.clone()];
    positions.extend(moves.into_iter().map(|(_, after)| after));
    let sign = if position.side == 0 { 1 } else { -1 };
    let first = material(&positions[0]);
    let difference = |child: &Position| {
        let counts = material(child);
        pack(&std::array::from_fn(|kind| sign * (counts[kind] - first[kind])))
    };
    Some(Children { differences: positions.iter().map(difference).collect(), played: index + 1, positions })
}
