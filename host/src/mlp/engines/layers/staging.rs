//! Batches on their way from a set in host memory: two slots, so that one is filled while the other's step is computed.

use warpplay_gpu::mlp::layers::view::image_stride;

use super::kernels::{Findings, Sample, Samples};
use crate::mlp::Dataset;
use crate::{Event, Pinned, Result, Stream};

/// One slot for a batch, on the host and on the device.
pub(super) struct Slot {
    pub samples: Samples,
    images: Pinned<u8>,
    labels: Pinned<u8>,
    /// `[capacity, n_targets]`; empty where there are labels.
    targets: Pinned<f32>,
    /// Events around the last copy, if its time has not been counted yet.
    marks: [Event; 2],
    copied: bool,
}

/// Both slots.
pub(super) struct Staging {
    pub slots: [Slot; 2],
    /// Results of classification from the first slot.
    pub findings: Findings,
    n_inputs: usize,
    n_targets: usize,
    copy_ms: f64,
}

impl Staging {
    /// Allocates the memory for batches of at most `capacity` samples, which are images.
    pub fn new(stream: &Stream, sample: Sample, capacity: u32) -> Result<Self> {
        let Sample { n_inputs, n_targets, .. } = sample;
        let n_numbers = n_targets.unwrap_or(0) as usize;
        let slot = || {
            Ok::<_, crate::Error>(Slot {
                samples: Samples::new(stream, sample, capacity)?,
                images: stream.pinned(image_stride(n_inputs) as usize * capacity as usize)?,
                labels: stream.pinned(if n_targets.is_none() { capacity as usize } else { 0 })?,
                targets: stream.pinned(n_numbers * capacity as usize)?,
                marks: [stream.event()?, stream.event()?],
                copied: false,
            })
        };
        let slots = [slot()?, slot()?];
        let (findings, n_inputs) = (Findings::new(stream, capacity)?, n_inputs as usize);
        Ok(Self { slots, findings, n_inputs, n_targets: n_numbers, copy_ms: 0.0 })
    }

    /// Waits for the last copy from the pinned memory, gathers samples there, and queues their copy to the device.
    pub fn fill(
        &mut self,
        stream: &Stream,
        slot: usize,
        set: &Dataset,
        samples: impl ExactSizeIterator<Item = usize>,
    ) -> Result<()> {
        self.count(slot)?;
        let n = samples.len();
        let stride = image_stride(self.n_inputs as u32) as usize;
        let Slot { samples: target, images, labels, targets, marks, copied } = &mut self.slots[slot];
        let lines = images.as_mut_slice()?.chunks_exact_mut(stride);
        let (n_targets, labels_here, targets_here) = (self.n_targets, labels.as_mut_slice()?, targets.as_mut_slice()?);
        for (at, (sample, line)) in samples.zip(lines).enumerate() {
            line[..self.n_inputs].copy_from_slice(&set.images()[sample * self.n_inputs..][..self.n_inputs]);
            match set.targets() {
                Some(targets) => targets_here[at * n_targets..][..n_targets]
                    .copy_from_slice(&targets[sample * n_targets..][..n_targets]),
                None => labels_here[at] = set.labels()[sample],
            }
        }
        stream.record(&marks[0])?;
        target.write_pinned(stream, images, labels, targets, n)?;
        stream.record(&marks[1])?;
        *copied = true;
        Ok(())
    }

    /// Adds the time of the last copy to a slot.
    fn count(&mut self, slot: usize) -> Result<()> {
        let Slot { marks: [start, end], copied, .. } = &mut self.slots[slot];
        if std::mem::take(copied) {
            self.copy_ms += f64::from(Event::elapsed_ms(start, end)?);
        }
        Ok(())
    }

    /// Milliseconds of all copies since the last call; waits for them.
    pub fn take_copy_ms(&mut self) -> Result<f64> {
        for slot in 0..self.slots.len() {
            self.count(slot)?;
        }
        Ok(std::mem::take(&mut self.copy_ms))
    }
}
