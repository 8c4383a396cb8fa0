//! Axes: where values are, and which of them are named.

use crate::common::table::thousands;

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// Whether it is in powers of ten.
    pub log: bool,
    /// The values at its ends; those of the data without it.
    pub range: Option<[f64; 2]>,
}

impl Axis {
    /// An even axis.
    pub fn even(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// An axis in powers of ten.
    pub fn log(label: impl Into<String>) -> Self {
        Self { log: true, ..Self::even(label) }
    }

    /// With these values at its ends.
    #[must_use]
    pub fn ends(self, low: f64, high: f64) -> Self {
        Self { range: Some([low, high]), ..self }
    }
}

/// Most different values of an axis in powers of ten that are all named.
const MOST_NAMED: usize = 8;
/// How much smaller than asked for the steps between names may be.
const LEAST: f64 = 0.75;
/// Share of the data's range that is free at each end.
const MARGIN: f64 = 0.04;

/// Values laid out between two pixels.
pub struct Scale {
    log: bool,
    /// Ends in values, or in their logarithms.
    low: f64,
    high: f64,
    /// Pixels at the ends.
    from: f64,
    to: f64,
    /// The values that are named.
    ticks: Vec<f64>,
    /// Digits behind the point of their names.
    digits: usize,
}

impl Scale {
    /// The scale of an axis for these values; `n` names are about what there is room for.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, [from, to]: [f64; 2], n: usize) -> Self {
        let at = |value: f64| if axis.log { value.log10() } else { value };
        let mut values: Vec<f64> = values.filter(|&value| at(value).is_finite()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let ends = axis.range.or_else(|| Some([*values.first()?, *values.last()?]));
        let [mut low, mut high] = ends.unwrap_or([1.0, 10.0]).map(at);
        if axis.range.is_none() {
            let margin = match high - low {
                0.0 if axis.log => 0.5,
                0.0 => (low.abs() * 0.05).max(0.5),
                span => span * MARGIN,
            };
            (low, high) = (low - margin, high + margin);
        }
        let mut scale = Self { log: axis.log, low, high, from, to, ticks: Vec::new(), digits: 0 };
        let is_whole = values.iter().all(|value| value.fract() == 0.0);
        match axis.log {
            true => scale.ticks_in_powers(&values, n),
            false => scale.even_ticks(n, is_whole),
        }
        scale
    }

    /// Few values have a name each, many the powers of ten between them; where there are less than three of these, also twice and five times a power, and within one power even steps.
    fn ticks_in_powers(&mut self, values: &[f64], n: usize) {
        let apart = (self.high - self.low) / (1.5 * n as f64);
        let is_apart = values.windows(2).all(|pair| (pair[1] / pair[0]).log10() >= apart);
        let is_short = values.iter().all(|&value| !name_of(value).contains('×') && named_back(value));
        if (2..=MOST_NAMED).contains(&values.len()) && is_apart && is_short {
            self.ticks = values.to_vec();
            return;
        }
        let powers = self.low.ceil() as i32..=self.high.floor() as i32;
        let n_powers = powers.clone().count();
        if n_powers >= 3 {
            self.ticks = powers.step_by(n_powers.div_ceil(n.max(2))).map(power).collect();
            return;
        }
        if self.high - self.low < 1.0 {
            let (low, high) = (10f64.powf(self.low), 10f64.powf(self.high));
            (self.ticks, self.digits) = even(low, high, n, false);
            return;
        }
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let multiples = powers.flat_map(|exponent| [1.0, 2.0, 5.0].map(|times| times * power(exponent)));
        self.ticks = multiples.filter(|value| (self.low..=self.high).contains(&value.log10())).collect();
    }

    fn even_ticks(&mut self, n: usize, is_whole: bool) {
        (self.ticks, self.digits) = even(self.low, self.high, n, is_whole);
    }

    /// Where a value is; `None` for what has no logarithm on an axis of powers of ten, or is not finite.
    pub fn at(&self, value: f64) -> Option<f64> {
        let value = if self.log { value.log10() } else { value };
        let share = (value - self.low) / (self.high - self.low);
        share.is_finite().then_some(self.from + share * (self.to - self.from))
    }

    /// The named values: where each is, and its name.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let is_in_powers = self.log && self.digits == 0;
        // One of them that needs the form of powers gives it to all, so that they look alike.
        let has_raised = self.ticks.iter().any(|&value| !named_back(value));
        let name = |value: f64| match (is_in_powers, has_raised && !(1.0..=100.0).contains(&value)) {
            (true, true) => raised(value),
            (true, false) => name_of(value),
            _ => fixed(value, self.digits),
        };
        self.ticks.iter().filter_map(|&value| Some((self.at(value)?, name(value)))).collect()
    }
}

fn power(exponent: i32) -> f64 {
    // The quotient is rounded correctly, as 10^-k itself would not be.
    if exponent < 0 { 1.0 / 10f64.powi(-exponent) } else { 10f64.powi(exponent) }
}

/// Multiples of 1, 2 or 5 times a power of ten between two values, about `n`, and the digits behind their points.
fn even(low: f64, high: f64, n: usize, is_whole: bool) -> (Vec<f64>, usize) {
    let rough = (high - low) / n.max(2) as f64;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * decade).into_iter().find(|&step| step >= rough * LEAST);
    let mut step = step.unwrap_or(rough);
    if is_whole {
        step = step.max(1.0);
    }
    if !(step.is_finite() && step > 0.0) {
        return (Vec::new(), 0);
    }
    let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    // Steps too small for the numbers' last digits would be without end.
    let n_steps = ((last - first).max(-1.0) + 1.0).min(64.0) as u32;
    // Adding 0 makes -0 plain.
    ((0..n_steps).map(|at| (first + f64::from(at)) * step + 0.0).collect(), digits)
}

/// A number with so many digits behind the point, and commas before it.
fn fixed(value: f64, digits: usize) -> String {
    if value.abs() >= 1e7 {
        return name_of(value);
    }
    let text = format!("{:.digits$}", value.abs());
    let (whole, part) = text.split_once('.').map_or((text.as_str(), String::new()), |(w, p)| (w, format!(".{p}")));
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{}{part}", whole.parse().map_or(whole.to_string(), thousands))
}

/// The name of a value on an axis of powers of ten: 0.01, 250, 10,000, and 2×10⁻⁵ for what is smaller or larger.
fn name_of(value: f64) -> String {
    let size = value.abs();
    if (0.001..1e6).contains(&size) || size == 0.0 {
        // At most four significant digits, without zeros at the end.
        let digits = (3 - size.max(1e-300).log10().floor() as i32).clamp(0, 6) as usize;
        let text = fixed(value, digits);
        return match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text,
        };
    }
    raised(value)
}

/// A value with a power of ten, as 2×10⁻⁵.
fn raised(value: f64) -> String {
    let text = format!("{value:.2e}");
    let (times, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let times = times.trim_end_matches('0').trim_end_matches('.');
    let raised: String = exponent
        .chars()
        .map(|digit| match digit {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            digit => digit.to_digit(10).and_then(|n| char::from_u32('⁰' as u32 + n)).unwrap_or(digit),
        })
        .collect();
    if times == "1" { format!("10{raised}") } else { format!("{times}×10{raised}") }
}

/// Whether a value's name is exactly the value.
fn named_back(value: f64) -> bool {
    name_of(value).replace(',', "").parse() == Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(axis: &Axis, values: &[f64]) -> Vec<String> {
        let scale = Scale::new(axis, values.iter().copied(), [0.0, 500.0], 6);
        scale.ticks().into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn whole_numbers_have_whole_names() {
        assert_eq!(names(&Axis::even("epoch"), &[1.0, 2.0, 3.0]), ["1", "2", "3"]);
        assert_eq!(names(&Axis::even("epoch"), &[1.0]), ["1"]);
        assert_eq!(names(&Axis::even("games").ends(0.0, 20.0), &[1.0]), ["0", "5", "10", "15", "20"]);
        assert_eq!(
            names(&Axis::even("steps"), &[0.0, 12_000.0]),
            ["0", "2,000", "4,000", "6,000", "8,000", "10,000", "12,000"]
        );
    }

    #[test]
    fn names_are_without_the_last_bits_of_sums() {
        assert_eq!(names(&Axis::even("q"), &[0.05, 0.5]), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(names(&Axis::even("q"), &[-0.2, 0.1]), ["−0.20", "−0.15", "−0.10", "−0.05", "0.00", "0.05", "0.10"]);
    }

    #[test]
    fn powers_of_ten_have_names_a_reader_knows() {
        assert_eq!(names(&Axis::log("batch"), &[32.0, 64.0, 128.0, 256.0]), ["32", "64", "128", "256"]);
        let many: Vec<f64> = (0..60).map(|at| 1e-5 * 1.3f64.powi(at)).collect();
        assert_eq!(names(&Axis::log("chips"), &many), ["10⁻⁵", "10⁻³", "10⁻¹", "10"].map(String::from));
        assert_eq!(
            names(&Axis::log("s"), &(8..20).map(f64::from).collect::<Vec<_>>()),
            ["8", "10", "12", "14", "16", "18"]
        );
        assert_eq!([name_of(2e-5), name_of(3e7), name_of(250.0), name_of(0.125)], ["2×10⁻⁵", "3×10⁷", "250", "0.125"]);
    }

    #[test]
    fn what_cannot_be_shown_is_no_point() {
        let scale = Scale::new(&Axis::log("x"), [1.0, 10.0, 100.0, 0.0, f64::NAN].into_iter(), [0.0, 100.0], 5);
        assert_eq!((scale.at(0.0), scale.at(-1.0), scale.at(f64::NAN)), (None, None, None));
        assert!(scale.at(10.0).is_some_and(|x| (x - 50.0).abs() < 1e-9));
        for axis in [Axis::even("x"), Axis::log("x")] {
            for values in [&[][..], &[f64::NAN], &[0.0], &[1e300, 1e-300], &[1e17, 1e17 + 16.0]] {
                assert!(names(&axis, values).len() <= 64, "{values:?}");
            }
        }
    }
}
