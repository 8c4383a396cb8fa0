//! Upwards: the traverser's values from the ends of the betting to its root, and what it learns on the way. A thread has the same hands at every node.

use super::block::{BlockView, Side};
use super::down::own_factor;
use super::hands::{Hands, TOGETHER};
use super::layout::{ALL_CARDS, NO_HAND, NONE, Op, Pass, ROW, TOTALS, code, flag, mode};
use super::nodes;
use super::numbers::Numbers;
use super::strategy::Weights;
use super::tables::{Cell, Tables};
use crate::cfr::regret::Step;
use crate::unroll::unroll;

/// Runs the operations `range` for the traverser's `side` against the opponent's `other`.
/// Called by all threads of the block, after a barrier that follows the evaluations.
#[device_inline]
#[track_caller]
pub(super) fn run<N: Numbers, const PARTS: bool, const PLAIN: bool>(
    view: &BlockView<'_>,
    side: &Side,
    other: &Side,
    range: [u32; 2],
    step: &Step<f32>,
    pass: &Pass,
) {
    let mut at = range[0];
    while at < range[1] {
        let op = &view.op(at);
        if PLAIN && op.code == code::OWN && nodes::is_plain::<PARTS>(view, side, op) {
            nodes::own::<N>(view, side, op, step);
        } else if op.code == code::OWN {
            match view.given_row(op) {
                NONE => own::<N, PARTS>(view, side, op, step, pass),
                row => own_locked::<N, PARTS>(view, side, op, row, step, pass),
            }
        } else if op.code == code::RETURN {
            come_back::<PARTS>(view, side, op);
        } else {
            end::<PARTS>(view, side, other, op);
        }
        at += 1;
    }
}

/// Value where a hand ends: its payoffs times the reach of the opponent's hands that leave it possible, by who is stronger.
#[device_inline]
#[track_caller]
fn end<const PARTS: bool>(view: &BlockView<'_>, side: &Side, other: &Side, op: &Op) {
    let apart = view.hands_apart::<PARTS>();
    // Where blocks share the row, each has one round of it.
    let many = !PARTS && apart < side.n;
    let mut hand = view.first_hand::<PARTS>();
    while hand < side.n {
        if many {
            end_of(view, side, other, op, Hands::<TOGETHER>::of_side(side, hand, apart));
            hand += TOGETHER as u32 * apart;
        } else {
            end_of(view, side, other, op, Hands::<1>::of_side(side, hand, apart));
            hand += apart;
        }
    }
}

/// [`end`], of some hands.
#[device_inline]
#[track_caller]
fn end_of<const T: usize>(view: &BlockView<'_>, side: &Side, other: &Side, op: &Op, hands: Hands<T>) {
    let add = op.flags & flag::ADD != 0;
    let prefix = op.region + TOTALS;
    let by_card = prefix + other.stride + ROW;
    let all = view.get(op.region + ALL_CARDS);
    let records = hands.index.map(|hand| view.record(side, hand));
    let values = records.map(|record| {
        let low = |word: u32| word & 0xffff;
        let (first, second, same) = (record[3] & 0xff, record[3] >> 8 & 0xff, record[3] >> 16);
        // The same hand was taken away with both of its cards.
        let same = if same == NO_HAND { 0.0 } else { view.get(op.input + same) };
        let met = all - view.get(op.region + first) - view.get(op.region + second) + same;
        if op.code == code::FOLD {
            return op.payoff[0] * met;
        }
        let below = |all: u32, a: u32, b: u32| view.get(prefix + all) - view.get(by_card + a) - view.get(by_card + b);
        let weaker = below(low(record[0]), low(record[1]), low(record[2]));
        let not_stronger = below(record[0] >> 16, record[1] >> 16, record[2] >> 16) + same;
        op.payoff[0] * weaker + op.payoff[1] * (met - not_stronger) + op.payoff[2] * (not_stronger - weaker)
    });
    let mut i = 0;
    while i < T {
        if hands.active[i] {
            view.put(op.output + hands.index[i], values[i], add);
        }
        i += 1;
    }
}

/// Value where the next card comes: the sum over the boards of the next street, which [`returns`](super::returns) has made.
#[device_inline]
#[track_caller]
fn come_back<const PARTS: bool>(view: &BlockView<'_>, side: &Side, op: &Op) {
    let add = op.flags & flag::ADD != 0;
    let row = view.next_reach_row(side.seat, op.entry);
    let apart = view.hands_apart::<PARTS>();
    let mut first = view.first_hand::<PARTS>();
    while first < side.n {
        let hands = Hands::<TOGETHER>::of_side(side, first, apart);
        let values = view.numbers(side, hands.index).map(|number| view.reach().get(row + number));
        unroll!(I in [0, 1, 2] {
            if hands.active[I] {
                view.put(op.output + hands.index[I], values[I], add);
            }
        });
        first += TOGETHER as u32 * apart;
    }
}

/// Value of the traverser's node from those of its actions, and what it learns.
#[device_inline]
#[track_caller]
fn own<N: Numbers, const PARTS: bool>(view: &BlockView<'_>, side: &Side, op: &Op, step: &Step<f32>, pass: &Pass) {
    let add = op.flags & flag::ADD != 0;
    let tables = &view.tables(side);
    let learns = pass.mode == mode::LEARN;
    let best = pass.mode == mode::BEST;
    let mut hand = view.first_hand::<PARTS>();
    // Whole warps go round together: rows are padded, and what is stored for no hand is 0.
    while hand < side.padded {
        let active = hand < side.n;
        let row = side.cell(op.row, hand);
        let value_of = |action: u32| {
            if !active {
                return 0.0;
            }
            view.get(view.operand(op.operands + action) + hand)
        };
        let value = if best {
            let (mut value, mut choice) = (value_of(0), 0);
            let mut action = 1;
            while action < op.n {
                let other = value_of(action);
                if other > value {
                    (value, choice) = (other, action);
                }
                action += 1;
            }
            if pass.keeps != 0 {
                keep_choice(tables, row, side.stride, op.n, choice, active);
            }
            value
        } else {
            let weights = Weights::read::<N>(tables, pass.own, step.predicts, op.n, row, side.stride);
            let mut value = 0.0;
            weights.for_each::<N>(tables, |action, at, _, p| {
                value += p * value_of(action);
                if pass.keeps != 0 {
                    tables.keep(at, p);
                }
            });
            if learns {
                let factor = if active { own_factor(view, side, pass, hand) } else { 0.0 };
                weights.for_each::<N>(tables, |action, at, regret, _| {
                    let gain = (value_of(action) - value) * factor;
                    note_gain::<N>(tables, at, step, regret, gain, factor > 0.0, active);
                });
            }
            value
        };
        if active {
            view.put(op.output + hand, value, add);
        }
        hand += view.hands_apart::<PARTS>();
    }
}

/// The same where some hands' strategy is given, in the rows from `given` on: they play it, learn nothing, and leave 0 in the tables.
#[device_inline]
#[track_caller]
fn own_locked<N: Numbers, const PARTS: bool>(
    view: &BlockView<'_>,
    side: &Side,
    op: &Op,
    given: u32,
    step: &Step<f32>,
    pass: &Pass,
) {
    let tables = &view.tables(side);
    let best = pass.mode == mode::BEST;
    let mut hand = view.first_hand::<PARTS>();
    while hand < side.padded {
        let active = hand < side.n;
        let learns = active && view.given(side, given, hand) < 0.0;
        let value_of = |action: u32| if active { view.get(view.operand(op.operands + action) + hand) } else { 0.0 };
        let weights = Weights::read::<N>(tables, pass.own, step.predicts, op.n, side.cell(op.row, hand), side.stride);
        let (mut mean, mut most, mut choice) = (0.0, value_of(0), 0);
        let played = |action: u32, p: f32| if active && !learns { view.given(side, given + action, hand) } else { p };
        weights.for_each::<N>(tables, |action, _, _, p| {
            let value = value_of(action);
            mean += played(action, p) * value;
            if value > most {
                (most, choice) = (value, action);
            }
        });
        let answers = best && learns;
        if pass.keeps != 0 {
            weights.for_each::<N>(tables, |action, at, _, p| {
                let chosen = if action == choice { 1.0 } else { 0.0 };
                tables.keep(at, if answers { chosen } else { played(action, p) });
            });
        }
        if pass.mode == mode::LEARN {
            let factor = if learns { own_factor(view, side, pass, hand) } else { 0.0 };
            weights.for_each::<N>(tables, |action, at, regret, _| {
                let gain = (value_of(action) - mean) * factor;
                note_gain::<N>(tables, at, step, regret, gain, factor > 0.0, learns);
            });
        }
        if active {
            view.put(op.output + hand, if answers { most } else { mean }, op.flags & flag::ADD != 0);
        }
        hand += view.hands_apart::<PARTS>();
    }
}

/// Keeps one action of `n`, whose values begin at `row` and are `stride` apart, as the strategy of a hand that is `active`.
#[device_inline]
#[track_caller]
fn keep_choice(tables: &Tables, row: Cell, stride: u32, n: u32, choice: u32, active: bool) {
    let mut action = 0;
    while action < n {
        let chosen = if action == choice && active { 1.0 } else { 0.0 };
        tables.keep(row.behind(action, stride as usize), chosen);
        action += 1;
    }
}

/// Adds a gain to a regret, of a hand that counts, and keeps it where the step predicts. What is not of a hand stays 0. All lanes of the warp call it, as [`Numbers::store`].
#[device_inline]
#[track_caller]
fn note_gain<N: Numbers>(
    tables: &Tables,
    at: Cell,
    step: &Step<f32>,
    regret: f32,
    gain: f32,
    counts: bool,
    active: bool,
) {
    let sum = if counts { step.regret(regret, gain) } else { regret };
    N::store::<true>(tables.regrets(), at, if active { sum } else { 0.0 });
    if step.predicts > 0.0 {
        N::store::<true>(tables.last(), at, if counts { gain } else { 0.0 });
    }
}

/// What becomes of the root's values: they go to the street before, and are added to the utilities.
#[device_inline]
#[track_caller]
pub(super) fn depart<const PARTS: bool>(view: &BlockView<'_>, side: &Side, slot: u32, pass: &Pass) {
    let row = view.value_row(side.seat);
    let sums = view.street.utilities[side.seat as usize] as usize + view.board as usize * side.stride as usize;
    let apart = view.hands_apart::<PARTS>();
    let mut first = view.first_hand::<PARTS>();
    while first < side.n {
        let hands = Hands::<TOGETHER>::of_side(side, first, apart);
        let numbers = view.numbers(side, hands.index);
        unroll!(I in [0, 1, 2] {
            let hand = hands.index[I];
            if hands.active[I] {
                let value = view.get(slot + hand);
                view.own_values().set(row + numbers[I], value);
                if pass.utilities != 0 && view.street.is_first != 0 {
                    view.add_utility(sums, hand, value);
                }
            }
        });
        first += TOGETHER as u32 * apart;
    }
}
