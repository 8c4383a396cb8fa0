//! Names of information sets, and where a history's boards and hands lie in the tables.

use super::VectorGame;
use super::suits::rename;
use crate::cfr::game::betting::BettingTree;
use crate::cfr::game::cards::CardSet;

/// Position of a hand on a board in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableIndex {
    /// The board that represents the given one.
    pub board: usize,
    /// The hand under the renaming of suits that maps the given board to it.
    pub hand: usize,
}

impl VectorGame {
    /// The cards dealt at the start of each street up to `street`, on the way to `board`. Those of the first street include the cards of a spot.
    pub fn dealt(&self, street: usize, board: usize) -> Vec<CardSet> {
        let mut dealt = vec![0; street + 1];
        let mut number = board;
        for at in (0..=street).rev() {
            let board = &self.streets[at].boards[number];
            number = board.parent as usize;
            let before = if at == 0 { 0 } else { self.streets[at - 1].boards[number].cards };
            dealt[at] = board.cards & !before;
        }
        dealt
    }

    /// The key of an information set, in the spelling of the reference tables: `seat:hole:board:betting`, rounds of board and betting divided by `/`.
    ///
    /// * `street`, `board`: where the seat acts; `betting`: the node of `tree`; `hand`: number of the seat's hand.
    pub fn key(
        &self,
        tree: &BettingTree,
        seat: usize,
        street: usize,
        board: usize,
        betting: u32,
        hand: usize,
    ) -> String {
        let hole = self.deck.names(self.hands[seat][hand]);
        let dealt = self.dealt(street, board).into_iter().filter(|&cards| cards != 0);
        let board: Vec<String> = dealt.map(|cards| self.deck.names(cards)).collect();
        format!("{seat}:{hole}:{}:{}", board.join("/"), tree.history(betting))
    }

    /// Position of a seat's hand on a board, which need not be a representative.
    ///
    /// * `hole`: the private cards; `dealt`: the cards dealt at the start of each street so far, as [`dealt`](Self::dealt) gives them.
    /// * returns `None` if the seat has no such hand, the cards collide, or the game has no such board.
    pub fn table_index(&self, seat: usize, hole: CardSet, dealt: &[CardSet]) -> Option<TableIndex> {
        if dealt.is_empty() || dealt.len() > self.streets.len() || dealt.iter().any(|cards| cards & hole != 0) {
            return None;
        }
        let mut dealt = dealt.to_vec();
        let mut hand = self.hands[seat].iter().position(|&cards| cards == hole)?;
        let (mut board, mut known) = (0, 0);
        for street in 0..dealt.len() {
            let (number, map) = self.child(street, board, known | dealt[street])?;
            board = number;
            known = self.streets[street].boards[number].cards;
            hand = self.permutations[map as usize][seat][hand] as usize;
            for cards in &mut dealt[street + 1..] {
                *cards = rename(self.deck, self.suit_maps[map as usize], *cards);
            }
        }
        Some(TableIndex { board, hand })
    }

    /// The board after `parent` that represents `cards`, and the renaming that maps `cards` to it.
    pub(super) fn child(&self, street: usize, parent: usize, cards: CardSet) -> Option<(usize, u32)> {
        let boards = &self.streets[street].boards;
        let first = boards.partition_point(|board| (board.parent as usize) < parent);
        let children = boards[first..].iter().take_while(|board| board.parent as usize == parent);
        children.enumerate().find_map(|(at, board)| {
            let takes = |&&map: &&u32| rename(self.deck, self.suit_maps[map as usize], cards) == board.cards;
            board.members.iter().find(takes).map(|&map| (first + at, map))
        })
    }
}
