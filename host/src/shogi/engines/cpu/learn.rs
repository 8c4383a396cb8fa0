//! The engine on the CPU: the plain program on one thread, or the one that looks only at differences on many.

use std::borrow::Cow;
use std::sync::atomic::AtomicI64;

use rayon::prelude::*;
use warpplay_cpu_ref::shogi::sparse as reference;
use warpplay_gpu::shogi::sparse::exchange::ROW;

use crate::runtime::threads::Threads;
use crate::shogi::engines::learn::{Learn, check_memory, check_rows, on_the_host, too_large};
use crate::shogi::evaluator::check_weights;
use crate::shogi::features::FeatureSet;
use crate::shogi::loss::{Loss, Totals};
use crate::shogi::options::SparseOptions;
use crate::shogi::selection::{ColumnCheck, Selection};
use crate::shogi::shard::Shard;
use crate::shogi::update::{MOST, Optimizer, Update};
use crate::{Error, Result};

/// Weights, gradient and optimiser memory on the host.
pub(in crate::shogi) struct CpuEngine {
    features: FeatureSet,
    weights: Vec<f32>,
    gradient: Vec<i64>,
    memory: Vec<Vec<f32>>,
    /// Whether the plain program was selected.
    plain: bool,
    threads: Threads,
}

impl CpuEngine {
    /// Allocates the memory: 12 bytes per weight.
    pub fn new(features: FeatureSet, options: &SparseOptions) -> Result<Self> {
        let threads = Threads::pooled(options.threads)?;
        let (weights, gradient) = (vec![0.0; features.len()], vec![0; features.len()]);
        Ok(Self { features, weights, gradient, memory: Vec::new(), plain: options.threads == Some(1), threads })
    }

    /// Runs on the engine's threads.
    fn within<R: Send>(&mut self, run: impl FnOnce(&mut Parts<'_>) -> R + Send) -> R {
        let Self { weights, gradient, memory, plain, threads, .. } = self;
        let mut parts = Parts { weights, gradient, memory, plain: *plain };
        threads.run(|| run(&mut parts))
    }

    /// Refuses weights that have become too large for exact sums.
    fn check_sizes(&mut self, what: &'static str, value: f32) -> Result<()> {
        let fits = |weight: &f32| weight.abs() < MOST;
        let fit = self.within(|parts| match parts.plain {
            true => parts.weights.iter().all(fits),
            false => parts.weights.par_iter().all(fits),
        });
        if fit { Ok(()) } else { Err(too_large(what, value)) }
    }
}

/// The data of computations.
struct Parts<'a> {
    weights: &'a mut Vec<f32>,
    gradient: &'a mut Vec<i64>,
    memory: &'a mut Vec<Vec<f32>>,
    plain: bool,
}

const fn set(features: FeatureSet) -> reference::Set {
    match features {
        FeatureSet::Material => reference::Set::Material,
        FeatureSet::MaterialHand => reference::Set::MaterialHand,
        FeatureSet::PieceSquare => reference::Set::PieceSquare,
        FeatureSet::KingPiece => reference::Set::KingPiece,
        FeatureSet::KingKingPiece => reference::Set::KingKingPiece,
        FeatureSet::KingPiecePiece => reference::Set::KingPiecePiece,
    }
}

fn step(update: &Update) -> Result<reference::Update> {
    let optimizer = match update.optimizer {
        Optimizer::Sign => reference::Optimizer::Sign,
        Optimizer::Gd => reference::Optimizer::Gd,
        Optimizer::Momentum => reference::Optimizer::Momentum,
        Optimizer::AdaGrad => reference::Optimizer::AdaGrad,
        Optimizer::Adam => reference::Optimizer::Adam,
        Optimizer::Lbfgs => return Err(on_the_host()),
    };
    let Update { step, learning_rate: rate, l1, l2, beta1, beta2, epsilon, .. } = *update;
    Ok(reference::Update { optimizer, step, rate, l1, l2, beta1, beta2, epsilon })
}

/// The columns as the reference reads them.
fn columns(shard: &Shard) -> reference::Columns<'_> {
    reference::Columns {
        pieces: &shard.pieces,
        sides: &shard.sides,
        plies: &shard.plies,
        games: &shard.games,
        first_child: &shard.first_child,
        played: &shard.played,
        first_change: &shard.first_change,
        changes: &shard.changes,
    }
}

impl Learn for CpuEngine {
    fn features(&self) -> FeatureSet {
        self.features
    }

    fn weights(&self) -> Result<Vec<f32>> {
        Ok(self.weights.clone())
    }

    fn values(&self) -> Result<Vec<f32>> {
        Ok(self.weights.iter().take(self.features.n_values()).copied().collect())
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        check_weights(self.features, weights)?;
        self.weights = weights.iter().map(|&weight| reference::rounded(weight)).collect();
        Ok(())
    }

    fn pass(&mut self, parts: &[Selection<'_>], check: ColumnCheck, loss: &Loss, gradient: bool) -> Result<Totals> {
        loss.check()?;
        let shards =
            self.within(|_| parts.iter().map(|part| part.shard_of(check)).collect::<Result<Vec<Cow<'_, Shard>>>>())?;
        let set = set(self.features);
        let loss = reference::Loss { a: loss.a, window: loss.window, siblings: loss.siblings, seed: loss.seed };
        let totals = self.within(|parts| {
            let mut totals = reference::Totals::default();
            if gradient {
                parts.gradient.fill(0);
            }
            // An empty shard may be without its columns' last index.
            let columns = shards.iter().filter(|shard| shard.n_parents() > 0).map(|shard| columns(shard));
            if parts.plain {
                for columns in columns {
                    let gradient = gradient.then_some(parts.gradient.as_mut_slice());
                    totals += reference::pass(set, parts.weights, &columns, &loss, gradient);
                }
            } else {
                // The same memory, seen as atomic numbers for the while.
                let sums: Vec<AtomicI64> = std::mem::take(parts.gradient).into_iter().map(AtomicI64::new).collect();
                for columns in columns {
                    let gradient = gradient.then_some(sums.as_slice());
                    totals += reference::par::pass(set, parts.weights, &columns, &loss, gradient);
                }
                *parts.gradient = sums.into_iter().map(AtomicI64::into_inner).collect();
            }
            totals
        });
        let reference::Totals { loss, children, parents, first, first_three } = totals;
        Ok(Totals { loss, children, parents, first, first_three })
    }

    fn gradient(&self) -> Result<Vec<i64>> {
        Ok(self.gradient.clone())
    }

    fn set_gradient(&mut self, gradient: &[i64]) -> Result<()> {
        if gradient.len() != self.gradient.len() {
            return Err(Error::shape(format!("gradient of {}", self.features), self.gradient.len(), gradient.len()));
        }
        self.gradient.copy_from_slice(gradient);
        Ok(())
    }

    fn touched(&mut self) -> Result<Vec<u32>> {
        Ok(self.within(|parts| {
            let rows = parts.gradient.par_chunks(ROW as usize).enumerate();
            let touched = rows.filter(|(_, row)| row.iter().any(|&number| number != 0));
            touched.map(|(number, _)| number as u32).collect()
        }))
    }

    fn rows(&mut self, rows: &[u32]) -> Result<Vec<i64>> {
        check_rows(self.features, rows, rows.len() * ROW as usize)?;
        let at = |row: &u32| (row * ROW) as usize..((row + 1) * ROW) as usize;
        let value = |at: usize| self.gradient.get(at).copied().unwrap_or(0);
        Ok(rows.iter().flat_map(at).map(value).collect())
    }

    fn set_rows(&mut self, rows: &[u32], values: &[i64]) -> Result<()> {
        check_rows(self.features, rows, values.len())?;
        for (&row, values) in rows.iter().zip(values.chunks_exact(ROW as usize)) {
            let slots = self.gradient.iter_mut().skip((row * ROW) as usize);
            for (slot, &value) in slots.zip(values) {
                *slot = value;
            }
        }
        Ok(())
    }

    fn update(&mut self, update: &Update, children: u64) -> Result<()> {
        update.check()?;
        let step = step(update)?;
        if children == 0 {
            return Err(Error::option("children", children, "from 1"));
        }
        let n_memory = step.optimizer.n_memory();
        if self.memory.len() != n_memory {
            self.memory = vec![vec![0.0; self.features.len()]; n_memory];
        }
        self.within(|parts| {
            if parts.plain {
                reference::update(&step, parts.weights, parts.gradient, children, parts.memory);
            } else {
                reference::par_update(&step, parts.weights, parts.gradient, children, parts.memory);
            }
        });
        self.check_sizes("learning_rate", update.learning_rate)
    }

    fn scale(&mut self, factor: f32) -> Result<()> {
        if !factor.is_finite() {
            return Err(Error::option("factor", factor, "a finite number"));
        }
        self.within(|parts| {
            if parts.plain {
                reference::scale(parts.weights, factor);
            } else {
                reference::par_scale(parts.weights, factor);
            }
        });
        self.check_sizes("factor", factor)
    }

    fn memory(&self) -> Result<Vec<Vec<f32>>> {
        Ok(self.memory.clone())
    }

    fn set_memory(&mut self, memory: &[Vec<f32>]) -> Result<()> {
        check_memory(self.features, memory)?;
        self.memory = memory.to_vec();
        Ok(())
    }
}
