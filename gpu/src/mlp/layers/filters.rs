//! Parameters of networks of convolutions: gradients added up in order, momentum, and the operands that products read.
//!
//! ```text
//! parameters   [n_outputs, n_taps, n_channels]          single precision; of a dense layer one tap, of a bias one tap and one channel
//! parts        [n_parts, n_outputs, line]               the gradient, of each division of the depth; a tap begins every `tap` numbers
//! filters      [n_outputs, filter_line]                 bfloat16: taps and channels follow each other
//! turned       [n_channels, n_taps, n_outputs]          bfloat16: turned by half a circle, of the way back
//! ```

use super::control;
use crate::cuda::mma::pack_bf16;
use crate::cuda::{block, kernel, memory, shared_array, sync, thread};
use crate::launch::LaunchShape;

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Warps of a block.
const WARPS: usize = (BLOCK / thread::WARP) as usize;

/// Launch shape, a thread a parameter.
pub const fn shape(n_outputs: u32, n_taps: u32, n_channels: u32) -> LaunchShape {
    LaunchShape::linear(n_outputs * n_taps * n_channels, BLOCK).overlapping()
}

/// Whether the filters are those of a convolution whose inputs have a gradient: then there are turned ones.
pub const fn has_turned(n_taps: u32, n_channels: u32) -> bool {
    n_taps > 1 && n_channels > 1
}

/// A step of gradient descent with momentum, `v = momentum v + g + decay w; w -= rate v`, and the new parameters as the products read them. Without parts of a gradient only the latter.
///
/// * Launch: [`shape`], a thread a parameter, blocks of 256.
/// * Reads: `parts`; the step's of `rates`, the step in `control`.
/// * Writes: `parameters`, `velocity`; `filters` where `filter_line` is not 0; `turned` where [`has_turned`] says so.
/// * Shared: none.
/// * Cost: four bytes a part read a thread.
/// * Twin: `warpplay_cpu_ref::mlp::conv::training::ConvTraining::step`.
/// * Source: PyTorch's SGD.
///
/// # Safety
/// If there are parts, `control` has its words, and `rates` one of the step that they name.
#[kernel(
    shape = shape(n_outputs, n_taps, n_channels),
    max_threads = BLOCK,
    require = n_outputs >= 1 && n_taps >= 1 && n_channels >= 1 && u64::from(n_outputs) * u64::from(n_taps) * u64::from(n_channels) <= 1 << 30 && n_channels <= tap && n_taps * tap <= line && (filter_line == 0 || n_taps * n_channels <= filter_line)
)]
pub unsafe fn mlp_layers_filters(
    #[len(n_parts as usize * n_outputs as usize * line as usize)] parts: *const f32,
    #[len(n_outputs * n_taps * n_channels)] parameters: *mut f32,
    #[len(n_outputs * n_taps * n_channels)] velocity: *mut f32,
    #[len(n_outputs as usize * filter_line as usize)] filters: *mut u16,
    #[len(if has_turned(n_taps, n_channels) { n_outputs * n_taps * n_channels } else { 0 })] turned: *mut u16,
    rates: *const f32,
    control: *const u32,
    n_parts: u32,
    n_outputs: u32,
    n_taps: u32,
    n_channels: u32,
    tap: u32,
    line: u32,
    filter_line: u32,
    momentum: f32,
    decay: f32,
) {
    sync::follow();
    // The kernel asks for sizes above 0; said again, divisions need no check.
    if n_channels == 0 || n_taps == 0 {
        return;
    }
    let Some(number) = thread::index_1d_below(n_outputs * n_taps * n_channels) else { return };
    let (channel, rest) = (number % n_channels, number / n_channels);
    let (of_tap, output) = (rest % n_taps, rest / n_taps);
    let at = number as usize;
    // SAFETY: output, tap and channel exist; parameter, velocity and filters are this thread's.
    unsafe {
        let mut weight = memory::load(parameters, at);
        if n_parts > 0 {
            let from = output as usize * line as usize + (of_tap * tap + channel) as usize;
            let mut gradient = 0.0;
            let mut part = 0;
            while part < n_parts {
                gradient += memory::load(parts, part as usize * n_outputs as usize * line as usize + from);
                part += 1;
            }
            let rate = memory::load(rates, memory::load(control, control::STEP) as usize);
            let v = momentum * memory::load(velocity, at) + gradient + decay * weight;
            weight -= rate * v;
            memory::store(velocity, at, v);
            memory::store(parameters, at, weight);
        }
        let short = pack_bf16(weight, 0.0) as u16;
        if filter_line > 0 {
            let to = output as usize * filter_line as usize + (of_tap * n_channels + channel) as usize;
            memory::store(filters, to, short);
        }
        if has_turned(n_taps, n_channels) {
            let to = (channel as usize * n_taps as usize + (n_taps - 1 - of_tap) as usize) * n_outputs as usize;
            memory::store(turned, to + output as usize, short);
        }
    }
}

/// Launch shape of [`mlp_layers_advance`].
pub const fn advance_shape() -> LaunchShape {
    LaunchShape::new(1, BLOCK).overlapping()
}

/// Stores the loss of a step, and moves on to the next.
///
/// * Launch: [`advance_shape`], a block of 256.
/// * Reads: `partial_losses`.
/// * Writes: the step's of `losses`, the step in `control`.
/// * Shared: 32 bytes: a loss of each warp.
/// * Cost: ⌈losses / 256⌉ loads a thread.
/// * Twin: `warpplay_cpu_ref::mlp::conv::training::ConvTraining::step`, whose losses are summed.
/// * Source: our own.
///
/// # Safety
/// `losses` has one of the step that `control` names.
#[kernel(shape = advance_shape(), max_threads = BLOCK)]
pub unsafe fn mlp_layers_advance(
    #[len(n)] partial_losses: *const f32,
    losses: *mut f32,
    #[len(control::WORDS)] control: *mut u32,
    n: u32,
) {
    let scratch = shared_array![f32; WARPS];
    sync::follow();
    let mut of_thread = 0.0;
    let mut at = thread::thread_idx_x();
    while at < n {
        // SAFETY: below the number of losses.
        of_thread += unsafe { memory::load(partial_losses, at as usize) };
        at += BLOCK;
    }
    let loss = block::sum(of_thread, scratch);
    if thread::thread_idx_x() == 0 {
        // SAFETY: the step exists, as the kernel asks, and this thread alone uses it.
        unsafe {
            let step = memory::load(control, control::STEP);
            memory::store(losses, step as usize, loss);
            memory::store(control, control::STEP, step + 1);
        }
    }
}
