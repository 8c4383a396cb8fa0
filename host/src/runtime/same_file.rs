//! Whether two handles or names lead to one file.

use std::fs::Metadata;

/// Whether both are of one file, whatever names it had or has; `None` where the system does not tell. One of them must be of a file that is open, or its number may
/// have been given to another.
pub(crate) fn is_same_file(one: &Metadata, other: &Metadata) -> Option<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((one.dev(), one.ino()) == (other.dev(), other.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = (one, other);
        None
    }
}
