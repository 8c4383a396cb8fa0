//! Liar's dice: hidden dice, rising bids on all of them together, and a challenge.

use std::ops::RangeInclusive;

use super::{Game, Turn};
use crate::{Error, Result};

/// Liar's dice. Every seat rolls and sees only its own dice. Seats in turn bid a minimum number of dice that show a face, each bid higher than the last: more dice, or the
/// same number with a higher face. The highest face is wild and counts as any. Instead of bidding, a seat may call the last bidder a liar: if the bid holds, the bidder wins
/// 1 from the caller, else the caller wins 1 from the bidder; other seats get nothing.
///
/// With two seats, one die each and six faces it has 24,576 information sets (Lanctot et al.; OpenSpiel's `liars_dice`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiarsDice {
    n_players: usize,
    n_dice: usize,
    n_faces: usize,
}

/// The rolls, and the bids so far.
#[derive(Clone, Debug)]
pub struct Rolled {
    /// Faces of the dice rolled so far, from 0, seat by seat.
    dice: Vec<u8>,
    /// Numbers of the bids: (dice − 1) · faces + face.
    bids: Vec<u16>,
    called: bool,
}

impl LiarsDice {
    const SEATS: RangeInclusive<usize> = 2..=8;
    const DICE: RangeInclusive<usize> = 1..=5;
    const FACES: RangeInclusive<usize> = 2..=20;

    /// Every game that [`new`](Self::new) allows.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let with = |n_players, n_dice| Self::FACES.map(move |n_faces| Self { n_players, n_dice, n_faces });
        Self::SEATS.flat_map(move |n_players| Self::DICE.flat_map(move |n_dice| with(n_players, n_dice)))
    }

    /// A game of `n_players` seats with `n_dice` dice each, of `n_faces` faces.
    ///
    /// # Errors
    /// [`Error::Option`] unless there are 2 to 8 seats, 1 to 5 dice each and 2 to 20 faces.
    pub fn new(n_players: usize, n_dice: usize, n_faces: usize) -> Result<Self> {
        for (name, value, range) in
            [("n_players", n_players, Self::SEATS), ("n_dice", n_dice, Self::DICE), ("n_faces", n_faces, Self::FACES)]
        {
            if !range.contains(&value) {
                return Err(Error::option(name, value, format!("{} to {}", range.start(), range.end())));
            }
        }
        Ok(Self { n_players, n_dice, n_faces })
    }

    fn n_all(&self) -> usize {
        self.n_players * self.n_dice
    }

    fn n_bids(&self) -> usize {
        self.n_all() * self.n_faces
    }

    /// Number of the lowest bid that is still possible.
    fn next_bid(&self, state: &Rolled) -> usize {
        state.bids.last().map_or(0, |&bid| usize::from(bid) + 1)
    }

    fn seat(&self, state: &Rolled) -> usize {
        state.bids.len() % self.n_players
    }

    fn bid_name(&self, bid: usize) -> String {
        format!("{}x{}", bid / self.n_faces + 1, bid % self.n_faces + 1)
    }

    fn payoffs(&self, state: &Rolled) -> Vec<f64> {
        let mut payoffs = vec![0.0; self.n_players];
        let Some(&bid) = state.bids.last() else { return payoffs };
        let (count, face) = (usize::from(bid) / self.n_faces + 1, usize::from(bid) % self.n_faces);
        let matches = |&&die: &&u8| usize::from(die) == face || usize::from(die) == self.n_faces - 1;
        let holds = state.dice.iter().filter(matches).count() >= count;
        let caller = self.seat(state);
        let bidder = (caller + self.n_players - 1) % self.n_players;
        payoffs[bidder] = if holds { 1.0 } else { -1.0 };
        payoffs[caller] = -payoffs[bidder];
        payoffs
    }
}

impl Game for LiarsDice {
    type State = Rolled;

    fn name(&self) -> String {
        format!("liar's dice ({} seats, {} dice of {} faces)", self.n_players, self.n_dice, self.n_faces)
    }

    fn n_players(&self) -> usize {
        self.n_players
    }

    fn root(&self) -> Rolled {
        Rolled { dice: Vec::new(), bids: Vec::new(), called: false }
    }

    fn turn(&self, state: &Rolled) -> Turn {
        if state.dice.len() < self.n_all() {
            return Turn::Chance(vec![1.0 / self.n_faces as f64; self.n_faces]);
        }
        if state.called {
            return Turn::End(self.payoffs(state));
        }
        // All higher bids, then the call.
        let n_higher = self.n_bids() - self.next_bid(state);
        Turn::Decision { seat: self.seat(state), n_actions: n_higher + usize::from(!state.bids.is_empty()) }
    }

    fn next(&self, state: &Rolled, action: usize) -> Rolled {
        let mut next = state.clone();
        if state.dice.len() < self.n_all() {
            next.dice.push(action as u8);
        } else if self.next_bid(state) + action < self.n_bids() {
            next.bids.push((self.next_bid(state) + action) as u16);
        } else {
            next.called = true;
        }
        next
    }

    /// `dice:bids`, the dice in rising order: `3:1x2 2x2`.
    fn key(&self, state: &Rolled) -> String {
        let seat = self.seat(state);
        let mut dice = state.dice[seat * self.n_dice..(seat + 1) * self.n_dice].to_vec();
        dice.sort_unstable();
        let dice: Vec<String> = dice.iter().map(|die| (die + 1).to_string()).collect();
        let bids: Vec<String> = state.bids.iter().map(|&bid| self.bid_name(usize::from(bid))).collect();
        format!("{}:{}", dice.join(" "), bids.join(" "))
    }

    fn action_name(&self, state: &Rolled, action: usize) -> String {
        let bid = self.next_bid(state) + action;
        if bid < self.n_bids() { self.bid_name(bid) } else { "liar".to_string() }
    }

    fn n_histories(&self) -> Option<u128> {
        // The rolls, and under each a subset of bids, called or not; without a bid there is nothing to call.
        let faces = self.n_faces as u128;
        let rolls = (0..self.n_all()).fold(0u128, |sum, n| sum.saturating_add(faces.saturating_pow(n as u32)));
        let bids = 2u128.checked_pow(self.n_bids() as u32 + 1).map_or(u128::MAX, |n| n - 1);
        Some(faces.saturating_pow(self.n_all() as u32).saturating_mul(bids).saturating_add(rolls))
    }
}
