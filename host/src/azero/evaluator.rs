//! Evaluating positions.

use super::dispatch::Setup;
use super::engines::Evaluate;
use super::engines::cpu::{self, Plain};
use super::evaluation::{BlockOutput, Evaluation, Inputs, Outputs};
use super::heard::heard;
use super::resident::Resident;
use super::{Engine, EvaluatorOptions, Network, NetworkShape, ObservationLayout, ValueOf};
use crate::runtime::setters::setters;
use crate::{Device, Error, L2Span, Memory, Precision, Result, Stream};

/// Options of an [`Evaluator`]; made by [`Evaluator::builder`].
#[derive(Clone, Debug)]
pub struct EvaluatorBuilder<'a> {
    network: &'a Network,
    options: EvaluatorOptions,
}

impl<'a> EvaluatorBuilder<'a> {
    /// Sets all options at once.
    pub fn options(mut self, options: EvaluatorOptions) -> Self {
        self.options = options;
        self
    }

    setters! {
        /// Arithmetic of the convolutions. Default f32.
        precision: Precision,
        /// The implementation to run. Default [`Engine::Auto`].
        engine: Engine,
        /// Maximum number of positions of a call, 1 to [`MAX_BATCH`](super::MAX_BATCH); `build` allocates memory for them. Default 128.
        max_batch: usize,
        /// Threads of the CPU back end, 1 to 1024; 1 selects the sequential program; results do not depend on the number. Default (`None`) all cores.
        threads: impl Into<Option<usize>> = threads.into(),
    }

    fn setup(&self, device: &Device) -> Result<Setup<'a>> {
        let EvaluatorOptions { engine, precision, max_batch, .. } = self.options;
        self.options.check()?;
        let setup = Setup { network: self.network, precision, engine, capacity: max_batch };
        setup.check(device)?;
        Ok(setup)
    }

    /// The engine that would evaluate on a device, never [`Engine::Auto`].
    pub(crate) fn engine_on(&self, device: &Device) -> Result<Engine> {
        Ok(self.setup(device)?.chosen(device))
    }

    /// Memory that an evaluator needs: on the device the network's parameters and the activations, positions and results of a batch; on the host copies of positions and
    /// results in pinned memory.
    ///
    /// # Errors
    /// [`Error::Option`] for a value that is not allowed; errors of the driver.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        let setup = self.setup(device)?;
        setup.memory(device, setup.chosen(device))
    }

    /// Copies the network to a device, with memory for [`EvaluatorBuilder::max_batch`] positions. Later changes of the network have no effect on the evaluator.
    ///
    /// # Errors
    /// [`Error::Option`] for a value that is not allowed, or a precision or engine that the device does not offer for this network; [`Error::OutOfMemory`] if the device has
    /// too little for so large a batch; errors of the driver.
    pub fn build(self, device: &Device) -> Result<Evaluator> {
        let setup = self.setup(device)?;
        let EvaluatorOptions { precision, max_batch, threads, .. } = self.options;
        let (shape, engine) = (self.network.shape(), setup.chosen(device));
        let memory = setup.memory(device, engine)?;
        let program = match engine {
            Engine::Cpu => Program::Plain(cpu::open(device, self.network, precision, max_batch, threads)?),
            kernels => {
                device.expect_memory(&memory)?;
                let stream = device.stream()?;
                let engine = setup.open(device, &stream, kernels)?;
                Program::Kernels(Box::new(Resident::new(engine, stream, shape, max_batch)?))
            }
        };
        let (observation, value_of) = (self.network.observation(), self.network.value_of());
        let device = device.clone();
        Ok(Evaluator {
            program,
            device,
            shape,
            observation,
            value_of,
            precision,
            engine,
            max_batch,
            memory,
            repeated_batches: 0,
        })
    }
}

enum Program {
    Plain(Box<dyn Plain>),
    Kernels(Box<Resident>),
}

/// A network on a device, ready to evaluate positions.
///
/// ```
/// use warpplay::Device;
/// use warpplay::azero::{Evaluator, Network, NetworkShape};
///
/// let shape = NetworkShape { width: 8, depth: 1, actions: 4, ..NetworkShape::default() };
/// let network = Network::seeded(shape, 27)?;
/// let mut evaluator = Evaluator::builder(&network).build(&Device::cpu())?;
/// let found = evaluator.evaluate(&vec![0.0; shape.n_observation()], &[1, 0, 1, 0])?;
/// assert!(found.values[0].abs() <= 1.0);
/// assert_eq!((found.policies[1], found.policies[3]), (0.0, 0.0)); // not legal
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Evaluator {
    program: Program,
    device: Device,
    shape: NetworkShape,
    observation: ObservationLayout,
    value_of: ValueOf,
    precision: Precision,
    engine: Engine,
    max_batch: usize,
    memory: Memory,
    repeated_batches: u64,
}

impl Evaluator {
    /// Makes a builder of an evaluator with the default options.
    pub fn builder(network: &Network) -> EvaluatorBuilder<'_> {
        EvaluatorBuilder { network, options: EvaluatorOptions::default() }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The network's size.
    pub fn shape(&self) -> NetworkShape {
        self.shape
    }

    /// The layout of the network's observations.
    pub fn observation(&self) -> ObservationLayout {
        self.observation
    }

    /// The player whose value the network gives.
    pub fn value_of(&self) -> ValueOf {
        self.value_of
    }

    /// Arithmetic of the convolutions.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The engine that runs, never [`Engine::Auto`].
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Memory that the evaluator took, as [`EvaluatorBuilder::memory_needed`].
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// Maximum number of positions of a call.
    pub fn max_batch(&self) -> usize {
        self.max_batch
    }

    /// The number of batches in which some positions were evaluated twice: [`Engine::Fused`] in f32 represents activations up to about a thousand times the largest one
    /// measured when the network was loaded; [`Engine::Layers`] evaluates a position with a larger one again. The number covers batches of [`Evaluator::evaluate`] and calls
    /// of [`Evaluator::enqueue_again`].
    pub fn repeated_batches(&self) -> u64 {
        self.repeated_batches
    }

    /// Evaluates `n` positions in host memory.
    ///
    /// * `observations`: `[n, planes, rows, columns]`, finite.
    /// * `masks`: `[n, actions]`, 1 for a legal action and 0 for any other; every position has a legal action.
    ///
    /// # Errors
    /// [`Error::Shape`] naming tensor and position for a wrong length or value, for no positions, and for more than [`Evaluator::max_batch`]; [`Error::NotFinite`] naming
    /// the position if its value or a logit is NaN or infinite; errors of the device.
    pub fn evaluate(&mut self, observations: &[f32], masks: &[u8]) -> Result<Evaluation> {
        let mut found = Evaluation::default();
        self.evaluate_into(observations, masks, &mut found)?;
        Ok(found)
    }

    /// As [`Evaluator::evaluate`], with the results in `found`, whose memory is reused. After an error its content is meaningless.
    ///
    /// # Errors
    /// As [`Evaluator::evaluate`].
    pub fn evaluate_into(&mut self, observations: &[f32], masks: &[u8], found: &mut Evaluation) -> Result<()> {
        self.evaluate_while(observations, masks, found, &mut || true)?;
        Ok(())
    }

    /// As [`Evaluator::evaluate_into`]; without a GPU it calls `go_on` between the parts of a large batch or of a launch. Returns whether all positions were evaluated.
    pub(in crate::azero) fn evaluate_while(
        &mut self,
        observations: &[f32],
        masks: &[u8],
        found: &mut Evaluation,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let n = self.check_observations(observations)?;
        check_masks(masks, n, self.shape.actions as usize)?;
        found.values.resize(n, 0.0);
        found.policy_logits.resize(masks.len(), 0.0);
        found.policies.resize(masks.len(), 0.0);
        match &mut self.program {
            Program::Plain(plain) => {
                if !plain.evaluate(observations, masks, found, go_on) {
                    return Ok(false);
                }
            }
            Program::Kernels(resident) => {
                let evaluated = heard(&self.device, go_on, || resident.evaluate(observations, masks, n, found))?;
                let Some(is_repeated) = evaluated else { return Ok(false) };
                self.repeated_batches += u64::from(is_repeated);
            }
        }
        self.check_found(found)?;
        Ok(true)
    }

    /// Enqueues the evaluation of the first `n` positions of `inputs`; positions and results stay in the device's memory. Any stream of the device can be used. The
    /// evaluator has one set of activations, so the stream must be synchronised before another stream is used or [`Evaluator::evaluate`] is called. The call allocates
    /// nothing, does not wait, and checks no values: a position without a legal action, or with values that are not finite, gives meaningless results.
    ///
    /// Since it does not wait, it cannot repeat an evaluation: a position with an activation too large for [`Engine::Fused`] in f32 (see [`Evaluator::repeated_batches`])
    /// gets NaN for its value and all logits. In that case call [`Evaluator::enqueue_again`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] on the CPU back end, which has no memory of its own; [`Error::Option`] for `n` 0 or beyond [`Evaluator::max_batch`]; [`Error::Shape`] if the
    /// buffers have no room for `n`; [`Error::Device`] for a buffer or stream of another device; errors of the driver.
    pub fn enqueue(&mut self, stream: &Stream, inputs: &Inputs, n: usize, outputs: &mut Outputs) -> Result<()> {
        self.expect_resident(stream, inputs, n, outputs)?.enqueue(stream, inputs, n, outputs)
    }

    /// Repeats [`Evaluator::enqueue`] after a value was NaN: in plain single precision if [`Evaluator::may_overflow`], else with the same engine. The first call opens the
    /// engine for single precision, whose memory is included in `memory_needed`: that call allocates and waits, and cannot be recorded.
    ///
    /// # Errors
    /// As [`Evaluator::enqueue`]; [`Error::OutOfMemory`] if memory that was free when the evaluator was built is no longer free.
    pub fn enqueue_again(&mut self, stream: &Stream, inputs: &Inputs, n: usize, outputs: &mut Outputs) -> Result<()> {
        self.expect_resident(stream, inputs, n, outputs)?.enqueue_again(stream, inputs, n, outputs)?;
        self.repeated_batches += 1;
        Ok(())
    }

    /// Whether [`Evaluator::enqueue`] may give NaN where plain single precision gives finite values.
    pub fn may_overflow(&self) -> bool {
        matches!(&self.program, Program::Kernels(resident) if resident.engine.may_overflow())
    }

    /// Returns the engine, or an error if it cannot evaluate `n` positions in device memory.
    fn expect_resident(
        &mut self,
        stream: &Stream,
        inputs: &Inputs,
        n: usize,
        outputs: &Outputs,
    ) -> Result<&mut dyn Evaluate> {
        let Program::Kernels(resident) = &mut self.program else {
            return Err(Error::Unsupported {
                what: "evaluation of positions in device memory".into(),
                backend: self.device.backend().to_string(),
                remedy: "use evaluate with positions in host memory".into(),
            });
        };
        if !(1..=self.max_batch).contains(&n) {
            return Err(Error::option("batch", n, format!("1 to {}, the evaluator's max_batch", self.max_batch)));
        }
        self.device.expect_same("stream", stream.device())?;
        inputs.check(self.shape, n)?;
        outputs.check(self.shape, n)?;
        Ok(&mut *resident.engine)
    }

    /// The range of device memory that holds the network's weights, for [`Stream::keep_in_l2`]: call that function before the stream's first evaluation, since it does not
    /// affect launches recorded earlier. `None` on the CPU and for engines that do not provide the range.
    pub fn weights(&self) -> Option<L2Span> {
        match &self.program {
            Program::Plain(_) => None,
            Program::Kernels(resident) => resident.engine.weights(),
        }
    }

    /// Activations after every block, in the order of the network: `input`, `torso_0_mid`, `torso_0`, …, `value_head_plane`,
    /// `policy_head_planes`. For tests and tables of errors; allocates.
    ///
    /// # Errors
    /// As [`Evaluator::evaluate`].
    pub fn blocks(&mut self, observations: &[f32]) -> Result<Vec<BlockOutput>> {
        let n = self.check_observations(observations)?;
        match &mut self.program {
            Program::Plain(plain) => Ok(plain.blocks(observations, n)),
            Program::Kernels(resident) => resident.blocks(observations, n),
        }
    }

    /// The number of positions of these observations.
    fn check_observations(&self, observations: &[f32]) -> Result<usize> {
        let NetworkShape { planes, rows, columns, .. } = self.shape;
        let (len, a_position) = (observations.len(), self.shape.n_observation());
        let n = len / a_position;
        if !len.is_multiple_of(a_position) || !(1..=self.max_batch).contains(&n) {
            let positions = match self.max_batch {
                1 => "one position".to_string(),
                most => format!("each of 1 to {most} positions"),
            };
            let expected = format!("{a_position} values ({planes} x {rows} x {columns}) for {positions}");
            return Err(Error::shape("observations", expected, format!("{len} values")));
        }
        match observations.iter().position(|value| !value.is_finite()) {
            Some(at) => {
                let what = format!("observations, element {} of position {}", at % a_position, at / a_position);
                Err(Error::shape(what, "a finite number", observations[at]))
            }
            None => Ok(n),
        }
    }

    /// Checks that all results are finite.
    fn check_found(&self, found: &Evaluation) -> Result<()> {
        let actions = self.shape.actions as usize;
        let arrays = [("value", &found.values, 1), ("policy logit", &found.policy_logits, actions)];
        for (what, values, each) in arrays.into_iter().chain([("policy", &found.policies, actions)]) {
            if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                let what = if each == 1 { what.to_string() } else { format!("{what} {}", at % each) };
                let (position, value, precision) = (at / each, values[at], self.precision);
                return Err(Error::NotFinite { what, position, value, precision });
            }
        }
        Ok(())
    }
}

fn check_masks(masks: &[u8], n: usize, actions: usize) -> Result<()> {
    if masks.len() != n * actions {
        let expected = format!("{actions} values for each of {n} positions");
        return Err(Error::shape("masks", expected, format!("{} values", masks.len())));
    }
    for (position, mask) in masks.chunks_exact(actions).enumerate() {
        let all = mask.iter().fold(0, |all, &value| all | value);
        if all == 0 {
            return Err(Error::shape(format!("masks, position {position}"), "at least one legal action", "none"));
        }
        if all > 1 {
            let action = mask.iter().position(|&value| value > 1).unwrap_or_default();
            let what = format!("masks, action {action} of position {position}");
            return Err(Error::shape(what, "0 or 1", mask[action]));
        }
    }
    Ok(())
}

impl std::fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evaluator")
            .field("device", &self.device)
            .field("shape", &self.shape)
            .field("precision", &self.precision)
            .field("engine", &self.engine)
            .field("max_batch", &self.max_batch)
            .finish_non_exhaustive()
    }
}
