//! What a kernel, a layer, a block and the network cost.
