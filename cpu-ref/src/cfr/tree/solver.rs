//! Counterfactual regret minimisation on a stored tree.

use std::ops::Range;
use std::sync::Arc;

use super::{Node, Profile, Tree};
use crate::cfr::pieces::{add_regrets, match_predicted, match_regrets};
use crate::cfr::{Algorithm, Options, Updates};

/// The complete state of a solve between two iterations. Tables are by seat, with entries in the order of the tree's sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Iterations done.
    pub iteration: u64,
    /// Cumulative regrets.
    pub regrets: Vec<Vec<f64>>,
    /// Weighted sums of the strategies used.
    pub averages: Vec<Vec<f64>>,
    /// Regrets of the last iteration alone, used if the algorithm predicts.
    pub last: Vec<Vec<f64>>,
    /// Sums over the iterations of the expected winnings of the strategies used.
    pub utilities: Vec<f64>,
}

/// A solve in progress.
#[derive(Clone, Debug)]
pub struct Solver<K> {
    tree: Arc<Tree<K>>,
    /// Seats that learn.
    seats: Range<usize>,
    options: Options,
    state: State,
    current: Profile,
}

/// One seat's pass over the tree.
struct Pass<'a, K> {
    tree: &'a Tree<K>,
    seat: usize,
    profile: &'a Profile,
    /// Counterfactual values of the actions, summed over the nodes of their set; the seat's table.
    gains: &'a mut [f64],
    /// The seat's own reach of its sets, by set.
    own_reach: &'a mut [OwnReach],
}

/// A seat's own reach of the nodes of a set: with perfect recall the same for all.
#[derive(Clone, Copy, Default)]
struct OwnReach {
    first: f64,
    sum: f64,
    n_nodes: usize,
    differs: bool,
}

impl OwnReach {
    fn add(&mut self, own: f64) {
        if self.n_nodes == 0 {
            self.first = own;
        }
        self.differs |= own != self.first;
        self.sum += own;
        self.n_nodes += 1;
    }

    /// The mean over `n` nodes, of which those that were not added have none. One that all have is returned as it is, not rounded by a sum.
    fn mean(self, n: usize) -> f64 {
        if self.differs || self.n_nodes < n { self.sum / n as f64 } else { self.first }
    }
}

impl<K> Pass<'_, K> {
    /// Expected winnings of the seat from here on; `own` is its reach, `others` chance's and the other seats'.
    fn value(&mut self, node: u32, own: f64, others: f64) -> f64 {
        if own == 0.0 && others == 0.0 {
            return 0.0; // nothing here is learnt, and everybody above multiplies by 0
        }
        let tree = self.tree;
        match tree.nodes()[node as usize] {
            Node::End(row) => tree.winnings(row)[self.seat],
            Node::Chance { first, n } => {
                let edges = tree.children(first, n as usize).iter().zip(tree.probabilities(first, n as usize));
                edges.map(|(&child, p)| p * self.value(child, own, others * p)).sum()
            }
            Node::Player { set: number, first } => {
                let set = &tree.sets()[number as usize];
                let strategy = self.profile.at(tree, number as usize);
                let edges = tree.children(first, set.n_actions).iter().zip(strategy);
                if set.seat != self.seat {
                    return edges.map(|(&child, p)| p * self.value(child, own, others * p)).sum();
                }
                self.own_reach[number as usize].add(own);
                let mut value = 0.0;
                for (action, (&child, p)) in edges.enumerate() {
                    let of_action = self.value(child, own * p, others);
                    self.gains[set.offset + action] += others * of_action;
                    value += p * of_action;
                }
                value
            }
        }
    }
}

impl<K> Solver<K> {
    /// Starts a solve; all strategies are uniform.
    ///
    /// # Panics
    /// If [`Algorithm::CfrBr`] is used for a game of other than two players.
    pub fn new(tree: Arc<Tree<K>>, options: Options) -> Self {
        let seats = 0..tree.n_players();
        Self::of_seats(tree, options, seats)
    }

    /// A solve in which only `seats` learn. The other seats play what their tables say, at first uniformly; with [`Algorithm::CfrBr`] a best response.
    ///
    /// # Panics
    /// As [`new`](Self::new), and if there are no such seats.
    pub fn of_seats(tree: Arc<Tree<K>>, options: Options, seats: Range<usize>) -> Self {
        let n_players = tree.n_players();
        assert!(seats.end <= n_players, "seats {seats:?} of {n_players}");
        assert!(options.algorithm != Algorithm::CfrBr || n_players == 2, "CFR-BR is for two players");
        let zeros: Vec<Vec<f64>> = (0..n_players).map(|seat| vec![0.0; tree.table_len(seat)]).collect();
        let state = State {
            iteration: 0,
            regrets: zeros.clone(),
            averages: zeros.clone(),
            last: zeros.clone(),
            utilities: vec![0.0; n_players],
        };
        let current = Profile::from_weights(&tree, &zeros);
        Self { tree, seats, options, state, current }
    }

    /// The tree.
    pub fn tree(&self) -> &Arc<Tree<K>> {
        &self.tree
    }

    /// The state of the solve.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Restores `state`, which a solve of the same tree returned; the solve then continues with the same bits as if it had never stopped.
    ///
    /// # Panics
    /// If tables have another size.
    pub fn set_state(&mut self, state: State) {
        for seat in 0..self.tree.n_players() {
            for table in [&state.regrets, &state.averages, &state.last] {
                assert_eq!(table[seat].len(), self.tree.table_len(seat), "table of seat {seat}");
            }
        }
        self.state = state;
        for seat in 0..self.tree.n_players() {
            self.renew(seat);
        }
    }

    /// Runs `n` more iterations.
    pub fn iterate(&mut self, n: u64) {
        for _ in 0..n {
            self.state.iteration += 1;
            for seat in self.seats.clone() {
                self.pass(seat);
                if self.options.updates == Updates::Alternating {
                    self.renew(seat);
                }
            }
            if self.options.updates == Updates::Simultaneous {
                for seat in self.seats.clone() {
                    self.renew(seat);
                }
            }
        }
    }

    /// Updates regrets and averages of one seat from the current strategies.
    fn pass(&mut self, seat: usize) {
        let mut against;
        let profile = if self.options.algorithm == Algorithm::CfrBr {
            against = self.current.clone();
            against.strategies[1 - seat] = self.current.best_response(&self.tree, 1 - seat);
            &against
        } else {
            &self.current
        };
        let gains = &mut self.state.last[seat];
        gains.fill(0.0);
        let mut own_reach = vec![OwnReach::default(); self.tree.sets().len()];
        let mut pass = Pass { tree: &self.tree, seat, profile, gains, own_reach: &mut own_reach };
        self.state.utilities[seat] += pass.value(0, 1.0, 1.0);
        let step = self.options.step(self.state.iteration);
        let sets = self.tree.sets().iter().zip(&own_reach).filter(|(set, _)| set.seat == seat);
        for (set, own_reach) in sets {
            let weight = step.weight * own_reach.mean(set.nodes.len());
            let row = set.offset..set.offset + set.n_actions;
            let strategy = &self.current.strategies[seat][row.clone()];
            let gains = &mut self.state.last[seat][row.clone()];
            let value: f64 = gains.iter().zip(strategy).map(|(of_action, p)| p * of_action).sum();
            gains.iter_mut().for_each(|gain| *gain -= value);
            add_regrets(step, &mut self.state.regrets[seat][row.clone()], gains);
            for (average, p) in self.state.averages[seat][row].iter_mut().zip(strategy) {
                *average += weight * p;
            }
        }
    }

    /// Matches a seat's next strategy from its regrets.
    fn renew(&mut self, seat: usize) {
        for set in self.tree.sets().iter().filter(|set| set.seat == seat) {
            let row = set.offset..set.offset + set.n_actions;
            let (regrets, last) = (&self.state.regrets[seat][row.clone()], &self.state.last[seat][row.clone()]);
            let strategy = &mut self.current.strategies[seat][row];
            if self.options.predicts() {
                match_predicted(regrets, last, strategy);
            } else {
                match_regrets(regrets, strategy);
            }
        }
    }

    /// The strategies from which the next iteration starts.
    pub fn current(&self) -> &Profile {
        &self.current
    }

    /// The average strategies; uniform in sets that were never reached.
    pub fn average(&self) -> Profile {
        Profile::from_weights(&self.tree, &self.state.averages)
    }

    /// Expected winnings by seat if all play the average strategies.
    pub fn values(&self) -> Vec<f64> {
        self.average().values(&self.tree)
    }

    /// Σ over seats of (best response − value) against the average strategies.
    pub fn nash_conv(&self) -> f64 {
        self.average().nash_conv(&self.tree)
    }

    /// Σ of the positive cumulative regrets of all sets.
    pub fn positive_regret(&self) -> f64 {
        self.state.regrets.iter().flatten().map(|regret| regret.max(0.0)).sum()
    }
}
