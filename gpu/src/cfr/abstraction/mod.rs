//! Abstraction of cards: how strong hands will be, and hands of like prospects put together.
//!
//! [`strength`] deals run-outs and compares every hand with every other; [`cluster`] is k-means under the earth mover's distance. All sums are of whole numbers,
//! so the results do not depend on an order.

pub mod cluster;
pub mod rank;
pub mod strength;

crate::kernel_set! {
    /// The kernels that make buckets.
    strength::cfr_abstraction_strength,
    cluster::cfr_abstraction_nearest,
    cluster::cfr_abstraction_assign,
}
