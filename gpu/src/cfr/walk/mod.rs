//! Many sampled deals of one betting tree at once: 32 deals a batch, side by side in the lanes of a warp.
//!
//! The betting tree is cut into pieces; a warp walks one depth first ([`walk`]), following the piece's operations ([`op`]). Pieces that begin in earlier ones'
//! leaves are done in later launches: the stages of a batch. Deals that share a bucket are found once a batch ([`links`]).

mod instantiate;
pub mod links;
pub mod op;
#[allow(clippy::module_inception)]
pub mod walk;

#[cfg(not(target_arch = "nvptx64"))]
pub use instantiate::{RealKernels, WalkKernels};
pub use instantiate::{double, single};

crate::kernel_set! {
    /// The kernel that knows no precision.
    links::cfr_walk_links;
    ..instantiate
}
