//! Numbers that follow from others.

use crate::mnist_mlp::published::{self, BATCH, SIZES, main_run, memory, work};

use super::number::{Number, Range, number};
use super::speed;

/// All of them.
pub fn numbers() -> Vec<Number> {
    [speed_ups(), times(), operations(), threads(), bytes(), speed::numbers()].concat()
}

/// Every printed speed-up, from the times beside it.
fn speed_ups() -> Vec<Number> {
    let of_table = |location: &'static str, name: &'static str, rows: &[published::Row]| -> Vec<Number> {
        let of_row = |row: &published::Row| {
            let what = format!("speed-up, {name} {}", row.value);
            number(location, what, (row.speed_up, 0.1, "x"), Range::quotient(row.cpu_s, row.gpu_s, 0.01))
        };
        rows.iter().map(of_row).collect()
    };
    [
        of_table("2.6", "batch", &published::BATCHES),
        of_table("2.7, exp. 1", "threads", &published::THREADS_1D),
        of_table("2.7, exp. 2", "side", &published::THREADS_2D),
        of_table("2.7, exp. 3", "hidden", &published::HIDDEN),
        of_table("2.7, exp. 4", "rate", &published::RATES),
    ]
    .concat()
}

/// Times and accuracies of the main experiment, and factors between rows.
fn times() -> Vec<Number> {
    use main_run::{CPU_ACCURACY, CPU_EPOCH_S, CPU_MS, GAP, GPU_ACCURACY, GPU_EPOCH_S, GPU_MS, SPEED_UP};
    let hidden = published::HIDDEN.map(|row| row.gpu_s);
    let side = published::THREADS_2D.map(|row| row.gpu_s);
    let threads = published::THREADS_1D.map(|row| row.gpu_s);
    let (most, least) = (threads[1], threads[0]);
    let mean = threads.iter().sum::<f64>() / 3.0;
    let half_range = |range: f64| 100.0 * range / 2.0 / mean;
    let exact = |value: f64| Range::exact(value);
    vec![
        number("2.5", "an epoch on the CPU", (CPU_EPOCH_S, 0.01, "s"), exact(CPU_MS / 1e4)),
        number("2.5", "an epoch on the GPU", (GPU_EPOCH_S, 0.001, "s"), exact(GPU_MS / 1e4)),
        number("2.5", "speed-up, from the rounded seconds", (SPEED_UP, 0.1, "x"), Range::quotient(298.62, 2.25, 0.01)),
        number("2.5", "speed-up, from the milliseconds", (SPEED_UP, 0.1, "x"), exact(CPU_MS / GPU_MS)),
        number("2.5", "gap of the accuracies", (GAP, 0.1, "points"), exact(CPU_ACCURACY - GPU_ACCURACY)),
        number(
            "2.7, exp. 3",
            "GPU time, 256 against 128",
            (1.16, 0.01, "x"),
            Range::quotient(hidden[1], hidden[0], 0.01),
        ),
        number(
            "2.7, exp. 3",
            "GPU time, 512 against 128",
            (1.63, 0.01, "x"),
            Range::quotient(hidden[2], hidden[0], 0.01),
        ),
        number("2.7, exp. 3", "FLOP, 256 against 128", (4.0, 0.0, "x"), exact(flop_of(256) / flop_of(128))),
        number("2.7, exp. 3", "FLOP, 512 against 128", (16.0, 0.0, "x"), exact(flop_of(512) / flop_of(128))),
        number(
            "2.7, exp. 3",
            "minutes of the CPU at 1024",
            (20.0, 1.0, "min"),
            exact(published::HIDDEN[3].cpu_s / 60.0),
        ),
        number("2.8", "16 x 16 against 32 x 32, rate", (1.21, 0.01, "x"), Range::quotient(side[2], side[1], 0.01)),
        number(
            "2.8",
            "1D threads, half the range of the GPU times",
            (2.3, 0.1, "%"),
            Range { low: half_range(most - least - 0.01), high: half_range(most - least + 0.01) },
        ),
    ]
}

/// Floating-point operations of the products of a step of batch 64 with `hidden` units: forward 2, backward 2 for the first layer and 4 for the second, a product each.
fn flop_of(hidden: u32) -> f64 {
    speed::step_flop(&[SIZES[0], hidden, SIZES[2]], BATCH)
}

/// The table of section 2.3.
fn operations() -> Vec<Number> {
    let [inputs, hidden, classes] = SIZES.map(f64::from);
    let batch = f64::from(BATCH);
    let location = "2.3";
    let exact = |value: f64| Range::exact(value);
    let (layer_1, layer_2) = (2.0 * batch * inputs * hidden, 2.0 * batch * hidden * classes);
    vec![
        number(location, "FLOP, forward layer 1", (work::FORWARD_1, 0.1e6, ""), exact(layer_1)),
        number(location, "FLOP, ReLU", (work::RELU, 0.1e3, ""), exact(batch * hidden)),
        number(location, "FLOP, forward layer 2", (work::FORWARD_2, 1e3, ""), exact(layer_2)),
        number(location, "FLOP, softmax at two a value", (work::SOFTMAX, 0.1e3, ""), exact(2.0 * batch * classes)),
        number(location, "FLOP, loss at one a sample", (work::LOSS, 0.0, ""), exact(batch)),
        number(location, "FLOP, backward layer 2, W2 alone", (work::BACKWARD_2, 1e3, ""), exact(layer_2)),
        number(location, "FLOP, backward layer 2, W2 and hidden", (work::BACKWARD_2, 1e3, ""), exact(2.0 * layer_2)),
        number(location, "FLOP, forward and backward", (work::STEP, 1e6, ""), exact(speed::step_flop(&SIZES, BATCH))),
    ]
}

/// Threads and blocks.
fn threads() -> Vec<Number> {
    let [inputs, hidden, classes] = SIZES.map(f64::from);
    let batch = f64::from(BATCH);
    let exact = |value: f64| Range::exact(value);
    vec![
        number("1.2", "threads, forward layer 1", (work::LAYER_1_THREADS, 0.0, ""), exact(batch * hidden)),
        number(
            "1.2",
            "threads, update of W1 and W2",
            (work::UPDATE_THREADS, 0.0, ""),
            exact((inputs + classes) * hidden),
        ),
        number("2.3", "threads, forward layer 2", (work::LAYER_2_THREADS, 0.0, ""), exact(batch * classes)),
        number("2.3", "threads, backward layer 2, W2", (work::BACKWARD_THREADS, 100.0, ""), exact(hidden * classes)),
        number("2.3", "threads, at most", (work::BACKWARD_THREADS, 100.0, ""), exact(inputs * hidden)),
        number("2.3", "threads, softmax as kernel 3 has it", (work::SOFTMAX_THREADS, 0.0, ""), exact(batch * 256.0)),
        number("1.3, kernel 4", "gradient elements", (640.0, 0.0, ""), exact(batch * classes)),
        number("1.3, kernel 7", "blocks, W1", (784.0, 1.0, ""), exact((inputs * hidden / 256.0).ceil())),
        number("1.3, kernel 7", "blocks, W2", (10.0, 1.0, ""), exact((hidden * classes / 256.0).ceil())),
    ]
}

/// Sections 1.3, 1.4 and 2.4. A kilobyte may be 1,000 or 1,024 bytes.
fn bytes() -> Vec<Number> {
    let [inputs, hidden, classes] = SIZES.map(f64::from);
    let batch = f64::from(BATCH);
    let kilobytes = |location, what, published: f64, digit: f64, bytes: f64| {
        number(location, what, (published / 1e3, digit, "KB"), Range { low: bytes / 1024.0, high: bytes / 1e3 })
    };
    let (w1, w2, biases) = (4.0 * inputs * hidden, 4.0 * hidden * classes, 4.0 * (hidden + classes));
    let (input, values, output) = (4.0 * batch * inputs, 4.0 * batch * hidden, 4.0 * batch * classes);
    let (weights, forward) = (w1 + w2 + biases, input + values + output);
    vec![
        kilobytes("1.3, kernel 2", "a tile of 16 x 16", memory::TILE, 1.0, 4.0 * 256.0),
        kilobytes("1.4", "input of a batch", memory::INPUT, 1.0, input),
        number("1.4", "labels of a batch", (memory::LABELS, 0.0, "B"), Range::exact(4.0 * batch)),
        number("1.4", "loss", (memory::LOSS, 0.0, "B"), Range::exact(4.0)),
        kilobytes("2.4", "W1", memory::W1, 1.0, w1),
        kilobytes("2.4", "W2", memory::W2, 1.0, w2),
        kilobytes("2.4", "biases", memory::BIASES, 0.1, biases),
        kilobytes("2.4", "weights and biases", memory::WEIGHTS, 1.0, weights),
        kilobytes("2.4", "hidden values", memory::HIDDEN, 1.0, values),
        kilobytes("2.4", "output", memory::OUTPUT, 0.1, output),
        kilobytes("2.4", "input, hidden values, output", memory::FORWARD, 3.0, forward),
        kilobytes("2.4", "total VRAM", memory::TOTAL, 50.0, 2.0 * weights + forward),
        kilobytes("2.4", "read in a batch, twice the two sums", memory::READ, 1.0, 2.0 * (weights + forward)),
        kilobytes("2.4", "written in a batch, the two sums", memory::WRITTEN, 1.0, weights + forward),
    ]
}
