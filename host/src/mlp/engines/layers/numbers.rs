//! How numbers are held for the products of the layers.

use warpplay_gpu::mlp::layers::parts;

use super::plan::{LayerPlan, Plan};
use crate::mlp::options::Precision;
use crate::runtime::tensor_map::Values;
use crate::{Buffer, Device, Error, In, InOut, Result, Stream};

/// How numbers are held for the products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    pub values: Values,
    /// Parts of a number; pixels have one.
    pub parts: u32,
    /// Whether the first layer's inputs are numbers as all others, not pixels.
    pub features: bool,
}

impl Numbers {
    /// Those of a precision on a device, for inputs that are features or pixels: two parts of bfloat16 have 16 bits where TF32 has 11, three have 24.
    ///
    /// # Errors
    /// [`Error::Option`] for a precision that the device's products do not have.
    pub fn of(device: &Device, precision: Precision, features: bool) -> Result<Self> {
        // `simt` has what the newest have.
        let older = device.info()?.compute_capability.filter(|&capability| capability < (8, 0));
        let of = |values, parts| Self { values, parts, features };
        Ok(match (precision, older) {
            (Precision::F32, Some(_)) => of(Values::F32, 1),
            (_, Some((major, minor))) => {
                let name = device.name();
                let allowed = format!("f32 on {name}, whose compute capability is {major}.{minor}, below 8.0");
                return Err(Error::option("precision", precision, allowed));
            }
            (Precision::Bf16, None) => of(Values::Bf16, 1),
            (Precision::F16, None) => of(Values::F16, 1),
            (Precision::Tf32, None) => of(Values::Bf16, 2),
            (Precision::F32, None) => of(Values::Bf16, 3),
            (Precision::F64 | Precision::E4m3 | Precision::I16, None) => {
                return Err(Error::option("precision", precision, "f32, tf32, bf16 or f16 by the engine layers"));
            }
        })
    }

    pub const fn is_single(self) -> bool {
        matches!(self.values, Values::F32)
    }

    /// Parts of the inputs of layer `layer`.
    pub const fn input_parts(self, layer: usize) -> u32 {
        if layer == 0 && !self.features { 1 } else { self.parts }
    }

    /// What a product of the inputs of layer `layer` is multiplied with: pixels are whole numbers up to 255.
    pub const fn input_factor(self, layer: usize) -> f32 {
        if layer == 0 && !self.features { 1.0 / 255.0 } else { 1.0 }
    }

    /// The precision of the products' operands.
    pub const fn of_operands(self) -> Precision {
        match self.values {
            Values::F32 => Precision::F32,
            Values::F16 => Precision::F16,
            Values::Bf16 => Precision::Bf16,
            Values::U8 => Precision::E4m3,
        }
    }

    /// Numbers of a line of a layer's weights, and of the gradient of its outputs.
    pub const fn output_line(self, layer: &LayerPlan) -> u32 {
        if self.is_single() { layer.line() } else { parts::line_length(layer.n_outputs) }
    }

    /// Numbers of a part of all parameters.
    pub const fn n_weights(self, plan: &Plan) -> usize {
        if self.is_single() { plan.n_values } else { plan.n_short_values }
    }

    pub const fn format(self) -> u32 {
        match self.values {
            Values::F16 => parts::format::F16,
            Values::Bf16 | Values::U8 | Values::F32 => parts::format::BF16,
        }
    }

    /// The bits of 1.
    const fn one(self) -> u16 {
        match self.values {
            Values::F16 => 0x3C00,
            Values::Bf16 | Values::U8 | Values::F32 => 0x3F80,
        }
    }
}

/// Numbers as the products read them.
pub(super) enum Held {
    /// In parts of 16 bits.
    Short(Buffer<u16>),
    /// In single precision.
    Single(Buffer<f32>),
}

impl Held {
    /// Takes the memory for so many.
    pub fn new(stream: &Stream, numbers: Numbers, len: usize) -> Result<Self> {
        Ok(if numbers.is_single() { Self::Single(stream.alloc(len)?) } else { Self::Short(stream.alloc(len)?) })
    }

    /// `[lines][line]` With 1 at number `at` of each line.
    pub fn put_ones(&mut self, stream: &Stream, numbers: Numbers, [lines, line, at]: [usize; 3]) -> Result<()> {
        match self {
            Self::Short(values) => {
                let ones = stream.upload(&vec![numbers.one(); lines])?;
                stream.copy_lines((values, at, line), (&ones, 0, 1), 1, lines)?;
                // The copy reads them.
                stream.synchronize()
            }
            Self::Single(values) => {
                let ones = stream.upload(&vec![1.0f32; lines])?;
                stream.copy_lines((values, at, line), (&ones, 0, 1), 1, lines)?;
                stream.synchronize()
            }
        }
    }

    pub fn view(&self) -> In<'_, u8> {
        match self {
            Self::Short(values) => values.view().cast(),
            Self::Single(values) => values.view().cast(),
        }
    }

    /// As the two forms of C.
    pub fn views_mut(&mut self) -> (InOut<'_, f32>, InOut<'_, u16>) {
        match self {
            Self::Short(values) => (InOut::none(), values.view_mut()),
            Self::Single(values) => (values.view_mut(), InOut::none()),
        }
    }

    pub fn short(&self) -> Option<&Buffer<u16>> {
        match self {
            Self::Short(values) => Some(values),
            Self::Single(_) => None,
        }
    }
}

/// Outputs of a layer.
pub(super) enum Outputs<'a> {
    /// The first part of each.
    Short(&'a Buffer<u16>),
    Single(&'a Buffer<f32>),
}
