//! No-limit games with menus of sizes of bets: their files, their betting, and solves by sampled deals.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use warpplay::cfr::{
    Abstraction, Algorithm, BettingTree, Checkpoint, Engine, GameDef, Problem, Sampling, Solver, SolverBuilder,
    Strategy, head_to_head, head_to_head_sampled,
};
use warpplay::{Backend, Device, Precision};
use warpplay_cpu_ref::cfr::poker::{Betting, Rules};
use warpplay_tests::backends::for_each_device;

/// Leduc's cards without limit.
fn leduc(menu: &str, stacks: &str) -> GameDef {
    GameDef::parse(&text(menu, stacks)).unwrap_or_else(|error| panic!("{error}"))
}

fn text(menu: &str, stacks: &str) -> String {
    format!(
        "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 2\nstack = {stacks}\nblind = 1 1\n{menu}\nmaxRaises = 2 2\nnumSuits = 2\n\
         numRanks = 3\nnumHoleCards = 1\nnumBoardCards = 0 1\nEND GAMEDEF\n"
    )
}

#[test]
fn menus_are_read_and_written() {
    let rules = leduc("betSizes = 0.5 75% 20c all-in / 1.125 a", "100 100");
    assert!(rules.to_string().contains("\nbetSizes = 0.5 0.75 20c allin / 1.125 allin\n"), "{rules}");
    assert_eq!(GameDef::parse(&rules.to_string()).expect("its own text"), rules);
    let json = serde_json::to_string(&rules).expect("JSON");
    assert_eq!(serde_json::from_str::<GameDef>(&json).expect("its own JSON"), rules);
    assert_eq!(leduc("BETSIZES 1", "9 9").bet_sizes, leduc("betSizes = 1 / 1", "9 9").bet_sizes);
    // A game without a menu is written as ever.
    let without = leduc("", "9 9");
    assert!(!format!("{without:?}{}", serde_json::to_string(&without).expect("JSON")).contains("bet_sizes"));
    for (menu, says) in [
        ("betSizes = 0.5 x", "column 16: 'x' is not a size of a bet: expected parts of the pot"),
        ("betSizes = 0", "'0' is not a size"),
        ("betSizes = 75", "'75' is not a size"),
        ("betSizes = 0.3333", "'0.3333' is not a size"),
        ("betSizes = 0c", "'0c' is not a size"),
        ("betSizes =", "at least one size a round"),
        ("betSizes = 1 / / 1", "betSizes for 3 rounds: expected sizes for 2 rounds"),
        ("betSizes = 1\nbetSizes = 1", "a second betSizes, the first is in line 7"),
    ] {
        let error = GameDef::parse(&text(menu, "9 9")).expect_err(menu).to_string();
        assert!(error.contains(says), "{error}\nexpected {says}");
    }
    let limit = text("betSizes = 1\nraiseSize = 1 1", "9 9").replace("nolimit", "limit");
    let error = GameDef::parse(&limit).expect_err("limit").to_string();
    assert!(error.contains("line 7") && error.contains("betSizes 1 / 1: expected none in limit"), "{error}");
}

/// Half the pot of 2 is a bet of 1; the pot after a call of it is 4, and a raise of half of that is to 4. A third of 2 chips is rounded to 1.
#[test]
fn sizes_are_whole_chips_between_the_smallest_raise_and_all_in() {
    let after = |menu: &str, history: &str| {
        let tree = BettingTree::new(&leduc(menu, "6 5")).expect("a tree");
        let node = tree.find(history).expect("a history");
        let all = (0..tree.nodes.len() as u32).filter(|&at| tree.nodes[at as usize].parent == Some(node));
        all.map(|at| tree.history(at)).collect::<Vec<_>>()
    };
    assert_eq!(after("betSizes = 50% allin", ""), ["c", "r2", "r6"]);
    assert_eq!(after("betSizes = 50% allin", "r2"), ["r2f", "r2c/", "r2r4", "r2r5"]);
    assert_eq!(after("betSizes = 0.333 3c 20 1 2c", ""), ["c", "r2", "r3", "r4", "r6"]);
}

/// All histories are those of the plain program.
#[test]
fn trees_are_those_of_the_plain_program() {
    fn ends(rules: &Rules, betting: &Betting, into: &mut BTreeSet<String>) {
        into.insert(betting.history.clone());
        for action in betting.actions(rules) {
            ends(rules, &betting.after(rules, action), into);
        }
    }
    for menu in ["betSizes = 0.3 0.5 0.75 1 allin", "betSizes = 0.455 1.5 / 3c 1 20", "betSizes = allin", ""] {
        let rules = leduc(menu, "21 17");
        let tree = BettingTree::new(&rules).expect("a tree");
        let plain = Rules::from(&rules);
        let mut expected = BTreeSet::new();
        ends(&plain, &Betting::new(&plain), &mut expected);
        let histories: BTreeSet<String> = (0..tree.nodes.len() as u32).map(|node| tree.history(node)).collect();
        assert_eq!(histories, expected, "{menu}");
    }
}

fn sampled(problem: impl Into<Problem>) -> SolverBuilder {
    let builder = Solver::builder(problem).algorithm(Algorithm::CfrPlus).sampling(Sampling::Chance).batch(32);
    builder.engine(Engine::Walk).precision(Precision::F64).seed(3)
}

/// Two to five sizes, so every form of choices: the value of the game lies no further from the strategy's than NashConv; simt has the bits of the CPU; measured twice, once in the walk's
/// own sets and once from the strategy over explicit histories, it is the same; and a solve goes on from its file.
#[test]
fn menus_are_solved_by_sampled_deals() {
    let folder = tempfile::tempdir().expect("a folder");
    for (sizes, menu) in [(2, "1 allin"), (3, "0.5 1 allin"), (4, "0.5 1 1.5 allin"), (5, "0.5 1 1.5 2 allin")] {
        let rules = leduc(&format!("betSizes = {menu}"), "16 16");
        let exact = Solver::builder(&rules).algorithm(Algorithm::CfrPlus).precision(Precision::F64).iterations(300);
        let mut exact = exact.build(&Device::cpu()).expect("a solver");
        exact.run(|_| ControlFlow::Continue(())).expect("runs");
        let exact = exact.exploitability().expect("measured");
        let run = |device: &Device, builder: SolverBuilder| {
            let mut solver = builder.build(device).expect("a solver");
            solver.run(|_| ControlFlow::Continue(())).expect("runs");
            solver
        };
        let mut on_cpu = run(&Device::cpu(), sampled(&rules).iterations(20));
        let checkpoint = on_cpu.checkpoint().expect("a checkpoint");
        for_each_device(|device| {
            let mut solver = run(device, sampled(&rules).iterations(20));
            if device.backend() == Backend::Simt {
                assert!(solver.checkpoint()?.same_tables(&checkpoint), "{menu}");
            }
            Ok(())
        });
        let mut first = run(&Device::cpu(), sampled(&rules).iterations(8));
        first.checkpoint().expect("a checkpoint").save(folder.path().join("half")).expect("saved");
        let kept = Checkpoint::load(folder.path().join("half")).expect("loaded");
        let mut rest = run(&Device::cpu(), Solver::builder(&rules).resume(kept).iterations(20));
        assert!(rest.checkpoint().expect("a checkpoint").same_tables(&checkpoint), "{menu}");

        let strategy = on_cpu.strategy().expect("a strategy");
        strategy.save(folder.path().join("strategy")).expect("saved");
        let strategy = Strategy::load(folder.path().join("strategy")).expect("loaded");
        let answer = strategy.query("", "", "2c").expect("an answer");
        assert_eq!(answer.choices.len(), 1 + sizes, "{menu}: {answer:?}");
        let sum: f64 = answer.choices.iter().map(|choice| choice.probability).sum();
        // Rounded to single precision one by one.
        assert!((sum - 1.0).abs() < 6.0 * f64::from(f32::EPSILON));
        let own = on_cpu.exploitability().expect("measured");
        let profile = strategy.profile(&Device::cpu(), Precision::F64).expect("measured");
        // Probabilities are stored in single precision: pots of 32 chips, a dozen probabilities a line.
        let rounded = 32.0 * 12.0 * 2.0 * f64::from(f32::EPSILON);
        assert!((own.nash_conv - profile.nash_conv).abs() < rounded, "{menu}: {} {}", own.nash_conv, profile.nash_conv);
        // Both values are within NashConv of the game's.
        let apart = (own.value[0] - exact.value[0]).abs();
        assert!(apart <= own.nash_conv + exact.nash_conv, "{menu}: {apart}");
        // 60 times the deals: by the bound of regret matching, the square root of that less; half is left for constants.
        let longer = run(&Device::cpu(), sampled(&rules).iterations(1200)).exploitability().expect("measured");
        assert!(longer.nash_conv < 0.5 * own.nash_conv, "{menu}: {} {}", longer.nash_conv, own.nash_conv);
    }
}

/// Buckets and menus together, and matches by all deals and by sampled ones.
#[test]
fn menus_are_solved_in_buckets() {
    let device = Device::cpu();
    let rules = leduc("betSizes = 0.5 1 allin / 1 2", "16 16");
    let solved = |problem: Problem| {
        let mut solver = sampled(problem).iterations(100).build(&device).expect("a solver");
        solver.run(|_| ControlFlow::Continue(())).expect("runs");
        solver.strategy().expect("a strategy")
    };
    let blind = Abstraction::build(&device, &rules, &"lossless,ehs:2".parse().expect("a recipe")).expect("buckets");
    let blind = solved(Problem::abstracted(rules.clone(), blind).expect("fits"));
    let exact = solved(Problem::from(&rules));
    assert_eq!(
        blind.query("r2", "", "2c").expect("an answer").choices,
        blind.query("r2", "", "2d").expect("one").choices
    );
    let won = head_to_head(&device, &exact, &blind, Precision::F64).expect("a match").value;
    let sampled = head_to_head_sampled(&exact, &blind, 4000, 7, |_| ControlFlow::Continue(())).expect("a match");
    let error = sampled.sampled.expect("sampled").standard_error;
    assert!((sampled.value - won).abs() < 5.0 * error, "{} +- {error}, expected {won}", sampled.value);
}
