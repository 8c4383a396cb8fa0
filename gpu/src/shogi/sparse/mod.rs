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

crate::kernel_set! {
    /// The kernels for sparse features.
    pass::shogi_sparse_pass_material,
    pass::shogi_sparse_pass_material_hand,
    pass::shogi_sparse_pass_piece_square,
    pass::shogi_sparse_pass_kp,
    pass::shogi_sparse_pass_kkp,
    pass::shogi_sparse_pass_kpp,
    update::shogi_sparse_update,
    update::shogi_sparse_scale,
    exchange::shogi_sparse_touched,
    exchange::shogi_sparse_take_rows,
    exchange::shogi_sparse_put_rows,
}
