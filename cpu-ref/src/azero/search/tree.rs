//! One tree.

use std::ops::Range;

use super::random::{self, CHOICE, NOISE};
use super::{Noise, Params, Task};
use crate::mcts::{Game, GameResult};

struct Node<G> {
    action: usize,
    position: G,
    result: Option<GameResult>,
    prior: f32,
    visits: u32,
    /// Sum of the values for player 0.
    total: f32,
    /// Simulations on their way through this node.
    pending: u32,
    /// Empty for a leaf.
    children: Range<usize>,
}

impl<G> Node<G> {
    fn new(action: usize, position: G, result: Option<GameResult>, prior: f32) -> Self {
        Self { action, position, result, prior, visits: 0, total: 0.0, pending: 0, children: 0..0 }
    }

    /// Mean value for `player`, with pending simulations as lost.
    fn q(&self, player: usize) -> f32 {
        let n = self.visits + self.pending;
        match self.result {
            Some(result) => for_player(player, value_of(result)),
            None if n == 0 => 0.0,
            None => (for_player(player, self.total) - self.pending as f32) / n as f32,
        }
    }
}

/// Bytes of a tree's node.
pub const fn node_bytes<G>() -> usize {
    size_of::<Node<G>>()
}

/// The selection score of a child with prior `prior`, mean value `q` and `n` visits below a parent with `n_parent` visits.
pub fn score(q: f32, prior: f32, n: u32, n_parent: u32, c_puct: f32) -> f32 {
    let exploration = c_puct * (n_parent as f32).sqrt();
    q + exploration * prior / (1 + n) as f32
}

fn value_of(result: GameResult) -> f32 {
    match result {
        GameResult::Draw => 0.0,
        GameResult::Win(0) => 1.0,
        GameResult::Win(_) => -1.0,
    }
}

/// Converts a value for player 0 to the view of `player`.
fn for_player(player: usize, value: f32) -> f32 {
    if player == 0 { value } else { -value }
}

/// A leaf that waits for its evaluation.
#[derive(Debug)]
pub struct Leaf<'a, G> {
    /// The position.
    pub position: &'a G,
    /// Key of its tree.
    pub key: u64,
    /// Number of the simulation that chose it; the root's evaluation is number 0.
    pub simulation: u64,
}

/// A simulation that waits for its value.
struct Simulation {
    path: Vec<usize>,
    number: u64,
}

/// An invalid evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A value that is not a finite number.
    Value(f32),
    /// A legal action's logit that is not a finite number.
    Logit(f32),
}

/// The results of a search for one action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundAction {
    /// The action.
    pub action: usize,
    /// Its visits.
    pub visits: u32,
    /// Its prior, with the noise.
    pub prior: f32,
    /// Its mean value, or known result, for the player to move; 0 without visits.
    pub value: f32,
}

/// The results of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The action to be played.
    pub action: usize,
    /// Mean value of the position for the player to move.
    pub value: f32,
    /// All legal actions, ascending.
    pub actions: Vec<FoundAction>,
    /// Nodes of the tree.
    pub n_nodes: usize,
    /// The last fault of an evaluation, whose value or priors were replaced by 0 or equal ones.
    pub fault: Option<Fault>,
}

pub(super) struct Tree<G> {
    task: Task<G>,
    nodes: Vec<Node<G>>,
    waiting: Vec<Simulation>,
    begun: u64,
    fault: Option<Fault>,
}

impl<G: Game> Tree<G> {
    /// A root that waits for its evaluation.
    pub fn new(task: Task<G>) -> Self {
        let root = Node { pending: 1, ..Node::new(0, task.position.clone(), None, 1.0) };
        let waiting = vec![Simulation { path: vec![0], number: 0 }];
        Self { task, nodes: vec![root], waiting, begun: 1, fault: None }
    }

    /// Begins as many simulations as a step may have and the task still needs.
    pub fn select(&mut self, params: &Params) {
        let left = (self.task.simulations as u64 + 1).saturating_sub(self.begun);
        for _ in 0..left.min(params.leaves as u64) {
            let path = self.descend(params);
            self.waiting.push(Simulation { path, number: self.begun });
            self.begun += 1;
        }
    }

    fn descend(&mut self, params: &Params) -> Vec<usize> {
        let mut at = 0;
        let mut path = vec![at];
        while !self.nodes[at].children.is_empty() {
            let parent = &self.nodes[at];
            let player = parent.position.to_move();
            let n_parent = parent.visits + parent.pending;
            let (mut best, mut best_score) = (parent.children.start, f32::NEG_INFINITY);
            for child in parent.children.clone() {
                let node = &self.nodes[child];
                let n = node.visits + node.pending;
                let score = score(node.q(player), node.prior, n, n_parent, params.c_puct);
                if score > best_score {
                    (best, best_score) = (child, score);
                }
            }
            at = best;
            path.push(at);
        }
        for &node in &path {
            self.nodes[node].pending += 1;
        }
        path
    }

    /// The waiting leaves at which the game is not over, in the order of selection.
    pub fn leaves(&self) -> impl Iterator<Item = Leaf<'_, G>> {
        let open = self.waiting.iter().filter(|simulation| self.leaf_of(simulation).result.is_none());
        open.map(|simulation| Leaf {
            position: &self.leaf_of(simulation).position,
            key: self.task.key,
            simulation: simulation.number,
        })
    }

    fn leaf_of(&self, simulation: &Simulation) -> &Node<G> {
        &self.nodes[simulation.path[simulation.path.len() - 1]]
    }

    /// Takes the evaluations of [`leaves`](Self::leaves): a value for each and, if there are logits, a row of logits for each.
    pub fn receive<'a>(&mut self, params: &Params, mut evaluations: impl Iterator<Item = (f32, Option<&'a [f32]>)>) {
        for Simulation { path, .. } in std::mem::take(&mut self.waiting) {
            let leaf = path[path.len() - 1];
            let value = match self.nodes[leaf].result {
                Some(result) => value_of(result),
                None => {
                    let (value, logits) = evaluations.next().expect("an evaluation for each open leaf");
                    if path.len() < params.max_path && self.nodes[leaf].children.is_empty() {
                        self.expand(leaf, logits, params.max_nodes);
                    }
                    self.checked(value)
                }
            };
            for &node in &path {
                let node = &mut self.nodes[node];
                node.pending -= 1;
                node.visits += 1;
                node.total += value;
            }
        }
    }

    fn checked(&mut self, value: f32) -> f32 {
        if value.is_finite() {
            return value;
        }
        self.fault = Some(Fault::Value(value));
        0.0
    }

    fn expand(&mut self, leaf: usize, logits: Option<&[f32]>, max_nodes: usize) {
        let mut legal = Vec::new();
        let position = self.nodes[leaf].position.clone();
        position.legal_actions(&mut legal);
        if self.nodes.len() + legal.len() > max_nodes {
            return;
        }
        let mut weights: Vec<f32> = match logits {
            Some(logits) => legal.iter().map(|&action| logits[action]).collect(),
            None => vec![0.0; legal.len()],
        };
        if let Some(&wrong) = weights.iter().find(|weight| !weight.is_finite()) {
            self.fault = Some(Fault::Logit(wrong));
            weights.fill(0.0);
        }
        let largest = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for weight in &mut weights {
            *weight = libm::expf(*weight - largest);
            sum += *weight;
        }
        self.reserve(legal.len(), max_nodes);
        let first = self.nodes.len();
        for (&action, weight) in legal.iter().zip(&weights) {
            let mut next = position.clone();
            next.apply(action);
            let result = next.result_after(action);
            self.nodes.push(Node::new(action, next, result, weight / sum));
        }
        self.nodes[leaf].children = first..self.nodes.len();
    }

    /// Reserves memory for `n` more nodes, which fit: doubles the capacity, as vectors do, but never beyond `max_nodes`.
    fn reserve(&mut self, n: usize, max_nodes: usize) {
        let (len, room) = (self.nodes.len(), self.nodes.capacity());
        if room < len + n {
            let wanted = (2 * room).clamp(len + n, max_nodes);
            self.nodes.reserve_exact(wanted - len);
        }
    }

    /// Mixes noise into the priors of the root's children.
    pub fn add_noise(&mut self, noise: Noise) {
        let children = self.nodes[0].children.clone();
        let numbers: Vec<f64> = (0..children.len() as u64)
            .map(|rank| random::gamma(&mut random::stream(self.task.key, NOISE, rank), noise.alpha))
            .collect();
        let mut sum = 0.0;
        for number in &numbers {
            sum += number;
        }
        for (child, number) in self.nodes[children].iter_mut().zip(&numbers) {
            let share = if sum > 0.0 { number / sum } else { 1.0 / numbers.len() as f64 };
            child.prior = (1.0 - noise.epsilon) * child.prior + noise.epsilon * share as f32;
        }
    }

    /// Whether nothing waits and all simulations were begun.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.begun > self.task.simulations as u64
    }

    /// The results.
    pub fn found(&self) -> Found {
        let root = &self.nodes[0];
        let player = root.position.to_move();
        let children = &self.nodes[root.children.clone()];
        let actions: Vec<FoundAction> = children
            .iter()
            .map(|child| FoundAction {
                action: child.action,
                visits: child.visits,
                prior: child.prior,
                value: child.q(player),
            })
            .collect();
        let value = for_player(player, root.total) / root.visits as f32;
        let action = self.choose(&actions);
        Found { action, value, actions, n_nodes: self.nodes.len(), fault: self.fault }
    }

    fn choose(&self, actions: &[FoundAction]) -> usize {
        let temperature = self.task.temperature;
        let most = actions.iter().map(|action| action.visits).max().unwrap_or(0);
        if temperature == 0.0 || most == 0 {
            let first = actions.iter().find(|action| action.visits == most);
            return first.map_or(0, |action| action.action);
        }
        let weight = |visits: u32| {
            if visits == 0 {
                0.0
            } else if temperature == 1.0 {
                visits as f32
            } else {
                libm::expf(libm::logf(visits as f32 / most as f32) / temperature)
            }
        };
        let mut sum = 0.0;
        for action in actions {
            sum += weight(action.visits);
        }
        let threshold = random::unit_f32(&mut random::stream(self.task.key, CHOICE, 0)) * sum;
        let mut chosen = 0;
        let mut up_to = 0.0;
        for action in actions.iter().filter(|action| weight(action.visits) > 0.0) {
            chosen = action.action;
            up_to += weight(action.visits);
            if up_to > threshold {
                break;
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::azero::search::evaluate::uniform;
    use crate::mcts::games::connect4::Connect4;

    /// What is looked for before a search is `max_nodes` nodes: vectors that double would take up to twice as much.
    #[test]
    fn a_tree_never_takes_room_for_more_than_its_nodes() {
        for max_nodes in [8, 100, 129, 1000] {
            let params = Params { leaves: 1, c_puct: 2.0, noise: None, max_nodes, max_path: 64 };
            let task = Task { position: Connect4::new(6, 7), key: 1, temperature: 0.0, simulations: 300 };
            let mut tree = Tree::new(task);
            while !tree.is_done() {
                let values = uniform(&tree.leaves().collect::<Vec<_>>()).values;
                tree.receive(&params, values.into_iter().map(|value| (value, None)));
                tree.select(&params);
                assert!(tree.nodes.capacity() <= max_nodes, "{} of {max_nodes}", tree.nodes.capacity());
            }
            // Full: another leaf's seven children do not fit.
            assert!(tree.nodes.len() + 7 > max_nodes.min(1 + 7 * 301), "{} of {max_nodes}", tree.nodes.len());
        }
    }
}
