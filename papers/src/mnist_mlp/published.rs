//! Every number that Ha and Beqaj print of their program, its work and its measurements, with its location: "GPU-Accelerated MLP for MNIST Classification", technical
//! report, February 2026. Left out are indices within formulas and kernel listings, and the worked example `exp(1000)` (section 1.3, kernel 3).
//!
//! Times are seconds, accuracies per cent of the 10,000 test images, speed-ups the CPU's time over the GPU's. The device is a Tesla T4 (section 2.5); unless a
//! table varies it, a network is 784-256-10, the batch 64 and the learning rate 0.01.

/// The device of all measurements, section 2.5.
pub const DEVICE: &str = "Tesla T4";
/// Its memory in GB, section 2.5.
pub const DEVICE_GB: f64 = 15.64;
/// Its multiprocessors, section 2.5.
pub const MULTIPROCESSORS: u32 = 40;

/// Its compute capability, section 2.5.
pub const COMPUTE_CAPABILITY: f64 = 7.5;
/// Threads of a warp, section 2.8.
pub const WARP: u32 = 32;
/// The most threads of a block, sections 2.7 (experiment 2) and 2.8.
pub const MAX_BLOCK: u32 = 1024;

/// Threads of a one-dimensional block, section 1.3, kernels 3, 4, 6 and 7.
pub const BLOCK_1D: u32 = 256;
/// Side of a two-dimensional block and of a tile, section 1.3, kernels 1, 2 and 5.
pub const SIDE: u32 = 16;
/// Sides of two-dimensional blocks whose threads are printed, with these, section 2.7, experiment 2.
pub const BLOCKS_2D: [(u32, u32); 2] = [(32, 1024), (8, 64)];

/// Side of an image, section 1.1.
pub const IMAGE_SIDE: u32 = 28;
/// Widths of the network, sections 1.1 and 2.5.
pub const SIZES: [u32; 3] = [784, 256, 10];
/// Samples of a batch, section 2.5.
pub const BATCH: u32 = 64;
/// Learning rate, section 2.5.
pub const LEARNING_RATE: f64 = 0.01;
/// Training samples, section 2.5.
pub const TRAIN_SAMPLES: u32 = 60_000;
/// Test samples, section 2.5.
pub const TEST_SAMPLES: u32 = 10_000;

/// The main experiment, table "Measured Performance" of section 2.5.
pub mod main_run {
    /// Epochs.
    pub const EPOCHS: u32 = 10;
    /// Seconds of the training on the CPU.
    pub const CPU_S: f64 = 298.62;
    /// Seconds of the training on the GPU.
    pub const GPU_S: f64 = 2.25;
    /// Milliseconds of the training on the CPU.
    pub const CPU_MS: f64 = 298_617.53;
    /// Milliseconds of the training on the GPU.
    pub const GPU_MS: f64 = 2247.11;
    /// Seconds of an epoch on the CPU.
    pub const CPU_EPOCH_S: f64 = 29.86;
    /// Seconds of an epoch on the GPU.
    pub const GPU_EPOCH_S: f64 = 0.225;
    /// Accuracy on the CPU.
    pub const CPU_ACCURACY: f64 = 97.93;
    /// Accuracy on the GPU.
    pub const GPU_ACCURACY: f64 = 93.86;
    /// Losses of the CPU by epoch, "Training Convergence".
    pub const CPU_LOSSES: [(u32, f64); 2] = [(1, 0.2257), (10, 0.0045)];
    /// Losses of the GPU by epoch, "Training Convergence".
    pub const GPU_LOSSES: [(u32, f64); 3] = [(1, 0.8420), (2, 0.4102), (10, 0.2218)];
    /// Speed-up.
    pub const SPEED_UP: f64 = 132.7;
    /// Difference of the accuracies in points, "Accuracy Analysis".
    pub const GAP: f64 = 4.1;
    /// Expected speed-up, least and most, sections 2.3, 2.5 and 3.5.
    pub const EXPECTED: (f64, f64) = (20.0, 100.0);
}

/// A row of a table that compares the two programs; 5 epochs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The parameter.
    pub value: f64,
    /// Seconds on the CPU.
    pub cpu_s: f64,
    /// Seconds on the GPU.
    pub gpu_s: f64,
    /// Printed speed-up.
    pub speed_up: f64,
    /// Accuracy on the GPU.
    pub accuracy: f64,
}

const fn row(value: f64, cpu_s: f64, gpu_s: f64, speed_up: f64, accuracy: f64) -> Row {
    Row { value, cpu_s, gpu_s, speed_up, accuracy }
}

/// Epochs of every table but the main one, sections 2.6 and 2.7.
pub const EPOCHS: u32 = 5;

/// Batch sizes, table "Performance Results" of section 2.6.
pub const BATCHES: [Row; 4] = [
    row(32.0, 141.20, 1.59, 88.8, 94.02),
    row(64.0, 150.90, 1.29, 117.0, 92.36),
    row(128.0, 165.59, 0.96, 172.5, 91.10),
    row(256.0, 174.23, 0.89, 195.4, 89.11),
];

/// Threads of a one-dimensional block, experiment 1 of section 2.7.
pub const THREADS_1D: [Row; 3] = [
    row(128.0, 164.90, 1.17, 141.2, 92.51),
    row(256.0, 164.20, 1.22, 134.6, 92.10),
    row(512.0, 164.98, 1.18, 139.8, 92.42),
];

/// Side of a two-dimensional block, experiment 2 of section 2.7.
pub const THREADS_2D: [Row; 3] = [
    row(8.0, 165.00, 1.27, 129.9, 92.28),
    row(16.0, 165.23, 1.16, 142.4, 92.40),
    row(32.0, 166.21, 1.40, 118.7, 92.38),
];

/// Hidden units, experiment 3 of section 2.7.
pub const HIDDEN: [Row; 4] = [
    row(128.0, 80.93, 1.01, 80.1, 92.13),
    row(256.0, 166.44, 1.17, 142.3, 92.31),
    row(512.0, 549.95, 1.64, 335.5, 92.27),
    row(1024.0, 1222.42, 2.67, 457.9, 92.35),
];

/// Learning rates, experiment 4 of section 2.7.
pub const RATES: [Row; 3] = [
    row(0.001, 165.86, 1.22, 135.9, 89.38),
    row(0.01, 165.95, 1.20, 138.3, 92.40),
    row(0.1, 166.29, 1.19, 139.8, 90.52),
];

/// A row of experiment 5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvaluateRow {
    /// Samples evaluated at once.
    pub batch: u32,
    /// Seconds of the training on the GPU.
    pub train_s: f64,
    /// Accuracy.
    pub accuracy: f64,
    /// Microseconds of the evaluation a sample.
    pub micros: f64,
}

/// Training and evaluation batch of the example of section 1.4.
pub const RESIZED: (u32, u32) = (64, 256);

/// Samples evaluated at once, experiment 5 of section 2.7.
pub const EVALUATE: [EvaluateRow; 3] = [
    EvaluateRow { batch: 64, train_s: 1.18, accuracy: 92.37, micros: 7.4 },
    EvaluateRow { batch: 256, train_s: 1.24, accuracy: 92.40, micros: 12.4 },
    EvaluateRow { batch: 512, train_s: 1.16, accuracy: 92.50, micros: 11.6 },
];

/// A least and a largest value that the text quotes of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quoted {
    /// Where it is quoted.
    pub location: &'static str,
    /// Of what.
    pub what: &'static str,
    /// The least and the largest.
    pub range: (f64, f64),
    /// Value of the last printed digit.
    pub digit: f64,
}

const fn quoted(location: &'static str, what: &'static str, range: (f64, f64), digit: f64) -> Quoted {
    Quoted { location, what, range, digit }
}

/// Accuracies on the GPU that the text quotes of 1D threads, of 2D threads, of hidden units, and of evaluation batches, each exactly (section 2.7) and rounded (section 2.8).
pub const ACCURACIES: [[Quoted; 2]; 4] = [
    [
        quoted("2.7, exp. 1", "1D threads", (92.10, 92.51), 0.01),
        quoted("2.8", "1D threads, rounded", (92.1, 92.5), 0.1),
    ],
    [
        quoted("2.7, exp. 2", "2D threads", (92.28, 92.40), 0.01),
        quoted("2.8", "2D threads, rounded", (92.3, 92.4), 0.1),
    ],
    [
        quoted("2.7, exp. 3", "hidden units", (92.13, 92.35), 0.01),
        quoted("2.8", "hidden units, rounded", (92.1, 92.4), 0.1),
    ],
    [
        quoted("2.7, exp. 5", "evaluation batches", (92.37, 92.50), 0.01),
        quoted("2.8", "evaluation batches, rounded", (92.4, 92.5), 0.1),
    ],
];

/// Batches of the best balance between speed and accuracy, from and to, section 2.6.
pub const BALANCED_BATCHES: (u32, u32) = (64, 128);
/// Hidden units from which on a network is called compute-bound, section 2.8.
pub const COMPUTE_BOUND_HIDDEN: u32 = 512;
/// The best accuracy of the rates, section 2.8.
pub const BEST_RATE_ACCURACY: f64 = 92.4;
/// Seconds of the CPU at the smallest and at the largest batch, section 2.6.
pub const BATCH_CPU_S: (f64, f64) = (141.0, 174.0);
/// Speed-ups that the text quotes: of batch 256 (section 2.6), and of 128, 512 and 1024 hidden units (2.7, experiment 3, and 2.8).
pub const QUOTED_SPEED_UPS: [f64; 4] = [195.0, 80.0, 335.0, 458.0];
/// Seconds within which the GPU times of 1D threads are, section 2.7, experiment 1.
pub const THREADS_1D_RANGE_S: f64 = 0.05;
/// The same as a share of the time on either side in per cent, section 2.8.
pub const THREADS_1D_VARIANCE: f64 = 2.3;
/// Per cent by which blocks of 16 x 16 are faster than those of 32 x 32, section 2.8.
pub const SIDE_GAIN: f64 = 21.0;
/// Times that FLOP are said to grow from 128 hidden units to 256 and to 512, section 2.7, experiment 3.
pub const HIDDEN_FLOP: [f64; 2] = [4.0, 16.0];
/// Times that GPU times are said to grow with them.
pub const HIDDEN_GPU_TIMES: [f64; 2] = [1.16, 1.63];
/// Power of the hidden units with which the CPU's time is said to grow, section 2.7, experiment 3.
pub const HIDDEN_CPU_POWER: f64 = 2.0;
/// Minutes of the CPU at 1024 hidden units, section 2.7, experiment 3.
pub const HIDDEN_CPU_MIN: f64 = 20.0;
/// Seconds of the training between which evaluation batches are, section 2.7, experiment 5.
pub const EVALUATE_TRAIN_S: (f64, f64) = (1.16, 1.24);
/// Samples evaluated at once that are recommended for latency, and the least for throughput, section 2.8.
pub const EVALUATE_BEST: (u32, u32) = (64, 256);
/// Microseconds a sample of an evaluation, least and most, section 2.8.
pub const EVALUATE_MICROS: (f64, f64) = (7.4, 12.4);

/// A setting at which the CPU program has the accuracy of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collapse {
    /// Samples of a batch.
    pub batch: u32,
    /// Learning rate.
    pub rate: f64,
    /// Accuracy of the CPU program.
    pub accuracy: f64,
    /// Accuracy of the GPU program at the same setting.
    pub gpu_accuracy: f64,
    /// Where it is told.
    pub location: &'static str,
}

/// Both collapses; 5 epochs.
pub const COLLAPSES: [Collapse; 2] = [
    Collapse { batch: 256, rate: 0.01, accuracy: 10.28, gpu_accuracy: 89.11, location: "2.6, key observations" },
    Collapse { batch: 64, rate: 0.1, accuracy: 9.82, gpu_accuracy: 90.52, location: "2.7, experiment 4" },
];

/// Images of each class 0 to 9 in MNIST's test set. Not of the paper: the files' own.
pub const TEST_CLASSES: [u32; 10] = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009];

/// What section 2.3 says of the work.
pub mod work {
    /// Floating-point operations of the forward product of layer 1 at batch 64.
    pub const FORWARD_1: f64 = 25.1e6;
    /// Of ReLU.
    pub const RELU: f64 = 16.4e3;
    /// Of the forward product of layer 2.
    pub const FORWARD_2: f64 = 327e3;
    /// Of softmax.
    pub const SOFTMAX: f64 = 1.3e3;
    /// Of the loss.
    pub const LOSS: f64 = 64.0;
    /// Of "Backward Layer 2".
    pub const BACKWARD_2: f64 = 327e3;
    /// "Total Forward+Backward".
    pub const STEP: f64 = 26e6;
    /// Threads of "Backward Layer 2", and "up to" of the total.
    pub const BACKWARD_THREADS: f64 = 25.6e3;
    /// Threads of layer 1, and of ReLU.
    pub const LAYER_1_THREADS: f64 = 16_384.0;
    /// Threads of the forward product of layer 2.
    pub const LAYER_2_THREADS: f64 = 640.0;
    /// Blocks of softmax, "1 block/batch", table of section 1.2.
    pub const SOFTMAX_BLOCKS: f64 = 1.0;
    /// Threads of softmax and of the loss.
    pub const SOFTMAX_THREADS: f64 = 64.0;
    /// Threads of the weights' updates, section 1.2.
    pub const UPDATE_THREADS: f64 = 203_264.0;
    /// Gradient elements of kernel 4, section 1.3.
    pub const GRADIENT_ELEMENTS: f64 = 640.0;
    /// Blocks of kernel 6 for the bias gradients of layer 1 and of layer 2, section 1.3.
    pub const COLUMN_BLOCKS: (f64, f64) = (256.0, 10.0);
    /// Threads and outputs whose contention limits the atomic additions, section 2.2, decision 3.
    pub const CONTENTION: (f64, f64) = (256.0, 10.0);
    /// Blocks of kernel 7 for W1 and for W2, section 1.3.
    pub const UPDATE_BLOCKS: (f64, f64) = (784.0, 10.0);
    /// Gradient computations of the backward pass, section 2.1.
    pub const GRADIENTS: f64 = 5.0;
    /// Threads that "modern GPUs support" at once, "10,000+", section 3.3.
    pub const CONCURRENT_THREADS: f64 = 10_000.0;
    /// Operations a second of "a modern GPU (e.g. A100)", named FP32.
    pub const A100_FLOPS: f64 = 312e12;
    /// Seconds of a step at that rate, as printed: 0.083 ms.
    pub const A100_STEP_S: f64 = 0.083e-3;
    /// "Realistic achievable" operations a second, least and most.
    pub const REALISTIC_FLOPS: (f64, f64) = (2e9, 5e9);
}

/// What sections 1.4 and 2.4 say of memory; bytes.
pub mod memory {
    /// Input of a batch.
    pub const INPUT: f64 = 200e3;
    /// Labels of a batch, section 1.4.
    pub const LABELS: f64 = 256.0;
    /// Input, labels and loss of a batch, sections 1.4 and 3.5.
    pub const COPIED: f64 = 200e3;
    /// The loss, sections 1.4 and 2.2.
    pub const LOSS: f64 = 4.0;
    /// W1.
    pub const W1: f64 = 200e3;
    /// W2.
    pub const W2: f64 = 10e3;
    /// Both biases.
    pub const BIASES: f64 = 1.4e3;
    /// Weights and biases; the gradients are said to be as many.
    pub const WEIGHTS: f64 = 211e3;
    /// Hidden values of a batch.
    pub const HIDDEN: f64 = 64e3;
    /// Outputs of a batch.
    pub const OUTPUT: f64 = 2.5e3;
    /// Input, hidden values and outputs.
    pub const FORWARD: f64 = 266e3;
    /// Total.
    pub const TOTAL: f64 = 700e3;
    /// Read in a batch.
    pub const READ: f64 = 954e3;
    /// Written in a batch.
    pub const WRITTEN: f64 = 477e3;
    /// Bytes a second of "modern" GPU memory, least and most.
    pub const BANDWIDTH: (f64, f64) = (1e12, 2e12);
    /// Seconds of the transfers of a batch.
    pub const TRANSFER_S: f64 = 1e-6;
    /// Share of the transfers in the GPU's time, section 3.5.
    pub const TRANSFER_SHARE: f64 = 0.001;
    /// A tile of 16 by 16 values, section 1.3, kernel 2.
    pub const TILE: f64 = 4e3;
    /// Gain of the tiles in global memory bandwidth (section 1.3), and speed-up that is expected of them for large matrices (section 2.2, decision 2).
    pub const TILED_GAIN: (f64, f64) = (5.0, 8.0);
    /// Times that a value of a tile is used, section 1.3.
    pub const TILE_REUSE: f64 = 16.0;
    /// Times that shared memory is faster than global memory, section 1.3, kernel 2.
    pub const SHARED_FASTER: f64 = 100.0;
    /// Shared memory of a block, section 3.3.
    pub const SHARED_OF_BLOCK: f64 = 16e3;
    /// Gain of coalesced access in effective bandwidth, least and most, section 3.3.
    pub const COALESCED_GAIN: (f64, f64) = (8.0, 16.0);
}

/// A row of the table of section 2.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Component {
    /// What is complete.
    pub name: &'static str,
    /// What the table says of it.
    pub details: &'static str,
    /// What ours has for it.
    pub ours: &'static str,
}

const fn component(name: &'static str, details: &'static str, ours: &'static str) -> Component {
    Component { name, details, ours }
}

/// The table "Successfully Implemented Components" of section 2.1; its status is complete in every row.
pub const COMPONENTS: [Component; 7] = [
    component("Forward Pass", "Matrix ops, ReLU, softmax", "products, bias additions, ReLU, softmax"),
    component("Backward Pass", "All 5 gradient computations", "5 too: of W2, b2, the hidden values, W1, b1"),
    component("Weight Updates", "SGD with learning rate", "SGD, the mean of a batch taken in the update"),
    component(
        "Loss Computation",
        "Cross-entropy with stability",
        "from the probabilities, or from the logits less the largest",
    ),
    component("Accuracy Evaluation", "Argmax comparison", "argmax comparison"),
    component(
        "Memory Management",
        "Proper allocation/deallocation",
        "buffers grow with the largest batch asked for (item memory), and are freed with what owns them",
    ),
    component(
        "Error Handling",
        "CUDA_CHECK macros throughout",
        "every call of the driver returns a result, and an error names the call",
    ),
];

/// Kernels that section 3.4 counts.
pub const KERNELS: u32 = 13;

/// Kernels that section 1.3 describes, in its order, and ours; products have the grid's axes swapped, since only its x may be large.
pub const DESCRIBED: [(&str, &str); 7] = [
    ("matmul_kernel", "mlp_paper_matmul_plain"),
    ("matmul_tiled_kernel", "mlp_paper_matmul_tiled_16"),
    ("softmax_kernel", "mlp_paper_softmax"),
    ("softmax_cross_entropy_gradient_kernel", "mlp_paper_softmax_gradient"),
    ("matmul_transpose_kernel", "mlp_paper_matmul_plain"),
    ("sum_columns_kernel", "mlp_paper_column_sums_atomic_thread"),
    ("sgd_update_kernel", "mlp_paper_sgd"),
];

/// Kernels that a training and an evaluation need beside [`DESCRIBED`], what names them in the text, and ours.
pub const IMPLIED: [(&str, &str, &str); 5] = [
    ("bias addition", "1.2, table; 2.7, experiment 1", "mlp_paper_bias_add"),
    ("ReLU", "1.2, table", "mlp_paper_relu"),
    ("ReLU backward", "1.2, table", "mlp_paper_relu_backward"),
    ("loss", "1.3, slave 4; 2.2, decision 1", "mlp_paper_loss_atomic"),
    ("accuracy", "2.1, argmax comparison", "mlp_paper_accuracy"),
];

/// What the makers state, to hold claims against. None of it is the paper's.
pub mod makers {
    /// T4, single precision: NVIDIA T4 data sheet (DS-09008), 8.1 TFLOPS.
    pub const T4_FLOPS: f64 = 8.1e12;
    /// T4, memory: the same sheet, "320+ GB/s" in its table of 2018.
    pub const T4_BANDWIDTH: f64 = 320e9;
    /// T4, bus: PCI Express 3.0 x16, 8 GT/s · 16 lanes · 128/130 / 8 bits.
    pub const T4_BUS: f64 = 15.75e9;
    /// T4, CUDA cores: the same sheet.
    pub const T4_CORES: f64 = 2560.0;
    /// CUDA cores of a multiprocessor of compute capability 7.5: NVIDIA Turing GPU Architecture whitepaper.
    pub const TURING_CORES: f64 = 64.0;
    /// Most threads that a multiprocessor of compute capability 7.5 holds at once: NVIDIA CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
    pub const T4_THREADS: f64 = 1024.0;
    /// Most blocks that a multiprocessor of compute capability 7.5 holds at once: the same table.
    pub const T4_BLOCKS: f64 = 16.0;
    /// Bytes of shared memory that a multiprocessor reads in a clock, 32 banks of 4 bytes: the same guide, "Shared Memory".
    pub const SHARED_BYTES: f64 = 128.0;
    /// Bytes of the least transaction with global memory: NVIDIA CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory".
    pub const SECTOR_BYTES: f64 = 32.0;
    /// A100, single precision outside tensor cores: NVIDIA A100 Tensor Core GPU data sheet, 19.5 TFLOPS.
    pub const A100_FP32: f64 = 19.5e12;
    /// A100, TF32 on tensor cores: the same sheet, 156 TFLOPS, and 312 with structured sparsity.
    pub const A100_TF32: f64 = 156e12;
    /// A100, half precision on tensor cores: the same sheet, 312 TFLOPS without sparsity.
    pub const A100_FP16: f64 = 312e12;

    /// Single-precision operations and bytes a second of a card.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Peak {
        /// The whole name that the driver gives the card.
        pub card: &'static str,
        /// Operations a second outside tensor cores.
        pub flops: f64,
        /// Bytes a second of its memory.
        pub bytes: f64,
    }

    const fn card(card: &'static str, flops: f64, bytes: f64) -> Peak {
        Peak { card, flops, bytes }
    }

    /// Cards whose figures are known: "FP32" and "GPU memory bandwidth" of the makers' data sheets. Cards of one family differ, as H100 SXM and PCIe do.
    pub const PEAKS: [Peak; 8] = [
        // NVIDIA H200 Tensor Core GPU data sheet, H200 SXM.
        card("NVIDIA H200", 67e12, 4.8e12),
        // NVIDIA H100 Tensor Core GPU data sheet, H100 SXM and H100 PCIe.
        card("NVIDIA H100 80GB HBM3", 67e12, 3.35e12),
        card("NVIDIA H100 PCIe", 51e12, 2e12),
        // NVIDIA A100 Tensor Core GPU data sheet; of the cards with 40 GB its edition of 2020.
        card("NVIDIA A100-SXM4-40GB", A100_FP32, 1.555e12),
        card("NVIDIA A100-PCIE-40GB", A100_FP32, 1.555e12),
        card("NVIDIA A100-SXM4-80GB", A100_FP32, 2.039e12),
        card("NVIDIA A100 80GB PCIe", A100_FP32, 1.935e12),
        // NVIDIA T4 data sheet.
        card("Tesla T4", T4_FLOPS, T4_BANDWIDTH),
    ];

    /// The figures of a card of this name, if they are known.
    pub fn peak(name: &str) -> Option<Peak> {
        PEAKS.into_iter().find(|peak| peak.card == name)
    }
}
