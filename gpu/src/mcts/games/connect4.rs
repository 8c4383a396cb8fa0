//! Connect 4 on a board of up to 8 × 8.
//!
//! ```text
//! One bitboard a player. Column c is byte c, its lowest row is bit 0:
//!   bit 8c + r   column c, row r
//! ```
//!
//! A column's byte is 0…01…1, so adding 1 to it yields the next free square; four in a row are four bits at distance 1 (column),
//! 8 (row), 9 or 7 (diagonals).

use bytemuck::{Pod, Zeroable};

use crate::mcts::game::{Draw, Game, Outcome, Player, Playout, Scratch};

/// The lowest row of every column.
const BOTTOM: u64 = 0x0101_0101_0101_0101;

/// The lowest bit of every nibble.
const NIBBLES: u32 = 0x1111_1111;

/// A position of Connect 4 with `ROWS` rows and `COLUMNS` columns, each from 4 to 8 (or 1 to 3, where no line fits). An action is a column, from 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connect4<const ROWS: u32 = 6, const COLUMNS: u32 = 7> {
    /// Stones of the first and of the second player.
    stones: [u64; 2],
}

/// The usual board, 6 rows and 7 columns.
pub type Connect4Standard = Connect4<6, 7>;
/// The largest board, 8 × 8.
pub type Connect4Large = Connect4<8, 8>;

// SAFETY: two words, any bits allowed, no padding.
unsafe impl<const R: u32, const C: u32> Zeroable for Connect4<R, C> {}
// SAFETY: as above; `repr(C)`, and the const parameters do not change the layout.
unsafe impl<const R: u32, const C: u32> Pod for Connect4<R, C> {}

impl<const ROWS: u32, const COLUMNS: u32> Connect4<ROWS, COLUMNS> {
    const COLUMN: u64 = (1 << ROWS) - 1;
    /// The lowest row of the columns that exist.
    const COLUMNS_BOTTOM: u64 = if COLUMNS == 8 { BOTTOM } else { BOTTOM & ((1 << (8 * COLUMNS)) - 1) };
    /// The highest row of the columns that exist.
    const TOP: u64 = Self::COLUMNS_BOTTOM << (ROWS - 1);
    const FULL: u64 = Self::COLUMN * Self::COLUMNS_BOTTOM;
    const VALID: () =
        assert!(ROWS >= 1 && ROWS <= 8 && COLUMNS >= 1 && COLUMNS <= 8, "a board has 1 to 8 rows and columns");

    /// The empty board.
    pub const fn new() -> Self {
        #[allow(clippy::let_unit_value, reason = "forces the check of the board's size")]
        let () = Self::VALID;
        Self { stones: [0; 2] }
    }

    /// Stones of the first and of the second player, bit `8 * column + row`.
    pub const fn stones(&self) -> [u64; 2] {
        self.stones
    }

    #[device_inline]
    fn occupied(&self) -> u64 {
        self.stones[0] | self.stones[1]
    }

    /// One bit in each nibble of a column that has room.
    #[device_inline]
    fn open_columns(occupied: u64) -> u32 {
        let mut open = 0;
        let mut column = 0;
        while column < COLUMNS {
            open |= ((!(occupied >> (8 * column + ROWS - 1)) & 1) as u32) << (4 * column);
            column += 1;
        }
        open
    }

    /// Whether these stones hold four in a row.
    #[device_inline]
    fn has_four(stones: u64) -> bool {
        // A line that starts in `rows` stays in its column or moves on by one row a column, so it cannot wrap. Boards with a row to
        // spare in each byte need no mask: the spare bit breaks every wrapped line.
        const fn line(stones: u64, distance: u32) -> u64 {
            let pairs = stones & (stones >> distance);
            pairs & (pairs >> (2 * distance))
        }
        if ROWS < 8 {
            (line(stones, 1) | line(stones, 8) | line(stones, 9) | line(stones, 7)) != 0
        } else {
            const LOW: u64 = 0x1f * BOTTOM;
            const HIGH: u64 = 0xf8 * BOTTOM;
            ((line(stones, 1) | line(stones, 9)) & LOW | line(stones, 8) | line(stones, 7) & HIGH) != 0
        }
    }

    #[device_inline]
    fn outcome_for(stones: u64, occupied: u64, player: Player) -> Outcome {
        if Self::has_four(stones) {
            Outcome::Win(player)
        } else if occupied == Self::FULL {
            Outcome::Draw
        } else {
            Outcome::Ongoing
        }
    }
}

impl<const ROWS: u32, const COLUMNS: u32> Game for Connect4<ROWS, COLUMNS> {
    const NAME: &'static str = match (ROWS, COLUMNS) {
        (6, 7) => "connect4",
        (8, 8) => "connect4_8x8",
        _ => "connect4 of another size",
    };
    const MAX_ACTIONS: u32 = COLUMNS;
    const BOARD: (u32, u32) = (ROWS, COLUMNS);

    #[device_inline]
    fn to_move(&self) -> Player {
        Player::from_index(self.occupied().count_ones())
    }

    #[device_inline]
    fn is_legal(&self, action: u32) -> bool {
        action < COLUMNS && self.occupied() >> (8 * action + ROWS - 1) & 1 == 0
    }

    #[device_inline]
    fn apply(&mut self, action: u32) {
        let occupied = self.occupied();
        let square = (occupied.wrapping_add(1 << (8 * action))) & !occupied;
        if self.to_move() == Player::First {
            self.stones[0] |= square;
        } else {
            self.stones[1] |= square;
        }
    }

    #[device_inline]
    fn outcome(&self) -> Outcome {
        if Self::has_four(self.stones[0]) {
            return Outcome::Win(Player::First);
        }
        Self::outcome_for(self.stones[1], self.occupied(), Player::Second)
    }

    #[device_inline]
    fn outcome_after(&self, _action: u32) -> Outcome {
        // Only the player who has just moved can have completed a line.
        match self.to_move().other() {
            Player::First => Self::outcome_for(self.stones[0], self.occupied(), Player::First),
            Player::Second => Self::outcome_for(self.stones[1], self.occupied(), Player::Second),
        }
    }

    #[device_inline]
    fn n_playout_actions(&self) -> u32 {
        (!(self.occupied() >> (ROWS - 1)) & Self::COLUMNS_BOTTOM).count_ones()
    }

    #[device_inline]
    fn nth_playout_action(&self, n: u32) -> u32 {
        // Byte c of `up_to` is the number of open columns up to c; those with at most n are left of the n-th open column.
        let up_to = (!(self.occupied() >> (ROWS - 1)) & Self::COLUMNS_BOTTOM).wrapping_mul(BOTTOM);
        let left = ((n as u64 * BOTTOM) | (0x80 * BOTTOM)).wrapping_sub(up_to) & (0x80 * BOTTOM);
        left.count_ones()
    }

    #[device_inline]
    fn playout(self, draw: &mut impl Draw, _scratch: &mut impl Scratch) -> Playout {
        let first = self.to_move();
        let mut occupied = self.occupied();
        let (mut mine, mut theirs) =
            if first == Player::First { (self.stones[0], self.stones[1]) } else { (self.stones[1], self.stones[0]) };
        let mut open = Self::open_columns(occupied);
        let mut plies = 0;
        loop {
            // Nibble c of `up_to` is the number of open columns up to c; those with at most n are left of the n-th open column.
            let up_to = open.wrapping_mul(NIBBLES);
            if up_to == 0 {
                return Playout { outcome: Outcome::Draw, plies };
            }
            let n = draw.below(up_to >> 28);
            let left = ((n * NIBBLES) | (8 * NIBBLES)).wrapping_sub(up_to) & (8 * NIBBLES);
            let column = left.count_ones();
            // `& 7` bounds the shift for the compiler; the column is below 8 anyway.
            let square = occupied.wrapping_add(1 << (8 * (column & 7))) & !occupied;
            open ^= ((square & Self::TOP != 0) as u32) << (4 * (column & 7));
            occupied |= square;
            let moved = mine | square;
            plies += 1;
            if Self::has_four(moved) {
                let winner = if plies & 1 == 1 { first } else { first.other() };
                return Playout { outcome: Outcome::Win(winner), plies };
            }
            (mine, theirs) = (theirs, moved);
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod text {
    use super::*;
    use crate::mcts::notation::{Notation, NotationError};

    impl<const ROWS: u32, const COLUMNS: u32> Notation for Connect4<ROWS, COLUMNS> {
        fn start() -> Self {
            Self::new()
        }

        fn action_name(action: u32) -> String {
            (u64::from(action) + 1).to_string()
        }

        /// Columns from 1, one digit each; white space and commas may stand between them.
        fn parse_moves(text: &str) -> Result<Vec<u32>, NotationError> {
            let mut actions = Vec::new();
            for (at, character) in text.chars().enumerate() {
                if character.is_whitespace() || character == ',' {
                    continue;
                }
                match character.to_digit(10) {
                    Some(column) if (1..=COLUMNS).contains(&column) => actions.push(column - 1),
                    _ => {
                        return Err(NotationError {
                            column: at + 1,
                            found: character.to_string(),
                            allowed: format!("columns 1 to {COLUMNS}"),
                        });
                    }
                }
            }
            Ok(actions)
        }

        fn draw(&self) -> String {
            let mut board = String::new();
            for row in (0..ROWS).rev() {
                for column in 0..COLUMNS {
                    let bit = 1 << (8 * column + row);
                    board.push(if self.stones[0] & bit != 0 {
                        'X'
                    } else if self.stones[1] & bit != 0 {
                        'O'
                    } else {
                        '.'
                    });
                    board.push(if column + 1 < COLUMNS { ' ' } else { '\n' });
                }
            }
            for column in 1..=COLUMNS {
                board.push_str(&column.to_string());
                board.push(if column < COLUMNS { ' ' } else { '\n' });
            }
            board
        }
    }
}

#[cfg(feature = "mcts-connect4")]
crate::mcts_kernels!(standard, Connect4Standard, "connect4", crate::ptx::embedded::MCTS_CONNECT4);

#[cfg(feature = "mcts-boards")]
crate::mcts_kernels!(large, Connect4Large, "connect4_8x8", crate::ptx::embedded::MCTS_BOARDS);

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;
    use crate::mcts::notation::Notation;

    fn played(moves: &str) -> Connect4Standard {
        let mut position = Connect4::new();
        for action in Connect4Standard::parse_moves(moves).unwrap() {
            assert!(position.is_legal(action), "{moves}");
            position.apply(action);
        }
        position
    }

    /// Move sequences by length, none continued after its end: the usual count for this board.
    fn perft(position: Connect4Standard, depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        (0..7)
            .filter(|&action| position.is_legal(action))
            .map(|action| {
                let mut next = position;
                next.apply(action);
                if depth > 1 && next.outcome_after(action).is_over() { 0 } else { perft(next, depth - 1) }
            })
            .sum()
    }

    /// 0 is a multiple of 32, but a block has at least one thread.
    #[cfg(feature = "mcts-connect4")]
    #[test]
    fn a_launch_of_no_threads_is_refused() {
        use crate::args::Refusal;
        use crate::cuda::view::{Disjoint, Slice, View};
        use crate::kernel::ShapedKernel;
        use crate::mcts::reduce::RootAction;

        let (totals, mut best) = ([RootAction::default(); 2], [RootAction::default()]);
        let mut prepare = |threads| {
            // SAFETY: as many values as are said, which nobody else uses; nothing is launched.
            let views = unsafe { (Slice::new(totals.as_ptr(), 2), Disjoint::new(best.as_mut_ptr(), 1), 2) };
            standard::mcts_reduce_over_actions::prepare(views, (threads,)).map(|(shape, _)| shape.n_threads())
        };
        assert_eq!(prepare(64), Ok(64));
        for threads in [0, 33] {
            let condition = "threads > 0 && threads.is_multiple_of(32)";
            assert_eq!(prepare(threads), Err(Refusal::Unmet { condition, found: format!("threads = {threads}") }));
        }
    }

    #[test]
    fn move_counts() {
        let counts: Vec<u64> = (1..=8).map(|depth| perft(Connect4::new(), depth)).collect();
        assert_eq!(counts, [7, 49, 343, 2401, 16807, 117_649, 823_536, 5_673_234]);
    }

    #[test]
    fn wins_in_all_directions() {
        for (moves, winner) in [
            ("1212121", Player::First),
            ("1122334", Player::First),
            ("12233434474", Player::First),
            ("76655454414", Player::First),
            ("71212121", Player::Second),
        ] {
            let position = played(moves);
            assert_eq!(position.outcome(), Outcome::Win(winner), "{moves}\n{}", position.draw());
        }
        assert_eq!(played("121212").outcome(), Outcome::Ongoing);
    }

    #[test]
    fn lines_do_not_wrap_on_the_full_byte() {
        // Rows 6, 7 of column 0 and rows 0, 1 of column 1 are neighbours in the word, not on the board.
        assert!(!Connect4Large::has_four(0b11 << 6 | 0b11 << 8));
        assert!(Connect4Large::has_four(0b1111 << 4));
        assert!(Connect4Large::has_four(0x8040_2010));
        assert!(Connect4Large::has_four(0x1020_4080));
        // Down to row 0 and then on from row 7 of the next column.
        assert!(!Connect4Large::has_four(1 << 1 | 1 << 8 | 1 << 15 | 1 << 22));
    }
}
