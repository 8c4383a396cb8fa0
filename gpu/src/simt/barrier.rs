//! Who waits for whom: barriers, warp collectives, and the order in which threads run.
//!
//! Nothing here switches; [`Queue`] only keeps the books. A barrier has a *scope*: a block, a cluster or the whole group.
//! Scopes are ranges of threads, since the threads of a group are numbered block after block.

use std::collections::VecDeque;
use std::ops::Range;

use super::report::{SourceLocation, Wait};

/// State of a thread of the group.
#[derive(Clone, Copy)]
enum State {
    /// Not begun, running, or about to continue.
    Free,
    Finished,
    Waiting {
        at: Wait,
        location: SourceLocation,
        mask: u32,
    },
}

struct Thread {
    state: State,
    /// The fibre on which it waits.
    fibre: u32,
    /// Slot with the values of the collective that released it.
    values: u32,
}

/// One barrier of one scope.
#[derive(Clone, Copy)]
struct Barrier {
    arrived: u32,
    /// The first thread that arrived in this phase; its location is that of all.
    first: u32,
}

/// A warp collective that some lanes have reached.
struct Pending {
    mask: u32,
    location: SourceLocation,
    arrived: u32,
    values: u32,
}

/// Values that the lanes of a warp have deposited, kept until each lane has taken what it needs.
#[derive(Default)]
pub(super) struct Values {
    /// Of each value that a lane deposits, those of all lanes; 0 for lanes outside the mask.
    pub(super) deposited: Vec<[u64; 32]>,
    /// What the last lane has computed of them.
    pub(super) computed: Vec<u64>,
    unread: u32,
}

/// Result of arriving somewhere.
pub(super) enum Arrival {
    /// The thread has to wait, or to let the other threads of its scope continue in their order.
    Wait,
    /// It is alone in its scope and continues.
    Pass,
    /// `waiting` waits for `missing`, which does something else.
    Diverged(Diverged),
}

/// A waiting thread, and a missing one.
pub(super) struct Diverged {
    pub(super) waiting: u32,
    pub(super) at: Wait,
    pub(super) location: SourceLocation,
    pub(super) mask: u32,
    pub(super) missing: u32,
    /// Where the missing thread waits instead; `None` if it has returned.
    pub(super) instead: Option<(Wait, SourceLocation)>,
}

/// What to do next.
pub(super) enum Next {
    /// Begin the next thread on a free fibre.
    Begin,
    /// Continue a thread on this fibre.
    Resume(u32),
    /// All threads have finished.
    Done,
    /// All remaining threads wait for others.
    Stuck,
}

/// Sizes of a group of blocks.
#[derive(Clone, Copy, Default)]
pub(super) struct Sizes {
    /// Threads of a block.
    pub(super) block: u32,
    /// Blocks of a cluster.
    pub(super) cluster: u32,
    /// Blocks of the group.
    pub(super) group: u32,
}

/// The threads of a group of blocks.
#[derive(Default)]
pub(super) struct Queue {
    sizes: Sizes,
    threads: Vec<Thread>,
    begun: u32,
    finished: u32,
    ready: VecDeque<u32>,
    blocks: Vec<Barrier>,
    clusters: Vec<Barrier>,
    grid: Vec<Barrier>,
    warps: Vec<Vec<Pending>>,
    values: Vec<Values>,
    free_values: Vec<u32>,
}

impl Sizes {
    pub(super) fn warps(self) -> u32 {
        self.block.div_ceil(32)
    }

    pub(super) fn threads(self) -> u32 {
        self.block * self.group
    }
}

impl Queue {
    /// Begins a group whose threads all have yet to run.
    pub(super) fn begin(&mut self, sizes: Sizes) {
        self.sizes = sizes;
        self.threads.clear();
        self.threads.resize_with(sizes.threads() as usize, || Thread { state: State::Free, fibre: 0, values: 0 });
        self.begun = 0;
        self.finished = 0;
        self.ready.clear();
        let barrier = Barrier { arrived: 0, first: 0 };
        for (barriers, n) in
            [(&mut self.blocks, sizes.group), (&mut self.clusters, sizes.group / sizes.cluster), (&mut self.grid, 1)]
        {
            barriers.clear();
            barriers.resize(n as usize, barrier);
        }
        let n_warps = (sizes.group * sizes.warps()) as usize;
        if self.warps.len() < n_warps {
            self.warps.resize_with(n_warps, Vec::new);
        }
        // A stopped group leaves its collectives behind.
        for warp in &mut self.warps {
            warp.clear();
        }
        self.free_values.clear();
        self.free_values.extend(0..self.values.len() as u32);
    }

    /// Whether the fibre of a thread that has just finished may begin another one. Threads that can continue have priority,
    /// so that few stacks are in use at a time.
    pub(super) fn may_begin(&self) -> bool {
        self.ready.is_empty() && (self.begun as usize) < self.threads.len()
    }

    /// Begins the next thread and returns its number.
    pub(super) fn begin_next(&mut self) -> u32 {
        self.begun += 1;
        self.begun - 1
    }

    pub(super) fn finish(&mut self, thread: u32) {
        self.threads[thread as usize].state = State::Finished;
        self.finished += 1;
    }

    pub(super) fn next(&mut self) -> Next {
        if let Some(thread) = self.ready.pop_front() {
            Next::Resume(self.threads[thread as usize].fibre)
        } else if (self.begun as usize) < self.threads.len() {
            Next::Begin
        } else if self.finished as usize == self.threads.len() {
            Next::Done
        } else {
            Next::Stuck
        }
    }

    /// Notes on which fibre a thread waits.
    pub(super) fn park(&mut self, thread: u32, fibre: u32) {
        self.threads[thread as usize].fibre = fibre;
    }

    /// A fibre on which a begun, unfinished thread waits, for stopping; each is returned once.
    pub(super) fn abandon(&mut self) -> Option<u32> {
        while self.begun > 0 {
            self.begun -= 1;
            let thread = &self.threads[self.begun as usize];
            if !matches!(thread.state, State::Finished) {
                return Some(thread.fibre);
            }
        }
        None
    }

    fn scope(&self, wait: Wait, thread: u32) -> (usize, Range<u32>) {
        let size = match wait {
            Wait::Block | Wait::Warp => self.sizes.block,
            Wait::Cluster => self.sizes.block * self.sizes.cluster,
            Wait::Grid => self.sizes.threads(),
        };
        let index = thread / size;
        (index as usize, index * size..(index + 1) * size)
    }

    /// `thread` arrives at a barrier (not a warp collective). `released` receives the blocks if it was the last one.
    pub(super) fn arrive(
        &mut self,
        wait: Wait,
        thread: u32,
        location: SourceLocation,
        released: impl FnOnce(Range<u32>),
    ) -> Arrival {
        let (index, scope) = self.scope(wait, thread);
        let barriers = match wait {
            Wait::Block | Wait::Warp => &mut self.blocks,
            Wait::Cluster => &mut self.clusters,
            Wait::Grid => &mut self.grid,
        };
        let barrier = &mut barriers[index];
        if barrier.arrived == 0 {
            barrier.first = thread;
        } else if let State::Waiting { at, location: theirs, .. } = self.threads[barrier.first as usize].state
            && theirs != location
        {
            return Arrival::Diverged(Diverged {
                waiting: barrier.first,
                at,
                location: theirs,
                mask: 0,
                missing: thread,
                instead: Some((wait, location)),
            });
        }
        barrier.arrived += 1;
        if barrier.arrived < scope.len() as u32 {
            self.threads[thread as usize].state = State::Waiting { at: wait, location, mask: 0 };
            return Arrival::Wait;
        }
        barrier.arrived = 0;
        released(scope.start / self.sizes.block..scope.end / self.sizes.block);
        if scope.len() == 1 {
            return Arrival::Pass;
        }
        for thread in &mut self.threads[scope.start as usize..scope.end as usize] {
            thread.state = State::Free;
        }
        self.ready.extend(scope);
        Arrival::Wait
    }

    /// Number of the first thread of `thread`'s warp, the warp's number in the group, and its lanes that exist.
    fn warp(&self, thread: u32) -> (u32, u32, u32) {
        let (block, in_block) = (thread / self.sizes.block, thread % self.sizes.block);
        let warp = in_block / 32;
        let n_lanes = (self.sizes.block - warp * 32).min(32);
        (block * self.sizes.block + warp * 32, block * self.sizes.warps() + warp, u32::MAX >> (32 - n_lanes))
    }

    /// `thread` arrives at a warp collective and deposits `values`, as many as the other lanes. If it was the last lane of the mask, `released` receives warp and mask, and `compute` what is deposited and
    /// the place of what it computes. Lanes that do not exist are ignored.
    pub(super) fn arrive_warp(
        &mut self,
        thread: u32,
        mask: u32,
        location: SourceLocation,
        values: &[u64],
        released: impl FnOnce(u32, u32),
        compute: impl FnOnce(&[[u64; 32]], &mut Vec<u64>),
    ) -> Arrival {
        let (first, index, existing) = self.warp(thread);
        let lane = thread - first;
        let mask = mask & existing;
        if mask >> lane & 1 == 0 {
            return Arrival::Diverged(Diverged {
                waiting: thread,
                at: Wait::Warp,
                location,
                mask,
                missing: thread,
                instead: Some((Wait::Warp, location)),
            });
        }
        let warp = &mut self.warps[index as usize];
        let mut mine = None;
        for (at, pending) in warp.iter().enumerate() {
            if pending.mask == mask && pending.location == location {
                mine = Some(at);
            } else if pending.arrived & mask != 0 && pending.mask >> lane & 1 != 0 {
                // That lane waits for this one somewhere else, and this one would wait for that lane here.
                return Arrival::Diverged(Diverged {
                    waiting: first + (pending.arrived & mask).trailing_zeros(),
                    at: Wait::Warp,
                    location: pending.location,
                    mask: pending.mask,
                    missing: thread,
                    instead: Some((Wait::Warp, location)),
                });
            }
        }
        let at = mine.unwrap_or_else(|| {
            let slot = self.free_values.pop().unwrap_or_else(|| {
                self.values.push(Values::default());
                self.values.len() as u32 - 1
            });
            let deposited = &mut self.values[slot as usize].deposited;
            deposited.clear();
            deposited.resize(values.len(), [0; 32]);
            warp.push(Pending { mask, location, arrived: 0, values: slot });
            warp.len() - 1
        });
        let pending = &mut warp[at];
        pending.arrived |= 1 << lane;
        let slot = pending.values;
        for (lanes, &value) in self.values[slot as usize].deposited.iter_mut().zip(values) {
            lanes[lane as usize] = value;
        }
        self.threads[thread as usize].values = slot;
        if pending.arrived != mask {
            self.threads[thread as usize].state = State::Waiting { at: Wait::Warp, location, mask };
            return Arrival::Wait;
        }
        warp.swap_remove(at);
        let values = &mut self.values[slot as usize];
        values.unread = mask.count_ones();
        compute(&values.deposited, &mut values.computed);
        released(index, mask);
        if mask.is_power_of_two() {
            return Arrival::Pass;
        }
        for lane in 0..32 {
            if mask >> lane & 1 != 0 {
                self.threads[(first + lane) as usize].state = State::Free;
                self.ready.push_back(first + lane);
            }
        }
        Arrival::Wait
    }

    /// Lets `thread` take what it needs of the values of the collective that released it; once after each collective.
    pub(super) fn take<R>(&mut self, thread: u32, take: impl FnOnce(&Values) -> R) -> R {
        let slot = self.threads[thread as usize].values;
        let values = &mut self.values[slot as usize];
        values.unread -= 1;
        if values.unread == 0 {
            self.free_values.push(slot);
        }
        take(values)
    }

    /// The reason why no thread can continue; called when [`Queue::next`] returns [`Next::Stuck`].
    pub(super) fn diagnose(&self) -> Option<Diverged> {
        // A lane that returned while its warp waits is the plainest cause; then barriers; then whatever is left.
        let waiting = || {
            (0..).zip(&self.threads).filter_map(|(number, thread)| {
                let State::Waiting { at, location, mask } = thread.state else {
                    return None;
                };
                let missing = self.missing(number, at, location, mask)?;
                let instead = match self.threads[missing as usize].state {
                    State::Waiting { at, location, .. } => Some((at, location)),
                    State::Free | State::Finished => None,
                };
                Some(Diverged { waiting: number, at, location, mask, missing, instead })
            })
        };
        waiting()
            .find(|d| d.at == Wait::Warp && d.instead.is_none())
            .or_else(|| waiting().find(|d| d.at != Wait::Warp && d.instead.is_none()))
            .or_else(|| waiting().find(|d| d.at != Wait::Warp))
            .or_else(|| waiting().next())
    }

    /// The thread that `thread` waits for: one that has returned if there is one, else one that waits elsewhere.
    fn missing(&self, thread: u32, at: Wait, location: SourceLocation, mask: u32) -> Option<u32> {
        let (first, _, _) = self.warp(thread);
        let scope = match at {
            Wait::Warp => first..(first + 32).min(self.threads.len() as u32),
            _ => self.scope(at, thread).1,
        };
        let mut elsewhere = None;
        for other in scope {
            if at == Wait::Warp && mask >> (other - first) & 1 == 0 {
                continue;
            }
            match self.threads[other as usize].state {
                State::Finished => return Some(other),
                State::Waiting { at: their_at, location: their_location, mask: their_mask }
                    if (their_at, their_location, their_mask) == (at, location, mask) => {}
                _ => elsewhere = elsewhere.or(Some(other)),
            }
        }
        elsewhere
    }
}
