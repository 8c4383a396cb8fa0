//! Strengths of all classes of a round, on any device.

use warpplay_cpu_ref::cfr::abstraction as plain;
use warpplay_gpu::cfr::abstraction::cluster::UNIT;

use super::kernels::{Kernels, Table};
use super::{Classes, Recipe};
use crate::cfr::game::cards::{CardSet, choose, subsets};
use crate::cfr::game::deal::Lcg;
use crate::cfr::game::game_file::GameDef;
use crate::cfr::game::ranking::Ranking;
use crate::{Backend, Device, Error, Result};

/// Most run-outs that are listed.
const MOST_RUNOUTS: u64 = 1 << 25;
/// Maximum number of bytes of results of one launch, unless one board has more.
const BATCH_BYTES: usize = 256 << 20;

/// Strengths of each class over its run-outs.
pub(super) struct Strengths {
    /// Sum of values over run-outs, by class.
    sums: Vec<u64>,
    /// Run-outs by value, `[class, bin]`.
    histograms: Vec<u32>,
    most: u32,
    n_bins: usize,
}

/// Computes the strengths of a round's classes.
///
/// # Errors
/// [`Error::Option`] if there are too many run-outs to list them, or so few are drawn that a class has none; errors of the device.
pub(super) fn strengths(
    device: &Device,
    rules: &GameDef,
    round: usize,
    classes: &Classes,
    recipe: &Recipe,
    bins: u32,
) -> Result<Strengths> {
    let deck = rules.deck;
    let n_board = rules.board_cards_by(round);
    let whole_board = rules.board_cards_by(rules.n_rounds - 1);
    let hands: Vec<CardSet> = subsets(deck.all(), rules.n_hole_cards).collect();
    let left = deck.n_cards() - n_board as u32;
    let runouts = runouts(left, whole_board - n_board, recipe)?;
    let opponents = choose(deck.n_cards() - (whole_board + rules.n_hole_cards) as u32, rules.n_hole_cards as u32);
    let table = Table { deck, hands: &hands, runouts: &runouts, most: 2 * opponents as u32, n_bins: bins };
    let n_bins = bins as usize;
    let mut result = Strengths {
        sums: Vec::with_capacity(classes.len()),
        histograms: Vec::with_capacity(classes.len() * n_bins),
        most: table.most,
        n_bins,
    };
    let kernels = match device.backend() {
        Backend::Cpu => None,
        _ => Some((device.stream()?, Kernels::load(device)?)),
    };
    let ranking = Ranking::new(deck);
    let batch = (BATCH_BYTES / (hands.len() * (4 * n_bins + 8))).max(1);
    for (number, boards) in classes.boards().chunks(batch).enumerate() {
        let (sums, histograms) = match &kernels {
            Some((stream, kernels)) => kernels.strengths(stream, &table, boards)?,
            None => {
                let deal =
                    plain::Deal { deck: deck.all(), hands: &hands, runouts: &runouts, most: table.most, n_bins: bins };
                plain::strengths(&deal, boards, |cards| ranking.strength(cards))
            }
        };
        for board in 0..boards.len() {
            for &hole in classes.on_board(number * batch + board).1 {
                let row = board * hands.len() + usize::from(hole);
                result.sums.push(sums[row]);
                result.histograms.extend(&histograms[row * n_bins..(row + 1) * n_bins]);
            }
        }
    }
    if result.counts().any(|count| count == 0) {
        return Err(Error::option("runouts", runouts.len(), "more, or all: every run-out drawn blocks some hand"));
    }
    Ok(result)
}

/// Checks that the run-outs of `missing` of `left` cards can be listed.
///
/// # Errors
/// [`Error::Option`] if there are too many.
pub(super) fn check_runouts(left: u32, missing: usize) -> Result<()> {
    let all = choose(left, missing as u32);
    if all > MOST_RUNOUTS {
        return Err(Error::option(
            "abstraction",
            format!("{all} run-outs"),
            format!("at most {MOST_RUNOUTS}: use fewer board cards"),
        ));
    }
    Ok(())
}

/// The run-outs of `missing` cards, numbered among the `left` cards: all of them, or a sample without replacement.
fn runouts(left: u32, missing: usize, recipe: &Recipe) -> Result<Vec<u64>> {
    check_runouts(left, missing)?;
    let mut runouts: Vec<u64> = subsets((1 << left) - 1, missing).collect();
    if let Some(n) = recipe.runouts.map(|n| n as usize).filter(|&n| n < runouts.len()) {
        let mut lcg = Lcg(recipe.seed);
        for i in 0..n {
            let other = i + lcg.next_u31() as usize % (runouts.len() - i);
            runouts.swap(i, other);
        }
        runouts.truncate(n);
    }
    Ok(runouts)
}

impl Strengths {
    /// Number of run-outs of each class.
    fn counts(&self) -> impl Iterator<Item = u64> {
        self.histograms.chunks_exact(self.n_bins).map(|bins| bins.iter().map(|&n| u64::from(n)).sum())
    }

    /// Expected strength of each class, 0 to 1.
    pub fn expected(&self) -> Vec<f64> {
        let mean = |(&sum, count): (&u64, u64)| sum as f64 / (count as f64 * f64::from(self.most));
        self.sums.iter().zip(self.counts()).map(mean).collect()
    }

    /// Cumulative histograms `[bin, class]` of mass [`UNIT`].
    pub fn cumulative(&self) -> Vec<u32> {
        let n = self.sums.len();
        let mut points = vec![0; n * self.n_bins];
        for ((class, bins), count) in self.histograms.chunks_exact(self.n_bins).enumerate().zip(self.counts()) {
            let mut below = 0;
            for (bin, &runouts) in bins.iter().enumerate() {
                below += u64::from(runouts);
                points[bin * n + class] = (below * u64::from(UNIT) / count) as u32;
            }
        }
        points
    }
}
