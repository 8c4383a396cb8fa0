//! The betting of a spot.

use super::super::betting::{Action, BettingKind, BettingNode, BettingTree};
use super::file::{Size, Spot};
use crate::{Error, Result};

/// The streets' names, from the flop.
pub(super) const STREETS: [&str; 3] = ["flop", "turn", "river"];
/// Most nodes of a betting tree; the hands come on top of it.
const MAX_NODES: usize = 1 << 22;
/// Most bets and raises of a street in limit betting.
const LIMIT_RAISES: u32 = 4;

/// A node that is to be opened.
#[derive(Clone, Copy)]
struct State {
    /// Street, 0 for the flop.
    street: usize,
    seat: usize,
    contributed: [f64; 2],
    /// Bets and raises of the street.
    raises: u32,
    /// What the last bet or raise added to the highest.
    increase: f64,
    /// Whether this is the first action of the street.
    first: bool,
}

/// All sequences of actions from street `first_street` on, which must be checked before.
pub(super) fn tree(spot: &Spot, first_street: usize) -> Result<BettingTree> {
    let mut tree = BettingTree { n_players: 2, nodes: Vec::new(), dead: spot.pot, rake: spot.rake.unwrap_or_default() };
    let start = State { street: first_street, seat: 0, contributed: [0.0; 2], raises: 0, increase: 0.0, first: true };
    // One state for each node: nodes are opened in the order in which they were made, so levels stay together.
    let mut states = vec![Some(start)];
    tree.nodes.push(node(None, 0, 0, start.contributed, 0));
    let mut at = 0;
    while at < tree.nodes.len() {
        if let Some(state) = states[at] {
            let actions = actions(spot, &state);
            let first_child = tree.nodes.len() as u32;
            let (level, round) = (tree.nodes[at].level, tree.nodes[at].round);
            for &action in &actions {
                let (child, contributed, folded) = after(spot, &state, action);
                let round_of_child = child.map_or(round, |child| (child.street - first_street) as u32);
                tree.nodes.push(node(Some(at as u32), level + 1, round_of_child, contributed, folded));
                states.push(child);
            }
            let children = (first_child..tree.nodes.len() as u32).collect();
            tree.nodes[at].kind = BettingKind::Decision { seat: state.seat, actions, children };
            if tree.nodes.len() > MAX_NODES {
                return Err(Error::shape(
                    "betting tree of the spot",
                    format!("at most {MAX_NODES} nodes (give fewer sizes, or max_raises)"),
                    "more",
                ));
            }
        }
        at += 1;
    }
    Ok(tree)
}

fn node(parent: Option<u32>, level: u32, round: u32, contributed: [f64; 2], folded: u32) -> BettingNode {
    BettingNode { parent, level, round, contributed: contributed.to_vec(), folded, kind: BettingKind::Terminal }
}

/// Fold, call, raises from the smallest.
fn actions(spot: &Spot, state: &State) -> Vec<Action> {
    let (own, highest) = (state.contributed[state.seat], state.contributed[1 - state.seat]);
    let mut actions = Vec::new();
    if highest > own {
        actions.push(Action::Fold);
    }
    actions.push(Action::Call);
    let most = spot.max_raises.as_ref().and_then(|raises| raises.get(state.street)).copied();
    let most = most.unwrap_or(if spot.limit.is_some() { LIMIT_RAISES } else { u32::MAX });
    if highest < spot.effective_stack && state.raises < most {
        let mut raises = raises(spot, state, highest);
        raises.sort_unstable_by(f64::total_cmp);
        raises.dedup();
        actions.extend(raises.into_iter().map(Action::Raise));
    }
    actions
}

/// What the seat can raise to, in any order.
fn raises(spot: &Spot, state: &State, highest: f64) -> Vec<f64> {
    let stack = spot.effective_stack;
    if let Some(chips) = spot.limit.as_ref().and_then(|limit| limit.get(state.street)) {
        return vec![(highest + chips).min(stack)];
    }
    let given = if state.raises == 0 { &spot.bet_sizes } else { &spot.raise_sizes };
    let default = [Size::AllIn, spot.bet_fraction_of_pot.map_or(Size::AllIn, Size::Pot)];
    let default = if state.raises == 0 { &default[..] } else { &default[..1] };
    let sizes = given.as_ref().and_then(|sizes| sizes.get(state.street)).map_or(default, |sizes| sizes.of(state.seat));
    let called = spot.pot + 2.0 * highest;
    let to = |size: &Size| match size {
        Size::AllIn => stack,
        // A raise adds at least as much as the bet or raise before it.
        Size::Pot(part) => (highest + (part * called).max(state.increase)).min(stack),
    };
    sizes.iter().map(to).collect()
}

/// The state after an action, `None` where the hand is over; what is put in then, and who folded.
fn after(spot: &Spot, state: &State, action: Action) -> (Option<State>, [f64; 2], u32) {
    let mut contributed = state.contributed;
    let highest = contributed[1 - state.seat];
    match action {
        Action::Fold => (None, contributed, 1 << state.seat),
        Action::Raise(to) => {
            contributed[state.seat] = to;
            let (raises, increase) = (state.raises + 1, to - highest);
            let next = State { seat: 1 - state.seat, contributed, raises, increase, first: false, ..*state };
            (Some(next), contributed, 0)
        }
        Action::Call => {
            contributed[state.seat] = highest;
            if state.first {
                return (Some(State { seat: 1 - state.seat, first: false, ..*state }), contributed, 0);
            }
            let over = state.street + 1 == STREETS.len() || highest >= spot.effective_stack;
            let next = State { street: state.street + 1, seat: 0, contributed, raises: 0, increase: 0.0, first: true };
            ((!over).then_some(next), contributed, 0)
        }
    }
}
