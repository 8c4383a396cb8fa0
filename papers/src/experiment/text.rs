//! Tables as text.

/// Most digits behind the point that a number has.
const MOST_DIGITS: usize = 1074;
/// Widest column that is aligned: `format!` limits widths to `u16::MAX`.
const WIDEST: usize = u16::MAX as usize;

/// A number with its digits; without them whole numbers whole, others with four significant digits.
pub fn number(value: f64, digits: Option<usize>) -> String {
    let digits = digits.unwrap_or_else(|| {
        if value == value.round() || value == 0.0 {
            return 0;
        }
        (3 - value.abs().log10().floor() as i32).clamp(0, 12) as usize
    });
    let text = format!("{value:.0$}", digits.min(MOST_DIGITS));
    let (sign, rest) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, part) = rest.split_once('.').map_or((rest, ""), |(whole, part)| (whole, part));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if part.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{part}") }
}

/// Aligned columns under a title: `lines` are rows of cells, the head first; columns of `left` are aligned to the left.
pub fn grid(title: &str, lines: &[Vec<String>], left: &[bool]) -> String {
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0).min(WIDEST);
    let widths: Vec<usize> = (0..left.len()).map(width).collect();
    let mut text = format!("  {title}\n");
    for line in lines {
        let mut row = String::new();
        for ((cell, &width), &left) in line.iter().zip(&widths).zip(left) {
            row += &if left { format!("  {cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

/// A table of Markdown, likewise.
pub fn markdown(lines: &[Vec<String>], left: &[bool]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| in_a_cell(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<String> = left.iter().map(|&left| if left { "---" } else { "---:" }.to_string()).collect();
    let mut text = String::new();
    for (at, cells) in lines.iter().enumerate() {
        text += &line(cells);
        if at == 0 {
            text += &line(&rule);
        }
    }
    text
}

/// A text as a cell of Markdown: on one line, without the signs that end a cell or begin a comment.
fn in_a_cell(text: &str) -> String {
    text.replace(char::is_control, " ").replace('|', "\\|").replace("<!--", "&lt;!--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stays_one_whatever_is_in_it() {
        let lines = [vec!["a".to_string()], vec!["b|c\n<!-- end -->".to_string()]];
        assert_eq!(markdown(&lines, &[true]), "| a |\n| --- |\n| b\\|c &lt;!-- end --> |\n");
    }

    /// A file of results may ask for any number of digits, and hold a text of any length: `format!` panics beyond `u16::MAX`.
    #[test]
    fn absurd_digits_and_widths_are_no_panic() {
        assert_eq!(number(1.5, Some(usize::MAX)).len(), 2 + MOST_DIGITS);
        let long = "x".repeat(WIDEST + 2);
        assert!(
            grid("t", &[vec![long.clone(), "a".into()], vec!["y".into(), "b".into()]], &[true, false]).contains(&long)
        );
    }

    #[test]
    fn numbers_have_the_digits_they_need() {
        let cases = [
            (0.0, None, "0"),
            (1_234_567.0, None, "1,234,567"),
            (-1234.5678, None, "-1,235"),
            (12.34567, None, "12.35"),
            (0.000_123_456, None, "0.0001235"),
            (-0.5, Some(3), "-0.500"),
            (1e6, Some(1), "1,000,000.0"),
            (999.96, Some(1), "1,000.0"),
        ];
        for (value, digits, text) in cases {
            assert_eq!(number(value, digits), text);
        }
    }
}
