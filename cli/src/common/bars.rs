//! Bars in groups beside lines, as SVG.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::common::chart::{self, PANEL, Panel, colour};

/// Share of a group's width that its bars take.
const FILLED: f64 = 0.8;

/// Bars in groups: of each name a bar for each series.
pub struct Bars<'a> {
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    /// The groups' names.
    pub names: Vec<String>,
    /// Name and heights of each series, a height for each group.
    pub series: Vec<(&'a str, Vec<f64>)>,
}

/// Lines on the left, bars on the right.
///
/// # Errors
/// The drawing library refuses; it has no reason to.
pub fn beside(panel: &Panel<'_>, bars: &Bars<'_>) -> Result<String> {
    let mut svg = String::new();
    let draw_both = |svg: &mut String| -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::with_string(svg, (2 * PANEL.0, PANEL.1)).into_drawing_area();
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(PANEL.0);
        chart::draw(&left, panel)?;
        draw(&right, bars)?;
        area.present()?;
        Ok(())
    };
    draw_both(&mut svg).map_err(|error| anyhow!("drawing the chart: {error}"))?;
    Ok(svg)
}

fn draw(area: &DrawingArea<SVGBackend<'_>, Shift>, bars: &Bars<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let heights = bars.series.iter().flat_map(|(_, heights)| heights);
    let most = heights.copied().filter(|height| height.is_finite()).fold(0.0, f64::max);
    // Bars without a height still have axes; above the bars there is room for the legend.
    let most = if most > 0.0 { 1.3 * most } else { 1.0 };
    let mut chart = ChartBuilder::on(area)
        .caption(bars.title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(52)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..bars.names.len().max(1) as f64, 0.0..most)?;
    let mut mesh = chart.configure_mesh();
    // The groups' names stand where the axis would have numbers.
    mesh.disable_x_mesh().light_line_style(TRANSPARENT).x_label_formatter(&|_| String::new());
    mesh.x_desc(bars.x).y_desc(bars.y).draw()?;
    let names = bars.names.iter().enumerate().map(|(at, name)| {
        let style = ("sans-serif", 13).into_text_style(area).pos(Pos::new(HPos::Center, VPos::Top));
        EmptyElement::at((at as f64 + 0.5, 0.0)) + Text::new(name.clone(), (0, 8), style)
    });
    chart.draw_series(names)?;
    let width = FILLED / bars.series.len().max(1) as f64;
    for (number, (name, heights)) in bars.series.iter().enumerate() {
        let colour = colour(number);
        let boxes = heights.iter().enumerate().filter(|(_, height)| height.is_finite()).map(|(at, &height)| {
            let left = at as f64 + (1.0 - FILLED) / 2.0 + width * number as f64;
            Rectangle::new([(left, 0.0), (left + width, height)], colour.filled())
        });
        chart
            .draw_series(boxes)?
            .label(*name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 16, y + 5)], colour.filled()));
    }
    let mut labels = chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperRight).background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
    Ok(())
}
