//! The network with all convolutions in one launch.
