//! What can be chosen about a training.

use serde::{Deserialize, Serialize};

use crate::mlp::options::MAX_CLASSES;
use crate::runtime::threads;
use crate::{Error, Result};

/// Most channels of a convolution.
const MAX_CHANNELS: u32 = 1024;
/// Most convolutions.
const MAX_CONVOLUTIONS: usize = 32;
/// Most pixels of a batch.
const MAX_PIXELS: u64 = 1 << 24;
/// Most inputs of the dense layer: times the classes, they fit 32 bits.
const MAX_INPUTS: u64 = 1 << 22;
/// Most values of a batch behind a convolution.
const MAX_VALUES: u64 = 1 << 31;

/// Options of a training of a network of convolutions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConvOptions {
    /// Channels of each convolution of each block, multiples of 8 up to 1024; rows and columns of images are multiples of 2 to the power of the number of blocks. Default two blocks, of 32 and 32, and 64 and 64.
    pub blocks: Vec<Vec<u32>>,
    /// Samples of a step; default 128.
    pub batch: u32,
    /// Epochs; default 4.
    pub epochs: u32,
    /// The highest learning rate, at the end of the warm-up; default 0.05.
    pub learning_rate: f64,
    /// Share of all steps in which the rate rises to the highest, 0 to 1; it falls to 0 in the others, as a cosine. Default 0.15.
    pub warmup: f64,
    /// Momentum, from 0 to below 1; default 0.9.
    pub momentum: f32,
    /// L2 term of weights, not of biases; default 0.0005.
    pub weight_decay: f32,
    /// Seed of first weights and orders; default 1.
    pub seed: u64,
    /// Threads of the CPU; default all cores.
    pub threads: Option<usize>,
}

impl Default for ConvOptions {
    fn default() -> Self {
        Self {
            blocks: vec![vec![32, 32], vec![64, 64]],
            batch: 128,
            epochs: 4,
            learning_rate: 0.05,
            warmup: 0.15,
            momentum: 0.9,
            weight_decay: 0.0005,
            seed: 1,
            threads: None,
        }
    }
}

impl ConvOptions {
    /// Checks all options.
    ///
    /// # Errors
    /// [`Error::Option`] with the first that is not allowed.
    pub fn check(&self) -> Result<()> {
        check_blocks(&self.blocks)?;
        if self.batch == 0 {
            return Err(Error::option("batch", self.batch, "at least 1"));
        }
        if self.epochs == 0 {
            return Err(Error::option("epochs", self.epochs, "at least 1"));
        }
        if !(self.learning_rate > 0.0 && self.learning_rate <= 1e3) {
            return Err(Error::option("learning_rate", self.learning_rate, "above 0, up to 1000"));
        }
        if !(0.0..=1.0).contains(&self.warmup) {
            return Err(Error::option("warmup", self.warmup, "0 to 1"));
        }
        if !(0.0..1.0).contains(&self.momentum) {
            return Err(Error::option("momentum", self.momentum, "from 0 to below 1"));
        }
        if !(0.0..=1.0).contains(&self.weight_decay) {
            return Err(Error::option("weight_decay", self.weight_decay, "0 to 1"));
        }
        threads::check(self.threads)
    }

    /// The rate of step `step` of `n_steps`, of all epochs.
    pub(super) fn rate(&self, step: u64, n_steps: u64) -> f64 {
        let (step, n_steps) = (step as f64, n_steps as f64);
        let rising = self.warmup * n_steps;
        if step < rising {
            return self.learning_rate * ((step + 1.0) / rising).min(1.0);
        }
        let done = (step - rising) / (n_steps - rising);
        self.learning_rate * 0.5 * (1.0 + libm::cos(std::f64::consts::PI * done))
    }
}

/// Checks blocks alone.
///
/// # Errors
/// [`Error::Option`] for what is not allowed.
pub(super) fn check_blocks(blocks: &[Vec<u32>]) -> Result<()> {
    let n = blocks.iter().map(Vec::len).sum::<usize>();
    if blocks.iter().any(Vec::is_empty) || !(1..=MAX_CONVOLUTIONS).contains(&n) {
        let allowed = format!("1 to {MAX_CONVOLUTIONS} convolutions, at least 1 a block");
        return Err(Error::option("blocks", format!("{blocks:?}"), allowed));
    }
    match blocks.iter().flatten().find(|&&n| !n.is_multiple_of(8) || !(8..=MAX_CHANNELS).contains(&n)) {
        Some(channels) => {
            Err(Error::option("blocks", channels, format!("multiples of 8 from 8 to {MAX_CHANNELS} channels")))
        }
        None => Ok(()),
    }
}

/// Checks that images of a size can go through blocks, and a batch of them on a device.
///
/// # Errors
/// [`Error::Shape`] for what does not fit.
pub(super) fn check_images(blocks: &[Vec<u32>], [rows, cols]: [u32; 2], n_classes: u32, batch: u32) -> Result<()> {
    let step = 1u64 << blocks.len();
    if [rows, cols].iter().any(|&side| side == 0 || !u64::from(side).is_multiple_of(step)) {
        let expected = format!("rows and columns that are multiples of {step}, for {} blocks", blocks.len());
        return Err(Error::shape("images", expected, format!("{rows} x {cols}")));
    }
    if !(1..=MAX_CLASSES).contains(&n_classes) {
        return Err(Error::shape("classes", format!("1 to {MAX_CLASSES}"), n_classes));
    }
    let pixels = u64::from(rows) * u64::from(cols);
    if pixels > MAX_PIXELS || pixels * u64::from(batch) > MAX_PIXELS {
        return Err(Error::shape(
            "pixels of a batch",
            format!("at most {MAX_PIXELS}"),
            u128::from(pixels) * u128::from(batch),
        ));
    }
    // What is left of an image at the end, and the values of a batch behind a convolution.
    let last = blocks.last().and_then(|block| block.last()).copied().unwrap_or(1);
    let inputs = (pixels >> (2 * blocks.len())) * u64::from(last);
    if inputs > MAX_INPUTS {
        return Err(Error::shape("inputs of the dense layer", format!("at most {MAX_INPUTS}"), inputs));
    }
    let mut pixels = pixels * u64::from(batch);
    for block in blocks {
        let values = pixels * u64::from(block.iter().max().copied().unwrap_or(1));
        if values > MAX_VALUES {
            return Err(Error::shape(
                "values of a batch behind a convolution",
                format!("at most {MAX_VALUES}"),
                values,
            ));
        }
        pixels /= 4;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_to_the_highest_and_falls_to_0() {
        let options = ConvOptions { warmup: 0.25, learning_rate: 0.5, ..ConvOptions::default() };
        let rates: Vec<f64> = (0..8).map(|step| options.rate(step, 8)).collect();
        assert_eq!(rates[..3], [0.25, 0.5, 0.5]);
        assert!(rates[2..].windows(2).all(|pair| pair[1] < pair[0]) && rates[7] > 0.0);
        for warmup in [0.0, 1.0] {
            let options = ConvOptions { warmup, ..options.clone() };
            assert!((0..5).all(|step| (0.0..=0.5).contains(&options.rate(step, 5))));
        }
    }

    #[test]
    fn options_that_are_not_allowed_are_named() {
        let options = ConvOptions::default();
        assert!(options.check().is_ok());
        let error = |options: ConvOptions| options.check().unwrap_err().to_string();
        assert!(error(ConvOptions { blocks: vec![vec![12]], ..options.clone() }).contains("blocks: 12"));
        assert!(error(ConvOptions { blocks: vec![], ..options.clone() }).contains("1 to 32 convolutions"));
        assert!(error(ConvOptions { momentum: 1.0, ..options }).contains("momentum: 1"));
        let wide = |batch| check_images(&[vec![1024]], [512, 512], 10, batch).unwrap_err().to_string();
        assert!(wide(1).contains("inputs of the dense layer"), "{}", wide(1));
        let blocks = [vec![1024], vec![8]];
        assert!(check_images(&blocks, [512, 512], 10, 16).unwrap_err().to_string().contains("values of a batch"));
        assert!(check_images(&[vec![8], vec![8]], [28, 30], 10, 1).unwrap_err().to_string().contains("multiples of 4"));
    }
}
