//! How large a betting tree is, before it is built.

use std::collections::HashMap;

use super::state::Position;
use super::{Action, BettingState};
use crate::cfr::game::game_file::GameDef;
use crate::{Error, Result};

/// Most nodes of a [`BettingTree`](super::BettingTree) that is built; each takes about 300 bytes.
pub const MAX_NODES: u64 = 1 << 24;

/// Most different states that are counted; states are far fewer than sequences.
const MAX_STATES: u64 = 1 << 21;

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
    /// Counts the sequences of a game. Equal states are counted once, so it takes little where the tree itself would not fit.
    ///
    /// # Errors
    /// [`Error::Option`] if the rules cannot be played, or have too many states even to count (no-limit with deep stacks).
    pub fn count(rules: &GameDef) -> Result<Self> {
        let root = BettingState::new(rules)?;
        if rules.no_limit && rules.stacks.is_none() {
            return Err(Error::option("stack", "none", "a stack line: without it a no-limit game has no end"));
        }
        let mut known: HashMap<Position, Self> = HashMap::new();
        // Depth first without recursion: the deepest lines are of some thousand raises.
        let mut open = vec![(root, false)];
        while let Some((state, children_known)) = open.pop() {
            if known.contains_key(&state.at) {
                continue;
            }
            let raises = state.raise_range().map_or(0, |(least, most)| most - least);
            if raises.saturating_add((known.len() + open.len()) as u64) > MAX_STATES {
                let allowed = format!(
                    "a betting tree of at most {MAX_NODES} nodes; this game has more than {MAX_STATES} different states of the betting: use smaller stacks, fewer raises, or a spot with chosen bet sizes"
                );
                return Err(Error::option("game", "too large", allowed));
            }
            let after = || state.actions().map(|action: Action| state.after(action));
            if state.turn().is_none() {
                known.insert(state.at, Self { terminals: 1, ..Self::default() });
            } else if children_known {
                let mut size = Self { decisions: 1, ..Self::default() };
                for child in after().filter_map(|child| known.get(&child.at)) {
                    size.decisions = size.decisions.saturating_add(child.decisions);
                    size.terminals = size.terminals.saturating_add(child.terminals);
                    size.levels = size.levels.max(child.levels);
                }
                size.levels += 1;
                known.insert(state.at, size);
            } else {
                open.push((state, true));
                open.extend(after().map(|child| (child, false)));
            }
        }
        Ok(known.get(&root.at).copied().unwrap_or_default())
    }

    /// Nodes in all.
    pub fn nodes(&self) -> u64 {
        self.decisions.saturating_add(self.terminals)
    }
}
