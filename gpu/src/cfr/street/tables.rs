//! A seat's tables as a block uses them: regrets, averages and what is kept, with a value for every [`Cell`].

use super::layout::SeatTables;
use crate::cuda::memory;

/// The index of a value in a seat's tables.
#[derive(Clone, Copy)]
pub struct Cell(usize);

impl Cell {
    /// The cell of this number.
    ///
    /// # Safety
    /// The seat's tables have a value of this number, and of those [`behind`](Self::behind) it that are used, for a hand of the thread.
    #[device_inline]
    pub const unsafe fn new(number: usize) -> Self {
        Self(number)
    }

    /// As a number.
    #[device_inline]
    pub const fn number(self) -> usize {
        self.0
    }

    /// The same hand's value in a row some actions behind, `stride` values each.
    #[device_inline]
    pub const fn behind(self, action: u32, stride: usize) -> Self {
        Self(self.0 + action as usize * stride)
    }
}

/// A table of numbers with their scales; only [`Tables`] makes one.
#[derive(Clone, Copy)]
pub struct Table {
    cells: *mut u8,
    scales: *mut f32,
}

impl Table {
    /// The numbers, in the precision of storage.
    #[device_inline]
    pub const fn cells(self) -> *mut u8 {
        self.cells
    }

    /// The scale of each warp's worth of them, where the precision has scales.
    #[device_inline]
    pub const fn scales(self) -> *mut f32 {
        self.scales
    }
}

/// A seat's tables; only a block's view makes them.
#[derive(Clone, Copy)]
pub struct Tables(SeatTables);

impl Tables {
    /// The tables as a block uses them.
    ///
    /// # Safety
    /// They are there, those that may be null where they are asked for, with a value for every cell of the seat's, in the precision that the kernel reads and writes; a thread writes cells of
    /// its own hands alone, and no other thread uses those meanwhile; no thread writes what several read.
    #[device_inline]
    pub unsafe fn new(tables: SeatTables) -> Self {
        Self(tables)
    }

    /// Cumulative regrets.
    #[device_inline]
    pub const fn regrets(&self) -> Table {
        Table { cells: self.0.regrets, scales: self.0.regret_scales }
    }

    /// Last regrets, where the step predicts.
    #[device_inline]
    pub const fn last(&self) -> Table {
        Table { cells: self.0.last, scales: self.0.last_scales }
    }

    /// Sums of strategies.
    #[device_inline]
    pub const fn averages(&self) -> Table {
        Table { cells: self.0.averages, scales: self.0.average_scales }
    }

    /// A probability that a pass has kept, where one does.
    #[device_inline]
    #[track_caller]
    pub fn kept(&self, at: Cell) -> f32 {
        // SAFETY: as `new` says, there is a value for the cell, and no other thread writes it meanwhile.
        unsafe { memory::load_global(self.0.kept, at.number()) }
    }

    /// Keeps one.
    #[device_inline]
    #[track_caller]
    pub fn keep(&self, at: Cell, probability: f32) {
        // SAFETY: as `new` says, there is a value for the cell, and no other thread uses it meanwhile.
        unsafe { memory::store_global(self.0.kept, at.number(), probability) };
    }
}
