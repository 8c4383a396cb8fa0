//! Means, deviations, and how the printed ones came about.

use crate::experiment::statistics::{deviation, mean, median};

/// Mean and standard deviation of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation, of a sample; 0 for one value.
    pub sd: f64,
}

impl Spread {
    /// Of some values; NaN for none.
    pub fn of(values: &[f64]) -> Self {
        Self { mean: mean(values), sd: deviation(values) }
    }

    /// The standard deviation of the values themselves instead of a sample, from `n` values.
    pub fn population(&self, n: usize) -> f64 {
        self.sd * ((n as f64 - 1.0) / n as f64).sqrt()
    }
}

/// Whether the medians of two series of measurements differ by no more than the sum of their standard deviations.
pub fn are_alike(one: &[f64], other: &[f64]) -> bool {
    (median(one) - median(other)).abs() <= deviation(one) + deviation(other)
}

/// Whether `printed` is `value` rounded to so many digits behind the point.
pub fn is_rounded(printed: f64, value: f64, digits: u32) -> bool {
    (printed - value).abs() <= 0.5 * 10f64.powi(-(digits as i32)) * (1.0 + 1e-6)
}

/// Which of five measurements a printed average or deviation is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Source {
    /// All five.
    AllFive,
    /// The last four: the first is dropped.
    LastFour,
    /// Both: their means are equal.
    Either,
    /// Neither.
    Neither,
}

impl Source {
    fn of(five: bool, four: bool) -> Self {
        match (five, four) {
            (true, true) => Self::Either,
            (true, false) => Self::AllFive,
            (false, true) => Self::LastFour,
            (false, false) => Self::Neither,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::AllFive => "all five",
            Self::LastFour => "the last four",
            Self::Either => "all five and the last four alike",
            Self::Neither => "neither",
        }
    }
}

/// How a line's average and deviation came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Origin {
    /// Of the average, to six digits.
    pub average: Source,
    /// Of the average, to the four digits behind the point that two lines have.
    pub average_to_four_digits: Source,
    /// Of the deviation as one of a sample, to six digits.
    pub sample: Source,
    /// Of the deviation as one of the values themselves, to six digits.
    pub population: Source,
}

impl Origin {
    /// Of a printed line.
    pub fn of(seconds: &[f64; 5], average: f64, deviation: f64) -> Self {
        let [five, four] = [&seconds[..], &seconds[1..]].map(Spread::of);
        let source = |is: &dyn Fn(&Spread, usize) -> bool| Source::of(is(&five, 5), is(&four, 4));
        Self {
            average: source(&|spread, _| is_rounded(average, spread.mean, 6)),
            average_to_four_digits: source(&|spread, _| is_rounded(average, spread.mean, 4)),
            sample: source(&|spread, _| is_rounded(deviation, spread.sd, 6)),
            population: source(&|spread, n| is_rounded(deviation, spread.population(n), 6)),
        }
    }
}
