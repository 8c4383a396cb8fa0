//! The spot that begins at a node.

use super::Node;
use crate::cfr::game::cards::{Deck, members};
use crate::cfr::spot::betting::STREETS;
use crate::cfr::spot::file::{Spot, Streets};
use crate::cfr::spot::game::LEAST_WEIGHT;
use crate::cfr::spot::sizes::{BetSize, SeatSizes};
use crate::{Error, Result};

impl Node<'_> {
    /// The spot that begins where a card is dealt next: the ranges with which both seats come here (without hands that come less than 10⁻⁶ times as often as the most frequent), the pot, what is left of the stacks, and sizes, rake and prizes as before. Its board is the one
    /// so far, to be solved on the boards that [follow](crate::cfr::spot::Boards).
    ///
    /// # Errors
    /// [`Error::Option`] names `line` where no card is dealt next, no chips are left or a seat never comes, and for locks, added or removed lines of later streets, whose histories begin before.
    pub fn spot(&self) -> Result<Spot> {
        let wrong = |allowed: &str| Error::option("line", format!("'{}'", self.history()), allowed);
        if !self.is_deal() {
            return Err(wrong("a line after which a card is dealt"));
        }
        let from = self.solved.spot();
        let paid = &self.betting().contributed;
        let effective_stack = from.effective_stack - paid[0];
        if effective_stack <= 0.0 {
            return Err(wrong("a line after which both seats have chips"));
        }
        let mut own = from.locks.iter().map(|lock| &lock.history).chain(&from.added_lines).chain(&from.removed_lines);
        if own.any(|history| self.leads_to(history)) {
            return Err(wrong("a line without locks, added or removed lines after it"));
        }
        let range = |seat: usize| {
            let hands = self.reach(seat);
            let most = hands.iter().map(|&(_, reach)| reach).fold(0.0, f64::max);
            // A range's weights are parts of the largest that are not too small; this one may be, where the seat seldom comes.
            let scale = if most < LEAST_WEIGHT { most } else { 1.0 };
            let held = hands.into_iter().filter(|&(_, reach)| reach > 0.0 && reach >= LEAST_WEIGHT * most);
            let range: Vec<String> = held.map(|(hand, reach)| format!("{hand}:{}", reach / scale)).collect();
            if range.is_empty() { Err(wrong("a line that both seats play")) } else { Ok(range.join(",")) }
        };
        let deck = Deck::FULL;
        // The flop is the spot's; what else lies there is a turn.
        let flop = deck.cards(&from.flop)?.iter().fold(0, |set, card| set | 1u64 << card);
        let turn = members(self.placed.cards & !flop).map(|card| deck.name(card)).next();
        let street = STREETS.iter().position(|name| *name == self.street()).unwrap_or(0);
        let icm = from.icm().map(|mut icm| {
            icm.stacks.iter_mut().zip(paid).for_each(|(stack, paid)| *stack -= paid);
            icm
        });
        let mut bet_sizes = from.bet_sizes.clone();
        // Who calls a bet as seat 0 is the one who acts next: its bets have the sizes of donk_sizes.
        let line = self.history();
        let last = line.rsplit('/').next().unwrap_or_default();
        let n_actions = last.chars().filter(char::is_ascii_alphabetic).count();
        if let Some(donk) = from.donk_sizes.as_ref().and_then(|sizes| sizes.get(street + 1))
            && last.contains('r')
            && n_actions % 2 == 1
        {
            let given = bet_sizes.as_ref().and_then(|sizes| sizes.get(street + 1)).map(|sizes| sizes.of(1).to_vec());
            let default = || vec![from.bet_fraction_of_pot.map_or(BetSize::AllIn, BetSize::Pot), BetSize::AllIn];
            let sizes = Some(SeatSizes::Each([donk.clone(), given.unwrap_or_else(default)]));
            let of_streets = bet_sizes.get_or_insert(Streets { flop: None, turn: None, river: None });
            match street {
                0 => of_streets.turn = sizes,
                _ => of_streets.river = sizes,
            }
        }
        Ok(Spot {
            pot: self.pot(),
            effective_stack,
            flop: from.flop.clone(),
            turn,
            river: None,
            ranges: [range(0)?, range(1)?],
            bet_sizes,
            icm,
            locks: Vec::new(),
            added_lines: Vec::new(),
            removed_lines: Vec::new(),
            ..from.clone()
        })
    }

    /// Whether a history of the spot begins with the line to this node and the card that is dealt next. One node has several spellings, so nodes are compared.
    fn leads_to(&self, history: &str) -> bool {
        let tree = &self.solved.tree;
        let mut rest = history;
        // A removed line is not in the tree, but the node where its last action was removed is, unless another line removed that node.
        let mut at = loop {
            if let Ok(node) = tree.find(rest) {
                break node;
            }
            match rest.trim_end_matches('/').rfind(['f', 'c', 'r']) {
                Some(last) => rest = &rest[..last],
                None => return false,
            }
        };
        // Parents have smaller numbers.
        while at > self.betting {
            let Some(parent) = tree.nodes[at as usize].parent else { break };
            at = parent;
        }
        at == self.betting
    }
}
