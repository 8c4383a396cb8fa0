//! The hands of the class under the cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use warpplay::cfr::spot::NodeHand;

use super::colours::{self, Look, Paint};
use super::state::State;
use super::text::{self, put};

/// Widths of the columns before those of the actions: hand, reach, equity, value.
const FIRST: [u16; 4] = [5, 7, 8, 9];
/// Widths of an action's columns: probability and value.
const OF_ACTION: [u16; 2] = [7, 9];

/// Draws them.
pub fn draw(buffer: &mut Buffer, at: Rect, state: &State<'_>, look: Look) {
    let (visit, class) = (state.visit(), state.class());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let (n_hands, n_combos) = (class.hands.len(), class.n_combos);
    let title = match n_hands {
        0 => format!("{} of seat {}: none in its range", class.name, state.seat),
        _ => {
            let reach = text::number(class.reach, 6);
            format!("{} of seat {}: {n_hands} of {n_combos} combos, reach {reach}", class.name, state.seat)
        }
    };
    let n_shown = usize::from(at.height.saturating_sub(2));
    let end = put(buffer, at, 0, 0, &title, bold);
    let first = state.first_hand.min(n_hands.saturating_sub(n_shown));
    if n_hands > n_shown {
        let last = n_hands.min(first + n_shown);
        put(buffer, at, 0, end, &format!("; {} to {last}, Page Up and Down", first + 1), Style::new());
    }
    if n_hands == 0 {
        return;
    }
    let acts = visit.report.seat == Some(state.seat);
    let colours = if acts { colours::of_actions(&visit.report.actions) } else { Vec::new() };
    // Values go where there is no room for them, then the last actions.
    let left = at.width.saturating_sub(FIRST.iter().sum());
    let n_actions = colours.len() as u16;
    let has_values = visit.has_values && left >= n_actions * (OF_ACTION[0] + OF_ACTION[1]);
    let width = OF_ACTION[0] + if has_values { OF_ACTION[1] } else { 0 };
    let n_columns = usize::from((left / width).min(n_actions));
    heads(buffer, at, state, look, &colours[..n_columns], width);
    let hands = class.hands.iter().skip(first).take(n_shown);
    for (row, &hand) in (2..).zip(hands) {
        // The class is of this report.
        let Some(hand) = visit.report.by_hand[state.seat].get(hand) else { continue };
        line(buffer, at, row, hand, (n_columns, has_values, visit.has_values));
    }
}

/// The names of the columns.
fn heads(buffer: &mut Buffer, at: Rect, state: &State<'_>, look: Look, colours: &[u8], width: u16) {
    let mut column = 0;
    for (name, width) in ["hand", "reach", "equity", "EV"].into_iter().zip(FIRST) {
        right(buffer, at, (1, column, width), name, Style::new());
        column += width;
    }
    let report = &state.visit().report;
    for (action, &colour) in report.actions.iter().zip(colours) {
        // In an action's colour, its name as in the file, which is short.
        let style = if look == Look::Colours { colours::style(Paint::Colour(colour)) } else { Style::new() };
        let name: String = action.chars().take(usize::from(OF_ACTION[0]) - 1).collect();
        right(buffer, at, (1, column, OF_ACTION[0]), &name, style);
        if width > OF_ACTION[0] {
            right(buffer, at, (1, column + OF_ACTION[0], OF_ACTION[1]), "EV", Style::new());
        }
        column += width;
    }
}

fn line(
    buffer: &mut Buffer,
    at: Rect,
    row: u16,
    hand: &NodeHand,
    (n_columns, has_columns, is_known): (usize, bool, bool),
) {
    let known = |text: String| if is_known { text } else { "…".to_string() };
    let first = [
        hand.hand.clone(),
        format!("{:.4}", hand.reach),
        known(text::percent(hand.equity)),
        known(text::number(hand.ev, 8)),
    ];
    let mut column = 0;
    let mut cells: Vec<(String, u16)> = first.into_iter().zip(FIRST).collect();
    for (action, part) in hand.strategy.iter().enumerate().take(n_columns) {
        cells.push((text::percent(*part), OF_ACTION[0]));
        if has_columns {
            let value = hand.action_ev.get(action).copied().unwrap_or(0.0);
            cells.push((text::number(value, 8), OF_ACTION[1]));
        }
    }
    for (text, width) in cells {
        right(buffer, at, (row, column, width), &text, Style::new());
        column += width;
    }
}

/// Writes to the right end of a column.
fn right(buffer: &mut Buffer, at: Rect, (row, column, width): (u16, u16, u16), text: &str, style: Style) {
    let before = usize::from(width).saturating_sub(text.chars().count());
    put(buffer, at, row, column + before as u16, text, style);
}
