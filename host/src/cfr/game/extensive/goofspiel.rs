//! Goofspiel: sealed bids of cards for prizes.

use std::ops::RangeInclusive;

use super::{Game, Turn};
use crate::runtime::named::named;
use crate::{Error, Result};

named! {
    /// The order in which prizes of goofspiel come up.
    PrizeOrder, "prize order":
    /// The smallest first.
    Ascending = "ascending",
    /// The largest first.
    Descending = "descending",
    /// By chance.
    Random = "random",
}

/// Goofspiel, the game of pure strategy: every seat holds cards 1 to N, and prizes 1 to N are turned up one after the other. For each prize all seats bid one of their cards
/// at once; the highest bid wins the prize, a tie discards it, and the bids are shown and discarded. The payoff is a seat's points less the mean of all.
///
/// In the tree the seats bid one after the other, unseen; the last round is automatic, since every seat has one card left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goofspiel {
    n_players: usize,
    n_cards: usize,
    order: PrizeOrder,
}

/// What has been turned up and bid.
#[derive(Clone, Debug)]
pub struct Bids {
    /// Prizes turned up, from 1.
    prizes: Vec<u8>,
    /// All bids in their order, from 1: `n_players` a prize.
    bids: Vec<u8>,
}

impl Goofspiel {
    const SEATS: RangeInclusive<usize> = 2..=8;
    const CARDS: RangeInclusive<usize> = 1..=13;

    /// Every game that [`new`](Self::new) allows.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let with = |n_players, n_cards| PrizeOrder::ALL.iter().map(move |&order| Self { n_players, n_cards, order });
        Self::SEATS.flat_map(move |n_players| Self::CARDS.flat_map(move |n_cards| with(n_players, n_cards)))
    }

    /// A game of `n_players` seats with `n_cards` cards each.
    ///
    /// # Errors
    /// [`Error::Option`] unless there are 2 to 8 seats and 1 to 13 cards.
    pub fn new(n_players: usize, n_cards: usize, order: PrizeOrder) -> Result<Self> {
        for (name, value, range) in [("n_players", n_players, Self::SEATS), ("n_cards", n_cards, Self::CARDS)] {
            if !range.contains(&value) {
                return Err(Error::option(name, value, format!("{} to {}", range.start(), range.end())));
            }
        }
        Ok(Self { n_players, n_cards, order })
    }

    /// Cards for which `used` is false, from the smallest.
    fn left(&self, used: impl Fn(u8) -> bool) -> Vec<u8> {
        (1..=self.n_cards as u8).filter(|&card| !used(card)).collect()
    }

    /// Prizes that may come next.
    fn next_prizes(&self, state: &Bids) -> Vec<u8> {
        let left = self.left(|prize| state.prizes.contains(&prize));
        match self.order {
            PrizeOrder::Random => left,
            PrizeOrder::Ascending => left.into_iter().take(1).collect(),
            PrizeOrder::Descending => left.into_iter().next_back().into_iter().collect(),
        }
    }

    fn seat(&self, state: &Bids) -> usize {
        state.bids.len() % self.n_players
    }

    fn hand(&self, state: &Bids, seat: usize) -> Vec<u8> {
        self.left(|card| state.bids.iter().skip(seat).step_by(self.n_players).any(|&bid| bid == card))
    }

    /// Whether all bids for the last prize turned up are made.
    fn is_settled(&self, state: &Bids) -> bool {
        state.bids.len() == state.prizes.len() * self.n_players
    }

    fn payoffs(&self, state: &Bids) -> Vec<f64> {
        let mut points = vec![0.0; self.n_players];
        for (bids, &prize) in state.bids.chunks(self.n_players).zip(&state.prizes) {
            let most = bids.iter().max().copied().unwrap_or(0);
            if bids.iter().filter(|&&bid| bid == most).count() == 1
                && let Some(winner) = bids.iter().position(|&bid| bid == most)
            {
                points[winner] += f64::from(prize);
            }
        }
        let mean = points.iter().sum::<f64>() / self.n_players as f64;
        points.iter().map(|own| own - mean).collect()
    }
}

impl Game for Goofspiel {
    type State = Bids;

    fn name(&self) -> String {
        format!("goofspiel ({} seats, {} cards, {})", self.n_players, self.n_cards, self.order)
    }

    fn n_players(&self) -> usize {
        self.n_players
    }

    fn root(&self) -> Bids {
        Bids { prizes: Vec::new(), bids: Vec::new() }
    }

    fn turn(&self, state: &Bids) -> Turn {
        if self.is_settled(state) {
            let prizes = self.next_prizes(state);
            return if prizes.is_empty() {
                Turn::End(self.payoffs(state))
            } else {
                Turn::Chance(vec![1.0 / prizes.len() as f64; prizes.len()])
            };
        }
        let seat = self.seat(state);
        let n_cards = self.n_cards + 1 - state.prizes.len();
        if n_cards == 1 { Turn::Chance(vec![1.0]) } else { Turn::Decision { seat, n_actions: n_cards } }
    }

    fn next(&self, state: &Bids, action: usize) -> Bids {
        let mut next = state.clone();
        if self.is_settled(state) {
            next.prizes.extend(self.next_prizes(state).get(action));
        } else {
            next.bids.extend(self.hand(state, self.seat(state)).get(action));
        }
        next
    }

    /// `prize:bids` of the rounds so far, then the prize at stake: `3:12/1`.
    fn key(&self, state: &Bids) -> String {
        let mut text = String::new();
        for (round, prize) in state.prizes.iter().enumerate() {
            let bids = state.bids.get(round * self.n_players..(round + 1) * self.n_players);
            let bids = bids.map(|bids| bids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            match bids {
                Some(bids) => text.push_str(&format!("{prize}:{bids}/")),
                None => text.push_str(&prize.to_string()),
            }
        }
        text
    }

    fn action_name(&self, state: &Bids, action: usize) -> String {
        self.hand(state, self.seat(state)).get(action).map_or_else(String::new, ToString::to_string)
    }

    fn n_histories(&self) -> Option<u128> {
        // A round in which seats hold `cards` begins with `rounds` histories, one prize turned up each or one for each prize left. Every bid multiplies them by the cards.
        let (mut all, mut rounds) = (0u128, 1u128);
        for cards in (1..=self.n_cards as u128).rev() {
            all = all.saturating_add(rounds);
            let mut bids = if self.order == PrizeOrder::Random { rounds.saturating_mul(cards) } else { rounds };
            for _ in 0..self.n_players {
                all = all.saturating_add(bids);
                bids = bids.saturating_mul(cards);
            }
            rounds = bids;
        }
        Some(all.saturating_add(rounds))
    }
}
