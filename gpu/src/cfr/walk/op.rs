//! What a warp does in a piece of the betting tree, as a list of operations, and how their 16 bytes are laid out.
//!
//! A piece is a subtree without the subtrees of earlier pieces. Its operations are those of a walk depth first:
//!
//! ```text
//! PATH  PATH  …            the actions from the root of the game to the piece: reaches
//! ENTER                    a sequence: strategy from the regrets
//!   END … END              an action that ends the hand: a pot each
//!   LEAF                   an action to an earlier piece: its values
//!   ENTER … EXIT           an action to a sequence of this piece
//! EXIT                     regrets, average, values
//! STOP
//! ```

use crate::cuda::memory::Vec4;

/// Kinds of operations.
pub mod kind {
    /// One action on the way to the piece.
    pub const PATH: u32 = 0;
    /// A sequence begins.
    pub const ENTER: u32 = 1;
    /// An action leads to an end: one of its pots.
    pub const END: u32 = 2;
    /// An action leads to a piece that has been done.
    pub const LEAF: u32 = 3;
    /// A sequence is over.
    pub const EXIT: u32 = 4;
    /// The piece is over.
    pub const STOP: u32 = 5;
}

/// Instead of an action: the piece begins here.
pub const NO_ACTION: u32 = 3;

/// An operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Op {
    /// One of [`kind`].
    pub kind: u32,
    /// PATH, END, LEAF: the action taken; ENTER, EXIT: that of the sequence before that led here, or [`NO_ACTION`].
    pub action: u32,
    /// Who acts at the sequence.
    pub seat: u32,
    /// ENTER, EXIT: who acts at the sequence before.
    pub before: u32,
    /// Actions that are allowed: bit `action`.
    pub allowed: u32,
    /// END: whether this is the first pot of the end.
    pub first: bool,
    /// END: whether it is the last.
    pub last: bool,
    /// Which of the deal's buckets: seat · rounds + round.
    pub slot: u32,
    /// PATH, ENTER, EXIT: the sequence's row for bucket 0; END: seats that can win the pot; LEAF: number of the piece.
    pub index: u32,
    /// END, LEAF: chips that the action costs; EXIT: those of the action that led here.
    pub cost: f32,
    /// END: chips in the pot.
    pub pot: f32,
}

impl Op {
    /// The operation as it lies in memory.
    pub fn packed(&self) -> Vec4 {
        let flags = u32::from(self.first) << 17 | u32::from(self.last) << 18;
        let word = self.kind
            | self.action << 4
            | self.seat << 6
            | self.before << 10
            | self.allowed << 14
            | flags
            | self.slot << 20;
        Vec4([word, self.index, self.cost.to_bits(), self.pot.to_bits()])
    }

    /// The operation of its bytes.
    #[device_inline]
    pub fn unpacked(packed: Vec4) -> Self {
        let Vec4([word, index, cost, pot]) = packed;
        Self {
            kind: word & 15,
            action: word >> 4 & 3,
            seat: word >> 6 & 15,
            before: word >> 10 & 15,
            allowed: word >> 14 & 7,
            first: word >> 17 & 1 != 0,
            last: word >> 18 & 1 != 0,
            slot: word >> 20,
            index,
            cost: f32::from_bits(cost),
            pot: f32::from_bits(pot),
        }
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn an_operation_keeps_what_it_was_given() {
        let op = Op {
            kind: kind::END,
            action: 2,
            seat: 9,
            before: 5,
            allowed: 6,
            first: true,
            last: false,
            slot: 39,
            index: 0x1234_5678,
            cost: 2.5,
            pot: 17.0,
        };
        assert_eq!(Op::unpacked(op.packed()), op);
        assert_eq!(Op::unpacked(Op { first: false, last: true, ..op }.packed()), Op { first: false, last: true, ..op });
    }
}
