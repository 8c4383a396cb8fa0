//! Pages of the library's public modules: each says what it is for, has an example that runs, and a table of its types.
//!
//! The pages are read from the sources, from `host/src/lib.rs` on; a module that is re-exported counts as one that is declared.

use std::path::{Path, PathBuf};

use syn::{Attribute, Expr, Item, Lit, Meta, UseTree, Visibility};
use warpplay_tests::golden::workspace;

/// A public module.
struct Page {
    /// The file, and the module within it where it is written out there.
    module: String,
    /// Its documentation.
    text: Vec<String>,
    /// Structures, enums, traits and type names that a user finds in it.
    n_types: usize,
}

/// Whether an item is there for tests alone.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| {
                let tokens = list.tokens.to_string();
                tokens.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test" || word == "doctest")
            })
    })
}

/// The lines of documentation among attributes.
fn documentation(attributes: &[Attribute]) -> Vec<String> {
    let text = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(value) => match &value.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let lines = attributes.iter().filter_map(text);
    lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_string()).collect()
}

/// The file of a module that is declared in a folder.
fn file_of(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")].into_iter().find(|path| path.is_file())
}

/// The paths that a `use` names, with the name that a user finds.
fn used(tree: &UseTree, before: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let with = |name: String| [before, &[name]].concat();
    match tree {
        UseTree::Path(part) => used(&part.tree, &with(part.ident.to_string()), found),
        UseTree::Group(group) => group.items.iter().for_each(|tree| used(tree, before, found)),
        UseTree::Name(name) => found.push((with(name.ident.to_string()), name.ident.to_string())),
        UseTree::Rename(name) => found.push((with(name.ident.to_string()), name.rename.to_string())),
        UseTree::Glob(glob) => panic!("{:?} of {before:?} hides what is public", glob.star_token),
    }
}

/// `Device` is a type; `MAX_BATCH` is a constant, and `solve_spots` a function.
fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// The page of a module, and those of the public modules in it.
///
/// * `folder`: where the files of its children are.
fn walk(module: String, folder: &Path, attributes: &[Attribute], items: &[Item], pages: &mut Vec<Page>) {
    let index = pages.len();
    pages.push(Page { module, text: documentation(attributes), n_types: 0 });
    let is_public = |visibility: &Visibility| matches!(visibility, Visibility::Public(_));
    let mut n_types = 0;
    for item in items {
        match item {
            Item::Struct(item) if is_public(&item.vis) && !is_test(&item.attrs) => n_types += 1,
            Item::Enum(item) if is_public(&item.vis) => n_types += 1,
            Item::Trait(item) if is_public(&item.vis) => n_types += 1,
            Item::Type(item) if is_public(&item.vis) => n_types += 1,
            Item::Mod(item) if is_public(&item.vis) && !is_test(&item.attrs) => {
                let name = item.ident.to_string();
                match &item.content {
                    Some((_, items)) => {
                        let module = format!("{}::{name}", pages[index].module);
                        walk(module, &folder.join(&name), &item.attrs, items, pages);
                    }
                    None => read(&file_of(folder, &name).expect("the file of a module"), pages),
                }
            }
            Item::Use(item) if is_public(&item.vis) => {
                let mut names = Vec::new();
                used(&item.tree, &[], &mut names);
                for (path, name) in names {
                    n_types += usize::from(is_type(&name));
                    // A module of a private one, or the name of a function or macro.
                    let (name, above) = path.split_last().expect("a name");
                    let above =
                        above.iter().filter(|word| *word != "self").fold(folder.to_path_buf(), |a, b| a.join(b));
                    if let Some(file) = file_of(&above, name).filter(|_| path.len() > 1 && !is_type(name)) {
                        read(&file, pages);
                    }
                }
            }
            _ => {}
        }
    }
    pages[index].n_types = n_types;
}

/// The page of a file.
fn read(path: &Path, pages: &mut Vec<Page>) {
    let text = std::fs::read_to_string(path).expect("a source file");
    let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let stem = path.file_stem().expect("a name");
    let folder = match stem == "mod" || stem == "lib" {
        true => path.parent().expect("a folder").to_path_buf(),
        false => path.with_extension(""),
    };
    let module = path.strip_prefix(workspace()).expect("in the workspace").display().to_string();
    walk(module, &folder, &file.attrs, &file.items, pages);
}

/// What a page lacks.
fn lacks(page: &Page) -> Vec<&'static str> {
    let mut lacks = Vec::new();
    let begins_block = |line: &&String| line.starts_with("```") || line.starts_with('|') || line.starts_with('#');
    let prose: Vec<&str> =
        page.text.iter().take_while(|line| !begins_block(line)).map(|line| line.trim_end()).collect();
    let n_sentences =
        prose.join(" ").trim_end().split_inclusive([' ']).filter(|word| word.trim_end().ends_with('.')).count();
    if n_sentences < 2 {
        lacks.push("two sentences or more on what it is for, before anything else");
    }
    // Every other fence opens a block; one without a word opens an example that runs.
    let mut fences = page.text.iter().filter(|line| line.starts_with("```")).step_by(2);
    if !fences.any(|line| line == "```" || line == "```rust") {
        lacks.push("an example that runs");
    }
    let n_rows = page.text.iter().filter(|line| line.starts_with('|') && line.contains("[`")).count();
    if page.n_types >= 2 && n_rows < 2 {
        lacks.push("a table of its types, each with a link and a line");
    }
    lacks
}

#[test]
fn pages_of_public_modules_have_an_example_and_a_table_of_types() {
    let mut pages = Vec::new();
    read(&workspace().join("host/src/lib.rs"), &mut pages);
    for expected in ["host/src/lib.rs", "host/src/mcts/contest/mod.rs", "host/src/runtime/journal.rs"] {
        assert!(pages.iter().any(|page| page.module == expected), "{expected} was not found");
    }
    let wrong: Vec<String> =
        pages.iter().flat_map(|page| lacks(page).into_iter().map(|what| format!("{}: {what}", page.module))).collect();
    assert!(wrong.is_empty(), "pages of public modules lack\n{}", wrong.join("\n"));
}

#[test]
fn what_a_page_lacks_is_seen() {
    let page = |text: &str, n_types| Page {
        module: "here".to_string(),
        text: text.lines().map(String::from).collect(),
        n_types,
    };
    let whole =
        "Finds it. Fast.\n\n```\nfind();\n```\n\n| type | what |\n| --- | --- |\n| [`A`] | a |\n| [`B`] | b |\n";
    assert_eq!(lacks(&page(whole, 2)).len(), 0);
    assert_eq!(lacks(&page("Finds it.\n", 2)).len(), 3);
    // A drawing is no example, nor is one that is not run; a single type needs no table.
    assert_eq!(
        lacks(&page("Finds it. Fast.\n```text\na\n```\n```no_run\nfind();\n```\n", 1)),
        ["an example that runs"]
    );
}
