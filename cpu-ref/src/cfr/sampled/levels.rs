//! The iterative program: level by level under rayon.

use rayon::prelude::*;

use super::{Child, Dealt, MAX_PLAYERS, N_ACTIONS, Sampled, Sequences, learn, others, strategy};

/// Sequences that a thread takes at a time.
const PART: usize = 256;

/// Scratch memory of an iteration, made once and reused.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Reach of every seat, `[sequence][seat]`.
    reach: Vec<f64>,
    /// Strategies of the deal, `[sequence][action]`.
    strategies: Vec<f64>,
    /// Utilities of every seat, `[sequence][seat]`.
    values: Vec<f64>,
}

impl Workspace {
    /// Makes the memory for a game.
    pub fn new(sequences: &Sequences) -> Self {
        let (n, n_players) = (sequences.all.len(), sequences.n_players());
        Self { reach: vec![0.0; n * n_players], strategies: vec![0.0; n * N_ACTIONS], values: vec![0.0; n * n_players] }
    }

    /// Total size in bytes.
    pub fn bytes(&self) -> usize {
        (self.reach.len() + self.strategies.len() + self.values.len()) * size_of::<f64>()
    }
}

/// Cuts a level's part of a table into the parts of its sequences, in order.
fn rows<'a>(sequences: &Sequences, level: std::ops::Range<usize>, table: &'a mut [f64]) -> Vec<&'a mut [f64]> {
    let first = sequences.row(level.start, 0);
    let mut rest = &mut table[first..sequences.row(level.end, 0)];
    level
        .map(|number| {
            let len = sequences.row(number + 1, 0) - sequences.row(number, 0);
            rest.split_off_mut(..len).unwrap_or_default()
        })
        .collect()
}

impl Sampled {
    /// One iteration on a deal, in the caller's thread pool if there is one, else on all cores.
    pub fn by_levels(&mut self, dealt: &Dealt, workspace: &mut Workspace) {
        let sequences = self.sequences.clone();
        for level in 0..sequences.n_levels() {
            self.down(&sequences, level, dealt, workspace);
        }
        for level in (0..sequences.n_levels()).rev() {
            self.up(&sequences, level, dealt, workspace);
        }
        self.utilities.iter_mut().zip(&workspace.values).for_each(|(sum, value)| *sum += value);
    }

    /// Strategies and reach of a level, from those of the level before.
    fn down(&self, sequences: &Sequences, level: usize, dealt: &Dealt, workspace: &mut Workspace) {
        let n_players = sequences.n_players();
        let (from, to) = (sequences.levels[level], sequences.levels[level + 1]);
        let (reach_above, reach) = workspace.reach.split_at_mut(from * n_players);
        let (above, strategies) = workspace.strategies.split_at_mut(from * N_ACTIONS);
        let parts = reach[..(to - from) * n_players]
            .par_chunks_mut(PART * n_players)
            .zip(strategies[..(to - from) * N_ACTIONS].par_chunks_mut(PART * N_ACTIONS));
        parts.enumerate().for_each(|(part, (reach, strategies))| {
            let each = reach.chunks_exact_mut(n_players).zip(strategies.chunks_exact_mut(N_ACTIONS));
            for (at, (reach, of_node)) in each.enumerate() {
                let number = from + part * PART + at;
                let sequence = &sequences.all[number];
                match sequence.parent {
                    None => reach.fill(1.0),
                    Some((parent, action)) => {
                        let parent = parent as usize;
                        reach.copy_from_slice(&reach_above[parent * n_players..(parent + 1) * n_players]);
                        reach[sequences.all[parent].seat] *= above[parent * N_ACTIONS + usize::from(action)];
                    }
                }
                let row = sequences.row(number, dealt.buckets[sequence.round][sequence.seat]);
                of_node.copy_from_slice(&strategy(&sequence.children, &self.regrets[row..row + N_ACTIONS]));
            }
        });
    }

    /// Utilities and regrets of a level, from the utilities of the level below.
    fn up(&mut self, sequences: &Sequences, level: usize, dealt: &Dealt, workspace: &mut Workspace) {
        let n_players = sequences.n_players();
        let (from, to) = (sequences.levels[level], sequences.levels[level + 1]);
        let (values, below) = workspace.values.split_at_mut(to * n_players);
        let (reach, strategies) = (&workspace.reach, &workspace.strategies);
        let regrets = rows(sequences, from..to, &mut self.regrets);
        let averages = rows(sequences, from..to, &mut self.averages);
        let each = values[from * n_players..].par_chunks_mut(n_players).zip(regrets).zip(averages).with_min_len(PART);
        each.enumerate().for_each(|(at, ((values, regrets), averages))| {
            let number = from + at;
            let sequence = &sequences.all[number];
            let reach = &reach[number * n_players..(number + 1) * n_players];
            let mut strategy = [0.0; N_ACTIONS];
            strategy.copy_from_slice(&strategies[number * N_ACTIONS..(number + 1) * N_ACTIONS]);
            let (mut of_actions, mut won) = ([0.0; N_ACTIONS], [0.0; MAX_PLAYERS]);
            values.fill(0.0);
            for action in 0..N_ACTIONS {
                let after = match sequence.children[action] {
                    None => continue,
                    Some(Child::Sequence(child)) => &below[(child as usize - to) * n_players..][..n_players],
                    Some(Child::Ending(ending)) => {
                        sequences.endings.payoffs(ending as usize, &dealt.strengths, &mut won[..n_players]);
                        &won[..n_players]
                    }
                };
                of_actions[action] = after[sequence.seat];
                values.iter_mut().zip(after).for_each(|(value, after)| *value += strategy[action] * after);
            }
            let weights = (values[sequence.seat], reach[sequence.seat], others(reach, sequence.seat));
            let row = dealt.buckets[sequence.round][sequence.seat] * N_ACTIONS;
            let row = row..row + N_ACTIONS;
            let (regrets, averages) = (&mut regrets[row.clone()], &mut averages[row]);
            learn(&sequence.children, &strategy, &of_actions, weights, regrets, averages);
        });
    }
}
