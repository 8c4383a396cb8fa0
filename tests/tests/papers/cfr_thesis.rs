//! The paper's programs do what the reference runs of sampled deals say, and what the batched walk does; its printed numbers are what they are said to be.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::cfr::engines::walk::{Checksums, Information, Sampler, Set};
use warpplay::cfr::{self, Counts, GameDef, Sampling, Updates};
use warpplay::{Backend, Device, Error, Precision};
use warpplay_cpu_ref::cfr::pieces::match_regrets;
use warpplay_cpu_ref::cfr::poker::Rules;
use warpplay_cpu_ref::cfr::sampled::{Dealer, Sampled as Plain, Sequences, Workspace};
use warpplay_papers::cfr_thesis::published::{CLAIMS, MEMORY, TIMES, Variant};
use warpplay_papers::cfr_thesis::statistics::{Origin, Source, Spread, is_rounded};
use warpplay_papers::cfr_thesis::sweep::{Point, bucket_game, crossover, sweep_game};
use warpplay_papers::cfr_thesis::{Lists, Options, Program, Rows, Run, Settings, Thesis, examples, items_of};
use warpplay_papers::experiment::{Cell, Header, Journal, Paper, Report, Run as Measuring, Step, Stop, measure};
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::cfr::{SAMPLED as DOUBLE, Sampled, follow_sampled, game};
use warpplay_tests::folder::Folder;
use warpplay_tests::tolerance::close;
use warpplay_tests::{Checked, golden};

use crate::slots::columns_are_those_of_the_page;

/// A program of the paper.
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
    rows: Rows::Shared,
    constant: true,
    lists: Lists::ReadOnly,
    flattened: true,
    renumbered: true,
};

/// Every form of the kernels: rows × lists × constant memory × flattening × numbers, without the lists that cannot be.
fn forms() -> Vec<Options> {
    let mut forms = Vec::new();
    for &rows in Rows::ALL {
        for &lists in Lists::ALL {
            for bits in 0..8 {
                let options = Options {
                    rows,
                    lists,
                    constant: bits & 1 == 0,
                    flattened: bits & 2 == 0,
                    renumbered: bits & 4 == 0,
                    ..PLAIN
                };
                if lists != Lists::Computed || options.renumbered {
                    forms.push(options);
                }
            }
        }
    }
    forms
}

#[test]
fn the_published_program_follows_the_reference() {
    for_each_device(|device| {
        follow(device, "variant_a", &PLAIN, 1000)?;
        follow(device, "kuhn.limit.3p", &PLAIN, 1000)
    });
}

#[test]
fn each_memory_optimisation_can_be_left_out() {
    for_each_device(|device| {
        for options in forms() {
            follow(device, "variant_a", &options, 100)?;
            follow(device, "kuhn.limit.3p", &options, 100)?;
        }
        Ok(())
    });
}

#[test]
fn every_form_of_the_kernels_has_the_bits_of_the_plain_program() {
    for_each_device(|device| {
        for game in [game("variant_a"), game("kuhn.limit.3p"), sweep_game(4, 2, 5)?] {
            let rules = Rules::from(&game);
            let mut plain = Plain::new(Arc::new(Sequences::new(&rules)));
            let mut dealer = Dealer::new(PLAIN.seed);
            (0..20).for_each(|_| plain.recursive(&dealer.deal(&rules)));
            let graph = Options { program: Program::Graph, ..PLAIN };
            for options in forms().into_iter().chain([graph]) {
                let mut run = Run::build(device, &game, &options)?;
                run.iterate(20)?;
                // In double precision with the same order of additions: no tolerance.
                assert_eq!(run.utilities()?, plain.utilities, "{options:?}");
                for sequence in 0..run.n_sequences() {
                    for bucket in 0..run.n_buckets() {
                        let (row, set) =
                            (plain.sequences().row(sequence as usize, bucket as usize), run.set(sequence, bucket)?);
                        assert_eq!(set.regrets, plain.regrets[row..row + 3], "{options:?}, set {sequence} {bucket}");
                        assert_eq!(set.averages, plain.averages[row..row + 3], "{options:?}, set {sequence} {bucket}");
                    }
                }
            }
        }
        Ok(())
    });
}

#[test]
fn lists_are_copied_whole_or_a_level_at_a_time() {
    for_each_device(|device| {
        for flattened in [true, false] {
            let options = Options { flattened, renumbered: false, ..PLAIN };
            let mut run = Run::build(device, &game("kuhn.limit.3p"), &options)?;
            run.iterate(3)?;
            // One array of all levels, or one a level: from the root five may act after each other.
            let (n_arrays, seconds) = run.copy_lists(2)?;
            assert_eq!(n_arrays, if flattened { 1 } else { 5 });
            assert!(seconds > 0.0);
            // What is copied again is what was there: the solve goes on as one that was left alone.
            run.iterate(3)?;
            let mut alone = Run::build(device, &game("kuhn.limit.3p"), &options)?;
            alone.iterate(6)?;
            assert_eq!(run.checksums()?, alone.checksums()?);
        }
        let plain = Options { program: Program::Recursive, ..PLAIN };
        let refused = Run::build(device, &game("variant_a"), &plain)?.copy_lists(1);
        assert!(refused.expect_err("no device").to_string().contains("copies to a device"));
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
            let game = sweep_game(players, raises, cards)?;
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
    let [kuhn, leduc] = ["kuhn.limit.2p", "leduc.limit.2p"].map(game);
    // Without a limit, and with one round as the paper's.
    let any = GameDef {
        no_limit: true,
        raise_sizes: Vec::new(),
        stacks: Some(vec![9; 2]),
        ..Variant::A.game().expect("a game")
    };
    let run =
        |device: &Device, game, options: Options| Run::build(device, game, &options).expect_err("refused").to_string();
    let cases = [
        (run(&device, &leduc, PLAIN), "numRounds"),
        (run(&device, &any, PLAIN), "one size of raise"),
        (run(&device, &kuhn, Options { block: 48, ..PLAIN }), "32, 64, 128 or 256"),
        (run(&device, &kuhn, Options { threads: 0, ..PLAIN }), "1 to 1024"),
        (run(&device, &kuhn, Options { precision: Precision::I16, ..PLAIN }), "f32 or f64"),
        (run(&device, &kuhn, Options { lists: Lists::Computed, renumbered: false, ..PLAIN }), "level by level"),
        (run(&Device::cpu(), &kuhn, PLAIN), "recursive or iterative"),
        (bucket_game(6).expect_err("six cards").to_string(), "0 to 5 cards"),
        (sweep_game(2, 1, 53).expect_err("no deck").to_string(), "53"),
        (sweep_game(usize::MAX, 1, 13).expect_err("no table").to_string(), "option players: 18446744073709551615"),
        (sweep_game(1, 1, 13).expect_err("alone").to_string(), "2 to 10"),
        (Variant::parse("e").expect_err("no game").to_string(), "option game: e is not allowed (a, b, c or d)"),
    ];
    for (error, part) in cases {
        assert!(error.contains(part), "{error} does not say {part}");
    }
    let refused = Thesis::new(Settings { options: Options { block: 1, ..PLAIN }, ..Settings::default() });
    assert!(refused.err().expect("refused").to_string().contains("block"));
    let sizes = |iterations: &[u32], repeats, most_seconds| {
        let settings = Settings { iterations: iterations.to_vec(), repeats, most_seconds, ..Settings::default() };
        Thesis::new(settings).err().map(|error| error.to_string())
    };
    let ascending = |given: &str| {
        Some(format!("option iterations: {given} is not allowed (numbers of 1 or more, ascending, each once)"))
    };
    assert_eq!(sizes(&[1, 3], 1, 1.0), None);
    assert_eq!(sizes(&[0], 1, 1.0), ascending("[0]"));
    assert_eq!(sizes(&[3, 1], 1, 1.0), ascending("[3, 1]"));
    assert_eq!(sizes(&[2, 2], 1, 1.0), ascending("[2, 2]"));
    assert_eq!(sizes(&[], 0, 1.0), Some("option repeats: 0 is not allowed (1 or more)".into()));
    for (limit, shown) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (0.0, "0")] {
        let expected = format!("option limit: {shown} is not allowed (a finite number above 0)");
        assert_eq!(sizes(&[], 1, limit), Some(expected));
    }
}

/// Runs of other forms of the programs do not go on with each other's journals.
#[test]
fn the_forms_of_the_programs_are_options_of_a_journal() {
    let of = |options| {
        let thesis = Thesis::new(Settings { options, ..Settings::default() }).expect("allowed");
        thesis.options().expect("allowed")
    };
    let plain = of(PLAIN);
    for other in [
        Options { rows: Rows::Global, ..PLAIN },
        Options { constant: false, ..PLAIN },
        Options { lists: Lists::Global, ..PLAIN },
        Options { flattened: false, ..PLAIN },
        Options { renumbered: false, ..PLAIN },
    ] {
        assert_ne!(of(other), plain, "{other:?}");
    }
    assert_eq!(of(PLAIN), plain);
}

#[test]
fn a_point_beyond_the_limit_is_left_out() {
    // Every point takes longer than this; the first is run all the same, since no time is known before it.
    let settings = Settings { most_seconds: f64::MIN_POSITIVE, ..small(&[Variant::A]) };
    let report = measured(&Device::cpu(), settings, &["table7"]).unwrap_or_else(|stop| panic!("{stop}"));
    let sheet = &report.sheets[0];
    let expected =
        ["program recursive, 3 iterations: longer", "program recursive, used tables: longer than four times the limit"];
    assert_eq!(sheet.left_out.len(), 2, "{sheet}");
    assert!(sheet.left_out.iter().zip(expected).all(|(found, start)| found.starts_with(start)), "{sheet}");
    // Every decision is kept: a replay, whose times are others, takes them from the file.
    let kept = |key: &str| report.measurements[key].exact.as_bool();
    let keys = ["a recursive 1 too long", "a recursive 3 too long", "a recursive warm too long"];
    assert_eq!(keys.map(kept), [Some(false), Some(true), Some(true)]);
    assert!(report.measurements["a recursive obstacle"].exact.is_null());
}

/// All items of the paper with small sizes.
fn measured(device: &Device, settings: Settings, only: &[&str]) -> Result<Report, Stop> {
    kept(device, settings, only, Journal::in_memory(), None)
}

/// The same, kept in a journal, and held to another where there is one.
fn kept(
    device: &Device,
    settings: Settings,
    only: &[&str],
    journal: Journal,
    replay: Option<(Journal, &Header)>,
) -> Result<Report, Stop> {
    let thesis = Thesis::new(settings)?;
    let items: Vec<_> =
        thesis.items().iter().copied().filter(|item| only.is_empty() || only.contains(&item.name)).collect();
    assert!(only.is_empty() || items.len() == only.len(), "{only:?}");
    let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
    let mut run = Measuring::new(device.clone(), true, journal, &mut watch);
    if let Some((recorded, header)) = replay {
        run = run.replay(recorded, header)?;
    }
    measure(&thesis, &items, run, |_| ControlFlow::Continue(()))
}

fn small(variants: &[Variant]) -> Settings {
    Settings {
        variants: variants.to_vec(),
        iterations: vec![1, 3],
        repeats: 2,
        options: Options { precision: Precision::F32, ..PLAIN },
        ..Settings::default()
    }
}

#[test]
fn every_item_has_a_sheet_on_every_device() {
    let mut devices = vec![Device::cpu(), Device::simt()];
    devices.extend(gpu());
    for device in devices {
        let report = measured(&device, small(&[Variant::A]), &[]).unwrap_or_else(|stop| panic!("{stop}"));
        assert!(report.complete);
        // The columns of Table 2 are the games, of which there is one here.
        let sheets: Vec<_> = report.sheets.iter().filter(|sheet| sheet.item != "table2").collect();
        columns_are_those_of_the_page("cfr_thesis", &serde_json::to_value(sheets).expect("JSON"));
        for sheet in &report.sheets {
            let has = !sheet.tables.is_empty() || !sheet.left_out.is_empty();
            assert!(has && !sheet.title.is_empty() && !sheet.location.is_empty(), "{sheet}");
        }
        // What is compared on new tables is compared on used ones too.
        for table in report.sheets.iter().flat_map(|sheet| &sheet.tables) {
            let of = |tables: &str| table.columns.iter().filter(|column| column.name.contains(tables)).count();
            assert!(of("used tables") >= 1 || of("new tables") == 0, "{table}");
        }
        let sheet = |name: &str| report.sheets.iter().find(|sheet| sheet.item == name).expect("an item");
        // What needs kernels says so on the CPU, and its printed columns stand.
        let levels = sheet("table9");
        let heads: Vec<&str> = levels.tables[0].columns.iter().map(|column| column.name.as_str()).collect();
        let ratios = ["printed average / our median, new tables", "printed average / our median, used tables"];
        assert!(heads.ends_with(&ratios), "{levels}");
        assert_eq!(levels.left_out.is_empty(), device.backend() != Backend::Cpu, "{levels}");
        assert_eq!(levels.tables[0].rows.len(), 12 - 2 * usize::from(device.backend() == Backend::Cpu), "{levels}");
        assert_eq!(sheet("figure23").figures.len(), 1);
        for item in ["table4", "table10", "figure25"] {
            assert_eq!(sheet(item).left_out, ["variant b: not among the games asked for"], "{}", sheet(item));
        }
        // Others' times stand beside those of C and D, whether ours are measured here or not.
        let peers = &sheet("ratios").tables[1];
        let elsewhere: Vec<&Cell> = peers.rows.iter().map(|row| &row[5]).filter(|cell| **cell != Cell::Empty).collect();
        assert_eq!(elsewhere, [&Cell::from("3.9 to 5.8 ms"), &Cell::from("57 to 91 ms")], "{peers}");
        let printed = |row: usize| peers.rows[row][2].clone();
        let of = |variant: Variant, program| Cell::from(variant.times(program).expect("a table").last().milliseconds());
        assert_eq!([printed(0), printed(6)], [of(Variant::C, Program::Recursive), of(Variant::D, Program::Levels)]);
        let ablations = sheet("ablations");
        if device.backend() == Backend::Cpu {
            assert!(ablations.left_out.iter().all(|what| what.contains("kernels")), "{ablations}");
        } else {
            assert_eq!(ablations.tables[0].rows.len(), 8, "{ablations}");
            assert!(ablations.notes[0].contains("the same to the bit"), "{ablations}");
        }
    }
}

#[test]
fn a_run_is_gone_on_with_and_repeated() {
    let (device, folder) = (Device::cpu(), Folder::new());
    let path = folder.path("thesis.journal");
    let header = |settings: Settings| {
        let thesis = Thesis::new(settings).expect("allowed");
        Header::new(thesis.name(), thesis.options().expect("options"), &device, true)
    };
    let (settings, all) = (|| small(&[Variant::A]), ["figure8", "table3", "table7"]);
    let begun = kept(&device, settings(), &all[..2], Journal::create(&path, header(settings())).expect("new"), None);
    assert_eq!(begun.unwrap_or_else(|stop| panic!("{stop}")).sheets.len(), 2);
    // Gone on with, it has what was left; once more, and nothing is measured again, which the times show.
    let resumed = || {
        let journal = Journal::resume(&path, &header(settings())).expect("of this run");
        kept(&device, settings(), &all, journal, None).unwrap_or_else(|stop| panic!("{stop}"))
    };
    let (whole, again) = (resumed(), resumed());
    assert_eq!((whole.sheets.len(), &whole.measurements), (3, &again.measurements));
    // Repeated, everything but times is measured again.
    let replayed = |recorded: Journal, settings: Settings| {
        let header = header(settings.clone());
        kept(&device, settings, &all, Journal::in_memory(), Some((recorded, &header)))
    };
    let recorded = || Journal::read(&path).expect("a journal");
    let repeated = replayed(recorded(), settings()).unwrap_or_else(|stop| panic!("{stop}"));
    assert_eq!(repeated.measurements, whole.measurements);
    // The example, the memory, both points, and what was left out or not of one program: times on used tables are the file's.
    let found = repeated.replayed.expect("a replay");
    assert_eq!((found.repeated, found.taken), (whole.measurements.len() as u64 - 1, 1));
    // Another seed deals other cards.
    let other = Settings { options: Options { seed: 2, ..settings().options }, ..settings() };
    assert!(matches!(replayed(recorded(), other), Err(Stop::OtherRun { .. })));
    let mut changed = Journal::in_memory();
    for (key, record) in &whole.measurements {
        let mut record = record.clone();
        if key == "a recursive 3" {
            record.exact = serde_json::json!([0.5, -0.5]);
        }
        changed.insert(key, record).expect("in memory");
    }
    let differs = replayed(changed, settings());
    assert!(matches!(&differs, Err(Stop::Differs { key, .. }) if key == "a recursive 3"), "{differs:?}");
}

#[test]
fn items_of_a_game_are_its_tables_and_figures() {
    let of_c = items_of(&[Variant::C]);
    let expected = "table2 table5 table13 table14 table15 figure27 figure30 figure31 ablations blocks";
    assert_eq!(of_c.join(" "), expected);
    assert_eq!(items_of(&[]).join(" "), "table2 ablations blocks");
    let named: Vec<&str> = items_of(&Variant::ALL);
    assert_eq!(named.iter().filter(|name| name.starts_with("table")).count(), 17);
}

#[test]
fn programs_of_one_game_play_the_same_deals() {
    for_each_device(|device| {
        let settings = Settings { options: PLAIN, ..small(&[Variant::A]) };
        let report = measured(device, settings, &["figure23"]).unwrap_or_else(|stop| panic!("{stop}"));
        let utilities = |program: &str| report.measurements[&format!("a {program} 3")].exact.clone();
        for program in ["iterative", "levels", "graph"] {
            assert_eq!(utilities(program), utilities("recursive"), "{program}");
        }
        Ok(())
    });
}

#[test]
fn the_worked_examples_come_out_as_printed() {
    // Section 3.1.3 and figure 8.
    let found = examples::figure8([4.0, 2.0, -3.0], [0.25, 0.5, 0.25], 0.5);
    assert_eq!(found.value, 1.25);
    assert_eq!(found.regrets, [2.75, 0.75, -4.25]);
    assert_eq!(found.counterfactual, [1.375, 0.375, -2.125]);
    let printed = [0.786, 0.214, 0.0];
    assert!(found.strategy.iter().zip(printed).all(|(ours, printed)| is_rounded(printed, *ours, 3)), "{found:?}");
    let mut reference = [0.0; 3];
    match_regrets(&found.counterfactual, &mut reference);
    assert_eq!(found.strategy, reference);
    // Section 3.1.1: rock against paper.
    let (regrets, strategy) = examples::rock_against_paper();
    assert_eq!((regrets, strategy), ([0.0, 1.0, 2.0], [0.0, 1.0 / 3.0, 2.0 / 3.0]));
    // Section 2.1.7: 4 less the years; both confess.
    let years = [[[1.0, 1.0], [4.0, 0.0]], [[0.0, 4.0], [3.0, 3.0]]];
    assert_eq!(examples::prisoners_dilemma(), years.map(|row| row.map(|both| both.map(|years: f64| 4.0 - years))));
    assert_eq!(examples::dilemma_equilibria(), [(1, 1)]);
    // Figures 14 and 15.
    let reaches = examples::reaches(0.25);
    assert_eq!(examples::reaches_in_one_array(&reaches), [1.0, 1.0, 0.25, 1.0]);
    // Figures 10, 16 and 19: a root with three sequences behind it; depth first their numbers are not in a row.
    let game = examples::small_tree().expect("a game");
    let levels = examples::sequences_per_level(&game);
    assert_eq!(levels[..2], [vec![0], vec![1, 2, 3]]);
    let (flat, sizes) = examples::flattened(&levels);
    assert_eq!((flat.len(), &sizes[..2]), (game.sequences.len(), &[1, 3][..]));
    assert!(flat.into_iter().eq(0..game.sequences.len() as u32));
    let depth_first = game.depth_first();
    assert_eq!(depth_first[..2], [0, 1]);
    // The second child comes behind all that follows the first.
    let behind_first = |at: u32| {
        let mut open = vec![at];
        let mut n = 0;
        while let Some(at) = open.pop() {
            n += 1;
            open.extend(game.sequences[at as usize].children.iter().flatten().filter_map(|child| match child {
                warpplay::cfr::game::Child::Sequence(next) => Some(*next),
                warpplay::cfr::game::Child::End(_) => None,
            }));
        }
        n
    };
    assert_eq!(depth_first[2], 1 + behind_first(1));
    assert!(depth_first[2] > 2);
}

/// Figures 14 and 15: player 0 calls with probability 1/4, which leads to sequence 1. The iterative program keeps its array of reaches to itself, but adds own reach × strategy to the
/// averages and the others' reach × gain to the regrets, so the reaches show there.
#[test]
fn the_program_by_levels_has_the_reaches_of_figure_15() {
    let rules = Rules::from(&game("variant_a"));
    let sequences = Arc::new(Sequences::new(&rules));
    let acts = [0, 1, 3].map(|at| (sequences.history(at), sequences.all[at].seat));
    assert_eq!(acts, [("", 0), ("c", 1), ("cr", 0)].map(|(history, seat)| (history.to_string(), seat)));
    let dealt = Dealer::new(PLAIN.seed).deal(&rules);
    let [root, after_call, later] = [0, 1, 3].map(|at| sequences.row(at, dealt.buckets[0][sequences.all[at].seat]));
    // An iteration from these regrets of call and raise at the root, where nobody can fold.
    let iterated = |call: f64, raise: f64| {
        let mut plain = Plain::new(Arc::clone(&sequences));
        plain.regrets[root..root + 3].copy_from_slice(&[0.0, call, raise]);
        plain.by_levels(&dealt, &mut Workspace::new(&sequences));
        plain
    };
    let (quarter, always) = (iterated(1.0, 3.0), iterated(1.0, 0.0));
    let own = |row: usize| quarter.averages[row..row + 3].iter().sum::<f64>();
    // What a call wins more than the strategy: where player 0 always calls, the root's utility is the call's.
    let gain = always.utilities[0] - quarter.utilities[0];
    let others_at_root = (quarter.regrets[root + 1] - 1.0) / gain;
    // From sequence 1 on both have the same strategies, so its regrets differ by player 0's reach alone, which is 1 where it always calls.
    let others_after_call = quarter.regrets[after_call + 1] / always.regrets[after_call + 1];
    // Of sequence 0 and then of sequence 1, player 0 and player 1: who acts has its own reach, the other is all the others. Every value is a binary fraction: no tolerance.
    let found = [own(root), others_at_root, others_after_call, own(after_call)];
    assert_eq!(found, [1.0, 1.0, 0.25, 1.0]);
    assert_eq!(examples::reaches_in_one_array(&examples::reaches(0.25)), found);
    // Where player 0 acts again it still has this reach, for only player 1 has acted since.
    assert_eq!(own(later), 0.25);
}

#[test]
fn the_games_are_those_of_the_repository_and_have_the_printed_counts() {
    for variant in Variant::ALL {
        let name = format!("cfr/games/variant_{}.game", variant.letter());
        assert_eq!(variant.definition(), golden::text(&name), "{name}");
        let counts = Counts::of(&variant.game().expect("a game")).expect("counts");
        let printed = variant.counts();
        assert_eq!(counts.sequences, printed.sequences);
        assert_eq!(counts.buckets, printed.buckets);
        assert_eq!(counts.thesis_information_sets, printed.information_sets);
        assert_eq!(printed.sequences * printed.buckets, printed.information_sets);
        // Levels of A to C are those where somebody acts, those of D are with the last; the average goes with them.
        let (levels, average) = match variant {
            Variant::D => (counts.levels_with_last, counts.average_sequences_with_last),
            _ => (counts.levels, counts.average_sequences_per_level),
        };
        assert_eq!(printed.levels, levels, "{variant:?}");
        assert!((printed.per_level - average).abs() < 1e-6 * average, "{variant:?}");
        // The longest line: everybody but the last checks, and after each raise of all players together all others call.
        let game = variant.game().expect("a game");
        let (players, raises) = (game.n_players as u64, u64::from(game.max_raises[0]));
        assert_eq!(counts.levels, players + raises * (players - 1), "{variant:?}");
        // The parameters of the text; the raises are compared above and below.
        let said = variant.parameters();
        let n_board_cards = game.n_board_cards.iter().sum::<usize>();
        let ours = [game.n_players, game.n_rounds, game.n_hole_cards, n_board_cards].map(|n| n as u32);
        assert_eq!(ours, [said.players, said.rounds, said.hole_cards, said.board_cards], "{variant:?}");
        assert_eq!(game.deck.n_cards(), said.cards, "{variant:?}");
        if let Some(suits_and_ranks) = said.suits_and_ranks {
            assert_eq!([game.deck.n_suits, game.deck.n_ranks].map(u32::from), suits_and_ranks, "{variant:?}");
        }
        // Buckets that forget which card is whose: as many sets only where there is no board and one card.
        let forgets = variant == Variant::B || variant == Variant::C;
        assert_eq!(counts.information_sets > counts.thesis_information_sets, forgets, "{variant:?}");
    }
    // The prose gives variant C five raises; four give its counts.
    let five = Counts::of(&game("variant_c_text")).expect("counts");
    assert_eq!((five.sequences, five.levels), (102_660, 25));
    // Two players who may raise once each raise twice in turn.
    let each = GameDef { max_raises: vec![2], ..Variant::A.game().expect("a game") };
    assert_eq!(Counts::of(&each).expect("counts").sequences, 6);
    // Sequences are where somebody acts: the ends of A stand beside them.
    let tree = cfr::BettingTree::new(&game("variant_a")).expect("a tree");
    let tree = cfr::game::Sequences::of(&tree).expect("sequences");
    assert_eq!((tree.sequences.len(), tree.ends.len()), (4, 5));
}

#[test]
fn printed_averages_are_of_all_five_measurements_or_of_the_last_four() {
    for times in &TIMES {
        for row in &times.rows {
            let origin = Origin::of(&row.seconds, row.average, row.deviation);
            let what = format!("Table {}, {} iterations: {origin:?}", times.table, row.iterations);
            // A's are of all five; of the others one line is.
            let five = times.variant == Variant::A || (times.table, row.iterations) == (13, 70);
            let expected = if five { Source::AllFive } else { Source::LastFour };
            // Two lines are rounded to four digits.
            let is_short = times.table == 16 && [80, 90].contains(&row.iterations);
            let average = if is_short { origin.average_to_four_digits } else { origin.average };
            assert!([expected, Source::Either].contains(&average), "{what}");
            assert_eq!(origin.average == Source::Neither, is_short, "{what}");
            // Deviations are of a sample of the same measurements.
            assert!([expected, Source::Either].contains(&origin.sample), "{what}");
            let both = |source: Source| source != Source::Neither;
            assert!(!both(origin.population) || row.deviation == 0.0, "{what}");
        }
        // Grids: 1000 to 10,000 or 10 to 100.
        let step = if [Variant::A, Variant::B].contains(&times.variant) { 1000 } else { 10 };
        assert!(times.rows.iter().map(|row| row.iterations).eq((1..=10).map(|n| n * step)), "Table {}", times.table);
    }
    // The example that shows it: Table 13, 10 iterations.
    let row = TIMES[6].rows[0];
    assert_eq!((row.average, row.seconds[0]), (0.36375, 0.354));
    assert!(is_rounded(row.average, Spread::of(&row.seconds[1..]).mean, 6));
    // What GPUs take an iteration.
    let gpu = |variant: Variant| variant.times(Program::Levels).expect("a table").last().milliseconds();
    for (variant, ms) in [(Variant::A, 1.506), (Variant::B, 1.506), (Variant::C, 34.2), (Variant::D, 223.4)] {
        assert!((gpu(variant) - ms).abs() < 0.05 * ms.min(1.0), "{variant:?}: {}", gpu(variant));
    }
}

#[test]
fn printed_percentages_and_ratios_are_computed_again() {
    for memory in &MEMORY {
        for (kb, percent) in memory.kb.iter().zip(memory.percent) {
            assert!(is_rounded(percent, 100.0 * (kb / memory.kb[0] - 1.0), 2), "Table {}", memory.table);
        }
    }
    // Section 6.1: "always less" does not hold for B's GPU.
    assert!(MEMORY[1].kb[2] < MEMORY[1].kb[0]);
    // Tables of B in single precision are 782,595 KB, of C 1,009,707: the CPU's program of B has 2.4 times as much, that of C no more than 1 % beside them.
    let single = |variant: Variant| (variant.counts().information_sets * 24) as f64 / 1024.0;
    assert!(MEMORY[1].kb[0] > 2.4 * single(Variant::B) && MEMORY[2].kb[0] < 1.01 * single(Variant::C));
    let wrong: Vec<(&str, f64)> = CLAIMS
        .iter()
        .filter(|claim| !is_rounded(claim.ratio, claim.printed().expect("tables"), claim.digits))
        .map(|claim| (claim.location, claim.ratio))
        .collect();
    // 239.09 by Tables 7 and 9; 2.99 and 1.70 are the CPU's; 3.6 is recursive against iterative.
    assert_eq!(wrong, [("5.1.2, p. 36", 239.06), ("5.5, p. 42", 2.99), ("5.5, p. 42", 1.70), ("6.1, p. 46", 3.6)]);
    let ratio = |variant: Variant, slow, fast| {
        let of = |program| variant.times(program).expect("a table").last().average;
        of(slow) / of(fast)
    };
    assert!(is_rounded(239.09, ratio(Variant::A, Program::Levels, Program::Recursive), 2));
    assert!(is_rounded(2.99, ratio(Variant::A, Program::Iterative, Program::Recursive), 2));
    assert!(is_rounded(1.70, ratio(Variant::B, Program::Iterative, Program::Recursive), 2));
    assert!(is_rounded(1.70, ratio(Variant::D, Program::Iterative, Program::Levels), 2));
    // Buckets, A to B: no difference to the GPU, three times as long for the recursive program.
    let change = |program| {
        let of = |variant: Variant| variant.times(program).expect("a table").last().average;
        of(Variant::B) / of(Variant::A)
    };
    assert!((change(Program::Levels) - 1.0).abs() < 1e-3 && change(Program::Recursive) > 3.0);
}

/// First touches of pages would be in the first iterations alone, and the time of an iteration would fall.
#[test]
fn printed_times_of_the_recursive_program_on_c_have_no_first_touches_to_be_seen() {
    let times = Variant::C.times(Program::Recursive).expect("a table");
    let rates: Vec<f64> = times.rows.iter().map(|row| row.milliseconds()).collect();
    let (least, most) = (rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max));
    assert!(times.table == 13 && most < 1.02 * least, "{rates:?}");
}

/// Section 6.1 expects a GPU to win with two players if the maximum of raises is large. In one round somebody acts after nothing but raises, or after a check and
/// raises: on each level one sequence of either kind at most.
#[test]
fn with_two_players_no_level_has_more_than_two_sequences() -> Checked {
    for raises in [1, 2, 3, 4, 16, 64, 255] {
        let tree = cfr::BettingTree::new(&sweep_game(2, raises, 13)?)?;
        let levels = examples::sequences_per_level(&cfr::game::Sequences::of(&tree)?);
        let n_sequences: usize = levels.iter().map(Vec::len).sum();
        let raises = raises as usize;
        assert_eq!((n_sequences, levels.len()), (2 * raises + 2, raises + 2), "{raises} raises");
        assert_eq!(levels.iter().map(Vec::len).max(), Some(2), "{raises} raises");
    }
    // With a second round levels are wider.
    let tree = cfr::BettingTree::new(&game("leduc.limit.2p"))?;
    let levels = examples::sequences_per_level(&cfr::game::Sequences::of(&tree)?);
    assert!(levels.iter().any(|level| level.len() > 2), "{levels:?}");
    Ok(())
}

#[test]
fn the_programs_agree_where_raises_are_many() {
    for_each_device(|device| {
        let game = sweep_game(2, 64, 13)?;
        let utilities = |program| {
            let mut run = Run::build(device, &game, &Options { program, ..PLAIN })?;
            run.iterate(3)?;
            run.utilities()
        };
        let expected = utilities(Program::Recursive)?;
        for program in [Program::Iterative, Program::Levels] {
            assert_eq!(utilities(program)?, expected, "{program}");
        }
        Ok(())
    });
}

/// Section 6.1: the results prove that players and raises decide. The four games change both at once; one at a time, players make
/// the levels wider, and raises too, but with two players never to two sequences.
#[test]
fn the_four_games_change_players_and_raises_together() -> Checked {
    let mut found = Vec::new();
    for variant in Variant::ALL {
        let game = variant.game()?;
        found.push((game.n_players, game.max_raises, game.n_rounds));
    }
    assert_eq!(found, [(2, vec![1], 1), (2, vec![1], 1), (5, vec![4], 1), (8, vec![3], 1)]);
    let mut wide = [[0.0; 4]; 5];
    for (players, wide) in (2..).zip(&mut wide) {
        for (raises, wide) in (1..).zip(wide) {
            *wide = Counts::of(&sweep_game(players, raises, 13)?)?.average_sequences_per_level;
        }
    }
    for raises in 0..4 {
        assert!(wide.windows(2).all(|pair| pair[1][raises] > pair[0][raises]), "{wide:?}");
    }
    assert!(wide[0].iter().all(|&per_level| per_level < 2.0), "{wide:?}");
    assert!(wide[1..].iter().all(|of| of.windows(2).all(|pair| pair[1] > pair[0])), "{wide:?}");
    Ok(())
}

#[test]
fn spreads_and_crossovers_add_up() {
    let spread = Spread::of(&[1.0, 2.0, 3.0]);
    assert_eq!((spread.mean, spread.sd), (2.0, 1.0));
    assert_eq!(Spread::of(&[4.0]).sd, 0.0);
    assert!((spread.population(3) - (2.0f64 / 3.0).sqrt()).abs() < 1e-15);
    let point = |per_level, cpu_ms, gpu_ms| Point { per_level, cpu_ms, gpu_ms };
    let points = [
        point(4.0, 0.1, 1.0),
        point(100.0, 1.0, 0.9),
        point(200.0, 1.0, 1.1),
        point(300.0, 3.0, 1.0),
        point(900.0, 9.0, 1.0),
    ];
    assert_eq!(crossover(&points), [Some(200.0), Some(300.0)]);
    assert_eq!(crossover(&points[..1]), [Some(4.0), None]);
    assert_eq!(crossover(&points[3..]), [None, Some(300.0)]);
}

#[test]
fn memory_is_that_of_each_program() {
    let report = measured(&Device::cpu(), small(&Variant::ALL), &["table3", "table4", "table5", "table6"]);
    let report = report.unwrap_or_else(|stop| panic!("{stop}"));
    for (sheet, variant) in report.sheets.iter().zip(Variant::ALL) {
        let ours = |row: usize| match sheet.tables[0].rows[row][4] {
            Cell::Number(kb) => kb,
            _ => panic!("{sheet}"),
        };
        // Double precision on the CPU: two tables of three actions.
        let tables = (variant.counts().information_sets * 48) as f64 / 1024.0;
        assert_eq!(ours(0), tables, "{sheet}");
        assert!(ours(1) > ours(0) && ours(2) > tables / 2.0, "{sheet}");
    }
}

#[test]
fn a_profile_has_every_level() {
    for_each_device(|device| {
        let mut run = Run::build(device, &game("variant_a"), &PLAIN)?;
        let profile = run.profile(2)?;
        assert_eq!((profile.sequences.as_slice(), run.iterations()), (&[1, 2, 1][..], 2));
        assert!(profile.down_ms.len() == 3 && profile.up_ms.iter().all(|&ms| ms >= 0.0));
        Ok(())
    });
}
