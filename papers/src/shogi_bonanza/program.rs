//! The paper's program: thirteen passes over all positions an iteration.

use std::ops::Range;

use warpplay::shogi::material::Positions;
use warpplay::shogi::{Objective, Shard, Values};
use warpplay::{Backend, Device, Error, Memory, Result, Stream};
use warpplay_cpu_ref::shogi::material::{Parallel, Program as Sums, Sequential};

use super::launch::{Kernels, Played, PositionArrays};
use super::reproduce::{Reproducible, check_values};

/// Children as positions of bytes, evaluated one by one: on the CPU by the plain program, where kernels run by the paper's two.
pub struct Program {
    work: Work,
    objective: Objective,
    children: u64,
}

enum Work {
    Cpu(Box<OnCpu>),
    Device(Box<OnDevice>),
}

struct OnCpu {
    bytes: Vec<u8>,
    stride: usize,
    first_child: Vec<u32>,
    sides: Vec<u8>,
    threads: Threads,
}

enum Threads {
    One,
    All,
    Pool(rayon::ThreadPool),
}

struct OnDevice {
    kernels: Kernels,
    positions: PositionArrays,
    played: Played,
    stream: Stream,
}

impl Program {
    /// Takes over the children of shards, `repeat` times, in `stride` bytes each, 95 or 96. `threads` on the CPU: 1 is the sequential program, `None` all cores.
    ///
    /// # Errors
    /// [`Error::Option`] for another stride, no repetition, threads that cannot be started, or an objective that [`Objective::check`] refuses; [`Error::Shape`] without
    /// children, or for 2³¹ and more; [`Error::OutOfMemory`] where they do not fit; those of the driver.
    pub fn new(
        device: &Device,
        shards: &[&Shard],
        objective: Objective,
        stride: usize,
        repeat: u32,
        threads: Option<usize>,
    ) -> Result<Self> {
        objective.check()?;
        if stride != 95 && stride != 96 {
            return Err(Error::option("stride", stride, "95 or 96 bytes"));
        }
        if repeat == 0 {
            return Err(Error::option("repeat", repeat, "1 or more"));
        }
        let once: u64 = shards.iter().map(|shard| shard.n_children() as u64).sum();
        if once == 0 {
            return Err(Error::shape("children", "1 or more", 0));
        }
        let children = once.saturating_mul(repeat.into());
        device.expect_memory(&Memory::default().on_device("positions", children.saturating_mul(stride as u64)))?;
        let repeated: Vec<&Shard> = (0..repeat).flat_map(|_| shards.iter().copied()).collect();
        let host = Positions::from_shards(&repeated)?;
        let bytes = match stride {
            96 => host.bytes().to_vec(),
            // The pad is the last byte.
            _ => host.bytes().chunks_exact(96).flat_map(|position| &position[..95]).copied().collect(),
        };
        let work = match device.backend() {
            Backend::Cpu => {
                let (first_child, sides) = (host.first_child().to_vec(), host.sides().to_vec());
                Work::Cpu(Box::new(OnCpu { bytes, stride, first_child, sides, threads: Threads::new(threads)? }))
            }
            Backend::Cuda | Backend::Simt => {
                let stream = device.stream()?;
                let kernels = Kernels::load(device)?;
                let played = Played::upload(&stream, &host.played())?;
                let mut positions = PositionArrays::new(&stream, stride, host.len())?;
                positions.write(&stream, &bytes)?;
                stream.synchronize()?;
                Work::Device(Box::new(OnDevice { kernels, positions, played, stream }))
            }
        };
        Ok(Self { work, objective, children })
    }
}

impl Threads {
    fn new(n: Option<usize>) -> Result<Self> {
        let wrong = |n: usize| Error::option("threads", n, "1 to 1024");
        Ok(match n {
            None => Self::All,
            Some(1) => Self::One,
            Some(n @ 2..=1024) => {
                Self::Pool(rayon::ThreadPoolBuilder::new().num_threads(n).build().map_err(|_| wrong(n))?)
            }
            Some(n) => return Err(wrong(n)),
        })
    }
}

impl OnCpu {
    fn sum(&self, values: &Values, a: f64) -> i128 {
        fn of<P: Sums>(cpu: &OnCpu, values: &Values, a: f64) -> i128 {
            P::positions(&cpu.bytes, cpu.stride, &cpu.first_child, &cpu.sides, values, a)
        }
        match &self.threads {
            Threads::One => of::<Sequential>(self, values, a),
            Threads::All => of::<Parallel>(self, values, a),
            Threads::Pool(pool) => pool.install(|| of::<Parallel>(self, values, a)),
        }
    }
}

impl Reproducible for Program {
    fn sums(&mut self, values: &Values, features: Range<usize>) -> Result<Vec<i128>> {
        check_values(values)?;
        if features.start > features.end || features.end > 12 {
            return Err(Error::option("features", format!("{features:?}"), "a range in 0..12"));
        }
        let Objective { a, delta, .. } = self.objective;
        let wanted = std::iter::once(None).chain(features.map(Some));
        let raised = |value: Option<usize>| {
            let mut raised = *values;
            if let Some(value) = value.and_then(|value| raised.get_mut(value)) {
                *value += delta;
            }
            raised
        };
        match &mut self.work {
            Work::Cpu(cpu) => Ok(wanted.map(|value| cpu.sum(&raised(value), a)).collect()),
            Work::Device(device) => {
                let OnDevice { kernels, positions, played, stream } = &mut **device;
                let sum = |value| {
                    let n = positions.len();
                    kernels.evaluate(stream, positions, n, &raised(value))?;
                    kernels.sum(stream, positions, played, a)
                };
                wanted.map(sum).collect()
            }
        }
    }

    fn children(&self) -> u64 {
        self.children
    }
}
