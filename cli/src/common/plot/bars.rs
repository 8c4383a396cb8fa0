//! Bars side by side in groups.

use super::canvas::{Anchor, Canvas, SIZE, width, wrapped};
use super::frame::Frame;
use super::style::class;
use super::{Axis, Drawn, Group, MARGIN, Panel, WIDTH, legend};

/// Share of a group's width that its bars take.
const FILLED: f64 = 0.8;
/// Pixels from line to line of a name.
const LINE: f64 = 16.0;
/// Room above the highest bar, as a share of it.
const ABOVE: f64 = 0.04;

/// The names of the series, in the order of their first bars.
pub fn names(groups: &[Group]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for bar in groups.iter().flat_map(|group| &group.bars) {
        if !names.contains(&bar.name.as_str()) {
            names.push(&bar.name);
        }
    }
    names
}

/// The axis of bars: an even one begins at 0.
pub fn axis(axis: &Axis, groups: &[Group]) -> Axis {
    let values = groups.iter().flat_map(|group| &group.bars).flat_map(|bar| [bar.value, bar.range[0], bar.range[1]]);
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    match axis.log || axis.range.is_some() || low == high {
        true => axis.clone(),
        false => axis.clone().ends(low * (1.0 + ABOVE), high * (1.0 + ABOVE)),
    }
}

/// Draws the axis system.
pub fn draw(panel: &Panel, groups: &[Group]) -> Drawn {
    let names = names(groups);
    let mut canvas = Canvas::default();
    let panel = &Panel { y: axis(&panel.y, groups), ..panel.clone() };
    let values = groups.iter().flat_map(|group| &group.bars).flat_map(|bar| [bar.value, bar.range[0], bar.range[1]]);
    let frame = Frame::new(&mut canvas, panel, values);
    let slot = (frame.right - frame.left) / groups.len().max(1) as f64;
    let wide = FILLED * slot / names.len().max(1) as f64;
    let foot = if panel.y.log { frame.bottom } else { frame.y.at(0.0).unwrap_or(frame.bottom) };
    for (at, group) in groups.iter().enumerate() {
        let left = frame.left + slot * (at as f64 + (1.0 - FILLED) / 2.0);
        for bar in &group.bars {
            let Some(number) = names.iter().position(|name| *name == bar.name) else { continue };
            let Some(y) = frame.y.at(bar.value) else { continue };
            let x = left + wide * number as f64;
            canvas.element(format_args!(
                "<g class=\"{}\"><rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"currentColor\"/></g>",
                class(number),
                y.min(foot),
                0.92 * wide,
                (y - foot).abs().max(1.0)
            ));
            if let [Some(low), Some(high)] = bar.range.map(|value| frame.y.at(value))
                && low != high
            {
                let middle = x + 0.46 * wide;
                canvas.element(format_args!(
                    "<line x1=\"{middle:.1}\" y1=\"{low:.1}\" x2=\"{middle:.1}\" y2=\"{high:.1}\" class=\"wp-axis\" stroke-width=\"1.5\"/>"
                ));
            }
        }
    }
    let below = group_names(&mut canvas, &frame, groups, slot);
    let below = frame.close(&mut canvas, panel, below);
    // One series says no more than the title.
    let shown = if names.len() > 1 { &names[..] } else { &[] };
    let height = legend::draw(&mut canvas, shown, below, |canvas, number, [left, y]| {
        canvas.element(format_args!(
            "<g class=\"{}\"><rect x=\"{left:.1}\" y=\"{:.1}\" width=\"24\" height=\"10\" fill=\"currentColor\"/></g>",
            class(number),
            y - 5.0
        ));
    });
    Drawn { canvas, width: WIDTH, height: below + height + MARGIN }
}

/// Draws the groups' names, in lines where they are wider than the group, slanted where a word is; the height that they take.
fn group_names(canvas: &mut Canvas, frame: &Frame, groups: &[Group], slot: f64) -> f64 {
    let room = slot - 6.0;
    let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| width(text, SIZE)).fold(0.0, f64::max);
    let is_slanted = widest(&mut groups.iter().flat_map(|group| group.name.split(' '))) > room;
    let mut most_lines = 1;
    for (at, group) in groups.iter().enumerate() {
        let middle = frame.left + slot * (at as f64 + 0.5);
        let y = frame.bottom + 18.0;
        if is_slanted {
            let turned = format!(" transform=\"rotate(-30 {:.1} {y:.1})\"", middle + 6.0);
            canvas.text_with([middle + 6.0, y], Anchor::End, "wp-soft", &turned, &group.name);
            continue;
        }
        let lines = wrapped(&group.name, SIZE, room);
        most_lines = most_lines.max(lines.len());
        for (number, line) in lines.iter().enumerate() {
            canvas.text([middle, y + LINE * number as f64], Anchor::Middle, "wp-soft", line);
        }
    }
    let below = match is_slanted {
        // Half of its width is the sine of 30 degrees.
        true => widest(&mut groups.iter().map(|group| group.name.as_str())) / 2.0,
        false => LINE * (most_lines - 1) as f64,
    };
    Frame::below() + below
}
