//! What comes out of a spot.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::file::Spot;
use crate::cfr::engines::cpu::{Evaluator, Play};
use crate::cfr::game::betting::BettingTree;
use crate::cfr::layout::{Node, Values, VectorGame};
use crate::cfr::options::{Engine, Options};

/// A solved spot. The field names are those of the reference file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpotReport {
    /// Hands of each seat that the board leaves possible.
    pub hands: [usize; 2],
    /// Exploitability of the average strategies in chips, with `icm` in prizes (half the sum of both players' possible gains), by iteration.
    pub trajectory: BTreeMap<u64, f64>,
    /// Expected share of the pot, net of later bets, by seat. They add up to the pot less the rake. With `icm`: the prize beyond `icm_base`.
    pub ev: [f64; 2],
    /// With `icm`: the prize that each seat expects if it gives up the pot at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icm_base: Option<[f64; 2]>,
    /// Share of the pot that each seat's range wins if everybody checks to the end.
    pub equity: [f64; 2],
    /// Each hand of seats 0 and 1.
    pub by_hand: [Vec<HandReport>; 2],
    /// The actions at each node of the first street, in the order of the probabilities: by history, as `cr50`.
    pub actions: BTreeMap<String, Vec<String>>,
    /// Iterations done.
    pub iterations: u64,
    /// Seconds of the iterations, without measuring.
    pub seconds: f64,
    /// The device that solved it, as `cuda:0`.
    pub device: String,
    /// The engine that solved it.
    #[serde(default = "unknown")]
    pub engine: Engine,
    /// Seed of sampling.
    #[serde(default)]
    pub seed: u64,
    /// The options.
    #[serde(default)]
    pub options: Options,
}

/// The engine of a report of version 0.1, which lacks it.
fn unknown() -> Engine {
    Engine::Auto
}

impl fmt::Display for SpotReport {
    /// Prints a line for each seat, a line for each measurement, then the work done and its time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hands, ev, equity, iterations, seconds, device, engine, seed, options, .. } = self;
        for seat in 0..2 {
            writeln!(f, "seat {seat}: {} hands, ev {:.4}, equity {:.4}", hands[seat], ev[seat], equity[seat])?;
        }
        for (iteration, chips) in &self.trajectory {
            let unit = if self.icm_base.is_some() { "prize units" } else { "chips" };
            writeln!(f, "exploitability after {iteration}: {chips:.6} {unit}")?;
        }
        let algorithm = options.algorithm;
        write!(
            f,
            "spot: {iterations} iterations of {algorithm} by engine {engine} on {device}, seed {seed}, in {seconds:.3} s"
        )
    }
}

/// A hand in a solved spot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandReport {
    /// Its cards, as `AhKd`.
    pub hand: String,
    /// Its weight in the range.
    pub weight: f64,
    /// Expected share of the pot with it, net of later bets, or prize as in [`SpotReport::ev`]; 0 if the other cannot hold any compatible hand.
    pub ev: f64,
    /// Share of the pot that it wins if everybody checks to the end.
    pub equity: f64,
    /// Its probabilities at each node of the first street where its seat acts, by history.
    pub strategy: BTreeMap<String, Vec<f64>>,
}

/// By what sums may be wrong.
fn slack(spot: &Spot) -> f64 {
    1e-3 * spot.icm.as_ref().map_or(spot.pot + spot.effective_stack, |icm| icm.prizes.iter().sum())
}

/// Checks the values of both seats: shares of the pot that `spot` has.
///
/// # Errors
/// A description of the first violation.
pub(super) fn check_values(ev: [f64; 2], equity: [f64; 2], spot: &Spot) -> std::result::Result<(), String> {
    let (total, slack) = (ev[0] + ev[1], slack(spot));
    let prizes = spot.icm.as_ref().map(|icm| icm.prizes.iter().sum::<f64>());
    let (most, of) = prizes.map_or((spot.pot, "pot"), |prizes| (prizes, "prizes"));
    if !(total.is_finite() && total <= most + slack) {
        return Err(format!("ev sums to {total}, more than the {of}"));
    }
    let raked = spot.rake.is_some_and(|rake| rake.part > 0.0);
    if !raked && spot.icm.is_none() && (total - spot.pot).abs() > slack {
        return Err(format!("ev sums to {total}, expected the pot of {}", spot.pot));
    }
    let equity = equity[0] + equity[1];
    if (equity - 1.0).abs() > 1e-3 {
        return Err(format!("equities sum to {equity}"));
    }
    Ok(())
}

/// Data of a solve for its report.
pub(super) struct Run {
    pub trajectory: BTreeMap<u64, f64>,
    pub iterations: u64,
    pub seconds: f64,
    pub device: String,
    pub engine: Engine,
    pub options: Options,
}

impl SpotReport {
    /// Checks the invariants of a report of `spot`.
    ///
    /// # Errors
    /// A description of the first violation.
    pub fn check(&self, spot: &Spot) -> std::result::Result<(), String> {
        check_values(self.ev, self.equity, spot)?;
        let slack = slack(spot);
        match self.trajectory.iter().find(|(_, chips)| !(chips.is_finite() && **chips >= -slack)) {
            Some((iteration, chips)) => Err(format!("exploitability {chips} at iteration {iteration}")),
            None => Ok(()),
        }
    }

    /// Evaluates the average strategies, given as tables by seat, for every hand.
    pub(super) fn new(game: &Arc<VectorGame>, tree: &BettingTree, averages: [&Values; 2], run: Run) -> Self {
        let evaluator = Evaluator::new(Arc::clone(game));
        let nodes = first_street(game, tree);
        let (mut ev, mut equity) = ([0.0; 2], [0.0; 2]);
        let mut by_hand = [Vec::new(), Vec::new()];
        for seat in 0..2 {
            let values = evaluator.values(seat, Play::Average, &averages);
            let shares = evaluator.values(seat, Play::Equity, &averages);
            let beside = evaluator.beside(seat);
            ev[seat] = evaluator.total(seat, &values);
            equity[seat] = evaluator.total(seat, &shares);
            let strategies: Vec<(&str, Vec<Vec<f64>>)> = nodes
                .iter()
                .filter(|node| node.seat == seat)
                .map(|node| (&*node.history, game.average(averages[seat], seat, 0, 0, node.slot, node.actions.len())))
                .collect();
            let part = |value: f64, hand: usize| if beside[hand] > 0.0 { value / beside[hand] } else { 0.0 };
            let report = |(hand, &cards): (usize, &u64)| HandReport {
                hand: game.deck.names(cards),
                weight: game.weights[seat][hand],
                ev: part(values[hand], hand),
                equity: part(shares[hand], hand),
                strategy: strategies
                    .iter()
                    .map(|(history, strategy)| {
                        (history.to_string(), strategy.iter().map(|vector| vector[hand]).collect())
                    })
                    .collect(),
            };
            by_hand[seat] = game.hands[seat].iter().enumerate().map(report).collect();
        }
        let hands = game.hands.each_ref().map(Vec::len);
        let actions = nodes.into_iter().map(|node| (node.history, node.actions)).collect();
        let Run { trajectory, iterations, seconds, device, engine, options } = run;
        let seed = options.seed;
        let base = tree.icm.as_ref().map(|icm| icm.prizes_without_pot(tree.dead));
        let icm_base = base.and_then(|base| base.try_into().ok());
        Self {
            hands,
            trajectory,
            ev,
            icm_base,
            equity,
            by_hand,
            actions,
            iterations,
            seconds,
            device,
            engine,
            seed,
            options,
        }
    }

    /// Exploitability at the end, in chips or prizes; `None` where it was never measured.
    pub fn exploitability(&self) -> Option<f64> {
        self.trajectory.last_key_value().map(|(_, &exploitability)| exploitability)
    }
}

/// A decision of the first street.
pub(super) struct FirstNode {
    pub history: String,
    pub seat: usize,
    pub slot: u32,
    pub actions: Vec<String>,
}

/// A spot has one board and one entry on its first street.
pub(super) fn first_street(game: &VectorGame, tree: &BettingTree) -> Vec<FirstNode> {
    let nodes = game.streets.first().into_iter().flat_map(|street| &street.entries).flat_map(|entry| &entry.nodes);
    let first = |node: &Node| match node {
        Node::Decision { seat, actions, slot, betting, .. } => Some(FirstNode {
            history: tree.history(*betting),
            seat: *seat,
            slot: *slot,
            actions: actions.iter().map(|&action| tree.spell(action)).collect(),
        }),
        _ => None,
    };
    nodes.filter_map(first).collect()
}
