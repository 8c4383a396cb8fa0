//! Shared memory and its shadow.
//!
//! Each block has an arena of bytes, and its shadow is [`Words`].
//!
//! Two touches are ordered by the barriers between them. For that each block counts its barriers (its *epoch*), and each
//! lane keeps a vector clock over the lanes of its warp, which warp collectives join for the lanes of their mask only. A
//! touch remembers the epoch and the lane's clock. It is ordered before a thread's present touch if it was
//! - by the same thread;
//! - in the same block, in an earlier epoch, or in the same warp and within what the thread's clock has seen;
//! - in another block (distributed shared memory), before the last barrier of the cluster.
//!
//! Epochs grow over all blocks that an OS thread ever runs, so that cells are never cleared: what is older than the first
//! epoch of the running group of blocks was never written.

use super::cell::{self, Cell, Problem, Toucher, Who, Words};
use super::report::{Access, FaultKind, Nearest, SourceLocation, Space};

/// Address of the first shared byte. Not 0, so that a null address is out of bounds.
pub(super) const BASE: u32 = 1024;
/// Maximum static shared memory of a block in bytes; the assembler refuses more.
const STATIC_LIMIT: u32 = 48 * 1024;
/// Shared memory of a block in bytes, static and dynamic together (compute capability 9.0).
pub(super) const LIMIT: u32 = 227 * 1024;

/// Epochs and clocks start anew beyond this, long before they overflow.
const RENEW: u32 = 1 << 30;

/// One remembered access.
#[derive(Clone, Copy, Default)]
struct Touch {
    who: Who,
    /// Epoch of the toucher's block; 0 for never.
    epoch: u32,
    /// The lane's own clock.
    clock: u32,
    /// Index of the source location.
    at: u32,
}

impl cell::Touch for Touch {
    fn who(self) -> Who {
        self.who
    }

    fn split(index: u32) -> Self {
        Self { who: Who::SPLIT, clock: index, ..Self::default() }
    }

    fn split_index(self) -> Option<u32> {
        (self.who == Who::SPLIT).then_some(self.clock)
    }
}

#[derive(Default)]
struct Arena {
    bytes: Vec<u8>,
    words: Words<Touch>,
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
    /// Vector clocks by warp of the group, lane, and lane that it has synchronised with.
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

/// The order between threads of a group by barriers and collectives.
pub(super) struct Order<'a> {
    block: u32,
    warp: u32,
    seen: &'a [u32; 32],
    epochs: &'a [Epochs],
}

impl Order<'_> {
    /// Whether an access of another thread of the group, in that epoch of its block and at that clock of its lane, is unordered with the present one.
    #[inline]
    pub(super) fn races(&self, other: Toucher, epoch: u32, clock: u32) -> bool {
        let epochs = self.epochs[other.block as usize];
        if other.block != self.block {
            return epoch >= epochs.cluster;
        }
        if epoch < epochs.now {
            return false;
        }
        other.thread / 32 != self.warp || self.seen[other.thread as usize % 32] < clock
    }
}

/// The accessing thread, with the data needed to order it after others.
struct Present<'a> {
    touch: Touch,
    order: Order<'a>,
    first_epoch: u32,
    check_races: bool,
}

impl Present<'_> {
    /// Whether `touch` happened in this group of blocks.
    #[inline]
    fn knows(&self, touch: Touch) -> bool {
        touch.epoch >= self.first_epoch
    }
}

impl cell::Present for Present<'_> {
    type Touch = Touch;

    #[inline]
    fn touch(&self) -> Touch {
        self.touch
    }

    #[inline]
    fn races(&self, touch: Touch) -> bool {
        self.knows(touch)
            && touch.who.thread() != self.touch.who.thread()
            && self.order.races(touch.who.thread(), touch.epoch, touch.clock)
    }

    #[inline]
    fn before(&self, cell: &mut Cell<Touch>, access: Access) -> Option<Result<(), Problem<Touch>>> {
        if access != Access::Write && !self.knows(cell.write) {
            return Some(Err(Problem::Unwritten));
        }
        if self.check_races {
            return None;
        }
        if access != Access::Read {
            cell.write = self.touch;
        }
        Some(Ok(()))
    }
}

impl Arena {
    fn grow(&mut self, bytes: u32) {
        let bytes = (bytes as usize).next_multiple_of(64);
        if self.bytes.len() < bytes {
            self.bytes.resize(bytes, 0);
            self.words.grow(bytes / 4);
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
            arena.words.join();
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

    /// Notes that all threads of these blocks have met at a barrier; `wide` if the blocks are a whole cluster or grid.
    pub(super) fn barrier(&mut self, blocks: std::ops::Range<u32>, wide: bool) {
        for epochs in &mut self.epochs[blocks.start as usize..blocks.end as usize] {
            epochs.now += 1;
            if wide {
                epochs.cluster = epochs.now;
            }
            self.next_epoch = self.next_epoch.max(epochs.now);
        }
    }

    /// Notes that the lanes of `mask` of one warp of the group have met.
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

    /// A thread's order relative to the others of its group, the epoch of its block, and its own clock.
    pub(super) fn order(&self, me: Toucher) -> (Order<'_>, u32, u32) {
        let (order, clock) = order(&self.epochs, &self.clocks, self.n_warps, me, self.check_races);
        (order, self.epochs[me.block as usize].now, clock)
    }

    /// Assigns an array the next free addresses.
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

    /// Checks an access of `me` to `len` bytes at `address` in the memory of block `owner` of the group, and returns those
    /// bytes. A race is returned with the other thread, for the report.
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
        let mut touch = Touch { who: Who::new(me, access), epoch: self.epochs[me.block as usize].now, clock: 0, at: 0 };
        if self.check_races {
            touch.at = self.locations.number(location);
        }
        let (order, clock) = order(&self.epochs, &self.clocks, self.n_warps, me, self.check_races);
        touch.clock = clock;
        let present = Present { touch, order, first_epoch: self.first_epoch, check_races: self.check_races };
        let arena = &mut self.arenas[owner as usize];
        arena.grow(offset + len);
        match arena.words.touch(offset, len, &present, access) {
            Ok(()) => Ok(&mut arena.bytes[offset as usize..(offset + len) as usize]),
            Err((offset, Problem::Unwritten)) => Err(Denied::Alone(FaultKind::UnwrittenShared {
                array: array.name,
                offset: BASE + offset - array.address,
                address: BASE + offset,
                location,
            })),
            Err((offset, Problem::Race(other))) => Err(Denied::Race(Race {
                array: array.name,
                offset: BASE + offset - array.address,
                address: BASE + offset,
                other: other.who.thread(),
                other_access: other.who.access(),
                other_location: self.locations.list[other.at as usize],
            })),
        }
    }
}

/// The present thread's order relative to the others of its group, and its own clock; 0 without race detection.
fn order<'a>(
    epochs: &'a [Epochs],
    clocks: &'a [[[u32; 32]; 32]],
    n_warps: u32,
    me: Toucher,
    check_races: bool,
) -> (Order<'a>, u32) {
    let (mut seen, mut clock) = (&[0; 32], 0);
    if check_races {
        let lane = me.thread as usize % 32;
        seen = &clocks[(me.block * n_warps + me.thread / 32) as usize][lane];
        clock = seen[lane];
    }
    (Order { block: me.block, warp: me.thread / 32, seen, epochs }, clock)
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
