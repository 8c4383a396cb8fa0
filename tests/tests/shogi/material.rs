//! The fit of twelve values: its trajectories on every back end, the engines of the same sum, going on, and bad input.

use std::cell::OnceCell;
use std::ops::ControlFlow;

use serde_json::Value;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::material::{
    Differences, Engine, FitReport, Histogram, Material, MaterialBuilder, Options, Positions,
};
use warpplay::shogi::records;
use warpplay::shogi::{Objective, Row, Shard, StoppedBy, Values};
use warpplay::{Backend, Device, Error, Progress};
use warpplay_cpu_ref::shogi::material::{self as reference_of, Program, Sequential};
use warpplay_gpu::shogi::difference;
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_device, kernel_devices};
use warpplay_tests::golden;
use warpplay_tests::learning::{reference, same_as_reference, shards_of};
use warpplay_tests::random::Random;

/// The engines that compute; `auto` is one of them.
const ENGINES: [Engine; 4] = [Engine::Histogram, Engine::Fused, Engine::Plain, Engine::Persistent];

/// All rows of a fit.
fn rows(builder: MaterialBuilder<'_>, device: &Device) -> Result<Vec<Row>, Error> {
    Ok(builder.build(device)?.run(Progress::go_on)?.rows)
}

/// The reference's histogram of the first hundred games.
fn first_histogram(reference: &Value) -> Histogram {
    let rows: Vec<(Vec<i32>, u64)> =
        serde_json::from_value(reference["first_100_games"]["difference_histogram"].clone()).unwrap();
    Histogram::from_rows(
        rows.into_iter().map(|(numbers, count)| (difference::pack(&numbers.try_into().unwrap()).unwrap(), count)),
    )
}

/// A shard with nothing but differences: all that the forms on words look at.
fn shard_with(histogram: &Histogram) -> Shard {
    let mut differences = Vec::new();
    for &(word, count) in histogram.rows() {
        differences.extend(std::iter::repeat_n(word, count as usize));
    }
    // As mixed as those of games are.
    let n = differences.len();
    let mixed = (0..n).map(|at| differences[at * 7919 % n]).collect();
    Shard { differences: mixed, ..Shard::default() }
}

/// The reference's trajectory of the first hundred games, from their histogram, on every back end and with the same bits.
#[test]
fn first_games_from_the_histogram() {
    let reference = reference();
    let histogram = first_histogram(&reference);
    let expected = histogram.fit(Objective::default(), [3.0; 12], 10).unwrap();
    same_as_reference(&expected, &reference["first_100_games"]);
    let shard = shard_with(&histogram);
    for_each_device(|device| {
        assert_eq!(Histogram::on_device(device, &[&shard])?, histogram);
        let mut material = Material::builder(&shard).iterations(10).build(device)?;
        assert_eq!((material.engine(), material.children()), (Engine::Histogram, 272_355));
        assert_eq!(material.run(Progress::go_on)?.rows, expected);
        Ok(())
    });
}

/// All games, a hundred iterations, from 3 and from 5.
#[test]
fn all_games() {
    let Some(reference) = golden::shared("vectors/shogi_learning_reference.json") else { return };
    let Some(games) = golden::shared("data/shogi/games.usi.txt.gz") else { return };
    let reference: Value = serde_json::from_slice(&std::fs::read(reference).unwrap()).unwrap();
    let set =
        Dataset::builder().shard_parents(1 << 20).build(&records::read(&games, Progress::go_on).unwrap()).unwrap();
    let histogram = Histogram::from_shards(&set.views());
    assert_eq!((histogram.rows().len(), histogram.children()), (1_619, 5_376_368));
    assert!((histogram.zero_share() - 0.629_041_948_021_415_2).abs() < 1e-15);
    for (first, name, iterations) in
        [(3.0, "all_games_50", 50), (3.0, "all_games_100_init3", 100), (5.0, "all_games_100_init5", 100)]
    {
        let rows = histogram.fit(Objective::default(), [first; 12], iterations).unwrap();
        assert_eq!(rows.len(), iterations as usize + 1);
        same_as_reference(&rows, &reference[name]);
    }
    let expected = histogram.fit(Objective::default(), [3.0; 12], 50).unwrap();
    for device in kernel_devices() {
        if device.backend() == Backend::Cuda {
            assert_eq!(Histogram::on_device(&device, &set.views()).unwrap(), histogram);
        }
        let engines: &[Engine] = if device.backend() == Backend::Cuda { &ENGINES } else { &[] };
        for &engine in engines {
            let rows = rows(Material::builder(&set).engine(engine), &device).unwrap();
            same_as_reference(&rows, &reference["all_games_50"]);
            if matches!(engine, Engine::Plain | Engine::Histogram) {
                assert_eq!(rows, expected, "{engine}");
            }
        }
    }
}

/// From words on the CPU, on one thread and on more.
#[test]
fn first_games_from_words() {
    let (reference, set) = (reference(), shards_of(100, 80, 1000));
    let run = |engine, threads, iterations| {
        let builder = Material::builder(&set).engine(engine).threads(threads).iterations(iterations);
        rows(builder, &Device::cpu()).unwrap()
    };
    assert_eq!(run(Engine::Plain, Some(2), 3), run(Engine::Histogram, Some(1), 3));
    assert_eq!(run(Engine::Plain, Some(1), 1), run(Engine::Auto, None, 1));
    same_as_reference(&run(Engine::Plain, None, 10), &reference["first_100_games"]);
}

/// Everything about a few games: all engines on all back ends.
#[test]
fn engines_agree() {
    let set = shards_of(2, 42, 3);
    let values: Values = std::array::from_fn(|value| 2.5 + 0.37 * value as f64);
    let objective = Objective { delta: 0.07, ..Objective::default() };
    let builder = |engine| Material::builder(&set).engine(engine).objective(objective).init(values).iterations(4);
    let plain = rows(builder(Engine::Plain).threads(1), &Device::cpu()).unwrap();
    let fused = OnceCell::<Vec<Row>>::new();
    for_each_device(|device| {
        for engine in ENGINES {
            let mut material = builder(engine).build(device)?;
            assert_eq!((material.children(), material.engine()), (set.n_children(), engine));
            let rows = material.run(Progress::go_on)?.rows;
            // Again in the same memory, and shorter.
            material.restart();
            material.set_limit(2);
            assert_eq!(material.run(Progress::go_on)?.rows, rows[..3], "{engine}");
            // On to the same end, and not beyond it.
            material.set_limit(4);
            assert_eq!(material.run(Progress::go_on)?.rows, rows, "{engine}");
            assert_eq!(material.run(Progress::go_on)?.rows, rows, "{engine}");
            let same_bits = match engine {
                Engine::Fused | Engine::Persistent => fused.get_or_init(|| rows.clone()),
                _ => &plain,
            };
            assert_eq!(&rows, same_bits, "{engine}");
            for (row, expected) in rows.iter().zip(&plain) {
                assert_eq!(row.values, expected.values, "{engine}");
                assert!((row.j - expected.j).abs() < 1e-11, "{engine}");
            }
            // A rank's shares of an evaluation are parts of the whole.
            let whole = material.evaluate(&values)?;
            assert_eq!(whole.j(), rows[0].j);
            for features in [0..12, 0..0, 3..4, 5..12, 12..12] {
                let some = material.evaluate_some(&values, features.clone())?;
                assert_eq!(some[0], whole.sums[0], "{engine}");
                assert_eq!(some[1..], whole.sums[1 + features.start..1 + features.end], "{engine}");
            }
        }
        Ok(())
    });
}

/// Stopped after the second row on every back end, whether rows come one by one or all at once; then on to the end.
#[test]
fn a_fit_that_was_stopped_goes_on() -> Checked {
    let set = shards_of(2, 42, 3);
    let mut devices = kernel_devices();
    devices.push(Device::cpu());
    let expected = rows(Material::builder(&set).iterations(5), &Device::cpu())?;
    for device in devices {
        let mut material = Material::builder(&set).iterations(5).build(&device)?;
        let mut seen = Vec::new();
        let report = material.run(|progress| {
            seen.push((progress.steps, progress.n_steps));
            if progress.steps == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        assert_eq!(seen, [(0, Some(5)), (1, Some(5))]);
        assert_eq!((report.stopped_by, &report.rows[..]), (StoppedBy::Request, &expected[..2]));
        let report = material.run(Progress::go_on)?;
        assert_eq!((report.stopped_by, &report.rows), (StoppedBy::Iterations, &expected));
        // What a report says, and that it comes back.
        let text = serde_json::to_string(&report).expect("plain data");
        assert_eq!(serde_json::from_str::<FitReport>(&text).expect("a report"), report);
        assert!(report.to_string().contains("engine histogram on"), "{report}");
        assert_eq!(*material.memory_needed(), Material::builder(&set).iterations(5).memory_needed(&device)?);
    }
    Ok(())
}

/// Words of any number, around blocks and warps.
#[test]
fn any_number_of_children() {
    let reference = reference();
    let all = shard_with(&first_histogram(&reference));
    let values = [3.25; 12];
    for_each_device(|device| {
        for n in [1, 2, 31, 33, 255, 256, 257, 1023, 2049] {
            let part = Shard { differences: all.differences[..n].into(), ..Shard::default() };
            let histogram = Histogram::from_shards(&[&part]);
            assert_eq!(Histogram::on_device(device, &[&part])?, histogram);
            let expected = histogram.fit(Objective::default(), values, 2)?;
            let builder = |engine| Material::builder(&part).engine(engine).init(values).iterations(2);
            for engine in [Engine::Plain, Engine::Histogram] {
                assert_eq!(rows(builder(engine), device)?, expected, "{engine}, {n}");
            }
            for (row, expected) in rows(builder(Engine::Fused), device)?.iter().zip(&expected) {
                assert!((row.j - expected.j).abs() < 1e-12, "{n}");
            }
        }
        Ok(())
    });
}

/// Extreme numbers and values, where exponentials overflow and vanish.
#[test]
fn extremes() {
    let word = |numbers: [i32; 13]| difference::pack(&numbers).unwrap();
    let differences = vec![
        word([127, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]),
        word([-128, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8]),
        word([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -8]),
        word([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]),
        word([1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        0,
    ];
    let shard = Shard { differences: differences.into(), ..Shard::default() };
    for_each_device(|device| {
        for values in [[1.0; 12], [100.0; 12], [1e6; 12], [-1e6; 12], [0.0; 12]] {
            let builder = |engine| Material::builder(&shard).engine(engine).init(values).iterations(3);
            let expected = Histogram::from_shards(&[&shard]).fit(Objective::default(), values, 3)?;
            assert_eq!(rows(builder(Engine::Plain), device)?, expected);
            for (row, expected) in rows(builder(Engine::Fused), device)?.iter().zip(&expected) {
                assert!((row.j - expected.j).abs() < 1e-12, "{row:?} {expected:?}");
            }
        }
        Ok(())
    });
}

/// More distinct differences than a block's table holds, and than the first table of the grid.
#[test]
fn many_distinct_differences() {
    let mut random = Random(5);
    let mut words: Vec<u64> = (0..12_001u64).map(|_| random.state() >> 8).collect();
    words.extend_from_within(..3000);
    let (first, second) = words.split_at(4_999);
    let shards = [first, second].map(|part| Shard { differences: part.into(), ..Shard::default() });
    let shards: Vec<&Shard> = shards.iter().collect();
    let expected = Histogram::from_shards(&shards);
    assert!(expected.rows().len() >= 12_000);
    for_each_device(|device| {
        let mut differences = Differences::upload(device, &shards)?;
        assert_eq!(differences.children(), 15_001);
        assert_eq!(differences.histogram()?, expected);
        assert_eq!(differences.histogram()?, expected);
        assert!(differences.counting().as_secs_f64() > 0.0);
        Ok(())
    });
}

/// The analytic gradient: equal on all back ends, and the slope of the objective.
#[test]
fn the_gradient_is_the_slope() {
    let reference = reference();
    let histogram = first_histogram(&reference);
    let shard = shard_with(&histogram);
    let objective = Objective::default();
    let values: Values = std::array::from_fn(|value| 2.0 + 0.5 * value as f64);
    let gradient = histogram.gradient(&objective, &values).unwrap();
    for (value, slope) in gradient.into_iter().enumerate() {
        let at = |step: f64| {
            let mut moved = values;
            moved[value] += step;
            histogram.evaluate(&objective, &moved).unwrap().j()
        };
        let numeric = (at(1e-3) - at(-1e-3)) / 2e-3;
        assert!((slope - numeric).abs() < 1e-7, "{value}: {slope}, not {numeric}");
    }
    for_each_device(|device| {
        let mut material = Material::builder(&shard).engine(Engine::Histogram).build(device)?;
        assert_eq!(material.gradient(&values)?, gradient);
        let error = Material::builder(&shard).engine(Engine::Plain).build(device)?.gradient(&values).unwrap_err();
        assert!(
            error.to_string().starts_with("the gradient of engine plain is not supported by the back end"),
            "{error}"
        );
        Ok(())
    });
}

/// Positions of 96 bytes against the plain program; the bytes do not depend on the shards.
#[test]
fn positions_and_their_values() {
    let (one, many) = (shards_of(2, 46, 1 << 20), shards_of(2, 46, 3));
    assert!(many.shards().len() > 2);
    let positions = Positions::from_shards(&many.views()).unwrap();
    assert_eq!(positions, Positions::from_shards(&one.views()).unwrap());
    assert_eq!(positions.len() as u64, one.n_children());
    let values: Values = [2.5, 3.25, 4.0, 5.5, 6.0, 7.75, 4.5, 5.0, 5.25, 5.75, 8.0, 9.5];
    // Differences of positions are those of the shard: all values are quarters, so nothing is rounded.
    let shard = &one.shards()[0];
    for parent in 0..shard.n_parents() {
        let children = shard.children(parent);
        let sign = if shard.sides[parent] == 0 { 1.0 } else { -1.0 };
        let f = |child: usize| reference_of::evaluate(&positions.bytes()[child * 96..][..96], &values);
        for child in children.clone() {
            assert_eq!(sign * (f(child) - f(children.start)), reference_of::weigh(shard.differences[child], &values));
        }
    }
    assert_eq!(Positions::of_list(&shard.pieces[0])[..81].iter().filter(|&&code| code == 14).count(), 1);
}

/// The same data several times is the same objective.
#[test]
fn repetitions_change_nothing_but_counts() {
    let set = shards_of(2, 42, 1);
    let mut devices = kernel_devices();
    devices.push(Device::cpu());
    for device in devices {
        for engine in ENGINES {
            if device.backend() == Backend::Cpu && matches!(engine, Engine::Fused | Engine::Persistent) {
                continue;
            }
            let build =
                |repeat| Material::builder(&set).engine(engine).threads(1).repeat(repeat).build(&device).unwrap();
            let (mut once, mut thrice) = (build(1), build(3));
            assert_eq!(thrice.children(), 3 * once.children());
            let (one, three) = (once.evaluate(&[4.5; 12]).unwrap(), thrice.evaluate(&[4.5; 12]).unwrap());
            assert_eq!(three.sums, one.sums.map(|sum| 3 * sum), "{engine} on {device}");
        }
    }
}

/// The plain program's sums are those of its own words: nothing of the library is in them.
#[test]
fn the_cpu_is_the_plain_program() {
    let set = shards_of(3, 43, 2);
    let words: Vec<u64> = set.shards().iter().flat_map(|shard| shard.differences.iter().copied()).collect();
    let objective = Objective::default();
    let mut material = Material::builder(&set).engine(Engine::Plain).threads(1).build(&Device::cpu()).unwrap();
    let expected = Sequential::differences(&words, &[3.5; 12], objective.a);
    assert_eq!(material.evaluate_some(&[3.5; 12], 0..0).unwrap(), [expected]);
}

fn text(error: Result<Material, Error>) -> String {
    error.map(drop).expect_err("an error").to_string()
}

#[test]
fn bad_input_is_named() -> Checked {
    let shard = Shard { differences: vec![0, 1].into(), ..Shard::default() };
    let many = Shard { differences: vec![1; 1000].into(), ..Shard::default() };
    let cpu = Device::cpu();
    let objective = Objective::default();
    let plain = || Material::builder(&shard).engine(Engine::Plain);
    for engine in [Engine::Fused, Engine::Persistent] {
        let error = text(plain().engine(engine).build(&cpu));
        let remedy = "use plain or histogram, or a device that runs kernels";
        assert_eq!(error, format!("engine {engine} is not supported by the back end cpu: {remedy}"));
    }
    for device in kernel_devices().iter().chain([&cpu]) {
        let nothing: [&Shard; 0] = [];
        let error = text(Material::builder(&nothing).build(device));
        assert_eq!(error, "children: expected 1 or more, got 0");
        let error = text(plain().repeat(0).build(device));
        assert_eq!(error, "option repeat: 0 is not allowed (1 or more)");
        let error = text(plain().threads(0).build(device));
        assert_eq!(error, "option threads: 0 is not allowed (1 to 1024)");
        let error = text(plain().objective(Objective { a: f64::NAN, ..objective }).build(device));
        assert_eq!(error, "option a: NaN is not allowed (a number above 0, at most 1000000)");
        let far = Objective { delta: 26.0, ..objective };
        let error = text(plain().engine(Engine::Fused).objective(far).build(device));
        assert_eq!(error, "option delta: 26 is not allowed (at most 25, 75 / a, with engine fused)");
        let error = text(plain().options(Options { init: [f64::INFINITY; 12], ..Options::default() }).build(device));
        assert_eq!(error, "option init: inf is not allowed (numbers of at most 1000000 in size)");
        let mut material = plain().build(device)?;
        let error = material.evaluate_some(&[1.0; 12], 3..13).unwrap_err().to_string();
        assert_eq!(error, "option features: 3..13 is not allowed (a range in 0..12)");
        if device.backend() != Backend::Cpu {
            // Positions cannot be made of differences alone.
            let error = text(plain().engine(Engine::Persistent).build(device));
            assert!(error.starts_with("column first_child of a shard: expected"), "{error}");
        }
        // Terabytes: too much for any memory, or, where there is enough of it, for the numbers of children.
        let error = text(Material::builder(&many).engine(Engine::Plain).repeat(u32::MAX).build(device));
        assert!(error.contains("needed") || error.starts_with("children that are held at once"), "{error}");
    }
    assert!(Differences::upload(&cpu, &[&shard]).is_err());
    assert!("block".parse::<Engine>().is_err());
    Ok(())
}
