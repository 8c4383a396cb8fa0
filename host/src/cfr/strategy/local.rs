//! Local best response: a lower bound of the exploitability of a strategy whose game is too large for exact best responses.
//!
//! # Source
//! Lisý and Bowling, "Equilibrium Approximation Quality of Current No-Limit Poker Bots" (2017). There a few sizes of raise are tried; here all legal ones are.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use warpplay_gpu::split_mix::{GAMMA, mix};

use super::Strategy;
use super::by_cards::{ByCards, Known};
use super::deals::{Means, over_deals};
use super::measure::SampledDeals;
use crate::cfr::game::betting::{Action, BettingKind, BettingNode, BettingTree};
use crate::cfr::game::cards::{CardSet, choose, subsets};
use crate::cfr::game::dealer::Cards;
use crate::cfr::game::game_file::GameDef;
use crate::cfr::game::ranking::Ranking;
use crate::{Error, Progress, Result};

/// Maximum number of run-outs over which chances of winning are estimated; where there are no more, all are counted.
const RUNOUTS: usize = 64;

/// What a local best response wins against a strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LowerBound {
    /// Mean of `values`, an estimate of a lower bound of the exploitability. A value below 0 says nothing: no exploitability is negative.
    pub exploitability_at_least: f64,
    /// Mean winnings of the local best response in chips a hand, by its seat.
    pub values: Vec<f64>,
    /// Deals and standard errors.
    pub sampled: SampledDeals,
}

impl Strategy {
    /// A lower bound of the exploitability of a strategy for two players, over `deals` deals from `seed`, with its standard error; for games that are too large for [`profile`](Self::profile).
    ///
    /// A *local best response* plays at each seat in turn: it knows the strategy, tracks the probability of each hand of the opponent, and takes the action that would win most if both
    /// seats only checked and called after the opponent's answer. A best response wins at least as much as any such player. Where more than 64 run-outs are left, chances of winning are
    /// estimated from 64 of them; this can weaken the response, but the bound stays valid. It runs on the CPU, in the caller's thread pool if there is one, else on all cores.
    ///
    /// `watch` is called every few deals; if it returns `Break`, the bound is that of the deals so far.
    ///
    /// # Errors
    /// [`Error::Option`] names `deals`, unless they are at least 2, or the strategy, unless it is of a game of poker for two players.
    pub fn local_best_response(
        &self,
        deals: u64,
        seed: u64,
        watch: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<LowerBound> {
        let Some(rules) = self.problem.rules().filter(|rules| rules.n_players == 2) else {
            return Err(Error::option("strategy", self.problem.describe(), "a whole game of poker for two players"));
        };
        let tree = BettingTree::new(rules)?;
        let strategy = ByCards::new(self, &tree);
        let table = Table { rules, tree: &tree, strategy, ranking: Ranking::new(rules.deck) };
        let Means { values, value, sampled } = over_deals(rules, deals, seed, watch, |_, number, cards| {
            [0, 1].map(|seat| Hand::new(&table, seat, seed, number).play(cards)).to_vec()
        })?;
        Ok(LowerBound { exploitability_at_least: value, values, sampled })
    }
}

/// The game and the strategy.
struct Table<'a> {
    rules: &'a GameDef,
    tree: &'a BettingTree,
    strategy: ByCards<'a>,
    ranking: Ranking,
}

/// Random numbers: SplitMix64.
struct Stream(u64);

impl Stream {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }
}

/// One hand of the local best response.
struct Hand<'a> {
    table: &'a Table<'a>,
    /// The seat of the response.
    seat: usize,
    random: Stream,
    /// The hands that the opponent can hold.
    hands: Vec<CardSet>,
    /// Probability with which each of them would have played so far; 0 for hands that the board blocks.
    reach: Vec<f64>,
    /// The round of what follows.
    round: Option<usize>,
    /// What the opponent knows with each hand in the round; `None` for hands that the board blocks.
    known: Vec<Option<Known>>,
    /// Over the run-outs of the round, by hand: wins against it, half the ties added; and run-outs that it leaves.
    wins: Vec<[f64; 2]>,
}

impl<'a> Hand<'a> {
    fn new(table: &'a Table<'a>, seat: usize, seed: u64, number: u64) -> Self {
        // A stream apart from that of the deals, so that the response learns nothing of hidden cards.
        let random = Stream(mix(mix(seed) ^ (2 * number + seat as u64)));
        let (hands, reach, known, wins) = Default::default();
        Self { table, seat, random, hands, reach, round: None, known, wins }
    }

    /// Plays a deal, and returns what the response wins.
    fn play(mut self, cards: &Cards) -> f64 {
        let Table { rules, tree, ranking, .. } = self.table;
        let (own, hidden) = (cards.holes[self.seat], cards.holes[1 - self.seat]);
        self.hands = subsets(rules.deck.all() & !own, rules.n_hole_cards).collect();
        self.reach = vec![1.0; self.hands.len()];
        let mut at = 0;
        loop {
            let node = &tree.nodes[at];
            let BettingKind::Decision { seat, actions, children } = &node.kind else {
                let board = cards.boards.last().copied().unwrap_or(0);
                let strengths = cards.holes.iter().map(|hole| ranking.strength(hole | board));
                return tree.payoffs(node, &strengths.collect::<Vec<_>>())[self.seat];
            };
            self.enter(own, &cards.boards[..=node.round as usize]);
            let action = if *seat == self.seat {
                self.choose(node, actions, children)
            } else {
                let hand = self.hands.iter().position(|&hand| hand == hidden).unwrap_or(0);
                self.answer(at, actions.len(), hand)
            };
            at = children[action] as usize;
        }
    }

    /// Enters the round of the last of these boards: drops the hands that it blocks, and finds what the opponent knows and the chances of winning.
    fn enter(&mut self, own: CardSet, boards: &[CardSet]) {
        let (round, board) = (boards.len() - 1, boards.last().copied().unwrap_or(0));
        if self.round.replace(round) == Some(round) {
            return;
        }
        let Table { rules, strategy, ranking, .. } = self.table;
        for (reach, hand) in self.reach.iter_mut().zip(&self.hands) {
            *reach *= f64::from(u8::from(hand & board == 0));
        }
        self.known = strategy.known(1 - self.seat, &self.hands, boards);
        let left = rules.deck.all() & !(own | board);
        let missing = rules.board_cards_by(rules.n_rounds - 1) - board.count_ones() as usize;
        let runouts: Vec<CardSet> = match choose(left.count_ones(), missing as u32) {
            n if n <= RUNOUTS as u64 => subsets(left, missing).collect(),
            _ => (0..RUNOUTS).map(|_| self.draw(left, missing)).collect(),
        };
        self.wins = vec![[0.0; 2]; self.hands.len()];
        for runout in runouts {
            let whole = board | runout;
            let strength = ranking.strength(own | whole);
            for (hand, wins) in self.hands.iter().zip(&mut self.wins).filter(|(hand, _)| *hand & whole == 0) {
                let theirs = ranking.strength(hand | whole);
                wins[0] += 0.5 * (f64::from(u8::from(strength > theirs)) + f64::from(u8::from(strength >= theirs)));
                wins[1] += 1.0;
            }
        }
    }

    /// Draws `n` of the cards that are left.
    fn draw(&mut self, left: CardSet, n: usize) -> CardSet {
        let mut drawn: CardSet = 0;
        while (drawn.count_ones() as usize) < n {
            let card: CardSet = 1 << (self.random.next_u64() >> 58);
            drawn |= card & left;
        }
        drawn
    }

    /// Chance of winning against the opponent's hands with these weights, at a showdown.
    fn chance(&self, weights: impl Iterator<Item = f64>) -> f64 {
        let (mut won, mut all) = (0.0, 0.0);
        for (weight, wins) in weights.zip(&self.wins) {
            (won, all) = (won + weight * wins[0], all + weight * wins[1]);
        }
        if all > 0.0 { won / all } else { 0.5 }
    }

    /// The action that wins most if both seats only check and call after the opponent's answer.
    fn choose(&self, node: &BettingNode, actions: &[Action], children: &[u32]) -> usize {
        let (own, other) = (self.seat, 1 - self.seat);
        // Chips won from here on at a showdown: of the smaller of both stakes.
        let shown = |chance: f64, stakes: [f64; 2]| {
            let stake = stakes[0].min(stakes[1]);
            chance * (stake + node.contributed[own]) - (1.0 - chance) * (stake - node.contributed[own])
        };
        let (mut best, mut most) = (0, f64::NEG_INFINITY);
        for (index, (action, &child)) in actions.iter().zip(children).enumerate() {
            let after = &self.table.tree.nodes[child as usize];
            let stake = after.contributed[own];
            let value = match action {
                Action::Fold => 0.0,
                Action::Call => {
                    shown(self.chance(self.reach.iter().copied()), [stake, after.contributed[other].max(stake)])
                }
                Action::Raise(_) => {
                    let (folds, stays, called) = self.folds(child as usize, other);
                    let chance = self.chance(stays.into_iter());
                    folds * (node.contributed[own] + node.contributed[other])
                        + (1.0 - folds) * shown(chance, [stake, called])
                }
            };
            if value > most {
                (best, most) = (index, value);
            }
        }
        best
    }

    /// How the opponent answers a raise: the chance that it folds, each hand's weight if it does not, and its chips after a call.
    fn folds(&self, node: usize, other: usize) -> (f64, Vec<f64>, f64) {
        let tree = self.table.tree;
        let BettingKind::Decision { seat, actions, children } = &tree.nodes[node].kind else {
            return (0.0, self.reach.clone(), tree.nodes[node].contributed[other]);
        };
        let fold = actions.iter().position(|action| *action == Action::Fold).filter(|_| *seat == other);
        let call =
            actions.iter().position(|action| *action == Action::Call).map_or(node, |call| children[call] as usize);
        let called = tree.nodes[call].contributed[other];
        let Some(fold) = fold else { return (0.0, self.reach.clone(), called) };
        let stays = self.reach.iter().zip(&self.known).map(|(&reach, known)| match known {
            Some(known) if reach > 0.0 => {
                reach * (1.0 - f64::from(self.table.strategy.at(node, other, known).nth(fold).unwrap_or(0.0)))
            }
            _ => 0.0,
        });
        let stays: Vec<f64> = stays.collect();
        let all: f64 = self.reach.iter().sum();
        let folds = if all > 0.0 { 1.0 - stays.iter().sum::<f64>() / all } else { 0.0 };
        (folds, stays, called)
    }

    /// Draws the action of the opponent, who holds a hand, and weights all hands by the probability that they take it.
    fn answer(&mut self, node: usize, n_actions: usize, hand: usize) -> usize {
        let (strategy, other) = (&self.table.strategy, 1 - self.seat);
        let of = |known: &Option<Known>| known.as_ref().map(|known| strategy.at(node, other, known));
        let own: Vec<f32> = of(&self.known[hand]).map_or_else(|| vec![1.0; n_actions], Iterator::collect);
        // 53 bits: in [0, 1).
        let mut left = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        left *= own.iter().copied().map(f64::from).sum::<f64>();
        let taken = own.iter().position(|&part| {
            left -= f64::from(part);
            left < 0.0
        });
        // By rounding none may be left.
        let taken = taken.or_else(|| own.iter().rposition(|&part| part > 0.0)).unwrap_or(0);
        for (reach, known) in self.reach.iter_mut().zip(&self.known).filter(|(reach, _)| **reach > 0.0) {
            *reach *= of(known).and_then(|mut actions| actions.nth(taken)).map_or(0.0, f64::from);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use crate::Device;
    use crate::cfr::game::GameDef;
    use crate::cfr::layout::Layout;
    use crate::cfr::options::{Engine, Sampling};
    use crate::cfr::solver::Solver;
    use crate::cfr::strategy::Strategy;

    /// A strategy of Kuhn poker that takes the first of these actions that is legal, whatever it holds.
    fn always(actions: &[&str]) -> Strategy {
        let builder = Solver::builder(GameDef::kuhn()).sampling(Sampling::Chance).engine(Engine::Walk);
        let mut solver = builder.iterations(1).build(&Device::cpu()).expect("a solver");
        let mut strategy = solver.strategy().expect("a strategy");
        let Layout::Buckets(buckets) = &strategy.layout else { panic!("tables by hands") };
        for (seat, table) in strategy.probabilities.iter_mut().enumerate() {
            for node in buckets.nodes(seat) {
                let legal = buckets.actions(node);
                let taken = actions.iter().find_map(|action| legal.iter().position(|name| name == action));
                for row in (0..buckets.n_buckets(node)).map(|bucket| buckets.row(node, bucket)) {
                    for (index, at) in row.indices().enumerate() {
                        table[at] = f32::from(u8::from(Some(index) == taken));
                    }
                }
            }
        }
        strategy
    }

    /// Who checks, and folds to every bet, gives an ante of 1 away in each hand of Kuhn poker.
    #[test]
    fn who_folds_to_every_bet_loses_the_ante() {
        let found = always(&["f", "c"]).local_best_response(50, 3, |_| ControlFlow::Continue(())).expect("a bound");
        assert_eq!((found.values, found.sampled.standard_error), (vec![1.0, 1.0], 0.0));
    }

    /// Against who checks and calls always, at either seat: the king bets, is called and wins 2; the queen checks, and wins 1 from the jack or loses 1 to the king; the jack checks and loses 1. Over
    /// all deals (2 + 0 - 1) / 3.
    #[test]
    fn who_calls_every_bet_loses_a_third_of_the_ante() {
        let found = always(&["c"]).local_best_response(6000, 3, |_| ControlFlow::Continue(())).expect("a bound");
        let errors = found.sampled.standard_errors.iter().chain([&found.sampled.standard_error]);
        for (value, error) in found.values.iter().chain([&found.exploitability_at_least]).zip(errors) {
            // 2, 1, -1 and -1 for 2, 1, 1 and 2 of 6 deals: a variance of 2 - 1 / 9, of which the error is that of 6,000 deals or less.
            assert!(*error > 0.0 && *error <= 1.1 * ((2.0f64 - 1.0 / 9.0) / 6000.0).sqrt(), "{error}");
            assert!((value - 1.0 / 3.0).abs() < 5.0 * error, "{value} +- {error}");
        }
    }
}
