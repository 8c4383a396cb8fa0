//! Two strategies against each other over sampled deals, for games whose deals are too many to walk.

use std::ops::ControlFlow;

use warpplay_gpu::cfr::beats;

use super::Strategy;
use super::by_cards::ByCards;
use super::deals::{Means, over_deals};
use super::measure::HeadToHead;
use crate::cfr::game::betting::{BettingKind, BettingNode, BettingTree};
use crate::cfr::game::dealer::Cards;
use crate::cfr::game::sequences::{End, pots};
use crate::{Error, Progress, Result};

/// The value of A against B over `deals` deals from `seed`, with its standard error: A sits at each seat in turn, B at all others. All lines of betting of every deal are
/// walked, so that only chance is sampled. It runs on the CPU, in the caller's thread pool if there is one, else on all cores.
///
/// `watch` is called every few deals; if it returns `Break`, the value is that of the deals so far.
///
/// # Errors
/// [`Error::Option`] names `deals`, unless they are at least 2, or `strategy`, unless they are of a game of poker; [`Error::Shape`] if the two are not strategies of one game.
pub fn head_to_head_sampled(
    a: &Strategy,
    b: &Strategy,
    deals: u64,
    seed: u64,
    watch: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<HeadToHead> {
    if !a.problem.is_same_game(&b.problem) {
        return Err(Error::shape("two strategies of one game", a.problem.describe(), b.problem.describe()));
    }
    let Some(rules) = a.problem.rules() else {
        return Err(Error::option("strategy", a.problem.describe(), "a whole game of poker where deals are sampled"));
    };
    let tree = BettingTree::new(rules)?;
    let (strategies, ends) = ([a, b].map(|strategy| ByCards::new(strategy, &tree)), ends(&tree));
    let Means { values, value, sampled } = over_deals(rules, deals, seed, watch, |dealer, _, cards| {
        values(&tree, &ends, &strategies, cards, &dealer.beats(cards))
    })?;
    Ok(HeadToHead { values, value, sampled: Some(sampled) })
}

impl ByCards<'_> {
    /// Probabilities of the actions of every decision in a deal, decision by decision in the order of the tree.
    fn of(&self, tree: &BettingTree, cards: &Cards) -> Vec<f32> {
        let known = |seat: usize, round: usize| self.known(seat, &[cards.holes[seat]], &cards.boards[..=round]).pop();
        let known: Vec<Vec<_>> = (0..tree.n_players)
            .map(|seat| (0..cards.boards.len()).map(|round| known(seat, round).flatten()).collect())
            .collect();
        let mut probabilities = Vec::with_capacity(tree.nodes.len());
        for (number, node) in tree.nodes.iter().enumerate() {
            if let BettingKind::Decision { seat, actions, .. } = &node.kind {
                match &known[*seat][node.round as usize] {
                    Some(known) => probabilities.extend(self.at(number, *seat, known)),
                    // Not for cards that are dealt.
                    None => probabilities.extend(actions.iter().map(|_| 0.0)),
                }
            }
        }
        probabilities
    }
}

/// The ends of a tree by node; `None` where a seat acts.
fn ends(tree: &BettingTree) -> Vec<Option<End>> {
    let of = |node: &BettingNode| match node.kind {
        BettingKind::Terminal => Some(End { pots: pots(node, tree.dead), stakes: node.contributed.clone() }),
        BettingKind::Decision { .. } => None,
    };
    tree.nodes.iter().map(of).collect()
}

/// Winnings of A in a deal when it sits at each seat and B at all others.
fn values(
    tree: &BettingTree,
    ends: &[Option<End>],
    strategies: &[ByCards<'_>; 2],
    cards: &Cards,
    words: &[u32],
) -> Vec<f64> {
    let [a, b] = strategies.each_ref().map(|strategy| strategy.of(tree, cards));
    let mut values = vec![0.0; tree.nodes.len()];
    let of_seat = |seat: usize| {
        let won = |end: &End| -> f64 {
            let pots = end.pots.iter().filter(|pot| pot.eligible >> seat & 1 != 0);
            let shares = pots.map(|pot| match beats::winners(words[seat], pot.eligible) {
                0 => 0.0,
                n => pot.chips / f64::from(n),
            });
            shares.sum::<f64>() - end.stakes[seat]
        };
        let mut first = a.len();
        // Children follow their node, so theirs are complete.
        for (at, node) in tree.nodes.iter().enumerate().rev() {
            values[at] = match (&node.kind, &ends[at]) {
                (BettingKind::Decision { seat: mover, children, .. }, _) => {
                    first -= children.len();
                    let strategy = if *mover == seat { &a[first..] } else { &b[first..] };
                    children.iter().zip(strategy).map(|(&child, &part)| f64::from(part) * values[child as usize]).sum()
                }
                (BettingKind::Terminal, end) => end.as_ref().map_or(0.0, won),
            };
        }
        values[0]
    };
    (0..tree.n_players).map(of_seat).collect()
}
