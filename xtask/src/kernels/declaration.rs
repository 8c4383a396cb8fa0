//! Declarations of kernels in sources: their doc comments, and the names of what they make.
//!
//! Within a `macro_rules!` a declaration stands once, and the macro's calls give the names. What a call says of each name (`$(#[$doc])*` above the macro's own comment) is
//! no part of the header.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

/// What the names of all kernels begin with that macros make: their family, or that they are for tests.
const FAMILIES: [&str; 7] = ["mcts_", "azero_", "mlp_", "shogi_", "cfr_", "tile_", "test_"];

/// A declaration, with the kernels of it that one file names.
pub struct Declaration {
    /// The file that names the kernels, from the root.
    pub file: String,
    /// File and line of the declaration.
    pub location: String,
    /// Entry points; those with a suffix of the game or precision end in `_…`.
    pub names: Vec<String>,
    /// The doc comment, line by line.
    pub doc: Vec<String>,
}

/// All declarations of files, by their paths.
///
/// # Errors
/// A macro with kernels is never called, or with a number of names that cannot be.
pub fn declarations(texts: &BTreeMap<String, String>) -> Result<Vec<Declaration>> {
    let mut found = Vec::new();
    for (file, text) in texts {
        let lines: Vec<&str> = text.lines().collect();
        for at in (0..lines.len()).filter(|&at| is_kernel(lines[at])) {
            let location = format!("{file}:{}", at + 1);
            let head =
                of_function(&lines[at..]).with_context(|| format!("{location}: no function behind #[kernel]"))?;
            let doc = comment_above(&lines[..at]);
            let end = if head.has_suffix { "_…" } else { "" };
            if let Some(parameter) = head.name.strip_prefix('$') {
                let named = named_by_calls(texts, file, &lines, at, parameter).with_context(|| location.clone())?;
                let mut of_files: BTreeMap<String, Vec<String>> = BTreeMap::new();
                named
                    .into_iter()
                    .for_each(|(file, name)| of_files.entry(file).or_default().push(format!("{name}{end}")));
                for (file, names) in of_files {
                    found.push(Declaration { file, location: location.clone(), names, doc: doc.clone() });
                }
            } else {
                let names = vec![format!("{}{end}", head.name)];
                found.push(Declaration { file: file.clone(), location, names, doc });
            }
        }
    }
    Ok(found)
}

/// Whether a line begins the attribute `#[kernel]`, by whatever path; one that hands on the options of a list declares nothing by itself.
fn is_kernel(line: &str) -> bool {
    if line.contains("$($options") {
        return false;
    }
    let path = line.trim_start().strip_prefix("#[").and_then(|rest| rest.split(['(', ']']).next());
    path.and_then(|path| path.rsplit("::").next()) == Some("kernel")
}

/// The function behind an attribute.
struct Function<'a> {
    /// Its name; in a macro a parameter, with its `$`.
    name: &'a str,
    has_suffix: bool,
}

fn of_function<'a>(lines: &[&'a str]) -> Option<Function<'a>> {
    let mut has_suffix = false;
    for line in lines {
        has_suffix |= line.contains("suffix = ");
        if let Some((_, rest)) = line.split_once("fn ") {
            return Some(Function { name: rest.split('(').next()?.trim(), has_suffix });
        }
    }
    None
}

/// The doc comment that ends above, attributes left out.
fn comment_above(above: &[&str]) -> Vec<String> {
    let mut doc = Vec::new();
    for line in above.iter().rev().map(|line| line.trim_start()) {
        if let Some(text) = line.strip_prefix("///") {
            doc.push(text.strip_prefix(' ').unwrap_or(text).to_string());
        } else if !line.starts_with("#[") {
            break;
        }
    }
    doc.reverse();
    doc
}

/// What the calls of the macro around line `at` give as `$parameter`, each with its file: calls in the macro's own file, or else in others.
fn named_by_calls(
    texts: &BTreeMap<String, String>,
    file: &str,
    lines: &[&str],
    at: usize,
    parameter: &str,
) -> Result<Vec<(String, String)>> {
    let begin = (0..at).rev().find(|&line| lines[line].trim_start().starts_with("macro_rules! "));
    let begin = begin.context("a kernel's name is a parameter, and there is no macro around it")?;
    let indent = lines[begin].len() - lines[begin].trim_start().len();
    let name = lines[begin].trim_start()["macro_rules! ".len()..].trim_end_matches([' ', '{']);
    let end = (at..lines.len()).find(|&line| lines[line].trim_end() == format!("{}}}", &lines[begin][..indent]));
    let body = &lines[begin..end.unwrap_or(lines.len())];
    // The parameters that are kernels, in the order of the macro's pattern.
    let pattern_end = body.iter().position(|line| line.contains("=>")).context("the macro has no pattern")?;
    let pattern = body[..=pattern_end].join("\n");
    let functions = (0..body.len()).filter(|&line| is_kernel(body[line])).filter_map(|line| of_function(&body[line..]));
    let mut parameters: Vec<&str> = functions.filter_map(|function| function.name.strip_prefix('$')).collect();
    parameters.sort_by_key(|parameter| pattern.find(&format!("${parameter}:")));
    let own = parameters.iter().position(|known| *known == parameter).context("the macro's kernels lack this one")?;
    let here = [(file.to_string(), texts[file].as_str())];
    let elsewhere = texts.iter().filter(|(other, _)| *other != file).map(|(file, text)| (file.clone(), text.as_str()));
    let mut found = all_named(name, here.into_iter());
    if found.is_empty() {
        found = all_named(name, elsewhere);
    }
    ensure!(!found.is_empty(), "nothing calls {name}!");
    ensure!(found.len() % parameters.len() == 0, "{} names for {} kernels of {name}!", found.len(), parameters.len());
    Ok(found.into_iter().skip(own).step_by(parameters.len()).collect())
}

/// All names of kernels in the calls of a macro, each with its file.
fn all_named<'a>(name: &str, texts: impl Iterator<Item = (String, &'a str)>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (file, text) in texts {
        for (at, _) in text.match_indices(&format!("{name}!")) {
            let rest = text[at + name.len() + 1..].trim_start();
            let is_word = text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if is_word || !rest.starts_with(['(', '{', '[']) {
                continue;
            }
            let lines = arguments(rest).lines().map(|line| line.split("//").next().unwrap_or_default());
            let words = lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
            let names = words.filter(|word| FAMILIES.iter().any(|family| word.starts_with(family)));
            found.extend(names.map(|name| (file.clone(), name.to_string())));
        }
    }
    found
}

/// What stands between the bracket that the text begins with and the one that closes it.
fn arguments(text: &str) -> &str {
    let mut depth = 0;
    let mut in_comment = false;
    for (at, c) in text.char_indices() {
        in_comment = (in_comment || text[at..].starts_with("//")) && c != '\n';
        match c {
            '(' | '{' | '[' if !in_comment => depth += 1,
            ')' | '}' | ']' if !in_comment => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[1..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Result<Vec<(String, Vec<String>, String)>> {
        let texts = files.iter().map(|(file, text)| (file.to_string(), text.to_string())).collect();
        let all = declarations(&texts)?.into_iter();
        Ok(all.map(|found| (found.file, found.names, found.doc.join("|"))).collect())
    }

    fn row(file: &str, names: &[&str], doc: &str) -> (String, Vec<String>, String) {
        (file.to_string(), names.iter().map(|name| name.to_string()).collect(), doc.to_string())
    }

    #[test]
    fn a_declaration_has_the_comment_above_it() {
        let text = "//! Story.\n\n/// Adds.\n///\n/// * Launch: 1.\n#[allow(dead_code)]\n#[kernel(\n    shape = f(n)\n)]\npub fn add(\n    a: u32\n) {}\n\n// #[kernel]\n/// No kernel.\nfn f() {}\n";
        assert_eq!(read(&[("a.rs", text)]).unwrap(), [row("a.rs", &["add"], "Adds.||* Launch: 1.")]);
        let text = "        /// Adds.\n        #[x::kernel(suffix = $suffix)]\n        pub unsafe fn add() {}\n";
        assert_eq!(read(&[("a.rs", text)]).unwrap(), [row("a.rs", &["add_…"], "Adds.")]);
    }

    const MACRO: &str = "macro_rules! kernels {\n    ($n:literal: $b:ident, $a:ident) => {\n        /// A.\n        #[kernel]\n        pub fn $a() {}\n        /// B.\n        #[kernel]\n        pub fn $b() {}\n    };\n}\n";

    #[test]
    fn calls_of_a_macro_name_its_kernels() {
        let calls = "kernels!(1: mlp_b_1, mlp_a_1);\nkernels! {\n    // mlp_c )\n    2: mlp_b_2, mlp_a_2\n}\n";
        let all = [row("a.rs", &["mlp_a_1", "mlp_a_2"], "A."), row("a.rs", &["mlp_b_1", "mlp_b_2"], "B.")];
        assert_eq!(read(&[("a.rs", &format!("{MACRO}{calls}"))]).unwrap(), all);
        // Another file's macro of that name is another macro.
        assert_eq!(read(&[("a.rs", &format!("{MACRO}{calls}")), ("b.rs", "kernels!(mlp_x);")]).unwrap(), all);
        assert_eq!(
            read(&[("a.rs", MACRO), ("b.rs", "kernels!(1: mlp_b, mlp_a);")]).unwrap()[0],
            row("b.rs", &["mlp_a"], "A.")
        );
        let error = format!("{:#}", read(&[("a.rs", MACRO)]).unwrap_err());
        assert_eq!(error, "a.rs:4: nothing calls kernels!");
        let error = format!("{:#}", read(&[("a.rs", &format!("{MACRO}kernels!(1: mlp_b);"))]).unwrap_err());
        assert_eq!(error, "a.rs:4: 1 names for 2 kernels of kernels!");
    }

    #[test]
    fn what_a_call_says_is_no_part_of_the_header() {
        let text = "macro_rules! all {\n    ($($(#[$doc:meta])* $name:ident;)*) => {$(\n        $(#[$doc])*\n        ///\n        /// Adds.\n        #[kernel]\n        pub fn $name() {}\n    )*};\n}\n\nall! {\n    /// One, not cfr_none.\n    cfr_one;\n    /// Two.\n    cfr_two;\n}\n";
        assert_eq!(read(&[("a.rs", text)]).unwrap(), [row("a.rs", &["cfr_one", "cfr_two"], "|Adds.")]);
    }
}
