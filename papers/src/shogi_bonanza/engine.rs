//! The engines of the paper's job.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use warpplay::shogi::material::Engine;
use warpplay::{Error, Result};

/// What holds the children and evaluates them: the two layouts of the paper, and the engines of `warpplay`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaperEngine {
    /// Positions of 96 bytes, a block of 96 threads each, as in the paper.
    Paper,
    /// The same with 95 bytes a position, so that positions do not begin where the hardware's sectors do.
    Paper95,
    /// An engine of [`Material`](warpplay::shogi::material::Material).
    Warpplay(Engine),
}

impl PaperEngine {
    /// All of them, but the engine `auto`.
    pub const ALL: &'static [Self] = &[
        Self::Paper,
        Self::Paper95,
        Self::Warpplay(Engine::Persistent),
        Self::Warpplay(Engine::Plain),
        Self::Warpplay(Engine::Fused),
        Self::Warpplay(Engine::Histogram),
    ];

    /// The name that is written and read.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Paper95 => "paper95",
            Self::Warpplay(engine) => engine.name(),
        }
    }
}

impl fmt::Display for PaperEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PaperEngine {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|engine| engine.name() == text);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|engine| engine.name()).collect();
            Error::option("engine", text, names.join(", "))
        })
    }
}

impl Serialize for PaperEngine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for &engine in PaperEngine::ALL {
            assert_eq!(engine.to_string().parse::<PaperEngine>().unwrap(), engine);
        }
        let error = "fast".parse::<PaperEngine>().unwrap_err().to_string();
        assert_eq!(error, "option engine: fast is not allowed (paper, paper95, persistent, plain, fused, histogram)");
    }
}
