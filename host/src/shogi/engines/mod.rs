//! The implementations: what fits the twelve values, and what learns any set of features. `dispatch` chooses.
//!
//! | engine | device | what it holds |
//! | --- | --- | --- |
//! | [`histogram`] | kernels | each distinct difference of material once, with its count |
//! | [`fused`], [`plain`] | kernels | a word a child |
//! | [`persistent`] | kernels | a position of 96 bytes a child |
//! | [`cpu`] | the CPU | words or their histogram; weights of any set of features |
//! | [`sparse`] | kernels | weights of any set of features, shards as they are |
//!
//! All of the first four are a [`fit::Fit`], the last a [`learn::Learn`]; `cpu` has both.

pub(in crate::shogi) mod cpu;
pub(in crate::shogi) mod fit;
pub(in crate::shogi) mod fused;
pub(in crate::shogi) mod histogram;
#[allow(unsafe_code)]
mod kernels;
pub(in crate::shogi) mod learn;
pub(in crate::shogi) mod persistent;
pub(in crate::shogi) mod plain;
pub(in crate::shogi) mod sparse;
#[cfg(test)]
mod tests;
mod words;
