//! Checkers (English draughts) on 8 × 8, an action for each step and for each single jump.
//!
//! ```text
//! Pieces stand on the 32 dark squares only, four a row; bit i is square 2i + 1 in even rows and 2i in odd ones (square = row · 8 + column):
//!   row 0 (labelled 8)    .  0  .  1  .  2  .  3      the second player's side, its men move down
//!   row 1                 4  .  5  .  6  .  7  .
//!   …
//!   row 7 (labelled 1)   28  . 29  . 30  . 31  .      the first player's side, its men move up; square 56 is a1
//! action = (square · 4 + direction) · 2 + type: direction 0 up-left, 1 up-right, 2 down-right, 3 down-left; type 0 step, 1 jump
//! ```
//!
//! A neighbour is 4 bits away, or 3 or 5 where the row below or above is shifted, so a direction is two shifts of the whole board. Capture is mandatory,
//! but any one will do. Each jump is an action: while the piece can jump on, its player stays to move and has no other actions, so **players do not
//! always alternate**. A man that is crowned stops. After 40 actions without a capture the game is drawn; otherwise who cannot move has lost.
//!
//! # Source
//! OpenSpiel 2.0.2, game `checkers`.

use bytemuck::{Pod, Zeroable};

use crate::mcts::game::{Draw, Game, Outcome, Player, Playout, Scratch};

#[cfg(test)]
mod tests;
#[cfg(not(target_arch = "nvptx64"))]
mod text;

#[cfg(not(target_arch = "nvptx64"))]
pub use text::PositionError;

/// Actions in a row without a capture after which the game is drawn.
pub const MAX_QUIET_ACTIONS: u32 = 40;

/// Even rows, whose dark squares are the odd columns.
const EVEN: u32 = 0x0f0f_0f0f;
/// Squares of even rows that have a neighbour on the right.
const NOT_RIGHT: u32 = 0x0707_0707;
/// Squares of odd rows that have a neighbour on the left.
const NOT_LEFT: u32 = 0xe0e0_e0e0;
/// The row where men of the first player become kings; the other's is the last one.
const TOP_ROW: u32 = 0x0000_000f;
const BOTTOM_ROW: u32 = 0xf000_0000;

/// The parts of [`Checkers::state`].
const PLAYER: u32 = 1;
const QUIET_SHIFT: u32 = 8;
const JUMPER_SHIFT: u32 = 16;

/// A position of checkers.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
pub struct Checkers {
    /// Pieces of the first player (White).
    first: u32,
    /// Pieces of the second player (Black).
    second: u32,
    /// Kings of both.
    kings: u32,
    /// Bit 0: who is to move; bits 8 to 15: actions since the last capture; bits 16 to 21: 1 + the piece that must jump on, or 0.
    state: u32,
}

/// The legal actions of a position: for each direction the pieces that may go there, all by steps or all by jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// Pieces that may go up-left, up-right, down-right, down-left.
    pub from: [u32; 4],
    /// Whether they jump.
    pub jumps: bool,
}

impl Moves {
    /// Whether `action` is among them.
    #[device_inline]
    pub fn contains(&self, action: u32) -> bool {
        let square = action >> 3;
        let dark = (square ^ square >> 3) & 1 == 1;
        // Not an index: that would put the masks into local memory.
        let [a, b, c, d] = self.from;
        let from = match action >> 1 & 3 {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        };
        square < 64 && dark && action & 1 == self.jumps as u32 && from >> (square >> 1 & 31) & 1 == 1
    }

    /// Whether there are none.
    #[device_inline]
    pub fn is_empty(&self) -> bool {
        let [a, b, c, d] = self.from;
        a | b | c | d == 0
    }

    /// How many they are.
    #[device_inline]
    pub fn count(&self) -> u32 {
        let [a, b, c, d] = self.from;
        a.count_ones() + b.count_ones() + c.count_ones() + d.count_ones()
    }

    /// The `n`-th in ascending order, counted from 0; there must be more than `n`.
    #[device_inline]
    pub fn nth(&self, n: u32) -> u32 {
        let [a, b, c, d] = self.from;
        // Directions of each piece as a number of three bits, a word a bit.
        let (ab, cd) = (a ^ b, c ^ d);
        let (ones, carry) = (ab ^ cd, ab & cd);
        let (twos, fours) = (carry ^ (a & b) ^ (c & d), (a & b) & (c & d));
        let (mut left, mut at, mut width) = (n, 0, 16);
        while width > 0 {
            let low = (1 << width) - 1;
            let below = (ones >> at & low).count_ones()
                + 2 * (twos >> at & low).count_ones()
                + 4 * (fours >> at & low).count_ones();
            if left >= below {
                left -= below;
                at += width;
            }
            width /= 2;
        }
        let at = at & 31;
        let mut directions = (a >> at & 1) | (b >> at & 1) << 1 | (c >> at & 1) << 2 | (d >> at & 1) << 3;
        while left > 0 {
            directions &= directions.wrapping_sub(1);
            left -= 1;
        }
        (square_of(at) * 4 + directions.trailing_zeros()) * 2 + self.jumps as u32
    }
}

impl Default for Checkers {
    fn default() -> Self {
        Self::new()
    }
}

/// The square, `row * 8 + column`, of a piece's bit.
#[device_inline]
pub const fn square_of(bit: u32) -> u32 {
    2 * bit + (!bit >> 2 & 1)
}

/// All `squares` moved one step up-left; what leaves the board is gone.
#[device_inline]
const fn up_left(squares: u32) -> u32 {
    (squares & EVEN) >> 4 | (squares & NOT_LEFT) >> 5
}

/// One step up-right.
#[device_inline]
const fn up_right(squares: u32) -> u32 {
    (squares & NOT_RIGHT) >> 3 | (squares & !EVEN) >> 4
}

/// One step down-right.
#[device_inline]
const fn down_right(squares: u32) -> u32 {
    (squares & NOT_RIGHT) << 5 | (squares & !EVEN) << 4
}

/// One step down-left.
#[device_inline]
const fn down_left(squares: u32) -> u32 {
    (squares & EVEN) << 4 | (squares & NOT_LEFT) << 3
}

/// What [`Checkers::apply`] needs of an action: bits of the squares left, jumped over (none for a step) and reached.
#[device_inline]
const fn squares_of(action: u32) -> (u32, u32, u32) {
    let at = action >> 4 & 31;
    let odd_row = at >> 2 & 1;
    // Bits to the next square, from an even row; one fewer from an odd one.
    let step = match action >> 1 & 3 {
        0 => 0u32.wrapping_sub(4),
        1 => 0u32.wrapping_sub(3),
        2 => 5,
        _ => 4,
    };
    let next = at.wrapping_add(step).wrapping_sub(odd_row);
    // A jump's second step starts in a row of the other parity. `& 31` bounds the shifts for the compiler; legal actions stay on the board.
    if action & 1 == 1 {
        let beyond = next.wrapping_add(step).wrapping_sub(odd_row ^ 1);
        (1 << at, 1 << (next & 31), 1 << (beyond & 31))
    } else {
        (1 << at, 0, 1 << (next & 31))
    }
}

impl Checkers {
    /// The starting position.
    pub const fn new() -> Self {
        Self { first: 0xfff0_0000, second: 0x0000_0fff, kings: 0, state: 0 }
    }

    /// Pieces of the first and of the second player: bit i is square [`square_of`]`(i)`.
    #[device_inline]
    pub const fn pieces(&self) -> [u32; 2] {
        [self.first, self.second]
    }

    /// Kings of both players.
    #[device_inline]
    pub const fn kings(&self) -> u32 {
        self.kings
    }

    /// Actions since the last capture, at most [`MAX_QUIET_ACTIONS`].
    #[device_inline]
    pub const fn quiet_actions(&self) -> u32 {
        self.state >> QUIET_SHIFT & 0xff
    }

    /// The bit of the piece that has jumped and must jump on, if there is one.
    #[device_inline]
    pub const fn jumper(&self) -> Option<u32> {
        let jumper = self.state >> JUMPER_SHIFT & 0x3f;
        if jumper == 0 { None } else { Some(jumper - 1) }
    }

    /// Pieces of who is to move and of the other.
    #[device_inline]
    const fn mine_and_theirs(&self) -> (u32, u32) {
        if self.state & PLAYER == 0 { (self.first, self.second) } else { (self.second, self.first) }
    }

    /// Jumps of the pieces `mine` of who is to move.
    #[device_inline]
    const fn jumps(&self, mine: u32, theirs: u32) -> [u32; 4] {
        let empty = !(self.first | self.second);
        let (up, down) = self.by_direction(mine);
        [
            up & down_right(theirs & down_right(empty)),
            up & down_left(theirs & down_left(empty)),
            down & up_left(theirs & up_left(empty)),
            down & up_right(theirs & up_right(empty)),
        ]
    }

    /// Those of the pieces `mine` of who is to move that may go up, and those that may go down.
    #[device_inline]
    const fn by_direction(&self, mine: u32) -> (u32, u32) {
        let kings = mine & self.kings;
        if self.state & PLAYER == 0 { (mine, kings) } else { (kings, mine) }
    }

    /// The actions that the rules about movement allow, also after the 40th quiet action.
    #[device_inline]
    fn movable(&self) -> Moves {
        let (mine, theirs) = self.mine_and_theirs();
        let jumper = self.state >> JUMPER_SHIFT & 0x3f;
        let jumpers = if jumper == 0 { mine } else { 1 << (jumper.wrapping_sub(1) & 31) };
        let jumps = self.jumps(jumpers, theirs);
        if jumps[0] | jumps[1] | jumps[2] | jumps[3] != 0 {
            return Moves { from: jumps, jumps: true };
        }
        let empty = !(self.first | self.second);
        let (up, down) = self.by_direction(mine);
        let steps = [up & down_right(empty), up & down_left(empty), down & up_left(empty), down & up_right(empty)];
        Moves { from: steps, jumps: false }
    }

    /// The legal actions; none once the game is over.
    #[device_inline]
    pub fn moves(&self) -> Moves {
        if self.quiet_actions() >= MAX_QUIET_ACTIONS {
            return Moves { from: [0; 4], jumps: false };
        }
        self.movable()
    }

    /// How a position with these moves stands.
    #[device_inline]
    fn outcome_with(&self, moves: &Moves) -> Outcome {
        if self.quiet_actions() >= MAX_QUIET_ACTIONS {
            Outcome::Draw
        } else if moves.is_empty() {
            Outcome::Win(self.to_move().other())
        } else {
            Outcome::Ongoing
        }
    }
}

impl Game for Checkers {
    const NAME: &'static str = "checkers";
    const MAX_ACTIONS: u32 = 512;
    const BOARD: (u32, u32) = (8, 8);

    #[device_inline]
    fn to_move(&self) -> Player {
        Player::from_index(self.state)
    }

    #[device_inline]
    fn is_legal(&self, action: u32) -> bool {
        self.moves().contains(action)
    }

    #[device_inline]
    fn apply(&mut self, action: u32) {
        let (from, over, to) = squares_of(action);
        let (mine, theirs) = self.mine_and_theirs();
        let (mine, theirs) = (mine & !from | to, theirs & !over);
        let second = self.state & PLAYER;
        (self.first, self.second) = if second == 0 { (mine, theirs) } else { (theirs, mine) };
        let was_king = self.kings & from != 0;
        let last_row = if second == 0 { TOP_ROW } else { BOTTOM_ROW };
        let crowned = !was_king && to & last_row != 0;
        let king = if was_king || crowned { to } else { 0 };
        self.kings = self.kings & !(from | over) | king;
        if over == 0 {
            self.state = (second ^ PLAYER) | (self.quiet_actions() + 1) << QUIET_SHIFT;
            return;
        }
        let [a, b, c, d] = self.jumps(to, theirs);
        let goes_on = !crowned && a | b | c | d != 0;
        self.state = if goes_on { second | (to.trailing_zeros() + 1) << JUMPER_SHIFT } else { second ^ PLAYER };
    }

    #[device_inline]
    fn outcome(&self) -> Outcome {
        self.outcome_with(&self.movable())
    }

    #[device_inline]
    fn n_playout_actions(&self) -> u32 {
        self.moves().count()
    }

    #[device_inline]
    fn nth_playout_action(&self, n: u32) -> u32 {
        self.moves().nth(n)
    }

    /// The default playout; each position's moves are found once, for its outcome and for the next action.
    #[device_inline]
    fn playout(self, draw: &mut impl Draw, _scratch: &mut impl Scratch) -> Playout {
        let mut position = self;
        let mut moves = position.movable();
        let mut plies = 0;
        loop {
            let n = moves.count();
            if n == 0 {
                return Playout { outcome: Outcome::Draw, plies };
            }
            position.apply(moves.nth(draw.below(n)));
            plies += 1;
            moves = position.movable();
            let outcome = position.outcome_with(&moves);
            if outcome.is_over() {
                return Playout { outcome, plies };
            }
        }
    }
}

#[cfg(feature = "mcts-checkers")]
crate::mcts_kernels!(standard, Checkers, "checkers", crate::ptx::embedded::MCTS_CHECKERS);
