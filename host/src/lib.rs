//! Game-playing AI on the GPU, with every kernel written in Rust.
//!
//! This crate is what a program calls: devices, streams and buffers, and the engines on top of them. The kernels are
//! in [`warpplay_gpu`], the plain implementations they are held to in `warpplay_cpu_ref`. It is for Rust programmers who write game AI and want
//! the GPU without C++, for researchers who repeat the papers, and for students who read the kernels.
//!
//! ```
//! # #[cfg(feature = "mcts")] {
//! use warpplay::mcts::{Connect4, Notation, Search, position_after};
//! use warpplay::{Device, Progress};
//!
//! let position: Connect4 = position_after("434343")?;
//! let builder = Search::<Connect4>::builder().n_playouts(32).steps(10).no_seconds();
//! let mut search = builder.action_names(Connect4::action_name).build(&Device::cpu())?;
//! let report = search.run(&position, Progress::go_on)?;
//! assert_eq!(report.best.name, "4"); // the fourth stone in the column
//! # }
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! # Engines
//!
//! | engine | builder | what it does | source |
//! | --- | --- | --- | --- |
//! | `azero::Evaluator` | `azero::EvaluatorBuilder` | value and policy of positions by an AlphaZero network | Paul and Xu, "Parallelizing Convolutional Networks for Faster AlphaZero Inference" |
//! | `azero::player::SelfPlay`, `azero::player::Player`, `azero::player::Match` | `azero::player::SelfPlayBuilder`, `azero::player::PlayerBuilder`, `azero::player::MatchBuilder` | PUCT search with that network; games of checkers | Silver et al., "AlphaZero" |
//! | `azero::train::Trainer` | `azero::train::TrainerBuilder` | the network's training from records of games | the same |
//! | `azero::learn::Learner` | `azero::learn::LearnerBuilder` | self-play and training in turn | the same |
//! | `cfr::Solver` | `cfr::SolverBuilder` | equilibria of poker and other games by regret minimisation | Reis, "A GPU implementation of Counterfactual Regret Minimization" |
//! | `mcts::Search` | `mcts::SearchBuilder` | Monte Carlo tree search run wholly on the device | Klęsk, "MCTS-NC", SoftwareX |
//! | `mlp::Trainer` | `mlp::TrainerBuilder` | trains a multilayer perceptron, with checkpoints | Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification" |
//! | `mlp::Classifier` | `mlp::ClassifierBuilder` | classes and probabilities of images, accuracy on a labelled set | the same |
//! | `mlp::Sweep` | `mlp::SweepBuilder` | trains many perceptrons of one shape side by side | the same network |
//! | `shogi::learner::Learner` | `shogi::learner::LearnerBuilder` | learns an evaluation of shogi positions from game records, with any set of features | Hoki, 「局面評価の学習を目指した探索結果の最適制御」 |
//! | `shogi::material::Material` | `shogi::material::MaterialBuilder` | fits twelve piece values, by four engines | 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」 |
//!
//! # Back ends
//!
//! | [`Device`] | [`Backend`] | what runs |
//! | --- | --- | --- |
//! | [`Device::cuda`] | `Cuda` | the kernels, on an NVIDIA GPU |
//! | [`Device::simt`] | `Simt` | the same source on the CPU, thread by thread; it reports broken rules, for tests |
//! | [`Device::cpu`] | `Cpu` | the plain implementations, on all cores |
//!
//! [`Device::auto`] gives the first CUDA device, else the CPU. The driver is found when it is first needed: the program
//! links no CUDA library, builds without the toolkit, and starts on a machine without a GPU. Linux is supported.
//!
//! # Memory and kernels
//!
//! ```
//! use warpplay::Device;
//!
//! let device = Device::simt();
//! let stream = device.stream()?;
//! let mut scores = stream.upload(&[1.0f32, 2.0, 3.0])?;
//! stream.write(&mut scores, 1, &[20.0])?;
//! assert_eq!(stream.read(&scores)?, [1.0, 20.0, 3.0]);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! A kernel of one's own is loaded with [`Module::load`] from the PTX that `warpplay-gpu-builder` embeds, looked up
//! with [`Module::function`], and launched with [`Stream::launch`], which takes arguments of the kernel's own types
//! only.
//!
//! # Features
//!
//! | feature | what it brings | on by default |
//! | --- | --- | --- |
//! | `mcts`, `azero` (with `mcts`), `mlp`, `shogi`, `cfr` | the module of that name with its kernels | yes |
//! | `cust` | conversions of devices, streams and buffers from and to Rust-CUDA's `cust`; links the driver's library | no |
//! | `mpi` (with `shogi`) | ranks that are processes, over the system's MPI library; it and libclang are needed to build | no |
//!
//! # Errors
//!
//! One enum, [`Error`]: it says what failed, where, and what to do. Caller input never makes this crate panic.
//!
//! # Where to read on
//!
//! `azero`, `cfr`, `mcts`, `mlp` and `shogi` for the families; the README for the programs, `docs/adding-a-game.md` for a game of one's own,
//! `docs/papers/mnist_mlp.md` for why the published perceptron's two accuracies differ, `docs/safety.md` for what is checked where, `ARCHITECTURE.md` for
//! why.
#![deny(unsafe_code)]

#[cfg(feature = "azero")]
pub mod azero;
#[cfg(feature = "cfr")]
pub mod cfr;
#[cfg(feature = "mcts")]
pub mod mcts;
#[cfg(feature = "mlp")]
pub mod mlp;
#[cfg_attr(
    not(all(feature = "mcts", feature = "azero", feature = "mlp", feature = "shogi", feature = "cfr")),
    allow(dead_code, reason = "each family uses a part")
)]
mod runtime;
#[cfg(feature = "shogi")]
pub mod shogi;

pub use runtime::atomic_file::AtomicFile;
pub use runtime::buffer::Buffer;
pub use runtime::checkpoint::Checkpoint;
#[cfg(feature = "cust")]
pub use runtime::cust::CustStream;
pub use runtime::device::Device;
pub use runtime::error::{Error, Result};
pub use runtime::event::Event;
pub use runtime::fnv::Fnv;
pub use runtime::graph::Graph;
pub use runtime::info::{Backend, DeviceInfo, FreeMemory};
pub use runtime::input_file;
pub use runtime::journal;
pub use runtime::launch::IntoParams;
pub use runtime::memory::{Memory, MemoryPart};
pub use runtime::module::{Function, FunctionInfo, Module};
pub use runtime::pinned::Pinned;
pub use runtime::precision::Precision;
pub use runtime::progress::Progress;
pub use runtime::stream::{L2Span, L2Window, Stream};
pub use warpplay_gpu::args::{In, InOut, IntoParam};
pub use warpplay_gpu::kernel::{Kernel, SafeKernel};
pub use warpplay_gpu::launch::LaunchShape;
pub use warpplay_gpu::ptx::{PtxImage, PtxSet};
pub use warpplay_gpu::simt::banks::{BankCount, BankReport};

/// The examples of the README and the guides, compiled and run with the documentation's tests.
#[cfg(all(doctest, feature = "mcts", feature = "azero", feature = "mlp", feature = "shogi", feature = "cfr"))]
#[doc = include_str!("../../README.md")]
#[doc = include_str!("../../docs/guides/mcts.md")]
#[doc = include_str!("../../docs/guides/mlp.md")]
#[doc = include_str!("../../docs/guides/azero.md")]
#[doc = include_str!("../../docs/guides/cfr.md")]
#[doc = include_str!("../../docs/guides/shogi.md")]
pub struct Readme;
