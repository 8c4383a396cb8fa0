//! Learning of sparse features: every set of features by the same kernels.
//!
//! | module | what |
//! |---|---|
//! | [`index`] | which parameters a position counts |
//! | [`draw`] | which siblings count |
//! | [`pass`] | evaluations, loss, ranks and gradient of positions |
//! | [`update`] | steps of the optimisers, scaling |
//! | [`exchange`] | rows of a gradient that ranks tell each other |

pub mod draw;
pub mod exchange;
pub mod index;
pub mod pass;
pub mod update;

/// Descriptions of all kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<crate::kernel::KernelInfo> {
    use crate::kernel::info;
    vec![
        info::<pass::shogi_sparse_pass_material>(),
        info::<pass::shogi_sparse_pass_material_hand>(),
        info::<pass::shogi_sparse_pass_piece_square>(),
        info::<pass::shogi_sparse_pass_kp>(),
        info::<pass::shogi_sparse_pass_kkp>(),
        info::<pass::shogi_sparse_pass_kpp>(),
        info::<update::shogi_sparse_update>(),
        info::<update::shogi_sparse_scale>(),
        info::<exchange::shogi_sparse_touched>(),
        info::<exchange::shogi_sparse_take_rows>(),
        info::<exchange::shogi_sparse_put_rows>(),
    ]
}
