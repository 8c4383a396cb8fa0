//! One step of all trees under rayon.
//!
//! ```text
//! in parallel over trees                      select, expand
//! in parallel over (tree, child, some lanes)  playouts
//! in parallel over trees                      backup
//! ```
//!
//! The middle part is one flat list of jobs, so that all cores have work whether there are many trees or one. Every lane has a random
//! stream of its own and results are whole numbers that are added: the statistics do not depend on the number of threads.

use std::mem;

use rayon::prelude::*;

use super::game::Game;
use super::params::Params;
use super::rng::Stream;
use super::seq::{Target, action_of, backup, expand, known_result, lanes_of, playouts, select};
use super::times::{Clock, StageTimes};
use super::tree::{Tally, Tree};

/// Number of jobs per thread: enough for rayon to balance playouts of different lengths.
const JOBS_PER_THREAD: usize = 16;

/// Minimum number of lanes of a job; with fewer, scheduling would cost more than playing.
const MIN_LANES: usize = 8;

/// Playouts from one node with a range of lanes.
struct Job<'a, G> {
    position: &'a G,
    action: Option<usize>,
    lanes: &'a mut [Stream],
    /// Index of the tally to which the results belong.
    tally: usize,
}

/// One step of every tree.
///
/// * `lanes`: the playout streams of all trees, `[n_trees, lanes_per_tree]`.
/// * `expansions`: `[n_trees]`.
/// * returns the number of moves made in the playouts.
pub(super) fn step<G: Game>(
    trees: &mut [Tree],
    root: &G,
    params: &Params,
    lanes: &mut [Stream],
    lanes_per_tree: usize,
    expansions: &mut [Stream],
    times: &mut StageTimes,
) -> u64 {
    let mut clock = Clock::start();
    let positions: Vec<G> = trees.par_iter_mut().map(|tree| select(tree, root, params)).collect();
    clock.lap(&mut times.select);
    let leaves: Vec<(G, Target)> = trees
        .par_iter_mut()
        .zip(positions)
        .zip(expansions)
        .map(|((tree, position), expansion)| {
            let target = expand(tree, &position, params, expansion);
            (position, target)
        })
        .collect();
    clock.lap(&mut times.expand);

    // One tally for each node played out; `first_tally[t]` is where those of tree t begin.
    let mut first_tally = Vec::with_capacity(trees.len());
    let mut n_tallies = 0;
    for (_, target) in &leaves {
        first_tally.push(n_tallies);
        n_tallies += target.nodes().len();
    }
    let mut tallies = vec![Tally::default(); n_tallies];

    let wanted = rayon::current_num_threads() * JOBS_PER_THREAD;
    let lanes_per_job = (n_tallies * params.n_playouts / wanted).max(MIN_LANES);
    let mut jobs = Vec::new();
    let mut unclaimed = lanes;
    for ((tree, (position, target)), &first) in trees.iter().zip(&leaves).zip(&first_tally) {
        let mut own = split_off(&mut unclaimed, lanes_per_tree);
        let mut passed = 0;
        // Nodes stand in ascending order of their actions, and so do their lanes.
        for (node, tally) in target.nodes().zip(first..) {
            if let Some(copies) = known_result(tree, node, params) {
                tallies[tally] = copies;
                continue;
            }
            let range = lanes_of(tree, *target, node, params);
            split_off(&mut own, range.start - passed);
            passed = range.end;
            let action = action_of(tree, *target, node);
            let lanes = split_off(&mut own, range.len());
            jobs.extend(lanes.chunks_mut(lanes_per_job).map(|lanes| Job { position, action, lanes, tally }));
        }
    }

    let parts: Vec<Tally> = jobs.par_iter_mut().map(|job| playouts(job.position, job.action, job.lanes)).collect();
    for (job, part) in jobs.iter().zip(&parts) {
        tallies[job.tally].merge(part);
    }

    clock.lap(&mut times.playout);
    let plies = trees
        .par_iter_mut()
        .zip(&leaves)
        .zip(&first_tally)
        .map(|((tree, (_, target)), &first)| backup(tree, *target, &tallies[first..first + target.nodes().len()]))
        .sum();
    clock.lap(&mut times.backup);
    plies
}

/// Splits the first `n` elements off `rest`.
fn split_off<'a>(rest: &mut &'a mut [Stream], n: usize) -> &'a mut [Stream] {
    let (first, others) = mem::take(rest).split_at_mut(n);
    *rest = others;
    first
}
