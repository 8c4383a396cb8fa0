//! Nodes of plain passes, of two to four actions: the compiler knows the number of actions and of hands, so all loads from tables come before a node's arithmetic and stores.
//! The results have the bits of [`down`](super::down) and [`up`](super::up), which do the same for any pass and number.

use super::averaging::Averaging;
use super::block::{BlockView, Side};
use super::hands::{Hands, TOGETHER};
use super::layout::{NONE, Op, flag};
use super::numbers::Numbers;
use super::strategy::LEAST;
use super::tables::{Cell, Tables};
use crate::cfr::regret::Step;
use crate::unroll::unroll;

/// Whether a node is one of these: of two to four actions, not locked, of a row that is longer than the block and not shared with other blocks.
#[device_inline]
pub(super) fn is_plain<const PARTS: bool>(view: &BlockView<'_>, side: &Side, op: &Op) -> bool {
    !PARTS && view.hands_apart::<PARTS>() < side.padded && matches!(op.n, 2..=4) && op.flags & flag::LOCKED == 0
}

/// Calls a function for the thread's hands of the row, [`TOGETHER`] at a time, with the node's number of actions as a constant.
macro_rules! for_all_hands {
    ($function:ident::<$numbers:ident>($view:expr, $side:expr, $op:expr, $($rest:expr),*)) => {{
        let (view, side, op) = ($view, $side, $op);
        let apart = view.hands_apart::<false>();
        let mut hand = view.first_hand::<false>();
        // Whole warps go round together: rows are padded, and what is stored for no hand is 0.
        while hand < side.padded {
            let hands = Hands::of_row(side, hand, apart);
            match op.n {
                2 => $function::<$numbers, 2>(view, side, op, hands, $($rest),*),
                3 => $function::<$numbers, 3>(view, side, op, hands, $($rest),*),
                _ => $function::<$numbers, 4>(view, side, op, hands, $($rest),*),
            }
            hand += TOGETHER as u32 * apart;
        }
    }};
}

/// Reach of a node's children; see [`down`](super::down).
#[device_inline]
#[track_caller]
pub(super) fn reach<N: Numbers>(view: &BlockView<'_>, side: &Side, op: &Op, step: &Step<f32>, averaging: Averaging) {
    for_all_hands!(reach_of::<N>(view, side, op, step, averaging));
}

/// Value of the traverser's node, and what it learns; see [`up`](super::up).
#[device_inline]
#[track_caller]
pub(super) fn own<N: Numbers>(view: &BlockView<'_>, side: &Side, op: &Op, step: &Step<f32>) {
    for_all_hands!(own_of::<N>(view, side, op, step));
}

/// A value for each of a thread's hands and each of `A` actions.
type Each<const A: usize> = [[f32; A]; TOGETHER];

/// Where the hands' values of a node's actions are.
#[derive(Clone, Copy)]
struct Rows {
    first: [Cell; TOGETHER],
    stride: usize,
}

impl Rows {
    #[device_inline]
    fn of(side: &Side, op: &Op, hands: &Hands<TOGETHER>) -> Self {
        Self { first: hands.index.map(|hand| side.cell(op.row, hand)), stride: side.stride as usize }
    }

    #[device_inline]
    fn cell(&self, i: usize, action: usize) -> Cell {
        self.first[i].behind(action as u32, self.stride)
    }

    /// All values, loaded by `load`.
    #[device_inline]
    #[track_caller]
    fn load<const A: usize>(&self, load: impl Fn(Cell) -> f32) -> Each<A> {
        let mut all = [[0.0; A]; TOGETHER];
        unroll!(I in [0, 1, 2] {
            let mut action = 0;
            while action < A {
                all[I][action] = load(self.cell(I, action));
                action += 1;
            }
        });
        all
    }
}

/// Regrets as stored.
#[device_inline]
#[track_caller]
fn regrets<N: Numbers, const A: usize>(tables: &Tables, rows: &Rows) -> Each<A> {
    rows.load(|at| N::load::<true>(tables.regrets(), at))
}

/// The strategy that is matched from regrets.
#[device_inline]
#[track_caller]
fn matched<N: Numbers, const A: usize>(tables: &Tables, rows: &Rows, mut regrets: Each<A>, predicts: f32) -> Each<A> {
    if predicts > 0.0 {
        let last: Each<A> = rows.load(|at| N::load::<true>(tables.last(), at));
        unroll!(I in [0, 1, 2] {
            let mut action = 0;
            while action < A {
                regrets[I][action] += predicts * last[I][action];
                action += 1;
            }
        });
    }
    regrets.map(|regrets| {
        let weights = regrets.map(|regret| if regret > 0.0 { regret } else { 0.0 });
        let mut sum = 0.0;
        let mut action = 0;
        while action < A {
            sum += weights[action];
            action += 1;
        }
        let (inverse, uniform) = if sum > LEAST { (1.0 / sum, 0.0) } else { (0.0, 1.0 / A as f32) };
        weights.map(|weight| weight * inverse + uniform)
    })
}

/// The slot of each action's child, [`NONE`] where nobody asks for its reach.
#[device_inline]
#[track_caller]
fn children<const A: usize>(view: &BlockView<'_>, op: &Op) -> [u32; A] {
    let mut slots = [NONE; A];
    let mut action = 0;
    while action < A {
        let wanted = (action as u32).wrapping_sub(op.first);
        if op.operands != NONE && wanted < op.count {
            slots[action] = view.operand(op.operands + wanted);
        }
        action += 1;
    }
    slots
}

/// [`reach`], of some hands.
#[device_inline]
#[track_caller]
fn reach_of<N: Numbers, const A: usize>(
    view: &BlockView<'_>,
    side: &Side,
    op: &Op,
    hands: Hands<TOGETHER>,
    step: &Step<f32>,
    averaging: Averaging,
) {
    let average = averaging.adds_at(op);
    let tables = &view.tables(side);
    let rows = Rows::of(side, op, &hands);
    let regrets = regrets::<N, A>(tables, &rows);
    let averages: Each<A> =
        if average { rows.load(|at| N::load::<false>(tables.averages(), at)) } else { [[0.0; A]; TOGETHER] };
    let slots = children::<A>(view, op);
    let strategies = matched::<N, A>(tables, &rows, regrets, step.predicts);
    unroll!(I in [0, 1, 2] {
        let (hand, active) = (hands.index[I], hands.active[I]);
        let reach = if active { view.get(op.input + hand) } else { 0.0 };
        let gain = if average && active { averaging.gain(view, side, hand, reach) } else { 0.0 };
        let mut action = 0;
        while action < A {
            let p = strategies[I][action];
            if average && hands.is_below[I] {
                let sum = averages[I][action] + gain * p;
                N::store::<false>(tables.averages(), rows.cell(I, action), if active { sum } else { 0.0 });
            }
            if active && slots[action] != NONE {
                view.set(slots[action] + hand, reach * p);
            }
            action += 1;
        }
    });
}

/// [`own`], of some hands.
#[device_inline]
#[track_caller]
fn own_of<N: Numbers, const A: usize>(
    view: &BlockView<'_>,
    side: &Side,
    op: &Op,
    hands: Hands<TOGETHER>,
    step: &Step<f32>,
) {
    let tables = &view.tables(side);
    let rows = Rows::of(side, op, &hands);
    let regrets = regrets::<N, A>(tables, &rows);
    let mut slots = [0; A];
    let mut action = 0;
    while action < A {
        slots[action] = view.operand(op.operands + action as u32);
        action += 1;
    }
    let strategies = matched::<N, A>(tables, &rows, regrets, step.predicts);
    let mut values = [[0.0; A]; TOGETHER];
    unroll!(I in [0, 1, 2] {
        let mut action = 0;
        while action < A {
            values[I][action] = if hands.active[I] { view.get(slots[action] + hands.index[I]) } else { 0.0 };
            action += 1;
        }
    });
    unroll!(I in [0, 1, 2] {
        let (hand, active) = (hands.index[I], hands.active[I]);
        let mut value = 0.0;
        let mut action = 0;
        while action < A {
            value += strategies[I][action] * values[I][action];
            action += 1;
        }
        if hands.is_below[I] {
            let mut action = 0;
            while action < A {
                let (at, gain) = (rows.cell(I, action), values[I][action] - value);
                let sum = step.regret(regrets[I][action], gain);
                N::store::<true>(tables.regrets(), at, if active { sum } else { 0.0 });
                if step.predicts > 0.0 {
                    N::store::<true>(tables.last(), at, if active { gain } else { 0.0 });
                }
                action += 1;
            }
        }
        if active {
            view.put(op.output + hand, value, op.flags & flag::ADD != 0);
        }
    });
}
