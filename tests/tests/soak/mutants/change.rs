//! How a file is changed.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use warpplay_tests::random::Random;

/// What a file is made of: what is changed in it besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Bytes.
    Bytes,
    /// Lines of words and numbers.
    Text,
    /// Safetensors: a length, a header of JSON that may hold JSON, tensors.
    Tensors,
    /// A text, packed with gzip.
    Packed,
    /// A PNG image, whose parts have checksums.
    Png,
}

/// What numbers are replaced by: the ends of types, what is no number, and what is something else.
const NUMBERS: [&str; 26] = [
    "-1",
    "0",
    "1",
    "2",
    "3",
    "7",
    "255",
    "256",
    "65535",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "18446744073709551615",
    "1e308",
    "-1e308",
    "1e999",
    "0.5",
    "1e-320",
    "NaN",
    "Infinity",
    "null",
    "\"x\"",
    "[]",
    "true",
];

/// Words in binary files: counts and sizes that are absurd.
const WORDS: [u64; 10] = [
    0,
    1,
    0xFF,
    0xFFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    0x1_0000_0000,
    0x7FFF_FFFF_FFFF_FFFF,
    u64::MAX,
    0x7FF0_0000_7F80_0000,
];

/// A changed copy of a file: one change in half of them, so that all else is right, and up to four.
pub fn mutant(seed: &[u8], form: Form, random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..[1, 1, 2, 4][random.below(4)] {
        let is_raw = random.below(4) == 0;
        bytes = match form {
            _ if is_raw || form == Form::Bytes => in_bytes(bytes, random),
            Form::Text => in_text(bytes, random),
            Form::Tensors => in_tensors(bytes, random),
            Form::Packed => in_packed(bytes, random),
            Form::Png => with_sums(in_bytes(bytes, random)),
            Form::Bytes => bytes,
        };
    }
    bytes
}

/// An offset among so many bytes: half of them lie at the beginning, where sizes and versions stand.
fn offset(n: usize, random: &mut Random) -> usize {
    match n {
        0 => 0,
        _ if random.below(2) == 0 => random.below(n.min(96)),
        _ => random.below(n),
    }
}

/// A stretch of at most so many bytes.
fn stretch(n: usize, most: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = offset(n, random);
    start..(start + 1 + random.below(most)).min(n)
}

fn in_bytes(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let n = bytes.len();
    if n == 0 {
        return vec![random.u31() as u8; random.below(9)];
    }
    let at = offset(n, random);
    match random.below(9) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = [0, 0xFF, 0x7F, 0x80, random.u31() as u8][random.below(5)],
        2 => bytes.truncate(random.below(n)),
        3 => {
            let inserted: Vec<u8> = (0..1 + random.below(16)).map(|_| random.u31() as u8).collect();
            drop(bytes.splice(at..at, inserted));
        }
        4 => drop(bytes.drain(stretch(n, 64, random))),
        5 => {
            let copied = bytes[stretch(n, 256, random)].to_vec();
            drop(bytes.splice(at..at, copied));
        }
        6 => {
            let (from, to) = (stretch(n, 32, random), offset(n, random));
            bytes.copy_within(from.start..from.end.min(from.start + n - to), to);
        }
        7 => bytes.extend((0..1 + random.below(64)).map(|at| at as u8)),
        _ => {
            // A word of 4 or 8 bytes, of both orders.
            let word = WORDS[random.below(WORDS.len())];
            let width = [4, 8][random.below(2)];
            let at = (at & !3).min(n.saturating_sub(width));
            let word = if random.below(2) == 0 { word.to_le_bytes() } else { word.to_be_bytes() };
            let word = if word[0] == 0 { &word[8 - width..] } else { &word[..width] };
            let end = (at + width).min(n);
            bytes[at..end].copy_from_slice(&word[..end - at]);
        }
    }
    bytes
}

/// The numbers of a text: digits with what may belong to them.
fn numbers(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if !text[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let start = if at > 0 && text[at - 1] == b'-' { at - 1 } else { at };
        while text.get(at).is_some_and(|&c| c.is_ascii_digit() || b".eE+-".contains(&c)) {
            at += 1;
        }
        found.push(start..at);
    }
    found
}

fn in_text(mut text: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let numbers = numbers(&text);
    let lines: Vec<Vec<u8>> = text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    match random.below(8) {
        0..4 if !numbers.is_empty() => {
            let number = numbers[random.below(numbers.len())].clone();
            drop(text.splice(number, NUMBERS[random.below(NUMBERS.len())].bytes()));
        }
        4 if numbers.len() > 1 => {
            // Two numbers are exchanged: lengths, seats, offsets.
            let (a, b) = (numbers[random.below(numbers.len())].clone(), numbers[random.below(numbers.len())].clone());
            let (first, second) = if a.start <= b.start { (a, b) } else { (b, a) };
            if first.end <= second.start {
                let (one, two) = (text[first.clone()].to_vec(), text[second.clone()].to_vec());
                drop(text.splice(second, one));
                drop(text.splice(first, two));
            }
        }
        5 if lines.len() > 1 => {
            let (a, b) = (random.below(lines.len()), random.below(lines.len()));
            let mut lines = lines;
            match random.below(3) {
                0 => drop(lines.remove(a)),
                1 => lines.insert(b, lines[a].clone()),
                _ => lines.swap(a, b),
            }
            text = lines.concat();
        }
        6 => {
            // What nests, what has several bytes, what is long.
            let at = offset(text.len() + 1, random).min(text.len());
            let inserted = match random.below(6) {
                0 => "[".repeat(100_000),
                1 => "{\"a\":".repeat(50_000),
                2 => "9".repeat(1 + random.below(400)),
                3 => "x".repeat(70_000),
                4 => "\u{feff}将\u{0}é".to_string(),
                _ => " \t\r\n".repeat(5),
            };
            drop(text.splice(at..at, inserted.bytes()));
        }
        _ => text = in_bytes(text, random),
    }
    text
}

/// The header and the tensors of a safetensors file; `None` where it has none.
fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    Some((bytes.get(8..length.checked_add(8)?)?, bytes.get(8 + length..)?))
}

fn joined(header: &[u8], tensors: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header, tensors].concat()
}

fn in_tensors(bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let Some((header, tensors)) = parts(&bytes) else { return in_bytes(bytes, random) };
    match random.below(4) {
        // The header, of its new length.
        0 => joined(&in_text(header.to_vec(), random), tensors),
        // A line of the metadata, which may be JSON in itself.
        1 | 2 => {
            let Ok(mut value) = serde_json::from_slice::<Value>(header) else { return in_bytes(bytes, random) };
            let Some(lines) = value.get_mut("__metadata__").and_then(Value::as_object_mut) else {
                return joined(&in_text(header.to_vec(), random), tensors);
            };
            let n = lines.len().max(1);
            if let Some(line) = lines.values_mut().nth(random.below(n)) {
                let changed = in_text(line.as_str().unwrap_or_default().as_bytes().to_vec(), random);
                *line = String::from_utf8_lossy(&changed).into_owned().into();
            }
            let mut header = value.to_string().into_bytes();
            header.resize(header.len().next_multiple_of(8), b' ');
            joined(&header, tensors)
        }
        // Elements: what is no number, infinities, counts.
        _ => {
            let mut tensors = tensors.to_vec();
            for _ in 0..=random.below(3) {
                let word = WORDS[random.below(WORDS.len())].to_le_bytes();
                let width = [2, 4, 8][random.below(3)].min(tensors.len());
                let at = if tensors.len() > width { random.below(tensors.len() - width) & !(width - 1) } else { 0 };
                tensors[at..at + width].copy_from_slice(&word[..width]);
            }
            joined(header, &tensors)
        }
    }
}

fn in_packed(bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    if GzDecoder::new(&bytes[..]).read_to_end(&mut text).is_err() {
        return in_bytes(bytes, random);
    }
    packed(&in_text(text, random))
}

/// Packs with gzip.
pub fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).and_then(|()| packer.finish()).expect("memory takes it")
}

/// Gives the parts of a PNG image their checksums, as far as it has parts.
fn with_sums(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut at = 8;
    while let Some(length) = bytes.get(at..at + 4).and_then(|word| word.first_chunk().copied()).map(u32::from_be_bytes)
    {
        let Some(end) = usize::try_from(length).ok().and_then(|length| (at + 8).checked_add(length)) else { break };
        let Some(part) = bytes.get(at + 4..end) else { break };
        let mut sum = flate2::Crc::new();
        sum.update(part);
        let Some(checksum) = bytes.get_mut(end..end + 4) else { break };
        checksum.copy_from_slice(&sum.sum().to_be_bytes());
        at = end + 4;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_with_their_signs() {
        let text = b"a -12.5e3, 7]x";
        let found: Vec<&[u8]> = numbers(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, [&b"-12.5e3"[..], b"7"]);
    }

    #[test]
    fn a_mutant_is_the_same_from_the_same_seed_and_can_be_of_any_file() {
        for form in [Form::Bytes, Form::Text, Form::Tensors, Form::Packed, Form::Png] {
            for seed in 0..300 {
                for file in [&b""[..], b"x", b"1 2\n3 4\n", &[0xFF; 40], &packed(b"{\"a\": 1}")] {
                    let of = || mutant(file, form, &mut Random(seed));
                    assert_eq!(of(), of());
                }
            }
        }
    }
}
