//! Types and numbers of the driver's header.

use std::ffi::{c_int, c_uint, c_void};

/// A driver object: context, module, function, stream, event, graph.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(pub(crate) *mut c_void);

// SAFETY: the driver's functions accept its objects on every thread whose current context owns them, and each call of this crate makes that context current; only the driver
// follows the pointer.
unsafe impl Send for Handle {}
// SAFETY: as above; the driver locks what its functions share.
unsafe impl Sync for Handle {}

impl Handle {
    /// No object; as a stream, the default stream.
    pub(crate) const NULL: Self = Self(std::ptr::null_mut());

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }
}

/// `CU_EVENT_DEFAULT` and `CU_STREAM_DEFAULT`. A stream created with these flags waits for the default stream, on which synchronous copies run.
pub(crate) const DEFAULT: c_uint = 0;

/// `CU_MEMHOSTALLOC_PORTABLE`: the memory counts as pinned in every context.
pub(crate) const MEM_HOST_ALLOC_PORTABLE: c_uint = 1;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`: a capture forbids nothing to other streams, on this thread or another.
pub(crate) const CAPTURE_MODE_RELAXED: c_int = 2;

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`, the only flag there is.
#[cfg(feature = "shogi")]
pub(crate) const IPC_LAZY_PEER_ACCESS: c_uint = 1;
/// `CUipcMemHandle`: names memory of a device to other processes of the machine.
#[cfg(feature = "shogi")]
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct IpcHandle(pub(crate) [u8; 64]);

/// `CU_LIMIT_PERSISTING_L2_CACHE_SIZE`: bytes of the second-level cache that are reserved for persisting accesses.
pub(crate) const LIMIT_PERSISTING_L2_CACHE_SIZE: c_int = 6;
/// `CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW`.
pub(crate) const STREAM_ACCESS_POLICY_WINDOW: c_int = 1;

/// Device attributes by the driver's numbers.
pub(crate) mod device_attribute {
    use std::ffi::c_int;
    pub(crate) const MAX_THREADS_PER_BLOCK: c_int = 1;
    pub(crate) const MAX_BLOCK_DIM: [c_int; 3] = [2, 3, 4];
    pub(crate) const MAX_GRID_DIM: [c_int; 3] = [5, 6, 7];
    pub(crate) const MAX_SHARED_PER_BLOCK: c_int = 8;
    pub(crate) const MULTIPROCESSORS: c_int = 16;
    pub(crate) const L2_BYTES: c_int = 38;
    pub(crate) const MAX_THREADS_PER_MULTIPROCESSOR: c_int = 39;
    pub(crate) const CAPABILITY_MAJOR: c_int = 75;
    pub(crate) const CAPABILITY_MINOR: c_int = 76;
    pub(crate) const MAX_SHARED_PER_MULTIPROCESSOR: c_int = 81;
    pub(crate) const MAX_REGISTERS_PER_MULTIPROCESSOR: c_int = 82;
    pub(crate) const COOPERATIVE_LAUNCH: c_int = 95;
    pub(crate) const MAX_SHARED_PER_BLOCK_OPT_IN: c_int = 97;
    pub(crate) const MAX_PERSISTING_L2_BYTES: c_int = 108;
    pub(crate) const MAX_ACCESS_POLICY_WINDOW_BYTES: c_int = 109;
    pub(crate) const CLUSTER_LAUNCH: c_int = 120;
}

/// Function attributes by the driver's numbers.
pub(crate) mod function_attribute {
    use std::ffi::c_int;
    pub(crate) const MAX_THREADS_PER_BLOCK: c_int = 0;
    pub(crate) const STATIC_SHARED_BYTES: c_int = 1;
    pub(crate) const LOCAL_BYTES: c_int = 3;
    pub(crate) const REGISTERS: c_int = 4;
    pub(crate) const MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
    pub(crate) const NON_PORTABLE_CLUSTER_SIZE: c_int = 14;
}

/// Options of the driver's PTX compiler by the driver's numbers.
pub(crate) mod jit_option {
    use std::ffi::c_int;
    pub(crate) const ERROR_LOG_BUFFER: c_int = 5;
    pub(crate) const ERROR_LOG_BUFFER_BYTES: c_int = 6;
}

/// `CUlaunchConfig`: the launch shape with its attributes.
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_bytes: c_uint,
    pub(crate) stream: Handle,
    pub(crate) attributes: *const LaunchAttribute,
    pub(crate) n_attributes: c_uint,
}
const _: () = assert!(size_of::<LaunchConfig>() == 56);

/// `CUlaunchAttribute`: a number and a value of up to 64 bytes.
#[repr(C)]
pub(crate) struct LaunchAttribute {
    id: c_uint,
    padding: c_uint,
    value: [u32; 16],
}
const _: () = assert!(size_of::<LaunchAttribute>() == 72);

impl LaunchAttribute {
    /// All blocks resident at once (`CU_LAUNCH_ATTRIBUTE_COOPERATIVE`).
    pub(crate) fn cooperative() -> Self {
        Self::new(2, [1, 0, 0])
    }

    /// Clusters of `blocks` blocks along x (`CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`).
    pub(crate) fn cluster(blocks: u32) -> Self {
        Self::new(4, [blocks, 1, 1])
    }

    /// Blocks may start before the kernel before has ended (`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`).
    pub(crate) fn overlapping() -> Self {
        Self::new(6, [1, 0, 0])
    }

    fn new(id: c_uint, start: [u32; 3]) -> Self {
        let mut value = [0; 16];
        value[..3].copy_from_slice(&start);
        Self { id, padding: 0, value }
    }
}

/// `CUaccessPolicyWindow`: how the second-level cache treats a range of memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessPolicyWindow {
    base: usize,
    bytes: usize,
    hit_ratio: f32,
    hit: c_int,
    miss: c_int,
}
const _: () = assert!(size_of::<AccessPolicyWindow>() == 32);

impl AccessPolicyWindow {
    /// The fraction `hit_ratio` of the range is kept (`CU_ACCESS_PROPERTY_PERSISTING`), the rest streams through (`CU_ACCESS_PROPERTY_STREAMING`).
    pub(crate) fn persisting(base: usize, bytes: usize, hit_ratio: f32) -> Self {
        Self { base, bytes, hit_ratio, hit: 2, miss: 1 }
    }

    /// No range.
    pub(crate) fn none() -> Self {
        Self { base: 0, bytes: 0, hit_ratio: 0.0, hit: 0, miss: 0 }
    }
}

/// `CUstreamAttrValue`: 64 bytes, of which this attribute uses the first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamAttribute {
    pub(crate) window: AccessPolicyWindow,
    pub(crate) rest: [u64; 4],
}
const _: () = assert!(size_of::<StreamAttribute>() == 64);

/// `CUDA_MEMCPY2D`: lines of bytes from one place of device memory to another.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy2D {
    source: Lines,
    target: Lines,
    width_bytes: usize,
    height: usize,
}
const _: () = assert!(size_of::<Copy2D>() == 128);

/// One side of a [`Copy2D`]: the first byte, the kind of memory, and the distance between two lines.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Lines {
    x_bytes: usize,
    y: usize,
    memory: c_uint,
    host: *const c_void,
    device: u64,
    array: Handle,
    pitch_bytes: usize,
}
const _: () = assert!(size_of::<Lines>() == 56);

impl Copy2D {
    /// `height` lines of `width_bytes` from `source` to `target`; each side is its address and the distance between two lines in bytes.
    pub(crate) fn on_device(source: (u64, usize), target: (u64, usize), width_bytes: usize, height: usize) -> Self {
        // `CU_MEMORYTYPE_DEVICE`.
        let lines = |(device, pitch_bytes): (u64, usize)| Lines {
            x_bytes: 0,
            y: 0,
            memory: 2,
            host: std::ptr::null(),
            device,
            array: Handle::NULL,
            pitch_bytes,
        };
        Self { source: lines(source), target: lines(target), width_bytes, height }
    }
}
