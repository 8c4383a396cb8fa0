//! The grid of 13 × 13 classes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use warpplay::cfr::spot::HandClass;

use super::colours::{self, Look, Paint};
use super::state::{SIDE, State, View};
use super::text;

/// Colours of a cell from left to right, with their parts of its width. What is left is empty.
type Bars = Vec<(f64, Paint)>;

/// Draws the grid into cells of this size.
pub fn draw(buffer: &mut Buffer, corner: (u16, u16), size: (u16, u16), state: &State<'_>, look: Look) {
    let grid = Grid::new(state, look);
    for (place, class) in state.visit().classes[state.seat].iter().enumerate() {
        let (row, column) = (place / SIDE, place % SIDE);
        let at = Rect::new(corner.0 + column as u16 * size.0, corner.1 + row as u16 * size.1, size.0, size.1);
        draw_cell(
            buffer,
            at,
            &grid.bars(class),
            [class.name.clone(), grid.value(class, size.0)],
            state.cursor == [row, column],
        );
    }
}

/// What all cells have in common.
struct Grid<'a> {
    state: &'a State<'a>,
    look: Look,
    colours: Vec<u8>,
    /// The least and the greatest value of the view.
    range: (f64, f64),
}

impl<'a> Grid<'a> {
    fn new(state: &'a State<'a>, look: Look) -> Self {
        let colours = colours::of_actions(&state.visit().report.actions);
        Self { state, look, colours, range: range(state) }
    }

    /// How a cell is divided.
    fn bars(&self, class: &HandClass) -> Bars {
        let (visit, look) = (self.state.visit(), self.look);
        let paint = |colour| if look == Look::Colours { Paint::Colour(colour) } else { Paint::Reverse };
        let held = held(class);
        match self.state.view {
            View::Strategy if !class.strategy.is_empty() => {
                let mut actions: Vec<usize> = (0..class.strategy.len()).collect();
                if look == Look::Plain {
                    actions.retain(|action| *action == self.state.action);
                }
                // The largest bet first, a fold last.
                actions.reverse();
                actions.into_iter().map(|action| (held * class.strategy[action], paint(self.colours[action]))).collect()
            }
            View::Ev | View::Equity if visit.has_values => {
                let (least, greatest) = self.range;
                let value = of_view(self.state.view, class);
                let part = if greatest > least { (value - least) / (greatest - least) } else { 0.5 };
                let width = if look == Look::Plain { part * held } else { held };
                vec![(width, paint(colours::of_value(part)))]
            }
            View::Ev | View::Equity => Vec::new(),
            View::Strategy | View::Reach => vec![(held, paint(colours::NEUTRAL))],
        }
    }

    /// The number of a cell with room for it.
    fn value(&self, class: &HandClass, width: u16) -> String {
        let has_values = self.state.visit().has_values;
        match self.state.view {
            _ if class.hands.is_empty() => String::new(),
            View::Ev | View::Equity if !has_values => String::new(),
            View::Strategy => String::new(),
            View::Equity => text::number(100.0 * class.equity, usize::from(width).min(4)),
            View::Ev => text::number(class.ev, width.into()),
            View::Reach => text::number(class.reach, width.into()),
        }
    }
}

/// The part of a class that comes to the node.
fn held(class: &HandClass) -> f64 {
    if class.n_combos == 0 { 0.0 } else { class.reach / class.n_combos as f64 }
}

/// A class's value in a view that has one.
fn of_view(view: View, class: &HandClass) -> f64 {
    if view == View::Equity { class.equity } else { class.ev }
}

/// The least and the greatest value in the view, of classes that come to the node: the ends of the scale of colours. Equities have a scale from 0 to 1.
pub fn range(state: &State<'_>) -> (f64, f64) {
    if state.view == View::Equity {
        return (0.0, 1.0);
    }
    let classes = state.visit().classes[state.seat].iter().filter(|class| class.reach > 0.0);
    let ends = classes.map(|class| of_view(state.view, class)).fold(None, |ends: Option<(f64, f64)>, value| {
        let (least, greatest) = ends.unwrap_or((value, value));
        Some((least.min(value), greatest.max(value)))
    });
    ends.unwrap_or((0.0, 0.0))
}

/// Draws a cell: bars, its name, and in the second line, or beside the name, its number.
fn draw_cell(buffer: &mut Buffer, at: Rect, bars: &Bars, [name, value]: [String; 2], is_chosen: bool) {
    // A gap between cells where there is room.
    let width = if at.width >= 6 { at.width - 1 } else { at.width };
    let beside = at.height == 1 && usize::from(width) > name.len() + value.len();
    let first = if beside { format!("{name} {value}") } else { name };
    let lines = [first, if beside { String::new() } else { value }];
    for row in 0..at.height {
        let mut letters = lines.get(usize::from(row)).map(String::as_str).unwrap_or_default().chars();
        for column in 0..width {
            let Some(cell) = buffer.cell_mut((at.x + column, at.y + row)) else { continue };
            // The colour at a part of this letter's width.
            let paint = |part: f64| paint_at(bars, (f64::from(column) + part) / f64::from(width));
            match letters.next().filter(|letter| *letter != ' ') {
                Some(letter) if is_chosen && row == 0 => {
                    cell.set_char(letter).set_style(Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD));
                }
                Some(letter) => {
                    cell.set_char(letter).set_style(colours::style(paint(0.5)));
                }
                None => match (paint(0.25), paint(0.75)) {
                    (Paint::Colour(left), right) if right != Paint::Colour(left) => {
                        let ground =
                            if let Paint::Colour(right) = right { Color::Indexed(right) } else { Color::Reset };
                        cell.set_char('▌').set_style(Style::new().fg(Color::Indexed(left)).bg(ground));
                    }
                    (paint, _) => {
                        cell.set_char(' ').set_style(colours::style(paint));
                    }
                },
            }
        }
    }
}

/// What is at a part of a cell's width.
fn paint_at(bars: &Bars, part: f64) -> Paint {
    let mut end = 0.0;
    let reached = bars.iter().find(|(width, _)| {
        end += width;
        part < end
    });
    reached.map_or(Paint::Empty, |(_, paint)| *paint)
}
