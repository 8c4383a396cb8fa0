//! The source's learning: its trajectories on every back end, its layout, the forms of the same sum, and the faults that are not repeated.

use std::cell::OnceCell;

use serde_json::Value;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::material::{Differences, Form, Histogram, Material, PositionEvaluator, Positions};
use warpplay::shogi::records;
use warpplay::shogi::{Objective, Row, Shard, Values};
use warpplay::{Backend, Device, Error};
use warpplay_cpu_ref::shogi::source::{self, Program, Sequential};
use warpplay_gpu::shogi::difference;
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_device, kernel_devices};
use warpplay_tests::golden;
use warpplay_tests::learning::{dataset, reference, same_as_reference};

/// Shards of the first games, a hundred at most, and where plies end.
fn shards_of(games: u32, end: u32, shard_parents: usize) -> Dataset {
    dataset(0..games, 40..end, 1, shard_parents)
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
    let expected = histogram.run(Objective::default(), [3.0; 12], 10).unwrap();
    same_as_reference(&expected, &reference["first_100_games"]);
    let shard = shard_with(&histogram);
    for_each_device(|device| {
        assert_eq!(Histogram::on_device(device, &[&shard])?, histogram);
        let mut material = Material::build(device, Form::Histogram, &[&shard], Objective::default(), 0)?;
        assert_eq!(material.children(), 272_355);
        assert_eq!(material.run([3.0; 12], 10)?, expected);
        Ok(())
    });
}

/// All games, a hundred iterations, from 3 and from 5.
#[test]
fn all_games() {
    let Some(reference) = golden::shared("vectors/shogi_learning_reference.json") else { return };
    let Some(games) = golden::shared("data/shogi/games.usi.txt.gz") else { return };
    let reference: Value = serde_json::from_slice(&std::fs::read(reference).unwrap()).unwrap();
    let set = Dataset::builder().shard_parents(1 << 20).build(&records::read(&games).unwrap()).unwrap();
    let histogram = Histogram::from_shards(&set.views());
    assert_eq!((histogram.rows().len(), histogram.children()), (1_619, 5_376_368));
    assert!((histogram.zero_share() - 0.629_041_948_021_415_2).abs() < 1e-15);
    for (first, name, iterations) in
        [(3.0, "all_games_50", 50), (3.0, "all_games_100_init3", 100), (5.0, "all_games_100_init5", 100)]
    {
        let rows = histogram.run(Objective::default(), [first; 12], iterations).unwrap();
        assert_eq!(rows.len(), iterations as usize + 1);
        same_as_reference(&rows, &reference[name]);
    }
    let expected = histogram.run(Objective::default(), [3.0; 12], 50).unwrap();
    for device in kernel_devices() {
        if device.backend() == Backend::Cuda {
            assert_eq!(Histogram::on_device(&device, &set.views()).unwrap(), histogram);
        }
        let forms: &[Form] = if device.backend() == Backend::Cuda { Form::ALL } else { &[] };
        for &form in forms {
            let mut material = Material::build(&device, form, &set.views(), Objective::default(), 0).unwrap();
            let rows = material.run([3.0; 12], 50).unwrap();
            same_as_reference(&rows, &reference["all_games_50"]);
            if matches!(form, Form::Plain | Form::Histogram) {
                assert_eq!(rows, expected, "{form}");
            }
        }
    }
}

/// The source's program on the CPU, from positions: sequential and parallel, 96 bytes and 95.
#[test]
fn first_games_from_positions() {
    let (reference, set) = (reference(), shards_of(100, 80, 1000));
    let run = |form, threads, iterations| {
        let material = Material::build(&Device::cpu(), form, &set.views(), Objective::default(), threads);
        material.unwrap().run([3.0; 12], iterations).unwrap()
    };
    let rows = run(Form::Paper, 0, 4);
    same_as_reference(&rows, &reference["first_100_games"]);
    assert_eq!(run(Form::Paper95, 0, 1), rows[..2]);
    assert_eq!(run(Form::Paper, 1, 1), rows[..2]);
    assert_eq!(run(Form::Plain, 2, 3), run(Form::Histogram, 1, 3));
    same_as_reference(&run(Form::Plain, 0, 10), &reference["first_100_games"]);
}

/// Everything about a few games: all forms on all back ends.
#[test]
fn forms_agree() {
    // Under `simt` a position takes the source's kernel longer than all the others together.
    let set = shards_of(2, 42, 3);
    let shards = set.views();
    let values: Values = std::array::from_fn(|value| 2.5 + 0.37 * value as f64);
    let objective = Objective { delta: 0.07, ..Objective::default() };
    let build = |device: &Device, form| Material::build(device, form, &shards, objective, 1).unwrap();
    let plain = build(&Device::cpu(), Form::Plain).run(values, 4).unwrap();
    let paper = build(&Device::cpu(), Form::Paper).run(values, 4).unwrap();
    let (fused, tree) = (OnceCell::<Vec<Row>>::new(), OnceCell::<Vec<Row>>::new());
    for_each_device(|device| {
        for &form in Form::ALL {
            let mut material = build(device, form);
            assert_eq!(material.children(), set.n_children());
            let rows = material.run(values, 4)?;
            // Again in the same memory, and longer.
            assert_eq!(material.run(values, 2)?, rows[..3], "{form}");
            let same_bits = match form {
                Form::Plain | Form::Histogram => &plain,
                Form::Fused | Form::Persistent => fused.get_or_init(|| rows.clone()),
                Form::Paper | Form::Paper95 => tree.get_or_init(|| rows.clone()),
            };
            assert_eq!(&rows, same_bits, "{form}");
            for (row, expected) in rows.iter().zip(&paper) {
                assert_eq!(row.values, expected.values, "{form}");
                assert!((row.j - expected.j).abs() < 1e-11, "{form}");
            }
            // A rank's shares of an evaluation are parts of the whole.
            let whole = material.evaluate(&values)?;
            assert_eq!(whole.j(), rows[0].j);
            for features in [0..12, 0..0, 3..4, 5..12, 12..12] {
                let some = material.evaluate_some(&values, features.clone())?;
                assert_eq!(some[0], whole.sums[0], "{form}");
                assert_eq!(some[1..], whole.sums[1 + features.start..1 + features.end], "{form}");
            }
        }
        Ok(())
    });
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
            let expected = histogram.run(Objective::default(), values, 2)?;
            for form in [Form::Plain, Form::Histogram] {
                let mut material = Material::build(device, form, &[&part], Objective::default(), 0)?;
                assert_eq!(material.run(values, 2)?, expected, "{form}, {n}");
            }
            let mut fused = Material::build(device, Form::Fused, &[&part], Objective::default(), 0)?;
            for (row, expected) in fused.run(values, 2)?.iter().zip(&expected) {
                assert!((row.j - expected.j).abs() < 1e-12, "{n}");
            }
        }
        Ok(())
    });
}

/// The first children of a shard; the last of their parents may lose some.
fn first_children(shard: &Shard, n: usize) -> Shard {
    let parents = shard.first_child.iter().filter(|&&first| (first as usize) < n).count();
    let mut first_child = shard.first_child[..parents].to_vec();
    first_child.push(n as u32);
    Shard {
        pieces: shard.pieces[..parents].into(),
        sides: shard.sides[..parents].into(),
        plies: shard.plies[..parents].into(),
        games: shard.games[..parents].into(),
        first_child: first_child.into(),
        // The move that was played may be gone, and no form asks for it.
        played: vec![1; parents].into(),
        differences: shard.differences[..n].into(),
        first_change: shard.first_change[..=n].into(),
        changes: shard.changes[..shard.first_change[n] as usize].into(),
    }
}

/// The forms on positions, whose kernels have reductions of their own: the source's second kernel adds up 512 children a block.
#[test]
fn any_number_of_positions() {
    let set = shards_of(2, 48, 1000);
    let values: Values = std::array::from_fn(|value| 2.5 + 0.37 * value as f64);
    let objective = Objective::default();
    for_each_device(|device| {
        for n in [1, 2, 511, 512, 513] {
            let part = first_children(&set.shards()[0], n);
            let mut plain = Material::build(&Device::cpu(), Form::Plain, &[&part], objective, 1)?;
            let expected = plain.evaluate_some(&values, 0..1)?;
            for form in [Form::Paper, Form::Paper95, Form::Persistent] {
                let mut material = Material::build(device, form, &[&part], objective, 0)?;
                // One changed value: under `simt` thirteen sums would take long.
                let found = material.evaluate_some(&values, 0..1)?;
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(&expected) {
                    // A child's term may be rounded to the next whole number, which is 1.5e-11 of J.
                    assert!((found - expected).abs() <= n as i128, "{form}, {n}: {found}, not {expected}");
                }
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
            let mut plain = Material::build(device, Form::Plain, &[&shard], Objective::default(), 0)?;
            let mut fused = Material::build(device, Form::Fused, &[&shard], Objective::default(), 0)?;
            let expected = Histogram::from_shards(&[&shard]).run(Objective::default(), values, 3)?;
            assert_eq!(plain.run(values, 3)?, expected);
            for (row, expected) in fused.run(values, 3)?.iter().zip(&expected) {
                assert!((row.j - expected.j).abs() < 1e-12, "{row:?} {expected:?}");
            }
        }
        Ok(())
    });
}

/// More distinct differences than a block's table holds, and than the first table of the grid.
#[test]
fn many_distinct_differences() {
    let mut state = 5u64;
    let mut words: Vec<u64> = (0..12_001u64)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 8
        })
        .collect();
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
        let mut material = Material::build(device, Form::Histogram, &[&shard], objective, 0)?;
        assert_eq!(material.gradient(&values)?, gradient);
        let error = Material::build(device, Form::Plain, &[&shard], objective, 0)?.gradient(&values).unwrap_err();
        assert!(error.to_string().starts_with("the gradient of form plain is not offered by the back end"), "{error}");
        Ok(())
    });
}

/// Positions of 96 bytes and of 95, against the plain program; the bytes do not depend on the shards.
#[test]
fn positions_and_their_values() {
    let (one, many) = (shards_of(2, 46, 1 << 20), shards_of(2, 46, 3));
    assert!(many.shards().len() > 2);
    let positions = Positions::from_shards(&many.views(), 96).unwrap();
    assert_eq!(positions, Positions::from_shards(&one.views(), 96).unwrap());
    assert_eq!(positions.len() as u64, one.n_children());
    let shorter = Positions::from_shards(&one.views(), 95).unwrap();
    assert!(positions.bytes().chunks(96).zip(shorter.bytes().chunks(95)).all(|(with, without)| with[..95] == *without));
    let values: Values = [2.5, 3.25, 4.0, 5.5, 6.0, 7.75, 4.5, 5.0, 5.25, 5.75, 8.0, 9.5];
    // Differences of positions are those of the shard: all values are quarters, so nothing is rounded.
    let shard = &one.shards()[0];
    for parent in 0..shard.n_parents() {
        let children = shard.children(parent);
        let sign = if shard.sides[parent] == 0 { 1.0 } else { -1.0 };
        let f = |child: usize| source::evaluate(&positions.bytes()[child * 96..][..96], &values);
        for child in children.clone() {
            assert_eq!(sign * (f(child) - f(children.start)), source::weigh(shard.differences[child], &values));
        }
    }
    let some: Vec<[u8; 96]> = positions.bytes().as_chunks::<96>().0[..300].to_vec();
    let expected: Vec<f64> = some.iter().map(|position| source::evaluate(position, &values)).collect();
    assert_eq!(PositionEvaluator::position(&shard.pieces[0])[..81].iter().filter(|&&code| code == 14).count(), 1);
    let mut devices = kernel_devices();
    devices.push(Device::cpu());
    for device in devices {
        let mut evaluator = PositionEvaluator::new(&device, 300).unwrap();
        for n in [0, 1, 2, 33, 300] {
            let mut f = vec![f64::NAN; n];
            evaluator.evaluate(&some[..n], &values, &mut f).unwrap();
            assert_eq!(f, expected[..n], "{device}");
        }
        let mut f = vec![0.0; 301];
        let error = evaluator.evaluate(&vec![[0; 96]; 301], &values, &mut f).unwrap_err();
        assert_eq!(error.to_string(), "positions: expected at most 300, got 301");
        let error = evaluator.evaluate(&[[29; 96]], &values, &mut f[..1]).unwrap_err();
        assert_eq!(error.to_string(), "option positions: 29 is not allowed (codes of squares below 29)");
        let error = evaluator.evaluate(&some[..2], &values, &mut f[..1]).unwrap_err();
        assert_eq!(error.to_string(), "values of positions: expected 2, got 1");
    }
    let error = PositionEvaluator::new(&Device::cpu(), 0).err().unwrap();
    assert_eq!(error.to_string(), "option batch: 0 is not allowed (1 to 2147483647)");
}

/// The same data several times is the same objective.
#[test]
fn repetitions_change_nothing_but_counts() {
    let set = shards_of(2, 42, 1);
    let mut devices = kernel_devices();
    devices.push(Device::cpu());
    for device in devices {
        for &form in Form::ALL {
            if device.backend() == Backend::Cpu && matches!(form, Form::Fused | Form::Persistent) {
                continue;
            }
            let build = |repeat| {
                Material::build_repeated(&device, form, &set.views(), Objective::default(), 1, repeat).unwrap()
            };
            let (mut once, mut thrice) = (build(1), build(3));
            assert_eq!(thrice.children(), 3 * once.children());
            let (one, three) = (once.evaluate(&[4.5; 12]).unwrap(), thrice.evaluate(&[4.5; 12]).unwrap());
            assert_eq!(three.sums, one.sums.map(|sum| 3 * sum), "{form} on {device}");
        }
    }
}

/// The plain program's sums are those of its own words: nothing of the library is in them.
#[test]
fn the_cpu_is_the_plain_program() {
    let set = shards_of(3, 43, 2);
    let words: Vec<u64> = set.shards().iter().flat_map(|shard| shard.differences.iter().copied()).collect();
    let objective = Objective::default();
    let mut material = Material::build(&Device::cpu(), Form::Plain, &set.views(), objective, 1).unwrap();
    let expected = Sequential::differences(&words, &[3.5; 12], objective.a);
    assert_eq!(material.evaluate_some(&[3.5; 12], 0..0).unwrap(), [expected]);
}

fn text(error: Result<Material, Error>) -> String {
    error.err().expect("an error").to_string()
}

#[test]
fn bad_input_is_named() -> Checked {
    let shard = Shard { differences: vec![0, 1].into(), ..Shard::default() };
    let cpu = Device::cpu();
    let objective = Objective::default();
    let error = text(Material::build(&cpu, Form::Fused, &[&shard], objective, 1));
    assert_eq!(
        error,
        "form fused is not offered by the back end cpu: use paper, plain or histogram, or a device that runs kernels"
    );
    for device in kernel_devices().iter().chain([&cpu]) {
        let error = text(Material::build(device, Form::Plain, &[], objective, 1));
        assert_eq!(error, "children: expected 1 or more, got 0");
        let error = text(Material::build_repeated(device, Form::Plain, &[&shard], objective, 1, 0));
        assert_eq!(error, "option repeat: 0 is not allowed (1 or more)");
        let wrong = Objective { a: f64::NAN, ..objective };
        let error = text(Material::build(device, Form::Plain, &[&shard], wrong, 1));
        assert_eq!(error, "option a: NaN is not allowed (a number above 0, at most 1000000)");
        if device.backend() != Backend::Cpu {
            let far = Objective { delta: 26.0, ..objective };
            let error = text(Material::build(device, Form::Fused, &[&shard], far, 1));
            assert_eq!(error, "option delta: 26 is not allowed (at most 25, 75 / a, with form fused)");
        }
        let mut material = Material::build(device, Form::Histogram, &[&shard], objective, 1)?;
        let error = material.run([f64::INFINITY; 12], 1).unwrap_err().to_string();
        assert_eq!(error, "option init: inf is not allowed (numbers of at most 1000000 in size)");
        let error = material.evaluate_some(&[1.0; 12], 3..13).unwrap_err().to_string();
        assert_eq!(error, "option features: 3..13 is not allowed (a range in 0..12)");
        // Positions cannot be made of differences alone.
        let error = text(Material::build(device, Form::Paper, &[&shard], objective, 1));
        assert!(error.starts_with("column first_child of a shard: expected"), "{error}");
    }
    assert!(Differences::upload(&cpu, &[&shard]).is_err());
    Ok(())
}

/// The source's reductions with what they leave out: run on the CPU, thread by thread, each is found to be wrong.
mod faults {
    use warpplay::{Device, Error, LaunchShape, Module, PtxSet};
    use warpplay_gpu::cuda::{kernel, memory, shared_array, sync, thread};
    use warpplay_gpu::simt::FaultKind;

    const KERNELS: PtxSet = PtxSet { name: "faults", images: &[], missing: Some("these run under simt alone") };

    /// The last steps without barriers, since only threads of one warp are left.
    ///
    /// # Safety
    /// Blocks of 96; `f` has a value for each.
    #[kernel]
    pub unsafe fn shogi_tail_without_barriers(f: *mut f64) {
        let sums = shared_array![f64; 96];
        let own = thread::thread_idx_x();
        sums.set(own, own as f64);
        sync::sync_threads();
        if own < 48 {
            sums.set(own, sums.get(own) + sums.get(own + 48));
        }
        sync::sync_threads();
        let mut half = 24;
        while half >= 3 {
            if own < half {
                sums.set(own, sums.get(own) + sums.get(own + half));
            }
            half /= 2;
        }
        if own == 0 {
            // SAFETY: a value for each block.
            unsafe { memory::store(f, thread::block_idx_x() as usize, sums.get(0) + sums.get(1) + sums.get(2)) };
        }
    }

    /// A barrier that only the threads that still add reach.
    ///
    /// # Safety
    /// As above.
    #[kernel]
    pub unsafe fn shogi_barrier_in_a_branch(f: *mut f64) {
        let sums = shared_array![f64; 96];
        let own = thread::thread_idx_x();
        sums.set(own, own as f64);
        sync::sync_threads();
        let mut half = 48;
        while half >= 3 {
            if own < half {
                sums.set(own, sums.get(own) + sums.get(own + half));
                sync::sync_threads();
            }
            half /= 2;
        }
        if own == 0 {
            // SAFETY: a value for each block.
            unsafe { memory::store(f, thread::block_idx_x() as usize, sums.get(0) + sums.get(1) + sums.get(2)) };
        }
    }

    fn kind(error: Result<(), Error>) -> FaultKind {
        match error {
            Err(Error::Simt(fault)) => fault.kind,
            other => panic!("no fault: {other:?}"),
        }
    }

    /// Our kernels run in the same mode in every other test here, and nothing is found.
    #[test]
    fn the_sources_are_found() {
        let device = Device::simt();
        let stream = device.stream().unwrap();
        let module = Module::load(&device, &KERNELS).unwrap();
        let mut f = stream.alloc::<f64>(2).unwrap();
        let tail = module.function(shogi_tail_without_barriers).unwrap();
        // SAFETY: two blocks, two values.
        let error = unsafe { stream.launch(&tail, LaunchShape::new(2, 96), (&mut f,)) };
        assert!(matches!(kind(error), FaultKind::SharedRace { .. }));
        let branch = module.function(shogi_barrier_in_a_branch).unwrap();
        // SAFETY: two blocks, two values.
        let error = unsafe { stream.launch(&branch, LaunchShape::new(2, 96), (&mut f,)) };
        assert!(matches!(kind(error), FaultKind::DivergentBarrier { .. }));
    }
}
