//! The published program: its options, its launches, its training.
//!
//! `options` ◄ `launches` (one safe function a kernel) ◄ `arrays` (what lies on the device) ◄ `step` (what a step launches) ◄ `training`, `profile`; `usage` counts memory and copies.

mod arrays;
mod feed;
mod launches;
mod options;
mod profile;
mod report;
mod step;
mod training;
mod usage;

pub use launches::{Extent, Kernels, Launch, Product};
pub use options::{Accumulate, ColumnSums, Divide, Forms, LossForm, Matmul, Options, SoftmaxForm};
pub use profile::{OperationTime, profile, profile_product};
pub use report::Report;
pub use training::{Position, Program};
pub use usage::{DeviceBytes, Traffic};
