//! A printed number, and what it follows from.

/// All values that a number may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl Range {
    /// One value.
    pub const fn exact(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// A number printed in multiples of `unit`: rounded or cut, it was less than a unit away.
    pub const fn printed(value: f64, unit: f64) -> Self {
        Self { low: value - unit, high: value + unit }
    }

    /// The quotient of two positive numbers, each rounded to a multiple of `unit`.
    pub fn quotient(above: f64, below: f64, unit: f64) -> Self {
        let half = unit / 2.0;
        Self { low: (above - half) / (below + half), high: (above + half) / (below - half) }
    }

    /// Whether both have a value in common.
    pub fn meets(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// A printed number, and what it follows from.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Section, and table or experiment.
    pub location: &'static str,
    /// What it is.
    pub what: String,
    /// As printed, in `unit`.
    pub published: f64,
    /// Its unit.
    pub unit: &'static str,
    /// All that it may stand for.
    pub stands_for: Range,
    /// Computed again.
    pub computed: Range,
}

impl Number {
    /// Whether the printed number can be the computed one.
    pub fn holds(&self) -> bool {
        self.stands_for.meets(&self.computed)
    }
}

/// A number of which the last printed digit has the value `digit`.
pub(super) fn number(
    location: &'static str,
    what: impl Into<String>,
    (published, digit, unit): (f64, f64, &'static str),
    computed: Range,
) -> Number {
    Number { location, what: what.into(), published, unit, stands_for: Range::printed(published, digit), computed }
}
