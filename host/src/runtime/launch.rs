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
//! | a structure `S` of pointers and numbers with `#[derive(DeviceArgs)]` | `SArgs`, with [`Buffer::view`] or [`Buffer::view_mut`] for each pointer |
//! | anything else | the same value |

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

use warpplay_gpu::args::{self as gpu, In, InOut, IntoParam, Refusal};
use warpplay_gpu::cuda::view::{Atomic, Disjoint, Slice};

use crate::runtime::buffer::{Allocation, Buffer};
use crate::runtime::device::Device;
use crate::runtime::error::{Error, Result};

/// Most parameters of a kernel.
pub(crate) const MAX_PARAMS: usize = 16;

/// What a launch collects from its arguments while it binds them.
#[doc(hidden)]
pub struct Binding<'a> {
    device: &'a Device,
    /// Memory that a graph must keep; `None` outside a capture.
    kept: Option<Vec<Arc<Allocation>>>,
    /// The first invalid argument found.
    wrong: Option<Wrong>,
}

/// What is wrong with an argument.
enum Wrong {
    Refused(Refusal),
    Device(Error),
}

impl<'a> Binding<'a> {
    pub(crate) fn new(device: &'a Device, capturing: bool) -> Self {
        Self { device, kept: capturing.then(Vec::new), wrong: None }
    }

    /// Returns the memory that a graph must keep, or an error that names `kernel` if an argument is invalid.
    pub(crate) fn finish(self, kernel: &str) -> Result<Option<Vec<Arc<Allocation>>>> {
        match self.wrong {
            None => Ok(self.kept),
            Some(Wrong::Device(error)) => Err(error),
            Some(Wrong::Refused(refusal)) => Err(refused(kernel, refusal)),
        }
    }
}

// SAFETY: only launches make a `Binding`, and `finish` returns an error if an argument was refused.
unsafe impl gpu::Binding for Binding<'_> {
    fn memory(&mut self, owner: &dyn Any) {
        let Some(allocation) = owner.downcast_ref::<Arc<Allocation>>() else {
            let error = Error::shape("memory of a launch", "a buffer of this library", "something else");
            self.wrong.get_or_insert(Wrong::Device(error));
            return;
        };
        if let Err(error) = self.device.expect_same("buffer", allocation.device()) {
            self.wrong.get_or_insert(Wrong::Device(error));
        }
        if let Some(kept) = &mut self.kept {
            kept.push(Arc::clone(allocation));
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.wrong.get_or_insert(Wrong::Refused(refusal));
    }
}

/// Converts the refusal of a kernel's declaration into an error.
pub(crate) fn refused(kernel: &str, refusal: Refusal) -> Error {
    match refusal {
        Refusal::TooShort { name, expected, found } => {
            Error::shape(format!("{kernel}: {name}"), format!("at least {expected} values"), format!("{found} values"))
        }
        Refusal::Unmet { condition, found } => Error::shape(kernel, condition, found),
    }
}

impl<T> Buffer<T> {
    /// The values as a field of `SArgs` that a kernel reads.
    pub fn view(&self) -> In<'_, T> {
        // SAFETY: the allocation holds these values while it is borrowed or kept, and nobody writes them while `self` is borrowed; freed memory is reused in the order of
        // the device's work.
        unsafe { In::new(self.as_ptr(), self.len(), self.allocation()) }
    }

    /// The values as a field of `SArgs` that a kernel writes.
    pub fn view_mut(&mut self) -> InOut<'_, T> {
        let (values, len) = (self.as_mut_ptr(), self.len());
        // SAFETY: as for `view`, and `self` is borrowed exclusively.
        unsafe { InOut::new(values, len, self.allocation()) }
    }
}

/// Builds `SArgs` from host structures of buffers whose fields have the names of the kernel's fields: `reads` passes a buffer by [`Buffer::view`], `writes` by
/// [`Buffer::view_mut`], `has` copies a number; any other fields follow, as in a struct literal.
#[cfg(any(feature = "mcts", feature = "azero", feature = "mlp", feature = "shogi", feature = "cfr"))]
macro_rules! views {
    ($args:ident { $($fields:tt)* }) => { views!(@ $args [] $($fields)*) };
    (@ $args:ident [$($done:tt)*] $from:ident reads $($field:ident),+; $($rest:tt)*) => {
        views!(@ $args [$($done)* $($field: $from.$field.view(),)+] $($rest)*)
    };
    (@ $args:ident [$($done:tt)*] $from:ident writes $($field:ident),+; $($rest:tt)*) => {
        views!(@ $args [$($done)* $($field: $from.$field.view_mut(),)+] $($rest)*)
    };
    (@ $args:ident [$($done:tt)*] $from:ident has $($field:ident),+; $($rest:tt)*) => {
        views!(@ $args [$($done)* $($field: $from.$field,)+] $($rest)*)
    };
    (@ $args:ident [$($done:tt)*] $($rest:tt)*) => { $args { $($done)* $($rest)* } };
}
#[cfg(any(feature = "mcts", feature = "azero", feature = "mlp", feature = "shogi", feature = "cfr"))]
pub(crate) use views;

macro_rules! buffers {
    ($($buffer:ty, $view:ident: $($param:ty),+;)+) => {$($(
        // SAFETY: as for the view of the buffer.
        unsafe impl<T: Copy + 'static> IntoParam<$param> for $buffer {
            fn into_param(self, binding: &mut dyn gpu::Binding) -> $param {
                self.$view().into_param(binding)
            }
        }
    )+)+};
}

buffers! {
    &Buffer<T>, view: *const T, Slice<T>;
    &mut Buffer<T>, view: *const T, Slice<T>;
    &mut Buffer<T>, view_mut: *mut T, Disjoint<T>, Atomic<T>;
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
///
/// # Safety
/// As for [`IntoParam`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not match the kernel's parameters `{P}`",
    label = "expected arguments for `{P}`",
    note = "give one argument for each parameter, in a tuple; one argument alone is `(argument,)`"
)]
pub unsafe trait IntoParams<P> {
    #[doc(hidden)]
    fn into_params(self, binding: &mut Binding<'_>) -> P;
    /// Addresses of the parameters, as the driver takes them, and their number.
    #[doc(hidden)]
    fn addresses(params: &mut P) -> [*mut c_void; MAX_PARAMS];
}

macro_rules! tuples {
    ($($param:ident $argument:ident $index:tt),*) => {
        // SAFETY: each is an `IntoParam`.
        unsafe impl<$($param, $argument: IntoParam<$param>),*> IntoParams<($($param,)*)> for ($($argument,)*) {
            #[allow(unused_variables, clippy::unused_unit)]
            fn into_params(self, binding: &mut Binding<'_>) -> ($($param,)*) {
                ($(self.$index.into_param(binding),)*)
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
    use warpplay_gpu::cuda::DeviceArgs;

    use super::*;

    fn params<P, A: IntoParams<P>>(device: &Device, arguments: A) -> Result<P> {
        let mut binding = Binding::new(device, false);
        let params = arguments.into_params(&mut binding);
        binding.finish("kernel").map(|_| params)
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

    /// Two arrays of one length.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, DeviceArgs)]
    struct Pair {
        #[len(n)]
        read: *const u32,
        #[len(n)]
        written: *mut u32,
        n: u32,
    }

    #[test]
    fn what_is_wrong_with_a_field_is_told_once() {
        let (here, there) = (Device::simt(), Device::simt_numbered(1));
        let of = |device: &Device| device.stream().and_then(|stream| stream.alloc::<u32>(4)).expect("small");
        let (near, far, mut written) = (of(&here), of(&there), of(&here));
        let mut given = |read: &Buffer<u32>, n| {
            params::<(Pair,), _>(&here, (PairArgs { read: read.view(), written: written.view_mut(), n },))
        };
        let (pair,) = given(&near, 4).expect("fits");
        assert_eq!((pair.read, pair.n), (near.as_ptr(), 4));
        let error = |result: Result<(Pair,)>| result.expect_err("wrong").to_string();
        assert_eq!(error(given(&near, 5)), "kernel: read: expected at least 5 values, got 4 values");
        assert_eq!(error(given(&far, 4)), "buffer belongs to simt:1, not to simt: make it on the device that uses it");
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
