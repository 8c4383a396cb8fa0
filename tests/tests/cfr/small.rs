//! Small games in one block do what the reference did: trajectories, tables, best responses; batches, sampling, locked nodes, and what is refused.

use std::sync::Arc;

use warpplay::cfr::engines::SmallBatch;
use warpplay::cfr::layout::{Lock, Node, VectorGame};
use warpplay::cfr::{Algorithm, Averaging, BettingTree, Engine, GameDef, Options, Sampling, Solver, Updates};
use warpplay::{Device, Precision};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::cfr::{Outcomes, SINGLE, TRAJECTORIES, estimate, game};
use warpplay_tests::tolerance::{Tolerance, close};

/// A game of the reference file.
fn reference(name: &str) -> serde_json::Value {
    warpplay_tests::cfr::reference()["games"][name].take()
}

fn vector(rules: &GameDef, isomorphism: bool) -> (VectorGame, BettingTree) {
    let tree = BettingTree::new(rules).expect("a tree");
    (VectorGame::from_game(rules, &tree, isomorphism).expect("two players"), tree)
}

/// A golden game, every board for itself.
fn whole(name: &str) -> VectorGame {
    vector(&game(name), false).0
}

/// Sums in another order.
const DOUBLE: Tolerance = Tolerance { abs: 1e-12, rel: 1e-9 };

fn options(algorithm: Algorithm, updates: Updates, precision: Precision) -> Options {
    Options { algorithm, updates, precision, ..Options::default() }
}

fn one(device: &Device, game: &Arc<VectorGame>, options: &Options) -> Result<SmallBatch, warpplay::Error> {
    SmallBatch::new(device, std::slice::from_ref(game), options)
}

/// Σ of positive regrets over all sets, and over the hands that the board leaves possible.
fn positive_regrets(regrets: &[Vec<f64>; 2]) -> f64 {
    regrets.iter().flatten().filter(|&&regret| regret > 0.0).sum()
}

fn follows_the_reference(name: &str, most: u64, precision: Precision, tolerance: Tolerance) {
    let reference = reference(name);
    let game = Arc::new(whole(name));
    for_each_device(|device| {
        for (trajectory, algorithm, updates) in TRAJECTORIES {
            let mut batch = one(device, &game, &options(algorithm, updates, precision))?;
            let mut done = 0;
            let points = reference["trajectories"][trajectory].as_object().expect("points");
            let mut points: Vec<(u64, &serde_json::Value)> =
                points.iter().map(|(t, point)| (t.parse().expect("a number"), point)).collect();
            points.sort_by_key(|(t, _)| *t);
            for (t, point) in points.into_iter().filter(|(t, _)| *t <= most) {
                batch.run((t - done) as u32)?;
                done = t;
                let found = batch.measure()?[0];
                let what = format!("{name} {trajectory} after {t} on {device}");
                let values = &point["average_profile_value"];
                let expected = [&point["nash_conv"], &values[0], &values[1]].map(|v| v.as_f64().expect("a number"));
                close(&what, &[found.nash_conv(), found.values[0], found.values[1]], &expected, tolerance);
                // Single precision adds much that nearly cancels.
                if precision == Precision::F64 {
                    let sum = positive_regrets(&batch.regrets(0)?);
                    let expected = point["regret_sum_positive"].as_f64().expect("a number");
                    close(&format!("positive regrets of {what}"), &[sum], &[expected], tolerance);
                }
            }
        }
        Ok(())
    });
}

#[test]
fn kuhn_follows_the_reference() {
    follows_the_reference("kuhn.limit.2p", 100, Precision::F64, DOUBLE);
    follows_the_reference("kuhn.limit.2p", 10, Precision::F32, SINGLE);
}

#[test]
fn variant_a_follows_the_reference() {
    follows_the_reference("variant_a", 100, Precision::F64, DOUBLE);
}

#[test]
fn leduc_follows_the_reference() {
    follows_the_reference("leduc.limit.2p", 10, Precision::F64, DOUBLE);
    follows_the_reference("leduc.limit.2p", 3, Precision::F32, SINGLE);
}

#[test]
fn leduc_follows_the_reference_for_a_hundred_iterations() {
    let name = "leduc.limit.2p";
    let reference = reference(name);
    let game = Arc::new(whole(name));
    for_each_device(|device| {
        for (trajectory, algorithm) in
            [("cfr_plus_alternating_linear", Algorithm::CfrPlus), ("cfr_alternating", Algorithm::Cfr)]
        {
            let mut batch = one(device, &game, &options(algorithm, Updates::Alternating, Precision::F64))?;
            batch.run(100)?;
            let found = batch.measure()?[0].nash_conv();
            let expected = reference["trajectories"][trajectory]["100"]["nash_conv"].as_f64().expect("a number");
            close(&format!("{trajectory} on {device}"), &[found], &[expected], DOUBLE);
        }
        Ok(())
    });
}

#[test]
fn tables_are_those_of_the_reference() {
    for name in ["kuhn.limit.2p", "leduc.limit.2p"] {
        let reference = reference(name);
        let (game, tree) = vector(&game(name), false);
        let game = Arc::new(game);
        // The repository's part of the reference has not all of them of Leduc.
        let of = |(trajectory, algorithm): (&'static str, Algorithm)| {
            let tables = reference["tables"][trajectory].as_object().into_iter().flatten();
            tables.map(move |(t, table)| (trajectory, algorithm, t.parse().expect("a number"), table))
        };
        let runs = [("cfr_alternating", Algorithm::Cfr), ("cfr_plus_alternating_linear", Algorithm::CfrPlus)];
        let tables: Vec<(&str, Algorithm, u32, &serde_json::Value)> = runs.into_iter().flat_map(of).collect();
        assert!(!tables.is_empty(), "{name}");
        for_each_device(|device| {
            for &(trajectory, algorithm, t, table) in &tables {
                let mut batch = one(device, &game, &options(algorithm, Updates::Alternating, Precision::F64))?;
                batch.run(t)?;
                let (regrets, averages) = (batch.regrets(0)?, batch.averages(0)?);
                let mut seen = 0;
                for (number, street) in game.streets.iter().enumerate() {
                    for (board, of_board) in street.boards.iter().enumerate() {
                        for node in street.entries.iter().flat_map(|entry| &entry.nodes) {
                            let &Node::Decision { seat, ref actions, slot, betting, .. } = node else { continue };
                            for (hand, &cards) in game.hands[seat].iter().enumerate() {
                                if cards & of_board.cards != 0 {
                                    continue;
                                }
                                let indices: Vec<usize> = (slot..slot + actions.len() as u32)
                                    .map(|slot| game.offset(seat, number, board, slot) + hand)
                                    .collect();
                                let key = game.key(&tree, seat, number, board, betting, hand);
                                let expected = &table[&key];
                                let list = |name: &str| -> Vec<f64> {
                                    let list = expected[name].as_array().expect("a list");
                                    list.iter().map(|v| v.as_f64().expect("a number")).collect()
                                };
                                let of_set = |table: &[Vec<f64>; 2]| -> Vec<f64> {
                                    indices.iter().map(|&index| table[seat][index]).collect()
                                };
                                let sums = of_set(&averages);
                                let total: f64 = sums.iter().sum();
                                let uniform = 1.0 / sums.len() as f64;
                                let average: Vec<f64> =
                                    sums.iter().map(|s| if total > 0.0 { s / total } else { uniform }).collect();
                                let what = format!("{key} of {name}, {trajectory} after {t} on {device}");
                                // The file gives twelve digits.
                                let tolerance = Tolerance { abs: 2e-12, rel: 1e-9 };
                                close(&format!("average of {what}"), &average, &list("avg"), tolerance);
                                close(&format!("regrets of {what}"), &of_set(&regrets), &list("regret"), tolerance);
                                seen += 1;
                            }
                        }
                    }
                }
                assert_eq!(Some(seen), table.as_object().map(|table| table.len()), "information sets of {name}");
            }
            Ok(())
        });
    }
}

#[test]
fn fixed_profiles_have_the_references_values() {
    // Before the first iteration every set is uniform.
    for name in ["kuhn.limit.2p", "variant_a", "leduc.limit.2p"] {
        let reference = reference(name);
        let game = Arc::new(whole(name));
        for_each_device(|device| {
            let mut batch = one(device, &game, &Options { precision: Precision::F64, ..Options::default() })?;
            let found = batch.measure()?[0];
            let profile = &reference["profiles"]["uniform"];
            let pair = |name: &str| [0, 1].map(|seat| profile[name][seat].as_f64().expect("a number"));
            close(&format!("values of {name} on {device}"), &found.values, &pair("values"), DOUBLE);
            let expected = pair("best_response_values");
            close(&format!("best responses in {name} on {device}"), &found.best_responses, &expected, DOUBLE);
            Ok(())
        });
    }
}

#[test]
fn games_of_a_batch_do_not_know_of_each_other() {
    let games = ["kuhn.limit.2p", "leduc.limit.2p", "variant_a"].map(|name| Arc::new(whole(name)));
    let order = [0, 1, 0, 2, 1, 2, 2];
    let options = options(Algorithm::PcfrPlus, Updates::Alternating, Precision::F32);
    for_each_device(|device| {
        let many: Vec<Arc<VectorGame>> = order.iter().map(|&at: &usize| Arc::clone(&games[at])).collect();
        let mut batch = SmallBatch::new(device, &many, &options)?;
        batch.run(2)?;
        batch.run(3)?;
        let together = batch.measure()?;
        for (number, &at) in order.iter().enumerate() {
            let mut alone = one(device, &games[at], &options)?;
            alone.run(5)?;
            assert_eq!(together[number], alone.measure()?[0], "game {number} on {device}");
            assert_eq!(batch.regrets(number)?, alone.regrets(0)?, "regrets of game {number} on {device}");
            assert_eq!(batch.utilities(number)?, alone.utilities(0)?, "utilities of game {number} on {device}");
        }
        assert!(batch.utilities(order.len()).is_err());
        Ok(())
    });
}

#[test]
fn utilities_of_a_simultaneous_pass_sum_to_zero() {
    let game = Arc::new(whole("leduc.limit.2p"));
    for_each_device(|device| {
        let mut batch = one(device, &game, &options(Algorithm::Cfr, Updates::Simultaneous, Precision::F64))?;
        batch.run(1)?;
        let [first, second] = batch.utilities(0)?;
        // The first iteration is uniform: the value of the uniform profile.
        close(&format!("utilities on {device}"), &[first, second], &[-0.078125, 0.078125], DOUBLE);
        batch.run(4)?;
        let [first, second] = batch.utilities(0)?;
        assert!((first + second).abs() < 1e-12, "{first} and {second} on {device}");
        Ok(())
    });
}

#[test]
fn a_best_responding_opponent_leads_to_the_equilibrium() {
    let game = Arc::new(whole("kuhn.limit.2p"));
    for_each_device(|device| {
        let mut batch = one(device, &game, &options(Algorithm::CfrBr, Updates::Alternating, Precision::F64))?;
        const ITERATIONS: u32 = 400;
        batch.run(ITERATIONS)?;
        let found = batch.measure()?[0];
        let t = f64::from(ITERATIONS);
        // Four hundred sums of some dozen terms of at most 2 chips.
        let rounding = t * 12.0 * 2.0 * f64::EPSILON;
        // Against a best response nobody gets more than the game's value, and falls behind it by no more than the regrets.
        let [first, second] = batch.utilities(0)?;
        assert!(first <= -t / 18.0 + rounding && second <= t / 18.0 + rounding, "{first}, {second} on {device}");
        let positive = positive_regrets(&batch.regrets(0)?);
        assert!(-(first + second) <= positive + rounding, "{first}, {second}, {positive} on {device}");
        // A best response to the average wins no more than the average of those to each.
        assert!(found.best_responses[1] <= -first / t + rounding, "{found:?}, {first} on {device}");
        assert!(found.best_responses[0] <= -second / t + rounding, "{found:?}, {second} on {device}");
        Ok(())
    });
}

#[test]
fn sampled_iterations_repeat_their_bits() {
    for (name, sampling) in [
        ("kuhn.limit.2p", Sampling::Chance),
        ("kuhn.limit.2p", Sampling::OpponentPublic),
        ("kuhn.limit.2p", Sampling::SelfPublic),
        ("leduc.limit.2p", Sampling::PublicChance),
        ("leduc.limit.2p", Sampling::Chance),
    ] {
        let game = Arc::new(whole(name));
        for_each_device(|device| {
            let sampled = |seed: u64, batch: u32| Options {
                sampling,
                seed,
                batch,
                ..options(Algorithm::Cfr, Updates::Alternating, Precision::F64)
            };
            // The same seed, other launches.
            let few = 20;
            let [mut a, mut b, mut c] = [
                one(device, &game, &sampled(3, 2))?,
                one(device, &game, &sampled(3, 2))?,
                one(device, &game, &sampled(4, 2))?,
            ];
            a.run(few)?;
            b.run(few / 2)?;
            b.run(few / 2)?;
            c.run(few)?;
            assert_eq!(a.regrets(0)?, b.regrets(0)?, "{name}, {sampling} on {device}");
            assert_ne!(a.regrets(0)?, c.regrets(0)?, "{name}, {sampling} on {device}");
            Ok(())
        });
    }
}

/// One iteration from the uniform strategy has as many outcomes as there are draws, and drawn regrets are unbiased: over all outcomes, equally likely, their mean is the exact regret.
#[test]
fn the_mean_over_draws_is_the_exact_regret() {
    let game = Arc::new(whole("leduc.limit.2p"));
    let exact_options = options(Algorithm::Cfr, Updates::Simultaneous, Precision::F64);
    for_each_device(|device| {
        let mut exact = one(device, &game, &exact_options)?;
        exact.run(1)?;
        let exact = exact.regrets(0)?;
        // A public card of six, or a hand with it. With a dozen seeds for each all come up, but for a chance of one in a thousand.
        let drawn = |sampling, n: u64| {
            let mut found = [Outcomes::default(), Outcomes::default()];
            for seed in 0..12 * n {
                let mut batch = one(device, &game, &Options { sampling, seed, batch: 1, ..exact_options })?;
                batch.run(1)?;
                found.iter_mut().zip(batch.regrets(0)?).for_each(|(found, regrets)| found.add(regrets));
            }
            Ok::<_, warpplay::Error>(found)
        };
        let public = drawn(Sampling::PublicChance, 6)?;
        let opponent = drawn(Sampling::OpponentPublic, 30)?;
        let own = drawn(Sampling::SelfPublic, 30)?;
        // Both hands have as many outcomes as deals, but some are alike.
        let of_deals = |seed: u64| {
            let options = Options { sampling: Sampling::Chance, seed, batch: 256, ..exact_options };
            let mut batch = one(device, &game, &options)?;
            batch.run(1)?;
            batch.regrets(0)
        };
        let deals = (0..32).map(of_deals).collect::<Result<Vec<[Vec<f64>; 2]>, _>>()?;
        for seat in 0..2 {
            let what = |sampling| format!("{sampling}, seat {seat} on {device}");
            public[seat].have_mean(&what(Sampling::PublicChance), 6, &exact[seat], DOUBLE);
            opponent[seat].have_mean(&what(Sampling::OpponentPublic), 30, &exact[seat], DOUBLE);
            own[seat].have_mean(&what(Sampling::SelfPublic), 30, &exact[seat], DOUBLE);
            let deals: Vec<Vec<f64>> = deals.iter().map(|of_seats| of_seats[seat].clone()).collect();
            estimate(&what(Sampling::Chance), &deals, &exact[seat], DOUBLE.abs);
        }
        Ok(())
    });
}

#[test]
fn drawn_boards_may_be_classes() {
    let game = Arc::new(vector(&game("leduc.limit.2p"), true).0);
    let exact_options = options(Algorithm::Cfr, Updates::Simultaneous, Precision::F64);
    for_each_device(|device| {
        let mut exact = one(device, &game, &exact_options)?;
        exact.run(1)?;
        let mut drawn = Outcomes::default();
        for seed in 0..36 {
            let sampled = Options { sampling: Sampling::PublicChance, seed, batch: 1, ..exact_options };
            let mut batch = one(device, &game, &sampled)?;
            batch.run(1)?;
            drawn.add(batch.regrets(0)?[0].clone());
        }
        drawn.have_mean(&format!("a rank of three on {device}"), 3, &exact.regrets(0)?[0], DOUBLE);
        Ok(())
    });
}

/// Three streets, two of them with a board, so that renamings of suits follow each other.
const THREE_STREETS: &str = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 3\nblind = 1 1\nraiseSize = 2 2 4\nfirstPlayer = 1 2 1\n\
    maxRaises = 1 1 1\nnumSuits = 2\nnumRanks = 2\nnumHoleCards = 1\nnumBoardCards = 0 1 1\nEND GAMEDEF\n";
/// Short stacks: boards are dealt behind an all-in.
const ALL_IN: &str = "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 3\nstack = 3 3\nblind = 1 1\nfirstPlayer = 1 1 1\n\
    numSuits = 2\nnumRanks = 2\nnumHoleCards = 1\nnumBoardCards = 0 1 1\nEND GAMEDEF\n";
/// Two cards of three suits.
const TWO_CARDS: &str = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 2\nblind = 1 2\nraiseSize = 2 2\nfirstPlayer = 1 1\n\
    maxRaises = 1 1\nnumSuits = 3\nnumRanks = 2\nnumHoleCards = 2\nnumBoardCards = 0 1\nEND GAMEDEF\n";

#[test]
fn renamed_suits_change_nothing() {
    for text in [THREE_STREETS, ALL_IN, TWO_CARDS] {
        let rules = GameDef::parse(text).expect("a game");
        let [plain, renamed] = [false, true].map(|isomorphism| Arc::new(vector(&rules, isomorphism).0));
        assert!(renamed.table_len(0) < plain.table_len(0));
        for_each_device(|device| {
            let options = options(Algorithm::Dcfr, Updates::Alternating, Precision::F64);
            let mut found = Vec::new();
            for game in [&plain, &renamed] {
                let mut batch = one(device, game, &options)?;
                batch.run(5)?;
                let measured = batch.measure()?[0];
                found.push([measured.nash_conv(), measured.values[0], measured.values[1]]);
            }
            close(&format!("with classes of boards on {device}"), &found[1], &found[0], DOUBLE);
            Ok(())
        });
    }
}

#[test]
fn locked_nodes_keep_their_strategy() {
    let (mut game, _) = vector(&game("kuhn.limit.2p"), false);
    let given = vec![vec![1.0; 3], vec![0.0; 3]];
    game.locks = vec![Lock::everywhere(0, 0, 0, 1, given)];
    if let Node::Decision { locked, .. } = &mut game.streets[0].entries[0].nodes[0] {
        *locked = true;
    }
    let game = Arc::new(game);
    for_each_device(|device| {
        let mut batch = one(device, &game, &options(Algorithm::CfrPlus, Updates::Alternating, Precision::F64))?;
        batch.run(30)?;
        let early = batch.measure()?[0].nash_conv();
        batch.run(270)?;
        let found = batch.measure()?[0];
        // What is not locked comes to an equilibrium: the bound on the regrets falls with the root of the iterations.
        assert!(found.nash_conv() < early, "{} after {early} on {device}", found.nash_conv());
        let averages = batch.averages(0)?;
        assert_eq!(averages[0][..6], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], "on {device}");
        assert_eq!(batch.regrets(0)?[0][..6], [0.0; 6], "on {device}");
        // The game's value is reached without bets of the first player (its family of equilibria has one with no bet at all); it is no further than both seats can still gain.
        let within = Tolerance { abs: found.nash_conv(), rel: 0.0 };
        close(&format!("value on {device}"), &[found.values[0]], &[-1.0 / 18.0], within);
        Ok(())
    });
}

#[test]
fn averaging_can_be_chosen() {
    let game = Arc::new(whole("kuhn.limit.2p"));
    for_each_device(|device| {
        let mut found = Vec::new();
        for averaging in [Averaging::Uniform, Averaging::Linear, Averaging::Quadratic] {
            let options = Options { averaging, ..options(Algorithm::Cfr, Updates::Alternating, Precision::F64) };
            let mut batch = one(device, &game, &options)?;
            batch.run(2)?;
            // Weight 1 of the first iteration's 1/2, then the second's.
            found.push(batch.averages(0)?[0].iter().sum::<f64>());
        }
        // Own reach at the root is 1 for each hand, and the second iteration weighs 1, 2, 4; deeper sets keep the same ratio of reaches.
        let second = found[1] - found[0];
        assert!(second > 0.0);
        close(&format!("weights on {device}"), &[found[2] - found[0]], &[3.0 * second], DOUBLE);
        Ok(())
    });
}

#[test]
fn memory_needed_is_all_that_the_engine_takes() {
    for_each_device(|device| {
        for algorithm in [Algorithm::Cfr, Algorithm::PcfrPlus] {
            for precision in [Precision::F32, Precision::F64] {
                let builder = Solver::builder(game("kuhn.limit.2p")).engine(Engine::Small);
                let builder = builder.algorithm(algorithm).precision(precision);
                let needed = builder.memory_needed(device)?;
                let solver = builder.build(device)?;
                assert_eq!(needed.device(), solver.memory_needed().device(), "{device} {algorithm} {precision}");
                assert_eq!(needed.device(), solver.report().bytes, "{device} {algorithm} {precision}");
            }
        }
        Ok(())
    });
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let kuhn = Arc::new(whole("kuhn.limit.2p"));
    let device = Device::simt();
    let refused = |game: &Arc<VectorGame>, options: Options, part: &str| {
        let error = one(&device, game, &options).expect_err(part).to_string();
        assert!(error.contains(part), "`{part}` is not in: {error}");
    };
    refused(&kuhn, Options { precision: Precision::I16, ..Options::default() }, "precision: i16");
    refused(&kuhn, Options { sampling: Sampling::Outcome, ..Options::default() }, "sampling: outcome");
    let nothing = Options { sampling: Sampling::Chance, batch: 0, ..Options::default() };
    refused(&kuhn, nothing, "batch: 0");
    let mut large = (*kuhn).clone();
    large.hands = [0, 1].map(|_| vec![1; 200]);
    refused(&Arc::new(large), Options::default(), "200 hands");
    let mut wide = (*kuhn).clone();
    wide.streets[0].n_slots = [20_000; 2];
    refused(&Arc::new(wide), Options::default(), "shared memory");
    let mut permuted = (*kuhn).clone();
    permuted.streets[0].boards[0].members = vec![0; 2];
    let drawn = Options { sampling: Sampling::SelfPublic, ..Options::default() };
    refused(&Arc::new(permuted), drawn, "isomorphism");
    assert!(SmallBatch::new(&device, &[], &Options::default()).is_err());
    assert!(one(&Device::cpu(), &kuhn, &Options::default()).is_err());
}
