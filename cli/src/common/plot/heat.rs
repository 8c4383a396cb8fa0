//! Maps of colours.

use super::canvas::{Anchor, Canvas, SIZE, width};
use super::style::class;
use super::{Drawn, MARGIN, Panel, title};

/// Width of a cell in pixels.
const WIDTH: f64 = 130.0;
/// Pixels above and below the lines of a cell together.
const SPACE: f64 = 18.0;
/// Pixels from line to line in a cell.
const LINE: f64 = 17.0;
/// How dark the least value is, and the greatest: a text stays readable on both.
const SHADES: [f64; 2] = [0.06, 0.5];

/// A map of colours, `values[y][x]`, with a text in each cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Names of the columns.
    pub x: Vec<String>,
    /// Names of the rows.
    pub y: Vec<String>,
    /// The values; `None` where nothing was measured.
    pub values: Vec<Vec<Option<f64>>>,
    /// The texts, each of one or more lines.
    pub texts: Vec<Vec<String>>,
}

/// Draws the map.
pub fn draw(panel: &Panel, heat: &Heat) -> Drawn {
    let mut canvas = Canvas::default();
    let most_lines = heat.texts.iter().flatten().map(|text| text.lines().count()).max().unwrap_or(1).max(1);
    let (cell_width, cell_height) = (WIDTH, SPACE + LINE * most_lines as f64);
    let widest = heat.y.iter().map(|name| width(name, SIZE)).fold(width(&panel.y.label, SIZE), f64::max);
    let left = MARGIN + widest + 10.0;
    let wide = left + cell_width * heat.x.len().max(1) as f64 + MARGIN;
    let head = title(&mut canvas, &panel.title, wide - 2.0 * MARGIN) + 10.0;
    let right = wide - MARGIN;
    canvas.text([(left + right) / 2.0, head + 12.0], Anchor::Middle, "wp-soft", &panel.x.label);
    canvas.text([left - 10.0, head + 32.0], Anchor::End, "wp-soft", &panel.y.label);
    for (at, name) in heat.x.iter().enumerate() {
        canvas.text([left + cell_width * (at as f64 + 0.5), head + 32.0], Anchor::Middle, "wp-ink", name);
    }
    let top = head + 40.0;
    let known = heat.values.iter().flatten().flatten().copied().filter(|value| value.is_finite());
    let (low, high) =
        known.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    for (row, name) in heat.y.iter().enumerate() {
        let y = top + cell_height * row as f64;
        canvas.text([left - 10.0, y + cell_height / 2.0 + 4.5], Anchor::End, "wp-ink", name);
        for (column, value) in heat.values.get(row).into_iter().flatten().enumerate() {
            let x = left + cell_width * column as f64;
            if let Some(value) = value.filter(|value| value.is_finite()) {
                let share = if high > low { (value - low) / (high - low) } else { 1.0 };
                canvas.element(format_args!(
                    "<g class=\"{}\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" fill=\"currentColor\" fill-opacity=\"{:.3}\"/></g>",
                    class(0),
                    x + 1.0,
                    y + 1.0,
                    cell_width - 2.0,
                    cell_height - 2.0,
                    SHADES[0] + (SHADES[1] - SHADES[0]) * share
                ));
            }
            let words = heat.texts.get(row).and_then(|row| row.get(column)).map_or("", String::as_str);
            let lines: Vec<&str> = words.lines().collect();
            let first = y + cell_height / 2.0 + 4.5 - LINE / 2.0 * (lines.len().max(1) - 1) as f64;
            for (at, line) in lines.iter().enumerate() {
                let size = if at == 0 { " font-weight=\"600\"" } else { " font-size=\"12\"" };
                canvas.text_with(
                    [x + cell_width / 2.0, first + LINE * at as f64],
                    Anchor::Middle,
                    "wp-ink",
                    size,
                    line,
                );
            }
        }
    }
    Drawn { canvas, width: wide, height: top + cell_height * heat.y.len() as f64 + MARGIN }
}
