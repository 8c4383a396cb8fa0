//! Boards as a player sees them.

use warpplay::azero::checkers::Checkers;
use warpplay::mcts::{Game, Outcome, Player};

/// A player's colour.
pub fn colour(player: Player) -> &'static str {
    match player {
        Player::First => "White",
        Player::Second => "Black",
    }
}

/// How a game ended, or that it goes on.
pub fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Ongoing => "the game is not over".to_string(),
        Outcome::Draw => "a draw: 40 actions without a capture".to_string(),
        Outcome::Win(player) => format!("{} wins, {} cannot move", colour(player), colour(player.other())),
    }
}

/// The board with its squares' names; the squares of the last move (as `a3b4`) are marked.
pub fn draw(position: &Checkers, last: Option<&str>) -> String {
    let marked =
        |square: &str| last.is_some_and(|name| name.len() == 4 && (&name[..2] == square || &name[2..] == square));
    let board: Vec<char> = position.board_text().chars().collect();
    let mut text = String::from("    +------------------------+\n");
    for (row, pieces) in board.chunks(8).enumerate() {
        text += &format!("  {} |", 8 - row);
        for (column, &piece) in pieces.iter().enumerate() {
            let square = format!("{}{}", (b'a' + column as u8) as char, 8 - row);
            let is_dark = (row + column) % 2 == 1;
            let shown = if is_dark || piece != '.' { piece } else { ' ' };
            text += &if marked(&square) { format!("[{shown}]") } else { format!(" {shown} ") };
        }
        text += "|";
        text += match row {
            1 => "   + Black's men, * kings, moving down",
            6 => "   o White's men, 8 kings, moving up",
            _ => "",
        };
        text.push('\n');
    }
    text += "    +------------------------+\n      a  b  c  d  e  f  g  h\n";
    let quiet = position.quiet_actions();
    if quiet >= 20 && !position.outcome().is_over() {
        text += &format!("    {quiet} actions without a capture; 40 are a draw\n");
    }
    text
}
