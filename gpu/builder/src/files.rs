//! Files and folders, with errors that name them.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Turns an I/O error into one that names the action and the path.
pub(crate) fn failed<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> Error + 'a {
    move |source| Error::File { action, path: path.to_owned(), source }
}

pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(failed("read", path))
}

pub(crate) fn create_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(failed("create the folder", path))
}

/// Writes `content` unless the file holds it already: an unchanged file keeps its time stamp, so that nothing
/// which depends on it is built again.
pub(crate) fn write_if_changed(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let content = content.as_ref();
    if std::fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    std::fs::write(path, content).map_err(failed("write", path))
}

/// The target folder of the build that runs this program, if there is one around.
pub(crate) fn outer_target_dir() -> Option<PathBuf> {
    // Cargo tags its target folder; a build with `--target` tags the folder inside as well, so the outermost counts.
    let tagged = |path: &Path| {
        let folders = path.ancestors().filter(|folder| folder.join("CACHEDIR.TAG").is_file());
        folders.last().map(Path::to_owned)
    };
    std::env::var_os("OUT_DIR").and_then(|out_dir| tagged(Path::new(&out_dir)))
}

/// The nearest folder above `start` (or itself) that holds a `Cargo.lock`: the workspace's root.
pub(crate) fn workspace_root(start: &Path) -> Option<&Path> {
    start.ancestors().find(|folder| folder.join("Cargo.lock").is_file())
}
