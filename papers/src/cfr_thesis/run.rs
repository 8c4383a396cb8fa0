//! One of the programs, running.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use warpplay::cfr::GameDef;
use warpplay::cfr::engines::walk::{Checksums, Set};
use warpplay::{Backend, Device, Error, Precision, Result};

use super::cpu::OnCpu;
use super::device::OnDevice;
use super::options::{Options, Program};
use super::plan::{Plan, Profile, Running, on_gpu};

/// One of the programs on one game.
///
/// ```no_run
/// use warpplay::Device;
/// use warpplay::cfr::GameDef;
/// use warpplay_papers::cfr_thesis::{Options, Run};
///
/// let game = GameDef::read("variant_c.game")?;
/// let mut run = Run::build(&Device::auto(), &game, &Options::default())?;
/// run.iterate(1000)?;
/// println!("{} s, average utilities {:?}", run.seconds(), run.average_utilities()?);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Run {
    plan: Arc<Plan>,
    options: Options,
    running: Box<dyn Running>,
    iterations: u64,
    seconds: f64,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, iterations, seconds, .. } = self;
        f.debug_struct("Run")
            .field("options", options)
            .field("iterations", iterations)
            .field("seconds", seconds)
            .finish_non_exhaustive()
    }
}

impl Run {
    /// Lays the game out and takes the memory.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed, and for a game of more than one round, with several sizes of raise or with side pots;
    /// [`Error::OutOfMemory`] with the bytes needed where the device has less; [`Error::Unsupported`] for a program of the GPU on the CPU back end.
    pub fn build(device: &Device, game: &GameDef, options: &Options) -> Result<Self> {
        Self::with_plan(device, &Arc::new(Plan::of(game)?), options)
    }

    /// The same for a game that is laid out.
    pub(super) fn with_plan(device: &Device, plan: &Arc<Plan>, options: &Options) -> Result<Self> {
        options.check()?;
        // Programs of the CPU take the host's memory, whichever device is given.
        let device = if on_gpu(options.program) { device.clone() } else { Device::cpu() };
        device.expect_memory(&plan.memory(options))?;
        let running: Box<dyn Running> = match options.program {
            Program::Levels | Program::Graph if device.backend() == Backend::Cpu => {
                return Err(Error::Unsupported {
                    what: format!("program {}", options.program),
                    backend: device.backend().to_string(),
                    remedy: "use a CUDA device, or the program recursive or iterative".into(),
                });
            }
            Program::Levels | Program::Graph if options.precision == Precision::F64 => {
                Box::new(OnDevice::<f64>::new(&device, plan, options)?)
            }
            Program::Levels | Program::Graph => Box::new(OnDevice::<f32>::new(&device, plan, options)?),
            Program::Recursive | Program::Iterative => Box::new(OnCpu::new(plan, options)?),
        };
        Ok(Self { plan: Arc::clone(plan), options: *options, running, iterations: 0, seconds: 0.0 })
    }

    /// Does `n` more iterations, one deal each.
    ///
    /// # Errors
    /// As the device says.
    pub fn iterate(&mut self, n: u32) -> Result<()> {
        let start = Instant::now();
        self.running.run(n)?;
        self.seconds += start.elapsed().as_secs_f64();
        self.iterations += u64::from(n);
        Ok(())
    }

    /// Does `n` more iterations with a look at the clock after every level, for the programs of the GPU.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for those of the CPU; as the device says.
    pub fn profile(&mut self, n: u32) -> Result<Profile> {
        let profile = self.running.profile(n)?;
        self.iterations += u64::from(n);
        Ok(profile)
    }

    /// Copies the lists of the levels' sequences to the device again, `n` times: how many arrays they are, each of which takes a copy, as [`Options::flattened`] says; and
    /// seconds a time.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for the programs of the CPU; as the device says.
    pub fn copy_lists(&mut self, n: u32) -> Result<(usize, f64)> {
        let (start, mut n_arrays) = (Instant::now(), 0);
        for _ in 0..n {
            n_arrays = self.running.copy_lists()?;
        }
        Ok((n_arrays, start.elapsed().as_secs_f64() / f64::from(n.max(1))))
    }

    /// Iterations so far.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Wall time of [`iterate`](Self::iterate) so far, deals included.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Sequences of the game.
    pub fn n_sequences(&self) -> u32 {
        self.plan.sequences.sequences.len() as u32
    }

    /// Buckets of the game.
    pub fn n_buckets(&self) -> u32 {
        self.plan.n_buckets
    }

    /// Sum over the iterations of the utilities of the strategies used, in chips, by seat.
    ///
    /// # Errors
    /// As the device says.
    pub fn utilities(&self) -> Result<Vec<f64>> {
        self.running.utilities()
    }

    /// Mean of the same over the iterations; 0 before the first.
    ///
    /// # Errors
    /// As the device says.
    pub fn average_utilities(&self) -> Result<Vec<f64>> {
        let n = self.iterations.max(1) as f64;
        Ok(self.utilities()?.into_iter().map(|sum| sum / n).collect())
    }

    /// What is known of one information set.
    ///
    /// # Errors
    /// [`Error::Option`] if there is no such sequence or bucket; as the device says.
    pub fn set(&self, sequence: u32, bucket: u32) -> Result<Set> {
        if sequence >= self.n_sequences() {
            return Err(Error::option("sequence", sequence, format!("below {}", self.n_sequences())));
        }
        if bucket >= self.n_buckets() {
            return Err(Error::option("bucket", bucket, format!("below {}", self.n_buckets())));
        }
        self.running.set(sequence, bucket)
    }

    /// Sums over the tables; reads them wholly.
    ///
    /// # Errors
    /// As the device says.
    pub fn checksums(&self) -> Result<Checksums> {
        self.running.checksums()
    }
}
