//! `cargo xtask kernels`: the headers of all kernels, read from the sources, and the tables of `docs/kernels.md` made of them.
//!
//! A kernel's header is the doc comment of its declaration: what it computes, then seven lines that say [`FULL`]. Kernels of tests and lessons have [`SHORT`] ones.

mod declaration;
mod header;
mod page;
mod twin;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::process;
use declaration::{Declaration, declarations};
use header::Header;
use page::{Kernel, PAGE};

/// Lines of a header, in order.
const FULL: [&str; 7] = ["Launch", "Reads", "Writes", "Shared", "Cost", "Twin", "Source"];
/// Lines of the header of a kernel that serves a test or a lesson.
const SHORT: [&str; 1] = ["Launch"];
/// Folders with kernels, from the root, and the lines of their headers. Only kernels with all lines are on the page.
const FOLDERS: [(&str, &[&str]); 4] =
    [("gpu/src", &FULL), ("papers/src", &FULL), ("tests/kernels/src", &SHORT), ("host/examples", &SHORT)];

/// Writes the tables into the page, or with `check` tells whether they are there.
///
/// # Errors
/// A header lacks something; the page lacks a slot; with `check`, the page has other tables.
pub fn run(check: bool) -> Result<()> {
    let root = process::root();
    let kernels = read_all(&root)?;
    let path = root.join(PAGE);
    let old = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let new = page::fill(&old, &kernels)?;
    if check {
        ensure!(old == new, "{PAGE} does not have the tables of the sources: run `cargo xtask kernels`");
    } else if old != new {
        fs::write(&path, new).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let n: usize = kernels.iter().map(|kernel| kernel.names.len()).sum();
    println!("{PAGE}: {n} kernels by {} headers", kernels.len());
    Ok(())
}

/// All kernels of the page, in the order of their files. Headers of the others are looked at too.
fn read_all(root: &Path) -> Result<Vec<Kernel>> {
    let (mut kernels, mut wrong) = (Vec::new(), Vec::new());
    for (folder, lines) in FOLDERS {
        let mut texts = BTreeMap::new();
        read_folder(root, folder, &mut texts)?;
        let declarations = declarations(&texts)?;
        ensure!(!declarations.is_empty(), "{folder} has no kernels");
        for declaration in declarations {
            match kernel(root, &texts, &declaration, lines) {
                Ok(kernel) if lines.len() == FULL.len() => kernels.push(kernel),
                Ok(_) => {}
                Err(error) => {
                    wrong.push(format!("{}, {}: {error:#}", declaration.location, declaration.names.join(", ")))
                }
            }
        }
    }
    if !wrong.is_empty() {
        bail!("headers of {} kernels\n{}", wrong.len(), wrong.join("\n"));
    }
    Ok(kernels)
}

/// Reads a declaration's header and looks whether what it names is there.
fn kernel(root: &Path, texts: &BTreeMap<String, String>, from: &Declaration, lines: &[&'static str]) -> Result<Kernel> {
    let header = Header::read(&from.doc, lines)?;
    let words = words_of_code(texts, &area(&from.file));
    for line in ["Reads", "Writes"] {
        for name in header.line(line).map(header::code).unwrap_or_default() {
            let last = name.rsplit(['.', ':']).next().unwrap_or_default();
            let is_name = !last.is_empty() && last.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            ensure!(!is_name || words.contains(last), "{line} names `{name}`, which no code there has");
        }
    }
    let mut twins = Vec::new();
    if let Some(line) = header.line("Twin") {
        for path in header::code(line).into_iter().filter(|path| path.contains("::")) {
            twins.push((path.to_string(), twin::find(root, path)?));
        }
        ensure!(!twins.is_empty(), "Twin names no item: `{line}`");
    }
    Ok(Kernel { file: from.file.clone(), names: from.names.clone(), header, twins })
}

/// The folder within which a header's names are looked for: a family, or a publication.
fn area(file: &str) -> String {
    file.split('/').take(3).collect::<Vec<_>>().join("/")
}

/// All words of the code below a folder, without comments.
fn words_of_code<'a>(texts: &'a BTreeMap<String, String>, area: &str) -> BTreeSet<&'a str> {
    let files = texts.iter().filter(|(file, _)| file.starts_with(area));
    let lines = files.flat_map(|(_, text)| text.lines()).filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')).collect()
}

/// The texts of all sources below a folder, by their paths from the root.
fn read_folder(root: &Path, folder: &str, texts: &mut BTreeMap<String, String>) -> Result<()> {
    let path = root.join(folder);
    let entries = fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = format!("{folder}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            read_folder(root, &name, texts)?;
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            texts.insert(name, text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kernel says what it computes, its launch, what it reads and writes, its shared memory, its cost, its twin and its source.
    #[test]
    fn every_kernel_has_its_header() {
        let kernels = read_all(&process::root()).unwrap_or_else(|error| panic!("{error:#}"));
        let names: Vec<_> = kernels.iter().flat_map(|kernel| &kernel.names).collect();
        let different: BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), different.len(), "two kernels have one name");
    }

    #[test]
    fn the_page_has_the_tables_of_the_sources() {
        run(true).unwrap_or_else(|error| panic!("{error:#}"));
    }

    #[test]
    fn what_a_header_names_must_be_there() {
        let texts = BTreeMap::from([("gpu/src/a/b.rs".to_string(), "fn f(values: u32) {}\n// ghost\n".to_string())]);
        let with = |reads: &str, twin: &str| {
            let lines = [
                "What.".to_string(),
                String::new(),
                "* Launch: one block.".to_string(),
                format!("* Reads: {reads}."),
                "* Writes: nothing.".to_string(),
                "* Shared: none.".to_string(),
                "* Cost: 1.".to_string(),
                format!("* Twin: {twin}."),
                "* Source: our own.".to_string(),
            ];
            let from = Declaration {
                file: "gpu/src/a/b.rs".to_string(),
                location: "gpu/src/a/b.rs:1".to_string(),
                names: vec!["f".to_string()],
                doc: lines.to_vec(),
            };
            kernel(&process::root(), &texts, &from, &FULL).map(|kernel| kernel.twins)
        };
        let twin = "`warpplay_cpu_ref::mcts::seq::select`";
        let file = "cpu-ref/src/mcts/seq.rs".to_string();
        let found = with("`values` `[n, 2]`", twin).expect("all there");
        assert_eq!(found, [("warpplay_cpu_ref::mcts::seq::select".to_string(), file)]);
        let error = with("`ghost`", twin).unwrap_err().to_string();
        assert_eq!(error, "Reads names `ghost`, which no code there has");
        let error = with("`values`", "the same").unwrap_err().to_string();
        assert_eq!(error, "Twin names no item: `the same.`");
        let error = with("`values`", "`warpplay_cpu_ref::mcts::seq::ghost`").unwrap_err().to_string();
        assert!(error.contains("ghost"), "{error}");
    }
}
