//! Figures of others for the whole model, weights and positions on the device: PyTorch 2.11 with cuDNN 9.19 on an H200.

use warpplay::Precision;

/// What somebody reached in one precision.
pub struct Figure {
    pub precision: Precision,
    /// Which of PyTorch's ways was the fastest.
    pub how: &'static str,
    /// Microseconds at batch 1 and 128.
    pub microseconds: [f64; 2],
    /// Positions a second at batch 8192.
    pub positions_per_second: f64,
}

const fn figure(precision: Precision, how: &'static str, microseconds: [f64; 2], positions_per_second: f64) -> Figure {
    Figure { precision, how, microseconds, positions_per_second }
}

/// The best of PyTorch's ways in every precision.
pub const PYTORCH: [Figure; 4] = [
    figure(Precision::F32, "best of eager, graph, folded graph, compile", [331.0, 913.0], 219e3),
    figure(Precision::Tf32, "best", [122.0, 207.0], 1.62e6),
    figure(Precision::Bf16, "folded graph, or compile", [96.0, 159.0], 3.35e6),
    figure(Precision::F16, "folded graph, or compile", [96.0, 159.0], 3.35e6),
];

/// PyTorch as most use it.
pub const PYTORCH_EAGER: Figure = figure(Precision::F32, "eager", [1005.0, 1195.0], 149e3);

impl Figure {
    /// Seconds of a call of `batch` positions, where that was measured.
    pub fn seconds(&self, batch: usize) -> Option<f64> {
        match batch {
            1 => Some(self.microseconds[0] / 1e6),
            128 => Some(self.microseconds[1] / 1e6),
            8192 => Some(8192.0 / self.positions_per_second),
            _ => None,
        }
    }
}

/// The figure of a precision.
pub fn of(figures: &[Figure], precision: Precision) -> Option<&Figure> {
    figures.iter().find(|figure| figure.precision == precision)
}
