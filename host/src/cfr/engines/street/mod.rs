//! The solver for many hands: a block a betting subtree on a board, street by street.
//!
//! ```text
//! boards    what is known of every hand on every board        compile   a subtree as lists of operations
//! image     all of it as the kernels' arrays                  kernels   device memory and launches
//! engine    iterations, measuring                             tables    between the device's layout and the game's
//! ```
//!
//! Games of one street need one launch for many iterations; others one graph an iteration. See `warpplay_gpu::cfr::street` for the kernels.

mod boards;
mod compile;
mod engine;
mod image;
#[allow(unsafe_code)]
mod kernels;
mod needs;
mod tables;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::engine::{StreetEngine, shape};
use self::image::Shape;
use self::needs::{check, room};
use super::Solve;
use crate::cfr::layout::{Measured, Tables, VectorGame};
use crate::cfr::options::Options;
use crate::{Backend, Device, Error, Memory, Result};

/// Checks that the engine can solve the game on the device, and returns the memory that it needs.
///
/// # Errors
/// [`Error::Option`] for unsupported options, or if a betting subtree does not fit in shared memory; [`Error::Unsupported`] on the CPU, which has no kernels.
pub(in crate::cfr) fn fits(device: &Device, game: &VectorGame, options: &Options) -> Result<Memory> {
    if device.backend() == Backend::Cpu {
        return Err(Error::Unsupported {
            what: "engine street".into(),
            backend: device.backend().to_string(),
            remedy: "use engine auto".into(),
        });
    }
    check(game, options)?;
    Ok(room(options).memory(&Shape::new(&[game], &device.info()?)?))
}

/// A solver of one game.
///
/// # Errors
/// As [`fits`]; [`Error::Driver`] if the driver refuses.
pub(in crate::cfr) fn build(device: &Device, game: Arc<VectorGame>, options: &Options) -> Result<Box<dyn Solve>> {
    fits(device, &game, options)?;
    Ok(Box::new(StreetEngine::new(device, vec![game], options)?))
}

/// Games with the same number of streets, solved in the same launches; games of one street use one block per board, and no launch between iterations.
pub(in crate::cfr) struct StreetBatch {
    engine: StreetEngine,
}

impl StreetBatch {
    /// A solver of these games.
    ///
    /// # Errors
    /// As [`build`]; [`Error::Option`] if the games differ in their number of streets, or for sampling; [`Error::OutOfMemory`] if they do not fit.
    pub fn new(device: &Device, games: Vec<Arc<VectorGame>>, options: &Options) -> Result<Self> {
        let shape = shape(&device.info()?, &games, options)?;
        device.expect_memory(&room(options).memory(&shape))?;
        Ok(Self { engine: StreetEngine::with_shape(device, games, &shape, options)? })
    }

    /// Runs `n` more iterations of every game.
    ///
    /// # Errors
    /// [`Error::Driver`] if a kernel fails.
    pub fn run(&mut self, n: u32) -> Result<()> {
        self.engine.run(n)
    }

    /// Values and best responses of each game's average profile.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn measure(&mut self) -> Result<Vec<Measured>> {
        self.engine.measure_all()
    }

    /// The complete state of game `number`.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn tables(&mut self, number: usize) -> Result<Tables> {
        self.engine.tables_of(number)
    }
}
