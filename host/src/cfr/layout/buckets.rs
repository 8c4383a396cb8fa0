//! Tables of a betting tree by what a player can know of the cards.

use std::sync::Arc;

use super::{Row, public};
use crate::cfr::abstraction::Abstraction;
use crate::cfr::game;
use crate::cfr::game::betting::{Action, BettingKind, BettingNode, BettingTree};
use crate::cfr::game::cards::{CardSet, choose, colex_rank, set_of, subsets};
use crate::cfr::game::game_file::GameDef;
use crate::cfr::game::sequences::{n_raises, slots};
use crate::{Error, Result};

/// By seat: its decision nodes in the order of the tree, `[bucket][action]` each. The bucket of a hand on a board is the abstraction's; without one it is the hand's
/// index among all hands, times the number of boards of the round, plus the board's index among all boards, both colexicographic.
#[derive(Clone, Debug)]
pub(in crate::cfr) struct Buckets {
    pub rules: Arc<GameDef>,
    pub tree: Arc<BettingTree>,
    /// Whether every set has room for fold, call and raise, even if they are not legal; and behind several sizes of raise for what the walk adds, see [`slots`].
    pub padded: bool,
    /// What players know instead of their cards.
    pub abstraction: Option<Arc<Abstraction>>,
    /// Offset of each decision node's table in its seat's table.
    starts: Vec<usize>,
    /// Number of values of each seat's table.
    lengths: Vec<usize>,
}

impl Buckets {
    /// Lays a game out.
    ///
    /// # Errors
    /// As [`BettingTree::new`].
    pub fn new(rules: &Arc<GameDef>, padded: bool, abstraction: Option<&Arc<Abstraction>>) -> Result<Self> {
        let tree = BettingTree::new(rules)?;
        let mut lengths = vec![0usize; rules.n_players];
        let mut starts = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let (seat, n) = match &node.kind {
                BettingKind::Decision { seat, actions, .. } => (*seat, actions.len()),
                BettingKind::Terminal => (0, 0),
            };
            starts.push(lengths[seat]);
            let width = if padded && n > 0 { padded_width(node) } else { n };
            let n_buckets = n_buckets(rules, abstraction, node.round as usize);
            let n_buckets = usize::try_from(n_buckets).unwrap_or(usize::MAX);
            lengths[seat] = width.saturating_mul(n_buckets).saturating_add(lengths[seat]);
        }
        let (rules, tree, abstraction) = (Arc::clone(rules), Arc::new(tree), abstraction.cloned());
        Ok(Self { rules, tree, padded, abstraction, starts, lengths })
    }

    /// Values of all seats' tables of a game in buckets that are not found yet.
    ///
    /// # Errors
    /// As [`BettingTree::new`].
    pub fn count(rules: &GameDef, buckets: &dyn game::Buckets) -> Result<u64> {
        let tree = BettingTree::new(rules)?;
        let of_node = |node: &BettingNode| match &node.kind {
            BettingKind::Decision { actions, .. } => {
                u64::from(buckets.n_buckets(node.round as usize)).saturating_mul(actions.len() as u64)
            }
            BettingKind::Terminal => 0,
        };
        Ok(tree.nodes.iter().map(of_node).fold(0, u64::saturating_add))
    }

    pub fn table_len(&self, seat: usize) -> usize {
        self.lengths[seat]
    }

    /// Decision nodes of a seat.
    pub fn nodes(&self, seat: usize) -> impl Iterator<Item = usize> {
        self.tree.nodes.iter().enumerate().filter_map(move |(number, node)| match &node.kind {
            BettingKind::Decision { seat: of, .. } if *of == seat => Some(number),
            _ => None,
        })
    }

    /// Buckets of a decision node.
    pub fn n_buckets(&self, node: usize) -> usize {
        n_buckets(&self.rules, self.abstraction.as_ref(), self.tree.nodes[node].round as usize) as usize
    }

    pub fn row(&self, node: usize, bucket: usize) -> Row {
        let BettingNode { kind: BettingKind::Decision { actions, .. }, .. } = &self.tree.nodes[node] else {
            return Row { start: 0, stride: 1, n_actions: 0 };
        };
        let n_actions = actions.len();
        // Legal actions stand side by side: where nothing is to call only fold is missing, where nothing can be raised only the raise.
        let missing = usize::from(self.padded && actions.first() != Some(&Action::Fold));
        let width = if self.padded { padded_width(&self.tree.nodes[node]) } else { n_actions };
        Row { start: self.starts[node] + bucket * width + missing, stride: 1, n_actions }
    }

    /// The possible hands and boards of a node, with their buckets.
    pub fn hands(&self, node: usize) -> impl Iterator<Item = (usize, CardSet, CardSet)> {
        let (all, round) = (self.rules.deck.all(), self.tree.nodes[node].round as usize);
        let n_board = self.rules.board_cards_by(round);
        let hands = subsets(all, self.rules.n_hole_cards);
        let pairs = hands.flat_map(move |hand| subsets(all, n_board).map(move |board| (hand, board)));
        let possible = pairs.filter(|(hand, board)| hand & board == 0);
        possible.filter_map(move |(hand, board)| Some((self.index(round, hand, board)?, hand, board)))
    }

    /// The decision node after a history, and its seat.
    pub fn find(&self, history: &str) -> Result<(usize, usize)> {
        let node = self.tree.find(history)? as usize;
        match self.tree.nodes[node].kind {
            BettingKind::Decision { seat, .. } => Ok((node, seat)),
            BettingKind::Terminal => Err(public::betting_over(history)),
        }
    }

    /// The bucket of a hand on a board at a node, the hand, and the board by round.
    pub fn bucket(&self, node: usize, hand: &str, board: &str) -> Result<(usize, CardSet, Vec<CardSet>)> {
        let round = self.tree.nodes[node].round as usize;
        let dealt = public::dealt(self.rules.deck, &self.rules.n_board_cards[..=round], board)?;
        let on_board = dealt.iter().fold(0, |all, cards| all | cards);
        let hole = set_of(&self.rules.deck.cards(hand)?);
        let possible = hole.count_ones() as usize == self.rules.n_hole_cards && hole & on_board == 0;
        match self.index(round, hole, on_board).filter(|_| possible) {
            Some(bucket) => Ok((bucket, hole, dealt)),
            None => {
                let allowed = format!("{} private cards beside the board '{board}'", self.rules.n_hole_cards);
                Err(Error::option("hand", format!("'{hand}'"), allowed))
            }
        }
    }

    /// The bucket of a hand on a board in a round; `None` for cards that an abstraction does not have.
    pub fn index(&self, round: usize, hole: CardSet, board: CardSet) -> Option<usize> {
        match &self.abstraction {
            Some(abstraction) => abstraction.bucket(round, hole, board).map(|bucket| bucket as usize),
            None => Some((colex_rank(hole) * boards(&self.rules, round) + colex_rank(board)) as usize),
        }
    }

    /// The buckets of many hands on one board, as [`index`](Self::index); none for a hand that the board blocks.
    pub fn indices(&self, round: usize, holes: &[CardSet], board: CardSet) -> Vec<Option<usize>> {
        let open = |hole: CardSet| hole & board == 0;
        match &self.abstraction {
            Some(abstraction) => {
                let buckets = abstraction.buckets(round, holes, board).into_iter();
                buckets.map(|bucket| bucket.map(|bucket| bucket as usize)).collect()
            }
            None => holes.iter().map(|&hole| open(hole).then(|| self.index(round, hole, board)).flatten()).collect(),
        }
    }

    /// Names of the actions of a decision.
    pub fn actions(&self, node: usize) -> Vec<String> {
        match &self.tree.nodes[node].kind {
            BettingKind::Decision { actions, .. } => actions.iter().map(|&action| self.tree.spell(action)).collect(),
            BettingKind::Terminal => Vec::new(),
        }
    }
}

/// Values of a padded set: fold, call and raise; with several sizes of raise fold, call, each size, and a value a choice among them.
fn padded_width(node: &BettingNode) -> usize {
    match &node.kind {
        BettingKind::Decision { actions, .. } => slots(n_raises(actions)).len(),
        BettingKind::Terminal => 0,
    }
}

/// Number of possible boards of a round.
fn boards(rules: &GameDef, round: usize) -> u64 {
    choose(rules.deck.n_cards(), rules.board_cards_by(round) as u32)
}

fn n_buckets(rules: &GameDef, abstraction: Option<&Arc<Abstraction>>, round: usize) -> u64 {
    if let Some(abstraction) = abstraction {
        return abstraction.rounds.get(round).map_or(0, |round| round.n_buckets().into());
    }
    choose(rules.deck.n_cards(), rules.n_hole_cards as u32).saturating_mul(boards(rules, round))
}
