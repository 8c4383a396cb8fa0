//! Bar charts as SVG.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

/// Size of a picture in pixels.
const SIZE: (u32, u32) = (960, 480);

/// Bars that stand side by side: what is compared, and each program's value.
pub struct Bars {
    pub name: String,
    pub values: Vec<(String, f64)>,
}

/// A chart with a group for each part, on a logarithmic axis, since a CPU and a GPU are to be seen in one picture.
///
/// # Errors
/// The drawing library refuses; it has no reason to.
pub fn bars(title: &str, unit: &str, groups: &[Bars]) -> Result<String> {
    let mut svg = String::new();
    draw(&mut svg, title, unit, groups).map_err(|error| anyhow!("drawing the chart: {error}"))?;
    Ok(svg)
}

fn draw(svg: &mut String, title: &str, unit: &str, groups: &[Bars]) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut programs: Vec<&str> = Vec::new();
    for (program, _) in groups.iter().flat_map(|group| &group.values) {
        if !programs.contains(&program.as_str()) {
            programs.push(program);
        }
    }
    let values = || groups.iter().flat_map(|group| &group.values).map(|(_, value)| *value).filter(|&value| value > 0.0);
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(0.0, f64::max);
    // Two decades above the bars are the legend's.
    let (low, high) = if least <= most { (least / 3.0, most * 100.0) } else { (1.0, 10.0) };
    let n_groups = groups.len().max(1) as f64;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(32)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..n_groups, (low..high).log_scale())?;
    chart.configure_mesh().disable_x_mesh().disable_x_axis().light_line_style(TRANSPARENT).y_desc(unit).draw()?;
    // A fifth of each group stays free.
    let width = 0.8 / programs.len().max(1) as f64;
    for (number, program) in programs.iter().enumerate() {
        let colour = Palette99::pick(number).to_rgba();
        let bars = groups.iter().enumerate().filter_map(|(at, group)| {
            let (_, value) = group.values.iter().find(|(name, value)| name == program && *value > 0.0)?;
            let left = at as f64 + 0.1 + width * number as f64;
            Some(Rectangle::new([(left, low), (left + 0.9 * width, *value)], colour.filled()))
        });
        chart
            .draw_series(bars)?
            .label(*program)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
    }
    for (at, group) in groups.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(at as f64 + 0.3, low));
        area.draw_text(&group.name, &("sans-serif", 13).into_text_style(&area), (x, y + 8))?;
    }
    if !programs.is_empty() {
        let labels = &mut chart.configure_series_labels();
        labels.position(SeriesLabelPosition::UpperLeft).background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
    }
    area.present()?;
    Ok(())
}
