//! `warpplay new-game` and `warpplay new-kernel`: a crate of one's own that builds and passes its tests.
//!
//! ```text
//! warpplay new-game my-game --path ../warpplay
//! warpplay new-kernel my-kernel --path ../warpplay
//! ```

mod name;
mod templates;

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::common::{OutputFlags, Record, Usage};
use name::Name;
use templates::Template;

/// End of a hidden folder's name, after the crate's name and the process number.
const SUFFIX: &str = ".part";
/// Minimum age at which a hidden folder counts as left by a killed process; a new one gets its name within a moment.
const STALE: Duration = Duration::from_secs(3600);

/// Flags of both commands.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The crate's folder, which must not exist yet; its last part is the crate's name
    #[arg(value_name = "NAME")]
    pub folder: PathBuf,

    /// The folder of warpplay's repository, whose crates the new crate then uses [default: the crates of this program's version from the registry]
    #[arg(long, value_name = "DIR")]
    pub path: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputFlags,
}

/// What is written with `--json`.
#[derive(Serialize)]
struct Facts {
    name: String,
    folder: String,
    files: Vec<&'static str>,
}

/// Runs `new-game`.
///
/// # Errors
/// [`Usage`] for a name that no crate can have, a folder that is there, and a `--path` that is not the repository.
pub fn game(args: &Args) -> Result<()> {
    write("new-game", args, &templates::GAME)
}

/// Runs `new-kernel`.
///
/// # Errors
/// As [`game`].
pub fn kernel(args: &Args) -> Result<()> {
    write("new-kernel", args, &templates::KERNEL)
}

fn write(command: &'static str, args: &Args, template: &Template) -> Result<()> {
    args.output.start_log();
    let name = Name::of_folder(&args.folder)?;
    if fs::symlink_metadata(&args.folder).is_ok() {
        return Err(Usage(format!("{}: exists already: name a new folder", args.folder.display())).into());
    }
    let source = args.path.as_deref().map(repository).transpose()?;
    let json = args.output.json_file()?;
    // The name first: a path may hold what stands for it.
    let text_of = |text: &str| templates::depending_on(&name.put_into(text), source.as_deref());
    let files = template.files.iter().map(|(file, text)| (*file, text_of(text)));
    write_whole(&args.folder, &files.collect::<Vec<_>>())?;
    let files: Vec<&'static str> = template.files.iter().map(|(file, _)| *file).collect();
    args.output.print(format!(
        "{}, in {}: {}\n\n  cd {1}\n  cargo test    # on the CPU, and on the GPU if there is one\n  cargo run\n",
        template.what,
        args.folder.display(),
        files.join(", ")
    ))?;
    if let Some(json) = json {
        let facts = Facts { name: name.package().to_string(), folder: args.folder.display().to_string(), files };
        json.write_json(&Record::new(command, facts))?;
    }
    Ok(())
}

/// Writes the files of a new folder, all or none: into a hidden folder beside it, which then gets its name.
fn write_whole(folder: &Path, files: &[(&str, String)]) -> Result<()> {
    let make = |folder: &Path| {
        fs::create_dir_all(folder).with_context(|| format!("{}: the folder cannot be made", folder.display()))
    };
    let name = folder.file_name().unwrap_or_default();
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make(above)?;
    let prefix = format!(".{}-", name.display());
    remove_stale(above, &prefix);
    let hidden = above.join(format!("{prefix}{}{SUFFIX}", process::id()));
    let written = || -> Result<()> {
        fs::create_dir(&hidden).with_context(|| format!("{}: the folder cannot be made", hidden.display()))?;
        for (file, text) in files {
            let path = hidden.join(file);
            path.parent().map_or(Ok(()), make)?;
            fs::write(&path, text).with_context(|| format!("{}: cannot be written", folder.join(file).display()))?;
        }
        fs::rename(&hidden, folder).with_context(|| format!("{}: cannot be made", folder.display()))
    };
    written().inspect_err(|_| {
        // What cannot be removed is hidden, and harms nobody.
        let _ = fs::remove_dir_all(&hidden);
    })
}

/// Removes the hidden folders that killed processes left for a crate of this name.
fn remove_stale(above: &Path, prefix: &str) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix)?.strip_suffix(SUFFIX));
        let is_ours = number.is_some_and(|number| number.parse::<u32>().is_ok());
        let is_old = entry.metadata().is_ok_and(|found| {
            found.is_dir() && found.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age >= STALE))
        });
        if is_ours && is_old {
            // One that cannot be removed is hidden, and harms nobody.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The repository's folder from the root on, as text in TOML.
fn repository(path: &Path) -> Result<String> {
    let is_there = ["gpu", "gpu/builder", "host"].iter().all(|part| path.join(part).join("Cargo.toml").is_file());
    if !is_there {
        let text =
            format!("--path {}: is not warpplay's repository: gpu, gpu/builder and host are not in it", path.display());
        return Err(Usage(text).into());
    }
    let path = path.canonicalize().with_context(|| path.display().to_string())?;
    let text = path.to_str().filter(|text| !text.contains(['"', '\\']) && !text.chars().any(char::is_control));
    let refused = || {
        Usage(format!("--path {}: a manifest cannot hold this path: use one in UTF-8 without quotes", path.display()))
    };
    Ok(text.ok_or_else(refused)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(folder: PathBuf, path: Option<PathBuf>) -> Args {
        Args { folder, path, output: OutputFlags { json: None, quiet: true, verbose: 0 } }
    }

    #[test]
    fn what_cannot_be_a_new_crate_is_refused_and_leaves_nothing() {
        let scratch = tempfile::tempdir().expect("a folder");
        let refused = |folder: PathBuf, path| format!("{:#}", game(&args(folder, path)).expect_err("refused"));
        let there = refused(scratch.path().to_path_buf(), None);
        // A temporary folder's name is that of no crate.
        assert!(there.contains("is not a valid name of a crate"), "{there}");
        let text = refused(scratch.path().join("9lives"), None);
        assert!(text.contains("9lives"), "{text}");
        let there = scratch.path().join("there");
        fs::create_dir(&there).expect("a folder");
        let text = refused(there.clone(), None);
        assert!(text.contains("exists already"), "{text}");
        fs::remove_dir(there).expect("still empty");
        let text = refused(scratch.path().join("good"), Some(scratch.path().to_path_buf()));
        assert!(text.contains("is not warpplay's repository"), "{text}");
        assert_eq!(std::fs::read_dir(scratch.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn a_crate_that_cannot_be_written_leaves_nothing() {
        let scratch = tempfile::tempdir().expect("a folder");
        // A file where the second one needs a folder, as a full disk would stop it: after the first.
        let files = [("a", "text".to_string()), ("a/b", "text".to_string())];
        let error = format!("{:#}", write_whole(&scratch.path().join("crate"), &files).expect_err("no folder"));
        assert!(error.contains("the folder cannot be made"), "{error}");
        // A name that the system does not accept at the end.
        let error = write_whole(&scratch.path().join("x".repeat(300)), &files[..1]).expect_err("too long");
        assert!(format!("{error:#}").contains("cannot be made"), "{error:#}");
        assert_eq!(fs::read_dir(scratch.path()).expect("a folder").count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_killed_process_left_is_removed_when_it_is_old() {
        let scratch = tempfile::tempdir().expect("a folder");
        let left = |name: &str, age: Duration| {
            let path = scratch.path().join(name);
            fs::create_dir(&path).expect("a folder");
            fs::write(path.join("file"), "text").expect("written");
            let folder = fs::File::open(&path).expect("a folder");
            folder.set_modified(std::time::SystemTime::now() - age).expect("a time");
        };
        left(".crate-1.part", 2 * STALE);
        left(".crate-2.part", Duration::ZERO);
        left(".crate-two-1.part", 2 * STALE);
        left(".crate-mine", 2 * STALE);
        write_whole(&scratch.path().join("crate"), &[("a", "text".to_string())]).expect("written");
        let entries = fs::read_dir(scratch.path()).expect("a folder");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        assert_eq!(names, [".crate-2.part", ".crate-mine", ".crate-two-1.part", "crate"]);
    }

    #[test]
    fn files_have_the_name_of_the_crate_alone() {
        let scratch = tempfile::tempdir().expect("a folder");
        type Write = fn(&Args) -> Result<()>;
        for (number, (write, template)) in
            [(game as Write, &templates::GAME), (kernel as Write, &templates::KERNEL)].into_iter().enumerate()
        {
            let folder = scratch.path().join(format!("four-rows{number}"));
            write(&args(folder.clone(), None)).expect("written");
            for (file, _) in template.files {
                let text = fs::read_to_string(folder.join(file)).expect("a file");
                for old in ["my_game", "my-game", "MyGame", "WHERE"] {
                    assert!(!text.contains(old), "{file} holds {old}");
                }
            }
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
            assert!(manifest.contains(&format!("name = \"four-rows{number}\"")), "{manifest}");
            assert!(manifest.contains(concat!("version = \"=", env!("CARGO_PKG_VERSION"), "\"")), "{manifest}");
        }
    }

    #[test]
    fn a_path_with_the_name_of_the_template_is_left_as_it_is() {
        let scratch = tempfile::tempdir().expect("a folder");
        let root = scratch.path().join("my_game");
        for part in ["gpu", "gpu/builder", "host"] {
            fs::create_dir_all(root.join(part)).expect("a folder");
            fs::write(root.join(part).join("Cargo.toml"), "").expect("written");
        }
        let folder = scratch.path().join("hexes");
        game(&args(folder.clone(), Some(root))).expect("written");
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        assert!(manifest.contains("/my_game/host\""), "{manifest}");
    }

    /// The compiler that this repository is built with; in a package, which has no repository around it, there is nothing to compare.
    #[test]
    fn the_compiler_is_that_of_the_repository() {
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rust-toolchain.toml");
        let Ok(ours) = fs::read_to_string(ours) else { return };
        let channel = |text: &str| text.lines().find(|line| line.starts_with("channel")).map(str::to_string);
        let template = templates::GAME.files.iter().find(|(file, _)| *file == "rust-toolchain.toml");
        assert_eq!(channel(template.expect("a file").1), channel(&ours));
    }
}
