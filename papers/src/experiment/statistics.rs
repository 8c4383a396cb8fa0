//! Statistics of repeated measurements. Of no values each of them is NaN.

/// The mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a sample, with n - 1 in the denominator; 0 for a single value.
pub fn deviation(values: &[f64]) -> f64 {
    match values.len() {
        0 => f64::NAN,
        1 => 0.0,
        n => {
            let mean = mean(values);
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            (squares / (n - 1) as f64).sqrt()
        }
    }
}

/// The least value.
pub fn least(values: &[f64]) -> f64 {
    values.iter().copied().reduce(f64::min).unwrap_or(f64::NAN)
}

/// The largest value.
pub fn most(values: &[f64]) -> f64 {
    values.iter().copied().reduce(f64::max).unwrap_or(f64::NAN)
}

/// The median; of an even number of values the mean of the middle two.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (n, middle) if n.is_multiple_of(2) => 0.5 * (sorted[middle - 1] + sorted[middle]),
        (_, middle) => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The five statistics in the order of this file.
    fn all(values: &[f64]) -> [f64; 5] {
        [mean(values), deviation(values), least(values), most(values), median(values)]
    }

    #[test]
    fn statistics_of_small_samples() {
        assert!(all(&[]).iter().all(|value| value.is_nan()));
        assert_eq!(all(&[3.0]), [3.0, 0.0, 3.0, 3.0, 3.0]);
        assert_eq!(all(&[5.0, 1.0]), [3.0, 8.0_f64.sqrt(), 1.0, 5.0, 3.0]);
        // Squares of the differences: 9 + 1 + 1 + 9 = 20 over 3.
        assert_eq!(all(&[4.0, 2.0, 8.0, 6.0]), [5.0, (20.0_f64 / 3.0).sqrt(), 2.0, 8.0, 5.0]);
        assert_eq!(all(&[-1.0, 7.0, 0.0]), [2.0, 19.0_f64.sqrt(), -1.0, 7.0, 0.0]);
    }
}
