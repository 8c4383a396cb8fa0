//! Device memory.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use warpplay_gpu::simt::memory::{Registration, register};

use crate::runtime::context::Context;
use crate::runtime::device::Device;
use crate::runtime::driver;
use crate::runtime::error::{Error, Result};
use crate::runtime::info::Backend;
use crate::runtime::memory::out_of_memory;

/// Alignment of every buffer in bytes: the driver's, and kept on the CPU too.
const ALIGNMENT: usize = 256;

/// `len` values of type `T` in a device's memory, made by [`Stream::alloc`](crate::Stream::alloc) or
/// [`upload`](crate::Stream::upload).
///
/// A buffer knows its length and its device; using it on another device is an error. A launch takes `&Buffer<T>`
/// for a parameter `*const T` that the kernel reads, and `&mut Buffer<T>` for a `*mut T` that it writes. The memory is
/// freed when the buffer and every [`Graph`](crate::Graph) that uses it are dropped.
///
/// ```
/// use warpplay::Device;
/// let stream = Device::simt().stream()?;
/// let mut squares = stream.alloc::<u32>(4)?;
/// assert_eq!(stream.read(&squares)?, [0; 4]);
/// stream.write(&mut squares, 1, &[1, 4, 9])?;
/// assert_eq!(stream.read(&squares)?, [0, 1, 4, 9]);
/// assert!(squares.expect_len("squares", 5).is_err());
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Buffer<T> {
    allocation: Arc<Allocation>,
    len: usize,
    values: PhantomData<fn() -> T>,
}

impl<T> Buffer<T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &Device {
        &self.allocation.device
    }

    /// Checks the length before a launch; `name` is what the error calls the buffer.
    ///
    /// # Errors
    /// [`Error::Shape`] if the buffer does not hold exactly `len` values.
    pub fn expect_len(&self, name: &str, len: usize) -> Result<()> {
        if self.len == len {
            return Ok(());
        }
        Err(Error::shape(name, format!("{len} values"), format!("{} values", self.len)))
    }

    /// Checks the length before a launch that uses the first `len` values; `name` is what the error calls the buffer.
    ///
    /// # Errors
    /// [`Error::Shape`] if the buffer holds fewer.
    pub fn expect_len_at_least(&self, name: &str, len: usize) -> Result<()> {
        if self.len >= len {
            return Ok(());
        }
        Err(Error::shape(name, format!("at least {len} values"), format!("{} values", self.len)))
    }

    /// Address of the first value on the device, for parameters that are structs of pointers.
    ///
    /// The host must not follow it. It dangles, aligned, where the buffer is empty.
    pub fn as_ptr(&self) -> *const T {
        self.allocation.address().cast()
    }

    /// Address of the first value on the device, for a kernel that writes there.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.allocation.address().cast()
    }

    /// A buffer over memory that another library owns, without a copy: `len` values from `address` on. `owner` is dropped with the buffer (of no values at once), or with the last
    /// [`Graph`](crate::Graph) that uses it, and nothing is freed but by that.
    ///
    /// # Safety
    /// Until `owner` is dropped, `len` values lie at `address` in memory of `device` (in the device's primary context, or on [`Backend::Simt`](crate::Backend::Simt) in
    /// the host's memory), all of them written, any bytes are a value of `T`, and nobody else writes them while work that uses the buffer is queued, nor reads them while such work
    /// writes. Dropping the buffer waits for nothing: work that uses it has ended (`Stream::synchronize`) before the buffer, and every graph with it, is dropped.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on the CPU back end, which has no memory of its own; [`Error::Shape`] for an address that is not a multiple of 256, as kernels expect it, or for more
    /// bytes than there are addresses. `owner` is dropped then.
    pub unsafe fn borrowed(
        device: &Device,
        address: usize,
        len: usize,
        owner: Box<dyn std::any::Any + Send + Sync>,
    ) -> Result<Self> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize);
        let bytes = bytes.ok_or_else(|| Error::shape("borrowed memory", "fewer bytes than addresses", len))?;
        if !address.is_multiple_of(ALIGNMENT) {
            let expected = format!("at an address that is a multiple of {ALIGNMENT}: copy it to memory of its own");
            return Err(Error::shape("borrowed memory", expected, format!("{address:#x}")));
        }
        let storage = match (NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(address)), device.context()) {
            _ if device.backend() == Backend::Cpu => {
                return Err(Error::Unsupported {
                    what: "a buffer".to_string(),
                    backend: Backend::Cpu.to_string(),
                    remedy: "give engines that run there slices of the host's memory".to_string(),
                });
            }
            (Some(_), _) if bytes == 0 => Storage::Empty,
            (Some(_), Some(context)) => {
                let context = Arc::clone(context);
                Storage::Cuda(CudaBlock { address: address as u64, bytes, context, owner: Some(owner) })
            }
            (Some(address), None) => {
                let layout = Layout::from_size_align(bytes, ALIGNMENT)
                    .map_err(|_| Error::shape("borrowed memory", "fewer bytes than addresses", len))?;
                let block = HostBlock { address, layout, lock: Mutex::new(()), owner: Some(owner) };
                let registration = register(block.address.as_ptr() as usize, bytes);
                Storage::Host(block, registration)
            }
            (None, _) if bytes == 0 => Storage::Empty,
            (None, _) => return Err(Error::shape("borrowed memory", "at an address above 0", 0)),
        };
        Ok(Self::from_allocation(Allocation { device: device.clone(), storage }, len))
    }

    pub(crate) fn from_allocation(allocation: Allocation, len: usize) -> Self {
        Self { allocation: Arc::new(allocation), len, values: PhantomData }
    }

    /// The same memory once more, to be read.
    #[cfg(any(feature = "mlp", feature = "tile"))]
    pub(crate) fn share(&self) -> Self {
        Self { allocation: Arc::clone(&self.allocation), len: self.len, values: PhantomData }
    }

    pub(crate) fn allocation(&self) -> &Arc<Allocation> {
        &self.allocation
    }

    #[cfg(feature = "cust")]
    pub(crate) fn into_allocation(self) -> Arc<Allocation> {
        self.allocation
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = std::any::type_name::<T>();
        write!(f, "Buffer<{of}>({} values on {})", self.len, self.device())
    }
}

/// Bytes of a device's memory, freed on drop.
pub(crate) struct Allocation {
    device: Device,
    storage: Storage,
}

enum Storage {
    Empty,
    Cuda(CudaBlock),
    #[cfg(feature = "shogi")]
    Imported(Imported),
    Host(HostBlock, #[allow(dead_code)] Registration),
}

impl Allocation {
    /// Bytes on `device`. They are zero on the CPU, and of any value on a GPU.
    pub(crate) fn new(device: &Device, n: usize, value_bytes: usize) -> Result<Self> {
        let storage = match n.checked_mul(value_bytes) {
            Some(0) => Storage::Empty,
            Some(bytes) if bytes <= isize::MAX as usize - ALIGNMENT => {
                let free = device.memory()?.free;
                if bytes as u64 > free {
                    return Err(out_of_memory(device, bytes as u64, free));
                }
                let storage = match device.context() {
                    Some(context) => Storage::Cuda(CudaBlock::new(device, context, bytes)?),
                    None => {
                        let block = HostBlock::new(device, bytes)?;
                        let registration = register(block.address.as_ptr() as usize, bytes);
                        Storage::Host(block, registration)
                    }
                };
                device.count_allocation();
                storage
            }
            _ => {
                let needed = u64::try_from(n as u128 * value_bytes as u128).unwrap_or(u64::MAX);
                return Err(out_of_memory(device, needed, device.memory()?.free));
            }
        };
        Ok(Self { device: device.clone(), storage })
    }

    /// Takes memory that the driver's `cuMemAlloc` gave in this context; it is freed with this value.
    #[cfg(feature = "cust")]
    pub(crate) fn taken(device: &Device, context: &Arc<Context>, address: u64, bytes: usize) -> Self {
        let storage = match bytes {
            0 => Storage::Empty,
            _ => Storage::Cuda(CudaBlock { address, bytes, context: Arc::clone(context), owner: None }),
        };
        Self { device: device.clone(), storage }
    }

    /// Gives the memory away: its address, 0 for none. It is not freed.
    #[cfg(feature = "cust")]
    pub(crate) fn give(self) -> u64 {
        match self.storage {
            // Another library's is not ours to give.
            Storage::Cuda(block) if block.owner.is_none() => {
                let mut block = std::mem::ManuallyDrop::new(block);
                // SAFETY: the context's count is taken from a value that is not dropped, once.
                drop(unsafe { std::ptr::read(&raw mut block.context) });
                block.address
            }
            _ => 0,
        }
    }

    /// Memory of another process.
    #[cfg(feature = "shogi")]
    pub(crate) fn imported(device: &Device, block: Imported) -> Self {
        Self { device: device.clone(), storage: Storage::Imported(block) }
    }

    /// The device whose memory it is.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Address of the first byte for the device; aligned and never followed where there are no bytes.
    pub(crate) fn address(&self) -> *mut u8 {
        match &self.storage {
            Storage::Empty => std::ptr::without_provenance_mut(ALIGNMENT),
            Storage::Cuda(block) => std::ptr::without_provenance_mut(block.address as usize),
            #[cfg(feature = "shogi")]
            Storage::Imported(block) => std::ptr::without_provenance_mut(block.address as usize),
            Storage::Host(block, _) => block.address.as_ptr(),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match &self.storage {
            Storage::Empty => 0,
            Storage::Cuda(block) => block.bytes,
            #[cfg(feature = "shogi")]
            Storage::Imported(block) => block.bytes,
            Storage::Host(block, _) => block.layout.size(),
        }
    }

    /// The CPU's memory, where it is that.
    pub(crate) fn host(&self) -> Option<&HostBlock> {
        match &self.storage {
            Storage::Host(block, _) => Some(block),
            Storage::Empty | Storage::Cuda(_) => None,
            #[cfg(feature = "shogi")]
            Storage::Imported(_) => None,
        }
    }
}

/// Memory of a GPU.
struct CudaBlock {
    address: u64,
    bytes: usize,
    context: Arc<Context>,
    /// Whose memory it is, where it is not this block's.
    owner: Option<Owner>,
}

/// What keeps memory of another library alive.
type Owner = Box<dyn std::any::Any + Send + Sync>;

impl CudaBlock {
    fn new(device: &Device, context: &Arc<Context>, bytes: usize) -> Result<Self> {
        context.enter()?;
        let mut address = 0;
        // SAFETY: `address` is written before the call returns.
        match unsafe { driver::cuMemAlloc_v2(&mut address, bytes) } {
            0 => Ok(Self { address, bytes, context: Arc::clone(context), owner: None }),
            driver::OUT_OF_MEMORY => Err(out_of_memory(device, bytes as u64, context.memory()?.free)),
            _ => Err(context.failure("cuMemAlloc", None)),
        }
    }
}

impl Drop for CudaBlock {
    fn drop(&mut self) {
        // The memory of a dead context goes with the context, and that of another library with its owner.
        if self.owner.is_none() && self.context.enter().is_ok() {
            // SAFETY: made by `cuMemAlloc`, freed once; the driver waits for work that uses it.
            unsafe { driver::cuMemFree_v2(self.address) };
        }
    }
}

/// Memory of another process, opened by `ipc` and closed on drop.
#[cfg(feature = "shogi")]
pub(crate) struct Imported {
    context: Arc<Context>,
    /// What was opened; the memory lies behind it.
    base: u64,
    address: u64,
    bytes: usize,
}

#[cfg(feature = "shogi")]
impl Imported {
    pub(crate) fn new(context: Arc<Context>, base: u64, address: u64, bytes: usize) -> Self {
        Self { context, base, address, bytes }
    }
}

#[cfg(feature = "shogi")]
impl Drop for Imported {
    fn drop(&mut self) {
        // The mappings of a dead context go with the context.
        if self.context.enter().is_ok() {
            // SAFETY: `ipc` opened it, and it is closed once, here. Whoever launched work with the buffer has waited for it, as for every buffer that is dropped.
            let code = unsafe { driver::cuIpcCloseMemHandle(self.base) };
            if let Err(error) = self.context.check("cuIpcCloseMemHandle", code) {
                tracing::debug!("{error}");
            }
        }
    }
}

/// Zeroed memory of the CPU, reached through raw pointers only.
pub(crate) struct HostBlock {
    pub(crate) address: NonNull<u8>,
    layout: Layout,
    /// Held while the host copies: a graph that another thread replays may zero the same bytes.
    lock: Mutex<()>,
    /// Whose memory it is, where it is not this block's.
    owner: Option<Owner>,
}

// SAFETY: the block owns its memory, or its owner does, which may be sent too; and the host's own accesses to it hold the lock.
unsafe impl Send for HostBlock {}
// SAFETY: as above.
unsafe impl Sync for HostBlock {}

impl HostBlock {
    /// `bytes` zeroed bytes, at least one.
    pub(crate) fn new(device: &Device, bytes: usize) -> Result<Self> {
        let refused = || out_of_memory(device, bytes as u64, crate::runtime::host_machine::memory().free);
        let layout = Layout::from_size_align(bytes, ALIGNMENT).map_err(|_| refused())?;
        if bytes == 0 {
            return Err(refused());
        }
        // SAFETY: the size is not 0.
        let address = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(refused)?;
        Ok(Self { address, layout, lock: Mutex::new(()), owner: None })
    }

    /// Copies `source` to the bytes from `offset` on. What does not fit is an error of the caller, checked there.
    pub(crate) fn write(&self, offset: usize, source: &[u8]) {
        debug_assert!(offset + source.len() <= self.layout.size());
        let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the stream has checked the range; `source` is not this block's memory: no slice of an own block is handed out, and who lent a borrowed one has promised that nobody reads
        // or writes it meanwhile.
        unsafe {
            self.address.as_ptr().add(offset).copy_from_nonoverlapping(source.as_ptr(), source.len());
        }
    }

    /// Copies the bytes from `offset` on to `target`.
    pub(crate) fn read(&self, offset: usize, target: &mut [u8]) {
        debug_assert!(offset + target.len() <= self.layout.size());
        let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as in `write`.
        unsafe {
            target.as_mut_ptr().copy_from_nonoverlapping(self.address.as_ptr().add(offset), target.len());
        }
    }

    /// Zeroes every byte.
    pub(crate) fn zero(&self) {
        let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the block's own bytes.
        unsafe { self.address.as_ptr().write_bytes(0, self.layout.size()) };
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        if self.owner.is_some() {
            return;
        }
        // SAFETY: allocated with this layout in `new`, since nobody else owns it.
        unsafe { dealloc(self.address.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_memory_names_both_numbers() {
        let device = Device::simt();
        let error = Allocation::new(&device, usize::MAX, 8).err().expect("too much");
        let Error::OutOfMemory { needed, free, .. } = error else { panic!("another error: {error}") };
        assert_eq!(needed, u64::MAX);
        assert!(free > 0);
        let error = Allocation::new(&device, 1 << 50, 1).err().expect("too much");
        assert!(error.to_string().contains("1024.00 TiB needed"), "{error}");
        assert_eq!(device.allocations(), 0);
    }

    #[test]
    fn memory_of_another_library_is_used_where_it_lies_and_left_to_its_owner() {
        #[repr(align(256))]
        struct Aligned([u32; 64]);
        let device = Device::simt();
        let owner = Arc::new(Mutex::new(Box::new(Aligned([7; 64]))));
        let address = owner.lock().expect("not poisoned").0.as_mut_ptr().expose_provenance();
        let borrowed = |address, len, owner: &Arc<Mutex<Box<Aligned>>>| {
            // SAFETY: the box lives as long as the owner, holds 64 numbers, and is used by nobody else meanwhile.
            unsafe { Buffer::<u32>::borrowed(&device, address, len, Box::new(Arc::clone(owner))) }
        };
        let mut buffer = borrowed(address, 64, &owner).expect("aligned");
        let stream = device.stream().expect("simt");
        stream.write(&mut buffer, 1, &[1, 2]).expect("room");
        assert_eq!(stream.read(&buffer).expect("there")[..4], [7, 1, 2, 7]);
        assert_eq!(owner.lock().expect("not poisoned").0[..4], [7, 1, 2, 7]);
        assert_eq!((Arc::strong_count(&owner), device.allocations()), (2, 0));
        drop(buffer);
        assert_eq!(Arc::strong_count(&owner), 1);
        let error = borrowed(address + 4, 1, &owner).expect_err("not aligned").to_string();
        assert!(error.contains("a multiple of 256"), "{error}");
        assert!(borrowed(0, 1, &owner).is_err() && borrowed(address, usize::MAX, &owner).is_err());
        assert_eq!(Arc::strong_count(&owner), 1);
        // SAFETY: nothing is ever read there.
        assert!(unsafe { Buffer::<u32>::borrowed(&Device::cpu(), address, 1, Box::new(())) }.is_err());
    }

    #[test]
    fn empty_buffers_are_not_allocations() {
        let device = Device::simt();
        let none = Allocation::new(&device, 0, 8).expect("nothing to allocate");
        assert_eq!(none.bytes(), 0);
        assert!(!none.address().is_null());
        assert_eq!(device.allocations(), 0);
        let some = Allocation::new(&device, 3, 8).expect("small");
        assert_eq!(some.bytes(), 24);
        assert_eq!(some.address() as usize % ALIGNMENT, 0);
        assert_eq!(device.clone().allocations(), 1);
    }
}
