//! The tests of `tile`, a module for each subject.

mod product;
