//! From bytes to text.

use encoding_rs::{EUC_JP, Encoding, ISO_2022_JP, SHIFT_JIS};

/// The text of a file, lines ended by `\n` alone.
///
/// A byte order mark decides; else a file is UTF-8 if it can be; else ISO-2022-JP if it has only ASCII and that code's escapes; else Shift_JIS or EUC-JP, whichever it can be.
/// A text that could be both is taken for the one which gives fewer half-width kana: the bytes of EUC-JP, read as Shift_JIS, are mostly these, and records have hardly any.
///
/// # Errors
/// The line, from 1 (0 for the whole file), and what is wrong with it, for bytes that are none of these, or several in one file.
pub(super) fn decoded(bytes: &[u8]) -> Result<String, (u64, String)> {
    let text = if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        whole(encoding, &bytes[length..])
            .ok_or_else(|| (0, format!("is not {} text, which its first bytes say it is", encoding.name())))?
    } else if let Ok(text) = std::str::from_utf8(bytes) {
        if bytes.contains(&0x1B)
            && let Some(text) = whole(ISO_2022_JP, bytes)
        {
            text
        } else {
            text.to_owned()
        }
    } else {
        let kana = |text: &String| text.chars().filter(|letter| ('\u{FF61}'..='\u{FF9F}').contains(letter)).count();
        match (whole(SHIFT_JIS, bytes), whole(EUC_JP, bytes)) {
            (Some(shift_jis), Some(euc)) if kana(&shift_jis) > kana(&euc) => euc,
            (Some(text), _) | (None, Some(text)) => text,
            (None, None) => return Err(bad_line(bytes)),
        }
    };
    if text.contains('\0') {
        return Err((0, "is not text: it has zero bytes".to_owned()));
    }
    // A copy only where one is needed: texts may be large.
    Ok(if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text })
}

fn whole(encoding: &'static Encoding, bytes: &[u8]) -> Option<String> {
    encoding.decode_without_bom_handling_and_without_replacement(bytes).map(|text| text.into_owned())
}

/// The line up to which the file could be one encoding, and after which it cannot.
fn bad_line(bytes: &[u8]) -> (u64, String) {
    // Not collected: a line of one byte would take sixteen more.
    let lines = || bytes.split(|&byte| byte == b'\n');
    let utf8 = |line: &[u8]| std::str::from_utf8(line).is_ok();
    let shift_jis = |line: &[u8]| whole(SHIFT_JIS, line).is_some();
    let euc = |line: &[u8]| whole(EUC_JP, line).is_some();
    let good = |fits: &dyn Fn(&[u8]) -> bool| lines().take_while(|line| fits(line)).count();
    let reached = [("UTF-8", good(&utf8)), ("Shift_JIS", good(&shift_jis)), ("EUC-JP", good(&euc))];
    let (encoding, before) = reached.into_iter().max_by_key(|&(_, lines)| lines).unwrap_or(("UTF-8", 0));
    let reason = match lines().nth(before) {
        Some(line) if utf8(line) || shift_jis(line) || euc(line) => {
            format!("mixed encodings: the lines before are {encoding}, this one is not")
        }
        _ => "is not UTF-8, Shift_JIS or EUC-JP text".to_owned(),
    };
    (before as u64 + 1, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "手合割：平手\n   1 ７六歩(77)\n*コメント、表示\n";

    #[test]
    fn every_encoding_is_found() {
        for encoding in [SHIFT_JIS, EUC_JP, ISO_2022_JP] {
            let (bytes, _, lossy) = encoding.encode(TEXT);
            assert!(!lossy);
            assert_eq!(decoded(&bytes).as_deref(), Ok(TEXT), "{}", encoding.name());
        }
        assert_eq!(decoded(TEXT.as_bytes()).as_deref(), Ok(TEXT));
        assert_eq!(decoded(format!("\u{FEFF}{TEXT}").as_bytes()).as_deref(), Ok(TEXT));
        let utf16: Vec<u8> =
            "\u{FEFF}".chars().chain(TEXT.chars()).flat_map(|letter| (letter as u16).to_le_bytes()).collect();
        assert_eq!(decoded(&utf16).as_deref(), Ok(TEXT));
        assert_eq!(decoded(TEXT.replace('\n', "\r\n").as_bytes()).as_deref(), Ok(TEXT));
        assert_eq!(decoded(TEXT.replace('\n', "\r").as_bytes()).as_deref(), Ok(TEXT));
    }

    #[test]
    fn mixed_encodings_are_told_with_the_line() {
        let mut bytes = TEXT.as_bytes().to_vec();
        bytes.extend_from_slice(&SHIFT_JIS.encode("*表示機能、予定\n").0);
        let (line, reason) = decoded(&bytes).unwrap_err();
        assert_eq!(line, 4);
        assert!(reason.starts_with("mixed encodings: the lines before are UTF-8"), "{reason}");
        assert_eq!(decoded(&[b'a', b'\n', 0xFF, 0xFF, 0xFF]).unwrap_err().0, 2);
    }
}
