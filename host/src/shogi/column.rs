//! Columns of data that are either owned or lie in a mapped file.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::Result;
use crate::runtime::mapped::Mapping;

/// The type of a column's cells: plain numbers, for which every bit pattern is valid.
pub trait Cell: sealed::Cell {}

mod sealed {
    pub trait Cell: Copy + Send + Sync + 'static {
        /// The bytes as cells; `None` if they are not aligned or not a whole number of cells.
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

/// A read-only column of a [`Shard`](super::Shard): a slice that owns its memory or borrows it from a mapped file, which stays mapped as long as a column of it lives.
/// Cloning a mapped column copies nothing.
///
/// Dereferencing costs a few instructions more than for a vector, so inner loops should take the slice once, before they begin.
#[derive(Clone)]
pub struct Column<T> {
    memory: Memory<T>,
    /// Cached result of [`largest_step`](Self::largest_step), cleared when the cells may change.
    largest_step: OnceLock<u32>,
}

#[derive(Clone)]
enum Memory<T> {
    Owned(Vec<T>),
    Mapped(Arc<Mapping>, Range<usize>),
}

impl<T> Column<T> {
    const fn new(memory: Memory<T>) -> Self {
        Self { memory, largest_step: OnceLock::new() }
    }
}

impl<T: Cell> Column<T> {
    /// The bytes `range` of a mapped file; `None` if the file has no such bytes, or they are not valid cells.
    pub(super) fn mapped(mapping: &Arc<Mapping>, range: Range<usize>) -> Option<Self> {
        mapping.get(range.clone()).and_then(T::cells)?;
        Some(Self::new(Memory::Mapped(Arc::clone(mapping), range)))
    }

    /// Checks that the mapped file is still complete.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) for a file that was truncated since it was opened.
    pub(super) fn expect_whole(&self) -> Result<()> {
        match &self.memory {
            Memory::Owned(_) => Ok(()),
            Memory::Mapped(mapping, _) => mapping.expect_whole(),
        }
    }

    /// The column's bytes, in this machine's byte order.
    pub(super) fn as_bytes(&self) -> &[u8] {
        T::bytes(self)
    }
}

impl<T: Cell> Column<T> {
    /// The cells as a vector that can grow; a mapped column is copied into memory first.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        self.largest_step = OnceLock::new();
        if matches!(self.memory, Memory::Mapped(..)) {
            self.memory = Memory::Owned(self.to_vec());
        }
        match &mut self.memory {
            Memory::Owned(cells) => cells,
            Memory::Mapped(..) => unreachable!("a mapped column has just become an owned one"),
        }
    }

    /// Adds a cell.
    pub fn push(&mut self, cell: T) {
        self.to_mut().push(cell);
    }
}

impl Column<u32> {
    /// The largest difference between a cell and the previous one: in a column of first indices, the largest number of elements of a row. It is computed once, and again
    /// after changes.
    pub(super) fn largest_step(&self) -> u32 {
        if let Some(&known) = self.largest_step.get() {
            return known;
        }
        // Not within the lock: a thread that waits for parallel work may be given some that asks the same.
        let found = self.par_windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap_or(0);
        *self.largest_step.get_or_init(|| found)
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
        match &self.memory {
            Memory::Owned(cells) => cells,
            // That there are such cells was checked when the column was made, and a mapping never moves or shrinks.
            Memory::Mapped(mapping, range) => mapping.get(range.clone()).and_then(T::cells).unwrap_or_default(),
        }
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self::new(Memory::Owned(Vec::new()))
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(cells: Vec<T>) -> Self {
        Self::new(Memory::Owned(cells))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_step_is_that_of_the_present_cells() {
        let mut column = Column::from(vec![0u32, 2, 7, 6]);
        assert_eq!(column.largest_step(), 5);
        assert_eq!(column.clone().largest_step(), 5);
        column.push(15);
        assert_eq!(column.largest_step(), 9);
        column.extend([30]);
        assert_eq!(column.largest_step(), 15);
        column.to_mut().truncate(2);
        assert_eq!(column.largest_step(), 2);
        assert_eq!(Column::from(vec![7u32]).largest_step(), 0);
        assert_eq!(Column::<u32>::default().largest_step(), 0);
    }
}
