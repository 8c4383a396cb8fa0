//! Locks, as the layout takes them.

use std::collections::BTreeMap;

use super::file::{LockStrategy, SpotLock};
use super::range::{Range, Weighted};
use crate::cfr::game::betting::{BettingKind, BettingTree};
use crate::cfr::game::cards::{CardSet, Deck};
use crate::cfr::layout::{Given, SetupLock};
use crate::runtime::error::shown_number;
use crate::{Error, Result};

/// The name of all other hands.
const REST: &str = "rest";
/// Tolerance of the sum of a lock's probabilities.
const TOLERANCE: f64 = 1e-6;

/// The locks of a spot with this board; those of one node and run-out together.
///
/// # Errors
/// [`Error::Option`] `locks` for what does not fit its node; [`Error::Moves`] for a history.
pub(super) fn locks(
    locks: &[SpotLock],
    tree: &BettingTree,
    ranges: &[Weighted; 2],
    texts: &[String; 2],
    board: CardSet,
) -> Result<Vec<SetupLock>> {
    let mut all: Vec<SetupLock> = Vec::new();
    for lock in locks {
        let new = lock.build(tree, ranges, texts, board)?;
        match all.iter_mut().find(|other| (other.betting, &other.runout) == (new.betting, &new.runout)) {
            None => all.push(new),
            Some(other) => {
                if let Some(hand) = new.given.numbers().find(|&hand| other.given.hands[hand]) {
                    return Err(lock.twice(ranges[lock.seat][hand].0));
                }
                other.given.cover(&new.given);
            }
        }
    }
    Ok(all)
}

impl SpotLock {
    fn wrong(&self, value: String, allowed: impl Into<String>) -> Error {
        Error::option("locks", value, allowed)
    }

    fn twice(&self, hand: CardSet) -> Error {
        self.wrong(format!("{} twice after '{}'", Deck::FULL.names(hand), self.history), "each hand once")
    }

    fn build(
        &self,
        tree: &BettingTree,
        ranges: &[Weighted; 2],
        texts: &[String; 2],
        board: CardSet,
    ) -> Result<SetupLock> {
        let betting = tree.find(&self.history)?;
        let node = &tree.nodes[betting as usize];
        let BettingKind::Decision { seat, actions, .. } = &node.kind else {
            return Err(self.wrong(format!("history '{}'", self.history), "a history after which a player acts"));
        };
        if *seat != self.seat {
            let value = format!("history '{}' for seat {}", self.history, self.seat);
            return Err(self.wrong(value, format!("seat {seat}, which acts there")));
        }
        let names: Vec<String> = actions.iter().map(|&action| tree.spell(action)).collect();
        let runout = self.runout(node.round as usize, board)?;
        self.expect_hands(&texts[self.seat], runout.last().copied().unwrap_or(board))?;
        let given = self.given(&names, &ranges[self.seat])?;
        Ok(SetupLock { betting, runout, given })
    }

    /// The board after each card of the run-out, of which `n_dealt` are dealt before the node.
    fn runout(&self, n_dealt: usize, board: CardSet) -> Result<Vec<CardSet>> {
        let Some(text) = &self.runout else { return Ok(Vec::new()) };
        let wrong = || {
            let cards = match n_dealt {
                0 => "no run-out: no card is dealt before the node".to_string(),
                1 => "the card that is dealt before the node, as 8c".to_string(),
                n => format!("1 to {n} cards that are dealt before the node, as 8c 4d"),
            };
            self.wrong(format!("run-out '{text}' after '{}'", self.history), cards)
        };
        let cards = Deck::FULL.cards(text).map_err(|_| wrong())?;
        if cards.is_empty() || cards.len() > n_dealt {
            return Err(wrong());
        }
        let mut boards = Vec::with_capacity(cards.len());
        let mut lying = board;
        for card in cards {
            if lying & 1 << card != 0 {
                let value = format!("run-out '{text}' after '{}'", self.history);
                return Err(self.wrong(value, format!("cards beside {}", Deck::FULL.names(lying))));
            }
            lying |= 1 << card;
            boards.push(lying);
        }
        Ok(boards)
    }

    /// Refuses hands that are given nothing: each part of a text must leave some of the seat's range beside the board, and has no weight of its own.
    fn expect_hands(&self, range: &str, board: CardSet) -> Result<()> {
        let LockStrategy::ByHand(parts) = &self.strategy else { return Ok(()) };
        let wrong = |part: &str, allowed: &str| {
            self.wrong(format!("'{}' of seat {} after '{}'", part.trim(), self.seat, self.history), allowed)
        };
        if parts.is_empty() {
            return Err(wrong("{}", "hands with probabilities, or rest"));
        }
        let range = Range::parse(range)?;
        for part in parts.keys().filter(|text| *text != REST).flat_map(|text| text.split(',')) {
            if part.contains([':', '[']) {
                return Err(wrong(part, "hands without weights: weights are those of the range"));
            }
            let hands = Range::parse(part).map_err(|error| match error {
                Error::Option { allowed, .. } => wrong(part, &allowed),
                other => other,
            })?;
            let held = range.both(&hands);
            if held.is_empty() {
                return Err(wrong(part, "hands of the seat's range"));
            }
            if held.iter().all(|hand| hand & board != 0) {
                return Err(wrong(part, &format!("hands beside the board {}", Deck::FULL.names(board))));
            }
        }
        Ok(())
    }

    /// The lock without parts all of whose hands in the seat's range the board blocks; `None` if no other is left. Parts that lock nothing on any board stay, to be refused.
    pub(super) fn beside(&self, range: &str, board: CardSet) -> Option<Self> {
        let (LockStrategy::ByHand(parts), Ok(range)) = (&self.strategy, Range::parse(range)) else {
            return Some(self.clone());
        };
        let is_blocked = |part: &&str| {
            let held = Range::parse(part).map_or_else(|_| Vec::new(), |hands| range.both(&hands));
            !held.is_empty() && held.iter().all(|hand| hand & board != 0)
        };
        let mut left = BTreeMap::new();
        for (text, probabilities) in parts {
            let open: Vec<&str> = text.split(',').filter(|part| text == REST || !is_blocked(part)).collect();
            if !open.is_empty() {
                left.insert(open.join(","), probabilities.clone());
            }
        }
        let is_left = !left.is_empty() || parts.is_empty();
        is_left.then(|| Self { strategy: LockStrategy::ByHand(left), ..self.clone() })
    }

    /// What is given to the hands of the seat, for actions of these names.
    fn given(&self, actions: &[String], hands: &Weighted) -> Result<Given> {
        let normalised = |probabilities: &[f64]| -> Result<Vec<f64>> {
            let sum: f64 = probabilities.iter().sum();
            let good = probabilities.iter().all(|probability| (0.0..=1.0 + TOLERANCE).contains(probability));
            if probabilities.len() != actions.len() || !good || (sum - 1.0).abs() > TOLERANCE {
                let value = format!("{probabilities:?}, together {}, after '{}'", shown_number(sum), self.history);
                let allowed = format!("probabilities of {} that add up to 1 within {TOLERANCE}", actions.join(", "));
                return Err(self.wrong(value, allowed));
            }
            Ok(probabilities.iter().map(|probability| probability / sum).collect())
        };
        let mut given =
            Given { hands: vec![false; hands.len()], strategy: vec![vec![0.0; hands.len()]; actions.len()] };
        let mut give = |hand: usize, probabilities: &[f64]| {
            let is_first = !std::mem::replace(&mut given.hands[hand], true);
            given.strategy.iter_mut().zip(probabilities).for_each(|(vector, &probability)| vector[hand] = probability);
            is_first
        };
        let rest = match &self.strategy {
            LockStrategy::All(probabilities) => Some(normalised(probabilities)?),
            LockStrategy::ByHand(parts) => {
                for (text, probabilities) in parts.iter().filter(|(text, _)| *text != REST) {
                    let probabilities = normalised(probabilities)?;
                    for (hand, _) in Range::parse(text)?.hands(0) {
                        let Ok(at) = hands.binary_search_by_key(&hand, |&(hand, _)| hand) else { continue };
                        if !give(at, &probabilities) {
                            return Err(self.twice(hand));
                        }
                    }
                }
                parts.get(REST).map(|rest| normalised(rest)).transpose()?
            }
        };
        if let Some(rest) = rest {
            let left: Vec<usize> = (0..hands.len()).filter(|&hand| !given.hands[hand]).collect();
            given.hands.fill(true);
            for hand in left {
                given.strategy.iter_mut().zip(&rest).for_each(|(vector, &probability)| vector[hand] = probability);
            }
        }
        Ok(given)
    }
}
