//! Figures of the publications as SVG.

use warpplay_papers::experiment::{Axis, Chart, Figure, Group, Line};

use crate::common::plot::{self, Bar, Content, Heat, Kind, Panel};

/// The figures as one SVG, an axis system each.
pub fn svg(figures: &[Figure]) -> String {
    let panels: Vec<Panel> = figures.iter().map(panel).collect();
    plot::svg(&panels)
}

fn panel(figure: &Figure) -> Panel {
    let content = match &figure.chart {
        Chart::Lines(lines) => Content::Lines(lines.iter().map(line).collect()),
        Chart::Bars(groups) => Content::Bars(groups.iter().map(group).collect()),
        Chart::Heat { x, y, values, texts } => {
            Content::Heat(Heat { x: x.clone(), y: y.clone(), values: values.clone(), texts: texts.clone() })
        }
    };
    Panel { title: capital(&figure.title), x: axis(&figure.x), y: axis(&figure.y), content }
}

fn axis(axis: &Axis) -> plot::Axis {
    if axis.log { plot::Axis::log(&axis.label) } else { plot::Axis::even(&axis.label) }
}

fn line(line: &Line) -> plot::Line {
    let kind = if line.published { Kind::Published } else { Kind::Measured };
    plot::Line { name: line.name.clone(), points: line.points.clone(), band: line.band.clone(), kind }
}

fn group(group: &Group) -> plot::Group {
    let bars = group.bars.iter().map(|bar| Bar { name: bar.name.clone(), value: bar.mean, range: [bar.min, bar.max] });
    plot::Group { name: group.name.clone(), bars: bars.collect() }
}

/// With a capital letter at its beginning, but for the name of a variant.
fn capital(text: &str) -> String {
    if text.split(' ').next().is_some_and(|word| word.contains('_')) {
        return text.to_string();
    }
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_drawn_under_their_titles() {
        let line = Line { name: "ours".into(), points: vec![[1.0, 2.0], [10.0, 3.0]], ..Line::default() };
        let figure = |title: &str| Figure {
            file: "figure1".into(),
            title: title.into(),
            x: Axis::log("deals"),
            y: Axis::linear("seconds"),
            chart: Chart::Lines(vec![line.clone()]),
        };
        let both = svg(&[figure("time by deals"), figure("acp_prodigal: time")]);
        assert!(both.contains(">Time by deals</text>") && both.contains(">acp_prodigal: time</text>"));
    }
}
