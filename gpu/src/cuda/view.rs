//! Views of global memory, with which a kernel is a safe function.
//!
//! | view | of what | launched with |
//! |---|---|---|
//! | [`Slice`] | values that all threads read and nobody writes | `&Buffer<T>` |
//! | [`Disjoint`] | values of which each thread has the one at its own index | `&mut Buffer<T>` |
//! | [`Atomic`] | values that all threads change, atomically | `&mut Buffer<T>` |
//! | [`Exclusive`] | values that nobody writes while another uses them | only within a structure |
//!
//! A kernel that declares its launch takes them instead of pointers: [`kernel`](macro@super::kernel) says how. Lengths are checked on the host when the kernel is launched; an index out of bounds
//! ends the kernel.
//!
//! An `unsafe` kernel gets views from its structure of pointers by one unsafe step, `task.views()` of [`DeviceArgs`](super::DeviceArgs): a [`Slice`] for each `*const T`, an [`Exclusive`]
//! for each `*mut T`. That step answers for what the launch cannot check, which thread uses which element; reads and writes behind it are safe.
//!
//! A [`Grid`] is a view by coordinates: `grid.get([row, column])` checks each of them against its own size. A kernel has these comparisons anyway, as guards and as ends of loops, so the compiler
//! drops the checks; it could not drop a comparison of `row * columns + column` with a length. [`Quads`] reads and writes four neighbours at once.

use bytemuck::Pod;

use super::memory::Vec4;
use super::shared::Shared;
use super::thread::OwnIndex;
use super::{atomic, memory, trap};

/// Reads a value; one of 16 aligned bytes by one instruction.
///
/// # Safety
/// As [`memory::load`].
#[inline(always)]
#[track_caller]
unsafe fn load<T: Copy>(values: *const T, index: usize) -> T {
    // SAFETY: the caller's promise; a value of another type has the bytes of a vector where it is as large.
    unsafe {
        if size_of::<T>() == 16 && align_of::<T>() == 16 {
            core::mem::transmute_copy(&memory::load_vec4(values.add(index).cast()))
        } else {
            memory::load(values, index)
        }
    }
}

/// Writes a value; one of 16 aligned bytes by one instruction.
///
/// # Safety
/// As [`memory::store`].
#[inline(always)]
#[track_caller]
unsafe fn store<T: Copy>(values: *mut T, index: usize, value: T) {
    // SAFETY: as in `load`.
    unsafe {
        if size_of::<T>() == 16 && align_of::<T>() == 16 {
            memory::store_vec4(values.add(index).cast(), core::mem::transmute_copy(&value));
        } else {
            memory::store(values, index, value);
        }
    }
}

/// A view of device memory as the parameter of a safe kernel: a pointer for the launch, and a length that the host has checked.
#[allow(clippy::len_without_is_empty, reason = "nobody asks for it")]
pub trait View: Sized {
    /// What crosses to the device.
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

/// Values that a thread reads, and that no other thread writes while the kernel runs.
pub struct Slice<T> {
    values: *const T,
    len: usize,
}

impl<T> Clone for Slice<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slice<T> {}

impl<T: Copy> Slice<T> {
    /// The view of `len` values.
    ///
    /// # Safety
    /// They are there and initialised while the kernel runs, and no other thread writes what this one reads of them.
    #[inline(always)]
    pub unsafe fn of(values: *const T, len: usize) -> Self {
        Self { values, len }
    }

    /// The value at `index`.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, index: usize) -> T {
        if index >= self.len {
            trap();
        }
        // SAFETY: whoever made the view vouches for `len` values that no other thread writes.
        unsafe { load(self.values, index) }
    }

    /// The value at `index` without looking at the length, for inner loops where the compiler cannot drop the check (`simt` still looks at the whole).
    ///
    /// # Safety
    /// `index` is below the length.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get_unchecked(self, index: usize) -> T {
        // SAFETY: the caller vouches for the index; the rest as in `get`.
        unsafe { load(self.values, index) }
    }
}

/// Values that no thread writes while another uses them: what one thread writes, another reads or writes only behind a barrier that both pass, or in a later launch.
///
/// Copies name the same memory, as those of [`Shared`](super::shared::Shared) do. Whoever makes the view answers for the kernel's partition, which says who writes which element.
pub struct Exclusive<T> {
    values: *mut T,
    len: usize,
}

impl<T> Clone for Exclusive<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Exclusive<T> {}

impl<T: Copy> Exclusive<T> {
    /// The view of `len` values.
    ///
    /// # Safety
    /// They are there and initialised while the kernel runs, and no thread writes one while another uses it.
    #[inline(always)]
    pub unsafe fn of(values: *mut T, len: usize) -> Self {
        Self { values, len }
    }

    /// The value at `index`.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, index: usize) -> T {
        // SAFETY: within the bounds, as `checked` says; whoever made the view vouches that no other thread uses the value now.
        unsafe { load(self.values, self.checked(index)) }
    }

    /// Replaces it.
    #[inline(always)]
    #[track_caller]
    pub fn set(self, index: usize, value: T) {
        // SAFETY: as for `get`.
        unsafe { store(self.values, self.checked(index), value) };
    }

    /// Replaces the value at `index` without looking at the length (`simt` still looks at the whole).
    ///
    /// # Safety
    /// `index` is below the length.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set_unchecked(self, index: usize, value: T) {
        // SAFETY: the caller vouches for the index; the rest as in `set`.
        unsafe { store(self.values, index, value) };
    }

    /// The index, if it is below the length; else the kernel ends.
    #[inline(always)]
    #[track_caller]
    fn checked(self, index: usize) -> usize {
        if index >= self.len {
            trap();
        }
        index
    }
}

/// A view whose values are read by index.
pub trait Reads: Copy {
    /// A value.
    type Item: Copy;

    /// Number of values.
    fn n_values(self) -> usize;
    /// The first value.
    fn first(self) -> *const Self::Item;

    /// The value at `index`.
    #[inline(always)]
    #[track_caller]
    fn read(self, index: usize) -> Self::Item {
        if index >= self.n_values() {
            trap();
        }
        // SAFETY: below the length, as just seen.
        unsafe { self.read_unchecked(index) }
    }

    /// The value at `index` without looking at the length (`simt` still looks at the whole).
    ///
    /// # Safety
    /// `index` is below the length.
    #[inline(always)]
    #[track_caller]
    unsafe fn read_unchecked(self, index: usize) -> Self::Item {
        // SAFETY: the caller vouches for the index; nobody else writes the value now, as whoever made the view vouches.
        unsafe { load(self.first(), index) }
    }
}

impl<T: Copy> Reads for Slice<T> {
    type Item = T;

    #[inline(always)]
    fn n_values(self) -> usize {
        self.len
    }

    #[inline(always)]
    fn first(self) -> *const T {
        self.values
    }
}

impl<T: Copy> Reads for Exclusive<T> {
    type Item = T;

    #[inline(always)]
    fn n_values(self) -> usize {
        self.len
    }

    #[inline(always)]
    fn first(self) -> *const T {
        self.values
    }
}

/// Writes a block once for each axis: an array that is indexed by constants alone is seen through by the compiler from the start.
macro_rules! each {
    ($axis:ident in [$($number:literal)*] $body:block) => {$({
        const $axis: usize = $number;
        $body
    })*};
}

/// A view by up to four coordinates, the last one fastest: `size[0]` rows of `size[1]` columns, and so on for more dimensions.
#[derive(Clone, Copy)]
pub struct Grid<V, const D: usize> {
    values: V,
    size: [u32; D],
}

macro_rules! parts {
    ($($view:ident),+) => {$(
        impl<T: Copy> $view<T> {
            /// `len` of the values from `first` on. The kernel ends where there are fewer.
            #[inline(always)]
            #[track_caller]
            pub fn part(self, first: usize, len: usize) -> Self {
                if first.saturating_add(len) > self.len {
                    trap();
                }
                Self { values: self.values.wrapping_add(first), len }
            }

            /// The same memory as larger values. The kernel ends where it is not aligned for them.
            #[inline(always)]
            #[track_caller]
            pub fn widened<U: Pod>(self) -> $view<U>
            where
                T: Pod,
            {
                const { assert!(size_of::<U>().is_multiple_of(size_of::<T>())) };
                if !(self.values as usize).is_multiple_of(align_of::<U>()) {
                    trap();
                }
                $view { values: self.values.cast(), len: self.len / (size_of::<U>() / size_of::<T>()) }
            }

            /// The values by coordinates. The kernel ends where there are fewer than the sizes say.
            #[inline(always)]
            #[track_caller]
            pub fn grid<const D: usize>(self, size: [u32; D]) -> Grid<Self, D> {
                let mut n = 1usize;
                each!(AXIS in [0 1 2 3] {
                    if AXIS < D {
                        // A length that a launch has checked is computed in the same way, and the comparison of the two goes.
                        n = n.saturating_mul(size[AXIS] as usize);
                    }
                });
                if n > self.len {
                    trap();
                }
                Grid { values: self, size }
            }
        }
    )+};
}

parts!(Slice, Exclusive);

impl<T: Word> Slice<T> {
    /// Starts to copy four values from `index` on to `to[to_index]` (`cp.async`), without looking at the bounds (`simt` still does).
    ///
    /// # Safety
    /// All four are below the length, and the first is aligned to 16 bytes; `to_index` is below the length of `to`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn copy_async_unchecked(self, index: usize, to: Shared<Vec4>, to_index: u32) {
        // SAFETY: the caller vouches for both ends.
        unsafe { memory::copy_async_unchecked(to, to_index, self.values.add(index).cast::<Vec4>()) };
    }
}

impl<V: Reads, const D: usize> Grid<V, D> {
    /// The view by coordinates of these sizes.
    ///
    /// # Safety
    /// The view has as many values as the product of the sizes, or more.
    #[inline(always)]
    pub unsafe fn of(values: V, size: [u32; D]) -> Self {
        Self { values, size }
    }

    /// The sizes.
    #[inline(always)]
    pub fn size(&self) -> [u32; D] {
        self.size
    }

    /// The same, whose last size is known to be `last`. The kernel ends where it is another.
    #[inline(always)]
    #[track_caller]
    pub fn with_last(mut self, last: u32) -> Self {
        if self.size[D - 1] != last {
            trap();
        }
        self.size[D - 1] = last;
        self
    }

    /// The value at these coordinates.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, at: [u32; D]) -> V::Item {
        // SAFETY: the index is one of the view's values, which nobody else writes now, as whoever made the view vouches.
        unsafe { load(self.values.first(), self.index(at)) }
    }

    /// The value at these coordinates without looking at them, for inner loops where the compiler cannot drop the checks (`simt` still looks at the whole).
    ///
    /// # Safety
    /// Each coordinate is below its size.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get_unchecked(&self, at: [u32; D]) -> V::Item {
        // SAFETY: the caller vouches for the coordinates; the rest as in `get`.
        unsafe { load(self.values.first(), self.index_unchecked(at)) }
    }

    /// The values by fours. The kernel ends where they are not aligned to 16 bytes, or the last size is no multiple of 4.
    #[inline(always)]
    #[track_caller]
    pub fn quads(self) -> Quads<V, D>
    where
        V::Item: Word,
    {
        if D == 0 || !self.size[D - 1].is_multiple_of(4) || !(self.values.first() as usize).is_multiple_of(16) {
            trap();
        }
        Quads(self)
    }

    /// The index of a value; the kernel ends where a coordinate is not below its size.
    #[inline(always)]
    #[track_caller]
    fn index(&self, at: [u32; D]) -> usize {
        each!(AXIS in [0 1 2 3] {
            if AXIS < D && at[AXIS] >= self.size[AXIS] {
                trap();
            }
        });
        self.index_unchecked(at)
    }

    #[inline(always)]
    fn index_unchecked(&self, at: [u32; D]) -> usize {
        let mut index = 0usize;
        each!(AXIS in [0 1 2 3] {
            if AXIS < D {
                index = index * self.size[AXIS] as usize + at[AXIS] as usize;
            }
        });
        index
    }
}

impl<V: Reads> Grid<V, 1> {
    /// The first `n` values. The kernel ends where there are fewer.
    #[inline(always)]
    #[track_caller]
    pub fn first(self, n: u32) -> Self {
        if n > self.size[0] {
            trap();
        }
        Self { values: self.values, size: [n] }
    }
}

impl<V: Reads> Grid<V, 3> {
    /// The same with the last two dimensions as one.
    #[inline(always)]
    pub fn joined(self) -> Grid<V, 2> {
        let [n, rows, columns] = self.size;
        // A product that wraps is smaller than the true one.
        Grid { values: self.values, size: [n, rows.wrapping_mul(columns)] }
    }
}

impl<T: Copy, const D: usize> Grid<Exclusive<T>, D> {
    /// Replaces the value at these coordinates.
    #[inline(always)]
    #[track_caller]
    pub fn set(&self, at: [u32; D], value: T) {
        // SAFETY: the index is one of the view's values, which no other thread uses now, as whoever made the view vouches.
        unsafe { store(self.values.values, self.index(at), value) };
    }
}

/// The view of an array that may be null.
///
/// It is no `Option`, of which the compiler would have to follow two ways up to where the view is used; here sizes are there in any case.
#[derive(Clone, Copy)]
pub struct Nullable<V> {
    is_there: bool,
    view: V,
}

impl<V: Copy> Nullable<V> {
    /// The view, if it is there.
    ///
    /// # Safety
    /// Where `is_there`, the view keeps its promises.
    #[inline(always)]
    pub unsafe fn of(is_there: bool, view: V) -> Self {
        Self { is_there, view }
    }

    /// The view, if the array is not null.
    #[inline(always)]
    pub fn get(self) -> Option<V> {
        self.is_there.then_some(self.view)
    }
}

impl<V: Reads, const D: usize> Nullable<Quads<V, D>> {
    /// The view, without a value where the array is null.
    #[inline(always)]
    pub fn or_empty(self) -> Quads<V, D> {
        let Grid { values, mut size } = self.view.0;
        size[0] = if self.is_there { size[0] } else { 0 };
        Quads(Grid { values, size })
    }
}

macro_rules! nullable {
    ($($view:ident),+) => {$(
        impl<T: Copy, const D: usize> Nullable<Grid<$view<T>, D>> {
            /// As [`Grid::with_last`].
            #[inline(always)]
            #[track_caller]
            pub fn with_last(self, last: u32) -> Self {
                Self { view: self.view.with_last(last), ..self }
            }

            /// As [`Grid::quads`].
            #[inline(always)]
            #[track_caller]
            pub fn quads(self) -> Nullable<Quads<$view<T>, D>>
            where
                T: Word,
            {
                Nullable { view: self.view.quads(), is_there: self.is_there }
            }

        }

        impl<T: Word, const D: usize> Nullable<Quads<$view<T>, D>> {
            /// As [`Quads::grouped`].
            #[inline(always)]
            pub fn grouped<U: Pod>(self) -> Nullable<Grid<$view<U>, D>> {
                Nullable { view: self.view.grouped(), is_there: self.is_there }
            }
        }

        impl<T: Word, const D: usize> Quads<$view<T>, D> {
            /// The same memory as values of two words or four.
            #[inline(always)]
            pub fn grouped<U: Pod>(self) -> Grid<$view<U>, D> {
                const { assert!((size_of::<U>() == 8 || size_of::<U>() == 16) && align_of::<U>() <= 16) };
                let neighbours = size_of::<U>() / 4;
                let Grid { values, mut size } = self.0;
                size[D - 1] /= neighbours as u32;
                let values = $view { values: values.values.cast(), len: values.len / neighbours };
                Grid { values, size }
            }
        }
    )+};
}

nullable!(Slice, Exclusive);

/// A value of four bytes.
pub trait Word: Pod {
    /// Its bits.
    fn bits(self) -> u32;
    /// The value of these bits.
    fn of_bits(bits: u32) -> Self;
}

impl Word for f32 {
    #[inline(always)]
    fn bits(self) -> u32 {
        self.to_bits()
    }

    #[inline(always)]
    fn of_bits(bits: u32) -> Self {
        Self::from_bits(bits)
    }
}

impl Word for u32 {
    #[inline(always)]
    fn bits(self) -> u32 {
        self
    }

    #[inline(always)]
    fn of_bits(bits: u32) -> Self {
        bits
    }
}

/// A [`Grid`] of aligned lines of whole quads: four neighbours of the last dimension, moved by one instruction.
#[derive(Clone, Copy)]
pub struct Quads<V, const D: usize>(Grid<V, D>);

impl<V: Reads, const D: usize> Quads<V, D> {
    /// The grid by fours.
    ///
    /// # Safety
    /// Its first value is aligned to 16 bytes, and its last size a multiple of 4.
    #[inline(always)]
    pub unsafe fn of(grid: Grid<V, D>) -> Self {
        Self(grid)
    }

    /// The sizes.
    #[inline(always)]
    pub fn size(&self) -> [u32; D] {
        self.0.size
    }
}

impl<V: Reads<Item: Word>, const D: usize> Quads<V, D> {
    /// The four values from these coordinates on, the last a multiple of 4; else the quad that this one is in.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, at: [u32; D]) -> [V::Item; 4] {
        // SAFETY: a quad of the view's values, which nobody else writes now, as whoever made the view vouches; `quads` has seen that it is aligned.
        unsafe { memory::load_vec4(self.0.values.first().add(self.index(at)).cast::<Vec4>()) }.0.map(V::Item::of_bits)
    }

    /// The same without looking at the coordinates, for inner loops where the compiler cannot drop the checks (`simt` still looks at the whole).
    ///
    /// # Safety
    /// Each coordinate is below its size, the last a multiple of 4.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get_unchecked(&self, at: [u32; D]) -> [V::Item; 4] {
        // SAFETY: the caller vouches for the coordinates; the rest as in `get`.
        unsafe { memory::load_vec4(self.0.values.first().add(self.0.index_unchecked(at)).cast::<Vec4>()) }
            .0
            .map(V::Item::of_bits)
    }

    /// Starts to copy the four values to `to[index]` (`cp.async`); they are there after [`async_wait_all`](memory::async_wait_all) and a barrier.
    #[inline(always)]
    #[track_caller]
    pub fn copy_async(&self, at: [u32; D], to: Shared<Vec4>, index: u32) {
        if index >= to.len() {
            trap();
        }
        // SAFETY: `index` is below the length; the source as in `get`.
        unsafe {
            let from = self.0.values.first().add(self.index(at)).cast::<Vec4>();
            memory::copy_async_unchecked(to, index, from);
        }
    }

    /// The same without looking at the bounds (`simt` still does).
    ///
    /// # Safety
    /// Each coordinate is below its size, the last a multiple of 4; `index` is below the length.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn copy_async_unchecked(&self, at: [u32; D], to: Shared<Vec4>, index: u32) {
        // SAFETY: the caller vouches for coordinates and index.
        unsafe {
            let from = self.0.values.first().add(self.0.index_unchecked(at)).cast::<Vec4>();
            memory::copy_async_unchecked(to, index, from);
        }
    }

    /// The index of a quad's first value. The last size is a multiple of 4, so the other three are below it too.
    #[inline(always)]
    #[track_caller]
    fn index(&self, mut at: [u32; D]) -> usize {
        at[D - 1] &= !3;
        self.0.index(at)
    }
}

impl<V: Reads, const D: usize> Quads<V, D> {
    /// The values one by one.
    #[inline(always)]
    pub fn single(self) -> Grid<V, D> {
        self.0
    }
}

impl<V: Reads> Quads<V, 2> {
    /// The same of the first `n` lines, or of all where there are fewer.
    #[inline(always)]
    pub fn first(self, n: u32) -> Self {
        let Grid { values, size: [lines, columns] } = self.0;
        Self(Grid { values, size: [if n < lines { n } else { lines }, columns] })
    }
}

impl<T: Copy> Quads<Slice<T>, 2> {
    /// The last line.
    #[inline(always)]
    pub fn last_line(self) -> Quads<Slice<T>, 1> {
        let Grid { values, size: [lines, columns] } = self.0;
        let first = lines.wrapping_sub(1) as usize * columns as usize;
        let (values, size) = (values.values.wrapping_add(first), if lines > 0 { columns } else { 0 });
        Quads(Grid { values: Slice { values, len: size as usize }, size: [size] })
    }
}

impl<const D: usize> Quads<Slice<u8>, D> {
    /// Starts to copy 16 bytes from these coordinates on to `to[index]` (`cp.async`), without looking at the bounds (`simt` still does).
    ///
    /// # Safety
    /// Each coordinate is below its size, the last a multiple of 16, and lines are of whole vectors; `index` is below the length.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn copy_vector_unchecked(&self, at: [u32; D], to: Shared<Vec4>, index: u32) {
        // SAFETY: the caller vouches for coordinates and index; the first line is aligned, and so are all.
        unsafe {
            let from = self.0.values.values.add(self.0.index_unchecked(at)).cast::<Vec4>();
            memory::copy_async_unchecked(to, index, from);
        }
    }

    /// Four bytes as a word, from these coordinates on, the last a multiple of 4; else the four that this one is in.
    #[inline(always)]
    #[track_caller]
    pub fn get_word(&self, mut at: [u32; D]) -> u32 {
        at[D - 1] &= !3;
        // SAFETY: four of the view's bytes, aligned, which no other thread writes, as whoever made it vouches.
        unsafe { memory::load(self.0.values.values.add(self.0.index(at)).cast::<u32>(), 0) }
    }
}

impl<T: Word, const D: usize> Quads<Exclusive<T>, D> {
    /// Replaces the four values from these coordinates on, the last a multiple of 4; else the quad that this one is in.
    #[inline(always)]
    #[track_caller]
    pub fn set(&self, at: [u32; D], quad: [T; 4]) {
        // SAFETY: a quad of the view's values, which no other thread uses now, as whoever made the view vouches; `quads` has seen that it is aligned.
        unsafe { memory::store_vec4(self.0.values.values.add(self.index(at)).cast::<Vec4>(), Vec4(quad.map(T::bits))) };
    }
}

/// Values of which each thread has the one at its own index, to read and to write.
pub struct Disjoint<T> {
    values: *mut T,
    len: usize,
}

impl<T: Copy> Disjoint<T> {
    /// The thread's value.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, own: &OwnIndex) -> T {
        // SAFETY: within the bounds, as `checked` says, and no other thread has this index.
        unsafe { load(self.values, self.checked(own.get() as usize)) }
    }

    /// Replaces it.
    #[inline(always)]
    #[track_caller]
    pub fn set(&mut self, own: &OwnIndex, value: T) {
        // SAFETY: within the bounds, as `checked` says, and no other thread has this index.
        unsafe { store(self.values, self.checked(own.get() as usize), value) };
    }

    /// The value at an index that is not the thread's own.
    ///
    /// # Safety
    /// No other thread writes it in this launch.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get_at(&self, index: usize) -> T {
        // SAFETY: within the bounds, as `checked` says; the rest is the caller's promise.
        unsafe { load(self.values, self.checked(index)) }
    }

    /// Replaces the value at an index that is not the thread's own.
    ///
    /// # Safety
    /// No other thread uses it in this launch.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set_at(&mut self, index: usize, value: T) {
        // SAFETY: within the bounds, as `checked` says; the rest is the caller's promise.
        unsafe { store(self.values, self.checked(index), value) };
    }

    /// The index, if it is below the length; else the kernel ends.
    #[inline(always)]
    #[track_caller]
    fn checked(&self, index: usize) -> usize {
        if index >= self.len {
            trap();
        }
        index
    }
}

/// Values that all threads of a launch change, each time as one indivisible step.
pub struct Atomic<T> {
    values: *mut T,
    len: usize,
}

impl<T> Clone for Atomic<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Atomic<T> {}

impl<T: Copy> Atomic<T> {
    /// The view of `len` values.
    ///
    /// # Safety
    /// They are there and initialised while the kernel runs, and nobody uses them otherwise than atomically.
    #[inline(always)]
    pub unsafe fn of(values: *mut T, len: usize) -> Self {
        Self { values, len }
    }

    /// `len` of the values from `first` on. The kernel ends where there are fewer.
    #[inline(always)]
    #[track_caller]
    pub fn part(self, first: usize, len: usize) -> Self {
        if first.saturating_add(len) > self.len {
            trap();
        }
        Self { values: self.values.wrapping_add(first), len }
    }
}

impl Atomic<u32> {
    /// Adds (wrapping) and returns what was there.
    #[inline(always)]
    #[track_caller]
    pub fn add(&self, index: usize, value: u32) -> u32 {
        // SAFETY: within the bounds, as `at` says; whoever made the view vouches that it is accessed atomically alone.
        unsafe { atomic::add_u32(self.at(index), value) }
    }

    /// What is there now.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, index: usize) -> u32 {
        // SAFETY: as for `add`.
        unsafe { atomic::load_u32(self.at(index)) }
    }

    /// Stores the larger and returns what was there.
    #[inline(always)]
    #[track_caller]
    pub fn max(&self, index: usize, value: u32) -> u32 {
        // SAFETY: as for `add`.
        unsafe { atomic::max_u32(self.at(index), value) }
    }
}

impl Atomic<f32> {
    /// Adds and returns what was there. The order in which threads add is any, and so are the last bits of the sum.
    #[inline(always)]
    #[track_caller]
    pub fn add(&self, index: usize, value: f32) -> f32 {
        // SAFETY: as for words.
        unsafe { atomic::add_f32(self.at(index), value) }
    }
}

impl<T> Atomic<T> {
    /// The address of a value that is there; else the kernel ends.
    #[inline(always)]
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
        impl<T: Copy + 'static> View for $name<T> {
            type Pointer = *$pointer T;

            #[inline(always)]
            unsafe fn new(values: *$pointer T, len: usize) -> Self {
                Self { values, len }
            }

            #[inline(always)]
            fn pointer(&self) -> *$pointer T {
                self.values
            }

            #[inline(always)]
            fn len(&self) -> usize {
                self.len
            }
        }
    )+};
}

view!(Slice: const, Disjoint: mut, Atomic: mut);
