//! Runs a group of blocks on one OS thread, and is what the hooks see of it.
//!
//! A group is what has to be alive together: one block, or the blocks of a cluster, or the whole grid of a cooperative
//! launch. The scheduler ([`Runner::run`]) begins threads in order and switches to those that a barrier has released; a
//! thread gives control back only in [`Runner::pause`].

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::{Arc, Once};

use super::banks::{Banks, Counters};
use super::barrier::{Arrival, Diverged, Next, Queue, Sizes, Values};
use super::cell::Toucher;
use super::fibre::{Pause, Pool, Switch};
use super::global::Global;
use super::memory::Snapshot;
use super::report::{Access, Elsewhere, Fault, FaultKind, SourceLocation, Space, UnorderedPair, Wait};
use super::shared::{Denied, Shared};
use crate::launch::LaunchShape;

thread_local! {
    /// The group that this OS thread runs; null outside a launch.
    static CURRENT: Cell<*const Runner> = const { Cell::new(ptr::null()) };
    /// Memory that this OS thread reuses from group to group and launch to launch.
    static WORKSPACE: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

/// The data of a launch that its blocks share.
pub(super) struct Plan {
    pub(super) kernel: &'static str,
    pub(super) shape: LaunchShape,
    pub(super) sizes: Sizes,
    pub(super) check_races: bool,
    /// Shadow memory for races on global memory, if these are detected.
    pub(super) global: Option<Global>,
    /// Counters of bank conflicts, if these are counted.
    pub(super) banks: Option<Arc<Counters>>,
    pub(super) buffers: Snapshot,
    /// Whether warpgroups multiply.
    pub(super) warpgroups: bool,
    /// Runs the kernel's body for the current simulated thread.
    pub(super) body: Box<dyn Fn() + Send + Sync>,
}

/// Fibres and bookkeeping of one OS thread.
#[derive(Default)]
pub(super) struct Workspace {
    pool: Pool,
    runner: Runner,
}

/// The simulated thread that runs.
#[derive(Clone, Copy, Default)]
pub(super) struct Cursor {
    /// Number in the group, block after block.
    thread: u32,
    /// Block in the group.
    pub(super) block: u32,
    /// Number in the block, x first.
    pub(super) in_block: u32,
    pub(super) thread_idx: [u32; 3],
    pub(super) block_idx: [u32; 3],
}

/// The state of a running group. All fields are cells, since all its threads access them in turn.
pub(super) struct Runner {
    plan: Cell<*const Plan>,
    first_block: Cell<u64>,
    pub(super) cursor: Cell<Cursor>,
    /// Cursor of the thread begun last.
    begun: Cell<Cursor>,
    switch: Cell<*const Switch>,
    /// Whether a kernel's body runs, as opposed to the scheduler.
    inside: Cell<bool>,
    stopping: Cell<bool>,
    /// Whether the OS thread was already unwinding when the launch began.
    was_panicking: Cell<bool>,
    /// Text of the last panic of a body.
    panic_text: RefCell<Option<String>>,
    fault: RefCell<Option<Fault>>,
    queue: RefCell<Queue>,
    shared: RefCell<Shared>,
    /// Requests of the group, while bank conflicts are counted.
    banks: RefCell<Option<Banks>>,
    last_buffer: Cell<usize>,
}

/// Panic payload that unwinds a simulated thread after a fault.
struct Stop;

impl Default for Runner {
    fn default() -> Self {
        Self {
            plan: Cell::new(ptr::null()),
            first_block: Cell::default(),
            cursor: Cell::default(),
            begun: Cell::default(),
            switch: Cell::new(ptr::null()),
            inside: Cell::default(),
            stopping: Cell::default(),
            was_panicking: Cell::default(),
            panic_text: RefCell::default(),
            fault: RefCell::default(),
            queue: RefCell::default(),
            shared: RefCell::default(),
            banks: RefCell::default(),
            last_buffer: Cell::default(),
        }
    }
}

/// Whether this OS thread is inside a launch.
pub(super) fn is_inside() -> bool {
    !CURRENT.get().is_null()
}

/// The group of the calling thread.
///
/// # Panics
/// Outside a launch.
#[inline]
#[track_caller]
pub(super) fn current<'a>() -> &'a Runner {
    let runner = CURRENT.get();
    assert!(!runner.is_null(), "device code was called outside a `simt` launch: run the kernel with `simt::launch`");
    // SAFETY: not null only during `Runner::run`, which borrows the runner until all its simulated threads have ended,
    // and callers, being those threads, do not keep the reference longer.
    unsafe { &*runner }
}

impl Workspace {
    /// Takes this OS thread's workspace, or makes a new one if there is none.
    pub(super) fn take() -> Box<Self> {
        WORKSPACE.take().unwrap_or_default()
    }

    /// Keeps the workspace for the next launch.
    pub(super) fn put(mut self: Box<Self>) {
        self.pool.trim();
        self.runner.shared.get_mut().trim(64);
        WORKSPACE.set(Some(self));
    }

    /// Runs the group that begins with block `first_block` of the grid.
    pub(super) fn run(&mut self, plan: &Plan, first_block: u64) -> Result<(), Fault> {
        self.runner.run(plan, first_block, &mut self.pool)
    }

    /// Stacks made so far and still kept.
    #[cfg(test)]
    pub(super) fn n_stacks(&self) -> usize {
        self.pool.len()
    }
}

/// Restores `CURRENT`, also when the scheduler unwinds.
struct Entered;

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(ptr::null());
    }
}

/// Index triple of the `n`th of `size`, x first.
fn unravel(n: u64, size: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(size[0]), u64::from(size[1]));
    [(n % x) as u32, (n / x % y) as u32, (n / x / y) as u32]
}

impl Runner {
    pub(super) fn plan(&self) -> &Plan {
        // SAFETY: set by `run`, whose borrow of the plan lasts as long as simulated threads run.
        unsafe { &*self.plan.get() }
    }

    /// The scheduler.
    fn run(&self, plan: &Plan, first_block: u64, pool: &mut Pool) -> Result<(), Fault> {
        self.plan.set(plan);
        self.first_block.set(first_block);
        self.stopping.set(false);
        self.was_panicking.set(std::thread::panicking());
        self.fault.take();
        self.queue.borrow_mut().begin(plan.sizes);
        self.shared.borrow_mut().begin(plan.sizes.group, plan.sizes.warps(), plan.shape.shared_bytes, plan.check_races);
        self.banks.replace(plan.banks.as_ref().map(|_| Banks::default()));
        CURRENT.set(self);
        let _entered = Entered;
        while !self.stopping.get() {
            let next = self.queue.borrow_mut().next();
            let fibre = match next {
                Next::Done => break,
                Next::Resume(fibre) => fibre,
                Next::Begin => match pool.take() {
                    Ok(fibre) => fibre,
                    Err(error) => {
                        let kind = FaultKind::Shape {
                            message: format!(
                                "no stack for one more simulated thread ({error}): launch fewer threads that wait at a time"
                            ),
                        };
                        self.note(kind, [0; 3], [0; 3]);
                        break;
                    }
                },
                Next::Stuck => {
                    let diverged = self.queue.borrow().diagnose();
                    if let Some(diverged) = diverged {
                        self.note_diverged(diverged);
                    }
                    self.stopping.set(true);
                    break;
                }
            };
            self.resume(fibre, pool);
        }
        if self.stopping.get() {
            // Threads that wait find `stopping` set and unwind.
            while let Some(fibre) = { self.queue.borrow_mut().abandon() } {
                self.resume(fibre, pool);
            }
        }
        if let (Some(banks), Some(counters)) = (self.banks.take(), &plan.banks) {
            banks.add_to(counters, plan.kernel);
        }
        match self.fault.take() {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    fn resume(&self, fibre: u32, pool: &mut Pool) {
        self.inside.set(true);
        let pause = pool.resume(fibre, self);
        self.inside.set(false);
        if pause == Pause::Waiting {
            self.queue.borrow_mut().park(self.cursor.get().thread, fibre);
        }
    }

    /// Runs threads on the calling fibre until one has to wait or another fibre has priority.
    pub(super) fn work(&self, switch: &Switch) {
        while !self.stopping.get() {
            {
                let mut queue = self.queue.borrow_mut();
                if !queue.may_begin() {
                    return;
                }
                let thread = queue.begin_next();
                let cursor = self.following(thread);
                self.begun.set(cursor);
                self.cursor.set(cursor);
            }
            self.switch.set(switch);
            let outcome = panic::catch_unwind(AssertUnwindSafe(&self.plan().body));
            self.queue.borrow_mut().finish(self.cursor.get().thread);
            if let Err(payload) = outcome {
                self.caught(payload);
            }
        }
    }

    /// The cursor of `thread`, which follows the thread begun last.
    fn following(&self, thread: u32) -> Cursor {
        let shape = &self.plan().shape;
        let mut cursor = self.begun.get();
        cursor.thread = thread;
        if thread == 0 || cursor.in_block + 1 == self.plan().sizes.block {
            cursor.block = if thread == 0 { 0 } else { cursor.block + 1 };
            cursor.in_block = 0;
            cursor.thread_idx = [0; 3];
            cursor.block_idx = self.block_idx(cursor.block);
            return cursor;
        }
        cursor.in_block += 1;
        cursor.thread_idx[0] += 1;
        if cursor.thread_idx[0] == shape.block[0] {
            cursor.thread_idx[0] = 0;
            cursor.thread_idx[1] += 1;
            if cursor.thread_idx[1] == shape.block[1] {
                cursor.thread_idx[1] = 0;
                cursor.thread_idx[2] += 1;
            }
        }
        cursor
    }

    fn block_idx(&self, block: u32) -> [u32; 3] {
        unravel(self.first_block.get() + u64::from(block), self.plan().shape.grid)
    }

    fn thread_idx(&self, in_block: u32) -> [u32; 3] {
        unravel(u64::from(in_block), self.plan().shape.block)
    }

    /// Block and thread index of a thread of the group.
    fn indices(&self, thread: u32) -> ([u32; 3], [u32; 3]) {
        let n_threads = self.plan().sizes.block;
        (self.block_idx(thread / n_threads), self.thread_idx(thread % n_threads))
    }

    /// Handles a body that has unwound, by `Stop` or by its own panic.
    #[cold]
    fn caught(&self, payload: Box<dyn Any + Send>) {
        if payload.is::<Stop>() {
            return;
        }
        let message = self.panic_text.take().unwrap_or_else(|| {
            // Somebody has replaced the panic hook, and the location is lost with it.
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "a panic without text".to_owned())
        });
        let cursor = self.cursor.get();
        self.note(FaultKind::Trap { message }, cursor.block_idx, cursor.thread_idx);
    }

    /// Keeps the first fault and stops the group.
    fn note(&self, kind: FaultKind, block: [u32; 3], thread: [u32; 3]) {
        self.fault.borrow_mut().get_or_insert_with(|| Fault { kernel: self.plan().kernel, block, thread, kind });
        self.stopping.set(true);
    }

    fn note_diverged(&self, diverged: Diverged) {
        let (block, thread) = self.indices(diverged.waiting);
        let (other_block, other_thread) = self.indices(diverged.missing);
        let other = match diverged.instead {
            _ if diverged.waiting == diverged.missing => Elsewhere::NotInMask,
            Some((at, location)) => Elsewhere::Waits { at, location },
            None => Elsewhere::Returned,
        };
        let kind = if diverged.at == Wait::Warp {
            FaultKind::DivergentCollective {
                mask: diverged.mask,
                location: diverged.location,
                lane: diverged.missing % self.plan().sizes.block % 32,
                other_thread,
                other,
            }
        } else {
            FaultKind::DivergentBarrier {
                barrier: diverged.at,
                location: diverged.location,
                other_block,
                other_thread,
                other,
            }
        };
        self.note(kind, block, thread);
    }

    /// Whether the calling thread unwinds. Destructors may call hooks then; these do nothing, since a second panic would
    /// end the process.
    fn unwinds(&self) -> bool {
        std::thread::panicking() && !self.was_panicking.get()
    }

    /// Ends the calling thread and thereby the launch.
    fn stop(&self) {
        if !self.unwinds() {
            panic::resume_unwind(Box::new(Stop));
        }
    }

    /// Reports a fault of the calling thread and ends it. Returns only if the thread unwinds already.
    #[cold]
    pub(super) fn fail(&self, kind: FaultKind) {
        if self.unwinds() {
            return;
        }
        let cursor = self.cursor.get();
        self.note(kind, cursor.block_idx, cursor.thread_idx);
        self.stop();
    }

    /// Lets other threads run until the present one is released.
    fn pause(&self) {
        let (cursor, switch) = (self.cursor.get(), self.switch.get());
        // SAFETY: `work` set the switch of the fibre on which the calling thread runs, and each pause sets it again.
        unsafe { &*switch }.suspend(Pause::Waiting);
        self.cursor.set(cursor);
        self.switch.set(switch);
        if self.stopping.get() {
            self.stop();
        }
    }

    /// Acts on an arrival.
    fn settle(&self, arrival: Arrival) {
        match arrival {
            Arrival::Pass => {}
            Arrival::Wait => self.pause(),
            Arrival::Diverged(diverged) => {
                self.note_diverged(diverged);
                self.stop();
            }
        }
    }

    /// Waits at the barrier of the block, cluster or grid.
    pub(super) fn barrier(&self, wait: Wait, location: SourceLocation) {
        if self.unwinds() {
            return;
        }
        let thread = self.cursor.get().thread;
        let released = |blocks| {
            self.shared.borrow_mut().barrier(blocks, wait != Wait::Block);
        };
        let arrival = self.queue.borrow_mut().arrive(wait, thread, location, released);
        self.settle(arrival);
        self.pass(thread);
    }

    /// Waits for the lanes of `mask`, of which each deposits `values`. The last one computes what follows from them, and each takes what it needs; `None` while the thread is stopped.
    pub(super) fn collective<R>(
        &self,
        mask: u32,
        values: &[u64],
        location: SourceLocation,
        compute: impl FnOnce(&[[u64; 32]], &mut Vec<u64>),
        take: impl FnOnce(&Values) -> R,
    ) -> Option<R> {
        if self.unwinds() {
            return None;
        }
        let thread = self.cursor.get().thread;
        let released = |warp, mask| self.shared.borrow_mut().join_lanes(warp, mask);
        let arrival = self.queue.borrow_mut().arrive_warp(thread, mask, location, values, released, compute);
        self.settle(arrival);
        if mask == u32::MAX {
            self.pass(thread);
        }
        Some(self.queue.borrow_mut().take(thread, take))
    }

    /// Notes that the calling thread passes a mark, which all lanes of its warp pass equally often.
    pub(super) fn warp_step(&self) {
        self.pass(self.cursor.get().thread);
    }

    /// Informs the count of bank conflicts that a thread has passed a barrier.
    fn pass(&self, thread: u32) {
        if self.plan().banks.is_some()
            && let Some(banks) = &mut *self.banks.borrow_mut()
        {
            banks.pass(thread);
        }
    }

    /// Checks an access to global memory.
    pub(super) fn check_global(&self, address: usize, bytes: usize, access: Access, location: SourceLocation) {
        let inside = self.check_global_bounds(address, bytes, access != Access::Read, location);
        if inside && let Some(global) = &self.plan().global {
            self.check_global_race(global, address, bytes, access, location);
        }
    }

    /// Checks that bytes of global memory are in one buffer, and says whether they are.
    pub(super) fn check_global_bounds(
        &self,
        address: usize,
        bytes: usize,
        write: bool,
        location: SourceLocation,
    ) -> bool {
        let mut last = self.last_buffer.get();
        let buffers = &self.plan().buffers;
        if buffers.holds(address, bytes, &mut last) {
            self.last_buffer.set(last);
            return true;
        }
        self.fail(FaultKind::OutOfBounds {
            space: Space::Global,
            address,
            bytes,
            write,
            location,
            nearest: buffers.nearest(address, bytes),
        });
        false
    }

    /// Detects a thread that accessed the same global memory without order.
    fn check_global_race(
        &self,
        global: &Global,
        address: usize,
        bytes: usize,
        access: Access,
        location: SourceLocation,
    ) {
        let cursor = self.cursor.get();
        let me = Toucher { block: cursor.block, thread: cursor.in_block };
        let blocks = u64::from(self.plan().sizes.group);
        let group = self.first_block.get() / blocks;
        let result = {
            let shared = self.shared.borrow();
            global.touch(group, me, shared.order(me), (address, bytes), access, location)
        };
        let Err(race) = result else { return };
        let buffer = self.plan().buffers.nearest(race.address, 1);
        let (first, bytes) = buffer.map_or((race.address, 0), |buffer| (buffer.address, buffer.bytes));
        self.fail(FaultKind::GlobalRace {
            offset: race.address - first,
            bytes,
            address: race.address,
            pair: UnorderedPair {
                access,
                location,
                other_block: unravel(race.group * blocks + u64::from(race.other.block), self.plan().shape.grid),
                other_thread: self.thread_idx(race.other.thread),
                other_access: race.other_access,
                other_location: race.other_location,
            },
        });
    }

    /// Block of the group that has `rank` in the calling thread's cluster.
    pub(super) fn cluster_block(&self, rank: u32, location: SourceLocation) -> Option<u32> {
        let cluster = self.plan().sizes.cluster;
        if rank < cluster {
            let block = self.cursor.get().block;
            return Some(block - block % cluster + rank);
        }
        self.fail(FaultKind::Trap {
            message: format!(
                "rank {rank} of the cluster does not exist, at {location}: the cluster has {cluster} blocks"
            ),
        });
        None
    }

    /// Accesses shared memory of block `owner` of the group. `act` receives the bytes; it is not called if the access is
    /// refused.
    pub(super) fn shared(
        &self,
        owner: u32,
        address: u32,
        len: usize,
        access: Access,
        location: SourceLocation,
        act: impl FnOnce(&mut [u8]),
    ) {
        let cursor = self.cursor.get();
        let me = Toucher { block: cursor.block, thread: cursor.in_block };
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        let denied = {
            let mut shared = self.shared.borrow_mut();
            match shared.access(me, owner, address, len, access, location) {
                Ok(bytes) => {
                    act(bytes);
                    drop(shared);
                    if self.plan().banks.is_some() && owner == cursor.block {
                        self.count_banks(cursor, address, len, access, location);
                    }
                    return;
                }
                Err(denied) => denied,
            }
        };
        self.fail(match denied {
            Denied::Alone(kind) => kind,
            Denied::Race(race) => FaultKind::SharedRace {
                array: race.array,
                offset: race.offset,
                address: race.address,
                pair: UnorderedPair {
                    access,
                    location,
                    other_block: self.block_idx(race.other.block),
                    other_thread: self.thread_idx(race.other.thread),
                    other_access: race.other_access,
                    other_location: race.other_location,
                },
            },
        });
    }

    /// Informs the count of bank conflicts about an access.
    #[cold]
    fn count_banks(&self, cursor: Cursor, address: u32, len: u32, access: Access, location: SourceLocation) {
        if let Some(banks) = &mut *self.banks.borrow_mut() {
            let warp = cursor.block * self.plan().sizes.warps() + cursor.in_block / 32;
            banks.access(cursor.thread, warp, cursor.in_block % 32, (address, len), access, location);
        }
    }

    /// Address of a static shared array.
    pub(super) fn declare(&self, name: &'static str, bytes: u32, location: SourceLocation) -> u32 {
        let declared = self.shared.borrow_mut().declare(name, bytes, location);
        match declared {
            Ok(address) => address,
            Err(kind) => {
                self.fail(kind);
                0
            }
        }
    }

    /// Address and size of the dynamic shared memory.
    pub(super) fn dynamic(&self) -> (u32, u32) {
        self.shared.borrow().dynamic()
    }
}

/// Silences panics of simulated threads, which become reports. All other panics go to the previous hook.
pub(super) fn install_panic_hook() {
    static ONCE: Once = Once::new();
    // The standard library refuses to change the hook while the thread panics; a later launch does it.
    if std::thread::panicking() {
        return;
    }
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let runner = CURRENT.get();
            // SAFETY: as in `current`.
            match unsafe { runner.as_ref() } {
                Some(runner) if runner.inside.get() => {
                    let text = info.payload_as_str().unwrap_or("a panic without text");
                    let text = match info.location() {
                        Some(location) => format!("{text}, at {location}"),
                        None => text.to_owned(),
                    };
                    runner.panic_text.replace(Some(text));
                }
                _ => previous(info),
            }
        }));
    });
}
