//! A thread's hands, several at a time: their loads are under way together, and what an operation names is read once for all of them.

use super::block::Side;

/// Hands at a time where a thread has more than one: the rounds of hold'em's last street. `unroll!` repeats it as `[0, 1, 2]`.
pub(super) const TOGETHER: usize = 3;
const _: () = assert!(TOGETHER == 3);

/// `T` of a thread's hands. Those behind the end repeat the first one: what is read for them is the thread's own, and nothing is stored for them.
#[derive(Clone, Copy)]
pub(super) struct Hands<const T: usize> {
    /// The hands.
    pub index: [u32; T],
    /// Which are before the end.
    pub is_below: [bool; T],
    /// Which the board leaves possible.
    pub active: [bool; T],
}

impl<const T: usize> Hands<T> {
    /// The hands from `first` on, `apart` from each other, of the padded row, in which `first` is. All lanes of a warp have the same `is_below`, since `apart` and the row are whole warps.
    #[device_inline]
    pub fn of_row(side: &Side, first: u32, apart: u32) -> Self {
        Self::below(side, first, apart, side.padded)
    }

    /// The same, of the hands that the board leaves possible: `first` is one of them.
    #[device_inline]
    pub fn of_side(side: &Side, first: u32, apart: u32) -> Self {
        Self::below(side, first, apart, side.n)
    }

    #[device_inline]
    fn below(side: &Side, first: u32, apart: u32, end: u32) -> Self {
        let mut hands = Self { index: [first; T], is_below: [true; T], active: [first < side.n; T] };
        let mut i = 1;
        while i < T {
            let hand = first + i as u32 * apart;
            hands.is_below[i] = hand < end;
            hands.index[i] = if hands.is_below[i] { hand } else { first };
            hands.active[i] = hand < side.n;
            i += 1;
        }
        hands
    }
}
