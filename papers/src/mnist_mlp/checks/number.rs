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

/// How a printed number stands to what it is said to follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It follows.
    Follows,
    /// It follows from the paper's own terms, and is wrong because one of these is.
    FromWrong,
    /// It does not follow.
    DoesNotFollow,
}

impl Verdict {
    /// As tables name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Follows => "yes",
            Self::FromWrong => "from a wrong number",
            Self::DoesNotFollow => "no",
        }
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
    /// Its digits behind the point, as printed.
    pub decimals: usize,
    /// Its unit.
    pub unit: &'static str,
    /// All that it may stand for.
    pub stands_for: Range,
    /// Computed again.
    pub computed: Range,
    /// Computed from the numbers that the paper itself prints for its terms, where one of these is wrong.
    pub from_terms: Option<f64>,
}

impl Number {
    /// Whether the printed number can be the computed one.
    pub fn holds(&self) -> bool {
        self.stands_for.meets(&self.computed)
    }

    /// Whether the printed number follows, and if not, whether it does from the paper's own terms.
    pub fn verdict(&self) -> Verdict {
        if self.holds() {
            Verdict::Follows
        } else if self.from_terms.is_some_and(|value| self.stands_for.meets(&Range::exact(value))) {
            Verdict::FromWrong
        } else {
            Verdict::DoesNotFollow
        }
    }

    /// The same with what the paper's own terms give, at least one of which is wrong.
    pub(super) fn terms(self, value: f64) -> Self {
        Self { from_terms: Some(value), ..self }
    }
}

/// Digits behind the point that a value needs to be written in full, at most 6.
pub(super) fn decimals(value: f64) -> usize {
    let is_whole = |value: f64| (value - value.round()).abs() < 1e-9 * value.abs().max(1.0);
    (0..6).find(|&digits| is_whole(value * 10f64.powi(digits))).map_or(6, |digits| digits as usize)
}

/// A number of which the last printed digit has the value `digit`.
pub(super) fn number(
    location: &'static str,
    what: impl Into<String>,
    (published, digit, unit): (f64, f64, &'static str),
    computed: Range,
) -> Number {
    Number {
        location,
        what: what.into(),
        published,
        decimals: if digit > 0.0 { decimals(digit) } else { 0 },
        unit,
        stands_for: Range::printed(published, digit),
        computed,
        from_terms: None,
    }
}
