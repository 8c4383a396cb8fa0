//! The update: gradients' parts summed in order, weight decay, optimiser, the step's loss, and on to the next step. One launch for all layers.
//!
//! One thread, one quad of parameters.

use super::control;
use super::parts;
use super::view;
use crate::cuda::memory;
use crate::cuda::{DeviceArgs, atomic, block, kernel, shared_array, sync, thread};
use crate::launch::LaunchShape;
use crate::tile::update::{Rate, Rule, stepped};

/// Threads per block.
pub const BLOCK: u32 = 256;
/// Warps of a block.
const WARPS: usize = (BLOCK / thread::WARP) as usize;

/// Blocks of a multiprocessor: its 65,536 registers are then 64 a thread. Left to itself, `ptxas` may take fewer, and spill.
pub(super) const BLOCKS_AT_ONCE: u32 = 4;

/// Most blocks that update: as many as a large GPU holds at a time. Each is counted at its end, one after the other.
const MOST_BLOCKS: u32 = 1024;

/// Blocks that update so many quads of parameters, at least one, which adds up the losses; those behind them gather.
const fn n_blocks(n_quads: u32) -> u32 {
    let blocks = n_quads.div_ceil(BLOCK);
    if blocks == 0 {
        return 1;
    }
    if blocks < MOST_BLOCKS { blocks } else { MOST_BLOCKS }
}

/// Launch shape for so many quads of parameters, and eights of numbers that are gathered.
pub const fn shape(n_quads: u32, n_eights: u32) -> LaunchShape {
    let of_eights = n_eights.div_ceil(BLOCK);
    let of_eights = if of_eights < MOST_BLOCKS / 4 { of_eights } else { MOST_BLOCKS / 4 };
    let shape = LaunchShape::new(n_blocks(n_quads) + of_eights, BLOCK);
    // A long one would only keep the next from its multiprocessors.
    if n_quads > MOST_BLOCKS * BLOCK { shape } else { shape.overlapping() }
}

/// One layer's offsets in the arrays of parameters and of gradients' parts, in values; all multiples of 4.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct LayerOffsets {
    /// First parameter.
    pub parameters: u64,
    /// First value of the first part.
    pub parts: u64,
    /// First of its weights in parts of 16 bits, see [`parts`].
    pub short: u64,
    /// Parameters.
    pub n: u32,
    /// Parts for a full batch.
    pub n_parts: u32,
    /// Parameters of a line.
    pub line: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<LayerOffsets>() == 40);

/// What the update works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Parameters of all layers.
    n_values: usize,
    /// Values of all parts.
    n_part_values: usize
)]
#[require(rows.batch >= 1)]
pub struct Update {
    /// All parameters.
    #[len(n_values)]
    pub parameters: *mut f32,
    /// What the optimiser remembers: mean or momentum, or the only one there is; null without.
    #[len(if n_moments > 0 { n_values } else { 0 })]
    pub first: *mut f32,
    /// The mean square of Adam; null without.
    #[len(if n_moments > 1 { n_values } else { 0 })]
    pub second: *mut f32,
    /// All parts of gradients.
    #[len(n_part_values)]
    pub parts: *const f32,
    /// The layers.
    #[len(n_layers)]
    pub offsets: *const LayerOffsets,
    /// Rates of the epoch's steps.
    #[len(rows.n.div_ceil(rows.batch))]
    pub rates: *const Rate,
    /// Sum of the losses of each of the epoch's steps.
    #[len(rows.n.div_ceil(rows.batch))]
    pub losses: *mut f32,
    /// Partial losses of this step.
    #[len(n_partial_losses)]
    pub partial_losses: *const f32,
    /// See [`control`].
    #[len(control::WORDS)]
    pub control: *mut u32,
    /// What all gradients are multiplied with, no number where their norm is none: see [`clip`](super::clip); null for 1.
    #[len(1)]
    #[nullable]
    pub clip: *const f32,
    /// Where the new parameters go in parts of 16 bits, if they do.
    #[args]
    pub weights: parts::Parts,
    /// The epoch's samples; order and step are not read here.
    #[args]
    pub rows: view::Rows,
    /// The samples of the next step, if they are to be gathered.
    #[args]
    pub next: parts::Gather,
    /// The optimiser.
    pub rule: Rule,
    /// Arrays that the optimiser remembers, 0 to 2.
    pub n_moments: u32,
    /// 1 where gradients carry the loss scale.
    pub scaled: u32,
    /// Number of partial losses.
    pub n_partial_losses: u32,
    /// Layers.
    pub n_layers: u32,
    /// Quads of parameters, of all layers; 0 where the products of gradients [update](crate::tile::update) them.
    pub n_quads: u32,
}

const _: () = assert!(size_of::<Update>() == 256);

#[device_inline]
pub(super) fn add(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}

/// Sum of a quad over the parts, in their order; four loads at a time are under way.
#[device_inline]
#[track_caller]
pub(super) unsafe fn sum_of_parts(parts: *const f32, n: usize, n_parts: u32) -> [f32; 4] {
    let mut sum = [0.0; 4];
    let mut part = 0usize;
    // SAFETY: there are `n_parts` parts of `n` values, as the caller says, and the quad is one of them.
    unsafe {
        while part + 4 <= n_parts as usize {
            let quads = [
                memory::load_quad(parts, part * n),
                memory::load_quad(parts, (part + 1) * n),
                memory::load_quad(parts, (part + 2) * n),
                memory::load_quad(parts, (part + 3) * n),
            ];
            sum = add(add(add(add(sum, quads[0]), quads[1]), quads[2]), quads[3]);
            part += 4;
        }
        while part < n_parts as usize {
            sum = add(sum, memory::load_quad(parts, part * n));
            part += 1;
        }
    }
    sum
}

/// The layer that parameter `at` of all belongs to, number `number` or one behind it; and its number.
///
/// # Safety
/// There is one; layers lie one behind the other.
#[device_inline]
#[track_caller]
pub(super) unsafe fn layer_of(offsets: *const LayerOffsets, number: &mut usize, at: usize) -> LayerOffsets {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut layer = memory::load(offsets, *number);
        while at >= layer.parameters as usize + layer.n as usize {
            *number += 1;
            layer = memory::load(offsets, *number);
        }
        layer
    }
}

/// Where the weights in parts that belong to the quad of a layer's parameters from `own` on lie.
///
/// `own` counts from the layer's first parameter.
#[device_inline]
fn weights_at(layer: &LayerOffsets, own: usize) -> usize {
    let line = layer.line as usize;
    layer.short as usize + own / line * parts::line_length(layer.line) as usize + own % line
}

/// Writes all parameters in parts: after they came from the host.
///
/// * Launch: [`shape`], a thread four parameters at a time, blocks of 256.
/// * Reads: `parameters`, `offsets`.
/// * Writes: `weights`.
/// * Shared: none.
/// * Cost: a quad read and written a thread.
/// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`, which reads the same parameters whole.
/// * Source: our own.
///
/// # Safety
/// `offsets` has a layer for each parameter, and all lie in `parameters` and `weights`.
#[kernel(shape = shape(n_quads, 0), max_threads = BLOCK)]
pub unsafe fn mlp_layers_weights(
    #[len(4 * n_quads as usize)] parameters: *const f32,
    offsets: *const LayerOffsets,
    weights: parts::Parts,
    n_quads: u32,
) {
    let mut quad = thread::block_idx_x() * BLOCK + thread::thread_idx_x();
    let mut number = 0;
    while quad < n_quads {
        let at = quad as usize * 4;
        // SAFETY: quads are below their number, and each is one thread's; the rest is the caller's.
        unsafe {
            let layer = layer_of(offsets, &mut number, at);
            let values = memory::load_quad(parameters, at);
            weights.put_quad(weights_at(&layer, at - layer.parameters as usize), values);
        }
        quad += thread::grid_dim_x() * BLOCK;
    }
}

/// Updates the quad of parameters from `at` on, of this layer; gradients are multiplied with `factor`.
///
/// # Safety
/// Everything `update` points to is valid; the quad is the layer's, and this thread's.
#[device_inline]
#[track_caller]
unsafe fn update_quad(update: &Update, rate: &Rate, factor: f32, layer: &LayerOffsets, at: usize) {
    let own = at - layer.parameters as usize;
    // SAFETY: as the caller vouches.
    unsafe {
        let gradient = sum_of_parts(update.parts.add(layer.parts as usize + own), layer.n as usize, layer.n_parts);
        let mut weights = memory::load_quad(update.parameters, at);
        let mut first = if update.n_moments > 0 { memory::load_quad(update.first, at) } else { [0.0; 4] };
        let mut second = if update.n_moments > 1 { memory::load_quad(update.second, at) } else { [0.0; 4] };
        let mut j = 0;
        while j < 4 {
            let gradient = gradient[j] * factor;
            weights[j] = stepped(&update.rule, rate, weights[j], gradient, &mut first[j], &mut second[j]);
            j += 1;
        }
        memory::store_quad(update.parameters, at, weights);
        if !update.weights.values.is_null() {
            update.weights.put_quad(weights_at(layer, own), weights);
        }
        if update.n_moments > 0 {
            memory::store_quad(update.first, at, first);
        }
        if update.n_moments > 1 {
            memory::store_quad(update.second, at, second);
        }
    }
}

/// Updates all parameters, but where the products of gradients have done it (`n_quads` is 0), stores the step's loss, gathers the samples of the next step, and moves on to it.
///
/// With a loss scale, a step whose gradients are not finite changes nothing but the scale, which is halved; after [`control::PATIENCE`] good steps it is
/// doubled. Where the gradients' norm is asked for and is no number, neither is the loss that is stored.
///
/// * Launch: [`shape`], a thread four parameters at a time, blocks of 256, and behind them those that gather.
/// * Reads: `parts`, `offsets`, `rates`, `partial_losses`, `clip`; the samples of `next`.
/// * Writes: `parameters`, `first`, `second`, `losses`, `control`; `weights`; the inputs of `next`.
/// * Shared: 32 bytes: a loss of each warp.
/// * Cost: parts of the gradient + 1 quads a thread; ⌈losses / 256⌉ more in the first block.
/// * Twin: `warpplay_cpu_ref::mlp::optimizer::Update::apply`.
/// * Source: PyTorch's definitions of SGD, Adam, AdamW and RMSprop; plain SGD: Ha and Beqaj, section 1.1 and section 1.3, kernel 7.
///
/// # Safety
/// After the gradients of the same step; `offsets` has a layer for each parameter; everything `update` points to is valid.
#[kernel(shape = shape(update.n_quads, if update.next.inputs.is_null() { 0 } else { update.next.n_eights() }), max_threads = BLOCK, min_blocks = BLOCKS_AT_ONCE)]
pub unsafe fn mlp_layers_update(update: Update) {
    let scratch = shared_array![f32; WARPS];
    sync::follow();
    let control = update.control;
    // SAFETY: everything `update` points to is valid, as the kernel asks, and quads are below the layers' number. Each is one thread's. Every block has read the control words before it is counted, so the last one may change them.
    unsafe {
        let step = memory::load(control, control::STEP);
        let scaled = update.scaled != 0;
        let overflow = scaled && memory::load(control, control::OVERFLOW) != 0;
        let factor = if scaled { 1.0 / f32::from_bits(memory::load(control, control::SCALE)) } else { 1.0 };
        let clip = if update.clip.is_null() { 1.0 } else { memory::load(update.clip, 0) };
        let factor = factor * clip;
        let rate = memory::load(update.rates, step as usize);
        let n_blocks = n_blocks(update.n_quads);
        let first = thread::block_idx_x() * BLOCK + thread::thread_idx_x();
        if thread::block_idx_x() >= n_blocks {
            let offset = update.next.rows.first + (step + 1) * update.next.rows.batch;
            let mut eight = first - n_blocks * BLOCK;
            while eight < update.next.n_eights() {
                update.next.eight(offset, eight);
                eight += (thread::grid_dim_x() - n_blocks) * BLOCK;
            }
        } else if !overflow {
            let (mut quad, mut number) = (first, 0);
            while quad < update.n_quads {
                let at = quad as usize * 4;
                let layer = layer_of(update.offsets, &mut number, at);
                update_quad(&update, &rate, factor, &layer, at);
                quad += n_blocks * BLOCK;
            }
        }
        // The first block also adds up the losses; the others add zeros, so that all meet at the same barriers.
        let is_first = thread::block_idx_x() == 0;
        let n_partial = if is_first { update.n_partial_losses } else { 0 };
        let mut of_thread = 0.0;
        let mut at = thread::thread_idx_x();
        while at < n_partial {
            of_thread += memory::load(update.partial_losses, at as usize);
            at += BLOCK;
        }
        let loss = block::sum(of_thread, scratch);
        if is_first && thread::thread_idx_x() == 0 {
            let is_lost = clip.is_nan() && !overflow;
            memory::store(update.losses, step as usize, if is_lost { f32::NAN } else { loss });
        }
        // The block is counted when all its threads have read the control words.
        sync::sync_threads();
        if thread::thread_idx_x() == 0 && atomic::add_u32(control.add(control::TICKET), 1) + 1 == thread::grid_dim_x() {
            next_step(control, step, scaled, overflow);
        }
    }
}

/// Moves on to the step behind `step`, and follows the loss scale where there is one.
///
/// # Safety
/// The control words are valid, and nobody else uses them now.
#[device_inline]
#[track_caller]
unsafe fn next_step(control: *mut u32, step: u32, scaled: bool, overflow: bool) {
    // SAFETY: the control words are valid and nobody else uses them, as the caller says.
    unsafe {
        memory::store(control, control::TICKET, 0);
        memory::store(control, control::STEP, step + 1);
        if scaled {
            let scale = f32::from_bits(memory::load(control, control::SCALE));
            let good = memory::load(control, control::GOOD);
            let (scale, good) = control::next_scale(scale, good, overflow);
            memory::store(control, control::SCALE, scale.to_bits());
            memory::store(control, control::GOOD, good);
            memory::store(control, control::OVERFLOW, 0);
        }
    }
}
