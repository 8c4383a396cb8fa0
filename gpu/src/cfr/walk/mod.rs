//! Many sampled deals of one betting tree at once: 32 deals a batch, side by side in the lanes of a warp.
//!
//! The betting tree is cut into pieces; a warp walks one depth first ([`walk`]), following the piece's operations ([`op`]). Pieces that begin in earlier ones'
//! leaves are done in later launches: the stages of a batch. Deals that share a bucket are found once a batch ([`links`]).

pub mod links;
pub mod op;
#[allow(clippy::module_inception)]
pub mod walk;

#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::{KernelInfo, info};

/// All kernels of the module.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<KernelInfo> {
    vec![
        info::<links::cfr_walk_links>(),
        info::<walk::cfr_walk_2_f32>(),
        info::<walk::cfr_walk_3_f32>(),
        info::<walk::cfr_walk_5_f32>(),
        info::<walk::cfr_walk_8_f32>(),
        info::<walk::cfr_walk_10_f32>(),
        info::<walk::cfr_walk_2_f64>(),
        info::<walk::cfr_walk_3_f64>(),
        info::<walk::cfr_walk_5_f64>(),
        info::<walk::cfr_walk_8_f64>(),
        info::<walk::cfr_walk_10_f64>(),
    ]
}
