//! All plots: axis systems with lines, groups of bars, rows of bars or a map of colours, as SVG in one style.
//!
//! What it draws reads on a light ground and on a dark one ([`style`]), needs no fonts, and is a text that depends on the data alone. Legends stand below the axes, where they hide nothing.

mod axis;
mod bars;
mod canvas;
mod frame;
mod heat;
mod legend;
mod lines;
mod rows;
mod style;

pub use axis::Axis;
pub use heat::Heat;

use canvas::{Canvas, SEMI_BOLD, SIZE, TITLE, escaped, wrapped};

/// Width of an axis system in pixels.
const WIDTH: f64 = 560.0;
/// Pixels around everything, and between axis systems.
const MARGIN: f64 = 16.0;
/// Pixels from line to line of a title.
const TITLE_LINE: f64 = 20.0;
/// Axis systems side by side at most: more would be too small on a page.
const ABREAST: usize = 2;
/// Most series of bars that stand side by side with a colour each; more are rows with their names.
const MOST_ABREAST: usize = 6;

/// What a line shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Kind {
    /// What was measured.
    #[default]
    Measured,
    /// What a publication says: dashed.
    Published,
    /// What the others are held to, as even play: thin, without a colour.
    Reference,
}

/// A line with a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its points, x before y.
    pub points: Vec<[f64; 2]>,
    /// The least and the largest value at each point; empty where there are none.
    pub band: Vec<[f64; 2]>,
    pub kind: Kind,
}

impl Line {
    /// A line of measured points.
    pub fn new(name: impl Into<String>, points: Vec<[f64; 2]>) -> Self {
        Self { name: name.into(), points, ..Self::default() }
    }
}

/// A bar, with the least and the largest of the values that it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its name in the legend.
    pub name: String,
    pub value: f64,
    pub range: [f64; 2],
}

/// Bars side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What is below them.
    pub name: String,
    pub bars: Vec<Bar>,
}

/// What an axis system shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Lines(Vec<Line>),
    Bars(Vec<Group>),
    Heat(Heat),
}

/// An axis system.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// In words what it shows.
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub content: Content,
}

impl Panel {
    /// Lines in an axis system.
    pub fn lines(title: impl Into<String>, x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        Self { title: title.into(), x, y, content: Content::Lines(lines) }
    }
}

/// What was drawn, and the height that it takes.
struct Drawn {
    canvas: Canvas,
    width: f64,
    height: f64,
}

/// The axis systems as one SVG, two side by side.
pub fn svg(panels: &[Panel]) -> String {
    let drawn: Vec<Drawn> = panels.iter().map(draw).collect();
    let mut all = Canvas::default();
    let (mut top, mut width) = (0.0, 0.0_f64);
    for row in drawn.chunks(ABREAST) {
        let mut left = 0.0;
        for part in row {
            all.element(format_args!("<g transform=\"translate({left:.1} {top:.1})\">"));
            all.append(&part.canvas);
            all.element(format_args!("</g>"));
            left += part.width;
        }
        width = width.max(left);
        top += row.iter().map(|part| part.height).fold(0.0, f64::max);
    }
    let titles: Vec<&str> = panels.iter().map(|panel| panel.title.as_str()).collect();
    let label = escaped(&titles.join("; "));
    let (width, height) = (width.ceil(), top.ceil());
    let sheet = style::sheet();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"{SIZE}\">\n{sheet}<rect width=\"{width}\" height=\"{height}\" class=\"wp-paper\"/>\n{}</svg>\n",
        all.into_text()
    )
}

fn draw(panel: &Panel) -> Drawn {
    match &panel.content {
        Content::Lines(lines) => lines::draw(panel, lines),
        Content::Bars(groups) if bars::names(groups).len() > MOST_ABREAST => rows::draw(panel, groups),
        Content::Bars(groups) => bars::draw(panel, groups),
        Content::Heat(heat) => heat::draw(panel, heat),
    }
}

/// Draws a title of so many pixels at most; the height that it takes with the margin above.
fn title(canvas: &mut Canvas, title: &str, most: f64) -> f64 {
    let lines = wrapped(title, TITLE * SEMI_BOLD, most);
    for (at, line) in lines.iter().enumerate() {
        let y = MARGIN + TITLE_LINE * at as f64 + 14.0;
        canvas.text_with(
            [MARGIN, y],
            canvas::Anchor::Start,
            "wp-ink",
            &format!(" font-size=\"{TITLE}\" font-weight=\"600\""),
            line,
        );
    }
    MARGIN + TITLE_LINE * lines.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Line> {
        let ours = Line {
            name: "ours".into(),
            points: vec![[1.0, 2.0], [10.0, 3.0], [0.0, 4.0]],
            band: vec![[1.5, 2.5], [2.0, 4.0], [4.0, 4.0]],
            kind: Kind::Measured,
        };
        vec![Line { name: "printed".into(), kind: Kind::Published, ..ours.clone() }, ours]
    }

    fn panel(content: Content) -> Panel {
        Panel { title: "a <title>".into(), x: Axis::log("deals"), y: Axis::even("seconds"), content }
    }

    #[test]
    fn lines_have_names_axes_and_points() {
        let svg = svg(&[panel(Content::Lines(lines()))]);
        for text in ["ours", "printed", "deals", "seconds", "a &lt;title&gt;"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        // A point that has no logarithm is left out: two circles and two squares, and one of each in the legend.
        assert_eq!((svg.matches("<circle").count(), svg.matches("stroke-dasharray=\"6 4\"").count()), (3, 2), "{svg}");
    }

    #[test]
    fn few_series_of_bars_stand_abreast_and_many_are_rows() {
        for n in [2, 9] {
            let bar = |at: usize| Bar { name: format!("program {at}"), value: at as f64 + 1.0, range: [0.5, 12.0] };
            let group = |name: &str| Group { name: name.into(), bars: (0..n).map(bar).collect() };
            let svg = svg(&[panel(Content::Bars(vec![group("kernel"), group("layer")]))]);
            assert!(["kernel", "layer", "program 0", "program 1"].iter().all(|text| svg.contains(text)), "{svg}");
            // The ground, the bars of both groups, and those of the legend.
            let of_legend = if n == 2 { 2 } else { 0 };
            assert_eq!(svg.matches("<rect").count(), 1 + 2 * n + of_legend, "{svg}");
        }
    }

    #[test]
    fn maps_have_a_text_in_each_cell() {
        let heat = Heat {
            x: vec!["1".into(), "2".into()],
            y: vec!["32".into()],
            values: vec![vec![Some(50.0), None]],
            texts: vec![vec!["50 %\n1 / 2".into(), String::new()]],
        };
        let svg = svg(&[panel(Content::Heat(heat))]);
        assert!(["32", "50 %", "1 / 2"].iter().all(|text| svg.contains(text)), "{svg}");
    }

    #[test]
    fn nothing_at_all_has_axes() {
        let heat = Heat { x: Vec::new(), y: Vec::new(), values: Vec::new(), texts: Vec::new() };
        for content in [Content::Lines(Vec::new()), Content::Bars(Vec::new()), Content::Heat(heat)] {
            let svg = svg(&[panel(content)]);
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
        }
    }

    /// Figures whose measurements are not kept cannot be drawn anew: they must have the titles that [`title`] would draw today. A package has no figures.
    #[test]
    fn titles_of_the_publications_figures_fit() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/papers");
        if !folder.exists() {
            return;
        }
        let entries = |folder| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let figures = entries(folder.clone()).filter(|path| path.is_dir()).flat_map(entries);
        let mut n_figures = 0;
        for path in figures.filter(|path| path.extension().is_some_and(|end| end == "svg")) {
            n_figures += 1;
            let svg = std::fs::read_to_string(&path).expect("a figure");
            let [width, label] = ["width", "aria-label"]
                .map(|name| between(&svg, &format!(" {name}=\""), "\"").expect("an attribute of the picture"));
            let most = width.parse::<f64>().expect("a number") - 2.0 * MARGIN;
            let title = format!("font-size=\"{TITLE}\" font-weight=\"600\"");
            let lines = svg.lines().filter(|line| line.contains(&title)).map(|line| between(line, ">", "<"));
            let lines: Vec<&str> = lines.flatten().collect();
            // Every figure has one axis system, whose whole title is the label.
            assert_eq!(lines, wrapped(label, TITLE * SEMI_BOLD, most), "{}", path.display());
        }
        assert!(n_figures > 0, "no figure in {}", folder.display());
    }

    fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
        Some(text.split_once(before)?.1.split_once(after)?.0)
    }

    #[test]
    fn three_panels_are_two_rows() {
        let three: Vec<Panel> = (0..3).map(|_| panel(Content::Lines(lines()))).collect();
        assert!(svg(&three).contains("viewBox=\"0 0 1120 "));
    }
}
