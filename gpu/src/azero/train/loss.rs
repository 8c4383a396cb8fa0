//! Loss of policy and value, and its gradient by the outputs of the network.
//!
//! ```text
//! policy   - Σ over legal actions: share of visits · ln softmax(logits)       softmax over legal actions only
//! value    weight · (tanh(z) - result)²
//! both averaged over the batch
//! ```
//!
//! One warp, one position; lane `l` has the actions `l`, `l + 32`, …: a word of the legal actions' bits each time.

use super::quad::{line_length, store_quad};
use super::samples::words;
use crate::cuda::sync::follow;
use crate::cuda::{DeviceArgs, kernel, math, memory, sync, thread, warp};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Positions, so warps, of a block.
pub const ROWS: u32 = 8;
/// Threads of a block.
pub const BLOCK: u32 = ROWS * thread::WARP;
/// Numbers that [`azero_train_loss`] leaves for each position: loss of the policy, of the value, whether the likeliest action is the most visited, 0.
pub const OUTCOME: usize = 4;

/// Launch shape for `n` positions.
pub const fn shape(n: u32) -> LaunchShape {
    LaunchShape::new(if n == 0 { 1 } else { n.div_ceil(ROWS) }, BLOCK)
}

/// What the loss works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
pub struct Loss {
    /// All positions.
    #[args]
    pub samples: super::samples::Samples,
    /// Those of the step.
    #[args]
    pub batch: super::samples::Batch,
    /// `[n, line_length(actions)]`.
    #[len(batch.n * line_length(actions))]
    pub logits: *const f32,
    /// Of the value before tanh, `[n, 4]`, the first of each four.
    #[len(batch.n * 4)]
    pub value: *const f32,
    /// Gradient by the logits, written.
    #[len(batch.n * line_length(actions))]
    pub logit_gradient: *mut f32,
    /// Gradient by the value before tanh, `[n, 4]`, written.
    #[len(batch.n * 4)]
    pub value_gradient: *mut f32,
    /// `[n, OUTCOME]`, written.
    #[len(batch.n * OUTCOME)]
    pub outcomes: *mut f32,
    /// Actions.
    pub actions: u32,
    /// Weight of the value's loss.
    pub value_weight: f32,
}

const _: () = assert!(size_of::<Loss>() == 120);

/// Loss of policy and value of each position of the step, and its gradient by the network's outputs.
///
/// * Launch: [`shape`], a warp a position, 8 positions a block.
/// * Reads: `samples`, `batch`, `logits`, `value`.
/// * Writes: `logit_gradient`, `value_gradient`, `outcomes`.
/// * Shared: none.
/// * Cost: 3 × ⌈actions / 32⌉ + ⌈visits / 32⌉ steps a lane.
/// * Twin: `warpplay_cpu_ref::azero::training::loss::policy`, `warpplay_cpu_ref::azero::training::loss::value`,
///   `warpplay_cpu_ref::azero::training::loss::is_hit`.
/// * Source: Silver et al. 2017, equation (1).
///
/// # Safety
/// `loss` describes valid memory; every position has a legal action and a visit, and all visits are of legal actions.
#[kernel(shape = shape(loss.batch.n).overlapping(), max_threads = BLOCK)]
pub unsafe fn azero_train_loss(loss: Loss) {
    follow();
    let Loss { samples, batch, actions, .. } = loss;
    let row = thread::block_idx_x() * ROWS + thread::warp_index();
    // The whole warp has one position: it leaves together.
    if row >= batch.n {
        return;
    }
    let (n_words, line, lane) = (words(actions), line_length(actions), thread::lane());
    // SAFETY: the position is below the batch's number, and actions and visits are those that `loss` describes for it; its outputs are this warp's.
    unsafe {
        let sample = batch.sample(row);
        let logits = loss.logits.add(row as usize * line as usize);
        let legal = samples.legal.add(sample * n_words as usize);
        // Of an action beyond the last the logit of the first, which does not count.
        let logit = |word: u32| {
            let action = word * thread::WARP + lane;
            let is_legal = memory::load(legal, word as usize) >> lane & 1 != 0;
            (is_legal, memory::load(logits, if action < line { action } else { 0 } as usize))
        };
        let (most, likeliest) = likeliest(n_words, logit);
        let sum = sum_of_exponentials(n_words, most, logit);
        let count = batch.n as f32;
        let gradient = loss.logit_gradient.add(row as usize * line as usize);
        each_word(n_words, logit, |word, is_legal, logit| {
            let action = word * thread::WARP + lane;
            if action < line {
                let share = if is_legal { math::exp(logit - most) / sum } else { 0.0 };
                memory::store(gradient, action as usize, share / count);
            }
        });
        // The gradient is there for the lanes that have the visits.
        sync::sync_warp(warp::ALL);
        let log_sum = math::ln(sum) + most;
        let total = memory::load(samples.total, sample) as f32;
        let (mut policy, mut visits, mut visited) = (0.0, 0, u32::MAX);
        let mut at = memory::load(samples.first, sample) + lane;
        let end = memory::load(samples.first, sample + 1);
        while at < end {
            let visit = memory::load(samples.visits, at as usize);
            let share = visit.count as f32 / total;
            policy += share * (log_sum - memory::load(logits, visit.action as usize));
            let before = memory::load(gradient.cast_const(), visit.action as usize);
            memory::store(gradient, visit.action as usize, before - share / count);
            if visit.count > visits {
                (visits, visited) = (visit.count, visit.action);
            }
            at += thread::WARP;
        }
        let policy = warp::reduce_sum(policy);
        let most_visits = warp::reduce_max_u32(visits);
        let visited = warp::reduce_min_u32(if visits == most_visits { visited } else { u32::MAX });
        if lane == 0 {
            let value = memory::load(loss.value, row as usize * 4);
            let (of_value, by_value) = value_loss(value, memory::load(samples.values, sample), loss.value_weight);
            store_quad(loss.value_gradient, row as usize * 4, [by_value / count, 0.0, 0.0, 0.0]);
            let hit = if likeliest == visited { 1.0 } else { 0.0 };
            store_quad(loss.outcomes, row as usize * OUTCOME, [policy, of_value, hit, 0.0]);
        }
    }
}

/// Calls `of` with each of `n_words` words of actions, whether the lane's action of it is legal, and its logit. Four at a time are on their way together.
#[device_inline]
fn each_word(n_words: u32, logit: impl Fn(u32) -> (bool, f32), mut of: impl FnMut(u32, bool, f32)) {
    let mut first = 0;
    while first < n_words {
        let mut found = [(false, 0.0); 4];
        unroll!(J in [0, 1, 2, 3] {
            let word = first + J as u32;
            found[J] = logit(if word < n_words { word } else { first });
        });
        unroll!(J in [0, 1, 2, 3] {
            if first + (J as u32) < n_words {
                of(first + J as u32, found[J].0, found[J].1);
            }
        });
        first += 4;
    }
}

/// The largest logit of the legal actions and the action that has it, of `n_words` words of actions. The whole warp calls it.
#[device_inline]
fn likeliest(n_words: u32, logit: impl Fn(u32) -> (bool, f32)) -> (f32, u32) {
    let (mut most, mut likeliest) = (f32::NEG_INFINITY, u32::MAX);
    each_word(n_words, logit, |word, is_legal, logit| {
        if is_legal && logit > most {
            (most, likeliest) = (logit, word * thread::WARP + thread::lane());
        }
    });
    warp::reduce_argmax(most, likeliest)
}

/// The sum of `exp(logit - most)` over the legal actions. The whole warp calls it.
#[device_inline]
fn sum_of_exponentials(n_words: u32, most: f32, logit: impl Fn(u32) -> (bool, f32)) -> f32 {
    let mut sum = 0.0;
    each_word(n_words, logit, |_, is_legal, logit| {
        if is_legal {
            sum += math::exp(logit - most);
        }
    });
    warp::reduce_sum(sum)
}

/// Loss of the value `tanh(output)`, and its derivative by the output.
#[device_inline]
fn value_loss(output: f32, target: f32, weight: f32) -> (f32, f32) {
    let value = libm::tanhf(output);
    let distance = value - target;
    (weight * distance * distance, 2.0 * weight * distance * (1.0 - value * value))
}
