//! Numbers that follow from others.

use crate::experiment::statistics::{least, mean, most};
use crate::mnist_mlp::published::{self, BATCH, BLOCK_1D, IMAGE_SIDE, Quoted, SIDE, SIZES, main_run, memory, work};

use super::number::{Number, Range, number};
use super::speed;

/// All of them.
pub fn numbers() -> Vec<Number> {
    [speed_ups(), times(), quoted(), operations(), threads(), bytes(), speed::numbers()].concat()
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
    use main_run::{CPU_ACCURACY, CPU_EPOCH_S, CPU_MS, CPU_S, GAP, GPU_ACCURACY, GPU_EPOCH_S, GPU_MS, GPU_S, SPEED_UP};
    let hidden = published::HIDDEN.map(|row| row.gpu_s);
    let side = published::THREADS_2D.map(|row| row.gpu_s);
    let threads = published::THREADS_1D.map(|row| row.gpu_s);
    let range = most(&threads) - least(&threads);
    let half_range = |range: f64| 100.0 * range / 2.0 / mean(&threads);
    let exact = |value: f64| Range::exact(value);
    let [flop_256, flop_512] = published::HIDDEN_FLOP;
    let [time_256, time_512] = published::HIDDEN_GPU_TIMES;
    let side_gain = Range::quotient(side[2], side[1], 0.01);
    // Were the work to grow as the CPU's time is said to.
    let said = |times: f64| times.powf(published::HIDDEN_CPU_POWER);
    vec![
        number("2.5", "seconds on the CPU", (CPU_S, 0.01, "s"), exact(CPU_MS / 1e3)),
        number("2.5", "seconds on the GPU", (GPU_S, 0.01, "s"), exact(GPU_MS / 1e3)),
        number("2.5", "an epoch on the CPU", (CPU_EPOCH_S, 0.01, "s"), exact(CPU_MS / 1e4)),
        number("2.5", "an epoch on the GPU", (GPU_EPOCH_S, 0.001, "s"), exact(GPU_MS / 1e4)),
        number("2.5", "speed-up, from the rounded seconds", (SPEED_UP, 0.1, "x"), Range::quotient(CPU_S, GPU_S, 0.01)),
        number("2.5", "speed-up, from the milliseconds", (SPEED_UP, 0.1, "x"), exact(CPU_MS / GPU_MS)),
        number("2.5", "gap of the accuracies", (GAP, 0.1, "points"), exact(CPU_ACCURACY - GPU_ACCURACY)),
        number(
            "2.7, exp. 3",
            "GPU time, 256 against 128",
            (time_256, 0.01, "x"),
            Range::quotient(hidden[1], hidden[0], 0.01),
        ),
        number(
            "2.7, exp. 3",
            "GPU time, 512 against 128",
            (time_512, 0.01, "x"),
            Range::quotient(hidden[2], hidden[0], 0.01),
        ),
        number("2.7, exp. 3", "FLOP, 256 against 128", (flop_256, 0.0, "x"), exact(flop_of(256) / flop_of(128)))
            .terms(said(2.0)),
        number("2.7, exp. 3", "FLOP, 512 against 128", (flop_512, 0.0, "x"), exact(flop_of(512) / flop_of(128)))
            .terms(said(4.0)),
        number(
            "2.7, exp. 3",
            "minutes of the CPU at 1024",
            (published::HIDDEN_CPU_MIN, 1.0, "min"),
            exact(published::HIDDEN[3].cpu_s / 60.0),
        ),
        number(
            "2.8",
            "16 x 16 against 32 x 32, gain of the rate",
            (published::SIDE_GAIN, 1.0, "%"),
            Range { low: 100.0 * (side_gain.low - 1.0), high: 100.0 * (side_gain.high - 1.0) },
        ),
        number("2.7, exp. 1", "range of the GPU times", (published::THREADS_1D_RANGE_S, 0.01, "s"), exact(range)),
        number(
            "2.8",
            "1D threads, half the range of the GPU times",
            (published::THREADS_1D_VARIANCE, 0.1, "%"),
            Range { low: half_range(range - 0.01), high: half_range(range + 0.01) },
        ),
    ]
}

/// What the text quotes of the tables.
fn quoted() -> Vec<Number> {
    let tables = [&published::THREADS_1D[..], &published::THREADS_2D, &published::HIDDEN];
    let evaluate = published::EVALUATE.map(|row| row.accuracy).to_vec();
    let accuracies =
        tables.map(|rows| rows.iter().map(|row| row.accuracy).collect::<Vec<f64>>()).into_iter().chain([evaluate]);
    let of_range = |location, what: &str, (low, high): (f64, f64), digit: f64, unit, values: &[f64]| {
        [
            number(location, format!("least of {what}"), (low, digit, unit), Range::exact(least(values))),
            number(location, format!("largest of {what}"), (high, digit, unit), Range::exact(most(values))),
        ]
    };
    let mut numbers: Vec<Number> = published::ACCURACIES
        .into_iter()
        .zip(accuracies)
        .flat_map(|(quotes, values)| {
            quotes.map(|Quoted { location, what, range, digit }| {
                of_range(location, &format!("the accuracies, {what}"), range, digit, "%", &values)
            })
        })
        .flatten()
        .collect();
    let rates = published::RATES.map(|row| row.accuracy);
    numbers.push(number(
        "2.8",
        "the best accuracy of the rates",
        (published::BEST_RATE_ACCURACY, 0.1, "%"),
        Range::exact(most(&rates)),
    ));
    let batches = published::BATCHES.map(|row| row.cpu_s);
    numbers.extend(of_range("2.6", "the CPU's times by batch", published::BATCH_CPU_S, 1.0, "s", &batches));
    let trainings = published::EVALUATE.map(|row| row.train_s);
    let micros = published::EVALUATE.map(|row| row.micros);
    let (train_s, of_sample) = (published::EVALUATE_TRAIN_S, published::EVALUATE_MICROS);
    numbers.extend(of_range("2.7, exp. 5", "the training times", train_s, 0.01, "s", &trainings));
    numbers.extend(of_range("2.8", "the evaluation times a sample", of_sample, 0.1, "µs", &micros));
    let [of_128, _, of_512, of_1024] = published::HIDDEN;
    let rows = [
        ("2.6", "batch 256", published::BATCHES[3]),
        ("2.7, exp. 3", "128 hidden units", of_128),
        ("2.8", "512 hidden units", of_512),
        ("2.7, exp. 3", "1024 hidden units", of_1024),
    ];
    numbers.extend(rows.into_iter().zip(published::QUOTED_SPEED_UPS).map(|((location, what, row), quoted)| {
        let computed = Range::quotient(row.cpu_s, row.gpu_s, 0.01);
        number(location, format!("speed-up in the text, {what}"), (quoted, 1.0, "x"), computed)
    }));
    numbers
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
    let rows = work::FORWARD_1 + work::RELU + work::FORWARD_2 + work::SOFTMAX + work::LOSS + work::BACKWARD_2;
    vec![
        number(location, "FLOP, forward layer 1", (work::FORWARD_1, 0.1e6, ""), exact(layer_1)),
        number(location, "FLOP, ReLU", (work::RELU, 0.1e3, ""), exact(batch * hidden)),
        number(location, "FLOP, forward layer 2", (work::FORWARD_2, 1e3, ""), exact(layer_2)),
        number(location, "FLOP, softmax at two a value", (work::SOFTMAX, 0.1e3, ""), exact(2.0 * batch * classes)),
        number(location, "FLOP, loss at one a sample", (work::LOSS, 0.0, ""), exact(batch)),
        number(location, "FLOP, backward layer 2, W2 alone", (work::BACKWARD_2, 1e3, ""), exact(layer_2)),
        number(location, "FLOP, forward and backward", (work::STEP, 1e6, ""), exact(speed::step_flop(&SIZES, BATCH)))
            .terms(rows),
    ]
}

/// Threads and blocks.
fn threads() -> Vec<Number> {
    let [inputs, hidden, classes] = SIZES.map(f64::from);
    let batch = f64::from(BATCH);
    let exact = |value: f64| Range::exact(value);
    let block = f64::from(BLOCK_1D);
    let (columns_1, columns_2) = work::COLUMN_BLOCKS;
    let (blocks_1, blocks_2) = work::UPDATE_BLOCKS;
    let parameters = 2.0 * (SIZES.len() - 1) as f64;
    let mut numbers = vec![
        number("1.1", "pixels of an image", (inputs, 0.0, ""), exact(f64::from(IMAGE_SIDE.pow(2)))),
        number("1.2", "threads, forward layer 1", (work::LAYER_1_THREADS, 0.0, ""), exact(batch * hidden)),
        number(
            "1.2",
            "threads, update of W1 and W2",
            (work::UPDATE_THREADS, 0.0, ""),
            exact((inputs + classes) * hidden),
        ),
        number("2.3", "threads, forward layer 2", (work::LAYER_2_THREADS, 0.0, ""), exact(batch * classes)),
        number("2.3", "threads, backward layer 2, W2", (work::BACKWARD_THREADS, 100.0, ""), exact(hidden * classes)),
        number("2.3", "threads, at most", (work::BACKWARD_THREADS, 100.0, ""), exact(inputs * hidden)).terms(most(&[
            work::LAYER_1_THREADS,
            work::LAYER_2_THREADS,
            work::SOFTMAX_THREADS,
            work::BACKWARD_THREADS,
        ])),
        number("1.2", "blocks, softmax as kernel 3 has it", (work::SOFTMAX_BLOCKS, 0.0, ""), exact(batch)),
        number("2.3", "threads, softmax as kernel 3 has it", (work::SOFTMAX_THREADS, 0.0, ""), exact(batch * block)),
        number("1.3, kernel 4", "gradient elements", (work::GRADIENT_ELEMENTS, 0.0, ""), exact(batch * classes)),
        number("1.3, kernel 6", "blocks, b1", (columns_1, 0.0, ""), exact(hidden)),
        number("1.3, kernel 6", "blocks, b2", (columns_2, 0.0, ""), exact(classes)),
        number("1.3, kernel 7", "blocks, W1", (blocks_1, 1.0, ""), exact((inputs * hidden / block).ceil())),
        number("1.3, kernel 7", "blocks, W2", (blocks_2, 1.0, ""), exact((hidden * classes / block).ceil())),
        // One of each weight and bias, and those of the hidden values.
        number("2.1", "gradient computations", (work::GRADIENTS, 0.0, ""), exact(parameters + 1.0)),
    ];
    numbers.extend(published::BLOCKS_2D.map(|(side, threads)| {
        let what = format!("threads of a block of {side} x {side}");
        number("2.7, exp. 2", what, (f64::from(threads), 0.0, ""), exact(f64::from(side.pow(2))))
    }));
    numbers
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
    let tile = 4.0 * f64::from(SIDE.pow(2));
    // What the paper prints for the terms of its sums.
    let parts = memory::W1 + memory::W2 + memory::BIASES;
    let (sum, both) = (2.0 * memory::WEIGHTS + memory::FORWARD, memory::WEIGHTS + memory::FORWARD);
    vec![
        kilobytes("1.3, kernel 2", "a tile of 16 x 16", memory::TILE, 1.0, tile),
        kilobytes("3.3", "shared memory of a block, two tiles of 16 x 16", memory::SHARED_OF_BLOCK, 1.0, 2.0 * tile),
        number(
            "3.3",
            "shared memory of a block, two tiles as in 1.3",
            (memory::SHARED_OF_BLOCK / 1e3, 1.0, "KB"),
            Range::exact(2.0 * memory::TILE / 1e3),
        ),
        kilobytes("1.4", "copies of a batch", memory::COPIED, 1.0, input + 4.0 * batch + 4.0),
        kilobytes("1.4", "input of a batch", memory::INPUT, 1.0, input),
        number("1.4", "labels of a batch", (memory::LABELS, 0.0, "B"), Range::exact(4.0 * batch)),
        number("1.4", "loss", (memory::LOSS, 0.0, "B"), Range::exact(4.0)),
        kilobytes("2.4", "W1", memory::W1, 1.0, w1),
        kilobytes("2.4", "W2", memory::W2, 1.0, w2),
        kilobytes("2.4", "biases", memory::BIASES, 0.1, biases),
        kilobytes("2.4", "weights and biases", memory::WEIGHTS, 1.0, weights).terms(parts / 1e3),
        kilobytes("2.4", "hidden values", memory::HIDDEN, 1.0, values),
        kilobytes("2.4", "output", memory::OUTPUT, 0.1, output),
        kilobytes("2.4", "input, hidden values, output", memory::FORWARD, 3.0, forward),
        kilobytes("2.4", "total VRAM", memory::TOTAL, 50.0, 2.0 * weights + forward).terms(sum / 1e3),
        kilobytes("2.4", "read in a batch, twice the two sums", memory::READ, 1.0, 2.0 * (weights + forward))
            .terms(2.0 * both / 1e3),
        kilobytes("2.4", "written in a batch, the two sums", memory::WRITTEN, 1.0, weights + forward).terms(both / 1e3),
    ]
}
