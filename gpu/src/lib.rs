//! Device code of warpplay: every kernel, and the layer it is written in.
//!
//! Who uses the engines needs the crate `warpplay` alone. This one is for those who read the kernels, and for those who write their own: a kernel, or the rules of a game
//! that is searched on the GPU. It is compiled twice: by `warpplay-gpu-builder` to PTX, and as an ordinary library for the host, where [`cuda::kernel`] makes each kernel a
//! typed descriptor and [`simt`] runs its body on the CPU, thread by thread, with checks.
//!
//! ```
//! use warpplay_gpu::cuda::view::{Disjoint, Slice, View};
//! use warpplay_gpu::cuda::{kernel, thread};
//! use warpplay_gpu::kernel::ShapedKernel;
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Doubles each of `n` numbers, a thread a number.
//! #[kernel(shape = LaunchShape::linear(n, 64))]
//! pub fn double(#[len(n as usize)] from: Slice<u32>, #[len(n as usize)] mut to: Disjoint<u32>, n: u32) {
//!     let Some(own) = thread::own_index_below(n) else { return };
//!     to.set(&own, 2 * from.get(own.get() as usize));
//! }
//!
//! // What the host library does: memory, the check of the lengths, the launch.
//! let from: Vec<u32> = (0..100).collect();
//! let mut to = vec![0; 100];
//! let _from = register(from.as_ptr() as usize, size_of_val(&from[..]));
//! let _to = register(to.as_mut_ptr() as usize, size_of_val(&to[..]));
//! // SAFETY: 100 values each, and nobody else uses them meanwhile.
//! let views = unsafe { (Slice::new(from.as_ptr(), 100), Disjoint::new(to.as_mut_ptr(), 100), 100) };
//! let (shape, params) = double::prepare(views, ()).expect("the lengths fit");
//! // SAFETY: shape and parameters are those that the kernel's declaration makes.
//! unsafe { simt::launch(double, shape, params, &simt::Options::default()) }.expect("no rule is broken");
//! assert_eq!(to[99], 198);
//! ```
//!
//! # Terms
//!
//! | term | on the CPU it would be | here |
//! | --- | --- | --- |
//! | thread | one iteration of a loop | [`cuda::thread`] |
//! | lane, warp | 32 iterations that a vector unit does at once | [`cuda::warp`] |
//! | block | a task that has a cache to itself | [`cuda::block`], [`cuda::shared`], [`cuda::sync`] |
//! | cluster | tasks on neighbouring cores that reach each other's caches (compute capability 9.0) | [`cuda::mailbox`], [`cuda::ring`] |
//! | grid, launch | a parallel loop | [`launch::LaunchShape`] |
//! | global memory | main memory | [`cuda::view`], [`cuda::memory`], [`cuda::atomic`] |
//!
//! # Modules
//!
//! | module | what |
//! | --- | --- |
//! | [`cuda`] | the device layer: indices, barriers, shared memory, warps, atomics, arithmetic |
//! | [`simt`] | runs kernels on the CPU, thread by thread, with checks (host only) |
//! | [`mod@kernel`], [`launch`], [`args`], [`ptx`] | what the host knows of a kernel, of a launch, of its arguments, of embedded PTX |
//! | [`split_mix`] | random numbers by counter, of kernels and of the host |
//! | [`mcts`] | the kernels of the tree search, its games, and what a game of one's own implements; needs the feature of that name |
//! | [`azero`] | the kernels of the AlphaZero network, its search and its training; needs one of the features `azero-…` |
//! | [`cfr`] | the kernels of counterfactual regret minimisation; needs one of the features `cfr-…` |
//! | [`mlp`] | the kernels of multilayer perceptrons; needs one of the features `mlp-…` |
//! | [`shogi`] | the kernels of evaluation learning for shogi; needs one of the features `shogi-…` |
//! | [`tile`] | products of matrices; needs one of the features `tile-…` |
//!
//! # Reading a kernel
//!
//! A kernel's header says what it computes and then, in this order: `Launch`, `Reads`, `Writes`, `Shared`, `Cost`, `Twin` (the plain reference that a test compares it with) and
//! `Source`. `docs/reading-kernels.md` takes ten of them apart, from a simple one to the tensor cores; `docs/kernels.md` has the tables of all.
//!
//! | family | kernels, with grid, block and cost | launch shapes | twin | source |
//! | --- | --- | --- | --- | --- |
//! | tree search | the table of [`mcts`]: `mcts_select`, `mcts_playout_acp_prodigal` and others, a set for each game | `shape…` in each kernel's module | `warpplay_cpu_ref::mcts` | Klęsk, "MCTS-NC", SoftwareX |
//! | perceptrons, layer by layer | `mlp::layers`: `mlp_layers_gather`, `mlp_layers_update` and others; products: `tile` | `…shape` in each kernel's module | `warpplay_cpu_ref::mlp` | Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification"; optimisers: PyTorch's definitions |
//! | perceptrons, an epoch a launch | `mlp_epoch_train…`, one an optimiser, `mlp_epoch_classify`, the same with `_short`, and `mlp_epoch_mma_…` without clusters | `mlp::epoch::shape` | `warpplay_cpu_ref::mlp` | the same network and update; the partition into blocks is ours |
//! | AlphaZero, a kernel a layer | `azero::layers` | the same | `warpplay_cpu_ref::azero` | the network: OpenSpiel |
//! | AlphaZero, all convolutions in one launch | `azero::fused` | `shape_…` in `single`, `tower`, `heads` | `warpplay_cpu_ref::azero` | the same; the partition is ours |
//! | its training | `azero::train` | the same | `warpplay_cpu_ref::azero::training` | the same |
//! | its search | `azero::search` | the same | `warpplay_cpu_ref::azero::search` | Silver et al., "AlphaZero"; OpenSpiel's PUCT value |
//! | regret minimisation, four forms of a game | `cfr::small`, `cfr::street`, `cfr::subset`, `cfr::explicit` | `shape…` in each module | `warpplay_cpu_ref::cfr` | Zinkevich et al. 2007; Johanson et al. 2011, 2012 |
//! | many sampled deals at once, abstraction | `cfr::walk`, `cfr::abstraction` | the same | the same | Reis, "A GPU implementation of Counterfactual Regret Minimization", 2015 |
//! | evaluation learning, twelve values | `shogi::persistent`, `shogi::material` | `shape…` in each module | `warpplay_cpu_ref::shogi::material` | the objective: 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」, 2009 |
//! | the same for any set of features | `shogi::sparse` | `shape` in `pass` and `update` | `warpplay_cpu_ref::shogi::sparse` | the same objective; the partition is ours |
//! | products of matrices | `tile::wgmma` | the shape function of the module | `warpplay_cpu_ref::tile` | a known form of such kernels; the code is ours |
//!
//! # Writing one
//!
//! | to | see |
//! | --- | --- |
//! | write a kernel whose threads each write their own element, as a safe function | [`cuda::kernel`], [`cuda::view`] |
//! | let threads work together | [`cuda::shared`], [`cuda::sync`], [`cuda::block`], [`cuda::warp`] |
//! | hand over many arrays | [`cuda::DeviceArgs`](derive@cuda::DeviceArgs) |
//! | list the kernels of a module | [`kernel_set!`], [`kernel_family!`], [`kernel_instance!`] |
//! | test it without a GPU | [`simt`] |
//! | search a game of one's own | [`mcts::Game`], [`mcts_kernels!`] |
//! | build a crate of kernels and launch them | `docs/own-kernel.md`, `docs/adding-a-game.md` |
//! | know what is checked, and what is not | `docs/safety.md` |
//!
//! # Features
//!
//! `mcts` (default) has the kernels as generic functions and [`mcts_kernels!`] for games of one's own; `mcts-connect4`, `mcts-gomoku` and
//! `mcts-boards` instantiate them for our games, one PTX module each. `mlp-layers` and `mlp-epoch` have the kernels of the two ways to
//! train perceptrons, one PTX module each, `mlp-epoch-mma` those of the second for GPUs without clusters; what they share is in `mlp`, which each of them asks for. `azero-layers`, `azero-fused`,
//! `azero-search` and `azero-train` are the modules of the AlphaZero network; `mcts-checkers` its game in the tree search. `cfr-small`, `cfr-street`,
//! `cfr-explicit`, `cfr-subset`, `cfr-walk` and `cfr-abstraction` are those of regret minimisation; `shogi-persistent`, `shogi-material` and
//! `shogi-sparse` those of evaluation learning. What a family's modules share is in `azero`, `cfr` and `shogi`. `tile-wgmma`, `tile-mma` and `tile-plain` have the products of
//! matrices, by warpgroups, by warps, and without tensor cores.

#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]
#![cfg_attr(
    not(all(
        feature = "mcts",
        feature = "azero",
        feature = "mlp",
        feature = "shogi",
        feature = "cfr",
        feature = "tile"
    )),
    allow(rustdoc::broken_intra_doc_links, reason = "this page names all families")
)]

extern crate self as warpplay_gpu;
// `device_inline` everywhere.
#[macro_use]
extern crate warpplay_gpu_macros;

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
#[cfg(feature = "tile")]
pub mod tile;
mod unroll;

#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    cuda::trap()
}
