//! Where samples come from: sets on the device, or in host memory from where each batch is copied.

use std::sync::Arc;

use warpplay_gpu::mlp::random;

use warpplay::mlp::Dataset;
use warpplay::{Buffer, Event, Pinned, Result, Stream};

/// Samples' numbers in the order of an epoch (from 0): by the random number of each, ties by number.
pub(super) fn epoch_order(seed: u32, epoch: u32, n: usize) -> Vec<u32> {
    let key = random::key(seed, random::order_stream(epoch));
    let mut ranks: Vec<(u64, u32)> = (0..n as u32).map(|at| (random::element(key, u64::from(at) + 1), at)).collect();
    ranks.sort_unstable();
    ranks.into_iter().map(|(_, sample)| sample).collect()
}

/// A loaded set.
pub(super) struct Loaded {
    pub set: Arc<Dataset>,
    /// Pixels and labels; `None` where the set stays in host memory.
    pub resident: Option<(Buffer<u8>, Buffer<u8>)>,
}

/// One of the two slots through which batches go to the device: while one is copied, the next is put together in the other.
struct Slot {
    host_pixels: Pinned<u8>,
    host_labels: Pinned<u8>,
    pixels: Buffer<u8>,
    labels: Buffer<u8>,
    /// Around the copy.
    events: (Event, Event),
    /// Whether the copy's time has not been read yet.
    copied: bool,
}

/// Copies batches from the host.
pub(super) struct Feed {
    slots: [Slot; 2],
    next: usize,
    /// Seconds that the device spent on copies whose time has been read.
    seconds: f64,
    n_rows: u32,
}

impl Feed {
    /// Room for batches of `n_rows` samples of `n_inputs` bytes.
    pub fn new(stream: &Stream, n_rows: u32, n_inputs: u32) -> Result<Self> {
        let n = n_rows as usize * n_inputs as usize;
        let slot = || -> Result<Slot> {
            Ok(Slot {
                host_pixels: stream.pinned(n)?,
                host_labels: stream.pinned(n_rows as usize)?,
                pixels: stream.alloc(n)?,
                labels: stream.alloc(n_rows as usize)?,
                events: (stream.event()?, stream.event()?),
                copied: false,
            })
        };
        Ok(Self { slots: [slot()?, slot()?], next: 0, seconds: 0.0, n_rows })
    }

    /// Largest batch.
    pub fn n_rows(&self) -> u32 {
        self.n_rows
    }

    /// Puts the samples `samples` of a set together and queues their copy; where they will lie, in this order.
    pub fn send(&mut self, stream: &Stream, set: &Dataset, samples: &[u32]) -> Result<(&Buffer<u8>, &Buffer<u8>)> {
        let slot = &mut self.slots[self.next];
        self.next = 1 - self.next;
        self.seconds += slot.take_seconds()?;
        let n_inputs = set.n_inputs() as usize;
        let pixels = slot.host_pixels.as_mut_slice()?;
        let labels = slot.host_labels.as_mut_slice()?;
        for ((&sample, pixels), label) in samples.iter().zip(pixels.chunks_exact_mut(n_inputs)).zip(labels) {
            let at = sample as usize;
            pixels.copy_from_slice(&set.images()[at * n_inputs..(at + 1) * n_inputs]);
            *label = set.labels()[at];
        }
        stream.record(&slot.events.0)?;
        stream.write_pinned(&mut slot.pixels, 0, &slot.host_pixels, samples.len() * n_inputs)?;
        stream.write_pinned(&mut slot.labels, 0, &slot.host_labels, samples.len())?;
        stream.record(&slot.events.1)?;
        slot.copied = true;
        Ok((&slot.pixels, &slot.labels))
    }

    /// Seconds that the device has spent on copies since this was last asked; waits for them.
    pub fn take_seconds(&mut self) -> Result<f64> {
        for slot in &mut self.slots {
            self.seconds += slot.take_seconds()?;
        }
        Ok(std::mem::take(&mut self.seconds))
    }
}

impl Slot {
    fn take_seconds(&mut self) -> Result<f64> {
        if !std::mem::take(&mut self.copied) {
            return Ok(0.0);
        }
        Ok(f64::from(Event::elapsed_ms(&self.events.0, &self.events.1)?) / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_order_is_the_published_one() {
        let order = epoch_order(1, 0, 60_000);
        assert_eq!(order[..8], [2133, 15851, 41853, 47156, 38877, 13727, 25191, 41425]);
        assert_eq!(epoch_order(1, 1, 60_000)[..4], [13657, 59073, 13996, 51306]);
    }
}
