//! The running score of a match as a chart.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use crate::common::chart::colour;

/// Size of the picture in pixels.
const SIZE: (u32, u32) = (800, 480);

/// An SVG picture: A's score in percent (one value after each game), with a line at even play.
///
/// # Errors
/// The drawing library refuses; it has no reason to.
pub fn running_score(title: &str, score_of_a: &[f64]) -> Result<String> {
    let mut svg = String::new();
    draw(&mut svg, title, score_of_a).map_err(|error| anyhow!("drawing the chart: {error}"))?;
    Ok(svg)
}

fn draw(svg: &mut String, title: &str, score_of_a: &[f64]) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    // A match without a game still has axes.
    let n = score_of_a.len().max(1) as f64;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..n, 0.0..100.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(score_of_a.len().clamp(1, 10) + 1)
        .y_labels(11)
        .x_desc("games played")
        .y_desc("score of A, %")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .draw()?;
    chart.draw_series(LineSeries::new([(0.0, 50.0), (n, 50.0)], BLACK.mix(0.4)))?;
    let points: Vec<(f64, f64)> =
        score_of_a.iter().zip(1..).map(|(&score, game): (_, u32)| (f64::from(game), score)).collect();
    chart.draw_series(points.iter().map(|&point| Circle::new(point, 2, colour(0).filled())))?;
    chart.draw_series(LineSeries::new(points, colour(0).stroke_width(2)))?;
    area.present()?;
    Ok(())
}
