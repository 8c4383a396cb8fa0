//! Memory of a stream: allocations and copies.

use std::sync::Arc;

use bytemuck::Pod;

use super::{CudaStream, Stream};
use crate::runtime::buffer::{Allocation, Buffer};
use crate::runtime::driver;
use crate::runtime::error::{Error, Result};
use crate::runtime::pinned::Pinned;

impl Stream {
    /// A new buffer of `len` values, all bytes zero. `len` may be 0.
    ///
    /// It is zeroed in this stream's order: call [`synchronize`](Self::synchronize) before another stream uses it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with both numbers if the device has less free memory, checked before the driver is asked;
    /// [`Error::Capture`] inside a capture; [`Error::Driver`] or [`Error::ContextDead`] if the driver refuses.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        self.outside_capture("Stream::alloc")?;
        let allocation = Allocation::new(&self.device, len, size_of::<T>())?;
        if let Some(cuda) = &self.cuda {
            self.zero_cuda(cuda, &allocation)?;
        }
        Ok(Buffer::from_allocation(allocation, len))
    }

    /// A new buffer that holds a copy of `values`.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>> {
        self.outside_capture("Stream::upload")?;
        let allocation = Allocation::new(&self.device, values.len(), size_of::<T>())?;
        let mut buffer = Buffer::from_allocation(allocation, values.len());
        self.write(&mut buffer, 0, values)?;
        Ok(buffer)
    }

    /// Copies `values` to the buffer, the first to position `offset`. The caller may change `values` as soon as this returns.
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not fit; [`Error::Device`] for a buffer of another device; [`Error::Capture`] inside
    /// a capture; [`Error::Driver`] or [`Error::ContextDead`] if something queued before has failed.
    pub fn write<T: Pod>(&self, buffer: &mut Buffer<T>, offset: usize, values: &[T]) -> Result<()> {
        self.before_copy("Stream::write", buffer, offset, values.len())?;
        let bytes: &[u8] = bytemuck::cast_slice(values);
        if bytes.is_empty() {
            return Ok(());
        }
        let at = offset * size_of::<T>();
        match &self.cuda {
            None => {
                if let Some(block) = buffer.allocation().host() {
                    block.write(at, bytes);
                }
                Ok(())
            }
            Some(cuda) => {
                cuda.context.enter()?;
                // SAFETY: the range lies inside the buffer; the source is pageable, so the driver has copied it to its own
                // memory before the call returns.
                let code = unsafe {
                    driver::cuMemcpyHtoDAsync_v2(
                        buffer.as_ptr() as u64 + at as u64,
                        bytes.as_ptr().cast(),
                        bytes.len(),
                        cuda.handle,
                    )
                };
                self.check(cuda, "cuMemcpyHtoDAsync", code)
            }
        }
    }

    /// Returns all values of the buffer, after all work queued before.
    ///
    /// # Errors
    /// [`Error::Device`] for a buffer of another device; [`Error::Capture`] inside a capture; [`Error::Driver`] if a
    /// kernel queued before has failed, with the names of those that were queued.
    pub fn read<T: Pod>(&self, buffer: &Buffer<T>) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); buffer.len()];
        self.read_into(buffer, 0, &mut values)?;
        Ok(values)
    }

    /// Fills `values` from the buffer, from position `offset` on, after all work queued before.
    ///
    /// # Errors
    /// [`Error::Shape`] if the buffer ends before; as [`read`](Self::read).
    pub fn read_into<T: Pod>(&self, buffer: &Buffer<T>, offset: usize, values: &mut [T]) -> Result<()> {
        self.before_copy("Stream::read", buffer, offset, values.len())?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        let at = offset * size_of::<T>();
        match &self.cuda {
            None => {
                if let Some(block) = buffer.allocation().host()
                    && !bytes.is_empty()
                {
                    block.read(at, bytes);
                }
                Ok(())
            }
            Some(cuda) => {
                cuda.context.enter()?;
                if !bytes.is_empty() {
                    // SAFETY: the range lies inside the buffer; `bytes` is borrowed until the code below has waited for the
                    // stream.
                    let code = unsafe {
                        driver::cuMemcpyDtoHAsync_v2(
                            bytes.as_mut_ptr().cast(),
                            buffer.as_ptr() as u64 + at as u64,
                            bytes.len(),
                            cuda.handle,
                        )
                    };
                    self.check(cuda, "cuMemcpyDtoHAsync", code)?;
                }
                self.synchronize()
            }
        }
    }

    /// Copies `n` values from `source`, position `from` on, to `target`, position `to` on, without the host.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn copy<T: Pod>(
        &self,
        target: &mut Buffer<T>,
        to: usize,
        source: &Buffer<T>,
        from: usize,
        n: usize,
    ) -> Result<()> {
        self.before_copy("Stream::copy", target, to, n)?;
        self.before_copy("Stream::copy", source, from, n)?;
        let bytes = n * size_of::<T>();
        let (to, from) = (to * size_of::<T>(), from * size_of::<T>());
        if bytes == 0 {
            return Ok(());
        }
        match &self.cuda {
            None => {
                if let (Some(target), Some(source)) = (target.allocation().host(), source.allocation().host()) {
                    // By way of a copy, so that only one of the two is held at a time.
                    let mut copy = vec![0; bytes];
                    source.read(from, &mut copy);
                    target.write(to, &copy);
                }
                Ok(())
            }
            Some(cuda) => {
                cuda.context.enter()?;
                // SAFETY: both ranges lie inside their buffers, which are distinct, since one is borrowed mutably.
                let code = unsafe {
                    driver::cuMemcpyDtoDAsync_v2(
                        target.as_ptr() as u64 + to as u64,
                        source.as_ptr() as u64 + from as u64,
                        bytes,
                        cuda.handle,
                    )
                };
                self.check(cuda, "cuMemcpyDtoDAsync", code)
            }
        }
    }

    /// Copies `n` lines of `width` values without the host. A side is a buffer, the position of its first line, and the distance from one line's first value to the next
    /// line's. Values between the lines of the target stay unchanged.
    ///
    /// # Errors
    /// [`Error::Shape`] for a stride below the width, or lines that end beyond a buffer; as [`write`](Self::write).
    pub fn copy_lines<T: Pod>(
        &self,
        target: (&mut Buffer<T>, usize, usize),
        source: (&Buffer<T>, usize, usize),
        width: usize,
        n: usize,
    ) -> Result<()> {
        let ((target, to, to_stride), (source, from, from_stride)) = (target, source);
        for (name, stride) in [("target", to_stride), ("source", from_stride)] {
            if stride < width {
                return Err(Error::shape(format!("stride of the {name}"), format!("at least {width}"), stride));
            }
        }
        // To the end of the last line; more than there are addresses is more than a buffer has.
        let extent = |stride: usize| match n {
            0 => 0,
            n => (n - 1).saturating_mul(stride).saturating_add(width),
        };
        self.before_copy("Stream::copy_lines", target, to, extent(to_stride))?;
        self.before_copy("Stream::copy_lines", source, from, extent(from_stride))?;
        let bytes = |values: usize| values.saturating_mul(size_of::<T>());
        let (width, to, from) = (bytes(width), bytes(to), bytes(from));
        // Of a single line the distance to the next says nothing.
        let pitch = |stride: usize| if n == 1 { width } else { bytes(stride) };
        let (to_pitch, from_pitch) = (pitch(to_stride), pitch(from_stride));
        if width == 0 || n == 0 {
            return Ok(());
        }
        match &self.cuda {
            None => {
                if let (Some(target), Some(source)) = (target.allocation().host(), source.allocation().host()) {
                    let mut line = vec![0; width];
                    for at in 0..n {
                        source.read(from + at * from_pitch, &mut line);
                        target.write(to + at * to_pitch, &line);
                    }
                }
                Ok(())
            }
            Some(cuda) => {
                cuda.context.enter()?;
                let source = (source.as_ptr() as u64 + from as u64, from_pitch);
                let target = (target.as_ptr() as u64 + to as u64, to_pitch);
                let copy = driver::Copy2D::on_device(source, target, width, n);
                // SAFETY: all lines lie inside their buffers, which are distinct, since one is borrowed mutably; the driver reads `copy` before it returns.
                let code = unsafe { driver::cuMemcpy2DAsync_v2(&copy, cuda.handle) };
                self.check(cuda, "cuMemcpy2DAsync", code)
            }
        }
    }

    /// Sets every byte of the buffer to 0. May be recorded in a capture.
    ///
    /// # Errors
    /// [`Error::Device`] for a buffer of another device; [`Error::Driver`] or [`Error::ContextDead`] if something
    /// queued before has failed.
    pub fn zero<T: Pod>(&self, buffer: &mut Buffer<T>) -> Result<()> {
        self.device.expect_same("buffer", buffer.device())?;
        let allocation = buffer.allocation();
        let mut state = self.state.borrow_mut();
        if let Some(recording) = &mut state.recording {
            recording.kept.push(Arc::clone(allocation));
            if self.cuda.is_none() {
                let allocation = Arc::clone(allocation);
                recording.operations.push(Box::new(move || {
                    zero_host(&allocation);
                    Ok(())
                }));
                return Ok(());
            }
        }
        drop(state);
        match &self.cuda {
            Some(cuda) => self.zero_cuda(cuda, allocation),
            None => {
                zero_host(allocation);
                Ok(())
            }
        }
    }

    fn zero_cuda(&self, cuda: &CudaStream, allocation: &Allocation) -> Result<()> {
        if allocation.bytes() == 0 {
            return Ok(());
        }
        cuda.context.enter()?;
        // SAFETY: the range is the allocation's own bytes.
        let code = unsafe { driver::cuMemsetD8Async(allocation.address() as u64, 0, allocation.bytes(), cuda.handle) };
        self.check(cuda, "cuMemsetD8Async", code)
    }

    /// Allocates page-locked host memory for `len` values, all bytes zero, for asynchronous copies.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the host has less free memory; [`Error::Capture`] inside a capture.
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<Pinned<T>> {
        self.outside_capture("Stream::pinned")?;
        Pinned::new(&self.device, len)
    }

    /// Queues a copy of the first `n` values of `source` to the buffer, the first to position `offset`.
    ///
    /// # Errors
    /// As [`write`](Self::write); [`Error::Shape`] also if `source` has fewer values.
    pub fn write_pinned<T: Pod>(
        &self,
        buffer: &mut Buffer<T>,
        offset: usize,
        source: &Pinned<T>,
        n: usize,
    ) -> Result<()> {
        self.before_copy("Stream::write_pinned", buffer, offset, n)?;
        self.before_pinned("Stream::write_pinned", source, n)?;
        let bytes = n * size_of::<T>();
        let at = offset * size_of::<T>();
        match &self.cuda {
            _ if bytes == 0 => Ok(()),
            None => self.write(buffer, offset, &source.as_slice()?[..n]),
            Some(cuda) => {
                cuda.context.enter()?;
                source.queue_copy(self.number, cuda.handle, || {
                    // SAFETY: the range lies inside the buffer; the pinned memory waits for this copy before anybody
                    // changes or frees it.
                    let code = unsafe {
                        driver::cuMemcpyHtoDAsync_v2(
                            buffer.as_ptr() as u64 + at as u64,
                            source.address().cast(),
                            bytes,
                            cuda.handle,
                        )
                    };
                    self.check(cuda, "cuMemcpyHtoDAsync", code)
                })
            }
        }
    }

    /// Queues a copy of `n` values of the buffer, from position `offset` on, to the first `n` of `target`.
    ///
    /// # Errors
    /// As [`write_pinned`](Self::write_pinned).
    pub fn read_pinned<T: Pod>(
        &self,
        buffer: &Buffer<T>,
        offset: usize,
        target: &mut Pinned<T>,
        n: usize,
    ) -> Result<()> {
        self.before_copy("Stream::read_pinned", buffer, offset, n)?;
        self.before_pinned("Stream::read_pinned", target, n)?;
        let bytes = n * size_of::<T>();
        let at = offset * size_of::<T>();
        match &self.cuda {
            _ if bytes == 0 => Ok(()),
            None => self.read_into(buffer, offset, &mut target.as_mut_slice()?[..n]),
            Some(cuda) => {
                cuda.context.enter()?;
                target.queue_copy(self.number, cuda.handle, || {
                    // SAFETY: the range lies inside the buffer; the pinned memory waits for this copy before anybody
                    // looks at it or frees it.
                    let code = unsafe {
                        driver::cuMemcpyDtoHAsync_v2(
                            target.address().cast(),
                            buffer.as_ptr() as u64 + at as u64,
                            bytes,
                            cuda.handle,
                        )
                    };
                    self.check(cuda, "cuMemcpyDtoHAsync", code)
                })
            }
        }
    }

    fn before_copy<T>(&self, call: &'static str, buffer: &Buffer<T>, offset: usize, n: usize) -> Result<()> {
        self.outside_capture(call)?;
        self.device.expect_same("buffer", buffer.device())?;
        if offset.checked_add(n).is_some_and(|end| end <= buffer.len()) {
            return Ok(());
        }
        Err(Error::shape(
            format!("{call} from position {offset}"),
            format!("at most {} values", buffer.len().saturating_sub(offset)),
            format!("{n} values"),
        ))
    }

    fn before_pinned<T>(&self, call: &'static str, pinned: &Pinned<T>, n: usize) -> Result<()> {
        self.device.expect_same("pinned memory", pinned.device())?;
        if n <= pinned.len() {
            return Ok(());
        }
        Err(Error::shape(
            format!("{call} of pinned memory"),
            format!("at most {} values", pinned.len()),
            format!("{n} values"),
        ))
    }
}

fn zero_host(allocation: &Allocation) {
    if let Some(block) = allocation.host() {
        block.zero();
    }
}
