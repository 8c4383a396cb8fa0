//! Mean and largest error after every block, as section IV.B asks for: of the published kernels with the bias that they leave out and without it, and on the
//! networks of the repository's tests, whose weights are all 0.01.

use serde::{Deserialize, Serialize};
use warpplay::{Device, Result};
use warpplay_cpu_ref::azero as plain;

use super::measure::{Errors, allclose};
use super::mistakes::CONSTANT;
use super::published::REPOSITORY_ATOL_RTOL;
use super::reference::{blocks_of, change_convs, converted};
use super::{Model, Options, Program, Study};

/// How far a block's output is from double precision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Whose kernels.
    pub program: String,
    /// The block, or the output.
    pub after: String,
    /// The errors, with the paper's verdict.
    pub errors: Errors,
    /// The verdict of the repository's test, whose tolerance is relative.
    pub repository_verdict: bool,
    /// Mean size of the expected values.
    pub mean_size: f64,
}

impl Row {
    /// Whether a second measurement may come to `now`: the same block with the same verdicts, and errors that [agree](Errors::agrees).
    pub fn agrees(&self, now: &Self) -> bool {
        let exact = |row: &Self| (row.program.clone(), row.after.clone(), row.repository_verdict, row.mean_size);
        exact(self) == exact(now) && self.errors.agrees(&now.errors)
    }
}

/// Names of the kernels that are compared.
const PROGRAMS: [&str; 3] = ["paper", "paper, no bias", "repository"];

impl Study {
    /// Errors on the first `n` positions.
    ///
    /// # Errors
    /// As [`Model::new`]; [`Error::Unsupported`](warpplay::Error::Unsupported) on the back end `cpu`.
    pub fn errors(&self, device: &Device, n: usize) -> Result<Vec<Row>> {
        let expected = converted::<f64>(self.network());
        let options = [Options::default(), Options::published(), Program::Repository.options()];
        let mut rows = Vec::new();
        for (program, options) in PROGRAMS.into_iter().zip(options) {
            rows.extend(self.compared(device, n, program, options, &expected, |_, _| Ok(()))?);
        }
        Ok(rows)
    }

    /// The same on a network of this shape whose convolutions' weights are all 0.01, without biases and norms.
    ///
    /// # Errors
    /// As [`Study::errors`].
    pub fn constant_errors(&self, device: &Device, n: usize) -> Result<Vec<Row>> {
        let mut expected = converted::<f64>(self.network());
        change_convs(&mut expected, |_, weight, bias| {
            weight.fill(f64::from(CONSTANT as f32));
            bias.fill(0.0);
        });
        for tensor in &mut expected.tensors {
            let norm = tensor.name.contains("batch_norm");
            match tensor.name.rsplit('.').next() {
                Some("weight") if norm => tensor.values.fill(1.0),
                Some("running_var") => tensor.values.fill(1.0 - plain::EPSILON),
                _ if norm => tensor.values.fill(0.0),
                _ => {}
            }
        }
        let options = Options::published();
        self.compared(device, n, "paper, all weights 0.01", options, &expected, |model, stream| {
            model.set_constant(stream, CONSTANT as f32)
        })
    }

    fn compared(
        &self,
        device: &Device,
        n: usize,
        program: &str,
        options: Options,
        expected: &plain::Network<f64>,
        change: impl FnOnce(&mut Model, &warpplay::Stream) -> Result<()>,
    ) -> Result<Vec<Row>> {
        let (observations, masks) = self.first(n);
        let expected = blocks_of(expected, &observations, &masks);
        let stream = device.stream()?;
        let mut model = Model::new(&stream, self.network(), options, n)?;
        change(&mut model, &stream)?;
        let (evaluation, blocks) = model.evaluate_blocks(&stream, &observations, &masks)?;
        let widened = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
        let mut found: Vec<(String, Vec<f64>)> =
            blocks.into_iter().map(|block| (block.name, widened(&block.values))).collect();
        found.push(("value".to_string(), evaluation.values));
        found.push(("policy_logits".to_string(), evaluation.policy_logits));
        found.push(("policy".to_string(), evaluation.policies));
        let mut rows = Vec::new();
        for (after, found) in found {
            let Some((_, expected)) = expected.iter().find(|(name, _)| *name == after) else { continue };
            rows.push(Row {
                program: program.to_string(),
                errors: Errors::between(&found, expected),
                repository_verdict: allclose(&found, expected, REPOSITORY_ATOL_RTOL),
                mean_size: expected.iter().map(|value| value.abs()).sum::<f64>() / expected.len().max(1) as f64,
                after,
            });
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkers_conv::published::ATOL_RTOL;

    /// Verdicts on what differs from numbers of one size by one relative error, by the paper's tolerances and by those that the repository's call gives.
    fn verdicts(size: f64, relative_error: f64) -> [bool; 2] {
        [ATOL_RTOL, REPOSITORY_ATOL_RTOL]
            .map(|tolerances| allclose(&[size * (1.0 + relative_error)], &[size], tolerances))
    }

    /// `torch::allclose(a, b, 1e-5)` sets `rtol`; the paper says `atol` 1e-5. One is too strict for large numbers, the other for small ones.
    #[test]
    fn the_papers_and_the_repositorys_tolerances_judge_otherwise() {
        // One rounding of f32 on a number of the size that 0.01 everywhere leads to.
        assert_eq!(verdicts(1e6, 6e-8), [false, true]);
        assert_eq!(verdicts(1e-4, 1e-3), [true, false]);
        assert_eq!(verdicts(1.0, 5e-6), [true, true]);
    }

    /// Section IV.B counts on the tolerance's scaling by |y|; its `rtol` is less than f32 resolves.
    #[test]
    fn from_128_on_a_unit_in_the_last_place_is_beyond_the_papers_bound() {
        assert!(ATOL_RTOL.1 < f64::from(f32::EPSILON / 2.0) / 5.0);
        let next = |value: f32| allclose(&[f64::from(value.next_up())], &[f64::from(value)], ATOL_RTOL);
        assert!((0..7).all(|power| next(2.0_f32.powi(power))), "up to 64");
        assert!(next(128.0_f32.next_down()));
        assert!((7..100).all(|power| !next(2.0_f32.powi(power))), "128 and more");
        assert!(!next(256.0_f32.next_down()));
        // A small value may be wrong altogether.
        assert!(allclose(&[0.0], &[ATOL_RTOL.0], ATOL_RTOL) && allclose(&[-4e-6], &[5e-6], ATOL_RTOL));
    }
}
