//! Arguments of a launch: how host values become a kernel's parameters.
//!
//! A kernel's parameter types are known to the compiler ([`Kernel::Params`](crate::Kernel::Params)), so a launch with
//! a wrong type or number of arguments does not compile:
//!
//! | parameter | argument |
//! | --- | --- |
//! | `*const T` | `&Buffer<T>` (or `&mut`) |
//! | `*mut T` | `&mut Buffer<T>` |
//! | `Slice<T>` of a safe kernel | `&Buffer<T>` (or `&mut`) |
//! | `Disjoint<T>` or `Atomic<T>` of a safe kernel | `&mut Buffer<T>` |
//! | a number, or a `#[repr(C)]` struct | the same value |

use std::ffi::c_void;
use std::sync::Arc;

use warpplay_gpu::cuda::view::{Atomic, Disjoint, Slice};
use warpplay_gpu::kernel::View;

use crate::runtime::buffer::{Allocation, Buffer};
use crate::runtime::device::Device;
use crate::runtime::error::Result;

/// Most parameters of a kernel.
pub(crate) const MAX_PARAMS: usize = 16;

/// What a launch learns of its buffers while it takes its arguments.
#[doc(hidden)]
pub struct Binding<'a> {
    pub(crate) device: &'a Device,
    /// Memory that a graph must keep; `None` outside a capture.
    pub(crate) kept: Option<Vec<Arc<Allocation>>>,
}

impl Binding<'_> {
    fn bind<T>(&mut self, buffer: &Buffer<T>) -> Result<()> {
        self.device.expect_same("buffer", buffer.device())?;
        if let Some(kept) = &mut self.kept {
            kept.push(Arc::clone(buffer.allocation()));
        }
        Ok(())
    }
}

/// A value that can be given for a kernel's parameter of type `P`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given for a kernel's parameter `{P}`",
    label = "expected an argument for `{P}`",
    note = "`*const T` and `Slice<T>` take `&Buffer<T>`, `*mut T`, `Disjoint<T>` and `Atomic<T>` take `&mut Buffer<T>`, everything else takes a value of its own type"
)]
pub trait IntoParam<P> {
    #[doc(hidden)]
    fn into_param(self, binding: &mut Binding<'_>) -> Result<P>;
}

impl<P: Copy + 'static> IntoParam<P> for P {
    fn into_param(self, _: &mut Binding<'_>) -> Result<P> {
        Ok(self)
    }
}

impl<T> IntoParam<*const T> for &Buffer<T> {
    fn into_param(self, binding: &mut Binding<'_>) -> Result<*const T> {
        binding.bind(self)?;
        Ok(self.as_ptr())
    }
}

impl<T> IntoParam<*const T> for &mut Buffer<T> {
    fn into_param(self, binding: &mut Binding<'_>) -> Result<*const T> {
        binding.bind(self)?;
        Ok(self.as_ptr())
    }
}

impl<T> IntoParam<*mut T> for &mut Buffer<T> {
    fn into_param(self, binding: &mut Binding<'_>) -> Result<*mut T> {
        binding.bind(self)?;
        Ok(self.as_mut_ptr())
    }
}

impl<T: Copy + 'static> IntoParam<Slice<T>> for &Buffer<T> {
    fn into_param(self, binding: &mut Binding<'_>) -> Result<Slice<T>> {
        binding.bind(self)?;
        // SAFETY: the buffer has these values, and the launch borrows it, so that nobody writes them; freed memory is used again in the order of the device's work.
        Ok(unsafe { Slice::new(self.as_ptr(), self.len()) })
    }
}

impl<T: Copy + 'static> IntoParam<Slice<T>> for &mut Buffer<T> {
    fn into_param(self, binding: &mut Binding<'_>) -> Result<Slice<T>> {
        (&*self).into_param(binding)
    }
}

impl<T: Copy + 'static> IntoParam<Disjoint<T>> for &mut Buffer<T> {
    fn into_param(self, binding: &mut Binding<'_>) -> Result<Disjoint<T>> {
        binding.bind(self)?;
        // SAFETY: the buffer has these values, and the launch borrows it exclusively; freed memory is used again in the order of the device's work.
        Ok(unsafe { Disjoint::new(self.as_mut_ptr(), self.len()) })
    }
}

impl<T: Copy + 'static> IntoParam<Atomic<T>> for &mut Buffer<T> {
    fn into_param(self, binding: &mut Binding<'_>) -> Result<Atomic<T>> {
        binding.bind(self)?;
        // SAFETY: as for `Disjoint`.
        Ok(unsafe { Atomic::new(self.as_mut_ptr(), self.len()) })
    }
}

/// A tuple of arguments for a kernel whose parameters are the tuple `P`: one [`IntoParam`] for each.
///
/// An argument of another type, one too many or one too few does not compile:
///
/// ```
/// # use warpplay::{Buffer, IntoParams};
/// fn check<P, A: IntoParams<P>>(_: A) {}
/// fn launch(read: &Buffer<f32>, written: &mut Buffer<u32>) {
///     check::<(*const f32, *mut u32, u64), _>((read, written, 7));
/// }
/// ```
/// ```compile_fail
/// # use warpplay::{Buffer, IntoParams};
/// # fn check<P, A: IntoParams<P>>(_: A) {}
/// fn launch(read: &Buffer<f32>) {
///     check::<(*mut f32,), _>((read,)); // the kernel writes
/// }
/// ```
/// ```compile_fail
/// # use warpplay::{Buffer, IntoParams};
/// # fn check<P, A: IntoParams<P>>(_: A) {}
/// fn launch(read: &Buffer<f64>) {
///     check::<(*const f32,), _>((read,)); // of other values
/// }
/// ```
/// ```compile_fail
/// # use warpplay::IntoParams;
/// # fn check<P, A: IntoParams<P>>(_: A) {}
/// check::<(u32, u32), _>((1,)); // one too few
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not match the kernel's parameters `{P}`",
    label = "expected arguments for `{P}`",
    note = "give one argument for each parameter, in a tuple; one argument alone is `(argument,)`"
)]
pub trait IntoParams<P> {
    #[doc(hidden)]
    fn into_params(self, binding: &mut Binding<'_>) -> Result<P>;
    /// Addresses of the parameters, as the driver takes them, and their number.
    #[doc(hidden)]
    fn addresses(params: &mut P) -> [*mut c_void; MAX_PARAMS];
}

macro_rules! tuples {
    ($($param:ident $argument:ident $index:tt),*) => {
        impl<$($param, $argument: IntoParam<$param>),*> IntoParams<($($param,)*)> for ($($argument,)*) {
            #[allow(unused_variables, clippy::unused_unit)]
            fn into_params(self, binding: &mut Binding<'_>) -> Result<($($param,)*)> {
                Ok(($(self.$index.into_param(binding)?,)*))
            }

            #[allow(unused_variables)]
            fn addresses(params: &mut ($($param,)*)) -> [*mut c_void; MAX_PARAMS] {
                #[allow(unused_mut)]
                let mut addresses = [std::ptr::null_mut(); MAX_PARAMS];
                $(addresses[$index] = (&raw mut params.$index).cast();)*
                addresses
            }
        }
    };
}

tuples!();
tuples!(P0 A0 0);
tuples!(P0 A0 0, P1 A1 1);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4, P5 A5 5);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4, P5 A5 5, P6 A6 6);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4, P5 A5 5, P6 A6 6, P7 A7 7);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4, P5 A5 5, P6 A6 6, P7 A7 7, P8 A8 8);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4, P5 A5 5, P6 A6 6, P7 A7 7, P8 A8 8, P9 A9 9);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4, P5 A5 5, P6 A6 6, P7 A7 7, P8 A8 8, P9 A9 9, P10 A10 10);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4, P5 A5 5, P6 A6 6, P7 A7 7, P8 A8 8, P9 A9 9, P10 A10 10, P11 A11 11);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4, P5 A5 5, P6 A6 6, P7 A7 7, P8 A8 8, P9 A9 9, P10 A10 10, P11 A11 11, P12 A12 12);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4, P5 A5 5, P6 A6 6, P7 A7 7, P8 A8 8, P9 A9 9, P10 A10 10, P11 A11 11, P12 A12 12, P13 A13 13);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4, P5 A5 5, P6 A6 6, P7 A7 7, P8 A8 8, P9 A9 9, P10 A10 10, P11 A11 11, P12 A12 12, P13 A13 13, P14 A14 14);
tuples!(P0 A0 0, P1 A1 1, P2 A2 2, P3 A3 3, P4 A4 4, P5 A5 5, P6 A6 6, P7 A7 7, P8 A8 8, P9 A9 9, P10 A10 10, P11 A11 11, P12 A12 12, P13 A13 13, P14 A14 14, P15 A15 15);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn params<P, A: IntoParams<P>>(device: &Device, arguments: A) -> Result<P> {
        arguments.into_params(&mut Binding { device, kept: None })
    }

    #[test]
    fn literals_take_the_parameters_types() {
        let device = Device::simt();
        let stream = device.stream().expect("simt");
        let mut a = stream.alloc::<f32>(2).expect("small");
        let b = stream.alloc::<u8>(2).expect("small");
        let (written, read, n, scale): (*mut f32, *const u8, u32, f32) =
            params(&device, (&mut a, &b, 7, 0.5)).expect("same device");
        assert_eq!((written, read), (a.as_mut_ptr(), b.as_ptr()));
        assert_eq!((n, scale), (7, 0.5));
    }

    #[test]
    fn addresses_are_those_of_the_parameters() {
        let mut three = (1u8, 2u64, 3f32);
        let addresses = <(u8, u64, f32) as IntoParams<(u8, u64, f32)>>::addresses(&mut three);
        assert_eq!(addresses[1], (&raw mut three.1).cast());
        assert!(!addresses[2].is_null() && addresses[3].is_null());
    }

    #[test]
    fn a_buffer_of_another_device_is_refused() {
        let (here, there) = (Device::simt(), Device::simt_numbered(1));
        let buffer = there.stream().expect("simt").alloc::<u32>(1).expect("small");
        let error = params::<(*const u32,), _>(&here, (&buffer,)).expect_err("another device");
        assert!(matches!(error, Error::Device { .. }));
        assert_eq!(error.to_string(), "buffer belongs to simt:1, not to simt: make it on the device that uses it");
    }
}
