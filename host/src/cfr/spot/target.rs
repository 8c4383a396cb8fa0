//! How exactly a spot is solved.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::file::Spot;
use crate::{Error, Result};

/// The exploitability at which a solve ends.
///
/// ```
/// use warpplay::cfr::spot::SpotTarget;
/// assert_eq!("0.5%pot".parse::<SpotTarget>()?, SpotTarget::PartOfPot(0.005));
/// assert_eq!(SpotTarget::PartOfPot(0.005).chips(60.0), 0.3);
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpotTarget {
    /// In chips, with `icm` in the unit of the prizes; as text `2.5`.
    Chips(f64),
    /// As a part of the pot at the beginning of the spot: 0.005 is half a per cent, as text `0.5%pot`.
    PartOfPot(f64),
}

impl SpotTarget {
    /// In chips, for this pot.
    pub fn chips(self, pot: f64) -> f64 {
        match self {
            Self::Chips(chips) => chips,
            Self::PartOfPot(part) => part * pot,
        }
    }

    /// # Errors
    /// [`Error::Option`] names `target`, unless it is a finite number above 0.
    fn check(self) -> Result<()> {
        let (Self::Chips(value) | Self::PartOfPot(value)) = self;
        if value > 0.0 && value.is_finite() { Ok(()) } else { Err(wrong(&self)) }
    }

    /// # Errors
    /// [`Error::Option`] names `target`, unless it is a finite number above 0; with `icm`, where exploitability is in prizes, for a part of the pot too.
    pub(super) fn check_for(self, spot: &Spot) -> Result<()> {
        self.check()?;
        if matches!(self, Self::PartOfPot(_)) && spot.icm.is_some() {
            return Err(Error::option("target", self, "a number in the unit of the prizes, since the spot has icm"));
        }
        Ok(())
    }
}

fn wrong(value: &dyn fmt::Display) -> Error {
    Error::option("target", value, "above 0: chips as 0.25, or a part of the pot as 0.5%pot")
}

impl fmt::Display for SpotTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chips(chips) => write!(f, "{chips}"),
            Self::PartOfPot(part) => {
                let percent = 100.0 * part;
                // Without what the product's rounding leaves, where that is enough.
                let short = (percent * 1e9).round() / 1e9;
                write!(f, "{}%pot", if short / 100.0 == *part { short } else { percent })
            }
        }
    }
}

impl FromStr for SpotTarget {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |number: &str| number.trim().parse::<f64>().map_err(|_| wrong(&text));
        let target = match text.trim().split_once('%') {
            Some((percent, "" | "pot" | " pot")) => Self::PartOfPot(number(percent)? / 100.0),
            Some(_) => return Err(wrong(&text)),
            None => Self::Chips(number(text)?),
        };
        target.check().map_err(|_| wrong(&text))?;
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_chips_or_parts_of_the_pot() {
        for (text, target) in [
            ("2", SpotTarget::Chips(2.0)),
            (" 0.25 ", SpotTarget::Chips(0.25)),
            ("1%pot", SpotTarget::PartOfPot(0.01)),
            ("1 % pot", SpotTarget::PartOfPot(0.01)),
            ("25%", SpotTarget::PartOfPot(0.25)),
            ("7%pot", SpotTarget::PartOfPot(0.07)),
        ] {
            let parsed: SpotTarget = text.parse().expect(text);
            assert_eq!(parsed, target);
            assert_eq!(parsed.to_string().parse::<SpotTarget>().expect(text), target);
        }
        assert_eq!(SpotTarget::PartOfPot(0.07).to_string(), "7%pot");
        let spot: Spot = Spot::parse(
            r#"{"pot": 10, "effective_stack": 10, "bet_fraction_of_pot": 1, "flop": "Qs Js 2s", "turn": "2d", "river": "9h",
                "ranges": ["AA", "KK"], "icm": {"others": [5], "prizes": [5, 3]}}"#,
        )
        .expect("a spot");
        assert!(SpotTarget::Chips(0.1).check_for(&spot).is_ok());
        let error = SpotTarget::PartOfPot(0.1).check_for(&spot).expect_err("chips").to_string();
        assert!(error.contains("the unit of the prizes"), "{error}");
        for text in ["", "0", "-1", "nan", "inf", "pot", "1%chips", "0%pot", "%pot", "1pot"] {
            let error = text.parse::<SpotTarget>().expect_err(text).to_string();
            assert!(error.starts_with("option target: ") && error.contains("0.5%pot"), "{text}: {error}");
        }
    }
}
