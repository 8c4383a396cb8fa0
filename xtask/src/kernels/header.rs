//! The header of a kernel: sentences that say what it computes, then a line for each fact.
//!
//! ```text
//! /// What it computes. More of it.
//! ///
//! /// * Launch: [`shape`], a block a tree.
//! /// * Reads: …
//! ///   which goes on here.
//! ///
//! /// # Safety
//! ```

use anyhow::{Result, bail, ensure};

/// What a doc comment says.
pub struct Header {
    /// The first paragraph.
    what: String,
    /// Each line's name and text, in order.
    lines: Vec<(&'static str, String)>,
}

impl Header {
    /// Reads a doc comment whose lines must have these names, in this order.
    ///
    /// # Errors
    /// There is no sentence; a line lacks, is empty, or stands elsewhere.
    pub fn read(doc: &[String], names: &[&'static str]) -> Result<Self> {
        // Sections such as `# Safety` stand behind the header.
        let end = doc.iter().position(|line| line.starts_with("# ")).unwrap_or(doc.len());
        let begin = doc.iter().position(|line| !line.is_empty()).unwrap_or(end).min(end);
        let doc = &doc[begin..end];
        let first: Vec<&str> = doc.iter().map(|line| line.trim()).take_while(|line| !line.is_empty()).collect();
        let what = first.join(" ");
        ensure!(!what.is_empty() && !what.starts_with('*'), "no sentence says what it computes");
        let mut rest = doc[first.len()..].iter().skip_while(|line| !is_item(line, names)).peekable();
        let begin = doc.len() - rest.clone().count();
        ensure!(rest.peek().is_none() || doc[begin - 1].is_empty(), "no empty line before the line `{}`", doc[begin]);
        let mut lines: Vec<(&'static str, String)> = Vec::new();
        for line in rest.by_ref().take_while(|line| !line.is_empty()) {
            if let (Some(more), Some((_, text))) = (line.strip_prefix("  "), lines.last_mut()) {
                text.push(' ');
                text.push_str(more.trim());
                continue;
            }
            let item = line.strip_prefix("* ").and_then(|item| item.split_once(':'));
            let Some((name, text)) = item else { bail!("`{line}` is no line of a header") };
            let Some(&name) = names.iter().find(|known| **known == name) else {
                bail!("`{name}` is no line of a header (in order: {})", names.join(", "))
            };
            ensure!(!text.trim().is_empty(), "the line `{name}` is empty");
            lines.push((name, text.trim().to_string()));
        }
        if let Some(line) = rest.find(|line| !line.is_empty()) {
            bail!("`{line}` stands behind the lines of the header");
        }
        let found: Vec<&str> = lines.iter().map(|(name, _)| *name).collect();
        if let Some(name) = names.iter().find(|name| !found.contains(name)) {
            bail!("no line `* {name}: …` (in order: {})", names.join(", "));
        }
        ensure!(found == names, "lines {} (in order: {})", found.join(", "), names.join(", "));
        Ok(Self { what, lines })
    }

    /// The first sentence of what the kernel computes.
    pub fn what(&self) -> &str {
        let mut in_code = false;
        let mut before = ' ';
        for (at, c) in self.what.char_indices() {
            in_code ^= c == '`';
            if c == ' ' && before == '.' && !in_code {
                return &self.what[..at];
            }
            before = c;
        }
        &self.what
    }

    /// The text of a line.
    pub fn line(&self, name: &str) -> Option<&str> {
        self.lines.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }
}

fn is_item(line: &str, names: &[&str]) -> bool {
    line.strip_prefix("* ").is_some_and(|item| names.iter().any(|name| item.starts_with(&format!("{name}:"))))
}

/// What stands between backticks.
pub fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["Launch", "Cost", "Source"];

    fn doc(text: &str) -> Vec<String> {
        text.lines().map(str::to_string).collect()
    }

    const WHOLE: &str = "Adds `a.b. c` up. Twice.\n\n* `x`: a number\n\n* Launch: [`shape`],\n  two lines.\n* Cost: 1.\n* Source: our own.\n\n# Safety\nNone.";

    fn error(text: &str) -> String {
        Header::read(&doc(text), &NAMES).err().expect("no header").to_string()
    }

    #[test]
    fn a_header_has_its_lines_in_order() {
        let header = Header::read(&doc(WHOLE), &NAMES).expect("a header");
        assert_eq!(header.what(), "Adds `a.b. c` up.");
        assert_eq!(header.line("Launch"), Some("[`shape`], two lines."));
        assert_eq!(header.line("Twin"), None);
        assert_eq!(code("`a` and `b::c`"), ["a", "b::c"]);
    }

    #[test]
    fn what_lacks_or_stands_elsewhere_is_named() {
        let order = "(in order: Launch, Cost, Source)";
        assert_eq!(error(&WHOLE.replace("* Cost: 1.\n", "")), format!("no line `* Cost: …` {order}"));
        assert_eq!(error("Adds.\n\n# Safety\nNone."), format!("no line `* Launch: …` {order}"));
        let turned = WHOLE.replace("* Cost: 1.\n", "").replace("* Launch", "* Cost: 1.\n* Launch");
        assert_eq!(error(&turned), format!("lines Cost, Launch, Source {order}"));
        assert_eq!(
            error(&WHOLE.replace("* Cost: 1.", "* Price: 1.")),
            format!("`Price` is no line of a header {order}")
        );
        assert_eq!(error(&WHOLE.replace("Cost: 1.", "Cost:")), "the line `Cost` is empty");
        assert_eq!(error(&WHOLE[WHOLE.find("* Launch").unwrap()..]), "no sentence says what it computes");
        assert_eq!(
            error(&WHOLE.replace("\n\n# Safety", "\n\nMore.\n\n# Safety")),
            "`More.` stands behind the lines of the header"
        );
        assert_eq!(error("Adds.\nMore.\n* x\n* Launch: 1"), format!("no line `* Launch: …` {order}"));
        assert_eq!(error("Adds.\n\nMore:\n* Launch: 1"), "no empty line before the line `* Launch: 1`");
    }
}
