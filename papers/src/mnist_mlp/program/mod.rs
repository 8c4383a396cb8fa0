//! The published program: its options, its launches, its training.
//!
//! `options` ◄ `launches` (one safe function a kernel) ◄ `arrays` (what lies on the device) ◄ `step` (what a step launches) ◄ `training`, `profile`.

mod arrays;
mod feed;
mod launches;
mod options;
mod profile;
mod report;
mod step;
mod training;

pub use launches::{Extent, Kernels, Launch, Product};
pub use options::{Accumulate, ColumnSums, Forms, Matmul, Options, SoftmaxForm};
pub use profile::{OperationTime, profile};
pub use report::Report;
pub use training::{Position, Program};
