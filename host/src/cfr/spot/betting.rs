//! The betting of a spot.

use super::file::{BetSize, Spot};
use crate::cfr::game::betting::{Action, BettingTree, Grown, NODE_BYTES, rounded_chips};
use crate::runtime::host_machine;
use crate::runtime::memory::expect_free;
use crate::{Error, Result};

/// The streets' names, from the flop.
pub(super) const STREETS: [&str; 3] = ["flop", "turn", "river"];
/// Most bets and raises of a street in limit betting.
const LIMIT_RAISES: u32 = 4;
/// Maximum number of nodes of a spot's betting tree, about 1.2 GB.
///
/// A solver keeps two tables of 4 bytes for every hand at every node: with the 1,081 hands possible on a river this is 34 GiB for the maximum, for one board. A turn has 48
/// rivers, a flop 2,352 pairs of cards to come.
const MAX_NODES: u64 = 1 << 22;

/// The state of the betting.
#[derive(Clone, Copy)]
struct State {
    /// Street, 0 for the flop.
    street: usize,
    /// The seat to act; `None` at the end.
    seat: Option<usize>,
    contributed: [f64; 2],
    /// Seats that folded.
    folded: u32,
    /// Number of bets and raises of the street.
    raises: u32,
    /// The amount by which the last bet or raise increased the highest bet.
    increase: f64,
    /// Whether nobody has acted on the street.
    first: bool,
}

/// All sequences of actions from street `first_street` on. The caller has checked the spot's numbers.
///
/// # Errors
/// [`Error::Option`] if there are more than [`MAX_NODES`] nodes, [`Error::OutOfMemory`] if there is not enough memory for them; nothing is built then.
pub(super) fn tree(spot: &Spot, first_street: usize) -> Result<BettingTree> {
    let contributed = [0.0; 2];
    let root =
        State { street: first_street, seat: Some(0), contributed, folded: 0, raises: 0, increase: 0.0, first: true };
    let n_nodes = count(spot, root)?;
    expect_free("the host", n_nodes * NODE_BYTES, host_machine::memory().free)?;
    BettingTree::grow(2, true, spot.pot, spot.rake.unwrap_or_default(), root, |state| {
        let after = |seat: usize| {
            actions(spot, state, seat).into_iter().map(|action| (action, after(spot, state, seat, action))).collect()
        };
        Grown {
            round: (state.street - first_street) as u32,
            contributed: state.contributed.to_vec(),
            folded: state.folded,
            turn: state.seat.map(|seat| (seat, after(seat))),
        }
    })
}

/// Counts the nodes, up to the limit, before the tree is allocated.
fn count(spot: &Spot, root: State) -> Result<u64> {
    let mut n_nodes = 1;
    let mut open = vec![root];
    while let Some(state) = open.pop() {
        let Some(seat) = state.seat else { continue };
        let actions = actions(spot, &state, seat);
        n_nodes += actions.len() as u64;
        if n_nodes > MAX_NODES {
            let allowed = format!("at most {MAX_NODES} nodes: use fewer or larger bet sizes, or fewer raises");
            return Err(Error::option("betting tree", format!("at least {n_nodes} nodes"), allowed));
        }
        // The raises first, so that they are looked at last: a long line of raises then leaves no folds and calls waiting.
        open.extend(actions.into_iter().rev().map(|action| after(spot, &state, seat, action)));
    }
    Ok(n_nodes)
}

/// Fold, call, raises from the smallest.
fn actions(spot: &Spot, state: &State, seat: usize) -> Vec<Action> {
    let (own, highest) = (state.contributed[seat], state.contributed[1 - seat]);
    let mut actions = Vec::new();
    if highest > own {
        actions.push(Action::Fold);
    }
    actions.push(Action::Call);
    let most = spot.max_raises.as_ref().and_then(|raises| raises.get(state.street)).copied();
    let most = most.unwrap_or(if spot.limit.is_some() { LIMIT_RAISES } else { u32::MAX });
    if highest < spot.effective_stack && state.raises < most {
        let mut raises = raises(spot, state, seat, highest);
        raises.sort_unstable_by(f64::total_cmp);
        // Sizes that round to the same amount are one; the largest is kept, which may be all-in.
        raises.dedup_by(|larger, kept| {
            let same = rounded_chips(*larger) == rounded_chips(*kept);
            *kept = if same { *larger } else { *kept };
            same
        });
        actions.extend(raises.into_iter().map(Action::Raise));
    }
    actions
}

/// The totals to which the seat can raise, in any order.
fn raises(spot: &Spot, state: &State, seat: usize, highest: f64) -> Vec<f64> {
    let stack = spot.effective_stack;
    if let Some(chips) = spot.limit.as_ref().and_then(|limit| limit.get(state.street)) {
        return vec![(highest + chips).min(stack)];
    }
    let given = if state.raises == 0 { &spot.bet_sizes } else { &spot.raise_sizes };
    let default = [BetSize::AllIn, spot.bet_fraction_of_pot.map_or(BetSize::AllIn, BetSize::Pot)];
    let default = if state.raises == 0 { &default[..] } else { &default[..1] };
    let sizes = given.as_ref().and_then(|sizes| sizes.get(state.street)).map_or(default, |sizes| sizes.of(seat));
    let called = spot.pot + 2.0 * highest;
    let to = |size: &BetSize| match size {
        BetSize::AllIn => stack,
        // A raise adds at least as much as the bet or raise before it.
        BetSize::Pot(part) => (highest + (part * called).max(state.increase)).min(stack),
    };
    sizes.iter().map(to).collect()
}

/// The state after an action.
fn after(spot: &Spot, state: &State, seat: usize, action: Action) -> State {
    let (mut next, other) = (*state, 1 - seat);
    let highest = state.contributed[other];
    next.first = false;
    next.seat = Some(other);
    match action {
        Action::Fold => {
            next.folded = 1 << seat;
            next.seat = None;
        }
        Action::Raise(to) => {
            next.contributed[seat] = to;
            next.raises += 1;
            next.increase = to - highest;
        }
        Action::Call => {
            next.contributed[seat] = highest;
            if state.first {
                return next;
            }
            if state.street + 1 == STREETS.len() || highest >= spot.effective_stack {
                next.seat = None;
            } else {
                let street = state.street + 1;
                next = State { street, seat: Some(0), raises: 0, increase: 0.0, first: true, ..next };
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_without_what_rounding_leaves() {
        let text = r#"{"pot": 33, "effective_stack": 100, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c", "ranges": ["AA", "KK"],
            "bet_sizes": {"river": [0.55, 0.55000000000001, "all-in"]}}"#;
        let spot = Spot::parse(text).expect("good JSON");
        let tree = tree(&spot, 2).expect("a small one");
        let node = tree.find("r18.15").expect("the bet");
        assert_eq!((tree.history(node).as_str(), tree.find("r18.150000000000002").ok()), ("r18.15", Some(node)));
        // Two sizes that round to the same amount are one.
        let children = match &tree.nodes[0].kind {
            crate::cfr::game::betting::BettingKind::Decision { actions, .. } => actions.len(),
            _ => 0,
        };
        assert_eq!(children, 3, "check, bet, all-in");
        assert!(tree.find("r18.16").is_err());
    }
}
