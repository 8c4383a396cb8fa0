//! Which cards a page deals.

use std::collections::BTreeMap;

use super::path::cards;
use super::state::{RANKS, SUITS};
use crate::common::Usage;

/// Any card.
const ANY: &str = "*";

/// Cards that are dealt, and after each those that are dealt next.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Runouts(pub BTreeMap<String, Runouts>);

impl Runouts {
    /// What `--runouts` names, on a board with so many cards to come.
    ///
    /// # Errors
    /// [`Usage`] names the flag, the text and what is allowed.
    pub fn parse(texts: &[String], board: &str, n_to_come: usize) -> Result<Self, Usage> {
        let board = cards(board);
        let mut all = Self::default();
        for text in texts {
            let wrong = |allowed: String| Usage(format!("--runouts: '{text}' is not allowed ({allowed})"));
            let dealt = if text.trim() == "all" { vec![ANY.to_string(); n_to_come] } else { cards(text) };
            if dealt.iter().any(|card| card != ANY && !deck().contains(card)) || text.trim().is_empty() {
                return Err(wrong("cards as 8c, 8c3s, 8c* or *, or all".into()));
            }
            if dealt.len() > n_to_come {
                return Err(wrong(format!("as many cards as come after {}, {n_to_come}", board.concat())));
            }
            for (at, card) in dealt.iter().enumerate().filter(|(_, card)| *card != ANY) {
                if board.contains(card) || dealt[..at].contains(card) {
                    return Err(wrong(format!("cards that are not on the board: {card} is")));
                }
            }
            all.add(&board, &dealt);
        }
        Ok(all)
    }

    fn add(&mut self, board: &[String], dealt: &[String]) {
        let Some((first, rest)) = dealt.split_first() else { return };
        for card in deck().into_iter().filter(|card| (first == ANY || first == card) && !board.contains(card)) {
            let board = [board, std::slice::from_ref(&card)].concat();
            self.0.entry(card).or_default().add(&board, rest);
        }
    }

    /// Number of runouts of one card, of two, and so on.
    pub fn counts(&self) -> [u64; 2] {
        [self.0.len() as u64, self.0.values().map(|next| next.0.len() as u64).sum()]
    }
}

fn deck() -> Vec<String> {
    RANKS.chars().flat_map(|rank| SUITS.chars().map(move |suit| String::from_iter([rank, suit]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(texts: &[&str], board: &str, n_to_come: usize) -> Result<Runouts, Usage> {
        let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
        Runouts::parse(&texts, board, n_to_come)
    }

    #[test]
    fn runouts_are_cards_stars_and_all() {
        let counts = |texts: &[&str]| parse(texts, "QsJh2h", 2).expect("good runouts").counts();
        assert_eq!(counts(&[]), [0, 0]);
        assert_eq!(counts(&["8c", "8c3s", "8c 3d", "9d"]), [2, 2]);
        assert_eq!(counts(&["tc", "8c*"]), [2, 48]);
        // 8c cannot come twice.
        assert_eq!(counts(&["*8c"]), [49, 48]);
        assert_eq!(counts(&["all"]), [49, 49 * 48]);
        assert_eq!(parse(&["all"], "QsJh2h2d7c", 0).expect("nothing to come").counts(), [0, 0]);
    }

    #[test]
    fn what_cannot_be_dealt_is_named() {
        for (text, part) in [
            ("8x", "'8x' is not allowed (cards as 8c, 8c3s, 8c* or *, or all)"),
            ("8", "'8' is not allowed"),
            ("", "'' is not allowed"),
            ("8c3s4d", "as many cards as come after QsJh2h, 2"),
            ("2h", "2h is"),
            ("8c8c", "8c is"),
        ] {
            let error = parse(&[text], "QsJh2h", 2).expect_err(text).to_string();
            assert!(error.starts_with("--runouts: ") && error.contains(part), "{error}");
        }
    }
}
