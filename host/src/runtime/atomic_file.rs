//! Files that are either written whole or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
#[cfg(feature = "cfr")]
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// Prefix of the names of hidden files that are not complete yet; random letters follow it.
const PREFIX: &str = ".warpplay-";
const SUFFIX: &str = ".part";
/// Minimum age at which a hidden file counts as left by a killed process. No writer of this library pauses that long within one file.
const STALE: Duration = Duration::from_secs(3600);
/// Maximum number of symbolic links followed in a chain; operating systems stop at 40.
const LINKS: usize = 40;

/// A file that is written whole or not at all.
///
/// Data is written to a hidden file in the same folder, named `.warpplay-`, random letters and `.part`; [`finish`](Self::finish) renames it to its final name. If writing
/// fails or the process is killed before that, an existing file stays unchanged. Dropping the `AtomicFile` removes the hidden file; one left by a killed process is removed
/// when another process first writes to the same folder, an hour later or more.
///
/// ```
/// use std::io::Write;
/// use warpplay::AtomicFile;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("result.txt");
/// let mut file = AtomicFile::create(&path)?;
/// file.write_all(b"complete")?;
/// assert!(!path.exists());
/// file.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"complete");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    /// The path as the caller gave it, for error texts.
    given: PathBuf,
    /// The path with symbolic links resolved, so that a link is not replaced by a file.
    target: PathBuf,
    part: NamedTempFile,
}

impl AtomicFile {
    /// Creates the hidden file. Detects what can be known of the final rename before the caller starts the work whose result the file will hold.
    ///
    /// # Errors
    /// [`Error::File`] with the path and the reason: the folder is missing or not writable, the path names a folder, a device or a pipe, the file is write-protected, or the
    /// system does not accept the name.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| Error::file(path, None, format!("cannot be written: {error}"));
        let refused = |reason: &str| Error::file(path, None, format!("cannot be written: {reason}"));
        let Followed { target, by_descriptor } = followed(path).map_err(failed)?;
        let is_folder_name = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if target.file_name().is_none() || is_folder_name {
            return Err(refused("the path names no file"));
        }
        // A rename would replace the file to which a redirected stream writes.
        if by_descriptor && fs::metadata(path).is_ok_and(|found| found.is_file()) {
            return Err(refused("it is a stream that is redirected to a file, expected the file's name"));
        }
        // Renaming asks none of this. The path's own metadata, since the target of a descriptor may be no path.
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(refused("it is a folder, expected a file")),
            Ok(found) if !found.is_file() => return Err(refused("it is a device or a pipe, expected a file")),
            Ok(found) if found.permissions().readonly() => return Err(refused("the file is read-only")),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let folder = folder_of(&target);
        fs::metadata(folder).map_err(failed)?;
        remove_stale(folder);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Of what everybody may read the system takes away what the user's mask says.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let part = builder.tempfile_in(folder).map_err(failed)?;
        // Says to others that it is in use. Where a file system has no locks, its age says so.
        let _ = part.as_file().lock();
        Ok(Self { given: path.to_path_buf(), target, part })
    }

    /// Returns the canonical name of the file that [`create`](Self::create) writes for this path: symbolic links are followed, also to a file that does not exist yet.
    ///
    /// # Errors
    /// Errors of the system: the folder does not exist, links form a cycle, or the path names no file.
    pub fn resolved(path: &Path) -> io::Result<PathBuf> {
        let Followed { target, .. } = followed(path)?;
        match fs::canonicalize(&target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let name = target.file_name().ok_or(error)?;
                Ok(fs::canonicalize(folder_of(&target))?.join(name))
            }
            found => found,
        }
    }

    /// The hidden file, which holds the data written so far.
    pub fn part(&self) -> &Path {
        self.part.path()
    }

    /// Writes over what stands at the beginning of the file.
    #[cfg(feature = "cfr")]
    pub(crate) fn rewrite_start(&mut self, bytes: &[u8]) -> Result<()> {
        let file = self.part.as_file_mut();
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(bytes));
        written.map_err(|error| failure(&self.given, self.part.path(), &error))
    }

    /// Writes more of the file, with an error that names it.
    #[cfg(feature = "cfr")]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|error| failure(&self.given, self.part.path(), &error))
    }

    /// Renames the file to its final name, once its content is on the disk. If it replaces a file, it takes over that file's permissions.
    ///
    /// # Errors
    /// [`Error::File`] with the path, the hidden file's name and the system's reason, a full disk among them.
    pub fn finish(self) -> Result<()> {
        let Self { given, target, part } = self;
        let hidden = part.path().to_path_buf();
        let failed = |error: io::Error| failure(&given, &hidden, &error);
        if let Ok(found) = fs::metadata(&target) {
            part.as_file().set_permissions(found.permissions()).map_err(failed)?;
        }
        part.as_file().sync_all().map_err(failed)?;
        part.persist(&target).map_err(|error| failed(error.error))?;
        sync_folder(folder_of(&target)).map_err(failed)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.part.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.part.as_file_mut().flush()
    }
}

/// Writes `bytes` to `path`, whole or not at all.
///
/// # Errors
/// Those of [`AtomicFile`].
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|error| failure(path, file.part(), &error))?;
    file.finish()
}

fn failure(path: &Path, hidden: &Path, error: &io::Error) -> Error {
    let hidden = hidden.file_name().unwrap_or_default().display().to_string();
    Error::file(path, None, format!("cannot be written (first to {hidden} beside it): {error}"))
}

/// Where symbolic links lead.
struct Followed {
    target: PathBuf,
    /// Whether one of the links stands for an open file of a process, as `/dev/stdout` does.
    by_descriptor: bool,
}

/// Resolves symbolic links, also to a file that does not exist yet.
fn followed(path: &Path) -> io::Result<Followed> {
    let (mut target, mut by_descriptor) = (path.to_path_buf(), false);
    for _ in 0..LINKS {
        match fs::symlink_metadata(&target) {
            Ok(found) if found.is_symlink() => {
                let folder = folder_of(&target);
                by_descriptor |= holds_descriptors(folder)?;
                target = folder.join(fs::read_link(&target)?);
            }
            Ok(_) => return Ok(Followed { target, by_descriptor }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Followed { target, by_descriptor }),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("more than {LINKS} symbolic links lead to one another")))
}

/// Whether a folder is `/proc/…/fd`, whose links are the open files of a process.
fn holds_descriptors(folder: &Path) -> io::Result<bool> {
    let folder = folder.canonicalize()?;
    Ok(folder.starts_with("/proc") && folder.ends_with("fd"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes the hidden files that killed processes left in a folder; each folder is searched once per process.
fn remove_stale(folder: &Path) {
    static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if !SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_path_buf()) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if is_ours && is_stale(&entry.path()) {
            // One that cannot be removed takes room, and harms nobody.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a hidden file is abandoned: it is old, and no process holds its lock.
fn is_stale(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let age = file.metadata().and_then(|found| found.modified()).map(|time| time.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age >= STALE) && file.try_lock().is_ok()
}

/// Makes the new name durable. Systems that cannot sync a folder store names durably by themselves.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder)?.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.finish().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"new".to_vec(), vec!["file".to_string()]));
        // Given up, it leaves nothing.
        drop(AtomicFile::create(&folder.path().join("other")).unwrap());
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn a_link_stays_a_link_and_may_lead_to_what_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("link"), folder.path().join("target"));
        std::os::unix::fs::symlink("target", &link).unwrap();
        write(&link, b"content").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"content");
        // A file has one name, whatever leads to it, before it is there too.
        fs::remove_file(&target).unwrap();
        let resolved = |path: &Path| AtomicFile::resolved(path).unwrap();
        assert_eq!(resolved(&link), resolved(&folder.path().join("../").join(folder.path()).join("target")));
        fs::write(&target, "").unwrap();
        assert_eq!(resolved(&link), target.canonicalize().unwrap());
        let (lost, round) = (folder.path().join("lost"), folder.path().join("round"));
        std::os::unix::fs::symlink("missing/file", &lost).unwrap();
        std::os::unix::fs::symlink("round", &round).unwrap();
        let error = AtomicFile::create(&lost).unwrap_err().to_string();
        assert!(error.contains("cannot be written: No such file or directory"), "{error}");
        let error = AtomicFile::create(&round).unwrap_err().to_string();
        assert!(error.contains("more than 40 symbolic links"), "{error}");
    }

    #[test]
    fn what_cannot_be_written_is_found_before() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let protected = at("protected");
        fs::write(&protected, "").unwrap();
        fs::set_permissions(&protected, {
            let mut permissions = fs::metadata(&protected).unwrap().permissions();
            permissions.set_readonly(true);
            permissions
        })
        .unwrap();
        for (path, reason) in [
            (at(&"x".repeat(256)), "File name too long"),
            (at("missing/file"), "No such file or directory"),
            (folder.path().to_path_buf(), "it is a folder, expected a file"),
            (at("name/"), "the path names no file"),
            ("/dev/null".into(), "it is a device or a pipe, expected a file"),
            (protected, "the file is read-only"),
        ] {
            let error = AtomicFile::create(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("cannot be written: {reason}")), "{error}");
        }
        assert_eq!(names(folder.path()), ["protected"]);
    }

    /// A link to an open file is refused wherever the link lies; one within `/dev` that leads to an ordinary file is not.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_redirected_stream_is_known_by_where_its_links_lead() {
        use std::os::fd::AsRawFd;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let log = File::create(at("log")).unwrap();
        let descriptor = PathBuf::from(format!("/proc/self/fd/{}", log.as_raw_fd()));
        std::os::unix::fs::symlink(&descriptor, at("link")).unwrap();
        std::os::unix::fs::symlink("link", at("link to the link")).unwrap();
        let by_device = PathBuf::from(format!("/dev/fd/{}", log.as_raw_fd()));
        for path in [descriptor, by_device, at("link"), at("link to the link")] {
            let error = AtomicFile::create(&path).unwrap_err().to_string();
            assert!(error.contains("it is a stream that is redirected to a file"), "{}: {error}", path.display());
        }
        // Of a file that has no name any more too.
        fs::remove_file(at("log")).unwrap();
        let error = AtomicFile::create(&at("link")).unwrap_err().to_string();
        assert!(error.contains("it is a stream that is redirected to a file"), "{error}");
        let (_reader, writer) = io::pipe().unwrap();
        let error = AtomicFile::create(Path::new(&format!("/dev/fd/{}", writer.as_raw_fd()))).unwrap_err().to_string();
        assert!(error.contains("it is a device or a pipe, expected a file"), "{error}");
        assert_eq!(names(folder.path()), ["link", "link to the link"]);
        let Ok(shared) = tempfile::tempdir_in("/dev/shm") else { return };
        let out = shared.path().join("out");
        std::os::unix::fs::symlink(at("file"), &out).unwrap();
        write(&out, b"content").unwrap();
        assert_eq!(fs::read(at("file")).unwrap(), b"content");
    }

    /// A hidden file with a name that a process of the same number had, as in another container, is nobody's business; names are random.
    #[test]
    fn what_a_killed_process_left_is_removed_when_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let left = |name: &str, age: Duration| {
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
            file
        };
        drop(left(".warpplay-1-0.part", 2 * STALE));
        drop(left(".warpplay-young.part", Duration::ZERO));
        drop(left("warpplay-mine.part", 2 * STALE));
        let used = left(".warpplay-used.part", 2 * STALE);
        used.lock().unwrap();
        write(&folder.path().join("file"), b"content").unwrap();
        assert_eq!(names(folder.path()), [".warpplay-used.part", ".warpplay-young.part", "file", "warpplay-mine.part"]);
    }

    #[test]
    fn a_full_disk_names_the_hidden_file() {
        let error = failure(Path::new("a/file"), Path::new("a/.warpplay-x.part"), &io::Error::other("no space"));
        let expected = "a/file: cannot be written (first to .warpplay-x.part beside it): no space";
        assert_eq!(error.to_string(), expected);
    }
}
