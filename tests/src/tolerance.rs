//! How numbers are compared: integers exactly, floats within `abs + rel * |expected|`.

use std::fmt::{Debug, Write};

/// Elements listed when a comparison fails.
const LISTED: usize = 10;

/// How far a float may be from what is expected, with the constant's reason where it is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Absolute part.
    pub abs: f64,
    /// Part of the expected value's size.
    pub rel: f64,
}

/// Checks that two sequences are the same.
///
/// # Panics
/// With the first ten elements that differ.
#[track_caller]
pub fn same<T: PartialEq + Debug>(what: &str, got: &[T], expected: &[T]) {
    assert_eq!(got.len(), expected.len(), "{what}: lengths");
    let differ: Vec<usize> = (0..got.len()).filter(|&at| got[at] != expected[at]).collect();
    let mut list = String::new();
    for &at in differ.iter().take(LISTED) {
        let _ = write!(list, "\n  [{at}] got {:?}, expected {:?}", got[at], expected[at]);
    }
    assert!(differ.is_empty(), "{what}: {} of {} elements differ{list}", differ.len(), got.len());
}

/// Checks that floats are within a tolerance. Two NaN agree, and so do infinities of one sign.
///
/// # Panics
/// With the first ten elements that are too far, and the share of the tolerance that each used.
#[track_caller]
pub fn close(what: &str, got: &[f64], expected: &[f64], tolerance: Tolerance) {
    assert_eq!(got.len(), expected.len(), "{what}: lengths");
    let share = |at: usize| {
        let (got, expected) = (got[at], expected[at]);
        if got == expected || (got.is_nan() && expected.is_nan()) {
            return 0.0;
        }
        let share = (got - expected).abs() / (tolerance.abs + tolerance.rel * expected.abs());
        if share.is_nan() { f64::INFINITY } else { share }
    };
    let far: Vec<usize> = (0..got.len()).filter(|&at| share(at) > 1.0).collect();
    let mut list = String::new();
    for &at in far.iter().take(LISTED) {
        let _ = write!(
            list,
            "\n  [{at}] got {:e}, expected {:e}, {:.2} of the tolerance",
            got[at],
            expected[at],
            share(at)
        );
    }
    assert!(far.is_empty(), "{what}: {} of {} elements are too far{list}", far.len(), got.len());
}

/// Single precision as double, to be compared by [`close`].
pub fn widened(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_PERCENT: Tolerance = Tolerance { abs: 0.0, rel: 0.005 };

    #[test]
    fn specials_agree_with_themselves() {
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0];
        close("specials", &special, &special, HALF_PERCENT);
        close("near", &[100.4], &[100.0], HALF_PERCENT);
    }

    #[test]
    #[should_panic(expected = "2 of 3 elements are too far")]
    fn far_values_and_nan_are_found() {
        close("far", &[1.0, 2.0, f64::NAN], &[1.0, 2.1, 3.0], HALF_PERCENT);
    }

    #[test]
    #[should_panic(expected = "[1] got 5, expected 2")]
    fn differences_are_listed() {
        same("numbers", &[1, 5], &[1, 2]);
    }
}
