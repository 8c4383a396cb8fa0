//! Hold'em spots: the reference file, ranges, sizes, rake, locks, batches, bad input.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use warpplay::cfr::game::BettingKind;
use warpplay::cfr::layout::Node;
use warpplay::cfr::spot::Range;
use warpplay::cfr::{
    Algorithm, BettingTree, Engine, Options, SolvedSpot, Solver, Spot, SpotReport, SpotRun, SpotSolver, solve_spots,
};
use warpplay::journal::Target;
use warpplay::{Device, Error, Precision, Progress};
use warpplay_cpu_ref::cfr::{poker, vector};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::cfr::{holdem_reference, holdem_spots};
use warpplay_tests::folder::Folder;
use warpplay_tests::tolerance::{Tolerance, close};

/// Values are sums of at most 1,128 × 1,128 pairs of hands, whose weights add up to 1, times at most 400 chips: so many roundings of 2⁻⁵³.
const DOUBLE: f64 = 1128.0 * 1128.0 * 400.0 / (1u64 << 53) as f64;

/// The same in single precision, where the 1,128 hands and the 48 boards that may follow are added one after the other: roundings of 2⁻²⁴.
const SINGLE: f64 = (1128.0 + 48.0) * 400.0 / (1u64 << 24) as f64;

/// What a value of a profile may lie from the value of the game: what either side can still gain, together twice the exploitability.
fn apart(report: &SpotReport) -> f64 {
    2.0 * report.exploitability().expect("measured")
}

/// A small river spot, with changes.
fn spot(changes: Value) -> Value {
    let mut spot = json!({
        "pot": 100, "effective_stack": 300, "bet_fraction_of_pot": 0.5,
        "flop": "Qs Jh 2h", "turn": "2d", "river": "7c",
        "ranges": ["AA,QQ:0.5,AKs,T9s,87s", "KK,JJ,77:0.25,AQ,A5s-A4s,98s"],
    });
    for (field, value) in changes.as_object().into_iter().flatten() {
        match value {
            Value::Null => spot.as_object_mut().and_then(|spot| spot.remove(field)).map_or((), drop),
            _ => spot[field] = value.clone(),
        }
    }
    spot
}

fn parsed(changes: Value) -> Spot {
    Spot::parse(&spot(changes).to_string()).expect("good JSON")
}

fn options(algorithm: Algorithm) -> Options {
    Options { algorithm, precision: Precision::F64, ..Options::default() }
}

fn solved(spot: &Spot, iterations: u64, report: &[u64]) -> SpotReport {
    let options = Options { iterations, ..options(Algorithm::Dcfr) };
    let run = SpotRun { options, measure_at: report.to_vec(), ..SpotRun::default() };
    spot.solve(&Device::cpu(), &run).expect("solves")
}

#[test]
fn the_reference_s_spots_come_out() {
    let file = holdem_reference();
    let spots = Spot::read_all(holdem_spots()).expect("good spots");
    assert_eq!(spots.len(), 4);
    for (name, spot) in spots {
        let reference = &file["spots"][&name];
        let river = name.starts_with("river");
        let report = solved(&spot, if river { 300 } else { 4 }, &[1]);
        let pair = |field: &str| [0, 1].map(|seat| reference[field][seat].as_f64().expect("a number"));
        assert_eq!(report.hands.map(|n| n as f64), pair("hands"), "{name}");
        for (got, want) in report.equity.iter().zip(pair("equity")) {
            // The file has six digits.
            assert!((got - want).abs() < 1e-6, "{name}: equity {got}, expected {want}");
        }
        let published = reference["trajectory"].as_object().expect("a trajectory");
        let published = |t: &str| published[t].as_f64().expect("a number");
        // After one iteration the average is uniform, whatever the algorithm. Exploitability is half a sum of four values, which the reference found in single precision.
        let first = published("1");
        assert!(
            (report.trajectory[&1] - first).abs() < 2.0 * SINGLE,
            "{name}: {} after 1, expected {first}",
            report.trajectory[&1]
        );
        assert!((report.ev[0] + report.ev[1] - spot.pot).abs() < 2.0 * DOUBLE, "{name}: {:?}", report.ev);
        if river {
            // No more is left than the reference's program, another discounted CFR, had left after a third of the iterations.
            let left = report.exploitability().expect("measured");
            assert!(left < published("100"), "{name}: {left}");
            let last = reference["trajectory"].as_object().into_iter().flat_map(|points| points.values());
            let last = last.filter_map(Value::as_f64).fold(f64::INFINITY, f64::min);
            for (got, want) in report.ev.iter().zip(pair("ev")) {
                assert!((got - want).abs() < apart(&report) + 2.0 * last, "{name}: ev {got}, expected {want}");
            }
        }
        for (seat, hands) in report.by_hand.iter().enumerate() {
            assert_eq!(hands.len(), report.hands[seat]);
            for hand in hands {
                assert!((0.0..=1.0).contains(&hand.equity), "{hand:?}");
                assert!(hand.ev > -spot.effective_stack && hand.ev < spot.pot + spot.effective_stack, "{hand:?}");
                for (history, strategy) in &hand.strategy {
                    assert_eq!(strategy.len(), report.actions[history].len());
                    assert!((strategy.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                }
            }
        }
        assert_eq!(report.actions[""], ["c", "r50", "r300"], "{name}");
        assert_eq!(report.actions["r50"], ["f", "c", "r300"], "{name}");
    }
}

#[test]
fn suits_that_do_not_matter_change_nothing() {
    // No two suits of the flop differ but by name; the ranges name none.
    let changes = json!({
        "flop": "Qs Js 2s", "turn": "2d", "river": null, "ranges": ["AA,KQs,T9s", "KK,AQs,98s"], "effective_stack": 100,
    });
    let spot = parsed(changes);
    let (plain, tree) = spot.build(false).expect("good");
    let (reduced, _) = spot.build(true).expect("good");
    assert_eq!((plain.size().boards, reduced.size().boards.clone()), (vec![1, 48], vec![1, 35]));
    assert_eq!(reduced.size().all_boards, [1, 48]);
    assert_eq!(plain.size().information_sets, reduced.size().information_sets);
    assert!(tree.nodes.len() > 10);
    // A range that tells the suits apart keeps every board.
    let marked = Spot { ranges: ["AA,KQs,T9s,8h8c:0.5".to_string(), spot.ranges[1].clone()], ..spot };
    assert_eq!(marked.build(true).expect("good").0.size().boards, [1, 35]);
    let marked = Spot { ranges: ["AA,KQs,T9s,8h8s:0.5".to_string(), marked.ranges[1].clone()], ..marked };
    assert_eq!(marked.build(true).expect("good").0.size().boards, [1, 48]);
}

#[test]
fn sizes_make_the_tree() {
    let actions = |changes: Value, history: &str| -> Vec<String> {
        let (_, tree) = parsed(changes).build(true).expect("good");
        let node = tree.find(history).expect("there");
        match &tree.nodes[node as usize].kind {
            BettingKind::Decision { actions, .. } => actions.iter().map(|&action| tree.spell(action)).collect(),
            BettingKind::Terminal => Vec::new(),
        }
    };
    let sizes = json!({
        "bet_sizes": {"river": [[0.25, 1], ["all-in"]]},
        "raise_sizes": {"river": [0.5, "all-in"]},
        "max_raises": {"river": 3},
    });
    assert_eq!(actions(sizes.clone(), ""), ["c", "r25", "r100"]);
    assert_eq!(actions(sizes.clone(), "c"), ["c", "r300"]);
    // The pot after the call is 150: half of it more than 25.
    assert_eq!(actions(sizes.clone(), "r25"), ["f", "c", "r100", "r300"]);
    assert_eq!(actions(sizes.clone(), "r25r100"), ["f", "c", "r250", "r300"]);
    assert_eq!(actions(sizes.clone(), "r25r100r250"), ["f", "c"]);
    // A raise adds at least as much as the one before it, and never more than there is.
    assert_eq!(
        actions(json!({"bet_sizes": {"river": [2]}, "raise_sizes": {"river": [0.1]}}), "r200"),
        ["f", "c", "r300"]
    );
    let limit = json!({"bet_fraction_of_pot": null, "limit": {"flop": 10, "turn": 20, "river": 20}});
    assert_eq!(actions(limit.clone(), "r20"), ["f", "c", "r40"]);
    assert_eq!(actions(limit, "r20r40r60r80"), ["f", "c"]);
}

#[test]
fn flop_spots_reach_the_river() {
    let changes = json!({
        "turn": null, "river": null, "bet_fraction_of_pot": null, "limit": {"flop": 10, "turn": 20, "river": 20}, "max_raises": {"flop": 1},
        "ranges": ["AA,KQs", "KK,AQs"],
    });
    let (game, _) = parsed(changes).build(true).expect("good");
    let size = game.size();
    assert_eq!(size.all_boards, [1, 49, 49 * 48]);
    // One bet on the flop: checked, or called after a bet or a check and a bet. Four on the turn: nine ways for each.
    assert_eq!(size.entries, [1, 3, 27]);
    assert!(
        game.streets[2]
            .entries
            .iter()
            .all(|entry| entry.nodes.iter().any(|node| matches!(node, Node::Showdown { .. })))
    );
}

#[test]
fn the_house_takes_its_part() {
    let spot = parsed(json!({"rake": {"part": 0.05, "cap": 7}}));
    let report = solved(&spot, 50, &[]);
    let taken = 100.0 - report.ev[0] - report.ev[1];
    // 5 % of a pot of 100, of more where a bet was called, and never more than 7.
    assert!(taken > 5.0 && taken < 7.0 + 1e-9, "{taken}");
    assert_eq!(report.trajectory.len(), 1);
}

#[test]
fn locked_nodes_are_played_as_given() {
    let always = parsed(json!({"locks": [{"history": "", "seat": 0, "strategy": [0, 1, 0]}]}));
    let report = solved(&always, 200, &[20]);
    assert!(report.by_hand[0].iter().all(|hand| hand.strategy[""] == [0.0, 1.0, 0.0]));
    // The locked seat cannot gain by what it may not do, so the rest comes to an equilibrium: the bound on the regrets falls with the root of the iterations.
    assert!(report.trajectory[&200] < report.trajectory[&20], "{:?}", report.trajectory);
    let free = solved(&parsed(json!({})), 200, &[]);
    let most = free.ev[0] + apart(&free) + apart(&report);
    assert!(report.ev[0] <= most, "a lock cannot help: {:?}, free {:?}", report.ev, free.ev);
    let by_hand = parsed(
        json!({"locks": [{"history": "r50", "seat": 1, "strategy": {"KK": [0, 1, 0], "JJ,77": [0, 0, 1], "rest": [0.5, 0.5, 0]}}]}),
    );
    let report = solved(&by_hand, 20, &[]);
    for hand in &report.by_hand[1] {
        let want = match &hand.hand {
            hand if hand.starts_with('K') && &hand[2..3] == "K" => [0.0, 1.0, 0.0],
            hand if (hand.starts_with('J') && &hand[2..3] == "J") || (hand.starts_with('7') && &hand[2..3] == "7") => {
                [0.0, 0.0, 1.0]
            }
            _ => [0.5, 0.5, 0.0],
        };
        assert_eq!(hand.strategy["r50"], want, "{}", hand.hand);
    }
}

/// A turn of narrow ranges, with locks for some hands, and for other hands where a card falls.
fn with_locks(locks: Value) -> Spot {
    let mut spot = json!({
        "pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c",
        "ranges": ["AA,65s,JTs", "QQ,99,87s"], "max_raises": {"turn": 1, "river": 1},
    });
    spot["locks"] = locks;
    serde_json::from_value(spot).expect("a spot")
}

#[test]
fn some_hands_or_boards_are_locked() {
    let spot = with_locks(json!([
        {"history": "", "seat": 0, "strategy": {"AA": [1, 0]}},
        {"history": "cc/", "seat": 0, "strategy": {"65s": [0.5, 0.5]}},
        {"history": "cc/", "seat": 0, "runout": "4c", "strategy": {"65s": [0, 1]}},
    ]));
    let options = Options { iterations: 200, ..Options::SPOT };
    let solve = |device: &Device, iterations: u64| -> (SolvedSpot, f64) {
        let options = Options { iterations, ..options };
        let mut solver = SpotSolver::builder(&spot).options(options).build(device).expect("it fits");
        solver.run(|_| ControlFlow::Continue(())).expect("it runs");
        let apart = 2.0 * solver.measure().expect("measured");
        (solver.solved().expect("solved"), apart)
    };
    let (solved, apart) = solve(&Device::cpu(), 200);
    let root = solved.root();
    assert_eq!(root.strategy("AhAc").expect("a hand"), [1.0, 0.0]);
    let learnt = root.strategy("6h5h").expect("a hand");
    assert!(learnt != [0.5, 0.5] && learnt != [1.0, 0.0], "{learnt:?}");
    let on = |card: &str, hand: &str| {
        let node = root.child("c").and_then(|node| node.child("c")).and_then(|node| node.deal(card)).expect("a node");
        node.strategy(hand).expect("a hand")
    };
    assert_eq!((on("4c", "6h5h"), on("9s", "6h5h"), on("4d", "6h5h")), (vec![0.0, 1.0], vec![0.5; 2], vec![0.5; 2]));
    // Other hands and the other seat learn: nobody can gain more than is left, and with the locks nothing is won.
    let free = with_locks(json!([])).solve(&Device::cpu(), &SpotRun { options, ..SpotRun::default() }).expect("solves");
    let value = root.report().expect("values").ev[0];
    assert!(value <= free.ev[0] + apart + self::apart(&free), "{value}, {:?}", free.ev);
    // The kernels come to the same: both values lie within what can still be gained of the locked game's.
    for_each_device(|device| {
        let (solved, others) = solve(device, 20);
        let root = solved.root();
        let other = root.report()?.ev[0];
        assert!((other - value).abs() <= apart + others, "{other}, {value} on {device}");
        assert_eq!(root.strategy("AhAc")?, [1.0, 0.0], "on {device}");
        assert_eq!(root.child("c")?.child("c")?.deal("4c")?.strategy("6h5h")?, [0.0, 1.0], "on {device}");
        Ok(())
    });
}

#[test]
fn wrong_locks_are_told() {
    for (locks, told) in [
        (
            json!([{"history": "", "seat": 0, "runout": "4c", "strategy": [1, 0]}]),
            "no run-out: no card is dealt before the node",
        ),
        (
            json!([{"history": "cc/", "seat": 0, "runout": "4c 5c", "strategy": [1, 0]}]),
            "the card that is dealt before the node",
        ),
        (json!([{"history": "cc/", "seat": 0, "runout": "Ks", "strategy": [1, 0]}]), "cards beside"),
        (
            json!([{"history": "cc/", "seat": 0, "runout": "x", "strategy": [1, 0]}]),
            "the card that is dealt before the node",
        ),
        (
            json!([{"history": "", "seat": 0, "strategy": {"AA": [1, 0]}}, {"history": "", "seat": 0, "strategy": {"AhAc": [0, 1]}}]),
            "each hand once",
        ),
        (json!([{"history": "", "seat": 0, "strategy": {}}]), "'{}' of seat 0 after '' is not allowed (hands with"),
        (
            json!([{"history": "", "seat": 0, "strategy": {"AA:0.5": [1, 0]}}]),
            "'AA:0.5' of seat 0 after '' is not allowed (hands without weights",
        ),
        (
            json!([{"history": "", "seat": 0, "strategy": {"AA,22": [1, 0]}}]),
            "'22' of seat 0 after '' is not allowed (hands of the seat's range)",
        ),
        (
            json!([{"history": "c", "seat": 1, "strategy": {"8c7c": [1, 0]}}]),
            "'8c7c' of seat 1 after 'c' is not allowed (hands beside the board Ks8c7h2d)",
        ),
        (
            json!([{"history": "cc/", "seat": 0, "runout": "As", "strategy": {"AsAh": [1, 0]}}]),
            "hands beside the board AsKs8c7h2d",
        ),
        (
            json!([{"history": "", "seat": 0, "strategy": [0.3, 0.3]}]),
            "together 0.6, after '' is not allowed (probabilities of c, r100 that add up to 1 within 0.000001)",
        ),
    ] {
        let error = with_locks(locks.clone()).build(true).expect_err("wrong").to_string();
        assert!(error.contains(told) && error.contains("locks"), "{locks}: {error}");
    }
    // On a board of many, hands that it blocks are left out.
    let spot = with_locks(json!([{"history": "", "seat": 0, "strategy": {"AhAc,AA": [1, 0], "6h5h": [0, 1]}}]));
    for (board, left) in
        [("Ah8c7h", json!({"AA": [1.0, 0.0], "6h5h": [0.0, 1.0]})), ("Ks6h2d", json!({"AhAc,AA": [1.0, 0.0]}))]
    {
        let locks = serde_json::to_value(spot.on(board).expect("a board").locks).expect("JSON");
        assert_eq!(locks[0]["strategy"], left, "{board}");
    }
    let one = with_locks(json!([{"history": "", "seat": 0, "strategy": {"6h5h": [0, 1]}}]));
    assert!(one.on("Ks6h2d").expect("a board").locks.is_empty());
    // What no board has stays, and is told.
    let none = with_locks(json!([{"history": "", "seat": 0, "strategy": {"22": [0, 1]}}]));
    assert_eq!(none.on("Ks6h2d").expect("a board").locks, none.locks);
}

#[test]
fn cards_and_weights_are_read_as_people_write_them() {
    for flop in ["QS JH 2H", "qs jh 2h", "QsJh2h"] {
        assert!(parsed(json!({"flop": flop})).build(true).is_ok(), "{flop}");
    }
    assert!(parsed(json!({"flop": "10s Jh 2h"})).build(true).is_ok());
    let error = parsed(json!({"flop": "Qs Jx 2h"})).build(true).map(drop).expect_err("no card").to_string();
    assert!(error.contains("three different cards, as Qs Jh 2h; 'Jx' is not"), "{error}");
    for (one, other) in [
        ("top20%", "top 20%"),
        ("100%", "all"),
        ("AA:50%", "AA:0.5"),
        ("A10s+,1010", "ATs+,TT"),
        ("10s9s", "Ts9s"),
        ("AHKD", "AhKd"),
    ] {
        assert_eq!(Range::parse(one).ok(), Range::parse(other).ok(), "{one}");
        assert!(Range::parse(one).is_ok(), "{one}");
    }
}

#[test]
fn every_algorithm_solves_a_spot() {
    let spot = parsed(json!({}));
    let best = solved(&spot, 1000, &[]);
    for &algorithm in Algorithm::ALL {
        let run = SpotRun {
            options: Options { iterations: 400, ..options(algorithm) },
            measure_at: vec![40],
            ..SpotRun::default()
        };
        let report = spot.solve(&Device::cpu(), &run).expect("solves");
        // The bounds on the regrets fall with the root of the iterations, or faster.
        assert!(report.trajectory[&400] < report.trajectory[&40], "{algorithm}: {:?}", report.trajectory);
        assert!(
            (report.ev[0] - best.ev[0]).abs() < apart(&report) + apart(&best),
            "{algorithm}: {:?}, expected {:?}",
            report.ev,
            best.ev
        );
    }
}

#[test]
fn batches_answer_in_order_whatever_the_devices() {
    let stacks = [50, 100, 200, 300, 400];
    let spots: Vec<Spot> = stacks.iter().map(|stack| parsed(json!({"effective_stack": stack}))).collect();
    let run = SpotRun {
        options: Options { iterations: 30, ..options(Algorithm::CfrPlus) },
        measure_at: vec![10],
        ..SpotRun::default()
    };
    let most = AtomicUsize::new(0);
    let solve = |n_devices: usize| -> Vec<SpotReport> {
        let devices = vec![Device::cpu(); n_devices];
        let count = |finished| {
            most.fetch_max(finished, Ordering::Relaxed);
            ControlFlow::Continue(())
        };
        let reports = solve_spots(&devices, &spots, &run, count).expect("devices");
        reports.into_iter().map(|report| SpotReport { seconds: 0.0, ..report.expect("solves") }).collect()
    };
    let (one, three) = (solve(1), solve(3));
    assert_eq!(one, three);
    assert_eq!(most.load(Ordering::Relaxed), spots.len());
    assert!(one.windows(2).all(|pair| pair[0].ev != pair[1].ev));
    assert!(matches!(solve_spots(&[], &spots, &run, always), Err(Error::Option { name: "device", .. })));
    // One bad spot does not spoil the others.
    let mixed = [spots[0].clone(), Spot { pot: -1.0, ..spots[1].clone() }];
    let reports = solve_spots(&[Device::cpu()], &mixed, &run, always).expect("devices");
    assert!(reports[0].is_ok() && reports[1].is_err());
}

fn always(_: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn what_stops_a_batch_leaves_what_is_done() {
    let spots: Vec<Spot> = [50, 100].iter().map(|stack| parsed(json!({"effective_stack": stack}))).collect();
    let run = SpotRun {
        options: Options { iterations: 1_000_000, ..options(Algorithm::CfrPlus) },
        measure_at: vec![],
        ..SpotRun::default()
    };
    let asked = AtomicUsize::new(0);
    // Once before the first spot, then before each part of it.
    let watch = |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0..4 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let reports = solve_spots(&[Device::cpu()], &spots, &run, watch).expect("devices");
    let first = reports[0].as_ref().expect("what it has");
    assert!((1..1_000_000).contains(&first.iterations) && first.trajectory.contains_key(&first.iterations));
    assert_eq!((first.engine, first.seed, &first.options), (Engine::Cpu, 1, &run.options));
    assert!(first.to_string().contains("engine cpu on cpu, seed 1"), "{first}");
    assert!(matches!(reports[1], Err(Error::Order { .. })), "{:?}", reports[1]);
}

#[test]
fn progress_of_a_spot_is_told_within_it_and_may_stop_it() {
    let spot = parsed(json!({}));
    let options = Options { iterations: 300, ..options(Algorithm::CfrPlus) };
    let run = SpotRun { options, measure_at: vec![10, 100], ..SpotRun::default() };
    let (mut steps, mut measured) = (Vec::new(), Vec::new());
    let report = spot.solve_watched(&Device::cpu(), &run, |progress| {
        assert_eq!((progress.n_steps, progress.time_limit), (Some(300), None));
        steps.push(progress.steps);
        measured.extend(progress.latest.map(|chips| (progress.steps, chips)));
        ControlFlow::Continue(())
    });
    let report = report.expect("solves");
    assert!(steps.is_sorted() && steps.first() == Some(&1) && steps.last() == Some(&300), "{steps:?}");
    assert_eq!(measured, report.trajectory.clone().into_iter().collect::<Vec<_>>());
    // Who watches changes nothing.
    let alone = spot.solve(&Device::cpu(), &run).expect("solves");
    assert_eq!(SpotReport { seconds: 0.0, ..alone }, SpotReport { seconds: 0.0, ..report });
    // Whoever stops at once has an iteration, at a measurement that and no more.
    for (stop, expected) in [(1, vec![1]), (10, vec![10]), (300, vec![10, 100, 300])] {
        let watch = |progress: &Progress<f64>| match progress.steps >= stop {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let stopped = spot.solve_watched(&Device::cpu(), &run, watch).expect("a report");
        assert_eq!((stopped.iterations, stopped.trajectory.into_keys().collect::<Vec<_>>()), (stop, expected));
    }
}

#[test]
fn memory_of_a_spot_that_is_far_too_large_is_told_but_not_taken() {
    let spot = Spot::parse(LARGE).expect("a spot");
    let builder = Solver::builder(&spot).precision(Precision::F64);
    let device = Device::cpu();
    let memory = builder.memory_needed(&device).expect("the size of a game is no error");
    let free = device.memory().expect("a size").free;
    assert!(memory.host() > free && memory.device() == 0 && memory.parts().len() > 1, "{memory}, {free} free");
    assert!(builder.plan(&device).expect("a plan").to_string().ends_with(&memory.to_string()));
    match builder.build(&device) {
        Err(Error::OutOfMemory { needed, .. }) => assert_eq!(needed, memory.host()),
        other => panic!("{other:?}"),
    }
}

/// Five sizes on three streets: terabytes of tables.
const LARGE: &str = r#"{
    "pot": 10, "effective_stack": 5000, "flop": "Qs Jh 2c", "ranges": ["all", "all"],
    "bet_sizes": {"flop": [0.33, 0.5, 1, 2, "all-in"], "turn": [0.33, 0.5, 1, 2, "all-in"], "river": [0.33, 0.5, 1, 2, "all-in"]},
    "raise_sizes": {"flop": [1], "turn": [1], "river": [1]}, "max_raises": {"flop": 4, "turn": 4, "river": 4}
}"#;

#[test]
fn spots_and_reports_are_read_as_they_were_written() {
    let spot = parsed(
        json!({"locks": [{"history": "", "seat": 0, "strategy": [0, 1, 0]}], "bet_sizes": {"river": [0.5, "all-in"]}, "rake": {"part": 0.01, "cap": 1},
            "raise_sizes": {"river": [["2.5x", "a"], ["120c", "e150%"]]}, "donk_sizes": {"river": ["30%"]}, "add_all_in": 1.5, "force_all_in": 0.2, "merge_sizes": 0.1,
            "added_lines": ["cr80"], "removed_lines": ["cr50"], "icm": {"stacks": [300, 400], "others": [100], "prizes": [3, 1]}}),
    );
    let text = serde_json::to_string(&spot).expect("JSON");
    assert_eq!(Spot::parse(&text).expect("its own"), spot);
    let report = solved(&spot, 3, &[1, 2]);
    let text = serde_json::to_string(&report).expect("JSON");
    assert_eq!(serde_json::from_str::<SpotReport>(&text).expect("its own"), report);
    let both: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (both["hands"].clone(), both["trajectory"].as_object().map(|points| points.len())),
        (json!(report.hands), Some(3))
    );
}

#[test]
fn bad_spots_are_errors_with_field_and_position() {
    for (changes, told) in [
        (json!({"flop": "Qs Jh"}), "option flop"),
        (json!({"flop": "Qs Jh Jh"}), "option flop"),
        (json!({"flop": "Qs Jh 1h"}), "option flop"),
        (json!({"turn": "Qs"}), "on the board: QsJh2h"),
        (json!({"turn": "Qs Qd"}), "option turn"),
        (json!({"river": "2d"}), "option river"),
        (json!({"turn": null}), "only with a turn"),
        (json!({"pot": 0}), "option pot"),
        (json!({"pot": -5}), "option pot: -5"),
        (json!({"effective_stack": -300}), "option effective_stack"),
        (json!({"bet_fraction_of_pot": -0.5}), "option bet_fraction_of_pot"),
        (json!({"bet_fraction_of_pot": null}), "option bet_sizes: nothing for the river"),
        (json!({"bet_sizes": {"river": [-1]}}), "option bet_sizes: -1"),
        // Per cent without its sign.
        (
            json!({"bet_fraction_of_pot": 50}),
            "option bet_fraction_of_pot: 50 is not allowed (more than 0, at most 20 pots",
        ),
        (json!({"bet_sizes": {"river": [33, 75]}}), "option bet_sizes: 33"),
        (json!({"bet_sizes": {"river": ["2001%"]}}), "option bet_sizes: 20.01 (2001%)"),
        // Chips that no history can name.
        (
            json!({"bet_sizes": {"river": [1e-12]}}),
            "option bet_sizes: 0.000000000001 is not allowed (at least 1e-9 chips",
        ),
        (json!({"bet_fraction_of_pot": 1e-12}), "option bet_fraction_of_pot: 0.000000000001 is not allowed (at least"),
        (json!({"effective_stack": 1e-10}), "option effective_stack: 0.0000000001 is not allowed (1e-9 to 1e9 chips)"),
        (json!({"limit": {"river": 1e-10}}), "option limit: 0.0000000001 is not allowed (1e-9 to 1e9 chips)"),
        (json!({"raise_sizes": {"river": [[0.5], [0]]}}), "option raise_sizes: 0"),
        (
            json!({"bet_sizes": {"river": ["2.5x"]}}),
            "option bet_sizes: 2.5x is not allowed (a multiple only in raise_sizes",
        ),
        (json!({"donk_sizes": {"river": ["2.5x"]}}), "option donk_sizes: 2.5x"),
        (
            json!({"donk_sizes": {"flop": ["50%"]}}),
            "option donk_sizes: sizes for the flop is not allowed (turn and river",
        ),
        (
            json!({"raise_sizes": {"river": ["1x"]}}),
            "option raise_sizes: 1x is not allowed (more than 1x, at most 20x)",
        ),
        (json!({"raise_sizes": {"river": ["250x"]}}), "option raise_sizes: 250x"),
        (json!({"bet_sizes": {"river": ["0c"]}}), "option bet_sizes: 0c is not allowed (1e-9 to 1e9 chips)"),
        (json!({"bet_sizes": {"river": ["0e"]}}), "option bet_sizes: 0e is not allowed (1 to 10 bets before the e)"),
        (
            json!({"bet_sizes": {"river": ["2e9000%"]}}),
            "option bet_sizes: 2e9000% is not allowed (more than 0, at most 20",
        ),
        (
            json!({"bet_fraction_of_pot": null, "limit": {"river": 10}, "added_lines": ["r20"]}),
            "option added_lines: 'r20' is not allowed (nothing beside limit",
        ),
        (
            json!({"removed_lines": ["r60"]}),
            "option removed_lines: 'r60' is not allowed (column 1: 'r60': expected c, r50, r300)",
        ),
        (
            json!({"icm": {"others": [100], "prizes": [5, 3, 2, 1]}}),
            "option icm.prizes: 5, 3, 2, 1 is not allowed (1 to 3 prizes for as many players, from the highest",
        ),
        (json!({"icm": {"others": [100], "prizes": [3, 5]}}), "option icm.prizes: 3, 5"),
        (
            json!({"icm": {"others": [0], "prizes": [3]}}),
            "option icm.others: 0 is not allowed (chips of at most 8 players",
        ),
        (
            json!({"icm": {"stacks": [400, 500], "others": [], "prizes": [3]}}),
            "option icm.stacks: 400, 500 is not allowed (chips of both seats, the fewer of them the effective_stack of 300)",
        ),
        (json!({"force_all_in": 67}), "option force_all_in: 67 is not allowed (0 to 20, where 1 is the pot)"),
        (json!({"limit": {"flop": 1}}), "option limit: nothing for the river"),
        (json!({"limit": {"river": -1}}), "option limit: -1"),
        (json!({"limit": {"river": 10}, "bet_sizes": {"river": [1]}}), "not both"),
        (json!({"rake": {"part": 2, "cap": 1}}), "option rake.part"),
        // Raises of hardly any chips: more than a tree has nodes.
        (
            json!({"bet_sizes": {"river": [1e-9, 2e-9]}, "raise_sizes": {"river": [1e-9, 2e-9]}}),
            "option betting tree: at least 4194",
        ),
        // One size: a line of raises that programs would walk too deep.
        (
            json!({"bet_sizes": {"river": [3e-4]}, "raise_sizes": {"river": [3e-4]}}),
            "option betting tree: more than 1024 levels is not allowed (at most 1024: ",
        ),
        (json!({"rake": {"part": 0.1, "cap": -1}}), "option rake.cap"),
        (json!({"pot": 1e308}), "option pot: 1e308 is not allowed (1e-9 to 1e9 chips)"),
        (json!({"effective_stack": 1e300}), "option effective_stack: 1e300 is not allowed (1e-9 to 1e9 chips)"),
        (json!({"ranges": ["AA:1e-45", "KK"]}), "option ranges: seat 0: weight 1e-45 of AdAc is not allowed"),
        (
            json!({"ranges": ["KK", "AA,99:1e-7"]}),
            "seat 1: weight 0.0000001 of 9d9c is not allowed (0, or at least 1e-6",
        ),
        (json!({"ranges": ["AA", "AX"]}), "seat 1: 'AX' at column 1"),
        (json!({"ranges": ["QsJh", "AA"]}), "seat 0: no hand"),
        (json!({"ranges": ["AhKh", "AhQh"]}), "at least one pair of hands"),
        (json!({"locks": [{"history": "x", "seat": 0, "strategy": [1]}]}), "column 1"),
        (json!({"locks": [{"history": "r50f", "seat": 0, "strategy": [1]}]}), "a player acts"),
        (json!({"locks": [{"history": "", "seat": 1, "strategy": [1, 0, 0]}]}), "seat 0, which acts there"),
        (json!({"locks": [{"history": "", "seat": 0, "strategy": [0.5, 0.4, 0]}]}), "add up to 1"),
        (json!({"locks": [{"history": "", "seat": 0, "strategy": [1, 0]}]}), "c, r50, r300"),
        (
            json!({"locks": [{"history": "", "seat": 0, "strategy": {"AA": [1, 0, 0], "AA,QQ": [1, 0, 0], "rest": [1, 0, 0]}}]}),
            "twice",
        ),
    ] {
        let error = parsed(changes.clone()).build(true).map(drop).expect_err(&changes.to_string()).to_string();
        assert!(error.contains(told), "{changes}: {error}");
    }
    for (changes, told) in [
        (json!({"stack": 3}), "unknown field `stack`"),
        (json!({"pot": null}), "missing field `pot`"),
        (json!({"pot": "much"}), "line 1: field pot: invalid type"),
        (json!({"ranges": ["AA"]}), "field ranges"),
        (
            json!({"ranges": ["AA", "KK", "QQ"]}),
            "field ranges: invalid length 3, expected a list of 2: for seat 0 and for seat 1",
        ),
        (json!({"pot": [1]}), "field pot: invalid type: a list [...], expected a number"),
        (json!({"rake": 3}), "field rake: invalid type: number `3`, expected an object"),
        (json!({"bet_sizes": {"preflop": [1]}}), "preflop"),
        (
            json!({"bet_sizes": {"river": ["half"]}}),
            "size \"half\" is not allowed (a part of the pot such as 0.5 or \"50%\", chips \"20c\", a multiple",
        ),
        (json!({"bet_sizes": {"river": ["%"]}}), "size \"%\" is not allowed"),
        (json!({"bet_sizes": {"river": [[0.5], 1]}}), "1 beside a list is not allowed"),
        (json!({"bet_sizes": {"river": [[0.5]]}}), "1 lists of sizes are not allowed (one for each of 2 seats)"),
        (json!({"locks": [{"history": "", "seat": 0, "strategy": [1], "hand": 1}]}), "unknown field `hand`"),
    ] {
        let error = Spot::parse(&spot(changes.clone()).to_string()).expect_err(&changes.to_string()).to_string();
        assert!(error.starts_with("<text>, line 1: ") && error.contains(told), "{changes}: {error}");
    }
    let text = spot(json!({})).to_string();
    assert_eq!(Spot::parse(&format!("\u{feff}{text}")).ok(), Spot::parse(&text).ok());
    let error = Spot::parse(&format!("[{text}]")).expect_err("a list").to_string();
    assert!(error.contains("is a list, expected an object {...}"), "{error}");
    for (pot, told) in
        [("NaN", "field pot: expected a value: a number"), ("1e999", "field pot: the number is too large")]
    {
        let text =
            text.replace("\"pot\":100.0", &format!("\"pot\":{pot}")).replace("\"pot\":100", &format!("\"pot\":{pot}"));
        let error = Spot::parse(&text).expect_err(pot).to_string();
        assert!(error.contains(told), "{error}");
    }
    assert!(matches!(Spot::read("no such file"), Err(Error::File { .. })));
    assert!(Spot::read_all("no such file").is_err());
}

/// The betting of a spot as the reference wants it.
fn plain_nodes(tree: &BettingTree) -> Vec<vector::Node> {
    let net = |node: usize, strengths: [u32; 2]| {
        let payoffs = tree.payoffs(&tree.nodes[node], &strengths);
        [payoffs[0], payoffs[1]]
    };
    let node = |(at, node): (usize, &warpplay::cfr::game::BettingNode)| {
        let kind = match &node.kind {
            BettingKind::Decision { seat, children, .. } => vector::Kind::Decision {
                seat: *seat,
                children: children.iter().map(|&child| child as usize).collect(),
                locked: false,
            },
            BettingKind::Terminal if node.folded != 0 => vector::Kind::Fold { payoff: net(at, [0, 0]) },
            BettingKind::Terminal => {
                let (first, second) = (net(at, [1, 0]), net(at, [0, 1]));
                vector::Kind::Showdown { win: [first[0], second[1]], lose: [second[0], first[1]], tie: net(at, [0, 0]) }
            }
        };
        vector::Node { round: node.round as usize, kind }
    };
    tree.nodes.iter().enumerate().map(node).collect()
}

/// Holds a river's report to what the plain program finds of its strategies in double precision; a value of the report has this rounding.
fn confirm(what: &str, spot: &Spot, report: &SpotReport, rounding: f64) {
    let (game, tree) = spot.build(false).expect("good");
    let deck = poker::Deck { n_suits: 4, n_ranks: 13 };
    let board = game.streets[0].boards[0].cards;
    let plain = vector::Game::new(deck, 2, board, &[0], game.hands.clone(), game.weights.clone(), plain_nodes(&tree));
    let strategies = vector::ByHand(|point: vector::DecisionPoint, hand: usize| {
        report.by_hand[point.seat][hand].strategy.get(&tree.history(point.node as u32)).cloned()
    });
    let evaluator = vector::Evaluator::new(&plain);
    let (values, equities) = (evaluator.values(&strategies), plain.equities());
    let exactly = Tolerance { abs: rounding, rel: 0.0 };
    close(&format!("{what}: ev"), &report.ev, &values, exactly);
    close(&format!("{what}: equity"), &report.equity, &equities, exactly);
    for seat in 0..2 {
        let all = [evaluator.hand_winnings(&strategies, seat), plain.equity(seat)];
        for (hand, of_hand) in report.by_hand[seat].iter().enumerate() {
            let [winnings, share] = [all[0][hand], all[1][hand]];
            // A hand that meets none of the other seat's.
            if !winnings.is_nan() {
                close(&format!("{what}: {of_hand:?}"), &[of_hand.ev, of_hand.equity], &[winnings, share], exactly);
            }
        }
    }
    // Half a sum of four values.
    let left = evaluator.nash_conv(&strategies) / 2.0;
    let found = report.exploitability().expect("measured");
    close(&format!("{what}: exploitability"), &[found], &[left], Tolerance { abs: 2.0 * rounding, rel: 0.0 });
}

#[test]
fn the_reference_s_best_response_confirms_a_solved_river() {
    for (name, spot) in
        Spot::read_all(holdem_spots()).expect("good spots").into_iter().filter(|(name, _)| name.starts_with("river"))
    {
        confirm(&name, &spot, &solved(&spot, 100, &[]), DOUBLE);
    }
}

/// Rivers in one batch on the devices that run kernels: the plain program finds their strategies worth what they say, and both precisions lie around the value of the game.
#[test]
fn kernels_solve_batches_of_rivers() {
    let mut spots: Vec<Spot> = [60, 150, 300].iter().map(|stack| parsed(json!({"effective_stack": stack}))).collect();
    // Seat 1 must call a bet of 50.
    spots.push(parsed(
        json!({"effective_stack": 200, "added_lines": ["r80"], "removed_lines": ["r50f", "r50r200", "cr50"]}),
    ));
    let run = |precision| SpotRun {
        options: Options { algorithm: Algorithm::CfrPlus, precision, iterations: 8, ..Options::default() },
        measure_at: vec![1],
        ..SpotRun::default()
    };
    let expected = solve_spots(&[Device::cpu()], &spots, &run(Precision::F64), always).expect("devices");
    for_each_device(|device| {
        let reports = solve_spots(std::slice::from_ref(device), &spots, &run(Precision::F32), always)?;
        for ((spot, report), expected) in spots.iter().zip(reports).zip(&expected) {
            let report = report?;
            let expected = expected.as_ref().expect("solved");
            let what = format!("stacks of {} on {device}", spot.effective_stack);
            confirm(&what, spot, &report, SINGLE);
            // The first average is uniform.
            let [found, uniform] = [&report, expected].map(|report| report.trajectory[&1]);
            assert!((found - uniform).abs() < 2.0 * SINGLE, "{what}, after 1: {found}, expected {uniform}");
            for (got, want) in report.ev.iter().zip(expected.ev) {
                assert!((got - want).abs() < apart(&report) + apart(expected), "{what}: ev {got}, {want}");
            }
        }
        Ok(())
    });
}

/// Prizes that are worth more to keep than to gain: who faces an all-in calls only if more of the bets are bluffs.
#[test]
fn prizes_are_played_for() {
    let changes = json!({
        "effective_stack": 100, "bet_fraction_of_pot": 1, "flop": "Ks 7h 2d", "turn": "8c", "river": "3s", "ranges": ["AA,65s,64s", "QQ"],
        "icm": {"others": [100], "prizes": [50, 30, 20]},
    });
    let spot = parsed(changes);
    let (_, tree) = spot.build(true).expect("good");
    let node = &tree.nodes[tree.find("r100c").expect("the call") as usize];
    // With 300 of 400 chips, first or second; without chips, third.
    let (win, lose) = (0.75 * 50.0 + 0.25 * 30.0, 20.0);
    // Who folds has 100 chips, the winner 200, and so has the third 100.
    let second = 0.5 * 100.0 / 200.0 + 0.25 * 100.0 / 300.0;
    let fold = 0.25 * 50.0 + second * 30.0 + (0.75 - second) * 20.0;
    let exactly = Tolerance { abs: 1e-12, rel: 0.0 };
    close("seat 1 wins", &tree.payoffs(node, &[0, 1]), &[lose - fold, win - fold], exactly);
    let folded = &tree.nodes[tree.find("r100f").expect("the fold") as usize];
    close("seat 1 folds", &tree.payoffs(folded, &[0, 0])[1..], &[0.0], exactly);

    let report = solved(&spot, 2000, &[]);
    report.check(&spot).expect("an intact report");
    confirm("prizes", &spot, &report, DOUBLE);
    close("folding at once", &report.icm_base.expect("prizes"), &[fold, fold], exactly);
    // All hands of a kind are alike, since no suit matters; none blocks another.
    let mean = |seat: usize, history: &str, action: usize, bluffs: bool| -> f64 {
        let hands = report.by_hand[seat].iter().filter(|hand| hand.hand.contains('6') == bluffs);
        hands.map(|hand| hand.strategy[history][action]).sum()
    };
    let (bluffs, best) = (mean(0, "", 1, true), mean(0, "", 1, false));
    let (part_of_bluffs, bets) = (bluffs / (bluffs + best), (bluffs + best) / 14.0);
    let calls = mean(1, "r100", 1, false) / 6.0;
    // What seat 1 gains if it always took the better of call and fold is at most both seats' possible gains.
    let call = part_of_bluffs * (win - fold) + (1.0 - part_of_bluffs) * (lose - fold);
    let worse = if call > 0.0 { 1.0 - calls } else { calls };
    assert!(call.abs() * worse * bets <= apart(&report) + DOUBLE, "{call} {worse} {bets}");
    // So the bets have the part of bluffs that makes a call worth a fold. With chips it is a third.
    let indifferent = (fold - lose) / (win - lose);
    let most = apart(&report) / (worse * bets * (win - lose));
    assert!(
        (part_of_bluffs - indifferent).abs() <= most + DOUBLE && most < 0.05 && indifferent > 0.43,
        "{part_of_bluffs}, {most}"
    );
    for_each_device(|device| {
        let options = Options { algorithm: Algorithm::CfrPlus, iterations: 8, ..Options::default() };
        let report = spot.solve(device, &SpotRun { options, ..SpotRun::default() })?;
        confirm(&format!("prizes on {device}"), &spot, &report, SINGLE);
        Ok(())
    });
}

/// After one iteration the averages are uniform: on every board and in every line, kernels find what the CPU does.
#[test]
fn kernels_see_the_same_tree() {
    let changes = json!({
        "effective_stack": 200, "bet_fraction_of_pot": null, "river": null, "ranges": ["AA,T9s", "KK,98s"],
        "bet_sizes": {"turn": ["30%", "e"], "river": [["e"], ["50c", "a"]]}, "raise_sizes": {"turn": ["2.5x"], "river": ["a"]},
        "donk_sizes": {"river": []}, "max_raises": {"turn": 2, "river": 2}, "add_all_in": 1, "force_all_in": 0.2, "merge_sizes": 0.1,
        "added_lines": ["cc/r80"], "removed_lines": ["cr30r75f", "r30c/c"], "icm": {"stacks": [200, 300], "others": [250, 50], "prizes": [200, 100, 50]},
    });
    let spot = parsed(changes);
    let solve = |device: &Device, precision, engine| {
        let options = Options { algorithm: Algorithm::CfrPlus, precision, engine, iterations: 1, ..Options::default() };
        spot.solve(device, &SpotRun { options, ..SpotRun::default() })
    };
    let expected = solve(&Device::cpu(), Precision::F64, Engine::Cpu).expect("solves");
    for_each_device(|device| {
        let report = solve(device, Precision::F32, Engine::Street)?;
        let rounding = Tolerance { abs: 2.0 * SINGLE, rel: 0.0 };
        close(&format!("ev on {device}"), &report.ev, &expected.ev, rounding);
        let [found, uniform] = [&report, &expected].map(|report| report.trajectory[&1]);
        close(&format!("exploitability on {device}"), &[found], &[uniform], rounding);
        Ok(())
    });
}

/// Rivers that a journal does not hold are solved in smaller batches: to the same bits.
#[test]
fn batches_of_rivers_go_on_with_their_journal() {
    let spots: Vec<Spot> = [60, 150, 300].iter().map(|stack| parsed(json!({"effective_stack": stack}))).collect();
    for_each_device(|device| {
        let solve = |n_devices: usize, journal: Option<Target>| -> warpplay::Result<Vec<SpotReport>> {
            let options = Options { algorithm: Algorithm::CfrPlus, iterations: 8, ..Options::default() };
            let run = SpotRun { options, journal, ..SpotRun::default() };
            let reports = solve_spots(&vec![device.clone(); n_devices], &spots, &run, always)?;
            reports.into_iter().map(|report| Ok(SpotReport { seconds: 0.0, ..report? })).collect()
        };
        let whole = solve(1, None)?;
        assert!(solve(3, None)? == whole, "a device for each on {device}");
        let folder = Folder::new();
        let path = folder.path("journal");
        assert!(solve(1, Some(Target::New(path.clone())))? == whole, "on {device}");
        let text = folder.text("journal");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        assert_eq!(lines.len(), 4);
        for n in 1..=4 {
            folder.write("journal", lines[..n].concat().as_bytes());
            assert!(solve(1, Some(Target::GoOn(path.clone())))? == whole, "after {n} lines on {device}");
        }
        Ok(())
    });
}
