//! The engines on the CPU: the plain programs of `warpplay_cpu_ref::shogi`, on one thread or on many.

pub(in crate::shogi) mod fit;
pub(in crate::shogi) mod learn;
