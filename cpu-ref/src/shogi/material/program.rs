//! The sums of the objective, sequential and under rayon.

use rayon::prelude::*;

use super::positions::evaluate;
use super::{Values, number, weigh};
use crate::shogi::{ONE, fixed, sigmoid};

/// Number of children that a thread sums at a time.
const CHUNK: usize = 1 << 13;

/// How the objective is summed. All methods return Σ T in multiples of 2⁻³⁶.
pub trait Program {
    /// Sums from positions, the children of parents one after the other.
    ///
    /// * `positions`: `[n_children * stride]` bytes, of each position 81 codes ([`MATERIAL_OF_CODE`](super::MATERIAL_OF_CODE)) and 14 counts, `stride` 95 or 96
    /// * `first_child`: `[n_parents + 1]`
    /// * `sides`: the side to move in the parent, `[n_parents]`, 0 Black, 1 White
    ///
    /// # Panics
    /// If the columns are inconsistent.
    fn positions(positions: &[u8], stride: usize, first_child: &[u32], sides: &[u8], values: &Values, a: f64) -> i128;

    /// Sums from differences to child 0, from the view of the side that moved.
    fn differences(differences: &[u64], values: &Values, a: f64) -> i128;

    /// Sums from distinct differences with their counts.
    fn histogram(rows: &[(u64, u64)], values: &Values, a: f64) -> i128;
}

/// One child after the other, as the paper's CPU program.
#[derive(Clone, Copy, Debug)]
pub enum Sequential {}

/// The same terms distributed by rayon, in the caller's thread pool.
#[derive(Clone, Copy, Debug)]
pub enum Parallel {}

/// Σ T over the children of one parent.
fn of_parent(children: &[u8], stride: usize, side: u8, values: &Values, a: f64) -> i128 {
    let sign = if side == 0 { 1.0 } else { -1.0 };
    let Some(played) = children.get(..stride).map(|child| evaluate(child, values)) else { return 0 };
    children
        .chunks_exact(stride)
        .map(|child| i128::from(fixed(sigmoid(a, sign * (evaluate(child, values) - played)))))
        .sum()
}

impl Program for Sequential {
    fn positions(positions: &[u8], stride: usize, first_child: &[u32], sides: &[u8], values: &Values, a: f64) -> i128 {
        let mut sum = 0;
        for (parent, &side) in sides.iter().enumerate() {
            let children = first_child[parent] as usize * stride..first_child[parent + 1] as usize * stride;
            sum += of_parent(&positions[children], stride, side, values, a);
        }
        sum
    }

    fn differences(differences: &[u64], values: &Values, a: f64) -> i128 {
        differences.iter().map(|&difference| i128::from(fixed(sigmoid(a, weigh(difference, values))))).sum()
    }

    fn histogram(rows: &[(u64, u64)], values: &Values, a: f64) -> i128 {
        rows.iter()
            .map(|&(difference, count)| i128::from(fixed(sigmoid(a, weigh(difference, values)))) * i128::from(count))
            .sum()
    }
}

impl Program for Parallel {
    fn positions(positions: &[u8], stride: usize, first_child: &[u32], sides: &[u8], values: &Values, a: f64) -> i128 {
        let parent = |(parent, &side): (usize, &u8)| {
            let children = first_child[parent] as usize * stride..first_child[parent + 1] as usize * stride;
            of_parent(&positions[children], stride, side, values, a)
        };
        sides.par_iter().enumerate().with_min_len(16).map(parent).sum()
    }

    fn differences(differences: &[u64], values: &Values, a: f64) -> i128 {
        differences.par_chunks(CHUNK).map(|part| Sequential::differences(part, values, a)).sum()
    }

    fn histogram(rows: &[(u64, u64)], values: &Values, a: f64) -> i128 {
        rows.par_chunks(256).map(|part| Sequential::histogram(part, values, a)).sum()
    }
}

/// Distinct differences with their counts, ascending.
pub fn histogram_of(differences: &[u64]) -> Vec<(u64, u64)> {
    let mut sorted = differences.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u64)).collect()
}

/// dJ/dv from distinct differences: Σ count · number · a T (1 − T) / K, the terms a T (1 − T) rounded to multiples of 2⁻³⁶. NaN without children.
pub fn gradient(rows: &[(u64, u64)], values: &Values, a: f64) -> Values {
    let mut sums = [0i128; 12];
    let mut children = 0;
    for &(difference, count) in rows {
        let t = sigmoid(a, weigh(difference, values));
        let slope = i128::from(fixed(a * t * (1.0 - t))) * i128::from(count);
        for (kind, sum) in sums.iter_mut().enumerate() {
            *sum += slope * i128::from(number(difference, kind + 1));
        }
        children += count;
    }
    sums.map(|sum| sum as f64 / ONE / children as f64)
}

#[cfg(test)]
mod tests {
    use super::super::{Values, pack};
    use super::*;

    /// Three parents with children drawn from small changes of one position, as bytes and as differences.
    fn children() -> (Vec<u8>, Vec<u32>, Vec<u8>, Vec<u64>) {
        let (mut positions, mut first, mut differences) = (Vec::new(), vec![0], Vec::new());
        let sides = vec![0, 1, 0];
        let mut state = 7u32;
        let mut draw = |n: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % n
        };
        for &side in &sides {
            let mut played = [0; 13];
            for child in 0..20 + 50 * u32::from(side) {
                let mut position = [0u8; 96];
                let mut counts = [0; 13];
                for _ in 0..12 {
                    let (kind, white, square) = (draw(13), draw(2), draw(81));
                    if position[square as usize] == 0 {
                        position[square as usize] = (1 + kind + 14 * white) as u8;
                        counts[kind as usize] += if white == 0 { 1 } else { -1 };
                    }
                }
                let (kind, white) = (draw(7), draw(2));
                position[(HAND as u32 + kind + 7 * white) as usize] = 2;
                counts[kind as usize] += if white == 0 { 2 } else { -2 };
                if child == 0 {
                    played = counts;
                }
                let sign = if side == 0 { 1 } else { -1 };
                let numbers: [i32; 13] = std::array::from_fn(|kind| sign * (counts[kind] - played[kind]));
                if numbers.iter().all(|number| (-8..8).contains(number)) {
                    positions.extend(position);
                    differences.push(pack(&numbers));
                }
            }
            first.push(differences.len() as u32);
        }
        (positions, first, sides, differences)
    }

    use super::super::HAND;

    const VALUES: Values = [3.0, 3.5, 5.0, 6.0, 8.0, 10.25, 4.0, 4.5, 4.75, 5.5, 10.0, 12.0];

    #[test]
    fn all_forms_have_the_same_sum() {
        let (positions, first, sides, differences) = children();
        let expected = Sequential::differences(&differences, &VALUES, 0.3);
        assert!(expected > 0);
        let rows = histogram_of(&differences);
        assert_eq!(rows.iter().map(|row| row.1).sum::<u64>(), differences.len() as u64);
        assert_eq!(Sequential::histogram(&rows, &VALUES, 0.3), expected);
        assert_eq!(Parallel::histogram(&rows, &VALUES, 0.3), expected);
        assert_eq!(Parallel::differences(&differences, &VALUES, 0.3), expected);
        // These values are multiples of 1/4, so that no sum is rounded.
        assert_eq!(Sequential::positions(&positions, 96, &first, &sides, &VALUES, 0.3), expected);
        assert_eq!(Parallel::positions(&positions, 96, &first, &sides, &VALUES, 0.3), expected);
        let packed: Vec<u8> = positions.chunks(96).flat_map(|position| position[..95].to_vec()).collect();
        assert_eq!(Sequential::positions(&packed, 95, &first, &sides, &VALUES, 0.3), expected);
    }

    #[test]
    fn the_gradient_is_that_of_the_objective() {
        let rows = histogram_of(&children().3);
        let n: u64 = rows.iter().map(|row| row.1).sum();
        let gradient = gradient(&rows, &VALUES, 0.3);
        for (kind, &slope) in gradient.iter().enumerate() {
            let at = |step: f64| {
                let mut values = VALUES;
                values[kind] += step;
                Sequential::histogram(&rows, &values, 0.3) as f64 / ONE / n as f64
            };
            let numeric = (at(1e-3) - at(-1e-3)) / 2e-3;
            assert!((slope - numeric).abs() < 1e-7, "{kind}: {slope} {numeric}");
        }
    }

    #[test]
    fn nothing_is_the_sum_of_nothing() {
        assert_eq!(Sequential::positions(&[], 96, &[0], &[], &VALUES, 3.0), 0);
        assert_eq!(Parallel::positions(&[], 96, &[0, 0], &[1], &VALUES, 3.0), 0);
        assert_eq!(Parallel::differences(&[], &VALUES, 3.0), 0);
        assert!(gradient(&[], &VALUES, 3.0).iter().all(|slope| slope.is_nan()));
    }
}
