//! Plain references by their paths: `warpplay_cpu_ref::mcts::seq::select` is a function of `cpu-ref/src/mcts/seq.rs`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// Crates whose items are references, and where their sources are. The last are the programs of tests, each by its name.
const CRATES: [(&str, &str); 3] =
    [("warpplay_cpu_ref", "cpu-ref/src"), ("warpplay_tests", "tests/src"), ("tests", "tests/tests")];

/// The file, from the root, that defines the item of a path: `crate::module::function`, or `crate::module::Type::method`.
///
/// # Errors
/// There is no such crate, module or item.
pub fn find(root: &Path, path: &str) -> Result<String> {
    let mut words = path.split("::");
    let krate = words.next().unwrap_or_default();
    let names = CRATES.map(|(name, _)| name).join(", ");
    let (_, folder) =
        CRATES.iter().find(|(name, _)| *name == krate).with_context(|| format!("twin {path}: no crate of {names}"))?;
    let (mut folder, mut file) = (folder.to_string(), format!("{folder}/lib.rs"));
    let mut rest: Vec<&str> = words.collect();
    while let Some(&word) = rest.first() {
        let below = format!("{folder}/{word}");
        let is_there = |path: &str| root.join(path).is_file();
        // The folder of a test program has no file of its own.
        file = if is_there(&format!("{below}.rs")) {
            format!("{below}.rs")
        } else if is_there(&format!("{below}/mod.rs")) || is_there(&format!("{below}/main.rs")) {
            format!("{below}/mod.rs")
        } else {
            break;
        };
        folder = below;
        rest.remove(0);
    }
    let text = fs::read_to_string(root.join(&file)).with_context(|| format!("twin {path}: cannot read {file}"))?;
    match rest[..] {
        [item] => ensure!(defines(&text, item), "twin {path}: {file} defines no {item}"),
        [of, method] => {
            ensure!(defines_within(&text, of, method), "twin {path}: {file} defines no {method} of {of}");
        }
        [] => bail!("twin {path} is a module: name its function or type"),
        _ => bail!("twin {path}: {file} has no module {}", rest[0]),
    }
    Ok(file)
}

/// Whether a line of the text defines an item of that name, at any depth.
fn defines(text: &str, name: &str) -> bool {
    const KINDS: [&str; 6] = ["fn", "struct", "enum", "trait", "const", "type"];
    text.lines().any(|line| {
        let words: Vec<&str> = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
        let is_comment = line.trim_start().starts_with("//");
        !is_comment && words.windows(2).any(|pair| KINDS.contains(&pair[0]) && pair[1] == name)
    })
}

/// Whether an `impl` or a `trait` of `of` defines `name`. Sources are formatted: a block ends where a line begins with its bracket.
fn defines_within(text: &str, of: &str, name: &str) -> bool {
    let mut inside = false;
    for line in text.lines() {
        let is_head = ["impl", "trait ", "pub trait ", "pub(super) trait "].iter().any(|word| line.starts_with(word));
        if is_head {
            inside = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == of);
        } else if line.starts_with('}') {
            inside = false;
        } else if inside && defines(line, name) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::root;

    #[test]
    fn items_are_found_in_their_files() {
        let find = |path: &str| find(&root(), path).map_err(|error| error.to_string());
        assert_eq!(find("warpplay_cpu_ref::mcts::seq::backup").unwrap(), "cpu-ref/src/mcts/seq.rs");
        assert_eq!(find("warpplay_cpu_ref::mcts::tree::Tree::new").unwrap(), "cpu-ref/src/mcts/tree.rs");
        assert_eq!(find("warpplay_cpu_ref::mcts::game::Game::playout").unwrap(), "cpu-ref/src/mcts/game.rs");
        assert_eq!(find("tests::azero::layers::Format::packed").unwrap(), "tests/tests/azero/layers.rs");
        for path in [
            "warpplay_cpu_ref::mcts::seq::nothing",
            "warpplay_cpu_ref::mcts::seq",
            "warpplay_cpu_ref::mcts::tree::Node::best_child",
            "warpplay_cpu_ref::mcts::nowhere::a::b",
            "warpplay::mcts::Search",
        ] {
            let error = find(path).unwrap_err();
            assert!(error.contains(path), "{error}");
        }
    }
}
