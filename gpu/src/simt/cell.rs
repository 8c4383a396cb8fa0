//! What is remembered of each word of memory, and which touches of it race.
//!
//! Each aligned 4-byte word has a cell that remembers who wrote it and who read it last; when a thread touches only part of a word, that word gets one cell a byte instead.
//! What orders two touches is the business of the memory: [`shared`](super::shared) and [`global`](super::global) memory say it by [`Present::races`].
//!
//! Every access of shared memory comes here, so that the small functions are inlined across the parts of the crate.
//!
//! The idea is that of vector-clock race detectors (Flanagan and Freund, *FastTrack*, 2009). A cell keeps two unordered readers and two unordered atomic updaters, from different
//! warps if there are such: enough to find every race, except among three or more lanes of one warp that are synchronised by partial masks.

use super::report::Access;

/// Bits of a thread's index in its block.
const THREAD_BITS: u32 = 10;
/// Marks a touch as atomic.
const ATOMIC: u32 = 1 << 31;
/// Marks a touch as a read.
const READ: u32 = 1 << 30;

/// A thread of a group of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Toucher {
    /// Block within the group.
    pub(super) block: u32,
    /// Thread within the block.
    pub(super) thread: u32,
}

/// The thread that accessed memory, and the kind of access, in one word.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Who(u32);

impl Who {
    /// The mark of a word that has a cell for each byte; it denotes no thread.
    pub(super) const SPLIT: Self = Self(u32::MAX);

    #[inline]
    pub(super) fn new(thread: Toucher, access: Access) -> Self {
        let mark = match access {
            Access::Read => READ,
            Access::Write => 0,
            Access::Update => ATOMIC,
        };
        Self(thread.block << THREAD_BITS | thread.thread | mark)
    }

    #[inline]
    pub(super) fn thread(self) -> Toucher {
        let who = self.0 & !(ATOMIC | READ);
        Toucher { block: who >> THREAD_BITS, thread: who & ((1 << THREAD_BITS) - 1) }
    }

    #[inline]
    pub(super) fn access(self) -> Access {
        match self.0 & (ATOMIC | READ) {
            ATOMIC => Access::Update,
            READ => Access::Read,
            _ => Access::Write,
        }
    }
}

/// One remembered access.
pub(super) trait Touch: Copy + Default {
    /// The thread of the access.
    fn who(self) -> Who;
    /// Whether both belong to one warp.
    #[inline]
    fn same_warp(self, other: Self) -> bool {
        let (one, other) = (self.who().thread(), other.who().thread());
        one.block == other.block && one.thread / 32 == other.thread / 32
    }
    /// The mark of a word that has a cell for each byte, which are at `index`.
    fn split(index: u32) -> Self;
    /// The index, if it is such a mark.
    fn split_index(self) -> Option<u32>;
}

/// The accessing thread, with the data needed to order it after others.
pub(super) trait Present {
    type Touch: Touch;
    /// The access as it will be remembered.
    fn touch(&self) -> Self::Touch;
    /// Whether `touch` is unordered with the present access.
    fn races(&self, touch: Self::Touch) -> bool;
    /// Result of the checks before race detection; `Some` if race detection is skipped.
    fn before(&self, _cell: &mut Cell<Self::Touch>, _access: Access) -> Option<Result<(), Problem<Self::Touch>>> {
        None
    }
}

/// An error of an access.
pub(super) enum Problem<T> {
    /// The value read was never written.
    Unwritten,
    /// It is unordered with this access.
    Race(T),
}

/// The remembered accesses of a word or byte.
#[derive(Clone, Copy, Default)]
pub(super) struct Cell<T> {
    pub(super) write: T,
    /// A further atomic update, unordered with `write`.
    update: T,
    read: T,
    /// A further read, unordered with `read`.
    read_too: T,
}

/// Remembers the present access in one of two slots.
#[inline]
fn remember<P: Present>(present: &P, first: &mut P::Touch, second: &mut P::Touch) {
    let touch = present.touch();
    if !present.races(*first) {
        *first = touch;
    } else if !present.races(*second) || (first.same_warp(*second) && !touch.same_warp(*first)) {
        // Where both remembered touches are of one warp, one of them stays and one of the other warp.
        *second = touch;
    }
}

impl<T: Touch> Cell<T> {
    /// Checks one access and remembers it.
    #[inline]
    fn access<P: Present<Touch = T>>(&mut self, present: &P, access: Access) -> Result<(), Problem<T>> {
        if let Some(done) = present.before(self, access) {
            return done;
        }
        let conflicts: &[T] = match access {
            Access::Read => &[self.write, self.update],
            Access::Write => &[self.write, self.update, self.read, self.read_too],
            // Atomic updates do not race with one another.
            Access::Update if self.write.who().access() == Access::Update => &[self.read, self.read_too],
            Access::Update => &[self.write, self.read, self.read_too],
        };
        if let Some(&other) = conflicts.iter().find(|&&touch| present.races(touch)) {
            return Err(Problem::Race(other));
        }
        match access {
            Access::Read => remember(present, &mut self.read, &mut self.read_too),
            // Whatever comes after this write in order comes after those that it came after.
            Access::Write => *self = Self { write: present.touch(), ..Self::default() },
            Access::Update => remember(present, &mut self.write, &mut self.update),
        }
        Ok(())
    }
}

/// The cells of an array of words.
pub(super) struct Words<T> {
    cells: Vec<Cell<T>>,
    /// Cells of the words that are accessed by bytes, with the indices of these words.
    split: Vec<(u32, [Cell<T>; 4])>,
}

impl<T> Default for Words<T> {
    fn default() -> Self {
        Self { cells: Vec::new(), split: Vec::new() }
    }
}

impl<T: Touch> Words<T> {
    /// Grows to `n` words.
    pub(super) fn grow(&mut self, n: usize) {
        if self.cells.len() < n {
            self.cells.resize(n, Cell::default());
        }
    }

    /// Checks and remembers an access to `len` bytes from `offset`. A problem is returned with the offset of its byte.
    #[inline]
    pub(super) fn touch<P: Present<Touch = T>>(
        &mut self,
        offset: u32,
        len: u32,
        present: &P,
        access: Access,
    ) -> Result<(), (u32, Problem<T>)> {
        let end = offset + len;
        let mut at = offset;
        while at < end {
            let word = at / 4;
            let stop = (word * 4 + 4).min(end);
            let cell = &mut self.cells[word as usize];
            let split = cell.write.split_index();
            if split.is_none() && stop - at == 4 {
                cell.access(present, access).map_err(|problem| (at, problem))?;
            } else {
                let index = split.unwrap_or_else(|| {
                    self.split.push((word, [*cell; 4]));
                    let index = self.split.len() as u32 - 1;
                    cell.write = T::split(index);
                    index
                });
                let (_, cells) = &mut self.split[index as usize];
                for byte in at..stop {
                    cells[byte as usize % 4].access(present, access).map_err(|problem| (byte, problem))?;
                }
            }
            at = stop;
        }
        Ok(())
    }

    /// Merges the cells of every word into one again.
    pub(super) fn join(&mut self) {
        for (word, _) in self.split.drain(..) {
            self.cells[word as usize] = Cell::default();
        }
    }
}
