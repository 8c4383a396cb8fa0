//! The kernels between the products, with a safe function for each.

use warpplay_gpu::mlp::layers;
use warpplay_gpu::mlp::layers::parts::{PartsArgs, format, line_length as short_line};
use warpplay_gpu::mlp::layers::view::RowsArgs;
use warpplay_gpu::ptx::embedded::MLP_LAYERS;

use super::tensor::{Lie, Logits, Tensor};
use crate::mlp::Dataset;
use crate::mlp::conv::network::ConvPlan;
use crate::tile::bf16;
use crate::{Buffer, Device, Error, In, InOut, Module, Result, Stream};

/// Images and labels on the device.
pub(super) struct Samples {
    pub images: Buffer<u8>,
    labels: Buffer<u8>,
    pub n: u32,
}

impl Samples {
    /// Uploads a set.
    ///
    /// # Errors
    /// [`Error::Shape`] for more samples than the kernels count; errors of the device.
    pub fn new(stream: &Stream, set: &Dataset) -> Result<Self> {
        // Positions of samples, a batch further, must fit 32 bits.
        let n = u32::try_from(set.len()).ok().filter(|&n| n <= u32::MAX / 2);
        let n = n.ok_or_else(|| Error::shape("samples", format!("at most {}", u32::MAX / 2), set.len()))?;
        Ok(Self { images: stream.upload(set.images())?, labels: stream.upload(set.labels())?, n })
    }
}

/// The kernels, looked up when the engine is opened.
pub(super) struct Kernels {
    set: layers::Kernels<Module>,
}

impl Kernels {
    pub fn load(device: &Device) -> Result<Self> {
        Ok(Self { set: layers::Kernels::load(&Module::load(device, &MLP_LAYERS)?)? })
    }

    /// Patches of the samples of `rows`; an order has samples of `images` alone.
    pub fn patches(
        &self,
        stream: &Stream,
        images: &Buffer<u8>,
        patches: &mut Buffer<bf16>,
        rows: RowsArgs<'_>,
        [height, width]: [u32; 2],
    ) -> Result<()> {
        let patches = patches.view_mut().cast::<u16>();
        // SAFETY: the images of all samples are there; buffers begin at multiples of 16 bytes.
        unsafe {
            let arguments = (images, patches, rows, height, width);
            stream.run_unchecked(&self.set.mlp_layers_patches, arguments)
        }
    }

    /// The largest of 2 × 2 pixels of a batch.
    pub fn pool(
        &self,
        stream: &Stream,
        values: &Buffer<bf16>,
        largest: &mut Buffer<bf16>,
        plan: &ConvPlan,
    ) -> Result<()> {
        let n_pixels = (largest.len() / plan.outputs as usize) as u32;
        let (values, largest) = (values.view().cast::<u16>(), largest.view_mut().cast::<u16>());
        // SAFETY: buffers begin at multiples of 16 bytes.
        unsafe {
            let arguments = (values, largest, n_pixels, plan.size[1] / 2, plan.outputs);
            stream.run_unchecked(&self.set.mlp_layers_pool, arguments)
        }
    }

    /// Gradient through [`pool`](Self::pool) and the rectifier before it.
    pub fn pool_back(
        &self,
        stream: &Stream,
        values: &Buffer<bf16>,
        gradient: &Buffer<bf16>,
        sums: &mut Buffer<bf16>,
        plan: &ConvPlan,
    ) -> Result<()> {
        let n_pixels = (gradient.len() / plan.outputs as usize) as u32;
        let (values, gradient) = (values.view().cast::<u16>(), gradient.view().cast::<u16>());
        // SAFETY: buffers begin at multiples of 16 bytes.
        unsafe {
            let arguments = (values, gradient, sums.view_mut().cast::<u16>(), n_pixels, plan.size[1] / 2, plan.outputs);
            stream.run_unchecked(&self.set.mlp_layers_pool_back, arguments)
        }
    }

    /// Loss of a step and its gradient by the logits.
    pub fn loss(&self, stream: &Stream, samples: &Samples, logits: &mut Logits, rows: RowsArgs<'_>) -> Result<()> {
        let Logits { values, gradient, partial_losses, batch, n_classes } = logits;
        let part_len = *batch as usize * short_line(*n_classes) as usize;
        let short = PartsArgs {
            values: gradient.view_mut().cast::<u16>(),
            part_stride: part_len as u64,
            parts: 1,
            format: format::BF16,
            part_len,
        };
        let (single, scale) = (InOut::<f32>::none(), In::<u32>::none());
        // SAFETY: the labels were checked for these classes, and are there for every sample that the order names.
        unsafe {
            let arguments =
                (&*values, single, &samples.labels, partial_losses, scale, short, rows, *n_classes, 1u32, 0.0f32);
            stream.run_unchecked(&self.set.mlp_layers_loss_gradient, arguments)
        }
    }

    /// Class and loss of the samples of `rows`, which have no order.
    pub fn classify(
        &self,
        stream: &Stream,
        samples: &Samples,
        logits: &Logits,
        (classes, losses): (&mut Buffer<u32>, &mut Buffer<f32>),
        rows: RowsArgs<'_>,
    ) -> Result<()> {
        // SAFETY: labels were checked when the set was given; the rows have no order and no step.
        unsafe {
            let arguments = (&logits.values, &samples.labels, classes, losses, rows, logits.n_classes);
            stream.run_unchecked(&self.set.mlp_layers_classify, arguments)
        }
    }

    /// Moves parameters by the gradient that is in their parts, with the step's rate, and writes them where products read them; without rates only the latter.
    pub fn update(
        &self,
        stream: &Stream,
        tensor: &mut Tensor,
        momentum: f32,
        step: Option<(&Buffer<f32>, &Buffer<u32>)>,
    ) -> Result<()> {
        let Tensor { lie, parts, parameters, velocity, filters, turned, decay, .. } = tensor;
        let Lie { n_parts, n_outputs, n_taps, n_channels, tap, line, filter_line } = *lie;
        let (filters, turned) = (filters.view_mut().cast::<u16>(), turned.view_mut().cast::<u16>());
        let (rates, control) = step.map_or((In::none(), In::none()), |(rates, control)| (rates.view(), control.view()));
        let n_parts = if step.is_some() { n_parts } else { 0 };
        // SAFETY: the engine steps no further than the epoch, which has a rate for each step; without parts no step is read.
        unsafe {
            let arguments = (
                &*parts,
                parameters,
                velocity,
                filters,
                turned,
                rates,
                control,
                n_parts,
                n_outputs,
                n_taps,
                n_channels,
                tap,
                line,
                filter_line,
                momentum,
                *decay,
            );
            stream.run_unchecked(&self.set.mlp_layers_filters, arguments)
        }
    }

    /// Stores the loss of a step, and moves on to the next.
    pub fn advance(
        &self,
        stream: &Stream,
        partial_losses: &Buffer<f32>,
        losses: &mut Buffer<f32>,
        control: &mut Buffer<u32>,
    ) -> Result<()> {
        let n = partial_losses.len() as u32;
        // SAFETY: the engine steps no further than the epoch, which has a loss for each step.
        unsafe { stream.run_unchecked(&self.set.mlp_layers_advance, (partial_losses, losses, control, n)) }
    }
}
