//! What changed between two lists of items.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Items that one list has and the other has not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Difference {
    removed: Vec<String>,
    added: Vec<String>,
}

impl Difference {
    /// From the list that was kept, a line an item, to the items that there are.
    pub fn of(kept: &str, found: &[String]) -> Self {
        let kept: BTreeSet<&str> = kept.lines().collect();
        let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
        let owned = |items: Vec<&&str>| items.into_iter().map(ToString::to_string).collect();
        Self { removed: owned(kept.difference(&found).collect()), added: owned(found.difference(&kept).collect()) }
    }

    /// Whether the lists are the same.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }

    /// The difference for a reader, with the step of the version that it asks for.
    pub fn text(&self, name: &str) -> String {
        let step = match self.removed.is_empty() {
            true => "items were added: a step of the last number of the version, once this is published",
            false => {
                "items were removed or changed, which breaks users: a step of the middle number of the version (of the first from 1.0 on)"
            }
        };
        let mut text = format!("{name}: {step}\n");
        for (sign, items) in [('-', &self.removed), ('+', &self.added)] {
            for item in items {
                let _ = writeln!(text, "  {sign} {item}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_removed_and_added() {
        let found = ["pub fn a()", "pub fn b(u64)", "pub fn d()"].map(String::from);
        let difference = Difference::of("pub fn a()\npub fn b(u32)\n", &found);
        let text = difference.text("crate");
        assert!(text.starts_with("crate: items were removed or changed, which breaks users"), "{text}");
        assert!(text.ends_with("\n  - pub fn b(u32)\n  + pub fn b(u64)\n  + pub fn d()\n"), "{text}");
    }

    #[test]
    fn more_items_break_nobody_and_the_same_are_no_difference() {
        let found = ["pub fn a()", "pub fn b()"].map(String::from);
        assert!(Difference::of("pub fn a()\n", &found).text("crate").starts_with("crate: items were added"));
        assert!(Difference::of("pub fn a()\npub fn b()\n", &found).is_empty());
    }
}
