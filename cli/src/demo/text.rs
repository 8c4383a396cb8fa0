//! The demonstration in a terminal.

use std::path::Path;

use crate::common::table::{count, seconds};
use crate::demo::part::Part;

/// Characters of a curve at most.
const WIDTH: usize = 48;
/// Heights of a character.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What a family did.
pub fn part(part: &Part) -> String {
    let mut text = format!("\n{} ({})\n  {}\n  data: {}\n", part.title, part.family, part.task, part.data);
    let width = part.found.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in &part.found {
        text += &format!("  {name:<width$}  {value}\n");
    }
    text + &format!("  {}  {}\n  {}; more: {}\n", curve(&part.curve), part.curve_of, seconds(part.seconds), part.more)
}

/// Values as a line of bars between the least and the most of them; of many, those at even distances.
fn curve(values: &[f64]) -> String {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let n = values.len().min(WIDTH);
    (0..n)
        .map(|at| {
            let value = values[if n > 1 { at * (values.len() - 1) / (n - 1) } else { 0 }];
            match value.is_finite() && high > low {
                true => HEIGHTS[((value - low) / (high - low) * (HEIGHTS.len() - 1) as f64).round() as usize],
                false => HEIGHTS[0],
            }
        })
        .collect()
}

/// How it ended.
pub fn end(n_parts: usize, n_jobs: usize, time: f64, page: &Path) -> String {
    let early = if n_parts < n_jobs { format!("stopped early, {n_parts} of ") } else { String::new() };
    format!("\n{early}{} in {}: {}\n", count(n_jobs as u64, "plot"), seconds(time), page.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_go_from_the_least_to_the_most() {
        assert_eq!(curve(&[0.0, 3.5, 7.0]), "▁▅█");
        assert_eq!(curve(&[2.0, 2.0]), "▁▁");
        assert_eq!(curve(&[]), "");
        let many: Vec<f64> = (0..1000).map(f64::from).collect();
        let line = curve(&many);
        assert_eq!((line.chars().count(), line.chars().next(), line.chars().last()), (WIDTH, Some('▁'), Some('█')));
    }
}
