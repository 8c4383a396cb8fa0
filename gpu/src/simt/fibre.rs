//! Coroutines that run kernel threads, and the pool that keeps them.
//!
//! A fibre never ends: it runs the body for one simulated thread after the other and pauses when a thread has to wait or
//! no thread is left. A block without barriers therefore needs one fibre and no switch between its threads.

use std::io;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::block::Runner;

/// Stack of one simulated thread in bytes, without the guard page below it. A kernel's local arrays on a device are a few
/// kilobytes; unoptimised host code needs several times the space.
pub(super) const STACK_BYTES: usize = 128 * 1024;

/// Number of fibres that an OS thread keeps between launches: two full blocks.
const KEPT: usize = 2048;

/// The object through which a fibre returns control.
pub(super) type Switch = Yielder<*const Runner, Pause>;

/// Why a fibre returned control.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// The current thread waits at a barrier or collective.
    Waiting,
    /// The fibre runs no thread.
    Idle,
}

struct Fibre {
    coroutine: Coroutine<*const Runner, Pause, ()>,
}

impl Fibre {
    fn new() -> io::Result<Self> {
        let stack = DefaultStack::new(STACK_BYTES)?;
        let coroutine = Coroutine::with_stack(stack, |switch: &Switch, first: *const Runner| {
            let mut runner = first;
            loop {
                // SAFETY: `Pool::resume` passes a reference that lives until the fibre is idle again.
                unsafe { &*runner }.work(switch);
                runner = switch.suspend(Pause::Idle);
            }
        });
        Ok(Self { coroutine })
    }
}

impl Drop for Fibre {
    fn drop(&mut self) {
        if self.coroutine.started() && !self.coroutine.done() {
            // SAFETY: a pool drops a fibre only while it is idle, and then nothing on its stack needs dropping.
            unsafe { self.coroutine.force_reset() };
        }
    }
}

/// The fibres of one OS thread.
#[derive(Default)]
pub(super) struct Pool {
    fibres: Vec<Fibre>,
    idle: Vec<u32>,
}

impl Pool {
    /// Returns an idle fibre, or makes one if there is none.
    pub(super) fn take(&mut self) -> io::Result<u32> {
        if let Some(fibre) = self.idle.pop() {
            return Ok(fibre);
        }
        self.fibres.push(Fibre::new()?);
        Ok(self.fibres.len() as u32 - 1)
    }

    /// Lets a fibre run until it pauses; an idle fibre goes back to the pool.
    pub(super) fn resume(&mut self, fibre: u32, runner: &Runner) -> Pause {
        let pause = match self.fibres[fibre as usize].coroutine.resume(runner) {
            CoroutineResult::Yield(pause) => pause,
            // The loop in `Fibre::new` has no end.
            CoroutineResult::Return(()) => Pause::Idle,
        };
        if pause == Pause::Idle {
            self.idle.push(fibre);
        }
        pause
    }

    /// Releases the memory of a large cooperative launch. All fibres are idle.
    pub(super) fn trim(&mut self) {
        if self.fibres.len() > KEPT {
            self.fibres.truncate(KEPT);
            self.idle.retain(|&fibre| (fibre as usize) < KEPT);
        }
    }

    /// Fibres made so far and still kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.fibres.len()
    }
}
