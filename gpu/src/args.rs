//! Arguments of a launch on the host: what may be given for a kernel's parameter, and what is checked when it is.
//!
//! A kernel takes pointers, views, structures of pointers and numbers. A launch takes buffers in the place of pointers, whose device and length it can check;
//! [`IntoParam`] says which argument goes with which parameter, at compile time.
//!
//! ```
//! use warpplay_gpu::args::IntoParam;
//! use warpplay_gpu::cuda::DeviceArgs;
//!
//! /// `y[i] += a * x[i]`.
//! #[repr(C)]
//! #[derive(Clone, Copy, Debug, DeviceArgs)]
//! pub struct Axpy {
//!     /// `[n]`.
//!     #[len(n)]
//!     pub y: *mut f32,
//!     /// `[n]`.
//!     #[len(n)]
//!     pub x: *const f32,
//!     /// The factor.
//!     pub a: f32,
//!     /// Values.
//!     pub n: u32,
//! }
//!
//! fn fits<A: IntoParam<P>, P>(_: fn(A) -> P) {}
//! fits(|_: AxpyArgs<'_>| -> Axpy { unreachable!() }); // the derive has written `AxpyArgs`
//! fits(|number: u32| number);
//! ```
//!
//! | parameter | argument |
//! | --- | --- |
//! | `*const T`, `Slice<T>` | [`In`] |
//! | `*mut T`, `Disjoint<T>`, `Atomic<T>` | [`InOut`] |
//! | a structure `S` of pointers and numbers with `#[derive(DeviceArgs)]` | `SArgs`, which has an [`In`] or [`InOut`] for each pointer |
//! | anything else | the same value |
//!
//! The library's `Buffer` gives the first two; a launch hands each argument a [`Binding`], which sees whose memory it is and whether it is long enough, and answers with a
//! [`Refusal`] where it is not.

use std::any::Any;
use std::fmt;

use bytemuck::Pod;

use crate::cuda::view::{Atomic, Disjoint, Slice, View};

/// The length that `#[len]` declares, or `usize::MAX`, which no buffer has, where its arithmetic fails.
#[doc(hidden)]
pub fn length(of: impl FnOnce() -> Option<usize>) -> usize {
    of().unwrap_or(usize::MAX)
}

/// Collects what a launch needs to know about its arguments.
///
/// # Safety
/// What comes of an argument goes to the kernel of one launch and nowhere else, while the argument is borrowed or its memory kept; and not if anything was refused.
pub unsafe trait Binding {
    /// Notes that an argument lies in this memory; the host library keeps the memory alive through `owner`.
    fn memory(&mut self, owner: &dyn Any);
    /// Refuses an argument. The launch fails with the first refusal.
    fn refuse(&mut self, refusal: Refusal);
}

impl dyn Binding + '_ {
    /// Checks an array for `expected` values.
    #[doc(hidden)]
    pub fn expect_len(&mut self, name: &'static str, found: usize, expected: usize) {
        if found < expected {
            self.refuse(Refusal::TooShort { name, expected, found });
        }
    }
}

/// Why a kernel is not launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An array is too short.
    TooShort {
        /// The parameter, or the structure's field.
        name: &'static str,
        /// Number of values that the kernel uses.
        expected: usize,
        /// Number of values found.
        found: usize,
    },
    /// A condition of the declaration does not hold.
    Unmet {
        /// The condition as written in the source.
        condition: &'static str,
        /// The values in it.
        found: String,
    },
}

/// Checks a view for `expected` values; for the expansion of the attribute [`kernel`](macro@crate::cuda::kernel).
///
/// # Errors
/// It is shorter.
#[doc(hidden)]
pub fn expect_len(name: &'static str, view: &impl View, expected: usize) -> Result<(), Refusal> {
    let found = view.len();
    if found < expected { Err(Refusal::TooShort { name, expected, found }) } else { Ok(()) }
}

/// A value that can be passed for a kernel's parameter of type `P`.
///
/// # Safety
/// The parameter is made of the argument alone, whose memory the binding has been told, and nothing else keeps it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given for a kernel's parameter `{P}`",
    label = "expected an argument for `{P}`",
    note = "`*const T` and `Slice<T>` take `&Buffer<T>`, `*mut T`, `Disjoint<T>` and `Atomic<T>` take `&mut Buffer<T>`, a structure `S` with `#[derive(DeviceArgs)]` takes `SArgs`, everything else takes a value of its own type"
)]
pub unsafe trait IntoParam<P> {
    /// Converts the value to the parameter passed to the device. Errors are reported to `binding`.
    #[doc(hidden)]
    fn into_param(self, binding: &mut dyn Binding) -> P;
}

// SAFETY: the value itself; a view or a checked structure is made by unsafe code or by an argument alone.
unsafe impl<P: Copy + 'static> IntoParam<P> for P {
    fn into_param(self, _: &mut dyn Binding) -> P {
        self
    }
}

/// Values of device memory that a kernel reads.
pub struct In<'a, T> {
    values: *const T,
    len: usize,
    /// `None` for a null pointer.
    owner: Option<&'a dyn Any>,
}

impl<T> Clone for In<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<'_, T> {}

impl<'a, T> In<'a, T> {
    /// Values at an address.
    ///
    /// # Safety
    /// They are there while `owner` is borrowed or kept, and nobody writes them while it is borrowed.
    #[doc(hidden)]
    pub unsafe fn new(values: *const T, len: usize, owner: &'a dyn Any) -> Self {
        Self { values, len, owner: Some(owner) }
    }

    /// A null pointer, for a field that may be one.
    pub fn none() -> Self {
        Self { values: std::ptr::null(), len: 0, owner: None }
    }
}

/// Values of device memory that a kernel writes, or reads and writes.
pub struct InOut<'a, T> {
    values: *mut T,
    len: usize,
    /// `None` for a null pointer.
    owner: Option<&'a dyn Any>,
}

impl<'a, T> InOut<'a, T> {
    /// Values at an address.
    ///
    /// # Safety
    /// They are there while `owner` is borrowed or kept, and nobody else uses them while it is borrowed.
    #[doc(hidden)]
    pub unsafe fn new(values: *mut T, len: usize, owner: &'a dyn Any) -> Self {
        Self { values, len, owner: Some(owner) }
    }

    /// A null pointer, for a field that may be one.
    pub fn none() -> Self {
        Self { values: std::ptr::null_mut(), len: 0, owner: None }
    }

    /// The same values, for another field of the same launch.
    ///
    /// # Safety
    /// The kernel allows the two fields to be one array.
    pub unsafe fn again(&self) -> Self {
        Self { ..*self }
    }

    /// The same values for another field, through which the kernel reads them.
    ///
    /// # Safety
    /// The kernel reads no value through it that another of its threads may have written.
    pub unsafe fn also_read(&self) -> In<'a, T> {
        In { values: self.values, len: self.len, owner: self.owner }
    }
}

macro_rules! arguments {
    ($name:ident, $pointer:ident, $($view:ident),+) => {
        impl<'a, T> $name<'a, T> {
            /// Number of values.
            #[allow(clippy::len_without_is_empty, reason = "nobody asks for it")]
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether it is a null pointer.
            pub fn is_none(&self) -> bool {
                self.owner.is_none()
            }

            /// The first `n` values, or all if there are fewer, and the rest: two parts that a kernel may use in any order.
            pub fn split_at(self, n: usize) -> (Self, Self) {
                let n = n.min(self.len);
                let rest = Self { values: self.values.wrapping_add(n), len: self.len - n, owner: self.owner };
                (Self { len: n, ..self }, rest)
            }

            /// The same bytes as values of another type, one or several for each value.
            pub fn cast<U: Pod>(self) -> $name<'a, U>
            where
                T: Pod,
            {
                // SAFETY: plain data.
                unsafe { self.retyped() }
            }

            /// As `cast`, for types that are not plain data.
            ///
            /// # Safety
            /// The bytes of every `T` are values of `U`, and the other way round.
            pub(crate) unsafe fn retyped<U>(self) -> $name<'a, U> {
                const {
                    assert!(size_of::<T>().is_multiple_of(size_of::<U>()) && align_of::<T>() >= align_of::<U>());
                };
                let len = self.len * (size_of::<T>() / size_of::<U>());
                $name { values: self.values.cast(), len, owner: self.owner }
            }
        }

        impl<T> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "<{}>({} values)"), std::any::type_name::<T>(), self.len)
            }
        }

        // SAFETY: the binding is informed about the memory.
        unsafe impl<T> IntoParam<*$pointer T> for $name<'_, T> {
            fn into_param(self, binding: &mut dyn Binding) -> *$pointer T {
                if let Some(owner) = self.owner {
                    binding.memory(owner);
                }
                self.values
            }
        }

        // SAFETY: as for the pointer.
        $(unsafe impl<T: 'static> IntoParam<$view<T>> for $name<'_, T> {
            fn into_param(self, binding: &mut dyn Binding) -> $view<T> {
                let len = self.len;
                // SAFETY: the values exist and have no other user, as whoever made `self` has promised, and the launch borrows or keeps them.
                unsafe { $view::new(self.into_param(binding), len) }
            }
        })+
    };
}

arguments!(In, const, Slice);
arguments!(InOut, mut, Disjoint, Atomic);

/// Read-only values of an array that is borrowed exclusively for its other parts.
impl<'a, T> From<InOut<'a, T>> for In<'a, T> {
    fn from(InOut { values, len, owner }: InOut<'a, T>) -> Self {
        Self { values, len, owner }
    }
}

/// A structure of pointers and numbers that has passed its checks; only `SArgs` of `#[derive(DeviceArgs)]` converts into one.
#[derive(Clone, Copy, Debug)]
pub struct Checked<P>(P);

impl<P> Checked<P> {
    /// Wraps a structure.
    ///
    /// # Safety
    /// Every pointer is to as many values as its field declares, borrowed as the field's type says, and every condition of the declaration holds; or `Binding::refuse` was called.
    #[doc(hidden)]
    pub unsafe fn new(params: P) -> Self {
        Self(params)
    }

    /// The structure.
    pub fn into_inner(self) -> P {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes what it is told.
    #[derive(Default)]
    struct Notes {
        owners: Vec<u32>,
        refusals: Vec<Refusal>,
    }

    // SAFETY: nothing is launched, and nobody follows the addresses.
    unsafe impl Binding for Notes {
        fn memory(&mut self, owner: &dyn Any) {
            self.owners.push(*owner.downcast_ref().expect("a number"));
        }

        fn refuse(&mut self, refusal: Refusal) {
            self.refusals.push(refusal);
        }
    }

    #[test]
    fn parts_have_the_addresses_and_lengths_of_their_values() {
        let (owner, mut values) = (7u32, [1.0f32, 2.0, 3.0]);
        // SAFETY: nobody follows the addresses.
        let all = unsafe { InOut::new(values.as_mut_ptr(), 3, &owner) };
        let (first, rest) = all.split_at(2);
        assert_eq!((first.len(), rest.len()), (2, 1));
        // SAFETY: nobody follows the addresses.
        assert_eq!(unsafe { first.again() }.cast::<u8>().len(), 8);
        let mut notes = Notes::default();
        let halves = In::from(rest).cast::<u16>();
        assert_eq!(halves.len(), 2);
        let halves: *const u16 = halves.into_param(&mut notes);
        assert_eq!(halves, (&raw const values[2]).cast());
        assert_eq!(notes.owners, [7]);
        assert_eq!(first.split_at(9).1.len(), 0);
    }

    #[test]
    fn a_null_pointer_has_no_owner() {
        let mut notes = Notes::default();
        let null: *const u8 = In::none().into_param(&mut notes);
        assert!(null.is_null() && notes.owners.is_empty() && InOut::<u8>::none().is_none());
    }

    /// Rows of two lengths.
    #[derive(Clone, Copy, crate::cuda::DeviceArgs)]
    #[repr(C)]
    #[args(n_tables: u32)]
    #[require(n_rows.is_multiple_of(2))]
    struct Rows<T> {
        /// `[n_tables, n_rows]`.
        #[len(n_tables * n_rows)]
        values: *mut T,
        /// `[n_rows]`, or null.
        #[len(n_rows)]
        #[nullable]
        names: *const u8,
        n_rows: u32,
    }

    #[test]
    fn a_structure_is_checked_field_by_field() {
        let (owner, other, mut values, names) = (1u32, 2u32, [0i64; 8], [0u8; 3]);
        let mut given = |n_rows, named: bool| {
            let mut notes = Notes::default();
            // SAFETY: nobody follows the addresses.
            let (values, names) =
                unsafe { (InOut::new(values.as_mut_ptr(), 8, &owner), In::new(names.as_ptr(), 3, &other)) };
            let names = if named { names } else { In::none() };
            let rows: Rows<i64> = RowsArgs { values, names, n_rows, n_tables: 2 }.into_param(&mut notes);
            assert_eq!(rows.n_rows, n_rows);
            notes
        };
        let fits = given(2, true);
        assert_eq!((fits.owners, fits.refusals), (vec![1, 2], vec![]));
        assert_eq!(given(4, false).refusals, []);
        assert_eq!(given(4, true).refusals, [Refusal::TooShort { name: "names", expected: 4, found: 3 }]);
        let wrong = given(5, false).refusals;
        let condition = "n_rows.is_multiple_of(2)";
        assert_eq!(wrong, [Refusal::Unmet { condition, found: "n_rows = 5".into() }]);
        assert_eq!(given(6, false).refusals, [Refusal::TooShort { name: "values", expected: 12, found: 8 }]);
    }
}
