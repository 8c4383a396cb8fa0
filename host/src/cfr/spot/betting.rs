//! The betting of a spot.

mod edits;
mod lines;

use self::edits::Lines;
use super::file::Spot;
use super::sizes::{BetSize, Turn};
use super::thresholds;
use crate::cfr::game::betting::{Action, BettingKind, BettingNode, BettingTree, Grown, NODE_BYTES};
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
    /// Chips of each seat at the start of the street.
    street_start: f64,
    /// Whether nobody has acted on the street.
    first: bool,
    /// Whether seat 1 made the last bet or raise of the street before.
    was_bet_into: bool,
    /// The node of the edited lines, if an action is added or removed here or below.
    edited: Option<u32>,
}

/// The betting of a spot: sizes by its fields, and the lines that it edits.
struct Betting<'a> {
    spot: &'a Spot,
    first_street: usize,
    lines: Lines,
}

/// All sequences of actions from street `first_street` on. The caller has checked the spot's numbers.
///
/// # Errors
/// [`Error::Option`] for lines that cannot be added or removed, and if there are more than [`MAX_NODES`] nodes; [`Error::OutOfMemory`] if there is not enough memory for
/// them; nothing is built then.
pub(super) fn tree(spot: &Spot, first_street: usize) -> Result<BettingTree> {
    let mut betting = Betting { spot, first_street, lines: Lines::default() };
    spot.added_lines.iter().try_for_each(|line| betting.add(line))?;
    spot.removed_lines.iter().try_for_each(|line| betting.remove(line))?;
    let root = betting.root();
    expect_free("the host", betting.count(root)? * NODE_BYTES, host_machine::memory().free)?;
    let mut tree = BettingTree::grow(2, true, spot.pot, spot.rake.unwrap_or_default(), root, |state| Grown {
        round: (state.street - first_street) as u32,
        contributed: state.contributed.to_vec(),
        folded: state.folded,
        turn: state.seat.map(|seat| (seat, betting.choices(state))),
    })?;
    let is_shown = |node: &BettingNode| node.folded == 0 && matches!(node.kind, BettingKind::Terminal);
    if !tree.nodes.iter().any(is_shown) {
        let allowed = "lines after some of which the cards are shown";
        return Err(Error::option("removed_lines", spot.removed_lines.join(", "), allowed));
    }
    tree.icm = spot.icm();
    Ok(tree)
}

impl Betting<'_> {
    fn root(&self) -> State {
        State {
            street: self.first_street,
            seat: Some(0),
            contributed: [0.0; 2],
            folded: 0,
            raises: 0,
            increase: 0.0,
            street_start: 0.0,
            first: true,
            was_bet_into: false,
            edited: self.lines.root(),
        }
    }

    /// Counts the nodes, up to the limit, before the tree is allocated.
    fn count(&self, root: State) -> Result<u64> {
        let mut n_nodes = 1;
        let mut open = vec![root];
        while let Some(state) = open.pop() {
            let choices = self.choices(&state);
            n_nodes += choices.len() as u64;
            if n_nodes > MAX_NODES {
                let allowed = format!("at most {MAX_NODES} nodes: use fewer or larger bet sizes, or fewer raises");
                return Err(Error::option("betting tree", format!("at least {n_nodes} nodes"), allowed));
            }
            // The raises first, so that they are looked at last: a long line of raises then leaves no folds and calls waiting.
            open.extend(choices.into_iter().rev().map(|(_, after)| after));
        }
        Ok(n_nodes)
    }

    /// The actions with the states after them; none at the end.
    fn choices(&self, state: &State) -> Vec<(Action, State)> {
        let Some(seat) = state.seat else { return Vec::new() };
        self.actions(state, seat).into_iter().map(|action| (action, self.after(state, seat, action))).collect()
    }

    /// Fold, call, raises from the smallest.
    fn actions(&self, state: &State, seat: usize) -> Vec<Action> {
        let spot = self.spot;
        let (own, highest) = (state.contributed[seat], state.contributed[1 - seat]);
        let mut actions = Vec::new();
        if highest > own {
            actions.push(Action::Fold);
        }
        actions.push(Action::Call);
        let most = spot.max_raises.as_ref().and_then(|raises| raises.get(state.street)).copied();
        let most = most.unwrap_or(if spot.limit.is_some() { LIMIT_RAISES } else { u32::MAX });
        if highest < spot.effective_stack && state.raises < most {
            actions.extend(self.raises(state, seat, highest).into_iter().map(Action::Raise));
        }
        if let Some(node) = state.edited {
            self.lines.edit(node, &mut actions);
        }
        actions
    }

    /// The totals to which the seat can bet or raise, in rising order.
    fn raises(&self, state: &State, seat: usize, highest: f64) -> Vec<f64> {
        let spot = self.spot;
        let stack = spot.effective_stack;
        if let Some(chips) = spot.limit.as_ref().and_then(|limit| limit.get(state.street)) {
            return vec![(highest + chips).min(stack)];
        }
        let default = [BetSize::AllIn, spot.bet_fraction_of_pot.map_or(BetSize::AllIn, BetSize::Pot)];
        let default = if state.raises == 0 { &default[..] } else { &default[..1] };
        let given = if state.raises == 0 { &spot.bet_sizes } else { &spot.raise_sizes };
        let given = given.as_ref().and_then(|sizes| sizes.get(state.street)).map(|sizes| sizes.of(seat));
        let is_donk = state.first && state.was_bet_into;
        let donk = spot.donk_sizes.as_ref().filter(|_| is_donk).and_then(|sizes| sizes.get(state.street));
        let sizes = donk.map(Vec::as_slice).or(given).unwrap_or(default);
        let turn = Turn {
            dead: spot.pot,
            street_start: state.street_start,
            highest,
            increase: state.increase,
            stack,
            streets_left: (STREETS.len() - state.street) as u32,
        };
        thresholds::apply(spot, &turn, sizes.iter().map(|&size| turn.total(size)).collect())
    }

    /// The state after an action.
    fn after(&self, state: &State, seat: usize, action: Action) -> State {
        let (mut next, other) = (*state, 1 - seat);
        let highest = state.contributed[other];
        next.first = false;
        next.edited = state.edited.and_then(|node| self.lines.after(node, action));
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
                if state.street + 1 == STREETS.len() || highest >= self.spot.effective_stack {
                    next.seat = None;
                } else {
                    next = State {
                        street: state.street + 1,
                        seat: Some(0),
                        raises: 0,
                        increase: 0.0,
                        street_start: highest,
                        first: true,
                        // Who calls did not make the last bet.
                        was_bet_into: state.raises > 0 && seat == 0,
                        ..next
                    };
                }
            }
        }
        next
    }
}

#[cfg(test)]
mod tests;
