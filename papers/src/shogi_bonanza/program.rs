//! The paper's program: thirteen passes over all positions an iteration.

use std::ops::{ControlFlow, Range};
use std::time::Instant;

use warpplay::shogi::material::Positions;
use warpplay::shogi::{Objective, Shard, Values, check_features, check_values, raised};
use warpplay::{Backend, Device, Error, Memory, Result, Stream};
use warpplay_cpu_ref::shogi::material::{Parallel, Program as Sums, Sequential, evaluate};
use warpplay_cpu_ref::shogi::{fixed, sigmoid};

use super::launch::{Kernels, Played, PositionArrays};
use super::reproduce::Reproducible;

/// Children as positions of bytes, evaluated one by one: on the CPU by the plain program, where kernels run by the paper's two.
pub struct Program {
    work: Work,
    objective: Objective,
    children: u64,
}

/// Seconds of both stages of one sum.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stages {
    /// The value of every position.
    pub evaluate: f64,
    /// The comparison with the played child, and the sum.
    pub sum: f64,
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
        let children = children(shards, repeat);
        if children == 0 {
            return Err(Error::shape("children", "1 or more", 0));
        }
        device.expect_memory(&memory(device.backend(), children, stride))?;
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

    /// Memory that so many ranks take on the CPU, each with all positions of 96 bytes, `repeat` times.
    pub(super) fn memory_of(shards: &[&Shard], repeat: u32, ranks: u32) -> Memory {
        memory(Backend::Cpu, children(shards, repeat).saturating_mul(ranks.into()), 96)
    }

    /// How long both stages of one sum take, one after the other: on the CPU on one core, where kernels run with a wait after each.
    ///
    /// # Errors
    /// [`Error::Option`] for values that are no numbers or too large; those of the device.
    pub fn stages(&mut self, values: &Values) -> Result<Stages> {
        check_values("values", values)?;
        let a = self.objective.a;
        match &mut self.work {
            Work::Cpu(cpu) => Ok(cpu.stages(values, a)),
            Work::Device(device) => {
                let OnDevice { kernels, positions, played, stream } = &mut **device;
                stream.synchronize()?;
                let start = Instant::now();
                let n = positions.len();
                kernels.evaluate(stream, positions, n, values)?;
                stream.synchronize()?;
                let evaluate = start.elapsed().as_secs_f64();
                let start = Instant::now();
                kernels.sum(stream, positions, played, a)?;
                Ok(Stages { evaluate, sum: start.elapsed().as_secs_f64() })
            }
        }
    }
}

/// Children of shards that are taken so many times.
fn children(shards: &[&Shard], repeat: u32) -> u64 {
    let once: u64 = shards.iter().map(|shard| shard.n_children() as u64).sum();
    once.saturating_mul(repeat.into())
}

/// Memory for so many children: where kernels run a position, its value and the number of the played child on the device; on the host the positions once with 96 bytes and once with
/// `stride`, as long as they are written.
fn memory(backend: Backend, children: u64, stride: usize) -> Memory {
    let bytes = |each: usize| children.saturating_mul(each as u64);
    let host = Memory::default().on_host("positions", bytes(96 + stride));
    match backend {
        Backend::Cpu => host,
        Backend::Cuda | Backend::Simt => host
            .on_host("played children", bytes(size_of::<u32>()))
            .on_device("positions", bytes(stride))
            .on_device("values and played children", bytes(size_of::<f64>() + size_of::<u32>())),
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
    fn stages(&self, values: &Values, a: f64) -> Stages {
        let start = Instant::now();
        let f: Vec<f64> = self.bytes.chunks_exact(self.stride).map(|position| evaluate(position, values)).collect();
        let seconds = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let mut sum = 0;
        for (ends, &side) in self.first_child.windows(2).zip(&self.sides) {
            let children = f.get(ends[0] as usize..ends[1] as usize).unwrap_or_default();
            let Some(played) = children.first() else { continue };
            let sign = if side == 0 { 1.0 } else { -1.0 };
            sum += children.iter().map(|child| i128::from(fixed(sigmoid(a, sign * (child - played))))).sum::<i128>();
        }
        std::hint::black_box(sum);
        Stages { evaluate: seconds, sum: start.elapsed().as_secs_f64() }
    }

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
        // Nobody ends it.
        self.sums_while(values, features, &mut || ControlFlow::Continue(())).map(Option::unwrap_or_default)
    }

    fn sums_while(
        &mut self,
        values: &Values,
        features: Range<usize>,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Vec<i128>>> {
        check_values("values", values)?;
        check_features(&features)?;
        let Objective { a, delta, .. } = self.objective;
        let wanted = std::iter::once(None).chain(features.map(Some));
        let mut sums = Vec::new();
        for value in wanted {
            if go_on().is_break() {
                return Ok(None);
            }
            let values = raised(values, value, delta);
            sums.push(match &mut self.work {
                Work::Cpu(cpu) => cpu.sum(&values, a),
                Work::Device(device) => {
                    let OnDevice { kernels, positions, played, stream } = &mut **device;
                    let n = positions.len();
                    kernels.evaluate(stream, positions, n, &values)?;
                    kernels.sum(stream, positions, played, a)?
                }
            });
        }
        Ok(Some(sums))
    }

    fn children(&self) -> u64 {
        self.children
    }
}
