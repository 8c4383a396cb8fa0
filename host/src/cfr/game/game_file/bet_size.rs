//! Sizes of bets and raises of a no-limit game.

use std::fmt;
use std::str::FromStr;

use warpplay_cpu_ref::cfr::poker;

use super::MAX_CHIPS;
use crate::{Error, Result};

/// A size of a bet or raise: what the seat puts in beyond a call.
///
/// A raise is to a whole number of chips: parts of the pot are rounded to the nearest one, halves up. What is below the smallest raise of the rules becomes it, and what is above the stack
/// is all-in; equal ones count once. As text `0.5` or `50%` is half the pot, `20c` are 20 chips, `allin` (or `a`) is all-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BetSize {
    /// Thousandths of the pot as it would be after a call; 1 to 20,000.
    Pot(u32),
    /// Chips beyond the highest bet; at least 1.
    Chips(u32),
    /// All that the seat has.
    AllIn,
}

/// Most thousandths of the pot.
const MOST_PARTS: u32 = 20_000;

impl BetSize {
    pub(super) const ALLOWED: &str =
        "parts of the pot as 0.5 or 50% (0.001 to 20 pots), chips as 20c (1 to 2147483647), or allin";

    /// Whether the number is one that a file may have.
    pub(super) fn is_allowed(&self) -> bool {
        match *self {
            Self::Pot(parts) => (1..=MOST_PARTS).contains(&parts),
            Self::Chips(chips) => (1..=MAX_CHIPS).contains(&chips),
            Self::AllIn => true,
        }
    }

    /// The total to which it raises: of a seat with `stack` chips over `highest`, the highest bet, and a pot of `pot` chips after a call; before the smallest raise and the stack limit
    /// it.
    pub(in crate::cfr) fn total(self, highest: u64, pot: u64, stack: u64) -> u64 {
        match self {
            Self::Pot(parts) => highest.saturating_add(pot.saturating_mul(parts.into()).saturating_add(500) / 1000),
            Self::Chips(chips) => highest.saturating_add(chips.into()),
            Self::AllIn => stack,
        }
    }
}

impl FromStr for BetSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = |pots: f64| {
            let parts = (pots * 1000.0).round();
            // Finer parts would not come back from the text.
            ((pots * 1000.0 - parts).abs() < 1e-6 && (1.0..=f64::from(MOST_PARTS)).contains(&parts))
                .then_some(parts as u32)
        };
        let number = |text: &str| text.parse::<f64>().ok();
        let size = match text.to_ascii_lowercase().as_str() {
            "allin" | "all-in" | "a" => Some(Self::AllIn),
            text => match (text.strip_suffix('%'), text.strip_suffix('c')) {
                (Some(percent), _) => number(percent).and_then(|percent| parts(percent / 100.0)).map(Self::Pot),
                (_, Some(chips)) => chips.parse().ok().map(Self::Chips),
                _ => number(text).and_then(parts).map(Self::Pot),
            },
        };
        size.filter(Self::is_allowed).ok_or_else(|| Error::option("betSizes", format!("'{text}'"), Self::ALLOWED))
    }
}

impl fmt::Display for BetSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pot(parts) => write!(f, "{}", f64::from(*parts) / 1000.0),
            Self::Chips(chips) => write!(f, "{chips}c"),
            Self::AllIn => f.write_str("allin"),
        }
    }
}

/// Converts a size to that of the plain implementation.
impl From<BetSize> for poker::Bet {
    fn from(size: BetSize) -> Self {
        match size {
            BetSize::Pot(parts) => Self::Pot(parts),
            BetSize::Chips(chips) => Self::Chips(chips),
            BetSize::AllIn => Self::AllIn,
        }
    }
}
