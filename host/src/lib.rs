//! Game-playing AI on the GPU, with every kernel written in Rust.
//!
//! A program gives a position, a data set or the rules of a game, chooses a [`Device`], and gets a report back. The kernels are Rust too: rustc compiles them to PTX, a
//! safe function of the host launches each, and the same source runs thread by thread on the CPU, where it is checked. Runs with the same seed on the same device have the
//! same bits; what holds between devices, each family says.
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
//! # Should I use it?
//!
//! | you | |
//! | --- | --- |
//! | write game AI in Rust and want the GPU without C++ | yes: a family below, or a game or kernel of your own |
//! | repeat one of the publications | yes: the crate `warpplay-papers` has their programs, tables and figures |
//! | want to read how such kernels are made | yes: [`warpplay_gpu`], and `docs/reading-kernels.md` |
//! | have no GPU | yes: everything runs on the CPU too; self-play and training of `azero` then take hours |
//! | want neural networks of any form | no: the networks here are perceptrons and AlphaZero's residual network; candle, burn and tch are general |
//! | have a GPU that is not NVIDIA's, or older than compute capability 7.5 | no; on the CPU only |
//! | work on another system than Linux | no: only Linux is supported |
//!
//! # Families
//!
//! Each is a module with the same words: a `builder(…)`, options with defaults, `build(&device)`, `run(…)` with a `watch` that may stop it, and a report. Its page has an
//! example that runs, the algorithm and the layout of its data.
//!
//! | module | what it does | begin with | publications |
//! | --- | --- | --- | --- |
//! | [`mcts`] | Monte Carlo tree search run wholly on the device, for games and puzzles | [`mcts::Search`] | Klęsk |
//! | [`azero`] | AlphaZero for checkers: evaluation, play, self-play, training | [`azero::Evaluator`], [`azero::player`], [`azero::learn`] | Paul and Xu; Silver et al. |
//! | [`mlp`] | multilayer perceptrons: trained, used, many at once | [`mlp::Trainer`], [`mlp::Classifier`], [`mlp::Sweep`] | Ha and Beqaj |
//! | [`shogi`] | evaluations of positions, learnt from game records | [`shogi::learner`], [`shogi::material`] | Hoki; 「MPIまたはCUDAを用いた…」 |
//! | [`cfr`] | equilibria of poker and other games of hidden information | [`cfr::Solver`], [`cfr::Spot`] | Reis; Zinkevich et al. |
//!
//! Below them, [`tile`] multiplies matrices on the device, for networks of one's own.
//!
//! # Devices
//!
//! | [`Device`] | [`Backend`] | what runs |
//! | --- | --- | --- |
//! | [`Device::cuda`] | `Cuda` | the kernels, on an NVIDIA GPU |
//! | [`Device::simt`] | `Simt` | the same source on the CPU, thread by thread; it reports broken rules, for tests |
//! | [`Device::cpu`] | `Cpu` | the plain implementations, on all cores |
//!
//! [`Device::auto`] gives the first CUDA device, else the CPU; an engine never changes to another device by itself. The driver is found when it is first needed: the program
//! links no CUDA library, builds without the toolkit, and starts on a machine without a GPU.
//!
//! ```
//! # #[cfg(feature = "mcts")] {
//! use warpplay::mcts::{Connect4, Search};
//! use warpplay::{Device, Progress};
//!
//! // The kernels and the plain implementation make the same search, bit for bit.
//! let visits = |device: Device| {
//!     let mut search = Search::<Connect4>::builder().n_trees(1).n_playouts(4).steps(5).no_seconds().build(&device)?;
//!     let report = search.run(&Connect4::new(), Progress::go_on)?;
//!     Ok::<Vec<u64>, warpplay::Error>(report.actions.iter().map(|action| action.n).collect())
//! };
//! assert_eq!(visits(Device::simt())?, visits(Device::cpu())?);
//! # }
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! # Memory and kernels
//!
//! The families stand on types that a program can use as well:
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Device`], [`Backend`], [`DeviceInfo`], [`FreeMemory`] | what kernels run on, and what is known of it |
//! | [`Stream`], [`Event`], [`Graph`] | work in order, its times, its recordings |
//! | [`Buffer`], [`Pinned`] | memory of the device, and of the host for copies |
//! | [`L2Window`], [`L2Span`] | memory that the second-level cache keeps |
//! | [`Module`], [`Function`], [`FunctionInfo`] | kernels, loaded by name from embedded PTX ([`PtxSet`], [`PtxImage`]) |
//! | [`LaunchShape`] | grid, block and shared memory of a launch |
//! | [`Kernel`], [`ShapedKernel`], [`SafeKernel`], [`IntoParams`], [`IntoParam`], [`In`], [`InOut`] | what a launch knows of a kernel, and takes as its arguments |
//! | [`BankReport`], [`BankCount`] | how shared memory's banks were used, counted under `simt` |
//! | [`Precision`] | arithmetic and storage: `f32`, `bf16` and others |
//! | [`Progress`] | what `watch` is told while something runs |
//! | [`Memory`], [`MemoryPart`] | what a piece of work needs, before it is taken |
//! | [`Checkpoint`], [`journal`] | work that is kept while it runs, and gone on with |
//! | [`ranks`] | threads, GPUs and processes that work together |
//! | [`AtomicFile`], [`input_file`], [`Fnv`] | files written whole or not at all; files read with good errors; a checksum |
//! | [`Error`], [`Result`] | what can go wrong |
//!
//! A kernel of one's own is a function in a crate that `warpplay-gpu-builder` compiles (`docs/own-kernel.md`). It declares its launch shape and the lengths of its arrays, and
//! [`Stream::run`] checks both:
//!
//! ```
//! use warpplay::{Device, LaunchShape, Module, PtxSet};
//! use warpplay_gpu::cuda::view::{Disjoint, Slice};
//! use warpplay_gpu::cuda::{kernel, thread};
//!
//! /// Adds `bonus` to each of `n` scores, a thread a score.
//! #[kernel(shape = LaunchShape::linear(n, 128))]
//! pub fn add_bonus(#[len(n as usize)] scores: Slice<f32>, bonus: f32, #[len(n as usize)] mut sums: Disjoint<f32>, n: u32) {
//!     let Some(own) = thread::own_index_below(n) else { return };
//!     sums.set(&own, scores.get(own.get() as usize) + bonus);
//! }
//!
//! // In a crate of kernels the build script writes this set; `simt` needs no PTX.
//! const KERNELS: PtxSet = PtxSet { name: "example", images: &[], missing: Some("an example") };
//!
//! let device = Device::simt();
//! let function = Module::load(&device, &KERNELS)?.function(add_bonus)?;
//! let stream = device.stream()?;
//! let scores = stream.upload(&[1.0f32, 2.0, 3.0])?;
//! let mut sums = stream.alloc::<f32>(3)?;
//! stream.run(&function, (&scores, 0.5, &mut sums, 3))?;
//! assert_eq!(stream.read(&sums)?, [1.5, 2.5, 3.5]);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! ```text
//! the kernel's parameter               the launch's argument                   what crosses to the device
//! Slice<T>            all read         &Buffer<T>                              a pointer; the length is computed from #[len(…)]
//! Disjoint<T>         a thread writes  &mut Buffer<T>                          the same
//!                     its own element
//! Atomic<T>           all change       &mut Buffer<T>                          the same
//! *const T, *mut T    unsafe kernels   &Buffer<T>, &mut Buffer<T>              a pointer
//! S: DeviceArgs       a structure of   SArgs, with Buffer::view and            S, as it is
//!                     pointers         Buffer::view_mut for its pointers
//! f32, u32, …         numbers          the same number                         the number
//! ```
//!
//! # Features
//!
//! | feature | what it brings | on by default |
//! | --- | --- | --- |
//! | `mcts`, `azero` (with `mcts`), `mlp`, `shogi`, `cfr` | the module of that name with its kernels | yes |
//! | `tile` | products of matrices | yes |
//! | `cust` | conversions of devices, streams and buffers from and to Rust-CUDA's `cust`; links the driver's library | no |
//! | `mpi` (with `shogi`) | ranks that are processes, over the system's MPI library; it and libclang are needed to build | no |
//!
//! # Errors
//!
//! One enum, [`Error`]: its text says what failed, where, and what to do. Caller input never makes this crate panic, and the library prints nothing.
//!
//! ```
//! # #[cfg(feature = "mcts")] {
//! use warpplay::Device;
//! use warpplay::mcts::{Connect4, Search};
//!
//! let error = Search::<Connect4>::builder().n_playouts(100).build(&Device::cpu()).err().expect("refused");
//! assert_eq!(error.to_string(), "option n_playouts: 100 is not allowed (a power of two, 1 to 512)");
//! # }
//! ```
//!
//! # Safety
//!
//! Engines, devices, streams and buffers are safe to use, except [`Stream::launch`] and [`Stream::run_unchecked`], for kernels whose contract the types cannot express,
//! [`Buffer::borrowed`], for memory of another library, and `from_cust` of the feature `cust`. A kernel that is a safe function is launched by [`Stream::run`], which checks its
//! shape and the length of every array. `docs/safety.md` says which mistakes are excluded, which are found, and which only a reader can find.
//!
//! # Where to read on
//!
//! | to | read |
//! | --- | --- |
//! | install, and search a first position | `docs/start.md` |
//! | do a family's whole task, by commands or from a program | `docs/guides/mcts.md`, `docs/guides/azero.md`, `docs/guides/mlp.md`, `docs/guides/cfr.md`, `docs/guides/shogi.md` |
//! | write a game or a kernel of your own | `docs/adding-a-game.md`, `docs/own-kernel.md` |
//! | go through lessons in order | `host/examples` |
//! | know speeds, and how they were measured | `docs/performance.md` |
//! | know why it is as it is | `ARCHITECTURE.md` |
//! | understand an error | `docs/troubleshooting.md` |
#![deny(unsafe_code)]
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

#[cfg(feature = "azero")]
pub mod azero;
#[cfg(feature = "cfr")]
pub mod cfr;
#[cfg(feature = "mcts")]
pub mod mcts;
#[cfg(feature = "mlp")]
pub mod mlp;
#[cfg(feature = "tile")]
mod optimizer;
#[cfg_attr(
    not(all(feature = "mcts", feature = "azero", feature = "mlp", feature = "shogi", feature = "cfr")),
    allow(dead_code, reason = "each family uses a part")
)]
mod runtime;
#[cfg(feature = "shogi")]
pub mod shogi;
#[cfg(feature = "tile")]
#[allow(unsafe_code, reason = "it launches its kernels")]
pub mod tile;

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
pub use runtime::ranks;
pub use runtime::stream::{L2Span, L2Window, Stream};
pub use warpplay_gpu::args::{In, InOut, IntoParam};
pub use warpplay_gpu::kernel::{Kernel, SafeKernel, ShapedKernel};
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
