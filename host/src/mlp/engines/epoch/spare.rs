//! What answers where a number left the range of the kernels' scales: the engine `layers`, in the same precision.

use std::sync::Arc;

use crate::mlp::Dataset;
use crate::mlp::engines::{EpochOutcome, EpochPlan, Setup, Train, layers};
use crate::mlp::evaluation::Classified;
use crate::mlp::options::{Engine, Options};
use crate::mlp::state::TrainState;
use crate::{Buffer, Device, Memory, Result};

/// An engine that is opened when it is first needed.
pub(super) struct Spare {
    device: Device,
    setup: Setup,
    engine: Option<Box<dyn Train>>,
}

impl Spare {
    /// Makes a spare engine for the networks that `setup` describes.
    pub fn new(device: &Device, setup: &Setup) -> Self {
        let options = Options { engine: Engine::Layers, ..setup.options.clone() };
        Self { device: device.clone(), setup: Setup { options, ..setup.clone() }, engine: None }
    }

    /// Memory that it takes, with sets of these numbers of samples in addition to the training set.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn memory_needed(device: &Device, setup: &Setup, sets: &[usize]) -> Result<Memory> {
        layers::memory_needed(device, setup, sets)
    }

    /// The engine with these weights.
    fn with(&mut self, state: &TrainState) -> Result<&mut dyn Train> {
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => layers::open(&self.device, self.setup.clone())?,
        };
        let engine = self.engine.insert(engine).as_mut();
        engine.set_state(state)?;
        Ok(engine)
    }

    /// Trains the rest of an epoch from `state`; returns the outcome and the state after it.
    pub fn train(&mut self, state: &TrainState, plan: &EpochPlan<'_>) -> Result<(EpochOutcome, TrainState)> {
        let engine = self.with(state)?;
        let outcome = engine.train(plan, &mut |_, _| true)?;
        Ok((EpochOutcome { repeated: true, ..outcome }, engine.state()?))
    }

    /// Classifies a set with the weights of `state`.
    pub fn classify(&mut self, state: &TrainState, set: &Arc<Dataset>) -> Result<Classified> {
        let engine = self.with(state)?;
        let id = engine.load(set)?;
        engine.classify(id)
    }

    /// Logits of images with the weights of `state`.
    pub fn logits_on_device(&mut self, state: &TrainState, images: &Buffer<u8>) -> Result<Buffer<f32>> {
        self.with(state)?.logits_on_device(images)
    }
}
