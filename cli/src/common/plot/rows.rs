//! Bars in rows with their names before them, for many series.

use super::axis::Scale;
use super::bars::axis;
use super::canvas::{Anchor, Canvas, SIZE, width};
use super::style::class;
use super::{Drawn, Group, MARGIN, Panel, WIDTH, title};
use crate::common::table::significant;

/// Pixels of a row, and of a group's name with the space above it.
const ROW: f64 = 18.0;
const HEAD: f64 = 30.0;
/// Pixels for the value behind a bar.
const VALUE: f64 = 70.0;
/// Most pixels for the names of rows.
const MOST_NAME: f64 = 420.0;
/// Pixels of the area of the bars.
const BARS: f64 = 400.0;

/// Draws the axis system: published values in one colour, measured ones in another.
pub fn draw(panel: &Panel, groups: &[Group]) -> Drawn {
    let mut canvas = Canvas::default();
    let bars = || groups.iter().flat_map(|group| &group.bars);
    let widest = bars().map(|bar| width(&bar.name, SIZE)).fold(0.0, f64::max).min(MOST_NAME);
    let left = MARGIN + widest + 8.0;
    let right = left + BARS;
    let wide = (right + VALUE + MARGIN).max(WIDTH);
    let top = title(&mut canvas, &panel.title, wide - 2.0 * MARGIN) + 10.0;
    let heights: f64 = groups.iter().map(|group| HEAD + ROW * group.bars.len() as f64).sum();
    let bottom = top + heights + 6.0;
    let values = bars().flat_map(|bar| [bar.value, bar.range[0], bar.range[1]]);
    let x = Scale::new(&axis(&panel.y, groups), values, [left, right], (BARS / 80.0) as usize);
    for (at, name) in x.ticks() {
        canvas.rule([at, top], [at, bottom], "wp-rule");
        canvas.text([at, bottom + 18.0], Anchor::Middle, "wp-soft", &name);
    }
    let foot = if panel.y.log { left } else { x.at(0.0).unwrap_or(left) };
    let mut y = top;
    for group in groups {
        y += HEAD;
        canvas.text_with([MARGIN, y - 6.0], Anchor::Start, "wp-ink", " font-weight=\"600\"", &group.name);
        for bar in &group.bars {
            let middle = y + ROW / 2.0;
            canvas.text([left - 8.0, middle + 4.5], Anchor::End, "wp-ink", &bar.name);
            if let Some(end) = x.at(bar.value) {
                // A publication's values have its name.
                let number = usize::from(bar.name.starts_with("published"));
                canvas.element(format_args!(
                    "<g class=\"{}\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\" fill=\"currentColor\"/></g>",
                    class(number),
                    end.min(foot),
                    middle - 6.0,
                    (end - foot).abs().max(1.0)
                ));
                let mut behind = end.max(foot);
                if let [Some(low), Some(high)] = bar.range.map(|value| x.at(value))
                    && low != high
                {
                    canvas.element(format_args!(
                        "<line x1=\"{low:.1}\" y1=\"{middle:.1}\" x2=\"{high:.1}\" y2=\"{middle:.1}\" class=\"wp-axis\" stroke-width=\"1.5\"/>"
                    ));
                    behind = behind.max(high);
                }
                canvas.text([behind + 6.0, middle + 4.5], Anchor::Start, "wp-soft", &significant(bar.value));
            }
            y += ROW;
        }
    }
    canvas.rule([left, top], [left, bottom], "wp-axis");
    canvas.text([(left + right) / 2.0, bottom + 38.0], Anchor::Middle, "wp-soft", &panel.y.label);
    Drawn { canvas, width: wide, height: bottom + 46.0 + MARGIN }
}
