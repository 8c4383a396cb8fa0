//! What the second-level cache is asked to keep.

use std::ffi::c_int;

use super::Stream;
use crate::runtime::buffer::Buffer;
use crate::runtime::device::Device;
use crate::runtime::driver::{self, AccessPolicyWindow, device_attribute};
use crate::runtime::error::{Error, Result};

/// A range of device memory, from the first to the last byte of some buffers.
///
/// ```
/// use warpplay::{Device, L2Span};
/// let stream = Device::simt().stream()?;
/// let (weights, biases) = (stream.upload(&[1.0f32; 100])?, stream.upload(&[0.0f32; 10])?);
/// let span = L2Span::of(&weights).and(&biases);
/// assert!(span.bytes() >= 440);
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct L2Span {
    device: Device,
    first: usize,
    end: usize,
}

impl L2Span {
    /// The bytes of a buffer.
    pub fn of<T>(buffer: &Buffer<T>) -> Self {
        let first = buffer.as_ptr() as usize;
        Self { device: buffer.device().clone(), first, end: first + buffer.len() * size_of::<T>() }
    }

    /// Extends the range to another buffer, including all memory between: useful for buffers that were allocated one after the other. A buffer of another device, or an
    /// empty one, changes nothing.
    pub fn and<T>(mut self, buffer: &Buffer<T>) -> Self {
        let other = Self::of(buffer);
        if other.device == self.device && other.bytes() > 0 {
            self.first = self.first.min(other.first);
            self.end = self.end.max(other.end);
        }
        self
    }

    /// Length of the range.
    pub fn bytes(&self) -> usize {
        self.end - self.first
    }
}

/// What was requested of the cache.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct L2Window {
    /// Bytes of the cache that are reserved.
    pub kept_bytes: usize,
    /// Bytes of the window.
    pub window_bytes: usize,
    /// Share of the window's lines that are kept: 1 where it fits.
    pub hit_ratio: f32,
}

impl Stream {
    /// Asks the second-level cache to keep the lines of a range that this stream's kernels access: the part of the cache reserved for them is not used for other memory.
    /// Applies to launches and recordings from now on, until [`Stream::release_l2`]. It affects speed only.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a back end without such a cache, and on devices before compute capability 8.0; [`Error::Device`] for a range of another
    /// device; [`Error::Driver`] if the driver refuses.
    pub fn keep_in_l2(&self, span: &L2Span) -> Result<L2Window> {
        self.outside_capture("Stream::keep_in_l2")?;
        self.device.expect_same("range", &span.device)?;
        let unsupported = || Error::Unsupported {
            what: "keeping memory in the second-level cache".to_string(),
            backend: self.device.backend().to_string(),
            remedy: "it needs a GPU of compute capability 8.0 or newer".to_string(),
        };
        let Some(cuda) = &self.cuda else { return Err(unsupported()) };
        cuda.context.enter()?;
        let most = |attribute| self.l2_attribute(attribute);
        let (most_kept, most_window) =
            (most(device_attribute::MAX_PERSISTING_L2_BYTES)?, most(device_attribute::MAX_ACCESS_POLICY_WINDOW_BYTES)?);
        if most_kept == 0 || most_window == 0 {
            return Err(unsupported());
        }
        let window_bytes = span.bytes().min(most_window);
        let kept_bytes = window_bytes.min(most_kept);
        // SAFETY: the context is current; a limit is a number.
        let code = unsafe { driver::cuCtxSetLimit(driver::LIMIT_PERSISTING_L2_CACHE_SIZE, kept_bytes) };
        self.check(cuda, "cuCtxSetLimit", code)?;
        let hit_ratio = if window_bytes == 0 { 0.0 } else { kept_bytes as f32 / window_bytes as f32 };
        self.set_window(AccessPolicyWindow::persisting(span.first, window_bytes, hit_ratio))?;
        Ok(L2Window { kept_bytes, window_bytes, hit_ratio })
    }

    /// Ends [`Stream::keep_in_l2`]: the whole cache serves all memory again.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver refuses. Without a preceding `keep_in_l2` the call succeeds and does nothing.
    pub fn release_l2(&self) -> Result<()> {
        self.outside_capture("Stream::release_l2")?;
        let Some(cuda) = &self.cuda else { return Ok(()) };
        cuda.context.enter()?;
        if self.l2_attribute(device_attribute::MAX_PERSISTING_L2_BYTES)? == 0 {
            return Ok(());
        }
        self.set_window(AccessPolicyWindow::none())?;
        // SAFETY: the context is current; both only change what the cache keeps.
        let code = unsafe { driver::cuCtxResetPersistingL2Cache() };
        self.check(cuda, "cuCtxResetPersistingL2Cache", code)?;
        // SAFETY: as above.
        let code = unsafe { driver::cuCtxSetLimit(driver::LIMIT_PERSISTING_L2_CACHE_SIZE, 0) };
        self.check(cuda, "cuCtxSetLimit", code)
    }

    /// An attribute of the device, in bytes.
    fn l2_attribute(&self, attribute: c_int) -> Result<usize> {
        let Some(cuda) = &self.cuda else { return Ok(0) };
        let (mut device, mut value): (c_int, c_int) = (0, 0);
        // SAFETY: the caller has made the context current; both write one number before they return.
        let code = unsafe { driver::cuCtxGetDevice(&mut device) };
        self.check(cuda, "cuCtxGetDevice", code)?;
        // SAFETY: as above.
        let code = unsafe { driver::cuDeviceGetAttribute(&mut value, attribute, device) };
        self.check(cuda, "cuDeviceGetAttribute", code)?;
        Ok(usize::try_from(value).unwrap_or(0))
    }

    fn set_window(&self, window: AccessPolicyWindow) -> Result<()> {
        let Some(cuda) = &self.cuda else { return Ok(()) };
        let value = driver::StreamAttribute { window, rest: [0; 4] };
        // SAFETY: the context is current and owns the stream; the value has the attribute's type and is copied before the call returns. The window is a hint: the call does
        // not access its memory.
        let code =
            unsafe { driver::cuStreamSetAttribute(cuda.handle, driver::STREAM_ACCESS_POLICY_WINDOW, &raw const value) };
        self.check(cuda, "cuStreamSetAttribute", code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_its_buffers() {
        let stream = Device::simt().stream().expect("simt");
        let (a, b) = (stream.alloc::<u32>(10).expect("small"), stream.alloc::<u8>(3).expect("small"));
        let empty = stream.alloc::<u8>(0).expect("empty");
        let both = L2Span::of(&a).and(&b).and(&empty);
        for (first, bytes) in [(a.as_ptr() as usize, 40), (b.as_ptr() as usize, 3)] {
            assert!(both.first <= first && first + bytes <= both.end);
        }
        assert!(matches!(stream.keep_in_l2(&both), Err(Error::Unsupported { .. })));
        stream.release_l2().expect("nothing to do");
    }

    #[test]
    fn the_cache_of_a_gpu_is_asked_and_let_go() {
        let Ok(device) = Device::cuda(0) else { return };
        let stream = device.stream().expect("a device with kernels");
        let buffer = stream.alloc::<f32>(1 << 20).expect("4 MiB");
        match stream.keep_in_l2(&L2Span::of(&buffer)) {
            Ok(window) => assert!(window.window_bytes == 4 << 20 && window.kept_bytes > 0 && window.hit_ratio <= 1.0),
            Err(error) => assert!(matches!(error, Error::Unsupported { .. }), "{error}"),
        }
        assert_eq!(stream.read(&buffer).expect("as before")[7], 0.0);
        stream.release_l2().expect("let go");
    }
}
