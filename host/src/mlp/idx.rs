//! The IDX format of MNIST and its relatives, plain or compressed with gzip.
//!
//! ```text
//! images  u32 2051, u32 samples, u32 rows, u32 cols, then samples x rows x cols bytes
//! labels  u32 2049, u32 samples, then samples bytes            (all u32 big-endian)
//! ```

use super::source::{Images, Source};
use crate::Result;

/// First number of a file of images.
pub(super) const IMAGES_MAGIC: u32 = 2051;
/// First number of a file of labels.
pub(super) const LABELS_MAGIC: u32 = 2049;

/// Reads a file of images.
///
/// # Errors
/// [`Error::File`](crate::Error::File) naming the invalid field, or the number of missing or surplus bytes.
pub(super) fn read_images(mut source: Source<'_>) -> Result<Images> {
    let [n, rows, cols] = header(&mut source, IMAGES_MAGIC, "images", ["samples", "rows", "cols"])?;
    let size = u64::from(rows) * u64::from(cols);
    if size > u64::from(u32::MAX) {
        return Err(source.wrong(format!("images are {rows} x {cols} pixels, at most {} are allowed", u32::MAX)));
    }
    let promise = format!("{n} images of {rows} x {cols}");
    let pixels = source.body(u128::from(n) * u128::from(size), &promise)?;
    Ok(Images { rows, cols, pixels })
}

/// Reads a file of labels.
///
/// # Errors
/// As [`read_images`].
pub(super) fn read_labels(mut source: Source<'_>) -> Result<Vec<u8>> {
    let [n] = header(&mut source, LABELS_MAGIC, "labels", ["samples"])?;
    source.body(n.into(), &format!("{n} labels"))
}

/// The bytes of a plain file with this header.
pub(super) fn to_bytes(header: &[u32], body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 * header.len() + body.len());
    for number in header {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend(body);
    bytes
}

/// Reads the magic number, then the named fields, none of which may be 0.
fn header<const N: usize>(source: &mut Source<'_>, magic: u32, what: &str, fields: [&str; N]) -> Result<[u32; N]> {
    let found = number(source, "magic")?;
    if found != magic {
        return Err(source.wrong(format!("magic is {found}, {magic} is expected for {what}")));
    }
    let mut values = [0; N];
    for (value, field) in values.iter_mut().zip(fields) {
        *value = number(source, field)?;
        if *value == 0 {
            return Err(source.wrong(format!("{field} is 0, at least 1 is expected")));
        }
    }
    Ok(values)
}

fn number(source: &mut Source<'_>, field: &str) -> Result<u32> {
    Ok(u32::from_be_bytes(source.take(field)?))
}
