//! The ways to run the network: one a folder or file. [`dispatch`](super::dispatch) chooses.

pub(super) mod cpu;
pub(super) mod fused;
pub(super) mod layers;

use super::evaluation::{BlockOutput, Inputs, Outputs};
use crate::{L2Span, Result, Stream};

/// A way to run the network on a device with memory of its own (CUDA and `simt`).
pub(in crate::azero) trait Evaluate: Send {
    /// Enqueues the evaluation of the first `n` positions; `n` is at most the engine's capacity. Allocates nothing.
    fn enqueue(&mut self, stream: &Stream, inputs: &Inputs, n: usize, outputs: &mut Outputs) -> Result<()>;

    /// Whether a position may get NaN for its value and all its logits where plain single precision gives finite values, because an intermediate value was too large for the
    /// engine's format.
    fn may_overflow(&self) -> bool {
        false
    }

    /// As [`Evaluate::enqueue`], in plain single precision if the engine [may overflow](Evaluate::may_overflow). The first call allocates and waits.
    fn enqueue_again(&mut self, stream: &Stream, inputs: &Inputs, n: usize, outputs: &mut Outputs) -> Result<()> {
        self.enqueue(stream, inputs, n, outputs)
    }

    /// Activations of the first `n` positions after every block: for each block, `[n, channels, rows, columns]`. For tests and error tables.
    fn blocks(&mut self, stream: &Stream, inputs: &Inputs, n: usize) -> Result<Vec<BlockOutput>>;

    /// The range of its weights in device memory, for [`Stream::keep_in_l2`]; `None` if they are not contiguous.
    fn weights(&self) -> Option<L2Span> {
        None
    }
}
