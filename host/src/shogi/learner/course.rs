//! What a learner is made of, and the sums that all ranks add up.

use std::borrow::Cow;

use rayon::prelude::*;

use super::batch::Batches;
use super::exchange::{self, Exchange};
use super::lbfgs::{Point, Steps};
use super::options::{Engine, Options};
use super::report::LearnRow;
use crate::runtime::keep::Keep;
use crate::shogi::bound;
use crate::shogi::engines::learn::Learn;
use crate::shogi::loss::{Loss, Totals};
use crate::shogi::ranks::{Ranks, agree, sum_wide};
use crate::shogi::selection::{ColumnCheck, Selection};
use crate::shogi::shard::Shard;
use crate::{Device, Error, Memory, Result};

const ONE: f64 = warpplay_gpu::shogi::fixed::ONE;

/// The parts of a learner.
pub(super) struct Course<'a> {
    pub engine: Box<dyn Learn>,
    /// Its name.
    pub which: Engine,
    /// Memory that was requested.
    pub memory: Memory,
    pub device: Device,
    pub options: Options,
    pub ranks: &'a dyn Ranks,
    /// This rank's share.
    pub train: Vec<Cow<'a, Shard>>,
    pub held_out: Vec<Cow<'a, Shard>>,
    /// The positions of each step, with mini-batches.
    pub batches: Option<Batches<'a>>,
    /// Statistics of the exchange between ranks.
    pub exchange: Exchange,
    /// Whether any rank has held-out positions.
    pub has_held_out: bool,
    pub fingerprint: u64,
    /// File and interval of checkpoints.
    pub keep: Keep,
    pub status: Status,
}

/// The state of the course.
#[derive(Clone, Debug, Default)]
pub(super) struct Status {
    /// Steps done.
    pub iteration: u32,
    /// One row per step, and that of the present state once it has been evaluated.
    pub rows: Vec<LearnRow>,
    /// State of L-BFGS.
    pub memory: Steps,
    /// The lowest objective on held-out positions.
    pub best: Option<Best>,
    /// The initial sum of the 13 values.
    pub scale: f64,
    /// The weights with which the present quiet lines were searched.
    pub leaf_weights: Option<Vec<f32>>,
}

impl Status {
    /// The iteration with the lowest objective on held-out positions, and that objective. Early stopping may begin after a checkpoint, and must not forget the
    /// states before it.
    pub fn lowest(&self) -> Option<(u32, f64)> {
        match &self.best {
            Some(best) => Some((best.iteration, best.j)),
            None => {
                let rows = self.rows.iter().filter_map(|row| Some((row.iteration, row.held_out?.j)));
                rows.min_by(|(_, one), (_, other)| one.total_cmp(other))
            }
        }
    }
}

/// The state that was best on held-out positions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Best {
    pub iteration: u32,
    pub j: f64,
    pub weights: Vec<f32>,
}

impl Course<'_> {
    /// Sums over the positions of all ranks with the present weights; with `gradient`, the engine then also holds the summed gradient.
    pub fn totals(
        &mut self,
        parts: &[Selection<'_>],
        check: ColumnCheck,
        loss: &Loss,
        gradient: bool,
    ) -> Result<Totals> {
        let totals = agree(self.ranks, self.engine.pass(parts, check, loss, gradient))?;
        let totals = self.sum_of_ranks(totals)?;
        if gradient {
            agree(self.ranks, bound::check(&totals, loss.a, parts))?;
            if self.ranks.size() > 1 {
                exchange::sum(self.ranks, &mut *self.engine, &mut self.exchange)?;
            }
        }
        Ok(totals)
    }

    fn sum_of_ranks(&self, totals: Totals) -> Result<Totals> {
        if self.ranks.size() == 1 {
            return Ok(totals);
        }
        let Totals { loss, children, parents, first, first_three } = totals;
        let mut sums = [loss, children.into(), parents.into(), first, first_three];
        sum_wide(self.ranks, &mut sums)?;
        let [loss, children, parents, first, first_three] = sums;
        Ok(Totals { loss, children: children as u64, parents: parents as u64, first, first_three })
    }

    /// The present weights with the objective, including the penalty, and its gradient.
    pub fn point(&self, totals: &Totals) -> Result<Point> {
        let weights = agree(self.ranks, self.engine.weights())?;
        let sums = agree(self.ranks, self.engine.gradient())?;
        let (l2, children) = (self.options.l2, totals.children.max(1) as f64);
        let mut gradient: Vec<f64> = sums
            .par_iter()
            .zip(&weights)
            .map(|(&sum, &weight)| sum as f64 / ONE / children + l2 * f64::from(weight))
            .collect();
        // The pawn's value is fixed.
        if let Some(pawn) = gradient.first_mut() {
            *pawn = 0.0;
        }
        let mut value = if totals.children == 0 { 0.0 } else { totals.j() };
        if l2 > 0.0 {
            let squares = weights.iter().skip(1).map(|&weight| f64::from(weight) * f64::from(weight));
            value += 0.5 * l2 * squares.sum::<f64>();
        }
        Ok(Point { weights, value, gradient, totals: *totals })
    }

    /// Scales the weights so that the 13 values have their initial sum.
    pub fn rescale(&mut self) -> Result<()> {
        let values = self.engine.values()?;
        let learnt: f64 = values.iter().skip(1).take(12).map(|&weight| f64::from(weight)).sum();
        let factor = (self.status.scale - 1.0) / learnt;
        if !(factor.is_finite() && factor > 0.0) {
            let allowed =
                format!("values with a positive sum; they sum to {learnt}, at first to {}", self.status.scale - 1.0);
            return Err(Error::option("keep_scale", true, allowed));
        }
        self.engine.scale(factor as f32)
    }
}
