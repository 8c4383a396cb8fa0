//! Recorded evaluations, one for each number of positions and each set of buffers that came lately.

use crate::azero::evaluation::{Inputs, Outputs};
use crate::{Graph, Result, Stream};

/// Most recordings that are kept.
const MOST: usize = 32;

/// What a recording is for: positions, and the addresses of the caller's buffers.
type Key = (usize, [usize; 5]);

/// Recordings, the latest used last.
#[derive(Default)]
pub(super) struct Graphs(Vec<(Key, Graph)>);

impl Graphs {
    /// The recording for these buffers; made by `launch` if there is none.
    ///
    /// It holds addresses of the caller's buffers, and is found by them: buffers of the same addresses are as good, and their sizes were checked by the
    /// caller.
    pub fn get(
        &mut self,
        stream: &Stream,
        inputs: &Inputs,
        n: usize,
        outputs: &mut Outputs,
        launch: impl FnOnce(&Stream, &mut Outputs) -> Result<()>,
    ) -> Result<&Graph> {
        let key = (
            n,
            [
                inputs.observations.as_ptr().addr(),
                inputs.masks.as_ptr().addr(),
                outputs.values.as_ptr().addr(),
                outputs.policy_logits.as_ptr().addr(),
                outputs.policies.as_ptr().addr(),
            ],
        );
        let found = match self.0.iter().position(|(known, _)| *known == key) {
            Some(at) => self.0.remove(at),
            None => {
                let graph = stream.capture(|stream| launch(stream, outputs))?;
                if self.0.len() == MOST {
                    self.0.remove(0);
                }
                (key, graph)
            }
        };
        self.0.push(found);
        Ok(&self.0[self.0.len() - 1].1)
    }
}
