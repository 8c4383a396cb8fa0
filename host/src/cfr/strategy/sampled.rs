//! Two strategies against each other over sampled deals, for games whose deals are too many to walk.

use std::ops::ControlFlow;
use std::time::Instant;

use rayon::prelude::*;
use warpplay_gpu::cfr::beats::{self, MAX_PLAYERS};

use super::Strategy;
use super::measure::{HeadToHead, SampledDeals};
use crate::cfr::dispatch;
use crate::cfr::game::betting::BettingTree;
use crate::cfr::game::dealer::{Cards, Dealer};
use crate::cfr::game::sequences::{ACTIONS, Child, Sequences};
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
/// [`Error::Option`] names `deals`, unless they are at least 2, or the strategies, unless they are of a game of poker with one size of raise at a time; [`Error::Shape`] if
/// the two are not strategies of one game.
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
    let sequences = Sequences::of(&BettingTree::new(rules)?)?;
    let mut dealer = Dealer::new(rules, seed)?;
    let n_players = sequences.n_players;
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
            drawn.par_iter().map(|(cards, words)| values(&sequences, [&a, &b], cards, words)).collect();
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
struct Sum {
    n: f64,
    mean: f64,
    squares: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.n += 1.0;
        let before = value - self.mean;
        self.mean += before / self.n;
        self.squares += before * (value - self.mean);
    }

    fn standard_error(&self) -> f64 {
        (self.squares / (self.n - 1.0) / self.n).sqrt()
    }
}

/// A strategy with tables by hands.
struct ByHands<'a> {
    strategy: std::borrow::Cow<'a, Strategy>,
    buckets: std::sync::Arc<Buckets>,
}

impl Strategy {
    /// The strategy with tables by hands, converted set by set from any other layout.
    fn by_hands(&self) -> Result<ByHands<'_>> {
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
    /// Probabilities of every sequence in a deal: fold, call, raise.
    fn of(&self, sequences: &Sequences, cards: &Cards) -> Vec<[f32; ACTIONS]> {
        let bucket = |seat: usize, round: usize| self.buckets.index(round, cards.holes[seat], cards.boards[round]);
        let buckets: Vec<Vec<Option<usize>>> = (0..sequences.n_players)
            .map(|seat| (0..sequences.n_rounds).map(|round| bucket(seat, round)).collect())
            .collect();
        let of_sequence = |sequence: &crate::cfr::game::sequences::Sequence| {
            let seat = sequence.seat as usize;
            let mut probabilities = [0.0; ACTIONS];
            // Cards that are dealt have a bucket.
            let Some(bucket) = buckets[seat][sequence.round as usize] else { return probabilities };
            let row = self.buckets.row(sequence.node as usize, bucket);
            let table = &self.strategy.probabilities[seat];
            let total: f32 = row.indices().map(|at| table[at]).sum();
            let mut places = row.indices();
            for (probability, child) in probabilities.iter_mut().zip(&sequence.children) {
                // Rows hold the legal actions in this order.
                if child.is_some()
                    && let Some(at) = places.next()
                {
                    *probability = if total > 0.0 { table[at] / total } else { 1.0 / row.n_actions as f32 };
                }
            }
            probabilities
        };
        sequences.sequences.iter().map(of_sequence).collect()
    }
}

/// Winnings of A in a deal when it sits at each seat and B at all others.
fn values(sequences: &Sequences, [a, b]: [&ByHands<'_>; 2], cards: &Cards, words: &[u32]) -> Vec<f64> {
    let [a, b] = [a, b].map(|strategy| strategy.of(sequences, cards));
    let mut values = vec![0.0; sequences.sequences.len()];
    let of_seat = |seat: usize| {
        let won = |end: u32| -> f64 {
            let end = &sequences.ends[end as usize];
            let pots = end.pots.iter().filter(|pot| pot.eligible >> seat & 1 != 0);
            let shares = pots.map(|pot| match beats::winners(words[seat], pot.eligible) {
                0 => 0.0,
                n => pot.chips / f64::from(n),
            });
            shares.sum::<f64>() - end.stakes[seat]
        };
        // Children follow their sequence, so theirs are complete.
        for (at, sequence) in sequences.sequences.iter().enumerate().rev() {
            let strategy = if sequence.seat as usize == seat { &a[at] } else { &b[at] };
            let mut value = 0.0;
            for (child, &probability) in sequence.children.iter().zip(strategy) {
                value += f64::from(probability)
                    * match child {
                        _ if probability == 0.0 => continue,
                        None => continue,
                        Some(Child::End(end)) => won(*end),
                        Some(Child::Sequence(next)) => values[*next as usize],
                    };
            }
            values[at] = value;
        }
        values[0]
    };
    (0..sequences.n_players).map(of_seat).collect()
}
