//! One spot on many boards: classes and their means, journals, stops, ranks, devices, and what follows a line of a solved spot.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use warpplay::cfr::{Aggregate, Algorithm, Boards, Options, Spot, SpotRun, SpotSolver, solve_boards};
use warpplay::journal::Target;
use warpplay::ranks::{Ranks, Threads};
use warpplay::{Device, Error, Precision, Result};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::folder::Folder;

/// Values are sums of at most 64 × 64 pairs of hands on 48 boards, whose weights add up to 1, times at most 1,000 chips: so many roundings of 2⁻⁵³. Reaches that are small parts
/// of a range divide what is left.
const DOUBLE: f64 = 64.0 * 64.0 * 48.0 * 1000.0 / (1u64 << 53) as f64;

/// A turn spot with narrow ranges and one size; its rivers are to be solved.
fn turn(changes: Value) -> Spot {
    let mut spot = json!({
        "pot": 100, "effective_stack": 300, "bet_fraction_of_pot": 1, "flop": "Qs Jh 2h", "turn": "2d",
        "max_raises": {"turn": 1, "river": 1}, "ranges": ["AA,QQ:0.5,AKs", "KK,77:0.25,AQs"],
    });
    for (field, value) in changes.as_object().into_iter().flatten() {
        spot[field] = value.clone();
    }
    Spot::parse(&spot.to_string()).expect("a good spot")
}

fn run(iterations: u64) -> SpotRun {
    let options =
        Options { algorithm: Algorithm::CfrPlus, precision: Precision::F64, iterations, ..Options::default() };
    SpotRun { options, ..SpotRun::default() }
}

fn always(_: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Without what differs from run to run.
fn timeless(mut aggregate: Aggregate) -> Aggregate {
    aggregate.rows.iter_mut().for_each(|row| row.values.seconds = 0.0);
    aggregate
}

fn solved(spot: &Spot, boards: &str, run: &SpotRun) -> Aggregate {
    let boards = Boards::parse(boards, spot).expect(boards);
    timeless(solve_boards(&[Device::cpu()], spot, &boards, run, always).expect("solves"))
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < DOUBLE, "{found}, expected {expected}");
}

/// After one iteration the average is uniform, whatever the algorithm, so that nothing but rounding lies between boards that differ by the names of suits.
#[test]
fn one_board_of_a_class_stands_for_all() {
    // No range has a hand by its suits; hearts and spades lie there, clubs and diamonds are alike but for the turn, which is a diamond.
    let spot = turn(json!({"turn": "2s"}));
    let all: Vec<String> =
        "23456789TJQKA".chars().flat_map(|rank| "cdhs".chars().map(move |suit| format!("{rank}{suit}"))).collect();
    let all: Vec<String> =
        all.into_iter().filter(|card| !["Qs", "Jh", "2h", "2s"].contains(&&**card)).map(|card| card + ":1").collect();
    let (every, classes) = (solved(&spot, &all.join(","), &run(1)), solved(&spot, "all", &run(1)));
    assert_eq!((every.rows.len(), classes.rows.len()), (48, 48 - 13));
    let [every, classes] = [&every, &classes].map(|solved| solved.mean().expect("boards"));
    assert_eq!((every.weight, classes.weight), (48.0, 48.0));
    for seat in 0..2 {
        close(classes.ev[seat], every.ev[seat]);
        close(classes.equity[seat], every.equity[seat]);
    }
    close(classes.ev[0] + classes.ev[1], 100.0);
    assert_eq!(classes.decisions.len(), every.decisions.len());
    for (one, other) in classes.decisions.iter().zip(&every.decisions) {
        assert_eq!((&one.history, one.seat, &one.actions), (&other.history, other.seat, &other.actions));
        close(one.reach, other.reach);
        one.frequencies.iter().zip(&other.frequencies).for_each(|(one, other)| close(*one, *other));
    }
    // Uniform: a check or one bet, then a check or the same bet, or a fold or a call.
    assert_eq!(classes.decisions[0].actions, ["c", "r100", "r300"]);
    classes.decisions[0].frequencies.iter().for_each(|frequency| close(*frequency, 1.0 / 3.0));
    classes.decisions[1..].iter().for_each(|decision| close(decision.reach, 1.0 / 3.0));
}

#[test]
fn boards_that_the_ranges_block_are_left_out() {
    // Beside an ace of the board, two players cannot both have aces.
    let spot = turn(json!({"ranges": ["AA", "AA"]}));
    let solved = solved(&spot, "Ah, 8c, 3s, Ad", &run(3));
    assert_eq!(solved.blocked, ["QsJh2h2dAh", "QsJh2h2dAd"]);
    let boards: Vec<&str> = solved.rows.iter().map(|row| &*row.board).collect();
    assert_eq!((boards, solved.is_finished()), (vec!["QsJh2h2d8c", "QsJh2h2d3s"], true));
    for row in &solved.rows {
        // The six hands, each beside one other.
        assert_eq!((row.pairs, row.values.decisions[0].reach), (6.0, 1.0));
        row.values.equity.iter().for_each(|equity| close(*equity, 0.5));
    }
}

#[test]
fn boards_that_were_cut_off_go_on_with_their_journal() {
    let spot = turn(json!({}));
    let boards = Boards::parse("8c, Kd, 7s, Ah, 3c", &spot).expect("cards");
    let solve = |n_devices: usize, journal: Option<Target>, watch: &(dyn Fn(usize) -> ControlFlow<()> + Sync)| {
        let run = SpotRun { journal, ..run(20) };
        solve_boards(&vec![Device::cpu(); n_devices], &spot, &boards, &run, watch).map(timeless)
    };
    let whole = solve(1, None, &always).expect("solves");
    assert_eq!(solve(2, None, &always).expect("solves"), whole);
    let folder = Folder::new();
    let path = folder.path("journal");
    // Stopped after two: what is in progress does not count.
    let stopped = solve(1, Some(Target::New(path.clone())), &|n| match n {
        0 | 1 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    let stopped = stopped.expect("what it has");
    assert_eq!((&stopped.rows[..], stopped.left.len()), (&whole.rows[..2], 3));
    assert!(!stopped.is_finished());
    assert_eq!(solve(1, Some(Target::GoOn(path.clone())), &always).expect("goes on"), whole);
    let text = folder.text("journal");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 6);
    // A line has no hands.
    assert!(lines.iter().all(|line| line.len() < 2000), "{text}");
    for n in 1..=6 {
        let cut = lines.get(n).map_or("", |line| &line[..line.len() / 2]);
        folder.write("journal", (lines[..n].concat() + cut).as_bytes());
        assert_eq!(solve(1, Some(Target::GoOn(path.clone())), &always).expect("goes on"), whole, "after {n} lines");
    }
    // A journal of reports is another one.
    let run = SpotRun { journal: Some(Target::GoOn(path.clone())), ..run(20) };
    let error =
        warpplay::cfr::solve_spots(&[Device::cpu()], std::slice::from_ref(&spot), &run, always).expect_err("refused");
    assert!(error.to_string().contains("was made with command cfr boards, and this run has cfr subgame"), "{error}");
}

#[test]
fn a_board_that_fails_ends_the_work() {
    let boards = Boards::parse("8c, Kd, 7s", &turn(json!({}))).expect("cards");
    let asked = AtomicUsize::new(0);
    let count = |_: usize| {
        asked.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let bad = turn(json!({"pot": -1}));
    let error = solve_boards(&[Device::cpu()], &bad, &boards, &run(1000), count).expect_err("a bad pot");
    assert!(matches!(error, Error::Option { name: "pot", .. }), "{error}");
    // Not once more for each board that is left.
    assert_eq!(asked.into_inner(), 1);
    let error = solve_boards(&[], &turn(json!({})), &boards, &run(1), always).expect_err("no device");
    assert!(matches!(error, Error::Option { name: "device", .. }), "{error}");
}

#[test]
fn ranks_find_what_one_finds() {
    let spot = turn(json!({"ranges": ["AA", "AA,KK"]}));
    let boards = Boards::parse("8c, Kd, 7s, Ah, 3c", &spot).expect("cards");
    let alone = timeless(solve_boards(&[Device::cpu()], &spot, &boards, &run(10), always).expect("solves"));
    for size in [2, 3, 7] {
        let found = Threads::run(size, |ranks| {
            let share = boards.share(ranks.rank(), ranks.size());
            solve_boards(&[Device::cpu()], &spot, &share, &run(10), always)?.gather(&boards, ranks).map(timeless)
        });
        assert_eq!(found.expect("solves"), vec![alone.clone(); size]);
    }
    // A rank whose work fails ends the others.
    let failed: Result<Vec<Aggregate>> = Threads::run(2, |ranks| {
        let pot = if ranks.rank() == 1 { -1.0 } else { 100.0 };
        let spot = Spot { pot, ..spot.clone() };
        solve_boards(&[Device::cpu()], &spot, &boards, &run(1), always)?.gather(&boards, ranks)
    });
    let error = failed.expect_err("rank 1 fails").to_string();
    assert!(error.contains("option pot: -1"), "{error}");
}

/// Rivers are solved in the same launches, divided among the devices.
#[test]
fn devices_divide_rivers() {
    let spot = turn(json!({"effective_stack": 100}));
    let boards = Boards::parse("8c, Kd, 3c", &spot).expect("cards");
    let options = Options { algorithm: Algorithm::CfrPlus, iterations: 4, ..Options::default() };
    let run = SpotRun { options, ..SpotRun::default() };
    for_each_device(|device| {
        let solve = |n| solve_boards(&vec![device.clone(); n], &spot, &boards, &run, always).map(timeless);
        let one = solve(1)?;
        assert!(solve(2)? == one && solve(4)? == one, "on {device}");
        assert_eq!(one.rows.len(), 3);
        for decision in one.rows.iter().flat_map(|row| &row.values.decisions) {
            // A hundred hands' products in double precision, of probabilities that were rounded to single.
            assert!((decision.frequencies.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{decision:?} on {device}");
        }
        Ok(())
    });
}

/// With uniform strategies on the turn and on the rivers, the rivers that follow a line are worth together what the line is worth in the whole.
#[test]
fn rivers_after_a_line_are_worth_what_the_line_is() {
    let spot = turn(json!({}));
    let mut solver =
        SpotSolver::builder(&spot).precision(Precision::F64).iterations(1).build(&Device::cpu()).expect("a solver");
    solver.run(|_| ControlFlow::Continue(())).expect("runs");
    let whole = solver.solved().expect("tables");
    for (line, pot, stack) in [("cc", 100.0, 300.0), ("r100c", 300.0, 200.0), ("cr100c", 300.0, 200.0)] {
        let node = whole.at(line, "").expect(line);
        let next = node.spot().expect(line);
        assert_eq!((next.pot, next.effective_stack, next.turn.as_deref()), (pot, stack, Some("2d")), "{line}");
        let mean = solved(&next, "all", &run(1)).mean().expect("rivers");
        let report = node.report().expect("values");
        for seat in 0..2 {
            close(mean.ev[seat], report.ev[seat]);
            close(mean.equity[seat], report.equity[seat]);
        }
        // The same actions, by the chips since the line.
        let river = node.deal("8c").expect("a card");
        let chips = |action: &str| action[1..].parse::<f64>().map_or(-1.0, |chips| chips - (300.0 - stack));
        let shifted: Vec<f64> = river.actions().iter().map(|action| chips(action)).collect();
        let own: Vec<f64> =
            mean.decisions[0].actions.iter().map(|action| action[1..].parse().unwrap_or(-1.0)).collect();
        let shifted: Vec<f64> = shifted.into_iter().map(|chips| if chips < 0.0 { -1.0 } else { chips }).collect();
        assert_eq!(own, shifted, "{line}");
    }
}

#[test]
fn a_line_s_spot_keeps_what_the_spot_says() {
    let solve = |spot: &Spot| {
        let mut solver = SpotSolver::builder(spot).iterations(1).build(&Device::cpu()).expect("a solver");
        solver.run(|_| ControlFlow::Continue(())).expect("runs");
        solver.solved().expect("tables")
    };
    // Seat 0 calls a bet, and then it has sizes of its own; otherwise those of all bets.
    let donk = solve(&turn(
        json!({"donk_sizes": {"river": [0.5]}, "bet_fraction_of_pot": null, "bet_sizes": {"turn": [1], "river": [0.25]}}),
    ));
    for line in ["cr100c", "r100c", "cc"] {
        let node = donk.at(line, "").expect(line);
        let next = node.spot().expect(line).on("QsJh2h2d8c").expect("a board");
        let report = next.solve(&Device::cpu(), &run(1)).expect("solves");
        let before = if line == "cc" { 0.0 } else { 100.0 };
        for (history, at) in [("", line.to_string() + "/"), ("c", line.to_string() + "/c")] {
            let actions = donk.at(&at, "8c").expect("a node").actions();
            let shifted: Vec<String> = actions
                .iter()
                .map(|action| match action.strip_prefix('r') {
                    Some(chips) => format!("r{}", chips.parse::<f64>().expect("chips") - before),
                    None => action.clone(),
                })
                .collect();
            assert_eq!(report.actions[history], shifted, "{line} {history}");
        }
    }
    let plain = solve(&turn(json!({})));
    let bets = json!({"bet_sizes": {"turn": [1], "river": [0.5]}, "bet_fraction_of_pot": null});
    let edited = |changes: Value| {
        let mut all = bets.clone();
        changes.as_object().into_iter().flatten().for_each(|(field, value)| all[field] = value.clone());
        solve(&turn(all))
    };
    let lock = |history: &str| json!({"locks": [{"history": history, "seat": 0, "strategy": [0, 1]}]});
    // Every spelling of a history that the tree reads.
    let locked = ["cc/", "cc", "r100c/", "r100.0c", "rc"].map(|history| (history, edited(lock(history))));
    let [added, removed] = ["added_lines", "removed_lines"].map(|field| match field {
        "added_lines" => edited(json!({field: ["rc/r200"]})),
        _ => edited(json!({field: ["rc/r250.0"]})),
    });
    for (solved, line, told) in [
        (&plain, "c", "a line after which a card is dealt"),
        (&plain, "r100f", "a line after which a card is dealt"),
        (&plain, "r300c", "a line after which both seats have chips"),
        (&added, "r100c", "a line without locks, added or removed lines after it"),
        (&removed, "r100c", "a line without locks, added or removed lines after it"),
    ] {
        let error = solved.at(line, "").expect(line).spot().expect_err(line).to_string();
        assert_eq!(error, format!("option line: '{line}' is not allowed ({told})"));
    }
    for (history, solved) in &locked {
        let [on, other] = if history.starts_with("cc") { ["cc", "r100c"] } else { ["r100c", "cc"] };
        let error = solved.at(on, "").expect(on).spot().expect_err(history).to_string();
        assert!(error.ends_with("(a line without locks, added or removed lines after it)"), "{history}: {error}");
        solved.at(other, "").expect(other).spot().expect("a line beside the lock");
    }
    for solved in [&added, &removed] {
        solved.at("cc", "").expect("a node").spot().expect("a line beside the edited one");
    }
    // A seat that never bets does not come to what follows its bet.
    let never = solve(&turn(json!({"locks": [{"history": "", "seat": 0, "strategy": [1, 0, 0]}]})));
    let error = never.at("r100c", "").expect("a node").spot().expect_err("no hand").to_string();
    assert!(error.contains("a line that both seats play"), "{error}");
}

/// What is kept of a board has the engine's own values: in single precision the 1,326 hands and the 48 boards are added one after the other, at most 400 chips or one pot each, roundings of 2⁻²⁴.
#[test]
fn values_of_a_board_are_those_of_its_report() {
    let spot = turn(json!({"locks": [{"history": "c", "seat": 1, "strategy": {"KK": [0, 1, 0], "rest": [1, 0, 0]}}]}));
    let bound = (1326.0 + 48.0) / f64::from(1 << 24);
    let solve = |device: &Device| -> warpplay::Result<()> {
        let options = Options { iterations: 3, ..Options::SPOT };
        let mut solver = SpotSolver::builder(&spot).options(options).build(device)?;
        solver.run(|_| ControlFlow::Continue(()))?;
        let (values, report) = (solver.board_values()?, solver.report()?);
        for seat in 0..2 {
            let [ev, equity] = [values.ev[seat] - report.ev[seat], values.equity[seat] - report.equity[seat]];
            assert!(ev.abs() <= 400.0 * bound && equity.abs() <= bound, "{ev} {equity} on {device}");
        }
        assert_eq!((values.iterations, values.exploitability), (3, report.exploitability()));
        let after = &values.decisions.iter().find(|decision| decision.history == "c").expect("a decision");
        let played = &report.by_hand[1].iter().find(|hand| hand.hand == "KsKh").expect("a hand").strategy["c"];
        assert_eq!((after.seat, after.actions.len(), &played[..]), (1, 3, &[0.0, 1.0, 0.0][..]));
        // Of those, some of the range bet, all others check.
        assert!(after.frequencies[1] > 0.0 && after.frequencies[1] < 1.0 && after.frequencies[2] == 0.0);
        Ok(())
    };
    solve(&Device::cpu()).expect("solves");
    for_each_device(|device| solve(device));
}
