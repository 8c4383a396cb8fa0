//! Figures of the publications as SVG.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use warpplay_papers::experiment::{Axis, Chart, Figure, Group, Line};

use crate::common::chart::{MOST_DOTS, range};

/// Size of a figure in pixels.
const SIZE: (u32, u32) = (960, 540);
/// Size of a cell of a map of colours.
const CELL: (u32, u32) = (150, 84);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The figure as SVG.
///
/// # Errors
/// The drawing library refuses; it has no reason to.
pub fn svg(figure: &Figure) -> Result<String> {
    let mut svg = String::new();
    let size = match &figure.chart {
        Chart::Heat { x, y, .. } => (120 + CELL.0 * x.len() as u32, 90 + CELL.1 * y.len() as u32),
        _ => SIZE,
    };
    let draw = |svg: &mut String| -> Drawn {
        let area = SVGBackend::with_string(svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        match &figure.chart {
            Chart::Lines(lines) => draw_lines(&area, figure, lines)?,
            Chart::Bars(groups) => draw_bars(&area, figure, groups)?,
            Chart::Heat { x, y, values, texts } => draw_heat(&area, figure, [x, y], values, texts)?,
        }
        area.present()?;
        Ok(())
    };
    draw(&mut svg).map_err(|error| anyhow!("drawing {}: {error}", figure.file))?;
    Ok(svg)
}

/// Where a value is on an axis: axes of powers of ten are even in the logarithm. `None` for what has none.
fn at(axis: &Axis, value: f64) -> Option<f64> {
    match axis.log {
        true => (value > 0.0 && value.is_finite()).then(|| value.log10()),
        false => value.is_finite().then_some(value),
    }
}

/// What stands at a coordinate on an axis.
fn label(axis: &Axis, coordinate: f64) -> String {
    match axis.log {
        true if (coordinate - coordinate.round()).abs() < 1e-9 => format!("1e{coordinate:.0}"),
        true => format!("{:.1e}", 10f64.powf(coordinate)),
        // Without the last bits that sums of steps leave, as in 0.30000000000000004; adding 0 makes -0 plain.
        false => format!("{}", (coordinate * 1e9).round() / 1e9 + 0.0),
    }
}

fn draw_lines(area: &Area<'_>, figure: &Figure, lines: &[Line]) -> Drawn {
    let Figure { title, x, y, .. } = figure;
    let xs = lines.iter().flat_map(|line| &line.points).filter_map(|point| at(x, point[0]));
    let ys = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point[1]).chain(line.band.iter().flatten().copied()));
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(72)
        .build_cartesian_2d(range(xs), range(ys.filter_map(|value| at(y, value))))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(&x.label)
        .y_desc(&y.label)
        .x_label_formatter(&|&coordinate| label(x, coordinate))
        .y_label_formatter(&|&coordinate| label(y, coordinate))
        .draw()?;
    for (number, line) in lines.iter().enumerate() {
        let colour = Palette99::pick(number).to_rgba();
        let style = colour.stroke_width(if line.published { 1 } else { 2 });
        let points: Vec<(f64, f64)> =
            line.points.iter().filter_map(|point| Some((at(x, point[0])?, at(y, point[1])?))).collect();
        // Published values are dashed.
        let series = match line.published {
            true => chart.draw_series(DashedLineSeries::new(points.iter().copied(), 6, 4, style))?,
            false => chart.draw_series(LineSeries::new(points.iter().copied(), style))?,
        };
        series.label(line.name.as_str()).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
        if points.len() <= MOST_DOTS {
            chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
        }
        let spans = line.points.iter().zip(&line.band).filter_map(|(point, band)| {
            let coordinate = at(x, point[0])?;
            Some(PathElement::new(
                [(coordinate, at(y, band[0])?), (coordinate, at(y, band[1])?)],
                colour.stroke_width(1),
            ))
        });
        chart.draw_series(spans)?;
    }
    if !lines.is_empty() {
        chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
    }
    Ok(())
}

fn draw_bars(area: &Area<'_>, figure: &Figure, groups: &[Group]) -> Drawn {
    let y = &figure.y;
    let mut names: Vec<&str> = Vec::new();
    for bar in groups.iter().flat_map(|group| &group.bars) {
        if !names.contains(&bar.name.as_str()) {
            names.push(&bar.name);
        }
    }
    let values = groups.iter().flat_map(|group| &group.bars).flat_map(|bar| [bar.mean, bar.min, bar.max]);
    let coordinates = range(values.filter_map(|value| at(y, value)));
    // Bars on an even axis stand on 0; the legend has the upper third.
    let low = if y.log { coordinates.start } else { coordinates.start.min(0.0) };
    let high = coordinates.end + (coordinates.end - low) / 2.0;
    let mut chart = ChartBuilder::on(area)
        .caption(&figure.title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(32)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..groups.len().max(1) as f64, low..high)?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh().disable_x_axis().light_line_style(TRANSPARENT).y_desc(&y.label);
    mesh.y_label_formatter(&|&coordinate| label(y, coordinate)).draw()?;
    // A fifth of each group stays free.
    let width = 0.8 / names.len().max(1) as f64;
    for (number, &name) in names.iter().enumerate() {
        let colour = Palette99::pick(number).to_rgba();
        let bars = groups.iter().enumerate().filter_map(|(group, bars)| {
            let bar = bars.bars.iter().find(|bar| bar.name == name)?;
            let left = group as f64 + 0.1 + width * number as f64;
            Some((left, at(y, bar.mean)?, at(y, bar.min), at(y, bar.max)))
        });
        let bars: Vec<_> = bars.collect();
        let boxes = bars
            .iter()
            .map(|&(left, mean, ..)| Rectangle::new([(left, low), (left + 0.9 * width, mean)], colour.filled()));
        chart
            .draw_series(boxes)?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
        let spans = bars.iter().filter_map(|&(left, _, min, max)| {
            let middle = left + 0.45 * width;
            Some(PathElement::new([(middle, min?), (middle, max?)], BLACK.stroke_width(1)))
        });
        chart.draw_series(spans)?;
    }
    for (number, group) in groups.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(number as f64 + 0.3, low));
        area.draw_text(&group.name, &("sans-serif", 13).into_text_style(area), (x, y + 8))?;
    }
    if !names.is_empty() {
        let labels = &mut chart.configure_series_labels();
        labels.position(SeriesLabelPosition::UpperLeft).background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
    }
    Ok(())
}

fn draw_heat(
    area: &Area<'_>,
    figure: &Figure,
    [columns, rows]: [&[String]; 2],
    values: &[Vec<Option<f64>>],
    texts: &[Vec<String>],
) -> Drawn {
    let middle = Pos::new(HPos::Center, VPos::Center);
    let text = |size: u32| ("sans-serif", size).into_text_style(area).pos(middle);
    let (left, top) = (90, 60);
    let (width, height) = (CELL.0 as i32, CELL.1 as i32);
    area.draw_text(&figure.title, &text(16), (left + width * columns.len() as i32 / 2, 14))?;
    area.draw_text(&figure.x.label, &text(13), (left + width * columns.len() as i32 / 2, 34))?;
    area.draw_text(&figure.y.label, &text(13), (left / 2, 34))?;
    for (at, name) in (0..).zip(columns) {
        area.draw_text(name, &text(13), (left + width * at + width / 2, top - 10))?;
    }
    let known = || values.iter().flatten().flatten().copied().filter(|value| value.is_finite());
    let (low, high) =
        known().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    for (row, name) in (0..).zip(rows) {
        let y = top + height * row;
        area.draw_text(name, &text(13), (left / 2, y + height / 2))?;
        for (column, value) in (0..).zip(values.get(row as usize).into_iter().flatten()) {
            let x = left + width * column;
            let share = value
                .filter(|value| value.is_finite())
                .map(|value| if high > low { (value - low) / (high - low) } else { 1.0 });
            let fill = RED.mix(0.05 + 0.75 * share.unwrap_or(0.0)).filled();
            area.draw(&Rectangle::new([(x, y), (x + width, y + height)], fill))?;
            area.draw(&Rectangle::new([(x, y), (x + width, y + height)], BLACK.stroke_width(1)))?;
            let words = texts.get(row as usize).and_then(|row| row.get(column as usize));
            let lines: Vec<&str> = words.map(|words| words.lines().collect()).unwrap_or_default();
            let first = y + height / 2 - 9 * (lines.len() as i32 - 1);
            for (at, line) in (0..).zip(lines) {
                area.draw_text(line, &text(if at == 0 { 15 } else { 12 }), (x + width / 2, first + 18 * at))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpplay_papers::experiment::Bar;

    fn figure(chart: Chart) -> Figure {
        let (x, y) = (Axis::log("deals"), Axis::linear("seconds"));
        Figure { file: "figure1".into(), title: "a <title>".into(), x, y, chart }
    }

    #[test]
    fn labels_are_without_the_last_bits_of_sums() {
        let labels = [0.1 + 0.2, 0.7000000000000001, -0.0, 12.0, -2.5].map(|at| label(&Axis::linear("q"), at));
        assert_eq!(labels, ["0.3", "0.7", "0", "12", "-2.5"]);
    }

    #[test]
    fn every_chart_shows_what_it_is_given() {
        let line = Line {
            name: "ours".into(),
            points: vec![[1.0, 2.0], [10.0, 3.0], [0.0, 4.0]],
            band: vec![[1.5, 2.5], [2.0, 4.0], [4.0, 4.0]],
            published: false,
        };
        let published = Line { name: "published".into(), published: true, ..line.clone() };
        let lines = svg(&figure(Chart::Lines(vec![line, published]))).expect("drawn");
        assert!(
            ["ours", "published", "deals", "seconds", "a &lt;title&gt;", "1e1"].iter().all(|text| lines.contains(text)),
            "{lines}"
        );
        // A point that has no logarithm is left out: two dots of each line.
        assert_eq!(lines.matches("<circle").count(), 4);
        let bar = |name: &str, mean| Bar { name: name.into(), mean, min: mean / 2.0, max: mean * 2.0 };
        let groups =
            ["kernel", "layer"].map(|name| Group { name: name.into(), bars: vec![bar("paper", 1.0), bar("CPU", 8.0)] });
        let bars = svg(&figure(Chart::Bars(groups.into()))).expect("drawn");
        assert!(["kernel", "layer", "paper", "CPU"].iter().all(|text| bars.contains(text)), "{bars}");
        let heat = Chart::Heat {
            x: vec!["1".into(), "2".into()],
            y: vec!["32".into()],
            values: vec![vec![Some(50.0), None]],
            texts: vec![vec!["50 %\n1 / 2".into(), String::new()]],
        };
        let heat = svg(&figure(heat)).expect("drawn");
        assert!(["32", "50 %", "1 / 2"].iter().all(|text| heat.contains(text)), "{heat}");
        for empty in [Chart::Lines(Vec::new()), Chart::Bars(Vec::new())] {
            assert!(svg(&figure(empty)).is_ok());
        }
    }
}
