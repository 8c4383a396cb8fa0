//! Positions as lists of pieces, and what a move changes in them.

use warpplay_gpu::shogi::difference::unit;
use warpplay_gpu::shogi::piece::{
    BLACK_KING, HAND_KINDS, Location, PIECES, SLOTS, SQUARES, WHITE_KING, in_hand, most_in_hand, on_board, parts,
};

use super::{KING, Move, Rules};

const NO_SLOT: u8 = u8::MAX;

/// A position's list of pieces ([`warpplay_gpu::shogi::piece`]), with the slots of each square's and each hand's pieces. A piece keeps its slot when it moves.
#[derive(Clone, Debug)]
pub struct List {
    numbers: [u16; SLOTS as usize],
    on_square: [u8; SQUARES as usize],
    in_hand: [[[u8; 18]; HAND_KINDS as usize]; 2],
    hands: [[u8; HAND_KINDS as usize]; 2],
}

/// The changes of a move to a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    words: [u32; 2],
    len: u8,
    /// The material gained by the side that moves, as a sum of [`unit`]s modulo 2⁶⁴.
    pub(in crate::shogi) material: u64,
}

impl Change {
    /// `slot << 16 | new number`, slots ascending.
    pub fn words(&self) -> &[u32] {
        &self.words[..usize::from(self.len)]
    }
}

/// The kind that a captured piece becomes in hand; other kinds, such as a king, are unchanged.
pub(in crate::shogi) const fn unpromoted(kind: u32) -> u32 {
    match kind {
        7..=10 => kind - 7,
        11 | 12 => kind - 6,
        kind => kind,
    }
}

/// The kind to which a piece promotes; a gold stays a gold.
pub(in crate::shogi) const fn promoted(kind: u32) -> u32 {
    match kind {
        0..=3 => kind + 7,
        5 | 6 => kind + 6,
        _ => kind,
    }
}

impl List {
    /// The list of a position, pieces in the order of squares, then those in hand.
    ///
    /// # Errors
    /// The reason why a position has no list: a king is missing or a side has two, there are more pieces of a kind than in the game, or a kind that the game does not have.
    pub fn new(position: &impl Rules) -> Result<Self, String> {
        let mut list = Self::empty();
        let mut next = 0;
        let mut counts = [0; HAND_KINDS as usize];
        let mut add = |list: &mut Self, kind: u32, number: u32| {
            let base = unpromoted(kind);
            let count = counts.get_mut(base as usize).ok_or_else(|| format!("it has a piece of the kind {kind}"))?;
            *count += 1;
            if next == PIECES || *count > most_in_hand(base) {
                return Err("it has more pieces of a kind than the game".to_owned());
            }
            list.put(next, number);
            next += 1;
            Ok(())
        };
        for square in 0..SQUARES {
            match position.piece_on(square) {
                Some((KING, side)) => list.put_king(side, square)?,
                Some((kind, side)) => add(&mut list, kind, on_board(kind, side, square))?,
                None => {}
            }
        }
        for side in 0..2 {
            for kind in 0..HAND_KINDS {
                let n = position.in_hand(kind, side);
                if n > most_in_hand(kind) {
                    return Err("it has more pieces of a kind than the game".to_owned());
                }
                for n in 0..n {
                    add(&mut list, kind, in_hand(kind, side, n))?;
                }
            }
        }
        list.with_kings()
    }

    /// The list of these numbers, slots kept.
    ///
    /// # Errors
    /// A description of the error.
    pub fn from_numbers(numbers: &[u16; SLOTS as usize]) -> Result<Self, String> {
        let mut list = Self::empty();
        for (slot, &number) in (0..PIECES).zip(numbers) {
            if number == 0 {
                continue;
            }
            let Some((kind, side, at)) = parts(number.into()) else {
                return Err(format!("slot {slot} holds the number {number}, expected 0 to 2182"));
            };
            match at {
                Location::Board(square) if list.on_square[square as usize] != NO_SLOT => {
                    return Err(format!("two pieces are on square {square}"));
                }
                Location::Hand(n) if list.in_hand[side as usize][kind as usize][n as usize] != NO_SLOT => {
                    return Err(format!("the number {number} occurs twice in the list"));
                }
                _ => list.put(slot, number.into()),
            }
        }
        for side in 0..2 {
            for kind in 0..HAND_KINDS as usize {
                let n = usize::from(list.hands[side][kind]);
                if list.in_hand[side][kind][..n].contains(&NO_SLOT) {
                    return Err("a hand's pieces are not numbered from the first".to_owned());
                }
            }
            let square = numbers[BLACK_KING as usize + side];
            if u32::from(square) >= SQUARES {
                return Err(format!("a king is on square {square}, expected 0 to 80"));
            }
            list.put_king(side as u32, square.into())?;
        }
        list.with_kings()
    }

    fn empty() -> Self {
        Self {
            numbers: [0; SLOTS as usize],
            on_square: [NO_SLOT; SQUARES as usize],
            in_hand: [[[NO_SLOT; 18]; HAND_KINDS as usize]; 2],
            hands: [[0; HAND_KINDS as usize]; 2],
        }
    }

    fn put(&mut self, slot: u32, number: u32) {
        self.numbers[slot as usize] = number as u16;
        match parts(number) {
            Some((_, _, Location::Board(square))) => self.on_square[square as usize] = slot as u8,
            Some((kind, side, Location::Hand(n))) => {
                self.in_hand[side as usize][kind as usize][n as usize] = slot as u8;
                self.hands[side as usize][kind as usize] += 1;
            }
            None => {}
        }
    }

    fn put_king(&mut self, side: u32, square: u32) -> Result<(), String> {
        let slot = BLACK_KING + side;
        if self.on_square.contains(&(slot as u8)) {
            return Err(format!("{} has two kings", name(side)));
        }
        if self.on_square[square as usize] != NO_SLOT {
            return Err(format!("two pieces are on square {square}"));
        }
        self.numbers[slot as usize] = square as u16;
        self.on_square[square as usize] = slot as u8;
        Ok(())
    }

    fn with_kings(self) -> Result<Self, String> {
        for side in 0..2 {
            if !self.on_square.contains(&((BLACK_KING + side) as u8)) {
                return Err(format!("{} has no king", name(side)));
            }
        }
        Ok(self)
    }

    /// The numbers, slot by slot.
    pub fn numbers(&self) -> &[u16; SLOTS as usize] {
        &self.numbers
    }

    /// Kind and side of the piece on a square.
    pub fn piece_on(&self, square: u32) -> Option<(u32, u32)> {
        match u32::from(*self.on_square.get(square as usize)?) {
            slot if slot < PIECES => parts(self.numbers[slot as usize].into()).map(|(kind, side, _)| (kind, side)),
            slot if slot < SLOTS => Some((KING, slot - BLACK_KING)),
            _ => None,
        }
    }

    /// The square of Black's king (side 0), or of White's.
    pub fn king(&self, side: u32) -> u32 {
        self.numbers[if side == 0 { BLACK_KING } else { WHITE_KING } as usize].into()
    }

    /// Square and kind of a slot's piece, if it is `side`'s and on the board.
    pub(in crate::shogi) fn on_board(&self, slot: u32, side: u32) -> Option<(u32, u32)> {
        let number = u32::from(self.numbers[slot as usize]);
        if slot >= PIECES {
            return (slot == BLACK_KING + side).then_some((number, KING));
        }
        match parts(number) {
            Some((kind, owner, Location::Board(square))) if owner == side => Some((square, kind)),
            _ => None,
        }
    }

    /// Pieces of a kind (0 to 6) in a side's hand; 0 for other kinds and sides.
    pub fn n_in_hand(&self, kind: u32, side: u32) -> u32 {
        self.hands.get(side as usize).and_then(|hand| hand.get(kind as usize)).map_or(0, |&n| n.into())
    }

    /// The changes of a move of `side`; `None` for a move that the list shows to be impossible: from an empty square or an empty hand, of the opponent's piece, onto an own
    /// piece or a king.
    pub fn change(&self, side: u32, played: Move) -> Option<Change> {
        let to = played.to();
        let taken = self.on_square[to as usize];
        let Some(from) = played.from() else {
            let kind = played.dropped()?;
            let n = self.n_in_hand(kind, side).checked_sub(1)?;
            if taken != NO_SLOT {
                return None;
            }
            let slot = self.in_hand[side as usize][kind as usize][n as usize];
            return Some(Change { words: [word(slot, on_board(kind, side, to)), 0], len: 1, material: 0 });
        };
        let slot = self.on_square[from as usize];
        let (kind, owner) = self.piece_on(from)?;
        if owner != side {
            return None;
        }
        let mut material = 0u64;
        let moved = if kind == KING {
            word(slot, to)
        } else if played.promotes() {
            material = unit(promoted(kind)).wrapping_sub(unit(kind));
            word(slot, on_board(promoted(kind), side, to))
        } else {
            word(slot, on_board(kind, side, to))
        };
        if taken == NO_SLOT {
            return Some(Change { words: [moved, 0], len: 1, material });
        }
        let (kind, owner) = self.piece_on(to)?;
        if owner == side || kind == KING {
            return None;
        }
        let base = unpromoted(kind);
        let n = self.n_in_hand(base, side);
        if n == most_in_hand(base) {
            return None;
        }
        material = material.wrapping_add(unit(kind)).wrapping_add(unit(base));
        let captured = word(taken, in_hand(base, side, n));
        let words = if slot < taken { [moved, captured] } else { [captured, moved] };
        Some(Change { words, len: 2, material })
    }

    /// Applies a change that [`List::change`] gave for this list and side.
    pub(in crate::shogi) fn apply(&mut self, change: &Change) {
        // First all pieces leave their squares and hands, then they take the new ones: a captured piece's square is the mover's next.
        for word in change.words() {
            let slot = (word >> 16) as usize;
            let old = u32::from(self.numbers[slot]);
            if slot >= PIECES as usize {
                self.on_square[old as usize] = NO_SLOT;
                continue;
            }
            match parts(old) {
                Some((_, _, Location::Board(square))) => self.on_square[square as usize] = NO_SLOT,
                Some((kind, side, Location::Hand(n))) => {
                    self.in_hand[side as usize][kind as usize][n as usize] = NO_SLOT;
                    self.hands[side as usize][kind as usize] -= 1;
                }
                None => {}
            }
        }
        for word in change.words() {
            let (slot, number) = (word >> 16, word & 0xFFFF);
            if slot >= PIECES {
                self.numbers[slot as usize] = number as u16;
                self.on_square[number as usize] = slot as u8;
            } else {
                self.put(slot, number);
            }
        }
    }
}

const fn word(slot: u8, number: u32) -> u32 {
    (slot as u32) << 16 | number
}

const fn name(side: u32) -> &'static str {
    if side == 0 { "Black" } else { "White" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shogi::board::{Board, START};

    #[test]
    fn kinds_turn_into_each_other() {
        for kind in [0, 1, 2, 3, 5, 6] {
            assert_eq!(unpromoted(promoted(kind)), kind);
            assert_ne!(promoted(kind), kind);
        }
        assert_eq!((promoted(4), unpromoted(4), promoted(5), unpromoted(12)), (4, 4, 11, 6));
    }

    /// Random games: the list changes as the board does, and comes back from its numbers.
    #[test]
    fn list_follows_the_board() {
        let mut board = Board::from_sfen(START).unwrap();
        let mut list = List::new(&board).unwrap();
        let mut moves = Vec::new();
        let mut random = 1u64;
        for _ in 0..600 {
            board.legal_moves(&mut moves);
            if moves.is_empty() {
                break;
            }
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            let played = moves[(random >> 33) as usize % moves.len()];
            let change = list.change(board.side(), played).unwrap();
            assert!(board.play(played));
            list.apply(&change);
            let mut expected = *List::new(&board).unwrap().numbers();
            let mut numbers = *list.numbers();
            expected[..38].sort_unstable();
            numbers[..38].sort_unstable();
            assert_eq!(numbers, expected);
            let again = List::from_numbers(list.numbers()).unwrap();
            assert_eq!((again.on_square, again.in_hand, again.hands), (list.on_square, list.in_hand, list.hands));
        }
    }

    #[test]
    fn positions_without_a_list_say_why() {
        let why = |sfen: &str| List::new(&Board::from_sfen(sfen).unwrap()).unwrap_err();
        assert_eq!(why("4k4/9/9/9/9/9/9/9/9 b - 1"), "Black has no king");
        assert_eq!(why("9/9/9/9/9/9/9/9/4K4 b - 1"), "White has no king");
    }
}
