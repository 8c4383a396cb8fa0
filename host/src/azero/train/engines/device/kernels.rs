//! The training kernels, resolved, with a safe function for each stage; and the device arrays they work on.

use std::ptr;

use warpplay_gpu::azero::train::loss::{self, Loss, OUTCOME, azero_train_loss};
use warpplay_gpu::azero::train::norm::{
    self, Norm, azero_train_norm_apply, azero_train_norm_back_apply, azero_train_norm_back_finish,
    azero_train_norm_back_parts, azero_train_norm_finish, azero_train_norm_parts,
};
use warpplay_gpu::azero::train::product::{
    self, LARGE, Product, azero_train_backward_large, azero_train_backward_small, azero_train_forward_large,
    azero_train_forward_small, azero_train_gate, azero_train_gradient_large, azero_train_gradient_small,
};
use warpplay_gpu::azero::train::samples::{self, Batch, Visit, azero_train_gather};
use warpplay_gpu::azero::train::update::{
    self, Adam, Finish, Rate, StepReport, azero_train_adam, azero_train_finish, azero_train_sum_parts,
};
use warpplay_gpu::azero::train::{line_length, samples::Samples as DeviceSamples};
use warpplay_gpu::ptx::embedded::AZERO_TRAIN;

use super::plan::{NormPlan, Plan, ProductPlan};
use crate::azero::train::{Options, Samples};
use crate::azero::{NORM_EPSILON, NetworkShape};
use crate::{Buffer, Device, Error, Function, Memory, Module, Result, Stream};

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

    fn view(&self) -> DeviceSamples {
        DeviceSamples {
            planes: self.planes.as_ptr(),
            legal: self.legal.as_ptr(),
            first: self.first.as_ptr(),
            visits: self.visits.as_ptr(),
            total: self.total.as_ptr(),
            values: self.values.as_ptr(),
        }
    }
}

/// Values of a batch on the way forward, and gradients on the way back.
struct Activations {
    observations: Buffer<f32>,
    /// Of each block, `[pixels, channels]`: before its norm, and after its ReLU.
    before: Vec<Buffer<f32>>,
    after: Vec<Buffer<f32>>,
    hidden: Buffer<f32>,
    value: Buffer<f32>,
    logits: Buffer<f32>,
    /// Gradients by the same.
    by_logits: Buffer<f32>,
    by_value: Buffer<f32>,
    by_hidden: Buffer<f32>,
    by_head: Buffer<f32>,
    /// By a block's output; by what is before a norm; by what is between the two convolutions of a block.
    by_output: Buffer<f32>,
    by_before: Buffer<f32>,
    by_middle: Buffer<f32>,
}

/// Everything a training has on the device.
pub(super) struct Arrays {
    pub plan: Plan,
    pub samples: SampleArrays,
    pub parameters: Buffer<f32>,
    pub gradients: Buffer<f32>,
    pub first: Buffer<f32>,
    pub second: Buffer<f32>,
    pub running: Buffer<f32>,
    pub moments: Buffer<f32>,
    activations: Activations,
    norm_parts: Buffer<f32>,
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
    pub fn memory(plan: &Plan, samples: &Samples, n_steps: usize, n_order: usize) -> Memory {
        let NetworkShape { planes, width, value_filters, value_hidden, policy_filters, actions, .. } = plan.shape;
        let (batch, line) = (u64::from(plan.batch), |channels: u32| u64::from(line_length(channels)));
        let pixels = batch * plan.shape.cells() as u64;
        let most = plan.norms.iter().map(|norm| norm.channels).max().unwrap_or(4);
        let blocks: u64 = plan.norms.iter().map(|norm| line(norm.channels)).sum();
        let board = line(planes) + 2 * blocks + line(value_filters.max(policy_filters)) + 2 * line(width) + line(most);
        let vectors = 2 * (line(value_hidden) + line(1) + line(actions));
        let norm_parts = 2 * u64::from(norm::n_parts(pixels as u32)) * u64::from(most);
        let sums = norm_parts + plan.n_part_values as u64 + u64::from(update::n_partial(plan.n_values));
        let steps = n_steps * (size_of::<StepReport>() + size_of::<Rate>()) + 4 * (n_order + 1);
        Memory::default()
            .on_device("positions", SampleArrays::bytes(samples))
            .on_device("parameters", 4 * (4 * u64::from(plan.n_values) + 2 * u64::from(plan.n_running)))
            .on_device("layers", 4 * (pixels * board + batch * vectors))
            .on_device("partial sums", 4 * (sums + batch * OUTCOME as u64))
            .on_device("steps", steps as u64)
    }

    /// Takes the memory: for steps of the plan's batch, at most `n_steps` of them and `n_order` positions at once.
    pub fn new(
        stream: &Stream,
        plan: Plan,
        samples: &Samples,
        options: &Options,
        n_steps: usize,
        n_order: usize,
    ) -> Result<Self> {
        let batch = plan.batch as usize;
        let pixels = batch * plan.shape.cells();
        let lines = |n: usize, channels: u32| stream.alloc::<f32>(n * line_length(channels) as usize);
        let blocks = || plan.norms.iter().map(|norm| lines(pixels, norm.channels)).collect::<Result<Vec<_>>>();
        let most = plan.norms.iter().map(|norm| norm.channels).max().unwrap_or(4);
        let head = plan.shape.value_filters.max(plan.shape.policy_filters);
        let activations = Activations {
            observations: lines(pixels, plan.shape.planes)?,
            before: blocks()?,
            after: blocks()?,
            hidden: lines(batch, plan.shape.value_hidden)?,
            value: lines(batch, 1)?,
            logits: lines(batch, plan.shape.actions)?,
            by_logits: lines(batch, plan.shape.actions)?,
            by_value: lines(batch, 1)?,
            by_hidden: lines(batch, plan.shape.value_hidden)?,
            by_head: lines(pixels, head)?,
            by_output: lines(pixels, plan.shape.width)?,
            by_before: lines(pixels, most)?,
            by_middle: lines(pixels, plan.shape.width)?,
        };
        let n_values = plan.n_values as usize;
        Ok(Self {
            samples: SampleArrays::new(stream, samples)?,
            parameters: stream.alloc(n_values)?,
            gradients: stream.alloc(n_values)?,
            first: stream.alloc(n_values)?,
            second: stream.alloc(n_values)?,
            running: stream.alloc(plan.n_running as usize)?,
            moments: stream.alloc(plan.n_running as usize)?,
            activations,
            norm_parts: stream.alloc(2 * norm::n_parts(pixels as u32) as usize * most as usize)?,
            parts: stream.alloc(plan.n_part_values)?,
            outcomes: stream.alloc(batch * OUTCOME)?,
            partials: stream.alloc(update::n_partial(plan.n_values) as usize)?,
            reports: stream.alloc(n_steps)?,
            rates: stream.alloc(n_steps)?,
            order: stream.alloc(n_order)?,
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

/// The kernels, looked up when the engine is opened.
pub(super) struct Kernels {
    gather: Function<azero_train_gather>,
    forward_large: Function<azero_train_forward_large>,
    forward_small: Function<azero_train_forward_small>,
    backward_large: Function<azero_train_backward_large>,
    backward_small: Function<azero_train_backward_small>,
    gradient_large: Function<azero_train_gradient_large>,
    gradient_small: Function<azero_train_gradient_small>,
    gate: Function<azero_train_gate>,
    norm_parts: Function<azero_train_norm_parts>,
    norm_finish: Function<azero_train_norm_finish>,
    norm_apply: Function<azero_train_norm_apply>,
    norm_back_parts: Function<azero_train_norm_back_parts>,
    norm_back_finish: Function<azero_train_norm_back_finish>,
    norm_back_apply: Function<azero_train_norm_back_apply>,
    loss: Function<azero_train_loss>,
    sum_parts: Function<azero_train_sum_parts>,
    adam: Function<azero_train_adam>,
    finish: Function<azero_train_finish>,
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
    pub fn load(device: &Device) -> Result<Self> {
        let module = Module::load(device, &AZERO_TRAIN)?;
        Ok(Self {
            gather: module.function(azero_train_gather)?,
            forward_large: module.function(azero_train_forward_large)?,
            forward_small: module.function(azero_train_forward_small)?,
            backward_large: module.function(azero_train_backward_large)?,
            backward_small: module.function(azero_train_backward_small)?,
            gradient_large: module.function(azero_train_gradient_large)?,
            gradient_small: module.function(azero_train_gradient_small)?,
            gate: module.function(azero_train_gate)?,
            norm_parts: module.function(azero_train_norm_parts)?,
            norm_finish: module.function(azero_train_norm_finish)?,
            norm_apply: module.function(azero_train_norm_apply)?,
            norm_back_parts: module.function(azero_train_norm_back_parts)?,
            norm_back_finish: module.function(azero_train_norm_back_finish)?,
            norm_back_apply: module.function(azero_train_norm_back_apply)?,
            loss: module.function(azero_train_loss)?,
            sum_parts: module.function(azero_train_sum_parts)?,
            adam: module.function(azero_train_adam)?,
            finish: module.function(azero_train_finish)?,
        })
    }

    /// One step: the batch that the step's number says, which is moved on. Nothing is allocated; it can be recorded.
    pub fn step(&self, stream: &Stream, arrays: &mut Arrays) -> Result<()> {
        self.gradient(stream, arrays, Positions::Step)?;
        let n_partial = update::n_partial(arrays.plan.n_values);
        let adam = Adam {
            parameters: arrays.parameters.as_mut_ptr(),
            gradients: arrays.gradients.as_ptr(),
            first: arrays.first.as_mut_ptr(),
            second: arrays.second.as_mut_ptr(),
            rates: arrays.rates.as_ptr(),
            step: arrays.step.as_ptr(),
            partials: arrays.partials.as_mut_ptr(),
            n: arrays.plan.n_values,
            n_decayed: arrays.plan.n_decayed,
            decay: arrays.decay,
            beta1: arrays.beta1,
            beta2: arrays.beta2,
            epsilon: arrays.epsilon,
        };
        let finish = Finish {
            outcomes: arrays.outcomes.as_ptr(),
            partials: arrays.partials.as_ptr(),
            reports: arrays.reports.as_mut_ptr(),
            step: arrays.step.as_mut_ptr(),
            n: arrays.plan.batch,
            n_partial,
            decay: arrays.decay,
            reserved: 0,
        };
        // SAFETY: the arrays were made for the plan, rates and reports for every step that the caller runs; they outlive the launch, and a graph of it,
        // since the engine drops its graph first.
        unsafe {
            stream.launch(&self.adam, update::shape(adam.n), (adam,))?;
            stream.launch(&self.finish, update::finish_shape(), (finish,))
        }
    }

    /// Forward with the batch's statistics, loss and gradients.
    pub fn gradient(&self, stream: &Stream, arrays: &mut Arrays, positions: Positions) -> Result<()> {
        let batch = batch(arrays, positions)?;
        self.forward(stream, arrays, batch, true)?;
        self.backward(stream, arrays, batch.n)
    }

    /// Forward with the running statistics, and loss: the outcomes of the positions are then there to be read.
    pub fn evaluate(&self, stream: &Stream, arrays: &mut Arrays, from: u32, n: u32) -> Result<()> {
        let batch = batch(arrays, Positions::Part { from, n })?;
        self.forward(stream, arrays, batch, false)
    }

    fn forward(&self, stream: &Stream, arrays: &mut Arrays, batch: Batch, training: bool) -> Result<()> {
        let (cells, planes, n) = (arrays.plan.shape.cells() as u32, arrays.plan.shape.planes, batch.n);
        let shape = samples::shape(n, cells, planes);
        let view = arrays.samples.view();
        // SAFETY: the order holds the batch, whose positions the engine has checked; the observations have room for it.
        unsafe {
            let observations = &mut arrays.activations.observations;
            stream.launch(&self.gather, shape, (view, batch, observations, cells, planes))?;
        }
        let n_blocks = arrays.plan.n_blocks();
        let last = n_blocks - 3;
        for block in 0..n_blocks {
            let plan = arrays.plan.products[block];
            let Activations { observations, before, after, .. } = &mut arrays.activations;
            // Both heads read the torso's output.
            let inputs = match block {
                0 => observations.as_ptr(),
                _ => after[(block - 1).min(last)].as_ptr(),
            };
            self.product(stream, &arrays.parameters, plan, n, inputs, &mut before[block], false)?;
            // Every second convolution of the torso has the block's input added.
            let residual = (block > 0 && block <= last && block % 2 == 0).then(|| block - 2);
            self.norm(stream, arrays, block, n, residual, training)?;
        }
        let [value_1, value_2, policy] = linear(&arrays.plan);
        let Activations { after, hidden, value, logits, .. } = &mut arrays.activations;
        let parameters = &arrays.parameters;
        self.product(stream, parameters, value_1, n, after[last + 1].as_ptr(), hidden, true)?;
        self.product(stream, parameters, value_2, n, hidden.as_ptr(), value, false)?;
        self.product(stream, parameters, policy, n, after[last + 2].as_ptr(), logits, false)?;
        let activations = &mut arrays.activations;
        let loss = Loss {
            samples: view,
            batch,
            logits: activations.logits.as_ptr(),
            value: activations.value.as_ptr(),
            logit_gradient: activations.by_logits.as_mut_ptr(),
            value_gradient: activations.by_value.as_mut_ptr(),
            outcomes: arrays.outcomes.as_mut_ptr(),
            actions: arrays.plan.shape.actions,
            value_weight: arrays.value_weight,
        };
        // SAFETY: as above; samples have a legal action and a visit each, and visits of legal actions only.
        unsafe { stream.launch(&self.loss, loss::shape(n), (loss,)) }
    }

    fn backward(&self, stream: &Stream, arrays: &mut Arrays, n: u32) -> Result<()> {
        let last = arrays.plan.n_blocks() - 3;
        let [value_1, value_2, policy] = linear(&arrays.plan);
        let Arrays { parameters, activations, .. } = arrays;
        let Activations {
            after, hidden, by_logits, by_value, by_hidden, by_head, by_output, by_before, by_middle, ..
        } = activations;
        let pointers = Pointers {
            observations: activations.observations.as_ptr(),
            after: after.iter().map(Buffer::as_ptr).collect(),
            hidden: hidden.as_ptr(),
            by_logits: by_logits.as_ptr(),
            by_value: by_value.as_ptr(),
            by_hidden: by_hidden.as_mut_ptr(),
            by_head: by_head.as_mut_ptr(),
            by_output: by_output.as_mut_ptr(),
            by_before: by_before.as_mut_ptr(),
            by_middle: by_middle.as_mut_ptr(),
            parameters: parameters.as_ptr(),
        };
        let Pointers { by_hidden, by_head, by_output, by_middle, .. } = pointers;
        // The value head, down to the torso's output.
        self.weights(stream, arrays, value_2, n, pointers.hidden, pointers.by_value)?;
        self.inputs(stream, &pointers, value_2, n, pointers.by_value, by_hidden, false)?;
        let n_hidden = n * value_2.n_inputs;
        // SAFETY: both arrays hold the batch's hidden units.
        unsafe {
            let Activations { hidden, by_hidden, .. } = &mut arrays.activations;
            stream.launch(&self.gate, product::gate_shape(n_hidden), (&*hidden, by_hidden, n_hidden))?;
        }
        self.weights(stream, arrays, value_1, n, pointers.after[last + 1], by_hidden)?;
        self.inputs(stream, &pointers, value_1, n, by_hidden, by_head, false)?;
        self.block(
            stream,
            arrays,
            &pointers,
            Back { block: last + 1, n, output: by_head, inputs: Some((by_output, false)), keep: false },
        )?;
        // The policy head adds to it.
        self.weights(stream, arrays, policy, n, pointers.after[last + 2], pointers.by_logits)?;
        self.inputs(stream, &pointers, policy, n, pointers.by_logits, by_head, false)?;
        self.block(
            stream,
            arrays,
            &pointers,
            Back { block: last + 2, n, output: by_head, inputs: Some((by_output, true)), keep: false },
        )?;
        // The torso: what passes the last ReLU of a block is also the residual's, to which the first convolution adds.
        for second in (1..=last / 2).rev().map(|number| 2 * number) {
            let back = Back { block: second, n, output: by_output, inputs: Some((by_middle, false)), keep: true };
            self.block(stream, arrays, &pointers, back)?;
            let back = Back { block: second - 1, n, output: by_middle, inputs: Some((by_output, true)), keep: false };
            self.block(stream, arrays, &pointers, back)?;
        }
        self.block(stream, arrays, &pointers, Back { block: 0, n, output: by_output, inputs: None, keep: false })
    }

    /// Outputs of a layer.
    #[allow(clippy::too_many_arguments, reason = "what a product is made of")]
    fn product(
        &self,
        stream: &Stream,
        parameters: &Buffer<f32>,
        plan: ProductPlan,
        n: u32,
        inputs: *const f32,
        result: &mut Buffer<f32>,
        relu: bool,
    ) -> Result<()> {
        let product = Product {
            inputs,
            weights: parameters.as_ptr().wrapping_add(plan.weights as usize),
            bias: parameters.as_ptr().wrapping_add(plan.bias as usize),
            result: result.as_mut_ptr(),
            option: u32::from(relu),
            ..empty(plan, n)
        };
        let shape = plan.forward.shape(product.pixels(), plan.n_outputs, 1);
        // SAFETY: arrays of the plan, made for at least `n` positions; the result is another array than the inputs; all outlive the launch and its graph.
        unsafe {
            match plan.forward {
                LARGE => stream.launch(&self.forward_large, shape, (product,)),
                _ => stream.launch(&self.forward_small, shape, (product,)),
            }
        }
    }

    /// Gradient of a layer's inputs, put or added to `result`.
    #[allow(clippy::too_many_arguments, reason = "what a product is made of")]
    fn inputs(
        &self,
        stream: &Stream,
        pointers: &Pointers,
        plan: ProductPlan,
        n: u32,
        output_gradient: *const f32,
        result: *mut f32,
        add: bool,
    ) -> Result<()> {
        let product = Product {
            weights: pointers.parameters.wrapping_add(plan.weights as usize),
            output_gradient,
            result,
            option: u32::from(add),
            ..empty(plan, n)
        };
        let shape = plan.backward.shape(product.pixels(), plan.n_inputs, 1);
        // SAFETY: as in `product`.
        unsafe {
            match plan.backward {
                LARGE => stream.launch(&self.backward_large, shape, (product,)),
                _ => stream.launch(&self.backward_small, shape, (product,)),
            }
        }
    }

    /// Gradient of a layer's weights and, for a linear one, of its bias.
    fn weights(
        &self,
        stream: &Stream,
        arrays: &mut Arrays,
        plan: ProductPlan,
        n: u32,
        inputs: *const f32,
        output_gradient: *const f32,
    ) -> Result<()> {
        let product = Product {
            inputs,
            output_gradient,
            result: arrays.parts.as_mut_ptr(),
            option: u32::from(plan.with_bias),
            part: plan.part,
            ..empty(plan, n)
        };
        let n_parts = product.pixels().div_ceil(plan.part);
        let shape = plan.gradient.shape(plan.gradient_rows(), plan.n_outputs, n_parts);
        let n_bias = if plan.with_bias { plan.n_outputs } else { 0 };
        let shape_of_sum = update::shape(plan.n_weights() + n_bias);
        let gradients = arrays.gradients.as_mut_ptr();
        let (weights, bias) =
            (gradients.wrapping_add(plan.weights as usize), gradients.wrapping_add(plan.bias as usize));
        let arguments = (arrays.parts.as_ptr(), weights, bias, n_parts, plan.part_values(), plan.n_weights(), n_bias);
        // SAFETY: as in `product`; the parts were made for the largest gradient of the plan.
        unsafe {
            match plan.gradient {
                LARGE => stream.launch(&self.gradient_large, shape, (product,))?,
                _ => stream.launch(&self.gradient_small, shape, (product,))?,
            }
            stream.launch(&self.sum_parts, shape_of_sum, arguments)
        }
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
        let mut norm = norm_of(arrays, block, n);
        norm.residual = residual.map_or(ptr::null(), |block| arrays.activations.after[block].as_ptr());
        if !training {
            norm.momentum = -1.0;
        }
        let shape = norm::shape(norm.n_pixels, norm.channels);
        // SAFETY: arrays of the plan, made for at least `n` positions; the parts for the widest norm.
        unsafe {
            if training {
                stream.launch(&self.norm_parts, shape, (norm,))?;
            }
            stream.launch(&self.norm_finish, norm::finish_shape(norm.channels), (norm,))?;
            stream.launch(&self.norm_apply, shape, (norm,))
        }
    }

    /// From the gradient of a block's output to those of its parameters and inputs.
    fn block(&self, stream: &Stream, arrays: &mut Arrays, pointers: &Pointers, back: Back) -> Result<()> {
        let Back { block, n, output, inputs, keep } = back;
        let norm = Norm { output_gradient: output, keep: u32::from(keep), ..norm_of(arrays, block, n) };
        let shape = norm::shape(norm.n_pixels, norm.channels);
        // SAFETY: as in `norm`.
        unsafe {
            stream.launch(&self.norm_back_parts, shape, (norm,))?;
            stream.launch(&self.norm_back_finish, norm::finish_shape(norm.channels), (norm,))?;
            stream.launch(&self.norm_back_apply, shape, (norm,))?;
        }
        let plan = arrays.plan.products[block];
        let last = arrays.plan.n_blocks() - 3;
        let of = match block {
            0 => pointers.observations,
            _ => pointers.after[(block - 1).min(last)],
        };
        self.weights(stream, arrays, plan, n, of, pointers.by_before)?;
        match inputs {
            Some((result, add)) => self.inputs(stream, pointers, plan, n, pointers.by_before, result, add),
            None => Ok(()),
        }
    }
}

/// A block on the way back.
struct Back {
    block: usize,
    n: u32,
    /// Gradient of its output.
    output: *mut f32,
    /// Where the gradient of its inputs goes, and whether it is added to what is there.
    inputs: Option<(*mut f32, bool)>,
    /// Whether `output` is to hold what passes the ReLU.
    keep: bool,
}

/// Addresses of the arrays on the way back, which are several at once in one launch.
struct Pointers {
    observations: *const f32,
    after: Vec<*const f32>,
    hidden: *const f32,
    by_logits: *const f32,
    by_value: *const f32,
    by_hidden: *mut f32,
    by_head: *mut f32,
    by_output: *mut f32,
    by_before: *mut f32,
    by_middle: *mut f32,
    parameters: *const f32,
}

/// The linear layers: the value's two, the policy's.
fn linear(plan: &Plan) -> [ProductPlan; 3] {
    let first = plan.n_blocks();
    [plan.products[first], plan.products[first + 1], plan.products[first + 2]]
}

/// A product's sizes, without its arrays. Where nothing looks at neighbours, all squares are one row.
fn empty(plan: ProductPlan, n: u32) -> Product {
    let (n_positions, rows, columns) = match plan.side {
        1 => (1, 1, n * plan.lines),
        _ => (n, plan.rows, plan.lines / plan.rows),
    };
    Product {
        inputs: ptr::null(),
        weights: ptr::null(),
        output_gradient: ptr::null(),
        bias: ptr::null(),
        result: ptr::null_mut(),
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

/// A block's norm, without gradient of its output and residual.
fn norm_of(arrays: &mut Arrays, block: usize, n: u32) -> Norm {
    let NormPlan { channels, weight, bias, running, .. } = arrays.plan.norms[block];
    let n_pixels = n * arrays.plan.shape.cells() as u32;
    let Arrays { parameters, gradients, activations, .. } = arrays;
    let (weight, bias, running) = (weight as usize, bias as usize, running as usize);
    let gradients = gradients.as_mut_ptr();
    Norm {
        input: activations.before[block].as_ptr(),
        output: activations.after[block].as_mut_ptr(),
        residual: ptr::null(),
        weight: parameters.as_ptr().wrapping_add(weight),
        bias: parameters.as_ptr().wrapping_add(bias),
        moments: arrays.moments.as_mut_ptr().wrapping_add(running),
        running: arrays.running.as_mut_ptr().wrapping_add(running),
        parts: arrays.norm_parts.as_mut_ptr(),
        output_gradient: ptr::null_mut(),
        input_gradient: activations.by_before.as_mut_ptr(),
        weight_gradient: gradients.wrapping_add(weight),
        bias_gradient: gradients.wrapping_add(bias),
        n_pixels,
        channels,
        momentum: arrays.momentum,
        epsilon: NORM_EPSILON as f32,
        keep: 0,
        reserved: 0,
    }
}

/// The positions as the kernels take them.
fn batch(arrays: &Arrays, positions: Positions) -> Result<Batch> {
    let order = arrays.order.as_ptr();
    match positions {
        Positions::Step => Ok(Batch { order, step: arrays.step.as_ptr(), from: 0, n: arrays.plan.batch }),
        Positions::Part { from, n } => {
            let fits = n <= arrays.plan.batch && (from as usize + n as usize) <= arrays.order.len();
            if !fits {
                let most = format!("at most {}, of {}", arrays.plan.batch, arrays.order.len());
                return Err(Error::shape("positions at once", most, format!("{n} from {from} on")));
            }
            Ok(Batch { order, step: ptr::null(), from, n })
        }
    }
}
