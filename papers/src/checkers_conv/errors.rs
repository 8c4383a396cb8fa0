//! Mean and largest error of the published kernels after every block, with the bias that they leave out and without it.

use serde::Serialize;
use warpplay::Result;

use super::measure::Errors;
use super::reference::expected_blocks;
use super::{Model, Options, Study};

/// How far a block's output is from double precision.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// `paper`, or `paper as published: no bias`.
    pub program: &'static str,
    /// The block, or the output.
    pub after: String,
    /// The errors.
    pub errors: Errors,
}

impl Study {
    /// Errors on the first `n` positions.
    ///
    /// # Errors
    /// As [`Model::new`]; [`Error::Unsupported`](warpplay::Error::Unsupported) on the back end `cpu`.
    pub fn errors(&self, n: usize) -> Result<Vec<Row>> {
        let (observations, masks) = self.first(n);
        let expected = expected_blocks(self.network(), &observations, &masks);
        let stream = self.device().stream()?;
        let mut rows = Vec::new();
        for (program, options) in [("paper", Options::default()), ("paper as published: no bias", Options::published())]
        {
            let mut model = Model::new(&stream, self.network(), options, n)?;
            let evaluation = model.evaluate(&stream, &observations, &masks)?;
            let blocks = model.block_outputs(&stream, &observations)?;
            let widened = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
            let mut found: Vec<(String, Vec<f64>)> =
                blocks.into_iter().map(|block| (block.name, widened(&block.values))).collect();
            found.push(("value".to_string(), evaluation.values));
            found.push(("policy_logits".to_string(), evaluation.policy_logits));
            found.push(("policy".to_string(), evaluation.policies));
            for (after, found) in found {
                let Some((_, expected)) = expected.iter().find(|(name, _)| *name == after) else { continue };
                rows.push(Row { program, errors: Errors::between(&found, expected), after });
            }
        }
        Ok(rows)
    }
}
