//! Poker as a game in extensive form: single cards are dealt one after the other, suits are distinct.

use std::sync::OnceLock;

use super::{Game, Turn};
use crate::Result;
use crate::cfr::game::betting::{BettingKind, BettingNode, BettingTree};
use crate::cfr::game::cards::{CardSet, set_of};
use crate::cfr::game::game_file::GameDef;
use crate::cfr::game::ranking::Ranking;

/// A game of poker, any number of seats. First all private cards, seat by seat, then the betting, with the board's cards at the start of their rounds; if nobody can act any
/// more, the missing ones are dealt before the hands are shown.
#[derive(Clone, Debug)]
pub struct Poker {
    rules: GameDef,
    betting: BettingTree,
    ranking: Ranking,
    /// History of each betting node, as [`BettingTree::history`] writes it.
    histories: OnceLock<Vec<String>>,
}

/// The betting so far, and the cards in the order in which they were dealt.
#[derive(Clone, Debug)]
pub struct Dealt {
    betting: u32,
    cards: Vec<u8>,
}

impl Poker {
    /// A game of these rules.
    ///
    /// # Errors
    /// As [`BettingTree::new`].
    pub fn new(rules: &GameDef) -> Result<Self> {
        let betting = BettingTree::new(rules)?;
        Ok(Self { rules: rules.clone(), betting, ranking: Ranking::new(rules.deck), histories: OnceLock::new() })
    }

    /// The betting without the cards.
    pub fn betting(&self) -> &BettingTree {
        &self.betting
    }

    /// The betting node where a seat acts, with its private cards and the board.
    pub(in crate::cfr) fn known(&self, state: &Dealt, seat: usize) -> (usize, CardSet, CardSet) {
        let board = set_of(&state.cards[self.n_private()..]);
        (state.betting as usize, set_of(self.hole(state, seat)), board)
    }

    fn node(&self, state: &Dealt) -> &BettingNode {
        &self.betting.nodes[state.betting as usize]
    }

    /// Private cards of all seats.
    fn n_private(&self) -> usize {
        self.rules.n_players * self.rules.n_hole_cards
    }

    /// Number of cards dealt before a seat acts, or is paid, at a node.
    fn n_dealt_at(&self, node: &BettingNode) -> usize {
        let shown = matches!(node.kind, BettingKind::Terminal) && n_staying(node, self.rules.n_players) > 1;
        let round = if shown { self.rules.n_rounds - 1 } else { node.round as usize };
        self.n_private() + self.rules.board_cards_by(round)
    }

    /// The remaining cards, in their order.
    fn left(&self, state: &Dealt) -> impl Iterator<Item = u8> {
        let dealt = set_of(&state.cards);
        (0..self.rules.deck.n_cards() as u8).filter(move |&card| dealt >> card & 1 == 0)
    }

    fn hole<'a>(&self, state: &'a Dealt, seat: usize) -> &'a [u8] {
        &state.cards[seat * self.rules.n_hole_cards..(seat + 1) * self.rules.n_hole_cards]
    }

    fn payoffs(&self, state: &Dealt) -> Vec<f64> {
        let board = set_of(&state.cards[self.n_private()..]);
        let node = self.node(state);
        let strength = |seat: usize| self.ranking.strength(set_of(self.hole(state, seat)) | board);
        let strengths: Vec<u32> = if n_staying(node, self.rules.n_players) > 1 {
            (0..self.rules.n_players).map(strength).collect()
        } else {
            vec![0; self.rules.n_players]
        };
        self.betting.payoffs(node, &strengths)
    }
}

/// Seats that have not folded.
fn n_staying(node: &BettingNode, n_players: usize) -> usize {
    n_players - node.folded.count_ones() as usize
}

/// Number of ways to deal `n` of `cards` cards one after the other.
fn deals(cards: u128, n: usize) -> u128 {
    (0..n as u128).fold(1, |ways: u128, dealt| ways.saturating_mul(cards.saturating_sub(dealt)))
}

impl Game for Poker {
    type State = Dealt;

    fn name(&self) -> String {
        let limit = if self.rules.no_limit { "no-limit" } else { "limit" };
        format!("{limit} poker for {}", self.rules.n_players)
    }

    fn n_players(&self) -> usize {
        self.rules.n_players
    }

    fn root(&self) -> Dealt {
        Dealt { betting: 0, cards: Vec::new() }
    }

    fn turn(&self, state: &Dealt) -> Turn {
        let node = self.node(state);
        if state.cards.len() < self.n_dealt_at(node) {
            let n = self.rules.deck.n_cards() as usize - state.cards.len();
            return Turn::Chance(vec![1.0 / n as f64; n]);
        }
        match &node.kind {
            BettingKind::Decision { seat, actions, .. } => Turn::Decision { seat: *seat, n_actions: actions.len() },
            BettingKind::Terminal => Turn::End(self.payoffs(state)),
        }
    }

    fn next(&self, state: &Dealt, action: usize) -> Dealt {
        let node = self.node(state);
        let mut next = state.clone();
        if state.cards.len() < self.n_dealt_at(node) {
            next.cards.extend(self.left(state).nth(action));
        } else if let BettingKind::Decision { children, .. } = &node.kind {
            next.betting = children[action];
        }
        next
    }

    /// `seat:hole:board:betting`: the hole cards from the highest, the board's in rounds with `/` between them, the betting as
    /// [`BettingTree::history`].
    fn key(&self, state: &Dealt) -> String {
        let node = self.node(state);
        let BettingKind::Decision { seat, .. } = node.kind else { return String::new() };
        let names = |cards: &[u8]| self.rules.deck.names(set_of(cards));
        let mut rest = &state.cards[self.n_private()..];
        let mut board = Vec::new();
        for &n in &self.rules.n_board_cards {
            let (round, after) = rest.split_at(n.min(rest.len()));
            if !round.is_empty() {
                board.push(names(round));
            }
            rest = after;
        }
        let all = || (0..self.betting.nodes.len() as u32).map(|node| self.betting.history(node)).collect();
        let history = &self.histories.get_or_init(all)[state.betting as usize];
        format!("{seat}:{}:{}:{history}", names(self.hole(state, seat)), board.join("/"))
    }

    fn action_name(&self, state: &Dealt, action: usize) -> String {
        match &self.node(state).kind {
            BettingKind::Decision { actions, .. } => self.betting.spell(actions[action]),
            BettingKind::Terminal => String::new(),
        }
    }

    fn n_histories(&self) -> Option<u128> {
        let cards = u128::from(self.rules.deck.n_cards());
        let mut n: u128 = 0;
        for node in &self.betting.nodes {
            // A chance node for each card that is dealt between the node before and this one, then the node itself.
            let before = node.parent.map_or(0, |parent| self.n_dealt_at(&self.betting.nodes[parent as usize]));
            for dealt in before..=self.n_dealt_at(node) {
                n = n.saturating_add(deals(cards, dealt));
            }
        }
        Some(n)
    }
}
