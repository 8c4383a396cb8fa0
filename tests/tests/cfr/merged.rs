//! Buckets of cards with all deals, and with traversals of the tree: all algorithms.

use std::ops::ControlFlow;

use warpplay::cfr::{
    Abstraction, Algorithm, Checkpoint, Engine, GameDef, Problem, Sampling, Solver, SolverBuilder, Strategy, Updates,
};
use warpplay::{Device, Error, Precision};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::cfr::game;

const ALGORITHMS: [Algorithm; 6] =
    [Algorithm::Cfr, Algorithm::CfrPlus, Algorithm::Lcfr, Algorithm::Dcfr, Algorithm::PcfrPlus, Algorithm::CfrBr];

/// A game in the buckets of a recipe.
fn in_buckets(rules: &GameDef, recipe: &str) -> Problem {
    let abstraction = Abstraction::build(&Device::cpu(), rules, &recipe.parse().expect("a recipe")).expect("buckets");
    Problem::abstracted(rules.clone(), abstraction).expect("fits")
}

/// A solve of all deals in double precision.
fn all_deals(problem: impl Into<Problem>, algorithm: Algorithm) -> SolverBuilder {
    let builder = Solver::builder(problem).algorithm(algorithm).sampling(Sampling::None);
    builder.precision(Precision::F64).iterations(30)
}

/// What a solve finds: NashConv and values after some iterations, and the strategy.
fn found(builder: SolverBuilder, device: &Device) -> Result<(Vec<f64>, Strategy), Error> {
    let mut solver = builder.measure_at([1, 7, 30]).build(device)?;
    let report = solver.run(|_| ControlFlow::Continue(()))?;
    let numbers = report.trajectory.iter().flat_map(|point| [&[point.nash_conv][..], &point.value].concat()).collect();
    Ok((numbers, solver.strategy()?))
}

/// Where each bucket is a hand, or hands that differ by suits only, the game in buckets is the game: whatever the algorithm, the seats and the order of updates.
///
/// Numbers differ by the order of sums alone: some hundred operations an iteration on values of at most 26 chips, of a relative error of 2e-16 each, are below 1e-9 after 30 iterations.
#[test]
fn buckets_without_loss_change_nothing() {
    let games =
        [(GameDef::kuhn(), "lossless"), (GameDef::leduc(), "lossless,lossless"), (game("kuhn.limit.3p"), "lossless")];
    for (rules, recipe) in games {
        for algorithm in ALGORITHMS {
            if algorithm == Algorithm::CfrBr && rules.n_players != 2 {
                continue;
            }
            for updates in [Updates::Alternating, Updates::Simultaneous] {
                let solve = |problem: Problem| all_deals(problem, algorithm).updates(updates).engine(Engine::Explicit);
                let buckets = in_buckets(&rules, recipe);
                let check = |device: &Device| {
                    // On the same device: which of two equally good responses cfr_br takes follows the order of sums.
                    let (expected, _) = found(solve(Problem::from(&rules)), device)?;
                    let (numbers, _) = found(solve(buckets.clone()), device)?;
                    let most =
                        numbers.iter().zip(&expected).map(|(got, expected)| (got - expected).abs()).fold(0.0, f64::max);
                    assert!(
                        numbers.len() == expected.len() && most < 1e-9,
                        "{algorithm}, {updates}: {numbers:?}\nexpected {expected:?}"
                    );
                    Ok::<_, Error>(())
                };
                check(&Device::cpu()).expect("solved");
                for_each_device(check);
            }
        }
    }
}

/// Imperfect recall: in the second round seats no longer know which card they hold. Kernels and the plain program learn the same, within the bound above; with `cfr_br` the first iteration
/// alone, since equally good responses lead to different strategies (`docs/exact-ties.md`).
#[test]
fn devices_agree_with_imperfect_recall() {
    let buckets = in_buckets(&GameDef::leduc(), "lossless,strength:2");
    for algorithm in ALGORITHMS {
        // NashConv and two values a measurement.
        let n = if algorithm == Algorithm::CfrBr { 3 } else { 9 };
        let (expected, _) = found(all_deals(buckets.clone(), algorithm), &Device::cpu()).expect("solved");
        for_each_device(|device| {
            let (numbers, _) = found(all_deals(buckets.clone(), algorithm), device)?;
            let pairs = numbers.iter().zip(&expected).take(n);
            let most = pairs.map(|(got, expected)| (got - expected).abs()).fold(0.0, f64::max);
            assert!(most < 1e-9, "{algorithm}: {numbers:?}\nexpected {expected:?}");
            Ok(())
        });
    }
}

/// What CFR-BR is for (Johanson et al., 2012): in the same two buckets a round it finds a strategy that a best response who knows the cards gains less against than CFR+'s.
#[test]
fn cfr_br_is_less_exploitable_than_cfr_plus_in_the_same_buckets() {
    let buckets = in_buckets(&GameDef::leduc(), "strength:2,strength:2");
    for_each_device(|device| {
        let conv = |algorithm| {
            let mut solver = all_deals(buckets.clone(), algorithm).iterations(300).measure_at([]).build(device)?;
            solver.run(|_| ControlFlow::Continue(()))?;
            Ok::<_, Error>(solver.exploitability()?.nash_conv)
        };
        let (plus, best) = (conv(Algorithm::CfrPlus)?, conv(Algorithm::CfrBr)?);
        assert!(best < plus, "cfr_br {best}, cfr_plus {plus}");
        Ok(())
    });
}

/// Traversals of the tree with buckets: on the CPU one an iteration, else a batch.
#[test]
fn traversals_play_buckets() {
    let buckets = in_buckets(&GameDef::leduc(), "lossless,lossless");
    let check = |device: &Device, batch: u32, iterations: u64| {
        for sampling in [Sampling::External, Sampling::Outcome, Sampling::Chance] {
            let builder = Solver::builder(buckets.clone()).engine(Engine::Mccfr).sampling(sampling).batch(batch);
            let mut solver = builder.iterations(iterations).measure_at([1]).build(device)?;
            assert_eq!(solver.plan().engine(), Engine::Mccfr);
            let report = solver.run(|_| ControlFlow::Continue(()))?;
            let (first, last) = (report.trajectory[0].nash_conv, solver.exploitability()?);
            assert!(last.nash_conv < first, "{sampling}: {first} to {}", last.nash_conv);
            // The value of the game is within what can be gained.
            assert!((last.value[0] + 0.085_606_424).abs() <= last.nash_conv, "{sampling}: {last:?}");
        }
        Ok::<_, Error>(())
    };
    check(&Device::cpu(), 1, 3000).expect("solved");
    for_each_device(|device| check(device, 64, 300));
}

/// Files: stopped and gone on with has the same bits, strategies come back, and what they are worth is what the solve measured.
#[test]
fn solves_are_saved_and_gone_on_with() {
    let buckets = in_buckets(&GameDef::leduc(), "lossless,strength:2");
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let check = |device: &Device| {
        for (algorithm, sampling) in ALGORITHMS
            .map(|algorithm| (algorithm, Sampling::None))
            .into_iter()
            .chain([(Algorithm::Cfr, Sampling::External)])
        {
            let solve = |problem: Problem, iterations: u64| {
                let builder = Solver::builder(problem).algorithm(algorithm).engine(Engine::Explicit);
                builder.sampling(sampling).precision(Precision::F32).iterations(iterations).measure_at([])
            };
            let mut whole = solve(buckets.clone(), 40).build(device)?;
            whole.run(|_| ControlFlow::Continue(()))?;
            let mut half = solve(buckets.clone(), 15).build(device)?;
            half.run(|_| ControlFlow::Continue(()))?;
            half.checkpoint()?.save(path("half"))?;
            let kept = Checkpoint::load(path("half"))?;
            let problem = kept.problem().expect("a game of poker with its buckets");
            let mut rest = Solver::builder(problem).resume(kept).iterations(40).measure_at([]).build(device)?;
            rest.run(|_| ControlFlow::Continue(()))?;
            let end = whole.checkpoint()?;
            assert!(rest.checkpoint()?.same_tables(&end), "{algorithm}, {sampling}");
            whole.strategy()?.save(path("strategy"))?;
            let loaded = Strategy::load(path("strategy"))?;
            let (measured, profile) = (whole.exploitability()?, loaded.profile(&Device::cpu(), Precision::F64)?);
            // Probabilities are stored in single precision: pots of 26 chips at most, a dozen probabilities a line.
            let most = 26.0 * 12.0 * 2.0 * f64::from(f32::EPSILON);
            assert!((measured.nash_conv - profile.nash_conv).abs() < most, "{algorithm}: {measured:?} {profile:?}");
            // All hands that pair the board are in the better of two buckets.
            assert_eq!(loaded.query("cc/", "4c", "4d")?.choices, loaded.query("cc/", "4d", "4c")?.choices);
        }
        Ok::<_, Error>(())
    };
    check(&Device::cpu()).expect("solved");
    for_each_device(check);
}

/// Who says nothing of sampling gets sampled deals where the algorithm takes them, and else all deals.
#[test]
fn what_is_sampled_follows_the_algorithm() {
    let buckets = in_buckets(&GameDef::kuhn(), "lossless");
    for algorithm in ALGORITHMS {
        let sampled = matches!(algorithm, Algorithm::Cfr | Algorithm::CfrPlus | Algorithm::Lcfr);
        let plan = Solver::builder(buckets.clone()).algorithm(algorithm).plan(&Device::cpu()).expect("a plan");
        assert_eq!(plan.engine(), if sampled { Engine::Walk } else { Engine::Explicit }, "{algorithm}");
    }
    let three = in_buckets(&game("kuhn.limit.3p"), "lossless");
    let error = all_deals(three, Algorithm::CfrBr).plan(&Device::cpu()).expect_err("three seats").to_string();
    assert!(error.contains("option algorithm: cfr_br is not allowed"), "{error}");
    let error = all_deals(buckets, Algorithm::Cfr).precision(Precision::I16).plan(&Device::cpu()).expect_err("16 bits");
    assert!(error.to_string().contains("option precision: i16 is not allowed (f32 or f64"), "{error}");
}

/// The memory that is told before the buckets are found is that of trees of single hands: no less than the solve's, and of the same histories, whose values are most of it.
#[test]
fn memory_is_told_before_buckets_are_found() {
    let rules = GameDef::leduc();
    let device = Device::simt();
    let solve = |problem: Problem| all_deals(problem, Algorithm::CfrBr);
    let recipe = "lossless,strength:4";
    let told =
        solve(Problem::from(&rules)).memory_in_buckets(&device, &recipe.parse().expect("a recipe")).expect("told");
    let needed = solve(in_buckets(&rules, recipe)).memory_needed(&device).expect("told");
    assert!((needed.device()..2 * needed.device()).contains(&told.device()), "{told}\n{needed}");
}
