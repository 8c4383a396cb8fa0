//! Spots saved whole: every street's strategies come back, a solve goes on with the same bits, damage is found, and nodes are worth what they should be.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use safetensors::SafeTensors;
use serde_json::{Value, json};
use warpplay::cfr::spot::{Node, NodeReport, SpotForm, SpotSolverBuilder, SpotTarget};
use warpplay::cfr::{Algorithm, Checkpoint, Engine, SolvedSpot, Solver, Spot, SpotRun, SpotSolver, Strategy};
use warpplay::{Device, Error, Precision};
use warpplay_tests::folder::Folder;

/// Values are sums of at most 64 × 64 pairs of hands on 49 × 48 boards, whose weights add up to 1, times at most 1,000 chips: so many roundings of 2⁻⁵³. Reaches that are small parts
/// of a range divide what is left.
const DOUBLE: f64 = 64.0 * 64.0 * 49.0 * 48.0 * 1000.0 / (1u64 << 53) as f64;

pub(super) fn river() -> Spot {
    spot(
        json!({"turn": "2d", "river": "7c", "max_raises": {"river": 2}, "effective_stack": 300, "bet_fraction_of_pot": 0.5}),
    )
}

pub(super) fn turn() -> Spot {
    spot(json!({"turn": "2d"}))
}

/// Three suits are alike but by name.
pub(super) fn flop() -> Spot {
    spot(json!({"flop": "Qs Js 2s", "ranges": ["AKs,TT:0.5", "AQs:0.75,99"]}))
}

/// A spot with narrow ranges and one size.
pub(super) fn spot(changes: Value) -> Spot {
    let mut spot = json!({
        "pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1, "flop": "Qs Jh 2h",
        "max_raises": {"flop": 1, "turn": 1, "river": 1}, "ranges": ["AA,QQ:0.5,AKs", "KK,77:0.25,AQs"],
    });
    for (field, value) in changes.as_object().into_iter().flatten() {
        spot[field] = value.clone();
    }
    Spot::parse(&spot.to_string()).expect("a good spot")
}

fn builder(spot: &Spot, iterations: u64) -> SpotSolverBuilder {
    SpotSolver::builder(spot).algorithm(Algorithm::CfrPlus).iterations(iterations)
}

fn solved(builder: SpotSolverBuilder, device: &Device) -> SpotSolver {
    let mut solver = builder.build(device).expect("a solver");
    solver.run(|_| ControlFlow::Continue(())).expect("runs");
    solver
}

/// A node and all that follow it, with the cards dealt since the spot began; only these cards are dealt.
fn walk<'a>(node: Node<'a>, dealt: &str, cards: &[&str], all: &mut Vec<(Node<'a>, String)>) {
    for action in node.actions() {
        walk(node.child(&action).expect("an action"), dealt, cards, all);
    }
    if node.is_deal() {
        for card in cards.iter().filter(|card| !dealt.contains(**card)) {
            walk(node.deal(card).expect("a card"), &format!("{dealt}{card}"), cards, all);
        }
    }
    all.push((node, dealt.to_string()));
}

fn nodes<'a>(solved: &'a SolvedSpot, cards: &[&str]) -> Vec<(Node<'a>, String)> {
    let mut all = Vec::new();
    walk(solved.root(), "", cards, &mut all);
    all
}

#[test]
fn a_saved_spot_has_the_strategies_of_the_engine_on_every_street() {
    let folder = Folder::new();
    let path = folder.path("a.spot");
    let simt = Device::simt();
    for (name, spot, device, iterations) in [
        ("river", river(), Device::cpu(), 30),
        ("turn", turn(), Device::cpu(), 20),
        ("flop", flop(), Device::cpu(), 5),
        ("river", river(), simt.clone(), 5),
        ("turn", turn(), simt.clone(), 2),
        ("flop", flop(), simt, 1),
    ] {
        let mut solver = solved_builder(&spot, iterations, &device);
        solver.save(&path, SpotForm::Full).expect("written");
        let (opened, live) = (SolvedSpot::open(&path).expect("opened"), solver.solved().expect("strategies"));
        assert_eq!((opened.spot(), opened.iterations(), opened.form()), (&spot, iterations, SpotForm::Full), "{name}");
        assert_eq!((opened.options(), opened.trajectory()), (solver.options(), solver.trajectory()));
        // What the solver of any problem finds, in single precision.
        let options = *solver.options();
        let mut other = Solver::builder(&spot).options(options).measure_at([]).build(&device).expect("a solver");
        other.run(|_| ControlFlow::Continue(())).expect("runs");
        let strategy = other.strategy().expect("a strategy");
        let first = opened.root().board();
        let cards = ["3h", "3c", "As"];
        let (mut n_sets, mut n_nodes) = (0, BTreeMap::new());
        for ((node, dealt), (same, _)) in nodes(&opened, &cards).iter().zip(nodes(&live, &cards)) {
            let at = format!("{name} on {device}, '{}' on {}", node.history(), node.board());
            assert_eq!((node.history(), node.board()), (same.history(), same.board()));
            let strategies = node.strategies().expect("strategies");
            assert_eq!(strategies, same.strategies().expect("strategies"), "{at}");
            let board = format!("{first}{dealt}");
            for (hand, found) in strategies {
                let answer = strategy.query(&node.history(), &board, &hand).expect("an answer");
                assert_eq!(node.strategy(&hand).expect("a hand"), found, "{at}");
                assert_eq!(Some(answer.seat), node.seat());
                for (found, choice) in found.iter().zip(&answer.choices) {
                    // A probability of single precision, normalised.
                    assert!((found - choice.probability).abs() < 1e-6, "{at}, {hand}: {found}, {choice:?}");
                }
                n_sets += 1;
            }
            *n_nodes.entry(node.street()).or_insert(0) += 1;
        }
        let streets = match name {
            "river" => vec!["river"],
            "turn" => vec!["river", "turn"],
            _ => vec!["flop", "river", "turn"],
        };
        assert_eq!(n_nodes.keys().copied().collect::<Vec<_>>(), streets, "{name}");
        assert!(n_sets > 50, "{name}: {n_sets} sets");
    }
}

fn solved_builder(spot: &Spot, iterations: u64, device: &Device) -> SpotSolver {
    solved(builder(spot, iterations), device)
}

/// The tensors of a file, without its metadata.
fn tensors(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let bytes = fs::read(path).expect("a file");
    let file = SafeTensors::deserialize(&bytes).expect("safetensors");
    file.tensors().into_iter().map(|(name, tensor)| (name, tensor.data().to_vec())).collect()
}

#[test]
fn a_resumed_solve_ends_with_the_same_bits() {
    let folder = Folder::new();
    let [whole, part] = ["whole.spot", "part.spot"].map(|name| folder.path(name));
    let case = |algorithm, precision, engine| (algorithm, precision, engine);
    let cases = [
        (Device::cpu(), turn(), case(Algorithm::Dcfr, Precision::F32, Engine::Auto)),
        (Device::cpu(), river(), case(Algorithm::PcfrPlus, Precision::F64, Engine::Auto)),
        (Device::simt(), river(), case(Algorithm::PcfrPlus, Precision::F32, Engine::Auto)),
        (Device::simt(), river(), case(Algorithm::CfrPlus, Precision::F32, Engine::Street)),
        (Device::simt(), river(), case(Algorithm::Dcfr, Precision::I16, Engine::Street)),
    ];
    for (device, spot, (algorithm, precision, engine)) in cases {
        let builder = |iterations| {
            let builder = SpotSolver::builder(&spot).algorithm(algorithm).precision(precision).engine(engine);
            // Never reached, but measured for.
            builder.iterations(iterations).target(SpotTarget::Chips(1e-9))
        };
        let mut solver = solved(builder(23), &device);
        solver.save(&whole, SpotForm::Full).expect("written");
        solved(builder(7), &device).save(&part, SpotForm::Full).expect("written");
        let resumed = SpotSolver::resume(&part).expect("opened").iterations(23).target(SpotTarget::Chips(1e-9));
        let mut resumed = solved(resumed, &device);
        let report = resumed.report().expect("a report");
        assert_eq!(report.ev, solver.report().expect("a report").ev);
        resumed.save(&part, SpotForm::Full).expect("written");
        assert_eq!(tensors(&part), tensors(&whole), "{algorithm} in {precision} on {device}");
        // The end of the first part was measured beside.
        let mut found = resumed.trajectory().clone();
        assert!(found.remove(&7).is_some());
        assert_eq!(&found, solver.trajectory());
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [10, 20, 23]);
    }
}

#[test]
fn strategies_in_sixteen_bits_are_within_a_step_and_a_quarter_of_the_size() {
    let folder = Folder::new();
    let [full, short] = ["full.spot", "short.spot"].map(|name| folder.path(name));
    let mut solver = solved_builder(&turn(), 20, &Device::cpu());
    solver.save(&full, SpotForm::Full).expect("written");
    solver.save(&short, SpotForm::Strategies).expect("written");
    let sizes = [&full, &short].map(|path| tensors(path).values().map(Vec::len).sum::<usize>());
    assert_eq!(sizes[0], 4 * sizes[1]);
    let (exact, rounded) = (SolvedSpot::open(&full).expect("opened"), SolvedSpot::open(&short).expect("opened"));
    assert_eq!(rounded.form(), SpotForm::Strategies);
    for ((exact, _), (rounded, _)) in nodes(&exact, &["3h", "As"]).iter().zip(nodes(&rounded, &["3h", "As"])) {
        let strategies = exact.strategies().expect("strategies").into_iter();
        for ((hand, exact), (_, rounded)) in strategies.zip(rounded.strategies().expect("strategies")) {
            assert!((rounded.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for (exact, rounded) in exact.iter().zip(&rounded) {
                // A step, and the rounding of the division.
                assert!((exact - rounded).abs() < (1.0 + 1e-9) / 65535.0, "{hand}: {rounded}, expected {exact}");
            }
        }
    }
    let error = SpotSolver::resume(&short).expect_err("no regrets").to_string();
    let expected = "has strategies alone (form strategies), expected form full to go on from";
    assert_eq!(error, format!("{}: {expected}", short.display()));
}

/// Whether two hands can be dealt together.
fn apart(one: &str, other: &str) -> bool {
    !other.contains(&one[..2]) && !other.contains(&one[2..])
}

/// Weight of the other seat's hands beside a hand.
fn beside(node: &Node<'_>, seat: usize, hand: &str) -> f64 {
    node.reach(1 - seat).iter().filter(|(other, _)| apart(hand, other)).map(|(_, reach)| reach).sum()
}

fn hand_of<'a>(report: &'a NodeReport, seat: usize, hand: &str) -> &'a warpplay::cfr::spot::NodeHand {
    report.by_hand[seat].iter().find(|of| of.hand == hand).expect("a hand")
}

#[test]
fn nodes_are_worth_what_follows_them() {
    for (spot, iterations) in [(river(), 30), (turn(), 10)] {
        let mut solver = solved_builder(&spot, iterations, &Device::cpu());
        let (solved, whole) = (solver.solved().expect("strategies"), solver.report().expect("a report"));
        let root = solved.root().report().expect("a report");
        for seat in 0..2 {
            assert!((root.ev[seat] - whole.ev[seat]).abs() < DOUBLE, "{:?}, {:?}", root.ev, whole.ev);
            assert!((root.equity[seat] - whole.equity[seat]).abs() < DOUBLE);
            assert_eq!(root.by_hand[seat].len(), whole.by_hand[seat].len());
            for (found, expected) in root.by_hand[seat].iter().zip(&whole.by_hand[seat]) {
                assert_eq!((&found.hand, found.reach), (&expected.hand, expected.weight));
                assert!((found.ev - expected.ev).abs() < DOUBLE, "{found:?}, {expected:?}");
                assert!((found.equity - expected.equity).abs() < DOUBLE);
                let strategy = expected.strategy.get("").cloned().unwrap_or_default();
                assert_eq!(found.strategy, strategy);
            }
        }
        for (node, _) in nodes(&solved, &["3h", "As"]) {
            let report = node.report().expect("a report");
            let at = format!("'{}' on {}", report.history, report.board);
            let reached = [0, 1].map(|seat| node.reach(seat).iter().any(|(_, reach)| *reach > 1e-9));
            if reached == [true; 2] {
                let sum = report.ev[0] + report.ev[1];
                // Rounding of values, divided by the weight of the pairs of hands that come here.
                let pairs: f64 = node.reach(0).iter().map(|(hand, reach)| reach * beside(&node, 0, hand)).sum();
                if pairs > 1e-3 {
                    assert!((sum - report.pot).abs() < DOUBLE / 1e-3, "{at}: {sum}");
                }
                assert!((report.equity[0] + report.equity[1] - 1.0).abs() < 1e-9, "{at}: {:?}", report.equity);
            }
            // What an action is worth is what its node is worth less what it costs.
            for (action, name) in report.actions.iter().enumerate() {
                let seat = report.seat.expect("a seat acts");
                let next = node.child(name).expect("an action").report().expect("a report");
                for hand in &report.by_hand[seat] {
                    let expected = hand_of(&next, seat, &hand.hand).ev - (next.pot - report.pot);
                    let expected =
                        if beside(&node, seat, &hand.hand) > 1e-9 { expected } else { hand.action_ev[action] };
                    assert!((hand.action_ev[action] - expected).abs() < 1e-6, "{at}, {name}: {hand:?}, {expected}");
                    if name == "f" {
                        assert!(hand.action_ev[action].abs() < 1e-9, "{at}: {hand:?}");
                    }
                }
                for hand in &report.by_hand[seat] {
                    let mean: f64 = hand.strategy.iter().zip(&hand.action_ev).map(|(part, ev)| part * ev).sum();
                    assert!((mean - hand.ev).abs() < 1e-6, "{at}: {hand:?}");
                }
            }
        }
    }
}

#[test]
fn the_reports_of_a_street_are_those_of_its_nodes() {
    for (spot, iterations, history, board) in [
        (river(), 20, "", ""),
        (turn(), 5, "", ""),
        (turn(), 5, "c", ""),
        (flop(), 2, "cc/", "3h"),
        (flop(), 2, "cc/", "As"),
    ] {
        let mut solver = solved_builder(&spot, iterations, &Device::cpu());
        let solved = solver.solved().expect("strategies");
        let first = solved.at(history, board).expect("a node");
        let mut expected = vec![first.clone()];
        let mut at = 0;
        while let Some(node) = expected.get(at) {
            let next: Vec<Node<'_>> =
                node.actions().iter().map(|action| node.child(action).expect("an action")).collect();
            at += 1;
            // Before the nodes that follow those before.
            expected.splice(at..at, next);
        }
        let found = first.reports().expect("reports");
        assert_eq!(found.len(), expected.len());
        assert!(found.len() >= 5, "{} nodes", found.len());
        for ((node, report), expected) in found.iter().zip(&expected) {
            assert_eq!((node.history(), node.is_deal()), (expected.history(), expected.is_deal()));
            // The same products and sums in the same order.
            assert_eq!(report, &expected.report().expect("a report"), "'{}'", expected.history());
        }
    }
}

#[test]
fn what_is_dealt_is_the_mean_over_all_cards_whatever_their_suits() {
    // In double precision: strategies of hands that only suits tell apart differ by rounding, and one board of each class takes them for the same.
    let mut solver = solved(builder(&flop(), 5).precision(Precision::F64), &Device::cpu());
    let solved = solver.solved().expect("strategies");
    for (history, board, left) in [("cc", "", 45.0), ("cc/r100c", "3h", 44.0)] {
        let node = solved.at(history, board).expect("a node");
        assert!(node.is_deal() && node.seat().is_none());
        let report = node.report().expect("a report");
        let after: Vec<(Node<'_>, NodeReport)> = node
            .cards()
            .iter()
            .map(|card| {
                let next = node.deal(card).expect("a card");
                let report = next.report().expect("a report");
                (next, report)
            })
            .collect();
        for seat in 0..2 {
            for hand in &report.by_hand[seat] {
                let mut sums = [0.0; 2];
                for (next, report) in &after {
                    if let Some(found) = report.by_hand[seat].iter().find(|found| found.hand == hand.hand) {
                        let weight = beside(next, seat, &hand.hand) / left;
                        sums[0] += weight * found.ev;
                        sums[1] += weight * found.equity;
                    }
                }
                let weight = beside(&node, seat, &hand.hand);
                assert!((sums[0] - weight * hand.ev).abs() < 1e-6, "'{history}': {hand:?}, {}", sums[0] / weight);
                assert!((sums[1] - weight * hand.equity).abs() < 1e-9, "'{history}': {hand:?}, {}", sums[1] / weight);
            }
        }
    }
    // Boards that differ only by names of suits are played alike.
    let strategy = |card: &str, hand: &str| solved.at("cc/", card).expect("a node").strategy(hand).expect("a hand");
    assert_eq!(strategy("3h", "AhKh"), strategy("3d", "AdKd"));
    assert_eq!(strategy("3h", "AcKc"), strategy("3c", "AdKd"));
    assert_eq!(strategy("3h", "ThTc"), strategy("3c", "TdTc"));
}

#[test]
fn lines_and_boards_lead_to_nodes_or_are_told() {
    let mut solver = solved_builder(&turn(), 2, &Device::cpu());
    let solved = solver.solved().expect("strategies");
    let at = |history: &str, board: &str| {
        let node = solved.at(history, board).map_err(|error| error.to_string())?;
        Ok::<_, String>((node.history(), node.board(), node.street(), node.seat(), node.is_deal(), node.is_end()))
    };
    let board = |more: &str| solved.at("cc", more).expect("a node").board();
    assert_eq!(at("", ""), Ok((String::new(), board(""), "turn", Some(0), false, false)));
    assert_eq!(at("", "QsJh2h2d"), at("", ""));
    assert_eq!(at("cr100", ""), Ok(("cr100".into(), board(""), "turn", Some(0), false, false)));
    assert_eq!(at("cc", ""), Ok(("cc".into(), board(""), "turn", None, true, false)));
    assert_eq!(at("cc/", "3s"), Ok(("cc/".into(), board("3s"), "river", Some(0), false, false)));
    assert_eq!(at("cc", "3s"), at("cc/", "Qs Jh 2h 2d 3s"));
    assert_eq!(at("r100c", ""), Ok(("r100c".into(), board(""), "turn", None, true, false)));
    assert!(at("r100c", "3s").expect("a node").5);
    assert!(at("cc/r100f", "3s").expect("a node").5);
    for (history, cards, told) in [
        ("cc/", "", "option board: '' is not allowed (a card for each street of 'cc/')"),
        ("cc/c", "", "option board: '' is not allowed (a card for each street of 'cc/c')"),
        ("cc/c", "3s 4s", "option board: '3s 4s' is not allowed (1 fewer: 'cc/c' goes no further)"),
        ("c", "3s", "option board: '3s' is not allowed (1 fewer: 'c' goes no further)"),
        ("cc/c", "2d", "option board: '2d' is not allowed (a card that is not on the board: "),
        ("cc/c", "1d", "option board: '1d' is not allowed ("),
        ("cr50", "", "'cr50', column 2: 'r50': expected c, r100"),
    ] {
        let error = at(history, cards).expect_err(history);
        assert!(error.contains(told), "{history} on {cards}: {error}");
    }
    let root = solved.root();
    for (error, told) in [
        (root.child("r50").map(drop), "option action: 'r50' is not allowed (c, r100)"),
        (root.deal("3s").map(drop), "option card: '3s' is not allowed (a card only where one is dealt)"),
        (root.strategy("2h2c").map(drop), "option hand: '2h2c' is not allowed (a hand of seat 0 beside the board "),
        (root.strategy("Xx").map(drop), "option hand: 'Xx' is not allowed ("),
    ] {
        let error = error.expect_err(told).to_string();
        assert!(error.starts_with(told), "{error}");
    }
}

#[test]
fn a_run_ends_at_its_target_and_keeps_what_it_has() {
    let folder = Folder::new();
    let path = folder.path("a.spot");
    let spot = river();
    let target = SpotTarget::PartOfPot(0.01);
    let build = || builder(&spot, 100_000).target(target).checkpoint(&path).form(SpotForm::Strategies);
    let mut solver = build().checkpoint_every(Duration::from_nanos(1)).build(&Device::cpu()).expect("a solver");
    // Stopped early, it leaves a state to go on from, however it would end.
    let mut n_kept = 0;
    solver
        .run(|progress| {
            n_kept += u32::from(SolvedSpot::open(&path).is_ok());
            if progress.steps >= 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .expect("runs");
    assert!(n_kept > 0 && !solver.is_finished() && solver.iterations() == 3);
    let kept = SolvedSpot::open(&path).expect("opened");
    assert_eq!((kept.form(), kept.iterations()), (SpotForm::Full, 3));
    // An open file stays what it was when another is written under its name.
    let before = kept.root().strategies().expect("strategies");
    let chips = solver.run(|_| ControlFlow::Continue(())).expect("runs");
    assert!(chips <= 1.0 && solver.is_finished() && solver.iterations() < 100_000, "{chips}");
    assert_eq!(kept.root().strategies().expect("strategies"), before);
    assert_eq!(SolvedSpot::open(&path).expect("opened").form(), SpotForm::Strategies);
    let points: Vec<u64> = solver.trajectory().keys().copied().collect();
    assert!(points.iter().all(|at| at % 10 == 0 || *at == 3 || *at > 100), "{points:?}");
    // The same through the spot, which ends no later.
    let run = SpotRun { options: *solver.options(), target: Some(target), ..SpotRun::default() };
    let report = spot.solve(&Device::cpu(), &run).expect("solves");
    assert_eq!((report.iterations, report.exploitability()), (solver.iterations(), Some(chips)));
    for target in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = builder(&spot, 1).target(SpotTarget::Chips(target)).build(&Device::cpu()).expect_err("no target");
        assert!(matches!(error, Error::Option { name: "target", .. }), "{error}");
    }
}

#[test]
fn options_and_engines_of_a_resumed_spot_are_the_file_s() {
    let folder = Folder::new();
    let path = folder.path("a.spot");
    solved_builder(&river(), 5, &Device::cpu()).save(&path, SpotForm::Full).expect("written");
    let resume = || SpotSolver::resume(&path).expect("opened");
    let error = |builder: SpotSolverBuilder, device: &Device| builder.build(device).expect_err("refused").to_string();
    let cpu = Device::cpu();
    let told = error(resume().algorithm(Algorithm::Dcfr), &cpu);
    assert_eq!(told, "option algorithm: dcfr is not allowed (cfr_plus, as in the checkpoint)");
    assert!(error(resume().iterations(4), &cpu).contains("at least 5"));
    assert!(
        error(resume(), &Device::simt()).starts_with("resuming a solved spot: expected engine cpu, which wrote it")
    );
    let solver = resume().threads(1).iterations(6).build(&cpu).expect("goes on");
    assert_eq!((solver.iterations(), solver.options().algorithm), (5, Algorithm::CfrPlus));
}

#[test]
fn damage_is_found_wherever_it_is_and_foreign_files_are_named() {
    let folder = Folder::new();
    let path = folder.path("a.spot");
    let mut solver = solved_builder(&turn(), 3, &Device::cpu());
    let read_all = || -> Result<(), Error> {
        let solved = SolvedSpot::open(&path)?;
        solved.root().report()?;
        if solved.form() == SpotForm::Full {
            SpotSolver::resume(&path)?.build(&Device::cpu())?;
        }
        Ok(())
    };
    for form in [SpotForm::Full, SpotForm::Strategies] {
        solver.save(&path, form).expect("written");
        let whole = fs::read(&path).expect("a file");
        read_all().expect("whole");
        let header = 8 + u64::from_le_bytes(*whole.first_chunk().expect("a length")) as usize;
        let file = SafeTensors::deserialize(&whole).expect("safetensors");
        let mut places: Vec<(usize, String)> = (0..header).step_by(97).map(|at| (at, String::new())).collect();
        for (name, tensor) in file.tensors() {
            let first = tensor.data().as_ptr() as usize - whole.as_ptr() as usize;
            let inside = [0, tensor.data().len() / 2, tensor.data().len() - 1];
            places.extend(inside.map(|at| (first + at, name.clone())));
        }
        for (at, tensor) in places {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            fs::write(&path, &damaged).expect("written");
            let error = read_all().expect_err("damaged").to_string();
            assert!(error.starts_with(&path.display().to_string()), "byte {at}: {error}");
            if !tensor.is_empty() {
                let expected = format!("damaged solved spot: the checksum of tensor {tensor} is ");
                assert!(error.contains(&expected), "byte {at}: {error}");
            }
        }
        for length in [0, 7, 8, header - 1, header, header + 1, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..length]).expect("written");
            let error = read_all().expect_err("cut short").to_string();
            assert!(error.starts_with(&path.display().to_string()), "{length} bytes: {error}");
        }
    }
    // Damage of a later street does not hurt an earlier one.
    solver.save(&path, SpotForm::Full).expect("written");
    let mut bytes = fs::read(&path).expect("a file");
    let at = {
        let file = SafeTensors::deserialize(&bytes).expect("safetensors");
        file.tensor("averages.0.river").expect("a tensor").data().as_ptr() as usize - bytes.as_ptr() as usize
    };
    bytes[at] ^= 1;
    fs::write(&path, &bytes).expect("written");
    let solved = SolvedSpot::open(&path).expect("its header is whole");
    assert!(solved.root().strategies().is_ok() && solved.root().report().is_err());
    assert!(solved.at("cc/", "3s").expect("reaches need the turn alone").strategies().is_err());
    // Foreign files.
    solver.save(&path, SpotForm::Full).expect("written");
    assert!(SolvedSpot::is_saved_at(&path).expect("a file"));
    let told = |error: Error| error.to_string().split_once(": ").map(|(_, told)| told.to_string()).unwrap_or_default();
    let missing = "the metadata warpplay_cfr_strategy with a checksum is missing";
    assert_eq!(told(Strategy::load(&path).expect_err("a spot")), format!("not a strategy: {missing}"));
    assert!(told(Checkpoint::load(&path).expect_err("a spot")).starts_with("not a checkpoint of cfr"));
    let mut other = Solver::builder(river()).iterations(1).build(&Device::cpu()).expect("a solver");
    other.strategy().expect("a strategy").save(&path).expect("written");
    assert!(!SolvedSpot::is_saved_at(&path).expect("a file"));
    let error = told(SolvedSpot::open(&path).expect_err("a strategy"));
    assert_eq!(error, "not a solved spot: the metadata warpplay_cfr_spot with a checksum is missing");
    fs::write(&path, "{}").expect("written");
    assert!(!SolvedSpot::is_saved_at(&path).expect("a file"));
    assert!(told(SolvedSpot::open(&path).expect_err("JSON")).starts_with("not a safetensors file, or a damaged one"));
    fs::write(&path, "").expect("written");
    assert_eq!(told(SolvedSpot::open(&path).expect_err("empty")), "the file is empty, expected a solved spot");
    assert!(matches!(SolvedSpot::open(folder.folder()), Err(Error::File { .. })));
}

/// A checkpoint that cannot be written ends no run; at the end it is an error, after which the solver can be used.
#[test]
fn a_folder_that_goes_away_costs_a_file_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let gone = folder.path().join("gone");
    std::fs::create_dir(&gone).expect("a folder");
    let path = gone.join("a.spot");
    let every = std::time::Duration::from_nanos(1);
    let builder = builder(&turn(), 30).target(SpotTarget::PartOfPot(1e-9)).checkpoint(&path).checkpoint_every(every);
    let mut solver = builder.build(&Device::cpu()).expect("good");
    let mut n = 0;
    let error = solver.run(|_| {
        n += 1;
        if n == 1 {
            std::fs::remove_dir_all(&gone).expect("removed");
        }
        ControlFlow::Continue(())
    });
    assert!(matches!(error, Err(warpplay::Error::File { .. })), "{error:?}");
    assert!(n > 1 && solver.iterations() == 30 && solver.report().is_ok());
    std::fs::create_dir(&gone).expect("a folder");
    solver.run(|_| ControlFlow::Continue(())).expect("saved");
    // The target is kept, until another is set.
    let solved = SolvedSpot::open(&path).expect("a file");
    assert_eq!(solved.target(), Some(SpotTarget::PartOfPot(1e-9)));
    assert_eq!(solved.measured(), solver.trajectory().last_key_value().map(|(&at, &chips)| (at, chips)));
    let target = |builder: SpotSolverBuilder| builder.build(&Device::cpu()).expect("good").target();
    let resume = || SpotSolver::resume(&path).expect("opened");
    assert_eq!(target(resume()), solved.target());
    assert_eq!(target(resume().target(SpotTarget::Chips(1.0))), Some(SpotTarget::Chips(1.0)));
    assert_eq!(target(resume().target(None)), None);
}

/// What cannot come about is refused before anything is solved.
#[test]
fn points_and_files_are_checked_when_a_solver_is_built() {
    let spot = Spot::parse(
        r#"{"pot": 10, "effective_stack": 10, "bet_fraction_of_pot": 1.0, "flop": "Qs 2h Jh", "turn": "2d", "river": "7c", "ranges": ["AA,T9s", "KK"]}"#,
    );
    let spot = spot.expect("a spot");
    let builder = || SpotSolver::builder(&spot).iterations(10);
    for points in [vec![0], vec![11], vec![5, u64::MAX]] {
        let error = builder().measure_at(points).build(&Device::cpu()).map(drop).expect_err("a point").to_string();
        assert!(error.starts_with("option measure_at: ") && error.contains("(1 to 10, the iterations)"), "{error}");
    }
    let error =
        builder().checkpoint("/nonexistent/x").build(&Device::cpu()).map(drop).expect_err("no folder").to_string();
    assert!(error.contains("/nonexistent/x") && error.contains("there is no folder /nonexistent"), "{error}");
    // Reports print themselves; the board stands in the order of the deal.
    let mut solver = builder().build(&Device::cpu()).expect("a solver");
    solver.run(|_| ControlFlow::Continue(())).expect("it runs");
    let shown = solver.solved().expect("solved").root().report().expect("a report").to_string();
    assert!(shown.starts_with("after '' on QsJh2h2d7c, pot 10\nseat 0: ev "), "{shown}");
    assert_eq!(shown.lines().count(), 3 + 2 + 13, "{shown}");
}
