//! Actions that are added to a tree's nodes or removed from them.

use crate::cfr::game::betting::{Action, rounded_chips};

/// The edited nodes of a tree, and those above them. Node 0 is the root.
#[derive(Default)]
pub(super) struct Lines {
    nodes: Vec<Edited>,
}

#[derive(Default)]
struct Edited {
    after: Vec<(Action, u32)>,
    added: Vec<f64>,
    removed: Vec<Action>,
}

/// Whether two actions have the same name.
pub(super) fn same(one: Action, other: Action) -> bool {
    match (one, other) {
        (Action::Raise(one), Action::Raise(other)) => rounded_chips(one) == rounded_chips(other),
        _ => one == other,
    }
}

impl Lines {
    /// The node after these actions from the root; created if missing.
    pub fn insert(&mut self, path: impl IntoIterator<Item = Action>) -> u32 {
        if self.nodes.is_empty() {
            self.nodes.push(Edited::default());
        }
        path.into_iter().fold(0, |node, action| {
            self.after(node, action).unwrap_or_else(|| {
                let next = self.nodes.len() as u32;
                self.nodes.push(Edited::default());
                self.nodes[node as usize].after.push((action, next));
                next
            })
        })
    }

    /// The root, if anything is edited.
    pub fn root(&self) -> Option<u32> {
        (!self.nodes.is_empty()).then_some(0)
    }

    /// The node after an action, if anything is edited there or below.
    pub fn after(&self, node: u32, action: Action) -> Option<u32> {
        self.nodes[node as usize].after.iter().find(|&&(taken, _)| same(taken, action)).map(|&(_, next)| next)
    }

    pub fn add(&mut self, node: u32, to: f64) {
        self.nodes[node as usize].added.push(to);
    }

    pub fn remove(&mut self, node: u32, action: Action) {
        self.nodes[node as usize].removed.push(action);
    }

    /// Edits the actions of a node.
    pub fn edit(&self, node: u32, actions: &mut Vec<Action>) {
        let Edited { added, removed, .. } = &self.nodes[node as usize];
        for &to in added {
            let is_above = |action: &Action| matches!(action, Action::Raise(other) if *other > to);
            let at = actions.iter().position(is_above).unwrap_or(actions.len());
            actions.insert(at, Action::Raise(to));
        }
        actions.retain(|&action| !removed.iter().any(|&gone| same(gone, action)));
    }
}
