//! A small library of ranges.

use crate::{Error, Result};

/// A range with a name, for cash games of six players with stacks of 100 big blinds.
///
/// The ranges are approximations of common practice, written for this library: starting points for a spot, to be replaced by what your players do. The first raise is to 2.5 big blinds,
/// of the small blind to 3; the seats are `utg`, `hj`, `co`, `btn`, `sb` and `bb` in the order in which they act before the flop. A name says who does what against whom: in `bb_call_btn`
/// the big blind calls the raise of the button, in `btn_call_3bet_bb` the button calls the big blind's raise of its own.
///
/// In a [`Range`](super::Range) a name with `@` before it stands for the hands with their weights: `@btn_open`, `@btn_open:0.5`, `@bb_call_btn,AA`.
///
/// ```
/// use warpplay::cfr::spot::{NamedRange, Range};
///
/// let range = Range::parse("@sb_open, 22:0")?;
/// assert_eq!(range.combos(), Range::parse(NamedRange::find("sb_open")?.text)?.combos() - 6.0);
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedRange {
    /// The name, without `@`.
    pub name: &'static str,
    /// Who does what.
    pub meaning: &'static str,
    /// The hands, as [`Range::parse`](super::Range::parse) reads them.
    pub text: &'static str,
}

impl NamedRange {
    /// All of them: raises of an unopened pot, then what other seats do against them, then calls of a second raise.
    pub const ALL: &'static [Self] = &[
        named(
            "utg_open",
            "first raise, under the gun (first of six)",
            "55+, A2s+, K9s+, QTs+, J9s+, T9s, 98s, ATo+, KJo+, QJo:0.5",
        ),
        named(
            "hj_open",
            "first raise, hijack (second of six)",
            "44+, A2s+, K7s+, Q9s+, J9s+, T8s+, 98s, 87s, 76s, ATo+, KTo+, QJo",
        ),
        named(
            "co_open",
            "first raise, cutoff",
            "22+, A2s+, K3s+, Q6s+, J8s+, T7s+, 97s+, 87s, 76s, 65s, A8o+, KTo+, QTo+, JTo",
        ),
        named(
            "btn_open",
            "first raise, button",
            "22+, A2s+, K2s+, Q2s+, J5s+, T6s+, 96s+, 85s+, 75s+, 64s+, 53s+, A3o+, K8o+, Q9o+, J9o+, T8o+, 98o",
        ),
        named(
            "sb_open",
            "first raise, small blind",
            "22+, A2s+, K2s+, Q3s+, J5s+, T6s+, 96s+, 86s+, 75s+, 65s, 54s, A3o+, K8o+, Q9o+, J9o+, T9o",
        ),
        named(
            "btn_call_utg",
            "button calls the raise of utg_open",
            "JJ-66, QQ:0.25, AQs-ATs:0.5, KQs:0.5, KJs-KTs:0.25, QJs:0.5, JTs:0.5, T9s:0.5, 98s:0.25, AQo:0.25",
        ),
        named(
            "btn_3bet_utg",
            "button raises again against utg_open",
            "KK+, QQ:0.75, AKs, AQs-ATs:0.5, A5s-A4s:0.5, KQs:0.5, KJs:0.5, QJs:0.25, AKo, AQo:0.5, KQo:0.25",
        ),
        named(
            "btn_call_co",
            "button calls the raise of co_open",
            "JJ:0.25, TT-99:0.5, 88-66, 55-22:0.5, AQs-A9s:0.5, KQs-KTs:0.5, QJs-QTs:0.5, JTs:0.5, T9s:0.75, 98s:0.75, 87s:0.5, 76s:0.5, 65s:0.5, AQo:0.25, AJo:0.25, KQo:0.25",
        ),
        named(
            "btn_3bet_co",
            "button raises again against co_open",
            "QQ+, JJ:0.75, TT-99:0.5, AKs, AQs-A9s:0.5, A5s-A3s, KQs-KTs:0.5, K9s:0.5, QJs-QTs:0.5, JTs:0.5, T9s:0.25, AKo, AQo:0.75, AJo:0.5, KQo:0.5",
        ),
        named(
            "sb_3bet_co",
            "small blind raises against co_open, and never calls",
            "99+, 88:0.5, A9s+, A5s-A4s, KTs+, QTs+, JTs, T9s:0.5, AJo+, KQo",
        ),
        named(
            "sb_3bet_btn",
            "small blind raises against btn_open, and never calls",
            "88+, 77:0.5, A9s+, A8s:0.5, A5s-A4s, KTs+, K9s:0.5, QTs+, JTs, J9s:0.5, T9s, 98s:0.5, AJo+, ATo:0.5, KQo, KJo:0.5",
        ),
        named(
            "bb_call_utg",
            "big blind calls the raise of utg_open",
            "QQ:0.25, JJ:0.75, TT-22, AQs:0.5, AJs-A6s, A5s-A4s:0.5, A3s-A2s, KQs:0.75, KJs-K9s, K8s-K7s:0.5, QJs-Q9s, JTs-J9s, T9s-T8s, 98s-97s, 87s-86s, 76s-75s, 65s-64s, 54s-53s, AKo:0.25, AQo-AJo, KQo:0.75",
        ),
        named(
            "bb_3bet_utg",
            "big blind raises again against utg_open",
            "KK+, QQ:0.75, JJ:0.25, AKs, AQs:0.5, A5s-A4s:0.5, KQs:0.25, AKo:0.75, KQo:0.25",
        ),
        named(
            "bb_call_co",
            "big blind calls the raise of co_open",
            "JJ:0.25, TT-99:0.75, 88-22, AQs-AJs:0.5, ATs-A6s, A5s-A4s:0.5, A3s-A2s, KQs-KJs:0.5, KTs-K4s, QJs-QTs:0.75, Q9s-Q7s, JTs:0.5, J9s-J7s, T9s-T7s:0.75, 98s-96s:0.75, 87s-85s:0.75, 76s-74s:0.75, 65s-64s:0.75, 54s-53s:0.75, 43s, AQo:0.5, AJo:0.75, ATo-A9o, KQo:0.75, KJo-KTo, QJo-QTo, JTo",
        ),
        named(
            "bb_3bet_co",
            "big blind raises again against co_open",
            "QQ+, JJ:0.75, TT-99:0.25, AKs, AQs-AJs:0.5, A5s-A4s:0.5, KQs-KJs:0.5, QJs-QTs:0.25, JTs:0.5, T9s:0.25, 98s:0.25, 87s:0.25, 76s:0.25, 65s:0.25, 54s:0.25, AKo, AQo:0.5, AJo:0.25, KQo:0.25",
        ),
        named(
            "bb_call_btn",
            "big blind calls the raise of btn_open",
            "TT:0.25, 99:0.75, 88-22, AJs:0.25, ATs:0.5, A9s-A6s, A5s-A3s:0.5, A2s, KJs:0.25, KTs:0.5, K9s:0.75, K8s-K2s, QJs:0.5, QTs:0.5, Q9s:0.75, Q8s-Q2s, JTs:0.5, J9s:0.75, J8s-J5s, T9s:0.5, T8s-T6s, 98s:0.5, 97s-95s, 87s:0.5, 86s-85s, 76s:0.5, 75s-74s, 65s:0.5, 64s-63s, 54s:0.75, 53s-52s, 43s, AQo:0.25, AJo:0.5, ATo:0.75, A9o-A5o, KQo:0.5, KJo:0.75, KTo-K9o, QJo:0.75, QTo-Q9o, JTo-J9o, T9o-T8o, 98o",
        ),
        named(
            "bb_3bet_btn",
            "big blind raises again against btn_open",
            "JJ+, TT:0.75, 99:0.25, AQs+, AJs:0.75, ATs:0.5, A5s-A3s:0.5, KQs, KJs:0.75, KTs:0.5, K9s:0.25, QJs:0.5, QTs:0.5, Q9s:0.25, JTs:0.5, J9s:0.25, T9s:0.5, 98s:0.5, 87s:0.5, 76s:0.5, 65s:0.5, 54s:0.25, AKo, AQo:0.75, AJo:0.5, ATo:0.25, KQo:0.5, KJo:0.25, QJo:0.25",
        ),
        named(
            "bb_call_sb",
            "big blind calls the raise of sb_open",
            "TT-99:0.5, 88-22, AJs-A9s:0.5, A8s-A6s, A5s-A2s:0.75, KJs-K9s:0.5, K8s-K2s, QJs-Q9s:0.75, Q8s-Q2s, JTs-J9s:0.5, J8s-J5s, T9s-T8s:0.75, T7s-T6s, 98s-96s, 87s-85s, 76s-74s, 65s-63s, 54s-53s, 43s, AJo-ATo:0.75, A9o-A3o, KQo:0.5, KJo-K8o, QJo-Q9o, JTo-J9o, T9o-T8o, 98o, 87o",
        ),
        named(
            "bb_3bet_sb",
            "big blind raises again against sb_open",
            "JJ+, TT-99:0.5, AQs+, AJs-A9s:0.5, A5s-A2s:0.25, KQs, KJs-K9s:0.5, QJs-Q9s:0.25, JTs-J9s:0.5, T9s-T8s:0.25, AQo+, AJo-ATo:0.25, KQo:0.5, A2o:0.5, K7o:0.5, Q8o:0.25",
        ),
        named(
            "utg_call_3bet_bb",
            "utg_open calls the raise of bb_3bet_utg",
            "QQ:0.75, JJ-88, 77-66:0.5, AKs:0.5, AQs-ATs, A5s-A4s:0.5, KQs-KTs, QJs, JTs, T9s:0.5, AKo:0.5, AQo:0.5",
        ),
        named(
            "co_call_3bet_btn",
            "co_open calls the raise of btn_3bet_co",
            "QQ:0.5, JJ-77, 66-55:0.5, AKs:0.5, AQs-ATs, A5s:0.5, KQs-KTs, QJs, JTs, T9s:0.5, 98s:0.25, AKo:0.5, AQo:0.75",
        ),
        named(
            "btn_call_3bet_sb",
            "btn_open calls the raise of sb_3bet_btn",
            "QQ:0.5, JJ-55, 44-22:0.5, AKs:0.5, AQs-A8s, A5s-A4s:0.5, KQs-K9s, QJs-Q9s, JTs-J9s, T9s-T8s, 98s, 87s, 76s, 65s:0.5, AKo:0.5, AQo-AJo, KQo",
        ),
        named(
            "btn_call_3bet_bb",
            "btn_open calls the raise of bb_3bet_btn",
            "QQ:0.5, JJ-44, 33-22:0.5, AKs:0.5, AQs-A6s, A5s-A3s:0.5, KQs-K8s, QJs-Q9s, JTs-J9s, T9s-T8s, 98s-97s, 87s, 76s, 65s, 54s:0.5, AKo:0.5, AQo-ATo, KQo-KJo, QJo:0.5",
        ),
        named(
            "sb_call_3bet_bb",
            "sb_open calls the raise of bb_3bet_sb",
            "QQ-JJ:0.5, TT-55, 44-22:0.5, AKs:0.5, AQs-A8s, A5s-A4s:0.5, KQs-K9s, QJs-Q9s, JTs-J9s, T9s-T8s, 98s, 87s, 76s, 65s:0.5, AKo:0.25, AQo-AJo, KQo",
        ),
    ];

    /// The range of a name, with or without `@` before it, in capital letters too.
    ///
    /// # Errors
    /// [`Error::Option`] with the nearest name if there is none.
    pub fn find(name: &str) -> Result<&'static Self> {
        let plain = name.strip_prefix('@').unwrap_or(name);
        Self::known(plain).ok_or_else(|| Error::option("range", format!("'{name}'"), Self::nearest(plain)))
    }

    pub(super) fn known(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|range| range.name.eq_ignore_ascii_case(name))
    }

    /// What an error says is allowed in place of a name.
    pub(super) fn nearest(name: &str) -> String {
        let nearest = Self::ALL.iter().min_by_key(|range| edits(&name.to_ascii_lowercase(), range.name));
        format!("a named range; the nearest is @{}", nearest.map_or("", |range| range.name))
    }
}

const fn named(name: &'static str, meaning: &'static str, text: &'static str) -> NamedRange {
    NamedRange { name, meaning, text }
}

/// Letters to insert, remove or replace to make one text the other (Levenshtein's distance).
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (n_before, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], n_before + 1);
        for (at, &of_other) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(of_other != letter);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::Range;
    use super::*;

    fn weights(name: &str) -> BTreeMap<u64, f64> {
        let range = Range::parse(&format!("@{name}")).unwrap_or_else(|error| panic!("{name}: {error}"));
        range.hands(0).into_iter().collect()
    }

    #[test]
    fn each_is_read_as_its_text() {
        let names: BTreeSet<&str> = NamedRange::ALL.iter().map(|range| range.name).collect();
        assert_eq!(names.len(), NamedRange::ALL.len());
        for range in NamedRange::ALL {
            let read = Range::parse(range.text).unwrap_or_else(|error| panic!("{}: {error}", range.name));
            assert_eq!(Range::parse(&format!("@{}", range.name)).expect("a name"), read);
            assert_eq!(NamedRange::find(range.name).expect("a name"), range);
            // Words of a command, which tell names from hands by the underscore.
            assert!(range.name.contains('_') && range.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
            assert!(!range.meaning.is_empty());
        }
    }

    #[test]
    fn hands_are_as_many_as_ranks_and_suits_make() {
        let count = |name: &str| Range::parse(&format!("@{name}")).expect("a name").combos();
        // Ten pairs of six; of one suit twelve with an ace, four with a king, two with a queen, two with a jack, T9 and 98; of two suits AT to AK, KJ, KQ, and half of QJ.
        assert_eq!(count("utg_open"), 60.0 + 4.0 * 22.0 + 12.0 * 6.5);
        // Aces, kings, three quarters of the queens and a quarter of the jacks; AK, half of AQ, A5, A4 and a quarter of KQ of one suit; of two suits three quarters of AK and a quarter of KQ.
        assert_eq!(count("bb_3bet_utg"), 12.0 + 6.0 + 4.0 * 2.75 + 12.0);
        assert_eq!(count("utg_open:0.5"), count("utg_open") / 2.0);
        assert_eq!(count("utg_open, AA:0, 72o"), count("utg_open") - 6.0 + 12.0);
        let group = Range::parse("[50]@utg_open,72o[/50]").expect("a group");
        assert_eq!(group.combos(), count("utg_open") / 2.0 + 6.0);
    }

    /// Later seats open more; a hand is called or raised with a probability of at most 1; and only what was opened can call a raise.
    #[test]
    fn ranges_of_a_seat_go_together() {
        let within = |one: &str, other: &str| {
            let other = weights(other);
            let all =
                weights(one).into_iter().all(|(hand, weight)| other.get(&hand).is_some_and(|most| weight <= *most));
            assert!(all, "{one}");
        };
        for seats in ["utg", "hj", "co", "btn"].windows(2) {
            within(&format!("{}_open", seats[0]), &format!("{}_open", seats[1]));
        }
        let (mut n_calls, mut n_both) = (0, 0);
        for range in NamedRange::ALL {
            if let Some((seat, _)) = range.name.split_once("_call_3bet_") {
                within(range.name, &format!("{seat}_open"));
                n_calls += 1;
            } else if let Some((seat, opener)) = range.name.split_once("_call_") {
                let raises = weights(&format!("{seat}_3bet_{opener}"));
                for (hand, weight) in weights(range.name) {
                    assert!(weight + raises.get(&hand).unwrap_or(&0.0) <= 1.0, "{}: {hand:x}", range.name);
                }
                n_both += 1;
            }
        }
        assert_eq!((n_calls, n_both), (5, 6));
    }

    #[test]
    fn a_name_that_is_unknown_is_refused_with_the_nearest() {
        assert_eq!([edits("", "abc"), edits("abc", "ac"), edits("kitten", "sitting"), edits("é", "e")], [3, 1, 3, 1]);
        for (name, nearest) in [("btn_opne", "btn_open"), ("bb_calls_btn", "bb_call_btn"), ("SBOPEN", "sb_open")] {
            let said = NamedRange::find(name).expect_err(name).to_string();
            assert_eq!(
                said,
                format!("option range: '{name}' is not allowed (a named range; the nearest is @{nearest})")
            );
        }
        let said = Range::parse("AA, @btn_opne:0.5").expect_err("unknown").to_string();
        let nearest =
            "option range: '@btn_opne:0.5' at column 5 is not allowed (a named range; the nearest is @btn_open)";
        assert_eq!(said, nearest);
        assert_eq!(Range::parse("@BTN_open").ok(), Range::parse("@btn_open").ok());
        assert!(Range::parse("@").is_err() && Range::parse("@btn_open+").is_err() && NamedRange::find("@").is_err());
    }
}
