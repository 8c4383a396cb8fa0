//! The engine against the plainest program, on games small enough for it.

mod naive;

use std::sync::Arc;

use super::compile::{Frame, compile};
use super::engine::StreetEngine;
use super::{StreetBatch, fits};
use crate::cfr::betting::BettingTree;
use crate::cfr::cards::{CardSet, subsets};
use crate::cfr::engine::{Engine, Values};
use crate::cfr::game_file::GameDef;
use crate::cfr::options::{Algorithm, Numbers, Options, Sampling, Updates};
use crate::cfr::vector::{Setup, SetupLock, VectorGame};
use crate::test_kernels::devices;
use crate::{Device, Error};
use naive::{Mode, Naive};

fn rules(rounds: usize, cards: &str, suits: usize, ranks: usize, n_hole: usize) -> GameDef {
    let many = |word: &str| vec![word; rounds].join(" ");
    let text = format!(
        "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = {rounds}\nblind = 1 1\nraiseSize = {}\nfirstPlayer = {}\nmaxRaises = {}\n\
         numSuits = {suits}\nnumRanks = {ranks}\nnumHoleCards = {n_hole}\nnumBoardCards = {cards}\nEND GAMEDEF\n",
        many("2"),
        many("1"),
        many("2"),
    );
    GameDef::parse(&text).expect("rules")
}

fn game(rounds: usize, cards: &str, suits: usize, ranks: usize, n_hole: usize, isomorphism: bool) -> Arc<VectorGame> {
    let rules = rules(rounds, cards, suits, ranks, n_hole);
    let tree = BettingTree::new(&rules).expect("a tree");
    Arc::new(VectorGame::from_game(&rules, &tree, isomorphism).expect("a game"))
}

fn kuhn() -> Arc<VectorGame> {
    let text = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 1\nblind = 1 1\nraiseSize = 1\nfirstPlayer = 1\nmaxRaises = 1\n\
                numSuits = 1\nnumRanks = 3\nnumHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n";
    let rules = GameDef::parse(text).expect("rules");
    let tree = BettingTree::new(&rules).expect("a tree");
    Arc::new(VectorGame::from_game(&rules, &tree, false).expect("a game"))
}

fn leduc(isomorphism: bool) -> Arc<VectorGame> {
    let text = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 2\nblind = 1 1\nraiseSize = 2 4\nfirstPlayer = 1 1\nmaxRaises = 2 2\n\
                numSuits = 2\nnumRanks = 3\nnumHoleCards = 1\nnumBoardCards = 0 1\nEND GAMEDEF\n";
    let rules = GameDef::parse(text).expect("rules");
    let tree = BettingTree::new(&rules).expect("a tree");
    Arc::new(VectorGame::from_game(&rules, &tree, isomorphism).expect("a game"))
}

/// Hands of two cards with a board of three on the table, unequal ranges with weights.
fn spot(n_dealt: &[usize], locked: bool) -> Arc<VectorGame> {
    let cards = n_dealt.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let rules = rules(n_dealt.len(), &cards, 2, 6, 2);
    let tree = BettingTree::new(&rules).expect("a tree");
    let board: CardSet = 0b1000_0010_0001;
    let hands: Vec<CardSet> = subsets(rules.deck.all() & !board, 2).collect();
    let weight = |seat: usize, at: usize| ((at * (3 + seat) + seat) % 5) as f64 / 4.0;
    let range = |seat: usize| {
        let weighted = hands.iter().enumerate().map(|(at, &hand)| (hand, weight(seat, at)));
        weighted.filter(|&(_, weight)| weight > 0.0).collect::<Vec<_>>()
    };
    let ranges = [range(0), range(1)];
    // The first decision of seat 1, after a check.
    let locks = if locked {
        let n = ranges[1].len();
        vec![SetupLock { betting: 1, strategy: vec![vec![0.25; n], vec![0.75; n]] }]
    } else {
        Vec::new()
    };
    let setup =
        Setup { deck: rules.deck, n_hole: 2, board, n_dealt, ranges, tree: &tree, locks: &locks, isomorphism: true };
    Arc::new(VectorGame::from_setup(&setup).expect("a game"))
}

fn options(algorithm: Algorithm, updates: Updates) -> Options {
    Options { algorithm, updates, ..Options::default() }
}

/// The largest difference of a table from the plain one, over the plain one's largest value.
fn apart(ours: &Values, plain: &[f64]) -> f64 {
    assert_eq!(ours.len(), plain.len());
    let size = plain.iter().fold(1e-30, |size: f64, value| size.max(value.abs()));
    let worst = (0..plain.len()).map(|at| (ours.get(at) - plain[at]).abs()).fold(0.0, f64::max);
    worst / size
}

/// Runs both, and compares everything.
fn agree(device: &Device, name: &str, game: &Arc<VectorGame>, options: &Options, n: u32, bound: f64) {
    let what = format!("{name}, {} {} {} on {device}", options.algorithm, options.updates, options.numbers);
    let mut plain = Naive::new(game, *options);
    plain.run(n);
    let mut engine = StreetEngine::new(device, vec![Arc::clone(game)], options).unwrap_or_else(|e| panic!("{what}: {e}"));
    engine.run(n).unwrap_or_else(|e| panic!("{what}: {e}"));
    let measured = engine.measure().unwrap_or_else(|e| panic!("{what}: {e}"));
    let utilities = engine.utilities().expect("sums");
    let tables = engine.tables().expect("tables");
    for seat in 0..2 {
        let regrets = apart(&tables.regrets[seat], &plain.regrets[seat]);
        let averages = apart(&tables.averages[seat], &plain.averages[seat]);
        assert!(regrets < bound && averages < bound, "{what}: seat {seat}: regrets {regrets:e}, averages {averages:e}");
        if let Some(last) = tables.predictions.get(seat) {
            let last = apart(last, &plain.last[seat]);
            assert!(last < bound, "{what}: seat {seat}: last {last:e}");
        }
        let value = plain.measure(seat, Mode::Value);
        let best = plain.measure(seat, Mode::Best);
        let (ours, ours_best) = (measured.values[seat], measured.best_responses[seat]);
        assert!((ours - value).abs() < 10.0 * bound, "{what}: seat {seat}: value {ours}, {value}");
        assert!((ours_best - best).abs() < 10.0 * bound, "{what}: seat {seat}: best {ours_best}, {best}");
        let (ours, theirs) = (utilities[seat], plain.utilities[seat]);
        assert!((ours - theirs).abs() < 10.0 * bound * f64::from(n), "{what}: seat {seat}: utility {ours}, {theirs}");
    }
}

const ALGORITHMS: [Algorithm; 6] =
    [Algorithm::Cfr, Algorithm::CfrPlus, Algorithm::Lcfr, Algorithm::Dcfr, Algorithm::PcfrPlus, Algorithm::CfrBr];

#[test]
fn one_street_is_as_plain_recursion_has_it() {
    for device in devices() {
        for algorithm in ALGORITHMS {
            for updates in [Updates::Alternating, Updates::Simultaneous] {
                if algorithm == Algorithm::CfrBr && updates == Updates::Simultaneous {
                    continue;
                }
                let options = options(algorithm, updates);
                agree(&device, "kuhn", &kuhn(), &options, 10, 1e-5);
                agree(&device, "spot", &spot(&[0], false), &options, 3, 1e-5);
            }
        }
        let plain = options(Algorithm::CfrPlus, Updates::Alternating);
        agree(&device, "boards", &game(1, "2", 2, 4, 2, true), &plain, 3, 1e-5);
        agree(&device, "boards", &game(1, "2", 2, 4, 2, false), &plain, 3, 1e-5);
        agree(&device, "locked", &spot(&[0], true), &plain, 3, 1e-5);
    }
}

#[test]
fn many_streets_are_as_plain_recursion_has_them() {
    for device in devices() {
        for algorithm in ALGORITHMS {
            agree(&device, "leduc", &leduc(false), &options(algorithm, Updates::Alternating), 5, 1e-5);
        }
        let simultaneous = options(Algorithm::Dcfr, Updates::Simultaneous);
        agree(&device, "leduc", &leduc(true), &simultaneous, 5, 1e-5);
        let plus = options(Algorithm::CfrPlus, Updates::Alternating);
        agree(&device, "locked turn", &spot(&[0, 1], true), &plus, 2, 1e-5);
        agree(&device, "two cards", &game(2, "0 1", 2, 4, 2, true), &plus, 2, 1e-5);
    }
}
