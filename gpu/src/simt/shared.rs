//! Shared memory and its shadow.
//!
//! Each block has an arena of bytes. Each aligned 4-byte word has a shadow cell that remembers who wrote it and who read
//! it last; when a thread touches only part of a word, that word gets one cell a byte instead.
//!
//! Two touches are ordered by the barriers between them. For that each block counts its barriers (its *epoch*), and each
//! lane keeps a vector clock over the lanes of its warp, which warp collectives join for the lanes of their mask only. A
//! touch remembers the epoch and the lane's clock. It is ordered before a thread's present touch if it was
//! - by the same thread;
//! - in the same block, in an earlier epoch, or in the same warp and within what the thread's clock has seen;
//! - in another block (distributed shared memory), before the last barrier of the cluster.
//!
//! The idea is that of vector-clock race detectors (Flanagan and Freund, *FastTrack*, 2009). A cell keeps two unordered
//! readers and two unordered atomic updaters, from different warps if there are such: enough to find every race, except
//! among three or more lanes of one warp that are synchronised by partial masks.
//!
//! Epochs grow over all blocks that an OS thread ever runs, so that cells are never cleared: what is older than the first
//! epoch of the running group of blocks was never written.

use super::report::{Access, FaultKind, Nearest, SourceLocation, Space};

/// Address of the first shared byte. Not 0, so that a null address is out of bounds.
pub(super) const BASE: u32 = 1024;
/// Static shared memory that a block may declare, in bytes; the assembler refuses more.
const STATIC_LIMIT: u32 = 48 * 1024;
/// Shared memory of a block in bytes, static and dynamic together (compute capability 9.0).
pub(super) const LIMIT: u32 = 227 * 1024;

/// Bits of a thread's index in its block.
const THREAD_BITS: u32 = 10;
/// Marks a touch as atomic.
const ATOMIC: u32 = 1 << 31;
/// Marks a touch as a read.
const READ: u32 = 1 << 30;
/// The marks of a touch.
const MARKS: u32 = ATOMIC | READ;
/// In `Cell::write.who`: the word has a cell for each byte; `clock` is their index.
const SPLIT: u32 = u32::MAX;
/// Epochs and clocks start anew beyond this, long before they overflow.
const RENEW: u32 = 1 << 30;

/// Who touches memory.
#[derive(Clone, Copy)]
pub(super) struct Toucher {
    /// Block within the group.
    pub(super) block: u32,
    /// Thread within the block.
    pub(super) thread: u32,
}

impl Toucher {
    fn who(self) -> u32 {
        self.block << THREAD_BITS | self.thread
    }

    fn of(who: u32) -> Self {
        let who = who & !MARKS;
        Self { block: who >> THREAD_BITS, thread: who & ((1 << THREAD_BITS) - 1) }
    }
}

/// One remembered access.
#[derive(Clone, Copy, Default)]
struct Touch {
    who: u32,
    /// Epoch of the toucher's block; 0 for never.
    epoch: u32,
    /// The lane's own clock.
    clock: u32,
    /// Index of the source location.
    at: u32,
}

/// What is remembered of a word or byte.
#[derive(Clone, Copy, Default)]
struct Cell {
    write: Touch,
    /// A further atomic update, unordered with `write`.
    update: Touch,
    read: Touch,
    /// A further read, unordered with `read`.
    read_too: Touch,
}

#[derive(Default)]
struct Arena {
    bytes: Vec<u8>,
    cells: Vec<Cell>,
    /// Cells of the words that are touched by the byte, and which words these are.
    split: Vec<(u32, [Cell; 4])>,
}

#[derive(Clone, Copy)]
struct Epochs {
    now: u32,
    /// The epoch that began at the last barrier of the cluster or grid.
    cluster: u32,
}

/// A declared shared array; the same address in every block of a group.
#[derive(Clone, Copy)]
struct Array {
    name: &'static str,
    address: u32,
    bytes: u32,
}

/// The shared memory of a group of blocks.
#[derive(Default)]
pub(super) struct Shared {
    arrays: Vec<Array>,
    /// The array hit last.
    last: usize,
    next_address: u32,
    dynamic_bytes: u32,
    arenas: Vec<Arena>,
    epochs: Vec<Epochs>,
    /// Vector clocks: warp of the group, lane, lane it has seen.
    clocks: Vec<[[u32; 32]; 32]>,
    n_warps: u32,
    locations: Locations,
    check_races: bool,
    first_epoch: u32,
    next_epoch: u32,
    n_joins: u32,
}

/// Source locations by number, so that a touch is small.
#[derive(Default)]
struct Locations {
    list: Vec<SourceLocation>,
    /// Direct-mapped cache from a location's address to its number.
    recent: Vec<(usize, u32)>,
}

impl Locations {
    fn number(&mut self, location: SourceLocation) -> u32 {
        const SLOTS: usize = 256;
        if self.recent.is_empty() {
            self.recent = vec![(0, 0); SLOTS];
        }
        let address = std::ptr::from_ref(location) as usize;
        let slot = (address >> 3 ^ address >> 11) % SLOTS;
        let (known, number) = self.recent[slot];
        if known == address {
            return number;
        }
        let number = match self.list.iter().position(|&p| std::ptr::eq(p, location)) {
            Some(at) => at as u32,
            None => {
                self.list.push(location);
                self.list.len() as u32 - 1
            }
        };
        self.recent[slot] = (address, number);
        number
    }
}

/// What is wrong with an access; the offset is that of the byte in the arena.
enum Problem {
    Unwritten { offset: u32 },
    Race { offset: u32, other: Touch },
}

/// The thread that touches, with what is needed to order it after others.
struct Present<'a> {
    touch: Touch,
    block: u32,
    warp: u32,
    seen: &'a [u32; 32],
    epochs: &'a [Epochs],
    first_epoch: u32,
    check_races: bool,
}

impl Present<'_> {
    /// Whether `touch` happened in this group of blocks.
    fn knows(&self, touch: Touch) -> bool {
        touch.epoch >= self.first_epoch
    }

    /// Whether nothing orders `touch` before the present one.
    fn races(&self, touch: Touch) -> bool {
        if !self.knows(touch) || touch.who & !MARKS == self.touch.who & !MARKS {
            return false;
        }
        let other = Toucher::of(touch.who);
        let epochs = self.epochs[other.block as usize];
        if other.block != self.block {
            return touch.epoch >= epochs.cluster;
        }
        if touch.epoch < epochs.now {
            return false;
        }
        other.thread / 32 != self.warp || self.seen[other.thread as usize % 32] < touch.clock
    }

    /// Remembers the present touch in one of two slots.
    fn remember(&self, first: &mut Touch, second: &mut Touch) {
        if !self.races(*first) {
            *first = self.touch;
        } else if !self.races(*second) {
            *second = self.touch;
        } else if first.who >> 5 == second.who >> 5 && self.touch.who >> 5 != first.who >> 5 {
            // `who >> 5` is the warp, since a block takes a multiple of 32 numbers. Both remembered touches are of one
            // warp: keep one of them and one of the other warp.
            *second = self.touch;
        }
    }

    /// Checks one access against a cell and remembers it there; `Err` is the touch it races with, or nothing where
    /// unwritten memory is read.
    fn access(&self, cell: &mut Cell, access: Access) -> Result<(), Option<Touch>> {
        if access != Access::Write && !self.knows(cell.write) {
            return Err(None);
        }
        if !self.check_races {
            if access != Access::Read {
                cell.write = self.touch;
            }
            return Ok(());
        }
        let conflicts: &[Touch] = match access {
            Access::Read => &[cell.write, cell.update],
            Access::Write => &[cell.write, cell.update, cell.read, cell.read_too],
            // Atomic updates do not race with one another.
            Access::Update if cell.write.who & ATOMIC != 0 => &[cell.read, cell.read_too],
            Access::Update => &[cell.write, cell.read, cell.read_too],
        };
        if let Some(&other) = conflicts.iter().find(|&&touch| self.races(touch)) {
            return Err(Some(other));
        }
        match access {
            Access::Read => self.remember(&mut cell.read, &mut cell.read_too),
            // Whatever comes after this write in order comes after those that it came after.
            Access::Write => *cell = Cell { write: self.touch, ..Cell::default() },
            Access::Update => self.remember(&mut cell.write, &mut cell.update),
        }
        Ok(())
    }
}

impl Arena {
    fn grow(&mut self, bytes: u32) {
        let bytes = (bytes as usize).next_multiple_of(64);
        if self.bytes.len() < bytes {
            self.bytes.resize(bytes, 0);
            self.cells.resize(bytes / 4, Cell::default());
        }
    }

    /// Checks and remembers an access to `len` bytes from `offset`.
    fn touch(&mut self, offset: u32, len: u32, present: &Present<'_>, access: Access) -> Result<(), Problem> {
        let end = offset + len;
        let mut at = offset;
        while at < end {
            let word = at / 4;
            let stop = (word * 4 + 4).min(end);
            let cell = &mut self.cells[word as usize];
            let whole = stop - at == 4;
            if cell.write.who != SPLIT && whole {
                present.access(cell, access).map_err(|other| match other {
                    Some(other) => Problem::Race { offset: at, other },
                    None => Problem::Unwritten { offset: at },
                })?;
            } else {
                if cell.write.who != SPLIT {
                    self.split.push((word, [*cell; 4]));
                    cell.write.who = SPLIT;
                    cell.write.clock = self.split.len() as u32 - 1;
                }
                let (_, cells) = &mut self.split[cell.write.clock as usize];
                for byte in at..stop {
                    present.access(&mut cells[byte as usize % 4], access).map_err(|other| match other {
                        Some(other) => Problem::Race { offset: byte, other },
                        None => Problem::Unwritten { offset: byte },
                    })?;
                }
            }
            at = stop;
        }
        Ok(())
    }

    /// Gives every word one cell again.
    fn join(&mut self) {
        for (word, _) in self.split.drain(..) {
            self.cells[word as usize] = Cell::default();
        }
    }
}

impl Shared {
    /// Begins a group of `n_blocks` blocks of `n_warps` warps each.
    pub(super) fn begin(&mut self, n_blocks: u32, n_warps: u32, dynamic_bytes: u32, check_races: bool) {
        self.arrays.clear();
        self.last = 0;
        self.next_address = BASE;
        self.dynamic_bytes = dynamic_bytes;
        if dynamic_bytes > 0 {
            self.allocate("dynamic shared memory", dynamic_bytes);
        }
        self.n_warps = n_warps;
        self.check_races = check_races;
        if self.next_epoch > RENEW || self.n_joins > RENEW {
            self.arenas.clear();
            self.clocks.clear();
            self.next_epoch = 0;
            self.n_joins = 0;
        }
        self.next_epoch += 1;
        self.first_epoch = self.next_epoch;
        let n_blocks = n_blocks as usize;
        if self.arenas.len() < n_blocks {
            self.arenas.resize_with(n_blocks, Arena::default);
        }
        for arena in &mut self.arenas[..n_blocks] {
            arena.join();
        }
        self.epochs.clear();
        self.epochs.resize(n_blocks, Epochs { now: self.first_epoch, cluster: self.first_epoch });
        if self.check_races {
            let n_warps = n_blocks * n_warps as usize;
            while self.clocks.len() < n_warps {
                let mut clocks = [[0; 32]; 32];
                for (lane, clock) in clocks.iter_mut().enumerate() {
                    clock[lane] = 1;
                }
                self.clocks.push(clocks);
            }
        }
    }

    /// Forgets the memory of blocks beyond `n_blocks`.
    pub(super) fn trim(&mut self, n_blocks: usize) {
        self.arenas.truncate(n_blocks);
    }

    /// All threads of these blocks have met; `wide` where the blocks are a whole cluster or grid.
    pub(super) fn barrier(&mut self, blocks: std::ops::Range<u32>, wide: bool) {
        for epochs in &mut self.epochs[blocks.start as usize..blocks.end as usize] {
            epochs.now += 1;
            if wide {
                epochs.cluster = epochs.now;
            }
            self.next_epoch = self.next_epoch.max(epochs.now);
        }
    }

    /// The lanes of `mask` of one warp of the group have met.
    pub(super) fn join_lanes(&mut self, warp: u32, mask: u32) {
        if !self.check_races {
            return;
        }
        self.n_joins += 1;
        let clocks = &mut self.clocks[warp as usize];
        let mut seen = [0; 32];
        for (lane, clock) in clocks.iter().enumerate() {
            if mask >> lane & 1 != 0 {
                for (all, one) in seen.iter_mut().zip(clock) {
                    *all = (*all).max(*one);
                }
            }
        }
        for (lane, clock) in clocks.iter_mut().enumerate() {
            if mask >> lane & 1 != 0 {
                *clock = seen;
                clock[lane] += 1;
            }
        }
    }

    /// Gives an array the next free addresses.
    fn allocate(&mut self, name: &'static str, bytes: u32) -> u32 {
        let address = self.next_address.next_multiple_of(16);
        self.arrays.push(Array { name, address, bytes });
        self.next_address = address + bytes;
        address
    }

    /// The address of a static array; declares it when the group names it for the first time.
    pub(super) fn declare(
        &mut self,
        name: &'static str,
        bytes: u32,
        location: SourceLocation,
    ) -> Result<u32, FaultKind> {
        let known =
            self.arrays.iter().find(|array| std::ptr::eq(array.name.as_ptr(), name.as_ptr()) || array.name == name);
        if let Some(array) = known {
            if array.bytes == bytes {
                return Ok(array.address);
            }
            return Err(FaultKind::Shape {
                message: format!(
                    "shared array `{name}` at {location} has {bytes} bytes, and had {} before",
                    array.bytes
                ),
            });
        }
        let end = u64::from(self.next_address.next_multiple_of(16)) + u64::from(bytes);
        let total = end - u64::from(BASE);
        let fixed = total - u64::from(self.dynamic_bytes);
        if fixed > u64::from(STATIC_LIMIT) || total > u64::from(LIMIT) {
            return Err(FaultKind::Shape {
                message: format!(
                    "shared array `{name}` at {location}: {bytes} bytes make {fixed} bytes of static shared memory and {} of \
                     dynamic (at most {STATIC_LIMIT} static, {LIMIT} together)",
                    self.dynamic_bytes
                ),
            });
        }
        Ok(self.allocate(name, bytes))
    }

    /// Address and size of the dynamic shared memory.
    pub(super) fn dynamic(&self) -> (u32, u32) {
        (BASE, self.dynamic_bytes)
    }

    fn array(&mut self, address: u32, len: u32) -> Option<Array> {
        let fits = |array: &Array| {
            array.address <= address
                && u64::from(address) + u64::from(len) <= u64::from(array.address) + u64::from(array.bytes)
        };
        if let Some(array) = self.arrays.get(self.last)
            && fits(array)
        {
            return Some(*array);
        }
        self.last = self.arrays.iter().position(fits)?;
        Some(self.arrays[self.last])
    }

    fn nearest(&self, address: u32, len: u32) -> Option<Nearest> {
        let (start, end) = (i64::from(address), i64::from(address) + i64::from(len));
        let nearest = self.arrays.iter().min_by_key(|array| {
            let first = i64::from(array.address);
            (start - (first + i64::from(array.bytes))).max(first - end)
        })?;
        Some(Nearest { name: Some(nearest.name), address: nearest.address as usize, bytes: nearest.bytes as usize })
    }

    /// Checks an access of `me` to `len` bytes at `address` in the memory of block `owner` of the group, and gives those
    /// bytes. A race comes with the other thread, for the report.
    #[inline]
    pub(super) fn access(
        &mut self,
        me: Toucher,
        owner: u32,
        address: u32,
        len: u32,
        access: Access,
        location: SourceLocation,
    ) -> Result<&mut [u8], Denied> {
        let Some(array) = self.array(address, len) else {
            return Err(Denied::Alone(FaultKind::OutOfBounds {
                space: Space::Shared,
                address: address as usize,
                bytes: len as usize,
                write: access != Access::Read,
                location,
                nearest: self.nearest(address, len),
            }));
        };
        let offset = address - BASE;
        let mut touch = Touch { who: me.who(), epoch: self.epochs[me.block as usize].now, clock: 0, at: 0 };
        touch.who |= match access {
            Access::Read => READ,
            Access::Write => 0,
            Access::Update => ATOMIC,
        };
        let lane = me.thread as usize % 32;
        let mut seen = &[0; 32];
        if self.check_races {
            seen = &self.clocks[(me.block * self.n_warps + me.thread / 32) as usize][lane];
            touch.clock = seen[lane];
            touch.at = self.locations.number(location);
        }
        let present = Present {
            touch,
            block: me.block,
            warp: me.thread / 32,
            seen,
            epochs: &self.epochs,
            first_epoch: self.first_epoch,
            check_races: self.check_races,
        };
        let arena = &mut self.arenas[owner as usize];
        arena.grow(offset + len);
        match arena.touch(offset, len, &present, access) {
            Ok(()) => Ok(&mut arena.bytes[offset as usize..(offset + len) as usize]),
            Err(Problem::Unwritten { offset }) => Err(Denied::Alone(FaultKind::UnwrittenShared {
                array: array.name,
                offset: BASE + offset - array.address,
                address: BASE + offset,
                location,
            })),
            Err(Problem::Race { offset, other }) => Err(Denied::Race(Race {
                array: array.name,
                offset: BASE + offset - array.address,
                address: BASE + offset,
                other: Toucher::of(other.who),
                other_access: match other.who & MARKS {
                    ATOMIC => Access::Update,
                    READ => Access::Read,
                    _ => Access::Write,
                },
                other_location: self.locations.list[other.at as usize],
            })),
        }
    }
}

/// Why an access is refused.
pub(super) enum Denied {
    /// A fault of the thread alone.
    Alone(FaultKind),
    /// A race with another thread.
    Race(Race),
}

/// The other side of a race.
pub(super) struct Race {
    pub(super) array: &'static str,
    pub(super) offset: u32,
    pub(super) address: u32,
    pub(super) other: Toucher,
    pub(super) other_access: Access,
    pub(super) other_location: SourceLocation,
}
