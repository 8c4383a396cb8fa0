//! Charts with logarithmic axes, as SVG.

use anyhow::{Result, anyhow};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;

use crate::common::chart::{Line, draw_lines};

/// Size of a picture in pixels.
const SIZE: (u32, u32) = (800, 480);

/// Values against something, both axes in powers of ten; points without a logarithm are left out.
///
/// # Errors
/// The drawing library refuses; it has no reason to.
pub fn logarithmic(title: &str, x: &str, y: &str, lines: &[Line]) -> Result<String> {
    let lines: Vec<Line> = lines
        .iter()
        .map(|line| Line {
            name: line.name.clone(),
            points: line.points.iter().copied().filter(|&(x, y)| x > 0.0 && y > 0.0).collect(),
        })
        .filter(|line| !line.points.is_empty())
        .collect();
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let x_range = Decades::of(points().map(|point| point.0));
    let y_range = Decades::of(points().map(|point| point.1));
    let mut svg = String::new();
    let draw = |svg: &mut String| -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 16))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(x_range, y_range)?;
        let label = |value: &f64| format!("{value:e}");
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc(x)
            .y_desc(y)
            .x_label_formatter(&label)
            .y_label_formatter(&label)
            .draw()?;
        draw_lines(&mut chart, &lines.iter().collect::<Vec<_>>())?;
        area.present()?;
        Ok(())
    };
    draw(&mut svg).map_err(|error| anyhow!("drawing the chart: {error}"))?;
    Ok(svg)
}

/// An axis of whole powers of ten.
struct Decades {
    low: i32,
    high: i32,
}

impl Decades {
    /// The decades that hold all values, one at least.
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (i32::MAX, i32::MIN);
        for value in values {
            let exponent = value.log10();
            (low, high) = (low.min(exponent.floor() as i32), high.max(exponent.ceil() as i32));
        }
        if low > high { Self { low: 0, high: 1 } } else { Self { low, high: high.max(low + 1) } }
    }
}

impl Ranged for Decades {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let part = (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        limit.0 + (f64::from(limit.1 - limit.0) * part).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let n = hint.max_num_points().max(2) as i32;
        let step = ((self.high - self.low) / n + 1).max(1);
        (self.low..=self.high).step_by(step as usize).map(|exponent| 10f64.powi(exponent)).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        10f64.powi(self.low)..10f64.powi(self.high)
    }
}
