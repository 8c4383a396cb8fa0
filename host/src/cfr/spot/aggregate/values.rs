//! What is kept of a solved board: values of the ranges, and frequencies of the first decisions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::cfr::game::cards::{CardSet, Deck, members, set_of};
use crate::cfr::spot::node::ROUNDING;
use crate::cfr::spot::report::SpotReport;

/// A solved board without its hands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoardValues {
    /// Expected share of the pot, by seat, as [`SpotReport::ev`]: in chips, with `icm` in prizes.
    pub ev: [f64; 2],
    /// Share of the pot that each seat's range wins if everybody checks to the end, 0 to 1.
    pub equity: [f64; 2],
    /// The first decision of seat 0, and that of seat 1 after each action of seat 0, in the order of the histories.
    pub decisions: Vec<Decision>,
    /// At the end, in chips, with `icm` in prizes; `None` where it was not measured.
    pub exploitability: Option<f64>,
    /// Iterations done.
    pub iterations: u64,
    /// Seconds of the iterations; boards that were solved in the same launches have those of all of them.
    pub seconds: f64,
    /// The device, as `cuda:0`.
    pub device: String,
}

/// A node where a seat acts, with the frequencies of the actions over all its hands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The actions before it.
    pub history: String,
    /// The seat that acts.
    pub seat: usize,
    /// Probability that play comes here.
    pub reach: f64,
    /// The actions.
    pub actions: Vec<String>,
    /// Probability of each action over all hands of the seat that come here. They sum to 1; all are 0 where no hand comes.
    pub frequencies: Vec<f64>,
}

impl BoardValues {
    /// Of a report.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for hands that are none.
    pub(in crate::cfr::spot) fn of(report: &SpotReport) -> Result<Self> {
        let mut hands = [Vec::new(), Vec::new()];
        for (seat, list) in report.by_hand.iter().enumerate() {
            for hand in list {
                hands[seat].push((set_of(&Deck::FULL.cards(&hand.hand)?), hand.weight));
            }
        }
        let played = |seat: usize, history: &str, action: usize| -> Vec<f64> {
            let of_hand = |strategy: &BTreeMap<String, Vec<f64>>| -> f64 {
                strategy.get(history).and_then(|parts| parts.get(action)).copied().unwrap_or(0.0)
            };
            report.by_hand[seat].iter().map(|hand| of_hand(&hand.strategy)).collect()
        };
        Ok(Self {
            ev: report.ev,
            equity: report.equity,
            decisions: decisions(&hands, &report.actions, &played),
            exploitability: report.exploitability(),
            iterations: report.iterations,
            seconds: report.seconds,
            device: report.device.clone(),
        })
    }
}

/// The first decision of each seat. `hands` are those of the seats with their weights; `played` gives, of an action of a seat at a node of its own, the probability by hand.
pub(in crate::cfr::spot) fn decisions(
    hands: &[Vec<(CardSet, f64)>; 2],
    actions_of: &BTreeMap<String, Vec<String>>,
    played: &dyn Fn(usize, &str, usize) -> Vec<f64>,
) -> Vec<Decision> {
    let all = pairs(&hands[0], &hands[1]);
    let mut decisions = Vec::new();
    let first = actions_of.get("").map(Vec::as_slice).unwrap_or_default();
    let after = first.iter().enumerate().map(|(number, action)| (action.as_str(), Some(number)));
    for (history, before) in [("", None)].into_iter().chain(after) {
        let Some(actions) = actions_of.get(history) else { continue };
        let seat = usize::from(before.is_some());
        let mut others = hands[1 - seat].clone();
        if let Some(action) = before {
            others.iter_mut().zip(played(0, "", action)).for_each(|((_, weight), part)| *weight *= part);
        }
        let beside = beside(&hands[seat], &others);
        let here: Vec<f64> = hands[seat].iter().zip(&beside).map(|((_, weight), beside)| weight * beside).collect();
        let sum: f64 = here.iter().sum();
        let frequency = |action: usize| match sum > 0.0 {
            true => here.iter().zip(played(seat, history, action)).map(|(here, part)| here * part).sum::<f64>() / sum,
            false => 0.0,
        };
        decisions.push(Decision {
            history: history.to_string(),
            seat,
            reach: if all > 0.0 { sum / all } else { 0.0 },
            frequencies: (0..actions.len()).map(frequency).collect(),
            actions: actions.clone(),
        });
    }
    decisions.sort_by(|a, b| a.history.cmp(&b.history));
    decisions
}

/// For each hand, the weight of the others that have none of its cards.
fn beside(hands: &[(CardSet, f64)], others: &[(CardSet, f64)]) -> Vec<f64> {
    let all: f64 = others.iter().map(|(_, weight)| weight).sum();
    let (mut with_card, mut same) = ([0.0; 64], BTreeMap::new());
    for &(hand, weight) in others {
        members(hand).for_each(|card| with_card[usize::from(card)] += weight);
        *same.entry(hand).or_insert(0.0) += weight;
    }
    let of_hand = |&(hand, _): &(CardSet, f64)| {
        let blocked: f64 = members(hand).map(|card| with_card[usize::from(card)]).sum();
        // The same hand was taken away once for each of its two cards.
        let beside = all - blocked + same.get(&hand).copied().unwrap_or(0.0);
        if beside > ROUNDING * all { beside } else { 0.0 }
    };
    hands.iter().map(of_hand).collect()
}

/// The weight of all pairs of hands that have no card in common.
pub(in crate::cfr::spot) fn pairs(hands: &[(CardSet, f64)], others: &[(CardSet, f64)]) -> f64 {
    hands.iter().zip(beside(hands, others)).map(|((_, weight), beside)| weight * beside).sum()
}
