//! Kernels of evaluation learning for shogi from game records (Bonanza's method).
//!
//! | module | what |
//! | --- | --- |
//! | [`piece`], [`difference`] | how pieces of a position, and differences of material, are written as numbers |
//! | [`fixed`], [`sigmoid`] | terms of the objective as whole numbers, whose sums do not depend on their order |
//! | [`descent`] | the source's iterations inside one launch |
//! | `paper` | the source's own layout and kernels, and the same work in one launch |
//! | `material` | children as differences of material, and their histogram |
//! | `sparse` | any set of features: evaluations, loss, gradient, steps |

pub mod descent;
pub mod difference;
pub mod fixed;
#[cfg(feature = "shogi-material")]
pub mod material;
#[cfg(feature = "shogi-paper")]
pub mod paper;
pub mod piece;
pub mod sigmoid;
#[cfg(feature = "shogi-sparse")]
pub mod sparse;
