//! The running score of a match as a plot.

use crate::common::plot::{Axis, Kind, Line, Panel};

/// A's score in percent, one value after each game, with a line at even play.
pub fn running_score(title: impl Into<String>, score_of_a: &[f64]) -> Panel {
    // A match without a game still has axes.
    let n = score_of_a.len().max(1) as f64;
    let even = Line { kind: Kind::Reference, ..Line::new("even play", vec![[0.0, 50.0], [n, 50.0]]) };
    let score = score_of_a.iter().zip(1..).map(|(&score, game): (_, u32)| [f64::from(game), score]).collect();
    let (x, y) = (Axis::even("games played").ends(0.0, n), Axis::even("score of A, %").ends(0.0, 100.0));
    Panel::lines(title, x, y, vec![Line::new("score of A so far", score), even])
}
