//! Beside the grid: what it shows, and the actions of the node or the cards that can be dealt.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::cells;
use super::colours::{self, Look, Paint};
use super::state::{SIDE, SUITS, State, View};
use super::text::{self, put};

/// Lines above the list.
const ABOVE: u16 = 3;

/// Draws it.
pub fn draw(buffer: &mut Buffer, at: Rect, state: &State<'_>, look: Look) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    put(buffer, at, 0, 0, &format!("{} of seat {}", state.view.name(), state.seat), bold);
    if matches!(state.view, View::Ev | View::Equity) && state.visit().has_values {
        scale(buffer, at, state, look);
    }
    let list = Rect { y: at.y + ABOVE, height: at.height.saturating_sub(ABOVE), ..at };
    if state.visit().node.is_deal() {
        cards(buffer, list, state);
    } else if state.visit().report.actions.is_empty() {
        put(buffer, list, 0, 0, "the hand is over", Style::new());
    } else {
        actions(buffer, list, state, look);
    }
}

/// The colours of the view's values, between the least and the greatest.
fn scale(buffer: &mut Buffer, at: Rect, state: &State<'_>, look: Look) {
    let (least, greatest) = cells::range(state);
    let number = |value: f64| match state.view {
        View::Equity => format!("{:.0}", 100.0 * value),
        _ => text::number(value, 7),
    };
    let mut column = put(buffer, at, 1, 0, &format!("{} ", number(least)), Style::new());
    if look == Look::Colours {
        for step in 0..8 {
            let colour = Paint::Colour(colours::of_value(f64::from(step) / 8.0));
            column = put(buffer, at, 1, column, " ", colours::style(colour));
        }
    } else {
        column = put(buffer, at, 1, column, "to", Style::new());
    }
    put(buffer, at, 1, column, &format!(" {}", number(greatest)), Style::new());
}

/// The actions with frequency and value over all hands.
fn actions(buffer: &mut Buffer, at: Rect, state: &State<'_>, look: Look) {
    let visit = state.visit();
    let seat = visit.report.seat.unwrap_or(state.seat);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    // Number and name to the left, frequency and value to the right.
    let right = at.width.saturating_sub(13);
    put(buffer, at, 0, 0, &format!("seat {seat} acts"), bold);
    put(buffer, at, 0, right, &format!("{:>5} {:>7}", "%", "EV"), bold);
    let n_shown = usize::from(at.height.saturating_sub(1)).max(1);
    let first = (state.action + 1).saturating_sub(n_shown);
    let colours = colours::of_actions(&visit.report.actions);
    let shown = visit.totals.iter().zip(colours).enumerate().skip(first).take(n_shown);
    for (row, (number, (total, colour))) in (1..).zip(shown) {
        let style = if number == state.action { bold.add_modifier(Modifier::REVERSED) } else { Style::new() };
        let digit = if number < 10 { char::from(b"1234567890"[number]) } else { ' ' };
        let ground = if look == Look::Colours { colours::style(Paint::Colour(colour)) } else { style };
        let column = put(buffer, at, row, 0, &format!("{digit} "), ground) + 1;
        let name = Rect { width: right, ..at };
        let label = visit.moves.get(number).map_or_else(|| total.action.clone(), text::label);
        // The number rather than the word, where there is no room for both.
        let fits = label.len() <= usize::from(right.saturating_sub(column + 1));
        let label = if fits { label } else { label.replace(" to ", " ") };
        put(buffer, name, row, column, &label, style);
        let value = if visit.has_values { text::number(total.ev, 7) } else { "…".to_string() };
        put(buffer, at, row, right, &format!("{:>5} {value:>7}", text::percent(total.frequency)), style);
    }
}

/// The card picker.
fn cards(buffer: &mut Buffer, at: Rect, state: &State<'_>) {
    put(buffer, at, 0, 0, "a card is dealt", Style::new().add_modifier(Modifier::BOLD));
    for place in (0..SUITS.len()).flat_map(|row| (0..SIDE).map(move |column| [row, column])) {
        let card = State::card_at(place);
        let mut style = Style::new();
        if !state.visit().cards.contains(&card) {
            style = style.add_modifier(Modifier::DIM);
        }
        if state.card == place {
            let chosen = Modifier::REVERSED | if state.is_picking() { Modifier::BOLD } else { Modifier::empty() };
            style = style.add_modifier(chosen);
        }
        put(buffer, at, 1 + place[0] as u16, 2 * place[1] as u16, &card, style);
    }
    let hint = if state.is_picking() { "Enter deals; Space: grid" } else { "Space: cards" };
    put(buffer, at, 2 + SUITS.len() as u16, 0, hint, Style::new());
}
