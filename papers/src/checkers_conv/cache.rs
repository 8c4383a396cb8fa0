//! The second-level cache's window over the weights, on and off: section V's second idea.

use serde::{Deserialize, Serialize};
use warpplay::azero::{Inputs, Outputs};
use warpplay::{Backend, Device, Result};

use super::measure::least_us;
use super::{Model, Options, Study};

/// Evaluations between two events.
const CALLS: u32 = 20;

/// Least device times of an evaluation by the published kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Positions of a call.
    pub batch: usize,
    /// Without the window, in microseconds.
    pub off_us: f64,
    /// With it.
    pub on_us: f64,
    /// Bytes of the cache that are set aside.
    pub kept_bytes: usize,
    /// Bytes of the window.
    pub window_bytes: usize,
}

impl Study {
    /// Times without and with the window, least of `runs`; `None` where there is no GPU.
    ///
    /// # Errors
    /// As [`Model::new`]; errors of the device.
    pub fn cache(&self, device: &Device, n: usize, runs: usize) -> Result<Option<Row>> {
        if device.backend() != Backend::Cuda {
            return Ok(None);
        }
        let stream = device.stream()?;
        let mut model = Model::new(&stream, self.network(), Options::default(), n)?;
        let (observations, masks) = self.first(n);
        let inputs = Inputs { observations: stream.upload(&observations)?, masks: stream.upload(&masks)? };
        let mut outputs = Outputs::new(&stream, self.network().shape(), n)?;
        let mut least =
            |model: &mut Model| least_us(&stream, runs, CALLS, || model.enqueue(&stream, &inputs, n, &mut outputs));
        let off_us = least(&mut model)?;
        let window = stream.keep_in_l2(&model.weights())?;
        let on_us = least(&mut model);
        stream.synchronize()?;
        stream.release_l2()?;
        Ok(Some(Row {
            batch: n,
            off_us,
            on_us: on_us?,
            kept_bytes: window.kept_bytes,
            window_bytes: window.window_bytes,
        }))
    }
}
