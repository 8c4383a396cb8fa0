//! Result files that are never half-written.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use super::{OutputFlags, Usage};

/// A file to be written at the end of the work.
pub struct OutputFile {
    /// As the user gave it, for messages.
    given: PathBuf,
    /// With symbolic links followed, so that a link stays a link.
    target: PathBuf,
    /// A device or a pipe is written as it is; a plain file is replaced whole.
    is_plain: bool,
}

impl OutputFile {
    /// Makes sure, before any work is done, that the file can be written. Changes nothing.
    ///
    /// # Errors
    /// The folder is missing or closed to us, the path is a folder, or the file is write-protected.
    pub fn prepare(path: &Path) -> Result<Self> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let kind = fs::metadata(&target).ok();
        anyhow::ensure!(!kind.as_ref().is_some_and(fs::Metadata::is_dir), "{}: is a folder", path.display());
        // `name/` is a folder that is not there; the system would say so only after the work.
        let is_folder_name = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        anyhow::ensure!(target.file_name().is_some() && !is_folder_name, "{}: names no file", path.display());
        // Replacing a file does not ask whether it may be written.
        let is_protected = kind.as_ref().is_some_and(|kind| kind.is_file() && kind.permissions().readonly());
        anyhow::ensure!(!is_protected, "{}: cannot be written: the file is read-only", path.display());
        let is_plain = kind.is_none_or(|kind| kind.is_file());
        let file = Self { given: path.to_path_buf(), target, is_plain };
        if is_plain {
            let temporary = file.temporary();
            fs::File::create(&temporary).with_context(|| format!("{}: cannot be written", path.display()))?;
            fs::remove_file(&temporary).with_context(|| format!("{}: cannot be written", path.display()))?;
        }
        Ok(file)
    }

    /// [`prepare`](Self::prepare) where a path was given.
    ///
    /// # Errors
    /// As there.
    pub fn prepare_option(path: Option<&Path>) -> Result<Option<Self>> {
        path.map(Self::prepare).transpose()
    }

    /// Whether it is a file that can be written again, and no device or pipe.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Writes the content beside the file and moves it there, so that a reader sees the old content or all of the new.
    ///
    /// # Errors
    /// As the operating system says; the file is as before.
    pub fn write(&self, content: &str) -> Result<()> {
        let failed = || format!("{}: cannot be written", self.given.display());
        if !self.is_plain {
            return fs::write(&self.target, content).with_context(failed);
        }
        let temporary = self.temporary();
        let written = fs::File::create(&temporary)
            .and_then(|mut file| {
                // The file that is replaced keeps its permissions.
                if let Ok(old) = fs::metadata(&self.target) {
                    file.set_permissions(old.permissions())?;
                }
                file.write_all(content.as_bytes()).and_then(|()| file.sync_all())
            })
            .and_then(|()| fs::rename(&temporary, &self.target));
        if written.is_err() {
            // The error to report is the first one.
            let _ = fs::remove_file(&temporary);
        }
        written.with_context(failed)
    }

    /// Writes a value as readable JSON.
    ///
    /// # Errors
    /// As [`write`](Self::write) and [`to_json_text`].
    pub fn write_json(&self, value: &impl Serialize) -> Result<()> {
        self.write(&to_json_text(value)?)
    }

    /// A name of this process in the same folder: only within a file system is moving a file one step. It does not hold the file's own name, which
    /// may be as long as names can be.
    fn temporary(&self) -> PathBuf {
        self.target.with_file_name(format!(".warpplay.{}.tmp", std::process::id()))
    }
}

impl OutputFlags {
    /// Makes sure that the file of `--json`, if there is one, can be written.
    ///
    /// # Errors
    /// As [`OutputFile::prepare`].
    pub fn json_file(&self) -> Result<Option<OutputFile>> {
        OutputFile::prepare_option(self.json.as_deref())
    }
}

/// Makes sure that no result would be written over what is read, or over another result, but those of `replaces`: pairs of a written and a read option
/// that may name one file. Each path comes with the option that gave it; paths of one option may be the same.
///
/// # Errors
/// [`Usage`] names both options and the path.
pub fn expect_apart(
    read: &[(&str, Option<&Path>)],
    written: &[(&str, Option<&Path>)],
    replaces: &[(&str, &str)],
) -> Result<()> {
    // A file that is not there yet is known by its folder.
    let resolved = |path: &Path| {
        fs::canonicalize(path).ok().or_else(|| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
        })
    };
    let mut taken: Vec<(&str, PathBuf)> =
        read.iter().filter_map(|&(option, path)| Some((option, resolved(path?)?))).collect();
    for &(option, path) in written {
        let Some(path) = path else { continue };
        // What goes to a device or a pipe is lost to nobody.
        if fs::metadata(path).is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
            continue;
        }
        let Some(file) = resolved(path) else { continue };
        let same = |(other, taken): &&(&str, PathBuf)| {
            *taken == file && option != *other && !replaces.contains(&(option, *other))
        };
        if let Some((other, _)) = taken.iter().find(same) {
            let path = path.display();
            return Err(Usage(format!("{option} and {other} name the same file {path}: each needs its own")).into());
        }
        taken.push((option, file));
    }
    Ok(())
}

/// A value as readable JSON that ends with a line break.
///
/// # Errors
/// A map whose keys are no strings; none of ours has any.
pub fn to_json_text(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(value).context("JSON")? + "\n")
}

/// A value as one line of JSON, with its line break.
///
/// # Errors
/// As [`to_json_text`].
pub fn to_json_line(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(value).context("JSON")? + "\n")
}
