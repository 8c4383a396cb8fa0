//! Means over sampled deals.

use std::ops::ControlFlow;
use std::time::Instant;

use rayon::prelude::*;

use super::measure::SampledDeals;
use crate::cfr::game::dealer::{Cards, Dealer};
use crate::cfr::game::game_file::GameDef;
use crate::{Error, Progress, Result};

/// Number of deals drawn at a time; their values are added in order, regardless of the threads that computed them. More than one, since one deal has no error.
const PART: u64 = 16;

/// Means over deals, with their standard errors.
pub(super) struct Means {
    /// Of the values of each seat.
    pub values: Vec<f64>,
    /// Of the mean over the seats.
    pub value: f64,
    pub sampled: SampledDeals,
}

/// The means over `deals` deals from `seed` of what `play(dealer, number, cards)` gives for each seat, computed in parallel.
///
/// `watch` is called every few deals; if it returns `Break`, the means are those of the deals so far.
///
/// # Errors
/// [`Error::Option`] names `deals`, unless they are at least 2; as [`Dealer::new`].
pub(super) fn over_deals(
    rules: &GameDef,
    deals: u64,
    seed: u64,
    mut watch: impl FnMut(&Progress) -> ControlFlow<()>,
    play: impl Fn(&Dealer, u64, &Cards) -> Vec<f64> + Sync,
) -> Result<Means> {
    if deals < 2 {
        return Err(Error::option("deals", deals, "at least 2, to estimate the error"));
    }
    let mut dealer = Dealer::new(rules, seed)?;
    let (mut of_seats, mut of_all) = (vec![Sum::default(); rules.n_players], Sum::default());
    let (began, mut done) = (Instant::now(), 0);
    while done < deals {
        let drawn: Vec<(u64, Cards)> = (done..deals.min(done + PART)).map(|number| (number, dealer.next())).collect();
        done += drawn.len() as u64;
        let values: Vec<Vec<f64>> = drawn.par_iter().map(|(number, cards)| play(&dealer, *number, cards)).collect();
        for of_deal in values {
            of_all.add(of_deal.iter().sum::<f64>() / of_deal.len() as f64);
            of_deal.into_iter().zip(&mut of_seats).for_each(|(value, sum)| sum.add(value));
        }
        let progress =
            Progress { steps: done, n_steps: Some(deals), elapsed: began.elapsed(), time_limit: None, latest: None };
        if watch(&progress).is_break() {
            break;
        }
    }
    Ok(Means {
        values: of_seats.iter().map(|sum| sum.mean).collect(),
        value: of_all.mean,
        sampled: SampledDeals {
            deals: done,
            seed,
            standard_errors: of_seats.iter().map(Sum::standard_error).collect(),
            standard_error: of_all.standard_error(),
        },
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
