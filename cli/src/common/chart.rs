//! Lines in axis systems side by side, as SVG.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;

/// Size of an axis system in pixels.
pub const PANEL: (u32, u32) = (640, 480);
/// Most points of a line that are drawn as points too.
pub const MOST_DOTS: usize = 30;
/// Colours of lines and bars, in order; each has a contrast of 3.4 at least to white and to the dark ground of [`crate::demo`]'s page.
const COLOURS: [RGBColor; 12] = [
    RGBColor(0x3b, 0x7d, 0xd8),
    RGBColor(0xc0, 0x70, 0x1a),
    RGBColor(0x2f, 0x9e, 0x56),
    RGBColor(0xd6, 0x45, 0x45),
    RGBColor(0x9a, 0x60, 0xd0),
    RGBColor(0x1f, 0x97, 0xa3),
    RGBColor(0xd0, 0x58, 0x9c),
    RGBColor(0x8a, 0x8f, 0x1f),
    RGBColor(0xa2, 0x71, 0x4a),
    RGBColor(0x6f, 0x7f, 0x95),
    RGBColor(0x5d, 0x96, 0x2b),
    RGBColor(0xb0, 0x4f, 0xc4),
];

/// The colour of the line of this number.
pub fn colour(number: usize) -> RGBAColor {
    COLOURS[number % COLOURS.len()].to_rgba()
}

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

/// Axis systems side by side.
///
/// # Errors
/// The drawing library refuses; it has no reason to.
pub fn panels(panels: &[Panel<'_>]) -> Result<String> {
    let mut svg = String::new();
    let draw_all = |svg: &mut String| -> Result<(), Box<dyn std::error::Error>> {
        let size = (PANEL.0 * panels.len() as u32, PANEL.1);
        let area = SVGBackend::with_string(svg, size).into_drawing_area();
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
pub fn range(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
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

/// Draws an axis system into an area.
///
/// # Errors
/// The drawing library refuses; it has no reason to.
pub fn draw(area: &DrawingArea<SVGBackend<'_>, Shift>, panel: &Panel<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let lines: Vec<&Line> = panel.lines.iter().filter(|line| !line.points.is_empty()).collect();
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let mut chart = ChartBuilder::on(area)
        .caption(panel.title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(range(points().map(|point| point.0)), range(points().map(|point| point.1)))?;
    chart.configure_mesh().light_line_style(TRANSPARENT).x_desc(panel.x).y_desc(panel.y).draw()?;
    draw_lines(&mut chart, &lines)
}

/// Draws lines with a legend into an axis system, their points too where they are few.
///
/// # Errors
/// The drawing library refuses; it has no reason to.
pub fn draw_lines<'a, B, X, Y>(
    chart: &mut ChartContext<'a, B, Cartesian2d<X, Y>>,
    lines: &[&Line],
) -> Result<(), Box<dyn std::error::Error>>
where
    B: DrawingBackend<ErrorType: 'static> + 'a,
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    for (at, line) in lines.iter().enumerate() {
        let colour = colour(at);
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)))?
            .label(line.name.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        if line.points.len() <= MOST_DOTS {
            chart.draw_series(line.points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
        }
    }
    if !lines.is_empty() {
        chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
    }
    Ok(())
}
