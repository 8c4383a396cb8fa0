//! The source's program on the GPU: positions of 96 bytes, a block of 96 threads for each; and the same work in one launch.
//!
//! ```text
//!  position   | 81 squares: codes | Black's hand: P L N S G B R | White's hand | pad |      96 bytes, or 95 without the pad
//!  code       0 empty   1 to 13 Black's P L N S G B R +P +L +N +S +B +R   14 Black's king   15 to 28 the same of White's
//! ```
//!
//! | kernel | grid × block | what | source |
//! | --- | --- | --- | --- |
//! | [`shogi_paper_evaluate`](evaluate::shogi_paper_evaluate) | positions × 96 | the value of each position: a thread a byte, then a reduction in shared memory | the paper's first kernel |
//! | [`shogi_paper_sum`](sum::shogi_paper_sum) | children / 512 × 512 | T of each child against the played one, added up by blocks | its second kernel |
//! | [`shogi_paper_persistent`](persistent::shogi_paper_persistent) | as many as fit × 256, cooperative | all iterations over the same positions | ours |
//!
//! Where the paper's reductions leave out barriers (the last steps among the threads of a warp, and one inside a branch), ours have them: since Volta the threads of a
//! warp do not run in step. Twin: `warpplay_cpu_ref::shogi::source`. The persistent form's sums equal those of
//! `shogi_material_fused`; [`shogi_paper_evaluate`](evaluate::shogi_paper_evaluate) adds in the order of its tree, so that a value may differ from the twin's in its
//! last place.

pub mod evaluate;
pub mod layout;
pub mod persistent;
pub mod sum;

/// All kernels of the module.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<crate::kernel::KernelInfo> {
    use crate::kernel::info;
    vec![
        info::<evaluate::shogi_paper_evaluate>(),
        info::<sum::shogi_paper_sum>(),
        info::<persistent::shogi_paper_persistent>(),
    ]
}
