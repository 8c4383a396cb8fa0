//! How a fit is made.

use super::fit::Material;
use super::options::{Engine, Options};
use crate::runtime::setters::setters;
use crate::shogi::dispatch;
use crate::shogi::evaluation::check_children;
use crate::shogi::objective::{Objective, Values};
use crate::shogi::shard::{Shard, Shards};
use crate::{Device, Memory, Result};

/// Options and data of a [`Material`]; made by [`Material::builder`].
#[derive(Clone, Debug)]
pub struct MaterialBuilder<'a> {
    shards: Vec<&'a Shard>,
    options: Options,
}

impl Material {
    /// A builder for data: a [`Dataset`](crate::shogi::dataset::Dataset) or shards.
    pub fn builder<'a>(data: impl Into<Shards<'a>>) -> MaterialBuilder<'a> {
        MaterialBuilder::new(data.into())
    }
}

impl<'a> MaterialBuilder<'a> {
    fn new(shards: Shards<'a>) -> Self {
        Self { shards: shards.0, options: Options::default() }
    }

    /// Sets all options at once.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    setters! {
        /// The implementation.
        engine: Engine,
        /// The objective and the steps of the minimisation.
        objective: Objective,
        /// Initial values of L N S G B R +P +L +N +S +B +R.
        init: Values,
        /// Total number of steps.
        iterations: u32,
        /// Uses the data as if they occurred this many times.
        repeat: u32,
        /// Threads on the CPU; `None` for all cores.
        threads: impl Into<Option<usize>> = threads.into(),
    }

    /// Memory that [`build`](Self::build) takes.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for an engine that the device does not have.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        dispatch::memory_of_fit(device, &self.shards, &self.options)
    }

    /// Copies the children of the shards, which are not needed afterwards.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for options that [`Options::check`] refuses, or threads that cannot be started;
    /// [`Error::Unsupported`](crate::Error::Unsupported) for an engine that the device does not have; [`Error::Shape`](crate::Error::Shape) without children, or for 2³¹ or
    /// more; [`Error::OutOfMemory`](crate::Error::OutOfMemory) if they do not fit; [`Error::File`](crate::Error::File) for a truncated file; errors of the driver.
    pub fn build(self, device: &Device) -> Result<Material> {
        let Self { shards, options } = self;
        options.check()?;
        shards.iter().try_for_each(|shard| shard.expect_whole())?;
        let once: u64 = shards.iter().map(|shard| shard.n_children() as u64).sum();
        check_children(once)?;
        let memory = dispatch::memory_of_fit(device, &shards, &options)?;
        device.expect_memory(&memory)?;
        let engine = dispatch::fit(device, &shards, &options)?;
        Ok(Material::new(engine, device.clone(), once * u64::from(options.repeat), options, memory))
    }
}
