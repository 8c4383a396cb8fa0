//! The engine against the reference, on small games.

mod plain;

use std::collections::BTreeSet;
use std::sync::Arc;

use warpplay_gpu::cfr::street::{MAX_THREADS, threads};

use super::compile::{Frame, compile};
use super::engine::{StreetEngine, shape};
use super::{StreetBatch, fits};
use crate::cfr::engines::{Solve, cpu};
use crate::cfr::game::betting::BettingTree;
use crate::cfr::game::cards::{CardSet, subsets};
use crate::cfr::game::game_file::GameDef;
use crate::cfr::layout::{Gadget, Given, Node, Setup, SetupLock, Values, VectorGame};
use crate::cfr::options::{Algorithm, Options, Sampling, Updates};
use crate::cfr::spot::{BetSize, SeatSizes, Spot, Streets};
use crate::runtime::test_kernels::devices;
use crate::{Device, Error, Precision};

fn rules(rounds: usize, cards: &str, suits: usize, ranks: usize, n_hole: usize) -> GameDef {
    let many = |word: &str| vec![word; rounds].join(" ");
    let text = format!(
        "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = {rounds}\nblind = 7 7\nraiseSize = {}\nfirstPlayer = {}\nmaxRaises = {}\n\
         numSuits = {suits}\nnumRanks = {ranks}\nnumHoleCards = {n_hole}\nnumBoardCards = {cards}\nEND GAMEDEF\n",
        many("3"),
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

/// Hands of two of 40 cards, and a board on the second street alone: the first street's 780 hands are three rounds of a block's threads.
fn wide() -> Arc<VectorGame> {
    let text = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 2\nblind = 1 1\nraiseSize = 2 4\nfirstPlayer = 1 1\nmaxRaises = 1 1\n\
                numSuits = 4\nnumRanks = 10\nnumHoleCards = 2\nnumBoardCards = 0 1\nEND GAMEDEF\n";
    let rules = GameDef::parse(text).expect("rules");
    let tree = BettingTree::new(&rules).expect("a tree");
    Arc::new(VectorGame::from_game(&rules, &tree, true).expect("a game"))
}

/// Hands of two cards with a board of three on the table, unequal ranges with weights that leave no two actions worth the same.
fn spot(n_dealt: &[usize], locked: bool) -> Arc<VectorGame> {
    let all = |n_hands: usize| Given::all(vec![vec![0.25; n_hands], vec![0.75; n_hands]]);
    let locks = |[_, n]: [usize; 2]| vec![SetupLock { betting: FIRST, runout: Vec::new(), given: all(n) }];
    spot_with(n_dealt, if locked { &locks } else { &|_| Vec::new() })
}

/// The first decision of seat 1, after a check.
const FIRST: u32 = 1;

/// The same with locks, which are made for the numbers of hands.
fn spot_with(n_dealt: &[usize], locks: &dyn Fn([usize; 2]) -> Vec<SetupLock>) -> Arc<VectorGame> {
    let cards = n_dealt.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let rules = rules(n_dealt.len(), &cards, 2, 6, 2);
    let tree = BettingTree::new(&rules).expect("a tree");
    let board: CardSet = 0b1000_0010_0001;
    let hands: Vec<CardSet> = subsets(rules.deck.all() & !board, 2).collect();
    let weight = |seat: usize, at: usize| {
        if (at + seat).is_multiple_of(5) { 0.0 } else { (1.0 + 7.3 * (at + 40 * seat) as f64).sin().abs() }
    };
    let range = |seat: usize| {
        let weighted = hands.iter().enumerate().map(|(at, &hand)| (hand, weight(seat, at)));
        weighted.filter(|&(_, weight)| weight > 0.0).collect::<Vec<_>>()
    };
    let ranges = [range(0), range(1)];
    let locks = locks(ranges.each_ref().map(Vec::len));
    let setup = Setup {
        deck: rules.deck,
        n_hole: 2,
        board,
        n_dealt,
        ranges,
        tree: &tree,
        locks: &locks,
        gadget: None,
        isomorphism: true,
    };
    Arc::new(VectorGame::from_setup(&setup).expect("a game"))
}

/// The same, whose first or second seat may end the game with a part of what it would win in its first iteration, more or less.
fn subgame(n_dealt: &[usize], seat: usize) -> Arc<VectorGame> {
    let mut game = VectorGame::clone(&spot(n_dealt, false));
    let alternative = |hand: usize| 0.02 * (3.1 * hand as f64).sin();
    game.gadget = Some(Gadget { seat, alternatives: (0..game.hands[seat].len()).map(alternative).collect() });
    Arc::new(game)
}

/// The choice of a subgame: regrets, the result's averages and what is measured, on engines of streets and of the CPU; stopped and gone on with, and carried from one engine to the other.
#[test]
fn subgames_agree_with_the_reference() {
    for device in devices() {
        for (seat, n_dealt) in [(0, &[0][..]), (1, &[0]), (1, &[0, 1])] {
            let game = subgame(n_dealt, seat);
            for algorithm in [Algorithm::CfrPlus, Algorithm::Dcfr, Algorithm::PcfrPlus] {
                let options = options(algorithm, Updates::Alternating);
                let mut plain = plain::solver(&game, &options);
                plain.iterate(3);
                let state = plain.state();
                let new_street = || StreetEngine::new(&device, vec![Arc::clone(&game)], &options).expect("an engine");
                let new_cpu = || cpu::build(Arc::clone(&game), &options).expect("an engine");
                let (mut street, mut other): (Box<dyn Solve>, _) = (Box::new(new_street()), new_cpu());
                // The CPU's averages have the weights of the range, as the reference's.
                for (engine, has_weights) in [(&mut street, false), (&mut other, true)] {
                    engine.run(3).expect("iterations");
                    let tables = engine.tables().expect("tables");
                    let what = format!("{algorithm}, seat {seat}, {n_dealt:?} on {device}");
                    for of in 0..2 {
                        let regrets = apart(&tables.regrets[of], &state.regrets[of]);
                        assert!(regrets < SINGLE, "{what}: regrets of seat {of}: {regrets:e}");
                    }
                    let own = 1 - seat;
                    let of_plain = &state.averages[own];
                    let averages = match has_weights {
                        true => apart(&tables.averages[own], of_plain),
                        false => apart(&tables.averages[own], &plain::averages(&game, own, of_plain)),
                    };
                    assert!(averages < SINGLE, "{what}: averages {averages:e}");
                    let (ours, theirs) = (engine.measure().expect("a measure").nash_conv(), plain.gadget_gain());
                    assert!(theirs > 0.0 && (ours - theirs).abs() < 10.0 * SINGLE, "{what}: {ours}, expected {theirs}");
                }
                // The same bits after a stop, and other engines' tables.
                let (mut halves, mut carried) = (new_street(), new_street());
                halves.run(1).expect("iterations");
                let half = halves.tables().expect("tables");
                let mut rest = new_street();
                rest.set_tables(&half).expect("its own tables");
                rest.run(2).expect("iterations");
                assert_eq!(rest.tables().expect("tables"), street.tables().expect("tables"));
                let mut from_cpu = new_cpu();
                from_cpu.set_tables(&half).expect("tables of the other engine");
                from_cpu.run(2).expect("iterations");
                carried.set_tables(&from_cpu.tables().expect("tables")).expect("tables of the other engine");
                for of in 0..2 {
                    let regrets = apart(&carried.tables().expect("tables").regrets[of], &state.regrets[of]);
                    assert!(regrets < SINGLE, "regrets of seat {of}, carried: {regrets:e}");
                }
            }
        }
    }
}

fn options(algorithm: Algorithm, updates: Updates) -> Options {
    Options { algorithm, updates, ..Options::default() }
}

/// Values of Leduc are sums of at most 1,000 terms in a row whose sizes add up to at most 13 chips, each addition with an error of 2⁻²⁴ of its result; NashConv adds four of them.
const ROUNDING: f64 = 1000.0 * 13.0 / (1 << 24) as f64;

/// The value of Leduc to the first player, by a linear programme (`tests/golden/cfr/reference.json`).
const LEDUC: f64 = -0.085_606_424_078;

/// The largest difference of a table from the plain one, over the plain one's largest value.
fn apart(ours: &Values, plain: &[f64]) -> f64 {
    assert_eq!(ours.len(), plain.len());
    let size = plain.iter().fold(1e-30, |size: f64, value| size.max(value.abs()));
    let worst = (0..plain.len()).map(|at| (ours.get(at) - plain[at]).abs()).fold(0.0, f64::max);
    worst / size
}

/// Runs both, and compares everything.
fn agree(device: &Device, name: &str, game: &Arc<VectorGame>, options: &Options, n: u32, bound: f64) {
    let what = format!("{name}, {} {} {} on {device}", options.algorithm, options.updates, options.precision);
    let mut plain = plain::solver(game, options);
    plain.iterate(n.into());
    let (state, values, bests) = (plain.state(), plain.values(), plain.best_responses());
    let mut engine =
        StreetEngine::new(device, vec![Arc::clone(game)], options).unwrap_or_else(|e| panic!("{what}: {e}"));
    engine.run(n).unwrap_or_else(|e| panic!("{what}: {e}"));
    let measured = engine.measure().unwrap_or_else(|e| panic!("{what}: {e}"));
    let utilities = engine.utilities().expect("sums");
    let tables = engine.tables().expect("tables");
    #[allow(clippy::needless_range_loop, reason = "five lists by seat")]
    for seat in 0..2 {
        let regrets = apart(&tables.regrets[seat], &state.regrets[seat]);
        let averages = apart(&tables.averages[seat], &plain::averages(game, seat, &state.averages[seat]));
        assert!(regrets < bound && averages < bound, "{what}: seat {seat}: regrets {regrets:e}, averages {averages:e}");
        if let Some(last) = tables.predictions.get(seat) {
            let last = apart(last, &state.last[seat]);
            assert!(last < bound, "{what}: seat {seat}: last {last:e}");
        }
        let (value, best) = (values[seat], bests[seat]);
        let (ours, ours_best) = (measured.values[seat], measured.best_responses[seat]);
        assert!((ours - value).abs() < 10.0 * bound, "{what}: seat {seat}: value {ours}, {value}");
        assert!((ours_best - best).abs() < 10.0 * bound, "{what}: seat {seat}: best {ours_best}, {best}");
        let (ours, theirs) = (utilities[seat], state.utilities[seat]);
        assert!((ours - theirs).abs() < 10.0 * bound * f64::from(n), "{what}: seat {seat}: utility {ours}, {theirs}");
    }
}

/// Part of a table's largest number by which single precision may differ: an entry is a sum over at most 36 hands on at most 9 boards, at most five times.
const SINGLE: f64 = 5.0 * (36.0 + 9.0) / (1 << 24) as f64;

/// The same with tables in 16 bits, after an iteration in which all play the first strategy: the largest number of a vector has at least 2¹⁴ steps, the rounding is half a step, and a whole one for
/// what would be 2¹⁵ steps and has one less.
const SHORT: f64 = SINGLE + 1.0 / 32768.0;

/// Largest difference of averages, relative to the table's largest number, where own reach is found by priors: two roundings of the reach at each of at most six decisions in a row, and four of the
/// prior and its inverse, in each of two iterations; in 16 bits besides half a step of storage in each, where the largest has at least 2¹⁵ of them.
const fn by_priors(precision: Precision) -> f64 {
    let rounding = 2.0 * (2.0 * 6.0 + 4.0) / (1 << 24) as f64;
    if matches!(precision, Precision::I16) { rounding + 2.0 / 65536.0 } else { rounding }
}

const RIVER: &str =
    r#"{"pot": 100, "effective_stack": 300, "flop": "Ks 7h 2d", "turn": "8c", "river": "3s", "ranges": ["AA", "QQ"]}"#;

/// The same sizes on the river for both seats.
fn river_sizes(sizes: &[f64]) -> Option<Streets<SeatSizes>> {
    let sizes = SeatSizes::Both(sizes.iter().map(|&part| BetSize::Pot(part)).collect());
    Some(Streets { river: Some(sizes), flop: None, turn: None })
}

fn n_actions(node: &Node) -> Option<usize> {
    match node {
        Node::Decision { children, .. } => Some(children.len()),
        _ => None,
    }
}

const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::Cfr, Algorithm::CfrPlus, Algorithm::Lcfr, Algorithm::Dcfr, Algorithm::PcfrPlus];

// Few iterations: where two actions are worth the same, single precision may choose another than double.

#[test]
fn one_street_is_as_plain_recursion_has_it() {
    for device in devices() {
        for algorithm in ALGORITHMS {
            for updates in [Updates::Alternating, Updates::Simultaneous] {
                let options = options(algorithm, updates);
                agree(&device, "kuhn", &kuhn(), &options, 3, SINGLE);
                agree(&device, "spot", &spot(&[0], false), &options, 3, SINGLE);
            }
        }
        let plus = options(Algorithm::CfrPlus, Updates::Alternating);
        agree(&device, "boards", &spot(&[1], false), &plus, 3, SINGLE);
        agree(&device, "locked", &spot(&[0], true), &plus, 3, SINGLE);
        // Alike suits make actions alike, from the second pass on.
        let simultaneous = options(Algorithm::Cfr, Updates::Simultaneous);
        agree(&device, "alike boards", &game(1, "2", 2, 4, 2, true), &simultaneous, 1, SINGLE);
        agree(&device, "boards apart", &game(1, "2", 2, 4, 2, false), &simultaneous, 1, SINGLE);
        let short = Options { precision: Precision::I16, updates: Updates::Simultaneous, ..plus };
        agree(&device, "spot", &spot(&[0], false), &short, 1, SHORT);
    }
}

#[test]
fn many_streets_are_as_plain_recursion_has_them() {
    for device in devices() {
        for algorithm in ALGORITHMS {
            agree(&device, "leduc", &leduc(false), &options(algorithm, Updates::Alternating), 5, SINGLE);
        }
        let simultaneous = options(Algorithm::Dcfr, Updates::Simultaneous);
        agree(&device, "leduc", &leduc(true), &simultaneous, 5, SINGLE);
        agree(&device, "two cards", &game(2, "0 1", 2, 4, 2, true), &simultaneous, 1, SINGLE);
        let plus = options(Algorithm::CfrPlus, Updates::Alternating);
        // Few iterations: afterwards a hand for which two actions are equally good plays one or the other, by the last bit.
        agree(&device, "locked turn", &spot(&[0, 1], true), &plus, 1, SINGLE);
        agree(&device, "turn and river", &spot(&[0, 1, 1], false), &plus, 1, SINGLE);
        let short = Options { precision: Precision::I16, updates: Updates::Simultaneous, ..plus };
        agree(&device, "leduc", &leduc(false), &short, 1, SHORT);
    }
}

/// A strategy of a node with two actions for the hands whose number leaves no rest by `n`.
fn every(n: usize, n_hands: usize) -> Given {
    let hands: Vec<bool> = (0..n_hands).map(|hand| hand % n == 0).collect();
    let part = |p: f64| hands.iter().map(|&is_given| if is_given { p } else { 0.0 }).collect();
    Given { strategy: vec![part(0.25), part(0.75)], hands }
}

#[test]
fn hands_and_boards_are_locked_as_plain_recursion_has_them() {
    let board: CardSet = 0b1000_0010_0001;
    // Seat 0's first decision for a third of its hands, seat 1's after a check for half.
    let street = spot_with(&[0], &|[first, second]| {
        vec![
            SetupLock { betting: 0, runout: Vec::new(), given: every(3, first) },
            SetupLock { betting: FIRST, runout: Vec::new(), given: every(2, second) },
        ]
    });
    // After two checks seat 0's decision: half of its hands on all boards, a third of them otherwise on one.
    let after = BettingTree::new(&rules(2, "0 1", 2, 6, 2)).expect("a tree").find("cc/").expect("a node");
    let turn = spot_with(&[0, 1], &|[first, _]| {
        let Given { hands, mut strategy } = every(3, first);
        strategy.reverse();
        vec![
            SetupLock { betting: after, runout: vec![board | 0b10], given: Given { hands, strategy } },
            SetupLock { betting: after, runout: Vec::new(), given: every(2, first) },
        ]
    });
    let lock = &turn.locks[0];
    assert_eq!((turn.locks.len(), lock.given.len(), lock.is_whole()), (1, 2, false));
    let on_board = turn.streets[1].boards.iter().position(|of| of.cards == board | 0b10).expect("a board");
    let (here, elsewhere) = (lock.on(on_board).expect("given"), lock.on(1 - on_board.min(1)).expect("given"));
    // Hand 0 is among both, and the longer run-out holds; hand 2 among the half alone.
    assert_eq!((here.strategy[0][0], here.strategy[0][2], here.strategy[0][3]), (0.75, 0.25, 0.75));
    assert_eq!((elsewhere.strategy[0][0], elsewhere.hands[3]), (0.25, false));
    for device in devices() {
        for algorithm in ALGORITHMS {
            for updates in [Updates::Alternating, Updates::Simultaneous] {
                let options = options(algorithm, updates);
                agree(&device, "some hands", &street, &options, 3, SINGLE);
                agree(&device, "some boards", &turn, &options, 1, SINGLE);
            }
        }
        let plus = options(Algorithm::CfrPlus, Updates::Alternating);
        agree(&device, "some hands", &street, &options(Algorithm::CfrBr, Updates::Alternating), 1, SINGLE);
        let short = Options { precision: Precision::I16, updates: Updates::Simultaneous, ..plus };
        agree(&device, "some hands", &street, &short, 1, SHORT);
        agree(&device, "some boards", &turn, &short, 1, SHORT);
        // The same bits where it stops and goes on.
        for options in [plus, short] {
            let mut whole = solved(&device, &turn, &options, 6);
            let mut first = solved(&device, &turn, &options, 3);
            let mut second = StreetEngine::new(&device, vec![Arc::clone(&turn)], &options).expect("it fits");
            second.set_tables(&first.tables().expect("tables")).expect("they fit");
            second.run(3).expect("it runs");
            assert_eq!(second.tables().expect("tables"), whole.tables().expect("tables"), "{options:?} on {device}");
        }
    }
}

fn solved(device: &Device, game: &Arc<VectorGame>, options: &Options, n: u32) -> StreetEngine {
    let mut engine = StreetEngine::new(device, vec![Arc::clone(game)], options).expect("it fits");
    engine.run(n).expect("it runs");
    engine
}

#[test]
fn leduc_is_solved() {
    for device in devices() {
        let plus = options(Algorithm::CfrPlus, Updates::Alternating);
        for isomorphism in [true, false] {
            let measured = solved(&device, &leduc(isomorphism), &plus, 100).measure().expect("values");
            let conv = measured.nash_conv();
            // The reference has 1.2209 after a tenth of the iterations; the game's value is no further than both seats can still gain.
            assert!(conv < 1.2209, "{measured:?}");
            assert!((measured.values[0] - LEDUC).abs() <= conv + ROUNDING, "{measured:?}");
            assert!((measured.values[0] + measured.values[1]).abs() <= 2.0 * ROUNDING, "{measured:?}");
        }
        for updates in [Updates::Alternating, Updates::Simultaneous] {
            let best = options(Algorithm::CfrBr, updates);
            let mut engine = solved(&device, &leduc(true), &best, 100);
            let (found, utilities) = (engine.measure().expect("values"), engine.utilities().expect("sums"));
            // A best response to the average wins no more than the average of those to each strategy, and against a best response nobody wins more than the game's value.
            for (seat, value) in [LEDUC, -LEDUC].into_iter().enumerate() {
                let won = utilities[seat] / 100.0;
                let best = found.best_responses[1 - seat];
                assert!(
                    best <= 2.0 * ROUNDING - won && won <= value + ROUNDING,
                    "seat {seat}: {found:?} {utilities:?}"
                );
            }
        }
    }
}

#[test]
fn sixteen_bits_are_enough() {
    for device in devices() {
        for (name, game) in [("leduc", leduc(true)), ("spot", spot(&[0], false))] {
            for algorithm in [Algorithm::CfrPlus, Algorithm::Dcfr, Algorithm::PcfrPlus] {
                let full = options(algorithm, Updates::Alternating);
                let short = Options { precision: Precision::I16, ..full };
                let measured = |options, n| solved(&device, &game, options, n).measure().expect("values");
                let [early, full, short] = [measured(&full, 6), measured(&full, 60), measured(&short, 60)];
                // No more is left than in single precision after a tenth of the iterations, and the game's value lies between what both sides can still gain in each.
                let what = format!("{name} {algorithm}: {early:?}, {full:?}, {short:?}");
                assert!(short.nash_conv() < early.nash_conv(), "{what}");
                let apart = (short.values[0] - full.values[0]).abs();
                assert!(apart <= short.nash_conv() + full.nash_conv() + 2.0 * ROUNDING, "{what}");
            }
        }
    }
}

/// Drawn regrets of the first iteration have the mean of the exact ones.
#[test]
fn what_is_sampled_is_right_on_average() {
    // Means of 32 batches, whose sums are nearly normal, are further than this from what they estimate with a chance of one in ten million (Student, 31 degrees of freedom).
    const BATCHES: u64 = 32;
    const FAR: f64 = 7.0;
    for device in devices() {
        let all = options(Algorithm::Cfr, Updates::Alternating);
        for (name, game) in [("classes", leduc(true)), ("boards", leduc(false)), ("spot", spot(&[0, 1], false))] {
            let regrets = |options: &Options| {
                let tables = solved(&device, &game, options, 1).tables().expect("tables");
                (0..tables.regrets[0].len()).map(|at| tables.regrets[0].get(at)).collect::<Vec<f64>>()
            };
            let exact = regrets(&all);
            let largest = exact.iter().fold(0.0, |most: f64, regret| most.max(regret.abs()));
            for sampling in [Sampling::PublicChance, Sampling::OpponentPublic, Sampling::SelfPublic, Sampling::Chance] {
                let drawn = |seed| regrets(&Options { sampling, batch: 1024, seed, ..all });
                let batches: Vec<Vec<f64>> = (0..BATCHES).map(drawn).collect();
                let n = BATCHES as f64;
                for (at, expected) in exact.iter().enumerate() {
                    let mean = batches.iter().map(|batch| batch[at]).sum::<f64>() / n;
                    let variance = batches.iter().map(|batch| (batch[at] - mean).powi(2)).sum::<f64>() / (n - 1.0);
                    let most = FAR * (variance / n).sqrt() + SINGLE * largest;
                    let apart = (mean - expected).abs();
                    assert!(apart <= most, "{name}, {sampling} on {device}, {at}: {mean}, not {expected} ± {most}");
                }
                let few = Options { sampling, batch: 2, ..options(Algorithm::CfrPlus, Updates::Alternating) };
                let [once, again, other] = [few, few, Options { seed: 2, ..few }]
                    .map(|options| solved(&device, &game, &options, 10).tables().expect("tables"));
                assert_eq!(once, again);
                assert_ne!(once, other);
            }
        }
        // Drawn regrets too fall with the root of the iterations in all likelihood.
        let few = Options { sampling: Sampling::PublicChance, ..options(Algorithm::Cfr, Updates::Alternating) };
        let [early, late] = [10, 600].map(|n| solved(&device, &leduc(true), &few, n).measure().expect("values"));
        assert!(late.nash_conv() < early.nash_conv(), "{early:?} {late:?}");
    }
}

#[test]
fn a_solve_goes_on_where_it_stopped() {
    for device in devices() {
        for game in [leduc(true), spot(&[0], true)] {
            for precision in [Precision::F32, Precision::I16] {
                for algorithm in [Algorithm::Dcfr, Algorithm::PcfrPlus] {
                    let options = Options { precision, ..options(algorithm, Updates::Alternating) };
                    let mut straight = solved(&device, &game, &options, 12);
                    let half = solved(&device, &game, &options, 7).tables().expect("tables");
                    let mut resumed = StreetEngine::new(&device, vec![Arc::clone(&game)], &options).expect("it fits");
                    resumed.set_tables(&half).expect("the same game");
                    resumed.run(5).expect("it runs");
                    let [straight, resumed] = [&mut straight, &mut resumed].map(|e| e.tables().expect("tables"));
                    assert_eq!(straight, resumed, "{algorithm} {precision}");
                }
            }
        }
    }
}

#[test]
fn little_shared_memory_changes_nothing() {
    for device in devices() {
        for game in [spot(&[0], false), spot(&[0, 1], false), leduc(true)] {
            let options = options(Algorithm::CfrPlus, Updates::Alternating);
            let entries: Vec<_> = game.streets.iter().flat_map(|street| &street.entries).collect();
            let strides = [0, 1].map(|seat| game.hands[seat].len().div_ceil(32) as u32 * 32);
            let needs = |budget: u32| {
                let frame = Frame { stride: strides, n_hole: game.n_hole as u32, budget };
                let needed = entries.iter().flat_map(|entry| [0, 1].map(|seat| compile(entry, seat, &frame)));
                needed.map(|compiled| compiled.map(|compiled| compiled.n_shared)).collect::<Result<Vec<_>, _>>()
            };
            let all = needs(u32::MAX).expect("no bound").into_iter().max().expect("entries");
            let mut roomy = solved(&device, &game, &options, 3);
            let mut tried = 0;
            // Down to what no subtree can do with.
            for budget in (1..all).rev().step_by((all as usize / 7).max(1)) {
                let mut info = device.info().expect("it answers");
                info.max_shared_per_block = 4 * budget;
                match StreetEngine::with_info(&device, &info, vec![Arc::clone(&game)], &options) {
                    Ok(mut tight) => {
                        tight.run(3).expect("it runs");
                        assert_eq!(
                            tight.tables().expect("tables"),
                            roomy.tables().expect("tables"),
                            "{budget} of {all}"
                        );
                        tried += 1;
                    }
                    Err(error) => {
                        assert!(needs(budget).is_err() && error.to_string().contains("shared memory"), "{error}");
                    }
                }
            }
            assert!(tried > 0);
        }
    }
}

#[test]
fn blocks_that_share_a_subtree_change_nothing() {
    let game = wide();
    for device in devices() {
        for (algorithm, updates, precision, sampling) in [
            (Algorithm::PcfrPlus, Updates::Alternating, Precision::F32, Sampling::None),
            (Algorithm::Dcfr, Updates::Simultaneous, Precision::I16, Sampling::None),
            (Algorithm::Cfr, Updates::Alternating, Precision::F32, Sampling::Chance),
        ] {
            let options = Options { precision, sampling, batch: 8, ..options(algorithm, updates) };
            let solved = |n_parts: u32| {
                let games = vec![Arc::clone(&game)];
                let mut shape = shape(&device.info().expect("it answers"), &games, &options).expect("it fits");
                let street = &mut shape.levels[0];
                assert_eq!(street.stride.div_ceil(threads(street.stride)), 3);
                street.n_parts = n_parts;
                let mut engine = StreetEngine::with_shape(&device, games, &shape, &options).expect("it fits");
                engine.run(2).expect("it runs");
                let measured = engine.measure().expect("values");
                (engine.tables().expect("tables"), measured, engine.utilities().expect("sums"))
            };
            let alone = solved(1);
            for n_parts in [2, 3] {
                assert!(solved(n_parts) == alone, "{n_parts} blocks, {algorithm} {precision} {sampling} on {device}");
            }
        }
    }
}

/// Kernels for plain passes against those for any pass: regrets have the same bits, averages differ by the rounding of priors only.
#[test]
fn plain_passes_are_as_general_ones() {
    // Several streets, of whose passes the last one adds the strategies of the next step.
    let mut games = vec![leduc(true)];
    // Seat 0 has one hand, seat 1 more than a thread a hand; or both have all, in three rounds of a block's threads.
    let [narrow, wide] = ["AsAc", "22+,A2+,K2+,Q2+,J2+,T2+,92+,82+,72+,62+,52+,42+,32"].map(str::to_string);
    for ranges in [[narrow, wide.clone()], [wide.clone(), wide]] {
        let spot = Spot {
            bet_sizes: river_sizes(&[0.3, 0.7, 1.5, 2.5]),
            raise_sizes: river_sizes(&[0.5, 1.0]),
            max_raises: Some(Streets { river: Some(2), flop: None, turn: None }),
            ranges,
            ..Spot::parse(RIVER).expect("a spot")
        };
        let game = Arc::new(spot.build(true).expect("a game").0);
        let n_actions: BTreeSet<usize> = game.streets[0].entries[0].nodes.iter().filter_map(n_actions).collect();
        assert!(game.hands[1].len() > MAX_THREADS as usize);
        assert!(n_actions.is_superset(&[2, 3, 4].into()) && n_actions.iter().any(|&n| n > 4), "{n_actions:?}");
        games.push(game);
    }
    for game in games {
        for (algorithm, precision) in [(Algorithm::PcfrPlus, Precision::F32), (Algorithm::Dcfr, Precision::I16)] {
            for device in devices() {
                let options = Options { precision, ..options(algorithm, Updates::Alternating) };
                let solved = |plain: bool| {
                    let mut engine = StreetEngine::new(&device, vec![Arc::clone(&game)], &options).expect("it fits");
                    assert!(engine.kernels.plain);
                    engine.kernels.plain = plain;
                    engine.run(2).expect("it runs");
                    engine.tables().expect("tables")
                };
                let [plain, general] = [true, false].map(solved);
                let what = format!("{algorithm} {precision} on {device}");
                assert_eq!(plain.regrets, general.regrets, "{what}");
                assert_eq!(plain.predictions, general.predictions, "{what}");
                for seat in 0..2 {
                    let general: Vec<f64> =
                        (0..general.averages[seat].len()).map(|at| general.averages[seat].get(at)).collect();
                    let averages = apart(&plain.averages[seat], &general);
                    assert!(averages <= by_priors(precision), "{what}: averages of seat {seat}: {averages:e}");
                }
            }
        }
    }
}

/// A prior whose inverse single precision cannot hold, or only beside a reach that has lost bits: averages are found without it.
#[test]
fn the_smallest_weights_have_averages() {
    // As `SINGLE`, of 12 hands on 48 rivers.
    const ROUNDING: f64 = 5.0 * (12.0 + 48.0) / (1 << 24) as f64;
    const KINGS: CardSet = 0xf << (4 * 11);
    for weight in [1e-30, 1e-40, 1e-60] {
        for board in [RIVER.to_string(), RIVER.replace(r#", "river": "3s""#, "")] {
            let spot = Spot {
                pot: 1.0,
                effective_stack: 3.0,
                bet_fraction_of_pot: Some(0.5),
                ranges: ["AA,KK".into(), "QQ,JJ".into()],
                max_raises: Some(Streets { turn: Some(1), river: Some(1), flop: None }),
                ..Spot::parse(&board).expect("a spot")
            };
            // A spot's file has no such weights.
            let mut game = spot.build(true).expect("a game").0;
            let kings = game.hands[0].iter().zip(&mut game.weights[0]).filter(|(hand, _)| *hand & !KINGS == 0);
            kings.for_each(|(_, of_hand)| *of_hand = weight);
            let game = Arc::new(game);
            for device in devices() {
                let options = options(Algorithm::CfrPlus, Updates::Alternating);
                let engine = StreetEngine::new(&device, vec![Arc::clone(&game)], &options).expect("it fits");
                assert!(!engine.kernels.plain, "{weight}");
                agree(&device, &format!("weight {weight}"), &game, &options, 2, ROUNDING);
            }
        }
    }
}

#[test]
fn a_batch_is_as_its_games_one_by_one() {
    for device in devices() {
        let games = [
            vec![spot(&[0], false), kuhn(), spot(&[0], true), game(1, "2", 2, 4, 2, true)],
            vec![leduc(true), spot(&[0, 1], true)],
        ];
        for games in games {
            for precision in [Precision::F32, Precision::I16] {
                let options = Options { precision, ..options(Algorithm::Dcfr, Updates::Alternating) };
                let mut batch = StreetBatch::new(&device, games.clone(), &options).expect("they fit");
                batch.run(4).expect("it runs");
                let measured = batch.measure().expect("values");
                for (number, game) in games.iter().enumerate() {
                    let mut alone = solved(&device, game, &options, 4);
                    assert_eq!(measured[number], alone.measure().expect("values"));
                    assert_eq!(batch.tables(number).expect("tables"), alone.tables().expect("tables"));
                }
            }
        }
        let plain = Options::default();
        assert!(StreetBatch::new(&device, Vec::new(), &plain).is_err());
        assert!(StreetBatch::new(&device, vec![kuhn(), leduc(true)], &plain).is_err());
        let sampled = Options { sampling: Sampling::PublicChance, ..plain };
        assert!(StreetBatch::new(&device, vec![kuhn(), kuhn()], &sampled).is_err());
    }
}

#[test]
fn what_the_form_lacks_is_named() {
    let device = Device::simt();
    let plain = Options::default();
    let wrong = [
        (Options { precision: Precision::F64, ..plain }, "precision"),
        (Options { sampling: Sampling::External, ..plain }, "sampling"),
        (Options { sampling: Sampling::Chance, batch: 0, ..plain }, "batch"),
        (Options { sampling: Sampling::Chance, algorithm: Algorithm::CfrBr, ..plain }, "sampling"),
    ];
    for (options, name) in wrong {
        let error = fits(&device, &kuhn(), &options).expect_err("not by this engine");
        assert!(matches!(error, Error::Option { name: named, .. } if named == name), "{error}");
    }
    let three = game(1, "1", 2, 4, 3, true);
    let error = fits(&device, &three, &plain).expect_err("three cards");
    assert!(error.to_string().contains("1 or 2"), "{error}");
    assert!(fits(&Device::cpu(), &kuhn(), &plain).is_err());
    assert!(fits(&device, &kuhn(), &plain).expect("it fits").parts().len() > 2);
    let mut engine = super::build(&device, kuhn(), &plain).expect("it fits");
    let mut tables = engine.tables().expect("tables");
    tables.averages.pop();
    assert!(engine.set_tables(&tables).is_err());
    let mut tables = engine.tables().expect("tables");
    tables.regrets[0] = Values::F32(vec![0.0]);
    assert!(engine.set_tables(&tables).is_err());
}
