//! Kernels of evaluation learning for shogi from game records (Bonanza's method).
//!
//! | module | what |
//! | --- | --- |
//! | [`piece`], [`difference`] | how pieces of a position, and differences of material, are written as numbers |
//! | [`fixed`], [`sigmoid`] | terms of the objective as whole numbers, whose sums do not depend on their order |
//! | [`layout`] | a position in 96 bytes |
//! | [`descent`] | all iterations of the paper's update inside one launch |
//! | `persistent` | all iterations over positions of bytes |
//! | `material` | children as differences of material, and their histogram |
//! | `sparse` | any set of features: evaluations, loss, gradient, steps |

pub mod descent;
pub mod difference;
pub mod fixed;
pub mod layout;
#[cfg(feature = "shogi-material")]
pub mod material;
#[cfg(feature = "shogi-persistent")]
pub mod persistent;
pub mod piece;
pub mod sigmoid;
#[cfg(feature = "shogi-sparse")]
pub mod sparse;
