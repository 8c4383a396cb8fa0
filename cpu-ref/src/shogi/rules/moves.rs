//! Moves: all of them, one by one.

use super::position::{Position, code, kind_and_side, promoted, unpromoted};
use super::{KING, coordinates, square};

/// A move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A piece on the board moves.
    Step {
        /// From this square.
        from: usize,
        /// To this one.
        to: usize,
        /// Whether it is promoted.
        promote: bool,
    },
    /// A piece in hand is dropped on the board.
    Drop {
        /// P L N S G B R.
        kind: usize,
        /// To this square.
        to: usize,
    },
}

const LETTERS: &[u8; 7] = b"PLNSGBR";

impl Move {
    /// Reads `7g7f`, `8h2b+`, `P*5e`.
    pub fn from_usi(text: &str) -> Option<Self> {
        let at = |file: u8, rank: u8| square(i32::from(file) - i32::from(b'1'), i32::from(rank) - i32::from(b'a'));
        match *text.as_bytes() {
            [kind, b'*', file, rank] => {
                let kind = LETTERS.iter().position(|&letter| letter == kind)?;
                Some(Self::Drop { kind, to: at(file, rank)? })
            }
            [file, rank, to_file, to_rank, ref promote @ ..] if matches!(promote, [] | [b'+']) => {
                Some(Self::Step { from: at(file, rank)?, to: at(to_file, to_rank)?, promote: !promote.is_empty() })
            }
            _ => None,
        }
    }

    /// Writes the move in the same form.
    pub fn usi(self) -> String {
        let at = |square: usize| format!("{}{}", square / 9 + 1, char::from(b'a' + (square % 9) as u8));
        match self {
            Self::Step { from, to, promote } => format!("{}{}{}", at(from), at(to), if promote { "+" } else { "" }),
            Self::Drop { kind, to } => format!("{}*{}", char::from(LETTERS[kind]), at(to)),
        }
    }
}

/// Directions from Black's view: files to the left are higher, ranks forward lower.
const FORWARD: (i32, i32) = (0, -1);
const STRAIGHT: [(i32, i32); 4] = [(0, -1), (1, 0), (-1, 0), (0, 1)];
const DIAGONAL: [(i32, i32); 4] = [(1, -1), (-1, -1), (1, 1), (-1, 1)];
const KNIGHT: [(i32, i32); 2] = [(1, -2), (-1, -2)];

/// Whether a piece of Black moves one square in a direction, and whether it slides further.
fn goes(kind: usize, direction: (i32, i32)) -> (bool, bool) {
    let (straight, diagonal) = (STRAIGHT.contains(&direction), DIAGONAL.contains(&direction));
    let ahead = direction.1 == -1;
    match kind {
        0 => (direction == FORWARD, false),
        1 => (direction == FORWARD, direction == FORWARD),
        2 => (KNIGHT.contains(&direction), false),
        3 => (diagonal || direction == FORWARD, false),
        4 | 7..=10 => (straight || diagonal && ahead, false),
        5 => (diagonal, diagonal),
        6 => (straight, straight),
        11 => (straight || diagonal, diagonal),
        12 => (straight || diagonal, straight),
        _ => (straight || diagonal, false),
    }
}

/// All directions from the side's view, each with the same direction on the board.
fn directions(side: usize) -> impl Iterator<Item = ((i32, i32), (i32, i32))> {
    let turn = if side == 0 { 1 } else { -1 };
    STRAIGHT
        .into_iter()
        .chain(DIAGONAL)
        .chain(KNIGHT)
        .map(move |(file, rank)| ((file, rank), (turn * file, turn * rank)))
}

/// The rank from the side's view, 0 the farthest.
fn rank_of(side: usize, square: usize) -> usize {
    if side == 0 { square % 9 } else { 8 - square % 9 }
}

/// Whether a piece on this rank could never move.
fn stuck(kind: usize, rank: usize) -> bool {
    matches!((kind, rank), (0 | 1, 0) | (2, 0 | 1))
}

impl Position {
    /// Whether a piece of `side` attacks a square.
    pub fn attacks(&self, side: usize, target: usize) -> bool {
        let (file, rank) = coordinates(target);
        // Looking back from the target along each direction in which a piece could come.
        directions(side).any(|(plain, (df, dr))| {
            for distance in 1.. {
                let Some(from) = square(file - df * distance, rank - dr * distance) else { return false };
                if let Some((kind, owner)) = kind_and_side(self.board[from]) {
                    let (step, slide) = goes(kind, plain);
                    return owner == side && if distance == 1 { step } else { slide };
                }
                if plain.1 == -2 {
                    return false;
                }
            }
            false
        })
    }

    /// Whether the side's king is attacked; false without one.
    pub fn in_check(&self, side: usize) -> bool {
        self.king(side).is_some_and(|king| self.attacks(1 - side, king))
    }

    /// The position after a move, regardless of checks.
    pub fn after(&self, mv: Move) -> Self {
        let mut next = self.clone();
        match mv {
            Move::Step { from, to, promote } => {
                if let Some((kind, owner)) = kind_and_side(self.board[to])
                    && owner != self.side
                    && kind != KING
                {
                    next.hands[self.side][unpromoted(kind)] += 1;
                }
                if let Some((kind, side)) = kind_and_side(self.board[from]) {
                    let kind = promoted(kind).filter(|_| promote).unwrap_or(kind);
                    next.board[to] = code(kind, side);
                }
                next.board[from] = 0;
            }
            Move::Drop { kind, to } => {
                next.board[to] = code(kind, self.side);
                next.hands[self.side][kind] -= 1;
            }
        }
        next.side = 1 - self.side;
        next.ply += 1;
        next
    }

    /// Visits moves of pieces on the board, ignoring checks.
    fn each_step(&self, mut visit: impl FnMut(Move)) {
        for from in 0..81 {
            let Some((kind, owner)) = kind_and_side(self.board[from]) else { continue };
            if owner != self.side {
                continue;
            }
            let (file, rank) = coordinates(from);
            for (plain, (df, dr)) in directions(owner) {
                let (step, slide) = goes(kind, plain);
                for distance in 1..=if slide { 8 } else { i32::from(step) } {
                    let Some(to) = square(file + df * distance, rank + dr * distance) else { break };
                    let met = kind_and_side(self.board[to]);
                    if met.is_some_and(|(_, owner)| owner == self.side) {
                        break;
                    }
                    let (before, after) = (rank_of(owner, from), rank_of(owner, to));
                    if promoted(kind).is_some() && before.min(after) < 3 {
                        visit(Move::Step { from, to, promote: true });
                    }
                    if !stuck(kind, after) {
                        visit(Move::Step { from, to, promote: false });
                    }
                    if met.is_some() {
                        break;
                    }
                }
            }
        }
    }

    /// Visits drops, including pawn drops that mate.
    fn each_drop(&self, mut visit: impl FnMut(Move)) {
        for to in (0..81).filter(|&to| self.board[to] == 0) {
            for kind in (0..7).filter(|&kind| self.hands[self.side][kind] > 0) {
                let file = to / 9 * 9;
                let two_pawns = kind == 0 && self.board[file..file + 9].contains(&code(0, self.side));
                if !two_pawns && !stuck(kind, rank_of(self.side, to)) {
                    visit(Move::Drop { kind, to });
                }
            }
        }
    }

    /// Whether an otherwise legal move leaves the own king unattacked and does not mate by a pawn drop. `after` is the position after it.
    fn is_legal(&self, mv: Move, after: &Self) -> bool {
        if after.in_check(self.side) {
            return false;
        }
        // Only a pawn that itself gives check can mate by being dropped.
        !(matches!(mv, Move::Drop { kind: 0, .. }) && after.in_check(after.side) && after.is_mated())
    }

    /// Whether the side to move has no legal move. It is in check by a pawn that was just dropped, so that no drop can parry it: the pawn stands beside the king, and
    /// nothing else gives check, since a drop opens no line.
    fn is_mated(&self) -> bool {
        let mut mated = true;
        self.each_step(|mv| mated = mated && self.after(mv).in_check(self.side));
        mated
    }

    /// All legal moves, and the positions after them.
    pub fn legal_moves(&self) -> Vec<(Move, Self)> {
        let mut moves = Vec::new();
        let mut visit = |mv| {
            let after = self.after(mv);
            if self.is_legal(mv, &after) {
                moves.push((mv, after));
            }
        };
        self.each_step(&mut visit);
        self.each_drop(visit);
        moves
    }
}

/// Number of sequences of `depth` legal moves.
pub fn perft(position: &Position, depth: u32) -> u64 {
    match depth {
        0 => 1,
        1 => position.legal_moves().len() as u64,
        _ => position.legal_moves().iter().map(|(_, after)| perft(after, depth - 1)).sum(),
    }
}
