//! Checks every link of rendered pages: whether its file exists and contains the link's fragment.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::links::{local, normal};

/// All files below a folder, in order.
///
/// # Errors
/// A folder that cannot be read.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

/// Checks all pages below a folder; returns the numbers of pages and of local links, and the broken links.
///
/// # Errors
/// A page that cannot be read.
pub fn links(folder: &Path) -> Result<(usize, usize, Vec<String>)> {
    let mut pages = BTreeMap::new();
    for path in files(folder)? {
        if path.extension().is_some_and(|extension| extension == "html") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            pages.insert(path, text);
        }
    }
    let fragments: BTreeMap<&Path, BTreeSet<&str>> =
        pages.iter().map(|(path, text)| (path.as_path(), values(text, "id").collect())).collect();
    let (mut n_links, mut broken) = (0, Vec::new());
    for (path, text) in &pages {
        let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        // This page is served for every missing address, and its links begin at the root.
        if name == "404.html" {
            continue;
        }
        for target in values(text, "href").chain(values(text, "src")) {
            let Some((file, fragment)) = local(target).filter(|_| !target.starts_with("data:")) else { continue };
            n_links += 1;
            let file = match file.split('?').next().unwrap_or(file) {
                "" => path.clone(),
                file => normal(&path.with_file_name("").join(file)),
            };
            let fragment = fragment.trim_start_matches('#');
            let is_there = match fragments.get(file.as_path()) {
                Some(fragments) => fragment.is_empty() || fragments.contains(fragment),
                None => file.is_file(),
            };
            if !is_there {
                broken.push(format!("{name}: {target}"));
            }
        }
    }
    broken.dedup();
    Ok((pages.len(), n_links, broken))
}

/// All values of an attribute in an HTML text.
fn values<'a>(text: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!(" {attribute}=\"");
    let found: Vec<&str> = text.split(&*begin).skip(1).filter_map(|rest| rest.split('"').next()).collect();
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let folder = std::env::temp_dir().join(format!("warpplay-book-{}", std::process::id()));
        fs::create_dir_all(folder.join("a")).expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
        write("index.html", r##"<a href="a/b.html#c"> <a href="#d"> <img src="e.svg"> <a href="http://f/g">"##);
        write("a/b.html", r##"<h1 id="c"> <a href="../index.html"> <a href="../a/b.html#h"> <a href="i.html">"##);
        write("e.svg", "");
        let found = links(&folder).expect("pages");
        fs::remove_dir_all(&folder).expect("removed");
        let broken = ["a/b.html: ../a/b.html#h", "a/b.html: i.html", "index.html: #d"].map(str::to_string);
        assert_eq!(found, (2, 6, broken.to_vec()));
    }
}
