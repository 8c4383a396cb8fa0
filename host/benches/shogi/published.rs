//! Figures of the source, and what is aimed at.

/// Work, time, how it is known. 6.3 million positions × 50 iterations × 13 evaluations, unless the row says otherwise.
pub const FIGURES: [(&str, &str, &str); 10] = [
    ("the job, their CPU program", "1,457 s", "reported"),
    ("the job, their kernels on a GTX 260", "125 s (11.7 times their CPU)", "reported"),
    ("the job, MPI on 4 processes", "3.22 times one", "reported"),
    ("positions of 96 bytes, one launch, reach", "100 ms", "target, H200"),
    ("differences in f64, thirteen exponentials, reach", "30 ms", "target, H200"),
    ("differences, one exponential, reach", "4 ms", "target, H200"),
    ("histogram, after it is built, reach", "2 ms", "target, H200"),
    ("building the histogram, reach", "50 % of copy bandwidth", "target, H200"),
    ("gradient of pairs (KPP), reach", "40 % of copy bandwidth in sectors of 32 bytes", "target, H200"),
    ("data set from records, reach", "1,000,000 children/s a core", "target"),
];

/// Position evaluations a second of their CPU program and of their GPU.
pub const THEIRS: (f64, f64) = (6.3e6 * 50.0 * 13.0 / 1457.0, 6.3e6 * 50.0 * 13.0 / 125.0);

/// Children of their job.
pub const CHILDREN: u64 = 6_300_000;

/// Bytes a second of a copy within the memory of an H200.
pub const COPY: f64 = 4.27e12;
