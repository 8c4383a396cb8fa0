//! A network in use: labelled sets and single images.

use std::sync::Arc;
use std::time::Instant;

use warpplay::mlp::{Classified, Dataset, Evaluation};
use warpplay::{Buffer, Error, Precision, Result};

use super::{Findings, Order, Part, Program, order_error};
use crate::mnist_mlp::program::arrays::{self, Batch};
use crate::mnist_mlp::program::launches::Extent;
use crate::mnist_mlp::program::step;

impl Program {
    /// Classifies a labelled set with the present weights.
    ///
    /// # Errors
    /// [`Error::Shape`] if its images have another size than the network's inputs, or a label is beyond its classes; errors of the device.
    pub fn evaluate(&mut self, set: &Arc<Dataset>) -> Result<Evaluation> {
        set.expect_fits(&self.sizes)?;
        let at = self.load(set)?;
        let start = Instant::now();
        let found = self.classify(at)?;
        let (n_classes, seconds) = (self.sizes[self.sizes.len() - 1], start.elapsed().as_secs_f64());
        let evaluation = found.evaluation(set, n_classes, &self.device, seconds);
        Ok(Evaluation { precision: Some(Precision::F32), ..evaluation })
    }

    /// Classifies a loaded set, `evaluate_batch` samples at once.
    pub(super) fn classify(&mut self, set: usize) -> Result<Classified> {
        let Some(loaded) = self.sets.get(set) else {
            return Err(order_error("a data set", "it was never loaded"));
        };
        let (n, resident) = (loaded.set.len(), loaded.resident.is_some());
        let batch = self.evaluate_batch(n);
        let n_batches = n.div_ceil(batch as usize);
        if !resident {
            self.make_feed(batch)?;
        }
        self.make_room(if resident { n } else { batch as usize }, n_batches)?;
        self.scratch.grow(&self.stream, &self.sizes, self.trains, batch)?;
        let n_hidden = self.layers.len() - 1;
        self.findings.reset(&self.stream, n)?;
        let mut operations = step::forward(self.layers.len());
        operations.extend(step::losses(&self.options.forms));
        self.stream.zero(&mut self.sums)?;
        for slot in 0..n_batches as u32 {
            let first = slot * batch;
            let n_rows = batch.min(n as u32 - first);
            let order = Order::Ascending;
            let part = Part { set, order, first, n_rows, factor: 1.0, learning_rate: 0.0, slot };
            self.launch(&operations, &part)?;
            let Self { stream, kernels, scratch, layers, findings, .. } = self;
            let Findings { classes, n_correct, active } = findings;
            let extent = Extent::new(n_rows, layers[n_hidden].n_outputs);
            kernels.accuracy(stream, scratch.logits()?, scratch.labels(), classes, first, n_correct, extent)?;
            for (at, active) in active.iter_mut().enumerate() {
                let extent = Extent::new(n_rows, layers[at].n_outputs);
                kernels.units_active(stream, scratch.hidden(at)?, active, extent)?;
            }
        }
        let mut losses = vec![0.0; n_batches];
        self.stream.read_into(&self.sums, 0, &mut losses)?;
        let flags = |active: &Buffer<u32>| {
            let flags = self.stream.read(active)?;
            Ok(flags.into_iter().map(|flag| flag != 0).collect())
        };
        let mut classes = vec![0; n];
        self.stream.read_into(&self.findings.classes, 0, &mut classes)?;
        Ok(Classified {
            classes,
            loss_sum: losses.iter().copied().map(f64::from).sum(),
            active: self.findings.active.iter().map(flags).collect::<Result<_>>()?,
        })
    }

    /// Logits `[n, n_classes]` of `n` images of bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `images` is a whole number of images, at least one; errors of the device.
    pub fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>> {
        let (n_inputs, n_classes) = (self.sizes[0] as usize, self.sizes[self.sizes.len() - 1] as usize);
        if images.is_empty() || !images.len().is_multiple_of(n_inputs) {
            return Err(Error::shape("images", format!("a multiple of {n_inputs} bytes"), images.len()));
        }
        let n = images.len() / n_inputs;
        let batch = self.evaluate_batch(n);
        self.make_room(batch as usize, 1)?;
        self.scratch.grow(&self.stream, &self.sizes, self.trains, batch)?;
        let operations = step::forward(self.layers.len());
        let labels = self.stream.alloc(0)?;
        let mut logits = vec![0.0; n * n_classes];
        let parts = images.chunks(batch as usize * n_inputs).zip(logits.chunks_mut(batch as usize * n_classes));
        for (images, logits) in parts {
            let pixels = self.stream.upload(images)?;
            let Self { stream, kernels, layers, scratch, ascending, sums, .. } = self;
            let n_rows = (images.len() / n_inputs) as u32;
            let mut batch = Batch {
                pixels: &pixels,
                labels: &labels,
                order: ascending,
                first: 0,
                n_rows,
                factor: 1.0,
                learning_rate: 0.0,
                sums,
                slot: 0,
            };
            for &operation in &operations {
                arrays::launch(kernels, stream, layers, scratch, &mut batch, operation)?;
            }
            stream.read_into(scratch.logits()?, 0, logits)?;
        }
        Ok(logits)
    }
}
