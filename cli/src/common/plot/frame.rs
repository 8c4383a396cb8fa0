//! The axes of a system: rules, names of values and what the axes show.

use super::axis::Scale;
use super::canvas::{Anchor, Canvas, SIZE, width};
use super::{MARGIN, Panel, WIDTH, title};

/// Height of the area of the data in pixels.
const HEIGHT: f64 = 280.0;
/// Pixels that a name of a value on the horizontal axis takes at least.
const BETWEEN_X: f64 = 70.0;
/// Pixels between names of values on the vertical axis.
const BETWEEN_Y: f64 = 45.0;
/// Pixels below the area for the names of values, and for what the axis shows.
const BELOW: [f64; 2] = [24.0, 20.0];

/// The area of the data in an axis system.
pub struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub y: Scale,
}

impl Frame {
    /// Draws the title and the vertical axis for these values.
    pub fn new(canvas: &mut Canvas, panel: &Panel, values: impl Iterator<Item = f64>) -> Self {
        let mut top = title(canvas, &panel.title, WIDTH - 2.0 * MARGIN) + 10.0;
        if !panel.y.label.is_empty() {
            canvas.text([MARGIN, top + 12.0], Anchor::Start, "wp-soft", &panel.y.label);
            top += 20.0;
        }
        top += 8.0;
        let bottom = top + HEIGHT;
        let y = Scale::new(&panel.y, values, [bottom, top], (HEIGHT / BETWEEN_Y) as usize);
        let ticks = y.ticks();
        let widest = ticks.iter().map(|(_, name)| width(name, SIZE)).fold(0.0, f64::max);
        let frame = Self { left: MARGIN + widest + 8.0, right: WIDTH - MARGIN, top, bottom, y };
        for (at, name) in ticks {
            canvas.rule([frame.left, at], [frame.right, at], "wp-rule");
            canvas.text([frame.left - 8.0, at + 4.5], Anchor::End, "wp-soft", &name);
        }
        frame
    }

    /// Draws a horizontal axis of values.
    pub fn x(&self, canvas: &mut Canvas, panel: &Panel, values: impl Iterator<Item = f64>) -> Scale {
        let n = ((self.right - self.left) / BETWEEN_X) as usize;
        let x = Scale::new(&panel.x, values, [self.left, self.right], n);
        for (at, name) in x.ticks() {
            canvas.rule([at, self.top], [at, self.bottom], "wp-rule");
            canvas.text([at, self.bottom + 18.0], Anchor::Middle, "wp-soft", &name);
        }
        x
    }

    /// Draws the lower end of the area and what the horizontal axis shows, below names that take `below` pixels; where the next may stand.
    pub fn close(&self, canvas: &mut Canvas, panel: &Panel, below: f64) -> f64 {
        canvas.rule([self.left, self.bottom], [self.right, self.bottom], "wp-axis");
        let y = self.bottom + below;
        if panel.x.label.is_empty() {
            return y + 6.0;
        }
        let middle = (self.left + self.right) / 2.0;
        canvas.text([middle, y + 14.0], Anchor::Middle, "wp-soft", &panel.x.label);
        y + BELOW[1] + 6.0
    }

    /// Pixels that the names of values take.
    pub const fn below() -> f64 {
        BELOW[0]
    }
}
