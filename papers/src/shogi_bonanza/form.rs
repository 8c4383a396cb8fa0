//! What holds the children.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use warpplay::shogi::material::Engine;
use warpplay::{Error, Result};

/// The paper's forms of its children, and the engines of `warpplay` beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Positions of 96 bytes, a block of 96 threads each, as in the paper.
    Paper,
    /// The same with 95 bytes a position, so that positions do not begin where the hardware's sectors do.
    Paper95,
    /// An engine of [`Material`](warpplay::shogi::material::Material).
    Engine(Engine),
}

impl Form {
    /// All of them, but the engine `auto`.
    pub const ALL: &'static [Self] = &[
        Self::Paper,
        Self::Paper95,
        Self::Engine(Engine::Persistent),
        Self::Engine(Engine::Plain),
        Self::Engine(Engine::Fused),
        Self::Engine(Engine::Histogram),
    ];

    /// The name that is written and read.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Paper95 => "paper95",
            Self::Engine(engine) => engine.name(),
        }
    }

    /// Bytes of a position of the paper's forms.
    pub(super) const fn stride(self) -> Option<usize> {
        match self {
            Self::Paper => Some(96),
            Self::Paper95 => Some(95),
            Self::Engine(_) => None,
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Form {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|form| form.name() == text);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|form| form.name()).collect();
            Error::option("form", text, names.join(", "))
        })
    }
}

impl Serialize for Form {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for &form in Form::ALL {
            assert_eq!(form.to_string().parse::<Form>().unwrap(), form);
        }
        let error = "fast".parse::<Form>().unwrap_err().to_string();
        assert_eq!(error, "option form: fast is not allowed (paper, paper95, persistent, plain, fused, histogram)");
    }
}
