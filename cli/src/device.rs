//! The doctor: what this program finds of drivers and devices, what works, and what to do about what does not.
//!
//! ```text
//! warpplay device
//! ```
//!
//! A good result has `works` in the line of every back end that you mean to use. It ends with exit code 0 whatever it
//! finds: a machine without a GPU is not an error.

use warpplay::{Backend, Device, DeviceInfo, Error, Module, PtxSet};
use warpplay_gpu::ptx::embedded::ALL as MODULES;

/// Says it all.
pub fn run() -> anyhow::Result<()> {
    println!("warpplay {}", env!("CARGO_PKG_VERSION"));
    println!();

    println!("Driver");
    let devices = Device::list();
    match Device::why_no_cuda() {
        None => describe_driver(&devices),
        Some(error) => println!("  {error}"),
    }
    println!();

    println!("Devices");
    for info in &devices {
        describe_device(info);
    }
    println!();

    println!("Kernels in this program");
    for module in MODULES {
        describe_module(module);
    }
    println!();

    println!("Back ends");
    let mut n_broken = 0;
    for info in &devices {
        let spelling = spelling(info);
        match check(&spelling) {
            Ok(found) => println!("  {spelling:<8} works: {found}"),
            Err(problem) => {
                n_broken += 1;
                println!("  {spelling:<8} does not work: {}", problem.text);
                println!("           remedy: {}", problem.remedy);
            }
        }
    }
    if !devices.iter().any(|info| info.backend == Backend::Cuda) {
        println!("  cuda     is not there, see Driver above");
    }
    println!();

    println!("Device::auto() gives {}", Device::auto());
    if n_broken > 0 {
        println!("{n_broken} of {} devices do not work", devices.len());
    }
    Ok(())
}

/// The driver's versions, as the first GPU tells them.
fn describe_driver(devices: &[DeviceInfo]) {
    let first = devices.iter().find(|info| info.backend == Backend::Cuda);
    match first.and_then(|info| Some((info.driver_version?, info.ptx_version()?))) {
        Some(((major, minor), (ptx_major, ptx_minor))) => {
            println!("  CUDA {major}.{minor}, compiles PTX up to {ptx_major}.{ptx_minor}");
        }
        None => println!("  found, but it does not tell its version"),
    }
}

fn describe_device(info: &DeviceInfo) {
    println!("  {:<8} {}", spelling(info), info.name);
    match info.backend {
        Backend::Cuda => {
            let (major, minor) = info.compute_capability.unwrap_or_default();
            println!(
                "           compute capability {major}.{minor} (sm_{major}{minor}), {} multiprocessors, {} of memory, {} of L2 cache",
                info.n_multiprocessors,
                mebibytes(info.memory_bytes),
                mebibytes(info.l2_bytes),
            );
            println!(
                "           a block has at most {} threads and {} KiB of shared memory; a multiprocessor holds {} threads, {} KiB, {} registers",
                info.max_threads_per_block,
                info.max_shared_per_block / 1024,
                info.max_threads_per_multiprocessor,
                info.max_shared_per_multiprocessor / 1024,
                info.max_registers_per_multiprocessor,
            );
        }
        Backend::Simt => println!(
            "           kernels run on the CPU, thread by thread: at most {} threads and {} KiB of shared memory a block; slow, for tests",
            info.max_threads_per_block,
            info.max_shared_per_block / 1024,
        ),
        Backend::Cpu => println!(
            "           plain implementations: {} hardware threads, {} of memory",
            info.n_multiprocessors,
            mebibytes(info.memory_bytes),
        ),
    }
}

fn describe_module(module: &PtxSet) {
    let architectures: Vec<&str> = module.images.iter().map(|image| image.arch).collect();
    match module.missing {
        None => println!("  {:<16} PTX for {}", module.name, architectures.join(", ")),
        Some(reason) => println!("  {:<16} no PTX: {reason}", module.name),
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
