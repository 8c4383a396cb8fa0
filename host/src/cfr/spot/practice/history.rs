//! Hand histories in the text form of PokerStars, which programs for poker players read.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use super::moves::{PracticeMove, Verb, choices, street_start};
use super::{BOARD_CARDS, PracticeHand};
use crate::cfr::game::betting::{BettingKind, BettingNode};
use crate::cfr::game::cards::members;
use crate::cfr::game::ranking::{Category, RANK_BITS, category};
use crate::cfr::spot::betting::STREETS;

/// The other player's name.
const OTHER: &str = "warpplay";
/// The ranks' names, from the deuce.
const RANKS: [&str; 13] =
    ["Deuce", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Jack", "Queen", "King", "Ace"];

/// A move of the hand with the nodes of the betting before and after it.
struct Step<'a> {
    taken: PracticeMove,
    before: &'a BettingNode,
    after: &'a BettingNode,
    /// Chips of each seat at the start of the street.
    start: f64,
}

/// Whole hundredths of a chip, so that sums of rounded amounts are sums.
fn cents(chips: f64) -> f64 {
    (chips * 100.0).round()
}

/// An amount in hundredths, as `$12` or `$12.50`.
fn money(cents: f64) -> String {
    if cents % 100.0 == 0.0 { format!("${}", cents / 100.0) } else { format!("${:.2}", cents / 100.0) }
}

impl PracticeHand<'_> {
    /// The hand as a hand history in the text form of PokerStars' cash games, with two empty lines at its end; `None` before its end.
    ///
    /// The player is `Hero`. A chip is a dollar, rounded to cents. A spot does not know how its pot came about: the history has blinds of a tenth and a fifth of the pot, a raise by the button (seat 1) to half
    /// the pot and a call, and checks on the streets before the spot.
    ///
    /// * `id`: the number of the hand, by which programs tell hands apart; `time`: when it was played, written in UTC.
    pub fn hand_history(&self, id: u64, time: SystemTime) -> Option<String> {
        if !self.is_over() {
            return None;
        }
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = self.write_history(&mut text, id, time);
        Some(text)
    }

    fn write_history(&self, text: &mut String, id: u64, time: SystemTime) -> std::fmt::Result {
        let solved = self.node.solved;
        let spot = solved.spot();
        let names = [0, 1].map(|seat| if seat == self.seat { "Hero" } else { OTHER });
        let (half, big, small) = (cents(spot.pot / 2.0), cents(spot.pot / 5.0), cents(spot.pot / 10.0));
        let limit = if spot.limit.is_some() { "Limit" } else { "No Limit" };
        let (stakes, stack) = (money(small) + "/" + &money(big), money(half + cents(spot.effective_stack)));
        writeln!(text, "PokerStars Hand #{id}: Hold'em {limit} ({stakes} USD) - {} UTC", date(time))?;
        writeln!(text, "Table 'warpplay' 2-max Seat #2 is the button")?;
        for (seat, name) in names.iter().enumerate() {
            writeln!(text, "Seat {}: {name} ({stack} in chips)", seat + 1)?;
        }
        writeln!(text, "{}: posts small blind {}", names[1], money(small))?;
        writeln!(text, "{}: posts big blind {}", names[0], money(big))?;
        writeln!(text, "*** HOLE CARDS ***\nDealt to Hero [{}]", spaced(&self.cards(self.seat)))?;
        writeln!(text, "{}: raises {} to {}", names[1], money(half - big), money(half))?;
        writeln!(text, "{}: calls {}", names[0], money(half - big))?;
        let (board, steps) = (self.node.board_cards(), self.steps());
        let first_street = STREETS.len() - solved.game.streets.len();
        for (street, name) in STREETS.iter().enumerate() {
            let (Some(before), Some(new)) = (board.get(..2 + street), board.get(2 + street)) else { break };
            let name = name.to_uppercase();
            match street {
                0 => writeln!(text, "*** {name} *** [{} {new}]", before.join(" "))?,
                _ => writeln!(text, "*** {name} *** [{}] [{new}]", before.join(" "))?,
            }
            if street < first_street {
                writeln!(text, "{}: checks\n{}: checks", names[0], names[1])?;
            }
            for step in steps.iter().filter(|step| first_street + step.before.round as usize == street) {
                writeln!(text, "{}: {}", names[step.taken.seat], step.told())?;
            }
        }
        self.write_end(text, names, &board)
    }

    /// Who gets the pot, and the summary.
    fn write_end(&self, text: &mut String, names: [&str; 2], board: &[String]) -> std::fmt::Result {
        let (solved, end) = (self.node.solved, self.node.betting());
        let tree = &solved.tree;
        let paid = [0, 1].map(|seat| cents(end.contributed[seat]));
        let called = paid[0].min(paid[1]);
        for seat in 0..2 {
            if paid[seat] > called {
                writeln!(text, "Uncalled bet ({}) returned to {}", money(paid[seat] - called), names[seat])?;
            }
        }
        let pot = 2.0 * (cents(tree.dead / 2.0) + called);
        let rake = (pot * tree.rake.part).min(tree.rake.cap * 100.0).max(0.0).round();
        let (strengths, is_shown) = (self.strengths(), end.folded == 0);
        let is_best = |seat: usize| match is_shown {
            true => strengths[seat] >= strengths[1 - seat],
            false => end.folded >> seat & 1 == 0,
        };
        let part = ((pot - rake) / 2.0).ceil();
        let won = [0, 1].map(|seat| match (is_best(seat), is_best(1 - seat)) {
            (true, false) => pot - rake,
            (true, true) if seat == 0 => part,
            (true, true) => pot - rake - part,
            (false, _) => 0.0,
        });
        let hands = [0, 1].map(|seat| spaced(&self.cards(seat)));
        if is_shown {
            writeln!(text, "*** SHOW DOWN ***")?;
            for seat in 0..2 {
                writeln!(text, "{}: shows [{}] ({})", names[seat], hands[seat], told(strengths[seat]))?;
            }
        }
        for seat in (0..2).filter(|&seat| is_best(seat)) {
            writeln!(text, "{} collected {} from pot", names[seat], money(won[seat]))?;
            if !is_shown {
                writeln!(text, "{}: doesn't show hand", names[seat])?;
            }
        }
        writeln!(text, "*** SUMMARY ***\nTotal pot {} | Rake {}", money(pot), money(rake))?;
        writeln!(text, "Board [{}]", board.join(" "))?;
        for seat in 0..2 {
            let place = ["big blind", "button) (small blind"][seat];
            write!(text, "Seat {}: {} ({place}) ", seat + 1, names[seat])?;
            match (is_shown, is_best(seat)) {
                (true, true) => {
                    let (won, told) = (money(won[seat]), told(strengths[seat]));
                    writeln!(text, "showed [{}] and won ({won}) with {told}", hands[seat])?;
                }
                (true, false) => writeln!(text, "showed [{}] and lost with {}", hands[seat], told(strengths[seat]))?,
                (false, true) => writeln!(text, "collected ({})", money(won[seat]))?,
                (false, false) => {
                    let street = ["Flop", "Turn", "River"][board.len().min(BOARD_CARDS).saturating_sub(3)];
                    writeln!(text, "folded on the {street}")?;
                }
            }
        }
        text.push_str("\n\n");
        Ok(())
    }

    /// All moves since the spot began.
    fn steps(&self) -> Vec<Step<'_>> {
        let solved = self.node.solved;
        let nodes = &solved.tree.nodes;
        let mut steps = Vec::new();
        let mut child = self.node.betting;
        while let Some(parent) = nodes[child as usize].parent {
            if let BettingKind::Decision { children, .. } = &nodes[parent as usize].kind
                && let Some(place) = children.iter().position(|&after| after == child)
            {
                let (before, after) = (&nodes[parent as usize], &nodes[child as usize]);
                let taken = choices(solved, parent).swap_remove(place);
                steps.push(Step { taken, before, after, start: street_start(solved, parent) });
            }
            child = parent;
        }
        steps.reverse();
        steps
    }
}

impl Step<'_> {
    /// `raises $50 to $150 and is all-in`.
    fn told(&self) -> String {
        let seat = self.taken.seat;
        let [paid, other] = [seat, 1 - seat].map(|seat| cents(self.before.contributed[seat]));
        let after = cents(self.after.contributed[seat]);
        let amount = match self.taken.verb {
            Verb::Fold | Verb::Check => String::new(),
            Verb::Call | Verb::Bet => format!(" {}", money(after - paid)),
            Verb::Raise => format!(" {} to {}", money(after - other), money(after - cents(self.start))),
        };
        format!("{}s{amount}{}", self.taken.verb, if self.taken.all_in { " and is all-in" } else { "" })
    }
}

/// `AhKd` as `Ah Kd`.
fn spaced(cards: &str) -> String {
    let letters: Vec<char> = cards.chars().collect();
    letters.chunks(2).map(String::from_iter).collect::<Vec<_>>().join(" ")
}

/// A hand by its strength, as `two pair, Kings and Fives`.
fn told(strength: u32) -> String {
    let ranks = |bits: u32| {
        let mut ranks: Vec<usize> = members(u64::from(bits & ((1 << RANK_BITS) - 1))).map(usize::from).collect();
        ranks.reverse();
        ranks
    };
    let (main, rest) = (ranks(strength >> RANK_BITS), ranks(strength));
    let name = |rank: Option<&usize>| rank.and_then(|&rank| RANKS.get(rank)).copied().unwrap_or_default();
    let many = |rank: Option<&usize>| match name(rank) {
        "Six" => "Sixes".to_string(),
        one => format!("{one}s"),
    };
    let top = main.first();
    // The lowest card of a straight; an ace below the deuce.
    let low = top.map(|top| top.checked_sub(4).unwrap_or(RANKS.len() - 1));
    match category(strength) {
        Category::HighCard => format!("high card {}", name(top)),
        Category::Pair => format!("a pair of {}", many(top)),
        Category::TwoPair => format!("two pair, {} and {}", many(top), many(main.get(1))),
        Category::ThreeOfAKind => format!("three of a kind, {}", many(top)),
        Category::Straight => format!("a straight, {} to {}", name(low.as_ref()), name(top)),
        Category::Flush => format!("a flush, {} high", name(top)),
        Category::FullHouse => format!("a full house, {} full of {}", many(top), many(rest.first())),
        Category::FourOfAKind => format!("four of a kind, {}", many(top)),
        Category::StraightFlush if top == Some(&(RANKS.len() - 1)) => "a Royal Flush".to_string(),
        Category::StraightFlush => format!("a straight flush, {} to {}", name(low.as_ref()), name(top)),
    }
}

/// A time as `2026/11/26 21:30:05`, of the Gregorian calendar.
///
/// Source: Hinnant, "chrono-compatible low-level date algorithms": years from March, eras of 400.
fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year}/{month:02}/{day:02} {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cfr::game::cards::{Deck, set_of};
    use crate::cfr::game::ranking::Ranking;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970/01/01 00:00:00"),
            (951_782_399, "2000/02/28 23:59:59"),
            (951_782_400, "2000/02/29 00:00:00"),
            (951_868_800, "2000/03/01 00:00:00"),
            (1_000_000_000, "2001/09/09 01:46:40"),
            (1_735_689_599, "2024/12/31 23:59:59"),
            (4_107_542_400, "2100/03/01 00:00:00"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn hands_have_the_names_that_players_use() {
        for (cards, expected) in [
            ("As Kd 9h 7c 5d 3s 2h", "high card Ace"),
            ("6s 6d 9h 7c Kd 3s 2h", "a pair of Sixes"),
            ("As Ad 2h 2c Kd 3s 3h", "two pair, Aces and Threes"),
            ("7s 7d 7h 2c Kd 3s 9h", "three of a kind, Sevens"),
            ("As 2d 3h 4c 5d Ks Kh", "a straight, Ace to Five"),
            ("Ts Jd Qh Kc Ad 2s 2h", "a straight, Ten to Ace"),
            ("Qs 9s 7s 4s 2s Kd Ah", "a flush, Queen high"),
            ("Ks Kd Kh 5c 5d 3s 3h", "a full house, Kings full of Fives"),
            ("2s 2d 2h 2c Kd 3s 9h", "four of a kind, Deuces"),
            ("5s 6s 7s 8s 9s Kd Ah", "a straight flush, Five to Nine"),
            ("As 2s 3s 4s 5s Kd Ah", "a straight flush, Ace to Five"),
            ("Ts Js Qs Ks As Kd Ah", "a Royal Flush"),
        ] {
            let strength = Ranking::new(Deck::FULL).strength(set_of(&Deck::FULL.cards(cards).expect("cards")));
            assert_eq!(told(strength), expected, "{cards}");
        }
    }
}
