//! Recorded evaluations, one for each number of positions and each set of buffers that came lately.

use std::collections::HashMap;
use std::sync::Arc;

use crate::azero::evaluation::{Inputs, Outputs};
use crate::{Graph, Result, Stream};

/// Most recordings that are kept.
const MOST: usize = 32;

/// Key of a recording: the number of positions and the addresses of the caller's buffers.
type Key = (usize, [usize; 5]);

/// Recordings, the most recently used last.
#[derive(Default)]
pub(super) struct Graphs(Vec<(Key, Graph)>);

impl Graphs {
    /// The recording for these buffers; made by `launch` if there is none.
    ///
    /// A recording keeps the caller's buffers alive, so their addresses identify it.
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
                self.drop_abandoned();
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

    /// Drops recordings whose buffers have no other owner, which frees the buffers.
    fn drop_abandoned(&mut self) {
        let mut own = HashMap::new();
        for memory in self.0.iter().flat_map(|(_, graph)| &graph.kept) {
            *own.entry(Arc::as_ptr(memory)).or_insert(0) += 1;
        }
        let has_owner = |memory: &Arc<_>| Arc::strong_count(memory) > own[&Arc::as_ptr(memory)];
        // All are asked before any is dropped: what is dropped counts no more.
        let kept: Vec<bool> = self.0.iter().map(|(_, graph)| graph.kept.iter().all(has_owner)).collect();
        let mut kept = kept.into_iter();
        self.0.retain(|_| kept.next() == Some(true));
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernels::{Arrays, Kernels};
    use super::super::{Convolutions, Format, launch_all};
    use super::*;
    use crate::Device;
    use crate::azero::folded::FoldedNetwork;
    use crate::azero::{Network, NetworkShape};

    #[test]
    fn recordings_of_buffers_that_are_gone_keep_no_memory() {
        let shape = NetworkShape {
            rows: 3,
            columns: 2,
            planes: 1,
            width: 4,
            depth: 1,
            value_filters: 1,
            value_hidden: 2,
            policy_filters: 1,
            actions: 3,
        };
        let device = Device::simt();
        let stream = device.stream().unwrap();
        let network = FoldedNetwork::new(&Network::seeded(shape, 1).unwrap());
        let kernels = Kernels::load(&device).unwrap();
        let mut arrays = Arrays::new(&stream, &network, Format::Fp32, Convolutions::Own, 2).unwrap();
        let mut graphs = Graphs::default();
        let mut record = |(inputs, outputs): &mut (Inputs, Outputs), n| {
            let launch =
                |stream: &Stream, outputs: &mut Outputs| launch_all(&kernels, &mut arrays, stream, inputs, n, outputs);
            graphs.get(&stream, inputs, n, outputs, launch).unwrap();
            graphs.0.len()
        };
        let new = || (Inputs::new(&stream, shape, 2).unwrap(), Outputs::new(&stream, shape, 2).unwrap());
        let (mut stays, mut goes) = (new(), new());
        let kept = [record(&mut stays, 1), record(&mut goes, 1), record(&mut goes, 2), record(&mut goes, 1)];
        assert_eq!(kept, [1, 2, 3, 3]);
        drop(goes);
        assert_eq!([record(&mut stays, 1), record(&mut stays, 2)], [3, 2]);
    }
}
