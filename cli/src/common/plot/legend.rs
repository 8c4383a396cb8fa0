//! Names of lines and bars below an axis system.

use super::canvas::{Anchor, Canvas, SIZE, width};
use super::{MARGIN, WIDTH};

/// Pixels from line to line.
const LINE: f64 = 20.0;
/// Pixels of a sample with the space behind it.
const SAMPLE: f64 = 38.0;
/// Pixels between two names.
const BETWEEN: f64 = 18.0;

/// Draws names in lines below each other, what `sample` draws at its point before each; the height that they take.
pub fn draw(canvas: &mut Canvas, names: &[&str], y: f64, mut sample: impl FnMut(&mut Canvas, usize, [f64; 2])) -> f64 {
    let (mut left, mut line) = (MARGIN, 0.0);
    for (number, name) in names.iter().enumerate() {
        let wide = SAMPLE + width(name, SIZE);
        if left > MARGIN && left + wide > WIDTH - MARGIN {
            (left, line) = (MARGIN, line + 1.0);
        }
        let middle = y + LINE * line + LINE / 2.0;
        sample(canvas, number, [left, middle]);
        canvas.text([left + SAMPLE - 8.0, middle + 4.5], Anchor::Start, "wp-ink", name);
        left += wide + BETWEEN;
    }
    if names.is_empty() { 0.0 } else { (line + 1.0) * LINE }
}
