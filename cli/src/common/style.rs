//! Colour, where stdout is a terminal and `NO_COLOR` is not set.

use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

/// A word in a colour.
pub struct Styled {
    word: &'static str,
    /// The colour's number in the terminal's codes.
    code: u8,
}

/// What is as it should be, in green.
pub fn good(word: &'static str) -> Styled {
    Styled { word, code: 32 }
}

/// What is wrong, in red.
pub fn bad(word: &'static str) -> Styled {
    Styled { word, code: 31 }
}

/// What is absent and may be, in yellow.
pub fn weak(word: &'static str) -> Styled {
    Styled { word, code: 33 }
}

/// Whether colours are shown.
fn shown() -> bool {
    static SHOWN: OnceLock<bool> = OnceLock::new();
    *SHOWN.get_or_init(|| io::stdout().is_terminal() && !is_refused())
}

/// Whether the user wants no colours (<https://no-color.org>).
pub fn is_refused() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

impl fmt::Display for Styled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match shown() {
            true => write!(f, "\x1b[{}m{}\x1b[0m", self.code, self.word),
            false => f.write_str(self.word),
        }
    }
}
