//! Chooses which engine runs; nothing else does.

use warpplay_gpu::shogi::sparse::exchange::ROW;

use crate::runtime::ipc;
use crate::shogi::engines::cpu::fit::Cpu;
use crate::shogi::engines::cpu::learn::CpuEngine;
use crate::shogi::engines::fit::Fit;
use crate::shogi::engines::fused::Fused;
use crate::shogi::engines::histogram::Histogram;
use crate::shogi::engines::learn::Learn;
use crate::shogi::engines::persistent::Persistent;
use crate::shogi::engines::plain::Plain;
use crate::shogi::engines::sparse::DeviceEngine;
use crate::shogi::features::FeatureSet;
use crate::shogi::learner::options::Engine as Learns;
use crate::shogi::material::options::{Engine, Options};
use crate::shogi::options::SparseOptions;
use crate::shogi::shard::Shard;
use crate::shogi::update::Optimizer;
use crate::{Backend, Device, Error, Memory, Result};

/// Resolves [`Engine::Auto`] to the engine that is fastest on every device.
pub(in crate::shogi) const fn chosen(engine: Engine) -> Engine {
    match engine {
        Engine::Auto => Engine::Histogram,
        engine => engine,
    }
}

/// Opens a device's engine for the fit of the twelve values, with the children of shards.
///
/// # Errors
/// Errors of the engine. The caller has checked that the device has the engine and enough memory ([`memory_of_fit`]).
pub(in crate::shogi) fn fit(device: &Device, shards: &[&Shard], options: &Options) -> Result<Box<dyn Fit>> {
    let (repeat, threads) = (options.repeat, options.threads);
    Ok(match (device.backend(), chosen(options.engine)) {
        (Backend::Cpu, Engine::Plain) => Box::new(Cpu::words(shards, repeat, threads)?),
        (Backend::Cpu, _) => Box::new(Cpu::histogram(shards, repeat, threads)?),
        (_, Engine::Plain) => Box::new(Plain::new(device, shards, repeat)?),
        (_, Engine::Fused) => Box::new(Fused::new(device, shards, repeat)?),
        (_, Engine::Persistent) => Box::new(Persistent::new(device, shards, repeat)?),
        (_, Engine::Histogram | Engine::Auto) => Box::new(Histogram::new(device, shards, repeat)?),
    })
}

/// Memory of [`fit`].
///
/// # Errors
/// [`Error::Unsupported`] for an engine that the CPU back end does not have.
pub(in crate::shogi) fn memory_of_fit(device: &Device, shards: &[&Shard], options: &Options) -> Result<Memory> {
    let once: u64 = shards.iter().map(|shard| shard.n_children() as u64).sum();
    memory_of_children(device, once.saturating_mul(options.repeat.into()), options)
}

/// Memory of [`fit`] for this many children, including repetitions.
///
/// # Errors
/// [`Error::Unsupported`] for an engine that the CPU back end does not have.
pub(in crate::shogi) fn memory_of_children(device: &Device, children: u64, options: &Options) -> Result<Memory> {
    let engine = chosen(options.engine);
    let cpu = device.backend() == Backend::Cpu;
    let bytes = |each: u64| children.saturating_mul(each);
    Ok(match engine {
        Engine::Fused | Engine::Persistent if cpu => {
            return Err(Error::Unsupported {
                what: format!("engine {engine}"),
                backend: Backend::Cpu.to_string(),
                remedy: "use plain or histogram, or a device that runs kernels".to_string(),
            });
        }
        Engine::Plain | Engine::Fused => Memory::default().on_device("differences", bytes(8)),
        Engine::Persistent => {
            Memory::default().on_device("positions", bytes(96)).on_device("played children and sums", bytes(12))
        }
        // Counts are multiplied: only the data themselves are there, while they are counted.
        Engine::Histogram | Engine::Auto if cpu => Memory::default(),
        Engine::Histogram | Engine::Auto => {
            let once = children / u64::from(options.repeat.max(1));
            Memory::default().on_device("differences, while they are counted", once.saturating_mul(8))
        }
    })
}

/// The engine that learns on a device.
///
/// # Errors
/// [`Error::Unsupported`] for an engine of other devices.
pub(in crate::shogi) fn chosen_learner(device: &Device, engine: Learns) -> Result<Learns> {
    let (found, remedy) = match device.backend() {
        Backend::Cpu => (Learns::Cpu, "use auto or cpu, or a device that runs kernels"),
        Backend::Cuda | Backend::Simt => (Learns::Sparse, "use auto or sparse, or the device cpu"),
    };
    if engine == Learns::Auto || engine == found {
        return Ok(found);
    }
    let (what, backend) = (format!("engine {engine}"), device.backend().to_string());
    Err(Error::Unsupported { what, backend, remedy: remedy.to_string() })
}

/// Opens a device's engine for a set of features; all weights are 0. `memory` is the memory that it will take, including its optimiser if known.
///
/// # Errors
/// [`Error::OutOfMemory`] if that does not fit; errors of loading the kernels.
pub(in crate::shogi) fn learn(
    device: &Device,
    features: FeatureSet,
    options: &SparseOptions,
    memory: &Memory,
) -> Result<Box<dyn Learn>> {
    options.check()?;
    device.expect_memory(memory)?;
    Ok(match device.backend() {
        Backend::Cpu => Box::new(CpuEngine::new(features, options)?),
        Backend::Cuda | Backend::Simt => Box::new(DeviceEngine::new(device, features, options)?),
    })
}

/// Maximum number of bytes that one of several ranks takes for rows of the gradient: all rows and their numbers.
pub(in crate::shogi) fn bytes_of_rows(features: FeatureSet) -> u64 {
    let n = features.len() as u64;
    8 * n.next_multiple_of((ipc::BLOCK_BYTES / 8) as u64) + 4 * n.div_ceil(ROW.into())
}

/// Memory of weights, their gradient, the optimiser's state, and the exchange between ranks. Positions take additional memory as far as there is room; the rest is copied in
/// every pass.
pub(in crate::shogi) fn memory_of_learn(features: FeatureSet, optimizer: Option<Optimizer>, n_ranks: usize) -> Memory {
    let n = features.len() as u64;
    let memory = Memory::default().on_device("weights and gradient", 12 * n);
    let memory = if n_ranks > 1 { memory.on_device("rows of gradients", bytes_of_rows(features)) } else { memory };
    match optimizer.map_or(0, Optimizer::n_memory) {
        0 => memory,
        arrays => memory.on_device("memory of the optimiser", u64::from(arrays) * 4 * n),
    }
}
