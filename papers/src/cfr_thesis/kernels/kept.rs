//! Where a thread keeps the numbers that it works on: in global memory, in shared memory as the paper does, or in registers.

use super::sequence::{ACTIONS, Phase};
use warpplay_gpu::cfr::regret::Real;
use warpplay_gpu::cuda::memory;
use warpplay_gpu::cuda::shared::{self, Shared};
use warpplay_gpu::cuda::thread;

/// Storage of a thread's rows; one kernel per choice.
pub mod home {
    /// Rows of the tables are copied to shared memory at the beginning and back at the end, and utilities are added up there.
    pub const SHARED: u32 = 0;
    /// Rows and utilities are used where they are, in global memory.
    pub const GLOBAL: u32 = 1;
    /// Rows are kept in registers, utilities are added up in shared memory.
    pub const REGISTERS: u32 = 2;
}

/// Values of a thread in shared memory: a row of the tables, and behind it the second phase's utilities or the first phase's other row.
pub const fn staged(n_players: u32) -> u32 {
    let behind = if n_players > ACTIONS as u32 { n_players } else { ACTIONS as u32 };
    ACTIONS as u32 + behind
}

/// This block's shared memory, `[value][thread]`: neighbouring threads are neighbouring words, so no two of a warp share a bank. Each thread has its own column, so
/// that no barrier is needed.
#[inline(always)]
#[track_caller]
pub fn column<T: Real, const HOME: u32>(phase: &Phase<T>) -> Option<Shared<T>> {
    (HOME != home::GLOBAL).then(|| shared::dynamic::<T>(0, staged(phase.n_players) * thread::block_dim_x()))
}

#[inline(always)]
fn offset(value: u32) -> u32 {
    value * thread::block_dim_x() + thread::thread_idx_x()
}

/// A row of a table, while a sequence is worked on; `HOME` is one of [`home`].
pub struct Row<T, const HOME: u32> {
    row: *mut T,
    /// This block's shared memory, and the row's first value in the thread's column.
    column: Option<(Shared<T>, u32)>,
    /// The values, where they are in registers.
    values: [T; ACTIONS],
}

impl<T: Real, const HOME: u32> Row<T, HOME> {
    /// Copies a row in; `first` is its offset in the thread's column.
    ///
    /// # Safety
    /// `row` points to [`ACTIONS`] values that are this thread's alone until the launch ends.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn open(column: Option<Shared<T>>, row: *mut T, first: u32) -> Self {
        let mut values = [T::ZERO; ACTIONS];
        let mut action = 0;
        while HOME != home::GLOBAL && action < ACTIONS {
            // SAFETY: the caller's promise.
            values[action] = unsafe { memory::load(row, action) };
            action += 1;
        }
        if HOME != home::SHARED {
            return Self { row, column: None, values };
        }
        if let Some(column) = column {
            action = 0;
            while action < ACTIONS {
                column.set(offset(first + action as u32), values[action]);
                action += 1;
            }
        }
        Self { row, column: column.map(|column| (column, first)), values }
    }

    /// A value.
    ///
    /// # Safety
    /// As [`open`](Self::open), and `action` is below [`ACTIONS`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get(&self, action: usize) -> T {
        match self.column {
            Some((column, first)) => column.get(offset(first + action as u32)),
            None if HOME == home::REGISTERS => self.values[action],
            // SAFETY: the caller's promise.
            None => unsafe { memory::load(self.row, action) },
        }
    }

    /// Sets a value.
    ///
    /// # Safety
    /// As [`get`](Self::get).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set(&mut self, action: usize, value: T) {
        match self.column {
            Some((column, first)) => column.set(offset(first + action as u32), value),
            None if HOME == home::REGISTERS => self.values[action] = value,
            // SAFETY: the caller's promise.
            None => unsafe { memory::store(self.row, action, value) },
        }
    }

    /// Copies the row back, where it was copied in.
    ///
    /// # Safety
    /// As [`open`](Self::open).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn close(self) {
        let mut action = 0;
        while HOME != home::GLOBAL && action < ACTIONS {
            // SAFETY: the caller's promise.
            unsafe { memory::store(self.row, action, self.get(action)) };
            action += 1;
        }
    }
}

/// The utilities of a sequence, while they are added up.
#[derive(Clone, Copy)]
pub enum Utilities<T> {
    /// In global memory.
    Global,
    /// In shared memory, behind the row of regrets.
    Shared(Shared<T>),
}

impl<T: Real> Utilities<T> {
    /// Begins with 0 for every seat.
    ///
    /// # Safety
    /// The sequence exists, and its utilities are this thread's alone until the launch ends.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn open(phase: &Phase<T>, column: Option<Shared<T>>, sequence: u32) -> Self {
        let made = match column {
            Some(column) => Self::Shared(column),
            None => Self::Global,
        };
        let mut seat = 0;
        while seat < phase.n_players {
            // SAFETY: the caller's promise.
            unsafe { made.set(phase, seat, sequence, T::ZERO) };
            seat += 1;
        }
        made
    }

    /// A seat's.
    ///
    /// # Safety
    /// As [`open`](Self::open), and the seat exists.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get(self, phase: &Phase<T>, seat: u32, sequence: u32) -> T {
        match self {
            Self::Shared(column) => column.get(offset(ACTIONS as u32 + seat)),
            // SAFETY: the caller's promise.
            Self::Global => unsafe { memory::load(phase.utilities, phase.offset(seat, sequence)) },
        }
    }

    /// Sets a seat's.
    ///
    /// # Safety
    /// As [`get`](Self::get).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set(self, phase: &Phase<T>, seat: u32, sequence: u32, value: T) {
        match self {
            Self::Shared(column) => column.set(offset(ACTIONS as u32 + seat), value),
            // SAFETY: the caller's promise.
            Self::Global => unsafe { memory::store(phase.utilities, phase.offset(seat, sequence), value) },
        }
    }

    /// Copies them to global memory, where they were kept elsewhere.
    ///
    /// # Safety
    /// As [`open`](Self::open).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn close(self, phase: &Phase<T>, sequence: u32) {
        let Self::Shared(_) = self else { return };
        let mut seat = 0;
        while seat < phase.n_players {
            // SAFETY: the caller's promise.
            unsafe {
                let value = self.get(phase, seat, sequence);
                memory::store(phase.utilities, phase.offset(seat, sequence), value);
            }
            seat += 1;
        }
    }
}
