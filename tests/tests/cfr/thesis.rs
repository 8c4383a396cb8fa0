//! The dissertation's programs, and the batched ones that came of them, do what the reference runs of sampled deals say.

use std::ops::ControlFlow;

use serde_json::Value;
use warpplay::cfr::thesis::{Checksums, Options, Program, Run, Set, report};
use warpplay::cfr::walk::{Information, Sampler};
use warpplay::cfr::{self, Algorithm, GameDef, Numbers, Sampling, Updates};
use warpplay::{Backend, Device};
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::tolerance::{Tolerance, close};
use warpplay_tests::{Checked, golden};

/// Double precision with sums in another order.
const DOUBLE: Tolerance = Tolerance { abs: 1e-9, rel: 1e-9 };

fn reference() -> Option<Value> {
    let path = golden::shared("vectors/cfr_reference.json")?;
    let text = std::fs::read_to_string(path).expect("the reference file");
    Some(serde_json::from_str(&text).expect("JSON"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|number| number.as_f64().expect("a number")).collect()
}

fn game(name: &str) -> Option<GameDef> {
    let path = golden::shared(&format!("games/poker/{name}.game"))?;
    Some(GameDef::read(path).expect("a game"))
}

/// A program or the walk, as far as the reference knows them.
trait Runs {
    fn iterate(&mut self, n: u32) -> Checked;
    fn utilities(&mut self) -> Result<Vec<f64>, warpplay::Error>;
    fn checksums(&mut self) -> Result<Checksums, warpplay::Error>;
    fn set(&self, sequence: u32, bucket: u32) -> Result<Set, warpplay::Error>;
}

macro_rules! runs {
    ($type:ty) => {
        impl Runs for $type {
            fn iterate(&mut self, n: u32) -> Checked {
                self.iterate(n)
            }
            fn utilities(&mut self) -> Result<Vec<f64>, warpplay::Error> {
                <$type>::utilities(self)
            }
            fn checksums(&mut self) -> Result<Checksums, warpplay::Error> {
                <$type>::checksums(self)
            }
            fn set(&self, sequence: u32, bucket: u32) -> Result<Set, warpplay::Error> {
                <$type>::set(self, sequence, bucket)
            }
        }
    };
}
runs!(Run);
runs!(Sampler);

/// Runs something to each checkpoint up to `last` and compares all that is known of it.
fn follow_with(
    what: &str,
    name: &str,
    last: u64,
    build: impl FnOnce(&GameDef, u64) -> Result<Box<dyn Runs>, warpplay::Error>,
) -> Checked {
    let (Some(reference), Some(game)) = (reference(), game(name)) else { return Ok(()) };
    let sampled = &reference["sampled_one_deal_per_iteration"];
    let expected = &sampled["games"][name];
    let mut run = build(&game, sampled["lcg_seed"].as_u64().expect("a seed"))?;
    let checkpoints = expected["checkpoints"].as_object().expect("checkpoints");
    let mut at: Vec<u64> = checkpoints.keys().map(|key| key.parse().expect("a number")).collect();
    at.sort_unstable();
    let mut done = 0;
    for iteration in at.into_iter().filter(|&iteration| iteration <= last) {
        let what = |part: &str| format!("{name} by {what}, iteration {iteration}: {part}");
        let point = &checkpoints[&iteration.to_string()];
        run.iterate((iteration - done) as u32)?;
        done = iteration;
        close(&what("utilities"), &run.utilities()?, &numbers(&point["utility_sum"]), DOUBLE);
        let sums = run.checksums()?;
        let got = [sums.regrets, sums.regret_sizes, sums.averages];
        let known = ["regret_sum", "regret_abs_sum", "average_sum"].map(|key| point[key].as_f64().expect("a sum"));
        close(&what("tables"), &got, &known, DOUBLE);
        let deals = expected["deals"].as_array().expect("deals");
        if let Some(deal) = deals.get(iteration as usize - 1) {
            let set = run.set(0, deal["bucket"][0].as_u64().expect("a bucket") as u32)?;
            close(&what("regrets of the root"), &set.regrets, &numbers(&point["root_regret_of_this_deal"]), DOUBLE);
            close(&what("averages of the root"), &set.averages, &numbers(&point["root_average_of_this_deal"]), DOUBLE);
        }
    }
    Ok(())
}

/// One of the programs.
fn follow(device: &Device, name: &str, options: &Options, last: u64) -> Checked {
    follow_with(&format!("{} on {device}", options.program), name, last, |game, seed| {
        Ok(Box::new(Run::build(device, game, &Options { seed, ..*options })?))
    })
}

/// The walk, one deal at a time.
fn follow_walk(device: &Device, name: &str, last: u64) -> Checked {
    follow_with(&format!("the walk on {device}"), name, last, |game, seed| {
        let options = cfr::Options { seed, batch: 1, numbers: Numbers::F64, ..SAMPLED };
        Ok(Box::new(Sampler::build(device, game, &Information::Unordered, &options)?))
    })
}

/// Simultaneous updates from sampled deals.
const SAMPLED: cfr::Options = cfr::Options {
    algorithm: Algorithm::Cfr,
    updates: Updates::Simultaneous,
    averaging: cfr::Averaging::Auto,
    sampling: Sampling::Chance,
    batch: 32,
    discounts: [1.5, 0.0, 2.0],
    exploration: 0.6,
    seed: 1,
    numbers: Numbers::F32,
    form: cfr::Form::Auto,
    threads: None,
};

const PLAIN: Options = Options {
    program: Program::Levels,
    block: 64,
    threads: 2,
    seed: 1,
    numbers: Numbers::F64,
    shared: true,
    constant: true,
    flattened: true,
    renumbered: true,
};

#[test]
fn the_published_program_follows_the_reference() {
    for_each_device(|device| {
        follow(device, "variant_a", &PLAIN, 1000)?;
        follow(device, "kuhn.limit.3p", &PLAIN, 1000)
    });
}

#[test]
fn each_of_its_devices_can_be_left_out() {
    for_each_device(|device| {
        for without in 0..16 {
            let options = Options {
                shared: without & 1 == 0,
                constant: without & 2 == 0,
                flattened: without & 4 == 0,
                renumbered: without & 8 == 0,
                ..PLAIN
            };
            follow(device, "variant_a", &options, 100)?;
            follow(device, "kuhn.limit.3p", &options, 100)?;
        }
        Ok(())
    });
}

#[test]
fn our_program_for_one_deal_follows_the_reference() {
    for_each_device(|device| {
        let options = Options { program: Program::Graph, ..PLAIN };
        follow(device, "variant_a", &options, 1000)?;
        follow(device, "kuhn.limit.3p", &options, 1000)
    });
}

#[test]
fn the_programs_of_the_cpu_follow_the_reference() -> Checked {
    for program in [Program::Recursive, Program::Iterative] {
        let options = Options { program, ..PLAIN };
        follow(&Device::cpu(), "variant_a", &options, 1000)?;
        follow(&Device::cpu(), "kuhn.limit.3p", &options, 1000)?;
        follow(&Device::cpu(), "variant_d", &options, 2)?;
    }
    Ok(())
}

#[test]
fn eight_players_follow_the_reference() {
    for_each_device(|device| {
        // 616,592 sequences: one deal is enough for the CPU.
        let last = if device.backend() == Backend::Simt { 1 } else { 10 };
        follow(device, "variant_d", &PLAIN, last)
    });
}

#[test]
fn five_players_with_six_thousand_hands_follow_the_reference() -> Checked {
    let Some(device) = gpu() else { return Ok(()) };
    for program in [Program::Levels, Program::Graph] {
        follow(&device, "variant_c", &Options { program, ..PLAIN }, 100)?;
        follow(&device, "variant_d", &Options { program, ..PLAIN }, 10)?;
    }
    Ok(())
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
fn the_walk_and_the_program_by_levels_agree_on_trees_of_many_pieces() {
    for_each_device(|device| {
        for (players, raises, cards) in [(4, 3, 8), (5, 2, 10), (6, 2, 6)] {
            let game = report::sweep_game(players, raises, cards)?;
            let mut levels = Run::build(device, &game, &Options { seed: 3, ..PLAIN })?;
            let options = cfr::Options { seed: 3, batch: 1, numbers: Numbers::F64, ..SAMPLED };
            let mut walk = Sampler::build(device, &game, &Information::Unordered, &options)?;
            // The walk leaves out what was put in before, so it rounds otherwise. After a few deals more that shows: where two actions are worth the same, a regret
            // of 1e-18 instead of 0 makes one of them the strategy.
            levels.iterate(3)?;
            walk.iterate(3)?;
            let what = format!("{players} players, {raises} raises");
            close(&what, &walk.utilities()?, &levels.utilities()?, DOUBLE);
            let sums = |sums: Checksums| [sums.regrets, sums.regret_sizes, sums.averages];
            close(&what, &sums(walk.checksums()?), &sums(levels.checksums()?), DOUBLE);
            for sequence in (0..walk.n_sequences()).step_by(7) {
                let (one, other) = (walk.set(sequence, sequence % cards)?, levels.set(sequence, sequence % cards)?);
                close(&format!("{what}, regrets of {sequence}"), &one.regrets, &other.regrets, DOUBLE);
                close(&format!("{what}, averages of {sequence}"), &one.averages, &other.averages, DOUBLE);
            }
        }
        Ok(())
    });
}

/// The generator of the deals, `cards` numbers further on.
fn further(state: u64, cards: u32) -> u64 {
    (0..cards).fold(state, |state, _| state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407))
}

#[test]
fn a_batch_is_the_sum_of_its_deals() {
    for_each_device(|device| {
        let Some(game) = game("kuhn.limit.3p") else { return Ok(()) };
        for batch in [2, 5, 31, 32] {
            let options = cfr::Options { batch, seed: 9, numbers: Numbers::F64, ..SAMPLED };
            let mut together = Sampler::build(device, &game, &Information::Exact, &options)?;
            together.iterate(1)?;
            // From no regrets, each deal by itself.
            let n_sets = (together.n_sequences() * 4) as usize;
            let (mut sets, mut utilities, mut seed) = (vec![Set::default(); n_sets], vec![0.0; 3], 9);
            for _ in 0..batch {
                let options = cfr::Options { batch: 1, seed, ..options };
                let mut one = Sampler::build(device, &game, &Information::Exact, &options)?;
                one.iterate(1)?;
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

#[test]
fn batches_come_near_an_equilibrium() {
    for_each_device(|device| {
        // Kuhn and Leduc: one round and two; known values to the first player.
        for (name, n, value, far) in [("kuhn.limit.2p", 600, -1.0 / 18.0, 0.06), ("leduc.limit.2p", 400, -0.0856, 1.0)]
        {
            let Some(game) = game(name) else { return Ok(()) };
            for (algorithm, updates) in [
                (Algorithm::Cfr, Updates::Simultaneous),
                (Algorithm::CfrPlus, Updates::Alternating),
                (Algorithm::Lcfr, Updates::Alternating),
            ] {
                let options = cfr::Options { algorithm, updates, ..SAMPLED };
                let mut sampler = Sampler::build(device, &game, &Information::Exact, &options)?;
                sampler.iterate(n)?;
                let (conv, values) = sampler.nash_conv()?;
                assert!(conv < far, "{name}, {algorithm}, {updates}: nash_conv {conv}");
                assert!((values[0] - value).abs() < far / 2.0, "{name}, {algorithm}, {updates}: value {}", values[0]);
                assert!((values[0] + values[1]).abs() < 1e-9);
                if name.starts_with("kuhn") {
                    // With the king, a bet is always called.
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
        let Some(game) = game("leduc.limit.3p") else { return Ok(()) };
        let run = |parts: &[u32]| {
            let mut sampler = Sampler::build(device, &game, &Information::Exact, &cfr::Options { seed: 5, ..SAMPLED })?;
            parts.iter().try_for_each(|&n| sampler.iterate(n))?;
            Ok::<_, warpplay::Error>((sampler.checksums()?, sampler.utilities()?))
        };
        let once = run(&[10])?;
        assert_eq!(once, run(&[10])?);
        assert_eq!(once, run(&[3, 7])?);
        Ok(())
    });
}

#[test]
fn what_cannot_be_done_is_said() {
    let device = Device::simt();
    let (Some(kuhn), Some(leduc), Some(c), Some(any)) =
        (game("kuhn.limit.2p"), game("leduc.limit.2p"), game("variant_c"), game("leduc.nolimit.2p"))
    else {
        return;
    };
    let run =
        |device: &Device, game, options: Options| Run::build(device, game, &options).expect_err("refused").to_string();
    let cases = [
        (run(&device, &leduc, PLAIN), "numRounds"),
        (run(&device, &any, PLAIN), "numRounds"),
        (run(&device, &kuhn, Options { block: 48, ..PLAIN }), "32, 64, 128 or 256"),
        (run(&device, &kuhn, Options { threads: 0, ..PLAIN }), "1 to 1024"),
        (run(&device, &kuhn, Options { numbers: Numbers::I16, ..PLAIN }), "f32 or f64"),
        (run(&Device::cpu(), &kuhn, PLAIN), "recursive or iterative"),
    ];
    for (error, part) in cases {
        assert!(error.contains(part), "{error} does not say {part}");
    }
    let walk = |device: &Device, game, options| {
        Sampler::build(device, game, &Information::Exact, &options).expect_err("refused").to_string()
    };
    let cases = [
        (walk(&device, &any, SAMPLED), "one size of raise"),
        (walk(&device, &kuhn, cfr::Options { batch: 33, ..SAMPLED }), "1 to 32"),
        (walk(&device, &kuhn, cfr::Options { batch: 0, ..SAMPLED }), "1 to 32"),
        (walk(&device, &kuhn, cfr::Options { algorithm: Algorithm::Dcfr, ..SAMPLED }), "cfr, cfr_plus or lcfr"),
        (walk(&device, &kuhn, cfr::Options { sampling: Sampling::None, ..SAMPLED }), "chance"),
        (walk(&Device::cpu(), &kuhn, SAMPLED), "CUDA"),
    ];
    for (error, part) in cases {
        assert!(error.contains(part), "{error} does not say {part}");
    }
    let needed = Sampler::bytes_needed(&c, &Information::Unordered, &SAMPLED).expect("a size");
    // 21,285 sequences of 2,024 buckets, three actions in two tables.
    assert!((21285 * 2024 * 3 * 2 * 4..1_100_000_000).contains(&needed), "{needed}");
}

#[test]
fn the_report_measures_every_program() {
    for_each_device(|device| {
        let Some(game) = game("variant_a") else { return Ok(()) };
        let settings =
            report::Settings { iterations: vec![1, 40], repeats: 2, options: PLAIN, ..report::Settings::default() };
        let mut heard = 0;
        let points = report::times(device, &game, Program::ALL, &settings, |_| {
            heard += 1;
            ControlFlow::Continue(())
        })?;
        assert_eq!((points.len(), heard), (10, 10));
        // The programs play the same deals in the same way.
        let utilities = |at: usize| points[at].average_utilities.clone();
        for program in 1..4 {
            close("utilities", &utilities(2 * program + 1), &utilities(1), DOUBLE);
        }
        assert!(points.iter().all(|point| point.seconds.is_some_and(|seconds| seconds.mean > 0.0)), "{points:?}");
        assert!(report::times(device, &game, Program::ALL, &settings, |_| ControlFlow::Break(())).is_err());

        let names: Vec<String> =
            report::ablations(device, &game, &PLAIN, 3, 2)?.into_iter().map(|case| case.without).collect();
        assert_eq!(names[0], "nothing");
        assert_eq!(names.len(), 5);
        let profile = report::profile(device, &game, &PLAIN, 2)?;
        assert_eq!(profile.sequences, [1, 2, 1]);
        assert!(profile.down_ms.len() == 3 && profile.up_ms.iter().all(|&ms| ms >= 0.0));

        let sweep = report::sweep(device, (&[2, 3], &[1, 2], &[3, 8]), &PLAIN, 2, 1)?;
        assert_eq!(sweep.len(), 8);
        assert!(sweep.iter().all(|point| point.cpu_ms.mean > 0.0 && point.gpu_ms.mean > 0.0));
        Ok(())
    });
}

#[test]
fn the_report_adds_up() {
    let spread = report::Spread::of(&[1.0, 2.0, 3.0]);
    assert_eq!((spread.mean, spread.sd), (2.0, 1.0));
    assert_eq!(report::Spread::of(&[4.0]).sd, 0.0);
    let point = |sequences, cpu, gpu| report::SweepPoint {
        players: 2,
        raises: 1,
        buckets: 3,
        sequences,
        cpu_ms: report::Spread { mean: cpu, sd: 0.0 },
        gpu_ms: report::Spread { mean: gpu, sd: 0.0 },
    };
    let points =
        [point(4, 0.1, 1.0), point(100, 1.0, 0.9), point(200, 1.0, 1.1), point(300, 3.0, 1.0), point(900, 9.0, 1.0)];
    assert_eq!(report::crossover(&points), Some(300));
    assert_eq!(report::crossover(&points[..1]), None);
    assert!(report::sweep_game(2, 1, 53).expect_err("no deck").to_string().contains("53"));
    let Some(c) = game("variant_c") else { return };
    let memory = report::memory(&c).expect("sizes");
    assert_eq!((memory.information_sets, memory.theirs), (43_080_840, 43_080_840 * 24));
}
