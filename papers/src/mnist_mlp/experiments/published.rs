//! What the paper reports, as far as it is known here: Ha and Beqaj, Tesla T4, 784-256-10, batch 64, learning rate 0.01, 10 epochs.

use serde::Serialize;

/// The figures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figures {
    /// The device.
    pub device: &'static str,
    /// Epochs of each training.
    pub epochs: u32,
    /// Seconds of the training on the GPU.
    pub gpu_seconds: f64,
    /// Its share of the test set.
    pub gpu_accuracy: f64,
    /// Seconds of the training on the CPU.
    pub cpu_seconds: f64,
    /// Its share of the test set.
    pub cpu_accuracy: f64,
    /// The ratio of the times.
    pub speed_up: f64,
    /// Share of time in copies.
    pub transfer_share: f64,
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            device: "Tesla T4",
            epochs: 10,
            gpu_seconds: 2.25,
            gpu_accuracy: 0.9386,
            cpu_seconds: 298.6,
            cpu_accuracy: 0.9793,
            speed_up: 132.7,
            transfer_share: 0.001,
        }
    }
}
