//! Reports: their formulas, how they are stored and repeated; what ends a search; memory that is used again.

use std::ops::ControlFlow;

use warpplay::mcts::{
    ActionReport, BlockSizes, Connect4, Engine, Options, RawPlayouts, RawShape, Report, Search, StoppedBy, Variant,
    position_after,
};
use warpplay::{Device, Error, Progress};
use warpplay_cpu_ref::mcts::{Game as _, GameResult, Streams, games};
use warpplay_example_lights_out::LightsOut;
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_device, kernel_devices};
use warpplay_tests::invariants::{Found, check_report};
use warpplay_tests::strategies::random_position;

/// Every back end, the plain one too.
fn for_each_back_end(property: impl Fn(&Device) -> Checked) {
    property(&Device::cpu()).unwrap_or_else(|error| panic!("on cpu: {error}"));
    for_each_device(property);
}

fn options(steps: u64) -> Options {
    Options {
        n_trees: 2,
        n_playouts: 4,
        steps: Some(steps),
        seconds: None,
        device_memory_gb: 0.01,
        seed: 5,
        ..Options::default()
    }
}

fn connect4(moves: &str) -> Connect4 {
    position_after(moves).unwrap_or_else(|error| panic!("{moves}: {error}"))
}

fn builder(options: &Options) -> warpplay::mcts::SearchBuilder<Connect4> {
    Search::builder().options(options.clone()).profile_steps(0)
}

// ---- What is found ---------------------------------------------------------------------------------------------------------------------

#[test]
fn a_printed_report_is_a_table_of_the_actions() {
    let mut search = builder(&options(3)).build(&Device::cpu()).expect("a search");
    let report = search.run(&connect4("414243"), Progress::go_on).expect("a report");
    let text = report.to_string();
    let lines: Vec<&str> = text.lines().collect();
    let head = lines
        .iter()
        .position(|line| line.split_whitespace().eq(["action", "name", "playouts", "wins", "draws", "q", "ucb"]));
    let table = &lines[head.expect("a head")..][..=report.actions.len()];
    let width = table[0].chars().count();
    for (line, action) in table[1..].iter().zip(&report.actions) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[..3], [&action.index.to_string(), &action.name, &action.n.to_string()], "{text}");
        assert_eq!(line.strip_suffix("  wins at once").is_some(), action.win_flag, "{text}");
        assert_eq!(line.trim_end_matches("  wins at once").chars().count(), width, "{text}");
    }
}

#[test]
fn an_action_that_wins_at_once_is_flagged_and_best() {
    // Three of X in column 4: it wins there, and nowhere else.
    let position = connect4("414243");
    for_each_back_end(|device| {
        for &variant in Variant::ALL {
            for steps in [1, 30] {
                let report =
                    builder(&Options { variant, ..options(steps) }).build(device)?.run(&position, Progress::go_on)?;
                check_report(&report);
                let flagged: Vec<u32> =
                    report.actions.iter().filter(|action| action.win_flag).map(|action| action.index).collect();
                assert_eq!(flagged, [3], "{variant} on {device}");
                assert_eq!(report.best.index, 3);
                let win = &report.actions[3];
                assert_eq!((win.wins, win.draws), (win.n, 0), "copies of its outcome");
            }
        }
        Ok(())
    });
}

#[test]
fn a_move_that_loses_for_the_mover_is_not_flagged() {
    // Lights Out: the last press that leaves a lamp lit is a win of the other side.
    let puzzle = LightsOut::new(0b11, 1).expect("a pattern");
    for_each_back_end(|device| {
        let mut search = Search::<LightsOut>::builder().options(options(5)).profile_steps(0).build(device)?;
        let report = search.run(&puzzle, Progress::go_on)?;
        check_report(&report);
        assert!(report.actions.iter().all(|action| !action.win_flag && action.wins == 0), "two lamps need two presses");
        assert_eq!(report.best.index, 0, "all equal: the lowest");
        Ok(())
    });
}

#[test]
fn a_full_column_is_not_among_the_actions_and_draws_are_counted_apart() {
    // One or two cells are left, and nobody has a line yet.
    let position = (0..).map(|seed| random_position(Connect4::new(), seed, 41)).find(|position| {
        let [first, second] = position.stones();
        (first | second).count_ones() >= 40
    });
    let position = position.expect("some seed fills the board");
    for_each_back_end(|device| {
        let mut values = Vec::new();
        for draw_value in [0.0, 0.5, 1.0] {
            let report =
                builder(&Options { draw_value, ..options(3) }).build(device)?.run(&position, Progress::go_on)?;
            check_report(&report);
            assert!(report.actions.len() <= 2, "{:?}", report.actions);
            values.push(report.actions.iter().map(|a| (a.draws, a.q)).collect::<Vec<_>>());
        }
        assert!(values.iter().all(|row| row.len() == values[0].len()));
        Ok(())
    });
}

#[test]
fn ties_go_to_the_lowest_action() {
    // One playout of each of seven actions: most of them tie.
    let report = |device: &Device| {
        let options = Options { n_trees: 1, n_playouts: 1, ..options(1) };
        builder(&options).build(device)?.run(&Connect4::new(), Progress::go_on)
    };
    for_each_back_end(|device| {
        let found = report(device)?;
        let most = found.actions.iter().map(|action| action.wins).max();
        let first = found.actions.iter().find(|action| Some(action.wins) == most).map(|action| action.index);
        assert_eq!(Some(found.best.index), first, "one playout each: most wins, then the lowest");
        Ok(())
    });
}

#[test]
fn q_and_ucb_of_a_known_node() {
    // 60 wins and 20 draws in 100 of 1000 playouts.
    let options = Options { ucb_c: 2.0, draw_value: 0.5, ..options(1) };
    let q = (60.0f32 + 0.5 * 20.0) / 100.0;
    let ucb = q + options.ucb_c * (libm_ln(1000.0) / 100.0).sqrt();
    assert_eq!(warpplay_gpu::mcts::select::mean_value(100, 60, 20, 0.5), q);
    assert_eq!(warpplay_gpu::mcts::select::upper_bound(100, 60, 20, libm_ln(1000.0), 2.0, 0.5), ucb);
    assert_eq!(warpplay_gpu::mcts::select::upper_bound(0, 0, 0, 5.0, 0.0, 0.5), f32::INFINITY);
    assert!((f64::from(ucb) - (0.7 + 2.0 * (1000f64.ln() / 100.0).sqrt())).abs() < 1e-6);
}

fn libm_ln(x: f32) -> f32 {
    warpplay_gpu::cuda::math::ln(x)
}

// ---- Stored and repeated -----------------------------------------------------------------------------------------------------------------

#[test]
fn a_report_survives_json_and_has_null_where_a_number_is_not_finite() {
    let options = Options { n_trees: 1, n_playouts: 1, variant: Variant::OcpProdigal, ..options(1) };
    for_each_back_end(|device| {
        // One step plays one child: the others have no playouts, no q, and an infinite bound.
        let report = builder(&options).build(device)?.run(&Connect4::new(), Progress::go_on)?;
        check_report(&report);
        assert_eq!(report.actions.iter().filter(|action| action.n == 0).count(), 6);
        let text = serde_json::to_string_pretty(&report).expect("plain data");
        assert_eq!(serde_json::from_str::<Report>(&text).expect("what was written"), report);
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for action in value["actions"].as_array().expect("a list") {
            assert_eq!(action["q"].is_null(), action["n"] == 0, "{action}");
            assert_eq!(action["ucb"].is_null(), action["n"] == 0, "{action}");
        }
        assert!(value["performance"]["ms"].get("loop").is_some());
        assert!(!text.contains("NaN") && !text.contains("inf"));
        Ok(())
    });
}

#[test]
fn an_action_without_playouts_never_becomes_best() {
    let variant = Variant::OcpThrifty;
    for seed in 0..20 {
        let options = Options { n_trees: 1, n_playouts: 1, variant, seed, ..options(1) };
        let report = builder(&options)
            .build(&Device::cpu())
            .and_then(|mut s| s.run(&Connect4::new(), Progress::go_on))
            .expect("small");
        assert_eq!(report.best.n, 1, "{:?}", report.best);
    }
}

#[test]
fn a_search_limited_by_time_is_repeated_exactly_by_its_steps() {
    for_each_back_end(|device| {
        for variant in [Variant::AcpProdigal, Variant::OcpThrifty] {
            let timed = Options { variant, steps: None, seconds: Some(0.15), ..options(1) };
            let report = builder(&timed).build(device)?.run(&connect4("4453"), Progress::go_on)?;
            check_report(&report);
            assert_eq!(report.stopped_by, StoppedBy::Seconds);
            assert!(report.performance.ms.total >= 150.0);
            // By way of its JSON, as a program does it.
            let stored: Report =
                serde_json::from_str(&serde_json::to_string(&report).expect("data")).expect("the same");
            let again = Options { steps: Some(stored.performance.steps), seconds: None, ..stored.options.clone() };
            let repeated = builder(&again).build(device)?.run(&connect4("4453"), Progress::go_on)?;
            assert_eq!(repeated.stopped_by, StoppedBy::Steps);
            assert_eq!(Found::from(&repeated), Found::from(&stored), "{variant} on {device}");
        }
        Ok(())
    });
}

#[test]
fn with_both_limits_the_first_one_ends_the_search() {
    for_each_back_end(|device| {
        let both = |steps, seconds| Options { steps: Some(steps), seconds: Some(seconds), ..options(1) };
        let report = builder(&both(3, 60.0)).build(device)?.run(&Connect4::new(), Progress::go_on)?;
        assert_eq!((report.stopped_by, report.performance.steps), (StoppedBy::Steps, 3));
        let report = builder(&both(u64::MAX, 0.05)).build(device)?.run(&Connect4::new(), Progress::go_on)?;
        assert_eq!(report.stopped_by, StoppedBy::Seconds);
        assert!(report.performance.ms.total < 5000.0, "{}", report.performance.ms.total);
        Ok(())
    });
}

// ---- Stopped by the caller -----------------------------------------------------------------------------------------------------------------

#[test]
fn a_request_to_stop_keeps_what_was_found() {
    for_each_back_end(|device| {
        for &variant in Variant::ALL {
            let mut search = builder(&Options { variant, ..options(100_000) }).build(device)?;
            let mut calls = Vec::new();
            let report = search.run(&Connect4::new(), |progress: &Progress| {
                calls.push(progress.steps);
                if progress.steps >= 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            check_report(&report);
            assert_eq!(report.stopped_by, StoppedBy::Request, "{variant} on {device}");
            assert!(calls.windows(2).all(|pair| pair[0] <= pair[1]), "{calls:?}");
            let steps = report.performance.steps;
            assert!((5..100_000).contains(&steps), "{steps}");
            // Two trees; each step of ACP plays at most seven children four times.
            assert!(report.best.n_root >= 2 * 4 * steps && report.best.n_root <= 2 * 4 * 7 * steps);
            // The partial result is that of a search of so many steps.
            let whole = builder(&Options { variant, ..options(steps) })
                .build(device)?
                .run(&Connect4::new(), Progress::go_on)?;
            assert_eq!(Found::from(&whole), Found::from(&report), "{variant} on {device}");
        }
        Ok(())
    });
}

#[test]
fn a_search_that_is_stopped_at_once_still_makes_a_step() {
    for_each_back_end(|device| {
        let report = builder(&options(10)).build(device)?.run(&Connect4::new(), |_| ControlFlow::Break(()))?;
        check_report(&report);
        assert_eq!((report.stopped_by, report.performance.steps), (StoppedBy::Request, 1));
        Ok(())
    });
}

// ---- Used again ------------------------------------------------------------------------------------------------------------------------------

#[test]
fn a_second_search_allocates_nothing_and_finds_what_a_fresh_engine_finds() {
    let positions = ["", "4453", "414243", "1234567"];
    for device in kernel_devices() {
        for &variant in Variant::ALL {
            let options = Options { variant, ..options(40) };
            let mut search = builder(&options).build(&device).expect("small");
            search.run(&Connect4::new(), Progress::go_on).expect("small");
            let allocations = device.allocations();
            let again: Vec<_> = positions
                .iter()
                .map(|moves| Found::from(&search.run(&connect4(moves), Progress::go_on).expect("small")))
                .collect();
            assert_eq!(device.allocations(), allocations, "{variant} on {device}: device arrays are allocated once");
            for (moves, found) in positions.iter().zip(again) {
                let fresh = builder(&options)
                    .build(&device)
                    .and_then(|mut search| search.run(&connect4(moves), Progress::go_on))
                    .expect("small");
                assert_eq!(found, Found::from(&fresh), "{variant} on {device}, after {moves:?}");
            }
        }
    }
}

#[test]
fn a_profiling_run_changes_nothing_and_says_where_its_times_come_from() {
    for_each_device(|device| {
        for &variant in Variant::ALL {
            let options = Options { variant, ..options(6) };
            let mut with = Search::<Connect4>::builder().options(options.clone()).profile_steps(3).build(device)?;
            let (first, second) =
                (with.run(&Connect4::new(), Progress::go_on)?, with.run(&Connect4::new(), Progress::go_on)?);
            let without = builder(&options).build(device)?.run(&Connect4::new(), Progress::go_on)?;
            assert_eq!(Found::from(&first), Found::from(&without));
            assert_eq!(Found::from(&second), Found::from(&without));
            assert!(
                first.performance.stage_times_from.contains("profiling run of 3 steps"),
                "{}",
                first.performance.stage_times_from
            );
            assert!(first.performance.ms.mean_select.is_some_and(|ms| ms >= 0.0));
            assert_eq!(without.performance.ms.mean_select, None);
            assert_eq!(without.performance.stage_times_from, "not measured");
        }
        Ok(())
    });
}

#[test]
fn a_failed_search_leaves_the_engine_usable() {
    let finished = connect4("4142434");
    for_each_back_end(|device| {
        let mut search = builder(&options(4)).build(device)?;
        let expected = Found::from(&search.run(&Connect4::new(), Progress::go_on)?);
        assert!(matches!(search.run(&finished, Progress::go_on), Err(Error::Finished { .. })));
        assert_eq!(Found::from(&search.run(&Connect4::new(), Progress::go_on)?), expected);
        Ok(())
    });
}

// ---- Options that the command line does not offer --------------------------------------------------------------------------------------------

#[test]
fn names_of_actions_are_the_callers() {
    for_each_back_end(|device| {
        let name = |action: u32| format!("column {}", action + 1);
        let report = builder(&options(2)).action_names(name).build(device)?.run(&Connect4::new(), Progress::go_on)?;
        let names: Vec<_> = report.actions.iter().map(|action: &ActionReport| action.name.as_str()).collect();
        assert_eq!(names[..2], ["column 1", "column 2"]);
        let report = builder(&options(2)).build(device)?.run(&Connect4::new(), Progress::go_on)?;
        assert_eq!(report.actions[6].name, "6");
        Ok(())
    });
}

#[test]
fn block_sizes_of_the_papers_listing_for_its_games() {
    // Listing 1: 512 where a path or a whole board is worked on, else the next power of two of what there is to do.
    let sizes = BlockSizes::listing_1::<Connect4>(8);
    assert_eq!((sizes.reset, sizes.select, sizes.expand_1, sizes.backup_1, sizes.backup_2), (64, 512, 64, 32, 512));
    let sizes = BlockSizes::listing_1::<warpplay::mcts::Gomoku>(100);
    assert_eq!((sizes.reset, sizes.select, sizes.expand_1, sizes.backup_1, sizes.backup_2), (256, 512, 256, 256, 512));
    assert_eq!(sizes.reduce_over_trees, 128);
    assert_eq!(Engine::default(), Engine::Auto);
}

#[test]
fn raw_playouts_are_the_plain_ones() {
    let position = connect4("4453");
    for_each_device(|device| {
        let raw = RawPlayouts::<Connect4>::new(device)?;
        let mut plain = games::connect4::Connect4::new(6, 7);
        for column in [3, 3, 4, 2] {
            plain.apply(column);
        }
        let (mut wins, mut draws, mut plies) = ([0, 0], 0, 0);
        for mut stream in Streams::new(9).playouts_from(0).take(3 * 64) {
            for _ in 0..5 {
                let (result, n) = plain.playout(&mut stream);
                match result {
                    GameResult::Draw => draws += 1,
                    GameResult::Win(player) => wins[player] += 1,
                }
                plies += u64::from(n);
            }
        }
        for (restart, warm_up) in [(false, false), (true, false), (false, true)] {
            let shape = RawShape { blocks: 3, threads: 64, n_games: 5, restart, warm_up };
            let report = raw.run(&position, shape, 9)?;
            if warm_up {
                // The streams have gone on: other games, as many.
                assert_eq!((report.games, report.wins[0] + report.wins[1] + report.draws), (960, 960));
            } else {
                assert_eq!(
                    (report.games, report.wins, report.draws, report.plies),
                    (960, wins, draws, plies),
                    "{shape:?}"
                );
            }
        }
        Ok(())
    });
}

#[test]
fn the_same_random_numbers_on_every_machine() {
    // A change here is a change of values: researchers' results would no longer repeat.
    let report = builder(&Options { n_trees: 4, n_playouts: 8, seed: 0, ..options(20) })
        .build(&Device::cpu())
        .and_then(|mut s| s.run(&Connect4::new(), Progress::go_on))
        .expect("small");
    let found: Vec<[u64; 3]> = report.actions.iter().map(|action| [action.n, action.wins, action.draws]).collect();
    assert_eq!(report.best.n_root, found.iter().map(|row| row[0]).sum::<u64>());
    assert_eq!(found, GOLDEN_COUNTS);
}

/// n, wins, draws of each column: empty board, acp_prodigal, T = 4, m = 8, 20 steps, seed 0. First computed by `cpu-ref` and the kernels alike.
const GOLDEN_COUNTS: [[u64; 3]; 7] =
    [[536, 270, 0], [592, 300, 1], [816, 477, 3], [816, 477, 1], [592, 325, 0], [648, 343, 2], [480, 229, 2]];
