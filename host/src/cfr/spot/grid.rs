//! The 169 classes of hands, as players look at a range: a grid of 13 × 13.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::node::{NodeHand, NodeReport};
use super::range::Range;
use crate::cfr::game::cards::{CardSet, Deck, RANKS, set_of};
use crate::{Error, Result};

/// Rows of the grid, and columns.
pub const SIDE: usize = RANKS.len();
/// Added to a sum over hands, which without any is -0.
const ZERO: f64 = 0.0;
/// What a hand's name must be.
const HAND: &str = "two different cards, as AhKd";

/// The hands of two ranks that are a pair, of one suit, or of two: a cell of the grid of [`NodeReport::classes`].
///
/// Values and probabilities are means over its hands, each weighted by how likely the seat holds it at the node: its reach times the reach of all hands of the other seat that share
/// no card with it. If no hand of the class can be held there, all count alike; without hands they are 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandClass {
    /// `AA`, `AKs` of one suit, `AKo` of two.
    pub name: String,
    /// Its hands that the board leaves possible, whether the range has them or not.
    pub n_combos: usize,
    /// Those in the range: positions in [`NodeReport::by_hand`] of the seat.
    pub hands: Vec<usize>,
    /// Sum of their reaches.
    pub reach: f64,
    /// Probability that the seat holds one of them at the node. All classes' add up to 1, unless no pair of hands comes there.
    pub probability: f64,
    /// Expected share of the pot.
    pub ev: f64,
    /// Share of the pot that is won if nobody bets any more.
    pub equity: f64,
    /// Probabilities of the actions, if the seat acts.
    pub strategy: Vec<f64>,
    /// Expected share of the pot after each action, if the seat acts.
    pub action_ev: Vec<f64>,
}

/// An action of a node, over all hands of the seat that acts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionTotal {
    /// The action.
    pub action: String,
    /// Its probability at the node. All actions' add up to 1, unless no pair of hands comes there.
    pub frequency: f64,
    /// Expected share of the pot of the hands that take it, as often as they do; 0 if none does.
    pub ev: f64,
}

impl Range {
    /// The range in 169 classes, in the order of [`NodeReport::classes`]: the name of each, and the mean weight of its hands.
    ///
    /// ```
    /// use warpplay::cfr::spot::Range;
    ///
    /// let classes = Range::parse("AA:0.5,AhKh")?.classes();
    /// assert_eq!(classes[..2], [("AA".to_string(), 0.5), ("AKs".to_string(), 0.25)]);
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    pub fn classes(&self) -> Vec<(String, f64)> {
        let mut sums = [0.0; SIDE * SIDE];
        self.hands(0).into_iter().for_each(|(hand, weight)| sums[cell_of(hand)] += weight);
        sums.iter().enumerate().map(|(cell, sum)| (name(cell), sum / combos(cell).count() as f64)).collect()
    }
}

impl fmt::Display for NodeReport {
    /// Prints the node, a line for each seat, and a line for each action; then the grid of 13 × 13 classes of the seat that acts with the most frequent action of each, or of seat 0 with
    /// the hands that come here.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "after '{}' on {}, pot {}", self.history, self.board, self.pot)?;
        for seat in 0..2 {
            writeln!(f, "seat {seat}: ev {:.4}, equity {:.4}", self.ev[seat], self.equity[seat])?;
        }
        let shown = self.seat.unwrap_or(0);
        // A report that was changed may have names that are no hands.
        let (Ok(totals), Ok(classes)) = (self.action_totals(), self.classes(shown)) else { return Ok(()) };
        for ActionTotal { action, frequency, ev } in &totals {
            writeln!(f, "seat {shown} {action}: {:.1} %, ev {ev:.4}", 100.0 * frequency)?;
        }
        for row in classes.chunks(SIDE) {
            let cells = row.iter().map(|class| {
                let most = (0..class.strategy.len())
                    .max_by(|&one, &other| class.strategy[one].total_cmp(&class.strategy[other]));
                let action = most.and_then(|most| self.actions.get(most));
                match (class.hands.is_empty(), action) {
                    (true, _) => ".".to_string(),
                    (false, Some(action)) => format!("{}:{action}", class.name),
                    (false, None) => class.name.clone(),
                }
            });
            let line: String = cells.map(|cell| format!("{cell:<10}")).collect();
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl NodeReport {
    /// The hands of a seat in 169 classes: row after row of a grid of 13 × 13 with the pairs from AA to 22 on the diagonal, hands of one suit above and those of two below it.
    ///
    /// The means of [`HandClass`] over the grid, weighted by [`probability`](HandClass::probability), are the seat's [`ev`](Self::ev) and [`equity`](Self::equity).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use warpplay::Device;
    /// use warpplay::cfr::spot::{Spot, SpotSolver};
    ///
    /// let spot = Spot::parse(
    ///     r#"{"pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c", "river": "3s",
    ///         "ranges": ["AA,65s", "QQ"]}"#,
    /// )?;
    /// let mut solver = SpotSolver::builder(&spot).iterations(100).build(&Device::cpu())?;
    /// solver.run(|_| ControlFlow::Continue(()))?;
    /// let report = solver.solved()?.root().report()?;
    /// let classes = report.classes(0)?;
    /// assert_eq!((classes[0].name.as_str(), classes[1].name.as_str(), classes[13].name.as_str()), ("AA", "AKs", "AKo"));
    /// assert!(classes[0].hands.len() == 6 && classes[0].equity > 0.999);
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Option`] names `seat` unless it is 0 or 1; `hand` or `board` if the report was changed and has a text there that is not cards.
    pub fn classes(&self, seat: usize) -> Result<Vec<HandClass>> {
        let hands = self.hands(seat)?;
        let weights = self.weights(seat)?;
        let total: f64 = weights.iter().sum();
        let wrong = |error: Error| Error::option("board", format!("'{}'", self.board), error.to_string());
        let board = set_of(&Deck::FULL.cards(&self.board).map_err(wrong)?);
        let mut members = vec![Vec::new(); SIDE * SIDE];
        for (number, hand) in hands.iter().enumerate() {
            members[cell_of(cards(hand)?)].push(number);
        }
        let n_actions = if self.seat == Some(seat) { self.actions.len() } else { 0 };
        let class = |(cell, members): (usize, Vec<usize>)| {
            let mut shares: Vec<f64> = members.iter().map(|&number| weights[number]).collect();
            let mut sum: f64 = shares.iter().sum();
            let probability = if total > 0.0 { sum / total + ZERO } else { 0.0 };
            if sum <= 0.0 {
                shares.fill(1.0);
                sum = shares.len().max(1) as f64;
            }
            let mean = |value: &dyn Fn(&NodeHand) -> f64| {
                members.iter().zip(&shares).map(|(&number, share)| share * value(&hands[number])).sum::<f64>() / sum
                    + ZERO
            };
            let means = |values: fn(&NodeHand) -> &[f64]| {
                (0..n_actions).map(|action| mean(&|hand| at(values(hand), action))).collect::<Vec<_>>()
            };
            HandClass {
                name: name(cell),
                n_combos: combos(cell).filter(|hand| hand & board == 0).count(),
                reach: members.iter().map(|&number| hands[number].reach).sum::<f64>() + ZERO,
                probability,
                ev: mean(&|hand| hand.ev),
                equity: mean(&|hand| hand.equity),
                strategy: means(|hand| &hand.strategy),
                action_ev: means(|hand| &hand.action_ev),
                hands: members,
            }
        };
        Ok(members.into_iter().enumerate().map(class).collect())
    }

    /// The actions of the node over all hands of the seat that acts; empty where nobody acts. Values weighted by frequency add up to the seat's [`ev`](Self::ev).
    ///
    /// # Errors
    /// As [`classes`](Self::classes).
    pub fn action_totals(&self) -> Result<Vec<ActionTotal>> {
        let Some(seat) = self.seat else { return Ok(Vec::new()) };
        let hands = self.hands(seat)?;
        let weights = self.weights(seat)?;
        let total: f64 = weights.iter().sum();
        let of_action = |(number, action): (usize, &String)| {
            let taken = hands.iter().zip(&weights).map(|(hand, weight)| weight * at(&hand.strategy, number));
            let (mut sum, mut worth) = (0.0, 0.0);
            for (weight, hand) in taken.zip(hands) {
                sum += weight;
                worth += weight * at(&hand.action_ev, number);
            }
            let part = |of: f64, whole: f64| if whole > 0.0 { of / whole } else { 0.0 };
            ActionTotal { action: action.clone(), frequency: part(sum, total), ev: part(worth, sum) }
        };
        Ok(self.actions.iter().enumerate().map(of_action).collect())
    }

    fn hands(&self, seat: usize) -> Result<&[NodeHand]> {
        let hands = self.by_hand.get(seat).ok_or_else(|| Error::option("seat", seat, "0 or 1"))?;
        Ok(hands)
    }

    /// How likely a seat holds each of its hands, but for a common factor: its reach times that of the other's hands beside it.
    fn weights(&self, seat: usize) -> Result<Vec<f64>> {
        let own = self.hands(seat)?;
        let held = |hand: &NodeHand| Ok((cards(hand)?, hand.reach));
        let other = self.hands(1 - seat)?.iter().map(held).collect::<Result<Vec<_>>>()?;
        own.iter()
            .map(|hand| {
                let set = cards(hand)?;
                // One by one: of a difference of sums, rounding would leave something where nothing is beside the hand.
                let beside = other.iter().filter(|(cards, _)| cards & set == 0).map(|(_, reach)| reach);
                Ok(hand.reach * beside.sum::<f64>())
            })
            .collect()
    }
}

/// A value of an action; 0 if the hand has none.
fn at(values: &[f64], action: usize) -> f64 {
    values.get(action).copied().unwrap_or(0.0)
}

fn cards(hand: &NodeHand) -> Result<CardSet> {
    let wrong = || Error::option("hand", format!("'{}'", hand.hand), HAND);
    let cards = Deck::FULL.cards(&hand.hand).map_err(|_| wrong())?;
    if cards.len() == 2 { Ok(set_of(&cards)) } else { Err(wrong()) }
}

/// The cell of a hand.
pub(in crate::cfr) fn cell_of(hand: CardSet) -> usize {
    let deck = Deck::FULL;
    let (low, high) = (hand.trailing_zeros() as u8, (CardSet::BITS - 1 - hand.leading_zeros()) as u8);
    let [row, column] = [high, low].map(|card| SIDE - 1 - deck.rank(card) as usize);
    if deck.suit(low) == deck.suit(high) { row * SIDE + column } else { column * SIDE + row }
}

/// Ranks of a cell's hands, the higher one first, and whether they are of one suit.
fn ranks(cell: usize) -> ([usize; 2], bool) {
    let (row, column) = (cell / SIDE, cell % SIDE);
    ([row.min(column), row.max(column)].map(|line| SIDE - 1 - line), column > row)
}

/// What players call the hands of a cell.
pub(in crate::cfr) fn name(cell: usize) -> String {
    let ([high, low], is_suited) = ranks(cell);
    let end = if is_suited { "s" } else { "o" };
    format!("{}{}{}", &RANKS[high..=high], &RANKS[low..=low], if high == low { "" } else { end })
}

/// All hands of a cell.
pub(in crate::cfr) fn combos(cell: usize) -> impl Iterator<Item = CardSet> {
    let ([high, low], is_suited) = ranks(cell);
    let suits = (0..4usize).flat_map(|first| (0..4usize).map(move |second| (first, second)));
    let kept = suits.filter(move |&(first, second)| match (high == low, is_suited) {
        (true, _) => first < second,
        (false, true) => first == second,
        (false, false) => first != second,
    });
    kept.map(move |(first, second)| 1 << (4 * high + first) | 1 << (4 * low + second))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::Device;
    use crate::cfr::spot::{Spot, SpotSolver};

    /// Reports of nodes where seat 0 acts, seat 1 acts, nobody acts; with hands that block each other, and some that never come there.
    fn reports() -> Vec<NodeReport> {
        let spot = Spot::parse(
            r#"{"pot": 100, "effective_stack": 300, "bet_fraction_of_pot": 0.5, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c",
                "max_raises": {"river": 2}, "ranges": ["AA,QQ:0.5,AKs,T9s,AhQh:0.25", "KK,JJ,77:0.25,AQ"],
                "locks": [{"history": "", "seat": 0, "strategy": {"AA": [0, 1, 0], "QQ": [1, 0, 0], "rest": [0.5, 0.25, 0.25]}}]}"#,
        );
        let spot = spot.expect("a spot");
        let mut solver = SpotSolver::builder(&spot).iterations(20).build(&Device::cpu()).expect("a solver");
        solver.run(|_| ControlFlow::Continue(())).expect("solved");
        let solved = solver.solved().expect("strategies");
        let lines = ["", "c", "cr50", "r50", "r50f", "cc"];
        lines.map(|line| solved.at(line, "").expect("a node").report().expect("a report")).to_vec()
    }

    fn names(report: &NodeReport) -> Vec<String> {
        report.classes(0).expect("classes").into_iter().map(|class| class.name).collect()
    }

    #[test]
    fn every_hand_has_its_cell() {
        let report = &reports()[0];
        let names = names(report);
        for (at, name) in [(0, "AA"), (1, "AKs"), (12, "A2s"), (13, "AKo"), (14, "KK"), (167, "32o"), (168, "22")] {
            assert_eq!(names[at], name);
        }
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 169);
        // Each hand once, and in the class of its ranks.
        let all = (0..169).flat_map(|cell| combos(cell).map(move |hand| (cell, hand))).collect::<Vec<_>>();
        assert_eq!(all.len(), 52 * 51 / 2);
        assert!(all.iter().all(|&(cell, hand)| cell_of(hand) == cell && hand.count_ones() == 2));
        assert_eq!(all.iter().map(|&(_, hand)| hand).collect::<std::collections::BTreeSet<_>>().len(), all.len());
        for seat in 0..2 {
            let classes = report.classes(seat).expect("classes");
            // Two of the 47 cards that five on the board leave.
            assert_eq!(classes.iter().map(|class| class.n_combos).sum::<usize>(), 47 * 46 / 2);
            let mut seen = vec![0; report.by_hand[seat].len()];
            for class in &classes {
                assert!(class.hands.len() <= class.n_combos, "{class:?}");
                for &hand in &class.hands {
                    seen[hand] += 1;
                    let ranks: Vec<char> = report.by_hand[seat][hand].hand.chars().step_by(2).collect();
                    assert_eq!(ranks, class.name.chars().take(2).collect::<Vec<_>>());
                }
            }
            assert!(seen.iter().all(|&n| n == 1));
        }
    }

    /// A class's mean times its probability is its part of the sum over hands; so the sums over classes are those over hands.
    #[test]
    fn the_sums_over_classes_are_those_over_hands() {
        // At most 1,326 products of numbers up to 1,000, each rounded a few times.
        let bound = 4.0 * 1326.0 * 1000.0 * f64::EPSILON;
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < bound, "{found}, {expected}");
        for report in reports() {
            for seat in 0..2 {
                let classes = report.classes(seat).expect("classes");
                let sum = |value: &dyn Fn(&HandClass) -> f64| classes.iter().map(value).sum::<f64>();
                close(sum(&|class| class.reach), report.by_hand[seat].iter().map(|hand| hand.reach).sum());
                close(sum(&|class| class.probability), 1.0);
                close(sum(&|class| class.probability * class.ev), report.ev[seat]);
                close(sum(&|class| class.probability * class.equity), report.equity[seat]);
                let acts = report.seat == Some(seat);
                assert!(classes.iter().all(|class| acts != class.strategy.is_empty() && class.strategy.len() == class.action_ev.len()));
                for (action, total) in report.action_totals().expect("totals").iter().enumerate().filter(|_| acts) {
                    close(sum(&|class| class.probability * class.strategy[action]), total.frequency);
                }
            }
            let totals = report.action_totals().expect("totals");
            assert_eq!(totals.iter().map(|total| total.action.clone()).collect::<Vec<_>>(), report.actions);
            if let Some(seat) = report.seat {
                close(totals.iter().map(|total| total.frequency).sum(), 1.0);
                close(totals.iter().map(|total| total.frequency * total.ev).sum(), report.ev[seat]);
            }
        }
    }

    fn hand(name: &str, reach: f64, ev: f64, strategy: [f64; 2]) -> NodeHand {
        NodeHand {
            hand: name.into(),
            reach,
            ev,
            equity: ev / 10.0,
            strategy: strategy.to_vec(),
            action_ev: vec![ev, 0.0],
        }
    }

    fn by_hand(by_hand: [Vec<NodeHand>; 2]) -> NodeReport {
        NodeReport {
            history: String::new(),
            board: "QsJh2h".into(),
            pot: 10.0,
            seat: Some(0),
            actions: vec!["c".into(), "r5".into()],
            ev: [0.0; 2],
            equity: [0.0; 2],
            by_hand,
        }
    }

    /// AhKh meets the kings alone, with 2; AdKd meets both, with 3, and comes half as often.
    #[test]
    fn a_hand_counts_by_what_it_meets() {
        let own = vec![
            hand("AhKh", 1.0, 2.0, [1.0, 0.0]),
            hand("AdKd", 0.5, 6.0, [0.5, 0.5]),
            hand("5c4c", 0.0, 1.0, [0.0, 1.0]),
        ];
        let other = vec![hand("AcAh", 1.0, 0.0, [0.0; 2]), hand("KsKc", 2.0, 0.0, [0.0; 2])];
        let report = by_hand([own, other]);
        let classes = report.classes(0).expect("classes");
        let suited = &classes[1];
        assert_eq!((suited.name.as_str(), suited.n_combos, suited.hands.as_slice()), ("AKs", 4, &[0, 1][..]));
        assert_eq!((suited.reach, suited.probability), (1.5, 1.0));
        assert_eq!(suited.ev, (2.0 * 2.0 + 1.5 * 6.0) / 3.5);
        assert_eq!(suited.strategy, [(2.0 + 0.75) / 3.5, 0.75 / 3.5]);
        // Never held here: a plain mean; with no hand: nothing.
        let never = classes.iter().find(|class| class.name == "54s").expect("a class");
        assert_eq!((never.probability, never.ev, never.strategy.as_slice()), (0.0, 1.0, &[0.0, 1.0][..]));
        let none = classes.iter().find(|class| class.name == "QQ").expect("a class");
        assert_eq!((none.n_combos, none.hands.len(), none.ev, none.strategy.as_slice()), (3, 0, 0.0, &[0.0, 0.0][..]));
        let totals = report.action_totals().expect("totals");
        let numbers = [none.reach, none.probability, none.ev, none.equity, none.strategy[0], none.action_ev[1]];
        assert!(numbers.iter().all(|number| number.is_sign_positive()), "{numbers:?}");
        assert_eq!(totals[0].ev, (2.0 * 2.0 + 0.75 * 6.0) / 2.75);
        assert_eq!(totals[1], ActionTotal { action: "r5".into(), frequency: 0.75 / 3.5, ev: 0.0 });
        assert!(report.classes(1).expect("classes").iter().all(|class| class.strategy.is_empty()));
    }

    #[test]
    fn a_changed_report_is_refused_with_what_is_wrong_in_it() {
        let none = |report: NodeReport, seat| report.classes(seat).expect_err("wrong").to_string();
        let good = by_hand([vec![hand("AhKh", 1.0, 0.0, [1.0, 0.0])], Vec::new()]);
        assert!(none(good.clone(), 2).contains("option seat: 2 is not allowed (0 or 1)"));
        for name in ["", "Ah", "AhAh", "AhKhQh", "é"] {
            let report = by_hand([vec![hand(name, 1.0, 0.0, [1.0, 0.0])], Vec::new()]);
            assert!(none(report.clone(), 0).contains(HAND), "{name}");
            assert!(none(report, 1).contains(HAND), "{name}");
        }
        assert!(none(NodeReport { board: "Qx".into(), ..good.clone() }, 0).contains("option board: 'Qx'"));
        // Nothing comes there: no mean divides by it.
        let classes = good.classes(0).expect("classes");
        assert_eq!((classes[1].probability, classes[1].strategy.as_slice()), (0.0, &[1.0, 0.0][..]));
        assert!(good.action_totals().expect("totals").iter().all(|total| total.frequency == 0.0 && total.ev == 0.0));
    }
}
