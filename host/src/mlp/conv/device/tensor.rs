//! Parameters in training, and logits.

use warpplay_gpu::mlp::layers::filters::has_turned;
use warpplay_gpu::mlp::layers::loss::n_blocks;
use warpplay_gpu::mlp::layers::parts::line_length as short_line;
use warpplay_gpu::mlp::layers::view::line_length;

use crate::tile::bf16;
use crate::{Buffer, Result, Stream};

/// How parameters and the parts of their gradient lie; [`warpplay_gpu::mlp::layers::filters`] draws it.
#[derive(Clone, Copy)]
pub(super) struct Lie {
    pub n_parts: u32,
    pub n_outputs: u32,
    pub n_taps: u32,
    pub n_channels: u32,
    pub tap: u32,
    pub line: u32,
    pub filter_line: u32,
}

/// Parameters in training.
pub(super) struct Tensor {
    pub lie: Lie,
    pub parts: Buffer<f32>,
    pub parameters: Buffer<f32>,
    pub velocity: Buffer<f32>,
    /// What both were when they were [kept](Self::keep).
    kept: [Buffer<f32>; 2],
    pub filters: Buffer<bf16>,
    pub turned: Buffer<bf16>,
    pub decay: f32,
}

impl Tensor {
    /// `values` are `[n_taps, n_channels, n_outputs]`.
    pub fn new(stream: &Stream, lie: Lie, values: &[f32], decay: f32) -> Result<Self> {
        let Lie { n_parts, n_outputs, n_taps, n_channels, line, filter_line, .. } = lie;
        let (inputs, outputs) = ((n_taps * n_channels) as usize, n_outputs as usize);
        let ordered: Vec<f32> =
            (0..outputs).flat_map(|output| (0..inputs).map(move |input| values[input * outputs + output])).collect();
        Ok(Self {
            lie,
            parts: stream.alloc(n_parts as usize * outputs * line as usize)?,
            parameters: stream.upload(&ordered)?,
            velocity: stream.alloc(ordered.len())?,
            kept: [stream.alloc(ordered.len())?, stream.alloc(ordered.len())?],
            filters: stream.alloc(outputs * filter_line as usize)?,
            turned: stream.alloc(if has_turned(n_taps, n_channels) { ordered.len() } else { 0 })?,
            decay,
        })
    }

    /// Remembers parameters and velocity.
    pub fn keep(&mut self, stream: &Stream) -> Result<()> {
        let Self { parameters, velocity, kept: [old_parameters, old_velocity], .. } = self;
        stream.copy(old_parameters, 0, parameters, 0, parameters.len())?;
        stream.copy(old_velocity, 0, velocity, 0, velocity.len())
    }

    /// Goes back to them.
    pub fn restore(&mut self, stream: &Stream) -> Result<()> {
        let Self { parameters, velocity, kept: [old_parameters, old_velocity], .. } = self;
        stream.copy(parameters, 0, old_parameters, 0, old_parameters.len())?;
        stream.copy(velocity, 0, old_velocity, 0, old_velocity.len())
    }

    /// The parameters as they were given.
    pub fn values(&self, stream: &Stream) -> Result<Vec<f32>> {
        let (values, inputs) = (stream.read(&self.parameters)?, (self.lie.n_taps * self.lie.n_channels) as usize);
        let at = |input: usize| values.iter().skip(input).step_by(inputs).copied();
        Ok((0..inputs).flat_map(at).collect())
    }
}

/// The logits of a batch, and what becomes of them.
pub(super) struct Logits {
    pub values: Buffer<f32>,
    /// The gradient by them.
    pub gradient: Buffer<bf16>,
    pub partial_losses: Buffer<f32>,
    pub batch: u32,
    pub n_classes: u32,
}

impl Logits {
    pub fn new(stream: &Stream, batch: u32, n_classes: u32) -> Result<Self> {
        Ok(Self {
            values: stream.alloc((batch * line_length(n_classes)) as usize)?,
            gradient: stream.alloc((batch * short_line(n_classes)) as usize)?,
            partial_losses: stream.alloc(n_blocks(batch) as usize)?,
            batch,
            n_classes,
        })
    }
}
