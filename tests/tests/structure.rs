//! The plan of the house, read from the sources: no circle of files that import each other, no circle of folders, and who may know whom.
//!
//! An arrow goes from a file to the file that defines what it names by `use` or by a path from the crate's root, re-exports followed. Tests within the sources do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};
use warpplay_tests::golden::workspace;

/// The crates: the folder of the sources, and the name under which they are imported.
const CRATES: [(&str, &str); 8] = [
    ("gpu/src", "warpplay_gpu"),
    ("gpu/builder/src", "warpplay_gpu_builder"),
    ("gpu/macros/src", "warpplay_gpu_macros"),
    ("host/src", "warpplay"),
    ("cpu-ref/src", "warpplay_cpu_ref"),
    ("papers/src", "warpplay_papers"),
    ("cli/src", "warpplay_cli"),
    ("xtask/src", "xtask"),
];

/// Circles that stay, each with its reason.
const ALLOWED: [&[&str]; 2] = [
    // A fibre runs a block's threads, and a block is what its fibres share: one subject in two files.
    &["gpu/src/simt/block.rs", "gpu/src/simt/fibre.rs"],
    // The product tiles become one library of their own.
    &["gpu/src/azero/train/operand.rs", "gpu/src/azero/train/product.rs"],
];

/// A module path from the crate's root.
type Path_ = Vec<String>;

/// One source file.
struct Source {
    /// Path from the workspace's root.
    file: String,
    module: Path_,
    /// What it names, from the crate's root: not the re-exports.
    names: Vec<Path_>,
    /// Name under which something is re-exported, and what it is; `*` for all of a module.
    exports: Vec<(String, Path_)>,
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| {
                list.tokens.to_string().split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
            })
    })
}

/// All Rust files of a folder, but those of tests.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if name == "tests" || name == "tests.rs" || name.ends_with("_tests.rs") || name == "test_kernels.rs" {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

struct Reader<'a> {
    module: Path_,
    krate: &'a str,
    children: &'a BTreeSet<Path_>,
    names: Vec<Path_>,
    exports: Vec<(String, Path_)>,
}

impl Reader<'_> {
    /// A path as written, from the crate's root; `None` for what is of another crate, or local.
    fn absolute(&self, path: &[String]) -> Option<Path_> {
        let first = path.first()?.as_str();
        let (mut base, mut rest) = match first {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (self.module.clone(), &path[1..]),
            "super" => (self.module.clone(), path),
            name if name == self.krate => (Vec::new(), &path[1..]),
            name => {
                let mut child = self.module.clone();
                child.push(name.to_string());
                return self.children.contains(&child).then(|| [&child, &path[1..]].concat());
            }
        };
        while rest.first().is_some_and(|word| word == "super") {
            base.pop()?;
            rest = &rest[1..];
        }
        Some([&base, rest].concat())
    }

    fn add_use(&mut self, tree: &UseTree, before: &[String], exported: bool) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(part) => self.add_use(&part.tree, &with(part.ident.to_string()), exported),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_use(tree, before, exported)),
            UseTree::Name(name) => self.add_name(with(name.ident.to_string()), name.ident.to_string(), exported),
            UseTree::Rename(name) => self.add_name(with(name.ident.to_string()), name.rename.to_string(), exported),
            UseTree::Glob(_) => self.add_name(before.to_vec(), "*".to_string(), exported),
        }
    }

    fn add_name(&mut self, mut path: Path_, name: String, exported: bool) {
        // `use module::{self}` is the module.
        if path.len() > 1 && path.last().is_some_and(|word| word == "self") {
            path.pop();
        }
        let Some(path) = self.absolute(&path) else { return };
        if exported { self.exports.push((name, path)) } else { self.names.push(path) }
    }
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        // A module written out in the file belongs to the file.
        let Some((_, items)) = &item.content else { return };
        self.module.push(item.ident.to_string());
        items.iter().for_each(|item| self.visit_item(item));
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        let exported = !matches!(item.vis, Visibility::Inherited);
        self.add_use(&item.tree, &[], exported);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let from_root = words.first().is_some_and(|word| ["crate", "self", "super"].contains(&word.as_str()));
        if from_root && words.len() > 1 {
            self.names.extend(self.absolute(&words));
        }
        visit::visit_path(self, path);
    }
}

/// Reads a crate.
fn sources(folder: &str, krate: &str) -> Vec<Source> {
    let base = workspace().join(folder);
    let mut paths = Vec::new();
    files(&base, &mut paths);
    let module = |path: &Path| -> Path_ {
        let relative = path.strip_prefix(&base).expect("below the crate").with_extension("");
        let mut words: Path_ = relative.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        if words.last().is_some_and(|word| ["mod", "lib", "main"].contains(&word.as_str())) {
            words.pop();
        }
        words
    };
    let children: BTreeSet<Path_> = paths.iter().map(|path| module(path)).collect();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a source file");
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut reader =
            Reader { module: module(path), krate, children: &children, names: Vec::new(), exports: Vec::new() };
        reader.visit_file(&parsed);
        let relative = path.strip_prefix(&base).expect("below the crate");
        Source {
            file: format!("{folder}/{}", relative.display()),
            module: module(path),
            names: reader.names,
            exports: reader.exports,
        }
    };
    paths.iter().map(read).collect()
}

/// The file that defines what a path names: re-exports are followed. `None` where that is of another crate.
fn definer(sources: &BTreeMap<&[String], &Source>, path: &[String], depth: usize) -> Option<String> {
    let at = (0..=path.len()).rev().find(|&at| sources.contains_key(&path[..at]))?;
    let source = sources[&path[..at]];
    if let Some(name) = path.get(at).filter(|_| depth < 8) {
        let through = |(exported, target): &(String, Path_)| {
            let mut target = target.clone();
            match exported {
                exported if exported == name => target.extend_from_slice(&path[at + 1..]),
                exported if exported == "*" && target.as_slice() != &path[..at] => {
                    target.extend_from_slice(&path[at..])
                }
                _ => return None,
            }
            definer(sources, &target, depth + 1)
        };
        let named = source.exports.iter().filter(|(exported, _)| exported == name).find_map(through);
        if let Some(found) = named {
            return Some(found);
        }
    }
    Some(source.file.clone())
}

/// Who imports whom in a crate.
fn arrows(folder: &str, krate: &str) -> BTreeMap<String, BTreeSet<String>> {
    let sources = sources(folder, krate);
    let by_module = sources.iter().map(|source| (source.module.as_slice(), source)).collect();
    let of = |source: &Source| {
        let targets = source.names.iter().filter_map(|name| definer(&by_module, name, 0));
        (source.file.clone(), targets.filter(|target| *target != source.file).collect())
    };
    sources.iter().map(of).collect()
}

/// Sets of nodes that reach each other, each sorted.
fn circles(arrows: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            for next in arrows.get(node).into_iter().flatten() {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<&String>> = arrows.keys().map(|node| (node, reach(node))).collect();
    let mut found = BTreeSet::new();
    for (node, targets) in &reached {
        if targets.contains(node) {
            let circle: Vec<String> = targets
                .iter()
                .filter(|target| reached.get(*target).is_some_and(|back| back.contains(node)))
                .map(|target| target.to_string())
                .collect();
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut wrong = Vec::new();
    for (folder, krate) in CRATES {
        let arrows = arrows(folder, krate);
        assert!(!arrows.is_empty(), "{folder} has no sources");
        for circle in circles(&arrows) {
            if ALLOWED.iter().any(|allowed| *allowed == circle.as_slice()) {
                continue;
            }
            wrong.push(format!("{} files:", circle.len()));
            for file in &circle {
                let to: Vec<_> = arrows[file].iter().filter(|target| circle.contains(target)).cloned().collect();
                wrong.push(format!("  {file} -> {}", to.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "circles\n{}", wrong.join("\n"));
}

#[test]
fn no_folders_import_each_other_in_a_circle() {
    let mut wrong = Vec::new();
    for (folder, krate) in CRATES {
        // For every folder: the arrows between the folders that it holds.
        let mut between: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (file, targets) in arrows(folder, krate) {
            for target in targets {
                let (from, to): (Vec<&str>, Vec<&str>) = (file.split('/').collect(), target.split('/').collect());
                let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                // Both go on through a folder.
                if same + 1 < from.len() && same + 1 < to.len() {
                    let inside = between.entry(from[..same].join("/")).or_default();
                    inside.entry(from[same].to_string()).or_default().insert(to[same].to_string());
                    inside.entry(to[same].to_string()).or_default();
                }
            }
        }
        for (parent, arrows) in between {
            wrong.extend(circles(&arrows).into_iter().map(|circle| format!("{parent}: {}", circle.join(", "))));
        }
    }
    assert!(wrong.is_empty(), "circles of folders\n{}", wrong.join("\n"));
}

/// The text of every manifest and source of a folder, with its path.
fn texts(folder: &str) -> Vec<(PathBuf, String)> {
    let mut paths = Vec::new();
    files(&workspace().join(folder), &mut paths);
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).expect("a source file"))).collect()
}

#[test]
fn nobody_knows_more_than_the_plan_says() {
    // A folder, and what nothing in it names.
    let walls = [
        ("gpu/src", &["warpplay_cpu_ref", "warpplay::", "warpplay_papers"][..]),
        ("cpu-ref/src", &["warpplay_gpu", "warpplay::", "warpplay_papers"]),
        ("host/src", &["warpplay_papers"]),
        ("host/src/runtime", &["crate::mcts", "crate::azero", "crate::mlp", "crate::shogi", "crate::cfr"]),
        ("host/src/mcts", &["crate::azero", "crate::mlp", "crate::shogi", "crate::cfr"]),
        ("host/src/azero", &["crate::mlp", "crate::shogi", "crate::cfr"]),
        ("host/src/mlp", &["crate::mcts", "crate::azero", "crate::shogi", "crate::cfr"]),
        ("host/src/shogi", &["crate::mcts", "crate::azero", "crate::mlp", "crate::cfr"]),
        ("host/src/cfr", &["crate::mcts", "crate::azero", "crate::mlp", "crate::shogi"]),
    ];
    for (folder, unknown) in walls {
        for (path, text) in texts(folder) {
            // Documentation may point anywhere.
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for (line, number) in code.zip(1..) {
                let named = unknown.iter().find(|name| line.contains(**name));
                assert!(named.is_none(), "{}: code line {number} names {}: {line}", path.display(), named.unwrap());
            }
        }
    }
}

/// Links of a page, without those elsewhere: the file, empty for the page itself, and the heading.
fn links(text: &str) -> Vec<(&str, Option<&str>)> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let links = targets.filter(|target| !target.contains("://"));
    links.map(|target| target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)))).collect()
}

/// The headings of a page, as links name them.
fn headings(text: &str) -> Vec<String> {
    let mut in_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        in_code ^= line.starts_with("```");
        let title = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#') && !in_code);
        let Some(title) = title else { continue };
        let letters = title.trim().chars().filter(|&c| c.is_alphanumeric() || " -_".contains(c));
        found.push(letters.collect::<String>().to_lowercase().replace(' ', "-"));
    }
    found
}

/// Paths of this repository that a page names, from its root.
fn named_paths(text: &str) -> Vec<String> {
    const FOLDERS: [&str; 8] = ["gpu/", "host/", "cpu-ref/", "papers/", "cli/", "tests/", "xtask/", "docs/"];
    // What stands behind `](` is a link, and relative to its page.
    let text: String = text
        .split("](")
        .enumerate()
        .map(|(at, part)| match part.split_once(')') {
            Some((_, rest)) if at > 0 => rest,
            _ => part,
        })
        .collect::<Vec<_>>()
        .join(" ");
    let words = text.split(|c: char| c.is_whitespace() || "`()[]|,;\"'".contains(c));
    let paths = words.map(|word| word.trim_end_matches(['.', ':']));
    let is_path = |word: &&str| FOLDERS.iter().any(|folder| word.starts_with(folder));
    // Capitals, braces, stars and dots stand for something else.
    let is_plain = |word: &&str| {
        !word.chars().any(|c| "{}*<>$…".contains(c)) && !word.contains("FAMILY") && !word.contains("NAME")
    };
    paths.filter(is_path).filter(is_plain).map(|word| word.split('#').next().unwrap_or(word).to_string()).collect()
}

/// The pages of the book, from the workspace's root: those at the root, that of Python, and all of `docs`.
fn pages() -> Vec<PathBuf> {
    fn collect(folder: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(workspace().join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name().into_string().expect("a name in UTF-8");
            let path = format!("{folder}/{name}");
            if workspace().join(&path).is_dir() {
                collect(&path, found);
            } else if name.ends_with(".md") {
                found.push(path.into());
            }
        }
    }
    let mut found: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "python/README.md"]
            .map(PathBuf::from)
            .into();
    collect("docs", &mut found);
    found
}

/// A path that is relative to a folder, without `..`.
fn joined(folder: &str, path: &str) -> PathBuf {
    let mut out = PathBuf::from(folder);
    for part in Path::new(path).components() {
        if part == std::path::Component::ParentDir {
            out.pop();
        } else {
            out.push(part);
        }
    }
    out
}

/// Pages of version 0.1 whose parts are elsewhere now; the changelog says where.
const GONE: [&str; 2] = ["docs/azero-paper.md", "docs/mlp-accuracy-gap.md"];

/// Whoever meets the project reads it whole; what is longer stands in the guides.
#[test]
fn the_readme_is_short() {
    let text = std::fs::read_to_string(workspace().join("README.md")).expect("a page");
    let n_words = text.split_whitespace().count();
    assert!(n_words <= 700, "README.md has {n_words} words");
}

#[test]
fn pages_name_files_and_headings_that_are_there() {
    let read = |page: &Path| std::fs::read_to_string(page).expect("a page");
    let pages = pages();
    let summary = read(&workspace().join("docs/SUMMARY.md"));
    let chapters: BTreeSet<PathBuf> = links(&summary).iter().map(|(file, _)| joined("docs", file)).collect();
    let mut missing = Vec::new();
    for page in pages {
        if !chapters.contains(&page) && !page.ends_with("SUMMARY.md") {
            missing.push(format!("docs/SUMMARY.md: no chapter {}", page.display()));
        }
        let path = workspace().join(&page);
        let text = read(&path);
        // What older versions had is not here any more.
        let now = text.split("\n## 0.1.0\n").next().expect("a beginning");
        for named in named_paths(now) {
            let is_gone = page.ends_with("CHANGELOG.md") && GONE.contains(&&*named);
            if !is_gone && !workspace().join(&named).exists() {
                missing.push(format!("{}: {named}", page.display()));
            }
        }
        for (link, heading) in links(&text) {
            let file = if link.is_empty() { path.clone() } else { path.with_file_name(link) };
            let is_there = match heading {
                Some(heading) => file.is_file() && headings(&read(&file)).iter().any(|found| found == heading),
                None => file.exists(),
            };
            if !is_there {
                missing.push(format!("{}: link {link} {}", page.display(), heading.unwrap_or_default()));
            }
        }
    }
    assert!(missing.is_empty(), "pages name what is not there\n{}", missing.join("\n"));
}

/// The error texts of docs/troubleshooting.md stand in the sources, piece by piece where `…` stands for something else.
#[test]
fn errors_that_a_page_explains_are_those_of_the_sources() {
    let page = std::fs::read_to_string(workspace().join("docs/troubleshooting.md")).expect("the page");
    let folders = ["gpu/src", "gpu/builder/src", "host/src", "cli/src", "xtask/src"];
    let sources: String = folders.iter().flat_map(|folder| texts(folder)).map(|(_, text)| text).collect();
    // A text that goes on after a backslash in the next line is one text.
    let mut parts = sources.split("\\\n");
    let first = parts.next().unwrap_or_default().to_string();
    let joined = parts.fold(first, |joined, part| joined + part.trim_start());
    // As the sources write it, such a quotation mark is itself a text's end.
    let joined = joined.replace("\\\"", "\"");
    let (mut quoted, mut missing) = (0, Vec::new());
    for block in page.split("```text\n").skip(1) {
        for line in block.split("```").next().expect("a beginning").lines() {
            let pieces = line.split('…').flat_map(|part| part.split(": "));
            let pieces = pieces.map(|piece| piece.trim_matches([' ', ':', '(', ')']));
            // What is shorter, such as `failed for`, is joined from parts of the source.
            for piece in pieces.filter(|piece| piece.split(' ').count() > 2) {
                quoted += 1;
                if !joined.contains(piece) {
                    missing.push(piece.to_string());
                }
            }
        }
    }
    assert!(quoted >= 30, "{quoted} pieces");
    assert!(missing.is_empty(), "no source has\n{}", missing.join("\n"));
}

/// What docs/reading-kernels.md quotes of a kernel stands, line by line, in a source that its section links.
#[test]
fn lines_that_a_page_quotes_are_those_of_the_sources() {
    let docs = workspace().join("docs");
    let page = std::fs::read_to_string(docs.join("reading-kernels.md")).expect("the page");
    let (mut quoted, mut missing) = (0, Vec::new());
    for section in page.split("\n## ") {
        let sources: String = links(section)
            .into_iter()
            .filter(|(file, _)| file.ends_with(".rs"))
            .map(|(file, _)| std::fs::read_to_string(docs.join(file)).expect("a source"))
            .collect();
        let lines: BTreeSet<&str> = sources.lines().map(str::trim).collect();
        for block in section.split("```rust\n").skip(1) {
            let block = block.split("```").next().expect("a beginning");
            for line in block.lines().map(str::trim).filter(|line| !line.is_empty()) {
                quoted += 1;
                if !lines.contains(line) {
                    missing.push(line);
                }
            }
        }
    }
    assert!(quoted >= 10, "{quoted} lines");
    assert!(missing.is_empty(), "no source of the section has\n{}", missing.join("\n"));
}

#[test]
fn headings_are_named_as_links_name_them() {
    let page = "# The `first` part: a_b (2 × 3)\n```sh\n# no heading\n```\n#hash\n### How it is done\n";
    assert_eq!(headings(page), ["the-first-part-a_b-2--3", "how-it-is-done"]);
    assert_eq!(links("[a](b.md#c) [d](#e) [f](http://g) [h](i)"), [("b.md", Some("c")), ("", Some("e")), ("i", None)]);
}

/// The table of test files in `tests/src/lib.rs` has each file, or its folder, and no other.
#[test]
fn the_table_of_test_files_has_them_all() {
    let text = std::fs::read_to_string(workspace().join("tests/src/lib.rs")).expect("the source");
    let (_, table) = text.split_once("//! | file in `tests/tests` |").expect("the table");
    let cells = table.lines().skip(1).map_while(|line| line.strip_prefix("//! | ")?.split(" | ").next());
    // Between every other pair of backticks is a name.
    let named: BTreeSet<String> =
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_string).collect();
    let mut there = BTreeSet::from(["kernels/tests/compile_fail.rs".to_string()]);
    let folder = workspace().join("tests/tests");
    let entries = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
    };
    for path in entries(&folder) {
        let is_named = path.strip_prefix(&folder).is_ok_and(|name| named.contains(&*name.to_string_lossy()));
        let files = if path.is_dir() && !is_named { entries(&path) } else { vec![path] };
        let names = files.iter().filter(|file| !file.ends_with("main.rs") && (is_named || file.extension().is_some()));
        there.extend(names.map(|file| file.strip_prefix(&folder).expect("below").display().to_string()));
    }
    let (missing, strange): (Vec<_>, Vec<_>) = (there.difference(&named).collect(), named.difference(&there).collect());
    assert!(missing.is_empty() && strange.is_empty(), "not in the table: {missing:?}; not there: {strange:?}");
}

/// A bundle may run in another copy of the repository than it was built in, of which one function knows.
#[test]
fn one_helper_of_the_tests_names_the_folder_that_they_were_built_in() {
    for (path, text) in texts("tests/src") {
        let is_home = path.ends_with("golden.rs");
        assert_eq!(text.contains("env!(\"CARGO_MANIFEST_DIR\")"), is_home, "{}", path.display());
    }
}
