//! Practice on solved spots: hands are dealt as they should be, decisions are judged by what their actions are worth, and hand histories say what happened.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use warpplay::cfr::spot::{Node, NodeReport, Practice, PracticeDecision, PracticeEvent, PracticeMove, Verb};
use warpplay::cfr::{Algorithm, SolvedSpot, Spot, SpotSolver};
use warpplay::{Device, Error};
use warpplay_tests::random::Random;

use super::solved::{flop, river, spot, turn};

/// What sums over at most 64 × 64 pairs of hands on 48 boards, of at most 1,000 chips, lose by rounding.
const DOUBLE: f64 = 1e-6;

fn solver(spot: &Spot, iterations: u64) -> SpotSolver {
    let mut solver = SpotSolver::builder(spot)
        .algorithm(Algorithm::CfrPlus)
        .iterations(iterations)
        .build(&Device::cpu())
        .expect("good");
    solver.run(|_| ControlFlow::Continue(())).expect("runs");
    solver
}

fn solved(spot: &Spot, iterations: u64) -> SolvedSpot {
    solver(spot, iterations).solved().expect("strategies")
}

fn apart(one: &str, other: &str) -> bool {
    !other.contains(&one[..2]) && !other.contains(&one[2..])
}

/// All pairs of hands of a node with the product of their reaches.
fn pairs(node: &Node<'_>) -> BTreeMap<[String; 2], f64> {
    let (first, second) = (node.reach(0), node.reach(1));
    let pairs = first.iter().flat_map(|one| second.iter().map(move |other| (one, other)));
    let pairs = pairs.filter(|((one, a), (other, b))| a * b > 0.0 && apart(one, other));
    pairs.map(|((one, a), (other, b))| ([one.clone(), other.clone()], a * b)).collect()
}

/// Deviation of a count of `n` draws of this probability that happens in one of 10⁹ tests or less: six standard deviations, and the rest of the binomial's skewness.
fn most_apart(n: usize, probability: f64) -> f64 {
    6.0 * (n as f64 * probability * (1.0 - probability)).sqrt() + 12.0
}

#[test]
fn hands_and_cards_are_dealt_as_often_as_they_should() {
    let solved = solved(&turn(), 20);
    for (line, board) in [("", ""), ("c", ""), ("cc/", "3h")] {
        let start = solved.at(line, board).expect("a node");
        let pairs = pairs(&start);
        let total: f64 = pairs.values().sum();
        let seat = start.seat().expect("somebody acts");
        let mut practice = Practice::new(start, 5).expect("good");
        let n = 4000;
        let mut counts = BTreeMap::new();
        for _ in 0..n {
            let hand = practice.deal(seat).expect("a hand");
            assert!(hand.events().is_empty() && hand.seat() == seat);
            *counts.entry([hand.cards(0), hand.cards(1)]).or_insert(0) += 1;
        }
        assert!(counts.keys().all(|pair| pairs.contains_key(pair)), "'{line}'");
        for (pair, weight) in &pairs {
            let (count, expected) = (counts.get(pair).copied().unwrap_or(0), weight / total);
            let apart = (f64::from(count) - n as f64 * expected).abs();
            assert!(apart < most_apart(n, expected), "'{line}', {pair:?}: {count}, expected {}", n as f64 * expected);
        }
    }
    // After two checks a river comes: one of 52 less 4 on the board and 4 in the hands.
    let mut practice = Practice::new(solved.root(), 9).expect("good");
    let (mut counts, mut n) = (BTreeMap::new(), 0usize);
    for _ in 0..4000 {
        practice.deal(0).expect("a hand");
        practice.act("c").expect("a check");
        let hand = practice.hand().expect("a hand");
        let card = hand.events().iter().find_map(|event| match event {
            PracticeEvent::Card(card) => Some(card.clone()),
            PracticeEvent::Move(_) => None,
        });
        if let Some(card) = card {
            assert!([hand.cards(0), hand.cards(1)].iter().all(|cards| !cards.contains(&card)), "{card}");
            *counts.entry(card).or_insert(0) += 1;
            n += 1;
        }
    }
    assert!(n > 500, "{n} rivers");
    // No range has a three, a four, and so on: these cards are never in a hand.
    for card in ["3c", "4d", "5h", "6s", "8c", "9d", "Th"] {
        let count = counts.get(card).copied().unwrap_or(0);
        assert!((f64::from(count) - n as f64 / 44.0).abs() < most_apart(n, 1.0 / 44.0), "{card}: {count} of {n}");
    }
}

/// Plays a hand by this choice of a decision; returns the decisions.
fn play(
    practice: &mut Practice<'_>,
    seat: usize,
    mut choose: impl FnMut(&[f64], &[f64]) -> usize,
) -> Vec<PracticeDecision> {
    practice.deal(seat).expect("a hand");
    let mut decisions = Vec::new();
    while practice.hand().is_some_and(|hand| !hand.is_over()) {
        let judged = practice.judge().expect("judged");
        let action = judged.actions[choose(&judged.ev, &judged.strategy)].clone();
        decisions.push(practice.act(&action).expect("an action"));
    }
    decisions
}

fn drawn(random: &mut Random, parts: &[f64]) -> usize {
    let mut left = f64::from(random.unit());
    let place = parts.iter().position(|part| {
        left -= part;
        left < 0.0
    });
    place.unwrap_or(parts.len() - 1)
}

fn best(ev: &[f64]) -> usize {
    (0..ev.len()).max_by(|&one, &other| ev[one].total_cmp(&ev[other])).expect("actions")
}

/// Every decision is judged by the report of its node, on boards whose tables lie under other suits too, and what is best loses nothing.
#[test]
fn decisions_are_judged_as_nodes_are() {
    let mut random = Random(3);
    for (name, spot, iterations, n) in [("river", river(), 30, 12), ("turn", turn(), 10, 12), ("flop", flop(), 3, 4)] {
        let solved = solved(&spot, iterations);
        let mut practice = Practice::new(solved.root(), 1).expect("good");
        let mut n_judged = 0;
        for number in 0..n {
            let seat = number % 2;
            let decisions = play(&mut practice, seat, |ev, _| random.below(ev.len()));
            let known = practice.hand().expect("a hand").board();
            for decision in decisions {
                let judged = &decision.judgement;
                assert!(known.starts_with(&judged.board), "{known}, {}", judged.board);
                let report = solved.at(&judged.history, &judged.board).expect("a node").report().expect("a report");
                let hand = report.by_hand[seat].iter().find(|hand| hand.hand == judged.hand).expect("the hand");
                assert_eq!((report.pot, &report.actions), (judged.pot, &judged.actions));
                assert_eq!((&hand.action_ev, &hand.strategy), (&judged.ev, &judged.strategy), "{name}");
                let at = judged.actions.iter().position(|action| *action == decision.action).expect("an action");
                assert_eq!(decision.loss, judged.best() - judged.ev[at]);
                assert_eq!(decision.loss_of_pot, Some(decision.loss / judged.pot));
                assert_eq!(decision.frequency, judged.strategy[at]);
                assert!(decision.loss >= 0.0);
                n_judged += 1;
            }
        }
        assert!(n_judged >= n, "{name}: {n_judged}");
        let before = practice.score();
        let decisions = play(&mut practice, 0, |ev, _| best(ev));
        assert!(decisions.iter().all(|decision| decision.loss == 0.0 && decision.gain > -DOUBLE));
        let score = practice.score();
        assert_eq!((score.hands, score.loss), (before.hands + 1, before.loss));
        let worst = practice.worst(3);
        assert!(worst.is_sorted_by(|(_, one), (_, other)| one.loss >= other.loss));
        assert!(worst.iter().all(|(_, decision)| decision.loss > 0.0) && worst.len() <= 3);
    }
}

/// The nodes at which a seat acts, with what came before each action: all of a river.
fn decisions_of<'a>(node: Node<'a>, seat: usize, deep: usize, all: &mut Vec<(NodeReport, usize)>) {
    let acts = node.seat() == Some(seat);
    if acts {
        all.push((node.report().expect("a report"), deep));
    }
    for action in node.actions() {
        decisions_of(node.child(&action).expect("an action"), seat, deep + usize::from(acts), all);
    }
}

/// Who plays the saved strategy loses something at each decision, on average. Taking the best action at all decisions that are the player's `k`-th gains exactly what is lost there, and no deviation
/// gains more than the seat's part of NashConv, which is twice the exploitability.
#[test]
fn the_saved_strategy_loses_no_more_than_it_can_be_improved() {
    for iterations in [3, 30, 300] {
        let mut solver = solver(&river(), iterations);
        let chips = solver.trajectory().last_key_value().map(|(_, &chips)| chips).expect("measured at the end");
        let solved = solver.solved().expect("strategies");
        let root = solved.root();
        let all_pairs: f64 = pairs(&root).values().sum();
        for seat in 0..2 {
            let mut all = Vec::new();
            decisions_of(solved.root(), seat, 0, &mut all);
            let mut losses: BTreeMap<usize, f64> = BTreeMap::new();
            for (report, deep) in &all {
                for hand in &report.by_hand[seat] {
                    let others = report.by_hand[1 - seat].iter().filter(|other| apart(&hand.hand, &other.hand));
                    let weight = hand.reach * others.map(|other| other.reach).sum::<f64>() / all_pairs;
                    let best = hand.action_ev[best(&hand.action_ev)];
                    *losses.entry(*deep).or_insert(0.0) += weight * (best - hand.ev);
                }
            }
            assert!(losses.len() >= 2, "{losses:?}");
            for (deep, loss) in losses {
                // Measured in single precision: some roundings of 2⁻²⁴ of 400 chips.
                assert!(
                    loss > -DOUBLE && loss < 2.0 * chips + 1e-3,
                    "decision {deep} of seat {seat}: {loss}, exploitability {chips}"
                );
            }
        }
    }
}

/// What is won and what is expected have the same mean: that of the strategy if the player plays it. `expected` has less spread.
#[test]
fn without_luck_the_mean_is_the_same() {
    let solved = solved(&turn(), 30);
    let report = solved.root().report().expect("a report");
    let mut random = Random(11);
    for seat in 0..2 {
        let mut practice = Practice::new(solved.root(), 100 + seat as u64).expect("good");
        let n = 1500;
        for _ in 0..n {
            play(&mut practice, seat, |_, strategy| drawn(&mut random, strategy));
        }
        let records = practice.records();
        assert_eq!(records.len(), n);
        let spread = [0, 1].map(|which| {
            let values: Vec<f64> = records.iter().map(|record| [record.won, record.expected][which]).collect();
            let mean = values.iter().sum::<f64>() / n as f64;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
            let error = (variance / n as f64).sqrt();
            // Six standard errors: once in 10⁹ tests.
            assert!((mean - report.ev[seat]).abs() < 6.0 * error, "{mean} ± {error}, expected {}", report.ev[seat]);
            error
        });
        assert!(spread[1] < spread[0], "{spread:?}");
        let score = practice.score();
        assert_eq!((score.hands, score.decisions > 0), (n as u64, true));
        assert!((score.loss_per_hand - score.loss / n as f64).abs() < 1e-12);
    }
}

/// The same seed deals the same cards whatever is done, and the same hands if the same is done.
#[test]
fn a_seed_deals_the_same_hands() {
    let solved = solved(&flop(), 2);
    let cards = |practice: &Practice<'_>| {
        let records = practice.records().iter();
        records.map(|record| (record.hands.clone(), record.board.clone())).collect::<Vec<_>>()
    };
    let played = |last: bool| {
        let mut practice = Practice::new(solved.root(), 21).expect("good");
        for _ in 0..6 {
            play(&mut practice, 0, |ev, _| if last { ev.len() - 1 } else { 0 });
        }
        practice
    };
    let (one, same, other) = (played(true), played(true), played(false));
    assert_eq!(one.records(), same.records());
    for ((hands, board), (others, other)) in cards(&one).into_iter().zip(cards(&other)) {
        assert_eq!(hands, others);
        assert!(board.starts_with(&other) || other.starts_with(&board), "{board}, {other}");
    }
}

#[test]
fn what_cannot_be_done_is_told() {
    let solved = solved(&turn(), 2);
    for line in ["cr100f", "r100c"] {
        let error = Practice::new(solved.at(line, "").expect("a node"), 1).expect_err("nobody acts").to_string();
        assert!(
            error.contains(&format!("option line: '{line}' is not allowed (a line after which a seat acts)")),
            "{error}"
        );
    }
    let mut practice = Practice::new(solved.at("r100", "").expect("a node"), 1).expect("good");
    assert_eq!((practice.acts(0), practice.acts(1), practice.acts(2)), (false, true, false));
    assert!(matches!(practice.judge(), Err(Error::Order { .. })) && practice.hand().is_none());
    for seat in [0, 2] {
        let error = practice.deal(seat).expect_err("it does not act").to_string();
        assert_eq!(error, format!("option seat: {seat} is not allowed (a seat that acts: 1)"));
    }
    practice.deal(1).expect("a hand");
    let error = practice.act("r200").expect_err("no such action").to_string();
    assert_eq!(error, "option action: 'r200' is not allowed (f, c)");
    practice.act("f").expect("a fold");
    assert!(matches!(practice.act("f"), Err(Error::Order { .. })));
    let record = &practice.records()[0];
    assert_eq!((record.won, record.history.as_str(), record.number), (0.0, "r100f", 1));
    assert_eq!(practice.hand().map(|hand| hand.choices().len()), Some(0));
    // A hand that is left does not count.
    practice.deal(1).expect("a hand");
    practice.deal(1).expect("a hand");
    practice.act("f").expect("a fold");
    assert_eq!(practice.records().iter().map(|record| record.number).collect::<Vec<_>>(), [1, 3]);
}

/// In a tournament values are prizes beyond those of giving up, at every node.
#[test]
fn prizes_are_judged_too() {
    let icm = json!({"others": [50], "prizes": [50, 30, 20]});
    let solved = solved(&spot(json!({"turn": "2d", "river": "7c", "icm": icm})), 30);
    let mut practice = Practice::new(solved.at("cr100", "").expect("a node"), 1).expect("good");
    for _ in 0..20 {
        practice.deal(0).expect("a hand");
        let decision = practice.act("f").expect("a fold");
        assert_eq!((decision.loss_of_pot, decision.judgement.ev[0].abs() < DOUBLE), (None, true), "{decision:?}");
    }
    let score = practice.score();
    assert!(score.won.abs() < DOUBLE && score.loss >= 0.0, "{score:?}");
}

fn said(done: &PracticeMove) -> String {
    format!("{} {done}", done.seat)
}

/// One hand each, and locks: what happens is given.
fn given(changes: Value) -> Spot {
    let mut all = json!({
        "pot": 20, "effective_stack": 100, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c", "ranges": ["AhKh", "QdQc"],
        "bet_sizes": {"turn": [0.5], "river": [0.5]}, "max_raises": {"turn": 2, "river": 2},
    });
    for (field, value) in changes.as_object().into_iter().flatten() {
        all[field] = value.clone();
    }
    spot(all)
}

fn lock(history: &str, seat: usize, strategy: &[f64]) -> Value {
    json!({"history": history, "seat": seat, "strategy": strategy})
}

#[test]
fn hand_histories_are_those_that_were_written_by_hand() {
    let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    // Seat 0 bets, is raised all-in, and calls.
    let locks = json!([lock("", 0, &[0.0, 1.0]), lock("r10r100", 0, &[0.0, 1.0])]);
    let raised = solved(&given(json!({"locks": locks, "rake": {"part": 0.05, "cap": 3}})), 1);
    let mut practice = Practice::new(raised.root(), 1).expect("good");
    let hand = practice.deal(1).expect("a hand");
    assert_eq!(hand.hand_history(7, time), None);
    let choices: Vec<String> = hand.choices().iter().map(said).collect();
    assert_eq!(choices, ["1 fold", "1 call 10", "1 raise to 100, all-in"]);
    assert_eq!((hand.choices()[2].verb, hand.choices()[2].chips, hand.stack(1)), (Verb::Raise, 100.0, 100.0));
    practice.act("r100").expect("a raise");
    let hand = practice.hand().expect("a hand");
    let moves: Vec<String> = hand
        .events()
        .iter()
        .map(|event| match event {
            PracticeEvent::Move(done) => said(done),
            PracticeEvent::Card(card) => card.clone(),
        })
        .collect();
    assert_eq!(moves, ["0 bet 10", "1 raise to 100, all-in", "0 call 90, all-in"]);
    // The pot of 220 less a rake of 3, and 100 put in.
    assert_eq!(practice.records()[0].won, 117.0);
    let shown = "\
PokerStars Hand #7: Hold'em No Limit ($2/$4 USD) - 2001/09/09 01:46:40 UTC
Table 'warpplay' 2-max Seat #2 is the button
Seat 1: warpplay ($110 in chips)
Seat 2: Hero ($110 in chips)
Hero: posts small blind $2
warpplay: posts big blind $4
*** HOLE CARDS ***
Dealt to Hero [Qd Qc]
Hero: raises $6 to $10
warpplay: calls $6
*** FLOP *** [Qs Jh 2h]
warpplay: checks
Hero: checks
*** TURN *** [Qs Jh 2h] [2d]
warpplay: checks
Hero: checks
*** RIVER *** [Qs Jh 2h 2d] [7c]
warpplay: bets $10
Hero: raises $90 to $100 and is all-in
warpplay: calls $90 and is all-in
*** SHOW DOWN ***
warpplay: shows [Ah Kh] (a pair of Deuces)
Hero: shows [Qd Qc] (a full house, Queens full of Deuces)
Hero collected $217 from pot
*** SUMMARY ***
Total pot $220 | Rake $3
Board [Qs Jh 2h 2d 7c]
Seat 1: warpplay (big blind) showed [Ah Kh] and lost with a pair of Deuces
Seat 2: Hero (button) (small blind) showed [Qd Qc] and won ($217) with a full house, Queens full of Deuces


";
    assert_eq!(hand.hand_history(7, time).as_deref(), Some(shown));

    // From the turn on, with amounts that are no whole chips: seat 0 checks, calls, and folds the river, whichever comes.
    let locks = json!([lock("", 0, &[1.0, 0.0]), lock("cr10.25", 0, &[0.0, 1.0, 0.0])]);
    let spot = given(json!({"river": null, "pot": 20.5, "max_raises": {"turn": 2, "river": 1}, "locks": locks}));
    let called = solved(&spot, 1);
    let mut practice = Practice::new(called.root(), 1).expect("good");
    practice.deal(1).expect("a hand");
    practice.act("r10.25").expect("a bet");
    let hand = practice.hand().expect("a hand");
    let river = hand.events().iter().find_map(|event| match event {
        PracticeEvent::Card(card) => Some(card.clone()),
        PracticeEvent::Move(_) => None,
    });
    let river = river.expect("a river");
    assert!(!hand.is_over() && hand.board() == format!("QsJh2h2d{river}"));
    if hand.node().actions()[0] == "f" {
        practice.act("f").expect("a fold");
    } else {
        practice.act("c").expect("a check");
    }
    let text = practice.hand().and_then(|hand| hand.hand_history(8, time)).expect("a hand that is over");
    let start = format!(
        "\
*** TURN *** [Qs Jh 2h] [2d]
warpplay: checks
Hero: bets $10.25
warpplay: calls $10.25
*** RIVER *** [Qs Jh 2h 2d] [{river}]
"
    );
    assert!(text.contains(&start) && text.contains("Seat 1: warpplay ($110.25 in chips)"), "{text}");

    // Who bets and is not called gets the bet back, and the pot.
    let locks = json!([lock("", 0, &[1.0, 0.0]), lock("cr10", 0, &[1.0, 0.0, 0.0])]);
    let folded = solved(&given(json!({"locks": locks})), 1);
    let mut practice = Practice::new(folded.root(), 1).expect("good");
    practice.deal(1).expect("a hand");
    practice.act("r10").expect("a bet");
    let text = practice.hand().and_then(|hand| hand.hand_history(9, time)).expect("a hand that is over");
    let end = "\
*** RIVER *** [Qs Jh 2h 2d] [7c]
warpplay: checks
Hero: bets $10
warpplay: folds
Uncalled bet ($10) returned to Hero
Hero collected $20 from pot
Hero: doesn't show hand
*** SUMMARY ***
Total pot $20 | Rake $0
Board [Qs Jh 2h 2d 7c]
Seat 1: warpplay (big blind) folded on the River
Seat 2: Hero (button) (small blind) collected ($20)


";
    assert!(text.ends_with(end), "{text}");
    assert_eq!(practice.records()[0].won, 20.0);
}
