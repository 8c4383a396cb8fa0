//! Sizes of bets and raises.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cfr::game::betting::rounded_chips;
use crate::runtime::error::shown_number;
use crate::{Error, Result};

/// The largest bet as a multiple of the pot, other than all-in: a larger number was most likely meant as percent.
const LARGEST_PART: f64 = 20.0;
/// The largest raise as a multiple of the bet before it, likewise.
const LARGEST_MULTIPLE: f64 = 20.0;
/// Most bets of a geometric size.
const MOST_BETS: u32 = 10;
/// The least bet, stack or pot in chips: histories write chips with nine decimals.
pub(super) const LEAST_CHIPS: f64 = 1e-9;
/// The largest bet, stack or pot in chips.
pub(super) const MOST_CHIPS: f64 = 1e9;

/// Sizes of both seats: one list for both, or a list for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "Vec<serde_json::Value>")]
pub enum SeatSizes {
    /// The same for both.
    Both(Vec<BetSize>),
    /// Of seat 0 and of seat 1.
    Each([Vec<BetSize>; 2]),
}

impl TryFrom<Vec<serde_json::Value>> for SeatSizes {
    type Error = String;

    fn try_from(values: Vec<serde_json::Value>) -> Result<Self, String> {
        let list = |values: Vec<serde_json::Value>| values.into_iter().map(BetSize::of_json).collect::<Result<_, _>>();
        if !values.iter().any(serde_json::Value::is_array) {
            return list(values).map(Self::Both);
        }
        let of_seat = |value| match value {
            serde_json::Value::Array(values) => list(values),
            value => Err(format!("{value} beside a list is not allowed (sizes for both seats, or a list for each)")),
        };
        let lists: Vec<_> = values.into_iter().map(of_seat).collect::<Result<_, _>>()?;
        let n_lists = lists.len();
        lists
            .try_into()
            .map(Self::Each)
            .map_err(|_| format!("{n_lists} lists of sizes are not allowed (one for each of 2 seats)"))
    }
}

impl SeatSizes {
    pub(super) fn of(&self, seat: usize) -> &[BetSize] {
        match self {
            Self::Both(sizes) => sizes,
            Self::Each(sizes) => &sizes[seat],
        }
    }
}

/// The size of a bet or raise.
///
/// | JSON | a bet of | a raise |
/// |---|---|---|
/// | `0.5`, `"50%"` | half the pot | by half the pot after the call |
/// | `"20c"` | 20 chips | to 20 chips of its player on this street |
/// | `"2.5x"` | not allowed | to 2.5 times the bet or raise before it, both counted on this street |
/// | `"2e"` | the fraction of the pot with which two bets, this one and one more, put in the whole stack | by that fraction of the pot after the call |
/// | `"e"` | the same with one bet for each street left | likewise |
/// | `"3e150%"`, `"e150%"` | geometric, but at most 150 % of the pot | likewise |
/// | `"all-in"`, `"a"` | all chips | to all chips |
///
/// A size above the stack is all-in. A raise adds at least as much as the bet or raise before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value", into = "SizeJson")]
pub enum BetSize {
    /// This fraction of the pot; for a raise, of the pot after the call.
    Pot(f64),
    /// A bet of so many chips, or a raise to so many; bets of earlier streets do not count.
    Chips(f64),
    /// A raise to this multiple of the bet or raise before it.
    Multiple(f64),
    /// The same part of the pot in each of several bets, of which the last is all-in.
    Geometric {
        /// The number of bets; `None` for as many as there are streets left.
        bets: Option<u32>,
        /// The largest bet in per cent of the pot.
        most_percent: Option<f64>,
    },
    /// All chips.
    AllIn,
}

/// The two forms in JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum SizeJson {
    Pot(f64),
    Text(String),
}

/// A number in digits: no `inf`, and no exponent, which would look like a geometric size.
fn number(text: &str) -> Option<f64> {
    let is_plain = text.chars().all(|letter| letter.is_ascii_digit() || "+-.".contains(letter));
    text.parse().ok().filter(|_| is_plain)
}

impl BetSize {
    pub(super) fn of_json(value: serde_json::Value) -> Result<Self, String> {
        let size = match &value {
            serde_json::Value::Number(number) => number.as_f64().map(Self::Pot),
            serde_json::Value::String(text) => Self::of_text(text.trim()),
            _ => None,
        };
        size.ok_or_else(|| {
            format!(
                "size {value} is not allowed (a part of the pot such as 0.5 or \"50%\", chips \"20c\", a multiple \"2.5x\" \
                 of the bet that is raised, geometric \"e\", \"2e\" or \"3e150%\", or \"all-in\")"
            )
        })
    }

    fn of_text(text: &str) -> Option<Self> {
        if matches!(text, "all-in" | "a") {
            return Some(Self::AllIn);
        }
        if let Some((bets, most)) = text.split_once('e') {
            let bets = if bets.is_empty() { None } else { Some(bets.parse().ok()?) };
            let most_percent = if most.is_empty() { None } else { Some(number(most.strip_suffix('%')?)?) };
            return Some(Self::Geometric { bets, most_percent });
        }
        let unit = text.chars().last()?;
        let value = number(text.strip_suffix(unit)?.trim_end())?;
        match unit {
            '%' => Some(Self::Pot(value / 100.0)),
            'c' => Some(Self::Chips(value)),
            'x' => Some(Self::Multiple(value)),
            _ => None,
        }
    }
}

impl fmt::Display for BetSize {
    /// Prints the form of JSON, without quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pot(part) => write!(f, "{part}"),
            Self::Chips(chips) => write!(f, "{chips}c"),
            Self::Multiple(multiple) => write!(f, "{multiple}x"),
            Self::Geometric { bets, most_percent } => {
                bets.map_or(Ok(()), |bets| write!(f, "{bets}"))?;
                f.write_str("e")?;
                most_percent.map_or(Ok(()), |percent| write!(f, "{percent}%"))
            }
            Self::AllIn => f.write_str("all-in"),
        }
    }
}

impl TryFrom<serde_json::Value> for BetSize {
    type Error = String;

    fn try_from(value: serde_json::Value) -> Result<Self, String> {
        Self::of_json(value)
    }
}

impl From<BetSize> for SizeJson {
    fn from(size: BetSize) -> Self {
        match size {
            BetSize::Pot(part) => Self::Pot(part),
            size => Self::Text(size.to_string()),
        }
    }
}

/// What the size of a bet or raise depends on. All chips but `dead` are those that a seat has put in since the start of the spot.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// Chips in the pot at the start of the spot.
    pub dead: f64,
    /// Those of each seat at the start of the street.
    pub street_start: f64,
    /// The highest bet.
    pub highest: f64,
    /// The amount by which the last bet or raise increased the highest bet.
    pub increase: f64,
    /// All that a seat has.
    pub stack: f64,
    /// This street and the streets to come.
    pub streets_left: u32,
}

impl Turn {
    /// The pot after a call of the highest bet.
    pub fn pot(&self) -> f64 {
        self.dead + 2.0 * self.highest
    }

    /// The total to which a size leads, not above the stack.
    pub fn total(&self, size: BetSize) -> f64 {
        let least = self.highest + self.increase;
        let behind = self.stack - self.highest;
        let to = match size {
            BetSize::AllIn => self.stack,
            BetSize::Pot(part) => self.highest + part * self.pot(),
            BetSize::Chips(chips) => self.street_start + chips,
            BetSize::Multiple(multiple) => self.street_start + multiple * (self.highest - self.street_start),
            BetSize::Geometric { bets, most_percent } => {
                // A bet of part p that is called makes a pot of 1 + 2p; all bets together make pot + 2 · stack.
                let bets = bets.unwrap_or(self.streets_left);
                let growth = (1.0 + 2.0 * behind / self.pot()).powf(1.0 / f64::from(bets));
                let bet = if bets == 1 { behind } else { (growth - 1.0) / 2.0 * self.pot() };
                let most = most_percent.map_or(f64::INFINITY, |percent| percent / 100.0 * self.pot());
                self.highest + bet.min(most)
            }
        };
        let to = to.max(least);
        // What is all-in but for rounding is all-in.
        if rounded_chips(to) >= rounded_chips(self.stack) { self.stack } else { to }
    }
}

/// Checks a size of a field, in a spot with this pot. Only raises may be a multiple of the bet before.
pub(super) fn check(pot: f64, name: &'static str, size: BetSize, is_raise: bool) -> Result<()> {
    let refuse = |allowed: String| Err(Error::option(name, size, allowed));
    match size {
        BetSize::AllIn => Ok(()),
        BetSize::Pot(part) => {
            // It may have been written in either form.
            let percent = rounded_chips(100.0 * part);
            let shown = shown_number(part);
            let both = format!("{shown} ({}%)", shown_number(percent));
            check_part(pot, name, part, if percent > 100.0 { both } else { shown })
        }
        BetSize::Chips(chips) if (LEAST_CHIPS..=MOST_CHIPS).contains(&chips) => Ok(()),
        BetSize::Chips(_) => refuse(format!("{LEAST_CHIPS:e} to {MOST_CHIPS:e} chips")),
        BetSize::Multiple(_) if !is_raise => {
            refuse("a multiple only in raise_sizes: before a bet there is none".into())
        }
        BetSize::Multiple(multiple) if multiple > 1.0 && multiple <= LARGEST_MULTIPLE => Ok(()),
        BetSize::Multiple(_) => refuse(format!("more than 1x, at most {LARGEST_MULTIPLE}x")),
        BetSize::Geometric { bets: Some(bets), .. } if !(1..=MOST_BETS).contains(&bets) => {
            refuse(format!("1 to {MOST_BETS} bets before the e"))
        }
        BetSize::Geometric { most_percent: Some(percent), .. } => {
            check_part(pot, name, percent / 100.0, size.to_string())
        }
        BetSize::Geometric { .. } => Ok(()),
    }
}

/// Checks a fraction of this pot, which an error shows as `shown`.
pub(super) fn check_part(pot: f64, name: &'static str, part: f64, shown: String) -> Result<()> {
    if part > 0.0 && part * pot < LEAST_CHIPS {
        let chips = part * pot;
        let allowed = format!("at least {LEAST_CHIPS:e} chips: of the pot of {} it is {chips:e}", shown_number(pot));
        return Err(Error::option(name, shown, allowed));
    }
    let allowed = format!(
        "more than 0, at most {LARGEST_PART} pots: half the pot is 0.5, in bet_sizes and raise_sizes also \"50%\""
    );
    if part > 0.0 && part <= LARGEST_PART { Ok(()) } else { Err(Error::option(name, shown, allowed)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pot of 100 at the start, 20 from each on the flop, and a bet of 30 on the turn.
    const RAISE: Turn =
        Turn { dead: 100.0, street_start: 20.0, highest: 50.0, increase: 30.0, stack: 300.0, streets_left: 2 };

    fn size(text: &str) -> BetSize {
        serde_json::from_value(text.into()).expect("a size")
    }

    #[test]
    fn the_notation_is_read_and_written() {
        for (text, want) in [
            ("50%", BetSize::Pot(0.5)),
            (" 12.5 % ", BetSize::Pot(0.125)),
            ("20c", BetSize::Chips(20.0)),
            ("2.5x", BetSize::Multiple(2.5)),
            ("e", BetSize::Geometric { bets: None, most_percent: None }),
            ("2e", BetSize::Geometric { bets: Some(2), most_percent: None }),
            ("3e200%", BetSize::Geometric { bets: Some(3), most_percent: Some(200.0) }),
            ("e55%", BetSize::Geometric { bets: None, most_percent: Some(55.0) }),
            ("a", BetSize::AllIn),
            ("all-in", BetSize::AllIn),
        ] {
            assert_eq!(size(text), want, "{text}");
            let written = serde_json::to_string(&want).expect("JSON");
            assert_eq!(serde_json::from_str::<BetSize>(&written).expect("its own"), want, "{written}");
        }
        for wrong in
            ["", "%", "c", "x", "20", "1e3c", "inf%", "nanx", "-1e", "2.5e", "2e200", "2ee", "2e2e%", "allin", "é"]
        {
            let error = serde_json::from_value::<BetSize>(wrong.into()).expect_err(wrong).to_string();
            assert!(error.starts_with(&format!("size \"{wrong}\" is not allowed (")), "{error}");
        }
    }

    #[test]
    fn raises_are_totals_over_all_streets() {
        // The pot after the call is 200.
        for (text, want) in [
            ("50%", 50.0 + 100.0),
            // On this street: to 100.
            ("100c", 20.0 + 100.0),
            ("3x", 20.0 + 3.0 * 30.0),
            // Less than the bet before adds as much as it.
            ("10%", 80.0),
            ("40c", 80.0),
            ("1.5x", 80.0),
            ("all-in", 300.0),
            ("500%", 300.0),
            ("280c", 300.0),
            ("1e", 300.0),
            // All-in within 125 % of the pot: 250 chips.
            ("1e125%", 300.0),
            ("1e100%", 250.0),
        ] {
            assert_eq!(RAISE.total(size(text)), want, "{text}");
        }
    }

    #[test]
    fn geometric_bets_put_all_in() {
        for bets in 1..=MOST_BETS {
            // 26 pots of 1 and 2 · 13 are 27 after the last bet: three bets of the pot.
            let mut turn =
                Turn { dead: 1.0, street_start: 0.0, highest: 0.0, increase: 0.0, stack: 13.0, streets_left: bets };
            let mut parts = Vec::new();
            for left in (1..=bets).rev() {
                turn.streets_left = left;
                let to = turn.total(size("e"));
                // The number stands for as many bets.
                assert_eq!(to, turn.total(BetSize::Geometric { bets: Some(left), most_percent: None }));
                parts.push((to - turn.highest) / turn.pot());
                turn = Turn { highest: to, street_start: to, ..turn };
            }
            assert_eq!(turn.highest, 13.0, "{bets} bets end all-in");
            // A part has the roundings of some operations.
            assert!(parts.iter().all(|part| (part - parts[0]).abs() < 1e-12), "{parts:?}");
            if bets == 3 {
                assert!((parts[0] - 1.0).abs() < 1e-12, "{parts:?}");
            }
        }
    }
}
