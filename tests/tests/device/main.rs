//! The tests of the ground: the device layer on every back end, random streams, PTX, errors.

mod errors;
mod layer;
mod ptx;
mod rng;
