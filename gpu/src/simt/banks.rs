//! Counts the turns that shared memory takes to answer a warp: its bank conflicts.
//!
//! Shared memory has 32 banks of 4-byte words, word `w` in bank `w % 32`, and each bank answers one word at a time. What a warp asks for in one
//! instruction (a *request*) takes as many turns (*wavefronts*) as the busiest bank has to answer different words. Lanes that read the same word share an
//! answer, and so do lanes that write it, one of which wins; atomic updates of one word take a turn each. Of 8-byte accesses 16 lanes go at a time, of
//! 16-byte ones 8.
//!
//! Threads run one after the other here, so requests are put together afterwards: the k-th access of each lane at one source location since the last
//! barrier of the block, collective of the whole warp, or [`warp_step`](crate::cuda::sync::warp_step), is one request. That is what the hardware does where the
//! lanes of a warp pass the location equally often. Where only some lanes pass it in a turn of a loop, the loop needs a `warp_step`, or they are put with
//! others' later turns.
//!
//! ```
//! use warpplay_gpu::simt::banks;
//! let ((), report) = banks::count(|| ()); // launches of this thread inside the closure are counted
//! assert_eq!(report.conflicts(), 0);
//! ```
//!
//! Source  NVIDIA, CUDA C++ Programming Guide, "Shared Memory"; the counters of Nsight Compute that this stands for are
//! `l1tex__data_pipe_lsu_wavefronts_mem_shared` and `l1tex__data_bank_conflicts_pipe_lsu_mem_shared`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::report::{Access, SourceLocation};

/// Banks of shared memory.
const BANKS: u32 = 32;
/// Bytes of a word.
const WORD: u32 = 4;

/// Accesses to shared memory from one source location of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankCount {
    /// Entry name of the kernel.
    pub kernel: &'static str,
    /// Source location of the access.
    pub location: SourceLocation,
    /// Kind of access.
    pub access: Access,
    /// Number of warp instructions.
    pub requests: u64,
    /// Number of wavefronts without any conflict: 1 per request, 2 for 8-byte and 4 for 16-byte accesses of whole warps.
    pub least: u64,
    /// Number of wavefronts that they take.
    pub wavefronts: u64,
}

impl BankCount {
    /// Number of wavefronts beyond the minimum.
    pub fn conflicts(&self) -> u64 {
        self.wavefronts - self.least
    }
}

/// Counts over launches, by kernel and source location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BankReport {
    /// In the order of kernels' names, files, lines and columns.
    pub counts: Vec<BankCount>,
}

impl BankReport {
    /// Number of wavefronts beyond the minimum, over all locations.
    pub fn conflicts(&self) -> u64 {
        self.counts.iter().map(BankCount::conflicts).sum()
    }

    /// Number of wavefronts beyond the minimum, over locations with this kind of access.
    pub fn conflicts_of(&self, access: Access) -> u64 {
        self.counts.iter().filter(|count| count.access == access).map(BankCount::conflicts).sum()
    }

    /// Number of warp instructions, over all locations.
    pub fn requests(&self) -> u64 {
        self.counts.iter().map(|count| count.requests).sum()
    }

    /// Number of wavefronts, over all locations.
    pub fn wavefronts(&self) -> u64 {
        self.counts.iter().map(|count| count.wavefronts).sum()
    }
}

thread_local! {
    /// The counters that launches of this OS thread add to.
    static COUNTERS: RefCell<Vec<Arc<Counters>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `launches` and counts the shared-memory accesses of the kernels that it launches from this thread. Counting makes launches slower.
///
/// A nested count receives its own launches; the outer one does not receive them.
pub fn count<R>(launches: impl FnOnce() -> R) -> (R, BankReport) {
    /// Removes the counters, also when `launches` unwinds.
    struct Counting;
    impl Drop for Counting {
        fn drop(&mut self) {
            COUNTERS.with_borrow_mut(Vec::pop);
        }
    }
    let counters = Arc::new(Counters::default());
    COUNTERS.with_borrow_mut(|all| all.push(Arc::clone(&counters)));
    let counting = Counting;
    let result = launches();
    drop(counting);
    (result, counters.report())
}

/// The counters of the calling thread's innermost [`count`].
pub(super) fn counters() -> Option<Arc<Counters>> {
    COUNTERS.with_borrow(|all| all.last().cloned())
}

/// Kernel's name, source location, access.
type Key = (&'static str, SourceLocation, Access);

/// Requests, minimum wavefronts, wavefronts.
#[derive(Clone, Copy, Default)]
struct Sums {
    requests: u64,
    least: u64,
    wavefronts: u64,
}

/// Counts of all threads that run blocks.
#[derive(Default)]
pub(super) struct Counters {
    sums: Mutex<HashMap<Key, Sums>>,
}

impl Counters {
    fn report(&self) -> BankReport {
        let sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let one = |(&(kernel, location, access), &Sums { requests, least, wavefronts }): (&Key, &Sums)| BankCount {
            kernel,
            location,
            access,
            requests,
            least,
            wavefronts,
        };
        let mut counts: Vec<BankCount> = sums.iter().map(one).collect();
        counts.sort_by_key(|count| {
            (count.kernel, count.location.file(), count.location.line(), count.location.column(), count.access as u8)
        });
        BankReport { counts }
    }
}

/// A thread at a source location between two barriers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Visit {
    thread: u32,
    phase: u32,
    /// The location's address.
    location: usize,
    access: u8,
}

/// A warp's instruction: warp of the group, barriers before, location, turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Request {
    warp: u32,
    phase: u32,
    location: usize,
    access: u8,
    turn: u32,
    /// Index of the word in an access of more than 16 bytes.
    part: u32,
}

/// One lane's share of a request.
#[derive(Clone, Copy)]
struct Lane {
    lane: u32,
    address: u32,
    bytes: u32,
}

/// The requests of one group of blocks.
#[derive(Default)]
pub(super) struct Banks {
    /// How often a visit was made.
    turns: HashMap<Visit, u32>,
    /// Barriers that a thread has passed.
    phases: HashMap<u32, u32>,
    requests: HashMap<Request, (SourceLocation, Access, Vec<Lane>)>,
}

impl Banks {
    /// Notes that thread `thread` of the group, lane `lane` of its warp `warp`, has accessed its block's memory.
    pub(super) fn access(
        &mut self,
        thread: u32,
        warp: u32,
        lane: u32,
        at: (u32, u32),
        access: Access,
        location: SourceLocation,
    ) {
        let (address, bytes) = at;
        let (number, kind) = (std::ptr::from_ref(location) as usize, access as u8);
        let phase = self.phases.get(&thread).copied().unwrap_or(0);
        let turn = self.turns.entry(Visit { thread, phase, location: number, access: kind }).or_default();
        let mut request = Request { warp, phase, location: number, access: kind, turn: *turn, part: 0 };
        *turn += 1;
        // Larger values are moved word by word.
        let step = if bytes > 16 { WORD } else { bytes };
        let mut done = 0;
        while done < bytes {
            let lanes = &mut self.requests.entry(request).or_insert_with(|| (location, access, Vec::new())).2;
            lanes.push(Lane { lane, address: address + done, bytes: step });
            request.part += 1;
            done += step;
        }
    }

    /// Notes that a thread has passed a barrier or a mark, which all lanes of its warp pass.
    pub(super) fn pass(&mut self, thread: u32) {
        *self.phases.entry(thread).or_default() += 1;
    }

    /// Adds the group's requests to the counters of a launch of `kernel`.
    pub(super) fn add_to(self, counters: &Counters, kernel: &'static str) {
        let mut sums = counters.sums.lock().unwrap_or_else(PoisonError::into_inner);
        for (location, access, lanes) in self.requests.into_values() {
            let (least, wavefronts) = turns(access, &lanes);
            let sum = sums.entry((kernel, location, access)).or_default();
            sum.requests += 1;
            sum.least += least;
            sum.wavefronts += wavefronts;
        }
    }
}

/// Numbers of wavefronts of a request: the minimum without conflicts, and the actual one.
fn turns(access: Access, lanes: &[Lane]) -> (u64, u64) {
    let widest = lanes.iter().map(|lane| lane.bytes).max().unwrap_or(WORD);
    let lanes_at_once = match widest {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    };
    let (mut least, mut wavefronts) = (0, 0);
    for first in (0..32).step_by(lanes_at_once) {
        let mut banks: [Vec<u32>; BANKS as usize] = Default::default();
        let part = first as u32..(first + lanes_at_once) as u32;
        for lane in lanes.iter().filter(|lane| part.contains(&lane.lane)) {
            for word in lane.address / WORD..(lane.address + lane.bytes).div_ceil(WORD) {
                let bank = &mut banks[(word % BANKS) as usize];
                if access == Access::Update || !bank.contains(&word) {
                    bank.push(word);
                }
            }
        }
        let busiest = banks.iter().map(Vec::len).max().unwrap_or(0) as u64;
        least += busiest.min(1);
        wavefronts += busiest;
    }
    (least, wavefronts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wavefronts of 32 lanes of which lane `l` accesses `bytes` bytes at `address(l)`.
    fn of(access: Access, bytes: u32, address: impl Fn(u32) -> u32) -> (u64, u64) {
        turns(access, &(0..32).map(|lane| Lane { lane, address: address(lane), bytes }).collect::<Vec<_>>())
    }

    #[test]
    fn strides_conflict_by_their_common_divisor_with_the_banks() {
        for (stride, expected) in
            [(1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (9, 1), (16, 16), (32, 32), (33, 1), (64, 32)]
        {
            assert_eq!(of(Access::Read, 4, |lane| 4 * stride * lane), (1, expected), "stride {stride}");
            assert_eq!(of(Access::Write, 4, |lane| 4 * stride * lane), (1, expected), "stride {stride}");
        }
    }

    #[test]
    fn one_word_is_read_once_and_updated_by_each() {
        assert_eq!(of(Access::Read, 4, |_| 1024), (1, 1));
        assert_eq!(of(Access::Write, 4, |_| 1024), (1, 1));
        assert_eq!(of(Access::Update, 4, |_| 1024), (1, 32));
        // Four bytes of a word each.
        assert_eq!(of(Access::Read, 1, |lane| lane), (1, 1));
    }

    #[test]
    fn wide_accesses_go_in_parts() {
        assert_eq!(of(Access::Read, 8, |lane| 8 * lane), (2, 2));
        assert_eq!(of(Access::Read, 16, |lane| 16 * lane), (4, 4));
        assert_eq!(of(Access::Read, 16, |lane| 128 * lane), (4, 32));
        // All lanes one value.
        assert_eq!(of(Access::Read, 16, |_| 64), (4, 4));
    }
}
