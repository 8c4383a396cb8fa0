//! The kernels that fit the twelve values, resolved, with a safe function for each; and the device arrays they work on.

use warpplay_gpu::cuda::memory::Vec4;
use warpplay_gpu::shogi::descent::{DescentArgs, HIGH, ROW, SUM_WORDS};
use warpplay_gpu::shogi::material::{self, children, count, histogram};
use warpplay_gpu::shogi::persistent;

use super::fit::{Evaluated, Run};
use crate::shogi::evaluation::LEARNT;
use crate::shogi::objective::Values;
use crate::{Backend, Buffer, Device, Error, Function, Kernel, LaunchShape, Module, Result, Stream};
use warpplay_gpu::ptx::embedded::{SHOGI_MATERIAL, SHOGI_PERSISTENT};

/// Blocks of a cooperative grid under `simt`: enough for blocks to differ, few enough to be quick.
const SIMT_BLOCKS: u32 = 3;

/// Blocks that the device holds at once, at most `wanted`, at least 1.
fn resident<K: Kernel>(function: &Function<K>, shape: LaunchShape, wanted: u32) -> Result<u32> {
    let device = function.device();
    let most = match device.backend() {
        Backend::Cuda => function.occupancy(&shape)?.saturating_mul(device.info()?.n_multiprocessors),
        Backend::Simt | Backend::Cpu => SIMT_BLOCKS,
    };
    Ok(wanted.clamp(1, most.max(1)))
}

/// What a run writes: sums and values of every evaluation.
pub(super) struct RunArrays {
    sums: Buffer<u64>,
    rows: Buffer<f64>,
    arrivals: Buffer<u32>,
    evaluations: u32,
}

impl RunArrays {
    /// Takes the memory for so many evaluations.
    pub fn new(stream: &Stream, evaluations: u32) -> Result<Self> {
        Ok(Self {
            sums: stream.alloc(evaluations as usize * SUM_WORDS)?,
            rows: stream.alloc(evaluations as usize * ROW)?,
            arrivals: stream.alloc(1)?,
            evaluations,
        })
    }

    /// Clears the arrays, with room for the run, and gives them to it.
    fn prepare(&mut self, stream: &Stream, run: &Run) -> Result<DescentArgs<'_>> {
        if run.evaluations > self.evaluations {
            *self = Self::new(stream, run.evaluations)?;
        }
        stream.zero(&mut self.sums)?;
        stream.zero(&mut self.arrivals)?;
        stream.write(&mut self.rows, 0, &run.values)?;
        Ok(DescentArgs {
            sums: self.sums.view_mut(),
            rows: self.rows.view_mut(),
            arrivals: self.arrivals.view_mut(),
            a: run.objective.a,
            delta: run.objective.delta,
            h: run.objective.h,
            factor: run.objective.factor,
            evaluations: run.evaluations,
            first: run.features.start as u32 + 1,
            end: run.features.end as u32 + 1,
            reserved: 0,
        })
    }

    /// Waits for the run: sums and values of each evaluation.
    pub fn read(&self, stream: &Stream, evaluations: u32) -> Result<Vec<Evaluated>> {
        let mut words = vec![0; evaluations as usize * SUM_WORDS];
        let mut rows = vec![0.0; evaluations as usize * ROW];
        stream.read_into(&self.sums, 0, &mut words)?;
        stream.read_into(&self.rows, 0, &mut rows)?;
        let sum = |words: &[u64], kind: usize| {
            let (low, high) = (words.get(kind).copied(), words.get(kind + HIGH).copied());
            (i128::from(high.unwrap_or(0) as i64) << 32) + i128::from(low.unwrap_or(0))
        };
        let lines = words.chunks_exact(SUM_WORDS).zip(rows.chunks_exact(ROW));
        let of = |(words, row): (&[u64], &[f64])| {
            let mut values = [0.0; LEARNT];
            values.copy_from_slice(&row[..LEARNT]);
            (std::array::from_fn(|kind| sum(words, kind)), values)
        };
        Ok(lines.map(of).collect())
    }
}

/// Kernels on differences and histograms.
pub(super) struct MaterialKernels {
    set: material::Kernels<Module>,
}

/// Rows of a histogram on the device.
pub(super) struct RowArrays {
    pub differences: Buffer<u64>,
    pub counts: Buffer<u64>,
}

/// The table that differences are counted in.
pub(super) struct Table {
    words: Buffer<u64>,
    counts: Buffer<u64>,
    full: Buffer<u32>,
}

impl Table {
    /// Takes the memory for `slots` words, a power of two.
    pub fn new(stream: &Stream, slots: usize) -> Result<Self> {
        Ok(Self { words: stream.alloc(slots)?, counts: stream.alloc(slots)?, full: stream.alloc(1)? })
    }

    /// Slots.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Empties it.
    pub fn clear(&mut self, stream: &Stream) -> Result<()> {
        stream.zero(&mut self.words)?;
        stream.zero(&mut self.counts)?;
        stream.zero(&mut self.full)
    }

    /// Words and counts, those of empty slots 0; `None` where there was too little room.
    pub fn read(&self, stream: &Stream) -> Result<Option<Vec<(u64, u64)>>> {
        if stream.read(&self.full)?.iter().any(|&full| full != 0) {
            return Ok(None);
        }
        Ok(Some(stream.read(&self.words)?.into_iter().zip(stream.read(&self.counts)?).collect()))
    }
}

impl MaterialKernels {
    /// Loads the module: a kernel that is missing is found here, at the door.
    pub fn load(device: &Device) -> Result<Self> {
        let module = Module::load(device, &SHOGI_MATERIAL)?;
        Ok(Self { set: material::Kernels::load(&module)? })
    }

    /// A run over differences, thirteen exponentials each.
    pub fn plain(&self, stream: &Stream, differences: &Buffer<u64>, arrays: &mut RunArrays, run: &Run) -> Result<()> {
        let n = differences.len() as u32;
        let function = &self.set.shogi_material_plain;
        let blocks = resident(function, children::shape(1), n.div_ceil(children::BLOCK))?;
        let descent = arrays.prepare(stream, run)?;
        // SAFETY: `prepare` cleared what the run adds to.
        unsafe { stream.run_unchecked_with(function, (blocks,), (differences, n, descent)) }
    }

    /// The same with one exponential each.
    pub fn fused(&self, stream: &Stream, differences: &Buffer<u64>, arrays: &mut RunArrays, run: &Run) -> Result<()> {
        let n = differences.len() as u32;
        let function = &self.set.shogi_material_fused;
        let blocks = resident(function, children::shape(1), n.div_ceil(children::BLOCK))?;
        let descent = arrays.prepare(stream, run)?;
        // SAFETY: as above.
        unsafe { stream.run_unchecked_with(function, (blocks,), (differences, n, descent)) }
    }

    /// A run over distinct differences.
    pub fn histogram(&self, stream: &Stream, rows: &RowArrays, arrays: &mut RunArrays, run: &Run) -> Result<()> {
        let n = rows.differences.len() as u32;
        let function = &self.set.shogi_material_histogram;
        let most = resident(function, histogram::shape(1, 1), histogram::MAX_BLOCKS)?;
        let descent = arrays.prepare(stream, run)?;
        // SAFETY: as above.
        unsafe { stream.run_unchecked_with(function, (most,), (&rows.differences, &rows.counts, n, descent)) }
    }

    /// The gradient over distinct differences, not divided by their number, in multiples of 2⁻³⁶.
    pub fn gradient(&self, stream: &Stream, rows: &RowArrays, values: &Values, a: f64) -> Result<[i128; LEARNT]> {
        let n = rows.differences.len() as u32;
        let values = stream.upload(values)?;
        let mut sums = stream.alloc::<i64>(2 * LEARNT)?;
        let arguments = (&rows.differences, &rows.counts, &values, &mut sums, n, a);
        stream.run(&self.set.shogi_material_gradient, arguments)?;
        let sums = stream.read(&sums)?;
        let mut gradient = [0; LEARNT];
        for (value, pair) in gradient.iter_mut().zip(sums.chunks_exact(2)) {
            if let [low, high] = *pair {
                *value = (i128::from(high) << 32) + i128::from(low);
            }
        }
        Ok(gradient)
    }

    /// Counts the differences that are not 0 in an empty table.
    pub fn count(&self, stream: &Stream, pairs: &Buffer<Vec4>, table: &mut Table) -> Result<()> {
        let n = pairs.len() as u32;
        let mask = (table.len() as u32).wrapping_sub(1);
        // As many blocks as are resident, so that each empties its table once.
        let function = &self.set.shogi_material_count;
        let blocks = resident(function, count::shape(1), n.div_ceil(count::BLOCK))?;
        let Table { words, counts, full } = table;
        stream.run_with(function, (blocks,), (pairs, n, words, counts, mask, full)).map(drop)
    }
}

/// The kernel on positions.
pub(super) struct PersistentKernels {
    set: persistent::Kernels<Module>,
}

/// The played child of each child, checked.
pub(super) struct Played(Buffer<u32>);

impl Played {
    /// Uploads them: for each child its parent's child 0 times 2, plus the side that moves.
    pub fn upload(stream: &Stream, played: &[u32]) -> Result<Self> {
        if let Some(wrong) = played.iter().find(|&&played_child| (played_child >> 1) as usize >= played.len()) {
            return Err(Error::shape("played child", format!("below {}", played.len()), wrong >> 1));
        }
        Ok(Self(stream.upload(played)?))
    }
}

impl PersistentKernels {
    /// Loads the module.
    pub fn load(device: &Device) -> Result<Self> {
        Ok(Self { set: persistent::Kernels::load(&Module::load(device, &SHOGI_PERSISTENT)?)? })
    }

    /// A run over positions of 96 bytes.
    pub fn persistent(
        &self,
        stream: &Stream,
        positions: &Buffer<Vec4>,
        played: &Played,
        sums: &mut Buffer<u64>,
        arrays: &mut RunArrays,
        run: &Run,
    ) -> Result<()> {
        let n = played.0.len() as u32;
        let function = &self.set.shogi_paper_persistent;
        let blocks = resident(function, persistent::shape(1), n.div_ceil(persistent::BLOCK))?;
        let descent = arrays.prepare(stream, run)?;
        // SAFETY: played children are below their number; `prepare` cleared what the run adds to.
        unsafe { stream.run_unchecked_with(function, (blocks,), (positions, &played.0, sums, n, descent)) }
    }
}
