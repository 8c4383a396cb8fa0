//! The order of hands at the showdown, for any number of cards of any deck: card `rank · n_suits + suit`.

/// The `n` highest bits of a set, or all.
#[device_inline]
fn highest(mut ranks: u32, n: u32) -> u32 {
    while ranks.count_ones() > n {
        ranks &= ranks - 1;
    }
    ranks
}

/// The highest bit of a set; 0 for none.
#[device_inline]
fn top(ranks: u32) -> u32 {
    if ranks == 0 { 0 } else { 1 << (31 - ranks.leading_zeros()) }
}

/// The highest rank of the best five in a row; 0 for none. The ace is below the deuce too, where the deck has one.
#[device_inline]
fn straight(ranks: u32, has_ace: bool) -> u32 {
    // Bit 0 is the low ace, so rank r is bit r + 1.
    let line = ranks << 1 | (has_ace as u32 & ranks >> 12);
    top(line & line >> 1 & line >> 2 & line >> 3 & line >> 4) << 3
}

/// A hand of category `category`: `main` are the ranks that make it, `rest` the others that count.
#[device_inline]
fn hand(category: u32, main: u32, rest: u32) -> u32 {
    category << 26 | main << 13 | rest
}

/// A number that is larger for a stronger hand and equal for hands that split the pot; hands of as many cards can be compared. The best five count, or all
/// where there are fewer. `n_suits` is 1 to 4.
#[device_inline]
pub fn strength(cards: u64, n_suits: u32, has_ace: bool) -> u32 {
    // Ranks of which there are at least 1, 2, 3, 4 cards, and the ranks of each suit.
    let (mut one, mut two, mut three, mut four) = (0u32, 0u32, 0u32, 0u32);
    let (mut clubs, mut diamonds, mut hearts, mut spades) = (0u32, 0u32, 0u32, 0u32);
    let mut left = cards;
    while left != 0 {
        let card = left.trailing_zeros();
        left &= left - 1;
        let suit = card % n_suits;
        let rank = 1u32 << (card / n_suits);
        four |= three & rank;
        three |= two & rank;
        two |= one & rank;
        one |= rank;
        // No array: it would lie in local memory.
        clubs |= if suit == 0 { rank } else { 0 };
        diamonds |= if suit == 1 { rank } else { 0 };
        hearts |= if suit == 2 { rank } else { 0 };
        spades |= if suit == 3 { rank } else { 0 };
    }
    let n = cards.count_ones();
    let n = if n < 5 { n } else { 5 };
    let rest = |used: u32, of: u32| highest(one & !used, n.saturating_sub(of));
    let flush = |ranks: u32| {
        if ranks.count_ones() < 5 {
            return 0;
        }
        let top = straight(ranks, has_ace);
        if top > 0 { hand(8, top, 0) } else { hand(5, highest(ranks, 5), 0) }
    };
    let in_a_row = straight(one, has_ace);
    let made = if four > 0 {
        hand(7, top(four), rest(top(four), 4))
    } else if three > 0 && two & !top(three) > 0 {
        hand(6, top(three), top(two & !top(three)))
    } else if in_a_row > 0 {
        hand(4, in_a_row, 0)
    } else if three > 0 {
        hand(3, top(three), rest(top(three), 3))
    } else if two.count_ones() >= 2 {
        hand(2, highest(two, 2), rest(highest(two, 2), 4))
    } else if two > 0 {
        hand(1, two, rest(two, 2))
    } else {
        hand(0, rest(0, 0), 0)
    };
    made.max(flush(clubs)).max(flush(diamonds)).max(flush(hearts)).max(flush(spades))
}
