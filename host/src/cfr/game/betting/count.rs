//! How large a betting tree is, before it is built.

use std::collections::HashMap;

use super::BettingState;
use super::state::Position;
use crate::cfr::game::game_file::GameDef;
use crate::{Error, Result};

/// Approximate size of a node of a betting tree in bytes.
pub(in crate::cfr) const NODE_BYTES: u64 = 300;

/// Maximum number of nodes of a [`BettingTree`](super::BettingTree), about 5 GB.
///
/// A solver keeps two tables of at least 2 bytes for every hand at every node: with the 1,326 hands of hold'em this is 83 GiB for the maximum, about the memory of the
/// largest GPU, for a single board.
pub const MAX_NODES: u64 = 1 << 24;

/// Maximum number of levels of a [`BettingTree`](super::BettingTree), since programs walk it by recursion. No game in practice has a hundredth of it, but bets of a
/// thousandth of the pot can exceed it.
pub const MAX_LEVELS: u32 = 1 << 10;

/// Maximum number of distinct states that are counted; states are far fewer than sequences. Their table fills seven eighths of 2²¹ slots before it grows.
const MAX_STATES: u64 = 7 << 18;

/// Nodes of a betting tree, counted without building it. A number that does not fit is the largest `u64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Nodes where somebody acts.
    pub decisions: u64,
    /// Nodes where the betting has ended.
    pub terminals: u64,
    /// Levels with decision nodes.
    pub levels: u64,
}

impl Size {
    /// Counts the sequences of a game. Equal states are counted once, so the count takes little memory even if the tree itself would not fit.
    ///
    /// # Errors
    /// [`Error::Option`] if the rules cannot be played, or have too many states to count (no-limit with deep stacks).
    pub fn count(rules: &GameDef) -> Result<Self> {
        Self::count_up_to(rules, u64::MAX)
    }

    /// As [`count`](Self::count), but ends as soon as more than `most` nodes are found, long before all states are known.
    ///
    /// # Errors
    /// As [`count`](Self::count); [`Error::Option`] with the nodes found and `most`.
    pub(super) fn count_up_to(rules: &GameDef, most: u64) -> Result<Self> {
        let root = BettingState::new(rules)?;
        if rules.no_limit && rules.stacks.is_none() {
            return Err(Error::option("stack", "none", "a stack line: without it a no-limit game has no end"));
        }
        let mut known: HashMap<Position, Self> = HashMap::new();
        // Depth first without recursion: the deepest lines are of some thousand raises. Of each state in the line, the actions that are left and the nodes so far.
        let mut line = vec![(root, root.actions(), Self::of(&root))];
        let mut n_nodes = 1u64;
        while let Some((state, actions, size)) = line.last_mut() {
            let Some(action) = actions.next() else {
                size.levels += u64::from(state.turn().is_some());
                let (at, size) = (state.at, *size);
                line.pop();
                known.insert(at, size);
                if let Some((_, _, before)) = line.last_mut() {
                    before.add(size);
                }
                continue;
            };
            let child = state.after(action);
            let found = known.get(&child.at).copied();
            n_nodes = n_nodes.saturating_add(found.map_or(1, |found| found.nodes()));
            if n_nodes > most {
                let allowed = format!(
                    "a betting tree of at most {most} nodes: use smaller stacks, fewer raises, or a menu of sizes (betSizes)"
                );
                return Err(Error::option("game", format!("a betting tree of at least {n_nodes} nodes"), allowed));
            }
            if let Some(found) = found {
                size.add(found);
                continue;
            }
            let raises = child.n_raises();
            if raises.saturating_add((known.len() + line.len()) as u64) > MAX_STATES {
                let allowed = format!(
                    "a betting tree of at most {MAX_NODES} nodes; this game has more than {MAX_STATES} different states of the betting: use smaller stacks, fewer raises, or a menu of sizes (betSizes)"
                );
                return Err(Error::option("game", "too large", allowed));
            }
            line.push((child, child.actions(), Self::of(&child)));
        }
        Ok(known.get(&root.at).copied().unwrap_or_default())
    }

    /// One node.
    fn of(state: &BettingState<'_>) -> Self {
        let decisions = u64::from(state.turn().is_some());
        Self { decisions, terminals: 1 - decisions, levels: 0 }
    }

    /// Adds the nodes after an action.
    fn add(&mut self, after: Self) {
        self.decisions = self.decisions.saturating_add(after.decisions);
        self.terminals = self.terminals.saturating_add(after.terminals);
        self.levels = self.levels.max(after.levels);
    }

    /// Total number of nodes.
    pub fn nodes(&self) -> u64 {
        self.decisions.saturating_add(self.terminals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_counted_no_further_than_the_limit() {
        let text = "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 4\nstack = 20000 20000\nblind = 50 100\nfirstPlayer = 1 2 2 2\nnumSuits = 4\nnumRanks = 13\n\
                    numHoleCards = 2\nnumBoardCards = 0 3 1 1\nEND GAMEDEF";
        let mut rules = GameDef::parse(text).expect("a definition");
        // All of it has more states than are counted.
        let error = Size::count_up_to(&rules, 1 << 12).expect_err("too large").to_string();
        let found = error.strip_prefix("option game: a betting tree of at least ").expect("the nodes");
        let n_nodes: u64 = found.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        assert!((1 << 12..1 << 16).contains(&n_nodes) && error.contains("at most 4096 nodes"), "{error}");
        rules.stacks = Some(vec![300; 2]);
        rules.n_rounds = 1;
        rules.first_players.truncate(1);
        rules.max_raises.truncate(1);
        rules.n_board_cards.truncate(1);
        let size = Size::count(&rules).expect("few states");
        assert_eq!(Size::count_up_to(&rules, size.nodes()).expect("as many as there are"), size);
        assert!(Size::count_up_to(&rules, size.nodes() - 1).is_err());
    }
}
