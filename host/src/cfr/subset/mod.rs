//! (module subset)
