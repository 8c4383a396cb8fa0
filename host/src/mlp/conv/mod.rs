//! Networks of convolutions: blocks of 3 × 3 convolutions with rectifiers, a maximum over 2 × 2 pixels behind each block, a dense layer of the classes at the end.
//!
//! They classify the same images as perceptrons, with fewer errors: the default network reaches 99 % on MNIST in a few epochs.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//! use warpplay::Device;
//! use warpplay::mlp::Dataset;
//! use warpplay::mlp::conv::{ConvClassifier, ConvOptions, ConvTrainer};
//!
//! let train = Arc::new(Dataset::drawn_digits(1, 256)?);
//! let test = Arc::new(Dataset::drawn_digits(2, 64)?);
//! let options = ConvOptions { blocks: vec![vec![8], vec![8]], batch: 32, epochs: 1, ..ConvOptions::default() };
//! let mut trainer = ConvTrainer::builder(&train).options(options).test(&test).build(&Device::cpu())?;
//! let report = trainer.run(|_| ControlFlow::Continue(()))?;
//! assert!(report.epochs[0].loss < 2.3 && report.epochs[0].test_accuracy > Some(0.2));
//!
//! let mut classifier = ConvClassifier::builder(&trainer.network()?).build(&Device::cpu())?;
//! let classes = classifier.predict(&test.images()[..784 * 3])?;
//! assert_eq!(classes.len(), 3);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! # The network
//!
//! ```text
//! image     [rows, cols]                  byte / 255
//! block     z[y, x, o] = b[o] + Σ h[y + i - 1, x + j - 1, c] W[i, j, c, o],   h = max(z, 0),   once for each convolution      h is 0 outside of an image
//!           then the largest of 2 × 2 pixels, channel by channel: rows and cols are halved
//! logits    x W + b of all values that the last block leaves, [rows, cols, channels]
//! ```
//!
//! Training is that of perceptrons: the mean of the cross-entropy, in batches of a random order ([`mlp`](super)). The update is gradient descent with momentum; the rate rises in a warm-up and then falls to 0 as a cosine.
//!
//! # Where it runs
//!
//! | device | how |
//! | --- | --- |
//! | GPU of compute capability 9.0, `simt` | each convolution, its gradients and the dense layer are products of [`tile`](crate::tile): operands of bfloat16, sums and weights of single precision. A step is a CUDA graph; images and labels are on the device |
//! | CPU | the plain implementation, `warpplay_cpu_ref::mlp::conv`, in single precision |
//!
//! Other GPUs give [`Error::Unsupported`](crate::Error::Unsupported). The same device gives the same bits every time: no number is added atomically.
//!
//! | type | what it is |
//! | --- | --- |
//! | [`ConvTrainer`], [`ConvTrainerBuilder`] | trains a network, and classifies sets |
//! | [`ConvClassifier`], [`ConvClassifierBuilder`] | uses a network: classes, probabilities, logits |
//! | [`ConvOptions`] | blocks, batch, rates |
//! | [`ConvNetwork`] | the weights, in memory and in files |
//! | [`ConvReport`] | what a training found |

mod classifier;
mod cpu;
mod device;
mod engine;
mod network;
mod options;
mod report;
mod trainer;
mod weight_file;

pub use classifier::{ConvClassifier, ConvClassifierBuilder};
pub use network::ConvNetwork;
pub use options::ConvOptions;
pub use report::ConvReport;
pub use trainer::{ConvTrainer, ConvTrainerBuilder};
