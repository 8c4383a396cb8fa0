//! Number formats of operands and results.

use bytemuck::Pod;
use half::{bf16, f16};

use crate::runtime::tensor_map::Values;
use crate::{Buffer, InOut, Precision};

mod sealed {
    /// Of the formats here alone.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for half::bf16 {}
    impl Sealed for half::f16 {}
}

/// A format as the copy engine knows it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Format(pub(super) Values);

/// A number format of A and B.
pub trait Operand: Pod + sealed::Sealed {
    /// The precision in which it is multiplied where nothing else is said.
    const PRECISION: Precision;
    #[doc(hidden)]
    const FORMAT: Format;
}

impl Operand for bf16 {
    const PRECISION: Precision = Precision::Bf16;
    const FORMAT: Format = Format(Values::Bf16);
}

impl Operand for f16 {
    const PRECISION: Precision = Precision::F16;
    const FORMAT: Format = Format(Values::F16);
}

/// Read as TF32, the last 13 bits count as 0; or multiplied [as it is](super::ProductBuilder::precision).
impl Operand for f32 {
    const PRECISION: Precision = Precision::Tf32;
    const FORMAT: Format = Format(Values::F32);
}

/// A number format of C where A and B are of `T`: single precision, or `T` itself.
pub trait Output<T: Operand>: Pod + sealed::Sealed {
    #[doc(hidden)]
    fn views(buffer: &mut Buffer<Self>) -> (InOut<'_, f32>, InOut<'_, u16>);
    /// The buffer where it is of single precision, or where it is of `T`.
    #[doc(hidden)]
    fn residual(buffer: &Buffer<Self>) -> Residual<'_, T>;
}

/// A residual of single precision, or of the operands' format.
#[doc(hidden)]
pub type Residual<'a, T> = (Option<&'a Buffer<f32>>, Option<&'a Buffer<T>>);

impl<T: Operand> Output<T> for f32 {
    fn views(buffer: &mut Buffer<Self>) -> (InOut<'_, f32>, InOut<'_, u16>) {
        (buffer.view_mut(), InOut::none())
    }

    fn residual(buffer: &Buffer<Self>) -> Residual<'_, T> {
        (Some(buffer), None)
    }
}

macro_rules! short {
    ($($type:ty),+) => {$(
        impl Output<$type> for $type {
            fn views(buffer: &mut Buffer<Self>) -> (InOut<'_, f32>, InOut<'_, u16>) {
                (InOut::none(), buffer.view_mut().cast())
            }

            fn residual(buffer: &Buffer<Self>) -> Residual<'_, Self> {
                (None, Some(buffer))
            }
        }
    )+};
}
short!(bf16, f16);
