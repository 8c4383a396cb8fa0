//! Files whose header holds a checksum over the whole file: FNV-1a of all bytes, those of its own digits taken as `0`.

use crate::fnv::Fnv;

/// What stands before the checksum's digits: JSON inside a JSON string.
const MARK: &[u8] = br#"\"checksum\":\""#;
/// Hexadecimal digits of the checksum.
pub(crate) const DIGITS: usize = 16;

/// Takes the checksum's digits out of a file's bytes, leaving zeros, and computes the sum; `None` where the bytes have no such place.
pub(crate) fn seal(bytes: &mut [u8]) -> Option<([u8; DIGITS], u64)> {
    let place = digits_place(bytes)?;
    let digits = <[u8; DIGITS]>::try_from(&bytes[place.clone()]).ok()?;
    bytes[place].fill(b'0');
    let mut sum = Fnv::default();
    sum.add(bytes);
    Some((digits, sum.value()))
}

/// Puts the digits of a sum in their place.
pub(crate) fn set_digits(bytes: &mut [u8], sum: u64) {
    if let Some(place) = digits_place(bytes) {
        bytes[place].copy_from_slice(format!("{sum:016x}").as_bytes());
    }
}

/// Where the digits stand: in the header, which comes first.
fn digits_place(bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    let length = u64::from_le_bytes(*bytes.first_chunk()?);
    let end = usize::try_from(length).ok()?.checked_add(8)?;
    let header = bytes.get(..end)?;
    let at = header.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let place = at..at.checked_add(DIGITS)?;
    (place.end <= header.len()).then_some(place)
}
