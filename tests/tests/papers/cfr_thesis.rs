//! The dissertation's programs do what the reference runs of sampled deals say, and what the batched walk does.

use std::ops::ControlFlow;

use warpplay::cfr::engines::walk::{Checksums, Information, Sampler, Set};
use warpplay::cfr::{self, Sampling, Updates};
use warpplay::{Backend, Device, Error, Precision};
use warpplay_papers::cfr_thesis::{Options, Program, Run, report};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::cfr::{SAMPLED as DOUBLE, Sampled, follow_sampled, game};
use warpplay_tests::tolerance::close;

/// A program of the dissertation.
struct Published(Run);

impl Sampled for Published {
    fn iterate(&mut self, n: u32) -> Checked {
        self.0.iterate(n)
    }

    fn utilities(&mut self) -> Result<Vec<f64>, Error> {
        self.0.utilities()
    }

    fn checksums(&mut self) -> Result<Checksums, Error> {
        self.0.checksums()
    }

    fn set(&self, sequence: u32, bucket: u32) -> Result<Set, Error> {
        self.0.set(sequence, bucket)
    }
}

/// One of the programs.
fn follow(device: &Device, name: &str, options: &Options, last: u64) -> Checked {
    follow_sampled(&format!("{} on {device}", options.program), name, last, |game, seed| {
        Ok(Box::new(Published(Run::build(device, game, &Options { seed, ..*options })?)))
    })
}

const PLAIN: Options = Options {
    program: Program::Levels,
    block: 64,
    threads: 2,
    seed: 1,
    precision: Precision::F64,
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
fn the_walk_and_the_program_by_levels_agree_on_trees_of_many_pieces() {
    for_each_device(|device| {
        for (players, raises, cards) in [(4, 3, 8), (5, 2, 10), (6, 2, 6)] {
            let game = report::sweep_game(players, raises, cards)?;
            let mut levels = Run::build(device, &game, &Options { seed: 3, ..PLAIN })?;
            let options = cfr::Options {
                seed: 3,
                batch: 1,
                precision: Precision::F64,
                updates: Updates::Simultaneous,
                sampling: Sampling::Chance,
                ..cfr::Options::default()
            };
            let mut walk = Sampler::build(device, &game, &Information::Unordered, &options)?;
            // The walk leaves out what was put in before, so it rounds otherwise. After a few deals more that shows: where two actions are worth the same, a regret
            // of 1e-18 instead of 0 makes one of them the strategy.
            levels.iterate(3)?;
            walk.run(3)?;
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

#[test]
fn what_cannot_be_done_is_said() {
    let device = Device::simt();
    let [kuhn, leduc, any] = ["kuhn.limit.2p", "leduc.limit.2p", "leduc.nolimit.2p"].map(game);
    let run =
        |device: &Device, game, options: Options| Run::build(device, game, &options).expect_err("refused").to_string();
    let cases = [
        (run(&device, &leduc, PLAIN), "numRounds"),
        (run(&device, &any, PLAIN), "numRounds"),
        (run(&device, &kuhn, Options { block: 48, ..PLAIN }), "32, 64, 128 or 256"),
        (run(&device, &kuhn, Options { threads: 0, ..PLAIN }), "1 to 1024"),
        (run(&device, &kuhn, Options { precision: Precision::I16, ..PLAIN }), "f32 or f64"),
        (run(&Device::cpu(), &kuhn, PLAIN), "recursive or iterative"),
    ];
    for (error, part) in cases {
        assert!(error.contains(part), "{error} does not say {part}");
    }
}

#[test]
fn the_report_measures_every_program() {
    for_each_device(|device| {
        let game = game("variant_a");
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
    let c = game("variant_c");
    let memory = report::memory(&c).expect("sizes");
    assert_eq!((memory.information_sets, memory.theirs), (43_080_840, 43_080_840 * 24));
}
