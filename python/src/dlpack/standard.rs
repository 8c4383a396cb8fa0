//! The structures of `dlpack.h` 1.0, and the types of values that have a place in them.

use std::ffi::{CStr, c_void};

use warpplay::{Backend, Device};

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlDevice {
    pub kind: i32,
    pub id: i32,
}

/// `kDLCPU` and `kDLCUDA`.
const CPU: i32 = 1;
const CUDA: i32 = 2;

impl DlDevice {
    /// The host's memory.
    pub const HOST: Self = Self { kind: CPU, id: 0 };

    /// The location of a device's memory; that of `simt` and `cpu` is the host's.
    pub fn of(device: &Device) -> Self {
        match device.backend() {
            Backend::Cuda => Self { kind: CUDA, id: device.ordinal() as i32 },
            _ => Self::HOST,
        }
    }

    /// Its name in errors: `cpu`, `cuda:N`, or DLPack's numbers.
    pub fn name(self) -> String {
        match self {
            Self { kind: CPU, .. } => "cpu".to_string(),
            Self { kind: CUDA, id } => format!("cuda:{id}"),
            Self { kind, id } => format!("DLPack's kind {kind}, number {id}"),
        }
    }
}

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlDataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

impl DlDataType {
    /// Its name in errors, as numpy has it where numpy has such values.
    pub fn name(self) -> String {
        let Self { code, bits, lanes } = self;
        let kind = match code {
            0 => "int",
            1 => "uint",
            2 => "float",
            4 => "bfloat",
            5 => "complex",
            6 => return "bool".to_string(),
            _ => return format!("DLPack's type {code} with {bits} bits"),
        };
        match lanes {
            1 => format!("{kind}{bits}"),
            _ => format!("{lanes} x {kind}{bits}"),
        }
    }
}

/// `DLTensor`.
#[repr(C)]
pub struct DlTensor {
    pub data: *mut c_void,
    pub device: DlDevice,
    pub n_dimensions: i32,
    pub data_type: DlDataType,
    pub shape: *mut i64,
    /// In elements; null for row-major order.
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// The function that is called when a structure is no longer used.
pub type Deleter<M> = unsafe extern "C" fn(*mut M);

/// `DLManagedTensor`, in a capsule named `dltensor`.
#[repr(C)]
pub struct Plain {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<Deleter<Plain>>,
}

/// `DLManagedTensorVersioned`, in a capsule named `dltensor_versioned`.
#[repr(C)]
pub struct Versioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<Deleter<Versioned>>,
    flags: u64,
    tensor: DlTensor,
}

/// One of the two forms of structures in capsules.
///
/// # Safety
/// `Self` is the structure that the standard puts into capsules of the name [`NAME`](Self::NAME).
pub unsafe trait Managed: Sized {
    /// The name of a capsule that has not been consumed.
    const NAME: &'static CStr;
    /// The name that the consumer gives the capsule.
    const USED: &'static CStr;

    /// A producer's structure.
    fn new(tensor: DlTensor, context: *mut c_void, deleter: Deleter<Self>) -> Self;
    /// The standard's major version; for another version only the deleter may be called.
    fn major(&self) -> u32;
    /// The array.
    fn tensor(&self) -> &DlTensor;
    /// The producer's own data.
    fn context(&self) -> *mut c_void;
    /// The producer's deleter, if any.
    fn deleter(&self) -> Option<Deleter<Self>>;

    /// Calls the deleter, if there is one.
    ///
    /// # Safety
    /// `managed` is what a producer made; it is used no more.
    unsafe fn delete(managed: *mut Self) {
        // SAFETY: a producer's structure, which is valid until its deleter is called.
        let deleter = unsafe { (*managed).deleter() };
        if let Some(deleter) = deleter {
            // SAFETY: the producer's deleter takes the producer's structure, once, as the caller says.
            unsafe { deleter(managed) };
        }
    }
}

// SAFETY: `DLManagedTensor`.
unsafe impl Managed for Plain {
    const NAME: &'static CStr = c"dltensor";
    const USED: &'static CStr = c"used_dltensor";

    fn new(tensor: DlTensor, context: *mut c_void, deleter: Deleter<Self>) -> Self {
        Self { tensor, context, deleter: Some(deleter) }
    }

    fn major(&self) -> u32 {
        1
    }

    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }

    fn context(&self) -> *mut c_void {
        self.context
    }

    fn deleter(&self) -> Option<Deleter<Self>> {
        self.deleter
    }
}

// SAFETY: `DLManagedTensorVersioned`.
unsafe impl Managed for Versioned {
    const NAME: &'static CStr = c"dltensor_versioned";
    const USED: &'static CStr = c"used_dltensor_versioned";

    fn new(tensor: DlTensor, context: *mut c_void, deleter: Deleter<Self>) -> Self {
        Self { version: [1, 0], context, deleter: Some(deleter), flags: 0, tensor }
    }

    fn major(&self) -> u32 {
        self.version[0]
    }

    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }

    fn context(&self) -> *mut c_void {
        self.context
    }

    fn deleter(&self) -> Option<Deleter<Self>> {
        self.deleter
    }
}

/// A type of values that can be imported and exported.
///
/// # Safety
/// Any bytes of the accepted types are values of `Self`.
pub unsafe trait Value: Copy {
    /// Their name in errors.
    const NAME: &'static str;
    /// Codes of the types that can be imported, each with as many bits as `Self`; the first is that of exported values.
    const CODES: &'static [u8];

    /// The type of exported values.
    const DATA_TYPE: DlDataType = DlDataType { code: Self::CODES[0], bits: 8 * size_of::<Self>() as u8, lanes: 1 };
}

// SAFETY: `kDLFloat`.
unsafe impl Value for f32 {
    const NAME: &'static str = "float32";
    const CODES: &'static [u8] = &[2];
}

macro_rules! integers {
    ($($type:ty: $name:literal, $code:literal),*) => { $(
        // SAFETY: `kDLInt` is 0, `kDLUInt` is 1.
        unsafe impl Value for $type {
            const NAME: &'static str = $name;
            const CODES: &'static [u8] = &[$code];
        }
    )* };
}

integers! { i8: "int8", 0, i16: "int16", 0, i32: "int32", 0, i64: "int64", 0, u16: "uint16", 1, u32: "uint32", 1, u64: "uint64", 1 }

// SAFETY: `kDLUInt` and `kDLBool`.
unsafe impl Value for u8 {
    const NAME: &'static str = "uint8 or bool";
    const CODES: &'static [u8] = &[1, 6];
}
