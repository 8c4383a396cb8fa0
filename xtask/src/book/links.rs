//! Links of a Markdown page, found and replaced: `[text](target)` and `![text](target)` outside code.

use std::path::{Component, Path, PathBuf};

use anyhow::Result;

/// The page with every link's target replaced by the result of `replace`.
///
/// # Errors
/// The first error of `replace`.
pub fn replace(page: &str, mut replace: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut out = String::with_capacity(page.len());
    let mut in_block = false;
    for line in page.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```");
        in_block ^= fence;
        if fence || in_block {
            out.push_str(line);
            continue;
        }
        let mut rest = line;
        // Only code spans that end on the same line are recognised.
        while let Some(at) = rest.find(['`', ']']) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let code = from.strip_prefix('`').and_then(|code| code.find('`'));
            let target = from.strip_prefix("](").and_then(|target| target.split_once(')'));
            if let Some(length) = code {
                let (code, after) = from.split_at(length + 2);
                out.push_str(code);
                rest = after;
            } else if let Some((target, after)) = target {
                out.push_str(&format!("]({})", replace(target)?));
                rest = after;
            } else {
                out.push_str(&from[..1]);
                rest = &from[1..];
            }
        }
        out.push_str(rest);
    }
    Ok(out)
}

/// Splits a link's target into the path and the fragment, with its `#`. `None` if the link leads out of the repository.
pub fn local(target: &str) -> Option<(&str, &str)> {
    let elsewhere = target.contains("://") || target.starts_with("mailto:");
    (!elsewhere).then(|| target.split_at(target.find('#').unwrap_or(target.len())))
}

/// A path without `.` and `..`, as far as they can be resolved by the text alone.
pub fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// The relative path from the folder of `from` to `to`, both given relative to one root.
pub fn relative(from: &Path, to: &Path) -> PathBuf {
    let folder: Vec<_> = from.parent().unwrap_or(Path::new("")).components().collect();
    let target: Vec<_> = to.components().collect();
    let common = folder.iter().zip(&target).take_while(|(left, right)| left == right).count();
    let up = folder[common..].iter().map(|_| Component::ParentDir);
    up.chain(target[common..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_replaced_outside_code_only() {
        let page = "a [b](c.md#d) `[e](f)` ![g](h.svg) [i]\n```sh\n[j](k)\n```\n| [l](m) | a`b [n](o)\n";
        let mut seen = Vec::new();
        let replaced = replace(page, |target| {
            seen.push(target.to_string());
            Ok(target.to_uppercase())
        });
        assert_eq!(seen, ["c.md#d", "h.svg", "m", "o"]);
        let expected = "a [b](C.MD#D) `[e](f)` ![g](H.SVG) [i]\n```sh\n[j](k)\n```\n| [l](M) | a`b [n](O)\n";
        assert_eq!(replaced.expect("no error"), expected);
    }

    #[test]
    fn a_target_is_a_path_and_a_fragment() {
        assert_eq!(local("a/b.md#c"), Some(("a/b.md", "#c")));
        assert_eq!(local("#c"), Some(("", "#c")));
        assert_eq!(local("a"), Some(("a", "")));
        assert_eq!(local("https://a/b#c"), None);
    }

    #[test]
    fn paths_lead_from_page_to_page() {
        assert_eq!(normal(Path::new("docs/guides/../../gpu/./src")), Path::new("gpu/src"));
        assert_eq!(normal(Path::new("../a")), Path::new("../a"));
        assert_eq!(relative(Path::new("guides/a.md"), Path::new("papers/b.md")), Path::new("../papers/b.md"));
        assert_eq!(relative(Path::new("guides/a.md"), Path::new("guides/b.md")), Path::new("b.md"));
        assert_eq!(relative(Path::new("a.md"), Path::new("guides/b.md")), Path::new("guides/b.md"));
        assert_eq!(relative(Path::new("a/b/c.md"), Path::new("d.md")), Path::new("../../d.md"));
    }
}
