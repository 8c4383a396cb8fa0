//! From bytes to lines of text.

use encoding_rs::{Decoder, DecoderResult, EUC_JP, Encoding, ISO_2022_JP, SHIFT_JIS, UTF_8};

use super::content::{Content, Unpacked};

/// Maximum length of a line in bytes of UTF-8; a game in USI is one line of some kilobytes.
const LONGEST: usize = 1 << 20;

/// An error: the line from 1, or 0 for the whole file, and the description.
pub(super) type Wrong = (u64, String);

/// How a file's bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coding {
    encoding: &'static Encoding,
    /// Bytes of the byte order mark.
    mark: usize,
}

/// The encoding of a file. All of it is read.
///
/// A byte order mark decides. Otherwise a file is UTF-8 if it is valid UTF-8; else ISO-2022-JP if it has only ASCII and the escapes of that code; else Shift_JIS or EUC-JP,
/// whichever is valid. If both are valid, the one with fewer half-width kana is chosen: EUC-JP read as Shift_JIS consists mostly of these, and records contain hardly any.
///
/// # Errors
/// Bytes in none of these encodings, several encodings in one file, or zero bytes; a file that cannot be read.
pub(super) fn of(content: Content<'_>) -> Result<Coding, Wrong> {
    let mut bytes = content.open().map_err(whole)?;
    let marked = Encoding::for_bom(bytes.piece().map_err(whole)?);
    let encodings = match marked {
        Some((encoding, _)) => vec![encoding],
        None => vec![UTF_8, ISO_2022_JP, SHIFT_JIS, EUC_JP],
    };
    let mut attempts: Vec<Attempt> = encodings.into_iter().map(Attempt::new).collect();
    let mark = marked.map_or(0, |(_, mark)| mark);
    bytes.consume(mark);
    let mut has_escapes = false;
    loop {
        let piece = bytes.piece().map_err(whole)?;
        let (length, is_last) = (piece.len(), piece.is_empty());
        has_escapes |= piece.contains(&0x1B);
        for attempt in &mut attempts {
            attempt.add(piece, is_last);
        }
        if is_last {
            break;
        }
        bytes.consume(length);
    }
    let taken = match attempts.as_slice() {
        [utf8, iso, shift_jis, euc] => match (utf8.fits, shift_jis.fits, euc.fits) {
            (true, ..) if has_escapes && iso.fits => iso,
            (true, ..) => utf8,
            (false, true, true) if shift_jis.kana > euc.kana => euc,
            (false, true, _) => shift_jis,
            (false, false, true) => euc,
            (false, false, false) => return Err(bad_line(content, [utf8, shift_jis, euc])),
        },
        [marked] if marked.fits => marked,
        _ => {
            let name = attempts[0].encoding.name();
            return Err(whole(format!("is not {name} text, which its first bytes say it is")));
        }
    };
    if taken.has_zeros {
        return Err(whole("is not text: it has zero bytes".to_owned()));
    }
    Ok(Coding { encoding: taken.encoding, mark })
}

fn whole(reason: String) -> Wrong {
    (0, reason)
}

/// The result of decoding a file with one encoding.
struct Attempt {
    encoding: &'static Encoding,
    decoder: Decoder,
    /// The text decoded last.
    text: String,
    fits: bool,
    /// Number of lines before the first invalid one.
    lines: u64,
    /// Number of half-width kana.
    kana: u64,
    has_zeros: bool,
}

impl Attempt {
    fn new(encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_without_bom_handling();
        Self { encoding, decoder, text: String::new(), fits: true, lines: 0, kana: 0, has_zeros: false }
    }

    fn add(&mut self, mut piece: &[u8], is_last: bool) {
        while self.fits {
            let (read, is_done) = match decoded(&mut self.decoder, piece, &mut self.text, is_last) {
                Some(progress) => progress,
                None => {
                    self.fits = false;
                    (0, true)
                }
            };
            self.lines += self.text.bytes().filter(|&byte| byte == b'\n').count() as u64;
            self.has_zeros |= self.text.contains('\0');
            if !self.text.is_ascii() {
                self.kana +=
                    self.text.chars().filter(|letter| ('\u{FF61}'..='\u{FF9F}').contains(letter)).count() as u64;
            }
            if is_done {
                return;
            }
            piece = &piece[read..];
        }
    }
}

/// Decodes the beginning of a piece to `text`, replacing its content; returns the number of bytes, and whether those were all. `None` for invalid bytes; `text` then holds
/// the text before them.
fn decoded(decoder: &mut Decoder, piece: &[u8], text: &mut String, is_last: bool) -> Option<(usize, bool)> {
    text.clear();
    // Room for some characters at least, or it would never go on.
    text.reserve(piece.len().max(64));
    let (result, read) = decoder.decode_to_string_without_replacement(piece, text, is_last);
    match result {
        DecoderResult::InputEmpty => Some((read, true)),
        DecoderResult::OutputFull => Some((read, false)),
        DecoderResult::Malformed(..) => None,
    }
}

/// The first line that rules out every encoding.
fn bad_line(content: Content<'_>, attempts: [&Attempt; 3]) -> Wrong {
    let furthest = attempts.iter().max_by_key(|attempt| attempt.lines).map_or((UTF_8, 0), |a| (a.encoding, a.lines));
    let (encoding, before) = furthest;
    let line = match line_of(content, before) {
        Ok(line) => line,
        Err(reason) => return whole(reason),
    };
    let fits =
        |attempt: &&Attempt| attempt.encoding.decode_without_bom_handling_and_without_replacement(&line).is_some();
    let reason = match attempts.iter().any(fits) {
        true => format!("mixed encodings: the lines before are {}, this one is not", encoding.name()),
        false => "is not UTF-8, Shift_JIS or EUC-JP text".to_owned(),
    };
    (before + 1, reason)
}

/// The bytes of the line after `before` others, or of its beginning if it is long.
fn line_of(content: Content<'_>, mut before: u64) -> Result<Vec<u8>, String> {
    let mut bytes = content.open()?;
    let mut line = Vec::new();
    loop {
        let piece = bytes.piece()?;
        let length = piece.len();
        for &byte in piece {
            match (byte, before) {
                (b'\n', 0) => return Ok(line),
                (b'\n', _) => before -= 1,
                (byte, 0) => line.push(byte),
                _ => {}
            }
            if line.len() > LONGEST {
                return Ok(line);
            }
        }
        if length == 0 {
            return Ok(line);
        }
        bytes.consume(length);
    }
}

/// The lines of a file, one after the other; they end with `\n`, `\r\n` or `\r`.
pub(super) struct Lines<'a> {
    bytes: Unpacked<'a>,
    decoder: Decoder,
    /// Decoded text, of which `at` bytes have been consumed.
    text: String,
    at: usize,
    /// Whether all text has been read.
    is_over: bool,
    /// Whether the last line ended with `\r`, so that a following `\n` belongs to it.
    after_return: bool,
    number: u64,
}

impl<'a> Lines<'a> {
    /// Starts reading.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn open(content: Content<'a>, coding: Coding) -> Result<Self, Wrong> {
        let mut bytes = content.open().map_err(whole)?;
        let first = bytes.piece().map_err(whole)?.len();
        bytes.consume(coding.mark.min(first));
        let decoder = coding.encoding.new_decoder_without_bom_handling();
        Ok(Self { bytes, decoder, text: String::new(), at: 0, is_over: false, after_return: false, number: 0 })
    }

    /// The next line without its end, and its number from 1; `None` after the last.
    ///
    /// # Errors
    /// A line of more than 2²⁰ bytes; a file that cannot be read further, or that has changed since.
    pub fn next(&mut self) -> Result<Option<(u64, String)>, Wrong> {
        self.number += 1;
        let mut line = String::new();
        loop {
            if self.after_return && self.at < self.text.len() {
                self.at += usize::from(self.text.as_bytes()[self.at] == b'\n');
                self.after_return = false;
            }
            let rest = &self.text[self.at..];
            if let Some(length) = rest.find(['\n', '\r']) {
                self.after_return = rest.as_bytes()[length] == b'\r';
                line.push_str(&rest[..length]);
                self.at += length + 1;
                return Ok(Some((self.number, line)));
            }
            line.push_str(rest);
            self.at = self.text.len();
            if line.len() > LONGEST {
                return Err((self.number, format!("a line of more than {LONGEST} bytes: what follows is not read")));
            }
            if self.is_over {
                return Ok((!line.is_empty()).then_some((self.number, line)));
            }
            self.decode()?;
        }
    }

    /// Decodes the next piece.
    fn decode(&mut self) -> Result<(), Wrong> {
        self.at = 0;
        let piece = self.bytes.piece().map_err(|reason| (self.number, reason))?;
        let is_last = piece.is_empty();
        let Some((read, is_done)) = decoded(&mut self.decoder, piece, &mut self.text, is_last) else {
            return Err((self.number, "is another text than it was when its encoding was found".to_owned()));
        };
        self.bytes.consume(read);
        self.is_over = is_last && is_done;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "手合割：平手\n   1 ７六歩(77)\n*コメント、表示\n";

    /// Its lines, each ended by `\n`.
    fn text(bytes: &[u8]) -> Result<String, Wrong> {
        let mut lines = Lines::open(Content::Bytes(bytes), of(Content::Bytes(bytes))?)?;
        let mut text = String::new();
        while let Some((_, line)) = lines.next()? {
            text += &line;
            text.push('\n');
        }
        Ok(text)
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_encoding_is_found() {
        for encoding in [SHIFT_JIS, EUC_JP, ISO_2022_JP] {
            let (bytes, _, lossy) = encoding.encode(TEXT);
            assert!(!lossy);
            assert_eq!(text(&bytes).as_deref(), Ok(TEXT), "{}", encoding.name());
            assert_eq!(text(&packed(&bytes)).as_deref(), Ok(TEXT), "{}", encoding.name());
        }
        assert_eq!(text(TEXT.as_bytes()).as_deref(), Ok(TEXT));
        assert_eq!(text(format!("\u{FEFF}{TEXT}").as_bytes()).as_deref(), Ok(TEXT));
        let utf16: Vec<u8> =
            "\u{FEFF}".chars().chain(TEXT.chars()).flat_map(|letter| (letter as u16).to_le_bytes()).collect();
        assert_eq!(text(&utf16).as_deref(), Ok(TEXT));
        assert_eq!(text(TEXT.replace('\n', "\r\n").as_bytes()).as_deref(), Ok(TEXT));
        assert_eq!(text(TEXT.replace('\n', "\r").as_bytes()).as_deref(), Ok(TEXT));
        assert_eq!(text(b"").as_deref(), Ok(""));
        assert_eq!(text(b"\r\n\na").as_deref(), Ok("\n\na\n"));
    }

    /// Characters, line ends and escapes lie across the pieces, whatever their number.
    #[test]
    fn long_texts_are_read_in_pieces() {
        for encoding in [UTF_8, SHIFT_JIS, EUC_JP, ISO_2022_JP] {
            for lead in 0..4 {
                let long = "x".repeat(lead) + &TEXT.repeat(4000);
                for ended in [long.clone(), long.replace('\n', "\r\n")] {
                    let bytes = encoding.encode(&ended).0;
                    assert!(bytes.len() > 2 << 16);
                    assert!(text(&bytes).as_deref() == Ok(&long), "{} {lead}", encoding.name());
                    assert!(text(&packed(&bytes)).as_deref() == Ok(&long), "{} {lead}, packed", encoding.name());
                }
            }
        }
    }

    #[test]
    fn mixed_encodings_are_told_with_the_line() {
        let mut bytes = TEXT.as_bytes().to_vec();
        bytes.extend_from_slice(&SHIFT_JIS.encode("*表示機能、予定\n").0);
        let (line, reason) = text(&bytes).unwrap_err();
        assert_eq!(line, 4);
        assert!(reason.starts_with("mixed encodings: the lines before are UTF-8"), "{reason}");
        assert_eq!(text(&[b'a', b'\n', 0xFF, 0xFF, 0xFF]).unwrap_err().0, 2);
        assert_eq!(text(b"a\0b").unwrap_err(), (0, "is not text: it has zero bytes".to_owned()));
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_in_memory() {
        let longest = "x".repeat(LONGEST);
        assert_eq!(text(longest.as_bytes()).map(|text| text.len()), Ok(LONGEST + 1));
        let (line, reason) = text(&packed(format!("a\n{}", longest.repeat(3)).as_bytes())).unwrap_err();
        assert_eq!((line, reason.as_str()), (2, "a line of more than 1048576 bytes: what follows is not read"));
    }
}
