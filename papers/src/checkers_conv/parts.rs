//! What of the network is measured.

use crate::named::named;

named! {
    /// How much is measured at once.
    Level:
    /// The convolution alone.
    Kernel = "kernel",
    /// Convolution, batch norm and rectifier: the paper's layer.
    Layer = "layer",
    /// A residual block: two layers and the sum.
    Block = "block",
    /// The network.
    Model = "model",
}

named! {
    /// What is measured of the network.
    Part:
    /// The input's convolution.
    Input = "input",
    /// The first convolution of the first block of the torso, or that block.
    Torso = "torso",
    /// The policy head's 1×1 convolution.
    Output = "output",
    /// The input's layer, all residual blocks and the policy head's layer: the paper's semi-model.
    Semi = "semi-model",
    /// All of it: both heads too, with their linear layers.
    Network = "network",
}

/// Parts that have a level, in the paper's order.
pub const PARTS: [(Level, Part); 9] = [
    (Level::Kernel, Part::Input),
    (Level::Kernel, Part::Torso),
    (Level::Kernel, Part::Output),
    (Level::Layer, Part::Input),
    (Level::Layer, Part::Torso),
    (Level::Layer, Part::Output),
    (Level::Block, Part::Torso),
    (Level::Model, Part::Semi),
    (Level::Model, Part::Network),
];
