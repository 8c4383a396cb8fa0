//! Several threads, GPUs or processes that learn together.
//!
//! Each rank works on its [`share`] of the parents, and the ranks add up what they found. Everything that they add up is a whole number, so the sum does not depend on
//! how many ranks there are: one rank and seven learn the same bits. A [`Learner`](super::learner::Learner) takes a group by [`ranks`](super::learner::LearnerBuilder::ranks).
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::Device;
//! use warpplay::shogi::ranks::{Alone, Ranks, Threads};
//! use warpplay::shogi::{Window, dataset::Dataset, learner::Learner, records::Records};
//!
//! let records = Records::from_bytes("game.usi".as_ref(), b"7g7f 3c3d 8h2b+ 3a2b");
//! let set = Dataset::builder().plies(Window { start: 0, end: 4, step: 1 }).build(&records)?;
//! let learn = |ranks: &dyn Ranks| {
//!     let mut learner = Learner::builder(&set).ranks(ranks).iterations(3).build(&Device::cpu())?;
//!     learner.run(|_| ControlFlow::Continue(()))?;
//!     learner.weights()
//! };
//! let alone = learn(&Alone)?;
//! let together = Threads::run(2, |ranks| learn(ranks))?;
//! assert_eq!(together[0].values(), alone.values());
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | group | where its ranks are |
//! | --- | --- |
//! | [`Alone`] | this thread only |
//! | [`Threads`] | threads of this process: for tests, and for several GPUs of one machine |
//! | `Mpi` (feature `mpi`) | processes that `mpirun` started |
//!
//! | item | what it is |
//! | --- | --- |
//! | [`Ranks`] | the trait: sums, gathers, and the end of the whole group |
//! | [`share`] | a rank's part of the shards |
//! | [`device`] | the GPU of a rank |
//! | [`agree`], [`expect_same`], [`sum_wide`] | what ranks make sure of before they go on; sums of 128 bits |
//!
//! The paper divides the work in another way too, which is in the crate `warpplay-papers`.

pub use super::share::share;
#[cfg(feature = "mpi")]
pub use crate::runtime::ranks::Mpi;
pub use crate::runtime::ranks::{Alone, Ranks, Threads, agree, device, expect_same, sum_wide};
