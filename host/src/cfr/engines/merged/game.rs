//! Poker whose players know buckets, or all of their cards.

use crate::Result;
use crate::cfr::game::extensive::{Game, Poker, Turn};
use crate::cfr::game::game_file::GameDef;
use crate::cfr::game::{Buckets, CardSet};

/// A game in which each seat knows the bucket of its cards in the present round, or the cards themselves.
pub(super) struct BucketedPoker<'a> {
    poker: Poker,
    buckets: &'a dyn Buckets,
    /// By seat: whether it knows its bucket alone.
    in_buckets: Vec<bool>,
}

impl<'a> BucketedPoker<'a> {
    pub fn new(rules: &GameDef, buckets: &'a dyn Buckets, in_buckets: Vec<bool>) -> Result<Self> {
        Ok(Self { poker: Poker::new(rules)?, buckets, in_buckets })
    }

    fn bucket(&self, node: usize, hole: CardSet, board: CardSet) -> u32 {
        let round = self.poker.betting().nodes[node].round as usize;
        // A larger number counts as the last bucket, as `Buckets` says.
        self.buckets.bucket(round, hole, board).min(self.buckets.n_buckets(round).saturating_sub(1))
    }
}

/// The betting node and the bucket that a key of [`BucketedPoker`] begins with.
pub(super) fn node_and_bucket(key: &str) -> Option<(usize, usize)> {
    let mut parts = key.split(':').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

impl Game for BucketedPoker<'_> {
    type State = <Poker as Game>::State;

    fn name(&self) -> String {
        self.poker.name()
    }

    fn n_players(&self) -> usize {
        self.poker.n_players()
    }

    fn root(&self) -> Self::State {
        self.poker.root()
    }

    fn turn(&self, state: &Self::State) -> Turn {
        self.poker.turn(state)
    }

    fn next(&self, state: &Self::State, action: usize) -> Self::State {
        self.poker.next(state, action)
    }

    /// `node:bucket`, and behind it what poker tells a seat that knows its cards.
    fn key(&self, state: &Self::State) -> String {
        let Turn::Decision { seat, .. } = self.poker.turn(state) else { return String::new() };
        let (node, hole, board) = self.poker.known(state, seat);
        let bucket = self.bucket(node, hole, board);
        match self.in_buckets[seat] {
            true => format!("{node}:{bucket}"),
            false => format!("{node}:{bucket}:{}", self.poker.key(state)),
        }
    }

    fn action_name(&self, state: &Self::State, action: usize) -> String {
        self.poker.action_name(state, action)
    }

    fn n_histories(&self) -> Option<u128> {
        self.poker.n_histories()
    }
}
