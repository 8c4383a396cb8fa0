//! The paper's kernels and program against the plain ones, its learning on ranks, its commands, and the faults that are not repeated.

use std::cell::OnceCell;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::material::{Engine, Positions};
use warpplay::shogi::quiescence::{self, rebuild};
use warpplay::shogi::ranks::{Alone, Ranks, Threads};
use warpplay::shogi::records::{Game, Outcome, Records, Source};
use warpplay::shogi::{Evaluator, FeatureSet, Objective, Row, Shard, Values, Window};
use warpplay::{Backend, Device, Error, Progress};
use warpplay_cpu_ref::shogi::material;
use warpplay_papers::experiment::{Item, Journal, Paper as _, Report, Run, Step, measure};
use warpplay_papers::shogi_bonanza::experiments::{Repetition, Settings};
use warpplay_papers::shogi_bonanza::{
    Job, Options, PaperEngine, PositionEvaluator, Program, Reproducible, Split, part, published, reproduce,
};
use warpplay_tests::backends::{for_each_device, kernel_devices};
use warpplay_tests::golden;
use warpplay_tests::learning::{dataset, reference, same_as_reference, shards_of};
use warpplay_tests::programs::{self, Scratch, close, has, list};
use warpplay_tests::shogi_bonanza::Distinct;

use crate::slots::columns_are_those_of_the_page;

const PLAIN: PaperEngine = PaperEngine::Warpplay(Engine::Plain);
const PERSISTENT: PaperEngine = PaperEngine::Warpplay(Engine::Persistent);

fn go_on(_: Option<&Row>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// All rows of a job.
fn rows(device: &Device, shards: &[&Shard], options: &Options) -> Result<Vec<Row>, Error> {
    Job::new(device, shards, options)?.run(options, go_on)
}

/// The paper's program on the CPU, from positions: sequential and parallel, 96 bytes and 95.
#[test]
fn first_games_from_positions() {
    let (reference, set) = (reference(), shards_of(100, 80, 1000));
    let run = |engine, threads, iterations| {
        rows(&Device::cpu(), &set.views(), &Options { engine, threads, iterations, ..Options::default() }).unwrap()
    };
    let rows = run(PaperEngine::Paper, None, 4);
    same_as_reference(&rows, &reference["first_100_games"]);
    assert_eq!(run(PaperEngine::Paper95, None, 1), rows[..2]);
    assert_eq!(run(PaperEngine::Paper, Some(1), 1), rows[..2]);
    assert_eq!(run(PaperEngine::Paper, Some(2), 1), rows[..2]);
}

/// All games, fifty iterations, where there is a GPU.
#[test]
fn all_games() {
    let Some(reference) = golden::shared("vectors/shogi_learning_reference.json") else { return };
    let Some(games) = golden::shared("data/shogi/games.usi.txt.gz") else { return };
    let reference: Value = serde_json::from_slice(&std::fs::read(reference).unwrap()).unwrap();
    for device in kernel_devices().iter().filter(|device| device.backend() == Backend::Cuda) {
        let records = warpplay::shogi::records::read(&games, Progress::go_on).unwrap();
        let set = Dataset::builder().shard_parents(1 << 20).build(&records).unwrap();
        for engine in [PaperEngine::Paper, PaperEngine::Paper95] {
            let rows = rows(device, &set.views(), &Options { engine, ..Options::default() }).unwrap();
            same_as_reference(&rows, &reference["all_games_50"]);
        }
    }
}

/// A few games: both layouts of the paper on all back ends, beside the engines of `warpplay`.
#[test]
fn forms_agree() {
    // Under `simt` a position takes the paper's kernel longer than all the engines together.
    let set = shards_of(2, 42, 3);
    let shards = set.views();
    let init: Values = std::array::from_fn(|value| 2.5 + 0.37 * value as f64);
    let objective = Objective { delta: 0.07, ..Objective::default() };
    let of = |engine| Options { engine, objective, init, iterations: 4, threads: Some(1), ..Options::default() };
    let paper = rows(&Device::cpu(), &shards, &of(PaperEngine::Paper)).unwrap();
    let tree = OnceCell::<Vec<Row>>::new();
    for_each_device(|device| {
        for &engine in PaperEngine::ALL {
            let options = of(engine);
            let mut job = Job::new(device, &shards, &options)?;
            assert_eq!(job.children(), set.n_children());
            let rows = job.run(&options, go_on)?;
            // Again in the same memory, and shorter.
            assert_eq!(job.run(&Options { iterations: 2, ..options }, go_on)?, rows[..3], "{engine}");
            if matches!(engine, PaperEngine::Paper | PaperEngine::Paper95) {
                assert_eq!(&rows, tree.get_or_init(|| rows.clone()), "{engine}");
            }
            for (row, expected) in rows.iter().zip(&paper) {
                assert_eq!(row.values, expected.values, "{engine}");
                assert!((row.j - expected.j).abs() < 1e-11, "{engine}");
            }
            // A rank's shares of an evaluation are parts of the whole.
            let whole = job.sums(&init, 0..12)?;
            for features in [0..0, 3..4, 5..12, 12..12] {
                let some = job.sums(&init, features.clone())?;
                assert_eq!(some[0], whole[0], "{engine}");
                assert_eq!(some[1..], whole[1 + features.start..1 + features.end], "{engine}");
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
        // The move that was played may be gone, and no engine asks for it.
        played: vec![1; parents].into(),
        differences: shard.differences[..n].into(),
        first_change: shard.first_change[..=n].into(),
        changes: shard.changes[..shard.first_change[n] as usize].into(),
    }
}

/// The layouts of positions, whose kernels have reductions of their own: the paper's second kernel adds up 512 children a block.
#[test]
fn any_number_of_positions() {
    let set = shards_of(2, 48, 1000);
    let values: Values = std::array::from_fn(|value| 2.5 + 0.37 * value as f64);
    for_each_device(|device| {
        for n in [1, 2, 511, 512, 513] {
            let part = first_children(&set.shards()[0], n);
            let expected = Job::new(&Device::cpu(), &[&part], &Options { engine: PLAIN, ..Options::default() })?
                .sums(&values, 0..1)?;
            for engine in [PaperEngine::Paper, PaperEngine::Paper95, PERSISTENT] {
                let mut job = Job::new(device, &[&part], &Options { engine, ..Options::default() })?;
                // One changed value: under `simt` thirteen sums would take long.
                let found = job.sums(&values, 0..1)?;
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(&expected) {
                    // A child's term may be rounded to the next whole number, which is 1.5e-11 of J.
                    assert!((found - expected).abs() <= n as i128, "{engine}, {n}: {found}, not {expected}");
                }
            }
        }
        Ok(())
    });
}

/// Single positions on every device, by the paper's first kernel and by the plain program.
#[test]
fn positions_and_their_values() {
    let set = shards_of(2, 46, 1 << 20);
    let positions = Positions::from_shards(&set.views()).unwrap();
    let values: Values = [2.5, 3.25, 4.0, 5.5, 6.0, 7.75, 4.5, 5.0, 5.25, 5.75, 8.0, 9.5];
    let some: Vec<[u8; 96]> = positions.bytes().as_chunks::<96>().0[..300].to_vec();
    let expected: Vec<f64> = some.iter().map(|position| material::evaluate(position, &values)).collect();
    let list = &set.shards()[0].pieces[0];
    assert_eq!(PositionEvaluator::position(list)[..81].iter().filter(|&&code| code == 14).count(), 1);
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
        for engine in [PaperEngine::Paper, PaperEngine::Paper95] {
            let build = |repeat| {
                let options = Options { engine, threads: Some(1), repeat, ..Options::default() };
                Job::new(&device, &set.views(), &options).unwrap()
            };
            let (mut once, mut thrice) = (build(1), build(3));
            assert_eq!(thrice.children(), 3 * once.children());
            let (one, three) = (once.sums(&[4.5; 12], 0..12).unwrap(), thrice.sums(&[4.5; 12], 0..12).unwrap());
            assert!(three.iter().zip(&one).all(|(three, one)| *three == 3 * one), "{engine} on {device}");
        }
    }
}

#[test]
fn bad_input_is_named() {
    let shard = Shard { differences: vec![0, 1].into(), ..Shard::default() };
    let objective = Objective::default();
    for device in kernel_devices().iter().chain([&Device::cpu()]) {
        let fails = |shards: &[&Shard], stride, repeat, threads| {
            Program::new(device, shards, objective, stride, repeat, threads).err().expect("an error").to_string()
        };
        // Positions cannot be made of differences alone.
        assert!(fails(&[&shard], 96, 1, None).starts_with("column first_child of a shard: expected"));
        assert_eq!(fails(&[], 96, 1, None), "children: expected 1 or more, got 0");
        assert_eq!(fails(&[&shard], 90, 1, None), "option stride: 90 is not allowed (95 or 96 bytes)");
        assert_eq!(fails(&[&shard], 96, 0, None), "option repeat: 0 is not allowed (1 or more)");
        assert!(fails(&[&shard], 96, u32::MAX, None).contains("needed"));
    }
    let set = shards_of(1, 41, 1);
    let mut program = Program::new(&Device::cpu(), &set.views(), objective, 96, 1, Some(1)).unwrap();
    let error = program.sums(&[f64::NAN; 12], 0..0).unwrap_err().to_string();
    assert_eq!(error, "option values: NaN is not allowed (numbers of at most 1000000 in size)");
    assert!(program.sums(&[1.0; 12], 3..13).unwrap_err().to_string().contains("a range in 0..12"));
    let error = Program::new(&Device::cpu(), &set.views(), objective, 96, 1, Some(0)).err().unwrap().to_string();
    assert_eq!(error, "option threads: 0 is not allowed (1 to 1024)");
}

/// Some more ranks than the twelve values too.
const SIZES: [usize; 8] = [1, 2, 3, 4, 5, 7, 12, 13];

#[test]
fn any_rank_can_end_the_learning() {
    let (all, _) = Distinct::reference();
    for split in [Split::Features, Split::Data] {
        let answers = Threads::run(3, |ranks| {
            let (rank, size) = if split == Split::Data { (ranks.rank(), ranks.size()) } else { (0, 1) };
            let watch = |row: Option<&Row>| match ranks.rank() == 1 && row.is_some_and(|row| row.iteration == 2) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            reproduce(&mut all.share(rank, size), ranks, split, &Objective::default(), &[3.0; 12], 10, watch)
        });
        assert!(answers.unwrap().iter().all(|rows| rows.len() == 3), "{split}");
    }
}

#[test]
fn the_papers_learning_is_the_same_with_any_ranks_and_split() {
    let (all, reference) = Distinct::reference();
    let objective = Objective::default();
    let learn = |size: usize, split: Split| -> Vec<Row> {
        let answers = Threads::run(size, |ranks| {
            let mut work = match split {
                Split::Features => all.share(0, 1),
                Split::Data => all.share(ranks.rank(), ranks.size()),
            };
            reproduce(&mut work, ranks, split, &objective, &[3.0; 12], 10, go_on)
        });
        let mut answers = answers.unwrap();
        let rows = answers.swap_remove(0);
        assert!(answers.iter().all(|other| *other == rows), "{size} ranks, {split}");
        rows
    };
    let rows = learn(1, Split::Features);
    for size in SIZES {
        for split in [Split::Features, Split::Data] {
            assert_eq!(learn(size, split), rows, "{size} ranks, {split}");
        }
    }
    assert_eq!(rows.len(), 11);
    same_as_reference(&rows, &reference);
}

#[test]
fn ranks_without_positions_take_part_with_nothing() {
    // A parent is of one rank: the others have none.
    let start = Some("4k4/9/4p4/9/9/9/4P4/9/4K4 b - 1");
    let game =
        Game::new(start, vec!["5g5f".parse().unwrap()], Outcome::Unknown, Source { file: "game".into(), line: 1 });
    let records = Records { games: vec![game.unwrap()], skipped: Vec::new() };
    let plies = Window { start: 0, end: 1, step: 1 };
    let set = Dataset::builder().plies(plies).build(&records).unwrap();
    assert_eq!(set.n_parents(), 1);
    let objective = Objective::default();
    let options = Options { engine: PLAIN, iterations: 4, threads: Some(1), ..Options::default() };
    let build = |shards: &[&Shard]| Job::new(&Device::cpu(), shards, &options);
    let rows = build(&set.views()).unwrap().run(&options, go_on).unwrap();
    for (size, split) in [(1, Split::Data), (3, Split::Data), (3, Split::Features), (14, Split::Features)] {
        let answers = Threads::run(size, |ranks| {
            let mut work = part(ranks, split, &set.views(), build)?;
            reproduce(&mut *work, ranks, split, &objective, &[3.0; 12], 4, go_on)
        });
        assert!(answers.unwrap().iter().all(|found| *found == rows), "{size} ranks, {split}");
    }
}

#[test]
fn bad_divisions_are_refused() {
    let mut nothing = Distinct::nothing();
    let objective = Objective::default();
    let mut run = |init: f64, split| reproduce(&mut nothing, &Alone, split, &objective, &[init; 12], 1, go_on);
    assert!(matches!(run(3.0, Split::Data), Err(Error::Shape { .. })));
    assert!(matches!(run(f64::NAN, Split::Features), Err(Error::Option { name: "init", .. })));
    assert!("rows".parse::<Split>().is_err());
}

/// The program `warpplay`.
fn new_scratch() -> Scratch {
    let scratch = Scratch::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")), "papers");
    std::fs::write(scratch.path("six.usi"), golden::text("shogi/six.usi")).expect("a file");
    scratch
}

/// The trajectory of the reference for its first 100 games.
#[track_caller]
fn is_the_reference(report: &Value, reference: &Value) {
    assert_eq!(report["parents"], reference["parents"]);
    assert_eq!(report["children"], reference["children_K"]);
    assert_eq!(report["distinct_vectors"], reference["distinct_differences"]);
    let (found, expected) = (list(&report["trajectory"]), list(&reference["rows"]));
    assert_eq!(found.len(), 11);
    for (row, expected) in found.iter().zip(expected) {
        has(row, &["iteration", "j", "values", "differences"]);
        assert_eq!(row["iteration"], expected["iter"]);
        close(&row["j"], &expected["J"], 1e-9);
        for (value, expected) in list(&row["values"]).iter().zip(list(&expected["v"])) {
            close(value, expected, 1e-9);
        }
    }
}

#[test]
fn reproduce_is_the_reference_on_every_back_end() {
    let games = golden::path("shogi/first_100.usi.txt.gz");
    let reference: Value = serde_json::from_str(&golden::text("shogi/learning.json")).expect("JSON");
    let reference = &reference["first_100_games"];
    let scratch = new_scratch();
    let devices = kernel_devices().into_iter().map(|device| device.backend().to_string());
    for device in devices.chain(["cpu".to_string(), "auto".to_string()]) {
        // The agreed command line.
        let line = format!(
            "shogi_bonanza --records \"{}\" --limit 100 --iterations 10 --init 3 --plies 40..80 --device {device} --json run.json",
            games.display()
        );
        let shown = scratch.ok(&line);
        let report = scratch.json("run.json");
        has(
            &report,
            &["schema", "kind", "program", "version", "device", "device_name", "engine", "seconds", "games", "skipped"],
        );
        is_the_reference(&report, reference);
        assert!(shown.contains("3,823") && shown.contains("272,355"), "{shown}");
    }
    // The paper's own way, on the CPU.
    for engine in ["paper", "plain"] {
        scratch.ok(&format!(
            "shogi_bonanza --records \"{}\" --limit 100 --iterations 10 --engine {engine} --device cpu --json run.json --quiet",
            games.display()
        ));
        is_the_reference(&scratch.json("run.json"), reference);
    }
}

#[test]
fn every_form_learns_the_same() {
    let scratch = new_scratch();
    let line = "shogi_bonanza --records six.usi --limit 1 --plies 40..44 --iterations 2 --init 3,3,4,4,5,5,3,3,3,3,6,6 --quiet --json run.json";
    scratch.ok(&format!("{line} --device cpu --engine histogram"));
    let expected = scratch.json("run.json")["trajectory"].clone();
    assert_eq!(list(&expected).len(), 3);
    let mut runs = vec![("cpu".to_string(), "paper"), ("cpu".to_string(), "plain")];
    for device in kernel_devices() {
        for engine in ["paper", "paper95", "persistent", "plain", "fused", "histogram"] {
            runs.push((device.backend().to_string(), engine));
        }
    }
    for (device, engine) in runs {
        scratch.ok(&format!("{line} --device {device} --engine {engine}"));
        let report = scratch.json("run.json");
        assert_eq!(report["engine"], engine);
        for (row, expected) in list(&report["trajectory"]).iter().zip(list(&expected)) {
            close(&row["j"], &expected["j"], 1e-11);
            for (value, expected) in list(&row["values"]).iter().zip(list(&expected["values"])) {
                close(value, expected, 1e-12);
            }
        }
    }
    // Threads change nothing.
    scratch.ok(&format!("{line} --device cpu --engine plain --threads 1"));
    assert_eq!(scratch.json("run.json")["trajectory"], expected);
}

#[test]
fn reproduce_draws_both_figures_and_prints_the_tables() {
    let scratch = new_scratch();
    let shown = scratch.ok(
        "shogi_bonanza --records six.usi --plies 40..50 --iterations 3 --device cpu --plots plots --plot-iterations 5 --tables \
         --table-iterations 1 --quiescence --quiescence-every 2 --json run.json",
    );
    for figure in ["plots/init3.svg", "plots/init5.svg"] {
        assert!(scratch.text(figure).starts_with("<svg"), "{figure}");
    }
    // The items of these names, on what was learnt from.
    for table in ["Table 2, section 3", "Table 6, section 4", "Table 7, section 5"] {
        assert!(shown.contains(table), "{shown}");
    }
    for kind in ["歩", "成香", "龍"] {
        assert!(shown.contains(kind), "{shown}");
    }
    let once = scratch.json("run.json");
    let sheets = list(&once["tables"]);
    let items: Vec<&str> = sheets.iter().filter_map(|sheet| sheet["item"].as_str()).collect();
    assert_eq!(items, ["table2", "table6", "table7"]);
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    let of = |at: usize, head| column(&sheets[at]["tables"][0], head).into_iter().map(number).collect::<Vec<_>>();
    // One update of both measurements: thirteen evaluations of each child before it, and as many after it.
    let millions = number(&once["children"]) * 26.0 / 1e6;
    let (seconds, rates) = (of(0, "ours, s"), of(0, "million evaluations/s, as the paper counts"));
    assert_eq!(seconds.len(), 4);
    for ((seconds, rate), speed_up) in seconds.iter().zip(rates).zip(of(0, "our speed-up")) {
        close(&json!(rate), &json!(millions / seconds), 1e-9 * rate);
        close(&json!(speed_up), &json!(of(0, "ours, s")[0] / seconds), 1e-9 * speed_up);
    }
    assert_eq!(of(0, "processes"), [1.0, 2.0, 3.0, 4.0]);
    close(&json!(of(0, "(L+1)/(⌈L/P⌉+1)")[3]), &json!(3.25), 1e-12);
    let table6 = &sheets[1]["tables"][0];
    let rows: Vec<(&str, &str, &Value)> = list(&table6["rows"])
        .iter()
        .filter_map(|row| Some((row[0].as_str()?, row[1].as_str()?, &row[2])))
        .filter(|(_, location, _)| *location == "one core")
        .collect();
    assert_eq!(
        rows,
        [
            ("paper", "one core", &json!(1.0)),
            ("plain", "one core", &json!(1.0)),
            ("histogram", "one core", &json!(50.0))
        ]
    );
    // What was learnt; quiet positions teach something else.
    let ours = of(2, "ours, from 300");
    for (value, learnt) in ours[1..].iter().zip(list(&once["trajectory"][3]["values"])) {
        close(&json!(value), &json!(100.0 * number(learnt)), 1e-9);
    }
    assert_ne!(of(2, "ours with quiet leaves, from 300"), ours);
    // Half as many again, twice the children, the same objective.
    scratch.ok(
        "shogi_bonanza --records six.usi --plies 40..50 --iterations 3 --device cpu --repeat 2 --quiet --json twice.json",
    );
    let twice = scratch.json("twice.json");
    assert_eq!(twice["children"].as_u64(), once["children"].as_u64().map(|children| 2 * children));
    assert_eq!(twice["trajectory"][3]["values"], once["trajectory"][3]["values"]);
}

#[test]
fn objective_and_windows_are_parameters() {
    let scratch = new_scratch();
    let line = "shogi_bonanza --records six.usi --device cpu --iterations 1 --quiet --json run.json";
    scratch.ok(&format!("{line} --plies 40..60/2 --game-range 0..6/2 --a 2 --h 0.5 --factor 0.5 --delta 0.1 --init 5"));
    let report = scratch.json("run.json");
    let (first, second) = (&report["trajectory"][0], &report["trajectory"][1]);
    assert_eq!((&first["h"], &second["h"]), (&json!(0.5), &json!(0.25)));
    for (value, difference) in list(&second["values"]).iter().zip(list(&first["differences"])) {
        let expected = if difference.as_f64() > Some(0.0) { 4.5 } else { 5.5 };
        close(value, &json!(expected), 1e-12);
    }
    assert_eq!(report["games"], 3);
    // Ten half-moves of three games.
    assert_eq!(report["parents"], 30);
    assert_eq!(report["objective"], json!({ "a": 2.0, "delta": 0.1, "h": 0.5, "factor": 0.5 }));
    let line = "shogi_bonanza --records six.usi --quiet";
    for (wrong, said) in [
        ("--init 1,2", "twelve"),
        ("--init nan", "finite"),
        ("--plies 80..40", "START < END"),
        ("--plies 40..80/0", "STEP"),
        ("--engine fast", "histogram"),
        ("--repeat 0", "0"),
        ("--iterations -1", "--iterations"),
    ] {
        let stderr = scratch.misused(&format!("{line} {wrong}"));
        assert!(stderr.contains(said), "{wrong}: {stderr}");
    }
    for (wrong, said) in [
        ("--a 0", "option a: 0"),
        ("--delta -1", "option delta: -1"),
        ("--h nan", "option h: nan"),
        ("--factor inf", "option factor: inf"),
        ("--limit 0", "option limit: 0"),
        ("--device gpu", "option device: gpu"),
        ("--device cpu --threads 18446744073709551615", "1 to 1024"),
    ] {
        let stderr = scratch.fails(2, &format!("{line} {wrong}"));
        assert!(stderr.contains(said), "{wrong}: {stderr}");
    }
    assert!(scratch.fails(1, &format!("{line} --device cpu --engine fused")).contains("fused"));
}

/// A column of a table, found by its head.
fn column<'a>(table: &'a Value, head: &str) -> Vec<&'a Value> {
    let at = list(&table["columns"]).iter().position(|column| column["name"] == head);
    let at = at.unwrap_or_else(|| panic!("no column {head} in {}", table["columns"]));
    list(&table["rows"]).iter().map(|row| &row[at]).collect()
}

/// Every item on the program's own games, with every published number beside ours; figures are drawn; a replay finds the same.
#[test]
fn quick_shows_every_item_beside_the_published_numbers() {
    let scratch = new_scratch();
    let shown = scratch.ok("shogi_bonanza --quick --device cpu --checkpoint journal --json run.json --plots plots");
    assert!(shown.contains("100 games of the program") && shown.contains("3,823"), "{shown}");
    let run = scratch.json("run.json");
    assert_eq!((&run["kind"], &run["report"]["complete"]), (&json!("shogi_bonanza"), &json!(true)));
    let sheets = list(&run["report"]["sheets"]);
    let names: Vec<&str> = sheets.iter().filter_map(|sheet| sheet["item"].as_str()).collect();
    assert_eq!(names, ["table2", "memory", "progress", "table6", "figure1", "figure2", "table7", "claims"]);
    let sheet = |name: &str| sheets.iter().find(|sheet| sheet["item"] == name).expect("a sheet");
    for figure in ["table2", "figure1", "figure2"] {
        assert!(scratch.text(&format!("plots/{figure}.svg")).starts_with("<svg"), "{figure}");
    }
    // Table 2: the printed column, and each of ours above 0.
    let table = &sheet("table2")["tables"][0];
    let of =
        |head: &str| column(table, head).into_iter().map(|cell| cell.as_f64().expect("a number")).collect::<Vec<_>>();
    assert_eq!(of("published, s"), published::TABLE2.map(|row| row.seconds));
    assert_eq!(of("published speed-up"), published::TABLE2.map(|row| row.speed_up));
    assert_eq!(of("(L+1)/(L/P+1)"), [1.0, 13.0 / 7.0, 13.0 / 5.0, published::CEILING_OF_FOUR]);
    let (mean, least, most) = (of("ours, s"), of("least"), of("most"));
    assert!((0..4).all(|at| least[at] > 0.0 && least[at] <= mean[at] && mean[at] <= most[at]), "{table}");
    assert!(
        of("our speed-up").iter().zip(&mean).all(|(speed_up, &seconds)| (speed_up - mean[0] / seconds).abs() < 1e-12)
    );
    let notes = sheet("table2")["notes"].to_string();
    assert!(notes.contains("learns the same values, to the bit"));
    assert!(notes.contains("6315907 · 50 · 13 / 1313.7 s = 3.125 million"), "{notes}");
    // Memory, Table 6: what is printed stands in its column.
    let of = |name: &str, head: &str| -> Vec<f64> {
        column(&sheet(name)["tables"][0], head).into_iter().filter_map(Value::as_f64).collect()
    };
    // 900 MB over 108 bytes, and over 108 times the positions of a parent.
    let parents = (8_333_333.0 / (272_355.0 / 3823.0_f64)).round();
    assert_eq!(of("memory", "published"), [95.0, 96.0, 108.0, 8_330_000.0, 100_000.0]);
    assert_eq!(of("memory", "ours"), [95.0, 96.0, 108.0, 8_333_333.0, parents]);
    assert_eq!(of("table6", "published, s"), [published::CPU_SECONDS, published::GPU_SECONDS]);
    assert_eq!(of("table6", "published ratio"), [1.0, published::GPU_RATIO]);
    // Fast engines do as many updates as the paper; the paper's program on one core is Table 2's.
    let lines = list(&sheet("table6")["tables"][0]["rows"]);
    let updates = |program: &str| lines.iter().filter(|row| row[0] == program).map(|row| &row[2]).collect::<Vec<_>>();
    assert_eq!((updates("histogram"), updates("plain")), (vec![&json!(50.0)], vec![&json!(2.0)]));
    assert_eq!(of("table6", "ours, s")[0], mean[0]);
    assert!(sheet("table6")["left_out"].to_string().contains("GPU"));
    // The progress lines: theirs as printed, ours with the same steps.
    let progress = sheet("progress");
    for (line, row) in published::PROGRESS.iter().zip(list(&progress["tables"][0]["rows"])) {
        let cells: Vec<f64> = list(row)[1..].iter().filter_map(Value::as_f64).collect();
        assert!(cells[0] == line.j && cells[1..] == line.values, "{row}");
    }
    let steps = &progress["tables"][2];
    for head in ["ours, least", "ours, most"] {
        for (update, step) in (0..).zip(column(steps, head)) {
            close(step, &json!(published::step_at(update)), 1e-12);
        }
    }
    assert!(progress["notes"].to_string().contains("All 120 published steps"), "{progress}");
    // 126,417 · 13 · 11 / 5.023 s is 3.6 million evaluations a second; Table 6 has 2.818 million of a core and 32.84 million of its GPU.
    assert!(
        progress["notes"].to_string().contains("1.28 times the rate of Table 6's core and 1/9.1 of its GPU's"),
        "{progress}"
    );
    // Table 7: both columns of thirteen values, and ours from both first ones, which are the course of the plain program.
    let table = &sheet("table7")["tables"][0];
    assert_eq!(column(table, "piece").len(), 13);
    for (at, first) in [(0, 3.0), (1, 5.0)] {
        let head = format!("{}00", first as u32);
        let printed: Vec<Option<u64>> = column(table, &format!("published, from {head}"))
            .iter()
            .map(|cell| cell.as_f64().map(|value| value as u64))
            .collect();
        assert_eq!(printed, published::TABLE7[at].map(|value| Some(u64::from(value))));
        let set = shards_of(100, 80, 1000);
        let options = Options { engine: PLAIN, init: [first; 12], iterations: 100, ..Options::default() };
        let expected = rows(&Device::cpu(), &set.views(), &options).unwrap();
        for (cell, value) in column(table, &format!("ours, from {head}"))[1..].iter().zip(expected[100].values) {
            close(cell, &json!(100.0 * value), 1e-9);
        }
        let figure = &sheet(["figure1", "figure2"][at])["figures"][0];
        assert_eq!(figure["chart"]["lines"].as_array().map(Vec::len), Some(12));
        assert_eq!(list(&figure["chart"]["lines"][0]["points"]).len(), 101);
    }
    // What the text says.
    let claims = &sheet("claims")["tables"][0];
    let ours = column(claims, "ours");
    // 272,355 children of 3,823 parents: the played move once more each.
    close(ours[0], &json!((272_355.0 - 3823.0) / 3823.0), 1e-9);
    close(ours[1], &json!(272_355.0 / 3823.0), 1e-9);
    // Repeated, all but times is the same; other options are refused.
    let replay = "shogi_bonanza --quick --device cpu --only progress,figure1,table7,claims";
    assert!(scratch.ok(&format!("{replay} --replay run.json")).contains("the same: "));
    assert!(scratch.ok(&format!("{replay} --replay journal")).contains("the same: "));
    let refused = scratch.run(&format!("{replay} --a 2 --replay journal"));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("option settings"), "{said}");
    // Gone on with, nothing is measured again.
    scratch.ok("shogi_bonanza --quick --device cpu --resume journal --json again.json --quiet");
    assert_eq!(scratch.json("again.json")["report"]["sheets"], run["report"]["sheets"]);
}

#[test]
fn items_and_the_single_learning_are_told_apart() {
    let scratch = new_scratch();
    let listed = scratch.ok("shogi_bonanza --list");
    assert!(listed.contains("table7") && listed.contains("Table 7, section 5"), "{listed}");
    let six = "shogi_bonanza --records six.usi --plies 40..44 --device cpu --quick --only progress,table7 --json run.json --quiet";
    scratch.ok(six);
    assert_eq!(list(&scratch.json("run.json")["report"]["sheets"]).len(), 2);
    for (wrong, said) in [
        ("--records six.usi --iterations 3 --quick", "--iterations runs the learning once"),
        ("--records six.usi --engine plain --only table2", "--engine runs the learning once"),
        ("--only table9 --quick", "table9 is not allowed (table2, memory, progress"),
        ("--device cpu", "either --records or --data is needed"),
        ("--quick --limit 5", "without --records"),
    ] {
        let stderr = scratch.fails(2, &format!("shogi_bonanza {wrong}"));
        assert!(stderr.contains(said), "{wrong}: {stderr}");
    }
}

/// How often the watcher is asked within a measurement: before every sum over all positions, of which an update has thirteen, with every update, or before every pass.
const ASKED_WITHIN: [(&str, &str, u32); 8] = [
    ("table2", "table2: 1 ranks, time 1", 4 * 13),
    ("table2", "table2: 4 ranks, time 1", 4 * (4 + 12)),
    ("table6", "table2: 1 ranks, time 1", 4 * 13),
    ("table6", "table6: plain on 1 threads, 3 updates, time 1", 4),
    ("memory", "memory: 95 bytes on one core", 6),
    ("claims", "claims: single precision", 13),
    ("claims", "claims: kpp on one core", 4),
    ("claims", "claims: kpp on all cores", 4),
];

#[test]
fn a_measurement_can_be_ended_within() {
    let set = shards_of(3, 50, 1000);
    let paper = Repetition::new(set.views(), Settings { table_iterations: 3, ..Settings::default() }, &Alone);
    let run = |name: &str, watch: &mut (dyn FnMut(&Step<'_>) -> ControlFlow<()> + Send)| {
        let items: Vec<Item> = paper.items().iter().filter(|item| item.name == name).copied().collect();
        let run = Run::new(Device::cpu(), true, Journal::in_memory(), watch);
        measure(&paper, &items, run, |_| ControlFlow::Continue(())).expect("measured, as far as it came")
    };
    for (name, key, within) in ASKED_WITHIN {
        let mut asked = 0;
        let whole = run(name, &mut |step| {
            asked += u32::from(step.key == key);
            ControlFlow::Continue(())
        });
        assert!(whole.complete && asked > within, "{key}: asked {asked} times");
        // In its middle somebody asks for an end, once.
        let mut left = asked / 2;
        let mut before = Vec::new();
        let ended = run(name, &mut |step| {
            if step.key != key && !before.contains(&step.key.to_string()) {
                before.push(step.key.to_string());
            }
            left = left.saturating_sub(u32::from(step.key == key));
            if step.key == key && left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(!ended.complete && ended.sheets.is_empty(), "{key}");
        before.sort();
        let kept: Vec<&String> = ended.measurements.keys().collect();
        assert_eq!(kept, before.iter().collect::<Vec<_>>(), "what was whole before {key} is kept");
    }
}

/// A million updates take hours.
#[cfg(unix)]
#[test]
fn ctrl_c_is_heard_within_a_measurement() {
    let scratch = new_scratch();
    for item in ["table2", "table6"] {
        let line = format!(
            "shogi_bonanza --records six.usi --plies 40..44 --device cpu --only {item} --table-iterations 1000000 --checkpoint {item} --json {item}.json"
        );
        let mut command = scratch.command(&line);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        programs::interrupt(child, &scratch.path(item));
        let report = &scratch.json(&format!("{item}.json"))["report"];
        assert_eq!((&report["complete"], &report["measurements"]), (&json!(false), &json!({})), "{item}");
    }
}

/// The first update takes thirteen sums over all positions, and nothing is there to keep before it ends.
#[cfg(unix)]
#[test]
fn ctrl_c_is_heard_within_the_first_update() {
    let scratch = new_scratch();
    let line = "shogi_bonanza --records six.usi --plies 40..44 --device cpu --engine paper --iterations 1 --repeat 2000 --json run.json";
    let mut child =
        scratch.command(line).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program starts");
    // It begins when the head of its table is there.
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.trim_start().starts_with("iter"))), "no table");
    let status = programs::ended_by(&mut child, "INT", Duration::from_secs(3));
    assert_eq!(status.code(), Some(130));
    assert!(!scratch.path("run.json").exists());
}

/// What a run of some items comes to.
fn measured(paper: &Repetition<'_>, device: &Device, quick: bool, items: &[&str]) -> Report {
    let items: Vec<Item> = paper.items().iter().filter(|item| items.contains(&item.name)).copied().collect();
    let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
    let run = Run::new(device.clone(), quick, Journal::in_memory(), &mut watch);
    measure(paper, &items, run, |_| ControlFlow::Continue(())).unwrap_or_else(|stop| panic!("on {device}: {stop}"))
}

/// A table of a report as JSON, with its heads.
fn table_of(report: &Report, sheet: usize, table: usize) -> Value {
    serde_json::to_value(&report.sheets[sheet].tables[table]).expect("JSON")
}

#[test]
fn every_item_has_a_sheet_on_every_device() {
    let set = shards_of(2, 44, 1000);
    let settings = Settings { table_iterations: 1, iterations: 12, quiescence_every: Some(5), ..Settings::default() };
    let paper = Repetition::new(set.views(), settings, &Alone);
    let names: Vec<&str> = paper.items().iter().map(|item| item.name).collect();
    let check = |device: &Device| {
        let report = measured(&paper, device, true, &names);
        assert!(report.complete);
        let items: Vec<&str> = report.sheets.iter().map(|sheet| sheet.item.as_str()).collect();
        assert_eq!(items, names, "{device}");
        columns_are_those_of_the_page("shogi_bonanza", &serde_json::to_value(&report.sheets).expect("JSON"));
        let on_gpu = device.backend() == Backend::Cuda;
        for sheet in &report.sheets {
            let item = sheet.item.as_str();
            assert!(!sheet.title.is_empty() && !sheet.location.is_empty(), "{item}");
            assert!(sheet.tables.iter().all(|table| !table.rows.is_empty()) && !sheet.tables.is_empty(), "{item}");
            let needs_gpu = ["memory", "table6", "claims"].contains(&item);
            assert_eq!(sheet.left_out.is_empty(), on_gpu || !needs_gpu, "{item} on {device}");
            let drawn = ["table2", "figure1", "figure2"].contains(&item);
            assert_eq!(sheet.figures.len(), usize::from(drawn), "{item}");
        }
    };
    check(&Device::cpu());
    for_each_device(|device| {
        check(device);
        Ok(())
    });
}

/// Without `--quick` Table 2 has five times of each number of ranks, Table 6 those of one rank and three of every other engine, on all positions.
#[test]
fn tables_2_and_6_repeat_their_measurements() {
    let set = shards_of(2, 42, 1000);
    let settings = Settings { table_iterations: 1, threads: Some(2), ..Settings::default() };
    let paper = Repetition::new(set.views(), settings, &Alone);
    let report = measured(&paper, &Device::cpu(), false, &["table2", "table6"]);
    let of = |key: &str| report.measurements.keys().filter(|name| name.starts_with(key)).count();
    for ranks in 1..=4 {
        assert_eq!(of(&format!("table2: {ranks} ranks, time ")), 5, "{ranks}");
    }
    for key in ["paper on 2 threads, 1 updates", "plain on 1 threads, 1 updates", "histogram on 1 threads, 50 updates"]
    {
        assert_eq!(of(&format!("table6: {key}, time ")), 3, "{key}");
    }
    assert_eq!(report.measurements.len(), 4 * 5 + 3 * 3);
    let (table2, table6) = (table_of(&report, 0, 0), table_of(&report, 1, 0));
    let expected = format!("1 updates and the last state (2 passes of 13 sums) of {} positions", set.n_children());
    assert!(table2["title"].as_str().is_some_and(|title| title.starts_with(&expected)), "{}", table2["title"]);
    // One quantity, one measurement.
    for (of_table2, of_table6) in [("ours, s", "ours, s"), ("least", "least"), ("most", "most")] {
        assert_eq!(column(&table2, of_table2)[0], column(&table6, of_table6)[0]);
    }
    assert_eq!(column(&table6, "where"), ["one core", "2 threads", "one core", "one core", "GeForce GTX 260"]);
    // Rank by rank the sums of its share, 13 + 4 · 3 of them where one alone has 13.
    let seconds: Vec<f64> = column(&table2, "ours, s").into_iter().filter_map(Value::as_f64).collect();
    let rate = |sums: f64, seconds: f64| set.n_children() as f64 * 2.0 * sums / seconds / 1e6;
    let note = format!(
        "Of 4 each evaluates {:.2} million positions a second, one alone {:.2} million, and so the speed-up is 3.25",
        rate(4.0, seconds[3]),
        rate(13.0, seconds[0])
    );
    assert!(
        report.sheets[0].notes.iter().any(|found| found.starts_with(&note)),
        "{note}: {:?}",
        report.sheets[0].notes
    );
}

/// What is learnt by another rule, from other half-moves, says so: the sheets told the paper's numbers whatever was run.
#[test]
fn sheets_tell_the_rule_that_was_run() {
    let set = dataset(0..3, 0..60, 1, 1000);
    let objective = Objective { a: 2.0, ..Objective::default() };
    let settings = Settings { objective, iterations: 3, ..Settings::default() };
    let paper = Repetition::new(set.views(), settings, &Alone);
    let report = measured(&paper, &Device::cpu(), true, &["progress", "table7"]);
    let notes = |sheet: usize| report.sheets[sheet].notes.join("\n");
    let ours = "Learnt with a = 2, h = 0.3 · 0.97ᵏ, Δ = 0.05, half-moves 0 to 59, \
                published a = 3, h = 0.3 · 0.97ᵏ, Δ = 0.05, half-moves 40 to 79;";
    assert!(notes(1).contains(ours), "{}", notes(1));
    // The progress lines are of the paper's half-moves alone, by the rule that was asked for.
    let part = dataset(0..3, 40..60, 1, 1000);
    let options = Options { engine: PLAIN, objective, iterations: 10, ..Options::default() };
    let expected = rows(&Device::cpu(), &part.views(), &options).unwrap();
    let found = table_of(&report, 0, 1);
    assert_eq!(column(&found, "J").len(), 11);
    for (cell, row) in column(&found, "J").into_iter().zip(&expected) {
        close(cell, &json!(row.j), 1e-12);
    }
    assert!(notes(0).contains(&format!("ours: {} positions", part.n_children())), "{}", notes(0));
    // As published, it is said once.
    let set = shards_of(3, 80, 1000);
    let settings = Settings { iterations: 3, ..Settings::default() };
    let report = measured(&Repetition::new(set.views(), settings, &Alone), &Device::cpu(), true, &["table7"]);
    let note = &report.sheets[0].notes[0];
    assert!(note.contains("half-moves 40 to 79, as published;"), "{note}");
}

#[test]
fn table_7_has_a_column_of_quiet_leaves() {
    let set = shards_of(3, 50, 1000);
    let settings = |every| Settings { iterations: 4, quiescence_every: Some(every), ..Settings::default() };
    let of = |every| {
        let paper = Repetition::new(set.views(), settings(every), &Alone);
        let report = measured(&paper, &Device::cpu(), true, &["table7"]);
        let values = column(&table_of(&report, 0, 0), "ours with quiet leaves, from 300")
            .into_iter()
            .map(|cell| cell.as_f64().expect("a number"))
            .collect::<Vec<_>>();
        let others = column(&table_of(&report, 0, 0), "ours, from 300").into_iter().filter_map(Value::as_f64).collect();
        (values, others, report.sheets[0].notes.join("\n"))
    };
    let (once, others, notes): (Vec<f64>, Vec<f64>, String) = of(4);
    assert_eq!((once.len(), once[0]), (13, 100.0));
    assert_ne!(once, others);
    let all = "every difference of material fits into a word, so no search left one out";
    let said = format!("Quiet leaves are those of {} parents; {all}.", set.n_parents());
    assert!(notes.contains(&said), "{notes}");
    // Leaves of one search are learnt from like children.
    let evaluator = Evaluator::new(FeatureSet::Material, FeatureSet::Material.weights_of(&[3.0; 12])).unwrap();
    let leaves = |shard: &&Shard| rebuild(shard, &evaluator, &quiescence::Options::default()).unwrap().shard;
    let leaves: Vec<Shard> = set.views().iter().map(leaves).collect();
    let leaves: Vec<&Shard> = leaves.iter().collect();
    let options = Options { engine: PLAIN, iterations: 4, ..Options::default() };
    let expected = rows(&Device::cpu(), &leaves, &options).unwrap();
    for (found, value) in once[1..].iter().zip(expected[4].values) {
        close(&json!(found), &json!(100.0 * value), 1e-9);
    }
    // A search that never comes anew would be waited for, for ever.
    let refused = Repetition::new(set.views(), settings(0), &Alone).options().unwrap_err().to_string();
    assert_eq!(refused, "option quiescence_every: 0 is not allowed (1 or more)");
}

/// Table 2 on a group, as under `mpirun`: rank 0 measures and the others serve it.
#[test]
fn a_group_measures_table_2_together() {
    let set = shards_of(3, 50, 1000);
    let reports = Threads::run(3, |ranks| {
        let settings = Settings { table_iterations: 1, ..Settings::default() };
        let paper = Repetition::new(set.views(), settings, ranks);
        if ranks.rank() > 0 {
            paper.serve()?;
            return Ok(None);
        }
        let items: Vec<Item> = paper.items().iter().filter(|item| item.name == "table2").copied().collect();
        let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
        let run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
        let report = measure(&paper, &items, run, |_| ControlFlow::Continue(()));
        paper.dismiss()?;
        Ok(Some(report.expect("measured")))
    });
    let reports: Vec<_> = reports.unwrap().into_iter().flatten().collect();
    assert_eq!(reports.len(), 1);
    let sheet = &reports[0].sheets[0];
    // Three processes, two times each, and all learnt the same.
    assert_eq!((sheet.tables[0].rows.len(), reports[0].measurements.len()), (3, 6));
    assert!(sheet.notes.iter().any(|note| note.contains("processes under MPI")), "{:?}", sheet.notes);
    assert!(sheet.notes.iter().any(|note| note.contains("to the bit")), "{:?}", sheet.notes);
}

/// The same by processes, as a user starts them: one prints and writes.
#[cfg(feature = "mpi")]
#[test]
fn table_2_by_mpirun() {
    let scratch = new_scratch();
    let program = scratch.command("shogi_bonanza --quick --device cpu --only table2 --json run.json");
    let mut command = std::process::Command::new("mpirun");
    command.args(["--oversubscribe", "--bind-to", "none", "--allow-run-as-root", "-np", "2"]);
    command.arg(program.get_program()).args(program.get_args()).current_dir(scratch.folder());
    let output = command.output().expect("mpirun");
    let (shown, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert_eq!(shown.matches("Table 2, section 3").count(), 1, "{shown}");
    assert!(shown.contains("processes under MPI") && shown.contains("to the bit"), "{shown}");
    let run = scratch.json("run.json");
    assert_eq!(list(&run["report"]["sheets"][0]["tables"][0]["rows"]).len(), 2);
}

/// The index table of Table 4 of the paper: every code of a piece has the right entry, and the codes that name nothing have that of a lance.
#[test]
fn the_index_table_takes_codes_of_nothing_for_lances() {
    const OF_A_SIDE: [i8; 16] = [0, -1, 0, 1, 2, 3, 4, 5, -2, 6, 7, 8, 9, -2, 10, 11];
    let mut index = [0_i8; 48];
    index[0] = -2;
    index[16..32].copy_from_slice(&OF_A_SIDE);
    index[32..].copy_from_slice(&OF_A_SIDE);
    // Pawn to rook, king, promoted ones, as the table's comment names its columns; -1 is the pawn, -2 counts nothing.
    let named = [
        (1, -1),
        (2, 0),
        (3, 1),
        (4, 2),
        (5, 3),
        (6, 4),
        (7, 5),
        (8, -2),
        (9, 6),
        (10, 7),
        (11, 8),
        (12, 9),
        (14, 10),
        (15, 11),
    ];
    for (code, entry) in named {
        assert_eq!((index[16 + code], index[32 + code]), (entry, entry));
    }
    let nothing: Vec<usize> = (1..16).chain([16, 32]).collect();
    assert!(nothing.iter().all(|&code| index[code] == 0));
}

/// The paper's reductions with what they leave out: run on the CPU, thread by thread, each is found to be wrong.
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

    /// As Table 4 has it: a barrier that only the threads of the first step reach, and none after the others.
    ///
    /// # Safety
    /// As above.
    #[kernel]
    pub unsafe fn shogi_barrier_in_a_branch(f: *mut f64) {
        let sums = shared_array![f64; 96];
        let own = thread::thread_idx_x();
        sums.set(own, own as f64);
        sync::sync_threads();
        if own < 48 {
            sums.set(own, sums.get(own) + sums.get(own + 48));
            sync::sync_threads();
        }
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

    fn kind(error: Result<(), Error>) -> FaultKind {
        match error {
            Err(Error::Simt(fault)) => fault.kind,
            other => panic!("no fault: {other:?}"),
        }
    }

    /// Our kernels run in the same mode in every other test here, and nothing is found.
    #[test]
    fn the_papers_are_found() {
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
