//! Decision nodes: strategies and reaches of one seat, values and regrets level by level. A thread a node and card.

use super::layout::{CARDS, Row, Tables, get, mode, row, set};
use crate::cfr::regret::{Real, Step, probability};
use crate::cuda::memory::{load, store};
use crate::cuda::thread;
use crate::launch::LaunchShape;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Launch shape for `n` nodes.
pub const fn shape(n: u32) -> LaunchShape {
    let blocks = if n == 0 { 1 } else { n.div_ceil(BLOCK / CARDS as u32) };
    LaunchShape::new(blocks, BLOCK)
}

/// Launch shape of a single thread.
pub const fn finish_shape() -> LaunchShape {
    LaunchShape::new(1, 1)
}

/// The node and card of a thread among `n` nodes.
#[device_inline]
fn node_and_card(n: u32) -> Option<(u32, u32)> {
    let index = thread::index_1d();
    let (node, card) = ((index / CARDS as u64) as u32, (index % CARDS as u64) as u32);
    (index < n as u64 * CARDS as u64).then_some((node, card))
}

/// Children of a node, and the seat that acts.
#[device_inline]
fn parts(children_and_seat: u32) -> (u32, u32) {
    (children_and_seat & 0xFFFF, children_and_seat >> 16)
}

/// Strategy of a node and card from what `of` says of each action (not negative).
///
/// # Safety
/// The actions' numbers are this thread's.
#[device_inline]
#[track_caller]
unsafe fn normalise<T: Real>(strategy: *mut Row<T>, first: u32, n: u32, card: u32, of: impl Fn(u32) -> T) {
    // SAFETY: the tables have a row for each action, of which the card's number is this thread's.
    unsafe {
        let mut sum = T::ZERO;
        let mut action = 0;
        while action < n {
            sum += of(first + action);
            action += 1;
        }
        let mut action = 0;
        while action < n {
            set(strategy, first + action, card, probability(of(first + action), sum, n));
            action += 1;
        }
    }
}

/// Strategies of a seat's `n` nodes from index `from` of the lists on: from regrets, or from averages.
///
/// # Safety
/// Launched with [`shape`]; the tables are complete.
#[device_inline]
#[track_caller]
pub(super) unsafe fn strategy<T: Real>(tables: Tables<T>, from: u32, n: u32, averages: u32, predicts: u32) {
    let Some((number, card)) = node_and_card(n) else { return };
    // SAFETY: the node is there, and its actions and card are this thread's.
    unsafe {
        let own = load(tables.own, (from + number) as usize);
        let node = load(tables.nodes, own.node as usize);
        let (n_children, _) = parts(node.children_and_seat);
        normalise(tables.strategy, node.first_child, n_children, card, |action| {
            if averages != 0 {
                return get(tables.averages, action, card);
            }
            let last = if predicts != 0 { get(tables.last, action, card) } else { T::ZERO };
            (get(tables.regrets, action, card) + last).positive()
        });
    }
}

/// Reaches of a seat after each action of its `n` nodes from index `from` of the lists on.
///
/// # Safety
/// As [`strategy`], after it.
#[device_inline]
#[track_caller]
pub(super) unsafe fn reach<T: Real>(tables: Tables<T>, from: u32, n: u32) {
    let Some((number, card)) = node_and_card(n) else { return };
    // SAFETY: the node is there, and so are those before it; its actions' reaches of the card are this thread's.
    unsafe {
        let own = load(tables.own, (from + number) as usize);
        let mut before = get(tables.reach, row::ROOT, card);
        let mut at = own;
        while at.row != row::ROOT {
            before *= get(tables.strategy, at.row - row::after(0), card);
            at = load(tables.own, (from + at.previous) as usize);
        }
        let node = load(tables.nodes, own.node as usize);
        let (n_children, _) = parts(node.children_and_seat);
        let mut action = node.first_child;
        while action < node.first_child + n_children {
            set(tables.reach, row::after(action), card, before * get(tables.strategy, action, card));
            action += 1;
        }
    }
}

/// Values of `n` nodes of one level from `first` on, for `seat`; see [`mode`].
///
/// # Safety
/// Launched with [`shape`] after the terminals and the level below.
#[device_inline]
#[track_caller]
pub(super) unsafe fn values<T: Real>(tables: Tables<T>, first: u32, n: u32, seat: u32, what: u32, predicts: u32) {
    let Some((number, card)) = node_and_card(n) else { return };
    // SAFETY: node and children are there; the node's value and its actions' numbers of the card are this thread's.
    unsafe {
        let number = first + number;
        let node = load(tables.nodes, number as usize);
        let (n_children, of) = parts(node.children_and_seat);
        if n_children == 0 {
            return;
        }
        let (from, end) = (node.first_child, node.first_child + n_children);
        let own = of == seat;
        let mut value = T::ZERO;
        let mut action = from;
        while action < end {
            let of_action = get(tables.values, action, card);
            if !own {
                value += of_action;
            } else if what == mode::BEST {
                value = if action == from { of_action } else { value.larger(of_action) };
            } else {
                value += get(tables.strategy, action, card) * of_action;
            }
            action += 1;
        }
        set(tables.values, number, card, value);
        if own && what <= mode::LEARN_LATER {
            let step: Step<T> = load(tables.steps, load(tables.step.cast_const(), 0) as usize);
            let mut action = from;
            while action < end {
                let gain = (get(tables.values, action, card) - value) * tables.factor;
                set(tables.regrets, action, card, step.regret(get(tables.regrets, action, card), gain));
                if predicts != 0 {
                    set(tables.last, action, card, gain);
                }
                let reach = get(tables.reach, row::after(action), card);
                set(tables.averages, action, card, get(tables.averages, action, card) + step.weight * reach);
                action += 1;
            }
            if what == mode::LEARN {
                normalise(tables.strategy, from, n_children, card, |action| {
                    let last = if predicts != 0 { get(tables.last, action, card) } else { T::ZERO };
                    step.matched(get(tables.regrets, action, card), last)
                });
            }
        }
    }
}

/// Value of the root summed over cards, added to number `sum` of the sums or (`replaces`) stored there; and one more iteration done where `advances`.
///
/// # Safety
/// Launched with [`finish_shape`] after the root's value was made.
#[device_inline]
#[track_caller]
pub(super) unsafe fn finish<T: Real>(tables: Tables<T>, sum: u32, replaces: u32, advances: u32) {
    // SAFETY: one thread alone; the caller names a sum that is there.
    unsafe {
        let mut value = 0.0;
        let mut card = 0;
        while card < tables.n_cards {
            value += get(tables.values, 0, card).to_f64();
            card += 1;
        }
        let before = if replaces != 0 { 0.0 } else { load(tables.sums.cast_const(), sum as usize) };
        store(tables.sums, sum as usize, before + value * tables.factor.to_f64());
        if advances != 0 {
            store(tables.step, 0, load(tables.step.cast_const(), 0) + 1);
        }
    }
}
