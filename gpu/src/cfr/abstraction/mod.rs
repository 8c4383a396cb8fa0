//! Abstraction of cards: how strong hands will be, and hands of like prospects put together.
//!
//! [`strength`] deals run-outs and compares every hand with every other; [`cluster`] is k-means under the earth mover's distance. All sums are of whole numbers,
//! so the results do not depend on an order.

pub mod cluster;
pub mod rank;
pub mod strength;

#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::KernelInfo;

/// All kernels of the module.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<KernelInfo> {
    use crate::kernel::info;
    vec![
        info::<strength::cfr_abstraction_strength>(),
        info::<cluster::cfr_abstraction_nearest>(),
        info::<cluster::cfr_abstraction_assign>(),
    ]
}
