//! Lines in an axis system.

use super::canvas::{Anchor, Canvas};
use super::frame::Frame;
use super::style::{PUBLISHED, class, dashes};
use super::{Drawn, Kind, Line, MARGIN, Panel, WIDTH, legend};

/// Most points of a line that have marks.
const MOST_MARKS: usize = 30;
/// Marks of points: their number of shapes.
const N_MARKS: usize = 4;

/// How a line looks.
struct Look {
    /// Its colour's class.
    class: String,
    /// Attributes of its strokes.
    stroke: String,
    /// Its mark, if its points have marks.
    mark: Option<usize>,
}

/// The looks of lines: each has a colour; dashes of its own, or, beside published values, which are dashed, marks of its own.
fn looks(lines: &[Line]) -> Vec<Look> {
    let has_published = lines.iter().any(|line| line.kind == Kind::Published);
    let mut next = 0;
    let mut look = |line: &Line| {
        if line.kind == Kind::Reference {
            let stroke = "stroke-width=\"1.5\" stroke-dasharray=\"4 4\"".to_string();
            return Look { class: "wp-axis".into(), stroke, mark: None };
        }
        let number = next;
        next += 1;
        let dashes = match (line.kind, has_published) {
            (Kind::Published, _) => Some(PUBLISHED),
            (_, true) => None,
            (_, false) => dashes(number),
        };
        let width = if line.kind == Kind::Published { 1.5 } else { 2.2 };
        let dashes = dashes.map_or(String::new(), |dashes| format!(" stroke-dasharray=\"{dashes}\""));
        Look {
            class: class(number),
            stroke: format!("stroke=\"currentColor\" stroke-width=\"{width}\"{dashes}"),
            mark: (line.points.len() <= MOST_MARKS).then_some(number % N_MARKS),
        }
    };
    lines.iter().map(&mut look).collect()
}

/// A mark at a point.
fn mark(canvas: &mut Canvas, shape: usize, [x, y]: [f64; 2]) {
    match shape {
        0 => canvas.element(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"currentColor\"/>")),
        shape => {
            let corners: &[[f64; 2]] = match shape {
                1 => &[[-3.2, -3.2], [3.2, -3.2], [3.2, 3.2], [-3.2, 3.2]],
                2 => &[[0.0, -4.4], [4.0, 3.0], [-4.0, 3.0]],
                _ => &[[0.0, -4.6], [4.6, 0.0], [0.0, 4.6], [-4.6, 0.0]],
            };
            let corners: Vec<String> = corners.iter().map(|[dx, dy]| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
            canvas.element(format_args!("<polygon points=\"{}\" fill=\"currentColor\"/>", corners.join(" ")));
        }
    }
}

/// Draws the axis system.
pub fn draw(panel: &Panel, lines: &[Line]) -> Drawn {
    // What has no points has its place in the order of colours, so that a name has the same colour in panels side by side.
    let (lines, looks): (Vec<&Line>, Vec<Look>) =
        lines.iter().zip(looks(lines)).filter(|(line, _)| !line.points.is_empty()).unzip();
    let mut canvas = Canvas::default();
    let xs = lines.iter().flat_map(|line| line.points.iter().map(|point| point[0]));
    let ys = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point[1]).chain(line.band.iter().flatten().copied()));
    let frame = Frame::new(&mut canvas, panel, ys);
    let x = frame.x(&mut canvas, panel, xs);
    for (line, look) in lines.iter().zip(&looks) {
        canvas.element(format_args!("<g class=\"{}\">", look.class));
        for (point, band) in line.points.iter().zip(&line.band) {
            if let (Some(x), Some(low), Some(high)) = (x.at(point[0]), frame.y.at(band[0]), frame.y.at(band[1])) {
                canvas.element(format_args!(
                    "<line x1=\"{x:.1}\" y1=\"{low:.1}\" x2=\"{x:.1}\" y2=\"{high:.1}\" stroke=\"currentColor\" stroke-width=\"1.2\"/>"
                ));
            }
        }
        let points: Vec<[f64; 2]> =
            line.points.iter().filter_map(|point| Some([x.at(point[0])?, frame.y.at(point[1])?])).collect();
        let text: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        canvas.element(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>",
            text.join(" "),
            look.stroke
        ));
        if let Some(shape) = look.mark {
            points.iter().for_each(|&point| mark(&mut canvas, shape, point));
        }
        canvas.element(format_args!("</g>"));
    }
    let below = frame.close(&mut canvas, panel, Frame::below());
    let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    let height = legend::draw(&mut canvas, &names, below, |canvas, number, [left, y]| {
        let look = &looks[number];
        canvas.element(format_args!(
            "<g class=\"{}\"><line x1=\"{left:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" {}/>",
            look.class,
            left + 24.0,
            look.stroke
        ));
        if let Some(shape) = look.mark {
            mark(canvas, shape, [left + 12.0, y]);
        }
        canvas.element(format_args!("</g>"));
    });
    if lines.is_empty() {
        let middle = [(frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0];
        canvas.text(middle, Anchor::Middle, "wp-soft", "nothing to show");
    }
    Drawn { canvas, width: WIDTH, height: below + height + MARGIN }
}
