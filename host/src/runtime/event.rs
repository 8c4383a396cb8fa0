//! Marks in a stream, to measure the time between them.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::runtime::context::Context;
use crate::runtime::device::Device;
use crate::runtime::driver::{self, Handle};
use crate::runtime::error::{Error, Result};

/// A mark that [`Stream::record`](crate::Stream::record) sets in a stream; the device notes the time at which it reaches the mark.
///
/// ```
/// use warpplay::{Device, Event};
/// let stream = Device::simt().stream()?;
/// let (start, end) = (stream.event()?, stream.event()?);
/// stream.record(&start)?;
/// stream.record(&end)?;
/// assert!(Event::elapsed_ms(&start, &end)? >= 0.0);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Event {
    device: Device,
    kind: Kind,
}

enum Kind {
    Cuda(CudaEvent, AtomicBool),
    Host(Mutex<Option<Instant>>),
}

/// An event of the driver, destroyed in its own context.
pub(crate) struct CudaEvent {
    handle: Handle,
    context: Arc<Context>,
}

impl CudaEvent {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self> {
        context.enter()?;
        let mut handle = Handle::NULL;
        // SAFETY: `handle` is written before the call returns.
        let code = unsafe { driver::cuEventCreate(&mut handle, driver::DEFAULT) };
        context.check("cuEventCreate", code)?;
        Ok(Self { handle, context: Arc::clone(context) })
    }

    /// Sets the mark after all work queued in a stream of the same device.
    pub(crate) fn record(&self, stream: Handle) -> Result<()> {
        self.context.enter()?;
        // SAFETY: event and stream belong to this context, which is current.
        self.context.check("cuEventRecord", unsafe { driver::cuEventRecord(self.handle, stream) })
    }

    /// Waits until the device has reached the event.
    pub(crate) fn wait(&self) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the event belongs to this context, which is current.
        self.context.check("cuEventSynchronize", unsafe { driver::cuEventSynchronize(self.handle) })
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        // The events of a dead context go with the context.
        if self.context.enter().is_ok() {
            // SAFETY: made by `cuEventCreate`, destroyed once.
            unsafe { driver::cuEventDestroy_v2(self.handle) };
        }
    }
}

impl Event {
    pub(crate) fn new(device: &Device) -> Result<Self> {
        let kind = match device.context() {
            Some(context) => Kind::Cuda(CudaEvent::new(context)?, AtomicBool::new(false)),
            None => Kind::Host(Mutex::new(None)),
        };
        Ok(Self { device: device.clone(), kind })
    }

    /// Sets the mark after all queued work; `stream` is `None` unless the device is a GPU.
    pub(crate) fn record(&self, stream: Option<Handle>) -> Result<()> {
        match (&self.kind, stream) {
            (Kind::Cuda(event, recorded), Some(stream)) => {
                event.record(stream)?;
                recorded.store(true, Ordering::Release);
            }
            (Kind::Host(instant), _) => {
                *instant.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            }
            // Excluded by the check of devices before.
            (Kind::Cuda(..), None) => {}
        }
        Ok(())
    }

    /// The device it was made on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until the device has reached the event; returns at once if it was never recorded.
    ///
    /// # Errors
    /// [`Error::Driver`] if a kernel before the event failed.
    pub fn wait(&self) -> Result<()> {
        match &self.kind {
            Kind::Cuda(event, _) => event.wait(),
            Kind::Host(_) => Ok(()),
        }
    }

    /// Milliseconds of device time from `start` to `end`. Waits for `end`; resolution about half a microsecond.
    ///
    /// # Errors
    /// [`Error::Order`] if one of them was never recorded; [`Error::Device`] if they belong to different devices;
    /// [`Error::Driver`] if a kernel before `end` failed.
    pub fn elapsed_ms(start: &Event, end: &Event) -> Result<f32> {
        start.device.expect_same("end event", &end.device)?;
        match (&start.kind, &end.kind) {
            (Kind::Cuda(from, from_recorded), Kind::Cuda(to, to_recorded)) => {
                for recorded in [from_recorded, to_recorded] {
                    if !recorded.load(Ordering::Acquire) {
                        return Err(never_recorded());
                    }
                }
                from.wait()?;
                to.wait()?;
                let mut milliseconds = 0.0;
                // SAFETY: both events belong to the context that `wait` has made current; the driver writes one number.
                let code = unsafe { driver::cuEventElapsedTime(&mut milliseconds, from.handle, to.handle) };
                to.context.check("cuEventElapsedTime", code)?;
                Ok(milliseconds)
            }
            (Kind::Host(from), Kind::Host(to)) => {
                let get = |mark: &Mutex<Option<Instant>>| {
                    let mark = mark.lock().unwrap_or_else(PoisonError::into_inner);
                    (*mark).ok_or_else(never_recorded)
                };
                let (from, to) = (get(from)?, get(to)?);
                Ok(to.saturating_duration_since(from).as_secs_f32() * 1e3)
            }
            _ => Err(never_recorded()),
        }
    }
}

fn never_recorded() -> Error {
    Error::Order {
        what: "event",
        reason: "it was never recorded, call Stream::record before Event::elapsed_ms".to_string(),
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event(on {})", self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_was_not_recorded_is_an_error() {
        let stream = Device::simt().stream().expect("simt");
        let (start, end) = (stream.event().expect("simt"), stream.event().expect("simt"));
        stream.record(&start).expect("simt");
        let error = Event::elapsed_ms(&start, &end).expect_err("no end");
        assert!(error.to_string().starts_with("event: it was never recorded"));
    }
}
