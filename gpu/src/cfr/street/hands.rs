//! A thread's hands, several at a time: their loads are under way together, and what an operation names is read once for all of them.

use super::block::Side;

/// Hands at a time where a thread has more than one: the rounds of hold'em's last street.
pub(super) const TOGETHER: usize = 3;

/// `T` of a thread's hands. Those behind the row's end repeat the first one: what is read for them is there, and nobody writes it.
#[derive(Clone, Copy)]
pub(super) struct Hands<const T: usize> {
    /// The hands.
    pub index: [u32; T],
    /// Which are in the padded row: the same for all lanes of a warp.
    pub in_row: [bool; T],
    /// Which the board leaves possible.
    pub active: [bool; T],
}

impl<const T: usize> Hands<T> {
    /// The hands `first`, which is in the row, and those each `apart` behind it.
    #[inline(always)]
    pub fn at(side: &Side, first: u32, apart: u32) -> Self {
        let mut hands = Self { index: [first; T], in_row: [true; T], active: [first < side.n; T] };
        let mut i = 1;
        while i < T {
            let hand = first + i as u32 * apart;
            hands.in_row[i] = hand < side.padded;
            hands.index[i] = if hands.in_row[i] { hand } else { first };
            hands.active[i] = hand < side.n;
            i += 1;
        }
        hands
    }
}
