//! Charts as SVG.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use warpplay::mlp::TrainReport;

/// Size of a picture in pixels.
const SIZE: (u32, u32) = (800, 480);

/// A line with a name.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// What one axis system shows.
pub struct Panel<'a> {
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    pub lines: Vec<Line>,
}

/// Loss and accuracy of a training.
///
/// # Errors
/// The drawing library refuses; it has no reason to.
pub fn training(report: &TrainReport) -> Result<String> {
    let of_epochs = |name: &str, value: &dyn Fn(&warpplay::mlp::EpochReport) -> Option<f64>| Line {
        name: name.to_string(),
        points: report.epochs.iter().filter_map(|epoch| Some((epoch.epoch.into(), value(epoch)?))).collect(),
    };
    panels(&[
        Panel {
            title: "loss",
            x: "epoch",
            y: "loss",
            lines: vec![
                of_epochs("training", &|epoch| Some(epoch.loss)),
                of_epochs("test", &|epoch| epoch.test_loss),
                of_epochs("validation", &|epoch| epoch.validation_loss),
            ],
        },
        Panel {
            title: "accuracy",
            x: "epoch",
            y: "right, %",
            lines: vec![
                of_epochs("test", &|epoch| epoch.test_accuracy.map(|share| 100.0 * share)),
                of_epochs("validation", &|epoch| epoch.validation_accuracy.map(|share| 100.0 * share)),
            ],
        },
    ])
}

/// Axis systems side by side.
///
/// # Errors
/// As [`training`].
pub fn panels(panels: &[Panel<'_>]) -> Result<String> {
    let mut svg = String::new();
    let draw_all = |svg: &mut String| -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        for (part, panel) in area.split_evenly((1, panels.len())).iter().zip(panels) {
            draw(part, panel)?;
        }
        area.present()?;
        Ok(())
    };
    draw_all(&mut svg).map_err(|error| anyhow!("drawing the chart: {error}"))?;
    Ok(svg)
}

/// The range of some values with a margin, never empty.
fn range(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite()) {
        (low, high) = (low.min(value), high.max(value));
    }
    if low > high {
        return 0.0..1.0;
    }
    let margin = if low == high { low.abs().max(1.0) * 0.05 } else { (high - low) * 0.05 };
    low - margin..high + margin
}

fn draw(area: &DrawingArea<SVGBackend<'_>, Shift>, panel: &Panel<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let lines: Vec<&Line> = panel.lines.iter().filter(|line| !line.points.is_empty()).collect();
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let mut chart = ChartBuilder::on(area)
        .caption(panel.title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(range(points().map(|point| point.0)), range(points().map(|point| point.1)))?;
    chart.configure_mesh().light_line_style(TRANSPARENT).x_desc(panel.x).y_desc(panel.y).draw()?;
    for (at, line) in lines.iter().enumerate() {
        let colour = Palette99::pick(at).to_rgba();
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)))?
            .label(line.name.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        chart.draw_series(line.points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
    }
    if !lines.is_empty() {
        chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
    }
    Ok(())
}
