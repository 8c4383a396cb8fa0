//! The betting of a spot.

use super::file::Spot;
use super::sizes::{BetSize, Turn};
use super::thresholds;
use crate::cfr::game::betting::{Action, BettingTree, Grown, NODE_BYTES};
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
}

/// All sequences of actions from street `first_street` on. The caller has checked the spot's numbers.
///
/// # Errors
/// [`Error::Option`] if there are more than [`MAX_NODES`] nodes, [`Error::OutOfMemory`] if there is not enough memory for them; nothing is built then.
pub(super) fn tree(spot: &Spot, first_street: usize) -> Result<BettingTree> {
    let contributed = [0.0; 2];
    let root = State {
        street: first_street,
        seat: Some(0),
        contributed,
        folded: 0,
        raises: 0,
        increase: 0.0,
        street_start: 0.0,
        first: true,
        was_bet_into: false,
    };
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
        actions.extend(raises(spot, state, seat, highest).into_iter().map(Action::Raise));
    }
    actions
}

/// The totals to which the seat can bet or raise, in rising order.
fn raises(spot: &Spot, state: &State, seat: usize, highest: f64) -> Vec<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfr::game::betting::BettingKind;

    /// The tree of a flop with a pot of 100 and stacks of 1,000, where every bet is half the pot.
    fn flop(changes: &str) -> BettingTree {
        let text = format!(
            r#"{{"pot": 100, "effective_stack": 1000, "flop": "Qs Jh 2h", "ranges": ["AA", "KK"],
                "bet_sizes": {{"flop": [0.5], "turn": [0.5], "river": [0.5]}}, {changes}}}"#
        );
        tree(&Spot::parse(&text).expect("good JSON"), 0).expect("a small one")
    }

    fn actions_at(tree: &BettingTree, history: &str) -> Vec<String> {
        match &tree.nodes[tree.find(history).expect(history) as usize].kind {
            BettingKind::Decision { actions, .. } => actions.iter().map(|&action| tree.spell(action)).collect(),
            BettingKind::Terminal => Vec::new(),
        }
    }

    #[test]
    fn who_was_bet_into_has_sizes_of_its_own() {
        let tree = flop(
            r#""max_raises": {"flop": 2, "turn": 2, "river": 2}, "raise_sizes": {"flop": ["3x"], "turn": ["3x"]},
            "donk_sizes": {"turn": ["30%", "a"]}"#,
        );
        // Each has put in 50: the pot is 200.
        assert_eq!(actions_at(&tree, "cr50c/"), ["c", "r110", "r1000"]);
        assert_eq!(actions_at(&tree, "r50c/"), ["c", "r150"], "seat 0 made the bet");
        assert_eq!(actions_at(&tree, "cc/"), ["c", "r50"], "nobody bet");
        assert_eq!(actions_at(&tree, "r50r150c/"), ["c", "r270", "r1000"], "seat 1 raised, to three times 50");
        assert_eq!(actions_at(&tree, "cr50r150c/"), ["c", "r350"], "seat 0 raised");
        assert_eq!(actions_at(&tree, "cr50c/c"), ["c", "r150"], "seat 1 has its usual sizes");
        // A donk bet is the first of the street's two: 60 chips, raised to three times as many.
        assert_eq!(actions_at(&tree, "cr50c/r110"), ["f", "c", "r230"]);
        assert_eq!(actions_at(&tree, "cr50c/r110r230"), ["f", "c"]);
        // The river has no such sizes; what counts is the street before it.
        assert_eq!(actions_at(&tree, "cr50c/cr150c/"), ["c", "r350"]);
        let none = flop(r#""donk_sizes": {"turn": ["30%"]}, "max_raises": {"turn": 0}"#);
        assert_eq!(actions_at(&none, "cr50c/"), ["c"]);
    }

    #[test]
    fn trees_without_donk_bets_have_so_many_decisions() {
        // With one bet a street: before it, after a check, after the bet of either; without donk bets, not after that of seat 0. Streets follow check and check, the bet of
        // seat 0 called, and the bet of seat 1 called, after which seat 0 only checks.
        let river = [4, 3];
        let next = |[plain, no_donk]: [usize; 2]| [4 + 2 * plain + no_donk, 3 + plain + no_donk];
        let [n_decisions, _] = next(next(river));
        let changes = r#""max_raises": {"flop": 1, "turn": 1, "river": 1}, "donk_sizes": {"turn": [], "river": []}, "add_all_in": 0.1"#;
        assert_eq!(flop(changes).n_decisions(), n_decisions);
    }

    #[test]
    fn geometric_bets_of_three_streets_put_all_in() {
        // Three bets of half the pot of 100 end with a pot of 800: stacks of 350.
        let text = r#"{"pot": 100, "effective_stack": 350, "flop": "Qs Jh 2h", "ranges": ["AA", "KK"], "max_raises": {"flop": 1, "turn": 1, "river": 1},
            "bet_sizes": {"flop": ["e"], "turn": ["2e"], "river": ["e"]}}"#;
        let tree = tree(&Spot::parse(text).expect("good JSON"), 0).expect("a small one");
        assert_eq!(actions_at(&tree, "r50c/r150c/"), ["c", "r350"]);
        // Without a bet on the flop, two bets: √8 − 1 of the pot, halved, then all-in.
        let [check, bet] = &actions_at(&tree, "cc/")[..] else { panic!("two actions") };
        let chips: f64 = bet.trim_start_matches('r').parse().expect("chips");
        assert!(check == "c" && (chips - 50.0 * (8f64.sqrt() - 1.0)).abs() < 1e-8, "{bet}");
    }

    #[test]
    fn sizes_are_told_without_what_rounding_leaves() {
        let text = r#"{"pot": 33, "effective_stack": 100, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c", "ranges": ["AA", "KK"],
            "bet_sizes": {"river": [0.55, 0.55000000000001, "all-in"]}}"#;
        let spot = Spot::parse(text).expect("good JSON");
        let tree = tree(&spot, 2).expect("a small one");
        let node = tree.find("r18.15").expect("the bet");
        assert_eq!((tree.history(node).as_str(), tree.find("r18.150000000000002").ok()), ("r18.15", Some(node)));
        // Two sizes that round to the same amount are one.
        assert_eq!(actions_at(&tree, "").len(), 3, "check, bet, all-in");
        assert!(tree.find("r18.16").is_err());
    }
}
