//! The betting tree partitioned into the entries of the streets.

use super::locks::SetupLock;
use super::{Entry, Lock, Node};
use crate::cfr::game::betting::{BettingKind, BettingTree};

/// Entries, action vectors by seat, and locks.
pub(super) struct Partition {
    /// By street: its entries and its action vectors of one board, by seat.
    pub streets: Vec<(Vec<Entry>, [u32; 2])>,
    /// Nodes of the betting tree that are locked, with locks that are on no board yet.
    pub locks: Vec<(u32, Lock)>,
}

/// How play reaches a street.
#[derive(Clone, Copy)]
enum Root {
    /// The betting continues at this node.
    Betting(u32),
    /// All chips are in since this terminal node; only cards are dealt.
    AllIn(u32),
}

/// Divides the tree of a two-player game of `n_streets` rounds by streets. Every way to leave a street is an entry of the next, in order.
pub(super) fn partition(tree: &BettingTree, n_streets: usize, locks: &[SetupLock]) -> Partition {
    let mut partition = Partition { streets: Vec::new(), locks: Vec::new() };
    let mut roots = vec![root(tree, 0)];
    for street in 0..n_streets {
        let mut of_street =
            OfStreet { tree, street, last: street + 1 == n_streets, n_slots: [0; 2], exits: Vec::new() };
        let mut entries = Vec::with_capacity(roots.len());
        for &root in &roots {
            let nodes = of_street.entry(root, locks, entries.len(), &mut partition.locks);
            entries.push(Entry { nodes });
        }
        roots = of_street.exits;
        partition.streets.push((entries, of_street.n_slots));
    }
    partition
}

fn root(tree: &BettingTree, node: u32) -> Root {
    match tree.nodes[node as usize].kind {
        BettingKind::Terminal => Root::AllIn(node),
        BettingKind::Decision { .. } => Root::Betting(node),
    }
}

struct OfStreet<'a> {
    tree: &'a BettingTree,
    street: usize,
    last: bool,
    n_slots: [u32; 2],
    /// Exits of the street found so far.
    exits: Vec<Root>,
}

impl OfStreet<'_> {
    /// Adds the nodes below `root`, depth first.
    fn entry(&mut self, root: Root, locks: &[SetupLock], entry: usize, locked: &mut Vec<(u32, Lock)>) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        // Nodes to come, with the node and the action they belong to.
        let mut open: Vec<(Root, Option<(u32, u32)>)> = vec![(root, None)];
        while let Some((next, from)) = open.pop() {
            let number = nodes.len() as u32;
            if let Some((parent, action)) = from
                && let Node::Decision { children, .. } = &mut nodes[parent as usize]
            {
                children[action as usize] = number;
            }
            let node = match next {
                Root::AllIn(end) => self.end(end),
                Root::Betting(betting) => {
                    let of_tree = &self.tree.nodes[betting as usize];
                    match &of_tree.kind {
                        BettingKind::Terminal => self.end(betting),
                        BettingKind::Decision { .. } if of_tree.round as usize > self.street => self.exit(next),
                        BettingKind::Decision { seat, actions, children } => {
                            for (action, &child) in children.iter().enumerate().rev() {
                                open.push((Root::Betting(child), Some((number, action as u32))));
                            }
                            let slot = self.n_slots[*seat];
                            self.n_slots[*seat] += actions.len() as u32;
                            let is_locked = locks.iter().any(|lock| lock.betting == betting);
                            if is_locked {
                                let (street, node) = (self.street, number as usize);
                                let (given, of_boards) = (Vec::new(), Vec::new());
                                locked.push((betting, Lock { street, entry, node, given, of_boards }));
                            }
                            Node::Decision {
                                seat: *seat,
                                actions: actions.clone(),
                                children: vec![0; children.len()],
                                slot,
                                betting,
                                locked: is_locked,
                            }
                        }
                    }
                }
            };
            nodes.push(node);
        }
        nodes
    }

    /// Converts a terminal node of the tree: an end, or an exit to the street where the cards are shown.
    fn end(&mut self, node: u32) -> Node {
        let pays = |strengths: [u32; 2]| {
            let payoffs = self.tree.payoffs(&self.tree.nodes[node as usize], &strengths);
            [payoffs[0], payoffs[1]]
        };
        if self.tree.nodes[node as usize].folded != 0 {
            return Node::Fold { payoff: pays([0, 0]) };
        }
        if !self.last {
            return self.exit(Root::AllIn(node));
        }
        let (first, second) = (pays([1, 0]), pays([0, 1]));
        Node::Showdown { win: [first[0], second[1]], lose: [second[0], first[1]], tie: pays([0, 0]) }
    }

    fn exit(&mut self, root: Root) -> Node {
        self.exits.push(root);
        Node::Exit { entry: self.exits.len() as u32 - 1 }
    }
}
