//! The order of hands at a showdown.

/// A deck of `n_suits` × `n_ranks` cards, ranks from the deuce on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deck {
    /// Suits, 1 to 4.
    pub n_suits: u8,
    /// Ranks, 1 to 13.
    pub n_ranks: u8,
}

impl Deck {
    /// The 52 cards of hold'em.
    pub const FULL: Self = Self { n_suits: 4, n_ranks: 13 };

    /// Cards in all.
    pub fn n_cards(self) -> usize {
        usize::from(self.n_suits) * usize::from(self.n_ranks)
    }

    /// A card as two letters: rank of `23456789TJQKA`, suit of `cdhs`.
    pub fn name(self, card: u8) -> String {
        let rank = b"23456789TJQKA"[usize::from(card / self.n_suits)];
        let suit = b"cdhs"[usize::from(card % self.n_suits)];
        String::from_utf8_lossy(&[rank, suit]).into_owned()
    }
}

const STRAIGHT_FLUSH: u32 = 8;
const FOUR: u32 = 7;
const FULL_HOUSE: u32 = 6;
const FLUSH: u32 = 5;
const STRAIGHT: u32 = 4;
const THREE: u32 = 3;
const TWO_PAIR: u32 = 2;
const PAIR: u32 = 1;
const HIGH_CARD: u32 = 0;

/// Ranks that occur at least once, twice, three and four times, a bit each.
#[derive(Clone, Copy, Default)]
struct Ranks([u32; 4]);

impl Ranks {
    fn add(&mut self, rank: u8) {
        let [one, two, three, four] = &mut self.0;
        let bit = 1 << rank;
        *four |= *three & bit;
        *three |= *two & bit;
        *two |= *one & bit;
        *one |= bit;
    }
}

fn highest(ranks: u32) -> u32 {
    31 - ranks.leading_zeros()
}

/// The `n` highest ranks, four bits each, the highest first; 0 where there are no more.
fn kickers(mut ranks: u32, n: u32) -> u32 {
    let mut digits = 0;
    for _ in 0..n {
        digits <<= 4;
        if ranks != 0 {
            let rank = highest(ranks);
            digits |= rank + 1;
            ranks &= !(1 << rank);
        }
    }
    digits
}

/// The highest card of the best straight among `ranks`, if there is one.
fn straight(ranks: u32, deck: Deck) -> Option<u32> {
    let starts = ranks & ranks >> 1 & ranks >> 2 & ranks >> 3 & ranks >> 4;
    if starts != 0 {
        return Some(highest(starts) + 4);
    }
    const WHEEL: u32 = 1 << 12 | 0b1111;
    (deck.n_ranks == 13 && ranks & WHEEL == WHEEL).then_some(3)
}

/// Strength of 1 to 7 cards: the larger wins. Only hands with the same number of cards can be compared.
///
/// The best five cards count, or all if there are fewer: category, then the ranks that make it, then kickers, four bits each.
/// `cards` is a set, bit `rank · n_suits + suit`.
pub fn strength(cards: u64, deck: Deck) -> u32 {
    let mut ranks = Ranks::default();
    let mut suits = [0_u32; 4];
    let mut rest = cards;
    while rest != 0 {
        let card = rest.trailing_zeros() as u8;
        rest &= rest - 1;
        ranks.add(card / deck.n_suits);
        suits[usize::from(card % deck.n_suits)] |= 1 << (card / deck.n_suits);
    }
    let [one, two, three, four] = ranks.0;
    let made = |category: u32, digits: u32| category << 20 | digits;
    let flush = suits.into_iter().find(|suit| suit.count_ones() >= 5);
    if let Some(high) = flush.and_then(|suit| straight(suit, deck)) {
        return made(STRAIGHT_FLUSH, high);
    }
    if four != 0 {
        let rank = highest(four);
        return made(FOUR, (rank + 1) << 4 | kickers(one & !(1 << rank), 1));
    }
    if three != 0 {
        let rank = highest(three);
        let pairs = two & !(1 << rank);
        if pairs != 0 {
            return made(FULL_HOUSE, (rank + 1) << 4 | (highest(pairs) + 1));
        }
    }
    if let Some(suit) = flush {
        return made(FLUSH, kickers(suit, 5));
    }
    if let Some(high) = straight(one, deck) {
        return made(STRAIGHT, high);
    }
    if three != 0 {
        let rank = highest(three);
        return made(THREE, (rank + 1) << 8 | kickers(one & !(1 << rank), 2));
    }
    if two != 0 {
        let rank = highest(two);
        let others = two & !(1 << rank);
        if others != 0 {
            let second = highest(others);
            let kicker = kickers(one & !(1 << rank) & !(1 << second), 1);
            return made(TWO_PAIR, (rank + 1) << 8 | (second + 1) << 4 | kicker);
        }
        return made(PAIR, (rank + 1) << 12 | kickers(one & !(1 << rank), 3));
    }
    made(HIGH_CARD, kickers(one, 5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, deck: Deck) -> u64 {
        text.split_whitespace()
            .map(|name| 1 << (0..deck.n_cards() as u8).find(|&card| deck.name(card) == name).expect("a card"))
            .sum()
    }

    #[test]
    fn hands_of_hold_em_are_in_order() {
        let hands = [
            "2c 3d 5h 7s 9c Jd Kh",
            "2c 3d 5h 7s 9c Jd Ah",
            "2c 2d 5h 7s 9c Jd Ah",
            "3c 3d 5h 7s 9c Jd Ah",
            "2c 2d 3h 3s 9c Jd Ah",
            "2c 2d 3h 3s Ac Ad Kh",
            "2c 2d 2h 3s 9c Jd Ah",
            "Ac 2d 3h 4s 5c 8d 9h",
            "2d 3h 4s 5c 6d 9h Ad",
            "2c 4c 6c 8c Tc Jd Ah",
            "2c 2d 2h 3s 3c 4c 5c",
            "2c 2d 2h 2s 3c 4c 5c",
            "Ac 2c 3c 4c 5c 5d 5h",
            "2c 3c 4c 5c 6c 5d 5h",
        ];
        for pair in hands.windows(2) {
            let [low, high] = [pair[0], pair[1]].map(|hand| strength(set(hand, Deck::FULL), Deck::FULL));
            assert!(low < high, "{} against {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn a_deck_without_an_ace_has_no_wheel() {
        let deck = Deck { n_suits: 4, n_ranks: 12 };
        let cards = set("2c 3d 4h 5s Kc Qd 9h", deck);
        assert_eq!(strength(cards, deck) >> 20, HIGH_CARD);
    }

    /// Counts by category of all sets of `n` cards of a deck.
    fn categories(deck: Deck, n: usize) -> [usize; 9] {
        fn go(deck: Deck, n: usize, from: usize, cards: u64, counts: &mut [usize; 9]) {
            if n == 0 {
                counts[(strength(cards, deck) >> 20) as usize] += 1;
                return;
            }
            for card in from..deck.n_cards() {
                go(deck, n - 1, card + 1, cards | 1 << card, counts);
            }
        }
        let mut counts = [0; 9];
        go(deck, n, 0, 0, &mut counts);
        counts
    }

    #[test]
    fn sets_of_three_cards_of_variant_c() {
        let counts = categories(Deck { n_suits: 4, n_ranks: 6 }, 3);
        assert_eq!(counts, [1280, 720, 0, 24, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn hands_of_five_cards() {
        let counts = categories(Deck::FULL, 5);
        assert_eq!(counts, [1_302_540, 1_098_240, 123_552, 54_912, 10_200, 5_108, 3_744, 624, 40]);
    }
}
