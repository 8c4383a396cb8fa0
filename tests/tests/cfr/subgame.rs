//! Subgames solved anew: as safe as the blueprint, by exact best responses over the whole game; through files and with bad input.

use std::ops::ControlFlow;

use warpplay::cfr::game::{BettingKind, BettingNode};
use warpplay::cfr::{
    Abstraction, Algorithm, BettingTree, Checkpoint, Engine, GameDef, Problem, Sampling, Solver, SolverBuilder,
    Strategy, Subgame, Updates,
};
use warpplay::{Device, Result};
use warpplay_tests::backends::for_each_device;

/// Leduc's cards.
const N_CARDS: usize = 6;

/// How a seat plays: the probability of each action for a hand (a card), after a history, with the public card if there is one.
type Plays<'a> = dyn Fn(&str, Option<usize>, usize) -> Vec<f64> + 'a;

fn name(rules: &GameDef, card: usize) -> String {
    rules.deck.names(1 << card)
}

/// Values of Leduc for each card of `seat`, which plays its best against the other seat's reach at the node: Σ over the other's cards, and over public cards with a probability of 1/4 each.
fn best(
    tree: &BettingTree,
    at: usize,
    public: Option<usize>,
    seat: usize,
    reach: &[f64],
    plays: &Plays<'_>,
) -> Vec<f64> {
    let node = &tree.nodes[at];
    let parent_round = node.parent.map_or(0, |parent| tree.nodes[parent as usize].round);
    let shown = node.folded == 0 && matches!(node.kind, BettingKind::Terminal);
    if public.is_none() && (node.round > parent_round || shown) {
        let mut sum = vec![0.0; N_CARDS];
        for card in 0..N_CARDS {
            let left: Vec<f64> =
                reach.iter().enumerate().map(|(of, reach)| if of == card { 0.0 } else { reach / 4.0 }).collect();
            let values = best(tree, at, Some(card), seat, &left, plays);
            (0..N_CARDS).filter(|&own| own != card).for_each(|own| sum[own] += values[own]);
        }
        return sum;
    }
    match &node.kind {
        BettingKind::Terminal => {
            let strength = |card: usize| {
                let rank = card / 2;
                (if public.is_some_and(|public| public / 2 == rank) { 10 } else { 0 }) + rank as u32
            };
            let value = |own: usize| -> f64 {
                let against = |other: usize| {
                    let mut strengths = [strength(own); 2];
                    strengths[1 - seat] = strength(other);
                    tree.payoffs(node, &strengths)[seat]
                };
                (0..N_CARDS).filter(|&other| other != own).map(|other| reach[other] * against(other)).sum()
            };
            (0..N_CARDS).map(value).collect()
        }
        BettingKind::Decision { seat: acts, children, .. } if *acts == seat => {
            let values: Vec<Vec<f64>> =
                children.iter().map(|&child| best(tree, child as usize, public, seat, reach, plays)).collect();
            (0..N_CARDS).map(|own| values.iter().map(|of| of[own]).fold(f64::MIN, f64::max)).collect()
        }
        BettingKind::Decision { children, .. } => {
            let history = tree.history(at as u32);
            let of_cards: Vec<Vec<f64>> = (0..N_CARDS)
                .map(
                    |card| if public == Some(card) { vec![0.0; children.len()] } else { plays(&history, public, card) },
                )
                .collect();
            let mut sum = vec![0.0; N_CARDS];
            for (action, &child) in children.iter().enumerate() {
                let after: Vec<f64> = reach.iter().zip(&of_cards).map(|(reach, of)| reach * of[action]).collect();
                let values = best(tree, child as usize, public, seat, &after, plays);
                sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            sum
        }
    }
}

/// What the best response of `seat` to the other's strategy wins a hand of Leduc: the mean over 30 deals of two cards.
fn exploits(tree: &BettingTree, seat: usize, plays: &Plays<'_>) -> f64 {
    best(tree, 0, None, seat, &[1.0; N_CARDS], plays).iter().sum::<f64>() / 30.0
}

fn asked(rules: &GameDef, strategy: &Strategy, history: &str, public: Option<usize>, card: usize) -> Vec<f64> {
    let board = public.map_or(String::new(), |card| name(rules, card));
    let answer = strategy.query(history, &board, &name(rules, card)).expect("an answer");
    answer.choices.iter().map(|choice| choice.probability).collect()
}

fn solved(device: &Device, problem: impl Into<Problem>, iterations: u64) -> Result<Solver> {
    let mut solver = Solver::builder(problem).iterations(iterations).build(device)?;
    solver.run(|_| ControlFlow::Continue(()))?;
    Ok(solver)
}

/// A blueprint in few buckets, with every second round solved anew for a seat.
///
/// With each hand the opponent wins no more in a subgame than its alternative, which is what it could win there before, but for the measured gain. Both are sums over the opponent's hands,
/// weighted with the other's reach; so over the whole game its best response gains no more than the sum of the measured gains, scaled from the pairs of each subgame to those of the game.
#[test]
fn second_rounds_solved_anew_are_no_more_exploitable() {
    let rules = GameDef::leduc();
    let tree = BettingTree::new(&rules).expect("a tree");
    let device = Device::cpu();
    let abstraction =
        Abstraction::build(&device, &rules, &"strength:2,strength:2".parse().expect("a recipe")).expect("buckets");
    let problem = Problem::abstracted(rules.clone(), abstraction).expect("its cards");
    let builder = Solver::builder(problem).algorithm(Algorithm::CfrPlus).sampling(Sampling::Chance).batch(32);
    let mut solver = builder.iterations(300).build(&device).expect("a solver");
    solver.run(|_| ControlFlow::Continue(())).expect("iterations");
    let blueprint = solver.strategy().expect("a strategy");
    // Histories after which the public card is turned up and somebody acts.
    let begins = |node: &&BettingNode| {
        node.round == 1 && node.parent.is_some_and(|parent| tree.nodes[parent as usize].round == 0)
    };
    let roots: Vec<String> =
        tree.nodes.iter().enumerate().filter(|(_, node)| begins(node)).map(|(at, _)| tree.history(at as u32)).collect();
    assert_eq!(roots.len(), 5, "{roots:?}");
    for seat in 0..2 {
        let before =
            exploits(&tree, 1 - seat, &|history, public, card| asked(&rules, &blueprint, history, public, card));
        let (mut anew, mut gains) = (Vec::new(), 0.0);
        for root in &roots {
            for public in 0..N_CARDS {
                let subgame = match Subgame::new(&blueprint, root, &name(&rules, public), seat) {
                    Ok(subgame) => subgame,
                    // The blueprint does not come here.
                    Err(error) => {
                        assert!(error.to_string().contains("to which the blueprint comes"), "{error}");
                        continue;
                    }
                };
                let mut solver = solved(&device, subgame, 400).expect("a solve");
                let gain = solver.exploitability().expect("a measure").nash_conv;
                assert!(gain >= 0.0);
                // Of the subgame's pairs of hands, all but those blocked by the public card: 5 · 4 with full reach; of the game 30, and 1/4 for the card. Reach is at most 1.
                gains += gain * 20.0 / 30.0 / 4.0;
                anew.push((root, public, solver.strategy().expect("a strategy")));
            }
        }
        let mixed = |history: &str, public: Option<usize>, card: usize| {
            let found = anew.iter().find(|(root, of, _)| Some(*of) == public && history.starts_with(root.as_str()));
            match found {
                Some((root, _, strategy)) => asked(&rules, strategy, &history[root.len()..], public, card),
                None => asked(&rules, &blueprint, history, public, card),
            }
        };
        let after = exploits(&tree, 1 - seat, &mixed);
        // Probabilities are kept in single precision: pots of 26 chips, a dozen probabilities a line.
        let rounding = 26.0 * 12.0 * 2.0 * f64::from(f32::EPSILON);
        assert!(after <= before + gains + rounding, "seat {seat}: {after}, before {before}, gains {gains}");
        // Leduc in two buckets a round is played badly; pairs are told from other hands now.
        assert!(after < before && gains < (before - after), "seat {seat}: {after}, before {before}, gains {gains}");
    }
}

/// Every engine measures the same, and goes on from files with the same bits.
#[test]
fn subgames_go_through_files_on_every_device() {
    let rules = GameDef::leduc();
    let cpu = Device::cpu();
    let blueprint = solved(&cpu, &rules, 20).expect("a solve").strategy().expect("a strategy");
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let subgame = Subgame::new(&blueprint, "crc/", "4c", 1).expect("a subgame");
    let plain = solved(&cpu, subgame.clone(), 10).expect("a solve").exploitability().expect("a measure").nash_conv;
    for_each_device(|device| {
        let mut whole = solved(device, subgame.clone(), 10)?;
        let measured = whole.exploitability()?.nash_conv;
        // Values are sums of at most 1,000 terms of 13 chips at most, rounded to single precision, over ten iterations of each.
        let rounding = 10.0 * 1000.0 * 13.0 / f64::from(1 << 24);
        assert!((measured - plain).abs() < rounding, "{measured}, on the CPU {plain}");
        let mut half = solved(device, subgame.clone(), 4)?;
        half.checkpoint()?.save(path("half"))?;
        let kept = Checkpoint::load(path("half"))?;
        let problem = kept.problem().expect("a subgame");
        let mut rest = Solver::builder(problem).resume(kept).iterations(10).build(device)?;
        rest.run(|_| ControlFlow::Continue(()))?;
        let end = whole.checkpoint()?;
        assert!(rest.checkpoint()?.same_tables(&end));
        whole.strategy()?.save(path("strategy"))?;
        let strategy = Strategy::load(path("strategy"))?;
        assert_eq!(strategy.query("c", "4c", "4d")?, whole.strategy()?.query("c", "4c", "4d")?);
        // The opponent's strategy is no result.
        assert!(strategy.query("c", "4c", "4d")?.reached && !strategy.query("", "4c", "4d")?.reached);
        Ok(())
    });
}

#[test]
fn wrong_subgames_are_refused() {
    let cpu = Device::cpu();
    let blueprint = solved(&cpu, GameDef::leduc(), 5).expect("a solve").strategy().expect("a strategy");
    let refused = |history: &str, board: &str, seat: usize| {
        Subgame::new(&blueprint, history, board, seat).expect_err("refused").to_string()
    };
    for (history, board, seat, says) in [
        ("cc/", "4c", 2, "option seat: 2 is not allowed (0 or 1)"),
        ("cc/", "", 0, "option board: '' is not allowed"),
        ("cc/", "4c4d", 0, "option board: '4c4d' is not allowed"),
        ("rf", "", 0, "the betting is over"),
        ("xx", "4c", 0, "column 1"),
    ] {
        let error = refused(history, board, seat);
        assert!(error.contains(says), "{error}\nexpected {says}");
    }
    let subgame = Subgame::new(&blueprint, "cc/", "4c", 0).expect("a subgame");
    assert_eq!((subgame.history(), subgame.board(), subgame.seat()), ("cc/", "4c", 0));
    let plan = |change: &dyn Fn(SolverBuilder) -> SolverBuilder, device: &Device| {
        change(Solver::builder(subgame.clone())).plan(device).expect_err("refused").to_string()
    };
    for (error, says) in [
        (
            plan(&|builder| builder.updates(Updates::Simultaneous), &cpu),
            "option updates: simultaneous is not allowed (alternating for a subgame",
        ),
        (
            plan(&|builder| builder.sampling(Sampling::Chance), &cpu),
            "option sampling: chance is not allowed (none for a subgame",
        ),
        (
            plan(&|builder| builder.engine(Engine::Explicit), &cpu),
            "option engine: explicit is not allowed (auto, street or cpu for a subgame",
        ),
        (plan(&|builder| builder.algorithm(Algorithm::CfrBr), &cpu), "option algorithm: cfr_br is not allowed"),
    ] {
        assert!(error.contains(says), "{error}\nexpected {says}");
    }
    let strategy = solved(&cpu, subgame, 2).expect("a solve").strategy().expect("a strategy");
    let error = Subgame::new(&strategy, "", "4c", 0).expect_err("refused").to_string();
    assert!(error.contains("option strategy: subgame of seat 0 after cc/ on 4c is not allowed"), "{error}");
}
