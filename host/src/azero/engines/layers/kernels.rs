//! The kernels, resolved, with a safe function for each stage; and the device arrays they work on.

use warpplay_gpu::azero::layers;
use warpplay_gpu::azero::layers::board::{PAIR, SINGLE};
use warpplay_gpu::azero::layers::conv::{ConvLayerArgs, LARGE};
use warpplay_gpu::azero::layers::heads::HeadsArgs;
use warpplay_gpu::azero::layers::tensor::{self, PackingArgs, TensorLayerArgs};
use warpplay_gpu::ptx::embedded::AZERO_LAYERS;

use super::plan::{self, Convolutions, Form, Format, Packed};
use super::tiles::{Layer, Tiles};
use crate::azero::NetworkShape;
use crate::azero::evaluation::{Inputs, Outputs};
use crate::azero::folded::FoldedNetwork;
use crate::runtime::launch::views;
use crate::{Buffer, Device, Error, In, InOut, Memory, Module, Result, Stream};

/// Fewest positions that share a block of the heads: below, a block each keeps more multiprocessors busy.
const LEAST_MANY: u32 = 264;

/// A network's parameters and activations.
pub(super) struct Arrays {
    pub shape: NetworkShape,
    pub format: Format,
    /// Positions there is room for.
    capacity: usize,
    parameters: Buffer<u32>,
    packed: Packed,
    /// The observations as channels of cells; empty in single precision.
    observations: Buffer<u32>,
    /// After a block, as the format has it.
    pub features: Buffer<u32>,
    /// After a block's first convolution.
    pub middle: Buffer<u32>,
    /// Of both heads, `[capacity, filters, cells]`.
    pub planes: Buffer<f32>,
    /// The convolutions by `tile`, where they are.
    tiles: Option<Tiles>,
}

impl Arrays {
    /// What [`Arrays::new`] takes for a network of this shape.
    pub fn memory(shape: &NetworkShape, format: Format, convolutions: Convolutions, capacity: usize) -> Memory {
        let observation = if format == Format::Fp32 { 0 } else { format.words(shape.planes) };
        let words = observation + 2 * format.words(shape.width) + shape.value_filters + shape.policy_filters;
        Memory::default()
            .on_device(
                "network",
                4 * Packed::n_words(shape, format, convolutions) as u64 + Tiles::bytes(shape, convolutions),
            )
            .on_device("layers", 4 * (capacity * shape.cells()) as u64 * u64::from(words))
    }

    /// Takes the memory for `capacity` positions.
    pub fn new(
        stream: &Stream,
        network: &FoldedNetwork,
        format: Format,
        convolutions: Convolutions,
        capacity: usize,
    ) -> Result<Self> {
        let shape = network.shape;
        let mut packed = Packed::new(network, format, convolutions);
        let parameters = stream.upload(&packed.words)?;
        packed.words = Vec::new();
        let filters = (shape.value_filters + shape.policy_filters) as usize;
        let cells = capacity * shape.cells();
        let observation = if format == Format::Fp32 { 0 } else { format.words(shape.planes) as usize };
        let features = format.words(shape.width) as usize;
        let mut arrays = Self {
            shape,
            format,
            capacity,
            parameters,
            packed,
            observations: stream.alloc(cells * observation)?,
            features: stream.alloc(cells * features)?,
            middle: stream.alloc(cells * features)?,
            planes: stream.alloc(cells * filters)?,
            tiles: None,
        };
        if convolutions == Convolutions::Tile {
            let Self { parameters, packed, observations, features, middle, .. } = &arrays;
            let inputs = [observations, features, middle];
            arrays.tiles =
                Some(Tiles::new(stream, (&shape, format, cells as u32), (parameters, &packed.convs), inputs)?);
        }
        Ok(arrays)
    }

    /// Words of a position's features.
    pub fn n_features(&self) -> usize {
        self.shape.cells() * self.format.words(self.shape.width) as usize
    }

    /// Where the network lies.
    pub fn weights(&self) -> crate::L2Span {
        crate::L2Span::of(&self.parameters)
    }

    /// # Errors
    /// [`Error::Shape`] for no position, or more than there is room for.
    pub fn check(&self, n: usize) -> Result<()> {
        match (1..=self.capacity).contains(&n) {
            true => Ok(()),
            false => Err(Error::shape("positions", format!("1 to {}", self.capacity), n)),
        }
    }
}

/// The parameters from an offset on.
fn from(parameters: &Buffer<u32>, offset: usize) -> In<'_, f32> {
    parameters.view().split_at(offset).1.cast()
}

/// A convolution of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conv {
    /// Of the observations.
    Input,
    /// First of a block.
    First(usize),
    /// Second of a block, with residual.
    Second(usize),
}

impl Conv {
    /// Its number among all.
    const fn number(self) -> usize {
        match self {
            Self::Input => 0,
            Self::First(block) => 1 + 2 * block,
            Self::Second(block) => 2 + 2 * block,
        }
    }
}

/// The kernels, looked up when the engine is opened.
pub(super) struct Kernels {
    set: layers::Kernels<Module>,
}

impl Kernels {
    /// Loads the module: a kernel that is missing is found here, at the door.
    pub fn load(device: &Device) -> Result<Self> {
        let module = Module::load(device, &AZERO_LAYERS)?;
        Ok(Self { set: layers::Kernels::load(&module)? })
    }

    /// One convolution with bias, residual and rectifier.
    pub fn conv(&self, stream: &Stream, arrays: &mut Arrays, inputs: &Inputs, n: usize, conv: Conv) -> Result<()> {
        inputs.check(arrays.shape, n)?;
        arrays.check(n)?;
        if arrays.format != Format::Fp32 && conv == Conv::Input {
            self.pack(stream, arrays, inputs, n)?;
        }
        let number = conv.number();
        let offset = arrays.packed.convs[number];
        let Arrays { shape, format, parameters, observations, features, middle, tiles, .. } = arrays;
        let (weights, bias) = (from(parameters, offset.weights), from(parameters, offset.bias));
        let (input, residual, output) = match conv {
            Conv::Input if *format == Format::Fp32 => {
                (inputs.observations.view().cast(), In::none(), features.view_mut())
            }
            Conv::Input => (observations.view(), In::none(), features.view_mut()),
            Conv::First(_) => (features.view(), In::none(), middle.view_mut()),
            Conv::Second(_) => {
                let output = features.view_mut();
                // SAFETY: a thread reads of the residual what it writes to the output afterwards.
                (middle.view(), unsafe { output.also_read() }, output)
            }
        };
        if *format == Format::Fp32 {
            let layer = views! { ConvLayerArgs {
                shape has rows, columns;
                offset has n_inputs, n_outputs, line;
                input: input.cast(),
                weights,
                bias,
                residual: residual.cast(),
                output: output.cast(),
                n: n as u32,
            } };
            return self.single(stream, shape, layer);
        }
        if let Some(tiles) = tiles {
            return tiles.run(stream, number, n * shape.cells(), Layer { input, weights, bias, residual, output });
        }
        let layer = TensorLayerArgs {
            input,
            weights: weights.cast(),
            bias,
            residual,
            output,
            n: n as u32,
            rows: shape.rows,
            columns: shape.columns,
            input_words: format.words(offset.n_inputs),
            output_words: format.words(offset.n_outputs),
            line: offset.line,
        };
        let tiles = plan::tensor_tiles(shape, layer.n, offset.n_outputs);
        let n_outputs = (offset.n_outputs,);
        let (set, is_large) = (&self.set, tiles == tensor::LARGE);
        // SAFETY: parameters were packed for so many outputs, as the kernels read them, each part at a multiple of four words.
        unsafe {
            match (*format, is_large) {
                (Format::Tf32, true) => {
                    stream.run_unchecked_with(&set.azero_layers_conv_tf32_large, n_outputs, (layer,))
                }
                (Format::Tf32, false) => {
                    stream.run_unchecked_with(&set.azero_layers_conv_tf32_small, n_outputs, (layer,))
                }
                (Format::Bf16, true) => {
                    stream.run_unchecked_with(&set.azero_layers_conv_bf16_large, n_outputs, (layer,))
                }
                (Format::Bf16, false) => {
                    stream.run_unchecked_with(&set.azero_layers_conv_bf16_small, n_outputs, (layer,))
                }
                (_, true) => stream.run_unchecked_with(&set.azero_layers_conv_fp16_large, n_outputs, (layer,)),
                (_, false) => stream.run_unchecked_with(&set.azero_layers_conv_fp16_small, n_outputs, (layer,)),
            }
        }
    }

    /// The observations as channels of cells.
    fn pack(&self, stream: &Stream, arrays: &mut Arrays, inputs: &Inputs, n: usize) -> Result<()> {
        let shape = arrays.shape;
        let packing = PackingArgs {
            observations: inputs.observations.view(),
            packed: arrays.observations.view_mut(),
            n: n as u32,
            cells: shape.cells() as u32,
            planes: shape.planes,
            words: arrays.format.words(shape.planes),
        };
        // SAFETY: the arrays are different ones, checked for their lengths.
        unsafe {
            match arrays.format {
                Format::Tf32 => stream.run_unchecked(&self.set.azero_layers_pack_tf32, (packing,)),
                Format::Bf16 => stream.run_unchecked(&self.set.azero_layers_pack_bf16, (packing,)),
                _ => stream.run_unchecked(&self.set.azero_layers_pack_fp16, (packing,)),
            }
        }
    }

    /// A convolution in single precision.
    fn single(&self, stream: &Stream, shape: &NetworkShape, layer: ConvLayerArgs<'_>) -> Result<()> {
        // SAFETY: parameters were packed as the kernels read them; the output is an array of its own, or the residual.
        unsafe {
            match Form::choose(shape, layer.n, layer.n_outputs) {
                Form::Row => stream.run_unchecked(&self.set.azero_layers_conv_row, (layer,)),
                Form::Board(PAIR) => stream.run_unchecked(&self.set.azero_layers_conv_board_pair, (layer,)),
                Form::Board(SINGLE) => stream.run_unchecked(&self.set.azero_layers_conv_board_single, (layer,)),
                Form::Board(_) => stream.run_unchecked(&self.set.azero_layers_conv_board_narrow, (layer,)),
                Form::Tiles(LARGE) => stream.run_unchecked(&self.set.azero_layers_conv_large, (layer,)),
                Form::Tiles(_) => stream.run_unchecked(&self.set.azero_layers_conv_small, (layer,)),
            }
        }
    }

    /// Both heads' planes, and the outputs if there is room for them.
    pub fn heads(
        &self,
        stream: &Stream,
        arrays: &mut Arrays,
        inputs: &Inputs,
        n: usize,
        outputs: Option<&mut Outputs>,
    ) -> Result<()> {
        let (shape, format) = (arrays.shape, arrays.format);
        inputs.check(shape, n)?;
        arrays.check(n)?;
        let heads = heads_args(arrays, inputs, n as u32, None);
        // SAFETY: parameters were packed as the kernels read them.
        unsafe {
            match format {
                Format::Fp32 => stream.run_unchecked(&self.set.azero_layers_planes, (heads,))?,
                Format::Tf32 => stream.run_unchecked(&self.set.azero_layers_planes_tf32, (heads,))?,
                Format::Bf16 => stream.run_unchecked(&self.set.azero_layers_planes_bf16, (heads,))?,
                Format::Fp16 => stream.run_unchecked(&self.set.azero_layers_planes_fp16, (heads,))?,
            }
        };
        let Some(outputs) = outputs else { return Ok(()) };
        outputs.check(shape, n)?;
        let heads = heads_args(arrays, inputs, n as u32, Some(outputs));
        // SAFETY: as above; the planes were made before, and there are outputs.
        unsafe {
            if heads.n < LEAST_MANY {
                stream.run_unchecked(&self.set.azero_layers_heads_one, (heads,))
            } else {
                stream.run_unchecked(&self.set.azero_layers_heads_many, (heads,))
            }
        }
    }
}

/// What the heads' kernels take for `n` positions: outputs for those that make them.
fn heads_args<'a>(
    arrays: &'a mut Arrays,
    inputs: &'a Inputs,
    n: u32,
    outputs: Option<&'a mut Outputs>,
) -> HeadsArgs<'a> {
    let Arrays { shape, format, parameters, packed, features, planes, .. } = arrays;
    let (at, offsets) = (|offset| from(parameters, offset), packed.heads);
    let (values, policy_logits, policies) = match outputs {
        None => (InOut::none(), InOut::none(), InOut::none()),
        Some(Outputs { values, policy_logits, policies }) => {
            (values.view_mut(), policy_logits.view_mut(), policies.view_mut())
        }
    };
    views! { HeadsArgs {
        shape has width, value_filters, policy_filters, value_hidden, actions;
        masks: inputs.masks.view(),
        features: features.view(),
        plane_weights: at(offsets.plane_weights),
        plane_bias: at(offsets.plane_bias),
        planes: planes.view_mut(),
        value_weights_1: at(offsets.value_weights_1),
        value_bias_1: at(offsets.value_bias_1),
        value_weights_2: at(offsets.value_weights_2),
        policy_weights: at(offsets.policy_weights),
        policy_bias: at(offsets.policy_bias),
        values,
        policy_logits,
        policies,
        n,
        cells: shape.cells() as u32,
        stride: format.words(shape.width),
    } }
}
