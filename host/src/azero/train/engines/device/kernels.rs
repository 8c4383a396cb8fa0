//! The training kernels, resolved, with a safe function for each stage; and the device arrays they work on.

use warpplay_gpu::azero::train::loss::{LossArgs, OUTCOME};
use warpplay_gpu::azero::train::norm::{self, NormArgs};
use warpplay_gpu::azero::train::product::{LARGE, ProductArgs};
use warpplay_gpu::azero::train::samples::{BatchArgs, SamplesArgs, Visit};
use warpplay_gpu::azero::train::scale::{REACH, SCALES};
use warpplay_gpu::azero::train::short::short_line;
use warpplay_gpu::azero::train::update::{self, AdamArgs, FinishArgs, Rate, StepReport};
use warpplay_gpu::azero::train::{self, line_length};
use warpplay_gpu::ptx::embedded::AZERO_TRAIN;
use warpplay_gpu::tile::task::MOMENT_ROWS;

use super::plan::{NormPlan, Operands, Plan, ProductPlan, STEPS_AT_ONCE};
use super::tiles::{Beside, FilterGradients, Short, Tiles};
use crate::azero::train::{Options, Samples};
use crate::azero::{NORM_EPSILON, NetworkShape};
use crate::runtime::launch::views;
use crate::{Buffer, Error, In, InOut, Memory, Module, Result, Stream};

// The norms read what the convolutions make.
const _: () = assert!(MOMENT_ROWS == norm::MOMENT_ROWS);

/// All positions on the device.
pub(super) struct SampleArrays {
    planes: Buffer<u32>,
    legal: Buffer<u32>,
    first: Buffer<u32>,
    visits: Buffer<Visit>,
    total: Buffer<u32>,
    values: Buffer<f32>,
}

impl SampleArrays {
    /// Bytes of the positions.
    pub fn bytes(samples: &Samples) -> u64 {
        let Samples { bits, legal, first, visits, total, values, .. } = samples;
        let words = bits.len() + legal.len() + first.len() + total.len() + values.len();
        (4 * words + size_of_val(&visits[..])) as u64
    }

    /// Uploads them.
    pub fn new(stream: &Stream, samples: &Samples) -> Result<Self> {
        Ok(Self {
            planes: stream.upload(&samples.bits)?,
            legal: stream.upload(&samples.legal)?,
            first: stream.upload(&samples.first)?,
            visits: stream.upload(&samples.visits)?,
            total: stream.upload(&samples.total)?,
            values: stream.upload(&samples.values)?,
        })
    }

    fn args(&self, shape: &NetworkShape) -> SamplesArgs<'_> {
        views! { SamplesArgs {
            self reads planes, legal, first, visits, total, values;
            actions: shape.actions,
            n: self.total.len() as u32,
            n_observation: shape.n_observation() as u32,
            n_visits: self.visits.len() as u32,
        } }
    }
}

/// Values of a batch on the way forward, and gradients on the way back.
struct Activations {
    /// Without those of `short`.
    observations: Buffer<f32>,
    /// Of each block, `[pixels, channels]`: [before](Plan::keeps_before) its norm, and after its ReLU, where somebody [reads](Plan::keeps_output) them so.
    before: Vec<Buffer<f32>>,
    after: Vec<Buffer<f32>>,
    /// Where the plan [is short](Plan::is_short), `[pixels, short_line(channels)]`: of the other blocks, before the norm.
    before_short: Vec<Buffer<u16>>,
    hidden: Buffer<f32>,
    value: Buffer<f32>,
    logits: Buffer<f32>,
    /// Gradients by the same.
    by_logits: Buffer<f32>,
    by_value: Buffer<f32>,
    by_hidden: Buffer<f32>,
    /// By what is before a norm, without those of `short`: of the policy's head, and of another block.
    by_before: [Buffer<f32>; 2],
    /// By outputs of blocks, numbered as [`VALUE`], [`OUTPUT`], [`MIDDLE`], [`POLICY`].
    by: [Buffer<f32>; 4],
    /// Where the plan is short, those of the last two by which no head is.
    by_short: [Buffer<u16>; 2],
}

/// Gradient by the planes of the value's head.
const VALUE: usize = 0;
/// Gradient by the output of a block of the torso.
const OUTPUT: usize = 1;
/// Gradient by what is between the two convolutions of a block of the torso.
const MIDDLE: usize = 2;
/// Gradient by the planes of the policy's head.
const POLICY: usize = 3;

/// Everything a training has on the device.
pub(super) struct Arrays {
    pub plan: Plan,
    pub samples: SampleArrays,
    pub parameters: Buffer<f32>,
    pub gradients: Buffer<f32>,
    pub first: Buffer<f32>,
    pub second: Buffer<f32>,
    pub running: Buffer<f32>,
    /// Copies of parameters, both moments and running statistics, as an epoch began.
    pub kept: [Buffer<f32>; 4],
    pub moments: Buffer<f32>,
    activations: Activations,
    /// Operands of 16 bits, if the plan's convolutions have such.
    pub short: Option<Short>,
    norm_parts: Buffer<f32>,
    /// Of each norm, a bit for each of its outputs: whether it passed the ReLU.
    passed: Vec<Buffer<u32>>,
    parts: Buffer<f32>,
    pub outcomes: Buffer<f32>,
    partials: Buffer<f32>,
    pub reports: Buffer<StepReport>,
    pub rates: Buffer<Rate>,
    pub order: Buffer<u32>,
    pub step: Buffer<u32>,
    decay: f32,
    value_weight: f32,
    momentum: f32,
    beta1: f32,
    beta2: f32,
    epsilon: f32,
}

impl Arrays {
    /// What [`Arrays::new`] takes.
    pub fn memory(plan: &Plan, samples: &Samples) -> Memory {
        let NetworkShape { planes, width, value_filters, value_hidden, policy_filters, actions, .. } = plan.shape;
        let (batch, line) = (u64::from(plan.batch), |channels: u32| u64::from(line_length(channels)));
        let pixels = batch * plan.shape.cells() as u64;
        let most = plan.norms.iter().map(|norm| norm.channels).max().unwrap_or(4);
        let held = |is_held: fn(&Plan, usize) -> bool| -> u64 {
            let blocks = (0..plan.n_blocks()).filter(|&block| is_held(plan, block));
            blocks.map(|block| line(plan.norms[block].channels)).sum()
        };
        let blocks = held(Plan::keeps_before) + held(Plan::keeps_output);
        let (middle, halves) = match plan.is_short() {
            true => (0, (plan.last() as u64 + 3) * u64::from(short_line(width))),
            false => (line(width), 0),
        };
        let (single, short) = match plan.operands.is_some() {
            true => (line(value_filters), Short::bytes(plan)),
            false => (line(planes) + u64::from(most), 0),
        };
        let heads = line(value_filters) + 2 * line(policy_filters);
        let output = if plan.has_short_heads() { 0 } else { line(width) };
        let board = single + blocks + heads + output + middle;
        let vectors = 2 * (line(value_hidden) + line(1) + line(actions));
        let norm_parts = norm_parts(plan) as u64;
        let passed: usize = plan.norms.iter().map(|norm| norm::passed_words(plan.pixels(), norm.channels)).sum();
        let sums = norm_parts + (passed + plan.n_part_values) as u64 + u64::from(update::n_partial(plan.n_values));
        let order = STEPS_AT_ONCE * plan.batch as usize;
        let steps = STEPS_AT_ONCE * (size_of::<StepReport>() + size_of::<Rate>()) + 4 * (order + 1);
        Memory::default()
            .on_device("positions", SampleArrays::bytes(samples))
            .on_device("parameters", 4 * (7 * u64::from(plan.n_values) + 3 * u64::from(plan.n_running)))
            .on_device("layers", 4 * (pixels * board + batch * vectors) + 2 * pixels * halves + short)
            .on_device("partial sums", 4 * (sums + batch * OUTCOME as u64))
            .on_device("steps", steps as u64)
    }

    /// Takes the memory: for [`STEPS_AT_ONCE`] steps of the plan's batch.
    pub fn new(stream: &Stream, plan: Plan, samples: &Samples, options: &Options) -> Result<Self> {
        let batch = plan.batch as usize;
        let pixels = batch * plan.shape.cells();
        let lines = |n: usize, channels: u32| stream.alloc::<f32>(n * line_length(channels) as usize);
        let held = |is_held: fn(&Plan, usize) -> bool| -> Result<Vec<_>> {
            let norms = plan.norms.iter().enumerate();
            norms.map(|(block, norm)| lines(if is_held(&plan, block) { pixels } else { 0 }, norm.channels)).collect()
        };
        let (before, after) = (held(Plan::keeps_before)?, held(Plan::keeps_output)?);
        let (middle, halves) = if plan.is_short() { (0, pixels) } else { (pixels, 0) };
        let output = if plan.has_short_heads() { 0 } else { pixels };
        let short = || stream.alloc(halves * short_line(plan.shape.width) as usize);
        let most = plan.norms.iter().map(|norm| norm.channels).max().unwrap_or(4);
        let NetworkShape { planes, value_filters, policy_filters, .. } = plan.shape;
        let (observations, by_before) = if plan.operands.is_some() { (0, value_filters) } else { (planes, most) };
        let activations = Activations {
            observations: lines(pixels, observations)?,
            before,
            after,
            before_short: (0..=plan.last()).map(|_| short()).collect::<Result<_>>()?,
            hidden: lines(batch, plan.shape.value_hidden)?,
            value: lines(batch, 1)?,
            logits: lines(batch, plan.shape.actions)?,
            by_logits: lines(batch, plan.shape.actions)?,
            by_value: lines(batch, 1)?,
            by_hidden: lines(batch, plan.shape.value_hidden)?,
            by_before: [lines(pixels, policy_filters)?, lines(pixels, by_before)?],
            by: [
                lines(pixels, value_filters)?,
                lines(output, plan.shape.width)?,
                lines(middle, plan.shape.width)?,
                lines(pixels, policy_filters)?,
            ],
            by_short: [short()?, short()?],
        };
        let n_values = plan.n_values as usize;
        Ok(Self {
            samples: SampleArrays::new(stream, samples)?,
            parameters: stream.alloc(n_values)?,
            gradients: stream.alloc(n_values)?,
            first: stream.alloc(n_values)?,
            second: stream.alloc(n_values)?,
            running: stream.alloc(plan.n_running as usize)?,
            kept: [
                stream.alloc(n_values)?,
                stream.alloc(n_values)?,
                stream.alloc(n_values)?,
                stream.alloc(plan.n_running as usize)?,
            ],
            moments: stream.alloc(plan.n_running as usize)?,
            activations,
            short: plan.operands.map(|operands| Short::new(stream, &plan, operands)).transpose()?,
            norm_parts: stream.alloc(norm_parts(&plan))?,
            passed: plan
                .norms
                .iter()
                .map(|norm| stream.alloc(norm::passed_words(plan.pixels(), norm.channels)))
                .collect::<Result<_>>()?,
            parts: stream.alloc(plan.n_part_values)?,
            outcomes: stream.alloc(batch * OUTCOME)?,
            partials: stream.alloc(update::n_partial(plan.n_values) as usize)?,
            reports: stream.alloc(STEPS_AT_ONCE)?,
            rates: stream.alloc(STEPS_AT_ONCE)?,
            order: stream.alloc(STEPS_AT_ONCE * batch)?,
            step: stream.alloc(1)?,
            decay: options.weight_decay as f32,
            value_weight: options.value_weight as f32,
            momentum: options.momentum as f32,
            beta1: options.beta1 as f32,
            beta2: options.beta2 as f32,
            epsilon: options.epsilon as f32,
            plan,
        })
    }
}

/// Values of the parts of the norm that has most.
fn norm_parts(plan: &Plan) -> usize {
    plan.norms.iter().map(|norm| norm::parts_values(plan.pixels(), norm.channels)).max().unwrap_or(0)
}

/// The kernels, looked up when the engine is opened.
pub(super) struct Kernels {
    set: train::Kernels<Module>,
    tiles: Option<Tiles>,
}

/// Which positions of the order a pass is over.
#[derive(Clone, Copy)]
pub(super) enum Positions {
    /// The next batch.
    Step,
    /// So many from an offset on.
    Part { from: u32, n: u32 },
}

impl Kernels {
    /// Loads the module: a kernel that is missing is found here, at the door.
    pub fn load(stream: &Stream, arrays: &Arrays) -> Result<Self> {
        let module = Module::load(stream.device(), &AZERO_TRAIN)?;
        let tiles = arrays.short.as_ref().map(|short| Tiles::new(stream, &arrays.plan, short)).transpose()?;
        Ok(Self { set: train::Kernels::load(&module)?, tiles })
    }

    /// One step: the batch that the step's number says, which is moved on. Nothing is allocated; it can be recorded.
    pub fn step(&self, stream: &Stream, arrays: &mut Arrays) -> Result<()> {
        self.gradient(stream, arrays, Positions::Step)?;
        let n_steps = STEPS_AT_ONCE as u32;
        let adam = views! { AdamArgs {
            arrays reads gradients, rates, step;
            arrays writes parameters, first, second, partials;
            arrays has decay, beta1, beta2, epsilon;
            n: arrays.plan.n_values,
            n_decayed: arrays.plan.n_decayed,
            n_steps,
        } };
        // SAFETY: the gradients were made before; the caller runs at most `STEPS_AT_ONCE` steps from 0 on.
        unsafe { stream.run_unchecked(&self.set.azero_train_adam, (adam,))? };
        let finish = FinishArgs {
            outcomes: arrays.outcomes.view(),
            partials: arrays.partials.view(),
            reports: arrays.reports.view_mut(),
            step: arrays.step.view_mut(),
            n: arrays.plan.batch,
            n_partial: update::n_partial(arrays.plan.n_values),
            decay: arrays.decay,
            reserved: 0,
            n_steps,
        };
        // SAFETY: as above.
        unsafe { stream.run_unchecked(&self.set.azero_train_finish, (finish,)) }
    }

    /// Forward with the batch's statistics, loss and gradients.
    pub fn gradient(&self, stream: &Stream, arrays: &mut Arrays, positions: Positions) -> Result<()> {
        let n = positions.n(&arrays.plan);
        // Those of part of a batch are made for it.
        let few = match (&self.tiles, &arrays.short) {
            (Some(tiles), Some(short)) => tiles.gradients_of(stream, (&arrays.plan, short), n)?,
            _ => None,
        };
        self.forward(stream, arrays, positions, true)?;
        self.backward(stream, arrays, n, few.as_ref())
    }

    /// Forward with the running statistics, and loss: the outcomes of the positions are then there to be read.
    pub fn evaluate(&self, stream: &Stream, arrays: &mut Arrays, from: u32, n: u32) -> Result<()> {
        self.forward(stream, arrays, Positions::Part { from, n }, false)
    }

    fn forward(&self, stream: &Stream, arrays: &mut Arrays, positions: Positions, training: bool) -> Result<()> {
        let (network, n) = (arrays.plan.shape, positions.n(&arrays.plan));
        if n > arrays.plan.batch {
            return Err(Error::shape("positions at once", format!("at most {}", arrays.plan.batch), n));
        }
        let (cells, planes) = (network.cells() as u32, network.planes);
        let batch = positions.args(&arrays.plan, &arrays.order, &arrays.step);
        let samples = arrays.samples.args(&network);
        // SAFETY: the engine has checked the positions of the order.
        unsafe {
            match &mut arrays.short {
                Some(Short { observations, operands, .. }) => {
                    let (rows, columns, is_half) = (network.rows, network.columns, u32::from(operands.is_half()));
                    let side = if arrays.plan.products[0].has_patches { 3 } else { 1 };
                    let arguments = (samples, batch, observations, rows, columns, planes, side, is_half);
                    stream.run_unchecked(&self.set.azero_train_gather_short, arguments)?;
                }
                None => {
                    let arguments = (samples, batch, &mut arrays.activations.observations, cells, planes);
                    stream.run_unchecked(&self.set.azero_train_gather, arguments)?;
                }
            }
        }
        self.filters(stream, arrays, training)?;
        let n_blocks = arrays.plan.n_blocks();
        let last = arrays.plan.last();
        for block in 0..n_blocks {
            let plan = arrays.plan.products[block];
            if block > last && arrays.plan.has_narrow_heads() {
                if block == last + 1 {
                    self.heads(stream, arrays, n)?;
                }
                self.norm(stream, arrays, block, n, None, training)?;
                continue;
            }
            let Activations { observations, before, before_short, after, .. } = &mut arrays.activations;
            match (&self.tiles, &arrays.short) {
                (Some(tiles), Some(short)) if plan.tile_columns.is_some() => {
                    let (c, c_short) = match arrays.plan.is_short() {
                        true => (InOut::none(), before_short[block].view_mut()),
                        false => (before[block].view_mut(), InOut::none()),
                    };
                    let bias = from(&arrays.parameters, plan.bias);
                    let moments = match arrays.plan.has_moments(block) {
                        true => arrays.norm_parts.view_mut(),
                        false => InOut::none(),
                    };
                    let beside = Beside { bias, c, c_short, moments, ..Beside::none() };
                    tiles.outputs(stream, (&arrays.plan, short), block, n, beside)?;
                }
                _ => {
                    // Both heads read the torso's output.
                    let inputs = match block {
                        0 => &*observations,
                        _ => &after[(block - 1).min(last)],
                    };
                    self.layer(stream, plan, n).outputs(&arrays.parameters, inputs, &mut before[block], false)?;
                }
            }
            let residual = arrays.plan.residual(block);
            self.norm(stream, arrays, block, n, residual, training)?;
        }
        let [value_1, value_2, policy] = linear(&arrays.plan);
        let Activations { after, hidden, value, logits, .. } = &mut arrays.activations;
        let parameters = &arrays.parameters;
        self.layer(stream, value_1, n).outputs(parameters, &after[last + 1], hidden, true)?;
        self.layer(stream, value_2, n).outputs(parameters, hidden, value, false)?;
        self.layer(stream, policy, n).outputs(parameters, &after[last + 2], logits, false)?;
        let activations = &mut arrays.activations;
        let loss = LossArgs {
            samples: arrays.samples.args(&network),
            batch: positions.args(&arrays.plan, &arrays.order, &arrays.step),
            logits: activations.logits.view(),
            value: activations.value.view(),
            logit_gradient: activations.by_logits.view_mut(),
            value_gradient: activations.by_value.view_mut(),
            outcomes: arrays.outcomes.view_mut(),
            actions: network.actions,
            value_weight: arrays.value_weight,
        };
        // SAFETY: as above; samples have a legal action and a visit each, and visits of legal actions only.
        unsafe { stream.run_unchecked(&self.set.azero_train_loss, (loss,)) }
    }

    /// The convolutions of both heads at once.
    fn heads(&self, stream: &Stream, arrays: &mut Arrays, n: u32) -> Result<()> {
        let last = arrays.plan.last();
        let [value, policy] = [last + 1, last + 2].map(|block| self.layer(stream, arrays.plan.products[block], n));
        let Activations { before, after, .. } = &mut arrays.activations;
        let (of_value, of_policy) = before.split_at_mut(last + 2);
        let inputs = HeadInputs::of(&arrays.plan, &after[last], arrays.short.as_ref());
        let arguments = (
            inputs.put(value.of_outputs(&arrays.parameters, &after[last], &mut of_value[last + 1], false)),
            inputs.put(policy.of_outputs(&arrays.parameters, &after[last], &mut of_policy[0], false)),
        );
        // SAFETY: as in `outputs`; both read the torso's output.
        unsafe { stream.run_unchecked(&self.set.azero_train_forward_heads, arguments) }
    }

    /// The way back through both heads' convolutions at once, down to the torso's output.
    fn heads_back(&self, stream: &Stream, arrays: &mut Arrays, n: u32) -> Result<()> {
        let last = arrays.plan.last();
        for (block, output) in [(last + 1, VALUE), (last + 2, POLICY)] {
            self.norm_back(stream, arrays, &Back { block, n, output, inputs: None, keep: false })?;
        }
        let [value, policy] = [last + 1, last + 2].map(|block| self.layer(stream, arrays.plan.products[block], n));
        let Arrays { plan, parameters, gradients, parts, activations, short, .. } = arrays;
        let Activations { after, by_before: [by_policy, by_value], by, by_short, .. } = activations;
        let inputs = HeadInputs::of(plan, &after[last], short.as_ref());
        let n_values = value.plan.parts_values();
        let (of_value, of_policy) = parts.view_mut().split_at(n_values);
        let arguments = (
            inputs.put(value.of_gradient(&after[last], by_value, of_value)),
            inputs.put(policy.of_gradient(&after[last], by_policy, of_policy)),
        );
        // SAFETY: as in `outputs`; the parts begin at multiples of 4, one behind the other.
        unsafe { stream.run_unchecked(&self.set.azero_train_gradient_heads, arguments)? };
        value.sum_parts(parts.view(), gradients)?;
        policy.sum_parts(parts.view().split_at(n_values).1, gradients)?;
        let (result, result_short) = match plan.has_short_heads() {
            true => (InOut::none(), by_short[0].view_mut()),
            false => (by[OUTPUT].view_mut(), InOut::none()),
        };
        let arguments = (
            ProductArgs { result_short, ..value.of_inputs(parameters, by_value, result, false) },
            policy.of_inputs(parameters, by_policy, InOut::none(), false),
        );
        // SAFETY: as in `outputs`; the second layer has no result of its own.
        unsafe { stream.run_unchecked(&self.set.azero_train_backward_heads, arguments) }
    }

    /// The filters in numbers of 16 bits, where convolutions read such, and before them the scales.
    fn filters(&self, stream: &Stream, arrays: &mut Arrays, training: bool) -> Result<()> {
        let Some(Short { filters, turned, operands, convs, scales, .. }) = &mut arrays.short else { return Ok(()) };
        let (n_convs, n_values) = (convs.len() as u32, arrays.plan.n_values);
        if operands.is_half() {
            let reach = if training { (arrays.plan.pixels() as f32).sqrt() } else { REACH };
            let arguments = (&arrays.parameters, &*convs, &mut *scales, n_convs, n_values, reach);
            // SAFETY: convolutions and norms are those of the plan, whose arrays begin at multiples of 4; residuals have as many channels.
            unsafe { stream.run_unchecked(&self.set.azero_train_scales, arguments)? };
        }
        let most = arrays.plan.products[..convs.len()].iter().map(ProductPlan::n_weights).max().unwrap_or(0);
        let (n_filters, n_turned) = (filters.len() as u32, turned.len() as u32);
        let (parts, is_half) = (operands.parts(), u32::from(operands.is_half()));
        let of = &arrays.parameters;
        let arguments =
            (of, &*convs, &*scales, filters, turned, n_convs, n_values, n_filters, n_turned, most, parts, is_half);
        // SAFETY: the convolutions are those of the plan and of both arrays; buffers begin at multiples of 16 bytes.
        unsafe { stream.run_unchecked(&self.set.azero_train_filters, arguments) }
    }

    fn backward(&self, stream: &Stream, arrays: &mut Arrays, n: u32, few: Option<&FilterGradients>) -> Result<()> {
        let last = arrays.plan.last();
        let [value_1, value_2, policy] = linear(&arrays.plan);
        let Arrays { parameters, gradients, parts, activations, .. } = &mut *arrays;
        let Activations { after, hidden, by_value, by_hidden, by_logits, by, .. } = activations;
        // Both heads, down to the torso's output.
        self.layer(stream, value_2, n).weights(parts, gradients, hidden, by_value)?;
        self.layer(stream, value_2, n).inputs(parameters, by_value, by_hidden, false)?;
        let n_hidden = n * value_2.n_inputs;
        let arguments = (&*hidden, &mut *by_hidden, n_hidden);
        // SAFETY: both are whole arrays, which begin at a multiple of 16 bytes.
        unsafe { stream.run_unchecked(&self.set.azero_train_gate, arguments)? };
        self.layer(stream, value_1, n).weights(parts, gradients, &after[last + 1], by_hidden)?;
        self.layer(stream, value_1, n).inputs(parameters, by_hidden, &mut by[VALUE], false)?;
        self.layer(stream, policy, n).weights(parts, gradients, &after[last + 2], by_logits)?;
        self.layer(stream, policy, n).inputs(parameters, by_logits, &mut by[POLICY], false)?;
        if arrays.plan.has_narrow_heads() {
            self.heads_back(stream, arrays, n)?;
        } else {
            let back = Back { block: last + 1, n, output: VALUE, inputs: Some((OUTPUT, false)), keep: false };
            self.block(stream, arrays, back, few)?;
            // The policy head adds to it.
            let back = Back { block: last + 2, n, output: POLICY, inputs: Some((OUTPUT, true)), keep: false };
            self.block(stream, arrays, back, few)?;
        }
        // The torso: what passes the last ReLU of a block is also the residual's, to which the first convolution adds.
        for second in (1..=last / 2).rev().map(|number| 2 * number) {
            let back = Back { block: second, n, output: OUTPUT, inputs: Some((MIDDLE, false)), keep: true };
            self.block(stream, arrays, back, few)?;
            let back = Back { block: second - 1, n, output: MIDDLE, inputs: Some((OUTPUT, true)), keep: false };
            self.block(stream, arrays, back, few)?;
        }
        self.block(stream, arrays, Back { block: 0, n, output: OUTPUT, inputs: None, keep: false }, few)
    }

    /// A layer for the first `n` positions.
    fn layer<'a>(&'a self, stream: &'a Stream, plan: ProductPlan, n: u32) -> Layer<'a> {
        Layer { set: &self.set, stream, plan, n }
    }

    /// Norm, residual and ReLU after a convolution.
    fn norm(
        &self,
        stream: &Stream,
        arrays: &mut Arrays,
        block: usize,
        n: u32,
        residual: Option<usize>,
        training: bool,
    ) -> Result<()> {
        let momentum = if training { arrays.momentum } else { -1.0 };
        let norm = NormOf { block, n, residual, momentum, output_gradient: None, keep: false };
        let in_octets = arrays.plan.norm_in_octets(block);
        // SAFETY: the stages come in their order, on the plan's arrays, which are of bfloat16 where a norm is in octets.
        unsafe {
            if training && !arrays.plan.has_moments(block) {
                stream.run_unchecked(&self.set.azero_train_norm_parts, (norm.args(arrays),))?;
            }
            let behind_convolution = training && arrays.plan.has_moments(block);
            let finish = &self.set.azero_train_norm_finish;
            stream.run_unchecked_with(finish, (behind_convolution,), (norm.args(arrays),))?;
            match in_octets {
                true => stream.run_unchecked(&self.set.azero_train_norm_apply_short, (norm.args(arrays),)),
                false => stream.run_unchecked(&self.set.azero_train_norm_apply, (norm.args(arrays),)),
            }
        }
    }

    /// From the gradient of a block's output to that of what is before its norm, and of the norm's parameters.
    fn norm_back(&self, stream: &Stream, arrays: &mut Arrays, back: &Back) -> Result<()> {
        let &Back { block, n, output, keep, .. } = back;
        let norm = NormOf { block, n, residual: None, momentum: arrays.momentum, output_gradient: Some(output), keep };
        let in_octets = arrays.plan.norm_in_octets(block);
        // SAFETY: as in `norm`; the gradient of the output is there.
        unsafe {
            match in_octets {
                true => stream.run_unchecked(&self.set.azero_train_norm_back_parts_short, (norm.args(arrays),))?,
                false => stream.run_unchecked(&self.set.azero_train_norm_back_parts, (norm.args(arrays),))?,
            }
            stream.run_unchecked(&self.set.azero_train_norm_back_finish, (norm.args(arrays),))?;
            match in_octets {
                true => stream.run_unchecked(&self.set.azero_train_norm_back_apply_short, (norm.args(arrays),)),
                false => stream.run_unchecked(&self.set.azero_train_norm_back_apply, (norm.args(arrays),)),
            }
        }
    }

    /// From the gradient of a block's output to those of its parameters and inputs. `few`: for part of a batch, the gradients of filters.
    fn block(&self, stream: &Stream, arrays: &mut Arrays, back: Back, few: Option<&FilterGradients>) -> Result<()> {
        self.norm_back(stream, arrays, &back)?;
        let Back { block, n, inputs, .. } = back;
        let last = arrays.plan.last();
        let Arrays { plan, parameters, gradients, parts, activations, short, .. } = arrays;
        if let (Some(tiles), Some(short), Some(columns)) = (&self.tiles, &*short, plan.products[block].tile_columns) {
            let conv = plan.products[block];
            few.unwrap_or(tiles.gradients()).run(stream, short, block, parts)?;
            let (_, weights) = gradients.view_mut().split_at(conv.weights as usize);
            let n_parts = (n * conv.lines).div_ceil(conv.part);
            let arguments = (&*parts, weights, n_parts, conv.n_inputs, conv.n_outputs, columns);
            // SAFETY: the parts were made above; the weights are those of the plan, which begin at a multiple of 4.
            unsafe { stream.run_unchecked(&self.set.azero_train_sum_filters, arguments)? };
            return tile_inputs(stream, tiles, (plan, short), &back, activations);
        }
        let (plan, Activations { observations, after, by_before, by, .. }) = (plan.products[block], activations);
        let by_before = &by_before[usize::from(block < last + 2)];
        let of = match block {
            0 => &*observations,
            _ => &after[(block - 1).min(last)],
        };
        self.layer(stream, plan, n).weights(parts, gradients, of, by_before)?;
        match inputs {
            Some((result, add)) => self.layer(stream, plan, n).inputs(parameters, by_before, &mut by[result], add),
            None => Ok(()),
        }
    }
}

/// The gradient of a block's inputs, by `tile`. A result is not added to in place: it goes where nothing is needed any more, and has its number from then on.
fn tile_inputs(
    stream: &Stream,
    tiles: &Tiles,
    on: (&Plan, &Short),
    back: &Back,
    activations: &mut Activations,
) -> Result<()> {
    let Some((result, add)) = back.inputs else { return Ok(()) };
    let ([_, output, middle, _], [output_short, middle_short]) = (&mut activations.by, &mut activations.by_short);
    let run = |beside: Beside<'_>| tiles.inputs(stream, on, back.block, back.n, beside);
    let (pair, pair_short) = match result {
        OUTPUT => ([output, middle], [output_short, middle_short]),
        _ => ([middle, output], [middle_short, output_short]),
    };
    match on.0.is_short() {
        true => {
            put(pair_short, add, |residual_short, c_short| run(Beside { residual_short, c_short, ..Beside::none() }))
        }
        false => put(pair, add, |residual, c| run(Beside { residual, c, ..Beside::none() })),
    }
}

/// Calls `run` with what is to be added and where the sum goes: into the first, or, added to the first, into the second, which takes its place.
fn put<T>(
    [result, other]: [&mut Buffer<T>; 2],
    add: bool,
    run: impl FnOnce(In<'_, T>, InOut<'_, T>) -> Result<()>,
) -> Result<()> {
    if !add {
        return run(In::none(), result.view_mut());
    }
    run(result.view(), other.view_mut())?;
    std::mem::swap(result, other);
    Ok(())
}

/// A layer for some positions.
struct Layer<'a> {
    set: &'a train::Kernels<Module>,
    stream: &'a Stream,
    plan: ProductPlan,
    n: u32,
}

impl Layer<'_> {
    /// What makes its outputs.
    fn of_outputs<'a>(
        &self,
        parameters: &'a Buffer<f32>,
        inputs: &'a Buffer<f32>,
        result: &'a mut Buffer<f32>,
        relu: bool,
    ) -> ProductArgs<'a> {
        ProductArgs {
            inputs: inputs.view(),
            weights: from(parameters, self.plan.weights),
            bias: from(parameters, self.plan.bias),
            result: result.view_mut(),
            option: u32::from(relu),
            ..empty(self.plan, self.n)
        }
    }

    /// Its outputs.
    fn outputs(
        &self,
        parameters: &Buffer<f32>,
        inputs: &Buffer<f32>,
        result: &mut Buffer<f32>,
        relu: bool,
    ) -> Result<()> {
        let &Self { set, stream, plan, .. } = self;
        let product = self.of_outputs(parameters, inputs, result, relu);
        // SAFETY: the plan's arrays begin at multiples of 4.
        unsafe {
            match plan.forward {
                _ if plan.is_narrow() => stream.run_unchecked(&set.azero_train_forward_narrow, (product,)),
                LARGE => stream.run_unchecked(&set.azero_train_forward_large, (product,)),
                _ => stream.run_unchecked(&set.azero_train_forward_small, (product,)),
            }
        }
    }

    /// What makes the gradient of its inputs, put or added to `result`.
    fn of_inputs<'a>(
        &self,
        parameters: &'a Buffer<f32>,
        by_outputs: &'a Buffer<f32>,
        result: InOut<'a, f32>,
        add: bool,
    ) -> ProductArgs<'a> {
        ProductArgs {
            weights: from(parameters, self.plan.weights),
            output_gradient: by_outputs.view(),
            result,
            option: u32::from(add),
            ..empty(self.plan, self.n)
        }
    }

    /// Gradient of its inputs, put or added to `result`.
    fn inputs(
        &self,
        parameters: &Buffer<f32>,
        by_outputs: &Buffer<f32>,
        result: &mut Buffer<f32>,
        add: bool,
    ) -> Result<()> {
        let &Self { set, stream, plan, .. } = self;
        let product = self.of_inputs(parameters, by_outputs, result.view_mut(), add);
        // SAFETY: as in `outputs`.
        unsafe {
            match plan.backward {
                _ if plan.is_narrow() => stream.run_unchecked(&set.azero_train_backward_narrow, (product,)),
                LARGE => stream.run_unchecked(&set.azero_train_backward_large, (product,)),
                _ => stream.run_unchecked(&set.azero_train_backward_small, (product,)),
            }
        }
    }

    /// What makes the parts of the gradient of its weights and, for a linear one, of its bias.
    fn of_gradient<'a>(
        &self,
        inputs: &'a Buffer<f32>,
        by_outputs: &'a Buffer<f32>,
        parts: InOut<'a, f32>,
    ) -> ProductArgs<'a> {
        ProductArgs {
            inputs: inputs.view(),
            output_gradient: by_outputs.view(),
            result: parts,
            option: u32::from(self.plan.with_bias),
            part: self.plan.part,
            ..empty(self.plan, self.n)
        }
    }

    /// Gradient of its weights and, for a linear one, of its bias.
    fn weights(
        &self,
        parts: &mut Buffer<f32>,
        gradients: &mut Buffer<f32>,
        inputs: &Buffer<f32>,
        by_outputs: &Buffer<f32>,
    ) -> Result<()> {
        let &Self { set, stream, plan, .. } = self;
        let product = self.of_gradient(inputs, by_outputs, parts.view_mut());
        // SAFETY: as in `outputs`.
        unsafe {
            match plan.gradient {
                _ if plan.is_narrow() => stream.run_unchecked(&set.azero_train_gradient_narrow, (product,))?,
                LARGE => stream.run_unchecked(&set.azero_train_gradient_large, (product,))?,
                _ => stream.run_unchecked(&set.azero_train_gradient_small, (product,))?,
            }
        }
        self.sum_parts(parts.view(), gradients)
    }

    /// Adds up the parts.
    fn sum_parts(&self, parts: In<'_, f32>, gradients: &mut Buffer<f32>) -> Result<()> {
        let &Self { set, stream, plan, n } = self;
        let n_parts = (n * plan.lines).div_ceil(plan.part);
        let n_bias = if plan.with_bias { plan.n_outputs } else { 0 };
        // Weights of all products come before biases.
        let (weights, bias) = gradients.view_mut().split_at(plan.bias as usize);
        let (_, weights) = weights.split_at(plan.weights as usize);
        let arguments = (parts, weights, bias, n_parts, plan.part_values(), plan.n_weights(), n_bias);
        // SAFETY: the parts were made before; weights and bias are those of the plan, which begin at multiples of 4.
        unsafe { stream.run_unchecked(&set.azero_train_sum_parts, arguments) }
    }
}

/// What both heads read: the torso's output, in single precision or in bfloat16.
#[derive(Clone, Copy)]
struct HeadInputs<'a> {
    inputs: In<'a, f32>,
    inputs_short: In<'a, u16>,
}

impl<'a> HeadInputs<'a> {
    fn of(plan: &Plan, after: &'a Buffer<f32>, short: Option<&'a Short>) -> Self {
        match short.and_then(|short| short.after.get(plan.last())) {
            Some(after) => Self { inputs: In::none(), inputs_short: after.view() },
            None => Self { inputs: after.view(), inputs_short: In::none() },
        }
    }

    /// A head's product, with these inputs.
    fn put(self, product: ProductArgs<'a>) -> ProductArgs<'a> {
        let Self { inputs, inputs_short } = self;
        ProductArgs { inputs, inputs_short, ..product }
    }
}

/// A block on the way back.
struct Back {
    block: usize,
    n: u32,
    /// Number of the gradient of its output.
    output: usize,
    /// Number of the gradient of its inputs, and whether it is added to what is there.
    inputs: Option<(usize, bool)>,
    /// Whether the gradient of the output is to hold what passes the ReLU.
    keep: bool,
}

/// The linear layers: the value's two, the policy's.
fn linear(plan: &Plan) -> [ProductPlan; 3] {
    let first = plan.n_blocks();
    [plan.products[first], plan.products[first + 1], plan.products[first + 2]]
}

/// The parameters from an offset on.
fn from(parameters: &Buffer<f32>, offset: u32) -> In<'_, f32> {
    parameters.view().split_at(offset as usize).1
}

/// A product's sizes, without its arrays. Where nothing looks at neighbours, all squares are one row.
fn empty<'a>(plan: ProductPlan, n: u32) -> ProductArgs<'a> {
    let (n_positions, rows, columns) = match plan.side {
        1 => (1, 1, n * plan.lines),
        _ => (n, plan.rows, plan.lines / plan.rows),
    };
    ProductArgs {
        inputs: In::none(),
        inputs_short: In::none(),
        weights: In::none(),
        output_gradient: In::none(),
        bias: In::none(),
        result: InOut::none(),
        result_short: InOut::none(),
        n_positions,
        rows,
        columns,
        side: plan.side,
        n_inputs: plan.n_inputs,
        n_outputs: plan.n_outputs,
        part: 0,
        option: 0,
    }
}

/// A block's norm in a pass.
#[derive(Clone, Copy)]
struct NormOf {
    block: usize,
    n: u32,
    /// The block whose output is added.
    residual: Option<usize>,
    momentum: f32,
    /// On the way back the number of the gradient of the output, and whether it is to hold what passes the ReLU.
    output_gradient: Option<usize>,
    keep: bool,
}

impl NormOf {
    fn args(self, arrays: &mut Arrays) -> NormArgs<'_> {
        let NormPlan { channels, weight, bias, running, .. } = arrays.plan.norms[self.block];
        let in_tiles = arrays.plan.products[self.block].tile_columns.is_some();
        let is_short = in_tiles && arrays.plan.is_short();
        let (mut residual_short, mut output_short, mut by_before_short) = (In::none(), InOut::none(), InOut::none());
        let mut of_conv = InOut::none();
        if let (Some(short), true) = (&mut arrays.short, in_tiles) {
            // The heads may read the last of the torso as it is.
            let n_after = short.after.len();
            let (earlier, after) = short.after.split_at_mut(self.block.min(n_after));
            output_short = after.first_mut().map_or(InOut::none(), Buffer::view_mut);
            by_before_short = short.by_before.view_mut();
            if short.operands.is_half() {
                of_conv = short.scales.view_mut().split_at(self.block * SCALES as usize).1;
            }
            if let (Some(block), true) = (self.residual, is_short) {
                residual_short = earlier[block].view();
            }
        }
        let (last, has_short_heads) = (arrays.plan.last(), arrays.plan.has_short_heads());
        let Activations { before, before_short, after, by_before, by, by_short, .. } = &mut arrays.activations;
        let (earlier, after) = after.split_at_mut(self.block);
        // The gradients of factor and term are neighbours, as they are themselves.
        let (_, gradients) = arrays.gradients.view_mut().split_at(weight as usize);
        let (weight_gradient, bias_gradient) = gradients.split_at((bias - weight) as usize);
        NormArgs {
            input: if is_short { In::none() } else { before[self.block].view() },
            input_short: if is_short { before_short[self.block].view() } else { In::none() },
            output: if arrays.plan.keeps_output(self.block) { after[0].view_mut() } else { InOut::none() },
            residual: match self.residual {
                Some(block) if !is_short => earlier[block].view(),
                _ => In::none(),
            },
            residual_short,
            weight: from(&arrays.parameters, weight),
            bias: from(&arrays.parameters, bias),
            moments: arrays.moments.view_mut().split_at(running as usize).1,
            running: arrays.running.view_mut().split_at(running as usize).1,
            parts: arrays.norm_parts.view_mut(),
            passed: arrays.passed[self.block].view_mut(),
            // The heads' may be of single precision.
            output_gradient: match self.output_gradient {
                Some(number) if !is_short || self.block == last && !has_short_heads => by[number].view_mut(),
                _ => InOut::none(),
            },
            output_gradient_short: match self.output_gradient {
                Some(number) if is_short => by_short[number - OUTPUT].view_mut(),
                _ => InOut::none(),
            },
            input_gradient: match in_tiles {
                true => InOut::none(),
                false => by_before[usize::from(self.block < last + 2)].view_mut(),
            },
            weight_gradient,
            bias_gradient,
            output_short,
            input_gradient_short: by_before_short,
            scales: of_conv,
            n_pixels: self.n * arrays.plan.shape.cells() as u32,
            channels,
            momentum: self.momentum,
            epsilon: NORM_EPSILON as f32,
            keep: u32::from(self.keep),
            short_parts: arrays.plan.operands.map_or(1, Operands::parts),
            short_pixels: arrays.plan.pixels(),
            moment_pixels: match arrays.plan.has_moments(self.block) {
                true => MOMENT_ROWS,
                false => norm::part_rows(channels),
            },
        }
    }
}

impl Positions {
    /// How many.
    fn n(self, plan: &Plan) -> u32 {
        match self {
            Self::Step => plan.batch,
            Self::Part { n, .. } => n,
        }
    }

    fn args<'a>(self, plan: &Plan, order: &'a Buffer<u32>, step: &'a Buffer<u32>) -> BatchArgs<'a> {
        let (step, from, n_steps) = match self {
            Self::Step => (step.view(), 0, STEPS_AT_ONCE as u32),
            Self::Part { from, .. } => (In::none(), from, 1),
        };
        BatchArgs { order: order.view(), step, from, n: self.n(plan), n_steps }
    }
}
