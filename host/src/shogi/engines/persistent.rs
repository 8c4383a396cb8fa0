//! Positions of 96 bytes, all iterations in one launch.

use warpplay_gpu::cuda::memory::Vec4;

use crate::shogi::engines::fit::{Evaluated, Fit, Run};
use crate::shogi::engines::kernels::{PersistentKernels, Played, RunArrays};
use crate::shogi::positions::Positions;
use crate::shogi::shard::Shard;
use crate::{Buffer, Device, Result, Stream};

/// Quads of 16 bytes that are copied at a time.
const PIECE: usize = 1 << 16;

/// Positions on a device that runs kernels.
pub(in crate::shogi) struct Persistent {
    kernels: PersistentKernels,
    positions: Buffer<Vec4>,
    played: Played,
    sums: Buffer<u64>,
    arrays: RunArrays,
    stream: Stream,
}

impl Persistent {
    /// Uploads the positions of shards, `repeat` times.
    pub fn new(device: &Device, shards: &[&Shard], repeat: u32) -> Result<Self> {
        let stream = device.stream()?;
        let kernels = PersistentKernels::load(device)?;
        let repeated: Vec<&Shard> = (0..repeat).flat_map(|_| shards.iter().copied()).collect();
        let host = Positions::from_shards(&repeated)?;
        let played = Played::upload(&stream, &host.played())?;
        let positions = upload_quads(&stream, host.bytes())?;
        let (sums, arrays) = (stream.alloc(host.len())?, RunArrays::new(&stream, 1)?);
        stream.synchronize()?;
        Ok(Self { kernels, positions, played, sums, arrays, stream })
    }
}

impl Fit for Persistent {
    fn evaluate(&mut self, run: &Run) -> Result<Vec<Evaluated>> {
        let Self { kernels, positions, played, sums, arrays, stream } = self;
        kernels.persistent(stream, positions, played, sums, arrays, run)?;
        arrays.read(stream, run.evaluations)
    }
}

/// Uploads bytes, a multiple of 16, as quads.
fn upload_quads(stream: &Stream, bytes: &[u8]) -> Result<Buffer<Vec4>> {
    let mut quads = stream.alloc::<Vec4>(bytes.len() / 16)?;
    for (number, piece) in bytes.chunks(PIECE * 16).enumerate() {
        // Bytes need not lie where quads may.
        let piece: Vec<Vec4> = piece.chunks_exact(16).map(bytemuck::pod_read_unaligned).collect();
        stream.write(&mut quads, number * PIECE, &piece)?;
    }
    Ok(quads)
}
