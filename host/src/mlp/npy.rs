//! Arrays of numpy: `.npy` files of images and labels.
//!
//! ```text
//! 93 'NUMPY', u8 major, u8 minor, u16 (version 1) or u32 (2 and 3) length of the header, little-endian
//! header  a dictionary of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }
//! values  row-major
//! ```
//!
//! # Source
//! numpy, `numpy.lib.format`.

use super::features::{Features, finite_in_single};
use super::source::{Images, Source};
use crate::{Error, Result};

/// First bytes of a file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is read, in bytes; numpy writes about a hundred.
const MAX_HEADER: u32 = 1 << 16;
/// Dimensions that numpy allows.
const MAX_DIMENSIONS: usize = 64;

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    /// As `<f4`.
    descr: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    /// Kind of the values (`i`, `u`, `f`), their bytes, and whether the first byte is the most significant; `None` for other types.
    fn kind(&self) -> Option<(u8, usize, bool)> {
        match *self.descr.as_bytes() {
            [order @ (b'<' | b'>' | b'|'), kind @ (b'i' | b'u' | b'f'), size @ (b'1' | b'2' | b'4' | b'8')] => {
                Some((kind, usize::from(size - b'0'), order == b'>'))
            }
            _ => None,
        }
    }

    fn shape_text(&self) -> String {
        let sizes: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        format!("[{}]", sizes.join(", "))
    }

    fn n_values(&self) -> u128 {
        self.shape.iter().fold(1, |product: u128, &size| product.saturating_mul(size.into()))
    }
}

/// Reads a file of images, `[n, rows, cols]`, or `[n, pixels]` as one row each; of more dimensions, those of 1 do not count and the last ones are one.
///
/// Values are bytes, or floating-point numbers as the network takes them: of 0 to 1, each the quotient of a byte and 255. Such a set is the same as one of these bytes.
///
/// # Errors
/// [`Error::File`] naming what is wrong in the header, or a value that no byte stands for.
pub(super) fn read_images(mut source: Source<'_>) -> Result<Images> {
    let header = header(&mut source)?;
    let allowed = "uint8, or float32 or float64 of 0 to 1 in steps of 1/255,";
    let (_, size, big) = header
        .kind()
        .filter(|&(kind, size, _)| matches!((kind, size), (b'u', 1) | (b'f', 4 | 8)))
        .ok_or_else(|| source.wrong(format!("images have values of type {:?}, {allowed} is expected", header.descr)))?;
    let shape = header.shape_text();
    if header.shape.len() < 2 || header.shape.contains(&0) {
        let text = format!("images have the shape {shape}, [n, rows, cols] is expected, none of them 0");
        return Err(source.wrong(text));
    }
    let mut sizes = header.shape[1..].to_vec();
    if sizes.len() > 2 {
        sizes.retain(|&size| size != 1);
    }
    let (rows, cols) = match sizes[..] {
        [] => (1, 1),
        [cols] => (1, u128::from(cols)),
        [rows, ref cols @ ..] => (u128::from(rows), cols.iter().fold(1, |all: u128, &n| all.saturating_mul(n.into()))),
    };
    if rows.saturating_mul(cols) > u128::from(u32::MAX) {
        return Err(source.wrong(format!("images are {rows} x {cols} pixels, at most {} are allowed", u32::MAX)));
    }
    let (rows, cols) = (rows as u32, cols as u32);
    let n = header.n_values();
    let path = source.path();
    let body = source.body(n.saturating_mul(size as u128), &format!("{} of {shape}", header.descr))?;
    // The pixels, or the first number that is none.
    let pixels: Result<Vec<u8>, (usize, f64)> = match size {
        1 => Ok(body),
        4 => values(&body, big, f32::from_le_bytes)
            .enumerate()
            .map(|(at, value)| byte_of_single(value).ok_or((at, value.into())))
            .collect(),
        _ => values(&body, big, f64::from_le_bytes)
            .enumerate()
            .map(|(at, value)| byte_of_double(value).ok_or((at, value)))
            .collect(),
    };
    let pixels = pixels.map_err(|(at, value)| {
        let (image, pixel) = (at / (rows * cols) as usize, at % (rows * cols) as usize);
        let allowed = "a number of 0 to 1 in steps of 1/255 is expected (bytes of 0 to 255 are saved as uint8)";
        Error::file(path, None, format!("pixel {pixel} of image {image} is {value}, {allowed}"))
    })?;
    Ok(Images { rows, cols, pixels })
}

/// The byte whose quotient by 255 a number is; that quotient is what a network takes for the byte.
fn byte_of_single(value: f32) -> Option<u8> {
    let byte = (value * 255.0).round();
    ((0.0..=255.0).contains(&byte) && byte / 255.0 == value).then_some(byte as u8)
}

/// The same of double precision.
fn byte_of_double(value: f64) -> Option<u8> {
    let byte = (value * 255.0).round();
    ((0.0..=255.0).contains(&byte) && byte / 255.0 == value).then_some(byte as u8)
}

/// The numbers of a body.
fn values<const N: usize, T>(body: &[u8], big: bool, of_bytes: impl Fn([u8; N]) -> T) -> impl Iterator<Item = T> {
    body.as_chunks::<N>().0.iter().map(move |&bytes| {
        let mut bytes = bytes;
        if big {
            bytes.reverse();
        }
        of_bytes(bytes)
    })
}

/// Reads a file of labels, `[n]` whole numbers of any type, each of 0 to 255.
///
/// # Errors
/// As [`read_images`].
pub(super) fn read_labels(mut source: Source<'_>) -> Result<Vec<u8>> {
    let header = header(&mut source)?;
    let (kind, size, big) = header.kind().filter(|&(kind, _, _)| kind != b'f').ok_or_else(|| {
        source.wrong(format!("labels have values of type {:?}, an integer type is expected", header.descr))
    })?;
    let shape = header.shape_text();
    let &[n] = header.shape.as_slice() else {
        return Err(source.wrong(format!("labels have the shape {shape}, [n] is expected")));
    };
    if n == 0 {
        return Err(source.wrong("holds no labels, at least 1 is expected".into()));
    }
    let path = source.path();
    let body = source.body(u128::from(n) * size as u128, &format!("{} of {shape}", header.descr))?;
    let label = |(at, bytes): (usize, &[u8])| {
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(bytes);
        if big {
            wide[..size].reverse();
        }
        let bits = u64::from_le_bytes(wide);
        u8::try_from(bits).ok().filter(|&value| kind == b'u' || size > 1 || value < 128).ok_or_else(|| {
            let unused = 64 - 8 * size as u32;
            let value = if kind == b'i' { (((bits << unused) as i64) >> unused).to_string() } else { bits.to_string() };
            (at, value)
        })
    };
    let labels: Result<Vec<u8>, _> = body.chunks_exact(size).enumerate().map(label).collect();
    labels.map_err(|(at, value)| {
        Error::file(path, None, format!("label {at} is {value}, a whole number of 0 to 255 is expected"))
    })
}

/// Reads a file of targets, `[n]` or `[n, n_targets]` floating-point numbers, finite in single precision; returns them and their number for a sample.
///
/// # Errors
/// As [`read_images`].
pub(super) fn read_targets(mut source: Source<'_>) -> Result<(Vec<f32>, u32)> {
    let header = header(&mut source)?;
    let shape = header.shape_text();
    let n_targets = match header.shape[..] {
        [n] if n > 0 => Some(1),
        [n, n_targets] if n > 0 && n_targets > 0 => u32::try_from(n_targets).ok(),
        _ => None,
    };
    let n_targets = n_targets.ok_or_else(|| {
        source.wrong(format!("targets have the shape {shape}, [n] or [n, n_targets] is expected, none of them 0"))
    })?;
    let targets = numbers(source, &header, "target", n_targets)?;
    Ok((targets.into_single(), n_targets))
}

/// Reads a file of features, `[n, n_features]` floating-point numbers, finite in single precision, of more dimensions the last ones as one; returns them and their number for a sample.
///
/// # Errors
/// As [`read_images`].
pub(super) fn read_features(mut source: Source<'_>) -> Result<(Features, u32)> {
    let header = header(&mut source)?;
    let shape = header.shape_text();
    let n_features = match &header.shape[..] {
        [_, rest @ ..] if !rest.is_empty() && !header.shape.contains(&0) => {
            let product = rest.iter().fold(1, |all: u128, &n| all.saturating_mul(n.into()));
            u32::try_from(product).ok()
        }
        _ => None,
    };
    let n_features = n_features.ok_or_else(|| {
        let most = u32::MAX;
        source.wrong(format!("features have the shape {shape}, [n, n_features] is expected, of 1 to {most} features"))
    })?;
    Ok((numbers(source, &header, "feature", n_features)?, n_features))
}

/// The values of a file of floating-point numbers, `width` of each sample, all finite in single precision.
fn numbers(source: Source<'_>, header: &Header, what: &str, width: u32) -> Result<Features> {
    let (_, size, big) =
        header.kind().filter(|&(kind, size, _)| kind == b'f' && matches!(size, 4 | 8)).ok_or_else(|| {
            source.wrong(format!("{what}s have values of type {:?}, float32 or float64 is expected", header.descr))
        })?;
    let (path, n) = (source.path(), header.n_values());
    let body = source.body(n.saturating_mul(size as u128), &format!("{} of {}", header.descr, header.shape_text()))?;
    let numbers: Features = match size {
        4 => values(&body, big, f32::from_le_bytes).collect::<Vec<f32>>().into(),
        _ => values(&body, big, f64::from_le_bytes).collect::<Vec<f64>>().into(),
    };
    match numbers.single().iter().position(|value| !value.is_finite()) {
        Some(at) => {
            let (sample, number, value) = (at / width as usize, at % width as usize, numbers.at(at));
            let allowed = finite_in_single(value);
            Err(Error::file(
                path,
                None,
                format!("{what} {number} of sample {sample} is {value:?}, {allowed} is expected"),
            ))
        }
        None => Ok(numbers),
    }
}

/// Reads what stands before the values.
fn header(source: &mut Source<'_>) -> Result<Header> {
    let magic: [u8; 6] = source.take("magic")?;
    if magic != MAGIC {
        return Err(source.wrong("is not an .npy file".into()));
    }
    let [major, minor] = source.take("version")?;
    let length = match major {
        1 => u32::from(u16::from_le_bytes(source.take("header length")?)),
        2 | 3 => u32::from_le_bytes(source.take("header length")?),
        _ => return Err(source.wrong(format!("is of version {major}.{minor} of the .npy format, 1 to 3 are expected"))),
    };
    if length > MAX_HEADER {
        return Err(source.wrong(format!("the header has {length} bytes, at most {MAX_HEADER} are allowed")));
    }
    let bytes = source.take_vec(length as usize, "dictionary")?;
    let text = String::from_utf8_lossy(&bytes);
    let header =
        Dictionary { rest: text.trim_end() }.header().map_err(|reason| source.wrong(format!("the header {reason}")))?;
    if header.fortran_order {
        return Err(
            source.wrong("the array lies in Fortran's order, expected C's (numpy.ascontiguousarray gives it)".into())
        );
    }
    Ok(header)
}

/// What is left of a header's text.
struct Dictionary<'a> {
    rest: &'a str,
}

impl<'a> Dictionary<'a> {
    /// The three fields, or what is wrong.
    fn header(mut self) -> Result<Header, String> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.found('}') {
            let key = self.string()?;
            self.expect(':')?;
            let twice = match key {
                "descr" => descr.replace(self.string()?.to_string()).is_some(),
                "fortran_order" => fortran_order.replace(self.truth()?).is_some(),
                "shape" => shape.replace(self.sizes()?).is_some(),
                _ => return Err(format!("has the field {key:?}, expected descr, fortran_order and shape")),
            };
            if twice {
                return Err(format!("has the field {key:?} twice"));
            }
            if !self.found(',') {
                self.expect('}')?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err(self.other("its end"));
        }
        let missing = |name: &str| format!("has no field {name:?}");
        Ok(Header {
            descr: descr.ok_or_else(|| missing("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    /// What stands there in place of what is expected.
    fn other(&self, expected: &str) -> String {
        let next: String = self.rest.chars().take(20).collect();
        format!("has {next:?} where {expected} is expected")
    }

    /// Whether a character is next; if so it is taken.
    fn found(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        let after = self.rest.strip_prefix(wanted);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.found(wanted) { Ok(()) } else { Err(self.other(&format!("{wanted:?}"))) }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.found('\'') {
            '\''
        } else if self.found('"') {
            '"'
        } else {
            return Err(self.other("a string"));
        };
        let (text, rest) = self.rest.split_once(quote).ok_or_else(|| self.other("a closed string"))?;
        self.rest = rest;
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool, String> {
        self.rest = self.rest.trim_start();
        for (text, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(text) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.other("True or False"))
    }

    fn sizes(&mut self) -> Result<Vec<u64>, String> {
        self.expect('(')?;
        let mut sizes = Vec::new();
        while !self.found(')') {
            let end = self.rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(self.rest.len());
            let size = self.rest[..end].parse().map_err(|_| self.other("a size below 2^64"))?;
            sizes.push(size);
            if sizes.len() > MAX_DIMENSIONS {
                return Err(format!("has more than {MAX_DIMENSIONS} dimensions"));
            }
            self.rest = &self.rest[end..];
            // Python 2 wrote long numbers with an L.
            self.found('L');
            if !self.found(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let read = |text: &str| Dictionary { rest: text }.header();
        let header = |descr: &str, fortran_order, shape: &[u64]| {
            Ok(Header { descr: descr.into(), fortran_order, shape: shape.to_vec() })
        };
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }";
        assert_eq!(read(text), header("<f4", false, &[60000, 28, 28]));
        assert_eq!(read("{'shape':(3L,),'fortran_order':True,\"descr\":\"|u1\"}"), header("|u1", true, &[3]));
        assert_eq!(read("{'shape': (), 'fortran_order': False, 'descr': '>i8'}"), header(">i8", false, &[]));
        let cases = [
            ("", r#"has "" where '{' is expected"#),
            ("{}", r#"has no field "descr""#),
            ("{'descr': '<f4'}", r#"has no field "fortran_order""#),
            ("{'descr': [('a', '<f4')]}", r#"has "[('a', '<f4')]}" where a string is expected"#),
            ("{'descr': '<f4", r#"has "<f4" where a closed string is expected"#),
            ("{'shape': (1, -2)}", r#"has "-2)}" where a size below 2^64 is expected"#),
            ("{'shape': (99999999999999999999,)}", r#"has "99999999999999999999" where a size below 2^64 is expected"#),
            ("{'fortran_order': 0}", r#"has "0}" where True or False is expected"#),
            ("{'descr': 'a', 'descr': 'b'}", r#"has the field "descr" twice"#),
            ("{'other': 1}", r#"has the field "other", expected descr, fortran_order and shape"#),
            ("{'shape': (1,), 'fortran_order': False, 'descr': 'a'} x", r#"has " x" where its end is expected"#),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), Err(expected.to_string()), "{text}");
        }
    }

    /// Every quotient of a byte and 255 is that byte again, and its neighbours are no byte.
    #[test]
    fn quotients_are_their_bytes() {
        for number in 0..=255u8 {
            let value = f32::from(number) / 255.0;
            assert_eq!(byte_of_single(value), Some(number));
            assert_eq!((byte_of_single(value.next_up()), byte_of_single(value.next_down())), (None, None), "{number}");
            let value = f64::from(number) / 255.0;
            assert_eq!(byte_of_double(value), Some(number));
            assert_eq!((byte_of_double(value.next_up()), byte_of_double(value.next_down())), (None, None), "{number}");
        }
        for value in [f32::NAN, f32::INFINITY, -1.0, 0.5, 255.0] {
            assert_eq!((byte_of_single(value), byte_of_double(value.into())), (None, None), "{value}");
        }
    }
}
