//! The paper's kernels, resolved, with a safe function for each; and the device arrays they work on.

use warpplay::shogi::Values;
use warpplay::{Buffer, Device, Error, Module, Result, Stream};

use super::kernels::evaluate::{self, KindValues};
use super::kernels::{self, sum};
use crate::ptx::SHOGI_BONANZA;

/// The two kernels.
pub(super) struct Kernels {
    set: kernels::Kernels<Module>,
}

/// Positions on the device.
pub(super) struct PositionArrays {
    bytes: Buffer<u8>,
    f: Buffer<f64>,
    stride: u32,
    n: u32,
}

impl PositionArrays {
    /// Takes the memory for `n` positions.
    pub fn new(stream: &Stream, stride: usize, n: usize) -> Result<Self> {
        if n >= 1 << 31 {
            return Err(Error::shape("positions that are held at once", "fewer than 2147483648", n));
        }
        Ok(Self { bytes: stream.alloc(n * stride)?, f: stream.alloc(n)?, stride: stride as u32, n: n as u32 })
    }

    /// Positions there is room for.
    pub fn len(&self) -> usize {
        self.n as usize
    }

    /// Copies positions to the front.
    pub fn write(&mut self, stream: &Stream, bytes: &[u8]) -> Result<()> {
        stream.write(&mut self.bytes, 0, bytes)
    }

    /// Reads the values of the first positions.
    pub fn read(&self, stream: &Stream, values: &mut [f64]) -> Result<()> {
        stream.read_into(&self.f, 0, values)
    }
}

/// The played child of each child, checked, and the sums of blocks.
pub(super) struct Played {
    played: Buffer<u32>,
    sums: Buffer<i64>,
}

impl Played {
    /// Uploads them: for each child its parent's child 0 times 2, plus the side that moves.
    pub fn upload(stream: &Stream, played: &[u32]) -> Result<Self> {
        if let Some(wrong) = played.iter().find(|&&played_child| (played_child >> 1) as usize >= played.len()) {
            return Err(Error::shape("played child", format!("below {}", played.len()), wrong >> 1));
        }
        let n_sums = sum::shape(played.len() as u32).n_blocks() as usize;
        Ok(Self { played: stream.upload(played)?, sums: stream.alloc(n_sums)? })
    }
}

impl Kernels {
    /// Loads the module.
    pub fn load(device: &Device) -> Result<Self> {
        Ok(Self { set: kernels::Kernels::load(&Module::load(device, &SHOGI_BONANZA)?)? })
    }

    /// The values of the first `n` positions, a block each.
    pub fn evaluate(&self, stream: &Stream, positions: &mut PositionArrays, n: usize, values: &Values) -> Result<()> {
        if n > positions.len() {
            return Err(Error::shape("positions", format!("at most {}", positions.len()), n));
        }
        let mut kinds = [1.0; 13];
        kinds[1..].copy_from_slice(values);
        let PositionArrays { bytes, f, stride, .. } = positions;
        let arguments = (&*bytes, f, KindValues(kinds), *stride, n as u32);
        // SAFETY: the buffers were made for at least `n` positions of this stride.
        unsafe { stream.launch(&self.set.shogi_paper_evaluate, evaluate::shape(n as u32), arguments) }
    }

    /// Σ T over all children, from the values of their positions; the host adds the blocks' sums.
    pub fn sum(&self, stream: &Stream, positions: &PositionArrays, played: &mut Played, a: f64) -> Result<i128> {
        let shape = sum::shape(positions.n);
        let Played { played, sums } = played;
        if played.len() != positions.len() {
            return Err(Error::shape("played children", positions.len(), played.len()));
        }
        if sums.len() != shape.n_blocks() as usize {
            return Err(Error::shape("sums of blocks", shape.n_blocks(), sums.len()));
        }
        // SAFETY: a played child for each, below their number, and a sum for each block.
        unsafe {
            stream.launch(&self.set.shogi_paper_sum, shape, (&positions.f, &*played, &mut *sums, a, positions.n))?
        };
        Ok(stream.read(sums)?.into_iter().map(i128::from).sum())
    }
}
