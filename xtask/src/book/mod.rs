//! The book: the pages of `docs/`, and those at the workspace's root that `docs/SUMMARY.md` names, as HTML in `target/book`.
//!
//! mdBook renders it. Links in the pages name files of the repository; `chapters` turns them into links of the book, and `check` checks every link of the result.

#[cfg(feature = "book")]
mod chapters;
#[cfg(any(feature = "book", test))]
mod check;
#[cfg(any(feature = "book", test))]
mod links;

#[cfg(feature = "book")]
pub use build::make;

/// Starts this program again, built with mdBook, so that no other task has to build mdBook's crates.
#[cfg(not(feature = "book"))]
pub fn make() -> anyhow::Result<()> {
    use crate::process;
    let command = ["run", "--quiet", "--package", "xtask", "--features", "book", "--", "book"];
    process::run(process::cargo(&command).current_dir(process::root()))
}

#[cfg(feature = "book")]
mod build {
    use std::fs;

    use anyhow::{Context, Result, bail};
    use mdbook_driver::MDBook;
    use mdbook_driver::config::Config;

    use super::{chapters, check};
    use crate::process::{root, target_dir};

    /// Builds the book and checks its links.
    ///
    /// # Errors
    /// A page that cannot be read, a page of `docs/` that is not a chapter, or broken links; the error lists all of them.
    pub fn make() -> Result<()> {
        let (docs, out) = (root().join("docs"), target_dir().join("book"));
        let mut config = Config::from_disk(docs.join("book.toml"))?;
        config.build.build_dir.clone_from(&out);
        let mut book = MDBook::load_with_config(&docs, config)?;
        let linked = chapters::arrange(&mut book.book, &root())?;
        book.build()?;
        for file in &linked {
            file.write(&root(), &out).with_context(|| format!("{} as a page of the book", file.path.display()))?;
        }
        let (n_pages, n_links, broken) = check::links(&out)?;
        if !broken.is_empty() {
            bail!("broken links in the book:\n{}", broken.join("\n"));
        }
        let n_bytes: u64 = check::files(&out)?.iter().map(|file| fs::metadata(file).map_or(0, |data| data.len())).sum();
        println!(
            "{}: {n_pages} pages, {n_links} links, {:.1} MB",
            out.join("index.html").display(),
            n_bytes as f64 / 1e6
        );
        Ok(())
    }
}
