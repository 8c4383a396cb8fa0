//! All hands in the order of their equity against a random hand.

/// Pairs, suited and offsuit hands. A hand's equity is the pots that it wins, those that it shares counted in parts, over all boards of five cards and all hands of one
/// opponent; the test below computes it.
const ORDER: &str = "AA KK QQ JJ TT 99 88 AKs 77 AQs AJs AKo ATs AQo AJo KQs 66 A9s ATo KJs A8s KTs KQo A7s A9o KJo 55 QJs K9s A5s A6s A8o KTo QTs A4s A7o K8s A3s QJo K9o \
    A5o A6o Q9s K7s JTs A2s QTo 44 A4o K6s K8o Q8s A3o K5s J9s Q9o JTo K7o A2o K4s Q7s K6o K3s T9s J8s 33 Q6s Q8o K5o J9o K2s Q5s T8s K4o J7s Q4s Q7o T9o \
    J8o K3o Q6o Q3s 98s T7s J6s K2o 22 Q2s Q5o J5s T8o J7o Q4o 97s J4s T6s J3s Q3o 98o 87s T7o J6o 96s J2s Q2o T5s J5o T4s 97o 86s J4o T6o 95s T3s 76s J3o \
    87o T2s 85s 96o J2o T5o 94s 75s T4o 93s 86o 65s 84s 95o T3o 92s 76o 74s T2o 54s 85o 64s 83s 94o 75o 82s 73s 93o 65o 53s 63s 84o 92o 43s 74o 72s 54o \
    64o 52s 62s 83o 42s 82o 73o 53o 63o 32s 43o 72o 52o 62o 42o 32o";

/// The best hands: as many of [`ORDER`] as make up at least this percentage of all 1,326.
pub(super) fn names(percent: f64) -> impl Iterator<Item = &'static str> {
    let mut n_hands = 0.0;
    ORDER.split(' ').take_while(move |name| {
        let is_wanted = n_hands < percent / 100.0 * 1326.0;
        n_hands += match name.as_bytes() {
            [_, _, b's'] => 4.0,
            [_, _, _] => 12.0,
            _ => 6.0,
        };
        is_wanted
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rayon::prelude::*;

    use super::*;
    use crate::cfr::game::cards::{CardSet, Deck, RANKS};
    use crate::cfr::game::ranking::Ranking;

    /// The five cards of a board as ranks by suit, with the suits in order, since their names do not matter.
    type Board = [u16; 4];

    /// Boards that differ by more than the names of suits, with the number of those that do not.
    fn boards() -> HashMap<Board, u64> {
        let mut boards = HashMap::new();
        let mut add = |cards: [usize; 5]| {
            let mut board: Board = [0; 4];
            cards.into_iter().for_each(|card| board[card % 4] |= 1 << (card / 4));
            board.sort_unstable();
            *boards.entry(board).or_insert(0) += 1;
        };
        for a in 0..52 {
            for b in 0..a {
                for c in 0..b {
                    for d in 0..c {
                        (0..d).for_each(|e| add([a, b, c, d, e]));
                    }
                }
            }
        }
        boards
    }

    fn name(first: usize, second: usize) -> String {
        let rank = |card: usize| RANKS.chars().nth(card / 4).expect("a rank");
        let suits = match (first / 4 == second / 4, first % 4 == second % 4) {
            (true, _) => "",
            (false, true) => "s",
            (false, false) => "o",
        };
        format!("{}{}{suits}", rank(first.max(second)), rank(first.min(second)))
    }

    /// For each hand, the number of opposing hands that it beats, times two, plus the number that it ties with; by hand number `high (high − 1) / 2 + low`.
    fn points(ranking: &Ranking, board: Board) -> Vec<u64> {
        let cards: CardSet =
            (0..52).filter(|card| board[card % 4] >> (card / 4) & 1 != 0).map(|card| 1u64 << card).sum();
        let mut shown = Vec::with_capacity(1081);
        for high in (0..52usize).filter(|card| cards >> card & 1 == 0) {
            for low in (0..high).filter(|card| cards >> card & 1 == 0) {
                shown.push((ranking.strength(cards | 1 << high | 1 << low), high, low));
            }
        }
        shown.sort_unstable();
        let mut points = vec![0; 1326];
        // Hands that are weaker, or not stronger: all, and those with each card.
        let (mut weaker, mut with_card) = (0u64, [0u64; 52]);
        for equal in shown.chunk_by(|one, other| one.0 == other.0) {
            let (all_weaker, weaker_with) = (weaker, with_card);
            for &(_, high, low) in equal {
                weaker += 1;
                with_card[high] += 1;
                with_card[low] += 1;
            }
            for &(_, high, low) in equal {
                let beaten = all_weaker - weaker_with[high] - weaker_with[low];
                // The hand itself is in both lists of its cards, and among all once.
                let not_stronger = weaker + 1 - with_card[high] - with_card[low];
                points[high * (high - 1) / 2 + low] = beaten + not_stronger;
            }
        }
        points
    }

    #[test]
    fn the_order_is_that_of_equity_against_all_hands() {
        let ranking = Ranking::new(Deck::FULL);
        let boards: Vec<(Board, u64)> = boards().into_iter().collect();
        assert_eq!((boards.len(), boards.iter().map(|(_, n)| n).sum()), (134_459, 2_598_960));
        let add = |mut one: Vec<u64>, other: Vec<u64>| {
            one.iter_mut().zip(other).for_each(|(one, other)| *one += other);
            one
        };
        let of_board = |&(board, n): &(Board, u64)| points(&ranking, board).into_iter().map(|sum| sum * n).collect();
        let points = boards.par_iter().map(of_board).reduce(|| vec![0u64; 1326], add);
        let mut by_name: HashMap<String, (u64, u64)> = HashMap::new();
        for high in 0..52 {
            for low in 0..high {
                let (sum, n) = by_name.entry(name(high, low)).or_default();
                *sum += points[high * (high - 1) / 2 + low];
                *n += 1;
            }
        }
        // Twice the boards of 50 cards and the hands of the 45 that are left.
        let all = 2.0 * 2_118_760.0 * 990.0;
        let equity = |name: &str| by_name[name].0 as f64 / by_name[name].1 as f64 / all;
        let mut names: Vec<&str> = by_name.keys().map(String::as_str).collect();
        names.sort_by(|one, other| equity(other).total_cmp(&equity(one)));
        assert_eq!(names.len(), 169);
        // A hand and its opponent share a pot.
        let sum: f64 = by_name.values().map(|&(sum, _)| sum as f64).sum();
        assert_eq!(sum / all / 1326.0, 0.5);
        assert_eq!(ORDER, names.join(" "));
    }
}
