//! The heads of the network for one position: every block of the cluster makes all planes, and a share of the logits and hidden units; the blocks exchange what the softmax and the value need.

use super::{BLOCKS, SharedLayout, SingleTask, THREADS, padded_index, part_bytes};
use crate::azero::fused::format::{Format, chunk_bytes};
use crate::azero::fused::{CELLS, FILTERS, WIDTH};
use crate::cuda::math::{exp, fma, relu};
use crate::cuda::memory::{Vec4, load, store};
use crate::cuda::shared::Shared;
use crate::cuda::sync::sync_threads;
use crate::cuda::{thread, warp};

/// Value, logits and policy.
///
/// # Safety
/// `task` is a launch's, `position` one of its `n`; X is complete, and all threads of the cluster come here.
#[device_inline]
pub(super) unsafe fn heads<F: Format>(
    task: SingleTask,
    shared: SharedLayout,
    rank: u32,
    warp_index: u32,
    position: u32,
    turn: u32,
) {
    let me = thread::thread_idx_x();
    // SAFETY: the task is a launch's, the position one of its `n`; the block's logits and hidden units are there behind the barrier.
    unsafe {
        make_planes::<F>(task, shared);
        sync_threads();
        make_logits(task, shared, rank, warp_index);
        sync_threads();
        let base = position as usize * task.actions as usize;
        if warp_index == 0 {
            send_message(task, shared, rank, base);
        }
        shared.message_box.wait(turn);
        if me == 0 {
            shared.message_box.expect(BLOCKS * 16);
        }
        write_policy(task, shared, rank, base);
        if rank == 0 && me == 0 {
            write_value(task, shared.messages, position);
        }
    }
    // The planes, logits and messages are free again.
    sync_threads();
}

/// Planes, in every block: 8 lanes share a square's channels.
///
/// # Safety
/// `task` is a launch's.
#[device_inline]
unsafe fn make_planes<F: Format>(task: SingleTask, shared: SharedLayout) {
    let me = thread::thread_idx_x();
    let (cell, share) = (me / 8, me % 8);
    let chunks = WIDTH / F::CHANNELS;
    let mut sums = [0.0f32; FILTERS as usize];
    let mut chunk = share;
    while chunk < chunks {
        let index = chunk * (chunk_bytes(1) / 16) + padded_index(cell);
        let first: Vec4 = shared.x.get(index);
        let second: Vec4 = if F::PARTS == 2 { shared.x.get(index + part_bytes::<F>() / 16) } else { first };
        let values = F::unpack(first.0, second.0);
        let weight = |filter: u32, at: u32| shared.head_weights.get(filter * WIDTH + chunk * F::CHANNELS + at);
        let mut at = 0;
        while at < F::CHANNELS {
            let value = values[at as usize];
            sums[0] = fma(value, weight(0, at), sums[0]);
            sums[1] = fma(value, weight(1, at), sums[1]);
            sums[2] = fma(value, weight(2, at), sums[2]);
            sums[3] = fma(value, weight(3, at), sums[3]);
            at += 1;
        }
        chunk += 8;
    }
    let mut distance = 1;
    while distance < 8 {
        sums[0] += warp::shuffle_xor(warp::ALL, sums[0], distance);
        sums[1] += warp::shuffle_xor(warp::ALL, sums[1], distance);
        sums[2] += warp::shuffle_xor(warp::ALL, sums[2], distance);
        sums[3] += warp::shuffle_xor(warp::ALL, sums[3], distance);
        distance *= 2;
    }
    let filters = task.value_filters + task.policy_filters;
    if share < filters {
        let sum = match share {
            0 => sums[0],
            1 => sums[1],
            2 => sums[2],
            _ => sums[3],
        };
        // SAFETY: a launch's task has one bias a filter.
        shared.planes.set(share * CELLS + cell, relu(sum + unsafe { load(task.head_biases, share as usize) }));
    }
}

/// The block's logits and hidden units, a warp each.
///
/// # Safety
/// `task` is a launch's.
#[device_inline]
unsafe fn make_logits(task: SingleTask, shared: SharedLayout, rank: u32, warp_index: u32) {
    let lane = thread::lane();
    let value_inputs = task.value_filters * CELLS;
    let policy_inputs = task.policy_filters * CELLS;
    let (actions, units) = (task.actions.div_ceil(BLOCKS), task.hidden.div_ceil(BLOCKS));
    let mut number = warp_index;
    while number < actions + units {
        // SAFETY: a launch's task has rows of the policy's matrix and a bias for each of `actions`, rows of the value's matrix, a bias and a weight for each of `hidden`; both are looked at.
        unsafe {
            if number < actions {
                let action = rank * actions + number;
                let mut logit = f32::NEG_INFINITY;
                if action < task.actions {
                    logit = row_product(task.policy_weights, action, policy_inputs, shared.planes, value_inputs)
                        + load(task.policy_bias, action as usize);
                }
                if lane == 0 {
                    shared.logits.set(number, logit);
                }
            } else {
                let unit = rank * units + number - actions;
                let mut part = 0.0;
                if unit < task.hidden {
                    let sum = row_product(task.value_weights_1, unit, value_inputs, shared.planes, 0)
                        + load(task.value_bias_1, unit as usize);
                    part = relu(sum) * load(task.value_weights_2, unit as usize);
                }
                if lane == 0 {
                    shared.hidden.set(number - actions, part);
                }
            }
        }
        number += THREADS / 32;
    }
}

/// Sends what the block has for the softmax and the value to all blocks, by a warp. `base` is the first element of the position's masks.
///
/// # Safety
/// `task` is a launch's, `base` that of one of its positions; every block has ended the round before.
#[device_inline]
unsafe fn send_message(task: SingleTask, shared: SharedLayout, rank: u32, base: usize) {
    let lane = thread::lane();
    let (actions, units) = (task.actions.div_ceil(BLOCKS), task.hidden.div_ceil(BLOCKS));
    let legal = |number: u32| {
        let action = rank * actions + number;
        // SAFETY: a launch's task has a mask for each of `actions` of the position.
        number < actions && action < task.actions && unsafe { load(task.masks, base + action as usize) } != 0
    };
    let mut most = f32::NEG_INFINITY;
    let mut number = lane;
    while number < actions {
        let logit = shared.logits.get(number);
        if legal(number) && (logit > most || logit.is_nan()) {
            most = logit;
        }
        number += 32;
    }
    let most = warp::reduce(most, |a: f32, b: f32| if a >= b { a } else { b });
    let (mut sum, mut value) = (0.0, 0.0);
    let mut number = lane;
    while number < actions {
        if legal(number) {
            sum += exp(shared.logits.get(number) - most);
        }
        number += 32;
    }
    let mut number = lane;
    while number < units {
        value += shared.hidden.get(number);
        number += 32;
    }
    let (sum, value) = (warp::reduce_sum(sum), warp::reduce_sum(value));
    if lane < BLOCKS {
        let message = Vec4([most.to_bits(), sum.to_bits(), value.to_bits(), 0]);
        // SAFETY: `lane` and `rank` are ranks of the cluster, so there is a message of each; every block has ended the round before, as is asked for.
        unsafe { shared.message_box.send_vec4(shared.messages, lane, rank, message) };
    }
}

/// Writes the block's logits and probabilities, when all messages have arrived.
///
/// # Safety
/// As [`send_message`].
#[device_inline]
unsafe fn write_policy(task: SingleTask, shared: SharedLayout, rank: u32, base: usize) {
    let me = thread::thread_idx_x();
    let actions = task.actions.div_ceil(BLOCKS);
    if me < actions && rank * actions + me < task.actions {
        let mut most = f32::NEG_INFINITY;
        let mut block = 0;
        while block < BLOCKS {
            let theirs = f32::from_bits(shared.messages.get(block).0[0]);
            if theirs > most || theirs.is_nan() {
                most = theirs;
            }
            block += 1;
        }
        let mut sum = 0.0;
        let mut block = 0;
        while block < BLOCKS {
            let message = shared.messages.get(block).0;
            // A block without a legal action has no largest logit.
            if f32::from_bits(message[1]) != 0.0 {
                sum += f32::from_bits(message[1]) * exp(f32::from_bits(message[0]) - most);
            }
            block += 1;
        }
        let action = rank * actions + me;
        let logit = shared.logits.get(me);
        // SAFETY: a launch's task has a mask, a logit and a probability for each of `actions` of the position; no other thread of the cluster has this action.
        unsafe {
            let legal = load(task.masks, base + action as usize) != 0;
            store(task.logits, base + action as usize, logit);
            store(task.policies, base + action as usize, if legal { exp(logit - most) / sum } else { 0.0 });
        }
    }
}

/// Writes the value, when all messages have arrived.
///
/// # Safety
/// `task` is a launch's, `position` one of its `n`, which no other thread writes.
#[device_inline]
unsafe fn write_value(task: SingleTask, messages: Shared<Vec4>, position: u32) {
    // SAFETY: a launch's task has one bias, and a value for each of `n` positions.
    unsafe {
        let mut value = load(task.value_bias_2, 0);
        let mut block = 0;
        while block < BLOCKS {
            value += f32::from_bits(messages.get(block).0[2]);
            block += 1;
        }
        store(task.values, position as usize, libm::tanhf(value));
    }
}

/// A row of a matrix times planes, by a warp.
#[device_inline]
unsafe fn row_product(weights: *const f32, row: u32, inputs: u32, planes: Shared<f32>, from: u32) -> f32 {
    let mut sum = 0.0;
    let mut input = thread::lane();
    while input < inputs {
        // SAFETY: the matrix has the row, `inputs` values long, as the caller says.
        sum = fma(unsafe { load(weights, (row * inputs + input) as usize) }, planes.get(from + input), sum);
        input += 32;
    }
    warp::reduce_sum(sum)
}
