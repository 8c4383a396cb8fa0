//! Sentences of the paper, and what holds.

use crate::experiment::statistics::{least, most};
use crate::mnist_mlp::published::{self, BATCH, BLOCK_1D, SIDE, SIZES, TRAIN_SAMPLES, main_run, makers, memory};

use super::speed::{self, loads};

/// A claim, and what is set against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Sections.
    pub location: &'static str,
    /// What is claimed, in short.
    pub claim: String,
    /// What follows from the published figures and the makers', computed where it can be; empty where only a measurement can tell.
    pub holds: String,
    /// The item that measures it, where one does.
    pub item: Option<&'static str>,
    /// Which measurements speak of it, where some do.
    pub evidence: Option<Evidence>,
}

impl Claim {
    fn with(self, evidence: Evidence) -> Self {
        Self { evidence: Some(evidence), ..self }
    }
}

/// Trainings that are held against a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Losses on the CPU and by the published kernels.
    Losses,
    /// The loss of the last epochs of the published kernels.
    Plateau,
    /// Single and double precision, atomic additions; gradients averaged and summed.
    Rounding,
    /// Every batch in double precision, and with as many updates as the smallest.
    Batches,
    /// The CPU program at both settings at which it has the accuracy of one class.
    Collapses,
    /// Averaged trainings at the three rates.
    Rates,
    /// The published kernels at the largest rate and at that of the main experiment.
    LargeRate,
    /// Averaged trainings in double precision at the two settings of the collapses.
    Robust,
    /// How much faster the published kernels are than the CPU program, by hidden units.
    Width,
    /// Times of the published kernels by the side of two-dimensional blocks.
    Sides,
    /// Times of plain and tiled products of large squares.
    Squares,
}

/// All of them, in the order of the paper.
pub fn claims() -> Vec<Claim> {
    [design(), work(), results(), experiments(), conclusions()].concat()
}

fn claim(
    location: &'static str,
    claim: impl Into<String>,
    holds: impl Into<String>,
    item: Option<&'static str>,
) -> Claim {
    Claim { location, claim: claim.into(), holds: holds.into(), item, evidence: None }
}

/// As `5 to 8`, both divided by `unit`.
fn to((low, high): (f64, f64), unit: f64) -> String {
    format!("{} to {}", low / unit, high / unit)
}

/// Sections 1.1 to 1.5 and 2.2.
fn design() -> Vec<Claim> {
    let [inputs, hidden, classes] = SIZES;
    let (contending, outputs) = published::work::CONTENTION;
    let tiled = |side: u32| loads(BATCH, hidden, inputs, 1) / loads(BATCH, hidden, inputs, side);
    let small = loads(BATCH, classes, hidden, 1) / loads(BATCH, classes, hidden, 16);
    let cubic = loads(2048, 2048, 2048, 16) / loads(1024, 1024, 1024, 16);
    vec![
        claim(
            "abstract; 2.2",
            "tiled products are a key decision of the program",
            "section 2.2 says that the program uses the plain variant; the tiled kernel is there for later",
            Some("matmul"),
        ),
        claim(
            "1.2",
            "the backward pass multiplies X^T by the gradient of the outputs, B x 10",
            format!(
                "that product is {inputs} x {classes}, which no parameter is; the gradient of W1 is {inputs} x {hidden}, from the hidden gradient, as sections 1.1 and 1.3 have it"
            ),
            Some("work"),
        ),
        claim(
            "1.2; 2.2",
            "bias gradients by a parallel tree reduction",
            "kernel 6 and decision 3 add atomically, and name the tree as future work",
            Some("kernels"),
        ),
        claim(
            "1.2; 1.3; 2.2; 2.3",
            "softmax is a parallel reduction by 256 threads a sample",
            format!(
                "the table of 1.2 has {} block a batch, kernel 3 a block a sample; decision 4 shows one thread going through the classes, and the table of 2.3 counts {BATCH} threads; with {classes} classes, {} of 256 threads have nothing to do",
                published::work::SOFTMAX_BLOCKS,
                256 - classes
            ),
            Some("kernels"),
        ),
        claim(
            "1.3, kernel 2; 2.2",
            format!(
                "tiles of {SIDE} cut global traffic {} times, from O(N^3) to O(N^2)",
                to(memory::TILED_GAIN, 1.0)
            ),
            format!(
                "by its own reuse of {} it is {:.1} times at layer 1 and {small:.1} at layer 2; twice the side is {cubic:.0} times the loads, so it stays O(N^3)",
                memory::TILE_REUSE,
                tiled(SIDE)
            ),
            Some("matmul"),
        ),
        claim(
            "2.2, decision 2",
            format!("tiles are expected to be {} times as fast for large matrices", to(memory::TILED_GAIN, 1.0)),
            "",
            Some("matmul"),
        )
        .with(Evidence::Squares),
        claim(
            "1.3, kernel 2",
            format!("shared memory is ~{} times as fast as global memory", memory::SHARED_FASTER),
            format!(
                "in bytes a second {:.0} times on a T4: 128 bytes a clock of each of its {} multiprocessors, against {:.0} GB/s",
                speed::shared_gain(),
                published::MULTIPROCESSORS,
                makers::T4_BANDWIDTH / 1e9
            ),
            None,
        ),
        claim(
            "2.2, decision 3",
            format!("all {contending} threads that write to {outputs} outputs contend"),
            format!(
                "in kernel 6 the {BLOCK_1D} threads of a block write to one output, each of {classes} blocks to its own; at batch {BATCH} {BATCH} of them have a row"
            ),
            Some("kernels"),
        ),
        claim(
            "1.3, kernel 4",
            "grid of B * 10 / 256 blocks",
            format!(
                "{:.1} blocks at batch {BATCH}: rounded down, 128 of 640 elements have no thread",
                f64::from(BATCH * classes) / 256.0
            ),
            Some("rates"),
        ),
        claim(
            "1.3, kernels 1, 5 and 7",
            "grids of (N/16, M/16) and of num_weights/256 blocks",
            format!(
                "rounded down, the {classes} columns of layer 2 are {} blocks along N: neither its forward product nor the gradient of W2 is computed; the {classes} values of b2 are {} blocks: they are not updated",
                classes / SIDE,
                classes / BLOCK_1D
            ),
            Some("rates"),
        ),
        claim(
            "1.3, kernel 6",
            "each thread adds up several rows",
            format!(
                "no batch of the paper has more than 256 rows: no thread has two, and at batch {BATCH} {} of 256 have none",
                256 - BATCH
            ),
            Some("kernels"),
        ),
        claim(
            "1.4",
            "the loss is computed on the GPU for numerical stability",
            "the largest logit is subtracted before the exponential (2.2, decision 4), which keeps the exponentials finite on either side",
            Some("main"),
        )
        .with(Evidence::Losses),
        claim(
            "1.4; 2.4",
            "hidden gradient buffer d_dhidden, batch x 256",
            format!("it is missing from the table of 2.4: {} bytes", 4 * BATCH * hidden),
            Some("memory"),
        ),
        claim(
            "1.4; 2.2, decision 5",
            "buffers are allocated once, in the forward pass",
            format!(
                "section 1.4 reallocates them when a larger batch is asked for, as an evaluation of {} samples at once after trainings at {}",
                published::RESIZED.1,
                published::RESIZED.0
            ),
            Some("memory"),
        ),
    ]
}

/// Sections 2.3 and 2.4.
fn work() -> Vec<Claim> {
    let (gpu, cpu) = speed::flops();
    let realistic = to(published::work::REALISTIC_FLOPS, 1e9);
    vec![
        claim(
            "2.3",
            format!("a step is {} MFLOP forward and backward", published::work::STEP / 1e6),
            format!(
                "{:.1} MFLOP: the gradient of W1, as large as the forward pass, and that of the hidden values are left out",
                speed::step_flop(&SIZES, BATCH) / 1e6
            ),
            Some("work"),
        ),
        claim(
            "2.3",
            format!("an A100 has {} TFLOPS in FP32", published::work::A100_FLOPS / 1e12),
            format!(
                "its data sheet has {} in FP32; {} is half precision on tensor cores, or TF32 ({:.0}) with structured sparsity",
                makers::A100_FP32 / 1e12,
                makers::A100_FP16 / 1e12,
                makers::A100_TF32 / 1e12
            ),
            None,
        ),
        claim(
            "2.3",
            format!("{realistic} GFLOPS are realistic on the GPU"),
            format!(
                "{} s for {} epochs are {:.0} GFLOP/s, {:.1} % of a T4's {:.1} TFLOPS; its CPU program has {:.2} GFLOP/s, so that {realistic} would be a speed-up of {:.1} to {:.1}",
                main_run::GPU_S,
                main_run::EPOCHS,
                gpu / 1e9,
                100.0 * gpu / makers::T4_FLOPS,
                makers::T4_FLOPS / 1e12,
                cpu / 1e9,
                published::work::REALISTIC_FLOPS.0 / cpu,
                published::work::REALISTIC_FLOPS.1 / cpu
            ),
            Some("main"),
        ),
        claim(
            "2.4",
            format!("GPU memory has {} TB/s", to(memory::BANDWIDTH, 1e12)),
            format!("the T4 of its measurements has {:.0} GB/s", makers::T4_BANDWIDTH / 1e9),
            None,
        ),
    ]
}

/// Sections 2.5 and 2.6.
fn results() -> Vec<Claim> {
    let (cpu_first, gpu_last) = (main_run::CPU_LOSSES[0].1, main_run::GPU_LOSSES[2].1);
    let [first, .., last] = published::BATCHES;
    vec![
        claim(
            "2.5; 3.5",
            format!(
                "a speed-up of {} is within the expected {}, and surpasses it",
                main_run::SPEED_UP,
                to(main_run::EXPECTED, 1.0)
            ),
            "it cannot be both; it is above",
            Some("main"),
        ),
        claim(
            "2.5; 3.5",
            "the GPU converges faster at first and then reaches a plateau",
            format!(
                "its loss after {} epochs, {gpu_last}, is that of the CPU after one, {cpu_first}",
                main_run::EPOCHS
            ),
            Some("main"),
        )
        .with(Evidence::Plateau),
        claim(
            "2.5; 3.5",
            format!("single against double precision and atomic rounding explain {} points", main_run::GAP),
            "",
            Some("gap"),
        )
        .with(Evidence::Rounding),
        claim(
            "2.6",
            "rounding makes large batches less accurate",
            format!(
                "batch {} has {:.0} times fewer updates an epoch than batch {}, each of the size of one gradient where it is averaged",
                last.value,
                last.value / first.value,
                first.value
            ),
            Some("batch"),
        )
        .with(Evidence::Batches),
        claim(
            "2.6",
            "the CPU computes more with larger batches",
            format!(
                "the products of an epoch do not depend on the batch, and its updates become fewer: {} at batch {}, {} at {}",
                TRAIN_SAMPLES.div_ceil(first.value as u32),
                first.value,
                TRAIN_SAMPLES.div_ceil(last.value as u32),
                last.value
            ),
            Some("batch"),
        ),
        claim(
            "2.6; 2.7",
            "overflow or NaN makes the CPU fail at batch 256 and at rate 0.1",
            format!(
                "{} and {} % are the shares of two classes, 7 and 4, in the test set; with NaN an argmax that begins at class 0 stays there, {:.2} %",
                published::COLLAPSES[0].accuracy,
                published::COLLAPSES[1].accuracy,
                100.0 * f64::from(published::TEST_CLASSES[0]) / f64::from(published::TEST_SAMPLES)
            ),
            Some("collapses"),
        )
        .with(Evidence::Collapses),
    ]
}

/// Sections 2.7 and 2.8.
fn experiments() -> Vec<Claim> {
    let same = same_setting();
    let range = |values: &[f64]| format!("{:.2} to {:.2}", least(values), most(values));
    let steps = |batch: u32| 5.0 * f64::from(TRAIN_SAMPLES.div_ceil(batch));
    let training = 1e6 * speed::step_s() / f64::from(BATCH);
    let [narrow, _, middle, wide] = published::HIDDEN;
    let times = published::EVALUATE.map(|row| format!("{} at {}", row.micros, row.batch));
    let [(large, large_threads), (small, small_threads)] = published::BLOCKS_2D;
    let blocks = |side: u32| BATCH.div_ceil(side) * SIZES[1].div_ceil(side);
    let [of_batch, of_rate] = published::COLLAPSES;
    let ([flop_256, flop_512], [time_256, time_512]) = (published::HIDDEN_FLOP, published::HIDDEN_GPU_TIMES);
    let [slow, _, fast] = published::RATES;
    vec![
        claim(
            "2.6; 2.7",
            "differences within a table of 1D threads are of the threads",
            format!(
                "{} rows of six tables are one training, 256 units, batch 64, rate 0.01, 256 threads, 16 x 16: {} s on the GPU, {} %, and {} s on the CPU in the {} rows that have it",
                same.gpu_s.len(),
                range(&same.gpu_s),
                range(&same.accuracies),
                range(&same.cpu_s),
                same.cpu_s.len()
            ),
            Some("threads1d"),
        ),
        claim(
            "2.7, exp. 1; 2.8",
            "256 threads are the best of 128, 256, 512",
            "in its table they are the slowest of the three and the least accurate",
            Some("threads1d"),
        ),
        claim(
            "2.7, exp. 2",
            "shared memory tiling makes 2D blocks matter",
            "the products in use have no tiles (2.2, decision 2)",
            Some("threads2d"),
        ),
        claim(
            "2.7, exp. 2",
            "blocks of 8 x 8 leave the GPU underutilised, and those of 32 x 32 are slower because they have the most threads that a block may have",
            format!(
                "a T4's multiprocessor holds {} threads in at most {} blocks: {} of {small} x {small} or {} of {large} x {large} fill it; for the {} multiprocessors the forward product of layer 1 has {} blocks of {small} x {small}, and {} of {large} x {large}, too few for each to have one",
                makers::T4_THREADS,
                makers::T4_BLOCKS,
                makers::T4_THREADS / f64::from(small_threads),
                makers::T4_THREADS / f64::from(large_threads),
                published::MULTIPROCESSORS,
                blocks(small),
                blocks(large)
            ),
            Some("threads2d"),
        )
        .with(Evidence::Sides),
        claim(
            "2.7, exp. 3",
            "the CPU's time grows with the square of the hidden units",
            format!("its work is linear in them; its times grow with the power {:.2}", speed::cpu_exponent()),
            Some("hidden"),
        ),
        claim(
            "2.7, exp. 3",
            format!("FLOP grow {flop_256} and {flop_512} times, GPU times {time_256} and {time_512} times"),
            format!(
                "these times are of 256 and 512 units over 128, where FLOP grow 2 and 4 times; 1024 units take {:.2} times as long for 8 times the work",
                published::HIDDEN[3].gpu_s / published::HIDDEN[0].gpu_s
            ),
            Some("hidden"),
        ),
        claim(
            "2.7, exp. 3; 2.8",
            "the speed-up grows superlinearly with the hidden units",
            format!(
                "from {} to {} units, {} times as many, the printed speed-up grows {:.1} times, with the power {:.2}: less than linearly; from {} to {}, {} times as many, it grows {:.2} times, with the power {:.2}: a little more than linearly",
                narrow.value,
                wide.value,
                wide.value / narrow.value,
                wide.speed_up / narrow.speed_up,
                speed::width_exponent(&narrow, &wide),
                narrow.value,
                middle.value,
                middle.value / narrow.value,
                middle.speed_up / narrow.speed_up,
                speed::width_exponent(&narrow, &middle)
            ),
            Some("hidden"),
        )
        .with(Evidence::Width),
        claim(
            "2.7, exp. 4",
            format!("rates {} and {} give {} and {} %", slow.value, fast.value, slow.accuracy, fast.accuracy),
            format!(
                "rate times updates is {:.1} times as large in 5 epochs at batch 256 and 0.01 as at batch 64 and 0.001, and the accuracy is less, {} %",
                0.01 * steps(256) / (0.001 * steps(64)),
                published::BATCHES[3].accuracy
            ),
            Some("rates"),
        )
        .with(Evidence::Rates),
        claim(
            "2.7, exp. 4",
            "at 0.1 gradients exceed FP32 in atomic reductions",
            "",
            Some("rates"),
        )
        .with(Evidence::LargeRate),
        claim(
            "2.7, exp. 5",
            "a larger evaluation batch costs more a sample by launch overhead",
            format!(
                "it has fewer launches: {} batches of 64, {} of 256, {} of 512; and 7.4 µs a sample is twice the {training:.2} µs of a training step, which computes three times as much",
                10_000u32.div_ceil(64),
                10_000u32.div_ceil(256),
                10_000u32.div_ceil(512)
            ),
            Some("evaluate"),
        ),
        claim(
            "2.7, exp. 5; 2.8",
            "256 and more samples at once for throughput, 64 for latency",
            format!("its table has the most samples a second at 64 too: µs a sample are {}", times.join(", ")),
            Some("evaluate"),
        ),
        claim(
            "2.6; 2.7, exp. 4; 2.8",
            "the GPU's FP32 with atomics is more robust than the CPU's FP64 at extreme batches and rates",
            format!(
                "a gradient summed over {} samples at {} is an averaged one at {:.2}, and over {} at {} one at {:.2}; section 3.5 says that FP32 and the rounding of atomic additions cost accuracy",
                of_batch.batch,
                of_batch.rate,
                of_batch.rate * f64::from(of_batch.batch),
                of_rate.batch,
                of_rate.rate,
                of_rate.rate * f64::from(of_rate.batch)
            ),
            Some("collapses"),
        )
        .with(Evidence::Robust),
    ]
}

/// Figures of all rows that are of the base setting.
struct SameSetting {
    /// Seconds on the CPU, where the table has them.
    cpu_s: Vec<f64>,
    gpu_s: Vec<f64>,
    accuracies: Vec<f64>,
}

fn same_setting() -> SameSetting {
    let rows = [
        published::BATCHES[1],
        published::THREADS_1D[1],
        published::THREADS_2D[1],
        published::HIDDEN[1],
        published::RATES[1],
    ];
    // Experiment 5 varies what comes after the training; it has no times of the CPU.
    let evaluated = published::EVALUATE;
    SameSetting {
        cpu_s: rows.map(|row| row.cpu_s).into(),
        gpu_s: rows.map(|row| row.gpu_s).into_iter().chain(evaluated.map(|row| row.train_s)).collect(),
        accuracies: rows.map(|row| row.accuracy).into_iter().chain(evaluated.map(|row| row.accuracy)).collect(),
    }
}

/// Section 3.
fn conclusions() -> Vec<Claim> {
    let copied = 4.0 * f64::from(BATCH * SIZES[0]) + memory::LABELS + memory::LOSS;
    let tile = 4 * SIDE.pow(2);
    vec![
        claim(
            "3.3; 1.3, kernel 2",
            format!("{} KB of shared memory a block", memory::SHARED_OF_BLOCK / 1e3),
            format!(
                "two tiles of {SIDE} x {SIDE} floats are {} bytes; by the {} KB a tile of section 1.3 they would be {} KB",
                2 * tile,
                memory::TILE / 1e3,
                2.0 * memory::TILE / 1e3
            ),
            Some("matmul"),
        ),
        claim(
            "3.3",
            format!("coalesced access improves the effective bandwidth {} times", to(memory::COALESCED_GAIN, 1.0)),
            format!(
                "a float that is loaded alone takes a transaction of {} bytes for its 4: {} times is the most",
                makers::SECTOR_BYTES,
                makers::SECTOR_BYTES / 4.0
            ),
            None,
        ),
        claim(
            "3.3",
            format!("modern GPUs support {} concurrent threads and more", published::work::CONCURRENT_THREADS),
            format!(
                "a T4 holds {:.0}: {} on each of {} multiprocessors",
                makers::T4_CORES / makers::TURING_CORES * makers::T4_THREADS,
                makers::T4_THREADS,
                published::MULTIPROCESSORS
            ),
            None,
        ),
        claim(
            "3.3; 2.5",
            "atomic operations preserve precision",
            "section 2.5 makes their rounding a reason of the gap; both cannot be",
            Some("gap"),
        ),
        claim(
            "3.4",
            format!("{} optimized kernels", published::KERNELS),
            format!(
                "{} are described, one of them unused; {} more must be there",
                published::DESCRIBED.len(),
                published::IMPLIED.len()
            ),
            Some("kernels"),
        ),
        claim(
            "3.5; 2.4",
            format!(
                "transfers are {} % of the GPU's time, {} µs a batch",
                100.0 * memory::TRANSFER_SHARE,
                1e6 * memory::TRANSFER_S
            ),
            format!(
                "{copied:.0} bytes take at least {:.1} µs on a T4's bus ({:.2} GB/s), {:.1} % of a step; {} µs would be {:.0} GB/s",
                1e6 * speed::transfer_s(),
                makers::T4_BUS / 1e9,
                100.0 * speed::transfer_s() / speed::step_s(),
                1e6 * memory::TRANSFER_S,
                copied / memory::TRANSFER_S / 1e9
            ),
            Some("figure1"),
        ),
        claim(
            "3.5",
            "tensor cores with TF32 as a next step",
            "a T4's tensor cores have no TF32, which came with the A100",
            None,
        ),
    ]
}
