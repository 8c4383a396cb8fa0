//! The source's three kernels, and their variants.
