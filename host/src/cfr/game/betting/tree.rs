//! Building the tree, and the names of its nodes.

use super::{
    Action, BettingKind, BettingNode, BettingState, BettingTree, MAX_LEVELS, MAX_NODES, NODE_BYTES, Rake, Size,
};
use crate::cfr::game::game_file::GameDef;
use crate::runtime::host_machine;
use crate::runtime::memory::expect_free;
use crate::{Error, Result};

/// The description of a state for [`BettingTree::grow`].
pub(in crate::cfr) struct Grown<S> {
    /// Betting round, from 0; at the end, the round of the last action.
    pub round: u32,
    /// Chips put in so far, by seat.
    pub contributed: Vec<f64>,
    /// Seats that folded: bit `seat`.
    pub folded: u32,
    /// The seat to act, and the legal actions with the states after them; `None` at the end.
    pub turn: Option<(usize, Vec<(Action, S)>)>,
}

/// Chips as written in histories: rounded to nine decimals, since a fraction of a pot may not be exact (0.55 of 33 chips is 18.150000000000002).
pub(in crate::cfr) fn rounded_chips(chips: f64) -> f64 {
    let rounded = (chips * 1e9).round() / 1e9;
    if rounded.is_finite() { rounded } else { chips }
}

impl BettingTree {
    /// Builds the tree of a game; in no-limit, with every raise to a whole number of chips.
    ///
    /// # Errors
    /// [`Error::Option`] if the rules cannot be played or the tree has more than [`MAX_NODES`] nodes or [`MAX_LEVELS`] levels, [`Error::OutOfMemory`] if there is not enough
    /// memory for them; nothing is built then.
    pub fn new(rules: &GameDef) -> Result<Self> {
        let size = Size::count_up_to(rules, MAX_NODES)?;
        expect_free("the host", size.nodes().saturating_mul(NODE_BYTES), host_machine::memory().free)?;
        let root = BettingState::new(rules)?;
        Self::grow(rules.n_players, rules.no_limit, 0.0, Rake::default(), root, |state| Grown {
            round: state.round() as u32,
            contributed: state.contributed(),
            folded: state.folded(),
            turn: state
                .turn()
                .map(|seat| (seat, state.actions().map(|action| (action, state.after(action))).collect())),
        })
    }

    /// Builds the tree of any betting; `look` describes a state.
    ///
    /// # Errors
    /// [`Error::Option`] if there are more than [`MAX_NODES`] nodes or [`MAX_LEVELS`] levels.
    pub(in crate::cfr) fn grow<S>(
        n_players: usize,
        sized: bool,
        dead: f64,
        rake: Rake,
        root: S,
        mut look: impl FnMut(&S) -> Grown<S>,
    ) -> Result<Self> {
        let mut nodes: Vec<BettingNode> = Vec::new();
        let mut level = vec![(None, root)];
        let mut depth = 0;
        // The next level's first node follows this level's last.
        let mut next_node = 1u64;
        while !level.is_empty() {
            if depth == MAX_LEVELS {
                let allowed = format!("at most {MAX_LEVELS}: use larger bet sizes or fewer raises");
                return Err(Error::option("betting tree", format!("more than {MAX_LEVELS} levels"), allowed));
            }
            let mut next = Vec::new();
            for (parent, state) in level {
                let Grown { round, contributed, folded, turn } = look(&state);
                let node = nodes.len() as u32;
                let kind = match turn {
                    None => BettingKind::Terminal,
                    Some((seat, after)) => {
                        let first = next_node;
                        next_node += after.len() as u64;
                        if next_node > MAX_NODES {
                            let allowed = format!("at most {MAX_NODES} nodes: use fewer bet sizes or fewer raises");
                            return Err(Error::option("betting tree", format!("more than {MAX_NODES} nodes"), allowed));
                        }
                        let children = (first as u32..next_node as u32).collect();
                        let mut actions = Vec::with_capacity(after.len());
                        for (action, state) in after {
                            actions.push(action);
                            next.push((Some(node), state));
                        }
                        BettingKind::Decision { seat, actions, children }
                    }
                };
                nodes.push(BettingNode { parent, level: depth, round, contributed, folded, kind });
            }
            level = next;
            depth += 1;
        }
        Ok(Self { n_players, sized, nodes, dead, rake, icm: None })
    }

    /// The actions that lead to a node, as competition logs write them: `f`, `c`, `r` (followed by the total if the tree is [`sized`](Self::sized)), rounds separated by
    /// `/`: `crc/rf`. A decision node at the start of a round ends with `/`. Empty for a node that does not exist.
    pub fn history(&self, node: u32) -> String {
        let mut path = Vec::new();
        let mut at = self.nodes.get(node as usize);
        let mut below = node;
        // A parent stands before its child, so this ends.
        while let Some(parent) = at.and_then(|node| node.parent).filter(|&parent| parent < below) {
            path.push((parent, below));
            below = parent;
            at = self.nodes.get(parent as usize);
        }
        let mut text = String::new();
        for (parent, child) in path.into_iter().rev() {
            let (before, after) = (&self.nodes[parent as usize], &self.nodes[child as usize]);
            if let BettingKind::Decision { actions, children, .. } = &before.kind
                && let Some(index) = children.iter().position(|&at| at == child)
            {
                text.push_str(&self.spell(actions[index]));
            }
            if after.round > before.round {
                text.push('/');
            }
        }
        text
    }

    /// The spelling of an action.
    pub fn spell(&self, action: Action) -> String {
        match action {
            Action::Fold => "f".to_string(),
            Action::Call => "c".to_string(),
            Action::Raise(to) if self.sized => format!("r{}", rounded_chips(to)),
            Action::Raise(_) => "r".to_string(),
        }
    }

    /// The node of a history, as [`history`](Self::history) writes it. A `/` at its end may be omitted, and so may the size of a raise if only one is legal.
    ///
    /// # Errors
    /// [`Error::Moves`] with the column, and the actions allowed there.
    pub fn find(&self, history: &str) -> Result<u32> {
        let after = |&node: &u32| match self.nodes.get(node as usize).map(|node| &node.kind) {
            Some(BettingKind::Decision { actions, children, .. }) => {
                actions.iter().copied().zip(children.iter().copied()).collect()
            }
            _ => Vec::new(),
        };
        let round = |&node: &u32| self.nodes.get(node as usize).map_or(0, |node| node.round);
        let found = follow(history, 0, round, after, |action| self.spell(action));
        let (_, node) =
            found.map_err(|reason| Error::Moves { game: "poker", reason: format!("'{history}', {reason}") })?;
        Ok(node)
    }

    /// The tree below a node, its rounds counted from that node's, and the number in this tree of each of its nodes.
    pub(in crate::cfr) fn below(&self, root: u32) -> (Self, Vec<u32>) {
        let Some(first) = self.nodes.get(root as usize) else {
            return (Self { nodes: Vec::new(), ..self.clone() }, Vec::new());
        };
        let (round, level) = (first.round, first.level);
        let (mut nodes, mut numbers): (Vec<BettingNode>, Vec<u32>) = (Vec::new(), vec![root]);
        let mut parents = vec![None];
        while let Some(&number) = numbers.get(nodes.len()) {
            let at = nodes.len();
            let mut node = self.nodes[number as usize].clone();
            (node.round, node.level, node.parent) = (node.round - round, node.level - level, parents[at]);
            if let BettingKind::Decision { children, .. } = &mut node.kind {
                for child in children {
                    numbers.push(*child);
                    parents.push(Some(at as u32));
                    *child = numbers.len() as u32 - 1;
                }
            }
            nodes.push(node);
        }
        let (icm, rake) = (self.icm.clone(), self.rake);
        (Self { n_players: self.n_players, sized: self.sized, nodes, dead: self.dead, rake, icm }, numbers)
    }

    /// Nodes where a seat acts.
    pub fn n_decisions(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node.kind, BettingKind::Decision { .. })).count()
    }
}

/// The steps of a history from the state `start` on, each with the state before it, and the state at the end. `after` lists the actions of a state with the states that
/// follow, none at the end of the betting.
///
/// # Errors
/// The column, the text there, and what is allowed.
pub(in crate::cfr) fn follow<S>(
    history: &str,
    start: S,
    round: impl Fn(&S) -> u32,
    after: impl Fn(&S) -> Vec<(Action, S)>,
    spell: impl Fn(Action) -> String,
) -> Result<(Vec<(S, Action)>, S), String> {
    let (mut steps, mut state) = (Vec::new(), start);
    let mut rest = history;
    let error =
        |rest: &str, reason: String| format!("column {}: {reason}", history.chars().count() - rest.chars().count() + 1);
    // Whether the last step ended a round, so that its `/` is due.
    let mut due = false;
    while let Some(letter) = rest.chars().next() {
        if letter == '/' {
            if !due {
                let what = if after(&state).is_empty() { "the betting is over" } else { "the round is not over" };
                return Err(error(rest, format!("'/', but {what}")));
            }
            due = false;
            rest = &rest[1..];
            continue;
        }
        if due {
            return Err(error(rest, format!("'{letter}' in a new round: expected '/' before it")));
        }
        let mut choices = after(&state);
        if choices.is_empty() {
            return Err(error(rest, format!("'{letter}' after the end of the betting: expected nothing more")));
        }
        let digits = rest[letter.len_utf8()..]
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .map_or(rest.len(), |end| end + letter.len_utf8());
        let word = &rest[..digits];
        let n_raises = choices.iter().filter(|(action, _)| matches!(action, Action::Raise(_))).count();
        let index = choices.iter().position(|&(action, _)| match action {
            Action::Fold => word == "f",
            Action::Call => word == "c",
            Action::Raise(to) => match word.strip_prefix('r') {
                Some("") => n_raises == 1,
                Some(size) => size.parse::<f64>().is_ok_and(|size| rounded_chips(size) == rounded_chips(to)),
                None => false,
            },
        });
        let Some(index) = index else {
            let expected: Vec<String> = choices.into_iter().map(|(action, _)| spell(action)).collect();
            return Err(error(rest, format!("'{word}': expected {}", expected.join(", "))));
        };
        let (action, next) = choices.swap_remove(index);
        due = round(&next) > round(&state);
        steps.push((std::mem::replace(&mut state, next), action));
        rest = &rest[digits..];
    }
    Ok((steps, state))
}
