//! The network by the published kernels, one launch after the other; norms are not folded into convolutions.

use warpplay::azero::{BlockOutput, Evaluation, Inputs, MAX_BATCH, NORM_EPSILON, Network, NetworkShape, Outputs};
use warpplay::{Buffer, Error, L2Span, Result, Stream};

use super::kernels::{SIDE, input};
use super::{Affine, Kernels, NormArrays, Options};

/// A convolution and its norm.
pub(super) struct Layer {
    pub(super) conv: Affine,
    pub(super) norm: NormArrays,
}

/// A network on a device, run by the published kernels in f32.
///
/// ```
/// use warpplay::Device;
/// use warpplay::azero::{Network, NetworkShape};
/// use warpplay_papers::checkers_conv::{Model, Options};
///
/// let stream = Device::simt().stream()?;
/// let shape = NetworkShape { width: 4, depth: 1, value_hidden: 4, actions: 3, ..NetworkShape::default() };
/// let mut model = Model::new(&stream, &Network::seeded(shape, 1)?, Options::default(), 1)?;
/// let evaluation = model.evaluate(&stream, &[0.0; 5 * 64], &[1, 0, 1])?;
/// assert_eq!(evaluation.policies[1], 0.0);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Model {
    pub(super) kernels: Kernels,
    pub(super) shape: NetworkShape,
    pub(super) input: Layer,
    pub(super) torso: Vec<[Layer; 2]>,
    pub(super) value: Layer,
    value_linear: [Affine; 2],
    pub(super) policy: Layer,
    policy_linear: Affine,
    capacity: usize,
    /// `[capacity, width, 8, 8]` each: a block's input, its middle, its output.
    x: Buffer<f32>,
    middle: Buffer<f32>,
    y: Buffer<f32>,
    /// `[capacity, filters, 8, 8]`.
    value_planes: Buffer<f32>,
    policy_planes: Buffer<f32>,
    /// `[capacity, value_hidden]`.
    hidden: Buffer<f32>,
    /// `[capacity]`: before the hyperbolic tangent.
    before_tanh: Buffer<f32>,
}

/// Told of every block's output: name, buffer, values of a position.
type See<'a> = &'a mut dyn FnMut(&str, &Buffer<f32>, usize) -> Result<()>;

impl Model {
    /// Copies a network to the device and takes memory for up to `capacity` positions.
    ///
    /// # Errors
    /// [`Error::Option`] for a board other than 8×8, more planes than the form of the input convolution takes, a choice that is not allowed, or a capacity
    /// of 0 or above [`MAX_BATCH`]; errors of the device.
    pub fn new(stream: &Stream, network: &Network, options: Options, capacity: usize) -> Result<Self> {
        let shape = network.shape();
        for (name, side) in [("rows", shape.rows), ("columns", shape.columns)] {
            if side != SIDE {
                return Err(Error::option(name, side, "8, with the published kernels"));
            }
        }
        if options.input.by_planes() && shape.planes > input::MAX_THREAD_PLANES {
            let allowed = format!("1 to {} with input {}", input::MAX_THREAD_PLANES, options.input);
            return Err(Error::option("planes", shape.planes, allowed));
        }
        if !(1..=MAX_BATCH).contains(&capacity) {
            return Err(Error::option("max batch", capacity, format!("1 to {MAX_BATCH}")));
        }
        let kernels = Kernels::load(stream.device(), options)?;
        let layer = |conv, norm| {
            Ok::<_, Error>(Layer { conv: Affine::conv(stream, conv)?, norm: NormArrays::new(stream, norm)? })
        };
        let torso = network.torso().iter();
        let (input_conv, input_norm) = network.input();
        let (value_conv, value_norm, [value_first, value_second]) = network.value_head();
        let (policy_conv, policy_norm, policy_linear) = network.policy_head();
        let (cells, block) = (shape.cells(), capacity * shape.n_block());
        Ok(Self {
            input: layer(input_conv, input_norm)?,
            torso: torso
                .map(|block| Ok([layer(&block.conv_1, &block.norm_1)?, layer(&block.conv_2, &block.norm_2)?]))
                .collect::<Result<_>>()?,
            value: layer(value_conv, value_norm)?,
            value_linear: [Affine::linear(stream, value_first)?, Affine::linear(stream, value_second)?],
            policy: layer(policy_conv, policy_norm)?,
            policy_linear: Affine::linear(stream, policy_linear)?,
            x: stream.alloc(block)?,
            middle: stream.alloc(block)?,
            y: stream.alloc(block)?,
            value_planes: stream.alloc(capacity * shape.value_filters as usize * cells)?,
            policy_planes: stream.alloc(capacity * shape.policy_filters as usize * cells)?,
            hidden: stream.alloc(capacity * shape.value_hidden as usize)?,
            before_tanh: stream.alloc(capacity)?,
            kernels,
            shape,
            capacity,
        })
    }

    /// The size of the network.
    pub fn shape(&self) -> NetworkShape {
        self.shape
    }

    /// The forms of the kernels.
    pub fn options(&self) -> Options {
        self.kernels.options()
    }

    /// Launches so far.
    pub fn launched(&self) -> u64 {
        self.kernels.launched()
    }

    /// Chooses other forms of the kernels.
    ///
    /// # Errors
    /// [`Error::Option`] for a choice that is not allowed.
    pub fn set_options(&mut self, options: Options) -> Result<()> {
        self.kernels.set_options(options)
    }

    /// Evaluates positions in host memory: `observations` `[n, planes, 8, 8]`, `masks` `[n, actions]`.
    ///
    /// # Errors
    /// [`Error::Shape`] if they are not whole positions of one number, within the capacity; errors of the device.
    pub fn evaluate(&mut self, stream: &Stream, observations: &[f32], masks: &[u8]) -> Result<Evaluation> {
        self.seen(stream, observations, masks, &mut |_, _, _| Ok(()))
    }

    /// The same, with what every block leaves behind, `[n, channels, 8, 8]` each.
    ///
    /// # Errors
    /// As [`Model::evaluate`].
    pub fn evaluate_blocks(
        &mut self,
        stream: &Stream,
        observations: &[f32],
        masks: &[u8],
    ) -> Result<(Evaluation, Vec<BlockOutput>)> {
        let n = self.count(observations)?;
        let mut blocks = Vec::new();
        let evaluation = self.seen(stream, observations, masks, &mut |name, buffer, each| {
            let mut values = vec![0.0; n * each];
            stream.read_into(buffer, 0, &mut values)?;
            blocks.push(BlockOutput { name: name.to_string(), values });
            Ok(())
        })?;
        Ok((evaluation, blocks))
    }

    /// What positions in host memory leave behind after every block.
    ///
    /// # Errors
    /// As [`Model::evaluate`].
    pub fn block_outputs(&mut self, stream: &Stream, observations: &[f32]) -> Result<Vec<BlockOutput>> {
        let masks = vec![1u8; self.count(observations)? * self.shape.actions as usize];
        Ok(self.evaluate_blocks(stream, observations, &masks)?.1)
    }

    fn seen(&mut self, stream: &Stream, observations: &[f32], masks: &[u8], see: See<'_>) -> Result<Evaluation> {
        let n = self.count(observations)?;
        if masks.len() != n * self.shape.actions as usize {
            return Err(Error::shape("masks", format!("{n} times {} values", self.shape.actions), masks.len()));
        }
        let inputs = Inputs { observations: stream.upload(observations)?, masks: stream.upload(masks)? };
        let mut outputs = Outputs::new(stream, self.shape, n)?;
        self.run(stream, &inputs, n, &mut outputs, see)?;
        let read = |buffer| Ok::<_, Error>(stream.read(buffer)?.into_iter().map(f64::from).collect());
        Ok(Evaluation {
            values: read(&outputs.values)?,
            policy_logits: read(&outputs.policy_logits)?,
            policies: read(&outputs.policies)?,
        })
    }

    /// Gives every weight of a convolution one value and takes its bias and its norm away: the networks of the repository's tests.
    ///
    /// # Errors
    /// Errors of the device.
    pub(super) fn set_constant(&mut self, stream: &Stream, weight: f32) -> Result<()> {
        let layers = self.torso.iter_mut().flatten().chain([&mut self.input, &mut self.value, &mut self.policy]);
        for Layer { conv, norm } in layers {
            let (n, all) = (conv.bias.len(), conv.weight.len());
            stream.write(&mut conv.weight, 0, &vec![weight; all])?;
            stream.write(&mut conv.bias, 0, &vec![0.0; n])?;
            for (values, value) in [
                (&mut norm.weight, 1.0),
                (&mut norm.bias, 0.0),
                (&mut norm.mean, 0.0),
                (&mut norm.variance, 1.0 - NORM_EPSILON as f32),
            ] {
                stream.write(values, 0, &vec![value; n])?;
            }
        }
        Ok(())
    }

    fn count(&self, observations: &[f32]) -> Result<usize> {
        self.positions(observations.len(), self.shape.n_observation())
    }

    /// The number of positions that have `len` values, `each` a position.
    pub(super) fn positions(&self, len: usize, each: usize) -> Result<usize> {
        let n = len / each;
        if n * each == len && (1..=self.capacity).contains(&n) {
            return Ok(n);
        }
        Err(Error::shape("values of the positions", format!("1 to {} times {each}", self.capacity), len))
    }

    fn check(&self, n: usize) -> Result<()> {
        if (1..=self.capacity).contains(&n) {
            return Ok(());
        }
        Err(Error::option("batch", n, format!("1 to {}", self.capacity)))
    }

    /// The input's layer and all residual blocks; their output is left in `self.x`.
    fn tower(&mut self, stream: &Stream, observations: &Buffer<f32>, n: usize, see: See<'_>) -> Result<()> {
        self.check(n)?;
        let Self { kernels, shape, x, middle, y, .. } = self;
        let each = shape.n_block();
        kernels.input(stream, n, observations, &self.input.conv, x)?;
        kernels.batch_norm(stream, n, x, &self.input.norm)?;
        kernels.relu(stream, n, each, x)?;
        see("input", x, each)?;
        for (number, [first, second]) in self.torso.iter().enumerate() {
            kernels.torso(stream, n, x, &first.conv, middle)?;
            kernels.batch_norm(stream, n, middle, &first.norm)?;
            kernels.relu(stream, n, each, middle)?;
            see(&format!("torso_{number}_mid"), middle, each)?;
            kernels.torso(stream, n, middle, &second.conv, y)?;
            kernels.batch_norm(stream, n, y, &second.norm)?;
            kernels.add(stream, n, each, y, x)?;
            kernels.relu(stream, n, each, y)?;
            see(&format!("torso_{number}"), y, each)?;
            std::mem::swap(x, y);
        }
        Ok(())
    }

    /// The paper's semi-model: the tower and the policy head's layer, `out`: `[n, policy filters, 8, 8]`.
    pub(super) fn semi(
        &mut self,
        stream: &Stream,
        observations: &Buffer<f32>,
        n: usize,
        out: &mut Buffer<f32>,
    ) -> Result<()> {
        self.tower(stream, observations, n, &mut |_, _, _| Ok(()))?;
        let (kernels, layer) = (&self.kernels, &self.policy);
        kernels.output(stream, n, &self.x, &layer.conv, out)?;
        kernels.batch_norm(stream, n, out, &layer.norm)?;
        kernels.relu(stream, n, layer.conv.n_outputs() as usize * self.shape.cells(), out)
    }

    fn run(&mut self, stream: &Stream, inputs: &Inputs, n: usize, outputs: &mut Outputs, see: See<'_>) -> Result<()> {
        self.tower(stream, &inputs.observations, n, see)?;
        let Self { kernels, shape, x, .. } = self;
        let heads = [
            ("value_head_plane", &self.value, &mut self.value_planes),
            ("policy_head_planes", &self.policy, &mut self.policy_planes),
        ];
        for (name, layer, planes) in heads {
            let each = layer.conv.n_outputs() as usize * shape.cells();
            kernels.output(stream, n, x, &layer.conv, planes)?;
            kernels.batch_norm(stream, n, planes, &layer.norm)?;
            kernels.relu(stream, n, each, planes)?;
            see(name, planes, each)?;
        }
        kernels.linear(stream, n, &self.value_planes, &self.value_linear[0], &mut self.hidden)?;
        kernels.relu(stream, n, shape.value_hidden as usize, &mut self.hidden)?;
        kernels.linear(stream, n, &self.hidden, &self.value_linear[1], &mut self.before_tanh)?;
        kernels.tanh(stream, n, &self.before_tanh, &mut outputs.values)?;
        kernels.linear(stream, n, &self.policy_planes, &self.policy_linear, &mut outputs.policy_logits)?;
        kernels.policy(stream, n, shape.actions, &outputs.policy_logits, &inputs.masks, &mut outputs.policies)
    }
}

impl Model {
    /// Enqueues the evaluation of the first `n` positions in device memory.
    ///
    /// # Errors
    /// [`Error::Option`] for no position or more than the capacity; [`Error::Shape`] for a buffer that is too short; errors of the launch.
    pub fn enqueue(&mut self, stream: &Stream, inputs: &Inputs, n: usize, outputs: &mut Outputs) -> Result<()> {
        self.run(stream, inputs, n, outputs, &mut |_, _, _| Ok(()))
    }

    /// Where the convolutions' weights lie in device memory, in the order in which they were allocated.
    pub fn weights(&self) -> L2Span {
        let mut span = L2Span::of(&self.input.conv.weight);
        for layer in self.torso.iter().flatten().chain([&self.value, &self.policy]) {
            span = span.and(&layer.conv.weight);
        }
        span
    }
}
