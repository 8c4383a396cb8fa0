//! Public states of games in vector form, and where their hands lie in the tables.

use super::{Node, Row, VectorGame};
use crate::cfr::game::betting::{BettingKind, BettingTree};
use crate::cfr::game::cards::{CardSet, Deck, members, set_of};
use crate::{Error, Result};

/// A public state of the betting where a seat acts.
pub(in crate::cfr) struct Public<'a> {
    game: &'a VectorGame,
    tree: &'a BettingTree,
    pub betting: u32,
    pub street: usize,
    pub seat: usize,
    slot: u32,
    n_actions: usize,
}

/// Every public state of the betting where a seat acts.
pub(in crate::cfr) fn all<'a>(game: &'a VectorGame, tree: &'a BettingTree) -> impl Iterator<Item = Public<'a>> {
    game.streets.iter().enumerate().flat_map(move |(street, of)| {
        of.entries.iter().flat_map(|entry| &entry.nodes).filter_map(move |node| match node {
            &Node::Decision { seat, ref actions, slot, betting, .. } => {
                Some(Public { game, tree, betting, street, seat, slot, n_actions: actions.len() })
            }
            _ => None,
        })
    })
}

impl<'a> Public<'a> {
    /// The public state after a history.
    pub fn at(game: &'a VectorGame, tree: &'a BettingTree, history: &str) -> Result<Self> {
        let betting = tree.find(history)?;
        all(game, tree).find(|public| public.betting == betting).ok_or_else(|| betting_over(history))
    }

    /// The cards of a board's text, by street. Those of the first street include the cards of a spot.
    pub fn dealt(&self, board: &str) -> Result<Vec<CardSet>> {
        let counts = self.game.dealt(self.street, 0).into_iter().map(|cards| cards.count_ones() as usize);
        let dealt = dealt(self.game.deck, &counts.collect::<Vec<_>>(), board)?;
        // Where the first street has one board, it is given.
        if let ([given], Some(&first)) = (&self.game.streets[0].boards[..], dealt.first())
            && self.game.child(0, 0, first).is_none()
        {
            let allowed = format!("a board that begins with {}", self.game.deck.names(given.cards));
            return Err(Error::option("board", format!("'{board}'"), allowed));
        }
        Ok(dealt)
    }

    pub fn row(&self, board: usize, hand: usize) -> Row {
        let start = self.game.offset(self.seat, self.street, board, self.slot) + hand;
        Row { start, stride: self.game.hands[self.seat].len(), n_actions: self.n_actions }
    }

    pub fn actions(&self) -> Vec<String> {
        match &self.tree.nodes[self.betting as usize].kind {
            BettingKind::Decision { actions, .. } => actions.iter().map(|&action| self.tree.spell(action)).collect(),
            BettingKind::Terminal => Vec::new(),
        }
    }

    pub fn key(&self, hole: CardSet, dealt: &[CardSet]) -> String {
        key(self.game.deck, self.seat, hole, dealt, &self.tree.history(self.betting))
    }
}

/// The cards of a board's text; `counts` is the number of cards turned up in each round.
pub(in crate::cfr) fn dealt(deck: Deck, counts: &[usize], board: &str) -> Result<Vec<CardSet>> {
    let wrong = || {
        let counts: Vec<String> = counts.iter().filter(|&&n| n > 0).map(ToString::to_string).collect();
        let allowed = match &counts[..] {
            [] => "none: no cards are on the board yet".to_string(),
            _ => format!("as many cards as are turned up: {}", counts.join(" + ")),
        };
        Error::option("board", format!("'{board}'"), allowed)
    };
    let cards = deck.cards(&board.replace('/', ""))?;
    let mut rest = cards.as_slice();
    let mut dealt = Vec::new();
    for &n in counts {
        let (now, later) = rest.split_at_checked(n).ok_or_else(wrong)?;
        dealt.push(set_of(now));
        rest = later;
    }
    if rest.is_empty() { Ok(dealt) } else { Err(wrong()) }
}

/// A board cut into rounds, the highest cards first; `counts` is the number of cards turned up in each round.
pub(in crate::cfr) fn in_rounds(counts: &[usize], board: CardSet) -> Vec<CardSet> {
    let mut highest_first: Vec<u8> = members(board).collect();
    highest_first.reverse();
    let mut rest = highest_first.into_iter();
    counts.iter().map(|&n| set_of(&rest.by_ref().take(n).collect::<Vec<u8>>())).collect()
}

/// The key of an information set of poker: `seat:hole:board:betting`, cards from the highest, rounds of board and betting divided by `/`.
pub(in crate::cfr) fn key(deck: Deck, seat: usize, hole: CardSet, dealt: &[CardSet], history: &str) -> String {
    let board: Vec<String> = dealt.iter().filter(|&&cards| cards != 0).map(|&cards| deck.names(cards)).collect();
    format!("{seat}:{}:{}:{history}", deck.names(hole), board.join("/"))
}

/// The error for a history after which nobody acts.
pub(in crate::cfr) fn betting_over(history: &str) -> Error {
    Error::option("history", format!("'{history}'"), "one after which a player acts: here the betting is over")
}
