//! The tree of a game, written out.

use std::collections::HashMap;
use std::ops::Range;

/// All histories of a game, level by level, in flat arrays.
///
/// Node 0 is the root. Levels are consecutive, and so are the children of a node. An edge has a *row*: the index of its probability in a table that holds
/// the actions of all information sets, seat by seat, and then the distinct probabilities of chance.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(in crate::cfr) name: String,
    pub(in crate::cfr) n_players: usize,
    /// First node of each level, and the number of nodes.
    pub(in crate::cfr) levels: Vec<u32>,
    /// The parent; 0 for the root.
    pub(in crate::cfr) parents: Vec<u32>,
    /// Row of the edge into a node; 0 for the root.
    pub(in crate::cfr) rows: Vec<u32>,
    /// First child of each node, and the number of nodes.
    pub(in crate::cfr) first: Vec<u32>,
    /// For an end, its number among the ends; for a decision, its set; for chance, 0.
    pub(in crate::cfr) end_or_set: Vec<u32>,
    /// `[n_ends][n_players]`
    pub(in crate::cfr) payoffs: Vec<f64>,
    /// Probabilities of chance: row `n_rows + i`.
    pub(in crate::cfr) outcomes: Vec<f64>,
    /// By seat, then by level, then in the order of their first histories.
    pub(in crate::cfr) sets: Vec<InformationSet>,
    /// Histories of the sets, set by set.
    pub(in crate::cfr) members: Vec<u32>,
    /// Index of a set's first history in `members`, and their number.
    pub(in crate::cfr) set_members: Vec<u32>,
    /// First row of each set, and the number of rows.
    pub(in crate::cfr) set_rows: Vec<u32>,
    /// First set of each seat, and the number of sets.
    pub(in crate::cfr) seat_sets: Vec<u32>,
    pub(in crate::cfr) set_of_key: HashMap<(usize, String), u32>,
}

/// An information set: the knowledge of a seat when it acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InformationSet {
    /// The seat that acts.
    pub seat: usize,
    /// The game's key for it.
    pub key: String,
    /// Names of the actions.
    pub actions: Vec<String>,
    /// Number of actions and events before it, the same for all its histories.
    pub level: u32,
    /// Index of its first value in the seat's table.
    pub offset: usize,
}

impl Tree {
    /// Name of the game.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Seats.
    pub fn n_players(&self) -> usize {
        self.n_players
    }

    /// Number of histories, including those of chance and the ends.
    pub fn n_nodes(&self) -> usize {
        self.parents.len()
    }

    /// Number of ends of the game.
    pub fn n_ends(&self) -> usize {
        self.payoffs.len() / self.n_players
    }

    /// Number of levels: the length of the longest line plus 1.
    pub fn n_levels(&self) -> usize {
        self.levels.len() - 1
    }

    /// All information sets: by seat, then by level, then in the order of their first histories.
    pub fn sets(&self) -> &[InformationSet] {
        &self.sets
    }

    /// The information sets of a seat.
    pub fn sets_of(&self, seat: usize) -> &[InformationSet] {
        &self.sets[self.seat_range(seat)]
    }

    /// The set of a seat with this key.
    pub fn find(&self, seat: usize, key: &str) -> Option<&InformationSet> {
        self.set_of_key.get(&(seat, key.to_string())).map(|&set| &self.sets[set as usize])
    }

    /// Number of values of a seat's table: the actions of all its sets.
    pub fn table_len(&self, seat: usize) -> usize {
        let rows = self.seat_rows(seat);
        rows.end - rows.start
    }

    /// Number of actions of all information sets.
    pub fn n_rows(&self) -> usize {
        self.set_rows.last().map_or(0, |&n| n as usize)
    }

    /// Bytes of host memory, the names of sets and actions estimated.
    pub(in crate::cfr) fn bytes(&self) -> u64 {
        // A key stands in the set and in the index; a name of an action is a string of its own.
        const NAME: usize = size_of::<String>() + 16;
        let of_nodes = self.parents.len() + self.rows.len() + self.first.len() + self.end_or_set.len();
        let of_sets = self.members.len() + self.set_members.len() + self.set_rows.len();
        let keys: usize = self.sets.iter().map(|set| 2 * (NAME + set.key.len()) + size_of::<InformationSet>()).sum();
        (4 * (of_nodes + of_sets) + 8 * (self.payoffs.len() + self.outcomes.len()) + keys + NAME * self.n_rows()) as u64
    }

    /// Maximum number of decisions on a line of play.
    pub fn most_decisions(&self) -> usize {
        let mut decisions = vec![0u16; self.n_nodes()];
        let n_rows = self.n_rows() as u32;
        for node in 1..self.n_nodes() {
            let before = decisions[self.parents[node] as usize];
            decisions[node] = before + u16::from(self.rows[node] < n_rows);
        }
        decisions.into_iter().max().map_or(0, usize::from)
    }

    /// Sets of a seat, as indices in `sets`.
    pub(in crate::cfr) fn seat_range(&self, seat: usize) -> Range<usize> {
        self.seat_sets[seat] as usize..self.seat_sets[seat + 1] as usize
    }

    /// Rows of a seat.
    pub(in crate::cfr) fn seat_rows(&self, seat: usize) -> Range<usize> {
        let sets = self.seat_range(seat);
        self.set_rows[sets.start] as usize..self.set_rows[sets.end] as usize
    }

    /// Children of a node.
    pub(in crate::cfr) fn children(&self, node: usize) -> Range<usize> {
        self.first[node] as usize..self.first[node + 1] as usize
    }

    /// Nodes of a level.
    pub(in crate::cfr) fn level(&self, level: usize) -> Range<usize> {
        self.levels[level] as usize..self.levels[level + 1] as usize
    }

    /// Payoffs of an end, by seat; empty for any other node.
    pub(in crate::cfr) fn payoffs_of(&self, node: usize) -> &[f64] {
        if self.children(node).is_empty() {
            let at = self.end_or_set[node] as usize * self.n_players;
            &self.payoffs[at..at + self.n_players]
        } else {
            &[]
        }
    }

    /// The set that a decision belongs to; `None` for chance and ends.
    pub(in crate::cfr) fn set_of(&self, node: usize) -> Option<usize> {
        let children = self.children(node);
        let decides = !children.is_empty() && (self.rows[children.start] as usize) < self.n_rows();
        decides.then(|| self.end_or_set[node] as usize)
    }
}
