//! Tables of a betting tree by buckets of cards: games of one round, where a bucket is the unordered set of a player's cards and the board.

use std::sync::Arc;

use super::layout::Row;
use super::public;
use crate::cfr::betting::{BettingKind, BettingTree};
use crate::cfr::cards::{CardSet, colex_rank, set_of, subsets};
use crate::cfr::game_file::GameDef;
use crate::{Error, Result};

/// By seat: its decision nodes in the order of the tree, `[bucket][action]` each.
///
/// Without a board a bucket is the hand itself. With one, the table forgets which card is whose, as the dissertation of 2015 has it.
#[derive(Clone, Debug)]
pub(in crate::cfr) struct Buckets {
    pub rules: Arc<GameDef>,
    pub tree: Arc<BettingTree>,
    pub n_buckets: usize,
    /// Where the table of a decision node begins among its seat's.
    starts: Vec<usize>,
    /// Values of a seat's table.
    lengths: Vec<usize>,
}

impl Buckets {
    /// Lays a game out.
    ///
    /// # Errors
    /// [`Error::Option`] for a game of several rounds; as [`BettingTree::new`].
    pub fn new(rules: &Arc<GameDef>) -> Result<Self> {
        if rules.n_rounds != 1 {
            return Err(Error::option("numRounds", rules.n_rounds, "1 where tables are by buckets"));
        }
        let tree = BettingTree::new(rules)?;
        let n_buckets = usize::try_from(rules.thesis_buckets()).unwrap_or(usize::MAX);
        let mut lengths = vec![0usize; rules.n_players];
        let mut starts = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let (seat, n) = match &node.kind {
                BettingKind::Decision { seat, actions, .. } => (*seat, actions.len()),
                BettingKind::Terminal => (0, 0),
            };
            starts.push(lengths[seat]);
            lengths[seat] = n.saturating_mul(n_buckets).saturating_add(lengths[seat]);
        }
        Ok(Self { rules: Arc::clone(rules), tree: Arc::new(tree), n_buckets, starts, lengths })
    }

    pub fn table_len(&self, seat: usize) -> usize {
        self.lengths[seat]
    }

    /// Decision nodes of a seat, and how many actions each has.
    pub fn nodes(&self, seat: usize) -> impl Iterator<Item = (usize, usize)> {
        self.tree.nodes.iter().enumerate().filter_map(move |(number, node)| match &node.kind {
            BettingKind::Decision { seat: of, actions, .. } if *of == seat => Some((number, actions.len())),
            _ => None,
        })
    }

    pub fn row(&self, node: usize, n_actions: usize, bucket: usize) -> Row {
        Row { start: self.starts[node] + bucket * n_actions, stride: 1, n_actions }
    }

    /// The cards of all buckets, in order.
    pub fn cards(&self) -> impl Iterator<Item = CardSet> {
        subsets(self.rules.deck.all(), self.rules.n_hole_cards + self.n_board())
    }

    /// The decision after a history, and whose it is.
    pub fn find(&self, history: &str) -> Result<(usize, usize)> {
        let node = self.tree.find(history)? as usize;
        match self.tree.nodes[node].kind {
            BettingKind::Decision { seat, .. } => Ok((node, seat)),
            BettingKind::Terminal => Err(public::betting_over(history)),
        }
    }

    /// The bucket of a hand on a board.
    pub fn bucket(&self, hand: &str, board: &str) -> Result<(usize, CardSet, CardSet)> {
        let board_cards = public::dealt(self.rules.deck, &[self.n_board()], board)?[0];
        let hole = set_of(&self.rules.deck.cards(hand)?);
        if hole.count_ones() as usize != self.rules.n_hole_cards || hole & board_cards != 0 {
            let allowed = format!("{} private cards beside the board '{board}'", self.rules.n_hole_cards);
            return Err(Error::option("hand", format!("'{hand}'"), allowed));
        }
        Ok((colex_rank(hole | board_cards) as usize, hole, board_cards))
    }

    /// Names of the actions of a decision.
    pub fn actions(&self, node: usize) -> Vec<String> {
        match &self.tree.nodes[node].kind {
            BettingKind::Decision { actions, .. } => actions.iter().map(|&action| self.tree.spell(action)).collect(),
            BettingKind::Terminal => Vec::new(),
        }
    }

    fn n_board(&self) -> usize {
        self.rules.n_board_cards.iter().sum()
    }
}
