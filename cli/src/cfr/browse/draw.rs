//! The page.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::colours::Look;
use super::state::{SIDE, State};
use super::text::{self, put};
use super::{cells, path, side, table};

/// The least width and height of a page.
const LEAST: (u16, u16) = (80, 24);
/// Lines above the grid, and below the hands.
const ABOVE: u16 = 2;
const BELOW: u16 = 1;
/// Lines of the hands: their title, the names of the columns, and six hands, as a pair has.
const HANDS: u16 = 8;
/// Least width beside the grid: a card picker.
const SIDE_WIDTH: u16 = 27;

const HELP: &str = "
  arrows            move in the grid, or in the card picker
  1 to 9, 0         take an action by its number (0 is the tenth)
  j, k, Enter       choose an action, and take it
  Enter, Space      where a card is dealt: deal the chosen one; back to the grid
  Backspace, Home   go back: one node; to the first
  Tab               the other seat
  v, V              the next view, the one before: strategy, EV, equity, reach
  Page Up, Down     scroll the hands of the class
  ?                 this page; any key leaves it
  q, Ctrl-C         end

  A cell is filled as far as its hands come to the node. Fold is blue, check and
  call are green, bets and raises red, the deeper the larger. 'raise to 50'
  is one to 50 chips that the player has then put in on this street.
  reach: weight in the range times the probability that the seat plays to here.
  equity: the share of the pot that is won if nobody bets any more, in %.
  EV: the expected share of the pot, net of what is put in from here on. An
  action's EV is that of the hands that take it, as often as they do.";

/// Draws the page.
pub fn draw(frame: &mut Frame, state: &State<'_>, look: Look) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("{} × {} is too small: {} × {} is needed", area.width, area.height, LEAST.0, LEAST.1);
        put(buffer, area, 0, 0, &text, Style::new());
        return;
    }
    if state.shows_help {
        for (row, line) in (0..).zip(HELP.lines()) {
            put(buffer, area, row, 0, line, Style::new());
        }
        return;
    }
    head(buffer, area, state);
    let cell = (
        ((area.width - SIDE_WIDTH - 1) / SIDE as u16).min(9),
        ((area.height - ABOVE - BELOW - HANDS) / SIDE as u16).min(3),
    );
    let (width, height) = (SIDE as u16 * cell.0, SIDE as u16 * cell.1);
    cells::draw(buffer, (area.x, area.y + ABOVE), cell, state, look);
    let beside = Rect::new(area.x + width + 1, area.y + ABOVE, (area.width - width - 1).min(40), height);
    side::draw(buffer, beside, state, look);
    let below = area.y + ABOVE + height;
    let hands = Rect::new(area.x, below, area.width, area.bottom() - BELOW - below);
    table::draw(buffer, hands, state, look);
    let keys = "arrows move  1-9 act  Backspace back  Tab seat  v view  ? help  q end";
    put(buffer, area, area.height - 1, 0, state.note.as_deref().unwrap_or(keys), Style::new());
}

/// Where one is, and what it is worth.
fn head(buffer: &mut Buffer, area: Rect, state: &State<'_>) {
    let visit = state.visit();
    let report = &visit.report;
    let board = path::cards(&report.board).join(" ");
    let pot = text::number(report.pot, 9);
    let facts = format!("  {}  {board}  pot {pot}", visit.node.street());
    let history = if report.history.is_empty() { "start".to_string() } else { report.history.clone() };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    // The file's name, then the end of the history, as far as there is room.
    let room = usize::from(area.width).saturating_sub(facts.chars().count());
    let place = format!("{}  {history}", state.name.chars().filter(|letter| !letter.is_control()).collect::<String>());
    let n = place.chars().count();
    let place = match n > room {
        true => format!("…{}", place.chars().skip(n + 1 - room.max(1)).collect::<String>()),
        false => place,
    };
    let column = put(buffer, area, 0, 0, &place, bold);
    put(buffer, area, 0, column, &facts, Style::new());
    let line = if visit.has_values {
        let of = |seat: usize| {
            let (ev, equity) = (text::number(report.ev[seat], 9), text::percent(report.equity[seat]));
            format!("seat {seat}: EV {ev}, equity {equity} %")
        };
        format!("{}   {}", of(0), of(1))
    } else {
        "EV and equity are being computed …".to_string()
    };
    put(buffer, area, 1, 0, &line, Style::new());
}
