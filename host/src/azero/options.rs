//! What can be chosen about an evaluation.

use crate::runtime::named::named;

named! {
    /// Which kernels evaluate.
    Execution, "execution":
    /// The fastest that device, shape and precision allow: [`Execution::Fused`] where it fits, else [`Execution::Layers`]; on the CPU
    /// [`Execution::Plain`].
    Auto = "auto",
    /// All convolutions in one launch, activations in shared memory.
    Fused = "fused",
    /// A kernel a layer; any shape.
    Layers = "layers",
    /// No kernels: the plain implementation, on the CPU back end only.
    Plain = "plain",
}
