//! Elements of SVG.

use std::fmt::Write;

/// Size of text in pixels.
pub const SIZE: f64 = 13.0;
/// Size of titles in pixels.
pub const TITLE: f64 = 16.0;
/// How much wider letters of weight 600, in which titles are, are than regular ones: 4 to 11 % in the usual fonts of systems.
pub const SEMI_BOLD: f64 = 1.12;

/// Where a text stands to its point.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Elements, one below the other.
#[derive(Default)]
pub struct Canvas {
    text: String,
}

impl Canvas {
    /// Adds an element.
    pub fn element(&mut self, element: std::fmt::Arguments<'_>) {
        // A text can always be written to.
        let _ = writeln!(self.text, "{element}");
    }

    /// A text of one line in a class of the style sheet.
    pub fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, class: &str, words: &str) {
        self.text_with([x, y], anchor, class, "", words);
    }

    /// A text with more attributes.
    pub fn text_with(&mut self, [x, y]: [f64; 2], anchor: Anchor, class: &str, attributes: &str, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let words = escaped(words);
        self.element(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\"{anchor} class=\"{class}\"{attributes}>{words}</text>"
        ));
    }

    /// A straight line in a class of the style sheet.
    pub fn rule(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], class: &str) {
        self.element(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
        ));
    }

    /// Adds what another has drawn.
    pub fn append(&mut self, other: &Self) {
        self.text += &other.text;
    }

    /// All elements.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// Text that stands as it is, also between double quotes; what XML does not allow is left out.
pub fn escaped(text: &str) -> String {
    let text: String = text
        .chars()
        .filter(|&character| !character.is_control() && !matches!(character, '\u{fffe}' | '\u{ffff}'))
        .collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// About how many pixels a text of a size takes: the letters of usual fonts are a little more than half as wide as high, those of Chinese and Japanese as wide as high.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|character| if character > '\u{2e80}' { size } else { 0.56 * size }).sum()
}

/// A text in lines of at most so many pixels, where words allow it.
pub fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = &mut lines[0];
        if !line.is_empty() && width(line, size) + width(word, size) + width(" ", size) > most {
            lines.insert(0, word.to_string());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_wrapped_between_words() {
        // A letter has 0.56 of 10 pixels: five letters take about 28.
        assert_eq!(wrapped("aa bb cccccccc d", 10.0, 29.0), ["aa bb", "cccccccc", "d"]);
        assert_eq!(wrapped("", 10.0, 28.0), [""]);
    }

    #[test]
    fn texts_stand_as_they_are() {
        assert_eq!(escaped("a < b & \"c\"\u{1b}[0m\u{ffff}"), "a &lt; b &amp; &quot;c&quot;[0m");
    }
}
