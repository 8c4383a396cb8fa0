//! What the solver asks of each engine. One implementation a folder.

use crate::Result;
use crate::cfr::layout::{Measured, Tables};

/// An engine.
pub(in crate::cfr) trait Solve: Send {
    /// Runs `n` more iterations, and returns when they are done.
    fn run(&mut self, n: u32) -> Result<()>;

    /// Values and exact best responses of the average profile, on the device.
    fn measure(&mut self) -> Result<Measured>;

    /// Sum over the iterations so far of the utilities of the strategies used, by seat.
    fn utilities(&mut self) -> Result<Vec<f64>>;

    /// Reads the complete state.
    fn tables(&mut self) -> Result<Tables>;

    /// Restores the state that was read.
    fn set_tables(&mut self, tables: &Tables) -> Result<()>;
}
