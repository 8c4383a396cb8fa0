//! Views of global memory, with which a kernel is a safe function.
//!
//! A pointer does not say how long its array is, nor who else writes it. A view says both: a kernel that declares its launch takes views instead of pointers
//! ([`kernel`](macro@super::kernel) says how), the host checks the lengths before it launches, and an index out of bounds ends the kernel.
//!
//! ```
//! use warpplay_gpu::cuda::view::{Atomic, Disjoint, Slice, View};
//! use warpplay_gpu::cuda::{kernel, thread};
//! use warpplay_gpu::kernel::ShapedKernel;
//! use warpplay_gpu::launch::LaunchShape;
//!
//! /// Writes `factor` times each value.
//! #[kernel(shape = LaunchShape::linear(n, 128))]
//! pub fn scale(#[len(n as usize)] from: Slice<f32>, factor: f32, #[len(n as usize)] mut to: Disjoint<f32>, n: u32) {
//!     let Some(own) = thread::own_index_below(n) else { return };
//!     to.set(&own, factor * from.get(own.get() as usize));
//! }
//!
//! // The host asks for the launch of 3 values where there are 2.
//! let (from, mut to) = ([1.0f32, 2.0], [0.0f32; 3]);
//! // SAFETY: as many values as are said, which nobody else uses.
//! let views = unsafe { (Slice::new(from.as_ptr(), 2), 0.5, Disjoint::new(to.as_mut_ptr(), 3), 3) };
//! let refusal = scale::prepare(views, ()).expect_err("the slice is too short");
//! assert!(format!("{refusal:?}").contains("from"));
//! ```
//!
//! | view | of what | launched with |
//! | --- | --- | --- |
//! | [`Slice`] | values that all threads read and nobody writes | `&Buffer<T>` |
//! | [`Disjoint`] | values of which each thread has the one at its own index | `&mut Buffer<T>` |
//! | [`Atomic`] | values that all threads change, atomically | `&mut Buffer<T>` |
//! | [`View`] | what the three have in common | |
//!
//! ```text
//! on the host     Buffer<T>            address and length; the launch compares the length with #[len(…)]
//! crosses         *const T or *mut T   8 bytes, in the place of the view
//! on the device   a view               the pointer, and #[len(…)] computed again from the kernel's numbers: no length is handed over
//! ```

use super::thread::OwnIndex;
use super::{atomic, memory, trap};

/// A view of device memory as the parameter of a safe kernel: a pointer for the launch, and a length that the host has checked.
#[allow(clippy::len_without_is_empty, reason = "nobody asks for it")]
pub trait View: Sized {
    /// The type that is passed to the device.
    type Pointer: Copy + 'static;

    /// The view of `len` values.
    ///
    /// # Safety
    /// The values are there and initialised while the view is used, and nobody uses them otherwise than the type of the view says.
    unsafe fn new(values: Self::Pointer, len: usize) -> Self;
    /// The first value.
    fn pointer(&self) -> Self::Pointer;
    /// Number of values.
    fn len(&self) -> usize;
}

/// Values that nobody writes while the kernel runs.
pub struct Slice<T> {
    values: *const T,
    len: usize,
}

impl<T> Clone for Slice<T> {
    #[device_inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slice<T> {}

impl<T: Copy> Slice<T> {
    /// The value at `index`.
    #[device_inline]
    #[track_caller]
    pub fn get(self, index: usize) -> T {
        if index >= self.len {
            trap();
        }
        // SAFETY: whoever made the view vouches for `len` values that nobody writes.
        unsafe { memory::load(self.values, index) }
    }
}

/// Values of which each thread may read and write the one at its own index.
pub struct Disjoint<T> {
    values: *mut T,
    len: usize,
}

impl<T: Copy> Disjoint<T> {
    /// The thread's value.
    #[device_inline]
    #[track_caller]
    pub fn get(&self, own: &OwnIndex) -> T {
        // SAFETY: within the bounds, as `checked` ensures, and no other thread has this index.
        unsafe { memory::load(self.values, self.checked(own.get() as usize)) }
    }

    /// Replaces the thread's value.
    #[device_inline]
    #[track_caller]
    pub fn set(&mut self, own: &OwnIndex, value: T) {
        // SAFETY: within the bounds, as `checked` ensures, and no other thread has this index.
        unsafe { memory::store(self.values, self.checked(own.get() as usize), value) };
    }

    /// The thread's value, or `other` if the index is beyond the end: for arrays that a launch may leave empty.
    #[device_inline]
    #[track_caller]
    pub fn get_or(&self, own: &OwnIndex, other: T) -> T {
        let index = own.get() as usize;
        // SAFETY: within the bounds, and no other thread has this index.
        if index < self.len { unsafe { memory::load(self.values, index) } } else { other }
    }

    /// Replaces the thread's value unless the index is beyond the end.
    #[device_inline]
    #[track_caller]
    pub fn set_if_there(&mut self, own: &OwnIndex, value: T) {
        let index = own.get() as usize;
        if index < self.len {
            // SAFETY: within the bounds, and no other thread has this index.
            unsafe { memory::store(self.values, index, value) };
        }
    }

    /// The value at an index that is not the thread's own.
    ///
    /// # Safety
    /// No other thread writes it in this launch.
    #[device_inline]
    #[track_caller]
    pub unsafe fn get_at(&self, index: usize) -> T {
        // SAFETY: within the bounds, as `checked` ensures; the caller promises the rest.
        unsafe { memory::load(self.values, self.checked(index)) }
    }

    /// Replaces the value at an index that is not the thread's own.
    ///
    /// # Safety
    /// No other thread uses it in this launch.
    #[device_inline]
    #[track_caller]
    pub unsafe fn set_at(&mut self, index: usize, value: T) {
        // SAFETY: within the bounds, as `checked` ensures; the caller promises the rest.
        unsafe { memory::store(self.values, self.checked(index), value) };
    }

    /// Returns the index if it is below the length; otherwise ends the kernel.
    #[device_inline]
    #[track_caller]
    fn checked(&self, index: usize) -> usize {
        if index >= self.len {
            trap();
        }
        index
    }
}

/// Values that all threads of a launch change atomically.
pub struct Atomic<T> {
    values: *mut T,
    len: usize,
}

impl Atomic<u32> {
    /// Adds (wrapping) and returns the old value.
    #[device_inline]
    #[track_caller]
    pub fn add(&self, index: usize, value: u32) -> u32 {
        // SAFETY: within the bounds, as `at` ensures; whoever made the view vouches that all accesses are atomic.
        unsafe { atomic::add_u32(self.at(index), value) }
    }

    /// Stores the larger and returns the old value.
    #[device_inline]
    #[track_caller]
    pub fn max(&self, index: usize, value: u32) -> u32 {
        // SAFETY: as for `add`.
        unsafe { atomic::max_u32(self.at(index), value) }
    }
}

impl Atomic<u64> {
    /// Adds (wrapping) and returns the old value.
    #[device_inline]
    #[track_caller]
    pub fn add(&self, index: usize, value: u64) -> u64 {
        // SAFETY: as for words.
        unsafe { atomic::add_u64(self.at(index), value) }
    }
}

impl Atomic<f32> {
    /// Adds and returns the old value. The order of the additions is not fixed, and neither are the last bits of the sum.
    #[device_inline]
    #[track_caller]
    pub fn add(&self, index: usize, value: f32) -> f32 {
        // SAFETY: as for words.
        unsafe { atomic::add_f32(self.at(index), value) }
    }
}

impl<T> Atomic<T> {
    /// Returns the address of a value within the bounds; otherwise ends the kernel.
    #[device_inline]
    #[track_caller]
    fn at(&self, index: usize) -> *mut T {
        if index >= self.len {
            trap();
        }
        self.values.wrapping_add(index)
    }
}

macro_rules! view {
    ($($name:ident: $pointer:ident),+) => {$(
        impl<T: 'static> View for $name<T> {
            type Pointer = *$pointer T;

            #[device_inline]
            unsafe fn new(values: *$pointer T, len: usize) -> Self {
                Self { values, len }
            }

            #[device_inline]
            fn pointer(&self) -> *$pointer T {
                self.values
            }

            #[device_inline]
            fn len(&self) -> usize {
                self.len
            }
        }
    )+};
}

view!(Slice: const, Disjoint: mut, Atomic: mut);
