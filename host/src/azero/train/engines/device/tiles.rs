//! The convolutions of 3 × 3 by [`tile`](crate::tile), of numbers of 16 bits: of the input and the torso, forward, backward and the gradients of their filters.

use warpplay_gpu::azero::train::scale::{BACKWARD, Conv, FILTER_GRADIENT, FORWARD, SCALES};
use warpplay_gpu::azero::train::short::short_line;
use warpplay_gpu::cuda::tensor_map::TensorMap;

use super::plan::{NormPlan, Operands, Plan, ProductPlan};
use crate::runtime::tensor_map::Values;
use crate::tile::core::{Core, Images, Kernels, Lie, Shape, Views};
use crate::{Buffer, In, InOut, Result, Stream};

/// Taps of a filter's row and column.
const SIDE: u32 = 3;
const TAPS: u32 = SIDE * SIDE;

/// What the convolutions read.
pub(super) struct Short {
    pub operands: Operands,
    /// Offsets of the parameters and filters of each convolution.
    offsets: Vec<Conv>,
    pub convs: Buffer<Conv>,
    /// `[SCALES]` of each: for numbers of half precision.
    pub scales: Buffer<f32>,
    /// In one part: they are 0 or 1. Where the plan's first convolution has patches, those.
    pub observations: Buffer<u16>,
    /// Outputs of the blocks of the torso, of the last one where the [heads](Plan::has_short_heads) read it.
    pub after: Vec<Buffer<u16>>,
    /// Gradient by what is before a norm.
    pub by_before: Buffer<u16>,
    /// Filters of all convolutions, for the way forward and for the way back.
    pub filters: Buffer<u16>,
    pub turned: Buffer<u16>,
}

/// Values of a part of the filters of a convolution from lines of `channels` to `outputs`.
const fn filter_values(channels: u32, outputs: u32) -> usize {
    outputs as usize * (TAPS * short_line(channels)) as usize
}

impl Short {
    /// Bytes of [`Short::new`] and [`Tiles::new`].
    pub fn bytes(plan: &Plan) -> u64 {
        let convs = convolutions(plan);
        let pixels = plan.batch as usize * plan.shape.cells();
        let line = |channels: u32| short_line(channels) as usize;
        let width = convs.iter().map(|conv| line(conv.n_outputs)).max().unwrap_or(0);
        let parts = plan.operands.map_or(1, Operands::parts) as usize;
        // Those outputs, and a gradient.
        let values = pixels * (observation_line(plan) as usize + parts * (short_outputs(plan) + 1) * width);
        let (_, [filters, turned]) = offsets(plan);
        // Of two ways for each, and of one back for all but the first; observations have one part.
        let maps = 2 * (1 + parts * 3 * (convs.len() - 1) + 1) * size_of::<TensorMap>();
        let scales = convs.len() * (size_of::<Conv>() + 4 * SCALES as usize);
        (2 * (values + filters + turned) + maps + scales) as u64
    }

    pub fn new(stream: &Stream, plan: &Plan, operands: Operands) -> Result<Self> {
        let convs = convolutions(plan);
        let (pixels, n) = (plan.pixels() as usize, operands.parts() as usize);
        let lines = |channels: u32| stream.alloc(n * pixels * short_line(channels) as usize);
        let (offsets, [filters, turned]) = offsets(plan);
        Ok(Self {
            operands,
            convs: stream.upload(&offsets)?,
            offsets,
            scales: stream.alloc(convs.len() * SCALES as usize)?,
            observations: stream.alloc(pixels * observation_line(plan) as usize)?,
            after: (0..short_outputs(plan)).map(|_| lines(plan.shape.width)).collect::<Result<_>>()?,
            by_before: lines(plan.shape.width)?,
            filters: stream.alloc(filters)?,
            turned: stream.alloc(turned)?,
        })
    }

    /// The inputs of a block.
    pub fn inputs(&self, block: usize) -> &Buffer<u16> {
        if block == 0 { &self.observations } else { &self.after[block - 1] }
    }

    /// Parts of the inputs of a block.
    const fn input_parts(&self, block: usize) -> u32 {
        if block == 0 { 1 } else { self.operands.parts() }
    }

    /// One of a block's scales.
    fn scale(&self, block: usize, which: usize) -> In<'_, f32> {
        match self.operands {
            Operands::Half { .. } => self.scales.view().split_at(block * SCALES as usize + which).1,
            Operands::Bfloat16 => In::none(),
        }
    }
}

/// Values of a pixel's observations.
fn observation_line(plan: &Plan) -> u32 {
    let line = short_line(plan.shape.planes);
    if plan.products[0].has_patches { TAPS * line } else { line }
}

/// Blocks whose outputs are held as convolutions, or the heads, read them.
fn short_outputs(plan: &Plan) -> usize {
    plan.last() + usize::from(plan.has_short_heads())
}

/// The convolutions of 3 × 3: all blocks but the heads'.
fn convolutions(plan: &Plan) -> &[ProductPlan] {
    &plan.products[..plan.n_blocks() - 2]
}

/// Offsets of the parameters and filters of each convolution; and the number of values of all filters, forward and back.
fn offsets(plan: &Plan) -> (Vec<Conv>, [usize; 2]) {
    let parts = plan.operands.map_or(1, Operands::parts) as usize;
    let [mut filters, mut turned] = [0; 2];
    let offsets_of = |(block, (conv, norm)): (usize, (&ProductPlan, &NormPlan))| {
        let offsets = Conv {
            weights: conv.weights,
            n_weights: conv.n_weights(),
            norm_weight: norm.weight,
            norm_bias: norm.bias,
            n_inputs: conv.n_inputs,
            n_outputs: conv.n_outputs,
            filters: filters as u32,
            turned: turned as u32,
            has_residual: plan.residual(block).is_some().into(),
        };
        filters += parts * filter_values(conv.n_inputs, conv.n_outputs);
        turned += parts * filter_values(conv.n_outputs, conv.n_inputs);
        offsets
    };
    let offsets = convolutions(plan).iter().zip(&plan.norms).enumerate().map(offsets_of).collect();
    (offsets, [filters, turned])
}

/// A product, and what tells the copy engine of its operands.
struct Prepared {
    core: Core,
    maps: Buffer<TensorMap>,
    /// Where B begins in its buffer.
    first_b: usize,
}

impl Prepared {
    fn new(
        stream: &Stream,
        kernels: &Kernels,
        shape: Shape,
        a: &Buffer<u16>,
        (b, first_b): (&Buffer<u16>, u32),
    ) -> Result<Self> {
        let (core, first_b) = (Core::new(kernels, shape, None, None)?, first_b as usize);
        core.expect_operands(a, b)?;
        let maps = stream.upload(&core.maps((a, 0), (b, first_b))?)?;
        Ok(Self { core, maps, first_b })
    }

    fn run(&self, stream: &Stream, m: u32, operands: [&Buffer<u16>; 2], beside: Beside<'_>) -> Result<()> {
        let Beside { bias, residual, residual_short, found_factor, c, c_short, moments } = beside;
        let views = Views {
            a: operands[0].view().cast(),
            b: operands[1].view().split_at(self.first_b).1.cast(),
            rows: In::none(),
            bias,
            residual,
            residual_short,
            mask: In::none(),
            c,
            c_short,
            overflow: InOut::none(),
            found_factor,
            moments,
        };
        self.core.run(stream, m, &self.maps, views)
    }
}

/// The result, and what is added to it; the result, and the residual, in single precision or in bfloat16.
pub(super) struct Beside<'a> {
    pub bias: In<'a, f32>,
    pub residual: In<'a, f32>,
    pub residual_short: In<'a, u16>,
    /// Set by [`Tiles`].
    pub found_factor: In<'a, f32>,
    pub c: InOut<'a, f32>,
    pub c_short: InOut<'a, u16>,
    /// Moments of the result's channels, where the [plan](Plan::has_moments) has them.
    pub moments: InOut<'a, f32>,
}

impl Beside<'_> {
    pub fn none() -> Self {
        Self {
            bias: In::none(),
            residual: In::none(),
            residual_short: In::none(),
            found_factor: In::none(),
            c: InOut::none(),
            c_short: InOut::none(),
            moments: InOut::none(),
        }
    }
}

/// All convolutions of a training.
pub(super) struct Tiles {
    kernels: Kernels,
    forward: Vec<Prepared>,
    /// Without that of the first, whose inputs have no gradient.
    backward: Vec<Prepared>,
    /// Of the plan's batch.
    gradients: FilterGradients,
}

impl Tiles {
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for sizes that `tile` does not take; [`Error::Unsupported`](crate::Error::Unsupported) for a device without its convolutions; errors of the device.
    pub fn new(stream: &Stream, plan: &Plan, short: &Short) -> Result<Self> {
        let kernels = Kernels::of_images(stream.device(), short.operands.precision())?;
        let convs = || convolutions(plan).iter().enumerate();
        let forward = convs().map(|(block, conv)| {
            let parts = [short.input_parts(block), short.operands.parts()];
            let shape = match conv.has_patches {
                true => product_of_patches(plan, parts, conv.n_inputs, conv.n_outputs),
                false => convolution(plan, parts, conv.n_inputs, conv.n_outputs),
            };
            let shape = Shape { moments: plan.has_moments(block), ..shape };
            Prepared::new(stream, &kernels, shape, short.inputs(block), (&short.filters, short.offsets[block].filters))
        });
        let backward = convs().skip(1).map(|(block, conv)| {
            let shape = convolution(plan, [short.operands.parts(); 2], conv.n_outputs, conv.n_inputs);
            Prepared::new(stream, &kernels, shape, &short.by_before, (&short.turned, short.offsets[block].turned))
        });
        let (forward, backward) = (forward.collect::<Result<_>>()?, backward.collect::<Result<_>>()?);
        let gradients = FilterGradients::new(stream, &kernels, plan, short, plan.batch)?;
        Ok(Self { kernels, forward, backward, gradients })
    }

    /// Queues the convolution of a block for the first `n` positions, with its bias.
    pub fn outputs(
        &self,
        stream: &Stream,
        (plan, short): (&Plan, &Short),
        block: usize,
        n: u32,
        beside: Beside<'_>,
    ) -> Result<()> {
        let m = n * plan.shape.cells() as u32;
        let beside = Beside { found_factor: short.scale(block, FORWARD), ..beside };
        self.forward[block].run(stream, m, [short.inputs(block), &short.filters], beside)
    }

    /// Queues the gradient of a block's inputs, of any but the first.
    pub fn inputs(
        &self,
        stream: &Stream,
        (plan, short): (&Plan, &Short),
        block: usize,
        n: u32,
        beside: Beside<'_>,
    ) -> Result<()> {
        let m = n * plan.shape.cells() as u32;
        let beside = Beside { found_factor: short.scale(block, BACKWARD), ..beside };
        self.backward[block - 1].run(stream, m, [&short.by_before, &short.turned], beside)
    }

    /// Gradients of filters for the plan's batch, or made for `n` positions.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn gradients_of(
        &self,
        stream: &Stream,
        (plan, short): (&Plan, &Short),
        n: u32,
    ) -> Result<Option<FilterGradients>> {
        match n == plan.batch {
            true => Ok(None),
            false => FilterGradients::new(stream, &self.kernels, plan, short, n).map(Some),
        }
    }

    /// Those of the plan's batch.
    pub fn gradients(&self) -> &FilterGradients {
        &self.gradients
    }
}

/// The gradients of all filters for a number of positions: their depth is all pixels.
pub(super) struct FilterGradients {
    products: Vec<Prepared>,
}

impl FilterGradients {
    fn new(stream: &Stream, kernels: &Kernels, plan: &Plan, short: &Short, n: u32) -> Result<Self> {
        let products = convolutions(plan).iter().enumerate().map(|(block, conv)| {
            let parts = [short.operands.parts(), short.input_parts(block)];
            let shape = filter_gradient(plan, n * plan.shape.cells() as u32, parts, conv);
            Prepared::new(stream, kernels, shape, &short.by_before, (short.inputs(block), 0))
        });
        Ok(Self { products: products.collect::<Result<_>>()? })
    }

    /// Queues the gradient of a block's filters, in parts.
    pub fn run(&self, stream: &Stream, short: &Short, block: usize, parts: &mut Buffer<f32>) -> Result<()> {
        let product = &self.products[block];
        let found_factor = short.scale(block, FILTER_GRADIENT);
        let beside = Beside { found_factor, c: parts.view_mut(), ..Beside::none() };
        product.run(stream, product.core.shape.m, [&short.by_before, short.inputs(block)], beside)
    }
}

/// Lines of all pixels of a batch.
fn lines(plan: &Plan, by_depth: bool, channels: u32, parts: u32) -> Lie {
    Lie::of_lines(by_depth, plan.pixels(), short_line(channels), parts)
}

/// A convolution of all pixels as a product, from channels to outputs, of inputs and filters in parts.
fn convolution(plan: &Plan, [inputs, filters]: [u32; 2], channels: u32, outputs: u32) -> Shape {
    let pixels = plan.pixels();
    let c_stride = if plan.is_short() { short_line(outputs) } else { outputs };
    Shape {
        m: pixels,
        n: outputs,
        k: channels,
        images: Some(images(plan, channels)),
        a: lines(plan, false, channels, inputs),
        b: Lie::of_lines(false, outputs, TAPS * short_line(channels), filters),
        c_stride,
        c_part_stride: u64::from(pixels) * u64::from(c_stride),
        mask_stride: c_stride,
        division: channels,
        ..empty(plan)
    }
}

/// The same of patches, in which a pixel has its squares tap by tap, as a filter has its weights.
fn product_of_patches(plan: &Plan, parts: [u32; 2], channels: u32, outputs: u32) -> Shape {
    let depth = TAPS * short_line(channels);
    let a = lines(plan, false, depth, parts[0]);
    Shape { k: depth, images: None, a, division: depth, ..convolution(plan, parts, channels, outputs) }
}

/// The gradient of a convolution's filters as a product, in the plan's parts of the pixels: of gradients and inputs in parts.
fn filter_gradient(plan: &Plan, pixels: u32, [gradients, inputs]: [u32; 2], conv: &ProductPlan) -> Shape {
    let n = TAPS * conv.tile_columns.unwrap_or(0);
    let (images, line) = match conv.has_patches {
        true => (None, n),
        false => (Some(images(plan, conv.n_inputs)), conv.n_inputs),
    };
    Shape {
        m: conv.n_outputs,
        n,
        k: pixels,
        images,
        a: lines(plan, true, conv.n_outputs, gradients),
        b: lines(plan, true, line, inputs),
        c_stride: n,
        c_part_stride: u64::from(conv.n_outputs) * u64::from(n),
        mask_stride: n,
        division: conv.part,
        ..empty(plan)
    }
}

fn images(plan: &Plan, channels: u32) -> Images {
    Images { height: plan.shape.rows, width: plan.shape.columns, side: SIDE, channels }
}

/// A product of nothing, of the plan's numbers.
fn empty(plan: &Plan) -> Shape {
    Shape {
        values: if plan.is_short() { Values::Bf16 } else { Values::F16 },
        m: 0,
        n: 0,
        k: 0,
        images: None,
        a: Lie::of_lines(false, 0, 0, 1),
        b: Lie::of_lines(false, 0, 0, 1),
        c_stride: 0,
        c_parts: 1,
        c_part_stride: 0,
        mask_stride: 0,
        division: 0,
        factor: 1.0,
        rectifier: false,
        moments: false,
        updates: None,
        gathered: None,
    }
}
