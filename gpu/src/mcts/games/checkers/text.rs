//! Checkers as text: names of actions, boards of 64 characters, drawings.

use std::fmt;

use super::{BOTTOM_ROW, Checkers, JUMPER_SHIFT, MAX_QUIET_ACTIONS, QUIET_SHIFT, TOP_ROW, square_of};
use crate::mcts::game::{Game, Player};
use crate::mcts::notation::{Notation, NotationError, parse_squares, square_name};

/// Why a text is no position of checkers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionError {
    /// The part that is wrong: `board`, `player`, `quiet actions`, `jumper`.
    pub part: &'static str,
    /// What stands there and what may.
    pub reason: String,
}

impl fmt::Display for PositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.part, self.reason)
    }
}

impl std::error::Error for PositionError {}

fn wrong<T>(part: &'static str, reason: impl Into<String>) -> Result<T, PositionError> {
    Err(PositionError { part, reason: reason.into() })
}

/// Name of a square, `row * 8 + column` with row 0 on top: `a1` is 56.
fn name_of_square(square: u32) -> String {
    square_name((7 - square / 8) * 8 + square % 8, 8)
}

/// The bit of a dark square.
fn bit_of(square: u32) -> Option<u32> {
    (square < 64 && (square / 8 + square % 8) % 2 == 1).then_some(square / 2)
}

impl Checkers {
    /// A position from its 64 characters (row 8 first; `o` and `8` the first player's men and kings, `+` and `*` the second's, `.` empty), who is to
    /// move, the actions since the last capture, and the square of a piece that has just jumped and must jump on.
    ///
    /// # Errors
    /// [`PositionError`]: a text of another length, another character, a piece on a light square, a man on its last row, more than 12 pieces of a player,
    /// a count above [`MAX_QUIET_ACTIONS`], a jumper that cannot jump.
    pub fn from_parts(
        board: &str,
        player: Player,
        quiet_actions: u32,
        jumper: Option<u32>,
    ) -> Result<Self, PositionError> {
        let length = board.chars().count();
        if length != 64 {
            return wrong("board", format!("{length} characters, expected 64"));
        }
        let mut position = Self { first: 0, second: 0, kings: 0, state: player as u32 };
        for (square, character) in (0u32..).zip(board.chars()) {
            let (pieces, king) = match character {
                '.' => continue,
                'o' => (&mut position.first, false),
                '8' => (&mut position.first, true),
                '+' => (&mut position.second, false),
                '*' => (&mut position.second, true),
                other => {
                    let other = other.escape_debug();
                    return wrong("board", format!("`{other}` on {}, expected . o 8 + *", name_of_square(square)));
                }
            };
            let Some(bit) = bit_of(square) else {
                return wrong("board", format!("a piece on the light square {}", name_of_square(square)));
            };
            *pieces |= 1 << bit;
            position.kings |= u32::from(king) << bit;
        }
        position.check_pieces()?;
        if quiet_actions > MAX_QUIET_ACTIONS {
            return wrong("quiet actions", format!("{quiet_actions}, expected 0 to {MAX_QUIET_ACTIONS}"));
        }
        position.state |= quiet_actions << QUIET_SHIFT;
        if let Some(square) = jumper {
            let (mine, theirs) = position.mine_and_theirs();
            let bit = bit_of(square).filter(|bit| mine >> bit & 1 == 1);
            let Some(bit) = bit.filter(|bit| position.jumps(1 << bit, theirs) != [0; 4]) else {
                return wrong("jumper", "a square without a piece of the player to move that can jump");
            };
            if quiet_actions != 0 {
                return wrong(
                    "jumper",
                    format!("there were {quiet_actions} actions since the last capture, expected 0"),
                );
            }
            position.state |= (bit + 1) << JUMPER_SHIFT;
        }
        Ok(position)
    }

    /// Whether no man stands on its last row, and no player has more pieces than there are.
    fn check_pieces(&self) -> Result<(), PositionError> {
        let men = !self.kings;
        for (name, pieces, last_row) in [("first", self.first, TOP_ROW), ("second", self.second, BOTTOM_ROW)] {
            if pieces & men & last_row != 0 {
                return wrong("board", format!("a man of the {name} player on its last row, expected a king"));
            }
            if pieces.count_ones() > 12 {
                return wrong(
                    "board",
                    format!("{} pieces of the {name} player, expected at most 12", pieces.count_ones()),
                );
            }
        }
        Ok(())
    }

    /// A position from one line: the 64 characters, then, if wanted, who is to move (`0` or `1`), the actions since the last capture, and the square
    /// (as `c5`) of a piece that must jump on or `-`; parts that are left out are 0, 0 and `-`.
    ///
    /// # Errors
    /// As [`Checkers::from_parts`]; a part that cannot be read; a fifth part.
    pub fn from_text(text: &str) -> Result<Self, PositionError> {
        let parts: Vec<&str> = text.split_whitespace().collect();
        let part = |at: usize, default| parts.get(at).copied().unwrap_or(default);
        let player = match part(1, "0") {
            "0" => Player::First,
            "1" => Player::Second,
            other => return wrong("player", format!("`{}`, expected 0 or 1", other.escape_debug())),
        };
        let quiet = part(2, "0");
        let Ok(quiet_actions) = quiet.parse() else {
            return wrong("quiet actions", format!("`{}`, expected 0 to {MAX_QUIET_ACTIONS}", quiet.escape_debug()));
        };
        let jumper = match part(3, "-") {
            "-" => None,
            name => match parse_squares(name, 8, 8).as_deref() {
                Ok(&[square]) => Some((7 - square / 8) * 8 + square % 8),
                _ => return wrong("jumper", format!("`{}`, expected a square, a1 to h8, or -", name.escape_debug())),
            },
        };
        if let Some(more) = parts.get(4) {
            return wrong("position", format!("`{}` after the jumper, expected the end", more.escape_debug()));
        }
        Self::from_parts(part(0, ""), player, quiet_actions, jumper)
    }

    /// The line that [`Checkers::from_text`] reads.
    pub fn to_text(&self) -> String {
        let jumper = self.jumper().map_or("-".to_string(), |bit| name_of_square(square_of(bit)));
        format!("{} {} {} {jumper}", self.board_text(), self.to_move().index(), self.quiet_actions())
    }

    /// The 64 characters of the board.
    pub fn board_text(&self) -> String {
        (0..64).map(|square| self.character(square)).collect()
    }

    /// The legal actions, ascending; none once the game is over.
    pub fn legal_actions(&self) -> Vec<u32> {
        let moves = self.moves();
        (0..moves.count()).map(|n| moves.nth(n)).collect()
    }

    fn character(&self, square: u32) -> char {
        let Some(bit) = bit_of(square) else { return '.' };
        let is = |pieces: u32| pieces >> bit & 1 == 1;
        match (is(self.first), is(self.second), is(self.kings)) {
            (true, _, false) => 'o',
            (true, _, true) => '8',
            (_, true, false) => '+',
            (_, true, true) => '*',
            _ => '.',
        }
    }
}

impl Notation for Checkers {
    fn start() -> Self {
        Self::new()
    }

    /// The two squares, as `a3b4`; a number for an action that leaves the board.
    fn action_name(action: u32) -> String {
        let (square, direction, distance) = (action / 8, action / 2 % 4, action % 2 + 1);
        let (row, column) = (square / 8, square % 8);
        let step = |at: u32, onward: bool| if onward { Some(at + distance) } else { at.checked_sub(distance) };
        let to = step(row, direction >= 2).zip(step(column, direction == 1 || direction == 2));
        match to {
            Some((to_row @ 0..8, to_column @ 0..8)) if row < 8 => {
                format!("{}{}", name_of_square(square), name_of_square(to_row * 8 + to_column))
            }
            _ => format!("#{action}"),
        }
    }

    /// Moves as `a3b4`, a jump as `a3c5`; of several jumps each one by itself. White space, commas, `-` and `x` may stand between squares.
    fn parse_moves(text: &str) -> Result<Vec<u32>, NotationError> {
        let plain: String = text.chars().map(|c| if matches!(c, '-' | 'x' | 'X') { ' ' } else { c }).collect();
        let squares = parse_squares(&plain, 8, 8)?;
        let names = |pair: &[u32]| pair.iter().map(|&square| square_name(square, 8)).collect::<String>();
        let mut actions = Vec::new();
        for (number, pair) in squares.chunks(2).enumerate() {
            let wrong = |allowed: &str| NotationError {
                column: column_of_square(&plain, 2 * number),
                found: names(pair),
                allowed: allowed.to_string(),
            };
            let &[from, to] = pair else {
                return Err(wrong("two squares, as a3b4"));
            };
            let (row, column) = (7 - from / 8, from % 8);
            let (rows, columns) = (i64::from(7 - to / 8) - i64::from(row), i64::from(to % 8) - i64::from(column));
            if rows.abs() != columns.abs() || !(1..=2).contains(&rows.abs()) {
                return Err(wrong("two squares one or two apart on a diagonal, as a3b4"));
            }
            let direction = match (rows < 0, columns < 0) {
                (true, true) => 0,
                (true, false) => 1,
                (false, false) => 2,
                (false, true) => 3,
            };
            actions.push(((row * 8 + column) * 4 + direction) * 2 + (rows.abs() == 2) as u32);
        }
        Ok(actions)
    }

    /// A man's.
    fn symbol(player: Player) -> char {
        match player {
            Player::First => 'o',
            Player::Second => '+',
        }
    }

    /// As OpenSpiel: `o` and `8` the first player's men and kings, `+` and `*` the second's.
    fn draw(&self) -> String {
        let mut text = String::new();
        for row in 0..8 {
            text.push_str(&format!("{} ", 8 - row));
            for column in 0..8 {
                text.push(self.character(row * 8 + column));
                text.push(if column < 7 { ' ' } else { '\n' });
            }
        }
        text.push_str("  a b c d e f g h\n");
        text
    }
}

/// Where the `number`-th square of a text of squares begins, counted from 1.
fn column_of_square(text: &str, number: usize) -> usize {
    let letters = text.chars().enumerate().filter(|(_, character)| character.is_ascii_alphabetic());
    letters.map(|(at, _)| at + 1).nth(number).unwrap_or(1)
}
