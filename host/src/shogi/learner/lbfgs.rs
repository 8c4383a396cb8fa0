//! Limited-memory BFGS with a line search for the strong Wolfe conditions.
//!
//! Source: Nocedal and Wright, "Numerical Optimization", 2nd edition: algorithm 7.4 (two loops), 7.5 (the method), 3.5 and 3.6 (the line search, by bisection).
//! Everything is computed in `f64` in a fixed order, whatever the number of threads, so every rank comes to the same bits.

use std::collections::VecDeque;

use rayon::prelude::*;

use crate::Result;
use crate::shogi::loss::Totals;

/// Sufficient decrease, c₁.
const DECREASE: f64 = 1e-4;
/// Curvature, c₂.
const CURVATURE: f64 = 0.9;
/// Most evaluations of one line search.
const MOST_TRIALS: u32 = 20;
/// Elements that are summed by one thread: the parts of a sum do not depend on the number of threads.
const CHUNK: usize = 1 << 14;

/// One remembered step: the change of the weights, and that of the gradient.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub step: Vec<f64>,
    pub change: Vec<f64>,
}

/// A point with the objective there; the first weight is fixed, so the gradient's first element is 0.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub weights: Vec<f32>,
    pub value: f64,
    pub gradient: Vec<f64>,
    pub totals: Totals,
}

/// The remembered steps, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    pub pairs: VecDeque<Pair>,
}

impl Steps {
    /// Makes one step from `from`; returns the new point, or `None` if no step along the gradient lowers the objective. `evaluate` returns the objective and its gradient,
    /// or `None` for weights out of range. `first` is the largest change of a weight in a step without memory.
    pub fn step(
        &mut self,
        from: &Point,
        history: usize,
        first: f64,
        evaluate: &mut dyn FnMut(Vec<f32>) -> Result<Option<Point>>,
    ) -> Result<Option<Point>> {
        loop {
            let (direction, length) = if self.pairs.is_empty() {
                let largest = from.gradient.par_iter().map(|g| g.abs()).reduce(|| 0.0, f64::max);
                if largest == 0.0 {
                    return Ok(None);
                }
                (from.gradient.par_iter().map(|g| -g).collect(), first / largest)
            } else {
                (self.direction(&from.gradient), 1.0)
            };
            if let Some(found) = search(from, &direction, length, evaluate)? {
                self.remember(from, &found, history);
                return Ok(Some(found));
            }
            if self.pairs.is_empty() {
                return Ok(None);
            }
            // What is remembered misleads: once more along the gradient itself.
            self.pairs.clear();
        }
    }

    /// `−H g` by the two loops of algorithm 7.4.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut q = gradient.to_vec();
        let mut alphas = Vec::with_capacity(self.pairs.len());
        for Pair { step, change } in self.pairs.iter().rev() {
            let alpha = dot(step, &q) / dot(change, step);
            add_scaled(&mut q, -alpha, change);
            alphas.push(alpha);
        }
        if let Some(Pair { step, change }) = self.pairs.back() {
            let scale = dot(step, change) / dot(change, change);
            q.par_iter_mut().for_each(|q| *q *= scale);
        }
        for (Pair { step, change }, alpha) in self.pairs.iter().zip(alphas.iter().rev()) {
            let beta = dot(change, &q) / dot(change, step);
            add_scaled(&mut q, alpha - beta, step);
        }
        q.par_iter_mut().for_each(|q| *q = -*q);
        q
    }

    fn remember(&mut self, from: &Point, to: &Point, history: usize) {
        let difference =
            |to: &[f64], from: &[f64]| -> Vec<f64> { to.par_iter().zip(from).map(|(to, from)| to - from).collect() };
        let step: Vec<f64> =
            to.weights.par_iter().zip(&from.weights).map(|(&to, &from)| f64::from(to) - f64::from(from)).collect();
        let change = difference(&to.gradient, &from.gradient);
        // Without positive curvature the approximation would lose its own.
        if dot(&step, &change) > f64::EPSILON * dot(&change, &change) {
            if self.pairs.len() >= history {
                self.pairs.pop_front();
            }
            self.pairs.push_back(Pair { step, change });
        }
    }
}

/// A point along `direction` that meets the strong Wolfe conditions, or else the lowest point tried, if it satisfies the first condition (sufficient decrease).
fn search(
    from: &Point,
    direction: &[f64],
    first: f64,
    evaluate: &mut dyn FnMut(Vec<f32>) -> Result<Option<Point>>,
) -> Result<Option<Point>> {
    let slope = dot(&from.gradient, direction);
    if slope.is_nan() || slope >= 0.0 {
        return Ok(None);
    }
    let mut best: Option<Point> = None;
    // The bracket of algorithm 3.6: `low` meets the first condition, `high` is the other end; infinite until there is one.
    let (mut low, mut low_value, mut high) = (0.0, from.value, f64::INFINITY);
    let mut length = first;
    for _ in 0..MOST_TRIALS {
        let weights: Vec<f32> = from
            .weights
            .par_iter()
            .zip(direction)
            .map(|(&weight, direction)| (f64::from(weight) + length * direction) as f32)
            .collect();
        if weights == from.weights {
            break;
        }
        match evaluate(weights)? {
            Some(point) if point.value <= from.value + DECREASE * length * slope && point.value < low_value => {
                let slope_there = dot(&point.gradient, direction);
                let done = slope_there.abs() <= -CURVATURE * slope;
                // Downhill towards the bracket's far end, or else back towards `low`, which becomes the far end.
                if slope_there * (if high < low { -1.0 } else { 1.0 }) >= 0.0 {
                    high = low;
                }
                (low, low_value) = (length, point.value);
                best = Some(point);
                if done {
                    break;
                }
            }
            _ => high = length,
        }
        length = if high.is_infinite() { 2.0 * low } else { 0.5 * (low + high) };
    }
    Ok(best)
}

/// The scalar product, summed in parts that do not depend on the number of threads.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let part = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let parts: Vec<f64> = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).map(part).collect();
    parts.iter().sum()
}

/// `to += factor · values`.
fn add_scaled(to: &mut [f64], factor: f64, values: &[f64]) {
    to.par_iter_mut().zip(values).for_each(|(to, value)| *to += factor * value);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley in the weights after the fixed one.
    fn rosenbrock(weights: Vec<f32>) -> Result<Option<Point>> {
        let (x, y) = (f64::from(weights[1]), f64::from(weights[2]));
        if x.abs() > 5.0 {
            return Ok(None);
        }
        let value = (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
        let gradient = vec![0.0, -2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)];
        Ok(Some(Point { weights, value, gradient, totals: Totals::default() }))
    }

    #[test]
    fn the_valley_is_found() {
        let mut point = rosenbrock(vec![1.0, -1.2, 1.0]).unwrap().unwrap();
        let mut memory = Steps::default();
        let mut steps = 0;
        while let Some(next) = memory.step(&point, 6, 0.1, &mut rosenbrock).unwrap() {
            assert!(next.value < point.value);
            assert!(memory.pairs.len() <= 6);
            point = next;
            steps += 1;
            assert!(steps < 100, "{point:?}");
            if point.value < 1e-10 {
                break;
            }
        }
        assert!(point.value < 1e-6 && point.weights[0] == 1.0, "{point:?} after {steps} steps");
    }

    #[test]
    fn the_bottom_has_no_step() {
        let point = rosenbrock(vec![1.0, 1.0, 1.0]).unwrap().unwrap();
        assert!(Steps::default().step(&point, 6, 0.1, &mut rosenbrock).unwrap().is_none());
    }
}
