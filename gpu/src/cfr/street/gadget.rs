//! The choice before the first decision of a subgame that is re-solved: to end it with a value for each hand, or to play on.

use super::layout::{Task, control};
use crate::cfr::regret::probability;
use crate::cuda::{DeviceArgs, kernel, memory, thread};
use crate::launch::LaunchShape;

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// The choice of a seat, hand by hand.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
pub struct Gadget {
    /// What each hand wins by ending.
    #[len(n_hands)]
    pub alternatives: *const f32,
    /// Reach of a hand that always plays on.
    #[len(n_hands)]
    pub full_reach: *const f32,
    /// Cumulative regrets of playing on and of ending.
    #[len(n_hands)]
    pub regrets: *mut [f32; 2],
    /// First value of the seat's row of [`Task::values`] at the root.
    pub first_value: u64,
    /// First value of its row of [`Task::reach`].
    pub first_reach: u64,
    /// Hands of the seat.
    pub n_hands: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Gadget>() == 48);

/// Launch shape for `n_hands` hands.
pub const fn shape(n_hands: u32) -> LaunchShape {
    LaunchShape::linear(n_hands, BLOCK)
}

/// How often a hand with these regrets plays on.
#[device_inline]
pub fn plays_on([on, end]: [f32; 2]) -> f32 {
    let (on, end) = (on.max(0.0), end.max(0.0));
    probability(on, on + end, 2)
}

/// Learns from the values of the seat's last pass, and sets the reach with which its hands play on.
///
/// * Launch: [`shape`], a thread a hand, blocks of 128.
/// * Reads: `values` of the root; `alternatives`, `full_reach`; the step of the iteration.
/// * Writes: `regrets`; `reach` of the root.
/// * Shared: none.
/// * Cost: a dozen operations a thread.
/// * Twin: `warpplay_cpu_ref::cfr::vector::gadget::learn`.
/// * Source: Burch, Johanson and Bowling 2014, part 4.
///
/// # Safety
/// `gadget` is the host's for the game of `task`, which has one board on its first street: its rows of `values` and `reach` have `n_hands` numbers. The step's number is that of a step.
#[kernel(shape = shape(gadget.n_hands), max_threads = BLOCK)]
pub unsafe fn cfr_street_gadget(task: Task, gadget: Gadget) {
    let Some(hand) = thread::index_1d_below(gadget.n_hands) else { return };
    let hand = hand as usize;
    // SAFETY: the hand is below `n_hands`, rows begin where the host says, and each hand is one thread's, as the kernel asks.
    unsafe {
        let step = memory::load(task.steps, memory::load(task.control, control::STEP) as usize);
        let values =
            [memory::load(task.values, gadget.first_value as usize + hand), memory::load(gadget.alternatives, hand)];
        let regrets = memory::load(gadget.regrets, hand);
        let part = plays_on(regrets);
        let mean = part * values[0] + (1.0 - part) * values[1];
        let regrets = [step.regret(regrets[0], values[0] - mean), step.regret(regrets[1], values[1] - mean)];
        memory::store(gadget.regrets, hand, regrets);
        let reach = memory::load(gadget.full_reach, hand) * plays_on(regrets);
        memory::store(task.reach, gadget.first_reach as usize + hand, reach);
    }
}
