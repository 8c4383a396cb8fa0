//! Evaluations: sums of the opponent's reach over hands, by strength and by card, from which every hand finds what it beats with a few additions.
//!
//! With hands in order of strength, `E[i]` is the reach of the `i` weakest, and `E_c[k]` that of the `k` weakest with card `c`. A hand with cards a and b meets
//! `E[i] - E_a[j] - E_b[k]` of the hands weaker than it. A warp makes the sums of one vector, or of 32 cards of it; nothing is shared between warps.
//!
//! ```text
//! region: totals by card [64] | E [stride + 32] | E_c, one list after the other, each with one value more than hands
//! ```

use super::block::{BlockView, Side};
use super::layout::{ALL_CARDS, BEGINS, Eval, NO_CARD, ROW, TOTALS};
use crate::cuda::thread::{WARP, block_dim_x, lane, warp_index};
use crate::cuda::warp;

/// Hands whose reach is read together.
const AHEAD: usize = 8;

/// Runs the evaluations `range` of the opponent's reach. Called by all threads of the block, after a barrier that follows the writing of the vectors.
#[device_inline]
#[track_caller]
pub(super) fn run(view: &BlockView<'_>, side: &Side, range: [u32; 2]) {
    let parts = 1 + view.street.n_cards.div_ceil(WARP);
    let n_tasks = (range[1] - range[0]) * parts;
    let mut task = warp_index();
    while task < n_tasks {
        // A copy: after a store the compiler would read each field again.
        let eval = &{ *view.evals().row(range[0] + task / parts) };
        let part = task % parts;
        if part == 0 {
            by_strength(view, side, eval);
        } else {
            by_card(view, side, eval, (part - 1) * WARP + lane());
        }
        task += block_dim_x() / WARP;
    }
}

/// Prefix sums in order of strength: each lane has a run of neighbours, of odd length, so that lanes meet different banks.
#[device_inline]
#[track_caller]
fn by_strength(view: &BlockView<'_>, side: &Side, eval: &Eval) {
    let run = side.n.div_ceil(WARP) | 1;
    let from = (lane() * run).min(side.n);
    let to = (from + run).min(side.n);
    let reach_of = |at: u32| view.get(eval.source + at);
    let mut sum = 0.0;
    for_each_ahead(from, to, reach_of, |_, reach| sum += reach);
    let up_to = warp::inclusive_sum(sum);
    let before = warp::shuffle_up(warp::ALL, up_to, 1);
    let all = warp::shuffle(warp::ALL, up_to, WARP - 1);
    if lane() == 0 {
        view.set(eval.region + ALL_CARDS, all);
        view.set(eval.region + NO_CARD, 0.0);
    }
    if eval.full != 0 {
        let prefix = eval.region + TOTALS;
        let mut sum = if lane() == 0 { 0.0 } else { before };
        for_each_ahead(from, to, reach_of, |at, reach| {
            view.set(prefix + at, sum);
            sum += reach;
        });
        if lane() == 0 {
            view.set(prefix + side.n, all);
        }
    }
}

/// Calls `each` with every index from `from` to below `to` and what `load` reads there; several are read together.
#[device_inline]
#[track_caller]
fn for_each_ahead(from: u32, to: u32, load: impl Fn(u32) -> f32, mut each: impl FnMut(u32, f32)) {
    let mut at = from;
    while at + AHEAD as u32 <= to {
        let mut values = [0.0; AHEAD];
        for (i, value) in values.iter_mut().enumerate() {
            *value = load(at + i as u32);
        }
        for (i, &value) in values.iter().enumerate() {
            each(at + i as u32, value);
        }
        at += AHEAD as u32;
    }
    while at < to {
        each(at, load(at));
        at += 1;
    }
}

/// Prefix sums over the hands with card `card`, and their total.
#[device_inline]
#[track_caller]
fn by_card(view: &BlockView<'_>, side: &Side, eval: &Eval, card: u32) {
    if card >= view.street.n_cards {
        return;
    }
    let full = eval.full != 0;
    let prefix = eval.region + TOTALS + side.stride + ROW + card;
    let (from, to) = view.hands_with(side, card);
    let list = view.lists(side);
    let reach_of = |row: u32| view.get(eval.source + list.get((row * BEGINS + card) as usize) as u32);
    let mut sum = 0.0;
    for_each_ahead(0, to - from, reach_of, |row, reach| {
        if full {
            view.set(prefix + from + row, sum);
        }
        sum += reach;
    });
    if full {
        view.set(prefix + to, sum);
    }
    view.set(eval.region + card, sum);
}
