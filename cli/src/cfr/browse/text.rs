//! Numbers and names, short, and where they are written.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// A number in at most so many letters, with at most two decimals; `~` where it does not fit.
pub fn number(value: f64, width: usize) -> String {
    // Rounded, it would be -0.
    let value = if value.abs() < 0.005 { 0.0 } else { value };
    let texts = [2usize, 1, 0].map(|decimals| format!("{value:.decimals$}"));
    texts.into_iter().find(|text| text.len() <= width).unwrap_or_else(|| "~".to_string())
}

/// A part of a whole in per cent.
pub fn percent(part: f64) -> String {
    format!("{:.1}", 100.0 * part)
}

/// What players call an action after a history; the size of a bet as in the history, in all chips that the player has put in.
pub fn label(history: &str, action: &str) -> String {
    let street = history.rsplit('/').next().unwrap_or_default();
    let is_raised = street.contains('r');
    let faces_bet = street.trim_end_matches(|letter: char| !letter.is_ascii_alphabetic()).ends_with('r');
    match action.strip_prefix('r') {
        Some(size) => {
            let word = if is_raised { "raise" } else { "bet" };
            if size.is_empty() { word.to_string() } else { format!("{word} {size}") }
        }
        None if action == "f" => "fold".to_string(),
        None if faces_bet => "call".to_string(),
        None => "check".to_string(),
    }
}

/// Writes into a rectangle from a row and column of its own on, as far as it reaches; the column after the text.
pub fn put(buffer: &mut Buffer, within: Rect, row: u16, column: u16, text: &str, style: Style) -> u16 {
    let at = Rect::new(within.x.saturating_add(column), within.y.saturating_add(row), 1, 1);
    let left = within.width.saturating_sub(column);
    // Outside of the buffer nothing can be written.
    if left == 0 || row >= within.height || at.intersection(buffer.area).is_empty() {
        return column;
    }
    let (end, _) = buffer.set_stringn(at.x, at.y, text, left.into(), style);
    end - within.x
}
