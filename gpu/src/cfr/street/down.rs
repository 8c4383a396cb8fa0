//! Downwards: reach vectors of a seat along its own decisions. A thread has the same hands at every node, so no barrier is needed on the way.

use super::averaging::Averaging;
use super::block::{BlockView, Side};
use super::hands::{Hands, TOGETHER};
use super::layout::{NONE, Op, Pass, code};
use super::nodes;
use super::numbers::Numbers;
use super::strategy::Weights;
use crate::cfr::regret::Step;
use crate::unroll::unroll;

/// The reach of `side` at the block's root, into slot `slot`: what the street before brought, times the board's probability where `chance` asks for it.
/// Without `chance` it is the reach that averages are weighted with: 1 at the root of the game.
/// Called by all threads of the block.
#[device_inline]
#[track_caller]
pub(super) fn arrive<const PARTS: bool>(
    view: &BlockView<'_>,
    side: &Side,
    slot: u32,
    chance: bool,
    factor: f32,
    pass: &Pass,
) {
    let from = view.reach_row(side.seat);
    let is_first = view.street.is_first != 0;
    let factor = if chance { view.on.chance * factor } else { 1.0 };
    let apart = view.hands_apart::<PARTS>();
    let mut first = view.first_hand::<PARTS>();
    while first < side.n {
        let hands = Hands::<TOGETHER>::of_side(side, first, apart);
        let reach = view.numbers(side, hands.index).map(|number| match is_first && !chance {
            true => 1.0,
            false => view.reach().get(from + number),
        });
        unroll!(I in [0, 1, 2] {
            let hand = hands.index[I];
            if hands.active[I] {
                let drawn = if is_first && chance && pass.sampled & 2 != 0 { view.hand_factor(side, hand) } else { 1.0 };
                view.set(slot + hand, reach[I] * factor * drawn);
            }
        });
        first += TOGETHER as u32 * apart;
    }
}

/// Runs the operations `range` on the reach of `side`, strategies from `from`; adds weighted strategies to the averages.
/// Called by all threads of the block, after [`arrive`] has filled the root's slot.
#[device_inline]
#[track_caller]
pub(super) fn run<N: Numbers, const PARTS: bool, const PLAIN: bool>(
    view: &BlockView<'_>,
    side: &Side,
    range: [u32; 2],
    from: u32,
    step: &Step<f32>,
    pass: &Pass,
    averaging: Averaging,
) {
    let mut at = range[0];
    while at < range[1] {
        let op = &view.op(at);
        if PLAIN && op.code == code::REACH && nodes::is_plain::<PARTS>(view, side, op) {
            nodes::reach::<N>(view, side, op, step, averaging);
        } else if op.code == code::REACH {
            reach::<N, PARTS>(view, side, op, from, step, pass, averaging);
        } else {
            leave::<PARTS>(view, side, op);
        }
        at += 1;
    }
}

/// Reach of a node's children.
#[device_inline]
#[track_caller]
fn reach<N: Numbers, const PARTS: bool>(
    view: &BlockView<'_>,
    side: &Side,
    op: &Op,
    from: u32,
    step: &Step<f32>,
    pass: &Pass,
    averaging: Averaging,
) {
    let average = averaging.adds_at(op);
    let given = view.given_row(op);
    let tables = &view.tables(side);
    let operands = view.operands();
    let mut hand = view.first_hand::<PARTS>();
    // Whole warps go round together: rows are padded, and what is stored for no hand is 0.
    while hand < side.padded {
        let active = hand < side.n;
        let row = side.cell(op.row, hand);
        let weights = Weights::read::<N>(tables, from, step.predicts, op.n, row, side.stride);
        let reach = if active { view.get(op.input + hand) } else { 0.0 };
        // A given strategy leaves 0 in the averages.
        let is_given = given != NONE && active && view.given(side, given, hand) >= 0.0;
        let learns = active && own_factor(view, side, pass, hand) > 0.0;
        let gain = if average && learns { averaging.gain(view, side, hand, reach) } else { 0.0 };
        weights.for_each::<N>(tables, |action, at, _, p| {
            if average {
                let sum = N::load::<false>(tables.averages(), at) + gain * p;
                N::store::<false>(tables.averages(), at, if active && !is_given { sum } else { 0.0 });
            }
            let p = if is_given { view.given(side, given + action, hand) } else { p };
            let wanted = action.wrapping_sub(op.first);
            if op.operands != NONE && wanted < op.count && active {
                let slot = operands.get((op.operands + wanted) as usize);
                if slot != NONE {
                    view.set(slot + hand, reach * p);
                }
            }
        });
        hand += view.hands_apart::<PARTS>();
    }
}

/// How much the traverser's hand counts where hands are sampled; 1 where they are not.
#[device_inline]
#[track_caller]
pub(super) fn own_factor(view: &BlockView<'_>, side: &Side, pass: &Pass, hand: u32) -> f32 {
    if pass.sampled & 4 == 0 { 1.0 } else { view.hand_factor(side, hand) }
}

/// Hands a reach on to the next street.
#[device_inline]
#[track_caller]
fn leave<const PARTS: bool>(view: &BlockView<'_>, side: &Side, op: &Op) {
    let row = view.next_reach_row(side.seat, op.entry);
    let mut hand = view.first_hand::<PARTS>();
    while hand < side.n {
        view.own_reach().set(row + view.number(side, hand), view.get(op.input + hand));
        hand += view.hands_apart::<PARTS>();
    }
}
