//! Before the flop: pushing or folding.

use std::sync::Arc;

use serde::Deserialize;
use warpplay::Device;
use warpplay::cfr::engines::walk::{Buckets, Information, Sampler};
use warpplay::cfr::game::{Deck, members};
use warpplay::cfr::preflop::{Equities, N_CLASSES, PushFold, PushFoldChart, class_name, class_number, n_hands};
use warpplay::cfr::{Algorithm, CardSet, GameDef, Options, Sampling};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::golden;

/// The published charts, `[row][column]`.
#[derive(Deserialize)]
struct Published {
    push: Vec<Vec<Option<f64>>>,
    call: Vec<Vec<Option<f64>>>,
}

/// How far from a published stack a hand is looked at: the charts are rounded to a tenth, and next to the edge of a hand pushing it and folding it are worth the same within a few thousandths of a
/// big blind.
const EDGE: f64 = 0.3;

#[test]
fn the_published_charts_come_out() {
    let published: Published = serde_json::from_str(&golden::text("cfr/push_fold.json")).expect("two charts");
    for stack in [4.0, 7.0, 10.0, 14.0] {
        let solved = PushFold::new(stack).solve(&Device::cpu(), 500).expect("solves");
        assert!(solved.exploitability < 1e-4, "{}", solved.exploitability);
        let mut n_compared = 0;
        for (seat, (chart, found)) in
            [(&published.push, &solved.push), (&published.call, &solved.call)].into_iter().enumerate()
        {
            for (class, largest) in chart.iter().flatten().enumerate() {
                let Some(largest) = largest else { continue };
                if (largest - stack).abs() > EDGE {
                    let what = format!("seat {seat} with {:?} and {stack}: {}", class_name(class), found[class]);
                    assert_eq!(found[class] > 0.5, stack < *largest, "{what}, published {largest}");
                    n_compared += 1;
                }
            }
        }
        // 165 hands of the first chart and 91 of the second, less those at the edge.
        assert!(n_compared > 230, "{n_compared}");
    }
}

#[test]
fn hands_with_gaps_have_them() {
    // 63s is pushed from 5.1 to 7.1 big blinds and below 2.3 (the same source).
    let games = [2.2, 4.0, 6.9, 8.0].map(PushFold::new);
    let chart =
        PushFoldChart::solve(&Device::cpu(), &games, 500, |_| std::ops::ControlFlow::Continue(())).expect("solves");
    let class = class_number("63s").expect("a class");
    let pushed: Vec<bool> = chart.solved.iter().map(|solved| solved.push[class] > 0.5).collect();
    assert_eq!(pushed, [true, false, true, false]);
    assert_eq!(
        (chart.largest_stack(0, class), chart.largest_stack(1, class_number("32o").expect("a class"))),
        (Some(6.9), Some(2.2))
    );
}

#[test]
fn every_device_solves_it() {
    // One iteration, since simt is slow.
    let on_cpu = PushFold::new(5.0).solve(&Device::cpu(), 1).expect("solves");
    for_each_device(|device| {
        let found = PushFold::new(5.0).solve(device, 1)?;
        // Sums over 28,561 deals whose probabilities add up to 1, of at most 5 big blinds: so many roundings of 2^-53 are 2e-11.
        for (found, expected) in [(found.value, on_cpu.value), (found.exploitability, on_cpu.exploitability)] {
            assert!((found - expected).abs() < 1e-9, "{found}, expected {expected} on {device}");
        }
        Ok(())
    });
}

#[test]
fn an_ante_makes_more_hands_stay_in() {
    let without = PushFold::new(8.0).solve(&Device::cpu(), 300).expect("solves");
    let ante = PushFold { ante: 0.25, ..PushFold::new(8.0) }.solve(&Device::cpu(), 300).expect("solves");
    assert!((0..2).all(|seat| ante.frequency(seat) > without.frequency(seat)), "more is in the middle");
}

/// Buckets of hold'em's hands: classes before the flop, and one bucket after it.
struct ClassesFirst;

impl Buckets for ClassesFirst {
    fn n_buckets(&self, round: usize) -> u32 {
        if round == 0 { N_CLASSES as u32 } else { 1 }
    }

    fn bucket(&self, round: usize, hole: CardSet, _: CardSet) -> u32 {
        if round > 0 {
            return 0;
        }
        let cards: Vec<u8> = members(hole).collect();
        let (low, high) = (cards[0], cards[1]);
        let name = |card: u8| Deck::FULL.name(card);
        let (first, second) = (name(high), name(low));
        let suits = if first[1..] == second[1..] { "s" } else { "o" };
        let ranks = format!("{}{}", &first[..1], &second[..1]);
        let name = if first[..1] == second[..1] { ranks } else { ranks + suits };
        class_number(&name).expect("a class") as u32
    }
}

/// A hand of a class.
fn hand(class: usize) -> String {
    let name = class_name(class).expect("a class");
    let (first, second) = (&name[..1], &name[1..2]);
    if name.ends_with('s') { format!("{first}h{second}h") } else { format!("{first}h{second}d") }
}

/// Sampled deals of whole hands of hold'em find an equilibrium whose exact distance is known: with ten big blinds the small blind folds, calls or goes all-in, the big blind may go all-in
/// after a call, and nobody bets after the flop. So exact chances of winning before the flop tell what every answer is worth.
///
/// The regret of a set after T deals is at most Δ √(|A| q T) where q is the chance that its hand is dealt (Zinkevich et al. 2007, theorem 4, of the deals that meet it), with Δ = 40 chips between
/// the best and the worst end; NashConv is at most the sum over all sets, over T. Sampling adds noise of the same order (Lanctot et al. 2009, theorem 5): twice the sum is the bound.
#[test]
fn sampled_deals_find_the_known_game_before_the_flop() {
    let text = "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 4\nstack = 20 20\nblind = 2 1\nbetSizes = allin\nmaxRaises = 2 0 0 0\nfirstPlayer = 2 1 1 1\n\
                numSuits = 4\nnumRanks = 13\nnumHoleCards = 2\nnumBoardCards = 0 3 1 1\nEND GAMEDEF";
    let game = GameDef::parse(text).expect("a definition");
    let options =
        Options { algorithm: Algorithm::CfrPlus, sampling: Sampling::Chance, batch: 32, ..Options::default() };
    let information = Information::Buckets(Arc::new(ClassesFirst));
    let mut sampler = Sampler::build(&Device::cpu(), &game, &information, &options).expect("a sampler");
    sampler.run(30_000).expect("iterations");
    let asked = |history: &str| -> Vec<[f64; 3]> {
        (0..N_CLASSES).map(|class| sampler.average(history, &hand(class), "").expect("a set")).collect()
    };
    // Fold, call, all-in: the first decision of the small blind, the big blind's after a call and after all-in, and the small blind's after a call and all-in.
    let [first, called, pushed, raised] = ["", "c", "r20", "cr20"].map(asked);
    let pairs = |own: usize, other: usize| Equities::pairs(own, other) as f64 / (1326.0 * 1225.0);
    // What a class wins of `chips` that both put in.
    let wins = |own: usize, other: usize, chips: f64| chips * (2.0 * Equities::get().equity(own, other) - 1.0);
    let sum = |own: usize, of: &dyn Fn(usize) -> f64| -> f64 {
        (0..N_CLASSES).map(|other| pairs(own, other) * of(other)).sum()
    };
    // Best responses: the small blind's against the big blind's strategy, and the other way round.
    let small: f64 = (0..N_CLASSES)
        .map(|own| {
            let fold = sum(own, &|_| -1.0);
            let checked = sum(own, &|other| called[other][1] * wins(own, other, 2.0));
            let gives_up = sum(own, &|other| called[other][2] * -2.0);
            let stays = sum(own, &|other| called[other][2] * wins(own, other, 20.0));
            let push = sum(own, &|other| pushed[other][0] * 2.0 + pushed[other][1] * wins(own, other, 20.0));
            fold.max(checked + gives_up.max(stays)).max(push)
        })
        .sum();
    let big: f64 = (0..N_CLASSES)
        .map(|own| {
            let folds = sum(own, &|other| first[other][0]);
            let check = sum(own, &|other| first[other][1] * wins(own, other, 2.0));
            let raise = sum(own, &|other| {
                first[other][1] * (raised[other][0] * 2.0 + raised[other][1] * wins(own, other, 20.0))
            });
            let gives_up = sum(own, &|other| first[other][2] * -2.0);
            let calls = sum(own, &|other| first[other][2] * wins(own, other, 20.0));
            folds + check.max(raise) + gives_up.max(calls)
        })
        .sum();
    let nash_conv = small + big;
    let n_deals = sampler.deals() as f64;
    let roots: f64 = (0..N_CLASSES).map(|class| (n_hands(class) as f64 / 1326.0).sqrt()).sum();
    let bound = 2.0 * 40.0 * (3f64.sqrt() + 3.0 * 2f64.sqrt()) * roots / n_deals.sqrt();
    assert!((-1e-9..bound).contains(&nash_conv), "{nash_conv}, bound {bound}");
    // Pushing and folding alone is worth as much to the small blind as in the game of pushing and folding, so all of it is worth no less.
    let push_fold = PushFold::new(10.0).solve(&Device::cpu(), 500).expect("solves");
    assert!(small >= 2.0 * (push_fold.value - push_fold.exploitability), "{small}, {}", push_fold.value);
}
