//! The tests of the ground: the device layer on every back end, random streams, PTX, sums of addresses, errors.

#[cfg(target_os = "linux")]
mod driver;
mod errors;
mod layer;
mod products;
mod ptx;
mod rng;
mod sums;
