//! Games, spots, ranges, strategies and checkpoints of poker.

use std::ops::ControlFlow;
use std::path::Path;

use warpplay::Device;
use warpplay::cfr::spot::{Range, SpotForm};
use warpplay::cfr::{Checkpoint, Counts, GameDef, SolvedSpot, Solver, Spot, SpotSolver, Strategy};
use warpplay_tests::programs::{Scratch, warpplay};

use super::change::Form;
use super::mcts::journal;
use super::{Named, Parser, checksums, golden, mutants, seed, text};

const GAMES: [&str; 7] = [
    "cfr/games/leduc.limit.2p.game",
    "cfr/games/leduc.nolimit.2p.game",
    "cfr/games/kuhn.limit.3p.game",
    "cfr/games/holdem.limit.2p.game",
    "cfr/games/rhode_island.limit.2p.game",
    "cfr/games/variant_c.game",
    "cfr/games/variant_d.game",
];
const STRATEGIES: [&str; 5] = [
    "cfr/v0.1/kuhn.strategy",
    "cfr/v0.1/kuhn-compact.strategy",
    "cfr/v0.1/kuhn3-explicit.strategy",
    "cfr/v0.1/kuhn3-subset.strategy",
    "cfr/v0.1/kuhn3-walk.strategy",
];
const CHECKPOINTS: [&str; 10] = [
    "cfr/v0.1/small-f32.checkpoint",
    "cfr/v0.1/small-sampled-f32.checkpoint",
    "cfr/v0.1/street-f32.checkpoint",
    "cfr/v0.1/street-i16.checkpoint",
    "cfr/v0.1/subset-f64.checkpoint",
    "cfr/v0.1/explicit-cpu-f64.checkpoint",
    "cfr/v0.1/mccfr-external-f32.checkpoint",
    "cfr/v0.1/mccfr-cpu-f64.checkpoint",
    "cfr/v0.1/walk-f32.checkpoint",
    "cfr/v0.1/cpu-f64.checkpoint",
];

// The betting of a large game is counted for seconds.
mutants!(game, "cfr: game", 70, |_| {
    Parser::new(golden(&GAMES), Form::Text, |path| {
        let game = GameDef::read(path).map_err(text)?;
        // What is too large to be counted is told.
        drop(Counts::of(&game));
        Ok(())
    })
});

mutants!(spots, "cfr: spots", |_| {
    Parser::new(golden(&["commands/spots.json", "cfr/v0.1/river.json"]), Form::Text, |path| {
        for (_, spot) in Spot::read_all(path).map_err(text)? {
            drop(Solver::builder(spot).plan(&Device::cpu()));
        }
        Ok(())
    })
});

mutants!(range, "cfr: range of hands (text)", |_| {
    let seeds = ["AA,KK-TT,AKs:0.5,QJo,T9s+", "22+,A2s+:0.25,AhKd,7c6c:1", "all:0.1,AK-A9,55-22"];
    let seeds = seeds.iter().map(|text| ("range".to_string(), text.as_bytes().to_vec())).collect();
    Parser::new(seeds, Form::Text, |path| {
        let read = std::fs::read(path).map_err(text)?;
        let range = Range::parse(&String::from_utf8_lossy(&read)).map_err(text)?;
        assert!(range.hands(0).iter().all(|(_, weight)| (0.0..=1.0).contains(weight)));
        Ok(())
    })
    .naming(Named::Nothing)
});

mutants!(strategy, "cfr: strategy", |_| {
    let parser = Parser::new(golden(&STRATEGIES), Form::Tensors, |path: &Path| {
        let strategy = Strategy::load(path).map_err(text)?;
        let visited: Result<(), ()> = strategy.each(|answer| {
            let sum: f64 = answer.choices.iter().map(|choice| choice.probability).sum();
            assert!((sum - 1.0).abs() < 1e-3, "{}: probabilities add up to {sum}", answer.key);
            Ok(())
        });
        visited.expect("nothing fails");
        Ok(())
    });
    parser.repairing(checksums::state)
});

mutants!(checkpoint, "cfr: checkpoint", |_| {
    let parser = Parser::new(golden(&CHECKPOINTS), Form::Tensors, |path: &Path| {
        let checkpoint = Checkpoint::load(path).map_err(text)?;
        if let Some(problem) = checkpoint.problem() {
            // What cannot be gone on from here is told.
            drop(Solver::builder(problem).resume(checkpoint).build(&Device::cpu()));
        }
        Ok(())
    });
    parser.repairing(checksums::state)
});

mutants!(solved_spot, "cfr: solved spot", |folder| {
    let spot = Spot::read(warpplay_tests::golden::path("cfr/v0.1/river.json")).expect("a spot");
    let mut solver = SpotSolver::builder(&spot).iterations(3).build(&Device::cpu()).expect("a solver");
    solver.run(|_| ControlFlow::Continue(())).expect("runs");
    let seeds = SpotForm::ALL.iter().map(|&form| {
        let path = folder.join(format!("{form}.seed"));
        solver.save(&path, form).expect("written");
        seed(&path)
    });
    let parser = Parser::new(seeds.collect(), Form::Tensors, |path: &Path| {
        let solved = SolvedSpot::open(path).map_err(text)?;
        let report = solved.root().report().map_err(text)?;
        for hand in report.by_hand.iter().flatten().filter(|hand| !hand.strategy.is_empty()) {
            let sum: f64 = hand.strategy.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{}: probabilities add up to {sum}", hand.hand);
        }
        if let Ok(builder) = SpotSolver::resume(path) {
            // What cannot be gone on from here is told.
            drop(builder.build(&Device::cpu()));
        }
        Ok(())
    });
    parser.repairing(checksums::streamed)
});

mutants!(journal_of_spots, "cfr: journal of spots", 20, |_| {
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "cfr");
    let file = warpplay_tests::golden::path("commands/spots.json");
    let line = format!(
        "solve-spot {} --iterations 10 --report 10 --device cpu --threads 1 --checkpoint journal",
        file.display()
    );
    journal(&scratch, "cfr", &line)
});

mutants!(journal_of_a_comparison, "cfr: journal of a comparison", 20, |_| {
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "cfr");
    let file = warpplay_tests::golden::path("cfr/games/kuhn.limit.2p.game");
    let line = format!(
        "compare {} --seconds 0.01 --algorithms cfr,cfr_plus --device cpu --threads 1 --checkpoint journal",
        file.display()
    );
    journal(&scratch, "cfr", &line)
});
