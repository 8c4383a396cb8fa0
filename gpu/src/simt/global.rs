//! The shadow of global memory, where races on it are looked for.
//!
//! A launch has one shadow, which all OS threads share that run its blocks. Within a group of blocks touches are ordered as those of shared memory are: by barriers of the block, the
//! cluster and the grid, and by collectives of the warp. Nothing orders blocks of different groups; of a fence and a flag, by which blocks of a plain launch can tell each other
//! something, the shadow knows nothing.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, PoisonError};

use super::cell::{Present, Problem, Touch as _, Toucher, Who, Words};
use super::report::{Access, SourceLocation};
use super::shared::Order;

/// Bytes of a page, whose cells are stored together: small, since most launches access little memory.
const PAGE: usize = 256;
/// Number of locks among which the pages are distributed.
const SHARDS: usize = 64;

/// One remembered access.
#[derive(Clone, Copy, Default)]
pub(super) struct Touch {
    /// The toucher's group, from 1; 0 for never.
    group: u32,
    who: Who,
    epoch: u32,
    clock: u32,
    location: Option<SourceLocation>,
}

impl super::cell::Touch for Touch {
    fn who(self) -> Who {
        self.who
    }

    fn same_warp(self, other: Self) -> bool {
        let (one, two) = (self.who.thread(), other.who.thread());
        self.group == other.group && one.block == two.block && one.thread / 32 == two.thread / 32
    }

    fn split(index: u32) -> Self {
        Self { who: Who::SPLIT, clock: index, ..Self::default() }
    }

    fn split_index(self) -> Option<u32> {
        (self.who == Who::SPLIT).then_some(self.clock)
    }
}

/// The accessing thread.
struct Now<'a> {
    touch: Touch,
    order: Order<'a>,
}

impl Present for Now<'_> {
    type Touch = Touch;

    fn touch(&self) -> Touch {
        self.touch
    }

    fn races(&self, touch: Touch) -> bool {
        match touch.group {
            0 => false,
            group if group != self.touch.group => true,
            _ => {
                let other = touch.who.thread();
                other != self.touch.who.thread() && self.order.races(other, touch.epoch, touch.clock)
            }
        }
    }
}

/// The other side of a race on global memory.
pub(super) struct Race {
    /// The byte.
    pub(super) address: usize,
    /// The other thread's group.
    pub(super) group: u64,
    pub(super) other: Toucher,
    pub(super) other_access: Access,
    pub(super) other_location: SourceLocation,
}

/// Hashes page numbers; it need not resist attacks.
#[derive(Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(self.0 as usize ^ usize::from(byte));
        }
    }

    fn write_usize(&mut self, page: usize) {
        self.0 = (page as u64 / SHARDS as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

type Pages = HashMap<usize, Words<Touch>, BuildHasherDefault<PageHasher>>;

/// The shadow of one launch.
pub(super) struct Global {
    shards: [Mutex<Pages>; SHARDS],
}

impl Default for Global {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl Global {
    /// Checks and remembers an access of a thread of `group` to `bytes` bytes at `address`.
    pub(super) fn touch(
        &self,
        group: u64,
        me: Toucher,
        (order, epoch, clock): (Order<'_>, u32, u32),
        (address, bytes): (usize, usize),
        access: Access,
        location: SourceLocation,
    ) -> Result<(), Race> {
        let touch =
            Touch { group: group as u32 + 1, who: Who::new(me, access), epoch, clock, location: Some(location) };
        let now = Now { touch, order };
        let mut at = address;
        while at < address + bytes {
            let page = at / PAGE;
            let stop = (address + bytes).min((page + 1) * PAGE);
            // A page is whole between two accesses, so a poisoned lock loses nothing.
            let mut shard = self.shards[page % SHARDS].lock().unwrap_or_else(PoisonError::into_inner);
            let words = shard.entry(page).or_insert_with(|| {
                let mut words = Words::default();
                words.grow(PAGE / 4);
                words
            });
            if let Err((offset, Problem::Race(other))) =
                words.touch((at % PAGE) as u32, (stop - at) as u32, &now, access)
            {
                return Err(Race {
                    address: page * PAGE + offset as usize,
                    group: u64::from(other.group) - 1,
                    other: other.who().thread(),
                    other_access: other.who().access(),
                    other_location: other.location.unwrap_or(location),
                });
            }
            at = stop;
        }
        Ok(())
    }
}
