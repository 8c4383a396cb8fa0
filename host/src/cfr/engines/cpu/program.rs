//! An entry's nodes as the passes of a seat go through them: which vector holds what.

use crate::cfr::layout::{Entry, Node};

/// What a pass of a seat does at the nodes of an entry, by node: on the way down in their order, on the way up in the opposite.
pub(super) struct Program {
    pub ops: Vec<Op>,
    /// Showdowns of the entry.
    pub showdowns: Vec<Showdown>,
    /// Folds of the entry.
    pub folds: Vec<Fold>,
    /// Vectors of reach, of the passing seat and of the other. The first is that at the entry.
    pub n_reaches: [usize; 2],
    /// Vectors of the passing seat's strategy.
    pub n_played: usize,
    /// Vectors of values, and the one that is the entry's at the end.
    pub n_values: usize,
    pub value: usize,
}

/// A node. Vectors are named by their numbers.
pub(super) enum Op {
    /// The passing seat acts.
    Own(Own),
    /// The other seat acts.
    Other(Other),
    /// The next street; reach of the passing seat and of the other.
    Exit { entry: usize, reach: [usize; 2], value: usize },
    /// A showdown or a fold, evaluated with others.
    End,
}

pub(super) struct Own {
    /// Node of the entry, if a strategy is given there.
    pub locked: Option<usize>,
    /// The first of its vectors on a board.
    pub slot: usize,
    pub n_actions: usize,
    /// Reach of the seat.
    pub reach: usize,
    /// The first of its vectors of strategy.
    pub played: usize,
    /// Reach after each action, where the seat can act again.
    pub reach_after: Vec<Option<usize>>,
    /// Values after each action.
    pub values: Vec<usize>,
    /// The node's values.
    pub value: usize,
}

pub(super) struct Other {
    pub locked: Option<usize>,
    pub slot: usize,
    pub n_actions: usize,
    /// Reach of the other seat, and the first of those after its actions.
    pub reach: usize,
    pub reach_after: usize,
    /// Values after each action; the first vector becomes the node's.
    pub values: Vec<usize>,
}

/// The end of a hand at a showdown, with the passing seat's payoffs.
#[derive(Clone, Copy)]
pub(super) struct Showdown {
    /// Reach of the other seat.
    pub reach: usize,
    pub win: f64,
    pub lose: f64,
    pub tie: f64,
    pub value: usize,
}

/// The end of a hand by a fold.
#[derive(Clone, Copy)]
pub(super) struct Fold {
    /// Reach of the other seat.
    pub reach: usize,
    pub payoff: f64,
    pub value: usize,
}

impl Program {
    pub fn new(entry: &Entry, seat: usize) -> Self {
        let n = entry.nodes.len();
        let acts = acts_below(entry, seat);
        let mut program = Self {
            ops: Vec::with_capacity(n),
            showdowns: Vec::new(),
            folds: Vec::new(),
            n_reaches: [1, 1],
            n_played: 0,
            n_values: 0,
            value: 0,
        };
        let mut reaches = vec![[0, 0]; n];
        for (number, node) in entry.nodes.iter().enumerate() {
            let [own, other] = reaches[number];
            let op = match node {
                Node::Decision { seat: acting, children, slot, locked, .. } => {
                    let (n_actions, slot) = (children.len(), *slot as usize);
                    let locked = locked.then_some(number);
                    if *acting == seat {
                        let mut reach_after = Vec::with_capacity(n_actions);
                        for &child in children {
                            let next = acts[child as usize].then_some(program.n_reaches[0]);
                            program.n_reaches[0] += usize::from(next.is_some());
                            reaches[child as usize] = [next.unwrap_or(own), other];
                            reach_after.push(next);
                        }
                        let played = program.n_played;
                        program.n_played += n_actions;
                        let (values, value) = (Vec::new(), 0);
                        Op::Own(Own { locked, slot, n_actions, reach: own, played, reach_after, values, value })
                    } else {
                        let reach_after = program.n_reaches[1];
                        program.n_reaches[1] += n_actions;
                        for (action, &child) in children.iter().enumerate() {
                            reaches[child as usize] = [own, reach_after + action];
                        }
                        let values = Vec::new();
                        Op::Other(Other { locked, slot, n_actions, reach: other, reach_after, values })
                    }
                }
                Node::Exit { entry } => Op::Exit { entry: *entry as usize, reach: [own, other], value: 0 },
                Node::Fold { .. } | Node::Showdown { .. } => Op::End,
            };
            program.ops.push(op);
        }
        program.place_values(entry, seat, &reaches);
        program
    }

    /// Number of values in all vectors, with `n_hands` of the passing seat and of the other.
    pub fn n_numbers(&self, [own, other]: [usize; 2]) -> usize {
        (self.n_reaches[0] + self.n_played + self.n_values) * own + self.n_reaches[1] * other
    }

    /// Chooses the vectors of values on the way up. Those of ends and of next streets are all computed first; a node's takes one that is free again.
    fn place_values(&mut self, entry: &Entry, seat: usize, reaches: &[[usize; 2]]) {
        let mut values = vec![0; entry.nodes.len()];
        for (number, node) in entry.nodes.iter().enumerate() {
            let (reach, value) = (reaches[number][1], self.n_values);
            values[number] = value;
            match (node, &mut self.ops[number]) {
                (Node::Fold { payoff }, _) => self.folds.push(Fold { reach, payoff: payoff[seat], value }),
                (Node::Showdown { win, lose, tie }, _) => {
                    self.showdowns.push(Showdown { reach, win: win[seat], lose: lose[seat], tie: tie[seat], value });
                }
                (Node::Exit { .. }, Op::Exit { value: of_exit, .. }) => *of_exit = value,
                _ => continue,
            }
            self.n_values += 1;
        }
        let mut free = Vec::new();
        for (number, node) in entry.nodes.iter().enumerate().rev() {
            let Node::Decision { children, .. } = node else { continue };
            let after = children.iter().map(|&child| values[child as usize]).collect::<Vec<_>>();
            values[number] = match &mut self.ops[number] {
                Op::Own(own) => {
                    own.value = free.pop().unwrap_or_else(|| {
                        self.n_values += 1;
                        self.n_values - 1
                    });
                    free.extend(&after);
                    own.values = after;
                    own.value
                }
                Op::Other(other) => {
                    free.extend(&after[1..]);
                    other.values = after;
                    other.values[0]
                }
                Op::Exit { .. } | Op::End => continue,
            };
        }
        self.value = values[0];
    }
}

/// For each node, whether a seat's reach is needed there: it acts at the node or after it, or another street follows.
fn acts_below(entry: &Entry, seat: usize) -> Vec<bool> {
    let mut acts = vec![false; entry.nodes.len()];
    for (number, node) in entry.nodes.iter().enumerate().rev() {
        acts[number] = match node {
            Node::Decision { seat: acting, children, .. } => {
                *acting == seat || children.iter().any(|&child| acts[child as usize])
            }
            Node::Exit { .. } => true,
            Node::Fold { .. } | Node::Showdown { .. } => false,
        };
    }
    acts
}
