//! Positions and actions as text, for programs (host only).

use super::game::{Game, Player};

/// Why a move string could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotationError {
    /// Position in the text, counted in characters from 1.
    pub column: usize,
    /// What stands there.
    pub found: String,
    /// What may stand there.
    pub allowed: String,
}

impl std::fmt::Display for NotationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "character {}: `{}` is not a move (allowed: {})", self.column, shown(&self.found), self.allowed)
    }
}

/// Characters of a text that an error quotes.
const QUOTED: usize = 32;

/// A user's text as an error quotes it: one line of it, cut where it is long, with what cannot be seen written as an escape.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    let mut characters = text.chars();
    for character in characters.by_ref().take(QUOTED) {
        match character {
            '\'' | '"' | '\\' => shown.push(character),
            _ => shown.extend(character.escape_debug()),
        }
    }
    if characters.next().is_some() {
        shown.push_str("...");
    }
    shown
}

impl std::error::Error for NotationError {}

/// A game that programs can show and whose moves can be typed.
pub trait Notation: Game {
    /// The starting position.
    fn start() -> Self;

    /// Name of an action, as it is typed.
    fn action_name(action: u32) -> String;

    /// Reads a string of moves; whether they are legal is not looked at.
    ///
    /// # Errors
    /// The first word of the text that names no action.
    fn parse_moves(text: &str) -> Result<Vec<u32>, NotationError>;

    /// The board as lines of ASCII: [`symbol`](Notation::symbol)s of the players, `.` empty.
    fn draw(&self) -> String;

    /// How boards show a player's stones: `X` the first player, `O` the second.
    fn symbol(player: Player) -> char {
        match player {
            Player::First => 'X',
            Player::Second => 'O',
        }
    }
}

/// Letter of a column, from 0; `?` beyond what letters there are.
fn letter(column: u32) -> char {
    ('a' as u32).checked_add(column).and_then(char::from_u32).unwrap_or('?')
}

/// Name of a square of a board with `columns` columns: letter of the column, number of the row from 1; `action = row * columns + column`.
pub fn square_name(action: u32, columns: u32) -> String {
    let row = action.checked_div(columns).unwrap_or(0) as u64 + 1;
    format!("{}{row}", letter(action.checked_rem(columns).unwrap_or(0)))
}

/// Reads squares such as `h8i9`, letters in either case; white space and commas may stand between them.
///
/// # Errors
/// The first word of the text that is no square of a board of `rows` × `columns`.
pub fn parse_squares(text: &str, rows: u32, columns: u32) -> Result<Vec<u32>, NotationError> {
    let allowed = match (rows, columns) {
        (0, _) | (_, 0) => "none, the board has no squares".to_string(),
        _ => format!("a1 to {}{rows}", letter(columns - 1)),
    };
    let characters: Vec<char> = text.chars().collect();
    let mut actions = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        let first = characters[at];
        if first.is_whitespace() || first == ',' {
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while end < characters.len() && characters[end].is_ascii_digit() {
            end += 1;
        }
        let found: String = characters[at..end].iter().collect();
        let wrong = || NotationError { column: at + 1, found: found.clone(), allowed: allowed.clone() };
        if !first.is_ascii_alphabetic() {
            return Err(wrong());
        }
        let column = first.to_ascii_lowercase() as u32 - 'a' as u32;
        let row: u32 = found[1..].parse().map_err(|_| wrong())?;
        if column >= columns || row == 0 || row > rows {
            return Err(wrong());
        }
        let action = (row - 1).checked_mul(columns).and_then(|action| action.checked_add(column));
        actions.push(action.ok_or_else(wrong)?);
        at = end;
    }
    Ok(actions)
}

/// Draws a board with letters below and row numbers at the left, the highest row on top.
pub fn draw_squares(rows: u32, columns: u32, stone: impl Fn(u32) -> char) -> String {
    let mut text = String::new();
    for row in (0..rows).rev() {
        text.push_str(&format!("{:>3} ", row + 1));
        for column in 0..columns {
            text.push(stone(row * columns + column));
            text.push(' ');
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text.push_str("    ");
    for column in 0..columns {
        text.push(letter(column));
        text.push(if column + 1 < columns { ' ' } else { '\n' });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_round_trip() {
        for action in 0..225 {
            assert_eq!(parse_squares(&square_name(action, 15), 15, 15), Ok(vec![action]));
        }
        assert_eq!(parse_squares("h8 I9,a1", 15, 15), Ok(vec![7 * 15 + 7, 8 * 15 + 8, 0]));
    }

    #[test]
    fn wrong_squares_are_named() {
        for (text, column, found) in [
            ("h8z1", 3, "z1"),
            ("h16", 1, "h16"),
            ("h0", 1, "h0"),
            ("h", 1, "h"),
            ("8h", 1, "8"),
            ("a99999999999", 1, "a99999999999"),
            ("é1", 1, "é1"),
        ] {
            let error = parse_squares(text, 15, 15).unwrap_err();
            assert_eq!((error.column, error.found.as_str()), (column, found), "{text}");
        }
    }

    #[test]
    fn errors_quote_one_short_line() {
        let text = |moves: &str| parse_squares(moves, 15, 15).unwrap_err().to_string();
        assert!(text("\u{1b}[2J").contains("`\\u{1b}`"), "{}", text("\u{1b}[2J"));
        assert!(text("\0").contains("`\\0`"), "{}", text("\0"));
        assert!(text("'").contains("`'`"));
        let long = text(&format!("a{}", "9".repeat(1_000_000)));
        assert!(long.contains("9999...`") && long.len() < 100, "{}", long.len());
    }

    #[test]
    fn boards_of_any_size_have_a_notation() {
        for (rows, columns) in [(0, 0), (1, 0), (0, 1), (32, 32), (u32::MAX, u32::MAX)] {
            assert!(parse_squares("a0", rows, columns).is_err());
            let _ = parse_squares("z4294967295", rows, columns);
        }
        let _ = square_name(u32::MAX, 0);
        let _ = square_name(u32::MAX, u32::MAX);
    }
}
