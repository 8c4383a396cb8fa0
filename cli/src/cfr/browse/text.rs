//! Numbers and names, short, and where they are written.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use warpplay::cfr::spot::{PracticeMove, Verb};

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

/// What players call an action; bets and raises with the chips that the player has then put in on this street.
pub fn label(action: &PracticeMove) -> String {
    // Two decimals at most.
    let to = (action.to * 100.0).round() / 100.0;
    match action.verb {
        Verb::Bet | Verb::Raise if action.all_in => format!("all-in {to}"),
        Verb::Bet => format!("bet {to}"),
        Verb::Raise => format!("raise to {to}"),
        Verb::Fold | Verb::Check | Verb::Call => action.verb.to_string(),
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
