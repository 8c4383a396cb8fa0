//! The forms on a device that runs kernels.

use std::ops::Range;

use warpplay_gpu::cuda::memory::Vec4;

use super::evaluation::{Evaluation, descend, raised};
use super::kernels::RowArrays;
use super::kernels::{MaterialKernels, PaperKernels, Played, PositionArrays, Run, RunArrays};
use super::positions::check_number;
use super::{Form, HALF, Histogram, LEARNT, Positions, SUMS};
use crate::shogi::{Objective, Row, Shard, Values};
use crate::{Buffer, Device, Result, Stream};

/// Children in one of the forms, in the device's memory.
pub(super) struct OnDevice {
    data: Data,
    arrays: RunArrays,
    stream: Stream,
    /// Children that are not held, since they have no difference.
    zeros: u64,
}

enum Data {
    Paper { kernels: PaperKernels, positions: PositionArrays, played: Played, sums: Buffer<i64> },
    Persistent { kernels: PaperKernels, positions: Buffer<Vec4>, played: Played, sums: Buffer<u64> },
    Differences { kernels: MaterialKernels, differences: Buffer<u64>, fused: bool },
    Histogram { kernels: MaterialKernels, rows: RowArrays, children: u64 },
}

impl OnDevice {
    /// Uploads what the form needs, `repeat` times the shards.
    pub fn new(device: &Device, form: Form, shards: &[&Shard], repeat: u32) -> Result<Self> {
        let stream = device.stream()?;
        // Not for the histogram, whose counts are multiplied: it may be repeated more often than pointers have room.
        let repeated = || (0..repeat).flat_map(|_| shards.iter().copied());
        let mut zeros = 0;
        let data = match form {
            Form::Paper | Form::Paper95 | Form::Persistent => {
                let stride = if form == Form::Paper95 { 95 } else { 96 };
                let kernels = PaperKernels::load(device)?;
                let host = Positions::from_shards(&repeated().collect::<Vec<_>>(), stride)?;
                let played = Played::upload(&stream, &host.played())?;
                if form == Form::Persistent {
                    let positions = upload_quads(&stream, host.bytes())?;
                    Data::Persistent { kernels, positions, played, sums: stream.alloc(host.len())? }
                } else {
                    let mut positions = PositionArrays::new(&stream, stride, host.len())?;
                    positions.write(&stream, host.bytes())?;
                    let sums = stream.alloc(PaperKernels::n_sums(host.len()))?;
                    Data::Paper { kernels, positions, played, sums }
                }
            }
            Form::Plain | Form::Fused => {
                let kernels = MaterialKernels::load(device)?;
                let all = repeated().flat_map(|shard| shard.differences.iter().copied());
                let differences: Vec<u64> = all.filter(|&difference| difference != 0).collect();
                check_number(differences.len())?;
                let children: usize = repeated().map(|shard| shard.n_children()).sum();
                zeros = (children - differences.len()) as u64;
                Data::Differences { kernels, differences: stream.upload(&differences)?, fused: form == Form::Fused }
            }
            Form::Histogram => {
                let histogram = Histogram::on_device(device, shards)?.repeated(repeat);
                let kernels = MaterialKernels::load(device)?;
                let (differences, counts): (Vec<u64>, Vec<u64>) = histogram.rows().iter().copied().unzip();
                let rows = RowArrays { differences: stream.upload(&differences)?, counts: stream.upload(&counts)? };
                Data::Histogram { kernels, rows, children: histogram.children() }
            }
        };
        let arrays = RunArrays::new(&stream, 1)?;
        stream.synchronize()?;
        Ok(Self { data, arrays, stream, zeros })
    }

    /// Σ T at the values, then with each of `features` raised.
    pub fn sums(&mut self, objective: &Objective, values: &Values, features: Range<usize>) -> Result<Vec<i128>> {
        if let Data::Paper { kernels, positions, played, sums } = &mut self.data {
            let stream = &self.stream;
            let places = std::iter::once(None).chain(features.map(Some));
            return places
                .map(|place| {
                    let n = positions.len();
                    kernels.evaluate(stream, positions, n, &raised(values, place, objective.delta))?;
                    kernels.sum(stream, positions, played, sums, objective.a)
                })
                .collect();
        }
        let run = Run { objective: *objective, values: *values, evaluations: 1, features: features.clone() };
        let evaluations = self.launch(&run)?;
        let sums = evaluations.first().map_or([0; SUMS], |evaluation| evaluation.0);
        Ok(std::iter::once(0)
            .chain(features.map(|feature| feature + 1))
            .filter_map(|sum| sums.get(sum).copied())
            .collect())
    }

    /// All iterations: in one launch, but for the source's form.
    pub fn run(&mut self, objective: &Objective, children: u64, values: Values, iterations: u32) -> Result<Vec<Row>> {
        if matches!(self.data, Data::Paper { .. }) {
            return descend(objective, children, values, iterations, |values| self.sums(objective, values, 0..LEARNT));
        }
        let run = Run { objective: *objective, values, evaluations: iterations.saturating_add(1), features: 0..LEARNT };
        let mut h = objective.h;
        let mut rows = Vec::new();
        for (iteration, (sums, values)) in (0..).zip(self.launch(&run)?) {
            rows.push(Evaluation { sums, children }.row(iteration, values, h));
            h *= objective.factor;
        }
        Ok(rows)
    }

    /// The gradient over a histogram, not divided by the number of children; `None` for other forms.
    pub fn gradient(&self, objective: &Objective, values: &Values) -> Result<Option<([i128; LEARNT], u64)>> {
        match &self.data {
            Data::Histogram { kernels, rows, children } => {
                Ok(Some((kernels.gradient(&self.stream, rows, values, objective.a)?, *children)))
            }
            _ => Ok(None),
        }
    }

    /// One launch: sums and values of each evaluation.
    fn launch(&mut self, run: &Run) -> Result<Vec<([i128; SUMS], Values)>> {
        let (stream, arrays) = (&self.stream, &mut self.arrays);
        match &mut self.data {
            Data::Persistent { kernels, positions, played, sums } => {
                kernels.persistent(stream, positions, played, sums, arrays, run)?;
            }
            Data::Differences { kernels, differences, fused: true } => {
                kernels.fused(stream, differences, arrays, run)?
            }
            Data::Differences { kernels, differences, fused: false } => {
                kernels.plain(stream, differences, arrays, run)?
            }
            Data::Histogram { kernels, rows, .. } => kernels.histogram(stream, rows, arrays, run)?,
            Data::Paper { .. } => return Ok(Vec::new()),
        }
        let mut evaluations = self.arrays.read(&self.stream, run.evaluations)?;
        for (sums, _) in &mut evaluations {
            for sum in sums {
                *sum += HALF * i128::from(self.zeros);
            }
        }
        Ok(evaluations)
    }
}

/// Uploads bytes, a multiple of 16, as quads.
fn upload_quads(stream: &Stream, bytes: &[u8]) -> Result<Buffer<Vec4>> {
    const PIECE: usize = 1 << 16;
    let mut quads = stream.alloc::<Vec4>(bytes.len() / 16)?;
    for (number, piece) in bytes.chunks(PIECE * 16).enumerate() {
        // Bytes need not lie where quads may.
        let piece: Vec<Vec4> = piece.chunks_exact(16).map(bytemuck::pod_read_unaligned).collect();
        stream.write(&mut quads, number * PIECE, &piece)?;
    }
    Ok(quads)
}
