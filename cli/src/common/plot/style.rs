//! Colours and dashes of all plots, for a light ground and for a dark one.

/// Ground, text, softer text, rules and axes on a light ground.
const LIGHT: [&str; 5] = ["#ffffff", "#1f2328", "#59636e", "#dfe3e8", "#8c959f"];
/// The same on a dark ground.
const DARK: [&str; 5] = ["#14171b", "#e6e8eb", "#a0a8b2", "#2b3139", "#6b7480"];
/// Colours of lines and bars, in order: on a light ground, on a dark one. Each has a contrast of 4.5 at least to its ground.
const COLOURS: [[&str; 2]; 12] = [
    ["#0969da", "#58a6ff"],
    ["#bc4c00", "#f0883e"],
    ["#1a7f37", "#3fb950"],
    ["#cf222e", "#ff7b72"],
    ["#8250df", "#bc8cff"],
    ["#0b7285", "#39c5cf"],
    ["#bf3989", "#f778ba"],
    ["#7a6400", "#d3b83c"],
    ["#8a4b16", "#c69c6d"],
    ["#57606a", "#a0a8b2"],
    ["#4d7a0f", "#a3d14a"],
    ["#4c51bf", "#9197f5"],
];
/// Dashes of lines, in order; what is without a dash comes first.
const DASHES: [Option<&str>; 4] = [None, Some("8 4"), Some("2 3"), Some("10 3 2 3")];
/// Dashes of published values beside ours.
pub const PUBLISHED: &str = "6 4";

/// The class that gives what is drawn in `currentColor` the colour of this number.
pub fn class(number: usize) -> String {
    format!("wp-{}", number % COLOURS.len())
}

/// Dashes of the line of this number.
pub fn dashes(number: usize) -> Option<&'static str> {
    DASHES[number % DASHES.len()]
}

/// The style sheet of a plot: a reader with a dark ground gets the dark colours, a program that knows none the light ones.
pub fn sheet() -> String {
    let rules = |ground: [&str; 5], column: usize| {
        let [paper, ink, soft, rule, axis] = ground;
        let colours: String = COLOURS
            .iter()
            .enumerate()
            .map(|(number, pair)| format!(".{}{{color:{}}}", class(number), pair[column]))
            .collect();
        format!(
            ".wp-paper{{fill:{paper}}}.wp-ink{{fill:{ink}}}.wp-soft{{fill:{soft}}}.wp-rule{{stroke:{rule}}}.wp-axis{{stroke:{axis}}}{colours}"
        )
    };
    format!("<style>{}\n@media (prefers-color-scheme:dark){{{}}}</style>\n", rules(LIGHT, 0), rules(DARK, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relative luminance of WCAG 2.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("two digits")) / 255.0;
            if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        (one / other).max(other / one)
    }

    /// WCAG 2 asks of text a contrast of 4.5 at least.
    #[test]
    fn colours_are_readable_on_their_grounds() {
        for (column, ground) in [LIGHT, DARK].iter().enumerate() {
            for text in &ground[1..3] {
                assert!(contrast(text, ground[0]) >= 4.5, "{text}");
            }
            for pair in COLOURS {
                let found = contrast(pair[column], ground[0]);
                assert!(found >= 4.5, "{}: {found}", pair[column]);
            }
        }
    }
}
