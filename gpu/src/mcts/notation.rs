//! Positions and actions as text, for programs (host only).

use super::game::Game;

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
        write!(f, "column {}: `{}` is not a move (allowed: {})", self.column, self.found, self.allowed)
    }
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
    /// The first place that names no action.
    fn parse_moves(text: &str) -> Result<Vec<u32>, NotationError>;

    /// The board as lines of ASCII: `X` the first player, `O` the second, `.` empty.
    fn draw(&self) -> String;
}

/// Name of a square of a board with `columns` columns: letter of the column, number of the row from 1; `action = row * columns + column`.
pub fn square_name(action: u32, columns: u32) -> String {
    let letter = char::from_u32('a' as u32 + action % columns).unwrap_or('?');
    format!("{letter}{}", action / columns + 1)
}

/// Reads squares such as `h8i9`, letters in either case; white space and commas may stand between them.
///
/// # Errors
/// The first place that is no square of a board of `rows` × `columns`.
pub fn parse_squares(text: &str, rows: u32, columns: u32) -> Result<Vec<u32>, NotationError> {
    let last = char::from_u32('a' as u32 + columns - 1).unwrap_or('?');
    let allowed = format!("a1 to {last}{rows}");
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
        let letter = first.to_ascii_lowercase();
        if !letter.is_ascii_lowercase() {
            return Err(wrong());
        }
        let column = letter as u32 - 'a' as u32;
        let row: u32 = found[1..].parse().map_err(|_| wrong())?;
        if column >= columns || row == 0 || row > rows {
            return Err(wrong());
        }
        actions.push((row - 1) * columns + column);
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
        text.push(char::from_u32('a' as u32 + column).unwrap_or('?'));
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
}
