//! The public API of every published library: `docs/api` has a file a crate, a line an item, and CI compares them with the sources.
//!
//! The items are those that rustdoc shows, with all families and without what is derived or holds for every type. No kernel has to be compiled.

#[cfg(any(feature = "api", test))]
mod difference;

#[cfg(feature = "api")]
pub use list::make;

/// Starts this program again, built with what reads rustdoc's JSON: no other task has to wait for it.
#[cfg(not(feature = "api"))]
pub fn make(check: bool) -> anyhow::Result<()> {
    use crate::process;
    let command = ["run", "--quiet", "--package", "xtask", "--features", "api", "--", "api"];
    process::run(process::cargo(&command).args(check.then_some("--check")).current_dir(process::root()))
}

#[cfg(feature = "api")]
mod list {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use anyhow::{Context, Result, bail};
    use public_api::Builder;

    use super::difference::Difference;
    use crate::package::PACKAGES;
    use crate::process::{self, cargo, root, target_dir};

    /// Writes the lists, or compares them.
    ///
    /// # Errors
    /// A crate that rustdoc cannot read; with `check`, every list that differs, with what was removed and added.
    pub fn make(check: bool) -> Result<()> {
        json()?;
        let folder = root().join("docs/api");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let mut differences = Vec::new();
        for (name, _) in PACKAGES.iter().filter(|(_, folder)| root().join(folder).join("src/lib.rs").is_file()) {
            let lines = items(name)?;
            let path = folder.join(format!("{name}.txt"));
            if !check {
                fs::write(&path, lines.join("\n") + "\n").with_context(|| path.display().to_string())?;
                println!("{}: {} items", path.display(), lines.len());
                continue;
            }
            let kept =
                fs::read_to_string(&path).with_context(|| format!("{}: run `cargo xtask api`", path.display()))?;
            let difference = Difference::of(&kept, &lines);
            if !difference.is_empty() {
                differences.push(difference.text(name));
            }
        }
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if PACKAGES.iter().any(|(package, _)| *package == name) {
                continue;
            }
            match check {
                true => differences.push(format!("{}: no published library has this name", path.display())),
                false => fs::remove_file(&path).with_context(|| path.display().to_string())?,
            }
        }
        if !differences.is_empty() {
            bail!(
                "the public API is not that of docs/api:\n{}\nWrite a line in CHANGELOG.md and run `cargo xtask api`.",
                differences.join("\n")
            );
        }
        Ok(())
    }

    /// Has rustdoc write what it knows of every library as JSON into `target/doc`.
    fn json() -> Result<()> {
        // The format is not stable, so that the stable rustdoc has to be asked twice. It alone: other crates' build scripts look at the variable, and all would be built again.
        let rustdoc = target_dir().join("rustdoc-json");
        fs::create_dir_all(target_dir()).with_context(|| target_dir().display().to_string())?;
        fs::write(&rustdoc, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n")
            .and_then(|()| fs::set_permissions(&rustdoc, fs::Permissions::from_mode(0o755)))
            .with_context(|| rustdoc.display().to_string())?;
        // As the documentation, of whose build it takes the dependencies.
        let mut command = cargo(&["doc", "--quiet", "--workspace", "--lib", "--no-deps"]);
        command
            .env("RUSTDOC", &rustdoc)
            .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json --cap-lints allow");
        process::run(command.current_dir(root()))
    }

    /// The items of a crate, sorted.
    fn items(name: &str) -> Result<Vec<String>> {
        let path: PathBuf = target_dir().join("doc").join(format!("{}.json", name.replace('-', "_")));
        let api = Builder::from_rustdoc_json(&path)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()
            .with_context(|| path.display().to_string())?;
        let mut lines: Vec<String> = api.items().map(ToString::to_string).collect();
        lines.sort();
        lines.dedup();
        Ok(lines)
    }
}
