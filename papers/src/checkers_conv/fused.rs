//! The whole network in few launches: section V's first idea.

use serde::{Deserialize, Serialize};
use warpplay::azero::{Engine, Evaluator, Inputs, Outputs};
use warpplay::{Backend, Device, Precision, Result, Stream};

use super::measure::least_us;
use super::study::PRECISIONS;
use super::{Model, Program, Study};

/// Evaluations between two events.
const CALLS: u32 = 20;

/// Least device times of an evaluation of the whole network, back to back with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Whose kernels, and how the network is cut into launches.
    pub program: String,
    /// Positions of a call.
    pub batch: usize,
    /// Kernel launches of an evaluation. Ours of engine `layers` are recorded on a GPU and replayed by one call of the driver.
    pub launches: u64,
    /// Microseconds.
    pub us: f64,
}

impl Study {
    /// The published kernels and our engines. What the device does not offer is in the second part, with the reason.
    ///
    /// # Errors
    /// As [`Model::new`]; errors of the device; [`Error::Unsupported`](warpplay::Error::Unsupported) on the back end `cpu`.
    pub fn fused(&self, device: &Device, n: usize, runs: usize) -> Result<(Vec<Row>, Vec<String>)> {
        let stream = device.stream()?;
        let shape = self.network().shape();
        let (observations, masks) = self.first(n);
        let inputs = Inputs { observations: stream.upload(&observations)?, masks: stream.upload(&masks)? };
        let mut outputs = Outputs::new(&stream, shape, n)?;
        let calls = if device.backend() == Backend::Simt { 1 } else { CALLS };
        let (mut rows, mut not_offered) = (Vec::new(), Vec::new());
        for program in [Program::Paper, Program::Repository] {
            let mut model = Model::new(&stream, self.network(), program.options(), n)?;
            model.enqueue(&stream, &inputs, n, &mut outputs)?;
            let launches = model.launched();
            let us = least_us(&stream, runs, calls, || model.enqueue(&stream, &inputs, n, &mut outputs))?;
            rows.push(Row { program: format!("{program}, a kernel a step"), batch: n, launches, us });
        }
        for (engine, how) in [(Engine::Layers, "a kernel a layer"), (Engine::Fused, "all convolutions in one kernel")] {
            for precision in PRECISIONS {
                let program = format!("ours {precision}, {how}");
                match self.engine(&stream, engine, precision, n) {
                    Ok(mut evaluator) => {
                        let launches = recorded(&stream, &mut evaluator, &inputs, n, &mut outputs)?;
                        let us =
                            least_us(&stream, runs, calls, || evaluator.enqueue(&stream, &inputs, n, &mut outputs))?;
                        rows.push(Row { program, batch: n, launches, us });
                    }
                    Err(error) => not_offered.push(format!("{program}: {error}")),
                }
            }
        }
        Ok((rows, not_offered))
    }

    /// Launches of an evaluation of the first `n` positions by one of our engines. It is recorded and not run.
    ///
    /// # Errors
    /// As [`EvaluatorBuilder::build`](warpplay::azero::EvaluatorBuilder::build); errors of the device.
    pub fn launches_of_ours(&self, device: &Device, engine: Engine, precision: Precision, n: usize) -> Result<u64> {
        let stream = device.stream()?;
        let mut evaluator = self.engine(&stream, engine, precision, n)?;
        let (observations, masks) = self.first(n);
        let inputs = Inputs { observations: stream.upload(&observations)?, masks: stream.upload(&masks)? };
        let mut outputs = Outputs::new(&stream, self.network().shape(), n)?;
        recorded(&stream, &mut evaluator, &inputs, n, &mut outputs)
    }

    fn engine(&self, stream: &Stream, engine: Engine, precision: Precision, n: usize) -> Result<Evaluator> {
        Evaluator::builder(self.network()).engine(engine).precision(precision).max_batch(n).build(stream.device())
    }
}

/// Launches that an evaluation adds to a recording.
fn recorded(
    stream: &Stream,
    evaluator: &mut Evaluator,
    inputs: &Inputs,
    n: usize,
    outputs: &mut Outputs,
) -> Result<u64> {
    Ok(stream.capture(|stream| evaluator.enqueue(stream, inputs, n, outputs))?.n_launches() as u64)
}
