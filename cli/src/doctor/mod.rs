//! The doctor: what works on this machine, what does not, and what to do about it.
//!
//! ```text
//! warpplay doctor
//! warpplay doctor --json found.json
//! ```
//!
//! A good result has `works` in the line of every back end that you mean to use. Exit code 0 where everything that is there works: a machine without a GPU is not an
//! error. 1 where a device that is there does not work, and what was found is printed and written all the same.

mod surroundings;

use std::fmt;

use anyhow::bail;
use serde::Serialize;
use warpplay::{Backend, Device, DeviceInfo, Error, Module, PtxSet};
use warpplay_gpu::ptx::embedded::ALL as MODULES;

use crate::common::{OutputFlags, Record, print, style};
use surroundings::Surrounding;

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
    if let Some(json) = json {
        json.write_json(&Record::new("doctor", &report))?;
    }
    let broken: Vec<&str> =
        report.devices.iter().filter(|found| !found.works).map(|found| found.device.as_str()).collect();
    match broken[..] {
        [] => Ok(()),
        _ => bail!("{} of {} devices do not work: {}", broken.len(), report.devices.len(), broken.join(", ")),
    }
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
    /// What is of use beside it.
    surroundings: Vec<Surrounding>,
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
            surroundings: surroundings::find(),
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
        let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
        for Kernels { module, architectures, missing: reason } in &self.kernels {
            match reason {
                None => writeln!(f, "  {module:<16} PTX for {}", architectures.join(", "))?,
                // Most often one reason holds for all.
                Some(reason) => match missing.iter_mut().find(|(other, _)| other == reason) {
                    Some((_, modules)) => modules.push(module),
                    None => missing.push((reason, vec![module])),
                },
            }
        }
        for (reason, modules) in missing {
            writeln!(f, "  {} without PTX, which a GPU needs: {}\n    {reason}", modules.len(), modules.join(", "))?;
        }
        writeln!(f, "\nBack ends")?;
        for Found { device, text, remedy, .. } in &self.devices {
            match remedy {
                None => writeln!(f, "  {device:<8} {}: {text}", style::good("works"))?,
                Some(remedy) => {
                    writeln!(f, "  {device:<8} {}: {text}\n           remedy: {remedy}", style::bad("does not work"))?;
                }
            }
        }
        if !self.devices.iter().any(|found| found.info.backend == Backend::Cuda) {
            writeln!(f, "  cuda     is not there, see Driver above")?;
            writeln!(f, "           remedy: {NO_GPU}")?;
        }
        writeln!(f, "\nBeside this program")?;
        for Surrounding { name, found, works, needed_for, remedy } in &self.surroundings {
            let state = if *works { style::good("is there") } else { style::weak("is not there") };
            writeln!(f, "  {name:<16} {state}: {found}\n                   needed for {needed_for}")?;
            if let Some(remedy) = remedy {
                writeln!(f, "                   remedy: {remedy}")?;
            }
        }
        writeln!(f, "\nDevice::auto() gives {}", self.auto)
    }
}

/// What to do without a GPU.
const NO_GPU: &str = "none is needed, everything runs on --device cpu; for a card of compute capability 7.5 or newer install NVIDIA's driver; pass it into a container (docker run --gpus all)";

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
