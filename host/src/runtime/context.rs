//! A CUDA device's primary context: kept for the process, current in every call, and dead after a kernel's trap, for as long as the
//! process lives: the driver does not give it another one, even after the last release. Other devices are not touched.

use std::any::Any;
use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::runtime::driver::{self, Handle, device_attribute};
use crate::runtime::error::{Error, Result, kills_context};
use crate::runtime::info::{Backend, DeviceInfo, FreeMemory, Limits, device_name};

/// The primary context of one CUDA device, shared by all objects made on it.
pub(crate) struct Context {
    handle: Handle,
    /// The driver's number of the device.
    device: c_int,
    ordinal: usize,
    /// Properties of the device, which never change; queried once.
    info: DeviceInfo,
    limits: Limits,
    dead: CauseOfDeath,
    /// Modules that are in use, for whoever loads the same set again.
    modules: Mutex<Vec<Weak<dyn Any + Send + Sync>>>,
}

/// The failure after which the driver refuses every call on a device; shared by all openings of the device.
type CauseOfDeath = Arc<OnceLock<String>>;

/// What the process remembers about a device.
#[derive(Default)]
struct Slot {
    /// The context, while any object uses it.
    context: Weak<Context>,
    dead: CauseOfDeath,
}

/// The devices opened so far, by ordinal.
fn slots() -> &'static Mutex<HashMap<usize, Slot>> {
    static SLOTS: OnceLock<Mutex<HashMap<usize, Slot>>> = OnceLock::new();
    SLOTS.get_or_init(Mutex::default)
}

impl Context {
    /// The context of device `ordinal`: the one in use, or a new one where no kernel has failed on the device.
    pub(crate) fn open(ordinal: usize) -> Result<Arc<Self>> {
        let device = find(ordinal)?;
        // The map stays whole if a thread panics: a slot is changed in one step.
        let mut slots = slots().lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(ordinal).or_default();
        check_alive(ordinal, &slot.dead)?;
        if let Some(context) = slot.context.upgrade() {
            return Ok(context);
        }
        let info = describe(device, ordinal)?;
        let limits = limits(device)?;
        let mut handle = Handle::NULL;
        // SAFETY: `handle` is written before the call returns; the device is the driver's own.
        let code = unsafe { driver::cuDevicePrimaryCtxRetain(&mut handle, device) };
        if code != 0 {
            let error = failure("cuDevicePrimaryCtxRetain", None);
            // Somebody else in the process may have used up the context.
            remember(&slot.dead, &error);
            return Err(check_alive(ordinal, &slot.dead).err().unwrap_or(error));
        }
        let context = Arc::new(Self {
            handle,
            device,
            ordinal,
            info,
            limits,
            dead: slot.dead.clone(),
            modules: Mutex::default(),
        });
        slot.context = Arc::downgrade(&context);
        Ok(context)
    }

    /// Makes the context current on this thread; every call that reaches the driver begins here.
    pub(crate) fn enter(&self) -> Result<()> {
        self.check_alive()?;
        // SAFETY: the context is retained while this value lives.
        self.check("cuCtxSetCurrent", unsafe { driver::cuCtxSetCurrent(self.handle) })
    }

    fn check_alive(&self) -> Result<()> {
        check_alive(self.ordinal, &self.dead)
    }

    /// The error for the driver's last code, which is remembered if it ends the context.
    pub(crate) fn failure(&self, call: &'static str, kernel: Option<String>) -> Error {
        let error = failure(call, kernel);
        remember(&self.dead, &error);
        error
    }

    /// Converts the code of a driver call into a result.
    pub(crate) fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.failure(call, None)) }
    }

    pub(crate) fn ordinal(&self) -> usize {
        self.ordinal
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn modules(&self) -> MutexGuard<'_, Vec<Weak<dyn Any + Send + Sync>>> {
        // The list stays whole if a thread panics.
        self.modules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Free and total memory now.
    pub(crate) fn memory(&self) -> Result<FreeMemory> {
        self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the driver writes two numbers; the context is current.
        self.check("cuMemGetInfo", unsafe { driver::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok(FreeMemory { free: free as u64, total: total as u64 })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once in `open`, released once here; streams, memory and modules of it hold it, so they are gone.
        let code = unsafe { driver::cuDevicePrimaryCtxRelease_v2(self.device) };
        if code != 0 {
            tracing::debug!("{}", failure("cuDevicePrimaryCtxRelease", None));
        }
    }
}

fn check_alive(ordinal: usize, dead: &CauseOfDeath) -> Result<()> {
    match dead.get() {
        None => Ok(()),
        Some(cause) => Err(Error::ContextDead { device: device_name(Backend::Cuda, ordinal), cause: cause.clone() }),
    }
}

/// Notes a failure that ends the context. Only the first failure is the cause; later ones are consequences of it.
fn remember(dead: &CauseOfDeath, error: &Error) {
    if let Error::Driver { call, kernel, code, name } = error
        && kills_context(*code)
    {
        let of = kernel.as_ref().map(|kernel| format!(" for {kernel}")).unwrap_or_default();
        let _ = dead.set(format!("{call} failed{of}: {name} ({code})"));
    }
}

/// The error for the driver's last code on this thread.
pub(crate) fn failure(call: &'static str, kernel: Option<String>) -> Error {
    let code = driver::last_code();
    Error::Driver { call, kernel, code, name: driver::code_name(code) }
}

/// The number of CUDA devices, or why there are none.
pub(crate) fn count() -> Result<usize> {
    if let Err(code) = driver::initialise() {
        return Err(no_device(code));
    }
    let mut n = 0;
    // SAFETY: the driver writes one number.
    match unsafe { driver::cuDeviceGetCount(&mut n) } {
        0 if n <= 0 => Err(no_device(driver::NO_DEVICE)),
        0 => Ok(n as usize),
        _ => Err(failure("cuDeviceGetCount", None)),
    }
}

/// [`Error::NoDevice`] for a code of the driver's first call.
fn no_device(code: c_int) -> Error {
    let reason = if let Some(reason) = driver::load_failure() {
        format!("no CUDA driver ({reason}): install NVIDIA's driver, or use the device cpu")
    } else {
        let name = driver::code_name(code);
        let remedy = match code {
            driver::STUB_LIBRARY => {
                "the toolkit's stub library was found in place of the driver, remove its folder from LD_LIBRARY_PATH"
            }
            driver::NO_DEVICE => {
                "the driver is installed but shows no GPU, check nvidia-smi and CUDA_VISIBLE_DEVICES, or use the device cpu"
            }
            _ => "the driver is installed but does not start, check nvidia-smi, or use the device cpu",
        };
        format!("{name} ({code}): {remedy}")
    };
    Error::NoDevice { reason }
}

/// The driver's number of the device with this ordinal.
pub(crate) fn find(ordinal: usize) -> Result<c_int> {
    let n = count()?;
    if ordinal >= n {
        return Err(Error::NoDevice {
            reason: format!("cuda:{ordinal} was requested, but the driver shows {n}: use cuda:0 to cuda:{}", n - 1),
        });
    }
    let mut device = 0;
    // SAFETY: the driver writes one number.
    let code = unsafe { driver::cuDeviceGet(&mut device, ordinal as c_int) };
    if code == 0 { Ok(device) } else { Err(failure("cuDeviceGet", None)) }
}

/// One attribute of a device by the driver's number.
fn attribute(device: c_int, attribute: c_int) -> Result<u32> {
    let mut value = 0;
    // SAFETY: `value` is written before the call returns; the handle is the driver's own.
    let code = unsafe { driver::cuDeviceGetAttribute(&mut value, attribute, device) };
    if code == 0 { Ok(value.max(0) as u32) } else { Err(failure("cuDeviceGetAttribute", None)) }
}

/// Properties that the driver reports for a device without opening it.
fn describe(device: c_int, ordinal: usize) -> Result<DeviceInfo> {
    let mut name = [0u8; 256];
    // SAFETY: the driver writes at most that many bytes, including a terminating zero.
    let code = unsafe { driver::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, device) };
    if code != 0 {
        return Err(failure("cuDeviceGetName", None));
    }
    let mut memory_bytes = 0;
    // SAFETY: the driver writes one number.
    let code = unsafe { driver::cuDeviceTotalMem_v2(&mut memory_bytes, device) };
    if code != 0 {
        return Err(failure("cuDeviceTotalMem", None));
    }
    Ok(DeviceInfo {
        backend: Backend::Cuda,
        ordinal,
        name: CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned(),
        compute_capability: Some((
            attribute(device, device_attribute::CAPABILITY_MAJOR)?,
            attribute(device, device_attribute::CAPABILITY_MINOR)?,
        )),
        driver_version: driver::version(),
        n_multiprocessors: attribute(device, device_attribute::MULTIPROCESSORS)?,
        memory_bytes: memory_bytes as u64,
        l2_bytes: u64::from(attribute(device, device_attribute::L2_BYTES)?),
        max_threads_per_block: attribute(device, device_attribute::MAX_THREADS_PER_BLOCK)?,
        max_threads_per_multiprocessor: attribute(device, device_attribute::MAX_THREADS_PER_MULTIPROCESSOR)?,
        max_shared_per_block: max_shared(device)?,
        max_shared_per_multiprocessor: attribute(device, device_attribute::MAX_SHARED_PER_MULTIPROCESSOR)?,
        max_registers_per_multiprocessor: attribute(device, device_attribute::MAX_REGISTERS_PER_MULTIPROCESSOR)?,
    })
}

/// The most shared memory of a block after opting in, in bytes.
fn max_shared(device: c_int) -> Result<u32> {
    let opt_in = attribute(device, device_attribute::MAX_SHARED_PER_BLOCK_OPT_IN)?;
    Ok(opt_in.max(attribute(device, device_attribute::MAX_SHARED_PER_BLOCK)?))
}

fn limits(device: c_int) -> Result<Limits> {
    let three = |numbers: [c_int; 3]| -> Result<[u32; 3]> {
        Ok([attribute(device, numbers[0])?, attribute(device, numbers[1])?, attribute(device, numbers[2])?])
    };
    // Drivers older than clusters do not know the attribute: then there are none.
    let clusters = attribute(device, device_attribute::CLUSTER_LAUNCH).unwrap_or(0) != 0;
    Ok(Limits {
        max_grid: three(device_attribute::MAX_GRID_DIM)?,
        max_block: three(device_attribute::MAX_BLOCK_DIM)?,
        max_threads: attribute(device, device_attribute::MAX_THREADS_PER_BLOCK)?,
        max_shared_bytes: max_shared(device)?,
        max_cluster: if clusters { 16 } else { 1 },
        cooperative: attribute(device, device_attribute::COOPERATIVE_LAUNCH)? != 0,
    })
}

/// All CUDA devices whose properties can be queried; empty without a driver.
pub(crate) fn list() -> Vec<DeviceInfo> {
    let n = count().unwrap_or(0);
    (0..n).filter_map(|ordinal| find(ordinal).and_then(|device| describe(device, ordinal)).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_driver_is_an_ordinary_error() {
        if driver::load_failure().is_some() {
            let error = Context::open(0).err().expect("no driver");
            assert!(matches!(error, Error::NoDevice { .. }));
            assert!(error.to_string().contains("libcuda.so.1"), "{error}");
        }
    }
}
