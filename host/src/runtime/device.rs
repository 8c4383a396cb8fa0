//! Devices: what kernels run on.

use std::ffi::OsStr;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use warpplay_gpu::simt::banks::{self, BankReport};

use crate::runtime::context::{self, Context};
use crate::runtime::error::{Error, Result};
use crate::runtime::host_machine;
use crate::runtime::info::{Backend, DeviceInfo, FreeMemory, Limits, device_name};

/// A device that is open. Cloning is cheap and gives the same device.
///
/// Two devices are equal when they are the same piece of hardware under the same back end, however they were opened:
/// a buffer of one can be used with the other.
///
/// ```
/// use warpplay::{Backend, Device};
/// let device = Device::auto();
/// println!("running on {}", device.name());
/// assert_eq!(Device::cpu().backend(), Backend::Cpu);
/// assert!(Device::parse("gpu").is_err());
/// ```
#[derive(Clone)]
pub struct Device {
    kind: Kind,
    /// What [`Device::with_capability`] was told.
    capability: Option<(u32, u32)>,
    allocations: Arc<AtomicU64>,
}

#[derive(Clone)]
enum Kind {
    Cuda(Arc<Context>),
    /// The number is 0; tests use other numbers to get several devices.
    Simt(usize),
    Cpu,
}

/// The spellings that [`Device::parse`] accepts.
const SPELLINGS: &str = "auto, cuda, cuda:0, cuda:1 and so on, cpu, simt";

/// The environment variable that says where `simt` looks for races besides shared memory.
const RACES: &str = "WARPPLAY_SIMT_RACES";

/// Checks the value of [`RACES`]: `simt` itself would take an unknown one for none.
fn expect_known_races(value: Option<&OsStr>) -> Result<()> {
    match value {
        Some(value) if !value.is_empty() && value != "global" => {
            Err(Error::option(RACES, value.display(), "global, or unset to look at shared memory only"))
        }
        _ => Ok(()),
    }
}

impl Device {
    fn new(kind: Kind) -> Self {
        Self { kind, capability: None, allocations: Arc::default() }
    }

    /// The first CUDA device that can be opened, else the CPU. Never fails.
    ///
    /// [`backend`](Self::backend) says which device was chosen; the reason for not using a GPU is logged (`tracing`, level
    /// debug).
    pub fn auto() -> Self {
        match context::count() {
            Ok(n) => {
                for ordinal in 0..n {
                    match Self::cuda(ordinal) {
                        Ok(device) => return device,
                        Err(error) => tracing::debug!("cuda:{ordinal} was skipped: {error}"),
                    }
                }
            }
            Err(error) => tracing::debug!("no GPU is used: {error}"),
        }
        Self::cpu()
    }

    /// The CUDA device with this number, from 0.
    ///
    /// # Errors
    /// [`Error::NoDevice`] without a driver or with fewer devices; [`Error::ContextDead`] if a kernel failed on the
    /// device earlier in this program, which must then be restarted to use that GPU; [`Error::Driver`] if the driver
    /// cannot open it.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        Ok(Self::new(Kind::Cuda(Context::open(ordinal)?)))
    }

    /// The CPU with the plain implementations.
    pub fn cpu() -> Self {
        Self::new(Kind::Cpu)
    }

    /// The CPU running the kernels' own source, thread by thread.
    pub fn simt() -> Self {
        Self::new(Kind::Simt(0))
    }

    /// The same device in the place of one of a lower compute capability: engines choose the kernels that they choose there. `simt` is otherwise in the place of the newest.
    ///
    /// So the kernels for older GPUs are tried and measured on a newer one. Only the choice changes: a module still loads its image for the real GPU. On the CPU there is nothing to choose.
    ///
    /// ```
    /// use warpplay::Device;
    ///
    /// assert_eq!(Device::simt().with_capability(8, 0)?.info()?.compute_capability, Some((8, 0)));
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Option`] for a higher one than the device has.
    pub fn with_capability(&self, major: u32, minor: u32) -> Result<Self> {
        let own = match &self.kind {
            Kind::Cuda(context) => context.info().compute_capability,
            Kind::Simt(_) | Kind::Cpu => None,
        };
        if let Some((most_major, most_minor)) = own.filter(|&own| (major, minor) > own) {
            let allowed = format!("up to {most_major}.{most_minor} on {}", self.name());
            return Err(Error::option("compute capability", format!("{major}.{minor}"), allowed));
        }
        Ok(Self { capability: Some((major, minor)), ..self.clone() })
    }

    /// Whether it has products of warpgroups: compute capability 9.0 alone. `simt` has them, unless it is in the place of another device.
    pub(crate) fn has_warpgroups(&self) -> bool {
        let own = match &self.kind {
            Kind::Cuda(context) => context.info().compute_capability,
            Kind::Simt(_) | Kind::Cpu => None,
        };
        self.capability.or(own).is_none_or(|capability| capability == (9, 0))
    }

    /// A `simt` device with this number; devices with different numbers are not equal.
    #[cfg(test)]
    pub(crate) fn simt_numbered(ordinal: usize) -> Self {
        Self::new(Kind::Simt(ordinal))
    }

    /// Parses the name of a device and opens it: `auto`, `cuda` (the first), `cuda:1`, `cpu` or `simt`.
    ///
    /// # Errors
    /// [`Error::Option`] for another spelling, and for `simt` with an unknown value of the environment variable `WARPPLAY_SIMT_RACES`; as [`cuda`](Self::cuda).
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::auto()),
            "cuda" => Self::cuda(0),
            "cpu" => Ok(Self::cpu()),
            "simt" => {
                expect_known_races(std::env::var_os(RACES).as_deref())?;
                Ok(Self::simt())
            }
            _ => {
                let ordinal = text.strip_prefix("cuda:").and_then(|n| n.parse().ok());
                match ordinal {
                    Some(ordinal) => Self::cuda(ordinal),
                    None => Err(Error::option("device", text, SPELLINGS)),
                }
            }
        }
    }

    /// Lists every available device: CUDA devices in order, then `simt` and `cpu`. Never fails and opens none of them.
    pub fn list() -> Vec<DeviceInfo> {
        let mut list = context::list();
        list.push(host_machine::info(Backend::Simt));
        list.push(host_machine::info(Backend::Cpu));
        list
    }

    /// The reason why [`list`](Self::list) has no CUDA device; `None` if it has one.
    pub fn why_no_cuda() -> Option<Error> {
        context::count().err()
    }

    /// The back end.
    pub fn backend(&self) -> Backend {
        match self.kind {
            Kind::Cuda(_) => Backend::Cuda,
            Kind::Simt(_) => Backend::Simt,
            Kind::Cpu => Backend::Cpu,
        }
    }

    /// Number of the device within its back end, from 0.
    pub fn ordinal(&self) -> usize {
        match &self.kind {
            Kind::Cuda(context) => context.ordinal(),
            Kind::Simt(ordinal) => *ordinal,
            Kind::Cpu => 0,
        }
    }

    /// The maker's name of the device.
    pub fn name(&self) -> String {
        match &self.kind {
            Kind::Cuda(context) => context.info().name.clone(),
            Kind::Simt(_) | Kind::Cpu => host_machine::name(),
        }
    }

    /// The device's properties and limits.
    ///
    /// # Errors
    /// None at present: the properties are queried when the device is opened.
    pub fn info(&self) -> Result<DeviceInfo> {
        let own = match &self.kind {
            Kind::Cuda(context) => context.info().clone(),
            Kind::Simt(_) | Kind::Cpu => host_machine::info(self.backend()),
        };
        Ok(DeviceInfo { compute_capability: self.capability.or(own.compute_capability), ..own })
    }

    /// Free and total memory now: the GPU's, or the machine's.
    ///
    /// # Errors
    /// [`Error::Driver`] or [`Error::ContextDead`] where the driver does not answer.
    pub fn memory(&self) -> Result<FreeMemory> {
        match &self.kind {
            Kind::Cuda(context) => context.memory(),
            Kind::Simt(_) | Kind::Cpu => Ok(host_machine::memory()),
        }
    }

    /// The number of non-empty buffers allocated so far through this opening of the device and its clones. For tests of
    /// engines that promise to reuse their memory.
    pub fn allocations(&self) -> u64 {
        self.allocations.load(Ordering::Relaxed)
    }

    /// Runs `launches` and counts the bank conflicts of the kernels that it launches from this thread on [`Backend::Simt`]. Counting makes these launches slower.
    ///
    /// ```
    /// use warpplay::Device;
    /// let (sum, report) = Device::simt().count_bank_conflicts(|| 1 + 1)?;
    /// assert_eq!((sum, report.conflicts()), (2, 0)); // nothing was launched
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] on another back end; on a GPU, Nsight Compute counts them.
    pub fn count_bank_conflicts<R>(&self, launches: impl FnOnce() -> R) -> Result<(R, BankReport)> {
        if self.backend() != Backend::Simt {
            return Err(Error::Unsupported {
                what: "counting bank conflicts".to_string(),
                backend: self.backend().to_string(),
                remedy: "count them on simt, or on a GPU with Nsight Compute".to_string(),
            });
        }
        Ok(banks::count(launches))
    }

    pub(crate) fn count_allocation(&self) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn context(&self) -> Option<&Arc<Context>> {
        match &self.kind {
            Kind::Cuda(context) => Some(context),
            Kind::Simt(_) | Kind::Cpu => None,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        match &self.kind {
            Kind::Cuda(context) => context.limits(),
            Kind::Simt(_) | Kind::Cpu => &Limits::SIMT,
        }
    }

    /// Checks that an object made on `other` is used on the same device.
    pub(crate) fn expect_same(&self, what: &str, other: &Device) -> Result<()> {
        if self == other {
            return Ok(());
        }
        Err(Error::Device { what: what.to_string(), belongs_to: other.to_string(), device: self.to_string() })
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.backend() == other.backend() && self.ordinal() == other.ordinal()
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&device_name(self.backend(), self.ordinal()))
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

impl std::str::FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_and_list_never_fail() {
        assert_ne!(Device::auto().backend(), Backend::Simt);
        let list = Device::list();
        assert!(list.iter().any(|info| info.backend == Backend::Simt));
        assert!(list.iter().any(|info| info.backend == Backend::Cpu));
        let n_cuda = list.iter().filter(|info| info.backend == Backend::Cuda).count();
        assert_eq!(n_cuda == 0, Device::why_no_cuda().is_some());
    }

    #[test]
    fn spellings() {
        assert_eq!(Device::parse("cpu").expect("always there"), Device::cpu());
        assert_eq!(Device::parse("simt").expect("always there").to_string(), "simt");
        for wrong in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "CPU"] {
            let error = Device::parse(wrong).expect_err("no such device");
            let named = if wrong.is_empty() { "''" } else { wrong };
            assert_eq!(error.to_string(), format!("option device: {named} is not allowed ({SPELLINGS})"));
        }
        assert!(matches!(Device::parse("cuda:4096"), Err(Error::NoDevice { .. })));
    }

    #[test]
    fn an_unknown_kind_of_races_is_refused() {
        for known in [None, Some(""), Some("global")] {
            assert!(expect_known_races(known.map(OsStr::new)).is_ok(), "{known:?}");
        }
        let error = expect_known_races(Some(OsStr::new("all"))).expect_err("unknown").to_string();
        assert!(error.starts_with("option WARPPLAY_SIMT_RACES: all is not allowed (global, or unset"), "{error}");
    }

    #[test]
    fn the_cpu_runs_no_kernels() {
        let error = Device::cpu().stream().expect_err("no kernels there");
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    }

    #[test]
    fn memory_and_info_of_the_machine() {
        let memory = Device::simt().memory().expect("read from the system");
        assert!(memory.free <= memory.total && memory.total > 0);
        assert!(!Device::cpu().name().is_empty());
        assert!(Device::cpu().info().expect("always there").n_multiprocessors > 0);
    }

    #[test]
    fn devices_and_streams_move_between_threads() {
        fn send<T: Send>() {}
        fn sync<T: Sync>() {}
        send::<Device>();
        sync::<Device>();
        send::<crate::Stream>();
    }
}
