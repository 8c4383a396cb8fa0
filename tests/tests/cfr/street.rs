//! Two-player games solved street by street on the device: the reference's trajectories and tables, hold'em spots, many spots at once.

use serde_json::Value;
use warpplay::cfr::{
    Algorithm, Engine, GameDef, Options, Point, Sampling, Solver, SolverBuilder, Spot, SpotRun, Updates,
};
use warpplay::{Device, Precision};
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::cfr::{TRAJECTORIES, holdem_reference, reference, run_on};
use warpplay_tests::golden;

fn rules(reference: &Value, name: &str) -> GameDef {
    GameDef::parse(reference["games"][name]["gamedef"].as_str().expect("a text")).expect("good rules")
}

fn street(game: &GameDef, algorithm: Algorithm, updates: Updates) -> SolverBuilder {
    Solver::builder(game).engine(Engine::Street).algorithm(algorithm).updates(updates)
}

/// What is measured after each of `at` iterations.
fn measured(builder: SolverBuilder, device: &Device, at: &[u32]) -> Result<Vec<Point>, warpplay::Error> {
    let mut solver = builder.build(device)?;
    let mut done = 0;
    let mut points = Vec::new();
    for &t in at {
        run_on(&mut solver, (t - done).into())?;
        done = t;
        points.push(solver.exploitability()?);
    }
    Ok(points)
}

#[test]
fn leduc_runs_as_the_reference_s() {
    let Some(reference) = reference() else { return };
    let game = rules(&reference, "leduc.limit.2p");
    for_each_device(|device| {
        for (name, algorithm, updates) in TRAJECTORIES {
            let expected = &reference["games"]["leduc.limit.2p"]["trajectories"][name];
            let at = [1, 2, 3, 5, 10, 100];
            for (t, point) in at.into_iter().zip(measured(street(&game, algorithm, updates), device, &at)?) {
                let expected = &expected[t.to_string()];
                let number = |value: &Value| value.as_f64().expect("a number");
                // Single precision; at ties it may choose another action, which matters later: by magnitude only.
                let bound = if t <= 5 {
                    1e-5
                } else if t == 10 {
                    1e-3
                } else {
                    0.5
                };
                let nash_conv = number(&expected["nash_conv"]);
                let got = point.nash_conv;
                assert!((got - nash_conv).abs() < bound * nash_conv, "{name} at {t} on {device}: {got}, {nash_conv}");
                for seat in 0..2 {
                    let value = number(&expected["average_profile_value"][seat]);
                    assert!((point.value[seat] - value).abs() < bound, "{name} at {t} on {device}: {point:?}");
                }
            }
        }
        Ok(())
    });
}

#[test]
fn unlimited_leduc_runs_as_the_reference_s() {
    let Some(reference) = reference() else { return };
    let game = rules(&reference, "leduc.nolimit.2p");
    let expected = &reference["games"]["leduc.nolimit.2p"]["trajectories"]["cfr_alternating"];
    for_each_device(|device| {
        let at = [1, 3];
        let points = measured(street(&game, Algorithm::Cfr, Updates::Alternating), device, &at)?;
        for (t, point) in at.into_iter().zip(points) {
            let nash_conv = expected[t.to_string()]["nash_conv"].as_f64().expect("a number");
            assert!((point.nash_conv - nash_conv).abs() < 1e-5 * nash_conv, "at {t} on {device}: {point:?}");
        }
        Ok(())
    });
}

#[test]
fn a_checkpoint_goes_on_with_the_same_bits() {
    let Some(reference) = reference() else { return };
    let game = rules(&reference, "leduc.limit.2p");
    for_each_device(|device| {
        for (precision, sampling, batch) in
            [(Precision::F32, Sampling::None, 1), (Precision::I16, Sampling::PublicChance, 2)]
        {
            let builder = || {
                street(&game, Algorithm::Dcfr, Updates::Alternating)
                    .precision(precision)
                    .sampling(sampling)
                    .batch(batch)
            };
            let mut straight = builder().build(device)?;
            run_on(&mut straight, 12)?;
            let mut first = builder().build(device)?;
            run_on(&mut first, 5)?;
            let mut resumed = builder().resume(first.checkpoint()?).build(device)?;
            run_on(&mut resumed, 7)?;
            let (straight, resumed) = (straight.checkpoint()?, resumed.checkpoint()?);
            let same = straight.same_tables(&resumed);
            assert!(same, "{precision} {sampling} on {device}");
        }
        Ok(())
    });
}

/// A small river spot.
fn small_spot() -> Spot {
    let text = r#"{"pot": 100, "effective_stack": 300, "bet_fraction_of_pot": 0.5, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c",
        "ranges": ["AA,QQ:0.5,AKs,T9s,87s", "KK,JJ,77:0.25,AQ,A5s-A4s,98s"]}"#;
    Spot::parse(text).expect("good JSON")
}

fn run(algorithm: Algorithm, precision: Precision, iterations: u32) -> SpotRun {
    let options = Options { algorithm, precision, engine: Engine::Street, ..Options::default() };
    SpotRun { options: Options { iterations: iterations.into(), ..options }, measure_at: vec![] }
}

#[test]
fn a_small_spot_is_what_the_cpu_finds() {
    let mut plain = run(Algorithm::CfrPlus, Precision::F64, 400);
    plain.options.engine = Engine::Auto;
    let exact = small_spot().solve(&Device::cpu(), &plain).expect("solves");
    for_each_device(|device| {
        for precision in [Precision::F32, Precision::I16] {
            let report = small_spot().solve(device, &run(Algorithm::CfrPlus, precision, 200))?;
            let left = report.exploitability().expect("measured");
            assert!(left < 0.5, "{precision} on {device}: {left}");
            for seat in 0..2 {
                let (got, want) = (report.ev[seat], exact.ev[seat]);
                assert!((got - want).abs() < 2.0 * left + 0.05, "{precision} on {device}: {got}, {want}");
            }
        }
        Ok(())
    });
}

#[test]
fn the_reference_s_spots_are_solved_on_the_gpu() {
    let Some(path) = golden::shared("vectors/holdem_subgame_reference.json") else { return };
    let Some(file) = holdem_reference() else { return };
    let Some(device) = gpu() else { return };
    for (name, spot) in Spot::read_all(&path).expect("good spots") {
        let expected = &file["spots"][&name];
        for precision in [Precision::F32, Precision::I16] {
            let report = spot.solve(&device, &run(Algorithm::Dcfr, precision, 400)).expect("solves");
            let left = report.exploitability().expect("measured");
            assert!(left < 0.5, "{name} {precision}: {left}");
            for seat in 0..2 {
                let want = expected["ev"][seat].as_f64().expect("a number");
                let got = report.ev[seat];
                assert!((got - want).abs() < 2.0 * left + 0.05, "{name} {precision}: ev {got}, expected {want}");
            }
        }
    }
}
