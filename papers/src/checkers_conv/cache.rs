//! The second-level cache's window over the weights, on and off: the paper's future work.

use serde::Serialize;
use warpplay::azero::{Inputs, Outputs};
use warpplay::{Backend, Event, L2Window, Result};

use super::{Model, Options, Study};

/// Evaluations between two events.
const CALLS: u32 = 20;

/// Least device times of an evaluation by the published kernels.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Positions of a call.
    pub batch: usize,
    /// Without the window, in microseconds.
    pub off_us: f64,
    /// With it.
    pub on_us: f64,
    /// The window.
    pub window: L2Window,
}

impl Study {
    /// Times without and with the window, least of `runs`; `None` where there is no GPU.
    ///
    /// # Errors
    /// As [`Model::new`]; errors of the device.
    pub fn cache(&self, n: usize, runs: usize) -> Result<Option<Row>> {
        if self.device().backend() != Backend::Cuda {
            return Ok(None);
        }
        let stream = self.device().stream()?;
        let mut model = Model::new(&stream, self.network(), Options::default(), n)?;
        let (observations, masks) = self.first(n);
        let inputs = Inputs { observations: stream.upload(&observations)?, masks: stream.upload(&masks)? };
        let mut outputs = Outputs::new(&stream, self.network().shape(), n)?;
        let (start, end) = (stream.event()?, stream.event()?);
        let mut least = |model: &mut Model| {
            let mut least = f64::INFINITY;
            for _ in 0..=runs {
                stream.record(&start)?;
                for _ in 0..CALLS {
                    model.enqueue(&stream, &inputs, n, &mut outputs)?;
                }
                stream.record(&end)?;
                least = least.min(f64::from(Event::elapsed_ms(&start, &end)?) * 1e3 / f64::from(CALLS));
            }
            Ok::<_, warpplay::Error>(least)
        };
        let off_us = least(&mut model)?;
        let window = stream.keep_in_l2(&model.weights())?;
        let on_us = least(&mut model);
        stream.synchronize()?;
        stream.release_l2()?;
        Ok(Some(Row { batch: n, off_us, on_us: on_us?, window }))
    }
}
