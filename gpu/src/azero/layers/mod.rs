//! The network, a kernel a layer: any shape.
