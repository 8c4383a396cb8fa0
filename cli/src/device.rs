//! The doctor: what this program finds of drivers and devices, what works, and what to do about what does not.
//!
//! ```text
//! warpplay device
//! ```
//!
//! A good result has `works` in the line of every back end that you mean to use. It ends with exit code 0 whatever it
//! finds: a machine without a GPU is not an error.

use std::fmt;

use serde::Serialize;
use warpplay::{Backend, Device, DeviceInfo, Error, Module, PtxSet};
use warpplay_gpu::ptx::embedded::ALL as MODULES;

use crate::common::{OutputFlags, Record, print};

/// Flags of the command.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Looks at every device and says what was found.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let json = args.output.json_file()?;
    args.output.start_log();
    let report = Report::new();
    if !args.output.quiet {
        print(&report)?;
    }
    json.map_or(Ok(()), |file| file.write_json(&Record::new("device", &report)))
}

/// What was found.
#[derive(Serialize)]
struct Report {
    /// What there is of a driver, or why there is none.
    driver: String,
    /// Every device.
    devices: Vec<Found>,
    /// The sets of kernels that the program carries.
    kernels: Vec<Kernels>,
    /// What is taken where nothing is said.
    auto: String,
}

/// A device, and whether it works.
#[derive(Serialize)]
struct Found {
    /// The device as `--device` reads it.
    device: String,
    /// What is known of it.
    info: DeviceInfo,
    /// Whether it works.
    works: bool,
    /// What was found while it was tried.
    text: String,
    /// What to do where it does not work.
    remedy: Option<&'static str>,
}

/// A set of kernels.
#[derive(Serialize)]
struct Kernels {
    module: &'static str,
    architectures: Vec<&'static str>,
    missing: Option<&'static str>,
}

impl Report {
    fn new() -> Self {
        let devices = Device::list();
        let driver = match Device::why_no_cuda() {
            None => driver(&devices),
            Some(error) => error.to_string(),
        };
        let found = |info: DeviceInfo| {
            let device = spelling(&info);
            let (works, text, remedy) = match check(&device) {
                Ok(text) => (true, text, None),
                Err(problem) => (false, problem.text, Some(problem.remedy)),
            };
            Found { device, info, works, text, remedy }
        };
        let kernels = |set: &PtxSet| Kernels {
            module: set.name,
            architectures: set.images.iter().map(|image| image.arch).collect(),
            missing: set.missing,
        };
        Self {
            driver,
            devices: devices.into_iter().map(found).collect(),
            kernels: MODULES.iter().map(kernels).collect(),
            auto: Device::auto().to_string(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "warpplay {}\n\nDriver\n  {}\n\nDevices", env!("CARGO_PKG_VERSION"), self.driver)?;
        for Found { device, info, .. } in &self.devices {
            writeln!(f, "  {device:<8} {}", info.name)?;
            describe(f, info)?;
        }
        writeln!(f, "\nKernels in this program")?;
        for Kernels { module, architectures, missing } in &self.kernels {
            match missing {
                None => writeln!(f, "  {module:<16} PTX for {}", architectures.join(", "))?,
                Some(reason) => writeln!(f, "  {module:<16} no PTX: {reason}")?,
            }
        }
        writeln!(f, "\nBack ends")?;
        for Found { device, text, remedy, .. } in &self.devices {
            match remedy {
                None => writeln!(f, "  {device:<8} works: {text}")?,
                Some(remedy) => writeln!(f, "  {device:<8} does not work: {text}\n           remedy: {remedy}")?,
            }
        }
        if !self.devices.iter().any(|found| found.info.backend == Backend::Cuda) {
            writeln!(f, "  cuda     is not there, see Driver above")?;
        }
        writeln!(f, "\nDevice::auto() gives {}", self.auto)?;
        match self.devices.iter().filter(|found| !found.works).count() {
            0 => Ok(()),
            n => writeln!(f, "{n} of {} devices do not work", self.devices.len()),
        }
    }
}

/// The driver's versions, as the first GPU tells them.
fn driver(devices: &[DeviceInfo]) -> String {
    let first = devices.iter().find(|info| info.backend == Backend::Cuda);
    match first.and_then(|info| Some((info.driver_version?, info.ptx_version()?))) {
        Some(((major, minor), (ptx_major, ptx_minor))) => {
            format!("CUDA {major}.{minor}, compiles PTX up to {ptx_major}.{ptx_minor}")
        }
        None => "found, but it does not tell its version".to_string(),
    }
}

fn describe(f: &mut fmt::Formatter<'_>, info: &DeviceInfo) -> fmt::Result {
    match info.backend {
        Backend::Cuda => {
            let (major, minor) = info.compute_capability.unwrap_or_default();
            writeln!(
                f,
                "           compute capability {major}.{minor} (sm_{major}{minor}), {} multiprocessors, {} of memory, {} of L2 cache",
                info.n_multiprocessors,
                mebibytes(info.memory_bytes),
                mebibytes(info.l2_bytes),
            )?;
            writeln!(
                f,
                "           a block has at most {} threads and {} KiB of shared memory; a multiprocessor holds {} threads, {} KiB, {} registers",
                info.max_threads_per_block,
                info.max_shared_per_block / 1024,
                info.max_threads_per_multiprocessor,
                info.max_shared_per_multiprocessor / 1024,
                info.max_registers_per_multiprocessor,
            )
        }
        Backend::Simt => writeln!(
            f,
            "           kernels run on the CPU, thread by thread: at most {} threads and {} KiB of shared memory a block; slow, for tests",
            info.max_threads_per_block,
            info.max_shared_per_block / 1024,
        ),
        Backend::Cpu => writeln!(
            f,
            "           plain implementations: {} hardware threads, {} of memory",
            info.n_multiprocessors,
            mebibytes(info.memory_bytes),
        ),
    }
}

/// Opens the device, sends a pattern there and back where kernels run, and loads this program's kernels.
fn check(spelling: &str) -> Result<String, Problem> {
    const N: usize = 1 << 20;
    let device = Device::parse(spelling)?;
    let memory = device.memory()?;
    let free = format!("{} of {} free", mebibytes(memory.free), mebibytes(memory.total));
    if device.backend() == Backend::Cpu {
        return Ok(free);
    }
    let stream = device.stream()?;
    let pattern: Vec<u32> = (0..N as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let (start, end) = (stream.event()?, stream.event()?);
    stream.record(&start)?;
    let there = stream.upload(&pattern)?;
    let mut copy = stream.alloc::<u32>(N)?;
    stream.copy(&mut copy, 0, &there, 0, N)?;
    let back = stream.read(&copy)?;
    stream.record(&end)?;
    if back != pattern {
        let wrong = back.iter().zip(&pattern).filter(|(a, b)| a != b).count();
        return Err(Problem {
            text: format!("{wrong} of {N} values came back changed"),
            remedy: "test the memory of this device; do not trust its results",
        });
    }
    let ms = warpplay::Event::elapsed_ms(&start, &end)?;
    for module in MODULES {
        Module::load(&device, module)?;
    }
    Ok(format!("{free}, {} there and back in {ms:.2} ms", mebibytes(4 * N as u64)))
}

/// What does not work, and what to do about it.
struct Problem {
    text: String,
    remedy: &'static str,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self { text: error.to_string(), remedy: remedy(&error) }
    }
}

/// What to do about an error of [`check`].
fn remedy(error: &Error) -> &'static str {
    match error {
        Error::NoDevice { .. } => "install NVIDIA's driver and look at nvidia-smi, or use --device cpu",
        Error::OutOfMemory { .. } => "end other programs that use this device (nvidia-smi lists them)",
        Error::ContextDead { .. } => "start the program again",
        Error::PtxVersion { .. } => "update the driver",
        Error::PtxArch { .. } => "build for this GPU's architecture; the oldest supported is sm_75",
        Error::PtxMissing { .. } => "install the device compiler named above and build again",
        Error::Module { .. } => "update the driver; in a container, see that libnvidia-ptxjitcompiler is there",
        Error::Driver { .. } => {
            "look at nvidia-smi and the system's log (dmesg); update the driver; restart the machine"
        }
        _ => "use --device cpu, and report this with the text above",
    }
}

/// The device as `Device::parse` and the examples' `--device` read it.
fn spelling(info: &DeviceInfo) -> String {
    match info.backend {
        Backend::Cuda => format!("cuda:{}", info.ordinal),
        other => other.to_string(),
    }
}

fn mebibytes(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 1024.0 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}
