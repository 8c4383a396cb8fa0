//! The kernels, resolved, with a safe function for each stage; and the device arrays they work on.

use std::ptr;

use warpplay_gpu::azero::layers::board::{
    self, PAIR, SINGLE, azero_layers_conv_board_narrow, azero_layers_conv_board_pair, azero_layers_conv_board_single,
    azero_layers_conv_row,
};
use warpplay_gpu::azero::layers::conv::{ConvLayer, LARGE, azero_layers_conv_large, azero_layers_conv_small};
use warpplay_gpu::azero::layers::heads::{
    self, Heads, azero_layers_heads_many, azero_layers_heads_one, azero_layers_planes,
};
use warpplay_gpu::ptx::embedded::AZERO_LAYERS;

use super::plan::{Form, Packed};
use crate::azero::NetworkShape;
use crate::azero::engine::{Inputs, Outputs};
use crate::azero::folded::FoldedNetwork;
use crate::{Buffer, Device, Error, Function, Module, Result, Stream};

/// Fewest positions that share a block of the heads: below, a block each keeps more multiprocessors busy.
const LEAST_MANY: u32 = 512;

/// A network and what it leaves behind, in single precision.
pub(super) struct Arrays {
    pub shape: NetworkShape,
    /// Positions there is room for.
    capacity: usize,
    parameters: Buffer<f32>,
    packed: Packed,
    /// After a block, `[capacity, width, cells]`.
    pub features: Buffer<f32>,
    /// After a block's first convolution.
    pub middle: Buffer<f32>,
    /// Of both heads, `[capacity, filters, cells]`.
    pub planes: Buffer<f32>,
}

impl Arrays {
    /// Takes the memory for `capacity` positions.
    pub fn new(stream: &Stream, network: &FoldedNetwork, capacity: usize) -> Result<Self> {
        let shape = network.shape;
        let mut packed = Packed::new(network);
        let parameters = stream.upload(&packed.values)?;
        packed.values = Vec::new();
        let filters = (shape.value_filters + shape.policy_filters) as usize;
        Ok(Self {
            shape,
            capacity,
            parameters,
            packed,
            features: stream.alloc(capacity * shape.n_block())?,
            middle: stream.alloc(capacity * shape.n_block())?,
            planes: stream.alloc(capacity * filters * shape.cells())?,
        })
    }

    /// # Errors
    /// [`Error::Shape`] for no position, or more than there is room for.
    pub fn check(&self, n: usize) -> Result<()> {
        match (1..=self.capacity).contains(&n) {
            true => Ok(()),
            false => Err(Error::shape("positions", format!("1 to {}", self.capacity), n)),
        }
    }

    fn at(&self, place: usize) -> *const f32 {
        self.parameters.as_ptr().wrapping_add(place)
    }
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

/// The kernels, looked up when the engine is opened.
pub(super) struct Kernels {
    conv_large: Function<azero_layers_conv_large>,
    conv_small: Function<azero_layers_conv_small>,
    conv_row: Function<azero_layers_conv_row>,
    conv_board_pair: Function<azero_layers_conv_board_pair>,
    conv_board_single: Function<azero_layers_conv_board_single>,
    conv_board_narrow: Function<azero_layers_conv_board_narrow>,
    planes: Function<azero_layers_planes>,
    heads_one: Function<azero_layers_heads_one>,
    heads_many: Function<azero_layers_heads_many>,
}

impl Kernels {
    /// Loads the module: a kernel that is missing is found here, at the door.
    pub fn load(device: &Device) -> Result<Self> {
        let module = Module::load(device, &AZERO_LAYERS)?;
        Ok(Self {
            conv_large: module.function(azero_layers_conv_large)?,
            conv_small: module.function(azero_layers_conv_small)?,
            conv_row: module.function(azero_layers_conv_row)?,
            conv_board_pair: module.function(azero_layers_conv_board_pair)?,
            conv_board_single: module.function(azero_layers_conv_board_single)?,
            conv_board_narrow: module.function(azero_layers_conv_board_narrow)?,
            planes: module.function(azero_layers_planes)?,
            heads_one: module.function(azero_layers_heads_one)?,
            heads_many: module.function(azero_layers_heads_many)?,
        })
    }

    /// One convolution with bias, residual and rectifier.
    pub fn conv(&self, stream: &Stream, arrays: &mut Arrays, inputs: &Inputs, n: usize, conv: Conv) -> Result<()> {
        let shape = arrays.shape;
        inputs.check(shape, n)?;
        arrays.check(n)?;
        let number = match conv {
            Conv::Input => 0,
            Conv::First(block) => 1 + 2 * block,
            Conv::Second(block) => 2 + 2 * block,
        };
        let place = arrays.packed.convs[number];
        let (weights, bias) = (arrays.at(place.weights), arrays.at(place.bias));
        let (input, residual, output) = match conv {
            Conv::Input => (inputs.observations.as_ptr(), ptr::null(), arrays.features.as_mut_ptr()),
            Conv::First(_) => (arrays.features.as_ptr(), ptr::null(), arrays.middle.as_mut_ptr()),
            Conv::Second(_) => (arrays.middle.as_ptr(), arrays.features.as_ptr(), arrays.features.as_mut_ptr()),
        };
        let layer = ConvLayer {
            input,
            weights,
            bias,
            residual,
            output,
            n: n as u32,
            rows: shape.rows,
            columns: shape.columns,
            n_inputs: place.n_inputs,
            n_outputs: place.n_outputs,
            line: place.line,
        };
        let cells = shape.cells() as u32;
        // SAFETY: inputs and arrays hold n positions of the shape, checked above and made together; parameters were packed as the kernels read them. Input
        // and output are two buffers, the residual may be the output. The engine keeps its buffers as long as its graphs; those of the caller are
        // looked at before each replay.
        unsafe {
            match Form::choose(&shape, layer.n, layer.n_outputs) {
                Form::Row => stream.launch(&self.conv_row, board::row_shape(layer.n, layer.n_outputs), (layer,)),
                Form::Board(board) => {
                    let shape = board.shape(layer.n, layer.n_outputs);
                    match board {
                        PAIR => stream.launch(&self.conv_board_pair, shape, (layer,)),
                        SINGLE => stream.launch(&self.conv_board_single, shape, (layer,)),
                        _ => stream.launch(&self.conv_board_narrow, shape, (layer,)),
                    }
                }
                Form::Tiles(tiles) => {
                    let shape = tiles.shape(layer.n, cells, layer.n_outputs);
                    match tiles {
                        LARGE => stream.launch(&self.conv_large, shape, (layer,)),
                        _ => stream.launch(&self.conv_small, shape, (layer,)),
                    }
                }
            }
        }
    }

    /// Both heads' planes, and the outputs if there is a place for them.
    pub fn heads(
        &self,
        stream: &Stream,
        arrays: &mut Arrays,
        inputs: &Inputs,
        n: usize,
        outputs: Option<&mut Outputs>,
    ) -> Result<()> {
        let shape = arrays.shape;
        inputs.check(shape, n)?;
        arrays.check(n)?;
        let places = arrays.packed.heads;
        let mut heads = Heads {
            features: arrays.features.as_ptr().cast(),
            plane_weights: arrays.at(places.plane_weights),
            plane_bias: arrays.at(places.plane_bias),
            planes: arrays.planes.as_mut_ptr(),
            value_weights_1: arrays.at(places.value_weights_1),
            value_bias_1: arrays.at(places.value_bias_1),
            value_weights_2: arrays.at(places.value_weights_2),
            policy_weights: arrays.at(places.policy_weights),
            policy_bias: arrays.at(places.policy_bias),
            masks: inputs.masks.as_ptr(),
            values: ptr::null_mut(),
            policy_logits: ptr::null_mut(),
            policies: ptr::null_mut(),
            n: n as u32,
            cells: shape.cells() as u32,
            width: shape.width,
            stride: 0,
            value_filters: shape.value_filters,
            policy_filters: shape.policy_filters,
            value_hidden: shape.value_hidden,
            actions: shape.actions,
        };
        // SAFETY: as in `conv`; planes were made with the features; outputs are checked before they are used.
        unsafe { stream.launch(&self.planes, heads::planes_shape(heads.n, heads.cells), (heads,))? };
        let Some(outputs) = outputs else { return Ok(()) };
        outputs.check(shape, n)?;
        heads.values = outputs.values.as_mut_ptr();
        heads.policy_logits = outputs.policy_logits.as_mut_ptr();
        heads.policies = outputs.policies.as_mut_ptr();
        // SAFETY: as above.
        unsafe {
            if heads.n < LEAST_MANY {
                stream.launch(&self.heads_one, heads::outputs_shape(heads.n, 1), (heads,))
            } else {
                stream.launch(&self.heads_many, heads::outputs_shape(heads.n, heads::MANY), (heads,))
            }
        }
    }
}
