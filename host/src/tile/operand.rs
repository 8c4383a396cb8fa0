//! Number formats of operands and results.

use bytemuck::Pod;
use float8::F8E4M3;
use half::{bf16, f16};

use crate::runtime::tensor_map::Values;
use crate::{Buffer, InOut, Precision};

mod sealed {
    /// Of the formats here alone.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for float8::F8E4M3 {}
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
    /// What a mask has, and C and a residual may have in place of single precision: the format itself, bfloat16 for one of 8 bits.
    type Short: Output<Self>;
    #[doc(hidden)]
    const FORMAT: Format;
}

impl Operand for bf16 {
    const PRECISION: Precision = Precision::Bf16;
    type Short = Self;
    const FORMAT: Format = Format(Values::Bf16);
}

impl Operand for f16 {
    const PRECISION: Precision = Precision::F16;
    type Short = Self;
    const FORMAT: Format = Format(Values::F16);
}

/// Read as TF32, the last 13 bits count as 0; or multiplied [as it is](super::ProductBuilder::precision).
impl Operand for f32 {
    const PRECISION: Precision = Precision::Tf32;
    type Short = Self;
    const FORMAT: Format = Format(Values::F32);
}

/// Numbers of 8 bits: to 448, from 2⁻⁹ on, with 3 bits of fraction. `from_f32` makes 448 of what is larger; the crate's `MAX` is 416, and its `INFINITY` is 448. [`Engine::Wgmma`](super::Engine::Wgmma) multiplies them, which lie row by row and column by column.
impl Operand for F8E4M3 {
    const PRECISION: Precision = Precision::E4m3;
    type Short = bf16;
    const FORMAT: Format = Format(Values::U8);
}

/// A number format of C where A and B are of `T`: single precision, or [`T::Short`](Operand::Short).
pub trait Output<T: Operand>: Pod + sealed::Sealed {
    #[doc(hidden)]
    fn views(buffer: &mut Buffer<Self>) -> (InOut<'_, f32>, InOut<'_, u16>);
    /// The buffer where it is of single precision, or where it is of `T`.
    #[doc(hidden)]
    fn residual(buffer: &Buffer<Self>) -> Residual<'_, T>;
}

/// A residual of single precision, or of the operands' short format.
#[doc(hidden)]
pub type Residual<'a, T> = (Option<&'a Buffer<f32>>, Option<&'a Buffer<<T as Operand>::Short>>);

impl<T: Operand> Output<T> for f32 {
    fn views(buffer: &mut Buffer<Self>) -> (InOut<'_, f32>, InOut<'_, u16>) {
        (buffer.view_mut(), InOut::none())
    }

    fn residual(buffer: &Buffer<Self>) -> Residual<'_, T> {
        (Some(buffer), None)
    }
}

macro_rules! short {
    ($($type:ty, $operand:ty;)+) => {$(
        impl Output<$operand> for $type {
            fn views(buffer: &mut Buffer<Self>) -> (InOut<'_, f32>, InOut<'_, u16>) {
                (InOut::none(), buffer.view_mut().cast())
            }

            fn residual(buffer: &Buffer<Self>) -> Residual<'_, $operand> {
                (None, Some(buffer))
            }
        }
    )+};
}
short! {
    bf16, bf16;
    f16, f16;
    bf16, F8E4M3;
}
