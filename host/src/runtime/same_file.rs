//! Whether two handles or names lead to one file.

use std::fs::Metadata;

/// Whether both belong to the same file, regardless of its names; `None` if the system cannot tell. One of the two files must be open; otherwise its number may have been reused.
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
