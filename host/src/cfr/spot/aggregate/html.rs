//! Boards as a page.

use serde_json::json;

use super::Aggregate;

/// The page, without its data.
const PAGE: &str = include_str!("page.html");

impl Aggregate {
    /// A page that needs no other file: the means, a table by texture and a table of all boards, which can be sorted and filtered, with bars of the frequencies.
    pub fn html(&self, title: &str) -> String {
        let data = json!({
            "title": title, "pot": self.pot, "mean": self.mean(), "groups": self.groups(), "rows": self.rows, "blocked": self.blocked, "left": self.left,
        });
        // Within a script, `<` could end it.
        let data = data.to_string().replace('<', "\\u003c");
        let mut escaped = String::new();
        for letter in title.chars() {
            match letter {
                '&' => escaped += "&amp;",
                '<' => escaped += "&lt;",
                '>' => escaped += "&gt;",
                _ => escaped.push(letter),
            }
        }
        // The data last: the title may hold any text, also the mark of the data.
        let (before, rest) = PAGE.split_once("@TITLE@").unwrap_or((PAGE, ""));
        let (between, after) = rest.split_once("@DATA@").unwrap_or((rest, ""));
        [before, escaped.as_str(), between, data.as_str(), after].concat()
    }
}
