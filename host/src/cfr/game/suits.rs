//! Renaming of suits.

use super::cards::{CardSet, Deck};

/// A renaming of suits: suit `s` becomes `map[s]`. Entries beyond the deck's suits map to themselves.
pub type SuitMap = [u8; 4];

/// All renamings of a deck's suits, the identity first.
pub(in crate::cfr) fn all(deck: Deck) -> Vec<SuitMap> {
    let mut maps = vec![[0, 1, 2, 3]];
    // Each suit in turn is exchanged with itself and with every later one.
    for suit in 0..usize::from(deck.n_suits) {
        maps = maps
            .into_iter()
            .flat_map(|map| {
                (suit..usize::from(deck.n_suits)).map(move |other| {
                    let mut exchanged = map;
                    exchanged.swap(suit, other);
                    exchanged
                })
            })
            .collect();
    }
    maps
}

/// The inverse of the renaming `map`.
pub(in crate::cfr) fn inverse(map: SuitMap) -> SuitMap {
    let mut back = map;
    for (suit, &image) in map.iter().enumerate() {
        back[usize::from(image)] = suit as u8;
    }
    back
}

/// Cards after a renaming.
pub(in crate::cfr) fn rename(deck: Deck, map: SuitMap, cards: CardSet) -> CardSet {
    let suits = u32::from(deck.n_suits);
    // A card is bit rank · n_suits + suit. The whole deck divided by the bits of one rank is 1 + 2^n_suits + 2^(2 n_suits) + …, which is suit 0.
    let first_suit = deck.all() / ((1 << suits) - 1).max(1);
    (0..suits).fold(0, |set, suit| set | ((cards >> suit) & first_suit) << map[suit as usize])
}

/// What cards become by each of these renamings: every set once, the highest last.
pub(in crate::cfr) fn images(deck: Deck, maps: &[SuitMap], cards: CardSet) -> Vec<CardSet> {
    let mut images: Vec<CardSet> = maps.iter().map(|&map| rename(deck, map, cards)).collect();
    images.sort_unstable();
    images.dedup();
    images
}

/// The number of sets that cards become by these renamings; `None` unless the cards themselves are the highest of them, which represents all.
pub(in crate::cfr) fn size_if_highest(deck: Deck, maps: &[SuitMap], cards: CardSet) -> Option<usize> {
    let is_highest = maps.iter().all(|&map| rename(deck, map, cards) <= cards);
    is_highest.then(|| images(deck, maps, cards).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamings_form_a_group() {
        for (n_suits, count) in [(1, 1), (2, 2), (3, 6), (4, 24)] {
            let deck = Deck { n_suits, n_ranks: 13 };
            let maps = all(deck);
            assert_eq!((maps.len(), maps[0]), (count, [0, 1, 2, 3]));
            let cards = 0x000a_5b3c_7719_2e4d & ((1 << deck.n_cards()) - 1);
            for &map in &maps {
                let renamed = rename(deck, map, cards);
                assert_eq!(renamed.count_ones(), cards.count_ones());
                assert_eq!(rename(deck, inverse(map), renamed), cards);
                assert_eq!(maps.iter().filter(|&&other| other == map).count(), 1);
            }
        }
    }
}
