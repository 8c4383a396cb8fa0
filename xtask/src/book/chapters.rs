//! Pages as chapters: the output path of each in the book, and its links rewritten for the book.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use mdbook_driver::book::{Book, BookItem, Chapter};

use super::check;
use super::links::{local, normal, relative, replace};

/// The folder of the pages; mdBook also copies all other files from there.
const DOCS: &str = "docs";
/// The folder of the book for files and folders of the repository that pages link.
const SOURCES: &str = "sources";

/// A file or folder of the repository that a page links and that is not a chapter.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Linked {
    /// From the workspace's root.
    pub path: PathBuf,
}

impl Linked {
    /// Its output path in the book; every browser shows a `.txt` file, whatever its language.
    fn output_path(&self) -> PathBuf {
        let mut name = Path::new(SOURCES).join(&self.path).into_os_string();
        name.push(".txt");
        name.into()
    }

    /// Writes the file, or the list of the folder's files, to its output path in the book.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub fn write(&self, root: &Path, out: &Path) -> Result<()> {
        let (from, to) = (root.join(&self.path), out.join(self.output_path()));
        fs::create_dir_all(to.parent().context("a file without a folder")?)?;
        if from.is_dir() {
            let files = check::files(&from)?;
            let lines = files.iter().map(|file| format!("{}\n", file.strip_prefix(root).unwrap_or(file).display()));
            fs::write(to, lines.collect::<String>())?;
        } else {
            fs::copy(from, to)?;
        }
        Ok(())
    }
}

/// Sets the output path of every chapter and rewrites its links; returns the linked files and folders that are not chapters.
///
/// # Errors
/// A page of `docs/` that is not a chapter; a link to a file that does not exist.
pub fn arrange(book: &mut Book, root: &Path) -> Result<BTreeSet<Linked>> {
    let mut outputs = BTreeMap::new();
    book.for_each_chapter_mut(|chapter| {
        let Some(source) = chapter.source_path.as_ref().map(|path| normal(&Path::new(DOCS).join(path))) else { return };
        let output = match source.strip_prefix(DOCS) {
            Ok(path) => path.to_path_buf(),
            Err(_) if source == Path::new("README.md") => PathBuf::from("index.md"),
            Err(_) => source.clone(),
        };
        chapter.path = Some(output.clone());
        outputs.insert(source, output);
    });
    for page in check::files(&root.join(DOCS))? {
        let page = page.strip_prefix(root)?;
        let is_page = page.extension().is_some_and(|extension| extension == "md") && !page.ends_with("SUMMARY.md");
        ensure!(!is_page || outputs.contains_key(page), "{}: no chapter (docs/SUMMARY.md names all)", page.display());
    }
    let mut linked = BTreeSet::new();
    let mut failed = None;
    book.for_each_mut(|item| {
        if let BookItem::Chapter(chapter) = item
            && let Err(error) = follow(chapter, root, &outputs, &mut linked)
        {
            failed.get_or_insert(error);
        }
    });
    failed.map_or(Ok(linked), Err)
}

/// Replaces the links of one chapter by those of the book.
fn follow(
    chapter: &mut Chapter,
    root: &Path,
    outputs: &BTreeMap<PathBuf, PathBuf>,
    linked: &mut BTreeSet<Linked>,
) -> Result<()> {
    let (Some(source), Some(here)) = (&chapter.source_path, &chapter.path) else { return Ok(()) };
    let source = normal(&Path::new(DOCS).join(source));
    chapter.content = replace(&chapter.content, |target| {
        let Some((path, fragment)) = local(target).filter(|(path, _)| !path.is_empty()) else {
            return Ok(target.to_string());
        };
        let named = normal(&source.with_file_name("").join(path));
        let to = match (outputs.get(&named), named.strip_prefix(DOCS)) {
            (Some(to), _) => to.clone(),
            (None, Ok(copied)) if root.join(&named).is_file() => copied.to_path_buf(),
            _ if root.join(&named).exists() => {
                let file = Linked { path: named };
                let output = file.output_path();
                linked.insert(file);
                output
            }
            _ => bail!("{}: link {target} names nothing", source.display()),
        };
        Ok(format!("{}{fragment}", relative(here, &to).display()))
    })?;
    Ok(())
}
