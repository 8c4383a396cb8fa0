//! Boards as they lie, beside those that represent them in the tables.

use super::VectorGame;
use super::suits::{SuitMap, rename};
use crate::cfr::game::cards::CardSet;

/// A board of a street, and the renaming of suits that takes it to the one in the tables.
#[derive(Clone, Debug)]
pub(in crate::cfr) struct Placed {
    pub street: usize,
    /// The board in the tables.
    pub board: usize,
    /// The cards as they lie.
    pub cards: CardSet,
    suits: SuitMap,
    /// The hands in the tables, by seat and hand.
    pub images: [Vec<u32>; 2],
}

impl Placed {
    /// What stands at the hands' images, by hand.
    pub fn by_hand<T: Copy>(&self, seat: usize, values: &[T]) -> Vec<T> {
        self.images[seat].iter().map(|&image| values[image as usize]).collect()
    }

    /// What belongs to the hands, at their images.
    pub fn to_tables(&self, seat: usize, values: &[f64]) -> Vec<f64> {
        let mut moved = vec![0.0; values.len()];
        self.images[seat].iter().zip(values).for_each(|(&image, &value)| moved[image as usize] = value);
        moved
    }
}

impl VectorGame {
    /// The first board of the first street: the only one of a spot.
    pub(in crate::cfr) fn placed(&self) -> Placed {
        let images = self.hands.each_ref().map(|hands| (0..hands.len() as u32).collect());
        let cards = self.streets.first().and_then(|street| street.boards.first()).map_or(0, |board| board.cards);
        Placed { street: 0, board: 0, cards, suits: [0, 1, 2, 3], images }
    }

    /// The board after the cards dealt at the start of each street so far; `None` if there is no such board.
    pub(in crate::cfr) fn placed_on(&self, dealt: &[CardSet]) -> Option<Placed> {
        let (&first, later) = dealt.split_first()?;
        let images = self.hands.each_ref().map(|hands| (0..hands.len() as u32).collect());
        let start = Placed { street: 0, board: 0, cards: 0, suits: [0, 1, 2, 3], images };
        later.iter().try_fold(self.onto(0, &start, first)?, |placed, &cards| self.placed_after(&placed, cards))
    }

    /// The board of the next street after more cards; `None` if there is no such board.
    pub(in crate::cfr) fn placed_after(&self, before: &Placed, dealt: CardSet) -> Option<Placed> {
        if before.cards & dealt != 0 || before.street + 1 >= self.streets.len() {
            return None;
        }
        self.onto(before.street + 1, before, dealt)
    }

    /// The board of a street after the one before it, or of the first street, and more cards.
    fn onto(&self, street: usize, before: &Placed, dealt: CardSet) -> Option<Placed> {
        let cards = before.cards | dealt;
        let (board, map) = self.child(street, before.board, rename(self.deck, before.suits, cards))?;
        let map = map as usize;
        let suits = before.suits.map(|suit| self.suit_maps[map][usize::from(suit)]);
        let images = [0, 1].map(|seat| {
            let image = |&image: &u32| self.permutations[map][seat][image as usize];
            before.images[seat].iter().map(image).collect()
        });
        Some(Placed { street, board, cards, suits, images })
    }
}
