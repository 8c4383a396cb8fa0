//! Checksums that are repaired: the reader says which one it found, and which one the file has.

use std::fs;
use std::path::Path;

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split(after).next().unwrap_or(rest))
}

/// Puts one text for another, where it first stands.
fn replace(path: &Path, old: &[u8], new: &[u8]) -> bool {
    let Ok(mut bytes) = fs::read(path) else { return false };
    let Some(at) = bytes.windows(old.len().max(1)).position(|window| window == old) else { return false };
    bytes.splice(at..at + old.len(), new.iter().copied());
    fs::write(path, bytes).is_ok()
}

/// The checksum of a safetensors file of state.
pub fn state(path: &Path, error: &str) -> bool {
    let digits = between(error, "its checksum is ", ",").zip(error.rsplit_once("the file says "));
    let Some((found, (_, said))) = digits else { return false };
    // Sixteen digits, whatever they are now.
    let said = said.trim();
    said.len() == found.len()
        && replace(
            path,
            format!(r#"\"checksum\":\"{said}"#).as_bytes(),
            format!(r#"\"checksum\":\"{found}"#).as_bytes(),
        )
}

/// The checksums of a file that is written tensor by tensor: that of its header, or of a tensor, which the header has.
pub fn streamed(path: &Path, error: &str) -> bool {
    let digits = between(error, " is ", ",").zip(error.rsplit_once("the file says "));
    let Some((found, (_, said))) = digits else { return false };
    let (said, field) = (said.trim(), between(error, "the checksum of tensor ", " ").unwrap_or("header_checksum"));
    said.len() == found.len()
        && replace(path, format!(r#"\"{field}\":\"{said}"#).as_bytes(), format!(r#"\"{field}\":\"{found}"#).as_bytes())
}

/// The checksums of a shard, in itself and in its set, and the fingerprint of the set. `path` is one of the files of the set.
pub fn dataset(path: &Path, error: &str) -> bool {
    let folder = path.parent().expect("a folder");
    let manifest = folder.join("dataset.json");
    if let (Some(found), Some((_, said))) = (between(error, "fingerprint is ", ","), error.rsplit_once("expected ")) {
        return replace(&manifest, said.trim().as_bytes(), found.as_bytes());
    }
    let (Some(found), Some(said)) = (between(error, "has the checksum ", ","), between(error, ", expected ", ":"))
    else {
        return false;
    };
    let (Ok(mut bytes), Ok(sum)) = (fs::read(path), u64::from_str_radix(said, 16)) else { return false };
    match bytes.get_mut(40..48) {
        // The shard says another sum than it has.
        Some(own) if found == format!("{:016x}", own.first_chunk().map_or(0, |own| u64::from_le_bytes(*own))) => {
            own.copy_from_slice(&sum.to_le_bytes());
            fs::write(path, bytes).is_ok()
        }
        // The set names another one.
        _ => replace(&manifest, said.as_bytes(), found.as_bytes()),
    }
}

/// The checksum of a publication's results.
pub fn results(path: &Path, error: &str) -> bool {
    let digits = between(error, "their checksum is ", ",").zip(error.rsplit_once("the file says "));
    digits.is_some_and(|(found, (_, said))| replace(path, said.trim().as_bytes(), found.as_bytes()))
}

/// The checksum of a line of a journal.
pub fn journal(path: &Path, error: &str) -> bool {
    let digits = between(error, "its checksum is ", ",").zip(error.rsplit_once("the line says "));
    let Some((found, (_, said))) = digits else { return false };
    let said = said.split_whitespace().next().unwrap_or_default();
    said.len() == found.len()
        && replace(path, format!(r#""sum":"{said}"#).as_bytes(), format!(r#""sum":"{found}"#).as_bytes())
}
