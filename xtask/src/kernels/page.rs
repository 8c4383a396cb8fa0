//! The tables of kernels in their slots: what stands between `<!-- kernels FILE… -->` and `<!-- end -->`.
//!
//! A slot names files or folders, in the order in which their kernels shall stand. Every kernel is in one slot.

use anyhow::{Context, Result, bail, ensure};

use super::header::Header;

/// The page that has the tables, from the root.
pub const PAGE: &str = "docs/kernels.md";
/// What a line begins with that begins a slot.
const BEGIN: &str = "<!-- kernels ";
/// Line that ends a slot. Slots are as `cli/src/papers/page.rs` has them.
const END: &str = "<!-- end -->";

/// What a doc comment says of one kernel, or of several that one declaration makes.
pub struct Kernel {
    /// The file that names it, from the root.
    pub file: String,
    pub names: Vec<String>,
    pub header: Header,
    /// The plain references that the line `Twin` names: each with its file.
    pub twins: Vec<(String, String)>,
}

/// The page with the tables of these kernels.
///
/// # Errors
/// A slot has no end or no kernel; a kernel is in no slot or in two.
pub fn fill(page: &str, kernels: &[Kernel]) -> Result<String> {
    let mut text = String::new();
    let mut taken = vec![0; kernels.len()];
    let mut lines = (1_usize..).zip(page.lines());
    while let Some((number, line)) = lines.next() {
        ensure!(line != END, "{PAGE}, line {number}: {END} without the line that begins the slot");
        text += &format!("{line}\n");
        let Some(paths) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        // Another slot before the end: what is between them would be lost.
        let next = lines.by_ref().map(|(_, line)| line).find(|line| line.starts_with("<!-- "));
        ensure!(next == Some(END), "{PAGE}, line {number}: {line} has no line {END}");
        let mut rows = Vec::new();
        for path in paths.split(' ') {
            let before = rows.len();
            for (at, kernel) in kernels.iter().enumerate() {
                if kernel.file == path || kernel.file.starts_with(&format!("{path}/")) {
                    taken[at] += 1;
                    rows.push(row(kernel).with_context(|| format!("{}: {}", kernel.file, kernel.names.join(", ")))?);
                }
            }
            ensure!(rows.len() > before, "{PAGE}, line {number}: no kernel is in {path}");
        }
        text += "| kernel | what | launch | shared memory | cost | twin | source |\n| --- | --- | --- | --- | --- | --- | --- |\n";
        text.extend(rows);
        text += &format!("{END}\n");
    }
    for (kernel, n) in kernels.iter().zip(taken) {
        if n != 1 {
            bail!("{PAGE}: {} of {} is in {n} slots, expected 1", kernel.names.join(", "), kernel.file);
        }
    }
    Ok(text)
}

fn row(kernel: &Kernel) -> Result<String> {
    let line = |name: &str| kernel.header.line(name).map(plain).with_context(|| format!("no line {name}"));
    let mut twin = line("Twin")?;
    for (path, file) in &kernel.twins {
        let short = path.strip_prefix("warpplay_cpu_ref::").unwrap_or(path);
        twin = twin.replace(&format!("`{path}`"), &format!("[`{short}`](../{file})"));
    }
    let cells = [
        format!("[`{}`](../{})", joined(&kernel.names), kernel.file),
        plain(kernel.header.what()),
        line("Launch")?,
        line("Shared")?,
        line("Cost")?,
        twin,
        line("Source")?,
    ];
    Ok(format!("| {} |\n", cells.join(" | ")))
}

/// A text of rustdoc in a table: names instead of links, no full stop at the end.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.trim_end_matches('.');
    // A link is `[`name`]`, with or without a target behind it.
    while let Some((before, behind)) = rest.split_once("[`") {
        let Some((name, behind)) = behind.split_once("`]") else { break };
        plain += &format!("{before}`{name}`");
        rest = behind.strip_prefix('(').and_then(|target| target.split_once(')')).map_or(behind, |(_, rest)| rest);
    }
    plain += rest;
    plain.replace('|', "\\|")
}

/// Names as one: what they share, and in braces where they differ.
fn joined(names: &[String]) -> String {
    let [first, others @ ..] = names else { return String::new() };
    if others.is_empty() {
        return first.clone();
    }
    let shared = |of: &dyn Fn(&str) -> Vec<String>| {
        let all: Vec<Vec<String>> = names.iter().map(|name| of(name)).collect();
        all[0].iter().enumerate().take_while(|(at, word)| all.iter().all(|words| words.get(*at) == Some(*word))).count()
    };
    let words = |name: &str| name.split('_').map(str::to_string).collect::<Vec<_>>();
    let begin = shared(&words);
    let end = shared(&|name| words(name)[begin..].iter().rev().cloned().collect());
    let middle = |name: &str| {
        let words = words(name);
        words[begin..words.len() - end].join("_")
    };
    let middles: Vec<String> = names.iter().map(|name| middle(name)).collect();
    let (before, behind) = (words(first)[..begin].join("_"), words(first));
    let behind = behind[behind.len() - end..].join("_");
    let parts = [before, format!("{{{}}}", middles.join(",")), behind];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::super::FULL;
    use super::*;

    fn kernel(file: &str, name: &str) -> Kernel {
        let lines = FULL.map(|line| format!("* {line}: [`of`](x::of), a|b."));
        let doc = [vec!["Adds. Twice.".to_string(), String::new()], lines.to_vec()].concat();
        let header = Header::read(&doc, &FULL).expect("a header");
        Kernel { file: file.to_string(), names: vec![name.to_string()], header, twins: Vec::new() }
    }

    #[test]
    fn tables_go_into_their_slots() {
        let page = "# A\n<!-- kernels a/c.rs a/b -->\nold\n<!-- end -->\nB\n";
        let kernels = [kernel("a/b/d.rs", "one"), kernel("a/c.rs", "two")];
        let filled = fill(page, &kernels).expect("slots");
        let rows: Vec<&str> = filled.lines().filter(|line| line.starts_with("| [")).collect();
        assert_eq!(
            rows[0],
            "| [`two`](../a/c.rs) | Adds | `of`, a\\|b | `of`, a\\|b | `of`, a\\|b | `of`, a\\|b | `of`, a\\|b |"
        );
        assert!(
            rows[1].starts_with("| [`one`](../a/b/d.rs) |") && filled.starts_with("# A\n") && filled.ends_with("B\n")
        );
        assert_eq!(fill(&filled, &kernels).expect("slots"), filled);
    }

    #[test]
    fn what_has_no_place_is_named() {
        let error = |page: &str, kernels: &[Kernel]| fill(page, kernels).unwrap_err().to_string();
        let one = [kernel("a/b.rs", "one")];
        let slot = "<!-- kernels a -->\n<!-- end -->\n";
        assert_eq!(error("", &one), "docs/kernels.md: one of a/b.rs is in 0 slots, expected 1");
        assert_eq!(error(&slot.repeat(2), &one), "docs/kernels.md: one of a/b.rs is in 2 slots, expected 1");
        assert_eq!(error("<!-- kernels a c -->\n<!-- end -->\n", &one), "docs/kernels.md, line 1: no kernel is in c");
        let two = "<!-- kernels a -->\nlost\n<!-- kernels c -->\n<!-- end -->\n";
        assert_eq!(error(two, &one), "docs/kernels.md, line 1: <!-- kernels a --> has no line <!-- end -->");
    }

    #[test]
    fn names_are_joined_by_what_they_share() {
        let joined = |names: &[&str]| joined(&names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        assert_eq!(joined(&["a_b_large", "a_b_small"]), "a_b_{large,small}");
        assert_eq!(joined(&["a_2_f32", "a_3_f32"]), "a_{2,3}_f32");
        assert_eq!(joined(&["a"]), "a");
    }
}
