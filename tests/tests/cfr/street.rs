//! Two-player games solved street by street on the device: the reference's trajectories and tables, hold'em spots, many spots at once.

use serde_json::Value;
use warpplay::cfr::{
    Algorithm, Engine, GameDef, Options, Point, Sampling, Solver, SolverBuilder, Spot, SpotReport, SpotRun, Updates,
};
use warpplay::{Device, Precision};
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::cfr::{SINGLE, TRAJECTORIES, floats, holdem_reference, holdem_spots, number, reference, run_on};
use warpplay_tests::tolerance::{Tolerance, close};

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
    let reference = reference();
    let game = rules(&reference, "leduc.limit.2p");
    for_each_device(|device| {
        for (name, algorithm, updates) in TRAJECTORIES {
            let expected = &reference["games"]["leduc.limit.2p"]["trajectories"][name];
            let at = [1, 2, 3, 5];
            for (t, point) in at.into_iter().zip(measured(street(&game, algorithm, updates), device, &at)?) {
                // Before the first exact tie, where rounding would choose another strategy.
                let expected = &expected[t.to_string()];
                let what = |of: &str| format!("{of}, {name} at {t} on {device}");
                let nash_conv = number(&expected["nash_conv"]);
                close(&what("NashConv"), &[point.nash_conv], &[nash_conv], SINGLE);
                let within = Tolerance { abs: SINGLE.abs + SINGLE.rel * nash_conv, ..SINGLE };
                close(&what("values"), &point.value, &floats(&expected["average_profile_value"]), within);
            }
        }
        Ok(())
    });
}

/// After ties a run in single precision is another one than the reference's: it is held to what the CPU finds of its strategy in double precision, and to the game's value.
#[test]
fn late_strategies_of_leduc_are_worth_what_the_device_says() {
    // A value is a sum of at most 1,000 terms in a row whose sizes add up to at most 13 chips, each addition with an error of 2⁻²⁴ of its result.
    const ROUNDING: Tolerance = Tolerance { abs: 1000.0 * 13.0 / (1 << 24) as f64, rel: 0.0 };
    let reference = reference();
    let game = rules(&reference, "leduc.limit.2p");
    let value = reference["games"]["leduc.limit.2p"]["game_value_player1"].as_f64().expect("a number");
    for_each_device(|device| {
        for (name, algorithm, updates) in TRAJECTORIES {
            let mut solver = street(&game, algorithm, updates).build(device)?;
            for t in [10, 100] {
                let more = t - solver.iterations();
                run_on(&mut solver, more)?;
                let point = solver.exploitability()?;
                let exact = solver.strategy()?.profile(&Device::cpu(), Precision::F64)?;
                let what = |of: &str| format!("{of}, {name} at {t} on {device}");
                close(&what("values"), &point.value, &exact.value, ROUNDING);
                close(&what("best responses"), &point.best_response, &exact.best_response, ROUNDING);
                // No strategy of an opponent keeps a best response below the game's value.
                let [first, second] = [exact.best_response[0], exact.best_response[1]];
                assert!(first >= value - 1e-9 && second >= -value - 1e-9, "{}: {exact:?}", what("bounds"));
            }
        }
        Ok(())
    });
}

#[test]
fn unlimited_leduc_runs_as_the_reference_s() {
    let reference = reference();
    let game = rules(&reference, "leduc.nolimit.2p");
    let expected = &reference["games"]["leduc.nolimit.2p"]["trajectories"]["cfr_alternating"];
    for_each_device(|device| {
        let at = [1, 3];
        let points = measured(street(&game, Algorithm::Cfr, Updates::Alternating), device, &at)?;
        for (t, point) in at.into_iter().zip(points) {
            let nash_conv = number(&expected[t.to_string()]["nash_conv"]);
            close(&format!("NashConv at {t} on {device}"), &[point.nash_conv], &[nash_conv], SINGLE);
        }
        Ok(())
    });
}

#[test]
fn a_checkpoint_goes_on_with_the_same_bits() {
    let reference = reference();
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
    SpotRun { options: Options { iterations: iterations.into(), ..options }, measure_at: vec![], ..SpotRun::default() }
}

#[test]
fn a_small_spot_is_what_the_cpu_finds() {
    let mut plain = run(Algorithm::CfrPlus, Precision::F64, 400);
    plain.options.engine = Engine::Auto;
    plain.measure_at = vec![20];
    let exact = small_spot().solve(&Device::cpu(), &plain).expect("solves");
    let left = |report: &SpotReport| report.exploitability().expect("measured");
    for_each_device(|device| {
        for precision in [Precision::F32, Precision::I16] {
            let report = small_spot().solve(device, &run(Algorithm::CfrPlus, precision, 200))?;
            // No more than the CPU has left in double precision after a tenth of the iterations.
            let (found, most) = (left(&report), exact.trajectory[&20]);
            assert!(found < most, "{precision} on {device}: {found}, at most {most}");
            for seat in 0..2 {
                // The value of the game is no further from either than both seats can gain.
                let (got, want) = (report.ev[seat], exact.ev[seat]);
                let apart = 2.0 * (found + left(&exact));
                assert!((got - want).abs() < apart, "{precision} on {device}: {got}, {want}");
            }
        }
        Ok(())
    });
}

#[test]
fn the_reference_s_spots_are_solved_on_the_gpu() {
    let Some(device) = gpu() else { return };
    let file = holdem_reference();
    for (name, spot) in Spot::read_all(holdem_spots()).expect("good spots") {
        let expected = &file["spots"][&name];
        for precision in [Precision::F32, Precision::I16] {
            let report = spot.solve(&device, &run(Algorithm::Dcfr, precision, 400)).expect("solves");
            let left = report.exploitability().expect("measured");
            // No more than the reference's program, another discounted CFR in single precision, had left after a quarter of the iterations; in 16 bits after a fortieth.
            let published = |t: &str| expected["trajectory"][t].as_f64().expect("a number");
            let most = published(if precision == Precision::I16 { "10" } else { "100" });
            assert!(left < most, "{name} {precision}: {left}, at most {most}");
            let points = expected["trajectory"].as_object().into_iter().flat_map(|points| points.values());
            let last = points.filter_map(Value::as_f64).fold(f64::INFINITY, f64::min);
            for seat in 0..2 {
                // The value of the game is no further from either than both seats can gain.
                let (got, want) = (report.ev[seat], expected["ev"][seat].as_f64().expect("a number"));
                assert!((got - want).abs() < 2.0 * (left + last), "{name} {precision}: ev {got}, expected {want}");
            }
        }
    }
}
