//! The tests of `tile`, a module for each subject.

mod case;
mod engines;
mod product;
