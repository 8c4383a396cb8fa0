//! The stored tree.

use std::collections::HashMap;

use super::{Game, Turn};

/// A node of a [`Tree`]. Its children are `tree.children(first, n)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    /// Chance; the edges carry probabilities.
    Chance {
        /// First edge.
        first: u32,
        /// Edges.
        n: u32,
    },
    /// A player.
    Player {
        /// Number of the information set.
        set: u32,
        /// First edge; there are as many as the set has actions.
        first: u32,
    },
    /// The end: number of a row of winnings.
    End(u32),
}

/// The histories that a player cannot distinguish.
#[derive(Clone, Debug, PartialEq)]
pub struct InformationSet<K> {
    /// What the player knows.
    pub key: K,
    /// The player.
    pub seat: usize,
    /// Actions.
    pub n_actions: usize,
    /// First entry in the seat's tables.
    pub offset: usize,
    /// Its nodes, in the order of the tree.
    pub nodes: Vec<u32>,
}

/// A game in which every history is a node.
#[derive(Clone, Debug)]
pub struct Tree<K> {
    n_players: usize,
    nodes: Vec<Node>,
    children: Vec<u32>,
    probabilities: Vec<f64>,
    winnings: Vec<f64>,
    sets: Vec<InformationSet<K>>,
    table_lens: Vec<usize>,
}

impl<K: Clone + Eq + std::hash::Hash> Tree<K> {
    /// Walks a game, depth first.
    ///
    /// # Panics
    /// If nodes of one set differ in their number of actions, or there are 2³² nodes.
    pub fn new<G: Game<Key = K>>(game: &G) -> Self {
        let n_players = game.n_players();
        let mut tree = Self {
            n_players,
            nodes: Vec::new(),
            children: Vec::new(),
            probabilities: Vec::new(),
            winnings: Vec::new(),
            sets: Vec::new(),
            table_lens: vec![0; n_players],
        };
        tree.add(game, &game.root(), &mut HashMap::new());
        tree
    }

    fn add<G: Game<Key = K>>(&mut self, game: &G, state: &G::State, numbers: &mut HashMap<(usize, K), u32>) -> u32 {
        let node = u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes");
        let first = self.children.len() as u32;
        let n = match game.turn(state) {
            Turn::Chance(probabilities) => {
                self.nodes.push(Node::Chance { first, n: probabilities.len() as u32 });
                self.probabilities.extend(&probabilities);
                probabilities.len()
            }
            Turn::Player { seat, n_actions } => {
                let set = self.set_of(seat, n_actions, game.key(state), numbers);
                assert_eq!(self.sets[set as usize].n_actions, n_actions, "actions of the nodes of one set");
                self.sets[set as usize].nodes.push(node);
                self.nodes.push(Node::Player { set, first });
                self.probabilities.extend(std::iter::repeat_n(0.0, n_actions));
                n_actions
            }
            Turn::End(winnings) => {
                self.nodes.push(Node::End((self.winnings.len() / self.n_players) as u32));
                self.winnings.extend(winnings);
                0
            }
        };
        self.children.extend(std::iter::repeat_n(0, n));
        for action in 0..n {
            let child = self.add(game, &game.after(state, action), numbers);
            self.children[first as usize + action] = child;
        }
        node
    }

    fn set_of(&mut self, seat: usize, n_actions: usize, key: K, numbers: &mut HashMap<(usize, K), u32>) -> u32 {
        let (sets, lens) = (&mut self.sets, &mut self.table_lens);
        *numbers.entry((seat, key)).or_insert_with_key(|(_, key)| {
            let offset = lens[seat];
            lens[seat] += n_actions;
            sets.push(InformationSet { key: key.clone(), seat, n_actions, offset, nodes: Vec::new() });
            sets.len() as u32 - 1
        })
    }
}

impl<K> Tree<K> {
    /// Seats.
    pub fn n_players(&self) -> usize {
        self.n_players
    }

    /// The nodes, depth first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The information sets, all seats.
    pub fn sets(&self) -> &[InformationSet<K>] {
        &self.sets
    }

    /// Entries of a seat's table: actions of all its sets.
    pub fn table_len(&self, seat: usize) -> usize {
        self.table_lens[seat]
    }

    /// The nodes at the end of `n` edges from `first` on.
    pub fn children(&self, first: u32, n: usize) -> &[u32] {
        &self.children[first as usize..first as usize + n]
    }

    /// Probabilities of chance's edges.
    pub fn probabilities(&self, first: u32, n: usize) -> &[f64] {
        &self.probabilities[first as usize..first as usize + n]
    }

    /// Winnings of all seats at an end.
    pub fn winnings(&self, row: u32) -> &[f64] {
        &self.winnings[row as usize * self.n_players..][..self.n_players]
    }
}
