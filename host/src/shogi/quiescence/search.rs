//! Alpha-beta search of captures and promotions.

use super::moves::{attacked, captures_and_promotions};
use super::options::{Promotions, QuietEvaluator};
use crate::shogi::board::{KING, List, Move};

/// Rough values of the kinds P L N S G B R +P +L +N +S +B +R K; only the order of moves depends on them.
const DEAR: [i32; 14] = [1, 3, 4, 5, 6, 8, 10, 7, 6, 6, 6, 12, 13, 20];

/// A search, with memory for its moves.
pub(super) struct Search<'a, E: ?Sized> {
    evaluator: &'a E,
    promotions: Promotions,
    /// Moves of all positions on the current line, one after the other.
    moves: Vec<(Move, u32, Option<u32>)>,
    /// Number of positions searched.
    pub nodes: u64,
}

impl<'a, E: QuietEvaluator + ?Sized> Search<'a, E> {
    pub fn new(evaluator: &'a E, promotions: Promotions) -> Self {
        Self { evaluator, promotions, moves: Vec::with_capacity(256), nodes: 0 }
    }

    /// The last position of the quiet line from a position with `side` to move.
    pub fn leaf(&mut self, list: &List, side: u32, depth: u32) -> [u16; 40] {
        let mut leaf = *list.numbers();
        self.search(list, side, (f64::NEG_INFINITY, f64::INFINITY), depth, &mut leaf);
        leaf
    }

    /// The value of a position for `side`; `leaf` becomes the line's last position if the value is between the bounds.
    fn search(
        &mut self,
        list: &List,
        side: u32,
        (lowest, highest): (f64, f64),
        depth: u32,
        leaf: &mut [u16; 40],
    ) -> f64 {
        self.nodes += 1;
        *leaf = *list.numbers();
        let worth = self.evaluator.evaluate(list.numbers());
        let mut best = if side == 0 { worth } else { -worth };
        if depth == 0 || best >= highest {
            return best;
        }
        let first = self.moves.len();
        captures_and_promotions(list, side, self.promotions, &mut self.moves);
        self.moves[first..].sort_unstable_by_key(|&(played, kind, captured)| {
            let gain = captured.map_or(0, |kind| 16 * DEAR[kind as usize]) + 8 * i32::from(played.promotes());
            (DEAR[kind as usize] - gain, played)
        });
        let mut line = [0; 40];
        for at in first..self.moves.len() {
            let (played, _, captured) = self.moves[at];
            // A king cannot be captured: the position before was reached by a legal move.
            let Some(change) = list.change(side, played).filter(|_| captured != Some(KING)) else { continue };
            let mut next = list.clone();
            next.apply(&change);
            if attacked(&next, next.king(side), 1 - side) {
                continue;
            }
            let bounds = (-highest, -best.max(lowest));
            let worth = -self.search(&next, 1 - side, bounds, depth - 1, &mut line);
            if worth > best {
                best = worth;
                // Below the lowest bound the line is none that the side before would choose.
                *leaf = line;
                if best >= highest {
                    break;
                }
            }
        }
        self.moves.truncate(first);
        best
    }
}
