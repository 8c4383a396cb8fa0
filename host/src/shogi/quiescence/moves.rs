//! Captures, promotions, and whether a square is attacked, on a list of pieces.

use warpplay_gpu::shogi::piece::{PIECES, SLOTS};

use super::options::Promotions;
use crate::shogi::board::{KING, List, Move, promoted};

/// Steps in files and ranks, from Black's view: ahead, then clockwise. The opposite of a direction is four further.
const DIRECTIONS: [(i32, i32); 8] = [(0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1)];
/// A set of directions: bit `d` for direction `d`.
type Directions = u8;
const DIAGONAL: Directions = 0b1010_1010;
const STRAIGHT: Directions = 0b0101_0101;
const GOLD: Directions = 0b1101_0111;
/// Directions in which each kind moves one step, from its owner's view; knights jump.
const STEPS: [Directions; 14] = [1, 0, 0, 0b1010_1011, GOLD, 0, 0, GOLD, GOLD, GOLD, GOLD, STRAIGHT, DIAGONAL, u8::MAX];
/// Directions in which each kind moves any number of steps.
const SLIDES: [Directions; 14] = [0, 1, 0, 0, 0, DIAGONAL, STRAIGHT, 0, 0, 0, 0, DIAGONAL, STRAIGHT, 0];
const KNIGHT: u32 = 2;

/// The square one step on, if it is on the board.
fn step(square: u32, (files, ranks): (i32, i32)) -> Option<u32> {
    let (file, rank) = (square as i32 / 9 + files, square as i32 % 9 + ranks);
    ((0..9).contains(&file) && (0..9).contains(&rank)).then_some((file * 9 + rank) as u32)
}

/// Converts a direction of `side` to Black's view.
const fn turned(direction: usize, side: u32) -> usize {
    (direction + 4 * side as usize) % 8
}

fn jumps(side: u32) -> [(i32, i32); 2] {
    let ahead = if side == 0 { -2 } else { 2 };
    [(-1, ahead), (1, ahead)]
}

/// Whether `by` attacks a square.
pub(super) fn attacked(list: &List, square: u32, by: u32) -> bool {
    for (direction, &delta) in DIRECTIONS.iter().enumerate() {
        let mut at = step(square, delta);
        let mut far = false;
        while let Some(from) = at {
            if let Some((kind, side)) = list.piece_on(from) {
                // The piece looks back along the way, as its owner sees the board.
                let looks = 1 << turned(direction + 4, by);
                let goes = SLIDES[kind as usize] | if far { 0 } else { STEPS[kind as usize] };
                if side == by && goes & looks != 0 {
                    return true;
                }
                break;
            }
            far = true;
            at = step(from, delta);
        }
    }
    jumps(1 - by).iter().any(|&delta| step(square, delta).is_some_and(|from| list.piece_on(from) == Some((KNIGHT, by))))
}

/// Adds the captures and promotions of `side`, each with the kind that is captured. Its king may be left in check by them.
pub(super) fn captures_and_promotions(
    list: &List,
    side: u32,
    promotions: Promotions,
    moves: &mut Vec<(Move, u32, Option<u32>)>,
) {
    for slot in (0..SLOTS).filter(|&slot| slot < PIECES || slot == PIECES + side) {
        let Some((from, kind)) = list.on_board(slot, side) else { continue };
        let quiet = kind == 0 || promotions == Promotions::All;
        let mut target = |to: u32| add(list, (from, to), (kind, side), quiet, moves);
        if kind == KNIGHT {
            for to in jumps(side).into_iter().filter_map(|delta| step(from, delta)) {
                target(to);
            }
            continue;
        }
        for direction in 0..8 {
            let delta = DIRECTIONS[turned(direction, side)];
            if SLIDES[kind as usize] >> direction & 1 == 1 {
                let mut at = step(from, delta);
                while let Some(to) = at
                    && target(to)
                {
                    at = step(to, delta);
                }
            } else if STEPS[kind as usize] >> direction & 1 == 1
                && let Some(to) = step(from, delta)
            {
                target(to);
            }
        }
    }
}

/// Adds the moves from one square to another; returns whether the piece can slide further.
fn add(
    list: &List,
    (from, to): (u32, u32),
    (kind, side): (u32, u32),
    quiet: bool,
    moves: &mut Vec<(Move, u32, Option<u32>)>,
) -> bool {
    let captured = list.piece_on(to);
    let empty = captured.is_none();
    if captured.is_some_and(|(_, owner)| owner == side) {
        return false;
    }
    if empty && !quiet {
        return true;
    }
    let captured = captured.map(|(kind, _)| kind);
    // Ranks from the far side.
    let rank = |square: u32| if side == 0 { square % 9 } else { 8 - square % 9 };
    let promotes = kind != KING && promoted(kind) != kind && (rank(from) < 3 || rank(to) < 3);
    // Pawns, bishops and rooks lose nothing by promotion; lances and knights must promote on the last ranks, and are of no use on the second.
    let stays = !empty && (!promotes || matches!(kind, 3) || matches!(kind, 1 | 2) && rank(to) >= 2);
    if promotes && let Some(played) = Move::board(from, to, true) {
        moves.push((played, kind, captured));
    }
    if stays && let Some(played) = Move::board(from, to, false) {
        moves.push((played, kind, captured));
    }
    empty
}
