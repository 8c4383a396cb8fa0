//! (module walk)
