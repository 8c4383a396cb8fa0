//! Figures of others, 784-256-10 on MNIST: milliseconds an epoch unless the row says otherwise.

/// What, milliseconds, where it comes from.
pub const FIGURES: [(&str, f64, &str); 10] = [
    ("epoch, batch 64, theirs on a Tesla T4", 225.0, "reported"),
    ("epoch, batch 64, their CPU program", 29_860.0, "reported"),
    ("epoch, batch 64, PyTorch eager", 912.0, "measured, H200"),
    ("epoch, batch 64, PyTorch CUDA graph, best", 44.0, "measured, H200"),
    ("epoch, batch 64, PyTorch CUDA graph, worst", 48.0, "measured, H200"),
    ("epoch, batch 64, JAX scan, best", 24.9, "measured, H200"),
    ("epoch, batch 8192, PyTorch graph fp32", 1.94, "measured, H200"),
    ("epoch, batch 8192, PyTorch graph tf32", 1.13, "measured, H200"),
    ("epoch, batch 8192, PyTorch graph bf16", 1.10, "measured, H200"),
    ("inference, PyTorch graph, a batch of 64", 0.0118, "measured, H200"),
];

/// Operations a second measured on an H200 in fp32, and with 16-bit operands.
pub const FLOPS: (f64, f64) = (51e12, 794e12);
/// Seconds of one exchange within a cluster, measured on an H200.
pub const EXCHANGE: f64 = 1.15e-6;
