//! Abstraction of cards: classes, strengths, buckets; every device against the plain twin.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::cfr::abstraction::{Classes, Method, RoundBuckets};
use warpplay::cfr::engines::walk::{Information, Sampler};
use warpplay::cfr::game::{Deck, members, set_of, subsets};
use warpplay::cfr::{
    Abstraction, Algorithm, CardSet, Checkpoint, Engine, GameDef, Options, Problem, Ranking, Recipe, Sampling, Solver,
    SolverBuilder, Strategy, head_to_head, head_to_head_sampled,
};
use warpplay::{Backend, Device, Error, Precision};
use warpplay_gpu::cfr::abstraction::{rank, strength};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::golden;
use warpplay_tests::random::Random;

/// Hold'em's dealing with few cards: two private ones, then boards of 0, 2 and 3.
fn small() -> GameDef {
    let text = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 3\nblind = 1 1\nraiseSize = 1 1 1\nnumSuits = 2\nnumRanks = 5\nnumHoleCards = 2\n\
                numBoardCards = 0 2 1\nEND GAMEDEF";
    GameDef::parse(text).expect("a definition")
}

fn holdem(boards: &str) -> GameDef {
    let n = boards.split(' ').count();
    let ones = vec!["1"; n].join(" ");
    let text = format!(
        "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = {n}\nblind = 1 1\nraiseSize = {ones}\nnumSuits = 4\nnumRanks = 13\nnumHoleCards = 2\n\
         numBoardCards = {boards}\nEND GAMEDEF"
    );
    GameDef::parse(&text).expect("a definition")
}

/// The numbers of classes that are published for hold'em; together they stand for all deals.
#[test]
fn classes_of_holdem() {
    for (n_board, expected, deals) in [(0, 169, 1326u64), (3, 1_286_792, 1326 * 19_600)] {
        let classes = Classes::new(Deck::FULL, 2, n_board).expect("they fit");
        assert_eq!(classes.len(), expected);
        let step = if n_board == 0 { 1 } else { 101 };
        if step == 1 {
            assert_eq!((0..classes.len()).map(|class| u64::from(classes.weight(class))).sum::<u64>(), deals);
        }
        assert!((0..classes.len()).step_by(step).all(|class| (1..=24).contains(&classes.weight(class))));
        assert_eq!(classes.weight(classes.len()), 0);
    }
    let error = Classes::new(Deck::FULL, 3, 7).expect_err("too many").to_string();
    assert!(error.contains("at most 268435456"), "{error}");
    assert!(matches!(
        Classes::new(Deck { n_suits: 1, n_ranks: 3 }, 2, 2),
        Err(Error::Option { name: "board cards", .. })
    ));
    assert!(Classes::new(Deck { n_suits: 5, n_ranks: 3 }, 1, 0).is_err() && Classes::new(Deck::FULL, 0, 0).is_err());
}

/// Classes are exactly the orbits under suit permutations, and weights their sizes.
#[test]
fn classes_are_orbits() {
    let deck = Deck { n_suits: 3, n_ranks: 4 };
    let (n_hole, n_board) = (2, 2);
    let classes = Classes::new(deck, n_hole, n_board).expect("they fit");
    let names = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let rename = |cards: CardSet, names: &[u8; 3]| {
        members(cards).fold(0, |set, card| set | 1u64 << (deck.rank(card) * 3 + names[deck.suit(card) as usize]))
    };
    let mut seen = vec![0; classes.len()];
    for board in subsets(deck.all(), n_board) {
        for hole in subsets(deck.all() & !board, n_hole) {
            let class = classes.class(hole, board).expect("a class");
            seen[class] += 1;
            let mut orbit: Vec<_> = names.iter().map(|names| (rename(hole, names), rename(board, names))).collect();
            assert!(orbit.iter().all(|&(hole, board)| classes.class(hole, board) == Some(class)));
            orbit.sort_unstable();
            orbit.dedup();
            assert_eq!(classes.weight(class) as usize, orbit.len());
        }
    }
    assert!((0..classes.len()).all(|class| seen[class] == classes.weight(class)));
    for (hole, board) in [(0b11, 0b110), (0b1, 0b110), (0b11, 0b100), (0b11, 1 << 12 | 1 << 5)] {
        assert_eq!(classes.class(hole, board), None);
    }
}

#[test]
fn kernels_rank_as_the_library() {
    let mut random = Random(5);
    for deck in [Deck::FULL, Deck { n_suits: 3, n_ranks: 9 }, Deck { n_suits: 1, n_ranks: 13 }] {
        let ranking = Ranking::new(deck);
        for n in 1..=7 {
            for _ in 0..2000 {
                let mut cards = 0u64;
                while cards.count_ones() < n {
                    cards |= 1 << random.below(deck.n_cards() as usize);
                }
                let theirs = rank::strength(cards, deck.n_suits.into(), deck.n_ranks == 13);
                assert_eq!(ranking.strength(cards), theirs, "{}", deck.names(cards));
            }
        }
    }
    assert_eq!(strength::deposit(0b1010, 0b1101_1000), 0b1001_0000);
    assert_eq!((strength::bin(0, 8, 4), strength::bin(3, 8, 4), strength::bin(8, 8, 4)), (0, 1, 3));
}

/// The chance to win, half the chance to tie added, by going through everything.
fn plain_strength(rules: &GameDef, hole: CardSet, board: CardSet) -> f64 {
    let ranking = Ranking::new(rules.deck);
    let (n_hole, whole) = (rules.n_hole_cards, rules.board_cards_by(rules.n_rounds - 1));
    let (mut sum, mut n) = (0.0, 0.0);
    for rest in subsets(rules.deck.all() & !(hole | board), whole - board.count_ones() as usize) {
        let full = board | rest;
        let mine = ranking.strength(hole | full);
        for other in subsets(rules.deck.all() & !(hole | full), n_hole) {
            let theirs = ranking.strength(other | full);
            sum += f64::from(u8::from(mine > theirs)) + 0.5 * f64::from(u8::from(mine == theirs));
            n += 1.0;
        }
    }
    sum / n
}

/// With more buckets than strengths, each strength has its own: so the buckets tell the strength of every hand.
#[test]
fn strengths_are_those_of_all_deals() {
    let rules = small();
    let recipe = Recipe { rounds: vec![(Method::Strength, 1_000_000); 3], ..Recipe::default() };
    for_each_device(|device| {
        let buckets = Abstraction::build(device, &rules, &recipe)?;
        for round in 0..3 {
            let strengths = buckets.rounds[round].strengths();
            assert!(strengths.is_sorted());
            let n_board = rules.board_cards_by(round);
            for (number, board) in subsets(rules.deck.all(), n_board).enumerate().filter(|(number, _)| number % 7 == 0)
            {
                for hole in subsets(rules.deck.all() & !board, 2).skip(number % 3).step_by(5) {
                    let bucket = buckets.bucket(round, hole, board).expect("a bucket");
                    let expected = plain_strength(&rules, hole, board);
                    let got = strengths[bucket as usize];
                    assert!(
                        (got - expected).abs() < 1e-12,
                        "{} on {}: {got}, expected {expected}",
                        rules.deck.names(hole),
                        rules.deck.names(board)
                    );
                }
            }
        }
        Ok(())
    });
}

/// Every device finds the buckets of the plain twin.
#[test]
fn devices_agree() {
    let rules = small();
    let recipes = [
        Recipe {
            rounds: vec![(Method::Lossless, 0), (Method::Histogram, 9), (Method::Strength, 5)],
            bins: 10,
            ..Recipe::default()
        },
        Recipe {
            rounds: vec![(Method::Histogram, 5), (Method::Strength, 7), (Method::Histogram, 3)],
            runouts: Some(6),
            bins: 7,
            seed: 9,
            ..Recipe::default()
        },
    ];
    for recipe in recipes {
        let plain = Abstraction::build(&Device::cpu(), &rules, &recipe).unwrap_or_else(|error| panic!("{error}"));
        for (round, &(method, most)) in plain.rounds.iter().zip(&recipe.rounds) {
            let n = round.n_buckets();
            assert!(method == Method::Lossless || (2..=most).contains(&n), "{method}: {n} buckets");
            assert!((0..n).all(|bucket| round.of_class().contains(&bucket)));
            assert!(round.strengths().is_sorted());
        }
        for_each_device(|device| {
            let buckets = Abstraction::build(device, &rules, &recipe)?;
            for (round, (ours, plain)) in buckets.rounds.iter().zip(&plain.rounds).enumerate() {
                assert_eq!(ours.of_class(), plain.of_class(), "round {round}");
                assert_eq!(ours.strengths(), plain.strengths(), "round {round}");
            }
            Ok(())
        });
    }
}

/// Hands of hold'em before the flop, from drawn run-outs, and exactly where there is a GPU (aces win 85.2 % against a random hand).
///
/// A strength is the mean of numbers from 0 to 1, one for each drawn board without cards of the hand. Of 7,000 boards, drawn without putting back, 5,706 are so in the mean, and fewer than 4,800 with a chance below
/// 1e-100 (Hoeffding, "Probability inequalities for sums of bounded random variables", 1963, theorem 2; section 6 for draws like these). A mean of 4,800 is 0.05 off with a chance of at most 2 exp(-2 · 4800 · 0.05²) = 8e-11
/// by the same theorem, one of six hands with less than 1e-9. The published numbers are rounded to four digits.
#[test]
fn strengths_of_holdem() {
    let rules = holdem("0 5");
    let cards = |text: &str| set_of(&Deck::FULL.cards(text).expect("cards"));
    let check = |device: &Device, runouts: Option<u32>, tolerance: f64| {
        let recipe = Recipe { rounds: vec![(Method::Strength, 1_000_000); 2], runouts, ..Recipe::default() };
        let classes = Abstraction::build_round(device, &rules, &recipe, 0).unwrap_or_else(|error| panic!("{error}"));
        for (hole, expected) in
            [("AcAd", 0.8520), ("KcKd", 0.8240), ("AcKc", 0.6704), ("AcKd", 0.6532), ("7c2d", 0.3458), ("3c2d", 0.3230)]
        {
            let got = classes.strengths()[classes.bucket(cards(hole), 0).expect("a bucket") as usize];
            assert!((got - expected).abs() < tolerance, "{hole}: {got}, expected {expected}");
        }
    };
    const ROUNDED: f64 = 0.00005;
    check(&Device::cpu(), Some(7000), 0.05 + ROUNDED);
    for_each_device(|device| {
        if device.backend() == Backend::Cuda {
            check(device, None, ROUNDED);
        }
        Ok(())
    });
}

/// Strategies of buckets are measured with all cards in sight: the value of the game, -0.0856064 to the first player, lies no further from theirs than NashConv.
#[test]
fn sampled_traversals_play_buckets() {
    let text = golden::text("cfr/games/leduc.limit.2p.game");
    let rules = GameDef::parse(&text).expect("a definition");
    let options =
        Options { algorithm: Algorithm::CfrPlus, sampling: Sampling::Chance, batch: 32, ..Options::default() };
    for_each_device(|device| {
        let solved = |method: Method| {
            let recipe = Recipe { rounds: vec![(method, 2); 2], ..Recipe::default() };
            let buckets = Abstraction::build(device, &rules, &recipe)?;
            let counts: Vec<u32> = buckets.rounds.iter().map(RoundBuckets::n_buckets).collect();
            let mut sampler = Sampler::build(device, &rules, &Information::Buckets(Arc::new(buckets)), &options)?;
            sampler.run(300)?;
            let (conv, values) = sampler.nash_conv()?;
            assert!((values[0] + 0.085_606_424).abs() <= conv + 1e-8, "{method}: nash_conv {conv}, values {values:?}");
            Ok::<_, Error>((counts, [sampler.average("", "2c", "")?, sampler.average("", "2d", "")?]))
        };
        let (counts, [club, diamond]) = solved(Method::Lossless)?;
        assert_eq!(counts, [3, 15], "ranks; ranks of both, and whether the suits are the same");
        assert_eq!(club, diamond);
        let (counts, [club, diamond]) = solved(Method::Strength)?;
        assert_eq!(counts, [2, 2]);
        assert_eq!(club, diamond);
        Ok(())
    });
}

/// Cards that are told apart all the same: tables and measurements have the bits of the game without buckets, whose sets stand in the same order.
#[test]
fn buckets_of_one_hand_change_nothing() {
    let rules = GameDef::parse(&golden::text("cfr/games/kuhn.limit.3p.game")).expect("a definition");
    let recipe: Recipe = "lossless".parse().expect("a recipe");
    for_each_device(|device| {
        let solve = |problem: Problem| {
            let mut solver = sampled(problem).iterations(40).measure_at([10]).build(device)?;
            solver.run(|_| ControlFlow::Continue(()))?;
            let measured: Vec<f64> = solver.report().trajectory.iter().map(|point| point.nash_conv).collect();
            Ok::<_, Error>((solver.strategy()?, measured))
        };
        let abstraction = Abstraction::build(device, &rules, &recipe)?;
        let (buckets, measured) = solve(Problem::abstracted(rules.clone(), abstraction)?)?;
        let (exact, expected) = solve(Problem::from(&rules))?;
        assert_eq!(measured, expected);
        for hand in ["2c", "3c", "4c", "5c"] {
            for history in ["", "r", "crf"] {
                assert_eq!(buckets.query(history, "", hand)?, exact.query(history, "", hand)?);
            }
        }
        Ok(())
    });
}

/// One game, whatever is known of its cards: what a strategy in one bucket wins is what the other loses, and sampled deals estimate it.
#[test]
fn strategies_in_buckets_are_matched_with_others() {
    let (device, rules) = (Device::cpu(), GameDef::leduc());
    let solved = |problem: Problem| {
        let mut solver = sampled(problem).engine(Engine::Walk).iterations(200).build(&device).expect("a solver");
        solver.run(|_| ControlFlow::Continue(())).expect("runs");
        solver.strategy().expect("a strategy")
    };
    let blind = Abstraction::build(&device, &rules, &"ehs:1, ehs:1".parse().expect("a recipe")).expect("buckets");
    let blind = solved(Problem::abstracted(rules.clone(), blind).expect("fits"));
    let exact = solved(Problem::from(&rules));
    let value = |a, b| head_to_head(&device, a, b, Precision::F64).expect("a match").value;
    let won = value(&exact, &blind);
    assert!((won + value(&blind, &exact)).abs() < 1e-9, "{won}");
    // Who never looks at its cards loses to who does.
    assert!(won > 0.0, "{won}");
    let sampled = head_to_head_sampled(&exact, &blind, 4000, 7, |_| ControlFlow::Continue(())).expect("a match");
    let error = sampled.sampled.expect("sampled").standard_error;
    assert!((sampled.value - won).abs() < 5.0 * error, "{} +- {error}, expected {won}", sampled.value);
}

/// A solve in buckets is saved and gone on with; its strategy's exploitability over explicit histories is that of the solver's own measurement.
#[test]
fn solves_in_buckets_are_saved_and_gone_on_with() {
    let rules = GameDef::leduc();
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for_each_device(|device| {
        let abstraction = Abstraction::build(device, &rules, &"lossless,ehs:2".parse()?)?;
        assert_eq!(abstraction.to_string(), "lossless,strength:2");
        abstraction.save(path("buckets"))?;
        assert_eq!(Abstraction::load(path("buckets"))?, abstraction);
        let problem = Problem::abstracted(rules.clone(), abstraction)?;
        let mut whole = sampled(problem.clone()).iterations(60).build(device)?;
        whole.run(|_| ControlFlow::Continue(()))?;
        let mut half = sampled(problem.clone()).iterations(20).build(device)?;
        half.run(|_| ControlFlow::Continue(()))?;
        half.checkpoint()?.save(path("half"))?;
        let kept = Checkpoint::load(path("half"))?;
        let problem = kept.problem().expect("a game of poker with its buckets");
        let mut rest = Solver::builder(problem).resume(kept).iterations(60).build(device)?;
        rest.run(|_| ControlFlow::Continue(()))?;
        let end = whole.checkpoint()?;
        assert!(rest.checkpoint()?.same_tables(&end));

        let strategy = whole.strategy()?;
        strategy.save(path("strategy"))?;
        let loaded = Strategy::load(path("strategy"))?;
        // Two weak hands beside a pair of the king, and all hands before it, play as their bucket does.
        assert_eq!(loaded.query("cc/", "4c", "2c")?.choices, strategy.query("cc/", "4c", "2d")?.choices);
        assert_ne!(loaded.query("cc/", "4c", "2c")?.choices, loaded.query("cc/", "4c", "4d")?.choices);
        let measured = whole.exploitability()?.nash_conv;
        let profile = loaded.profile(&Device::cpu(), Precision::F64)?.nash_conv;
        // Probabilities are stored in single precision: pots of 26 chips at most, a dozen probabilities a line.
        assert!((measured - profile).abs() < 26.0 * 12.0 * 2.0 * f64::from(f32::EPSILON), "{measured} {profile}");

        // A byte of the buckets in the strategy's file.
        let mut bytes = std::fs::read(path("strategy")).expect("a file");
        let at = bytes.len() - 5;
        bytes[at] ^= 1;
        std::fs::write(path("damaged"), bytes).expect("a file");
        let error = Strategy::load(path("damaged")).expect_err("damaged").to_string();
        assert!(error.contains("damaged strategy"), "{error}");
        Ok(())
    });
}

/// Equal parts of strength need no table: hands get the part of their own strength, and solves in them are saved and gone on with as others.
#[test]
fn even_parts_are_counted_when_hands_are_dealt() {
    let deck = Deck { n_suits: 2, n_ranks: 4 };
    let rules = GameDef { max_raises: vec![1; 3], deck, ..small() };
    let recipe: Recipe = "lossless,strength:4,even:7".parse().expect("a recipe");
    let folder = tempfile::tempdir().expect("a folder");
    for_each_device(|device| {
        let abstraction = Abstraction::build(device, &rules, &recipe)?;
        assert_eq!(
            (abstraction.to_string().as_str(), abstraction.rounds[2].n_buckets()),
            ("lossless,strength:4,even:7", 7)
        );
        for board in subsets(rules.deck.all(), 3).step_by(11) {
            let holes: Vec<CardSet> = subsets(rules.deck.all(), 2).collect();
            let of_all = abstraction.buckets(2, &holes, board);
            for (&hole, bucket) in holes.iter().zip(of_all) {
                assert_eq!(bucket, abstraction.bucket(2, hole, board));
                let free = hole & board == 0;
                let expected = free.then(|| ((7.0 * plain_strength(&rules, hole, board)) as u32).min(6));
                assert_eq!(bucket, expected, "{} on {}", rules.deck.names(hole), rules.deck.names(board));
            }
        }
        let path = folder.path().join("buckets");
        abstraction.save(&path)?;
        assert_eq!(Abstraction::load(&path)?, abstraction);
        let problem = Problem::abstracted(rules.clone(), abstraction)?;
        let mut solver = sampled(problem).iterations(40).build(device)?;
        solver.run(|_| ControlFlow::Continue(()))?;
        let path = folder.path().join("strategy");
        solver.strategy()?.save(&path)?;
        let measured = solver.exploitability()?.nash_conv;
        let profile = Strategy::load(&path)?.profile(&Device::cpu(), Precision::F64)?.nash_conv;
        // As above, with pots of 8 chips at most and two dozen probabilities a line.
        assert!((measured - profile).abs() < 8.0 * 24.0 * 2.0 * f64::from(f32::EPSILON), "{measured} {profile}");
        Ok(())
    });

    // The river of hold'em: the best hand of all, and a board that everybody plays.
    let recipe: Recipe = "lossless,strength:1,strength:1,even:200".parse().expect("a recipe");
    let river = Abstraction::build_round(&Device::cpu(), &holdem("0 3 1 1"), &recipe, 3).expect("nothing to find");
    let cards = |text: &str| set_of(&Deck::FULL.cards(text).expect("cards"));
    assert_eq!(river.bucket(cards("AhKh"), cards("QhJhTh4c4d")), Some(199));
    assert_eq!(river.bucket(cards("2c3d"), cards("AhKhQhJhTh")), Some(100));
    let error = Abstraction::build(&Device::cpu(), &rules, &"lossless,even:7,even:7".parse().expect("a recipe"));
    let error = error.expect_err("cards are to come").to_string();
    assert!(error.contains("option abstraction: even in round 2 is not allowed"), "{error}");
}

#[test]
fn buckets_of_other_cards_and_other_sampling_are_refused() {
    let device = Device::cpu();
    let leduc = Abstraction::build(&device, &GameDef::leduc(), &"lossless,lossless".parse().expect("a recipe"));
    let leduc = leduc.expect("buckets");
    let kuhn = GameDef::parse(&golden::text("cfr/games/kuhn.limit.2p.game")).expect("a definition");
    let error = Problem::abstracted(kuhn, leduc.clone()).expect_err("other cards").to_string();
    assert!(error.contains("option abstraction: 2 suits of 3 ranks, 1 private cards, boards of [0, 1]"), "{error}");
    let problem = Problem::abstracted(GameDef::leduc(), leduc).expect("fits");
    for (builder, says) in [
        (
            Solver::builder(problem.clone()).sampling(Sampling::PublicChance),
            "sampling: public_chance is not allowed (none, chance",
        ),
        (
            Solver::builder(problem.clone()).engine(Engine::Walk).sampling(Sampling::None),
            "sampling: none is not allowed (chance",
        ),
        (
            Solver::builder(problem.clone()).engine(Engine::Mccfr).sampling(Sampling::None),
            "sampling: none is not allowed (external",
        ),
        (Solver::builder(problem).engine(Engine::Cpu), "engine: cpu is not allowed (auto, explicit, mccfr or walk"),
    ] {
        let error = builder.plan(&device).expect_err(says).to_string();
        assert!(error.contains(says), "{error}\nexpected {says}");
    }
    for text in ["", "lossless:3", "ehs", "strength:x", "median:3", "lossless,"] {
        let error = text.parse::<Recipe>().expect_err(text).to_string();
        assert!(error.contains("option abstraction: '"), "{text}: {error}");
    }
}

/// A builder of a solve by sampled deals.
fn sampled(problem: Problem) -> SolverBuilder {
    Solver::builder(problem).algorithm(Algorithm::CfrPlus).sampling(Sampling::Chance).batch(32)
}

#[test]
fn bad_recipes_are_refused() {
    let rules = small();
    let rounds = vec![(Method::Strength, 2); 3];
    let device = Device::cpu();
    for (recipe, says) in [
        (Recipe::default(), "option rounds: 0 is not allowed (3, one a betting round"),
        (Recipe { rounds: vec![(Method::Histogram, 0); 3], ..Recipe::default() }, "option buckets: 0"),
        (Recipe { rounds: rounds.clone(), bins: 0, ..Recipe::default() }, "option bins: 0"),
        (Recipe { rounds: rounds.clone(), bins: 257, ..Recipe::default() }, "option bins: 257"),
        (Recipe { rounds: rounds.clone(), runouts: Some(0), ..Recipe::default() }, "option runouts: 0"),
        (Recipe { rounds, runouts: Some(1), ..Recipe::default() }, "option runouts: 1 is not allowed (more, or all"),
    ] {
        let error = Abstraction::build(&device, &rules, &recipe).expect_err(says).to_string();
        assert!(error.contains(says), "{error}\nexpected {says}");
    }
    assert!("median".parse::<Method>().is_err());

    // More buckets than there are deals are as many as can be told apart, and cost no memory.
    let leduc = GameDef::leduc();
    for method in ["strength", "histogram"] {
        let build = |n: u32| {
            let recipe = format!("{method}:{n},{method}:{n}").parse().expect("a recipe");
            Abstraction::build(&device, &leduc, &recipe).expect("buckets").rounds
        };
        assert_eq!(build(u32::MAX), build(30), "{method}");
    }
}

/// Buckets of hold'em's river take minutes to find; what is wrong with the options, the game or the memory is told without them.
#[test]
fn options_and_memory_are_checked_before_buckets_are_found() {
    let device = Device::cpu();
    let rules = GameDef { max_raises: vec![1; 4], ..holdem("0 3 1 1") };
    let recipe = "lossless,lossless,lossless,ehs:10".parse::<Recipe>().expect("a recipe");
    let solve = |batch| Solver::builder(&rules).sampling(Sampling::Chance).batch(batch);
    let refused =
        |builder: SolverBuilder| builder.memory_in_buckets(&device, &recipe).expect_err("refused").to_string();
    for (builder, says) in [
        (solve(1).sampling(Sampling::SelfPublic), "option sampling: self_public is not allowed (none, chance"),
        (
            solve(1).sampling(Sampling::None),
            "option sampling: all deals is not allowed (chance, with cfr, cfr_plus or lcfr",
        ),
        (solve(33), "option batch: 33 is not allowed (1 to 32"),
        (solve(1).algorithm(Algorithm::Dcfr), "option algorithm: dcfr is not allowed (cfr, cfr_plus or lcfr"),
        (solve(1).engine(Engine::Cpu), "option engine: cpu is not allowed (auto, explicit, mccfr or walk"),
    ] {
        let error = refused(builder);
        assert!(error.contains(says), "{error}\nexpected {says}");
    }
    let needed = |recipe: &str| {
        let recipe = recipe.parse::<Recipe>().expect("a recipe");
        let needed = solve(1).memory_in_buckets(&device, &recipe).expect("allowed");
        needed.device() + needed.host()
    };
    let (few, many) = (needed("lossless,ehs:10,ehs:10,ehs:10"), needed("lossless,lossless,lossless,ehs:10"));
    // 36 sequences on the turn; at least 270,725 · 1,128 / 24 hands there, for each three regrets and three sums of 4 bytes.
    assert!(many > 36 * 270_725 * 1_128 / 24 * 24 && few < many / 1000, "{few} {many}");
}
