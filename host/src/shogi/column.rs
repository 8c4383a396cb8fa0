//! Columns of data that are either owned or lie in a mapped file.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use super::mapped::Mapping;
use crate::Result;

/// What a column can hold: plain numbers, which every pattern of bits is a value of.
pub trait Cell: sealed::Cell {}

mod sealed {
    pub trait Cell: Copy + Send + Sync + 'static {
        /// The bytes as cells; `None` where they are not aligned or no whole number of cells.
        fn cells(bytes: &[u8]) -> Option<&[Self]>;
        /// The cells as bytes.
        fn bytes(cells: &[Self]) -> &[u8];
    }
}

macro_rules! cells {
    ($($name:ty),*) => {$(
        impl Cell for $name {}
        impl sealed::Cell for $name {
            fn cells(bytes: &[u8]) -> Option<&[Self]> {
                bytemuck::try_cast_slice(bytes).ok()
            }

            fn bytes(cells: &[Self]) -> &[u8] {
                bytemuck::cast_slice(cells)
            }
        }
    )*};
}

cells!(u8, u16, u32, u64);

impl Cell for [u16; 40] {}
impl sealed::Cell for [u16; 40] {
    fn cells(bytes: &[u8]) -> Option<&[Self]> {
        let (cells, rest) = u16::cells(bytes)?.as_chunks();
        rest.is_empty().then_some(cells)
    }

    fn bytes(cells: &[Self]) -> &[u8] {
        bytemuck::cast_slice(cells.as_flattened())
    }
}

/// A read-only column of a [`Shard`](super::Shard): a slice that owns its memory or borrows it from a mapped file, which stays mapped for as long as a column
/// of it lives. Cloning a mapped column copies nothing.
///
/// A reference costs a few instructions more than one to a vector's slice: inner loops take the slice once, before they begin.
#[derive(Clone)]
pub struct Column<T>(Memory<T>);

#[derive(Clone)]
enum Memory<T> {
    Owned(Vec<T>),
    Mapped(Arc<Mapping>, Range<usize>),
}

impl<T: Cell> Column<T> {
    /// The bytes `range` of a mapped file; `None` where the file has no such bytes, or they are no cells.
    pub(super) fn mapped(mapping: &Arc<Mapping>, range: Range<usize>) -> Option<Self> {
        mapping.get(range.clone()).and_then(T::cells)?;
        Some(Self(Memory::Mapped(Arc::clone(mapping), range)))
    }

    /// Makes sure that the file that it lies in is still whole.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) for one that was cut short since it was opened.
    pub(super) fn expect_whole(&self) -> Result<()> {
        match &self.0 {
            Memory::Owned(_) => Ok(()),
            Memory::Mapped(mapping, _) => mapping.expect_whole(),
        }
    }

    /// The column's bytes, in the order of this machine.
    pub(super) fn as_bytes(&self) -> &[u8] {
        T::bytes(self)
    }
}

impl<T: Cell> Column<T> {
    /// The cells as a vector that can grow; a mapped column is copied into memory first.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if matches!(self.0, Memory::Mapped(..)) {
            self.0 = Memory::Owned(self.to_vec());
        }
        match &mut self.0 {
            Memory::Owned(cells) => cells,
            Memory::Mapped(..) => unreachable!("a mapped column has just become an owned one"),
        }
    }

    /// Adds a cell.
    pub fn push(&mut self, cell: T) {
        self.to_mut().push(cell);
    }
}

impl<T: Cell> Extend<T> for Column<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, cells: I) {
        self.to_mut().extend(cells);
    }
}

impl<T: Cell> Deref for Column<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Memory::Owned(cells) => cells,
            // That there are such cells was checked when the column was made, and a mapping never moves or shrinks.
            Memory::Mapped(mapping, range) => mapping.get(range.clone()).and_then(T::cells).unwrap_or_default(),
        }
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self(Memory::Owned(Vec::new()))
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(cells: Vec<T>) -> Self {
        Self(Memory::Owned(cells))
    }
}

impl<T: Cell> From<&[T]> for Column<T> {
    fn from(cells: &[T]) -> Self {
        cells.to_vec().into()
    }
}

impl<T> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(cells: I) -> Self {
        cells.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: Cell + fmt::Debug> fmt::Debug for Column<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(formatter)
    }
}

impl<T: Cell + PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        self.deref() == other.deref()
    }
}

impl<T: Cell + Eq> Eq for Column<T> {}
