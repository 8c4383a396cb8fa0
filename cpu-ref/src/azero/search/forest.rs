//! Many trees side by side, whose leaves are evaluated together.

use rayon::prelude::*;

use super::evaluate::Batch;
use super::tree::{Found, Leaf, Tree};
use super::{Params, Task};
use crate::mcts::Game;

/// A set of trees, each of one position.
pub struct Forest<G> {
    params: Params,
    trees: Vec<Tree<G>>,
    /// Whether the roots have yet to be evaluated.
    fresh: bool,
}

impl<G: Game> Forest<G> {
    /// A tree for each task; all roots wait for their evaluation.
    pub fn new(params: Params, tasks: Vec<Task<G>>) -> Self {
        Self { params, trees: tasks.into_iter().map(Tree::new).collect(), fresh: true }
    }

    /// The leaves that wait for their evaluations, tree after tree.
    pub fn leaves(&self) -> Vec<Leaf<'_, G>> {
        self.trees.iter().flat_map(Tree::leaves).collect()
    }

    /// Takes the evaluations of [`leaves`](Self::leaves), and selects the next ones.
    pub fn receive(&mut self, batch: &Batch) {
        let counts: Vec<usize> = self.trees.iter().map(|tree| tree.leaves().count()).collect();
        let n: usize = counts.iter().sum();
        let n_actions = batch.logits.len().checked_div(n).unwrap_or(0);
        let starts = counts.iter().scan(0, |start, count| {
            let this = *start;
            *start += count;
            Some(this)
        });
        let starts: Vec<usize> = starts.collect();
        let (params, fresh) = (&self.params, self.fresh);
        self.trees.par_iter_mut().zip(&starts).zip(&counts).for_each(|((tree, &start), &count)| {
            let rows = (start..start + count).map(|row| {
                let logits = (n_actions > 0).then(|| &batch.logits[row * n_actions..(row + 1) * n_actions]);
                (batch.values[row], logits)
            });
            tree.receive(params, rows);
            if let (true, Some(noise)) = (fresh, params.noise) {
                tree.add_noise(noise);
            }
            tree.select(params);
        });
        self.fresh = false;
    }

    /// Whether every tree has had all its simulations.
    pub fn is_done(&self) -> bool {
        self.trees.iter().all(Tree::is_done)
    }

    /// The result of each search, once all are done.
    pub fn found(&self) -> Vec<Found> {
        self.trees.par_iter().map(Tree::found).collect()
    }
}

/// Searches all tasks. `evaluate` is called with all leaves of a step at once.
///
/// # Errors
/// What `evaluate` returns.
pub fn search<G: Game, E>(
    params: Params,
    tasks: Vec<Task<G>>,
    mut evaluate: impl FnMut(&[Leaf<'_, G>]) -> Result<Batch, E>,
) -> Result<Vec<Found>, E> {
    let mut forest = Forest::new(params, tasks);
    while !forest.is_done() {
        let batch = evaluate(&forest.leaves())?;
        forest.receive(&batch);
    }
    Ok(forest.found())
}
