//! Multilayer perceptrons, plainly.
