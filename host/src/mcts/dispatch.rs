//! Chooses the engine that runs a search; nothing else does.

use warpplay_gpu::mcts::KernelSet;

use super::blocks::BlockSizes;
use super::clock::Clock;
use super::engines::Found;
use super::engines::cpu::CpuSearch;
use super::engines::gpu::DeviceSearch;
use super::options::{Engine, Options};
use super::report::StageTimes;
use crate::{Backend, Device, Error, Memory, Result};

/// Resolves [`Engine::Auto`] to the fastest engine, and refuses an engine that cannot run these options on this back end.
pub(super) fn choose(options: &Options, backend: Backend) -> Result<Engine> {
    let allowed = match (backend, options.variant.is_thrifty()) {
        (Backend::Cpu, _) => &[Engine::Cpu][..],
        (_, true) => &[Engine::Stages],
        (_, false) => &[Engine::Graph, Engine::StageGraph, Engine::Stages],
    };
    match options.engine {
        Engine::Auto => Ok(allowed[0]),
        engine if allowed.contains(&engine) => Ok(engine),
        engine => {
            let names: Vec<_> = allowed.iter().map(|engine| engine.name()).collect();
            let (names, variant) = (names.join(", "), options.variant);
            Err(Error::option("engine", engine, format!("auto, {names} for {variant} on {backend}")))
        }
    }
}

/// The engine that runs the searches.
pub(super) enum Runner<G: KernelSet> {
    Kernels(Box<DeviceSearch<G>>),
    Cpu(CpuSearch),
}

/// Allocates the memory and loads the kernels.
pub(super) fn open<G: KernelSet>(
    device: &Device,
    options: &Options,
    memory: &Memory,
    capacity: u32,
    blocks: BlockSizes,
) -> Result<(Engine, Runner<G>)> {
    let engine = choose(options, device.backend())?;
    if engine == Engine::Cpu {
        // Trees of the host grow as they are filled, seldom to their limit.
        return Ok((engine, Runner::Cpu(CpuSearch::new(options, capacity)?)));
    }
    device.expect_memory(memory)?;
    Ok((engine, Runner::Kernels(Box::new(DeviceSearch::new(device, options, capacity, blocks, engine)?))))
}

impl<G: KernelSet> Runner<G> {
    /// Sets the seed of the next searches; the device search receives it with each position.
    pub fn set_seed(&mut self, seed: u64) {
        if let Self::Cpu(search) = self {
            search.set_seed(seed);
        }
    }

    /// Searches a position until the clock ends it.
    pub fn search(
        &mut self,
        position: &G,
        options: &Options,
        profile_steps: Option<u32>,
        clock: &mut Clock<'_>,
    ) -> Result<Found> {
        match self {
            Self::Kernels(search) => search.search(position, options, profile_steps, clock),
            Self::Cpu(search) => Ok(search.search(position, clock)),
        }
    }

    /// Mean times of the stages over `steps` steps from `position`.
    pub fn profile(&mut self, position: &G, options: &Options, steps: u32) -> Result<StageTimes> {
        match self {
            Self::Kernels(search) => {
                search.begin(position, options)?;
                search.profile(options, steps)
            }
            Self::Cpu(_) => Err(Error::Unsupported {
                what: "a profile by events".to_string(),
                backend: Backend::Cpu.to_string(),
                remedy: "read the stage times of a report".to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcts::Variant;

    #[test]
    fn an_engine_that_cannot_run_is_refused_by_name() {
        let asked = |engine, variant, backend| choose(&Options { engine, variant, ..Options::default() }, backend);
        let (prodigal, thrifty) = (Variant::AcpProdigal, Variant::OcpThrifty);
        assert_eq!(asked(Engine::Auto, prodigal, Backend::Cuda).unwrap(), Engine::Graph);
        assert_eq!(asked(Engine::Auto, thrifty, Backend::Simt).unwrap(), Engine::Stages);
        assert_eq!(asked(Engine::Auto, thrifty, Backend::Cpu).unwrap(), Engine::Cpu);
        assert_eq!(asked(Engine::StageGraph, prodigal, Backend::Simt).unwrap(), Engine::StageGraph);
        let text = asked(Engine::Graph, thrifty, Backend::Cuda).unwrap_err().to_string();
        assert_eq!(text, "option engine: graph is not allowed (auto, stages for ocp_thrifty on cuda)");
        assert!(asked(Engine::Stages, prodigal, Backend::Cpu).is_err());
        assert!(asked(Engine::Cpu, prodigal, Backend::Simt).is_err());
    }
}
