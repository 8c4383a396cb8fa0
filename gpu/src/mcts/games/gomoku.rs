//! Gomoku: five in a row on a square board of up to 19 × 19.
//!
//! One word a row and player, bit x for column x. `EXACT` games are won by exactly five; six and more (an overline) do not count.
//! In free-style games five or more win.

use bytemuck::{Pod, Zeroable};

use crate::mcts::game::{Draw, Game, Outcome, Player, Playout, Scratch};

/// One in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte.
const HIGH_BITS: u64 = 0x80 * ONES;

/// A position of Gomoku. An action is a square, `row * SIZE + column`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gomoku<const SIZE: usize = 15, const EXACT: bool = true> {
    /// Stones of the first and of the second player, by row.
    rows: [[u32; SIZE]; 2],
    /// Stones on the board.
    n_stones: u32,
}

/// 15 × 15, exactly five wins.
pub type GomokuStandard = Gomoku<15, true>;
/// 15 × 15, five or more win.
pub type GomokuFree = Gomoku<15, false>;
/// 19 × 19, exactly five wins.
pub type GomokuLarge = Gomoku<19, true>;

// SAFETY: words only, any bits allowed, no padding.
unsafe impl<const SIZE: usize, const EXACT: bool> Zeroable for Gomoku<SIZE, EXACT> {}
// SAFETY: as above; `repr(C)` of `u32` alone.
unsafe impl<const SIZE: usize, const EXACT: bool> Pod for Gomoku<SIZE, EXACT> {}

impl<const SIZE: usize, const EXACT: bool> Default for Gomoku<SIZE, EXACT> {
    fn default() -> Self {
        Self::new()
    }
}

/// Position of the `n`-th set bit of a word of `BITS` bits, counted from 0; the word has more than `n`.
#[device_inline]
fn nth_set_bit<const BITS: usize>(word: u32, n: u32) -> u32 {
    let mut left = n;
    let mut at = 0;
    let mut width = if BITS > 16 { 16 } else { 8 };
    while width > 0 {
        let below = (word >> at & ((1 << width) - 1)).count_ones();
        if left >= below {
            left -= below;
            at += width;
        }
        width /= 2;
    }
    at
}

impl<const SIZE: usize, const EXACT: bool> Gomoku<SIZE, EXACT> {
    const SQUARES: u32 = (SIZE * SIZE) as u32;
    const ROW: u32 = (1 << SIZE) - 1;
    const VALID: () = assert!(SIZE >= 5 && SIZE <= 19, "a board has 5 to 19 rows");
    /// Rows whose counts of free squares share a word of eight bytes; their sum must stay below 128.
    const GROUP: usize = if 127 / SIZE < 8 { 127 / SIZE } else { 8 };
    const N_GROUPS: usize = SIZE.div_ceil(Self::GROUP);
    /// Diagonals of five squares and more, in each direction.
    const DIAGONALS: u32 = 2 * SIZE as u32 - 9;
    /// Lines kept in scratch memory: rows, columns, rising diagonals and one for the short ones, falling ones likewise.
    const LINES: u32 = 2 * SIZE as u32 + 2 * (Self::DIAGONALS + 1);
    /// Whether both players' stones on a line share a word of scratch memory.
    const PACKED: bool = SIZE <= 16;

    /// The empty board.
    pub const fn new() -> Self {
        #[allow(clippy::let_unit_value, reason = "forces the check of the board's size")]
        let () = Self::VALID;
        Self { rows: [[0; SIZE]; 2], n_stones: 0 }
    }

    /// Stones of the first and of the second player: bit x of row y.
    pub const fn rows(&self) -> &[[u32; SIZE]; 2] {
        &self.rows
    }

    /// Whether the stone at (`y`, `x`) stands in a winning row; `row(y)` gives the player's row y.
    #[device_inline]
    fn wins(row: impl Fn(usize) -> u32, y: u32, x: u32) -> bool {
        if enough::<EXACT>(run_length(row(y as usize), x)) {
            return true;
        }
        // Column and both diagonals at once: one bit each while the run goes on, one byte each for its length.
        let mut runs = 0x01_01_01u32;
        let mut upwards = false;
        loop {
            let mut alive = 0b111;
            let mut distance = 1;
            // Six in a row must be told from five, so five steps on each side.
            while distance <= 5 {
                let other = if upwards { y + distance } else { y.wrapping_sub(distance) };
                if other >= SIZE as u32 {
                    break;
                }
                let stones = row(other as usize);
                let (before, after) = ((stones << distance) >> x & 1, stones >> distance >> x & 1);
                let (rising, falling) = if upwards { (after, before) } else { (before, after) };
                alive &= (stones >> x & 1) | rising << 1 | falling << 2;
                if alive == 0 {
                    break;
                }
                runs += (alive & 1) | (alive & 2) << 7 | (alive & 4) << 14;
                distance += 1;
            }
            if upwards {
                break;
            }
            upwards = true;
        }
        enough::<EXACT>(runs & 0xff) || enough::<EXACT>(runs >> 8 & 0xff) || enough::<EXACT>(runs >> 16)
    }

    /// The word of scratch memory that holds line `line` for `player`, and where its stones begin there. A line is a word for both players, the
    /// first's stones in the low half, or a word for each.
    #[device_inline]
    const fn word_of_line(line: u32, player: u32) -> (u32, u32) {
        if Self::PACKED { (line, 16 * player) } else { (2 * line + player, 0) }
    }

    /// Squares of row `y` in scratch memory that hold a stone.
    #[device_inline]
    fn occupied_in_row(scratch: &impl Scratch, y: u32) -> u32 {
        if Self::PACKED {
            let both = scratch.get(y);
            (both | both >> 16) & 0xffff
        } else {
            scratch.get(2 * y) | scratch.get(2 * y + 1)
        }
    }

    /// Takes the n-th free square, from 0, out of the prefix sums: its row, and which of the row's free squares it is.
    #[device_inline]
    fn take_free(free_up_to: &mut [u64; 4], mut n: u32) -> (u32, u32) {
        // The group of rows, then the row: those whose prefix sum is at most n lie before it.
        let mut group = 0;
        let mut up_to = free_up_to[0];
        let mut next = 1;
        while next < Self::N_GROUPS {
            let total = (up_to >> 56) as u32;
            if group + 1 == next && n >= total {
                n -= total;
                group = next;
                up_to = free_up_to[next];
            }
            next += 1;
        }
        let n_in_each = (n * ONES as u32) as u64;
        let row = ((n_in_each << 32 | n_in_each | HIGH_BITS).wrapping_sub(up_to) & HIGH_BITS).count_ones();
        let before = ((up_to << 8) >> (8 * row)) as u32 & 0xff;
        let y = (group * Self::GROUP) as u32 + row;
        let one_less = ONES << (8 * row);
        let mut which = 0;
        while which < Self::N_GROUPS {
            free_up_to[which] -= if which == group { one_less } else { 0 };
            which += 1;
        }
        (y, n - before)
    }

    /// Adds a stone to its row, column and diagonals in scratch memory; whether it stands in a winning line.
    #[device_inline]
    fn add_stone(scratch: &mut impl Scratch, x: u32, y: u32, player: u32) -> bool {
        let size = SIZE as u32;
        // Diagonals of fewer than five squares share a line that nobody looks at.
        let rising = (x + size - 1 - y).wrapping_sub(4).min(Self::DIAGONALS);
        let falling = (x + y).wrapping_sub(4).min(Self::DIAGONALS);
        let (row, half) = Self::word_of_line(y, player);
        let (column, _) = Self::word_of_line(size + x, player);
        let (up, _) = Self::word_of_line(2 * size + rising, player);
        let (down, _) = Self::word_of_line(2 * size + Self::DIAGONALS + 1 + falling, player);
        // All reads before all writes: they are four different words, but only we know it, so the hardware would wait for each write.
        let before = [scratch.get(row), scratch.get(column), scratch.get(up), scratch.get(down)];
        let (by_x, by_y) = (1 << (half + x), 1 << (half + y));
        let after = [before[0] | by_x, before[1] | by_y, before[2] | by_x, before[3] | by_x];
        scratch.set(row, after[0]);
        scratch.set(column, after[1]);
        scratch.set(up, after[2]);
        scratch.set(down, after[3]);
        let run = |line: u32, at: u32| {
            let stones = if Self::PACKED { line >> half & 0xffff } else { line };
            run_length(stones, at)
        };
        enough::<EXACT>(run(after[0], x))
            | enough::<EXACT>(run(after[1], y))
            | (rising < Self::DIAGONALS) & enough::<EXACT>(run(after[2], x))
            | (falling < Self::DIAGONALS) & enough::<EXACT>(run(after[3], x))
    }
}

/// Whether a run of so many stones wins.
#[device_inline]
const fn enough<const EXACT: bool>(run: u32) -> bool {
    if EXACT { run == 5 } else { run >= 5 }
}

/// Length of the run of set bits around set bit `at`.
#[device_inline]
const fn run_length(line: u32, at: u32) -> u32 {
    (!(line >> at)).trailing_zeros() + (!(line << (31 - at))).leading_zeros() - 1
}

impl<const SIZE: usize, const EXACT: bool> Game for Gomoku<SIZE, EXACT> {
    const NAME: &'static str = match (SIZE, EXACT) {
        (15, true) => "gomoku",
        (15, false) => "gomoku_free",
        (19, true) => "gomoku_19",
        _ => "gomoku of another size",
    };
    const MAX_ACTIONS: u32 = Self::SQUARES;
    const BOARD: (u32, u32) = (SIZE as u32, SIZE as u32);
    const PLAYOUT_WORDS: u32 = if Self::PACKED { Self::LINES } else { 2 * Self::LINES };

    #[device_inline]
    fn to_move(&self) -> Player {
        Player::from_index(self.n_stones)
    }

    #[device_inline]
    fn is_legal(&self, action: u32) -> bool {
        if action >= Self::SQUARES {
            return false;
        }
        let (y, x) = (action as usize / SIZE, action as usize % SIZE);
        (self.rows[0][y] | self.rows[1][y]) >> x & 1 == 0
    }

    #[device_inline]
    fn apply(&mut self, action: u32) {
        let (y, x) = (action as usize / SIZE, action as usize % SIZE);
        self.rows[(self.n_stones & 1) as usize][y] |= 1 << x;
        self.n_stones += 1;
    }

    #[device_inline]
    fn outcome(&self) -> Outcome {
        let mut square = 0;
        while square < Self::SQUARES {
            let (y, x) = (square as usize / SIZE, square as usize % SIZE);
            for player in [Player::First, Player::Second] {
                let rows = &self.rows[player.index()];
                if rows[y] >> x & 1 == 1 && Self::wins(|y| rows[y], y as u32, x as u32) {
                    return Outcome::Win(player);
                }
            }
            square += 1;
        }
        if self.n_stones == Self::SQUARES { Outcome::Draw } else { Outcome::Ongoing }
    }

    #[device_inline]
    fn outcome_after(&self, action: u32) -> Outcome {
        let mover = self.to_move().other();
        let (y, x) = (action / SIZE as u32, action % SIZE as u32);
        if Self::wins(|y| self.rows[mover.index()][y], y, x) {
            Outcome::Win(mover)
        } else if self.n_stones == Self::SQUARES {
            Outcome::Draw
        } else {
            Outcome::Ongoing
        }
    }

    #[device_inline]
    fn n_playout_actions(&self) -> u32 {
        Self::SQUARES - self.n_stones
    }

    /// All lines of the board lie in scratch memory, so that a stone is added and its four lines are looked at in a few steps that do not wait for each
    /// other. Prefix sums of the free squares by row lie in registers, a byte a row: they give the row of the n-th free square, which is then found
    /// inside the row.
    #[device_inline]
    fn playout(self, draw: &mut impl Draw, scratch: &mut impl Scratch) -> Playout {
        let mut word = 0;
        while word < Self::PLAYOUT_WORDS {
            scratch.set(word, 0);
            word += 1;
        }
        // Byte r of group g: free squares in rows g * GROUP up to and with g * GROUP + r.
        let mut free_up_to = [0u64; 4];
        let mut y = 0;
        while y < SIZE {
            let mut player = 0;
            while player < 2 {
                let mut stones = self.rows[player][y];
                while stones != 0 {
                    Self::add_stone(scratch, stones.trailing_zeros(), y as u32, player as u32);
                    stones &= stones - 1;
                }
                player += 1;
            }
            let free = (!(self.rows[0][y] | self.rows[1][y]) & Self::ROW).count_ones();
            free_up_to[y / Self::GROUP] += (free as u64 * ONES) << (8 * (y % Self::GROUP));
            y += 1;
        }
        let mut n_stones = self.n_stones;
        loop {
            if n_stones == Self::SQUARES {
                return Playout { outcome: Outcome::Draw, plies: n_stones - self.n_stones };
            }
            let n = draw.below(Self::SQUARES - n_stones);
            let (y, nth) = Self::take_free(&mut free_up_to, n);
            let free = !Self::occupied_in_row(scratch, y) & Self::ROW;
            let x = nth_set_bit::<SIZE>(free, nth);
            let player = n_stones & 1;
            n_stones += 1;
            if Self::add_stone(scratch, x, y, player) {
                return Playout { outcome: Outcome::Win(Player::from_index(player)), plies: n_stones - self.n_stones };
            }
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod text {
    use super::*;
    use crate::mcts::notation::{Notation, NotationError, draw_squares, parse_squares, square_name};

    impl<const SIZE: usize, const EXACT: bool> Notation for Gomoku<SIZE, EXACT> {
        fn start() -> Self {
            Self::new()
        }

        fn action_name(action: u32) -> String {
            square_name(action, SIZE as u32)
        }

        fn parse_moves(text: &str) -> Result<Vec<u32>, NotationError> {
            parse_squares(text, SIZE as u32, SIZE as u32)
        }

        fn draw(&self) -> String {
            draw_squares(SIZE as u32, SIZE as u32, |square| {
                let (y, x) = (square as usize / SIZE, square as usize % SIZE);
                if self.rows[0][y] >> x & 1 == 1 {
                    'X'
                } else if self.rows[1][y] >> x & 1 == 1 {
                    'O'
                } else {
                    '.'
                }
            })
        }
    }
}

#[cfg(feature = "mcts-gomoku")]
crate::mcts_kernels!(standard, GomokuStandard, "gomoku", crate::ptx::embedded::MCTS_GOMOKU);

#[cfg(feature = "mcts-boards")]
crate::mcts_kernels!(free, GomokuFree, "gomoku_free", crate::ptx::embedded::MCTS_BOARDS);

#[cfg(feature = "mcts-boards")]
crate::mcts_kernels!(large, GomokuLarge, "gomoku_19", crate::ptx::embedded::MCTS_BOARDS);

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;
    use crate::mcts::notation::Notation;

    /// The first player's stones as given, the second's out of the way one by one; the first stone named last.
    fn outcome_of<const EXACT: bool>(first: &str) -> Outcome {
        let mut position = Gomoku::<15, EXACT>::new();
        for action in Gomoku::<15, EXACT>::parse_moves(first).unwrap() {
            position.rows[0][action as usize / 15] |= 1 << (action % 15);
        }
        position.n_stones = 2 * first.len() as u32; // only its parity and that it is not 225 matter here
        position.outcome()
    }

    #[test]
    fn five_in_each_direction_wins_and_six_only_in_free_style() {
        for five in [
            "a1b1c1d1e1",
            "k15l15m15n15o15",
            "a1a2a3a4a5",
            "o11o12o13o14o15",
            "a1b2c3d4e5",
            "k11l12m13n14o15",
            "e1d2c3b4a5",
            "o11n12m13l14k15",
        ] {
            assert_eq!(outcome_of::<true>(five), Outcome::Win(Player::First), "{five}");
            assert_eq!(outcome_of::<false>(five), Outcome::Win(Player::First), "{five}");
        }
        for six in ["a1b1c1d1e1f1", "h3h4h5h6h7h8", "c3d4e5f6g7h8", "h3g4f5e6d7c8"] {
            assert_eq!(outcome_of::<true>(six), Outcome::Ongoing, "{six}");
            assert_eq!(outcome_of::<false>(six), Outcome::Win(Player::First), "{six}");
        }
        // The end of one row and the start of the next are no line.
        assert_eq!(outcome_of::<false>("m1n1o1a2b2"), Outcome::Ongoing);
        assert_eq!(outcome_of::<true>("a1b1c1d1"), Outcome::Ongoing);
    }

    #[test]
    fn nth_set_bits() {
        for word in [1u32, 0b1011_0110, 0x7fff, 0x4001, 0x5_5555, 0x7_ffff] {
            let bits: Vec<u32> = (0..32).filter(|bit| word >> bit & 1 == 1).collect();
            for (n, &bit) in bits.iter().enumerate() {
                assert_eq!(nth_set_bit::<19>(word, n as u32), bit);
                if word < 1 << 15 {
                    assert_eq!(nth_set_bit::<15>(word, n as u32), bit);
                }
            }
        }
    }
}
