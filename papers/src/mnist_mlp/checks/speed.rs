//! What the published times mean in operations and bytes a second.

use crate::mnist_mlp::published::{self, BATCH, Row, SIZES, TRAIN_SAMPLES, main_run, makers, memory, work};

use super::number::{Number, Range, decimals};

/// Floating-point operations of the products of a step: a product of `b` rows, `n` inputs and `m` outputs costs `2 b n m`; every layer has one forward and one for the gradient of its
/// weights, all but the first one for the gradient of their inputs.
pub fn step_flop(sizes: &[u32], batch: u32) -> f64 {
    let product = |pair: &[u32]| 2.0 * f64::from(batch) * f64::from(pair[0]) * f64::from(pair[1]);
    sizes.windows(2).enumerate().map(|(layer, pair)| if layer == 0 { 2.0 } else { 3.0 } * product(pair)).sum()
}

/// Operations of the main experiment: all samples, all epochs.
pub fn training_flop() -> f64 {
    step_flop(&SIZES, BATCH) / f64::from(BATCH) * f64::from(TRAIN_SAMPLES) * f64::from(main_run::EPOCHS)
}

/// Operations a second of the published GPU program, and of its CPU program.
pub fn flops() -> (f64, f64) {
    (training_flop() / (main_run::GPU_MS / 1e3), training_flop() / (main_run::CPU_MS / 1e3))
}

/// Seconds of a step of the published GPU program.
pub fn step_s() -> f64 {
    let steps = TRAIN_SAMPLES.div_ceil(BATCH) * main_run::EPOCHS;
    main_run::GPU_MS / 1e3 / f64::from(steps)
}

/// Seconds that the transfers of a step take at the full rate of the T4's bus, latency left out: the least that they can.
pub fn transfer_s() -> f64 {
    let input = 4.0 * f64::from(BATCH) * f64::from(SIZES[0]);
    (input + memory::LABELS + memory::LOSS) / makers::T4_BUS
}

/// Values that the threads of a product of `m` rows, `n` columns and depth `k` load from global memory with tiles of `side`; 1 for none.
pub fn loads(m: u32, n: u32, k: u32, side: u32) -> f64 {
    let [m, n, k, side] = [m, n, k, side.max(1)].map(u64::from);
    (m * k * n.div_ceil(side) + k * n * m.div_ceil(side)) as f64
}

/// Times that the T4's shared memory delivers more bytes than its global memory: 128 bytes a clock of every multiprocessor, at the clock that its stated operations mean (an operation is half of a
/// multiply-add of a core).
pub fn shared_gain() -> f64 {
    let clock = makers::T4_FLOPS / (2.0 * makers::T4_CORES);
    let multiprocessors = makers::T4_CORES / makers::TURING_CORES;
    makers::SHARED_BYTES * multiprocessors * clock / makers::T4_BANDWIDTH
}

/// The exponent with which the CPU's time grows with the hidden units, from the first row of experiment 3 to the last.
pub fn cpu_exponent() -> f64 {
    let [first, .., last] = published::HIDDEN;
    (last.cpu_s / first.cpu_s).ln() / (last.value / first.value).ln()
}

/// The exponent with which the printed speed-ups grow with the hidden units from one row of experiment 3 to another.
pub fn width_exponent(from: &Row, to: &Row) -> f64 {
    (to.speed_up / from.speed_up).ln() / (to.value / from.value).ln()
}

/// Of sections 2.3, 2.4, 2.5, 2.7, 3.3 and 3.5.
pub(super) fn numbers() -> Vec<Number> {
    let (gpu, cpu) = flops();
    let of = |location, what: &str, unit, published: f64, stands_for, computed: f64| Number {
        location,
        what: what.to_string(),
        published,
        decimals: decimals(published),
        unit,
        stands_for,
        computed: Range::exact(computed),
        from_terms: None,
    };
    let between = |(low, high): (f64, f64), scale: f64| Range { low: low / scale, high: high / scale };
    let step_ms = 1e3 * work::STEP / work::A100_FLOPS;
    let (printed_ms, a100) = (1e3 * work::A100_STEP_S, work::A100_FLOPS / 1e12);
    let (_, realistic) = work::REALISTIC_FLOPS;
    let (least_x, most_x) = main_run::EXPECTED;
    let (_, bandwidth) = memory::BANDWIDTH;
    let (transfer_us, share) = (1e6 * memory::TRANSFER_S, 100.0 * memory::TRANSFER_SHARE);
    let (threads, (coalesced, _)) = (work::CONCURRENT_THREADS, memory::COALESCED_GAIN);
    let power = published::HIDDEN_CPU_POWER;
    // A float that is loaded alone takes a transaction of a sector.
    let coalesced_most = makers::SECTOR_BYTES / 4.0;
    let resident = makers::T4_CORES / makers::TURING_CORES * makers::T4_THREADS;
    vec![
        of("2.3", "26 MFLOP at 312 TFLOPS", "ms", printed_ms, Range::printed(printed_ms, 0.001), step_ms),
        of("2.3", "A100, FP32", "TFLOPS", a100, Range::exact(a100), makers::A100_FP32 / 1e12),
        of(
            "2.3",
            "realistic GFLOPS, against 2.25 s",
            "GFLOPS",
            realistic / 1e9,
            between(work::REALISTIC_FLOPS, 1e9),
            gpu / 1e9,
        ),
        of(
            "2.3",
            "speed-up of 5 GFLOPS over the CPU's",
            "x",
            least_x,
            between(main_run::EXPECTED, 1.0),
            realistic / cpu,
        ),
        of("2.5", "speed-up, within the expected", "x", most_x, between(main_run::EXPECTED, 1.0), main_run::SPEED_UP),
        of(
            "2.4",
            "memory bandwidth, T4",
            "GB/s",
            bandwidth / 1e9,
            between(memory::BANDWIDTH, 1e9),
            makers::T4_BANDWIDTH / 1e9,
        ),
        of(
            "2.4",
            "transfers of a batch, at least",
            "µs",
            transfer_us,
            Range::printed(transfer_us, 1.0),
            1e6 * transfer_s(),
        ),
        of(
            "3.5",
            "transfers in the GPU's time, at least",
            "%",
            share,
            Range::printed(share, 0.1),
            100.0 * transfer_s() / step_s(),
        ),
        of(
            "2.7, exp. 3",
            "exponent of the CPU's time in the hidden units",
            "",
            power,
            Range::exact(power),
            cpu_exponent(),
        ),
        of("3.3", "threads at once, T4", "", threads, Range { low: threads, high: f64::INFINITY }, resident),
        of(
            "3.3",
            "gain of coalesced over scattered floats, at most",
            "x",
            coalesced,
            between(memory::COALESCED_GAIN, 1.0),
            coalesced_most,
        ),
    ]
}
