//! The source's kernels, and its measurements.
