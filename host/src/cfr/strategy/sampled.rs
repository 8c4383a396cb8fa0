//! Two strategies against each other over sampled deals, for games whose deals are too many to walk.

use std::ops::ControlFlow;
use std::time::Instant;

use rayon::prelude::*;
use warpplay_gpu::cfr::beats::{self, MAX_PLAYERS};

use super::Strategy;
use super::measure::{HeadToHead, SampledDeals};
use crate::cfr::dispatch;
use crate::cfr::game::betting::{BettingKind, BettingNode, BettingTree};
use crate::cfr::game::cards::CardSet;
use crate::cfr::game::dealer::{Cards, Dealer};
use crate::cfr::game::sequences::{End, pots};
use crate::cfr::layout::{Buckets, Layout, LayoutKind};
use crate::{Error, Progress, Result};

/// Number of deals drawn at a time; their values are added in order, regardless of the threads that computed them.
const PART: u64 = 16;

/// The value of A against B over `deals` deals from `seed`, with its standard error: A sits at each seat in turn, B at all others. All lines of betting of every deal are
/// walked, so that only chance is sampled. It runs on the CPU, in the caller's thread pool if there is one, else on all cores.
///
/// `watch` is called every few deals; if it returns `Break`, the value is that of the deals so far.
///
/// # Errors
/// [`Error::Option`] names `deals`, unless they are at least 2, or the strategies, unless they are of a game of poker; [`Error::Shape`] if the two are not strategies of one game.
pub fn head_to_head_sampled(
    a: &Strategy,
    b: &Strategy,
    deals: u64,
    seed: u64,
    mut watch: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<HeadToHead> {
    if deals < 2 {
        return Err(Error::option("deals", deals, "at least 2, to estimate the error"));
    }
    if !a.problem.is_same_game(&b.problem) {
        return Err(Error::shape("two strategies of one game", a.problem.describe(), b.problem.describe()));
    }
    let Some(rules) = a.problem.rules() else {
        return Err(Error::option("deals", deals, "a whole game of poker where deals are sampled"));
    };
    let (a, b) = (a.by_hands()?, b.by_hands()?);
    let tree = BettingTree::new(rules)?;
    let ends = ends(&tree);
    let mut dealer = Dealer::new(rules, seed)?;
    let n_players = tree.n_players;
    let mut sums = vec![Sum::default(); n_players + 1];
    let (began, mut done) = (Instant::now(), 0);
    while done < deals {
        let drawn: Vec<(Cards, [u32; MAX_PLAYERS])> = (0..(deals - done).min(PART))
            .map(|_| {
                let cards = dealer.next();
                let words = dealer.beats(&cards);
                (cards, words)
            })
            .collect();
        done += drawn.len() as u64;
        let values: Vec<Vec<f64>> =
            drawn.par_iter().map(|(cards, words)| values(&tree, &ends, [&a, &b], cards, words)).collect();
        for of_deal in values {
            let mean = of_deal.iter().sum::<f64>() / n_players as f64;
            of_deal.iter().chain([&mean]).zip(&mut sums).for_each(|(&value, sum)| sum.add(value));
        }
        let progress =
            Progress { steps: done, n_steps: Some(deals), elapsed: began.elapsed(), time_limit: None, latest: None };
        // One deal has no error.
        if watch(&progress).is_break() && done > 1 {
            break;
        }
    }
    let (of_seats, of_all) = sums.split_at(n_players);
    Ok(HeadToHead {
        values: of_seats.iter().map(|sum| sum.mean).collect(),
        value: of_all[0].mean,
        sampled: Some(SampledDeals {
            deals: done,
            seed,
            standard_errors: of_seats.iter().map(Sum::standard_error).collect(),
            standard_error: of_all[0].standard_error(),
        }),
    })
}

/// Running mean and sum of squared deviations (Welford, 1962).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    n: f64,
    pub(super) mean: f64,
    squares: f64,
}

impl Sum {
    pub(super) fn add(&mut self, value: f64) {
        self.n += 1.0;
        let before = value - self.mean;
        self.mean += before / self.n;
        self.squares += before * (value - self.mean);
    }

    pub(super) fn standard_error(&self) -> f64 {
        (self.squares / (self.n - 1.0) / self.n).sqrt()
    }
}

/// A strategy with tables by hands.
pub(in crate::cfr) struct ByHands<'a> {
    strategy: std::borrow::Cow<'a, Strategy>,
    pub(super) buckets: std::sync::Arc<Buckets>,
}

impl Strategy {
    /// The strategy with tables by hands, converted set by set from any other layout.
    pub(in crate::cfr) fn by_hands(&self) -> Result<ByHands<'_>> {
        let strategy = match &self.layout {
            Layout::Buckets(_) => std::borrow::Cow::Borrowed(self),
            _ => {
                let layout = dispatch::layout_of(&self.problem, LayoutKind::Padded, self.options.isomorphism)?;
                std::borrow::Cow::Owned(self.relaid(&layout)?)
            }
        };
        let Layout::Buckets(buckets) = &strategy.layout else {
            return Err(Error::option("engine", self.layout.kind(), "tables by hands where deals are sampled"));
        };
        let buckets = std::sync::Arc::clone(buckets);
        Ok(ByHands { strategy, buckets })
    }
}

impl ByHands<'_> {
    /// Probabilities of the actions of every decision in a deal, decision by decision in the order of the tree.
    fn of(&self, tree: &BettingTree, cards: &Cards) -> Vec<f32> {
        let bucket = |seat: usize, round: usize| self.buckets.index(round, cards.holes[seat], cards.boards[round]);
        let buckets: Vec<Vec<Option<usize>>> = (0..tree.n_players)
            .map(|seat| (0..cards.boards.len()).map(|round| bucket(seat, round)).collect())
            .collect();
        let mut probabilities = Vec::with_capacity(tree.nodes.len());
        for (number, node) in tree.nodes.iter().enumerate() {
            if let BettingKind::Decision { seat, actions, .. } = &node.kind {
                match buckets[*seat][node.round as usize] {
                    Some(bucket) => probabilities.extend(self.at(number, *seat, bucket)),
                    // Not for cards that are dealt.
                    None => probabilities.extend(actions.iter().map(|_| 0.0)),
                }
            }
        }
        probabilities
    }

    /// The buckets of hands on a board in a round; none for a hand that the board blocks.
    pub(in crate::cfr) fn buckets_of(&self, round: usize, hands: &[CardSet], board: CardSet) -> Vec<Option<usize>> {
        self.buckets.indices(round, hands, board)
    }

    /// Probabilities of the actions of a seat's decision in a bucket, uniform where the solve never came.
    pub(in crate::cfr) fn at(&self, node: usize, seat: usize, bucket: usize) -> impl Iterator<Item = f32> {
        let row = self.buckets.row(node, bucket);
        let table = &self.strategy.probabilities[seat];
        let total: f32 = row.indices().map(|at| table[at]).sum();
        let of = move |at: usize| if total > 0.0 { table[at] / total } else { 1.0 / row.n_actions as f32 };
        row.indices().map(of)
    }
}

/// The ends of a tree by node; `None` where a seat acts.
fn ends(tree: &BettingTree) -> Vec<Option<End>> {
    let of = |node: &BettingNode| match node.kind {
        BettingKind::Terminal => Some(End { pots: pots(node, tree.dead), stakes: node.contributed.clone() }),
        BettingKind::Decision { .. } => None,
    };
    tree.nodes.iter().map(of).collect()
}

/// Winnings of A in a deal when it sits at each seat and B at all others.
fn values(
    tree: &BettingTree,
    ends: &[Option<End>],
    [a, b]: [&ByHands<'_>; 2],
    cards: &Cards,
    words: &[u32],
) -> Vec<f64> {
    let [a, b] = [a, b].map(|strategy| strategy.of(tree, cards));
    let mut values = vec![0.0; tree.nodes.len()];
    let of_seat = |seat: usize| {
        let won = |end: &End| -> f64 {
            let pots = end.pots.iter().filter(|pot| pot.eligible >> seat & 1 != 0);
            let shares = pots.map(|pot| match beats::winners(words[seat], pot.eligible) {
                0 => 0.0,
                n => pot.chips / f64::from(n),
            });
            shares.sum::<f64>() - end.stakes[seat]
        };
        let mut first = a.len();
        // Children follow their node, so theirs are complete.
        for (at, node) in tree.nodes.iter().enumerate().rev() {
            values[at] = match (&node.kind, &ends[at]) {
                (BettingKind::Decision { seat: mover, children, .. }, _) => {
                    first -= children.len();
                    let strategy = if *mover == seat { &a[first..] } else { &b[first..] };
                    children.iter().zip(strategy).map(|(&child, &part)| f64::from(part) * values[child as usize]).sum()
                }
                (BettingKind::Terminal, end) => end.as_ref().map_or(0.0, won),
            };
        }
        values[0]
    };
    (0..tree.n_players).map(of_seat).collect()
}
