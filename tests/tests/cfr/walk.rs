//! Batches of sampled deals do what the reference runs say.

use std::ops::ControlFlow;

use warpplay::cfr::engines::walk::{Information, Sampler, Set};
use warpplay::cfr::{
    self, Algorithm, Checkpoint, Engine, GameDef, Sampling, Solver, Updates, head_to_head, head_to_head_sampled,
};
use warpplay::{Backend, Device, Precision, Progress};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::cfr::{SAMPLED as DOUBLE, follow_sampled, game};
use warpplay_tests::folder::Folder;
use warpplay_tests::tolerance::close;

/// The walk, one deal at a time.
fn follow_walk(device: &Device, name: &str, last: u64) -> Checked {
    follow_sampled(&format!("the walk on {device}"), name, last, |game, seed| {
        let options = cfr::Options { seed, batch: 1, precision: Precision::F64, ..sampled() };
        Ok(Box::new(Sampler::build(device, game, &Information::Unordered, &options)?))
    })
}

/// Simultaneous updates from sampled deals.
fn sampled() -> cfr::Options {
    cfr::Options { updates: Updates::Simultaneous, sampling: Sampling::Chance, batch: 32, ..cfr::Options::default() }
}

#[test]
fn the_walk_with_one_deal_follows_the_reference() {
    for_each_device(|device| {
        follow_walk(device, "variant_a", 1000)?;
        follow_walk(device, "kuhn.limit.3p", 1000)?;
        // The CPU would take a minute for the eight players' 616,592 sequences with 32 lanes.
        if device.backend() == Backend::Simt { Ok(()) } else { follow_walk(device, "variant_d", 10) }
    });
}

#[test]
fn the_walk_with_one_deal_follows_the_reference_with_six_thousand_hands() -> Checked {
    let Some(device) = gpu() else { return Ok(()) };
    follow_walk(&device, "variant_c", 100)
}

#[test]
fn the_walk_on_the_cpu_follows_the_reference() -> Checked {
    let device = Device::cpu();
    for (name, last) in [("variant_a", 1000), ("kuhn.limit.3p", 1000), ("variant_d", 10), ("variant_c", 1)] {
        follow_walk(&device, name, last)?;
    }
    Ok(())
}

#[test]
fn the_walk_on_the_cpu_has_the_bits_of_the_kernels() -> Checked {
    // Two rounds; several stages of many pieces; ties and side pots.
    let games = [game("leduc.limit.3p"), sweep_game(4, 3, 8)?, sweep_game(3, 1, 4)?, short_stacks()?];
    for game in &games {
        for (batch, precision, algorithm, updates) in [
            (1, Precision::F32, Algorithm::Cfr, Updates::Simultaneous),
            (1, Precision::F64, Algorithm::CfrPlus, Updates::Alternating),
            (7, Precision::F64, Algorithm::Lcfr, Updates::Alternating),
            (32, Precision::F32, Algorithm::CfrPlus, Updates::Simultaneous),
        ] {
            let options = cfr::Options { batch, precision, algorithm, updates, seed: 11, ..sampled() };
            let run = |device: &Device, threads| {
                let options = cfr::Options { threads, ..options };
                let solver = Solver::builder(game.clone()).options(cfr::Options {
                    iterations: 5,
                    engine: Engine::Walk,
                    ..options
                });
                let mut solver = solver.measure_at([]).build(device)?;
                solver.run(|_| ControlFlow::Continue(()))?;
                Ok::<_, warpplay::Error>((solver.checkpoint()?, solver.average_utility()?))
            };
            let (kernels, utilities) = run(&Device::simt(), None)?;
            for threads in [Some(1), Some(3)] {
                let (cpu, of_cpu) = run(&Device::cpu(), threads)?;
                assert!(cpu.same_tables(&kernels), "{game:?}, {options:?}");
                assert_eq!(of_cpu, utilities, "{game:?}, {options:?}");
            }
        }
    }
    Ok(())
}

/// One card each of `cards` of one suit, an ante of 1 and raises of 1.
fn sweep_game(players: usize, raises: u32, cards: u32) -> Result<GameDef, warpplay::Error> {
    GameDef::parse(&format!(
        "GAMEDEF\nlimit\nnumPlayers = {players}\nnumRounds = 1\nstack = {}\nblind = {}\nraiseSize = 1\nmaxRaises = {raises}\n\
         numSuits = 1\nnumRanks = {cards}\nnumHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n",
        "1000 ".repeat(players),
        "1 ".repeat(players),
    ))
}

/// Four seats that can be all in for different amounts.
fn short_stacks() -> Result<GameDef, warpplay::Error> {
    GameDef::parse(
        "GAMEDEF\nlimit\nnumPlayers = 4\nnumRounds = 1\nstack = 1 5 3 4\nblind = 1 1 0 2\nraiseSize = 2\nmaxRaises = 2\n\
         numSuits = 2\nnumRanks = 4\nnumHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n",
    )
}

#[test]
fn chance_sampling_of_more_than_two_players_is_the_walk_on_every_device() -> Checked {
    let builder = Solver::builder(game("variant_d")).sampling(Sampling::Chance);
    for device in [Device::cpu(), Device::simt()] {
        assert_eq!(builder.plan(&device)?.engine(), Engine::Walk, "{device}");
    }
    // Two players keep the engine that they had where kernels run, and have the walk by name.
    let two = |engine| Solver::builder(game("kuhn.limit.2p")).sampling(Sampling::Chance).engine(engine);
    assert_eq!(two(Engine::Auto).plan(&Device::simt())?.engine(), Engine::Small);
    let refused = two(Engine::Auto).plan(&Device::cpu()).expect_err("one deal in vector form").to_string();
    assert!(refused.contains("chance of a game with engine walk or mccfr"), "{refused}");
    for device in [Device::cpu(), Device::simt()] {
        for engine in [Engine::Walk, Engine::Mccfr] {
            assert_eq!(two(engine).plan(&device)?.engine(), engine, "{device}");
        }
    }
    Ok(())
}

#[test]
fn a_solve_whose_exploitability_cannot_be_found_keeps_its_work() -> Checked {
    let folder = Folder::new();
    let path = folder.path("d.checkpoint");
    let solver = Solver::builder(game("variant_d")).sampling(Sampling::Chance).iterations(2).measure_at([1, 2]);
    let mut solver = solver.checkpoint(&path).build(&Device::cpu())?;
    let report = solver.run(|_| ControlFlow::Continue(()))?;
    assert_eq!(report.iterations, 2);
    let reason = report.unmeasured.as_deref().unwrap_or_else(|| panic!("{report}"));
    assert!(reason.contains("histories") && report.trajectory.is_empty(), "{report}");
    assert!(report.to_string().contains("exploitability not computed"), "{report}");
    assert!(solver.exploitability().is_err());
    let kept = Checkpoint::load(&path)?;
    assert_eq!(kept.iteration(), 2);
    let now = solver.checkpoint()?;
    assert!(kept.same_tables(&now));
    // All eight seats of the average play, as far as two deals lead.
    let strategy = solver.strategy()?;
    let answer = strategy.query("", "", "2c")?;
    assert!((answer.choices.iter().map(|choice| choice.probability).sum::<f64>() - 1.0).abs() < 1e-6, "{answer:?}");
    assert!(!strategy.walks_all_deals(&Device::cpu())? && strategy.walks_all_deals(&Device::simt())?);
    Ok(())
}

#[test]
fn sampled_matches_come_near_the_exact_value() -> Checked {
    let device = Device::cpu();
    let solve = |name: &str, iterations| {
        let solver = Solver::builder(game(name)).sampling(Sampling::Chance).engine(Engine::Walk).iterations(iterations);
        let mut solver = solver.batch(32).measure_at([]).build(&device)?;
        solver.run(|_| ControlFlow::Continue(()))?;
        solver.strategy()
    };
    for name in ["kuhn.limit.3p", "kuhn.limit.2p"] {
        let (good, poor) = (solve(name, 100)?, solve(name, 1)?);
        let exact = head_to_head(&device, &good, &poor, Precision::F64)?;
        let sampled = head_to_head_sampled(&good, &poor, 20_000, 3, Progress::go_on)?;
        let found = sampled.sampled.as_ref().expect("sampled");
        // Six standard errors: once in 500 million seeds.
        for seat in 0..exact.values.len() {
            let away = (sampled.values[seat] - exact.values[seat]).abs();
            assert!(away < 6.0 * found.standard_errors[seat], "{name}, seat {seat}: {away} away, {found:?}");
        }
        assert!((sampled.value - exact.value).abs() < 6.0 * found.standard_error, "{name}: {sampled:?} {exact:?}");
        assert_eq!(
            sampled,
            head_to_head_sampled(&good, &poor, 20_000, 3, Progress::go_on)?,
            "the same seed, the same deals"
        );
        let stopped = head_to_head_sampled(&good, &poor, 20_000, 3, |_| ControlFlow::Break(()))?;
        let deals = stopped.sampled.map_or(0, |sampled| sampled.deals);
        assert!((2..20_000).contains(&deals), "{deals}");
        assert!(
            head_to_head_sampled(&good, &poor, 1, 3, Progress::go_on)
                .expect_err("one deal")
                .to_string()
                .contains("deals")
        );
    }
    Ok(())
}

/// The generator of the deals, `cards` numbers further on. Its constants are part of what is tested, so they are written out here.
fn further(state: u64, cards: u32) -> u64 {
    (0..cards).fold(state, |state, _| state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407))
}

#[test]
fn a_batch_is_the_sum_of_its_deals() {
    for_each_device(|device| {
        let game = game("kuhn.limit.3p");
        for batch in [2, 5, 31, 32] {
            let options = cfr::Options { batch, seed: 9, precision: Precision::F64, ..sampled() };
            let mut together = Sampler::build(device, &game, &Information::Exact, &options)?;
            together.run(1)?;
            // From no regrets, each deal by itself.
            let n_sets = (together.n_sequences() * 4) as usize;
            let (mut sets, mut utilities, mut seed) = (vec![Set::default(); n_sets], vec![0.0; 3], 9);
            for _ in 0..batch {
                let options = cfr::Options { batch: 1, seed, ..options };
                let mut one = Sampler::build(device, &game, &Information::Exact, &options)?;
                one.run(1)?;
                one.utilities()?.into_iter().zip(&mut utilities).for_each(|(one, sum)| *sum += one);
                for (at, sum) in sets.iter_mut().enumerate() {
                    let set = one.set(at as u32 / 4, at as u32 % 4)?;
                    for action in 0..3 {
                        sum.regrets[action] += set.regrets[action];
                        sum.averages[action] += set.averages[action];
                    }
                }
                seed = further(seed, 3);
            }
            close("utilities", &together.utilities()?, &utilities, DOUBLE);
            for (at, sum) in sets.iter().enumerate() {
                let set = together.set(at as u32 / 4, at as u32 % 4)?;
                close(&format!("regrets of set {at}, {batch} deals"), &set.regrets, &sum.regrets, DOUBLE);
                close(&format!("averages of set {at}, {batch} deals"), &set.averages, &sum.averages, DOUBLE);
            }
        }
        Ok(())
    });
}

/// The deals' regrets are held to the reference elsewhere; here what is measured of the average strategies is held to the known value of the game to the first player. A
/// strategy's value and that of the game both lie between what best responses leave of it: -b₁ and b₀, which NashConv = b₀ + b₁ are apart.
#[test]
fn measures_of_batches_bound_the_value_of_the_game() {
    for_each_device(|device| {
        // Kuhn and Leduc: one round and two. The bound holds after any number of iterations; what is said of the king below needs some hundreds.
        for (name, n, value) in [("kuhn.limit.2p", 600, -1.0 / 18.0), ("leduc.limit.2p", 100, -0.0856064240780004)] {
            let game = game(name);
            for (algorithm, updates) in [
                (Algorithm::Cfr, Updates::Simultaneous),
                (Algorithm::CfrPlus, Updates::Alternating),
                (Algorithm::Lcfr, Updates::Alternating),
            ] {
                let options = cfr::Options { algorithm, updates, ..sampled() };
                let mut sampler = Sampler::build(device, &game, &Information::Exact, &options)?;
                sampler.run(n)?;
                let (conv, values) = sampler.nash_conv()?;
                let what = format!("{name}, {algorithm}, {updates}: nash_conv {conv}, values {values:?}");
                assert!((values[0] - value).abs() <= conv + 1e-9, "{what}");
                assert!((values[0] + values[1]).abs() < 1e-9, "{what}");
                if name.starts_with("kuhn") {
                    // With the king to fold loses in every deal: after the first that comes there its regret is negative, and it is not played again. A sixth of the 32 deals of
                    // the first iteration have the king there, of thousands in all.
                    let [fold, call, raise] = sampler.average("r", "4c", "")?;
                    assert!(fold < 0.05 && call > 0.95 && raise == 0.0, "{fold} {call} {raise}");
                    assert!(sampler.average("r", "4c", "2c").is_err() && sampler.average("rr", "4c", "").is_err());
                }
            }
        }
        Ok(())
    });
}

#[test]
fn the_same_seed_gives_the_same_bits_however_the_iterations_are_divided() {
    for_each_device(|device| {
        let game = game("leduc.limit.3p");
        let run = |parts: &[u32]| {
            let mut sampler =
                Sampler::build(device, &game, &Information::Exact, &cfr::Options { seed: 5, ..sampled() })?;
            parts.iter().try_for_each(|&n| sampler.run(n))?;
            Ok::<_, warpplay::Error>((sampler.checksums()?, sampler.utilities()?))
        };
        let once = run(&[10])?;
        assert_eq!(once, run(&[10])?);
        assert_eq!(once, run(&[3, 7])?);
        Ok(())
    });
}

/// On the CPU other arrays are taken than where kernels run: by the sum of the latter a game could be found to fit that does not.
#[test]
fn memory_is_told_before_as_it_is_taken() {
    for_each_device(|device| {
        for precision in [Precision::F32, Precision::F64] {
            let (game, options) = (game("leduc.limit.3p"), cfr::Options { precision, ..sampled() });
            let told = Sampler::memory_of(device, &game, &Information::Exact, &options)?;
            let taken = Sampler::build(device, &game, &Information::Exact, &options)?;
            assert_eq!(&told, taken.memory_needed(), "{device}, {precision}");
        }
        Ok(())
    });
}

#[test]
fn what_cannot_be_done_is_said() {
    let device = Device::simt();
    let [kuhn, c, any] = ["kuhn.limit.2p", "variant_c", "leduc.nolimit.2p"].map(game);
    let walk = |device: &Device, game, options| {
        Sampler::build(device, game, &Information::Exact, &options).expect_err("refused").to_string()
    };
    let cases = [
        (walk(&device, &any, sampled()), "one size of raise"),
        (walk(&device, &kuhn, cfr::Options { batch: 33, ..sampled() }), "1 to 32"),
        (walk(&device, &kuhn, cfr::Options { batch: 0, ..sampled() }), "1 to 32"),
        (walk(&device, &kuhn, cfr::Options { algorithm: Algorithm::Dcfr, ..sampled() }), "cfr, cfr_plus or lcfr"),
        (walk(&device, &kuhn, cfr::Options { sampling: Sampling::None, ..sampled() }), "chance"),
        (walk(&Device::cpu(), &kuhn, cfr::Options { batch: 33, ..sampled() }), "1 to 32"),
        (walk(&Device::cpu(), &any, sampled()), "one size of raise"),
    ];
    for (error, part) in cases {
        assert!(error.contains(part), "{error} does not say {part}");
    }
    let needed = Sampler::memory_of(&device, &c, &Information::Unordered, &sampled()).expect("a size");
    // 21,285 sequences of 2,024 buckets, three actions in two tables.
    assert!((21285 * 2024 * 3 * 2 * 4..1_100_000_000).contains(&needed.device()), "{needed}");
}
