//! Device code of warpplay: every kernel, and the layer it is written in.
//!
//! The crate is compiled twice: by `warpplay-gpu-builder` to PTX, and as an ordinary library for the host, where [`cuda::kernel`] makes each kernel a
//! typed descriptor and [`simt`] runs its body on the CPU.
//!
//! | module | what |
//! |---|---|
//! | [`cuda`] | the device layer: indices, barriers, shared memory, warps, atomics, arithmetic |
//! | [`simt`] | runs kernels on the CPU, thread by thread, with checks (host only) |
//! | [`kernel`], [`launch`], [`args`], [`ptx`] | what the host knows of a kernel, of a launch, of its arguments, of embedded PTX |
//! | [`split_mix`] | random numbers by counter, of kernels and of the host |
//! | `mcts` | the kernels of the tree search and its games; needs the feature of that name |
//! | `azero` | the kernels of the AlphaZero network, its search and its training; needs one of the features `azero-…` |
//! | `cfr` | the kernels of counterfactual regret minimisation; needs one of the features `cfr-…` |
//! | `mlp` | the kernels of multilayer perceptrons; needs one of the features `mlp-…` |
//! | `shogi` | the kernels of evaluation learning for shogi; needs one of the features `shogi-…` |
//!
//! # Kernels
//!
//! | family | kernels, with grid, block and cost | launch shapes | twin | source |
//! |---|---|---|---|---|
//! | tree search | the table of `mcts`: `mcts_select`, `mcts_playout_acp_prodigal` and others, a set for each game | `shape…` in each kernel's module | `warpplay_cpu_ref::mcts` | Klęsk, "MCTS-NC", SoftwareX |
//! | perceptrons, layer by layer | the same table: `mlp_layers_forward_images_split`, `mlp_layers_update` and others | `…shape` in each kernel's module | `warpplay_cpu_ref::mlp` | Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification"; optimisers: PyTorch's definitions |
//! | perceptrons, an epoch a launch | `mlp_epoch_train`, `mlp_epoch_classify` | `mlp::epoch::shape` | `warpplay_cpu_ref::mlp` | the same network and update; the partition into blocks is ours |
//! | AlphaZero, a kernel a layer | `azero::layers` | the same | `warpplay_cpu_ref::azero` | the network: OpenSpiel |
//! | AlphaZero, all convolutions in one launch | `azero::fused` | `shape_…` in `single`, `tower`, `heads` | `warpplay_cpu_ref::azero` | the same; the cut is ours |
//! | its training | `azero::train` | the same | `warpplay_cpu_ref::azero::training` | the same |
//! | its search | `azero::search` | the same | `warpplay_cpu_ref::azero::search` | Silver et al., "AlphaZero"; OpenSpiel's PUCT value |
//! | regret minimisation, four forms of a game | `cfr::small`, `cfr::street`, `cfr::subset`, `cfr::explicit` | `shape…` in each module | `warpplay_cpu_ref::cfr` | Zinkevich et al. 2007; Johanson et al. 2011, 2012 |
//! | many sampled deals at once, abstraction | `cfr::walk`, `cfr::abstraction` | the same | the same | Reis, "A GPU implementation of Counterfactual Regret Minimization", 2015 |
//! | evaluation learning, twelve values | `shogi::persistent`, `shogi::material` | `shape…` in each module | `warpplay_cpu_ref::shogi::material` | the objective: 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」, 2009 |
//! | the same for any set of features | `shogi::sparse` | `shape` in `pass` and `update` | `warpplay_cpu_ref::shogi::sparse` | the same objective; the partition is ours |
//!
//! # Features
//!
//! `mcts` (default) has the kernels as generic functions and [`mcts_kernels!`] for games of one's own; `mcts-connect4`, `mcts-gomoku` and
//! `mcts-boards` instantiate them for our games, one PTX module each. `mlp-layers` and `mlp-epoch` have the kernels of the two ways to
//! train perceptrons, one PTX module each; what they share is in `mlp`, which each of them asks for. `azero-layers`, `azero-fused`,
//! `azero-search` and `azero-train` are the modules of the AlphaZero network; `mcts-checkers` its game in the tree search. `cfr-small`, `cfr-street`,
//! `cfr-explicit`, `cfr-subset`, `cfr-walk` and `cfr-abstraction` are those of regret minimisation; `shogi-persistent`, `shogi-material` and
//! `shogi-sparse` those of evaluation learning. What a family's modules share is in `azero`, `cfr` and `shogi`.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

extern crate self as warpplay_gpu;

#[cfg(not(target_arch = "nvptx64"))]
pub mod args;
#[cfg(feature = "azero")]
pub mod azero;
#[cfg(feature = "cfr")]
pub mod cfr;
pub mod cuda;
pub mod kernel;
pub mod launch;
#[cfg(feature = "mcts")]
pub mod mcts;
#[cfg(feature = "mlp")]
pub mod mlp;
pub mod ptx;
#[cfg(feature = "shogi")]
pub mod shogi;
#[cfg(not(target_arch = "nvptx64"))]
pub mod simt;
pub mod split_mix;

#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    cuda::trap()
}
